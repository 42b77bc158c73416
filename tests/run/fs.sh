# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# The guarded filesystem, through its command: E1 to E7, F-15, F-37, F-42, and what may be wrong with
# what it is given. Everything runs on whatever engine the host gives, and again on plain calls.

# What it tests goes by files and words, not by the kernel's mechanisms: once is enough.
needs_all host

# request JSON... : a batch of them; results in the file `results`. Any may fail.
request()
{
	local status=0
	printf '%s\n' "$@" | "$RF" fs batch ${ENGINE:+--engine "$ENGINE"} "${LIMITS[@]}" \
		>results 2>>"$RF_SCRATCH/messages" || status=$?
	[[ $status -le 1 ]] || fail "batch: status $status: $(tail -n 1 "$RF_SCRATCH/messages")"
	expect_eq "$(wc -l <results)" $#
}
LIMITS=()

# outcomes: one word a result: ok, CODE, or the errno where there is no code.
outcomes()
{
	jq -r 'if .ok then "ok" else .error.code // .error.errno end' results | tr '\n' ' '
}

both_engines()
{
	ENGINE='' "$@"
	rm -rf -- * .[!.]*
	ENGINE=plain "$@"
}

# ---- E1: nothing but files and directories below the root ---------------------------------------

_e1_refusals()
{
	mkdir -p d/sub "$RF_SCRATCH/outside"
	echo keep >"$RF_SCRATCH/outside/f"
	echo a >d/f
	ln -s "$RF_SCRATCH/outside" away
	ln -s d inside
	ln -s "$RF_SCRATCH/outside/f" linked
	ln d/f alias
	mkfifo fifo
	request '{"op":"read","path":"away/f"}' '{"op":"read","path":"inside/f"}' \
		'{"op":"read","path":"linked"}' '{"op":"write","path":"linked","text":"x"}' \
		'{"op":"read","path":"alias"}' '{"op":"write","path":"alias","text":"x"}' \
		'{"op":"read","path":"fifo"}' '{"op":"append","path":"fifo","text":"x"}' \
		'{"op":"read","path":"d/../alias"}' '{"op":"stat","path":"../x"}' \
		'{"op":"read","path":"/etc/passwd"}' '{"op":"list","path":"away"}' \
		'{"op":"mkdir","path":"away/new"}' '{"op":"rename","path":"d/sub","target":"away/sub"}' \
		'{"op":"copy","path":"linked","target":"copied"}' '{"op":"digest","path":"alias"}' \
		'{"op":"remove","path":"away/f"}'
	expect_eq "$(outcomes)" "$(printf 'escape %.0s' {1..17})"
	expect_eq "$(jq -r .error.errno results | sort -u)" EACCES
	expect_eq "$(cat "$RF_SCRATCH/outside/f")" keep
	expect_eq "$(cat d/f)" a
	expect_eq "$(ls "$RF_SCRATCH/outside")" f
	[[ ! -e copied ]]
}

test_e1_what_is_no_plain_file_below_the_root_is_refused()
{
	both_engines _e1_refusals
}

test_e1_both_spellings_of_the_root_work_and_real_path_is_valid_input()
{
	local top=$PWD real
	mkdir real
	ln -s real root
	echo a >real/f
	cd root || fail "no root"
	expect_eq "$("$RF" fs read --root "$top/root" "$top/root/f" "$top/real/f")" $'a\na'
	real=$("$RF" fs real-path --root "$top/root" f)
	expect_eq "$real" "$(readlink -f f)"
	expect_eq "$("$RF" fs read --root "$top/root" "$real")" a
	expect_status 1 "$RF" fs read --root "$top/root" "$top/root/../real/f"
}

test_e1_a_root_that_was_replaced_is_refused()
{
	mkdir r
	echo old >r/f
	mkfifo in
	"$RF" fs batch --root r in >out 2>/dev/null &
	exec 9>in
	echo '{"op":"read","path":"f"}' >&9
	wait_for 5 test -s out
	mv r gone
	mkdir r
	echo new >r/f
	echo '{"op":"read","path":"f"}' >&9
	exec 9>&-
	wait $! || true
	expect_eq "$(jq -r 'if .ok then "ok" else .error.errno end' out | head -n 1)" ok
	expect_eq "$(jq -r .ok out | tail -n 1)" false
}

test_f_37_a_hard_link_is_no_way_into_a_protected_file()
{
	mkdir keep w
	echo a >keep/f
	ln keep/f w/alias
	# In place it would reach the file: the attack is real.
	echo b >w/alias
	expect_eq "$(cat keep/f)" b
	echo a >keep/f
	expect_contains "$(echo b | expect_status 1 "$RF" fs write w/alias 2>&1)" EACCES
	expect_contains "$(echo b | expect_status 1 "$RF" fs append w/alias 2>&1)" EACCES
	expect_eq "$(cat keep/f)" a
}

