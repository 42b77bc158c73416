/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A terminal of the command's own, and the caller's as its window.
 *
 *	caller's terminal --stdin--> input --> master =[pty inside]= the command's 0, 1, 2, /dev/tty
 *	                  <-stdout-- output <-- master
 *
 * The launcher makes the pty inside the sandbox, so that its name is valid there, and sends the
 * master here through a socket that stands in for the three streams. While the command runs the
 * caller's terminal is raw: Ctrl-C and Ctrl-Z are bytes for the inner line discipline, which
 *signals whatever is in front there. When the command stops, so do we; in the background we neither
 *read nor touch the caller's settings. A guardian process puts them back if we are killed.
 */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

#include "policy/policy.h"

#define RF_TERMINAL_BUFFER_BYTES 16384

struct rf_terminal_buffer {
	char data[RF_TERMINAL_BUFFER_BYTES];
	size_t from;
	size_t to;
};

struct rf_terminal {
	bool is_wanted;
	/* -1 each where there is none (any more). */
	int socket;	  /* from the launcher */
	int launcher_end; /* for the call alone */
	int master;
	int input;	   /* standard input, until its end */
	int output;	   /* the same terminal or file as standard output */
	int caller;	   /* the caller's terminal on standard input */
	int guardian_pipe; /* its closing without a word is our death */
	pid_t guardian;
	struct termios saved;
	bool is_raw;
	/* The command stopped; the caller of rf_terminal_take resets it. */
	bool has_stopped;
	/* What was typed does not end a line. */
	bool is_in_line;
	struct rf_terminal_buffer inward;
	struct rf_terminal_buffer outward;
};

#define RF_TERMINAL_INIT                                                                   \
	{                                                                                  \
		.socket = -1, .launcher_end = -1, .master = -1, .input = -1, .output = -1, \
		.caller = -1, .guardian_pipe = -1                                          \
	}

/*
 * Whether the command gets a terminal: asked for by `lifecycle.tty`, else where the three standard
 * streams are one terminal (not under strict, which has no terminals). Opens what the call needs.
 * 0, RF_REFUSED or -errno.
 */
int rf_terminal_prepare(
	struct rf_terminal *terminal, const struct rf_policy *policy, struct rf_diag *diag);

#define RF_TERMINAL_POLLS 4

/* What to wait for, RF_TERMINAL_POLLS entries; those with fd -1 are ignored by poll(2). */
void rf_terminal_polls(struct rf_terminal *terminal, struct pollfd *ret_polls);

/* Moves bytes, takes the master, notices a stop. */
void rf_terminal_take(struct rf_terminal *terminal, const struct pollfd *polls);

/* Milliseconds until it should be looked at again although nothing happened; -1: never. */
int rf_terminal_timeout(const struct rf_terminal *terminal);

/* The caller's terminal changed its size. */
void rf_terminal_resize(const struct rf_terminal *terminal);

/* The caller's settings are back, until rf_terminal_resume finds us in front again. */
void rf_terminal_suspend(struct rf_terminal *terminal);
void rf_terminal_resume(struct rf_terminal *terminal);

enum rf_terminal_end {
	/* By itself: what it wrote goes out to the last byte, as slow as the reader is. */
	RF_TERMINAL_ENDED,
	/* Something is left behind that may hold the terminal: what is there now goes out. */
	RF_TERMINAL_KEPT,
	/* By force: what a reader does not take within a second is dropped. */
	RF_TERMINAL_CUT,
};

/*
 * The command has ended. A signal at signal_fd ends the wait for the reader. Then the caller's
 * settings are back. Harmless on one that was never prepared, and again.
 */
void rf_terminal_close(struct rf_terminal *terminal, int signal_fd, enum rf_terminal_end end);
