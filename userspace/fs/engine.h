/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One interface over io_uring and plain system calls.
 *
 * A call is issued; it is either done at once (its result is in it) or handed to the ring, and
 * then comes back from rf_fs_engine_wait. The plain engine does everything at once.
 *
 *	flow --- issue ---> done at once: plain call, metadata and page cache hot
 *	           |
 *	           +------> ring ... io-wq workers or async reads ... wait() ---> flow
 */

#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/fs.h"

enum rf_fs_call_kind {
	RF_FS_CALL_OPEN,   /* fd, name, how */
	RF_FS_CALL_STAT,   /* fd, name, statx: never follows */
	RF_FS_CALL_READ,   /* fd, data, size_bytes, offset */
	RF_FS_CALL_FSYNC,  /* fd */
	RF_FS_CALL_UNLINK, /* fd, name, at_flags */
	RF_FS_CALLS_,
};

struct rf_fs_call {
	enum rf_fs_call_kind kind;
	int fd;
	const char *name;
	union {
		struct open_how how;
		struct statx *statx;
		struct {
			void *data;
			size_t size_bytes;
			uint64_t offset;
		} range;
		int at_flags;
	};
	/* It is known to wait: to the ring at once, where there is one. */
	bool waits;
	/* What the system call gave: a descriptor, a count, 0, or -errno. */
	int result;
	/* Whose call it is; the engine does not look at it. */
	void *owner;
	struct rf_fs_call *next;
};

struct rf_fs_engine_state;

/* Calls in flight that an engine takes before it wants rf_fs_engine_wait. */
#define RF_FS_IN_FLIGHT 128U

int rf_fs_engine_new(struct rf_fs_engine_state **ret, enum rf_fs_engine wanted,
	unsigned int concurrency, bool has_openat2);
struct rf_fs_engine_state *rf_fs_engine_drop(struct rf_fs_engine_state *engine);

/* A batch or a walk begins: the ring has to be this thread's. */
void rf_fs_engine_enter(struct rf_fs_engine_state *engine);
/* Which one serves; makes the ring if that was not tried yet. */
enum rf_fs_engine rf_fs_engine_kind(struct rf_fs_engine_state *engine, const char **ret_why);

/* true: done, call->result is set. false: in flight; call and what it points to stay as they are
 * until it comes back. Never false while RF_FS_IN_FLIGHT calls are out. */
bool rf_fs_engine_issue(struct rf_fs_engine_state *engine, struct rf_fs_call *call);
/* A call that came back, or NULL when none is out. */
struct rf_fs_call *rf_fs_engine_wait(struct rf_fs_engine_state *engine);
/* The same without waiting, and without handing over what was issued since. */
struct rf_fs_call *rf_fs_engine_next(struct rf_fs_engine_state *engine);
unsigned int rf_fs_engine_in_flight(const struct rf_fs_engine_state *engine);
/* The caller saw such a call wait: the next is looked up before it is made. */
void rf_fs_engine_note_cold(struct rf_fs_engine_state *engine, enum rf_fs_call_kind kind);
/* Have calls of this kind waited lately? A guess that steers prefetching; never so without a ring.
 */
bool rf_fs_engine_is_cold(const struct rf_fs_engine_state *engine, enum rf_fs_call_kind kind);
