# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016,SC2094,SC2164
#
# Policies as they are read, the plan that they become and what it refuses: A1, A2, A13, A14, A16, B11,
# B14.

# What it tests goes by files and words, not by the kernel's mechanisms: once is enough.
needs_all host

# policy_refused FILE TEXT...: the line begins with FILE and has each TEXT.
policy_refused()
{
	local file=$1 text
	shift
	expect_status 125 ringfence run --policy "$file" -- touch ran 2>"$messages"
	expect_eq "$(wc -l <"$messages")" 1
	for text in "$@"; do
		expect_contains "$(<"$messages")" "$text"
	done
	[[ ! -e ran ]]
}

# ---- Files ---------------------------------------------------------------------------------------

all_keys_yaml()
{
	cat <<-'END'
		mode: read-only
		workspace: ws
		directory: d
		strict: false
		keep_groups: false
		filesystem:
		  read: [d, r]
		  write:
		    - w
		  write_files: [f/x]
		  protect: [w/p]
		  deny: [w/k]
		  external_read: [/opt]
		  device: [/dev/full]
		network:
		  posture: loopback
		  unix: false
		  families: [vsock]
		limits:
		  timeout: 5m
		environment:
		  pass: [COLORTERM]
		  set:
		    A: "1"
		  clear: true
		enforcement:
		  waive: [denial-record]
		  require: [fs-write]
		lifecycle:
		  grace: 1s
		  keep_background: true
	END
}

all_keys_json()
{
	cat <<-'END'
		{"lifecycle": {"keep_background": true, "grace": "1s"},
		 "enforcement": {"require": ["fs-write"], "waive": ["denial-record"]},
		 "environment": {"clear": true, "set": {"A": "1"}, "pass": ["COLORTERM"]},
		 "limits": {"timeout": "5m"},
		 "network": {"families": ["vsock"], "unix": false, "posture": "loopback"},
		 "filesystem": {"device": ["/dev/full"], "external_read": ["/opt"], "deny": ["w/k"],
		  "protect": ["w/p"], "write_files": ["f/x"], "write": ["w"], "read": ["r", "d"]},
		 "keep_groups": false, "strict": false, "directory": "d", "workspace": "ws",
		 "mode": "read-only"}
	END
}

all_keys_options=(--mode=read-only --workspace=ws --chdir=d --read=d --read=r --write=w
	--write-file=f/x --protect=w/p --deny=w/k --external-read=/opt --device=/dev/full --net=loopback
	--no-unix --socket-family=vsock --timeout=5m --env=COLORTERM --env=A=1 --clear-env
	--waive=denial-record --require=fs-write --grace=1s --keep-background)

test_a1_options_yaml_and_json_say_the_same()
{
	mkdir -p ws/d ws/r ws/w/p ws/f
	: >ws/w/k
	all_keys_yaml >p.yaml
	all_keys_json >p.json
	export COLORTERM=truecolor
	ringfence plan --json "${all_keys_options[@]}" -- true >options
	ringfence plan --json --policy p.yaml -- true | diff options -
	ringfence plan --json --policy p.json -- true | diff options -
	ringfence plan --json --policy - -- true <p.yaml | diff options -
	ringfence plan --json --policy - -- true <p.json | diff options -
	expect_eq "$(jq -c '[.mode, .network.posture, .network.families, .limits.timeout.effective]' options)" \
		'["read-only","loopback",["vsock"],"300000ms"]'
}

# judged FILE: what the schema says, by a validator that knows nothing of us; the file has a policy a line.
judged()
{
	python3 -W ignore - "$RF_TOP/docs/ringfence-policy.schema.json" "$1" <<-'END'
		import json, sys
		import jsonschema
		schema = json.load(open(sys.argv[1]))
		jsonschema.Draft202012Validator.check_schema(schema)
		validator = jsonschema.Draft202012Validator(schema)
		for line in open(sys.argv[2]):
		    print("taken" if validator.is_valid(json.loads(line)) else "refused", line, end="")
	END
}

# read_as WORD FILE: the reader itself says the same of every line.
read_as()
{
	local line
	while read -r line; do
		if [[ $1 == taken ]]; then
			ringfence plan --json --mode read-only --policy - -- true <<<"$line" >plan
		else
			expect_status 125 ringfence plan --policy - -- true <<<"$line" 2>"$messages"
			expect_contains "$(<"$messages")" 'standard input:1:'
		fi
	done <"$2"
}

