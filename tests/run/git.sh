# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016,SC2164,SC2119,SC2120
#
# Git directories: A15. What git runs or is led by when somebody uses it later stays closed, while git
# itself works as the table in ringfence-policy(5) says.

# What it tests goes by mounts and files; what BPF LSM adds on missing names is tested with those.
needs_all host command:git

# Nothing of the machine's own configuration, here and in what git starts. The file is also read where
# there is no test, to list them.
export GIT_CONFIG_NOSYSTEM=1
if [[ -n ${RF_SCRATCH-} ]]; then
	export HOME=$RF_SCRATCH/git-home
	mkdir -p "$HOME"
	cat >"$HOME/.gitconfig" <<-'END'
		[user]
			name = a
			email = a@b
		[init]
			defaultBranch = main
		[protocol "file"]
			allow = always
	END
fi

# Inside there is no such file.
G=(git -c user.name=a -c user.email=a@b)

# repository DIR: with one commit.
repository()
{
	git init -q "$1"
	echo one >"$1/file"
	git -C "$1" add file
	git -C "$1" commit -qm one
}

# superproject DIR: with a submodule in DIR/sub.
superproject()
{
	repository "$RF_SCRATCH/module"
	repository "$1"
	git -C "$1" submodule --quiet add "$RF_SCRATCH/module" sub
	git -C "$1" commit -qm sub
}

# closed PATH OPTION...: neither written nor, where it is missing, made.
closed()
{
	local path=$1
	shift
	expect_status 2 ringfence run --quiet "$@" -- sh -c 'echo x >"$0"' "$path" 2>"$messages"
	expect_contains "$(<"$messages")" 'Read-only file system'
}

# ---- Field reports -------------------------------------------------------------------------------

test_f_49_a_linked_worktree_commits_when_asked()
{
	repository m
	git -C m worktree add -q ../wt
	cd wt
	run --git commit -- "${G[@]}" commit -q --allow-empty -m inside
	expect_contains "$(git -C ../m log --all --format=%s)" inside
	# Not of itself.
	expect_status 128 run -- git log 2>"$messages"
	warned "the git directory of $PWD is elsewhere and stays closed: --git read or --git commit opens it"
	expect_contains "$(run --git read -- git log --format=%s)" inside
	expect_status 128 run --git read -- "${G[@]}" commit -q --allow-empty -m x
}

test_f_50_a_submodule_commits_when_asked()
{
	superproject sup
	cd sup/sub
	run --git commit -- "${G[@]}" commit -q --allow-empty -m inside
	expect_contains "$(git log --format=%s)" inside
	# No more of the superproject than that.
	expect_status 2 run --quiet --git commit -- sh -c 'echo x >../.git/index'
	expect_status 2 run --quiet --git commit -- sh -c ': <../.git/config'
}

test_f_51_what_git_runs_later_is_closed()
{
	local file
	repository m
	git -C m worktree add -q ../wt
	cd m
	mkdir hk
	git config core.hooksPath hk
	for file in hooks/x config info/attributes worktrees/wt/commondir worktrees/wt/gitdir; do
		closed ".git/$file" --git commit
		closed ".git/$file"
		closed ".git/$file" --git read
	done
	closed hk/x --git commit
	closed hk/x
	cd ../wt
	closed "$(git rev-parse --git-dir)/commondir" --git commit
	closed "$(git rev-parse --git-common-dir)/HEAD" --git commit
	closed "$(git rev-parse --git-common-dir)/config" --git commit
	closed .git --git commit
	closed .git
	# The other work trees' own are closed too.
	git worktree add -q ../second
	closed ../m/.git/worktrees/second/HEAD --git commit
	run --git full --quiet -- sh -c 'echo "# x" >>../m/.git/config'
	expect_eq "$(tail -n 1 ../m/.git/config)" '# x'
}

