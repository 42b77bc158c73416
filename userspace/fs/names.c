/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names of operations, codes and types; failures and what results own. */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fs/inside.h"

static const char *const operation_names[] = {
	[RF_FS_READ] = "read",
	[RF_FS_WRITE] = "write",
	[RF_FS_APPEND] = "append",
	[RF_FS_REPLACE] = "replace",
	[RF_FS_STAT] = "stat",
	[RF_FS_EXISTS] = "exists",
	[RF_FS_LIST] = "list",
	[RF_FS_MKDIR] = "mkdir",
	[RF_FS_RENAME] = "rename",
	[RF_FS_REMOVE] = "remove",
	[RF_FS_COPY] = "copy",
	[RF_FS_DIGEST] = "digest",
	[RF_FS_REAL_PATH] = "real-path",
	[RF_FS_SNAPSHOT] = "snapshot",
	[RF_FS_CHANGE] = "change",
	[RF_FS_GLOB] = "glob",
};
_Static_assert(RF_ARRAY_SIZE(operation_names) == RF_FS_OPERATIONS_, "one name an operation");

const char *rf_fs_operation_name(enum rf_fs_operation operation)
{
	if ((size_t)operation >= RF_ARRAY_SIZE(operation_names))
		return "unknown";
	return operation_names[operation];
}

bool rf_fs_operation_parse(const char *name, enum rf_fs_operation *ret_operation)
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(operation_names); i++) {
		if (strcmp(name, operation_names[i]) == 0) {
			*ret_operation = (enum rf_fs_operation)i;
			return true;
		}
	}
	return false;
}

const char *rf_fs_code_name(enum rf_fs_code code)
{
	switch (code) {
	case RF_FS_CODE_NONE:
		return "";
	case RF_FS_CODE_LIMIT:
		return "limit";
	case RF_FS_CODE_TIMEOUT:
		return "timeout";
	case RF_FS_CODE_UNSUPPORTED:
		return "unsupported";
	case RF_FS_CODE_MALFORMED:
		return "malformed";
	case RF_FS_CODE_ESCAPE:
		return "escape";
	case RF_FS_CODE_CHANGED:
		return "changed-while-open";
	}
	return "";
}

const char *rf_fs_type_name(enum rf_fs_type type)
{
	switch (type) {
	case RF_FS_TYPE_UNKNOWN:
		break;
	case RF_FS_TYPE_FILE:
		return "file";
	case RF_FS_TYPE_DIRECTORY:
		return "directory";
	case RF_FS_TYPE_SYMLINK:
		return "symlink";
	case RF_FS_TYPE_FIFO:
		return "fifo";
	case RF_FS_TYPE_SOCKET:
		return "socket";
	case RF_FS_TYPE_CHARACTER:
		return "character-device";
	case RF_FS_TYPE_BLOCK:
		return "block-device";
	}
	return "unknown";
}

enum rf_fs_type rf_fs_type_of_mode(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return RF_FS_TYPE_FILE;
	case S_IFDIR:
		return RF_FS_TYPE_DIRECTORY;
	case S_IFLNK:
		return RF_FS_TYPE_SYMLINK;
	case S_IFIFO:
		return RF_FS_TYPE_FIFO;
	case S_IFSOCK:
		return RF_FS_TYPE_SOCKET;
	case S_IFCHR:
		return RF_FS_TYPE_CHARACTER;
	case S_IFBLK:
		return RF_FS_TYPE_BLOCK;
	default:
		return RF_FS_TYPE_UNKNOWN;
	}
}

const char *rf_fs_errno_name(int error)
{
	const char *name = strerrorname_np(error);

	return name ? name : "EIO";
}

const char *rf_fs_engine_name(enum rf_fs_engine engine)
{
	switch (engine) {
	case RF_FS_ENGINE_AUTO:
		return "auto";
	case RF_FS_ENGINE_URING:
		return "io_uring";
	case RF_FS_ENGINE_PLAIN:
		return "plain";
	}
	return "plain";
}

bool rf_fs_engine_parse(const char *name, enum rf_fs_engine *ret_engine)
{
	static const enum rf_fs_engine engines[] = {
		RF_FS_ENGINE_AUTO, RF_FS_ENGINE_URING, RF_FS_ENGINE_PLAIN};

	for (size_t i = 0; i < RF_ARRAY_SIZE(engines); i++) {
		if (strcmp(name, rf_fs_engine_name(engines[i])) == 0) {
			*ret_engine = engines[i];
			return true;
		}
	}
	return false;
}

/* ---- failures ------------------------------------------------------------------------------ */

int rf_fs_fail(
	struct rf_fs_result *result, int error, enum rf_fs_code code, const char *format, ...)
{
	va_list args;

	if (result->error != 0)
		return RF_REFUSED;
	result->error = error;
	result->code = code;
	va_start(args, format);
	/* Without memory for the words, the errno and the code still stand. */
	if (vasprintf(&result->message, format, args) < 0)
		result->message = NULL;
	va_end(args);
	return RF_REFUSED;
}

int rf_fs_refuse(struct rf_fs_result *result, enum rf_fs_operation operation, const char *path,
	int error, enum rf_fs_code code, const char *why)
{
	return rf_fs_fail(result, error, code, "%s %s: %s", rf_fs_operation_name(operation),
		path ? path : "", why ? why : strerrordesc_np(error));
}

int rf_fs_refuse_escape(struct rf_fs_result *result, enum rf_fs_operation operation,
	const char *path, const char *why)
{
	return rf_fs_refuse(result, operation, path, EACCES, RF_FS_CODE_ESCAPE, why);
}

int rf_fs_refuse_changed(struct rf_fs_result *result, enum rf_fs_operation operation,
	const char *path, const char *why)
{
	return rf_fs_refuse(result, operation, path, ESTALE, RF_FS_CODE_CHANGED, why);
}

int rf_fs_refuse_limit(struct rf_fs_result *result, enum rf_fs_operation operation,
	const char *path, int error, const char *what, uint64_t limit)
{
	return rf_fs_fail(result, error, RF_FS_CODE_LIMIT, "%s %s: %s: more than %" PRIu64,
		rf_fs_operation_name(operation), path ? path : "", what, limit);
}

int rf_fs_refuse_call(
	struct rf_fs_result *result, enum rf_fs_operation operation, const char *path, int error)
{
	if (error == ELOOP)
		return rf_fs_refuse_escape(
			result, operation, path, "a symbolic link is in the way");
	if (error == EXDEV)
		return rf_fs_refuse_escape(result, operation, path, "a mount point is in the way");
	return rf_fs_refuse(result, operation, path, error, RF_FS_CODE_NONE, NULL);
}

void rf_fs_result_clear(struct rf_fs_result *result)
{
	if (!result)
		return;
	for (size_t i = 0; i < result->n_entries; i++)
		free(result->entries[i].path);
	free(result->entries);
	free(result->message);
	free(result->content);
	free(result->real_path);
	free(result->removed);
	*result = (struct rf_fs_result){0};
}
