/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One segment of a pattern against one name.
 *
 * A segment is a row of elements, one character each, some of them after a star. Matching keeps the
 * set of elements that may come next, as bits, and reads the name once: a name of n characters
 * costs n steps over at most 256 bits, whatever the stars.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "fs/glob_parts.h"

/* Elements and the place after the last. */
#define SET_WORDS ((RF_NAME_MAX_BYTES + 1 + 63) / 64)
#define CHARACTER_MAX 0x10ffffU
/* A byte that is not UTF-8 is a character of its own beyond Unicode. */
#define LOOSE_BYTE 0x110000U

int rf_glob_refuse(struct rf_glob_error *error, enum rf_fs_code code, const char *format, ...)
{
	va_list args;

	error->code = code;
	va_start(args, format);
	vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
	return RF_REFUSED;
}

/* The character at the start of text, and how many bytes it takes. */
static uint32_t read_character(const char *text, size_t left, size_t *ret_bytes)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t length = rf_utf8_length(bytes, left);
	uint32_t value;

	*ret_bytes = length ? length : 1;
	if (length == 0)
		return LOOSE_BYTE + bytes[0];
	if (length == 1)
		return bytes[0];
	value = bytes[0] & (0xffU >> (length + 1));
	for (size_t i = 1; i < length; i++)
		value = value << 6 | (bytes[i] & 0x3fU);
	return value;
}

/* A segment while it is read. */
struct reader {
	const char *text;
	size_t size;
	size_t at;
	struct rf_glob_segment *segment;
	struct rf_glob_error *error;
};

static void add_range(struct reader *reader, uint32_t low, uint32_t high)
{
	struct rf_glob_segment *segment = reader->segment;

	segment->ranges[segment->n_ranges++] = (struct rf_glob_range){low, high};
	segment->elements[segment->n_elements].n_ranges++;
}

/* Begins the next element; its star was set before. */
static struct rf_glob_element *begin_element(struct reader *reader)
{
	struct rf_glob_segment *segment = reader->segment;
	struct rf_glob_element *element = &segment->elements[segment->n_elements];

	element->first_range = (uint32_t)segment->n_ranges;
	return element;
}

/*
 * The "]" that closes the set opened at reader->at; 0: none does. One right after the opening (and
 * its negation) is a member.
 */
static size_t find_set_end(const struct reader *reader)
{
	size_t i = reader->at + 1;

	if (i < reader->size && (reader->text[i] == '!' || reader->text[i] == '^'))
		i++;
	if (i < reader->size)
		i++;
	while (i < reader->size && reader->text[i] != ']')
		i++;
	return i < reader->size ? i : 0;
}

/*
 * [:class:], and inside a set [=equivalent=] and [.collating.] too, with something between the
 * marks; the second "]" of `[[:alpha:]]` is not needed. `[.]` and `[.x.]` are plain sets.
 */
static bool has_named_class(const struct reader *reader, size_t end)
{
	char mark = reader->text[end - 1];

	if (mark != ':' && mark != '=' && mark != '.')
		return false;
	for (size_t i = mark == ':' ? reader->at : reader->at + 1; i + 3 < end; i++) {
		if (reader->text[i] == '[' && reader->text[i + 1] == mark)
			return true;
	}
	return false;
}

/* A member of a set, or a range of them. */
static int read_member(struct reader *reader, size_t end)
{
	size_t bytes;
	uint32_t low = read_character(reader->text + reader->at, end - reader->at, &bytes);
	uint32_t high = low;

	reader->at += bytes;
	if (reader->at + 1 < end && reader->text[reader->at] == '-') {
		reader->at++;
		high = read_character(reader->text + reader->at, end - reader->at, &bytes);
		reader->at += bytes;
	}
	if (low > high)
		return rf_glob_refuse(reader->error, RF_FS_CODE_MALFORMED,
			"the range in \"%.*s\" runs backwards", (int)reader->size, reader->text);
	add_range(reader, low, high);
	return 0;
}

static int read_set(struct reader *reader, size_t end)
{
	struct rf_glob_element *element = begin_element(reader);
	bool is_first = true;

	if (has_named_class(reader, end))
		return rf_glob_refuse(reader->error, RF_FS_CODE_UNSUPPORTED,
			"named character classes ([:alpha:]) are not supported");
	reader->at++;
	if (reader->text[reader->at] == '!' || reader->text[reader->at] == '^') {
		element->is_negated = true;
		reader->at++;
	}
	while (is_first || reader->at < end) {
		int r = read_member(reader, end);

		if (r != 0)
			return r;
		is_first = false;
	}
	reader->at = end + 1;
	reader->segment->n_elements++;
	return 0;
}

