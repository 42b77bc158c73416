# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Limits (C8): enforced and named where the cgroup has the controllers, refused where it has not.

needs test_f_88_a_limit_that_cannot_be_had_is_refused root no-cgroup-limits
test_f_88_a_limit_that_cannot_be_had_is_refused()
{
	expect_status 125 "$RF" run --memory 64M --result r.json -- touch ran 2>err
	[[ ! -e ran ]]
	expect_contains "$(<err)" 'ringfence: '
	expect_contains "$(<err)" 'memory controller'
	expect_json r.json '[.stage, .refusal.code, .refusal.mechanism, .refusal.promise]' \
		'["plan","limit-unavailable","cgroup-limits","limits"]'
	expect_json r.json '.refusal.missing | test("memory")' true
	expect_status 125 "$RF" run --pids 64 --result r.json -- touch ran 2>err
	[[ ! -e ran ]]
	expect_contains "$(<err)" 'pids controller'
	expect_json r.json '.refusal.missing | test("pids")' true
}

needs test_f_88_kill_works_without_controllers root cgroup
test_f_88_kill_works_without_controllers()
{
	local state=off
	[[ " $(<"$(cgroup_mount)/cgroup.controllers") " != *' memory '* ]] || state=enforced
	"$RF" run --result r.json -- true
	expect_json r.json .enforcement.mechanisms.cgroup.state enforced
	expect_json r.json '.enforcement.mechanisms["cgroup-limits"].state' "$state"
	expect_json r.json .enforcement.promises.reap.state enforced
	[[ $state == enforced ]] || expect_json r.json \
		'.enforcement.mechanisms["cgroup-limits"].why | test("controller")' true
}

needs test_f_88_a_waived_limit_is_said root no-cgroup-limits
test_f_88_a_waived_limit_is_said()
{
	"$RF" run --memory 64M --waive limits --result r.json -- true 2>err
	expect_contains "$(<err)" 'ringfence: '
	expect_json r.json .enforcement.waived '["limits"]'
	expect_json r.json .enforcement.promises.limits.state off
}

needs test_f_87_an_ordinary_user_is_told_what_to_do root userns
test_f_87_an_ordinary_user_is_told_what_to_do()
{
	as_user 1000 mkdir run
	expect_status 125 as_user 1000 env XDG_RUNTIME_DIR="$PWD/run" \
		"$RF" run --memory 64M --result r.json -- touch ran 2>err
	[[ ! -e ran ]]
	expect_json r.json '.refusal.hint | test("systemd-run --user --scope -p Delegate=yes")' true
	expect_json r.json '.refusal.hint | test("run it as root") and (test("service") | not)' true
	expect_lacks "$(<err)" 'No such file'
}

needs test_f_92_a_read_only_hierarchy_refuses_the_limit root cgroup
test_f_92_a_read_only_hierarchy_refuses_the_limit()
{
	local mount
	mount=$(cgroup_mount)
	expect_status 125 unshare -m sh -c 'mount -o remount,bind,ro "$0" &&
		exec "$RF" run --memory 64M --result r.json -- touch ran' "$mount" 2>err
	[[ ! -e ran ]]
	expect_json r.json .refusal.promise limits
	# Without a limit the namespace reaps, and the report says that it is alone.
	unshare -m sh -c 'mount -o remount,bind,ro "$0" && exec "$RF" run --result r.json -- true' "$mount"
	expect_json r.json .enforcement.mechanisms.cgroup.state off
	expect_json r.json .enforcement.promises.reap.by '["pid-namespace"]'
}

needs test_f_90_there_is_no_hidden_limit host
test_f_90_there_is_no_hidden_limit()
{
	"$RF" run -- sh -c 'ulimit -a' >a
	sh -c 'ulimit -a' >b
	cmp a b
	"$RF" run -- sh -c 'ulimit -H -a' >a
	sh -c 'ulimit -H -a' >b
	cmp a b
	"$RF" plan --json -- true >p.json
	expect_json p.json '.limits | map(.effective) | unique' '["none"]'
}

needs test_f_90_the_callers_own_limits_hold host
test_f_90_the_callers_own_limits_hold()
{
	(ulimit -S -n 77 && ulimit -c 0 && exec "$RF" run -- sh -c 'ulimit -n; ulimit -c') >out
	expect_eq "$(xargs <out)" '77 0'
	(ulimit -n 1000 && exec "$RF" run -- sh -c 'ulimit -H -n') >out
	expect_eq "$(<out)" 1000
}

needs test_c8_plan_prints_asked_and_effective host
test_c8_plan_prints_asked_and_effective()
{
	"$RF" plan --json --timeout 90s -- true >p.json
	expect_json p.json '.limits.timeout | has("asked") and has("effective")' true
	expect_json p.json '.limits.timeout.asked == .limits.timeout.effective' true
	"$RF" plan --json --timeout none -- true >p.json
	expect_json p.json .limits.timeout.effective none
}

needs test_c8_a_bad_limit_is_refused host
test_c8_a_bad_limit_is_refused()
{
	local option
	for option in '--timeout 0' '--timeout -1s' '--timeout 5x' '--timeout 99999999999999999999s' \
		'--memory 1Q' '--memory -5' '--memory 0' '--pids 0' '--pids x' '--pids -3' '--grace 2'; do
		# shellcheck disable=SC2086
		expect_status 125 "$RF" run $option -- touch ran 2>err
		# By its name, as an option or as a key of the policy.
		option=${option%% *}
		expect_contains "$(<err)" "${option#--}"
	done
	[[ ! -e ran ]]
}

