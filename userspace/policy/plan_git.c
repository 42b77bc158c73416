/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Git directories. Where one can be written, what git runs or is led by when somebody uses it later
 * stays closed, and its own name is bound onto itself: renamed away it would be replaced whole.
 *
 *	protect, commit   objects, refs, logs, index, HEAD and what else git makes are open; closed
 *			  are the names below, .git where it is a file, included configuration, and
 *			  where core.hooksPath leads
 *	read		  nothing of it can be written
 *	full		  nothing of it is closed
 *
 * protect opens nothing. The others open the git directory of each root, also one elsewhere, which
 * must name the work tree in turn: a pointer in the workspace is what an earlier run could write.
 *
 * Looked at are the root of the workspace and of every write (the first thousand), and for the
 * configuration alone every directory above the workspace. Which of them git takes is not guessed:
 * it passes over what is no repository, and an earlier run can have made something that looks like
 * one. Not looked for: a .git further down, which takes a walk of the tree.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "policy/git_config.h"
#include "policy/git_directory.h"
#include "policy/keys.h"
#include "policy/planner.h"

#define CONFIG_MAX_BYTES (1U << 20)
/* Of one work tree; git itself follows ten deep. */
#define CONFIGS_MAX 64
#define INCLUDE_DEPTH_MAX 10

#define TOO_MANY_ENTRIES "more than %u entries to look at, in %.120s"
#define HOLDS_ALL "core.hooksPath is %.150s, which holds all of it"

struct git {
	struct rf_planner *planner;
	/* Of the root in hand: above the workspace it is PROTECT. */
	enum rf_git access;
	const struct rf_git_tree *tree;
	/* Becomes part of the planner's tree at the end, which is sorted once. */
	struct rf_rule_tree pending;
	/* Directories that are opened for writing. */
	struct rf_strv opened;
	/* Absolute names that the configuration leads to. */
	struct rf_strv led_to;
	/* What core.hooksPath says that is relative: in each work tree it is another place. */
	struct rf_strv hooks;
	/* Root of the work tree whose configuration is read. */
	const char *top;
	char *work_tree;
	bool has_worktree_config;
	unsigned int n_configs;
	/* Entries of directories that may still be read. */
	unsigned int room;
};

static void clear_git(struct git *git)
{
	rf_rule_tree_clear(&git->pending);
	rf_strv_clear(&git->opened);
	rf_strv_clear(&git->led_to);
	rf_strv_clear(&git->hooks);
	free(git->work_tree);
}

/* The first thing that cannot be told whether it is closed. */
static void rf_printf(2, 3) leave_open(struct git *git, const char *format, ...)
{
	char *why = git->planner->git_why;
	va_list args;

	if (why[0])
		return;
	va_start(args, format);
	vsnprintf(why, sizeof(git->planner->git_why), format, args);
	va_end(args);
}

static bool is_directory(const struct rf_found *found)
{
	return found->path && found->kind == RF_FOUND_EXISTING && S_ISDIR(found->mode);
}

/* ---- Closing --------------------------------------------------------------------------------- */

static bool is_writable(struct git *git, const char *path)
{
	for (size_t i = 0; i < git->opened.count; i++) {
		if (rf_path_is_within(path, git->opened.items[i]))
			return true;
	}
	return rf_rule_tree_reach(&git->planner->tree, path) == RF_REACH_WRITE;
}

/* The policy itself narrows this very path, and means it. */
static bool is_settled(struct git *git, const char *path)
{
	struct rf_rule_tree *tree = &git->planner->tree;
	size_t i = rf_rule_tree_first(tree, path);

	return i < tree->count && strcmp(tree->nodes[i].path, path) == 0 &&
	       (tree->nodes[i].flags & (RF_NODE_PROTECT | RF_NODE_DENY));
}

static int pend(struct git *git, const struct rf_found *found, uint32_t flags)
{
	struct rf_node like = {
		.dev = found->dev,
		.ino = found->ino,
		.is_directory = S_ISDIR(found->mode),
	};

	return rf_rule_tree_add(&git->pending, found->path, flags, &like);
}

static int pend_links(struct git *git, const struct rf_found *found, uint32_t flags)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i + 1 < found->links.count; i += 2) {
		struct rf_node like = {.data = found->links.items[i + 1]};

		r = rf_rule_tree_add(&git->pending, found->links.items[i], flags, &like);
	}
	return r;
}

