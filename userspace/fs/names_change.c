/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Operations on names and attributes that run alone: mkdir, rename, change, real path. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "fs/inside.h"

static bool failed(const struct rf_fs_request *request, struct rf_fs_result *result, int error)
{
	rf_fs_refuse_call(result, request->operation, request->path, error);
	return true;
}

/* ---- mkdir --------------------------------------------------------------------------------- */

/* One name below directory_fd, accepted when it is a directory already. 0 or errno. */
static int make_or_accept(const struct rf_fs *fs, int directory_fd, const char *name, mode_t mode,
	bool syncs, int *ret_fd)
{
	bool is_made = mkdirat(directory_fd, name, mode) == 0;
	int error = errno, fd;

	if (!is_made && error != EEXIST)
		return error;
	fd = rf_fs_openat(fs, directory_fd, name, O_PATH | O_DIRECTORY, 0);
	if (fd < 0)
		return -fd;
	*ret_fd = fd;
	if (is_made && syncs)
		return -rf_fs_sync_directory(fs, directory_fd);
	return 0;
}

static void make_parents(struct rf_fs *fs, const struct rf_fs_request *request,
	const struct rf_fs_where *where, mode_t mode, struct rf_fs_result *result)
{
	int held rf_autoclose = -1;
	char *rest rf_autofree = strdup(where->text), *at = rest;

	if (!rest) {
		failed(request, result, ENOMEM);
		return;
	}
	while (at) {
		char *slash = strchr(at, '/');
		int next = -1, error;

		if (slash)
			*slash = '\0';
		/* What lies above can be searched and written to, as with mkdir -p. */
		error = make_or_accept(fs, held < 0 ? fs->fd : held, at, slash ? 0777 : mode,
			request->flags & RF_FS_SYNC, &next);
		rf_close(held);
		held = next;
		if (error) {
			failed(request, result, error == ENOTDIR && !slash ? EEXIST : error);
			return;
		}
		at = slash ? slash + 1 : NULL;
	}
}

void rf_fs_do_mkdir(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result)
{
	mode_t mode = request->flags & RF_FS_HAS_MODE ? request->mode : 0777;
	struct rf_fs_where where rf_autowhere = {0};
	int parent_fd rf_autoclose = -1;
	struct statx found;
	int r;

	if (rf_fs_where(fs, request->operation, request->path, &where, result))
		return;
	if (where.is_root) {
		if (!(request->flags & RF_FS_PARENTS))
			failed(request, result, EEXIST);
		return;
	}
	if (request->flags & RF_FS_PARENTS) {
		make_parents(fs, request, &where, mode, result);
		return;
	}
	parent_fd = rf_fs_pin(fs, request->operation, &where, request->path, result);
	if (parent_fd < 0)
		return;
	/* A link or a device in the place is an escape, not EEXIST. */
	where.wants_directory = false;
	if (rf_fs_statx(parent_fd, where.name, &found) == 0 &&
		rf_fs_judge_name(fs, result, request->operation, &where, request->path, &found))
		return;
	if (mkdirat(parent_fd, where.name, mode) < 0) {
		failed(request, result, errno);
		return;
	}
	if (request->flags & RF_FS_SYNC) {
		r = rf_fs_sync_directory(fs, parent_fd);
		if (r < 0)
			failed(request, result, -r);
	}
}

/* ---- rename -------------------------------------------------------------------------------- */

struct end {
	struct rf_fs_where where;
	int parent_fd;
	bool is_there;
	struct statx found;
};

static void end_clear(struct end *end)
{
	rf_fs_where_clear(&end->where);
	rf_close(end->parent_fd);
}

static int find_end(struct rf_fs *fs, const struct rf_fs_request *request, const char *path,
	struct end *end, struct rf_fs_result *result)
{
	int r;

	if (rf_fs_where(fs, request->operation, path, &end->where, result))
		return RF_REFUSED;
	if (end->where.is_root)
		return rf_fs_refuse_call(result, request->operation, path, EBUSY);
	end->parent_fd = rf_fs_pin(fs, request->operation, &end->where, path, result);
	if (end->parent_fd < 0)
		return RF_REFUSED;
	r = rf_fs_statx(end->parent_fd, end->where.name, &end->found);
	end->is_there = r == 0;
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return rf_fs_refuse_call(result, request->operation, path, -r);
	return rf_fs_judge_name(fs, result, request->operation, &end->where, path, &end->found);
}

static void sync_ends(struct rf_fs *fs, const struct rf_fs_request *request, const struct end *from,
	const struct end *to, struct rf_fs_result *result)
{
	int r = rf_fs_sync_directory(fs, to->parent_fd);

	if (r == 0 && strcmp(from->where.parent, to->where.parent) != 0)
		r = rf_fs_sync_directory(fs, from->parent_fd);
	if (r < 0)
		failed(request, result, -r);
}

