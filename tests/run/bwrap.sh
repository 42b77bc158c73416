# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016,SC2094
#
# bubblewrap's own command line (B12, A16, C1 to C5): what it does with us is what it does without,
# and what it leaves is reaped.

result=${RF_SCRATCH-}/result
basic=(--ro-bind / / --dev /dev --proc /proc)

plain() { bwrap "$@"; }
ours() { ringfence bwrap "$@"; }

# outcome FUNCTION ARGUMENT...: status, output and messages of one of the two.
outcome()
{
	local status=0
	"$@" >"$RF_SCRATCH/out" 2>"$RF_SCRATCH/err" || status=$?
	printf 'status %s\n--- out\n%s\n--- err\n%s\n' "$status" "$(<"$RF_SCRATCH/out")" "$(<"$RF_SCRATCH/err")"
}

# same ARGUMENT...: with us as without.
same()
{
	local want
	want=$(outcome plain "$@")
	expect_eq "$(outcome ours "$@")" "$want"
}

# What a process has of its caller: descriptors with flags and targets, session, process group,
# limits, signals, umask, working directory.
inherited='import os, resource, signal
fds = [int(n) for n in os.listdir("/proc/self/fd")]
for fd in sorted(fds):
    try:
        flags = [line for line in open(f"/proc/self/fdinfo/{fd}") if line.startswith("flags")]
        print(fd, os.readlink(f"/proc/self/fd/{fd}"), *flags)
    except OSError:
        pass
print(os.getsid(0), os.getpgid(0), oct(os.umask(0)), os.getcwd(), os.nice(0))
print(*[resource.getrlimit(n) for n in range(16)])
print(*[line for line in open("/proc/self/status") if line.startswith(("SigB", "SigI", "Cap", "NoNew", "Groups"))])'

needs test_b12_the_same_output_and_status host
test_b12_the_same_output_and_status()
{
	same "${basic[@]}" sh -c 'echo out; echo err >&2; exit 7'
	same "${basic[@]}" -- sh -c 'exit 137'
	same "${basic[@]}" sh -c 'kill -SEGV $$'
	same "${basic[@]}" --unshare-all --share-net sh -c 'echo $$; id -u'
	same "${basic[@]}" --unshare-user --uid 7 --gid 8 id
	same "${basic[@]}" --unshare-uts --hostname other --setenv A 'x y' --unsetenv HOME \
		sh -c 'uname -n; echo "$A${HOME-none}"'
	same "${basic[@]}" --clearenv --setenv PATH /usr/bin env
	same "${basic[@]}" --chdir /usr --unshare-pid --as-pid-1 sh -c 'pwd; echo $$'
	same "${basic[@]}" --new-session --cap-drop ALL grep Cap /proc/self/status
	same "${basic[@]}" --tmpfs /tmp --dir /tmp/a --symlink b /tmp/c --perms 0700 --dir /tmp/d \
		--chmod 0755 /tmp/d sh -c 'ls -l /tmp | cut -c1-10,40-'
	expect_eq "$(ours "${basic[@]}" cat <<<'from standard input')" 'from standard input'
}

needs test_b12_errors_are_bubblewraps_own host
test_b12_errors_are_bubblewraps_own()
{
	same
	same --help
	same --version
	same --no-such-option x true
	same --bind /only-one
	same --ro-bind /no/such/source / true
	same "${basic[@]}" /no/such/program
	same "${basic[@]}" /etc/passwd
	same "${basic[@]}"
	same --args
	same --args x true
	same --args 77 "${basic[@]}" true
	same "${basic[@]}" --seccomp 77 true
	same - true
	same "${basic[@]}" --uid 7 true
	same "${basic[@]}" --rf true
}

needs test_b12_a_child_inherits_what_bubblewraps_would host
test_b12_a_child_inherits_what_bubblewraps_would()
{
	exec 5<"$RF_TOP/README.md" 6>"$RF_SCRATCH/file" 7<>"$RF_SCRATCH/both" 9< <(:)
	umask 013
	ulimit -n 777
	# Not CHLD: bubblewrap before 0.11.1 then waits for ever.
	trap '' USR1 PIPE
	same "${basic[@]}" python3 -c "$inherited"
	same "${basic[@]}" --unshare-all python3 -c "$inherited"
	outcome plain "${basic[@]}" python3 -c "$inherited" 0<&- 2>&- >want || true
	expect_eq "$(outcome ours "${basic[@]}" python3 -c "$inherited" 0<&- 2>&-)" "$(<want)"
}

