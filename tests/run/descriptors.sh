# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016,SC2164
#
# What a command gets of its caller's descriptors, and the files that Ringfence itself writes: B10,
# F-78, F-79, F-112. The shell's own first descriptors of this kind are 10 and above.

# A file that nothing of the policy opens.
secret_file()
{
	echo secret >"$RF_SCRATCH/secret"
	chmod 600 "$RF_SCRATCH/secret"
}

test_f_78_inherited_descriptors_are_closed_and_passed_by_number()
{
	secret_file
	exec 7<"$RF_SCRATCH/secret"
	sh -c 'cat <&7 >/dev/null'
	exec 7<"$RF_SCRATCH/secret"
	expect_status 2 run -- sh -c 'cat <&7' 2>/dev/null
	expect_eq "$(run --pass-fd 7 -- sh -c 'cat <&7')" secret
	exec 7<"$RF_SCRATCH/secret"
	expect_eq "$(run --pass-fd 7 --pass-fd 7 -- sh -c 'cat <&7')" secret
	# Not exec's own failures, which need a descriptor to be told by.
	expect_status 127 run --pass-fd 7 -- nosuchcmd 2>/dev/null
}

needs test_b10_numbers_are_checked_before_anything_runs host
test_b10_numbers_are_checked_before_anything_runs()
{
	local number
	for number in 0 1 2 -1 65536 99999999999 x '' 3x; do
		refused pass-fd-number --pass-fd "$number"
	done
	exec 7<&-
	refused pass-fd-closed --pass-fd 7
	exec 9</dev/null
	refused pass-fd-closed --pass-fd 9 --pass-fd 77
}

# The highest that there is, or that this machine's limit lets a process have.
needs test_f_78_a_high_number_stays_the_same host
test_f_78_a_high_number_stays_the_same()
{
	secret_file
	python3 -S - "$RF" "$RF_SCRATCH/secret" <<-'END' >out
		import os, resource, sys
		limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
		resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
		number = min(65535, limit - 1)
		os.dup2(os.open(sys.argv[2], os.O_RDONLY), number)
		os.execv(sys.argv[1], ["ringfence", "run", "--pass-fd", str(number), "--", "python3", "-c",
		    "import os, sys; print(os.read(int(sys.argv[1]), 9).decode(), end='')", str(number)])
	END
	expect_eq "$(<out)" secret
}

# The directory that is listed is 3 itself.
listed=0$'\n'1$'\n'2$'\n'3

test_f_79_no_descriptor_of_ours_reaches_the_command()
{
	printf 'mode: read-only\n' >p.yaml
	expect_eq "$(ringfence run -- ls /proc/self/fd)" "$listed"
	expect_eq "$(ringfence run --policy p.yaml -- ls /proc/self/fd)" "$listed"
	expect_eq "$(ringfence run --policy - -- ls /proc/self/fd <p.yaml)" "$listed"
	expect_eq "$(ringfence run --result "$result" --events "$RF_SCRATCH/events" -- ls /proc/self/fd)" \
		"$listed"
	expect_eq "$(ringfence run --result fd:9 --events fd:8 -- ls /proc/self/fd \
		9>"$result" 8>"$RF_SCRATCH/events" 5</etc 60</etc)" "$listed"
	expect_json "$result" .reason exit
	expect_eq "$(ringfence run --mode full-access --result fd:9 -- ls /proc/self/fd 9>"$result")" \
		"$listed"
	mkdir ws
	cd ws
	expect_eq "$(as_user 1000 ringfence run -- ls /proc/self/fd)" "$listed"
}

test_f_79_the_first_process_inside_holds_no_file_of_the_host()
{
	run -- sh -c 'for f in /proc/1/fd/*; do readlink "$f"; done' >fds 2>/dev/null || true
	expect_eq "$(grep -E '^/(etc|usr|root|home|sys|run)|bpf|ringfence' fds || true)" ''
}

test_f_79_closed_standard_streams_stay_closed_or_null()
{
	local status=0
	# Nothing of ours takes their numbers.
	run -- sh -c 'for n in 0 1 2; do readlink /proc/self/fd/$n; done >links 2>/dev/null' \
		<&- >&- 2>&- || status=$?
	[[ $status -eq 0 || $status -eq 1 ]]
	expect_eq "$(grep -Ev '^(/dev/null|.*/links)$' links 2>/dev/null || true)" ''
}

needs test_b10_an_io_uring_is_refused_at_every_number io-uring
test_b10_an_io_uring_is_refused_at_every_number()
{
	local number
	local -a options=()
	"$(probe ring_fd)" 7 sh -c 'readlink /proc/self/fd/7' | grep -q io_uring
	for number in 0 1 2 7; do
		[[ $number -ne 7 ]] || options=(--pass-fd 7)
		expect_status 125 "$(probe ring_fd)" "$number" ringfence run --result "$result" \
			"${options[@]}" -- touch ran 2>"$messages"
		[[ ! -e ran ]]
		expect_contains "$(jq -r .refusal.message "$result")" io_uring
	done
	# One that is not passed is closed as every other.
	expect_eq "$("$(probe ring_fd)" 7 ringfence run -- ls /proc/self/fd)" "$listed"
}

