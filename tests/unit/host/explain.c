/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Hosts that are invented: what each of them is told about the same failed call. */

#include "host/explain.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "host/probe.h"

#ifndef CAP_BPF
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

#define ALL_CAPABILITIES 0x1ffffffffffULL

static struct rf_signs user_of_quiet_host(void)
{
	return (struct rf_signs){.uid = 1000,
		.max_user_namespaces = 96365,
		.unprivileged_userns_clone = RF_SIGN_UNKNOWN,
		.apparmor_restrict_userns = RF_SIGN_UNKNOWN,
		.io_uring_disabled = RF_SIGN_UNKNOWN,
		.has_btf = true,
		.cgroup2 = "/sys/fs/cgroup",
		.cgroup2_root = "/",
		.own_cgroup = "/user.slice",
		.self = "/usr/local/bin/ringfence"};
}

static struct rf_signs root_of_quiet_host(void)
{
	struct rf_signs signs = user_of_quiet_host();

	signs.uid = 0;
	signs.capabilities = ALL_CAPABILITIES;
	return signs;
}

static struct rf_check failed(const char *call, int error)
{
	struct rf_check check = {.name = "test"};

	rf_check_fail(&check, call, error);
	return check;
}

#define SAYS(check, text) \
	cr_expect(strstr((check).cause, text), "cause does not say '%s': %s", text, (check).cause)
#define ADVISES(check, text)                                                          \
	cr_expect(strstr((check).remedy, text), "remedy does not say '%s': %s", text, \
		(check).remedy)

Test(explain_F_1, apparmor_is_named_with_its_sysctl_and_our_profile)
{
	struct rf_signs signs = user_of_quiet_host();
	struct rf_check check = failed(RF_CALL_UID_MAP, EACCES);

	signs.apparmor_restrict_userns = 1;
	rf_explain_user_namespace(&signs, &check);
	SAYS(check, "AppArmor");
	ADVISES(check, "kernel.apparmor_restrict_unprivileged_userns=0");
	ADVISES(check, "/etc/apparmor.d/usr.local.bin.ringfence");
	ADVISES(check, "/usr/local/bin/ringfence");
}

Test(explain_F_1, apparmor_that_lets_the_namespace_be_and_stops_the_mount_is_named)
{
	struct rf_signs signs = user_of_quiet_host();
	struct rf_check check = failed("mount(tmpfs)", EPERM);

	signs.apparmor_restrict_userns = 1;
	rf_explain_namespace(&signs, true, &check);
	SAYS(check, "AppArmor");
	ADVISES(check, "kernel.apparmor_restrict_unprivileged_userns=0");
}

Test(explain_F_2, the_sysctl_that_forbids_is_named)
{
	struct rf_signs signs = user_of_quiet_host();
	struct rf_check check = failed(RF_CALL_UNSHARE_USER, EPERM);

	signs.unprivileged_userns_clone = 0;
	/* A filter may be there as well: the setting is certain, the filter is a guess. */
	signs.has_filter = true;
	rf_explain_user_namespace(&signs, &check);
	SAYS(check, "EPERM");
	SAYS(check, "kernel.unprivileged_userns_clone=0");
	ADVISES(check, "kernel.unprivileged_userns_clone=1");
	check = failed(RF_CALL_UNSHARE_USER, ENOSPC);
	signs.max_user_namespaces = 0;
	rf_explain_user_namespace(&signs, &check);
	SAYS(check, "user.max_user_namespaces=0");
}

Test(explain_F_3, a_filter_is_told_from_apparmor_and_sysctl)
{
	struct rf_signs signs = user_of_quiet_host();
	struct rf_check check = failed(RF_CALL_UNSHARE_USER, EPERM);

	signs.has_filter = true;
	signs.unprivileged_userns_clone = 1;
	rf_explain_user_namespace(&signs, &check);
	SAYS(check, "seccomp");
	ADVISES(check, "seccomp");
	cr_expect_null(strstr(check.remedy, "CAP_SYS_ADMIN"));
	check = failed(RF_CALL_UNSHARE_USER, ENOSYS);
	rf_explain_user_namespace(&signs, &check);
	SAYS(check, "seccomp");
	signs.has_filter = false;
	rf_explain_user_namespace(&signs, &check);
	ADVISES(check, "CONFIG_USER_NS");
}

