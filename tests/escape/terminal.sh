# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Input pushed into a terminal, so that the shell that waits there runs it: TIOCSTI, the console's
# TIOCLINUX, and both with bits in the upper half of the register, where the kernel does not look.
#
# seccomp holds it. Not being in the terminal's session would stop TIOCSTI for a user without
# privileges, and root's capability is gone; a terminal of the sandbox's own is its own to push into,
# there nothing else holds.

source "$RF_TOP/tests/escape/table.bash"

test_b9_f_72_no_input_is_pushed_into_a_terminal()
{
	"$(probe escape_tty)" >unconfined
	expect_errnos unconfined 'openpt|terminal|TIOCSTI.*' 0
	# A pseudo-terminal has no console below it; what counts is that the question is let through.
	expect_errnos unconfined 'TIOCLINUX.*' ENOTTY

	"$RF" run --result r.json -- "$(probe escape_tty)" >confined
	expect_errnos confined 'openpt|terminal' 0
	expect_errnos confined 'TIOC(STI|LINUX).*' EPERM
	expect_held r.json terminal seccomp
}

# The caller's own, which came in as standard input.
test_f_72_the_callers_terminal_gets_no_input()
{
	local attack
	attack=$(probe escape_tty)
	script -qec "$attack 0" "$RF_SCRATCH/unconfined" >/dev/null
	# What was pushed in is echoed in between.
	sed 's/^x*//; s/\r$//' "$RF_SCRATCH/unconfined" >unconfined
	expect_errnos unconfined 'TIOCSTI.*' 0

	script -qec "$RF run --no-tty -- $attack 0" "$RF_SCRATCH/confined" >/dev/null
	sed 's/^x*//; s/\r$//' "$RF_SCRATCH/confined" >confined
	expect_errnos confined 'TIOC(STI|LINUX).*' EPERM
	expect_errnos confined 'tcgetattr|winsize|tcsetattr' 0
}

# One of the sandbox's own is pushed into no more than that.
test_f_72_a_terminal_of_its_own_gets_no_input_either()
{
	script -qec "$RF run --tty -- $(probe escape_tty) 0" "$RF_SCRATCH/confined" >/dev/null
	sed 's/^x*//; s/\r$//' "$RF_SCRATCH/confined" >confined
	expect_errnos confined 'TIOC(STI|LINUX).*' EPERM
	expect_errnos confined 'tcgetattr|winsize|tcsetattr' 0
}

# What a program does to a terminal every day works; a device that is none gives no ioctl away.
test_b3_f_73_ordinary_ioctls_work_on_terminals()
{
	"$RF" run -- "$(probe escape_tty)" >confined
	expect_errnos confined 'tcgetattr|winsize|tcsetattr|raw' 0
	expect_errnos confined null-ioctl ENOTTY
}

test_b3_other_devices_take_no_ioctl()
{
	"$(probe escape_tty)" >unconfined
	expect_errnos unconfined zero-ioctl ENOTTY
	"$RF" run -- "$(probe escape_tty)" >confined
	expect_errnos confined zero-ioctl EACCES
}
needs test_b3_other_devices_take_no_ioctl landlock:5
