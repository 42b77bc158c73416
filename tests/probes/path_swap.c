/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * path_swap A B [TIMES [MICROSECONDS]]: exchanges two names in one step, again and again, with a
 * pause between: a program that checks a name and then uses it meets both. It ends after TIMES,
 * which -1 makes endless, or when an exchange fails.
 */

#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long times = argc > 3 ? strtol(argv[3], NULL, 10) : -1;
	long pause = argc > 4 ? strtol(argv[4], NULL, 10) : 0;

	if (argc < 3)
		error(2, 0, "usage: path_swap A B [TIMES [MICROSECONDS]]");
	for (long i = 0; i != times; i++) {
		if (syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE))
			error(1, errno, "%s and %s", argv[1], argv[2]);
		if (pause > 0)
			usleep((useconds_t)pause);
	}
	return 0;
}
