/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/strv.h"
#include "policy/keys.h"
#include "policy/policy.h"

struct bad {
	const char *text;
	const char *code;
	unsigned int line;
	unsigned int column;
	/* In the hint; NULL: not looked at. */
	const char *hint;
};

static void check_bad(const struct bad *bad)
{
	struct rf_policy policy = {.mode = RF_MODE_READ_ONLY};
	struct rf_diag diag = {0};
	int r = rf_policy_read("p", bad->text, strlen(bad->text), &policy, &diag);

	cr_expect(r == RF_REFUSED, "%s: %d", bad->text, r);
	cr_expect_str_eq(diag.code, bad->code, "%s: %s %s", bad->text, diag.code, diag.message);
	cr_expect_str_eq(diag.file, "p", "%s", bad->text);
	cr_expect(diag.line == bad->line && diag.column == bad->column, "%s: %u:%u %s", bad->text,
		diag.line, diag.column, diag.message);
	if (bad->hint)
		cr_expect(strstr(diag.hint, bad->hint), "%s: %s", bad->text, diag.hint);
	/* Untouched. */
	cr_expect(policy.mode == RF_MODE_READ_ONLY);
}

Test(read, a14_every_error_of_yaml_has_its_place)
{
	static const struct bad all[] = {
		{"mdoe: read-only\n", "policy-key", 1, 1, "mode"},
		{"mode: read-only\nfilesystem:\n  raed: [a]\n", "policy-key", 3, 3,
			"filesystem.read"},
		{"read: [a]\n", "policy-key", 1, 1, "filesystem.read"},
		{"filesystem.read: [a]\n", "policy-key", 1, 1, NULL},
		{"filesystem:\n  git: comit\n", "policy-value", 2, 8, "commit"},
		{"network:\n  allow: [\"127.1\"]\n", "policy-value", 2, 11, "127.0.0.1"},
		{"network:\n  alow: [127.0.0.1]\n", "policy-key", 2, 3, "network.allow"},
		{"nested: true\n", "policy-key", 1, 1, NULL},
		{"mode: red-only\n", "policy-value", 1, 7, "read-only"},
		{"network:\n  posture: host-loopbak\n", "policy-value", 2, 12, "host-loopback"},
		{"network:\n  posture: permit\n", "policy-value", 2, 12, NULL},
		{"network:\n  unix: [a.sock]\n", "policy-value", 2, 9, NULL},
		{"network:\n  families: [vsok]\n", "policy-value", 2, 14, "vsock"},
		{"mode: [a]\n", "policy-type", 1, 7, NULL},
		{"mode: 1\n", "policy-type", 1, 7, "quotes"},
		{"mode: true\n", "policy-type", 1, 7, "quotes"},
		{"mode:\n", "policy-type", 1, 1, NULL},
		{"limits:\n  pids:\n", "policy-type", 2, 3, NULL},
		{"- mode\n", "policy-type", 1, 1, NULL},
		{"mode\n", "policy-type", 1, 1, NULL},
		{"filesystem: [a]\n", "policy-type", 1, 13, NULL},
		{"filesystem:\n  read: a\n", "policy-type", 2, 9, NULL},
		{"filesystem:\n  read: [a, 5]\n", "policy-type", 2, 13, "quotes"},
		{"filesystem:\n  read: [a, [b]]\n", "policy-type", 2, 13, NULL},
		{"filesystem:\n  read:\n    - ''\n", "policy-value", 3, 7, NULL},
		{"filesystem:\n  external_read: [a]\n", "policy-value", 2, 19, NULL},
		{"strict: yes\n", "policy-type", 1, 9, "true or false"},
		{"strict: 'true'\n", "policy-type", 1, 9, "without quotes"},
		{"limits:\n  timeout: 10\n", "policy-unit", 2, 12, "ms"},
		{"limits:\n  timeout: 10x\n", "policy-unit", 2, 12, "ms"},
		{"limits:\n  timeout: 5ms\n", "policy-value", 2, 12, NULL},
		{"limits:\n  timeout: 9999999d\n", "policy-value", 2, 12, NULL},
		{"limits:\n  memory: 5Q\n", "policy-unit", 2, 11, "powers"},
		{"limits:\n  memory: 1K\n", "policy-value", 2, 11, NULL},
		{"limits:\n  memory: 1.5\n", "policy-type", 2, 11, NULL},
		{"limits:\n  pids: 0\n", "policy-value", 2, 9, NULL},
		{"limits:\n  pids: 4m\n", "policy-unit", 2, 9, NULL},
		{"limits:\n  pids: -1\n", "policy-value", 2, 9, NULL},
		{"lifecycle:\n  grace: 2h\n", "policy-value", 2, 10, NULL},
		{"environment:\n  set:\n    A: 5\n", "policy-type", 3, 8, "quotes"},
		{"environment:\n  set: [A]\n", "policy-type", 2, 8, NULL},
		{"environment:\n  pass: [A=B]\n", "policy-value", 2, 10, NULL},
		{"environment:\n  set:\n    A: b\n    A: c\n", "policy-duplicate", 4, 5, NULL},
		{"enforcement:\n  waive: [fs-dney]\n", "policy-value", 2, 11, "fs-deny"},
		{"mode: read-only\nmode: read-only\n", "policy-duplicate", 2, 1, NULL},
		{"limits: {}\nlimits: {}\n", "policy-duplicate", 2, 1, NULL},
		{"mode: &a read-only\n", "policy-syntax", 1, 10, NULL},
		{"mode: *a\n", "policy-syntax", 1, 7, NULL},
		{"mode: !!str read-only\n", "policy-syntax", 1, 13, NULL},
		{"filesystem:\n  read: !x [a]\n", "policy-syntax", 2, 12, NULL},
		{"mode: read-only\n---\nmode: read-only\n", "policy-syntax", 2, 1, NULL},
		{"%YAML 1.2\n---\nmode: read-only\n", "policy-syntax", 2, 1, NULL},
		{"%YAML 9.9\n---\nmode: read-only\n", "policy-syntax", 1, 1, NULL},
		{"# x\n%YAML 1.2\n%YAML 1.2\n---\nmode: read-only\n", "policy-syntax", 3, 7, NULL},
		{"workspace: \"a\\0b\"\n", "policy-nul", 1, 12, NULL},
		{"workspace: a\nmode: \xff\n", "policy-utf8", 2, 7, NULL},
		{"workspace: 'a\n", "policy-syntax", 1, 13, NULL},
		{"\tmode: read-only\n", "policy-syntax", 1, 1, NULL},
		{"mode: read-only\n  strict: true\n", "policy-syntax", 1, 7, NULL},
	};

	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++)
		check_bad(&all[i]);
}

