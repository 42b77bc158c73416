/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Every way to an IP address, an attempt a line.
 *
 *	egress reach ADDRESS PORT	an IPv4 address: also mapped, and through IPv6 sockets
 *	egress reach6 ADDRESS PORT
 *	egress bind ADDRESS		wildcards, the loopback, and an address of the host (IPv4)
 *	egress own ADDRESS PORT		a server of its own, then this port on that address
 *	egress route ADDRESS ADDRESS6	packets with IP options, with a routing header
 *
 * A connection that is under way counts as made: nobody has to answer.
 */

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "escape.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

struct name {
	struct sockaddr_storage storage;
	socklen_t bytes;
};

static struct name name4(const char *address, int port)
{
	struct name name = {.bytes = sizeof(struct sockaddr_in)};
	struct sockaddr_in *to = (struct sockaddr_in *)&name.storage;

	to->sin_family = AF_INET;
	to->sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, address, &to->sin_addr) != 1)
		exit(2);
	return name;
}

static struct name name6(const char *address, int port)
{
	struct name name = {.bytes = sizeof(struct sockaddr_in6)};
	struct sockaddr_in6 *to = (struct sockaddr_in6 *)&name.storage;

	to->sin6_family = AF_INET6;
	to->sin6_port = htons((uint16_t)port);
	if (inet_pton(AF_INET6, address, &to->sin6_addr) != 1)
		exit(2);
	return name;
}

static struct name mapped(const char *address, int port)
{
	char text[64];

	snprintf(text, sizeof(text), "::ffff:%s", address);
	return name6(text, port);
}

static struct name unspecified(struct name name)
{
	name.storage.ss_family = AF_UNSPEC;
	return name;
}

static const struct sockaddr *plain(const struct name *name)
{
	return (const struct sockaddr *)&name->storage;
}

/* ---- One way each; -1 and errno, or not ------------------------------------------------------ */

static long begun(long result)
{
	return result < 0 && errno == EINPROGRESS ? 0 : result;
}

static long do_connect(int fd, const struct name *to)
{
	return begun(connect(fd, plain(to), to->bytes));
}

static long do_reconnect(int fd, const struct name *to)
{
	struct name nobody = {.bytes = sizeof(struct sockaddr_in)};

	if (connect(fd, plain(&nobody), nobody.bytes) < 0)
		return -1;
	return do_connect(fd, to);
}

static long do_fastopen(int fd, const struct name *to)
{
	return begun(sendto(fd, "x", 1, MSG_FASTOPEN, plain(to), to->bytes));
}

static long do_sendto(int fd, const struct name *to)
{
	return sendto(fd, "x", 1, 0, plain(to), to->bytes);
}

/* What the first connect gave is not what the send is judged by. */
static long do_sendto_unspec(int fd, const struct name *to)
{
	struct name odd = unspecified(*to);

	return sendto(fd, "x", 1, 0, plain(&odd), odd.bytes);
}

static struct msghdr message_to(const struct name *to, struct iovec *piece)
{
	return (struct msghdr){.msg_name = (void *)&to->storage,
		.msg_namelen = to->bytes,
		.msg_iov = piece,
		.msg_iovlen = 1};
}

static long do_sendmsg(int fd, const struct name *to)
{
	struct iovec piece = {"x", 1};
	struct msghdr message = message_to(to, &piece);

	return sendmsg(fd, &message, 0);
}

static long do_sendmmsg(int fd, const struct name *to)
{
	struct iovec piece = {"x", 1};
	struct mmsghdr messages[2] = {{message_to(to, &piece), 0}, {message_to(to, &piece), 0}};

	return sendmmsg(fd, messages, 2, 0);
}

static const unsigned char echo[8] = {8, 0, 0, 0, 0, 1, 0, 1};
static const unsigned char echo6[8] = {128, 0, 0, 0, 0, 1, 0, 1};

static long do_echo(int fd, const struct name *to)
{
	bool is_v4 = to->storage.ss_family == AF_INET;

	return sendto(fd, is_v4 ? echo : echo6, sizeof(echo), 0, plain(to), to->bytes);
}

static long do_connected_echo(int fd, const struct name *to)
{
	bool is_v4 = to->storage.ss_family == AF_INET;

	if (do_connect(fd, to) < 0)
		return -1;
	return send(fd, is_v4 ? echo : echo6, sizeof(echo), 0);
}

static long do_connected_send(int fd, const struct name *to)
{
	return do_connect(fd, to) < 0 ? -1 : send(fd, "x", 1, 0);
}

static void attempt(const char *what, int family, int type, int protocol,
	long (*way)(int, const struct name *), struct name to)
{
	int fd = socket(family, type | SOCK_NONBLOCK, protocol);

	escape_report(what, fd < 0 ? -1 : way(fd, &to));
	close(fd);
}