# ---- where the cgroup has the controllers --------------------------------------------------------

needs test_f_91_out_of_memory_is_named root cgroup-limits
test_f_91_out_of_memory_is_named()
{
	expect_status 137 "$RF" run --memory 64M --result r.json -- \
		python3 -S -c 'b = bytearray(10**9)' 2>err
	expect_json r.json '[.reason, .exit_code, .limits_hit]' '["oom",137,["memory"]]'
	expect_json r.json '.memory_peak_bytes <= 67108864' true
	expect_json r.json .enforcement.promises.limits.state enforced
	expect_json r.json '.enforcement.promises.limits.by | index("cgroup-limits") != null' true
}

needs test_f_91_the_three_deaths_are_told_apart root cgroup-limits
test_f_91_the_three_deaths_are_told_apart()
{
	expect_status 124 "$RF" run --memory 64M --timeout 1s --result r.json -- sleep 7750
	expect_json r.json '[.reason, .limits_hit]' '["timeout",["timeout"]]'
	expect_status 137 "$RF" run --memory 64M --result r.json -- sh -c 'kill -9 $$'
	expect_json r.json '[.reason, .limits_hit]' '["signal",[]]'
	# A child of the command runs out of memory, the command goes on and ends by itself.
	expect_status 4 "$RF" run --memory 64M --result r.json -- \
		sh -c 'python3 -S -c "b = bytearray(10**9)"; exit 4' 2>err
	expect_json r.json '[.reason, .exit_code, .limits_hit]' '["exit",4,["memory"]]'
}

needs test_f_89_memory_is_no_address_space root cgroup-limits
test_f_89_memory_is_no_address_space()
{
	expect_eq "$("$RF" run --memory 512M -- sh -c 'ulimit -v')" unlimited
	# Reserved and never touched.
	"$RF" run --memory 64M -- python3 -S -c 'import mmap
mmap.mmap(-1, 1 << 32, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000) # MAP_NORESERVE'
}

needs test_c8_swap_is_no_way_round root cgroup-limits
test_c8_swap_is_no_way_round()
{
	local client leaf
	"$RF" run --memory 64M --pids 20 --events e -- sleep 7751 &
	client=$!
	wait_for 5 running 'sleep 7751'
	leaf=$(cgroup_mount)/ringfence/$(head -n1 e | jq -r .id)
	expect_eq "$(<"$leaf/memory.max")" 67108864
	[[ ! -e $leaf/memory.swap.max ]] || expect_eq "$(<"$leaf/memory.swap.max")" 0
	kill -TERM "$client"
	expect_status 143 wait "$client"
}

needs test_c8_processes_are_counted_without_ours root cgroup-limits
test_c8_processes_are_counted_without_ours()
{
	# Three at once are allowed: the shell and two of its children.
	expect_status 0 "$RF" run --pids 3 --result r.json -- sh -c 'sleep 0.2 & sleep 0.2 & wait'
	expect_json r.json .limits_hit '[]'
	"$RF" run --pids 2 --result r.json -- sh -c 'sleep 0.2 & sleep 0.2 & wait' 2>err || true
	expect_contains "$(<err)" fork
	expect_json r.json .limits_hit '["pids"]'
}

needs test_f_71_a_fork_bomb_dies_as_one guest root cgroup-limits time:60
test_f_71_a_fork_bomb_dies_as_one()
{
	local begin=$SECONDS
	expect_status 124 "$RF" run --pids 256 --timeout 3s --result r.json -- \
		bash -c ':(){ :|:& };:; sleep 30' 2>err
	[[ $((SECONDS - begin)) -le $((3 + $(scaled 3))) ]] || fail "took $((SECONDS - begin)) s"
	expect_json r.json .reason timeout
	# How many it makes in three seconds is the processor's affair.
	expect_json r.json '.limits_hit - ["pids"]' '["timeout"]'
	wait_for 3 gone 'sleep 30'
}

needs test_f_94_a_run_is_charged_for_itself_alone root cgroup-limits
test_f_94_a_run_is_charged_for_itself_alone()
{
	"$RF" run --result a.json -- sh -c 'head -c 40M /dev/zero >big'
	expect_json a.json '.memory_peak_bytes > 40000000' true
	"$RF" run --result b.json -- true
	expect_json b.json '.memory_peak_bytes < 16777216' true
}

needs test_f_86_a_busy_cgroup_is_explained guest root cgroup-limits
needs test_f_86_a_busy_cgroup_is_explained cold
test_f_86_a_busy_cgroup_is_explained()
{
	local mount status=0
	mount=$(cgroup_mount)
	mkdir "$mount/rf-life-ns"
	# As in a container: its own root, and the shell sits in it. A mount of the same hierarchy right
	# upon the old one would be busy, hence the one between.
	bash -c 'echo $$ >"$0/rf-life-ns/cgroup.procs" && exec unshare -Cm sh -c \
		"mount -t tmpfs t $0 && mount -t cgroup2 c $0 &&
			exec \"\$RF\" run --memory 64M --result r.json -- true"' \
		"$mount" 2>err || status=$?
	find "$mount/rf-life-ns" -depth -type d -exec rmdir {} \; 2>/dev/null ||
		wait_for 3 rmdir "$mount/rf-life-ns"
	if [[ $status -ne 0 ]]; then
		[[ $status -eq 125 ]] || fail "status $status: $(<err)"
		expect_contains "$(jq -r '.refusal | .message + .hint' r.json)" delegat
		expect_lacks "$(<err)" 'Device or resource busy'
	fi
}
