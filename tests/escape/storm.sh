# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Processes that fork and exit faster than anybody can name them, each in a session of its own, deaf
# to TERM, with their first parent gone.
#
# cgroup.kill holds it, and where there is no cgroup the PID namespace does (as uid 1000).

source "$RF_TOP/tests/escape/table.bash"

test_c3_c4_a_fork_storm_ends_with_its_run()
{
	local before
	"$(probe escape_storm)" 4 700 "$PWD/beats" >/dev/null
	before=$(stat -c %s beats)
	wait_for 3 [ "$(stat -c %s beats)" -gt 0 ]
	sleep 0.3
	# Unconfined it goes on without its first process.
	[[ $(stat -c %s beats) -gt $before ]]

	rm -f beats
	"$RF" run --result r.json -- "$(probe escape_storm)" 20 20000 "$PWD/beats" >/dev/null
	before=$(stat -c %s beats)
	sleep 0.3
	expect_eq "$(stat -c %s beats)" "$before"
	expect_json r.json .reason exit
	[[ $(jq .processes.stragglers_killed r.json) -gt 0 ]]
}

test_c3_a_fork_storm_of_an_ordinary_user_ends_too()
{
	local before
	as_user 1000 "$RF" run -- "$(probe escape_storm)" 20 20000 "$PWD/beats" >/dev/null
	before=$(stat -c %s beats)
	sleep 0.3
	expect_eq "$(stat -c %s beats)" "$before"
}
needs test_c3_a_fork_storm_of_an_ordinary_user_ends_too userns

test_c3_a_storm_that_is_deaf_to_term_ends_at_the_time_limit()
{
	local before
	expect_status 124 "$RF" run --timeout 500ms --grace 200ms --result r.json \
		--external-read "$(probe escape_storm)" -- \
		sh -c "trap '' TERM INT HUP; $(probe escape_storm) 10 20000 $PWD/beats; while :; do sleep 1; done" \
		>/dev/null
	before=$(stat -c %s beats)
	sleep 0.3
	expect_eq "$(stat -c %s beats)" "$before"
	expect_json r.json .reason timeout
}

# Nothing is decided in userspace: nobody waits for a verdict, and nothing comes back with EINTR.
test_f_109_pipelines_work_every_time()
{
	local i
	for ((i = 0; i < (RF_SCALE > 1 ? 5 : 100); i++)); do
		expect_eq "$(timeout $((5 * RF_SCALE)) "$RF" run -- dash -c 'echo a | cat | cat')" a
	done
}
needs test_f_109_pipelines_work_every_time time:120

test_f_109_no_filter_asks_userspace()
{
	"$RF" run -- sh -c 'ls -l /proc/self/fd /proc/2/fd' >confined
	expect_lacks "$(<confined)" seccomp
	# One call asks, for its errno alone: listen() under host-loopback and allow without BPF LSM.
	# What would reach such a port is dropped in the kernel, whatever the answer.
	[[ ! -d $RF_TOP/userspace ]] || expect_eq "$(cd "$RF_TOP/userspace" && grep -rl 'USER_NOTIF\|SCMP_ACT_NOTIFY' . | sort | xargs)" \
		'./enforce/seccomp.c ./launch/listen.c'
}
