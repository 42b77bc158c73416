/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/say.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/print.h"
#include "cli/sandboxes.h"

#define ID_SHOWN 12

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

static void print_number(const json_t *sandbox, const char *key, int width)
{
	const json_t *value = json_object_get(sandbox, key);

	if (json_is_integer(value))
		printf("%*lld ", width, (long long)json_integer_value(value));
	else
		printf("%*s ", width, "-");
}

static void print_table(const json_t *list)
{
	const json_t *sandbox;
	size_t i;

	printf("%-*s %5s %-8s %8s %-24s %s\n", ID_SHOWN, "ID", "UID", "STATE", "PID", "STARTED",
		"COMMAND");
	json_array_foreach (list, i, sandbox) {
		rf_print_column(rf_json_get_text(sandbox, "id"), ID_SHOWN);
		print_number(sandbox, "uid", 5);
		rf_print_column(rf_json_get_text(sandbox, "state"), 8);
		print_number(sandbox, "pid", 8);
		rf_print_column(rf_json_get_text(sandbox, "started"), 24);
		rf_print_words(json_object_get(sandbox, "argv"));
		putchar('\n');
	}
}

int rf_cli_ps(int argc, char **argv)
{
	bool is_json = false;
	const struct rf_simple_args simple = {"ps [--json]",
		"Lists the sandboxes that you may see and stop.", options, RF_ARRAY_SIZE(options),
		0, 0, apply, &is_json};
	struct rf_sandboxes sandboxes rf_autosandboxes = {0};
	int r = rf_args_simple(&simple, argc, argv, NULL);

	if (r != 0)
		return r == RF_ARGS_HELP_SHOWN ? 0 : RF_STATUS_REFUSED;
	r = rf_sandboxes_find(&sandboxes);
	if (r == 0 && is_json)
		r = rf_print_json(sandboxes.list);
	else if (r == 0)
		print_table(sandboxes.list);
	if (r < 0)
		rf_say_error("cannot list sandboxes: %s", strerror(-r));
	return r == 0 ? 0 : RF_STATUS_REFUSED;
}
