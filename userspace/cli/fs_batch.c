/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Requests as lines, results as lines, in order.
 *
 * Lines that have arrived are run together, in chunks, so that a client that waits for an answer
 * gets it and one that sends thousands gets them at the engine's speed. Memory is bounded by the
 * chunk: its results share one ceiling, and what finds no room in it is asked again by itself. For
 * that to be the same question, a chunk ends where a change would follow such a request.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/say.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/fs.h"

#define CHUNK_LINES 256U
#define CHUNK_CONTENT_BYTES (4U * 1024 * 1024)
#define READ_BYTES (256U * 1024)

struct chunk {
	struct rf_fs_line lines[CHUNK_LINES];
	size_t n;
	uint64_t content_bytes;
	/* It has a request whose answer may be large. */
	bool has_large_answer;
};

struct stream {
	struct rf_fs_command *command;
	struct rf_fs_line_options options;
	int fd;
	struct rf_buf input;
	/* So much of it has no line feed. */
	size_t n_seen;
	/* What is dropped up to the next line feed: the line was too long. */
	bool is_skipping;
	uint64_t n_done;
	bool has_failure;
	struct chunk chunk;
};

/* ---- descriptors that were passed -------------------------------------------------------------
 */

static uint64_t passed[(RF_PASS_FD_MAX + 1) / 64];

void rf_fs_batch_note_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *entry;
	uint64_t number;

	while (directory && (entry = readdir(directory))) {
		if (rf_parse_u64(entry->d_name, &number) && number >= RF_PASS_FD_MIN &&
			number <= RF_PASS_FD_MAX && (int)number != dirfd(directory))
			passed[number / 64] |= 1ULL << number % 64;
	}
	if (directory)
		closedir(directory);
}

static int find_fd(void *userdata rf_unused, uint64_t number)
{
	if (number > RF_PASS_FD_MAX || !(passed[number / 64] >> number % 64 & 1))
		return -1;
	return (int)number;
}

/* ---- chunks -----------------------------------------------------------------------------------
 */

static bool has_large_answer(const struct rf_fs_request *request)
{
	switch (request->operation) {
	case RF_FS_READ:
		return !request->has_content_fd;
	case RF_FS_LIST:
	case RF_FS_GLOB:
	case RF_FS_SNAPSHOT:
		return true;
	case RF_FS_WRITE:
	case RF_FS_APPEND:
	case RF_FS_REPLACE:
	case RF_FS_STAT:
	case RF_FS_EXISTS:
	case RF_FS_MKDIR:
	case RF_FS_RENAME:
	case RF_FS_REMOVE:
	case RF_FS_COPY:
	case RF_FS_DIGEST:
	case RF_FS_REAL_PATH:
	case RF_FS_CHANGE:
	case RF_FS_OPERATIONS_:
		break;
	}
	return false;
}

static bool only_looks(const struct rf_fs_request *request)
{
	return has_large_answer(request) || request->operation == RF_FS_STAT ||
	       request->operation == RF_FS_EXISTS || request->operation == RF_FS_DIGEST ||
	       request->operation == RF_FS_REAL_PATH;
}

/* By itself: whatever it fails with is its own. */
static void run_alone(
	struct stream *stream, const struct rf_fs_request *request, struct rf_fs_result *result)
{
	int r;

	*result = (struct rf_fs_result){0};
	r = rf_fs_batch(stream->command->fs, request, 1, result);
	if (r == -E2BIG)
		rf_fs_fail(result, E2BIG, RF_FS_CODE_LIMIT,
			"%s %s: the request is larger than %" PRIu64 " bytes",
			rf_fs_operation_name(request->operation), request->path,
			rf_fs_options(stream->command->fs)->request_bytes);
	else if (r < 0)
		rf_fs_fail(result, -r, RF_FS_CODE_NONE, "%s %s: %s",
			rf_fs_operation_name(request->operation), request->path, strerror(-r));
}

static void print_result(
	struct stream *stream, const struct rf_fs_line *line, const struct rf_fs_result *result)
{
	rf_fs_print_answer(stream->command, line, result);
	stream->has_failure = stream->has_failure || result->error != 0;
	stream->n_done++;
}

/* has_run: together with others; what found no room among them is asked again, and let go of before
 * the next one. */
static void finish(struct stream *stream, const struct rf_fs_line *line, bool has_run,
	bool was_alone, struct rf_fs_result *result)
{
	bool found_no_room = has_run && !was_alone && result->code == RF_FS_CODE_LIMIT &&
			     has_large_answer(&line->request);

	if (found_no_room)
		rf_fs_result_clear(result);
	if (found_no_room || !has_run)
		run_alone(stream, &line->request, result);
	print_result(stream, line, result);
	rf_fs_result_clear(result);
}

static void run_chunk(struct stream *stream)
{
	static struct rf_fs_request requests[CHUNK_LINES];
	static struct rf_fs_result results[CHUNK_LINES];
	struct chunk *chunk = &stream->chunk;
	size_t n = 0, at = 0;
	bool has_run;

	for (size_t i = 0; i < chunk->n; i++) {
		if (!chunk->lines[i].is_malformed)
			requests[n++] = chunk->lines[i].request;
	}
	has_run = n > 0 && rf_fs_batch(stream->command->fs, requests, n, results) == 0;
	for (size_t i = 0; i < chunk->n; i++) {
		struct rf_fs_line *line = &chunk->lines[i];

		if (line->is_malformed)
			print_result(stream, line, &line->failure);
		else
			finish(stream, line, has_run, n == 1, &results[at++]);
		rf_fs_line_clear(line);
	}
	chunk->n = 0;
	chunk->content_bytes = 0;
	chunk->has_large_answer = false;
	rf_fs_progress_tick(stream->n_done);
}

