/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A file of git's configuration, as a command left it: settings come out whole, or it is refused.
 */

#include "policy/git_config.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int claim)
{
	if (!claim)
		abort();
}

static int take(void *data, const char *key, const char *value)
{
	size_t *size = data;
	const char *dot = strrchr(key, '.');

	check(dot && dot[1]);
	/* Nothing is made up. */
	check(strlen(key) + (value ? strlen(value) : 0) <= *size + 1);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int r = rf_git_config_parse((const char *)data, size, take, &size);

	check(r == 0 || r == -EBADMSG);
	return 0;
}
