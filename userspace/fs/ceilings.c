/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "fs/ceilings.h"

#include <string.h>

#define FIELD(name) #name, offsetof(struct rf_fs_options, name)

static const struct rf_fs_ceiling ceilings[] = {
	/* 0: the CPUs that the caller may run on. */
	{FIELD(concurrency), true, 0, RF_FS_CONCURRENCY_MAX},
	{FIELD(content_bytes), false, RF_FS_CONTENT_BYTES, RF_FS_CONTENT_MAX_BYTES},
	{FIELD(deadline_ms), false, RF_FS_DEADLINE_MS, RF_FS_DEADLINE_MAX_MS},
	{FIELD(depth), true, RF_FS_DEPTH, RF_FS_DEPTH_MAX},
	{FIELD(entries), false, RF_FS_ENTRIES, RF_FS_ENTRIES_MAX},
	{FIELD(request_bytes), false, RF_FS_REQUEST_BYTES, 2 * RF_FS_CONTENT_MAX_BYTES},
	{FIELD(response_bytes), false, RF_FS_RESPONSE_BYTES, 2 * RF_FS_CONTENT_MAX_BYTES},
};

const struct rf_fs_ceiling *rf_fs_ceiling_at(size_t i)
{
	return i < RF_ARRAY_SIZE(ceilings) ? &ceilings[i] : NULL;
}

const struct rf_fs_ceiling *rf_fs_ceiling_find(const char *name)
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(ceilings); i++) {
		if (strcmp(ceilings[i].name, name) == 0)
			return &ceilings[i];
	}
	return NULL;
}

uint64_t rf_fs_ceiling_get(const struct rf_fs_ceiling *ceiling, const struct rf_fs_options *options)
{
	const void *field = (const char *)options + ceiling->offset;

	return ceiling->is_narrow ? *(const unsigned int *)field : *(const uint64_t *)field;
}

void rf_fs_ceiling_set(
	const struct rf_fs_ceiling *ceiling, struct rf_fs_options *options, uint64_t value)
{
	void *field = (char *)options + ceiling->offset;

	if (ceiling->is_narrow)
		*(unsigned int *)field = (unsigned int)value;
	else
		*(uint64_t *)field = value;
}
