/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a run takes from the process that asks for it, and the parameters of Run and Plan. */

#include <jansson.h>
#include <stdint.h>
#include <sys/resource.h>

#include "cli/options.h"

/* As the client was started with: read before it touches its own signals and mask. */
struct rf_origin {
	/* Bit (n - 1). */
	uint64_t ignored_signals;
	unsigned int umask;
	struct rlimit nofile;
};

void rf_origin_read(struct rf_origin *ret_origin);

/*
 * The parameters of Run (has_descriptors: the standard streams are 0, 1, 2 of the message, what is
 * passed follows) or of Plan. 0, RF_REFUSED or -ENOMEM; ret_parameters is a new reference.
 */
int rf_request_make(const struct rf_run_options *options, const struct rf_origin *origin,
	bool has_descriptors, json_t **ret_parameters, struct rf_diag *diag);

/* To parameters of Run: the three streams are one socket, for a terminal of the command's own. */
void rf_request_add_terminal(json_t *parameters);

/*
 * A descriptor of an io_uring instance works with its maker's rights: none is handed in. Looks at
 * the standard streams and what is passed. 0 or RF_REFUSED.
 */
int rf_request_check_descriptors(const struct rf_run_options *options, struct rf_diag *diag);
