/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The files that `run` and `plan` read before they ask a controller. */

#include "base/diag.h"
#include "policy/policy.h"

/*
 * System default, then the user's, then the named file ("-": standard input; NULL: none), each laid
 * over the one before. Defaults may be missing. 0, RF_REFUSED or -errno.
 */
int rf_policy_files_read(const char *named, struct rf_policy *ret_policy, struct rf_diag *diag);

/* Adds the NAME=VALUE lines of a file to policy->environment_set. 0, RF_REFUSED or -errno. */
int rf_environment_file_read(const char *path, struct rf_policy *policy, struct rf_diag *diag);