/* What is missing is closed where the host can hold that (is_kept: it must not appear). */
static int close_found(struct git *git, const struct rf_found *found, bool is_kept)
{
	int r = pend_links(git, found, RF_NODE_NAME);

	if (r < 0 || !is_writable(git, found->path) || is_settled(git, found->path))
		return r;
	switch (found->kind) {
	case RF_FOUND_EXISTING:
		return pend(git, found, RF_NODE_PROTECT | RF_NODE_GIT);
	case RF_FOUND_MISSING:
		return is_kept ? pend(git, found, RF_NODE_PROTECT | RF_NODE_MISSING | RF_NODE_GIT)
			       : 0;
	case RF_FOUND_CLOSED:
		leave_open(git, "%.150s cannot be looked at", found->path);
		return 0;
	}
	return 0;
}

/* A directory is not run, but keeps its name: no file takes its place. */
static int close_hook(struct git *git, const struct rf_found *directory, const char *name)
{
	struct rf_found found rf_autofound = {0};
	int r = rf_git_resolve_in(directory, name, &found);

	if (r < 0 || found.links.count == 0)
		return r;
	if (!is_directory(&found))
		return close_found(git, &found, true);
	r = pend_links(git, &found, RF_NODE_NAME);
	return r < 0 || !is_writable(git, found.path) ? r : pend(git, &found, RF_NODE_PIN);
}

/* The names of entries. 0 or -errno; what cannot be read, or is too much, is left open. */
static int list(struct git *git, const struct rf_found *directory, unsigned char type,
	struct rf_strv *ret_names)
{
	int r = rf_git_list(directory, type, &git->room, ret_names);

	if (r == 0 || r == -ESTALE || r == -ENOMEM)
		return r;
	if (r > 0)
		leave_open(git, TOO_MANY_ENTRIES, RF_GIT_ENTRIES_MAX, directory->path);
	else
		leave_open(git, "%.150s cannot be looked at", directory->path);
	return 0;
}

/* Where hooks are symbolic links, wherever the directory itself lies. */
static int close_hooks(struct git *git, const struct rf_found *directory)
{
	struct rf_strv names rf_autostrv = {0};
	int r = is_directory(directory) ? list(git, directory, DT_LNK, &names) : 0;

	for (size_t i = 0; r == 0 && i < names.count; i++)
		r = close_hook(git, directory, names.items[i]);
	return r;
}

enum role {
	ROLE_REPOSITORY = 1 << 0, /* configuration, hooks, objects */
	ROLE_WORKTREE = 1 << 1,	  /* worktrees/NAME of a repository */
	ROLE_OTHERS = 1 << 2,	  /* a repository with a main work tree that is not this one */
};

/*
 * What runs code or redirects git, later and outside. commondir: a whole other repository, hooks
 * and configuration included, also in a .git that has none. modules: `submodule update` takes a
 * directory that is there already, with its hooks. config.worktree: sparse-checkout has git read it
 * without a word. remotes and branches: addresses, as git had them before its configuration.
 * alternates: objects from elsewhere.
 */
static const struct {
	const char *name;
	unsigned int roles;
	/* Made by the command it would count. */
	bool is_kept;
} closed_names[] = {
	{"branches", ROLE_REPOSITORY, true},
	{"commondir", ROLE_REPOSITORY | ROLE_WORKTREE, true},
	{"config", ROLE_REPOSITORY, true},
	{"config.worktree", ROLE_REPOSITORY | ROLE_WORKTREE, true},
	{"gitdir", ROLE_WORKTREE, true},
	{"hooks", ROLE_REPOSITORY, true},
	{"info", ROLE_REPOSITORY, true},
	{"modules", ROLE_REPOSITORY | ROLE_WORKTREE, true},
	{"objects/info/alternates", ROLE_REPOSITORY, true},
	{"remotes", ROLE_REPOSITORY, true},
	{"worktrees", ROLE_REPOSITORY, false},
	{"HEAD", ROLE_OTHERS, false},
	{"index", ROLE_OTHERS, false},
};

static int close_name(
	struct git *git, const struct rf_found *directory, const char *name, bool is_kept)
{
	struct rf_found found rf_autofound = {0};
	int r = rf_git_resolve_in(directory, name, &found);

	return r < 0 ? r : close_found(git, &found, is_kept);
}

