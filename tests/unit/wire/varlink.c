/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "wire/varlink.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"

/* One end speaks the wire, the other is a bare socket in the test's hands. */
struct pair {
	struct rf_wire *wire;
	int raw;
};

static struct pair pair_new(void)
{
	struct pair pair = {0};
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	cr_assert_eq(rf_wire_new(fds[0], &pair.wire), 0);
	pair.raw = fds[1];
	return pair;
}

static void pair_free(struct pair *pair)
{
	pair->wire = rf_wire_free(pair->wire);
	pair->raw = rf_close(pair->raw);
}

static void two_wires(struct rf_wire **ret_a, struct rf_wire **ret_b)
{
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	cr_assert_eq(rf_wire_new(fds[0], ret_a), 0);
	cr_assert_eq(rf_wire_new(fds[1], ret_b), 0);
}

static int receive(struct rf_wire *wire, json_t **ret_message)
{
	int fds[RF_WIRE_FDS_MAX];
	size_t n_fds = 99;
	int r = rf_wire_receive(wire, ret_message, fds, &n_fds);

	if (r == 0)
		cr_assert_eq(n_fds, 0);
	return r;
}

static void expect_number(struct rf_wire *wire, json_int_t number)
{
	json_t *message rf_autojson = NULL;

	cr_assert_eq(receive(wire, &message), 0);
	cr_assert_eq(json_integer_value(json_object_get(message, "n")), number);
}

static void say(int raw, const char *text, size_t size)
{
	cr_assert_eq(rf_write_all(raw, text, size), 0);
}
#define SAY(raw, text) say(raw, text, sizeof(text) - 1)

static int count_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static ino_t inode(int fd)
{
	struct stat st;

	cr_assert_eq(fstat(fd, &st), 0);
	return st.st_ino;
}

Test(wire, message_arrives_whole)
{
	struct pair pair = pair_new();

	SAY(pair.raw, "{\"n\":1}\0");
	expect_number(pair.wire, 1);
	pair_free(&pair);
}

Test(wire, nothing_is_again)
{
	struct pair pair = pair_new();
	json_t *message = NULL;

	cr_assert_eq(receive(pair.wire, &message), RF_WIRE_AGAIN);
	cr_assert_null(message);
	pair_free(&pair);
}

Test(wire, half_a_message_is_again_and_then_whole)
{
	struct pair pair = pair_new();
	json_t *message = NULL;

	SAY(pair.raw, "{\"n\"");
	cr_assert_eq(receive(pair.wire, &message), RF_WIRE_AGAIN);
	SAY(pair.raw, ":2}");
	cr_assert_eq(receive(pair.wire, &message), RF_WIRE_AGAIN);
	cr_assert_null(message);
	SAY(pair.raw, "\0");
	expect_number(pair.wire, 2);
	pair_free(&pair);
}

Test(wire, several_in_one_write_come_in_order)
{
	struct pair pair = pair_new();
	json_t *message = NULL;

	SAY(pair.raw, "{\"n\":1}\0{\"n\":2}\0{\"n\":3}\0{\"n\"");
	expect_number(pair.wire, 1);
	expect_number(pair.wire, 2);
	expect_number(pair.wire, 3);
	cr_assert_eq(receive(pair.wire, &message), RF_WIRE_AGAIN);
	SAY(pair.raw, ":4}\0");
	expect_number(pair.wire, 4);
	pair_free(&pair);
}

Test(wire, one_byte_writes)
{
	static const char text[] = "{\"n\":7}\0{\"n\":8}";
	struct pair pair = pair_new();
	json_t *message = NULL;

	for (size_t i = 0; i < sizeof(text); i++) {
		say(pair.raw, text + i, 1);
		if (i == 7)
			expect_number(pair.wire, 7);
		else if (i + 1 < sizeof(text))
			cr_assert_eq(receive(pair.wire, &message), RF_WIRE_AGAIN);
	}
	expect_number(pair.wire, 8);
	pair_free(&pair);
}

