/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Resolution below the root (FS1), and the look at what was found (FS3, FS4).
 *
 * A file's content is reached in four steps:
 *
 *	statx(parent, name)	what is it? Opening a fifo or a device has effects, so ask first
 *	openat2(parent, name)	no link, no mount, no waiting
 *	fstat(fd)		the same question again, of what is really open
 *
 *	readlink(/proc/self/fd)	is the name that was opened still there?
 *
 * Somebody who swaps the name between the first two can get a fifo opened without blocking, and
 * closed again: what the open file is decides whether a byte moves.
 *
 * Counting links on the descriptor is not enough: an outside file is linked into the root, opened
 * here, and unlinked from the root again before it is counted, which then says one. So the name
 * has to outlive the count. The kernel keeps that with the descriptor: a name that was unlinked or
 * renamed over reads " (deleted)", for good, since the descriptor holds its dentry. If it was there
 * after the count it was there during the count, so that one link was this one. (A test of names
 * alone cannot tell: the attacker links the file again. Other machines of a network filesystem are
 * not covered.)
 *
 * Without openat2 (before 5.6, or refused by a filter that answers ENOSYS) each component is
 * opened O_PATH|O_NOFOLLOW and compared with the root's mount.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "fs/inside.h"

#define NS_PER_S 1000000000LL

/* ---- one component at a time --------------------------------------------------------------- */

static uint64_t mount_of_fdinfo(int fd)
{
	char path[64], *text rf_autofree = NULL, *line;
	unsigned long long mount = 0;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (rf_read_file_at(AT_FDCWD, path, 4096, &text) < 0)
		return 0;
	line = strstr(text, "mnt_id:");
	if (!line || sscanf(line, "mnt_id: %llu", &mount) != 1)
		return 0;
	return mount;
}

uint64_t rf_fs_mount_of(int fd)
{
	struct statx found;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &found) == 0 &&
		found.stx_mask & STATX_MNT_ID)
		return found.stx_mnt_id;
	return mount_of_fdinfo(fd);
}

/* A link that is open O_PATH, or another mount: -ELOOP, -EXDEV. */
static int judge_component(const struct rf_fs *fs, int fd)
{
	struct stat found;

	if (fstat(fd, &found) < 0)
		return -errno;
	if (S_ISLNK(found.st_mode))
		return -ELOOP;
	/* Without mount ids, another device is all that can be seen. */
	if (found.st_dev != fs->dev && S_ISDIR(found.st_mode))
		return -EXDEV;
	return fs->mount != 0 && rf_fs_mount_of(fd) != fs->mount ? -EXDEV : 0;
}

