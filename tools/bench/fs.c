/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The measured half of tools/bench/fs, which builds it. Prints nanoseconds (or what is asked for).
 *
 *	fs make FILES PER-DIRECTORY BYTES DIR     a tree of files
 *	fs read ENGINE DIR FILES PER-DIRECTORY    one batch
 *	fs read-each ENGINE DIR FILES PER-DIR     the same requests, one batch each
 *	fs read-bare DIR FILES PER-DIRECTORY      openat2, fstat, read, close; nothing else
 *	fs read-guarded DIR FILES PER-DIRECTORY   the calls that the batch makes, one by one
 *	fs read-chain DIR FILES PER-DIR BYTES     openat2 to a slot, read, close, linked in the ring
 *	fs read-helper DIR FILES PER-DIRECTORY    one process for each
 *	fs write ENGINE DIR FILES                 replacements in one batch, durable
 *	fs write-each DIR FILES                   open, write, fsync, close
 *	fs remove ENGINE DIR                      recursive
 *	fs list ENGINE DIR                        every entry with its stat, a line each
 */

#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <liburing.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "fs/fs.h"

#define CHECK(happened)                                   \
	do {                                              \
		if (!(happened))                          \
			error(1, errno, "%s", #happened); \
	} while (0)

#define WRITTEN_BYTES 1024

extern char **environ;

static size_t number(const char *text)
{
	uint64_t value = 0;

	CHECK(rf_parse_u64(text, &value));
	return (size_t)value;
}

static struct rf_fs *opened(const char *engine, const char *root)
{
	struct rf_fs_options options = {
		.engine = strcmp(engine, "plain") == 0 ? RF_FS_ENGINE_PLAIN : RF_FS_ENGINE_AUTO,
		.entries = 10000000,
		.deadline_ms = 3600 * 1000,
		.request_bytes = 64 << 20,
		.response_bytes = 64 << 20,
	};
	struct rf_fs *fs = NULL;

	CHECK(rf_fs_open(&fs, root, &options) == 0);
	return fs;
}

static void name_of(char *name, size_t size, size_t i, size_t per_directory)
{
	(void)snprintf(name, size, "d%05zu/f%07zu", i / per_directory, i);
}

static char **names(size_t count, size_t per_directory)
{
	char **all = calloc(count, sizeof(*all));

	CHECK(all);
	for (size_t i = 0; i < count; i++) {
		char name[64];

		name_of(name, sizeof(name), i, per_directory);
		all[i] = strdup(name);
		CHECK(all[i]);
	}
	return all;
}

static void make(size_t files, size_t per_directory, size_t bytes, const char *directory)
{
	char *content = calloc(1, bytes + 1);

	CHECK(content && (mkdir(directory, 0755) == 0 || errno == EEXIST) && chdir(directory) == 0);
	memset(content, 'x', bytes);
	for (size_t i = 0; i < files; i++) {
		char name[64];
		int fd;

		(void)snprintf(name, sizeof(name), "d%05zu", i / per_directory);
		CHECK(i % per_directory || mkdir(name, 0755) == 0);
		name_of(name, sizeof(name), i, per_directory);
		fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
		CHECK(fd >= 0 && write(fd, content, bytes) == (ssize_t)bytes);
		close(fd);
	}
	/* Not everybody else's disks. */
	CHECK(syncfs(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == 0);
	free(content);
}

/* ---- read ---------------------------------------------------------------------------------- */

static uint64_t read_all(const char *engine, const char *root, char **all, size_t n, size_t at_once)
{
	struct rf_fs *fs = opened(engine, root);
	struct rf_fs_request *requests = calloc(n, sizeof(*requests));
	struct rf_fs_result *results = calloc(n, sizeof(*results));
	uint64_t start_ns, spent_ns;

	CHECK(requests && results);
	(void)rf_fs_engine(fs, NULL);
	for (size_t i = 0; i < n; i++)
		requests[i] = (struct rf_fs_request){.operation = RF_FS_READ, .path = all[i]};
	start_ns = rf_monotonic_ns();
	for (size_t i = 0; i < n; i += at_once)
		CHECK(rf_fs_batch(fs, requests + i, at_once, results + i) == 0);
	spent_ns = rf_monotonic_ns() - start_ns;
	for (size_t i = 0; i < n; i++) {
		CHECK(results[i].error == 0 && results[i].content_size_bytes > 0);
		rf_fs_result_clear(&results[i]);
	}
	rf_fs_free(fs);
	return spent_ns;
}

static uint64_t read_bare(const char *root, char **all, size_t n)
{
	int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV};
	uint64_t start_ns = rf_monotonic_ns();

	for (size_t i = 0; i < n; i++) {
		int fd = (int)syscall(SYS_openat2, root_fd, all[i], &how, sizeof(how));
		struct stat found;
		char *content;

		CHECK(fd >= 0 && fstat(fd, &found) == 0);
		content = malloc((size_t)found.st_size + 1);
		CHECK(content && read(fd, content, (size_t)found.st_size) == found.st_size);
		close(fd);
		/* Results are kept, as the batch keeps them. */
	}
	return rf_monotonic_ns() - start_ns;
}

/* Parent held open, looked at, opened, looked at again: what a request of its own would do. */
static void read_guarded_one(int root_fd, int proc_fd, char *path, struct open_how *how)
{
	char number[16], name[PATH_MAX];
	char *slash = strrchr(path, '/');
	struct statx looked;
	struct stat found;
	char *content;
	int parent_fd, fd;

	*slash = '\0';
	how->flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	parent_fd = (int)syscall(SYS_openat2, root_fd, path, how, sizeof(*how));
	*slash = '/';
	CHECK(parent_fd >= 0 &&
		statx(parent_fd, slash + 1, AT_SYMLINK_NOFOLLOW,
			STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID, &looked) == 0);
	how->flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	fd = (int)syscall(SYS_openat2, parent_fd, slash + 1, how, sizeof(*how));
	(void)snprintf(number, sizeof(number), "%d", fd);
	CHECK(fd >= 0 && fstat(fd, &found) == 0 &&
		readlinkat(proc_fd, number, name, sizeof(name)) > 0);
	content = malloc((size_t)found.st_size + 1);
	CHECK(content && read(fd, content, (size_t)found.st_size) == found.st_size);
	close(fd);
	close(parent_fd);
}

static uint64_t read_guarded(const char *root, char **all, size_t n)
{
	int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct open_how how = {.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					  RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
	int proc_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t start_ns = rf_monotonic_ns();

	for (size_t i = 0; i < n; i++)
		read_guarded_one(root_fd, proc_fd, all[i], &how);
	return rf_monotonic_ns() - start_ns;
}

/* ---- read, by chains that the kernel runs ------------------------------------------------------
 */

#define CHAINS 64

static void prepare_chain(struct io_uring *ring, int root_fd, const char *path,
	struct open_how *how, char *content, size_t size, unsigned int slot)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_openat2_direct(sqe, root_fd, path, how, slot);
	sqe->flags |= IOSQE_IO_HARDLINK;
	io_uring_sqe_set_data(sqe, NULL);
	sqe = io_uring_get_sqe(ring);
	io_uring_prep_read(sqe, (int)slot, content, (unsigned int)size, 0);
	sqe->flags |= IOSQE_FIXED_FILE | IOSQE_IO_HARDLINK;
	io_uring_sqe_set_data(sqe, content);
	sqe = io_uring_get_sqe(ring);
	io_uring_prep_close_direct(sqe, slot);
	io_uring_sqe_set_data(sqe, NULL);
}

static void take_chains(struct io_uring *ring, unsigned int count)
{
	struct io_uring_cqe *cqe;

	for (unsigned int i = 0; i < 3 * count; i++) {
		CHECK(io_uring_wait_cqe(ring, &cqe) == 0 && cqe->res >= 0);
		CHECK(!io_uring_cqe_get_data(cqe) || cqe->res > 0);
		io_uring_cqe_seen(ring, cqe);
	}
}

/* A slot cannot be asked what it is: the reason why the guarded read is no such chain. */
static void expect_no_look_at_slots(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;
	struct statx found;

	io_uring_prep_statx(sqe, 0, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &found);
	sqe->flags |= IOSQE_FIXED_FILE;
	CHECK(io_uring_submit_and_wait(ring, 1) == 1 && io_uring_peek_cqe(ring, &cqe) == 0);
	CHECK(cqe->res == -EBADF);
	io_uring_cqe_seen(ring, cqe);
}

/* Into slots of the ring, nothing looked at: fifos are read, and hard links followed outside. */
static uint64_t read_chain(const char *root, char **all, size_t n, size_t size)
{
	int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV};
	struct io_uring ring;
	uint64_t start_ns;

	CHECK(io_uring_queue_init(3 * CHAINS, &ring,
		      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN) == 0);
	CHECK(io_uring_register_files_sparse(&ring, CHAINS) == 0);
	expect_no_look_at_slots(&ring);
	start_ns = rf_monotonic_ns();
	for (size_t i = 0; i < n;) {
		unsigned int count = 0;

		for (; count < CHAINS && i < n; count++, i++) {
			/* Results are kept, as the batch keeps them. */
			char *content = malloc(size + 1);

			CHECK(content);
			prepare_chain(&ring, root_fd, all[i], &how, content, size, count);
		}
		CHECK(io_uring_submit_and_wait(&ring, 3 * count) >= 0);
		take_chains(&ring, count);
	}
	return rf_monotonic_ns() - start_ns;
}

