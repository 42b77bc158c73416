/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "host/doctor.h"

#include <criterion/criterion.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"

static const struct rf_check three[] = {
	{.name = "landlock", .state = RF_STATE_ENFORCED, .cause = "ABI 7"},
	{.name = "cgroup-limits", .state = RF_STATE_PARTIAL, .cause = "c", .remedy = "r"},
	{.name = "bpf-lsm",
		.state = RF_STATE_OFF,
		.call = "bpf",
		.error = 1,
		.cause = "the kernel refuses",
		.remedy = "boot another"},
};

Test(doctor, json_has_what_is_known_and_no_more)
{
	json_t *json rf_autojson = rf_doctor_to_json(three, 3);
	json_t *checks = json_object_get(json, "checks");
	json_t *first = json_array_get(checks, 0);
	json_t *last = json_array_get(checks, 2);

	cr_assert_eq(json_array_size(checks), 3);
	cr_expect_eq(rf_json_get_u64(json, "version", 0), 1);
	cr_expect_not_null(rf_json_get_text(json, "kernel"));
	cr_expect_str_eq(rf_json_get_text(first, "name"), "landlock");
	cr_expect_str_eq(rf_json_get_text(first, "state"), "enforced");
	cr_expect_null(json_object_get(first, "errno"));
	cr_expect_null(json_object_get(first, "call"));
	cr_expect_null(json_object_get(first, "remedy"));
	cr_expect_str_eq(rf_json_get_text(last, "errno"), "EPERM");
	cr_expect_str_eq(rf_json_get_text(last, "call"), "bpf");
	cr_expect_str_eq(rf_json_get_text(last, "remedy"), "boot another");
}

Test(doctor, every_mechanism_is_tried_in_time)
{
	static const char *const names[] = {"mount-namespace", "user-namespace", "pid-namespace",
		"network-namespace", "landlock", "seccomp", "bpf-lsm", "bpf-cgroup", "bpf-trace",
		"cgroup", "cgroup-limits", "rlimits", "io-uring", "bubblewrap"};
	struct rf_check *checks rf_autofree = NULL;
	uint64_t start_ns = rf_monotonic_ns();
	size_t n = 0;

	cr_assert_eq(rf_doctor_run(&checks, &n), 0);
	cr_expect_lt((rf_monotonic_ns() - start_ns) / 1000000, 4000);
	for (size_t i = 0; i < RF_ARRAY_SIZE(names); i++) {
		size_t k = 0;

		while (k < n && strcmp(checks[k].name, names[i]) != 0)
			k++;
		cr_expect_lt(k, n, "%s is not checked", names[i]);
	}
	/* Whoever is off says why. */
	for (size_t i = 0; i < n; i++)
		cr_expect(checks[i].state != RF_STATE_OFF || checks[i].cause[0], "%s",
			checks[i].name);
}

Test(doctor, facts_are_of_this_process)
{
	static struct rf_facts facts;
	static struct rf_diag diag;

	cr_assert_eq(rf_facts_find(&facts, &diag), 0);
	cr_expect_eq(facts.uid, getuid());
	cr_expect_eq(facts.mechanisms[RF_MECHANISM_BPF_LSM].state, RF_STATE_OFF);
	cr_expect_str_eq(facts.mechanisms[RF_MECHANISM_BPF_LSM].why, "not asked yet");
	cr_expect((facts.landlock_abi > 0) ==
		  (facts.mechanisms[RF_MECHANISM_LANDLOCK].state == RF_STATE_ENFORCED));
	cr_expect((facts.bwrap_path[0] != '\0') == (facts.bwrap.state == RF_STATE_ENFORCED));
}

Test(doctor, home_comes_from_the_user_database)
{
	static struct rf_facts facts;

	cr_assert_eq(setenv("HOME", "/nonexistent/elsewhere", 1), 0);
	cr_assert_eq(rf_facts_find(&facts, NULL), 0);
	cr_expect_str_neq(facts.home, "/nonexistent/elsewhere");
}

Test(doctor, a_set_up_that_every_step_allows_is_left_to_bubblewraps_words)
{
	static struct rf_facts facts;
	static struct rf_diag diag;
	int r;

	cr_assert_eq(rf_facts_find(&facts, NULL), 0);
	r = rf_doctor_explain_setup("bwrap: odd thing\nsecond", &facts, &diag);
	cr_expect_eq(r, RF_REFUSED);
	cr_expect_str_eq(diag.stage, "setup");
	cr_expect_gt(strlen(diag.code), 0);
	cr_expect_gt(strlen(diag.hint), 0);
	if (strcmp(diag.code, "bubblewrap-failed") == 0)
		cr_expect_not_null(strstr(diag.message, "bwrap: odd thing"));
}
