/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One event loop: what the keeper and the launcher say, what bubblewrap prints while it sets up,
 * the end of each, the clock.
 *
 *	SPAWNED       label (I2), then LABELLED
 *	READY         limits, arm (I1), then GO; the clock starts
 *	EXITED        how the command ended
 *	FIRST_EXITED  nothing of the namespaces is left: wait for an empty cgroup, finish
 *	end of file   the keeper died: kill, wait for an empty cgroup, finish as lost
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/events.h"
#include "audit/tree.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/launch.h"
#include "base/limits.h"
#include "host/doctor.h"
#include "sandbox/sandbox.h"

static void emit(struct rf_sandbox *sandbox, json_t *event_stolen)
{
	if (event_stolen && sandbox->watcher.event && sandbox->watcher.wants_events)
		sandbox->watcher.event(sandbox, event_stolen, sandbox->watcher.userdata);
	json_decref(event_stolen);
}

static json_t *make_event(const struct rf_sandbox *sandbox, const char *name)
{
	char time[RF_TIME_TEXT_BYTES];

	rf_time_text(rf_realtime_ns(), time);
	return json_pack("{s:i, s:s, s:s, s:s}", "version", 1, "time", time, "id", sandbox->id,
		"event", name);
}

/* A failure of set-up, told by whoever met it first; later ones are its consequence. */
static void fail_setup(struct rf_sandbox *sandbox, const char *code, const char *what, int error)
{
	if (!rf_diag_is_set(&sandbox->diag)) {
		if (error)
			rf_diag_refuse(&sandbox->diag, code, "%s: %s", what, strerror(error));
		else
			rf_diag_refuse(&sandbox->diag, code, "%s", what);
		snprintf(sandbox->diag.stage, sizeof(sandbox->diag.stage), "setup");
	}
	rf_sandbox_kill(sandbox);
}

/* ---- the two states ------------------------------------------------------------------------- */

static void on_spawned(
	struct rf_sandbox *sandbox, const struct rf_launch_message *message, int pidfd)
{
	int r = 0;

	if (pidfd < 0) {
		fail_setup(sandbox, "setup-failed", "the keeper sent no pidfd", 0);
		return;
	}
	if (sandbox->plan->is_wrapped) {
		rf_close(pidfd);
	} else {
		sandbox->first_pidfd = pidfd;
		sandbox->first_pid = message->pid;
	}
	if (sandbox->is_in_bpf)
		r = rf_bpf_label(
			sandbox->controller->bpf, sandbox->first_pidfd, sandbox->cgroup->id);
	if (r == 0)
		r = rf_sandbox_send(sandbox, RF_LAUNCH_LABELLED, 0, 0);
	if (r < 0)
		fail_setup(sandbox, "setup-failed", "labelling the first process", -r);
	else if (sandbox->plan->is_wrapped)
		rf_sandbox_ready(sandbox);
}

/* Tasks of ours in the leaf when the command starts: bubblewrap and the launcher. */
static uint64_t wrapper_tasks(const struct rf_sandbox *sandbox)
{
	/* Bubblewrap is what was asked for. */
	if (sandbox->plan->is_wrapped)
		return 0;
	return sandbox->plan->mode == RF_MODE_FULL_ACCESS ? 1 : 2;
}

static int apply_limits(struct rf_sandbox *sandbox)
{
	const struct rf_limit_asked *memory = &sandbox->plan->limits[RF_LIMIT_MEMORY];
	const struct rf_limit_asked *pids = &sandbox->plan->limits[RF_LIMIT_PIDS];
	bool has_memory = memory->is_set && !memory->is_none;
	bool has_pids = pids->is_set && !pids->is_none;
	bool is_waived = sandbox->plan->waived & (1U << RF_PROMISE_LIMITS);
	int r = 0;

	if ((has_memory || has_pids) && !sandbox->cgroup)
		return is_waived ? 0 : -ENOENT;
	if (has_memory)
		r = rf_cgroup_limit_memory(sandbox->cgroup, memory->value);
	if ((r == 0 || is_waived) && has_pids)
		r = rf_cgroup_limit_pids(sandbox->cgroup, pids->value + wrapper_tasks(sandbox));
	/* Waived: of two limits the one that can be had is set all the same. */
	return is_waived ? 0 : r;
}

