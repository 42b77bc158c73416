/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "launch/first.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "launch/call.h"
#include "launch/fd.h"
#include "launch/message.h"
#include "launch/stage.h"

#define RF_FIRST_FAILED 125

static int rf_first_die_with_keeper(const struct rf_first *first, struct rf_launch_message *failure)
{
	struct pollfd keeper = {.fd = first->channel};

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return rf_fail(failure, errno, "PR_SET_PDEATHSIG");
	/* It may have died before the call; a number would say nothing in a PID namespace of our
	 * own. */
	if (poll(&keeper, 1, 0) > 0 && (keeper.revents & POLLHUP))
		_exit(RF_FIRST_FAILED);
	return 0;
}

static void rf_first_wait(const struct rf_first *first)
{
	char label;
	ssize_t n;

	do
		n = read(first->gate, &label, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(RF_FIRST_FAILED);
}

/*
 * Nothing that is mounted outside later arrives here. bubblewrap looks its child up in /proc by the
 * number that it has in the PID namespace of our own, so /proc must be that namespace's.
 */
static int rf_first_mounts(const struct rf_first *first, struct rf_launch_message *failure)
{
	if (!first->has_own_mounts)
		return 0;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return rf_fail(failure, errno, "making the mounts private");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return rf_fail(failure, errno, "mounting /proc");
	return 0;
}

static int rf_first_user(const struct rf_first *first, struct rf_launch_message *failure)
{
	const struct rf_keeper_spec *head = &first->plan->head;

	/* Inside a user namespace it is too late: setgroups is denied there. */
	if ((head->flags & RF_KEEPER_DROP_GROUPS) && getgroups(0, NULL) != 0 &&
		setgroups(0, NULL) < 0)
		return rf_fail(failure, errno, "dropping supplementary groups");
	if (!(head->flags & RF_KEEPER_CHANGES_USER))
		return 0;
	if (setresgid(head->gid, head->gid, head->gid) < 0)
		return rf_fail(failure, errno, "setresgid to %u", head->gid);
	if (setresuid(head->uid, head->uid, head->uid) < 0)
		return rf_fail(failure, errno, "setresuid to %u", head->uid);
	/* A change of credentials cleared the signal. */
	return rf_first_die_with_keeper(first, failure);
}

static int rf_first_stage(const struct rf_first *first, struct rf_launch_message *failure)
{
	int tree = -1, r;

	if (!(first->plan->head.flags & RF_KEEPER_STAGED))
		return 0;
	r = rf_stage_build(first->plan, &tree, failure);
	if (r != 0)
		return r;
	if (tree != RF_KEEPER_TREE && dup2(tree, RF_KEEPER_TREE) < 0)
		return rf_fail(failure, errno, "placing the staged view");
	if (tree != RF_KEEPER_TREE)
		close(tree);
	return 0;
}

/* What bubblewrap and the launcher get; everything else is close-on-exec since the keeper began. */
static int rf_first_descriptors(const struct rf_first *first, struct rf_launch_message *failure)
{
	static const int inherited[] = {0, 1, 2, RF_KEEPER_BWRAP_ARGUMENTS, RF_KEEPER_SANDBOX_SPEC,
		RF_KEEPER_LAUNCHER, RF_KEEPER_CHANNEL, RF_KEEPER_TREE};

	if (rf_fd_is_open(RF_KEEPER_SETUP_STDERR) &&
		dup2(RF_KEEPER_SETUP_STDERR, STDERR_FILENO) < 0)
		return rf_fail(failure, errno, "standard error of bubblewrap");
	if (dup2(first->channel, RF_KEEPER_CHANNEL) < 0)
		return rf_fail(failure, errno, "the launcher's channel");
	/* Absent ones answer EBADF. */
	for (size_t i = 0; i < RF_ARRAY_SIZE(inherited); i++)
		fcntl(inherited[i], F_SETFD, 0);
	for (uint32_t fd = RF_KEEPER_FIRST_FREE; fd < first->plan->head.n_fds_end; fd++)
		fcntl((int)fd, F_SETFD, 0);
	return 0;
}

static void rf_first_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int rf_first_exec(const struct rf_first *first, struct rf_launch_message *failure)
{
	static char *const bwrap[] = {(char *)"bwrap", (char *)"--args", (char *)"5", (char *)"--",
		(char *)"/proc/self/fd/8", (char *)RF_LAUNCH_ROLE_INIT, NULL};
	static char *const launcher[] = {
		(char *)"ringfence-launch", (char *)RF_LAUNCH_ROLE_INIT, NULL};
	static char *const environment[] = {NULL};

	rf_first_signals();
	if (first->plan->head.flags & RF_KEEPER_HAS_BWRAP) {
		execveat(RF_KEEPER_BWRAP, "", bwrap, environment, AT_EMPTY_PATH);
		return rf_fail(failure, errno, "starting bubblewrap");
	}
	execveat(RF_KEEPER_LAUNCHER, "", launcher, environment, AT_EMPTY_PATH);
	return rf_fail(failure, errno, "starting the launcher");
}

void rf_first_run(const struct rf_first *first)
{
	struct rf_launch_message failure;
	int r = rf_first_die_with_keeper(first, &failure);

	if (r == 0) {
		rf_first_wait(first);
		r = rf_first_mounts(first, &failure);
	}
	if (r == 0)
		r = rf_first_user(first, &failure);
	if (r == 0)
		r = rf_first_stage(first, &failure);
	if (r == 0)
		r = rf_first_descriptors(first, &failure);
	if (r == 0)
		rf_first_exec(first, &failure);
	rf_message_send(first->channel, &failure, NULL, 0);
	_exit(RF_FIRST_FAILED);
}
