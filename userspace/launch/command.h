/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Starting the command: the last step. */

#include <sys/types.h>

#include "launch/message.h"
#include "launch/spec.h"

/* Standard streams that the caller did not have, bit per number. */
#define RF_STREAM_BIT(fd) (1U << (fd))
#define RF_STREAMS_ALL 7U

/*
 * Forks and execs the command, in the launcher's working directory. *ret_answer becomes STARTED,
 * EXEC_FAILED, or SETUP_FAILED when a step before exec failed; *ret_pid is a child to reap in
 * each case. 0 or -errno (no process was made).
 */
int rf_command_start(struct rf_sandbox *sandbox, unsigned int open_streams, pid_t *ret_pid,
	struct rf_launch_message *ret_answer);