static void reach(const char *address, int port)
{
	struct name v4 = name4(address, port), v6 = mapped(address, port);

	attempt("tcp-connect", AF_INET, SOCK_STREAM, 0, do_connect, v4);
	attempt("tcp-reconnect", AF_INET, SOCK_STREAM, 0, do_reconnect, v4);
	attempt("tcp-fastopen", AF_INET, SOCK_STREAM, 0, do_fastopen, v4);
	attempt("mptcp-connect", AF_INET, SOCK_STREAM, IPPROTO_MPTCP, do_connect, v4);
	attempt("udp-connect", AF_INET, SOCK_DGRAM, 0, do_connected_send, v4);
	attempt("udp-reconnect", AF_INET, SOCK_DGRAM, 0, do_reconnect, v4);
	attempt("udp-sendto", AF_INET, SOCK_DGRAM, 0, do_sendto, v4);
	attempt("udp-sendto-unspec", AF_INET, SOCK_DGRAM, 0, do_sendto_unspec, v4);
	attempt("udp-sendmsg", AF_INET, SOCK_DGRAM, 0, do_sendmsg, v4);
	attempt("udp-sendmmsg", AF_INET, SOCK_DGRAM, 0, do_sendmmsg, v4);
	attempt("icmp-sendto", AF_INET, SOCK_DGRAM, IPPROTO_ICMP, do_echo, v4);
	attempt("icmp-connect", AF_INET, SOCK_DGRAM, IPPROTO_ICMP, do_connected_echo, v4);
	attempt("mapped-tcp-connect", AF_INET6, SOCK_STREAM, 0, do_connect, v6);
	attempt("mapped-tcp-fastopen", AF_INET6, SOCK_STREAM, 0, do_fastopen, v6);
	attempt("mapped-udp-connect", AF_INET6, SOCK_DGRAM, 0, do_connected_send, v6);
	attempt("mapped-udp-sendto", AF_INET6, SOCK_DGRAM, 0, do_sendto, v6);
	attempt("mixed-udp-connect", AF_INET6, SOCK_DGRAM, 0, do_connected_send, v4);
	attempt("mixed-udp-sendto", AF_INET6, SOCK_DGRAM, 0, do_sendto, v4);
	attempt("mixed-udp-sendmsg", AF_INET6, SOCK_DGRAM, 0, do_sendmsg, v4);
}

static void reach6(const char *address, int port)
{
	struct name v6 = name6(address, port);

	attempt("tcp-connect", AF_INET6, SOCK_STREAM, 0, do_connect, v6);
	attempt("tcp-reconnect", AF_INET6, SOCK_STREAM, 0, do_reconnect, v6);
	attempt("tcp-fastopen", AF_INET6, SOCK_STREAM, 0, do_fastopen, v6);
	attempt("udp-connect", AF_INET6, SOCK_DGRAM, 0, do_connected_send, v6);
	attempt("udp-sendto", AF_INET6, SOCK_DGRAM, 0, do_sendto, v6);
	attempt("udp-sendmsg", AF_INET6, SOCK_DGRAM, 0, do_sendmsg, v6);
	attempt("udp-sendmmsg", AF_INET6, SOCK_DGRAM, 0, do_sendmmsg, v6);
	attempt("icmp-sendto", AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6, do_echo, v6);
}

/* ---- Binding --------------------------------------------------------------------------------- */

static long do_bind(int fd, const struct name *at)
{
	return bind(fd, plain(at), at->bytes);
}

static long do_listen(int fd, const struct name *at)
{
	(void)at;
	return listen(fd, 1);
}

static void bind_all(const char *address)
{
	struct name every = name4("0.0.0.0", 0), every6 = name6("::", 0);

	attempt("every-tcp", AF_INET, SOCK_STREAM, 0, do_bind, every);
	attempt("every-udp", AF_INET, SOCK_DGRAM, 0, do_bind, every);
	attempt("every-port", AF_INET, SOCK_DGRAM, 0, do_bind, name4("0.0.0.0", 42017));
	attempt("every-unspec", AF_INET, SOCK_STREAM, 0, do_bind, unspecified(every));
	attempt("every6-tcp", AF_INET6, SOCK_STREAM, 0, do_bind, every6);
	attempt("every6-udp", AF_INET6, SOCK_DGRAM, 0, do_bind, every6);
	attempt("every-mapped", AF_INET6, SOCK_DGRAM, 0, do_bind, mapped("0.0.0.0", 0));
	attempt("address-tcp", AF_INET, SOCK_STREAM, 0, do_bind, name4(address, 0));
	attempt("address-udp", AF_INET, SOCK_DGRAM, 0, do_bind, name4(address, 0));
	attempt("address-mapped", AF_INET6, SOCK_DGRAM, 0, do_bind, mapped(address, 0));
	attempt("loopback-tcp", AF_INET, SOCK_STREAM, 0, do_bind, name4("127.0.0.1", 0));
	attempt("loopback-udp", AF_INET, SOCK_DGRAM, 0, do_bind, name4("127.0.0.9", 0));
	attempt("loopback6-tcp", AF_INET6, SOCK_STREAM, 0, do_bind, name6("::1", 0));
	attempt("loopback-mapped", AF_INET6, SOCK_STREAM, 0, do_bind, mapped("127.0.0.1", 0));
	attempt("listen-unbound", AF_INET, SOCK_STREAM, 0, do_listen, every);
	attempt("listen6-unbound", AF_INET6, SOCK_STREAM, 0, do_listen, every6);
}

