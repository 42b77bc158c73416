/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The checks, one for each mechanism, each run by rf_probe_start. They change their process for
 * good, so nothing else may call them.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "host/explain.h"
#include "host/probe.h"
#include "host/signs.h"

void rf_check_user_namespace(const struct rf_signs *signs, struct rf_check *check);
void rf_check_mount_namespace(const struct rf_signs *signs, struct rf_check *check);
void rf_check_pid_namespace(const struct rf_signs *signs, struct rf_check *check);
void rf_check_network_namespace(const struct rf_signs *signs, struct rf_check *check);
void rf_check_landlock(const struct rf_signs *signs, struct rf_check *check);
void rf_check_seccomp(const struct rf_signs *signs, struct rf_check *check);
void rf_check_rlimits(const struct rf_signs *signs, struct rf_check *check);
void rf_check_io_uring(const struct rf_signs *signs, struct rf_check *check);
void rf_check_bpf_lsm(const struct rf_signs *signs, struct rf_check *check);
void rf_check_bpf_trace(const struct rf_signs *signs, struct rf_check *check);
void rf_check_bpf_cgroup(const struct rf_signs *signs, struct rf_check *check);
void rf_check_cgroup(const struct rf_signs *signs, struct rf_check *check);
void rf_check_cgroup_limits(const struct rf_signs *signs, struct rf_check *check);
void rf_check_cgroup_controllers(const struct rf_signs *signs, struct rf_check *check);
/* Removes the leaf that signs->killed left; a probe too, since the same mount may hold it. */
void rf_check_clean(const struct rf_signs *signs, struct rf_check *check);
void rf_check_bubblewrap(const struct rf_signs *signs, struct rf_check *check);
void rf_check_launcher(const struct rf_signs *signs, struct rf_check *check);

/*
 * true: the call answered 0 or more. Otherwise the check fails with its name and errno, which is
 * read here: an argument would be evaluated before the call, or after it.
 */
static inline bool rf_check_did(struct rf_check *check, const char *call, long answer)
{
	if (answer >= 0)
		return true;
	rf_check_fail(check, call, errno);
	return false;
}

/* The same for a function of ours, which answers -errno. */
static inline bool rf_check_got(struct rf_check *check, const char *call, int answer)
{
	if (answer >= 0)
		return true;
	rf_check_fail(check, call, -answer);
	return false;
}

/* Root with CAP_SYS_ADMIN needs no user namespace, as in a run. */
bool rf_check_is_admin(const struct rf_signs *signs);

/* Whether this kernel was built with Landlock, from its type information. */
enum rf_built rf_check_landlock_built(void);

/* A fresh leaf of the version 2 hierarchy, in the child alone. */
struct rf_scratch_cgroup {
	int base_fd;
	int fd;
	char name[32];
};

bool rf_scratch_cgroup_make(
	const struct rf_signs *signs, struct rf_check *check, struct rf_scratch_cgroup *ret);
/* fork() into it; as fork() answers. */
pid_t rf_scratch_cgroup_fork(const struct rf_scratch_cgroup *scratch);
/* 0 or -errno; bounded. */
int rf_scratch_cgroup_remove(struct rf_scratch_cgroup *scratch);
