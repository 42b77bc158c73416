/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tree becomes the view, what it means for the helpers is checked, its sources are opened. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/planner.h"

/*
 * The view holds nothing that is not granted, so its directories may be listed everywhere (not
 * under strict). Then the device files of bubblewrap's /dev; those that do not exist are skipped.
 */
static const struct {
	const char *path;
	enum rf_access access;
} view_rules[] = {
	{"/", RF_ACCESS_LIST},
	{"/dev/null", RF_ACCESS_TERMINAL},
	{"/dev/zero", RF_ACCESS_DEVICE},
	{"/dev/full", RF_ACCESS_DEVICE},
	{"/dev/random", RF_ACCESS_DEVICE},
	{"/dev/urandom", RF_ACCESS_DEVICE},
	{"/dev/tty", RF_ACCESS_TERMINAL},
	{"/dev/ptmx", RF_ACCESS_TERMINAL},
	{"/dev/pts", RF_ACCESS_TERMINAL},
	{"/dev/console", RF_ACCESS_TERMINAL},
};

static int add_view_rules(struct rf_plan *plan)
{
	struct rf_rule *grown;

	if (plan->is_strict)
		return 0;
	grown = reallocarray(
		plan->rules, plan->n_rules + RF_ARRAY_SIZE(view_rules), sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	plan->rules = grown;
	for (size_t i = 0; i < RF_ARRAY_SIZE(view_rules); i++) {
		char *path = strdup(view_rules[i].path);

		if (!path)
			return -ENOMEM;
		plan->rules[plan->n_rules++] = (struct rf_rule){path, view_rules[i].access};
	}
	return 0;
}

/* A program that starts the next sandbox must not be writable from this one. */
static int check_helper(struct rf_planner *planner, const char *path)
{
	struct rf_found found rf_autofound = {0};
	int r;

	if (!path[0])
		return 0;
	r = rf_resolve(&planner->root, path, &found);
	if (r < 0)
		return r;
	if (rf_rule_tree_reach(&planner->tree, found.path) != RF_REACH_WRITE &&
		!rf_path_is_within(found.path, planner->plan->workspace))
		return 0;
	rf_diag_refuse(planner->diag, "untrusted-helper",
		"%.500s lies in the workspace, or where the command could write", found.path);
	rf_diag_hint(planner->diag, "choose another workspace, or install ringfence outside of it");
	rf_diag_path(planner->diag, found.path);
	return RF_REFUSED;
}

static int refuse_changed(struct rf_planner *planner, const char *path)
{
	rf_diag_refuse(planner->diag, "changed-while-planning",
		"%.500s became something else while the plan was made", path);
	rf_diag_path(planner->diag, path);
	return RF_REFUSED;
}

/* Is this source built by the stage, by name and identity, instead of given by descriptor? */
static bool is_staged(const struct rf_plan *plan, const struct rf_view_step *step)
{
	return plan->is_staged && rf_path_is_within(step->destination, plan->workspace);
}

static bool is_to_be_made(const struct rf_view_step *step)
{
	return step->source_dev == 0 && step->source_ino == 0;
}

static int open_sources(struct rf_planner *planner)
{
	struct rf_plan *plan = planner->plan;

	for (size_t i = 0; i < plan->n_view; i++) {
		struct rf_view_step *step = &plan->view[i];

		if (!step->source || is_to_be_made(step) || is_staged(plan, step))
			continue;
		step->source_fd = rf_open_found(plan->workspace_fd, plan->workspace, step->source,
			step->source_dev, step->source_ino);
		if (step->source_fd == -ESTALE) {
			step->source_fd = -1;
			return refuse_changed(planner, step->source);
		}
		if (step->source_fd < 0) {
			int r = step->source_fd;

			step->source_fd = -1;
			return r;
		}
	}
	return 0;
}

static int check_sweep(struct rf_planner *planner)
{
	const struct rf_sweep *sweep = &planner->sweep;

	if (sweep->closed_directory) {
		rf_diag_refuse(planner->diag, "directory-unusable",
			"working directory %.500s is denied", sweep->closed_directory);
		rf_diag_hint(planner->diag, "--chdir names another, inside the workspace");
		rf_diag_path(planner->diag, sweep->closed_directory);
		return RF_REFUSED;
	}
	for (size_t i = 0; i < sweep->idle.count; i++) {
		int r = rf_planner_warn(
			planner, "protect %s is outside every write", sweep->idle.items[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

int rf_planner_view(struct rf_planner *planner)
{
	struct rf_plan *plan = planner->plan;
	int r = rf_rule_tree_sweep(&planner->tree, plan, &planner->sweep);

	if (r == -ENOENT || r == -ELOOP || r == -ENOTDIR)
		return refuse_changed(planner, plan->workspace);
	if (r == 0)
		r = check_sweep(planner);
	if (r == 0)
		r = check_helper(planner, planner->facts->bwrap_path);
	if (r == 0)
		r = check_helper(planner, planner->facts->launcher_path);
	if (r == 0)
		r = add_view_rules(plan);
	if (r)
		return r;
	return open_sources(planner);
}

/* ---- Directories that a write names and that do not exist ------------------------------------ */

static int refuse_making(struct rf_diag *diag, const char *path, const char *component, int error)
{
	rf_diag_refuse(diag, "write-unresolvable", "write %.400s: making %.400s: %s", path,
		component, strerror(error));
	rf_diag_path(diag, path);
	return RF_REFUSED;
}

/* Enters, or makes, one component. A descriptor or -errno; *ret_is_made says which. */
static int enter(const struct rf_plan *plan, int at, const char *name, bool *ret_is_made)
{
	int fd;

	*ret_is_made = mkdirat(at, name, 0777) == 0;
	if (!*ret_is_made && errno != EEXIST)
		return -errno;
	fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (*ret_is_made && plan->changes_user &&
		fchownat(fd, "", plan->uid, plan->gid, AT_EMPTY_PATH) < 0) {
		int error = errno;

		rf_close(fd);
		return -error;
	}
	return fd;
}

/* mkdir -p below the workspace, no link followed. A descriptor, -errno. */
static int make_path(const struct rf_plan *plan, const char *path, struct rf_strv *made,
	char *ret_component, size_t size)
{
	int at rf_autoclose = openat(plan->workspace_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *rest = path;

	if (at < 0)
		return -errno;
	while (*rest) {
		size_t length = strcspn(rest, "/");
		char *name rf_autofree = strndup(rest, length);
		bool is_made;
		int below;
		int r;

		if (!name)
			return -ENOMEM;
		rest += length;
		snprintf(ret_component, size, "%.*s", (int)(rest - path), path);
		below = enter(plan, at, name, &is_made);
		r = is_made ? rf_strv_add(made, ret_component) : 0;
		if (below < 0)
			return below;
		rf_close(at);
		at = below;
		if (r < 0)
			return r;
		rest += strspn(rest, "/");
	}
	return RF_TAKE_FD(at);
}

static struct rf_view_step *step_of(struct rf_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_view; i++) {
		const char *below = plan->view[i].source
					    ? rf_path_below(plan->view[i].source, plan->workspace)
					    : NULL;

		if (below && strcmp(below, path) == 0 && is_to_be_made(&plan->view[i]))
			return &plan->view[i];
	}
	return NULL;
}

static int make_one(
	struct rf_plan *plan, const char *path, struct rf_strv *made, struct rf_diag *diag)
{
	struct rf_view_step *step = step_of(plan, path);
	char component[PATH_MAX] = "";
	int fd rf_autoclose = make_path(plan, path, made, component, sizeof(component));
	struct stat st;

	if (fd < 0)
		return fd == -ENOMEM ? fd : refuse_making(diag, path, component, -fd);
	if (!step)
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	step->source_dev = st.st_dev;
	step->source_ino = st.st_ino;
	if (!is_staged(plan, step))
		step->source_fd = RF_TAKE_FD(fd);
	return 0;
}

int rf_plan_make_directories(struct rf_plan *plan, struct rf_strv *ret_made, struct rf_diag *diag)
{
	struct rf_strv made rf_autostrv = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->create.count; i++)
		r = make_one(plan, plan->create.items[i], &made, diag);
	if (r) {
		rf_plan_unmake_directories(plan, &made);
		return r;
	}
	*ret_made = made;
	made = (struct rf_strv){0};
	return 0;
}

void rf_plan_unmake_directories(const struct rf_plan *plan, const struct rf_strv *made)
{
	for (size_t i = made->count; i > 0; i--) {
		char *parent rf_autofree = rf_path_parent(made->items[i - 1]);
		int fd rf_autoclose = -1;

		if (!parent)
			return;
		fd = rf_open_no_links(plan->workspace_fd, parent, O_DIRECTORY);
		/* One that is no longer empty is somebody's now, and stays. */
		if (fd >= 0)
			(void)unlinkat(fd, rf_path_name(made->items[i - 1]), AT_REMOVEDIR);
	}
}
