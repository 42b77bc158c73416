/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"

int rf_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

int rf_write_all(int fd, const void *data, size_t size_bytes)
{
	const char *at = data;

	while (size_bytes > 0) {
		ssize_t n = write(fd, at, size_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size_bytes -= (size_t)n;
	}
	return 0;
}

int rf_read_all(int fd, size_t limit_bytes, char **ret_data, size_t *ret_size_bytes)
{
	char *data rf_autofree = NULL;
	size_t size = 0;
	size_t room = 0;

	for (;;) {
		ssize_t n;

		if (room - size < 2) {
			size_t wanted = room ? room * 2 : 4096;
			char *grown = realloc(data, wanted);

			if (!grown)
				return -ENOMEM;
			data = grown;
			room = wanted;
		}
		n = read(fd, data + size, room - size - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += (size_t)n;
		if (size > limit_bytes)
			return -EFBIG;
	}
	data[size] = '\0';
	*ret_data = RF_TAKE(data);
	if (ret_size_bytes)
		*ret_size_bytes = size;
	return 0;
}

int rf_read_file_at(int dirfd, const char *path, size_t limit_bytes, char **ret_data)
{
	int fd rf_autoclose = openat(dirfd, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return rf_read_all(fd, limit_bytes, ret_data, NULL);
}

int rf_write_file_at(int dirfd, const char *path, const char *text)
{
	int fd rf_autoclose = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	if (n < 0)
		return -errno;
	return (size_t)n == strlen(text) ? 0 : -EIO;
}

int rf_memfd(const char *name, const void *data, size_t size_bytes)
{
	int fd rf_autoclose = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = rf_write_all(fd, data, size_bytes);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return -errno;
	return RF_TAKE_FD(fd);
}

ssize_t rf_send_fds(int socket, const void *data, size_t size_bytes, const int *fds, size_t n_fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(RF_WIRE_FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = (void *)data, .iov_len = size_bytes};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (n_fds > RF_WIRE_FDS_MAX)
		return -E2BIG;
	if (n_fds > 0) {
		struct cmsghdr *header;

		memset(&control, 0, sizeof(control));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(header), fds, n_fds * sizeof(int));
	}
	do
		n = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static void take_rights(struct cmsghdr *header, int *fds, size_t max_fds, size_t *n_fds)
{
	size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
		if (*n_fds < max_fds)
			fds[(*n_fds)++] = fd;
		else
			rf_close(fd);
	}
}

ssize_t rf_receive_fds(
	int socket, void *data, size_t size_bytes, int *fds, size_t max_fds, size_t *ret_n_fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(RF_WIRE_FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = data, .iov_len = size_bytes};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header;
	size_t n_fds = 0;
	ssize_t n;

	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
		if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
			take_rights(header, fds, max_fds, &n_fds);
	}
	if (message.msg_flags & MSG_CTRUNC) {
		while (n_fds > 0)
			rf_close(fds[--n_fds]);
		return -EPROTO;
	}
	*ret_n_fds = n_fds;
	return n;
}
