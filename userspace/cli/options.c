/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/options.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/args.h"
#include "cli/files.h"
#include "cli/output.h"
#include "policy/keys.h"

enum option_id {
	/* One value of the policy, by its key. */
	OPTION_KEY = 1,
	/* One switch of the policy, on. */
	OPTION_SWITCH,
	OPTION_POLICY,
	OPTION_NO_UNIX,
	OPTION_NO_TTY,
	OPTION_ENV,
	OPTION_ENV_FILE,
	OPTION_PASS_FD,
	OPTION_RESULT,
	OPTION_EVENTS,
	OPTION_QUIET,
	OPTION_VERBOSE,
	OPTION_JSON,
	OPTION_WHY,
	OPTION_HELP = RF_OPTION_HELP,
};

/* A key's own options come from its table, in that order. Those of plan alone come last.
 */
static const struct rf_option options[] = {
	{"policy", "FILE", "a policy, YAML or JSON; - for standard input", OPTION_POLICY, NULL},
#define RF_KEY(name, type, option, value, member, help, text) \
	{option, value, help, RF_KEY_##type == RF_KEY_SWITCH ? OPTION_SWITCH : OPTION_KEY, name},
#define RF_KEY_APART(name, type, option, member, help, text)
#include "policy/keys.def"
	{"no-unix", NULL, "close Unix sockets in every posture", OPTION_NO_UNIX, NULL},
	{"no-tty", NULL, "no terminal of the command's own", OPTION_NO_TTY, NULL},
	{"env", "NAME[=VALUE]", "variable to take from the caller, or to set", OPTION_ENV, NULL},
	{"env-file", "FILE", "set the NAME=VALUE lines of a file", OPTION_ENV_FILE, NULL},
	{"pass-fd", "N", "pass an open descriptor, 3 to 65535", OPTION_PASS_FD, NULL},
	{"result", "FILE|fd:N", "write the result, one JSON object", OPTION_RESULT, NULL},
	{"events", "FILE|fd:N", "write events, JSON Lines", OPTION_EVENTS, NULL},
	{"quiet", NULL, "print errors alone", OPTION_QUIET, NULL},
	{"verbose", NULL, "print details", OPTION_VERBOSE, NULL},
	RF_OPTION_HELP_ROW,
	{"json", NULL, "print the whole plan as JSON", OPTION_JSON, NULL},
	{"why", "ACCESS", "say why each PATH may be read, written or executed, or not", OPTION_WHY,
		NULL},
};

/* At the end of the table. */
#define PLAN_OPTIONS 2

static size_t n_options(bool is_plan)
{
	return RF_ARRAY_SIZE(options) - (is_plan ? 0 : PLAN_OPTIONS);
}

void rf_run_options_print_help(bool is_plan)
{
	if (is_plan)
		rf_args_print_help(
			"plan [options] [--] COMMAND [ARG…]\n"
			"       ringfence plan [options] --why ACCESS PATH… [-- COMMAND [ARG…]]",
			"Shows what run would do with the same options; has no effect.", options,
			n_options(true));
	else
		rf_args_print_help("run [options] [--] COMMAND [ARG…]", "Confines a command.",
			options, n_options(false));
}

void rf_run_options_clear(struct rf_run_options *run_options)
{
	rf_policy_clear(&run_options->policy);
}

/* What is read on the way, besides what the caller gets. */
struct reading {
	struct rf_run_options *to;
	/* The options' own part of the policy. */
	struct rf_policy policy;
	const char *policy_file;
};

static void reading_clear(struct reading *reading)
{
	rf_policy_clear(&reading->policy);
}

static int add_pass_fd(struct rf_run_options *to, const char *text, struct rf_diag *diag)
{
	uint64_t number;

	if (!rf_parse_u64(text, &number) || number < RF_PASS_FD_MIN || number > RF_PASS_FD_MAX)
		return rf_diag_refuse(diag, "pass-fd-number",
			"--pass-fd takes a number from %d to %d, not \"%s\"", RF_PASS_FD_MIN,
			RF_PASS_FD_MAX, text);
	for (size_t i = 0; i < to->n_pass_fds; i++) {
		if (to->pass_fds[i] == (int)number)
			return 0;
	}
	if (to->n_pass_fds >= RF_PASS_FDS_MAX)
		return rf_diag_refuse(diag, "too-many-descriptors",
			"at most %u descriptors can be passed", RF_PASS_FDS_MAX);
	/* Here nothing of ours is open yet, so this one is the caller's. */
	if (fcntl((int)number, F_GETFD) < 0)
		return rf_diag_refuse(diag, "pass-fd-closed",
			"descriptor %d is not open (--pass-fd)", (int)number);
	to->pass_fds[to->n_pass_fds++] = (int)number;
	return 0;
}

static int set_policy_file(struct reading *reading, const char *text, struct rf_diag *diag)
{
	if (reading->policy_file)
		return rf_diag_refuse(diag, "option-value", "--policy is given twice");
	reading->policy_file = text;
	return 0;
}

/* Refused in the words of who wrote it: by the option's name, not the key's. */
static int set(struct reading *reading, const struct rf_option *option, const char *key,
	const char *text, struct rf_diag *diag)
{
	const struct rf_key *known = rf_key_find(key);
	struct rf_key said;

	if (!known)
		return -EINVAL;
	said = *known;
	said.name = known->option;
	if (strcmp(said.name + 2, option->name) != 0)
		return -EINVAL;
	return rf_key_set(&said, &reading->policy, text, diag);
}

static int apply(struct reading *reading, const struct rf_option *option, const char *text,
	struct rf_diag *diag)
{
	struct rf_run_options *to = reading->to;

	switch ((enum option_id)option->id) {
	case OPTION_KEY:
		return set(reading, option, option->key, text, diag);
	case OPTION_SWITCH:
		return set(reading, option, option->key, "true", diag);
	case OPTION_POLICY:
		return set_policy_file(reading, text, diag);
	case OPTION_NO_UNIX:
		return set(reading, option, "network.unix", "false", diag);
	case OPTION_NO_TTY:
		return rf_policy_set(&reading->policy, "lifecycle.tty", "false", diag);
	case OPTION_ENV:
		return set(reading, option,
			strchr(text, '=') ? "environment.set" : "environment.pass", text, diag);
	case OPTION_ENV_FILE:
		return rf_environment_file_read(text, &reading->policy, diag);
	case OPTION_PASS_FD:
		return add_pass_fd(to, text, diag);
	case OPTION_RESULT:
		return rf_output_set(&to->result, option->name, text, diag);
	case OPTION_EVENTS:
		return rf_output_set(&to->events, option->name, text, diag);
	case OPTION_QUIET:
		to->level = RF_SAY_QUIET;
		return 0;
	case OPTION_VERBOSE:
		to->level = RF_SAY_VERBOSE;
		return 0;
	case OPTION_JSON:
		to->is_json = true;
		return 0;
	case OPTION_WHY:
		if (strcmp(text, "read") != 0 && strcmp(text, "write") != 0 &&
			strcmp(text, "exec") != 0)
			return rf_diag_refuse(diag, "option-value",
				"--why takes read, write or exec, not \"%s\"", text);
		to->why = text;
		return 0;
	case OPTION_HELP:
		to->wants_help = true;
		return 0;
	}
	return -EINVAL;
}

/* With --why: paths until "--", then the command. */
static int take_paths(struct rf_run_options *to, char **words, struct rf_diag *diag)
{
	static char *any[] = {(char *)"true", NULL};

	to->paths = words;
	while (words[to->n_paths] && strcmp(words[to->n_paths], "--") != 0)
		to->n_paths++;
	if (to->n_paths == 0)
		return rf_diag_refuse(diag, "arguments", "no path is given to --why");
	to->command = words[to->n_paths] ? words + to->n_paths + 1 : any;
	if (!to->command[0])
		return rf_diag_refuse(diag, "no-command", "no command is given");
	return 0;
}

static int read_options(
	struct reading *reading, int argc, char **argv, bool is_plan, struct rf_diag *diag)
{
	struct rf_args args = {options, n_options(is_plan), argc, argv, 1, false};

	while (!reading->to->wants_help) {
		struct rf_arg_read read;
		int r = rf_args_next(&args, &read, diag);

		if (r != 0)
			return r;
		if (read.kind == RF_ARG_END && reading->to->why)
			return rf_diag_refuse(diag, "arguments", "no path is given to --why");
		if (read.kind == RF_ARG_END)
			return rf_diag_refuse(diag, "no-command", "no command is given");
		if (read.kind == RF_ARG_WORD && reading->to->why)
			return take_paths(reading->to, argv + args.at - 1, diag);
		if (read.kind == RF_ARG_WORD) {
			reading->to->command = argv + args.at - 1;
			return 0;
		}
		r = apply(reading, read.option, read.text, diag);
		if (r != 0)
			return r;
	}
	return 0;
}

/* What ends in the caller's hands alone is not the command's too. */
static int check_targets(const struct rf_run_options *to, struct rf_diag *diag)
{
	const char *const targets[] = {to->result, to->events};

	for (size_t t = 0; t < RF_ARRAY_SIZE(targets); t++) {
		uint64_t number = 0;

		if (!targets[t] || strncmp(targets[t], "fd:", 3) != 0 ||
			!rf_parse_u64(targets[t] + 3, &number))
			continue;
		for (size_t i = 0; i < to->n_pass_fds; i++) {
			if ((uint64_t)to->pass_fds[i] == number)
				return rf_diag_refuse(diag, "output-descriptor",
					"descriptor %d cannot be passed and written to by "
					"Ringfence",
					to->pass_fds[i]);
		}
	}
	return 0;
}

int rf_run_options_read(int argc, char **argv, bool is_plan, struct rf_run_options *ret_options,
	struct rf_diag *diag)
{
	struct reading reading rf_cleanup(reading_clear) = {.to = ret_options};
	int r;

	ret_options->level = RF_SAY_NORMAL;
	r = read_options(&reading, argc, argv, is_plan, diag);
	if (r != 0 || ret_options->wants_help)
		return r;
	r = check_targets(ret_options, diag);
	if (r == 0)
		r = rf_policy_files_read(reading.policy_file, &ret_options->policy, diag);
	if (r == 0)
		r = rf_policy_overlay(&ret_options->policy, &reading.policy);
	return r;
}
