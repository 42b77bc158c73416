/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ringfence-launch: started by the controller alone, static, and nothing but libc. */

#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/launch.h"
#include "launch/roles.h"

static int rf_main_usage(void)
{
	static const char text[] = "ringfence-launch: started by ringfence, not by hand\n";

	ssize_t written rf_unused = write(STDERR_FILENO, text, sizeof(text) - 1);

	return 125;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], RF_LAUNCH_ROLE_KEEPER) == 0)
		return rf_keeper_main();
	if (argc == 2 && strcmp(argv[1], RF_LAUNCH_ROLE_INIT) == 0)
		return rf_init_main();
	return rf_main_usage();
}
