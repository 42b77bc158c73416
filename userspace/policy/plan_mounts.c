/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Mounts below what is granted. A bind is recursive and Landlock's rule covers everything below, so
 * whatever is mounted in a granted tree is granted with it. The kernel's own filesystems (a /proc
 * in a chroot's tree) reach the whole host: those refuse the run. Others are told.
 *
 * The table is read as text and no mount point is looked at: one of a dead server would hang.
 * A mount that another hides is judged as if it could be seen, unless it is at the very same place.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/units.h"
#include "policy/planner.h"

/* A hundred thousand mounts (fs.mount-max) have about half of it. */
#define TABLE_MAX_BYTES (32U << 20)
/* So many names are in the warning. */
#define NAMED_MAX 3

struct mount {
	/* In the text. */
	char *path;
	const char *type;
	uint64_t id;
	uint64_t parent;
	bool is_kernel;
	/* Another is mounted on its root. */
	bool is_covered;
};

struct table {
	char *text;
	struct mount *mounts;
	size_t count;
};

static void clear_table(struct table *table)
{
	free(table->text);
	free(table->mounts);
}

static bool is_kernel_type(const char *type)
{
	static const char *const types[] = {"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2",
		"configfs", "cpuset", "debugfs", "devpts", "devtmpfs", "dlmfs", "efivarfs",
		"functionfs", "fusectl", "gadgetfs", "hugetlbfs", "mqueue", "nfsd", "proc",
		"pstore", "resctrl", "rpc_pipefs", "securityfs", "selinuxfs", "smackfs", "sysfs",
		"tracefs"};

	for (size_t i = 0; i < RF_ARRAY_SIZE(types); i++) {
		if (strcmp(types[i], type) == 0)
			return true;
	}
	return false;
}

/* What shows the host's state and can be read without harm, where it is asked for. */
static bool is_readable_type(const char *type)
{
	return strcmp(type, "sysfs") == 0 || strcmp(type, "cgroup") == 0 ||
	       strcmp(type, "cgroup2") == 0;
}

/* ---- The table ------------------------------------------------------------------------------- */

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* "\040" is a blank, in place: proc(5) writes blank, tab, newline and backslash so. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) &&
			is_octal(text[3])) {
			*to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

/* id parent dev root mount options [tag…] - type source options. false: not such a line. */
static bool parse_line(char *line, struct mount *ret_mount)
{
	struct mount mount = {0};
	char *rest = line;
	char *field;

	for (unsigned int i = 0; (field = strsep(&rest, " ")); i++) {
		if ((i == 0 && !rf_parse_u64(field, &mount.id)) ||
			(i == 1 && !rf_parse_u64(field, &mount.parent)))
			return false;
		if (i == 4)
			mount.path = field;
		if (i > 5 && strcmp(field, "-") == 0)
			break;
	}
	mount.type = rest ? strsep(&rest, " ") : NULL;
	if (!mount.type || !mount.path)
		return false;
	unescape(mount.path);
	mount.is_kernel = is_kernel_type(mount.type);
	*ret_mount = mount;
	return true;
}

static int compare_mounts(const void *a, const void *b)
{
	return strcmp(((const struct mount *)a)->path, ((const struct mount *)b)->path);
}

/* Of several at one place the one that no other stands on is what shows. */
static void mark_covered(struct table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		struct mount *under = &table->mounts[i];
		size_t first = i;

		while (first > 0 && strcmp(table->mounts[first - 1].path, under->path) == 0)
			first--;
		for (size_t j = first; j < table->count; j++) {
			const struct mount *over = &table->mounts[j];

			if (strcmp(over->path, under->path) != 0)
				break;
			under->is_covered |= j != i && over->parent == under->id;
		}
	}
}

/* Takes the table's own text apart. 0, -EBADMSG or -ENOMEM. */
static int parse_table(struct table *table)
{
	char *rest = table->text;
	size_t n_lines = 1;
	char *line;

	for (const char *c = table->text; *c; c++)
		n_lines += *c == '\n';
	table->mounts = calloc(n_lines, sizeof(*table->mounts));
	if (!table->mounts)
		return -ENOMEM;
	while ((line = strsep(&rest, "\n"))) {
		if (*line && !parse_line(line, &table->mounts[table->count++]))
			return -EBADMSG;
	}
	qsort(table->mounts, table->count, sizeof(*table->mounts), compare_mounts);
	mark_covered(table);
	return 0;
}

static int read_table(const struct rf_planner *planner, struct table *table)
{
	const char *given = planner->request->mountinfo;
	int r;

	if (given) {
		table->text = strdup(given);
		r = table->text ? 0 : -ENOMEM;
	} else {
		r = rf_read_file_at(
			AT_FDCWD, "/proc/self/mountinfo", TABLE_MAX_BYTES, &table->text);
	}
	return r < 0 ? r : parse_table(table);
}