needs test_b12_more_descriptors_than_a_message_carries host
test_b12_more_descriptors_than_a_message_carries()
{
	local with='import os, sys
fd = os.open("/dev/zero", os.O_RDONLY)
for n in range(20, 420):
    os.dup2(fd, n)
os.execvp(sys.argv[1], sys.argv[1:])'
	outcome python3 -c "$with" bwrap "${basic[@]}" python3 -c "$inherited" >want
	[[ $(wc -l <want) -gt 400 ]]
	expect_eq "$(outcome python3 -c "$with" "$RF" bwrap "${basic[@]}" python3 -c "$inherited")" "$(<want)"
}

needs test_b12_arguments_from_a_descriptor host
test_b12_arguments_from_a_descriptor()
{
	local words='--setenv\0A\0x y\0--unshare-uts\0--hostname\0given'
	# shellcheck disable=SC2059
	piped() { printf -- "$words" | "$@"; }
	outcome piped plain "${basic[@]}" --args 0 sh -c 'echo "$A"; uname -n; ls /proc/self/fd' >want
	expect_eq "$(outcome piped ours "${basic[@]}" --args 0 sh -c 'echo "$A"; uname -n; ls /proc/self/fd')" \
		"$(<want)"
	expect_contains "$(<want)" 'x y'
	# shellcheck disable=SC2059
	printf -- "$words" >words
	printf -- '--chdir\0/usr\0' >further
	both() { "$@" 5<words 6<further; }
	outcome both plain --args 5 "${basic[@]}" --args 6 sh -c 'echo "$A"; pwd; ls /proc/self/fd' >want
	expect_eq "$(outcome both ours --args 5 "${basic[@]}" --args 6 sh -c \
		'echo "$A"; pwd; ls /proc/self/fd')" "$(<want)"
	outcome both plain --args 5 --args 5 "${basic[@]}" true >want
	expect_eq "$(outcome both ours --args 5 --args 5 "${basic[@]}" true)" "$(<want)"
	# A directory cannot be read; the command's own --args is not ours to read.
	both() { "$@" 5</etc 6<further; }
	outcome both plain --args 5 "${basic[@]}" true >want
	expect_eq "$(outcome both ours --args 5 "${basic[@]}" true)" "$(<want)"
	expect_eq "$(both ours "${basic[@]}" echo --args 6)" '--args 6'
	# What is read there has no options of ours.
	printf -- '--rf-net\0none\0' >further
	outcome both plain --args 6 "${basic[@]}" true >want
	expect_eq "$(outcome both ours --args 6 "${basic[@]}" true)" "$(<want)"
}

needs test_b12_info_and_status_come_on_their_descriptors host
test_b12_info_and_status_come_on_their_descriptors()
{
	local of
	for of in plain ours; do
		"$of" "${basic[@]}" --unshare-all --info-fd 5 --json-status-fd 6 sh -c 'exit 3' \
			5>"info.$of" 6>"status.$of" || [[ $? -eq 3 ]]
	done
	expect_eq "$(jq -c keys info.ours)" "$(jq -c keys info.plain)"
	expect_eq "$(jq -c 'keys, .["exit-code"]' status.ours)" "$(jq -c 'keys, .["exit-code"]' status.plain)"
}

# The reader of --info-fd sees its end while the command runs: nobody else holds it.
needs test_b12_a_pipe_ends_when_bubblewrap_ends_it host
test_b12_a_pipe_ends_when_bubblewrap_ends_it()
{
	mkfifo go info
	ringfence bwrap "${basic[@]}" --unshare-all --info-fd 5 cat <go 5>info >/dev/null &
	local pid=$! child
	exec 8>go
	child=$(timeout 20 jq '.["child-pid"]' <info)
	[[ -d /proc/$child ]]
	exec 8>&-
	wait "$pid"
}

# uname(2) answers EPERM under it.
filter()
{
	python3 -c 'import struct, sys
def op(code, jt, jf, k): return struct.pack("=HBBI", code, jt, jf, k)
sys.stdout.buffer.write(op(0x20, 0, 0, 0) + op(0x15, 0, 1, int(sys.argv[1])) +
    op(6, 0, 0, 0x50000 | int(sys.argv[2])) + op(6, 0, 0, 0x7fff0000))' "$1" "$2"
}

