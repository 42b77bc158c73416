/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What this host can do, as found by doing it (userspace/host fills it; tests invent it), and the
 * vocabulary of mechanisms and promises.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum rf_mechanism {
	RF_MECHANISM_MOUNT_NAMESPACE,
	RF_MECHANISM_USER_NAMESPACE,
	RF_MECHANISM_PID_NAMESPACE,
	RF_MECHANISM_NETWORK_NAMESPACE,
	RF_MECHANISM_LANDLOCK,
	RF_MECHANISM_SECCOMP,
	RF_MECHANISM_BPF_LSM,
	RF_MECHANISM_BPF_CGROUP,
	RF_MECHANISM_BPF_TRACE,
	RF_MECHANISM_CGROUP,
	RF_MECHANISM_CGROUP_LIMITS,
	RF_MECHANISM_RLIMITS,
	RF_MECHANISM_IO_URING,
	/* Our own first process: descriptors closed, environment made, capabilities dropped. */
	RF_MECHANISM_LAUNCHER,
	RF_MECHANISMS,
};

enum rf_promise {
	RF_PROMISE_FS_READ,
	RF_PROMISE_FS_WRITE,
	RF_PROMISE_FS_DENY,
	RF_PROMISE_SOCKET_CREATE,
	RF_PROMISE_SOCKET_CONNECT,
	RF_PROMISE_UNIX_CONNECT,
	RF_PROMISE_EXEC_GATE,
	RF_PROMISE_EXEC_AUDIT,
	RF_PROMISE_PROCESS_TREE,
	RF_PROMISE_DENIAL_RECORD,
	RF_PROMISE_REAP,
	RF_PROMISE_LIMITS,
	RF_PROMISE_CAPABILITIES,
	RF_PROMISE_ENVIRONMENT,
	RF_PROMISE_DESCRIPTORS,
	RF_PROMISE_TERMINAL,
	RF_PROMISES,
};

enum rf_state { RF_STATE_OFF, RF_STATE_PARTIAL, RF_STATE_ENFORCED };

/* "mount-namespace", "fs-read", "enforced", …; static storage. */
const char *rf_mechanism_name(enum rf_mechanism mechanism);
const char *rf_promise_name(enum rf_promise promise);
const char *rf_state_name(enum rf_state state);
/* false: no such promise. */
bool rf_promise_parse(const char *name, enum rf_promise *ret_promise);
/* exec-audit, process-tree, denial-record: what is only witnessed, not confined. */
bool rf_promise_is_witness(enum rf_promise promise);

struct rf_fact {
	/* ENFORCED here means: can be had. */
	enum rf_state state;
	/* Why it is not (wholly) there: "the kernel refuses LSM programs: EPERM". */
	char why[256];
	/* What the user can do about it. */
	char remedy[256];
};

struct rf_facts {
	/* The identity that the sandbox's owner has. */
	uid_t uid;
	gid_t gid;
	/* The controller is effectively root with CAP_SYS_ADMIN: no user namespace is needed. */
	bool has_sys_admin;
	struct rf_fact mechanisms[RF_MECHANISMS];
	/* The part of BPF LSM that file rules need: missing names, pinned ancestors, single files.
	 */
	struct rf_fact file_hooks;
	/* 0: none. Rights, not the version number, decide what is asked for. */
	unsigned int landlock_abi;
	/* Opened bubblewrap; path empty when there is none that can be trusted (see bwrap). */
	struct rf_fact bwrap;
	char bwrap_path[4096];
	unsigned int bwrap_version[3];
	bool bwrap_has_bind_fd;
	/* io_uring operations pass LSM hooks that decide what seccomp would have: it may stay open.
	 */
	bool has_memory_controller;
	bool has_pids_controller;
	/* Directory names that the planner must know; empty when unknown. */
	char home[4096];
	char user_name[256];
	char launcher_path[4096];
};
