# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016 # what is quoted is expanded inside
#
# Reads of what was not granted, by every name that could lead there: its own, the roots and
# directories of other processes, a directory that the caller left open.
#
# A path that is not granted is not there (ENOENT): the mount namespace. Names below /proc/1 lead
# through the launcher, which cannot be looked into (EACCES). A directory that came in as a descriptor
# belongs to the caller's mounts: there Landlock alone holds, and the second test shows it.

source "$RF_TOP/tests/escape/table.bash"

read_by_every_name='
	for name; do
		if text=$(cat "$name" 2>&1); then echo "$name: $text"; else echo "$name: ${text##*: }"; fi
	done'

test_b2_what_is_not_granted_is_not_there()
{
	local names
	mkdir inside
	echo marker-7171 >secret
	names=("$PWD/secret" "/proc/self/root$PWD/secret" "/proc/self/cwd/../secret" ../secret
		"/proc/thread-self/root$PWD/secret")
	(cd inside && sh -c "$read_by_every_name" sh "${names[@]}") >unconfined
	expect_eq "$(grep -c marker-7171 unconfined)" "${#names[@]}"

	"$RF" run --workspace inside --result r.json -- \
		sh -c "$read_by_every_name" sh "${names[@]}" >confined
	expect_eq "$(grep -c 'No such file or directory' confined)" "${#names[@]}"
	expect_held r.json fs-read mount-namespace

	"$RF" run --workspace inside -- sh -c "$read_by_every_name" sh \
		"/proc/1/root$PWD/secret" "/proc/1/cwd/../secret" /proc/1/environ /proc/1/mem \
		/proc/1/maps /proc/1/fd/0 /proc/1/exe >confined
	expect_eq "$(grep -c 'Permission denied' confined)" "$(wc -l <confined)"
}

# From the root of the sandbox nothing leads up, and nothing above the workspace can be listed.
test_b2_the_root_is_the_end()
{
	"$RF" run -- sh -c 'cd /../../../.. && pwd && ls /.. ; ls ..; true' >confined 2>&1
	expect_eq "$(head -1 confined)" /
	expect_lacks "$(<confined)" home
	expect_lacks "$(<confined)" boot
}

open_below='
import os, sys
for number in map(int, sys.argv[1:]):
    try:
        os.close(os.open("secret", os.O_RDONLY, dir_fd=number))
        print("open", 0)
    except OSError as error:
        import errno
        print("open", errno.errorcode[error.errno])
'

test_f_112_a_passed_directory_is_no_way_out()
{
	mkdir outside inside
	echo marker-7172 >outside/secret
	exec 7<outside
	/usr/bin/python3 -S -c "$open_below" 7 >unconfined
	expect_errnos unconfined open 0

	"$RF" run --workspace inside --pass-fd 7 --result r.json -- \
		/usr/bin/python3 -S -c "$open_below" 7 >confined
	expect_errnos confined open EACCES
	expect_held r.json fs-read landlock
}

test_f_112_a_directory_as_standard_input_opens_nothing_below_it()
{
	mkdir outside inside
	echo marker-7174 >outside/secret
	expect_contains "$(cat /dev/fd/0/secret <outside)" marker-7174
	for name in /dev/fd/0/secret /proc/self/fd/0/secret /dev/stdin/secret; do
		expect_status 1 "$RF" run --workspace inside -- cat "$name" <outside >confined 2>&1
		expect_contains "$(<confined)" 'Permission denied'
	done
}

# None but Landlock holds it.
test_f_112_without_landlock_a_passed_directory_is_open()
{
	mkdir outside inside
	echo marker-7173 >outside/secret
	exec 7<outside
	without landlock "$RF" run --workspace inside --pass-fd 7 --result r.json -- \
		/usr/bin/python3 -S -c "$open_below" 7 >confined
	expect_errnos confined open 0
	expect_json r.json '.enforcement.promises["fs-read"].by | index("landlock") == null' true
}

# Opened for reading, it stays that: not through its name below /proc either.
test_f_112_a_passed_file_cannot_be_opened_again_for_writing()
{
	mkdir inside
	echo kept >file
	sh -c 'true >>/proc/self/fd/0' <file
	for name in /proc/self/fd/0 /dev/stdin; do
		expect_status 2 "$RF" run --workspace inside -- sh -c "echo x >>$name" <file 2>error
		expect_contains "$(<error)" 'Permission denied'
	done
	expect_eq "$(<file)" kept
}

test_f_112_a_passed_file_can_be_read()
{
	[[ -r /etc/shadow ]] || skip 'no /etc/shadow'
	exec 8</etc/shadow
	"$RF" run --pass-fd 8 -- sh -c 'cat <&8 >/dev/null'
	grep -qi 'keep.*rights' "$RF_TOP/docs/ringfence.1.scd"
}
