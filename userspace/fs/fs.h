/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The guarded filesystem: a root that is opened once, a stream of requests, a result for each.
 *
 * No request reaches anything but regular files and directories below the root:
 *
 *	FS1  every resolution starts at the root's descriptor and meets no symbolic link, no magic
 *	     link, no mount point and no ".." (openat2(2), or component by component without it);
 *	FS2  the last step of every change is relative to a parent that is held open;
 *	FS3  a file is looked at through its own descriptor before a byte of it moves: regular, and
 *	     its one link is the name that it was opened by;
 *	FS4  what is refused is refused with EACCES and RF_FS_CODE_ESCAPE, before any effect;
 *	FS5  ceilings are checked before the work that they bound.
 *
 * Which engine runs (io_uring or plain system calls) changes speed, never a result.
 *
 * A struct rf_fs is used by one thread at a time; several may be open on one root.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct rf_fs;

/* ---- opening ------------------------------------------------------------------------------- */

enum rf_fs_engine {
	RF_FS_ENGINE_AUTO,
	RF_FS_ENGINE_URING,
	RF_FS_ENGINE_PLAIN,
};

/* Defaults; 0 in an option means the default. */
#define RF_FS_CONTENT_BYTES (16ULL * 1024 * 1024)
#define RF_FS_REQUEST_BYTES (24ULL * 1024 * 1024)
#define RF_FS_RESPONSE_BYTES (24ULL * 1024 * 1024)
#define RF_FS_DEADLINE_MS (5ULL * 60 * 1000)
#define RF_FS_ENTRIES 100000ULL
#define RF_FS_DEPTH 512U
#define RF_FS_PATTERN_BYTES 4096U
#define RF_FS_PATTERN_ALTERNATIVES 64U
/* What an option may be raised to. */
#define RF_FS_CONTENT_MAX_BYTES (1ULL << 30)
#define RF_FS_ENTRIES_MAX 100000000ULL
#define RF_FS_DEPTH_MAX 4096U
#define RF_FS_CONCURRENCY_MAX 256U
#define RF_FS_DEADLINE_MAX_MS (24ULL * 3600 * 1000)

struct rf_fs_options {
	enum rf_fs_engine engine;
	/* CPUs' worth of work in flight; 0: as many as the caller may run on. */
	unsigned int concurrency;
	/* For one rf_fs_batch or walk, from its start. */
	uint64_t deadline_ms;
	/* Content that one request carries or asks for. */
	uint64_t content_bytes;
	/* Content and paths of all requests of a batch; content and entries of all its results. */
	uint64_t request_bytes;
	uint64_t response_bytes;
	/* Directory entries read on behalf of one request (list, glob, remove, copy, snapshot),
	 * and requests of one batch. */
	uint64_t entries;
	/* Directories below the one that a walk starts in. */
	unsigned int depth;
};

/*
 * Opens root, a directory. options may be NULL. root itself may be reached through symbolic links:
 * whoever names the root decides. Both the spelling given and the canonical one are accepted as
 * the start of absolute paths in requests.
 * 0; -EINVAL: an option beyond its bound; -ENOTDIR, -ENOENT and others of open(2).
 */
int rf_fs_open(struct rf_fs **ret, const char *root, const struct rf_fs_options *options);
/* Closes; takes NULL; returns NULL. */
struct rf_fs *rf_fs_free(struct rf_fs *fs);

static inline void rf_fs_free_p(struct rf_fs **fs)
{
	*fs = rf_fs_free(*fs);
}

/* struct rf_fs *fs rf_autofs = NULL; */
#define rf_autofs rf_cleanup(rf_fs_free_p)

/* The options in force, defaults filled in. Borrowed. */
const struct rf_fs_options *rf_fs_options(const struct rf_fs *fs);
/* Canonical path of the root, without a trailing slash ("" of "/"). Borrowed. */
const char *rf_fs_root(const struct rf_fs *fs);
/* The other spelling of it, as the caller of rf_fs_open named it; NULL when it is the same. */
const char *rf_fs_alias(const struct rf_fs *fs);
/*
 * The engine that serves: RF_FS_ENGINE_URING or RF_FS_ENGINE_PLAIN. ret_why (may be NULL) gets a
 * borrowed word or two on why it is not io_uring ("io_uring_setup: EPERM", "asked for"), else NULL.
 */
enum rf_fs_engine rf_fs_engine(struct rf_fs *fs, const char **ret_why);

/* ---- requests ------------------------------------------------------------------------------ */

