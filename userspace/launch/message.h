/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Messages of base/launch.h over SOCK_SEQPACKET, and the failures of setting up. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/launch.h"

/* One message carries at most the three standard streams, or one pidfd. */
#define RF_MESSAGE_FDS_MAX 3

/*
 * Sends with write(2), or sendmsg(2) when descriptors (borrowed) travel along: once its filters
 * are in force the launcher needs no socket call. 0 or -errno.
 */
int rf_message_send(
	int socket, const struct rf_launch_message *message, const int *fds, size_t n_fds);

struct rf_received {
	struct rf_launch_message message; /* text is NUL-terminated */
	pid_t sender;			  /* 0 unless the socket asks for credentials */
	int fds[RF_MESSAGE_FDS_MAX];	  /* close-on-exec, the caller's; -1 where there is none */
	size_t n_fds;
};

/*
 * 0: one whole message. 1: the other end is gone. -EAGAIN: nothing there on a non-blocking
 * socket. -EPROTO: another size, or more descriptors than allowed. -errno.
 */
int rf_message_receive(int socket, struct rf_received *ret_received);

/* The same with read(2), for the launcher under its filters: neither sender nor descriptors. */
int rf_message_read(int socket, struct rf_launch_message *ret_message);

/* Fills *ret_failure with SETUP_FAILED, error (positive errno) and the step. RF_REFUSED. */
int rf_fail(struct rf_launch_message *ret_failure, int error, const char *format, ...)
	rf_printf(3, 4);
