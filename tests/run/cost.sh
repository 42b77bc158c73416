# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016,SC2164
#
# What a run costs goes by its rules, not by the files around it, and nothing piles up. A8, F-83, F-84.
# Times are ratios of `make bench`; no test here is timed.

needs test_f_83_no_directory_of_the_workspace_is_listed host command:strace root
test_f_83_no_directory_of_the_workspace_is_listed()
{
	mkdir -p d/{1,2,3}
	touch d/{1,2,3}/{a,b,c}
	traced -f -y -e trace=getdents64 -o trace ringfence run --deny d/1/a --protect d/2 --deny d/3/b -- \
		true 2>"$messages"
	expect_eq "$(grep -F "$PWD" trace || true)" ''
	# The trace sees them where there are any.
	strace -f -y -e trace=getdents64 -o trace ls d >/dev/null
	grep -qF "$PWD/d" trace
}

plain_run() { ringfence run -- true; }

# counts: what could pile up.
counts()
{
	local cgroup2
	cgroup2=$(cgroup_mount)
	wc -l </proc/self/mountinfo
	find "${cgroup2:-/nonexistent}" -type d -path '*ringfence*' 2>/dev/null | wc -l
	find /run/ringfence -mindepth 1 2>/dev/null | wc -l
	ringfence ps --json | jq length
}

needs test_f_84_a_hundred_runs_leave_everything_as_it_was host
test_f_84_a_hundred_runs_leave_everything_as_it_was()
{
	local before i
	plain_run
	before=$(counts | xargs)
	for ((i = 0; i < 100; i++)); do
		plain_run
	done
	expect_eq "$(counts | xargs)" "$before"
}

test_f_84_a_few_runs_leave_everything_as_it_was()
{
	local before
	plain_run
	before=$(counts | xargs)
	plain_run
	plain_run
	expect_eq "$(counts | xargs)" "$before"
}
