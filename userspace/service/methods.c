/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "host/doctor.h"
#include "host/probe.h"
#include "sandbox/sweep.h"
#include "service/service.h"

static json_t *sandbox_to_json(const struct rf_sandbox *sandbox)
{
	json_t *object = json_object();
	json_t *argv = json_array();
	char started[RF_TIME_TEXT_BYTES];

	for (size_t i = 0; i < sandbox->plan->argv.count; i++)
		json_array_append_new(argv, rf_json_text(sandbox->plan->argv.items[i]));
	json_object_set_new(object, "id", json_string(sandbox->id));
	json_object_set_new(object, "argv", argv);
	if (sandbox->started_ns) {
		rf_time_text(sandbox->started_realtime_ns, started);
		json_object_set_new(object, "started", json_string(started));
	} else {
		json_object_set_new(object, "started", json_null());
	}
	json_object_set_new(object, "uid", json_integer(sandbox->uid));
	json_object_set_new(object, "state",
		json_string(sandbox->is_frozen ? "frozen" : rf_sandbox_state_name(sandbox->state)));
	json_object_set_new(object, "pid", json_integer(sandbox->launcher_pid));
	return object;
}

static void method_list(struct rf_peer *peer, struct rf_call *call rf_unused)
{
	json_t *sandboxes = json_array();
	json_t *parameters = json_object();

	for (struct rf_sandbox *at = peer->service->controller->sandboxes; at; at = at->next)
		json_array_append_new(sandboxes, sandbox_to_json(at));
	json_object_set_new(parameters, "sandboxes", sandboxes);
	rf_peer_reply(peer, parameters, false);
}

static struct rf_sandbox *find(struct rf_peer *peer, struct rf_call *call)
{
	const char *id = rf_json_get_text(call->parameters, "id");
	struct rf_sandbox *sandbox = NULL;

	if (!id) {
		rf_peer_error(
			peer, RF_ERROR_INVALID_PARAMETER, json_pack("{s:s}", "parameter", "id"));
		return NULL;
	}
	sandbox = rf_controller_find(peer->service->controller, id);
	if (!sandbox)
		rf_peer_error(peer, RF_ERROR_NOT_FOUND, json_pack("{s:s}", "id", id));
	return sandbox;
}

/* Answered when the sandbox has ended, with its result. */
static void method_kill(struct rf_peer *peer, struct rf_call *call)
{
	struct rf_sandbox *sandbox = find(peer, call);
	uint64_t grace_ms;

	if (!sandbox)
		return;
	grace_ms = rf_json_get_u64(call->parameters, "grace_ms", sandbox->plan->grace_ms);
	if (grace_ms > RF_GRACE_MAX_MS) {
		rf_peer_error(peer, RF_ERROR_INVALID_PARAMETER,
			json_pack("{s:s}", "parameter", "grace_ms"));
		return;
	}
	free(peer->awaited_id);
	peer->awaited_id = strdup(sandbox->id);
	rf_sandbox_stop(sandbox, RF_REASON_ABORT, grace_ms);
}

/* Whoever ended it asks how, not what every process did: that is for the one who ran it. */
void rf_methods_tell_end(struct rf_service *service, const char *id, json_t *result)
{
	json_t *brief rf_autojson = NULL;

	for (struct rf_peer *at = service->peers; at; at = at->next) {
		if (!at->awaited_id || strcmp(at->awaited_id, id) != 0)
			continue;
		free(at->awaited_id);
		at->awaited_id = NULL;
		if (!brief) {
			brief = json_copy(result);
			json_object_set_new(brief, "tree", json_null());
		}
		rf_peer_result(at, brief);
	}
}

static void freeze(struct rf_peer *peer, struct rf_call *call, bool is_frozen)
{
	struct rf_sandbox *sandbox = find(peer, call);
	struct rf_diag diag = {0};
	int r;

	if (!sandbox)
		return;
	r = rf_sandbox_freeze(sandbox, is_frozen);
	if (r == 0) {
		rf_peer_reply(peer, json_object(), false);
		return;
	}
	rf_diag_refuse(&diag, "freeze-unavailable", "%s cannot be frozen: %s", sandbox->id,
		r == -EOPNOTSUPP ? "it has no cgroup" : strerror(-r));
	rf_diag_mechanism(&diag, "cgroup", "cgroup.freeze");
	rf_peer_refuse(peer, &diag, NULL);
}

