/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Lines of input: patterns, then exclusions, then a path. Whatever they are, they compile or are
 * refused with a code and words, and matching ends.
 */

#include <string.h>

#include "base/strv.h"
#include "fs/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const roots[] = {"/srv/tree", "/link"};

static void check(bool claim)
{
	if (!claim)
		abort();
}

static void match(const struct rf_glob *glob, const char *path)
{
	const char *names[8];
	uint64_t *state rf_autofree = calloc(rf_glob_state_words(glob), sizeof(*state));
	struct rf_glob_verdict start;
	bool as_file = false;
	bool as_directory = false;
	size_t n_names = 0;

	check(state && rf_glob_match(glob, path, false, &as_file) == 0);
	check(rf_glob_match(glob, path, true, &as_directory) == 0);
	start = rf_glob_start(glob, state);
	check(!(start.is_excluded && (as_file || as_directory)));
	check(rf_glob_next_names(glob, state, names, 8, &n_names) >= 0 && n_names <= 8);
}

static void compile(struct rf_strv *lines, size_t n_patterns, const char *path)
{
	const struct rf_glob_source source = {
		.patterns = (const char *const *)lines->items,
		.n_patterns = n_patterns,
		.exclusions = (const char *const *)lines->items + n_patterns,
		.n_exclusions = lines->count - n_patterns,
		.roots = roots,
		.n_roots = 2,
	};
	struct rf_glob *glob rf_autoglob = NULL;
	struct rf_glob_error error = {0};
	int r = rf_glob_new(&glob, &source, &error);

	if (r == 0)
		match(glob, path);
	else
		check(r == RF_REFUSED && error.code != RF_FS_CODE_NONE && error.message[0]);
}

/* The first byte says how many lines are patterns. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rf_strv lines rf_autostrv = {0};
	char *text rf_autofree = NULL;
	char *rest, *line;
	size_t n_patterns;

	if (size < 2)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	check(text);
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		/* The last one is the path. */
		if (!rest)
			break;
		check(rf_strv_add(&lines, line) == 0);
	}
	if (lines.count == 0)
		return 0;
	n_patterns = 1 + data[0] % lines.count;
	compile(&lines, n_patterns, line);
	return 0;
}
