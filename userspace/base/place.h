/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where things lie: one answer for the client, the controller and the tests. */

#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"

/*
 * The runtime directory: /run/ringfence for root; $XDG_RUNTIME_DIR/ringfence for others when that
 * is a directory of theirs, else /tmp/ringfence-UID. Made (0700, root: 0755) when missing, refused
 * (-EPERM) when another owns it or it is a link. Belongs to the caller. 0 or -errno.
 */
int rf_place_runtime(uid_t uid, char **ret_directory);

/* Ledger's directory: /var/lib/ringfence for root; $XDG_STATE_HOME/ringfence or
 * ~/.local/state/ringfence, else the runtime directory. Made when missing. 0 or -errno. */
int rf_place_state(uid_t uid, const char *home, char **ret_directory);

/*
 * A program of ours ("ringfenced", "ringfence-launch"): beside the running executable, else in the
 * libexec directory that the build was configured with. Absolute; -ENOENT when in neither.
 */
int rf_place_program(const char *name, char **ret_path);
