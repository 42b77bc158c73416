/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */

/*
 * Which IP addresses may a sandbox reach, and where may it bind?
 *
 *	call	cgroup/connect4 …		every host; by the cgroup of the caller
 *		lsm/socket_connect …		where LSM programs can be had; by the label
 *	packet	cgroup_skb/egress, ingress	by the cgroup in which the socket was made
 *
 * The address is the kernel's own copy in each of them: nothing can change it after the look. The
 * calls' hooks come before autobind and before anything is sent; a fast-open send is a connect for
 * them. A packet shows what the calls do not: a source route, a routing header, ICMP, a datagram
 * socket that anybody can send to, a listener that bound itself.
 *
 * Of the loopback an address is the sandbox's own if the socket that it leads to now is: that is
 * asked of the kernel each time, so no list of ports can outlive the sockets. A socket's port goes
 *in many ways that no hook sees (a disconnect, a reset), and a segment can be sent again much
 *later: so a datagram and the first packet of a connection are judged again as they leave.
 *
 * Not covered: descriptors that were passed in and are connected already; without LSM programs, a
 * socket that was passed in unconnected (its cgroup is not the sandbox's), and a task that somebody
 * outside moved out of the leaf.
 */

#include "bpf/destination.h"
#include "bpf/membership.h"

#define RF_ALLOW 1
#define RF_REFUSE 0

#define RF_IP_VERSION_4 4
#define RF_IP_VERSION_6 6
#define RF_TCP_SYN 2
#define RF_TCP_ACK 16
#define RF_NEXT_HOP 0
#define RF_NEXT_ROUTING 43
#define RF_NEXT_FRAGMENT 44
#define RF_NEXT_OPTIONS 60
/* Extension headers that are looked through; a packet with more is refused. */
#define RF_NEXT_MAX 6

struct endpoint {
	struct rf_address address;
	/* Host order. */
	__u16 port;
	__u16 protocol;
};

/* ---- The one decision ----------------------------------------------------------------------- */

static __always_inline int has_port(const struct endpoint *to)
{
	return to->protocol == RF_PROTOCOL_TCP || to->protocol == RF_PROTOCOL_UDP;
}

struct search {
	__u64 sandbox;
	const struct endpoint *to;
	__u32 lengths;
	int is_public;
	/* Flags of the rule that names it, -1 for none. */
	__s64 found;
};

static __always_inline void search_length(struct search *search, __u32 bits)
{
	const struct endpoint *to = search->to;
	struct rf_address none = {};
	struct rf_destination_key key = rf_destination_key(search->sandbox,
		rf_destination_kind(&to->address), bits, to->port, &to->address, 128);
	__u32 *flags = bpf_map_lookup_elem(&rf_destinations, &key);

	if (flags && search->found <= 0)
		search->found = *flags;
	if (search->found >= 0 || !search->is_public)
		return;
	key = rf_destination_key(search->sandbox, RF_DESTINATION_PUBLIC, bits, to->port, &none, 0);
	if (bpf_map_lookup_elem(&rf_destinations, &key))
		search->found = 0;
}

static int search_step(__u32 i, struct search *search)
{
	__u32 bits = (i & 15) + 1;

	if (search->lengths & 1U << bits)
		search_length(search, bits);
	return 0;
}

/* One lookup for each length of a port's prefix that the sandbox's rules have: all ports, one port,
 * and where a range was named, those between. */
static __always_inline __s64 rule_for(const struct rf_member *member, const struct endpoint *to)
{
	struct search search = {
		.sandbox = member->id,
		.to = to,
		.lengths = has_port(to) ? member->sandbox->port_lengths
					: member->sandbox->port_lengths & 1U,
		.is_public = member->sandbox->flags & RF_RULE_PUBLIC && rf_is_public(&to->address),
		.found = -1,
	};

	if (search.lengths & 1U)
		search_length(&search, 0);
	if (search.lengths & 1U << 16)
		search_length(&search, 16);
	if (search.lengths & 0xfffeU)
		bpf_loop(15, search_step, &search, 0);
	return search.found;
}

