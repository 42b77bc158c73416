/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One result of one run. Every figure comes from the kernel or from our own first process; what
 * was not measured is null.
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "audit/tree.h"
#include "base/clock.h"
#include "base/json.h"
#include "host/doctor.h"
#include "sandbox/sandbox.h"

const char *rf_sandbox_state_name(enum rf_sandbox_state state)
{
	static const char *const names[] = {
		[RF_SANDBOX_SETUP] = "setup",
		[RF_SANDBOX_RUNNING] = "running",
		[RF_SANDBOX_STOPPING] = "stopping",
		[RF_SANDBOX_EMPTYING] = "emptying",
		[RF_SANDBOX_ENDED] = "ended",
	};

	return names[state];
}

const char *rf_reason_name(enum rf_reason reason)
{
	static const char *const names[] = {
		[RF_REASON_NONE] = "none",
		[RF_REASON_EXIT] = "exit",
		[RF_REASON_SIGNAL] = "signal",
		[RF_REASON_TIMEOUT] = "timeout",
		[RF_REASON_OOM] = "oom",
		[RF_REASON_ABORT] = "abort",
		[RF_REASON_SETUP] = "setup",
		[RF_REASON_LOST] = "lost",
	};

	return names[reason];
}

const char *rf_stage_name(enum rf_stage stage)
{
	static const char *const names[] = {
		[RF_STAGE_PLAN] = "plan",
		[RF_STAGE_SETUP] = "setup",
		[RF_STAGE_EXEC] = "exec",
		[RF_STAGE_EXIT] = "exit",
	};

	return names[stage];
}

/*
 * Why it ended. Our own stop was recorded before its first signal (I4), so a SIGKILL that follows
 * it is never taken for the kernel's; and a cgroup that was not seen empty is never a success (I3).
 */
static enum rf_reason find_reason(const struct rf_sandbox *sandbox)
{
	if (sandbox->was_never_empty)
		return RF_REASON_LOST;
	if (rf_diag_is_set(&sandbox->diag))
		return RF_REASON_SETUP;
	if (sandbox->stop_reason != RF_REASON_NONE)
		return sandbox->stop_reason;
	if (sandbox->exec_error)
		return RF_REASON_EXIT;
	if (sandbox->usage.oom_kills > 0 &&
		(!sandbox->has_status ||
			(WIFSIGNALED(sandbox->status) && WTERMSIG(sandbox->status) == SIGKILL)))
		return RF_REASON_OOM;
	if (!sandbox->has_status)
		return RF_REASON_LOST;
	return WIFSIGNALED(sandbox->status) ? RF_REASON_SIGNAL : RF_REASON_EXIT;
}

/* The status that the client exits with. */
static int find_exit_code(const struct rf_sandbox *sandbox, enum rf_reason reason)
{
	switch (reason) {
	case RF_REASON_TIMEOUT:
		return 124;
	case RF_REASON_SETUP:
	case RF_REASON_LOST:
	case RF_REASON_NONE:
		return 125;
	case RF_REASON_OOM:
		return 128 + SIGKILL;
	case RF_REASON_EXIT:
	case RF_REASON_SIGNAL:
	case RF_REASON_ABORT:
		break;
	}
	if (sandbox->exec_error)
		return sandbox->exec_error;
	if (!sandbox->has_status)
		return sandbox->stage <= RF_STAGE_SETUP ? 125 : 128 + SIGKILL;
	return WIFSIGNALED(sandbox->status) ? 128 + WTERMSIG(sandbox->status)
					    : WEXITSTATUS(sandbox->status);
}

static json_t *argv_to_json(const char *const *argv)
{
	json_t *array = json_array();

	for (; argv && *argv; argv++)
		json_array_append_new(array, rf_json_text(*argv));
	return array;
}

