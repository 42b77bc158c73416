/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Views with more binds than bubblewrap takes.
 *
 * A tmpfs is filled with mount points and binds, cloned into a detached tree, and unmounted
 * again; the tree's descriptor goes through bubblewrap to the launcher, which attaches it with one
 * call. Bubblewrap must not see these mounts: it parses mountinfo once for every bind, quadratic in
 * the number of siblings.
 *
 * Attacker-held: whatever lies below the sources, while this runs. Sources are opened without
 * following any link and compared with what was planned; mount points are made on our tmpfs alone.
 */

#include "launch/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/limits.h"
#include "launch/call.h"
#include "launch/fd.h"
#include "launch/userns.h"

struct rf_stage {
	int root; /* of the tmpfs */
	dev_t device;
	/* The directory that the last mount point was made in, to save walks. */
	int parent;
	char parent_path[RF_PATH_MAX_BYTES];
};

static int rf_stage_openat2(int directory, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};

	return (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
}

static int rf_stage_open_root(
	struct rf_stage *stage, const char *directory, struct rf_launch_message *failure)
{
	struct stat status;

	if (unshare(CLONE_NEWNS) < 0)
		return rf_fail(failure, errno, "mount namespace of the staged view");
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return rf_fail(failure, errno, "making / a slave mount");
	if (mount("tmpfs", directory, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0)
		return rf_fail(failure, errno, "staging tmpfs at %s", directory);
	stage->root = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (stage->root < 0 || fstat(stage->root, &status) < 0)
		return rf_fail(failure, errno, "staging tmpfs at %s", directory);
	stage->device = status.st_dev;
	return 0;
}

/* One component below parent: opened when it is there, made when it is missing on our tmpfs. */
static int rf_stage_step_into(const struct rf_stage *stage, int parent, const char *name)
{
	struct stat status;
	int fd = rf_stage_openat2(parent, name, O_PATH,
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	/* Anywhere else a placeholder would land in the user's own tree. */
	if (fstat(parent, &status) < 0 || status.st_dev != stage->device)
		return -ENOENT;
	if (mkdirat(parent, name, 0755) < 0)
		return -errno;
	fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opens the directory path (relative, of plain components), making what is missing. */
static int rf_stage_walk(const struct rf_stage *stage, const char *path, int *ret_fd)
{
	int fd rf_autofd = rf_stage_openat2(stage->root, ".", O_PATH, 0);
	char name[RF_NAME_MAX_BYTES + 1];

	if (fd < 0)
		return -errno;
	while (*path) {
		size_t length = strcspn(path, "/");
		int next;

		if (length == 0 || length >= sizeof(name))
			return -EINVAL;
		memcpy(name, path, length);
		name[length] = 0;
		next = rf_stage_step_into(stage, fd, name);
		if (next < 0)
			return next;
		rf_fd_close_p(&fd);
		fd = next;
		path += length;
		path += *path == '/';
	}
	*ret_fd = RF_TAKE_FD(fd);
	return 0;
}

static bool rf_stage_is_plain(const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");

		if (length == 0 || length > RF_NAME_MAX_BYTES ||
			(length <= 2 && strspn(path, ".") >= length))
			return false;
		path += length;
		path += *path == '/';
	}
	return true;
}

/* stage->parent becomes the directory that holds path; *ret_name its last component. */
static int rf_stage_parent(struct rf_stage *stage, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;
	int fd = -1, r;

	*ret_name = slash ? slash + 1 : path;
	if (length >= sizeof(stage->parent_path) || !**ret_name)
		return -EINVAL;
	if (stage->parent >= 0 && strlen(stage->parent_path) == length &&
		memcmp(stage->parent_path, path, length) == 0)
		return 0;
	rf_fd_close_p(&stage->parent);
	memcpy(stage->parent_path, path, length);
	stage->parent_path[length] = 0;
	r = rf_stage_walk(stage, stage->parent_path, &fd);
	if (r < 0)
		return r;
	stage->parent = fd;
	return 0;
}

/* Opens or makes the mount point. */
static int rf_stage_point(struct rf_stage *stage, const struct rf_stage_item *item, int *ret_fd)
{
	const char *path = item->destination + (item->destination[0] == '/');
	struct stat status;
	const char *name;
	int fd, r;

	if (!rf_stage_is_plain(path))
		return -EINVAL;
	r = rf_stage_parent(stage, path, &name);
	if (r < 0)
		return r;
	if (item->step.is_directory) {
		fd = rf_stage_step_into(stage, stage->parent, name);
	} else {
		fd = rf_stage_openat2(stage->parent, name, O_PATH,
			RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
		if (fd < 0 && errno == ENOENT && fstat(stage->parent, &status) == 0 &&
			status.st_dev == stage->device)
			fd = openat(stage->parent, name,
				O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);
		if (fd < 0)
			fd = -errno;
	}
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

/* The source as it was planned, or a refusal. */
static int rf_stage_source(
	const struct rf_stage_item *item, int *ret_fd, struct rf_launch_message *failure)
{
	int fd rf_autofd = rf_stage_openat2(
		AT_FDCWD, item->source, O_PATH, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	struct stat status;

	if (fd < 0 && errno != ENOENT && errno != ELOOP && errno != ENOTDIR)
		return rf_fail(failure, errno, "opening %s", item->source);
	if (fd < 0 || fstat(fd, &status) < 0 || status.st_dev != item->step.source_dev ||
		status.st_ino != item->step.source_ino ||
		S_ISDIR(status.st_mode) != (item->step.is_directory != 0))
		return rf_fail(failure, ESTALE, "changed while starting: %s", item->source);
	*ret_fd = RF_TAKE_FD(fd);
	return 0;
}

/* A directory at or above the remembered parent was just covered: what lies there is another one
 * now. */
static void rf_stage_forget_covered(struct rf_stage *stage, const struct rf_stage_item *item)
{
	const char *path = item->destination + (item->destination[0] == '/');
	size_t length = strlen(path);

	if (strncmp(stage->parent_path, path, length) == 0 &&
		(stage->parent_path[length] == 0 || stage->parent_path[length] == '/'))
		rf_fd_close_p(&stage->parent);
}

/* A directory without a source: it is there, and empty. */
static int rf_stage_directory(
	struct rf_stage *stage, const struct rf_stage_item *item, struct rf_launch_message *failure)
{
	const char *path = item->destination + (item->destination[0] == '/');
	int fd rf_autofd = -1;
	int r = rf_stage_is_plain(path) ? rf_stage_walk(stage, path, &fd) : -EINVAL;

	return r < 0 ? rf_fail(failure, -r, "directory %s", item->destination) : 0;
}

static int rf_stage_bind(
	struct rf_stage *stage, const struct rf_stage_item *item, struct rf_launch_message *failure)
{
	unsigned int recursive = item->step.is_directory ? AT_RECURSIVE : 0;
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
	int source rf_autofd = -1, point rf_autofd = -1, tree rf_autofd = -1;
	int r;

	if (!*item->source)
		return rf_stage_directory(stage, item, failure);
	r = rf_stage_source(item, &source, failure);
	if (r != 0)
		return r;
	r = rf_stage_point(stage, item, &point);
	if (r < 0)
		return rf_fail(failure, -r, "mount point for %s", item->destination);
	tree = open_tree(
		source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | recursive);
	if (tree < 0)
		return rf_fail(failure, errno, "binding %s", item->source);
	if (item->step.is_read_only)
		attr.attr_set |= MOUNT_ATTR_RDONLY;
	if (mount_setattr(tree, "", AT_EMPTY_PATH | recursive, &attr, sizeof(attr)) < 0)
		return rf_fail(failure, errno, "mount flags of %s", item->source);
	if (move_mount(tree, "", point, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return rf_fail(failure, errno, "mounting %s", item->destination);
	rf_stage_forget_covered(stage, item);
	return 0;
}

/* Read-only, detached, and no longer in this namespace, which bubblewrap is going to copy. */
static int rf_stage_detach(struct rf_stage *stage, const char *directory, int *ret_tree,
	struct rf_launch_message *failure)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
	int top rf_autofd = -1;
	int tree rf_autofd = -1;
	struct stat status;
	int r = rf_stage_walk(stage, RF_STAGE_TOP, &top);

	if (r < 0)
		return rf_fail(failure, -r, "the staged view");
	tree = open_tree(
		top, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	if (tree < 0 || fstat(tree, &status) < 0)
		return rf_fail(failure, errno, "detaching the staged view");
	/* Our own tmpfs is a scaffold; a source at the top has the flags of its own step. */
	if (status.st_dev == stage->device &&
		mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return rf_fail(failure, errno, "making the staged view read-only");
	if (umount2(directory, MNT_DETACH) < 0)
		return rf_fail(failure, errno, "unmounting %s", directory);
	*ret_tree = RF_TAKE_FD(tree);
	return 0;
}

int rf_stage_build(
	const struct rf_keeper_plan *plan, int *ret_tree, struct rf_launch_message *failure)
{
	struct rf_stage stage = {.root = -1, .parent = -1};
	int r = 0;

	if (plan->head.flags & RF_KEEPER_STAGE_USERNS)
		r = rf_userns_make(geteuid(), getegid(), failure);
	if (r == 0)
		r = rf_stage_open_root(&stage, plan->stage, failure);
	for (uint32_t i = 0; r == 0 && i < plan->head.n_stage_steps; i++)
		r = rf_stage_bind(&stage, &plan->steps[i], failure);
	rf_fd_close_p(&stage.parent);
	if (r == 0)
		r = rf_stage_detach(&stage, plan->stage, ret_tree, failure);
	rf_fd_close_p(&stage.root);
	return r;
}
