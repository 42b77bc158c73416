# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016,SC2086,SC2094,SC2103,SC2164
#
# What a policy opens and closes in the file system: A3 to A11, B2 and the reports on paths.

result=${RF_SCRATCH-}/result
messages=${RF_SCRATCH-}/messages

# run OPTION... -- COMMAND: with the result in $result.
run()
{
	ringfence run --result "$result" "$@"
}

# warned TEXT: exactly one line of Ringfence's has it.
warned()
{
	[[ $(grep -c "^ringfence: .*$1" "$messages") -eq 1 ]] || fail "not one line on $1: $(<"$messages")"
}

# refused CODE OPTION...: with that code, before anything ran.
refused()
{
	local code=$1
	shift
	expect_status 125 run "$@" -- touch ran 2>"$messages"
	expect_json "$result" .refusal.code "$code"
	expect_json "$result" .stage plan
	expect_eq "$(grep -c '^ringfence: ' "$messages")" 1
	[[ ! -e ran ]]
}

# with_own_mounts FUNCTION: mounts in it reach nobody else.
with_own_mounts()
{
	unshare --mount --propagation private bash -c 'source "$RF_TOP/tests/lib.sh"
		source "$RF_TEST_FILE"
		trap '\''_on_error "$?" "$BASH_COMMAND"'\'' ERR
		"$0"' "$1"
}

# ---- The workspace and the working directory -----------------------------------------------------

test_a3_an_alias_of_the_root_names_the_same_tree()
{
	mkdir -p ws/d
	ln -s ws alias
	echo 1 >ws/d/f
	expect_eq "$(top=$PWD; cd alias; run -- sh -c 'cat "$0/alias/d/f" "$0/ws/d/f"; pwd -P' "$top")" \
		"1"$'\n'"1"$'\n'"$PWD/ws"
	run --workspace alias --mode read-only --write "$PWD/alias/d" -- sh -c 'echo 2 >d/g'
	expect_eq "$(<ws/d/g)" 2
	run --workspace alias --mode read-only --write "$PWD/ws/d" -- sh -c 'echo 3 >d/g'
	expect_eq "$(<ws/d/g)" 3
}

test_a3_a_root_that_cannot_be_resolved_or_is_the_whole_host_is_refused()
{
	ln -s / slash
	: >file
	refused workspace-root --workspace /
	refused workspace-root --workspace slash
	refused workspace-root --workspace /usr/..
	refused workspace-unusable --workspace nope
	refused workspace-unusable --workspace file
	refused workspace-unusable --workspace /proc/self
	mkdir gone
	(
		cd gone
		rmdir ../gone
		refused working-directory
	)
}

test_a3_the_working_directory_resolves_as_the_kernel_would()
{
	mkdir -p a/b out
	ln -s a/b link
	ln -s "$RF_SCRATCH" away
	expect_eq "$(run --chdir a/b -- pwd -P)" "$PWD/a/b"
	expect_eq "$(run --chdir link -- pwd -P)" "$PWD/a/b"
	# Not the root of the workspace, which folding the name would give.
	expect_eq "$(run --chdir link/.. -- pwd -P)" "$PWD/a"
	expect_eq "$(cd a/b && run --workspace ../.. -- pwd -P)" "$PWD/a/b"
	expect_eq "$(cd "$RF_SCRATCH" && run --workspace "$OLDPWD" -- pwd -P)" "$PWD"
	expect_eq "$(run --mode read-only --read out --chdir a/b -- sh -c 'pwd -P; ls')" "$PWD/a/b"
	refused directory-unusable --chdir ..
	refused directory-unusable --chdir away
	refused directory-unusable --chdir nope
	refused directory-unusable --chdir a/../..
	: >file
	refused directory-unusable --chdir file
}

# ---- Reads ---------------------------------------------------------------------------------------

test_a4_a_read_that_leaves_the_workspace_by_name_is_dropped()
{
	mkdir ws other
	echo secret >other/f
	cd ws
	expect_status 1 run --read ../other -- cat ../other/f >out 2>"$messages"
	warned 'read \.\./other leaves the workspace'
	expect_eq "$(<out)" ''
	expect_status 1 run --read "$PWD/../other" -- cat ../other/f >out 2>"$messages"
	warned 'other leaves the workspace'
	expect_eq "$(<out)" ''
}

test_a4_an_external_read_is_absolute_and_outside()
{
	mkdir ws other
	echo out >other/f
	cd ws
	mkdir in
	expect_eq "$(run --external-read "${PWD%/ws}/other" -- cat ../other/f)" out
	expect_status 2 run --external-read "${PWD%/ws}/other" -- sh -c 'echo x >../other/g' 2>/dev/null
	[[ ! -e ../other/g ]]
	refused policy-value --external-read ../other
	expect_contains "$(<"$messages")" 'not absolute'
	run --external-read "$PWD/in" -- true 2>"$messages"
	warned 'lies in the workspace'
}

test_f_36_a_missing_read_warns_and_a_missing_write_is_made()
{
	run --external-read /lib99 --read nope -- true 2>"$messages"
	warned /lib99
	warned 'read nope'
	expect_eq "$(wc -l <"$messages")" 2
	run --mode read-only --write new/d -- touch new/d/f
	[[ -f new/d/f ]]
}

test_f_31_a_read_grants_link_and_target_and_a_write_through_a_link_is_refused()
{
	mkdir ws t
	echo text >t/f
	cd ws
	ln -s "${PWD%/ws}/t" l
	expect_eq "$(run --mode read-only --read l -- ls l/)" f
	expect_status 1 run --read l -- touch l/g 2>/dev/null
	[[ ! -e ../t/g ]]
	expect_status 2 run --mode read-only --strict --waive denial-record --read l -- ls l/ \
		2>"$messages"
	warned 'read l leads to .* strict'
	refused write-through-symlink --write l
	expect_json "$result" .refusal.path l
	expect_contains "$(<"$messages")" "$PWD/l"
}

