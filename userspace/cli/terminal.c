/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/launch.h"
#include "base/say.h"
#include "cli/output.h"

/* In the background a shell that brings us to the front again need not say so. */
#define BACKGROUND_LOOK_MS 250
/* Bytes on their way through the pty when the command has ended take no time; this is for a host
 * that is out of breath. */
#define DRAIN_QUIET_MS 1000
/* A descriptor that is ready takes this much from a blocking write (PIPE_BUF). */
#define WRITE_MAX_BYTES 4096

/* ---- Settings of the caller's terminal ---- */

static bool is_in_front(const struct rf_terminal *terminal)
{
	return terminal->caller >= 0 && tcgetpgrp(terminal->caller) == getpgrp();
}

/* In the background the kernel would stop us for this; blocked, it lets us. */
static void set_attributes(int fd, const struct termios *attributes)
{
	sigset_t ttou;
	sigset_t before;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &before);
	(void)tcsetattr(fd, TCSANOW, attributes);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* What the guardian would put back; a pipe takes this whole or not at all. */
struct state {
	bool is_raw;
	struct termios saved;
};

static void tell_guardian(const struct rf_terminal *terminal)
{
	const struct state state = {terminal->is_raw, terminal->saved};
	ssize_t n = write(terminal->guardian_pipe, &state, sizeof(state));

	/* Without a guardian the run goes on. */
	(void)n;
}

void rf_terminal_resume(struct rf_terminal *terminal)
{
	struct termios raw;

	if (terminal->is_raw || terminal->master < 0 || !is_in_front(terminal))
		return;
	/* A shell has its own settings while it edits a line; in front are those for programs. */
	if (tcgetattr(terminal->caller, &terminal->saved) < 0)
		return;
	terminal->is_raw = true;
	tell_guardian(terminal);
	raw = terminal->saved;
	cfmakeraw(&raw);
	set_attributes(terminal->caller, &raw);
	rf_say_set_raw(true);
	rf_terminal_resize(terminal);
}

void rf_terminal_suspend(struct rf_terminal *terminal)
{
	if (!terminal->is_raw)
		return;
	set_attributes(terminal->caller, &terminal->saved);
	terminal->is_raw = false;
	tell_guardian(terminal);
	rf_say_set_raw(false);
}

void rf_terminal_resize(const struct rf_terminal *terminal)
{
	struct winsize size;

	for (int fd = 0; terminal->master >= 0 && fd <= STDERR_FILENO; fd++) {
		if (ioctl(fd, TIOCGWINSZ, &size) < 0)
			continue;
		(void)ioctl(terminal->master, TIOCSWINSZ, &size);
		return;
	}
}

int rf_terminal_timeout(const struct rf_terminal *terminal)
{
	return terminal->master >= 0 && terminal->caller >= 0 && !terminal->is_raw
		       ? BACKGROUND_LOOK_MS
		       : -1;
}

/* ---- The guardian ---- */

/* It holds nothing but the terminal and the pipe, and no signal but KILL ends it. */
static _Noreturn void guard(const struct rf_terminal *terminal, int pipe)
{
	struct state state = {0};
	struct state heard;
	sigset_t all;
	ssize_t n;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "ringfence-tty", 0, 0, 0);
	if (dup2(terminal->caller, 0) < 0 || dup2(pipe, 1) < 0)
		_exit(1);
	(void)close_range(2, ~0U, 0);
	/* Until a single byte says that all is well, or the end that nobody is left. In the
	 * background the terminal is another's. */
	while ((n = read(1, &heard, sizeof(heard))) == (ssize_t)sizeof(heard))
		state = heard;
	if (n == 0 && state.is_raw)
		set_attributes(0, &state.saved);
	_exit(0);
}

static int start_guardian(struct rf_terminal *terminal)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	terminal->guardian = fork();
	if (terminal->guardian == 0) {
		close(ends[1]);
		guard(terminal, ends[0]);
	}
	close(ends[0]);
	terminal->guardian_pipe = ends[1];
	return terminal->guardian < 0 ? -errno : 0;
}

