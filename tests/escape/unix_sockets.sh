# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# The host's Unix sockets, by path and by abstract name: the way to a container engine, a message bus,
# an agent that holds keys. A network namespace does not stop those with a path, and neither does a
# read-only mount.
#
# BPF LSM holds it by who made a socket (EPERM), Landlock from ABI 9 on by path and scope (EACCES,
# EPERM); where neither can tell one from another, seccomp closes AF_UNIX whole. Below that one layer
# nothing else holds; abstract names are private to a network namespace as well.

source "$RF_TOP/tests/escape/table.bash"

abstract=rf-abs-$$

start_server()
{
	mkdir -p host
	"$(probe escape_unix)" serve host "$abstract" >got &
	server=$!
	wait_for 5 grep -q ready got
}

# Ends the server; nothing but its greeting may have arrived.
expect_untouched()
{
	kill "$server"
	wait "$server" || true
	expect_eq "$(<got)" ready
}

attack_works()
{
	start_server
	"$(probe escape_unix)" reach host "$abstract" >unconfined
	expect_errnos unconfined '.*' 0
	expect_contains "$(<got)" 'got stream'
	expect_contains "$(<got)" 'got datagram'
	kill "$server"
	wait "$server" || true
	rm -r host
}

# ECONNREFUSED: in a network namespace of its own an abstract name is not there at all.
reach_from()
{
	start_server
	"$RF" run "$@" --result r.json -- "$(probe escape_unix)" reach host "$abstract" >confined
	expect_untouched
	expect_errnos confined '.*' EPERM EACCES ECONNREFUSED
	sed '/abstract/d' confined >paths
	expect_errnos paths '.*' EPERM EACCES
	expect_json r.json '.enforcement.promises["unix-connect"].state' enforced
}

test_f_43_f_45_f_46_the_hosts_sockets_are_closed_when_the_network_is_open()
{
	attack_works
	reach_from --net open
	# Nobody but us refused: the network is the host's.
	expect_errnos confined '.*' EPERM EACCES
}

test_f_43_f_45_f_46_the_hosts_sockets_are_closed_in_loopback()
{
	reach_from --net loopback
}

test_f_43_f_45_the_hosts_sockets_are_closed_in_none()
{
	reach_from --net none
	expect_errnos confined '(abstract-)?(stream|datagram)-socket' EPERM
}

test_b4_no_unix_closes_them_in_every_posture()
{
	reach_from --net open --no-unix
	expect_errnos confined '(stream|datagram)-socket' EPERM
}

# Outside the workspace, and in sight by a grant to read.
test_b7_a_read_grant_does_not_open_a_socket()
{
	mkdir inside
	start_server
	"$RF" run --workspace inside --net open --external-read "$PWD/host" -- \
		"$(probe escape_unix)" reach "$PWD/host" "$abstract" >confined
	expect_untouched
	expect_errnos confined '.*' EPERM EACCES
}

test_f_43_python_is_told_eperm()
{
	start_server
	expect_status 1 "$RF" run --net open -- /usr/bin/python3 -S -c \
		'import socket; socket.socket(1).connect("host/s.sock")' 2>error
	expect_untouched
	expect_contains "$(<error)" PermissionError
}

# With the layer off there is nothing below.
test_b7_waived_where_nothing_can_tell_them_apart_they_are_open()
{
	start_server
	"$RF" run --net open --waive unix-connect --result r.json -- \
		"$(probe escape_unix)" reach host "$abstract" >confined 2>error
	kill "$server"
	expect_json r.json '.enforcement.promises["unix-connect"].state' off
	expect_json r.json .enforcement.waived '["unix-connect"]'
	expect_contains "$(<error)" 'waived: unix-connect'
	expect_errnos confined 'stream-connect|datagram-.*' 0
	expect_contains "$(<got)" 'got stream'
}
needs test_b7_waived_where_nothing_can_tell_them_apart_they_are_open no-bpf-lsm host

# The same kernel without BPF: Landlock, or seccomp closing all of them.
test_b7_without_bpf_the_next_layer_holds()
{
	start_server
	without bpf "$RF" run --net open --result r.json -- \
		"$(probe escape_unix)" reach host "$abstract" >confined
	expect_untouched
	expect_errnos confined '.*' EPERM EACCES
	expect_json r.json '.enforcement.promises["unix-connect"].state' enforced
	expect_json r.json '.enforcement.promises["unix-connect"].by | index("bpf-lsm") == null' true
}
needs test_b7_without_bpf_the_next_layer_holds bpf-lsm

own_sockets()
{
	mkdir own
	"$(probe escape_unix)" own own "$abstract" >unconfined
	expect_errnos unconfined '.*' 0
	rm own/*
	"$RF" run "$@" --result r.json -- "$(probe escape_unix)" own own "$abstract" >confined
}

# Where one socket can be told from another, a sandbox's own work; elsewhere they are closed, and the
# report says why.
test_b7_f_44_own_sockets_work_or_the_report_says_why()
{
	local posture
	for posture in loopback open; do
		rm -rf own
		own_sockets --net $posture
		if [[ $(jq -r '.enforcement.promises["unix-connect"].by[0]' r.json) != seccomp ]]; then
			expect_errnos confined '.*' 0
			continue
		fi
		expect_errnos confined '.*' EPERM EBADF
		expect_contains "$(jq -r '.enforcement.promises["unix-connect"].why' r.json)" \
			'AF_UNIX is closed altogether'
	done
}

test_b7_own_sockets_work_with_bpf_lsm()
{
	own_sockets --net loopback
	expect_errnos confined '.*' 0
	expect_held r.json unix-connect bpf-lsm
}
needs test_b7_own_sockets_work_with_bpf_lsm bpf-lsm

test_b7_own_sockets_work_with_landlock_9()
{
	mkdir own
	without bpf "$RF" run --net open --result r.json -- "$(probe escape_unix)" own own "$abstract" >confined
	expect_errnos confined '.*' 0
	expect_held r.json unix-connect landlock
}
needs test_b7_own_sockets_work_with_landlock_9 landlock:9

test_f_44_pairs_always_work()
{
	local posture
	for posture in none loopback open; do
		"$RF" run --net $posture -- /usr/bin/python3 -S -c 'import socket
a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"'
	done
}

# One sandbox's socket is another's host's.
test_b7_c10_one_sandbox_does_not_reach_anothers_sockets()
{
	mkdir shared
	"$RF" run --net open -- "$(probe escape_unix)" serve shared "$abstract" >got 2>error &
	server=$!
	wait_for 10 grep -q ready got
	"$RF" run --net open -- "$(probe escape_unix)" reach shared "$abstract" >confined
	kill "$server"
	wait "$server" || true
	expect_errnos confined '.*' EPERM EACCES
	expect_eq "$(<got)" ready
}
needs test_b7_c10_one_sandbox_does_not_reach_anothers_sockets bpf-lsm
