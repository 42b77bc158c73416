/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Walking a tree: a stack of open directories, each read to its end before its first entry is
 * handed out. A directory is opened by its name below its parent's descriptor, so a walk cannot be
 * led away by what is renamed above it.
 *
 * Stats are fetched a window at a time, so that what is not in memory is waited for together:
 *
 *	names   a b c d e f g h | i j k …
 *	stats   [--- window ---]            one per level, filled through the engine
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/strv.h"
#include "fs/inside.h"

#define WINDOW 64U

struct window {
	size_t start, end; /* of names */
	/* Negative: -errno instead of a stat. 1: on another mount. */
	int state[WINDOW];
	struct rf_fs_stat stats[WINDOW];
};

struct level {
	int fd;
	struct rf_fs_names names;
	size_t next;
	size_t path_size; /* of the walk's path, up to this directory's slash */
	struct window *window;
	void *state;
};

struct walk {
	struct rf_fs *fs;
	const char *start;
	const struct rf_fs_walk_options *options;
	struct rf_fs_result *result;
	struct level *levels;
	size_t n_levels, levels_room;
	struct rf_buf path;
	uint64_t entries_left;
	/* For one window at a time. */
	struct statx found[WINDOW];
	struct rf_fs_call calls[WINDOW];
};

static int fail(struct walk *walk, const char *path, int error)
{
	uint64_t limit = walk->fs->options.entries;

	if (error == E2BIG)
		return rf_fs_refuse_limit(walk->result, RF_FS_LIST, path, E2BIG, "entries", limit);
	return rf_fs_refuse_call(walk->result, RF_FS_LIST, path, error);
}

/* ---- levels -------------------------------------------------------------------------------- */

static void drop_level(struct walk *walk)
{
	struct level *level = &walk->levels[--walk->n_levels];

	rf_close(level->fd);
	rf_fs_names_clear(&level->names);
	free(level->window);
	if (walk->n_levels > 0 && walk->options->leave)
		walk->options->leave(walk->options->userdata, level->state);
}

static void order_names(struct walk *walk, struct rf_fs_names *names)
{
	if (walk->options->is_sorted)
		rf_fs_names_sort(names);
	else if (walk->options->wants_stat &&
		 rf_fs_engine_is_cold(walk->fs->engine, RF_FS_CALL_STAT))
		rf_fs_names_sort_by_inode(names);
}

/* Takes fd, and state only when it answers 0. 0 or RF_REFUSED. */
static int add_level(struct walk *walk, int directory_fd, const char *path, void *state)
{
	int fd rf_autoclose = directory_fd;
	struct level *level;
	int r;

	if (walk->n_levels > walk->fs->options.depth)
		return rf_fs_refuse_limit(
			walk->result, RF_FS_LIST, path, E2BIG, "depth", walk->fs->options.depth);
	if (walk->n_levels == walk->levels_room) {
		size_t room = walk->levels_room ? 2 * walk->levels_room : 16;

		level = realloc(walk->levels, room * sizeof(*level));
		if (!level)
			return fail(walk, path, ENOMEM);
		walk->levels = level;
		walk->levels_room = room;
	}
	level = &walk->levels[walk->n_levels];
	*level = (struct level){.fd = -1, .state = state};
	r = rf_fs_names_read(&level->names, fd, RF_FS_NAMES_ALL, &walk->entries_left);
	if (r == 0 && walk->options->wants_stat) {
		level->window = malloc(sizeof(*level->window));
		r = level->window ? 0 : -ENOMEM;
	}
	if (r < 0) {
		rf_fs_names_clear(&level->names);
		return fail(walk, path, -r);
	}
	if (level->window)
		level->window->start = level->window->end = 0;
	order_names(walk, &level->names);
	level->fd = RF_TAKE_FD(fd);
	level->path_size = walk->path.size;
	walk->n_levels++;
	return 0;
}

/* ---- stats --------------------------------------------------------------------------------- */

static void take_stat(struct walk *walk, struct window *window, size_t i)
{
	window->state[i] = walk->calls[i].result;
	if (window->state[i] < 0)
		return;
	window->state[i] = !rf_fs_is_on_mount(walk->fs, &walk->found[i]);
	rf_fs_stat_from(&walk->found[i], &window->stats[i]);
}

