/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "enforce/bpf_canary.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "enforce/cgroup.h"

struct host {
	struct rf_facts facts;
	struct rf_cgroup_host *cgroups;
	struct rf_canary canary;
};

static void start(struct host *host)
{
	/* As the controller does. */
	signal(SIGPIPE, SIG_IGN);
	*host = (struct host){.facts.uid = geteuid()};
	rf_canary_init(&host->canary);
	cr_assert_eq(rf_cgroup_host_find(&host->facts, &host->cgroups), 0);
	if (host->cgroups->base_fd < 0) {
		rf_cgroup_host_free(host->cgroups);
		cr_skip_test("no cgroup can be made here");
	}
	cr_assert_eq(rf_canary_start(&host->canary, host->cgroups->base_fd, -1), 0);
}

static void stop(struct host *host)
{
	char name[NAME_MAX];

	memcpy(name, host->canary.name, sizeof(name));
	rf_canary_stop(&host->canary);
	cr_expect_eq(faccessat(host->cgroups->base_fd, name, F_OK, 0), -1);
	rf_cgroup_host_free(host->cgroups);
}

static uint64_t ask_ms(struct host *host, int expected)
{
	uint64_t before = rf_monotonic_ns();
	int said = 99;
	int r = rf_canary_ask(&host->canary, RF_CANARY_UNIX, &said);

	cr_expect_eq(r, expected, "%d", r);
	cr_expect_eq(said, r == 0 ? 0 : 99);
	return (rf_monotonic_ns() - before) / 1000000;
}

Test(canary, one_that_dies_ends_the_wait)
{
	struct host host;

	start(&host);
	(void)ask_ms(&host, 0);
	cr_assert_eq(kill(host.canary.pid, SIGKILL), 0);
	cr_expect_lt(ask_ms(&host, -EPIPE), RF_CANARY_DEADLINE_MS / 2);
	cr_expect_lt(ask_ms(&host, -EPIPE), RF_CANARY_DEADLINE_MS / 2);
	stop(&host);
}

Test(canary, one_that_says_nothing_is_asked_once)
{
	struct host host;

	start(&host);
	cr_assert_eq(kill(host.canary.pid, SIGSTOP), 0);
	cr_expect_geq(ask_ms(&host, -ETIMEDOUT), RF_CANARY_DEADLINE_MS);
	/* What it would say now answers another question. */
	cr_assert_eq(kill(host.canary.pid, SIGCONT), 0);
	cr_expect_lt(ask_ms(&host, -EPIPE), RF_CANARY_DEADLINE_MS / 2);
	stop(&host);
}