# Every policy that the documents and the tests show, and each kind of value.
taken_policies()
{
	all_keys_json | jq -c .
	jq -c . "$RF_TOP/tests/data/policies/example.json"
	cat <<-'END'
		{}
		{"limits": {"timeout": "none"}, "user": 0, "lifecycle": {"grace": "0s"}}
		{"network": {"unix": true, "posture": "open", "families": []}}
		{"environment": {"set": {"A": "", "B": "x y\n"}}, "filesystem": {"read": ["with\nnewline"]}}
	END
}

refused_policies()
{
	cat <<-'END'
		["mode"]
		{"mode": 3}
		{"mode": "raed-only"}
		{"mdoe": "read-only"}
		{"filesystem": ["read"]}
		{"filesystem": {"read": "d"}}
		{"filesystem": {"raed": ["d"]}}
		{"filesystem": {"read": ["d", 3]}}
		{"filesystem": {"read": [""]}}
		{"filesystem": {"external_read": ["d"]}}
		{"workspace": "a\u0000b"}
		{"network": {"unix": "no"}}
		{"network": {"families": ["ip"]}}
		{"limits": {"timeout": 5}}
		{"limits": {"timeout": "5 parsecs"}}
		{"limits": {"timeout": "-5s"}}
		{"limits": {"memory": -1}}
		{"limits": {"memory": 1.5}}
		{"limits": {"pids": 0}}
		{"environment": {"set": {"A": 1}}}
		{"environment": {"set": {"A=B": "1"}}}
		{"environment": {"pass": ["A=B"]}}
		{"enforcement": {"waive": ["fs-raed"]}}
		{"lifecycle": {"grace": "none"}}
		{"strict": "true"}
		{"user": true}
	END
}

test_a14_the_schema_takes_and_refuses_what_the_reader_does()
{
	mkdir -p ws/d ws/r ws/w/p ws/f src/secrets include build
	: >ws/w/k
	taken_policies >taken
	refused_policies >refused
	judged taken >said
	expect_eq "$(grep -v '^taken' said || true)" ''
	judged refused >said
	expect_eq "$(grep -v '^refused' said || true)" ''
	read_as taken taken
	read_as refused refused
}

test_a1_the_policy_is_read_once_and_nothing_of_the_workspace_unless_named()
{
	printf 'mode: read-only\n' >ringfence.yaml
	cp ringfence.yaml policy.yaml
	run -- touch made
	[[ -e made ]]
	# A pipe can be read once alone.
	printf 'mode: read-only\n' | expect_status 1 run --policy - -- touch made2 2>/dev/null
	expect_status 1 run --policy <(printf 'mode: read-only\n') -- touch made2 2>/dev/null
	[[ ! -e made2 ]]
}

test_a14_an_unknown_key_names_its_place_and_the_nearest_key()
{
	printf 'mode: read-only\nfilesystem:\n  raed:\n    - d\n' >p.yaml
	policy_refused p.yaml 'p.yaml:3:3:' filesystem.raed filesystem.read
	printf 'netwrok:\n  posture: none\n' >p.yaml
	policy_refused p.yaml 'p.yaml:1:1:' netwrok network
	printf '{"mode": "read-only",\n  "limits": {"timeuot": "5s"}}\n' >p.json
	policy_refused p.json 'p.json:2:' timeuot limits.timeout
}

test_a14_a_wrong_type_or_unit_names_its_place()
{
	printf 'mode: read-only\nfilesystem: 3\n' >p.yaml
	policy_refused p.yaml 'p.yaml:2:13:' filesystem mapping
	printf 'filesystem:\n  read: d\n' >p.yaml
	policy_refused p.yaml 'p.yaml:2:9:' filesystem.read list
	printf 'filesystem:\n  write:\n    - a\n    - [b]\n' >p.yaml
	policy_refused p.yaml 'p.yaml:4:7:' filesystem.write
	printf 'strict: maybe\n' >p.yaml
	policy_refused p.yaml 'p.yaml:1:9:' strict true
	printf 'limits:\n  timeout: 5 parsecs\n' >p.yaml
	policy_refused p.yaml 'p.yaml:2:12:' limits.timeout ms
	printf 'limits:\n  memory: 12X\n' >p.yaml
	policy_refused p.yaml 'p.yaml:2:11:' limits.memory
	printf 'mode: raed-only\n' >p.yaml
	policy_refused p.yaml 'p.yaml:1:7:' raed-only read-only
	printf '{"mode":"read-only",\n "filesystem":{"write":["a",3]}}' >p.json
	policy_refused p.json 'p.json:2:' filesystem.write number
}

