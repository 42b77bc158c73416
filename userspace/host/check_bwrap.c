/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The real bubblewrap with a view of a few directories. Not of "/": a recursive bind of the whole
 * tree would visit every mount of the host, and one that sleeps would hold the check.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/strv.h"
#include "host/bwrap.h"
#include "host/check.h"

/* bubblewrap says one line; more is cut. */
#define MESSAGE_BYTES 200

static const char *const for_users[] = {"bwrap", "--unshare-user", NULL};
/* As in a run: where root needs no user namespace, one that cannot be had is no failure. */
static const char *const for_admin[] = {"bwrap", NULL};
static const char *const common[] = {"--unshare-ipc", "--unshare-pid", "--unshare-net",
	"--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--clearenv",
	"--ro-bind", "/usr", "/usr", "--ro-bind-try", "/bin", "/bin", "--ro-bind-try", "/lib",
	"/lib", "--ro-bind-try", "/lib64", "/lib64", "--ro-bind-try", "/nix/store", "/nix/store",
	"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--", "/bin/sh", "-c", ":", NULL};

static void exec_bwrap(int bwrap_fd, int stderr_fd, char *const *arguments)
{
	static char *const environment[] = {NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(stderr_fd, 2) < 0)
		_exit(125);
	(void)fexecve(bwrap_fd, arguments, environment);
	dprintf(2, "exec: %s", strerror(errno));
	_exit(125);
}

static void read_message(int fd, char ret_message[MESSAGE_BYTES])
{
	size_t at = 0;
	ssize_t n;

	while (at < MESSAGE_BYTES - 1 &&
		(n = read(fd, ret_message + at, MESSAGE_BYTES - 1 - at)) > 0)
		at += (size_t)n;
	ret_message[at] = '\0';
	ret_message[strcspn(ret_message, "\n")] = '\0';
}

static void run_bwrap(struct rf_check *check, const struct rf_bwrap *bwrap, char *const *arguments)
{
	char message[MESSAGE_BYTES];
	int ends[2] = {-1, -1};
	int status = 0;
	pid_t pid;

	if (!rf_check_did(check, "pipe2", pipe2(ends, O_CLOEXEC)))
		return;
	pid = fork();
	if (pid == 0)
		exec_bwrap(bwrap->fd, ends[1], arguments);
	(void)rf_close(ends[1]);
	if (rf_check_did(check, "fork", pid)) {
		read_message(ends[0], message);
		if (rf_check_did(check, "waitpid", waitpid(pid, &status, 0)) && status != 0) {
			rf_check_fail(check, "bwrap --unshare-all", 0);
			rf_check_say(check, "%.60s: %.180s", bwrap->path,
				message[0] ? message : "failed without a word");
			rf_check_advise(check, "see the checks of the namespaces and mounts");
		} else if (status == 0) {
			check->state = RF_STATE_ENFORCED;
			rf_check_say(check, "%.100s %u.%u.%u%s", bwrap->path, bwrap->version[0],
				bwrap->version[1], bwrap->version[2],
				bwrap->has_bind_fd ? "" : ", without --bind-fd");
		}
	}
	(void)rf_close(ends[0]);
}

void rf_check_bubblewrap(const struct rf_signs *signs, struct rf_check *check)
{
	struct rf_bwrap bwrap rf_autobwrap = {.fd = -1};
	struct rf_strv arguments rf_autostrv = {0};

	rf_bwrap_find(NULL, signs->uid, &bwrap);
	if (bwrap.fd < 0) {
		rf_check_fail(check, "", 0);
		rf_check_say(check, "%s", bwrap.fact.why);
		rf_check_advise(check, "%s", bwrap.fact.remedy);
		return;
	}
	if (rf_strv_add_all(&arguments, rf_check_is_admin(signs) ? for_admin : for_users) < 0 ||
		rf_strv_add_all(&arguments, common) < 0) {
		rf_check_fail(check, "", ENOMEM);
		return;
	}
	run_bwrap(check, &bwrap, arguments.items);
}
