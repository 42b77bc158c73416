# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016,SC2086,SC2094,SC2103,SC2154,SC2164
#
# What the sandbox sees of the host: the runtime, credentials, the program, devices, mounts. A9 to A11,
# A17, B2 and the reports on them.

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

needs test_a9_runtime_reads_are_the_fixed_list host
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
needs test_a9_an_interpreter_behind_a_shim_is_opened host
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

needs test_a9_the_corepack_cache_is_opened_for_reading host
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
needs test_f_30_a_linked_resolv_conf_opens_its_target_and_a_dangling_one_warns host
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

needs test_f_33_bubblewrap_gets_canonical_paths_alone host
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

needs test_f_41_both_spellings_of_bin_can_be_named host
test_f_41_both_spellings_of_bin_can_be_named()
{
	run --external-read /bin --external-read /usr/bin -- /bin/sh -c 'test -x /usr/bin/env'
	run --mode read-only --external-read /usr/bin -- /usr/bin/sh -c 'test -x /bin/env'
}

needs test_f_41_where_bin_is_no_link_both_are_there host
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
	local swapper status
	echo a >f
	mkdir d
	"$(probe path_swap)" f d &
	swapper=$!
	for _ in 1 2 3 4 5 6; do
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

needs test_a11_a_program_outside_every_grant_is_opened_with_its_package host
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

needs test_a11_argv0_stays_and_relative_path_entries_are_ignored host
test_a11_argv0_stays_and_relative_path_entries_are_ignored()
{
	mkdir -p bin ../"${PWD##*/}"/x
	cp /bin/true bin/rf-tool
	expect_status 127 env PATH="bin:.:$PATH" ringfence run -- rf-tool 2>"$messages"
	expect_contains "$(<"$messages")" rf-tool
	PATH="$PWD/bin:$PATH" run -- rf-tool
	expect_eq "$(run -- sh -c 'echo "$0"; tr "\0" "\n" </proc/$$/cmdline | head -n1' | xargs)" 'sh sh'
}

needs test_a11_in_the_workspace_only_a_declared_read_opens_the_program host
test_a11_in_the_workspace_only_a_declared_read_opens_the_program()
{
	mkdir bin r
	cp /bin/true bin/tool
	run -- bin/tool
	expect_status 127 run --mode read-only --read r -- bin/tool 2>/dev/null
	run --mode read-only --read bin -- bin/tool
}

needs test_f_82_a_missing_interpreter_is_named host
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

needs test_f_82_not_found_and_not_executable_have_their_own_status host
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

needs test_a17_accounts_are_synthetic host
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

needs test_a11_a_link_in_the_workspace_opens_no_program_outside host
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

needs test_a17_a_directory_of_devices_lies_below_dev host
test_a17_a_directory_of_devices_lies_below_dev()
{
	mkdir ../rf-devices."$$"
	refused device-unusable --device "${PWD%/*}/rf-devices.$$"
	rmdir ../rf-devices."$$"
	refused device-unusable --device /dev
	run --device /dev/pts -- test -d /dev/pts
}

needs test_a6_a_missing_write_in_what_is_writable_is_made_too host
test_a6_a_missing_write_in_what_is_writable_is_made_too()
{
	run --write new/d -- test -d new/d
	[[ -d new/d ]]
}

needs test_a6_a_write_file_says_that_its_directory_is_opened host
test_a6_a_write_file_says_that_its_directory_is_opened()
{
	mkdir c
	run --mode read-only --write-file c/f -- touch c/g 2>"$messages"
	warned "$PWD/c can be written"
	run --write-file c/f -- true 2>"$messages"
	expect_eq "$(<"$messages")" ''
}

needs test_a7_a_denial_wins_over_what_every_program_reads host
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
	# Missing credentials are closed by name where BPF LSM has the hooks.
	if grep -q 'fs-deny is held in part' "$messages"; then
		warned 'fs-deny is held in part'
		expect_contains "$(<"$messages")" "$home/.aws"
	else
		expect_json "$result" '.enforcement.promises["fs-deny"].state' enforced
	fi
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
