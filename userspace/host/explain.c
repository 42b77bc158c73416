/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Which of several guards said no. A filter, a security module, a sysctl and a missing capability
 * all answer EPERM; the order of the questions below is what tells them apart, from what can be
 * known for certain (a sysctl's value) to what is only likely (a filter is there).
 */

#include "host/explain.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "host/probe.h"

#ifndef CAP_BPF
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

/* The kernel's own ENOTSUPP, which is not in errno.h. */
#define KERNEL_ENOTSUPP 524

#define SAY_SECCOMP "a seccomp filter refuses it"
#define ADVISE_FILTER                                                                    \
	"let the outer sandbox's or container's seccomp profile permit unshare, clone, " \
	"mount and pivot_root"

const char *rf_errno_name(int error)
{
	const char *name = error == KERNEL_ENOTSUPP ? "ENOTSUPP" : strerrorname_np(error);

	return name ? name : "an unknown errno";
}

static bool is_refusal(int error)
{
	return error == EPERM || error == EACCES;
}

/* Root without CAP_SYS_ADMIN has two ways out; the first is the shorter one. */
static const char *admin_hint(const struct rf_signs *signs)
{
	if (signs->uid != 0 || rf_signs_has_capability(signs, CAP_SYS_ADMIN))
		return "";
	return "give the container CAP_SYS_ADMIN, or ";
}

static void explain_filter(const struct rf_signs *signs, struct rf_check *check)
{
	rf_check_say(check, "%s: %s: %s", check->call, rf_errno_name(check->error), SAY_SECCOMP);
	rf_check_advise(check, "%s%s", admin_hint(signs), ADVISE_FILTER);
}

/* "/usr/bin/ringfence" has its profile in "/etc/apparmor.d/usr.bin.ringfence". */
static void advise_apparmor(const struct rf_signs *signs, struct rf_check *check)
{
	const char *self = signs->self[0] ? signs->self : "/usr/bin/ringfence";
	char file[128];

	(void)snprintf(file, sizeof(file), "%s", self + 1);
	for (char *at = file; *at; at++)
		if (*at == '/')
			*at = '.';
	rf_check_advise(check,
		"sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile with "
		"'userns,' for %.60s in /etc/apparmor.d/%.60s",
		self, file);
}

static void explain_apparmor(const struct rf_signs *signs, struct rf_check *check)
{
	rf_check_say(check,
		"%s: %s: AppArmor keeps user namespaces from unprivileged programs "
		"(kernel.apparmor_restrict_unprivileged_userns=1)",
		check->call, rf_errno_name(check->error));
	advise_apparmor(signs, check);
}

static void explain_profile(const struct rf_signs *signs, struct rf_check *check)
{
	rf_check_say(check, "%s: %s: the AppArmor profile %.100s refuses it", check->call,
		rf_errno_name(check->error), signs->apparmor);
	rf_check_advise(check, "let that profile permit userns, mount and pivot_root");
}

static bool is_confined(const struct rf_signs *signs)
{
	return strstr(signs->apparmor, "(enforce)") != NULL;
}

static void explain_plainly(struct rf_check *check)
{
	rf_check_say(check, "%s: %s (%s)", check->call, rf_errno_name(check->error),
		strerror(check->error));
}

static void explain_limit(const struct rf_signs *signs, struct rf_check *check)
{
	rf_check_say(check, "%s: %s: sysctl user.max_user_namespaces=%lld %s", check->call,
		rf_errno_name(check->error), (long long)signs->max_user_namespaces,
		signs->max_user_namespaces == 0 ? "permits none" : "is used up");
	rf_check_advise(check, "raise sysctl user.max_user_namespaces, as root");
}

static void explain_unshare_user(const struct rf_signs *signs, struct rf_check *check)
{
	switch (check->error) {
	case ENOSPC:
	case EUSERS:
		explain_limit(signs, check);
		return;
	case ENOSYS:
		if (!signs->has_filter)
			break;
		explain_filter(signs, check);
		return;
	case EINVAL:
		break;
	case EPERM:
	case EACCES:
		if (signs->unprivileged_userns_clone == 0 &&
			!rf_signs_has_capability(signs, CAP_SYS_ADMIN)) {
			rf_check_say(check, "%s: %s: sysctl kernel.unprivileged_userns_clone=0",
				check->call, rf_errno_name(check->error));
			rf_check_advise(check, "%ssysctl kernel.unprivileged_userns_clone=1",
				admin_hint(signs));
		} else if (check->error == EPERM && signs->has_filter) {
			explain_filter(signs, check);
		} else if (signs->apparmor_restrict_userns == 1) {
			explain_apparmor(signs, check);
		} else if (is_confined(signs)) {
			explain_profile(signs, check);
		} else {
			explain_plainly(check);
			rf_check_advise(check,
				"%sleave the chroot, or ask which security module refuses it",
				admin_hint(signs));
		}
		return;
	default:
		explain_plainly(check);
		return;
	}
	rf_check_say(check, "%s: %s: the kernel was built without user namespaces", check->call,
		rf_errno_name(check->error));
	rf_check_advise(check, "boot a kernel with CONFIG_USER_NS");
}

static void explain_map(const struct rf_signs *signs, struct rf_check *check)
{
	if (is_refusal(check->error) && signs->uid == 0 &&
		!rf_signs_has_capability(signs, CAP_SETFCAP)) {
		rf_check_say(check, "%s: %s: mapping user 0 needs CAP_SETFCAP", check->call,
			rf_errno_name(check->error));
		rf_check_advise(check, "%sgive it CAP_SETFCAP, or run as another user than root",
			admin_hint(signs));
	} else if (is_refusal(check->error) && signs->apparmor_restrict_userns == 1) {
		explain_apparmor(signs, check);
	} else if (is_refusal(check->error) && is_confined(signs)) {
		explain_profile(signs, check);
	} else {
		explain_plainly(check);
		rf_check_advise(
			check, "%sask which security module refuses the map", admin_hint(signs));
	}
}

void rf_explain_user_namespace(const struct rf_signs *signs, struct rf_check *check)
{
	if (strcmp(check->call, RF_CALL_UNSHARE_USER) == 0)
		explain_unshare_user(signs, check);
	else
		explain_map(signs, check);
}

void rf_explain_namespace(
	const struct rf_signs *signs, bool is_in_user_namespace, struct rf_check *check)
{
	if (check->error == ENOSPC) {
		explain_plainly(check);
		rf_check_advise(check, "raise the sysctls user.max_*_namespaces");
	} else if (check->error == EINVAL && strcmp(check->call, RF_CALL_PIVOT_ROOT) == 0) {
		rf_check_say(check, "%s: EINVAL: / is an initramfs, which no process can leave so",
			check->call);
		rf_check_advise(check, "mount a tmpfs or a disk and switch_root to it first");
	} else if (!is_refusal(check->error) && check->error != ENOSYS) {
		explain_plainly(check);
	} else if (is_in_user_namespace && signs->apparmor_restrict_userns == 1) {
		explain_apparmor(signs, check);
	} else if (is_confined(signs) && check->error == EACCES) {
		explain_profile(signs, check);
	} else if (signs->has_filter) {
		explain_filter(signs, check);
	} else {
		explain_plainly(check);
		rf_check_advise(check, "%sask which security module refuses it", admin_hint(signs));
	}
}

void rf_explain_proc(
	const struct rf_signs *signs, bool is_in_user_namespace, struct rf_check *check)
{
	if (check->error != EPERM || !is_in_user_namespace) {
		rf_explain_namespace(signs, is_in_user_namespace, check);
		return;
	}
	if (signs->proc_mask[0])
		rf_check_say(check,
			"%s: EPERM: /proc is masked (a mount covers %.100s), so the kernel "
			"refuses a fresh one",
			check->call, signs->proc_mask);
	else
		rf_check_say(check,
			"%s: EPERM: /proc is masked or absent in the outer container, so the "
			"kernel refuses a fresh one",
			check->call);
	rf_check_advise(check, "run the outer container without masked paths (--security-opt "
			       "systempaths=unconfined), or run it as root with CAP_SYS_ADMIN");
}

static void explain_landlock_hidden(
	const struct rf_signs *signs, enum rf_built built, struct rf_check *check)
{
	bool is_there = built == RF_BUILT_YES || rf_signs_has_lsm(signs, "landlock");

	if (is_there || check->error == EPERM || signs->has_filter) {
		rf_check_say(check, "%s: %s: blocked by a seccomp filter%s", check->call,
			rf_errno_name(check->error),
			is_there		? " (the kernel has Landlock)"
			: check->error == EPERM ? " (no kernel answers so)"
						: ", or the kernel has none");
		rf_check_advise(check,
			"let the outer sandbox's or container's seccomp profile permit the "
			"system calls 444 to 446");
		return;
	}
	rf_check_say(check, "%s: ENOSYS: the kernel has no Landlock", check->call);
	rf_check_advise(check, "boot a kernel of 5.13 or later with CONFIG_SECURITY_LANDLOCK");
}

void rf_explain_no_new_privs(struct rf_check *check)
{
	rf_check_say(check,
		"%s: %s: a seccomp filter or a profile of the host forbids no_new_privs",
		check->call, rf_errno_name(check->error));
	rf_check_advise(
		check, "let the outer sandbox's or container's profile permit no_new_privs");
}

void rf_explain_landlock(const struct rf_signs *signs, enum rf_built built, struct rf_check *check)
{
	if (strcmp(check->call, RF_CALL_NO_NEW_PRIVS) == 0) {
		rf_explain_no_new_privs(check);
		return;
	}
	switch (check->error) {
	case EOPNOTSUPP:
		rf_check_say(check, "%s: EOPNOTSUPP: Landlock is built in but not switched on",
			check->call);
		rf_check_advise(check, "add landlock to lsm= on the kernel's command line");
		return;
	case E2BIG:
		rf_check_say(
			check, "%s: E2BIG: 16 Landlock layers are in force already", check->call);
		rf_check_advise(check, "start it under fewer nested sandboxes");
		return;
	case ENOSYS:
	case EPERM:
		explain_landlock_hidden(signs, built, check);
		return;
	default:
		explain_plainly(check);
	}
}

void rf_explain_io_uring(const struct rf_signs *signs, struct rf_check *check)
{
	if (check->error == EPERM && signs->io_uring_disabled > 0) {
		rf_check_say(check, "%s: EPERM: sysctl kernel.io_uring_disabled=%lld", check->call,
			(long long)signs->io_uring_disabled);
		rf_check_advise(check,
			"sysctl kernel.io_uring_disabled=0; the guarded filesystem works without");
	} else if ((check->error == EPERM || check->error == ENOSYS) && signs->has_filter) {
		rf_check_say(
			check, "%s: %s: %s", check->call, rf_errno_name(check->error), SAY_SECCOMP);
		rf_check_advise(check, "none is needed: the guarded filesystem works without");
	} else if (check->error == ENOSYS) {
		rf_check_say(check, "%s: ENOSYS: the kernel has no io_uring", check->call);
		rf_check_advise(check, "none is needed: the guarded filesystem works without");
	} else {
		explain_plainly(check);
	}
}

void rf_explain_cgroup(const struct rf_signs *signs, struct rf_check *check)
{
	if (!signs->cgroup2[0]) {
		rf_check_say(check, "no cgroup2 hierarchy is mounted");
		rf_check_advise(check, "mount -t cgroup2 cgroup2 /sys/fs/cgroup, or boot with it");
		return;
	}
	switch (check->error) {
	case EROFS:
		rf_check_say(check, "%s: EROFS: %.100s is mounted read-only", check->call,
			signs->cgroup2);
		rf_check_advise(check, "give the container a writable cgroup2 mount of its own");
		return;
	case EACCES:
	case EPERM:
		rf_check_say(check, "%s: %s: the cgroup %.100s is not delegated to this user",
			check->call, rf_errno_name(check->error), signs->own_cgroup);
		rf_check_advise(check,
			"start it below systemd-run --user --scope -p Delegate=yes, or run it as "
			"root");
		return;
	case EOPNOTSUPP:
		rf_check_say(check,
			"%s: EOPNOTSUPP: the cgroup %.100s is threaded (see its cgroup.type)",
			check->call, signs->own_cgroup);
		rf_check_advise(check, "start it in a cgroup of type domain");
		return;
	case ENOENT:
		rf_check_say(
			check, "%s: ENOENT: this kernel's cgroups lack that file", check->call);
		rf_check_advise(check, "boot a kernel of 5.14 or later, which has cgroup.kill");
		return;
	default:
		explain_plainly(check);
		if (check->error == ENOSYS && signs->has_filter)
			rf_check_say(check, "%s: ENOSYS: %s", check->call, SAY_SECCOMP);
	}
}

static const char *bpf_kind_name(enum rf_bpf_kind kind)
{
	switch (kind) {
	case RF_BPF_KIND_LSM:
		return "LSM";
	case RF_BPF_KIND_TRACE:
		return "tracing";
	case RF_BPF_KIND_CGROUP:
		return "cgroup";
	}
	return "BPF";
}

static bool may_use_bpf(const struct rf_signs *signs, enum rf_bpf_kind kind)
{
	if (rf_signs_has_capability(signs, CAP_SYS_ADMIN))
		return true;
	if (!rf_signs_has_capability(signs, CAP_BPF))
		return false;
	return kind == RF_BPF_KIND_CGROUP ? rf_signs_has_capability(signs, CAP_NET_ADMIN)
					  : rf_signs_has_capability(signs, CAP_PERFMON);
}

static void advise_lsm_list(const struct rf_signs *signs, struct rf_check *check)
{
	if (signs->lsm[0])
		rf_check_advise(check, "boot with lsm=%.180s,bpf", signs->lsm);
	else
		rf_check_advise(check, "add bpf to lsm= on the kernel's command line");
}

static void explain_bpf_load(const struct rf_signs *signs, enum rf_bpf_kind kind,
	bool is_call_closed, struct rf_check *check)
{
	if (is_refusal(check->error) && is_call_closed) {
		rf_check_say(check, "%s: %s: bpf(2) is closed as a whole%s", check->call,
			rf_errno_name(check->error),
			signs->has_filter ? ", by a seccomp filter" : "");
		rf_check_advise(check, "let the outer sandbox's or container's profile permit bpf");
		return;
	}
	rf_check_say(check, "the kernel refuses %s programs: %s", bpf_kind_name(kind),
		rf_errno_name(check->error));
	switch (check->error) {
	case EPERM:
	case EACCES:
		rf_check_advise(check,
			"load refused: ask which policy of the host (lockdown, a hypervisor, a "
			"security module) forbids them");
		return;
	case EINVAL:
	case KERNEL_ENOTSUPP:
		rf_check_advise(check, "boot a kernel with CONFIG_BPF_%s",
			kind == RF_BPF_KIND_LSM	    ? "LSM"
			: kind == RF_BPF_KIND_TRACE ? "EVENTS"
						    : "SYSCALL and CONFIG_CGROUP_BPF");
		return;
	default:
		return;
	}
}

static void explain_bpf_attach(enum rf_bpf_kind kind, struct rf_check *check)
{
	switch (check->error) {
	case EBUSY:
	case E2BIG:
		rf_check_say(check, "%s: %s: every slot of the hook is busy", check->call,
			rf_errno_name(check->error));
		rf_check_advise(check,
			"look with 'bpftool link' for who has programs on it, and stop some");
		return;
	default:
		rf_check_say(check, "%s: %s: the kernel loads %s programs and attaches none",
			check->call, rf_errno_name(check->error), bpf_kind_name(kind));
	}
}

void rf_explain_bpf(const struct rf_signs *signs, enum rf_bpf_kind kind, enum rf_bpf_step step,
	bool is_call_closed, struct rf_check *check)
{
	if (!may_use_bpf(signs, kind)) {
		rf_check_say(check, "%s programs need root", bpf_kind_name(kind));
		rf_check_advise(check, "run it as root");
		return;
	}
	/* Said before anything that was seen to fail: without it nothing else can help. */
	if (kind == RF_BPF_KIND_LSM && signs->lsm[0] && !rf_signs_has_lsm(signs, "bpf")) {
		rf_check_say(
			check, "bpf is not among the active security modules (%.150s)", signs->lsm);
		advise_lsm_list(signs, check);
		return;
	}
	switch (step) {
	case RF_BPF_STEP_BTF:
		rf_check_say(check, "the kernel has no usable BTF (/sys/kernel/btf/vmlinux): %s",
			rf_errno_name(check->error));
		rf_check_advise(check, "boot a kernel with CONFIG_DEBUG_INFO_BTF");
		return;
	case RF_BPF_STEP_LOAD:
		explain_bpf_load(signs, kind, is_call_closed, check);
		return;
	case RF_BPF_STEP_ATTACH:
		explain_bpf_attach(kind, check);
		return;
	case RF_BPF_STEP_CANARY:
		rf_check_say(check, "%s programs attach but are not called", bpf_kind_name(kind));
		if (kind == RF_BPF_KIND_LSM)
			advise_lsm_list(signs, check);
		return;
	}
}
