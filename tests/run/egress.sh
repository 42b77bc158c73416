# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Which addresses a posture gives: every way of reaching one, in every family, through the same rules.
#
# The host of these tests is a network namespace. Its loopback has addresses that are no loopback
# addresses, which stand for other machines, and services that a sandbox may not find.

needs_all root bpf-cgroup

source "$RF_TOP/tests/escape/table.bash"

AWAY=198.18.0.7
AWAY6=2001:db8::7
ALL='(tcp|udp|mapped|mixed)-.*'

# Makes the namespace; `host COMMAND...` runs in it.
make_host()
{
	unshare -n sleep 300 &
	holder=$!
	wait_for 5 differs
	host ip link set lo up
	host ip address add $AWAY/32 dev lo
	host ip -6 address add $AWAY6/128 dev lo nodad
	host sh -c 'echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range'
}

differs()
{
	[[ $(readlink "/proc/$holder/ns/net") != "$(readlink /proc/self/ns/net)" ]]
}

host()
{
	nsenter --net="/proc/$holder/ns/net" "$@"
}

unmake_host()
{
	kill "$holder" ${server-}
	wait "$holder" ${server-} 2>/dev/null || true
}

# serve ADDRESS... : a TCP server at port 8000 of each, and what reaches it is in the file `seen`.
serve()
{
	: >seen
	nsenter --net="/proc/$holder/ns/net" /usr/bin/python3 -c 'import select, socket, sys
servers = []
for at in sys.argv[1:]:
	s = socket.socket(socket.AF_INET6 if ":" in at else socket.AF_INET)
	s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
	s.bind((at, 8000)); s.listen(64); servers.append(s)
print("ready", flush=True)
while True:
	for s in select.select(servers, [], [])[0]:
		c, _ = s.accept(); print("reached", s.getsockname()[0], flush=True); c.close()' "$@" >seen &
	server=$!
	wait_for 5 grep -q ready seen
}

# confined OPTION... : what the probe's attempts ended with, in `confined`.
attempts=()
confined()
{
	host "$RF" run --result r.json "$@" -- "$(probe egress)" "${attempts[@]}" >confined 2>said
}

test_b5_b6_an_address_is_refused_in_every_way_and_allowed_in_every_way()
{
	make_host
	attempts=(reach "$AWAY" 8000)
	host "$(probe egress)" "${attempts[@]}" >unconfined
	expect_errnos unconfined ".*" 0
	confined --net allow
	expect_errnos confined '.*' EPERM
	expect_held r.json socket-connect bpf-cgroup
	confined --allow 127.0.0.1:8000 --allow $AWAY:8001 --allow $AWAY6:8000
	expect_errnos confined '.*' EPERM
	confined --net host-loopback
	expect_errnos confined '.*' EPERM
	confined --net open
	expect_errnos confined "$ALL|icmp-.*" 0
	# A port has no meaning for ICMP: it needs the whole address.
	confined --allow $AWAY:8000
	expect_errnos confined "$ALL" 0
	expect_errnos confined 'icmp-.*|mptcp-connect' EPERM
	confined --allow 198.18.0.0/15:7000-9000
	expect_errnos confined "$ALL" 0
	confined --allow 198.18.0.0/15
	expect_errnos confined "$ALL|icmp-.*" 0
	expect_errnos confined 'mptcp-connect' EPERM
	unmake_host
}

