/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Removing a tree: a stack of open directories; each is read before anything in it is unlinked, a
 * large one in parts, from the beginning again after each part. Names are unlinked below the
 * descriptor of their directory, whatever they are: a link goes, not what it points to. A
 * directory is entered by openat2, so that a mount stops it (and rmdir refuses the mount point).
 *
 * What is gone is kept as a list of tops, so that it stays short:
 *
 *	a/b/c gone, a/b/d gone      "a/b/c" "a/b/d"
 *	a/b itself gone             "a/b"
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/strv.h"
#include "fs/inside.h"

#define PART_BYTES (4UL * 1024 * 1024)
#define REMOVED_MAX_BYTES (4UL * 1024 * 1024)
#define WINDOW 64U
/* An unlink that took longer waited for a disk. */
#define COLD_NS 60000ULL
/* A directory that is filled while it is emptied. */
#define ROUNDS 16U

struct level {
	int fd;
	struct rf_fs_names names;
	size_t next;
	unsigned int rounds;
	size_t path_size;
	size_t removed_size; /* of the list, when this directory began */
};

struct removal {
	struct rf_fs *fs;
	const struct rf_fs_request *request;
	struct rf_fs_result *result;
	struct level *levels;
	size_t n_levels, room;
	struct rf_buf path; /* relative to the root */
	struct rf_buf removed;
	uint64_t entries_left;
	struct rf_fs_call calls[WINDOW];
	struct statx found[WINDOW];
};

static int failed(struct removal *removal, int error)
{
	const char *path = removal->path.data ? removal->path.data : removal->request->path;

	if (error == E2BIG)
		return rf_fs_refuse_limit(removal->result, RF_FS_REMOVE, path, E2BIG, "entries",
			removal->fs->options.entries);
	return rf_fs_refuse_call(removal->result, RF_FS_REMOVE, path, error);
}

/* ---- paths --------------------------------------------------------------------------------- */

static int set_path(struct removal *removal, const struct level *level, const char *name)
{
	removal->path.size = level->path_size;
	if (rf_buf_add(&removal->path, "/", 1) < 0 ||
		rf_buf_add(&removal->path, name, strlen(name)) < 0)
		return failed(removal, ENOMEM);
	return 0;
}

/* The list is for people: it may be cut, it does not stop the work. */
static void note_removed(struct removal *removal, const struct level *level, const char *name)
{
	struct rf_buf *removed = &removal->removed;
	size_t size = strlen(name) + 1;

	removal->result->n_removed++;
	if (removed->size + level->path_size + size + 1 > REMOVED_MAX_BYTES) {
		removal->result->removed_is_cut = true;
		return;
	}
	if (rf_buf_add(removed, removal->path.data, level->path_size) < 0 ||
		rf_buf_add(removed, "/", 1) < 0 || rf_buf_add(removed, name, size) < 0)
		removal->result->removed_is_cut = true;
}

/* ---- levels -------------------------------------------------------------------------------- */

static int read_part(struct removal *removal, struct level *level)
{
	int r;

	if (level->rounds++ > 0 && lseek(level->fd, 0, SEEK_SET) < 0)
		return failed(removal, errno);
	level->next = 0;
	r = rf_fs_names_read(&level->names, level->fd, PART_BYTES, &removal->entries_left);
	if (r < 0)
		return failed(removal, -r);
	if (rf_fs_engine_is_cold(removal->fs->engine, RF_FS_CALL_STAT))
		rf_fs_names_sort_by_inode(&level->names);
	return 0;
}

/* Takes fd. */
static int add_level(struct removal *removal, int directory_fd)
{
	int fd rf_autoclose = directory_fd;
	struct level *level;

	if (removal->n_levels > removal->fs->options.depth)
		return rf_fs_refuse_limit(removal->result, RF_FS_REMOVE, removal->path.data, E2BIG,
			"depth", removal->fs->options.depth);
	if (removal->n_levels == removal->room) {
		size_t room = removal->room ? 2 * removal->room : 16;

		level = realloc(removal->levels, room * sizeof(*level));
		if (!level)
			return failed(removal, ENOMEM);
		removal->levels = level;
		removal->room = room;
	}
	level = &removal->levels[removal->n_levels++];
	*level = (struct level){
		.fd = RF_TAKE_FD(fd),
		.path_size = removal->path.size,
		.removed_size = removal->removed.size,
	};
	return read_part(removal, level);
}

static void drop_level(struct removal *removal)
{
	struct level *level = &removal->levels[--removal->n_levels];

	rf_close(level->fd);
	rf_fs_names_clear(&level->names);
}

static int enter(struct removal *removal, struct level *level, const char *name)
{
	int fd = rf_fs_openat(removal->fs, level->fd, name, O_RDONLY | O_DIRECTORY, 0);

	if (set_path(removal, level, name)) {
		rf_close(fd);
		return RF_REFUSED;
	}
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return failed(removal, -fd);
	return add_level(removal, fd);
}

/* ---- files --------------------------------------------------------------------------------- */

