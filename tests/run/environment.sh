# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016,SC2094,SC2164
#
# What a command inherits besides descriptors: variables, groups, capabilities, identity. A12, B1, B9.

# A caller's environment, made whole here.
caller()
{
	env -i PATH="$PATH" LANG=C.UTF-8 HOME="$HOME" "$@"
}

# inside VARIABLE...: the names that `env` shows inside.
names()
{
	cut -d= -f1 | sort | xargs
}

# ---- Variables -----------------------------------------------------------------------------------

test_a12_the_environment_is_an_allowlist()
{
	expect_eq "$(caller LC_TIME=C TZ=UTC TERM=xterm USER=u LOGNAME=u SHELL=/bin/sh \
		COREPACK_HOME=/c FOO=1 LD_PRELOAD=/x.so XDG_RUNTIME_DIR=/run/x DISPLAY=:0 http_proxy=p \
		BASH_ENV=/x GIT_DIR=/g LANGUAGE=x LC= ringfence run -- env | names)" \
		"COREPACK_HOME HOME LANG LC_TIME LOGNAME PATH PWD SHELL TEMP TERM TMP TMPDIR TZ USER$(
		) XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME"
	expect_eq "$(caller TZ=UTC FOO=1 ringfence run --clear-env --env FOO -- env | names)" \
		'FOO HOME PATH PWD TEMP TMP TMPDIR XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME'
}

test_f_53_secrets_and_agents_do_not_leak()
{
	export AWS_SECRET_ACCESS_KEY=k1 SSH_AUTH_SOCK=/s DOCKER_HOST=h
	run -- env >out
	expect_eq "$(grep -Ec '^(AWS|SSH|DOCKER)' out || true)" 0
	run --env AWS_SECRET_ACCESS_KEY -- env >out
	expect_eq "$(grep -E '^(AWS|SSH|DOCKER)' out)" AWS_SECRET_ACCESS_KEY=k1
}

test_f_54_no_process_with_the_old_environment_is_visible()
{
	export SECRET=zz9 ALSO=zz9
	tr '\0' '\n' <"/proc/$$/environ" >/dev/null
	expect_eq "$(run -- sh -c 'cat /proc/*/environ' 2>/dev/null | grep -ac zz9 || true)" 0
	expect_eq "$(run -- cat /proc/1/environ 2>/dev/null | tr '\0' '\n' | grep -ac zz9 || true)" 0
	mkdir ws && cd ws
	expect_eq "$(as_user 1000 env SECRET=zz9 ringfence run -- sh -c 'cat /proc/*/environ' 2>/dev/null |
		grep -ac zz9 || true)" 0
	# It is one inside that would be found.
	expect_eq "$(run --env SECRET -- sh -c 'cat /proc/*/environ' 2>/dev/null | grep -ac zz9)" 1
}

# Every process of the machine is looked at while the command runs.
needs test_f_55_no_value_is_in_an_argument_list host
test_f_55_no_value_is_in_an_argument_list()
{
	local one two three client
	read -r one </proc/sys/kernel/random/uuid
	read -r two </proc/sys/kernel/random/uuid
	read -r three </proc/sys/kernel/random/uuid
	printf 'B=%s\n' "$two" >env-file
	printf 'environment:\n  set:\n    C: "%s"\n' "$three" >p.yaml
	printf '%s\n' "$one" "$two" "$three" >values
	A=$one ringfence run --env A --env-file env-file --policy p.yaml -- sleep 7715 &
	client=$!
	wait_for 5 running 'sleep 7715'
	expect_eq "$(cat /proc/[0-9]*/cmdline 2>/dev/null | grep -acf values || true)" 0
	expect_eq "$(tr '\0' '\n' <"/proc/$(pids_of 'sleep 7715')/environ" | grep -cf values)" 3
	kill "$client"
	wait "$client" || true
}

test_f_56_the_temporary_directory_is_private_and_valid()
{
	local path
	path=$(TMPDIR=/nope TMP=/nope HOME=/nope run -- mktemp)
	[[ ! -e $path ]]
	run --mode read-only -- sh -c 'for d in "$TMPDIR" /tmp "$HOME" "$TMP" "$TEMP" "$XDG_CACHE_HOME" \
		"$XDG_CONFIG_HOME" "$XDG_DATA_HOME" "$XDG_STATE_HOME" /var/tmp; do
		test -d "$d" && test -w "$d" && : >"$d/f" || exit 3; done'
	expect_eq "$(run -- sh -c 'ls /tmp')" ''
	mkdir ws && cd ws
	as_user 1000 env TMPDIR=/nope ringfence run --mode read-only -- sh -c ': >"$HOME/f"; : >"$TMPDIR/f"'
}