test_b5_b6_ipv6_goes_by_the_same_rules()
{
	make_host
	attempts=(reach6 "$AWAY6" 8000)
	host "$(probe egress)" "${attempts[@]}" >unconfined
	expect_errnos unconfined '.*' 0
	confined --allow 0.0.0.0/0 --allow '[2001:db8::8]:8000'
	expect_errnos confined '(tcp|udp)-.*' EPERM
	# The kernel does not tell a sender of ICMPv6 that its packet was dropped.
	jq -e 'any(.denials[]; .op == "socket-send" and .protocol == 58 and .address == "2001:db8::7")' r.json >/dev/null
	confined --net host-loopback
	expect_errnos confined '(tcp|udp)-.*' EPERM
	confined --allow "[$AWAY6]:8000"
	expect_errnos confined '(tcp|udp)-.*' 0
	confined --allow 2001:db8::/32
	expect_errnos confined '.*' 0
	expect_json r.json '.denials | length' 0
	attempts=(reach6 ::1 8000)
	confined --net host-loopback
	expect_errnos confined '.*' 0
	confined --allow ::/0
	expect_errnos confined '(tcp|udp)-.*' EPERM
	confined --allow '[::1]:8000'
	expect_errnos confined '(tcp|udp)-.*' 0
	unmake_host
}

test_b5_host_loopback_is_the_hosts_loopback_and_nothing_else()
{
	make_host
	serve 127.0.0.2 ::1 $AWAY
	attempts=(reach 127.0.0.2 8000)
	confined --net host-loopback
	expect_errnos confined "$ALL|icmp-.*" 0
	expect_errnos confined 'mptcp-connect' EPERM
	expect_eq "$(grep -c 'reached 127.0.0.2' seen)" 5
	# 0.0.0.0 is what the socket's source makes of it.
	attempts=(reach 0.0.0.0 8000)
	confined --net host-loopback
	expect_errnos confined "$ALL" EPERM
	unmake_host
}

test_b6_the_hosts_loopback_is_closed_in_allow_but_for_what_is_named()
{
	make_host
	serve 127.0.0.1 127.0.0.2
	attempts=(reach 127.0.0.1 8000)
	# However wide, a rule does not mean the loopback.
	confined --allow 0.0.0.0/0 --allow ::/0 --allow public --allow 127.0.0.2
	expect_errnos confined '.*' EPERM
	expect_eq "$(grep -c reached seen || true)" 0
	attempts=(reach 127.0.0.2 8000)
	confined --allow 127.0.0.0/8:8000
	expect_errnos confined "$ALL" 0
	unmake_host
}

test_b6_binding_is_to_the_loopback_alone()
{
	local posture
	make_host
	attempts=(bind "$AWAY")
	host "$(probe egress)" "${attempts[@]}" >unconfined
	expect_errnos unconfined '.*' 0
	for posture in host-loopback allow; do
		confined --net $posture
		expect_errnos confined '(every|address|listen).*' EPERM
		expect_errnos confined 'loopback.*' 0
		jq -e 'any(.denials[]; .op == "socket-bind" and .address == "0.0.0.0" and .port == 42017)' r.json >/dev/null
	done
	confined --net open
	expect_errnos confined '.*' 0
	unmake_host
}

test_b6_own_ports_are_reached_and_closed_with_their_socket()
{
	make_host
	serve 127.0.0.1
	attempts=(own 127.0.0.1 8000)
	host "$(probe egress)" "${attempts[@]}" >unconfined
	expect_errnos unconfined 'tcp|tcp6|udp.*|other-.*' 0
	expect_errnos unconfined '.*-closed' ECONNREFUSED 0
	confined --net allow
	expect_errnos confined 'tcp|tcp6|udp.*' 0
	expect_errnos confined '.*-closed' EPERM
	# Holding the port on one address opens it on no other.
	expect_errnos confined 'other-address-held' 0
	expect_errnos confined 'other-address|other-address-datagram' EPERM
	unmake_host
}