enum rf_fs_operation {
	RF_FS_READ,	 /* content, stat */
	RF_FS_WRITE,	 /* in place, at offset; open_flags decide on creating and truncating */
	RF_FS_APPEND,	 /* at the end */
	RF_FS_REPLACE,	 /* all at once: after a crash there is the old content or the new */
	RF_FS_STAT,	 /* stat */
	RF_FS_EXISTS,	 /* exists; a missing ancestor is no error */
	RF_FS_LIST,	 /* entries of a directory */
	RF_FS_MKDIR,	 /* mode */
	RF_FS_RENAME,	 /* path to target */
	RF_FS_REMOVE,	 /* file or empty directory; with RF_FS_RECURSIVE a tree */
	RF_FS_COPY,	 /* path to target */
	RF_FS_DIGEST,	 /* SHA-256 of a file's content (or of the range) */
	RF_FS_REAL_PATH, /* canonical absolute path */
	/* Every entry of a tree with stat and digest, and a digest of it all; none where a file has
	 * several hard links, which is not read. */
	RF_FS_SNAPSHOT,
	RF_FS_CHANGE,	   /* mode, times, size of what exists */
	RF_FS_GLOB,	   /* patterns; see glob.h. rf_fs_batch answers it by RF_FS_CODE_UNSUPPORTED
			    * unless a hook was set with rf_fs_set_glob */
	RF_FS_OPERATIONS_, /* how many there are */
};

/* Flags of a request; one that its operation does not know is malformed. */
#define RF_FS_RECURSIVE 1U   /* LIST, REMOVE, COPY */
#define RF_FS_PARENTS 2U     /* MKDIR: make what is missing, accept what exists */
#define RF_FS_FORCE 4U	     /* REMOVE: missing is fine, ancestors too; RENAME, COPY: replace */
#define RF_FS_HAS_MODE 8U    /* mode is given (WRITE, APPEND, REPLACE, MKDIR, CHANGE) */
#define RF_FS_HAS_TIMES 16U  /* atime_ns and mtime_ns are given (WRITE, APPEND, REPLACE, CHANGE) */
#define RF_FS_HAS_LENGTH 32U /* length is given (READ, DIGEST: at most; CHANGE: new size) */
#define RF_FS_SYNC 64U	     /* WRITE, APPEND, COPY, MKDIR, RENAME, REMOVE: durable when answered */
#define RF_FS_WITH_STAT 128U /* LIST: stat of every entry */
#define RF_FS_NO_DURABLE 256U /* REPLACE: atomic against processes, without the fsyncs */

/* Leaves a time as it is (UTIME_OMIT). */
#define RF_FS_TIME_OMIT INT64_MIN

struct rf_fs_request {
	enum rf_fs_operation operation;
	unsigned int flags;
	/*
	 * NUL-terminated, borrowed. Relative to the root, or absolute below either spelling of
	 * it; "." and "" between slashes mean nothing, "" alone is malformed, ".." is refused.
	 */
	const char *path;
	/* RENAME and COPY: where to. Same rules. */
	const char *target;
	/*
	 * Of open(2). WRITE: O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_RDWR, O_WRONLY, O_SYNC,
	 * O_DSYNC; APPEND: the same, 0 means O_CREAT. REPLACE, RENAME, COPY: O_EXCL refuses
	 * (EEXIST) what exists; without it a file is replaced, as rename(2) does. READ: 0.
	 * O_CLOEXEC, O_NOFOLLOW, O_NOCTTY and O_NONBLOCK mean nothing; others are malformed.
	 */
	int open_flags;
	/* Permission bits for what is created (umask applies); CHANGE: exact. At most 07777. */
	mode_t mode;
	/* READ, WRITE, DIGEST: bytes from the start. */
	uint64_t offset;
	uint64_t length;
	/* Nanoseconds since the epoch, or RF_FS_TIME_OMIT. */
	int64_t atime_ns;
	int64_t mtime_ns;
	/* WRITE, APPEND, REPLACE: what to write, borrowed. NULL with size 0 is empty content. */
	const void *content;
	size_t content_size_bytes;
	/*
	 * has_content_fd: a borrowed descriptor instead of content. WRITE, APPEND and REPLACE read
	 * it from its position to its end; READ writes the bytes to it and returns no content.
	 * The ceiling on content holds all the same.
	 */
	bool has_content_fd;
	int content_fd;
	/* GLOB: NULL-terminated lists, borrowed; path is where patterns start ("." for the root).
	 */
	const char *const *patterns;
	const char *const *exclude;
};

/* ---- results ------------------------------------------------------------------------------- */

