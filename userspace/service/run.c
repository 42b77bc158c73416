/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Run and Plan: parameters become a request, the request a plan, the plan a sandbox. The private
 * controller has its client's identity, so it plans with its own hands.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/strv.h"
#include "base/units.h"
#include "enforce/bubblewrap.h"
#include "policy/why.h"
#include "service/handed.h"
#include "service/service.h"
#include "wire/text.h"

struct request {
	struct rf_policy policy;
	struct rf_strv argv;
	struct rf_strv environment;
	char *cwd;
	int pass_numbers[RF_PASS_FDS_MAX];
	int pass_fds[RF_PASS_FDS_MAX]; /* borrowed from the call */
	size_t n_pass;
	struct rf_sandbox_props props;
	bool wants_events;
	/* Pairs for Plan: "read" and a path, … */
	struct rf_strv why;
	/* Descriptors that stand for handed ones, owned. */
	struct rf_handed views;
	/* What the planner looks at, for the message when it does not come back. */
	const char *_Atomic looking_at;
};

/* On the heap: see make_plan. */
static void request_free_p(struct request **pointer)
{
	struct request *request = *pointer;

	if (!request)
		return;
	rf_policy_clear(&request->policy);
	rf_strv_clear(&request->argv);
	rf_strv_clear(&request->environment);
	rf_strv_clear(&request->why);
	free(request->cwd);
	rf_handed_clear(&request->views);
	free(request);
}

static int invalid(struct rf_diag *diag, const char *name)
{
	return rf_diag_refuse(
		diag, "malformed-request", "parameter \"%s\" is missing or malformed", name);
}