static int close_own_hooks(struct git *git, const struct rf_found *directory)
{
	struct rf_found hooks rf_autofound = {0};
	int r = rf_git_resolve_in(directory, "hooks", &hooks);

	return r < 0 ? r : close_hooks(git, &hooks);
}

static int close_names(struct git *git, const struct rf_found *directory, unsigned int roles)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < RF_ARRAY_SIZE(closed_names); i++) {
		if (closed_names[i].roles & roles)
			r = close_name(
				git, directory, closed_names[i].name, closed_names[i].is_kept);
	}
	return r == 0 && (roles & ROLE_REPOSITORY) ? close_own_hooks(git, directory) : r;
}

/* All of it, or what is named above, which also lies below a deeper write. */
static int close_directory(struct git *git, const struct rf_found *directory, unsigned int roles)
{
	int r = 0;

	/* A whole workspace is not closed for what may be no git directory. */
	if (!is_directory(directory) ||
		(git->tree->is_doubtful && !is_writable(git, directory->path)))
		return 0;
	if (git->access == RF_GIT_READ && !git->tree->is_doubtful)
		r = close_found(git, directory, false);
	return r < 0 ? r : close_names(git, directory, roles);
}

static int close_both(struct git *git)
{
	const struct rf_git_tree *tree = git->tree;
	unsigned int roles = ROLE_WORKTREE;
	int r;

	if (!tree->is_linked)
		return close_directory(git, &tree->directory, ROLE_REPOSITORY);
	/* A .git that is none of worktrees/ is a repository again without its commondir. */
	if (tree->kind != RF_GIT_TREE_POINTER)
		roles |= ROLE_REPOSITORY;
	r = close_directory(git, &tree->common, ROLE_REPOSITORY | ROLE_OTHERS);
	return r < 0 ? r : close_directory(git, &tree->directory, roles);
}

/* Renamed away they would make it look like no repository, to the planner of the next run too. */
static int pin_bare(struct git *git)
{
	static const char *const names[] = {"objects", "refs"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < RF_ARRAY_SIZE(names); i++) {
		struct rf_found found rf_autofound = {0};

		r = rf_git_resolve_in(&git->tree->entry, names[i], &found);
		if (r == 0)
			r = pend_links(git, &found, RF_NODE_NAME);
		if (r == 0 && is_directory(&found) && is_writable(git, found.path))
			r = pend(git, &found, RF_NODE_PIN);
	}
	return r;
}

/* .git itself: a directory keeps its name, a file or a link its content where that can be held. */
static int close_entry(struct git *git)
{
	const struct rf_git_tree *tree = git->tree;

	switch (tree->kind) {
	case RF_GIT_TREE_NONE:
		return 0;
	case RF_GIT_TREE_BARE:
		return pin_bare(git);
	case RF_GIT_TREE_LINK:
		return pend_links(git, &tree->entry, RF_NODE_NAME);
	case RF_GIT_TREE_POINTER:
		return close_found(git, &tree->entry, false);
	case RF_GIT_TREE_DIRECTORY:
		return is_writable(git, tree->entry.path) ? pend(git, &tree->entry, RF_NODE_PIN)
							  : 0;
	}
	return 0;
}

/* ---- Configuration --------------------------------------------------------------------------- */

struct config {
	struct git *git;
	/* As git spells it: what it includes is relative to that. */
	const char *path;
	unsigned int depth;
	/* Of the user or of the host. */
	bool is_shared;
};

static int read_config(
	struct git *git, const char *path, unsigned int depth, bool is_own, bool is_shared);

static const char *home_of(const struct rf_planner *planner)
{
	for (const char *const *e = planner->request->environment; e && *e; e++) {
		if (strncmp(*e, "HOME=/", 6) == 0)
			return *e + 5;
	}
	return planner->facts->home;
}

/* A path as git's configuration has it, made absolute; *ret_path is NULL where there is none. */
static int expand(struct git *git, const char *base, const char *value, char **ret_path)
{
	*ret_path = NULL;
	if (!value || !value[0] || strncmp(value, "%(prefix)/", 10) == 0)
		return 0;
	if (value[0] == '~' && value[1] != '/' && value[1]) {
		leave_open(git, "the configuration of git names %.100s", value);
		return 0;
	}
	if (value[0] == '~') {
		base = home_of(git->planner);
		value = value[1] ? value + 2 : ".";
	}
	*ret_path = rf_path_join(base, value);
	return *ret_path ? 0 : -ENOMEM;
}