/* Is one mount, by its parents, somewhere on the other? */
static bool is_on(const struct table *table, const struct mount *upper, const struct mount *lower)
{
	uint64_t at = upper->parent;

	for (size_t steps = 0; steps < table->count; steps++) {
		const struct mount *parent = NULL;

		if (at == lower->id)
			return true;
		for (size_t i = 0; !parent && i < table->count; i++) {
			if (table->mounts[i].id == at)
				parent = &table->mounts[i];
		}
		if (!parent || parent->parent == at)
			return false;
		at = parent->parent;
	}
	return false;
}

/* Does the place lie in this mount, and in none that stands on it? */
static bool is_held_by(const struct table *table, const struct mount *mount, const char *path)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct mount *other = &table->mounts[i];

		if (other != mount && rf_path_is_within(path, other->path) &&
			is_on(table, other, mount))
			return false;
	}
	return true;
}

/* ---- Judging --------------------------------------------------------------------------------- */

static int refuse_mount(
	struct rf_planner *planner, const struct mount *mount, const struct rf_node *grant)
{
	bool is_inside = rf_path_is_within(grant->path, planner->plan->workspace);

	rf_diag_refuse(planner->diag, is_inside ? "mount-in-workspace" : "mount-in-read",
		"%s is mounted at %.400s, which %.400s would open with it", mount->type,
		mount->path, grant->path);
	if (rf_path_is_within(grant->path, mount->path))
		rf_diag_hint(planner->diag, "the kernel's own files are there: choose another %s",
			is_inside ? "workspace" : "read");
	else
		rf_diag_hint(planner->diag, "unmount it, or close it: --deny %.400s", mount->path);
	rf_diag_path(planner->diag, mount->path);
	return RF_REFUSED;
}

/* A read below /sys that was asked for as such. */
static bool is_allowed(const struct mount *mount, const struct rf_node *grant, enum rf_reach reach)
{
	return reach == RF_REACH_READ && is_readable_type(mount->type) &&
	       rf_path_is_within(mount->path, "/sys") && rf_path_is_within(grant->path, "/sys");
}

/* Grants of places in the mount itself. */
static int check_grants_in(
	struct rf_planner *planner, const struct table *table, const struct mount *mount)
{
	struct rf_rule_tree *tree = &planner->tree;
	size_t first = rf_rule_tree_first(tree, mount->path);

	for (size_t i = first; i < tree->count; i++) {
		const struct rf_node *node = &tree->nodes[i];
		const struct rf_node *grant = NULL;
		enum rf_reach reach;

		if (!rf_path_is_within(node->path, mount->path))
			break;
		if (!(node->flags & (RF_NODE_READ | RF_NODE_WRITE)))
			continue;
		reach = rf_rule_tree_declared(tree, node->path, &grant);
		if (reach != RF_REACH_READ && reach != RF_REACH_WRITE)
			continue;
		if (!is_allowed(mount, node, reach) && is_held_by(table, mount, node->path))
			return refuse_mount(planner, mount, node);
	}
	return 0;
}

/* What is mounted below a write can be written too, whatever it is. */
static int warn_others(struct rf_planner *planner, const char *names, size_t count)
{
	if (count == 0)
		return 0;
	if (count > NAMED_MAX)
		return rf_planner_warn(planner,
			"other mounts can be written with what they lie in: %s and %zu more", names,
			count - NAMED_MAX);
	return rf_planner_warn(
		planner, "other mounts can be written with what they lie in: %s", names);
}

int rf_planner_mounts(struct rf_planner *planner)
{
	struct table table rf_cleanup(clear_table) = {0};
	struct rf_buf names rf_autobuf = {0};
	size_t count = 0;
	int r = read_table(planner, &table);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return rf_diag_refuse(planner->diag, "mounts-unreadable",
			"/proc/self/mountinfo cannot be read: %s", strerror(-r));
	for (size_t i = 0; r == 0 && i < table.count; i++) {
		const struct mount *mount = &table.mounts[i];
		const struct rf_node *grant = NULL;
		enum rf_reach reach;

		if (mount->is_covered)
			continue;
		reach = rf_rule_tree_declared(&planner->tree, mount->path, &grant);
		if (grant && mount->is_kernel &&
			(reach == RF_REACH_READ || reach == RF_REACH_WRITE) &&
			!is_allowed(mount, grant, reach))
			return refuse_mount(planner, mount, grant);
		if (mount->is_kernel)
			r = check_grants_in(planner, &table, mount);
		else if (grant && reach == RF_REACH_WRITE &&
			 strcmp(grant->path, mount->path) != 0 && count++ < NAMED_MAX)
			r = rf_buf_addf(&names, "%s%.200s", count > 1 ? ", " : "", mount->path);
	}
	return r ? r : warn_others(planner, names.data, count);
}