/* Stable codes; their names (rf_fs_code_name) are public and never reused. */
enum rf_fs_code {
	RF_FS_CODE_NONE,	/* done, or the errno says it all */
	RF_FS_CODE_LIMIT,	/* "limit": E2BIG, EFBIG for content */
	RF_FS_CODE_TIMEOUT,	/* "timeout": ETIMEDOUT */
	RF_FS_CODE_UNSUPPORTED, /* "unsupported": EOPNOTSUPP */
	RF_FS_CODE_MALFORMED,	/* "malformed": EINVAL */
	RF_FS_CODE_ESCAPE,	/* "escape": EACCES */
	RF_FS_CODE_CHANGED,	/* "changed-while-open": ESTALE */
};

enum rf_fs_type {
	RF_FS_TYPE_UNKNOWN,
	RF_FS_TYPE_FILE,
	RF_FS_TYPE_DIRECTORY,
	RF_FS_TYPE_SYMLINK,
	RF_FS_TYPE_FIFO,
	RF_FS_TYPE_SOCKET,
	RF_FS_TYPE_CHARACTER,
	RF_FS_TYPE_BLOCK,
};

/* Fields as of statx(2). */
struct rf_fs_stat {
	uint64_t ino;
	uint64_t size_bytes;
	uint64_t blocks_512;
	uint64_t links;
	dev_t dev;
	uint32_t mode; /* type and permissions, as st_mode */
	uint32_t uid;
	uint32_t gid;
	uint32_t block_bytes;
	int64_t atime_ns;
	int64_t mtime_ns;
	int64_t ctime_ns;
	int64_t btime_ns; /* 0: not known */
};

#define RF_FS_DIGEST_BYTES 32

struct rf_fs_entry {
	/* Relative to the directory that was asked for; bytes as the filesystem has them, not
	 * always UTF-8. Owned by the result. */
	char *path;
	enum rf_fs_type type;
	bool has_stat;
	bool has_digest;
	struct rf_fs_stat stat;
	uint8_t digest[RF_FS_DIGEST_BYTES];
};

struct rf_fs_result {
	/* 0 or a positive errno, of the class that the plain call would have given. */
	int error;
	enum rf_fs_code code;
	/* For people: operation, path as given, what was wrong. NULL when error is 0. */
	char *message;
	bool has_stat;
	bool exists;
	bool has_digest;
	struct rf_fs_stat stat;
	/* READ. NUL-terminated after size; NULL with has_content_fd. */
	void *content;
	size_t content_size_bytes;
	/* LIST, SNAPSHOT, GLOB: sorted by path, as bytes. */
	struct rf_fs_entry *entries;
	size_t n_entries;
	/* DIGEST: of the content; SNAPSHOT: of the tree. */
	uint8_t digest[RF_FS_DIGEST_BYTES];
	/* REAL_PATH. */
	char *real_path;
	/* WRITE, APPEND, REPLACE, COPY, READ to a descriptor: content bytes moved. */
	uint64_t bytes;
	/*
	 * REMOVE: how many names are gone, and when it was refused on the way, which: paths
	 * relative to the root, a whole tree as its top, NUL-terminated one after another
	 * (removed_size_bytes in all; NULL when none). removed_is_cut: there were more.
	 */
	uint64_t n_removed;
	char *removed;
	size_t removed_size_bytes;
	bool removed_is_cut;
};

/*
 * Runs all requests. results has room for n, needs no initialisation, and is filled in request
 * order, each by itself: one that fails stops no other. The outcome is as if the requests had run
 * one after another; those that cannot tell run at once. Clear every result afterwards.
 * 0; -E2BIG: more requests or bytes than the options allow (nothing ran, results are untouched);
 * -ENOMEM (likewise).
 */
int rf_fs_batch(struct rf_fs *fs, const struct rf_fs_request *requests, size_t n,
	struct rf_fs_result *results);
/* Frees what a result owns and zeroes it. Takes NULL. */
void rf_fs_result_clear(struct rf_fs_result *result);

/*
 * Makes RF_FS_GLOB available to rf_fs_batch: run fills a zeroed result (entries, or a failure by
 * rf_fs_fail).
 */
void rf_fs_set_glob(
	struct rf_fs *fs, void (*run)(struct rf_fs *fs, const struct rf_fs_request *request,
				  struct rf_fs_result *result));

/* tick (NULL: none) is called now and then while an operation takes its time, for signs of life; it
 * may not use fs. */
void rf_fs_set_tick(struct rf_fs *fs, void (*tick)(void *userdata), void *userdata);

/* ---- walking ------------------------------------------------------------------------------- */

/* What a callback decides on an entry. */
enum rf_fs_walk_decision {
	RF_FS_WALK_NEXT,    /* go on; do not go into it */
	RF_FS_WALK_DESCEND, /* a directory: its entries come next (ignored for other types) */
	RF_FS_WALK_STOP,    /* enough: rf_fs_walk returns 0 */
};