test_a5_a_write_has_no_link_in_any_component_and_stays_below_the_root()
{
	mkdir -p ws/real/d outside
	cd ws
	ln -s real inner
	ln -s ../outside outer
	ln -s nowhere dangling
	: >file
	refused write-through-symlink --write inner/d
	expect_contains "$(<"$messages")" "$PWD/inner"
	refused write-through-symlink --write outer
	refused write-through-symlink --write outer/new
	refused write-through-symlink --write dangling
	expect_contains "$(<"$messages")" "$PWD/dangling"
	refused write-through-symlink --write-file inner/d/f
	refused write-outside --write ..
	expect_json "$result" .refusal.path ..
	refused write-outside --write real/../../outside
	refused write-outside --write "$PWD/../outside"
	refused write-unresolvable --write file/below
	expect_contains "$(<"$messages")" "$PWD/file"
	[[ -z $(ls ../outside) ]]
}

test_a5_sources_are_bound_by_descriptor_in_the_order_of_the_plan()
{
	mkdir w r
	ringfence plan --json --mode read-only --write w --read r -- true >plan
	# By name goes what is the kernel's own, and inside anyway.
	jq -e '.bubblewrap as $a | [range($a | length) | select($a[.] | test("^--(ro-|dev-)?bind(-try)?$"))
		| $a[. + 1] | select(startswith("/proc/") | not)] == []' plan
	# The numbers count up by one, whatever this process has open.
	jq -r '.bubblewrap as $a | range($a | length)
		| select($a[.] | test("^--(ro-)?bind-(fd|data)$")) | $a[. + 1]' plan >numbers
	seq "$(head -n1 numbers)" "$(tail -n1 numbers)" | cmp - numbers
	[[ $(wc -l <numbers) -gt 3 ]]
}

# The name is exchanged for a link to outside while runs open and mount it: what writes by name
# meets both. A run writes to the directory that was checked or is refused.
test_a5_a_source_exchanged_during_the_launch_never_leads_outside()
{
	local swapper i refused=0
	mkdir -p ws/w outside
	cd ws
	ln -s ../outside link
	run --mode read-only --write w -- touch w/before
	"$(probe path_swap)" w link -1 3000 &
	swapper=$!
	for ((i = 0; i < 10000; i++)); do
		: >w/unconfined
		[[ ! -e ../outside/unconfined ]] || break
	done
	rm ../outside/unconfined
	for ((i = 0; i < 12; i++)); do
		run --mode read-only --write w -- sh -c 'echo x >"w/$0"' "$i" 2>/dev/null ||
			refused=$((refused + 1))
	done
	kill "$swapper"
	wait "$swapper" || true
	expect_eq "$(ls ../outside)" ''
	[[ $refused -gt 0 ]]
}

# ---- Writes --------------------------------------------------------------------------------------

test_a6_a_write_includes_reading_and_a_file_opens_its_parent()
{
	mkdir d
	echo a >d/f
	run --mode read-only --write d -- sh -c 'read -r x <d/f; echo "$x$x" >d/f; echo n >d/new'
	expect_eq "$(cat d/f d/new)" aa$'\n'n
	run --mode read-only --write d/f -- sh -c 'echo n >d/new2'
	expect_eq "$(<d/new2)" n
	# A dot in the name makes no file of what does not exist.
	run --mode read-only --write d/x.txt -- touch d/x.txt/f
	[[ -d d/x.txt && -f d/x.txt/f ]]
	expect_status 1 run --mode read-only --write d -- touch f 2>/dev/null
	[[ ! -e f ]]
}

test_f_38_a_write_file_saves_by_lock_temporary_and_rename()
{
	mkdir c
	echo a >c/f
	run --mode read-only --write-file c/f -- sh -c ': >c/f.lock; echo b >c/f.tmp && mv c/f.tmp c/f'
	expect_eq "$(<c/f)" b
	refused write-file-directory --mode read-only --write-file c
}

test_b2_a_write_in_the_workspace_that_nothing_declares_fails_with_erofs()
{
	mkdir w
	touch unconfined && rm unconfined
	expect_status 1 run --mode read-only --write w -- python3 -c 'open("x", "w")' 2>"$messages"
	expect_contains "$(<"$messages")" 'Errno 30'
	expect_status 1 run --mode read-only --read w -- python3 -c 'open("x", "w")' 2>"$messages"
	expect_contains "$(<"$messages")" 'Errno 30'
	expect_status 1 run --mode read-only -- python3 -c 'import os; os.mkdir("/usr/x")' 2>"$messages"
	expect_contains "$(<"$messages")" 'Errno 30'
	expect_eq "$(ls)" w
}

# ---- Denied and protected ------------------------------------------------------------------------

test_f_32_a_denied_link_is_closed_with_its_target_and_never_aborts()
{
	ln -s /nope/.env .env
	expect_status 1 run --deny .env -- cat .env 2>/dev/null
	echo s3 >real
	ln -s real k
	expect_eq "$(cat k real)" s3$'\n's3
	expect_eq "$(expect_status 1 run --deny k -- cat k real 2>/dev/null)" ''
	ln -s k twice
	expect_eq "$(expect_status 1 run --deny twice -- cat twice k real 2>/dev/null)" ''
	ln -s loop loop
	expect_status 125 run --deny loop -- touch ran 2>/dev/null
	expect_json "$result" .refusal.path loop
	[[ ! -e ran ]]
}

