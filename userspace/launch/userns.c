/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "launch/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "launch/fd.h"

static int rf_userns_write(const char *path, const char *text)
{
	int fd rf_autofd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t size = (ssize_t)strlen(text);

	if (fd < 0)
		return -errno;
	return write(fd, text, (size_t)size) == size ? 0 : -errno;
}

/* user_namespaces(7): without privilege setgroups must be closed before gids are mapped. */
int rf_userns_make(uid_t uid, gid_t gid, struct rf_launch_message *ret_failure)
{
	uid_t outer_uid = geteuid();
	gid_t outer_gid = getegid();
	char map[64];
	int r;

	/* The files of /proc below belong to root while the process is not dumpable. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (unshare(CLONE_NEWUSER) < 0)
		return rf_fail(ret_failure, errno, "making a user namespace");
	r = rf_userns_write("/proc/self/setgroups", "deny");
	if (r < 0)
		return rf_fail(ret_failure, -r, "closing setgroups in a user namespace");
	snprintf(map, sizeof(map), "%u %u 1", uid, outer_uid);
	r = rf_userns_write("/proc/self/uid_map", map);
	if (r < 0)
		return rf_fail(ret_failure, -r, "uid map of a user namespace");
	snprintf(map, sizeof(map), "%u %u 1", gid, outer_gid);
	r = rf_userns_write("/proc/self/gid_map", map);
	if (r < 0)
		return rf_fail(ret_failure, -r, "gid map of a user namespace");
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return 0;
}
