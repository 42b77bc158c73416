/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RF_BPF_DECIDE_H
#define RF_BPF_DECIDE_H

/*
 * The decisions, as pure functions: the programs call them in the kernel, the unit tests on the
 * host. Each answers 0 (allowed) or -EPERM. What is not known is refused: a posture that this
 * version has no name for, a family that nobody listed, a protocol beyond the three.
 */

#include "bpf/abi.h"

#define RF_EPERM 1
#define RF_EACCES 13

#define RF_AF_UNIX 1U
#define RF_AF_INET 2U
#define RF_AF_INET6 10U
#define RF_AF_NETLINK 16U
#define RF_NETLINK_ROUTE 0U

#define RF_SOCK_STREAM 1U
#define RF_SOCK_DGRAM 2U
#define RF_SOCK_TYPE_MASK 15U

#define RF_PROTOCOL_DEFAULT 0U
#define RF_PROTOCOL_ICMP 1U
#define RF_PROTOCOL_TCP 6U
#define RF_PROTOCOL_UDP 17U
#define RF_PROTOCOL_ICMPV6 58U

/* Numbers of x86: socketpair(2) in 64 bits, in 32 bits, and through socketcall(2). */
#define RF_NR_SOCKETPAIR 53U
#define RF_NR_COMPAT_SOCKETPAIR 360U
#define RF_NR_COMPAT_SOCKETCALL 102U
#define RF_SOCKETCALL_SOCKETPAIR 8U

/* PF_IO_WORKER and PF_USER_WORKER of task_struct.flags. */
#define RF_PF_WORKERS 0x4010U

/*
 * Was socket_create reached from socketpair? The number is what the task entered the kernel with.
 * Inside, a tracer can forge it, and ring work can run on the way out of a real socketpair call;
 * neither gets more than a Unix socket that cannot bind, connect or send (rf_decide_unix_use).
 * A worker of a ring has no call of its own: false. So has the x32 entry (bit 30).
 */
static inline __attribute__((always_inline)) int rf_is_socketpair(
	__u64 number, __u64 first_argument, int is_compat, __u32 task_flags)
{
	if (task_flags & RF_PF_WORKERS)
		return 0;
	if (!is_compat)
		return number == RF_NR_SOCKETPAIR;
	return number == RF_NR_COMPAT_SOCKETPAIR ||
	       (number == RF_NR_COMPAT_SOCKETCALL &&
		       (__u32)first_argument == RF_SOCKETCALL_SOCKETPAIR);
}

static inline __attribute__((always_inline)) int rf_is_listed(
	const struct rf_entry *sandbox, __u32 family)
{
	for (int i = 0; i < RF_FAMILIES_MAX; i++)
		if ((__u32)i < sandbox->n_families && sandbox->families[i] == family)
			return 1;
	return 0;
}

/* TCP, UDP and unprivileged ICMP echo: what the address rules below know how to judge. */
static inline __attribute__((always_inline)) int rf_is_plain_inet(
	__u32 family, __u32 type, __u32 protocol)
{
	__u32 icmp = family == RF_AF_INET6 ? RF_PROTOCOL_ICMPV6 : RF_PROTOCOL_ICMP;

	if (type == RF_SOCK_STREAM)
		return protocol == RF_PROTOCOL_DEFAULT || protocol == RF_PROTOCOL_TCP;
	if (type == RF_SOCK_DGRAM)
		return protocol == RF_PROTOCOL_DEFAULT || protocol == RF_PROTOCOL_UDP ||
		       protocol == icmp;
	return 0;
}

/* socket(2): family, type (flags masked off here) and protocol, as the caller gave them. */
static inline __attribute__((always_inline)) int rf_decide_socket(
	const struct rf_entry *sandbox, __u32 family, __u32 type, __u32 protocol, int is_socketpair)
{
	type &= RF_SOCK_TYPE_MASK;
	if (sandbox->state != RF_ENTRY_ARMED || sandbox->posture == RF_SOCKETS_ALL)
		return 0;
	if (family == RF_AF_UNIX && is_socketpair)
		return 0;
	if (family == RF_AF_UNIX && sandbox->flags & RF_RULE_UNIX)
		return 0;
	if (sandbox->posture != RF_SOCKETS_LISTED)
		return -RF_EPERM;
	if (family != RF_AF_UNIX && rf_is_listed(sandbox, family))
		return 0;
	if (family == RF_AF_INET || family == RF_AF_INET6)
		return sandbox->flags & RF_RULE_INET && rf_is_plain_inet(family, type, protocol)
			       ? 0
			       : -RF_EPERM;
	if (family == RF_AF_NETLINK)
		return protocol == RF_NETLINK_ROUTE ? 0 : -RF_EPERM;
	return -RF_EPERM;
}