# stale_ports COMMAND...: sockets leave their ports in ways that no call shows, a service of the host takes
# each, and what was begun before or begins now goes there: lines in `got`, what arrived in `served`.
stale_ports()
{
	rm -f go got served
	cat >stale.py <<-'END'
		import errno, os, select, socket, struct, sys, time
		HOME = "127.0.0.1"
		def tcp(port=0):
		    s = socket.socket(); s.setsockopt(1, 2, 1); s.bind((HOME, port)); return s
		def port(s): return s.getsockname()[1]
		def disconnect(s):
		    import ctypes
		    assert not ctypes.CDLL(None).connect(s.fileno(), struct.pack("H14x", 0), 16)
		def say(name, f):
		    try: f(); print(name, "0", flush=True)
		    except OSError as e: print(name, errno.errorcode[e.errno], flush=True)
		own = tcp(); own.listen(9)
		# Bound again after a disconnect, then closed.
		again = tcp(); again.connect(own.getsockname()); disconnect(again)
		again.bind((HOME, 42101)); again.close()
		# Disconnected, still open: the port went.
		left = tcp(); left_at = left.getsockname(); left.connect(own.getsockname()); disconnect(left)
		# The peer's reset takes it as well.
		reset = tcp(); reset_at = reset.getsockname(); reset.connect(own.getsockname())
		for i in range(3):
		    peer = own.accept()[0]; peer.setsockopt(1, 13, struct.pack("ii", 1, 0)); peer.close()
		# A datagram socket connected while the other was there.
		udp = socket.socket(2, 2); udp.bind((HOME, 42102))
		sender = socket.socket(2, 2); sender.connect((HOME, 42102))
		say("own-datagram", lambda: sender.send(b"x")); udp.close()
		full = tcp(42103); full.listen(0)
		fill = socket.create_connection((HOME, 42103))
		late = socket.socket(); late.setblocking(False)
		print("ready", left_at[1], reset_at[1], flush=True)
		while not os.path.exists("go"): time.sleep(0.05)
		for name, at in ("again", (HOME, 42101)), ("left", left_at), ("reset", reset_at):
		    say(name, lambda: socket.create_connection(at, 9))
		# A first segment that found no room is sent again, to whoever is there then.
		late.connect_ex((HOME, 42103)); full.close()
		say("datagram", lambda: sender.send(b"late"))
		# The first segment goes again after a second, and after three.
		select.select([], [late], [], 5); say("segment", lambda: late.send(b"x"))
	END
	cat >service.py <<-'END'
		import os, select, socket, sys, time
		names = {}
		def serve(name, port):
		    s = socket.socket(); s.setsockopt(1, 2, 1); s.bind(("127.0.0.1", int(port))); s.listen(9); names[s] = name
		for name, port in zip(("again", "left", "reset"), ["42101"] + sys.argv[1:]): serve(name, port)
		u = socket.socket(2, 2); u.bind(("127.0.0.1", 42102)); names[u] = "datagram"
		open("go", "w").close()
		while "segment" not in names.values():
		    try: serve("segment", 42103)
		    except OSError: time.sleep(0.01)
		while True:
		    for s in select.select(list(names), [], [])[0]:
		        s.recv(9) if s is u else s.accept()
		        print(names[s], flush=True)
	END
	: >got
	host "$@" /usr/bin/python3 stale.py >got 2>said &
	local attacker=$! ready
	wait_for 15 grep -q ^ready got
	ready=$(sed -n 's/^ready //p' got)
	# shellcheck disable=SC2086
	nsenter --net="/proc/$holder/ns/net" /usr/bin/python3 service.py $ready >served 2>&1 &
	server=$!
	wait $attacker
	[[ $1 != env ]] || wait_for 5 grep -q segment served
	kill $server
	wait $server || true
	server=
	sort -u -o served served
}

test_b6_a_port_that_its_socket_left_is_the_hosts()
{
	make_host
	stale_ports env
	expect_eq "$(tr '\n' ' ' <served)" 'again datagram left reset segment '
	expect_eq "$(sed /^ready/d got | tr '\n' ' ')" 'own-datagram 0 again 0 left 0 reset 0 datagram 0 segment 0 '
	stale_ports "$RF" run --net allow --
	expect_eq "$(<served)" ''
	expect_eq "$(sed '/^ready/d; /^segment/d' got | tr '\n' ' ')" \
		'own-datagram 0 again EPERM left EPERM reset EPERM datagram EPERM '
	unmake_host
}

