/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * escape_unix serve DIRECTORY NAME: a host's sockets: DIRECTORY/s.sock (stream), d.sock (datagram)
 * and the same two as abstract NAME.s and NAME.d; prints "ready", then a line for all that arrives.
 * escape_unix reach DIRECTORY NAME: every way to reach them.
 * escape_unix own DIRECTORY NAME: sockets of its own there, from another process of its own.
 */

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "escape.h"

#define KINDS 4

static const struct {
	const char *name;
	int type;
	int is_abstract;
} kinds[KINDS] = {{"stream", SOCK_STREAM, 0}, {"datagram", SOCK_DGRAM, 0},
	{"abstract-stream", SOCK_STREAM, 1}, {"abstract-datagram", SOCK_DGRAM, 1}};

static struct sockaddr_un address_of(
	int kind, const char *directory, const char *name, socklen_t *ret_bytes)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *suffix = kinds[kind].type == SOCK_STREAM ? "s" : "d";
	int n;

	if (kinds[kind].is_abstract)
		n = 1 + snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s.%s", name,
				suffix);
	else
		n = 1 + snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s.sock",
				directory, suffix);
	*ret_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n);
	return address;
}

static int make_server(int kind, const char *directory, const char *name)
{
	socklen_t bytes;
	struct sockaddr_un address = address_of(kind, directory, name, &bytes);
	int fd = socket(AF_UNIX, kinds[kind].type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, bytes) < 0)
		return -1;
	if (kinds[kind].type == SOCK_STREAM && listen(fd, 16) < 0)
		return -1;
	return fd;
}

static void serve(const char *directory, const char *name)
{
	struct pollfd polled[KINDS];
	char bytes[64];

	for (int i = 0; i < KINDS; i++) {
		polled[i] = (struct pollfd){make_server(i, directory, name), POLLIN, 0};
		if (polled[i].fd < 0) {
			perror("serve");
			exit(1);
		}
	}
	puts("ready");
	fflush(stdout);
	while (poll(polled, KINDS, -1) > 0) {
		for (int i = 0; i < KINDS; i++) {
			if (!polled[i].revents)
				continue;
			if (kinds[i].type == SOCK_STREAM)
				close(accept4(polled[i].fd, NULL, NULL, SOCK_CLOEXEC));
			else if (recv(polled[i].fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0)
				continue;
			printf("got %s\n", kinds[i].name);
			fflush(stdout);
		}
	}
}

static void report_kind(const char *prefix, int kind, const char *call, long result)
{
	char what[96];
	int error = errno;

	snprintf(what, sizeof(what), "%s%s-%s", prefix, kinds[kind].name, call);
	errno = error;
	escape_report(what, result);
}

static void send_all(
	const char *prefix, int kind, int fd, const struct sockaddr_un *to, socklen_t bytes)
{
	struct iovec vector = {(char[]){'x'}, 1};
	struct mmsghdr message = {.msg_hdr = {.msg_name = (void *)to,
					  .msg_namelen = bytes,
					  .msg_iov = &vector,
					  .msg_iovlen = 1}};
	const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;

	report_kind(prefix, kind, "sendto",
		sendto(fd, "x", 1, flags, (const struct sockaddr *)to, bytes));
	report_kind(prefix, kind, "sendmsg", sendmsg(fd, &message.msg_hdr, flags));
	report_kind(prefix, kind, "sendmmsg", sendmmsg(fd, &message, 1, flags));
}

/* Where no socket can be made, its errno is the answer for all that would use it. */
static int make_client(const char *prefix, int kind)
{
	int fd = socket(AF_UNIX, kinds[kind].type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		report_kind(prefix, kind, "socket", -1);
	return fd;
}

static void reach_kind(const char *prefix, int kind, const char *directory, const char *name)
{
	socklen_t bytes;
	struct sockaddr_un to = address_of(kind, directory, name, &bytes);
	int fd = make_client(prefix, kind);

	if (fd < 0)
		return;
	if (kinds[kind].type == SOCK_DGRAM)
		send_all(prefix, kind, fd, &to, bytes);
	report_kind(prefix, kind, "connect", connect(fd, (struct sockaddr *)&to, bytes));
	close(fd);
}

/* A pair is no way out either: its ends are whole sockets. */
static void reach_by_pair(int type, const char *prefix, const char *directory, const char *name)
{
	static const int targets[] = {1, 3};
	int ends[2];
	char what[64];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0) {
		snprintf(what, sizeof(what), "%ssocketpair", prefix);
		escape_report(what, -1);
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		int kind = targets[i];
		socklen_t bytes;
		struct sockaddr_un to = address_of(kind, directory, name, &bytes);

		send_all(prefix, kind, ends[0], &to, bytes);
		report_kind(
			prefix, kind, "connect", connect(ends[0], (struct sockaddr *)&to, bytes));
	}
	close(ends[0]);
	close(ends[1]);
}

static void reach(const char *directory, const char *name)
{
	for (int kind = 0; kind < KINDS; kind++)
		reach_kind("", kind, directory, name);
	reach_by_pair(SOCK_DGRAM, "pair-", directory, name);
	reach_by_pair(SOCK_RAW, "raw-pair-", directory, name);
}

static void own(const char *directory, const char *name)
{
	int servers[KINDS];
	pid_t child;

	for (int i = 0; i < KINDS; i++) {
		servers[i] = make_server(i, directory, name);
		report_kind("own-", i, "serve", servers[i]);
	}
	child = fork();
	if (child == 0) {
		for (int kind = 0; kind < KINDS; kind++)
			reach_kind("own-", kind, directory, name);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	for (int i = 0; i < KINDS; i++)
		close(servers[i]);
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "serve") == 0) {
		serve(argv[2], argv[3]);
	} else if (argc == 4 && strcmp(argv[1], "reach") == 0) {
		reach(argv[2], argv[3]);
	} else if (argc == 4 && strcmp(argv[1], "own") == 0) {
		own(argv[2], argv[3]);
	} else {
		fprintf(stderr, "usage: escape_unix serve|reach|own DIRECTORY NAME\n");
		return 2;
	}
	return 0;
}
