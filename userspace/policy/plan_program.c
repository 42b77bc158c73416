/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The program: found on the sandbox's PATH as exec will find it inside, and opened when it lies
 * outside every grant. In the workspace only a declared read opens it.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "policy/planner.h"

/* How far above an executable its package.json is looked for. */
#define PACKAGE_LEVELS 3

static bool is_inside(struct rf_planner *planner, const char *path)
{
	enum rf_reach reach = rf_rule_tree_reach(&planner->tree, path);

	return reach == RF_REACH_READ || reach == RF_REACH_WRITE;
}

/* A scripts' package: the nearest directory above that has a package.json. */
static int add_package(struct rf_planner *planner, const char *executable)
{
	char *directory rf_autofree = rf_path_parent(executable);

	for (unsigned int i = 0; directory && i < PACKAGE_LEVELS; i++) {
		char *file rf_autofree = rf_path_join(directory, "package.json");
		char *parent;
		struct stat st;

		if (!file)
			return -ENOMEM;
		if (rf_planner_is_home_or_above(planner, directory) ||
			rf_rule_tree_is_denied(&planner->tree, directory) ||
			rf_path_is_within(planner->plan->workspace, directory))
			return 0;
		if (lstat(file, &st) == 0 && S_ISREG(st.st_mode)) {
			struct rf_found found rf_autofound = {0};
			int r = rf_resolve(&planner->root, directory, &found);

			if (r < 0 || found.kind != RF_FOUND_EXISTING)
				return r;
			return rf_planner_add(planner, &found, RF_NODE_READ);
		}
		parent = rf_path_parent(directory);
		free(directory);
		directory = parent;
	}
	return directory ? 0 : -ENOMEM;
}

/* su, sudo and ping fail inside, and their own words do not say why. */
static int warn_set_id(struct rf_planner *planner, const struct rf_found *found)
{
	if (!(found->mode & (S_ISUID | S_ISGID)))
		return 0;
	return rf_planner_warn(planner,
		"%.500s is a set-id program: inside no program gains privileges by being executed",
		found->path);
}

/* 0: it will be there inside; RF_REFUSED: it will not, look on; -errno. */
static int consider(struct rf_planner *planner, const char *path)
{
	struct rf_found found rf_autofound = {0};
	int r = rf_resolve(&planner->root, path, &found);

	if (r < 0)
		return r;
	if (found.kind != RF_FOUND_EXISTING || !S_ISREG(found.mode) || !(found.mode & 0111))
		return RF_REFUSED;
	r = warn_set_id(planner, &found);
	if (r < 0)
		return r;
	if (rf_rule_tree_has_link(&planner->tree, found.path))
		return 0;
	if (is_inside(planner, found.path)) {
		/* The name that leads there may still have to be made. */
		return rf_planner_add_links(planner, &found, RF_NODE_LINK);
	}
	if (rf_path_is_within(found.path, planner->plan->workspace) ||
		rf_rule_tree_is_denied(&planner->tree, found.path) ||
		rf_path_is_within(found.path, "/proc") || rf_path_is_within(found.path, "/dev"))
		return RF_REFUSED;
	if (rf_planner_is_planted(planner, &found)) {
		r = rf_planner_warn(planner,
			"%.500s leads out of the workspace to %.500s, which is not opened; name it "
			"with --external-read if it is meant",
			path, found.path);
		return r < 0 ? r : RF_REFUSED;
	}
	r = rf_planner_shim(planner, found.path);
	if (r != -ENOLINK)
		return r;
	r = rf_planner_add_links(planner, &found, RF_NODE_LINK);
	if (r == 0)
		r = rf_planner_add(planner, &found, RF_NODE_READ);
	return r < 0 ? r : add_package(planner, found.path);
}

static int search(struct rf_planner *planner, const char *name)
{
	const char *path = rf_planner_variable(&planner->plan->environment, "PATH");

	while (path && *path) {
		size_t length = strcspn(path, ":");
		char *candidate rf_autofree = NULL;
		int r;

		if (asprintf(&candidate, "%.*s/%s", (int)length, path, name) < 0) {
			candidate = NULL;
			return -ENOMEM;
		}
		/* Relative entries mean another program in each directory: ignored. */
		r = path[0] == '/' ? consider(planner, candidate) : RF_REFUSED;
		if (r == 0)
			planner->plan->program = RF_TAKE(candidate);
		if (r != RF_REFUSED)
			return r;
		path += length;
		path += *path == ':';
	}
	return 0;
}

int rf_planner_program(struct rf_planner *planner)
{
	struct rf_plan *plan = planner->plan;
	const char *name = plan->argv.items[0];
	char *path rf_autofree = NULL;
	int r;

	if (!strchr(name, '/'))
		return search(planner, name);
	plan->program = strdup(name);
	path = rf_path_join(plan->directory, name);
	if (!plan->program || !path)
		return -ENOMEM;
	r = consider(planner, path);
	/* Not there: exec will say so, 127 or 126. */
	return r == RF_REFUSED ? 0 : r;
}
