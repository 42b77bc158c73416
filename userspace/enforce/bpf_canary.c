/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The child runs in a copy of a controller: system calls and its own stack, nothing else. */

#include "enforce/bpf_canary.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/fd.h"
#include "enforce/bpf_canary_files.h"

/* Not in the C library's headers of our floor. */
#define CANARY_CLONE_INTO_CGROUP 0x200000000ULL

#if defined(__x86_64__)
/*
 * A static program of 132 bytes that exits with RF_CANARY_EXIT: exec'ing one of the host's would
 * cost a dynamic link, and our own would start a controller.
 */
static const unsigned char tiny_program[] = {
	/* ELF header: 64 bit, little endian, executable, x86-64, entry 0x400078 */
	0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 62, 0, 1, 0, 0, 0, 0x78, 0,
	0x40, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 56,
	0, 1, 0, 0, 0, 0, 0, 0, 0,
	/* one segment: the whole file, readable and executable, at 0x400000 */
	1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0,
	0, 0, 0, 0x84, 0, 0, 0, 0, 0, 0, 0, 0x84, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0,
	/* mov $7, %edi; mov $60, %eax; syscall */
	0xbf, RF_CANARY_EXIT, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05};
#else
#error "which instructions exit on this architecture?"
#endif

void rf_canary_init(struct rf_canary *canary)
{
	*canary = (struct rf_canary){
		.base_fd = -1,
		.leaf_fd = -1,
		.pidfd = -1,
		.pid = -1,
		.ask_fd = -1,
		.answer_fd = -1,
		.measure_prog_fd = -1,
		.program_fd = -1,
		.stream_fd = -1,
		.files_fd = -1,
		.datagram_fd = -1,
	};
}

/* ---- In the child --------------------------------------------------------------------------- */

static int try_socket(int family, int type)
{
	int fd rf_autoclose = socket(family, type | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : 0;
}

static int try_pair(enum rf_canary_ask ask)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0rf-canary"};
	socklen_t bytes = sizeof(sa_family_t) + 10;
	int error = 0;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return errno;
	if (ask == RF_CANARY_BIND && bind(ends[0], (struct sockaddr *)&name, bytes) < 0)
		error = errno;
	if (ask == RF_CANARY_CONNECT && connect(ends[0], (struct sockaddr *)&name, bytes) < 0)
		error = errno;
	if (ask == RF_CANARY_LISTEN && listen(ends[0], 1) < 0)
		error = errno;
	close(ends[0]);
	close(ends[1]);
	return error;
}

static int try_reach(const struct sockaddr_un *name, socklen_t bytes)
{
	int fd rf_autoclose = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return errno;
	return connect(fd, (const struct sockaddr *)name, bytes) < 0 ? errno : 0;
}

static int try_send(const struct sockaddr_un *name, socklen_t bytes)
{
	int fd rf_autoclose = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return errno;
	return sendto(fd, "x", 1, 0, (const struct sockaddr *)name, bytes) < 0 ? errno : 0;
}

/* A socket with a name that the kernel chooses. */
static int autobound(int type, struct sockaddr_un *ret_name, socklen_t *ret_bytes)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd rf_autoclose = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	*ret_bytes = sizeof(*ret_name);
	if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(sa_family_t)) < 0 ||
		getsockname(fd, (struct sockaddr *)ret_name, ret_bytes) < 0)
		return -errno;
	if (type == SOCK_STREAM && listen(fd, 1) < 0)
		return -errno;
	return RF_TAKE_FD(fd);
}

static int try_reach_own(void)
{
	struct sockaddr_un name;
	socklen_t bytes;
	int fd rf_autoclose = autobound(SOCK_STREAM, &name, &bytes);

	return fd < 0 ? -fd : try_reach(&name, bytes);
}