# What YAML can do beyond JSON is a way to say one thing and mean another.
test_a14_yaml_is_read_strictly()
{
	printf 'mode: &a read-only\nworkspace: *a\n' >p.yaml
	policy_refused p.yaml 'p.yaml:1:' anchors
	printf 'mode: read-only\nmode: workspace-write\n' >p.yaml
	policy_refused p.yaml 'p.yaml:2:1:' twice
	printf '{"mode":"read-only","mode":"workspace-write"}' >p.json
	policy_refused p.json 'p.json:1:'
	printf 'mode: !!str read-only\n' >p.yaml
	policy_refused p.yaml 'p.yaml:1:' tag
	printf -- '---\nmode: read-only\n---\nmode: workspace-write\n' >p.yaml
	policy_refused p.yaml 'p.yaml:'
	printf 'mode: [\n' >p.yaml
	policy_refused p.yaml 'p.yaml:'
	printf '{"mode": "read-only"} x' >p.json
	policy_refused p.json 'p.json:'
	printf 'mode: read-only\0\n' >p.yaml
	policy_refused p.yaml 'p.yaml'
	: >empty.yaml
	ringfence run --policy empty.yaml -- true
}

test_a14_a_policy_that_cannot_be_read_is_refused()
{
	policy_refused nope.yaml nope.yaml 'No such file'
	policy_refused . 'Is a directory'
	truncate -s 100M big.yaml
	policy_refused big.yaml big.yaml 16777216
	printf 'mode: read-only\nfilesystem:\n  read: [' >p.yaml
	printf 'd,%.0s' {1..100100} >>p.yaml
	printf ']\n' >>p.yaml
	policy_refused p.yaml filesystem.read 100000
}

needs test_f_80_twenty_thousand_rules_work time:120
test_f_80_twenty_thousand_rules_work()
{
	mkdir d
	(cd d && seq 20000 | xargs mkdir)
	{
		echo 'mode: read-only'
		echo 'filesystem:'
		echo '  read:'
		seq -f '    - d/%.0f' 20000
	} >p.yaml
	expect_eq "$(run --policy p.yaml -- ls d/20000 d/1)" 'd/1:'$'\n\n'd/20000:
	expect_eq "$(run --policy p.yaml -- ls d | wc -l)" 20000
	expect_status 1 run --policy p.yaml -- touch d/x d/7/x 2>/dev/null
	expect_eq "$(find d -type f)" ''
	mkdir d/20001
	expect_status 2 run --policy p.yaml -- ls d/20001 2>/dev/null
}

needs test_f_80_twenty_thousand_rules_of_every_kind_work time:120 host
test_f_80_twenty_thousand_rules_of_every_kind_work()
{
	mkdir d
	(cd d && seq 20000 | xargs mkdir)
	{
		echo 'mode: read-only'
		echo 'filesystem:'
		echo '  write:'
		seq -f '    - d/%.0f' 1 3 20000
		echo '  deny:'
		seq -f '    - d/%.0f' 2 3 20000
		echo '  read:'
		seq -f '    - d/%.0f' 3 3 20000
	} >p.yaml
	expect_eq "$(run --policy p.yaml -- sh -c 'for n in 1 2 3 19999 20000; do
		ls d/$n >/dev/null 2>&1 && printf r; echo x >d/$n/f && printf w; echo; done' 2>/dev/null | xargs)" \
		'rw r rw'
	expect_eq "$(find d -type f | sort)" d/1/f$'\n'd/19999/f
}

# ---- Precedence ----------------------------------------------------------------------------------

test_a2_an_option_beats_the_file_the_file_the_user_s_default_that_the_system_s()
{
	with_own_mounts precedence
}

