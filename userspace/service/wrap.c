/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Wrap: everything around bubblewrap but the process itself, which the client makes as its own
 * child. So it inherits what a child inherits (session, terminal, working directory, limits, every
 * descriptor), and this side never sees its environment nor parses its options.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/strv.h"
#include "enforce/seccomp.h"
#include "service/service.h"

struct wrap {
	struct rf_policy policy;
	struct rf_strv argv;
};

static void wrap_clear(struct wrap *wrap)
{
	rf_policy_clear(&wrap->policy);
	rf_strv_clear(&wrap->argv);
}

static int read_wrap(struct wrap *wrap, const json_t *parameters, struct rf_diag *diag)
{
	const json_t *policy = json_object_get(parameters, "policy");
	int r;

	if (!json_is_object(policy))
		return rf_diag_refuse(
			diag, "malformed-request", "parameter \"policy\" is missing or malformed");
	r = rf_policy_from_json(policy, &wrap->policy, diag);
	return r == 0 ? rf_run_read_texts(parameters, "argv", &wrap->argv, diag) : r;
}

static int make_plan(struct rf_peer *peer, const struct wrap *wrap, struct rf_plan **ret_plan,
	struct rf_diag *diag)
{
	const struct rf_request planned = {
		.policy = &wrap->policy,
		.argv = (const char *const *)wrap->argv.items,
		.is_wrapped = true,
	};

	return rf_plan_make(&planned, &peer->service->controller->facts, ret_plan, diag);
}

/* What the client gets: the leaf, then the filters. */
struct parts {
	int fds[8];
	size_t n_fds;
	size_t n_filters;
	/* The first of ours to close: the leaf is the sandbox's. */
	size_t first_own;
};

static void parts_clear(struct parts *parts)
{
	for (size_t i = parts->first_own; i < parts->n_fds; i++)
		rf_close(parts->fds[i]);
}

static int add_filters(struct parts *parts, const struct rf_plan *plan)
{
	struct rf_seccomp_filter *filters = NULL;
	size_t n = 0;
	/* No LSM counts here: those rules must let bubblewrap set up its loopback. */
	int r = rf_seccomp_make(plan, false, &filters, &n);

	for (size_t i = 0; r == 0 && i < n; i++) {
		int fd = rf_memfd("ringfence-filter", filters[i].instructions,
			filters[i].n * sizeof(struct sock_filter));

		if (fd < 0)
			r = fd;
		else
			parts->fds[parts->n_fds++] = fd;
	}
	parts->n_filters = n;
	rf_seccomp_free(filters, n);
	return r;
}

static int prepare(struct rf_peer *peer, struct rf_sandbox *sandbox)
{
	struct parts parts rf_cleanup(parts_clear) = {0};
	int r;

	if (sandbox->cgroup)
		parts.fds[parts.n_fds++] = sandbox->cgroup->fd;
	parts.first_own = parts.n_fds;
	r = add_filters(&parts, sandbox->plan);
	if (r < 0)
		return r;
	rf_peer_reply_fds(peer,
		json_pack("{s:{s:s, s:b, s:i}}", "prepared", "id", sandbox->id, "leaf",
			sandbox->cgroup != NULL, "filters", (int)parts.n_filters),
		parts.fds, parts.n_fds);
	return 0;
}

static int create(
	struct rf_peer *peer, struct rf_plan *plan_taken, bool wants_events, struct rf_diag *diag)
{
	struct rf_sandbox_watcher watcher = rf_run_watcher(peer, wants_events);
	struct rf_sandbox *sandbox = NULL;
	int r = rf_sandbox_create(
		peer->service->controller, plan_taken, peer->uid, &watcher, &sandbox, diag);

	if (r != 0)
		return r;
	r = prepare(peer, sandbox);
	if (r < 0) {
		rf_sandbox_free(sandbox);
		return r;
	}
	peer->sandbox = sandbox;
	return 0;
}

void rf_method_wrap(struct rf_peer *peer, struct rf_call *call)
{
	struct wrap wrap rf_cleanup(wrap_clear) = {0};
	struct rf_plan *plan rf_autoplan = NULL;
	struct rf_diag diag = {0};
	int r;

	if (peer->sandbox) {
		rf_peer_error(peer, RF_ERROR_BUSY, json_object());
		return;
	}
	r = read_wrap(&wrap, call->parameters, &diag);
	if (r == 0)
		r = rf_controller_prepare(peer->service->controller, &diag);
	if (r == 0)
		r = make_plan(peer, &wrap, &plan, &diag);
	if (r == 0) {
		rf_run_tell_warnings(peer, plan);
		r = create(peer, RF_TAKE(plan), rf_json_get_bool(call->parameters, "watch", false),
			&diag);
	}
	if (r != 0)
		rf_run_refuse(peer, r, &diag, (const char *const *)wrap.argv.items, plan);
}

/* Only what was prepared and has not begun. */
void rf_method_wrap_start(struct rf_peer *peer, struct rf_call *call)
{
	struct rf_sandbox *sandbox = peer->sandbox;
	struct rf_diag diag = {0};
	int r;

	if (!sandbox || !sandbox->plan->is_wrapped || sandbox->keeper_pidfd >= 0 ||
		call->n_fds != 1)
		return;
	r = rf_sandbox_wrap(sandbox, call->fds[0], peer->pidfd, &diag);
	if (r == 0)
		return;
	sandbox->diag = diag;
	rf_sandbox_stop(sandbox, RF_REASON_SETUP, 0);
}

void rf_method_wrap_end(struct rf_peer *peer, struct rf_call *call)
{
	const json_t *status = json_object_get(call->parameters, "status");

	if (peer->sandbox && peer->sandbox->plan->is_wrapped && json_is_integer(status))
		rf_sandbox_wrap_ended(peer->sandbox, (int)json_integer_value(status));
}
