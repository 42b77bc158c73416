/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Drops the last component of out[0..*size), which has depth foldable ones. */
static void fold_parent(char *out, size_t *size)
{
	while (*size > 0 && out[*size - 1] != '/')
		(*size)--;
	if (*size > 1)
		(*size)--;
}

char *rf_path_normalise(const char *path)
{
	bool is_absolute = path[0] == '/';
	char *out = malloc(strlen(path) + 2);
	size_t size = 0;
	size_t depth = 0;

	if (!out)
		return NULL;
	if (is_absolute)
		out[size++] = '/';
	while (*path) {
		size_t length = strcspn(path, "/");
		bool is_parent = length == 2 && path[0] == '.' && path[1] == '.';

		if (length == 0 || (length == 1 && path[0] == '.') ||
			(is_parent && is_absolute && depth == 0)) {
			/* nothing to add */
		} else if (is_parent && depth > 0) {
			fold_parent(out, &size);
			depth--;
		} else {
			if (size > 0 && out[size - 1] != '/')
				out[size++] = '/';
			memcpy(out + size, path, length);
			size += length;
			if (!is_parent)
				depth++;
		}
		path += length;
		path += strspn(path, "/");
	}
	if (size == 0)
		out[size++] = '.';
	out[size] = '\0';
	return out;
}

char *rf_path_join(const char *base, const char *path)
{
	size_t length = strlen(base);
	size_t path_length = strlen(path);
	size_t slash = length && base[length - 1] == '/' ? 0 : 1;
	char *joined;

	if (path[0] == '/')
		return strdup(path);
	joined = malloc(length + slash + path_length + 1);
	if (!joined)
		return NULL;
	memcpy(joined, base, length);
	if (slash)
		joined[length] = '/';
	memcpy(joined + length + slash, path, path_length + 1);
	return joined;
}

const char *rf_path_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	if (strncmp(path, directory, length) != 0)
		return NULL;
	if (length == 1 && directory[0] == '/')
		return path + 1;
	if (path[length] == '\0')
		return path + length;
	return path[length] == '/' ? path + length + 1 : NULL;
}

bool rf_path_is_within(const char *path, const char *directory)
{
	return rf_path_below(path, directory) != NULL;
}

char *rf_path_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	if (slash == path)
		return strdup("/");
	return strndup(path, (size_t)(slash - path));
}

const char *rf_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
