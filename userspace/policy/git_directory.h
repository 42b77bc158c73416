/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The git directory of a work tree, found as git finds it, and checked where it lies elsewhere.
 * Everything here may have been written by an earlier run: small regular files alone are read, and
 * what they say is believed only for closing more. Private to userspace/policy.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "policy/resolve.h"

enum rf_git_tree_kind {
	RF_GIT_TREE_NONE,
	RF_GIT_TREE_DIRECTORY, /* .git is a directory */
	RF_GIT_TREE_POINTER,   /* .git is a file that says where: a linked worktree, a submodule */
	RF_GIT_TREE_LINK,      /* .git is a symbolic link */
	RF_GIT_TREE_BARE,      /* the tree itself is a git directory */
};

struct rf_git_tree {
	enum rf_git_tree_kind kind;
	/* Canonical root of the work tree. */
	char *top;
	/* Its .git, or the tree itself where it is bare. */
	struct rf_found entry;
	/* Where it leads; MISSING, with a NULL path, when to nothing that can be found. */
	struct rf_found directory;
	/* What directory has in common with other worktrees; the same, unless is_linked. */
	struct rf_found common;
	/* directory has a file commondir. */
	bool is_linked;
	/* Bare, but git may take another or none: closed as one, and never opened. */
	bool is_doubtful;
};

void rf_git_tree_clear(struct rf_git_tree *tree);
#define rf_autogit rf_cleanup(rf_git_tree_clear)

/*
 * top_fd and top: the directory to look at, canonical. is_bare: is it a git directory itself? git
 * asks that too, where its .git turns out to be no repository. 0 or -errno.
 */
int rf_git_find(int top_fd, const char *top, bool is_bare, struct rf_git_tree *ret_tree);

/*
 * Does the git directory elsewhere know this work tree? A linked worktree's must lie in worktrees/
 * of its common directory, and its file gitdir must name this very .git; work_tree is what
 * core.worktree of the others says, or NULL, and must lead to this root. Each must belong to one of
 * owners. NULL, or why not, in static storage; *ret_path then is what it is about, borrowed.
 */
const char *rf_git_check(const struct rf_git_tree *tree, const char *work_tree,
	const uid_t owners[2], const char **ret_path);

/*
 * Text of a regular file that was found, opened without links and compared. 0, -EINVAL when it is
 * no regular file, -EFBIG over limit_bytes, or -errno.
 */
int rf_git_read_found(
	const struct rf_found *found, size_t limit_bytes, char **ret_text, size_t *ret_size_bytes);

/*
 * Names in a directory that was found, of entries of that type (DT_LNK, DT_DIR) or of one that the
 * file system does not tell. *room is how many entries may be read, and how many are left. 0, 1
 * when there were more, or -errno (-ESTALE: another stands there now).
 */
int rf_git_list(const struct rf_found *directory, unsigned char type, unsigned int *room,
	struct rf_strv *ret_names);

/*
 * Root of the work tree that the file gitdir of a directory in worktrees/ names, absolute and not
 * normalised; NULL where it names none. 0 or -errno.
 */
int rf_git_worktree_top(const struct rf_found *directory, char **ret_top);

/* A name in a directory that was found. 0 or -errno (-ESTALE: another stands there now). */
int rf_git_resolve_in(
	const struct rf_found *directory, const char *name, struct rf_found *ret_found);