/* Seen from who sends. The answer: its length, which is its family. */
static __always_inline __u32 make_tuple(
	struct bpf_sock_tuple *tuple, const struct endpoint *from, const struct endpoint *to)
{
	__builtin_memset(tuple, 0, sizeof(*tuple));
	if (rf_is_v4(&to->address)) {
		tuple->ipv4.saddr = from->address.word[3];
		tuple->ipv4.daddr = to->address.word[3];
		tuple->ipv4.sport = RF_NET16(from->port);
		tuple->ipv4.dport = RF_NET16(to->port);
		return sizeof(tuple->ipv4);
	}
	__builtin_memcpy(tuple->ipv6.saddr, &from->address, sizeof(from->address));
	__builtin_memcpy(tuple->ipv6.daddr, &to->address, sizeof(to->address));
	tuple->ipv6.sport = RF_NET16(from->port);
	tuple->ipv6.dport = RF_NET16(to->port);
	return sizeof(tuple->ipv6);
}

/* In the network namespace of the caller's socket, or of the packet. 0: nobody's, or no socket. */
static __always_inline __u64 look_up_holder(
	void *ctx, const struct endpoint *from, const struct endpoint *to)
{
	struct bpf_sock_tuple tuple;
	__u32 bytes = make_tuple(&tuple, from, to);
	struct rf_label *label;
	struct bpf_sock *sock;
	__u64 holder;

	if (to->protocol == RF_PROTOCOL_TCP)
		sock = bpf_sk_lookup_tcp(ctx, &tuple, bytes, BPF_F_CURRENT_NETNS, 0);
	else
		sock = bpf_sk_lookup_udp(ctx, &tuple, bytes, BPF_F_CURRENT_NETNS, 0);
	if (!sock)
		return 0;
	label = bpf_sk_storage_get(&rf_bound, sock, NULL, 0);
	holder = label ? label->sandbox : 0;
	bpf_sk_release(sock);
	return holder;
}

static __always_inline int is_own(void *ctx, const struct rf_member *member,
	const struct endpoint *from, const struct endpoint *to)
{
	struct endpoint any = *from;
	__u64 holder;

	if (member->sandbox->egress != RF_EGRESS_RULES || !rf_is_loopback(&to->address) ||
		!has_port(to))
		return 0;
	holder = look_up_holder(ctx, from, to);
	/* What waits out an old connection of the same two ports, hides the listener. */
	if (!holder && to->protocol == RF_PROTOCOL_TCP && from->port) {
		any.port = 0;
		holder = look_up_holder(ctx, &any, to);
	}
	return rf_decide_own(member->id, &to->address, holder);
}

static __always_inline int decide(
	const struct rf_member *member, const struct endpoint *to, int is_own_address)
{
	if (member->sandbox->state != RF_ENTRY_ARMED || member->sandbox->egress == RF_EGRESS_ANY)
		return 0;
	return rf_decide_reach(member->sandbox, &to->address, is_own_address,
		member->sandbox->egress == RF_EGRESS_RULES ? rule_for(member, to) : -1);
}

static __always_inline void tell(const struct rf_member *member, struct task_struct *task,
	enum rf_denial_by by, enum rf_denial_op op, __u32 type, const struct endpoint *to)
{
	struct rf_refused refused = {
		.family = rf_is_v4(&to->address) ? RF_AF_INET : RF_AF_INET6,
		.type = type,
		.protocol = to->protocol,
		.address = &to->address,
		.port = has_port(to) ? to->port : 0,
	};

	rf_emit_refused(member, task, by, op, &refused);
}

/* ---- Calls, by cgroup ----------------------------------------------------------------------- */

/* The wide loads are the only ones that the verifier takes, each field whole. */
static __always_inline struct endpoint endpoint_of(struct bpf_sock_addr *ctx, int is_v6)
{
	struct endpoint to = {
		.port = RF_NET16((__u16)ctx->user_port),
		.protocol = (__u16)ctx->protocol,
	};

	if (is_v6) {
		to.address.word[0] = ctx->user_ip6[0];
		to.address.word[1] = ctx->user_ip6[1];
		to.address.word[2] = ctx->user_ip6[2];
		to.address.word[3] = ctx->user_ip6[3];
	} else {
		to.address = rf_address_v4(ctx->user_ip4);
	}
	return to;
}

/* Of the caller's socket. One that is not bound yet gets the loopback's first address, if it is to
 * reach the loopback; the packet will tell. */
