/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Destinations: one spelling each, and what every other is told. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "policy/net.h"

static int parse(const char *text, struct rf_net_destination *destination)
{
	struct rf_diag diag = {0};

	memset(destination, 0x55, sizeof(*destination));
	return rf_net_parse("network.allow", text, destination, &diag);
}

Test(net, what_is_written_is_what_is_said)
{
	static const char *const texts[] = {"127.0.0.2", "127.0.0.2:8000", "10.0.0.0/8:80-90",
		"0.0.0.0/0", "::1", "2001:db8::/32", "[::1]:8000", "[fd00::/8]:443", "::/0",
		"public", "public:443", "public:1-65535", "64:ff9b::808:808", "255.255.255.255"};

	for (size_t i = 0; i < RF_ARRAY_SIZE(texts); i++) {
		struct rf_net_destination destination;
		char text[RF_NET_TEXT_BYTES];

		cr_assert(parse(texts[i], &destination) == 0, "%s", texts[i]);
		rf_net_destination_text(&destination, text);
		cr_expect(strcmp(text, texts[i]) == 0, "%s became %s", texts[i], text);
	}
}

Test(net, what_has_two_readings_is_refused_and_nothing_is_written)
{
	static const char *const texts[] = {"0x7f000001", "2130706433", "127.1", "127.0.0.01",
		"0177.0.0.1", "127.0.0.1.", "1.2.3", "1.2.3.4.5", "256.0.0.1", "0x7f.0.0.1",
		"example.0x7f", "1.2.3.4:0", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:080",
		"1.2.3.4:+80", "1.2.3.4: 80", "1.2.3.4:90-80", "1.2.3.4:80-", "1.2.3.4:-80",
		"1.2.3.4:http", "1.2.3.4/33", "1.2.3.4/08", "1.2.3.4/", "10.1.2.3/8", "0.0.0.0",
		"0.0.0.0:80", "::", "[::]:80", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1",
		"fe80::1%eth0", "[::1", "::1]", "[::1]80", "[127.0.0.1]:80", "[]:80",
		"2001:db8::1/32", "12345::", "1::2::3", ":80", "", "/8", "1.2.3.4,public",
		"1.2.3.4:80,", "8.8.8.8,private", "public,private", "public/8", " 1.2.3.4",
		"1.2.3.4 ", "ex ample:80", "[::1]:80:90"};

	for (size_t i = 0; i < RF_ARRAY_SIZE(texts); i++) {
		struct rf_net_destination destination, before;

		memset(&before, 0x55, sizeof(before));
		cr_expect(parse(texts[i], &destination) == RF_REFUSED, "%s", texts[i]);
		cr_expect(memcmp(&destination, &before, sizeof(before)) == 0, "%s", texts[i]);
	}
}

Test(net, names_are_known_as_such)
{
	static const char *const texts[] = {"example.com", "example.com:443", "*.example.com:443",
		"ok.test:8000,private", "https://example.com", "localhost", "face", "1.example"};

	for (size_t i = 0; i < RF_ARRAY_SIZE(texts); i++) {
		struct rf_net_destination destination;

		cr_assert(parse(texts[i], &destination) == 0, "%s", texts[i]);
		cr_expect(destination.kind == RF_NET_NAME, "%s", texts[i]);
	}
}

Test(net, private_is_taken_where_it_says_something)
{
	static const char *const texts[] = {"10.0.0.1:80,private", "127.0.0.0/8,private",
		"192.168.1.0/24,private", "[fd00::1]:80,private", "169.254.169.254,private"};
	struct rf_net_destination destination;

	for (size_t i = 0; i < RF_ARRAY_SIZE(texts); i++)
		cr_expect(parse(texts[i], &destination) == 0, "%s", texts[i]);
	cr_expect(parse("8.0.0.0/6,private", &destination) == RF_REFUSED);
}

Test(net, a_wide_prefix_is_no_loopback)
{
	static const struct {
		const char *text;
		bool is_loopback;
	} rows[] = {{"127.0.0.1:80", true}, {"127.0.0.0/8", true}, {"126.0.0.0/7", false},
		{"0.0.0.0/0", false}, {"::1", true}, {"::/127", false}, {"::/0", false},
		{"public", false}, {"128.0.0.1", false}};
	struct rf_net_destination destination;

	for (size_t i = 0; i < RF_ARRAY_SIZE(rows); i++) {
		cr_assert(parse(rows[i].text, &destination) == 0, "%s", rows[i].text);
		cr_expect(rf_net_is_loopback(&destination) == rows[i].is_loopback, "%s",
			rows[i].text);
	}
}

static bool covers(const struct rf_net_ports *ports, size_t n, unsigned int port)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned int size = 1U << (16 - ports[i].bits);

		cr_assert(ports[i].port % size == 0);
		found += port >= ports[i].port && port < ports[i].port + size;
	}
	cr_assert(found <= 1, "port %u is covered twice", port);
	return found == 1;
}

Test(net, a_range_is_covered_and_nothing_else)
{
	static const uint16_t rows[][2] = {{1, 65535}, {1, 65534}, {80, 80}, {80, 90}, {1, 1},
		{65535, 65535}, {1024, 65535}, {32768, 65535}, {32767, 32769}, {1, 2}};

	for (size_t i = 0; i < RF_ARRAY_SIZE(rows); i++) {
		struct rf_net_ports ports[RF_NET_PORTS_MAX];
		size_t n = rf_net_port_prefixes(rows[i][0], rows[i][1], ports);

		for (unsigned int port = 0; port <= UINT16_MAX; port++)
			cr_assert(covers(ports, n, port) ==
					  (port >= rows[i][0] && port <= rows[i][1]),
				"%u of %u-%u", port, rows[i][0], rows[i][1]);
	}
}

Test(net, no_port_is_every_port)
{
	struct rf_net_ports ports[RF_NET_PORTS_MAX];

	cr_assert(rf_net_port_prefixes(0, 0, ports) == 1);
	cr_assert(ports[0].bits == 0 && ports[0].port == 0);
}
