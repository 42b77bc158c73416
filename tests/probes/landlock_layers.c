/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * landlock_layers COUNT COMMAND [ARG…]: runs COMMAND below COUNT Landlock rulesets that handle TCP
 * binding alone, so that nothing else of what it does is touched. Needs ABI 4.
 */

#include <errno.h>
#include <error.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From linux/landlock.h, whose older versions have no handled_access_net. */
struct ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
};

#define ACCESS_NET_BIND_TCP 1ULL

int main(int argc, char **argv)
{
	struct ruleset ruleset = {.handled_access_net = ACCESS_NET_BIND_TCP};
	long count = argc > 2 ? strtol(argv[1], NULL, 10) : -1;

	if (count < 0)
		error(2, 0, "usage: landlock_layers COUNT COMMAND [ARG…]");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		error(1, errno, "no_new_privs");
	for (long i = 0; i < count; i++) {
		int fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);

		if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0))
			error(1, errno, "layer %ld", i + 1);
		close(fd);
	}
	execvp(argv[2], argv + 2);
	error(127, errno, "%s", argv[2]);
}
