/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The flows that change a name or what stands at it.
 *
 * Replacing: a file of its own gets the content and reaches the disk, then takes the name, then
 * the directory reaches the disk. The last is done once for all neighbours of a batch, before any
 * of them is answered. Killed at any point, the name has the old content or the new; a sibling may
 * be left over (".ringfence-….tmp", see temporary.c), which nothing reads.
 *
 * Nothing is truncated by open: a file is judged first (FS3).
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "fs/flow.h"

#define NS_PER_S 1000000000LL
#define PASSED_ON (O_CREAT | O_EXCL | O_APPEND | O_RDWR | O_WRONLY | O_SYNC | O_DSYNC)

/* ---- content ------------------------------------------------------------------------------- */

/* From memory, or from the request's descriptor, which is read whole; before anything is touched
 * (FS5). 0 or RF_REFUSED. */
static int get_content(struct rf_fs_flow *flow)
{
	const struct rf_fs_request *request = flow->request;
	uint64_t limit = flow->fs->options.content_bytes;
	int r = 0;

	flow->content = request->content;
	flow->content_bytes = request->content_size_bytes;
	if (request->has_content_fd) {
		r = rf_read_all(
			request->content_fd, limit, &flow->owned_content, &flow->content_bytes);
		flow->content = flow->owned_content;
	}
	if (r == -EFBIG || (r == 0 && flow->content_bytes > limit))
		return rf_fs_refuse_limit(flow->result, request->operation, request->path, EFBIG,
			"bytes of content", limit);
	if (r < 0)
		return rf_fs_refuse_call(flow->result, request->operation, request->path, -r);
	return 0;
}

static ssize_t write_some(int fd, const char *data, size_t size, bool appends, uint64_t offset)
{
	return appends ? write(fd, data, size) : pwrite(fd, data, size, (off_t)offset);
}

/* 0 or errno; result->bytes says how far it came. */
static int put_content(struct rf_fs_flow *flow, bool appends, uint64_t offset)
{
	uint64_t *done = &flow->result->bytes;

	while (*done < flow->content_bytes) {
		ssize_t size = write_some(flow->fd, flow->content + *done,
			flow->content_bytes - *done, appends, offset + *done);

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return errno;
		*done += (uint64_t)size;
	}
	return 0;
}

static struct timespec time_of(int64_t ns)
{
	struct timespec time = {.tv_nsec = UTIME_OMIT};

	if (ns == RF_FS_TIME_OMIT)
		return time;
	time.tv_sec = ns / NS_PER_S;
	time.tv_nsec = ns % NS_PER_S;
	if (time.tv_nsec < 0) {
		time.tv_nsec += NS_PER_S;
		time.tv_sec--;
	}
	return time;
}

int rf_fs_set_times(int fd, const struct rf_fs_request *request)
{
	struct timespec times[2] = {time_of(request->atime_ns), time_of(request->mtime_ns)};

	if (!(request->flags & RF_FS_HAS_TIMES))
		return 0;
	return futimens(fd, times) < 0 ? errno : 0;
}

int rf_fs_set_times_at(const char *path, const struct rf_fs_request *request)
{
	struct timespec times[2] = {time_of(request->atime_ns), time_of(request->mtime_ns)};

	return utimensat(AT_FDCWD, path, times, 0) < 0 ? errno : 0;
}

static bool issue_sync(struct rf_fs_flow *flow)
{
	flow->state = RF_FS_FLOW_SYNCED;
	flow->call = (struct rf_fs_call){.kind = RF_FS_CALL_FSYNC, .fd = flow->fd, .owner = flow};
	return rf_fs_engine_issue(flow->fs->engine, &flow->call);
}

/* ---- write and append ---------------------------------------------------------------------- */

static int flags_of(const struct rf_fs_request *request)
{
	if (request->operation == RF_FS_APPEND && request->open_flags == 0)
		return O_CREAT | O_APPEND;
	if (request->operation == RF_FS_APPEND)
		return request->open_flags | O_APPEND;
	return request->open_flags;
}

static bool finish_write(struct rf_fs_flow *flow)
{
	if (flow->call.result < 0)
		return rf_fs_flow_failed(flow, -flow->call.result);
	if (!flow->is_there)
		flow->pin->needs_sync = true;
	return true;
}

