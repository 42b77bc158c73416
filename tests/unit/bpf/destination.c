/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The decisions of bpf/destination.h, as they run in the kernel. */

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/attr.h"
#include "bpf/destination.h"

static struct rf_address address(const char *text)
{
	struct rf_address words = {0};
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1)
		return rf_address_v4(v4.s_addr);
	cr_assert(inet_pton(AF_INET6, text, &words) == 1, "%s", text);
	return words;
}

static const char *const public_ones[] = {"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0",
	"100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
	"169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.88.98.255",
	"192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
	"198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255",
	"::ffff:8.8.8.8", "2001:200::1", "2001:4860:4860::8888", "2606:4700::1111",
	"2000::", "2003::1", "3ffe::1", "64:ff9b::8.8.8.8", "2001:db7::1", "2001:db9::1"};

static const char *const other_ones[] = {"0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255",
	"100.64.0.0", "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.0.0",
	"169.254.169.254", "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.1",
	"192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0",
	"198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
	"240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1",
	"::ffff:169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1",
	"64:ff9b::169.254.169.254", "64:ff9b:1::8.8.8.8", "100::1", "2001::1",
	"2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:10::1", "2001:20::1", "2001:1ff::1",
	"2001:db8::1", "2002:808:808::1", "2002:7f00:1::", "3fff::1", "3fff:fff::1", "4000::1",
	"5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1"};

Test(bpf_destination, public_is_what_the_registries_give_to_somebody)
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(public_ones); i++) {
		struct rf_address a = address(public_ones[i]);

		cr_expect(rf_is_public(&a), "%s", public_ones[i]);
	}
	for (size_t i = 0; i < RF_ARRAY_SIZE(other_ones); i++) {
		struct rf_address a = address(other_ones[i]);

		cr_expect(!rf_is_public(&a), "%s", other_ones[i]);
	}
}

static const struct {
	const char *text;
	int is_loopback;
} loopbacks[] = {{"127.0.0.1", 1}, {"127.255.255.255", 1}, {"::1", 1}, {"::ffff:127.0.0.1", 1},
	{"126.255.255.255", 0}, {"128.0.0.0", 0}, {"0.0.0.0", 0}, {"::", 0}, {"::2", 0},
	{"::127.0.0.1", 0}, {"64:ff9b::127.0.0.1", 0}, {"2002:7f00:1::", 0}, {"1::1", 0},
	{"0:0:1::1", 0}};

Test(bpf_destination, loopback_is_two_blocks)
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(loopbacks); i++) {
		struct rf_address a = address(loopbacks[i].text);

		cr_expect(rf_is_loopback(&a) == loopbacks[i].is_loopback, "%s", loopbacks[i].text);
	}
}

static struct rf_entry armed(enum rf_egress egress)
{
	return (struct rf_entry){.state = RF_ENTRY_ARMED, .egress = egress};
}

Test(bpf_destination, host_loopback_reaches_and_binds_the_loopback_alone)
{
	struct rf_entry sandbox = armed(RF_EGRESS_LOOPBACK);

	for (size_t i = 0; i < RF_ARRAY_SIZE(loopbacks); i++) {
		struct rf_address a = address(loopbacks[i].text);
		int want = loopbacks[i].is_loopback ? 0 : -EPERM;

		/* No rule opens more. */
		cr_expect(rf_decide_reach(&sandbox, &a, 1, 0) == want, "%s", loopbacks[i].text);
		cr_expect(rf_decide_bind(&sandbox, &a) == want, "%s", loopbacks[i].text);
	}
}

Test(bpf_destination, allow_goes_by_rules)
{
	struct rf_entry sandbox = armed(RF_EGRESS_RULES);
	struct rf_address away = address("192.0.2.1"), home = address("127.0.0.1");
	struct rf_address every = address("0.0.0.0");

	cr_expect(rf_decide_reach(&sandbox, &away, 0, -1) == -EPERM);
	cr_expect(rf_decide_reach(&sandbox, &away, 1, -1) == -EPERM);
	cr_expect(rf_decide_reach(&sandbox, &away, 0, 0) == 0);
	/* However wide a rule is, the host's loopback must be named. */
	cr_expect(rf_decide_reach(&sandbox, &home, 0, 0) == -EPERM);
	cr_expect(rf_decide_reach(&sandbox, &home, 0, RF_DESTINATION_LOOPBACK) == 0);
	cr_expect(rf_decide_reach(&sandbox, &home, 0, -1) == -EPERM);
	cr_expect(rf_decide_reach(&sandbox, &home, 1, -1) == 0);
	cr_expect(rf_decide_bind(&sandbox, &home) == 0);
	cr_expect(rf_decide_bind(&sandbox, &away) == -EPERM);
	cr_expect(rf_decide_bind(&sandbox, &every) == -EPERM);
}

