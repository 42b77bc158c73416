/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "launch/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union rf_ancillary {
	struct cmsghdr alignment;
	char bytes[CMSG_SPACE(sizeof(int) * RF_MESSAGE_FDS_MAX) + CMSG_SPACE(sizeof(struct ucred))];
};

static ssize_t rf_message_write(int socket, const struct rf_launch_message *message)
{
	ssize_t n;

	do
		n = write(socket, message, sizeof(*message));
	while (n < 0 && errno == EINTR);
	return n;
}

static ssize_t rf_message_write_fds(
	int socket, const struct rf_launch_message *message, const int *fds, size_t n_fds)
{
	union rf_ancillary ancillary = {0};
	struct iovec data = {.iov_base = (void *)message, .iov_len = sizeof(*message)};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
	struct cmsghdr *control;
	ssize_t n;

	header.msg_control = ancillary.bytes;
	header.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
	control = CMSG_FIRSTHDR(&header);
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
	memcpy(CMSG_DATA(control), fds, sizeof(int) * n_fds);
	do
		n = sendmsg(socket, &header, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n;
}

int rf_message_send(
	int socket, const struct rf_launch_message *message, const int *fds, size_t n_fds)
{
	ssize_t n;

	if (n_fds > RF_MESSAGE_FDS_MAX)
		return -E2BIG;
	n = n_fds > 0 ? rf_message_write_fds(socket, message, fds, n_fds)
		      : rf_message_write(socket, message);
	if (n < 0)
		return -errno;
	return n == (ssize_t)sizeof(*message) ? 0 : -EPROTO;
}

static void rf_message_take_ancillary(struct msghdr *header, struct rf_received *received)
{
	struct cmsghdr *control;

	for (control = CMSG_FIRSTHDR(header); control; control = CMSG_NXTHDR(header, control)) {
		size_t size = control->cmsg_len - CMSG_LEN(0);

		if (control->cmsg_level != SOL_SOCKET)
			continue;
		if (control->cmsg_type == SCM_CREDENTIALS && size == sizeof(struct ucred)) {
			struct ucred credentials;

			memcpy(&credentials, CMSG_DATA(control), sizeof(credentials));
			received->sender = credentials.pid;
		} else if (control->cmsg_type == SCM_RIGHTS && size <= sizeof(received->fds)) {
			memcpy(received->fds, CMSG_DATA(control), size);
			received->n_fds = size / sizeof(int);
		}
	}
}

static void rf_message_drop_fds(struct rf_received *received)
{
	for (size_t i = 0; i < received->n_fds; i++)
		close(received->fds[i]);
}

int rf_message_receive(int socket, struct rf_received *ret_received)
{
	struct rf_received received = {.fds = {-1, -1, -1}};
	union rf_ancillary ancillary = {0};
	struct iovec data = {.iov_base = &received.message, .iov_len = sizeof(received.message)};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
	ssize_t n;

	header.msg_control = ancillary.bytes;
	header.msg_controllen = sizeof(ancillary.bytes);
	do
		n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n == 0)
		return 1;
	rf_message_take_ancillary(&header, &received);
	if (n != (ssize_t)sizeof(received.message) ||
		(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		rf_message_drop_fds(&received);
		return -EPROTO;
	}
	received.message.text[RF_LAUNCH_TEXT_BYTES - 1] = 0;
	*ret_received = received;
	return 0;
}

int rf_message_read(int socket, struct rf_launch_message *ret_message)
{
	struct rf_launch_message message;
	ssize_t n;

	do
		n = read(socket, &message, sizeof(message));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n == 0)
		return 1;
	if (n != (ssize_t)sizeof(message))
		return -EPROTO;
	message.text[RF_LAUNCH_TEXT_BYTES - 1] = 0;
	*ret_message = message;
	return 0;
}

int rf_fail(struct rf_launch_message *ret_failure, int error, const char *format, ...)
{
	va_list arguments;

	memset(ret_failure, 0, sizeof(*ret_failure));
	ret_failure->kind = RF_LAUNCH_SETUP_FAILED;
	ret_failure->value = error;
	va_start(arguments, format);
	vsnprintf(ret_failure->text, sizeof(ret_failure->text), format, arguments);
	va_end(arguments);
	return RF_REFUSED;
}
