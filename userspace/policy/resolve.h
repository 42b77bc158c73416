/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Names, resolved by descriptor: what is found is described by its canonical path, its identity,
 * and the symbolic links that were met on the way.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/strv.h"

enum rf_found_kind {
	RF_FOUND_MISSING, /* some component is not there, or is no directory */
	RF_FOUND_EXISTING,
	RF_FOUND_CLOSED, /* this user may not look (EACCES), or too many links (ELOOP) */
};

struct rf_found {
	enum rf_found_kind kind;
	/*
	 * Canonical and absolute. Of what is missing: the canonical part that exists, then the
	 * rest as it was written.
	 */
	char *path;
	/* Length of the part of path that exists. */
	size_t existing_length;
	uint64_t dev;
	uint64_t ino;
	uint32_t mode;
	/* Pairs: canonical place of a link, its text. In the order met. */
	struct rf_strv links;
	/* Why it is closed; ENOTDIR when it is missing because a file stands in the way. */
	int error;
};

void rf_found_clear(struct rf_found *found);
#define rf_autofound rf_cleanup(rf_found_clear)

/* A directory that names start from. Keeps the last parent open: lists name many siblings. */
struct rf_origin {
	/* Borrowed. */
	int fd;
	const char *path;
	/* Owned; -1 and NULL at first. */
	int parent_fd;
	char *parent;
};

/* dirfd and path (canonical) are borrowed and must outlive it. */
static inline struct rf_origin rf_origin(int dirfd, const char *path)
{
	return (struct rf_origin){.fd = dirfd, .path = path, .parent_fd = -1};
}

void rf_origin_clear(struct rf_origin *origin);
#define rf_autoorigin rf_cleanup(rf_origin_clear)

/*
 * Resolves name (absolute, or relative to the origin) as the kernel would. 0 or -errno; what is
 * missing or closed is an answer, not an error.
 */
int rf_resolve(struct rf_origin *origin, const char *name, struct rf_found *ret_found);

/*
 * Opens (O_PATH, no link in any component) what was found before and checks that it is the same.
 * path is canonical; origin as above for paths below it, else from the root. A descriptor,
 * -ESTALE when something else is there now, or -errno.
 */
int rf_open_found(
	int origin_fd, const char *origin_path, const char *path, uint64_t dev, uint64_t ino);

/* Is any component ".."? */
bool rf_has_parent_steps(const char *name);

/* openat2 with RESOLVE_NO_SYMLINKS and _NO_MAGICLINKS, by hand where the call is refused. */
int rf_open_no_links(int dirfd, const char *path, int flags);
