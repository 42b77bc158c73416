# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# The runner itself: a harness that overlooks what a test leaves behind proves nothing.

run_inner()
{
	printf '%s\n' "$1" >inner.sh
	"$RF_TOP/tests/runner" "$PWD/inner.sh" >log 2>&1
}

test_harness_fails_a_test_that_leaves_a_process()
{
	# shellcheck disable=SC2016
	expect_status 1 run_inner 'test_leaves() { setsid sleep 7791 >/dev/null 2>&1 & }
		test_starts_clean() { gone "sleep 7791"; }'
	expect_contains "$(<log)" 'left behind: process'
	expect_contains "$(<log)" 'sleep 7791'
	expect_contains "$(<log)" 'ok test_starts_clean'
	expect_contains "$(<log)" '1 passed, 1 failed, 0 skipped'
}

needs test_harness_fails_a_test_that_leaves_a_mount root host
test_harness_fails_a_test_that_leaves_a_mount()
{
	expect_status 1 run_inner 'test_leaves() { mkdir m; mount -t tmpfs none m; }'
	expect_contains "$(<log)" 'left behind: mount / /var/tmp/rf-test.'
}

needs test_harness_fails_a_test_that_leaves_a_cgroup root host cgroup
test_harness_fails_a_test_that_leaves_a_cgroup()
{
	local cgroup2
	cgroup2=$(findmnt -nt cgroup2 -o TARGET | head -n1)
	mkdir -p "$cgroup2/ringfence-harness"
	expect_status 1 run_inner "test_leaves() { mkdir $cgroup2/ringfence-harness/left; }"
	rmdir "$cgroup2/ringfence-harness/left" "$cgroup2/ringfence-harness"
	expect_contains "$(<log)" 'left behind: cgroup'
}

needs test_harness_says_where_a_test_failed host
test_harness_says_where_a_test_failed()
{
	expect_status 1 run_inner 'test_fails() { true
		expect_eq a b; }
		test_stops() { false
		touch never; }'
	expect_contains "$(<log)" "inner.sh:2: got 'a', expected 'b'"
	expect_contains "$(<log)" 'inner.sh:3: status 1 from: false'
	[[ ! -e never ]]
}

needs test_harness_skips_what_the_machine_cannot_do host
test_harness_skips_what_the_machine_cannot_do()
{
	expect_status 1 run_inner 'needs test_a landlock:99
		test_a() { false; }
		test_b() { skip because; }
		test_c() { false; }'
	expect_contains "$(<log)" 'skip test_a: needs landlock:99'
	expect_contains "$(<log)" 'skip test_b: because'
	expect_contains "$(<log)" '0 passed, 1 failed, 2 skipped'
}

needs test_harness_does_not_pass_without_a_test host
test_harness_does_not_pass_without_a_test()
{
	expect_status 1 run_inner ': nothing'
	expect_contains "$(<log)" '0 passed, 0 failed, 0 skipped'
}

needs test_harness_fails_a_test_after_a_kernel_warning guest root
test_harness_fails_a_test_after_a_kernel_warning()
{
	printf '%s\n' 'test_warns() { echo "WARNING: CPU: 0 made up" >/dev/kmsg; }' >inner.sh
	expect_status 1 "$RF_TOP/tests/runner" --guest "$PWD/inner.sh" >log
	expect_contains "$(<log)" 'FAIL test_warns: kernel warning'
}

needs test_harness_refuses_a_file_that_it_cannot_load host
test_harness_refuses_a_file_that_it_cannot_load()
{
	expect_status 2 run_inner 'test_a() { true; }
		if'
	expect_contains "$(<log)" 'inner.sh cannot be loaded'
}

# Tests ask tests/probes/json.c, which must say what jq says, what it knows and what it hands on.
needs test_harness_reads_json_as_jq_does host time:120
test_harness_reads_json_as_jq_does()
{
	local filter options
	cat >values <<-'END'
		{"a": {"b-c": [1, "x", null, true], "d": "e\u001f\n\u00e9\"", "f": 1.5, "g": {}}, "n": 12345678901234567890}
		{"a": {"b-c": [], "z": 3, "y": 2}, "n": -7} {"n": 9007199254740993, "a": null}
	END
	for options in -rc ''; do
		while IFS= read -r filter; do
			# shellcheck disable=SC2086
			command jq $options "$filter" values >by-jq 2>/dev/null && status=0 || status=$?
			# shellcheck disable=SC2086
			expect_status "$status" "$(probe json)" $options "$filter" values >by-us 2>/dev/null
			cmp by-jq by-us || fail "jq $options '$filter'"
		done <<-'END'
			.
			.a
			.a.d
			.a["b-c"][0]
			.a."b-c" | length
			[.a["b-c"][]?, 1]
			[.a.z, .n, "x", null] | map(. == null)
			.a["b-c"][-1]
			.n < 0 and .a.z == 3 or .n > 5 | not
			.a | has("z") and (has("q") | not)
			.a | type
			.a | keys
			select(.a != null) | .a["b-c"] | index("x")
			select(.a.z == 3) | [.a.z + 1, .a.z - .a.y, .a.z >= 3, .a.z <= 2]
			select(.n == -7) | .a | keys, length
			[.[]] | any(. == -7)
			.a.f
			.a.nosuch.deeper
			.n.nosuch
			.a |
			.a as $x | $x.y
			.a | to_entries
			"\(.n)"
			[1, -2, [], [3]][0]
			[]
			{x: .n}
		END
	done
	for filter in .n '.a as $x | $x.y'; do
		command jq -c "$filter" <values >by-jq
		"$(probe json)" -c "$filter" <values >by-us
		cmp by-jq by-us
	done
	printf '{"a": 1}{' >values
	command jq .a values >by-jq 2>/dev/null && status=0 || status=$?
	expect_status "$status" "$(probe json)" .a values >by-us 2>/dev/null
	cmp by-jq by-us
	[[ $status -ne 0 ]]
}
