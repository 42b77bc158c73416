/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Processes as /proc shows them. A pid alone is never signalled: it is opened as a pidfd, and
 * start time and group are read again before the signal goes through that pidfd.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct rf_process {
	pid_t pid;
	pid_t parent;
	pid_t group;
	char state;
	bool is_chosen;
	uint64_t start_ticks;
};

struct rf_tree {
	struct rf_process *items; /* in order of pid */
	size_t count;
	size_t room;
};

/* All processes that /proc shows. 0 or -errno. */
int rf_tree_scan(struct rf_tree *ret_tree);
void rf_tree_clear(struct rf_tree *tree);
#define rf_autotree rf_cleanup(rf_tree_clear)

static inline bool rf_process_is_alive(const struct rf_process *process)
{
	return process->state != 'Z' && process->state != 'X';
}

/* Marks is_chosen: every process but self (is_whole), or the descendants of self. */
void rf_tree_choose(struct rf_tree *tree, pid_t self, bool is_whole);

/* 0, -ESRCH (gone, or another has its number now) or -errno. */
int rf_process_signal(const struct rf_process *process, int signal);

/* Sends signal to each chosen, living process until a pass finds no new one (bounded). */
void rf_tree_signal_all(pid_t self, bool is_whole, int signal);

/* Sends signal to each living process of the group. */
void rf_tree_signal_group(pid_t group, int signal);

/* Chosen processes that live, except one more pid. */
size_t rf_tree_count(pid_t self, bool is_whole, pid_t except);

/* SIGKILL to every descendant and reaping until none is left; for a subreaper. Bounded. */
void rf_tree_kill_descendants(void);