static void end_guardian(struct rf_terminal *terminal)
{
	ssize_t n = terminal->guardian_pipe >= 0 ? write(terminal->guardian_pipe, "", 1) : 0;

	terminal->guardian_pipe = rf_close(terminal->guardian_pipe);
	if (n == 1 && terminal->guardian > 0)
		(void)waitpid(terminal->guardian, NULL, 0);
	terminal->guardian = 0;
}

/* ---- Start ---- */

static bool streams_are_one_terminal(void)
{
	struct stat first;
	struct stat other;

	if (!isatty(0) || fstat(0, &first) < 0)
		return false;
	for (int fd = 1; fd <= STDERR_FILENO; fd++) {
		if (!isatty(fd) || fstat(fd, &other) < 0 || other.st_rdev != first.st_rdev)
			return false;
	}
	return true;
}

static bool is_wanted(const struct rf_policy *policy)
{
	if (policy->tty != RF_UNSET)
		return policy->tty == RF_TRUE;
	return policy->strict != RF_TRUE && streams_are_one_terminal();
}

/* An open file of its own, so that O_NONBLOCK is ours alone; else the stream as it is. */
static int open_output(void)
{
	int fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd >= 0 ? fd : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
}

int rf_terminal_prepare(
	struct rf_terminal *terminal, const struct rf_policy *policy, struct rf_diag *diag)
{
	int ends[2];

