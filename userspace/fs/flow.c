/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Steps that flows share, and the flows that look and read. */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "fs/flow.h"

#define CHUNK_BYTES (128U * 1024)

bool rf_fs_flow_failed(struct rf_fs_flow *flow, int error)
{
	rf_fs_refuse_call(flow->result, flow->request->operation, flow->request->path, error);
	return true;
}

bool rf_fs_flow_escaped(struct rf_fs_flow *flow, const char *why)
{
	rf_fs_refuse_escape(flow->result, flow->request->operation, flow->request->path, why);
	return true;
}

bool rf_fs_flow_changed(struct rf_fs_flow *flow, const char *why)
{
	rf_fs_refuse_changed(flow->result, flow->request->operation, flow->request->path, why);
	return true;
}

/* ---- shared steps -------------------------------------------------------------------------- */

bool rf_fs_flow_issue_stat(struct rf_fs_flow *flow)
{
	flow->state = RF_FS_FLOW_LOOKED;
	flow->call = (struct rf_fs_call){
		.kind = RF_FS_CALL_STAT,
		.fd = flow->pin->fd,
		.name = flow->where.name,
		.statx = &flow->found,
		.owner = flow,
	};
	return rf_fs_engine_issue(flow->fs->engine, &flow->call);
}

int rf_fs_flow_take_stat(struct rf_fs_flow *flow)
{
	const struct rf_fs_request *request = flow->request;

	flow->is_there = flow->call.result == 0;
	if (flow->call.result == -ENOENT)
		return 0;
	if (flow->call.result < 0)
		return rf_fs_refuse_call(
			flow->result, request->operation, request->path, -flow->call.result);
	return rf_fs_judge_name(flow->fs, flow->result, request->operation, &flow->where,
		request->path, &flow->found);
}

bool rf_fs_flow_issue_open(struct rf_fs_flow *flow, uint64_t flags, mode_t mode)
{
	flow->state = RF_FS_FLOW_OPENED;
	flow->call = (struct rf_fs_call){
		.kind = RF_FS_CALL_OPEN,
		.fd = flow->pin->fd,
		.name = flow->where.name,
		.how = {.flags = flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
			.mode = mode,
			.resolve = RF_FS_RESOLVE},
		.owner = flow,
	};
	if (!flow->fs->has_openat2) {
		flow->call.result = rf_fs_openat(
			flow->fs, flow->pin->fd, flow->where.name, flow->call.how.flags, mode);
		return true;
	}
	return rf_fs_engine_issue(flow->fs->engine, &flow->call);
}

int rf_fs_flow_take_open(struct rf_fs_flow *flow)
{
	const struct rf_fs_request *request = flow->request;

	if (flow->call.result < 0)
		return rf_fs_refuse_call(
			flow->result, request->operation, request->path, -flow->call.result);
	flow->fd = flow->call.result;
	if (rf_fs_judge_open(flow->fs, flow->result, request->operation, request->path,
		    flow->pin->fd, flow->where.name, flow->fd, &flow->opened))
		return RF_REFUSED;
	if (!S_ISREG(flow->opened.st_mode))
		return rf_fs_refuse_changed(
			flow->result, request->operation, request->path, "it became a directory");
	return 0;
}

/* ---- stat and exists ----------------------------------------------------------------------- */

/* A kernel that does not name mounts in statx: opening tells. */
static bool crosses_mount(const struct rf_fs_flow *flow)
{
	int fd rf_autoclose = -1;

	if (flow->fs->mount != 0 && flow->found.stx_mask & STATX_MNT_ID)
		return false;
	fd = rf_fs_openat(flow->fs, flow->pin->fd, flow->where.name, O_PATH, 0);
	return fd == -EXDEV;
}

bool rf_fs_flow_look(struct rf_fs_flow *flow)
{
	bool is_question = flow->request->operation == RF_FS_EXISTS;

	if (flow->state == RF_FS_FLOW_START && !rf_fs_flow_issue_stat(flow))
		return false;
	if (rf_fs_flow_take_stat(flow))
		return true;
	if (!flow->is_there)
		return is_question || rf_fs_flow_failed(flow, ENOENT);
	if (crosses_mount(flow))
		return rf_fs_flow_escaped(flow, "a mount point");
	flow->result->exists = true;
	if (!is_question) {
		rf_fs_stat_from(&flow->found, &flow->result->stat);
		flow->result->has_stat = true;
	}
	return true;
}

/* ---- read ---------------------------------------------------------------------------------- */

static void fill_stat(struct rf_fs_flow *flow)
{
	struct rf_fs_stat *stat = &flow->result->stat;

	rf_fs_stat_from_fd(&flow->opened, stat);
	/* fstat has no time of birth; what was looked at is what was opened, as a rule. */
	if (flow->found.stx_ino == flow->opened.st_ino && flow->found.stx_mask & STATX_BTIME)
		stat->btime_ns =
			flow->found.stx_btime.tv_sec * 1000000000LL + flow->found.stx_btime.tv_nsec;
	flow->result->has_stat = true;
}