precedence()
{
	mode() { ringfence plan --json "$@" -- true | jq -r '.mode + " " + .limits.timeout.effective'; }
	mkdir -p "$RF_SCRATCH/etc/ringfence" "$RF_SCRATCH/home/.config/ringfence"
	cp -a /etc/passwd /etc/group /etc/hosts /etc/nsswitch.conf /etc/ld.so.* "$RF_SCRATCH/etc"
	mount --bind "$RF_SCRATCH/etc" /etc
	export HOME=$RF_SCRATCH/home
	unset XDG_CONFIG_HOME
	expect_eq "$(mode)" 'workspace-write none'
	printf 'mode: read-only\nlimits:\n  timeout: 1s\n' >/etc/ringfence/policy.yaml
	expect_eq "$(mode)" 'read-only 1000ms'
	printf 'limits:\n  timeout: 2s\n' >"$HOME/.config/ringfence/policy.yaml"
	expect_eq "$(mode)" 'read-only 2000ms'
	printf 'limits:\n  timeout: 3s\n' >p.yaml
	expect_eq "$(mode --policy p.yaml)" 'read-only 3000ms'
	expect_eq "$(mode --policy p.yaml --timeout 4s)" 'read-only 4000ms'
	expect_eq "$(mode --timeout 4s --policy p.yaml)" 'read-only 4000ms'
	expect_eq "$(mode --policy p.yaml --timeout none)" 'read-only none'
	printf 'mode: workspace-write\n' >p.yaml
	expect_eq "$(mode --policy p.yaml)" 'workspace-write 2000ms'
	expect_eq "$(mode --policy p.yaml --mode read-only)" 'read-only 2000ms'
	# A default that is broken refuses as well as any other file, and says where.
	printf 'mdoe: read-only\n' >"$HOME/.config/ringfence/policy.yaml"
	refused policy-key
	expect_contains "$(<"$messages")" "$HOME/.config/ringfence/policy.yaml:1:1:"
}

test_a2_the_modes_are_presets()
{
	mkdir d
	run -- touch d/f
	expect_status 1 run --mode read-only -- touch d/g 2>/dev/null
	expect_status 1 run --mode read-only -- touch /etc/rf-x 2>/dev/null
	[[ ! -e d/g && ! -e /etc/rf-x ]]
	run --mode read-only -- sh -c 'echo x >/dev/null; echo x >"$TMPDIR/f"'
	expect_eq "$(run --mode read-only -- ls d)" f
	# Named reads take the place of the whole.
	mkdir e
	expect_status 2 run --mode read-only --read e -- ls d 2>/dev/null
}

test_a2_full_access_confines_nothing_and_says_so()
{
	export SECRET=s1 HOME=$RF_SCRATCH
	expect_eq "$(run --mode full-access -- sh -c 'echo "$SECRET $HOME"; ls -d "$HOME"; setsid sleep 7712 &
		touch "$HOME/f"')" "s1 $HOME"$'\n'"$HOME"
	[[ -e $RF_SCRATCH/f ]]
	gone 'sleep 7712'
	expect_json "$result" .enforcement.level none
	expect_json "$result" '.enforcement.promises["fs-write"].state' off
	expect_json "$result" '.enforcement.mechanisms.landlock.state' off
	expect_json "$result" .processes.stragglers_killed 1
	expect_status 127 run --mode full-access -- nosuchcmd 2>/dev/null
	expect_status 7 run --mode full-access -- sh -c 'exit 7'
	ringfence plan --json --mode full-access -- true | jq -e '.enforcement.level == "none"'
	refused contradiction --mode full-access --deny x
	refused contradiction --mode full-access --net none
	refused contradiction --mode full-access --strict
}

# ---- The plan ------------------------------------------------------------------------------------

test_a13_the_same_input_gives_the_same_plan()
{
	mkdir -p w/p
	: >w/k
	plan() { ringfence plan --json --write w --deny w/k --protect w/p --external-read /opt -- true; }
	plan >first
	plan | cmp - first
	# Whatever descriptors are open, whatever came before, and in another environment's order.
	{ plan | cmp - first; } 5</dev/null 6</dev/null 70</dev/null 93</dev/null
	env -i LANG="$LANG" HOME="$HOME" PATH="$PATH" "$RF" plan --json --external-read /opt --protect w/p \
		--deny w/k --write w -- true | cmp - first
	jq -e '.enforcement.promises and (.bubblewrap | length > 10) and .limits' first
}

