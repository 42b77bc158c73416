/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The decisions of bpf/decide.h, as they run in the kernel. */

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/net.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "bpf/decide.h"
#include "enforce/bpf.h"
#include "enforce/bpf_set.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static struct rf_entry armed(enum rf_socket_posture posture, __u32 flags)
{
	return (struct rf_entry){.state = RF_ENTRY_ARMED, .posture = posture, .flags = flags};
}

Test(bpf_decide, numbers_are_those_of_the_host)
{
	cr_assert_eq(RF_AF_UNIX, AF_UNIX);
	cr_assert_eq(RF_AF_INET, AF_INET);
	cr_assert_eq(RF_AF_INET6, AF_INET6);
	cr_assert_eq(RF_AF_NETLINK, AF_NETLINK);
	cr_assert_eq(RF_SOCK_STREAM, SOCK_STREAM);
	cr_assert_eq(RF_SOCK_DGRAM, SOCK_DGRAM);
	cr_assert_eq(RF_PROTOCOL_ICMPV6, IPPROTO_ICMPV6);
	cr_assert_eq(RF_NR_SOCKETPAIR, SYS_socketpair);
	cr_assert_eq(RF_SOCKETCALL_SOCKETPAIR, SYS_SOCKETPAIR);
}

Test(bpf_decide, none_refuses_every_socket)
{
	struct rf_entry none = armed(RF_SOCKETS_NONE, 0);

	for (__u32 family = 0; family < 64; family++)
		for (__u32 type = 0; type < 16; type++)
			cr_assert_eq(rf_decide_socket(&none, family, type, 0, 0), -EPERM,
				"family %u type %u", family, type);
}

Test(bpf_decide, none_ignores_families_and_inet)
{
	struct rf_entry none = armed(RF_SOCKETS_NONE, RF_RULE_INET);

	none.families[0] = 40;
	none.n_families = 1;
	cr_assert_eq(rf_decide_socket(&none, 40, SOCK_STREAM, 0, 0), -EPERM);
	cr_assert_eq(rf_decide_socket(&none, AF_INET, SOCK_STREAM, 0, 0), -EPERM);
}

Test(bpf_decide, none_allows_a_unix_pair_alone)
{
	struct rf_entry none = armed(RF_SOCKETS_NONE, 0);

	cr_assert_eq(rf_decide_socket(&none, AF_UNIX, SOCK_STREAM, 0, 1), 0);
	cr_assert_eq(rf_decide_socket(&none, AF_TIPC, SOCK_STREAM, 0, 1), -EPERM);
	cr_assert_eq(rf_decide_unix_use(&none, AF_UNIX), -EPERM);
	cr_assert_eq(rf_decide_unix_use(&none, AF_INET), -EPERM);
}

Test(bpf_decide, setup_and_all_refuse_nothing)
{
	struct rf_entry setup = armed(RF_SOCKETS_NONE, 0);
	struct rf_entry all = armed(RF_SOCKETS_ALL, 0);

	setup.state = RF_ENTRY_SETUP;
	cr_assert_eq(rf_decide_socket(&setup, AF_INET, SOCK_RAW, 0, 0), 0);
	cr_assert_eq(rf_decide_unix_use(&setup, AF_UNIX), 0);
	cr_assert_eq(rf_decide_unix_reach(&setup, 1, 2, 0, 0), 0);
	cr_assert_eq(rf_decide_socket(&all, AF_INET, SOCK_RAW, 0, 0), 0);
	cr_assert_eq(rf_decide_unix_use(&all, AF_UNIX), 0);
}

Test(bpf_decide, an_unknown_posture_refuses)
{
	struct rf_entry unknown = armed((enum rf_socket_posture)77, RF_RULE_INET);

	cr_assert_eq(rf_decide_socket(&unknown, AF_INET, SOCK_STREAM, 0, 0), -EPERM);
}