test_f_34_a_denied_name_that_is_missing_is_held_or_refused_and_leaves_nothing()
{
	local before status=0
	before=$(find . -printf '%p %y %s\n')
	run --deny .bashrc -- sh -c 'echo x >.bashrc' 2>"$messages" || status=$?
	expect_eq "$(find . -printf '%p %y %s\n')" "$before"
	if [[ $status -ne 2 ]]; then
		expect_eq "$status" 125
		expect_json "$result" .refusal.code deny-missing-unheld
		expect_json "$result" .refusal.promise fs-deny
		expect_json "$result" .refusal.mechanism bpf-lsm
		expect_json "$result" .refusal.path "$PWD/.bashrc"
		expect_contains "$(<"$messages")" .bashrc
	fi
	status=0
	run --protect new/deep -- mkdir new 2>"$messages" || status=$?
	expect_eq "$(find . -printf '%p %y %s\n')" "$before"
	[[ $status -ne 0 ]]
}

needs test_f_34_without_bpf_lsm_a_missing_name_can_be_waived no-bpf-lsm
test_f_34_without_bpf_lsm_a_missing_name_can_be_waived()
{
	run --deny .bashrc --waive fs-deny -- true 2>"$messages"
	warned 'waived: fs-deny'
	expect_json "$result" .enforcement.waived '["fs-deny"]'
	expect_json "$result" '.enforcement.promises["fs-deny"].state' off
	expect_eq "$(ls -A)" ''
	# Where nothing can be made, nothing needs to be held.
	run --mode read-only --deny .bashrc -- sh -c '! echo x >.bashrc' 2>"$messages"
	expect_eq "$(ls -A)" ''
}

test_f_34_a_killed_run_leaves_no_placeholder()
{
	local before client
	mkdir -p d/s w
	echo k >d/s/k
	before=$(find . -printf '%p %y %s\n')
	ringfence run --mode read-only --write w --deny d/s --deny none --protect d -- sleep 7711 2>/dev/null &
	client=$!
	wait_for 5 running 'sleep 7711'
	expect_eq "$(find . -printf '%p %y %s\n')" "$before"
	kill -KILL "$client"
	wait_for 5 gone 'sleep 7711'
	expect_eq "$(find . -printf '%p %y %s\n')" "$before"
}

test_f_35_a_denied_directory_can_be_neither_read_nor_written()
{
	mkdir -p d/s
	echo k3 >d/s/k
	sh -c 'cat d/s/k >/dev/null; echo z >d/s/z' && rm d/s/z
	for mode in read-only workspace-write; do
		expect_eq "$(expect_status 2 run --mode $mode --read d --deny d/s -- \
			sh -c 'cat d/s/k; echo z >d/s/z' 2>/dev/null)" ''
		expect_status 2 run --mode $mode --read d --deny d/s -- ls d/s 2>/dev/null
		expect_eq "$(ls d/s)" k
	done
}

# The names of the errors are a promise too: EACCES, to root as well.
test_b2_a_denied_file_answers_eacces_to_root()
{
	echo s >k
	expect_status 1 run --deny k -- python3 -c 'open("k")' 2>"$messages"
	expect_contains "$(<"$messages")" 'Errno 13'
	expect_status 1 run --deny k -- python3 -c 'open("k", "w")' 2>"$messages"
	grep -Eq 'Errno (13|30)' "$messages"
	# Root inside cannot make the mask readable either.
	expect_status 1 run --deny k -- sh -c 'chmod 777 k; cat k' >"$RF_SCRATCH/out" 2>/dev/null
	expect_eq "$(<"$RF_SCRATCH/out")" ''
	expect_eq "$(stat -c '%a %s' k)" '644 2'
	mkdir d
	echo s >d/k
	expect_status 1 run --deny d -- sh -c 'chmod 777 d; cat d/k' >"$RF_SCRATCH/out" 2>/dev/null
	expect_eq "$(<"$RF_SCRATCH/out")" ''
}

test_a7_denied_and_protected_win_over_the_same_and_shallower_grants_and_deeper_grants_win()
{
	mkdir -p d/open p/open
	echo s >d/k
	echo o >d/open/f
	echo s >p/k
	# As shallow, and the same path.
	expect_status 1 run --mode read-only --read d --deny d -- cat d/k 2>/dev/null
	expect_status 1 run --mode read-only --write d --deny d -- touch d/x 2>/dev/null
	expect_status 1 run --mode read-only --write p --protect p -- touch p/x 2>/dev/null
	# Deeper, by name.
	expect_eq "$(run --mode read-only --read d/open --deny d -- cat d/open/f)" o
	expect_status 1 run --mode read-only --read d/open --deny d -- cat d/k 2>/dev/null
	run --mode read-only --write p/open --protect p -- touch p/open/x
	run --protect p --write p/open -- touch p/open/y
	expect_status 1 run --protect p --write p/open -- touch p/x 2>/dev/null
	expect_eq "$(find p -type f | sort | xargs)" 'p/k p/open/x p/open/y'
	# Protected is readable.
	expect_eq "$(run --protect p -- cat p/k)" s
}