static void expect_malformed(const char *text, size_t size)
{
	struct pair pair = pair_new();
	json_t *message = NULL;

	say(pair.raw, text, size);
	cr_expect_eq(receive(pair.wire, &message), RF_WIRE_MALFORMED, "%s", text);
	cr_expect_null(message);
	/* It stays so: what follows is not believed either. */
	SAY(pair.raw, "{\"n\":1}\0");
	cr_expect_eq(receive(pair.wire, &message), RF_WIRE_MALFORMED);
	pair_free(&pair);
}

Test(wire, malformed_is_refused_for_good)
{
	expect_malformed("\0", 1);
	expect_malformed("[]", 3);
	expect_malformed("7", 2);
	expect_malformed("{", 2);
	expect_malformed("{\"a\":1}x", 9);
	expect_malformed("{\"a\":1,\"a\":2}", 14);
	expect_malformed("{\"a\":{\"b\":1,\"b\":1}}", 20);
	expect_malformed("{\"a\":\"\xff\"}", 10);
	expect_malformed("{\"a\":\"\\u0000\"}", 15);
}

Test(wire, end_of_file)
{
	struct pair pair = pair_new();
	json_t *message = NULL;

	SAY(pair.raw, "{\"n\":1}\0{\"n\":2");
	pair.raw = rf_close(pair.raw);
	expect_number(pair.wire, 1);
	cr_assert_eq(receive(pair.wire, &message), RF_WIRE_EOF);
	cr_assert_eq(receive(pair.wire, &message), RF_WIRE_EOF);
	cr_assert_null(message);
	pair_free(&pair);
}

/* Feeds a message of this size (without NUL) in as it is taken out; the result of receiving. */
static int feed(struct pair *pair, size_t size, json_t **ret_message)
{
	static char piece[65536];
	size_t sent = 0;
	int r = RF_WIRE_AGAIN;

	fcntl(pair->raw, F_SETFL, O_NONBLOCK);
	memset(piece, 'x', sizeof(piece));
	while (sent < size + 1 && r == RF_WIRE_AGAIN) {
		size_t wanted = size - sent < sizeof(piece) ? size - sent : sizeof(piece);
		ssize_t n;

		if (sent == 0)
			n = write(pair->raw, "{\"a\":\"", 6);
		else if (sent + 2 < size)
			n = write(pair->raw, piece, wanted - (sent + wanted > size - 2 ? 2 : 0));
		else
			n = write(pair->raw, &"\"}\0"[sent + 2 - size], size + 1 - sent);
		if (n > 0)
			sent += (size_t)n;
		r = receive(pair->wire, ret_message);
	}
	return r;
}

Test(wire, largest_message_passes)
{
	struct pair pair = pair_new();
	json_t *message rf_autojson = NULL;

	cr_assert_eq(feed(&pair, RF_WIRE_MESSAGE_MAX_BYTES, &message), 0);
	cr_assert_eq(
		json_string_length(json_object_get(message, "a")), RF_WIRE_MESSAGE_MAX_BYTES - 8);
	SAY(pair.raw, "{\"n\":1}\0");
	expect_number(pair.wire, 1);
	pair_free(&pair);
}

Test(wire, one_byte_more_is_malformed)
{
	struct pair pair = pair_new();
	json_t *message = NULL;

	cr_assert_eq(feed(&pair, RF_WIRE_MESSAGE_MAX_BYTES + 1, &message), RF_WIRE_MALFORMED);
	cr_assert_null(message);
	pair_free(&pair);
}

Test(wire, endless_message_is_not_buffered)
{
	struct rlimit limit = {.rlim_cur = 256UL << 20, .rlim_max = RLIM_INFINITY};
	struct pair pair = pair_new();
	json_t *message = NULL;

	/* Without a ceiling this would run into the limit. */
#ifndef __SANITIZE_ADDRESS__
	cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
#else
	(void)limit;
#endif
	cr_assert_eq(feed(&pair, 512UL << 20, &message), RF_WIRE_MALFORMED);
	pair_free(&pair);
}

Test(wire, too_large_is_not_sent)
{
	struct pair pair = pair_new();
	char *text rf_autofree = malloc(RF_WIRE_MESSAGE_MAX_BYTES + 1);
	json_t *message rf_autojson = NULL;

	memset(text, 'x', RF_WIRE_MESSAGE_MAX_BYTES);
	text[RF_WIRE_MESSAGE_MAX_BYTES] = '\0';
	message = json_pack("{s:s}", "a", text);
	cr_assert_eq(rf_wire_send(pair.wire, message, NULL, 0), -EMSGSIZE);
	cr_assert_not(rf_wire_has_output(pair.wire));
	pair_free(&pair);
}

