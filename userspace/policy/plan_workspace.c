/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The root of the workspace and the working directory: resolved once, pinned by descriptor. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/planner.h"

#ifndef FS_CASEFOLD_FL
#define FS_CASEFOLD_FL 0x40000000
#endif

/* Canonical path of a directory; -ESTALE when it was removed or lies outside what we can name. */
static int path_of(int fd, char **ret_path)
{
	char link[64];
	char path[PATH_MAX];
	struct stat here;
	struct stat there;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	/* A removed directory reads as "… (deleted)", a name that nobody has or that is another's.
	 */
	if (path[0] != '/' || fstat(fd, &here) < 0 || lstat(path, &there) < 0 ||
		here.st_dev != there.st_dev || here.st_ino != there.st_ino)
		return -ESTALE;
	*ret_path = strdup(path);
	return *ret_path ? 0 : -ENOMEM;
}

static int refuse_workspace(struct rf_planner *planner, const char *path, const char *why)
{
	rf_diag_refuse(planner->diag, "workspace-unusable", "workspace %.500s: %s", path, why);
	rf_diag_hint(planner->diag, "--workspace names another directory");
	rf_diag_path(planner->diag, path);
	return RF_REFUSED;
}

/* Names that differ by case alone, or devices that a rule cannot tell apart, make rules mean
 * something else than they say. */
static int check_filesystem(struct rf_planner *planner)
{
	const struct rf_plan *plan = planner->plan;
	int fd rf_autoclose =
		openat(plan->workspace_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	int flags = 0;

	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || !(flags & FS_CASEFOLD_FL))
		return 0;
	rf_diag_refuse(planner->diag, "filesystem-casefold",
		"workspace %.500s: names there do not differ by case, so a rule could be evaded",
		plan->workspace);
	rf_diag_path(planner->diag, plan->workspace);
	return RF_REFUSED;
}

static bool is_same(int fd, const char *path)
{
	struct stat here;
	struct stat there;

	return path && path[0] == '/' && fstat(fd, &here) == 0 && stat(path, &there) == 0 &&
	       here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* How the caller spells the root: as given, or by PWD, when that names the same directory. */
static int find_alias(struct rf_planner *planner, const char *given)
{
	struct rf_plan *plan = planner->plan;
	const char *pwd = NULL;
	char *alias rf_autofree = rf_path_normalise(given);

	if (!alias)
		return -ENOMEM;
	for (const char *const *e = planner->request->environment; e && *e; e++) {
		if (strncmp(*e, "PWD=", 4) == 0)
			pwd = *e + 4;
	}
	if (!planner->policy->workspace && is_same(plan->workspace_fd, pwd)) {
		free(alias);
		alias = rf_path_normalise(pwd);
		if (!alias)
			return -ENOMEM;
	}
	if (!is_same(plan->workspace_fd, alias)) {
		free(alias);
		alias = strdup(plan->workspace);
		if (!alias)
			return -ENOMEM;
	}
	plan->workspace_alias = RF_TAKE(alias);
	return 0;
}

static int check_place(struct rf_planner *planner)
{
	const char *path = planner->plan->workspace;

	if (strcmp(path, "/") == 0) {
		rf_diag_refuse(planner->diag, "workspace-root", "the workspace cannot be /");
		rf_diag_hint(planner->diag, "choose a directory, --workspace DIR");
		rf_diag_path(planner->diag, path);
		return RF_REFUSED;
	}
	if (rf_path_is_within(path, "/proc") || rf_path_is_within(path, "/sys") ||
		(rf_path_is_within(path, "/dev") && !rf_path_is_within(path, "/dev/shm")))
		return refuse_workspace(planner, path, "the kernel's own files are there");
	return 0;
}

/* The private temporary directory must not be the workspace itself. */
static void choose_temporary(struct rf_planner *planner)
{
	const char *path = planner->plan->workspace;

	if (strcmp(path, "/tmp") == 0) {
		planner->temporary = "/run/tmp";
		planner->home = "/run/tmp/.home";
	} else if (rf_path_is_within(path, "/tmp/.home")) {
		planner->home = "/run/.home";
	}
}

int rf_planner_workspace(struct rf_planner *planner)
{
	struct rf_plan *plan = planner->plan;
	const char *wanted = planner->policy->workspace;
	char *given rf_autofree = NULL;
	int r;

	if (!planner->request->cwd || planner->request->cwd[0] != '/')
		return refuse_workspace(planner, "(unreachable)", "the working directory is gone");
	rf_planner_look_at(planner, wanted ? wanted : planner->request->cwd);
	given = rf_path_join(planner->request->cwd, wanted ? wanted : ".");
	if (!given)
		return -ENOMEM;
	plan->workspace_fd = open(given, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (plan->workspace_fd < 0)
		return refuse_workspace(planner, given, strerror(errno));
	r = path_of(plan->workspace_fd, &plan->workspace);
	if (r == -ESTALE)
		return refuse_workspace(planner, given, "it was removed or cannot be named");
	if (r == 0)
		r = find_alias(planner, given);
	if (r)
		return r;
	planner->origin = rf_origin(plan->workspace_fd, plan->workspace);
	if (plan->mode == RF_MODE_FULL_ACCESS)
		return 0;
	r = check_place(planner);
	if (r == 0)
		r = check_filesystem(planner);
	choose_temporary(planner);
	return r;
}

/* ---- The working directory ------------------------------------------------------------------- */

static int refuse_directory(struct rf_planner *planner, const char *path, const char *why)
{
	rf_diag_refuse(
		planner->diag, "directory-unusable", "working directory %.500s: %s", path, why);
	rf_diag_hint(
		planner->diag, "--chdir names one inside the workspace, --workspace another root");
	rf_diag_path(planner->diag, path);
	return RF_REFUSED;
}

static int find_directory(struct rf_planner *planner, struct rf_found *ret_found)
{
	const struct rf_plan *plan = planner->plan;
	const char *asked = planner->policy->directory;
	int r = rf_resolve(&planner->origin, asked ? asked : planner->request->cwd, ret_found);

	if (r < 0)
		return r;
	if (ret_found->kind == RF_FOUND_EXISTING && S_ISDIR(ret_found->mode) &&
		rf_path_is_within(ret_found->path, plan->workspace))
		return 0;
	if (!asked) {
		rf_found_clear(ret_found);
		return rf_resolve(&planner->origin, ".", ret_found);
	}
	if (ret_found->kind == RF_FOUND_MISSING)
		return refuse_directory(planner, asked, "it does not exist");
	if (ret_found->kind == RF_FOUND_CLOSED)
		return refuse_directory(planner, asked, strerror(ret_found->error));
	if (!S_ISDIR(ret_found->mode))
		return refuse_directory(planner, asked, "it is no directory");
	return refuse_directory(planner, asked, "it lies outside the workspace");
}

int rf_planner_directory(struct rf_planner *planner)
{
	struct rf_plan *plan = planner->plan;
	struct rf_found found rf_autofound = {0};
	int r;

	/* Nothing is confined: the caller's own directory will do, wherever it is. */
	if (plan->mode == RF_MODE_FULL_ACCESS && !planner->policy->directory) {
		plan->directory = strdup(
			planner->policy->workspace ? plan->workspace : planner->request->cwd);
		return plan->directory ? 0 : -ENOMEM;
	}
	r = find_directory(planner, &found);
	if (r)
		return r;
	plan->directory = strdup(found.path);
	if (!plan->directory)
		return -ENOMEM;
	r = rf_planner_add(planner, &found, RF_NODE_PRESENT);
	return r < 0 ? r : rf_planner_add_links(planner, &found, RF_NODE_LINK);
}
