/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "launch/message.h"

/*
 * A user namespace for this process, in which it is uid and gid and has every capability. Needs no
 * privilege: one id is mapped, its own. 0 or RF_REFUSED.
 */
int rf_userns_make(uid_t uid, gid_t gid, struct rf_launch_message *ret_failure);
