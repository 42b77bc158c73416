/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A plan in the words that a person asks about. --json has everything. */

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/print.h"
#include "cli/report.h"

static void print_text(const char *label, const char *text)
{
	printf("%-12s ", label);
	rf_print_text(text ? text : "-");
	putchar('\n');
}

/* Made empty for the run, and gone after it: nothing of the host. */
static bool is_private(const json_t *plan, const char *path)
{
	const json_t *step;
	size_t i;

	json_array_foreach (json_object_get(plan, "view"), i, step) {
		const char *kind = rf_json_get_text(step, "kind");
		const char *at = rf_json_get_text(step, "destination");

		if (kind && at && strcmp(kind, "tmpfs") == 0 && strcmp(at, path) == 0)
			return true;
	}
	return false;
}

static void print_access(const json_t *plan, const char *label, const char *access)
{
	const json_t *rule;
	size_t i;

	json_array_foreach (json_object_get(plan, "landlock"), i, rule) {
		const char *of = rf_json_get_text(rule, "access");
		const char *path = rf_json_get_text(rule, "path");

		if (of && path && strcmp(of, access) == 0)
			print_text(is_private(plan, path) ? "private" : label, path);
	}
}

/* What the view closes by a mask over it. */
static void print_closed(const json_t *plan)
{
	const json_t *step;
	size_t i;

	json_array_foreach (json_object_get(plan, "view"), i, step) {
		const char *kind = rf_json_get_text(step, "kind");
		const char *path = rf_json_get_text(step, "destination");

		if (kind && path && strcmp(kind, "mask") == 0)
			print_text("closed", path);
	}
}

static void print_network(const json_t *network)
{
	const char *posture = rf_json_get_text(network, "posture");
	const json_t *families = json_object_get(network, "families");
	const json_t *allow = json_object_get(network, "allow");

	printf("%-12s ", "network");
	rf_print_text(posture ? posture : "-");
	if (json_array_size(allow) > 0) {
		printf(" ");
		rf_print_words(allow);
	}
	printf(", Unix sockets %s", rf_json_get_bool(network, "unix", false) ? "open" : "closed");
	if (json_array_size(families) > 0) {
		printf(", also ");
		rf_print_words(families);
	}
	putchar('\n');
}

static void print_limits(const json_t *limits)
{
	const char *name;
	json_t *limit;

	json_object_foreach ((json_t *)limits, name, limit) {
		const json_t *effective = json_object_get(limit, "effective");
		char text[RF_QUANTITY_BYTES];

		snprintf(text, sizeof(text), "%s",
			json_is_string(effective) ? json_string_value(effective) : "-");
		if (json_is_integer(effective) && strcmp(name, "memory") == 0)
			rf_size_text((uint64_t)json_integer_value(effective), text);
		else if (json_is_integer(effective))
			snprintf(text, sizeof(text), "%lld",
				(long long)json_integer_value(effective));
		printf("%-12s ", "limit");
		rf_print_text(name);
		putchar(' ');
		rf_print_text(text);
		putchar('\n');
	}
}

static void print_promises(const json_t *enforcement)
{
	const char *name;
	json_t *promise;

	json_object_foreach (json_object_get(enforcement, "promises"), name, promise) {
		const char *state = rf_json_get_text(promise, "state");
		const char *why = rf_json_get_text(promise, "why");

		rf_print_column(name, 15);
		rf_print_column(state, 9);
		rf_print_words(json_object_get(promise, "by"));
		if (why) {
			printf(" (");
			rf_print_text(why);
			putchar(')');
		}
		putchar('\n');
	}
}

void rf_print_plan(const json_t *plan)
{
	const json_t *enforcement = json_object_get(plan, "enforcement");

	printf("%-12s ", "command");
	rf_print_words(json_object_get(plan, "argv"));
	putchar('\n');
	print_text("mode", rf_json_get_text(plan, "mode"));
	print_text("workspace", rf_json_get_text(plan, "workspace"));
	print_text("directory", rf_json_get_text(plan, "directory"));
	print_access(plan, "write", "write");
	print_access(plan, "read", "read");
	print_access(plan, "device", "device");
	print_closed(plan);
	print_network(json_object_get(plan, "network"));
	print_limits(json_object_get(plan, "limits"));
	print_text("enforcement", rf_json_get_text(enforcement, "level"));
	putchar('\n');
	print_promises(enforcement);
}

/* ---- Why ------------------------------------------------------------------------------------- */

/* "--write build (filesystem.write)", or what is built in. */
static void print_rule(const json_t *answer)
{
	const json_t *rule = json_object_get(answer, "rule");
	const char *option = rf_json_get_text(rule, "option");
	const char *value = rf_json_get_text(rule, "value");
	const char *because = rf_json_get_text(answer, "because");

	printf(": %s", because ? because : "-");
	if (!option)
		return;
	printf(", %s ", option);
	if (value) {
		rf_print_text(value);
		putchar(' ');
	}
	printf("(%s)", rf_json_get_text(rule, "key"));
}

static void print_holders(const json_t *answer)
{
	const json_t *by = json_object_get(answer, "by");
	bool has_permissions = rf_json_get_bool(answer, "permissions", false);

	if (json_array_size(by) > 0) {
		printf("; held by ");
		rf_print_words(by);
	}
	if (has_permissions)
		printf("; its type, owner or mode refuses it%s",
			json_array_size(by) > 0 ? " too" : "");
}

void rf_print_why(const json_t *answers)
{
	const json_t *answer;
	size_t i;

	json_array_foreach (answers, i, answer) {
		const char *asked = rf_json_get_text(answer, "asked");
		const char *path = rf_json_get_text(answer, "path");
		const char *error = rf_json_get_text(answer, "errno");

		printf("%s ", rf_json_get_text(answer, "access"));
		rf_print_text(asked ? asked : "-");
		if (asked && path && strcmp(asked, path) != 0) {
			printf(" (");
			rf_print_text(path);
			putchar(')');
		}
		printf(": %s", rf_json_get_text(answer, "verdict"));
		if (error)
			printf(", %s", error);
		print_rule(answer);
		print_holders(answer);
		putchar('\n');
	}
}
