# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Which sockets a posture gives, one table for every family, type, protocol and call, so that no
# sister of a closed call is forgotten.

source "$RF_TOP/tests/escape/table.bash"

# judge POSTURE EXTRA UNCONFINED CONFINED: prints what is not as it should be. A line that the kernel
# gives unconfined must be given where the posture opens it and EPERM where not; one that it does not
# give either may keep the kernel's errno. EXTRA: families opened by name, such as " 17 40 ".
judge()
{
	awk -v posture="$1" -v extra="$2" -v is_unix_open="$unix_open" '
		function is_open(family, type, protocol) {
			if (index(extra, " " family " ")) return 1
			if (posture == "none") return 0
			if (family == 1) return is_unix_open
			if (family == 16) return protocol == 0
			if (family != 2 && family != 10) return 0
			if (type == 1) return protocol == 0 || protocol == 6
			if (type == 2) return protocol == 0 || protocol == 17 || protocol == (family == 2 ? 1 : 58)
			return 0
		}
		NR == FNR { plain[$1] = $2; next }
		{
			seen++
			split($1, part, ",")
			if (is_open(part[1], part[2] % 16, part[3])) {
				if ($2 == "EPERM" || $2 != plain[$1] && $2 != "EACCES")
					print $1, "is open, unconfined", plain[$1], "here", $2
			} else if ($2 == "0" || plain[$1] == "0" && $2 != "EPERM")
				print $1, "is closed, unconfined", plain[$1], "here", $2
		}
		END { if (seen < 400) print "only", seen, "lines" }' "$3" "$4"
}

# Is AF_UNIX open in the last run? Where it can be told apart it is.
find_unix_open()
{
	unix_open=$(jq '.enforcement.promises["unix-connect"].by | index("seccomp") == null' r.json)
	[[ $unix_open == true ]] && unix_open=1 || unix_open=0
}

expect_table()
{
	local posture=$1 extra=$2 unix_open bad
	shift 2
	"$(probe escape_socket)" create >unconfined
	"$RF" run --net "$posture" --result r.json "$@" -- "$(probe escape_socket)" create >confined
	find_unix_open
	bad=$(judge "$posture" "$extra" unconfined confined)
	[[ -z $bad ]] || fail "posture $posture:
$bad"
	expect_json r.json '.enforcement.promises["socket-create"].state' enforced
}

test_b4_f_47_none_makes_no_socket_at_all()
{
	expect_table none ''
	# Beyond its last family the kernel asks nobody.
	expect_errnos confined '.*' EPERM EAFNOSUPPORT
	expect_errnos confined '(1|2|10|16|17|38|40|44),.*' EPERM
}

test_b4_f_16_f_18_f_20_f_47_loopback_makes_plain_sockets_alone()
{
	expect_table loopback ''
	expect_errnos confined '2,1,0|2,2,0|10,1,0|10,2,0|16,3,0' 0
	# MPTCP, raw, packet, netlink's others: made unconfined, refused here.
	expect_errnos unconfined '2,1,262|2,3,255|17,3,0|16,3,15' 0
	expect_errnos confined '2,1,262|2,3,255|17,3,0|16,3,15|38,5,0|40,1,0' EPERM
}

test_b4_f_20_f_47_open_makes_plain_sockets_alone()
{
	expect_table open ''
	expect_errnos confined '2,1,262|2,3,255|17,3,0|16,3,15|38,5,0|40,1,0' EPERM
}

test_b4_families_are_opened_by_name()
{
	expect_table loopback ' 40 16 ' --socket-family vsock --socket-family netlink
	expect_errnos confined '16,3,15' 0
	expect_errnos confined '17,3,0' EPERM
}

# Without BPF: seccomp alone, to the letter the same.
test_b4_without_bpf_the_next_layer_holds_the_table()
{
	local posture unix_open bad
	"$(probe escape_socket)" create >unconfined
	for posture in none loopback; do
		without bpf "$RF" run --net "$posture" --result r.json -- \
			"$(probe escape_socket)" create >confined
		find_unix_open
		bad=$(judge "$posture" '' unconfined confined)
		[[ -z $bad ]] || fail "posture $posture:
$bad"
		expect_held r.json socket-create seccomp
	done
}

