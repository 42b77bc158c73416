/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Texts that must arrive byte for byte (arguments, environment, working directory) and need not be
 * UTF-8: a JSON string where they are, {"hex": "2f746d70…"} where they are not.
 */

#include <jansson.h>
#include <stddef.h>

#include "base/attr.h"

/* New reference; NULL: no memory. */
json_t *rf_wire_text(const char *text);
/* A list of them from a NULL-terminated list (NULL: empty). */
json_t *rf_wire_texts(const char *const *texts);

#define RF_WIRE_TEXT_INVALID 1
/* 0: *ret_text belongs to the caller; RF_WIRE_TEXT_INVALID: neither form, or a NUL; -ENOMEM. */
int rf_wire_text_get(const json_t *json, char **ret_text);
