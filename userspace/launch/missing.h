/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/*
 * exec answered ENOENT for a file that exists: writes "NAME: interpreter X is missing inside" for
 * the first interpreter or loader in its chain that is not there.
 */
void rf_missing_describe(const char *path, const char *name, char *text, size_t text_bytes);
