/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/say.h"
#include "base/units.h"

#define WAITING_MAX_BYTES (8U * 1024 * 1024)

int rf_output_set(const char **target, const char *option, const char *text, struct rf_diag *diag)
{
	uint64_t number;
	int flags;

	if (*target)
		return rf_diag_refuse(diag, "option-value", "--%s is given twice", option);
	if (!*text)
		return rf_diag_refuse(diag, "option-value", "--%s needs FILE or fd:N", option);
	if (strncmp(text, "fd:", 3) == 0) {
		if (!rf_parse_u64(text + 3, &number) || number > RF_PASS_FD_MAX)
			return rf_diag_refuse(diag, "option-value",
				"--%s fd:N takes a number up to %d, not \"%s\"", option,
				RF_PASS_FD_MAX, text + 3);
		flags = fcntl((int)number, F_GETFL);
		if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
			return rf_diag_refuse(diag, "output-descriptor",
				"descriptor %d is not open for writing (--%s)", (int)number,
				option);
	}
	*target = text;
	return 0;
}

static int refuse_file(const char *target, const char *option, int error, struct rf_diag *diag)
{
	int r = rf_diag_refuse(diag, "output-file", "cannot open %s for --%s: %s", target, option,
		error == ELOOP ? "a symbolic link is on its way" : strerror(error));

	rf_diag_path(diag, target);
	if (error == ELOOP)
		rf_diag_hint(diag, "fd:N takes an open descriptor");
	return r;
}

/*
 * No link is followed in any component: one that lies in the workspace could have been planted by
 * an earlier run, and lead the result to where the command may forge it.
 */
static int open_without_links(const char *target)
{
	struct open_how how = {
		.flags = O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC,
		.mode = S_IRUSR | S_IWUSR,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, AT_FDCWD, target, &how, sizeof(how));
}

static int open_file(const char *target, const char *option, int *ret_fd, struct rf_diag *diag)
{
	/* Emptied only after the look at what it is. */
	int fd rf_autoclose = open_without_links(target);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return refuse_file(target, option, errno, diag);
	if (S_ISREG(st.st_mode)) {
		if (ftruncate(fd, 0) < 0)
			return refuse_file(target, option, errno, diag);
	} else if (!S_ISCHR(st.st_mode) && !S_ISFIFO(st.st_mode)) {
		return rf_diag_refuse(diag, "output-file",
			"%s is not a regular file, a character device or a pipe (--%s)", target,
			option);
	}
	*ret_fd = RF_TAKE_FD(fd);
	return 0;
}

bool rf_output_is_interrupted(int signal_fd)
{
	struct signalfd_siginfo info;

	return read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info) &&
	       info.ssi_signo != SIGWINCH && info.ssi_signo != SIGCONT && info.ssi_signo != SIGCHLD;
}

int rf_output_open(const char *target, const char *option, int *ret_fd, struct rf_diag *diag)
{
	uint64_t number;

	if (strncmp(target, "fd:", 3) != 0)
		return open_file(target, option, ret_fd, diag);
	/* The options' reader saw that it is a number, open and writable. */
	if (!rf_parse_u64(target + 3, &number) || number > INT_MAX ||
		fcntl((int)number, F_SETFD, FD_CLOEXEC) < 0)
		return rf_diag_refuse(
			diag, "output-descriptor", "%s is not open (--%s)", target, option);
	*ret_fd = (int)number;
	return 0;
}

int rf_line_writer_add(struct rf_line_writer *writer, const char *line)
{
	int r;

	if (writer->fd < 0 || writer->error)
		return 0;
	r = rf_buf_add(&writer->waiting, line, strlen(line));
	return r == 0 ? rf_buf_add(&writer->waiting, "\n", 1) : r;
}

bool rf_line_writer_is_waiting(const struct rf_line_writer *writer)
{
	return writer->written < writer->waiting.size;
}

bool rf_line_writer_is_full(const struct rf_line_writer *writer)
{
	return writer->waiting.size - writer->written > WAITING_MAX_BYTES;
}

void rf_line_writer_write(struct rf_line_writer *writer)
{
	size_t left = writer->waiting.size - writer->written;
	ssize_t n = write(writer->fd, writer->waiting.data + writer->written,
		left < PIPE_BUF ? left : PIPE_BUF);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0) {
		rf_line_writer_give_up(writer, errno);
		return;
	}
	writer->written += (size_t)n;
	if (!rf_line_writer_is_waiting(writer)) {
		writer->waiting.size = 0;
		writer->written = 0;
	}
}

void rf_line_writer_give_up(struct rf_line_writer *writer, int error)
{
	writer->error = error;
	rf_line_writer_clear(writer);
}

void rf_line_writer_clear(struct rf_line_writer *writer)
{
	rf_buf_clear(&writer->waiting);
	writer->written = 0;
}

void rf_line_writer_drain(struct rf_line_writer *writer, int signal_fd, const char *option)
{
	struct pollfd polls[] = {
		{.fd = writer->fd, .events = POLLOUT},
		{.fd = signal_fd, .events = POLLIN},
	};

	while (rf_line_writer_is_waiting(writer)) {
		if (poll(polls, RF_ARRAY_SIZE(polls), -1) < 0 && errno != EINTR)
			break;
		if (polls[1].revents && rf_output_is_interrupted(signal_fd))
			break;
		if (polls[0].revents)
			rf_line_writer_write(writer);
	}
	if (writer->error)
		rf_say_error("cannot write --%s: %s", option, strerror(writer->error));
}

void rf_output_result(int fd, const json_t *result, int signal_fd)
{
	struct rf_line_writer writer = {.fd = fd};
	char *text rf_autofree = rf_json_pretty(result);

	if (!text)
		return;
	/* The writer ends its lines itself. */
	text[strlen(text) - 1] = '\0';
	if (rf_line_writer_add(&writer, text) == 0)
		rf_line_writer_drain(&writer, signal_fd, "result");
	rf_line_writer_clear(&writer);
}
