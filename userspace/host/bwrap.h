/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which bubblewrap may be trusted, and what it can do. */

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"
#include "policy/facts.h"

struct rf_bwrap {
	/* ENFORCED: usable; else why and remedy, fd -1 and path empty. */
	struct rf_fact fact;
	/* The one opening; use it by descriptor. */
	int fd;
	char path[4096];
	unsigned int version[3];
	bool has_bind_fd;
	bool is_setuid;
};

/*
 * The first of candidates (NULL-terminated; NULL: the fixed system places) that is a regular
 * executable file, owned by root or by owner, not writable by group or others, and not ourselves.
 * ret_bwrap is always filled.
 */
void rf_bwrap_find(const char *const *candidates, uid_t owner, struct rf_bwrap *ret_bwrap);
void rf_bwrap_clear(struct rf_bwrap *bwrap);

/* struct rf_bwrap bwrap rf_autobwrap = {.fd = -1}; */
#define rf_autobwrap rf_cleanup(rf_bwrap_clear)
