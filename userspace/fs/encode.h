/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Bytes as text: base64 (RFC 4648, with padding) and lower-case hexadecimal. */

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* Characters for so many bytes, without the NUL. */
size_t rf_base64_size(size_t size_bytes);
/* ret_text has room for rf_base64_size() and a NUL, which is written. */
void rf_base64_encode(const void *data, size_t size_bytes, char *ret_text);

#define RF_ENCODED_WRONG 1
/*
 * Strict: padding required, no blanks, no stray bits. 0: ret_data (never NULL, a NUL after it)
 * belongs to the caller; RF_ENCODED_WRONG; -ENOMEM.
 */
int rf_base64_decode(const char *text, size_t length, void **ret_data, size_t *ret_size_bytes);

/* ret_text has room for twice the bytes and a NUL. */
void rf_hex_encode(const void *data, size_t size_bytes, char *ret_text);
/* As rf_base64_decode. Either case of letters. */
int rf_hex_decode(const char *text, size_t length, void **ret_data, size_t *ret_size_bytes);
