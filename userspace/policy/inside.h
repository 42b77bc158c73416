/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a path leads to inside the view of a plan, without making the view: its steps say what hides
 * what, the host's own filesystem says what stands in a bind. Private to userspace/policy.
 *
 * A look, not a promise: what is asked here can be another thing by the time of the run.
 */

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "policy/plan.h"

enum rf_inside_kind {
	RF_INSIDE_MISSING,
	RF_INSIDE_FILE,
	RF_INSIDE_DIRECTORY,
	RF_INSIDE_LINK,
	RF_INSIDE_DEVICE,
	RF_INSIDE_OTHER,  /* a socket or a pipe */
	RF_INSIDE_CLOSED, /* a masked file: a device that nobody may open */
	RF_INSIDE_LIVE,	  /* of a process or a terminal: only the sandbox itself knows */
};

struct rf_inside_object {
	enum rf_inside_kind kind;
	/* Mount that it lies in; NULL: the root that bubblewrap makes. Borrowed from the plan. */
	const struct rf_view_step *mount;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	bool is_read_only;
	bool has_no_exec;
};

struct rf_inside {
	/* Where the walk came to: absolute, no link in it. */
	char path[PATH_MAX];
	struct rf_inside_object object;
	/* Of its directory, when is_last. */
	struct rf_inside_object parent;
	/* The walk went through every directory: object is what the last name stands for. */
	bool is_last;
	/* Otherwise why it ended: ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG. */
	int error;
};

/* path is absolute, or relative to the command's working directory. 0 or -errno. */
int rf_inside_find(const struct rf_plan *plan, const char *path, struct rf_inside *ret_inside);

/* Do owner, group and mode let the command do this (4 read, 2 write, 1 execute or search)? */
bool rf_inside_may(
	const struct rf_plan *plan, const struct rf_inside_object *object, unsigned int want);