static __always_inline struct endpoint source_of(
	struct bpf_sock_addr *ctx, const struct endpoint *to)
{
	struct endpoint from = {};
	struct bpf_sock *sock = ctx->sk;

	if (rf_is_v4(&to->address)) {
		from.address = rf_address_v4(RF_NET32(0x7f000001U));
		if (sock && sock->src_ip4)
			from.address.word[3] = sock->src_ip4;
	} else {
		from.address.word[3] = RF_NET32(1U);
	}
	if (sock)
		from.port = (__u16)sock->src_port;
	return from;
}

static __always_inline int reach(struct bpf_sock_addr *ctx, int is_v6, enum rf_denial_op op)
{
	struct endpoint to, from;
	struct rf_member member;

	if (!rf_member_by_cgroup(&member) || member.sandbox->egress == RF_EGRESS_ANY)
		return RF_ALLOW;
	to = endpoint_of(ctx, is_v6);
	from = source_of(ctx, &to);
	if (!decide(&member, &to, is_own(ctx, &member, &from, &to)))
		return RF_ALLOW;
	tell(&member, (struct task_struct *)bpf_get_current_task(), RF_BY_CGROUP, op, ctx->type,
		&to);
	return RF_REFUSE;
}

SEC("?cgroup/connect4")
int rf_connect4(struct bpf_sock_addr *ctx)
{
	return reach(ctx, 0, RF_DENIAL_SOCKET_CONNECT);
}

SEC("?cgroup/connect6")
int rf_connect6(struct bpf_sock_addr *ctx)
{
	return reach(ctx, 1, RF_DENIAL_SOCKET_CONNECT);
}

SEC("?cgroup/sendmsg4")
int rf_sendmsg4(struct bpf_sock_addr *ctx)
{
	return reach(ctx, 0, RF_DENIAL_SOCKET_SEND);
}

SEC("?cgroup/sendmsg6")
int rf_sendmsg6(struct bpf_sock_addr *ctx)
{
	return reach(ctx, 1, RF_DENIAL_SOCKET_SEND);
}

static __always_inline int bind(struct bpf_sock_addr *ctx, int is_v6)
{
	struct endpoint at;
	struct rf_member member;

	if (!rf_member_by_cgroup(&member) || member.sandbox->egress == RF_EGRESS_ANY)
		return RF_ALLOW;
	at = endpoint_of(ctx, is_v6);
	if (!rf_decide_bind(member.sandbox, &at.address))
		return RF_ALLOW;
	tell(&member, (struct task_struct *)bpf_get_current_task(), RF_BY_CGROUP,
		RF_DENIAL_SOCKET_BIND, ctx->type, &at);
	return RF_REFUSE;
}

SEC("?cgroup/bind4")
int rf_bind4(struct bpf_sock_addr *ctx)
{
	return bind(ctx, 0);
}

SEC("?cgroup/bind6")
int rf_bind6(struct bpf_sock_addr *ctx)
{
	return bind(ctx, 1);
}

/* ---- Sockets that hold a port of the sandbox's ---------------------------------------------- */

/* A socket that finds no room is not reachable, nothing worse. */
static __always_inline void mark(struct bpf_sock *sock, __u64 holder)
{
	struct rf_label *label = bpf_sk_storage_get(
		&rf_bound, sock, NULL, holder ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);

	if (label)
		label->sandbox = holder;
}

/* Who binds it last holds it: outside of the sandbox, nobody. */
static __always_inline int bound(struct bpf_sock *sock, const struct rf_address *address)
{
	struct rf_member member;

	if (!rf_member_by_cgroup(&member)) {
		mark(sock, 0);
		return RF_ALLOW;
	}
	if (rf_decide_bind(member.sandbox, address))
		return RF_REFUSE;
	mark(sock, rf_decide_holder(member.sandbox, member.id, address));
	return RF_ALLOW;
}

SEC("?cgroup/post_bind4")
int rf_post_bind4(struct bpf_sock *sock)
{
	struct rf_address address = rf_address_v4(sock->src_ip4);

	return bound(sock, &address);
}

SEC("?cgroup/post_bind6")
int rf_post_bind6(struct bpf_sock *sock)
{
	struct rf_address address;

	address.word[0] = sock->src_ip6[0];
	address.word[1] = sock->src_ip6[1];
	address.word[2] = sock->src_ip6[2];
	address.word[3] = sock->src_ip6[3];
	return bound(sock, &address);
}