test_f_52_the_caller_chooses_in_a_plain_clone()
{
	repository m
	cd m
	expect_status 128 run --git read -- "${G[@]}" commit -q --allow-empty -m x
	run --git read -- git log
	run --git commit -- "${G[@]}" commit -q --allow-empty -m second
	run -- "${G[@]}" commit -q --allow-empty -m third
	expect_eq "$(git log --format=%s | tr '\n' ' ')" 'third second one '
	# Asked for, it is opened where nothing else is.
	expect_status 128 run --mode read-only -- "${G[@]}" commit -q --allow-empty -m x
	run --mode read-only --git commit -- "${G[@]}" commit -q --allow-empty -m fourth
	closed .git/config --mode read-only --git commit
	closed file --mode read-only --git commit
}

# ---- The table of the manual ---------------------------------------------------------------------

template()
{
	repository plain
	git init -q --bare plain/origin.git
	repository main
	git -C main worktree add -q ../linked
	repository "$RF_SCRATCH/module"
	git -C main submodule --quiet add "$RF_SCRATCH/module" sub
	git -C main commit -qm sub
	git clone -q --bare plain bare.git
}

# perform ROW: prints the directory and the script.
perform()
{
	case $1 in
	'log, diff, status') echo plain 'git log; git diff; git status' ;;
	'clone, to a new directory') echo plain 'git clone -q . copy' ;;
	'add, commit') echo plain 'echo x >new; git add new; git commit -qm new' ;;
	stash) echo plain 'echo x >file; git stash; git stash pop' ;;
	'switch, merge, rebase')
		echo plain 'git switch -qc a; git commit -q --allow-empty -m a; git switch -q main
			echo x >b; git add b; git commit -qm b; git switch -q a; git rebase -q main
			git switch -q main; git merge -q a'
		;;
	'tag, branch') echo plain 'git tag v1; git branch a; git branch -d a' ;;
	'fetch, push') echo plain 'git push -q ./origin.git main; git fetch -q ./origin.git' ;;
	gc) echo plain 'git gc -q' ;;
	'gc, with linked worktrees') echo main 'git gc -q' ;;
	config) echo plain 'git config a.b c' ;;
	'remote add') echo plain 'git remote add o ./origin.git' ;;
	'worktree add') echo main 'git worktree add -q new' ;;
	'submodule update') echo main 'git submodule update' ;;
	'in a linked worktree: log') echo linked 'git log' ;;
	'in a linked worktree: commit') echo linked 'git commit --allow-empty -m x' ;;
	'in a submodule: log') echo main/sub 'git log' ;;
	'in a submodule: commit') echo main/sub 'git commit --allow-empty -m x' ;;
	'in a bare repository: fetch') echo bare.git 'git fetch -q . main:other' ;;
	*) fail "the manual has a row that is not tested: $1" ;;
	esac
}

# what_happens ROW ACCESS: yes or no.
what_happens()
{
	local access=$2 directory script answer=yes
	read -r -d '' directory script <<<"$(perform "$1")" || true
	rm -rf plain main linked bare.git
	cp -a "$RF_SCRATCH/template/." .
	(cd "$directory" && ringfence run --quiet --git "$access" --env GIT_AUTHOR_NAME=a \
		--env GIT_AUTHOR_EMAIL=a@b --env GIT_COMMITTER_NAME=a --env GIT_COMMITTER_EMAIL=a@b \
		-- sh -ec "$script") >out 2>&1 || answer=no
	git -C "$directory" fsck --no-progress >fsck 2>&1 || fail "$1, $access: $(<fsck)"
	git -C "$directory" log >/dev/null
	echo "$answer"
}

