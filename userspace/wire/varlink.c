/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Framing. The peer is not trusted: it chooses sizes, cuts, contents and descriptors.
 *
 *	in:  | delivered | message whose end is not seen yet ...... | room |
 *	     0           start           scanned ^              size
 *
 * The socket is read only while no whole message lies in the buffer, so it never holds more than
 * one message of the largest size and one chunk. Each byte is searched for the NUL once.
 *
 * Which message do descriptors belong to? The kernel may glue bytes that came without
 * descriptors in front of a write that has some, and ends a read with that write. A sender of ours
 * gives each message with descriptors a write of its own, with the descriptors on its first byte.
 * So they belong to the message that holds the last byte of the chunk they came with, which must
 * also begin in that chunk; a peer for which this is not so is malformed.
 */

#include "wire/varlink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/strv.h"

#define CHUNK_BYTES (64U * 1024)
/* A message that is finished by the chunk which begins the next one: two sets at most. */
#define FD_SETS 2U

struct fd_set_in {
	/* Position in the stream of its message's first byte. */
	uint64_t at;
	int *fds;
	size_t n_fds;
};

struct message_out {
	struct message_out *next;
	char *data;
	size_t size;
	size_t sent;
	int *fds;
	size_t n_fds;
};

struct rf_wire {
	int fd;
	bool is_at_end;
	bool is_malformed;
	struct rf_buf in;
	size_t start;
	size_t scanned;
	/* Position in the stream of in.data[0]. */
	uint64_t base;
	struct fd_set_in sets[FD_SETS];
	size_t n_sets;
	struct message_out *first;
	struct message_out *last;
	size_t output_bytes;
};

static void close_fds(int *fds, size_t n_fds)
{
	for (size_t i = 0; i < n_fds; i++)
		rf_close(fds[i]);
	free(fds);
}

static struct message_out *message_free(struct message_out *message)
{
	if (!message)
		return NULL;
	close_fds(message->fds, message->n_fds);
	free(message->data);
	free(message);
	return NULL;
}

static void message_free_p(struct message_out **message)
{
	message_free(*message);
}

