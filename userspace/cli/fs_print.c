/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/say.h"
#include "base/strv.h"
#include "cli/fs.h"
#include "fs/encode.h"

/* A multiple of three, so that no padding comes in between. */
#define CONTENT_PIECE_BYTES 49152U

/* As messages escape, and the backslash too, that the escapes begin with: a path can be had back.
 */
static int escape(struct rf_buf *to, const char *path)
{
	char *copy rf_autofree = strdup(path);
	char *rest = copy, *part;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (part = strsep(&rest, "\\"))) {
		r = rf_say_escape(to, part);
		if (r == 0 && rest)
			r = rf_buf_add(to, "\\\\", 2);
	}
	return r;
}

static void print_escaped(const char *path)
{
	struct rf_buf text rf_autobuf = {0};

	if (escape(&text, path) < 0)
		rf_say_error("no memory for a path");
	else
		fwrite(text.data, 1, text.size, stdout);
}

void rf_fs_print_path(const struct rf_fs_command *command, const char *path)
{
	if (command->is_null) {
		fputs(path, stdout);
		putchar('\0');
		return;
	}
	print_escaped(path);
	putchar('\n');
}

static void print_mode(uint32_t mode)
{
	static const char types[] = "?pc?d?b?-?l?s???";
	static const char bits[] = "rwxrwxrwx-";
	char text[11];

	text[0] = types[mode >> 12 & 15];
	for (int i = 0; i < 9; i++)
		text[1 + i] = bits[mode >> (8 - i) & 1 ? i : 9];
	if (mode & S_ISUID)
		text[3] = mode & S_IXUSR ? 's' : 'S';
	if (mode & S_ISGID)
		text[6] = mode & S_IXGRP ? 's' : 'S';
	if (mode & S_ISVTX)
		text[9] = mode & S_IXOTH ? 't' : 'T';
	text[10] = '\0';
	fputs(text, stdout);
}

/* As `ls -l` has it, with the time in UTC. */
static void print_stat(const struct rf_fs_stat *stat)
{
	char time[RF_TIME_TEXT_BYTES] = "-";

	if (stat->mtime_ns >= 0)
		rf_time_text((uint64_t)stat->mtime_ns, time);
	print_mode(stat->mode);
	printf(" %3" PRIu64 " %5u %5u %10" PRIu64 " %s ", stat->links, stat->uid, stat->gid,
		stat->size_bytes, time);
}

static void print_digest(const uint8_t digest[RF_FS_DIGEST_BYTES])
{
	char hex[2 * RF_FS_DIGEST_BYTES + 1];

	rf_hex_encode(digest, RF_FS_DIGEST_BYTES, hex);
	printf("%s  ", hex);
}

void rf_fs_print_entry(const struct rf_fs_command *command, const struct rf_fs_entry *entry)
{
	if (entry->has_digest)
		print_digest(entry->digest);
	else if (command->request.operation == RF_FS_SNAPSHOT)
		printf("%-*s  ", 2 * RF_FS_DIGEST_BYTES, rf_fs_type_name(entry->type));
	else if (entry->has_stat)
		print_stat(&entry->stat);
	rf_fs_print_path(command, entry->path);
}

static int print_success(const struct rf_fs_command *command, const struct rf_fs_line *line,
	const struct rf_fs_result *result)
{
	switch (line->request.operation) {
	case RF_FS_EXISTS:
		return result->exists ? 0 : RF_FS_STATUS_FAILED;
	case RF_FS_STAT:
		print_stat(&result->stat);
		rf_fs_print_path(command, line->path);
		return 0;
	case RF_FS_DIGEST:
		print_digest(result->digest);
		rf_fs_print_path(command, line->path);
		return 0;
	case RF_FS_REAL_PATH:
		rf_fs_print_path(command, result->real_path);
		return 0;
	case RF_FS_LIST:
	case RF_FS_GLOB:
	case RF_FS_SNAPSHOT:
		for (size_t i = 0; i < result->n_entries; i++)
			rf_fs_print_entry(command, &result->entries[i]);
		if (line->request.operation != RF_FS_SNAPSHOT)
			return 0;
		if (!result->has_digest) {
			rf_say_error("snapshot %s: a file with more than one hard link is not "
				     "read, so the tree has no digest",
				line->path);
			return RF_FS_STATUS_FAILED;
		}
		print_digest(result->digest);
		rf_fs_print_path(command, line->path);
		return 0;
	case RF_FS_READ:
	case RF_FS_WRITE:
	case RF_FS_APPEND:
	case RF_FS_REPLACE:
	case RF_FS_MKDIR:
	case RF_FS_RENAME:
	case RF_FS_REMOVE:
	case RF_FS_COPY:
	case RF_FS_CHANGE:
	case RF_FS_OPERATIONS_:
		break;
	}
	return 0;
}