needs test_a15_git_commands_work_as_the_manual_says time:180
test_a15_git_commands_work_as_the_manual_says()
{
	local row cells access rows=0 got
	local -a accesses=(protect read commit full)
	template
	mkdir "$RF_SCRATCH/template"
	cp -a . "$RF_SCRATCH/template"
	while IFS= read -r line; do
		row=$(sed -E 's/( +(yes|no)){4}$//' <<<"$line")
		read -ra cells <<<"${line#"$row"}"
		rows=$((rows + 1))
		for access in 0 1 2 3; do
			got=$(what_happens "$row" "${accesses[access]}")
			[[ $got == "${cells[access]}" ]] ||
				fail "$row, ${accesses[access]}: $got, the manual says ${cells[access]}: $(<out)"
		done
	done < <(sed -n '/^# GIT/,/^# EXAMPLE/p' "$RF_TOP/docs/ringfence-policy.5.scd" |
		grep -E '( +(yes|no)){4}$')
	[[ $rows -eq 18 ]] || fail "$rows rows"
}

# ---- Attacks on what is here ---------------------------------------------------------------------

# What would run when git is used next, tried first where nothing holds it.
declare -A plants=(
	[rename]='mv .git .g2 && cp -r .g2 .git && echo "echo ran >ran" >.git/hooks/pre-commit &&
		chmod +x .git/hooks/pre-commit'
	[removal]='rm -rf .git/hooks && mkdir .git/hooks && echo "echo ran >ran" >.git/hooks/pre-commit &&
		chmod +x .git/hooks/pre-commit'
	[hooks-rename]='mkdir .git/h2 && echo "echo ran >ran" >.git/h2/pre-commit &&
		chmod +x .git/h2/pre-commit && mv .git/hooks .git/h3 && mv .git/h2 .git/hooks'
	[link]='mkdir h2 && echo "echo ran >ran" >h2/pre-commit && chmod +x h2/pre-commit &&
		rm -rf .git/hooks && ln -s ../h2 .git/hooks'
	[config]='printf "[core]\n\tfsmonitor = echo ran >ran; false\n" >.git/config.lock &&
		mv .git/config.lock .git/config'
	[hard-link]='cp .git/config c && printf "[core]\n\tfsmonitor = echo ran >ran; false\n" >c &&
		ln -f c .git/config'
)

runs_something()
{
	git status >/dev/null 2>&1 || true
	git commit -q --allow-empty -m x >/dev/null 2>&1 || true
	[[ -e ran ]]
}

# plant SCRIPT COMMAND...: in a fresh repository.
plant()
{
	local script=$1
	shift
	rm -rf m
	repository m
	chown -R "${owner-0}:${owner-0}" m
	(cd m && "$@" sh -c "$script")
}

no_plant_works()
{
	local name
	for name in "${!plants[@]}"; do
		plant "${plants[$name]}" env
		chown -R 0:0 m
		(cd m && runs_something) || fail "$name does nothing unconfined"
		if plant "${plants[$name]}" "$@" 2>"$messages"; then
			fail "$name succeeds: $(<"$messages")"
		fi
		chown -R 0:0 m
		(cd m && ! runs_something) || fail "$name runs something"
	done
}

needs test_a15_git_cannot_be_made_to_run_something time:60
test_a15_git_cannot_be_made_to_run_something()
{
	no_plant_works ringfence run --quiet --
	no_plant_works ringfence run --quiet --git commit --
	no_plant_works ringfence run --quiet --git read --
}

needs test_a15_git_cannot_be_made_to_run_something_as_an_ordinary_user userns time:60
test_a15_git_cannot_be_made_to_run_something_as_an_ordinary_user()
{
	owner=1000
	no_plant_works as_user 1000 ringfence run --quiet --
}

test_a15_the_name_of_a_git_directory_stays()
{
	repository m
	cd m
	mv .git .g2 && mv .g2 .git
	expect_contains "$(expect_status 1 run --quiet -- mv .git .g2 2>&1)" 'Device or resource busy'
	expect_status 1 run --quiet -- rmdir .git 2>/dev/null
	run --git full -- sh -c 'mv .git .g2; mv .g2 .git'
	# Also where there is nothing in it to be closed.
	rm -rf .git
	mkdir .git
	expect_contains "$(expect_status 1 run --quiet -- mv .git .g2 2>&1)" 'Device or resource busy'
}