# ---- E2: operations ------------------------------------------------------------------------------

_e2_operations()
{
	request '{"op":"mkdir","path":"a/b","parents":true,"mode":"0750"}' \
		'{"op":"write","path":"a/f","text":"hello","flags":["O_CREAT","O_EXCL"],"mode":"0640"}' \
		'{"op":"write","path":"a/f","text":"x","flags":["O_CREAT","O_EXCL"]}' \
		'{"op":"write","path":"a/f","text":"J","offset":0}' \
		'{"op":"append","path":"a/f","text":"!"}' \
		'{"op":"read","path":"a/f"}' \
		'{"op":"read","path":"a/f","offset":1,"length":2}' \
		'{"op":"replace","path":"a/f","content":"AP8="}' \
		'{"op":"read","path":"a/f"}' \
		'{"op":"digest","path":"a/f"}' \
		'{"op":"copy","path":"a","target":"c","recursive":true}' \
		'{"op":"rename","path":"c","target":"d"}' \
		'{"op":"exists","path":"d/f"}' '{"op":"exists","path":"c/f"}' \
		'{"op":"exists","path":"no/such"}' \
		'{"op":"list","path":".","recursive":true}' \
		'{"op":"change","path":"d/f","mode":"0600","mtime_ns":"1000000000000000001","length":1}' \
		'{"op":"stat","path":"d/f"}' '{"op":"remove","path":"a"}' \
		'{"op":"remove","path":"a","recursive":true}' '{"op":"remove","path":"a"}' \
		'{"op":"remove","path":"x/y/z","force":true}' '{"op":"read","path":"d"}' \
		'{"op":"list","path":"d/f"}'
	expect_eq "$(outcomes)" "ok ok EEXIST ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok ENOTEMPTY ok \
ENOENT ok EISDIR ENOTDIR "
	jq -s . results >all
	expect_json all '.[5].content | @base64d' 'Jello!'
	expect_json all '.[6].content | @base64d' el
	expect_json all '.[8].content' AP8=
	expect_json all '.[9].sha256' "$(printf '\0\377' | sha256sum | cut -d' ' -f1)"
	expect_json all '[.[12:15][].exists]' '[true,false,false]'
	expect_json all '[.[15].entries[].path]' '["a","a/b","a/f","d","d/b","d/f","results"]'
	expect_json all '.[17].stat | [.type, .mode, .size, .mtime_ns]' \
		'["file","0600",1,"1000000000000000001"]'
	expect_eq "$(stat -c '%a %s' d/f)" '600 1'
	rm all
}

test_e2_operations_do_what_the_plain_calls_do()
{
	both_engines _e2_operations
}

# As the shell's own tools see it.
test_e2_stat_has_what_stat_has()
{
	echo abc >f
	chmod 4711 f
	"$RF" fs stat --json f >out
	expect_eq "$(jq -r '.stat | [.ino, .size, .links, .uid, .gid, .mode, .blocks] | join(" ")' out)" \
		"$(stat -c '%i %s %h %u %g %a %b' f)"
}

# Whatever moment: the old content or the new, never a part.
needs test_e2_replace_survives_a_thousand_kills host time:180
test_e2_replace_survives_a_thousand_kills()
{
	python3 - "$RF" <<'PYTHON'
import os, random, subprocess, sys, time
SIZE = 200000
old = bytes([65]) * SIZE
open("f", "wb").write(old)
killed = replaced = 0
random.seed(1)
# How long one takes, so that the kills fall into all of it.
open("new", "wb").write(bytes([65]) * SIZE)
start = time.monotonic()
for _ in range(10):
    subprocess.run([sys.argv[1], "fs", "replace", "f"], stdin=open("new"), check=True)
whole = (time.monotonic() - start) / 10
rounds = 0
while killed < 1000 and rounds < 5000:
    rounds += 1
    new = bytes([66 + rounds % 20]) * SIZE
    with open("new", "wb") as out:
        out.write(new)
    with open("new", "rb") as content:
        child = subprocess.Popen([sys.argv[1], "fs", "replace", "f"], stdin=content)
    time.sleep(random.random() * whole)
    child.kill()
    if child.wait() == -9:
        killed += 1
        whole *= 1.01
    else:
        whole *= 0.98
    found = open("f", "rb").read()
    if found != old and found != new:
        sys.exit(f"neither old nor new in round {rounds}: {len(found)} bytes")
    replaced += found == new and found != old
    old = found
print(killed, replaced, file=sys.stderr)
if killed < 1000 or replaced < 20:
    sys.exit(f"{killed} killed, {replaced} replaced: no test")
PYTHON
	# Nothing but temporary files that say whose they are.
	expect_eq "$(find . -type f ! -name '.ringfence-*.tmp' | sort | tr '\n' ' ')" './f ./new '
}

# ---- E3: batches ---------------------------------------------------------------------------------

