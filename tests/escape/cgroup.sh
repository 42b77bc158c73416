# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Out of the cgroup, by which a sandbox is known and killed.
#
# Inside there is no cgroup filesystem, and nothing to mount one with. Full access has the host's: a
# move there is an event, the label stays on the process and with it the rules, and the end of the
# run finds it.

source "$RF_TOP/tests/escape/table.bash"

test_c2_no_cgroup_can_be_left_from_inside()
{
	local root
	root=$(cgroup_mount)
	(echo "$BASHPID" >"$root/cgroup.procs")
	"$RF" run -- sh -c "echo \$\$ >$root/cgroup.procs; echo 1 >$root/cgroup.kill
		cat /proc/self/cgroup; ls /sys/fs/cgroup; mount -t cgroup2 none /tmp" >confined 2>&1 || true
	expect_eq "$(grep -cE 'No such file|nonexistent|cannot create|denied|not permitted|superuser' \
		confined)" 4
	# The namespace hides where it is.
	expect_eq "$(grep -c '^0::/$' confined)" 1
	expect_lacks "$(grep '^0:' confined)" ringfence
}
needs test_c2_no_cgroup_can_be_left_from_inside cgroup

# leave COMMAND...: run it with full access, once its shell is in the root of the hierarchy.
leave()
{
	local root
	root=$(cgroup_mount)
	"$RF" run --mode full-access "${options[@]}" --events e --result r.json -- \
		/bin/sh -c "echo \$\$ >$root/cgroup.procs; $*"
}

test_c2_leaving_the_cgroup_is_an_event()
{
	local options=()
	expect_status 6 leave 'grep ^0: /proc/self/cgroup; exit 6' >moved
	expect_lacks "$(<moved)" ringfence
	jq -se 'any(.[]; .event == "escape")' e >/dev/null
	expect_json r.json .exit_code 6
}
needs test_c2_leaving_the_cgroup_is_an_event cgroup bpf-trace

# Moved by somebody outside, who may.
test_c2_who_was_moved_out_is_still_under_the_rules()
{
	local run shell
	"$RF" run --net none --external-read "$(probe escape_socket)" --events e --result r.json -- \
		sh -c "sleep 7764; $(probe escape_socket) create >confined" &
	run=$!
	wait_for 10 running 'sleep 7764'
	shell=$(awk '$1 == "PPid:" { print $2 }' "/proc/$(pids_of 'sleep 7764')/status")
	expect_contains "$(grep ^0: "/proc/$shell/cgroup")" ringfence
	echo "$shell" >"$(cgroup_mount)/cgroup.procs"
	expect_lacks "$(grep ^0: "/proc/$shell/cgroup")" ringfence
	pkill -fx 'sleep 7764'
	wait "$run"
	expect_errnos confined '.*' EPERM EAFNOSUPPORT
	expect_errnos confined '2,1,0|2,2,0|1,1,0|16,3,0' EPERM
	[[ $(jq -r '.enforcement.promises["process-tree"].state' r.json) == off ]] ||
		jq -se 'any(.[]; .event == "escape")' e >/dev/null
}
needs test_c2_who_was_moved_out_is_still_under_the_rules cgroup

test_c4_who_left_the_cgroup_does_not_survive_the_run()
{
	local options=()
	leave 'setsid sleep 7763 >/dev/null 2>&1 & exit 0'
	wait_for 3 gone 'sleep 7763'
}
needs test_c4_who_left_the_cgroup_does_not_survive_the_run cgroup