needs test_a12_home_is_never_the_host_s host
test_a12_home_is_never_the_host_s()
{
	expect_lacks "$(HOME=$RF_SCRATCH run -- printenv HOME)" "$RF_SCRATCH"
	expect_lacks "$(HOME=$RF_SCRATCH run --env HOME -- printenv HOME 2>"$messages")" "$RF_SCRATCH"
	warned HOME
	expect_lacks "$(run --env "HOME=$(getent passwd 0 | cut -d: -f6)" -- printenv HOME \
		2>"$messages")" "$(getent passwd 0 | cut -d: -f6)"
	warned HOME
	expect_eq "$(run -- sh -c 'cd; pwd')" "$(run -- printenv HOME)"
	expect_eq "$(run -- sh -c 'echo ~')" "$(run -- printenv HOME)"
}

needs test_a12_an_empty_value_counts_as_unset host
test_a12_an_empty_value_counts_as_unset()
{
	expect_eq "$(caller TZ= TERM= FOO= ringfence run --env FOO --env BAR= -- env | names)" \
		'HOME LANG PATH PWD TEMP TMP TMPDIR XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME'
	# An empty PATH leaves the default, not the current directory.
	cp /bin/true rf-here
	expect_status 127 env PATH= "$RF" run -- rf-here 2>/dev/null
	env PATH= "$RF" run -- true
}

needs test_a12_pwd_is_the_inner_directory host
test_a12_pwd_is_the_inner_directory()
{
	mkdir -p a/b
	ln -s a link
	expect_eq "$(PWD=/nope run --chdir a/b -- printenv PWD)" "$PWD/a/b"
	expect_eq "$(run --chdir link -- printenv PWD)" "$PWD/a"
	expect_eq "$(run --env PWD=/x -- printenv PWD)" "$PWD"
	expect_eq "$(OLDPWD=/secret run -- sh -c 'echo "${OLDPWD-unset}"')" unset
}

needs test_a12_variables_are_passed_and_set host
test_a12_variables_are_passed_and_set()
{
	export FOO=caller
	printf 'FOO=file\n# a comment\n\nBAR=a b=c\n' >env-file
	expect_eq "$(run --env FOO -- printenv FOO)" caller
	expect_eq "$(run --env FOO=set -- printenv FOO)" set
	expect_eq "$(run --env FOO=one --env FOO=two -- printenv FOO)" two
	expect_eq "$(run --env-file env-file -- printenv FOO BAR)" file$'\n''a b=c'
	expect_eq "$(run --env 'X=a
b' -- printenv X)" $'a\nb'
	expect_status 1 run --env NOT_THERE -- printenv NOT_THERE
	printf 'FOO\n' >bad
	expect_status 125 run --env-file bad -- touch ran 2>"$messages"
	warned 'bad:1:1'
	expect_status 125 run --env-file nope -- touch ran 2>"$messages"
	warned nope
	expect_status 125 run --env '=x' -- touch ran 2>"$messages"
	[[ ! -e ran ]]
	ringfence plan --json --env FOO=geheim -- true >plan
	expect_lacks "$(<plan)" geheim
}

needs test_f_74_term_and_its_description_are_there host
test_f_74_term_and_its_description_are_there()
{
	expect_eq "$(TERM=screen-256color run -- tput colors)" 256
	COLORTERM=truecolor run --env COLORTERM -- sh -c 'test "$COLORTERM" = truecolor'
}

# ---- Identity ------------------------------------------------------------------------------------

needs test_f_57_supplementary_groups_are_dropped root
test_f_57_supplementary_groups_are_dropped()
{
	local with_group='setpriv --reuid 1000 --regid 1000 --groups 1234' status=0
	echo k >g
	chown 0:1234 g
	chmod 640 g
	chmod 777 .
	expect_eq "$($with_group cat g)" k
	$with_group ringfence run --result fd:9 -- cat g 9>"$result" >out 2>"$messages" || status=$?
	expect_eq "$(<out)" ''
	[[ $status -eq 1 || $status -eq 125 ]]
	# Root can, without more ado.
	expect_eq "$(setpriv --groups 1234,5 ringfence run -- id -G)" 0
	chmod 640 g && chown 1:1234 g
	expect_status 1 setpriv --groups 1234 ringfence run -- cat g 2>/dev/null
	expect_eq "$(setpriv --groups 1234 ringfence run --user 1000 -- id -G)" 1000
	# Kept on request.
	expect_eq "$(setpriv --groups 1234,5 ringfence run --keep-groups -- id -G | tr ' ' '\n' | sort -n |
		xargs)" '0 5 1234'
}