test_f_15_refused_io_uring_gives_the_same_results()
{
	local filter
	filter=$(probe filter)
	mkdir d
	echo one >d/1
	echo two >d/2
	ln -s 1 d/l
	printf '%s\n' '{"op":"read","path":"d/1"}' '{"op":"read","path":"d/2"}' \
		'{"op":"list","path":"d"}' '{"op":"stat","path":"d/1"}' '{"op":"digest","path":"d/2"}' \
		'{"op":"glob","patterns":["**"]}' '{"op":"exists","path":"d/3"}' >req.json
	"$RF" fs batch <req.json >a
	"$filter" io_uring_setup=EPERM -- "$RF" fs batch <req.json >b 2>b.say
	"$filter" io_uring_setup=ENOSYS -- "$RF" fs batch <req.json >c 2>c.say
	expect_eq "$(jq -r .engine b c | sort -u)" plain
	expect_contains "$(cat b.say)" plain
	expect_contains "$(cat b.say)" EPERM
	expect_contains "$(cat c.say)" ENOSYS
	expect_eq "$(jq -c 'del(.engine, .entries[]?|select(.path == "b" or .path == "c"))' b)" \
		"$(jq -c 'del(.engine, .entries[]?|select(.path == "b" or .path == "c"))' c)"
	expect_eq "$(grep -v glob a | jq -c 'del(.engine, .stat.atime_ns)')" \
		"$(grep -v glob b | jq -c 'del(.engine, .stat.atime_ns)')"
}

needs test_e3_io_uring_serves_where_the_host_has_it io-uring
test_e3_io_uring_serves_where_the_host_has_it()
{
	echo a >f
	request '{"op":"read","path":"f"}'
	expect_json results .engine io_uring
}

_e3_order()
{
	local i
	mkdir many
	for i in {1..300}; do
		echo "$i" >"many/$i"
	done
	{
		for i in {1..300}; do
			printf '{"op":"read","path":"many/%d","id":%d}\n' "$i" "$i"
			[[ $((i % 50)) -ne 0 ]] ||
				printf '{"op":"append","path":"many/%d","text":"x","id":-%d}\n' "$i" "$i"
		done
	} >req
	"$RF" fs batch ${ENGINE:+--engine "$ENGINE"} req >results
	expect_eq "$(jq -r .id results)" "$(jq -r .id req)"
	expect_eq "$(jq -r 'select(.op == "read") | .content | @base64d' results | grep -v '^$')" \
		"$(seq 300)"
}

test_e3_results_come_in_the_order_of_requests()
{
	both_engines _e3_order
}

# A client that sends one request and waits is answered.
test_e3_a_request_is_answered_when_it_comes()
{
	local line
	echo a >f
	coproc "$RF" fs batch
	echo '{"op":"exists","path":"f","id":"one"}' >&"${COPROC[1]}"
	read -r -t "$(scaled 10)" line <&"${COPROC[0]}"
	expect_contains "$line" '"id":"one"'
	eval "exec ${COPROC[1]}>&-"
	wait "$COPROC_PID"
}

test_e3_content_travels_by_descriptor()
{
	local status=0
	head -c 100000 /dev/zero | tr '\0' x >source
	printf '%s\n' '{"op":"write","path":"f","flags":["O_CREAT"],"content_fd":7}' \
		'{"op":"read","path":"f","content_fd":8}' '{"op":"read","path":"f","content_fd":9}' \
		'{"op":"read","path":"f","content_fd":0}' '{"op":"read","path":"f","content_fd":3}' |
		"$RF" fs batch 7<source 8>copy >results || status=$?
	expect_eq "$status" 1
	expect_eq "$(outcomes)" 'ok ok malformed malformed malformed '
	expect_eq "$(jq -r '.bytes // empty' results | tr '\n' ' ')" '100000 100000 '
	cmp source f
	cmp source copy
}

# ---- E4: ceilings --------------------------------------------------------------------------------

test_e4_bad_values_of_options_are_refused()
{
	local option
	for option in --entries=0 --entries=x --entries=-1 --entries=100000001 --depth=0 --depth=9999 \
		--concurrency=0 --concurrency=257 --deadline=0s --deadline=5 --content-limit=0 \
		--content-limit=2G --response-limit=x --request-limit= --engine=fast --mode=9 --nonsense; do
		expect_status 125 "$RF" fs mkdir "$option" d 2>/dev/null
	done
	expect_status 125 "$RF" fs stat 2>/dev/null
	expect_status 125 "$RF" fs rename a 2>/dev/null
	expect_status 125 "$RF" fs nonsense 2>/dev/null
	expect_status 125 "$RF" fs 2>/dev/null
	expect_status 125 "$RF" fs list --root missing 2>/dev/null
	[[ ! -e d ]]
}

