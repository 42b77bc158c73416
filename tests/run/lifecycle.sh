# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# From the first process to the last: birth in the cgroup, stop, kill, death of client, controller
# and keeper, the ledger and the sweep (C1 to C6, C10, C11).

cgroup_base()
{
	printf '%s/ringfence' "$(cgroup_mount)"
}

# id_of FILE: of the run that writes these events, once it has started.
id_of()
{
	started "$1"
	jq -r 'select(.event == "start").id' "$1"
}

milliseconds()
{
	local now=$EPOCHREALTIME
	echo $((${now/./} / 1000))
}

# in_own_state FUNCTION: with a ledger and a runtime directory of its own, so that counts are exact
# while other runs come and go on this host. In a guest there are none.
in_own_state()
{
	if [[ $RF_KERNEL != host ]]; then
		"$1"
		return
	fi
	mkdir -p /var/lib/ringfence /run/ringfence
	unshare -m bash -c 'umount -l /run/ringfence/bpf 2>/dev/null # of another run, copied
		mount -t tmpfs -o mode=700 state /var/lib/ringfence
		mount -t tmpfs -o mode=755 run /run/ringfence
		source "$RF_TOP/tests/lib.sh"; source "$RF_TEST_FILE"
		trap '\''_on_error "$?" "$BASH_COMMAND"'\'' ERR; "$0"' "$1"
}

# ledger STATEMENT [VALUE...]: prints rows, a line each, fields separated by blanks.
ledger()
{
	python3 -S -c 'import sqlite3, sys
with sqlite3.connect("/var/lib/ringfence/ledger.db", timeout=20) as db:
    for row in db.execute(sys.argv[1], sys.argv[2:]):
        print(*row)' "$@"
}

# expect_nothing_left: what a run may not leave once its dead were swept.
expect_nothing_left()
{
	local left
	left=$(find /run/ringfence/private -type s 2>/dev/null || true)
	expect_eq "$left" ''
	expect_eq "$(ledger 'SELECT * FROM sandbox')" ''
	expect_lacks "$(</proc/self/mountinfo)" ' /run/ringfence/bpf '
	left=$(find /run/ringfence/bpf /sys/fs/bpf/ringfence* -type f 2>/dev/null || true)
	expect_eq "$left" ''
}

# prepare_user: fills as_1000, a command's beginning. Paths of sockets are short, so the runtime
# directory lies in the workspace.
prepare_user()
{
	as_user 1000 mkdir -p run home
	as_1000=(setpriv --reuid 1000 --regid 1000 --clear-groups env HOME="$PWD/home"
		XDG_RUNTIME_DIR="$PWD/run")
}

sweep_twice()
{
	"$RF" sweep
	"$RF" sweep --json >counts.json
	expect_json counts.json 'to_entries | map(select(.value != 0))' '[]'
}

# ---- birth (C1, C2) ------------------------------------------------------------------------------

needs test_c1_first_process_is_born_in_a_recorded_cgroup root cgroup
test_c1_first_process_is_born_in_a_recorded_cgroup()
{
	local id leaf pid client
	"$RF" run --events e -- sleep 7720 &
	client=$!
	id=$(id_of e)
	leaf=$(cgroup_base)/$id
	wait_for 5 running 'sleep 7720'
	pid=$(pids_of 'sleep 7720')
	expect_contains "$(<"$leaf/cgroup.procs")" "$pid"
	expect_eq "$(ledger 'SELECT cgroup_id FROM sandbox WHERE id = ?' "$id")" "$(stat -c %i "$leaf")"
	expect_eq "$(ledger 'SELECT boot_id FROM sandbox WHERE id = ?' "$id")" \
		"$(</proc/sys/kernel/random/boot_id)"
	"$RF" kill "$id" --grace 0s
	expect_status 137 wait "$client"
	[[ ! -e $leaf ]]
	expect_eq "$(ledger 'SELECT id FROM sandbox WHERE id = ?' "$id")" ''
}

needs test_c1_each_run_has_a_fresh_cgroup root cgroup
test_c1_each_run_has_a_fresh_cgroup()
{
	"$RF" run --result a.json -- true
	"$RF" run --result b.json -- true
	[[ $(jq -r .id a.json) != "$(jq -r .id b.json)" ]]
	expect_json a.json .enforcement.mechanisms.cgroup.state enforced
}

test_c2_descendants_die_whatever_they_did()
{
	"$RF" run --result r.json -- sh -c '(setsid sh -c "sleep 7721 & exit" &)
		nohup setsid sleep 7721 >/dev/null 2>&1 &
		sleep 0.3'
	gone 'sleep 7721' || fail 'a descendant lives on'
	expect_json r.json .reason exit
	expect_json r.json .processes.stragglers_killed 2
}