test_b6_packets_with_a_route_of_their_own_are_dropped()
{
	make_host
	attempts=(route "$AWAY" "$AWAY6")
	host "$(probe egress)" "${attempts[@]}" >unconfined
	expect_errnos unconfined '.*' 0
	confined --allow $AWAY --allow $AWAY6
	expect_errnos confined 'plain6?' 0
	expect_errnos confined 'options|routing-header' EPERM
	expect_json r.json '[.denials[].op] | unique' '["socket-route"]'
	unmake_host
}

# A listener that bound itself, and a datagram socket that anybody could send to.
test_b6_a_socket_that_bound_itself_is_not_reached_from_outside()
{
	make_host
	nsenter --net="/proc/$holder/ns/net" "$RF" run --net allow -- /usr/bin/python3 -c 'import socket, time
udp = socket.socket(2, 2); own = socket.socket(2, 2); own.bind(("127.0.0.1", 0))
udp.sendto(b"x", own.getsockname())
tcp = socket.socket()
try: tcp.listen()
except PermissionError: pass
print(tcp.getsockname()[1] or 1, udp.getsockname()[1], flush=True)
for s in tcp, udp: s.settimeout(4)
try: print("accepted", tcp.accept()[1])
except OSError: pass
try: print("got", udp.recv(9))
except OSError: pass
print("end")' >ports 2>said &
	wait_for 10 grep -q . ports
	host /usr/bin/python3 -c 'import socket
tcp, udp = map(int, open("ports").readline().split())
s = socket.socket(2, 2); s.bind(("198.18.0.7", 0)); s.sendto(b"hello", ("198.18.0.7", udp))
s = socket.socket(); s.settimeout(1)
try: s.connect(("198.18.0.7", tcp)); print("connected")
except OSError: print("refused")' >outside
	wait_for 20 grep -q end ports
	expect_eq "$(<outside)" refused
	expect_eq "$(grep -cE 'accepted|got' ports || true)" 0
	wait $!
	unmake_host
}

test_b6_public_is_not_private()
{
	local address
	make_host
	for address in 10.0.0.1 169.254.169.254 172.16.0.1 192.168.0.1 100.64.0.1 224.0.0.1 198.18.0.9; do
		host ip route add unreachable $address/32
	done
	host ip address add 1.1.1.1/32 dev lo
	host "$RF" run --net allow --allow public:1-1024 --result r.json -- /usr/bin/python3 -c 'import socket
for at in \
	("1.1.1.1 10.0.0.1 169.254.169.254 172.16.0.1 192.168.0.1 100.64.0.1 224.0.0.1 198.18.0.9 127.0.0.1 ::1 "
	"64:ff9b::10.0.0.1 2002:a00:1:: 2001:0:1::1 fd00:ec2::254 ::ffff:10.0.0.1 ::10.0.0.1").split():
	s = socket.socket(10 if ":" in at else 2, 2)
	try: s.connect((at, 53)); print(at, "0")
	except OSError as e: print(at, e.strerror)
s = socket.socket(2, 2)
try: s.connect(("1.1.1.1", 1025))
except OSError as e: print("port", e.strerror)' >reached 2>said
	expect_eq "$(grep -v 'Operation not permitted' reached)" '1.1.1.1 0'
	expect_eq "$(grep -c 'Operation not permitted' reached)" 16
	unmake_host
}

# ---- Field reports ------------------------------------------------------------------------------

test_f_10_an_address_rule_without_its_hooks_is_refused()
{
	expect_status 125 as_user 1000 "$RF" run --allow 127.0.0.2:8000 --result r.json -- touch ran
	expect_json r.json .refusal.promise socket-connect
	[[ ! -e ran ]]
	expect_status 125 as_user 1000 "$RF" run --net host-loopback --result r.json -- touch ran
	expect_json r.json .refusal.promise socket-connect
	[[ ! -e ran ]]
	as_user 1000 "$RF" run --allow 127.0.0.2:8000 --waive socket-connect --result r.json -- true
	expect_json r.json .enforcement.waived '["socket-connect"]'
}

