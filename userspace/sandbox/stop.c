/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * TERM to every member but the wrappers, the grace, cgroup.kill, then until the cgroup is empty.
 * Where there is no cgroup the launcher, PID 1 of the sandbox, sends TERM, and the keeper kills by
 * killing the first process, with which the PID namespace dies.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>

#include "base/clock.h"
#include "base/launch.h"
#include "sandbox/sandbox.h"

/* How long a killed cgroup may take to be empty before the run is given up as lost. */
#define EMPTY_DEADLINE_NS (20ULL * 1000000000ULL)
#define EMPTY_PAUSE_MAX_US 5000U

struct terminate {
	const struct rf_sandbox *sandbox;
};

/* TERM to bubblewrap would kill the tree before any trap runs. */
static void terminate_member(pid_t pid, int pidfd, void *userdata)
{
	const struct rf_sandbox *sandbox = ((struct terminate *)userdata)->sandbox;

	if (pid != sandbox->first_pid && pid != sandbox->launcher_pid)
		(void)pidfd_send_signal(pidfd, SIGTERM, NULL, 0);
}

static void terminate(struct rf_sandbox *sandbox)
{
	struct terminate terminate = {.sandbox = sandbox};

	if (!sandbox->cgroup ||
		rf_cgroup_each_member(sandbox->cgroup, terminate_member, &terminate) < 0)
		(void)rf_sandbox_send(sandbox, RF_LAUNCH_TERMINATE, 0, 0);
}

static int on_grace(sd_event_source *source rf_unused, uint64_t usec rf_unused, void *userdata)
{
	rf_sandbox_kill(userdata);
	return 0;
}

void rf_sandbox_stop(struct rf_sandbox *sandbox, enum rf_reason reason, uint64_t grace_ms)
{
	if (sandbox->stop_reason != RF_REASON_NONE || sandbox->state >= RF_SANDBOX_EMPTYING)
		return;
	sandbox->stop_reason = reason;
	/* A first process that waits at its client's gate has no keeper yet that could say its end.
	 */
	if (sandbox->plan->is_wrapped && sandbox->keeper_pidfd < 0) {
		rf_sandbox_kill(sandbox);
		rf_sandbox_await_empty(sandbox);
		return;
	}
	if (grace_ms == 0 || sandbox->state == RF_SANDBOX_SETUP) {
		rf_sandbox_kill(sandbox);
		return;
	}
	sandbox->state = RF_SANDBOX_STOPPING;
	terminate(sandbox);
	if (sd_event_add_time_relative(sandbox->controller->event, &sandbox->grace_source,
		    CLOCK_BOOTTIME, grace_ms * 1000, 1, on_grace, sandbox) < 0)
		rf_sandbox_kill(sandbox);
}

void rf_sandbox_kill(struct rf_sandbox *sandbox)
{
	if (sandbox->state == RF_SANDBOX_ENDED)
		return;
	if (sandbox->state != RF_SANDBOX_EMPTYING) {
		sandbox->state = RF_SANDBOX_EMPTYING;
		sandbox->empty_deadline_ns = rf_monotonic_ns() + EMPTY_DEADLINE_NS;
	}
	if (sandbox->cgroup)
		(void)rf_cgroup_kill(sandbox->cgroup);
	else if (sandbox->first_pidfd >= 0)
		(void)pidfd_send_signal(sandbox->first_pidfd, SIGKILL, NULL, 0);
	(void)rf_sandbox_send(sandbox, RF_LAUNCH_KILL, 0, 0);
}

static int check_empty(sd_event_source *source, uint64_t usec, void *userdata);

/* Without a cgroup the end of the first process is the end of its PID namespace. */
static bool is_empty(const struct rf_sandbox *sandbox)
{
	struct pollfd first = {.fd = sandbox->first_pidfd, .events = POLLIN};

	if (sandbox->cgroup)
		return rf_cgroup_is_populated(sandbox->cgroup) == 0;
	return sandbox->has_first_exited || sandbox->first_pidfd < 0 || poll(&first, 1, 0) > 0;
}

/*
 * The first look is at once: the first process was reaped, so the leaf is empty unless something
 * outlived the namespaces. Notifications of cgroup.events are limited to one in 10 ms, so later
 * looks are by a short timer.
 */
void rf_sandbox_await_empty(struct rf_sandbox *sandbox)
{
	if (sandbox->state == RF_SANDBOX_ENDED || sandbox->empty_source)
		return;
	if (sandbox->state != RF_SANDBOX_EMPTYING) {
		sandbox->state = RF_SANDBOX_EMPTYING;
		sandbox->empty_deadline_ns = rf_monotonic_ns() + EMPTY_DEADLINE_NS;
	}
	if (!is_empty(sandbox)) {
		rf_sandbox_kill(sandbox);
		if (sd_event_add_time_relative(sandbox->controller->event, &sandbox->empty_source,
			    CLOCK_MONOTONIC, 100, 1, check_empty, sandbox) >= 0)
			return;
		sandbox->was_never_empty = true;
	}
	rf_sandbox_finish(sandbox);
}

static int check_empty(sd_event_source *source, uint64_t usec rf_unused, void *userdata)
{
	struct rf_sandbox *sandbox = userdata;
	uint64_t left;

	if (is_empty(sandbox)) {
		rf_sandbox_finish(sandbox);
		return 0;
	}
	left = sandbox->empty_deadline_ns - rf_monotonic_ns();
	if (left > EMPTY_DEADLINE_NS) {
		sandbox->was_never_empty = true;
		rf_sandbox_finish(sandbox);
		return 0;
	}
	sd_event_source_set_time_relative(
		source, left > EMPTY_DEADLINE_NS - 100000000ULL ? 200 : EMPTY_PAUSE_MAX_US);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}