# Each order of the options gives the same plan, as does each order in a file.
test_a7_rules_do_not_depend_on_their_order()
{
	local -a rules=(--write=d --protect=d/p --deny=d/p/k --read=r --external-read=/opt --write=d/p/w)
	local i
	mkdir -p d/p/w r
	: >d/p/k
	ringfence plan --json --mode read-only "${rules[@]}" -- true >first
	for ((i = 0; i < ${#rules[@]}; i++)); do
		rules=("${rules[@]:1}" "${rules[0]}")
		ringfence plan --json --mode read-only "${rules[@]}" -- true | cmp - first
	done
	ringfence plan --json --mode read-only "${rules[5]}" "${rules[4]}" "${rules[3]}" "${rules[2]}" \
		"${rules[1]}" "${rules[0]}" -- true | cmp - first
}

test_a7_a_protected_path_outside_every_write_warns()
{
	mkdir p w
	run --mode read-only --write w --protect p -- true 2>"$messages"
	warned 'p\b'
	run --mode workspace-write --protect p -- true 2>"$messages"
	expect_eq "$(<"$messages")" ''
}

# What lies above a rule cannot be moved away, nor another tree put in its place.
test_a7_no_ancestor_of_a_rule_can_be_renamed_exchanged_or_removed()
{
	mkdir -p a/b other
	echo s >a/b/k
	(
		mkdir -p "$RF_SCRATCH/free" && cp -R a other "$RF_SCRATCH/free" && cd "$RF_SCRATCH/free"
		"$(probe path_swap)" a other 1
		mv a c
		rm -r c
	)
	expect_status 1 run --deny a/b/k -- mv a c 2>/dev/null
	expect_status 1 run --deny a/b/k -- mv a/b a/c 2>/dev/null
	expect_status 1 run --deny a/b/k -- mv a/b other/ 2>/dev/null
	expect_status 1 run --deny a/b/k -- "$(probe path_swap)" a other 1 2>/dev/null
	expect_status 1 run --deny a/b/k -- "$(probe path_swap)" other a/b 1 2>/dev/null
	expect_status 1 run --deny a/b/k -- rm -rf a 2>/dev/null
	expect_status 1 run --protect a/b/k -- mv a c 2>/dev/null
	expect_status 1 run --protect a/b -- sh -c 'mv a c' 2>/dev/null
	expect_eq "$(cat a/b/k; ls)" s$'\n'a$'\n'other
}

needs test_a7_a_filesystem_that_folds_case_is_refused host command:mkfs.ext4
test_a7_a_filesystem_that_folds_case_is_refused()
{
	mkdir m
	truncate -s 8M "$RF_SCRATCH/image"
	mkfs.ext4 -q -O casefold -E encoding=utf8 "$RF_SCRATCH/image" || skip 'no casefold in mkfs.ext4'
	with_own_mounts folded_filesystem
	[[ ! -e no ]] || skip 'no loop device, or no casefold in the kernel'
}

folded_filesystem()
{
	mount -o loop "$RF_SCRATCH/image" m 2>/dev/null || { touch no; return 0; }
	mkdir m/ws
	chattr +F m/ws 2>/dev/null || { touch no; return 0; }
	refused filesystem-casefold --workspace m/ws
}

test_f_37_no_hard_link_leads_from_a_closed_tree_into_an_open_one()
{
	mkdir keep w
	echo a >keep/f
	ln keep/f w/l && rm w/l
	expect_status 1 run --protect keep -- ln keep/f w/l 2>/dev/null
	expect_status 1 run --deny keep/f -- ln keep/f w/l 2>/dev/null
	expect_status 1 run --mode read-only --write w -- ln keep/f w/l 2>/dev/null
	expect_eq "$(ls w)" ''
}

test_f_104_truncate_of_a_protected_file_fails_with_erofs()
{
	mkdir k
	echo x >k/f
	expect_status 1 run --protect k -- python3 -c 'import os; os.truncate("k/f", 0)' 2>"$messages"
	grep -Eq 'Errno 30' "$messages"
	expect_eq "$(<k/f)" x
}

test_f_40_the_plan_says_what_holds_a_denial()
{
	mkdir d
	ringfence plan --json --deny d -- true >plan
	jq -e '.enforcement.promises["fs-deny"].by | any(. == "mount-namespace" or . == "bpf-lsm")' plan
}

test_a8_a_path_covered_by_another_collapses_unless_a_rule_lies_between()
{
	mkdir -p w/a/b
	binds() { ringfence plan --json --mode read-only "$@" -- true |
		jq -r --arg ws "$PWD/" '[.view[] | select(.kind | startswith("bind"))
			| .destination | select(startswith($ws))] | map(ltrimstr($ws)) | join(" ")'; }
	expect_eq "$(binds --write w --write w/a --write w/a/b)" w
	expect_eq "$(binds --write w --protect w/a --write w/a/b)" 'w w/a w/a/b'
}

# In a user namespace other calls hold the same rules.
test_a7_the_rules_hold_for_an_ordinary_user()
{
	mkdir -p d/s p w
	echo k >d/s/k
	echo f >d/f
	ln -s d/f link
	chown -R 1000:1000 .
	user() { setpriv --reuid 1000 --regid 1000 --clear-groups ringfence run --result fd:9 "$@" 9>"$result"; }
	expect_eq "$(user --deny d/s --deny link --protect p -- sh -c 'cat d/s/k d/f link; ls d/s; echo x >p/x
		echo x >d/s/x; chmod 777 d/s d/f; cat d/s/k d/f; mv d e; mv p q; rm -rf d/s; echo ok >w/f' 2>/dev/null)" ''
	expect_eq "$(cat w/f d/s/k d/f; ls d/s p)" $'ok\nk\nf\nd/s:\nk\n\np:'
	expect_status 125 user --write link -- true 2>/dev/null
	expect_json "$result" .refusal.code write-through-symlink
	expect_status 1 user --mode read-only --write w -- python3 -c 'open("x", "w")' 2>"$messages"
	grep -q 'Errno 30' "$messages"
	user --mode read-only --write new/d -- touch new/d/f
	expect_eq "$(stat -c %u new new/d new/d/f | xargs)" '1000 1000 1000'
}

# ---- The host's view -----------------------------------------------------------------------------

test_a9_home_and_the_sibling_directories_are_absent()
{
	mkdir ws sibling
	echo s >sibling/f
	cd ws
	expect_eq "$(ls ..)" sibling$'\n'ws
	expect_status 2 run -- ls ../sibling 2>"$messages"
	expect_contains "$(<"$messages")" 'No such file'
	expect_eq "$(run -- sh -c 'ls -A "$0" 2>/dev/null' "$HOME" || true)" ''
	expect_status 2 run -- ls /home 2>/dev/null
	expect_status 2 run -- ls /boot /srv /mnt /var/lib 2>/dev/null
	expect_status 1 run -- cat /etc/shadow 2>"$messages"
	expect_contains "$(<"$messages")" 'No such file'
}

test_a9_runtime_reads_are_the_fixed_list()
{
	ringfence plan --json -- true >plan
	jq -r '.view[] | select(.source) | .source' plan | sort >sources
	grep -v "^$PWD$" sources |
		grep -Ev '^/(usr|bin|sbin|lib|lib64|nix/store)$' |
		grep -Ev '^/etc/(ld\.so\.(cache|conf|conf\.d)|ssl|pki|ca-certificates|hosts|resolv\.conf)$' |
		grep -Ev '^/etc/(localtime|nsswitch\.conf|alternatives)$' >others || true
	expect_eq "$(<others)" ''
	expect_eq "$(PATH=/var/lib:$PATH:/ ringfence plan --json -- true |
		jq -r '.view[] | select(.source) | .source' | sort)" "$(<sources)"
}

# An executable behind a version manager's shim, with its libraries, and nothing beside them.
test_a9_an_interpreter_behind_a_shim_is_opened()
{
	local top=$PWD/manager
	mkdir -p ws manager/shims manager/versions/9.9/{bin,lib,secret}
	printf '#!/bin/sh\nexit 3\n' >manager/shims/node
	printf '#!/bin/sh\ncat "%s"/versions/9.9/lib/x\n' "$top" >manager/versions/9.9/bin/node
	chmod 755 manager/shims/node manager/versions/9.9/bin/node
	echo library >manager/versions/9.9/lib/x
	echo s >manager/versions/9.9/secret/x
	echo 9.9 >manager/version
	cd ws
	expect_eq "$(PATH=$top/shims:$PATH run -- node)" library
	expect_eq "$(PATH=$top/shims:$PATH run -- sh -c node)" library
	expect_status 1 env PATH="$top/shims:$PATH" "$RF" run -- cat "$top/versions/9.9/secret/x" 2>/dev/null
	expect_status 2 run -- ls "$top/versions/9.9/lib" 2>/dev/null
}

test_a9_the_corepack_cache_is_opened_for_reading()
{
	with_own_mounts corepack_cache
}

corepack_cache()
{
	throwaway_user
	mkdir -p home/.cache/node/corepack home/.cache/other
	echo c >home/.cache/node/corepack/f
	echo o >home/.cache/other/f
	cd home/p
	expect_eq "$(run -- sh -c 'cat "$COREPACK_HOME/f"')" c
	expect_status 1 run -- cat "$HOME/.cache/other/f" 2>/dev/null
	expect_status 1 run -- touch "$HOME/.cache/node/corepack/g" 2>/dev/null
	[[ ! -e $HOME/.cache/node/corepack/g ]]
}

test_f_9_a_missing_read_does_not_loosen_the_rest()
{
	touch /etc/rf-x && rm /etc/rf-x
	expect_status 1 run --read nope -- touch /etc/rf-x 2>"$messages"
	[[ ! -e /etc/rf-x ]]
	warned nope
	expect_json "$result" '.enforcement.promises["fs-write"].state' enforced
}

# /etc/resolv.conf as a link into /run, as resolved and others have it.
test_f_30_a_linked_resolv_conf_opens_its_target_and_a_dangling_one_warns()
{
	with_own_mounts linked_resolv_conf
}

linked_resolv_conf()
{
	mkdir "$RF_SCRATCH/etc"
	cp -a /etc/passwd /etc/group /etc/hosts /etc/nsswitch.conf /etc/ld.so.* "$RF_SCRATCH/etc"
	mount --bind "$RF_SCRATCH/etc" /etc
	mount -t tmpfs none /run
	mkdir /run/x
	echo 'nameserver 127.0.0.77' >/run/x/stub.conf
	ln -s /run/x/stub.conf /etc/resolv.conf
	expect_eq "$(run -- cat /etc/resolv.conf)" 'nameserver 127.0.0.77'
	rm /run/x/stub.conf
	run -- true 2>"$messages"
	warned /etc/resolv.conf
	expect_eq "$(wc -l <"$messages")" 1
}

test_f_33_bubblewrap_gets_canonical_paths_alone()
{
	mkdir ws t
	cd ws
	ln -s "${PWD%/ws}/t" l
	ringfence plan --json --read l -- true >"$RF_SCRATCH/plan"
	jq -r '.view[] | select(.source) | .source, .destination' "$RF_SCRATCH/plan" >"$RF_SCRATCH/paths"
	xargs -d '\n' realpath -m <"$RF_SCRATCH/paths" | cmp - "$RF_SCRATCH/paths"
	grep -qx "${PWD%/ws}/t" "$RF_SCRATCH/paths"
}

# Nothing but the plan's own list reaches bubblewrap: the run has the mounts that the plan names.
test_b2_the_run_has_the_mounts_of_the_plan()
{
	mkdir w
	ringfence plan --json --mode read-only --write w -- true |
		jq -r '.view[] | select(.kind | IN("bind", "bind-read-only", "dev", "proc", "tmpfs", "mask",
			"data")) | .destination' | sort >"$RF_SCRATCH/planned"
	run --mode read-only --write w -- awk '{ print $5 }' /proc/self/mountinfo | sort -u >"$RF_SCRATCH/seen"
	expect_eq "$(comm -23 "$RF_SCRATCH/planned" "$RF_SCRATCH/seen")" ''
	# Beyond them the root, what /dev is made of, and what bubblewrap covers of /proc.
	expect_eq "$(comm -13 "$RF_SCRATCH/planned" "$RF_SCRATCH/seen" | grep -Ev '^/((dev|proc)/.*)?$' || true)" ''
}

