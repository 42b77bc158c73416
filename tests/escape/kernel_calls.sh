# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Keys, BPF, performance counters, modules, another kernel, clocks, ports, handles of files: parts of
# the kernel that no sandbox bounds.
#
# seccomp answers all. For most the missing capabilities would too; keyctl, userfaultfd, an own
# perf_event_open and, by the host's setting, bpf need none: there nothing else holds.

source "$RF_TOP/tests/escape/table.bash"

test_b9_the_kernels_other_doors_are_closed()
{
	"$(probe escape_kernel)" >unconfined
	expect_errnos unconfined 'bpf-map-create|add_key|keyctl-.*|perf_event_open|mknod' 0
	# Lockdown and a missing feature have answers of their own; permission is not the reason.
	sed -Ei '/^(init_module|finit_module|kexec_.*|ioperm|iopl) /d' unconfined
	expect_errnos unconfined '.*' ! EPERM EACCES
	rm -f rf-node

	"$RF" run --result r.json -- "$(probe escape_kernel)" >confined
	expect_errnos confined mknod EPERM EACCES
	sed -i '/^mknod /d' confined
	expect_errnos confined '.*' EPERM
	[[ ! -e rf-node ]]
	expect_held r.json capabilities launcher
}

test_b9_the_kernels_other_doors_are_closed_to_an_ordinary_user()
{
	as_user 1000 "$(probe escape_kernel)" >unconfined
	expect_errnos unconfined 'add_key|keyctl-.*' 0

	as_user 1000 "$RF" run -- "$(probe escape_kernel)" >confined
	sed -i '/^mknod /d' confined
	expect_errnos confined '.*' EPERM
}
needs test_b9_the_kernels_other_doors_are_closed_to_an_ordinary_user userns