needs test_b12_filters_block_and_sync_descriptors host
test_b12_filters_block_and_sync_descriptors()
{
	filter 63 22 >filter.uname
	filter 102 1 >filter.getuid
	filtered() { "$@" 5<filter.uname 6<filter.getuid; }
	for options in '--seccomp 5' '--add-seccomp-fd 5 --add-seccomp-fd 6' '--seccomp 5 --add-seccomp-fd 6'; do
		# shellcheck disable=SC2086
		outcome filtered plain "${basic[@]}" $options sh -c 'uname; ls /proc/self/fd' >want
		# shellcheck disable=SC2086
		expect_eq "$(outcome filtered ours "${basic[@]}" $options sh -c 'uname; ls /proc/self/fd')" \
			"$(<want)"
	done
	mkfifo block
	ringfence bwrap "${basic[@]}" --block-fd 5 touch "$PWD/ran" 5<block 2>/dev/null &
	exec 8>block
	echo >&8
	wait "$!" || true
	held() { "$@" 5<filter.uname; }
	outcome held plain "${basic[@]}" --unshare-pid --sync-fd 5 ls /proc/self/fd >want
	expect_eq "$(outcome held ours "${basic[@]}" --unshare-pid --sync-fd 5 ls /proc/self/fd)" "$(<want)"
	unshare -U sleep 7720 &
	local sleeper=$!
	wait_for 5 running 'sleep 7720'
	exec 7<"/proc/$sleeper/ns/user"
	same "${basic[@]}" --userns 7 readlink /proc/self/ns/user
	kill "$sleeper"
}

# As flatpak calls it: most options by descriptor, data and filters by descriptor, hundreds of binds.
needs test_b12_a_long_line_as_programs_make_it host
test_b12_a_long_line_as_programs_make_it()
{
	local -a options=(--ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64
		--symlink usr/bin /bin --proc /proc --dev /dev --tmpfs /tmp --perms 0700 --dir /run/user/0
		--unshare-all --die-with-parent --new-session --clearenv --setenv PATH /usr/bin --chdir /)
	local i
	for i in {1..400}; do
		options+=(--setenv "V$i" "value $i" --ro-bind-try "/etc/hosts" "/app/$i" --perms 0755 --dir "/app/d$i")
	done
	printf '%s\0' "${options[@]}" >options
	echo '[Application]' >info
	echo passwd >passwd
	filter 63 22 >filter.uname
	long()
	{
		"$@" --args 5 --perms 0600 --ro-bind-data 6 /.flatpak-info --file 7 /etc/passwd \
			--add-seccomp-fd 8 --json-status-fd 9 -- sh -c \
			'env | sort; ls / /app | sort; cat /.flatpak-info /etc/passwd; uname; ls /proc/self/fd; exit 6' \
			5<options 6<info 7<passwd 8<filter.uname 9>status
	}
	outcome long plain >want
	[[ $(wc -l <want) -gt 1000 ]]
	expect_contains "$(<want)" 'status 6'
	expect_eq "$(outcome long ours)" "$(<want)"
	expect_eq "$(outcome long ours --rf-timeout 1m --rf-grace 1s)" "$(<want)"
}

needs test_b12_a_link_named_bwrap_is_bubblewrap host
test_b12_a_link_named_bwrap_is_bubblewrap()
{
	ln -s "$RF" "$RF_SCRATCH/bwrap"
	linked() { "$RF_SCRATCH/bwrap" "$@"; }
	expect_eq "$(outcome linked "${basic[@]}" sh -c 'echo hi; exit 3')" \
		"$(outcome plain "${basic[@]}" sh -c 'echo hi; exit 3')"
	expect_eq "$(outcome linked --version)" "$(outcome plain --version)"
	expect_eq "$(linked --rf-result "$result" "${basic[@]}" echo hi)" hi
	expect_json "$result" .reason exit
	# A16: neither the link nor a copy is taken for the real one.
	cp "$RF" copy
	for file in "$RF_SCRATCH/bwrap" "$PWD/copy"; do
		expect_contains "$(expect_status 1 ours --rf-bubblewrap "$file" true 2>&1)" 'is ringfence itself'
	done
	chmod 777 copy
	expect_contains "$(expect_status 1 ours --rf-bubblewrap "$PWD/copy" true 2>&1)" writable
	expect_contains "$(expect_status 1 ours --rf-bubblewrap copy true 2>&1)" 'absolute path'
}

