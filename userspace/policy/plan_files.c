/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What BPF LSM holds about files, where the host has those hooks: rules on places, known by an open
 * descriptor, and on names in them. The tree says what each place comes to; here that becomes
 *
 *	a name that does not exist    the first missing component in its directory
 *	what exists and is narrowed   the inode, by whatever name it is reached
 *	what lies above either        pinned, up to the workspace
 *	a directory of write-files    its listed names alone
 *	a grant below one of these    open again
 *
 * The first two kinds are needed where mounts hold nothing. The rest stands beside the mounts that
 * hold it too, and is left out when there is more than a run may have.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "policy/planner.h"

/* More than a run may have. */
#define TOO_MANY 1

/* Without following a link in the last component either. */
static int open_place(const struct rf_planner *planner, const char *path)
{
	const struct rf_plan *plan = planner->plan;
	const char *below = rf_path_below(path, plan->workspace);

	if (below)
		return rf_open_no_links(plan->workspace_fd, *below ? below : ".", O_NOFOLLOW);
	return rf_open_no_links(planner->root_fd, path[1] ? path + 1 : ".", O_NOFOLLOW);
}

static struct rf_plan_place *find_place(const struct rf_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_places; i++) {
		if (strcmp(plan->places[i].path, path) == 0)
			return &plan->places[i];
	}
	return NULL;
}

/* Takes fd, -1: it is opened when the run starts. 0, TOO_MANY, -ENOMEM. */
static int add_place(struct rf_plan *plan, const char *path, uint32_t flags, int fd_taken)
{
	struct rf_plan_place *place = find_place(plan, path);
	int fd rf_autoclose = fd_taken;

	if (place) {
		place->flags |= flags;
		return 0;
	}
	if (plan->n_places == RF_FILE_PLACES_PER_RUN_MAX)
		return TOO_MANY;
	if (!plan->places) {
		plan->places = calloc(RF_FILE_PLACES_PER_RUN_MAX, sizeof(*plan->places));
		if (!plan->places)
			return -ENOMEM;
	}
	place = &plan->places[plan->n_places];
	place->path = strdup(path);
	if (!place->path)
		return -ENOMEM;
	place->flags = flags;
	place->fd = RF_TAKE_FD(fd);
	plan->n_places++;
	return 0;
}

/* 0, TOO_MANY, -ENOMEM. */
static int add_name(struct rf_plan *plan, const char *directory, const char *name, uint32_t flags)
{
	struct rf_plan_place *place = find_place(plan, directory);
	struct rf_plan_name *added;

	if (!place)
		return -ENOENT;
	if (plan->n_names == RF_FILE_NAMES_PER_RUN_MAX)
		return TOO_MANY;
	if (!plan->names) {
		plan->names = calloc(RF_FILE_NAMES_PER_RUN_MAX, sizeof(*plan->names));
		if (!plan->names)
			return -ENOMEM;
	}
	added = &plan->names[plan->n_names];
	added->name = strdup(name);
	if (!added->name)
		return -ENOMEM;
	added->place = (size_t)(place - plan->places);
	added->flags = flags;
	place->flags |= RF_PLACE_NAMES;
	plan->n_names++;
	return 0;
}

/* The place itself and each directory from it up to the workspace, whose own root is a mount. */
static int pin(struct rf_planner *planner, const char *from)
{
	char *path rf_autofree = strdup(from);
	int r = 0;

	if (!path)
		return -ENOMEM;
	while (r == 0 && rf_path_is_within(path, planner->plan->workspace) &&
		strcmp(path, planner->plan->workspace) != 0) {
		int fd = open_place(planner, path);

		if (fd < 0)
			return fd;
		r = add_place(planner->plan, path, RF_PLACE_PINNED, fd);
		*strrchr(path, '/') = '\0';
	}
	return r;
}

/*
 * Finds the longest part of path that exists, a descriptor of it, and where the first missing name
 * begins.
 */
static int open_existing(const struct rf_planner *planner, const char *path, char **ret_existing,
	const char **ret_rest)
{
	char *existing rf_autofree = strdup(path);

	if (!existing)
		return -ENOMEM;
	while (existing[0]) {
		char *end = strrchr(existing, '/');
		int fd;

		*ret_rest = path + (end - existing) + 1;
		end[end == existing] = '\0';
		fd = open_place(planner, existing);
		if (fd >= 0) {
			*ret_existing = RF_TAKE(existing);
			return fd;
		}
		if ((fd != -ENOENT && fd != -ENOTDIR) || strcmp(existing, "/") == 0)
			return fd;
	}
	return -ENOENT;
}

