/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What holds each promise, on hosts that have less and less. */

#include "fixture.h"

#define BIT(mechanism) (1U << (mechanism))

static void lose(struct fixture *f, enum rf_mechanism mechanism)
{
	f->facts.mechanisms[mechanism] = (struct rf_fact){
		.state = RF_STATE_OFF, .why = "lost for a test", .remedy = "find it"};
}

static void gain_lsm(struct fixture *f)
{
	f->facts.mechanisms[RF_MECHANISM_BPF_LSM] = (struct rf_fact){.state = RF_STATE_ENFORCED};
}

static const struct rf_effective *held(const struct fixture *f, enum rf_promise promise)
{
	return &f->plan->promises[promise];
}

static const char *level(const struct fixture *f, json_t *json)
{
	(void)f;
	return json_string_value(json_object_get(json, "level"));
}

Test(promises, b11_everything_confining_is_held_without_bpf_lsm)
{
	struct fixture f autofixture = fixture_new();
	json_t *json;

	must_plan(&f);
	for (unsigned int i = 0; i < RF_PROMISES; i++) {
		if (!rf_promise_is_witness((enum rf_promise)i))
			cr_assert(f.plan->promises[i].state == RF_STATE_ENFORCED, "%s",
				rf_promise_name((enum rf_promise)i));
	}
	json = rf_plan_enforcement_to_json(f.plan, &f.facts);
	cr_assert_str_eq(level(&f, json), "full");
	cr_assert(json_integer_value(json_object_get(
			  json_object_get(json_object_get(json, "mechanisms"), "landlock"),
			  "abi")) == 7);
	json_decref(json);
	cr_assert(held(&f, RF_PROMISE_SOCKET_CREATE)->by & BIT(RF_MECHANISM_SECCOMP));
	cr_assert(held(&f, RF_PROMISE_SOCKET_CONNECT)->by == BIT(RF_MECHANISM_NETWORK_NAMESPACE));
	cr_assert(held(&f, RF_PROMISE_DENIAL_RECORD)->state == RF_STATE_OFF);
	cr_assert(!f.plan->is_io_uring_open);
}

Test(promises, b7_b11_unix_sockets_are_closed_where_nothing_tells_them_apart)
{
	struct fixture f autofixture = fixture_new();

	must_plan(&f);
	cr_assert(!f.plan->is_unix_open && f.plan->is_unix_closed_coarsely);
	cr_assert(held(&f, RF_PROMISE_UNIX_CONNECT)->state == RF_STATE_ENFORCED);
	cr_assert(held(&f, RF_PROMISE_UNIX_CONNECT)->by == BIT(RF_MECHANISM_SECCOMP));
	cr_assert(strstr(held(&f, RF_PROMISE_UNIX_CONNECT)->why, "altogether"));
	f.facts.landlock_abi = 9;
	must_plan(&f);
	cr_assert(f.plan->is_unix_open);
	cr_assert(held(&f, RF_PROMISE_UNIX_CONNECT)->by == BIT(RF_MECHANISM_LANDLOCK));
	gain_lsm(&f);
	must_plan(&f);
	cr_assert(f.plan->is_unix_open && f.plan->is_io_uring_open);
	cr_assert(held(&f, RF_PROMISE_UNIX_CONNECT)->by == BIT(RF_MECHANISM_BPF_LSM));
	say(&f, "network.unix", "false");
	must_plan(&f);
	cr_assert(!f.plan->is_unix_open && !f.plan->is_unix_closed_coarsely);
	rf_policy_clear(&f.policy);
	say(&f, "network.posture", "none");
	must_plan(&f);
	cr_assert(!f.plan->is_unix_open);
}

Test(promises, b7_a_waiver_opens_unix_sockets_and_says_so)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "enforcement.waive", "unix-connect");
	must_plan(&f);
	cr_assert(f.plan->is_unix_open);
	cr_assert(held(&f, RF_PROMISE_UNIX_CONNECT)->state == RF_STATE_OFF);
	cr_assert(f.plan->waived == BIT(RF_PROMISE_UNIX_CONNECT));
	cr_assert(has_warning(&f, "waived: unix-connect"));
}

Test(promises, b11_a_waiver_of_what_is_held_is_not_reported)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "enforcement.waive", "fs-read");
	must_plan(&f);
	cr_assert(f.plan->waived == 0 && f.plan->warnings.count == 0);
}

