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
#   RF_LANDLOCK    the kernel's ABI, found without the product; 0: none
#
# The matrix runs all this on an emulated processor, where a process takes 15 ms, a python3 a third of a
# second (a tenth with -S) and a run of Ringfence a quarter: few of them make a test.

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

# pids_of 'sleep 7701': of the processes with exactly this command line.
pids_of()
{
	"$RF_PROBES/pids" "$1"
}

# count_of NUMBER 'sleep 7701': so many of them run.
count_of()
{
	local pids
	pids=$(pids_of "$2") || fail 'pids cannot tell'
	# shellcheck disable=SC2086
	set -- "$1" $pids
	[[ $# -eq $(($1 + 1)) ]]
}

gone()
{
	count_of 0 "$1"
}

running()
{
	! gone "$1"
}

# child_of PID: its only child.
child_of()
{
	local children
	read -ra children <"/proc/$1/task/$1/children" || true
	[[ ${#children[@]} -eq 1 ]] || fail "$1 has ${#children[@]} children"
	printf '%s\n' "${children[0]}"
}

# traced ARGUMENT...: strace of a program that may have been built with a sanitizer, whose search for leaks
# is a trace as well.
traced()
{
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 strace "$@"
}

# jq, as tests/probes/json.c has it or hands it on.
jq()
{
	"$RF_PROBES/json" "$@"
}

cgroup_mount()
{
	local type path
	while read -r _ path type _; do
		[[ $type != cgroup2 ]] || { printf '%s\n' "$path"; return; }
	done </proc/mounts
}

# started FILE: the client of the run that writes these events knows that it has started; a signal
# before that aborts the run.
started()
{
	wait_for 10 grep -qs '"event":"start"' "$1"
}

# ---- One run, with its result and messages out of the way ----------------------------------------

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

# refused CODE OPTION...: with that code, in one line, before anything ran.
refused()
{
	local code=$1
	shift
	expect_status 125 run "$@" -- touch ran 2>"$messages"
	expect_json "$result" '[.refusal.code, .stage, .exit_code]' "[\"$code\",\"plan\",125]"
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

# probe NAME: the path of a helper that the build made from tests/probes.
probe()
{
	local path=$RF_PROBES/$1
	[[ -x $path ]] || fail "$path is missing: run make tests"
	printf '%s\n' "$path"
}
