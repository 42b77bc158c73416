/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/fs.h"

#define NS_PER_SECOND UINT64_C(1000000000)
/* Before the first line, and between two. */
#define PATIENCE_NS NS_PER_SECOND
#define PAUSE_NS (NS_PER_SECOND / 5)

static struct {
	bool is_on;
	bool is_shown;
	const char *what;
	uint64_t start_ns;
	uint64_t shown_ns;
	/* The last that was told. */
	uint64_t done;
} progress;

static void draw(const char *text, int size)
{
	/* Carriage return, the text, and nothing behind it. */
	char line[160];
	int n = snprintf(line, sizeof(line), "\r%.*s\033[K", size, text);

	(void)rf_write_all(STDERR_FILENO, line, (size_t)n);
}

void rf_fs_progress_begin(const char *what)
{
	progress.is_on = isatty(STDERR_FILENO);
	progress.is_shown = false;
	progress.what = what;
	progress.done = 0;
	progress.start_ns = progress.shown_ns = rf_monotonic_ns();
}

void rf_fs_progress_tick(uint64_t done)
{
	char text[128];
	uint64_t now;
	int n;

	if (!progress.is_on)
		return;
	if (done > 0)
		progress.done = done;
	now = rf_monotonic_ns();
	if (now - progress.start_ns < PATIENCE_NS || now - progress.shown_ns < PAUSE_NS)
		return;
	progress.shown_ns = now;
	progress.is_shown = true;
	n = snprintf(text, sizeof(text), "ringfence: %s: %" PRIu64 " s", progress.what,
		(now - progress.start_ns) / NS_PER_SECOND);
	if (progress.done > 0)
		n += snprintf(
			text + n, sizeof(text) - (size_t)n, ", %" PRIu64 " done", progress.done);
	draw(text, n);
}

void rf_fs_progress_end(void)
{
	if (progress.is_shown)
		draw("", 0);
	progress.is_on = progress.is_shown = false;
}
