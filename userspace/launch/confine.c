/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "launch/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch/fd.h"

/* The kernel keeps capabilities in 64 bits; the first unknown one answers EINVAL. */
#define RF_CAPABILITIES_MAX 64

int rf_confine_bounding_set(struct rf_launch_message *ret_failure)
{
	for (unsigned long i = 0; i < RF_CAPABILITIES_MAX; i++) {
		int has = prctl(PR_CAPBSET_READ, i, 0, 0, 0);

		if (has < 0)
			break;
		if (has > 0 && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
			return rf_fail(ret_failure, errno,
				"dropping capability %lu from the bounding set", i);
	}
	/* Belt: root gains nothing at exec. Refused where CAP_SETPCAP is gone already, which is
	 * fine: with an empty bounding set there is nothing to gain. */
	prctl(PR_SET_SECUREBITS,
		SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
			SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		0, 0, 0);
	return 0;
}

int rf_confine_user(uint32_t uid, uint32_t gid, struct rf_launch_message *ret_failure)
{
	int groups = getgroups(0, NULL);

	if (groups != 0 && setgroups(0, NULL) < 0)
		return rf_fail(ret_failure, errno, "dropping supplementary groups");
	if (setresgid(gid, gid, gid) < 0)
		return rf_fail(ret_failure, errno, "setresgid to %u", gid);
	if (setresuid(uid, uid, uid) < 0)
		return rf_fail(ret_failure, errno, "setresuid to %u", uid);
	return 0;
}

int rf_confine_privileges(struct rf_launch_message *ret_failure)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return rf_fail(ret_failure, errno, "no_new_privs");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return rf_fail(ret_failure, EPERM, "no_new_privs does not hold");
	return 0;
}

static int rf_confine_verify(struct rf_launch_message *ret_failure)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data) < 0)
		return rf_fail(ret_failure, errno, "reading capabilities");
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		if (data[i].effective || data[i].permitted || data[i].inheritable)
			return rf_fail(ret_failure, EPERM, "capabilities are left");
	for (unsigned long i = 0; i < RF_CAPABILITIES_MAX; i++) {
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) > 0)
			return rf_fail(ret_failure, EPERM, "ambient capability %lu is left", i);
		if (prctl(PR_CAPBSET_READ, i, 0, 0, 0) > 0)
			return rf_fail(ret_failure, EPERM,
				"capability %lu is left in the bounding set", i);
	}
	return 0;
}

int rf_confine_capabilities(struct rf_launch_message *ret_failure)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return rf_fail(ret_failure, errno, "clearing ambient capabilities");
	if (syscall(SYS_capset, &header, none) < 0)
		return rf_fail(ret_failure, errno, "dropping capabilities");
	return rf_confine_verify(ret_failure);
}

int rf_confine_filters(const struct rf_sandbox *sandbox, int *ret_listener_fd,
	struct rf_launch_message *ret_failure)
{
	for (uint32_t i = 0; i < sandbox->head.n_filters; i++) {
		const struct rf_spec_filter *filter = &sandbox->filters[i];
		long r = syscall(
			SYS_seccomp, SECCOMP_SET_MODE_FILTER, filter->flags, &filter->program);

		if (r < 0)
			return rf_fail(ret_failure, errno, "seccomp filter %u", i + 1);
		if (filter->flags & SECCOMP_FILTER_FLAG_NEW_LISTENER)
			*ret_listener_fd = rf_fd_move_high((int)r);
	}
	return 0;
}
