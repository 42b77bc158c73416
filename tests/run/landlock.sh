# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016,SC2164
#
# Landlock: one layer, last, with every right that the kernel knows. B3, F-102 to F-106, F-110 to
# F-112, and what the host may refuse of it.

needs test_f_110_b3_the_abi_in_use_is_the_kernel_s landlock:1
test_f_110_b3_the_abi_in_use_is_the_kernel_s()
{
	local abi=$RF_LANDLOCK
	case $RF_KERNEL in
	6.1) expect_eq "$abi" 2 ;;
	6.12) expect_eq "$abi" 6 ;;
	7.3) expect_eq "$abi" 11 ;;
	esac
	run -- true
	expect_json "$result" .enforcement.mechanisms.landlock.abi "$((abi < 11 ? abi : 11))"
	[[ $(jq -r .enforcement.mechanisms.landlock.state "$result") != off ]]
	# With the network open there is still a layer, and with full access none.
	run --net open -- true
	expect_json "$result" .enforcement.mechanisms.landlock.abi "$((abi < 11 ? abi : 11))"
	run --mode full-access -- true
	expect_json "$result" .enforcement.mechanisms.landlock.state off
}

# Another mount would be no bar to what a mount namespace alone leaves open: a file by descriptor.
needs test_b3_landlock_holds_where_mounts_do_not landlock:1
test_b3_landlock_holds_where_mounts_do_not()
{
	mkdir "$RF_SCRATCH/d"
	echo s >"$RF_SCRATCH/d/f"
	exec 7<"$RF_SCRATCH/d"
	python3 -S -c 'import os; os.open("f", 0, dir_fd=7)'
	expect_status 1 run --pass-fd 7 -- python3 -S -c 'import os; os.open("f", 0, dir_fd=7)' 2>"$messages"
	grep -q 'Errno 13' "$messages"
	expect_status 1 run --pass-fd 7 -- python3 -S -c 'import os; os.unlink("f", dir_fd=7)' 2>"$messages"
	grep -qE 'Errno (13|30)' "$messages"
}

test_f_102_rename_and_link_across_directories_work_in_one_write_tree()
{
	run -- python3 -S -c 'import os; os.mkdir("a"); os.mkdir("b"); open("a/f","w"); os.rename("a/f","b/f")
os.link("b/f","a/g")'
	[[ a/g -ef b/f ]]
	mkdir -p w/a w/b
	run --mode read-only --write w -- python3 -S -c 'import os; open("w/a/f","w"); os.rename("w/a/f","w/b/f")
os.link("w/b/f","w/a/g"); os.rename("w/a", "w/c")'
	[[ w/c/g -ef w/b/f ]]
	# Two trees are two mounts.
	mkdir x y
	expect_status 1 run --mode read-only --write x --write y -- \
		python3 -S -c 'import os; open("x/f","w"); os.rename("x/f","y/f")' 2>"$messages"
	grep -q 'Errno 18' "$messages"
}

test_f_102_every_kind_of_file_can_be_made_and_removed_in_a_write_tree()
{
	run -- python3 -S -c '
import os, socket
os.mkdir("d"); os.mkfifo("fifo"); os.symlink("nowhere", "link"); open("f", "w").close()
os.mknod("node", 0o100600)
for name in ("fifo", "link", "f", "node"):
    os.rename(name, "d/" + name)
    os.unlink("d/" + name)
os.rmdir("d")'
	expect_eq "$(ls -A)" ''
}

test_f_104_an_atomic_save_has_all_that_it_needs()
{
	run -- python3 -S -c 'import os; open("f","w").write("x"); os.truncate("f",0); os.rename("f","g")'
	run --mode read-only --write d -- python3 -S -c '
import os
open("d/f", "w").write("x")
os.truncate("d/f", 0)
open("d/t", "w").write("yy")
os.rename("d/t", "d/f")
os.unlink("d/f")'
	[[ -z $(ls d) ]]
}

# Where the ABI has no truncate, the mount holds it.
test_f_104_truncate_is_refused_where_writing_is()
{
	mkdir k
	echo x >k/f
	for path in k/f /etc/hosts; do
		expect_status 1 run --mode read-only -- python3 -S -c \
			'import os, sys; os.truncate(sys.argv[1], 0)' $path 2>"$messages"
		grep -Eq 'Errno (13|30)' "$messages"
	done
	expect_eq "$(<k/f)" x
}

