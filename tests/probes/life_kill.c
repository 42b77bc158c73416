/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * life_kill ROUNDS SEED|midst COMMAND...: starts COMMAND, which is a ringfence run that would go on
 * for ever, ROUNDS times, and each time sends SIGKILL at a random moment to some of the client, its
 * controller and the keeper. The moment lies anywhere from the fork to half again the time that
 * one start takes, measured before the first round: set-up is met as often as the run. With "midst"
 * it is when the keeper's child has just had a child: bubblewrap is in the midst of its set-up.
 *
 * Whether anything of a sandbox lives on is told by a pipe that is its standard output: end of file
 * comes when the last process that holds it is gone, whatever that process did to hide. A client
 * that was spared must end too, with 125.
 *
 * COMMAND's first word on its standard output ends the measurement. Prints how often each of them
 * was hit; the first round that leaves something is named and ends all with 1.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Generous: an emulated processor takes seconds to tear a PID namespace down. */
#define DEADLINE_MS 30000
#define STATUS_LOST 125

enum role { CLIENT, CONTROLLER, KEEPER, ROLES };

static const char *const role_names[ROLES] = {"client", "controller", "keeper"};

static uint64_t random_state;
static int is_midst;

/* xorshift64: a seed gives the same rounds again, as far as the scheduler does. */
static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static pid_t start(char **argv, int *ret_out)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		/* The measure of what is left must not be held by a message of ours. */
		int null = open("/dev/null", O_RDWR);

		if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0 ||
			dup2(ends[1], STDOUT_FILENO) < 0)
			_exit(2);
		execvp(argv[0], argv);
		_exit(2);
	}
	close(ends[1]);
	*ret_out = ends[0];
	return pid;
}

/* The first child of a process; 0: none, or the process is gone. */
static pid_t child_of(pid_t pid)
{
	char path[64];
	char text[32] = "";
	FILE *file;
	long child = 0;

	if (pid <= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fgets(text, sizeof(text), file))
		child = strtol(text, NULL, 10);
	fclose(file);
	return (pid_t)child;
}

/* A controller has other children while it proves its guards. 0: the keeper is not there yet. */
static pid_t keeper_of(pid_t controller)
{
	pid_t child = child_of(controller);
	char path[64];
	char name[32] = "";
	FILE *file;

	if (child <= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)child);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	return strncmp(name, "ringfence-keep", 14) == 0 ? child : 0;
}

/* False: nobody like that, or not yet. */
static int kill_one(pid_t pid)
{
	int pidfd = pid > 0 ? pidfd_open(pid, 0) : -1;
	int r = pidfd < 0 ? -1 : pidfd_send_signal(pidfd, SIGKILL, NULL, 0);

	if (pidfd >= 0)
		close(pidfd);
	return r == 0;
}

/* Waits for end of file. 1: it came; 0: something holds the pipe still. */
static int wait_for_end(int out)
{
	uint64_t end = now_us() + DEADLINE_MS * 1000ULL;
	char sink[256];

	for (;;) {
		uint64_t now = now_us();
		struct pollfd poll_fd = {.fd = out, .events = POLLIN};
		ssize_t n;

		if (now >= end || poll(&poll_fd, 1, (int)((end - now) / 1000) + 1) == 0)
			return 0;
		n = read(out, sink, sizeof(sink));
		if (n == 0)
			return 1;
		if (n < 0 && errno != EINTR)
			return 0;
	}
}

/* -1: it has not ended. */
static int wait_for_client(pid_t client)
{
	uint64_t end = now_us() + DEADLINE_MS * 1000ULL;
	int status;

	do {
		if (waitpid(client, &status, WNOHANG) == client)
			return status;
		usleep(1000);
	} while (now_us() < end);
	return -1;
}

static uint64_t measure_start(char **argv)
{
	uint64_t begin = now_us();
	uint64_t took;
	char byte;
	int out;
	pid_t client = start(argv, &out);

	if (read(out, &byte, 1) != 1)
		die("the command wrote nothing");
	took = now_us() - begin;
	kill_one(client);
	if (!wait_for_end(out))
		die("the measured run did not end");
	close(out);
	waitpid(client, NULL, 0);
	return took;
}

static void wait_for_midst(pid_t client)
{
	uint64_t end = now_us() + DEADLINE_MS * 1000ULL;

	while (child_of(child_of(keeper_of(child_of(client)))) == 0) {
		if (now_us() > end)
			die("the run never got to its set-up");
	}
}

struct tally {
	unsigned int hits[ROLES];
	unsigned int failures;
};

static void strike(const pid_t *pids, unsigned int victims, struct tally *tally, int *is_client_hit)
{
	unsigned int first = (unsigned int)(random_next() % ROLES);
	int n_hit = 0;

	for (unsigned int i = 0; i < ROLES; i++) {
		unsigned int role = (first + i) % ROLES;

		if (!(victims & 1U << role) || !kill_one(pids[role]))
			continue;
		tally->hits[role]++;
		n_hit++;
		*is_client_hit |= role == CLIENT;
	}
	/* None of them was there yet. */
	if (n_hit == 0 && kill_one(pids[CLIENT])) {
		tally->hits[CLIENT]++;
		*is_client_hit = 1;
	}
}

static void play(char **argv, unsigned int round, uint64_t range_us, struct tally *tally)
{
	/* In the midst only what leaves nobody to kill by the cgroup: with or without the client.
	 */
	unsigned int victims = is_midst ? 6 + round % 2 : round % 7 + 1;
	uint64_t delay = random_next() % range_us;
	pid_t pids[ROLES] = {0};
	int is_client_hit = 0;
	int out;
	int status;

	pids[CLIENT] = start(argv, &out);
	if (is_midst)
		wait_for_midst(pids[CLIENT]);
	else
		usleep((useconds_t)delay);
	pids[CONTROLLER] = child_of(pids[CLIENT]);
	pids[KEEPER] = keeper_of(pids[CONTROLLER]);
	strike(pids, victims, tally, &is_client_hit);
	if (!wait_for_end(out)) {
		printf("round %u: after %llu us, victims %u: something lives on\n", round,
			(unsigned long long)delay, victims);
		tally->failures++;
	}
	close(out);
	status = wait_for_client(pids[CLIENT]);
	if (status == -1) {
		printf("round %u: victims %u: the client did not end\n", round, victims);
		kill_one(pids[CLIENT]);
		waitpid(pids[CLIENT], NULL, 0);
		tally->failures++;
	} else if (!is_client_hit && (!WIFEXITED(status) || WEXITSTATUS(status) != STATUS_LOST)) {
		printf("round %u: after %llu us, victims %u: the client's status is %#x\n", round,
			(unsigned long long)delay, victims, (unsigned int)status);
		tally->failures++;
	}
}

int main(int argc, char **argv)
{
	struct tally tally = {0};
	unsigned int rounds;
	uint64_t range_us;

	if (argc < 4) {
		fprintf(stderr, "usage: life_kill ROUNDS SEED|midst COMMAND...\n");
		return 2;
	}
	rounds = (unsigned int)strtoul(argv[1], NULL, 10);
	is_midst = strcmp(argv[2], "midst") == 0;
	random_state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ULL + 1;
	range_us = measure_start(argv + 3) * 3 / 2;
	for (unsigned int i = 0; i < rounds && tally.failures == 0; i++)
		play(argv + 3, i, range_us, &tally);
	for (unsigned int role = 0; role < ROLES; role++)
		printf("%s %u\n", role_names[role], tally.hits[role]);
	return tally.failures ? 1 : 0;
}
