/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Reading requests. One table says which member is of which operations; each has a reader. Nothing
 * is guessed: a member that the operation does not know is as wrong as one of the wrong type.
 */

#include "fs/request.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "fs/encode.h"
#include "fs/glob.h"
#include "fs/lift.h"

struct reader {
	struct rf_fs_line *line;
	const struct rf_fs_line_options *options;
	/* What stood in a large line; its members of the JSON are then empty. */
	struct rf_fs_lifted *lifted;
};

static const char *path_for_message(const struct rf_fs_line *line)
{
	return line->path ? line->path : "(no path)";
}

static const char *operation_for_message(const struct rf_fs_line *line)
{
	return line->has_operation ? rf_fs_operation_name(line->request.operation) : "request";
}

static int refuse(struct reader *reader, const char *key, const char *why)
{
	struct rf_fs_line *line = reader->line;

	return rf_fs_fail(&line->failure, EINVAL, RF_FS_CODE_MALFORMED, "%s %s: \"%s\" %s",
		operation_for_message(line), path_for_message(line), key, why);
}

/* ---- readers of members -----------------------------------------------------------------------
 */

/* 0, RF_ENCODED_WRONG or -ENOMEM. */
static int text_of(const json_t *value, char **ret_text)
{
	const json_t *hex = json_object_get(value, "hex");
	void *data = NULL;
	size_t size = 0;
	int r;

	if (json_is_string(value)) {
		*ret_text = strdup(json_string_value(value));
		return *ret_text ? 0 : -ENOMEM;
	}
	if (!json_is_string(hex) || json_object_size(value) != 1)
		return RF_ENCODED_WRONG;
	r = rf_hex_decode(json_string_value(hex), json_string_length(hex), &data, &size);
	if (r == 0 && memchr(data, 0, size)) {
		free(data);
		return RF_ENCODED_WRONG;
	}
	if (r == 0)
		*ret_text = data;
	return r;
}

#define NOT_A_TEXT "is neither a string nor {\"hex\": …} without a NUL"

static int read_path(struct reader *reader, const char *key, const json_t *value)
{
	int r = text_of(value, &reader->line->path);

	if (r == RF_ENCODED_WRONG)
		return refuse(reader, key, NOT_A_TEXT);
	reader->line->request.path = reader->line->path;
	return r;
}

static int read_target(struct reader *reader, const char *key, const json_t *value)
{
	int r = text_of(value, &reader->line->target);

	if (r == RF_ENCODED_WRONG)
		return refuse(reader, key, NOT_A_TEXT);
	reader->line->request.target = reader->line->target;
	return r;
}

static int add_text(
	struct reader *reader, const char *key, const json_t *value, struct rf_strv *ret_list)
{
	char *text rf_autofree = NULL;
	int r = text_of(value, &text);

	if (r == RF_ENCODED_WRONG)
		return refuse(reader, key, NOT_A_TEXT);
	return r == 0 ? rf_strv_add(ret_list, text) : r;
}

static int read_texts(struct reader *reader, const char *key, const json_t *value, size_t max,
	struct rf_strv *ret_list)
{
	const json_t *item;
	size_t i;
	int r = 0;

	if (!json_is_array(value))
		return add_text(reader, key, value, ret_list);
	if (json_array_size(value) > max)
		return rf_fs_fail(&reader->line->failure, E2BIG, RF_FS_CODE_LIMIT,
			"%s %s: more than %zu in \"%s\"", operation_for_message(reader->line),
			path_for_message(reader->line), max, key);
	json_array_foreach (value, i, item) {
		r = add_text(reader, key, item, ret_list);
		if (r != 0)
			break;
	}
	return r;
}

static int read_patterns(struct reader *reader, const char *key, const json_t *value)
{
	int r = read_texts(reader, key, value, RF_GLOB_PATTERNS_MAX, &reader->line->patterns);

	reader->line->request.patterns = (const char *const *)reader->line->patterns.items;
	return r;
}

static int read_exclude(struct reader *reader, const char *key, const json_t *value)
{
	int r = read_texts(reader, key, value, RF_GLOB_EXCLUSIONS_MAX, &reader->line->exclude);

	reader->line->request.exclude = (const char *const *)reader->line->exclude.items;
	return r;
}

