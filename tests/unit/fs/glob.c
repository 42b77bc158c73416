/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* E6, a table for each rule. A path that ends in a slash is a directory. */

#include "fs/glob.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ROOT "/srv/tree"
#define ALIAS "/home/u/link"

struct given {
	const char *pattern;
	const char *exclusion;
	const char *path;
	bool is_match;
};

static int compile(const char *pattern, const char *exclusion, struct rf_glob **ret_glob,
	struct rf_glob_error *ret_error)
{
	static const char *const roots[] = {ROOT, ALIAS};
	const struct rf_glob_source source = {
		.patterns = &pattern,
		.n_patterns = 1,
		.exclusions = &exclusion,
		.n_exclusions = exclusion ? 1 : 0,
		.roots = roots,
		.n_roots = 2,
	};

	return rf_glob_new(ret_glob, &source, ret_error);
}

static bool matches(const struct rf_glob *glob, const char *path)
{
	char text[4096];
	size_t size = strlen(path);
	bool is_directory = size > 0 && path[size - 1] == '/';
	bool is_match = false;

	snprintf(text, sizeof(text), "%.*s", (int)(is_directory ? size - 1 : size), path);
	cr_assert_eq(rf_glob_match(glob, text, is_directory, &is_match), 0);
	return is_match;
}

static void check(const struct given *given, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct rf_glob *glob rf_autoglob = NULL;
		struct rf_glob_error error = {0};
		int r = compile(given[i].pattern, given[i].exclusion, &glob, &error);

		cr_assert_eq(r, 0, "%s: %s", given[i].pattern, error.message);
		cr_expect_eq(matches(glob, given[i].path), given[i].is_match,
			"'%s' without '%s' on '%s' is not %d", given[i].pattern,
			given[i].exclusion ? given[i].exclusion : "", given[i].path,
			given[i].is_match);
	}
}

#define CHECK(table) check(table, RF_ARRAY_SIZE(table))

Test(glob, wildcards_match_within_a_segment)
{
	static const struct given table[] = {
		{"a", NULL, "a", true},
		{"a", NULL, "b", false},
		{"a", NULL, "a/b", false},
		{"*", NULL, "a", true},
		{"*", NULL, "a/b", false},
		{"*/*", NULL, "a/b", true},
		{"a*", NULL, "a", true},
		{"a*", NULL, "abc", true},
		{"*c", NULL, "abc", true},
		{"a*c", NULL, "ac", true},
		{"a*c", NULL, "abc/", true},
		{"a*a", NULL, "a", false},
		{"a*b*c", NULL, "axbxc", true},
		{"a*b*c", NULL, "axcxb", false},
		{"a**c", NULL, "abbc", true},
		{"a**c", NULL, "a/c", false},
		{"?", NULL, "a", true},
		{"?", NULL, "", false},
		{"?", NULL, "ab", false},
		{"?", NULL, "\xc3\xa9", true},
		{"??", NULL, "\xc3\xa9", false},
		{"?", NULL, "\xff", true},
		{"??", NULL, "\xff\xfe", true},
		{"a?c", NULL, "a/c", false},
		{"x(1)", NULL, "x(1)", true},
		{"a//b", NULL, "a/b", true},
		{"./a", NULL, "a", true},
		{"a/./b", NULL, "a/b", true},
	};

	CHECK(table);
}

Test(glob, sets_match_one_character)
{
	static const struct given table[] = {
		{"[ab]", NULL, "a", true},
		{"[ab]", NULL, "c", false},
		{"[ab]", NULL, "ab", false},
		{"[a-c]x", NULL, "bx", true},
		{"[a-c]x", NULL, "dx", false},
		{"[!a]", NULL, "a", false},
		{"[!a]", NULL, "b", true},
		{"[^a]", NULL, "a", false},
		{"[^a]", NULL, "b", true},
		{"[a^]", NULL, "^", true},
		{"[a!]", NULL, "!", true},
		{"[]]", NULL, "]", true},
		{"[]a]", NULL, "a", true},
		{"[!]a]", NULL, "]", false},
		{"[!]a]", NULL, "b", true},
		{"[-a]", NULL, "-", true},
		{"[a-]", NULL, "-", true},
		{"[a-c-e]", NULL, "-", true},
		{"[*]", NULL, "*", true},
		{"[*]", NULL, "a", false},
		{"[\xc3\xa9]", NULL, "\xc3\xa9", true},
		{"[\xc3\xa0-\xc3\xaf]", NULL, "\xc3\xa9", true},
		{"[a", NULL, "[a", true},
		{"a]", NULL, "a]", true},
		{"[a/b]", NULL, "a", false},
		{"[:x]", NULL, ":", true},
	};

	CHECK(table);
}

