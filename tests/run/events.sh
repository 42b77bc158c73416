# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# The stream of events and what the kernel counted (D1 to D3, and F-101).

# events_of FILE NAME FILTER: of the events of that name, as compact JSON, a line each.
events_of()
{
	jq -c --arg name "$2" "select(.event == \$name) | $3" "$1"
}

needs test_d2_events_are_lines_in_order root cgroup bpf-trace
test_d2_events_are_lines_in_order()
{
	local id
	"$RF" run --events e --result r.json -- sh -c '/bin/true; /bin/false; exit 3' || expect_eq $? 3
	# Each line stands for itself.
	expect_eq "$(jq -c . e | wc -l)" "$(wc -l <e)"
	id=$(jq -r .id r.json)
	expect_eq "$(jq -r .id e | sort -u)" "$id"
	expect_eq "$(jq -c .version e | sort -u)" 1
	jq -r .time e | grep -Evq '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z$' && fail 'a time'
	expect_eq "$(head -n1 e | jq -c '[.event, .argv, .uid]')" \
		'["start",["sh","-c","/bin/true; /bin/false; exit 3"],0]'
	expect_eq "$(tail -n1 e | jq -c '[.event, .reason]')" '["stop","exit"]'
	expect_eq "$(events_of e exec .exe | xargs)" '/usr/bin/dash /usr/bin/true /usr/bin/false'
}

needs test_d2_a_process_is_forked_before_it_execs_and_exits_last root cgroup bpf-trace
test_d2_a_process_is_forked_before_it_execs_and_exits_last()
{
	local pid
	"$RF" run --events e -- sh -c '/bin/true; exit 0'
	pid=$(jq -r 'select(.event == "exec" and .exe == "/usr/bin/true").pid' e)
	expect_eq "$(jq -r --argjson pid "$pid" 'select(.pid == $pid).event' e | xargs)" 'fork exec exit'
	expect_eq "$(jq -c --argjson pid "$pid" 'select(.pid == $pid).start_ns' e | sort -u | wc -l)" 1
	# Its parent is the shell, by number and start.
	jq -s --argjson pid "$pid" 'map(select(.event == "exec")) as $x |
		($x | map(select(.exe == "/usr/bin/dash"))[0]) as $shell |
		($x | map(select(.pid == $pid))[0]) as $true |
		$true.parent == $shell.pid and $true.parent_start_ns == $shell.start_ns' e | grep -qx true
}

# bubblewrap and PID 1 are older than the command and end with it; they are no processes of its own.
needs test_d2_every_exit_has_its_fork root cgroup bpf-trace
test_d2_every_exit_has_its_fork()
{
	"$RF" run --events e -- sh -c '/bin/true; (exit 2) & wait'
	expect_eq "$(events_of e exit '[.pid, .start_ns]' | sort)" \
		"$(events_of e fork '[.pid, .start_ns]' | sort)"
}

needs test_d2_exits_carry_the_status root cgroup bpf-trace
test_d2_exits_carry_the_status()
{
	"$RF" run --events e -- sh -c '(exit 7); sh -c "kill -9 \$\$"; true'
	events_of e exit '[.exit_code, .signal]' >exits
	grep -qxF '[7,null]' exits
	grep -qxF '[null,9]' exits
	grep -qxF '[0,null]' exits
	events_of e exit 'has("cpu_ms") and has("memory_peak_bytes") and has("start_ns")' | sort -u >has
	expect_eq "$(<has)" true
}

needs test_d1_an_exec_is_described root cgroup bpf-trace
test_d1_an_exec_is_described()
{
	mkdir d
	printf '#!/bin/sh\nexit 0\n' >d/script
	chmod +x d/script
	"$RF" run --events e -- sh -c 'cd d && ./script one "two three"'
	jq -c 'select(.event == "exec" and .script != null)' e >script
	expect_json script .exe /usr/bin/dash
	expect_json script '.script | test("script$")' true
	expect_json script '.argv[-2:]' '["one","two three"]'
	expect_json script '[.argv_truncated, .uid, .marks - ["script"]]' '[false,0,[]]'
	expect_json script .cwd "$PWD/d"
	jq -c 'select(.event == "exec")' e | head -n1 >first
	expect_json first .inode "$(stat -Lc %i /usr/bin/dash)"
}

needs test_d1_a_long_argument_list_is_marked root cgroup bpf-trace
test_d1_a_long_argument_list_is_marked()
{
	# shellcheck disable=SC2046
	"$RF" run --events e -- true $(seq 3000)
	expect_eq "$(events_of e exec '[.argv_truncated, .argv[0]]')" '[true,"true"]'
	expect_eq "$(events_of e exec '.argv | length < 3001')" true
}