static int read_flag(struct reader *reader, const char *key, const json_t *value, unsigned int flag,
	bool sets_when)
{
	if (!json_is_boolean(value))
		return refuse(reader, key, "is neither true nor false");
	if (json_is_true(value) == sets_when)
		reader->line->request.flags |= flag;
	return 0;
}

static int read_recursive(struct reader *reader, const char *key, const json_t *value)
{
	return read_flag(reader, key, value, RF_FS_RECURSIVE, true);
}

static int read_parents(struct reader *reader, const char *key, const json_t *value)
{
	return read_flag(reader, key, value, RF_FS_PARENTS, true);
}

static int read_force(struct reader *reader, const char *key, const json_t *value)
{
	return read_flag(reader, key, value, RF_FS_FORCE, true);
}

static int read_sync(struct reader *reader, const char *key, const json_t *value)
{
	return read_flag(reader, key, value, RF_FS_SYNC, true);
}

static int read_durable(struct reader *reader, const char *key, const json_t *value)
{
	return read_flag(reader, key, value, RF_FS_NO_DURABLE, false);
}

static int read_stat(struct reader *reader, const char *key, const json_t *value)
{
	bool is_list = reader->line->request.operation == RF_FS_LIST;

	reader->line->wants_stat = json_is_true(value);
	return read_flag(reader, key, value, is_list ? RF_FS_WITH_STAT : 0, true);
}

static int read_mode(struct reader *reader, const char *key, const json_t *value)
{
	unsigned int mode = 0;

	if (!json_is_string(value) || !rf_parse_mode(json_string_value(value), &mode))
		return refuse(reader, key, "is not a string of octal digits up to 07777");
	reader->line->request.mode = mode;
	reader->line->request.flags |= RF_FS_HAS_MODE;
	return 0;
}

/* An integer, or the same in a string, which keeps all 64 bits in every language. */
static bool integer_of(const json_t *value, int64_t *ret_value)
{
	const char *text = json_string_value(value);
	bool is_negative = text && text[0] == '-';
	uint64_t magnitude;

	if (json_is_integer(value)) {
		*ret_value = json_integer_value(value);
		return true;
	}
	if (!text || !rf_parse_u64(text + is_negative, &magnitude) || magnitude > INT64_MAX)
		return false;
	*ret_value = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return true;
}

static int read_time(struct reader *reader, const char *key, const json_t *value, int64_t *ret_ns)
{
	int64_t ns;

	if (!integer_of(value, &ns) || ns == RF_FS_TIME_OMIT)
		return refuse(reader, key, "is not a time in nanoseconds");
	*ret_ns = ns;
	reader->line->request.flags |= RF_FS_HAS_TIMES;
	return 0;
}

static int read_atime(struct reader *reader, const char *key, const json_t *value)
{
	return read_time(reader, key, value, &reader->line->request.atime_ns);
}

static int read_mtime(struct reader *reader, const char *key, const json_t *value)
{
	return read_time(reader, key, value, &reader->line->request.mtime_ns);
}

static int read_size(
	struct reader *reader, const char *key, const json_t *value, uint64_t *ret_bytes)
{
	int64_t bytes;

	if (!integer_of(value, &bytes) || bytes < 0)
		return refuse(reader, key, "is not a number of bytes");
	*ret_bytes = (uint64_t)bytes;
	return 0;
}

static int read_offset(struct reader *reader, const char *key, const json_t *value)
{
	return read_size(reader, key, value, &reader->line->request.offset);
}

static int read_length(struct reader *reader, const char *key, const json_t *value)
{
	reader->line->request.flags |= RF_FS_HAS_LENGTH;
	return read_size(reader, key, value, &reader->line->request.length);
}

static const struct {
	const char *name;
	int flag;
} open_flags[] = {
	{"O_APPEND", O_APPEND},
	{"O_CLOEXEC", O_CLOEXEC},
	{"O_CREAT", O_CREAT},
	{"O_DIRECTORY", O_DIRECTORY},
	{"O_DSYNC", O_DSYNC},
	{"O_EXCL", O_EXCL},
	{"O_NOFOLLOW", O_NOFOLLOW},
	{"O_RDONLY", O_RDONLY},
	{"O_RDWR", O_RDWR},
	{"O_SYNC", O_SYNC},
	{"O_TRUNC", O_TRUNC},
	{"O_WRONLY", O_WRONLY},
};

