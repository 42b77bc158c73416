# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# A terminal of the command's own: whoever sits at the caller's does not notice. tests/session plays
# that person.

needs_all host

session=$RF_TOP/tests/session

# As a job of an interactive shell; $1 is what to run, the rest comes from standard input.
in_shell()
{
	{
		printf '%s\n' 'send PS1="prom""pt> "\n' \
			'expect prompt> ' "send $1\\n"
		cat
	} | env RF="$RF" "$session" bash --norc --noediting -i >session.out
}

test_c9_streams_that_are_one_terminal_become_one_of_the_commands_own()
{
	"$session" "$RF" run -- sh -c 'tty; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && ls /dev/pts && echo mine >/dev/tty' \
		<<<end >out
	grep -q '^/dev/pts/0' out || fail "$(cat out)"
	grep -q '^mine' out || fail "$(cat out)"
	# What is no terminal, or not one, is left as it is.
	"$session" sh -c '"$RF" run -- sh -c "[ -t 0 ] && [ ! -t 1 ] && ! echo x >/dev/tty" >out2' <<<end >out
	expect_status 1 "$RF" run -- tty >out
	expect_eq "$(cat out)" 'not a tty'
	expect_status 2 "$session" "$RF" run --no-tty -- sh -c 'echo x >/dev/tty' <<<end >out
}

test_f_73_raw_mode_on_a_reopened_terminal()
{
	script -qec "$RF run --tty -- sh -c 'stty raw </dev/tty; stty sane </dev/tty'" /dev/null >out
	script -qec "$RF run --tty -- sh -c 'stty raw <\$(tty); stty sane <\$(tty)'" /dev/null >out
}

test_f_79_nothing_but_the_terminal_is_open()
{
	"$session" "$RF" run --tty -- ls /proc/self/fd <<<end >out
	expect_eq "$(tr -d '\r' <out | xargs)" '0 1 2 3'
}

test_c9_an_ordinary_user_has_one_too()
{
	as_user 1000 "$session" "$RF" run -- sh -c 'tty && echo x >/dev/tty && echo y >"$(tty)" && stat -c %U:%a "$(tty)"' \
		<<<end >out || fail "$(cat out)"
}

test_c9_the_window_and_its_changes_reach_the_command()
{
	"$session" "$RF" run -- sh -c 'stty size; trap "stty size; exit 6" WINCH; echo up; while :; do sleep 0.1; done' \
		>out <<-'END' || expect_eq $? 6
			size 31 97
			expect up
			size 44 132
			end
		END
	grep -q '^44 132' out || fail "$(cat out)"
}

test_c9_control_z_stops_and_fg_goes_on()
{
	in_shell '"$RF" run -- sh -c "echo be\"\"gun; read x; echo got-\$x; read y; echo on-\$y"' <<-'END' || expect_eq $? 7
		expect begun
		send \x1a
		expect Stopped
		send echo the-shell-lives\n
		expect the-shell-lives\r
		send fg\n
		send abc\n
		expect got-abc
		send \x1a
		expect Stopped
		send bg\n
		expect &
		send fg\n
		send def\n
		expect on-def
		expect prompt>
		send exit 7\n
		end
	END
}

# Behind a shell that edits its line the terminal has that shell's settings: they are not for the
# command. A shell does not say that it brings a running job to the front.
test_c9_a_run_from_the_background_reads_once_it_is_in_front()
{
	"$session" bash --norc -i >session.out <<-'END' || expect_eq $? 5
		send PS1="prom""pt> "; bind "set enable-bracketed-paste off"\n
		expect prompt>
		send "$RF" run -- sh -c 'echo be""gun; cat; echo ended' &\n
		expect begun
		send fg\n
		expect run -- sh
		pause 0.6
		send hello\n
		expect hello\r\nhello
		send \x04
		expect ended
		expect prompt>
		send exit 5\n
		end
	END
}

# The inner shell's own: a job of it stops, the sandbox does not.
test_c9_a_shell_inside_has_job_control()
{
	env PS1='prompt> ' "$session" "$RF" run --env PS1 -- bash --norc --noediting -i >out <<-'END' || expect_eq $? 3
		expect prompt>
		send echo rea""dy; cat\n
		expect ready\r
		send abc\n
		expect abc\r\nabc
		send \x1a
		expect Stopped
		send jobs\n
		expect Stopped
		send fg\n
		send \x04
		expect prompt>
		send exit 3\n
		end
	END
	! grep -qi 'no job control\|cannot set terminal' out || fail "$(cat out)"
}