Test(bpf_decide, listed_inet_is_tcp_udp_and_echo)
{
	struct rf_entry listed = armed(RF_SOCKETS_LISTED, RF_RULE_INET);

	cr_assert_eq(rf_decide_socket(&listed, AF_INET, SOCK_STREAM, 0, 0), 0);
	cr_assert_eq(rf_decide_socket(&listed, AF_INET6, SOCK_STREAM, IPPROTO_TCP, 0), 0);
	cr_assert_eq(rf_decide_socket(&listed, AF_INET, SOCK_DGRAM, IPPROTO_UDP, 0), 0);
	cr_assert_eq(rf_decide_socket(&listed, AF_INET, SOCK_DGRAM, IPPROTO_ICMP, 0), 0);
	cr_assert_eq(rf_decide_socket(&listed, AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6, 0), 0);
	cr_assert_eq(
		rf_decide_socket(&listed, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP, 0), 0);
}

Test(bpf_decide, listed_inet_closes_what_address_rules_do_not_judge)
{
	struct rf_entry listed = armed(RF_SOCKETS_LISTED, RF_RULE_INET);

	cr_assert_eq(rf_decide_socket(&listed, AF_INET, SOCK_STREAM, IPPROTO_MPTCP, 0), -EPERM);
	cr_assert_eq(rf_decide_socket(&listed, AF_INET, SOCK_STREAM, IPPROTO_SCTP, 0), -EPERM);
	cr_assert_eq(rf_decide_socket(&listed, AF_INET6, SOCK_SEQPACKET, IPPROTO_SCTP, 0), -EPERM);
	cr_assert_eq(rf_decide_socket(&listed, AF_INET, SOCK_RAW, IPPROTO_TCP, 0), -EPERM);
	cr_assert_eq(rf_decide_socket(&listed, AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE, 0), -EPERM);
	cr_assert_eq(rf_decide_socket(&listed, AF_INET, SOCK_DGRAM, -1U, 0), -EPERM);
	cr_assert_eq(rf_decide_socket(&listed, AF_INET6, SOCK_DGRAM, IPPROTO_ICMP, 0), -EPERM);
}

Test(bpf_decide, listed_without_inet_closes_it)
{
	struct rf_entry listed = armed(RF_SOCKETS_LISTED, RF_RULE_UNIX);

	cr_assert_eq(rf_decide_socket(&listed, AF_INET, SOCK_STREAM, 0, 0), -EPERM);
	cr_assert_eq(rf_decide_socket(&listed, AF_INET6, SOCK_DGRAM, 0, 0), -EPERM);
	cr_assert_eq(rf_decide_socket(&listed, AF_UNIX, SOCK_STREAM, 0, 0), 0);
}

Test(bpf_decide, listed_closes_other_families_unless_named)
{
	struct rf_entry listed = armed(RF_SOCKETS_LISTED, RF_RULE_INET | RF_RULE_UNIX);

	cr_assert_eq(rf_decide_socket(&listed, AF_PACKET, SOCK_RAW, 3, 0), -EPERM);
	cr_assert_eq(rf_decide_socket(&listed, AF_ALG, SOCK_SEQPACKET, 0, 0), -EPERM);
	cr_assert_eq(rf_decide_socket(&listed, AF_VSOCK, SOCK_STREAM, 0, 0), -EPERM);
	listed.families[0] = AF_VSOCK;
	cr_assert_eq(rf_decide_socket(&listed, AF_VSOCK, SOCK_STREAM, 0, 0), -EPERM);
	listed.n_families = 1;
	cr_assert_eq(rf_decide_socket(&listed, AF_VSOCK, SOCK_STREAM, 0, 0), 0);
}

Test(bpf_decide, netlink_is_its_route_protocol_alone)
{
	struct rf_entry listed = armed(RF_SOCKETS_LISTED, 0);

	cr_assert_eq(rf_decide_socket(&listed, AF_NETLINK, SOCK_RAW, 0, 0), 0);
	cr_assert_eq(rf_decide_socket(&listed, AF_NETLINK, SOCK_RAW, 15, 0), -EPERM);
	listed.families[0] = AF_NETLINK;
	listed.n_families = 1;
	cr_assert_eq(rf_decide_socket(&listed, AF_NETLINK, SOCK_RAW, 15, 0), 0);
}

