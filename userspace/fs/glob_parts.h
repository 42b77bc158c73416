/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What compiling a glob is made of: braces (glob_brace.c), segments (glob_segment.c), states. */

#include "base/strv.h"
#include "fs/glob.h"

/* Fills the code and the message; returns RF_REFUSED. */
int rf_glob_refuse(struct rf_glob_error *error, enum rf_fs_code code, const char *format, ...)
	rf_printf(3, 4);

/*
 * Every alternative of the braces, in order, empty ones left out. At most max of them, counted with
 * the empty ones. 0, RF_REFUSED or -ENOMEM.
 */
int rf_glob_expand(const char *pattern, size_t max, struct rf_strv *ret_alternatives,
	struct rf_glob_error *error);

enum rf_glob_segment_kind {
	RF_GLOB_LITERAL,
	/* One star between two literals: prefix*suffix. */
	RF_GLOB_AFFIX,
	RF_GLOB_ELEMENTS,
	RF_GLOB_ANY_DEPTH,
	/* ".", which names the directory that it is in. */
	RF_GLOB_SELF,
	/* Longer than a name can be. */
	RF_GLOB_NEVER,
};

struct rf_glob_range {
	uint32_t low;
	uint32_t high;
};

/* One character of a name, after any text at all where has_star. */
struct rf_glob_element {
	/* Into the segment's ranges. */
	uint32_t first_range;
	uint32_t n_ranges;
	bool is_negated;
	bool has_star;
};

struct rf_glob_segment {
	enum rf_glob_segment_kind kind;
	bool spells_dot;
	/* Literal, or prefix and suffix one after the other. */
	char *text;
	size_t prefix_bytes;
	size_t suffix_bytes;
	/* The last one only says whether a star ends the segment. */
	struct rf_glob_element *elements;
	size_t n_elements;
	struct rf_glob_range *ranges;
	size_t n_ranges;
};

/* 0, RF_REFUSED or -ENOMEM; on failure nothing is kept. */
int rf_glob_segment_parse(const char *text, size_t size_bytes, struct rf_glob_segment *ret_segment,
	struct rf_glob_error *error);
void rf_glob_segment_clear(struct rf_glob_segment *segment);
/* LITERAL, AFFIX, ELEMENTS; the others never. */
bool rf_glob_segment_matches(const struct rf_glob_segment *segment, const char *name);