int rf_run_read_texts(
	const json_t *parameters, const char *name, struct rf_strv *strv, struct rf_diag *diag)
{
	const json_t *array = json_object_get(parameters, name);
	const json_t *item;
	size_t i;

	if (!json_is_array(array))
		return invalid(diag, name);
	json_array_foreach (array, i, item) {
		char *text rf_autofree = NULL;
		int r = rf_wire_text_get(item, &text);

		if (r == RF_WIRE_TEXT_INVALID)
			return invalid(diag, name);
		if (r == 0)
			r = rf_strv_add(strv, text);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_fd(const struct rf_call *call, const json_t *index, int *ret_fd)
{
	json_int_t i = json_integer_value(index);

	if (!json_is_integer(index) || i < 0 || (size_t)i >= call->n_fds)
		return -EINVAL;
	*ret_fd = call->fds[i];
	return 0;
}

static int read_stdio(struct request *request, const struct rf_call *call, struct rf_diag *diag)
{
	const json_t *stdio = json_object_get(call->parameters, "stdio");

	if (json_array_size(stdio) != 3)
		return invalid(diag, "stdio");
	for (size_t i = 0; i < 3; i++) {
		const json_t *index = json_array_get(stdio, i);

		request->props.stdio[i] = -1;
		if (!json_is_null(index) && take_fd(call, index, &request->props.stdio[i]) < 0)
			return invalid(diag, "stdio");
	}
	return 0;
}

static int read_pass(struct request *request, const struct rf_call *call, struct rf_diag *diag)
{
	const json_t *array = json_object_get(call->parameters, "pass");
	const json_t *item;
	size_t i;

	json_array_foreach (array, i, item) {
		uint64_t number = rf_json_get_u64(item, "number", 0);
		int fd;

		if (request->n_pass == RF_PASS_FDS_MAX)
			return rf_diag_refuse(diag, "too-many-descriptors",
				"more than %u descriptors to pass", RF_PASS_FDS_MAX);
		if (number < RF_PASS_FD_MIN || number > RF_PASS_FD_MAX ||
			take_fd(call, json_object_get(item, "index"), &fd) < 0)
			return invalid(diag, "pass");
		request->pass_numbers[request->n_pass] = (int)number;
		request->pass_fds[request->n_pass++] = fd;
	}
	return 0;
}

static int read_props(struct request *request, const struct rf_call *call, struct rf_diag *diag)
{
	const char *ignored = rf_json_get_text(call->parameters, "ignored_signals");
	const json_t *nofile = json_object_get(call->parameters, "nofile");
	int r = read_stdio(request, call, diag);

	if (r != 0)
		return r;
	if (ignored && !rf_parse_u64(ignored, &request->props.ignored_signals))
		return invalid(diag, "ignored_signals");
	request->props.umask = (unsigned int)rf_json_get_u64(call->parameters, "umask", 022) & 0777;
	if (json_array_size(nofile) == 2) {
		request->props.nofile.rlim_cur =
			(rlim_t)json_integer_value(json_array_get(nofile, 0));
		request->props.nofile.rlim_max =
			(rlim_t)json_integer_value(json_array_get(nofile, 1));
	}
	request->props.has_terminal = rf_json_get_bool(call->parameters, "terminal", false);
	request->wants_events = rf_json_get_bool(call->parameters, "watch", false);
	return read_pass(request, call, diag);
}

static int read_request(struct request *request, const json_t *parameters, struct rf_diag *diag)
{
	const json_t *policy = json_object_get(parameters, "policy");
	int r;

	if (!json_is_object(parameters) || !json_is_object(policy))
		return invalid(diag, "policy");
	r = rf_policy_from_json(policy, &request->policy, diag);
	if (r == 0)
		r = rf_run_read_texts(parameters, "argv", &request->argv, diag);
	if (r == 0)
		r = rf_run_read_texts(parameters, "environment", &request->environment, diag);
	if (r != 0)
		return r;
	r = rf_wire_text_get(json_object_get(parameters, "cwd"), &request->cwd);
	if (r == RF_WIRE_TEXT_INVALID)
		return invalid(diag, "cwd");
	if (r == 0 && request->argv.count == 0)
		return rf_diag_refuse(diag, "no-command", "no command was given");
	return r;
}

static const char *const nothing[] = {NULL};

/*
 * Whoever calls has completed the facts. A planner that is stuck in a filesystem keeps the request,
 * of which another with the same command then takes the place; the process ends soon after the
 * refusal.
 */
static int make_plan(struct rf_peer *peer, struct request **inout_request,
	struct rf_plan **ret_plan, struct rf_diag *diag)
{
	struct request *request = *inout_request;
	struct rf_controller *controller = peer->service->controller;
	struct rf_request planned = {
		.policy = &request->policy,
		.cwd = request->cwd,
		.argv = (const char *const *)request->argv.items,
		.environment = request->environment.items
				       ? (const char *const *)request->environment.items
				       : nothing,
		.pass_fds = request->pass_numbers,
		.n_pass_fds = request->n_pass,
		.keeps_rules = request->why.count > 0,
		.looking_at = &request->looking_at,
	};
	bool is_abandoned = false;
	int r = rf_plan_make_within(
		&planned, &controller->facts, RF_PLAN_DEADLINE_MS, ret_plan, &is_abandoned, diag);

	if (!is_abandoned)
		return r;
	*inout_request = calloc(1, sizeof(**inout_request));
	if (!*inout_request || rf_strv_add_all(&(*inout_request)->argv,
				       (const char *const *)request->argv.items) < 0)
		return -ENOMEM;
	return r;
}

/* An errno that nobody expected is a refusal too: nothing ran. */
void rf_run_refuse(struct rf_peer *peer, int r, struct rf_diag *diag, const char *const *argv,
	const struct rf_plan *plan)
{
	if (r < 0 && !rf_diag_is_set(diag)) {
		rf_diag_refuse(diag, "internal", "%s", strerror(-r));
		snprintf(diag->stage, sizeof(diag->stage), "setup");
	}
	rf_peer_refuse(
		peer, diag, rf_refusal_result(diag, argv, plan, &peer->service->controller->facts));
}

static void refuse(struct rf_peer *peer, int r, struct rf_diag *diag, const struct request *request,
	const struct rf_plan *plan)
{
	rf_run_refuse(
		peer, r, diag, request ? (const char *const *)request->argv.items : nothing, plan);
}

/* ---- Plan ----------------------------------------------------------------------------------- */

static json_t *warnings_to_json(const struct rf_plan *plan)
{
	json_t *warnings = json_array();

	for (size_t i = 0; i < plan->warnings.count; i++)
		json_array_append_new(warnings, rf_json_text(plan->warnings.items[i]));
	return warnings;
}

/* One answer a question, in their order. 0, RF_REFUSED or -errno; *ret_json: a new reference. */
static int explain(const struct rf_strv *questions, const struct rf_plan *plan, json_t **ret_json,
	struct rf_diag *diag)
{
	json_t *answers rf_autojson = json_array();

	for (size_t i = 0; i + 1 < questions->count; i += 2) {
		const char *path = questions->items[i + 1];
		enum rf_why_access access;
		struct rf_why why;
		int r;

		if (!rf_why_access_parse(questions->items[i], &access) || !path[0])
			return invalid(diag, "why");
		r = rf_plan_why(plan, access, path, &why);
		if (r < 0)
			return r;
		json_array_append_new(answers, rf_why_to_json(&why, path));
	}
	*ret_json = RF_TAKE(answers);
	return 0;
}

void rf_method_plan(struct rf_peer *peer, struct rf_call *call)
{
	struct request *request rf_cleanup(request_free_p) = calloc(1, sizeof(*request));
	struct rf_bubblewrap bubblewrap rf_autobubblewrap = {0};
	struct rf_plan *plan rf_autoplan = NULL;
	json_t *why rf_autojson = NULL;
	struct rf_diag diag = {0};
	json_t *parameters;
	int r = request ? read_request(request, call->parameters, &diag) : -ENOMEM;

	if (r == 0 && json_object_get(call->parameters, "why"))
		r = rf_run_read_texts(call->parameters, "why", &request->why, &diag);
	if (r == 0)
		r = rf_controller_complete_facts(peer->service->controller, &diag);
	if (r == 0)
		r = make_plan(peer, &request, &plan, &diag);
	if (r == 0)
		r = explain(&request->why, plan, &why, &diag);
	if (r == 0 && plan->mode != RF_MODE_FULL_ACCESS)
		r = rf_bubblewrap_make(plan, false, &bubblewrap, &diag);
	if (r != 0) {
		refuse(peer, r, &diag, request, plan);
		return;
	}
	parameters = json_object();
	json_object_set_new(parameters, "plan",
		rf_plan_to_json(plan, (const char *const *)bubblewrap.arguments.items));
	json_object_set_new(parameters, "warnings", warnings_to_json(plan));
	json_object_set(parameters, "why", why);
	rf_peer_reply(peer, parameters, false);
}

/* ---- Run ------------------------------------------------------------------------------------ */

static void on_started(struct rf_sandbox *sandbox, void *userdata)
{
	rf_peer_reply(userdata, json_pack("{s:{s:s}}", "started", "id", sandbox->id), true);
}

/* A client that was stopped reads nothing, and the command can make events without end. */
#define EVENTS_QUEUED_MAX_BYTES (64U * 1024 * 1024)

static void on_event(struct rf_sandbox *sandbox rf_unused, json_t *event, void *userdata)
{
	struct rf_peer *peer = userdata;
	json_t *parameters;

	if (rf_wire_output_bytes(peer->wire) > EVENTS_QUEUED_MAX_BYTES) {
		peer->n_dropped++;
		return;
	}
	parameters = json_object();
	json_object_set(parameters, "event", event);
	rf_peer_reply(peer, parameters, true);
}

static void on_notice(struct rf_sandbox *sandbox rf_unused, const char *text, void *userdata)
{
	json_t *parameters = json_object();

	json_object_set_new(parameters, "notice", rf_json_text(text));
	rf_peer_reply(userdata, parameters, true);
}

static void on_ended(struct rf_sandbox *sandbox rf_unused, json_t *result, void *userdata)
{
	struct rf_peer *peer = userdata;
	char text[96];

	peer->sandbox = NULL;
	if (peer->n_dropped > 0) {
		snprintf(text, sizeof(text), "%llu events were dropped: their reader was too slow",
			(unsigned long long)peer->n_dropped);
		rf_peer_reply(peer, json_pack("{s:s}", "warning", text), true);
	}
	rf_peer_result(peer, result);
}

struct rf_sandbox_watcher rf_run_watcher(struct rf_peer *peer, bool wants_events)
{
	return (struct rf_sandbox_watcher){
		.started = on_started,
		.event = on_event,
		.notice = on_notice,
		.ended = on_ended,
		.userdata = peer,
		.wants_events = wants_events,
	};
}

static void tell(struct rf_peer *peer, const char *member, const struct rf_strv *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		json_t *parameters = json_object();

		json_object_set_new(parameters, member, rf_json_text(lines->items[i]));
		rf_peer_reply(peer, parameters, true);
	}
}

static void tell_warnings(struct rf_peer *peer, const struct rf_plan *plan)
{
	tell(peer, "warning", &plan->warnings);
	tell(peer, "detail", &plan->details);
}

/* The standard streams, then what is passed, each under the number that the command knows. */
static int check_handed(
	struct rf_peer *peer, struct request *request, struct rf_plan *plan, struct rf_diag *diag)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < 3 + request->n_pass; i++) {
		int *fd = i < 3 ? &request->props.stdio[i] : &request->pass_fds[i - 3];
		int number = i < 3 ? (int)i : request->pass_numbers[i - 3];

		r = rf_handed_check(fd, number, request->policy.waive, plan,
			&peer->service->controller->facts, &request->views, diag);
	}
	return r;
}

