/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A request's path as text: which name below which parent. Nothing here looks at a filesystem,
 * and ".." is refused, not folded: "a/.." is not "." where a is missing.
 */

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/path.h"
#include "fs/inside.h"

void rf_fs_where_clear(struct rf_fs_where *where)
{
	free(where->text);
	*where = (struct rf_fs_where){0};
}

static int add_component(
	char *to, size_t *length, const char *component, size_t size, const char **ret_why)
{
	if (size == 0 || (size == 1 && component[0] == '.'))
		return 0;
	if (size == 2 && component[0] == '.' && component[1] == '.') {
		*ret_why = "\"..\" is never followed";
		return EACCES;
	}
	if (size > RF_NAME_MAX_BYTES) {
		*ret_why = "a name of more than 255 bytes";
		return ENAMETOOLONG;
	}
	if (*length > 0)
		to[(*length)++] = '/';
	memcpy(to + *length, component, size);
	*length += size;
	return 0;
}

/* "a//./b/" to "a/b"; to has room for path. 0 or errno. */
static int squeeze(const char *path, char *to, const char **ret_why)
{
	size_t length = 0;

	while (*path) {
		size_t size = strcspn(path, "/");
		int error = add_component(to, &length, path, size, ret_why);

		if (error)
			return error;
		path += size;
		path += strspn(path, "/");
	}
	to[length] = '\0';
	return 0;
}

/* What of an absolute path (without its first slash) lies below a root; NULL: it does not. */
static const char *below(const char *path, const char *root)
{
	if (!root)
		return NULL;
	if (*root == '\0')
		return path;
	return rf_path_below(path, root + 1);
}

static bool ends_in_directory(const char *path)
{
	size_t length = strlen(path);

	if (length > 0 && path[length - 1] == '/')
		return true;
	return (length == 1 && path[0] == '.') ||
	       (length > 1 && path[length - 1] == '.' && path[length - 2] == '/');
}

static void split(struct rf_fs_where *where, char *copy)
{
	char *slash = strrchr(copy, '/');

	if (slash)
		*slash = '\0';
	else
		copy = (char *)".";
	where->parent = copy;
	slash = strrchr(where->text, '/');
	where->name = slash ? slash + 1 : where->text;
}

static int too_long(struct rf_fs_result *result, enum rf_fs_operation operation, const char *path)
{
	return rf_fs_fail(result, ENAMETOOLONG, RF_FS_CODE_NONE,
		"%s %.64s…: a path of more than %u bytes", rf_fs_operation_name(operation), path,
		RF_PATH_MAX_BYTES - 1);
}

int rf_fs_where(const struct rf_fs *fs, enum rf_fs_operation operation, const char *path,
	struct rf_fs_where *ret_where, struct rf_fs_result *result)
{
	size_t length = path ? strnlen(path, RF_PATH_MAX_BYTES) : 0;
	struct rf_fs_where where rf_autowhere = {0};
	const char *why = NULL, *rest;
	char *copy;
	int error;

	if (length == 0)
		return rf_fs_refuse(
			result, operation, path, EINVAL, RF_FS_CODE_MALFORMED, "no path is given");
	if (length >= RF_PATH_MAX_BYTES)
		return too_long(result, operation, path);
	/* The path, and a copy that is cut at its parent. */
	where.text = malloc(2 * length + 4);
	if (!where.text)
		return rf_fs_refuse(result, operation, path, ENOMEM, RF_FS_CODE_NONE, NULL);
	error = squeeze(path, where.text, &why);
	if (error)
		return rf_fs_refuse(result, operation, path, error,
			error == EACCES ? RF_FS_CODE_ESCAPE : RF_FS_CODE_NONE, why);
	if (path[0] == '/') {
		rest = below(where.text, fs->canonical);
		if (!rest)
			rest = below(where.text, fs->alias);
		if (!rest)
			return rf_fs_refuse_escape(result, operation, path, "outside the root");
		memmove(where.text, rest, strlen(rest) + 1);
	}
	where.is_root = where.text[0] == '\0';
	where.wants_directory = ends_in_directory(path);
	if (where.is_root)
		memcpy(where.text, ".", 2);
	copy = where.text + strlen(where.text) + 1;
	memcpy(copy, where.text, strlen(where.text) + 1);
	split(&where, copy);
	*ret_where = where;
	where.text = NULL;
	return 0;
}

int rf_fs_path(struct rf_fs *fs, const char *path, char **ret_path, struct rf_fs_result *result)
{
	struct rf_fs_where where rf_autowhere = {0};
	int r;

	*result = (struct rf_fs_result){0};
	r = rf_fs_where(fs, RF_FS_STAT, path, &where, result);
	if (r)
		return r;
	*ret_path = RF_TAKE(where.text);
	return 0;
}