	if (!is_wanted(policy))
		return 0;
	if (policy->strict == RF_TRUE)
		return rf_diag_refuse(diag, "terminal-strict",
			"strict has no terminals, so --tty cannot be had with it");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	terminal->socket = ends[0];
	terminal->launcher_end = ends[1];
	terminal->input = STDIN_FILENO;
	terminal->output =
		isatty(STDOUT_FILENO) ? open_output() : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (terminal->output < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	terminal->is_wanted = true;
	if (tcgetattr(STDIN_FILENO, &terminal->saved) < 0)
		return 0;
	terminal->caller = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	return terminal->caller < 0 ? -errno : start_guardian(terminal);
}

/* ---- Bytes ---- */

static bool is_empty(const struct rf_terminal_buffer *buffer)
{
	return buffer->from == buffer->to;
}

/* False at end of file, or what passes for it. */
static bool fill(struct rf_terminal_buffer *buffer, int fd)
{
	ssize_t n = read(fd, buffer->data, sizeof(buffer->data));

	if (n > 0) {
		buffer->from = 0;
		buffer->to = (size_t)n;
	}
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool flush(struct rf_terminal_buffer *buffer, int fd)
{
	size_t size = buffer->to - buffer->from;
	ssize_t n = write(
		fd, buffer->data + buffer->from, size < WRITE_MAX_BYTES ? size : WRITE_MAX_BYTES);

	if (n > 0)
		buffer->from += (size_t)n;
	return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static bool reads_input(const struct rf_terminal *terminal)
{
	return terminal->input >= 0 && terminal->master >= 0 && is_empty(&terminal->inward) &&
	       (terminal->caller < 0 || terminal->is_raw);
}

void rf_terminal_polls(struct rf_terminal *terminal, struct pollfd *ret_polls)
{
	short master = 0;

	rf_terminal_resume(terminal);
	if (is_empty(&terminal->outward))
		master |= POLLIN;
	if (!is_empty(&terminal->inward))
		master |= POLLOUT;
	ret_polls[0] = (struct pollfd){.fd = terminal->socket, .events = POLLIN};
	ret_polls[1] = (struct pollfd){
		.fd = reads_input(terminal) ? terminal->input : -1, .events = POLLIN};
	/* Hung up, it would wake us without end while its bytes wait for the reader. */
	ret_polls[2] = (struct pollfd){.fd = master ? terminal->master : -1, .events = master};
	ret_polls[3] = (struct pollfd){
		.fd = is_empty(&terminal->outward) ? -1 : terminal->output, .events = POLLOUT};
}

/* What the caller's lines end with means the end of input to the inner terminal too. */
static void end_input(struct rf_terminal *terminal)
{
	struct termios inner;

	terminal->input = -1;
	if (tcgetattr(terminal->master, &inner) < 0)
		return;
	/* Behind an unfinished line the first one only sends that. */
	terminal->inward = (struct rf_terminal_buffer){.to = terminal->is_in_line ? 2 : 1};
	memset(terminal->inward.data, inner.c_cc[VEOF], terminal->inward.to);
}

static void take_input(struct rf_terminal *terminal)
{
	struct rf_terminal_buffer *inward = &terminal->inward;

	if (!fill(inward, terminal->input))
		end_input(terminal);
	else if (!is_empty(inward))
		terminal->is_in_line = inward->data[inward->to - 1] != '\n';
}

static void take_master(struct rf_terminal *terminal, int master)
{
	terminal->master = master;
	if (fcntl(master, F_SETFL, O_NONBLOCK) < 0)
		return;
	/* Erase and kill characters, speed and echo as the caller has them. Behind a shell that
	 * edits a line they are that shell's. */
	if (is_in_front(terminal))
		(void)tcsetattr(master, TCSANOW, &terminal->saved);
	rf_terminal_resize(terminal);
	rf_terminal_resume(terminal);
}

static void take_message(struct rf_terminal *terminal)
{
	struct rf_launch_message message;
	int fd = -1;
	size_t n_fds = 0;
	ssize_t n = rf_receive_fds(terminal->socket, &message, sizeof(message), &fd, 1, &n_fds);

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n != (ssize_t)sizeof(message)) {
		terminal->socket = rf_close(terminal->socket);
	} else if (message.kind == RF_LAUNCH_PTY && n_fds == 1 && terminal->master < 0) {
		take_master(terminal, fd);
		fd = -1;
	} else if (message.kind == RF_LAUNCH_STOPPED) {
		terminal->has_stopped = true;
	}
	rf_close(fd);
}

void rf_terminal_take(struct rf_terminal *terminal, const struct pollfd *polls)
{
	/* Nobody reads any more: the command's terminal hangs up. */
	if (polls[3].revents && !flush(&terminal->outward, terminal->output)) {
		terminal->outward.from = terminal->outward.to;
		terminal->master = rf_close(terminal->master);
		return;
	}
	if ((polls[2].revents & POLLOUT) && !flush(&terminal->inward, terminal->master))
		terminal->inward.from = terminal->inward.to;
	if ((polls[2].revents & (POLLIN | POLLHUP)) && is_empty(&terminal->outward) &&
		!fill(&terminal->outward, terminal->master))
		terminal->master = rf_close(terminal->master);
	if (polls[1].revents)
		take_input(terminal);
	if (polls[0].revents)
		take_message(terminal);
}

/* ---- End ---- */

/* Without its last reader gone, the pty answers EIO once all was read. */
static void drain(struct rf_terminal *terminal, int signal_fd, enum rf_terminal_end end)
{
	terminal->input = -1;
	terminal->inward = (struct rf_terminal_buffer){0};
	while (terminal->master >= 0 || !is_empty(&terminal->outward)) {
		struct pollfd polls[RF_TERMINAL_POLLS + 1];
		bool is_written = is_empty(&terminal->outward);
		int n;

		rf_terminal_polls(terminal, polls);
		polls[0].fd = -1;
		polls[RF_TERMINAL_POLLS] = (struct pollfd){.fd = signal_fd, .events = POLLIN};
		n = poll(polls, RF_TERMINAL_POLLS + 1,
			!is_written && end != RF_TERMINAL_CUT	? -1
			: is_written && end == RF_TERMINAL_KEPT ? 0
								: DRAIN_QUIET_MS);
		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		if (n > 0 && polls[RF_TERMINAL_POLLS].revents &&
			rf_output_is_interrupted(signal_fd))
			break;
		if (n > 0)
			rf_terminal_take(terminal, polls);
	}
	/* So that there is room for what we say ourselves. */
	if (!is_empty(&terminal->outward))
		(void)tcflush(terminal->output, TCOFLUSH);
}

void rf_terminal_close(struct rf_terminal *terminal, int signal_fd, enum rf_terminal_end end)
{
	if (terminal->is_wanted)
		drain(terminal, signal_fd, end);
	rf_terminal_suspend(terminal);
	end_guardian(terminal);
	terminal->socket = rf_close(terminal->socket);
	terminal->launcher_end = rf_close(terminal->launcher_end);
	terminal->master = rf_close(terminal->master);
	terminal->output = rf_close(terminal->output);
	terminal->caller = rf_close(terminal->caller);
	terminal->is_wanted = false;
}
