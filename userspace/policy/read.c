/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The reader of policies, strict: what it does not know, it refuses with the place where it was
 * written. Whoever writes a policy file controls every byte here, and how deep it nests: the
 * recursion follows the table of keys, not the text.
 */

#include "policy/read.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "policy/keys.h"

/* Room for "section.key" of any known key, and more. */
#define KEY_BYTES 128

struct reader {
	struct rf_events *events;
	struct rf_policy policy;
	/* Bit per key of the table. */
	uint64_t seen;
	struct rf_diag *diag;
};

static void clear_reader(struct reader *reader)
{
	rf_policy_clear(&reader->policy);
}

static int next(struct reader *reader, struct rf_event *ret_event)
{
	return reader->events->next(reader->events, ret_event, reader->diag);
}

/* Adds the place to a refusal that was just made. */
static int at(struct reader *reader, const struct rf_event *event, int r)
{
	if (r == RF_REFUSED)
		rf_diag_at(reader->diag, reader->events->name, event->line, event->column);
	return r;
}

/* ---- What a scalar is ---------------------------------------------------------------------- */

enum scalar { SCALAR_NULL, SCALAR_SWITCH, SCALAR_INTEGER, SCALAR_FLOAT, SCALAR_TEXT };

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++) {
		if (strcmp(text, *words) == 0)
			return true;
	}
	return false;
}

/* Without its sign: 1.5, .5, 1., 1e3. */
static bool is_float(const char *text)
{
	size_t whole = strspn(text, "0123456789");
	size_t part = 0;

	text += whole;
	if (*text == '.') {
		part = strspn(text + 1, "0123456789");
		text += 1 + part;
	}
	if (whole + part == 0)
		return false;
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '-' || *text == '+';
		if (!*text)
			return false;
		text += strspn(text, "0123456789");
	}
	return *text == '\0';
}

/* YAML's core schema, which agrees with JSON where JSON has an opinion. */
static enum scalar classify(const struct rf_event *event)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const switches[] = {
		"true", "True", "TRUE", "false", "False", "FALSE", NULL};
	static const char *const floats[] = {".inf", ".Inf", ".INF", "-.inf", "-.Inf", "-.INF",
		"+.inf", "+.Inf", "+.INF", ".nan", ".NaN", ".NAN", NULL};
	const char *text = event->text;
	const char *digits = text + (*text == '-' || *text == '+');

	if (event->is_quoted || strlen(text) != event->size)
		return SCALAR_TEXT;
	if (is_one_of(text, nulls))
		return SCALAR_NULL;
	if (is_one_of(text, switches))
		return SCALAR_SWITCH;
	if (is_one_of(text, floats))
		return SCALAR_FLOAT;
	if (*digits && digits[strspn(digits, "0123456789")] == '\0')
		return SCALAR_INTEGER;
	if (strncmp(text, "0x", 2) == 0 && text[2] &&
		text[2 + strspn(text + 2, "0123456789abcdefABCDEF")] == '\0')
		return SCALAR_INTEGER;
	if (strncmp(text, "0o", 2) == 0 && text[2] &&
		text[2 + strspn(text + 2, "01234567")] == '\0')
		return SCALAR_INTEGER;
	if (is_float(digits))
		return SCALAR_FLOAT;
	return SCALAR_TEXT;
}

static const char *what_is(const struct rf_event *event)
{
	switch (event->kind) {
	case RF_EVENT_MAP:
		return "a mapping";
	case RF_EVENT_LIST:
		return "a list";
	case RF_EVENT_SCALAR:
		switch (classify(event)) {
		case SCALAR_NULL:
			return "nothing";
		case SCALAR_SWITCH:
			return "true or false";
		case SCALAR_INTEGER:
			return "a number";
		case SCALAR_FLOAT:
			return "a fraction";
		case SCALAR_TEXT:
			return "text";
		}
		break;
	case RF_EVENT_MAP_END:
	case RF_EVENT_LIST_END:
	case RF_EVENT_END:
		break;
	}
	return "nothing";
}

static int refuse_type(
	struct reader *reader, const char *key, const char *expects, const struct rf_event *event)
{
	bool is_switch = strcmp(expects, rf_key_expects(RF_KEY_SWITCH)) == 0;

	rf_diag_refuse(reader->diag, "policy-type", "%s: expected %s, found %s", key, expects,
		what_is(event));
	if (is_switch && event->kind == RF_EVENT_SCALAR)
		rf_diag_hint(reader->diag, "write true or false, without quotes");
	else if (event->kind == RF_EVENT_SCALAR && classify(event) != SCALAR_TEXT)
		rf_diag_hint(reader->diag, "write text that looks like something else in quotes");
	return at(reader, event, RF_REFUSED);
}

