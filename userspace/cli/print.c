/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/print.h"

#include <errno.h>
#include <stdio.h>

#include "base/json.h"

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
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p < 0x20 || *p == 0x7f)
			printf("\\x%02x", *p);
		else
			putchar(*p);
	}
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
