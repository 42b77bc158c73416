# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016
#
# What a policy can get wrong, said in each way that there is: a code, one line that names the option
# or the place and the key, and nothing ran. A14, A3.

needs_all host

result=${RF_SCRATCH-}/result
messages=${RF_SCRATCH-}/messages

# said CODE TEXT: of the refusal that just was.
said()
{
	expect_json "$result" .refusal.code "$1"
	expect_eq "$(grep -c '^ringfence: ' "$messages")" 1
	expect_contains "$(<"$messages")" "$2"
	[[ ! -e ran ]]
}

# option CODE OPTION VALUE [TEXT]: named by the option, or so.
option()
{
	expect_status 125 ringfence run --result "$result" "$2" "$3" -- touch ran 2>"$messages"
	said "$1" "${4-${2#--}}"
}

# both CODE KEY VALUE: refused in YAML and in JSON, which name the key; VALUE is JSON.
both()
{
	local code=$1 section=${2%.*} name=${2#*.} text
	if [[ $section == "$2" ]]; then
		text="{\"$name\": $3}"
	else
		text="{\"$section\": {\"$name\": $3}}"
	fi
	printf '%s' "$text" >p.json
	printf -- '---\n%s' "$text" >p.yaml
	for file in p.json p.yaml; do
		expect_status 125 ringfence run --result "$result" --policy "$file" -- touch ran 2>"$messages"
		said "$code" "$file:"
		expect_contains "$(<"$messages")" "$2: "
	done
}

test_a14_quantities_that_are_negative_too_large_or_without_a_unit()
{
	local value
	for value in -5s 99999999999999999999s 367d 9ms; do
		option policy-value --timeout "$value"
		both policy-value limits.timeout "\"$value\""
	done
	for value in 5 '5 s' 5parsecs 1.5s ''; do
		option policy-unit --timeout "$value"
		both policy-unit limits.timeout "\"$value\""
	done
	for value in -1 99999999999999999999G 9223372036854775807 1K; do
		option policy-value --memory "$value"
		both policy-value limits.memory "\"$value\""
	done
	both policy-value limits.memory -1
	both policy-type limits.memory 1.5
	for value in -1 0 99999999999999999999; do
		option policy-value --pids "$value"
		both policy-value limits.pids "$value"
	done
	option policy-unit --pids many
	option policy-value --grace 2h
	option policy-unit --grace none
	both policy-value lifecycle.grace '"2h"'
}

test_a14_values_of_the_wrong_type()
{
	both policy-type mode 3
	both policy-type mode '["read-only"]'
	both policy-type filesystem.read '"d"'
	both policy-type filesystem.read '[3]'
	both policy-type filesystem.write '{"d": 1}'
	both policy-type filesystem.deny null
	both policy-type network.families '"vsock"'
	both policy-type limits.timeout true
	both policy-type environment.set '["A=1"]'
	both policy-type strict '"true"'
	both policy-type user 1.5
	option policy-value --mode raed-only
	option policy-value --env ''
}

test_a14_paths_with_bytes_that_no_path_has()
{
	local long
	both policy-nul filesystem.read '["a\u0000b"]'
	both policy-nul workspace '"a\u0000b"'
	both policy-value workspace '""'
	option policy-value --read ''
	long=$(printf 'a/%.0s' {1..2048})
	for name in read write write-file protect deny workspace chdir; do
		option policy-value "--$name" "$long"
	done
	option policy-value --external-read "/$long"
	option policy-value --device "/$long"
	both policy-value filesystem.read "[\"$long\"]"
	both policy-value workspace "\"$long\""
	# A name that is too long within a path that is not.
	long=$(printf 'n%.0s' {1..256})
	option write-unresolvable --write "$long/x"
	option deny-unresolvable --deny "$long"
	option workspace-unusable --workspace "$long"
}

# A newline is a byte of a path like any other, in each language; a message stays one line.
test_a14_a_newline_in_a_path_is_taken_as_it_is()
{
	mkdir $'a\nb' w
	ln -s w $'l\nk'
	printf '{"mode": "read-only", "filesystem": {"write": ["a\\nb"]}}' >p.json
	printf 'mode: read-only\nfilesystem:\n  write: ["a\\nb"]\n' >p.yaml
	ringfence run --mode read-only --write $'a\nb' -- touch $'a\nb/1'
	ringfence run --policy p.json -- touch $'a\nb/2'
	ringfence run --policy p.yaml -- touch $'a\nb/3'
	[[ -e $'a\nb/1' && -e $'a\nb/2' && -e $'a\nb/3' ]]
	option write-through-symlink --write $'l\nk'
	expect_contains "$(<"$messages")" 'l\x0ak'
}

# Names need not be UTF-8: an option takes what a shell can say, a file is text.
test_a14_paths_that_are_not_utf8_are_options_alone()
{
	mkdir $'w\xff'
	ringfence run --mode read-only --write $'w\xff' -- touch $'w\xff/f'
	[[ -e $'w\xff/f' ]]
	ringfence plan --json --mode read-only --write $'w\xff' -- true |
		jq -e '[.landlock[] | select(.access == "write") | .path | contains("w\\xff")] | any' >/dev/null
	option write-outside --write $'../w\xff'
	expect_contains "$(<"$messages")" 'w\xff'
	for text in '{"filesystem": {"write": ["w\xff"]}}' 'filesystem:\n  write: ["w\xff"]\n'; do
		# shellcheck disable=SC2059
		printf "$text" >p
		expect_status 125 ringfence run --result "$result" --policy p -- touch ran 2>"$messages"
		said policy-utf8 p:
	done
}

test_a14_keys_that_are_there_twice()
{
	for text in '{"mode": "read-only", "mode": "read-only"}' \
		'{"filesystem": {"read": ["a"]}, "filesystem": {}}' \
		'{"filesystem": {"read": ["a"], "read": ["b"]}}' \
		'{"environment": {"set": {"A": "1", "A": "2"}}}'; do
		printf '%s' "$text" >p.json
		printf -- '---\n%s' "$text" >p.yaml
		for file in p.json p.yaml; do
			expect_status 125 ringfence run --result "$result" --policy "$file" -- touch ran 2>"$messages"
			said policy-duplicate "$file:"
		done
	done
}

test_a14_links_that_lead_in_a_circle()
{
	ln -s two one
	ln -s one two
	for name in write write-file; do
		option write-through-symlink "--$name" one
		option write-through-symlink "--$name" two/x
	done
	option deny-unresolvable --deny one
	option deny-unresolvable --protect two/x
	option workspace-unusable --workspace one
	option directory-unusable --chdir one 'working directory one'
	option device-unusable --device "$PWD/one"
	# A read that cannot be had is not granted, and that is said.
	ringfence run --result "$result" --read one --external-read "$RF_SCRATCH/../x" -- true 2>"$messages"
	expect_contains "$(<"$messages")" 'read one is dropped'
}

test_a3_a_workspace_in_a_place_that_the_sandbox_has_for_itself()
{
	local place
	place=$(mktemp -d /tmp/rf-test.XXXXXX)
	(cd "$place" && ringfence run -- sh -ec 'echo x >f; test -d /tmp/.home; touch /tmp/lost')
	[[ -e $place/f && ! -e /tmp/lost ]]
	rm -r "$place"
	HOME=$PWD ringfence run -- sh -ec 'touch made; test "$HOME" != "$PWD"'
	[[ -e made ]]
	option workspace-root --workspace /
	option workspace-root --workspace /usr/..
}

# The home of whoever runs it: what is always closed stays closed in it.
test_a3_the_home_as_workspace_keeps_its_credentials()
{
	local home
	home=$(getent passwd 0 | cut -d: -f6)
	mkdir -p "$RF_SCRATCH/home/.ssh"
	echo key >"$RF_SCRATCH/home/.ssh/id"
	unshare --mount --propagation private bash -ec 'mount --bind "$0" "$1"; cd "$1"
		"$RF" run --quiet -- touch made
		"$RF" run --quiet -- cat .ssh/id && exit 1 || true' "$RF_SCRATCH/home" "$home" 2>"$messages" >out
	[[ -e $RF_SCRATCH/home/made && ! -s out ]]
	expect_contains "$(<"$messages")" 'Permission denied'
}

# Elsewhere than the user database says, as in many a container.
test_a3_the_home_of_the_environment_keeps_its_credentials()
{
	mkdir -p h/.ssh w
	echo key >h/.ssh/id
	expect_eq "$(ringfence run --quiet -- cat h/.ssh/id)" key
	expect_status 1 env HOME="$PWD/h" "$RF" run --quiet -- cat h/.ssh/id 2>"$messages"
	expect_contains "$(<"$messages")" 'Permission denied'
	expect_status 1 env HOME="$PWD/h" "$RF" run --quiet --workspace w --external-read "$PWD/h" -- \
		cat "$PWD/h/.ssh/id" 2>"$messages"
	# Whoever it belongs to.
	chown -R 1000 h
	expect_status 1 env HOME="$PWD/h" "$RF" run --quiet -- cat h/.ssh/id 2>"$messages"
	expect_eq "$(HOME=$PWD/h ringfence run --quiet --workspace w --external-read "$PWD/h/.ssh/id" -- \
		cat "$PWD/h/.ssh/id")" key
}

test_b9_a_mount_inside_a_write_is_warned_of_and_one_of_the_kernel_s_refused()
{
	mkdir -p w/m w/p
	unshare --mount --propagation private bash -ec 'mount -t tmpfs none w/m
		"$RF" run --mode read-only --write w -- touch w/m/f 2>"$0"
		test -e w/m/f' "$messages"
	expect_contains "$(<"$messages")" "other mounts can be written with what they lie in: $PWD/w/m"
	unshare --mount --propagation private bash -ec 'mount -t proc none w/p
		"$RF" run --result "$1" --write w -- touch ran 2>"$0"' "$messages" "$result" || true
	said mount-in-workspace w/p
}

# A filesystem whose server never answers: whoever looks up a name in it stays in the kernel.
with_dead_mount()
{
	python3 - "$@" <<-'END'
		import ctypes, os, subprocess, sys
		libc = ctypes.CDLL(None, use_errno=True)
		os.unshare = getattr(os, "unshare", None) or (lambda flags: libc.unshare(flags))
		os.unshare(0x00020000)
		if libc.mount(None, b"/", None, 1 << 18 | 1 << 14, None):
		    sys.exit("private: %s" % os.strerror(ctypes.get_errno()))
		server = os.open("/dev/fuse", os.O_RDWR)
		options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % server
		if libc.mount(b"dead", b"dead", b"fuse", 0, options):
		    sys.exit("mount: %s" % os.strerror(ctypes.get_errno()))
		status = subprocess.run(sys.argv[1:], pass_fds=()).returncode
		os.close(server)
		sys.exit(status)
	END
}

# dead OPTION...: refused by the deadline, and named.
dead()
{
	local start=$SECONDS
	expect_status 125 with_dead_mount "$RF" run --result "$result" "$@" -- touch ran 2>"$messages"
	said planning-deadline "${!#}"
	[[ $((SECONDS - start)) -lt 60 ]]
	[[ $((SECONDS - start)) -ge 9 ]]
}

needs test_a3_a_workspace_on_a_dead_mount_is_refused_in_time time:120
test_a3_a_workspace_on_a_dead_mount_is_refused_in_time()
{
	mkdir dead
	dead --workspace dead/w &
	# The same for another path that a policy names.
	(result=$result.2 messages=$messages.2 && dead --external-read "$PWD/dead/r")
	wait $!
}

# What is refused for a path says what to do about it, in the result's own field too.
test_a5_refusals_of_paths_have_a_remedy()
{
	local arguments
	ln -s /etc link
	mkdir gone closed
	for arguments in '--write link' '--write ../x' '--write link/../y' '--workspace /nope' '--chdir /nope' \
		'--chdir /etc' '--deny closed --chdir closed' '--user nobody-of-that-name' '--policy nope.yaml'; do
		# shellcheck disable=SC2086
		expect_status 125 ringfence run --result "$result" $arguments -- touch ran 2>"$messages"
		expect_json "$result" '.refusal.hint | length > 0' true
		expect_contains "$(<"$messages")" "$(jq -r '" (\(.refusal.hint))"' "$result")"
		[[ ! -e ran ]]
	done
	(cd gone && rmdir ../gone && expect_status 125 ringfence run --result "$result" -- true)
	expect_json "$result" '.refusal.hint | length > 0' true
}