Test(bpf_destination, a_socket_is_held_by_who_bound_it_to_the_loopback)
{
	struct rf_entry rules = armed(RF_EGRESS_RULES), home = armed(RF_EGRESS_LOOPBACK);

	for (size_t i = 0; i < RF_ARRAY_SIZE(loopbacks); i++) {
		struct rf_address a = address(loopbacks[i].text);
		__u64 want = loopbacks[i].is_loopback ? 42 : 0;

		cr_expect(rf_decide_holder(&rules, 42, &a) == want, "%s", loopbacks[i].text);
		cr_expect(rf_decide_holder(&home, 42, &a) == 0, "%s", loopbacks[i].text);
	}
}

Test(bpf_destination, own_is_what_a_socket_of_the_same_sandbox_answers)
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(loopbacks); i++) {
		struct rf_address a = address(loopbacks[i].text);

		cr_expect(rf_decide_own(42, &a, 42) == loopbacks[i].is_loopback, "%s",
			loopbacks[i].text);
		cr_expect(!rf_decide_own(42, &a, 43), "%s", loopbacks[i].text);
		cr_expect(!rf_decide_own(42, &a, 0), "%s", loopbacks[i].text);
		cr_expect(!rf_decide_own(0, &a, 0), "%s", loopbacks[i].text);
	}
}

Test(bpf_destination, an_unknown_rule_is_no_permission)
{
	struct rf_entry sandbox = armed((enum rf_egress)7);
	struct rf_address home = address("127.0.0.1");

	cr_expect(rf_decide_reach(&sandbox, &home, 1, RF_DESTINATION_LOOPBACK) == -EPERM);
}

Test(bpf_destination, before_it_is_armed_nothing_is_judged)
{
	struct rf_entry sandbox = armed(RF_EGRESS_RULES);
	struct rf_address away = address("192.0.2.1");

	sandbox.state = RF_ENTRY_SETUP;
	cr_expect(rf_decide_reach(&sandbox, &away, 0, -1) == 0);
	cr_expect(rf_decide_bind(&sandbox, &away) == 0);
}

/* The tree compares bytes from sandbox on: a rule's entry must be a prefix of what it covers. */
static bool is_prefix(const struct rf_destination_key *rule, const struct rf_destination_key *key)
{
	const unsigned char *a = (const unsigned char *)rule->sandbox;
	const unsigned char *b = (const unsigned char *)key->sandbox;
	__u32 whole = rule->prefix_bits / 8, rest = rule->prefix_bits % 8;

	return memcmp(a, b, whole) == 0 &&
	       (rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0);
}

Test(bpf_destination, keys_of_a_rule_cover_its_ports_and_addresses)
{
	struct rf_address net = address("10.0.0.0"), in = address("10.255.0.7");
	struct rf_address out = address("11.0.0.1");
	__u64 id = 0x1234567890ULL;
	/* 10.0.0.0/8:80-95 */
	struct rf_destination_key rule =
		rf_destination_key(id, RF_DESTINATION_V4, 12, 80, &net, 96 + 8);

	for (unsigned int port = 0; port < 200; port++) {
		struct rf_destination_key key =
			rf_destination_key(id, RF_DESTINATION_V4, 12, (__u16)port, &in, 128);

		cr_expect(is_prefix(&rule, &key) == (port >= 80 && port <= 95), "%u", port);
		key = rf_destination_key(id, RF_DESTINATION_V4, 12, (__u16)port, &out, 128);
		cr_expect(!is_prefix(&rule, &key), "%u", port);
		key = rf_destination_key(id + 1, RF_DESTINATION_V4, 12, (__u16)port, &in, 128);
		cr_expect(!is_prefix(&rule, &key), "%u", port);
		key = rf_destination_key(id, RF_DESTINATION_V4, 16, (__u16)port, &in, 128);
		cr_expect(!is_prefix(&rule, &key), "%u", port);
	}
}

Test(bpf_destination, every_ipv6_address_is_no_ipv4_address)
{
	struct rf_address every = {{0}}, v4 = address("192.0.2.1"), v6 = address("2001:db8::1");
	struct rf_destination_key rule = rf_destination_key(7, RF_DESTINATION_V6, 0, 0, &every, 0);
	struct rf_destination_key key4 =
		rf_destination_key(7, rf_destination_kind(&v4), 0, 80, &v4, 128);
	struct rf_destination_key key6 =
		rf_destination_key(7, rf_destination_kind(&v6), 0, 80, &v6, 128);

	cr_expect(!is_prefix(&rule, &key4));
	cr_expect(is_prefix(&rule, &key6));
}