static int try_call4(enum rf_canary_ask ask)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(9),
		/* TEST-NET-1: nobody's, and no loopback, of which a sandbox may have a part. */
		.sin_addr.s_addr = htonl(0xc0000201)};
	int type = ask == RF_CANARY_LISTEN4 ? SOCK_STREAM : SOCK_DGRAM;
	int fd rf_autoclose = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	int r = 0;

	if (fd < 0)
		return errno;
	if (ask == RF_CANARY_CONNECT4)
		r = connect(fd, (struct sockaddr *)&to, sizeof(to));
	else if (ask == RF_CANARY_SEND4)
		r = (int)sendto(fd, "", 1, 0, (struct sockaddr *)&to, sizeof(to));
	else if (ask == RF_CANARY_LISTEN4)
		r = listen(fd, 1);
	to.sin_addr.s_addr = 0;
	to.sin_port = 0;
	if (ask == RF_CANARY_BIND4)
		r = bind(fd, (struct sockaddr *)&to, sizeof(to));
	return r < 0 ? errno : 0;
}

static int try_call6(enum rf_canary_ask ask)
{
	struct sockaddr_in6 to = {
		.sin6_family = AF_INET6, .sin6_port = htons(9), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd rf_autoclose = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r = 0;

	if (fd < 0)
		return errno;
	if (ask == RF_CANARY_CONNECT6)
		r = connect(fd, (struct sockaddr *)&to, sizeof(to));
	else if (ask == RF_CANARY_SEND6)
		r = (int)sendto(fd, "", 1, 0, (struct sockaddr *)&to, sizeof(to));
	to.sin6_addr = in6addr_any;
	to.sin6_port = 0;
	if (ask == RF_CANARY_BIND6)
		r = bind(fd, (struct sockaddr *)&to, sizeof(to));
	return r < 0 ? errno : 0;
}

/* Sends to a port of its own: as it is, with options that mean nothing, or once it is closed. */
static int try_own_port(enum rf_canary_ask ask)
{
	static const unsigned char no_operation[4] = {1, 1, 1, 1};
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(at);
	int fd rf_autoclose = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int from rf_autoclose = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || from < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
		getsockname(fd, (struct sockaddr *)&at, &bytes) < 0)
		return errno;
	if (ask == RF_CANARY_CLOSED_PORT)
		fd = rf_close(fd);
	if (ask == RF_CANARY_ROUTE &&
		setsockopt(from, IPPROTO_IP, IP_OPTIONS, no_operation, sizeof(no_operation)) < 0)
		return errno;
	return sendto(from, "", 1, 0, (struct sockaddr *)&at, sizeof(at)) < 0 ? errno : 0;
}

static int try_process(int program_fd)
{
	char *argv[] = {(char[]){RF_CANARY_ARGUMENT}, NULL};
	char *environment[] = {NULL};
	int status = -1;
	pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		syscall(SYS_execveat, program_fd, "", argv, environment, AT_EMPTY_PATH);
		_exit(errno);
	}
	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
	return status;
}

static int measure(int prog_fd)
{
	struct {
		uint64_t leaf;
		uint32_t depth;
		uint32_t reserved;
	} context = {0};
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &context, .ctx_size_in = sizeof(context));
	int r = bpf_prog_test_run_opts(prog_fd, &options);

	return r < 0 ? -r : 0;
}