_e4_ceilings()
{
	local i
	mkdir -p many a/b/c/d
	for i in {1..30}; do
		: >"many/$i"
	done
	head -c 5000 /dev/zero >big
	LIMITS=(--entries 20 --depth 2 --content-limit 4K)
	request '{"op":"list","path":"many"}' '{"op":"list","path":"a","recursive":true}' \
		'{"op":"glob","patterns":["many/*"]}' '{"op":"remove","path":"many","recursive":true}' \
		'{"op":"read","path":"big"}' '{"op":"read","path":"big","length":10}' \
		"{\"op\":\"write\",\"path\":\"w\",\"flags\":[\"O_CREAT\"],\"text\":\"$(printf 'x%.0s' {1..4097})\"}" \
		'{"op":"list","path":"a/b"}'
	LIMITS=()
	expect_eq "$(outcomes)" 'limit limit limit limit limit ok limit ok '
	[[ ! -e w ]]
	expect_eq "$(jq -r 'select(.ok | not) | .error.message' results | grep -c '[0-9]')" 6
	# Raised, they pass.
	expect_eq "$("$RF" fs list --entries 200 many | wc -l)" 30
}

test_e4_ceilings_are_typed_refusals()
{
	both_engines _e4_ceilings
}

test_e4_a_deadline_ends_an_operation()
{
	truncate -s 1G f
	echo '{"op":"digest","path":"f"}' |
		"$RF" fs batch --content-limit 1G --deadline 20ms >results || true
	expect_eq "$(outcomes)" 'timeout '
	expect_json results .error.errno ETIMEDOUT
}

# ---- E5: removal ---------------------------------------------------------------------------------

test_f_42_removal_stops_at_a_mount()
{
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m sh -euc '
		mkdir -p s/a s/m src
		echo k >src/k
		echo x >s/a/x
		mount --bind src s/m
		for engine in auto plain; do
			! "$1" fs remove s 2>>say
			! "$1" fs remove --recursive --engine $engine s 2>>say
			! "$1" fs remove --recursive --force --engine $engine s/m 2>>say
			cat src/k
		done
		umount s/m
	' sh "$RF" >out
	expect_eq "$(cat out)" $'k\nk'
	expect_contains "$(cat say)" EACCES
	[[ -d s/m ]]
}

test_e5_removal_says_what_was_removed_when_it_is_refused()
{
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m sh -euc '
		mkdir -p s/a s/b/m
		: >s/a/x
		mount -t tmpfs none s/b/m
		printf "%s\n" "{\"op\":\"remove\",\"path\":\"s\",\"recursive\":true}" |
			"$1" fs batch >results || true
		ls s >left
	' sh "$RF"
	expect_eq "$(outcomes)" 'escape '
	expect_contains "$(cat left)" b
	if ! grep -q a left; then
		expect_eq "$(jq -r '.removed > 0' results)" true
		expect_contains "$(jq -r '.removed_paths[]' results)" s/a
	fi
}

_e5_trees()
{
	local deep=d i
	for i in {1..100}; do
		deep+=/d
	done
	mkdir -p "$deep" t/x/y other
	: >t/x/f
	echo k >other/k
	ln -s ../other t/link
	request '{"op":"remove","path":"d","recursive":true}' \
		'{"op":"remove","path":"t","recursive":true}' \
		'{"op":"remove","path":"no/such/path","recursive":true,"force":true}' \
		'{"op":"remove","path":"no"}' '{"op":"remove","path":"other/k/below","force":true}'
	expect_eq "$(outcomes | cut -d' ' -f1-4)" 'ok ok ok ENOENT'
	expect_eq "$(jq -r '.removed // empty' results | head -n 1)" 101
	expect_eq "$(ls)" $'other\nresults'
	expect_eq "$(cat other/k)" k
}

test_e5_trees_go_and_what_links_name_stays()
{
	both_engines _e5_trees
}

# ---- E6: glob ------------------------------------------------------------------------------------

# globbed WANTED ARGUMENT...
globbed()
{
	local wanted=$1
	shift
	expect_eq "$("$RF" fs glob --root t "$@" | tr '\n' ' ')" "$wanted"
}

test_e6_patterns_name_what_they_say()
{
	mkdir -p t/src/.h t/src/sub t/doc
	: >t/src/a.c
	: >t/src/a.h
	: >t/src/.h/x.c
	: >t/src/sub/b.c
	: >t/doc/README
	ln -s src t/link
	globbed 'src/a.c src/sub/b.c ' '**/*.c'
	globbed 'src/a.c src/a.h ' 'src/*.{c,h}'
	globbed '. doc link src ' '*' '.'
	globbed '. doc src src/sub ' '**/'
	globbed 'src/.h/x.c ' '**/.h/*'
	globbed 'doc doc/README ' 'doc/**'
	globbed 'doc/README ' 'doc/README/**'
	globbed 'src ' 'src/[.]'
	globbed '' '**/[.]'
	globbed '' 'doc/readme'
	globbed '' 'link/*'
	globbed '' 'src\*'
	globbed 'src src/a.c src/a.h ' 'src/**' --exclude 'src/sub'
	globbed '. doc link src ' '**' --exclude 'src/**' --exclude 'doc/*'
	globbed '. link ' '**' --exclude '**/'
	globbed '' '**' --exclude "$PWD/t"
	globbed 'doc doc/README ' "$PWD/t/doc/**"
	globbed '. doc link ' '**' --exclude "$PWD/t/src" --exclude '**/READ[A-Z]E'
}

