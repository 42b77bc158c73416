/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The compiled glob against a naive one that follows the words of E6 by recursion, over random
 * patterns and paths from a small alphabet.
 */

#include "fs/glob.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/strv.h"

#define ROUNDS 150000
#define PARTS_MAX 32

static uint64_t seed;

static unsigned int below(unsigned int n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(seed >> 33) % n;
}

struct parts {
	char text[512];
	const char *items[PARTS_MAX];
	size_t n;
	bool has_last_slash;
};

static void split(const char *text, struct parts *ret_parts)
{
	char *rest = ret_parts->text;
	const char *item;
	size_t size = strlen(text);

	snprintf(ret_parts->text, sizeof(ret_parts->text), "%s", text);
	ret_parts->n = 0;
	ret_parts->has_last_slash = size > 0 && text[size - 1] == '/';
	while ((item = strsep(&rest, "/"))) {
		if (*item)
			ret_parts->items[ret_parts->n++] = item;
	}
}

/* ---- the naive matcher ------------------------------------------------------------------------
 */

/* The set at *pattern; false: it is not closed, so "[" is a literal. */
static bool set_takes(const char **pattern, char c, bool *ret_takes)
{
	const char *p = *pattern + 1;
	bool is_negated = *p == '!' || *p == '^';
	bool takes = false;
	const char *first;

	if (is_negated)
		p++;
	first = p;
	if (!*p || !strchr(p + 1, ']'))
		return false;
	for (; *p != ']' || p == first; p++) {
		if (p[1] == '-' && p[2] != ']') {
			takes = takes || (c >= p[0] && c <= p[2]);
			p += 2;
		} else {
			takes = takes || c == *p;
		}
	}
	*pattern = p + 1;
	*ret_takes = takes != is_negated;
	return true;
}

static bool name_matches(const char *pattern, const char *name)
{
	bool takes = false;

	if (!*pattern)
		return !*name;
	if (*pattern == '*')
		return name_matches(pattern + 1, name) ||
		       (*name && name_matches(pattern, name + 1));
	if (!*name)
		return false;
	if (*pattern == '[' && set_takes(&pattern, *name, &takes))
		return takes && name_matches(pattern, name + 1);
	return (*pattern == '?' || *pattern == *name) && name_matches(pattern + 1, name + 1);
}

static bool segment_matches(const char *segment, const char *name)
{
	bool spells_dot = segment[0] == '.' || strncmp(segment, "[.]", 3) == 0;

	return (name[0] != '.' || spells_dot) && name_matches(segment, name);
}

/* "[x]" is x. */
static bool is_literal(const char *segment)
{
	while (*segment) {
		const char *at = segment;
		bool takes;

		if (*segment == '*' || *segment == '?')
			return false;
		if (*segment != '[' || !set_takes(&at, 'x', &takes)) {
			segment++;
			continue;
		}
		if (at - segment != 3)
			return false;
		segment = at;
	}
	return true;
}

static bool is_self(const char *segment)
{
	return strcmp(segment, ".") == 0 || strcmp(segment, "[.]") == 0;
}

struct question {
	struct parts pattern;
	struct parts path;
	bool is_directory;
	bool is_exclusion;
};

static bool is_after_literals(const struct question *q, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(q->pattern.items[i], "**") == 0 || !is_literal(q->pattern.items[i]))
			return false;
	}
	return true;
}

/* What is left of the pattern at i names the path that ends here. */
static bool is_anchor(const struct question *q, size_t i)
{
	if (i + 1 != q->pattern.n)
		return false;
	if (strcmp(q->pattern.items[i], "**") == 0) {
		if (q->is_exclusion)
			return false;
	} else if (!is_self(q->pattern.items[i]) ||
		   (i > 0 && strcmp(q->pattern.items[i - 1], "**") == 0)) {
		return false;
	}
	return q->is_directory || (is_after_literals(q, i) && !q->pattern.has_last_slash);
}

static bool rest_matches(const struct question *q, size_t i, size_t j)
{
	const struct parts *pattern = &q->pattern;

	if (i == pattern->n)
		return j == q->path.n && (q->is_directory || !pattern->has_last_slash);
	if (j == q->path.n)
		return is_anchor(q, i);
	if (strcmp(pattern->items[i], "**") == 0) {
		bool is_dir = j + 1 < q->path.n || q->is_directory;

		if (i + 1 < pattern->n && rest_matches(q, i + 1, j))
			return true;
		if (q->path.items[j][0] == '.')
			return false;
		if (i + 1 == pattern->n && j + 1 == q->path.n)
			return is_dir || !pattern->has_last_slash;
		return rest_matches(q, i, j + 1);
	}
	if (strcmp(pattern->items[i], ".") == 0 && i + 1 < pattern->n)
		return rest_matches(q, i + 1, j);
	return !is_self(pattern->items[i]) &&
	       segment_matches(pattern->items[i], q->path.items[j]) &&
	       rest_matches(q, i + 1, j + 1);
}

static void drop_backslashes(const char *text, char *ret_text)
{
	for (; *text; text++) {
		if (*text != '\\')
			*ret_text++ = *text;
	}
	*ret_text = '\0';
}