test_a15_every_write_keeps_its_own_git_directory()
{
	repository a
	repository b
	closed a/.git/config --mode read-only --write a
	closed b/.git/hooks/x --write b --write a
	expect_status 1 run --quiet --write b -- mv b/.git b/.g2 2>/dev/null
	# An explicit write is deeper, and wins.
	mkdir a/.git/hooks/mine
	run --quiet --write a --write a/.git/hooks/mine -- touch a/.git/hooks/mine/x
}

test_a15_a_write_inside_a_git_directory_opens_no_closed_name()
{
	local file=.git/objects/info/alternates
	repository m
	cd m
	: >"$file"
	echo /x >"$file"
	: >"$file"
	closed "$file" --mode read-only --write .git/objects
	closed "$file" --mode read-only --write .git/objects --git read
	closed .git/hooks/x --mode read-only --write .git/hooks
	closed .git/hooks/x --write .git/hooks --git read
	run --quiet --mode read-only --write .git/objects -- touch .git/objects/x
	# Such a name as the workspace.
	cd .git/hooks
	closed x
}

test_a15_a_bare_repository_is_closed_as_any_other()
{
	repository m
	git clone -q --bare m b.git
	cd b.git
	for file in hooks/x config info/attributes; do
		closed "$file"
	done
	run --quiet -- git fetch -q . main:other
	git rev-parse -q --verify other
}

# ---- Where configuration leads -------------------------------------------------------------------

test_a15_what_the_configuration_includes_is_closed()
{
	local home=$RF_SCRATCH/other-home
	repository m
	cd m
	mkdir hk hk2 hk3 hk4
	echo '[core]' >.shared
	git config include.path ../.shared
	closed .shared
	printf '[core]\n\thooksPath = "hk" ; here\n' >.shared
	closed hk/x
	# The condition is not looked at.
	printf '[includeIf "onbranch:none"] path = ../second\n' >>.git/config
	printf '[core] hooksPath = hk2\n' >second
	closed second
	closed hk2/x
	# That of the user counts for every repository.
	mkdir -p "$home/.config/git"
	printf '[core]\n\thookspath=hk3\n' >"$home/.gitconfig"
	HOME=$home closed hk3/x
	printf '[core]\n\thookspath=hk4\n' >"$home/.config/git/config"
	HOME=$home closed hk4/x
	run --quiet -- touch hk3/x hk4/x
}

test_a15_what_a_linked_hook_leads_to_is_closed()
{
	local access
	repository m
	cd m
	mkdir scripts
	printf '#!/bin/sh\n' >scripts/pc
	chmod 755 scripts/pc
	ln -s ../../scripts/pc .git/hooks/pre-commit
	echo 'echo ran >>ran' >>scripts/pc
	git commit -q --allow-empty -m x
	rm ran
	for access in protect commit read; do
		closed scripts/pc --git "$access"
		expect_status 1 run --quiet --git "$access" -- mv scripts/pc scripts/p2 2>/dev/null
		expect_status 1 run --quiet --git "$access" -- mv scripts s2 2>/dev/null
	done
	run --quiet -- touch scripts/other
	# In the directory that the configuration names, and from above.
	mkdir hk
	mv .git/hooks/pre-commit hk
	ln -sf ../scripts/pc hk/pre-commit
	git config core.hooksPath hk
	closed scripts/pc
	cd scripts
	closed pc
}

