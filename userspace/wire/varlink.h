/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Varlink framing with descriptors: one JSON object, one NUL. Used by both ends, over a socket pair
 * or a Unix stream socket. A message's descriptors arrive with its first byte.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/limits.h"

struct rf_wire;

/* Takes the socket (sets it non-blocking); on failure the caller keeps it. 0 or -errno. */
int rf_wire_new(int socket, struct rf_wire **ret_wire);
struct rf_wire *rf_wire_free(struct rf_wire *wire);
static inline void rf_wire_free_p(struct rf_wire **wire)
{
	rf_wire_free(*wire);
}
#define rf_autowire rf_cleanup(rf_wire_free_p)

int rf_wire_fd(const struct rf_wire *wire);
/* Bytes wait to be written: poll for POLLOUT and call rf_wire_flush. */
bool rf_wire_has_output(const struct rf_wire *wire);
/* How many: a peer that does not read makes this grow, and its owner decides when to hang up. */
size_t rf_wire_output_bytes(const struct rf_wire *wire);

/*
 * Queues one message and tries to write it. fds are duplicated into the queue, the caller keeps
 * its own. 0 or -errno (-EMSGSIZE over RF_WIRE_MESSAGE_MAX_BYTES, -EPIPE when the peer is gone).
 */
int rf_wire_send(struct rf_wire *wire, const json_t *message, const int *fds, size_t n_fds);
int rf_wire_flush(struct rf_wire *wire);

#define RF_WIRE_AGAIN 1
#define RF_WIRE_EOF 2
#define RF_WIRE_MALFORMED 3
/*
 * The next whole message. 0: *ret_message is a new reference and its descriptors (owned, close
 * them) are in ret_fds (room for RF_WIRE_FDS_MAX). RF_WIRE_AGAIN: none yet. RF_WIRE_EOF.
 * RF_WIRE_MALFORMED: not JSON, not an object, duplicate keys, too large: close this connection.
 */
int rf_wire_receive(struct rf_wire *wire, json_t **ret_message, int *ret_fds, size_t *ret_n_fds);

/* Blocks (poll) until a message, EOF or the deadline (-1: none; then -ETIMEDOUT). */
int rf_wire_wait(struct rf_wire *wire, int timeout_ms, json_t **ret_message, int *ret_fds,
	size_t *ret_n_fds);

/* {"method":…, "parameters":…, "more":true?}; {"parameters":…, "continues":true?}; {"error":…}. */
int rf_wire_call(struct rf_wire *wire, const char *method, json_t *parameters_stolen, bool is_more,
	const int *fds, size_t n_fds);
/* The same with "oneway": true: the peer does not answer. */
int rf_wire_call_oneway(struct rf_wire *wire, const char *method, json_t *parameters_stolen);
int rf_wire_reply(struct rf_wire *wire, json_t *parameters_stolen, bool continues);
int rf_wire_error(struct rf_wire *wire, const char *error, json_t *parameters_stolen);
