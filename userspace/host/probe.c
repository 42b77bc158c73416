/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 *	parent                          child (leader of a group of its own)
 *	pipe, fork ------------------>  PDEATHSIG, function(check)
 *	poll until the deadline  <----  one write of struct rf_check (below PIPE_BUF: whole or not)
 *	pidfd: SIGKILL, group: SIGKILL
 *	wait, with a bound              (a child in uninterruptible sleep stays behind until it
 *wakes)
 *
 * The group is signalled only while its leader was not reaped, so the number cannot be another's.
 */

#include "host/probe.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

/* How long a killed child may take to go before it is given up. */
#define REAP_MS 50

static_assert(sizeof(struct rf_check) <= PIPE_BUF, "a result is one write");

void rf_check_fail(struct rf_check *check, const char *call, int error)
{
	check->state = RF_STATE_OFF;
	check->error = error;
	(void)snprintf(check->call, sizeof(check->call), "%s", call);
}

void rf_check_say(struct rf_check *check, const char *cause_format, ...)
{
	va_list arguments;

	va_start(arguments, cause_format);
	(void)vsnprintf(check->cause, sizeof(check->cause), cause_format, arguments);
	va_end(arguments);
}

void rf_check_advise(struct rf_check *check, const char *remedy_format, ...)
{
	va_list arguments;

	va_start(arguments, remedy_format);
	(void)vsnprintf(check->remedy, sizeof(check->remedy), remedy_format, arguments);
	va_end(arguments);
}

/* Signals as a fresh program has them; the streams are nobody's but the caller's. */
static void settle_child(pid_t parent)
{
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	(void)setpgid(0, 0);
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void rf_probe_start(
	rf_probe_fn function, const struct rf_signs *signs, int deadline_ms, struct rf_probe *ret)
{
	int ends[2] = {-1, -1};
	pid_t parent = getpid();

	*ret = (struct rf_probe){.pid = -1, .pidfd = -1, .pipe = -1};
	ret->deadline_ns = rf_monotonic_ns() + (uint64_t)deadline_ms * 1000000;
	if (pipe2(ends, O_CLOEXEC) < 0) {
		ret->error = errno;
		return;
	}
	ret->pid = fork();
	if (ret->pid == 0) {
		struct rf_check check = {.state = RF_STATE_OFF};

		settle_child(parent);
		function(signs, &check);
		check.name = NULL;
		_exit(write(ends[1], &check, sizeof(check)) == (ssize_t)sizeof(check) ? 0 : 1);
	}
	if (ret->pid < 0)
		ret->error = errno;
	(void)rf_close(ends[1]);
	ret->pipe = ends[0];
	/* The child does it as well; whoever is first, the group exists when it is signalled. */
	if (ret->pid > 0) {
		(void)setpgid(ret->pid, ret->pid);
		ret->pidfd = (int)syscall(SYS_pidfd_open, ret->pid, 0);
	}
}

static int remaining_ms(uint64_t deadline_ns)
{
	uint64_t now_ns = rf_monotonic_ns();

	/* Rounded up: a poll of 0 ms would spin. */
	return now_ns >= deadline_ns ? 0 : (int)((deadline_ns - now_ns + 999999) / 1000000);
}

static int wait_readable(int fd, uint64_t deadline_ns)
{
	struct pollfd item = {.fd = fd, .events = POLLIN};
	int r;

	do
		r = poll(&item, 1, remaining_ms(deadline_ns));
	while (r < 0 && errno == EINTR);
	return r;
}

/* Kills child and group; false: it was still there when the time was up. */
static bool end_child(struct rf_probe *probe)
{
	uint64_t deadline_ns = rf_monotonic_ns() + REAP_MS * 1000000ULL;

	(void)kill(-probe->pid, SIGKILL);
	if (probe->pidfd >= 0) {
		(void)syscall(SYS_pidfd_send_signal, probe->pidfd, SIGKILL, NULL, 0);
		if (wait_readable(probe->pidfd, deadline_ns) <= 0)
			return false;
		return waitpid(probe->pid, NULL, WNOHANG) != 0;
	}
	(void)kill(probe->pid, SIGKILL);
	while (waitpid(probe->pid, NULL, WNOHANG) == 0) {
		if (remaining_ms(deadline_ns) == 0)
			return false;
		(void)poll(NULL, 0, 1);
	}
	return true;
}

static void read_result(struct rf_probe *probe, struct rf_check *ret_check)
{
	struct rf_check check = {0};
	ssize_t n;

	if (wait_readable(probe->pipe, probe->deadline_ns) == 0) {
		rf_check_fail(ret_check, "", ETIMEDOUT);
		rf_check_say(ret_check, "the check hung and was killed");
		rf_check_advise(ret_check, "look for a mount or a filesystem that does not answer");
		return;
	}
	n = read(probe->pipe, &check, sizeof(check));
	if (n != (ssize_t)sizeof(check)) {
		rf_check_fail(ret_check, "", ECHILD);
		rf_check_say(ret_check, "the check was killed before it had an answer");
		rf_check_advise(ret_check, "look into the kernel log");
		return;
	}
	check.name = ret_check->name;
	*ret_check = check;
}

void rf_probe_collect(struct rf_probe *probe, struct rf_check *ret_check)
{
	if (probe->pid < 0) {
		rf_check_fail(ret_check, "fork", probe->error);
		rf_check_say(ret_check, "no process for the check could be made");
	} else {
		read_result(probe, ret_check);
		if (!end_child(probe) && ret_check->error == ETIMEDOUT)
			rf_check_say(ret_check,
				"the check hangs inside the kernel and cannot be killed");
	}
	probe->pidfd = rf_close(probe->pidfd);
	probe->pipe = rf_close(probe->pipe);
	probe->pid = -1;
}
