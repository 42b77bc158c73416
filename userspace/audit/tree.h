/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The process tree of one sandbox, built from its records. A process is its pid together with its
 * start time, so that a pid that is used again is another process.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/events.h"

/* Processes that one tree remembers; what comes later is counted only, and the tree is no longer
 * complete. */
#define RF_TREE_PROCESSES_MAX 65536U

struct rf_tree;

struct rf_tree_totals {
	uint64_t started;
	uint64_t execs;
	uint64_t exited;
	uint64_t escapes;
	uint64_t denials;
	/* Highest of any single process. */
	uint64_t memory_peak_bytes;
	/* Of the processes that have ended. */
	uint64_t cpu_ms;
	uint64_t read_bytes;
	uint64_t write_bytes;
	/* No record was lost or damaged, and every process found room. */
	bool is_complete;
};

int rf_tree_new(struct rf_tree **ret_tree);
struct rf_tree *rf_tree_free(struct rf_tree *tree);

static inline void rf_tree_free_p(struct rf_tree **tree)
{
	*tree = rf_tree_free(*tree);
}

/* struct rf_tree *tree rf_autotree = NULL; */
#define rf_autotree rf_cleanup(rf_tree_free_p)

/* Takes a checked record in. 0 or -ENOMEM (the totals count it all the same). */
int rf_tree_add(struct rf_tree *tree, const struct rf_event *event);

/* That many records are missing: the kernel's count of what found no room, or damaged ones. */
void rf_tree_add_lost(struct rf_tree *tree, uint64_t n_lost);

void rf_tree_totals(const struct rf_tree *tree, struct rf_tree_totals *ret_totals);

/*
 * Whether the process of this record began while the rules were armed, or may have (a record was
 * lost). The end of the wrappers is recorded, but they are older.
 */
bool rf_tree_knows(const struct rf_tree *tree, const struct rf_event *event);

/* Path of what the process runs; borrowed until the next rf_tree_add; NULL: unknown. */
const char *rf_tree_exe(const struct rf_tree *tree, uint32_t pid, uint64_t start_ns);

/*
 * {"version":1,"complete":…,"processes":[{pid,start_ns,parent,exe,argv0…,started,ended,exit_code,
 * signal,cpu_ms,memory_peak_bytes,execs,children:[…]}]}: roots first, children inside. A new
 * reference. 0 or -ENOMEM.
 */
int rf_tree_to_json(const struct rf_tree *tree, json_t **ret_json);
