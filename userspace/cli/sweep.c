/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/say.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/print.h"
#include "wire/interface.h"

#define SWEEP_DEADLINE_MS 60000

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

/* What stays and may still run, though no controller answers for it. */
static void warn(const json_t *counts)
{
	static const char *const left[] = {
		"identity-unverified", "own-cgroup-unknown", "kill-failed"};

	for (size_t i = 0; i < RF_ARRAY_SIZE(left); i++) {
		json_int_t n = json_integer_value(json_object_get(counts, left[i]));

		if (n > 0)
			rf_say_error("%lld %s left running: %s", (long long)n,
				n == 1 ? "record" : "records", left[i]);
	}
}

static int sweep(bool is_json, struct rf_diag *diag)
{
	struct rf_connection connection rf_autoconnection = {0};
	json_t *answer rf_autojson = NULL;
	json_t *counts;
	const char *reason;
	json_t *count;
	int r = rf_connect_private(NULL, &connection, diag);

	if (r == 0)
		r = rf_call(
			connection.wire, RF_METHOD_SWEEP, NULL, SWEEP_DEADLINE_MS, &answer, diag);
	if (r != 0)
		return r;
	counts = json_object_get(answer, "counts");
	if (is_json) {
		warn(counts);
		return rf_print_json(counts);
	}
	warn(counts);
	json_object_foreach (counts, reason, count)
		printf("%-20s %lld\n", reason, (long long)json_integer_value(count));
	return 0;
}

int rf_cli_sweep(int argc, char **argv)
{
	bool is_json = false;
	const struct rf_simple_args simple = {"sweep [--json]",
		"Reaps what a dead controller left, and says how each record ended.", options,
		RF_ARRAY_SIZE(options), 0, 0, apply, &is_json};
	struct rf_diag diag = {0};
	int r = rf_args_simple(&simple, argc, argv, NULL);

	if (r != 0)
		return r == RF_ARGS_HELP_SHOWN ? 0 : RF_STATUS_REFUSED;
	r = sweep(is_json, &diag);
	if (r < 0)
		rf_diag_refuse(&diag, "client-failed", "%s", strerror(-r));
	if (r != 0)
		rf_say_refusal(&diag);
	return r == 0 ? 0 : RF_STATUS_REFUSED;
}