test_a15_relative_hooks_are_closed_in_a_linked_worktree_below()
{
	repository m
	cd m
	mkdir hk
	printf '#!/bin/sh\n' >hk/pre-commit
	chmod 755 hk/pre-commit
	git add hk
	git commit -qm hk
	git config core.hooksPath hk
	git worktree add -q trees/wt
	echo 'echo ran >ran' >>trees/wt/hk/pre-commit
	git -C trees/wt commit -q --allow-empty -m x
	[[ -e trees/wt/ran ]]
	closed trees/wt/hk/pre-commit
	closed hk/pre-commit --git commit
	expect_status 1 run --quiet -- mv trees/wt trees/other 2>/dev/null
	run --quiet -- touch trees/wt/other
	# From one beside it, and from the work tree itself.
	cd trees
	closed wt/hk/pre-commit
	cd wt
	closed hk/pre-commit --git commit
}

test_a15_a_repository_above_leads_into_the_workspace()
{
	repository m
	mkdir -p m/a/b/hk
	git -C m config core.hooksPath a/b/hk
	cd m/a/b
	run --quiet -- touch x
	closed hk/x
	# It is not opened.
	expect_status 128 run --quiet --git full -- git log 2>/dev/null
}

test_a15_what_is_no_repository_hides_none_above()
{
	repository m
	mkdir -p m/a/hk
	git -C m config core.hooksPath a/hk
	cd m/a
	printf '#!/bin/sh\ntouch ran\n' >hk/pre-commit
	chmod 755 hk/pre-commit
	run --quiet -- mkdir .git
	closed hk/pre-commit
	run --quiet -- sh -c 'rmdir .git; mkdir objects refs; echo junk >HEAD'
	closed hk/pre-commit
	# Git runs it nevertheless.
	git commit -q --allow-empty -m x
	[[ -e ../ran ]]
}

test_a15_a_bare_repository_cannot_be_hidden()
{
	repository m
	git clone -q --bare m bare
	cd bare
	expect_status 1 run --quiet -- mv objects objects2 2>"$messages"
	expect_contains "$(<"$messages")" 'busy'
	run --quiet -- mv HEAD HEAD2
	closed config
	run --quiet -- sh -c 'mv HEAD2 HEAD; mkdir .git'
	closed config
	closed hooks/x
	expect_contains "$(git log --format=%s)" one
}

test_a15_hooks_elsewhere_need_nothing()
{
	repository m
	cd m
	git config core.hooksPath /dev/null
	run --quiet -- "${G[@]}" commit -q --allow-empty -m x
	git config core.hooksPath "$RF_SCRATCH"
	run --quiet -- "${G[@]}" commit -q --allow-empty -m x
}

# ---- Where it cannot be held whole ---------------------------------------------------------------

in_part()
{
	run --quiet "$@" -- true
	expect_json "$result" '.enforcement.promises["fs-deny"].state' partial
}

needs test_a15_what_is_missing_is_told_and_refuses_under_strict no-bpf-lsm
test_a15_what_is_missing_is_told_and_refuses_under_strict()
{
	repository m
	cd m
	# In every repository it is so: told where it is asked for.
	run -- true 2>"$messages"
	[[ ! -s $messages ]]
	expect_contains "$(jq -r '.enforcement.promises["fs-deny"].why' "$result")" '.git/commondir'
	run --verbose -- true 2>"$messages"
	expect_contains "$(<"$messages")" 'fs-deny is held in part'
	expect_contains "$(ringfence plan -- true 2>"$messages")" '.git/commondir'
	[[ ! -s $messages ]]
	run --waive fs-deny -- true 2>"$messages"
	warned 'waived: fs-deny'
	in_part
	expect_status 125 run --require fs-deny -- touch ran 2>"$messages"
	expect_json "$result" .refusal.promise fs-deny
	expect_status 125 run --strict --waive denial-record -- touch ran 2>"$messages"
	expect_json "$result" .refusal.promise fs-deny
	expect_json "$result" .refusal.code promise-unheld
	[[ ! -e ran ]]
	run --git read --require fs-deny -- true
	run --git full --require fs-deny -- true
	rm -rf .git/hooks
	run -- true
	expect_contains "$(jq -r '.enforcement.promises["fs-deny"].why' "$result")" 'and 5 more'
}

