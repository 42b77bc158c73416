/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One leaf of the version 2 hierarchy for each sandbox. On a hybrid host that is the unified mount
 * alone: ids and kill files of version 1 mean nothing here.
 *
 *	BASE/            "ringfence" at the root of the mount (root), or the caller's own cgroup
 *	  LEAF/          one sandbox, never used twice: on some kernels a child cloned into a cgroup
 *	                 that once received cgroup.kill dies at birth (6.12.95, 6.18)
 *
 * Source: Documentation/admin-guide/cgroup-v2.rst.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "policy/facts.h"

/* Root's base, at the root of the mount; an ordinary user's leaves begin so. */
#define RF_CGROUP_BASE_NAME "ringfence"
#define RF_CGROUP_USER_PREFIX RF_CGROUP_BASE_NAME "-"

struct rf_cgroup_host {
	/* Directory below which leaves are made; -1 when there is none. */
	int base_fd;
	uint64_t base_id;
	char *base_path;
	/* Leaves are named PREFIX + id. */
	const char *leaf_prefix;
	/* The base is ours to remove. */
	bool is_base_own;
	bool has_memory;
	bool has_pids;
};

/*
 * Finds (and for root makes) the base. Facts CGROUP and CGROUP_LIMITS and the two controller flags
 * are filled, with why and remedy. 0, also when there is no cgroup to be had (*ret has base_fd -1).
 */
int rf_cgroup_host_find(struct rf_facts *facts, struct rf_cgroup_host **ret_host);
/* Removes an empty base of ours. Takes NULL, returns NULL. */
struct rf_cgroup_host *rf_cgroup_host_free(struct rf_cgroup_host *host);

/*
 * cgroup of a process ("/a/b", as its cgroup namespace shows it) in the version 2 hierarchy, below
 * procfs_pid ("self" or digits); belongs to the caller. 0 or -errno.
 */
int rf_cgroup_of(const char *procfs_pid, char **ret_path);

/*
 * 1: a cgroup of this id is there, anywhere in the hierarchy of cgroup_fd. 0: there is none (any
 * more). -errno: could not be told (it takes CAP_DAC_READ_SEARCH).
 */
int rf_cgroup_exists(int cgroup_fd, uint64_t id);

struct rf_cgroup {
	int fd;
	int kill_fd;
	int base_fd; /* borrowed from the host */
	uint64_t id;
	char *name;
};

/* mkdir BASE/PREFIX+id, refused (-EEXIST) when it is there. 0 or -errno (-EOPNOTSUPP: threaded). */
int rf_cgroup_create(struct rf_cgroup_host *host, const char *id, struct rf_cgroup **ret_cgroup);
/* Opens an existing leaf, for a sweep. */
int rf_cgroup_open(int base_fd, const char *name, struct rf_cgroup **ret_cgroup);
struct rf_cgroup *rf_cgroup_free(struct rf_cgroup *cgroup);

/* Bytes; swap is set to nothing beyond it where the kernel accounts swap. 0 or -errno. */
int rf_cgroup_limit_memory(struct rf_cgroup *cgroup, uint64_t bytes);
int rf_cgroup_limit_pids(struct rf_cgroup *cgroup, uint64_t tasks);
int rf_cgroup_freeze(struct rf_cgroup *cgroup, bool is_frozen);
int rf_cgroup_kill(struct rf_cgroup *cgroup);
/* 1 when a process is left in it or below, 0 when empty, -errno. */
int rf_cgroup_is_populated(struct rf_cgroup *cgroup);
/* Removes the leaf and empty cgroups below it; bounded retries on EBUSY. 0 or -errno. */
int rf_cgroup_remove(struct rf_cgroup *cgroup);

typedef void (*rf_cgroup_member_fn)(pid_t pid, int pidfd, void *userdata);
/*
 * Calls back for each process in the leaf and below, with a pidfd that was proved to belong to a
 * member (the membership is read again after the pidfd was opened, so a reused pid is never
 * reported). Returns how many, or -errno.
 */
int rf_cgroup_each_member(struct rf_cgroup *cgroup, rf_cgroup_member_fn callback, void *userdata);

struct rf_cgroup_usage {
	uint64_t cpu_ms;
	bool has_memory_peak;
	uint64_t memory_peak_bytes;
	uint64_t oom_kills;
	uint64_t pids_refused;
};
/* What the kernel counted; missing files leave zeroes. */
void rf_cgroup_usage(struct rf_cgroup *cgroup, struct rf_cgroup_usage *ret_usage);
