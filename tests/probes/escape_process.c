/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * escape_process other PID: what one process can do to another, without harm: the signal is one
 * that is ignored. escape_process own: the same against a child, and what a debugger does.
 * escape_process starve PID: takes the processor time of another by its limits.
 */

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "escape.h"

static char secret[16] = "of this program";

static void report_open(const char *what, pid_t pid, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, flags | O_CLOEXEC);
	escape_report(what, fd);
	if (fd >= 0)
		close(fd);
}

static void try_signals(pid_t pid)
{
	int pidfd;

	escape_report("kill", kill(pid, SIGURG));
	escape_report("tgkill", syscall(SYS_tgkill, pid, pid, SIGURG));
	escape_report("sigqueue", sigqueue(pid, SIGURG, (union sigval){0}));
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	escape_report("pidfd_open", pidfd);
	escape_report("pidfd_send_signal", syscall(SYS_pidfd_send_signal, pidfd, SIGURG, NULL, 0));
	escape_report("pidfd_getfd", syscall(SYS_pidfd_getfd, pidfd, 0, 0));
}

static void try_memory(pid_t pid)
{
	char bytes[sizeof(secret)];
	struct iovec here = {bytes, sizeof(bytes)}, there = {secret, sizeof(secret)};

	/* At this address there may be nothing in a foreign program: EFAULT would mean permitted.
	 */
	escape_report("process_vm_readv", process_vm_readv(pid, &here, 1, &there, 1, 0));
	escape_report("process_vm_writev", process_vm_writev(pid, &there, 1, &there, 1, 0));
	report_open("proc-mem", pid, "mem", O_RDONLY);
	report_open("proc-mem-write", pid, "mem", O_RDWR);
	report_open("proc-environ", pid, "environ", O_RDONLY);
	report_open("proc-maps", pid, "maps", O_RDONLY);
	report_open("proc-root", pid, "root/proc", O_RDONLY);
	report_open("proc-cwd", pid, "cwd/.", O_RDONLY);
	report_open("proc-fd", pid, "fd/0", O_RDONLY);
	report_open("proc-net-ns", pid, "ns/net", O_RDONLY);
}

/* Stays attached if it can be stopped: the tracer's end lets it go on. */
static void try_trace(pid_t pid)
{
	long r = ptrace(PTRACE_SEIZE, pid, NULL, NULL);

	escape_report("ptrace-seize", r);
	if (r == 0)
		ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	if (r == 0 && waitpid(pid, NULL, __WALL) == pid)
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
	r = ptrace(PTRACE_ATTACH, pid, NULL, NULL);
	escape_report("ptrace-attach", r);
	if (r == 0 && waitpid(pid, NULL, __WALL) == pid)
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static void try_other(pid_t pid)
{
	struct rlimit64 limit;

	try_signals(pid);
	try_memory(pid);
	escape_report("prlimit", prlimit64(pid, RLIMIT_NOFILE, NULL, &limit));
	try_trace(pid);
}

/* As strace does: stopped before its exec, registers and memory read, then led to its end. */
static int try_debugger(long unused)
{
	struct user_regs_struct registers;
	pid_t child = fork();
	int status;

	(void)unused;
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(*secret == 'O' ? 7 : 8);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		return ECHILD;
	if (ptrace(PTRACE_GETREGS, child, NULL, &registers) < 0)
		return errno;
	if (ptrace(PTRACE_POKEDATA, child, secret, 'O') < 0)
		return errno;
	if (ptrace(PTRACE_CONT, child, NULL, NULL) < 0)
		return errno;
	if (waitpid(child, &status, 0) != child)
		return ECHILD;
	return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : EPROTO;
}

static void try_own(void)
{
	pid_t child = fork();

	if (child == 0) {
		for (;;)
			pause();
	}
	try_other(child);
	escape_report("kill-child", kill(child, SIGKILL));
	waitpid(child, NULL, 0);
	escape_report_child("debugger", try_debugger, 0);
}

static void starve(pid_t pid)
{
	const struct rlimit64 none = {0, 0};

	escape_report("limit-files", prlimit64(pid, RLIMIT_NOFILE, &none, NULL));
	escape_report("limit-processes", prlimit64(pid, RLIMIT_NPROC, &none, NULL));
	escape_report("limit-cpu", prlimit64(pid, RLIMIT_CPU, &none, NULL));
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "other") == 0) {
		try_other(escape_number(argv[2]));
	} else if (argc == 3 && strcmp(argv[1], "starve") == 0) {
		starve(escape_number(argv[2]));
	} else if (argc == 2 && strcmp(argv[1], "own") == 0) {
		try_own();
	} else {
		fprintf(stderr, "usage: escape_process other PID | starve PID | own\n");
		return 2;
	}
	return 0;
}
