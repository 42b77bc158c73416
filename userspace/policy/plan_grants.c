/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What the policy names, looked up. Whatever a name turns out to be, a grant errs towards nothing
 * and a denial towards refusing the run: a name that cannot be judged is never taken for harmless.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "base/path.h"
#include "policy/planner.h"

int rf_planner_keep_rule(struct rf_planner *planner, const char *path, uint32_t flags)
{
	struct rf_plan *plan = planner->plan;
	char *copy;

	if (!planner->request->keeps_rules)
		return 0;
	if (plan->n_said == planner->said_room) {
		size_t room = planner->said_room ? planner->said_room * 2 : 64;
		struct rf_said *grown = reallocarray(plan->said, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		plan->said = grown;
		planner->said_room = room;
	}
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	plan->said[plan->n_said++] =
		(struct rf_said){copy, flags, planner->said_key, planner->said_text};
	return 0;
}

int rf_planner_add(struct rf_planner *planner, const struct rf_found *found, uint32_t flags)
{
	struct rf_node like = {
		.dev = found->dev,
		.ino = found->ino,
		.is_directory = S_ISDIR(found->mode),
	};
	int r = rf_planner_keep_rule(planner, found->path, flags);

	return r < 0 ? r : rf_rule_tree_add(&planner->tree, found->path, flags, &like);
}

int rf_planner_add_links(struct rf_planner *planner, const struct rf_found *found, uint32_t flags)
{
	for (size_t i = 0; i + 1 < found->links.count; i += 2) {
		struct rf_node like = {.data = found->links.items[i + 1]};
		int r;

		/* Those are the kernel's, and there anyway. */
		if (rf_path_is_within(found->links.items[i], "/proc"))
			continue;
		r = rf_rule_tree_add(&planner->tree, found->links.items[i], flags, &like);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/*
 * The name below the workspace that text stands for: relative, or absolute under either spelling
 * of the root. *ret_name is NULL when text leaves the workspace by name. Folding ".." is done only
 * to see whether it leaves; the name itself stays as it is, for the kernel's own resolution.
 */
static int name_below(const struct rf_planner *planner, const char *text, char **ret_name)
{
	const struct rf_plan *plan = planner->plan;
	char *folded rf_autofree = rf_path_normalise(text);
	const char *below;

	*ret_name = NULL;
	if (!folded)
		return -ENOMEM;
	if (folded[0] != '/') {
		if (strcmp(folded, "..") == 0 || strncmp(folded, "../", 3) == 0)
			return 0;
		*ret_name = strdup(text);
		return *ret_name ? 0 : -ENOMEM;
	}
	below = rf_path_below(folded, plan->workspace);
	if (!below)
		below = rf_path_below(folded, plan->workspace_alias);
	if (!below)
		return 0;
	/* An absolute name with ".." is resolved from the root; its end is judged, not its way. */
	*ret_name = rf_has_parent_steps(text) ? strdup(text) : strdup(*below ? below : ".");
	return *ret_name ? 0 : -ENOMEM;
}

static bool is_in_workspace(const struct rf_planner *planner, const char *path)
{
	return rf_path_is_within(path, planner->plan->workspace);
}

/* Places that a bind from the host cannot or must not fill. */
static bool is_made_by_us(const struct rf_planner *planner, const char *path)
{
	static const char *const made[] = {"/tmp", "/var/tmp", "/run", "/dev/shm", NULL};

	if (is_in_workspace(planner, path))
		return false;
	for (size_t i = 0; made[i]; i++) {
		if (strcmp(path, made[i]) == 0)
			return true;
	}
	return rf_path_is_within(path, "/proc") ||
	       (rf_path_is_within(path, "/dev") && !rf_path_is_within(path, "/dev/shm"));
}

static const char *why_not(const struct rf_found *found)
{
	if (found->kind == RF_FOUND_CLOSED)
		return strerror(found->error);
	return found->links.count > 0 ? "it is a symbolic link to nothing" : "it does not exist";
}

/* ---- Reads ----------------------------------------------------------------------------------- */

/* A link out of the workspace: where it ends is granted too, within reason. */
static int add_read_target(
	struct rf_planner *planner, const char *text, const struct rf_found *found)
{
	if (planner->plan->is_strict)
		return rf_planner_warn(planner,
			"read %s leads to %s, outside the workspace; strict does not grant that",
			text, found->path);
	if (rf_path_is_within(planner->plan->workspace, found->path) ||
		is_made_by_us(planner, found->path))
		return rf_planner_warn(planner,
			"read %s leads to %s and is dropped; name it with --external-read if it is "
			"meant",
			text, found->path);
	return rf_planner_add(planner, found, RF_NODE_READ);
}

static int add_read(struct rf_planner *planner, const char *text)
{
	struct rf_found found rf_autofound = {0};
	char *name rf_autofree = NULL;
	int r = name_below(planner, text, &name);

	if (r < 0)
		return r;
	if (!name)
		return rf_planner_warn(
			planner, "read %s leaves the workspace and is dropped", text);
	r = rf_resolve(&planner->origin, name, &found);
	if (r < 0)
		return r;
	if (found.kind != RF_FOUND_EXISTING)
		return rf_planner_warn(planner, "read %s is dropped: %s", text, why_not(&found));
	r = rf_planner_add_links(planner, &found, RF_NODE_LINK);
	if (r < 0)
		return r;
	if (!is_in_workspace(planner, found.path))
		return add_read_target(planner, text, &found);
	return rf_planner_add(planner, &found, RF_NODE_READ);
}

static int add_external_read(struct rf_planner *planner, const char *text)
{
	struct rf_found found rf_autofound = {0};
	int r;

	if (text[0] != '/') {
		rf_diag_refuse(planner->diag, "external-read-relative",
			"external read %.500s is not absolute", text);
		rf_diag_path(planner->diag, text);
		return RF_REFUSED;
	}
	r = rf_resolve(&planner->root, text, &found);
	if (r < 0)
		return r;
	if (found.kind != RF_FOUND_EXISTING)
		return rf_planner_warn(
			planner, "external read %s is dropped: %s", text, why_not(&found));
	if (is_in_workspace(planner, found.path))
		return rf_planner_warn(
			planner, "external read %s is dropped: it lies in the workspace", text);
	if (is_made_by_us(planner, found.path))
		return rf_planner_warn(planner,
			"external read %s is dropped: the sandbox has its own %s", text,
			found.path);
	r = rf_planner_add_links(planner, &found, RF_NODE_LINK);
	return r < 0 ? r : rf_planner_add(planner, &found, RF_NODE_READ | RF_NODE_EXTERNAL);
}

/* What is opened so can be written: a directory that holds more than devices is none of them. */
static bool is_device(const struct rf_found *found)
{
	if (S_ISDIR(found->mode))
		return rf_path_is_within(found->path, "/dev") && strcmp(found->path, "/dev") != 0;
	return S_ISCHR(found->mode) || S_ISBLK(found->mode);
}

static int add_device(struct rf_planner *planner, const char *text)
{
	struct rf_node like = {.perms = RF_ACCESS_TERMINAL};
	struct rf_found found rf_autofound = {0};
	int r = rf_resolve(&planner->root, text, &found);

	if (r < 0)
		return r;
	if (found.kind != RF_FOUND_EXISTING || text[0] != '/' || !is_device(&found)) {
		rf_diag_refuse(planner->diag, "device-unusable", "device %.500s: %s", text,
			found.kind != RF_FOUND_EXISTING ? why_not(&found)
			: S_ISDIR(found.mode)		? "a directory of devices lies below /dev"
							: "it is no device");
		rf_diag_path(planner->diag, text);
		return RF_REFUSED;
	}
	like.dev = found.dev;
	like.ino = found.ino;
	like.is_directory = S_ISDIR(found.mode);
	r = rf_planner_add_links(planner, &found, RF_NODE_LINK);
	if (r == 0)
		r = rf_planner_keep_rule(planner, found.path, RF_NODE_DEVICE);
	return r < 0 ? r : rf_rule_tree_add(&planner->tree, found.path, RF_NODE_DEVICE, &like);
}

#define WRITE_FILES "filesystem.write_files"

/* ---- Writes ---------------------------------------------------------------------------------- */

static const struct {
	const char *code;
	const char *remedy;
} write_remedies[] = {
	{"write-through-symlink", "name the directory that the link leads to"},
	{"write-outside", "--workspace names a root that holds both"},
	{"write-unresolvable", "name a directory of the workspace that can be looked up"},
};

static int refuse_write(struct rf_planner *planner, const char *code, const char *text,
	const char *why, const char *component)
{
	bool is_file = planner->said_key && strcmp(planner->said_key, WRITE_FILES) == 0;

	rf_diag_refuse(planner->diag, code, "%s %.400s: %s%s%.400s",
		is_file ? "write-file" : "write", text, why, component ? " " : "",
		component ? component : "");
	for (size_t i = 0; i < RF_ARRAY_SIZE(write_remedies); i++) {
		if (strcmp(code, write_remedies[i].code) == 0)
			rf_diag_hint(planner->diag, "%s", write_remedies[i].remedy);
	}
	rf_diag_path(planner->diag, text);
	return RF_REFUSED;
}

/* What stands in the way of a missing directory is a file. */
static int check_missing(struct rf_planner *planner, const char *text, const struct rf_found *found)
{
	size_t end = found->existing_length + 1;
	char *first rf_autofree = NULL;

	if (found->error != ENOTDIR)
		return 0;
	end += strcspn(found->path + end, "/");
	first = strndup(found->path, end);
	if (!first)
		return -ENOMEM;
	return refuse_write(
		planner, "write-unresolvable", text, "a component is no directory:", first);
}

/* Looks a write up; *ret_found is existing or missing, inside, and no link was met. */
static int find_write(struct rf_planner *planner, const char *text, struct rf_found *ret_found)
{
	char *name rf_autofree = NULL;
	int r = name_below(planner, text, &name);

	if (r < 0)
		return r;
	if (!name)
		return refuse_write(
			planner, "write-outside", text, "it leaves the workspace", NULL);
	r = rf_resolve(&planner->origin, name, ret_found);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ret_found->links.count; i += 2) {
		if (is_in_workspace(planner, ret_found->links.items[i]))
			return refuse_write(planner, "write-through-symlink", text,
				"a component is a symbolic link:", ret_found->links.items[i]);
	}
	if (ret_found->kind == RF_FOUND_CLOSED)
		return refuse_write(
			planner, "write-unresolvable", text, strerror(ret_found->error), NULL);
	if (!is_in_workspace(planner, ret_found->path))
		return refuse_write(planner, "write-outside", text, "it leaves the workspace, to",
			ret_found->path);
	if (ret_found->kind == RF_FOUND_EXISTING)
		return 0;
	if (rf_has_parent_steps(name))
		return refuse_write(
			planner, "write-unresolvable", text, "a path with \"..\" must exist", NULL);
	return check_missing(planner, text, ret_found);
}

/* The directory that holds what was found, itself looked up. */
static int find_parent(struct rf_planner *planner, const char *text, struct rf_found *found)
{
	char *parent rf_autofree = rf_path_parent(found->path);

	if (!parent)
		return -ENOMEM;
	if (!is_in_workspace(planner, parent))
		return refuse_write(
			planner, "write-outside", text, "its directory is outside", parent);
	rf_found_clear(found);
	return find_write(planner, parent, found);
}

static int add_write(struct rf_planner *planner, const char *text)
{
	struct rf_found found rf_autofound = {0};
	int r = find_write(planner, text, &found);

	if (r == 0 && found.kind == RF_FOUND_EXISTING && !S_ISDIR(found.mode))
		r = find_parent(planner, text, &found);
	if (r)
		return r;
	if (found.kind == RF_FOUND_EXISTING)
		return rf_planner_add(planner, &found, RF_NODE_WRITE);
	found.mode = S_IFDIR;
	return rf_planner_add(planner, &found, RF_NODE_WRITE | RF_NODE_CREATE);
}

/*
 * Saving by temporary file and rename needs the directory, which becomes a node of opened: whole
 * where mounts and Landlock hold it, for the file and what is made beside it where BPF LSM does.
 */
static int find_write_file(
	struct rf_planner *planner, const char *text, struct rf_rule_tree *opened)
{
	bool is_exact = planner->plan->is_write_file_exact;
	uint32_t flags = is_exact ? RF_NODE_LISTED : RF_NODE_WRITE;
	struct rf_node like = {.is_directory = true};
	struct rf_found found rf_autofound = {0};
	int r = find_write(planner, text, &found);

	if (r)
		return r;
	if (found.kind == RF_FOUND_EXISTING && S_ISDIR(found.mode))
		return refuse_write(planner, "write-file-directory", text,
			"it is a directory; name it as a write", NULL);
	if (is_exact)
		r = rf_strv_add(&planner->listed, found.path);
	if (r == 0)
		r = find_parent(planner, text, &found);
	if (r)
		return r;
	like.dev = found.dev;
	like.ino = found.ino;
	r = rf_planner_keep_rule(planner, found.path, RF_NODE_WRITE);
	if (r < 0)
		return r;
	return rf_rule_tree_add(opened, found.path,
		flags | (found.kind == RF_FOUND_EXISTING ? 0 : RF_NODE_CREATE), &like);
}

/* A file was named, and everything beside it can be written: that is said once. */
static int warn_opened(struct rf_planner *planner, const struct rf_rule_tree *opened)
{
	const char *first = NULL;
	char more[48] = "";
	size_t count = 0;

	for (size_t i = 0; i < opened->count; i++) {
		const char *path = opened->nodes[i].path;

		if (rf_rule_tree_reach(&planner->tree, path) == RF_REACH_WRITE ||
			(i > 0 && strcmp(path, opened->nodes[i - 1].path) == 0))
			continue;
		first = first ? first : path;
		count++;
	}
	if (!first)
		return 0;
	if (count > 1)
		snprintf(more, sizeof(more), ", and %zu more directories", count - 1);
	return rf_planner_warn(planner,
		"write-file opens the directory of its file: everything in %s can be written%s",
		first, more);
}

static int add_write_files(struct rf_planner *planner)
{
	const struct rf_strv *list = &planner->policy->write_files;
	struct rf_rule_tree opened rf_autotree = {0};
	int r = 0;

	planner->plan->n_write_files = list->count;
	planner->plan->is_write_file_exact =
		planner->facts->file_hooks.state == RF_STATE_ENFORCED &&
		list->count <= RF_WRITE_FILES_EXACT_MAX;
	planner->said_key = WRITE_FILES;
	for (size_t i = 0; r == 0 && i < list->count; i++) {
		planner->said_text = list->items[i];
		rf_planner_look_at(planner, list->items[i]);
		r = find_write_file(planner, list->items[i], &opened);
	}
	planner->said_key = NULL;
	planner->said_text = NULL;
	if (r == 0 && !planner->plan->is_write_file_exact)
		r = warn_opened(planner, &opened);
	for (size_t i = 0; r == 0 && i < opened.count; i++) {
		const struct rf_node *node = &opened.nodes[i];

		r = rf_rule_tree_add(&planner->tree, node->path, node->flags, node);
	}
	return r;
}

/* ---- Protected and denied -------------------------------------------------------------------- */

/* What the sandbox has for itself is not the host's, and stays whatever is denied. */
static int warn_own(struct rf_planner *planner, const char *text, const char *path)
{
	static const char *const own[] = {
		"/dev", "/proc", "/run", "/tmp", "/var/tmp", "/etc/group", "/etc/passwd"};
	struct rf_buf names rf_autobuf = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < RF_ARRAY_SIZE(own); i++) {
		bool is_file = i >= 5;
		bool is_above =
			rf_path_is_within(own[i], path) && !(is_file && strcmp(own[i], path) == 0);
		bool is_below = i < 2 && rf_path_is_within(path, own[i]);

		if ((is_above || is_below) && !is_in_workspace(planner, own[i]))
			r = rf_buf_addf(&names, "%s%s", names.size ? ", " : "", own[i]);
	}
	if (r < 0 || !names.size)
		return r;
	return rf_planner_warn(planner,
		"deny %s does not close what the sandbox has of its own: %s", text, names.data);
}

static int add_narrowing(struct rf_planner *planner, const char *text, uint32_t flag)
{
	const char *word = flag == RF_NODE_DENY ? "deny" : "protect";
	struct rf_found found rf_autofound = {0};
	char *name rf_autofree = NULL;
	int r = name_below(planner, text, &name);

	if (r < 0)
		return r;
	/* Out of the workspace it still narrows what else was granted. */
	r = name || text[0] != '/' ? rf_resolve(&planner->origin, name ? name : text, &found)
				   : rf_resolve(&planner->root, text, &found);
	if (r < 0)
		return r;
	if (found.kind == RF_FOUND_CLOSED) {
		rf_diag_refuse(planner->diag, "deny-unresolvable", "%s %.500s cannot be judged: %s",
			word, text, strerror(found.error));
		rf_diag_path(planner->diag, text);
		return RF_REFUSED;
	}
	r = rf_planner_add_links(planner, &found, RF_NODE_NAME);
	if (r == 0 && flag == RF_NODE_DENY && !is_in_workspace(planner, found.path))
		r = warn_own(planner, text, found.path);
	if (r < 0)
		return r;
	if (found.kind == RF_FOUND_EXISTING)
		return rf_planner_add(planner, &found, flag);
	/* A link to nothing: there is nothing to read, and its name was noted. */
	if (found.links.count > 0)
		return 0;
	return rf_planner_add(planner, &found, flag | RF_NODE_MISSING);
}

static int add_denial(struct rf_planner *planner, const char *text)
{
	return add_narrowing(planner, text, RF_NODE_DENY);
}

static int add_protection(struct rf_planner *planner, const char *text)
{
	return add_narrowing(planner, text, RF_NODE_PROTECT);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static int for_each(struct rf_planner *planner, const char *key, const struct rf_strv *list,
	int (*add)(struct rf_planner *, const char *))
{
	int r = 0;

	planner->said_key = key;
	for (size_t i = 0; r == 0 && i < list->count; i++) {
		planner->said_text = list->items[i];
		rf_planner_look_at(planner, list->items[i]);
		r = add(planner, list->items[i]);
	}
	planner->said_key = NULL;
	planner->said_text = NULL;
	return r;
}

/* The workspace itself, as the mode has it. */
static int add_workspace(struct rf_planner *planner)
{
	struct rf_plan *plan = planner->plan;
	struct rf_found found rf_autofound = {0};
	uint32_t flags = RF_NODE_WORKSPACE;
	int r = rf_resolve(&planner->origin, ".", &found);

	if (r < 0)
		return r;
	if (plan->mode == RF_MODE_WORKSPACE_WRITE)
		flags |= RF_NODE_WRITE;
	else if (planner->policy->read.count == 0)
		flags |= RF_NODE_READ;
	return rf_planner_add(planner, &found, flags);
}

/* The caller's spelling of the root, when it goes through links, is there too. */
static int add_alias(struct rf_planner *planner)
{
	struct rf_found found rf_autofound = {0};
	int r;

	if (strcmp(planner->plan->workspace, planner->plan->workspace_alias) == 0)
		return 0;
	r = rf_resolve(&planner->root, planner->plan->workspace_alias, &found);
	return r < 0 ? r : rf_planner_add_links(planner, &found, RF_NODE_LINK);
}

int rf_planner_grants(struct rf_planner *planner)
{
	const struct rf_policy *policy = planner->policy;
	int r = add_workspace(planner);

	if (r == 0)
		r = add_alias(planner);
	if (r == 0)
		r = for_each(planner, "filesystem.external_read", &policy->external_read,
			add_external_read);
	if (r == 0)
		r = for_each(planner, "filesystem.read", &policy->read, add_read);
	if (r == 0)
		r = for_each(planner, "filesystem.write", &policy->write, add_write);
	if (r == 0)
		r = add_write_files(planner);
	if (r == 0)
		r = for_each(planner, "filesystem.protect", &policy->protect, add_protection);
	if (r == 0)
		r = for_each(planner, "filesystem.deny", &policy->deny, add_denial);
	if (r == 0)
		r = for_each(planner, "filesystem.device", &policy->device, add_device);
	if (r == 0)
		rf_rule_tree_close_runtime(&planner->tree);
	return r;
}