test_e6_what_is_refused_is_refused_before_the_walk()
{
	local pattern
	mkdir t
	for pattern in '@(a|b)' '+(a)' '[[:alpha:]]' '{1..3}' '{a,../b}' '../*' '/etc/*' '' \
		"$(printf 'a%.0s' {1..4097})" '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}'; do
		# Not even a root without entries hides it.
		expect_status 1 "$RF" fs glob --root t -- "$pattern" 2>say
		# An absolute exclusion elsewhere excludes nothing here.
		[[ $pattern == /etc/* ]] ||
			expect_status 1 "$RF" fs glob --root t --exclude "$pattern" '*' 2>/dev/null
		grep -Eq 'limit|unsupported|malformed|escape' say || fail "$pattern: $(cat say)"
	done
}

test_e6_a_mount_is_not_entered()
{
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m sh -euc '
		mkdir -p t/a/m
		mount -t tmpfs none t/a/m
		echo x >t/a/m/hidden
		printf "%s\n" "{\"op\":\"glob\",\"patterns\":[\"**\"]}" \
			"{\"op\":\"glob\",\"patterns\":[\"a/m/*\"]}" \
			"{\"op\":\"glob\",\"patterns\":[\"*/*\"]}" \
			"{\"op\":\"glob\",\"patterns\":[\"**\"],\"exclude\":\"a/m\"}" \
			"{\"op\":\"list\",\"path\":\".\",\"recursive\":true}" \
			"{\"op\":\"read\",\"path\":\"a/m/hidden\"}" |
			"$1" fs batch --root t >results || true
	' sh "$RF"
	expect_eq "$(outcomes)" 'escape escape ok ok escape escape '
	expect_lacks "$(cat results)" '"path":"a/m/hidden","type"'
}

# ---- E7 and bad input ----------------------------------------------------------------------------

test_e7_errors_carry_operation_path_errno_and_code()
{
	ln -s /etc/passwd l
	request '{"op":"read","path":"./l","id":"x"}' '{"op":"read","path":"none"}'
	expect_eq "$(jq -c '[.id, .error.operation, .error.path, .error.errno, .error.code]' results)" \
		$'["x","read","./l","EACCES","escape"]\n[null,"read","none","ENOENT",null]'
}

test_e7_a_malformed_request_fails_alone()
{
	echo a >f
	request '{"op":"read","path":"f"}' '{"op":"read","pa' 'nonsense' '[]' '1' '{}' \
		'{"op":"none","path":"f"}' '{"op":"read"}' '{"op":"read","path":7}' \
		'{"op":"read","path":"f","path":"g"}' '{"op":"read","path":"f","extra":1}' \
		'{"op":"stat","path":"f","length":1}' '{"op":"read","path":"f","offset":-1}' \
		'{"op":"write","path":"f","content":"a"}' '{"op":"write","path":"f","flags":["O_PATH"]}' \
		'{"op":"write","path":"f","content":"","text":""}' '{"op":"read","path":""}' \
		'{"op":"read","path":"a\u0000b"}' '{"op":"rename","path":"f"}' '{"op":"glob"}' \
		'{"op":"mkdir","path":"d","mode":755}' '{"op":"read","path":"f"}'
	expect_eq "$(outcomes)" "ok $(printf 'malformed %.0s' {1..20})ok "
	expect_eq "$(cat f)" a
	# Half a request at the end of the input.
	printf '%s\n%s' '{"op":"exists","path":"f"}' '{"op":"exi' | "$RF" fs batch >results || true
	expect_eq "$(outcomes)" 'ok malformed '
}

test_e7_a_request_over_its_ceiling_fails_alone()
{
	local long
	long=$(printf 'x%.0s' {1..3000})
	LIMITS=(--request-limit 2K)
	request '{"op":"exists","path":"f"}' "{\"op\":\"exists\",\"path\":\"$long\"}" \
		'{"op":"exists","path":"f"}'
	LIMITS=()
	expect_eq "$(outcomes)" 'ok limit ok '
	# One that never ends.
	head -c 5000000 /dev/zero | tr '\0' x | "$RF" fs batch --request-limit 1M >results || true
	expect_eq "$(outcomes)" 'limit '
}

test_e7_names_of_any_bytes_are_escaped_and_never_lost()
{
	local long
	long=$(printf 'n%.0s' {1..255})
	: >$'a\xffb'
	: >$'line\nfeed'
	: >"$long"
	request '{"op":"list","path":"."}' '{"op":"exists","path":{"hex":"61ff62"}}' \
		"{\"op\":\"exists\",\"path\":\"$long\"}" "{\"op\":\"stat\",\"path\":\"${long}n\"}" \
		'{"op":"glob","patterns":["a?b"]}'
	expect_eq "$(outcomes)" 'ok ok ok ENAMETOOLONG ok '
	expect_eq "$(jq -r '.entries[0] // empty | .path, .path_hex' results | head -n 2)" \
		$'a\\xffb\n61ff62'
	expect_eq "$(jq -s -r '.[1].exists, .[2].exists, .[4].entries[0].path_hex' results)" \
		$'true\ntrue\n61ff62'
	: >$'c1\u009b[31m'
	: >$'turn\u202eed'
	: >'back\slash'
	expect_contains "$("$RF" fs list)" 'line\x0afeed'
	expect_contains "$("$RF" fs list)" 'c1\xc2\x9b[31m'
	expect_contains "$("$RF" fs list)" 'turn\xe2\x80\xaeed'
	expect_contains "$("$RF" fs list)" 'back\\slash'
	"$RF" fs list --null | tr '\0' '\1' | grep -aq $'a\xffb\1'
}

test_e7_a_full_disk_fails_those_that_need_room()
{
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m sh -euc '
		mkdir m
		mount -t tmpfs -o size=64k none m
		head -c 200000 /dev/zero >big
		printf "%s\n" "{\"op\":\"write\",\"path\":\"a\",\"text\":\"x\",\"flags\":[\"O_CREAT\"]}" \
			"{\"op\":\"replace\",\"path\":\"a\",\"content_fd\":7}" \
			"{\"op\":\"write\",\"path\":\"b\",\"content_fd\":8,\"flags\":[\"O_CREAT\"]}" \
			"{\"op\":\"read\",\"path\":\"a\"}" "{\"op\":\"remove\",\"path\":\"b\",\"force\":true}" |
			"$1" fs batch --root m 7<big 8<big >results || true
	' sh "$RF"
	expect_eq "$(outcomes)" 'ok ENOSPC ENOSPC ok ok '
	expect_eq "$(jq -r 'select(.op == "read") | .content | @base64d' results)" x
}

test_e7_a_root_that_is_unmounted_fails_what_comes_after()
{
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m sh -euc '
		mkdir m
		mount -t tmpfs none m
		echo a >m/f
		mkfifo in
		"$1" fs batch --root m in >results &
		exec 9>in
		echo "{\"op\":\"read\",\"path\":\"f\"}" >&9
		until [ -s results ]; do sleep 0.05; done
		umount -l m
		echo "{\"op\":\"read\",\"path\":\"f\"}" >&9
		exec 9>&-
		wait $! || true
	' sh "$RF"
	expect_eq "$(jq -r .ok results | tr '\n' ' ')" 'true false '
}

needs test_e7_a_file_that_is_cut_while_it_is_read_is_told host time:60
test_e7_a_file_that_is_cut_while_it_is_read_is_told()
{
	local i wrong
	truncate -s 8M f
	for i in {1..60}; do
		echo '{"op":"digest","path":"f"}'
	done >req
	python3 -c '
import os, time
end = time.monotonic() + 20
while time.monotonic() < end and os.path.exists("req"):
    os.truncate("f", 0)
    os.truncate("f", 8 << 20)
    time.sleep(0.003)
' &
	"$RF" fs batch req >results || true
	rm req
	wait
	expect_eq "$(wc -l <results)" 60
	wrong=$(jq -r 'select(.ok | not) | .error.code' results | sort -u)
	expect_eq "$wrong" changed-while-open
}

# A million of them by RF_FS_NAMES, as `make soak` does.
needs test_e7_many_names_are_read_up_to_the_ceiling time:900
test_e7_many_names_are_read_up_to_the_ceiling()
{
	local count=${RF_FS_NAMES:-3000}
	mkdir d
	python3 -c '
import os, sys
for i in range(int(sys.argv[1])):
    os.close(os.open("d/name-%d" % i, os.O_CREAT | os.O_WRONLY))' "$count"
	expect_eq "$("$RF" fs list --entries "$count" d | wc -l)" "$count"
	expect_eq "$("$RF" fs list --stat --entries "$count" d | wc -l)" "$count"
	expect_eq "$("$RF" fs glob --entries "$count" 'd/name-*99' | wc -l)" $((count / 100))
	expect_contains "$(expect_status 1 "$RF" fs list --entries $((count - 1)) d 2>&1 >/dev/null)" limit
	# Refused, it has taken nothing away that it does not tell of.
	expect_contains "$(expect_status 1 "$RF" fs remove --recursive --entries $((count - 1)) d 2>&1)" \
		limit
	"$RF" fs remove --recursive --entries "$count" d
	[[ ! -e d ]]
}

# Runs batches in a process of its own each, so that it tells of no other's memory, and prints the most
# that each had in KiB and the codes of its failures.
_peaks()
{
	local name
	for name in reads writes texts bombs lists; do
		python3 - "$RF" $name <<'PYTHON'
import os, subprocess, sys
done = subprocess.Popen([sys.argv[1], "fs", "batch", "--entries", "1000000", sys.argv[2]],
                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
codes, end = [], b""
for piece in iter(lambda: done.stdout.read(65536), b""):
    *lines, end = (end + piece).split(b"\n")
    codes += [code for line in lines for code in ("malformed", "limit") if f'"{code}"'.encode() in line]
    end = end[-500:]
print(sys.argv[2], os.wait4(done.pid, 0)[2].ru_maxrss, *codes)
PYTHON
	done
}

# Content that is as large as may be, lines that are larger as JSON than they are, and many names. On a
# tmpfs, which is quick to fill.
needs test_e4_memory_stays_bounded_whatever_the_batch time:300
test_e4_memory_stays_bounded_whatever_the_batch()
{
	local bound=65536
	[[ $RF != */san/* ]] || bound=$((bound * 10))
	cat >"$RF_SCRATCH/fill" <<'PYTHON'
import base64, json, os
LARGE = 16 << 20
def request(op, path, **more):
    return json.dumps({"op": op, "path": path, **more})
def batch(name, lines):
    with open(name, "w") as out:
        out.writelines(line + "\n" for line in lines)
os.mkdir("r")
os.mkdir("many")
for i in range(30):
    os.close(os.open(f"r/{i}", os.O_CREAT))
    os.truncate(f"r/{i}", LARGE if i == 0 else 1 << 20)
for i in range(200000):
    os.close(os.open("many/name-%06d" % i, os.O_CREAT | os.O_WRONLY))
content = base64.b64encode(os.urandom(LARGE)).decode()
batch("reads", [request("read", f"r/{i % 30}") for i in range(60)])
batch("writes", [request("replace", f"w{i}", content=content, durable=False) for i in range(2)])
batch("texts", [request("replace", f"w{i}", text="\n" * (LARGE // 2), durable=False) for i in range(2)])
batch("bombs", ["[" + "1," * 11000000 + "1]", "[" + "1," * 50000 + "1]", '{"a":' * 3000000,
                '{"op":"read","path":"' + "\\u0041" * 3500000 + '"}',
                '{"op":"exists","path":"f","id":"' + "i" * 20000000 + '"}'])
batch("lists", [request("list", "many", stat=True)] * 2)
PYTHON
	mkdir m
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m bash -euc "$(declare -f _peaks)"'
		RF=$1
		mount -t tmpfs none m
		cd m
		python3 "$2"
		_peaks' sh "$RF" "$RF_SCRATCH/fill" >peaks
	cat peaks >&2
	expect_eq "$(cut -d' ' -f1,3- peaks)" 'reads
writes
texts
bombs limit malformed limit limit limit
lists limit limit'
	awk -v bound="$bound" '$2 >= bound { exit 1 }' peaks || fail "more than $bound KiB"
}

# ---- the wire ------------------------------------------------------------------------------------

# file_batch CALLS [OPTION...]: calls a private controller: parameters a line; its replies on standard
# output.
file_batch()
{
	python3 - "$(dirname "$RF")/ringfenced" "$@" <<'PYTHON'
import json, socket, subprocess, sys
ours, theirs = socket.socketpair()
controller = subprocess.Popen([sys.argv[1], "--private", str(theirs.fileno()), *sys.argv[3:]],
                              pass_fds=[theirs.fileno()])
theirs.close()
for line in open(sys.argv[2]):
    parameters = json.loads(line)
    call = {"method": "io.ringfence.FileBatch", "parameters": parameters}
    ours.sendall(json.dumps(call).encode() + b"\0")
    reply = b""
    while not reply.endswith(b"\0"):
        piece = ours.recv(65536)
        if not piece:
            sys.exit("the controller hung up")
        reply += piece
    print(reply[:-1].decode())
ours.close()
controller.wait(20)
PYTHON
}

test_e7_the_wire_answers_batches_and_refuses_what_is_malformed()
{
	echo hi >f
	ln -s /etc/passwd l
	jq -nc --arg root "$PWD" '
		{root: $root, requests: [{op: "read", path: "f", id: 1}, {op: "read", path: "l"}, 7,
			{op: "read", path: "f", content_fd: 0}]},
		{root: $root, requests: [{op: "exists", path: "f"}], options: {engine: "plain"}},
		{root: "relative", requests: []}, {root: $root}, {root: $root, requests: [], options: {x: 1}},
		{root: "/no/such/root", requests: []}' >calls
	file_batch calls >replies
	jq -c '.parameters.results[]?' replies >results
	expect_eq "$(outcomes)" 'ok escape malformed malformed ok '
	expect_eq "$(head -n 1 results | jq -r '.content | @base64d')" hi
	expect_eq "$(jq -r '.parameters.engine // empty' replies | tail -n 1)" plain
	expect_eq "$(jq -r '.error // empty' replies | sed 's/.*\.//' | tr '\n' ' ')" \
		'InvalidParameter InvalidParameter InvalidParameter Refused '
}

test_e4_ceilings_of_the_wire_are_raised_to_what_the_operator_allows()
{
	mkdir -p a/b/c
	head -c 3000 /dev/zero >f
	jq -nc --arg root "$PWD" '
		def call($options): {root: $root, options: $options, requests: [
			{op: "list", path: "a", recursive: true}, {op: "read", path: "f"}]};
		call({}), call({depth: 2, concurrency: 1, engine: "io_uring"}), call({depth: 1}),
		call({content_bytes: 2000}), call({depth: 3}), call({content_bytes: 4001}),
		call({response_bytes: 20971521}), call({depth: 0}), call({depth: "1"}),
		call({engine: "fast"}), call({request_bytes: 1}), (call({entries: 1}) | .requests[0].recursive = false)' >calls
	file_batch calls --file-ceiling depth=2 --file-ceiling content_bytes=4000 >replies
	jq -c '.parameters.results[]?' replies >results
	expect_eq "$(outcomes)" 'ok ok ok ok limit ok ok limit '
	expect_eq "$(jq -c 'select(.error) | [(.error | sub(".*\\."; "")), .parameters.limit,
		.parameters.value, .parameters.parameter]' replies)" '["Limit","depth",2,null]
["Limit","content_bytes",4000,null]
["Limit","response_bytes",20971520,null]
["InvalidParameter",null,null,"options"]
["InvalidParameter",null,null,"options"]
["InvalidParameter",null,null,"options"]
["Limit","request_bytes",1,null]
["Limit","requests",1,null]'
	expect_status 125 "$(dirname "$RF")/ringfenced" --private 3 --file-ceiling depth=0 2>/dev/null
	expect_status 125 "$(dirname "$RF")/ringfenced" --private 3 --file-ceiling colour=1 2>/dev/null
}

# A descriptor that travels with the call; a second call meanwhile; a caller that hangs up.
test_e7_the_wire_carries_descriptors_and_ends_with_its_caller()
{
	truncate -s 1G large
	python3 - "$(dirname "$RF")/ringfenced" <<'PYTHON'
import json, os, socket, subprocess, sys
ours, theirs = socket.socketpair()
controller = subprocess.Popen([sys.argv[1], "--private", str(theirs.fileno())],
                              pass_fds=[theirs.fileno()])
theirs.close()
def call(requests, fds=(), **options):
    parameters = {"root": os.getcwd(), "requests": requests}
    if options:
        parameters["options"] = options
    message = json.dumps({"method": "io.ringfence.FileBatch", "parameters": parameters})
    socket.send_fds(ours, [message.encode() + b"\0"], fds)
def answer():
    reply = b""
    while not reply.endswith(b"\0"):
        reply += ours.recv(65536)
    return json.loads(reply[:-1])
read_end, write_end = os.pipe()
os.write(write_end, b"by descriptor")
os.close(write_end)
call([{"op": "write", "path": "f", "flags": ["O_CREAT"], "content_fd": 0}], [read_end])
assert answer()["parameters"]["results"][0]["bytes"] == 13, "no content by descriptor"
assert open("f").read() == "by descriptor"
call([{"op": "digest", "path": "large"}] * 100, content_bytes=1 << 30)
call([])
assert answer()["error"] == "io.ringfence.Busy", "two at a time"
ours.close()
controller.wait(20)
PYTHON
}

# ---- people --------------------------------------------------------------------------------------

test_e7_the_page_lists_verbs_options_and_codes()
{
	local page=$RF_TOP/docs/ringfence-fs.1.scd verb code
	local verbs
	[[ -e $page ]] || skip "the page is not here"
	verbs=$("$RF" fs --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
	[[ -n $verbs ]]
	for verb in $verbs; do
		grep -q "^\*ringfence fs $verb\*" "$page" || fail "no synopsis of $verb"
		"$RF" fs "$verb" --help | grep -oE '^ +--[a-z-]+' | tr -d ' '
	done | sort -u >options
	expect_eq "$(grep -oE '^\*--[a-z-]+' "$page" | tr -d '*' | sort -u)" "$(cat options)"
	for code in limit timeout unsupported malformed escape changed-while-open; do
		grep -q "^\*$code\*" "$page" || fail "no code $code"
	done
}
