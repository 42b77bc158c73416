/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "wordcount.h"

int main(void)
{
	static char text[1 << 20];
	size_t size = fread(text, 1, sizeof(text), stdin);
	struct word_counts counts = count_words(text, size);

	printf("%zu %zu %zu\n", counts.lines, counts.words, counts.bytes);
	return ferror(stdin) != 0;
}
