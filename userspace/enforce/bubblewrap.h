/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From a plan to bubblewrap's options, and to the descriptors that they name. */

#include <stddef.h>

#include "base/diag.h"
#include "base/strv.h"
#include "policy/plan.h"

struct rf_bubblewrap {
	/* Options, as read by `bwrap --args`; the program to run is not among them. */
	struct rf_strv arguments;
	/* fds[i] must be open as RF_KEEPER_FIRST_FREE + i. Sources are borrowed from the plan. */
	int *fds;
	size_t n_fds;
	/* Data files made here, owned. */
	int *owned_fds;
	size_t n_owned_fds;
};

/*
 * has_fds false: the same bytes, but no data file is made. 0, RF_REFUSED, -errno.
 */
int rf_bubblewrap_make(const struct rf_plan *plan, bool has_fds,
	struct rf_bubblewrap *ret_bubblewrap, struct rf_diag *diag);
void rf_bubblewrap_clear(struct rf_bubblewrap *bubblewrap);
#define rf_autobubblewrap rf_cleanup(rf_bubblewrap_clear)

/* Is this step built by the stage instead of bubblewrap? */
bool rf_bubblewrap_is_staged(const struct rf_plan *plan, const struct rf_view_step *step);
