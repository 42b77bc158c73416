/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Resolution. The walk goes component by component on O_PATH descriptors, so that the path which
 * it reports is the one that it stood on; whoever can write to these directories can change them
 * during the walk, and then gets the answer for one state or the other, never a mixture: what is
 * mounted later is opened again without following links and compared by identity.
 *
 * Most names have no link in them. For those there is a short way: the parent opened once (siblings
 * share it), one fstatat for the last component.
 */

#include "policy/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"

/* As many as the kernel follows (MAXSYMLINKS). */
#define LINKS_MAX 40

void rf_found_clear(struct rf_found *found)
{
	free(found->path);
	rf_strv_clear(&found->links);
	*found = (struct rf_found){0};
}

void rf_origin_clear(struct rf_origin *origin)
{
	origin->parent_fd = rf_close(origin->parent_fd);
	free(RF_TAKE(origin->parent));
}

/* ---- Opening without links ----------------------------------------------------------------- */

/* The same answer where openat2 is refused: each component is looked at before it is entered. */
static int open_by_steps(int dirfd, const char *path, int flags)
{
	int at rf_autoclose = -1;
	struct stat st;

	at = openat(dirfd, path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -errno;
	path += strspn(path, "/");
	while (*path) {
		char name[NAME_MAX + 1];
		size_t length = strcspn(path, "/");
		int below;

		if (length > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, length);
		name[length] = '\0';
		path += length;
		path += strspn(path, "/");
		below = openat(
			at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC | (*path ? O_DIRECTORY : 0));
		if (below < 0)
			return errno == ENOTDIR &&
					       fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
					       S_ISLNK(st.st_mode)
				       ? -ELOOP
				       : -errno;
		rf_close(at);
		at = below;
		if (fstat(at, &st) < 0)
			return -errno;
		if (S_ISLNK(st.st_mode))
			return -ELOOP;
	}
	if ((flags & O_DIRECTORY) && (fstat(at, &st) < 0 || !S_ISDIR(st.st_mode)))
		return -ENOTDIR;
	return RF_TAKE_FD(at);
}

int rf_open_no_links(int dirfd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_PATH | O_CLOEXEC),
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	if (errno == ENOSYS || errno == EPERM)
		return open_by_steps(dirfd, path, flags);
	return -errno;
}

int rf_open_found(
	int origin_fd, const char *origin_path, const char *path, uint64_t dev, uint64_t ino)
{
	const char *below = origin_fd >= 0 ? rf_path_below(path, origin_path) : NULL;
	int fd rf_autoclose = -1;
	struct stat st;

	if (below)
		fd = rf_open_no_links(origin_fd, *below ? below : ".", 0);
	else
		fd = rf_open_no_links(AT_FDCWD, path, 0);
	if (fd < 0)
		return fd == -ELOOP || fd == -ENOENT || fd == -ENOTDIR ? -ESTALE : fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != dev || st.st_ino != ino)
		return -ESTALE;
	return RF_TAKE_FD(fd);
}

/* ---- The walk -------------------------------------------------------------------------------- */

struct walk {
	int fd;
	/* Canonical path of fd. */
	char path[PATH_MAX];
	/* What is still to be resolved. */
	char rest[PATH_MAX];
	unsigned int n_links;
	struct rf_found *found;
};

static int walk_to_root(struct walk *walk)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	rf_close(walk->fd);
	walk->fd = fd;
	memcpy(walk->path, "/", sizeof("/"));
	return 0;
}

