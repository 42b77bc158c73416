/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * ring_fd NUMBER COMMAND [ARG…]: runs COMMAND with an io_uring at descriptor NUMBER. Operations on
 * such a ring would be done with the rights of whoever made it.
 */

#include <errno.h>
#include <error.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct io_uring_params parameters = {0};
	int number = argc > 2 ? (int)strtol(argv[1], NULL, 10) : -1;
	int ring;

	if (number < 0)
		error(2, 0, "usage: ring_fd NUMBER COMMAND [ARG…]");
	ring = (int)syscall(SYS_io_uring_setup, 4, &parameters);
	if (ring < 0)
		error(1, errno, "io_uring_setup");
	if (ring != number) {
		if (dup2(ring, number) < 0)
			error(1, errno, "descriptor %d", number);
		close(ring);
	} else {
		/* The kernel makes them with close-on-exec. */
		int copy = dup(ring);

		if (copy < 0 || dup2(copy, number) < 0)
			error(1, errno, "descriptor %d", number);
		close(copy);
	}
	execvp(argv[2], argv + 2);
	error(127, errno, "%s", argv[2]);
}
