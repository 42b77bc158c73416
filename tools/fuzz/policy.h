/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What holds of any text that is read as a policy, in either language. */

#include <string.h>

#include "base/json.h"
#include "policy/read.h"

/* libfyaml 0.7 loses a buffer of its own at some errors of syntax. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libfyaml";
}

typedef int reader(
	const char *text, size_t size_bytes, struct rf_policy *ret_policy, struct rf_diag *diag);

static void check(bool claim)
{
	if (!claim)
		abort();
}

/* A refusal says what, and where in the text; nothing else was written. */
static void check_refusal(const struct rf_policy *policy, const struct rf_diag *diag)
{
	static const struct rf_policy untouched;

	check(memcmp(policy, &untouched, sizeof(untouched)) == 0);
	check(diag->code[0] && diag->message[0]);
	check(strcmp(diag->file, "fuzz") == 0 && diag->line > 0 && diag->column > 0);
}

/* What crosses the wire is what was read. */
static void check_wire(const struct rf_policy *policy)
{
	struct rf_policy again rf_autopolicy = {0};
	json_t *json rf_autojson = rf_policy_to_json(policy);
	json_t *json_again rf_autojson = NULL;
	struct rf_diag diag = {0};

	check(json);
	check(rf_policy_from_json(json, &again, &diag) == 0);
	json_again = rf_policy_to_json(&again);
	check(json_equal(json, json_again));
}

static int fuzz(reader *read, const uint8_t *data, size_t size)
{
	struct rf_policy policy rf_autopolicy = {0};
	struct rf_diag diag = {0};
	/* A copy of exactly that size, so that one byte too many is seen. */
	char *text rf_autofree = malloc(size ? size : 1);
	int r;

	check(text);
	memcpy(text, data, size);
	r = read(text, size, &policy, &diag);
	check(r == 0 || r == RF_REFUSED);
	if (r == 0)
		check_wire(&policy);
	else
		check_refusal(&policy, &diag);
	return 0;
}