static json_t *limits_hit(const struct rf_sandbox *sandbox)
{
	json_t *hit = json_array();

	if (sandbox->has_hit[RF_LIMIT_TIMEOUT])
		json_array_append_new(hit, json_string("timeout"));
	if (sandbox->usage.oom_kills > 0)
		json_array_append_new(hit, json_string("memory"));
	if (sandbox->usage.pids_refused > 0)
		json_array_append_new(hit, json_string("pids"));
	return hit;
}

/* The same refusal, met again, is one entry with a higher count. */
static json_t *find_denial(json_t *denials, const json_t *event)
{
	static const char *const keys[] = {
		"op", "path", "address", "port", "protocol", "errno", "by", "exe"};
	json_t *denial;
	size_t i;

	json_array_foreach (denials, i, denial) {
		bool is_same = true;

		for (size_t k = 0; k < RF_ARRAY_SIZE(keys); k++) {
			const json_t *left = json_object_get(denial, keys[k]);
			const json_t *right = json_object_get(event, keys[k]);

			is_same &= left == right || (left && right && json_equal(left, right));
		}
		if (is_same)
			return denial;
	}
	return NULL;
}

#define DENIALS_MAX 1000U

void rf_result_note_denial(json_t *denials, const json_t *event)
{
	const char *name = rf_json_get_text(event, "event");
	json_t *denial;

	if (!name || strcmp(name, "denial") != 0)
		return;
	denial = find_denial(denials, event);
	if (denial) {
		json_object_set_new(denial, "count",
			json_integer((json_int_t)rf_json_get_u64(denial, "count", 1) + 1));
		return;
	}
	if (json_array_size(denials) >= DENIALS_MAX)
		return;
	denial = json_copy((json_t *)event);
	json_object_del(denial, "version");
	json_object_del(denial, "id");
	json_object_del(denial, "event");
	json_object_set_new(denial, "count", json_integer(1));
	if (!json_object_get(denial, "grant"))
		json_object_set_new(denial, "grant", json_null());
	json_array_append_new(denials, denial);
}

static json_t *processes_to_json(const struct rf_sandbox *sandbox)
{
	json_t *processes = json_object();
	bool is_traced = sandbox->plan->promises[RF_PROMISE_EXEC_AUDIT].state != RF_STATE_OFF;

	json_object_set_new(processes, "started",
		is_traced ? json_integer((json_int_t)sandbox->counts.forks) : json_null());
	json_object_set_new(processes, "execs",
		is_traced ? json_integer((json_int_t)sandbox->counts.execs) : json_null());
	json_object_set_new(processes, "stragglers_killed",
		json_integer(sandbox->plan->keeps_background ? 0 : sandbox->stragglers));
	return processes;
}

/* Null: no signal ended it. Our own kill leaves no status behind, and is one all the same. */
static json_t *signal_to_json(const struct rf_sandbox *sandbox, int exit_code)
{
	if (sandbox->has_status)
		return WIFSIGNALED(sandbox->status) ? json_integer(WTERMSIG(sandbox->status))
						    : json_null();
	if (sandbox->stage > RF_STAGE_SETUP && !sandbox->exec_error && !sandbox->was_never_empty &&
		(sandbox->stop_reason != RF_REASON_NONE || exit_code == 128 + SIGKILL))
		return json_integer(SIGKILL);
	return json_null();
}

static void add_outcome(json_t *result, const struct rf_sandbox *sandbox)
{
	enum rf_reason reason = find_reason(sandbox);
	enum rf_stage stage = sandbox->stage;
	int exit_code = find_exit_code(sandbox, reason);

	if (stage == RF_STAGE_EXEC && sandbox->has_status)
		stage = RF_STAGE_EXIT;
	json_object_set_new(result, "stage", json_string(rf_stage_name(stage)));
	json_object_set_new(result, "reason", json_string(rf_reason_name(reason)));
	json_object_set_new(result, "exit_code", json_integer(exit_code));
	json_object_set_new(result, "signal", signal_to_json(sandbox, exit_code));
}