needs test_b12_a_missing_bubblewrap_is_named host root
test_b12_a_missing_bubblewrap_is_named()
{
	expect_contains "$(expect_status 1 unshare -m sh -c \
		'mount --bind /dev/null /usr/bin/bwrap; ringfence bwrap --ro-bind / / touch ran' 2>&1)" \
		'ringfence: bubblewrap (bwrap)'
	[[ ! -e ran ]]
}

# Every option of the installed one has as many values as we think: the word after them is ours.
needs test_b12_every_option_of_the_installed_one_is_known host time:120
test_b12_every_option_of_the_installed_one_is_known()
{
	local option values said n=0
	while read -r option values; do
		# shellcheck disable=SC2086
		said=$(expect_status 1 ours "$option" $values --rf-nonesuch true 2>&1)
		expect_contains "$said" 'unknown option --rf-nonesuch'
		n=$((n + 1))
	done < <(plain --help | sed -nE 's/^    (--[a-z0-9-]+)(( [A-Z0-9]+)*) .*/\1\2/p' |
		grep -vxE -- '--(help|version)')
	[[ $n -gt 55 ]]
}

needs test_b12_options_of_ours_stand_between_and_never_behind_the_command host
test_b12_options_of_ours_stand_between_and_never_behind_the_command()
{
	expect_eq "$(ours --rf-quiet --ro-bind / / --rf-timeout=1m --dev /dev echo --rf-net none)" '--rf-net none'
	expect_contains "$(expect_status 1 ours --no-such x --rf-net none true 2>&1)" 'put it before --no-such'
	expect_contains "$(expect_status 1 ours --rf-nett none true 2>&1)" 'did you mean --rf-net?'
	expect_contains "$(expect_status 1 ours --rf-timeout 2>&1)" 'needs a value'
	expect_contains "$(expect_status 1 ours --rf-net loopback "${basic[@]}" touch ran 2>&1)" --unshare-net
	expect_contains "$(expect_status 1 ours --rf-timeout soon 2>&1)" 'ringfence: --rf-timeout: '
	expect_contains "$(expect_status 1 ours --rf-waive nothing 2>&1)" 'ringfence: --rf-waive: '
	expect_contains "$(ours --rf-help)" --rf-timeout
	[[ ! -e ran ]]
}

test_b12_c4_what_is_left_is_reaped_and_the_result_says_so()
{
	ours --rf-result "$result" --rf-events events --ro-bind / / --dev-bind /dev /dev sh -c \
		'setsid sleep 7721 & sleep 7722 & sleep 0.5; exit 4' || [[ $? -eq 4 ]]
	gone 'sleep 7721'
	gone 'sleep 7722'
	expect_json "$result" '.reason, .exit_code' $'exit\n4'
	expect_json "$result" '.processes.stragglers_killed' 2
	expect_json "$result" '.enforcement.promises.reap.state' enforced
	expect_json "$result" '.argv[0]' bwrap
	if [[ $(jq -r '.enforcement.promises["exec-audit"].state' "$result") == enforced ]]; then
		expect_contains "$(jq -r 'select(.event == "exec").exe' events)" /usr/bin/bwrap
		expect_contains "$(jq -rc 'select(.event == "exec").argv' events)" '["sleep","7722"]'
	fi
	expect_eq "$(head -n1 events | jq -r .event)/$(tail -n1 events | jq -r .event)" start/stop
}

test_b12_b4_none_leaves_no_socket()
{
	local sockets
	sockets=$(probe sockets)
	"$sockets" 1 >/dev/null
	ours --rf-net open --ro-bind / / "$sockets" 1 >/dev/null
	for options in '' '--unshare-net' '--unshare-all'; do
		# shellcheck disable=SC2086
		expect_contains "$(expect_status 1 ours --rf-net none --rf-result "$result" --ro-bind / / $options \
			"$sockets" 1 2>&1)" 'Operation not permitted'
		expect_json "$result" '.enforcement.promises["socket-create"].state' enforced
	done
	[[ $RF_KERNEL == host ]] ||
		expect_contains "$(jq -c '.enforcement.promises["socket-create"].by' "$result")" bpf-lsm
	filter 63 22 >filter.uname
	expect_contains "$(expect_status 1 ours --rf-net none --ro-bind / / --seccomp 5 touch ran 5<filter.uname 2>&1)" \
		--add-seccomp-fd
	[[ ! -e ran ]]
	expect_status 1 ours --rf-net none --ro-bind / / --add-seccomp-fd 5 "$sockets" 1 5<filter.uname 2>/dev/null
}

