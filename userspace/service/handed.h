/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Descriptors that the caller hands to the command: standard streams and --pass-fd.
 *
 * They keep the rights of whoever opened them. Two kinds would keep too much:
 *   an io_uring instance   works with its maker's credentials: refused
 *   a directory            ".." leads up to the host's own root, and chmod, chown, utime and
 * setxattr are covered by no Landlock right: replaced by a read-only view of it, a detached mount
 * whose ".." ends at itself; refused where none can be made
 */

#include <stddef.h>

#include "base/diag.h"
#include "base/limits.h"
#include "policy/plan.h"

struct rf_handed {
	int fds[RF_PASS_FDS_MAX + 3];
	size_t count;
};

/*
 * Looks at one (number: for messages; -1 in *fd: closed). *fd becomes a descriptor owned by views
 * where it had to be replaced. waive: the policy's bits; where fs-write is among them a directory
 * passes as it is, and the plan no longer claims that promise. 0 or RF_REFUSED.
 */
int rf_handed_check(int *fd, int number, uint32_t waive, struct rf_plan *plan,
	const struct rf_facts *facts, struct rf_handed *views, struct rf_diag *diag);
void rf_handed_clear(struct rf_handed *views);
