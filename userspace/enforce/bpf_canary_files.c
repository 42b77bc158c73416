/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "enforce/bpf_canary_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/fd.h"

/* A file of /proc/self/fd leads there: some calls take no directory. */
#define PATH_BYTES 64
#define XATTR "trusted.ringfence"

static int mount_nowhere(void)
{
	int context rf_autoclose = fsopen("tmpfs", FSOPEN_CLOEXEC);
	int fd;

	if (context < 0 || fsconfig(context, FSCONFIG_SET_STRING, "size", "64k", 0) < 0 ||
		fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID);
	return fd < 0 ? -errno : fd;
}

static int make_file(int at, const char *name)
{
	int fd rf_autoclose = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : 0;
}

int rf_canary_files_make(void)
{
	int fd rf_autoclose = mount_nowhere();
	int r;

	if (fd < 0)
		return fd;
	if (mkdirat(fd, "pinned", 0700) < 0 || mkdirat(fd, "listed", 0700) < 0)
		return -errno;
	r = make_file(fd, "closed");
	if (r == 0)
		r = make_file(fd, "protected");
	if (r == 0)
		r = make_file(fd, "listed/neighbour");
	return r < 0 ? r : RF_TAKE_FD(fd);
}

int rf_canary_file_open(const struct rf_canary *canary, enum rf_canary_file file)
{
	static const char *const names[] = {
		[RF_CANARY_FILE_TOP] = ".",
		[RF_CANARY_FILE_CLOSED] = "closed",
		[RF_CANARY_FILE_PROTECTED] = "protected",
		[RF_CANARY_FILE_PINNED] = "pinned",
		[RF_CANARY_FILE_LISTED] = "listed",
	};
	int fd = canary->files_fd < 0
			 ? -1
			 : openat(canary->files_fd, names[file], O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int try_open(int at, const char *name, int flags)
{
	int fd rf_autoclose = openat(at, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? errno : 0;
}

static int try_own(int at)
{
	int error = try_open(at, "listed/own", O_WRONLY | O_CREAT | O_EXCL);

	if (error == 0)
		error = try_open(at, "listed/own", O_WRONLY);
	return error == 0 && unlinkat(at, "listed/own", 0) < 0 ? errno : error;
}

static int answer_of(int r)
{
	return r < 0 ? errno : 0;
}

int rf_canary_file_try(int directory_fd, enum rf_canary_ask ask)
{
	char path[PATH_BYTES];
	int at = directory_fd;

	if (at < 0)
		return ENODEV;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/protected", at);
	switch ((int)ask) {
	case RF_CANARY_FILE_READ:
		return try_open(at, "closed", O_RDONLY);
	case RF_CANARY_FILE_WRITE:
		return try_open(at, "protected", O_WRONLY);
	case RF_CANARY_FILE_CREATE:
		return try_open(at, RF_CANARY_FILE_MISSING, O_WRONLY | O_CREAT);
	case RF_CANARY_FILE_MKDIR:
		return answer_of(mkdirat(at, RF_CANARY_FILE_MISSING, 0700));
	case RF_CANARY_FILE_SYMLINK:
		return answer_of(symlinkat("x", at, RF_CANARY_FILE_MISSING));
	case RF_CANARY_FILE_LINK:
		return answer_of(linkat(at, "closed", at, "alias", 0));
	case RF_CANARY_FILE_RENAME:
		return answer_of(renameat(at, "pinned", at, "moved"));
	case RF_CANARY_FILE_RMDIR:
		return answer_of(unlinkat(at, "pinned", AT_REMOVEDIR));
	case RF_CANARY_FILE_UNLINK:
		return answer_of(unlinkat(at, "protected", 0));
	case RF_CANARY_FILE_TRUNCATE:
		return answer_of(truncate(path, 0));
	case RF_CANARY_FILE_CHMOD:
		return answer_of(fchmodat(at, "protected", 0644, 0));
	case RF_CANARY_FILE_SETXATTR:
		return answer_of(setxattr(path, XATTR, "x", 1, 0));
	case RF_CANARY_FILE_REMOVEXATTR:
		return answer_of(removexattr(path, XATTR));
	case RF_CANARY_FILE_NEIGHBOUR:
		return try_open(at, "listed/neighbour", O_WRONLY);
	case RF_CANARY_FILE_OWN:
		return try_own(at);
	}
	return ENOSYS;
}
