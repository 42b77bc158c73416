/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The guarded filesystem for C programs, in libringfence (pkg-config ringfence, ringfence(3)):
 *
 *	struct rf_fs *fs rf_autofs = NULL;
 *	const char *const patterns[] = {"src/ ** / *.c", NULL};     (without the blanks)
 *	const struct rf_fs_request requests[] = {
 *		{.operation = RF_FS_READ, .path = "README"},
 *		{.operation = RF_FS_GLOB, .path = ".", .patterns = patterns},
 *	};
 *	struct rf_fs_result results[2];
 *
 *	r = rf_fs_open(&fs, "/srv/tree", NULL);
 *	rf_fs_set_glob(fs, rf_glob_run);
 *	r = rf_fs_batch(fs, requests, 2, results);
 *
 * fs.h is the filesystem, glob.h its patterns, which can be used without one. What the two declare
 * is stable; the headers beside them are not.
 */

/* Before the linkage of C, which is not theirs. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "fs/fs.h"
#include "fs/glob.h"

#ifdef __cplusplus
}
#endif