Test(read, a14_every_error_of_json_has_its_place)
{
	static const struct bad all[] = {
		{"{\"mdoe\": 1}", "policy-key", 1, 2, "mode"},
		{"{\n \"filesystem\": {\"raed\": []}}", "policy-key", 2, 17, "filesystem.read"},
		{"{\"mode\": 1}", "policy-type", 1, 10, NULL},
		{"{\"mode\": null}", "policy-type", 1, 10, NULL},
		{"{\"strict\": \"true\"}", "policy-type", 1, 12, NULL},
		{"{\"limits\":\n{\"timeout\": \"10\"}}", "policy-unit", 2, 13, NULL},
		{"{\"limits\": {\"memory\": \"1Q\"}}", "policy-unit", 1, 23, NULL},
		{"{\"workspace\": \"a\\u0000b\"}", "policy-nul", 1, 15, NULL},
		{"{\"workspace\": {\"hex\": \"2f\"}}", "policy-type", 1, 15, NULL},
		{"[]", "policy-type", 1, 1, NULL},
		{"{\"mode\": \"read-only\",\n \"mode\": \"read-only\"}", "policy-duplicate", 2, 7,
			NULL},
		{"{\"mode\": }", "policy-syntax", 1, 10, NULL},
		{"{\"mode\": \"read-only\"} x", "policy-syntax", 1, 23, NULL},
		{"{\"mode\": \"\xff\"}", "policy-utf8", 1, 11, NULL},
	};

	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++)
		check_bad(&all[i]);
}

