/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ringfence fs: the guarded filesystem for people.
 *
 *	fs.c          verbs and their options
 *	fs_verbs.c    what each verb asks for
 *	fs_print.c    results for people, and as JSON
 *	fs_batch.c    requests as lines
 *	fs_progress.c signs of life on a terminal
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/strv.h"
#include "fs/fs.h"
#include "fs/request.h"

/* An operation failed: it is said, or in the answer. */
#define RF_FS_STATUS_FAILED 1

struct rf_fs_command {
	/* Options. */
	const char *root;
	struct rf_fs_options options;
	bool is_json;
	/* Paths end in NUL and are not escaped. */
	bool is_null;
	bool may_not_create;
	/* write: --offset was given. */
	bool keeps_rest;
	/* Flags, mode, times, range: the same for every path. */
	struct rf_fs_request request;
	struct rf_strv exclude;

	struct rf_fs *fs;
	const char *verb;
	const char **words;
	size_t n_words;
};

/* Each returns an exit status. */
int rf_fs_verb_each(struct rf_fs_command *command);
int rf_fs_verb_pair(struct rf_fs_command *command);
int rf_fs_verb_read(struct rf_fs_command *command);
int rf_fs_verb_write(struct rf_fs_command *command);
int rf_fs_verb_list(struct rf_fs_command *command);
int rf_fs_verb_glob(struct rf_fs_command *command);
int rf_fs_verb_batch(struct rf_fs_command *command);
/* Before anything of ours is open: requests may name descriptors that were passed to us alone. */
void rf_fs_batch_note_descriptors(void);

/* One result: to standard output, a failure to standard error. The exit status it means. */
int rf_fs_print(const struct rf_fs_command *command, const struct rf_fs_line *line,
	const struct rf_fs_result *result);
/* A failure alone. */
void rf_fs_say_failure(const struct rf_fs_line *line, const struct rf_fs_result *result);
/* A path on a line of its own: escaped, or as it is before a NUL. */
void rf_fs_print_path(const struct rf_fs_command *command, const char *path);
void rf_fs_print_entry(const struct rf_fs_command *command, const struct rf_fs_entry *entry);
/* The answer as one line with the engine that served; the content goes out in pieces. */
void rf_fs_print_answer(const struct rf_fs_command *command, const struct rf_fs_line *line,
	const struct rf_fs_result *result);

/*
 * Once an operation takes long and standard error is a terminal, a line there tells that it still
 * runs. end takes it away.
 */
void rf_fs_progress_begin(const char *what);
/* May be called for every entry. done: so far; 0: as told before. */
void rf_fs_progress_tick(uint64_t done);
void rf_fs_progress_end(void);
