# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# What of the guarded filesystem depends on the kernel's settings, which only a guest may change.

needs test_f_15_io_uring_switched_off_for_the_host_gives_plain_calls guest io-uring kernel:6.12 alone
test_f_15_io_uring_switched_off_for_the_host_gives_plain_calls()
{
	local before
	before=$(cat /proc/sys/kernel/io_uring_disabled)
	echo one >f
	echo '{"op":"read","path":"f"}' >req.json
	"$RF" fs batch req.json >a
	echo 2 >/proc/sys/kernel/io_uring_disabled
	"$RF" fs batch req.json >b || true
	echo "$before" >/proc/sys/kernel/io_uring_disabled
	expect_json b .engine plain
	expect_eq "$(jq -c 'del(.engine)' b)" "$(jq -c 'del(.engine)' a)"
}

# What the newer flags of a ring do differs between kernels; what comes out may not.
_kernel_batch()
{
	local i
	rm -rf tree outside
	mkdir -p tree/d tree/many outside
	echo keep >outside/f
	ln -s ../outside tree/away
	mkfifo tree/fifo
	echo a >tree/d/f
	ln tree/d/f tree/alias
	for i in {1..40}; do
		echo "$i" >"tree/many/$i"
	done
	{
		for i in {1..40}; do
			echo '{"op":"read","path":"many/'"$i"'"}'
		done
		for i in {1..20}; do
			echo '{"op":"replace","path":"many/'"$i"'","text":"new"}'
		done
		printf '%s\n' '{"op":"read","path":"away/f"}' '{"op":"read","path":"fifo"}' \
			'{"op":"read","path":"alias"}' '{"op":"write","path":"alias","text":"x"}' \
			'{"op":"write","path":"w","text":"x","flags":["O_CREAT"],"sync":true}' \
			'{"op":"copy","path":"many","target":"copied","recursive":true}' \
			'{"op":"digest","path":"copied/7"}' '{"op":"read","path":"copied/30"}' \
			'{"op":"remove","path":"many","recursive":true}' \
			'{"op":"glob","patterns":["**/[1-3]"]}' '{"op":"exists","path":"many"}' \
			'{"op":"snapshot","path":"copied"}' '{"op":"list","path":"."}'
	} >req.json
	"$RF" fs batch --root tree "$@" req.json || true
}

needs test_e3_the_ring_of_this_kernel_answers_as_plain_calls_do io-uring
test_e3_the_ring_of_this_kernel_answers_as_plain_calls_do()
{
	local file
	_kernel_batch --engine io_uring >out.ring
	_kernel_batch --engine plain >out.plain
	expect_eq "$(jq -r .engine out.ring | sort -u)" io_uring
	for file in out.ring out.plain; do
		jq -c 'walk(if type == "object" then del(.engine, .stat) else . end)' $file >$file.bare
	done
	cmp out.ring.bare out.plain.bare
	expect_eq "$(jq -r 'if .ok then "ok" else .error.code end' out.plain | sort | uniq -c | tr -s ' \n' ' ')" \
		' 4 escape 69 ok '
	expect_eq "$(cat outside/f)" keep
	expect_eq "$(find . -name '.ringfence-*')" ''
}
