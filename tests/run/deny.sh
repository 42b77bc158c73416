# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016,SC2094,SC2154
#
# What a mount cannot hold: a name that does not exist, what lies above it, other names of a closed
# file, one file of a directory. Where the kernel has BPF LSM its hooks hold it, and nothing is left
# in the tree; where it has not, the run is refused (125), or a write-file opens its directory, and
# the plan says so.

# held: does this host have the hooks? As the plan says; the tests then ask the kernel. The guests
# have them.
held()
{
	ringfence plan --json --deny nothing-of-this-name --waive fs-deny -- true >"$RF_SCRATCH/held"
	jq -e '.enforcement.promises["fs-deny"].by | index("bpf-lsm")' "$RF_SCRATCH/held" >/dev/null ||
		{ [[ $RF_KERNEL == host ]] || fail "$(<"$RF_SCRATCH/held")"; return 1; }
}

tree()
{
	find . -printf '%p %y %m %s %i %T@ %l\n' | sort
}

# Every way to make a name, tried on each argument; a line each: way, name, errno.
make_every_way='
import os, sys, socket, errno, stat
def attempt(way, name, call):
    try:
        call()
        print(way, name, 0)
    except OSError as e:
        print(way, name, errno.errorcode[e.errno])
open("source", "w").close()
for name in sys.argv[1:]:
    attempt("open", name, lambda: os.close(os.open(name, os.O_CREAT | os.O_WRONLY)))
    attempt("mkdir", name, lambda: os.mkdir(name))
    attempt("mknod", name, lambda: os.mknod(name, stat.S_IFREG | 0o600))
    attempt("fifo", name, lambda: os.mkfifo(name))
    attempt("symlink", name, lambda: os.symlink("source", name))
    attempt("link", name, lambda: os.link("source", name))
    attempt("rename", name, lambda: os.rename("source", name))
os.path.exists("source") and os.unlink("source")
'

test_a7_f_34_a_missing_name_cannot_be_made_in_any_way()
{
	local before
	mkdir -p a/b
	before=$(tree)
	if ! held; then
		refused deny-missing-unheld --deny a/b/k
		refused deny-missing-unheld --protect new/deep
		expect_eq "$(tree)" "$before"
		return
	fi
	run --deny a/b/k --protect new/deep --deny "$(printf 'n%.0s' {1..255})" -- python3 -c "$make_every_way" \
		a/b/k new "$(printf 'n%.0s' {1..255})" >out
	expect_eq "$(grep -c . out)" 21
	expect_eq "$(awk '$2 != "new" && $3 != "EACCES"' out)" ''
	expect_eq "$(awk '$2 == "new" && $3 != "EPERM"' out)" ''
	expect_json "$result" '.enforcement.promises["fs-deny"].state' enforced
	expect_json "$result" '.enforcement.promises["fs-deny"].by | index("bpf-lsm") != null' true
	expect_json "$result" '[.denials[] | select(.op == "create" and .path == "'"$PWD"'/a/b/k")] | length' 1
	expect_json "$result" '.denials[0] | [.errno, .by, (.exe | test("python3"))]' '["EACCES","bpf-lsm",true]'
	rm out
	expect_eq "$(tree | sed 's/ [0-9.]* $//; s/^\. .*//')" "$(sed 's/ [0-9.]* $//; s/^\. .*//' <<<"$before")"
	# Other names are free, and outside nobody is held to anything.
	run --deny a/b/k -- python3 -c "$make_every_way" a/b/kk >out
	expect_contains "$(<out)" 'open a/b/kk 0'
	touch a/b/k
}

# What lies above a missing name, and what is closed, stays where it is; the tree is as it was.
test_a7_what_lies_above_a_missing_name_is_pinned_and_the_tree_is_untouched()
{
	local before
	mkdir -p a/b other
	echo s >a/b/k
	echo p >p
	ln -s p link
	before=$(tree)
	if ! held; then
		refused deny-missing-unheld --deny a/b/none
		expect_eq "$(tree)" "$before"
		return
	fi
	run --deny a/b/none/deep --deny a/b/k --protect p --deny link -- python3 -c '
import os, ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def swap(a, b):
    if libc.renameat2(-100, a.encode(), -100, b.encode(), 2) < 0:
        raise OSError(ctypes.get_errno(), "renameat2")
for way, call in [
    ("move", lambda: os.rename("a", "c")), ("move-below", lambda: os.rename("a/b", "a/c")),
    ("replace", lambda: os.rename("other", "a/b")), ("swap", lambda: swap("other", "a")),
    ("swap-back", lambda: swap("a/b", "other")), ("rmdir", lambda: os.rmdir("a/b")),
    ("link", lambda: os.rename("link", "elsewhere")), ("unlink", lambda: os.unlink("link")),
    ("file", lambda: os.unlink("a/b/k")), ("protected", lambda: os.rename("p", "q")),
    ("over", lambda: os.rename("a/b/k", "p"))]:
    try:
        call()
        print(way, 0)
    except OSError as e:
        print(way, errno.errorcode[e.errno])
' >"$RF_SCRATCH/out"
	expect_eq "$(grep -c . "$RF_SCRATCH/out")" 11
	expect_eq "$(grep ' 0$' "$RF_SCRATCH/out")" ''
	expect_eq "$(tree)" "$before"
}

