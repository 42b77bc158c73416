/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A plan in time is the plan; tests/run/badinput.sh has a mount that is dead. */

#include "tests/unit/policy/fixture.h"

static int make_within(struct fixture *f, unsigned int deadline_ms, bool *ret_is_abandoned,
	const char *_Atomic *looking_at)
{
	struct rf_request request = {
		.policy = &f->policy,
		.cwd = f->workspace,
		.argv = f->argv,
		.environment = f->environment,
		.looking_at = looking_at,
	};

	return rf_plan_make_within(
		&request, &f->facts, deadline_ms, &f->plan, ret_is_abandoned, &f->diag);
}

Test(deadline, a3_a_plan_in_time_is_handed_over)
{
	struct fixture f autofixture = fixture_new();
	const char *_Atomic looking_at = NULL;
	bool is_abandoned = true;

	say(&f, "filesystem.read", "nothing");
	cr_assert(make_within(&f, 60000, &is_abandoned, &looking_at) == 0);
	cr_expect(!is_abandoned);
	cr_expect_str_eq(f.plan->workspace, f.workspace);
	cr_expect_str_eq(looking_at, "nothing");
}

Test(deadline, a3_a_refusal_in_time_is_the_planner_s_own)
{
	struct fixture f autofixture = fixture_new();
	bool is_abandoned = true;

	say(&f, "filesystem.write", "..");
	cr_assert(make_within(&f, 60000, &is_abandoned, NULL) == RF_REFUSED);
	cr_expect(!is_abandoned);
	cr_expect_null(f.plan);
	cr_expect_str_eq(f.diag.code, "write-outside");
}
