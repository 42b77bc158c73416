# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Writes where reading alone was granted: by open, rename, link and attribute, by descriptors opened
# for reading, by the names below /proc that lead to the same file.
#
# Two layers hold it. The mount is asked first (EROFS; EXDEV from one mount to another); Landlock
# would answer EACCES, but knows nothing of chmod, chown, utimes and setxattr: without the mount
# nothing held those for root.

source "$RF_TOP/tests/escape/table.bash"

across='link-in|rename-out|rename-in|exchange|proc-fd-link'
maybe='setflags|f?setxattr|1.root-write'

make_outside()
{
	rm -rf outside inside
	mkdir -p inside outside/directory outside/second-directory
	echo secret >outside/file
	touch outside/other outside/second outside/third
	ln -s file outside/link
}

state_of_outside()
{
	find outside -printf '%p %y %m %U %s %T@ %C@ %n\n' | sort
	cat outside/file
}

# Of the names in the table: all are refused, and nothing outside has changed.
expect_refused()
{
	state_of_outside >"$RF_SCRATCH/before"
	"$@" --workspace inside --external-read "$PWD/outside" --result r.json -- \
		"$(probe escape_files)" "$PWD/outside" "$PWD/inside" >confined
	state_of_outside | diff "$RF_SCRATCH/before" - || fail "something outside has changed"
	expect_errnos confined 'inside|inside-other' 0
	expect_errnos confined "$across" EXDEV
	expect_errnos confined '1.root-write' EACCES
	# ENOTTY and EOPNOTSUPP: the filesystem knows no such thing.
	expect_errnos confined 'setflags|f?setxattr' EROFS ENOTTY EOPNOTSUPP
	sed -Ei "/^($across|$maybe|inside|inside-other) /d" confined
	expect_errnos confined '.*' EROFS
}

test_b2_what_is_read_only_cannot_be_changed()
{
	make_outside
	"$(probe escape_files)" "$PWD/outside" "$PWD/inside" >unconfined
	sed -Ei "/^($maybe) /d" unconfined
	expect_errnos unconfined '.*' 0

	make_outside
	expect_refused "$RF" run
	expect_held r.json fs-write mount-namespace
}

test_b2_mounts_hold_what_is_read_only_without_landlock()
{
	make_outside
	expect_refused without landlock "$RF" run
	expect_json r.json .enforcement.mechanisms.landlock.state off
	expect_held r.json fs-write mount-namespace
}

test_b2_what_is_read_only_cannot_be_changed_by_its_owner()
{
	make_outside
	chown -R 1000:1000 .
	expect_refused as_user 1000 "$RF" run
}
needs test_b2_what_is_read_only_cannot_be_changed_by_its_owner userns

test_b2_read_only_mode_writes_nowhere()
{
	make_outside
	state_of_outside >"$RF_SCRATCH/before"
	"$RF" run --mode read-only -- "$(probe escape_files)" "$PWD/outside" "$PWD/inside" >confined ||
		expect_eq $? 2
	state_of_outside | diff "$RF_SCRATCH/before" - || fail "something has changed"
	expect_errnos confined 'inside|inside-other' EROFS
}
