# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Into a namespace of one's own, where everything is permitted again, or into another's.
#
# seccomp holds it: for root the missing capabilities would too, CLONE_NEWUSER excepted, which needs
# none; there nothing else holds but that a mount below Landlock is refused.

source "$RF_TOP/tests/escape/table.bash"

test_b9_f_108_no_namespace_can_be_made_or_entered()
{
	"$(probe escape_mount)" namespaces >unconfined
	expect_errnos unconfined '.*' 0

	"$RF" run --result r.json -- "$(probe escape_mount)" namespaces >confined
	# Its flags lie in memory, where no filter can look: a program falls back to clone.
	expect_errnos confined 'clone3-.*' ENOSYS
	expect_errnos confined '(unshare|clone|setns)-.*' EPERM
	expect_json r.json .enforcement.mechanisms.seccomp.state enforced
}

test_b9_an_ordinary_user_makes_no_user_namespace()
{
	as_user 1000 "$(probe escape_mount)" namespaces >unconfined
	expect_errnos unconfined '(unshare|clone|clone3)-user(.mnt)?' 0

	as_user 1000 "$RF" run -- "$(probe escape_mount)" namespaces >confined
	expect_errnos confined 'clone3-.*' ENOSYS
	expect_errnos confined '(unshare|clone|setns)-.*' EPERM
}
needs test_b9_an_ordinary_user_makes_no_user_namespace userns

test_f_108_threads_start_though_clone3_does_not()
{
	expect_eq "$("$RF" run -- /usr/bin/python3 -S -c 'import threading as t
x = t.Thread(target=print, args=("ok",)); x.start(); x.join()')" ok
}

# The program's own failure, not ours; a record of it where the kernel lets somebody see.
test_f_14_a_program_that_makes_namespaces_fails_by_itself()
{
	bwrap --ro-bind / / true
	expect_status 1 "$RF" run --result r.json -- bwrap --ro-bind / / true 2>error
	expect_contains "$(<error)" bwrap:
	expect_lacks "$(<error)" ringfence:
	expect_json r.json .reason exit
	if [[ $(jq -r '.enforcement.promises["denial-record"].state' r.json) == off ]]; then
		expect_json r.json .denials null
	else
		expect_json r.json '.denials | type' array
	fi
}

test_f_14_full_access_lets_it_work()
{
	"$RF" run --mode full-access -- bwrap --ro-bind / / true
}
