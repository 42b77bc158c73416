/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/units.h"

#include <stddef.h>
#include <string.h>

#include "base/attr.h"

struct unit {
	const char *suffix;
	uint64_t factor;
};

static bool parse_digits(const char **at, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *p = *at;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return false;
	}
	*at = p;
	*ret_value = value;
	return true;
}

static bool parse_with_unit(
	const char *text, const struct unit *units, size_t n_units, uint64_t *ret_value)
{
	uint64_t value;

	if (!parse_digits(&text, &value))
		return false;
	for (size_t i = 0; i < n_units; i++) {
		if (strcmp(text, units[i].suffix) != 0)
			continue;
		if (__builtin_mul_overflow(value, units[i].factor, &value))
			return false;
		*ret_value = value;
		return true;
	}
	return false;
}

bool rf_parse_u64(const char *text, uint64_t *ret_value)
{
	uint64_t value;

	if (!parse_digits(&text, &value) || *text)
		return false;
	*ret_value = value;
	return true;
}

bool rf_parse_duration(const char *text, uint64_t *ret_ms)
{
	static const struct unit units[] = {
		{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};

	return parse_with_unit(text, units, RF_ARRAY_SIZE(units), ret_ms);
}

bool rf_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{"", 1},
		{"K", 1ULL << 10},
		{"KiB", 1ULL << 10},
		{"M", 1ULL << 20},
		{"MiB", 1ULL << 20},
		{"G", 1ULL << 30},
		{"GiB", 1ULL << 30},
		{"T", 1ULL << 40},
		{"TiB", 1ULL << 40},
	};

	return parse_with_unit(text, units, RF_ARRAY_SIZE(units), ret_bytes);
}

bool rf_parse_mode(const char *text, unsigned int *ret_mode)
{
	unsigned int mode = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '7')
			return false;
		mode = mode * 8 + (unsigned int)(*text - '0');
		if (mode > 07777)
			return false;
	}
	*ret_mode = mode;
	return true;
}