needs test_f_11_a_map_that_cannot_be_written_refuses_the_run cold
test_f_11_a_map_that_cannot_be_written_refuses_the_run()
{
	local error
	for error in E2BIG ENOMEM EINVAL; do
		expect_status 125 "$(probe filter)" "bpf:0:BPF_MAP_UPDATE_ELEM=$error" -- \
			"$RF" run --allow 127.0.0.2:8000 -- touch ran
		[[ ! -e ran ]]
	done
}

expect_python_eperm()
{
	expect_status 1 host "$RF" run "${@:2}" -- /usr/bin/python3 -c "import socket; $1" 2>error
	grep -q '^PermissionError: \[Errno 1\]' error || fail "$(<error)"
}

test_f_16_f_17_f_18_other_ways_to_connect_meet_the_rule()
{
	make_host
	serve 127.0.0.3
	expect_python_eperm 'socket.socket(2,1,262)' --allow 127.0.0.2:8000
	expect_python_eperm 'socket.socket().sendto(b"x",0x20000000,("127.0.0.3",8000))' --allow 127.0.0.2:8000
	expect_status 1 host "$RF" run --allow 127.0.0.2:8000 -- bash -c 'echo x >/dev/udp/127.0.0.3/9' 2>error
	grep -q 'Operation not permitted' error
	expect_eq "$(grep -c reached seen || true)" 0
	unmake_host
}

test_f_19_an_unbound_socket_does_not_listen()
{
	local posture
	make_host
	for posture in allow host-loopback; do
		expect_python_eperm 'socket.socket().listen()' --net $posture
		expect_python_eperm 'socket.socket(10).listen()' --net $posture
		expect_python_eperm 'import threading; s = socket.socket(); e = []
def f():
	try: s.listen()
	except OSError as error: e.append(error)
t = threading.Thread(target=f); t.start(); t.join()
raise e[0]' --net $posture
		host "$RF" run --net $posture -- /usr/bin/python3 -c 'import os, socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); s.listen(9)
r, w = os.pipe()
for fd, name in (r, "ENOTSOCK"), (99, "EBADF"):
	try: socket.socket(2, 1, 0, fd).listen()
	except OSError as error: assert error.errno in (9, 88), error'
	done
	unmake_host
}

test_f_23_a_rule_is_an_address_and_a_port()
{
	make_host
	serve 127.0.0.2
	host "$RF" run --allow 127.0.0.2:8000 -- bash -c ':</dev/tcp/127.0.0.2/8000'
	expect_status 1 host "$RF" run --allow 127.0.0.2:8000 -- bash -c ':</dev/tcp/127.0.0.2/8443' 2>error
	grep -q 'Operation not permitted' error
	unmake_host
}

test_f_25_another_spelling_is_the_same_address()
{
	local address
	make_host
	serve 127.0.0.3
	for address in 127.0.0.3 0x7f000003 2130706435 127.3 '[::ffff:127.0.0.3]'; do
		host curl -gs -o out "http://$address:8000/" || [[ $? -eq 52 || $? -eq 56 ]]
		expect_status 7 host "$RF" run --allow 127.0.0.2:8000 -- curl -gs "http://$address:8000/" 2>error
	done
	expect_eq "$(grep -c reached seen)" 5
	unmake_host
	for address in 0x7f000003 2130706435 127.3 0177.0.0.3 ::ffff:127.0.0.3; do
		expect_status 125 "$RF" run --allow "$address" -- true 2>error
	done
}

test_f_27_the_posture_says_whose_loopback_it_is()
{
	make_host
	serve 127.0.0.2
	host "$RF" run --net host-loopback -- bash -c ':</dev/tcp/127.0.0.2/8000'
	expect_status 1 host "$RF" run --net loopback -- bash -c ':</dev/tcp/127.0.0.2/8000' 2>error
	host "$RF" run --net host-loopback -- /usr/bin/python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 42001)); s.listen(); print("up", flush=True); s.accept()' >up &
	wait_for 10 grep -q up up
	host bash -c ':</dev/tcp/127.0.0.1/42001'
	wait $!
	expect_status 125 "$RF" run --host-port 1 -- true 2>error
	unmake_host
}

