/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of this module share. Numbers FS1 to FS5 are the invariants of fs.h. */

#include <sys/stat.h>

#include "fs/engine.h"
#include "fs/fs.h"

struct rf_fs {
	int fd;
	char *canonical; /* "" when the root is "/" */
	char *alias;	 /* the spelling given, made absolute; NULL when it is the canonical one */
	dev_t dev;
	uint64_t ino;
	/* 0: the kernel does not tell (before 5.8); mounts are then told apart by fdinfo. */
	uint64_t mount;
	bool has_openat2;
	/* A file may be written before it has a name (temporary.c). */
	bool is_nameless;
	/* /proc/self/fd of the process proc_pid; -1: there is none. */
	int proc_fd;
	pid_t proc_pid;
	struct rf_fs_options options;
	struct rf_fs_engine_state *engine;
	/* Of the batch or walk that runs. */
	uint64_t deadline_ns;
	uint64_t response_left;
	bool is_running;	      /* a batch; walks within it share its deadline */
	void (*tick)(void *userdata); /* may be NULL */
	void *tick_userdata;
	void (*glob)(
		struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result);
};

/* ---- paths (where.c) ----------------------------------------------------------------------- */

/* A request's path, taken apart. parent is "." for entries of the root. */
struct rf_fs_where {
	char *text;
	const char *parent;
	const char *name;
	bool is_root;
	bool wants_directory; /* it ended in a slash */
};

void rf_fs_where_clear(struct rf_fs_where *where);
#define rf_autowhere rf_cleanup(rf_fs_where_clear)

/* 0 or RF_REFUSED with result filled. */
int rf_fs_where(const struct rf_fs *fs, enum rf_fs_operation operation, const char *path,
	struct rf_fs_where *ret_where, struct rf_fs_result *result);

/* ---- failures (names.c) -------------------------------------------------------------------- */

/*
 * "OPERATION PATH: why", RF_REFUSED. why may be NULL: the errno's own words. As rf_fs_fail, the
 * first failure of a result stays.
 */
int rf_fs_refuse(struct rf_fs_result *result, enum rf_fs_operation operation, const char *path,
	int error, enum rf_fs_code code, const char *why);
/* The errno of a guarded call, ELOOP and EXDEV of which are escapes (FS4). error is positive. */
int rf_fs_refuse_call(
	struct rf_fs_result *result, enum rf_fs_operation operation, const char *path, int error);
int rf_fs_refuse_escape(struct rf_fs_result *result, enum rf_fs_operation operation,
	const char *path, const char *why);
int rf_fs_refuse_changed(struct rf_fs_result *result, enum rf_fs_operation operation,
	const char *path, const char *why);
/* why names the ceiling and prints its value. */
int rf_fs_refuse_limit(struct rf_fs_result *result, enum rf_fs_operation operation,
	const char *path, int error, const char *what, uint64_t limit);

/* What the kernel adds to the path of a descriptor whose name is gone. */
#define RF_FS_DELETED " (deleted)"

/* ---- resolving (resolve.c) ----------------------------------------------------------------- */

#define RF_FS_RESOLVE \
	(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)

/* openat2(directory_fd, path) by the rules of FS1; a descriptor or -errno (-ELOOP: a symbolic
 * link, -EXDEV: a mount point). O_CLOEXEC is added. */
int rf_fs_openat(
	const struct rf_fs *fs, int directory_fd, const char *path, uint64_t flags, mode_t mode);
/* The parent of where, open O_PATH; -1 with result filled. */
int rf_fs_pin(const struct rf_fs *fs, enum rf_fs_operation operation,
	const struct rf_fs_where *where, const char *path, struct rf_fs_result *result);
/* Is the directory still where the request's parent leads? */
bool rf_fs_is_pinned(const struct rf_fs *fs, const struct rf_fs_where *where, int parent_fd);
/* statx(2) of name below directory_fd, or of directory_fd when name is "". 0 or -errno. */
int rf_fs_statx(int directory_fd, const char *name, struct statx *ret_statx);
void rf_fs_stat_from(const struct statx *from, struct rf_fs_stat *ret_stat);
void rf_fs_stat_from_fd(const struct stat *from, struct rf_fs_stat *ret_stat);
/* Does it lie on the root's mount? Unknown (an old kernel) counts as yes: opening decides. */
bool rf_fs_is_on_mount(const struct rf_fs *fs, const struct statx *found);
/* Mount of an open descriptor; 0: unknown. */
uint64_t rf_fs_mount_of(int fd);
/* FS3 and E1's list: a file with one link, or a directory. 0 or RF_REFUSED. */
int rf_fs_judge(struct rf_fs_result *result, enum rf_fs_operation operation, const char *path,
	uint32_t mode, uint64_t links);
/* The same for what stands at a name: on the root's mount as well; a path that ended in a slash
 * names a directory. */
int rf_fs_judge_name(const struct rf_fs *fs, struct rf_fs_result *result,
	enum rf_fs_operation operation, const struct rf_fs_where *where, const char *path,
	const struct statx *found);
/* FS3 of an open file or directory, and that a file's only link is the name below parent_fd that
 * it was opened by. 0 or RF_REFUSED. */
