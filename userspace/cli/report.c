/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/report.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/say.h"
#include "policy/keys.h"

#define DENIALS_SHOWN 5U

struct unit {
	uint64_t factor;
	const char *suffix;
};

/* With the largest unit that leaves a whole number; the last unit's factor is 1. */
static void quantity_text(
	uint64_t value, const struct unit *units, char ret_text[RF_QUANTITY_BYTES])
{
	while (units->factor > 1 && (value == 0 || value % units->factor != 0))
		units++;
	snprintf(
		ret_text, RF_QUANTITY_BYTES, "%" PRIu64 "%s", value / units->factor, units->suffix);
}

void rf_duration_text(uint64_t ms, char ret_text[RF_QUANTITY_BYTES])
{
	static const struct unit units[] = {
		{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};

	quantity_text(ms, units, ret_text);
}

void rf_size_text(uint64_t bytes, char ret_text[RF_QUANTITY_BYTES])
{
	static const struct unit units[] = {{1ULL << 40, "T"}, {1ULL << 30, "G"}, {1ULL << 20, "M"},
		{1ULL << 10, "K"}, {1, ""}};

	quantity_text(bytes, units, ret_text);
}

static void report_limit(const char *name, const struct rf_policy *policy)
{
	char text[RF_QUANTITY_BYTES];

	if (strcmp(name, "timeout") == 0) {
		rf_duration_text(policy->limits[RF_LIMIT_TIMEOUT].value, text);
		rf_say("the wall-time limit of %s ended the run", text);
	} else if (strcmp(name, "memory") == 0) {
		rf_size_text(policy->limits[RF_LIMIT_MEMORY].value, text);
		rf_say("the memory limit of %s was reached and processes were killed", text);
	} else if (strcmp(name, "pids") == 0) {
		rf_say("the limit of %" PRIu64 " processes and threads was reached",
			policy->limits[RF_LIMIT_PIDS].value);
	} else {
		rf_say("the limit %s was reached", name);
	}
}

/* "127.0.0.3 port 8000/tcp". */
static void address_text(const json_t *denial, const char *address, char *ret_text, size_t size)
{
	uint64_t protocol = rf_json_get_u64(denial, "protocol", 0);
	uint64_t port = rf_json_get_u64(denial, "port", 0);
	const char *name = protocol == IPPROTO_TCP ? "/tcp" : protocol == IPPROTO_UDP ? "/udp" : "";

	if (port)
		snprintf(ret_text, size, "%.64s port %" PRIu64 "%s", address, port, name);
	else
		snprintf(ret_text, size, "%.64s", address);
}

static void report_denial(const json_t *denial, const struct rf_policy *policy)
{
	/* It has no list of destinations. */
	bool is_in_the_way = policy->posture == RF_POSTURE_HOST_LOOPBACK;

	const char *op = rf_json_get_text(denial, "op");
	const char *path = rf_json_get_text(denial, "path");
	const char *error = rf_json_get_text(denial, "errno");
	const char *by = rf_json_get_text(denial, "by");
	uint64_t count = rf_json_get_u64(denial, "count", 1);
	const char *address = rf_json_get_text(denial, "address");
	const char *grant = rf_json_get_text(denial, "grant");
	char times[32] = "", text[160];

	if (address)
		address_text(denial, address, text, sizeof(text));
	/* Of a socket without one there is a family. */
	if (address)
		path = text;
	else if (!path)
		path = rf_family_name((int)rf_json_get_u64(denial, "family", 0));
	if (count > 1)
		snprintf(times, sizeof(times), ", %" PRIu64 " times", count);
	rf_say("denied: %s%s%s (%s%s%s%s)%s%s%s", op ? op : "access", path ? " " : "",
		path ? path : "", error ? error : "refused", by ? " by " : "", by ? by : "", times,
		grant ? "; would be allowed by " : "", grant ? grant : "",
		grant && is_in_the_way ? " in place of --net host-loopback" : "");
}

/* An end that neither the command nor a limit explains. */
static void report_reason(const json_t *result)
{
	const char *reason = rf_json_get_text(result, "reason");
	const char *stage = rf_json_get_text(result, "stage");

	if (!reason || !stage)
		return;
	if (strcmp(reason, "lost") == 0)
		rf_say_error("the run is lost: it ended without its first process saying how");
	else if (strcmp(reason, "oom") == 0 &&
		 json_array_size(json_object_get(result, "limits_hit")) == 0)
		rf_say_error("the kernel ran out of memory and killed the command");
	/* Before the start it is our own caller who gave up. */
	else if (strcmp(reason, "abort") == 0 && strcmp(stage, "setup") != 0)
		rf_say("the run was stopped from outside (ringfence kill, or the end of its "
		       "controller)");
}

/*
 * A promise that is held, by closing more than was asked for: the command meets a bare EPERM, of
 * which no denial is recorded. One that is off was warned of.
 */
static void report_unix(const json_t *result)
{
	const json_t *promises =
		json_object_get(json_object_get(result, "enforcement"), "promises");
	const json_t *promise = json_object_get(promises, "unix-connect");
	const char *state = rf_json_get_text(promise, "state");
	const char *why = rf_json_get_text(promise, "why");

	if (state && strcmp(state, "enforced") == 0 && why && *why)
		rf_say_detail("unix-connect: %s", why);
}

void rf_report_result(const json_t *result, const struct rf_policy *policy)
{
	const json_t *limits = json_object_get(result, "limits_hit");
	const json_t *denials = json_object_get(result, "denials");
	size_t n_denials = json_array_size(denials);
	const json_t *entry;
	size_t i;

	report_reason(result);
	report_unix(result);
	json_array_foreach (limits, i, entry) {
		if (json_is_string(entry))
			report_limit(json_string_value(entry), policy);
	}
	json_array_foreach (denials, i, entry) {
		if (i >= DENIALS_SHOWN)
			break;
		report_denial(entry, policy);
	}
	if (n_denials > DENIALS_SHOWN)
		rf_say("further denials: %zu (--result has them)", n_denials - DENIALS_SHOWN);
}