static int add_missing(struct rf_planner *planner, const struct rf_watch *watch)
{
	bool is_closed = watch->node->flags & (RF_NODE_DENY | RF_NODE_CREDENTIAL);
	char *existing rf_autofree = NULL;
	char *name rf_autofree = NULL;
	const char *rest = NULL;
	struct stat st;
	int r, fd = open_existing(planner, watch->node->path, &existing, &rest);

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0) {
		rf_close(fd);
		return -errno;
	}
	r = add_place(planner->plan, existing, 0, fd);
	if (r == 0 && watch->around == RF_REACH_WRITE)
		r = pin(planner, existing);
	/* A file where a directory would have to be: it cannot be made while that is there. */
	if (r != 0 || !S_ISDIR(st.st_mode))
		return r;
	name = strndup(rest, strcspn(rest, "/"));
	if (!name)
		return -ENOMEM;
	return add_name(
		planner->plan, existing, name, is_closed ? RF_PLACE_CLOSED : RF_PLACE_READ_ONLY);
}

/*
 * By its inode, whatever name it is reached by; and by its name, whatever inode has it: somebody
 * outside, an editor or a checkout, replaces files, and takes the mount off with it.
 */
static int add_existing(struct rf_planner *planner, const struct rf_watch *watch)
{
	uint32_t flags = watch->reach == RF_REACH_DENIED ? RF_PLACE_CLOSED : RF_PLACE_READ_ONLY;
	const struct rf_node *node = watch->node;
	struct rf_plan *plan = planner->plan;
	char *parent rf_autofree = rf_path_parent(node->path);
	int r, fd = rf_open_found(
		       plan->workspace_fd, plan->workspace, node->path, node->dev, node->ino);

	if (fd < 0)
		return fd;
	r = add_place(plan, node->path, flags, fd);
	if (r == 0 && watch->around == RF_REACH_WRITE)
		r = pin(planner, node->path);
	if (r != 0)
		return r;
	if (!parent)
		return -ENOMEM;
	fd = open_place(planner, parent);
	if (fd < 0)
		return fd;
	r = add_place(plan, parent, 0, fd);
	return r == 0 ? add_name(plan, parent, rf_path_name(node->path), flags) : r;
}

/* What is open below a closed or listed place. One that the run makes is opened then. */
static int add_opening(struct rf_planner *planner, const struct rf_watch *watch)
{
	int fd = open_place(planner, watch->node->path);

	if (fd < 0 && fd != -ENOENT)
		return fd;
	return add_place(planner->plan, watch->node->path,
		watch->reach == RF_REACH_WRITE ? RF_PLACE_OPEN : RF_PLACE_READ_ONLY,
		fd < 0 ? -1 : fd);
}

/* The file, and what editors and git make beside it while they save. */
static int add_listed_names(struct rf_plan *plan, const char *directory, const char *name)
{
	char text[RF_NAME_MAX_BYTES + 8];
	int r = add_name(plan, directory, name, RF_PLACE_OPEN);

	if (strlen(name) + strlen(".lock") > RF_NAME_MAX_BYTES)
		return r;
	snprintf(text, sizeof(text), "%s.lock", name);
	if (r == 0)
		r = add_name(plan, directory, text, RF_PLACE_OPEN);
	snprintf(text, sizeof(text), "%s~", name);
	if (r == 0)
		r = add_name(plan, directory, text, RF_PLACE_OPEN);
	for (char letter = 'a'; r == 0 && letter <= 'z'; letter++) {
		snprintf(text, sizeof(text), ".%s.sw%c", name, letter);
		r = add_name(plan, directory, text, RF_PLACE_OPEN);
	}
	return r;
}

static int add_listed(struct rf_planner *planner, const struct rf_watch *watch)
{
	const char *directory = watch->node->path;
	int fd = open_place(planner, directory);
	int r;

	if (fd < 0 && fd != -ENOENT)
		return fd;
	r = add_place(planner->plan, directory, RF_PLACE_LISTED | RF_PLACE_NAMES, fd < 0 ? -1 : fd);
	for (size_t i = 0; r == 0 && i < planner->listed.count; i++) {
		const char *below = rf_path_below(planner->listed.items[i], directory);

		if (below && !strchr(below, '/'))
			r = add_listed_names(planner->plan, directory, below);
	}
	return r;
}

/* ---- Which of them --------------------------------------------------------------------------- */

static bool is_missing(const struct rf_watch *watch)
{
	uint32_t flags = watch->node->flags;

	return (flags & RF_NODE_MISSING) &&
	       (watch->around == RF_REACH_WRITE ||
		       (watch->around == RF_REACH_READ && (flags & RF_NODE_DENY)));
}

static bool is_replaceable(const struct rf_watch *watch)
{
	return (watch->node->flags & RF_NODE_NAME) && watch->around == RF_REACH_WRITE;
}

/* What exists and is declared narrower than around it. Credentials, which every run has some of,
 * are left to the mounts: each rule makes the opening of files dearer. */
static bool is_narrowed(const struct rf_watch *watch)
{
	const struct rf_node *node = watch->node;

	if (node->flags & (RF_NODE_MISSING | RF_NODE_NAME) || node->ino == 0 ||
		!(node->flags & (RF_NODE_PROTECT | RF_NODE_DENY)))
		return false;
	return (watch->reach == RF_REACH_DENIED && watch->around != RF_REACH_DENIED) ||
	       (watch->reach == RF_REACH_READ && watch->around == RF_REACH_WRITE);
}

