/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Every rule is a node at a canonical path. Sorted so that a directory stands right before what
 * lies below it, one sweep with a stack of ancestors finds what each place comes to, and a step is
 * made only where that changes:
 *
 *	/w        write     none  -> write    bind /w
 *	/w/a                                  bind /w/a      (pin: /w/a/k is narrowed)
 *	/w/a/k    protect   write -> read     bind read-only /w/a/k
 *	/w/a/k/x  read      read  -> read     nothing
 *	/w/a/k/y  write     read  -> write    bind /w/a/k/y
 *
 * The steps are then put in the order of phases that bubblewrap gets. A step never comes in an
 * earlier phase than the one that it lies in, so that nothing is mounted under something later.
 */

#include "policy/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "policy/resolve.h"

#define NO_PARENT SIZE_MAX

enum phase {
	PHASE_AROUND, /* external reads that contain the workspace */
	PHASE_RUNTIME,
	PHASE_MADE, /* /dev, /proc, private directories, synthetic files */
	PHASE_WORKSPACE,
	PHASE_EXTERNAL,
	PHASE_READ,
	PHASE_WRITE,
	PHASE_PROTECT,
	PHASE_MASK,
	PHASE_REMOUNT,
	PHASES,
};

/* ---- Nodes ----------------------------------------------------------------------------------- */

int rf_rule_tree_add(
	struct rf_rule_tree *tree, const char *path, uint32_t flags, const struct rf_node *like)
{
	struct rf_node node = like ? *like : (struct rf_node){0};

	if (tree->count == tree->room) {
		size_t room = tree->room ? tree->room * 2 : 64;
		struct rf_node *grown = reallocarray(tree->nodes, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		tree->nodes = grown;
		tree->room = room;
	}
	node.flags = flags;
	node.path = strdup(path);
	node.data = node.data ? strdup(node.data) : NULL;
	if (!node.path || (like && like->data && !node.data)) {
		free(node.path);
		free(node.data);
		return -ENOMEM;
	}
	tree->nodes[tree->count++] = node;
	tree->is_sorted = false;
	return 0;
}

void rf_rule_tree_clear(struct rf_rule_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		free(tree->nodes[i].path);
		free(tree->nodes[i].data);
	}
	free(tree->nodes);
	*tree = (struct rf_rule_tree){0};
}

void rf_sweep_clear(struct rf_sweep *sweep)
{
	rf_strv_clear(&sweep->idle);
	free(sweep->watches);
}

/* The end of a path first, then '/', then every other byte: parents stand before children. */
static unsigned int rank(char c)
{
	if (c == '\0')
		return 0;
	return c == '/' ? 1 : (unsigned char)c + 1U;
}

static int compare_paths(const char *a, const char *b)
{
	/* Most have a long way in common. */
	while (*a && a[0] == b[0] && a[1] && a[1] == b[1]) {
		a += 2;
		b += 2;
	}
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (int)rank(*a) - (int)rank(*b);
}

static int compare_nodes(const void *a, const void *b)
{
	return compare_paths(((const struct rf_node *)a)->path, ((const struct rf_node *)b)->path);
}

/* Takes from's contents. */
static void merge(struct rf_node *to, struct rf_node *from)
{
	to->flags |= from->flags;
	if (from->ino && !to->ino) {
		to->dev = from->dev;
		to->ino = from->ino;
		to->is_directory = from->is_directory;
	}
	to->perms |= from->perms;
	/* Two texts for one place: the lesser one, so that order plays no part. */
	if (from->data && (!to->data || strcmp(from->data, to->data) < 0)) {
		free(to->data);
		to->data = RF_TAKE(from->data);
	}
	free(from->path);
	free(from->data);
}

/* The innermost node above each: the one before it, or one that is above that. */
static void find_parents(struct rf_rule_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		size_t parent = i > 0 ? i - 1 : NO_PARENT;

		while (parent != NO_PARENT &&
			!rf_path_is_within(tree->nodes[i].path, tree->nodes[parent].path))
			parent = tree->nodes[parent].parent;
		tree->nodes[i].parent = parent;
	}
}

