/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Waits, bounded, until the sandbox's cgroup is empty, killing again what is left, and removes
 * it below RF_KEEPER_CGROUP_BASE. A leaf that is gone already is what was wanted.
 */
void rf_leaf_remove(const char *leaf);
