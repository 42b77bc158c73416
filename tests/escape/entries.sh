# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# The kernel's other entries: int 0x80 and x32, whose numbers a filter for 64 bits does not know.
#
# seccomp refuses every call that comes by them. Were they open, BPF LSM would still see a socket; of
# the rest nothing else holds.

source "$RF_TOP/tests/escape/table.bash"

test_b9_other_entries_are_closed()
{
	"$(probe escape_entry)" >unconfined
	# ENOSYS, SIGSEGV: this kernel has no such entry.
	expect_errnos unconfined 'i386-.*' 0 ENOSYS SIGSEGV
	expect_errnos unconfined 'x32-.*' 0 ENOSYS

	"$RF" run --net none -- "$(probe escape_entry)" >confined
	if grep -q 'i386-getpid SIGSEGV' unconfined; then
		expect_errnos confined 'i386-.*' EPERM SIGSEGV
	else
		expect_errnos confined 'i386-.*' EPERM
	fi
	expect_errnos confined 'x32-.*' EPERM
}
