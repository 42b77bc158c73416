/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/print.h"

#include <errno.h>
#include <stdio.h>

#include "base/json.h"
#include "base/say.h"
#include "base/strv.h"

int rf_print_json(const json_t *json)
{
	char *text rf_autofree = rf_json_pretty(json);

	if (!text)
		return -ENOMEM;
	fputs(text, stdout);
	return 0;
}

void rf_print_text(const char *text)
{
	struct rf_buf shown rf_autobuf = {0};

	if (rf_say_escape(&shown, text) == 0)
		fputs(shown.data, stdout);
}

void rf_print_column(const char *text, int width)
{
	struct rf_buf shown rf_autobuf = {0};

	if (rf_say_escape(&shown, text ? text : "-") == 0)
		printf("%-*.*s ", width, width, shown.data);
}

void rf_print_words(const json_t *words)
{
	const json_t *word;
	size_t i;

	json_array_foreach (words, i, word) {
		if (i > 0)
			putchar(' ');
		if (json_is_string(word))
			rf_print_text(json_string_value(word));
	}
}