/* What came of unlinking a name that was no directory. 0; EISDIR, when it became one; or a
 * failure: RF_REFUSED. */
static int take_unlink(struct removal *removal, struct level *level, size_t i, int error)
{
	const char *name = rf_fs_name_at(&level->names, i);

	if (error == 0)
		note_removed(removal, level, name);
	if (error == 0 || error == ENOENT)
		return 0;
	if (error == EISDIR) {
		level->names.items[i].type = DT_DIR;
		return EISDIR;
	}
	if (set_path(removal, level, name) == 0)
		failed(removal, error);
	return RF_REFUSED;
}

static bool is_file(const struct level *level, size_t i)
{
	return i < level->names.count && level->names.items[i].type != DT_DIR;
}

/*
 * Unlinking has to read an inode that is not in memory, while the directory is locked; and then to
 * free what it held, while it is not. So where things are cold the inodes of a window are asked
 * for first, all at once, and then unlinked, all at once.
 */
static void warm(struct removal *removal, const struct level *level, size_t end)
{
	struct rf_fs_engine_state *engine = removal->fs->engine;

	for (size_t i = level->next;
		i < end && is_file(level, i) && rf_fs_engine_is_cold(engine, RF_FS_CALL_STAT);
		i++) {
		struct rf_fs_call *call = &removal->calls[i - level->next];

		*call = (struct rf_fs_call){
			.kind = RF_FS_CALL_STAT,
			.fd = level->fd,
			.name = rf_fs_name_at(&level->names, i),
			.statx = &removal->found[i - level->next],
		};
		(void)rf_fs_engine_issue(engine, call);
	}
	while (rf_fs_engine_wait(engine))
		continue;
}

static int unlink_cold(struct removal *removal, struct level *level, size_t end)
{
	size_t start = level->next, count = 0;
	int r = 0;

	for (; start + count < end && is_file(level, start + count); count++) {
		removal->calls[count] = (struct rf_fs_call){
			.kind = RF_FS_CALL_UNLINK,
			.fd = level->fd,
			.name = rf_fs_name_at(&level->names, start + count),
			.waits = true,
		};
		(void)rf_fs_engine_issue(removal->fs->engine, &removal->calls[count]);
	}
	while (rf_fs_engine_wait(removal->fs->engine))
		continue;
	/* All of them are told, also after one that failed. */
	for (size_t i = 0; i < count; i++) {
		int taken = take_unlink(removal, level, start + i, -removal->calls[i].result);

		r = r ? r : taken;
		if (r == 0)
			level->next++;
	}
	return r;
}

static int unlink_warm(struct removal *removal, struct level *level, size_t end)
{
	uint64_t before_ns = rf_monotonic_ns(), now_ns;

	for (; level->next < end && is_file(level, level->next); level->next++) {
		const char *name = rf_fs_name_at(&level->names, level->next);
		int error = unlinkat(level->fd, name, 0) == 0 ? 0 : errno;
		int r = take_unlink(removal, level, level->next, error);

		if (r)
			return r;
		now_ns = rf_monotonic_ns();
		if (now_ns - before_ns > COLD_NS)
			rf_fs_engine_note_cold(removal->fs->engine, RF_FS_CALL_STAT);
		before_ns = now_ns;
	}
	return 0;
}

/* Unlinks the files of a window, from level->next on; stops at a directory. 0 or RF_REFUSED. */
static int unlink_window(struct removal *removal, struct level *level)
{
	size_t end = level->next + WINDOW;
	int r;

	if (rf_fs_in_time(removal->fs, removal->result, RF_FS_REMOVE, removal->request->path))
		return RF_REFUSED;
	if (rf_fs_engine_is_cold(removal->fs->engine, RF_FS_CALL_STAT))
		warm(removal, level, end);
	/* Asking may have shown that all is in memory. */
	if (rf_fs_engine_is_cold(removal->fs->engine, RF_FS_CALL_STAT))
		r = unlink_cold(removal, level, end);
	else
		r = unlink_warm(removal, level, end);
	return r == EISDIR ? 0 : r;
}

/* ---- directories --------------------------------------------------------------------------- */

/* The directory on top is empty as far as was seen: takes it away. 0 or RF_REFUSED. */
static int leave(struct removal *removal)
{
	struct level *level = &removal->levels[removal->n_levels - 1];
	struct level *above = level - 1;
	const char *name;
	int error;

	removal->path.size = level->path_size;
	removal->path.data[level->path_size] = '\0';
	if (!level->names.is_complete)
		return read_part(removal, level);
	/* The tree's own top is taken away by who pinned its parent. */
	if (removal->n_levels == 1) {
		drop_level(removal);
		return 0;
	}
	name = rf_fs_name_at(&above->names, above->next);
	error = unlinkat(above->fd, name, AT_REMOVEDIR) == 0 ? 0 : errno;
	if (error == ENOTEMPTY && level->rounds < ROUNDS)
		return read_part(removal, level);
	if (error && error != ENOENT)
		return failed(removal, error);
	removal->removed.size = level->removed_size;
	drop_level(removal);
	above->next++;
	note_removed(removal, above, rf_fs_name_at(&above->names, above->next - 1));
	return 0;
}