void rf_fs_say_failure(const struct rf_fs_line *line, const struct rf_fs_result *result)
{
	const char *code = rf_fs_code_name(result->code);
	const char *message = result->message;
	char *built rf_autofree = NULL;

	if (!message && asprintf(&built, "%s %s: %s", rf_fs_operation_name(line->request.operation),
				line->path ? line->path : ".", strerror(result->error)) > 0)
		message = built;
	rf_say_error("%s (%s%s%s)", message ? message : strerror(result->error),
		rf_fs_errno_name(result->error), *code ? ", " : "", code);
	if (line->request.operation == RF_FS_REMOVE && result->n_removed > 0)
		rf_say_error("%" PRIu64 " names were removed before that", result->n_removed);
}

/* Text of base64 straight to the output, so that content is held once. */
static void print_content(const void *content, size_t size)
{
	char piece[CONTENT_PIECE_BYTES / 3 * 4 + 1];
	const char *bytes = content;

	for (size_t at = 0; at < size; at += CONTENT_PIECE_BYTES) {
		size_t left = size - at;
		size_t n = left < CONTENT_PIECE_BYTES ? left : CONTENT_PIECE_BYTES;

		rf_base64_encode(bytes + at, n, piece);
		fwrite(piece, 1, rf_base64_size(n), stdout);
	}
}

static void print_entries(const struct rf_fs_result *result)
{
	for (size_t i = 0; i < result->n_entries; i++) {
		json_t *entry rf_autojson = rf_fs_entry_json(&result->entries[i]);
		char *text rf_autofree = rf_json_line(entry);

		if (i > 0)
			putchar(',');
		fputs(text ? text : "null", stdout);
	}
}

/* After the other members: what can be large. */
static void print_bulk(const struct rf_fs_line *line, const struct rf_fs_result *result)
{
	enum rf_fs_operation operation = line->request.operation;

	if (result->error != 0 || !line->has_operation)
		return;
	if (operation == RF_FS_READ && !line->request.has_content_fd) {
		fputs(",\"content\":\"", stdout);
		print_content(result->content, result->content_size_bytes);
		putchar('"');
	} else if (operation == RF_FS_LIST || operation == RF_FS_GLOB ||
		   operation == RF_FS_SNAPSHOT) {
		fputs(",\"entries\":[", stdout);
		print_entries(result);
		putchar(']');
	}
}

void rf_fs_print_answer(const struct rf_fs_command *command, const struct rf_fs_line *line,
	const struct rf_fs_result *result)
{
	json_t *answer rf_autojson = rf_fs_line_answer(line, result, false);
	char *text rf_autofree = NULL;

	json_object_set_new(
		answer, "engine", json_string(rf_fs_engine_name(rf_fs_engine(command->fs, NULL))));
	text = rf_json_line(answer);
	if (!text) {
		rf_say_error("no memory for a result");
		return;
	}
	/* Its last character is the closing brace. */
	fwrite(text, 1, strlen(text) - 1, stdout);
	print_bulk(line, result);
	puts("}");
}

int rf_fs_print(const struct rf_fs_command *command, const struct rf_fs_line *line,
	const struct rf_fs_result *result)
{
	if (command->is_json)
		rf_fs_print_answer(command, line, result);
	if (result->error != 0) {
		if (!command->is_json)
			rf_fs_say_failure(line, result);
		return RF_FS_STATUS_FAILED;
	}
	if (command->is_json)
		return line->request.operation == RF_FS_EXISTS && !result->exists
			       ? RF_FS_STATUS_FAILED
			       : 0;
	return print_success(command, line, result);
}
