/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where things lie: one answer for the client, the controller and the tests. */

#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/diag.h"

/*
 * The runtime directory: /run/ringfence for root; $XDG_RUNTIME_DIR/ringfence for others when that
 * is a directory of theirs, else /tmp/ringfence-UID. Made (0700, root: 0755) when missing. Belongs
 * to the caller. 0, -ENOMEM, or RF_REFUSED (code runtime-directory) when it cannot be made, another
 * owns it or may write there, or it is a link; diag may be NULL.
 */
int rf_place_runtime(uid_t uid, char **ret_directory, struct rf_diag *diag);

/* Ledger's directory: /var/lib/ringfence for root; $XDG_STATE_HOME/ringfence or
 * ~/.local/state/ringfence, else the runtime directory. Made when missing. 0, -ENOMEM, or
 * RF_REFUSED (code ledger-unavailable, or runtime-directory); diag may be NULL. */
int rf_place_state(uid_t uid, const char *home, char **ret_directory, struct rf_diag *diag);

/*
 * A program of ours ("ringfenced", "ringfence-launch"): beside the running executable, else in
 * ../libexec/ringfence from there, so that an installed tree may lie anywhere, else in the libexec
 * directory that the build was configured with. Absolute; -ENOENT when in none of them.
 */
int rf_place_program(const char *name, char **ret_path);
/* "DIRECTORY, DIRECTORY or DIRECTORY": where it looks. Belongs to the caller; NULL: no memory. */
char *rf_place_searched(void);