test_b4_f_47_calls_follow_the_posture()
{
	local posture unix_open
	"$(probe escape_socket)" calls >unconfined
	expect_errnos unconfined '(inet|inet6|unix)-.*|pair-(stream|datagram|seqpacket|raw)(-send)?' 0
	for posture in none loopback open; do
		"$RF" run --net $posture --result r.json -- "$(probe escape_socket)" calls >confined
		find_unix_open
		expect_errnos confined 'pair-(stream|seqpacket)(-send)?' 0
		expect_errnos confined 'pair-(inet|tipc)' EPERM EOPNOTSUPP EAFNOSUPPORT
		# EBADF: what could not be made can do nothing.
		if [[ $posture == none ]]; then
			expect_errnos confined '(inet6?|unix)-.*' EPERM EBADF
			expect_errnos confined '(inet6?|unix)-socket' EPERM
			continue
		fi
		expect_errnos confined 'inet6?-.*' 0
		if [[ $unix_open -eq 1 ]]; then
			expect_errnos confined 'unix-.*|pair-(datagram|raw)(-send)?' 0
		else
			expect_errnos confined 'unix-socket|pair-(datagram|raw)' EPERM
		fi
	done
}

# A socket of the caller's, passed by number: it can be used as it is, but a closed posture does not
# let it bind, connect or listen anew.
test_b4_b10_a_passed_socket_is_not_made_over_in_none()
{
	local attack
	attack=$(probe escape_socket)
	with_socket "$attack" calls 7 >unconfined
	expect_errnos unconfined 'passed-(bind|connect|sendto|sendmsg|sendmmsg)' 0
	expect_errnos unconfined passed-listen EOPNOTSUPP
	with_socket "$RF" run --net none --pass-fd 7 -- "$attack" calls 7 >confined
	expect_errnos confined 'passed-(bind|connect)' EPERM
}

# listen() binds what is not bound.
test_b4_a_passed_socket_does_not_listen_in_none()
{
	local listens='import socket; socket.socket(fileno=7).listen()'
	export kind=1
	with_socket /usr/bin/python3 -S -c "$listens"
	expect_status 1 with_socket "$RF" run --net none --pass-fd 7 -- \
		/usr/bin/python3 -S -c "$listens" 2>error
	grep -q '^PermissionError' error || fail "$(<error)"
}

# with_socket COMMAND...: a socket of the host's is its descriptor 7, a datagram's unless kind is 1.
with_socket()
{
	/usr/bin/python3 -S -c 'import os, socket, sys
s = socket.socket(2, int(os.environ.get("kind", 2)))
os.dup2(s.fileno(), 7)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

# A listener on the host's loopback, its port in $port.
start_listener()
{
	/usr/bin/python3 -S -c 'import socket, time
tcp = socket.socket(); udp = socket.socket(2, 2)
tcp.bind(("127.0.0.2", 0)); udp.bind(tcp.getsockname()); tcp.listen(8)
print(tcp.getsockname()[1], flush=True); time.sleep(50)' >port &
	listener=$!
	wait_for 5 test -s port
	port=$(<port)
}

test_b5_loopback_does_not_reach_the_hosts_loopback()
{
	local port listener
	start_listener
	"$(probe escape_socket)" connect 127.0.0.2 "$port" >unconfined
	expect_errnos unconfined 'tcp-connect|tcp-fastopen|mptcp-connect|udp-.*' 0 EINPROGRESS
	"$RF" run --net loopback --result r.json -- \
		"$(probe escape_socket)" connect 127.0.0.2 "$port" >confined
	kill "$listener"
	expect_errnos confined 'tcp-.*' ECONNREFUSED
	expect_errnos confined 'mptcp-connect' EBADF
	# Nobody answers there: a datagram is sent to nobody.
	expect_errnos confined 'udp-.*' 0 ECONNREFUSED
	expect_held r.json socket-connect network-namespace
}

test_b5_loopback_leads_nowhere_else()
{
	"$RF" run --net loopback -- "$(probe escape_socket)" connect 192.0.2.1 9 >confined
	expect_errnos confined 'tcp-.*|udp-.*' ENETUNREACH
	"$RF" run --net none -- "$(probe escape_socket)" connect 192.0.2.1 9 >confined
	expect_errnos confined 'tcp-fastopen|tcp-connect|udp-sendto' EPERM EBADF
}

test_b5_open_reaches_the_host()
{
	local port listener
	start_listener
	"$RF" run --net open -- "$(probe escape_socket)" connect 127.0.0.2 "$port" >confined
	kill "$listener"
	expect_errnos confined 'tcp-connect|udp-.*' 0
	expect_errnos confined 'mptcp-connect' EBADF
}

test_b5_a_sandbox_has_a_loopback_of_its_own()
{
	"$RF" run --net loopback -- /usr/bin/python3 -S -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 8000)); s.listen()
