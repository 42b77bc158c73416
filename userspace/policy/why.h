/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a plan comes to for one path: may it be read, written or executed inside, which rule says
 * so, which mechanism holds it, and with what errno the kernel will answer. Nothing is changed;
 * names are looked up on the host as the planner did. What a file's own owner, group and mode
 * refuse is said too; access control lists and what the kernel wants capabilities for are not
 * looked at.
 */

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "policy/plan.h"

enum rf_why_access { RF_WHY_READ, RF_WHY_WRITE, RF_WHY_EXEC };

enum rf_verdict {
	RF_VERDICT_ALLOWED,
	RF_VERDICT_DENIED,
	RF_VERDICT_ABSENT,
	RF_VERDICT_DEPENDS, /* on the processes inside: /proc/PID, terminals */
};

struct rf_why {
	enum rf_why_access access;
	enum rf_verdict verdict;
	/* Of a refusal; else 0. */
	int error;
	/* What the path leads to inside, as far as it leads. */
	char path[PATH_MAX];
	/* Bit per rf_mechanism that refuses it; 0 where nothing of ours does. */
	uint32_t by;
	/* Refused by owner, group and mode, as it would be outside. */
	bool is_by_permissions;
	/* The rule: its key, or NULL for what is built in; value NULL: none was written. Borrowed.
	 */
	const char *key;
	const char *value;
	/* In words. Static. */
	const char *because;
};

/* "read", "write", "exec". false: another word. */
bool rf_why_access_parse(const char *text, enum rf_why_access *ret_access);

/*
 * Of a plan that was made with keeps_rules. path: absolute inside, or relative to the command's
 * directory. To write a directory means to make a name in it; to write what is missing, to make it.
 * 0 or -errno.
 */
int rf_plan_why(const struct rf_plan *plan, enum rf_why_access access, const char *path,
	struct rf_why *ret_why);

/* New reference; asked is the path as it was given. */
json_t *rf_why_to_json(const struct rf_why *why, const char *asked);