/* ---- Packets -------------------------------------------------------------------------------- */

struct packet {
	struct endpoint from;
	struct endpoint to;
	/* Route options, or headers that hide what comes. */
	int is_odd;
	/* TCP alone: opens a connection. */
	int is_first;
};

struct ip4_header {
	__u8 version_length;
	__u8 tos;
	__u16 bytes;
	__u16 id;
	__u16 fragment;
	__u8 ttl;
	__u8 protocol;
	__u16 checksum;
	__u32 from;
	__u32 to;
};

struct ip6_header {
	__u32 version;
	__u16 bytes;
	__u8 next;
	__u8 hops;
	struct rf_address from;
	struct rf_address to;
};

static __always_inline int read_ip4(struct __sk_buff *skb, struct packet *packet, __u32 *at)
{
	struct ip4_header ip;

	if (bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)))
		return -1;
	packet->from.address = rf_address_v4(ip.from);
	packet->to.address = rf_address_v4(ip.to);
	packet->to.protocol = packet->from.protocol = ip.protocol;
	/* Options: a source route is one, and nobody in a sandbox needs the others. */
	packet->is_odd = (ip.version_length & 15) != 5 || ip.fragment & RF_NET16(0x1fff);
	*at = sizeof(ip);
	return 0;
}

static __always_inline int read_ip6(struct __sk_buff *skb, struct packet *packet, __u32 *at)
{
	struct ip6_header ip;
	__u8 next;

	if (bpf_skb_load_bytes(skb, 0, &ip, sizeof(ip)))
		return -1;
	packet->from.address = ip.from;
	packet->to.address = ip.to;
	*at = sizeof(ip);
	next = ip.next;
	/* A kernel of 6.1 takes no loop that the compiler laid out with its end in the middle. */
#pragma unroll
	for (int i = 0; i <= RF_NEXT_MAX; i++) {
		__u8 header[4];

		packet->to.protocol = packet->from.protocol = next;
		if (next != RF_NEXT_HOP && next != RF_NEXT_OPTIONS && next != RF_NEXT_FRAGMENT &&
			next != RF_NEXT_ROUTING)
			return 0;
		if (next == RF_NEXT_ROUTING || i == RF_NEXT_MAX)
			break;
		if (bpf_skb_load_bytes(skb, *at, header, sizeof(header)))
			return -1;
		/* Not the first fragment: no ports to judge. */
		if (next == RF_NEXT_FRAGMENT && (header[2] || header[3] & 0xf8))
			break;
		*at += next == RF_NEXT_FRAGMENT ? 8 : (header[1] + 1U) * 8;
		next = header[0];
	}
	packet->is_odd = 1;
	return 0;
}

/* Negative: cannot be read. */
static __always_inline int read_packet(struct __sk_buff *skb, struct packet *packet)
{
	__u16 ports[2];
	__u8 version, flags;
	__u32 at = 0;
	int r;

	if (bpf_skb_load_bytes(skb, 0, &version, sizeof(version)))
		return -1;
	r = version >> 4 == RF_IP_VERSION_4   ? read_ip4(skb, packet, &at)
	    : version >> 4 == RF_IP_VERSION_6 ? read_ip6(skb, packet, &at)
					      : -1;
	if (r || packet->is_odd || !has_port(&packet->to))
		return r;
	if (bpf_skb_load_bytes(skb, at, ports, sizeof(ports)))
		return -1;
	packet->from.port = RF_NET16(ports[0]);
	packet->to.port = RF_NET16(ports[1]);
	if (packet->to.protocol != RF_PROTOCOL_TCP)
		return 0;
	if (bpf_skb_load_bytes(skb, at + 13, &flags, sizeof(flags)))
		return -1;
	packet->is_first = (flags & (RF_TCP_SYN | RF_TCP_ACK)) == RF_TCP_SYN;
	return 0;
}

static __always_inline int member_of_socket(struct __sk_buff *skb, struct rf_member *member)
{
	member->id = bpf_skb_ancestor_cgroup_id(skb, rf_leaf_depth);
	member->flags = 0;
	member->sandbox = member->id ? bpf_map_lookup_elem(&rf_sandboxes, &member->id) : NULL;
	return member->sandbox && member->sandbox->state == RF_ENTRY_ARMED &&
	       member->sandbox->egress != RF_EGRESS_ANY;
}