Test(glob, names_are_case_sensitive)
{
	static const struct given table[] = {
		{"readme", NULL, "README", false},
		{"*.C", NULL, "a.c", false},
		{"[a-z]", NULL, "B", false},
	};

	CHECK(table);
}

Test(glob, any_depth_is_a_whole_segment)
{
	static const struct given table[] = {
		{"**/x", NULL, "x", true},
		{"**/x", NULL, "a/x", true},
		{"**/x", NULL, "a/b/c/x", true},
		{"**/x", NULL, "a/b/y", false},
		{"a/**/x", NULL, "a/x", true},
		{"a/**/x", NULL, "a/b/c/x", true},
		{"a/**/x", NULL, "b/x", false},
		{"a/**/**/x", NULL, "a/x", true},
		{"**/a/**/b", NULL, "x/a/y/z/b", true},
		{"**/a/*/b", NULL, "a/a/x/b", true},
		{"**/a/*/b", NULL, "a/a/b", true},
		{"**/a/*/b", NULL, "a/x/y/b", false},
		{"**", NULL, "a/b", true},
		{"a/**", NULL, "a/b/c", true},
	};

	CHECK(table);
}

Test(glob, a_last_any_depth_names_its_anchor)
{
	static const struct given table[] = {
		{"**", NULL, "./", true},
		{"a/**", NULL, "a/", true},
		{"a/**", NULL, "a", true},
		{"a/b/**", NULL, "a/b", true},
		{"a/**", NULL, "b/", false},
		{"*/**", NULL, "a/", true},
		{"*/**", NULL, "a", false},
		{"*/b/**", NULL, "a/b/", true},
		{"*/b/**", NULL, "a/b", false},
		{"**/b/**", NULL, "b", false},
		{"**/b/**", NULL, "a/b/", true},
		{"a/**/", NULL, "a/", true},
		{"a/**/", NULL, "a", false},
		{"a/**/", NULL, "a/b/", true},
		{"a/**/", NULL, "a/b", false},
		{"[a]/**", NULL, "a", true},
	};

	CHECK(table);
}

Test(glob, a_last_dot_names_its_anchor)
{
	static const struct given table[] = {
		{"[.]", NULL, "./", true},
		{".", NULL, "./", true},
		{"./", NULL, "./", true},
		{"a/[.]", NULL, "a/", true},
		{"a/[.]", NULL, "a", true},
		{"a/.", NULL, "a/", true},
		{"a/[.]", NULL, "a/b", false},
		{"*/[.]", NULL, "a/", true},
		{"*/[.]", NULL, "a", false},
		{"a/[.]/", NULL, "a", false},
		{"**/[.]", NULL, "./", false},
		{"**/[.]", NULL, "a/", false},
		{"**/[.]", NULL, "a/b/", false},
		{"a/**/[.]", NULL, "a/", false},
		{"**/*/[.]", NULL, "a/b/", true},
		{"a/[.]/b", NULL, "a/b", false},
	};

	CHECK(table);
}

Test(glob, braces_are_written_out_first)
{
	static const struct given table[] = {
		{"{a,b}", NULL, "a", true},
		{"{a,b}", NULL, "b", true},
		{"{a,b}", NULL, "c", false},
		{"x{,y}z", NULL, "xz", true},
		{"x{,y}z", NULL, "xyz", true},
		{"{a,b/c}/d", NULL, "b/c/d", true},
		{"{a,{b,c}d}", NULL, "cd", true},
		{"{a,{b,c}d}", NULL, "c", false},
		{"{{a,b}}", NULL, "{b}", true},
		{"{a}", NULL, "{a}", true},
		{"{a,b", NULL, "{a,b", true},
		{"a,b}", NULL, "a,b}", true},
		{"{a,b}{c,d}", NULL, "bc", true},
		{"*.{c,h}", NULL, "x.h", true},
		{"{,a}", NULL, "a", true},
		{"{**,x}/y", NULL, "a/b/y", true},
		{"[{a,b}]", NULL, "b", true},
	};

	CHECK(table);
}

