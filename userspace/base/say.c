/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/strv.h"

static enum rf_say_level current_level = RF_SAY_NORMAL;
static const char *line_end = "\n";

void rf_say_set_level(enum rf_say_level level)
{
	current_level = level;
}

void rf_say_set_raw(bool is_raw)
{
	line_end = is_raw ? "\r\n" : "\n";
}

/* Of a valid UTF-8 sequence. */
static uint32_t code_point(const unsigned char *p, size_t length)
{
	uint32_t point = length == 1 ? *p : *p & (0xffU >> (length + 1));

	for (size_t i = 1; i < length; i++)
		point = point << 6 | (p[i] & 0x3fU);
	return point;
}

static bool is_harmless(uint32_t point)
{
	/* C0, DEL and C1: a terminal takes U+009B for ESC [. */
	if (point < 0x20 || (point >= 0x7f && point <= 0x9f))
		return false;
	/* Marks, embeddings, overrides and isolates of direction; line and paragraph separator. */
	return point != 0x200e && point != 0x200f && (point < 0x2028 || point > 0x202e) &&
	       (point < 0x2066 || point > 0x2069);
}

int rf_say_escape(struct rf_buf *to, const char *text)
{
	size_t left = strlen(text);
	int r = rf_buf_add(to, "", 0);

	for (const unsigned char *p = (const unsigned char *)text; r == 0 && left > 0;) {
		size_t length = rf_utf8_length(p, left);
		bool is_shown = length > 0 && is_harmless(code_point(p, length));

		length += length == 0;
		if (is_shown)
			r = rf_buf_add(to, p, length);
		for (size_t i = 0; !is_shown && r == 0 && i < length; i++)
			r = rf_buf_addf(to, "\\x%02x", p[i]);
		p += length;
		left -= length;
	}
	return r;
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
	if (rf_say_escape(&line, text) < 0 || rf_buf_add(&line, line_end, strlen(line_end)) < 0)
		return;
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
