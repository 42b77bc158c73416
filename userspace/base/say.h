/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Messages for people: standard error, one line each, beginning "ringfence: ". Control characters
 * are printed escaped, so that no path or name can forge a line. For programs (cli, service), not
 * for library code, which returns what happened.
 */

#include <stdbool.h>

#include "base/attr.h"

struct rf_buf;
struct rf_diag;

enum rf_say_level { RF_SAY_QUIET, RF_SAY_NORMAL, RF_SAY_VERBOSE };

/*
 * Adds text with every byte as \xHH of what a terminal would not print as itself: control
 * characters, those of C1 included, what turns the direction of a line or breaks it, and bytes that
 * are no UTF-8. 0 or -ENOMEM.
 */
int rf_say_escape(struct rf_buf *to, const char *text);

void rf_say_set_level(enum rf_say_level level);
/* The terminal is raw: a line there ends with a carriage return too. */
void rf_say_set_raw(bool is_raw);
/* Always printed. */
void rf_say_error(const char *format, ...) rf_printf(1, 2);
/* Not printed with --quiet. */
void rf_say(const char *format, ...) rf_printf(1, 2);
/* Printed with --verbose alone. */
void rf_say_detail(const char *format, ...) rf_printf(1, 2);
/* "FILE:LINE:COLUMN: message (hint)" of a refusal, in one line. */
void rf_say_refusal(const struct rf_diag *diag);
