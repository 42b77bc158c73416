# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016 # what is quoted is expanded inside
#
# Signals to, and looks into, processes outside.
#
# The PID namespace holds it: what is outside has no number inside (ESRCH, ENOENT). Only when strict
# does Landlock (ABI 6) bound signals as well.

source "$RF_TOP/tests/escape/table.bash"

# A process of the host that ends with the test, and its number.
start_victim()
{
	sleep 60 &
	victim=$!
	# Its number must be nobody's inside.
	[[ $victim -gt 20 ]]
}

test_b9_processes_outside_cannot_be_reached()
{
	local victim
	start_victim
	"$(probe escape_process)" other "$victim" >unconfined
	# EFAULT: permitted, but this address is nothing in that program.
	expect_errnos unconfined 'process_vm_.*' EFAULT
	sed -i '/^process_vm_/d' unconfined
	expect_errnos unconfined '.*' 0

	"$RF" run --result r.json -- "$(probe escape_process)" other "$victim" >confined
	expect_errnos confined 'kill|tgkill|sigqueue|pidfd_open|process_vm_.*|prlimit|ptrace-.*' ESRCH
	expect_errnos confined 'proc-.*' ENOENT
	expect_json r.json '.enforcement.mechanisms["pid-namespace"].state' enforced
	kill "$victim"
}

# Everybody that may be signalled: that must be the sandbox alone.
test_b9_kill_all_ends_the_sandbox_alone()
{
	local victim
	start_victim
	expect_status 137 "$RF" run --result r.json -- sh -c 'sleep 61 & kill -KILL -1; kill -KILL 0'
	expect_json r.json .reason signal
	kill -0 "$victim"
	kill "$victim"
}

# The parent, as the program sees it, is outside: there is none.
test_b9_the_parent_is_the_launcher()
{
	expect_eq "$("$RF" run -- sh -c 'echo $PPID; echo /proc/[0-9]*')" $'1\n/proc/1 /proc/2'
}

test_b9_own_processes_can_be_debugged_and_killed()
{
	"$(probe escape_process)" own >unconfined
	expect_errnos unconfined '.*' 0
	"$RF" run -- "$(probe escape_process)" own >confined
	# Landlock lets nobody open below /proc for writing; debuggers go on with PTRACE_POKEDATA.
	expect_errnos confined proc-mem-write 0 EACCES
	sed -i '/^proc-mem-write /d' confined
	expect_errnos confined '.*' 0
}

test_b9_strace_works_inside()
{
	"$RF" run -- strace -f -o trace sh -c '/bin/true; exit 3' || expect_eq $? 3
	grep -q 'exited with 3' trace
}
needs test_b9_strace_works_inside command:strace
