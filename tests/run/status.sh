# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Outcomes, signals and streams (C7, C9): what a caller sees is what it would see without a sandbox,
# and the result is the sure word.

# ---- outcomes (C7) -------------------------------------------------------------------------------

test_c7_the_status_passes_through()
{
	local status
	for status in 0 1 42 255; do
		expect_status "$status" "$RF" run --result r.json -- sh -c "exit $status"
		expect_json r.json '[.stage, .reason, .exit_code, .signal]' "[\"exit\",\"exit\",$status,null]"
	done
}

needs test_f_75_a_refusal_is_no_exit host
test_f_75_a_refusal_is_no_exit()
{
	expect_status 125 "$RF" run --write ../x --result r.json -- touch ran 2>err
	expect_json r.json '[.stage, .reason]' '["plan","setup"]'
	expect_json r.json '.refusal | has("code") and has("message")' true
	expect_contains "$(<err)" 'ringfence: '
	[[ ! -e ran ]]
	expect_status 125 "$RF" run --result s.json -- sh -c 'exit 125' 2>err
	expect_json s.json '[.stage, .reason, .exit_code, has("refusal")]' '["exit","exit",125,false]'
	expect_eq "$(<err)" ''
}

test_f_75_not_found_is_127()
{
	expect_status 127 "$RF" run --result r.json -- nosuchcmd 2>err
	expect_json r.json '[.stage, .reason, .exit_code, has("refusal")]' '["exec","exit",127,false]'
	expect_contains "$(<err)" 'ringfence: nosuchcmd'
	expect_status 127 "$RF" run -- ./nosuchcmd 2>err
	expect_contains "$(<err)" 'ringfence: ./nosuchcmd'
	# The same number from the command itself has another stage.
	expect_status 127 "$RF" run --result r.json -- sh -c 'exit 127'
	expect_json r.json '[.stage, .reason]' '["exit","exit"]'
}

test_f_75_not_executable_is_126()
{
	: >x
	expect_status 126 "$RF" run --result r.json -- ./x 2>err
	expect_json r.json '[.stage, .reason, .exit_code]' '["exec","exit",126]'
	expect_contains "$(<err)" 'ringfence: ./x'
	mkdir d
	expect_status 126 "$RF" run -- ./d 2>err
	printf 'neither a script nor a program' >y
	chmod +x y
	expect_status 126 "$RF" run -- ./y 2>err
}

test_f_76_death_by_signal_is_128_and_its_number()
{
	local signal number
	while read -r signal number; do
		expect_status $((128 + number)) "$RF" run --result r.json -- sh -c 'kill -$0 $$' "$signal"
		expect_json r.json '[.stage, .reason, .exit_code, .signal]' \
			"[\"exit\",\"signal\",$((128 + number)),$number]"
	done <<-END
		TERM 15
		SEGV 11
		ABRT 6
		KILL 9
	END
}

test_f_76_exit_137_is_no_kill()
{
	expect_status 137 "$RF" run --result r.json -- sh -c 'exit 137'
	expect_json r.json '[.reason, .exit_code, .signal]' '["exit",137,null]'
}

test_f_77_a_denial_in_a_pipeline_is_counted_apart_from_the_status()
{
	# What this version records are refusals of sockets, by the hooks of BPF LSM.
	"$RF" run --net none --result r.json -- \
		sh -c 'python3 -S -c "import socket; socket.socket()" 2>/dev/null | wc -c' >out 2>err
	expect_eq "$(xargs <out)" 0
	expect_json r.json .exit_code 0
	if [[ $(jq -r '.enforcement.mechanisms["bpf-lsm"].state' r.json) == enforced ]]; then
		expect_json r.json '.denials | length' 1
		expect_json r.json '.denials[0].op' socket-create
	else
		expect_json r.json .denials null
	fi
}

test_f_91_timeout_is_124_and_says_so()
{
	local begin=$EPOCHREALTIME took
	expect_status 124 "$RF" run --timeout 500ms --result r.json -- sleep 7740
	took=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
	gone 'sleep 7740' || fail 'sleep 7740 lives on'
	expect_json r.json '[.stage, .reason, .exit_code]' '["exit","timeout",124]'
	expect_json r.json .limits_hit '["timeout"]'
	[[ $took -ge 500 && $took -lt $((500 + $(scaled 1500))) ]] || fail "took $took ms"
}

