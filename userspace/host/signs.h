/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the host says about itself in files that cannot hang: /proc, /proc/sys, securityfs. Signs
 * decide nothing; they tell why a call that was made has failed. Tests invent them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A setting that this kernel does not have, or that could not be read. */
#define RF_SIGN_UNKNOWN (-1)

struct rf_signs {
	/* Effective. */
	uid_t uid;
	uint64_t capabilities;
	/* This process stands under a seccomp filter (mode 2). */
	bool has_filter;
	bool has_no_new_privs;
	/* Values of sysctls, or RF_SIGN_UNKNOWN. */
	int64_t max_user_namespaces;
	int64_t unprivileged_userns_clone;
	int64_t apparmor_restrict_userns;
	int64_t io_uring_disabled;
	int64_t unprivileged_bpf_disabled;
	/* Active LSMs, comma-separated; empty: securityfs is not to be seen. */
	char lsm[256];
	bool has_btf;
	/* AppArmor's word on this process: "docker-default (enforce)"; empty: none. */
	char apparmor[128];
	/* /proc is a mount of the host's own with something mounted over a part of it. */
	char proc_mask[256];
	/* Where cgroup2 is mounted, its root in that hierarchy, and this process's own path. */
	char cgroup2[4096];
	char cgroup2_root[4096];
	char own_cgroup[4096];
	/* "memory" or "pids" is bound to version 1. */
	bool has_v1_limits;
	/* A check that was killed, for rf_check_clean alone. */
	pid_t killed;
	/* Our own executable. */
	char self[4096];
};

void rf_signs_read(struct rf_signs *ret_signs);

bool rf_signs_has_capability(const struct rf_signs *signs, unsigned int capability);
/* false also when the list is not known; lsm is empty then. */
bool rf_signs_has_lsm(const struct rf_signs *signs, const char *lsm);

/* The first mount in the text of /proc/PID/mountinfo that covers a part of /proc; false: none. */
bool rf_signs_parse_proc_mask(const char *mountinfo, char *ret_path, size_t size_bytes);
/* Does a hierarchy of version 1 hold this controller, by the text of /proc/cgroups? */
bool rf_signs_parse_v1(const char *cgroups, const char *controller);
/* The same on this host, for "memory" or "pids". */
bool rf_signs_has_v1_limits(void);
/* The first mount of type cgroup2. */
bool rf_signs_parse_cgroup2(
	const char *mountinfo, char *ret_mount, char *ret_root, size_t size_bytes);
