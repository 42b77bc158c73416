/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * HOST[/BITS][:PORT[-PORT]][,private], HOST in brackets where it has colons and a port follows.
 * What is no number, not even an odd one, is a name.
 */

#include "policy/net.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/units.h"

#define HOST_BYTES 256
#define V4_OFFSET 96U

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* Addresses that mean another host, or none, at every place. */
static const struct {
	const char *network;
	unsigned int bits;
} private_networks[] = {
	{"10.0.0.0", 8},
	{"100.64.0.0", 10},
	{"127.0.0.0", 8},
	{"169.254.0.0", 16},
	{"172.16.0.0", 12},
	{"192.168.0.0", 16},
	{"::1", 128},
	{"fc00::", 7},
	{"fe80::", 10},
};

struct text {
	char host[HOST_BYTES];
	/* NULL: none. */
	const char *bits;
	const char *ports;
	bool is_bracketed;
	bool is_private;
};

struct reader {
	const char *key;
	const char *whole;
	struct rf_diag *diag;
};

static int refuse(const struct reader *reader, const char *what, const char *hint)
{
	int r = rf_diag_refuse(reader->diag, "policy-value", "%s: \"%.200s\" %s", reader->key,
		reader->whole, what);

	if (hint)
		rf_diag_hint(reader->diag, "%s", hint);
	return r;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static bool cut_suffix(char *text, const char *suffix)
{
	size_t length = strlen(text), n = strlen(suffix);

	if (length < n || strcmp(text + length - n, suffix) != 0)
		return false;
	text[length - n] = '\0';
	return true;
}

/* "]" and what follows it. */
static int split_brackets(const struct reader *reader, struct text *text)
{
	char *end = strchr(text->host, ']');

	if (!end || (end[1] != '\0' && end[1] != ':'))
		return refuse(reader, "has brackets that do not fit", "write [ADDRESS]:PORT");
	if (end[1] == ':')
		text->ports = end + 2;
	*end = '\0';
	memmove(text->host, text->host + 1, (size_t)(end - text->host));
	text->is_bracketed = true;
	return 0;
}

static int split(const struct reader *reader, struct text *text)
{
	char *slash, *colon;
	int r;

	if (strlen(reader->whole) >= sizeof(text->host))
		return refuse(reader, "is too long: a destination has at most 255 bytes", NULL);
	snprintf(text->host, sizeof(text->host), "%s", reader->whole);
	text->is_private = cut_suffix(text->host, ",private");
	if (strchr(text->host, ','))
		return refuse(
			reader, "is not a destination", "after a comma only `private` is known");
	if (strstr(text->host, "://"))
		return 0;
	if (text->host[0] == '[') {
		r = split_brackets(reader, text);
		if (r)
			return r;
	} else {
		colon = strchr(text->host, ':');
		/* Two colons: an IPv6 address, and no port. */
		if (colon && !strchr(colon + 1, ':')) {
			*colon = '\0';
			text->ports = colon + 1;
		}
	}
	slash = strchr(text->host, '/');
	if (slash) {
		*slash = '\0';
		text->bits = slash + 1;
	}
	return 0;
}

static bool is_plain_number(const char *text, uint64_t most, uint64_t *ret_number)
{
	/* No sign, no leading zero, no white space. */
	if (text[0] == '0' && text[1])
		return false;
	return strspn(text, "0123456789") == strlen(text) && rf_parse_u64(text, ret_number) &&
	       *ret_number <= most;
}

static int parse_ports(
	const struct reader *reader, const char *text, struct rf_net_destination *destination)
{
	char low_text[8];
	const char *dash = strchr(text, '-');
	size_t length = dash ? (size_t)(dash - text) : strlen(text);
	uint64_t low, high;

	if (length >= sizeof(low_text))
		return refuse(reader, "has no port from 1 to 65535", NULL);
	snprintf(low_text, sizeof(low_text), "%.*s", (int)length, text);
	if (!is_plain_number(low_text, UINT16_MAX, &low) ||
		!is_plain_number(dash ? dash + 1 : low_text, UINT16_MAX, &high) || low == 0)
		return refuse(reader, "has no port from 1 to 65535",
			"write :PORT or :FIRST-LAST in decimal digits");
	if (low > high)
		return refuse(reader, "has a range of ports that ends before it begins", NULL);
	destination->low_port = (uint16_t)low;
	destination->high_port = (uint16_t)high;
	return 0;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

/* Resolvers take the last label of these for a number: 127.1, 0x7f.1, 2130706433, 127.0.0.1. */
static bool is_numeric(const char *host)
{
	const char *dot;
	char last[HOST_BYTES];
	size_t length = strlen(host);

	snprintf(last, sizeof(last), "%s", host);
	if (length > 0 && last[length - 1] == '.')
		last[length - 1] = '\0';
	dot = strrchr(last, '.');
	dot = dot ? dot + 1 : last;
	if (dot[0] == '0' && (dot[1] == 'x' || dot[1] == 'X'))
		return strspn(dot + 2, "0123456789abcdefABCDEF") == strlen(dot + 2);
	return dot[0] && strspn(dot, "0123456789") == strlen(dot);
}

static bool is_v4_spelling(const char *host)
{
	return strspn(host, "0123456789.") == strlen(host);
}

static int parse_v4(
	const struct reader *reader, const char *host, struct rf_net_destination *destination)
{
	memset(destination->address, 0, 10);
	memset(destination->address + 10, 0xff, 2);
	/* Strict: four decimal numbers without leading zeros. */
	if (!is_v4_spelling(host) || inet_pton(AF_INET, host, destination->address + 12) != 1)
		return refuse(reader, "is an odd spelling of a number",
			"an IPv4 address has four decimal numbers: 127.0.0.1");
	destination->is_v4 = true;
	return 0;
}

static int parse_v6(
	const struct reader *reader, const char *host, struct rf_net_destination *destination)
{
	static const uint8_t compatible[12] = {0};
	const uint8_t *address = destination->address;

	if (strchr(host, '%'))
		return refuse(reader, "names a zone", "write the address without %ZONE");
	if (inet_pton(AF_INET6, host, destination->address) != 1)
		return refuse(reader, "is not an IPv6 address",
			"write ADDRESS, ADDRESS/BITS, [ADDRESS]:PORT or [ADDRESS/BITS]:PORT");
	if (memcmp(address, mapped, sizeof(mapped)) == 0)
		return refuse(reader, "is IPv4 in IPv6", "write its last four numbers: 127.0.0.1");
	if (memcmp(address, compatible, sizeof(compatible)) == 0 && strchr(host, '.'))
		return refuse(reader, "is an odd spelling of a number", NULL);
	return 0;
}

/* Bits behind the prefix must not be there: 10.1.2.3/8 could mean two things. */
static bool has_host_bits(const struct rf_net_destination *destination)
{
	for (unsigned int bit = destination->prefix_bits; bit < 128; bit++) {
		if (destination->address[bit / 8] & (0x80U >> (bit % 8)))
			return true;
	}
	return false;
}

static void clear_host_bits(struct rf_net_destination *destination)
{
	for (unsigned int bit = destination->prefix_bits; bit < 128; bit++)
		destination->address[bit / 8] &= (uint8_t) ~(0x80U >> (bit % 8));
}

static void bare_text(const uint8_t address[16], bool is_v4, char ret_text[RF_NET_TEXT_BYTES])
{
	if (is_v4)
		inet_ntop(AF_INET, address + 12, ret_text, RF_NET_TEXT_BYTES);
	else
		inet_ntop(AF_INET6, address, ret_text, RF_NET_TEXT_BYTES);
}

static int parse_bits(
	const struct reader *reader, const char *bits, struct rf_net_destination *destination)
{
	unsigned int offset = destination->is_v4 ? V4_OFFSET : 0;
	char network[RF_NET_TEXT_BYTES];
	char hint[RF_NET_TEXT_BYTES + 32];
	uint64_t number = 128 - offset;

	if (bits && !is_plain_number(bits, 128 - offset, &number))
		return refuse(reader,
			destination->is_v4 ? "has no prefix from /0 to /32"
					   : "has no prefix from /0 to /128",
			NULL);
	destination->prefix_bits = offset + (unsigned int)number;
	if (!has_host_bits(destination))
		return 0;
	clear_host_bits(destination);
	bare_text(destination->address, destination->is_v4, network);
	snprintf(hint, sizeof(hint), "did you mean %s/%u?", network, (unsigned int)number);
	return refuse(reader, "has bits behind its prefix", hint);
}

static bool is_unspecified(const struct rf_net_destination *destination)
{
	static const uint8_t zero[16];

	return destination->prefix_bits == 128 &&
	       memcmp(destination->address + (destination->is_v4 ? 12 : 0), zero,
		       destination->is_v4 ? 4 : 16) == 0;
}

static bool is_within(const uint8_t *address, const uint8_t *network, unsigned int bits)
{
	uint8_t mask = (uint8_t)(0xff00U >> (bits % 8));

	if (memcmp(address, network, bits / 8) != 0)
		return false;
	return bits % 8 == 0 || ((address[bits / 8] ^ network[bits / 8]) & mask) == 0;
}

static bool is_private(const struct rf_net_destination *destination)
{
	const uint8_t *address = destination->address + (destination->is_v4 ? 12 : 0);

	for (size_t i = 0; i < RF_ARRAY_SIZE(private_networks); i++) {
		bool is_v4 = strchr(private_networks[i].network, '.') != NULL;
		unsigned int bits = private_networks[i].bits;
		uint8_t network[16];

		if (is_v4 == destination->is_v4 &&
			destination->prefix_bits >= bits + (is_v4 ? V4_OFFSET : 0) &&
			inet_pton(is_v4 ? AF_INET : AF_INET6, private_networks[i].network,
				network) == 1 &&
			is_within(address, network, bits))
			return true;
	}
	return false;
}

static int parse_address(const struct reader *reader, const struct text *text,
	struct rf_net_destination *destination)
{
	bool is_v6 = strchr(text->host, ':') != NULL;
	int r;

	if (text->is_bracketed && !is_v6)
		return refuse(reader, "has brackets around what is no IPv6 address", NULL);
	r = is_v6 ? parse_v6(reader, text->host, destination)
		  : parse_v4(reader, text->host, destination);
	if (r == 0)
		r = parse_bits(reader, text->bits, destination);
	if (r)
		return r;
	if (is_unspecified(destination))
		return refuse(reader, "is no destination",
			"name the address that is meant, such as 127.0.0.1");
	if (text->is_private && !is_private(destination))
		return refuse(reader, "is no private address", "leave `,private` away");
	return 0;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '*';
}

static int parse_name(const struct reader *reader, const struct text *text,
	struct rf_net_destination *destination)
{
	destination->kind = RF_NET_NAME;
	if (strstr(text->host, "://"))
		return 0;
	if (!text->host[0] || text->bits)
		return refuse(reader, "is not a destination",
			"write an address, ADDRESS:PORT, PREFIX/BITS, [V6]:PORT or public");
	for (const char *at = text->host; *at; at++) {
		if (!is_name_byte(*at))
			return refuse(reader, "is not a destination", NULL);
	}
	return 0;
}

int rf_net_parse(const char *key, const char *whole, struct rf_net_destination *ret_destination,
	struct rf_diag *diag)
{
	const struct reader reader = {.key = key, .whole = whole, .diag = diag};
	struct rf_net_destination destination = {.kind = RF_NET_ADDRESS};
	struct text text = {0};
	int r = split(&reader, &text);

	if (r == 0 && text.ports)
		r = parse_ports(&reader, text.ports, &destination);
	if (r)
		return r;
	if (strcmp(text.host, "public") == 0 && !text.bits) {
		destination.kind = RF_NET_PUBLIC;
		if (text.is_private)
			return refuse(&reader, "contradicts itself", "leave `,private` away");
	} else if (strstr(text.host, "://") == NULL &&
		   (strchr(text.host, ':') || text.is_bracketed || is_numeric(text.host))) {
		r = parse_address(&reader, &text, &destination);
	} else {
		r = parse_name(&reader, &text, &destination);
	}
	if (r)
		return r;
	*ret_destination = destination;
	return 0;
}

bool rf_net_is_loopback(const struct rf_net_destination *destination)
{
	if (destination->kind != RF_NET_ADDRESS)
		return false;
	if (destination->is_v4)
		return destination->address[12] == 127 && destination->prefix_bits >= V4_OFFSET + 8;
	return destination->prefix_bits == 128 &&
	       memcmp(destination->address, &in6addr_loopback, 16) == 0;
}

void rf_net_text(const uint8_t address[16], uint16_t port, char ret_text[RF_NET_TEXT_BYTES])
{
	bool is_v4 = memcmp(address, mapped, sizeof(mapped)) == 0;
	char bare[RF_NET_TEXT_BYTES];

	bare_text(address, is_v4, bare);
	if (port == 0)
		snprintf(ret_text, RF_NET_TEXT_BYTES, "%s", bare);
	else
		snprintf(
			ret_text, RF_NET_TEXT_BYTES, is_v4 ? "%.46s:%u" : "[%.46s]:%u", bare, port);
}

void rf_net_destination_text(
	const struct rf_net_destination *destination, char ret_text[RF_NET_TEXT_BYTES])
{
	bool is_public = destination->kind == RF_NET_PUBLIC;
	bool has_port = destination->low_port != 0;
	bool has_brackets = has_port && !is_public && !destination->is_v4;
	char host[RF_NET_TEXT_BYTES] = "public", bits[8] = "", ports[16] = "";

	if (!is_public)
		bare_text(destination->address, destination->is_v4, host);
	if (!is_public && destination->prefix_bits < 128)
		snprintf(bits, sizeof(bits), "/%u",
			destination->prefix_bits - (destination->is_v4 ? V4_OFFSET : 0));
	if (has_port && destination->low_port == destination->high_port)
		snprintf(ports, sizeof(ports), ":%u", destination->low_port);
	else if (has_port)
		snprintf(ports, sizeof(ports), ":%u-%u", destination->low_port,
			destination->high_port);
	snprintf(ret_text, RF_NET_TEXT_BYTES, "%s%.46s%s%s%s", has_brackets ? "[" : "", host, bits,
		has_brackets ? "]" : "", ports);
}

size_t rf_net_port_prefixes(
	uint16_t low, uint16_t high, struct rf_net_ports ret_ports[RF_NET_PORTS_MAX])
{
	unsigned int at = low;
	size_t n = 0;

	if (low == 0 && high == 0) {
		ret_ports[0] = (struct rf_net_ports){0, 0};
		return 1;
	}
	while (at <= high && n < RF_NET_PORTS_MAX) {
		unsigned int bits = 16;

		while (bits > 0 && (at & ((1U << (17 - bits)) - 1)) == 0 &&
			at + (1U << (17 - bits)) - 1 <= high)
			bits--;
		ret_ports[n++] = (struct rf_net_ports){(uint16_t)at, bits};
		at += 1U << (16 - bits);
	}
	return n;
}
