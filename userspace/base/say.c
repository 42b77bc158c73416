/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/fd.h"
#include "base/strv.h"

static enum rf_say_level current_level = RF_SAY_NORMAL;

void rf_say_set_level(enum rf_say_level level)
{
	current_level = level;
}

static void add_escaped(struct rf_buf *line, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p < 0x20 || *p == 0x7f)
			rf_buf_addf(line, "\\x%02x", *p);
		else
			rf_buf_add(line, p, 1);
	}
}

rf_printf(1, 0) static void say(const char *format, va_list args)
{
	struct rf_buf line rf_autobuf = {0};
	char *text rf_autofree = NULL;

	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		return;
	}
	rf_buf_addf(&line, "ringfence: ");
	add_escaped(&line, text);
	rf_buf_add(&line, "\n", 1);
	/* Nobody could be told that standard error is gone. */
	if (line.data)
		(void)rf_write_all(STDERR_FILENO, line.data, line.size);
}

void rf_say_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

void rf_say(const char *format, ...)
{
	va_list args;

	if (current_level < RF_SAY_NORMAL)
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}

void rf_say_detail(const char *format, ...)
{
	va_list args;

	if (current_level < RF_SAY_VERBOSE)
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}

void rf_say_refusal(const struct rf_diag *diag)
{
	struct rf_buf line rf_autobuf = {0};

	if (diag->line > 0)
		rf_buf_addf(&line, "%s:%u:%u: ", diag->file, diag->line, diag->column);
	rf_buf_addf(&line, "%s", diag->message);
	if (diag->hint[0])
		rf_buf_addf(&line, " (%s)", diag->hint);
	if (line.data)
		rf_say_error("%s", line.data);
}