Test(wire, framing_is_linear)
{
	struct pair pair = pair_new();
	json_t *message rf_autojson = NULL;
	uint64_t start = rf_monotonic_ns();

	/* 4 MiB in pieces of 16 bytes: a scan from 0 each time would be 2^39 bytes. */
	fcntl(pair.raw, F_SETFL, O_NONBLOCK);
	SAY(pair.raw, "{\"a\":\"");
	for (size_t i = 0; i < (4U << 20) / 16; i++) {
		SAY(pair.raw, "xxxxxxxxxxxxxxxx");
		cr_assert_eq(receive(pair.wire, &message), RF_WIRE_AGAIN);
	}
	SAY(pair.raw, "\"}\0");
	cr_assert_eq(receive(pair.wire, &message), 0);
	cr_assert_lt(rf_monotonic_ns() - start, 20ULL * 1000000000);
	pair_free(&pair);
}

Test(wire, slow_reader_gets_everything)
{
	struct rf_wire *a = NULL;
	struct rf_wire *b = NULL;
	json_t *big rf_autojson = json_object();
	char text[4097];

	two_wires(&a, &b);
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	json_object_set_new(big, "text", json_string(text));
	for (int i = 0; i < 1000; i++) {
		json_object_set_new(big, "n", json_integer(i));
		cr_assert_eq(rf_wire_send(a, big, NULL, 0), 0);
	}
	cr_assert(rf_wire_has_output(a));
	cr_assert_gt(rf_wire_output_bytes(a), 0);
	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(rf_wire_flush(a), 0);
		expect_number(b, i);
	}
	cr_assert_not(rf_wire_has_output(a));
	cr_assert_eq(rf_wire_output_bytes(a), 0);
	rf_wire_free(a);
	rf_wire_free(b);
}

Test(wire, gone_peer_is_epipe)
{
	struct pair pair = pair_new();
	json_t *message rf_autojson = json_object();

	pair.raw = rf_close(pair.raw);
	cr_assert_eq(rf_wire_send(pair.wire, message, NULL, 0), -EPIPE);
	pair_free(&pair);
}

Test(wire, last_words_of_a_gone_peer_are_read)
{
	struct pair pair = pair_new();
	json_t *message rf_autojson = json_object();

	SAY(pair.raw, "{\"n\":5}\0");
	pair.raw = rf_close(pair.raw);
	cr_assert_eq(rf_wire_send(pair.wire, message, NULL, 0), -EPIPE);
	expect_number(pair.wire, 5);
	cr_assert_eq(receive(pair.wire, &message), RF_WIRE_EOF);
	pair_free(&pair);
}

Test(wire, wait_ends_at_its_deadline)
{
	struct pair pair = pair_new();
	json_t *message = NULL;
	int fds[RF_WIRE_FDS_MAX];
	size_t n_fds;
	uint64_t start = rf_monotonic_ns();

	SAY(pair.raw, "{\"n\"");
	cr_assert_eq(rf_wire_wait(pair.wire, 50, &message, fds, &n_fds), -ETIMEDOUT);
	cr_assert_geq(rf_monotonic_ns() - start, 50000000ULL);
	SAY(pair.raw, ":1}\0");
	cr_assert_eq(rf_wire_wait(pair.wire, 0, &message, fds, &n_fds), 0);
	json_decref(message);
	pair.raw = rf_close(pair.raw);
	cr_assert_eq(rf_wire_wait(pair.wire, -1, &message, fds, &n_fds), RF_WIRE_EOF);
	pair_free(&pair);
}

/* ---- Descriptors ---- */

static int memfds[3];

static void make_memfds(void)
{
	for (int i = 0; i < 3; i++)
		cr_assert_geq(memfds[i] = memfd_create("test", MFD_CLOEXEC), 0);
}