static bool open_flag_of(const json_t *value, int *ret_flag)
{
	const char *name = json_string_value(value);

	for (size_t i = 0; name && i < RF_ARRAY_SIZE(open_flags); i++) {
		if (strcmp(name, open_flags[i].name) == 0) {
			*ret_flag = open_flags[i].flag;
			return true;
		}
	}
	return false;
}

static int read_open_flags(struct reader *reader, const char *key, const json_t *value)
{
	const json_t *item;
	int flag = 0;
	size_t i;

	if (!json_is_array(value))
		return refuse(reader, key, "is not a list of open(2)'s flags");
	json_array_foreach (value, i, item) {
		if (!open_flag_of(item, &flag))
			return refuse(reader, key, "has what is no flag of open(2) known here");
		reader->line->request.open_flags |= flag;
	}
	return 0;
}

static int refuse_content(struct reader *reader)
{
	return rf_fs_fail(&reader->line->failure, EFBIG, RF_FS_CODE_LIMIT,
		"%s %s: the content is larger than %" PRIu64 " bytes",
		operation_for_message(reader->line), path_for_message(reader->line),
		reader->options->content_bytes);
}

static bool has_content(const struct rf_fs_line *line)
{
	return line->content || line->text || line->request.has_content_fd;
}

static int take_content(struct reader *reader, const char *key, void *content, size_t size)
{
	struct rf_fs_line *line = reader->line;

	if (has_content(line)) {
		free(content);
		return refuse(reader, key, "is a second content");
	}
	line->content = content;
	line->request.content = content;
	line->request.content_size_bytes = size;
	return size > reader->options->content_bytes ? refuse_content(reader) : 0;
}

/* Base64 of so many characters. */
static bool is_too_large(const struct rf_fs_line_options *options, size_t length)
{
	return length / 4 * 3 > options->content_bytes + 2;
}

static int take_lifted(struct reader *reader, const char *key, enum rf_fs_lift which)
{
	struct rf_fs_lifted *lifted = &reader->lifted[which];

	if (lifted->status == RF_FS_LIFT_LARGE)
		return refuse_content(reader);
	if (lifted->status == RF_ENCODED_WRONG)
		return refuse(reader, key,
			which == RF_FS_LIFT_CONTENT ? "is not base64" : "is no JSON string");
	return take_content(reader, key, RF_TAKE(lifted->content), lifted->size);
}

static int read_content(struct reader *reader, const char *key, const json_t *value)
{
	size_t length = json_string_length(value);
	void *content = NULL;
	size_t size = 0;
	int r;

	if (!json_is_string(value))
		return refuse(reader, key, "is not a string");
	if (reader->lifted[RF_FS_LIFT_CONTENT].is_there)
		return take_lifted(reader, key, RF_FS_LIFT_CONTENT);
	if (is_too_large(reader->options, length))
		return refuse_content(reader);
	r = rf_base64_decode(json_string_value(value), length, &content, &size);
	if (r == RF_ENCODED_WRONG)
		return refuse(reader, key, "is not base64");
	return r == 0 ? take_content(reader, key, content, size) : r;
}

static int read_text(struct reader *reader, const char *key, const json_t *value)
{
	struct rf_fs_line *line = reader->line;

	if (!json_is_string(value))
		return refuse(reader, key, "is not a string");
	if (reader->lifted[RF_FS_LIFT_TEXT].is_there)
		return take_lifted(reader, key, RF_FS_LIFT_TEXT);
	if (json_string_length(value) > reader->options->content_bytes)
		return refuse_content(reader);
	if (has_content(line))
		return refuse(reader, key, "is a second content");
	line->text = json_incref((json_t *)value);
	line->request.content = json_string_value(value);
	line->request.content_size_bytes = json_string_length(value);
	return 0;
}

static int read_content_fd(struct reader *reader, const char *key, const json_t *value)
{
	const struct rf_fs_line_options *options = reader->options;
	struct rf_fs_request *request = &reader->line->request;

	if (!json_is_integer(value) || json_integer_value(value) < 0 || !options->find_fd)
		return refuse(reader, key, "is no descriptor that can be used here");
	if (has_content(reader->line))
		return refuse(reader, key, "is a second content");
	request->content_fd =
		options->find_fd(options->userdata, (uint64_t)json_integer_value(value));
	if (request->content_fd < 0)
		return refuse(reader, key, "is no descriptor that was passed");
	request->has_content_fd = true;
	return 0;
}