needs test_f_91_what_ends_in_time_did_not_time_out host
test_f_91_what_ends_in_time_did_not_time_out()
{
	expect_status 124 "$RF" run --timeout 1m --result r.json -- sh -c 'exit 124'
	expect_json r.json '[.reason, .limits_hit]' '["exit",[]]'
}

test_c7_the_timeout_outlasts_a_trap_by_the_grace()
{
	expect_status 124 "$RF" run --timeout 300ms --grace 300ms --result r.json -- \
		sh -c 'trap "echo got" TERM; while :; do sleep 0.05; done' >out
	expect_eq "$(head -n1 out)" got
	expect_json r.json .reason timeout
	# A command that ends in its grace has still been stopped by the limit.
	expect_status 124 "$RF" run --timeout 300ms --grace 20s --result r.json -- \
		sh -c 'trap "exit 0" TERM; while :; do sleep 0.05; done'
	expect_json r.json .reason timeout
}

test_c7_an_abort_while_setting_up_leaves_nothing()
{
	local client delay status
	for delay in 0 0.01 0.03; do
		"$RF" run --result "$RF_SCRATCH/r.json" --write made/by/us -- \
			sh -c 'touch ran; sleep 7741' 2>err &
		client=$!
		sleep "$delay"
		kill -TERM "$client"
		status=0
		wait "$client" || status=$?
		gone 'sleep 7741' || fail 'sleep 7741 lives on'
		[[ $status -eq 143 ]] || fail "status $status after $delay: $(<err)"
		# It may have been started, and have been killed before its first word.
		if [[ $(jq -r .stage "$RF_SCRATCH/r.json") == ex* ]]; then
			rm -rf ran made
			continue
		fi
		[[ ! -e ran && ! -e made ]] || fail "after $delay a directory of ours stays"
	done
}

test_c7_the_result_is_written_once_all_is_empty()
{
	"$RF" run --result fd:5 -- sh -c 'setsid sleep 7742 & exit 0' 5>r.json
	expect_json r.json .version 1
	expect_json r.json .processes.stragglers_killed 1
	expect_json r.json '.wall_ms < 60000 and .cpu_ms >= 0' true
	expect_json r.json '.started | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z$")' true
	expect_json r.json .argv '["sh","-c","setsid sleep 7742 & exit 0"]'
}

# ---- signals (C9) --------------------------------------------------------------------------------

test_f_62_ctrl_c_reaches_the_command()
{
	expect_status 130 script -qec 'exec "$RF" run --events e --result r.json -- sleep 7703' /dev/null \
		< <(started e && wait_for 5 running 'sleep 7703' && printf '\003' && sleep "$(scaled 1)") >out
	expect_json r.json '[.reason, .signal]' '["signal",2]'
	gone 'sleep 7703' || fail 'sleep 7703 lives on'
}

test_f_62_ctrl_c_reaches_every_process_of_the_group()
{
	expect_status 9 script -qec \
		'exec "$RF" run --events e -- sh -c "trap \"exit 9\" INT; sleep 7743; sleep 7743"' /dev/null \
		< <(started e && wait_for 5 running 'sleep 7743' && printf '\003' && sleep "$(scaled 1)") >out
	gone 'sleep 7743' || fail 'sleep 7743 lives on'
}

test_c9_signals_are_forwarded()
{
	local client signal
	# A job in the background has INT and QUIT ignored.
	env --default-signal=INT,QUIT "$RF" run --events e -- sh -c '
		for s in INT HUP QUIT USR1 USR2 WINCH CONT; do trap "echo $s" $s; done
		trap "echo TERM; exit 5" TERM
		sleep 7744 & echo up; while :; do wait $!; done' >out &
	client=$!
	started e
	wait_for 5 grep -qs up out
	for signal in INT HUP QUIT USR1 USR2 WINCH CONT TERM; do
		kill -"$signal" "$client"
		wait_for 3 grep -q "^$signal\$" out
	done
	expect_status 5 wait "$client"
	expect_eq "$(xargs <out)" 'up INT HUP QUIT USR1 USR2 WINCH CONT TERM'
}

test_c9_a_signal_ends_the_run_with_its_number()
{
	local client signal number
	while read -r signal number; do
		rm -f e
		env --default-signal=INT,QUIT "$RF" run --events e --result r.json -- sleep 7745 &
		client=$!
		started e
		wait_for 5 running 'sleep 7745'
		kill -"$signal" "$client"
		expect_status $((128 + number)) wait "$client"
		expect_json r.json '[.reason, .signal]' "[\"signal\",$number]"
	done <<-END
		INT 2
		HUP 1
		USR1 10
	END
}