static void expect_fds(struct rf_wire *wire, json_int_t number, const int *wanted, size_t n_wanted)
{
	json_t *message rf_autojson = NULL;
	int fds[RF_WIRE_FDS_MAX];
	size_t n_fds = 0;

	cr_assert_eq(rf_wire_receive(wire, &message, fds, &n_fds), 0);
	cr_assert_eq(json_integer_value(json_object_get(message, "n")), number);
	cr_assert_eq(n_fds, n_wanted, "message %d: %zu", (int)number, n_fds);
	for (size_t i = 0; i < n_fds; i++) {
		cr_assert_eq(inode(fds[i]), inode(wanted[i]));
		cr_assert(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
		rf_close(fds[i]);
	}
}

static void send_number(struct rf_wire *wire, int number, const int *fds, size_t n_fds)
{
	json_t *message rf_autojson = json_pack("{s:i}", "n", number);

	cr_assert_eq(rf_wire_send(wire, message, fds, n_fds), 0);
}

Test(wire, descriptors_stay_with_their_message, .init = make_memfds)
{
	struct rf_wire *a = NULL;
	struct rf_wire *b = NULL;
	int before = count_fds();

	two_wires(&a, &b);
	send_number(a, 1, NULL, 0);
	send_number(a, 2, memfds, 2);
	send_number(a, 3, NULL, 0);
	send_number(a, 4, memfds + 2, 1);
	send_number(a, 5, memfds, 3);
	send_number(a, 6, NULL, 0);
	expect_fds(b, 1, NULL, 0);
	expect_fds(b, 2, memfds, 2);
	expect_fds(b, 3, NULL, 0);
	expect_fds(b, 4, memfds + 2, 1);
	expect_fds(b, 5, memfds, 3);
	expect_fds(b, 6, NULL, 0);
	rf_wire_free(a);
	rf_wire_free(b);
	cr_assert_eq(count_fds(), before);
}

Test(wire, descriptors_stay_with_a_message_in_pieces, .init = make_memfds)
{
	struct pair pair = pair_new();
	json_t *message = NULL;

	/* The tail of one, glued by the kernel in front of the head of the next. */
	SAY(pair.raw, "{\"n\":1");
	cr_assert_eq(receive(pair.wire, &message), RF_WIRE_AGAIN);
	SAY(pair.raw, "}\0");
	cr_assert_eq(rf_send_fds(pair.raw, "{", 1, memfds, 2), 1);
	SAY(pair.raw, "\"n\":2}");
	expect_fds(pair.wire, 1, NULL, 0);
	cr_assert_eq(receive(pair.wire, &message), RF_WIRE_AGAIN);
	/* Its end arrives with the head and descriptors of a third. */
	SAY(pair.raw, "\0");
	cr_assert_eq(rf_send_fds(pair.raw, "{\"n\":3}", 8, memfds + 2, 1), 8);
	expect_fds(pair.wire, 2, memfds, 2);
	expect_fds(pair.wire, 3, memfds + 2, 1);
	pair_free(&pair);
}

Test(wire, queued_descriptors_outlive_the_caller, .init = make_memfds)
{
	struct rf_wire *a = NULL;
	struct rf_wire *b = NULL;
	json_t *big rf_autojson = NULL;
	char *text rf_autofree = calloc(1, 8U << 20);
	int copies[2] = {
		fcntl(memfds[0], F_DUPFD_CLOEXEC, 3), fcntl(memfds[1], F_DUPFD_CLOEXEC, 3)};
	int fds[RF_WIRE_FDS_MAX];
	size_t n_fds;
	json_t *message = NULL;

	two_wires(&a, &b);
	memset(text, 'z', (8U << 20) - 1);
	big = json_pack("{s:s}", "text", text);
	cr_assert_eq(rf_wire_send(a, big, memfds + 2, 1), 0);
	send_number(a, 2, copies, 2);
	rf_close(copies[0]);
	rf_close(copies[1]);
	cr_assert(rf_wire_has_output(a));
	while (rf_wire_receive(b, &message, fds, &n_fds) == RF_WIRE_AGAIN)
		cr_assert_eq(rf_wire_flush(a), 0);
	cr_assert_eq(n_fds, 1);
	rf_close(fds[0]);
	json_decref(message);
	cr_assert_eq(rf_wire_flush(a), 0);
	expect_fds(b, 2, memfds, 2);
	rf_wire_free(a);
	rf_wire_free(b);
}

Test(wire, descriptors_in_the_middle_are_malformed_and_closed, .init = make_memfds)
{
	int before = count_fds();
	struct pair pair = pair_new();
	json_t *message = NULL;

	SAY(pair.raw, "{\"n\"");
	cr_assert_eq(receive(pair.wire, &message), RF_WIRE_AGAIN);
	cr_assert_eq(rf_send_fds(pair.raw, ":1}", 4, memfds, 2), 4);
	cr_assert_eq(receive(pair.wire, &message), RF_WIRE_MALFORMED);
	pair_free(&pair);
	cr_assert_eq(count_fds(), before);
}

Test(wire, descriptors_of_unfinished_messages_are_closed, .init = make_memfds)
{
	int before = count_fds();
	struct pair pair = pair_new();
	json_t *message = NULL;

	cr_assert_eq(rf_send_fds(pair.raw, "{\"n\"", 4, memfds, 3), 4);
	cr_assert_eq(receive(pair.wire, &message), RF_WIRE_AGAIN);
	cr_assert_eq(count_fds(), before + 2 + 3);
	pair.raw = rf_close(pair.raw);
	cr_assert_eq(receive(pair.wire, &message), RF_WIRE_EOF);
	cr_assert_eq(count_fds(), before + 1);
	pair_free(&pair);
	cr_assert_eq(count_fds(), before);
}

Test(wire, most_descriptors_pass_and_one_more_does_not, .init = make_memfds)
{
	struct rf_wire *a = NULL;
	struct rf_wire *b = NULL;
	int many[RF_WIRE_FDS_MAX + 1];
	json_t *message rf_autojson = json_object();

	two_wires(&a, &b);
	for (size_t i = 0; i < RF_ARRAY_SIZE(many); i++)
		many[i] = memfds[i % 3];
	cr_assert_eq(rf_wire_send(a, message, many, RF_ARRAY_SIZE(many)), -E2BIG);
	cr_assert_not(rf_wire_has_output(a));
	send_number(a, 9, many, RF_WIRE_FDS_MAX);
	expect_fds(b, 9, many, RF_WIRE_FDS_MAX);
	rf_wire_free(a);
	rf_wire_free(b);
}

Test(wire, closed_descriptor_is_not_sent)
{
	struct pair pair = pair_new();
	json_t *message rf_autojson = json_object();
	int none = 999;

	cr_assert_eq(rf_wire_send(pair.wire, message, &none, 1), -EBADF);
	cr_assert_not(rf_wire_has_output(pair.wire));
	pair_free(&pair);
}

/* ---- Calls ---- */

static void expect_text(int raw, const char *text)
{
	char buffer[256];
	ssize_t n = read(raw, buffer, sizeof(buffer));

	cr_assert_eq(n, (ssize_t)strlen(text) + 1);
	cr_assert_str_eq(buffer, text);
}

Test(wire, calls_and_replies_have_their_shape)
{
	struct pair pair = pair_new();

	cr_assert_eq(rf_wire_call(pair.wire, "a.B", json_pack("{s:i}", "x", 1), true, NULL, 0), 0);
	expect_text(pair.raw, "{\"method\":\"a.B\",\"more\":true,\"parameters\":{\"x\":1}}");
	cr_assert_eq(rf_wire_call(pair.wire, "a.B", NULL, false, NULL, 0), 0);
	expect_text(pair.raw, "{\"method\":\"a.B\",\"parameters\":{}}");
	cr_assert_eq(rf_wire_call_oneway(pair.wire, "a.B", NULL), 0);
	expect_text(pair.raw, "{\"method\":\"a.B\",\"oneway\":true,\"parameters\":{}}");
	cr_assert_eq(rf_wire_reply(pair.wire, json_pack("{s:i}", "y", 2), true), 0);
	expect_text(pair.raw, "{\"continues\":true,\"parameters\":{\"y\":2}}");
	cr_assert_eq(rf_wire_reply(pair.wire, NULL, false), 0);
	expect_text(pair.raw, "{\"parameters\":{}}");
	cr_assert_eq(rf_wire_error(pair.wire, "a.E", NULL), 0);
	expect_text(pair.raw, "{\"error\":\"a.E\",\"parameters\":{}}");
	pair_free(&pair);
}