test_a13_planning_has_no_effect()
{
	local before
	before=$(find . -printf '%p %y %s %T@\n')
	ringfence plan --json --write new/d --deny "${PWD##*/}x" --waive fs-deny -- touch ran >"$RF_SCRATCH/p"
	ringfence plan --write new/d -- touch ran >"$RF_SCRATCH/p"
	expect_eq "$(find . -printf '%p %y %s %T@\n')" "$before"
	expect_status 125 ringfence plan --workspace / -- true 2>"$messages"
	warned 'workspace'
	expect_status 125 ringfence plan --json --write .. -- true 2>"$messages" >"$RF_SCRATCH/p"
}

# The plan's list is what bubblewrap is given, with the launcher and nothing else behind it.
test_a13_the_plan_has_bubblewrap_s_own_arguments()
{
	local pid
	mkdir w
	ringfence plan --json --mode read-only --write w -- sleep 7713 >plan
	ringfence run --mode read-only --write w -- sleep 7713 &
	wait_for 5 running 'sleep 7713'
	pid=$(pgrep -fx 'bwrap --args [0-9]+ -- /proc/self/fd/[0-9]+ init' | head -n1)
	[[ -n $pid ]]
	expect_eq "$(tr '\0' '\n' <"/proc/$pid/environ")" ''
	kill %1
	wait || true
	jq -r '.bubblewrap[]' plan | grep -qx -- --bind-fd
}

test_f_81_what_exec_takes_we_take()
{
	# shellcheck disable=SC2046 # a hundred thousand arguments
	run -- true $(seq 100000)
	run -- sh -c "$(head -c 131000 /dev/zero | tr '\0' ' ')true"
	expect_eq "$(run -- printf '%s|' '' 'a b' '*' $'c\nd')" $'|a b|*|c\nd|'
}

# ---- Options -------------------------------------------------------------------------------------

test_a14_an_unknown_option_names_the_nearest()
{
	refused unknown-option --wrte x
	expect_contains "$(<"$messages")" '--write'
	refused unknown-option --host-port 1
	refused unknown-option --net=none --strictt
	expect_contains "$(<"$messages")" '--strict'
	refused policy-value --mode raed-only
	expect_contains "$(<"$messages")" read-only
	refused policy-value --net lopback
	expect_contains "$(<"$messages")" loopback
	refused policy-unit --timeout 5parsecs
	refused policy-value --waive socket-craete
	expect_contains "$(<"$messages")" socket-create
	expect_status 125 ringfence run 2>"$messages"
	warned 'no command'
	expect_status 125 ringfence rnu -- true 2>"$messages"
	warned 'run'
}

# Whoever wrote it is answered in his own words: an option's name, or a place and a key.
test_a14_options_and_files_are_checked_alike()
{
	refused policy-unit --memory lots
	sed -n 's/^ringfence: --memory//p' "$messages" >option
	[[ -s option ]]
	printf 'limits:\n  memory: lots\n' >p.yaml
	policy_refused p.yaml "p.yaml:2:11: limits.memory$(<option)"
}

# ---- Programs that are trusted -------------------------------------------------------------------

# as_bwrap FILE COMMAND...: with FILE in the place of bubblewrap.
as_bwrap()
{
	local file=$1
	shift
	unshare --mount --propagation private sh -c 'mount --bind "$0" "$(command -v bwrap)" && exec "$@"' \
		"$file" "$@"
}

test_f_8_without_a_usable_bubblewrap_nothing_runs()
{
	local file
	bwrap=$(readlink -f "$(command -v bwrap)")
	: >"$RF_SCRATCH/empty"
	printf '#!/bin/sh\nexec "$@"\n' >"$RF_SCRATCH/script"
	sed 's/bubblewrap 0\.[0-9]*\.[0-9]/bubblewrap 0.1.0/; s/--ro-bind-fd/--ro-bind-xx/' "$bwrap" \
		>"$RF_SCRATCH/old"
	cp "$bwrap" "$RF_SCRATCH/writable"
	cp "$bwrap" "$RF_SCRATCH/foreign"
	cp "$RF" "$RF_SCRATCH/ourselves"
	chmod 755 "$RF_SCRATCH"/{empty,script,old,foreign,ourselves}
	chmod 777 "$RF_SCRATCH/writable"
	chown 1234 "$RF_SCRATCH/foreign"
	for file in /dev/null "$RF_SCRATCH"/{empty,script,old,writable,foreign,ourselves}; do
		expect_status 125 as_bwrap "$file" ringfence run --result "$result" -- touch ran 2>"$messages"
		warned '\(bwrap\|bubblewrap\)'
		[[ ! -e ran ]]
		expect_json "$result" .refusal.mechanism mount-namespace
		[[ $(jq -r .refusal.hint "$result") != null ]]
	done
	# The same from nobody in particular.
	mkdir ws
	cd ws
	expect_status 125 as_bwrap /dev/null setpriv --reuid 1000 --regid 1000 --clear-groups \
		ringfence run -- true 2>"$messages"
	warned bwrap
}