Test(read, a14_a_nul_byte_is_refused)
{
	static const char text[] = "mode: read-only\n\0";
	struct rf_policy policy = {0};
	struct rf_diag diag = {0};

	cr_assert(rf_policy_read("p", text, sizeof(text) - 1, &policy, &diag) == RF_REFUSED);
	cr_assert_str_eq(diag.code, "policy-nul");
	cr_assert(diag.line == 2 && diag.column == 1);
}

Test(read, a14_a_policy_that_is_too_large_is_refused)
{
	char *text rf_autofree = calloc(1, RF_POLICY_FILE_MAX_BYTES + 1UL);
	struct rf_policy policy = {0};
	struct rf_diag diag = {0};

	memset(text, '#', RF_POLICY_FILE_MAX_BYTES + 1UL);
	cr_assert(rf_policy_read("p", text, RF_POLICY_FILE_MAX_BYTES + 1UL, &policy, &diag) ==
		  RF_REFUSED);
	cr_assert_str_eq(diag.code, "policy-size");
	cr_assert(strstr(diag.message, "16777216"));
}

static const char whole_yaml[] =
	"mode: read-only\nworkspace: /w\ndirectory: d\n"
	"filesystem:\n  read: [a, \"5\"]\n  write: [b]\n  write_files: [c/f]\n  protect: [p]\n"
	"  deny: [x]\n  external_read: [/opt/x]\n  device: [/dev/kvm]\n"
	"network: {posture: open, unix: false, families: [vsock]}\n"
	"limits: {timeout: 10s, memory: 512M, pids: none}\n"
	"environment:\n  pass: [A]\n  set: {B: c=d, C: ''}\n  clear: true\n"
	"strict: true\nuser: 1000\nkeep_groups: false\n"
	"enforcement: {waive: [fs-deny], require: [exec-audit]}\n"
	"lifecycle: {grace: 250ms, keep_background: true}\n";

static void check_whole(const struct rf_policy *policy)
{
	cr_assert(policy->mode == RF_MODE_READ_ONLY);
	cr_assert_str_eq(policy->workspace, "/w");
	cr_assert_str_eq(policy->directory, "d");
	cr_assert(policy->read.count == 2);
	cr_assert_str_eq(policy->read.items[1], "5");
	cr_assert_str_eq(policy->write.items[0], "b");
	cr_assert_str_eq(policy->write_files.items[0], "c/f");
	cr_assert_str_eq(policy->protect.items[0], "p");
	cr_assert_str_eq(policy->deny.items[0], "x");
	cr_assert_str_eq(policy->external_read.items[0], "/opt/x");
	cr_assert_str_eq(policy->device.items[0], "/dev/kvm");
	cr_assert(policy->posture == RF_POSTURE_OPEN && policy->unix_sockets == RF_FALSE);
	cr_assert_str_eq(policy->families.items[0], "vsock");
	cr_assert(policy->limits[RF_LIMIT_TIMEOUT].value == 10000);
	cr_assert(policy->limits[RF_LIMIT_MEMORY].value == 512ULL << 20);
	cr_assert(policy->limits[RF_LIMIT_PIDS].is_set && policy->limits[RF_LIMIT_PIDS].is_none);
	cr_assert_str_eq(policy->environment_pass.items[0], "A");
	cr_assert_str_eq(policy->environment_set.items[0], "B=c=d");
	cr_assert_str_eq(policy->environment_set.items[1], "C=");
	cr_assert(policy->environment_clear == RF_TRUE && policy->strict == RF_TRUE);
	cr_assert_str_eq(policy->user, "1000");
	cr_assert(policy->keep_groups == RF_FALSE && policy->keep_background == RF_TRUE);
	cr_assert(policy->waive == 1U << RF_PROMISE_FS_DENY);
	cr_assert(policy->require == 1U << RF_PROMISE_EXEC_AUDIT);
	cr_assert(policy->has_grace && policy->grace_ms == 250);
}

Test(read, a1_every_key_is_read)
{
	struct rf_policy policy rf_autopolicy = {0};
	struct rf_diag diag = {0};

	cr_assert(rf_policy_read("p", whole_yaml, strlen(whole_yaml), &policy, &diag) == 0, "%s",
		diag.message);
	check_whole(&policy);
}