# A passed directory opens nothing below it that the rules close. In guests tests/escape/absent.sh
# attacks it.
needs test_f_112_a_passed_directory_opens_nothing_below_it host
test_f_112_a_passed_directory_opens_nothing_below_it()
{
	mkdir "$RF_SCRATCH/d" ws
	secret_file
	cp "$RF_SCRATCH/secret" "$RF_SCRATCH/d/secret"
	cd ws
	exec 7<"$RF_SCRATCH/d"
	python3 -S -c 'import os; os.open("secret", 0, dir_fd=7)'
	expect_status 1 run --pass-fd 7 -- python3 -S -c 'import os; os.open("secret", 0, dir_fd=7)' \
		2>"$messages"
	grep -q 'Errno 13' "$messages"
	expect_status 1 run --pass-fd 7 -- python3 -S -c 'import os; os.open("new", 65, dir_fd=7)' \
		2>"$messages"
	[[ ! -e $RF_SCRATCH/d/new ]]
	expect_status 1 run --pass-fd 7 -- python3 -S -c 'import os; os.unlink("secret", dir_fd=7)' \
		2>/dev/null
	[[ -e $RF_SCRATCH/d/secret ]]
	# A passed file keeps the rights that it was opened with, which the manual says.
	exec 8<"$RF_SCRATCH/d/secret"
	run --pass-fd 8 -- sh -c 'cat <&8 >/dev/null'
	expect_contains "$(tr '\n' ' ' <"$RF_TOP/docs/ringfence.1.scd")" 'keep'
}

# A way back to the host's tree, from a directory that was open on a standard stream.
needs test_f_112_a_directory_as_a_standard_stream_is_no_way_out host
test_f_112_a_directory_as_a_standard_stream_is_no_way_out()
{
	mkdir "$RF_SCRATCH/d" ws
	echo secret >"$RF_SCRATCH/d/secret"
	cd ws
	expect_eq "$(sh -c 'cd /proc/self/fd/0 && cat secret' <"$RF_SCRATCH/d")" secret
	expect_eq "$(expect_status 1 run -- sh -c 'cd /proc/self/fd/0; cat secret' <"$RF_SCRATCH/d" \
		2>/dev/null)" ''
	expect_eq "$(cat /proc/self/fd/0/secret <"$RF_SCRATCH/d")" secret
	expect_eq "$(expect_status 1 run -- cat /proc/self/fd/0/secret <"$RF_SCRATCH/d" 2>/dev/null)" ''
}

# ---- Files that Ringfence writes -----------------------------------------------------------------

needs test_b10_result_and_events_are_opened_without_following_links host
test_b10_result_and_events_are_opened_without_following_links()
{
	: >target
	ln -s target link
	ln -s nowhere dangling
	for name in link dangling; do
		expect_status 125 ringfence run --result "$name" -- touch ran 2>"$messages"
		grep -q '^ringfence: .*symbolic link' "$messages"
		expect_status 125 ringfence run --events "$name" -- touch ran 2>"$messages"
		grep -q '^ringfence: .*symbolic link' "$messages"
	done
	[[ ! -e ran && ! -s target && ! -e nowhere ]]
}

needs test_b10_result_and_events_take_an_open_descriptor_that_can_be_written host
test_b10_result_and_events_take_an_open_descriptor_that_can_be_written()
{
	ringfence run --result fd:9 --events fd:8 -- true 9>r 8>e
	expect_json r .reason exit
	expect_eq "$(jq -r .event e | head -n1)" start
	expect_eq "$(jq -r .event e | tail -n1)" stop
	ringfence run --result fd:1 -- true >r
	expect_json r .reason exit
	exec 9<&- 8</dev/null
	for name in fd:9 fd:8 fd:x fd:70000; do
		expect_status 125 ringfence run --result "$name" -- touch ran 2>"$messages"
		grep -q '^ringfence: ' "$messages"
		expect_status 125 ringfence run --events "$name" -- touch ran 2>"$messages"
		grep -q '^ringfence: ' "$messages"
	done
	expect_status 125 ringfence run --result nope/r -- touch ran 2>/dev/null
	expect_status 125 ringfence run --result . -- touch ran 2>/dev/null
	[[ ! -e ran ]]
}

# In a writable workspace too the command cannot say what it came to.
test_b10_the_result_is_closed_to_the_command()
{
	ringfence run --result r --events e -- sh -c 'cat r; echo forged >r; rm -f r; mv r r2
		echo "{\"reason\": \"forged\"}" >own; mv own r; echo forged >e; rm -f e' 2>/dev/null || true
	expect_json r .reason exit
	expect_json r .version 1
	expect_eq "$(jq -r .event e | head -n1)" start
	expect_eq "$(jq -r .event e | tail -n1)" stop
	[[ ! -e r2 ]]
	# The next run may write them again.
	ringfence run --result r --events e -- sh -c 'exit 3' || true
	expect_json r .exit_code 3
}

# Neither through a descriptor: of the launcher's, nor of a parent.
test_b10_the_result_cannot_be_reached_through_proc()
{
	ringfence run --result "$RF_SCRATCH/r" -- sh -c 'for p in /proc/[0-9]*; do for f in "$p"/fd/*; do
		case $(readlink "$f") in *"/r") echo forged >"$f"; esac; done; done' 2>/dev/null
	expect_json "$RF_SCRATCH/r" .reason exit
}