static int walk_up(struct walk *walk)
{
	int fd = openat(walk->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *slash = strrchr(walk->path, '/');

	if (fd < 0)
		return -errno;
	rf_close(walk->fd);
	walk->fd = fd;
	slash[slash == walk->path ? 1 : 0] = '\0';
	return 0;
}

static int extend(const struct walk *walk, const char *name, char ret_path[PATH_MAX])
{
	int n = snprintf(ret_path, PATH_MAX, "%s%s%s", walk->path, walk->path[1] ? "/" : "", name);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* fd is the link named name in the current directory. */
static int follow(struct walk *walk, int fd, const char *name)
{
	char text[PATH_MAX];
	char rest[PATH_MAX];
	char place[PATH_MAX];
	ssize_t n = readlinkat(fd, "", text, sizeof(text) - 1);
	int r;

	if (n < 0)
		return -errno;
	text[n] = '\0';
	if (++walk->n_links > LINKS_MAX)
		return -ELOOP;
	r = extend(walk, name, place);
	if (r < 0)
		return r;
	r = rf_strv_add(&walk->found->links, place);
	if (r == 0)
		r = rf_strv_add(&walk->found->links, text);
	if (r < 0)
		return r;
	if (snprintf(rest, sizeof(rest), "%s/%s", text, walk->rest) >= (int)sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, rest, sizeof(rest));
	return text[0] == '/' ? walk_to_root(walk) : 0;
}

static int found_missing(struct walk *walk, const char *name, int error)
{
	struct rf_found *found = walk->found;
	char *whole rf_autofree = NULL;
	char place[PATH_MAX];
	int r = extend(walk, name, place);

	if (r < 0)
		return r;
	found->kind = RF_FOUND_MISSING;
	found->error = error;
	found->existing_length = strlen(walk->path);
	whole = *walk->rest ? rf_path_join(place, walk->rest) : strdup(place);
	found->path = whole ? rf_path_normalise(whole) : NULL;
	return found->path ? 0 : -ENOMEM;
}

static int found_closed(struct walk *walk, const char *name, int error)
{
	int r = found_missing(walk, name, error);

	walk->found->kind = RF_FOUND_CLOSED;
	return r;
}

static int found_existing(struct walk *walk, const struct stat *st)
{
	struct rf_found *found = walk->found;

	found->kind = RF_FOUND_EXISTING;
	found->path = strdup(walk->path);
	if (!found->path)
		return -ENOMEM;
	found->existing_length = strlen(found->path);
	found->dev = st->st_dev;
	found->ino = st->st_ino;
	found->mode = st->st_mode;
	return 0;
}

/* Takes the next component off rest; false at the end. */
static bool take_name(struct walk *walk, char ret_name[NAME_MAX + 1], bool *ret_is_too_long)
{
	char *rest = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(rest, "/");

	*ret_is_too_long = length > NAME_MAX;
	if (length == 0)
		return false;
	if (!*ret_is_too_long) {
		memcpy(ret_name, rest, length);
		ret_name[length] = '\0';
	}
	rest += length;
	rest += strspn(rest, "/");
	memmove(walk->rest, rest, strlen(rest) + 1);
	return true;
}

static bool is_absence(int error)
{
	return error == ENOENT || error == ENOTDIR;
}

/* Enters one component. 0: go on; RF_REFUSED: found is filled; -errno. */
static int step(struct walk *walk, const char *name)
{
	int fd rf_autoclose = -1;
	char place[PATH_MAX];
	struct stat st;
	int r;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0)
		return walk_up(walk);
	fd = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		if (errno != EACCES && !is_absence(errno))
			return -errno;
		r = is_absence(errno) ? found_missing(walk, name, errno)
				      : found_closed(walk, name, errno);
		return r ? r : RF_REFUSED;
	}
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) {
		r = follow(walk, fd, name);
		if (r != -ELOOP)
			return r;
		r = found_closed(walk, name, ELOOP);
		return r ? r : RF_REFUSED;
	}
	if (*walk->rest && !S_ISDIR(st.st_mode)) {
		r = found_missing(walk, name, ENOTDIR);
		return r ? r : RF_REFUSED;
	}
	r = extend(walk, name, place);
	if (r < 0)
		return r;
	memcpy(walk->path, place, sizeof(walk->path));
	rf_close(walk->fd);
	walk->fd = RF_TAKE_FD(fd);
	return 0;
}

static int walk_all(struct walk *walk)
{
	char name[NAME_MAX + 1];
	bool is_too_long;
	struct stat st;

	while (take_name(walk, name, &is_too_long)) {
		int r = is_too_long ? -ENAMETOOLONG : step(walk, name);

		if (r)
			return r == RF_REFUSED ? 0 : r;
	}
	if (fstat(walk->fd, &st) < 0)
		return -errno;
	return found_existing(walk, &st);
}

static void clear_walk(struct walk *walk)
{
	walk->fd = rf_close(walk->fd);
}

