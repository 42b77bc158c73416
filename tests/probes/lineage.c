/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * lineage [OPTION...] [NAME=VALUE...] COMMAND...: runs the command in a session of its own, with
 * this environment and no other, as the reaper of all that descends from it, however often it forks
 * or changes its session. Exits with the command's status, 128+n for a signal.
 *
 *   -d DIRECTORY     made, with everybody may enter it; may be repeated
 *   -C DIRECTORY     the working directory
 *   -t SECONDS       then, or when told to end by TERM, TERM to the command's group and five
 * seconds later KILL; the status is 124 -l FILE          what is still there -w MILLISECONDS after
 * the command's end is written to it, a line each, and killed; nobody else's process is ever
 * touched -k FILE          gets the kernel's log, which is cleared; no file where it was empty
 *
 * One program for what would take seven: where the processor is emulated, each costs as much as a
 * test.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

struct request {
	const char *left;
	const char *log;
	const char *directory;
	long left_ms;
	long limit_ms; /* 0: none */
	char **command;
};

static void make_directory(const char *path)
{
	if (mkdir(path, 0755) < 0 || chmod(path, 0755) < 0) {
		perror(path);
		exit(125);
	}
}

static void read_arguments(struct request *request, int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "+d:C:t:l:w:k:")) != -1) {
		if (option == 'd')
			make_directory(optarg);
		else if (option == 'C')
			request->directory = optarg;
		else if (option == 't')
			request->limit_ms = 1000 * strtol(optarg, NULL, 10);
		else if (option == 'l')
			request->left = optarg;
		else if (option == 'w')
			request->left_ms = strtol(optarg, NULL, 10);
		else if (option == 'k')
			request->log = optarg;
		else
			exit(125);
	}
	clearenv();
	for (; optind < argc && strchr(argv[optind], '='); optind++)
		putenv(argv[optind]);
	request->command = argv + optind;
	if (optind == argc)
		exit(125);
}

static pid_t start(const struct request *request, const sigset_t *mask)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	/* A group of its own, so that a time limit ends the command and not us. */
	setpgid(0, 0);
	/* A runner in the background has some ignored, and no test expects that. */
	for (int signal_number = 1; signal_number < 32; signal_number++)
		signal(signal_number, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (request->directory && chdir(request->directory) < 0)
		_exit(125);
	execvp(request->command[0], request->command);
	_exit(127);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Has the child ended before that long, and before we were told to end? Whoever else ends is
 * reaped. */
static bool has_ended(pid_t child, int *ret_status, const sigset_t *awaited, long ms)
{
	long end = now_ms() + ms;

	for (;;) {
		long left = end - now_ms();
		struct timespec pause = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};
		int status;
		pid_t pid;

		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			if (pid != child)
				continue;
			*ret_status = status;
			return true;
		}
		if (left <= 0 || sigtimedwait(awaited, NULL, &pause) == SIGTERM)
			return false;
	}
}

static int wait_for_end(pid_t child, const sigset_t *awaited, long limit_ms)
{
	int status;

	if (has_ended(child, &status, awaited, limit_ms))
		return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	kill(-child, SIGTERM);
	if (!has_ended(child, &status, awaited, 5000)) {
		kill(-child, SIGKILL);
		waitpid(child, &status, 0);
	}
	return 124;
}

static void save_log(const char *path)
{
	int room = klogctl(10 /* SYSLOG_ACTION_SIZE_BUFFER */, NULL, 0);
	char *text = room > 0 ? malloc((size_t)room) : NULL;
	int size = text ? klogctl(4 /* SYSLOG_ACTION_READ_CLEAR */, text, room) : -1;
	FILE *file = size != 0 ? fopen(path, "we") : NULL;

	if (size < 0)
		fprintf(file ?: stderr, "BUG: the kernel's log cannot be read: %s\n",
			strerror(errno));
	else if (file)
		fwrite(text, 1, (size_t)size, file);
	if (file)
		fclose(file);
}

int main(int argc, char **argv)
{
	struct request request = {.limit_ms = 24L * 3600 * 1000};
	sigset_t awaited;
	sigset_t before;
	pid_t child;
	int status;

	read_arguments(&request, argc, argv);
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGCHLD);
	sigaddset(&awaited, SIGTERM);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || sigprocmask(SIG_BLOCK, &awaited, &before) < 0)
		return 125;
	setsid();
	child = start(&request, &before);
	if (child < 0)
		return 125;
	status = wait_for_end(child, &awaited, request.limit_ms);
	if (request.left && !is_alone(request.left_ms))
		report_and_kill(request.left);
	if (request.log)
		save_log(request.log);
	return status;
}