static int answer(const struct rf_canary *canary, enum rf_canary_ask ask)
{
	switch (ask) {
	case RF_CANARY_MEASURE:
		return measure(canary->measure_prog_fd);
	case RF_CANARY_INET:
		return try_socket(AF_INET, SOCK_DGRAM);
	case RF_CANARY_INET6:
		return try_socket(AF_INET6, SOCK_DGRAM);
	case RF_CANARY_UNIX:
		return try_socket(AF_UNIX, SOCK_STREAM);
	case RF_CANARY_PAIR:
	case RF_CANARY_BIND:
	case RF_CANARY_CONNECT:
	case RF_CANARY_LISTEN:
		return try_pair(ask);
	case RF_CANARY_REACH_FOREIGN:
		return try_reach(&canary->stream, canary->stream_bytes);
	case RF_CANARY_SEND_FOREIGN:
		return try_send(&canary->datagram, canary->datagram_bytes);
	case RF_CANARY_REACH_OWN:
		return try_reach_own();
	case RF_CANARY_CONNECT4:
	case RF_CANARY_SEND4:
	case RF_CANARY_BIND4:
	case RF_CANARY_LISTEN4:
		return try_call4(ask);
	case RF_CANARY_CONNECT6:
	case RF_CANARY_SEND6:
	case RF_CANARY_BIND6:
		return try_call6(ask);
	case RF_CANARY_ROUTE:
	case RF_CANARY_OWN_PORT:
	case RF_CANARY_CLOSED_PORT:
		return try_own_port(ask);
	case RF_CANARY_PROCESS:
		return try_process(canary->program_fd);
	case RF_CANARY_FILE_READ:
	case RF_CANARY_FILE_WRITE:
	case RF_CANARY_FILE_CREATE:
	case RF_CANARY_FILE_MKDIR:
	case RF_CANARY_FILE_SYMLINK:
	case RF_CANARY_FILE_LINK:
	case RF_CANARY_FILE_RENAME:
	case RF_CANARY_FILE_RMDIR:
	case RF_CANARY_FILE_UNLINK:
	case RF_CANARY_FILE_TRUNCATE:
	case RF_CANARY_FILE_CHMOD:
	case RF_CANARY_FILE_SETXATTR:
	case RF_CANARY_FILE_REMOVEXATTR:
	case RF_CANARY_FILE_NEIGHBOUR:
	case RF_CANARY_FILE_OWN:
		return rf_canary_file_try(canary->files_fd, ask);
	}
	return ENOSYS;
}

static void __attribute__((noreturn))
serve(const struct rf_canary *canary, int ask_fd, int answer_fd)
{
	int ask, said;

	while (read(ask_fd, &ask, sizeof(ask)) == sizeof(ask)) {
		said = answer(canary, (enum rf_canary_ask)ask);
		if (write(answer_fd, &said, sizeof(said)) != sizeof(said))
			break;
	}
	_exit(0);
}

/* ---- In the parent -------------------------------------------------------------------------- */

