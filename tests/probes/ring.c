/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * ring [plain|worker] DIRECTORY SOCKET: does SOCKET, CONNECT, SENDMSG, OPENAT2, UNLINKAT, RENAMEAT
 * and LINKAT through a ring, on DIRECTORY/file, /other and /third and the datagram socket SOCKET; a
 * line each: the operation and the errno's name, 0 where it worked. `plain`: the same by the calls
 * that they stand for; `worker`: each handed to a worker of the ring. Where the ring cannot be made
 * its one line is "setup" and the errno.
 * ring pass FD COMMAND [ARG...]: runs COMMAND with an open ring as its descriptor FD.
 */

#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "escape.h"

#define ENTRIES 8

struct ring {
	int fd;
	unsigned int *tail, *mask, *array;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	unsigned int flags;
};

static struct ring ring;
static int is_plain;
static const char *directory;

static void *map(size_t bytes, off_t offset)
{
	void *address = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, offset);

	if (address == MAP_FAILED) {
		escape_report("setup-map", -1);
		exit(1);
	}
	return address;
}

static int set_up(void)
{
	struct io_uring_params params = {0};
	char *sq, *cq;

	ring.fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
	escape_report("setup", ring.fd);
	if (ring.fd < 0)
		return -1;
	sq = map(
		params.sq_off.array + params.sq_entries * sizeof(unsigned int), IORING_OFF_SQ_RING);
	cq = map(params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
		IORING_OFF_CQ_RING);
	ring.sqes = map(params.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	ring.tail = (unsigned int *)(void *)(sq + params.sq_off.tail);
	ring.mask = (unsigned int *)(void *)(sq + params.sq_off.ring_mask);
	ring.array = (unsigned int *)(void *)(sq + params.sq_off.array);
	ring.cq_head = (unsigned int *)(void *)(cq + params.cq_off.head);
	ring.cq_tail = (unsigned int *)(void *)(cq + params.cq_off.tail);
	ring.cq_mask = (unsigned int *)(void *)(cq + params.cq_off.ring_mask);
	ring.cqes = (struct io_uring_cqe *)(void *)(cq + params.cq_off.cqes);
	return 0;
}

/* One operation at a time: its result, or -errno. */
static int submit(const struct io_uring_sqe *operation)
{
	unsigned int tail = *ring.tail;
	unsigned int head = *ring.cq_head;
	int result;

	ring.sqes[tail & *ring.mask] = *operation;
	ring.sqes[tail & *ring.mask].flags |= (uint8_t)ring.flags;
	ring.array[tail & *ring.mask] = tail & *ring.mask;
	__atomic_store_n(ring.tail, tail + 1, __ATOMIC_RELEASE);
	while (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (__atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE) == head)
		return -EIO;
	result = ring.cqes[head & *ring.cq_mask].res;
	__atomic_store_n(ring.cq_head, head + 1, __ATOMIC_RELEASE);
	return result;
}

static int report(const char *what, long plain, const struct io_uring_sqe *operation)
{
	int result;

	if (is_plain) {
		escape_report(what, plain);
		return (int)plain;
	}
	result = submit(operation);
	escape_report_error(what, result < 0 ? -result : 0);
	return result;
}

static const char *name(const char *file)
{
	static char buffers[2][4096];
	static unsigned int next;
	char *buffer = buffers[next++ % 2];

	snprintf(buffer, sizeof(buffers[0]), "%s/%s", directory, file);
	return buffer;
}

static uint64_t pointer(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

static void try_socket(const char *what, int family, int type, int protocol)
{
	struct io_uring_sqe sqe = {.opcode = IORING_OP_SOCKET,
		.fd = family,
		.off = (uint64_t)type,
		.len = (uint32_t)protocol};

	report(what, is_plain ? socket(family, type, protocol) : 0, &sqe);
}

/* From an end of a pair, which can be had without a socket's creation. */
static void try_unix(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct iovec vector = {(char[]){'x'}, 1};
	struct msghdr message = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &vector, .msg_iovlen = 1};
	struct io_uring_sqe connecting = {
		.opcode = IORING_OP_CONNECT, .addr = pointer(&to), .off = sizeof(to)};
	struct io_uring_sqe sending = {.opcode = IORING_OP_SENDMSG,
		.addr = pointer(&message),
		.len = 1,
		.msg_flags = MSG_NOSIGNAL};
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) < 0) {
		escape_report("connect", -1);
		escape_report("sendmsg", -1);
		return;
	}
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	sending.fd = connecting.fd = ends[0];
	report("sendmsg", is_plain ? sendmsg(ends[0], &message, MSG_NOSIGNAL) : 0, &sending);
	report("connect", is_plain ? connect(ends[0], (struct sockaddr *)&to, sizeof(to)) : 0,
		&connecting);
}

static void try_files(void)
{
	struct open_how how = {.flags = O_RDWR};
	const char *path = name("file");
	struct io_uring_sqe sqe = {.opcode = IORING_OP_OPENAT2,
		.fd = AT_FDCWD,
		.addr = pointer(path),
		.len = sizeof(how),
		.off = pointer(&how)};
	const char *to;

	report("openat2", is_plain ? syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)) : 0,
		&sqe);
	to = name("linked");
	sqe = (struct io_uring_sqe){.opcode = IORING_OP_LINKAT,
		.fd = AT_FDCWD,
		.addr = pointer(path),
		.len = (uint32_t)AT_FDCWD,
		.off = pointer(to)};
	report("linkat", is_plain ? link(path, to) : 0, &sqe);
	path = name("other");
	to = name("renamed");
	sqe = (struct io_uring_sqe){.opcode = IORING_OP_RENAMEAT,
		.fd = AT_FDCWD,
		.addr = pointer(path),
		.len = (uint32_t)AT_FDCWD,
		.off = pointer(to)};
	report("renameat", is_plain ? rename(path, to) : 0, &sqe);
	path = name("third");
	sqe = (struct io_uring_sqe){
		.opcode = IORING_OP_UNLINKAT, .fd = AT_FDCWD, .addr = pointer(path)};
	report("unlinkat", is_plain ? unlink(path) : 0, &sqe);
}

static int pass(int number, char **command)
{
	struct io_uring_params params = {0};
	int fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);

	/* It comes close-on-exec; a copy does not. */
	if (fd < 0 || dup2(fd, number) < 0) {
		escape_report("pass", -1);
		return 1;
	}
	execvp(command[0], command);
	perror(command[0]);
	return 127;
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "pass") == 0)
		return pass(escape_number(argv[2]), argv + 3);
	if (argc == 4) {
		is_plain = strcmp(argv[1], "plain") == 0;
		ring.flags = strcmp(argv[1], "worker") == 0 ? IOSQE_ASYNC : 0;
		argv++;
	} else if (argc != 3) {
		fprintf(stderr, "usage: ring [plain|worker] DIRECTORY SOCKET | pass FD COMMAND\n");
		return 2;
	}
	directory = argv[1];
	if (!is_plain && set_up() < 0)
		return 0;
	try_socket("socket", AF_INET, SOCK_STREAM, 0);
	try_socket("socket-unix", AF_UNIX, SOCK_STREAM, 0);
	try_socket("socket-mptcp", AF_INET, SOCK_STREAM, 262);
	try_socket("socket-packet", AF_PACKET, SOCK_DGRAM, 0);
	try_unix(argv[2]);
	try_files();
	return 0;
}
