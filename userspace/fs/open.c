/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A root: opened once, named two ways, bounded. */

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "fs/ceilings.h"
#include "fs/inside.h"

#define NS_PER_MS 1000000ULL

/* ---- options ------------------------------------------------------------------------------- */

static unsigned int cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 1)
		return 1;
	return CPU_COUNT(&set) < (int)RF_FS_CONCURRENCY_MAX ? (unsigned int)CPU_COUNT(&set)
							    : RF_FS_CONCURRENCY_MAX;
}

/* 0 becomes the default. */
static int settle_options(const struct rf_fs_options *given, struct rf_fs_options *ret_options)
{
	struct rf_fs_options options = given ? *given : (struct rf_fs_options){0};
	const struct rf_fs_ceiling *ceiling;

	if ((unsigned int)options.engine > RF_FS_ENGINE_PLAIN)
		return -EINVAL;
	if (options.concurrency == 0)
		options.concurrency = cpus();
	for (size_t i = 0; (ceiling = rf_fs_ceiling_at(i)); i++) {
		uint64_t value = rf_fs_ceiling_get(ceiling, &options);

		if (value > ceiling->max)
			return -EINVAL;
		if (value == 0)
			rf_fs_ceiling_set(ceiling, &options, ceiling->otherwise);
	}
	*ret_options = options;
	return 0;
}

/* ---- the root ------------------------------------------------------------------------------ */

/* Path of an open descriptor; "" of "/". */
static int canonical_path(int fd, const char *root, char **ret_path)
{
	char link[64], text[RF_PATH_MAX_BYTES + 1], *path;
	ssize_t size;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, text, sizeof(text) - 1);
	if (size > 0 && text[0] == '/') {
		text[size] = '\0';
		path = strdup(text);
	} else {
		/* No /proc: the C library's walk; rf_fs_root_stands compares what it found. */
		path = realpath(root, NULL);
		if (!path)
			return -errno;
	}
	if (path && strcmp(path, "/") == 0)
		path[0] = '\0';
	*ret_path = path;
	return path ? 0 : -ENOMEM;
}

static bool has_dotdot(const char *path)
{
	while (*path) {
		size_t size = strcspn(path, "/");

		if (size == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += size;
		path += strspn(path, "/");
	}
	return false;
}

/* The spelling given, absolute. One with ".." may mean another directory than its text says. */
static int alias_path(const char *root, const char *canonical, char **ret_path)
{
	char *directory rf_autofree = NULL, *joined rf_autofree = NULL, *path rf_autofree = NULL;

	if (has_dotdot(root))
		return 0;
	if (root[0] != '/') {
		directory = getcwd(NULL, 0);
		if (!directory)
			return 0;
	}
	joined = rf_path_join(directory ? directory : "/", root);
	path = joined ? rf_path_normalise(joined) : NULL;
	if (!path)
		return -ENOMEM;
	if (strcmp(path, "/") == 0)
		path[0] = '\0';
	if (canonical && strcmp(path, canonical) != 0)
		*ret_path = RF_TAKE(path);
	return 0;
}

/* Names of open files are read there (resolve.c). Its own process's, also after a fork. */
static void find_proc(struct rf_fs *fs)
{
	struct statfs found;

	rf_close(fs->proc_fd);
	fs->proc_pid = getpid();
	fs->proc_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fs->proc_fd >= 0 &&
		(fstatfs(fs->proc_fd, &found) < 0 || found.f_type != PROC_SUPER_MAGIC))
		fs->proc_fd = rf_close(fs->proc_fd);
}

static bool probe_openat2(int fd)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_DIRECTORY, .resolve = RF_FS_RESOLVE};
	int found = (int)syscall(SYS_openat2, fd, ".", &how, sizeof(how));

	if (found < 0)
		return false;
	rf_close(found);
	return true;
}