static void method_freeze(struct rf_peer *peer, struct rf_call *call)
{
	freeze(peer, call, true);
}

static void method_thaw(struct rf_peer *peer, struct rf_call *call)
{
	freeze(peer, call, false);
}

/* One-way: from the client that runs the sandbox, on the connection that streams it. */
static void method_signal(struct rf_peer *peer, struct rf_call *call)
{
	uint64_t number = rf_json_get_u64(call->parameters, "signal", 0);

	if (peer->sandbox && number > 0 && number < (uint64_t)SIGRTMAX)
		(void)rf_sandbox_signal(peer->sandbox, (int)number,
			rf_json_get_bool(call->parameters, "group", false));
	if (!call->is_oneway)
		rf_peer_reply(peer, json_object(), false);
}

/* What no check by itself can tell: the programs themselves must be loaded and try themselves. */
static void look_at_file_hooks(struct rf_controller *controller, struct rf_check *ret_check)
{
	const struct rf_fact *fact = &controller->facts.file_hooks;
	struct rf_diag diag = {0};
	int r = rf_controller_complete_facts(controller, &diag);

	*ret_check = (struct rf_check){.name = RF_CHECK_FILE_HOOKS, .state = RF_STATE_OFF};
	if (r == 0) {
		ret_check->state = fact->state;
		rf_check_say(ret_check, "%s", fact->why);
		rf_check_advise(ret_check, "%s", fact->remedy);
		return;
	}
	rf_check_say(ret_check, "%s", r < 0 ? strerror(-r) : diag.message);
	rf_check_advise(
		ret_check, "%s", diag.hint[0] ? diag.hint : "see the controller's messages");
}

static void method_doctor(struct rf_peer *peer, struct rf_call *call rf_unused)
{
	struct rf_check *checks rf_autofree = NULL;
	json_t *parameters = json_object();
	struct rf_check *grown;
	size_t n_checks = 0;

	if (rf_doctor_run(&checks, &n_checks) == 0) {
		grown = reallocarray(checks, n_checks + 1, sizeof(*checks));
		if (grown) {
			checks = grown;
			look_at_file_hooks(peer->service->controller, &checks[n_checks++]);
		}
		json_object_set_new(parameters, "doctor", rf_doctor_to_json(checks, n_checks));
	}
	rf_peer_reply(peer, parameters, false);
}

static void method_sweep(struct rf_peer *peer, struct rf_call *call rf_unused)
{
	struct rf_controller *controller = peer->service->controller;
	struct rf_diag diag = {0};
	json_t *parameters;
	bool is_fresh = !controller->ledger;
	int r = rf_controller_prepare(controller, &diag);

	/* Preparing swept already; once more only when that was long ago. */
	if (r == 0 && !is_fresh)
		r = rf_sweep(controller, &controller->swept);
	if (r < 0 && !rf_diag_is_set(&diag))
		rf_diag_refuse(&diag, "ledger-unavailable", "sweeping: %s", strerror(-r));
	if (r != 0) {
		rf_peer_refuse(peer, &diag, NULL);
		return;
	}
	rf_service_sweep_sockets(peer->service);
	parameters = json_object();
	json_object_set_new(parameters, "counts", rf_sweep_to_json(&controller->swept));
	rf_peer_reply(peer, parameters, false);
}

bool rf_methods_dispatch(struct rf_peer *peer, struct rf_call *call)
{
	static const struct {
		const char *name;
		void (*answer)(struct rf_peer *peer, struct rf_call *call);
	} methods[] = {
		{RF_METHOD_DOCTOR, method_doctor},
		{RF_METHOD_FILE_BATCH, rf_method_file_batch},
		{RF_METHOD_FREEZE, method_freeze},
		{RF_METHOD_KILL, method_kill},
		{RF_METHOD_LIST, method_list},
		{RF_METHOD_SIGNAL, method_signal},
		{RF_METHOD_SWEEP, method_sweep},
		{RF_METHOD_THAW, method_thaw},
		{RF_METHOD_WRAP, rf_method_wrap},
		{RF_METHOD_WRAP_END, rf_method_wrap_end},
		{RF_METHOD_WRAP_START, rf_method_wrap_start},
	};

	for (size_t i = 0; i < RF_ARRAY_SIZE(methods); i++) {
		if (strcmp(call->method, methods[i].name) == 0) {
			methods[i].answer(peer, call);
			return true;
		}
	}
	return false;
}