test_a7_a_hard_link_does_not_open_a_closed_file()
{
	mkdir d
	echo secret >d/k
	echo kept >p
	ln d/k alias
	ln p other
	if ! held; then
		expect_status 1 run --deny d/k -- cat d/k 2>/dev/null
		return
	fi
	expect_eq "$(cat alias)" secret
	run --deny d/k --protect p -- sh -c '
		cat alias; (echo x >alias); ln alias more; mv alias moved; cat other; (echo x >other)
		chmod 600 other; touch -d 2020-01-01 other; rm other; :' >"$RF_SCRATCH/out" 2>/dev/null
	expect_eq "$(<"$RF_SCRATCH/out")" kept
	expect_eq "$(ls)" alias$'\n'd$'\n'other$'\n'p
	expect_eq "$(cat alias other)" secret$'\n'kept
	expect_json "$result" '[.denials[] | select(.op == "open-read")][0].path' "$PWD/d/k"
	expect_eq "$(stat -c %Y other)" "$(stat -c %Y p)"
}

# A rule follows what was found, not its place: deeper grants win, others' files are not touched.
test_a7_a_deeper_grant_wins_in_the_hooks_too()
{
	mkdir -p d/open/deep p/w
	echo o >d/open/deep/f
	echo k >d/k
	run --deny d --read d/open --protect p --write p/w -- sh -c 'cat d/open/deep/f; echo x >p/w/f'
	[[ -f p/w/f ]]
	expect_status 1 run --deny d --read d/open -- cat d/k 2>/dev/null
	expect_status 2 run --protect p --write p/w -- sh -c 'echo x >p/f' 2>/dev/null
}

test_a7_f_34_a_killed_run_leaves_a_tree_without_placeholders()
{
	local before client
	mkdir a
	before=$(tree)
	if ! held; then
		refused deny-missing-unheld --deny a/k
		return
	fi
	ringfence run --deny a/k --protect new -- sleep 7713 2>/dev/null &
	client=$!
	wait_for 5 running 'sleep 7713'
	expect_eq "$(tree)" "$before"
	kill -KILL "$client"
	wait_for 5 gone 'sleep 7713'
	expect_eq "$(tree)" "$before"
}

# An editor outside saves by rename, and takes the mount off with the old file.
test_a7_a_denied_file_that_is_replaced_from_outside_stays_closed()
{
	local client
	held || { ringfence run --deny k --waive fs-deny -- true; return 0; }
	echo old >k
	echo new >fresh
	ringfence run --deny k -- sh -c 'touch ready; until [ -e go ]; do sleep 0.1; done; cat k' >out 2>/dev/null &
	client=$!
	wait_for 10 test -e ready
	mv fresh k
	touch go
	expect_status 1 wait "$client"
	expect_eq "$(<out)" ''
	expect_eq "$(<k)" new
}

test_f_107_a_ring_meets_the_same_hooks()
{
	local op
	held || { refused deny-missing-unheld --deny none; return 0; }
	mkdir d
	echo x | tee d/file d/other >d/third
	ln d/file closed
	ln d/third kept
	run --deny closed --protect kept --deny d/renamed -- "$(probe ring)" d none >out
	for op in openat2 linkat renameat unlinkat; do
		grep -Eq "^$op E(ACCES|PERM)$" out || fail "$op: $(<out)"
	done
}

# Git's names are held as the policy's own are; what git makes itself beside them is free.
test_a15_the_names_that_git_goes_by_cannot_be_made()
{
	mkdir -p .git/objects/info .git/refs/heads .git/hooks .git/info
	echo 'ref: refs/heads/main' >.git/HEAD
	printf '[core]\n\trepositoryformatversion = 0\n' >.git/config
	if ! held; then
		ringfence run --result r.json -- true 2>"$messages"
		expect_json r.json '.enforcement.promises["fs-deny"].state' partial
		return
	fi
	run -- python3 -c "$make_every_way" .git/commondir .git/modules .git/objects/info/alternates .git/HEAD.lock >out
	expect_eq "$(grep -c . out)" 28
	# .git is a mount of its own, across which nothing is linked or renamed.
	expect_eq "$(awk '$2 != ".git/HEAD.lock" && $3 != "EPERM" && $3 != "EXDEV"' out)" ''
	expect_contains "$(<out)" 'open .git/HEAD.lock 0'
	expect_json "$result" '.enforcement.promises["fs-deny"] | [.state, (.by | index("bpf-lsm") != null)]' \
		'["enforced",true]'
}

# ---- One file of a directory --------------------------------------------------------------------

test_a6_the_plan_says_whether_a_write_file_is_exact()
{
	local how=parent
	mkdir c
	! held || how=exact
	ringfence plan --json --mode read-only --write-file c/f -- true >plan
	expect_json plan .write_files "$how"
	expect_json plan '.enforcement.promises["fs-write"].by | index("bpf-lsm") != null' \
		"$([[ $how == exact ]] && echo true || echo false)"
}

