/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Requests and results as JSON: a line each for `ringfence fs batch`, list items for FileBatch.
 *
 * A request is an object. "op" is a name of rf_fs_operation_parse; "id" (a string or an integer)
 *comes back with the result; the others are of the operations that know them:
 *
 *	path, target              text, relative to the root or absolute below it
 *	patterns, exclude         glob: lists of texts (or one text)
 *	recursive                 list, remove, copy
 *	parents                   mkdir
 *	force                     remove, rename, copy
 *	sync                      write, append, copy, mkdir, rename, remove
 *	durable                   replace; true unless given
 *	stat                      list, read
 *	mode                      octal digits in a string ("0644")
 *	atime_ns, mtime_ns        nanoseconds since the epoch: integers, or decimal in a string
 *	offset, length            bytes
 *	flags                     read, write, append, replace: list of open(2)'s names ("O_CREAT")
 *	content                   base64; text: the same as it stands; content_fd: a descriptor
 *
 * A text that is not UTF-8 is the object {"hex": "…"}. In results such a text is written with \xHH
 * for what is not UTF-8, and its bytes are in a second member whose name ends in _hex. What is not
 * known, or known and of the wrong type, makes the request malformed, and that request alone.
 *
 * A result is {"id", "op", "path", "ok": true, …} or {…, "ok": false, "error": {"operation",
 *"path", "errno", "code", "message"}}; code is null where the errno says it all.
 */

#include <jansson.h>

#include "base/strv.h"
#include "fs/fs.h"

/* A request and what it borrows from. */
struct rf_fs_line {
	struct rf_fs_request request;
	/* Not readable: this is its result; request is of no use. */
	struct rf_fs_result failure;
	bool is_malformed;
	/* "op", where there was such an operation. */
	bool has_operation;
	/* read: the file's stat is wanted in the answer. */
	bool wants_stat;
	/* As given; NULL when missing. */
	json_t *id;
	char *path;
	char *target;
	void *content;
	/* Of which content is the text. */
	json_t *text;
	struct rf_strv patterns;
	struct rf_strv exclude;
};

#define RF_FS_LIFT_BYTES 65536U

struct rf_fs_line_options {
	/* Content that a request may carry, decoded. */
	uint64_t content_bytes;
	/* content_fd is refused unless this is non-NULL: gives the descriptor (borrowed) for the
	 * number, or -1. */
	int (*find_fd)(void *userdata, uint64_t number);
	void *userdata;
	/* rf_fs_line_parse: a line at least this long has its content decoded where it stands
	 * (lift.h). 0: RF_FS_LIFT_BYTES. */
	size_t lift_bytes;
};

/* Reads one request. Always leaves a line to clear; 0 (is_malformed tells) or -ENOMEM. */
int rf_fs_line_read(const json_t *object, const struct rf_fs_line_options *options,
	struct rf_fs_line *ret_line);
/* The same from text, which need not be JSON, and is not what it was afterwards. */
int rf_fs_line_parse(char *text, size_t size_bytes, const struct rf_fs_line_options *options,
	struct rf_fs_line *ret_line);
/* A line that failed before it could be read. */
void rf_fs_line_fail(
	struct rf_fs_line *ret_line, int error, enum rf_fs_code code, const char *message);
void rf_fs_line_clear(struct rf_fs_line *line);

/*
 * The result as an object. Without bulk, content and entries, which can be many times larger as
 * JSON than they are, are left to the caller. New reference; NULL: no memory.
 */
json_t *rf_fs_line_answer(
	const struct rf_fs_line *line, const struct rf_fs_result *result, bool with_bulk);

/* Sets key to the text, and key_hex where it is not UTF-8. */
void rf_fs_set_text(json_t *object, const char *key, const char *text);
json_t *rf_fs_stat_json(const struct rf_fs_stat *stat);
json_t *rf_fs_entry_json(const struct rf_fs_entry *entry);
