/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Copying: shared extents where the filesystem has them, else inside the kernel, else by hand. A
 * copy takes its name when it is whole, as in a replacement.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "fs/inside.h"

#define CHUNK_BYTES (1024UL * 1024)

/* ---- content ------------------------------------------------------------------------------- */

/* Moves up to CHUNK_BYTES; a count, 0 at the end, or -errno. */
static ssize_t copy_by_hand(int from_fd, int to_fd)
{
	char *chunk rf_autofree = malloc(CHUNK_BYTES);
	ssize_t size;
	int r;

	if (!chunk)
		return -ENOMEM;
	do
		size = read(from_fd, chunk, CHUNK_BYTES);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	r = rf_write_all(to_fd, chunk, (size_t)size);
	return r < 0 ? r : size;
}

static bool is_unsupported(int error)
{
	return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP ||
	       error == EPERM;
}

/* 0; -ESTALE: the source ended early; -ETIMEDOUT; or -errno. */
static int copy_content(const struct rf_fs *fs, int from_fd, int to_fd, uint64_t size_bytes)
{
	bool by_hand = false;

	if (size_bytes > 0 && ioctl(to_fd, FICLONE, from_fd) == 0)
		return 0;
	while (size_bytes > 0) {
		size_t wanted = size_bytes < CHUNK_BYTES ? size_bytes : CHUNK_BYTES;
		ssize_t size = by_hand ? copy_by_hand(from_fd, to_fd)
				       : copy_file_range(from_fd, NULL, to_fd, NULL, wanted, 0);

		if (size < 0 && !by_hand) {
			size = -errno;
			if (size == -EINTR)
				continue;
			by_hand = is_unsupported((int)-size);
			if (by_hand)
				continue;
		}
		if (size < 0)
			return (int)size;
		if (size == 0)
			return -ESTALE;
		size_bytes -= (uint64_t)size < size_bytes ? (uint64_t)size : size_bytes;
		rf_fs_tick(fs);
		if (rf_monotonic_ns() > fs->deadline_ns)
			return -ETIMEDOUT;
	}
	return 0;
}

/* ---- one file ------------------------------------------------------------------------------ */

struct copy {
	struct rf_fs *fs;
	const struct rf_fs_request *request;
	struct rf_fs_result *result;
	bool replaces;
	bool syncs;
};

static int failed(struct copy *copy, const char *path, int error)
{
	if (error == ESTALE)
		return rf_fs_refuse_changed(
			copy->result, RF_FS_COPY, path, "it was truncated while it was read");
	if (error == ETIMEDOUT)
		return rf_fs_refuse(copy->result, RF_FS_COPY, path, ETIMEDOUT, RF_FS_CODE_TIMEOUT,
			"the deadline has passed");
	return rf_fs_refuse_call(copy->result, RF_FS_COPY, path, error);
}

/* What stands in the place: nothing, or a file that may be replaced. 0 or RF_REFUSED. */
static int judge_target(struct copy *copy, int to_fd, const char *name, const char *path)
{
	struct rf_fs_where where = {.name = name};
	struct statx found;
	int r = rf_fs_statx(to_fd, name, &found);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return failed(copy, path, -r);
	if (rf_fs_judge_name(copy->fs, copy->result, RF_FS_COPY, &where, path, &found))
		return RF_REFUSED;
	if (!copy->replaces)
		return failed(copy, path, EEXIST);
	return S_ISDIR(found.stx_mode) ? failed(copy, path, EISDIR) : 0;
}

/* The temporary has its content; gives it its name, or takes it away. As rf_fs_temporary_settle. */
static int settle(
	struct copy *copy, int fd, int to_fd, const char *temporary, const char *name, int r)
{
	if (r == 0 && copy->syncs && fsync(fd) < 0)
		r = -errno;
	if (r == 0)
		r = rf_fs_temporary_settle(copy->fs, to_fd, fd, temporary, name, copy->replaces);
	if (r < 0)
		rf_fs_temporary_drop(to_fd, temporary);
	else if (r == 0 && copy->syncs)
		r = rf_fs_sync_directory(copy->fs, to_fd);
	return r;
}

/* As rf_fs_temporary_settle. */
static int copy_to_temporary(
	struct copy *copy, int source_fd, const struct stat *opened, int to_fd, const char *to)
{
	char temporary[RF_FS_TEMPORARY_BYTES];
	int fd rf_autoclose = rf_fs_temporary(copy->fs, to_fd, opened->st_mode & 0777, temporary);
	int r;

	if (fd < 0)
		return fd;
	r = copy_content(copy->fs, source_fd, fd, (uint64_t)opened->st_size);
	return settle(copy, fd, to_fd, temporary, to, r);
}

