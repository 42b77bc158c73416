/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Exit status of the process. Each takes its descriptors as base/launch.h numbers them. */
int rf_keeper_main(void);
int rf_init_main(void);