static uint64_t read_helper(const char *root, char **all, size_t n)
{
	uint64_t start_ns;

	CHECK(chdir(root) == 0);
	start_ns = rf_monotonic_ns();
	for (size_t i = 0; i < n; i++) {
		char *arguments[] = {(char *)"cat", all[i], NULL}, content[65536];
		posix_spawn_file_actions_t actions;
		int ends[2], status;
		pid_t pid;

		CHECK(pipe2(ends, O_CLOEXEC) == 0);
		CHECK(posix_spawn_file_actions_init(&actions) == 0 &&
			posix_spawn_file_actions_adddup2(&actions, ends[1], 1) == 0 &&
			posix_spawn(&pid, "/bin/cat", &actions, NULL, arguments, environ) == 0);
		close(ends[1]);
		while (read(ends[0], content, sizeof(content)) > 0)
			continue;
		close(ends[0]);
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		posix_spawn_file_actions_destroy(&actions);
	}
	return rf_monotonic_ns() - start_ns;
}

/* ---- write --------------------------------------------------------------------------------- */

static uint64_t write_batch(const char *engine, const char *root, char **all, size_t n)
{
	static char content[WRITTEN_BYTES];
	struct rf_fs *fs = opened(engine, root);
	struct rf_fs_request *requests = calloc(n, sizeof(*requests));
	struct rf_fs_result *results = calloc(n, sizeof(*results));
	uint64_t start_ns, spent_ns;

	CHECK(requests && results);
	(void)rf_fs_engine(fs, NULL);
	for (size_t i = 0; i < n; i++)
		requests[i] = (struct rf_fs_request){.operation = RF_FS_REPLACE,
			.path = all[i],
			.content = content,
			.content_size_bytes = sizeof(content)};
	start_ns = rf_monotonic_ns();
	CHECK(rf_fs_batch(fs, requests, n, results) == 0);
	spent_ns = rf_monotonic_ns() - start_ns;
	for (size_t i = 0; i < n; i++)
		CHECK(results[i].error == 0);
	rf_fs_free(fs);
	return spent_ns;
}