# A process, and what it could ever get from a file: nothing.
none_of_them='CapInh 0000000000000000 CapPrm 0000000000000000 CapEff 0000000000000000'
none_of_them+=' CapBnd 0000000000000000 CapAmb 0000000000000000 NoNewPrivs 1'

capabilities()
{
	"$@" -- sh -c 'for f in /proc/self/status /proc/1/status; do grep -E "^(Cap|NoNewPrivs)" $f; done' |
		tr -d ':' | xargs
}

test_b9_no_process_inside_has_a_capability()
{
	chmod 777 .
	expect_eq "$(capabilities ringfence run)" "$none_of_them $none_of_them"
	expect_eq "$(capabilities ringfence run --user 1000)" "$none_of_them $none_of_them"
	expect_eq "$(capabilities ringfence run --net open --mode read-only)" \
		"$none_of_them $none_of_them"
	expect_eq "$(capabilities setpriv --reuid 1000 --regid 1000 --clear-groups ringfence run)" \
		"$none_of_them $none_of_them"
	expect_eq "$(capabilities setpriv --inh-caps +net_raw --ambient-caps +net_raw ringfence run)" \
		"$none_of_them $none_of_them"
}

test_b9_root_inside_has_no_privilege()
{
	touch other
	chown 1234:1234 other
	chmod 600 other
	echo x >>other
	expect_status 1 run -- cat other 2>/dev/null
	expect_status 1 run -- chown 5 other 2>/dev/null
	expect_status 2 run -- sh -c 'echo y >>other' 2>/dev/null
	expect_status 1 run -- hostname changed 2>/dev/null
	expect_status 1 run -- date -s 2030-01-01 >/dev/null 2>&1
	expect_status 1 run -- sh -c 'renice -n -5 $$ >/dev/null' 2>/dev/null
	expect_status 32 run -- mount -t tmpfs none /tmp >/dev/null 2>&1
	expect_eq "$(stat -c '%u %s' other)" '1234 2'
}

test_b9_the_user_is_the_caller_or_the_one_that_root_names()
{
	chmod 777 .
	expect_eq "$(run -- sh -c 'id -u; id -g' | xargs)" '0 0'
	expect_eq "$(as_user 1000 ringfence run -- sh -c 'id -u; id -g; touch mine' | xargs)" '1000 1000'
	expect_eq "$(stat -c '%u:%g' mine)" 1000:1000
	expect_eq "$(run --user 65534 -- sh -c 'id -u; id -g; touch theirs' | xargs)" '65534 65534'
	expect_eq "$(stat -c '%u:%g' theirs)" 65534:65534
	expect_eq "$(run --user nobody -- id -un)" nobody
	expect_eq "$(run --user 1000 -- sh -c 'echo "$USER $LOGNAME" | tr -s " "; test -w "$HOME"; id -un' |
		sort -u | wc -l)" 2
}

needs test_f_58_a_set_id_program_fails_with_one_line_of_explanation root command:su
test_f_58_a_set_id_program_fails_with_one_line_of_explanation()
{
	local status=0
	as_user 1000 ringfence run -- su -c id 2>"$messages" >out </dev/null || status=$?
	[[ $status -ne 0 && $status -ne 125 ]]
	expect_eq "$(<out)" ''
	expect_eq "$(grep -c '^ringfence: ' "$messages")" 1
	grep -Eiq '^ringfence: .*(set-?id|set-?uid)' "$messages"
	# Nothing to say where no such program ran.
	as_user 1000 ringfence run -- true 2>"$messages"
	expect_eq "$(<"$messages")" ''
}

# Set-id bits gain nothing: the effective id stays.
test_b9_set_id_bits_gain_nothing()
{
	cp "$(command -v id)" ./id-copy
	chmod 6755 id-copy
	mkdir ws
	chown 1000:1000 ws
	mount_flags=$(findmnt -n -o OPTIONS -T . || true)
	cd ws
	cp -p ../id-copy .
	chown 0:0 id-copy
	chmod 6755 id-copy
	if [[ $mount_flags != *nosuid* ]]; then
		expect_eq "$(setpriv --reuid 1000 --regid 1000 --clear-groups ./id-copy -u)" 0
	fi
	expect_eq "$(setpriv --reuid 1000 --regid 1000 --clear-groups ringfence run -- ./id-copy -u)" 1000
	expect_eq "$(run --user 1000 -- ./id-copy -u)" 1000
}
