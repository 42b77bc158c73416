/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * System-call filters of one sandbox, as bytes. The controller makes them, the launcher installs
 * them; this side never touches its own process.
 */

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/plan.h"

struct rf_seccomp_filter {
	/* For seccomp(SECCOMP_SET_MODE_FILTER): 0 or SECCOMP_FILTER_FLAG_LOG. */
	uint32_t flags;
	struct sock_filter *instructions;
	size_t n;
};

/*
 * The filters of the plan, to be installed in this order; at most three, none for full access
 * without a network rule. has_lsm_sockets: BPF LSM decides every socket operation, the filter is a
 * floor below it.
 * The array belongs to the caller (rf_seccomp_free). 0 or -errno.
 */
int rf_seccomp_make(const struct rf_plan *plan, bool has_lsm_sockets,
	struct rf_seccomp_filter **ret_filters, size_t *ret_n);

/* Takes NULL; returns NULL. */
struct rf_seccomp_filter *rf_seccomp_free(struct rf_seccomp_filter *filters, size_t n);