static int copy_file(struct copy *copy, int from_fd, const struct rf_fs_where *from,
	const char *from_path, int to_fd, const char *to, const char *to_path)
{
	int source_fd rf_autoclose = -1;
	struct stat opened;
	int r;

	if (judge_target(copy, to_fd, to, to_path))
		return RF_REFUSED;
	source_fd = rf_fs_open_file(
		copy->fs, RF_FS_COPY, from, from_path, from_fd, &opened, copy->result);
	if (source_fd < 0)
		return RF_REFUSED;
	r = copy_to_temporary(copy, source_fd, &opened, to_fd, to);
	if (r == RF_FS_TEMPORARY_AGAIN && lseek(source_fd, 0, SEEK_SET) == 0)
		r = copy_to_temporary(copy, source_fd, &opened, to_fd, to);
	if (r)
		return failed(copy, from_path, r < 0 ? -r : EPERM);
	copy->result->bytes += (uint64_t)opened.st_size;
	return 0;
}

/* ---- a tree -------------------------------------------------------------------------------- */

/* A directory of the copy: what walk entries carry as their state. */
struct place {
	int fd;
};

static struct place *place_new(int fd)
{
	struct place *place = malloc(sizeof(*place));

	if (place)
		place->fd = fd;
	else
		rf_close(fd);
	return place;
}

static void place_leave(void *userdata, void *state)
{
	struct place *place = state;

	(void)userdata;
	if (!place)
		return;
	rf_close(place->fd);
	free(place);
}

/* Makes (or, replacing, accepts) a directory and opens it; -1 with a failure. */
static int make_directory(struct copy *copy, int to_fd, const char *name, const char *path)
{
	int fd;

	if (mkdirat(to_fd, name, 0777) < 0 && (errno != EEXIST || !copy->replaces)) {
		failed(copy, path, errno);
		return -1;
	}
	fd = rf_fs_openat(copy->fs, to_fd, name, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0) {
		failed(copy, path, -fd);
		return -1;
	}
	return fd;
}

static int copy_entry(void *userdata, struct rf_fs_walk_entry *entry)
{
	struct copy *copy = userdata;
	struct rf_fs_where where = {.name = entry->name};
	const struct place *place = entry->state;
	int fd;

	if (entry->type != RF_FS_TYPE_DIRECTORY)
		return copy_file(copy, entry->directory_fd, &where, entry->path, place->fd,
			       entry->name, entry->path)
			       ? RF_FS_WALK_STOP
			       : RF_FS_WALK_NEXT;
	fd = make_directory(copy, place->fd, entry->name, entry->path);
	if (fd < 0)
		return RF_FS_WALK_STOP;
	entry->child_state = place_new(fd);
	return entry->child_state ? RF_FS_WALK_DESCEND : -ENOMEM;
}

static void copy_tree(struct copy *copy, int from_fd, int to_fd, const struct rf_fs_where *to)
{
	struct place top = {.fd = make_directory(copy, to_fd, to->name, copy->request->target)};
	struct rf_fs_walk_options options = {
		.entry = copy_entry,
		.leave = place_leave,
		.userdata = copy,
		.start_state = &top,
	};

	if (top.fd < 0) {
		rf_close(from_fd);
		return;
	}
	rf_fs_walk_from(copy->fs, from_fd, copy->request->path, &options, copy->result);
	rf_close(top.fd);
}

/* ---- the operation ------------------------------------------------------------------------- */

static void copy_any(struct copy *copy, const struct rf_fs_where *from, int from_fd,
	const struct rf_fs_where *to, int to_fd)
{
	const struct rf_fs_request *request = copy->request;
	struct statx found;
	int r = rf_fs_statx(from_fd, from->name, &found), fd;

	if (r < 0) {
		failed(copy, request->path, -r);
		return;
	}
	if (rf_fs_judge_name(copy->fs, copy->result, RF_FS_COPY, from, request->path, &found))
		return;
	if (!S_ISDIR(found.stx_mode) || !(request->flags & RF_FS_RECURSIVE)) {
		if (to->wants_directory || to->is_root)
			failed(copy, request->target, EISDIR);
		else
			copy_file(copy, from_fd, from, request->path, to_fd, to->name,
				request->target);
		return;
	}
	/* Into itself it would never end. */
	if (from->is_root || rf_path_is_within(to->text, from->text)) {
		failed(copy, request->target, EINVAL);
		return;
	}
	fd = rf_fs_openat(copy->fs, from_fd, from->name, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		failed(copy, request->path, -fd);
	else
		copy_tree(copy, fd, to_fd, to);
}

void rf_fs_do_copy(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result)
{
	struct copy copy = {
		.fs = fs,
		.request = request,
		.result = result,
		.replaces = !(request->open_flags & O_EXCL),
		.syncs = request->flags & RF_FS_SYNC,
	};
	struct rf_fs_where from rf_autowhere = {0}, to rf_autowhere = {0};
	int from_fd rf_autoclose = -1, to_fd rf_autoclose = -1;

	if (rf_fs_where(fs, RF_FS_COPY, request->path, &from, result) ||
		rf_fs_where(fs, RF_FS_COPY, request->target, &to, result))
		return;
	from_fd = rf_fs_pin(fs, RF_FS_COPY, &from, request->path, result);
	if (from_fd < 0)
		return;
	to_fd = rf_fs_pin(fs, RF_FS_COPY, &to, request->target, result);
	if (to_fd >= 0)
		copy_any(&copy, &from, from_fd, &to, to_fd);
}