static int walk_from(const struct rf_origin *origin, const char *name, struct rf_found *found)
{
	struct walk walk rf_cleanup(clear_walk) = {.fd = -1, .found = found};
	int r = 0;

	if (strlen(name) >= sizeof(walk.rest) || strlen(origin->path) >= sizeof(walk.path))
		return -ENAMETOOLONG;
	memcpy(walk.rest, name, strlen(name) + 1);
	if (name[0] == '/') {
		r = walk_to_root(&walk);
	} else {
		memcpy(walk.path, origin->path, strlen(origin->path) + 1);
		walk.fd = openat(origin->fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (walk.fd < 0)
			r = -errno;
	}
	return r < 0 ? r : walk_all(&walk);
}

/* ---- The short way --------------------------------------------------------------------------- */

static size_t parent_length(const char *name, size_t length)
{
	while (length > 0 && name[length - 1] != '/')
		length--;
	return length > 0 ? length - 1 : 0;
}

static bool is_open(const struct rf_origin *origin, const char *name, size_t length)
{
	return origin->parent && strlen(origin->parent) == length &&
	       memcmp(origin->parent, name, length) == 0;
}

/* Is the open parent a directory in name's first length bytes? */
static bool is_open_below(const struct rf_origin *origin, const char *name, size_t length)
{
	return origin->parent && origin->parent[0] &&
	       parent_length(origin->parent, strlen(origin->parent)) == length &&
	       memcmp(origin->parent, name, length) == 0;
}

/* Makes parent (relative, normalised) the origin's open one. 0 or -errno. */
static int enter_parent(struct rf_origin *origin, const char *parent, size_t length)
{
	char *copy rf_autofree = NULL;
	int fd;

	if (is_open(origin, parent, length))
		return 0;
	copy = strndup(parent, length);
	if (!copy)
		return -ENOMEM;
	fd = rf_open_no_links(origin->fd, length ? copy : ".", O_DIRECTORY);
	if (fd < 0)
		return fd;
	rf_origin_clear(origin);
	origin->parent_fd = fd;
	origin->parent = RF_TAKE(copy);
	return 0;
}

/* A file of a directory that is not open, in one that is: both are looked at from there. */
static int look_through(struct rf_origin *origin, const char *name, size_t length,
	size_t parent_length_bytes, struct stat *st)
{
	const char *below = name + length + (length > 0);
	char *directory rf_autofree = strndup(below, (size_t)(name + parent_length_bytes - below));
	int r;

	if (!directory)
		return -ENOMEM;
	r = enter_parent(origin, name, length);
	if (r < 0)
		return r;
	if (fstatat(origin->parent_fd, directory, st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st->st_mode))
		return -ENOTDIR;
	if (fstatat(origin->parent_fd, below, st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? RF_REFUSED : -errno;
	return 0;
}

/*
 * What a name stands for: of the open parent itself (a file's directory after the file), of one of
 * its neighbours' files, or of what lies in a parent that is opened for it. 0; RF_REFUSED: its
 * directory is there, it is not; or -errno.
 */
static int look_at(struct rf_origin *origin, const char *name, const char *last, struct stat *st)
{
	size_t length = last == name ? 0 : (size_t)(last - name) - 1;
	size_t above = parent_length(name, length);
	int r;

	if (origin->parent && strcmp(origin->parent, name) == 0)
		return fstat(origin->parent_fd, st) < 0 ? -errno : 0;
	if (length > 0 && !is_open(origin, name, length) &&
		(is_open(origin, name, above) || is_open_below(origin, name, above)))
		return look_through(origin, name, above, length, st);
	r = enter_parent(origin, name, length);
	if (r == 0 && fstatat(origin->parent_fd, last, st, AT_SYMLINK_NOFOLLOW) < 0)
		r = errno == ENOENT ? RF_REFUSED : -errno;
	return r;
}

/* Normalised relative name without "..": 0: found; RF_REFUSED: walk instead; -ENOMEM. */
static int look(struct rf_origin *origin, const char *name, struct rf_found *found)
{
	const char *last = rf_path_name(name);
	struct stat st;
	int r = look_at(origin, name, last, &st);

	if (r == -ENOMEM)
		return r;
	if (r < 0 || (r == 0 && S_ISLNK(st.st_mode)))
		return RF_REFUSED;
	found->path =
		strcmp(name, ".") == 0 ? strdup(origin->path) : rf_path_join(origin->path, name);
	if (!found->path)
		return -ENOMEM;
	found->existing_length = strlen(found->path);
	if (r == RF_REFUSED) {
		/* Its directory was entered without a link: that much exists. */
		found->kind = RF_FOUND_MISSING;
		found->existing_length -= strlen(last) + 1;
		found->existing_length += found->existing_length == 0;
		return 0;
	}
	found->kind = RF_FOUND_EXISTING;
	found->dev = st.st_dev;
	found->ino = st.st_ino;
	found->mode = st.st_mode;
	return 0;
}

bool rf_has_parent_steps(const char *name)
{
	while (*name) {
		size_t length = strcspn(name, "/");

		if (length == 2 && name[0] == '.' && name[1] == '.')
			return true;
		name += length;
		name += strspn(name, "/");
	}
	return false;
}

int rf_resolve(struct rf_origin *origin, const char *name, struct rf_found *ret_found)
{
	struct rf_found found rf_autofound = {0};
	char *plain rf_autofree = NULL;
	bool is_root = strcmp(origin->path, "/") == 0;
	size_t length = strlen(name);
	const char *below;
	int r = RF_REFUSED;

	/* A final slash asks for a directory; the walk and its reader see the type anyway. */
	if (length > 0 && (name[0] != '/' || is_root) && !rf_has_parent_steps(name)) {
		plain = rf_path_normalise(name);
		if (!plain)
			return -ENOMEM;
		below = plain + (plain[0] == '/');
		r = *below ? look(origin, below, &found) : RF_REFUSED;
	}
	if (r == RF_REFUSED)
		r = walk_from(origin, name, &found);
	if (r == -ENAMETOOLONG || r == -EACCES) {
		rf_found_clear(&found);
		found.kind = RF_FOUND_CLOSED;
		found.error = -r;
		found.path = rf_path_join(origin->path, name);
		r = found.path ? 0 : -ENOMEM;
	}
	if (r < 0)
		return r;
	*ret_found = found;
	found = (struct rf_found){0};
	return 0;
}