static int on_timeout(sd_event_source *source rf_unused, uint64_t usec rf_unused, void *userdata)
{
	struct rf_sandbox *sandbox = userdata;

	sandbox->has_hit[RF_LIMIT_TIMEOUT] = true;
	rf_sandbox_stop(sandbox, RF_REASON_TIMEOUT, sandbox->plan->grace_ms);
	return 0;
}

static int start_clock(struct rf_sandbox *sandbox)
{
	const struct rf_limit_asked *timeout = &sandbox->plan->limits[RF_LIMIT_TIMEOUT];

	sandbox->started_realtime_ns = rf_realtime_ns();
	sandbox->started_ns = rf_boottime_ns();
	if (!timeout->is_set || timeout->is_none)
		return 0;
	return sd_event_add_time_relative(sandbox->controller->event, &sandbox->timeout_source,
		CLOCK_BOOTTIME, timeout->value * 1000, 1, on_timeout, sandbox);
}

static void announce_start(struct rf_sandbox *sandbox)
{
	json_t *event = make_event(sandbox, "start");
	json_t *argv = json_array();

	for (size_t i = 0; i < sandbox->plan->argv.count; i++)
		json_array_append_new(argv, rf_json_text(sandbox->plan->argv.items[i]));
	json_object_set_new(event, "argv", argv);
	json_object_set_new(event, "uid", json_integer(sandbox->uid));
	if (sandbox->watcher.started)
		sandbox->watcher.started(sandbox, sandbox->watcher.userdata);
	emit(sandbox, event);
}

void rf_sandbox_ready(struct rf_sandbox *sandbox)
{
	int r = apply_limits(sandbox);

	if (r < 0) {
		fail_setup(sandbox, "limit-unavailable", "setting the cgroup limits", -r);
		return;
	}
	if (sandbox->is_in_bpf)
		r = rf_bpf_arm(sandbox->controller->bpf, sandbox->cgroup->id);
	if (r == 0)
		r = start_clock(sandbox);
	/* Told first: from here on the client hands signals on instead of giving the start up. */
	if (r >= 0) {
		sandbox->state = RF_SANDBOX_RUNNING;
		announce_start(sandbox);
		r = rf_sandbox_send(sandbox, RF_LAUNCH_GO, 0, 0);
	}
	if (r < 0) {
		fail_setup(sandbox, "setup-failed", "arming the rules", -r);
		return;
	}
	sandbox->stage = RF_STAGE_EXEC;
}

static void on_ready(struct rf_sandbox *sandbox, const struct rf_launch_message *message)
{
	if (sandbox->state != RF_SANDBOX_SETUP)
		return;
	sandbox->launcher_pid = message->pid;
	sandbox->landlock_abi = (unsigned int)message->value;
	rf_sandbox_ready(sandbox);
}

/* ---- messages ------------------------------------------------------------------------------- */

static void notice(struct rf_sandbox *sandbox, const char *text)
{
	if (sandbox->watcher.notice)
		sandbox->watcher.notice(sandbox, text, sandbox->watcher.userdata);
}

static void on_exec_failed(struct rf_sandbox *sandbox, const struct rf_launch_message *message)
{
	sandbox->exec_error = message->extra == 127 ? 127 : 126;
	sandbox->ended_ns = rf_boottime_ns();
	notice(sandbox, message->text);
}

static void on_exited(struct rf_sandbox *sandbox, const struct rf_launch_message *message)
{
	sandbox->has_status = true;
	sandbox->status = message->value;
	sandbox->stragglers = message->extra > 0 ? (unsigned int)message->extra : 0;
	sandbox->ended_ns = rf_boottime_ns();
	if (sandbox->plan->keeps_background)
		rf_sandbox_let_go(sandbox);
	else if (sandbox->plan->mode == RF_MODE_FULL_ACCESS)
		rf_sandbox_kill(sandbox);
}

