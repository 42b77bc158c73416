/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The scratch directory in which the canary tries the guards on files: a tmpfs that is mounted
 * nowhere and gone with its last descriptor. The loader puts rules on its entries.
 *
 *	top/closed		no open
 *	top/protected		no change
 *	top/pinned/		neither moved nor removed
 *	top/listed/neighbour	in a directory that is open for what the canary makes in it
 *	top/missing		may not be made
 */

#include "enforce/bpf_canary.h"

enum rf_canary_file {
	RF_CANARY_FILE_TOP,
	RF_CANARY_FILE_CLOSED,
	RF_CANARY_FILE_PROTECTED,
	RF_CANARY_FILE_PINNED,
	RF_CANARY_FILE_LISTED,
};

#define RF_CANARY_FILE_MISSING "missing"

/* A descriptor of the directory, or -errno. */
int rf_canary_files_make(void);
/* O_PATH, or -errno. */
int rf_canary_file_open(const struct rf_canary *canary, enum rf_canary_file file);
/* In the child: 0 or the errno. */
int rf_canary_file_try(int directory_fd, enum rf_canary_ask ask);