static void fill_window(struct walk *walk, struct level *level)
{
	struct window *window = level->window;
	struct rf_fs_call *back;
	size_t count = level->names.count - level->next;

	if (count > WINDOW)
		count = WINDOW;
	window->start = level->next;
	window->end = level->next + count;
	for (size_t i = 0; i < count; i++) {
		walk->calls[i] = (struct rf_fs_call){
			.kind = RF_FS_CALL_STAT,
			.fd = level->fd,
			.name = rf_fs_name_at(&level->names, level->next + i),
			.statx = &walk->found[i],
		};
		if (rf_fs_engine_issue(walk->fs->engine, &walk->calls[i]))
			take_stat(walk, window, i);
	}
	while ((back = rf_fs_engine_wait(walk->fs->engine)))
		take_stat(walk, window, (size_t)(back - walk->calls));
}

static enum rf_fs_type type_of(const struct walk *walk, const struct level *level, size_t i)
{
	struct rf_fs_stat found;

	(void)walk;
	switch (level->names.items[i].type) {
	case DT_REG:
		return RF_FS_TYPE_FILE;
	case DT_DIR:
		return RF_FS_TYPE_DIRECTORY;
	case DT_LNK:
		return RF_FS_TYPE_SYMLINK;
	case DT_FIFO:
		return RF_FS_TYPE_FIFO;
	case DT_SOCK:
		return RF_FS_TYPE_SOCKET;
	case DT_CHR:
		return RF_FS_TYPE_CHARACTER;
	case DT_BLK:
		return RF_FS_TYPE_BLOCK;
	default:
		/* Not every filesystem tells. */
		if (rf_fs_stat_at(level->fd, rf_fs_name_at(&level->names, i), &found) < 0)
			return RF_FS_TYPE_UNKNOWN;
		return rf_fs_type_of_mode(found.mode);
	}
}

/* Fills type and stat. 0; 1: the entry went away; RF_REFUSED is -1 here: the walk fails. */
static int look(struct walk *walk, struct level *level, size_t i, struct rf_fs_walk_entry *entry)
{
	struct window *window = level->window;
	size_t at;

	if (!window) {
		entry->type = type_of(walk, level, i);
		return entry->type == RF_FS_TYPE_UNKNOWN;
	}
	if (i >= window->end)
		fill_window(walk, level);
	at = i - window->start;
	if (window->state[at] == -ENOENT)
		return 1;
	if (window->state[at] < 0 && !walk->options->skips_unreadable) {
		fail(walk, entry->path, -window->state[at]);
		return -1;
	}
	if (window->state[at] == 0)
		entry->stat = &window->stats[at];
	entry->type = entry->stat ? rf_fs_type_of_mode(entry->stat->mode) : type_of(walk, level, i);
	return entry->type == RF_FS_TYPE_UNKNOWN;
}

/* ---- entries ------------------------------------------------------------------------------- */

static int enter(struct walk *walk, struct rf_fs_walk_entry *entry)
{
	int fd =
		rf_fs_openat(walk->fs, entry->directory_fd, entry->name, O_RDONLY | O_DIRECTORY, 0);
	int r;

	if (fd == -ENOENT || (fd == -EACCES && walk->options->skips_unreadable) ||
		(fd == -EXDEV && walk->options->skips_mounts)) {
		r = 0;
	} else if (fd < 0) {
		r = fail(walk, entry->path, -fd);
	} else {
		r = add_level(walk, fd, entry->path, entry->child_state);
		if (r == 0)
			return 0;
	}
	if (walk->options->leave)
		walk->options->leave(walk->options->userdata, entry->child_state);
	return r;
}

static int name_entry(struct walk *walk, const struct level *level, const char *name)
{
	walk->path.size = level->path_size;
	if (walk->path.size > 0 && rf_buf_add(&walk->path, "/", 1) < 0)
		return fail(walk, name, ENOMEM);
	if (rf_buf_add(&walk->path, name, strlen(name)) < 0)
		return fail(walk, name, ENOMEM);
	return 0;
}

