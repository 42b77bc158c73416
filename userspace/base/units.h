/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Numbers with units, as people write them. Nothing is guessed: the whole text must match. */

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits alone. false: not a number or over UINT64_MAX; ret untouched. */
bool rf_parse_u64(const char *text, uint64_t *ret_value);

/* "250ms", "10s", "5m", "2h", "1d"; a unit is required ("0" alone is not). In milliseconds. */
bool rf_parse_duration(const char *text, uint64_t *ret_ms);

/* "4096", "512K", "64M", "2G", "1T", also KiB, MiB, GiB, TiB: powers of 1024. In bytes. */
bool rf_parse_size(const char *text, uint64_t *ret_bytes);

/* Octal digits without sign, at most 07777. */
bool rf_parse_mode(const char *text, unsigned int *ret_mode);