static void on_first_exited(struct rf_sandbox *sandbox, const struct rf_launch_message *message)
{
	sandbox->has_first_exited = true;
	if (sandbox->plan->is_wrapped) {
		rf_sandbox_wrap_first_exited(sandbox);
		return;
	}
	if (sandbox->state == RF_SANDBOX_SETUP && !rf_diag_is_set(&sandbox->diag))
		sandbox->status = message->value;
	rf_sandbox_await_empty(sandbox);
}

static void on_message(struct rf_sandbox *sandbox, struct rf_launch_message *message, int fd)
{
	message->text[sizeof(message->text) - 1] = '\0';
	if (message->kind != RF_LAUNCH_SPAWNED)
		rf_close(fd);
	switch ((enum rf_launch_kind)message->kind) {
	case RF_LAUNCH_SPAWNED:
		on_spawned(sandbox, message, fd);
		break;
	case RF_LAUNCH_SETUP_FAILED:
		/* After GO too: then the command itself was never executed. */
		sandbox->stage = RF_STAGE_SETUP;
		fail_setup(sandbox, "setup-failed", message->text, message->value);
		break;
	case RF_LAUNCH_READY:
		on_ready(sandbox, message);
		break;
	case RF_LAUNCH_STARTED:
		sandbox->stage = RF_STAGE_EXIT;
		break;
	case RF_LAUNCH_EXEC_FAILED:
		on_exec_failed(sandbox, message);
		break;
	case RF_LAUNCH_EXITED:
		on_exited(sandbox, message);
		break;
	case RF_LAUNCH_FIRST_EXITED:
		on_first_exited(sandbox, message);
		break;
	case RF_LAUNCH_STREAMS:
	case RF_LAUNCH_LABELLED:
	case RF_LAUNCH_GO:
	case RF_LAUNCH_SIGNAL:
	case RF_LAUNCH_TERMINATE:
	case RF_LAUNCH_KILL:
	case RF_LAUNCH_PTY:
	case RF_LAUNCH_STOPPED:
		/* Words of ours, or for another. */
		break;
	}
}

static void on_keeper_gone(struct rf_sandbox *sandbox)
{
	sandbox->control_source = sd_event_source_disable_unref(sandbox->control_source);
	if (sandbox->state == RF_SANDBOX_ENDED)
		return;
	rf_sandbox_kill(sandbox);
	rf_sandbox_await_empty(sandbox);
}

static int on_control(
	sd_event_source *source rf_unused, int fd, uint32_t revents rf_unused, void *userdata)
{
	struct rf_sandbox *sandbox = userdata;
	struct rf_launch_message message = {0};
	int fds[RF_WIRE_FDS_MAX];
	size_t n_fds = 0;
	ssize_t n = rf_receive_fds(fd, &message, sizeof(message), fds, RF_ARRAY_SIZE(fds), &n_fds);

	/* ECONNRESET comes once, before the messages that wait, when the peer closed with some
	 * unread. */
	if (n == -EAGAIN || n == -ECONNRESET)
		return 0;
	while (n_fds > 1)
		rf_close(fds[--n_fds]);
	if (n < (ssize_t)offsetof(struct rf_launch_message, text)) {
		if (n_fds > 0)
			rf_close(fds[0]);
		on_keeper_gone(sandbox);
		return 0;
	}
	on_message(sandbox, &message, n_fds > 0 ? fds[0] : -1);
	return 0;
}

/* What bubblewrap prints before GO: kept, to explain a failure, never shown raw. */
static int on_setup_stderr(
	sd_event_source *source, int fd, uint32_t revents rf_unused, void *userdata)
{
	struct rf_sandbox *sandbox = userdata;
	size_t used = strlen(sandbox->setup_message);
	char sink[256];
	size_t room = sizeof(sandbox->setup_message) - 1 - used;
	ssize_t n = room > 0 ? read(fd, sandbox->setup_message + used, room)
			     : read(fd, sink, sizeof(sink));

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	else if (n > 0 && room > 0)
		sandbox->setup_message[used + (size_t)n] = '\0';
	return 0;
}

