# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2016
#
# plan --why: what it says of a path, and that the kernel does the same.

# agree COUNT OPTION...: in a directory of its own; the seed of a disagreement is in its message.
agree()
{
	mkdir "ws.$1"
	(cd "ws.$1" && shift && HOME=${HOME:-/} python3 "$RF_TOP/tests/run/why.py" "$@")
	chmod -R u+rwx ws.*
	rm -rf ws.*
}

needs test_a13_why_agrees_with_the_kernel_for_random_paths host time:120
test_a13_why_agrees_with_the_kernel_for_random_paths()
{
	agree 1 500
	agree 2 500 --mode read-only
	agree 3 300 --strict --waive denial-record --mode read-only
}

needs test_a13_why_agrees_with_the_kernel_for_an_ordinary_user host time:120
test_a13_why_agrees_with_the_kernel_for_an_ordinary_user()
{
	mkdir "$RF_SCRATCH/why"
	chmod 755 "$RF_SCRATCH"
	chown 1000 "$RF_SCRATCH/why"
	export RF RF_SCRATCH RF_PROBES RF_TOP
	export -f agree
	as_user 1000 bash -ec 'agree 1 500; agree 2 500 --mode read-only'
}

needs test_a13_why_agrees_with_the_kernel_of_a_guest guest time:120
test_a13_why_agrees_with_the_kernel_of_a_guest()
{
	agree 1 150
}

# answered ACCESS PATH: the rest of the line in which the answer stands.
answered()
{
	ringfence plan --mode read-only --read src --write w --protect w/p --deny w/k --why "$@" |
		sed "s|$PWD|.|g"
}

needs test_a13_why_names_the_rule_and_what_holds_it host
test_a13_why_names_the_rule_and_what_holds_it()
{
	mkdir -p src w/p
	: >src/f
	: >w/k
	expect_eq "$(answered write w/new)" \
		'write w/new (./w/new): allowed: a rule opens it, --write w (filesystem.write)'
	expect_eq "$(answered read w/k)" \
		'read w/k (./w/k): denied, EACCES: a rule narrows it, --deny w/k (filesystem.deny); held by mount-namespace'
	expect_eq "$(answered write w/p/x)" \
		'write w/p/x (./w/p/x): denied, EROFS: a rule narrows it, --protect w/p (filesystem.protect); held by mount-namespace'
	expect_contains "$(answered write src/f)" \
		'denied, EROFS: a rule opens it, --read src (filesystem.read); held by mount-namespace'
	expect_contains "$(answered read /etc/shadow)" 'absent, ENOENT: nothing grants it; held by mount-namespace'
	expect_contains "$(answered exec /usr/bin/env)" 'allowed: programs need it to run'
	expect_eq "$(answered exec w src | wc -l)" 2
	ringfence plan --json --why write w -- ls >why
	expect_json why '.[0].rule' '{"key":"mode","option":"--mode"}'
	expect_status 125 ringfence plan --why open w 2>messages
	expect_contains "$(<messages)" 'read, write or exec'
	expect_status 125 ringfence plan --why read 2>messages
	expect_contains "$(<messages)" 'no path is given'
	expect_status 125 ringfence run --why read w 2>messages
	expect_contains "$(<messages)" 'unknown option'
}