static bool is_extended(const struct reader *reader)
{
	return reader->at + 1 < reader->size && reader->text[reader->at + 1] == '(' &&
	       strchr("?*+@!", reader->text[reader->at]);
}

static int read_element(struct reader *reader)
{
	struct rf_glob_segment *segment = reader->segment;
	size_t set_end = 0;
	size_t bytes = 1;
	uint32_t character;

	if (is_extended(reader))
		return rf_glob_refuse(reader->error, RF_FS_CODE_UNSUPPORTED,
			"extended globs (\"%c(\") are not supported", reader->text[reader->at]);
	if (reader->text[reader->at] == '*') {
		segment->elements[segment->n_elements].has_star = true;
		reader->at++;
		return 0;
	}
	if (reader->text[reader->at] == '[')
		set_end = find_set_end(reader);
	if (set_end)
		return read_set(reader, set_end);
	character = read_character(reader->text + reader->at, reader->size - reader->at, &bytes);
	begin_element(reader);
	if (reader->text[reader->at] == '?')
		add_range(reader, 0, UINT32_MAX);
	else
		add_range(reader, character, character);
	segment->n_elements++;
	reader->at += bytes;
	return 0;
}

static bool is_character(const struct rf_glob_segment *segment, size_t index)
{
	const struct rf_glob_element *element = &segment->elements[index];
	const struct rf_glob_range *range = &segment->ranges[element->first_range];

	return element->n_ranges == 1 && !element->is_negated && range->low == range->high;
}

static int add_character(struct rf_buf *text, uint32_t value)
{
	char bytes[4];
	size_t size = 0;

	if (value >= LOOSE_BYTE) {
		bytes[size++] = (char)(value - LOOSE_BYTE);
	} else if (value < 0x80) {
		bytes[size++] = (char)value;
	} else if (value < 0x800) {
		bytes[size++] = (char)(0xc0 | value >> 6);
		bytes[size++] = (char)(0x80 | (value & 0x3f));
	} else if (value < 0x10000) {
		bytes[size++] = (char)(0xe0 | value >> 12);
		bytes[size++] = (char)(0x80 | (value >> 6 & 0x3f));
		bytes[size++] = (char)(0x80 | (value & 0x3f));
	} else {
		bytes[size++] = (char)(0xf0 | value >> 18);
		bytes[size++] = (char)(0x80 | (value >> 12 & 0x3f));
		bytes[size++] = (char)(0x80 | (value >> 6 & 0x3f));
		bytes[size++] = (char)(0x80 | (value & 0x3f));
	}
	return rf_buf_add(text, bytes, size);
}

/*
 * Segments without a set, and with one star at most, need no elements. Not with a star and a loose
 * byte: as bytes it could match the tail of a character.
 */
static int simplify(struct rf_glob_segment *segment)
{
	struct rf_buf text rf_autobuf = {0};
	size_t n_stars = segment->elements[segment->n_elements].has_star;
	size_t star_at = 0;
	bool has_loose_byte = false;
	int r = rf_buf_add(&text, "", 0);

	for (size_t i = 0; r == 0 && i < segment->n_elements; i++) {
		uint32_t value = segment->ranges[segment->elements[i].first_range].low;

		if (!is_character(segment, i))
			return 0;
		if (segment->elements[i].has_star) {
			n_stars++;
			star_at = text.size;
		}
		has_loose_byte = has_loose_byte || value >= LOOSE_BYTE;
		r = add_character(&text, value);
	}
	if (r != 0 || n_stars > 1 || (n_stars == 1 && has_loose_byte))
		return r;
	if (segment->elements[segment->n_elements].has_star)
		star_at = text.size;
	segment->kind = n_stars ? RF_GLOB_AFFIX : RF_GLOB_LITERAL;
	segment->prefix_bytes = n_stars ? star_at : text.size;
	segment->suffix_bytes = text.size - segment->prefix_bytes;
	segment->text = RF_TAKE(text.data);
	return 0;
}

static int read_elements(struct reader *reader)
{
	struct rf_glob_segment *segment = reader->segment;
	int r = 0;

	/* Every member of a set and every element takes a byte at least. */
	segment->elements = calloc(reader->size + 1, sizeof(*segment->elements));
	segment->ranges = calloc(reader->size + 1, sizeof(*segment->ranges));
	if (!segment->elements || !segment->ranges)
		return -ENOMEM;
	segment->kind = RF_GLOB_ELEMENTS;
	while (r == 0 && reader->at < reader->size)
		r = read_element(reader);
	if (r != 0)
		return r;
	if (segment->n_elements > RF_NAME_MAX_BYTES) {
		segment->kind = RF_GLOB_NEVER;
		return 0;
	}
	segment->spells_dot = segment->n_elements > 0 && !segment->elements[0].has_star &&
			      is_character(segment, 0) && segment->ranges[0].low == '.';
	return simplify(segment);
}