void rf_fs_do_rename(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result)
{
	struct end from rf_cleanup(end_clear) = {.parent_fd = -1};
	struct end to rf_cleanup(end_clear) = {.parent_fd = -1};
	bool replaces = !(request->open_flags & O_EXCL);
	int r;

	if (find_end(fs, request, request->path, &from, result) ||
		find_end(fs, request, request->target, &to, result))
		return;
	if (!from.is_there) {
		failed(request, result, ENOENT);
		return;
	}
	if (to.where.wants_directory && !S_ISDIR(from.found.stx_mode)) {
		failed(request, result, ENOTDIR);
		return;
	}
	r = rf_fs_rename_at(from.parent_fd, from.where.name, to.parent_fd, to.where.name, replaces);
	if (r < 0)
		failed(request, result, -r);
	else if (request->flags & RF_FS_SYNC)
		sync_ends(fs, request, &from, &to, result);
}

/* ---- change -------------------------------------------------------------------------------- */

/* By the descriptor's own entry below /proc: O_PATH needs no permission to read or write, and the
 * link is ours. 0 or errno. */
static int change_attributes(int fd, const struct rf_fs_request *request)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (request->flags & RF_FS_HAS_MODE && chmod(path, request->mode) < 0)
		return errno;
	if (request->flags & RF_FS_HAS_TIMES)
		return rf_fs_set_times_at(path, request);
	return 0;
}

/* The same inode, open for writing: a size cannot be changed otherwise. 0 or errno. */
static int change_size(struct rf_fs *fs, const struct rf_fs_request *request,
	const struct rf_fs_where *where, int parent_fd, const struct stat *judged)
{
	int fd rf_autoclose =
		rf_fs_openat(fs, parent_fd, where->name, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat opened;

	if (fd < 0)
		return -fd;
	if (fstat(fd, &opened) < 0)
		return errno;
	if (opened.st_ino != judged->st_ino || opened.st_dev != judged->st_dev ||
		opened.st_nlink != 1)
		return ESTALE;
	return ftruncate(fd, (off_t)request->length) < 0 ? errno : 0;
}

static int open_judged(struct rf_fs *fs, const struct rf_fs_request *request,
	const struct rf_fs_where *where, int parent_fd, struct stat *ret_found,
	struct rf_fs_result *result)
{
	int fd rf_autoclose = rf_fs_openat(fs, parent_fd, where->name, O_PATH, 0);

	if (fd < 0) {
		failed(request, result, -fd);
		return -1;
	}
	if (rf_fs_judge_open(fs, result, request->operation, request->path, parent_fd, where->name,
		    fd, ret_found))
		return -1;
	if (where->wants_directory && !S_ISDIR(ret_found->st_mode)) {
		failed(request, result, ENOTDIR);
		return -1;
	}
	return RF_TAKE_FD(fd);
}

void rf_fs_do_change(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result)
{
	struct rf_fs_where where rf_autowhere = {0};
	int parent_fd rf_autoclose = -1, fd rf_autoclose = -1, error = 0;
	struct stat found;

	if (rf_fs_where(fs, request->operation, request->path, &where, result))
		return;
	parent_fd = rf_fs_pin(fs, request->operation, &where, request->path, result);
	if (parent_fd < 0)
		return;
	fd = open_judged(fs, request, &where, parent_fd, &found, result);
	if (fd < 0)
		return;
	if (request->flags & RF_FS_HAS_LENGTH)
		error = S_ISDIR(found.st_mode)
				? EISDIR
				: change_size(fs, request, &where, parent_fd, &found);
	if (error == 0)
		error = change_attributes(fd, request);
	if (error == ESTALE)
		rf_fs_refuse_changed(
			result, request->operation, request->path, "another file took its name");
	else if (error)
		failed(request, result, error);
}

/* ---- real path ----------------------------------------------------------------------------- */

void rf_fs_do_real_path(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result)
{
	struct end at rf_cleanup(end_clear) = {.parent_fd = -1};
	int r;

	if (rf_fs_where(fs, request->operation, request->path, &at.where, result))
		return;
	if (!at.where.is_root) {
		rf_fs_where_clear(&at.where);
		if (find_end(fs, request, request->path, &at, result))
			return;
		if (!at.is_there) {
			failed(request, result, ENOENT);
			return;
		}
	}
	if (at.where.is_root)
		r = asprintf(&result->real_path, "%s", fs->canonical[0] ? fs->canonical : "/");
	else
		r = asprintf(&result->real_path, "%s/%s", fs->canonical, at.where.text);
	if (r < 0) {
		result->real_path = NULL;
		failed(request, result, ENOMEM);
	}
}
