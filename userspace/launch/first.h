/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The first process of a sandbox, between clone and exec of bubblewrap. */

#include <stdbool.h>
#include <sys/types.h>

#include "launch/spec.h"

struct rf_first {
	const struct rf_keeper_plan *plan;
	int channel; /* the launcher's end */
	int gate;    /* one byte comes when the label is set; end of file: exit */
	bool has_own_mounts;
};

/* Waits at the gate, then execs; says on the channel what failed and exits otherwise. */
_Noreturn void rf_first_run(const struct rf_first *first);
