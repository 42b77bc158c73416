/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t now(clockid_t clock)
{
	struct timespec ts = {0};

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

uint64_t rf_monotonic_ns(void)
{
	return now(CLOCK_MONOTONIC);
}

uint64_t rf_boottime_ns(void)
{
	return now(CLOCK_BOOTTIME);
}

uint64_t rf_realtime_ns(void)
{
	return now(CLOCK_REALTIME);
}

void rf_time_text(uint64_t realtime_ns, char ret_text[RF_TIME_TEXT_BYTES])
{
	time_t seconds = (time_t)(realtime_ns / 1000000000ULL);
	unsigned int ms = (unsigned int)(realtime_ns / 1000000ULL % 1000);
	char day[24];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret_text, RF_TIME_TEXT_BYTES, "%s.%03uZ", day, ms);
}
