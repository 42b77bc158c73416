/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "policy/git_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

/* A pointer holds one path. */
#define POINTER_MAX_BYTES (PATH_MAX + 64)

void rf_git_tree_clear(struct rf_git_tree *tree)
{
	free(tree->top);
	rf_found_clear(&tree->entry);
	rf_found_clear(&tree->directory);
	rf_found_clear(&tree->common);
	*tree = (struct rf_git_tree){0};
}

/* ---- Reading --------------------------------------------------------------------------------- */

int rf_git_read_found(
	const struct rf_found *found, size_t limit_bytes, char **ret_text, size_t *ret_size_bytes)
{
	int place rf_autoclose = -1;
	int fd rf_autoclose = -1;
	char link[64];

	if (found->kind != RF_FOUND_EXISTING || !S_ISREG(found->mode))
		return -EINVAL;
	place = rf_open_found(-1, NULL, found->path, found->dev, found->ino);
	if (place < 0)
		return place;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	return rf_read_all(fd, limit_bytes, ret_text, ret_size_bytes);
}

int rf_git_resolve_in(
	const struct rf_found *directory, const char *name, struct rf_found *ret_found)
{
	int fd rf_autoclose = -1;
	struct rf_origin origin rf_autoorigin = rf_origin(-1, directory->path);

	if (directory->kind != RF_FOUND_EXISTING)
		return -ESTALE;
	fd = rf_open_found(-1, NULL, directory->path, directory->dev, directory->ino);
	if (fd < 0)
		return fd;
	origin.fd = fd;
	return rf_resolve(&origin, name, ret_found);
}

static int add_entries(
	DIR *entries, unsigned char type, unsigned int *room, struct rf_strv *ret_names)
{
	const struct dirent *entry;
	int r = 0;

	while (r == 0 && (errno = 0, entry = readdir(entries))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (*room == 0)
			return 1;
		(*room)--;
		if (entry->d_type == type || entry->d_type == DT_UNKNOWN)
			r = rf_strv_add(ret_names, entry->d_name);
	}
	return r < 0 ? r : -errno;
}

int rf_git_list(const struct rf_found *directory, unsigned char type, unsigned int *room,
	struct rf_strv *ret_names)
{
	int place rf_autoclose =
		rf_open_found(-1, NULL, directory->path, directory->dev, directory->ino);
	DIR *entries;
	int fd;
	int r;

	if (place < 0)
		return place;
	fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	entries = fdopendir(fd);
	if (!entries) {
		rf_close(fd);
		return -ENOMEM;
	}
	r = add_entries(entries, type, room, ret_names);
	closedir(entries);
	return r;
}

/* The path that a small file holds, its line end cut. 0, -EINVAL or -errno. */
static int read_pointer(const struct rf_found *file, const char *prefix, char **ret_path)
{
	char *text rf_autofree = NULL;
	size_t size = 0;
	int r;

	if (file->links.count > 0)
		return -EINVAL;
	r = rf_git_read_found(file, POINTER_MAX_BYTES, &text, &size);
	if (r < 0 || !text)
		return r < 0 ? r : -EINVAL;
	if (strlen(text) != size || strncmp(text, prefix, strlen(prefix)) != 0)
		return -EINVAL;
	while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
		text[--size] = '\0';
	if (size == strlen(prefix))
		return -EINVAL;
	*ret_path = strdup(text + strlen(prefix));
	return *ret_path ? 0 : -ENOMEM;
}

int rf_git_worktree_top(const struct rf_found *directory, char **ret_top)
{
	struct rf_found file rf_autofound = {0};
	char *named rf_autofree = NULL;
	char *entry rf_autofree = NULL;
	int r = rf_git_resolve_in(directory, "gitdir", &file);

	if (r == 0)
		r = read_pointer(&file, "", &named);
	if (r == -ENOMEM || r == -ESTALE)
		return r;
	*ret_top = NULL;
	if (r < 0)
		return 0;
	entry = rf_path_join(directory->path, named);
	if (entry)
		*ret_top = rf_path_parent(entry);
	return *ret_top ? 0 : -ENOMEM;
}

