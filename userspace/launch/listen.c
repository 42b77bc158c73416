/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * listen() on a socket that was never bound binds it to every address, and no hook but LSM's sees
 * that. Where there is none, the filter asks the launcher about each listen().
 *
 * This gives the caller its errno; it is not the wall. Between the look and the call another thread
 * can put another socket in the descriptor's place. What then listens is reached from the loopback
 * alone, since bpf/egress.bpf.c drops connections from elsewhere.
 */

#include "launch/listen.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/fd.h"

/* "Tgid:" of /proc/TID/status, within its first lines. 0: not known. */
static pid_t process_of(uint32_t thread)
{
	char path[64], text[512];
	int fd rf_autofd = -1;
	const char *at;
	ssize_t n;
	pid_t pid = 0;

	snprintf(path, sizeof(path), "/proc/%u/status", thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strstr(text, "\nTgid:\t");
	for (at = at ? at + 7 : ""; *at >= '0' && *at <= '9'; at++)
		pid = pid * 10 + (*at - '0');
	return pid;
}

static int socket_of(const struct seccomp_notif *asked)
{
	int process rf_autofd = pidfd_open((pid_t)asked->pid, 0);

	/* Not the first of its threads. */
	if (process < 0)
		process = pidfd_open(process_of(asked->pid), 0);
	return process < 0 ? -1 : pidfd_getfd(process, (int)asked->data.args[0], 0);
}

static bool is_loopback(const struct sockaddr_storage *at)
{
	const struct sockaddr_in6 *at6 = (const struct sockaddr_in6 *)at;
	const struct sockaddr_in *at4 = (const struct sockaddr_in *)at;

	if (at->ss_family == AF_INET)
		return at4->sin_port && ntohl(at4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	if (!at6->sin6_port)
		return false;
	return IN6_IS_ADDR_LOOPBACK(&at6->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&at6->sin6_addr) &&
		       at6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
}

/* 0: the kernel goes on. */
static int judge(const struct seccomp_notif *asked)
{
	struct sockaddr_storage at = {0};
	socklen_t bytes = sizeof(at);
	int fd rf_autofd = socket_of(asked);

	/* No descriptor, no socket: the kernel says so. */
	if (fd < 0)
		return errno == EBADF ? 0 : EPERM;
	if (getsockname(fd, (struct sockaddr *)&at, &bytes) < 0)
		return errno == ENOTSOCK ? 0 : EPERM;
	if (at.ss_family != AF_INET && at.ss_family != AF_INET6)
		return 0;
	return is_loopback(&at) ? 0 : EPERM;
}

void rf_listen_answer(int listener_fd)
{
	/* The kernel's structures may be longer than ours. */
	union {
		struct seccomp_notif notif;
		char room[512];
	} asked = {.room = {0}};
	union {
		struct seccomp_notif_resp resp;
		char room[512];
	} answer = {.room = {0}};
	int error;

	if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &asked.notif) < 0)
		return;
	error = judge(&asked.notif);
	/* Was it still the same caller? */
	if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked.notif.id) < 0)
		return;
	answer.resp.id = asked.notif.id;
	answer.resp.error = -error;
	answer.resp.flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &answer.resp);
}