Test(glob, a_last_slash_asks_for_a_directory)
{
	static const struct given table[] = {
		{"a/", NULL, "a/", true},
		{"a/", NULL, "a", false},
		{"*/", NULL, "a/", true},
		{"*/", NULL, "a", false},
		{"**/", NULL, "./", true},
		{"**/", NULL, "a/b/", true},
		{"**/", NULL, "a/b", false},
	};

	CHECK(table);
}

Test(glob, hidden_names_must_be_spelled)
{
	static const struct given table[] = {
		{"*", NULL, ".a", false},
		{"?a", NULL, ".a", false},
		{"[.a]a", NULL, ".a", false},
		{"[!b]a", NULL, ".a", false},
		{".*", NULL, ".a", true},
		{".?", NULL, ".a", true},
		{"[.]*", NULL, ".a", true},
		{"{.,}*", NULL, ".a", true},
		{"*.a", NULL, ".a", false},
		{"**", NULL, ".a", false},
		{"**", NULL, "b/.a", false},
		{"**/.a", NULL, "b/.a", true},
		{"**/x", NULL, ".h/x", false},
		{"**/x", NULL, "a/.h/x", false},
		{"**/x", NULL, ".h/a/x", false},
		{".h/**/x", NULL, ".h/a/x", true},
		{".h/**", NULL, ".h/", true},
		{".h/**", NULL, ".h/.i", false},
		{"**/.h/x", NULL, "a/.h/x", true},
		{"**/.*/**", NULL, "a/.h/b/c", true},
		{"*", NULL, "a.b", true},
		{"a*", NULL, "a.b", true},
	};

	CHECK(table);
}

Test(glob, exclusions_prune)
{
	static const struct given table[] = {
		{"**", "a", "a/", false},
		{"**", "a", "a/b/c", false},
		{"**", "a", "b/a", true},
		{"**", "**/a", "b/a/", false},
		{"**", "**/a", "b/a/c", false},
		{"**", "a/", "a", true},
		{"**", "a/", "a/", false},
		{"**", "a/", "a/b", false},
		{"**", "*.o", "x.o", false},
		{"**", "*.o", "d/x.o", true},
		{"**", "{a,b}", "b/x", false},
		{".x", "*", ".x", true},
		{"**", "a/**", "a/", true},
		{"**", "a/**", "a/b", false},
		{"**", "a/**", "a/b/c", false},
		{"**", "**", "./", true},
		{"**", "**", "a", false},
		{"**", "a/**/", "a/", true},
		{"**", "a/**/", "a/b/", false},
		{"**", "a/**/", "a/b", true},
		{"**", "a/**/", "a/b/c", false},
		{"**", "**/", "./", true},
		{"**", "**/", "a/", false},
		{"**", "**/", "a", true},
		{"**", "a/[.]", "a/", false},
		{"**", "a/[.]", "a/b", false},
		{"**", ".", "a", false},
		{"**", ".", "./", false},
	};

	CHECK(table);
}

Test(glob, absolute_ones_are_rebased_on_either_spelling)
{
	static const struct given table[] = {
		{ROOT "/a/*", NULL, "a/b", true},
		{ALIAS "/a/*", NULL, "a/b", true},
		{"/srv//tree/./a", NULL, "a", true},
		{ROOT, NULL, "./", true},
		{ROOT "/", NULL, "./", true},
		{ROOT, NULL, "a", false},
		{ROOT "/**", NULL, "a/b", true},
		{"/srv/*/a", NULL, "a", true},
		{"/**/a", NULL, "b/a", true},
		{"**", ROOT "/a", "a/b", false},
		{"**", ALIAS "/a", "a", false},
		{"**", ROOT "/a", "b/a", true},
		{"**", ROOT, "a", false},
		{"**", ROOT, "./", false},
		{"**", ROOT "/", "a", false},
		{"**", "/srv", "a", false},
		{"**", "/", "a", false},
		{"**", "/srv/**", "a", false},
		{"**", ROOT "/**", "./", true},
		{"**", ROOT "/**", "a", false},
		{"**", "/a", "a", true},
		{"**", "/srv/other", "a", true},
		{"**", "/**/node", "x/node/y", false},
	};

	CHECK(table);
}