static void warn(struct rf_peer *peer, const char *text)
{
	rf_peer_reply(peer, json_pack("{s:s}", "warning", text), true);
}

/* What this run does not need, and its user should know. */
static void tell_surroundings(struct rf_peer *peer)
{
	char text[160];
	int r = rf_service_listen(peer->service);

	if (r < 0) {
		snprintf(text, sizeof(text), "`ringfence ps` and `kill` cannot see this run: %s",
			strerror(-r));
		warn(peer, text);
	}
	if (rf_sweep_found_dead(&peer->service->controller->swept))
		rf_service_sweep_sockets(peer->service);
	if (rf_sweep_left_something(&peer->service->controller->swept))
		warn(peer, "something of a dead controller may still run: see `ringfence sweep`");
}

void rf_run_tell_warnings(struct rf_peer *peer, const struct rf_plan *plan)
{
	tell_warnings(peer, plan);
	tell_surroundings(peer);
}

/* The plan sorted the numbers and dropped repeated ones: bring the descriptors into its order. */
static void align_pass_fds(const struct request *request, const struct rf_plan *plan, int *ret_fds)
{
	for (size_t i = 0; i < plan->n_pass_fds; i++) {
		for (size_t k = 0; k < request->n_pass; k++) {
			if (request->pass_numbers[k] == plan->pass_fds[i])
				ret_fds[i] = request->pass_fds[k];
		}
	}
}

