/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

struct word_counts {
	size_t lines;
	size_t words;
	size_t bytes;
};

/* Counts lines, words and bytes of the text; words are separated by white space. */
struct word_counts count_words(const char *text, size_t size);