c = socket.create_connection(("127.0.0.1", 8000)); c.sendall(b"x")
assert s.accept()[0].recv(1) == b"x"
s6 = socket.socket(10); s6.bind(("::1", 8000))
print(*socket.if_nameindex())' >confined
	expect_eq "$(<confined)" "(1, 'lo')"
}

expect_python_eperm()
{
	expect_status 1 "$RF" run --net "$1" -- /usr/bin/python3 -S -c "import socket; $2" 2>error
	# Landlock may be asked before us.
	grep -qE '^PermissionError: \[Errno (1|13)\]' error || fail "$(<error)"
}

# What a program in Python is told of sockets, which is PermissionError: errno, a line for each.
sockets='import socket, sys
for text in sys.argv[1:]:
    try:
        socket.socket(*map(int, text.split(",")))
        print(text, 0)
    except OSError as error:
        print(text, type(error).__name__, error.errno)'

test_f_16_f_18_mptcp_and_without_a_network_datagrams_are_refused()
{
	/usr/bin/python3 -S -c "$sockets" 2,1,262 >unconfined
	expect_eq "$(<unconfined)" '2,1,262 0'
	"$RF" run --net none -- /usr/bin/python3 -S -c "$sockets" 2,1,262 2,2,0 >confined
	# F-18: no network is no datagram either.
	expect_eq "$(<confined)" $'2,1,262 PermissionError 1\n2,2,0 PermissionError 1'
	"$RF" run --net loopback -- /usr/bin/python3 -S -c "$sockets" 2,1,262 2,2,0 >confined
	expect_eq "$(<confined)" $'2,1,262 PermissionError 1\n2,2,0 0'
}

test_f_20_other_families_are_refused_and_opened_by_name()
{
	local -a families=('16,3,15' '17,3,3' '38,5,0' '40,1,0')
	/usr/bin/python3 -S -c "$sockets" "${families[@]}" >unconfined
	"$RF" run --net loopback -- /usr/bin/python3 -S -c "$sockets" "${families[@]}" >confined
	expect_eq "$(grep -c ' PermissionError 1$' confined)" 4
	"$RF" run --net loopback --socket-family netlink --socket-family vsock -- \
		/usr/bin/python3 -S -c "$sockets" 16,3,15 40,1,0 >confined
	expect_eq "$(<confined)" "$(grep -E '^(16,3,15|40)' unconfined)"
}

test_f_45_a_datagram_pair_sends_to_no_path()
{
	local call
	"$(probe escape_unix)" serve . rf-f45-$$ >"$RF_SCRATCH/got" &
	wait_for 5 grep -q ready "$RF_SCRATCH/got"
	/usr/bin/python3 -S -c 'import socket; a,b=socket.socketpair(1,2); a.sendto(b"x","d.sock")'
	wait_for 5 grep -q 'got datagram' "$RF_SCRATCH/got"
	for call in 'a.sendto(b"x","d.sock")' 'a.sendmsg([b"x"],[],0,"d.sock")'; do
		expect_python_eperm none "a,b=socket.socketpair(1,2); $call"
	done
	"$RF" run --net none -- "$(probe escape_unix)" reach . rf-f45-$$ >confined
	kill $!
	expect_errnos confined '.*' EPERM EACCES ECONNREFUSED
	expect_eq "$(grep -c got "$RF_SCRATCH/got")" 1
}

# What was told is what the kernel did.
test_d4_a_refused_socket_is_on_record()
{
	"$RF" run --net none --result r.json -- "$(probe escape_socket)" connect 127.0.0.1 9 >confined
	expect_errnos confined 'tcp-fastopen' EPERM EBADF
	if [[ $(jq -r '.enforcement.promises["denial-record"].state' r.json) == off ]]; then
		expect_json r.json .denials null
	else
		jq -e 'any(.denials[]; .op == "socket-create" and .errno == "EPERM")' r.json >/dev/null
	fi
}
