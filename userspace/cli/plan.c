/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* plan: what run would do. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/say.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/request.h"
#include "wire/interface.h"
#include "wire/text.h"

#define PLAN_DEADLINE_MS 60000

static json_t *questions(const struct rf_run_options *options)
{
	json_t *array = json_array();

	for (size_t i = 0; i < options->n_paths; i++) {
		json_array_append_new(array, json_string(options->why));
		json_array_append_new(array, rf_wire_text(options->paths[i]));
	}
	return array;
}

static int ask(const struct rf_run_options *options, const struct rf_origin *origin,
	json_t **ret_answer, struct rf_diag *diag)
{
	struct rf_connection connection rf_autoconnection = {0};
	json_t *parameters rf_autojson = NULL;
	int r = rf_request_make(options, origin, false, &parameters, diag);

	if (r == 0 && options->why)
		r = json_object_set_new(parameters, "why", questions(options)) < 0 ? -ENOMEM : 0;
	if (r == 0)
		r = rf_connect(NULL, &connection, diag);
	if (r == 0)
		r = rf_call(connection.wire, RF_METHOD_PLAN, RF_TAKE(parameters), PLAN_DEADLINE_MS,
			ret_answer, diag);
	return r;
}

static int show(const struct rf_run_options *options, const json_t *answer)
{
	const json_t *plan = json_object_get(answer, "plan");
	const json_t *warnings = json_object_get(answer, "warnings");
	const json_t *warning;
	size_t i;

	json_array_foreach (warnings, i, warning) {
		if (json_is_string(warning))
			rf_say("%s", json_string_value(warning));
	}
	json_array_foreach (json_object_get(plan, "details"), i, warning) {
		if (json_is_string(warning))
			rf_say_detail("%s", json_string_value(warning));
	}
	if (options->why) {
		const json_t *why = json_object_get(answer, "why");

		if (options->is_json)
			return rf_print_json(why);
		rf_print_why(why);
		return 0;
	}
	if (options->is_json)
		return rf_print_json(plan);
	rf_print_plan(plan);
	return 0;
}

int rf_cli_plan(int argc, char **argv)
{
	struct rf_run_options options rf_autorunoptions = {0};
	json_t *answer rf_autojson = NULL;
	struct rf_origin origin;
	struct rf_diag diag = {0};
	int r;

	rf_origin_read(&origin);
	r = rf_run_options_read(argc, argv, true, &options, &diag);
	if (r == 0 && options.wants_help) {
		rf_run_options_print_help(true);
		return 0;
	}
	rf_say_set_level(options.level);
	if (r == 0)
		r = ask(&options, &origin, &answer, &diag);
	if (r == 0)
		r = show(&options, answer);
	if (r < 0)
		rf_diag_refuse(&diag, "client-failed", "%s", strerror(-r));
	if (r != 0)
		rf_say_refusal(&diag);
	return r == 0 ? 0 : RF_STATUS_REFUSED;
}
