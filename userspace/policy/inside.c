/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "policy/inside.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/path.h"

#define LINKS_MAX 40
#define GROUPS_MAX 65536

/* Full access has no view: everything is the host's. */
static const struct rf_view_step whole_host = {
	.kind = RF_VIEW_BIND, .destination = (char *)"/", .source = (char *)"/", .source_fd = -1};

static bool is_mount(const struct rf_view_step *step)
{
	return step->kind != RF_VIEW_DIRECTORY && step->kind != RF_VIEW_SYMLINK &&
	       step->kind != RF_VIEW_REMOUNT_RO;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* The innermost mount at or above path; of several at one place the last one shows. */
static const struct rf_view_step *mount_of(const struct rf_plan *plan, const char *path)
{
	const struct rf_view_step *found = NULL;
	size_t found_length = 0;

	if (plan->mode == RF_MODE_FULL_ACCESS)
		return &whole_host;
	for (size_t i = 0; i < plan->n_view; i++) {
		const struct rf_view_step *step = &plan->view[i];
		size_t length = strlen(step->destination);

		if (!is_mount(step) || length < found_length ||
			!rf_path_is_within(path, step->destination))
			continue;
		found = step;
		found_length = length;
	}
	return found;
}

/* The step that makes this very place, or NULL. */
static const struct rf_view_step *step_at(const struct rf_plan *plan, const char *path)
{
	const struct rf_view_step *found = NULL;

	for (size_t i = 0; i < plan->n_view; i++) {
		if (plan->view[i].kind != RF_VIEW_REMOUNT_RO &&
			strcmp(plan->view[i].destination, path) == 0)
			found = &plan->view[i];
	}
	return found;
}

/* Does anything stand below, so that the way there exists? */
static bool is_on_the_way(const struct rf_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_view; i++) {
		if (rf_path_is_within(plan->view[i].destination, path))
			return true;
	}
	for (size_t i = 0; i < plan->directories.count; i++) {
		if (rf_path_is_within(plan->directories.items[i], path))
			return true;
	}
	return false;
}

static bool is_remounted(const struct rf_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_view; i++) {
		if (plan->view[i].kind == RF_VIEW_REMOUNT_RO &&
			strcmp(plan->view[i].destination, path) == 0)
			return true;
	}
	return false;
}

/* Made when the run starts, below what is writable already. */
static bool is_to_be_made(const struct rf_plan *plan, const char *path)
{
	const char *below = rf_path_below(path, plan->workspace);

	for (size_t i = 0; below && i < plan->create.count; i++) {
		if (rf_path_is_within(plan->create.items[i], below))
			return true;
	}
	return false;
}

/* ---- Objects --------------------------------------------------------------------------------- */

static void set_made(const struct rf_plan *plan, struct rf_inside_object *object,
	enum rf_inside_kind kind, mode_t perms)
{
	object->kind = kind;
	object->mode = perms;
	object->uid = plan->uid;
	object->gid = plan->gid;
}

static enum rf_inside_kind kind_of(mode_t mode)
{
	if (S_ISREG(mode))
		return RF_INSIDE_FILE;
	if (S_ISDIR(mode))
		return RF_INSIDE_DIRECTORY;
	if (S_ISLNK(mode))
		return RF_INSIDE_LINK;
	return S_ISCHR(mode) || S_ISBLK(mode) ? RF_INSIDE_DEVICE : RF_INSIDE_OTHER;
}

/* Looks at the host: object is filled and 0, or ENOENT and the like. */
static int look(const char *path, struct rf_inside_object *object)
{
	struct statvfs mounted;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno;
	object->kind = kind_of(st.st_mode);
	object->mode = st.st_mode & 07777;
	object->uid = st.st_uid;
	object->gid = st.st_gid;
	if (object->kind != RF_INSIDE_LINK && statvfs(path, &mounted) == 0) {
		object->is_read_only |= mounted.f_flag & ST_RDONLY;
		object->has_no_exec |= mounted.f_flag & ST_NOEXEC;
	}
	return 0;
}