Test(explain_F_4, root_without_sys_admin_is_told_of_the_capability)
{
	struct rf_signs signs = root_of_quiet_host();
	struct rf_check check = failed(RF_CALL_UNSHARE_USER, EPERM);

	signs.capabilities &= ~(1ULL << CAP_SYS_ADMIN);
	signs.has_filter = true;
	rf_explain_user_namespace(&signs, &check);
	ADVISES(check, "CAP_SYS_ADMIN");
	ADVISES(check, "seccomp");
}

Test(explain_F_5, root_without_setfcap_is_told_of_the_capability)
{
	struct rf_signs signs = root_of_quiet_host();
	struct rf_check check = failed(RF_CALL_UID_MAP, EPERM);

	signs.capabilities &= ~(1ULL << CAP_SETFCAP);
	rf_explain_user_namespace(&signs, &check);
	SAYS(check, "CAP_SETFCAP");
	ADVISES(check, "CAP_SETFCAP");
}

Test(explain_F_6, a_masked_proc_is_named)
{
	struct rf_signs signs = user_of_quiet_host();
	struct rf_check check = failed("mount(proc)", EPERM);

	(void)snprintf(signs.proc_mask, sizeof(signs.proc_mask), "/proc/interrupts");
	rf_explain_proc(&signs, true, &check);
	SAYS(check, "/proc is masked");
	SAYS(check, "/proc/interrupts");
	signs.proc_mask[0] = '\0';
	rf_explain_proc(&signs, true, &check);
	SAYS(check, "/proc is masked");
}

Test(explain_F_7, landlock_behind_a_filter_is_no_old_kernel)
{
	struct rf_signs signs = user_of_quiet_host();
	struct rf_check check = failed("landlock_create_ruleset", EPERM);

	rf_explain_landlock(&signs, RF_BUILT_UNKNOWN, &check);
	SAYS(check, "filter");
	check = failed("landlock_create_ruleset", ENOSYS);
	rf_explain_landlock(&signs, RF_BUILT_YES, &check);
	SAYS(check, "filter");
	(void)snprintf(signs.lsm, sizeof(signs.lsm), "lockdown,capability,landlock,bpf");
	rf_explain_landlock(&signs, RF_BUILT_UNKNOWN, &check);
	SAYS(check, "filter");
	(void)snprintf(signs.lsm, sizeof(signs.lsm), "lockdown,capability");
	rf_explain_landlock(&signs, RF_BUILT_UNKNOWN, &check);
	SAYS(check, "no Landlock");
	check = failed("landlock_create_ruleset", EOPNOTSUPP);
	rf_explain_landlock(&signs, RF_BUILT_YES, &check);
	ADVISES(check, "lsm=");
}

Test(explain_F_106, the_seventeenth_layer_is_explained)
{
	struct rf_signs signs = user_of_quiet_host();
	struct rf_check check = failed("landlock_restrict_self", E2BIG);

	rf_explain_landlock(&signs, RF_BUILT_UNKNOWN, &check);
	SAYS(check, "16 Landlock layers");
}

Test(explain_F_111, no_new_privs_is_named)
{
	struct rf_signs signs = user_of_quiet_host();
	struct rf_check check = failed(RF_CALL_NO_NEW_PRIVS, EPERM);

	rf_explain_landlock(&signs, RF_BUILT_UNKNOWN, &check);
	SAYS(check, "no_new_privs");
}

