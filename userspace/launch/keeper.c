/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The keeper: parent of the sandbox's first process, outside of it.
 *
 * It outlives nobody's wish: when the controller or the client is gone (pidfd, or end of file on
 * the control socket) it kills the tree through cgroup.kill, and through pidfds as well, so that
 * what left the cgroup dies with its PID namespace. It never signals a number.
 *
 * The standard streams wait in the launcher's end of the channel from the start; neither the
 * keeper nor bubblewrap holds them, so that readers see the end of file that the command makes.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/call.h"
#include "launch/fd.h"
#include "launch/first.h"
#include "launch/leaf.h"
#include "launch/message.h"
#include "launch/roles.h"
#include "launch/spec.h"
#include "launch/tree.h"

#define RF_KEEPER_FAILED 1

struct rf_keeper {
	struct rf_keeper_plan plan;
	int control; /* -1 once the controller is gone */
	int channel; /* -1 once launcher and bubblewrap are gone */
	int launcher_end;
	int gate; /* write end; -1 once the label is set */
	int gate_end;
	int first_pidfd; /* -1 once reaped */
	pid_t first;
	int launcher_pidfd;
	pid_t launcher;
	int controller;
	int client;
	bool has_own_mounts; /* of the first process */
	bool adopts;
	bool has_cgroup;
	bool has_kill_file;
	bool is_killed;
};

static void rf_keeper_kill(struct rf_keeper *keeper)
{
	if (keeper->has_kill_file && pwrite(RF_KEEPER_KILL, "1", 1, 0) < 0)
		keeper->has_kill_file = false;
	if (keeper->launcher_pidfd >= 0)
		pidfd_send_signal(keeper->launcher_pidfd, SIGKILL, NULL, 0);
	if (keeper->first_pidfd >= 0)
		pidfd_send_signal(keeper->first_pidfd, SIGKILL, NULL, 0);
	keeper->is_killed = true;
}

static void rf_keeper_lose_controller(struct rf_keeper *keeper)
{
	rf_fd_close_p(&keeper->control);
	keeper->controller = -1;
	rf_keeper_kill(keeper);
}

static void rf_keeper_tell(struct rf_keeper *keeper, const struct rf_launch_message *message,
	const int *fds, size_t n_fds)
{
	/* A controller that reads nothing for a hundred messages is as good as gone. */
	if (keeper->control >= 0 && rf_message_send(keeper->control, message, fds, n_fds) < 0)
		rf_keeper_lose_controller(keeper);
}

/* Closed before the keeper opens anything of its own: an absent number must not become another's.
 */