/* Hooks run in the work tree, or in a repository that has none. */
static int add_hooks(struct git *git, const char *value)
{
	char *path rf_autofree = NULL;
	int r = expand(git, git->top, value, &path);

	if (r == 0 && path && git->top == git->tree->top && value[0] != '/' && value[0] != '~')
		r = rf_strv_add(&git->hooks, value);
	return r < 0 || !path ? r : rf_strv_add(&git->led_to, path);
}

static int add_include(const struct config *config, const char *value)
{
	char *base rf_autofree = rf_path_parent(config->path);
	char *path rf_autofree = NULL;
	int r = base ? expand(config->git, base, value, &path) : -ENOMEM;

	if (r < 0 || !path)
		return r;
	return read_config(config->git, path, config->depth + 1, false, config->is_shared);
}

/* Conditions are taken for fulfilled: more is closed. */
static bool is_include(const char *key)
{
	size_t length = strlen(key);

	return strcmp(key, "include.path") == 0 ||
	       (strncmp(key, "includeif.", 10) == 0 && length > 15 &&
		       strcmp(key + length - 5, ".path") == 0);
}

static bool is_true(const char *value)
{
	return !value ||
	       (strcasecmp(value, "false") != 0 && strcasecmp(value, "no") != 0 &&
		       strcasecmp(value, "off") != 0 && strcmp(value, "0") != 0 && value[0]);
}

static int take_setting(void *data, const char *key, const char *value)
{
	const struct config *config = data;
	struct git *git = config->git;

	if (strcmp(key, "core.hookspath") == 0)
		return add_hooks(git, value);
	if (is_include(key))
		return add_include(config, value);
	if (strcmp(key, "extensions.worktreeconfig") == 0 && !config->is_shared)
		git->has_worktree_config |= is_true(value);
	if (strcmp(key, "core.worktree") == 0 && value && !config->is_shared) {
		free(git->work_tree);
		git->work_tree = strdup(value);
		return git->work_tree ? 0 : -ENOMEM;
	}
	return 0;
}

static int read_config(
	struct git *git, const char *path, unsigned int depth, bool is_own, bool is_shared)
{
	struct config config = {git, path, depth, is_shared};
	struct rf_found found rf_autofound = {0};
	char *text rf_autofree = NULL;
	size_t size = 0;
	int r = is_own ? 0 : rf_strv_add(&git->led_to, path);

	if (r == 0)
		r = rf_resolve(&git->planner->root, path, &found);
	if (r < 0 || found.kind == RF_FOUND_MISSING)
		return r;
	if (depth > INCLUDE_DEPTH_MAX || git->n_configs++ >= CONFIGS_MAX) {
		leave_open(git, "too many files of git's configuration, at %.120s", path);
		return 0;
	}
	r = rf_git_read_found(&found, CONFIG_MAX_BYTES, &text, &size);
	/* The user's own that may not be read is passed over by git too. */
	if (r < 0 && is_shared && depth == 0)
		return r == -ENOMEM ? r : 0;
	if (r == 0)
		r = rf_git_config_parse(text, size, take_setting, &config);
	if (r == 0 || r == -ENOMEM)
		return r;
	leave_open(git, "%.150s cannot be read as git's configuration", path);
	return 0;
}

static int read_below(struct git *git, const char *base, const char *name, bool is_own)
{
	char *path rf_autofree = base[0] == '/' ? rf_path_join(base, name) : NULL;

	if (base[0] != '/')
		return 0;
	return path ? read_config(git, path, 0, is_own, !is_own) : -ENOMEM;
}

static int read_shared(struct git *git)
{
	const char *home = home_of(git->planner);
	const char *config = NULL;
	int r = read_below(git, "/etc", "gitconfig", false);

	for (const char *const *e = git->planner->request->environment; e && *e; e++) {
		if (strncmp(*e, "XDG_CONFIG_HOME=/", 17) == 0)
			config = *e + 16;
	}
	if (r == 0)
		r = config ? read_below(git, config, "git/config", false)
			   : read_below(git, home, ".config/git/config", false);
	return r < 0 ? r : read_below(git, home, ".gitconfig", false);
}

