/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * forkexec N: forks and executes itself N times, one after another, and prints the nanoseconds that
 * it took. As "forkexec" alone it is the child and ends at once.
 */

#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
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
	char *const child[] = {argv[0], NULL};
	char *const environment[] = {NULL};
	uint64_t start;
	long count;

	if (argc < 2)
		return 0;
	count = strtol(argv[1], NULL, 10);
	start = now_ns();
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			execve("/proc/self/exe", child, environment);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0) {
			perror("forkexec");
			return 1;
		}
	}
	printf("%llu\n", (unsigned long long)(now_ns() - start));
	return 0;
}
