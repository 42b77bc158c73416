/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What jansson does not have: bytes that are not UTF-8, strict reading, typed look-ups. */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

static inline void rf_json_unref_p(json_t **json)
{
	json_decref(*json);
}

/* json_t *object rf_autojson = NULL; */
#define rf_autojson rf_cleanup(rf_json_unref_p)

/*
 * Strict reading: duplicate keys, trailing text and NUL in strings are refused. A new reference;
 * NULL with *ret_error (jansson's position and text) when it is not JSON.
 */
json_t *rf_json_parse(const char *text, size_t size_bytes, json_error_t *ret_error);

/*
 * A string of bytes that someone else chose: every byte that is not part of valid UTF-8, and
 * NUL, becomes the four characters \xHH; a backslash stays as it is. New reference.
 */
json_t *rf_json_bytes(const char *bytes, size_t size_bytes);
json_t *rf_json_text(const char *text); /* NULL gives null */

/* Length of the valid UTF-8 sequence at the start of bytes, 0 when there is none (or a NUL). */
size_t rf_utf8_length(const unsigned char *bytes, size_t left);

/* A 64-bit identity as a decimal string, which is how the wire carries them. New reference. */
json_t *rf_json_id(uint64_t id);

/* One line without a line feed (keys in insertion order); belongs to the caller; NULL: no memory.
 */
char *rf_json_line(const json_t *json);
/* Indented by two, with a final line feed. */
char *rf_json_pretty(const json_t *json);

/* Borrowed text of a member, or NULL when missing or of another type. */
const char *rf_json_get_text(const json_t *object, const char *key);
/* A member that is an integer >= 0; otherwise fallback. */
uint64_t rf_json_get_u64(const json_t *object, const char *key, uint64_t fallback);
bool rf_json_get_bool(const json_t *object, const char *key, bool fallback);

struct rf_diag;
/* The `refusal` object of a result, and back. */
json_t *rf_json_from_diag(const struct rf_diag *diag);
void rf_json_to_diag(const json_t *refusal, struct rf_diag *ret_diag);