static int start(struct rf_peer *peer, struct request *request, struct rf_plan *plan_taken,
	struct rf_diag *diag)
{
	struct rf_controller *controller = peer->service->controller;
	struct rf_sandbox_watcher watcher = rf_run_watcher(peer, request->wants_events);
	struct rf_sandbox *sandbox = NULL;
	int pass_fds[RF_PASS_FDS_MAX] = {0};
	int r = rf_sandbox_create(controller, plan_taken, peer->uid, &watcher, &sandbox, diag);

	if (r != 0)
		return r;
	if (request->props.nofile.rlim_max == 0)
		request->props.nofile = controller->nofile;
	align_pass_fds(request, sandbox->plan, pass_fds);
	request->props.pass_fds = pass_fds;
	request->props.client_pidfd = sandbox->plan->keeps_background ? -1 : peer->pidfd;
	request->props.uid = peer->uid;
	r = rf_sandbox_start(sandbox, &request->props, diag);
	request->props.pass_fds = NULL;
	if (r != 0) {
		sandbox->watcher = (struct rf_sandbox_watcher){0};
		rf_sandbox_free(sandbox);
		return r;
	}
	peer->sandbox = sandbox;
	return 0;
}

void rf_method_run(struct rf_peer *peer, struct rf_call *call)
{
	struct request *request rf_cleanup(request_free_p) = calloc(1, sizeof(*request));
	struct rf_plan *plan rf_autoplan = NULL;
	struct rf_diag diag = {0};
	int r;

	if (peer->sandbox) {
		rf_peer_error(peer, RF_ERROR_BUSY, json_object());
		return;
	}
	r = request ? read_request(request, call->parameters, &diag) : -ENOMEM;
	if (r == 0)
		r = read_props(request, call, &diag);
	if (r == 0)
		r = rf_controller_prepare(peer->service->controller, &diag);
	if (r == 0)
		r = make_plan(peer, &request, &plan, &diag);
	if (r == 0)
		r = check_handed(peer, request, plan, &diag);
	if (r == 0) {
		rf_run_tell_warnings(peer, plan);
		r = start(peer, request, RF_TAKE(plan), &diag);
	}
	if (r != 0)
		refuse(peer, r, &diag, request, plan);
}