/* The host's path of what is seen at path in a bind; false: too long. */
static bool source_of(const struct rf_view_step *bind, const char *path, char ret_source[PATH_MAX])
{
	const char *below = rf_path_below(path, bind->destination);
	const char *base = strcmp(bind->source, "/") == 0 ? "" : bind->source;

	return snprintf(ret_source, PATH_MAX, "%s%s%s", base, *below || !*base ? "/" : "", below) <
	       PATH_MAX;
}

static int look_in_bind(
	const struct rf_plan *plan, const char *path, struct rf_inside_object *object)
{
	char source[PATH_MAX];
	int error;

	if (!source_of(object->mount, path, source))
		return ENAMETOOLONG;
	error = look(source, object);
	if (error == ENOENT && is_to_be_made(plan, path)) {
		set_made(plan, object, RF_INSIDE_DIRECTORY, 0755);
		error = 0;
	}
	object->is_read_only |= object->mount->kind == RF_VIEW_BIND_RO;
	/* Of what is bound, only a device that was asked for can be opened as one. */
	if (object->kind == RF_INSIDE_DEVICE && object->mount->kind != RF_VIEW_BIND_DEV &&
		plan->mode != RF_MODE_FULL_ACCESS)
		object->kind = RF_INSIDE_CLOSED;
	return error;
}

/* Below /proc: what belongs to a process is not the planner's to say. */
static int look_in_proc(
	const struct rf_plan *plan, const char *path, struct rf_inside_object *object)
{
	static const char *const live[] = {"self", "thread-self", "net", "mounts", "kmsg", "kcore"};
	const char *below = rf_path_below(path, object->mount->destination);
	size_t length = strcspn(below, "/");
	char source[PATH_MAX];

	object->kind = RF_INSIDE_LIVE;
	object->has_no_exec = true;
	if (below[0] >= '0' && below[0] <= '9')
		return 0;
	for (size_t i = 0; i < RF_ARRAY_SIZE(live); i++) {
		if (strlen(live[i]) == length && memcmp(below, live[i], length) == 0)
			return 0;
	}
	if (snprintf(source, sizeof(source), "/proc/%s", below) >= (int)sizeof(source))
		return ENAMETOOLONG;
	object->is_read_only = !plan->has_user_namespace &&
			       (rf_path_is_within(source, "/proc/sys") ||
				       rf_path_is_within(source, "/proc/sysrq-trigger"));
	return look(source, object);
}

/* bubblewrap's own /dev. */
static int look_in_dev(
	const struct rf_plan *plan, const char *path, struct rf_inside_object *object)
{
	static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};
	static const char *const links[] = {"stdin", "stdout", "stderr", "fd", "core", "ptmx"};
	const char *below = rf_path_below(path, object->mount->destination);

	for (size_t i = 0; i < RF_ARRAY_SIZE(devices); i++) {
		if (strcmp(below, devices[i]) == 0) {
			set_made(plan, object, RF_INSIDE_DEVICE, 0666);
			return 0;
		}
	}
	for (size_t i = 0; i < RF_ARRAY_SIZE(links); i++) {
		if (strcmp(below, links[i]) == 0) {
			object->kind = RF_INSIDE_LIVE;
			return 0;
		}
	}
	if (rf_path_is_within(below, "pts") || strcmp(below, "console") == 0) {
		object->kind = RF_INSIDE_LIVE;
		return 0;
	}
	return ENOENT;
}

static int look_at_step(const struct rf_plan *plan, const struct rf_view_step *step,
	struct rf_inside_object *object)
{
	switch (step->kind) {
	case RF_VIEW_TMPFS:
	case RF_VIEW_DIRECTORY:
		set_made(plan, object, RF_INSIDE_DIRECTORY, step->perms ? step->perms : 0755);
		return 0;
	case RF_VIEW_PROC:
		set_made(plan, object, RF_INSIDE_DIRECTORY, 0555);
		return 0;
	case RF_VIEW_DEV:
		set_made(plan, object, RF_INSIDE_DIRECTORY, 0755);
		return 0;
	case RF_VIEW_DATA:
		set_made(plan, object, RF_INSIDE_FILE, step->perms ? step->perms : 0644);
		object->is_read_only = true;
		return 0;
	case RF_VIEW_MASK:
		set_made(plan, object, step->is_directory ? RF_INSIDE_DIRECTORY : RF_INSIDE_CLOSED,
			0);
		object->is_read_only = true;
		return 0;
	case RF_VIEW_SYMLINK:
		object->kind = RF_INSIDE_LINK;
		return 0;
	case RF_VIEW_BIND:
	case RF_VIEW_BIND_RO:
	case RF_VIEW_BIND_DEV:
		if (step->source_dev == 0 && step->source_ino == 0) {
			set_made(plan, object, RF_INSIDE_DIRECTORY, 0755);
			return 0;
		}
		return look_in_bind(plan, step->destination, object);
	case RF_VIEW_REMOUNT_RO:
		break;
	}
	return ENOENT;
}