int rf_fs_judge_open(const struct rf_fs *fs, struct rf_fs_result *result,
	enum rf_fs_operation operation, const char *path, int parent_fd, const char *name, int fd,
	struct stat *ret_opened);
/* Opens an existing file for its content, judged before and after; -1 with result filled.
 * ret_stat is of the open file. */
int rf_fs_open_file(const struct rf_fs *fs, enum rf_fs_operation operation,
	const struct rf_fs_where *where, const char *path, int parent_fd, struct stat *ret_stat,
	struct rf_fs_result *result);

/* ---- ceilings (open.c) --------------------------------------------------------------------- */

void rf_fs_start(struct rf_fs *fs);
/* A sign of life for who asked for them. */
void rf_fs_tick(const struct rf_fs *fs);
/* 0 or RF_REFUSED: the deadline has passed. */
int rf_fs_in_time(const struct rf_fs *fs, struct rf_fs_result *result,
	enum rf_fs_operation operation, const char *path);
/* Takes bytes of the response's budget. 0 or RF_REFUSED. */
int rf_fs_take_response(struct rf_fs *fs, struct rf_fs_result *result,
	enum rf_fs_operation operation, const char *path, uint64_t bytes);
/* Is the root still what its path names? 0 or RF_REFUSED. */
int rf_fs_root_stands(const struct rf_fs *fs, struct rf_fs_result *result,
	enum rf_fs_operation operation, const char *path);

/* ---- names that are not there for long (temporary.c) --------------------------------------- */

/* ".ringfence-", 16 hexadecimal digits, ".tmp", NUL */
#define RF_FS_TEMPORARY_BYTES 32
/* Can a file be written and synced below fd before it has a name? */
bool rf_fs_keeps_nameless(int fd);
/* Creates one for parent_fd, O_WRONLY; a descriptor or -errno. Its name is "" where it has none
 * yet.
 */
int rf_fs_temporary(
	struct rf_fs *fs, int parent_fd, mode_t mode, char ret_name[RF_FS_TEMPORARY_BYTES]);
#define RF_FS_TEMPORARY_AGAIN 1
/* Gives it its name. 0, -errno, or RF_FS_TEMPORARY_AGAIN: this host does not link such a file; the
 * next one will have a name from the start. */
int rf_fs_temporary_settle(struct rf_fs *fs, int parent_fd, int fd, const char *temporary,
	const char *name, bool replaces);
/* Takes its name away, if it has one. */
void rf_fs_temporary_drop(int parent_fd, const char *temporary);
/* renameat2 with RENAME_NOREPLACE when it must not replace. 0 or -errno. */
int rf_fs_rename_at(int from_fd, const char *from, int to_fd, const char *to, bool replaces);
/* fsync of a directory that is open O_PATH or otherwise. 0 or -errno. */
int rf_fs_sync_directory(const struct rf_fs *fs, int directory_fd);

/* ---- walking (walk.c) ---------------------------------------------------------------------- */

/* Opens path as a directory to be read; -1 with result filled. */
int rf_fs_directory(struct rf_fs *fs, enum rf_fs_operation operation, const char *path,
	struct rf_fs_result *result);
/* rf_fs_walk from an open directory, which it takes, within the deadline that runs. start is for
 * messages. result is not zeroed. */
int rf_fs_walk_from(struct rf_fs *fs, int directory_fd, const char *start,
	const struct rf_fs_walk_options *options, struct rf_fs_result *result);

/* 0 or errno: HAS_TIMES of a request, on an open file or what a path of ours leads to. */
int rf_fs_set_times(int fd, const struct rf_fs_request *request);
int rf_fs_set_times_at(const char *path, const struct rf_fs_request *request);

/* ---- operations ---------------------------------------------------------------------------- */

void rf_fs_do_list(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result);
void rf_fs_do_snapshot(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result);
void rf_fs_do_mkdir(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result);
void rf_fs_do_rename(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result);
void rf_fs_do_change(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result);
void rf_fs_do_remove(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result);
void rf_fs_do_copy(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result);
void rf_fs_do_digest(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result);
void rf_fs_do_real_path(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result);

/* ---- directories (directory.c) ------------------------------------------------------------- */

/* Names of one directory, read to its end or to a bound. */
struct rf_fs_name {
	uint32_t at;  /* in names */
	uint8_t type; /* DT_ */
	uint64_t ino;
};

struct rf_fs_names {
	char *text;
	size_t text_bytes;
	size_t text_room;
	struct rf_fs_name *items;
	size_t count;
	size_t room;
	bool is_complete;
};

#define RF_FS_NAMES_ALL SIZE_MAX
/*
 * Reads what comes next of the directory, without "." and "..", until its end or until about
 * bytes of names; counts down *entries_left. 0, -E2BIG when that runs out, or -errno.
 */
int rf_fs_names_read(
	struct rf_fs_names *names, int directory_fd, size_t bytes, uint64_t *entries_left);
void rf_fs_names_clear(struct rf_fs_names *names);
#define rf_autonames rf_cleanup(rf_fs_names_clear)
static inline const char *rf_fs_name_at(const struct rf_fs_names *names, size_t i)
{
	return names->text + names->items[i].at;
}
void rf_fs_names_sort(struct rf_fs_names *names);
void rf_fs_names_sort_by_inode(struct rf_fs_names *names);
