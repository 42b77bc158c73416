# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016,SC2164
#
# What a run costs: by its rules, not by the files around it, and the same each time. A8, F-83, F-84.
# The benchmark compares times in earnest; here only growth is looked for, so the margins are wide.

messages=${RF_SCRATCH-}/messages

# times COUNT COMMAND...: that many wall times, in microseconds, a line each.
times()
{
	local count=$1 i begin
	shift
	for ((i = 0; i < count; i++)); do
		begin=${EPOCHREALTIME/./}
		"$@" >/dev/null 2>>"$messages"
		echo $((${EPOCHREALTIME/./} - begin))
	done
}

# middle FILE: its median.
middle()
{
	sort -n "$1" | sed -n "$((($(wc -l <"$1") + 1) / 2))p"
}

# as_fast A B: the median of twenty A is at most 1.2 times that of B. They take turns, so that what
# else the machine does slows both; one of three rounds decides.
as_fast()
{
	local i
	for _ in 1 2 3; do
		: >a-times
		: >b-times
		for ((i = 0; i < 20; i++)); do
			times 1 "$1" >>a-times
			times 1 "$2" >>b-times
		done
		[[ $(($(middle a-times) * 10)) -gt $(($(middle b-times) * 12)) ]] || return 0
	done
	fail "$1 takes $(middle a-times) µs, $2 $(middle b-times) µs"
}

# Forty denials in directories that hold a thousand files each, or nothing else.
denials()
{
	seq -f '--deny=d/%.0f/f1' 1 40
}

in_the_full_tree() { (cd full && ringfence run "${options[@]}" -- true); }
in_the_empty_tree() { (cd empty && ringfence run "${options[@]}" -- true); }

needs test_f_83_the_tree_is_not_walked host time:180 alone
test_f_83_the_tree_is_not_walked()
{
	mkdir full empty
	mapfile -t options < <(denials)
	python3 - <<-'END'
		import os
		for n in range(1, 301):
		    os.makedirs(f"full/d/{n}")
		    os.makedirs(f"empty/d/{n}")
		    for i in range(1, 1001):
		        os.close(os.open(f"full/d/{n}/f{i}", os.O_CREAT | os.O_WRONLY, 0o644))
		    os.close(os.open(f"empty/d/{n}/f1", os.O_CREAT | os.O_WRONLY, 0o644))
	END
	as_fast in_the_full_tree in_the_empty_tree
}

needs test_f_83_no_directory_of_the_workspace_is_listed command:strace root
test_f_83_no_directory_of_the_workspace_is_listed()
{
	mkdir -p d/{1,2,3}
	touch d/{1,2,3}/{a,b,c}
	strace -f -y -e trace=getdents64 -o trace ringfence run --deny d/1/a --protect d/2 --deny d/3/b -- \
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
	cgroup2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	wc -l </proc/self/mountinfo
	find "${cgroup2:-/nonexistent}" -type d -path '*ringfence*' 2>/dev/null | wc -l
	find /run/ringfence -mindepth 1 2>/dev/null | wc -l
	ringfence ps --json | jq length
}

needs test_f_84_a_thousand_runs_cost_the_same_and_nothing_piles_up host time:300 alone
test_f_84_a_thousand_runs_cost_the_same_and_nothing_piles_up()
{
	local before i
	plain_run
	before=$(counts | xargs)
	times 100 plain_run >first
	for ((i = 0; i < 800; i++)); do
		plain_run
	done
	times 100 plain_run >last
	expect_eq "$(counts | xargs)" "$before"
	# A machine that is busy for a while is no growth.
	[[ $(($(middle last) * 10)) -le $(($(middle first) * 12)) ]] || times 100 plain_run >last
	[[ $(($(middle last) * 10)) -le $(($(middle first) * 12)) ]] ||
		fail "the first took $(middle first) µs, the last $(middle last) µs"
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