needs test_c2_a_process_moved_to_another_cgroup_dies_too root cgroup bpf-trace
test_c2_a_process_moved_to_another_cgroup_dies_too()
{
	local id pid client other status=0
	other=$(dirname "$(cgroup_base)")/rf-life-$$
	mkdir "$other"
	"$RF" run --events e -- sh -c 'sleep 7722 & echo x >started; wait' &
	client=$!
	id=$(id_of e)
	wait_for 5 test -s started
	pid=$(pids_of 'sleep 7722')
	echo "$pid" >"$other/cgroup.procs"
	wait_for 5 grep -q '"event":"escape"' e || status=1
	"$RF" kill "$id" --grace 0s
	wait "$client" || true
	wait_for 3 gone 'sleep 7722'
	wait_for 3 rmdir "$other"
	[[ $status -eq 0 ]] || fail 'leaving the cgroup was no event'
	expect_json <(grep '"event":"escape"' e) .pid "$pid"
}

# ---- stop (C3) -----------------------------------------------------------------------------------

test_f_63_term_reaches_the_command_and_its_status_comes_back()
{
	local client
	"$RF" run --events e -- \
		sh -c 'trap "echo got; exit 9" TERM; sleep 7704 & echo x >started; wait' >out &
	client=$!
	# Before its client knows that it has started, a signal aborts the run.
	id_of e >id
	wait_for 5 test -s started
	kill -TERM "$client"
	expect_status 9 wait "$client"
	expect_eq "$(<out)" got
	gone 'sleep 7704' || fail 'sleep 7704 lives on'
}

test_f_63_kill_gives_the_grace_and_then_no_more()
{
	local id client begin took
	"$RF" run --events e --result r.json -- sh -c 'trap "" TERM; echo x >started; sleep 7780' &
	client=$!
	id=$(id_of e)
	wait_for 5 test -s started
	begin=$(milliseconds)
	"$RF" kill "$id" --grace 1s
	took=$(($(milliseconds) - begin))
	gone 'sleep 7780' || fail 'sleep 7780 lives on'
	expect_status 137 wait "$client"
	[[ $took -ge 900 && $took -lt $((1000 + $(scaled 1000))) ]] || fail "took $took ms"
	expect_json r.json .reason abort
}

test_c3_term_reaches_every_member_in_any_session()
{
	local id client
	"$RF" run --events e -- bash -c 'a() { trap "echo $1 >>got; exit 0" TERM; echo >>up
			while :; do sleep 0.05; done; }
		export -f a
		setsid bash -c "a one" & setsid bash -c "a two" & a three' &
	client=$!
	id=$(id_of e)
	wait_for 5 bash -c '[[ $(wc -l <up) -eq 3 ]]' 2>/dev/null
	"$RF" kill "$id" --grace 10s
	wait "$client" || true
	# The end of the first process ends the others, perhaps before their traps were through.
	expect_contains "$(<got)" three
}

test_c3_without_a_word_the_grace_is_two_seconds()
{
	local id client begin took
	"$RF" run --events e -- sh -c 'trap "" TERM; echo x >started; sleep 7723' &
	client=$!
	id=$(id_of e)
	wait_for 5 test -s started
	begin=$(milliseconds)
	"$RF" kill "$id"
	took=$(($(milliseconds) - begin))
	wait "$client" || true
	[[ $took -ge 1900 && $took -lt $((2000 + $(scaled 1000))) ]] || fail "took $took ms"
}

test_c3_repeated_stops_share_one_outcome_and_the_first_grace_wins()
{
	local id client begin took first second
	"$RF" run --events e --result r.json -- sh -c 'trap "" TERM; echo x >started; sleep 7724' &
	client=$!
	id=$(id_of e)
	wait_for 5 test -s started
	begin=$(milliseconds)
	"$RF" kill "$id" --grace 1500ms &
	first=$!
	sleep 0.$((RF_SCALE == 1 ? 3 : 9))
	"$RF" kill "$id" --grace 0s &
	second=$!
	wait "$first"
	wait "$second"
	took=$(($(milliseconds) - begin))
	expect_status 137 wait "$client"
	[[ $took -ge 1400 && $took -lt $((1500 + $(scaled 1000))) ]] || fail "took $took ms"
	expect_json r.json .reason abort
	expect_eq "$(jq -r 'select(.event == "stop").reason' e)" abort
}