/* One text without braces. "**" after "**" and dots in the middle are written out first. */
static bool one_matches(const char *pattern, const char *path, bool is_directory, bool is_exclusion)
{
	static struct question q;
	char plain[512];
	size_t n = 0;

	if (pattern[0] != '/' && strchr(pattern, '\\'))
		return false;
	drop_backslashes(pattern, plain);
	pattern = plain;
	q = (struct question){.is_directory = is_directory, .is_exclusion = is_exclusion};
	split(pattern, &q.pattern);
	for (size_t i = 0; i < q.pattern.n; i++) {
		const char *item = q.pattern.items[i];

		if (strcmp(item, ".") == 0 && i + 1 < q.pattern.n)
			continue;
		if (n > 0 && strcmp(item, "**") == 0 && strcmp(q.pattern.items[n - 1], "**") == 0)
			continue;
		q.pattern.items[n++] = item;
	}
	q.pattern.n = n;
	split(strcmp(path, ".") == 0 ? "" : path, &q.path);
	return rest_matches(&q, 0, 0);
}

/* Expands the first group that has a comma, then the rest by recursion. */
static bool braces_match(
	const char *pattern, const char *path, bool is_directory, bool is_exclusion)
{
	for (const char *open = strchr(pattern, '{'); open; open = strchr(open + 1, '{')) {
		const char *commas[16];
		const char *close = NULL;
		size_t n = 0;
		int depth = 0;
		bool is_found = false;

		for (const char *p = open; *p && !close; p++) {
			depth += *p == '{';
			depth -= *p == '}';
			if (*p == ',' && depth == 1)
				commas[n++] = p;
			if (depth == 0)
				close = p;
		}
		if (!close || n == 0)
			continue;
		commas[n++] = close;
		for (size_t i = 0; i < n && !is_found; i++) {
			const char *from = i ? commas[i - 1] + 1 : open + 1;
			char text[512];

			snprintf(text, sizeof(text), "%.*s%.*s%s", (int)(open - pattern), pattern,
				(int)(commas[i] - from), from, close + 1);
			is_found = braces_match(text, path, is_directory, is_exclusion);
		}
		return is_found;
	}
	return *pattern && one_matches(pattern, path, is_directory, is_exclusion);
}

static bool is_pruned(const char *exclusion, const char *path, bool is_directory)
{
	char plain[128];
	char part[128];

	drop_backslashes(exclusion, plain);
	if (braces_match(plain, ".", true, true))
		return true;
	for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(p - path), path);
		if (braces_match(plain, part, true, true))
			return true;
	}
	return braces_match(plain, path, is_directory, true);
}

/* ---- random texts -----------------------------------------------------------------------------
 */

static void make_pattern(char *ret_text, size_t size)
{
	static const char *const pieces[] = {"a", "b", ".", "*", "?", "/", "/", "**/", "/**",
		"[ab]", "[!a]", "[.]", "{a,b}", "{a/,}", "{.a,*}", "[a-c]", "[", "a*b", "./", "\\",
		"{", ",", "}"};
	unsigned int n = 1 + below(6);

	ret_text[0] = '\0';
	for (unsigned int i = 0; i < n; i++) {
		/* The rarer ones rarely. */
		unsigned int at = below(20);

		if (at == 19)
			at += below(RF_ARRAY_SIZE(pieces) - 19);
		strncat(ret_text, pieces[at], size - strlen(ret_text) - 1);
	}
}

static void make_path(char *ret_text, size_t size)
{
	static const char *const names[] = {
		"a", "b", "ab", "aab", ".a", ".", "c", "abab", "[", "a[b"};
	unsigned int n = below(5);

	snprintf(ret_text, size, "%s", n == 0 ? "." : "");
	for (unsigned int i = 0; i < n; i++) {
		const char *name = names[below(RF_ARRAY_SIZE(names))];

		if (strcmp(name, ".") == 0)
			name = ".b";
		if (i)
			strncat(ret_text, "/", size - strlen(ret_text) - 1);
		strncat(ret_text, name, size - strlen(ret_text) - 1);
	}
}

static void one_round(size_t *n_matches)
{
	char pattern[64];
	char exclusion[64];
	char path[64];
	const char *texts[] = {pattern, exclusion};
	/* So that absolute ones say the same as relative ones. */
	const char *root = "/";
	bool has_exclusion = below(3) == 0;
	struct rf_glob *glob rf_autoglob = NULL;
	struct rf_glob_error error = {0};
	bool is_directory, is_match = false, expected;
	struct rf_glob_source source;
	int r;

	make_pattern(pattern, sizeof(pattern));
	make_pattern(exclusion, sizeof(exclusion));
	make_path(path, sizeof(path));
	is_directory = strcmp(path, ".") == 0 || below(2);
	source = (struct rf_glob_source){texts, 1, texts + 1, has_exclusion, &root, 1};
	r = rf_glob_new(&glob, &source, &error);
	cr_assert_geq(r, 0);
	if (r == RF_REFUSED)
		return;
	cr_assert_eq(rf_glob_match(glob, path, is_directory, &is_match), 0);
	expected = braces_match(pattern, path, is_directory, false) &&
		   !(has_exclusion && is_pruned(exclusion, path, is_directory));
	*n_matches += expected;
	cr_assert_eq(is_match, expected, "'%s' without '%s' on '%s'%s: %d", pattern,
		has_exclusion ? exclusion : "(nothing)", path, is_directory ? " (directory)" : "",
		is_match);
}

Test(glob_naive, random_patterns_agree, .timeout = 60)
{
	size_t n_matches = 0;

	seed = 1;
	for (int i = 0; i < ROUNDS; i++)
		one_round(&n_matches);
	/* Not a test of nothing. */
	cr_expect_gt(n_matches, ROUNDS / 100);
}