/* ---- which member is whose --------------------------------------------------------------------
 */

#define OF(operation) (1U << RF_FS_##operation)
#define OF_ALL ((1U << RF_FS_OPERATIONS_) - 1)
#define OF_WRITERS (OF(WRITE) | OF(APPEND) | OF(REPLACE))

static const struct member {
	const char *key;
	unsigned int operations;
	int (*read)(struct reader *reader, const char *key, const json_t *value);
} members[] = {
	{"atime_ns", OF_WRITERS | OF(CHANGE), read_atime},
	{"content", OF_WRITERS, read_content},
	{"content_fd", OF_WRITERS | OF(READ), read_content_fd},
	{"durable", OF(REPLACE), read_durable},
	{"exclude", OF(GLOB), read_exclude},
	{"flags", OF_WRITERS | OF(READ), read_open_flags},
	{"force", OF(REMOVE) | OF(RENAME) | OF(COPY), read_force},
	{"length", OF(READ) | OF(DIGEST) | OF(CHANGE), read_length},
	{"mode", OF_WRITERS | OF(MKDIR) | OF(CHANGE), read_mode},
	{"mtime_ns", OF_WRITERS | OF(CHANGE), read_mtime},
	{"offset", OF(READ) | OF(WRITE) | OF(DIGEST), read_offset},
	{"parents", OF(MKDIR), read_parents},
	{"path", OF_ALL, read_path},
	{"patterns", OF(GLOB), read_patterns},
	{"recursive", OF(LIST) | OF(REMOVE) | OF(COPY), read_recursive},
	{"stat", OF(LIST) | OF(READ), read_stat},
	{"sync", OF(WRITE) | OF(APPEND) | OF(COPY) | OF(MKDIR) | OF(RENAME) | OF(REMOVE),
		read_sync},
	{"target", OF(RENAME) | OF(COPY), read_target},
	{"text", OF_WRITERS, read_text},
};

static const struct member *find_member(const char *key)
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(members); i++) {
		if (strcmp(members[i].key, key) == 0)
			return &members[i];
	}
	return NULL;
}

static int read_member(struct reader *reader, const char *key, const json_t *value)
{
	const struct member *member;

	if (strcmp(key, "op") == 0 || strcmp(key, "id") == 0)
		return 0;
	/* Read first, for the messages. */
	if (strcmp(key, "path") == 0 && reader->line->path)
		return 0;
	member = find_member(key);
	if (!member)
		return refuse(reader, key, "is not known");
	if (!(member->operations & 1U << reader->line->request.operation))
		return refuse(reader, key, "is not for this operation");
	return member->read(reader, key, value);
}

static int read_operation(struct reader *reader, const json_t *object)
{
	struct rf_fs_line *line = reader->line;
	const json_t *op = json_object_get(object, "op");

	if (!json_is_string(op))
		return refuse(reader, "op", "is missing");
	if (!rf_fs_operation_parse(json_string_value(op), &line->request.operation))
		return refuse(reader, "op", "is no operation");
	line->has_operation = true;
	return 0;
}

static int read_id(struct reader *reader, const json_t *object)
{
	json_t *id = json_object_get(object, "id");

	if (!id || json_is_null(id))
		return 0;
	if (!json_is_string(id) && !json_is_integer(id))
		return refuse(reader, "id", "is neither a string nor an integer");
	reader->line->id = json_incref(id);
	return 0;
}

/* A glob without a path starts at the root, and an absolute pattern needs none. */
static int check_required(struct reader *reader)
{
	struct rf_fs_line *line = reader->line;
	bool needs_target =
		line->request.operation == RF_FS_RENAME || line->request.operation == RF_FS_COPY;

	if (!line->path && line->request.operation == RF_FS_GLOB)
		line->request.path = ".";
	else if (!line->path)
		return refuse(reader, "path", "is missing");
	if (needs_target && !line->target)
		return refuse(reader, "target", "is missing");
	if (line->request.operation == RF_FS_GLOB && line->patterns.count == 0)
		return refuse(reader, "patterns", "is missing");
	return 0;
}

