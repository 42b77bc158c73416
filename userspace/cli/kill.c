/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* kill, freeze, thaw: one sandbox, by its identity or an unambiguous beginning of it. */

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/say.h"
#include "base/units.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/report.h"
#include "cli/sandboxes.h"
#include "wire/interface.h"

/* Beyond the grace, for the kernel to take the tree apart. */
#define KILL_MARGIN_MS 30000
#define FREEZE_DEADLINE_MS 10000

static const struct rf_option kill_options[] = {
	{"grace", "DURATION", "between TERM and the kill; default: the run's own", 'g', NULL},
	RF_OPTION_HELP_ROW,
};

static const struct rf_option plain_options[] = {RF_OPTION_HELP_ROW};

struct asked {
	bool has_grace;
	uint64_t grace_ms;
};

static int apply(void *to, int id rf_unused, const char *text, struct rf_diag *diag)
{
	struct asked *asked = to;
	char most[RF_QUANTITY_BYTES];
	uint64_t ms;

	if (!rf_parse_duration(text, &ms) || ms > RF_GRACE_MAX_MS) {
		rf_duration_text(RF_GRACE_MAX_MS, most);
		return rf_diag_refuse(diag, "option-value",
			"--grace takes a duration up to %s such as 2s, not \"%s\"", most, text);
	}
	*asked = (struct asked){true, ms};
	return 0;
}

static int call(const char *id, const char *method, const struct asked *asked, int timeout_ms,
	struct rf_diag *diag)
{
	struct rf_wire *wire rf_autowire = NULL;
	json_t *answer rf_autojson = NULL;
	char *whole rf_autofree = NULL;
	json_t *parameters;
	int r = rf_sandbox_connect(id, &whole, &wire, diag);

	if (r != 0)
		return r;
	parameters = json_pack("{s:s}", "id", whole);
	if (asked->has_grace)
		json_object_set_new(
			parameters, "grace_ms", json_integer((json_int_t)asked->grace_ms));
	return rf_call(wire, method, parameters, timeout_ms, &answer, diag);
}

/*
 * A private controller ends with its sandbox and may be gone before its answer is out: what counts
 * is that the sandbox is not there any more.
 */
static bool is_gone(const char *id)
{
	struct rf_wire *wire rf_autowire = NULL;
	char *whole rf_autofree = NULL;
	struct rf_diag diag = {0};

	return rf_sandbox_connect(id, &whole, &wire, &diag) == RF_REFUSED &&
	       strcmp(diag.code, "not-found") == 0;
}

static int finish(int r, struct rf_diag *diag)
{
	if (r < 0)
		rf_diag_refuse(diag, "client-failed", "%s", strerror(-r));
	if (r != 0)
		rf_say_refusal(diag);
	return r == 0 ? 0 : RF_STATUS_REFUSED;
}

int rf_cli_kill(int argc, char **argv)
{
	struct asked asked = {.grace_ms = RF_GRACE_MAX_MS};
	const struct rf_simple_args simple = {"kill ID [--grace DURATION]",
		"Ends a sandbox: TERM, the grace, then everything that is left is killed.",
		kill_options, RF_ARRAY_SIZE(kill_options), 1, 1, apply, &asked};
	struct rf_diag diag = {0};
	const char *id = NULL;
	int r = rf_args_simple(&simple, argc, argv, &id);

	if (r != 0)
		return r == RF_ARGS_HELP_SHOWN ? 0 : RF_STATUS_REFUSED;
	r = call(id, RF_METHOD_KILL, &asked, (int)asked.grace_ms + KILL_MARGIN_MS, &diag);
	if (r == RF_REFUSED && strcmp(diag.code, "controller-gone") == 0 && is_gone(id))
		return 0;
	return finish(r, &diag);
}

static int freeze_or_thaw(
	int argc, char **argv, const char *usage, const char *summary, const char *method)
{
	const struct asked asked = {0};
	const struct rf_simple_args simple = {
		usage, summary, plain_options, RF_ARRAY_SIZE(plain_options), 1, 1, apply, NULL};
	struct rf_diag diag = {0};
	const char *id = NULL;
	int r = rf_args_simple(&simple, argc, argv, &id);

	if (r != 0)
		return r == RF_ARGS_HELP_SHOWN ? 0 : RF_STATUS_REFUSED;
	return finish(call(id, method, &asked, FREEZE_DEADLINE_MS, &diag), &diag);
}

int rf_cli_freeze(int argc, char **argv)
{
	return freeze_or_thaw(argc, argv, "freeze ID",
		"Stops every process of a sandbox until thaw or kill.", RF_METHOD_FREEZE);
}

int rf_cli_thaw(int argc, char **argv)
{
	return freeze_or_thaw(
		argc, argv, "thaw ID", "Lets a frozen sandbox go on.", RF_METHOD_THAW);
}
