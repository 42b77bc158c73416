# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Reads lines of column, test, status, seconds and reason, prints a row for each test and then each
# result that the file `expected` does not expect. Exits 1 if there is any.
#
# Variables: columns (names with blanks between), expected (path), filter (the one that the tests
# were chosen with: under any but * a line of `expected` may fit nothing).

function pattern_of(glob)
{
	gsub(/[.+()\[\]{}^$|]/, "\\\\&", glob)
	gsub(/\*/, ".*", glob)
	return "^" glob "$"
}

function complain(text)
{
	problem[++problems] = text
}

function read_expected(   line, part)
{
	while ((getline line < expected) > 0) {
		if (line ~ /^(#|$)/)
			continue
		if (split(line, part, "\t") < 3 || part[3] !~ /^(ok|skip|FAIL)$/) {
			complain("expected.tsv: not TEST<tab>COLUMN<tab>STATUS: " line)
			continue
		}
		rule_text[++rules] = line
		sub(/^test_/, "", part[1])
		rule_name[rules] = pattern_of(part[1])
		rule_column[rules] = part[2] == "*" ? "" : "," part[2] ","
		rule_status[rules] = part[3]
	}
}

# The last line that fits decides, so that the file can go from the general to the special.
function expectation(name, where,   i, wanted)
{
	wanted = "ok"
	for (i = 1; i <= rules; i++)
		if (name ~ rule_name[i] && (rule_column[i] == "" || index(rule_column[i], "," where ","))) {
			wanted = rule_status[i]
			is_used[i] = 1
		}
	return wanted
}

# What the harness adds on a failure alone is not missed elsewhere.
function judged(name, where,   got, wanted, why)
{
	if (!((name, where) in status) && name ~ /^(guest_ended_well|no_bpf_program_left)/)
		return "-"
	got = (name, where) in status ? status[name, where] : "lost"
	wanted = expectation(name, where)
	why = reason[name, where] == "" ? "" : " (" reason[name, where] ")"
	if (got != wanted)
		complain(name " on " where ": " got ", expected " wanted why)
	return got
}

BEGIN {
	FS = "\t"
	count = split(columns, column, " ")
	read_expected()
}

{
	name = $2
	sub(/^test_/, "", name)
	status[name, $1] = $3
	reason[name, $1] = $5
	has_results[$1] = 1
	if (!(name in is_seen)) {
		is_seen[name] = 1
		order[++total] = name
	}
}

END {
	for (c = 1; c <= count; c++)
		if (!(column[c] in has_results))
			complain(column[c] ": no results at all")
	if (total == 0)
		complain("no test ran")
	printf "%-72s", "test"
	for (c = 1; c <= count; c++)
		printf " %-5s", column[c]
	print ""
	for (i = 1; i <= total; i++) {
		printf "%-72s", order[i]
		for (c = 1; c <= count; c++)
			printf " %-5s", judged(order[i], column[c])
		print ""
	}
	for (i = 1; i <= rules && filter == "*"; i++)
		if (!(i in is_used))
			complain("expected.tsv: no test fits: " rule_text[i])
	print ""
	for (i = 1; i <= problems; i++)
		print "unexpected: " problem[i]
	printf "matrix: %d tests, %d results not as expected\n", total, problems
	exit problems > 0
}