static int copy_found(const struct rf_found *from, struct rf_found *ret_to)
{
	struct rf_found to rf_autofound = *from;
	int r = 0;

	to.path = strdup(from->path);
	to.links = (struct rf_strv){0};
	for (size_t i = 0; r == 0 && i < from->links.count; i++)
		r = rf_strv_add(&to.links, from->links.items[i]);
	if (!to.path || r < 0)
		return -ENOMEM;
	*ret_to = to;
	to = (struct rf_found){0};
	return 0;
}

/* ---- Finding --------------------------------------------------------------------------------- */

static bool is_directory(const struct rf_found *found)
{
	return found->kind == RF_FOUND_EXISTING && S_ISDIR(found->mode);
}

static bool has_directory(int fd, const char *name)
{
	struct stat st;

	return fstatat(fd, name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

/* What git takes for a repository, without its look into HEAD. */
static bool is_repository(int fd)
{
	struct stat st;

	return fstatat(fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) && has_directory(fd, "objects") &&
	       has_directory(fd, "refs");
}

/* 0; a pointer that cannot be read leads nowhere, for git as well. */
static int follow_pointer(struct rf_git_tree *tree, const struct rf_found *top)
{
	char *path rf_autofree = NULL;
	int r = read_pointer(&tree->entry, "gitdir: ", &path);

	if (r == -ENOMEM)
		return r;
	return r < 0 ? 0 : rf_git_resolve_in(top, path, &tree->directory);
}

static int find_common(struct rf_git_tree *tree)
{
	struct rf_found file rf_autofound = {0};
	char *path rf_autofree = NULL;
	int r = rf_git_resolve_in(&tree->directory, "commondir", &file);

	if (r < 0)
		return r;
	if (file.kind == RF_FOUND_MISSING && file.links.count == 0)
		return copy_found(&tree->directory, &tree->common);
	tree->is_linked = true;
	r = read_pointer(&file, "", &path);
	if (r == -ENOMEM)
		return r;
	return r < 0 ? 0 : rf_git_resolve_in(&tree->directory, path, &tree->common);
}

static int find_entry(struct rf_git_tree *tree, const struct rf_found *top)
{
	int r = rf_git_resolve_in(top, ".git", &tree->entry);

	if (r < 0)
		return r;
	if (tree->entry.links.count > 0)
		tree->kind = RF_GIT_TREE_LINK;
	else if (is_directory(&tree->entry))
		tree->kind = RF_GIT_TREE_DIRECTORY;
	else if (tree->entry.kind != RF_FOUND_MISSING)
		tree->kind = RF_GIT_TREE_POINTER;
	return 0;
}

/* HEAD can be moved away in one run and back in another; the two directories are pinned. */
static int find_bare(struct rf_git_tree *tree, int top_fd, const struct rf_found *top)
{
	struct stat st;

	if (!has_directory(top_fd, "objects") || !has_directory(top_fd, "refs"))
		return 0;
	tree->kind = RF_GIT_TREE_BARE;
	tree->is_doubtful =
		!is_repository(top_fd) || fstatat(top_fd, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0;
	return copy_found(top, &tree->entry);
}

int rf_git_find(int top_fd, const char *top, bool is_bare, struct rf_git_tree *ret_tree)
{
	struct rf_git_tree tree rf_autogit = {.top = strdup(top)};
	struct rf_found root = {.kind = RF_FOUND_EXISTING, .path = tree.top};
	struct stat st;
	int r;

	if (!tree.top)
		return -ENOMEM;
	if (fstat(top_fd, &st) < 0)
		return -errno;
	root.dev = st.st_dev;
	root.ino = st.st_ino;
	root.mode = st.st_mode;
	r = is_bare ? find_bare(&tree, top_fd, &root) : find_entry(&tree, &root);
	if (r == 0 && is_directory(&tree.entry))
		r = copy_found(&tree.entry, &tree.directory);
	else if (r == 0 && tree.kind != RF_GIT_TREE_NONE)
		r = follow_pointer(&tree, &root);
	if (r == 0 && is_directory(&tree.directory))
		r = find_common(&tree);
	if (r < 0)
		return r;
	*ret_tree = tree;
	tree = (struct rf_git_tree){0};
	return 0;
}

/* ---- Checking -------------------------------------------------------------------------------- */

static bool is_same(const struct rf_found *a, const struct rf_found *b)
{
	return a->kind == RF_FOUND_EXISTING && b->kind == RF_FOUND_EXISTING && a->dev == b->dev &&
	       a->ino == b->ino && strcmp(a->path, b->path) == 0;
}

static bool is_owned(const struct rf_found *found, const uid_t owners[2])
{
	int fd rf_autoclose = rf_open_found(-1, NULL, found->path, found->dev, found->ino);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && (st.st_uid == owners[0] || st.st_uid == owners[1]);
}

static bool holds_repository(const struct rf_found *directory)
{
	int fd rf_autoclose =
		rf_open_found(-1, NULL, directory->path, directory->dev, directory->ino);

	return fd >= 0 && is_repository(fd);
}

/* Is directory COMMON/worktrees/NAME? Both are canonical. */
static bool is_in_worktrees(const struct rf_git_tree *tree)
{
	char *worktrees rf_autofree = rf_path_parent(tree->directory.path);
	char *common rf_autofree = worktrees ? rf_path_parent(worktrees) : NULL;

	return common && strcmp(rf_path_name(worktrees), "worktrees") == 0 &&
	       strcmp(common, tree->common.path) == 0;
}

static const char *check_worktree(const struct rf_git_tree *tree, const uid_t owners[2])
{
	struct rf_found file rf_autofound = {0};
	struct rf_found named rf_autofound = {0};
	char *path rf_autofree = NULL;

	if (!is_directory(&tree->common) || !holds_repository(&tree->common))
		return "its commondir leads to no repository";
	if (!is_in_worktrees(tree))
		return "it does not lie in worktrees/ of its common directory";
	if (!is_owned(&tree->common, owners))
		return "its common directory belongs to another user";
	if (rf_git_resolve_in(&tree->directory, "gitdir", &file) < 0 ||
		read_pointer(&file, "", &path) < 0)
		return "it has no file gitdir that names this work tree";
	if (!is_owned(&file, owners))
		return "its file gitdir belongs to another user";
	if (rf_git_resolve_in(&tree->directory, path, &named) < 0 || !is_same(&named, &tree->entry))
		return "its file gitdir names another work tree";
	return NULL;
}

static const char *check_work_tree(const struct rf_git_tree *tree, const char *work_tree)
{
	struct rf_found named rf_autofound = {0};

	if (!holds_repository(&tree->directory))
		return "it is no repository";
	if (!work_tree)
		return "its config has no core.worktree that names this work tree";
	if (rf_git_resolve_in(&tree->directory, work_tree, &named) < 0 ||
		named.kind != RF_FOUND_EXISTING || strcmp(named.path, tree->top) != 0)
		return "its core.worktree names another work tree";
	return NULL;
}

const char *rf_git_check(const struct rf_git_tree *tree, const char *work_tree,
	const uid_t owners[2], const char **ret_path)
{
	*ret_path = tree->entry.path;
	if (tree->kind == RF_GIT_TREE_LINK)
		return "a symbolic link leads to a git directory elsewhere";
	if (!tree->directory.path)
		return "it cannot be read, or does not say where the git directory is";
	*ret_path = tree->directory.path;
	if (!is_directory(&tree->directory))
		return "the git directory that .git names is not there";
	if (tree->entry.kind != RF_FOUND_EXISTING || !is_owned(&tree->entry, owners) ||
		!is_owned(&tree->directory, owners))
		return "it, or the .git that names it, belongs to another user";
	return tree->is_linked ? check_worktree(tree, owners) : check_work_tree(tree, work_tree);
}
