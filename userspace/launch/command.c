/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 *	launcher                     child
 *	   fork ------------------>  own process group, limits, dispositions, descriptors, directory
 *	   read the pipe <---------  what went wrong | end of file: exec closed it
 *
 * Nothing here can be seen by the command except what the spec names.
 */

#include "launch/command.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/limits.h"
#include "launch/call.h"
#include "launch/fd.h"
#include "launch/missing.h"

#define RF_STATUS_NOT_EXECUTABLE 126
#define RF_STATUS_NOT_FOUND 127
/* Where POSIX looks when there is no PATH. */
#define RF_PATH_DEFAULT "/bin:/usr/bin"

static void rf_command_fail(struct rf_launch_message *answer, int error, int status)
{
	answer->kind = RF_LAUNCH_EXEC_FAILED;
	answer->value = error;
	answer->extra = status;
}

/*
 * The C library keeps 32 and 33 to itself: its sigaction refuses them, and its posix_spawn leaves
 * them ignored, which exec would hand on.
 */
static void rf_command_internal_signals(uint64_t ignored)
{
	for (int number = 32; number <= 33; number++) {
		struct {
			void *handler;
			unsigned long flags;
			void *restorer;
			uint64_t mask;
		} action = {0};

		if (ignored >> (number - 1) & 1)
			action.handler = (void *)SIG_IGN;
		syscall(SYS_rt_sigaction, number, &action, NULL, sizeof(action.mask));
	}
}

static int rf_command_signals(const struct rf_sandbox *sandbox)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++) {
		struct sigaction action = {.sa_handler = SIG_DFL};

		if (number <= 64 && (sandbox->head.ignored_signals >> (number - 1) & 1))
			action.sa_handler = SIG_IGN;
		/* KILL and STOP answer EINVAL. */
		sigaction(number, &action, NULL);
	}
	rf_command_internal_signals(sandbox->head.ignored_signals);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

/*
 * Moves each passed descriptor to its number. A number may be the source of a later pair or the
 * error pipe: whatever stands there is moved aside first.
 */
static int rf_command_pass_fds(struct rf_sandbox *sandbox, int *error_fd)
{
	struct rf_spec_pass *pairs = sandbox->pass_fds;

	for (uint32_t i = 0; i < sandbox->head.n_pass_fds; i++) {
		int to = (int)pairs[i].to;

		if (*error_fd == to) {
			*error_fd = fcntl(to, F_DUPFD_CLOEXEC, RF_PASS_FD_MIN);
			if (*error_fd < 0)
				return -errno;
		}
		for (uint32_t j = i + 1; j < sandbox->head.n_pass_fds; j++) {
			int aside;

			if ((int)pairs[j].from != to)
				continue;
			aside = fcntl(to, F_DUPFD_CLOEXEC, RF_PASS_FD_MIN);
			if (aside < 0)
				return -errno;
			pairs[j].from = (uint32_t)aside;
		}
		if (pairs[i].from == pairs[i].to) {
			if (fcntl(to, F_SETFD, 0) < 0)
				return -errno;
		} else if (dup2((int)pairs[i].from, to) < 0) {
			return -errno;
		}
	}
	return 0;
}

