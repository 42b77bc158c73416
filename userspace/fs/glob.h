/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Glob patterns over paths below a root: compiled once, matched one name at a time, so that a walk
 * carries the state and knows at every directory whether anything below it can still match.
 *
 * A pattern is split at slashes. In a segment `*` is any text, `?` one character, `[…]` one of a
 * set (`!` or `^` first: none of it); `**` alone in a segment is any number of directories, and
 * `{a,b}` is expanded before all else. Names are case-sensitive. Bytes that are not UTF-8 count as
 * one character each.
 *
 *	hidden	a name that begins with a dot is matched by a segment that spells the dot (`.x`,
 *		`[.]x`) alone; `**` never spans such a directory
 *	a/	directories alone
 *	a/ **	(without the blank) all below `a`, and `a` itself: a directory always, a file only
 *		where every segment before is literal
 *	a/[.]	`a` itself, by the same rule; so does `a/.`; right after `**` it is nothing
 *
 * An exclusion removes what it names and all below. One that ends in `**` keeps the directory that
 * it is anchored at; one that ends in `**` and a slash removes the directories below that one. One
 * that names the root, or a directory above it, leaves nothing.
 *
 * An absolute pattern or exclusion is matched against the root's own path first and goes on below
 * it. Backslashes are dropped from absolute patterns and from exclusions; a relative pattern that
 * has one matches nothing.
 *
 * Everything is refused before the walk: extended globs (`@(…)`), `[:class:]`, `..` inside braces
 * (not read as literals), a segment `..`, absolute patterns outside the root. An unclosed `[` or
 * `{` is a literal, as in a shell.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "fs/fs.h"

#define RF_GLOB_PATTERNS_MAX 64U
#define RF_GLOB_EXCLUSIONS_MAX 256U
/* All alternatives of all patterns and exclusions written out: what compiling may take. */
#define RF_GLOB_EXPANDED_MAX_BYTES (RF_FS_PATTERN_BYTES * RF_FS_PATTERN_ALTERNATIVES)

struct rf_glob_error {
	enum rf_fs_code code;
	/* The one at fault; borrowed from the source. */
	const char *pattern;
	char message[160];
};

struct rf_glob_source {
	const char *const *patterns;
	size_t n_patterns;
	const char *const *exclusions;
	size_t n_exclusions;
	/* Normalised absolute paths of the root, each a spelling of the same directory. */
	const char *const *roots;
	size_t n_roots;
};

struct rf_glob;

/* 0, RF_REFUSED (*ret_error filled) or -ENOMEM. */
int rf_glob_new(struct rf_glob **ret_glob, const struct rf_glob_source *source,
	struct rf_glob_error *ret_error);
struct rf_glob *rf_glob_free(struct rf_glob *glob);
static inline void rf_glob_free_p(struct rf_glob **glob)
{
	rf_glob_free(*glob);
}
#define rf_autoglob rf_cleanup(rf_glob_free_p)

/* A walk has one state for each directory on its way down: an array of this many words. */
size_t rf_glob_state_words(const struct rf_glob *glob);

struct rf_glob_verdict {
	bool is_match;
	/* Neither this nor anything below. */
	bool is_excluded;
	/* Something below can match. */
	bool has_more;
};

/* The root itself, and the state of its directory. */
struct rf_glob_verdict rf_glob_start(const struct rf_glob *glob, uint64_t *ret_state);

/*
 * One entry of a directory whose state is from. A symbolic link is no directory. ret_state (another
 * array) is that of the entry; of use when has_more.
 */
struct rf_glob_verdict rf_glob_step(const struct rf_glob *glob, const uint64_t *from,
	const char *name, bool is_directory, uint64_t *ret_state);

#define RF_GLOB_READ_ALL 1
/*
 * The only names in a directory of this state that can matter, each once (borrowed from the glob):
 * they can be looked up instead of reading the directory. RF_GLOB_READ_ALL: more than max, or there
 * is a wildcard.
 */
int rf_glob_next_names(const struct rf_glob *glob, const uint64_t *state, const char **ret_names,
	size_t max, size_t *ret_n_names);

/* The whole of a relative path at once ("." is the root); for callers that do not walk. 0 or
 * -ENOMEM. */
int rf_glob_match(
	const struct rf_glob *glob, const char *path, bool is_directory, bool *ret_is_match);

/* RF_FS_GLOB on an open root, for rf_fs_set_glob. */
void rf_glob_run(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result);
