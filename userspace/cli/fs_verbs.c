/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "cli/fs.h"

/* Paths of one verb that go to the engine together. */
#define TOGETHER 64U

static int say_whole_failure(int r)
{
	rf_say_error("the request could not be run: %s", strerror(-r));
	return RF_FS_STATUS_FAILED;
}

/* One request; prints its result. */
static int run_one(struct rf_fs_command *command, struct rf_fs_line *line)
{
	struct rf_fs_result result = {0};
	int r, status;

	rf_fs_progress_begin(command->verb);
	r = rf_fs_batch(command->fs, &line->request, 1, &result);
	rf_fs_progress_end();
	if (r < 0)
		return say_whole_failure(r);
	status = rf_fs_print(command, line, &result);
	rf_fs_result_clear(&result);
	return status;
}

static struct rf_fs_line line_for(const struct rf_fs_command *command, const char *path)
{
	struct rf_fs_line line = {
		.request = command->request, .has_operation = true, .path = (char *)path};

	line.request.path = path;
	return line;
}

static int run_together(struct rf_fs_command *command, const char **words, size_t n)
{
	struct rf_fs_request requests[TOGETHER];
	struct rf_fs_result results[TOGETHER] = {0};
	int status = 0;
	int r;

	for (size_t i = 0; i < n; i++)
		requests[i] = line_for(command, words[i]).request;
	rf_fs_progress_begin(command->verb);
	r = rf_fs_batch(command->fs, requests, n, results);
	rf_fs_progress_end();
	if (r < 0)
		return say_whole_failure(r);
	for (size_t i = 0; i < n; i++) {
		struct rf_fs_line line = line_for(command, words[i]);
		int one = rf_fs_print(command, &line, &results[i]);

		status = one ? one : status;
		rf_fs_result_clear(&results[i]);
	}
	return status;
}

/* Small answers go together; what carries entries has the whole ceiling for itself. */
static bool is_small(enum rf_fs_operation operation)
{
	return operation != RF_FS_LIST && operation != RF_FS_SNAPSHOT;
}

int rf_fs_verb_each(struct rf_fs_command *command)
{
	size_t step = is_small(command->request.operation) ? TOGETHER : 1;
	int status = 0;

	for (size_t at = 0; at < command->n_words; at += step) {
		size_t left = command->n_words - at;
		int one = run_together(command, command->words + at, left < step ? left : step);

		status = one ? one : status;
	}
	return status;
}

int rf_fs_verb_pair(struct rf_fs_command *command)
{
	struct rf_fs_line line = line_for(command, command->words[0]);

	line.request.target = line.target = (char *)command->words[1];
	return run_one(command, &line);
}

/* Straight to standard output, one after the other. */
int rf_fs_verb_read(struct rf_fs_command *command)
{
	int status = 0;

	for (size_t i = 0; i < command->n_words; i++) {
		struct rf_fs_line line = line_for(command, command->words[i]);
		int one;

		if (!command->is_json) {
			/* What was printed before comes first. */
			fflush(stdout);
			line.request.has_content_fd = true;
			line.request.content_fd = STDOUT_FILENO;
		}
		one = run_one(command, &line);
		status = one ? one : status;
	}
	return status;
}

int rf_fs_verb_write(struct rf_fs_command *command)
{
	struct rf_fs_line line = line_for(command, command->words[0]);
	struct rf_fs_request *request = &line.request;

	if (request->operation == RF_FS_WRITE) {
		if (!command->may_not_create)
			request->open_flags |= O_CREAT;
		if (!command->keeps_rest)
			request->open_flags |= O_TRUNC;
	}
	request->has_content_fd = true;
	request->content_fd = STDIN_FILENO;
	return run_one(command, &line);
}

/* ---- list: printed while it is read -----------------------------------------------------------
 */

struct listing {
	const struct rf_fs_command *command;
	uint64_t n_entries;
};

static int on_entry(void *userdata, struct rf_fs_walk_entry *walked)
{
	struct listing *listing = userdata;
	struct rf_fs_entry entry = {.path = (char *)walked->path, .type = walked->type};

	if (walked->stat) {
		entry.has_stat = true;
		entry.stat = *walked->stat;
	}
	rf_fs_print_entry(listing->command, &entry);
	rf_fs_progress_tick(++listing->n_entries);
	return listing->command->request.flags & RF_FS_RECURSIVE ? RF_FS_WALK_DESCEND
								 : RF_FS_WALK_NEXT;
}

static int list_one(struct rf_fs_command *command, const char *path)
{
	struct rf_fs_line line = line_for(command, path);
	struct rf_fs_result result = {0};
	struct listing listing = {command, 0};
	const struct rf_fs_walk_options options = {
		.entry = on_entry,
		.userdata = &listing,
		.wants_stat = command->request.flags & RF_FS_WITH_STAT,
		.is_sorted = true,
	};
	int status = 0;

	/* Not while the list itself goes to a terminal. */
	if (!isatty(STDOUT_FILENO))
		rf_fs_progress_begin(command->verb);
	if (rf_fs_walk(command->fs, path, &options, &result) != 0)
		status = RF_FS_STATUS_FAILED;
	rf_fs_progress_end();
	if (status != 0)
		rf_fs_say_failure(&line, &result);
	rf_fs_result_clear(&result);
	return status;
}

int rf_fs_verb_list(struct rf_fs_command *command)
{
	static const char *const root[] = {"."};
	int status = 0;

	if (command->n_words == 0) {
		command->words = (const char **)root;
		command->n_words = 1;
	}
	if (command->is_json)
		return rf_fs_verb_each(command);
	for (size_t i = 0; i < command->n_words; i++) {
		int one = list_one(command, command->words[i]);

		status = one ? one : status;
	}
	return status;
}

int rf_fs_verb_glob(struct rf_fs_command *command)
{
	struct rf_fs_line line = line_for(command, ".");

	/* Words are followed by a NULL. */
	line.request.patterns = command->words;
	line.request.exclude = (const char *const *)command->exclude.items;
	return run_one(command, &line);
}
