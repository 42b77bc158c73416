/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A result in a few lines for people. */

#include <jansson.h>

#include "policy/policy.h"

/* Limits that were hit and the first denials, to standard error (not with --quiet). */
void rf_report_result(const json_t *result, const struct rf_policy *policy);

/* "1s", "250ms"; "64M", "1000"; room for RF_QUANTITY_BYTES. */
#define RF_QUANTITY_BYTES 32
void rf_duration_text(uint64_t ms, char ret_text[RF_QUANTITY_BYTES]);
void rf_size_text(uint64_t bytes, char ret_text[RF_QUANTITY_BYTES]);
