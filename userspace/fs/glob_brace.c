/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Braces, written out. One pass with a stack finds which brace closes which; then texts are taken
 * from a list, their first group is replaced by each of its members, and the results go back to
 * where it was. Every replacement adds at least one text, so the ceiling on texts bounds the work.
 */

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "fs/glob_parts.h"

struct braces {
	/* Where the brace that opens here closes; 0: nowhere. */
	uint16_t *closes;
	/* It has a comma of its own. */
	bool *has_comma;
	/* ".." stands inside, at any depth. */
	bool *has_dots;
};

static void braces_clear(struct braces *braces)
{
	free(braces->closes);
	free(braces->has_comma);
	free(braces->has_dots);
}

/* stack holds the positions of open braces. */
static void find_pairs(const char *text, size_t size, uint16_t *stack, struct braces *braces)
{
	size_t depth = 0;
	size_t last_dots = 0;
	bool seen_dots = false;

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '{') {
			stack[depth++] = (uint16_t)i;
		} else if (text[i] == '}' && depth > 0) {
			uint16_t open = stack[--depth];

			braces->closes[open] = (uint16_t)i;
			braces->has_dots[open] = seen_dots && last_dots > open;
		} else if (text[i] == ',' && depth > 0) {
			braces->has_comma[stack[depth - 1]] = true;
		} else if (text[i] == '.' && text[i + 1] == '.') {
			seen_dots = true;
			last_dots = i;
		}
	}
}

static int braces_find(const char *text, struct braces *ret_braces)
{
	size_t size = strlen(text);
	uint16_t *stack rf_autofree = calloc(size + 1, sizeof(*stack));

	ret_braces->closes = calloc(size + 1, sizeof(*ret_braces->closes));
	ret_braces->has_comma = calloc(size + 1, sizeof(*ret_braces->has_comma));
	ret_braces->has_dots = calloc(size + 1, sizeof(*ret_braces->has_dots));
	if (!stack || !ret_braces->closes || !ret_braces->has_comma || !ret_braces->has_dots)
		return -ENOMEM;
	find_pairs(text, size, stack, ret_braces);
	return 0;
}

/* The members of the group at open, each between what stands before and after the group. */
static int add_members(
	const char *text, size_t open, size_t close, size_t max, struct rf_strv *ret_texts)
{
	size_t from = open + 1;
	size_t depth = 0;

	for (size_t i = open + 1; i <= close; i++) {
		int r;

		if (text[i] == '{')
			depth++;
		if (i < close && text[i] == '}')
			depth--;
		if (depth > 0 || (text[i] != ',' && i != close))
			continue;
		/* One over the ceiling is enough to see it. */
		if (ret_texts->count > max)
			return 0;
		r = rf_strv_addf(ret_texts, "%.*s%.*s%s", (int)open, text, (int)(i - from),
			text + from, text + close + 1);
		if (r < 0)
			return r;
		from = i + 1;
	}
	return 0;
}

#define HAS_NO_GROUP 2
/* 0: ret_texts are the texts that stand for this one; HAS_NO_GROUP: it is written out;
 * RF_REFUSED. */
static int expand_first(
	const char *text, size_t max, struct rf_strv *ret_texts, struct rf_glob_error *error)
{
	struct braces braces rf_cleanup(braces_clear) = {0};
	int r = braces_find(text, &braces);

	if (r < 0)
		return r;
	for (size_t i = 0; text[i]; i++) {
		if (braces.closes[i] == 0)
			continue;
		if (braces.has_dots[i])
			return rf_glob_refuse(error, RF_FS_CODE_UNSUPPORTED,
				"\"..\" inside braces is not supported");
		if (braces.has_comma[i])
			return add_members(text, i, braces.closes[i], max, ret_texts);
	}
	return HAS_NO_GROUP;
}

static int take_written_out(const char *text, size_t *n_done, struct rf_strv *ret_alternatives)
{
	(*n_done)++;
	return *text ? rf_strv_add(ret_alternatives, text) : 0;
}

int rf_glob_expand(const char *pattern, size_t max, struct rf_strv *ret_alternatives,
	struct rf_glob_error *error)
{
	/* What is left to do, the next one last. */
	struct rf_strv waiting rf_autostrv = {0};
	size_t n_done = 0;
	int r = rf_strv_add(&waiting, pattern);

	while (r == 0 && waiting.count > 0) {
		struct rf_strv members rf_autostrv = {0};
		char *text rf_autofree = waiting.items[--waiting.count];

		waiting.items[waiting.count] = NULL;
		r = expand_first(text, max, &members, error);
		if (r == HAS_NO_GROUP)
			r = take_written_out(text, &n_done, ret_alternatives);
		if (r != 0)
			return r;
		if (n_done + waiting.count + members.count > max)
			return rf_glob_refuse(error, RF_FS_CODE_LIMIT,
				"braces make more than %zu alternatives", max);
		for (size_t i = members.count; r == 0 && i > 0; i--)
			r = rf_strv_add(&waiting, members.items[i - 1]);
	}
	return r;
}