Test(read, a1_the_json_of_a_policy_reads_back_the_same)
{
	struct rf_policy policy rf_autopolicy = {0};
	struct rf_policy back rf_autopolicy = {0};
	struct rf_policy file rf_autopolicy = {0};
	struct rf_diag diag = {0};
	char *text rf_autofree = NULL;
	json_t *json;

	cr_assert(rf_policy_read("p", whole_yaml, strlen(whole_yaml), &policy, &diag) == 0);
	json = rf_policy_to_json(&policy);
	cr_assert_not_null(json);
	cr_assert(rf_policy_from_json(json, &back, &diag) == 0, "%s", diag.message);
	check_whole(&back);
	text = json_dumps(json, JSON_INDENT(1));
	cr_assert(rf_policy_read("p", text, strlen(text), &file, &diag) == 0, "%s", diag.message);
	check_whole(&file);
	json_decref(json);
}

Test(read, a1_bytes_that_are_not_utf8_cross_the_wire)
{
	struct rf_policy policy rf_autopolicy = {0};
	struct rf_policy back rf_autopolicy = {0};
	struct rf_diag diag = {0};
	json_t *json;

	cr_assert(rf_policy_set(&policy, "filesystem.read", "a\xff\x01z", &diag) == 0);
	cr_assert(rf_policy_set(&policy, "environment.set", "A=\xfe", &diag) == 0);
	cr_assert(rf_policy_set(&policy, "workspace", "/\xfd", &diag) == 0);
	json = rf_policy_to_json(&policy);
	cr_assert_not_null(json);
	cr_assert(rf_policy_from_json(json, &back, &diag) == 0, "%s", diag.message);
	cr_assert_str_eq(back.read.items[0], "a\xff\x01z");
	cr_assert_str_eq(back.environment_set.items[0], "A=\xfe");
	cr_assert_str_eq(back.workspace, "/\xfd");
	json_decref(json);
}

Test(read, a1_malformed_wire_json_is_refused)
{
	static const char *const all[] = {"{\"workspace\":{\"hex\":\"2\"}}",
		"{\"workspace\":{\"hex\":\"00\"}}", "{\"workspace\":{\"hax\":\"2f\"}}",
		"{\"workspace\":{\"hex\":\"2f\",\"a\":1}}", "{\"workspace\":{}}", "[]", "1",
		"{\"filesystem\":{\"read\":{\"hex\":\"2f\"}}}", "{\"limits\":{\"pids\":{}}}",
		"{\"environment\":{\"set\":{\"A=B\":\"c\"}}}"};

	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++) {
		struct rf_policy policy = {0};
		struct rf_diag diag = {0};
		json_t *json = json_loads(all[i], JSON_DECODE_ANY, NULL);

		cr_assert_not_null(json, "%s", all[i]);
		cr_expect(rf_policy_from_json(json, &policy, &diag) == RF_REFUSED, "%s", all[i]);
		cr_expect(policy.workspace == NULL);
		json_decref(json);
	}
}

/* The manual's own examples; run from the root of the repository. */
Test(read, a14_the_examples_of_the_manual_are_policies)
{
	static const char *const files[] = {
		"tests/data/policies/example.yaml", "tests/data/policies/example.json"};
	char *page rf_autofree = NULL;

	cr_assert(rf_read_file_at(AT_FDCWD, "docs/ringfence-policy.5.scd", 1 << 20, &page) == 0);
	for (size_t i = 0; i < RF_ARRAY_SIZE(files); i++) {
		struct rf_policy policy rf_autopolicy = {0};
		struct rf_diag diag = {0};
		char *text rf_autofree = NULL;

		cr_assert(rf_read_file_at(AT_FDCWD, files[i], 1 << 20, &text) == 0);
		cr_assert(strstr(page, text), "%s is in the manual", files[i]);
		cr_assert(rf_policy_read(files[i], text, strlen(text), &policy, &diag) == 0);
		cr_assert(policy.limits[RF_LIMIT_TIMEOUT].value == 300000);
		cr_assert_str_eq(policy.environment_set.items[0], "MAKEFLAGS=-j4");
	}
}