needs test_c3_kill_of_an_unknown_sandbox_is_refused host
test_c3_kill_of_an_unknown_sandbox_is_refused()
{
	expect_status 125 "$RF" kill ffffffffffffffff 2>err
	expect_contains "$(<err)" 'ringfence: no sandbox ffffffffffffffff'
	expect_status 125 "$RF" freeze ffffffffffffffff 2>err
	expect_status 125 "$RF" kill 2>err
}

test_c3_ps_lists_what_a_private_controller_holds()
{
	local id client
	"$RF" run --events e -- sleep 7725 &
	client=$!
	id=$(id_of e)
	"$RF" ps --json >ps.json
	jq --arg id "$id" 'map(select(.id == $id))[0]' ps.json >mine.json
	expect_json mine.json .argv '["sleep","7725"]'
	expect_json mine.json .state running
	expect_json mine.json .uid 0
	expect_contains "$("$RF" ps)" "${id:0:12}"
	# An unambiguous beginning names it too.
	"$RF" kill "${id:0:10}" --grace 5s
	expect_status 143 wait "$client"
	expect_lacks "$("$RF" ps --json)" "$id"
}

needs test_f_68_frozen_trees_die root cgroup
test_f_68_frozen_trees_die()
{
	local id client pid
	"$RF" run --events e --result r.json -- sleep 7708 &
	client=$!
	id=$(id_of e)
	wait_for 5 running 'sleep 7708'
	pid=$(pids_of 'sleep 7708')
	"$RF" freeze "$id"
	wait_for 3 grep -q 'frozen 1' "$(cgroup_base)/$id/cgroup.events"
	expect_contains "$("$RF" ps --json | jq -c --arg id "$id" '.[] | select(.id == $id).state')" frozen
	kill -0 "$pid"
	timeout "$(scaled 10)" "$RF" kill "$id" --grace 1s
	gone 'sleep 7708' || fail 'sleep 7708 lives on'
	wait "$client" || true
	expect_json r.json .reason abort
}

needs test_c3_thaw_lets_a_frozen_tree_go_on root cgroup
test_c3_thaw_lets_a_frozen_tree_go_on()
{
	local id client
	"$RF" run --events e -- sh -c 'echo x >started; until test -e go; do sleep 0.05; done; exit 4' &
	client=$!
	id=$(id_of e)
	wait_for 5 test -s started
	"$RF" freeze "$id"
	wait_for 3 grep -q 'frozen 1' "$(cgroup_base)/$id/cgroup.events"
	touch go
	sleep 0.2
	kill -0 "$client"
	"$RF" thaw "$id"
	expect_status 4 wait "$client"
}

needs test_f_67_no_group_or_number_is_signalled root command:strace
test_f_67_no_group_or_number_is_signalled()
{
	expect_status 124 traced -f -o trace -e trace=kill,tkill,tgkill,pidfd_send_signal \
		"$RF" run --timeout 500ms -- sleep 7707
	gone 'sleep 7707' || fail 'sleep 7707 lives on'
	# The trace is worth something: it saw the TERM.
	grep -q 'pidfd_send_signal(.*SIGTERM' trace
	! grep -E '\b(kill|tkill|tgkill)\(' trace || fail 'a number was signalled'
}

needs test_f_69_a_shell_in_a_threaded_cgroup_gets_a_domain_elsewhere guest root cgroup
test_f_69_a_shell_in_a_threaded_cgroup_gets_a_domain_elsewhere()
{
	local threaded status=0
	threaded=$(dirname "$(cgroup_base)")/rf-life-threaded
	mkdir "$threaded"
	mkdir "$threaded/cg"
	echo threaded >"$threaded/cg/cgroup.type"
	# A thread moves only within its domain, so the whole process goes to the parent first.
	(
		echo "$BASHPID" >"$threaded/cgroup.procs"
		echo "$BASHPID" >"$threaded/cg/cgroup.threads"
		exec "$RF" run --result r.json -- true
	) || status=$?
	wait_for 3 rmdir "$threaded/cg"
	wait_for 3 rmdir "$threaded"
	if [[ $status -eq 0 ]]; then
		expect_json r.json .enforcement.mechanisms.cgroup.state enforced
	else
		expect_eq "$status" 125
		expect_contains "$(jq -c .refusal r.json)" cgroup
	fi
}

