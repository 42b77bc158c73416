/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <string.h>

#include "audit/tree.h"
#include "base/json.h"

static void add_fork(struct rf_tree *tree, __u32 pid, __u64 start_ns, __u32 parent, __u64 parent_ns)
{
	struct rf_record_fork record = {
		.header = {.tgid = pid, .start_ns = start_ns},
		.parent = parent,
		.parent_start_ns = parent_ns,
	};
	struct rf_event event = {.kind = RF_RECORD_FORK, .header = &record.header, .fork = &record};

	cr_assert_eq(rf_tree_add(tree, &event), 0);
}

static void add_exec(struct rf_tree *tree, __u32 pid, __u64 start_ns, const char *exe)
{
	struct rf_record_exec record = {
		.header = {.tgid = pid, .start_ns = start_ns},
		.exe_bytes = (__u32)strlen(exe),
		.argv_bytes = 2,
		.parent = 1,
		.parent_start_ns = 1,
	};
	struct rf_event event = {.kind = RF_RECORD_EXEC,
		.header = &record.header,
		.exec = &record,
		.exe = exe,
		.argv = "a"};

	cr_assert_eq(rf_tree_add(tree, &event), 0);
}

static void add_exit(struct rf_tree *tree, __u32 pid, __u64 start_ns, __u32 status)
{
	struct rf_record_exit record = {
		.header = {.tgid = pid, .start_ns = start_ns, .time_ns = start_ns + 5},
		.status = status,
		.cpu_ns = 600000,
		.memory_peak_bytes = pid * 1000ULL,
	};
	struct rf_event event = {.kind = RF_RECORD_EXIT, .header = &record.header, .exit = &record};

	cr_assert_eq(rf_tree_add(tree, &event), 0);
}

static json_t *processes_of(const struct rf_tree *tree)
{
	json_t *json rf_autojson = NULL;

	cr_assert_eq(rf_tree_to_json(tree, &json), 0);
	return json_incref(json_object_get(json, "processes"));
}

Test(audit_tree, counts_what_started_execed_and_ended)
{
	struct rf_tree *tree rf_autotree = NULL;
	struct rf_tree_totals totals;

	cr_assert_eq(rf_tree_new(&tree), 0);
	add_fork(tree, 10, 100, 1, 1);
	add_exec(tree, 10, 100, "/bin/sh");
	add_fork(tree, 11, 110, 10, 100);
	add_exec(tree, 11, 110, "/bin/true");
	add_exit(tree, 11, 110, 0);
	add_exit(tree, 10, 100, 3 << 8);
	rf_tree_totals(tree, &totals);
	cr_assert_eq(totals.started, 2);
	cr_assert_eq(totals.execs, 2);
	cr_assert_eq(totals.exited, 2);
	cr_assert_eq(totals.memory_peak_bytes, 11000);
	cr_assert_eq(totals.cpu_ms, 1);
	cr_assert(totals.is_complete);
}

Test(audit_tree, a_pid_that_is_used_again_is_another_process)
{
	struct rf_tree *tree rf_autotree = NULL;
	json_t *roots rf_autojson = NULL;

	cr_assert_eq(rf_tree_new(&tree), 0);
	add_fork(tree, 10, 100, 1, 1);
	add_exec(tree, 10, 100, "/bin/a");
	add_exit(tree, 10, 100, 0);
	add_fork(tree, 10, 200, 1, 1);
	add_exec(tree, 10, 200, "/bin/b");
	cr_assert_str_eq(rf_tree_exe(tree, 10, 100), "/bin/a");
	cr_assert_str_eq(rf_tree_exe(tree, 10, 200), "/bin/b");
	roots = processes_of(tree);
	cr_assert_eq(json_array_size(roots), 2);
	cr_assert(json_is_null(json_object_get(json_array_get(roots, 1), "exit_code")));
}

Test(audit_tree, children_stand_inside_their_parents_in_any_order_of_arrival)
{
	struct rf_tree *tree rf_autotree = NULL;
	json_t *roots rf_autojson = NULL;
	json_t *children;

	cr_assert_eq(rf_tree_new(&tree), 0);
	add_fork(tree, 11, 110, 10, 100);
	add_fork(tree, 10, 100, 1, 1);
	add_exit(tree, 11, 110, 9);
	roots = processes_of(tree);
	cr_assert_eq(json_array_size(roots), 1);
	children = json_object_get(json_array_get(roots, 0), "children");
	cr_assert_eq(json_array_size(children), 1);
	cr_assert_eq(json_integer_value(json_object_get(json_array_get(children, 0), "signal")), 9);
}

Test(audit_tree, a_child_runs_its_parents_program_until_it_execs)
{
	struct rf_tree *tree rf_autotree = NULL;

	cr_assert_eq(rf_tree_new(&tree), 0);
	add_fork(tree, 10, 100, 1, 1);
	add_exec(tree, 10, 100, "/bin/sh");
	add_fork(tree, 11, 110, 10, 100);
	add_fork(tree, 12, 120, 11, 110);
	cr_assert_str_eq(rf_tree_exe(tree, 12, 120), "/bin/sh");
	cr_assert_null(rf_tree_exe(tree, 13, 130));
}

Test(audit_tree, an_exit_from_the_setup_is_left_out)
{
	struct rf_tree *tree rf_autotree = NULL;
	struct rf_tree_totals totals;

	cr_assert_eq(rf_tree_new(&tree), 0);
	add_exit(tree, 5, 50, 0);
	rf_tree_totals(tree, &totals);
	cr_assert_eq(totals.exited, 0);
	cr_assert(totals.is_complete);
}

Test(audit_tree, lost_records_make_it_incomplete)
{
	struct rf_tree *tree rf_autotree = NULL;
	struct rf_tree_totals totals;

	cr_assert_eq(rf_tree_new(&tree), 0);
	rf_tree_add_lost(tree, 0);
	rf_tree_totals(tree, &totals);
	cr_assert(totals.is_complete);
	rf_tree_add_lost(tree, 1);
	rf_tree_totals(tree, &totals);
	cr_assert_not(totals.is_complete);
}

Test(audit_tree, beyond_its_room_it_counts_and_is_incomplete)
{
	struct rf_tree *tree rf_autotree = NULL;
	struct rf_tree_totals totals;

	cr_assert_eq(rf_tree_new(&tree), 0);
	for (__u32 i = 0; i < RF_TREE_PROCESSES_MAX + 2; i++)
		add_fork(tree, i + 2, i, 1, 1);
	rf_tree_totals(tree, &totals);
	cr_assert_eq(totals.started, RF_TREE_PROCESSES_MAX + 2);
	cr_assert_not(totals.is_complete);
}

Test(audit_tree, a_long_chain_and_a_ring_of_parents_print)
{
	struct rf_tree *tree rf_autotree = NULL;
	json_t *json rf_autojson = NULL;
	char *line rf_autofree = NULL;

	cr_assert_eq(rf_tree_new(&tree), 0);
	for (__u32 i = 0; i < 3000; i++)
		add_fork(tree, i + 10, i + 10, i + 9, i + 9);
	add_fork(tree, 90001, 1, 90002, 2);
	add_fork(tree, 90002, 2, 90001, 1);
	add_fork(tree, 90003, 3, 90003, 3);
	cr_assert_null(rf_tree_exe(tree, 90001, 1));
	cr_assert_eq(rf_tree_to_json(tree, &json), 0);
	line = rf_json_line(json);
	cr_assert_not_null(line);
}

Test(audit_tree, freeing_nothing_is_harmless)
{
	cr_assert_null(rf_tree_free(NULL));
}
