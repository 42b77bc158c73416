/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A first process that is the client's own child, so that it has the client's session, terminal,
 * descriptors, limits and whatever else a process inherits: `ringfence bwrap`.
 *
 * Two words end it, in either order: the keeper says that the process is gone (then what it left is
 * counted and killed), the client says how it ended. A client that is stopped says nothing: after
 * a pause the end is told without a status.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/units.h"
#include "sandbox/sandbox.h"

/* How long a living client may take to say how its child ended. */
#define STATUS_DEADLINE_US 2000000U
#define PROC_FILE_MAX_BYTES (64U * 1024)

/* The text after "NAME:" of a file of procfs, up to its line feed, without white space around. */
static int read_field(const char *path, const char *name, char *ret_text, size_t size)
{
	char *data rf_autofree = NULL;
	size_t length = strlen(name);
	int r = rf_read_file_at(AT_FDCWD, path, PROC_FILE_MAX_BYTES, &data);

	if (r < 0)
		return r;
	for (const char *line = data; line && *line;) {
		const char *end = strchrnul(line, '\n');

		if (strncmp(line, name, length) == 0 && line[length] == ':') {
			const char *at = line + length + 1;

			at += strspn(at, " \t");
			snprintf(ret_text, size, "%.*s", (int)(end - at), at);
			return 0;
		}
		line = *end ? end + 1 : end;
	}
	return -ENOENT;
}

/* The pid of a pidfd, or the parent's of a pid. 0 or -errno. */
static int read_pid(const char *path, const char *name, pid_t *ret_pid)
{
	char text[32];
	uint64_t pid;
	int r = read_field(path, name, text, sizeof(text));

	if (r < 0)
		return r;
	/* -1: gone already; 0: of another PID namespace. */
	if (!rf_parse_u64(text, &pid) || pid == 0 || pid > INT32_MAX)
		return -ESRCH;
	*ret_pid = (pid_t)pid;
	return 0;
}

static int pid_of(int pidfd, pid_t *ret_pid)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	return read_pid(path, "Pid", ret_pid);
}

struct member {
	pid_t pid;
	bool is_found;
};

static void find_member(pid_t pid, int pidfd rf_unused, void *userdata)
{
	struct member *member = userdata;

	member->is_found |= pid == member->pid;
}

/*
 * The keeper will kill it: it must be the client's own child, born in the leaf. While it waits at
 * its parent's gate its number stays its own.
 */
static int check_first(const struct rf_sandbox *sandbox, int client_pidfd)
{
	struct member member = {.pid = sandbox->first_pid};
	char path[32];
	pid_t parent = 0;
	pid_t client = 0;
	int r = pid_of(client_pidfd, &client);

	snprintf(path, sizeof(path), "/proc/%d/status", (int)sandbox->first_pid);
	if (r == 0)
		r = read_pid(path, "PPid", &parent);
	if (r == 0 && sandbox->cgroup)
		r = rf_cgroup_each_member(sandbox->cgroup, find_member, &member);
	if (r < 0)
		return r;
	return parent == client && (!sandbox->cgroup || member.is_found) ? 0 : -EPERM;
}

int rf_sandbox_wrap_take(struct rf_sandbox *sandbox, int first_pidfd, int client_pidfd)
{
	int r;

	sandbox->first_pidfd = fcntl(first_pidfd, F_DUPFD_CLOEXEC, 3);
	if (sandbox->first_pidfd < 0)
		return -errno;
	r = pid_of(first_pidfd, &sandbox->first_pid);
	if (r == 0)
		r = check_first(sandbox, client_pidfd);
	if (r < 0)
		/* Not ours to signal. */
		sandbox->first_pidfd = rf_close(sandbox->first_pidfd);
	sandbox->launcher_pid = sandbox->first_pid;
	return r;
}

/* Bubblewrap's own init ends by itself, once it has reaped its children. */
static void count_straggler(pid_t pid, int pidfd rf_unused, void *userdata)
{
	unsigned int *n = userdata;
	char path[32];
	char text[256];
	const char *inner;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (read_field(path, "NSpid", text, sizeof(text)) < 0)
		return;
	inner = strrchr(text, '\t');
	if (!inner || strcmp(inner, "\t1") != 0)
		(*n)++;
}

static int on_silence(sd_event_source *source rf_unused, uint64_t usec rf_unused, void *userdata)
{
	rf_sandbox_await_empty(userdata);
	return 0;
}

void rf_sandbox_wrap_first_exited(struct rf_sandbox *sandbox)
{
	bool has_client = sandbox->watcher.ended != NULL;

	if (sandbox->cgroup)
		(void)rf_cgroup_each_member(sandbox->cgroup, count_straggler, &sandbox->stragglers);
	if (!sandbox->ended_ns)
		sandbox->ended_ns = rf_boottime_ns();
	rf_sandbox_kill(sandbox);
	sandbox->grace_source = sd_event_source_disable_unref(sandbox->grace_source);
	if (has_client && !sandbox->has_status &&
		sd_event_add_time_relative(sandbox->controller->event, &sandbox->grace_source,
			CLOCK_MONOTONIC, STATUS_DEADLINE_US, 1, on_silence, sandbox) >= 0)
		return;
	rf_sandbox_await_empty(sandbox);
}

void rf_sandbox_wrap_ended(struct rf_sandbox *sandbox, int status)
{
	if (sandbox->has_status || sandbox->state == RF_SANDBOX_ENDED)
		return;
	sandbox->has_status = true;
	sandbox->status = status;
	if (sandbox->has_first_exited)
		rf_sandbox_await_empty(sandbox);
}
