/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "policy/policy.h"

/* Longer words are no key of ours: they have no neighbour. */
#define WORD_MAX 40
#define EDITS_MAX 2

static unsigned int least(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/*
 * Edits (insert, remove, change, swap of two neighbours) between two words of at most WORD_MAX
 * bytes, in three rows.
 */
static unsigned int distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	unsigned int rows[3][WORD_MAX + 1];
	unsigned int *before = rows[0];
	unsigned int *last = rows[1];
	unsigned int *now = rows[2];

	for (size_t j = 0; j <= b_length; j++)
		last[j] = (unsigned int)j;
	memcpy(before, last, sizeof(rows[0]));
	for (size_t i = 1; i <= a_length; i++) {
		unsigned int *spare = before;

		now[0] = (unsigned int)i;
		for (size_t j = 1; j <= b_length; j++) {
			unsigned int change = last[j - 1] + (a[i - 1] != b[j - 1]);

			now[j] = least(last[j] + 1, now[j - 1] + 1, change);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[b_length];
}

const char *rf_nearest(const char *word, const char *const *words)
{
	size_t length = strlen(word);
	unsigned int best_edits = EDITS_MAX + 1;
	const char *best = NULL;

	if (length == 0 || length > WORD_MAX)
		return NULL;
	for (; *words; words++) {
		size_t other = strlen(*words);
		unsigned int edits;

		if (other > WORD_MAX)
			continue;
		edits = distance(word, length, *words, other);
		/* A word that would be rewritten whole is no neighbour. */
		if (edits < best_edits && edits < other) {
			best_edits = edits;
			best = *words;
		}
	}
	return best;
}