static int judge_dots(struct rf_glob_segment *segment, struct rf_glob_error *error)
{
	if (segment->kind != RF_GLOB_LITERAL)
		return 0;
	if (strcmp(segment->text, ".") == 0)
		segment->kind = RF_GLOB_SELF;
	else if (strcmp(segment->text, "..") == 0)
		return rf_glob_refuse(
			error, RF_FS_CODE_ESCAPE, "a segment \"..\" could leave the root");
	return 0;
}

static void segment_clear_p(struct rf_glob_segment *segment)
{
	rf_glob_segment_clear(segment);
}

int rf_glob_segment_parse(const char *text, size_t size_bytes, struct rf_glob_segment *ret_segment,
	struct rf_glob_error *error)
{
	struct rf_glob_segment segment rf_cleanup(segment_clear_p) = {0};
	struct reader reader = {text, size_bytes, 0, &segment, error};
	int r;

	if (size_bytes == 2 && memcmp(text, "**", 2) == 0) {
		*ret_segment = (struct rf_glob_segment){.kind = RF_GLOB_ANY_DEPTH};
		return 0;
	}
	r = read_elements(&reader);
	if (r == 0)
		r = judge_dots(&segment, error);
	if (r != 0)
		return r;
	*ret_segment = segment;
	segment = (struct rf_glob_segment){0};
	return 0;
}

void rf_glob_segment_clear(struct rf_glob_segment *segment)
{
	free(segment->text);
	free(segment->elements);
	free(segment->ranges);
	*segment = (struct rf_glob_segment){0};
}

static bool element_takes(
	const struct rf_glob_segment *segment, const struct rf_glob_element *element, uint32_t c)
{
	const struct rf_glob_range *ranges = segment->ranges + element->first_range;
	bool is_member = false;

	for (uint32_t i = 0; i < element->n_ranges && !is_member; i++)
		is_member = c >= ranges[i].low && c <= ranges[i].high;
	return is_member != element->is_negated;
}

/* The elements that may come after this character; false: none. */
static bool advance(
	const struct rf_glob_segment *segment, const uint64_t *set, uint32_t c, uint64_t *ret_set)
{
	uint64_t any = 0;

	memset(ret_set, 0, SET_WORDS * sizeof(*ret_set));
	for (size_t word = 0; word <= segment->n_elements / 64; word++) {
		for (uint64_t left = set[word]; left; left &= left - 1) {
			size_t at = word * 64 + (size_t)__builtin_ctzll(left);
			const struct rf_glob_element *element = &segment->elements[at];

			if (element->has_star)
				ret_set[at / 64] |= 1ULL << at % 64;
			if (at < segment->n_elements && element_takes(segment, element, c))
				ret_set[(at + 1) / 64] |= 1ULL << (at + 1) % 64;
		}
	}
	for (size_t word = 0; word < SET_WORDS; word++)
		any |= ret_set[word];
	return any != 0;
}

static bool elements_match(const struct rf_glob_segment *segment, const char *name, size_t size)
{
	uint64_t sets[2][SET_WORDS] = {{1}};
	size_t now = 0;
	size_t bytes;

	for (size_t at = 0; at < size; at += bytes) {
		uint32_t c = read_character(name + at, size - at, &bytes);

		if (!advance(segment, sets[now], c, sets[1 - now]))
			return false;
		now = 1 - now;
	}
	return sets[now][segment->n_elements / 64] >> segment->n_elements % 64 & 1;
}

bool rf_glob_segment_matches(const struct rf_glob_segment *segment, const char *name)
{
	size_t size = strlen(name);

	if (name[0] == '.' && !segment->spells_dot)
		return false;
	switch (segment->kind) {
	case RF_GLOB_LITERAL:
		return strcmp(name, segment->text) == 0;
	case RF_GLOB_AFFIX:
		return size >= segment->prefix_bytes + segment->suffix_bytes &&
		       memcmp(name, segment->text, segment->prefix_bytes) == 0 &&
		       memcmp(name + size - segment->suffix_bytes,
			       segment->text + segment->prefix_bytes, segment->suffix_bytes) == 0;
	case RF_GLOB_ELEMENTS:
		return elements_match(segment, name, size);
	case RF_GLOB_ANY_DEPTH:
	case RF_GLOB_SELF:
	case RF_GLOB_NEVER:
		break;
	}
	return false;
}
