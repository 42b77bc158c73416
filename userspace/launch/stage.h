/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "launch/message.h"
#include "launch/spec.h"

/*
 * Builds the staged view in a mount namespace of this process's own and gives it back as a
 * detached tree, which the launcher attaches inside. 0 with the owned *ret_tree, or RF_REFUSED.
 */
int rf_stage_build(
	const struct rf_keeper_plan *plan, int *ret_tree, struct rf_launch_message *ret_failure);
