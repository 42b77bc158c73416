/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * fs_kill ROUNDS BYTES FILE -- COMMAND [ARG…]
 *
 * Is a replacement all or nothing? Each round runs COMMAND, which has to replace FILE by what it
 * reads from its standard input, and kills it (SIGKILL, and what it started) at a random moment;
 * now and then it is left to end. FILE must then hold the content of this round or of the one
 * before, whole. COMMAND's own output is discarded.
 *
 * Prints "ROUNDS old OLD new NEW done DONE". 0, or 1 and what was found.
 */

#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The longest that a round waits before it kills, in µs; doubled until some rounds end. */
static unsigned int patience_us = 2000;

static unsigned int next_random(void)
{
	static unsigned int seed = 20260101;

	seed = seed * 1664525U + 1013904223U;
	return seed >> 8;
}

/* One letter throughout, so that a mixture shows. */
static int content_of(unsigned int round, size_t bytes)
{
	int fd = memfd_create("content", MFD_CLOEXEC);
	char *content = malloc(bytes);

	if (fd < 0 || !content)
		error(2, errno, "content");
	memset(content, 'a' + (int)(round % 26), bytes);
	if (write(fd, content, bytes) != (ssize_t)bytes || lseek(fd, 0, SEEK_SET) != 0)
		error(2, errno, "content");
	free(content);
	return fd;
}

static pid_t start(char **command, int content_fd)
{
	pid_t pid = fork();
	int null_fd;

	if (pid < 0)
		error(2, errno, "fork");
	if (pid > 0)
		return pid;
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (setpgid(0, 0) < 0 || dup2(content_fd, 0) < 0 || dup2(null_fd, 1) < 0)
		_exit(126);
	execvp(command[0], command);
	_exit(127);
}

/* Did it end by itself, well? */
static int run(char **command, int content_fd)
{
	pid_t pid = start(command, content_fd);
	struct timespec wait = {.tv_nsec = (long)(next_random() % patience_us) * 1000};
	int status;

	(void)setpgid(pid, pid);
	(void)nanosleep(&wait, NULL);
	if (waitpid(pid, &status, WNOHANG) == pid)
		return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : -1;
	(void)kill(-pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	return 0;
}

/* The letter that FILE is made of; exits when it is not whole. */
static char letter_of(const char *file, size_t bytes, unsigned int round)
{
	char *content = malloc(bytes + 1);
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 || !content ? -1 : read(fd, content, bytes + 1);
	char letter;

	if (size != (ssize_t)bytes)
		error(1, 0, "round %u: %s has %zd bytes, not %zu", round, file, size, bytes);
	letter = content[0];
	for (size_t i = 0; i < bytes; i++) {
		if (content[i] != letter)
			error(1, 0, "round %u: %s is torn at byte %zu", round, file, i);
	}
	close(fd);
	free(content);
	return letter;
}

static unsigned int number(const char *text)
{
	unsigned int value = 0;

	if (sscanf(text, "%u", &value) != 1)
		error(2, 0, "%s is not a number", text);
	return value;
}

int main(int count, char **arguments)
{
	unsigned int rounds, done = 0, n_old = 0, n_new = 0;
	char before = 0;
	size_t bytes;

	if (count < 6 || strcmp(arguments[4], "--") != 0)
		error(2, 0, "usage: fs_kill ROUNDS BYTES FILE -- COMMAND [ARG…]");
	rounds = number(arguments[1]);
	bytes = number(arguments[2]);
	for (unsigned int round = 0; round < rounds; round++) {
		int fd = content_of(round, bytes), ended;
		char wanted = (char)('a' + (int)(round % 26)), found;

		if (round == 0) {
			/* There has to be an old content. */
			int file =
				open(arguments[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
			char *content = malloc(bytes);

			memset(content, 'z', bytes);
			if (write(file, content, bytes) != (ssize_t)bytes)
				error(2, errno, "%s", arguments[3]);
			close(file);
			free(content);
			before = 'z';
		}
		ended = run(arguments + 5, fd);
		if (ended < 0)
			error(1, 0, "round %u: the command failed", round);
		found = letter_of(arguments[3], bytes, round);
		if (found != wanted && (found != before || ended))
			error(1, 0, "round %u: %s holds '%c', neither '%c' nor '%c'", round,
				arguments[3], found, before, wanted);
		done += (unsigned int)ended;
		n_new += found == wanted;
		n_old += found != wanted;
		/* Half of the rounds should come near the end. */
		if (round % 16 == 15 && done * 4 < round && patience_us < 400000)
			patience_us += patience_us / 4;
		before = found;
		close(fd);
	}
	(void)printf("%u old %u new %u done %u\n", rounds, n_old, n_new, done);
	return 0;
}