static uint64_t write_each(const char *root, char **all, size_t n)
{
	static char content[WRITTEN_BYTES];
	uint64_t start_ns = rf_monotonic_ns();

	CHECK(chdir(root) == 0);
	for (size_t i = 0; i < n; i++) {
		int fd = open(all[i], O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);

		CHECK(fd >= 0 && write(fd, content, sizeof(content)) == sizeof(content) &&
			fsync(fd) == 0);
		close(fd);
	}
	return rf_monotonic_ns() - start_ns;
}

/* ---- trees --------------------------------------------------------------------------------- */

static uint64_t remove_tree(const char *engine, const char *directory)
{
	struct rf_fs *fs = opened(engine, ".");
	struct rf_fs_request request = {
		.operation = RF_FS_REMOVE, .flags = RF_FS_RECURSIVE, .path = directory};
	struct rf_fs_result result;
	uint64_t start_ns = rf_monotonic_ns();

	CHECK(rf_fs_batch(fs, &request, 1, &result) == 0);
	if (result.error)
		error(1, result.error, "%s", result.message);
	rf_fs_free(fs);
	return rf_monotonic_ns() - start_ns;
}

/* Names of the last user and group: a tree has few. */
static const char *user_name(uint32_t uid)
{
	static uint32_t last = UINT32_MAX;
	static char name[64];
	const struct passwd *found;

	if (uid != last) {
		found = getpwuid(uid);
		(void)snprintf(name, sizeof(name), "%s", found ? found->pw_name : "?");
		last = uid;
	}
	return name;
}

