# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# A page says what the program says: the same options, the same codes.

# help_options COMMAND...: the options that it lists, a line each.
help_options()
{
	"$@" --help | grep -oE '^ +(-[A-Za-z?], +)?--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sort -u
}

# page_options PAGE SECTION: those that a section of a page explains.
page_options()
{
	awk -v want="$2" '/^##? / { here = ($0 == want) } here' "$RF_TOP/docs/$1.scd" |
		grep -oE '^\*--[a-z][a-z-]*' | tr -d '*' | sort -u
}

needs test_manpages_compile host command:scdoc
test_manpages_compile()
{
	local page
	for page in "$RF_TOP"/docs/*.scd; do
		scdoc <"$page" >page || fail "$page does not compile"
		[[ -s page ]] || fail "$page is empty"
	done
}

needs test_manpages_a13_have_the_options_of_each_command host
test_manpages_a13_have_the_options_of_each_command()
{
	local command
	for command in run doctor ps kill freeze thaw sweep; do
		expect_eq "$(page_options ringfence.1 "## $command")" "$(help_options "$RF" "$command")"
	done
	expect_eq "$(page_options ringfence-bwrap.1 '# OPTIONS')" "$("$RF" bwrap --rf-help |
		grep -oE '^  --rf-[a-z]+' | tr -d ' ' | sort)"
	expect_eq "$({ page_options ringfence.1 '## run'; page_options ringfence.1 '## plan'; } | sort -u)" \
		"$(help_options "$RF" plan)"
}

needs test_manpages_a_help_says_what_every_option_is_and_which_can_be_repeated host
test_manpages_a_help_says_what_every_option_is_and_which_can_be_repeated()
{
	local command
	for command in run plan doctor ps kill freeze thaw sweep 'fs glob'; do
		# shellcheck disable=SC2086 # a verb is a word
		"$RF" $command --help
	done >helps
	"$RF" bwrap --rf-help >>helps
	expect_eq "$(grep -nE '\(null\)|^  --[a-z-]+( [^ ]+)? *$' helps || true)" ""
	expect_eq "$("$RF" run --help | grep -oE '^  --[a-z-]+ .*; repeatable$' | awk '{ print $1 }' | sort)" \
		"$(sed -n '/^; options$/,/^; end$/p' "$RF_TOP/docs/ringfence.1.scd" |
			awk '/^\*--/ { name = $1 } /Repeatable\./ { gsub(/\*/, "", name); print name }' | sort)"
	expect_eq "$("$RF" bwrap --rf-help | grep -c '; repeatable$')" 2
}

# The keys, their options, their types and what they mean stand in one table.
needs test_manpages_a14_have_the_table_of_keys host
test_manpages_a14_have_the_table_of_keys()
{
	local page tool
	tool=$(dirname "$RF")/tools/schema
	"$tool" json | diff "$RF_TOP/docs/ringfence-policy.schema.json" -
	for page in ringfence.1 ringfence-policy.5; do
		"$tool" page "$RF_TOP/docs/$page.scd" | diff "$RF_TOP/docs/$page.scd" -
		grep -q '^; \(keys .*\|options\)$' "$RF_TOP/docs/$page.scd"
	done
	expect_eq "$(jq -r '.properties | to_entries[] | .key as $k | .value.properties // {"": 0} | keys[] |
		if . == "" then $k else . end' "$RF_TOP/docs/ringfence-policy.schema.json" | sort)" \
		"$(sed -n '/^; keys/,/^; end/s/^\*\([a-z_]*\)\*: .*/\1/p' \
			"$RF_TOP/docs/ringfence-policy.5.scd" | sort)"
}

needs test_manpages_explain_every_command host
test_manpages_explain_every_command()
{
	local listed
	listed=$("$RF" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort)
	[[ -n $listed ]]
	expect_eq "$(sed -n '/^# SYNOPSIS/,/^# DESCRIPTION/s/^\*ringfence \([a-z]*\)\*.*/\1/p' \
		"$RF_TOP/docs/ringfence.1.scd" | sort -u)" "$listed"
}

needs test_manpages_have_the_options_of_ringfenced host
test_manpages_have_the_options_of_ringfenced()
{
	expect_eq "$(page_options ringfenced.8 '# OPTIONS')" \
		"$(help_options "$(dirname "$RF")/ringfenced")"
}

# A code is the first or second argument of what fills a diagnosis.
needs test_manpages_list_every_refusal_code host
test_manpages_list_every_refusal_code()
{
	local code listed
	listed=$(sed -n '/^# REFUSALS/,/^# ENVIRONMENT/s/^\*\([a-z0-9-]*\)\*$/\1/p' \
		"$RF_TOP/docs/ringfence.1.scd")
	expect_eq "$(sort <<<"$listed")" "$(sort -u <<<"$listed")"
	find "$RF_TOP/userspace" -name '*.c' -exec cat {} + | tr '\n' ' ' |
		grep -oE '(rf_diag_refuse|fail_setup)\([^",;]+,\s*"[a-z0-9-]+"' |
		grep -oE '"[a-z0-9-]+"' | tr -d '"' | sort -u >codes
	[[ $(wc -l <codes) -gt 20 ]]
	while read -r code; do
		grep -qx -- "$code" <<<"$listed" || fail "ringfence.1 does not list $code"
	done <codes
}

# ---- What a reader sees ----

# render PAGE: its text as man(1) shows it, a paragraph a line.
render()
{
	scdoc <"$RF_TOP/docs/$1.scd" | groff -Kutf8 -Tutf8 -man -rLL=2000n -rHY=0 -P-cbou
}