needs test_c3_without_a_cgroup_the_namespace_reaps_and_says_so root userns
test_c3_without_a_cgroup_the_namespace_reaps_and_says_so()
{
	local id client
	local -a as_1000=()
	prepare_user
	expect_status 3 "${as_1000[@]}" "$RF" run --result r.json -- \
		sh -c '(setsid sleep 7726 &); exit 3'
	gone 'sleep 7726' || fail 'sleep 7726 lives on'
	expect_json r.json .enforcement.mechanisms.cgroup.state off
	expect_json r.json .enforcement.promises.reap.state enforced
	expect_json r.json .enforcement.promises.reap.by '["pid-namespace"]'
	"${as_1000[@]}" "$RF" run --events e -- \
		sh -c 'trap "" TERM; (setsid sleep 7726 &); sleep 7726' &
	client=$!
	id=$(id_of e)
	wait_for 5 running 'sleep 7726'
	"${as_1000[@]}" "$RF" kill "$id" --grace 200ms
	wait "$client" || true
	gone 'sleep 7726' || fail 'sleep 7726 lives on after kill'
}

# ---- the command's end (C4) ----------------------------------------------------------------------

test_f_64_a_background_child_is_killed_and_counted()
{
	local begin took
	begin=$(milliseconds)
	"$RF" run --result r.json -- sh -c 'setsid sleep 7705 & exit 0'
	took=$(($(milliseconds) - begin))
	gone 'sleep 7705' || fail 'sleep 7705 lives on'
	expect_json r.json .processes.stragglers_killed 1
	[[ $took -lt $(scaled 2000) ]] || fail "took $took ms"
}

test_f_64_the_status_comes_back_at_once()
{
	local begin took
	begin=$(milliseconds)
	expect_status 3 "$RF" run --result r.json -- sh -c 'trap "" TERM; sleep 7781 & exit 3'
	took=$(($(milliseconds) - begin))
	gone 'sleep 7781' || fail 'sleep 7781 lives on'
	[[ $took -lt $(scaled 2000) ]] || fail "took $took ms"
}

test_f_65_the_end_of_the_command_is_end_of_file()
{
	local out
	out=$(timeout "$(scaled 5)" sh -c '"$RF" run -- sh -c "sleep 7706 & echo done" | cat')
	expect_eq "$out" 'done'
	gone 'sleep 7706' || fail 'sleep 7706 lives on'
}

test_f_65_kept_background_lives_until_killed()
{
	local id
	"$RF" run --keep-background --events e --result r.json -- \
		sh -c 'sleep 7782 >/dev/null 2>&1 & exit 6' || expect_eq $? 6
	id=$(jq -r .id r.json)
	expect_json r.json .processes.stragglers_killed 0
	running 'sleep 7782' || fail 'sleep 7782 was not kept'
	expect_contains "$("$RF" ps --json)" "$id"
	"$RF" kill "$id"
	gone 'sleep 7782' || fail 'sleep 7782 lives on'
	expect_lacks "$("$RF" ps --json)" "$id"
}

test_c4_kept_background_ends_the_sandbox_with_its_last_process()
{
	local id
	"$RF" run --keep-background --result r.json -- sh -c 'sleep 0.5 >/dev/null 2>&1 &'
	id=$(jq -r .id r.json)
	ended() { [[ $("$RF" ps --json) != *"$id"* ]]; }
	wait_for 5 ended
}

test_f_66_no_zombie_inside()
{
	expect_status 1 "$RF" run -- \
		sh -c '(sleep 0.1 &); sleep 0.6; grep -h ^State:.Z /proc/[0-9]*/status'
}

test_f_66_many_orphans_are_reaped()
{
	local n=$((RF_SCALE == 1 ? 200 : 40))
	timeout "$(scaled 10)" "$RF" run -- sh -c "for i in \$(seq $n); do (true &); done"
}

# ---- sudden deaths (C5) --------------------------------------------------------------------------

test_f_60_the_thread_that_started_the_client_may_end()
{
	python3 -S - "$RF" <<-'END'
		import subprocess, sys, threading
		client = []
		def start():
		    client.append(subprocess.Popen([sys.argv[1], "run", "--", "sleep", "1"]))
		thread = threading.Thread(target=start)
		thread.start()
		thread.join()
		sys.exit(client[0].wait())
	END
}

test_f_61_the_tree_dies_with_the_client()
{
	local client
	"$RF" run -- sh -c '(setsid sleep 7702 &); sleep 7702 & sleep 7702' &
	client=$!
	wait_for 5 count_of 3 'sleep 7702'
	kill -KILL "$client"
	wait "$client" || true
	wait_for 3 gone 'sleep 7702'
}

