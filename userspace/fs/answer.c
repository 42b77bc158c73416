/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Results as JSON. Names come from the filesystem: escaped where they are not UTF-8, never lost. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "fs/encode.h"
#include "fs/request.h"

static bool is_utf8(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t left = strlen(text);

	while (left > 0) {
		size_t length = rf_utf8_length(at, left);

		if (length == 0)
			return false;
		at += length;
		left -= length;
	}
	return true;
}

void rf_fs_set_text(json_t *object, const char *key, const char *text)
{
	size_t size = strlen(text);
	char *hex rf_autofree = NULL;
	char hex_key[32];

	json_object_set_new(object, key, rf_json_text(text));
	if (is_utf8(text))
		return;
	hex = malloc(2 * size + 1);
	if (!hex)
		return;
	rf_hex_encode(text, size, hex);
	snprintf(hex_key, sizeof(hex_key), "%s_hex", key);
	json_object_set_new(object, hex_key, json_string(hex));
}

static void set_number(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_time(json_t *object, const char *key, int64_t ns)
{
	char text[24];

	/* Beyond 2^53, where many readers of JSON lose digits. */
	snprintf(text, sizeof(text), "%" PRId64, ns);
	json_object_set_new(object, key, json_string(text));
}

json_t *rf_fs_stat_json(const struct rf_fs_stat *stat)
{
	json_t *object = json_object();
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o", stat->mode & 07777);
	json_object_set_new(
		object, "type", json_string(rf_fs_type_name(rf_fs_type_of_mode(stat->mode))));
	json_object_set_new(object, "mode", json_string(mode));
	set_number(object, "size", stat->size_bytes);
	set_number(object, "blocks", stat->blocks_512);
	set_number(object, "block_size", stat->block_bytes);
	set_number(object, "links", stat->links);
	set_number(object, "uid", stat->uid);
	set_number(object, "gid", stat->gid);
	json_object_set_new(object, "dev", rf_json_id(stat->dev));
	json_object_set_new(object, "ino", rf_json_id(stat->ino));
	set_time(object, "atime_ns", stat->atime_ns);
	set_time(object, "mtime_ns", stat->mtime_ns);
	set_time(object, "ctime_ns", stat->ctime_ns);
	if (stat->btime_ns != 0)
		set_time(object, "btime_ns", stat->btime_ns);
	return object;
}

static void set_digest(json_t *object, const uint8_t digest[RF_FS_DIGEST_BYTES])
{
	char hex[2 * RF_FS_DIGEST_BYTES + 1];

	rf_hex_encode(digest, RF_FS_DIGEST_BYTES, hex);
	json_object_set_new(object, "sha256", json_string(hex));
}

json_t *rf_fs_entry_json(const struct rf_fs_entry *entry)
{
	json_t *object = json_object();

	rf_fs_set_text(object, "path", entry->path);
	json_object_set_new(object, "type", json_string(rf_fs_type_name(entry->type)));
	if (entry->has_stat)
		json_object_set_new(object, "stat", rf_fs_stat_json(&entry->stat));
	if (entry->has_digest)
		set_digest(object, entry->digest);
	return object;
}

static json_t *entries_json(const struct rf_fs_result *result)
{
	json_t *list = json_array();

	for (size_t i = 0; i < result->n_entries; i++)
		json_array_append_new(list, rf_fs_entry_json(&result->entries[i]));
	return list;
}

static json_t *content_json(const struct rf_fs_result *result)
{
	char *text rf_autofree = malloc(rf_base64_size(result->content_size_bytes) + 1);

	if (!text)
		return NULL;
	rf_base64_encode(result->content, result->content_size_bytes, text);
	return json_string(text);
}

/* How many names are gone; after a refusal also which, trees by their tops. */
static void set_removed(json_t *object, const struct rf_fs_result *result)
{
	json_t *paths;

	set_number(object, "removed", result->n_removed);
	if (!result->removed)
		return;
	paths = json_array();
	for (size_t at = 0; at < result->removed_size_bytes;) {
		const char *path = result->removed + at;

		json_array_append_new(paths, rf_json_text(path));
		at += strlen(path) + 1;
	}
	json_object_set_new(object, "removed_paths", paths);
	json_object_set_new(object, "removed_is_cut", json_boolean(result->removed_is_cut));
}

static json_t *error_json(const struct rf_fs_line *line, const struct rf_fs_result *result)
{
	const char *code = rf_fs_code_name(result->code);
	json_t *object = json_object();

	json_object_set_new(object, "operation",
		line->has_operation ? json_string(rf_fs_operation_name(line->request.operation))
				    : json_null());
	if (line->path)
		rf_fs_set_text(object, "path", line->path);
	else
		json_object_set_new(object, "path", json_null());
	json_object_set_new(object, "errno", json_string(rf_fs_errno_name(result->error)));
	json_object_set_new(object, "code", *code ? json_string(code) : json_null());
	json_object_set_new(object, "message",
		rf_json_text(result->message ? result->message : strerror(result->error)));
	return object;
}

static void set_success(json_t *object, const struct rf_fs_line *line,
	const struct rf_fs_result *result, bool with_bulk)
{
	switch (line->request.operation) {
	case RF_FS_READ:
		set_number(object, "bytes",
			line->request.has_content_fd ? result->bytes : result->content_size_bytes);
		if (with_bulk && !line->request.has_content_fd)
			json_object_set_new(object, "content", content_json(result));
		break;
	case RF_FS_WRITE:
	case RF_FS_APPEND:
	case RF_FS_REPLACE:
	case RF_FS_COPY:
		set_number(object, "bytes", result->bytes);
		break;
	case RF_FS_EXISTS:
		json_object_set_new(object, "exists", json_boolean(result->exists));
		break;
	case RF_FS_LIST:
	case RF_FS_GLOB:
	case RF_FS_SNAPSHOT:
		if (with_bulk)
			json_object_set_new(object, "entries", entries_json(result));
		break;
	case RF_FS_REMOVE:
		set_removed(object, result);
		break;
	case RF_FS_REAL_PATH:
		rf_fs_set_text(object, "real_path", result->real_path ? result->real_path : "");
		break;
	case RF_FS_STAT:
	case RF_FS_MKDIR:
	case RF_FS_RENAME:
	case RF_FS_DIGEST:
	case RF_FS_CHANGE:
	case RF_FS_OPERATIONS_:
		break;
	}
	if (result->has_digest)
		set_digest(object, result->digest);
	if (result->has_stat && (line->request.operation != RF_FS_READ || line->wants_stat))
		json_object_set_new(object, "stat", rf_fs_stat_json(&result->stat));
}

json_t *rf_fs_line_answer(
	const struct rf_fs_line *line, const struct rf_fs_result *result, bool with_bulk)
{
	json_t *object = json_object();

	if (!object)
		return NULL;
	if (line->id)
		json_object_set(object, "id", line->id);
	if (line->has_operation)
		json_object_set_new(
			object, "op", json_string(rf_fs_operation_name(line->request.operation)));
	if (line->path)
		rf_fs_set_text(object, "path", line->path);
	json_object_set_new(object, "ok", json_boolean(result->error == 0));
	if (result->error == 0) {
		set_success(object, line, result, with_bulk);
		return object;
	}
	json_object_set_new(object, "error", error_json(line, result));
	if (line->has_operation && line->request.operation == RF_FS_REMOVE)
		set_removed(object, result);
	return object;
}