# A request that a driver answers is not what a shell writes: on terminals and null alone.
needs test_b3_device_requests_are_closed_where_landlock_can landlock:5
test_b3_device_requests_are_closed_where_landlock_can()
{
	local request='import fcntl, os, sys
try: fcntl.ioctl(os.open(sys.argv[1], 0), 0x5401, bytes(64))
except OSError as e: sys.exit(e.errno)'
	# ENOTTY is the driver saying that it knows no such request, EACCES is Landlock.
	expect_status 25 python3 -S -c "$request" /dev/zero
	expect_status 13 run -- python3 -S -c "$request" /dev/zero
	expect_status 25 run -- python3 -S -c "$request" /dev/null
	expect_status 0 run -- python3 -S -c "$request" /dev/ptmx
}

# An overlay answers EXDEV by itself when a directory of its lower layer is renamed.
needs test_f_103_an_exdev_of_the_filesystem_stays_as_it_is root
test_f_103_an_exdev_of_the_filesystem_stays_as_it_is()
{
	unshare --mount --propagation private true
	mkdir lower upper work m
	mkdir lower/d
	unshare --mount --propagation private bash -c '
		mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work,redirect_dir=off m \
			2>/dev/null || exit 77
		cd m
		rename="import os; os.rename(\"d\", \"e\")"
		without=$(python3 -S -c "$rename" 2>&1 | tail -n1)
		with=$(ringfence run --result "$0" -- python3 -S -c "$rename" 2>&1 | tail -n1)
		[[ -n $without && $with == "$without" ]] || { echo "$with, not $without"; exit 1; }' \
		"$result" || {
		[[ $? -eq 77 ]] && skip 'no overlay here'
		fail 'another error with ringfence than without'
	}
	[[ $(jq -c .denials "$result") == '[]' || $(jq -c .denials "$result") == null ]]
}

# ---- What the host may refuse --------------------------------------------------------------------

needs test_f_106_the_seventeenth_layer_is_refused_in_words landlock:4
test_f_106_the_seventeenth_layer_is_refused_in_words()
{
	"$(probe landlock_layers)" 16 touch unconfined
	expect_status 125 "$(probe landlock_layers)" 16 ringfence run --result "$result" -- touch ran \
		2>"$messages"
	[[ ! -e ran ]]
	warned '16 layers'
	"$(probe landlock_layers)" 15 ringfence run -- touch ran
	[[ -e ran ]]
}

# restrict_self is the last step: its failure must stop everything that was built before it.
needs test_f_12_a_refused_landlock_call_is_never_a_run_without_it landlock:1
test_f_12_a_refused_landlock_call_is_never_a_run_without_it()
{
	local call errno status
	for call in landlock_create_ruleset landlock_add_rule landlock_restrict_self; do
		for errno in EPERM ENOSYS; do
			status=0
			"$(probe filter)" "$call=$errno" -- ringfence run --result "$result" -- touch ran \
				2>"$messages" || status=$?
			if [[ $status -ne 125 ]]; then
				expect_eq "$status" 0
				expect_json "$result" .enforcement.mechanisms.landlock.state off
				rm ran
			fi
			[[ ! -e ran ]]
		done
	done
}

test_f_111_a_profile_that_forbids_no_new_privs_is_named()
{
	"$(probe filter)" prctl:0:PR_SET_NO_NEW_PRIVS=EPERM -- touch unconfined
	expect_status 125 "$(probe filter)" prctl:0:PR_SET_NO_NEW_PRIVS=EPERM -- \
		ringfence run --result "$result" -- touch ran 2>"$messages"
	[[ ! -e ran ]]
	warned 'no_new_privs'
	expect_contains "$(jq -r .refusal.hint "$result")" filter
}

needs test_f_105_a_workspace_on_another_filesystem_works root
test_f_105_a_workspace_on_another_filesystem_works()
{
	mkdir m
	unshare --mount --propagation private bash -ec 'mount -t tmpfs none m
		cd m
		ringfence run -- sh -c "echo x >f && cat f" >/dev/null
		ringfence run --mode read-only --write w -- sh -c "echo x >w/f && cat w/f" >/dev/null
		[[ -s f && -s w/f ]]'
}