static int make_leaf(struct rf_canary *canary)
{
	struct stat st;

	snprintf(canary->name, sizeof(canary->name), "canary-%d-%llx", (int)getpid(),
		(unsigned long long)rf_monotonic_ns());
	if (mkdirat(canary->base_fd, canary->name, 0755) < 0)
		return -errno;
	canary->leaf_fd = openat(
		canary->base_fd, canary->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	/* On cgroup2 the inode number is the cgroup's id. */
	if (canary->leaf_fd < 0 || fstat(canary->leaf_fd, &st) < 0)
		return -errno;
	canary->leaf_id = st.st_ino;
	return 0;
}

/* A file that somebody holds open for writing cannot be executed. */
static int open_program(struct rf_canary *canary)
{
	int fd rf_autoclose = rf_memfd("rf-canary", tiny_program, sizeof(tiny_program));
	char path[64];

	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	canary->program_fd = open(path, O_RDONLY | O_CLOEXEC);
	return canary->program_fd < 0 ? -errno : 0;
}

static int prepare(struct rf_canary *canary)
{
	canary->stream_fd = autobound(SOCK_STREAM, &canary->stream, &canary->stream_bytes);
	if (canary->stream_fd < 0)
		return canary->stream_fd;
	canary->datagram_fd = autobound(SOCK_DGRAM, &canary->datagram, &canary->datagram_bytes);
	if (canary->datagram_fd < 0)
		return canary->datagram_fd;
	/* What cannot be had is not tried: then the guards on files count as unproved. */
	canary->files_fd = rf_canary_files_make();
	return open_program(canary);
}

/* fork(), but born in the leaf, and without a SIGCHLD: who ignores that or listens for it must not
 * notice. The C library has no call for it. */
static int spawn(struct rf_canary *canary, const int ask[2], const int said[2])
{
	struct clone_args args = {
		.flags = CLONE_PIDFD | CANARY_CLONE_INTO_CGROUP,
		.pidfd = (uint64_t)(uintptr_t)&canary->pidfd,
		.cgroup = (uint64_t)canary->leaf_fd,
	};

	canary->pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (canary->pid == 0) {
		close(ask[1]);
		close(said[0]);
		serve(canary, ask[0], said[1]);
	}
	return canary->pid < 0 ? -errno : 0;
}

int rf_canary_start(struct rf_canary *canary, int base_fd, int measure_prog_fd)
{
	int ask_child rf_autoclose = -1, answer_child rf_autoclose = -1;
	int ask[2], said[2];
	int r;

	canary->base_fd = base_fd;
	canary->measure_prog_fd = measure_prog_fd;
	r = make_leaf(canary);
	if (r < 0)
		return r;
	r = prepare(canary);
	if (r < 0)
		return r;
	if (pipe2(ask, O_CLOEXEC) < 0)
		return -errno;
	ask_child = ask[0];
	canary->ask_fd = ask[1];
	if (pipe2(said, O_CLOEXEC) < 0)
		return -errno;
	canary->answer_fd = said[0];
	answer_child = said[1];
	return spawn(canary, ask, said);
}

/* The answer's pipe does not end with the canary while a child of it has the other end too. */
static int wait_for_answer(const struct rf_canary *canary)
{
	struct pollfd wait[] = {
		{.fd = canary->answer_fd, .events = POLLIN},
		{.fd = canary->pidfd, .events = POLLIN},
	};
	int r = TEMP_FAILURE_RETRY(poll(wait, RF_ARRAY_SIZE(wait), RF_CANARY_DEADLINE_MS));

	if (r <= 0)
		return r == 0 ? -ETIMEDOUT : -errno;
	return wait[0].revents & POLLIN ? 0 : -EPIPE;
}

int rf_canary_ask(struct rf_canary *canary, enum rf_canary_ask ask, int *ret_answer)
{
	int number = (int)ask;
	int said = -1;
	int r;

	if (canary->ask_fd < 0)
		return -EPIPE;
	r = rf_write_all(canary->ask_fd, &number, sizeof(number));
	if (r == 0)
		r = wait_for_answer(canary);
	if (r == 0 && read(canary->answer_fd, &said, sizeof(said)) != sizeof(said))
		r = -EPIPE;
	if (r < 0) {
		/* A late answer would be taken for that of the next question. */
		canary->ask_fd = rf_close(canary->ask_fd);
		return r;
	}
	*ret_answer = said;
	return 0;
}

/* Bounded: one that a debugger or the kernel holds is left behind as it is. */
static void reap(struct rf_canary *canary)
{
	struct pollfd ended = {.fd = canary->pidfd, .events = POLLIN};
	siginfo_t info;

	syscall(SYS_pidfd_send_signal, canary->pidfd, SIGKILL, NULL, 0);
	if (TEMP_FAILURE_RETRY(poll(&ended, 1, RF_CANARY_DEADLINE_MS)) <= 0)
		return;
	(void)TEMP_FAILURE_RETRY(
		waitid(P_PIDFD, (id_t)canary->pidfd, &info, WEXITED | WNOHANG | __WALL));
}

void rf_canary_stop(struct rf_canary *canary)
{
	canary->ask_fd = rf_close(canary->ask_fd);
	canary->answer_fd = rf_close(canary->answer_fd);
	if (canary->pid > 0)
		reap(canary);
	canary->pid = -1;
	canary->pidfd = rf_close(canary->pidfd);
	canary->program_fd = rf_close(canary->program_fd);
	canary->stream_fd = rf_close(canary->stream_fd);
	canary->files_fd = rf_close(canary->files_fd);
	canary->datagram_fd = rf_close(canary->datagram_fd);
	if (canary->leaf_fd < 0)
		return;
	canary->leaf_fd = rf_close(canary->leaf_fd);
	/* populated can read 1 for a moment after the last one was reaped (7.3). */
	for (int i = 0; i < 100; i++) {
		if (unlinkat(canary->base_fd, canary->name, AT_REMOVEDIR) == 0 || errno != EBUSY)
			break;
		poll(NULL, 0, 1);
	}
}