/* ---- Ports of its own ------------------------------------------------------------------------ */

/* Bound to the address, its name put into at. */
static int server(int family, int type, struct name *at)
{
	int fd = socket(family, type, 0);

	if (fd < 0 || bind(fd, plain(at), at->bytes) < 0 ||
		getsockname(fd, (struct sockaddr *)&at->storage, &at->bytes) < 0)
		return -1;
	return type == SOCK_STREAM && listen(fd, 4) < 0 ? -1 : fd;
}

static void own_stream(const char *what, const char *closed, int family, struct name at)
{
	int fd = server(family, SOCK_STREAM, &at);

	attempt(what, family, SOCK_STREAM, 0, do_connect, at);
	close(fd);
	attempt(closed, family, SOCK_STREAM, 0, do_connect, at);
}

/* A question and its answer, between sockets of its own. */
static void own_datagram(const char *what, int family, struct name at, bool is_connected)
{
	int fd = server(family, SOCK_DGRAM, &at);
	int client = socket(family, SOCK_DGRAM, 0);
	struct name from = {.bytes = sizeof(from.storage)};
	struct pollfd answer = {.fd = client, .events = POLLIN};
	char byte;
	long r;

	if (is_connected)
		r = do_connected_send(client, &at);
	else
		r = do_sendto(client, &at);
	if (r >= 0)
		r = recvfrom(fd, &byte, 1, 0, (struct sockaddr *)&from.storage, &from.bytes);
	if (r >= 0)
		r = do_sendto(fd, &from);
	if (r >= 0 && poll(&answer, 1, 5000) != 1) {
		errno = ETIMEDOUT;
		r = -1;
	}
	escape_report(what, r);
	close(fd);
	close(client);
}

static void own(const char *address, int port)
{
	struct name other = name4("127.0.0.77", port);
	int fd = server(AF_INET, SOCK_STREAM, &other);

	/* Its own socket holds that port, on another address. */
	escape_report("other-address-held", fd);
	attempt("other-address", AF_INET, SOCK_STREAM, 0, do_connect, name4(address, port));
	attempt("other-address-datagram", AF_INET, SOCK_DGRAM, 0, do_sendto, other);
	close(fd);
	own_stream("tcp", "tcp-closed", AF_INET, name4("127.0.0.1", 0));
	own_stream("tcp6", "tcp6-closed", AF_INET6, name6("::1", 0));
	own_datagram("udp", AF_INET, name4("127.0.0.1", 0), false);
	own_datagram("udp-connected", AF_INET, name4("127.0.0.1", 0), true);
	own_datagram("udp6", AF_INET6, name6("::1", 0), false);
}

/* ---- Routes ---------------------------------------------------------------------------------- */

static long do_options(int fd, const struct name *to)
{
	static const unsigned char no_operation[4] = {1, 1, 1, 1};

	if (setsockopt(fd, IPPROTO_IP, IP_OPTIONS, no_operation, sizeof(no_operation)) < 0)
		return -1;
	return do_sendto(fd, to);
}

/* Segments of type 4, none left: harmless, and the header is there. */
static long do_routing_header(int fd, const struct name *to)
{
	unsigned char header[24] = {0, 2, 4, 0, 0};

	memcpy(header + 8, &((const struct sockaddr_in6 *)&to->storage)->sin6_addr, 16);
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, header, sizeof(header)) < 0)
		return -1;
	return do_sendto(fd, to);
}

static void route(const char *address, const char *address6)
{
	attempt("plain", AF_INET, SOCK_DGRAM, 0, do_sendto, name4(address, 9));
	attempt("options", AF_INET, SOCK_DGRAM, 0, do_options, name4(address, 9));
	attempt("plain6", AF_INET6, SOCK_DGRAM, 0, do_sendto, name6(address6, 9));
	attempt("routing-header", AF_INET6, SOCK_DGRAM, 0, do_routing_header, name6(address6, 9));
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	if (argc == 4 && strcmp(mode, "reach") == 0)
		reach(argv[2], escape_number(argv[3]));
	else if (argc == 4 && strcmp(mode, "reach6") == 0)
		reach6(argv[2], escape_number(argv[3]));
	else if (argc == 3 && strcmp(mode, "bind") == 0)
		bind_all(argv[2]);
	else if (argc == 4 && strcmp(mode, "own") == 0)
		own(argv[2], escape_number(argv[3]));
	else if (argc == 4 && strcmp(mode, "route") == 0)
		route(argv[2], argv[3]);
	else
		return 2;
	return 0;
}