Test(explain_F_13, causes_of_no_lsm_programs_are_told_apart)
{
	struct rf_signs signs = root_of_quiet_host();
	struct rf_check check = failed("bpf(BPF_PROG_LOAD, LSM)", EPERM);

	rf_explain_bpf(&signs, RF_BPF_KIND_LSM, RF_BPF_STEP_LOAD, false, &check);
	SAYS(check, "the kernel refuses LSM programs: EPERM");
	ADVISES(check, "load refused");
	check = failed("bpf(BPF_PROG_LOAD, LSM)", EPERM);
	rf_explain_bpf(&signs, RF_BPF_KIND_LSM, RF_BPF_STEP_LOAD, true, &check);
	SAYS(check, "closed as a whole");
	check = failed("bpf(BPF_RAW_TRACEPOINT_OPEN, LSM)", EBUSY);
	rf_explain_bpf(&signs, RF_BPF_KIND_LSM, RF_BPF_STEP_ATTACH, false, &check);
	SAYS(check, "EBUSY");
	SAYS(check, "slot");
	check = failed("bpf(BPF_RAW_TRACEPOINT_OPEN, LSM)", E2BIG);
	rf_explain_bpf(&signs, RF_BPF_KIND_LSM, RF_BPF_STEP_ATTACH, false, &check);
	SAYS(check, "slot");
	check = failed("open(/sys/kernel/btf/vmlinux)", ENOENT);
	rf_explain_bpf(&signs, RF_BPF_KIND_LSM, RF_BPF_STEP_BTF, false, &check);
	SAYS(check, "BTF");
	ADVISES(check, "CONFIG_DEBUG_INFO_BTF");
	check = failed("socket under an LSM program", 0);
	rf_explain_bpf(&signs, RF_BPF_KIND_LSM, RF_BPF_STEP_CANARY, false, &check);
	SAYS(check, "not called");
	ADVISES(check, "lsm=");
	(void)snprintf(signs.lsm, sizeof(signs.lsm), "landlock");
	rf_explain_bpf(&signs, RF_BPF_KIND_LSM, RF_BPF_STEP_CANARY, false, &check);
	ADVISES(check, "lsm=landlock,bpf");
}

Test(explain_F_13, without_capability_root_is_advised)
{
	struct rf_signs signs = user_of_quiet_host();
	struct rf_check check = failed("bpf(BPF_PROG_LOAD, LSM)", EPERM);

	rf_explain_bpf(&signs, RF_BPF_KIND_LSM, RF_BPF_STEP_LOAD, true, &check);
	SAYS(check, "need root");
	ADVISES(check, "run it as root");
	signs.capabilities = 1ULL << CAP_BPF | 1ULL << CAP_PERFMON;
	check = failed("bpf(BPF_PROG_LOAD, LSM)", EPERM);
	rf_explain_bpf(&signs, RF_BPF_KIND_LSM, RF_BPF_STEP_LOAD, false, &check);
	SAYS(check, "the kernel refuses LSM programs");
}

Test(explain_F_15, io_uring_by_sysctl_and_by_filter)
{
	struct rf_signs signs = user_of_quiet_host();
	struct rf_check check = failed("io_uring_setup", EPERM);

	signs.io_uring_disabled = 2;
	rf_explain_io_uring(&signs, &check);
	SAYS(check, "kernel.io_uring_disabled=2");
	signs.io_uring_disabled = 0;
	signs.has_filter = true;
	rf_explain_io_uring(&signs, &check);
	SAYS(check, "seccomp");
}

Test(explain_F_88, cgroups_that_cannot_be_had)
{
	struct rf_signs signs = user_of_quiet_host();
	struct rf_check check = failed("mkdir in the cgroup", EACCES);

	rf_explain_cgroup(&signs, &check);
	SAYS(check, "/user.slice");
	ADVISES(check, "Delegate");
	check = failed("mkdir in the cgroup", EROFS);
	rf_explain_cgroup(&signs, &check);
	SAYS(check, "read-only");
	check = failed("clone3(CLONE_INTO_CGROUP)", EOPNOTSUPP);
	rf_explain_cgroup(&signs, &check);
	SAYS(check, "cgroup.type");
	signs.cgroup2[0] = '\0';
	rf_explain_cgroup(&signs, &check);
	SAYS(check, "no cgroup2");
}
