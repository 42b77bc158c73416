/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

int rf_diag_refuse(struct rf_diag *diag, const char *code, const char *format, ...)
{
	va_list args;

	if (!diag)
		return RF_REFUSED;
	copy(diag->code, sizeof(diag->code), code);
	va_start(args, format);
	vsnprintf(diag->message, sizeof(diag->message), format, args);
	va_end(args);
	return RF_REFUSED;
}

void rf_diag_hint(struct rf_diag *diag, const char *format, ...)
{
	va_list args;

	if (!diag)
		return;
	va_start(args, format);
	vsnprintf(diag->hint, sizeof(diag->hint), format, args);
	va_end(args);
}

void rf_diag_path(struct rf_diag *diag, const char *path)
{
	if (diag)
		copy(diag->path, sizeof(diag->path), path);
}

void rf_diag_promise(struct rf_diag *diag, const char *promise)
{
	if (diag)
		copy(diag->promise, sizeof(diag->promise), promise);
}

void rf_diag_mechanism(struct rf_diag *diag, const char *mechanism, const char *missing)
{
	if (!diag)
		return;
	copy(diag->mechanism, sizeof(diag->mechanism), mechanism);
	copy(diag->missing, sizeof(diag->missing), missing);
}

void rf_diag_at(struct rf_diag *diag, const char *file, unsigned int line, unsigned int column)
{
	if (!diag)
		return;
	copy(diag->file, sizeof(diag->file), file);
	diag->line = line;
	diag->column = column;
}

bool rf_diag_is_set(const struct rf_diag *diag)
{
	return diag && diag->code[0];
}