# kill_of ROLE...: SIGKILL at once to these of one run: client, controller, keeper.
kill_of()
{
	local client controller keeper role id status=0 option=${option-} seconds=${seconds-7727}
	local -a victims=()
	rm -f e
	# shellcheck disable=SC2086
	"$RF" run $option --events e -- sh -c '(setsid sleep $0 &); sleep $0 & sleep $0' "$seconds" 2>err &
	client=$!
	id=$(id_of e)
	wait_for 5 count_of 3 "sleep $seconds"
	controller=$(child_of "$client")
	keeper=$(child_of "$controller")
	for role in "$@"; do
		victims+=("${!role}")
	done
	kill -KILL "${victims[@]}"
	wait "$client" || status=$?
	wait_for 5 gone "sleep $seconds"
	# A client that lives says that the run is lost.
	if [[ " $* " != *' client '* ]]; then
		expect_eq "$status" 125
		grep -q '^ringfence: .*lost' err || fail "no word of the loss: $(<err)"
	fi
}

deaths_leave_nothing()
{
	kill_of client
	kill_of controller
	kill_of keeper
	kill_of client controller
	kill_of controller keeper
	kill_of client controller keeper
	sweep_twice
	expect_nothing_left
}

needs test_c5_no_death_leaves_an_orphan root time:90
needs test_c5_no_death_leaves_an_orphan cold
needs test_c5_no_death_leaves_an_orphan cold
test_c5_no_death_leaves_an_orphan()
{
	in_own_state deaths_leave_nothing
}

full_access_deaths_leave_nothing()
{
	local option='--mode full-access' seconds=7783
	kill_of client controller
	kill_of client controller keeper
	sweep_twice
	expect_nothing_left
}

needs test_c5_no_death_leaves_an_orphan_without_a_namespace root time:90
needs test_c5_no_death_leaves_an_orphan_without_a_namespace cold
needs test_c5_no_death_leaves_an_orphan_without_a_namespace cold
test_c5_no_death_leaves_an_orphan_without_a_namespace()
{
	in_own_state full_access_deaths_leave_nothing
}

needs test_c5_no_death_leaves_an_orphan_of_an_ordinary_user root userns
test_c5_no_death_leaves_an_orphan_of_an_ordinary_user()
{
	local client controller
	local -a as_1000=()
	prepare_user
	"${as_1000[@]}" "$RF" run -- \
		sh -c '(setsid sleep 7728 &); sleep 7728' &
	client=$!
	wait_for 5 running 'sleep 7728'
	controller=$(child_of "$client")
	kill -KILL "$client" "$controller" "$(child_of "$controller")"
	wait "$client" || true
	wait_for 5 gone 'sleep 7728'
}

killed_at_random_moments_on_the_host()
{
	local lane
	local -a lanes=()
	for lane in 1 2 3; do
		mkdir "w$lane"
		(cd "w$lane" && exec "$(probe life_kill)" 70 "$lane" "$RF" run -- \
			sh -c 'echo up; (setsid sleep 7729 &); sleep 7729 & sleep 7729') >"log$lane" &
		lanes+=($!)
	done
	for lane in "${lanes[@]}"; do
		wait "$lane" || fail "$(cat log*)"
	done
	gone 'sleep 7729' || fail 'sleep 7729 lives on'
	# Each of them was met often enough for the numbers to mean something.
	awk '{ hits[$1] += $2 }
		END { exit !(hits["client"] >= 100 && hits["controller"] >= 60 && hits["keeper"] >= 30) }' \
		log1 log2 log3 || fail "hits: $(cat log*)"
	sweep_twice
	expect_nothing_left
}

needs test_c5_kills_at_random_moments_leave_nothing host root time:180
needs test_c5_kills_at_random_moments_leave_nothing cold
test_c5_kills_at_random_moments_leave_nothing()
{
	in_own_state killed_at_random_moments_on_the_host
}

killed_in_the_midst_of_set_up()
{
	local n=$((RF_SCALE == 1 ? 16 : 4))
	"$(probe life_kill)" "$n" midst "$RF" run -- sh -c 'echo up; sleep 7784' >log || fail "$(<log)"
	sweep_twice
	expect_nothing_left
}

needs test_c5_kills_in_the_midst_of_set_up_leave_nothing root time:90
needs test_c5_kills_in_the_midst_of_set_up_leave_nothing cold
test_c5_kills_in_the_midst_of_set_up_leave_nothing()
{
	in_own_state killed_in_the_midst_of_set_up
}

needs test_c5_a_few_kills_at_random_moments_leave_nothing guest root time:60
needs test_c5_a_few_kills_at_random_moments_leave_nothing cold
needs test_c5_a_few_kills_at_random_moments_leave_nothing cold
test_c5_a_few_kills_at_random_moments_leave_nothing()
{
	"$(probe life_kill)" 4 "$((SRANDOM % 1000))" "$RF" run -- \
		sh -c 'echo up; (setsid sleep 7729 &); sleep 7729' >log || fail "$(<log)"
	gone 'sleep 7729' || fail 'sleep 7729 lives on'
	sweep_twice
	expect_nothing_left
}