test_b2_dev_is_read_only_and_shm_private()
{
	run -- sh -c 'echo x >/dev/null && echo x >/dev/shm/f && test -c /dev/null'
	[[ ! -e /dev/shm/f ]]
	expect_status 1 run -- touch /dev/x 2>/dev/null
	expect_status 1 run -- mknod /dev/sda b 8 0 2>/dev/null
	expect_status 1 run -- mknod sda b 8 0 2>/dev/null
	[[ ! -e sda ]]
}

test_b2_every_namespace_is_the_sandbox_s_own()
{
	local name
	for name in ipc mnt net pid uts; do
		[[ $(run -- readlink "/proc/self/ns/$name") != "$(readlink "/proc/self/ns/$name")" ]]
	done
	# And a session: no terminal of the caller's.
	expect_eq "$(run -- sh -c 'ps -o sid= -p $$ 2>/dev/null || cut -d" " -f6 /proc/$$/stat' | xargs)" \
		"$(run -- sh -c 'cut -d" " -f6 /proc/1/stat' | xargs)"
	expect_eq "$(run -- sh -c 'cat /proc/*/comm | grep -c systemd' || true)" 0
}

test_b2_an_external_read_around_the_workspace_keeps_the_workspace_writable()
{
	mkdir ws sibling
	echo s >sibling/f
	cd ws
	expect_eq "$(run --external-read "${PWD%/ws}" -- sh -c 'cat ../sibling/f; echo w >own')" s
	expect_eq "$(<own)" w
	expect_status 1 run --external-read "${PWD%/ws}" -- touch ../sibling/g 2>/dev/null
	[[ ! -e ../sibling/g ]]
}