struct rf_fs_walk_entry {
	/* The directory that holds it, open (O_RDONLY|O_DIRECTORY); borrowed, valid in the call. */
	int directory_fd;
	/* 1 for entries of the directory that the walk started in. */
	unsigned int depth;
	/* Relative to where the walk started, "a/b/name"; borrowed, valid in the call. */
	const char *path;
	/* Its last component. */
	const char *name;
	enum rf_fs_type type; /* never unknown */
	/* NULL unless wants_stat, and of a mount point. */
	const struct rf_fs_stat *stat;
	/* What the parent's entry left in child_state; start_state at depth 1. */
	void *state;
	/* Set it before answering RF_FS_WALK_DESCEND; goes to `leave` when that directory is done,
	 * however the walk ends. */
	void *child_state;
};

struct rf_fs_walk_options {
	/* Called for each entry but "." and ".."; answers enum rf_fs_walk_decision, or -errno,
	 * which ends the walk. */
	int (*entry)(void *userdata, struct rf_fs_walk_entry *entry);
	/* May be NULL. A directory that was descended into is done; not called at depth 0. */
	void (*leave)(void *userdata, void *state);
	void *userdata;
	void *start_state;
	bool wants_stat;
	/* Entries of one directory in order of their names' bytes. */
	bool is_sorted;
	/*
	 * A directory that may not be read (EACCES by permission) after DESCEND: false ends the
	 * walk with that failure, true skips it. One that went away is skipped always.
	 */
	bool skips_unreadable;
	/* The same for a mount point, else an escape. What turned into a symbolic link always is.
	 */
	bool skips_mounts;
};

/*
 * Walks the directory path (rules of rf_fs_request.path), depth first; each directory is read to
 * its end before its first entry is handed out, so callbacks may change it. Never crosses a mount.
 * result (required) is zeroed first and gets a failure, if any: RF_FS_CODE_LIMIT for entries and
 * depth, RF_FS_CODE_TIMEOUT, RF_FS_CODE_ESCAPE, or the errno.
 * 0 when the walk is complete or was stopped; else RF_REFUSED, result->error says why.
 */
int rf_fs_walk(struct rf_fs *fs, const char *path, const struct rf_fs_walk_options *options,
	struct rf_fs_result *result);

/*
 * Opens path itself below the root as a directory (O_RDONLY|O_DIRECTORY) by the same rules.
 * A descriptor that the caller owns; -1 with result->error set (result is zeroed first).
 */
int rf_fs_open_directory(struct rf_fs *fs, const char *path, struct rf_fs_result *result);

/*
 * Checks path as a request's would be and gives its normalised form relative to the root ("." is
 * the root itself). Looks at no file. 0, or RF_REFUSED with result->error set.
 * ret_path belongs to the caller.
 */
int rf_fs_path(struct rf_fs *fs, const char *path, char **ret_path, struct rf_fs_result *result);

/* What is at name, below a directory that a walk handed out; never follows. 0 or -errno. */
int rf_fs_stat_at(int directory_fd, const char *name, struct rf_fs_stat *ret_stat);

/* ---- small ones ---------------------------------------------------------------------------- */

/*
 * Records a failure: error, code, and the message, once: a later call on the same result changes
 * nothing. Returns RF_REFUSED.
 */
int rf_fs_fail(struct rf_fs_result *result, int error, enum rf_fs_code code, const char *format,
	...) rf_printf(4, 5);

/* "read", "write", "append", "replace", "stat", "exists", "list", "mkdir", "rename", "remove",
 * "copy", "digest", "real-path", "snapshot", "change", "glob". */
const char *rf_fs_operation_name(enum rf_fs_operation operation);
/* false: no such name. */
bool rf_fs_operation_parse(const char *name, enum rf_fs_operation *ret_operation);
/* "limit", "timeout", "unsupported", "malformed", "escape", "changed-while-open"; "" of NONE. */
const char *rf_fs_code_name(enum rf_fs_code code);
/* "file", "directory", "symlink", "fifo", "socket", "character-device", "block-device",
 * "unknown". */
const char *rf_fs_type_name(enum rf_fs_type type);
enum rf_fs_type rf_fs_type_of_mode(uint32_t mode);
/* "ENOENT" of ENOENT; "errno 4095" style numbers never happen: unknown ones are "EIO". */
const char *rf_fs_errno_name(int error);
/* "io_uring" or "plain" (and "auto"). */
const char *rf_fs_engine_name(enum rf_fs_engine engine);
/* false: no such name. */
bool rf_fs_engine_parse(const char *name, enum rf_fs_engine *ret_engine);
