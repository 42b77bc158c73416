/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One refusal, as data: what was refused, where it was written, and what to do about it.
 * It becomes the `refusal` object of a result and the one line on standard error.
 */

#include <stdbool.h>

#include "base/attr.h"

struct rf_diag {
	/* One word of docs/ringfence.1, for example "write-through-symlink"; never reused. */
	char code[40];
	/* Where a person wrote it; file empty when it was an option. line and column from 1. */
	char file[256];
	unsigned int line;
	unsigned int column;
	char message[1024];
	char hint[1024];
	char path[4100];
	char mechanism[32];
	char missing[256];
	char promise[32];
	/* "plan" or "setup"; empty means plan. */
	char stage[8];
};

/* Fills code and message, clears nothing else; returns RF_REFUSED. diag may be NULL. */
int rf_diag_refuse(struct rf_diag *diag, const char *code, const char *format, ...) rf_printf(3, 4);
/* Each returns nothing and takes a NULL diag; they add to a refusal. */
void rf_diag_hint(struct rf_diag *diag, const char *format, ...) rf_printf(2, 3);
void rf_diag_path(struct rf_diag *diag, const char *path);
void rf_diag_promise(struct rf_diag *diag, const char *promise);
void rf_diag_mechanism(struct rf_diag *diag, const char *mechanism, const char *missing);
void rf_diag_at(struct rf_diag *diag, const char *file, unsigned int line, unsigned int column);
bool rf_diag_is_set(const struct rf_diag *diag);