static int on_keeper_exit(
	sd_event_source *source, int fd rf_unused, uint32_t revents rf_unused, void *userdata)
{
	struct rf_sandbox *sandbox = userdata;
	siginfo_t info;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	(void)waitid(P_PIDFD, (id_t)sandbox->keeper_pidfd, &info, WEXITED);
	sandbox->has_keeper_exited = true;
	return 0;
}

int rf_sandbox_supervise(struct rf_sandbox *sandbox)
{
	sd_event *event = sandbox->controller->event;
	int r = sd_event_add_io(
		event, &sandbox->control_source, sandbox->control_fd, EPOLLIN, on_control, sandbox);

	if (r >= 0)
		r = sd_event_add_io(event, &sandbox->stderr_source, sandbox->setup_stderr_fd,
			EPOLLIN, on_setup_stderr, sandbox);
	/* bubblewrap's words are read before the news of its end. */
	if (r >= 0)
		r = sd_event_source_set_priority(
			sandbox->stderr_source, SD_EVENT_PRIORITY_NORMAL - 1);
	if (r >= 0)
		r = sd_event_add_io(event, &sandbox->keeper_source, sandbox->keeper_pidfd, EPOLLIN,
			on_keeper_exit, sandbox);
	return r < 0 ? r : 0;
}

/* Of the place that a record names, or of a name in it; of what lies deeper the place is known. */
static json_t *path_of_denial(
	const struct rf_plan *plan, const struct rf_record_file_denial *denial)
{
	char path[RF_PATH_BYTES + RF_FILE_NAME_BYTES];

	for (size_t i = 0; i < plan->n_places; i++) {
		const struct rf_plan_place *place = &plan->places[i];
		bool is_root = strcmp(place->path, "/") == 0;

		if (denial->token == 0 || place->token != denial->token)
			continue;
		if (denial->depth != 1)
			return rf_json_text(place->path);
		snprintf(path, sizeof(path), "%s/%.*s", is_root ? "" : place->path,
			(int)denial->name_bytes, denial->name);
		return rf_json_text(path);
	}
	return rf_json_bytes(denial->name, denial->name_bytes);
}

static void add_surroundings(
	const struct rf_sandbox *sandbox, const struct rf_event *event, json_t *line)
{
	const char *exe = rf_tree_exe(sandbox->tree, event->header->tgid, event->header->start_ns);

	if (event->kind == RF_RECORD_FILE_DENIAL)
		json_object_set_new(
			line, "path", path_of_denial(sandbox->plan, event->file_denial));
	if (exe)
		json_object_set_new(line, "exe", rf_json_bytes(exe, strlen(exe)));
}

void rf_sandbox_record(struct rf_sandbox *sandbox, const struct rf_event *event)
{
	json_t *line = NULL;

	bool is_denial = event->kind == RF_RECORD_DENIAL || event->kind == RF_RECORD_FILE_DENIAL;

	(void)rf_tree_add(sandbox->tree, event);
	if (!is_denial && !sandbox->watcher.wants_events)
		return;
	if (event->kind == RF_RECORD_EXIT && !rf_tree_knows(sandbox->tree, event))
		return;
	if (rf_event_to_json(event, sandbox->id, &line) < 0)
		return;
	if (is_denial)
		add_surroundings(sandbox, event, line);
	rf_result_note_denial(sandbox->denials, line);
	emit(sandbox, line);
}

int rf_sandbox_signal(struct rf_sandbox *sandbox, int signal, bool is_group)
{
	if (sandbox->state != RF_SANDBOX_RUNNING && sandbox->state != RF_SANDBOX_STOPPING)
		return -ESRCH;
	return rf_sandbox_send(sandbox, RF_LAUNCH_SIGNAL, signal, is_group);
}

int rf_sandbox_freeze(struct rf_sandbox *sandbox, bool is_frozen)
{
	int r = sandbox->cgroup ? rf_cgroup_freeze(sandbox->cgroup, is_frozen) : -EOPNOTSUPP;

	if (r == 0)
		sandbox->is_frozen = is_frozen;
	return r;
}
