/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* sockets N [FILE]: N times socket(), or open() of FILE, and close(); prints the nanoseconds that
 * it took. */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 20000;
	uint64_t start = now_ns();

	for (long i = 0; i < count; i++) {
		int fd = argc > 2 ? open(argv[2], O_RDONLY) : socket(AF_INET, SOCK_STREAM, 0);

		if (fd < 0) {
			perror(argc > 2 ? argv[2] : "socket");
			return 1;
		}
		close(fd);
	}
	printf("%llu\n", (unsigned long long)(now_ns() - start));
	return 0;
}