test_c9_control_c_reaches_the_command_in_front()
{
	echo 'trap "echo caught; exit 9" INT; echo begun; while :; do sleep 0.1; done' >wait.sh
	in_shell '"$RF" run -- sh wait.sh; echo was-$?' <<-'END' || expect_eq $? 7
		expect begun
		send \x03
		expect caught
		expect was-9
		send exit 7\n
		end
	END
}

# A canonical, echoing terminal before, the same after, however it ended.
test_c9_the_callers_settings_are_back_whatever_happens()
{
	local ending
	for ending in 'send \x03' 'kill KILL ringfence' 'kill TERM ringfence' 'kill KILL ringfenced' \
		'kill KILL ringfence-keep'; do
		"$session" sh -c '"$RF" run -- sh -c "echo begun; read x"; sleep 0.3; echo over; read y' >out <<-END || :
			expect begun
			settings
			$ending
			expect over
			settings
			send x\\n
			end
		END
		expect_eq "$(grep -o 'settings: .*' out | tr -d '\r' | xargs)" \
			'settings: echo 0 canonical 0 signals 0 settings: echo 1 canonical 1 signals 1'
	done
}

test_c9_output_before_the_end_reaches_a_slow_reader()
{
	"$RF" run --tty -- sh -c 'seq 20000; echo the-last' </dev/null 2>&1 |
		{ sleep 1; tr -d '\r'; } >out
	expect_eq "$(wc -l <out)" 20001
	expect_eq "$(tail -n 1 out)" the-last
}

# The reader is gone, and with it the terminal; one that takes nothing does not outlast a limit.
test_c9_nobody_reads_and_the_run_ends()
{
	{
		timeout 20 "$RF" run --tty --result hangup.json -- yes </dev/null || :
	} 2>err | head -n 1 >out
	expect_json hangup.json .stage exit
	{
		timeout 20 "$RF" run --tty --timeout 500ms --grace 100ms --result r.json -- yes </dev/null || :
	} 2>err | {
		wait_for 10 test -s r.json || fail 'it waits for a reader'
		cat >out
	}
	expect_json r.json .reason timeout
	# A person who looks away from a terminal that is full.
	"$session" sh -c '"$RF" run --timeout 500ms --grace 100ms --result t.json -- yes; echo status-$?' >out <<-'END'
		expect y
		look-away t.json
		expect status-124
		end
	END
}

test_c9_what_is_piped_in_ends()
{
	echo 'echo from-a-pipe; exit 4' | expect_status 4 timeout 20 "$RF" run --tty -- sh >out
	grep -q 'from-a-pipe.$' out || fail "$(cat out)"
	printf unfinished | timeout 20 "$RF" run --tty -- cat >out
	grep -q 'unfinished' out || fail "$(cat out)"
}

test_c9_messages_do_not_stagger_on_a_raw_terminal()
{
	"$session" "$RF" run --read nope --verbose -- sh -c 'echo begun; sleep 0.2' <<<end >out
	! grep -P 'ringfence: .*(?<!\r)$' out || fail "a line without a carriage return"
}

test_b14_strict_has_no_terminals()
{
	local waived=(--waive exec-audit --waive process-tree --waive denial-record)
	expect_status 125 "$RF" run --strict --tty --result r.json -- true 2>err
	expect_json r.json .refusal.code terminal-strict
	expect_status 2 "$session" "$RF" run --strict "${waived[@]}" -- sh -c 'echo x >/dev/tty' <<<end >out
}

test_c5_the_client_is_killed_with_a_terminal_and_nothing_is_left()
{
	"$session" "$RF" run -- sh -c 'echo begun; exec sleep 7791' >out <<-'END' || :
		expect begun
		kill KILL ringfence
	END
	wait_for 5 gone 'sleep 7791'
	! pgrep -x ringfence-tty >/dev/null || wait_for 5 gone_name ringfence-tty
}
gone_name()
{
	! pgrep -x "$1" >/dev/null
}
