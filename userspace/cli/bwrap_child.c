/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The child inherits everything as if the caller had executed bubblewrap itself; what the client
 * opened is close-on-exec. Between clone3 and execveat the child calls the kernel alone.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/say.h"
#include "cli/bwrap.h"
#include "cli/cli.h"

/* ---- --args --------------------------------------------------------------------------------- */

static bool is_copied(const struct rf_bwrap_child *child, int number)
{
	for (size_t i = 0; i < child->n_copies; i++) {
		if (child->copies[i].number == number)
			return true;
	}
	return false;
}

/* One that cannot be read is left for bubblewrap to complain about. */
static int copy_args(struct rf_bwrap_child *child, int number, struct rf_diag *diag)
{
	char *data rf_autofree = NULL;
	size_t size_bytes = 0;
	int fd;
	int r;

	/* A closed stream is held by us until the child starts; one used twice is closed by then.
	 */
	if ((number <= STDERR_FILENO && rf_cli_closed_streams() & (1U << number)) ||
		is_copied(child, number))
		return 0;
	r = rf_read_all(number, RF_ARGUMENTS_MAX_BYTES, &data, &size_bytes);
	if (r == -EFBIG)
		return rf_diag_refuse(diag, "arguments-too-large",
			"descriptor %d of --args has more than %u bytes", number,
			RF_ARGUMENTS_MAX_BYTES);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	rf_bwrap_line_add(child->line, data, size_bytes);
	fd = rf_memfd("ringfence-arguments", data, size_bytes);
	if (fd < 0)
		return fd;
	child->copies[child->n_copies++] = (struct rf_bwrap_copy){number, fd};
	return 0;
}

/* A stream that was closed is held by us until the child starts. */
static bool is_callers(int number)
{
	return fcntl(number, F_GETFD) >= 0 &&
	       (number > STDERR_FILENO || !(rf_cli_closed_streams() & (1U << number)));
}

int rf_bwrap_child_init(
	struct rf_bwrap_child *child, struct rf_bwrap_line *line, struct rf_diag *diag)
{
	bool is_open[RF_BWRAP_ARGS_FDS_MAX];
	int r = 0;

	*child = (struct rf_bwrap_child){.program = -1, .line = line, .pidfd = -1, .gate = -1};
	sigprocmask(SIG_SETMASK, NULL, &child->mask);
	sigaction(SIGPIPE, NULL, &child->pipe_action);
	sigaction(SIGCHLD, NULL, &child->child_action);
	/* All of them before the first copy is made. */
	for (size_t i = 0; i < line->n_args_fds; i++)
		is_open[i] = is_callers(line->args_fds[i]);
	for (size_t i = 0; r == 0 && i < line->n_args_fds; i++) {
		if (is_open[i])
			r = copy_args(child, line->args_fds[i], diag);
	}
	return r;
}

void rf_bwrap_child_clear(struct rf_bwrap_child *child)
{
	for (size_t i = 0; i < child->n_copies; i++)
		rf_close(child->copies[i].fd);
	for (size_t i = 0; i < child->n_filters; i++)
		rf_close(child->filters[i]);
	child->n_copies = child->n_filters = 0;
	child->program = rf_close(child->program);
	child->pidfd = rf_close(child->pidfd);
	child->gate = rf_close(child->gate);
}

/* ---- The exec ------------------------------------------------------------------------------- */

struct filter_words {
	char option[sizeof("--add-seccomp-fd")];
	char number[12];
};

static int add_filter_words(
	const struct rf_bwrap_child *child, struct filter_words *words, char **argv, size_t *n)
{
	for (size_t i = 0; i < child->n_filters; i++) {
		snprintf(words[i].option, sizeof(words[i].option), "--add-seccomp-fd");
		snprintf(words[i].number, sizeof(words[i].number), "%d", child->filters[i]);
		argv[(*n)++] = words[i].option;
		argv[(*n)++] = words[i].number;
		if (fcntl(child->filters[i], F_SETFD, 0) < 0)
			return -errno;
	}
	return 0;
}

/* The descriptors that bubblewrap would have without us: none of ours, the caller's as they were.
 */
static int place_descriptors(const struct rf_bwrap_child *child)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (rf_cli_closed_streams() & (1U << fd))
			close(fd);
	}
	for (size_t i = 0; i < child->n_copies; i++) {
		if (dup2(child->copies[i].fd, child->copies[i].number) < 0)
			return -errno;
	}
	return 0;
}

