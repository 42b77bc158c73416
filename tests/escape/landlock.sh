# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Landlock by itself: what this kernel has is asked for, what it is not given is said.

source "$RF_TOP/tests/escape/table.bash"

test_f_110_b3_the_abi_of_this_kernel_is_used_and_reported()
{
	local abi
	abi=$RF_LANDLOCK
	"$RF" run --net open --result r.json -- true
	expect_json r.json .enforcement.mechanisms.landlock.abi "$abi"
	case $RF_KERNEL in
	6.1) expect_eq "$abi" 2 ;;
	6.12) expect_eq "$abi" 6 ;;
	7.3) expect_eq "$abi" 11 ;;
	esac
}

test_f_110_full_access_makes_no_ruleset()
{
	"$RF" run --mode full-access --result r.json -- /bin/true
	expect_json r.json .enforcement.mechanisms.landlock.state off
}

test_f_111_no_new_privs_is_named_where_it_is_refused()
{
	expect_status 125 "$(probe filter)" prctl:0:PR_SET_NO_NEW_PRIVS=EPERM -- \
		"$RF" run -- touch ran 2>error
	expect_contains "$(<error)" no_new_privs
	[[ ! -e ran ]]
}

# One layer more is one too many only for who has sixteen; ours is the first that the command sees.
test_b3_rename_across_directories_works_in_one_tree()
{
	mkdir -p a b
	touch a/file
	"$RF" run -- sh -c 'mv a/file b/file && ln b/file a/again'
	[[ -e b/file && -e a/again ]]
}

test_b3_rename_between_two_trees_is_exdev()
{
	mkdir -p inside other
	touch inside/file
	expect_status 1 "$RF" run --mode read-only --write inside --write other -- \
		/usr/bin/python3 -S -c 'import os; os.rename("inside/file", "other/file")' 2>error
	expect_contains "$(<error)" 'Errno 18'
}