static bool is_fitting(enum rf_key_type type, enum scalar scalar)
{
	switch (type) {
	case RF_KEY_SWITCH:
		return scalar == SCALAR_SWITCH;
	case RF_KEY_USER:
	case RF_KEY_SIZE_LIMIT:
	case RF_KEY_COUNT_LIMIT:
	/* A number without a unit is refused as such, by the value's own parser. */
	case RF_KEY_DURATION_LIMIT:
	case RF_KEY_GRACE:
		return scalar == SCALAR_TEXT || scalar == SCALAR_INTEGER;
	case RF_KEY_MODE:
	case RF_KEY_POSTURE:
	case RF_KEY_GIT:
	case RF_KEY_PATH:
	case RF_KEY_PATHS:
	case RF_KEY_ABSOLUTES:
	case RF_KEY_VARIABLES:
	case RF_KEY_SETTINGS:
	case RF_KEY_DESTINATIONS:
	case RF_KEY_FAMILIES:
	case RF_KEY_PROMISES:
		return scalar == SCALAR_TEXT;
	}
	return false;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* {"hex": "2f62…"}, its opening already read; *ret_bytes belongs to the caller. */
static int read_hex(struct reader *reader, char **ret_bytes)
{
	struct rf_event event;
	char *bytes rf_autofree = NULL;
	int r = next(reader, &event);

	if (r)
		return r;
	if (event.kind != RF_EVENT_SCALAR || strcmp(event.text, "hex") != 0)
		goto malformed;
	r = next(reader, &event);
	if (r)
		return r;
	if (event.kind != RF_EVENT_SCALAR || event.size % 2 != 0)
		goto malformed;
	bytes = calloc(1, event.size / 2 + 1);
	if (!bytes)
		return -ENOMEM;
	for (size_t i = 0; i < event.size; i += 2) {
		int value = hex_digit(event.text[i]) * 16 + hex_digit(event.text[i + 1]);

		if (hex_digit(event.text[i]) < 0 || hex_digit(event.text[i + 1]) < 0 || value == 0)
			goto malformed;
		bytes[i / 2] = (char)value;
	}
	r = next(reader, &event);
	if (r)
		return r;
	if (event.kind != RF_EVENT_MAP_END)
		goto malformed;
	*ret_bytes = RF_TAKE(bytes);
	return 0;
malformed:
	rf_diag_refuse(reader->diag, "policy-type", "expected {\"hex\": digits}");
	return at(reader, &event, RF_REFUSED);
}

static int check_nul(struct reader *reader, const struct rf_key *key, const struct rf_event *event)
{
	if (!memchr(event->text, '\0', event->size))
		return 0;
	rf_diag_refuse(reader->diag, "policy-nul", "%s: text cannot hold a NUL", key->name);
	return at(reader, event, RF_REFUSED);
}

static int read_scalar(
	struct reader *reader, const struct rf_key *key, const struct rf_event *event)
{
	int r;

	if (event->kind == RF_EVENT_MAP && reader->events->is_wire &&
		is_fitting(key->type, SCALAR_TEXT)) {
		char *bytes rf_autofree = NULL;

		r = read_hex(reader, &bytes);
		return r ? r
			 : at(reader, event, rf_key_set(key, &reader->policy, bytes, reader->diag));
	}
	if (event->kind == RF_EVENT_LIST &&
		key->offset == offsetof(struct rf_policy, unix_sockets)) {
		rf_diag_refuse(reader->diag, "policy-value",
			"%s: a list of paths is not known to this version; expected %s", key->name,
			rf_key_expects(key->type));
		return at(reader, event, RF_REFUSED);
	}
	if (event->kind != RF_EVENT_SCALAR || !is_fitting(key->type, classify(event)))
		return refuse_type(reader, key->name, rf_key_expects(key->type), event);
	r = check_nul(reader, key, event);
	if (r)
		return r;
	return at(reader, event, rf_key_set(key, &reader->policy, event->text, reader->diag));
}

static int read_list(struct reader *reader, const struct rf_key *key, const struct rf_event *event)
{
	struct rf_event item;
	int r;

	if (event->kind != RF_EVENT_LIST)
		return refuse_type(reader, key->name, rf_key_expects(key->type), event);
	for (;;) {
		r = next(reader, &item);
		if (r)
			return r;
		if (item.kind == RF_EVENT_LIST_END)
			return 0;
		r = read_scalar(reader, key, &item);
		if (r)
			return r;
	}
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

struct names {
	void *root;
};

static void keep(void *name rf_unused)
{
}

static void clear_names(struct names *names)
{
	tdestroy(names->root, keep);
}

/* value of one NAME: value; name is copied before the next event overwrites it. */
static int read_setting(struct reader *reader, const struct rf_key *key, const char *name)
{
	char *bytes rf_autofree = NULL;
	char *setting rf_autofree = NULL;
	struct rf_event value;
	int r = next(reader, &value);

	if (r)
		return r;
	if (value.kind == RF_EVENT_MAP && reader->events->is_wire) {
		r = read_hex(reader, &bytes);
		if (r)
			return r;
	} else if (value.kind != RF_EVENT_SCALAR || classify(&value) != SCALAR_TEXT) {
		char full[KEY_BYTES];

		snprintf(full, sizeof(full), "%s.%.64s", key->name, name);
		return refuse_type(reader, full, "text", &value);
	} else {
		r = check_nul(reader, key, &value);
		if (r)
			return r;
	}
	if (asprintf(&setting, "%s=%s", name, bytes ? bytes : value.text) < 0) {
		setting = NULL;
		return -ENOMEM;
	}
	return at(reader, &value, rf_key_set(key, &reader->policy, setting, reader->diag));
}

static int read_settings(
	struct reader *reader, const struct rf_key *key, const struct rf_event *event)
{
	struct names names rf_cleanup(clear_names) = {0};
	struct rf_strv owned rf_autostrv = {0};
	struct rf_event name;
	int r;

	if (event->kind != RF_EVENT_MAP)
		return refuse_type(reader, key->name, rf_key_expects(key->type), event);
	for (;;) {
		const char *copy;
		void **node;

		r = next(reader, &name);
		if (r || name.kind == RF_EVENT_MAP_END)
			return r;
		if (name.kind != RF_EVENT_SCALAR)
			return refuse_type(reader, key->name, "a variable's name", &name);
		r = check_nul(reader, key, &name);
		if (r == 0)
			r = rf_strv_add(&owned, name.text);
		if (r)
			return r;
		copy = owned.items[owned.count - 1];
		if (strchr(copy, '=') || !copy[0]) {
			rf_diag_refuse(reader->diag, "policy-value",
				"%s: a variable's name is not empty and has no \"=\"", key->name);
			return at(reader, &name, RF_REFUSED);
		}
		node = tsearch(copy, &names.root, compare_text);
		if (!node)
			return -ENOMEM;
		if (*(const char **)node != copy) {
			rf_diag_refuse(reader->diag, "policy-duplicate",
				"%s: \"%.100s\" is there twice", key->name, copy);
			return at(reader, &name, RF_REFUSED);
		}
		r = read_setting(reader, key, copy);
		if (r)
			return r;
	}
}

static int read_value(struct reader *reader, const struct rf_key *key)
{
	struct rf_event event;
	int r = next(reader, &event);

	if (r)
		return r;
	if (rf_key_is_list(key->type))
		return read_list(reader, key, &event);
	if (key->type == RF_KEY_SETTINGS)
		return read_settings(reader, key, &event);
	return read_scalar(reader, key, &event);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static bool is_section(const char *name)
{
	size_t count;
	const struct rf_key *keys = rf_keys(&count);
	size_t length = strlen(name);

	for (size_t i = 0; i < count; i++) {
		if (strncmp(keys[i].name, name, length) == 0 && keys[i].name[length] == '.')
			return true;
	}
	return false;
}

/* Bit of a key; a section takes the bit of its first key, shifted beyond the keys. */
static uint64_t bit_of(const char *name)
{
	size_t count;
	const struct rf_key *keys = rf_keys(&count);
	size_t length = strlen(name);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(keys[i].name, name) == 0)
			return 1ULL << i;
		if (strncmp(keys[i].name, name, length) == 0 && keys[i].name[length] == '.')
			return 1ULL << (i + 32);
	}
	return 0;
}

/* Words that could stand where word does, below section ("" at the top). */
static const char *nearest_key(const char *section, const char *word, char ret_buffer[KEY_BYTES])
{
	char rooms[64][KEY_BYTES];
	const char *words[65] = {NULL};
	size_t n_words = 0;
	size_t count;
	const struct rf_key *keys = rf_keys(&count);
	size_t length = strlen(section);
	const char *near;

	for (size_t i = 0; i < count && n_words < RF_ARRAY_SIZE(rooms); i++) {
		const char *rest = keys[i].name + length;

		if (strncmp(keys[i].name, section, length) != 0)
			continue;
		snprintf(rooms[n_words], KEY_BYTES, "%.*s", (int)strcspn(rest, "."), rest);
		words[n_words] = rooms[n_words];
		n_words++;
	}
	near = rf_nearest(word, words);
	if (near) {
		snprintf(ret_buffer, KEY_BYTES, "%s%s", section, near);
		return ret_buffer;
	}
	/* The right word in the wrong place. */
	for (size_t i = 0; i < count; i++) {
		const char *dot = strrchr(keys[i].name, '.');

		if (strcmp(dot ? dot + 1 : keys[i].name, word) == 0)
			return keys[i].name;
	}
	return NULL;
}

static int refuse_key(struct reader *reader, const char *section, const struct rf_event *event)
{
	char buffer[KEY_BYTES];
	const char *near = nearest_key(section, event->text, buffer);

	rf_diag_refuse(reader->diag, "policy-key", "key \"%s%.200s\" is not known to this version",
		section, event->text);
	if (near)
		rf_diag_hint(reader->diag, "did you mean \"%s\"?", near);
	return at(reader, event, RF_REFUSED);
}

static int read_map(struct reader *reader, const char *section);

/* One key, read, below section ("" or "filesystem."). */
static int read_key(struct reader *reader, const char *section, const struct rf_event *event)
{
	char name[KEY_BYTES];
	const struct rf_key *key;
	struct rf_event opening;
	int r;

	if (event->size + strlen(section) + 2 > sizeof(name) ||
		strlen(event->text) != event->size || strchr(event->text, '.'))
		return refuse_key(reader, section, event);
	snprintf(name, sizeof(name), "%s%s", section, event->text);
	key = rf_key_find(name);
	if (!key && !is_section(name))
		return refuse_key(reader, section, event);
	if (reader->seen & bit_of(name)) {
		rf_diag_refuse(reader->diag, "policy-duplicate", "key \"%s\" is there twice", name);
		return at(reader, event, RF_REFUSED);
	}
	reader->seen |= bit_of(name);
	if (key)
		return read_value(reader, key);
	r = next(reader, &opening);
	if (r)
		return r;
	if (opening.kind != RF_EVENT_MAP)
		return refuse_type(reader, name, "a mapping", &opening);
	snprintf(name + strlen(name), sizeof(name) - strlen(name), ".");
	return read_map(reader, name);
}

/* Until the end of the mapping whose opening was read. Depth is bounded by the table's own. */
static int read_map(struct reader *reader, const char *section)
{
	for (;;) {
		struct rf_event event;
		int r = next(reader, &event);

		if (r || event.kind == RF_EVENT_MAP_END)
			return r;
		if (event.kind != RF_EVENT_SCALAR)
			return refuse_type(reader, "a key", "text", &event);
		r = read_key(reader, section, &event);
		if (r)
			return r;
	}
}

int rf_events_read(struct rf_events *events, struct rf_policy *ret_policy, struct rf_diag *diag)
{
	struct reader reader rf_cleanup(clear_reader) = {.events = events, .diag = diag};
	struct rf_event event;
	int r = next(&reader, &event);

	if (r)
		return r;
	if (event.kind != RF_EVENT_END) {
		if (event.kind != RF_EVENT_MAP)
			return refuse_type(&reader, "a policy", "a mapping of keys", &event);
		r = read_map(&reader, "");
		if (r)
			return r;
		r = next(&reader, &event);
		if (r)
			return r;
	}
	*ret_policy = reader.policy;
	reader.policy = (struct rf_policy){0};
	return 0;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Refuses the first byte that is no UTF-8, NUL included. */
static int check_utf8(const char *name, const char *text, size_t size_bytes, struct rf_diag *diag)
{
	unsigned int line = 1;
	unsigned int column = 1;

	for (size_t i = 0; i < size_bytes;) {
		size_t length =
			(unsigned char)text[i] - 1U < 0x7f
				? 1
				: rf_utf8_length((const unsigned char *)text + i, size_bytes - i);

		if (length == 0) {
			rf_diag_refuse(diag, text[i] ? "policy-utf8" : "policy-nul",
				text[i] ? "not UTF-8" : "a policy cannot hold a NUL");
			rf_diag_at(diag, name, line, column);
			return RF_REFUSED;
		}
		column++;
		if (text[i] == '\n') {
			line++;
			column = 1;
		}
		i += length;
	}
	return 0;
}

int rf_policy_read(const char *name, const char *text, size_t size_bytes,
	struct rf_policy *ret_policy, struct rf_diag *diag)
{
	size_t first = 0;
	int r;

	if (size_bytes > RF_POLICY_FILE_MAX_BYTES) {
		rf_diag_refuse(diag, "policy-size", "a policy file has at most %u bytes",
			RF_POLICY_FILE_MAX_BYTES);
		rf_diag_at(diag, name, 1, 1);
		return RF_REFUSED;
	}
	r = check_utf8(name, text, size_bytes, diag);
	if (r)
		return r;
	while (first < size_bytes && strchr(" \t\r\n", text[first]))
		first++;
	if (first < size_bytes && (text[first] == '{' || text[first] == '['))
		return rf_read_json(name, text, size_bytes, false, ret_policy, diag);
	return rf_read_yaml(name, text, size_bytes, ret_policy, diag);
}