/* Packets are also sent by whoever the processor was running. */
static __always_inline struct task_struct *sender(const struct rf_member *member)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return rf_leaf_of_cgroup(BPF_CORE_READ(task, cgroups, dfl_cgrp)) == member->id ? task
										       : NULL;
}

/* A datagram socket that bound itself by sending: it is the sandbox's, for the answer. */
static __always_inline void note_sender(
	struct __sk_buff *skb, const struct rf_member *member, const struct endpoint *from)
{
	struct rf_label holder = {
		.sandbox = rf_decide_holder(member->sandbox, member->id, &from->address)};
	struct bpf_sock *sock = skb->sk;

	sock = sock ? bpf_sk_fullsock(sock) : NULL;
	if (sock && holder.sandbox)
		bpf_sk_storage_get(&rf_bound, sock, &holder, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* A connection once begun was judged by its first packet. */
static __always_inline int may_leave(
	struct __sk_buff *skb, const struct rf_member *member, const struct packet *packet)
{
	if (packet->is_odd)
		return 0;
	if (packet->to.protocol == RF_PROTOCOL_TCP && !packet->is_first)
		return 1;
	return !decide(member, &packet->to, is_own(skb, member, &packet->from, &packet->to));
}

SEC("?cgroup_skb/egress")
int rf_packet_out(struct __sk_buff *skb)
{
	struct packet packet;
	struct rf_member member;

	if (!member_of_socket(skb, &member))
		return RF_ALLOW;
	__builtin_memset(&packet, 0, sizeof(packet));
	if (read_packet(skb, &packet))
		return RF_REFUSE;
	if (may_leave(skb, &member, &packet)) {
		if (packet.to.protocol == RF_PROTOCOL_UDP)
			note_sender(skb, &member, &packet.from);
		return RF_ALLOW;
	}
	tell(&member, sender(&member), RF_BY_CGROUP,
		packet.is_odd ? RF_DENIAL_SOCKET_ROUTE : RF_DENIAL_SOCKET_SEND, 0, &packet.to);
	return RF_REFUSE;
}

/*
 * Binding is to the loopback alone, and some sockets bind themselves. So a connection from
 * elsewhere finds no listener, and a datagram from elsewhere is taken from whom the sandbox may
 * send to.
 */
SEC("?cgroup_skb/ingress")
int rf_packet_in(struct __sk_buff *skb)
{
	struct packet packet;
	struct rf_member member;

	if (!member_of_socket(skb, &member))
		return RF_ALLOW;
	__builtin_memset(&packet, 0, sizeof(packet));
	if (read_packet(skb, &packet))
		return RF_REFUSE;
	if (rf_is_loopback(&packet.to.address) && rf_is_loopback(&packet.from.address))
		return RF_ALLOW;
	if (packet.to.protocol == RF_PROTOCOL_TCP)
		return packet.is_first ? RF_REFUSE : RF_ALLOW;
	if (packet.to.protocol == RF_PROTOCOL_UDP)
		return decide(&member, &packet.from, 0) ? RF_REFUSE : RF_ALLOW;
	return RF_ALLOW;
}

/* ---- Calls, by label ------------------------------------------------------------------------ */

struct name {
	__u16 family;
	__u16 port;
	__u32 v4;
	struct rf_address v6; /* at 8, behind the flow label that lies where v4 does */
};

/*
 * What the kernel will make of a name given to this socket. 0: an address; 1: none, the socket's
 * own peer, or nothing at all, is meant; -1: not known.
 */
static __always_inline int read_name(
	struct sock *sk, const void *name, int is_send, struct endpoint *ret)
{
	__u32 family = sk->__sk_common.skc_family;
	struct name n = {};

	if (bpf_probe_read_kernel(&n, sizeof(n), name))
		return -1;
	ret->port = RF_NET16(n.port);
	ret->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (family == RF_AF_INET6 && n.family == RF_AF_INET6)
		ret->address = n.v6;
	else if (n.family == RF_AF_INET)
		ret->address = rf_address_v4(n.v4);
	else if (n.family == 0 && family == RF_AF_INET && is_send)
		/* Sending takes AF_UNSPEC for AF_INET there, and binding too. */
		ret->address = rf_address_v4(n.v4);
	else if (n.family == 0)
		return 1;
	else
		return -1;
	return 0;
}

static __always_inline int is_inet(struct sock *sk)
{
	__u32 family = sk ? sk->__sk_common.skc_family : 0;

	return family == RF_AF_INET || family == RF_AF_INET6;
}

/* 0: not a member, or not judged by address. -1: a member whose rules are gone. */
static __always_inline int is_judged(struct rf_member *member)
{
	if (!rf_member_current(member))
		return 0;
	if (!member->sandbox)
		return -1;
	return member->sandbox->state == RF_ENTRY_ARMED && member->sandbox->egress != RF_EGRESS_ANY;
}

/*
 * Whose socket an address leads to cannot be asked here. The programs of the cgroup ask, if it is
 * the cgroup of both the socket and the caller; for any other socket no address is the sandbox's
 * own.
 */
static __always_inline int is_left_to_cgroup(struct sock *sk, const struct rf_member *member)
{
	struct rf_member by_cgroup;

	return rf_member_by_cgroup(&by_cgroup) && by_cgroup.id == member->id &&
	       rf_leaf_of_cgroup(BPF_CORE_READ(sk, sk_cgrp_data.cgroup)) == member->id;
}

enum use { USE_CONNECT, USE_SEND, USE_BIND };

static __always_inline int use(struct socket *sock, const void *name, enum use use)
{
	struct sock *sk = sock->sk;
	struct rf_member member;
	struct endpoint to = {};
	int r;

	if (!is_inet(sk))
		return 0;
	r = is_judged(&member);
	if (r <= 0)
		return r;
	r = read_name(sk, name, use != USE_CONNECT, &to);
	if (r > 0)
		return 0;
	if (r == 0 && use == USE_BIND)
		r = rf_decide_bind(member.sandbox, &to.address);
	else if (r == 0)
		r = decide(&member, &to, is_left_to_cgroup(sk, &member));
	if (r == 0)
		return 0;
	tell(&member, (struct task_struct *)bpf_get_current_task(), RF_BY_LSM,
		use == USE_CONNECT ? RF_DENIAL_SOCKET_CONNECT
		: use == USE_SEND  ? RF_DENIAL_SOCKET_SEND
				   : RF_DENIAL_SOCKET_BIND,
		sock->type, &to);
	return -RF_EPERM;
}

SEC("?lsm/socket_connect")
int BPF_PROG(rf_inet_connect, struct socket *sock, void *address, int address_bytes, int ret)
{
	return ret ? ret : use(sock, address, USE_CONNECT);
}

SEC("?lsm/socket_bind")
int BPF_PROG(rf_inet_bind, struct socket *sock, void *address, int address_bytes, int ret)
{
	return ret ? ret : use(sock, address, USE_BIND);
}

/* Most sends name nobody: they cost one look. */
SEC("?lsm/socket_sendmsg")
int BPF_PROG(rf_inet_sendmsg, struct socket *sock, struct msghdr *message, int bytes, int ret)
{
	void *name = message->msg_name;

	if (ret || !name)
		return ret;
	return use(sock, name, USE_SEND);
}

/* An unbound socket binds itself to every address. */
SEC("?lsm/socket_listen")
int BPF_PROG(rf_inet_listen, struct socket *sock, int backlog, int ret)
{
	struct sock *sk = sock->sk;
	struct rf_member member;
	struct endpoint at = {};
	int r;

	if (ret || !is_inet(sk))
		return ret;
	r = is_judged(&member);
	if (r <= 0)
		return r;
	at.port = BPF_CORE_READ(sk, __sk_common.skc_num);
	at.protocol = BPF_CORE_READ(sk, sk_protocol);
	if (sk->__sk_common.skc_family == RF_AF_INET)
		at.address = rf_address_v4(BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr));
	else
		BPF_CORE_READ_INTO(&at.address, sk, __sk_common.skc_v6_rcv_saddr);
	if (at.port && !rf_decide_bind(member.sandbox, &at.address))
		return 0;
	tell(&member, (struct task_struct *)bpf_get_current_task(), RF_BY_LSM,
		RF_DENIAL_SOCKET_LISTEN, sock->type, &at);
	return -RF_EPERM;
}