int rf_fs_open(struct rf_fs **ret, const char *root, const struct rf_fs_options *options)
{
	struct rf_fs *fs rf_autofs = calloc(1, sizeof(*fs));
	struct stat found;
	int r;

	if (!fs)
		return -ENOMEM;
	fs->fd = -1;
	fs->proc_fd = -1;
	r = settle_options(options, &fs->options);
	if (r < 0)
		return r;
	fs->fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fs->fd < 0 && errno == EACCES)
		/* Searchable is enough for what does not list it. */
		fs->fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fs->fd < 0 || fstat(fs->fd, &found) < 0)
		return -errno;
	fs->dev = found.st_dev;
	fs->ino = found.st_ino;
	fs->mount = rf_fs_mount_of(fs->fd);
	fs->has_openat2 = probe_openat2(fs->fd);
	fs->is_nameless = rf_fs_keeps_nameless(fs->fd);
	r = canonical_path(fs->fd, root, &fs->canonical);
	if (r == 0)
		r = alias_path(root, fs->canonical, &fs->alias);
	if (r == 0)
		r = rf_fs_engine_new(
			&fs->engine, fs->options.engine, fs->options.concurrency, fs->has_openat2);
	if (r < 0)
		return r;
	rf_fs_start(fs);
	*ret = RF_TAKE(fs);
	return 0;
}

struct rf_fs *rf_fs_free(struct rf_fs *fs)
{
	if (!fs)
		return NULL;
	rf_fs_engine_drop(fs->engine);
	rf_close(fs->fd);
	rf_close(fs->proc_fd);
	free(fs->canonical);
	free(fs->alias);
	free(fs);
	return NULL;
}

const struct rf_fs_options *rf_fs_options(const struct rf_fs *fs)
{
	return &fs->options;
}

const char *rf_fs_root(const struct rf_fs *fs)
{
	return fs->canonical;
}

const char *rf_fs_alias(const struct rf_fs *fs)
{
	return fs->alias;
}

enum rf_fs_engine rf_fs_engine(struct rf_fs *fs, const char **ret_why)
{
	return rf_fs_engine_kind(fs->engine, ret_why);
}

void rf_fs_set_glob(
	struct rf_fs *fs, void (*run)(struct rf_fs *fs, const struct rf_fs_request *request,
				  struct rf_fs_result *result))
{
	fs->glob = run;
}

/* ---- ceilings ------------------------------------------------------------------------------ */

void rf_fs_start(struct rf_fs *fs)
{
	fs->deadline_ns = rf_monotonic_ns() + fs->options.deadline_ms * NS_PER_MS;
	fs->response_left = fs->options.response_bytes;
	if (fs->proc_pid != getpid())
		find_proc(fs);
	rf_fs_engine_enter(fs->engine);
}

void rf_fs_set_tick(struct rf_fs *fs, void (*tick)(void *userdata), void *userdata)
{
	fs->tick = tick;
	fs->tick_userdata = userdata;
}

void rf_fs_tick(const struct rf_fs *fs)
{
	if (fs->tick)
		fs->tick(fs->tick_userdata);
}

int rf_fs_in_time(const struct rf_fs *fs, struct rf_fs_result *result,
	enum rf_fs_operation operation, const char *path)
{
	rf_fs_tick(fs);
	if (rf_monotonic_ns() < fs->deadline_ns)
		return 0;
	return rf_fs_refuse(
		result, operation, path, ETIMEDOUT, RF_FS_CODE_TIMEOUT, "the deadline has passed");
}

int rf_fs_take_response(struct rf_fs *fs, struct rf_fs_result *result,
	enum rf_fs_operation operation, const char *path, uint64_t bytes)
{
	if (bytes > fs->response_left)
		return rf_fs_refuse_limit(result, operation, path, E2BIG, "bytes of all results",
			fs->options.response_bytes);
	fs->response_left -= bytes;
	return 0;
}

/*
 * Somebody may have renamed the root, or put another directory in its place. The descriptor would
 * go on serving the old tree, which is not what the caller names any more.
 */
int rf_fs_root_stands(const struct rf_fs *fs, struct rf_fs_result *result,
	enum rf_fs_operation operation, const char *path)
{
	struct stat found;

	if (lstat(fs->canonical[0] ? fs->canonical : "/", &found) == 0 && found.st_dev == fs->dev &&
		found.st_ino == fs->ino)
		return 0;
	return rf_fs_refuse_changed(
		result, operation, path, "the root was moved, removed or replaced");
}
