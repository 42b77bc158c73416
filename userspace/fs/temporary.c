/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Temporary siblings, renames, and directories that reach the disk. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "fs/inside.h"

#define TRIES 16

int rf_fs_temporary(
	const struct rf_fs *fs, int parent_fd, mode_t mode, char ret_name[RF_FS_TEMPORARY_BYTES])
{
	char name[RF_FS_TEMPORARY_BYTES];
	int fd = -EEXIST;

	for (int i = 0; i < TRIES && fd == -EEXIST; i++) {
		uint64_t random;

		if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -EIO;
		(void)snprintf(name, sizeof(name), ".ringfence-%016" PRIx64 ".tmp", random);
		fd = rf_fs_openat(fs, parent_fd, name, O_WRONLY | O_CREAT | O_EXCL, mode);
	}
	if (fd >= 0)
		(void)snprintf(ret_name, RF_FS_TEMPORARY_BYTES, "%s", name);
	return fd;
}

int rf_fs_rename_at(int from_fd, const char *from, int to_fd, const char *to, bool replaces)
{
	if (renameat2(from_fd, from, to_fd, to, replaces ? 0 : RENAME_NOREPLACE) < 0)
		return -errno;
	return 0;
}

int rf_fs_sync_directory(const struct rf_fs *fs, int directory_fd)
{
	int fd rf_autoclose = rf_fs_openat(fs, directory_fd, ".", O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return fd;
	return fsync(fd) < 0 ? -errno : 0;
}