neighbours='
import os, errno, sys
def attempt(way, call):
    try:
        call()
        print(way, 0)
    except OSError as e:
        print(way, errno.errorcode[e.errno])
def write(name, flags=0):
    os.close(os.open(name, os.O_WRONLY | flags))
os.chdir("c")
print("read", open("n").read().strip())
attempt("write", lambda: write("n"))
attempt("truncating-open", lambda: os.close(os.open("n", os.O_RDONLY | os.O_TRUNC)))
attempt("truncate", lambda: os.truncate("n", 0))
attempt("unlink", lambda: os.unlink("n"))
attempt("chmod", lambda: os.chmod("n", 0o600))
attempt("utime", lambda: os.utime("n", (1, 1)))
attempt("xattr", lambda: os.setxattr("n", "user.x", b"x"))
attempt("link", lambda: os.link("n", "made"))
attempt("move", lambda: os.rename("n", "made"))
attempt("move-over-f", lambda: os.rename("n", "f"))
write("own", os.O_CREAT | os.O_EXCL)
attempt("replace", lambda: os.rename("own", "n"))
attempt("link-over", lambda: os.link("own", "n"))
attempt("sub-write", lambda: write("sub/x"))
attempt("sub-make", lambda: write("sub/y", os.O_CREAT))
attempt("sub-remove", lambda: os.unlink("sub/x"))
attempt("sub-move", lambda: os.rename("sub", "bus"))
attempt("sub-mkdir", lambda: os.mkdir("made"))
attempt("symlink", lambda: os.symlink("n", "made"))
attempt("own-into-sub", lambda: os.rename("own", "sub/own"))
attempt("hidden", lambda: write(".n"))
attempt("OK-own", lambda: write("own"))
attempt("OK-own-moved", lambda: os.rename("own", "own2"))
attempt("OK-own-again", lambda: write("own2", os.O_APPEND))
attempt("OK-own-removed", lambda: os.unlink("own2"))
attempt("OK-f", lambda: write("f"))
attempt("OK-grant", lambda: write("sub/granted/z", os.O_CREAT))
'

test_a6_the_neighbours_of_a_write_file_stay_closed()
{
	local before
	held || { run --mode read-only --write-file c/f -- true; return 0; }
	mkdir -p c/sub/granted
	echo n >c/n
	echo n >c/.n
	echo x >c/sub/x
	echo f >c/f
	before=$(tree | grep -v ' d ')
	run --mode read-only --write-file c/f --write c/sub/granted -- python3 -c "$neighbours" >"$RF_SCRATCH/out"
	expect_eq "$(head -n 1 "$RF_SCRATCH/out")" 'read n'
	expect_eq "$(grep -c . "$RF_SCRATCH/out")" 27
	expect_eq "$(grep -v '^OK\|^read' "$RF_SCRATCH/out" | grep ' 0$' || true)" ''
	expect_eq "$(grep '^OK' "$RF_SCRATCH/out" | grep -v ' 0$' || true)" ''
	expect_eq "$(tree | grep -v ' d \|/granted/')" "$before"
}

# Save by lock, by temporary, by backup: what tools do, and the neighbours as they were.
test_a6_f_38_tools_save_a_write_file_and_nothing_else()
{
	mkdir c
	printf '[a]\n\tb = 1\n' >c/f
	echo n >c/n
	run --mode read-only --write-file c/f --env HOME=/tmp -- sh -c '
		set -e
		git config --file c/f a.b 2
		sed -i s/2/3/ c/f
		: >c/f.lock; cp c/f c/f.tmp; echo "# tail" >>c/f.tmp; mv c/f.tmp c/f; rm c/f.lock
		touch c/4913; rm c/4913; : >c/.f.swp; mv c/f "c/f~"; echo "# vim" >c/f; cat "c/f~" >>c/f; rm "c/f~" c/.f.swp
		! command -v vim >/dev/null || vim -es -u NONE -c "set backup" -c "normal Go# edited" -c wq c/f || test -s c/f'
	expect_contains "$(<c/f)" 'b = 3'
	expect_contains "$(<c/f)" '# tail'
	expect_contains "$(<c/f)" '# vim'
	expect_eq "$(<c/n)" n
	expect_eq "$(find c -name '*.lock' -o -name '*.tmp' -o -name '*.swp')" ''
	held || return 0
	expect_status 2 run --mode read-only --write-file c/f -- sh -c 'echo x >c/n' 2>"$messages"
	expect_eq "$(<c/n)" n
	expect_json "$result" '.denials | map([.op, .path])' '[["open-write","'"$PWD"'/c/n"]]'
}

# One run's temporaries are not the next one's, and a file that was there is nobody's.
test_a6_what_another_run_made_beside_a_write_file_is_a_neighbour()
{
	held || { run --mode read-only --write-file c/f -- true; return 0; }
	mkdir c
	run --mode read-only --write-file c/f -- sh -c 'echo 1 >c/t'
	expect_status 2 run --mode read-only --write-file c/f -- sh -c 'echo 2 >c/t' 2>/dev/null
	expect_eq "$(<c/t)" 1
}
