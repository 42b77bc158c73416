/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the attack programs share: one line an attempt, its name and the errno's name, 0 where it
 * succeeded. A test compares the lines of an unconfined and of a confined run.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void escape_report_error(const char *what, int error)
{
	const char *name = error ? strerrorname_np(error) : "0";

	printf("%s %s\n", what, name ? name : "?");
	fflush(stdout);
}

/* The result of a call that answers -1 and errno. */
static inline void escape_report(const char *what, long result)
{
	escape_report_error(what, result < 0 ? errno : 0);
}

/* For what changes the process or may end it: attempt() answers an errno in a child. */
static inline void escape_report_child(const char *what, int (*attempt)(long), long argument)
{
	pid_t child = fork();
	int status;

	if (child < 0) {
		escape_report(what, -1);
		return;
	}
	if (child == 0)
		_exit(attempt(argument));
	if (waitpid(child, &status, 0) != child)
		escape_report(what, -1);
	else if (WIFSIGNALED(status))
		printf("%s SIG%s\n", what, sigabbrev_np(WTERMSIG(status)));
	else
		escape_report_error(what, WEXITSTATUS(status));
	fflush(stdout);
}

static inline int escape_number(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (*text == '\0' || *end != '\0' || number < 0) {
		fprintf(stderr, "%s is no number\n", text);
		exit(2);
	}
	return (int)number;
}
