/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the readers of YAML and JSON give to the one reader of policies: a flat run of events, each
 * with the place where it was written. Private to userspace/policy.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "policy/policy.h"

enum rf_event_kind {
	RF_EVENT_MAP,
	RF_EVENT_MAP_END,
	RF_EVENT_LIST,
	RF_EVENT_LIST_END,
	RF_EVENT_SCALAR,
	RF_EVENT_END,
};

struct rf_event {
	enum rf_event_kind kind;
	/* Of a scalar; NUL-terminated, may hold other NULs; borrowed until the next event. */
	const char *text;
	size_t size;
	/* Text in quotes: a string whatever it looks like. */
	bool is_quoted;
	/* From 1. */
	unsigned int line;
	unsigned int column;
};

struct rf_events {
	/* 0, RF_REFUSED (with file, line and column) or -errno. */
	int (*next)(struct rf_events *events, struct rf_event *ret_event, struct rf_diag *diag);
	/* For messages. */
	const char *name;
	/* JSON of the wire: text that is not UTF-8 comes as {"hex": "2f62…"}. */
	bool is_wire;
};

/* Reads a policy from events. ret_policy is untouched unless 0. */
int rf_events_read(struct rf_events *events, struct rf_policy *ret_policy, struct rf_diag *diag);

/* Whole texts. The caller has checked that they are UTF-8 without NUL and not too long. */
int rf_read_yaml(const char *name, const char *text, size_t size_bytes,
	struct rf_policy *ret_policy, struct rf_diag *diag);
int rf_read_json(const char *name, const char *text, size_t size_bytes, bool is_wire,
	struct rf_policy *ret_policy, struct rf_diag *diag);