# A probe file in /etc: refused for root and for others, and nothing stays on the host.
test_b2_nothing_outside_can_be_written()
{
	local path
	for path in /etc/ringfence-probe /usr/ringfence-probe /ringfence-probe; do
		touch "$path" && rm "$path"
		expect_status 1 run -- touch "$path" 2>/dev/null
		[[ ! -e $path ]]
	done
	mkdir "$RF_SCRATCH/ws"
	cd "$RF_SCRATCH/ws"
	expect_status 1 as_user 1000 ringfence run -- touch /etc/ringfence-probe 2>/dev/null
	[[ ! -e /etc/ringfence-probe ]]
	as_user 1000 ringfence run -- touch own
	[[ -e own ]]
}

test_f_41_both_spellings_of_bin_can_be_named()
{
	run --external-read /bin --external-read /usr/bin -- /bin/sh -c 'test -x /usr/bin/env'
	run --mode read-only --external-read /usr/bin -- /usr/bin/sh -c 'test -x /bin/env'
}

test_f_41_where_bin_is_no_link_both_are_there()
{
	with_own_mounts unmerged_bin
}

unmerged_bin()
{
	[[ -L /bin ]] || return 0
	# A root of its own whose /bin is a directory; everything else is the host's.
	local entry
	mkdir "$RF_SCRATCH/root"
	mount --bind "$RF_SCRATCH/root" "$RF_SCRATCH/root"
	for entry in /*; do
		if [[ $entry == /bin || -d $entry && ! -L $entry ]]; then
			mkdir "$RF_SCRATCH/root$entry"
			mount --rbind "$(realpath "$entry")" "$RF_SCRATCH/root$entry"
		elif [[ -L $entry ]]; then
			cp -P "$entry" "$RF_SCRATCH/root/"
		fi
	done
	workspace=$PWD
	cd "$RF_SCRATCH/root"
	pivot_root . .
	umount --lazy .
	cd "$workspace"
	[[ ! -L /bin ]]
	run --external-read /bin --external-read /usr/bin -- /bin/sh -c 'test -x /usr/bin/env'
	run -- /bin/sh -c 'test -x /usr/bin/env && test ! -L /bin'
}

test_f_39_a_file_gets_the_rights_of_a_file()
{
	echo a >f
	expect_eq "$(run --mode read-only --read f -- cat f)" a
	expect_eq "$(run --mode read-only --write d --read f -- sh -c 'echo b >d/f; cat f d/f')" a$'\n'b
	expect_eq "$(run --mode read-only --external-read /etc/hostname --read f -- cat f)" a
}

# A file and a directory change places while runs start: 0 or 125, and never a bare EINVAL.
test_f_39_a_file_exchanged_for_a_directory_is_no_raw_error()
{
	local swapper i status
	echo a >f
	mkdir d
	"$(probe path_swap)" f d &
	swapper=$!
	for i in 1 2 3 4 5 6; do
		status=0
		ringfence run --mode read-only --read f -- true 2>>"$messages" || status=$?
		[[ $status -eq 0 || $status -eq 125 ]] || break
	done
	kill "$swapper"
	wait "$swapper" || true
	[[ $status -eq 0 || $status -eq 125 ]]
	expect_lacks "$(<"$messages")" 'Invalid argument'
	expect_lacks "$(<"$messages")" 'bwrap:'
}

# ---- Credentials ---------------------------------------------------------------------------------

# A user and a home of the test's own, in mounts of the test's own.
throwaway_user()
{
	home=$PWD/home
	printf 'root:x:0:0:root:%s:/bin/sh\nthrow:x:1000:1000::%s:/bin/sh\n' "$home" "$home" \
		>"$RF_SCRATCH/passwd"
	mount --bind "$RF_SCRATCH/passwd" /etc/passwd
	mkdir -p home/{.ssh,.aws,.config/gh,.config/other,.cargo,real,p}
	echo s1 >home/.ssh/id
	echo s2 >home/.aws/credentials
	echo s3 >home/.config/gh/hosts.yml
	echo s4 >home/.netrc
	echo s5 >home/.cargo/credentials.toml
	echo s6 >home/real/npmrc
	ln -s real/npmrc home/.npmrc
	echo open >home/.config/other/f
	echo rc >home/.bashrc
	chown -R 1000:1000 home
	export HOME=$home
	secrets=(.ssh/id .aws/credentials .config/gh/hosts.yml .netrc .cargo/credentials.toml .npmrc
		real/npmrc)
}

test_a10_credentials_stay_closed_under_a_broad_read()
{
	with_own_mounts closed_credentials
}

closed_credentials()
{
	local who name
	throwaway_user
	cd home/p
	for who in 'setpriv --reuid 1000 --regid 1000 --clear-groups' ''; do
		expect_eq "$($who sh -c 'cd "$0"; cat "$@"' "$home" "${secrets[@]}" | xargs)" \
			's1 s2 s3 s4 s5 s6 s6'
		expect_eq "$($who ringfence run --external-read "$home" -- \
			sh -c 'cd "$0"; cat .config/other/f "$@" 2>/dev/null' "$home" "${secrets[@]}" || true)" open
		expect_status 2 $who ringfence run --external-read "$home" -- ls "$home/.ssh" 2>/dev/null
	done
	# Named, it opens, and it alone.
	expect_eq "$(ringfence run --external-read "$home" --external-read "$home/.netrc" -- \
		sh -c 'cd "$0"; cat "$@" 2>/dev/null' "$home" "${secrets[@]}" || true)" s4
	# Where the workspace is the home, its credentials are closed too.
	cd "$home"
	expect_eq "$(ringfence run -- sh -c 'cat "$@" 2>/dev/null' sh "${secrets[@]}" || true)" ''
	# A throwaway HOME in the environment does not move them.
	expect_eq "$(HOME=/nowhere ringfence run --external-read "$home" --workspace p -- \
		sh -c 'cd "$0"; cat "$@" 2>/dev/null' "$home" "${secrets[@]}" || true)" ''
	expect_eq "$(stat -c '%a' .ssh .netrc | xargs)" '755 644'
}

test_f_59_rules_for_the_home_are_about_the_real_home()
{
	with_own_mounts real_home
}

real_home()
{
	local as_owner='setpriv --reuid 1000 --regid 1000 --clear-groups'
	throwaway_user
	cd home/p
	expect_status 2 $as_owner ringfence run -- sh -c 'echo x >>"$0"' "$HOME/.bashrc" 2>/dev/null
	expect_eq "$(<"$HOME/.bashrc")" rc
	cd ..
	expect_status 1 $as_owner ringfence run -- cat .netrc 2>/dev/null
	# The same name elsewhere is no secret.
	echo mine >p/.netrc
	cd p
	expect_eq "$($as_owner ringfence run -- cat .netrc)" mine
}

test_a10_the_host_s_private_keys_are_closed()
{
	[[ -d /etc/ssl/private ]] || skip 'no /etc/ssl/private here'
	expect_status 2 run -- ls /etc/ssl/private 2>"$messages"
	expect_contains "$(<"$messages")" 'Permission denied'
	expect_status 2 run --external-read /etc/ssl -- ls /etc/ssl/private 2>/dev/null
	run --external-read /etc/ssl/private -- ls /etc/ssl/private >/dev/null
}

# ---- The program ---------------------------------------------------------------------------------

test_a11_a_program_outside_every_grant_is_opened_with_its_package()
{
	local tool=$PWD/pkg/lib/bin/tool
	mkdir -p ws pkg/lib/bin other
	printf '#!/bin/sh\necho "$0"\ncat "${0%%/*}/../data"\n' >"$tool"
	chmod 755 "$tool"
	echo data >pkg/lib/data
	echo n >other/f
	cd ws
	# By itself just the file.
	expect_eq "$(expect_status 1 run -- "$tool" 2>"$messages")" "$tool"
	expect_contains "$(<"$messages")" 'No such file'
	echo '{}' >../pkg/package.json
	expect_eq "$(run -- "$tool")" "$tool"$'\n'data
	expect_eq "$(PATH=${tool%/tool}:$PATH run -- tool)" "$tool"$'\n'data
	# Four levels up is too far.
	mkdir -p ../far/1/2/3
	cp "$tool" ../far/1/2/3/
	echo data >../far/1/2/data
	echo '{}' >../far/package.json
	expect_eq "$(expect_status 1 run -- "${PWD%/ws}/far/1/2/3/tool" 2>/dev/null)" \
		"${PWD%/ws}/far/1/2/3/tool"
}

test_a11_argv0_stays_and_relative_path_entries_are_ignored()
{
	mkdir -p bin ../"${PWD##*/}"/x
	cp /bin/true bin/rf-tool
	expect_status 127 env PATH="bin:.:$PATH" ringfence run -- rf-tool 2>"$messages"
	expect_contains "$(<"$messages")" rf-tool
	PATH="$PWD/bin:$PATH" run -- rf-tool
	expect_eq "$(run -- sh -c 'echo "$0"; tr "\0" "\n" </proc/$$/cmdline | head -n1' | xargs)" 'sh sh'
}