Test(read, a14_the_manual_has_every_key)
{
	char *page rf_autofree = NULL;
	size_t count;
	const struct rf_key *keys = rf_keys(&count);

	cr_assert(rf_read_file_at(AT_FDCWD, "docs/ringfence-policy.5.scd", 1 << 20, &page) == 0);
	for (size_t i = 0; i < count; i++) {
		const char *dot = strchr(keys[i].name, '.');
		char entry[64];

		snprintf(entry, sizeof(entry), "\n*%s*: ", dot ? dot + 1 : keys[i].name);
		cr_expect(strstr(page, entry), "%s", keys[i].name);
	}
}

Test(read, a14_empty_and_commented_policies_say_nothing)
{
	static const char *const all[] = {"", "\n\n", "# nothing\n", "{}", "---\n{}\n"};

	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++) {
		struct rf_policy policy rf_autopolicy = {0};
		struct rf_diag diag = {0};

		cr_expect(rf_policy_read("p", all[i], strlen(all[i]), &policy, &diag) == 0,
			"%s: %s", all[i], diag.message);
		cr_expect(policy.mode == RF_MODE_UNSET);
	}
}

Test(read, a14_yaml_within_a_line_and_json_escapes_are_read)
{
	static const char json[] =
		"{\"filesystem\": {\"read\": [\"\\u00e9\\\"\\\\\\ud83d\\ude00\"]}}";
	struct rf_policy policy rf_autopolicy = {0};
	struct rf_diag diag = {0};

	cr_assert(rf_policy_read("p", json, strlen(json), &policy, &diag) == 0, "%s", diag.message);
	cr_assert_str_eq(policy.read.items[0], "\xc3\xa9\"\\\xf0\x9f\x98\x80");
}

static double elapsed_ms(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)(now.tv_sec - start->tv_sec) * 1e3 +
	       (double)(now.tv_nsec - start->tv_nsec) / 1e6;
}

Test(read, a8_f_80_20000_reads_are_read_fast)
{
	struct rf_buf text rf_autobuf = {0};
	struct rf_policy policy rf_autopolicy = {0};
	struct rf_diag diag = {0};
	struct timespec start;

	cr_assert(rf_buf_addf(&text, "filesystem:\n  read:\n") == 0);
	for (unsigned int i = 1; i <= 20000; i++)
		cr_assert(rf_buf_addf(&text, "    - d/%u\n", i) == 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	cr_assert(rf_policy_read("p", text.data, text.size, &policy, &diag) == 0);
	cr_assert(policy.read.count == 20000);
#ifndef __SANITIZE_ADDRESS__
	cr_assert(elapsed_ms(&start) < 100, "%.1f ms", elapsed_ms(&start));
#else
	(void)elapsed_ms(&start);
#endif
}

Test(read, a8_more_rules_than_the_ceiling_are_refused)
{
	struct rf_buf text rf_autobuf = {0};
	struct rf_policy policy rf_autopolicy = {0};
	struct rf_diag diag = {0};

	cr_assert(rf_buf_addf(&text, "filesystem:\n  read:\n") == 0);
	for (unsigned int i = 0; i <= RF_POLICY_RULES_MAX; i++)
		cr_assert(rf_buf_addf(&text, "    - a\n") == 0);
	cr_assert(rf_policy_read("p", text.data, text.size, &policy, &diag) == RF_REFUSED);
	cr_assert_str_eq(diag.code, "policy-size");
	cr_assert(diag.line == RF_POLICY_RULES_MAX + 3);
}

Test(read, a14_deep_nesting_is_refused_at_its_place)
{
	struct rf_buf text rf_autobuf = {0};
	struct rf_policy policy = {0};
	struct rf_diag diag = {0};

	for (unsigned int i = 0; i < 1000; i++)
		cr_assert(rf_buf_add(&text, "[", 1) == 0);
	for (unsigned int i = 0; i < 1000; i++)
		cr_assert(rf_buf_add(&text, "]", 1) == 0);
	cr_assert(rf_policy_read("p", text.data, text.size, &policy, &diag) == RF_REFUSED);
	cr_assert_str_eq(diag.code, "policy-type");
}
