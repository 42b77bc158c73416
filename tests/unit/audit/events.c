/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "audit/events.h"
#include "base/clock.h"
#include "base/json.h"

struct exec_record {
	struct rf_record_exec fixed;
	char tail[RF_EXEC_TAIL_MAX_BYTES];
};

static struct rf_record header(enum rf_record_kind kind, size_t size_bytes)
{
	return (struct rf_record){
		.kind = (__u16)kind,
		.version = RF_ABI_VERSION,
		.size = (__u32)size_bytes,
		.time_ns = rf_boottime_ns(),
		.sandbox = 77,
		.pid = 12,
		.tgid = 10,
		.start_ns = 18446744073709551615ULL,
	};
}

/* exe "/bin/x", cwd "/w", script "./s", argv "x" and "a\xff". */
static size_t make_exec(struct exec_record *record)
{
	static const char tail[] = "/bin/x/w./sx\0a\xff";

	memset(record, 0, sizeof(*record));
	record->fixed.exe_bytes = 6;
	record->fixed.cwd_bytes = 2;
	record->fixed.script_bytes = 3;
	record->fixed.argv_bytes = 5;
	record->fixed.parent = 9;
	record->fixed.uid = 1000;
	record->fixed.ino = 9007199254740993ULL;
	record->fixed.dev = 8U << 20 | 1;
	record->fixed.marks = RF_EXEC_SCRIPT | RF_EXEC_FILELESS | RF_EXEC_ARGV_CUT;
	memcpy(record->tail, tail, sizeof(tail));
	record->fixed.header = header(RF_RECORD_EXEC, sizeof(record->fixed) + 16);
	return sizeof(record->fixed) + 16;
}

static json_t *line_of(const void *record, size_t size_bytes)
{
	struct rf_event event;
	json_t *json = NULL;

	cr_assert_eq(rf_event_decode(record, size_bytes, &event), 0);
	cr_assert_eq(rf_event_to_json(&event, "box", &json), 0);
	cr_assert_eq(json_integer_value(json_object_get(json, "version")), 1);
	cr_assert_str_eq(rf_json_get_text(json, "id"), "box");
	cr_assert_eq(strlen(rf_json_get_text(json, "time")), 24);
	cr_assert_eq(json_integer_value(json_object_get(json, "pid")), 10);
	cr_assert_str_eq(rf_json_get_text(json, "start_ns"), "18446744073709551615");
	return json;
}

Test(audit_events, exec_carries_every_named_field)
{
	struct exec_record record;
	size_t size_bytes = make_exec(&record);
	json_t *json rf_autojson = line_of(&record, size_bytes);
	json_t *argv = json_object_get(json, "argv");
	json_t *marks = json_object_get(json, "marks");

	cr_assert_str_eq(rf_json_get_text(json, "event"), "exec");
	cr_assert_str_eq(rf_json_get_text(json, "exe"), "/bin/x");
	cr_assert_str_eq(rf_json_get_text(json, "cwd"), "/w");
	cr_assert_str_eq(rf_json_get_text(json, "script"), "./s");
	cr_assert_str_eq(rf_json_get_text(json, "inode"), "9007199254740993");
	cr_assert_str_eq(rf_json_get_text(json, "dev"), "8:1");
	cr_assert_eq(json_integer_value(json_object_get(json, "parent")), 9);
	cr_assert_eq(json_integer_value(json_object_get(json, "uid")), 1000);
	cr_assert(json_is_true(json_object_get(json, "argv_truncated")));
	cr_assert_eq(json_array_size(argv), 2);
	cr_assert_str_eq(json_string_value(json_array_get(argv, 0)), "x");
	cr_assert_str_eq(json_string_value(json_array_get(argv, 1)), "a\\xff");
	cr_assert_eq(json_array_size(marks), 2);
	cr_assert_str_eq(json_string_value(json_array_get(marks, 0)), "fileless");
}

Test(audit_events, exec_without_script_says_null)
{
	struct exec_record record;
	size_t size_bytes = make_exec(&record);
	json_t *json = NULL;

	record.fixed.marks = 0;
	json = line_of(&record, size_bytes);
	cr_assert(json_is_null(json_object_get(json, "script")));
	cr_assert(json_is_false(json_object_get(json, "argv_truncated")));
	json_decref(json);
}

