/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "wordcount.h"

#include <ctype.h>
#include <stdbool.h>

struct word_counts count_words(const char *text, size_t size)
{
	struct word_counts counts = {.bytes = size};
	bool is_inside = false;

	for (size_t i = 0; i < size; i++) {
		bool is_space = isspace((unsigned char)text[i]) != 0;

		counts.lines += text[i] == '\n';
		counts.words += !is_space && !is_inside;
		is_inside = !is_space;
	}
	return counts;
}