Test(promises, b11_f_8_without_bubblewrap_nothing_runs)
{
	struct fixture f autofixture = fixture_new();

	f.facts.bwrap = (struct rf_fact){.state = RF_STATE_OFF, .why = "not a regular file"};
	must_refuse(&f, "bubblewrap-unusable");
	cr_assert(strstr(f.diag.message, "bwrap"));
	cr_assert_str_eq(f.diag.mechanism, "mount-namespace");
	say(&f, "mode", "full-access");
	must_plan(&f);
}

Test(promises, b11_a_lost_namespace_is_refused_with_its_remedy)
{
	struct fixture f autofixture = fixture_new();

	lose(&f, RF_MECHANISM_USER_NAMESPACE);
	must_plan(&f);
	f.facts.has_sys_admin = false;
	f.facts.uid = 1000;
	f.facts.gid = 1000;
	must_refuse(&f, "namespace-unavailable");
	cr_assert_str_eq(f.diag.hint, "find it");
	cr_assert_str_eq(f.diag.mechanism, "user-namespace");
	lose(&f, RF_MECHANISM_MOUNT_NAMESPACE);
	must_refuse(&f, "namespace-unavailable");
	cr_assert_str_eq(f.diag.mechanism, "mount-namespace");
}

Test(promises, b11_each_confining_promise_refuses_when_nothing_holds_it)
{
	static const struct {
		enum rf_mechanism lost;
		enum rf_promise promise;
	} all[] = {
		{RF_MECHANISM_SECCOMP, RF_PROMISE_SOCKET_CREATE},
		{RF_MECHANISM_NETWORK_NAMESPACE, RF_PROMISE_SOCKET_CONNECT},
	};

	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++) {
		struct fixture f autofixture = fixture_new();

		lose(&f, all[i].lost);
		must_refuse(&f, "promise-unheld");
		cr_assert_str_eq(f.diag.promise, rf_promise_name(all[i].promise));
		cr_assert_str_eq(f.diag.mechanism, rf_mechanism_name(all[i].lost));
		cr_assert(strstr(f.diag.hint, "--waive"));
	}
}

Test(promises, b11_landlock_may_be_missing_where_mounts_hold)
{
	struct fixture f autofixture = fixture_new();

	f.facts.landlock_abi = 0;
	lose(&f, RF_MECHANISM_LANDLOCK);
	must_plan(&f);
	cr_assert(f.plan->mechanisms[RF_MECHANISM_LANDLOCK].state == RF_STATE_OFF);
	cr_assert_str_eq(f.plan->mechanisms[RF_MECHANISM_LANDLOCK].why, "lost for a test");
	cr_assert(held(&f, RF_PROMISE_FS_READ)->by == BIT(RF_MECHANISM_MOUNT_NAMESPACE));
}

Test(promises, b11_either_of_two_reaps)
{
	struct fixture f autofixture = fixture_new();

	lose(&f, RF_MECHANISM_CGROUP);
	must_plan(&f);
	cr_assert(held(&f, RF_PROMISE_REAP)->by == BIT(RF_MECHANISM_PID_NAMESPACE));
	/* Under full access there is no namespace to do it. */
	say(&f, "mode", "full-access");
	must_refuse(&f, "promise-unheld");
	cr_assert_str_eq(f.diag.promise, "reap");
	say(&f, "enforcement.waive", "reap");
	must_plan(&f);
}

Test(promises, b11_b14_witness_promises_refuse_only_where_they_are_required)
{
	struct fixture f autofixture = fixture_new();

	lose(&f, RF_MECHANISM_BPF_TRACE);
	must_plan(&f);
	cr_assert(held(&f, RF_PROMISE_EXEC_AUDIT)->state == RF_STATE_OFF);
	cr_assert(f.plan->warnings.count == 0);
	say(&f, "enforcement.require", "exec-audit");
	must_refuse(&f, "promise-unheld");
	cr_assert_str_eq(f.diag.promise, "exec-audit");
	rf_policy_clear(&f.policy);
	say(&f, "strict", "true");
	must_refuse(&f, "promise-unheld");
	/* What is required is not waived. */
	rf_policy_clear(&f.policy);
	say(&f, "enforcement.require", "exec-audit");
	say(&f, "enforcement.waive", "exec-audit");
	must_refuse(&f, "promise-unheld");
}

