/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * pids COMMAND-LINE: prints the number of each process that has exactly this command line, its
 * arguments with blanks between, a line each. Tests ask in a loop, and pgrep takes five times as
 * long.
 */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096

/* The zombie has no command line any more. */
static int has_line(int pid, const char *line)
{
	char path[40];
	char text[LINE_MAX_BYTES];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text));
	close(fd);
	if (n <= 0 || text[n - 1] != '\0')
		return 0;
	for (ssize_t i = 0; i < n - 1; i++)
		text[i] = text[i] ? text[i] : ' ';
	return strcmp(text, line) == 0;
}

int main(int argc, char **argv)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (argc != 2 || !proc)
		return 2;
	while ((entry = readdir(proc))) {
		int pid = atoi(entry->d_name);

		if (pid > 0 && has_line(pid, argv[1]))
			printf("%d\n", pid);
	}
	closedir(proc);
	return 0;
}