static int step(
	const struct rf_fs *fs, int directory_fd, const char *name, uint64_t flags, mode_t mode)
{
	int fd rf_autoclose = -1;
	struct stat found;
	int r;

	fd = openat(directory_fd, name, (int)flags | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0) {
		/* O_DIRECTORY makes a link ENOTDIR. */
		if (errno == ENOTDIR &&
			fstatat(directory_fd, name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISLNK(found.st_mode))
			return -ELOOP;
		return -errno;
	}
	r = judge_component(fs, fd);
	return r < 0 ? r : RF_TAKE_FD(fd);
}

static int open_by_component(
	const struct rf_fs *fs, int directory_fd, const char *path, uint64_t flags, mode_t mode)
{
	char rest[RF_PATH_MAX_BYTES + 1], *at = rest, *slash;
	int held rf_autoclose = -1;

	if (strlen(path) >= sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(rest, path, strlen(path) + 1);
	while ((slash = strchr(at, '/'))) {
		int next;

		*slash = '\0';
		next = step(fs, held < 0 ? directory_fd : held, at, O_PATH, 0);
		if (next < 0)
			return next;
		rf_close(held);
		held = next;
		at = slash + 1;
	}
	return step(fs, held < 0 ? directory_fd : held, at, flags, mode);
}

/* ---- openat2 ------------------------------------------------------------------------------- */

int rf_fs_openat(
	const struct rf_fs *fs, int directory_fd, const char *path, uint64_t flags, mode_t mode)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .mode = mode, .resolve = RF_FS_RESOLVE};
	long fd;

	if (!fs->has_openat2)
		return open_by_component(fs, directory_fd, path, flags, mode);
	do {
		fd = syscall(SYS_openat2, directory_fd, path, &how, sizeof(how));
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : (int)fd;
}

int rf_fs_pin(const struct rf_fs *fs, enum rf_fs_operation operation,
	const struct rf_fs_where *where, const char *path, struct rf_fs_result *result)
{
	int fd = rf_fs_openat(fs, fs->fd, where->parent, O_PATH | O_DIRECTORY, 0);

	if (fd < 0) {
		rf_fs_refuse_call(result, operation, path, -fd);
		return -1;
	}
	return fd;
}

bool rf_fs_is_pinned(const struct rf_fs *fs, const struct rf_fs_where *where, int parent_fd)
{
	int fd rf_autoclose = rf_fs_openat(fs, fs->fd, where->parent, O_PATH | O_DIRECTORY, 0);
	struct stat now, pinned;

	if (fd < 0 || fstat(fd, &now) < 0 || fstat(parent_fd, &pinned) < 0)
		return false;
	return now.st_dev == pinned.st_dev && now.st_ino == pinned.st_ino;
}

/* ---- stat ---------------------------------------------------------------------------------- */

int rf_fs_statx(int directory_fd, const char *name, struct statx *ret_statx)
{
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_SYNC_AS_STAT;

	if (name[0] == '\0')
		flags |= AT_EMPTY_PATH;
	if (statx(directory_fd, name, flags, STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID,
		    ret_statx) < 0)
		return -errno;
	return 0;
}

static int64_t ns_of(const struct statx_timestamp *time)
{
	return time->tv_sec * NS_PER_S + time->tv_nsec;
}

void rf_fs_stat_from(const struct statx *from, struct rf_fs_stat *ret_stat)
{
	*ret_stat = (struct rf_fs_stat){
		.ino = from->stx_ino,
		.size_bytes = from->stx_size,
		.blocks_512 = from->stx_blocks,
		.links = from->stx_nlink,
		.dev = makedev(from->stx_dev_major, from->stx_dev_minor),
		.mode = from->stx_mode,
		.uid = from->stx_uid,
		.gid = from->stx_gid,
		.block_bytes = from->stx_blksize,
		.atime_ns = ns_of(&from->stx_atime),
		.mtime_ns = ns_of(&from->stx_mtime),
		.ctime_ns = ns_of(&from->stx_ctime),
		.btime_ns = from->stx_mask & STATX_BTIME ? ns_of(&from->stx_btime) : 0,
	};
}

static int64_t ns_of_spec(const struct timespec *time)
{
	return time->tv_sec * NS_PER_S + time->tv_nsec;
}

void rf_fs_stat_from_fd(const struct stat *from, struct rf_fs_stat *ret_stat)
{
	*ret_stat = (struct rf_fs_stat){
		.ino = from->st_ino,
		.size_bytes = (uint64_t)from->st_size,
		.blocks_512 = (uint64_t)from->st_blocks,
		.links = from->st_nlink,
		.dev = from->st_dev,
		.mode = from->st_mode,
		.uid = from->st_uid,
		.gid = from->st_gid,
		.block_bytes = (uint32_t)from->st_blksize,
		.atime_ns = ns_of_spec(&from->st_atim),
		.mtime_ns = ns_of_spec(&from->st_mtim),
		.ctime_ns = ns_of_spec(&from->st_ctim),
	};
}

int rf_fs_stat_at(int directory_fd, const char *name, struct rf_fs_stat *ret_stat)
{
	struct statx found;
	int r = rf_fs_statx(directory_fd, name, &found);

	if (r == 0)
		rf_fs_stat_from(&found, ret_stat);
	return r;
}

/* ---- judging ------------------------------------------------------------------------------- */

bool rf_fs_is_on_mount(const struct rf_fs *fs, const struct statx *found)
{
	if (fs->mount != 0 && found->stx_mask & STATX_MNT_ID)
		return found->stx_mnt_id == fs->mount;
	return true;
}

int rf_fs_judge(struct rf_fs_result *result, enum rf_fs_operation operation, const char *path,
	uint32_t mode, uint64_t links)
{
	switch (rf_fs_type_of_mode(mode)) {
	case RF_FS_TYPE_DIRECTORY:
		return 0;
	case RF_FS_TYPE_FILE:
		if (links == 0)
			return rf_fs_refuse_changed(
				result, operation, path, "it was removed meanwhile");
		if (links > 1)
			return rf_fs_refuse_escape(
				result, operation, path, "a file with more than one hard link");
		return 0;
	case RF_FS_TYPE_SYMLINK:
		return rf_fs_refuse_escape(result, operation, path, "a symbolic link");
	case RF_FS_TYPE_FIFO:
		return rf_fs_refuse_escape(result, operation, path, "a fifo");
	case RF_FS_TYPE_SOCKET:
		return rf_fs_refuse_escape(result, operation, path, "a socket");
	case RF_FS_TYPE_CHARACTER:
	case RF_FS_TYPE_BLOCK:
		return rf_fs_refuse_escape(result, operation, path, "a device");
	case RF_FS_TYPE_UNKNOWN:
		break;
	}
	return rf_fs_refuse_escape(result, operation, path, "neither a file nor a directory");
}

static bool ends_with(const char *text, const char *end)
{
	size_t text_size = strlen(text), end_size = strlen(end);

	return text_size >= end_size && strcmp(text + text_size - end_size, end) == 0;
}

/* 1: the name that fd was opened by is there; 0: it is gone; or -errno. */
static int has_kept_name(const struct rf_fs *fs, int fd, const char *name)
{
	char number[16], text[RF_PATH_MAX_BYTES + 1];
	ssize_t size;

	if (fs->proc_fd < 0)
		return -ENOENT;
	(void)snprintf(number, sizeof(number), "%d", fd);
	size = readlinkat(fs->proc_fd, number, text, sizeof(text) - 1);
	if (size < 0)
		return -errno;
	text[size] = '\0';
	if (!ends_with(text, RF_FS_DELETED))
		return 1;
	/* A file may be called so: then this says nothing. */
	return ends_with(name, RF_FS_DELETED) ? -EINVAL : 0;
}

/* Without /proc, below a path that is too long for it, or called " (deleted)": the name leads to
 * the same file, and nothing was linked or unlinked meanwhile as far as the clock of change times
 * can tell. */
static bool has_same_name(int parent_fd, const char *name, int fd, const struct stat *opened)
{
	struct statx named;
	struct stat again;

	if (rf_fs_statx(parent_fd, name, &named) < 0 || fstat(fd, &again) < 0)
		return false;
	return named.stx_ino == opened->st_ino && named.stx_nlink == opened->st_nlink &&
	       again.st_nlink == opened->st_nlink &&
	       again.st_ctim.tv_sec == opened->st_ctim.tv_sec &&
	       again.st_ctim.tv_nsec == opened->st_ctim.tv_nsec;
}

int rf_fs_judge_open(const struct rf_fs *fs, struct rf_fs_result *result,
	enum rf_fs_operation operation, const char *path, int parent_fd, const char *name, int fd,
	struct stat *ret_opened)
{
	int r;

	if (fstat(fd, ret_opened) < 0)
		return rf_fs_refuse_call(result, operation, path, errno);
	if (rf_fs_judge(result, operation, path, ret_opened->st_mode, ret_opened->st_nlink))
		return RF_REFUSED;
	if (!S_ISREG(ret_opened->st_mode))
		return 0;
	r = has_kept_name(fs, fd, name);
	if (r < 0)
		r = has_same_name(parent_fd, name, fd, ret_opened);
	if (r == 0)
		return rf_fs_refuse_changed(
			result, operation, path, "it was removed or replaced meanwhile");
	return 0;
}

int rf_fs_judge_name(const struct rf_fs *fs, struct rf_fs_result *result,
	enum rf_fs_operation operation, const struct rf_fs_where *where, const char *path,
	const struct statx *found)
{
	if (!rf_fs_is_on_mount(fs, found))
		return rf_fs_refuse_escape(result, operation, path, "a mount point");
	if (rf_fs_judge(result, operation, path, found->stx_mode, found->stx_nlink))
		return RF_REFUSED;
	if (where->wants_directory && !S_ISDIR(found->stx_mode))
		return rf_fs_refuse(result, operation, path, ENOTDIR, RF_FS_CODE_NONE, NULL);
	return 0;
}

int rf_fs_open_file(const struct rf_fs *fs, enum rf_fs_operation operation,
	const struct rf_fs_where *where, const char *path, int parent_fd, struct stat *ret_stat,
	struct rf_fs_result *result)
{
	int fd rf_autoclose = -1;
	struct statx found;
	struct stat opened;
	int r;

	r = rf_fs_statx(parent_fd, where->name, &found);
	if (r < 0) {
		rf_fs_refuse_call(result, operation, path, -r);
		return -1;
	}
	if (rf_fs_judge_name(fs, result, operation, where, path, &found))
		return -1;
	fd = S_ISDIR(found.stx_mode) ? -EISDIR
				     : rf_fs_openat(fs, parent_fd, where->name,
					       O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0) {
		rf_fs_refuse_call(result, operation, path, -fd);
		return -1;
	}
	if (rf_fs_judge_open(fs, result, operation, path, parent_fd, where->name, fd, &opened))
		return -1;
	if (!S_ISREG(opened.st_mode)) {
		rf_fs_refuse_changed(result, operation, path, "it became a directory");
		return -1;
	}
	*ret_stat = opened;
	return RF_TAKE_FD(fd);
}