test_f_8_a_missing_bubblewrap_is_named()
{
	with_own_mounts missing_bwrap
}

missing_bwrap()
{
	mkdir "$RF_SCRATCH/bin"
	mount --bind /usr/bin "$RF_SCRATCH/bin"
	mount -t tmpfs -o mode=755 none /usr/bin
	"$RF_SCRATCH/bin/ln" -s "$RF_SCRATCH"/bin/* /usr/bin/
	rm /usr/bin/bwrap
	refused bubblewrap-unusable
	warned 'bwrap.*not installed'
	expect_json "$result" .refusal.hint 'install the package bubblewrap, which puts bwrap into /usr/bin'
}

test_a16_our_own_programs_lie_outside_the_workspace_and_every_write()
{
	mkdir -p bin w
	cp "$(dirname "$RF")"/ringfence{,d,-launch} bin/
	expect_status 125 bin/ringfence run -- touch ran 2>"$messages"
	warned ringfence-launch
	expect_status 125 bin/ringfence run --mode read-only --write bin -- touch w/ran 2>"$messages"
	warned ringfence-launch
	expect_status 125 bin/ringfence run --mode read-only --write w -- touch w/ran 2>"$messages"
	warned ringfence-launch
	expect_status 125 ringfence run --workspace /usr -- touch /usr/ran 2>"$messages"
	[[ ! -e /usr/ran && ! -e ran && ! -e w/ran ]]
	mkdir ws
	(cd ws && ../bin/ringfence run -- touch ran)
	[[ -e ws/ran ]]
}

test_a16_our_own_programs_can_be_changed_by_root_or_the_caller_alone()
{
	local name
	mkdir bin ws
	cp "$(dirname "$RF")"/ringfence{,d,-launch} bin/
	cd ws
	for name in ringfence-launch ringfenced; do
		chown 1234 "../bin/$name"
		expect_status 125 ../bin/ringfence run -- touch ran 2>"$messages"
		warned "$name"
		chown 0 "../bin/$name"
		chmod 777 "../bin/$name"
		expect_status 125 ../bin/ringfence run -- touch ran 2>"$messages"
		warned "$name"
		chmod 755 "../bin/$name"
		mv "../bin/$name" "../bin/$name.gone"
		expect_status 125 ../bin/ringfence run -- touch ran 2>"$messages"
		warned "$name"
		mv "../bin/$name.gone" "../bin/$name"
		[[ ! -e ran ]]
	done
	../bin/ringfence run -- true
}

# ---- Enforcement ---------------------------------------------------------------------------------

test_b11_every_mechanism_and_promise_is_reported()
{
	run -- true
	expect_json "$result" '.enforcement.mechanisms | keys' "$(jq -c sort <<<'["mount-namespace",
		"user-namespace", "pid-namespace", "network-namespace", "landlock", "seccomp", "bpf-lsm",
		"bpf-cgroup", "bpf-trace", "cgroup", "cgroup-limits", "rlimits", "io-uring", "launcher"]')"
	expect_json "$result" '.enforcement.promises | keys' "$(jq -c sort <<<'["fs-read", "fs-write",
		"fs-deny", "socket-create", "socket-connect", "unix-connect", "exec-gate", "exec-audit",
		"process-tree", "denial-record", "reap", "limits", "capabilities", "environment",
		"descriptors", "terminal"]')"
	# What is not held has a reason, what is held has a holder or a reason why none is needed.
	expect_json "$result" '[.enforcement.mechanisms[] | select(.state != "enforced" and
		((.why // "") == ""))]' '[]'
	expect_json "$result" '[.enforcement.promises[] | select(.state != "enforced" and
		((.why // "") == ""))]' '[]'
	expect_json "$result" '[.enforcement.promises[] | select(.state == "enforced" and .by == [] and
		((.why // "") == ""))]' '[]'
	# A holder that is off holds nothing.
	expect_json "$result" '[.enforcement | .mechanisms as $m | .promises[] | select(.state != "off")
		| .by[] | select($m[.].state == "off")]' '[]'
	ringfence plan --json -- true | jq -S .enforcement.promises >planned
	jq -S .enforcement.promises "$result" | diff planned -
}

needs test_b11_a_limit_that_cannot_be_held_is_refused_unless_waived no-cgroup-limits
test_b11_a_limit_that_cannot_be_held_is_refused_unless_waived()
{
	refused limit-unavailable --memory 64M
	expect_json "$result" .refusal.promise limits
	expect_json "$result" .refusal.mechanism cgroup-limits
	run --memory 64M --waive limits -- touch ran 2>"$messages"
	warned 'waived: limits'
	expect_json "$result" .enforcement.waived '["limits"]'
	expect_json "$result" .enforcement.promises.limits.state off
	rm ran
	# What was required is not given up.
	refused limit-unavailable --memory 64M --waive limits --require limits
}

test_b11_a_waiver_of_what_is_held_changes_nothing()
{
	run --waive fs-write -- true 2>"$messages"
	expect_eq "$(<"$messages")" ''
	expect_json "$result" .enforcement.waived '[]'
	expect_status 1 run --waive fs-write -- touch /etc/rf-x 2>/dev/null
	[[ ! -e /etc/rf-x ]]
}

needs test_b11_a_witness_promise_is_reported_off_and_refuses_only_where_required no-bpf-lsm
test_b11_a_witness_promise_is_reported_off_and_refuses_only_where_required()
{
	run -- true 2>"$messages"
	expect_eq "$(<"$messages")" ''
	expect_json "$result" '.enforcement.promises["denial-record"].state' off
	expect_json "$result" .denials null
	refused promise-unheld --require denial-record
	expect_json "$result" .refusal.promise denial-record
	refused promise-unheld --strict
	expect_json "$result" .refusal.promise denial-record
	run --strict --waive denial-record -- true 2>"$messages"
	warned 'waived: denial-record'
}

# ---- Strict --------------------------------------------------------------------------------------

# strict COMMAND...: everything of strict that this host can have.
strict()
{
	run --strict --waive denial-record "$@" 2>>"$messages"
}

test_b14_strict_has_four_devices()
{
	local name
	for name in null zero random urandom; do
		strict -- sh -c 'head -c 1 "$0" >/dev/null' "/dev/$name"
	done
	strict -- sh -c 'echo x >/dev/null'
	for name in full tty ptmx pts console shm stdin; do
		expect_status 2 strict -- sh -c ': <"/dev/$0"' "$name"
	done
	expect_eq "$(run -- sh -c 'for f in full tty ptmx; do test -e /dev/$f && echo $f; done' | xargs)" \
		'full tty ptmx'
}

test_b14_strict_lists_no_ancestor()
{
	local path
	mkdir -p a/b
	cd a/b
	for path in / /var ..; do
		run -- ls "$path" >"$RF_SCRATCH/listed"
		expect_status 2 strict -- ls "$path"
	done
	expect_eq "$(strict -- ls -d "$PWD")" "$PWD"
}

test_b14_strict_sees_no_process_of_the_host()
{
	sleep 7714 &
	expect_status 1 strict -- sh -c 'kill -0 "$0" 2>/dev/null' $!
	expect_eq "$(strict -- sh -c 'for p in /proc/[0-9]*; do echo "${p#/proc/}"; done' | xargs)" '1 2'
	kill $!
}

test_b14_strict_opens_no_unix_socket_of_the_host()
{
	local server
	python3 -c 'import socket, time; s = socket.socket(1); s.bind("s.sock"); s.listen(); time.sleep(60)' &
	server=$!
	wait_for 5 test -S s.sock
	python3 -c 'import socket; socket.socket(1).connect("s.sock")'
	for net in none loopback open; do
		expect_status 1 strict --net $net -- \
			python3 -c 'import socket; socket.socket(1).connect("s.sock")'
	done
	kill "$server"
}

test_a14_a_directive_that_yaml_does_not_know_has_its_place()
{
	printf '%%YAML 9.9\n---\nmode: read-only\n' >p.yaml
	policy_refused p.yaml p.yaml:1:1: directives
}
