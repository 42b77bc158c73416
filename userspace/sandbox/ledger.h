/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The durable list of sandboxes that are open: written before a sandbox's first process can run
 * anything, closed when its cgroup was seen empty. A sweep works from it and from nothing else.
 *
 * SQLite in WAL mode with synchronous=NORMAL: a record survives the crash of any program; after a
 * power cut every record is of an earlier boot anyway.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/diag.h"

struct rf_ledger;

#define RF_ID_TEXT_BYTES 17

/* Who a controller is: never a pid number alone. */
struct rf_owner {
	char boot_id[40];
	char host_id[40];
	pid_t pid;
	/* Start of the process in clock ticks since boot, from its stat file. */
	uint64_t start_ticks;
	/* Inode of its pidfd where the kernel has a pidfd filesystem (6.9), else 0. */
	uint64_t pidfd_inode;
};

struct rf_ledger_record {
	/* Row of the ledger; set by rf_ledger_each alone. */
	int64_t sequence;
	char id[RF_ID_TEXT_BYTES];
	struct rf_owner owner;
	uid_t uid;
	/* Directory of the leaf's parent, and its name there; empty when there was no cgroup. */
	char base_path[4096];
	char leaf[64];
	/* 0: the leaf was not made yet. */
	uint64_t cgroup_id;
};

/* directory: rf_place_state(). 0 or RF_REFUSED (code ledger-unavailable). */
int rf_ledger_open(const char *directory, struct rf_ledger **ret_ledger, struct rf_diag *diag);
struct rf_ledger *rf_ledger_free(struct rf_ledger *ledger);

/*
 * Each is one transaction. 0, -EEXIST (the id is there), -ENOSPC (no room on the disk), -EBUSY
 * (another program held the file for seconds), -EROFS, -ENOMEM, or -EIO.
 */
int rf_ledger_add(struct rf_ledger *ledger, const struct rf_ledger_record *record);
int rf_ledger_set_cgroup(struct rf_ledger *ledger, const char *id, uint64_t cgroup_id);
int rf_ledger_close(struct rf_ledger *ledger, const char *id);
/* The same by row, for a record whose id may not be one. */
int rf_ledger_retire(struct rf_ledger *ledger, int64_t sequence);

/*
 * Every record, in the order of its making. is_valid false: a field has a shape that this program
 * never writes, and nothing of it but the sequence can be relied on. Who can write the file can
 * forge rows of the right shape: a leaf's name is its record's id, so at most a sandbox is named. 0
 * or an error as above.
 */
typedef void (*rf_ledger_fn)(const struct rf_ledger_record *record, bool is_valid, void *userdata);
int rf_ledger_each(struct rf_ledger *ledger, rf_ledger_fn callback, void *userdata);

/* This process. 0 or -errno. */
int rf_owner_self(struct rf_owner *ret_owner);
/* 1: that very process lives. 0: it does not. -errno: could not be told. Same boot and host only.
 */
int rf_owner_is_alive(const struct rf_owner *owner);