test_f_28_a_refusal_says_that_policy_refused_and_what()
{
	make_host
	expect_status 7 host "$RF" run --allow 127.0.0.2:8000 --result r.json -- \
		curl -s --retry 0 http://127.0.0.3:8000/ 2>said
	expect_eq "$(grep -c '^ringfence: denied' said)" 1
	expect_contains "$(<said)" '127.0.0.3 port 8000'
	expect_json r.json '.denials | length' 1
	expect_json r.json '.denials[0] | [.op, .address, .port, .errno, .grant]' \
		'["socket-connect","127.0.0.3",8000,"EPERM","--allow 127.0.0.3:8000"]'
	expect_contains "$(jq -r '.denials[0].exe' r.json)" curl
	# An option that contradicts another has to take its place.
	expect_status 7 host "$RF" run --net host-loopback -- curl -s --retry 0 "http://$AWAY:8000/" 2>said
	expect_contains "$(<said)" "would be allowed by --allow $AWAY:8000 in place of --net host-loopback"
	# What it names is enough.
	serve 127.0.0.3
	host "$RF" run --allow 127.0.0.3:8000 -- bash -c ':</dev/tcp/127.0.0.3/8000'
	unmake_host
}

test_f_29_the_hook_is_the_boundary()
{
	make_host
	expect_status 7 host env http_proxy=http://127.0.0.2:8000 "$RF" run --allow 127.0.0.2:8000 -- \
		env -i /usr/bin/curl -s http://127.0.0.3:8000/ 2>said
	expect_contains "$(<said)" 'denied: socket-connect 127.0.0.3'
	unmake_host
}

test_f_93_hooks_need_no_controllers()
{
	"$RF" run --allow 127.0.0.2:8000 --result r.json -- true
	expect_json r.json '.enforcement.mechanisms["bpf-cgroup"].state' enforced
}

# ---- Planning -----------------------------------------------------------------------------------

test_b5_names_are_refused_in_words()
{
	local name
	for name in example.com:443 '*.example.com' https://example.com ok.test:8000,private; do
		expect_status 125 "$RF" run --allow "$name" --result r.json -- touch ran 2>error
		expect_json r.json .refusal.code name-unsupported
		expect_contains "$(<error)" 'names are not in it'
		[[ ! -e ran ]]
	done
}

test_b5_destinations_and_another_posture_contradict()
{
	local posture
	for posture in none loopback host-loopback open; do
		expect_status 125 "$RF" run --net $posture --allow 127.0.0.2 -- touch ran 2>error
		expect_contains "$(<error)" "posture $posture has no list"
		[[ ! -e ran ]]
	done
	expect_status 125 "$RF" run --mode full-access --allow 127.0.0.2 -- true 2>error
}

test_a13_the_plan_shows_the_destinations()
{
	cat >p.yaml <<-END
		network:
		  allow: [10.0.0.0/8:80-90, public, "[::1]:80"]
	END
	"$RF" plan --policy p.yaml --json -- true >plan.json
	expect_json plan.json .network.posture allow
	expect_json plan.json .network.allow '["10.0.0.0/8:80-90","public","[::1]:80"]'
	expect_json plan.json '.bubblewrap | index("--unshare-net")' null
	"$RF" plan --policy p.yaml -- true | grep -q '^network .*allow 10.0.0.0/8:80-90 public \[::1\]:80'
}

test_f_80_ten_thousand_destinations_work()
{
	make_host
	serve 127.0.0.2
	/usr/bin/python3 -c 'import json
json.dump({"network": {"allow": ["10.%d.%d.7:%d" % (i >> 8, i & 255, 1 + i) for i in range(9999)] + ["127.0.0.2:8000"]}}, open("p.json", "w"))'
	host "$RF" run --policy p.json -- bash -c ':</dev/tcp/127.0.0.2/8000'
	expect_status 1 host "$RF" run --policy p.json -- bash -c ':</dev/tcp/127.0.0.2/8001' 2>error
	unmake_host
}