/* What stands at path, whose directories are there and have no link in them. */
static int find_object(
	const struct rf_plan *plan, const char *path, struct rf_inside_object *ret_object)
{
	const struct rf_view_step *step = step_at(plan, path);
	struct rf_inside_object object = {.mount = mount_of(plan, path)};
	int error = ENOENT;

	object.is_read_only = is_remounted(plan, object.mount ? object.mount->destination : "/");
	if (step)
		error = look_at_step(plan, step, &object);
	else if (!object.mount || object.mount->kind == RF_VIEW_TMPFS)
		error = ENOENT;
	else if (object.mount->kind == RF_VIEW_PROC)
		error = look_in_proc(plan, path, &object);
	else if (object.mount->kind == RF_VIEW_DEV)
		error = look_in_dev(plan, path, &object);
	else if (object.mount->source)
		error = look_in_bind(plan, path, &object);
	if (error == ENOENT && !(object.mount && object.mount->source) &&
		is_on_the_way(plan, path)) {
		set_made(plan, &object, RF_INSIDE_DIRECTORY, 0755);
		error = 0;
	}
	if (error)
		object.kind = RF_INSIDE_MISSING;
	*ret_object = object;
	return error == ENOENT ? 0 : error;
}

static int read_link(const struct rf_plan *plan, const char *path,
	const struct rf_inside_object *object, char ret_text[PATH_MAX])
{
	const struct rf_view_step *step = step_at(plan, path);
	char source[PATH_MAX];
	ssize_t n;

	if (step && step->kind == RF_VIEW_SYMLINK) {
		snprintf(ret_text, PATH_MAX, "%s", step->data);
		return 0;
	}
	if (!object->mount || !object->mount->source)
		return ENOENT;
	if (!source_of(object->mount, path, source))
		return ENAMETOOLONG;
	n = readlink(source, ret_text, PATH_MAX - 1);
	if (n < 0)
		return errno;
	ret_text[n] = '\0';
	return 0;
}

/* ---- Permission ------------------------------------------------------------------------------ */

static bool has_group(const struct rf_plan *plan, gid_t gid)
{
	gid_t *groups rf_autofree = NULL;
	int count;

	if (gid == plan->gid)
		return true;
	/* Whom a user namespace holds cannot drop them. */
	if (plan->changes_user || !(plan->keeps_groups || plan->has_user_namespace))
		return false;
	count = getgroups(0, NULL);
	if (count <= 0 || count > GROUPS_MAX)
		return false;
	groups = calloc((size_t)count, sizeof(*groups));
	count = groups ? getgroups(count, groups) : 0;
	for (int i = 0; i < count; i++) {
		if (groups[i] == gid)
			return true;
	}
	return false;
}

bool rf_inside_may(
	const struct rf_plan *plan, const struct rf_inside_object *object, unsigned int want)
{
	unsigned int bits = object->mode;

	/* Confined, root has no capability either. */
	if (plan->mode == RF_MODE_FULL_ACCESS && plan->uid == 0)
		return !(want & 1) || object->kind == RF_INSIDE_DIRECTORY || (bits & 0111);
	if (object->uid == plan->uid)
		bits >>= 6;
	else if (has_group(plan, object->gid))
		bits >>= 3;
	return (bits & want) == want;
}

/* ---- The walk -------------------------------------------------------------------------------- */

struct walk {
	const struct rf_plan *plan;
	struct rf_inside *inside;
	char rest[PATH_MAX];
	unsigned int n_links;
};

