/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/args.h"

#include <stdio.h>
#include <string.h>

#include "base/say.h"
#include "policy/keys.h"
#include "policy/policy.h"

#define OPTIONS_MAX 64
#define HELP_COLUMN 26

static int refuse_unknown(
	const struct rf_args *args, const char *word, size_t length, struct rf_diag *diag)
{
	const char *names[OPTIONS_MAX + 1] = {NULL};
	char name[64];
	const char *nearest;
	int r;

	for (size_t i = 0; i < args->n_options && i < OPTIONS_MAX; i++)
		names[i] = args->options[i].name;
	snprintf(name, sizeof(name), "%.*s", (int)length, word);
	nearest = name[0] == '-' && name[1] == '-' ? rf_nearest(name + 2, names) : NULL;
	if (nearest)
		r = rf_diag_refuse(diag, "unknown-option", "unknown option %s (did you mean --%s?)",
			name, nearest);
	else
		r = rf_diag_refuse(diag, "unknown-option", "unknown option %s", name);
	return r;
}

static const struct rf_option *find(const struct rf_args *args, const char *name, size_t length)
{
	for (size_t i = 0; i < args->n_options; i++) {
		const struct rf_option *option = &args->options[i];

		if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
			return option;
	}
	return NULL;
}

static int read_option(
	struct rf_args *args, const char *word, struct rf_arg_read *ret_read, struct rf_diag *diag)
{
	size_t length = strcspn(word, "=");
	const char *value = word[length] == '=' ? word + length + 1 : NULL;
	const struct rf_option *option = NULL;

	if (length > 2 && word[1] == '-')
		option = find(args, word + 2, length - 2);
	if (!option)
		return refuse_unknown(args, word, length, diag);
	if (!option->value && value)
		return rf_diag_refuse(
			diag, "option-value", "option --%s takes no value", option->name);
	if (option->value && !value) {
		if (args->at >= args->argc)
			return rf_diag_refuse(diag, "option-value",
				"option --%s needs a value (%s)", option->name, option->value);
		value = args->argv[args->at++];
	}
	*ret_read = (struct rf_arg_read){RF_ARG_OPTION, option, value};
	return 0;
}

int rf_args_next(struct rf_args *args, struct rf_arg_read *ret_read, struct rf_diag *diag)
{
	const char *word;

	if (args->at < args->argc && !args->has_words_alone &&
		strcmp(args->argv[args->at], "--") == 0) {
		args->has_words_alone = true;
		args->at++;
	}
	if (args->at >= args->argc) {
		*ret_read = (struct rf_arg_read){.kind = RF_ARG_END};
		return 0;
	}
	word = args->argv[args->at++];
	/* "-" alone is a word. */
	if (args->has_words_alone || word[0] != '-' || !word[1]) {
		*ret_read = (struct rf_arg_read){.kind = RF_ARG_WORD, .text = word};
		return 0;
	}
	return read_option(args, word, ret_read, diag);
}

static void print_option(const struct rf_option *option)
{
	const struct rf_key *key = option->key ? rf_key_find(option->key) : NULL;
	const char *help = option->help || !key ? option->help : key->help;
	char left[64];

	snprintf(left, sizeof(left), "--%s%s%s", option->name, option->value ? " " : "",
		option->value ? option->value : "");
	printf("  %-*s  %s%s\n", HELP_COLUMN, left, help,
		key && rf_key_is_list(key->type) ? "; repeatable" : "");
}

void rf_args_print_help(
	const char *usage, const char *summary, const struct rf_option *options, size_t n_options)
{
	printf("Usage: ringfence %s\n\n%s\n\nOptions:\n", usage, summary);
	for (size_t i = 0; i < n_options; i++)
		print_option(&options[i]);
}

/* RF_ARGS_HELP_SHOWN: asked for. */
static int take(const struct rf_simple_args *simple, const struct rf_arg_read *read, int *n_words,
	const char **ret_words, struct rf_diag *diag)
{
	if (read->kind == RF_ARG_OPTION)
		return read->option->id == RF_OPTION_HELP
			       ? RF_ARGS_HELP_SHOWN
			       : simple->apply(simple->to, read->option->id, read->text, diag);
	if (*n_words >= simple->max_words)
		return rf_diag_refuse(diag, "arguments", "%s is one argument too many", read->text);
	ret_words[(*n_words)++] = read->text;
	return 0;
}

static int read_simple(const struct rf_simple_args *simple, struct rf_args *args,
	const char **ret_words, struct rf_diag *diag)
{
	int n_words = 0;

	for (;;) {
		struct rf_arg_read read = {0};
		int r = rf_args_next(args, &read, diag);

		if (r == 0 && read.kind == RF_ARG_END)
			break;
		if (r == 0)
			r = take(simple, &read, &n_words, ret_words, diag);
		if (r != 0)
			return r;
	}
	if (n_words < simple->min_words)
		return rf_diag_refuse(
			diag, "arguments", "an argument is missing: ringfence %s", simple->usage);
	return 0;
}

int rf_args_simple(
	const struct rf_simple_args *simple, int argc, char **argv, const char **ret_words)
{
	struct rf_args args = {simple->options, simple->n_options, argc, argv, 1, false};
	struct rf_diag diag = {0};
	int r = read_simple(simple, &args, ret_words, &diag);

	if (r == RF_REFUSED)
		rf_say_refusal(&diag);
	if (r == RF_ARGS_HELP_SHOWN)
		rf_args_print_help(
			simple->usage, simple->summary, simple->options, simple->n_options);
	return r;
}
