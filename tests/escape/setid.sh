# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016 # what is quoted is expanded inside
#
# Programs that give whoever runs them more: set-uid, set-gid, file capabilities.
#
# Two layers hold it, each alone: no_new_privs, and mounts with nosuid. An empty bounding set would
# take the capabilities of a set-uid program besides.

source "$RF_TOP/tests/escape/table.bash"

# In a mount namespace of its own, on a filesystem that lets such programs count: COMMAND sees
# $place, with the attack programs set up in bin.
with_setid()
{
	unshare -m bash -euc '
		mount -t tmpfs -o mode=755 tmpfs place
		mkdir place/bin place/work
		chown 1000:1000 place/work
		for kind in plain setuid setgid capable; do cp "$1" place/bin/$kind; done
		chmod 4755 place/bin/setuid
		chmod 2755 place/bin/setgid
		/usr/bin/python3 -S -c "
import os, struct
os.setxattr(\"place/bin/capable\", \"security.capability\",
	struct.pack(\"<5I\", 0x02000001, 0x2002, 0, 0, 0))"
		shift
		cd place/work
		for kind in plain setuid setgid capable; do
			HOME=$PWD setpriv --reuid 1000 --regid 1000 --clear-groups "$@" ../bin/$kind |
				sed "s/^/$kind: /"
		done' bash "$(probe escape_id)" "$@"
}

plain='uid 1000 euid 1000 gid 1000 egid 1000 groups 0 capabilities 0000000000000000'

test_b9_set_id_programs_and_file_capabilities_give_nothing()
{
	mkdir place
	with_setid >unconfined
	expect_contains "$(<unconfined)" 'setuid: uid 1000 euid 0 '
	expect_contains "$(<unconfined)" 'setgid: uid 1000 euid 1000 gid 1000 egid 0 '
	expect_contains "$(<unconfined)" 'capable: uid 1000 euid 1000 gid 1000 egid 1000 groups 0 capabilities 0000000000002002'
	expect_contains "$(<unconfined)" "plain: $plain"

	with_setid "$RF" run -- >confined
	expect_eq "$(<confined)" "plain: $plain
setuid: $plain
setgid: $plain
capable: $plain"
}
needs test_b9_set_id_programs_and_file_capabilities_give_nothing userns

# What root is inside: a number.
test_b9_root_has_no_capability_and_gets_none()
{
	"$(probe escape_id)" >unconfined
	expect_lacks "$(<unconfined)" 'capabilities 0000000000000000'
	"$RF" run --result r.json --external-read "$(probe escape_id)" -- \
		sh -c "$(probe escape_id); grep -E '^(Cap|NoNew)' /proc/self/status" \
		>confined
	expect_contains "$(head -1 confined)" 'uid 0 euid 0 gid 0 egid 0 groups 0 capabilities 0000000000000000'
	expect_eq "$(grep -c '^Cap.*0000000000000000$' confined)" 5
	expect_contains "$(<confined)" $'NoNewPrivs:\t1'
	expect_held r.json capabilities launcher
}

test_b9_su_gives_an_ordinary_user_nothing()
{
	expect_eq "$(stat -c %a "$(type -P su)")" 4755
	# As root's own it works; the way in from uid 1000 is the set-uid bit.
	expect_eq "$(su -s /bin/sh -c 'id -u' root)" 0
	as_user 1000 "$RF" run -- sh -c 'su -s /bin/sh -c "id -u" root </dev/null' >confined 2>error &&
		fail "su worked: $(<confined)"
	expect_lacks "$(<confined)" 0
}
needs test_b9_su_gives_an_ordinary_user_nothing userns

# Nor can somebody outside be prepared: a set-uid file made inside belongs to who made it, and nobody
# who is no capable root makes a device.
test_b9_no_device_and_no_foreign_owner_can_be_made()
{
	mknod null c 1 3
	rm null
	touch theirs
	chown 1000:1000 theirs
	"$RF" run -- sh -c 'mknod null c 1 3; chown 0:0 theirs; chgrp 5 theirs; chmod 4777 theirs; true' 2>error
	[[ ! -e null ]]
	expect_eq "$(stat -c '%u:%g %a' theirs)" '1000:1000 644'
	expect_eq "$(grep -cE 'not permitted|Permission denied' error)" 4
}