Test(audit_events, fork_exit_escape_denial_become_lines)
{
	struct rf_record_fork fork = {.header = header(RF_RECORD_FORK, sizeof(fork)), .parent = 3};
	struct rf_record_exit killed = {
		.header = header(RF_RECORD_EXIT, sizeof(killed)), .status = 9, .cpu_ns = 5999999};
	struct rf_record_exit ended = {
		.header = header(RF_RECORD_EXIT, sizeof(ended)), .status = 3 << 8};
	struct rf_record_escape escape = {
		.header = header(RF_RECORD_ESCAPE, sizeof(escape)), .to_cgroup = 5};
	struct rf_record_denial denial = {.header = header(RF_RECORD_DENIAL, sizeof(denial)),
		.op = RF_DENIAL_SOCKET_CREATE,
		.by = RF_BY_CGROUP,
		.family = 2,
		.error = 1};
	json_t *a rf_autojson = line_of(&fork, sizeof(fork));
	json_t *b rf_autojson = line_of(&killed, sizeof(killed));
	json_t *c rf_autojson = line_of(&ended, sizeof(ended));
	json_t *d rf_autojson = line_of(&escape, sizeof(escape));
	json_t *e rf_autojson = line_of(&denial, sizeof(denial));

	cr_assert_eq(json_integer_value(json_object_get(a, "parent")), 3);
	cr_assert(json_is_null(json_object_get(b, "exit_code")));
	cr_assert_eq(json_integer_value(json_object_get(b, "signal")), 9);
	cr_assert_eq(json_integer_value(json_object_get(b, "cpu_ms")), 5);
	cr_assert_eq(json_integer_value(json_object_get(c, "exit_code")), 3);
	cr_assert(json_is_null(json_object_get(c, "signal")));
	cr_assert_str_eq(rf_json_get_text(d, "cgroup"), "5");
	cr_assert_str_eq(rf_json_get_text(e, "op"), "socket-create");
	cr_assert_str_eq(rf_json_get_text(e, "errno"), "EPERM");
	cr_assert_str_eq(rf_json_get_text(e, "by"), "bpf-cgroup");
}

static void refused(const void *record, size_t size_bytes)
{
	struct rf_event event = {.exe = "untouched"};

	cr_assert_eq(rf_event_decode(record, size_bytes, &event), -EPROTO);
	cr_assert_str_eq(event.exe, "untouched");
}

Test(audit_events, every_short_record_is_refused)
{
	struct exec_record record;
	size_t size_bytes = make_exec(&record);

	for (size_t n = 0; n < size_bytes; n++) {
		refused(&record, n);
		record.fixed.header.size = (__u32)n;
		refused(&record, n);
		record.fixed.header.size = (__u32)size_bytes;
	}
	refused(&record, size_bytes + 1);
}

Test(audit_events, lengths_that_lie_are_refused)
{
	struct exec_record record;
	size_t size_bytes = make_exec(&record);

	record.fixed.exe_bytes = 0xffffffff;
	refused(&record, size_bytes);
	/* The sum wraps round to the right size in 32 bits. */
	record.fixed.exe_bytes = 0x80000000;
	record.fixed.cwd_bytes = 0x80000000 + 8;
	refused(&record, size_bytes);
	make_exec(&record);
	record.fixed.argv_bytes = 4;
	refused(&record, size_bytes);
}

Test(audit_events, other_versions_and_kinds_are_refused)
{
	struct rf_record_fork fork = {.header = header(RF_RECORD_FORK, sizeof(fork))};

	fork.header.version = RF_ABI_VERSION + 1;
	refused(&fork, sizeof(fork));
	fork.header = header((enum rf_record_kind)0, sizeof(fork));
	refused(&fork, sizeof(fork));
	fork.header = header((enum rf_record_kind)999, sizeof(fork));
	refused(&fork, sizeof(fork));
	fork.header = header(RF_RECORD_EXIT, sizeof(fork));
	refused(&fork, sizeof(fork));
}

Test(audit_events, a_denial_of_something_unknown_is_refused)
{
	struct rf_record_denial denial = {.header = header(RF_RECORD_DENIAL, sizeof(denial)),
		.op = RF_DENIAL_UNIX_SEND,
		.by = RF_BY_LSM,
		.error = 1};
	struct rf_event event;

	cr_assert_eq(rf_event_decode(&denial, sizeof(denial), &event), 0);
	denial.op = 99;
	refused(&denial, sizeof(denial));
	denial.op = RF_DENIAL_UNIX_SEND;
	denial.by = 0;
	refused(&denial, sizeof(denial));
	denial.by = RF_BY_LSM;
	denial.error = 0;
	refused(&denial, sizeof(denial));
}