stopped_controller_does_not_help()
{
	local client controller
	"$RF" run -- sh -c '(setsid sleep 7730 &); sleep 7730' &
	client=$!
	wait_for 5 running 'sleep 7730'
	controller=$(child_of "$client")
	kill -STOP "$controller"
	kill -KILL "$client"
	wait "$client" || true
	# The keeper looks at the client itself.
	wait_for 5 gone 'sleep 7730'
	kill -KILL "$controller"
	sweep_twice
	expect_nothing_left
}

needs test_c5_the_keeper_needs_no_controller_to_see_the_client_die root
needs test_c5_the_keeper_needs_no_controller_to_see_the_client_die cold
test_c5_the_keeper_needs_no_controller_to_see_the_client_die()
{
	in_own_state stopped_controller_does_not_help
}

launcher_killed_from_outside()
{
	local client id
	"$RF" run --events e -- sleep 7731 &
	client=$!
	id=$(id_of e)
	kill -TERM "$(child_of "$client")"
	expect_status 143 wait "$client"
	gone 'sleep 7731' || fail 'sleep 7731 lives on'
	[[ $id ]]
}

test_c5_an_orderly_stop_of_the_controller_ends_its_sandbox()
{
	launcher_killed_from_outside
}

# ---- ledger and sweep (C6, C11) ------------------------------------------------------------------

dead_launcher_is_swept()
{
	local client controller keeper
	"$RF" run -- sleep 7709 &
	client=$!
	wait_for 5 running 'sleep 7709'
	controller=$(child_of "$client")
	keeper=$(child_of "$controller")
	# The keeper too, or there would be nothing left to sweep.
	kill -KILL "$client" "$controller" "$keeper"
	wait "$client" || true
	wait_for 5 gone 'sleep 7709'
	expect_eq "$(ledger 'SELECT count(*) FROM sandbox')" 1
	[[ -S /run/ringfence/private/$controller.sock ]]
	"$RF" sweep --json >counts.json
	expect_json counts.json '.killed + .gone' 1
	"$RF" sweep --json >counts.json
	expect_json counts.json 'to_entries | map(select(.value != 0))' '[]'
	expect_json counts.json 'keys | sort' "$(jq -c -n '["owner-alive", "identity-unverified",
		"own-cgroup-unknown", "foreign-host", "kill-failed", "pre-boot", "gone",
		"identity-mismatch", "invalid-record", "own-cgroup", "killed"] | sort')"
	expect_nothing_left
}

needs test_f_70_sweep_cleans_up_and_again_is_harmless root
needs test_f_70_sweep_cleans_up_and_again_is_harmless cold
needs test_f_70_sweep_cleans_up_and_again_is_harmless cold
test_f_70_sweep_cleans_up_and_again_is_harmless()
{
	in_own_state dead_launcher_is_swept
}

# record ID [FIELD=VALUE...]: of a controller that is dead, unless a field says otherwise;
# write_records puts them into the ledger.
record()
{
	local IFS=$'\t'
	printf '%s\n' "$*" >>"$RF_SCRATCH/records"
}

write_records()
{
	python3 -S - "$RF_SCRATCH/records" <<-'END'
		import sqlite3, sys
		boot = open("/proc/sys/kernel/random/boot_id").readline().strip()
		try:
		    host = open("/etc/machine-id").readline().strip()
		except OSError:
		    host = ""
		with sqlite3.connect("/var/lib/ringfence/ledger.db", timeout=20) as db:
		    for line in open(sys.argv[1]):
		        first, *words = line.rstrip("\n").split("\t")
		        fields = dict(id=first, boot_id=boot, host_id=host, pid=1, start_ticks="1",
		            pidfd_inode="0", uid=0, base_path="/nowhere", leaf="", cgroup_id="0")
		        fields.update(word.split("=", 1) for word in words)
		        db.execute("INSERT INTO sandbox (%s) VALUES (%s)" %
		            (", ".join(fields), ", ".join("?" * len(fields))), tuple(fields.values()))
	END
}

# row N: an identity of the shape that controllers write.
row()
{
	printf '%016x' "$1"
}

# stranger NAME SECONDS: a cgroup with a sleeper that no sandbox of ours ever held. Prints nothing.
strangers=()
stranger()
{
	mkdir "$base/$1"
	sleep "$2" &
	disown
	echo $! >"$base/$1/cgroup.procs"
	strangers+=("$1")
}