static int step(struct removal *removal)
{
	struct level *level = &removal->levels[removal->n_levels - 1];
	size_t depth = removal->n_levels;
	int r;

	if (level->next == level->names.count)
		return leave(removal);
	if (level->names.items[level->next].type != DT_DIR)
		return unlink_window(removal, level);
	r = enter(removal, level, rf_fs_name_at(&level->names, level->next));
	/* It went away: there is nothing to enter. */
	if (r == 0 && removal->n_levels == depth)
		removal->levels[depth - 1].next++;
	return r;
}

/* Empties the directory, which it takes. 0 or RF_REFUSED. */
static int empty(struct removal *removal, int directory_fd, const struct rf_fs_where *where)
{
	int r;

	if (rf_buf_add(&removal->path, where->text, strlen(where->text)) < 0) {
		rf_close(directory_fd);
		return failed(removal, ENOMEM);
	}
	r = add_level(removal, directory_fd);
	while (r == 0 && removal->n_levels > 0)
		r = step(removal);
	return r;
}

static void removal_clear(struct removal **removal)
{
	struct removal *all = *removal;

	if (!all)
		return;
	while (all->n_levels > 0)
		drop_level(all);
	free(all->levels);
	rf_buf_clear(&all->path);
	rf_buf_clear(&all->removed);
	free(all);
}

static void report(struct removal *removal)
{
	struct rf_fs_result *result = removal->result;

	if (!result->error || removal->removed.size == 0)
		return;
	result->removed = RF_TAKE(removal->removed.data);
	result->removed_size_bytes = removal->removed.size;
}

/* ---- the operation ------------------------------------------------------------------------- */

static void remove_directory(struct rf_fs *fs, const struct rf_fs_request *request,
	const struct rf_fs_where *where, int parent_fd, struct rf_fs_result *result)
{
	struct removal *removal rf_cleanup(removal_clear) = calloc(1, sizeof(*removal));
	int fd = rf_fs_openat(fs, parent_fd, where->name, O_RDONLY | O_DIRECTORY, 0);

	if (!removal || fd < 0) {
		rf_fs_refuse_call(result, RF_FS_REMOVE, request->path, removal ? -fd : ENOMEM);
		rf_close(fd);
		return;
	}
	removal->fs = fs;
	removal->request = request;
	removal->result = result;
	removal->entries_left = fs->options.entries;
	if (empty(removal, fd, where) == 0) {
		if (unlinkat(parent_fd, where->name, AT_REMOVEDIR) == 0)
			result->n_removed++;
		else
			failed(removal, errno);
	}
	report(removal);
}

static bool is_missing(const struct rf_fs_request *request, int error)
{
	return request->flags & RF_FS_FORCE && (error == ENOENT || error == ENOTDIR);
}

/* One parent for the tree; 0 or RF_REFUSED (with no failure when force has nothing to do). */
static int find_top(struct rf_fs *fs, const struct rf_fs_request *request,
	const struct rf_fs_where *where, int *ret_parent_fd, struct statx *ret_found,
	struct rf_fs_result *result)
{
	int parent_fd = rf_fs_openat(fs, fs->fd, where->parent, O_PATH | O_DIRECTORY, 0);
	int r = parent_fd;

	if (parent_fd >= 0) {
		*ret_parent_fd = parent_fd;
		r = rf_fs_statx(parent_fd, where->name, ret_found);
	}
	if (r < 0 && is_missing(request, -r))
		return RF_REFUSED;
	if (r < 0)
		return rf_fs_refuse_call(result, RF_FS_REMOVE, request->path, -r);
	return rf_fs_judge_name(fs, result, RF_FS_REMOVE, where, request->path, ret_found);
}

void rf_fs_do_remove(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result)
{
	struct rf_fs_where where rf_autowhere = {0};
	int parent_fd rf_autoclose = -1, r;
	struct statx found = {0};

	if (rf_fs_where(fs, RF_FS_REMOVE, request->path, &where, result))
		return;
	if (where.is_root) {
		rf_fs_refuse_call(result, RF_FS_REMOVE, request->path, EBUSY);
		return;
	}
	if (find_top(fs, request, &where, &parent_fd, &found, result))
		return;
	if (S_ISDIR(found.stx_mode)) {
		remove_directory(fs, request, &where, parent_fd, result);
	} else if (unlinkat(parent_fd, where.name, 0) == 0) {
		result->n_removed = 1;
	} else if (!is_missing(request, errno)) {
		rf_fs_refuse_call(result, RF_FS_REMOVE, request->path, errno);
	}
	if (!result->error && request->flags & RF_FS_SYNC) {
		r = rf_fs_sync_directory(fs, parent_fd);
		if (r < 0)
			rf_fs_refuse_call(result, RF_FS_REMOVE, request->path, -r);
	}
}
