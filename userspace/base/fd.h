/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Descriptors: owned by a local that starts at -1 and closes itself. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"

/* Closes and returns -1, errno kept. */
int rf_close(int fd);

static inline void rf_close_p(int *fd)
{
	*fd = rf_close(*fd);
}

/* int fd rf_autoclose = -1; */
#define rf_autoclose rf_cleanup(rf_close_p)

/* Writes all of it, through EINTR and short writes. 0 or -errno. */
int rf_write_all(int fd, const void *data, size_t size_bytes);

/*
 * Reads until end of file. ret_data gets a NUL after size_bytes and belongs to the caller.
 * 0, -EFBIG when there is more than limit_bytes, or -errno.
 */
int rf_read_all(int fd, size_t limit_bytes, char **ret_data, size_t *ret_size_bytes);

/* The same for a small file below dirfd (AT_FDCWD for none), opened O_RDONLY|O_CLOEXEC. */
int rf_read_file_at(int dirfd, const char *path, size_t limit_bytes, char **ret_data);

/* open(O_WRONLY|O_CLOEXEC), one write of the whole text. For files of the kernel. 0 or -errno. */
int rf_write_file_at(int dirfd, const char *path, const char *text);

/* A sealed, close-on-exec memfd with this content, read position at 0; a descriptor or -errno. */
int rf_memfd(const char *name, const void *data, size_t size_bytes);

/*
 * Sends one datagram or stream chunk with descriptors (at most RF_WIRE_FDS_MAX, borrowed).
 * Returns the bytes sent or -errno.
 */
ssize_t rf_send_fds(int socket, const void *data, size_t size_bytes, const int *fds, size_t n_fds);

/*
 * Receives one chunk. fds has room for max_fds; what arrives is close-on-exec and belongs to the
 * caller. Returns bytes (0: end of file) or -errno; -EPROTO when descriptors were cut off (those
 * that arrived are closed).
 */
ssize_t rf_receive_fds(
	int socket, void *data, size_t size_bytes, int *fds, size_t max_fds, size_t *ret_n_fds);
