# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016,SC2086,SC2094,SC2103,SC2154,SC2164
#
# What a policy opens and closes in the file system: A3 to A8 and the reports on paths.

# ---- The workspace and the working directory -----------------------------------------------------

needs test_a3_an_alias_of_the_root_names_the_same_tree host
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

needs test_a3_a_root_that_cannot_be_resolved_or_is_the_whole_host_is_refused host
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

needs test_a3_the_working_directory_resolves_as_the_kernel_would host
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

needs test_a4_a_read_that_leaves_the_workspace_by_name_is_dropped host
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

needs test_a4_an_external_read_is_absolute_and_outside host
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

needs test_f_36_a_missing_read_warns_and_a_missing_write_is_made host
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

needs test_a5_a_write_has_no_link_in_any_component_and_stays_below_the_root host
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

needs test_a5_sources_are_bound_by_descriptor_in_the_order_of_the_plan host
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
	expect_status 1 run --mode read-only --write w -- python3 -S -c 'open("x", "w")' 2>"$messages"
	expect_contains "$(<"$messages")" 'Errno 30'
	expect_status 1 run --mode read-only --read w -- python3 -S -c 'open("x", "w")' 2>"$messages"
	expect_contains "$(<"$messages")" 'Errno 30'
	expect_status 1 run --mode read-only -- python3 -S -c 'import os; os.mkdir("/usr/x")' 2>"$messages"
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
	expect_status 1 run --deny k -- python3 -S -c 'open("k")' 2>"$messages"
	expect_contains "$(<"$messages")" 'Errno 13'
	expect_status 1 run --deny k -- python3 -S -c 'open("k", "w")' 2>"$messages"
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
needs test_a7_rules_do_not_depend_on_their_order host
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

needs test_a7_a_protected_path_outside_every_write_warns host
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
	expect_status 1 run --protect k -- python3 -S -c 'import os; os.truncate("k/f", 0)' 2>"$messages"
	grep -Eq 'Errno 30' "$messages"
	expect_eq "$(<k/f)" x
}

test_f_40_the_plan_says_what_holds_a_denial()
{
	mkdir d
	ringfence plan --json --deny d -- true >plan
	jq -e '.enforcement.promises["fs-deny"].by | any(. == "mount-namespace" or . == "bpf-lsm")' plan
}

needs test_a8_a_path_covered_by_another_collapses_unless_a_rule_lies_between host
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
	expect_status 1 user --mode read-only --write w -- python3 -S -c 'open("x", "w")' 2>"$messages"
	grep -q 'Errno 30' "$messages"
	user --mode read-only --write new/d -- touch new/d/f
	expect_eq "$(stat -c %u new new/d new/d/f | xargs)" '1000 1000 1000'
}
