# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# What a test file below tests/run and tests/escape may use. A file declares needs and defines
# functions named test_…; the runner calls each in a bash of its own, as root unless it says
# otherwise, in an empty workspace, with `ringfence` on the PATH and nothing on standard input. The
# first command that fails, ends the test: `expect_status` is for those that should.
#
#   RF             the ringfence under test
#   RF_TOP         the checkout
#   RF_SCRATCH     an empty directory that is not the workspace; the runner removes both
#   RF_SCALE       1 on a host, 4 in a guest, whose processor is emulated
#   RF_KERNEL      host, or the guest's kernel: 6.1, 6.12, 7.3

set -eEuo pipefail
shopt -s inherit_errexit

# needs TEST FEATURE...: without the features the test is skipped. Each is one of
#   root guest host cgroup cgroup-limits io-uring userns bpf-lsm bpf-trace bpf-fexit bpf-cgroup
#   kernel:6.12 (at least)  landlock:4 (ABI, at least)  command:curl
# or no-FEATURE for its absence; `time:120` is a longer limit in seconds, and `cold` runs the test while no other sandbox
# of the runner's keeps the BPF programs loaded, and `alone` keeps it
# from running beside others.
declare -gA needs_of=()
needs()
{
	local test=$1
	shift
	needs_of[$test]+=" $*"
}

# needs_all FEATURE...: of every test in the file.
declare -g needs_of_file=
needs_all()
{
	needs_of_file+=" $*"
}

# Where in the test file it happened, however deep in the helpers.
_where()
{
	local i
	for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
		if [[ ${BASH_SOURCE[i]} == "${RF_TEST_FILE-}" ]]; then
			printf '%s:%s' "${BASH_SOURCE[i]#"$RF_TOP"/}" "${BASH_LINENO[i - 1]}"
			return
		fi
	done
	printf '%s' "${RF_TEST_FILE-}"
}

_on_error()
{
	local status=$1 command=$2
	printf '%s: status %s from: %s\n' "$(_where)" "$status" "$command" >&2
}

fail()
{
	printf '%s: %s\n' "$(_where)" "$*" >&2
	trap - ERR
	exit 1
}

# skip REASON: for what no feature says. In the test itself, not in a subshell.
skip()
{
	printf '%s' "$*" >"$RF_SCRATCH/.skip"
	trap - ERR
	exit 77
}

# expect_status STATUS COMMAND...: its output passes, so it can be taken: out=$(expect_status 1 …)
expect_status()
{
	local want=$1 got=0
	shift
	"$@" || got=$?
	[[ $got -eq $want ]] || fail "status $got, not $want, from: $*"
}

expect_eq()
{
	[[ $1 == "$2" ]] || fail "got '$1', expected '$2'"
}

expect_contains()
{
	[[ $1 == *"$2"* ]] || fail "no '$2' in '$1'"
}

expect_lacks()
{
	[[ $1 != *"$2"* ]] || fail "'$2' in '$1'"
}

# expect_json FILE EXPRESSION VALUE: strings are compared bare, all else as compact JSON.
expect_json()
{
	local got
	got=$(jq -rc "$2" "$1") || fail "$1: no $2 in: $(head -c 2000 "$1")"
	[[ $got == "$3" ]] || fail "$1: $2 is '$got', expected '$3'"
}

# as_user UID COMMAND...: the workspace becomes that user's; HOME is an empty directory of its own.
as_user()
{
	local uid=$1 home=$RF_SCRATCH/home.$1
	shift
	if [[ $EUID -eq $uid ]]; then
		"$@"
		return
	fi
	[[ $(stat -c %u .) == "$uid" ]] || chown "$uid:$uid" .
	[[ -d $home ]] || install -d -o "$uid" -g "$uid" -m 755 "$home"
	HOME=$home setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

# scaled SECONDS: as long here as that is on a host.
scaled()
{
	echo $(($1 * RF_SCALE))
}

# wait_for SECONDS COMMAND...: until it succeeds; the time is scaled in a guest.
wait_for()
{
	local end=$((SECONDS + $1 * RF_SCALE + 1)) seconds=$1
	shift
	until "$@"; do
		[[ $SECONDS -lt $end ]] || fail "not within $seconds seconds: $*"
		sleep 0.05
	done
}

# gone 'sleep 7701': no process has exactly this command line.
gone()
{
	local status=0
	pgrep -fx -- "$1" >/dev/null || status=$?
	[[ $status -eq 1 ]]
}

running()
{
	pgrep -fx -- "$1" >/dev/null
}

# probe NAME: the path of a helper that the build made from tests/probes.
probe()
{
	local path=$RF_PROBES/$1
	[[ -x $path ]] || fail "$path is missing: run make tests"
	printf '%s\n' "$path"
}