static void add_figures(json_t *result, const struct rf_sandbox *sandbox)
{
	uint64_t end = sandbox->ended_ns ? sandbox->ended_ns : rf_boottime_ns();
	char started[RF_TIME_TEXT_BYTES];

	if (sandbox->started_ns) {
		rf_time_text(sandbox->started_realtime_ns, started);
		json_object_set_new(result, "started", json_string(started));
		json_object_set_new(result, "wall_ms",
			json_integer((json_int_t)((end - sandbox->started_ns) / 1000000)));
	} else {
		json_object_set_new(result, "started", json_null());
		json_object_set_new(result, "wall_ms", json_null());
	}
	json_object_set_new(result, "cpu_ms",
		sandbox->has_usage ? json_integer((json_int_t)sandbox->usage.cpu_ms) : json_null());
	json_object_set_new(result, "memory_peak_bytes",
		sandbox->usage.has_memory_peak
			? json_integer((json_int_t)sandbox->usage.memory_peak_bytes)
			: json_null());
}

static void add_witness(json_t *result, const struct rf_sandbox *sandbox)
{
	const struct rf_plan *plan = sandbox->plan;
	bool has_denials = plan->promises[RF_PROMISE_DENIAL_RECORD].state != RF_STATE_OFF;
	bool is_traced = plan->promises[RF_PROMISE_EXEC_AUDIT].state != RF_STATE_OFF;

	json_object_set_new(result, "limits_hit", limits_hit(sandbox));
	json_object_set_new(
		result, "denials", has_denials ? json_incref(sandbox->denials) : json_null());
	json_object_set_new(result, "processes", processes_to_json(sandbox));
	json_object_set_new(
		result, "complete", json_boolean(is_traced && sandbox->counts.lost == 0));
	json_object_set_new(result, "lost_events", json_integer((json_int_t)sandbox->counts.lost));
	json_object_set_new(result, "output",
		json_pack("{s:b, s:b}", "stdout_truncated", 0, "stderr_truncated", 0));
}

json_t *rf_sandbox_result(const struct rf_sandbox *sandbox)
{
	json_t *result = json_object();
	json_t *tree = NULL;

	json_object_set_new(result, "version", json_integer(1));
	json_object_set_new(result, "id", json_string(sandbox->id));
	add_outcome(result, sandbox);
	json_object_set_new(
		result, "argv", argv_to_json((const char *const *)sandbox->plan->argv.items));
	add_figures(result, sandbox);
	json_object_set_new(result, "enforcement",
		rf_plan_enforcement_to_json(sandbox->plan, &sandbox->controller->facts));
	if (sandbox->stage <= RF_STAGE_SETUP && rf_diag_is_set(&sandbox->diag))
		json_object_set_new(result, "refusal", rf_json_from_diag(&sandbox->diag));
	add_witness(result, sandbox);
	/* Where nothing was recorded an empty tree would claim that nothing ran. */
	if (sandbox->plan->promises[RF_PROMISE_PROCESS_TREE].state == RF_STATE_OFF)
		json_object_set_new(result, "tree", json_null());
	else if (rf_tree_to_json(sandbox->tree, &tree) == 0)
		json_object_set_new(result, "tree", tree);
	return result;
}

json_t *rf_refusal_result(const struct rf_diag *diag, const char *const *argv,
	const struct rf_plan *plan, const struct rf_facts *facts)
{
	json_t *result = json_object();

	json_object_set_new(result, "version", json_integer(1));
	json_object_set_new(result, "id", json_null());
	json_object_set_new(
		result, "stage", json_string(strcmp(diag->stage, "setup") == 0 ? "setup" : "plan"));
	json_object_set_new(result, "reason", json_string("setup"));
	json_object_set_new(result, "exit_code", json_integer(125));
	json_object_set_new(result, "signal", json_null());
	json_object_set_new(result, "argv", argv_to_json(argv));
	if (plan)
		json_object_set_new(
			result, "enforcement", rf_plan_enforcement_to_json(plan, facts));
	json_object_set_new(result, "refusal", rf_json_from_diag(diag));
	return result;
}

