/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Options in order, one table a subcommand: the same table is what --help prints. */

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

/* Every table has it. */
#define RF_OPTION_HELP 'h'
#define RF_OPTION_HELP_ROW                                               \
	{                                                                \
		"help", NULL, "show this and exit", RF_OPTION_HELP, NULL \
	}

struct rf_option {
	/* Without dashes. */
	const char *name;
	/* What --help calls the value; NULL: takes none. */
	const char *value;
	/* One line; NULL: the key's. */
	const char *help;
	int id;
	/* Of the policy, where the option is one. */
	const char *key;
};

struct rf_args {
	const struct rf_option *options;
	size_t n_options;
	int argc;
	char **argv;
	/* The next one to read; start at 1. */
	int at;
	/* Set after "--". */
	bool has_words_alone;
};

enum rf_arg { RF_ARG_END, RF_ARG_OPTION, RF_ARG_WORD };

struct rf_arg_read {
	enum rf_arg kind;
	const struct rf_option *option;
	/* The option's value (NULL when it takes none), or the word. */
	const char *text;
};

/* The next option or word. 0, or RF_REFUSED (unknown, value missing or not wanted). */
int rf_args_next(struct rf_args *args, struct rf_arg_read *ret_read, struct rf_diag *diag);

/*
 * For subcommands of few options: reads them all. Words go to ret_words (room for max_words), given
 * options call apply. Refuses surplus words, and too few when fewer than min_words came and help
 * was not asked for.
 */
struct rf_simple_args {
	const char *usage;
	const char *summary;
	const struct rf_option *options;
	size_t n_options;
	int min_words;
	int max_words;
	int (*apply)(void *to, int id, const char *text, struct rf_diag *diag);
	void *to;
};

#define RF_ARGS_HELP_SHOWN 2
/* 0, RF_REFUSED (said already), RF_ARGS_HELP_SHOWN. */
int rf_args_simple(
	const struct rf_simple_args *simple, int argc, char **argv, const char **ret_words);

/* Prints "Usage: ringfence USAGE", the summary and the table to standard output. */
void rf_args_print_help(
	const char *usage, const char *summary, const struct rf_option *options, size_t n_options);
