# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# A program that has no name: from a memfd, and from a file that was removed. It is no way out of
# anything: the rules are the process's. That it ran is on record.

source "$RF_TOP/tests/escape/table.bash"

test_b9_a_program_without_a_name_is_confined_too()
{
	"$(probe escape_id)" memory id >unconfined
	expect_contains "$(<unconfined)" 'uid 0 '
	expect_lacks "$(<unconfined)" 'capabilities 0000000000000000'

	"$RF" run --events e --result r.json -- "$(probe escape_id)" memory id >confined
	expect_contains "$(<confined)" 'uid 0 euid 0 gid 0 egid 0 groups 0 capabilities 0000000000000000'
	[[ $(jq -r '.enforcement.promises["exec-audit"].state' r.json) == off ]] ||
		jq -se 'any(.[]; .event == "exec" and ((.marks // []) | index("fileless") != null))' \
			e >/dev/null
}

# The attack program runs another from memory, whose attempts fail as ever.
test_b9_what_runs_from_memory_meets_the_same_rules()
{
	cp "$(probe escape_mount)" attack
	"$RF" run -- sh -c 'exec 9<attack; rm attack; exec /proc/self/fd/9 namespaces' >confined
	expect_errnos confined 'clone3-.*' ENOSYS
	expect_errnos confined '(unshare|clone|setns)-.*' EPERM
}