Test(promises, c8_f_87_a_limit_that_cannot_be_applied_is_refused)
{
	struct fixture f autofixture = fixture_new();

	lose(&f, RF_MECHANISM_CGROUP_LIMITS);
	f.facts.has_memory_controller = false;
	f.facts.has_pids_controller = false;
	say(&f, "limits.timeout", "1s");
	say(&f, "limits.memory", "none");
	must_plan(&f);
	say(&f, "limits.memory", "64M");
	must_refuse(&f, "limit-unavailable");
	cr_assert(strstr(f.diag.message, "memory controller"));
	cr_assert_str_eq(f.diag.mechanism, "cgroup-limits");
	cr_assert_str_eq(f.diag.promise, "limits");
	f.facts.uid = 1000;
	f.facts.gid = 1000;
	must_refuse(&f, "limit-unavailable");
	cr_assert(strstr(f.diag.hint, "find it"), "%s", f.diag.hint);
	cr_assert(strstr(f.diag.hint, "--waive limits"));
	cr_assert(!strstr(f.diag.hint, "service"));
	say(&f, "enforcement.waive", "limits");
	must_plan(&f);
	cr_assert(f.plan->waived == BIT(RF_PROMISE_LIMITS));
}

Test(promises, c8_f_90_every_limit_is_shown)
{
	struct fixture f autofixture = fixture_new();
	json_t *json;
	const char *value;
	const char *asked;

	say(&f, "limits.timeout", "1s");
	say(&f, "limits.pids", "none");
	must_plan(&f);
	json = rf_plan_to_json(f.plan, NULL);
	cr_assert(json_unpack(json, "{s:{s:{s:s,s:s}}}", "limits", "timeout", "asked", &asked,
			  "effective", &value) == 0);
	cr_assert_str_eq(asked, "1000ms");
	cr_assert_str_eq(value, "1000ms");
	cr_assert(json_unpack(json, "{s:{s:{s:n,s:s}}}", "limits", "memory", "asked", "effective",
			  &value) == 0);
	cr_assert_str_eq(value, "none");
	cr_assert(json_unpack(json, "{s:{s:{s:s,s:s}}}", "limits", "pids", "asked", &asked,
			  "effective", &value) == 0);
	cr_assert_str_eq(asked, "none");
	json_decref(json);
}

Test(promises, b5_posture_open_makes_no_promise_about_addresses)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "network.posture", "open");
	lose(&f, RF_MECHANISM_NETWORK_NAMESPACE);
	must_plan(&f);
	cr_assert(held(&f, RF_PROMISE_SOCKET_CONNECT)->by == 0);
	cr_assert(held(&f, RF_PROMISE_SOCKET_CONNECT)->why[0]);
}

Test(promises, b5_addresses_are_held_by_cgroup_programs_or_refused)
{
	static const enum rf_posture postures[] = {RF_POSTURE_HOST_LOOPBACK, RF_POSTURE_ALLOW};

	for (size_t i = 0; i < RF_ARRAY_SIZE(postures); i++) {
		struct fixture f autofixture = fixture_new();

		f.policy.posture = postures[i];
		f.facts.mechanisms[RF_MECHANISM_BPF_CGROUP].state = RF_STATE_ENFORCED;
		must_plan(&f);
		cr_assert(held(&f, RF_PROMISE_SOCKET_CONNECT)->by == BIT(RF_MECHANISM_BPF_CGROUP));
		cr_assert(f.plan->mechanisms[RF_MECHANISM_NETWORK_NAMESPACE].state == RF_STATE_OFF);
		cr_assert(held(&f, RF_PROMISE_DENIAL_RECORD)->state == RF_STATE_PARTIAL);
	}
}

Test(promises, f_10_without_cgroup_programs_an_address_rule_is_refused_unless_waived)
{
	struct fixture f autofixture = fixture_new();

	lose(&f, RF_MECHANISM_BPF_CGROUP);
	gain_lsm(&f);
	f.policy.posture = RF_POSTURE_ALLOW;
	must_refuse(&f, "promise-unheld");
	cr_assert_str_eq(f.diag.promise, "socket-connect");
	cr_assert_str_eq(f.diag.mechanism, "bpf-cgroup");
	f.policy.waive = BIT(RF_PROMISE_SOCKET_CONNECT);
	must_plan(&f);
	cr_assert(f.plan->waived == BIT(RF_PROMISE_SOCKET_CONNECT));
}
