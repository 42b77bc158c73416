/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/handed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* 1: it is; 0: it is not. Unknown means deny. */
static int is_io_uring(int fd)
{
	char path[40];
	char target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return 1;
	target[n] = '\0';
	return strstr(target, "[io_uring]") != NULL;
}

/* A descriptor or -errno. An O_PATH one stays one. */
static int make_view(int fd)
{
	struct mount_attr attributes = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
	int tree rf_autoclose =
		open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	int flags = fcntl(fd, F_GETFL);
	int view;

	if (tree < 0 || flags < 0)
		return -errno;
	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) < 0)
		return -errno;
	if (flags & O_PATH)
		return RF_TAKE_FD(tree);
	view = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return view < 0 ? -errno : view;
}

static int refuse_directory(int number, int error, struct rf_diag *diag)
{
	int r = rf_diag_refuse(diag, "pass-fd-directory",
		"descriptor %d is a directory, from which the whole host could be reached%s%s",
		number, error ? ": no view of it can be made: " : "", error ? strerror(error) : "");

	rf_diag_promise(diag, "fs-write");
	rf_diag_hint(diag, "grant it by path, run as root, or --waive fs-write");
	return r;
}

/* Waived, the promise is not claimed either. */
static bool is_waived(struct rf_plan *plan, uint32_t waive, int number)
{
	struct rf_effective *promise = &plan->promises[RF_PROMISE_FS_WRITE];

	if (!(waive & (1U << RF_PROMISE_FS_WRITE)))
		return false;
	plan->waived |= 1U << RF_PROMISE_FS_WRITE;
	promise->state = RF_STATE_PARTIAL;
	snprintf(promise->why, sizeof(promise->why),
		"descriptor %d is a directory of the host, whose attributes can be changed",
		number);
	return true;
}

int rf_handed_check(int *fd, int number, uint32_t waive, struct rf_plan *plan,
	const struct rf_facts *facts, struct rf_handed *views, struct rf_diag *diag)
{
	struct stat st;
	int view;

	if (*fd < 0)
		return 0;
	if (is_io_uring(*fd))
		return rf_diag_refuse(diag, "ring-descriptor",
			"descriptor %d is an io_uring instance, which keeps its maker's rights",
			number);
	if (fstat(*fd, &st) < 0)
		return rf_diag_refuse(
			diag, "pass-fd", "descriptor %d: %s", number, strerror(errno));
	if (!S_ISDIR(st.st_mode) || plan->mode == RF_MODE_FULL_ACCESS)
		return 0;
	if (!facts->has_sys_admin && is_waived(plan, waive, number))
		return 0;
	if (!facts->has_sys_admin)
		return refuse_directory(number, 0, diag);
	view = make_view(*fd);
	if (view < 0)
		return refuse_directory(number, -view, diag);
	views->fds[views->count++] = view;
	*fd = view;
	return 0;
}

void rf_handed_clear(struct rf_handed *views)
{
	while (views->count > 0)
		rf_close(views->fds[--views->count]);
}