static bool is_ruled(const struct rf_watch *watch)
{
	return is_missing(watch) || is_replaceable(watch) || is_narrowed(watch) || watch->is_listed;
}

/* A grant, whose place ends what is said further up. */
static bool is_grant(const struct rf_watch *watch)
{
	return (watch->reach == RF_REACH_READ || watch->reach == RF_REACH_WRITE) &&
	       !watch->is_listed && !is_narrowed(watch) && !is_missing(watch) &&
	       !is_replaceable(watch);
}

static int add_needed(struct rf_planner *planner)
{
	const struct rf_sweep *sweep = &planner->sweep;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sweep->n_watches; i++) {
		const struct rf_watch *watch = &sweep->watches[i];

		if (is_missing(watch))
			r = add_missing(planner, watch);
		else if (is_replaceable(watch))
			r = pin(planner, watch->node->path);
		if (r == 0 && watch->is_listed)
			r = add_listed(planner, watch);
	}
	return r;
}

/* Grants below something ruled: parents come first in the list. */
static int add_openings(struct rf_planner *planner)
{
	const struct rf_sweep *sweep = &planner->sweep;
	const char **above rf_autofree = calloc(sweep->n_watches + 1, sizeof(*above));
	size_t depth = 0;
	int r = 0;

	if (!above)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < sweep->n_watches; i++) {
		const struct rf_watch *watch = &sweep->watches[i];

		while (depth > 0 && !rf_path_is_within(watch->node->path, above[depth - 1]))
			depth--;
		if (depth > 0 && is_grant(watch))
			r = add_opening(planner, watch);
		if (is_ruled(watch))
			above[depth++] = watch->node->path;
	}
	return r;
}

/* What found no room is held by its mount all the same. */
static int add_overlap(struct rf_planner *planner)
{
	const struct rf_sweep *sweep = &planner->sweep;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sweep->n_watches; i++) {
		if (is_narrowed(&sweep->watches[i]))
			r = add_existing(planner, &sweep->watches[i]);
	}
	return r == TOO_MANY ? 0 : r;
}

static void drop(struct rf_plan *plan)
{
	rf_plan_clear_files(plan);
	plan->has_file_rules = false;
}

int rf_planner_files(struct rf_planner *planner)
{
	const struct rf_sweep *sweep = &planner->sweep;
	struct rf_plan *plan = planner->plan;
	bool is_any = false;
	int r;

	if (planner->facts->file_hooks.state != RF_STATE_ENFORCED)
		return 0;
	for (size_t i = 0; !is_any && i < sweep->n_watches; i++)
		is_any = is_ruled(&sweep->watches[i]);
	if (!is_any)
		return 0;
	plan->has_file_rules = true;
	r = add_needed(planner);
	/* Before what is closed: without them that would be closed too far. */
	if (r == 0)
		r = add_openings(planner);
	if (r == 0)
		r = add_overlap(planner);
	if (r == TOO_MANY || r == -EMFILE) {
		if (planner->listed.count > 0) {
			rf_diag_refuse(planner->diag, "too-many-file-rules",
				"missing names and write-files need more than %u places or %u names",
				RF_FILE_PLACES_PER_RUN_MAX, RF_FILE_NAMES_PER_RUN_MAX);
			return RF_REFUSED;
		}
		drop(plan);
		return 0;
	}
	if (r == -ENOENT || r == -ESTALE || r == -ELOOP || r == -ENOTDIR) {
		rf_diag_refuse(planner->diag, "changed-while-planning",
			"%.500s became something else while the plan was made", plan->workspace);
		rf_diag_path(planner->diag, plan->workspace);
		return RF_REFUSED;
	}
	return r;
}

int rf_plan_open_places(struct rf_plan *plan)
{
	for (size_t i = 0; i < plan->n_places; i++) {
		struct rf_plan_place *place = &plan->places[i];
		const char *below = rf_path_below(place->path, plan->workspace);

		if (place->fd >= 0)
			continue;
		if (!below)
			return -ENOENT;
		place->fd = rf_open_no_links(plan->workspace_fd, below, O_NOFOLLOW);
		if (place->fd < 0) {
			int r = place->fd;

			place->fd = -1;
			return r;
		}
	}
	return 0;
}

void rf_plan_clear_files(struct rf_plan *plan)
{
	for (size_t i = 0; i < plan->n_places; i++) {
		free(plan->places[i].path);
		rf_close(plan->places[i].fd);
	}
	for (size_t i = 0; i < plan->n_names; i++)
		free(plan->names[i].name);
	free(plan->places);
	free(plan->names);
	plan->places = NULL;
	plan->names = NULL;
	plan->n_places = plan->n_names = 0;
}