static int start_walk(struct walk *walk, const char *path)
{
	struct rf_inside *inside = walk->inside;

	if (snprintf(walk->rest, sizeof(walk->rest), "%s", path) >= (int)sizeof(walk->rest))
		return ENAMETOOLONG;
	snprintf(inside->path, sizeof(inside->path), "%s",
		path[0] == '/' ? "/" : walk->plan->directory);
	return find_object(walk->plan, inside->path, &inside->object);
}

static int go_up(struct walk *walk)
{
	struct rf_inside *inside = walk->inside;
	char *slash = strrchr(inside->path, '/');

	slash[slash == inside->path ? 1 : 0] = '\0';
	return find_object(walk->plan, inside->path, &inside->object);
}

/* The rest of the walk goes through what the link says. */
static int follow(struct walk *walk, const char *path, const struct rf_inside_object *link)
{
	char text[PATH_MAX];
	char rest[PATH_MAX];
	int error = read_link(walk->plan, path, link, text);

	if (error)
		return error;
	if (++walk->n_links > LINKS_MAX)
		return ELOOP;
	if (snprintf(rest, sizeof(rest), "%s/%s", text, walk->rest) >= (int)sizeof(rest))
		return ENAMETOOLONG;
	memcpy(walk->rest, rest, sizeof(rest));
	if (text[0] != '/')
		return 0;
	memcpy(walk->inside->path, "/", 2);
	return find_object(walk->plan, "/", &walk->inside->object);
}

/* Enters one name of the directory in hand. */
static int enter(struct walk *walk, const char *name, bool is_last)
{
	struct rf_inside *inside = walk->inside;
	struct rf_inside_object below;
	char path[PATH_MAX];
	int error;

	if (inside->object.kind == RF_INSIDE_LIVE)
		return 0;
	if (inside->object.kind == RF_INSIDE_MISSING)
		return ENOENT;
	if (inside->object.kind != RF_INSIDE_DIRECTORY)
		return ENOTDIR;
	if (!rf_inside_may(walk->plan, &inside->object, 1))
		return EACCES;
	if (strcmp(name, "..") == 0)
		return go_up(walk);
	if (snprintf(path, sizeof(path), "%s%s%s", inside->path, inside->path[1] ? "/" : "",
		    name) >= (int)sizeof(path))
		return ENAMETOOLONG;
	error = find_object(walk->plan, path, &below);
	if (error)
		return error;
	if (below.kind == RF_INSIDE_LINK)
		return follow(walk, path, &below);
	if (is_last)
		inside->parent = inside->object;
	inside->object = below;
	memcpy(inside->path, path, sizeof(path));
	return 0;
}

static int walk_all(struct walk *walk)
{
	for (;;) {
		char *rest = walk->rest + strspn(walk->rest, "/");
		size_t length = strcspn(rest, "/");
		char name[NAME_MAX + 1];
		bool is_last;
		int error;

		if (length == 0)
			return 0;
		if (length > NAME_MAX)
			return ENAMETOOLONG;
		memcpy(name, rest, length);
		name[length] = '\0';
		rest += length;
		rest += strspn(rest, "/");
		is_last = !*rest;
		memmove(walk->rest, rest, strlen(rest) + 1);
		if (strcmp(name, ".") == 0)
			continue;
		error = enter(walk, name, is_last);
		if (error)
			return error;
	}
}

int rf_inside_find(const struct rf_plan *plan, const char *path, struct rf_inside *ret_inside)
{
	struct rf_inside inside = {0};
	struct walk walk = {.plan = plan, .inside = &inside};
	size_t length = strlen(path);
	bool wants_directory = length > 1 && path[length - 1] == '/';
	int error = start_walk(&walk, path);

	if (error == 0)
		error = walk_all(&walk);
	if (error == ENOMEM)
		return -ENOMEM;
	if (error == 0 && wants_directory && inside.object.kind != RF_INSIDE_DIRECTORY &&
		inside.object.kind != RF_INSIDE_LIVE)
		error = inside.object.kind == RF_INSIDE_MISSING ? ENOENT : ENOTDIR;
	inside.is_last = error == 0;
	inside.error = error;
	*ret_inside = inside;
	return 0;
}