needs test_c9_what_was_ignored_stays_ignored host
test_c9_what_was_ignored_stays_ignored()
{
	expect_eq "$(sh -c 'trap "" HUP USR1
		exec "$RF" run -- sh -c "kill -HUP \$\$; kill -USR1 \$\$; echo alive"')" alive
	# And what was not, is not: the launcher's own mask does not show.
	expect_eq "$("$RF" run -- grep -E '^Sig(Blk|Ign)' /proc/self/status)" \
		"$(grep -E '^Sig(Blk|Ign)' /proc/self/status)"
}

state_of()
{
	sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status"
}

is_state()
{
	[[ $(state_of "$1") == [$2] ]]
}

test_c9_stop_and_continue_reach_both()
{
	local client command
	# A group of its own: what has no parent outside of its group cannot be stopped by TSTP.
	set -m
	"$RF" run --events e -- sleep 7746 &
	client=$!
	set +m
	started e
	wait_for 5 running 'sleep 7746'
	command=$(pids_of 'sleep 7746')
	kill -TSTP "$client"
	wait_for 5 is_state "$command" T
	wait_for 5 is_state "$client" T
	kill -CONT "$client"
	wait_for 5 is_state "$command" SR
	wait_for 5 is_state "$client" SR
	kill -TERM "$client"
	expect_status 143 wait "$client"
	gone 'sleep 7746' || fail 'sleep 7746 lives on'
}

# ---- streams (C9) --------------------------------------------------------------------------------

needs test_c9_streams_are_the_callers_own host
test_c9_streams_are_the_callers_own()
{
	expect_eq "$(echo hello | "$RF" run -- cat)" hello
	"$RF" run -- sh -c 'echo out; echo err >&2' >out 2>err
	expect_eq "$(<out)" out
	expect_eq "$(<err)" err
	# A file is that file, position and all.
	printf 'one\ntwo\n' >lines
	{
		read -r _
		expect_eq "$("$RF" run -- cat)" two
	} <lines
	expect_eq "$("$RF" run -- readlink /proc/self/fd/0 </dev/null)" /dev/null
}

needs test_c9_a_slow_reader_gets_it_all_before_the_result host
test_c9_a_slow_reader_gets_it_all_before_the_result()
{
	local n=300000 got
	# Much more than the pipe holds is written, and the reader does not hurry.
	got=$("$RF" run --result r.json -- head -c "$n" /dev/zero | { sleep 0.3; wc -c; })
	expect_eq "$got" "$n"
	expect_json r.json .reason exit
	got=$({ "$RF" run -- sh -c 'head -c 40000 /dev/zero; kill -9 $$' || true; } |
		{ sleep 0.3; wc -c; })
	expect_eq "$got" 40000
}

needs test_c9_a_reader_that_goes_away_ends_the_command_as_ever host
test_c9_a_reader_that_goes_away_ends_the_command_as_ever()
{
	expect_status 0 bash -c 'set +o pipefail; "$RF" run --result r.json -- yes | head -n1 >/dev/null'
	expect_json r.json '[.reason, .signal]' '["signal",13]'
}

needs test_c9_closed_streams_do_no_harm host
test_c9_closed_streams_do_no_harm()
{
	"$RF" run -- true <&-
	"$RF" run -- true >&-
	"$RF" run -- true 2>&-
	"$RF" run --result r.json -- true <&- >&- 2>&-
	expect_json r.json .reason exit
	expect_status 7 "$RF" run -- sh -c 'exit 7' <&- >&- 2>&-
}

needs test_c9_closed_streams_stay_closed host
test_c9_closed_streams_stay_closed()
{
	local command='for n in 0 1 2; do test -e /proc/self/fd/$n || exit 3$n; done'
	expect_status 30 sh -c "$command" <&-
	expect_status 30 "$RF" run -- sh -c "$command" <&-
	expect_status 31 sh -c "$command" >&-
	expect_status 31 "$RF" run -- sh -c "$command" >&-
	expect_status 32 sh -c "$command" 2>&-
	expect_status 32 "$RF" run -- sh -c "$command" 2>&-
}

