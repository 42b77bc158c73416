/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the parts of the planner share. Private to userspace/policy. */

#include "policy/plan.h"
#include "policy/resolve.h"
#include "policy/tree.h"

/*
 * Where a person's own files are: the caller's home of the user database, that of the environment
 * (elsewhere in many a container, and under sudo -E), and that of the user whom the command runs
 * as. What the environment says can close more, and open nothing.
 */
enum rf_home { RF_HOME_CALLER, RF_HOME_VARIABLE, RF_HOME_COMMAND, RF_HOMES };

struct rf_planner {
	const struct rf_request *request;
	const struct rf_policy *policy;
	const struct rf_facts *facts;
	struct rf_diag *diag;
	struct rf_plan *plan;
	struct rf_rule_tree tree;
	struct rf_sweep sweep;
	/* Canonical paths of write-files that BPF LSM tells from their neighbours. */
	struct rf_strv listed;
	/* The workspace, and the root of the host. */
	struct rf_origin origin;
	struct rf_origin root;
	int root_fd;
	/* Private directories inside: "/tmp", "/tmp/.home". Borrowed constants. */
	const char *temporary;
	const char *home;
	/* Absolute; empty: none. */
	char homes[RF_HOMES][4096];
	/* What of a git directory may be open though it should not, in words; else empty. */
	char git_why[256];
	/* There were more writes than are looked at for git. */
	bool has_more_writes;
	/* fs-deny is held in part as it is in every repository without BPF LSM. */
	bool is_git_usual;
	/* Names of the sandbox's user and group, for /etc/passwd and USER. */
	char user_name[256];
	/* The rule in hand, while those of the policy become nodes; NULL: one that is built in. */
	const char *said_key;
	const char *said_text;
	size_t said_room;
};

/* Each: 0, RF_REFUSED (diag is filled) or -errno. */
int rf_planner_workspace(struct rf_planner *planner);
int rf_planner_directory(struct rf_planner *planner);
int rf_planner_identity(struct rf_planner *planner);
int rf_planner_environment(struct rf_planner *planner);
/* Names of the policy and of the host become nodes of the tree. */
int rf_planner_grants(struct rf_planner *planner);
int rf_planner_runtime(struct rf_planner *planner);
int rf_planner_program(struct rf_planner *planner);
/* Two looks at each would be most of the planning of a long list. */
#define RF_GIT_WRITES_MAX 1000U
/* Git directories of what can be written, and those that filesystem.git opens. */
int rf_planner_git(struct rf_planner *planner);
/* Once every grant is known: Ringfence's own places are closed, mounts below grants are judged. */
int rf_planner_own(struct rf_planner *planner);
int rf_planner_mounts(struct rf_planner *planner);
/* See plan_runtime.c. */
int rf_planner_shim(struct rf_planner *planner, const char *path);
/* The tree becomes the view; its sources are opened. */
int rf_planner_view(struct rf_planner *planner);
/* What BPF LSM is to hold about files. */
int rf_planner_files(struct rf_planner *planner);
int rf_planner_promises(struct rf_planner *planner);

/* "NAME=VALUE" of an environment, or NULL. Borrowed. */
const char *rf_planner_variable(const struct rf_strv *environment, const char *name);

/* Is the path one of the homes, or a directory above one? */
bool rf_planner_is_home_or_above(const struct rf_planner *planner, const char *path);
/* Did a link in the workspace, which an earlier run could have made, lead to what was found? */
bool rf_planner_is_planted(const struct rf_planner *planner, const struct rf_found *found);

/* One warning line about a name; beyond fifty they are not shown. 0 or -ENOMEM. */
int rf_planner_warn(struct rf_planner *planner, const char *format, ...) rf_printf(2, 3);

/* For rf_plan_why. 0 or -ENOMEM. */
int rf_planner_keep_rule(struct rf_planner *planner, const char *path, uint32_t flags);
static inline void rf_planner_look_at(const struct rf_planner *planner, const char *path)
{
	if (planner->request->looking_at)
		*planner->request->looking_at = path;
}

/* A node for what was found. */
int rf_planner_add(struct rf_planner *planner, const struct rf_found *found, uint32_t flags);
/* Each link met on the way becomes a node with these flags. */
int rf_planner_add_links(struct rf_planner *planner, const struct rf_found *found, uint32_t flags);
