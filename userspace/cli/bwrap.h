/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ringfence bwrap: bubblewrap as a child of the client, in a cgroup of its own.
 *
 *	bwrap_line.c   which words are ours
 *	bwrap.c        our options, the program, the exit status
 *	bwrap_child.c  the child, and the descriptors that it shall have
 *	bwrap_run.c    one call of Wrap, and the loop until the result
 */

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"
#include "cli/bwrap_line.h"
#include "policy/policy.h"

/* As bubblewrap says that it failed. */
#define RF_BWRAP_STATUS_FAILED 1
#define RF_BWRAP_FILTERS_MAX 4U

/* A descriptor of ours that the child shall have under the number of the caller's. */
struct rf_bwrap_copy {
	int number;
	int fd;
};

struct rf_bwrap_child {
	/* bubblewrap, opened once. */
	int program;
	const char *path;
	struct rf_bwrap_line *line;
	struct rf_bwrap_copy copies[RF_BWRAP_ARGS_FDS_MAX];
	size_t n_copies;
	/* Installed first, whatever the caller's own filters refuse later. */
	int filters[RF_BWRAP_FILTERS_MAX];
	size_t n_filters;
	/* As the client was started, and as the child goes on. */
	sigset_t mask;
	struct sigaction pipe_action;
	struct sigaction child_action;

	pid_t pid;
	int pidfd;
	/* The child waits for one byte; end of file is its end. */
	int gate;
};

/*
 * Before anything of ours is open: what --args descriptors hold is read and kept in a copy, since a
 * pipe can be read once. 0, RF_REFUSED or -errno.
 */
int rf_bwrap_child_init(
	struct rf_bwrap_child *child, struct rf_bwrap_line *line, struct rf_diag *diag);
/*
 * Makes the child, in leaf when that is not -1, where it waits at the gate; then lets go of every
 * descriptor of the caller's from 3 on but those in kept: only the child has them now, so that
 * their other ends see what they would without us. 0 or -errno.
 */
int rf_bwrap_child_make(struct rf_bwrap_child *child, int leaf, const int *kept, size_t n_kept);
void rf_bwrap_child_go(struct rf_bwrap_child *child);
/* Becomes bubblewrap here and now. Returns when that failed (said). */
void rf_bwrap_child_exec(const struct rf_bwrap_child *child);
void rf_bwrap_child_clear(struct rf_bwrap_child *child);

struct rf_bwrap_run {
	struct rf_policy policy;
	/* FILE or fd:N; NULL: not asked for. Borrowed. */
	const char *result_target;
	const char *events_target;
	/* The whole command line, ours included, for records. */
	char **argv;
	struct rf_bwrap_child child;
	/* Told by the controller; NULL: none came. */
	json_t *result;
	bool has_status;
	/* Wait status of bubblewrap. */
	int status;
	/* Came before there was a child: what bubblewrap would have died of. 0: none. */
	int abort_signal;
	struct rf_diag diag;
	/* That of this program, once it is over. */
	int exit_code;
};

/* Sets exit_code, also in the result, and makes one where there is none. r as rf_bwrap_run's. */
void rf_bwrap_judge(struct rf_bwrap_run *run, int r);

/* Runs it to the end. 0; RF_REFUSED: diag is filled; -errno. */
int rf_bwrap_run(struct rf_bwrap_run *run);