int rf_wire_new(int socket, struct rf_wire **ret_wire)
{
	struct rf_wire *wire;
	int flags = fcntl(socket, F_GETFL);

	if (flags < 0 || fcntl(socket, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	wire = calloc(1, sizeof(*wire));
	if (!wire)
		return -ENOMEM;
	wire->fd = socket;
	*ret_wire = wire;
	return 0;
}

static void drop_sets(struct rf_wire *wire)
{
	for (size_t i = 0; i < wire->n_sets; i++)
		close_fds(wire->sets[i].fds, wire->sets[i].n_fds);
	wire->n_sets = 0;
}

struct rf_wire *rf_wire_free(struct rf_wire *wire)
{
	if (!wire)
		return NULL;
	while (wire->first) {
		struct message_out *next = wire->first->next;

		message_free(wire->first);
		wire->first = next;
	}
	drop_sets(wire);
	rf_buf_clear(&wire->in);
	rf_close(wire->fd);
	free(wire);
	return NULL;
}

int rf_wire_fd(const struct rf_wire *wire)
{
	return wire->fd;
}

bool rf_wire_has_output(const struct rf_wire *wire)
{
	return wire->first != NULL;
}

size_t rf_wire_output_bytes(const struct rf_wire *wire)
{
	return wire->output_bytes;
}

/* ---- Out ---- */

static int copy_fds(struct message_out *message, const int *fds, size_t n_fds)
{
	if (n_fds == 0)
		return 0;
	message->fds = calloc(n_fds, sizeof(int));
	if (!message->fds)
		return -ENOMEM;
	for (size_t i = 0; i < n_fds; i++) {
		int copy = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);

		if (copy < 0)
			return -errno;
		message->fds[message->n_fds++] = copy;
	}
	return 0;
}

static int message_new(
	const json_t *json, const int *fds, size_t n_fds, struct message_out **ret_message)
{
	struct message_out *message rf_cleanup(message_free_p) = calloc(1, sizeof(*message));
	int r;

	if (!message)
		return -ENOMEM;
	message->data = rf_json_line(json);
	if (!message->data)
		return -ENOMEM;
	/* jansson escapes control characters, so this is the only NUL. */
	message->size = strlen(message->data) + 1;
	if (message->size - 1 > RF_WIRE_MESSAGE_MAX_BYTES)
		return -EMSGSIZE;
	r = copy_fds(message, fds, n_fds);
	if (r < 0)
		return r;
	*ret_message = RF_TAKE(message);
	return 0;
}

int rf_wire_send(struct rf_wire *wire, const json_t *message, const int *fds, size_t n_fds)
{
	struct message_out *queued = NULL;
	int r;

	if (n_fds > RF_WIRE_FDS_MAX)
		return -E2BIG;
	r = message_new(message, fds, n_fds, &queued);
	if (r < 0)
		return r;
	if (wire->last)
		wire->last->next = queued;
	else
		wire->first = queued;
	wire->last = queued;
	wire->output_bytes += queued->size;
	return rf_wire_flush(wire);
}

/* The first message alone in its write. 0: all of it went out; RF_WIRE_AGAIN; -errno. */
static int send_first(struct rf_wire *wire)
{
	struct message_out *message = wire->first;

	while (message->sent < message->size) {
		ssize_t n = rf_send_fds(wire->fd, message->data + message->sent,
			message->size - message->sent, message->fds, message->n_fds);

		if (n == -EAGAIN)
			return RF_WIRE_AGAIN;
		if (n == -ECONNRESET)
			return -EPIPE;
		if (n < 0)
			return (int)n;
		message->sent += (size_t)n;
		wire->output_bytes -= (size_t)n;
		close_fds(RF_TAKE(message->fds), message->n_fds);
		message->n_fds = 0;
	}
	return 0;
}

int rf_wire_flush(struct rf_wire *wire)
{
	while (wire->first) {
		struct message_out *done = wire->first;
		int r = send_first(wire);

		if (r == RF_WIRE_AGAIN)
			return 0;
		if (r < 0)
			return r;
		wire->first = done->next;
		if (!wire->first)
			wire->last = NULL;
		message_free(done);
	}
	return 0;
}

/* ---- In ---- */

static void forget_delivered(struct rf_wire *wire)
{
	if (wire->start == 0)
		return;
	memmove(wire->in.data, wire->in.data + wire->start, wire->in.size - wire->start);
	wire->in.size -= wire->start;
	wire->base += wire->start;
	wire->scanned -= wire->start;
	wire->start = 0;
	/* What one large message needed is not kept for the life of the connection. */
	if (wire->in.size == 0 && wire->in.room > 16 * CHUNK_BYTES)
		rf_buf_clear(&wire->in);
}

/* Where the message that holds the last byte begins, in the buffer. */
static size_t last_message_start(const struct rf_wire *wire)
{
	const char *nul = NULL;

	if (wire->in.size >= 2)
		nul = memrchr(wire->in.data, '\0', wire->in.size - 1);
	return nul ? (size_t)(nul - wire->in.data) + 1 : 0;
}

/* Takes fds in every case. chunk_at: where the chunk that they came with begins. */
static int keep_fds(struct rf_wire *wire, size_t chunk_at, const int *fds, size_t n_fds)
{
	size_t start = last_message_start(wire);
	int *kept = NULL;

	if (start >= chunk_at && wire->n_sets < FD_SETS)
		kept = calloc(n_fds, sizeof(int));
	if (!kept) {
		for (size_t i = 0; i < n_fds; i++)
			rf_close(fds[i]);
		return start >= chunk_at && wire->n_sets < FD_SETS ? -ENOMEM : RF_WIRE_MALFORMED;
	}
	memcpy(kept, fds, n_fds * sizeof(int));
	wire->sets[wire->n_sets++] = (struct fd_set_in){
		.at = wire->base + start,
		.fds = kept,
		.n_fds = n_fds,
	};
	return 0;
}

/* One read. 0: there is more in the buffer; RF_WIRE_AGAIN, _EOF, _MALFORMED; -errno. */
static int read_chunk(struct rf_wire *wire)
{
	char chunk[CHUNK_BYTES];
	int fds[RF_WIRE_FDS_MAX];
	size_t n_fds = 0;
	size_t chunk_at;
	size_t room;
	ssize_t n;
	int r;

	forget_delivered(wire);
	if (wire->in.size > RF_WIRE_MESSAGE_MAX_BYTES)
		return RF_WIRE_MALFORMED;
	room = RF_WIRE_MESSAGE_MAX_BYTES + 1 - wire->in.size;
	n = rf_receive_fds(wire->fd, chunk, room < sizeof(chunk) ? room : sizeof(chunk), fds,
		RF_WIRE_FDS_MAX, &n_fds);
	if (n == -EAGAIN)
		return RF_WIRE_AGAIN;
	if (n == -EPROTO)
		return RF_WIRE_MALFORMED;
	if (n == 0 || n == -ECONNRESET)
		return RF_WIRE_EOF;
	if (n < 0)
		return (int)n;
	chunk_at = wire->in.size;
	r = rf_buf_add(&wire->in, chunk, (size_t)n);
	if (r < 0) {
		while (n_fds > 0)
			rf_close(fds[--n_fds]);
		return r;
	}
	return n_fds > 0 ? keep_fds(wire, chunk_at, fds, n_fds) : 0;
}

static void take_set(struct rf_wire *wire, int *ret_fds, size_t *ret_n_fds)
{
	struct fd_set_in *set = &wire->sets[0];

	*ret_n_fds = 0;
	if (wire->n_sets == 0 || set->at != wire->base + wire->start)
		return;
	memcpy(ret_fds, set->fds, set->n_fds * sizeof(int));
	*ret_n_fds = set->n_fds;
	free(set->fds);
	wire->n_sets--;
	memmove(wire->sets, wire->sets + 1, wire->n_sets * sizeof(*set));
}

/* The message that ends at the NUL at in.data + end. */
static int deliver(
	struct rf_wire *wire, size_t end, json_t **ret_message, int *ret_fds, size_t *ret_n_fds)
{
	json_error_t error;
	json_t *message rf_autojson =
		rf_json_parse(wire->in.data + wire->start, end - wire->start, &error);

	if (!json_is_object(message))
		return RF_WIRE_MALFORMED;
	take_set(wire, ret_fds, ret_n_fds);
	wire->start = end + 1;
	wire->scanned = wire->start;
	*ret_message = RF_TAKE(message);
	return 0;
}

static int receive(struct rf_wire *wire, json_t **ret_message, int *ret_fds, size_t *ret_n_fds)
{
	for (;;) {
		const char *nul = NULL;
		int r;

		if (wire->scanned < wire->in.size)
			nul = memchr(
				wire->in.data + wire->scanned, '\0', wire->in.size - wire->scanned);
		if (nul)
			return deliver(wire, (size_t)(nul - wire->in.data), ret_message, ret_fds,
				ret_n_fds);
		wire->scanned = wire->in.size;
		r = wire->is_at_end ? RF_WIRE_EOF : read_chunk(wire);
		if (r != 0)
			return r;
	}
}

int rf_wire_receive(struct rf_wire *wire, json_t **ret_message, int *ret_fds, size_t *ret_n_fds)
{
	int r = wire->is_malformed ? RF_WIRE_MALFORMED
				   : receive(wire, ret_message, ret_fds, ret_n_fds);

	if (r == RF_WIRE_EOF)
		wire->is_at_end = true;
	if (r == RF_WIRE_MALFORMED)
		wire->is_malformed = true;
	/* Nobody will ask for these any more. */
	if (r == RF_WIRE_EOF || r == RF_WIRE_MALFORMED)
		drop_sets(wire);
	return r;
}

static int left_ms(uint64_t deadline_ns)
{
	uint64_t now = rf_monotonic_ns();

	if (now >= deadline_ns)
		return 0;
	return (int)((deadline_ns - now + 999999) / 1000000);
}

int rf_wire_wait(
	struct rf_wire *wire, int timeout_ms, json_t **ret_message, int *ret_fds, size_t *ret_n_fds)
{
	uint64_t deadline =
		rf_monotonic_ns() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000;

	for (;;) {
		struct pollfd poll_fd = {.fd = wire->fd, .events = POLLIN};
		int left;
		int r = rf_wire_receive(wire, ret_message, ret_fds, ret_n_fds);

		if (r != RF_WIRE_AGAIN)
			return r;
		/* A peer that closed its reading side may still have answered. */
		r = rf_wire_flush(wire);
		if (r < 0 && r != -EPIPE)
			return r;
		if (r == 0 && rf_wire_has_output(wire))
			poll_fd.events |= POLLOUT;
		left = timeout_ms < 0 ? -1 : left_ms(deadline);
		if (left == 0)
			return -ETIMEDOUT;
		if (poll(&poll_fd, 1, left) < 0 && errno != EINTR)
			return -errno;
	}
}

/* ---- Calls and replies ---- */

/* Takes parameters in every case; NULL is {}. */
static int send_new(struct rf_wire *wire, json_t *message_stolen, json_t *parameters_stolen,
	const int *fds, size_t n_fds)
{
	json_t *message rf_autojson = message_stolen;
	json_t *parameters rf_autojson = parameters_stolen ? parameters_stolen : json_object();

	if (!message || !parameters || json_object_set(message, "parameters", parameters) < 0)
		return -ENOMEM;
	return rf_wire_send(wire, message, fds, n_fds);
}

int rf_wire_call(struct rf_wire *wire, const char *method, json_t *parameters_stolen, bool is_more,
	const int *fds, size_t n_fds)
{
	json_t *message = json_pack("{s:s}", "method", method);

	if (message && is_more)
		json_object_set_new(message, "more", json_true());
	return send_new(wire, message, parameters_stolen, fds, n_fds);
}

int rf_wire_call_oneway(struct rf_wire *wire, const char *method, json_t *parameters_stolen)
{
	json_t *message = json_pack("{s:s, s:b}", "method", method, "oneway", 1);

	return send_new(wire, message, parameters_stolen, NULL, 0);
}

int rf_wire_reply(struct rf_wire *wire, json_t *parameters_stolen, bool continues)
{
	json_t *message = json_object();

	if (message && continues)
		json_object_set_new(message, "continues", json_true());
	return send_new(wire, message, parameters_stolen, NULL, 0);
}

int rf_wire_error(struct rf_wire *wire, const char *error, json_t *parameters_stolen)
{
	return send_new(wire, json_pack("{s:s}", "error", error), parameters_stolen, NULL, 0);
}
