/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "base/json.h"
#include "cli/print.h"

void rf_print_plan(const json_t *plan)
{
	const char *mode = rf_json_get_text(plan, "mode");

	printf("mode %s\n", mode ? mode : "-");
}
