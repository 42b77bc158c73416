/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * lineage FILE MILLISECONDS COMMAND...: runs the command as the reaper of all that descends from
 * it, however often it forks or changes its session. What is still there that long after the
 * command's end is written to FILE, a line each, and killed; nobody else's process is ever touched.
 * Exits with the command's status, 128+n for a signal.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIDS_MAX 65536

static void pause_ms(long ms)
{
	struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

static int parent_of(int pid)
{
	char path[40];
	char text[512];
	ssize_t n;
	int fd;
	int parent = -1;
	char *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %d", &parent) != 1)
		return -1;
	return parent;
}

/* Children of ours: orphans come to us, so whatever is left hangs below one of them. */
static int find_children(int *pids)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	if (!proc)
		return 0;
	while ((entry = readdir(proc)) && count < PIDS_MAX) {
		int pid;

		if (sscanf(entry->d_name, "%d", &pid) == 1 && parent_of(pid) == getpid())
			pids[count++] = pid;
	}
	closedir(proc);
	return count;
}

static void name(FILE *file, int pid)
{
	char path[40];
	char text[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	text[n > 0 ? n : 0] = '\0';
	fprintf(file, "process %d: %s\n", pid, text);
}

static void report_and_kill(const char *path)
{
	static int pids[PIDS_MAX];
	FILE *file = fopen(path, "we");

	for (int round = 0; round < 100; round++) {
		int count = find_children(pids);

		if (count == 0)
			break;
		for (int i = 0; i < count; i++) {
			int pidfd = (int)syscall(SYS_pidfd_open, pids[i], 0);

			if (round == 0 && file)
				name(file, pids[i]);
			if (pidfd < 0)
				continue;
			/* Still a child of ours, so this is the process that was found. */
			if (parent_of(pids[i]) == getpid())
				syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
			close(pidfd);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		pause_ms(10);
	}
	if (file)
		fclose(file);
}

/* Has everything gone within the time? */
static bool is_alone(long ms)
{
	for (long waited = 0;; waited += 20) {
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0 && errno == ECHILD)
			return true;
		if (waited >= ms)
			return false;
		pause_ms(20);
	}
}

int main(int argc, char **argv)
{
	int status = 0;
	pid_t child;

	if (argc < 4 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return 125;
	child = fork();
	if (child == 0) {
		execvp(argv[3], argv + 3);
		_exit(127);
	}
	for (;;) {
		pid_t pid = waitpid(-1, &status, 0);

		if (pid == child || (pid < 0 && errno != EINTR))
			break;
	}
	if (!is_alone(strtol(argv[2], NULL, 10)))
		report_and_kill(argv[1]);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
