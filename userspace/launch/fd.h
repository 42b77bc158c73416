/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The few lines about descriptors that this program needs without linking base. */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/attr.h"

static inline void rf_fd_close_p(int *fd)
{
	int error = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = error;
}

/* int fd rf_autofd = -1; */
#define rf_autofd rf_cleanup(rf_fd_close_p)

static inline bool rf_fd_is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* The numbers below RF_KEEPER_FIRST_FREE that no contract names begin here. */
#define RF_FD_PRIVATE_FIRST 20

/* Moves an owned descriptor out of the numbers that have a meaning; close-on-exec. -1: failed. */
static inline int rf_fd_move_high(int fd)
{
	int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, RF_FD_PRIVATE_FIRST);

	rf_fd_close_p(&fd);
	return moved;
}
