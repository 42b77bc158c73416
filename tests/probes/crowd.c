/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * crowd N FILE: makes N processes that ignore SIGTERM and sleep, then writes their pids to FILE
 * ("-" for standard output) and sleeps too.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	FILE *out = argc > 2 && strcmp(argv[2], "-") != 0 ? fopen(argv[2], "w") : stdout;

	if (!out)
		return 1;
	signal(SIGTERM, SIG_IGN);
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			for (;;)
				pause();
		}
		if (pid < 0)
			return 1;
		fprintf(out, "%d\n", (int)pid);
	}
	fprintf(out, "ready\n");
	fflush(out);
	for (;;)
		pause();
}
