# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# What of the guarded filesystem depends on the kernel's settings, which only a guest may change.

needs test_f_15_io_uring_switched_off_for_the_host_gives_plain_calls guest io-uring kernel:6.12 alone
test_f_15_io_uring_switched_off_for_the_host_gives_plain_calls()
{
	local before
	before=$(cat /proc/sys/kernel/io_uring_disabled)
	echo one >f
	echo '{"op":"read","path":"f"}' >req.json
	"$RF" fs batch req.json >a
	echo 2 >/proc/sys/kernel/io_uring_disabled
	"$RF" fs batch req.json >b || true
	echo "$before" >/proc/sys/kernel/io_uring_disabled
	expect_json b .engine plain
	expect_eq "$(jq -c 'del(.engine)' b)" "$(jq -c 'del(.engine)' a)"
}