needs test_a15_the_configuration_of_a_work_tree_counts_before_git_reads_it no-bpf-lsm
test_a15_the_configuration_of_a_work_tree_counts_before_git_reads_it()
{
	local name
	repository m
	cd m
	mkdir -p .git/modules .git/worktrees
	for name in branches remotes; do
		mkdir -p ".git/$name"
	done
	echo '' >.git/objects/info/alternates
	cp -a . ../copy
	# Git turns it on by itself.
	printf '[core]\n\tfsmonitor = touch ran; true\n' >.git/config.worktree
	git sparse-checkout set --no-cone file
	git status >/dev/null
	[[ -e ran ]]
	cd ../copy
	echo . >.git/commondir
	: >.git/gitdir
	in_part
	expect_contains "$(jq -r '.enforcement.promises["fs-deny"].why' "$result")" '.git/config.worktree'
	: >.git/config.worktree
	run --quiet --require fs-deny -- true
}

test_a15_what_cannot_be_told_is_held_in_part()
{
	repository m
	cd m
	# Whole but for that.
	run --git read --require fs-deny -- true
	git config core.hooksPath .
	in_part --git read
	expect_contains "$(jq -r '.enforcement.promises["fs-deny"].why' "$result")" core.hooksPath
	git config core.hooksPath '~nobody/hooks'
	in_part --git read
	git config --unset core.hooksPath
	run --git read --require fs-deny -- true
	echo '[core' >>.git/config
	in_part --git read
}

# ---- Forged pointers -----------------------------------------------------------------------------

# Somebody's repository with a linked worktree, and what tells that it was opened.
victim()
{
	repository "$RF_SCRATCH/victim"
	git -C "$RF_SCRATCH/victim" worktree add -q ../linked
	victim=$RF_SCRATCH/victim/.git
}

# not_opened: neither asked for nor not.
not_opened()
{
	local access
	for access in read commit full; do
		refused git-directory-refused --git "$access"
	done
	run --quiet -- sh -c '! ls "$0"' "$victim" 2>/dev/null
	! run --quiet -- sh -c 'ls "$0"' "$victim/worktrees/linked" 2>/dev/null
}

test_a15_a_pointer_without_its_back_pointer_is_refused()
{
	victim
	for forged in "$victim/worktrees/linked" "$victim" "$victim/worktrees" "$victim/nothing" /proc/self /; do
		echo "gitdir: $forged" >.git
		not_opened
	done
	# Unconfined git goes there.
	echo "gitdir: $victim/worktrees/linked" >.git
	git log >/dev/null
	# core.worktree of another.
	git -C "$RF_SCRATCH/victim" config core.worktree "$RF_SCRATCH/victim"
	echo "gitdir: $victim" >.git
	not_opened
}

test_a15_a_hard_link_of_another_work_tree_s_pointer_is_refused()
{
	victim
	ln "$RF_SCRATCH/linked/.git" .git
	not_opened
}

test_a15_a_forged_common_directory_is_refused()
{
	victim
	mkdir fake
	cp -r "$victim/worktrees/linked/." fake
	echo "$victim" >fake/commondir
	echo "$PWD/.git" >fake/gitdir
	echo 'gitdir: fake' >.git
	git log >/dev/null
	not_opened
	# As it should lie, and the names lead elsewhere.
	mkdir own
	cp -r "$victim/." own
	ln -s "$victim" linked-own
	mkdir -p own/worktrees/x
	cp -r fake/. own/worktrees/x
	echo 'gitdir: own/worktrees/x' >.git
	not_opened
	# A .git that is a directory.
	rm .git
	cp -r "$victim" .git
	echo "$victim" >.git/commondir
	git log >/dev/null
	not_opened
}

test_a15_a_symbolic_link_to_a_git_directory_is_refused()
{
	victim
	ln -s "$victim" .git
	git log >/dev/null
	not_opened
	rm .git
	echo "gitdir: $victim/worktrees/linked" >pointer
	ln -s pointer .git
	not_opened
}

