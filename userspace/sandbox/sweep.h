/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Reaping what a dead controller left. One code for start-up and for `ringfence sweep`.
 *
 * A record that cannot be judged stays for the next sweep and nothing of it is signalled: an
 * unanswered question never permits a kill.
 */

#include <jansson.h>
#include <stdbool.h>

#include "base/diag.h"

struct rf_controller;

enum rf_sweep_outcome {
	/* stay */
	RF_SWEEP_OWNER_ALIVE,
	RF_SWEEP_IDENTITY_UNVERIFIED,
	RF_SWEEP_OWN_CGROUP_UNKNOWN,
	RF_SWEEP_FOREIGN_HOST,
	RF_SWEEP_KILL_FAILED,
	/* retired, unsignalled */
	RF_SWEEP_PRE_BOOT,
	RF_SWEEP_GONE,
	RF_SWEEP_IDENTITY_MISMATCH,
	RF_SWEEP_INVALID_RECORD,
	RF_SWEEP_OWN_CGROUP,
	/* killed, seen empty, retired */
	RF_SWEEP_KILLED,
	RF_SWEEP_OUTCOMES,
};

struct rf_sweep_counts {
	unsigned int by[RF_SWEEP_OUTCOMES];
};

const char *rf_sweep_outcome_name(enum rf_sweep_outcome outcome);

/* 0 or -errno when the ledger cannot be read. */
int rf_sweep(struct rf_controller *controller, struct rf_sweep_counts *ret_counts);
/* Does something still run that no controller owns? */
bool rf_sweep_left_something(const struct rf_sweep_counts *counts);
/* Was there a record whose controller is dead? */
bool rf_sweep_found_dead(const struct rf_sweep_counts *counts);
/* {"owner-alive": n, …}, every outcome. New reference. */
json_t *rf_sweep_to_json(const struct rf_sweep_counts *counts);