/* Where AF_UNIX is closed, a pair is all there is: it may not bind or connect. Other families are
 * not judged here but where they are made and where they send. */
static inline __attribute__((always_inline)) int rf_decide_unix_use(
	const struct rf_entry *sandbox, __u32 family)
{
	if (sandbox->state != RF_ENTRY_ARMED || sandbox->posture == RF_SOCKETS_ALL)
		return 0;
	if (family != RF_AF_UNIX)
		return sandbox->posture == RF_SOCKETS_NONE ? -RF_EPERM : 0;
	return sandbox->flags & RF_RULE_UNIX ? 0 : -RF_EPERM;
}

/*
 * One Unix socket reaches another. owner: the sandbox that made the other one, 0 for nobody's.
 * is_peer: they are connected already, which happened by socketpair, under this rule, or before
 * the sandbox got the descriptor. is_named: the policy names the other's file.
 */
static inline __attribute__((always_inline)) int rf_decide_unix_reach(
	const struct rf_entry *sandbox, __u64 self, __u64 owner, int is_peer, int is_named)
{
	if (sandbox->state != RF_ENTRY_ARMED || sandbox->flags & RF_RULE_UNIX_FOREIGN)
		return 0;
	if (is_peer || (owner && owner == self) || is_named)
		return 0;
	return -RF_EPERM;
}

/* ---- Files ---------------------------------------------------------------------------------- */

/* What may be done with a file, from what one directory or file on the way up says. */
enum rf_file_say {
	RF_SAY_NOTHING = 0,
	RF_SAY_OPEN = 1,
	RF_SAY_READ_ONLY = 2,
	RF_SAY_CLOSED = 3,
};

/* The rule at an inode itself: 0 where none is. The narrower wins at one place. */
static inline __attribute__((always_inline)) enum rf_file_say rf_file_say_place(__u32 flags)
{
	if (flags & RF_FILE_CLOSED)
		return RF_SAY_CLOSED;
	/* A directory that is open for some names is not to be changed itself. */
	if (flags & (RF_FILE_READ_ONLY | RF_FILE_LISTED))
		return RF_SAY_READ_ONLY;
	return flags & RF_FILE_OPEN ? RF_SAY_OPEN : RF_SAY_NOTHING;
}

/*
 * What a directory says of the entry in it that leads to the file. depth 0: the entry is the file.
 * is_own: the sandbox made it. A directory that a listed name turns out to be opens nothing below.
 */
static inline __attribute__((always_inline)) enum rf_file_say rf_file_say_name(
	__u32 directory, __u32 name, int depth, int is_own)
{
	if (name & RF_NAME_CLOSED)
		return RF_SAY_CLOSED;
	if (name & RF_NAME_READ_ONLY)
		return RF_SAY_READ_ONLY;
	if (!(directory & RF_FILE_LISTED))
		return RF_SAY_NOTHING;
	return depth == 0 && (name & RF_NAME_OPEN || is_own) ? RF_SAY_OPEN : RF_SAY_READ_ONLY;
}

/* EACCES is what a closed file answers below us too. */
static inline __attribute__((always_inline)) int rf_decide_file(enum rf_file_say say, int is_write)
{
	if (say == RF_SAY_CLOSED)
		return -RF_EACCES;
	return say == RF_SAY_READ_ONLY && is_write ? -RF_EPERM : 0;
}

/* May this very entry be made, moved, replaced or removed? entry: flags of its inode, 0 when there
 * is none; name: of its name. What its directory says is judged apart. */
static inline __attribute__((always_inline)) int rf_decide_entry(__u32 entry, __u32 name)
{
	if (entry & RF_FILE_CLOSED || name & RF_NAME_CLOSED)
		return -RF_EACCES;
	if (entry & (RF_FILE_READ_ONLY | RF_FILE_PINNED) || name & RF_NAME_READ_ONLY)
		return -RF_EPERM;
	return 0;
}

/*
 * The same in a directory that is open for some names: what exists must be listed or the sandbox's
 * own; what does not exist may be made, as a regular file.
 */
static inline __attribute__((always_inline)) int rf_decide_listed(
	__u32 name, int exists, int is_own, int is_regular)
{
	if (!is_regular)
		return -RF_EPERM;
	return !exists || is_own || name & RF_NAME_OPEN ? 0 : -RF_EPERM;
}

#endif
