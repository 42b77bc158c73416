/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A request that may wait, as steps between calls. Many flows are under way at once; each has at
 * most one call out.
 */

#include <linux/stat.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "fs/inside.h"

/* A parent directory that is held open, shared by neighbours in a batch. */
struct rf_fs_pin {
	char *parent;
	int fd;
	unsigned int uses;
	unsigned int refs;
	bool needs_sync;
	int sync_error;
	/* Which directory that is, and the one before it that is the same; NULL: it is the first.
	 */
	dev_t dev;
	ino_t ino;
	const struct rf_fs_pin *same;
	struct rf_fs_call sync;
	struct rf_fs_pin *next;
};

enum rf_fs_flow_state {
	RF_FS_FLOW_START,
	RF_FS_FLOW_LOOKED,
	RF_FS_FLOW_OPENED,
	RF_FS_FLOW_READ,
	RF_FS_FLOW_SYNCED,
	RF_FS_FLOW_UNLINKED,
};

struct rf_fs_flow {
	struct rf_fs_call call;
	struct rf_fs *fs;
	const struct rf_fs_request *request;
	struct rf_fs_result *result;
	enum rf_fs_flow_state state;
	struct rf_fs_where where;
	struct rf_fs_pin *pin;
	struct statx found; /* what stood at the name */
	bool is_there;
	int fd;
	struct stat opened;
	uint64_t wanted_bytes;
	/* What is written: the request's, or what its descriptor gave. */
	const char *content;
	size_t content_bytes;
	char *owned_content;
	char temporary[RF_FS_TEMPORARY_BYTES]; /* "": none */
	struct rf_fs_flow *next_free;
};

/* Each answers true when the flow is done, false when its call is out. */
bool rf_fs_flow_look(struct rf_fs_flow *flow);	  /* STAT, EXISTS */
bool rf_fs_flow_read(struct rf_fs_flow *flow);	  /* READ */
bool rf_fs_flow_write(struct rf_fs_flow *flow);	  /* WRITE, APPEND */
bool rf_fs_flow_replace(struct rf_fs_flow *flow); /* REPLACE */
bool rf_fs_flow_remove(struct rf_fs_flow *flow);  /* REMOVE of one name */

/* Issues statx of the name. true: done, flow->found or a failure. */
bool rf_fs_flow_issue_stat(struct rf_fs_flow *flow);
/* Takes the answer: fills is_there. 0, or RF_REFUSED. A missing name is no failure here. */
int rf_fs_flow_take_stat(struct rf_fs_flow *flow);
bool rf_fs_flow_issue_open(struct rf_fs_flow *flow, uint64_t flags, mode_t mode);
/* The open file, judged: flow->fd and flow->opened. 0 or RF_REFUSED. */
int rf_fs_flow_take_open(struct rf_fs_flow *flow);
/* Refusals with the flow's operation and path; each answers true: done. */
bool rf_fs_flow_failed(struct rf_fs_flow *flow, int error);
bool rf_fs_flow_escaped(struct rf_fs_flow *flow, const char *why);
bool rf_fs_flow_changed(struct rf_fs_flow *flow, const char *why);
