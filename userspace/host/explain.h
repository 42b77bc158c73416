/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * From a failed call (check->call, check->error) and the host's signs to cause and remedy. Pure:
 * nothing here asks the host, so tests try it with hosts that they invent.
 */

#include <stdbool.h>

#include "host/doctor.h"
#include "host/signs.h"

/* Calls as checks name them; the explanations go by these. */
#define RF_CALL_UNSHARE_USER "unshare(CLONE_NEWUSER)"
#define RF_CALL_SETGROUPS "write(/proc/self/setgroups)"
#define RF_CALL_UID_MAP "write(/proc/self/uid_map)"
#define RF_CALL_GID_MAP "write(/proc/self/gid_map)"
#define RF_CALL_PIVOT_ROOT "pivot_root"
#define RF_CALL_NO_NEW_PRIVS "prctl(PR_SET_NO_NEW_PRIVS)"

/* "EPERM"; static storage. */
const char *rf_errno_name(int error);

void rf_explain_user_namespace(const struct rf_signs *signs, struct rf_check *check);
/* A mount or another namespace, tried inside a user namespace or with CAP_SYS_ADMIN. */
void rf_explain_namespace(
	const struct rf_signs *signs, bool is_in_user_namespace, struct rf_check *check);
void rf_explain_proc(
	const struct rf_signs *signs, bool is_in_user_namespace, struct rf_check *check);

/* What is known about Landlock besides the answer of its calls. */
enum rf_built { RF_BUILT_UNKNOWN, RF_BUILT_NO, RF_BUILT_YES };
/* The launcher cannot apply Landlock or a filter without it. */
void rf_explain_no_new_privs(struct rf_check *check);
void rf_explain_landlock(const struct rf_signs *signs, enum rf_built built, struct rf_check *check);
void rf_explain_io_uring(const struct rf_signs *signs, struct rf_check *check);
void rf_explain_cgroup(const struct rf_signs *signs, struct rf_check *check);

enum rf_bpf_kind { RF_BPF_KIND_LSM, RF_BPF_KIND_TRACE, RF_BPF_KIND_CGROUP };
enum rf_bpf_step { RF_BPF_STEP_BTF, RF_BPF_STEP_LOAD, RF_BPF_STEP_ATTACH, RF_BPF_STEP_CANARY };
/* is_call_closed: even an empty map is refused with EPERM. */
void rf_explain_bpf(const struct rf_signs *signs, enum rf_bpf_kind kind, enum rf_bpf_step step,
	bool is_call_closed, struct rf_check *check);
