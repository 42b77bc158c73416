/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "host/probe.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static const struct rf_signs no_signs;

static struct rf_check run(rf_probe_fn function, int deadline_ms)
{
	struct rf_check check = {.name = "kept"};
	struct rf_probe probe;

	rf_probe_start(function, &no_signs, deadline_ms, &probe);
	rf_probe_collect(&probe, &check);
	cr_expect_str_eq(check.name, "kept");
	/* Nothing is left to wait for. */
	cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
	return check;
}

static void succeed(const struct rf_signs *signs, struct rf_check *check)
{
	(void)signs;
	check->state = RF_STATE_ENFORCED;
	rf_check_say(check, "said %d", 7);
}

static void fail(const struct rf_signs *signs, struct rf_check *check)
{
	(void)signs;
	rf_check_fail(check, "open", EMFILE);
	rf_check_advise(check, "do something");
}

static void hang(const struct rf_signs *signs, struct rf_check *check)
{
	(void)signs;
	(void)check;
	(void)signal(SIGTERM, SIG_IGN);
	/* A child of the check is in the same group and must go as well. */
	(void)!fork();
	for (;;)
		(void)pause();
}

static void stop(const struct rf_signs *signs, struct rf_check *check)
{
	(void)signs;
	(void)check;
	(void)raise(SIGSTOP);
}

static void crash(const struct rf_signs *signs, struct rf_check *check)
{
	(void)signs;
	(void)check;
	(void)raise(SIGKILL);
}

Test(probe, a_result_arrives_whole)
{
	struct rf_check check = run(succeed, 1000);

	cr_expect_eq(check.state, RF_STATE_ENFORCED);
	cr_expect_str_eq(check.cause, "said 7");
	check = run(fail, 1000);
	cr_expect_eq(check.state, RF_STATE_OFF);
	cr_expect_eq(check.error, EMFILE);
	cr_expect_str_eq(check.call, "open");
	cr_expect_str_eq(check.remedy, "do something");
}

Test(probe, one_that_hangs_costs_its_deadline)
{
	const rf_probe_fn functions[] = {hang, stop};

	for (size_t i = 0; i < RF_ARRAY_SIZE(functions); i++) {
		uint64_t start_ns = rf_monotonic_ns();
		struct rf_check check = run(functions[i], 50);
		uint64_t took_ms = (rf_monotonic_ns() - start_ns) / 1000000;

		cr_expect_eq(check.state, RF_STATE_OFF);
		cr_expect_eq(check.error, ETIMEDOUT);
		cr_expect_lt(took_ms, 1000);
		cr_expect_geq(took_ms, 49);
	}
}

Test(probe, one_that_dies_says_so)
{
	struct rf_check check = run(crash, 1000);

	cr_expect_eq(check.state, RF_STATE_OFF);
	cr_expect_eq(check.error, ECHILD);
}

Test(probe, an_ignored_child_signal_does_no_harm)
{
	(void)signal(SIGCHLD, SIG_IGN);
	cr_expect_eq(run(succeed, 1000).state, RF_STATE_ENFORCED);
}