# blocks PAGE: the literal blocks of a page, unescaped, each behind a line "%".
blocks()
{
	# shellcheck disable=SC2016 # backquotes of the page
	sed -n '/^```$/,/^```$/p' "$RF_TOP/docs/$1.scd" |
		awk '/^```$/ { if (n++ % 2 == 0) print "%"; next } { gsub(/\\\\/, "\\"); print }'
}

# pages: their names.
pages()
{
	(cd "$RF_TOP/docs" && printf '%s\n' *.scd | sed 's/\.scd$//')
}

needs test_manpages_lose_no_character_to_the_markup host command:scdoc command:groff
test_manpages_lose_no_character_to_the_markup()
{
	local page name
	for page in $(pages); do
		render "$page" >shown
		expect_eq "$(grep -nE '(^|[ (,])_[A-Za-z]|[A-Za-z]_([ ,.;)]|$)' shown || true)" ""
		# What has an underline inside, without the stars of the markup.
		sed 's/\\\*/\x01/g; s/\*/ /g; s/\x01/*/g; s/\\\(.\)/\1/g' "$RF_TOP/docs/$page.scd" |
			grep -oE '[A-Za-z0-9]+(_[A-Za-z0-9*]+)+' | sort -u >names || true
		while read -r name; do
			grep -qF -- "$name" shown || fail "$page does not show $name"
		done <names
		blocks "$page" | tr -s '\t ' ' ' >wanted
		tr -s '\t ' ' ' <shown >squeezed
		while read -r name; do
			[[ $name == % ]] || grep -qF -- "$name" squeezed ||
				fail "$page does not show: $name"
		done <wanted
	done
}

needs test_manpages_show_keys_options_and_variables_as_they_are_typed host command:scdoc command:groff
test_manpages_show_keys_options_and_variables_as_they_are_typed()
{
	local name page
	render ringfence-policy.5 >policy
	jq -r '.properties | to_entries[] | .key as $k | .value.properties // {"": 0} | keys[] |
		if . == "" then $k else . end' "$RF_TOP/docs/ringfence-policy.schema.json" >keys
	while read -r name; do
		grep -qE "^ +$name: " policy || fail "ringfence-policy.5 does not show the key $name"
	done <keys
	for name in $(sed -n '/^static const char \*const allowed/,/;/p' \
		"$RF_TOP/userspace/policy/plan_environment.c" | grep -oE '"[A-Z_]+"' | tr -d '"') \
		'LC_*' HOME TMPDIR 'XDG_*_HOME' PWD; do
		grep -qE "^ +The command sees.* ${name//\*/\\*}[ .]" policy ||
			fail "ringfence-policy.5 does not show the variable $name"
	done
	for page in ringfence.1:run ringfence-bwrap.1:bwrap; do
		render "${page%:*}" >shown
		"$RF" "${page#*:}" "$([[ $page == *bwrap ]] && echo --rf-help || echo --help)" |
			grep -oE '^  --[a-z-]+' | sort -u >options
		[[ $(wc -l <options) -gt 10 ]]
		while read -r name; do
			grep -qE "^ +$name( |$)" shown || fail "$page does not show $name"
		done <options
	done
}

# run_blocks PAGE: each of its literal blocks as a script, in the order of the page.
run_blocks()
{
	# shellcheck disable=SC2016 # backquotes of the page
	local block
	blocks "$1" | csplit -sz -n 2 -f block. - '/^%$/' '{*}'
	for block in block.*; do
		sed -i '/^%$/d' "$block"
		[[ -s $block ]] || fail "$1 has an empty block"
		bash -eu "$block" </dev/null >"out.$block" 2>"err.$block" ||
			fail "$1: $(cat "$block") ends with $?: $(cat "err.$block")"
	done
}

# A reader's project: what the examples name is there.
make_project()
{
	mkdir -p project/src project/build/gone bin
	printf 'test:\n\t@echo tested\nall:\n\t@echo made\n' >project/Makefile
	printf 'int x;\n' >project/src/x.c
	ln -s "$RF" bin/ringfence
	ln -s "$RF" bin/bwrap
	PATH=$PWD/bin:$PATH
	cd project || return
}

needs test_manpages_have_examples_that_run host command:make
test_manpages_have_examples_that_run()
{
	local page
	make_project
	for page in ringfence.1 ringfence-fs.1 ringfence-bwrap.1 ringfence-events.5; do
		rm -f block.* out.block.*
		run_blocks "$page"
		[[ $(wc -l < <(cat out.block.*)) -gt 0 ]] || fail "the examples of $page say nothing"
	done
	expect_json result.json .reason exit
	expect_eq "$(cat note)" hello
	# Those of the other pages are run where the library and the policies are tested.
	expect_eq "$(grep -lE '^# EXAMPLES?$' "$RF_TOP"/docs/*.scd | xargs -n1 basename | sort)" \
		"$(printf 'ringfence%s.scd\n' -bwrap.1 -events.5 -fs.1 -policy.5 .1 .3 | sort)"
}

needs test_manpages_have_policies_that_a_plan_takes host command:make
test_manpages_have_policies_that_a_plan_takes()
{
	local block n=0
	make_project
	mkdir include src/secrets
	sed -n '/^# EXAMPLE$/,/^# REFUSALS/p' "$RF_TOP/docs/ringfence-policy.5.scd" |
		awk '/^```$/ { n++; next } n % 2 { print > ("../policy." n) }'
	for block in ../policy.*; do
		ringfence plan --json --policy "$block" -- true >../plan
		expect_json ../plan .network.posture none
		n=$((n + 1))
	done
	expect_eq "$n" 2
}
