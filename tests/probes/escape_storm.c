/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * escape_storm CHAINS MILLISECONDS FILE: that many processes, each in a session of its own and deaf
 * to TERM, fork and exit at once, so that no number names them for long; each hop adds a byte to
 * FILE. They end by themselves after the time; the first process ends as soon as they run.
 */

#include <fcntl.h>
#include <stdint.h>
#include <time.h>

#include "escape.h"

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void chain(int fd, int64_t end_ms)
{
	const struct timespec pause_time = {0, 2000000};

	setsid();
	while (now_ms() < end_ms) {
		if (write(fd, "x", 1) != 1)
			_exit(1);
		nanosleep(&pause_time, NULL);
		if (fork() != 0)
			_exit(0);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int64_t end_ms;
	int fd;

	if (argc != 4) {
		fprintf(stderr, "usage: escape_storm CHAINS MILLISECONDS FILE\n");
		return 2;
	}
	end_ms = now_ms() + escape_number(argv[2]);
	fd = open(argv[3], O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fd < 0)
		return 1;
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	for (int i = escape_number(argv[1]); i > 0; i--)
		if (fork() == 0)
			chain(fd, end_ms);
	puts("running");
	return 0;
}
