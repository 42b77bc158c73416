/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One check in a throwaway child. Whatever the check does to its process (namespaces, mounts,
 * filters, limits) dies with it, and a check that hangs costs its deadline, no more.
 */

#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "host/doctor.h"
#include "host/signs.h"

/*
 * Runs in the child, which leads its own process group and dies with the parent. It fills state,
 * call, error, cause and remedy; the result reaches the parent when it returns.
 */
typedef void (*rf_probe_fn)(const struct rf_signs *signs, struct rf_check *check);

struct rf_probe {
	uint64_t deadline_ns;
	pid_t pid;
	/* -1 where the kernel or a filter has none. */
	int pidfd;
	int pipe;
	/* Of the call that could not start it. */
	int error;
};

/* Never fails as such: a child that could not be made is reported by rf_probe_collect. */
void rf_probe_start(
	rf_probe_fn function, const struct rf_signs *signs, int deadline_ms, struct rf_probe *ret);

/*
 * Waits for the result until the probe's deadline, then kills what is left of the group; ret_check
 * keeps its name. A child that cannot die (stuck in the kernel) is given up, not waited for.
 */
void rf_probe_collect(struct rf_probe *probe, struct rf_check *ret_check);

/* Fills a check: what failed, with which errno, and (separately) why and what to do. */
void rf_check_fail(struct rf_check *check, const char *call, int error);
void rf_check_say(struct rf_check *check, const char *cause_format, ...) rf_printf(2, 3);
void rf_check_advise(struct rf_check *check, const char *remedy_format, ...) rf_printf(2, 3);