test_a11_in_the_workspace_only_a_declared_read_opens_the_program()
{
	mkdir bin r
	cp /bin/true bin/tool
	run -- bin/tool
	expect_status 127 run --mode read-only --read r -- bin/tool 2>/dev/null
	run --mode read-only --read bin -- bin/tool
}

test_f_82_a_missing_interpreter_is_named()
{
	mkdir ws t
	cp /bin/sh t/sh
	cd ws
	printf '#!%s\necho hi\n' "${PWD%/ws}/t/sh" >s
	chmod +x s
	expect_status 127 run -- ./s 2>"$messages"
	warned "${PWD%/ws}/t/sh"
	expect_eq "$(run --external-read "${PWD%/ws}/t" -- ./s)" hi
}

test_f_82_not_found_and_not_executable_have_their_own_status()
{
	expect_status 127 run -- nosuchcmd 2>"$messages"
	warned nosuchcmd
	: >x
	expect_status 126 run -- ./x 2>"$messages"
	warned x
	expect_json "$result" .stage exec
}

# ---- A complete enough view ------------------------------------------------------------------

test_a17_accounts_are_synthetic()
{
	expect_eq "$(run -- cut -d: -f1 /etc/passwd | xargs)" 'root nobody'
	expect_eq "$(run -- id -un)" root
	chmod 777 .
	expect_eq "$(run --user 1000 -- sh -c 'id -u; id -g; cut -d: -f3 /etc/passwd' | xargs)" \
		'1000 1000 0 1000 65534'
	expect_status 125 as_user 1000 ringfence run --user 0 -- touch ran 2>/dev/null
	[[ ! -e ran ]]
}