static void complain(const struct rf_bwrap_child *child, int error)
{
	rf_say_error("cannot execute %s: %s", child->path, strerror(error));
}

static void become(const struct rf_bwrap_child *child, char **argv)
{
	struct filter_words filters[RF_BWRAP_FILTERS_MAX];
	size_t n = 0;
	int r;

	argv[n++] = child->line->words[0];
	r = add_filter_words(child, filters, argv, &n);
	/* The NULL at their end too. */
	memcpy(argv + n, child->line->words + 1, child->line->n_words * sizeof(*argv));
	if (r == 0)
		r = place_descriptors(child);
	if (r == 0) {
		sigaction(SIGPIPE, &child->pipe_action, NULL);
		sigaction(SIGCHLD, &child->child_action, NULL);
		sigprocmask(SIG_SETMASK, &child->mask, NULL);
		execveat(child->program, "", argv, environ, AT_EMPTY_PATH);
		r = -errno;
	}
	complain(child, -r);
}

static char **new_argv(const struct rf_bwrap_child *child)
{
	return calloc(child->line->n_words + 2 * RF_BWRAP_FILTERS_MAX + 1, sizeof(char *));
}

void rf_bwrap_child_exec(const struct rf_bwrap_child *child)
{
	char **argv rf_autofree = new_argv(child);

	if (argv)
		become(child, argv);
	else
		complain(child, ENOMEM);
}

/* ---- The child ------------------------------------------------------------------------------ */

static _Noreturn void be_child(const struct rf_bwrap_child *child, int gate_end, char **argv)
{
	char byte;
	ssize_t n;

	/* Ours, or its end would never be seen. */
	close(child->gate);
	do
		n = read(gate_end, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		become(child, argv);
	_exit(RF_BWRAP_STATUS_FAILED);
}

static int clone_child(struct rf_bwrap_child *child, int leaf, int gate_end, char **argv)
{
	int pidfd = -1;
	struct clone_args arguments = {
		.flags = CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid;

	if (leaf >= 0) {
		arguments.flags |= CLONE_INTO_CGROUP;
		arguments.cgroup = (uint64_t)leaf;
	}
	pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
	if (pid < 0)
		return -errno;
	if (pid == 0)
		be_child(child, gate_end, argv);
	child->pid = (pid_t)pid;
	child->pidfd = pidfd;
	return 0;
}

static bool is_kept(int fd, const int *kept, size_t n_kept)
{
	for (size_t i = 0; i < n_kept; i++) {
		if (kept[i] == fd)
			return true;
	}
	return false;
}

/* From 3 on, but for those kept and ours here. */
static void let_go(const struct rf_bwrap_child *child, const int *kept, size_t n_kept)
{
	int first = STDERR_FILENO + 1;

	for (;;) {
		int next = INT_MAX;

		while (is_kept(first, kept, n_kept) || first == child->pidfd ||
			first == child->gate)
			first++;
		for (size_t i = 0; i < n_kept; i++) {
			if (kept[i] > first && kept[i] < next)
				next = kept[i];
		}
		if (child->pidfd > first && child->pidfd < next)
			next = child->pidfd;
		if (child->gate > first && child->gate < next)
			next = child->gate;
		(void)close_range((unsigned int)first, (unsigned int)next - 1, 0);
		if (next == INT_MAX)
			return;
		first = next;
	}
}

int rf_bwrap_child_make(struct rf_bwrap_child *child, int leaf, const int *kept, size_t n_kept)
{
	char **argv rf_autofree = new_argv(child);
	int ends[2];
	int r;

	if (!argv)
		return -ENOMEM;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child->gate = ends[1];
	r = clone_child(child, leaf, ends[0], argv);
	rf_close(ends[0]);
	if (r < 0)
		return r;
	let_go(child, kept, n_kept);
	/* They went with the others. */
	child->n_copies = child->n_filters = 0;
	child->program = -1;
	return 0;
}

void rf_bwrap_child_go(struct rf_bwrap_child *child)
{
	/* One that was killed meanwhile shows as SIGCHLD. */
	ssize_t written rf_unused = child->gate < 0 ? 0 : write(child->gate, "", 1);

	child->gate = rf_close(child->gate);
}