static void add_line(struct stream *stream, struct rf_fs_line *line_stolen)
{
	struct chunk *chunk = &stream->chunk;
	const struct rf_fs_request *request = &line_stolen->request;
	bool is_change = !line_stolen->is_malformed && !only_looks(request);

	if (is_change && chunk->has_large_answer)
		run_chunk(stream);
	chunk->content_bytes += request->content_size_bytes;
	chunk->has_large_answer =
		chunk->has_large_answer || (!is_change && has_large_answer(request));
	chunk->lines[chunk->n++] = *line_stolen;
	if (chunk->n == CHUNK_LINES || chunk->content_bytes >= CHUNK_CONTENT_BYTES)
		run_chunk(stream);
}

/* ---- lines ------------------------------------------------------------------------------------
 */

static int take_line(struct stream *stream, char *text, size_t size)
{
	struct rf_fs_line line;
	int r;

	if (stream->is_skipping) {
		stream->is_skipping = false;
		return 0;
	}
	if (strspn(text, " \t\r") >= size)
		return 0;
	r = rf_fs_line_parse(text, size, &stream->options, &line);
	if (r < 0) {
		rf_fs_line_clear(&line);
		rf_fs_line_fail(&line, -r, RF_FS_CODE_NONE, strerror(-r));
	}
	add_line(stream, &line);
	return 0;
}

static void refuse_long_line(struct stream *stream)
{
	struct rf_fs_line line;
	char message[80];

	snprintf(message, sizeof(message), "it is larger than %" PRIu64 " bytes",
		rf_fs_options(stream->command->fs)->request_bytes);
	rf_fs_line_fail(&line, E2BIG, RF_FS_CODE_LIMIT, message);
	add_line(stream, &line);
	stream->is_skipping = true;
}

/* All whole lines of the input; what is left moves to the front. */
static int take_lines(struct stream *stream)
{
	uint64_t limit = rf_fs_options(stream->command->fs)->request_bytes;
	struct rf_buf *input = &stream->input;
	size_t from = 0;
	char *feed;
	int r = 0;

	if (input->size == 0)
		return 0;
	while (r == 0 &&
		(feed = memchr(input->data + stream->n_seen, '\n', input->size - stream->n_seen))) {
		size_t end = (size_t)(feed - input->data);

		*feed = '\0';
		if (end - from > limit && !stream->is_skipping)
			refuse_long_line(stream);
		r = take_line(stream, input->data + from, end - from);
		from = stream->n_seen = end + 1;
	}
	if (from > 0)
		memmove(input->data, input->data + from, input->size - from);
	input->size -= from;
	if (input->size > limit) {
		if (!stream->is_skipping)
			refuse_long_line(stream);
		input->size = 0;
	}
	stream->n_seen = input->size;
	return r;
}

/* 1: end of file. */
static int read_more(struct stream *stream)
{
	static char bytes[READ_BYTES];
	ssize_t n;

	do
		n = read(stream->fd, bytes, sizeof(bytes));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n == 0)
		return 1;
	return rf_buf_add(&stream->input, bytes, (size_t)n);
}

static int run_stream(struct stream *stream)
{
	int r = 0;

	while (r == 0) {
		r = read_more(stream);
		if (r == 1 && stream->input.size > 0)
			take_line(stream, stream->input.data, stream->input.size);
		else if (r == 0)
			r = take_lines(stream);
		if (stream->chunk.n > 0)
			run_chunk(stream);
		/* Nobody reads the results: main says so. */
		if (fflush(stdout) != 0)
			return 1;
	}
	return r;
}

static void stream_clear(struct stream *stream)
{
	for (size_t i = 0; i < stream->chunk.n; i++)
		rf_fs_line_clear(&stream->chunk.lines[i]);
	rf_buf_clear(&stream->input);
	if (stream->fd > STDERR_FILENO)
		rf_close(stream->fd);
}

int rf_fs_verb_batch(struct rf_fs_command *command)
{
	static struct stream stream;
	const char *file = command->n_words ? command->words[0] : "-";
	int r, status = 0;

	stream = (struct stream){
		.command = command,
		.options = {.content_bytes = rf_fs_options(command->fs)->content_bytes,
			.find_fd = find_fd},
		.fd = STDIN_FILENO,
	};
	if (strcmp(file, "-") != 0)
		stream.fd = open(file, O_RDONLY | O_CLOEXEC);
	if (stream.fd < 0) {
		rf_say_error("cannot read %s: %s", file, strerror(errno));
		return RF_STATUS_REFUSED;
	}
	rf_fs_progress_begin("batch");
	r = run_stream(&stream);
	rf_fs_progress_end();
	if (r < 0) {
		rf_say_error("cannot read %s: %s", file, strerror(-r));
		status = RF_STATUS_REFUSED;
	} else if (stream.has_failure) {
		status = RF_FS_STATUS_FAILED;
	}
	stream_clear(&stream);
	return status;
}