/* Relative hooks in another work tree, which are not closed where they hold all of it. */
static int add_hooks_of(struct git *git, const char *top)
{
	char *root rf_autofree = rf_path_normalise(top);
	int r = root ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < git->hooks.count; i++) {
		char *path rf_autofree = rf_path_join(top, git->hooks.items[i]);
		char *place rf_autofree = path ? rf_path_normalise(path) : NULL;

		if (!place)
			return -ENOMEM;
		if (git->room == 0) {
			leave_open(git, TOO_MANY_ENTRIES, RF_GIT_ENTRIES_MAX, top);
			return 0;
		}
		git->room--;
		if (!rf_path_is_within(root, place))
			r = rf_strv_add(&git->led_to, path);
		else if (is_writable(git, place))
			leave_open(git, HOLDS_ALL, place);
	}
	return r;
}

/* Another work tree of the same repository. Nothing that it says of itself counts for this one. */
static int read_other(struct git *git, const struct rf_found *directory, const char *top)
{
	char *path rf_autofree = rf_path_join(directory->path, "config.worktree");
	int r = path ? add_hooks_of(git, top) : -ENOMEM;

	git->top = top;
	if (r == 0)
		r = read_config(git, path, 0, true, true);
	git->top = git->tree->top;
	return r;
}

static int read_linked(struct git *git, const struct rf_found *worktrees, const char *name)
{
	struct rf_found directory rf_autofound = {0};
	char *top rf_autofree = NULL;
	int r = rf_git_resolve_in(worktrees, name, &directory);

	if (r < 0 || !is_directory(&directory) ||
		strcmp(directory.path, git->tree->directory.path) == 0)
		return r;
	r = rf_git_worktree_top(&directory, &top);
	return r < 0 || !top ? r : read_other(git, &directory, top);
}

/* They can lie below a write as well, and their hooks with them. */
static int read_others(struct git *git)
{
	const struct rf_git_tree *tree = git->tree;
	struct rf_found worktrees rf_autofound = {0};
	struct rf_strv names rf_autostrv = {0};
	char *main_top rf_autofree = NULL;
	int r = rf_git_resolve_in(&tree->common, "worktrees", &worktrees);

	if (r == 0 && is_directory(&worktrees))
		r = list(git, &worktrees, DT_DIR, &names);
	for (size_t i = 0; r == 0 && i < names.count; i++)
		r = read_linked(git, &worktrees, names.items[i]);
	if (r < 0 || !tree->is_linked || strcmp(rf_path_name(tree->common.path), ".git") != 0)
		return r;
	main_top = rf_path_parent(tree->common.path);
	return main_top ? read_other(git, &tree->common, main_top) : -ENOMEM;
}

static int read_configs(struct git *git)
{
	const struct rf_git_tree *tree = git->tree;
	int r;

	git->top = tree->top;
	r = read_shared(git);
	if (r == 0 && is_directory(&tree->common))
		r = read_below(git, tree->common.path, "config", true);
	if (r == 0 && is_directory(&tree->common))
		r = read_others(git);
	/* Not believed about the work tree while git does not read it. */
	if (r == 0 && is_directory(&tree->directory))
		r = read_below(
			git, tree->directory.path, "config.worktree", git->has_worktree_config);
	return r;
}

