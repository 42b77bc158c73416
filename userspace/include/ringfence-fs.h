/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The guarded filesystem for C programs: one header for all of it. What is declared by the three
 * below is stable; the headers beside them are not.
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
 * fs.h is the filesystem, glob.h its patterns (which can be used without one), request.h the JSON
 *of `ringfence fs batch` and FileBatch.
 */

#include "fs/fs.h"
#include "fs/glob.h"
#include "fs/request.h"
