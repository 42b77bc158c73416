/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * escape_socket create: every family, type and protocol that means something, a line each:
 * FAMILY,TYPE,PROTOCOL and the errno.
 * escape_socket calls [FD]: each call of AF_INET, AF_INET6 and AF_UNIX, among sockets of its own;
 * with FD, on that descriptor, an inherited socket, as well.
 * escape_socket connect ADDRESS PORT: TCP, UDP and a fast-open send to one IPv4 address.
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "escape.h"

#define FAMILIES 48
#define NETLINK_PROTOCOLS 23

static void create(int family, int type, int protocol)
{
	int fd = socket(family, type, protocol);
	char what[64];

	snprintf(what, sizeof(what), "%d,%d,%d", family, type, protocol);
	escape_report(what, fd);
	if (fd >= 0)
		close(fd);
}

static void try_create(void)
{
	static const int types[] = {
		SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, SOCK_PACKET};
	/* ICMP, TCP, UDP, DCCP, ICMPv6, L2TP, SCTP, UDP-Lite, RAW, SMC, MPTCP */
	static const int protocols[] = {1, 6, 17, 33, 58, 115, 132, 136, 255, 256, 262};
	static const int inet[] = {AF_INET, AF_INET6};

	for (int family = 0; family < FAMILIES; family++)
		for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
			create(family, types[t], 0);
	for (size_t f = 0; f < 2; f++)
		for (size_t t = 0; t < 5; t++)
			for (size_t p = 0; p < sizeof(protocols) / sizeof(protocols[0]); p++)
				create(inet[f], types[t], protocols[p]);
	for (int protocol = 1; protocol < NETLINK_PROTOCOLS; protocol++)
		create(AF_NETLINK, SOCK_RAW, protocol);
	create(AF_PACKET, SOCK_RAW, htons(3));
	create(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 262);
	create(AF_UNIX, SOCK_STREAM, 1);
}

struct address {
	socklen_t bytes;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un local;
	};
};

static struct address own_address(int family, const char *name)
{
	struct address address = {0};

	address.any.sa_family = (sa_family_t)family;
	if (family == AF_INET) {
		address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		address.bytes = sizeof(address.v4);
	} else if (family == AF_INET6) {
		address.v6.sin6_addr = in6addr_loopback;
		address.bytes = sizeof(address.v6);
	} else {
		snprintf(address.local.sun_path, sizeof(address.local.sun_path), "%s", name);
		address.bytes = sizeof(address.local);
	}
	return address;
}

static void report_call(const char *family, const char *call, long result)
{
	char what[64];
	int error = errno;

	snprintf(what, sizeof(what), "%s-%s", family, call);
	errno = error;
	escape_report(what, result);
}

static void send_all(const char *family, int fd, const struct address *to)
{
	struct iovec vector = {(char[]){'x'}, 1};
	struct mmsghdr message = {.msg_hdr = {.msg_name = (void *)&to->any,
					  .msg_namelen = to->bytes,
					  .msg_iov = &vector,
					  .msg_iovlen = 1}};

	report_call(family, "sendto",
		sendto(fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL, &to->any, to->bytes));
	report_call(family, "sendmsg", sendmsg(fd, &message.msg_hdr, MSG_DONTWAIT | MSG_NOSIGNAL));
	report_call(family, "sendmmsg", sendmmsg(fd, &message, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
}

/* A listener and a receiver of its own, reached from other sockets of its own. */
static void try_family(const char *name, int family)
{
	struct address address = own_address(family, "own.s");
	int listener = socket(family, SOCK_STREAM, 0);
	int fd;

	report_call(name, "socket", listener);
	report_call(name, "bind", bind(listener, &address.any, address.bytes));
	report_call(name, "listen", listen(listener, 8));
	getsockname(listener, &address.any, &address.bytes);
	fd = socket(family, SOCK_STREAM, 0);
	report_call(name, "connect", connect(fd, &address.any, address.bytes));
	close(fd);
	address = own_address(family, "own.d");
	fd = socket(family, SOCK_DGRAM, 0);
	report_call(name, "bind-datagram", bind(fd, &address.any, address.bytes));
	getsockname(fd, &address.any, &address.bytes);
	close(listener);
	listener = socket(family, SOCK_DGRAM, 0);
	send_all(name, listener, &address);
	close(listener);
	close(fd);
	unlink("own.s");
	unlink("own.d");
}

static void try_pairs(void)
{
	static const struct {
		const char *name;
		int family, type;
	} pairs[] = {{"pair-stream", AF_UNIX, SOCK_STREAM}, {"pair-datagram", AF_UNIX, SOCK_DGRAM},
		{"pair-seqpacket", AF_UNIX, SOCK_SEQPACKET}, {"pair-raw", AF_UNIX, SOCK_RAW},
		{"pair-inet", AF_INET, SOCK_STREAM}, {"pair-tipc", AF_TIPC, SOCK_STREAM}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		int ends[2] = {-1, -1};

		escape_report(pairs[i].name, socketpair(pairs[i].family, pairs[i].type, 0, ends));
		if (ends[0] < 0)
			continue;
		report_call(
			pairs[i].name, "send", send(ends[0], "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL));
		close(ends[0]);
		close(ends[1]);
	}
}

/* An unconnected datagram socket of the caller's. */
static void try_inherited(int fd)
{
	struct address address = own_address(AF_INET, NULL);

	report_call("passed", "bind", bind(fd, &address.any, address.bytes));
	getsockname(fd, &address.any, &address.bytes);
	report_call("passed", "connect", connect(fd, &address.any, address.bytes));
	report_call("passed", "listen", listen(fd, 1));
	send_all("passed", fd, &address);
}

static void try_connect(const char *address, int port)
{
	struct address to = own_address(AF_INET, NULL);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (inet_pton(AF_INET, address, &to.v4.sin_addr) != 1)
		exit(2);
	to.v4.sin_port = htons((uint16_t)port);
	report_call("tcp", "connect", connect(fd, &to.any, to.bytes));
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	report_call("tcp", "fastopen",
		sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, &to.any, to.bytes));
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 262);
	report_call("mptcp", "connect", connect(fd, &to.any, to.bytes));
	close(fd);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	send_all("udp", fd, &to);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "create") == 0) {
		try_create();
	} else if (argc >= 2 && strcmp(argv[1], "calls") == 0) {
		try_family("inet", AF_INET);
		try_family("inet6", AF_INET6);
		try_family("unix", AF_UNIX);
		try_pairs();
		if (argc > 2)
			try_inherited(escape_number(argv[2]));
	} else if (argc == 4 && strcmp(argv[1], "connect") == 0) {
		try_connect(argv[2], escape_number(argv[3]));
	} else {
		fprintf(stderr, "usage: escape_socket create | calls [FD] | connect ADDR PORT\n");
		return 2;
	}
	return 0;
}