test_a15_another_user_s_repository_is_refused()
{
	repository m
	git -C m worktree add -q ../wt
	cd wt
	chown -R 1000:1000 ../m
	refused git-directory-refused --git commit
	chown -R 0:0 ../m
	chown 1000:1000 ../m/.git/worktrees/wt/gitdir
	refused git-directory-refused --git commit
	chown 0:0 ../m/.git/worktrees/wt/gitdir
	run --git commit --quiet -- git status
}

test_a15_a_git_directory_that_holds_the_workspace_is_refused()
{
	repository m
	git clone -q --bare m b.git
	git -C b.git worktree add -q tree main
	cd b.git/tree
	refused git-directory-refused --git commit
	run --quiet -- touch x
}

test_a15_a_denied_git_directory_is_not_opened()
{
	repository m
	git -C m worktree add -q ../wt
	cd wt
	refused git-directory-refused --git commit --deny "$(realpath ../m)"
	cd ../m
	expect_status 128 run --quiet --git commit --deny .git -- git log
	expect_status 128 run --quiet --git commit --protect .git -- "${G[@]}" commit -q --allow-empty -m x
}

test_a15_what_is_no_pointer_hangs_nothing()
{
	mkfifo .git
	timeout 20 ringfence run --quiet -- true
	expect_status 125 timeout 20 ringfence run --quiet --git commit -- true 2>/dev/null
	rm .git
	truncate -s 1G .git
	timeout 20 ringfence run --quiet -- true
	rm .git
	repository .
	mkfifo .git/commondir
	timeout 20 ringfence run --quiet -- true
	rm .git/commondir
	rm .git/config
	mkfifo .git/config
	timeout 20 ringfence run --quiet -- true
}

test_a15_configuration_that_includes_itself_ends()
{
	repository m
	cd m
	git config include.path config
	timeout 20 ringfence run --quiet -- true
	expect_status 128 git status 2>/dev/null
}

needs test_a15_an_ordinary_user_commits_in_a_linked_worktree userns
test_a15_an_ordinary_user_commits_in_a_linked_worktree()
{
	victim
	repository m
	git -C m worktree add -q ../wt
	chown -R 1000:1000 .
	chmod 711 "$RF_SCRATCH"
	cd wt
	as_user 1000 ringfence run --quiet --git commit -- "${G[@]}" commit -q --allow-empty -m inside
	expect_contains "$(git -c safe.directory='*' log --format=%s)" inside
	expect_status 2 as_user 1000 ringfence run --quiet --git commit -- \
		sh -c 'echo x >"$(git rev-parse --git-common-dir)/config"' 2>/dev/null
	# Root's is not theirs.
	echo "gitdir: $victim/worktrees/linked" >.git
	expect_status 125 as_user 1000 ringfence run --quiet --git commit -- true 2>/dev/null
}

test_a15_the_plan_shows_it()
{
	repository m
	cd m
	ringfence plan --quiet --json --git read -- true >plan
	expect_json plan .git '{"access":"read","directories":["'"$PWD"'/.git"]}'
	ringfence plan --quiet --json -- true >plan
	expect_json plan .git.access protect
	expect_json plan "[.view[] | select(.destination == \"$PWD/.git/config\") | .kind] | first" \
		bind-read-only
	expect_json plan "[.view[] | select(.destination == \"$PWD/.git\") | .kind] | first" bind
	ringfence plan --quiet --json --why write .git/config >why
	expect_json why '.. | .rule? | select(. != null)' \
		'{"key":"filesystem.git","option":"--git","value":"protect"}'
}

test_a15_full_access_has_nothing_to_protect()
{
	repository m
	cd m
	expect_status 125 run --mode full-access --git read -- true 2>"$messages"
	expect_json "$result" .refusal.code contradiction
	run --mode full-access --git full -- git config a.b c
}
