# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016 # what is quoted is expanded inside
#
# Changing what is mounted, by the old calls and the new ones.
#
# seccomp answers first. Below it there are the capabilities that are gone (chroot, which no filter
# names, shows them), and Landlock, which refuses every mount inside a domain.

source "$RF_TOP/tests/escape/table.bash"

test_b9_nothing_can_be_mounted_from_inside()
{
	mkdir place
	# Called beside others: where one needs what the one before it gave, it has its own reasons.
	unshare -m "$(probe escape_mount)" mounts "$PWD/place" >unconfined
	expect_errnos unconfined '.*' ! EPERM EACCES
	expect_errnos unconfined 'mount-tmpfs|mount-bind|umount|fsopen|open_tree|chroot' 0

	"$RF" run --result r.json -- "$(probe escape_mount)" mounts "$PWD/place" >confined
	expect_errnos confined '.*' EPERM
	expect_held r.json capabilities launcher
	expect_json r.json .enforcement.mechanisms.seccomp.state enforced
}

test_b9_nothing_can_be_mounted_by_an_ordinary_user()
{
	mkdir place
	as_user 1000 unshare -rm "$(probe escape_mount)" mounts "$PWD/place" >unconfined
	expect_errnos unconfined 'mount-tmpfs|mount-bind|umount|fsopen' 0

	as_user 1000 "$RF" run -- "$(probe escape_mount)" mounts "$PWD/place" >confined
	expect_errnos confined '.*' EPERM
}
needs test_b9_nothing_can_be_mounted_by_an_ordinary_user userns

test_b2_the_view_cannot_be_made_writable_by_mount()
{
	"$RF" run -- sh -c 'for command in "mount -o remount,rw /usr" "mount -o remount,rw /" \
		"umount /etc/passwd" "umount -l /dev" "mount --bind /tmp /usr/bin" \
		"mount -t proc proc /proc" "touch /usr/rf-x"
	do $command 2>/dev/null && echo "done: $command"; done; exit 0' >confined
	expect_eq "$(<confined)" ''
	[[ ! -e /usr/rf-x ]]
}
