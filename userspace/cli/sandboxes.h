/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Every sandbox that this user can see: those of the service and of each private controller that
 * listens below a runtime directory (for root: below those of all logged-in users too).
 */

#include <jansson.h>
#include <stddef.h>

#include "base/diag.h"
#include "base/strv.h"
#include "wire/varlink.h"

/* A stuck controller costs this much, and no more, however many are stuck. */
#define RF_SANDBOXES_DEADLINE_MS 2000

struct rf_sandboxes {
	/* Objects as List gives them; of each, where its controller listens and as whom (-1: not
	 * looked at). */
	json_t *list;
	struct rf_strv sockets;
	long long *uids;
	/* Controllers that did not answer. */
	size_t n_silent;
};

/* 0 or -errno. Says which controllers did not answer. */
int rf_sandboxes_find(struct rf_sandboxes *ret_sandboxes);
void rf_sandboxes_clear(struct rf_sandboxes *sandboxes);
#define rf_autosandboxes rf_cleanup(rf_sandboxes_clear)

/*
 * The one sandbox with this identity, or that alone begins with it (four characters at least).
 * Opens a connection to its controller. 0, RF_REFUSED (unknown, ambiguous, gone) or -errno.
 */
int rf_sandbox_connect(
	const char *id, char **ret_id, struct rf_wire **ret_wire, struct rf_diag *diag);
