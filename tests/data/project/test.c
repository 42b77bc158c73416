/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "wordcount.h"

static void expect(const char *text, size_t lines, size_t words)
{
	struct word_counts counts = count_words(text, strlen(text));

	assert(counts.lines == lines);
	assert(counts.words == words);
	assert(counts.bytes == strlen(text));
}

int main(void)
{
	expect("", 0, 0);
	expect("one", 0, 1);
	expect("one two\nthree\n", 2, 3);
	expect("  \t\n", 1, 0);
	puts("4 tests passed");
	return 0;
}
