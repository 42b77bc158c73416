/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The plan around bubblewrap's own command line: nothing is looked up, little is promised. */

#include "fixture.h"

#define BIT(mechanism) (1U << (mechanism))

static const char *const line[] = {"bwrap", "--ro-bind", "/", "/", "true", NULL};

static int plan_wrapped(struct fixture *f)
{
	const struct rf_request request = {
		.policy = &f->policy,
		.argv = line,
		.is_wrapped = true,
	};

	f->plan = rf_plan_free(f->plan);
	f->diag = (struct rf_diag){0};
	return rf_plan_make(&request, &f->facts, &f->plan, &f->diag);
}

static void lose(struct fixture *f, enum rf_mechanism mechanism)
{
	f->facts.mechanisms[mechanism] =
		(struct rf_fact){.state = RF_STATE_OFF, .why = "lost for a test"};
}

static void refuses(struct fixture *f, const char *code)
{
	cr_assert_eq(plan_wrapped(f), RF_REFUSED);
	cr_assert_str_eq(f->diag.code, code, "%s: %s", f->diag.code, f->diag.message);
	cr_assert_null(f->plan);
}

Test(wrapped, b12_nothing_is_confined_unless_it_is_asked_for)
{
	struct fixture f autofixture = fixture_new();

	cr_assert_eq(plan_wrapped(&f), 0);
	cr_expect(f.plan->is_wrapped && f.plan->is_unix_open);
	cr_expect_eq(f.plan->posture, RF_POSTURE_OPEN);
	cr_expect_eq(f.plan->argv.count, 5);
	cr_expect_eq(f.plan->n_view, 0);
	cr_expect_eq(f.plan->warnings.count, 0);
	cr_expect_eq(f.plan->promises[RF_PROMISE_SOCKET_CREATE].state, RF_STATE_OFF);
	cr_expect_eq(f.plan->promises[RF_PROMISE_CAPABILITIES].state, RF_STATE_OFF);
	cr_expect_eq(f.plan->promises[RF_PROMISE_REAP].state, RF_STATE_ENFORCED);
	cr_expect_eq(f.plan->promises[RF_PROMISE_REAP].by, BIT(RF_MECHANISM_CGROUP));
	cr_expect_eq(f.plan->mechanisms[RF_MECHANISM_SECCOMP].state, RF_STATE_OFF);
	cr_expect_eq(f.plan->mechanisms[RF_MECHANISM_LAUNCHER].state, RF_STATE_OFF);
}

Test(wrapped, b4_b12_none_is_held_by_the_filter_and_refused_without_it)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "network.posture", "none");
	cr_assert_eq(plan_wrapped(&f), 0);
	cr_expect_not(f.plan->is_unix_open);
	cr_expect_eq(f.plan->promises[RF_PROMISE_SOCKET_CREATE].by, BIT(RF_MECHANISM_SECCOMP));
	cr_expect_eq(f.plan->promises[RF_PROMISE_UNIX_CONNECT].state, RF_STATE_ENFORCED);
	f.facts.mechanisms[RF_MECHANISM_BPF_LSM].state = RF_STATE_ENFORCED;
	cr_assert_eq(plan_wrapped(&f), 0);
	cr_expect_eq(f.plan->promises[RF_PROMISE_SOCKET_CREATE].by,
		BIT(RF_MECHANISM_SECCOMP) | BIT(RF_MECHANISM_BPF_LSM));
	cr_expect_eq(f.plan->promises[RF_PROMISE_DENIAL_RECORD].state, RF_STATE_OFF);
	cr_expect_not(f.plan->is_io_uring_open);
	/* BPF LSM leaves bubblewrap its own sockets: alone it does not hold it. */
	lose(&f, RF_MECHANISM_SECCOMP);
	refuses(&f, "promise-unheld");
	cr_expect(strstr(f.diag.hint, "--rf-waive socket-create"), "%s", f.diag.hint);
}

Test(wrapped, b12_a_network_that_bubblewrap_makes_is_not_ours_to_promise)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "network.posture", "loopback");
	refuses(&f, "contradiction");
	cr_expect(strstr(f.diag.hint, "--unshare-net"));
}

Test(wrapped, b12_without_a_cgroup_it_runs_and_says_so)
{
	struct fixture f autofixture = fixture_new();

	lose(&f, RF_MECHANISM_CGROUP);
	cr_assert_eq(plan_wrapped(&f), 0);
	cr_expect_eq(f.plan->promises[RF_PROMISE_REAP].state, RF_STATE_OFF);
	cr_expect_eq(f.plan->warnings.count, 0);
	say(&f, "enforcement.require", "reap");
	refuses(&f, "promise-unheld");
	cr_expect(strstr(f.diag.hint, "--rf-require reap"), "%s", f.diag.hint);
}

Test(wrapped, b12_a_limit_that_cannot_be_had_is_refused_by_its_own_name)
{
	struct fixture f autofixture = fixture_new();

	f.facts.has_pids_controller = false;
	say(&f, "limits.pids", "9");
	refuses(&f, "limit-unavailable");
	cr_expect(strstr(f.diag.hint, "--rf-waive limits"), "%s", f.diag.hint);
}
