/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <string.h>

#include "policy/keys.h"
#include "policy/policy.h"

Test(policy, a2_an_option_wins_over_a_file_and_lists_are_appended)
{
	struct rf_policy base rf_autopolicy = {0};
	struct rf_policy over rf_autopolicy = {0};
	struct rf_diag diag = {0};

	rf_policy_set(&base, "mode", "read-only", &diag);
	rf_policy_set(&base, "workspace", "/a", &diag);
	rf_policy_set(&base, "filesystem.read", "one", &diag);
	rf_policy_set(&base, "limits.pids", "5", &diag);
	rf_policy_set(&base, "limits.memory", "5M", &diag);
	rf_policy_set(&base, "strict", "true", &diag);
	rf_policy_set(&base, "enforcement.waive", "limits", &diag);
	rf_policy_set(&over, "workspace", "/b", &diag);
	rf_policy_set(&over, "filesystem.read", "two", &diag);
	rf_policy_set(&over, "limits.pids", "none", &diag);
	rf_policy_set(&over, "strict", "false", &diag);
	rf_policy_set(&over, "lifecycle.grace", "1s", &diag);
	rf_policy_set(&over, "enforcement.waive", "reap", &diag);
	cr_assert(rf_policy_overlay(&base, &over) == 0);
	cr_assert(base.mode == RF_MODE_READ_ONLY);
	cr_assert_str_eq(base.workspace, "/b");
	cr_assert(base.read.count == 2);
	cr_assert_str_eq(base.read.items[0], "one");
	cr_assert_str_eq(base.read.items[1], "two");
	cr_assert(base.limits[RF_LIMIT_PIDS].is_none);
	cr_assert(base.limits[RF_LIMIT_MEMORY].value == 5U << 20);
	cr_assert(base.strict == RF_FALSE);
	cr_assert(base.has_grace && base.grace_ms == 1000);
	cr_assert(base.waive == (1U << RF_PROMISE_LIMITS | 1U << RF_PROMISE_REAP));
	cr_assert(over.read.count == 0 && over.workspace == NULL);
}

Test(policy, a14_an_option_with_a_bad_value_is_refused)
{
	static const char *const all[][2] = {{"mode", "rw"}, {"network.posture", "permit"},
		{"network.posture", "hostloopback"}, {"limits.timeout", "1"},
		{"limits.timeout", "9ms"}, {"limits.memory", "1048575"}, {"limits.pids", "x"},
		{"network.families", "ipx"}, {"strict", "1"}, {"filesystem.read", ""},
		{"filesystem.external_read", "a"}, {"environment.set", "A"},
		{"environment.set", "=b"}, {"environment.pass", ""}, {"enforcement.waive", "all"},
		{"user", ""}, {"no.such", "x"}, {"filesystem", "x"}};

	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++) {
		struct rf_policy policy rf_autopolicy = {0};
		struct rf_diag diag = {0};

		cr_expect(rf_policy_set(&policy, all[i][0], all[i][1], &diag) == RF_REFUSED,
			"%s %s", all[i][0], all[i][1]);
		cr_expect(diag.code[0] && diag.message[0]);
		cr_expect(diag.line == 0);
	}
}

Test(policy, a14_words_of_a_list_are_named)
{
	struct rf_policy policy rf_autopolicy = {0};
	struct rf_diag diag = {0};

	cr_assert(rf_policy_set(&policy, "enforcement.waive", "fs-raed", &diag) == RF_REFUSED);
	cr_expect(strstr(diag.message, "one of fs-read, fs-write,"), "%s", diag.message);
	cr_expect(strstr(diag.hint, "fs-read"));
	cr_assert(rf_policy_set(&policy, "enforcement.waive", "fs-read,fs-write", &diag) ==
		  RF_REFUSED);
	cr_expect(strstr(diag.hint, "one at a time"), "%s", diag.hint);
	cr_assert(rf_policy_set(&policy, "network.families", "ipx", &diag) == RF_REFUSED);
	cr_expect(strstr(diag.message, "one of alg, "), "%s", diag.message);
}

Test(policy, c8_the_least_values_of_limits_are_taken)
{
	struct rf_policy policy rf_autopolicy = {0};
	struct rf_diag diag = {0};

	cr_assert(rf_policy_set(&policy, "limits.timeout", "10ms", &diag) == 0);
	cr_assert(rf_policy_set(&policy, "limits.memory", "1M", &diag) == 0);
	cr_assert(rf_policy_set(&policy, "limits.pids", "1", &diag) == 0);
	cr_assert(rf_policy_set(&policy, "limits.timeout", "none", &diag) == 0);
	cr_assert(policy.limits[RF_LIMIT_TIMEOUT].is_none);
}

Test(policy, every_key_has_help_and_its_own_name)
{
	size_t count;
	const struct rf_key *keys = rf_keys(&count);

	for (size_t i = 0; i < count; i++) {
		cr_expect(keys[i].help[0]);
		cr_expect(rf_key_find(keys[i].name) == &keys[i], "%s", keys[i].name);
	}
	/* The reader keeps what it saw in one word, keys and sections in a half each. */
	cr_assert(count <= 32);
}

Test(policy, every_mechanism_and_promise_has_a_name)
{
	enum rf_promise promise;

	for (unsigned int i = 0; i < RF_MECHANISMS; i++)
		cr_expect_not_null(rf_mechanism_name((enum rf_mechanism)i));
	for (unsigned int i = 0; i < RF_PROMISES; i++) {
		cr_expect(rf_promise_parse(rf_promise_name((enum rf_promise)i), &promise));
		cr_expect(promise == (enum rf_promise)i);
	}
	cr_assert(!rf_promise_parse("fs", &promise));
	cr_assert(rf_promise_is_witness(RF_PROMISE_EXEC_AUDIT));
	cr_assert(!rf_promise_is_witness(RF_PROMISE_FS_READ));
}

Test(nearest, a_word_within_two_edits_is_found)
{
	static const char *const words[] = {"read", "write", "write_files", "timeout", NULL};

	cr_expect_str_eq(rf_nearest("raed", words), "read");
	cr_expect_str_eq(rf_nearest("wirte", words), "write");
	cr_expect_str_eq(rf_nearest("write-files", words), "write_files");
	cr_expect_str_eq(rf_nearest("timeou", words), "timeout");
	cr_expect_str_eq(rf_nearest("timeoutxx", words), "timeout");
	cr_expect_null(rf_nearest("timeoutxxx", words));
	cr_expect_null(rf_nearest("", words));
	cr_expect_null(rf_nearest("zz", words));
}

Test(nearest, long_words_are_not_measured)
{
	static const char *const words[] = {"read", NULL};
	char text[5000];

	memset(text, 'r', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_assert_null(rf_nearest(text, words));
}
