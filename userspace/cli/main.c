/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ringfence: the client. It plans nothing and confines nothing itself; a controller does. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/fd.h"
#include "base/say.h"
#include "cli/cli.h"
#include "policy/policy.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{"run", rf_cli_run, "confine a command"},
	{"plan", rf_cli_plan, "show what run would do; no effect"},
	{"doctor", rf_cli_doctor, "what this host can enforce, cause and remedy"},
	{"ps", rf_cli_ps, "list sandboxes"},
	{"kill", rf_cli_kill, "end a sandbox"},
	{"freeze", rf_cli_freeze, "stop every process of a sandbox"},
	{"thaw", rf_cli_thaw, "let a frozen sandbox go on"},
	{"sweep", rf_cli_sweep, "reap what a dead controller left"},
	{"fs", rf_cli_fs, "work on files below a root"},
	{"bwrap", rf_cli_bwrap, "bubblewrap's own command line, with everything around it"},
};

static void print_help(FILE *to)
{
	fprintf(to, "Usage: ringfence COMMAND [options] …\n\n"
		    "Confines a command and tells what really held.\n\nCommands:\n");
	for (size_t i = 0; i < RF_ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fprintf(to, "\nOptions:\n  --help      show this and exit\n"
		    "  --version   show the version and exit\n"
		    "\nringfence COMMAND --help shows a command's options.\n");
}

static unsigned int closed_streams;

unsigned int rf_cli_closed_streams(void)
{
	return closed_streams;
}

/*
 * A standard stream that the caller closed would become the number of the first file that we open,
 * and a message would be written into it.
 */
static int fill_standard_streams(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		closed_streams |= 1U << fd;
		/* The lowest free number, so it is this one. */
		if (open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
			return -EBADF;
	}
	return 0;
}

/*
 * By the signal's own default action, so that the kernel decides whether somebody is there who
 * could let us go on (it does not stop an orphaned process group).
 */
void rf_cli_stop_self(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Installed under this name, or linked to, it is bubblewrap for whoever calls it. */
static bool is_bubblewrap(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');

	return strcmp(slash ? slash + 1 : argv0, "bwrap") == 0;
}

static int refuse_command(const char *name)
{
	const char *names[RF_ARRAY_SIZE(commands) + 1] = {NULL};
	const char *nearest;

	for (size_t i = 0; i < RF_ARRAY_SIZE(commands); i++)
		names[i] = commands[i].name;
	nearest = rf_nearest(name, names);
	if (nearest)
		rf_say_error("unknown command %s (did you mean %s?)", name, nearest);
	else
		rf_say_error("unknown command %s (ringfence --help lists them)", name);
	return RF_STATUS_REFUSED;
}

/* Output that nobody got is not a success. */
static int flush_output(int status)
{
	if (fflush(stdout) != 0 || ferror(stdout)) {
		rf_say_error("cannot write to standard output: %s", strerror(errno));
		return status ? status : RF_STATUS_REFUSED;
	}
	return status;
}

int main(int argc, char **argv)
{
	if (fill_standard_streams() < 0)
		return RF_STATUS_REFUSED;
	if (argc > 0 && is_bubblewrap(argv[0]))
		return rf_cli_bwrap(argc, argv);
	if (argc < 2) {
		print_help(stderr);
		return RF_STATUS_REFUSED;
	}
	if (strcmp(argv[1], "--help") == 0) {
		print_help(stdout);
		return flush_output(0);
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("ringfence %s\n", RF_VERSION);
		return flush_output(0);
	}
	for (size_t i = 0; i < RF_ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name) == 0)
			return flush_output(commands[i].run(argc - 1, argv + 1));
	}
	return refuse_command(argv[1]);
}
