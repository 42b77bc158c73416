# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# The same effects through a ring, which no filter of calls sees: sockets, sends, opens, removals.
#
# Where BPF LSM judges them a ring can be had, and each operation fails as its plain call does: the
# hooks see it, a worker's too. Elsewhere seccomp refuses the ring itself; below that the mounts and
# Landlock hold the files, and for sockets nothing does.

source "$RF_TOP/tests/escape/table.bash"

prepare()
{
	rm -rf k
	mkdir k
	echo x >k/file
	touch k/other k/third
}

start_server()
{
	mkdir -p host
	"$(probe escape_unix)" serve host rf-ring-$$ >got &
	server=$!
	wait_for 5 grep -q ready got
}

test_f_107_a_ring_does_what_calls_do_or_is_not_had()
{
	local how
	start_server
	for how in '' worker; do
		prepare
		"$(probe ring)" $how k host/d.sock >unconfined
		expect_errnos unconfined '.*' 0
		prepare
		"$RF" run --net none --deny k -- "$(probe ring)" plain k host/d.sock >plain
		"$RF" run --net none --deny k --result r.json -- "$(probe ring)" $how k host/d.sock >confined
		if [[ $(jq -r '.enforcement.mechanisms["bpf-lsm"].state' r.json) == enforced ]]; then
			expect_errnos confined setup 0
			expect_eq "$(grep -v '^setup ' confined)" "$(<plain)"
		else
			expect_eq "$(<confined)" 'setup EPERM'
		fi
		expect_errnos plain '.*' EPERM EACCES
		expect_eq "$(ls k)" $'file\nother\nthird'
	done
	kill "$server"
	# The unconfined ones alone arrived.
	wait "$server" || true
	expect_eq "$(grep -c 'got datagram' got)" 2
}
needs test_f_107_a_ring_does_what_calls_do_or_is_not_had io-uring

# The floor: without BPF the ring is closed.
test_f_107_without_bpf_no_ring_is_had()
{
	prepare
	without bpf "$RF" run --net none -- "$(probe ring)" k nothing >confined
	expect_eq "$(<confined)" 'setup EPERM'
}
needs test_f_107_without_bpf_no_ring_is_had io-uring

# A ring made before acts with the rights of who made it.
test_b10_f_112_a_ring_cannot_be_passed_in()
{
	expect_eq "$("$(probe ring)" pass 7 sh -c 'readlink /proc/self/fd/7')" 'anon_inode:[io_uring]'
	expect_status 125 "$(probe ring)" pass 7 "$RF" run --pass-fd 7 --result r.json -- touch ran 2>error
	expect_contains "$(<error)" io_uring
	expect_status 125 "$(probe ring)" pass 0 "$RF" run -- touch ran 2>error
	expect_contains "$(<error)" io_uring
	[[ ! -e ran ]]
	# Unnamed it is closed, as every other.
	"$(probe ring)" pass 7 "$RF" run -- sh -c '! test -e /proc/self/fd/7'
}
needs test_b10_f_112_a_ring_cannot_be_passed_in io-uring
