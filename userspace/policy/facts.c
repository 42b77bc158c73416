/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "policy/facts.h"

#include <assert.h>
#include <string.h>

#include "base/attr.h"

static const char *const mechanism_names[] = {
	[RF_MECHANISM_MOUNT_NAMESPACE] = "mount-namespace",
	[RF_MECHANISM_USER_NAMESPACE] = "user-namespace",
	[RF_MECHANISM_PID_NAMESPACE] = "pid-namespace",
	[RF_MECHANISM_NETWORK_NAMESPACE] = "network-namespace",
	[RF_MECHANISM_LANDLOCK] = "landlock",
	[RF_MECHANISM_SECCOMP] = "seccomp",
	[RF_MECHANISM_BPF_LSM] = "bpf-lsm",
	[RF_MECHANISM_BPF_CGROUP] = "bpf-cgroup",
	[RF_MECHANISM_BPF_TRACE] = "bpf-trace",
	[RF_MECHANISM_CGROUP] = "cgroup",
	[RF_MECHANISM_CGROUP_LIMITS] = "cgroup-limits",
	[RF_MECHANISM_RLIMITS] = "rlimits",
	[RF_MECHANISM_IO_URING] = "io-uring",
	[RF_MECHANISM_LAUNCHER] = "launcher",
};
static_assert(RF_ARRAY_SIZE(mechanism_names) == RF_MECHANISMS, "one name a mechanism");

static const char *const promise_names[] = {
	[RF_PROMISE_FS_READ] = "fs-read",
	[RF_PROMISE_FS_WRITE] = "fs-write",
	[RF_PROMISE_FS_DENY] = "fs-deny",
	[RF_PROMISE_SOCKET_CREATE] = "socket-create",
	[RF_PROMISE_SOCKET_CONNECT] = "socket-connect",
	[RF_PROMISE_UNIX_CONNECT] = "unix-connect",
	[RF_PROMISE_EXEC_GATE] = "exec-gate",
	[RF_PROMISE_EXEC_AUDIT] = "exec-audit",
	[RF_PROMISE_PROCESS_TREE] = "process-tree",
	[RF_PROMISE_DENIAL_RECORD] = "denial-record",
	[RF_PROMISE_REAP] = "reap",
	[RF_PROMISE_LIMITS] = "limits",
	[RF_PROMISE_CAPABILITIES] = "capabilities",
	[RF_PROMISE_ENVIRONMENT] = "environment",
	[RF_PROMISE_DESCRIPTORS] = "descriptors",
	[RF_PROMISE_TERMINAL] = "terminal",
};
static_assert(RF_ARRAY_SIZE(promise_names) == RF_PROMISES, "one name a promise");

static const char *const state_names[] = {
	[RF_STATE_OFF] = "off",
	[RF_STATE_PARTIAL] = "partial",
	[RF_STATE_ENFORCED] = "enforced",
};

const char *rf_mechanism_name(enum rf_mechanism mechanism)
{
	return mechanism_names[mechanism];
}

const char *rf_promise_name(enum rf_promise promise)
{
	return promise_names[promise];
}

const char *rf_state_name(enum rf_state state)
{
	return state_names[state];
}

bool rf_promise_parse(const char *name, enum rf_promise *ret_promise)
{
	for (size_t i = 0; i < RF_PROMISES; i++) {
		if (strcmp(name, promise_names[i]) != 0)
			continue;
		*ret_promise = (enum rf_promise)i;
		return true;
	}
	return false;
}

bool rf_promise_is_witness(enum rf_promise promise)
{
	return promise == RF_PROMISE_EXEC_AUDIT || promise == RF_PROMISE_PROCESS_TREE ||
	       promise == RF_PROMISE_DENIAL_RECORD;
}