/* A directory of hooks that holds the work tree itself cannot be closed and the tree be open. */
static int close_led_to(struct git *git)
{
	const struct rf_git_tree *tree = git->tree;
	int r = 0;

	for (size_t i = 0; r == 0 && i < git->led_to.count; i++) {
		struct rf_found found rf_autofound = {0};

		r = rf_resolve(&git->planner->root, git->led_to.items[i], &found);
		if (r < 0)
			break;
		if (is_directory(&found) && is_writable(git, found.path) &&
			(rf_path_is_within(tree->top, found.path) ||
				(tree->directory.path &&
					rf_path_is_within(tree->directory.path, found.path))))
			leave_open(git, HOLDS_ALL, found.path);
		else
			r = close_found(git, &found, true);
		if (r == 0)
			r = close_hooks(git, &found);
	}
	return r;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int refuse(struct git *git, const char *path, const char *why)
{
	struct rf_diag *diag = git->planner->diag;

	rf_diag_refuse(diag, "git-directory-refused",
		"%.400s is not opened as the git directory of %.400s: %s", path, git->tree->top,
		why);
	rf_diag_hint(diag, "without --git it stays closed, and nothing of it is opened");
	rf_diag_path(diag, path);
	return RF_REFUSED;
}

static int check(struct git *git, const struct rf_found *target, uid_t owner)
{
	const struct rf_planner *planner = git->planner;
	const uid_t owners[2] = {owner, planner->plan->uid};
	const char *path = NULL;
	const char *why = rf_git_check(git->tree, git->work_tree, owners, &path);

	if (why)
		return refuse(git, path, why);
	if (rf_path_is_within(planner->plan->workspace, target->path) ||
		rf_path_is_within(git->tree->top, target->path))
		return refuse(git, target->path, "it holds the workspace itself");
	if (rf_planner_is_home_or_above(planner, target->path) ||
		rf_path_is_within(target->path, "/proc") ||
		rf_path_is_within(target->path, "/sys") || rf_path_is_within(target->path, "/dev"))
		return refuse(git, target->path, "it is no place that is opened");
	if (rf_rule_tree_is_denied(&git->planner->tree, target->path))
		return refuse(git, target->path, "it is denied");
	return 0;
}

/* Is it reached as far as was asked already? */
static bool is_reached(struct git *git, const struct rf_found *directory)
{
	enum rf_reach reach = rf_rule_tree_reach(&git->planner->tree, directory->path);

	return reach == RF_REACH_WRITE || (reach == RF_REACH_READ && git->access == RF_GIT_READ);
}

static int open_directory(struct git *git, const struct rf_found *directory)
{
	bool is_write = git->access != RF_GIT_READ;
	int r = pend_links(git, directory, RF_NODE_LINK);

	if (r == 0 && is_write)
		r = rf_strv_add(&git->opened, directory->path);
	return r < 0 ? r : pend(git, directory, is_write ? RF_NODE_WRITE : RF_NODE_READ);
}

/* Of a linked worktree or a submodule: git would only say that there is no repository. */
static int tell_closed(struct git *git)
{
	const struct rf_git_tree *tree = git->tree;
	struct rf_planner *planner = git->planner;

	if (tree->kind != RF_GIT_TREE_POINTER || !is_directory(&tree->directory) ||
		!rf_path_is_within(tree->top, planner->plan->workspace) ||
		rf_rule_tree_reach(&planner->tree, tree->directory.path) != RF_REACH_NONE)
		return 0;
	return rf_planner_warn(planner,
		"the git directory of %s is elsewhere and stays closed: --git read or --git commit "
		"opens it",
		tree->top);
}

static int open_both(struct git *git, uid_t owner)
{
	const struct rf_git_tree *tree = git->tree;
	const struct rf_found *target = tree->is_linked ? &tree->common : &tree->directory;
	bool is_here = !tree->is_linked &&
		       (tree->kind == RF_GIT_TREE_DIRECTORY || tree->kind == RF_GIT_TREE_BARE);
	int r;

	if (git->access == RF_GIT_PROTECT)
		return tell_closed(git);
	if (tree->is_doubtful)
		return 0;
	if (is_directory(target) && (is_reached(git, target) || is_settled(git, target->path)))
		return 0;
	r = is_here ? 0 : check(git, target, owner);
	if (r == 0)
		r = open_directory(git, target);
	/* The others of worktrees/ stay closed. */
	if (r == 0 && tree->is_linked)
		r = open_directory(git, &tree->directory);
	return r;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static int plan_tree(struct git *git, uid_t owner)
{
	int r = read_configs(git);

	if (r == 0)
		r = open_both(git, owner);
	if (r || git->access == RF_GIT_FULL)
		return r;
	r = close_entry(git);
	if (r == 0)
		r = close_both(git);
	return r < 0 ? r : close_led_to(git);
}

static int note_directory(struct git *git)
{
	const struct rf_git_tree *tree = git->tree;
	struct rf_strv *list = &git->planner->plan->git_directories;
	int r = 0;

	if (tree->is_doubtful)
		return 0;
	if (is_directory(&tree->common) && !rf_strv_has(list, tree->common.path))
		r = rf_strv_add(list, tree->common.path);
	if (r == 0 && tree->is_linked && !rf_strv_has(list, tree->directory.path))
		r = rf_strv_add(list, tree->directory.path);
	return r;
}

static int look_as(struct git *git, int fd, const char *top, bool is_bare)
{
	struct rf_git_tree tree rf_autogit = {0};
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	r = rf_git_find(fd, top, is_bare, &tree);
	if (r < 0 || tree.kind == RF_GIT_TREE_NONE)
		return r;
	git->tree = &tree;
	git->n_configs = 0;
	git->room = RF_GIT_ENTRIES_MAX;
	git->has_worktree_config = false;
	free(RF_TAKE(git->work_tree));
	rf_strv_clear(&git->led_to);
	rf_strv_clear(&git->hooks);
	r = plan_tree(git, st.st_uid);
	if (r == 0 && git->access == git->planner->plan->git)
		r = note_directory(git);
	git->tree = NULL;
	return r;
}

/* One root: its .git, and itself. 0, RF_REFUSED or -errno. */
static int look(struct git *git, int fd, const char *top)
{
	int r = look_as(git, fd, top, false);

	return r ? r : look_as(git, fd, top, true);
}

/* A workspace in a work tree: its configuration can lead into the workspace. */
static int look_above(struct git *git)
{
	char *path rf_autofree = rf_path_parent(git->planner->plan->workspace);
	bool is_root = false;
	int r = path ? 0 : -ENOMEM;

	git->access = RF_GIT_PROTECT;
	while (r == 0 && !is_root) {
		int fd rf_autoclose = rf_open_no_links(AT_FDCWD, path, O_DIRECTORY);
		char *parent = rf_path_parent(path);

		if (!parent)
			return -ENOMEM;
		if (fd >= 0)
			r = look(git, fd, path);
		is_root = strcmp(parent, path) == 0;
		free(path);
		path = parent;
	}
	return r;
}

static bool is_write(const struct rf_planner *planner, const struct rf_node *node)
{
	const char *below = rf_path_below(node->path, planner->plan->workspace);

	return (node->flags & RF_NODE_WRITE) && node->ino && below && below[0];
}

/* Most writes are no roots of a repository. */
static bool is_candidate(const struct rf_planner *planner, const struct rf_node *node)
{
	const char *below = rf_path_below(node->path, planner->plan->workspace);
	struct stat st;
	char name[4200];

	snprintf(name, sizeof(name), "%s/.git", below);
	if (fstatat(planner->plan->workspace_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	snprintf(name, sizeof(name), "%s/objects", below);
	return fstatat(planner->plan->workspace_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int look_at_writes(struct git *git)
{
	struct rf_rule_tree *tree = &git->planner->tree;
	size_t n_writes = 0;
	int r = 0;

	/* Nothing is added to the tree meanwhile. */
	for (size_t i = 0; r == 0 && i < tree->count; i++) {
		const struct rf_node *node = &tree->nodes[i];
		int fd rf_autoclose = -1;

		if (!is_write(git->planner, node))
			continue;
		if (++n_writes > RF_GIT_WRITES_MAX) {
			git->planner->has_more_writes = true;
			break;
		}
		if (!is_candidate(git->planner, node))
			continue;
		fd = rf_open_found(-1, NULL, node->path, node->dev, node->ino);
		r = fd < 0 ? fd : look(git, fd, node->path);
	}
	return r;
}

static int look_everywhere(struct git *git)
{
	struct rf_plan *plan = git->planner->plan;
	int r = look(git, plan->workspace_fd, plan->workspace);

	/* Sorts, so that the nodes stand still. */
	(void)rf_rule_tree_first(&git->planner->tree, "/");
	if (r == 0)
		r = look_at_writes(git);
	return r ? r : look_above(git);
}

static int take_pending(struct git *git)
{
	struct rf_planner *planner = git->planner;
	int r = 0;

	planner->said_key = "filesystem.git";
	planner->said_text = rf_git_name(planner->plan->git);
	for (size_t i = 0; r == 0 && i < git->pending.count; i++) {
		const struct rf_node *node = &git->pending.nodes[i];

		r = rf_planner_keep_rule(planner, node->path, node->flags);
		if (r == 0)
			r = rf_rule_tree_add(&planner->tree, node->path, node->flags, node);
	}
	planner->said_key = NULL;
	planner->said_text = NULL;
	return r;
}

int rf_planner_git(struct rf_planner *planner)
{
	struct git git rf_cleanup(clear_git) = {.planner = planner, .access = planner->plan->git};
	int r = look_everywhere(&git);

	if (r == -ESTALE) {
		rf_diag_refuse(planner->diag, "changed-while-planning",
			"a git directory became something else while the plan was made");
		rf_diag_path(planner->diag, planner->plan->workspace);
		return RF_REFUSED;
	}
	return r ? r : take_pending(&git);
}
