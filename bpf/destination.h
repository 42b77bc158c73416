/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RF_BPF_DESTINATION_H
#define RF_BPF_DESTINATION_H

/*
 * The decisions on addresses, as pure functions: the programs call them in the kernel, the unit
 * tests on the host. Every address is 128 bits in network order, IPv4 in its mapped form, so that
 * one rule judges both spellings.
 *
 * The unspecified address is never loopback here: as a destination the kernel replaces it by the
 * socket's own source, which need not be one; as a place to bind it means every address.
 */

#include "bpf/decide.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define RF_NET32(x) __builtin_bswap32(x)
#define RF_NET16(x) __builtin_bswap16(x)
#else
#define RF_NET32(x) (x)
#define RF_NET16(x) (x)
#endif

#define RF_MAPPED 0x0000ffffU

static inline __attribute__((always_inline)) struct rf_address rf_address_v4(__u32 network_order)
{
	struct rf_address address = {{0, 0, RF_NET32(RF_MAPPED), network_order}};

	return address;
}

static inline __attribute__((always_inline)) int rf_is_v4(const struct rf_address *address)
{
	return address->word[0] == 0 && address->word[1] == 0 &&
	       address->word[2] == RF_NET32(RF_MAPPED);
}

static inline __attribute__((always_inline)) int rf_is_loopback(const struct rf_address *address)
{
	if (rf_is_v4(address))
		return RF_NET32(address->word[3]) >> 24 == 127;
	return address->word[0] == 0 && address->word[1] == 0 && address->word[2] == 0 &&
	       address->word[3] == RF_NET32(1U);
}

/* Host order. The registries' special-purpose blocks: nothing of them is somebody's server. */
static inline __attribute__((always_inline)) int rf_is_public_v4(__u32 a)
{
	__u32 top = a >> 24;

	if (top == 0 || top == 10 || top == 127 || top >= 224)
		return 0;
	if (a >> 22 == 0x6440U >> 6) /* 100.64/10, carriers' */
		return 0;
	if (a >> 16 == 0xa9feU) /* 169.254/16, link-local; metadata lives there */
		return 0;
	if (a >> 20 == 0xac1U) /* 172.16/12 */
		return 0;
	if (a >> 16 == 0xc0a8U) /* 192.168/16 */
		return 0;
	if (a >> 8 == 0xc00000U || a >> 8 == 0xc00002U) /* 192.0.0/24, 192.0.2/24 */
		return 0;
	if (a >> 8 == 0xc05863U) /* 192.88.99/24, 6to4 relays */
		return 0;
	if (a >> 17 == 0xc612U >> 1) /* 198.18/15, benchmarks */
		return 0;
	if (a >> 8 == 0xc63364U || a >> 8 == 0xcb0071U) /* 198.51.100/24, 203.0.113/24 */
		return 0;
	return 1;
}

/*
 * What `public` names. Of IPv6 only 2000::/3 without its special blocks; the well-known NAT64
 * prefix is judged by the IPv4 address in it; 6to4, Teredo, local NAT64 and compatible addresses
 * hide one that this host does not route, so none of them is public.
 */
static inline __attribute__((always_inline)) int rf_is_public(const struct rf_address *address)
{
	__u32 high = RF_NET32(address->word[0]);
	__u32 next = RF_NET32(address->word[1]);

	if (rf_is_v4(address))
		return rf_is_public_v4(RF_NET32(address->word[3]));
	if (high == 0x0064ff9bU && next == 0 && address->word[2] == 0)
		return rf_is_public_v4(RF_NET32(address->word[3]));
	if (high >> 29 != 1)
		return 0;
	if (high >> 9 == 0x20010000U >> 9) /* 2001::/23: Teredo, ORCHID, … */
		return 0;
	if (high == 0x20010db8U || high >> 16 == 0x2002U || high >> 12 == 0x3fff0U)
		return 0;
	return 1;
}

/* bind(2), and where an unbound socket that listens would be. */
static inline __attribute__((always_inline)) int rf_decide_bind(
	const struct rf_entry *sandbox, const struct rf_address *address)
{
	if (sandbox->state != RF_ENTRY_ARMED || sandbox->egress == RF_EGRESS_ANY)
		return 0;
	return rf_is_loopback(address) ? 0 : -RF_EPERM;
}

/* Whose a socket is that a sandbox bound there; 0: nobody's. */
static inline __attribute__((always_inline)) __u64 rf_decide_holder(
	const struct rf_entry *sandbox, __u64 id, const struct rf_address *address)
{
	return sandbox->egress == RF_EGRESS_RULES && rf_is_loopback(address) ? id : 0;
}

/* Is an address the sandbox's own? holder: whose the socket is that it leads to now; 0: nobody's,
 * or there is none. */
static inline __attribute__((always_inline)) int rf_decide_own(
	__u64 id, const struct rf_address *address, __u64 holder)
{
	return id != 0 && holder == id && rf_is_loopback(address);
}

/*
 * connect(2) and every kind of sending. is_own: a socket of the sandbox answers at that port of
 * that address. rule: flags of the rule that names it, negative when none does.
 */
static inline __attribute__((always_inline)) int rf_decide_reach(
	const struct rf_entry *sandbox, const struct rf_address *address, int is_own, __s64 rule)
{
	int is_loopback = rf_is_loopback(address);

	if (sandbox->state != RF_ENTRY_ARMED || sandbox->egress == RF_EGRESS_ANY)
		return 0;
	if (sandbox->egress == RF_EGRESS_LOOPBACK)
		return is_loopback ? 0 : -RF_EPERM;
	if (sandbox->egress != RF_EGRESS_RULES)
		return -RF_EPERM;
	if (is_loopback)
		return is_own || (rule >= 0 && rule & RF_DESTINATION_LOOPBACK) ? 0 : -RF_EPERM;
	return rule >= 0 ? 0 : -RF_EPERM;
}

static inline __attribute__((always_inline)) enum rf_destination_kind rf_destination_kind(
	const struct rf_address *address)
{
	return rf_is_v4(address) ? RF_DESTINATION_V4 : RF_DESTINATION_V6;
}

/* The key of a lookup, or of a rule's entry: port in host order, its first port_bits count. */
static inline __attribute__((always_inline)) struct rf_destination_key rf_destination_key(
	__u64 sandbox, enum rf_destination_kind kind, __u32 port_bits, __u16 port,
	const struct rf_address *address, __u32 address_bits)
{
	__u16 mask = (__u16)(0xffff0000U >> port_bits);
	struct rf_destination_key key = {
		.prefix_bits = RF_DESTINATION_FIXED_BITS + address_bits,
		.sandbox = {(__u32)sandbox, (__u32)(sandbox >> 32)},
		.kind = (__u8)kind,
		.port_bits = (__u8)port_bits,
		.port = RF_NET16((__u16)(port & mask)),
		.address = *address,
	};

	return key;
}

#endif