static bool write_content(struct rf_fs_flow *flow)
{
	int flags = flags_of(flow->request), error;

	if (rf_fs_flow_take_open(flow))
		return true;
	if (flags & O_TRUNC && flow->opened.st_size > 0 && ftruncate(flow->fd, 0) < 0)
		return rf_fs_flow_failed(flow, errno);
	error = put_content(flow, flags & O_APPEND, flow->request->offset);
	if (error == 0)
		error = rf_fs_set_times(flow->fd, flow->request);
	if (error)
		return rf_fs_flow_failed(flow, error);
	if (!(flow->request->flags & RF_FS_SYNC))
		return true;
	return issue_sync(flow) && finish_write(flow);
}

static bool open_to_write(struct rf_fs_flow *flow)
{
	int flags = flags_of(flow->request);
	mode_t mode = flow->request->flags & RF_FS_HAS_MODE ? flow->request->mode : 0666;

	if (rf_fs_flow_take_stat(flow))
		return true;
	if (flow->is_there && flags & O_CREAT && flags & O_EXCL)
		return rf_fs_flow_failed(flow, EEXIST);
	if ((flow->is_there && S_ISDIR(flow->found.stx_mode)) ||
		(!flow->is_there && flow->where.wants_directory && flags & O_CREAT))
		return rf_fs_flow_failed(flow, EISDIR);
	if (!flow->is_there && !(flags & O_CREAT))
		return rf_fs_flow_failed(flow, ENOENT);
	flags &= PASSED_ON;
	if ((flags & O_ACCMODE) == O_RDONLY)
		flags |= O_WRONLY;
	return rf_fs_flow_issue_open(flow, (uint64_t)flags, flags & O_CREAT ? mode & 07777 : 0) &&
	       write_content(flow);
}

bool rf_fs_flow_write(struct rf_fs_flow *flow)
{
	switch (flow->state) {
	case RF_FS_FLOW_START:
		return get_content(flow) || (rf_fs_flow_issue_stat(flow) && open_to_write(flow));
	case RF_FS_FLOW_LOOKED:
		return open_to_write(flow);
	case RF_FS_FLOW_OPENED:
		return write_content(flow);
	case RF_FS_FLOW_SYNCED:
		return finish_write(flow);
	case RF_FS_FLOW_READ:
	case RF_FS_FLOW_UNLINKED:
		break;
	}
	return true;
}

/* ---- replace ------------------------------------------------------------------------------- */

/* Mode and owner of what is replaced stay, where the caller may set them. 0 or errno. */
static int take_after(struct rf_fs_flow *flow)
{
	const struct statx *old = &flow->found;
	mode_t mode = flow->request->flags & RF_FS_HAS_MODE ? flow->request->mode : old->stx_mode;

	if (!flow->is_there)
		return 0;
	/* Another's file that this caller may replace becomes the caller's, as with any editor. */
	if ((old->stx_uid != flow->opened.st_uid || old->stx_gid != flow->opened.st_gid) &&
		fchown(flow->fd, old->stx_uid, old->stx_gid) < 0 && errno != EPERM)
		return errno;
	if ((flow->opened.st_mode & 07777) != (mode & 07777) && fchmod(flow->fd, mode & 07777) < 0)
		return errno;
	return 0;
}

static bool give_up(struct rf_fs_flow *flow, int error)
{
	rf_fs_temporary_drop(flow->pin->fd, flow->temporary);
	return rf_fs_flow_failed(flow, error);
}

static bool write_temporary(struct rf_fs_flow *flow);

static bool take_name(struct rf_fs_flow *flow)
{
	bool is_durable = !(flow->request->flags & RF_FS_NO_DURABLE);
	int r;

	if (is_durable && flow->call.result < 0)
		return give_up(flow, -flow->call.result);
	/* While the content went to the disk somebody may have moved the directory away. */
	if (!rf_fs_is_pinned(flow->fs, &flow->where, flow->pin->fd)) {
		rf_fs_flow_changed(flow, "its directory was moved meanwhile");
		return give_up(flow, ESTALE);
	}
	r = rf_fs_temporary_settle(flow->fs, flow->pin->fd, flow->fd, flow->temporary,
		flow->where.name, !(flow->request->open_flags & O_EXCL));
	if (r == RF_FS_TEMPORARY_AGAIN)
		return write_temporary(flow);
	if (r < 0)
		return give_up(flow, -r);
	if (is_durable)
		flow->pin->needs_sync = true;
	return true;
}