static int read_members(struct reader *reader, const json_t *object)
{
	const json_t *path = json_object_get(object, "path");
	const char *key;
	json_t *value;
	int r = path ? read_path(reader, "path", path) : 0;

	if (r == 0)
		r = read_operation(reader, object);
	json_object_foreach ((json_t *)object, key, value) {
		if (r != 0)
			return r;
		r = read_member(reader, key, value);
	}
	return r == 0 ? check_required(reader) : r;
}

static void begin(struct rf_fs_line *ret_line)
{
	*ret_line = (struct rf_fs_line){.request = {.path = "",
						.content_fd = -1,
						.atime_ns = RF_FS_TIME_OMIT,
						.mtime_ns = RF_FS_TIME_OMIT}};
}

static int read_object(const json_t *object, const struct rf_fs_line_options *options,
	struct rf_fs_lifted *lifted, struct rf_fs_line *ret_line)
{
	struct reader reader = {ret_line, options, lifted};
	int r = 0;

	begin(ret_line);
	if (!json_is_object(object)) {
		rf_fs_line_fail(ret_line, EINVAL, RF_FS_CODE_MALFORMED, "it is no JSON object");
		return 0;
	}
	r = read_id(&reader, object);
	if (r == 0)
		r = read_members(&reader, object);
	ret_line->is_malformed = r == RF_REFUSED;
	return r < 0 ? r : 0;
}

int rf_fs_line_read(
	const json_t *object, const struct rf_fs_line_options *options, struct rf_fs_line *ret_line)
{
	struct rf_fs_lifted none[RF_FS_LIFTS_] = {0};

	return read_object(object, options, none, ret_line);
}

/* What is left of a large line has to be small. 0, or RF_REFUSED with the line failed. */
static int check_rest(const char *text, size_t size_bytes, struct rf_fs_line *ret_line)
{
	char why[80];

	if (size_bytes > RF_FS_REST_MAX_BYTES) {
		snprintf(why, sizeof(why), "without its content it is larger than %u bytes",
			RF_FS_REST_MAX_BYTES);
		rf_fs_line_fail(ret_line, E2BIG, RF_FS_CODE_LIMIT, why);
		return RF_REFUSED;
	}
	if (rf_fs_has_many_values(text, size_bytes)) {
		snprintf(why, sizeof(why), "it has more than %u values", RF_FS_REST_MAX_VALUES);
		rf_fs_line_fail(ret_line, EINVAL, RF_FS_CODE_MALFORMED, why);
		return RF_REFUSED;
	}
	return 0;
}

static void lifted_clear(struct rf_fs_lifted (*lifted)[RF_FS_LIFTS_])
{
	rf_fs_lift_clear(*lifted);
}

int rf_fs_line_parse(char *text, size_t size_bytes, const struct rf_fs_line_options *options,
	struct rf_fs_line *ret_line)
{
	size_t lift_bytes = options->lift_bytes ? options->lift_bytes : RF_FS_LIFT_BYTES;
	struct rf_fs_lifted lifted[RF_FS_LIFTS_] rf_cleanup(lifted_clear) = {0};
	json_t *object rf_autojson = NULL;
	char message[sizeof(((json_error_t *)NULL)->text) + 64];
	json_error_t error;
	int r = 0;

	begin(ret_line);
	if (size_bytes >= lift_bytes) {
		r = rf_fs_lift(text, &size_bytes, options->content_bytes, lifted);
		if (r == 0)
			r = check_rest(text, size_bytes, ret_line);
	}
	if (r)
		return r < 0 ? r : 0;
	object = rf_json_parse(text, size_bytes, &error);
	if (object)
		return read_object(object, options, lifted, ret_line);
	snprintf(message, sizeof(message), "no JSON at byte %d: %s", error.position, error.text);
	rf_fs_line_fail(ret_line, EINVAL, RF_FS_CODE_MALFORMED, message);
	return 0;
}

void rf_fs_line_fail(
	struct rf_fs_line *ret_line, int error, enum rf_fs_code code, const char *message)
{
	begin(ret_line);
	ret_line->is_malformed = true;
	rf_fs_fail(&ret_line->failure, error, code, "request: %s", message);
}

void rf_fs_line_clear(struct rf_fs_line *line)
{
	json_decref(line->id);
	free(line->path);
	free(line->target);
	free(line->content);
	json_decref(line->text);
	rf_strv_clear(&line->patterns);
	rf_strv_clear(&line->exclude);
	rf_fs_result_clear(&line->failure);
	*line = (struct rf_fs_line){0};
}
