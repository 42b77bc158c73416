/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Large request lines: what can be large in one is decoded where it stands, before the rest goes to
 * the JSON parser, which would hold it two or three times over, and small values at twenty times
 * their length.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a request without its content: patterns and exclusions at their most are 1.3 MiB. */
#define RF_FS_REST_MAX_BYTES (2U * 1024 * 1024)
#define RF_FS_REST_MAX_VALUES 4096U

enum rf_fs_lift { RF_FS_LIFT_CONTENT, RF_FS_LIFT_TEXT, RF_FS_LIFTS_ };

#define RF_FS_LIFT_LARGE 2

struct rf_fs_lifted {
	bool is_there;
	/* 0; RF_ENCODED_WRONG: not base64, no JSON string; RF_FS_LIFT_LARGE: over the ceiling. */
	int status;
	void *content;
	size_t size;
};

/*
 * Takes the members "content" and "text" of the outermost object out of text, of which "" is left.
 * text ends in NUL, and need not be JSON: it is parsed afterwards. ret_lifted is zeroed before, and
 * the caller's to clear. 0 or -ENOMEM.
 */
int rf_fs_lift(char *text, size_t *size_bytes, uint64_t content_bytes,
	struct rf_fs_lifted ret_lifted[RF_FS_LIFTS_]);
void rf_fs_lift_clear(struct rf_fs_lifted lifted[RF_FS_LIFTS_]);
/* More values than any request has. */
bool rf_fs_has_many_values(const char *text, size_t size_bytes);
