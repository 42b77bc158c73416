/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "host/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/say.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/print.h"

static const struct rf_option options[] = {
	{"json", NULL, "print JSON", 'j', NULL},
	RF_OPTION_HELP_ROW,
};

static int apply(
	void *to, int id rf_unused, const char *text rf_unused, struct rf_diag *diag rf_unused)
{
	*(bool *)to = true;
	return 0;
}

static void print_check(const struct rf_check *check)
{
	printf("%-9s %s\n", rf_state_name(check->state), check->name);
	if (check->state == RF_STATE_ENFORCED)
		return;
	if (check->call[0])
		printf("          call:   %s%s%s\n", check->call, check->error ? ": " : "",
			check->error ? strerrorname_np(check->error) : "");
	if (check->cause[0]) {
		printf("          cause:  ");
		rf_print_text(check->cause);
		putchar('\n');
	}
	if (check->remedy[0]) {
		printf("          remedy: ");
		rf_print_text(check->remedy);
		putchar('\n');
	}
}

int rf_cli_doctor(int argc, char **argv)
{
	bool is_json = false;
	const struct rf_simple_args simple = {"doctor [--json]",
		"Tries what this host can enforce; names cause and remedy where it cannot.",
		options, RF_ARRAY_SIZE(options), 0, 0, apply, &is_json};
	struct rf_check *checks rf_autofree = NULL;
	size_t n_checks = 0;
	int r = rf_args_simple(&simple, argc, argv, NULL);

	if (r != 0)
		return r == RF_ARGS_HELP_SHOWN ? 0 : RF_STATUS_REFUSED;
	r = rf_doctor_run(&checks, &n_checks);
	if (r == 0 && is_json) {
		json_t *json rf_autojson = rf_doctor_to_json(checks, n_checks);

		r = rf_print_json(json);
	} else if (r == 0) {
		for (size_t i = 0; i < n_checks; i++)
			print_check(&checks[i]);
	}
	if (r < 0)
		rf_say_error("cannot run the checks: %s", strerror(-r));
	return r == 0 ? 0 : RF_STATUS_REFUSED;
}
