/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Paths as text. Nothing here looks at a filesystem. */

#include <stdbool.h>
#include <stddef.h>

/*
 * "a//b/./c/" becomes "a/b/c", "/" stays "/", "" and "." become ".". ".." is folded when
 * something stands before it and kept at the front of a relative path ("a/../../b" -> "../b").
 * Folding is textual: use it only where no component can be a symbolic link, or to find names
 * that leave. The result belongs to the caller; NULL: out of memory.
 */
char *rf_path_normalise(const char *path);

/* base + "/" + path, or path alone when it is absolute; not normalised. NULL: out of memory. */
char *rf_path_join(const char *base, const char *path);

/* Is path equal to or below directory? Both normalised and absolute (or both relative). */
bool rf_path_is_within(const char *path, const char *directory);

/* The part of path below directory ("" when equal); NULL when it is not within. Borrowed. */
const char *rf_path_below(const char *path, const char *directory);

/* Parent of a normalised absolute path ("/" of "/"); belongs to the caller. */
char *rf_path_parent(const char *path);

/* Last component of a normalised path; borrowed. */
const char *rf_path_name(const char *path);
