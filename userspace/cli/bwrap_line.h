/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * bubblewrap's command line, 0.8 to 0.13, read as far as Ringfence must understand it: where its
 * options end and the command begins, which words are ours, and a handful of its options that
 * change what is put around it. What bubblewrap makes of the rest is its own business.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/diag.h"
#include "cli/args.h"

/* Before the name of every option of ours. */
#define RF_BWRAP_OUR_PREFIX "--rf-"
/* bubblewrap takes 9 000 words, all of which could be --args; each of them is read once. */
#define RF_BWRAP_ARGS_FDS_MAX 64U

struct rf_bwrap_line {
	/* argv without our words, in their order, NULL-terminated. The words are borrowed. */
	char **words;
	size_t n_words;
	/* argv[0] and our words alone: for rf_args_next. */
	char **ours;
	size_t n_ours;
	/* --help or --version: it prints and ends. */
	bool is_question;
	bool dies_with_parent;
	/* --seccomp, beside which --add-seccomp-fd may not stand. */
	bool has_single_filter;
	/* Numbers of --args, in order. */
	int args_fds[RF_BWRAP_ARGS_FDS_MAX];
	size_t n_args_fds;
	/* The option at which reading ended, since how many values it takes is not known; or NULL.
	 */
	const char *unknown;
};

/*
 * ours is the table of our options, named with the prefix (but for the dashes). They may stand
 * between any two options of bubblewrap; a value is never taken for an option. After an option that
 * the table of bubblewrap's does not know nothing is read any more: a word of ours there is refused
 * (code option-hidden), and --die-with-parent is believed. 0, RF_REFUSED or -ENOMEM.
 */
int rf_bwrap_line_read(int argc, char **argv, const struct rf_option *ours, size_t n_ours,
	struct rf_bwrap_line *ret_line, struct rf_diag *diag);

/*
 * What an --args descriptor holds: words that end in NUL. They are bubblewrap's alone; flags of
 * line are added to. Words after the first that is no option are none of them.
 */
void rf_bwrap_line_add(struct rf_bwrap_line *line, const char *data, size_t size_bytes);

void rf_bwrap_line_clear(struct rf_bwrap_line *line);
#define rf_autobwrapline rf_cleanup(rf_bwrap_line_clear)

/* How many values an option of bubblewrap takes; -1: not known. */
int rf_bwrap_values(const char *option);
