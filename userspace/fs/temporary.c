/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Files that are not there yet, renames, and directories that reach the disk.
 *
 * What is to take a name at once has none while it is written, where the filesystem can do that
 * (O_TMPFILE): whoever is killed meanwhile leaves nothing. A name that is free is then linked; one
 * that is taken needs a temporary sibling, for the time between two calls, since no call links over
 * a name.
 *
 * Not every filesystem keeps what was synced before it had a name: btrfs does not log such a file
 * at all, and after a crash it would be there and empty. So it is done on those that have one log
 * for all; elsewhere, and without /proc, the sibling is there from the start, and what is killed
 * leaves it.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "fs/inside.h"

#define TRIES 16

bool rf_fs_keeps_nameless(int fd)
{
	struct statfs found;

	if (fstatfs(fd, &found) < 0)
		return false;
	return found.f_type == EXT4_SUPER_MAGIC || found.f_type == XFS_SUPER_MAGIC ||
	       found.f_type == TMPFS_MAGIC;
}

static int random_name(char ret_name[RF_FS_TEMPORARY_BYTES])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	(void)snprintf(ret_name, RF_FS_TEMPORARY_BYTES, ".ringfence-%016" PRIx64 ".tmp", random);
	return 0;
}

int rf_fs_temporary(
	struct rf_fs *fs, int parent_fd, mode_t mode, char ret_name[RF_FS_TEMPORARY_BYTES])
{
	char name[RF_FS_TEMPORARY_BYTES];
	int fd = -EEXIST, r = 0;

	if (fs->is_nameless && fs->proc_fd >= 0) {
		fd = rf_fs_openat(fs, parent_fd, ".", O_WRONLY | O_TMPFILE, mode);
		if (fd >= 0) {
			ret_name[0] = '\0';
			return fd;
		}
		/* Whatever it was, a name will say it again. */
		fs->is_nameless = fd != -EOPNOTSUPP && fd != -EISDIR && fd != -EINVAL;
		fd = -EEXIST;
	}
	for (int i = 0; i < TRIES && fd == -EEXIST; i++) {
		r = random_name(name);
		if (r < 0)
			return r;
		fd = rf_fs_openat(fs, parent_fd, name, O_WRONLY | O_CREAT | O_EXCL, mode);
	}
	if (fd >= 0)
		(void)snprintf(ret_name, RF_FS_TEMPORARY_BYTES, "%s", name);
	return fd;
}

void rf_fs_temporary_drop(int parent_fd, const char *temporary)
{
	if (temporary[0])
		(void)unlinkat(parent_fd, temporary, 0);
}

int rf_fs_rename_at(int from_fd, const char *from, int to_fd, const char *to, bool replaces)
{
	if (renameat2(from_fd, from, to_fd, to, replaces ? 0 : RENAME_NOREPLACE) < 0)
		return -errno;
	return 0;
}

static int link_at(const struct rf_fs *fs, int fd, int parent_fd, const char *name)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", fd);
	return linkat(fs->proc_fd, number, parent_fd, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* A sibling takes the place of what is there. */
static int link_over(const struct rf_fs *fs, int fd, int parent_fd, const char *name)
{
	char sibling[RF_FS_TEMPORARY_BYTES];
	int r = -EEXIST;

	for (int i = 0; i < TRIES && r == -EEXIST; i++) {
		r = random_name(sibling);
		if (r == 0)
			r = link_at(fs, fd, parent_fd, sibling);
	}
	if (r < 0)
		return r;
	r = rf_fs_rename_at(parent_fd, sibling, parent_fd, name, true);
	if (r < 0)
		rf_fs_temporary_drop(parent_fd, sibling);
	return r;
}

/* Of linkat: not that of the disk, nor of the name, but that such a file is not linked here. */
static bool is_refused(int error)
{
	return error == -EPERM || error == -EACCES || error == -ENOSYS || error == -EXDEV ||
	       error == -EOPNOTSUPP;
}

int rf_fs_temporary_settle(struct rf_fs *fs, int parent_fd, int fd, const char *temporary,
	const char *name, bool replaces)
{
	int r;

	if (temporary[0])
		return rf_fs_rename_at(parent_fd, temporary, parent_fd, name, replaces);
	r = link_at(fs, fd, parent_fd, name);
	if (r == -EEXIST && replaces)
		r = link_over(fs, fd, parent_fd, name);
	if (!is_refused(r))
		return r;
	fs->is_nameless = false;
	return RF_FS_TEMPORARY_AGAIN;
}

int rf_fs_sync_directory(const struct rf_fs *fs, int directory_fd)
{
	int fd rf_autoclose = rf_fs_openat(fs, directory_fd, ".", O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return fd;
	return fsync(fd) < 0 ? -errno : 0;
}
