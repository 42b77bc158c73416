# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Our own programs, maps and pins, as a root inside would unmake them.
#
# The pins are in no mount inside, bpf() is refused by seccomp, and without CAP_BPF and
# CAP_SYS_ADMIN no object can be had by its number.

source "$RF_TOP/tests/escape/table.bash"

pins()
{
	find /sys/fs/bpf /run/ringfence -name '*ringfence*' -o -path '*ringfence*/*' 2>/dev/null | sort
}

test_b9_our_pins_and_maps_are_out_of_reach()
{
	"$RF" run -- sh -c 'echo up; read -r line; exit 4' <<<'' >/dev/null || expect_eq $? 4
	mkfifo go
	"$RF" run --result r.json -- sh -c '
		find / -xdev \( -name "*ringfence*" -o -name "rf_*" \) 2>/dev/null
		ls /sys/fs/bpf /run/ringfence /proc/1/fd /proc/1/map_files 2>&1
		grep -E "bpf|cgroup|tracefs|debugfs|securityfs" /proc/self/mounts
		read -r line <go' >confined &
	wait_for 5 grep -q map_files confined
	pins >"$RF_SCRATCH/pins"
	"$RF" run -- "$(probe escape_kernel)" >attempts
	expect_errnos attempts 'bpf-.*' EPERM
	pins | diff "$RF_SCRATCH/pins" -
	echo >go
	wait
	expect_json r.json .exit_code 0
	expect_eq "$(grep -vcE 'No such file|Permission denied' confined)" 0
}