/*
 * bubblewrap answers 1 for every failure of set-up. Its words, and a fresh look at what this host
 * refuses, tell which.
 */
static void explain_setup(struct rf_sandbox *sandbox)
{
	char message[sizeof(sandbox->setup_message)];

	if (sandbox->state != RF_SANDBOX_EMPTYING || sandbox->stage > RF_STAGE_SETUP ||
		rf_diag_is_set(&sandbox->diag) || sandbox->stop_reason != RF_REASON_NONE)
		return;
	snprintf(message, sizeof(message), "%s", sandbox->setup_message);
	message[strcspn(message, "\n")] = '\0';
	(void)rf_doctor_explain_setup(message, &sandbox->controller->facts, &sandbox->diag);
	if (!rf_diag_is_set(&sandbox->diag))
		rf_diag_refuse(&sandbox->diag, "setup-failed",
			"the sandbox could not be set up: %s",
			message[0] ? message : "its first process died");
	snprintf(sandbox->diag.stage, sizeof(sandbox->diag.stage), "setup");
}

static void measure(struct rf_sandbox *sandbox)
{
	if (sandbox->cgroup) {
		rf_cgroup_usage(sandbox->cgroup, &sandbox->usage);
		sandbox->has_usage = true;
	}
	rf_controller_drain(sandbox->controller);
	if (sandbox->cgroup && sandbox->is_in_bpf)
		(void)rf_bpf_counts(
			sandbox->controller->bpf, sandbox->cgroup->id, &sandbox->counts);
	rf_tree_add_lost(sandbox->tree, sandbox->counts.lost);
}

static void tell_stop(struct rf_sandbox *sandbox)
{
	char time[RF_TIME_TEXT_BYTES];
	json_t *event;

	if (!sandbox->watcher.event || !sandbox->watcher.wants_events)
		return;
	rf_time_text(rf_realtime_ns(), time);
	event = json_pack("{s:i, s:s, s:s, s:s, s:s, s:i}", "version", 1, "time", time, "id",
		sandbox->id, "event", "stop", "reason", rf_reason_name(find_reason(sandbox)),
		"lost", (int)sandbox->counts.lost);
	sandbox->watcher.event(sandbox, event, sandbox->watcher.userdata);
	json_decref(event);
}

static void tell_end(struct rf_sandbox *sandbox)
{
	json_t *result = rf_sandbox_result(sandbox);
	struct rf_sandbox_watcher watcher = sandbox->watcher;

	sandbox->watcher = (struct rf_sandbox_watcher){0};
	/* First, since theirs is short: the watcher's can carry thousands of processes. */
	if (sandbox->state == RF_SANDBOX_ENDED && sandbox->controller->ended)
		sandbox->controller->ended(sandbox, result, sandbox->controller->userdata);
	if (watcher.ended)
		watcher.ended(sandbox, result, watcher.userdata);
	json_decref(result);
}

void rf_sandbox_finish(struct rf_sandbox *sandbox)
{
	if (sandbox->state == RF_SANDBOX_ENDED)
		return;
	explain_setup(sandbox);
	measure(sandbox);
	sandbox->state = RF_SANDBOX_ENDED;
	tell_stop(sandbox);
	rf_sandbox_remove_traces(sandbox);
	sandbox->control_source = sd_event_source_disable_unref(sandbox->control_source);
	sandbox->timeout_source = sd_event_source_disable_unref(sandbox->timeout_source);
	tell_end(sandbox);
}

void rf_sandbox_let_go(struct rf_sandbox *sandbox)
{
	measure(sandbox);
	tell_end(sandbox);
}
