/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */

/*
 * Which sockets may a sandbox make, and which Unix sockets may it reach?
 *
 * lsm/socket_create sees every way to a socket, a ring's SOCKET operation included; its arguments
 * are copied into the kernel before. The cgroup program is the floor where LSM programs cannot be
 * had: it sees AF_INET and AF_INET6 alone, after the kernel has chosen type and protocol, and only
 * tasks that still are in their leaf.
 *
 * Who made a socket is written to the socket at lsm/socket_post_create. One that nobody wrote to
 * is foreign: made outside, or before the programs came.
 *
 * Not covered: descriptors that were passed in and are connected already work on, as they are
 * meant to; addresses are judged elsewhere.
 */

#include "bpf/decide.h"
#include "bpf/membership.h"

/* thread_info.status: the task is in a 32-bit system call. */
#define RF_TS_COMPAT 2U
#define RF_ENOMEM 12

#ifdef __TARGET_ARCH_x86
/* The part of pt_regs that tells which call a task is in. */
struct pt_regs {
	unsigned long bx;
	unsigned long di;
	unsigned long orig_ax;
} RF_CORE;

static __always_inline int is_socketpair_call(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	int is_compat = (BPF_CORE_READ(task, thread_info.status) & RF_TS_COMPAT) != 0;
	__u64 first = is_compat ? BPF_CORE_READ(regs, bx) : BPF_CORE_READ(regs, di);

	return rf_is_socketpair(
		BPF_CORE_READ(regs, orig_ax), first, is_compat, BPF_CORE_READ(task, flags));
}
#else
#error "which call is socketpair on this architecture?"
#endif

SEC("?lsm/socket_create")
int BPF_PROG(rf_socket_create, int family, int type, int protocol, int kern, int ret)
{
	struct rf_member member;

	if (ret || kern || !rf_member_current(&member))
		return ret;
	if (!member.sandbox)
		return -RF_EPERM;
	if (!rf_decide_socket(member.sandbox, family, type, protocol, 0))
		return 0;
	if (family == RF_AF_UNIX && is_socketpair_call())
		return 0;
	rf_emit_denial(&member, RF_BY_LSM, RF_DENIAL_SOCKET_CREATE, family,
		type & RF_SOCK_TYPE_MASK, protocol);
	return -RF_EPERM;
}

SEC("?lsm/socket_post_create")
int BPF_PROG(rf_socket_post_create, struct socket *sock, int family, int type, int protocol,
	int kern, int ret)
{
	struct rf_label owner = {};
	struct rf_member member;
	struct sock *sk;

	if (ret || kern || family != RF_AF_UNIX || !rf_member_current(&member))
		return ret;
	sk = sock->sk;
	if (!sk)
		return 0;
	owner.sandbox = member.id;
	/* Without its owner's name the socket could reach nobody: say so now. */
	return bpf_sk_storage_get(&rf_sockets, sk, &owner, BPF_LOCAL_STORAGE_GET_F_CREATE)
		       ? 0
		       : -RF_ENOMEM;
}

static __always_inline int use(struct socket *sock, enum rf_denial_op op)
{
	struct rf_member member;
	struct sock *sk;
	__u32 family;

	if (!rf_member_current(&member))
		return 0;
	if (!member.sandbox)
		return -RF_EPERM;
	sk = sock->sk;
	family = sk ? sk->__sk_common.skc_family : 0;
	if (!rf_decide_unix_use(member.sandbox, family))
		return 0;
	rf_emit_denial(&member, RF_BY_LSM, op, family, sock->type, 0);
	return -RF_EPERM;
}

SEC("?lsm/socket_bind")
int BPF_PROG(rf_socket_bind, struct socket *sock, void *address, int address_bytes, int ret)
{
	return ret ? ret : use(sock, RF_DENIAL_SOCKET_BIND);
}

SEC("?lsm/socket_connect")
int BPF_PROG(rf_socket_connect, struct socket *sock, void *address, int address_bytes, int ret)
{
	return ret ? ret : use(sock, RF_DENIAL_SOCKET_CONNECT);
}

/* A passed socket that was never bound would bind itself. */
SEC("?lsm/socket_listen")
int BPF_PROG(rf_socket_listen, struct socket *sock, int backlog, int ret)
{
	return ret ? ret : use(sock, RF_DENIAL_SOCKET_LISTEN);
}

/* Does the policy name the file that the other socket is bound to? */
static __always_inline int is_named(const struct rf_member *member, struct sock *other)
{
	struct unix_sock *socket = (struct unix_sock *)other;
	struct rf_unix_key key = {.sandbox = member->id};
	struct inode *inode;

	if (!(member->sandbox->flags & RF_RULE_UNIX_INODES))
		return 0;
	inode = BPF_CORE_READ(socket, path.dentry, d_inode);
	if (!inode)
		return 0;
	key.ino = BPF_CORE_READ(inode, i_ino);
	key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	return bpf_map_lookup_elem(&rf_unix_inodes, &key) != NULL;
}

static __always_inline int reach(struct sock *other, int is_peer, enum rf_denial_op op, __u32 type)
{
	struct rf_member member;
	struct rf_label *owner;

	if (!rf_member_current(&member))
		return 0;
	if (!member.sandbox)
		return -RF_EPERM;
	owner = bpf_sk_storage_get(&rf_sockets, other, NULL, 0);
	if (!rf_decide_unix_reach(member.sandbox, member.id, owner ? owner->sandbox : 0, is_peer,
		    is_named(&member, other)))
		return 0;
	rf_emit_denial(&member, RF_BY_LSM, op, RF_AF_UNIX, type, 0);
	return -RF_EPERM;
}

SEC("?lsm/unix_stream_connect")
int BPF_PROG(
	rf_unix_stream_connect, struct sock *sock, struct sock *other, struct sock *newsk, int ret)
{
	return ret ? ret : reach(other, 0, RF_DENIAL_UNIX_CONNECT, RF_SOCK_STREAM);
}

/* Also asked when a datagram socket connects: then the peer is not set yet. */
SEC("?lsm/unix_may_send")
int BPF_PROG(rf_unix_may_send, struct socket *sock, struct socket *other, int ret)
{
	struct unix_sock *self;
	struct sock *target;

	if (ret)
		return ret;
	self = (struct unix_sock *)sock->sk;
	target = other->sk;
	/* A socket that has none is being closed: it cannot be reached. */
	if (!self || !target)
		return 0;
	return reach(
		target, BPF_CORE_READ(self, peer) == target, RF_DENIAL_UNIX_SEND, RF_SOCK_DGRAM);
}

SEC("?cgroup/sock_create")
int rf_inet_create(struct bpf_sock *sock)
{
	struct rf_member member;

	if (!rf_member_by_cgroup(&member))
		return 1;
	if (!rf_decide_socket(member.sandbox, sock->family, sock->type, sock->protocol, 0))
		return 1;
	rf_emit_denial(&member, RF_BY_CGROUP, RF_DENIAL_SOCKET_CREATE, sock->family, sock->type,
		sock->protocol);
	return 0;
}