static const char *group_name(uint32_t gid)
{
	static uint32_t last = UINT32_MAX;
	static char name[64];
	const struct group *found;

	if (gid != last) {
		found = getgrgid(gid);
		(void)snprintf(name, sizeof(name), "%s", found ? found->gr_name : "?");
		last = gid;
	}
	return name;
}

/* The columns of find -ls. */
static int print_entry(void *userdata, struct rf_fs_walk_entry *entry)
{
	const struct rf_fs_stat *stat = entry->stat;
	time_t seconds;
	struct tm local;
	char when[32];

	(void)userdata;
	CHECK(stat);
	seconds = stat->mtime_ns / 1000000000;
	localtime_r(&seconds, &local);
	strftime(when, sizeof(when), "%b %e %H:%M", &local);
	(void)printf("%9" PRIu64 " %6" PRIu64 " %06o %3" PRIu64 " %-8s %-8s %8" PRIu64 " %s %s\n",
		stat->ino, stat->blocks_512 / 2, stat->mode, stat->links, user_name(stat->uid),
		group_name(stat->gid), stat->size_bytes, when, entry->path);
	return RF_FS_WALK_DESCEND;
}

static uint64_t list_tree(const char *engine, const char *directory)
{
	struct rf_fs *fs = opened(engine, directory);
	struct rf_fs_walk_options options = {.entry = print_entry, .wants_stat = true};
	struct rf_fs_result result;
	uint64_t start_ns = rf_monotonic_ns();

	if (rf_fs_walk(fs, ".", &options, &result))
		error(1, result.error, "%s", result.message);
	(void)fflush(stdout);
	rf_fs_free(fs);
	return rf_monotonic_ns() - start_ns;
}

/* ---- which ---------------------------------------------------------------------------------- */

static uint64_t do_read(char **a)
{
	return read_all(a[0], a[1], names(number(a[2]), number(a[3])), number(a[2]), number(a[2]));
}

static uint64_t do_read_each(char **a)
{
	return read_all(a[0], a[1], names(number(a[2]), number(a[3])), number(a[2]), 1);
}

static uint64_t do_read_bare(char **a)
{
	return read_bare(a[0], names(number(a[1]), number(a[2])), number(a[1]));
}

static uint64_t do_read_guarded(char **a)
{
	return read_guarded(a[0], names(number(a[1]), number(a[2])), number(a[1]));
}

static uint64_t do_read_chain(char **a)
{
	return read_chain(a[0], names(number(a[1]), number(a[2])), number(a[1]), number(a[3]));
}

static uint64_t do_read_helper(char **a)
{
	return read_helper(a[0], names(number(a[1]), number(a[2])), number(a[1]));
}

static uint64_t do_write(char **a)
{
	return write_batch(a[0], a[1], names(number(a[2]), number(a[2])), number(a[2]));
}

static uint64_t do_write_each(char **a)
{
	return write_each(a[0], names(number(a[1]), number(a[1])), number(a[1]));
}

static uint64_t do_remove(char **a)
{
	return remove_tree(a[0], a[1]);
}

static uint64_t do_list(char **a)
{
	return list_tree(a[0], a[1]);
}

static uint64_t measure(int count, char **arguments)
{
	static const struct {
		const char *name;
		int arguments;
		uint64_t (*run)(char **arguments);
	} all[] = {
		{"read", 4, do_read},
		{"read-each", 4, do_read_each},
		{"read-bare", 3, do_read_bare},
		{"read-guarded", 3, do_read_guarded},
		{"read-chain", 4, do_read_chain},
		{"read-helper", 3, do_read_helper},
		{"write", 3, do_write},
		{"write-each", 2, do_write_each},
		{"remove", 2, do_remove},
		{"list", 2, do_list},
	};

	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++) {
		if (count == 2 + all[i].arguments && strcmp(arguments[1], all[i].name) == 0)
			return all[i].run(arguments + 2);
	}
	error(2, 0, "see the head of tools/bench/fs.c");
	return 0;
}

int main(int count, char **arguments)
{
	struct rusage usage;
	uint64_t spent_ns;

	if (count == 6 && strcmp(arguments[1], "make") == 0) {
		make(number(arguments[2]), number(arguments[3]), number(arguments[4]),
			arguments[5]);
		return 0;
	}
	CHECK(count > 1);
	spent_ns = measure(count, arguments);
	CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
	/* Then: the memory that was used at most in KiB, the processor's time in ns. */
	(void)fprintf(stderr, "%" PRIu64 " %ld %lld\n", spent_ns, usage.ru_maxrss,
		(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
			(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL);
	return 0;
}
