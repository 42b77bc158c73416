/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* --result and --events: where they go, and events on their way there. */

#include <jansson.h>
#include <stdbool.h>

#include "base/diag.h"
#include "base/strv.h"

/*
 * Takes an option's value, once: FILE as it is; fd:N must be open here, before anything of ours is,
 * and writable. *target is borrowed from text. 0 or RF_REFUSED.
 */
int rf_output_set(const char **target, const char *option, const char *text, struct rf_diag *diag);

/*
 * Opens FILE (made 0600 when missing, emptied when there; its last component is not followed when
 * it is a link; a regular file, a character device or a pipe), or takes the inherited descriptor
 * of fd:N and closes it to whatever is executed. 0 or RF_REFUSED.
 */
int rf_output_open(const char *target, const char *option, int *ret_fd, struct rf_diag *diag);

/*
 * While a slow reader is waited for at the end, signals are read from here: true when one came that
 * says not to wait (not a change of the window's size, nor CONT).
 */
bool rf_output_is_interrupted(int signal_fd);

/*
 * Lines for a reader that may be slow: written in pieces that a pipe takes without blocking, from
 * the main loop, so that signals are still forwarded.
 */
struct rf_line_writer {
	/* Borrowed; -1: nothing is kept. */
	int fd;
	struct rf_buf waiting;
	size_t written;
	int error;
};

/* 0 or -ENOMEM. */
int rf_line_writer_add(struct rf_line_writer *writer, const char *line);
bool rf_line_writer_is_waiting(const struct rf_line_writer *writer);
/* So much waits that no more should be taken in. */
bool rf_line_writer_is_full(const struct rf_line_writer *writer);
/* One piece, once poll() says POLLOUT. A failure empties the writer and stays in error. */
void rf_line_writer_write(struct rf_line_writer *writer);
/* Drops what waits and what comes. */
void rf_line_writer_give_up(struct rf_line_writer *writer, int error);
/*
 * Until the reader has it all; a signal (of signal_fd, but WINCH, CONT and CHLD) ends the wait.
 * What was not written is said.
 */
void rf_line_writer_drain(struct rf_line_writer *writer, int signal_fd, const char *option);
void rf_line_writer_clear(struct rf_line_writer *writer);

/* Writes a result, in the same way. */
void rf_output_result(int fd, const json_t *result, int signal_fd);