test_a17_private_places_are_writable_and_empty()
{
	local path
	for path in /tmp /var/tmp /run /dev/shm; do
		[[ -d $path ]]
		run --mode read-only -- sh -c 'echo x >"$0/rf-probe-file" && test -f "$0/rf-probe-file"' $path
		[[ ! -e $path/rf-probe-file ]]
	done
	: >"$RF_SCRATCH/seen"
	expect_status 1 run -- test -e "$RF_SCRATCH/seen"
}

test_a17_a_device_can_be_named()
{
	[[ -c /dev/full ]]
	expect_status 1 run --mode read-only -- test -e /dev/kmsg
	run --mode read-only --device /dev/kmsg -- test -c /dev/kmsg
	refused device-unusable --device /etc/passwd
	refused device-unusable --device /dev/nope
}

# ---- Mounts below grants -------------------------------------------------------------------------

needs test_b9_a_kernel_filesystem_below_a_grant_is_refused root
test_b9_a_kernel_filesystem_below_a_grant_is_refused()
{
	with_own_mounts proc_in_workspace
}

proc_in_workspace()
{
	mkdir -p 'a b/proc' disk
	mount -t proc proc 'a b/proc'
	[[ -w 'a b/proc/sys/kernel/core_pattern' ]]
	refused mount-in-workspace --mode workspace-write
	expect_json "$result" .refusal.path "$PWD/a b/proc"
	refused mount-in-workspace --mode read-only
	refused mount-in-workspace --workspace 'a b/proc/sys'
	expect_status 1 run --deny 'a b/proc' -- cat 'a b/proc/sys/kernel/core_pattern' 2>/dev/null
	umount 'a b/proc'
	mount -t tmpfs none disk
	run -- touch disk/f 2>"$messages"
	warned "$PWD/disk"
	[[ -e disk/f ]]
}

test_b9_sys_is_read_by_name_alone()
{
	run --external-read /sys/devices/system/cpu -- test -e /sys/devices/system/cpu/possible
	refused mount-in-read --external-read /
	expect_contains "$(<"$messages")" '--deny /sys'
}

# ---- Programs, devices and files of the workspace ----------------------------------------------

test_a11_a_link_in_the_workspace_opens_no_program_outside()
{
	mkdir ws
	printf '#!/bin/sh\necho hi\n' >tool
	chmod +x tool
	ln -s ../tool ws/run.sh
	cd ws
	expect_eq "$(./run.sh)" hi
	expect_status 127 run -- ./run.sh 2>"$messages"
	warned 'leads out of the workspace'
	expect_eq "$(run --external-read "${PWD%/ws}/tool" -- ./run.sh)" hi
}

test_a17_a_directory_of_devices_lies_below_dev()
{
	mkdir ../rf-devices."$$"
	refused device-unusable --device "${PWD%/*}/rf-devices.$$"
	rmdir ../rf-devices."$$"
	refused device-unusable --device /dev
	run --device /dev/pts -- test -d /dev/pts
}

test_a6_a_missing_write_in_what_is_writable_is_made_too()
{
	run --write new/d -- test -d new/d
	[[ -d new/d ]]
}

test_a6_a_write_file_says_that_its_directory_is_opened()
{
	mkdir c
	run --mode read-only --write-file c/f -- touch c/g 2>"$messages"
	warned "$PWD/c can be written"
	run --write-file c/f -- true 2>"$messages"
	expect_eq "$(<"$messages")" ''
}

test_a7_a_denial_wins_over_what_every_program_reads()
{
	expect_status 1 run --deny /etc -- cat /etc/hosts 2>"$messages"
	warned 'deny /etc does not close'
	run --deny /dev/null -- true 2>"$messages"
	warned 'deny /dev/null does not close'
}

# ---- The home as workspace -----------------------------------------------------------------------

needs test_a16_a_home_as_workspace_cannot_plant_the_next_policy root
test_a16_a_home_as_workspace_cannot_plant_the_next_policy()
{
	with_own_mounts planted_policy
}

planted_policy()
{
	throwaway_user
	rm -rf home/.config home/.aws home/.npmrc
	cd home
	expect_status 2 ringfence run --result "$result" -- \
		sh -c 'echo "mode: full-access" >.config/ringfence/policy.yaml' 2>"$messages"
	warned 'fs-deny is held in part'
	expect_contains "$(<"$messages")" "$home/.aws"
	expect_status 1 ringfence run -- mv .config other 2>/dev/null
	expect_eq "$(ls -A .config/ringfence)" ''
}

needs test_a10_the_home_of_the_commands_user_is_closed_too root
test_a10_the_home_of_the_commands_user_is_closed_too()
{
	with_own_mounts home_of_another
}

home_of_another()
{
	throwaway_user
	printf 'root:x:0:0:root:/nowhere:/bin/sh\nthrow:x:1000:1000::%s:/bin/sh\n' "$home" \
		>"$RF_SCRATCH/passwd"
	chmod 755 . "$RF_SCRATCH"
	cd home/p
	expect_eq "$(setpriv --reuid 1000 --regid 1000 --clear-groups cat "$home/.ssh/id")" s1
	HOME=/nowhere expect_status 1 ringfence run --user throw --external-read "$home" -- \
		cat "$home/.ssh/id" 2>/dev/null
	HOME=/nowhere ringfence run --user throw --external-read "$home" -- cat "$home/.config/other/f"
}
