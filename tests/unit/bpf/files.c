/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The decisions about files of bpf/decide.h, as they run in the kernel. */

#include <criterion/criterion.h>

#include "bpf/decide.h"
#include "enforce/bpf_files.h"

Test(bpf_files, the_narrower_rule_wins_at_one_place)
{
	cr_assert_eq(rf_file_say_place(0), RF_SAY_NOTHING);
	cr_assert_eq(rf_file_say_place(RF_FILE_PINNED | RF_FILE_NAMES), RF_SAY_NOTHING);
	cr_assert_eq(rf_file_say_place(RF_FILE_OPEN), RF_SAY_OPEN);
	cr_assert_eq(rf_file_say_place(RF_FILE_OPEN | RF_FILE_READ_ONLY), RF_SAY_READ_ONLY);
	cr_assert_eq(rf_file_say_place(RF_FILE_OPEN | RF_FILE_READ_ONLY | RF_FILE_CLOSED),
		RF_SAY_CLOSED);
}

Test(bpf_files, a_listed_directory_itself_is_not_changed)
{
	cr_assert_eq(rf_file_say_place(RF_FILE_LISTED | RF_FILE_NAMES), RF_SAY_READ_ONLY);
}

Test(bpf_files, a_name_speaks_where_its_directory_has_names)
{
	cr_assert_eq(rf_file_say_name(RF_FILE_NAMES, RF_NAME_CLOSED, 3, 0), RF_SAY_CLOSED);
	cr_assert_eq(rf_file_say_name(RF_FILE_NAMES, RF_NAME_READ_ONLY, 0, 0), RF_SAY_READ_ONLY);
	cr_assert_eq(rf_file_say_name(RF_FILE_NAMES, 0, 0, 1), RF_SAY_NOTHING);
}

Test(bpf_files, of_a_listed_directory_names_and_own_files_are_open_and_nothing_below)
{
	const __u32 listed = RF_FILE_LISTED | RF_FILE_NAMES;

	cr_assert_eq(rf_file_say_name(listed, RF_NAME_OPEN, 0, 0), RF_SAY_OPEN);
	cr_assert_eq(rf_file_say_name(listed, 0, 0, 1), RF_SAY_OPEN);
	cr_assert_eq(rf_file_say_name(listed, 0, 0, 0), RF_SAY_READ_ONLY);
	cr_assert_eq(rf_file_say_name(listed, RF_NAME_OPEN, 1, 0), RF_SAY_READ_ONLY);
	cr_assert_eq(rf_file_say_name(listed, 0, 1, 1), RF_SAY_READ_ONLY);
	cr_assert_eq(rf_file_say_name(listed, RF_NAME_OPEN | RF_NAME_CLOSED, 0, 1), RF_SAY_CLOSED);
}

Test(bpf_files, closed_is_closed_and_read_only_is_read)
{
	cr_assert_eq(rf_decide_file(RF_SAY_CLOSED, 0), -RF_EACCES);
	cr_assert_eq(rf_decide_file(RF_SAY_CLOSED, 1), -RF_EACCES);
	cr_assert_eq(rf_decide_file(RF_SAY_READ_ONLY, 0), 0);
	cr_assert_eq(rf_decide_file(RF_SAY_READ_ONLY, 1), -RF_EPERM);
	cr_assert_eq(rf_decide_file(RF_SAY_OPEN, 1), 0);
	cr_assert_eq(rf_decide_file(RF_SAY_NOTHING, 1), 0);
}

Test(bpf_files, an_entry_with_a_rule_stays)
{
	cr_assert_eq(rf_decide_entry(0, 0), 0);
	cr_assert_eq(rf_decide_entry(RF_FILE_OPEN | RF_FILE_NAMES, 0), 0);
	cr_assert_eq(rf_decide_entry(RF_FILE_PINNED, 0), -RF_EPERM);
	cr_assert_eq(rf_decide_entry(RF_FILE_READ_ONLY, 0), -RF_EPERM);
	cr_assert_eq(rf_decide_entry(RF_FILE_CLOSED, 0), -RF_EACCES);
	cr_assert_eq(rf_decide_entry(0, RF_NAME_CLOSED), -RF_EACCES);
	cr_assert_eq(rf_decide_entry(0, RF_NAME_READ_ONLY), -RF_EPERM);
	cr_assert_eq(rf_decide_entry(0, RF_NAME_OPEN), 0);
}

Test(bpf_files, beside_a_write_file_only_new_and_own_regular_files_are_free)
{
	cr_assert_eq(rf_decide_listed(0, 0, 0, 1), 0);
	cr_assert_eq(rf_decide_listed(0, 1, 1, 1), 0);
	cr_assert_eq(rf_decide_listed(RF_NAME_OPEN, 1, 0, 1), 0);
	cr_assert_eq(rf_decide_listed(0, 1, 0, 1), -RF_EPERM);
	cr_assert_eq(rf_decide_listed(0, 0, 0, 0), -RF_EPERM);
	cr_assert_eq(rf_decide_listed(RF_NAME_OPEN, 1, 1, 0), -RF_EPERM);
}

Test(bpf_files, the_walk_is_made_only_where_something_below_is_ruled)
{
	cr_assert_eq(rf_bpf_files_flags(0, 0), 0);
	cr_assert_eq(rf_bpf_files_flags(RF_FILE_PINNED, 0), RF_RULE_FILES);
	cr_assert_eq(rf_bpf_files_flags(RF_FILE_CLOSED, 0), RF_RULE_FILES | RF_RULE_FILES_BELOW);
	cr_assert_eq(rf_bpf_files_flags(RF_FILE_NAMES, RF_NAME_CLOSED),
		RF_RULE_FILES | RF_RULE_FILES_BELOW);
	cr_assert_eq(rf_bpf_files_flags(RF_FILE_LISTED, RF_NAME_OPEN),
		RF_RULE_FILES | RF_RULE_FILES_BELOW_WRITE);
}
