/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The options of `run` and `plan`, and the policy that they and the files make together. */

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "base/limits.h"
#include "base/say.h"
#include "policy/policy.h"

struct rf_run_options {
	/* Merged: option > policy file > user default > system default. */
	struct rf_policy policy;
	/* Open, each once. */
	int pass_fds[RF_PASS_FDS_MAX];
	size_t n_pass_fds;
	/* FILE or fd:N; NULL: not asked for. Borrowed from argv, as is the command. */
	const char *result;
	const char *events;
	char **command;
	enum rf_say_level level;
	bool is_json;
	/* plan --why: "read", "write" or "exec"; then the words are paths, and the command is what
	 * follows "--", or any. */
	const char *why;
	char **paths;
	size_t n_paths;
	bool wants_help;
};

/*
 * 0; RF_REFUSED; -errno. ret_options starts zeroed and is filled as options are read, also when one
 * of them is refused, so that --result can still say so.
 */
int rf_run_options_read(int argc, char **argv, bool is_plan, struct rf_run_options *ret_options,
	struct rf_diag *diag);
void rf_run_options_clear(struct rf_run_options *options);
#define rf_autorunoptions rf_cleanup(rf_run_options_clear)

void rf_run_options_print_help(bool is_plan);
