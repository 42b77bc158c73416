# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016 # what is quoted is expanded inside
#
# Attacks on what is ours: the launcher, which is process 1 inside, its memory, its environment, its
# channel to the keeper.
#
# It is not dumpable, so that ptrace, process_vm, pidfd_getfd and its files below /proc are refused
# (EPERM, EACCES) to everybody without CAP_SYS_PTRACE, and nobody has that. As process 1 it gets no
# signal that it does not want. Limits can be set to it (prlimit asks for the user alone): that can
# end the sandbox, and no more.

source "$RF_TOP/tests/escape/table.bash"

test_b9_the_launcher_cannot_be_looked_into()
{
	local victim
	sleep 60 &
	victim=$!
	"$(probe escape_process)" other "$victim" >unconfined
	kill "$victim"
	expect_errnos unconfined 'pidfd_getfd|ptrace-.*|proc-.*' 0
	expect_errnos unconfined 'process_vm_.*' EFAULT

	"$RF" run -- "$(probe escape_process)" other 1 >confined
	expect_errnos confined 'pidfd_getfd|process_vm_.*|ptrace-.*' EPERM
	expect_errnos confined 'proc-.*' EACCES
}

# In a namespace of that user's own, whose capabilities are gone as well.
test_b9_the_launcher_cannot_be_looked_into_by_an_ordinary_user()
{
	as_user 1000 "$RF" run -- "$(probe escape_process)" other 1 >confined
	expect_errnos confined 'pidfd_getfd|process_vm_.*|ptrace-.*' EPERM
	expect_errnos confined 'proc-.*' EACCES
}
needs test_b9_the_launcher_cannot_be_looked_into_by_an_ordinary_user userns

test_f_54_no_process_inside_has_the_callers_environment()
{
	local S=zz9
	export S
	expect_eq "$(sh -c 'cat /proc/self/environ' | grep -ac zz9)" 1
	# What cannot be opened is not read either.
	expect_eq "$("$RF" run -- sh -c 'cat /proc/*/environ /proc/*/cmdline 2>/dev/null; true' |
		grep -ac zz9)" 0
}

test_c3_the_launcher_outlives_every_signal_from_inside()
{
	"$RF" run --result r.json -- sh -c 'for s in KILL STOP TERM INT HUP QUIT ABRT SEGV USR1 PIPE ALRM 64
		do kill -$s 1; done; sleep 0.1; exit 5' || expect_eq $? 5
	expect_json r.json .reason exit
	expect_json r.json .exit_code 5
}

test_c7_a_starved_launcher_never_looks_like_success()
{
	local status=0
	"$RF" run --external-read "$(probe escape_process)" --result r.json -- \
		sh -c "$(probe escape_process) starve 1 >limits; exit 9" || status=$?
	expect_errnos limits '.*' 0 EPERM
	[[ $status -ne 0 ]]
	expect_eq "$(jq -r .exit_code r.json)" "$([[ $status -eq 9 ]] && echo 9 || echo null)"
}

# Nothing inside is connected to the keeper or the controller.
test_b10_no_descriptor_of_ours_is_left_inside()
{
	exec 9</etc
	expect_contains "$(ls -l /proc/self/fd)" /etc
	"$RF" run -- sh -c 'ls /proc/self/fd; ls -l /proc/self/fd' >confined
	# The fourth is ls's own.
	expect_eq "$(head -4 confined | tr '\n' ' ')" '0 1 2 3 '
	for word in socket pidfd memfd bwrap cgroup ringfence /etc; do
		expect_lacks "$(<confined)" "$word"
	done
}

# The keeper, the controller and their files: not in sight, whoever asks.
test_b9_the_keeper_is_out_of_sight()
{
	"$RF" run -- sh -c 'cat /proc/[0-9]*/comm; ls /run /run/ringfence /sys/fs/cgroup /sys/fs/bpf' \
		>confined 2>&1 || true
	expect_eq "$(grep -c ringfence-init confined)" 1
	expect_lacks "$(<confined)" ringfenced
	expect_lacks "$(<confined)" bwrap
	expect_eq "$(grep -c 'No such file or directory' confined)" 3
}