/* 0: go on; 1: done; RF_REFUSED with a failed result is told by result->error. */
static int hand_out(struct walk *walk)
{
	struct level *level = &walk->levels[walk->n_levels - 1];
	size_t i = level->next;
	struct rf_fs_walk_entry entry = {
		.directory_fd = level->fd,
		.depth = (unsigned int)walk->n_levels,
		.name = rf_fs_name_at(&level->names, i),
		.state = level->state,
	};
	int r;

	if (name_entry(walk, level, entry.name))
		return 1;
	entry.path = walk->path.data;
	r = look(walk, level, i, &entry);
	level->next++;
	if (r != 0)
		return r < 0;
	r = walk->options->entry(walk->options->userdata, &entry);
	if (r < 0) {
		fail(walk, entry.path, -r);
		return 1;
	}
	if (r == RF_FS_WALK_DESCEND && entry.type == RF_FS_TYPE_DIRECTORY)
		return enter(walk, &entry) != 0;
	return r == RF_FS_WALK_STOP;
}

static void walk_all(struct walk *walk)
{
	uint64_t count = 0;

	while (walk->n_levels > 0) {
		struct level *level = &walk->levels[walk->n_levels - 1];

		if (level->next == level->names.count) {
			drop_level(walk);
			continue;
		}
		if (count++ % WINDOW == 0 &&
			rf_fs_in_time(walk->fs, walk->result, RF_FS_LIST, walk->start))
			return;
		if (hand_out(walk))
			return;
	}
}

int rf_fs_walk_from(struct rf_fs *fs, int directory_fd, const char *start,
	const struct rf_fs_walk_options *options, struct rf_fs_result *result)
{
	struct walk *walk rf_autofree = calloc(1, sizeof(*walk));

	if (!walk) {
		rf_close(directory_fd);
		return rf_fs_refuse(result, RF_FS_LIST, start, ENOMEM, RF_FS_CODE_NONE, NULL);
	}
	walk->fs = fs;
	walk->start = start;
	walk->options = options;
	walk->result = result;
	walk->entries_left = fs->options.entries;
	if (add_level(walk, directory_fd, start, options->start_state) == 0)
		walk_all(walk);
	while (walk->n_levels > 0)
		drop_level(walk);
	free(walk->levels);
	rf_buf_clear(&walk->path);
	return result->error ? RF_REFUSED : 0;
}

/* ---- from a path --------------------------------------------------------------------------- */

int rf_fs_directory(struct rf_fs *fs, enum rf_fs_operation operation, const char *path,
	struct rf_fs_result *result)
{
	struct rf_fs_where where rf_autowhere = {0};
	int parent_fd rf_autoclose = -1;
	struct statx found;
	int fd, r;

	if (rf_fs_root_stands(fs, result, operation, path) ||
		rf_fs_where(fs, operation, path, &where, result))
		return -1;
	parent_fd = rf_fs_pin(fs, operation, &where, path, result);
	if (parent_fd < 0)
		return -1;
	/* A link is told from a file: ENOTDIR would hide what it is. */
	r = rf_fs_statx(parent_fd, where.name, &found);
	if (r < 0) {
		rf_fs_refuse_call(result, operation, path, -r);
		return -1;
	}
	if (rf_fs_judge_name(fs, result, operation, &where, path, &found))
		return -1;
	fd = rf_fs_openat(fs, parent_fd, where.name, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0) {
		rf_fs_refuse_call(result, operation, path, -fd);
		return -1;
	}
	return fd;
}

int rf_fs_open_directory(struct rf_fs *fs, const char *path, struct rf_fs_result *result)
{
	*result = (struct rf_fs_result){0};
	return rf_fs_directory(fs, RF_FS_LIST, path, result);
}

int rf_fs_walk(struct rf_fs *fs, const char *path, const struct rf_fs_walk_options *options,
	struct rf_fs_result *result)
{
	int fd;

	*result = (struct rf_fs_result){0};
	if (!fs->is_running)
		rf_fs_start(fs);
	fd = rf_fs_directory(fs, RF_FS_LIST, path, result);
	if (fd < 0)
		return RF_REFUSED;
	return rf_fs_walk_from(fs, fd, path, options, result);
}