static int rf_keeper_take_descriptors(struct rf_keeper *keeper)
{
	const unsigned int gap = RF_KEEPER_STDERR, end = RF_KEEPER_FIRST_FREE;

	if (close_range(gap, end - 1, 0) < 0 ||
		close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	keeper->control = RF_KEEPER_CONTROL;
	keeper->controller = rf_fd_is_open(RF_KEEPER_CONTROLLER) ? RF_KEEPER_CONTROLLER : -1;
	keeper->client = rf_fd_is_open(RF_KEEPER_CLIENT) ? RF_KEEPER_CLIENT : -1;
	keeper->has_cgroup = rf_fd_is_open(RF_KEEPER_CGROUP);
	keeper->has_kill_file = rf_fd_is_open(RF_KEEPER_KILL);
	if (fcntl(keeper->control, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

static void rf_keeper_settle(void)
{
	sigset_t all;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NAME, "ringfence-keep", 0, 0, 0);
	/* What outlives its parents comes here, and nowhere else. */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* The channel; the standard streams are put into it and leave this process. */
static int rf_keeper_open_channel(struct rf_keeper *keeper, struct rf_launch_message *failure)
{
	struct rf_launch_message message = {.kind = RF_LAUNCH_STREAMS};
	int null rf_autofd = -1;
	int pair[2], streams[RF_MESSAGE_FDS_MAX], yes = 1, r;
	size_t n = 0;

	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (!rf_fd_is_open(fd))
			continue;
		message.extra |= 1 << fd;
		streams[n++] = fd;
	}
	/* Also fills a standard number that was closed. */
	null = rf_fd_move_high(open("/dev/null", O_RDWR | O_CLOEXEC));
	if (null < 0)
		return rf_fail(failure, errno, "opening /dev/null");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rf_fail(failure, errno, "socketpair");
	keeper->channel = rf_fd_move_high(pair[0]);
	keeper->launcher_end = rf_fd_move_high(pair[1]);
	if (keeper->channel < 0 || keeper->launcher_end < 0 ||
		setsockopt(keeper->channel, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0 ||
		fcntl(keeper->channel, F_SETFL, O_NONBLOCK) < 0)
		return rf_fail(failure, errno, "channel");
	r = rf_message_send(keeper->channel, &message, streams, n);
	if (r < 0)
		return rf_fail(failure, -r, "handing on the standard streams");
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(null, fd) < 0)
			return rf_fail(failure, errno, "letting go of stream %d", fd);
	return 0;
}

static int rf_keeper_open_gate(struct rf_keeper *keeper, struct rf_launch_message *failure)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return rf_fail(failure, errno, "pipe");
	keeper->gate_end = rf_fd_move_high(ends[0]);
	keeper->gate = rf_fd_move_high(ends[1]);
	if (keeper->gate_end < 0 || keeper->gate < 0)
		return rf_fail(failure, errno, "pipe");
	return 0;
}

static _Noreturn void rf_keeper_child(struct rf_keeper *keeper)
{
	const struct rf_first first = {.plan = &keeper->plan,
		.channel = keeper->launcher_end,
		.gate = keeper->gate_end,
		.has_own_mounts = keeper->has_own_mounts};

	rf_fd_close_p(&keeper->gate);
	rf_fd_close_p(&keeper->channel);
	rf_fd_close_p(&keeper->control);
	rf_first_run(&first);
}

static int rf_keeper_spawn(struct rf_keeper *keeper, struct rf_launch_message *failure)
{
	struct clone_args arguments = {.flags = CLONE_PIDFD, .exit_signal = SIGCHLD};
	int pidfd = -1;
	long pid;

	arguments.pidfd = (uint64_t)(uintptr_t)&pidfd;
	if (keeper->has_cgroup) {
		arguments.flags |= CLONE_INTO_CGROUP;
		arguments.cgroup = RF_KEEPER_CGROUP;
	}
	/*
	 * bubblewrap becomes init of a PID namespace of its own, so that its death is the death of
	 * what it cloned: bubblewrap's child waits for it on an eventfd that never ends, and has no
	 * parent-death signal before the launcher sets one. Without the privilege there is none.
	 *
	 * The mount namespace of its own lets it cut propagation: what the host mounts below a
	 * granted path while the command runs would arrive in the sandbox, writable and without
	 * nodev.
	 */
	if (keeper->plan.head.flags & RF_KEEPER_HAS_BWRAP)
		arguments.flags |= CLONE_NEWPID | CLONE_NEWNS;
	keeper->has_own_mounts = arguments.flags & CLONE_NEWNS;
	pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
	if (pid < 0 && errno == EPERM) {
		arguments.flags &= ~(uint64_t)(CLONE_NEWPID | CLONE_NEWNS);
		keeper->has_own_mounts = false;
		pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
	}
	if (pid < 0)
		return rf_fail(
			failure, errno, "clone3%s", keeper->has_cgroup ? " into the cgroup" : "");
	if (pid == 0)
		rf_keeper_child(keeper);
	keeper->first = (pid_t)pid;
	keeper->first_pidfd = rf_fd_move_high(pidfd);
	if (keeper->first_pidfd < 0)
		return rf_fail(failure, errno, "pidfd of the first process");
	return 0;
}

/* What the first process alone needs. Bind sources and passed descriptors included. */
static void rf_keeper_let_go(struct rf_keeper *keeper)
{
	rf_fd_close_p(&keeper->launcher_end);
	rf_fd_close_p(&keeper->gate_end);
	for (int fd = RF_KEEPER_SPEC; fd <= RF_KEEPER_SETUP_STDERR; fd++)
		close(fd);
	if (keeper->plan.head.n_fds_end > RF_KEEPER_FIRST_FREE)
		close_range(RF_KEEPER_FIRST_FREE, keeper->plan.head.n_fds_end - 1, 0);
}

/* It waits at the client's gate, outside of anything of ours. */
static int rf_keeper_adopt(struct rf_keeper *keeper, struct rf_launch_message *failure)
{
	keeper->first_pidfd = fcntl(RF_KEEPER_FIRST_FREE, F_DUPFD_CLOEXEC, RF_FD_PRIVATE_FIRST);
	return keeper->first_pidfd < 0 ? rf_fail(failure, errno, "pidfd of the first process") : 0;
}

/* Its own first process, which waits until it is labelled. */
static int rf_keeper_make_first(struct rf_keeper *keeper, struct rf_launch_message *failure)
{
	int r = rf_keeper_open_channel(keeper, failure);

	if (r == 0)
		r = rf_keeper_open_gate(keeper, failure);
	return r == 0 ? rf_keeper_spawn(keeper, failure) : r;
}

static int rf_keeper_start(struct rf_keeper *keeper, struct rf_launch_message *failure)
{
	struct rf_launch_message message = {.kind = RF_LAUNCH_SPAWNED};
	int r = rf_spec_read_keeper(RF_KEEPER_SPEC, &keeper->plan);

	if (r < 0)
		return rf_fail(failure, -r, "reading the keeper's spec");
	if (keeper->plan.head.n_fds_end > RF_KEEPER_FIRST_FREE)
		close_range(keeper->plan.head.n_fds_end, ~0U, 0);
	else
		close_range(RF_KEEPER_FIRST_FREE, ~0U, 0);
	keeper->adopts = keeper->plan.head.flags & RF_KEEPER_ADOPTS;
	r = keeper->adopts ? rf_keeper_adopt(keeper, failure)
			   : rf_keeper_make_first(keeper, failure);
	if (r != 0)
		return r;
	rf_keeper_let_go(keeper);
	message.pid = keeper->first;
	rf_keeper_tell(keeper, &message, &keeper->first_pidfd, 1);
	return 0;
}

static void rf_keeper_open_gate_now(struct rf_keeper *keeper)
{
	if (keeper->gate >= 0 && !keeper->is_killed && write(keeper->gate, "", 1) != 1)
		rf_keeper_kill(keeper);
	rf_fd_close_p(&keeper->gate);
}

static void rf_keeper_obey(struct rf_keeper *keeper)
{
	struct rf_received received;
	int r = rf_message_receive(keeper->control, &received);

	if (r == -EAGAIN)
		return;
	if (r != 0) {
		rf_keeper_lose_controller(keeper);
		return;
	}
	for (size_t i = 0; i < received.n_fds; i++)
		close(received.fds[i]);
	switch (received.message.kind) {
	case RF_LAUNCH_LABELLED:
		rf_keeper_open_gate_now(keeper);
		break;
	case RF_LAUNCH_KILL:
		rf_keeper_kill(keeper);
		break;
	case RF_LAUNCH_GO:
	case RF_LAUNCH_SIGNAL:
	case RF_LAUNCH_TERMINATE:
		if (keeper->channel >= 0)
			rf_message_send(keeper->channel, &received.message, NULL, 0);
		break;
	}
}

/* READY comes from the launcher: the number that the kernel vouches for becomes a pidfd while the
 * launcher waits for GO, so it is still its own. */
static void rf_keeper_meet_launcher(struct rf_keeper *keeper, struct rf_received *received)
{
	if (keeper->launcher == 0 && received->sender > 0) {
		keeper->launcher = received->sender;
		keeper->launcher_pidfd = rf_fd_move_high(pidfd_open(received->sender, 0));
	}
	received->message.pid = keeper->launcher;
	/* A kill that was asked for before this moment did not know it. */
	if (keeper->is_killed)
		rf_keeper_kill(keeper);
}

/* One message from inside. False: nothing more for now. */
static bool rf_keeper_relay(struct rf_keeper *keeper)
{
	struct rf_received received;
	int r;

	if (keeper->channel < 0)
		return false;
	r = rf_message_receive(keeper->channel, &received);
	if (r == -EAGAIN)
		return false;
	/* The other end closed with something unread. Said once, before what it had sent itself. */
	if (r == -ECONNRESET)
		return true;
	if (r != 0) {
		rf_fd_close_p(&keeper->channel);
		return false;
	}
	for (size_t i = 0; i < received.n_fds; i++)
		close(received.fds[i]);
	switch (received.message.kind) {
	case RF_LAUNCH_READY:
		rf_keeper_meet_launcher(keeper, &received);
		rf_keeper_tell(keeper, &received.message, NULL, 0);
		break;
	case RF_LAUNCH_SETUP_FAILED:
	case RF_LAUNCH_STARTED:
	case RF_LAUNCH_EXEC_FAILED:
	case RF_LAUNCH_EXITED:
		rf_keeper_tell(keeper, &received.message, NULL, 0);
		break;
	}
	return true;
}

static int rf_keeper_wait_status(const siginfo_t *info)
{
	if (info->si_code == CLD_EXITED)
		return (info->si_status & 0xff) << 8;
	return info->si_status | (info->si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

/* Its parent reaps it. What it left is counted by the controller before it is killed. */
static void rf_keeper_lose_adopted(struct rf_keeper *keeper)
{
	const struct rf_launch_message message = {.kind = RF_LAUNCH_FIRST_EXITED};

	rf_fd_close_p(&keeper->first_pidfd);
	rf_keeper_tell(keeper, &message, NULL, 0);
	if (keeper->control < 0)
		rf_keeper_kill(keeper);
}

static void rf_keeper_reap_first(struct rf_keeper *keeper)
{
	struct rf_launch_message message = {.kind = RF_LAUNCH_FIRST_EXITED, .pid = keeper->first};
	siginfo_t info = {0};

	if (keeper->adopts) {
		rf_keeper_lose_adopted(keeper);
		return;
	}
	if (waitid(P_PIDFD, (id_t)keeper->first_pidfd, &info, WEXITED | WNOHANG) < 0 ||
		info.si_pid == 0)
		return;
	rf_fd_close_p(&keeper->first_pidfd);
	/* The end of the first process is the end of the sandbox, whatever it left. */
	rf_keeper_kill(keeper);
	rf_tree_kill_descendants();
	while (rf_keeper_relay(keeper))
		;
	message.value = rf_keeper_wait_status(&info);
	rf_keeper_tell(keeper, &message, NULL, 0);
}

/* Until the first process is reaped and the controller has let go: it may still read the end. */
static void rf_keeper_serve(struct rf_keeper *keeper)
{
	while (keeper->first_pidfd >= 0 || keeper->control >= 0) {
		struct pollfd fds[] = {
			{.fd = keeper->channel, .events = POLLIN},
			{.fd = keeper->control, .events = POLLIN},
			{.fd = keeper->controller, .events = POLLIN},
			{.fd = keeper->client, .events = POLLIN},
			{.fd = keeper->first_pidfd, .events = POLLIN},
		};

		if (poll(fds, RF_ARRAY_SIZE(fds), -1) < 0) {
			if (errno != EINTR)
				rf_keeper_lose_controller(keeper);
			continue;
		}
		if (fds[0].revents)
			rf_keeper_relay(keeper);
		if (fds[1].revents)
			rf_keeper_obey(keeper);
		if (fds[2].revents)
			rf_keeper_lose_controller(keeper);
		if (fds[3].revents) {
			keeper->client = -1;
			rf_keeper_kill(keeper);
		}
		if (fds[4].revents)
			rf_keeper_reap_first(keeper);
	}
}

int rf_keeper_main(void)
{
	struct rf_keeper keeper = {.control = -1,
		.channel = -1,
		.launcher_end = -1,
		.gate = -1,
		.gate_end = -1,
		.first_pidfd = -1,
		.launcher_pidfd = -1,
		.controller = -1,
		.client = -1};
	struct rf_launch_message failure;

	rf_keeper_settle();
	if (rf_keeper_take_descriptors(&keeper) < 0)
		return RF_KEEPER_FAILED;
	if (rf_keeper_start(&keeper, &failure) != 0) {
		rf_keeper_tell(&keeper, &failure, NULL, 0);
		rf_keeper_kill(&keeper);
		return RF_KEEPER_FAILED;
	}
	rf_keeper_serve(&keeper);
	/* The controller removes the leaf; a dead one, or one that was too early, does not. */
	if (keeper.has_cgroup && keeper.plan.leaf[0])
		rf_leaf_remove(keeper.plan.leaf);
	return 0;
}