Test(bpf_decide, naming_unix_as_a_family_does_not_open_it)
{
	struct rf_entry listed = armed(RF_SOCKETS_LISTED, 0);

	listed.families[0] = AF_UNIX;
	listed.n_families = 1;
	cr_assert_eq(rf_decide_socket(&listed, AF_UNIX, SOCK_STREAM, 0, 0), -EPERM);
	cr_assert_eq(rf_decide_unix_use(&listed, AF_UNIX), -EPERM);
	cr_assert_eq(rf_decide_unix_use(&listed, AF_INET), 0);
}

Test(bpf_decide, unix_reaches_own_peer_and_named)
{
	struct rf_entry listed = armed(RF_SOCKETS_LISTED, RF_RULE_UNIX);
	struct rf_entry all = armed(RF_SOCKETS_ALL, 0);
	struct rf_entry full = armed(RF_SOCKETS_ALL, RF_RULE_UNIX_FOREIGN);

	cr_assert_eq(rf_decide_unix_reach(&listed, 5, 5, 0, 0), 0);
	cr_assert_eq(rf_decide_unix_reach(&listed, 5, 6, 0, 0), -EPERM);
	cr_assert_eq(rf_decide_unix_reach(&listed, 5, 0, 0, 0), -EPERM);
	cr_assert_eq(rf_decide_unix_reach(&listed, 5, 6, 1, 0), 0);
	cr_assert_eq(rf_decide_unix_reach(&listed, 5, 0, 0, 1), 0);
	cr_assert_eq(rf_decide_unix_reach(&all, 5, 0, 0, 0), -EPERM);
	cr_assert_eq(rf_decide_unix_reach(&full, 5, 0, 0, 0), 0);
}

Test(bpf_decide, socketpair_is_known_by_its_number)
{
	cr_assert(rf_is_socketpair(53, 0, 0, 0));
	cr_assert_not(rf_is_socketpair(41, 0, 0, 0));
	/* io_uring_enter, x32, and the same number from 32 bits, where it is another call. */
	cr_assert_not(rf_is_socketpair(426, 0, 0, 0));
	cr_assert_not(rf_is_socketpair(0x40000000ULL | 53, 0, 0, 0));
	cr_assert_not(rf_is_socketpair(53, 0, 1, 0));
	cr_assert(rf_is_socketpair(360, 0, 1, 0));
	cr_assert(rf_is_socketpair(102, 8, 1, 0));
	cr_assert_not(rf_is_socketpair(102, 1, 1, 0));
	cr_assert_not(rf_is_socketpair(360, 0, 0, 0));
}

Test(bpf_decide, a_ring_worker_is_in_no_call)
{
	cr_assert_not(rf_is_socketpair(53, 0, 0, 0x10));
	cr_assert_not(rf_is_socketpair(53, 0, 0, 0x4000));
	cr_assert(rf_is_socketpair(53, 0, 0, 0x400100));
}

Test(bpf_rules, are_encoded_in_setup_state)
{
	struct rf_bpf_rules rules = {.sockets = RF_BPF_SOCKETS_LISTED,
		.is_unix_open = true,
		.is_inet_open = true,
		.families = {40, 16},
		.n_families = 2};
	struct rf_entry sandbox;

	cr_assert_eq(rf_bpf_rules_encode(&rules, &sandbox), 0);
	cr_assert_eq(sandbox.state, RF_ENTRY_SETUP);
	cr_assert_eq(sandbox.posture, RF_SOCKETS_LISTED);
	cr_assert_eq(sandbox.flags, RF_RULE_UNIX | RF_RULE_INET);
	cr_assert_eq(sandbox.n_families, 2);
	cr_assert_eq(sandbox.families[1], 16);
}

Test(bpf_rules, too_many_families_are_refused_and_output_untouched)
{
	struct rf_bpf_rules rules = {.n_families = 17};
	struct rf_entry sandbox = {.posture = 99};

	cr_assert_eq(rf_bpf_rules_encode(&rules, &sandbox), -E2BIG);
	cr_assert_eq(sandbox.posture, 99);
}

Test(bpf_rules, device_numbers_are_the_kernels)
{
	cr_assert_eq(rf_bpf_kernel_dev(0x801), 0x800001U);
}
