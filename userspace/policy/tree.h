/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Rules on paths, all of them in one tree, and what they come to. Private to userspace/policy.
 *
 * Invariants (named again in tests/unit/policy/tree.c):
 *   T1  the result does not depend on the order in which rules were added;
 *   T2  reads and writes only add, protect and deny only narrow;
 *   T3  at one path deny wins over protect, protect over write, write over read;
 *   T4  a rule below another is deeper and wins;
 *   T5  a rule that changes nothing makes no step, unless it keeps a name;
 *   T6  each directory between a write and a narrowed path below it is pinned by a bind onto
 * itself; T7  cost is that of one sort, whatever the tree on disk holds.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "policy/plan.h"

enum rf_node_flag {
	RF_NODE_READ = 1 << 0,
	RF_NODE_WRITE = 1 << 1,
	RF_NODE_PROTECT = 1 << 2,
	RF_NODE_DENY = 1 << 3,
	/* A credential: as DENY, but a grant by external read of the very path opens it. */
	RF_NODE_CREDENTIAL = 1 << 4,
	RF_NODE_EXTERNAL = 1 << 5,
	/* A read that nobody declared: it opens nothing that is denied. */
	RF_NODE_RUNTIME = 1 << 6,
	RF_NODE_WORKSPACE = 1 << 7,
	/* Made by us: an empty writable tmpfs, /proc, /dev, a file with data, a device, a link. */
	RF_NODE_PRIVATE = 1 << 8,
	RF_NODE_PROC = 1 << 9,
	RF_NODE_DEV = 1 << 10,
	RF_NODE_DATA = 1 << 11,
	RF_NODE_DEVICE = 1 << 12,
	RF_NODE_LINK = 1 << 13,
	/* Must exist inside, even as an empty directory. */
	RF_NODE_PRESENT = 1 << 14,
	/* A narrowed name that does not exist: nothing to mount over. */
	RF_NODE_MISSING = 1 << 15,
	/* The name of a narrowed symbolic link: its target is what is narrowed. */
	RF_NODE_NAME = 1 << 16,
	/* A write, or a place of ours, that is to be made first. */
	RF_NODE_CREATE = 1 << 17,
	/* A write, but only of write-files and what the command makes beside them. */
	RF_NODE_LISTED = 1 << 18,
	/* Of a git directory, and nobody named it: where it is missing and that cannot be held, the
	 * promise is held in part. */
	RF_NODE_GIT = 1 << 24,
	/* Keeps its name: bound onto itself where it can be written. */
	RF_NODE_PIN = 1 << 25,
};

struct rf_node {
	char *path;
	uint32_t flags;
	uint64_t dev;
	uint64_t ino;
	bool is_directory;
	/* Text of DATA, target of LINK. */
	char *data;
	/* Mode of PRIVATE; enum rf_access of DEVICE. */
	unsigned int perms;
	/* Index of the innermost node above, SIZE_MAX: none. Known once the tree is sorted. */
	size_t parent;
};

/* What can be done at a place inside. */
enum rf_reach { RF_REACH_NONE, RF_REACH_READ, RF_REACH_WRITE, RF_REACH_DENIED };

struct rf_rule_tree {
	struct rf_node *nodes;
	size_t count;
	size_t room;
	bool is_sorted;
};

/* A place that BPF LSM may have to know about. */
struct rf_watch {
	/* Borrowed from the tree. */
	const struct rf_node *node;
	enum rf_reach around;
	enum rf_reach reach;
	/* Writable for write-files alone. */
	bool is_listed;
};

/* Of the sweep, besides the plan's view and rules. */
struct rf_sweep {
	/* First missing narrowed name that the command could make; NULL: none. Borrowed. */
	const char *unheld;
	/* A missing name in a place that only others can write to. Borrowed. */
	const char *unwatched;
	/* First credential that does not exist and that the command could make. Borrowed. */
	const char *missing_credential;
	size_t n_missing_credentials;
	/* First missing name of a git directory that the command could make. Borrowed. */
	const char *missing_git;
	size_t n_missing_git;
	/* Name of a narrowed link that the command could replace. Borrowed. */
	const char *replaceable;
	/* Protected path outside every write; warnings name each. */
	struct rf_strv idle;
	/* The working directory, when it lies in a closed place. Borrowed. */
	const char *closed_directory;
	struct rf_watch *watches;
	size_t n_watches;
	size_t watches_room;
	bool has_narrowing;
	size_t n_binds;
};

/* Takes nothing; path, data are copied. dev and ino 0 for what has no source. 0 or -ENOMEM. */
int rf_rule_tree_add(
	struct rf_rule_tree *tree, const char *path, uint32_t flags, const struct rf_node *like);
void rf_rule_tree_clear(struct rf_rule_tree *tree);
#define rf_autotree rf_cleanup(rf_rule_tree_clear)

/* Sorts and merges; then writes plan->view and plan->rules. 0 or -errno. */
int rf_rule_tree_sweep(struct rf_rule_tree *tree, struct rf_plan *plan, struct rf_sweep *ret_sweep);

/* What the rules come to at a canonical path. Sorts when needed. */
enum rf_reach rf_rule_tree_reach(struct rf_rule_tree *tree, const char *path);

/* The same without what nobody declared (RUNTIME); *ret_grant is the innermost grant, or NULL. */
enum rf_reach rf_rule_tree_declared(
	struct rf_rule_tree *tree, const char *path, const struct rf_node **ret_grant);

/* Is the path at or below a denied one, and no declared grant in between? */
bool rf_rule_tree_is_denied(struct rf_rule_tree *tree, const char *path);

/* Index of the first node at or below path: those follow each other. Sorts when needed. */
size_t rf_rule_tree_first(struct rf_rule_tree *tree, const char *path);

/* Once every rule is there: what nobody declared is not opened below a denied path. */
void rf_rule_tree_close_runtime(struct rf_rule_tree *tree);

/* Will a link of ours stand at this path, unless the host's own things show there? */
bool rf_rule_tree_has_link(struct rf_rule_tree *tree, const char *path);

void rf_sweep_clear(struct rf_sweep *sweep);
#define rf_autosweep rf_cleanup(rf_sweep_clear)