Test(glob, backslashes_are_dropped_or_match_nothing)
{
	static const struct given table[] = {
		{"a\\b", NULL, "a\\b", false},
		{"a\\b", NULL, "ab", false},
		{"\\*", NULL, "*", false},
		{"{a,b\\c}", NULL, "a", true},
		{"{a,b\\c}", NULL, "bc", false},
		{ROOT "/a\\b", NULL, "ab", true},
		{ROOT "/\\*", NULL, "x", true},
		{"**", "a\\b", "ab", false},
		{"**", "a\\*", "abc", false},
		{"**", "\\" ROOT "/a", "a", false},
	};

	CHECK(table);
}

struct refusal {
	const char *pattern;
	const char *exclusion;
	enum rf_fs_code code;
};

Test(glob, what_is_not_supported_is_refused_before_the_walk)
{
	static const struct refusal table[] = {
		{"@(a|b)", NULL, RF_FS_CODE_UNSUPPORTED},
		{"!(a)", NULL, RF_FS_CODE_UNSUPPORTED},
		{"x?(a)", NULL, RF_FS_CODE_UNSUPPORTED},
		{"*(a)", NULL, RF_FS_CODE_UNSUPPORTED},
		{"b/+(a)", NULL, RF_FS_CODE_UNSUPPORTED},
		{"{x,+(a)}", NULL, RF_FS_CODE_UNSUPPORTED},
		{"[[:alpha:]]", NULL, RF_FS_CODE_UNSUPPORTED},
		{"[![:alpha:]x]", NULL, RF_FS_CODE_UNSUPPORTED},
		{"[:alpha:]", NULL, RF_FS_CODE_UNSUPPORTED},
		{"[[=a=]]", NULL, RF_FS_CODE_UNSUPPORTED},
		{"[[.a.]]", NULL, RF_FS_CODE_UNSUPPORTED},
		{"{1..3}", NULL, RF_FS_CODE_UNSUPPORTED},
		{"{a,../b}", NULL, RF_FS_CODE_UNSUPPORTED},
		{"{a,{b,c..d}}", NULL, RF_FS_CODE_UNSUPPORTED},
		{"a\\{1..3}", NULL, RF_FS_CODE_UNSUPPORTED},
		{"..", NULL, RF_FS_CODE_ESCAPE},
		{"../a", NULL, RF_FS_CODE_ESCAPE},
		{"a/../b", NULL, RF_FS_CODE_ESCAPE},
		{"[.][.]/b", NULL, RF_FS_CODE_ESCAPE},
		{ROOT "/../x", NULL, RF_FS_CODE_ESCAPE},
		{"/etc/*", NULL, RF_FS_CODE_ESCAPE},
		{"/srv/treetop/*", NULL, RF_FS_CODE_ESCAPE},
		{"/", NULL, RF_FS_CODE_ESCAPE},
		{"{,x}/etc", NULL, RF_FS_CODE_ESCAPE},
		{"", NULL, RF_FS_CODE_MALFORMED},
		{"{,}", NULL, RF_FS_CODE_MALFORMED},
		{"[z-a]", NULL, RF_FS_CODE_MALFORMED},
		{"**", "@(a)", RF_FS_CODE_UNSUPPORTED},
		{"**", "[[:digit:]]", RF_FS_CODE_UNSUPPORTED},
		{"**", "{1..2}", RF_FS_CODE_UNSUPPORTED},
		{"**", "../x", RF_FS_CODE_ESCAPE},
		{"**", ".\\./x", RF_FS_CODE_ESCAPE},
		{"**", "", RF_FS_CODE_MALFORMED},
		{"**", "\\", RF_FS_CODE_MALFORMED},
	};

	for (size_t i = 0; i < RF_ARRAY_SIZE(table); i++) {
		struct rf_glob *glob rf_autoglob = NULL;
		struct rf_glob_error error = {0};
		int r = compile(table[i].pattern, table[i].exclusion, &glob, &error);

		cr_expect_eq(r, RF_REFUSED, "%s", table[i].pattern);
		cr_expect_eq(error.code, table[i].code, "%s: %s", table[i].pattern, error.message);
		cr_expect_null(glob);
		cr_expect_str_eq(
			error.pattern, table[i].exclusion ? table[i].exclusion : table[i].pattern);
	}
}