static int rf_command_descriptors(
	struct rf_sandbox *sandbox, unsigned int open_streams, int *error_fd)
{
	if (close_range(RF_PASS_FD_MIN, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	for (int fd = 0; fd < RF_PASS_FD_MIN; fd++)
		if (!(open_streams & RF_STREAM_BIT(fd)))
			close(fd);
	return rf_command_pass_fds(sandbox, error_fd);
}

static int rf_command_limits(const struct rf_sandbox *sandbox)
{
	const struct rlimit limit = {
		.rlim_cur = sandbox->head.nofile_soft, .rlim_max = sandbox->head.nofile_hard};

	if (sandbox->head.nofile_hard == 0)
		return 0;
	return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}

/* The terminal on standard input becomes the controlling one, with the command in front. */
static int rf_command_terminal(const struct rf_sandbox *sandbox)
{
	if (!(sandbox->head.flags & RF_SANDBOX_TERMINAL))
		return 0;
	return tcsetpgrp(STDIN_FILENO, getpid()) < 0 ? -errno : 0;
}

static const char *rf_command_search_path(char **environment)
{
	for (; *environment; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0)
			return *environment + 5;
	return RF_PATH_DEFAULT;
}

/* execve came back: say why. Returns true when the search may go on. */
static bool rf_command_judge(
	const char *path, const char *name, int error, struct rf_launch_message *answer)
{
	struct stat status;

	if (error != ENOENT && error != ENOTDIR) {
		rf_command_fail(answer, error, RF_STATUS_NOT_EXECUTABLE);
		snprintf(answer->text, sizeof(answer->text), "%s: %s", name,
			stat(path, &status) == 0 && S_ISDIR(status.st_mode) ? "is a directory"
									    : strerror(error));
		return error == EACCES;
	}
	if (error == ENOENT && stat(path, &status) == 0) {
		rf_command_fail(answer, error, RF_STATUS_NOT_FOUND);
		rf_missing_describe(path, name, answer->text, sizeof(answer->text));
		return false;
	}
	if (answer->kind != RF_LAUNCH_EXEC_FAILED) {
		rf_command_fail(answer, error, RF_STATUS_NOT_FOUND);
		snprintf(answer->text, sizeof(answer->text), "%s: not found", name);
	}
	return true;
}

static bool rf_command_try(
	const struct rf_sandbox *sandbox, const char *path, struct rf_launch_message *answer)
{
	execve(path, sandbox->argv, sandbox->environment);
	return rf_command_judge(path, sandbox->argv[0], errno, answer);
}

/* Along PATH, absolute entries alone: what an entry "." means is the command's directory's owner's
 * choice, not the caller's. */
static void rf_command_search(const struct rf_sandbox *sandbox, struct rf_launch_message *answer)
{
	const char *entry = rf_command_search_path(sandbox->environment);
	const char *name = sandbox->argv[0];
	char path[RF_PATH_MAX_BYTES];

	rf_command_fail(answer, ENOENT, RF_STATUS_NOT_FOUND);
	snprintf(answer->text, sizeof(answer->text), "%s: not found", name);
	while (*name) {
		size_t length = strcspn(entry, ":");
		int n = snprintf(path, sizeof(path), "%.*s/%s", (int)length, entry, name);

		if (*entry == '/' && n > 0 && (size_t)n < sizeof(path) &&
			!rf_command_try(sandbox, path, answer))
			return;
		if (!entry[length])
			return;
		entry += length + 1;
	}
}

static void rf_command_exec(const struct rf_sandbox *sandbox, struct rf_launch_message *answer)
{
	if (sandbox->program[0])
		rf_command_try(sandbox, sandbox->program, answer);
	else if (strchr(sandbox->argv[0], '/'))
		rf_command_try(sandbox, sandbox->argv[0], answer);
	else
		rf_command_search(sandbox, answer);
}

static void rf_command_run(struct rf_sandbox *sandbox, unsigned int open_streams, int *error_fd,
	struct rf_launch_message *answer)
{
	int r = 0;

	setpgid(0, 0);
	r = rf_command_terminal(sandbox);
	if (r < 0)
		return (void)rf_fail(answer, -r, "controlling terminal");
	r = rf_command_descriptors(sandbox, open_streams, error_fd);
	if (r < 0)
		return (void)rf_fail(answer, -r, "passing descriptors");
	r = rf_command_limits(sandbox);
	if (r < 0)
		return (void)rf_fail(answer, -r, "RLIMIT_NOFILE");
	r = rf_command_signals(sandbox);
	if (r < 0)
		return (void)rf_fail(answer, -r, "signal mask");
	rf_command_exec(sandbox, answer);
}

static void rf_command_child(struct rf_sandbox *sandbox, unsigned int open_streams, int error_fd)
{
	struct rf_launch_message answer = {0};

	rf_command_run(sandbox, open_streams, &error_fd, &answer);
	rf_message_send(error_fd, &answer, NULL, 0);
	_exit(answer.extra ? answer.extra : 1);
}

int rf_command_start(struct rf_sandbox *sandbox, unsigned int open_streams, pid_t *ret_pid,
	struct rf_launch_message *ret_answer)
{
	int error_pipe[2];
	pid_t pid;

	if (pipe2(error_pipe, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		rf_command_child(sandbox, open_streams, error_pipe[1]);
	close(error_pipe[1]);
	if (pid < 0) {
		int error = errno;

		close(error_pipe[0]);
		return -error;
	}
	/* From here as well, so that it is so before a signal for the group can come. */
	setpgid(pid, pid);
	if (rf_message_read(error_pipe[0], ret_answer) != 0)
		*ret_answer = (struct rf_launch_message){.kind = RF_LAUNCH_STARTED};
	ret_answer->pid = pid;
	close(error_pipe[0]);
	*ret_pid = pid;
	return 0;
}