static void sort(struct rf_rule_tree *tree)
{
	size_t kept = 0;

	if (tree->is_sorted)
		return;
	if (tree->count > 0)
		qsort(tree->nodes, tree->count, sizeof(*tree->nodes), compare_nodes);
	for (size_t i = 0; i < tree->count; i++) {
		if (kept > 0 && strcmp(tree->nodes[kept - 1].path, tree->nodes[i].path) == 0)
			merge(&tree->nodes[kept - 1], &tree->nodes[i]);
		else
			tree->nodes[kept++] = tree->nodes[i];
	}
	tree->count = kept;
	tree->is_sorted = true;
	find_parents(tree);
}

/* ---- What rules come to -------------------------------------------------------------------- */

/* Things of ours hide what the host has there. */
static bool is_fresh(uint32_t flags)
{
	return flags & (RF_NODE_WORKSPACE | RF_NODE_PRIVATE | RF_NODE_PROC | RF_NODE_DEV);
}

/* Reach of the surroundings, as this node sees them. */
static enum rf_reach reach_around(enum rf_reach outer, uint32_t flags)
{
	return is_fresh(flags) ? RF_REACH_NONE : outer;
}

static bool is_closed(uint32_t flags)
{
	if (flags & RF_NODE_DENY)
		return true;
	return (flags & RF_NODE_CREDENTIAL) && !(flags & RF_NODE_EXTERNAL);
}

static bool is_hidden(enum rf_reach reach)
{
	return reach == RF_REACH_NONE || reach == RF_REACH_DENIED;
}

/* T2 and T3. A name that does not exist, or that is only a name, changes nothing by itself. */
static enum rf_reach reach_at(enum rf_reach around, uint32_t flags)
{
	enum rf_reach reach = around;

	if (flags & RF_NODE_MISSING)
		return around;
	if (is_closed(flags))
		return around == RF_REACH_NONE ? RF_REACH_NONE : RF_REACH_DENIED;
	if ((flags & (RF_NODE_READ | RF_NODE_DATA)) && reach != RF_REACH_WRITE)
		reach = RF_REACH_READ;
	if ((flags & RF_NODE_RUNTIME) && reach == RF_REACH_NONE)
		reach = RF_REACH_READ;
	if (flags & (RF_NODE_WRITE | RF_NODE_LISTED))
		reach = RF_REACH_WRITE;
	if ((flags & RF_NODE_PROTECT) && reach == RF_REACH_WRITE)
		reach = RF_REACH_READ;
	return reach;
}

