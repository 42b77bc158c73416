# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# For the attacks here, whose programs print a line an attempt: its name and the errno's name, 0 where
# it succeeded.

# expect_errnos FILE ATTEMPTS ERRNO...: each attempt whose whole name fits the expression ended with
# one of these, and there was one. `! ERRNO...`: with none of these.
expect_errnos()
{
	local file=$1 attempts=$2 negated=0
	shift 2
	if [[ $1 == '!' ]]; then
		negated=1
		shift
	fi
	awk -v attempts="^($attempts)\$" -v listed=" $* " -v negated="$negated" '
		$1 !~ attempts { next }
		{ n++ }
		(index(listed, " " $2 " ") == 0) != negated { print "  " $0 }
		END { if (n == 0) print "  none of that name" }' "$file" >"$RF_SCRATCH/.unexpected"
	[[ ! -s $RF_SCRATCH/.unexpected ]] ||
		fail "$file: expected of '$attempts': $([[ $negated -eq 0 ]] || echo not) $*, but:
$(head -30 "$RF_SCRATCH/.unexpected")"
}

# expect_held RESULT PROMISE MECHANISM...: the run's own words about what held.
expect_held()
{
	local result=$1 promise=$2 mechanism
	shift 2
	expect_json "$result" ".enforcement.promises[\"$promise\"].state" enforced
	for mechanism; do
		expect_json "$result" \
			".enforcement.promises[\"$promise\"].by | index(\"$mechanism\") != null" true
	done
}

# without LAYER COMMAND...: the kernel has no such layer for the command.
without()
{
	local layer=$1 calls
	shift
	case $layer in
	landlock)
		calls=landlock_create_ruleset=ENOSYS,landlock_add_rule=ENOSYS
		calls+=,landlock_restrict_self=ENOSYS
		;;
	bpf) calls=bpf=EPERM ;;
	*) fail "no layer is called $layer" ;;
	esac
	"$(probe filter)" "$calls" -- "$@"
}