test_b12_c8_limits_hold_around_it()
{
	expect_status 124 ours --rf-timeout 300ms --rf-grace 100ms --rf-result "$result" --ro-bind / / \
		sleep 7723 2>err
	gone 'sleep 7723'
	expect_json "$result" '.reason, .exit_code' $'timeout\n124'
	expect_contains "$(<err)" 'the wall-time limit of 300ms'
	if [[ $RF_KERNEL == host ]]; then
		expect_contains "$(expect_status 1 ours --rf-pids 3 --rf-result "$result" --ro-bind / / \
			touch ran 2>&1)" '--rf-waive limits'
		expect_json "$result" '.refusal.code, .exit_code' $'limit-unavailable\n1'
		ours --rf-pids 3 --rf-waive limits --ro-bind / / true
	else
		ours --rf-pids 3 --rf-result "$result" --ro-bind / / --dev-bind /dev /dev \
			sh -c 'sleep 1 & sleep 1 & sleep 1 & wait' 2>/dev/null || true
		expect_json "$result" .limits_hit '["pids"]'
	fi
}

needs test_b12_ps_and_kill_see_it host
test_b12_ps_and_kill_see_it()
{
	ringfence bwrap --rf-events events "${basic[@]}" sh -c 'trap "exit 9" TERM; sleep 7724 & wait' &
	local pid=$! id
	wait_for 10 running 'sleep 7724'
	id=$(head -n1 events | jq -r .id)
	expect_contains "$(ringfence ps)" "${id:0:12}"
	ringfence kill "$id"
	expect_status 9 wait "$pid"
	gone 'sleep 7724'
}

# died_of COMMAND...: minus the signal that ended it, or its status, as its parent sees it.
died_of='import os, signal, subprocess, sys, time
number, mark = int(sys.argv[1]), sys.argv[2]
process = subprocess.Popen(sys.argv[3:])
for _ in range(200):
    if subprocess.call(["pgrep", "-fx", mark], stdout=subprocess.DEVNULL) == 0:
        break
    time.sleep(0.05)
time.sleep(0.1)
os.kill(process.pid, number)
print(process.wait())'

needs test_b12_it_dies_of_a_signal_as_bubblewrap_does host
test_b12_it_dies_of_a_signal_as_bubblewrap_does()
{
	local number
	for number in 1 2 3 10 14 15 9; do
		expect_eq "$(python3 -c "$died_of" "$number" 'sleep 7725' bwrap "${basic[@]}" --die-with-parent \
			sleep 7725 2>/dev/null)" "-$number"
		wait_for 5 gone 'sleep 7725'
		expect_eq "$(python3 -c "$died_of" "$number" 'sleep 7725' "$RF" bwrap "${basic[@]}" sleep 7725)" \
			"-$number"
		wait_for 5 gone 'sleep 7725'
	done
}

needs test_b12_c5_nobodys_death_leaves_anything host
test_b12_c5_nobodys_death_leaves_anything()
{
	local pid controller
	ringfence bwrap --ro-bind / / sleep 7726 &
	pid=$!
	wait_for 10 running 'sleep 7726'
	kill -KILL "$pid"
	expect_status 137 wait "$pid"
	wait_for 5 gone 'sleep 7726'
	ringfence bwrap --ro-bind / / sleep 7726 2>err &
	pid=$!
	wait_for 10 running 'sleep 7726'
	controller=$(pgrep -P "$pid" -x ringfenced)
	kill -KILL "$controller"
	expect_status 1 wait "$pid"
	wait_for 5 gone 'sleep 7726'
	expect_contains "$(<err)" lost
	ringfence bwrap --ro-bind / / sleep 7726 &
	pid=$!
	wait_for 10 running 'sleep 7726'
	controller=$(pgrep -P "$pid" -x ringfenced)
	kill -KILL "$pid" "$controller"
	wait_for 5 gone 'sleep 7726'
	wait "$pid" || true
	ringfence sweep >/dev/null
}