/* Index of the first node at or below path: those follow each other. The tree is sorted. */
static size_t first_at(const struct rf_rule_tree *tree, const char *path)
{
	size_t low = 0;
	size_t high = tree->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_paths(tree->nodes[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t rf_rule_tree_first(struct rf_rule_tree *tree, const char *path)
{
	sort(tree);
	return first_at(tree, path);
}

bool rf_rule_tree_has_link(struct rf_rule_tree *tree, const char *path)
{
	size_t at = rf_rule_tree_first(tree, path);

	return at < tree->count && strcmp(tree->nodes[at].path, path) == 0 &&
	       (tree->nodes[at].flags & RF_NODE_LINK);
}

/* Nodes on the way from the root to a path, that of the path itself included. */
struct way {
	const struct rf_node *nodes[PATH_MAX / 2];
	size_t count;
};

/* What stands right before a path lies below its innermost node, or is it. */
static void find_way(struct rf_rule_tree *tree, const char *path, struct way *ret_way)
{
	size_t at = rf_rule_tree_first(tree, path);
	size_t count = 0;

	if (at == tree->count || strcmp(tree->nodes[at].path, path) != 0)
		at = at > 0 ? at - 1 : NO_PARENT;
	while (at != NO_PARENT && !rf_path_is_within(path, tree->nodes[at].path))
		at = tree->nodes[at].parent;
	for (size_t i = at; i != NO_PARENT; i = tree->nodes[i].parent)
		count++;
	ret_way->count = count;
	for (; at != NO_PARENT; at = tree->nodes[at].parent)
		ret_way->nodes[--count] = &tree->nodes[at];
}

enum rf_reach rf_rule_tree_reach(struct rf_rule_tree *tree, const char *path)
{
	enum rf_reach reach = RF_REACH_NONE;
	struct way way;

	find_way(tree, path, &way);
	for (size_t i = 0; i < way.count; i++)
		reach = reach_at(reach_around(reach, way.nodes[i]->flags), way.nodes[i]->flags);
	return reach;
}

enum rf_reach rf_rule_tree_declared(
	struct rf_rule_tree *tree, const char *path, const struct rf_node **ret_grant)
{
	enum rf_reach reach = RF_REACH_NONE;
	struct way way;

	*ret_grant = NULL;
	find_way(tree, path, &way);
	for (size_t i = 0; i < way.count; i++) {
		uint32_t flags = way.nodes[i]->flags & ~(uint32_t)RF_NODE_RUNTIME;

		reach = reach_at(reach_around(reach, flags), flags);
		if (flags & (RF_NODE_READ | RF_NODE_WRITE | RF_NODE_LISTED))
			*ret_grant = way.nodes[i];
	}
	return reach;
}

/* Closed, or inside of what is, as far as this node tells. */
static bool denied_at(bool is_denied, uint32_t flags)
{
	if (flags & RF_NODE_MISSING)
		return is_denied;
	if (is_closed(flags))
		return true;
	return is_denied && !(flags & (RF_NODE_READ | RF_NODE_WRITE | RF_NODE_LISTED));
}

bool rf_rule_tree_is_denied(struct rf_rule_tree *tree, const char *path)
{
	bool is_denied = false;
	struct way way;

	find_way(tree, path, &way);
	for (size_t i = 0; i < way.count; i++)
		is_denied = denied_at(is_denied, way.nodes[i]->flags);
	return is_denied;
}

void rf_rule_tree_close_runtime(struct rf_rule_tree *tree)
{
	sort(tree);
	for (size_t i = 0; i < tree->count; i++) {
		struct rf_node *node = &tree->nodes[i];

		if ((node->flags & RF_NODE_RUNTIME) && rf_rule_tree_is_denied(tree, node->path))
			node->flags &= ~(uint32_t)RF_NODE_RUNTIME;
	}
}

/* ---- Steps ----------------------------------------------------------------------------------- */

struct level {
	const char *path;
	enum rf_reach reach;
	enum phase phase;
	/* An empty place that the command can write to. */
	bool is_private;
	/* Writable for listed names alone. */
	bool is_listed;
};

struct sweeper {
	struct rf_rule_tree *tree;
	struct rf_plan *plan;
	struct rf_sweep *sweep;
	/* Ancestors of the place in hand; level 0 is the root. Paths borrowed from nodes or pins.
	 */
	struct level *stack;
	size_t depth;
	size_t room;
	/* Steps with their phases, in tree order. */
	struct rf_view_step *steps;
	enum phase *phases;
	size_t n_steps;
	size_t steps_room;
	size_t rules_room;
};

static void clear_step(struct rf_view_step *step)
{
	free(step->destination);
	free(step->source);
	free(step->data);
	rf_close(step->source_fd);
}

static void clear_sweeper(struct sweeper *s)
{
	for (size_t i = 0; i < s->n_steps; i++)
		clear_step(&s->steps[i]);
	free(s->steps);
	free(s->phases);
	free(s->stack);
}

static int push(struct sweeper *s, const char *path, enum rf_reach reach, enum phase phase)
{
	if (s->depth == s->room) {
		size_t room = s->room ? s->room * 2 : 32;
		struct level *grown = reallocarray(s->stack, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->stack = grown;
		s->room = room;
	}
	s->stack[s->depth] = (struct level){
		.path = path,
		.reach = reach,
		.phase = phase,
		.is_listed = s->depth > 0 && s->stack[s->depth - 1].is_listed,
	};
	s->depth++;
	return 0;
}

static int grow_steps(struct sweeper *s)
{
	size_t room = s->steps_room ? s->steps_room * 2 : 64;
	struct rf_view_step *steps;
	enum phase *phases;

	if (s->n_steps < s->steps_room)
		return 0;
	steps = reallocarray(s->steps, room, sizeof(*steps));
	if (!steps)
		return -ENOMEM;
	s->steps = steps;
	phases = reallocarray(s->phases, room, sizeof(*phases));
	if (!phases)
		return -ENOMEM;
	s->phases = phases;
	s->steps_room = room;
	return 0;
}

static bool has_source(enum rf_view_kind kind)
{
	return kind == RF_VIEW_BIND || kind == RF_VIEW_BIND_RO || kind == RF_VIEW_BIND_DEV;
}

static int add_step(struct sweeper *s, enum rf_view_kind kind, const struct rf_node *node,
	unsigned int perms, enum phase phase)
{
	struct rf_view_step step = {.kind = kind, .source_fd = -1, .perms = perms};
	int r = grow_steps(s);

	if (r < 0)
		return r;
	step.destination = strdup(node->path);
	step.source = has_source(kind) ? strdup(node->path) : NULL;
	if (kind == RF_VIEW_DATA || kind == RF_VIEW_SYMLINK)
		step.data = strdup(node->data ? node->data : "");
	if (!step.destination || (has_source(kind) && !step.source) ||
		((kind == RF_VIEW_DATA || kind == RF_VIEW_SYMLINK) && !step.data)) {
		clear_step(&step);
		return -ENOMEM;
	}
	step.source_dev = node->dev;
	step.source_ino = node->ino;
	step.is_directory = node->is_directory;
	if (has_source(kind) || kind == RF_VIEW_MASK)
		s->sweep->n_binds++;
	s->phases[s->n_steps] = phase;
	s->steps[s->n_steps++] = step;
	return 0;
}

static int add_rule(struct sweeper *s, const char *path, enum rf_access access)
{
	struct rf_plan *plan = s->plan;

	if (plan->n_rules == s->rules_room) {
		size_t room = s->rules_room ? s->rules_room * 2 : 64;
		struct rf_rule *grown = reallocarray(plan->rules, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		plan->rules = grown;
		s->rules_room = room;
	}
	plan->rules[plan->n_rules].path = strdup(path);
	if (!plan->rules[plan->n_rules].path)
		return -ENOMEM;
	plan->rules[plan->n_rules++].access = access;
	return 0;
}

static int add_remount(struct sweeper *s, const char *path)
{
	struct rf_node node = {.path = (char *)path, .is_directory = true};

	return add_step(s, RF_VIEW_REMOUNT_RO, &node, 0, PHASE_REMOUNT);
}

static enum phase later(enum phase a, enum phase b)
{
	return a > b ? a : b;
}

/* Where the node belongs by itself. */
static enum phase own_phase(const struct sweeper *s, const struct rf_node *node,
	enum rf_reach around, enum rf_reach reach)
{
	uint32_t flags = node->flags;
	bool is_inside = rf_path_is_within(node->path, s->plan->workspace);

	if (flags & RF_NODE_WORKSPACE)
		return PHASE_WORKSPACE;
	if (reach == RF_REACH_DENIED)
		return PHASE_MASK;
	if (around == RF_REACH_WRITE && (reach == RF_REACH_READ || (flags & RF_NODE_PIN)))
		return PHASE_PROTECT;
	if (flags & (RF_NODE_PRIVATE | RF_NODE_PROC | RF_NODE_DEV | RF_NODE_DEVICE))
		return PHASE_MADE;
	if ((flags & RF_NODE_EXTERNAL) && rf_path_is_within(s->plan->workspace, node->path))
		return PHASE_AROUND;
	if (flags & RF_NODE_RUNTIME)
		return PHASE_RUNTIME;
	if (flags & RF_NODE_EXTERNAL)
		return PHASE_EXTERNAL;
	if (flags & RF_NODE_DATA)
		return PHASE_MADE;
	if (flags & (RF_NODE_WRITE | RF_NODE_LISTED))
		return PHASE_WRITE;
	if (flags & RF_NODE_LINK)
		return is_inside ? PHASE_READ : PHASE_RUNTIME;
	return PHASE_READ;
}

/* T6: binds each directory between the innermost level and path onto itself. */
static int add_pins(struct sweeper *s, const char *path, bool is_made)
{
	size_t start = strlen(s->stack[s->depth - 1].path);

	for (size_t i = start + 1; path[i]; i++) {
		struct rf_node node = {.is_directory = true};
		char *parent rf_autofree = NULL;
		int fd rf_autoclose = -1;
		const char *below;
		struct stat st;
		enum phase phase;
		int r;

		if (path[i] != '/')
			continue;
		parent = strndup(path, i);
		if (!parent)
			return -ENOMEM;
		below = rf_path_below(parent, s->plan->workspace);
		node.path = parent;
		/* A git directory can be opened that lies elsewhere. */
		fd = rf_open_no_links(below ? s->plan->workspace_fd : AT_FDCWD,
			below ? below : parent, O_DIRECTORY);
		if (fd == -ENOENT && is_made && below) {
			r = rf_strv_add(&s->plan->create, below);
			if (r < 0)
				return r;
		} else if (fd < 0) {
			return fd;
		} else {
			if (fstat(fd, &st) < 0)
				return -errno;
			node.dev = st.st_dev;
			node.ino = st.st_ino;
		}
		phase = later(PHASE_PROTECT, s->stack[s->depth - 1].phase);
		r = add_step(s, RF_VIEW_BIND, &node, 0, phase);
		/* The step's text lives as long as the stack. */
		if (r == 0)
			r = push(s, s->steps[s->n_steps - 1].destination, RF_REACH_WRITE, phase);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Makes the directories that lead from the innermost level to path, so that their mode is ours:
 * searched by everybody, and under strict listed by nobody. In a private place the first of them
 * is a mount of its own, read-only at the end: what is written beside the workspace would
 * otherwise seem to succeed and be lost.
 */
static int add_ways(struct sweeper *s, const char *path)
{
	struct level outer = s->stack[s->depth - 1];
	size_t start = strlen(outer.path);
	bool is_mount = outer.is_private;

	for (size_t i = start + 1; path[i]; i++) {
		struct rf_node node = {.is_directory = true};
		size_t way = s->n_steps;
		int r;

		if (path[i] != '/')
			continue;
		node.path = strndup(path, i);
		if (!node.path)
			return -ENOMEM;
		r = add_step(s, is_mount ? RF_VIEW_TMPFS : RF_VIEW_DIRECTORY, &node,
			s->plan->is_strict ? 0111 : 0755, outer.phase);
		if (r == 0 && is_mount)
			r = add_remount(s, node.path);
		free(node.path);
		is_mount = false;
		if (r == 0)
			r = push(s, s->steps[way].destination, outer.reach, outer.phase);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Does any grant lie below the node at index? */
static bool has_opening(const struct rf_rule_tree *tree, size_t index)
{
	const char *path = tree->nodes[index].path;

	for (size_t i = index + 1; i < tree->count; i++) {
		const struct rf_node *node = &tree->nodes[i];

		if (!rf_path_is_within(node->path, path))
			return false;
		if ((node->flags & (RF_NODE_READ | RF_NODE_WRITE | RF_NODE_LISTED)) &&
			!is_closed(node->flags))
			return true;
	}
	return false;
}

static int close_place(struct sweeper *s, size_t index, enum phase phase)
{
	const struct rf_node *node = &s->tree->nodes[index];
	int r = 0;

	s->sweep->has_narrowing = true;
	if (node->flags & RF_NODE_CREATE)
		r = rf_strv_add(&s->plan->create, rf_path_below(node->path, s->plan->workspace));
	if (r < 0)
		return r;
	if (!node->is_directory || !has_opening(s->tree, index))
		return add_step(s, RF_VIEW_MASK, node, 0, phase);
	/* What is open below must be reachable through it, by name alone. */
	r = add_step(s, RF_VIEW_TMPFS, node, 0111, phase);
	return r < 0 ? r : add_remount(s, node->path);
}

static int open_place(
	struct sweeper *s, const struct rf_node *node, enum rf_reach reach, enum phase phase)
{
	enum rf_view_kind kind = reach == RF_REACH_WRITE ? RF_VIEW_BIND : RF_VIEW_BIND_RO;
	const char *below = rf_path_below(node->path, s->plan->workspace);
	int r;

	if ((node->flags & RF_NODE_DATA) &&
		!(node->flags & (RF_NODE_READ | RF_NODE_RUNTIME | RF_NODE_WRITE | RF_NODE_LISTED)))
		kind = RF_VIEW_DATA;
	r = add_step(s, kind, node, kind == RF_VIEW_DATA ? 0644 : 0, phase);
	if (r == 0)
		r = add_rule(
			s, node->path, reach == RF_REACH_WRITE ? RF_ACCESS_WRITE : RF_ACCESS_READ);
	if (r == 0 && (node->flags & RF_NODE_CREATE) && kind != RF_VIEW_DATA)
		r = rf_strv_add(&s->plan->create, below);
	return r;
}

/* Things that are there whatever the host has. */
static int make_place(
	struct sweeper *s, const struct rf_node *node, enum rf_reach reach, enum phase phase)
{
	uint32_t flags = node->flags;
	int r;

	if (flags & RF_NODE_PROC) {
		r = add_step(s, RF_VIEW_PROC, node, 0, phase);
		return r < 0 ? r : add_rule(s, node->path, RF_ACCESS_READ);
	}
	if (flags & RF_NODE_DEV) {
		r = s->plan->is_strict ? add_step(s, RF_VIEW_TMPFS, node, 0755, phase)
				       : add_step(s, RF_VIEW_DEV, node, 0, phase);
		return r < 0 ? r : add_remount(s, node->path);
	}
	if (flags & RF_NODE_PRIVATE) {
		r = add_step(s, RF_VIEW_TMPFS, node, node->perms, phase);
		return r < 0 ? r : add_rule(s, node->path, RF_ACCESS_WRITE);
	}
	/* The workspace. */
	if (reach == RF_REACH_READ || reach == RF_REACH_WRITE)
		return open_place(s, node, reach, phase);
	r = add_step(s, RF_VIEW_TMPFS, node, 0755, phase);
	return r < 0 ? r : add_remount(s, node->path);
}

/* A narrowed name without a thing to mount over. */
static void note_name(struct sweeper *s, const struct rf_node *node, enum rf_reach around)
{
	struct rf_sweep *sweep = s->sweep;

	if ((node->flags & RF_NODE_MISSING) && (node->flags & RF_NODE_CREDENTIAL) &&
		around == RF_REACH_WRITE) {
		sweep->has_narrowing = true;
		sweep->n_missing_credentials++;
		if (!sweep->missing_credential)
			sweep->missing_credential = node->path;
	}
	if ((node->flags & RF_NODE_MISSING) && (node->flags & RF_NODE_GIT)) {
		if (around == RF_REACH_WRITE && sweep->n_missing_git++ == 0)
			sweep->missing_git = node->path;
	} else if ((node->flags & RF_NODE_MISSING) &&
		   (node->flags & (RF_NODE_PROTECT | RF_NODE_DENY))) {
		sweep->has_narrowing = true;
		if (around == RF_REACH_WRITE && !sweep->unheld)
			sweep->unheld = node->path;
		else if (around == RF_REACH_READ && (node->flags & RF_NODE_DENY) &&
			 !sweep->unwatched)
			sweep->unwatched = node->path;
	}
	if ((node->flags & RF_NODE_NAME) && around == RF_REACH_WRITE) {
		sweep->has_narrowing = true;
		if (!sweep->replaceable)
			sweep->replaceable = node->path;
	}
}

/* A protected path that nothing could have written to. */
static int note_idle(struct sweeper *s, const struct rf_node *node, enum rf_reach around)
{
	if (!(node->flags & RF_NODE_PROTECT) || around == RF_REACH_WRITE ||
		(node->flags & (RF_NODE_WRITE | RF_NODE_LISTED | RF_NODE_GIT)))
		return 0;
	return rf_strv_add(&s->sweep->idle, node->path);
}

static int add_device(struct sweeper *s, const struct rf_node *node, enum phase phase)
{
	int r = add_step(s, RF_VIEW_BIND_DEV, node, 0, phase);

	return r < 0 ? r : add_rule(s, node->path, (enum rf_access)node->perms);
}

static int place_nothing(
	struct sweeper *s, const struct rf_node *node, enum rf_reach around, enum phase phase)
{
	enum rf_view_kind kind = node->flags & RF_NODE_LINK ? RF_VIEW_SYMLINK : RF_VIEW_DIRECTORY;
	int r;

	if (!(node->flags & (RF_NODE_LINK | RF_NODE_PRESENT)) || !is_hidden(around))
		return 0;
	if ((node->flags & RF_NODE_PRESENT) && around == RF_REACH_DENIED)
		s->sweep->closed_directory = node->path;
	r = add_ways(s, node->path);
	if (r == 0)
		r = add_step(s, kind, node, kind == RF_VIEW_DIRECTORY ? 0755 : 0, phase);
	if (r < 0 || kind == RF_VIEW_SYMLINK)
		return r;
	return push(s, node->path, around, phase);
}

/* A missing directory in what is writable anyway: it is made, and needs no mount. */
static int make_covered(struct sweeper *s, const struct rf_node *node)
{
	if (!(node->flags & RF_NODE_CREATE) || (node->flags & RF_NODE_MISSING))
		return 0;
	return rf_strv_add(&s->plan->create, rf_path_below(node->path, s->plan->workspace));
}

/* Is the place writable for listed names alone? A plain write opens it whole. */
static bool is_listed_at(
	const struct level *outer, uint32_t flags, enum rf_reach around, enum rf_reach reach)
{
	if (reach != RF_REACH_WRITE || flags & RF_NODE_WRITE)
		return false;
	if (around == RF_REACH_WRITE)
		return outer->is_listed;
	return flags & RF_NODE_LISTED;
}

/* What is not the host's is nobody's to watch. */
static int note_watch(struct sweeper *s, const struct rf_node *node, const struct level *outer,
	enum rf_reach around, enum rf_reach reach)
{
	static const uint32_t watched = RF_NODE_READ | RF_NODE_WRITE | RF_NODE_PROTECT |
					RF_NODE_DENY | RF_NODE_CREDENTIAL | RF_NODE_RUNTIME |
					RF_NODE_WORKSPACE | RF_NODE_NAME | RF_NODE_LISTED;
	struct rf_sweep *sweep = s->sweep;

	if (!(node->flags & watched) ||
		node->flags & (RF_NODE_PRIVATE | RF_NODE_PROC | RF_NODE_DEV))
		return 0;
	if (sweep->n_watches == sweep->watches_room) {
		size_t room = sweep->watches_room ? sweep->watches_room * 2 : 32;
		struct rf_watch *grown = reallocarray(sweep->watches, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		sweep->watches = grown;
		sweep->watches_room = room;
	}
	sweep->watches[sweep->n_watches++] = (struct rf_watch){
		.node = node,
		.around = around,
		.reach = reach,
		.is_listed = node->flags & RF_NODE_LISTED &&
			     is_listed_at(outer, node->flags, around, reach),
	};
	return 0;
}

static int visit(struct sweeper *s, size_t index)
{
	const struct rf_node *node = &s->tree->nodes[index];
	const struct level *outer;
	enum rf_reach around;
	enum rf_reach reach;
	enum phase phase;
	bool is_device;
	bool is_listed;
	bool is_pin;
	int r;

	while (s->depth > 1 && !rf_path_is_within(node->path, s->stack[s->depth - 1].path))
		s->depth--;
	outer = &s->stack[s->depth - 1];
	around = reach_around(outer->reach, node->flags);
	reach = reach_at(around, node->flags);
	phase = later(own_phase(s, node, around, reach), outer->phase);
	if (node->flags & (RF_NODE_PROTECT | RF_NODE_DENY))
		s->sweep->has_narrowing = true;
	note_name(s, node, around);
	is_listed = is_listed_at(outer, node->flags, around, reach);
	r = note_idle(s, node, around);
	if (r == 0)
		r = note_watch(s, node, outer, around, reach);
	if (r < 0)
		return r;
	if ((node->flags & RF_NODE_PRESENT) && is_closed(node->flags))
		s->sweep->closed_directory = node->path;
	is_device = (node->flags & RF_NODE_DEVICE) && !is_closed(node->flags);
	is_pin = (node->flags & RF_NODE_PIN) && reach == RF_REACH_WRITE;
	if (reach == around && !is_fresh(node->flags) && !is_device && !is_pin)
		return reach == RF_REACH_WRITE ? make_covered(s, node)
					       : place_nothing(s, node, around, phase);
	/* What the outer level hides is led to; what it lets be written is pinned. */
	if (is_hidden(outer->reach))
		r = add_ways(s, node->path);
	else if (around == RF_REACH_WRITE && !is_device)
		r = add_pins(s, node->path, node->flags & RF_NODE_CREATE);
	if (r < 0)
		return r;
	if (is_device)
		return add_device(s, node, phase);
	if (is_fresh(node->flags))
		r = make_place(s, node, reach, phase);
	if (r == 0 && !is_fresh(node->flags)) {
		r = reach == RF_REACH_DENIED ? close_place(s, index, phase)
					     : open_place(s, node, reach, phase);
	}
	if (r == 0)
		r = push(s, node->path, reach, phase);
	if (r == 0)
		s->stack[s->depth - 1].is_private = node->flags & RF_NODE_PRIVATE;
	if (r == 0)
		s->stack[s->depth - 1].is_listed = is_listed;
	return r;
}

/* The stage makes its own directories below the workspace, as many as it needs. */
static bool is_left_to_stage(const struct rf_plan *plan, const struct rf_view_step *step)
{
	return plan->is_staged && step->kind == RF_VIEW_DIRECTORY &&
	       strcmp(step->destination, plan->directory) != 0 &&
	       rf_path_is_within(step->destination, plan->workspace);
}

static int take_view(struct sweeper *s)
{
	struct rf_plan *plan = s->plan;

	plan->view = calloc(s->n_steps + 1, sizeof(*plan->view));
	if (!plan->view)
		return -ENOMEM;
	plan->is_staged = s->sweep->n_binds > RF_BWRAP_BINDS_MAX;
	for (unsigned int phase = 0; phase < PHASES; phase++) {
		for (size_t i = 0; i < s->n_steps; i++) {
			if (s->phases[i] != phase)
				continue;
			if (is_left_to_stage(plan, &s->steps[i]))
				clear_step(&s->steps[i]);
			else
				plan->view[plan->n_view++] = s->steps[i];
		}
	}
	s->n_steps = 0;
	return 0;
}

int rf_rule_tree_sweep(struct rf_rule_tree *tree, struct rf_plan *plan, struct rf_sweep *ret_sweep)
{
	struct rf_sweep sweep rf_autosweep = {0};
	struct sweeper s rf_cleanup(clear_sweeper) = {.tree = tree, .plan = plan, .sweep = &sweep};
	int r = push(&s, "/", RF_REACH_NONE, PHASE_AROUND);

	sort(tree);
	for (size_t i = 0; r == 0 && i < tree->count; i++)
		r = visit(&s, i);
	if (r == 0)
		r = add_remount(&s, "/");
	if (r == 0)
		r = take_view(&s);
	if (r < 0)
		return r;
	*ret_sweep = sweep;
	sweep = (struct rf_sweep){0};
	return 0;
}