end_strangers()
{
	local name
	for name in ${strangers[@]+"${strangers[@]}"}; do
		[[ -d $base/$name ]] || continue
		echo 1 >"$base/$name/cgroup.kill"
		wait_for 3 rmdir "$base/$name"
	done
	[[ ! -d $base/../rf-life-foreign ]] || rmdir "$base/../rf-life-foreign"
	strangers=()
}

# record_of N [FIELD=VALUE...]: one that names the cgroup of its row, by its right id.
record_of()
{
	local id
	id=$(row "$1")
	shift
	record "$id" base_path="$base" leaf="$id" cgroup_id="$(stat -c %i "$base/$id")" "$@"
}

# Rows of the right shape for cgroups that are none of ours, and rows of another shape: each names a
# stranger by the stranger's own id.
forge_records()
{
	local own foreign
	own=$(stat -c %i "$base/$(row 1)")
	record "$(row 30)" base_path="$base" leaf="../ringfence/$(row 1)" cgroup_id="$own"
	record "$(row 31)" base_path="$base" leaf="$(row 1)" cgroup_id="$own"
	record life base_path="$base" leaf=life cgroup_id="$own"
	record "$(row 32)" pid=x
	record_of 6 cgroup_id=-1
	record_of 7 cgroup_id=" $(stat -c %i "$base/$(row 7)")"
	foreign=../rf-life-foreign/$(row 8)
	record "$(row 8)" base_path="$(dirname "$base")/rf-life-foreign" leaf="$(row 8)" \
		cgroup_id="$(stat -c %i "$base/$foreign")"
	mkdir -p "ringfence/$(row 9)"
	record "$(row 9)" base_path="$PWD/ringfence" leaf="$(row 9)" cgroup_id=7
	# A link leads to the right place.
	mkdir link
	ln -s "$base" link/ringfence
	record_of 10 base_path="$PWD/link/ringfence"
	# An ordinary user's leaf, in the ledger of root.
	record "$(row 11)" base_path="$base" leaf="ringfence-$(row 11)" \
		cgroup_id="$(stat -c %i "$base/ringfence-$(row 11)")"
}

records_are_judged()
{
	local n status=0
	base=$(cgroup_base)
	"$RF" sweep --json >counts.json
	mkdir -p "$base" "$base/../rf-life-foreign"
	trap end_strangers EXIT
	for n in 1 2 3 4 6 7 10; do
		stranger "$(row $n)" 7732
	done
	stranger "../rf-life-foreign/$(row 8)" 7732
	stranger "ringfence-$(row 11)" 7732
	stranger "$(row 20)" 7733
	stranger "$(row 21)" 7734
	# Its owner lives: this very process.
	record_of 1 pid=$$ start_ticks="$(awk '{ print $22 }' /proc/$$/stat)"
	# Of another boot, of another host: what they name here is somebody else's.
	record_of 2 boot_id=00000000-0000-0000-0000-000000000000
	record_of 3 host_id=ffffffffffffffffffffffffffffffff
	# The same name, another cgroup.
	record_of 4 cgroup_id=77
	record "$(row 5)" base_path="$base" leaf="$(row 5)" cgroup_id=77
	forge_records
	# No id was recorded, and somebody is inside.
	record_of 21 cgroup_id=0
	# A pid that is in use again, by another process, does not keep it alive.
	record_of 20
	write_records
	"$RF" sweep --json >counts.json 2>err || status=$?
	count_of 9 'sleep 7732'
	running 'sleep 7734' || fail 'an unverified cgroup was killed'
	expect_eq "$status" 0
	gone 'sleep 7733' || fail 'what a dead controller left was not killed'
	[[ ! -e $base/$(row 20) ]]
	expect_json counts.json 'with_entries(select(.value != 0))' '{"owner-alive":1,'`
		`'"identity-unverified":1,"foreign-host":1,"pre-boot":1,"gone":1,"identity-mismatch":1,'`
		`'"invalid-record":10,"killed":1}'
	expect_contains "$(<err)" 'ringfence: '
	# These stay for the next sweep, the others were retired.
	expect_eq "$(ledger 'SELECT id FROM sandbox ORDER BY id' | xargs)" "$(row 1) $(row 3) $(row 21)"
	"$RF" sweep --json >counts.json 2>err
	expect_json counts.json 'with_entries(select(.value != 0))' \
		'{"owner-alive":1,"identity-unverified":1,"foreign-host":1}'
	count_of 9 'sleep 7732'
	end_strangers
	# Every start sweeps too; nobody is there any more.
	"$RF" run -- true
	expect_eq "$(ledger 'SELECT id FROM sandbox ORDER BY id' | xargs)" "$(row 1) $(row 3)"
	ledger 'DELETE FROM sandbox'
}

