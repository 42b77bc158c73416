/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Destinations of a policy: addresses, prefixes and ports as people write them. One number has one
 * spelling here; the odd ones that resolvers take (0x7f000001, 2130706433, 127.1) are refused.
 *
 *	127.0.0.2  127.0.0.2:8000  10.0.0.0/8:80-90  ::1  2001:db8::/32  [::1]:8000  [fd00::/8]:443
 *	public  public:443
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

enum rf_net_kind {
	RF_NET_ADDRESS,
	RF_NET_PUBLIC,
	/* A host's name or a URL: known, and not in this version. */
	RF_NET_NAME,
};

struct rf_net_destination {
	enum rf_net_kind kind;
	/* Network order, IPv4 as ::ffff:a.b.c.d; the prefix counts from the first of the 128 bits.
	 */
	uint8_t address[16];
	bool is_v4;
	unsigned int prefix_bits;
	/* 0 and 0: every port. */
	uint16_t low_port;
	uint16_t high_port;
};

/* 0, or RF_REFUSED: what is wrong and how it is written. key names it in the message. */
int rf_net_parse(const char *key, const char *text, struct rf_net_destination *ret_destination,
	struct rf_diag *diag);

/* 127.0.0.0/8 or ::1, or a part of them. */
bool rf_net_is_loopback(const struct rf_net_destination *destination);

#define RF_NET_TEXT_BYTES 80
/* "127.0.0.2:8000", "[::1]:8000", port 0: without one. */
void rf_net_text(const uint8_t address[16], uint16_t port, char ret_text[RF_NET_TEXT_BYTES]);

/* As a policy would say it: "10.0.0.0/8:80-90", "[fd00::/8]:443", "public". */
void rf_net_destination_text(
	const struct rf_net_destination *destination, char ret_text[RF_NET_TEXT_BYTES]);

struct rf_net_ports {
	/* The first bits of a port count. */
	uint16_t port;
	unsigned int bits;
};

/* What a range of ports needs at most. */
#define RF_NET_PORTS_MAX 30
/* The range cut into aligned blocks; returns how many. */
size_t rf_net_port_prefixes(
	uint16_t low, uint16_t high, struct rf_net_ports ret_ports[RF_NET_PORTS_MAX]);