static int compile_one(const char *pattern, enum rf_fs_code *ret_code)
{
	struct rf_glob *glob rf_autoglob = NULL;
	struct rf_glob_error error = {0};
	int r = compile(pattern, NULL, &glob, &error);

	*ret_code = error.code;
	return r;
}

Test(glob, ceilings_hold)
{
	static char text[RF_FS_PATTERN_BYTES + 2];
	enum rf_fs_code code = RF_FS_CODE_NONE;

	memset(text, 'a', RF_FS_PATTERN_BYTES);
	cr_expect_eq(compile_one(text, &code), 0);
	text[RF_FS_PATTERN_BYTES] = 'a';
	cr_expect_eq(compile_one(text, &code), RF_REFUSED);
	cr_expect_eq(code, RF_FS_CODE_LIMIT);
	cr_expect_eq(compile_one("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", &code), 0);
	cr_expect_eq(compile_one("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{,x}", &code), RF_REFUSED);
	cr_expect_eq(code, RF_FS_CODE_LIMIT);
	memset(text, ',', 4000);
	text[0] = '{';
	text[4000] = '}';
	text[4001] = '\0';
	cr_expect_eq(compile_one(text, &code), RF_REFUSED);
	cr_expect_eq(code, RF_FS_CODE_LIMIT);
	memset(text, '{', 4000);
	text[4000] = '\0';
	cr_expect_eq(compile_one(text, &code), 0);
}

/* 2^200 ways for a matcher that tries one after the other. */
Test(glob, matching_never_backtracks, .timeout = 5)
{
	struct rf_glob *glob rf_autoglob = NULL;
	struct rf_glob *deep rf_autoglob = NULL;
	struct rf_glob_error error = {0};
	char pattern[1024] = "";
	char name[256];
	char path[1024] = "";

	for (int i = 0; i < 100; i++)
		strncat(pattern, "*a", sizeof(pattern) - strlen(pattern) - 1);
	strncat(pattern, "?b", sizeof(pattern) - strlen(pattern) - 1);
	memset(name, 'a', 255);
	name[255] = '\0';
	cr_assert_eq(compile(pattern, NULL, &glob, &error), 0);
	cr_expect_not(matches(glob, name));
	name[254] = 'b';
	cr_expect(matches(glob, name));

	pattern[0] = '\0';
	for (int i = 0; i < 100; i++) {
		strncat(pattern, "**/a/", sizeof(pattern) - strlen(pattern) - 1);
		strncat(path, "a/a/", sizeof(path) - strlen(path) - 1);
	}
	strncat(pattern, "b", sizeof(pattern) - strlen(pattern) - 1);
	cr_assert_eq(compile(pattern, NULL, &deep, &error), 0);
	cr_expect_not(matches(deep, path));
	strncat(path, "b", sizeof(path) - strlen(path) - 1);
	cr_expect(matches(deep, path));
}

Test(glob, a_literal_directory_need_not_be_read)
{
	struct rf_glob *glob rf_autoglob = NULL;
	struct rf_glob_error error = {0};
	const char *names[4] = {NULL};
	uint64_t states[2][4] = {{0}};
	size_t n_names = 0;

	cr_assert_eq(compile("{src/*.c,src/b,docs/x}", NULL, &glob, &error), 0);
	cr_assert_leq(rf_glob_state_words(glob), 4);
	rf_glob_start(glob, states[0]);
	cr_assert_eq(rf_glob_next_names(glob, states[0], names, 4, &n_names), 0);
	cr_assert_eq(n_names, 2);
	cr_expect_str_eq(names[0], "src");
	cr_expect_str_eq(names[1], "docs");
	cr_expect(rf_glob_step(glob, states[0], "src", true, states[1]).has_more);
	cr_expect_eq(rf_glob_next_names(glob, states[1], names, 4, &n_names), RF_GLOB_READ_ALL);
	cr_expect_not(rf_glob_step(glob, states[0], "lib", true, states[1]).has_more);
	cr_expect_not(rf_glob_step(glob, states[0], "src", false, states[1]).has_more);
	cr_expect_eq(rf_glob_next_names(glob, states[0], names, 1, &n_names), RF_GLOB_READ_ALL);
}
