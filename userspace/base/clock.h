/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* CLOCK_MONOTONIC, CLOCK_BOOTTIME and CLOCK_REALTIME in nanoseconds. */
uint64_t rf_monotonic_ns(void);
uint64_t rf_boottime_ns(void);
uint64_t rf_realtime_ns(void);

#define RF_TIME_TEXT_BYTES 32
/* "2026-11-30T15:00:00.123Z" (RFC 3339, UTC, milliseconds). */
void rf_time_text(uint64_t realtime_ns, char ret_text[RF_TIME_TEXT_BYTES]);