needs test_c9_end_of_input_comes_through host
test_c9_end_of_input_comes_through()
{
	local out
	out=$({ echo a; sleep 0.2; echo b; } | "$RF" run -- sh -c 'cat; echo end')
	expect_eq "$(xargs <<<"$out")" 'a b end'
	# What the command left unread is there for the next.
	out=$(printf 'one\ntwo\n' | { "$RF" run -- true; cat; })
	expect_eq "$(xargs <<<"$out")" 'one two'
}

test_c9_without_a_terminal_the_command_has_none()
{
	expect_status 2 "$RF" run -- sh -c ': </dev/tty' 2>err
	expect_eq "$("$RF" run -- sh -c 'test -t 0 || echo none')" none
}

# ---- what the launcher needs, and where helpers lie ------------------------------------------------

# The command is of the same user as process 1.
test_c7_the_command_cannot_starve_process_1()
{
	expect_status 7 "$RF" run --result r.json -- python3 -S -c 'import os, resource, sys
for act in (lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0)),
            lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
            lambda: os.sched_setaffinity(1, {0}),
            lambda: os.setpriority(os.PRIO_PROCESS, 1, 19)):
    try:
        act()
    except PermissionError:
        continue
    sys.exit(1)
resource.prlimit(1, resource.RLIMIT_NOFILE)
resource.prlimit(0, resource.RLIMIT_NOFILE, (64, 64))
sys.exit(7)'
	expect_json r.json .reason exit
}

needs test_an_installed_tree_may_lie_anywhere host
test_an_installed_tree_may_lie_anywhere()
{
	mkdir -p inst/bin inst/libexec/ringfence ws
	cp "$RF" inst/bin/ringfence
	cp "$(dirname "$RF")"/{ringfenced,ringfence-launch} inst/libexec/ringfence/
	cd ws
	expect_eq "$(../inst/bin/ringfence run -- echo hi)" hi
	mv ../inst/libexec/ringfence ../elsewhere
	expect_status 125 ../inst/bin/ringfence run -- echo hi 2>err
	expect_contains "$(<err)" "$(realpath ../inst)/libexec/ringfence"
	expect_contains "$(<err)" "$(realpath ../inst)/bin"
}

needs test_what_a_terminal_obeys_is_not_printed host
test_what_a_terminal_obeys_is_not_printed()
{
	expect_status 127 "$RF" run -- "$(printf 'a\xc2\x9b2Jb\xc2\x85c\xe2\x80\xae')" 2>err
	expect_contains "$(<err)" 'a\xc2\x9b2Jb\xc2\x85c\xe2\x80\xae'
	"$RF" plan -- sh "$(printf 'a\xc2\x9b2J')" >plan
	expect_contains "$(<plan)" 'a\xc2\x9b2J'
}

# ---- what is said of an end, and of what was closed ------------------------------------------------

test_c3_a_run_that_is_stopped_from_outside_says_so()
{
	local client
	"$RF" run --events e -- sleep 7741 2>err &
	client=$!
	started e
	"$RF" kill "$(jq -r 'select(.event == "start").id' e)" --grace 0s
	expect_status 137 wait "$client"
	expect_eq "$(grep -c '^ringfence: .*stopped from outside (ringfence kill' err)" 1
	# shellcheck disable=SC2016
	expect_lacks "$("$RF" run -- sh -c 'kill -9 $$' 2>&1 || true)" stopped
}

needs test_c3_an_id_that_is_too_short_is_told_how_long_it_must_be host
test_c3_an_id_that_is_too_short_is_told_how_long_it_must_be()
{
	expect_status 125 "$RF" kill abc 2>err
	expect_contains "$(<err)" 'no sandbox abc (an ID is given by at least 4 characters)'
	expect_status 125 "$RF" kill abcd 2>err
	expect_lacks "$(<err)" characters
}

# Where nothing tells one Unix socket from another all are closed, and the command sees a bare EPERM.
test_verbose_says_why_unix_sockets_are_closed()
{
	local status=0
	"$RF" run --verbose --result r.json -- python3 -S -c 'import _socket
_socket.socket(_socket.AF_UNIX)' 2>err || status=$?
	if [[ $status -eq 0 ]]; then
		expect_lacks "$(<err)" unix-connect
	else
		expect_eq "$(grep -c '^ringfence: unix-connect: AF_UNIX is closed altogether' err)" 1
	fi
	"$RF" run --verbose --no-unix -- true 2>err
	expect_lacks "$(<err)" unix-connect
	"$RF" run -- true 2>err
	expect_lacks "$(<err)" unix-connect
}
