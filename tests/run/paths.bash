# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016
#
# What paths.sh and view.sh share.

result=${RF_SCRATCH-}/result
messages=${RF_SCRATCH-}/messages

# run OPTION... -- COMMAND: with the result in $result.
run()
{
	ringfence run --result "$result" "$@"
}

# warned TEXT: exactly one line of Ringfence's has it.
warned()
{
	[[ $(grep -c "^ringfence: .*$1" "$messages") -eq 1 ]] || fail "not one line on $1: $(<"$messages")"
}

# refused CODE OPTION...: with that code, before anything ran.
refused()
{
	local code=$1
	shift
	expect_status 125 run "$@" -- touch ran 2>"$messages"
	expect_json "$result" .refusal.code "$code"
	expect_json "$result" .stage plan
	expect_eq "$(grep -c '^ringfence: ' "$messages")" 1
	[[ ! -e ran ]]
}

# with_own_mounts FUNCTION: mounts in it reach nobody else.
with_own_mounts()
{
	unshare --mount --propagation private bash -c 'source "$RF_TOP/tests/lib.sh"
		source "$RF_TEST_FILE"
		trap '\''_on_error "$?" "$BASH_COMMAND"'\'' ERR
		"$0"' "$1"
}
