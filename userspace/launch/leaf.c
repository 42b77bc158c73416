/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The file is read directly: notifications of cgroup.events are limited to one in 10 ms. Some
 * kernels still say populated just after the last process was reaped while rmdir works, so rmdir is
 * what decides: it answers EBUSY as long as a process is inside.
 */

#include "launch/leaf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/launch.h"
#include "launch/fd.h"

#define RF_LEAF_TRIES_MAX 1000 /* of 5 ms: five seconds */
#define RF_LEAF_PAUSE_NS 5000000L
#define RF_LEAF_TRIES_BEFORE_KILL 20

static bool rf_leaf_is_populated(void)
{
	int fd rf_autofd = openat(RF_KEEPER_CGROUP, "cgroup.events", O_RDONLY | O_CLOEXEC);
	char text[256];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = 0;
	return strstr(text, "populated 1") != NULL;
}

void rf_leaf_remove(const char *leaf)
{
	const struct timespec pause = {.tv_nsec = RF_LEAF_PAUSE_NS};

	for (int i = 0; i < RF_LEAF_TRIES_MAX; i++) {
		if (unlinkat(RF_KEEPER_CGROUP_BASE, leaf, AT_REMOVEDIR) == 0 || errno != EBUSY)
			return;
		if (i % RF_LEAF_TRIES_BEFORE_KILL == RF_LEAF_TRIES_BEFORE_KILL - 1 &&
			rf_leaf_is_populated() && pwrite(RF_KEEPER_KILL, "1", 1, 0) < 0)
			return;
		nanosleep(&pause, NULL);
	}
}