needs test_d2_processes_are_counted root cgroup bpf-trace
test_d2_processes_are_counted()
{
	"$RF" run --result r.json --events e -- sh -c '/bin/true; /bin/true & (exit 0) & wait'
	expect_json r.json '[.processes.started, .processes.execs]' '[4,3]'
	expect_json r.json '[.complete, .lost_events]' '[true,0]'
	expect_eq "$(events_of e exec .pid | wc -l)" 3
	expect_eq "$(events_of e fork .pid | wc -l)" 4
	"$RF" run --result r.json -- true
	expect_json r.json '[.processes.started, .processes.execs]' '[1,1]'
}

needs test_d2_what_nobody_follows_is_counted_whole root cgroup bpf-trace host
test_d2_what_nobody_follows_is_counted_whole()
{
	# More than a ring holds, and no record of them wakes its reader.
	"$RF" run --result r.json -- "$(probe forkexec)" 4000 >out
	expect_json r.json '[.complete, .lost_events, .processes.execs]' '[true,0,4001]'
}

needs test_d2_threads_are_no_processes root cgroup bpf-trace
test_d2_threads_are_no_processes()
{
	"$RF" run --result r.json --events e -- python3 -S -c 'import threading
for _ in range(5):
    t = threading.Thread(target=int)
    t.start()
    t.join()'
	expect_json r.json '[.processes.started, .processes.execs]' '[1,1]'
}

needs test_f_101_no_short_lived_program_is_missed host root cgroup bpf-trace time:180
test_f_101_no_short_lived_program_is_missed()
{
	"$RF" run --result r.json -- sh -c 'i=0; while [ $i -lt 5000 ]; do /bin/true; i=$((i+1)); done'
	jq -e '(.processes.execs == 5001 and .complete) or (.lost_events > 0 and (.complete | not))' \
		r.json >/dev/null || fail "$(jq -c '{processes, lost_events, complete}' r.json)"
}

needs test_f_101_every_exec_is_in_the_stream root cgroup bpf-trace time:60
test_f_101_every_exec_is_in_the_stream()
{
	local n=$((RF_SCALE == 1 ? 1000 : 300)) lost
	"$RF" run --result r.json --events e -- "$(probe forkexec)" "$n" >out
	lost=$(jq .lost_events r.json)
	if [[ $lost -eq 0 ]]; then
		expect_json r.json '[.processes.execs, .complete]' "[$((n + 1)),true]"
		expect_eq "$(grep -c '"event":"exec"' e)" $((n + 1))
	else
		expect_json r.json .complete false
	fi
}

needs test_d3_without_a_witness_the_result_says_so root userns
test_d3_without_a_witness_the_result_says_so()
{
	as_user 1000 mkdir run
	as_user 1000 env XDG_RUNTIME_DIR="$PWD/run" "$RF" run --result r.json --events e -- \
		sh -c '/bin/true; exit 0'
	expect_json r.json '.enforcement.promises | [."exec-audit".state, ."process-tree".state,
		."denial-record".state]' '["off","off","off"]'
	expect_json r.json '[.denials, .complete, .processes.execs, .processes.started]' \
		'[null,false,null,null]'
	expect_eq "$(jq -r .event e | xargs)" 'start stop'
}

test_d2_a_stopped_run_says_why_in_its_last_event()
{
	expect_status 124 "$RF" run --timeout 300ms --events e -- sleep 7760
	expect_eq "$(tail -n1 e | jq -c '[.event, .reason]')" '["stop","timeout"]'
}

needs test_d2_events_go_to_a_descriptor_that_the_command_does_not_see host
test_d2_events_go_to_a_descriptor_that_the_command_does_not_see()
{
	"$RF" run --events fd:8 -- sh -c 'test ! -e /proc/self/fd/8' 8>e
	expect_eq "$(head -n1 e | jq -r .event)" start
	expect_eq "$(tail -n1 e | jq -r .event)" stop
}

needs test_d2_a_reader_of_events_that_goes_away_ends_nothing host
test_d2_a_reader_of_events_that_goes_away_ends_nothing()
{
	expect_status 6 "$RF" run --events fd:8 -- sh -c '/bin/true; sleep 0.2; /bin/true; exit 6' \
		8> >(head -n1 >first)
	wait_for 3 test -s first
	expect_json first .event start
}
