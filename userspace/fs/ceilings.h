/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The ceilings of struct rf_fs_options by name: for who reads them from a command line or a
 * message. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/fs.h"

struct rf_fs_ceiling {
	/* The field's name. */
	const char *name;
	size_t offset;
	bool is_narrow; /* the field is an unsigned int */
	uint64_t otherwise;
	/* What it may be raised to. */
	uint64_t max;
};

/* NULL after the last one. */
const struct rf_fs_ceiling *rf_fs_ceiling_at(size_t i);
/* NULL: there is none of this name. */
const struct rf_fs_ceiling *rf_fs_ceiling_find(const char *name);
uint64_t rf_fs_ceiling_get(
	const struct rf_fs_ceiling *ceiling, const struct rf_fs_options *options);
/* value is within the bounds. */
void rf_fs_ceiling_set(
	const struct rf_fs_ceiling *ceiling, struct rf_fs_options *options, uint64_t value);
