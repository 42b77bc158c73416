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
	# Of the two places one is used.
	{ find /sys/fs/bpf /run/ringfence/bpf -path '*ringfence*' ! -name '*.debug' 2>/dev/null || true; } |
		sort
}

test_b9_our_pins_and_maps_are_out_of_reach()
{
	mkfifo go
	"$RF" run --result r.json -- sh -c '
		find / -xdev \( -name "*ringfence*" -o -name "rf_*" \) 2>/dev/null
		ls /sys/fs/bpf /run/ringfence 2>&1
		grep -E "bpf|cgroup|tracefs|debugfs|securityfs" /proc/self/mounts
		echo looked; read -r line <go' >confined &
	wait_for 5 grep -q looked confined
	pins >"$RF_SCRATCH/pins"
	"$RF" run -- "$(probe escape_kernel)" >attempts
	expect_errnos attempts 'bpf-.*' EPERM
	# Another controller may have added its own.
	expect_eq "$(pins | comm -23 "$RF_SCRATCH/pins" -)" ''
	echo >go
	wait
	expect_json r.json .exit_code 0
	# Of two directories that are not there, and nothing else.
	expect_eq "$(grep -c 'No such file' confined)" 2
	expect_eq "$(wc -l <confined)" 3
}