needs test_b12_die_with_parent_is_honoured host
test_b12_die_with_parent_is_honoured()
{
	local parent
	printf -- '--die-with-parent\0' >dying
	for options in '--die-with-parent' '--args 5'; do
		# shellcheck disable=SC2086
		sh -c 'ringfence bwrap "$@" 5<dying; true' sh --ro-bind / / $options sleep 7727 &
		parent=$!
		wait_for 10 running 'sleep 7727'
		kill -KILL "$parent"
		wait_for 5 gone 'sleep 7727'
		wait "$parent" || true
	done
	# Without it the death of the parent changes nothing.
	sh -c 'ringfence bwrap --rf-events events --ro-bind / / sleep 7727; true' &
	parent=$!
	wait_for 10 running 'sleep 7727'
	kill -KILL "$parent"
	wait "$parent" || true
	sleep 0.5
	running 'sleep 7727'
	ringfence kill --grace 0s "$(head -n1 events | jq -r .id)"
	wait_for 5 gone 'sleep 7727'
}

needs test_b12_an_ordinary_user_has_what_there_is host root
test_b12_an_ordinary_user_has_what_there_is()
{
	as_user 1000 ringfence bwrap --rf-result "$PWD/r" "${basic[@]}" --unshare-pid sh -c \
		'echo hi; id -u; exit 5' >out || [[ $? -eq 5 ]]
	expect_eq "$(<out)" $'hi\n1000'
	expect_json r .exit_code 5
	expect_json r '.enforcement.mechanisms.cgroup.state' off
	expect_json r '.enforcement.promises.reap.state' off
	outcome as_user 1000 bwrap "${basic[@]}" python3 -c "$inherited" >want
	expect_eq "$(outcome as_user 1000 ringfence bwrap "${basic[@]}" python3 -c "$inherited")" "$(<want)"
	expect_contains "$(expect_status 1 as_user 1000 ringfence bwrap --rf-require reap "${basic[@]}" \
		touch ran 2>&1)" '--rf-require reap'
	# Without a cgroup it is bubblewrap's own promise that holds.
	as_user 1000 ringfence bwrap "${basic[@]}" --unshare-pid --die-with-parent sleep 7728 &
	wait_for 10 running 'sleep 7728'
	kill -KILL "$!"
	wait_for 5 gone 'sleep 7728'
	wait "$!" || true
}

# A shell with job control on a terminal: interrupt, stop, go on.
at_terminal='import os, pty, select, sys, time
child, fd = pty.fork()
if child == 0:
    os.execvp("bash", ["bash", "--norc", "--noediting", "-i"])
seen = ""
def until(mark):
    global seen
    end = time.time() + 20 * int(os.environ["RF_SCALE"])
    while mark not in seen and time.time() < end:
        if select.select([fd], [], [], 0.1)[0]:
            seen += os.read(fd, 4096).decode()
    if mark not in seen:
        sys.exit(f"no {mark!r} in {seen!r}")
    seen = seen.partition(mark)[2]
def say(line): os.write(fd, line.encode())
say("PS1= PS2=; stty -echo; echo on\"\"ly\n")
until("only")
bwrap = sys.argv[1] + " --ro-bind / / --dev-bind /dev /dev --proc /proc "
say(bwrap + "sh -c \"trap : INT; echo ready; sleep 9; exit 5\"\n")
until("ready")
time.sleep(0.2)
say("\x03")
say("echo status=$?\n")
until("status=130")
say(bwrap + "sh -c \"echo waiting; sleep 2; echo after; tty </dev/tty\"\n")
until("waiting")
say("\x1a")
say("echo status=$?; fg; echo status=$?\n")
until("status=148")
until("after")
until("/dev/")
until("status=0")'

needs test_b12_c9_job_control_is_as_without_us host
test_b12_c9_job_control_is_as_without_us()
{
	python3 -c "$at_terminal" bwrap
	python3 -c "$at_terminal" "$RF bwrap"
}

needs test_b12_outputs_of_ours_are_closed_to_the_command host
test_b12_outputs_of_ours_are_closed_to_the_command()
{
	want=$(outcome plain "${basic[@]}" ls /proc/self/fd)
	expect_eq "$(outcome ours --rf-result fd:5 --rf-events fd:6 "${basic[@]}" ls /proc/self/fd 5>r 6>e)" "$want"
	expect_json r .reason exit
	expect_eq "$(tail -n1 e | jq -r .event)" stop
	expect_contains "$(expect_status 1 ours --rf-result fd:9 "${basic[@]}" touch ran 2>&1)" \
		'descriptor 9 is not open for writing'
	# A failure of ours is a result too.
	expect_status 1 ours --rf-result r --rf-net loopback "${basic[@]}" touch ran 2>/dev/null
	expect_json r '.reason, .exit_code, .refusal.code' $'setup\n1\ncontradiction'
	[[ ! -e ran ]]
}