needs test_c6_each_record_is_judged_by_its_identity root cgroup time:90
needs test_c6_each_record_is_judged_by_its_identity cold
test_c6_each_record_is_judged_by_its_identity()
{
	in_own_state records_are_judged
}

own_cgroup_is_left_alone()
{
	local base
	base=$(cgroup_base)
	"$RF" sweep >/dev/null
	mkdir -p "$base/$(row 1)"
	record_of 1
	write_records
	(echo "$BASHPID" >"$base/$(row 1)/cgroup.procs" && exec "$RF" sweep --json) >counts.json
	wait_for 3 rmdir "$base/$(row 1)"
	expect_json counts.json 'with_entries(select(.value != 0))' '{"own-cgroup":1}'
	expect_eq "$(ledger 'SELECT id FROM sandbox')" ''
}

needs test_c6_a_sweep_never_kills_the_cgroup_that_it_sits_in root cgroup
needs test_c6_a_sweep_never_kills_the_cgroup_that_it_sits_in cold
test_c6_a_sweep_never_kills_the_cgroup_that_it_sits_in()
{
	in_own_state own_cgroup_is_left_alone
}

live_run_survives_a_sweep()
{
	local client id
	"$RF" run --events e -- sh -c 'echo x >started; until test -e go; do sleep 0.05; done; exit 5' &
	client=$!
	id=$(id_of e)
	wait_for 5 test -s started
	"$RF" sweep --json >counts.json
	expect_json counts.json 'with_entries(select(.value != 0))' '{"owner-alive":1}'
	expect_eq "$(ledger 'SELECT id FROM sandbox')" "$id"
	touch go
	expect_status 5 wait "$client"
}

needs test_c11_a_record_is_alive_while_its_controller_is root
needs test_c11_a_record_is_alive_while_its_controller_is cold
test_c11_a_record_is_alive_while_its_controller_is()
{
	in_own_state live_run_survives_a_sweep
}

# ---- many at once (C10) --------------------------------------------------------------------------

test_c10_many_run_at_once_and_none_sees_another()
{
	local n=$((RF_SCALE == 1 ? 50 : 6)) i status
	local -a clients=()
	for ((i = 0; i < n; i++)); do
		mkdir "w$i"
		echo "secret $i" >"w$i/mine"
		(cd "w$i" && exec "$RF" run --result "../r$i.json" -- sh -c '
			cat mine; cat ../w*/mine 2>/dev/null | grep -vxF "$(cat mine)"
			set -- /proc/[0-9]*; test $# -le 8 || echo "sees $#"
			kill -9 -1 2>/dev/null; exit 7') >"out$i" 2>"err$i" &
		clients+=($!)
	done
	for ((i = 0; i < n; i++)); do
		status=0
		wait "${clients[i]}" || status=$?
		[[ $status -eq 7 ]] || fail "run $i: status $status: $(<"err$i")"
		expect_eq "$(<"out$i")" "secret $i"
	done
	expect_eq "$(cat r*.json | jq -rs 'map(.id) | unique | length')" "$n"
}

a_broken_ledger_is_named()
{
	rm -f /var/lib/ringfence/ledger.db*
	python3 -S -c 'import sqlite3
with sqlite3.connect("/var/lib/ringfence/ledger.db") as db: db.execute("CREATE TABLE sandbox (x)")'
	expect_status 125 "$RF" run --result r.json -- touch ran 2>err
	expect_json r.json '[.refusal.code, .refusal.path]' \
		'["ledger-unavailable","/var/lib/ringfence/ledger.db"]'
	expect_json r.json '.refusal | has("hint")' true
	rm -f /var/lib/ringfence/ledger.db*
	chmod 775 /var/lib/ringfence
	expect_status 125 "$RF" run --result s.json -- touch ran 2>err
	expect_json s.json '[.refusal.code, .refusal.path]' '["ledger-unavailable","/var/lib/ringfence"]'
	expect_contains "$(<err)" '/var/lib/ringfence can be written by others'
	chmod 700 /var/lib/ringfence
	[[ ! -e ran ]]
}

needs test_c6_a_ledger_that_cannot_be_used_is_named host root
needs test_c6_a_ledger_that_cannot_be_used_is_named cold
test_c6_a_ledger_that_cannot_be_used_is_named()
{
	in_own_state a_broken_ledger_is_named
}