/* How much to read, within the ceilings. 0 or RF_REFUSED. */
static int measure(struct rf_fs_flow *flow)
{
	const struct rf_fs_request *request = flow->request;
	const struct rf_fs_options *options = &flow->fs->options;
	uint64_t size = (uint64_t)flow->opened.st_size;

	flow->wanted_bytes = request->offset < size ? size - request->offset : 0;
	if (request->flags & RF_FS_HAS_LENGTH && flow->wanted_bytes > request->length)
		flow->wanted_bytes = request->length;
	if (flow->wanted_bytes > options->content_bytes)
		return rf_fs_refuse_limit(flow->result, request->operation, request->path, EFBIG,
			"bytes of content", options->content_bytes);
	if (request->has_content_fd)
		return 0;
	if (rf_fs_take_response(
		    flow->fs, flow->result, request->operation, request->path, flow->wanted_bytes))
		return RF_REFUSED;
	flow->result->content = malloc(flow->wanted_bytes + 1);
	if (!flow->result->content)
		return rf_fs_refuse_call(flow->result, request->operation, request->path, ENOMEM);
	return 0;
}

static bool finish_read(struct rf_fs_flow *flow)
{
	((char *)flow->result->content)[flow->wanted_bytes] = '\0';
	flow->result->content_size_bytes = flow->wanted_bytes;
	flow->result->bytes = flow->wanted_bytes;
	return true;
}

/* Reads what is missing. true: done. */
static bool issue_read(struct rf_fs_flow *flow)
{
	uint64_t got = flow->result->bytes;

	flow->state = RF_FS_FLOW_READ;
	flow->call = (struct rf_fs_call){
		.kind = RF_FS_CALL_READ,
		.fd = flow->fd,
		.range = {.data = (char *)flow->result->content + got,
			.size_bytes = flow->wanted_bytes - got,
			.offset = flow->request->offset + got},
		.owner = flow,
	};
	return rf_fs_engine_issue(flow->fs->engine, &flow->call);
}

/* 0: all is there; 1: there is more to read; RF_REFUSED is -1 here. */
static int take_read(struct rf_fs_flow *flow)
{
	if (flow->call.result < 0) {
		rf_fs_flow_failed(flow, -flow->call.result);
		return -1;
	}
	if (flow->call.result == 0) {
		rf_fs_flow_changed(flow, "it was truncated while it was read");
		return -1;
	}
	flow->result->bytes += (uint64_t)flow->call.result;
	return flow->result->bytes < flow->wanted_bytes;
}

static bool read_to_fd(struct rf_fs_flow *flow)
{
	char *chunk rf_autofree = malloc(CHUNK_BYTES);
	uint64_t *done = &flow->result->bytes;

	if (!chunk)
		return rf_fs_flow_failed(flow, ENOMEM);
	while (*done < flow->wanted_bytes) {
		uint64_t left = flow->wanted_bytes - *done;
		ssize_t size = pread(flow->fd, chunk, left < CHUNK_BYTES ? left : CHUNK_BYTES,
			(off_t)(flow->request->offset + *done));
		int r;

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return rf_fs_flow_failed(flow, errno);
		if (size == 0)
			return rf_fs_flow_changed(flow, "it was truncated while it was read");
		r = rf_write_all(flow->request->content_fd, chunk, (size_t)size);
		if (r < 0)
			return rf_fs_flow_failed(flow, -r);
		*done += (uint64_t)size;
	}
	return true;
}

static bool read_content(struct rf_fs_flow *flow)
{
	int r = 1;

	while (r > 0) {
		if (flow->result->bytes >= flow->wanted_bytes)
			break;
		if (!issue_read(flow))
			return false;
		r = take_read(flow);
	}
	return r < 0 || finish_read(flow);
}

static bool begin_content(struct rf_fs_flow *flow)
{
	if (rf_fs_flow_take_open(flow) || measure(flow))
		return true;
	fill_stat(flow);
	return flow->request->has_content_fd ? read_to_fd(flow) : read_content(flow);
}

static bool open_content(struct rf_fs_flow *flow)
{
	if (rf_fs_flow_take_stat(flow))
		return true;
	if (!flow->is_there)
		return rf_fs_flow_failed(flow, ENOENT);
	if (S_ISDIR(flow->found.stx_mode))
		return rf_fs_flow_failed(flow, EISDIR);
	return rf_fs_flow_issue_open(flow, O_RDONLY, 0) && begin_content(flow);
}

bool rf_fs_flow_read(struct rf_fs_flow *flow)
{
	switch (flow->state) {
	case RF_FS_FLOW_START:
		return rf_fs_flow_issue_stat(flow) && open_content(flow);
	case RF_FS_FLOW_LOOKED:
		return open_content(flow);
	case RF_FS_FLOW_OPENED:
		return begin_content(flow);
	case RF_FS_FLOW_READ: {
		int r = take_read(flow);

		if (r < 0)
			return true;
		return read_content(flow);
	}
	case RF_FS_FLOW_SYNCED:
	case RF_FS_FLOW_UNLINKED:
		break;
	}
	return true;
}