static bool write_temporary(struct rf_fs_flow *flow)
{
	mode_t mode = flow->request->flags & RF_FS_HAS_MODE ? flow->request->mode : 0666;
	int error;

	/* Nobody else may open it before it has the old file's mode. */
	if (flow->is_there)
		mode = 0600;
	flow->fd = rf_close(flow->fd);
	flow->result->bytes = 0;
	flow->fd = rf_fs_temporary(flow->fs, flow->pin->fd, mode & 07777, flow->temporary);
	if (flow->fd < 0)
		return rf_fs_flow_failed(flow, -flow->fd);
	error = fstat(flow->fd, &flow->opened) < 0 ? errno : take_after(flow);
	if (error == 0)
		error = put_content(flow, false, 0);
	if (error == 0)
		error = rf_fs_set_times(flow->fd, flow->request);
	if (error)
		return give_up(flow, error);
	if (flow->request->flags & RF_FS_NO_DURABLE)
		return take_name(flow);
	return issue_sync(flow) && take_name(flow);
}

static bool check_replaced(struct rf_fs_flow *flow)
{
	if (rf_fs_flow_take_stat(flow))
		return true;
	if (flow->is_there && flow->request->open_flags & O_EXCL)
		return rf_fs_flow_failed(flow, EEXIST);
	if ((flow->is_there && S_ISDIR(flow->found.stx_mode)) || flow->where.wants_directory)
		return rf_fs_flow_failed(flow, EISDIR);
	return write_temporary(flow);
}

bool rf_fs_flow_replace(struct rf_fs_flow *flow)
{
	switch (flow->state) {
	case RF_FS_FLOW_START:
		return get_content(flow) || (rf_fs_flow_issue_stat(flow) && check_replaced(flow));
	case RF_FS_FLOW_LOOKED:
		return check_replaced(flow);
	case RF_FS_FLOW_SYNCED:
		return take_name(flow);
	case RF_FS_FLOW_OPENED:
	case RF_FS_FLOW_READ:
	case RF_FS_FLOW_UNLINKED:
		break;
	}
	return true;
}

/* ---- remove -------------------------------------------------------------------------------- */

static bool finish_remove(struct rf_fs_flow *flow)
{
	bool is_forced = flow->request->flags & RF_FS_FORCE;

	if (flow->call.result == -ENOENT && is_forced)
		return true;
	if (flow->call.result < 0)
		return rf_fs_flow_failed(flow, -flow->call.result);
	flow->result->n_removed = 1;
	if (flow->request->flags & RF_FS_SYNC)
		flow->pin->needs_sync = true;
	return true;
}

static bool unlink_name(struct rf_fs_flow *flow)
{
	if (rf_fs_flow_take_stat(flow))
		return true;
	if (!flow->is_there)
		return flow->request->flags & RF_FS_FORCE || rf_fs_flow_failed(flow, ENOENT);
	if (flow->where.is_root)
		return rf_fs_flow_failed(flow, EBUSY);
	flow->state = RF_FS_FLOW_UNLINKED;
	flow->call = (struct rf_fs_call){
		.kind = RF_FS_CALL_UNLINK,
		.fd = flow->pin->fd,
		.name = flow->where.name,
		.at_flags = S_ISDIR(flow->found.stx_mode) ? AT_REMOVEDIR : 0,
		.owner = flow,
	};
	return rf_fs_engine_issue(flow->fs->engine, &flow->call) && finish_remove(flow);
}

bool rf_fs_flow_remove(struct rf_fs_flow *flow)
{
	switch (flow->state) {
	case RF_FS_FLOW_START:
		return rf_fs_flow_issue_stat(flow) && unlink_name(flow);
	case RF_FS_FLOW_LOOKED:
		return unlink_name(flow);
	case RF_FS_FLOW_UNLINKED:
		return finish_remove(flow);
	case RF_FS_FLOW_OPENED:
	case RF_FS_FLOW_READ:
	case RF_FS_FLOW_SYNCED:
		break;
	}
	return true;
}
