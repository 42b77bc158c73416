/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "host/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/say.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/print.h"
#include "host/probe.h"
#include "wire/interface.h"

#define CALL_DEADLINE_MS 8000

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

static const json_t *find_check(const json_t *answer, const char *name)
{
	const json_t *check;
	size_t i;

	json_array_foreach (
		json_object_get(json_object_get(answer, "doctor"), "checks"), i, check) {
		const char *said = rf_json_get_text(check, "name");

		if (said && strcmp(said, name) == 0)
			return check;
	}
	return NULL;
}

static const char *text_or(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = rf_json_get_text(object, key);

	return text ? text : otherwise;
}

/* Of the controller that a run would have. */
static void ask_controller(struct rf_check *ret_check)
{
	struct rf_connection connection rf_autoconnection = {0};
	json_t *answer rf_autojson = NULL;
	const json_t *said = NULL;
	struct rf_diag diag = {0};
	int r = rf_connect(NULL, &connection, &diag);

	*ret_check = (struct rf_check){.name = RF_CHECK_FILE_HOOKS, .state = RF_STATE_OFF};
	if (r == 0)
		r = rf_call(connection.wire, RF_METHOD_DOCTOR, json_object(), CALL_DEADLINE_MS,
			&answer, &diag);
	if (r == 0)
		said = find_check(answer, RF_CHECK_FILE_HOOKS);
	if (!said) {
		rf_check_say(ret_check, "%s", diag.message[0] ? diag.message : "it was not said");
		rf_check_advise(
			ret_check, "%s", diag.hint[0] ? diag.hint : "see what the controller says");
		return;
	}
	if (strcmp(text_or(said, "state", ""), rf_state_name(RF_STATE_ENFORCED)) == 0)
		ret_check->state = RF_STATE_ENFORCED;
	rf_check_say(ret_check, "%s", text_or(said, "cause", ""));
	rf_check_advise(ret_check, "%s", text_or(said, "remedy", ""));
}

static int add_file_hooks(struct rf_check **checks, size_t *n_checks)
{
	struct rf_check *grown = reallocarray(*checks, *n_checks + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	*checks = grown;
	ask_controller(&grown[(*n_checks)++]);
	return 0;
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
	if (r == 0)
		r = add_file_hooks(&checks, &n_checks);
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
