/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The launcher: PID 1 of the sandbox, or a subreaper where there is no PID namespace.
 *
 *	spec, streams, descriptors -> bounding set, user, directories, staged tree ->
 *	capabilities -> Landlock -> seccomp -> self-test -> READY ... GO -> the command -> reap
 *
 * After READY it may use no call that a filter of ours refuses. End of file on the channel means
 * that the keeper is gone: it exits at once, and the PID namespace dies with it.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/call.h"
#include "launch/command.h"
#include "launch/confine.h"
#include "launch/fd.h"
#include "launch/listen.h"
#include "launch/message.h"
#include "launch/roles.h"
#include "launch/spec.h"
#include "launch/tree.h"
#include "launch/userns.h"

#define RF_INIT_FAILED 1

struct rf_init {
	struct rf_sandbox sandbox;
	unsigned int open_streams;
	unsigned int landlock_abi;
	int null_fd;
	int signal_fd;
	/* To the client; -1 without a terminal of the command's own. */
	int terminal;
	/* Calls that a filter asks about; -1: none does. */
	int listener_fd;
	/* The command; its pidfd is -1 before it started and after it was reaped. */
	pid_t command;
	int command_pidfd;
	/* EXITED was sent; background processes are kept. */
	bool is_lingering;
	bool has_namespace;
};

static bool rf_init_has(const struct rf_init *init, uint32_t flag)
{
	return (init->sandbox.head.flags & flag) != 0;
}

/* Without a PID namespace nobody else can tell which processes are ours. */
static _Noreturn void rf_init_exit(const struct rf_init *init, int status)
{
	if (!init->has_namespace)
		rf_tree_kill_descendants();
	_exit(status);
}

static int rf_init_streams(struct rf_init *init, struct rf_launch_message *failure)
{
	struct rf_received received;
	size_t next = 0;
	int r = rf_message_receive(RF_KEEPER_CHANNEL, &received);

	if (r != 0 || received.message.kind != RF_LAUNCH_STREAMS)
		return rf_fail(failure, r < 0 ? -r : EPROTO, "receiving the standard streams");
	init->open_streams = (unsigned int)received.message.extra & RF_STREAMS_ALL;
	init->null_fd = rf_fd_move_high(open("/dev/null", O_RDWR | O_CLOEXEC));
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		int from = init->null_fd;

		if (init->open_streams & RF_STREAM_BIT(fd)) {
			if (next == received.n_fds)
				return rf_fail(failure, EPROTO, "a standard stream is missing");
			from = received.fds[next];
		}
		if (from >= 0 && dup2(from, fd) < 0)
			return rf_fail(failure, errno, "standard stream %d", fd);
		if (init->open_streams & RF_STREAM_BIT(fd))
			close(received.fds[next++]);
	}
	return 0;
}

static int rf_init_compare_fds(const void *left, const void *right)
{
	int l = *(const int *)left, r = *(const int *)right;

	return (l > r) - (l < r);
}

/* Closes what is neither named in the spec nor ours. */
static int rf_init_close_others(const struct rf_init *init, struct rf_launch_message *failure)
{
	size_t n_keep = init->sandbox.head.n_pass_fds, n = 0;
	int *keep rf_autofree = calloc(n_keep + 3, sizeof(*keep));
	unsigned int from = STDERR_FILENO + 1;

	if (!keep)
		return rf_fail(failure, ENOMEM, "closing descriptors");
	for (size_t i = 0; i < n_keep; i++)
		keep[n++] = (int)init->sandbox.pass_fds[i].from;
	keep[n++] = RF_KEEPER_CHANNEL;
	if (rf_init_has(init, RF_SANDBOX_STAGED))
		keep[n++] = RF_KEEPER_TREE;
	if (init->null_fd >= 0)
		keep[n++] = init->null_fd;
	qsort(keep, n, sizeof(*keep), rf_init_compare_fds);
	for (size_t i = 0; i < n; i++) {
		unsigned int fd = (unsigned int)keep[i];

		if (fd > from && close_range(from, fd - 1, 0) < 0)
			return rf_fail(failure, errno, "closing descriptors");
		if (!rf_fd_is_open(keep[i]))
			return rf_fail(failure, EBADF, "descriptor %d was not passed", keep[i]);
		fcntl(keep[i], F_SETFD, FD_CLOEXEC);
		from = fd + 1;
	}
	if (close_range(from, ~0U, 0) < 0)
		return rf_fail(failure, errno, "closing descriptors");
	return 0;
}

static int rf_init_signals(struct rf_init *init, struct rf_launch_message *failure)
{
	sigset_t all, child;

	sigfillset(&all);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		return rf_fail(failure, errno, "blocking signals");
	/* Ignored, children would vanish with their status. */
	signal(SIGCHLD, SIG_DFL);
	init->signal_fd = rf_fd_move_high(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
	if (init->signal_fd < 0)
		return rf_fail(failure, errno, "signalfd");
	return 0;
}

/* The parent's death is seen at the channel too; the signal is there for a launcher that is stuck.
 * A subreaper must live long enough to kill what it owns, so there the channel alone counts. */
static int rf_init_parent(const struct rf_init *init, struct rf_launch_message *failure)
{
	int signal = init->has_namespace ? SIGKILL : 0;

	if (prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) < 0)
		return rf_fail(failure, errno, "PR_SET_PDEATHSIG");
	if (!init->has_namespace && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return rf_fail(failure, errno, "PR_SET_CHILD_SUBREAPER");
	return 0;
}

static int rf_init_directories(const struct rf_init *init, struct rf_launch_message *failure)
{
	for (uint32_t i = 0; i < init->sandbox.head.n_directories; i++) {
		const struct rf_spec_path *directory = &init->sandbox.directories[i];

		if (mkdir(directory->path, (mode_t)directory->value & 07777) < 0 && errno != EEXIST)
			return rf_fail(failure, errno, "making %s", directory->path);
	}
	return 0;
}

static int rf_init_staged(const struct rf_init *init, struct rf_launch_message *failure)
{
	if (!rf_init_has(init, RF_SANDBOX_STAGED))
		return 0;
	if (move_mount(RF_KEEPER_TREE, "", AT_FDCWD, init->sandbox.staged,
		    MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return rf_fail(
			failure, errno, "attaching the staged view at %s", init->sandbox.staged);
	close(RF_KEEPER_TREE);
	return 0;
}

/*
 * Sources were opened once and compared; destinations are names, and somebody else may have moved
 * them between the plan and the mount. Each mask, pin and bind must stand at its planned name now.
 * What the launcher may not reach, the command may not either.
 */
static int rf_init_places(const struct rf_init *init, struct rf_launch_message *failure)
{
	for (uint32_t i = 0; i < init->sandbox.head.n_places; i++) {
		const struct rf_spec_place *place = &init->sandbox.places[i];
		struct statx found;

		if (statx(AT_FDCWD, place->path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_INO,
			    &found) < 0) {
			if (errno == EACCES)
				continue;
			return rf_fail(failure, errno, "changed while starting: %s", place->path);
		}
		if (!(found.stx_attributes & STATX_ATTR_MOUNT_ROOT) ||
			(place->ino && (found.stx_ino != place->ino ||
					       makedev(found.stx_dev_major, found.stx_dev_minor) !=
						       place->dev)))
			return rf_fail(failure, ESTALE, "changed while starting: %s", place->path);
	}
	return 0;
}

/*
 * The pty is made here, inside, so that its name is valid here. This process leads the session (of
 * bubblewrap's making, else its own) and never stands in front: a command that were its leader
 * would have no parent in the session, and the kernel does not stop such a process group for
 * Ctrl-Z.
 */
static int rf_init_terminal(struct rf_init *init, struct rf_launch_message *failure)
{
	const struct rf_launch_message message = {.kind = RF_LAUNCH_PTY};
	const struct rf_sandbox_spec *head = &init->sandbox.head;
	int master rf_autofd = -1;
	int slave rf_autofd = -1;
	int unlocked = 0, r;

	if (!rf_init_has(init, RF_SANDBOX_TERMINAL))
		return 0;
	init->terminal = rf_fd_move_high(dup(STDIN_FILENO));
	master = rf_fd_move_high(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
	if (init->terminal < 0 || master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return rf_fail(failure, errno, "making a terminal");
	slave = rf_fd_move_high(ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
	if (slave < 0)
		return rf_fail(failure, errno, "opening the terminal");
	if (rf_init_has(init, RF_SANDBOX_CHANGE_USER) && fchown(slave, head->uid, head->gid) < 0)
		return rf_fail(failure, errno, "giving the terminal to uid %u", head->uid);
	r = rf_message_send(init->terminal, &message, &master, 1);
	if (r < 0)
		return rf_fail(failure, -r, "handing out the terminal");
	setsid();
	if (ioctl(slave, TIOCSCTTY, 0) < 0)
		return rf_fail(failure, errno, "taking the terminal");
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(slave, fd) < 0)
			return rf_fail(failure, errno, "standard stream %d", fd);
	return 0;
}

static int rf_init_give_up(struct rf_init *init, struct rf_launch_message *failure)
{
	const struct rf_sandbox_spec *head = &init->sandbox.head;
	int r = 0;

	if (rf_init_has(
		    init, RF_SANDBOX_DROP_CAPABILITIES | RF_SANDBOX_LANDLOCK | RF_SANDBOX_SECCOMP))
		r = rf_confine_privileges(failure);
	if (r == 0)
		r = rf_init_staged(init, failure);
	if (r == 0)
		r = rf_init_places(init, failure);
	if (r == 0 && rf_init_has(init, RF_SANDBOX_MAP_USER))
		r = rf_userns_make(head->uid, head->gid, failure);
	if (r == 0 && rf_init_has(init, RF_SANDBOX_DROP_CAPABILITIES))
		r = rf_confine_bounding_set(failure);
	if (r == 0 && rf_init_has(init, RF_SANDBOX_CHANGE_USER))
		r = rf_confine_user(head->uid, head->gid, failure);
	if (r == 0)
		r = rf_init_directories(init, failure);
	if (r == 0 && rf_init_has(init, RF_SANDBOX_DROP_CAPABILITIES))
		r = rf_confine_capabilities(failure);
	/* A change of credentials clears the parent-death signal and the dumpable bit's value. */
	if (r == 0)
		r = rf_init_parent(init, failure);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return r;
}

static int rf_init_rules(struct rf_init *init, struct rf_launch_message *failure)
{
	int r = 0;

	if (chdir(init->sandbox.directory) < 0)
		return rf_fail(failure, errno, "working directory %s", init->sandbox.directory);
	if (rf_init_has(init, RF_SANDBOX_LANDLOCK))
		r = rf_landlock_apply(&init->sandbox, &init->landlock_abi, failure);
	if (r == 0 && rf_init_has(init, RF_SANDBOX_SECCOMP))
		r = rf_confine_filters(&init->sandbox, &init->listener_fd, failure);
	if (r == 0 && rf_init_has(init, RF_SANDBOX_LANDLOCK))
		r = rf_landlock_self_test(&init->sandbox, failure);
	return r;
}

static int rf_init_set_up(struct rf_init *init, struct rf_launch_message *failure)
{
	struct rlimit limit;
	int r;

	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NAME, "ringfence-init", 0, 0, 0);
	r = rf_spec_read_sandbox(RF_KEEPER_SANDBOX_SPEC, &init->sandbox);
	if (r < 0)
		return rf_fail(failure, -r, "reading the sandbox's spec");
	init->has_namespace = rf_init_has(init, RF_SANDBOX_NAMESPACES);
	/* Passed descriptors may have high numbers; the command gets its own limit back. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	r = rf_init_streams(init, failure);
	if (r == 0)
		r = rf_init_close_others(init, failure);
	if (r == 0)
		r = rf_init_signals(init, failure);
	if (r != 0)
		return r;
	umask((mode_t)init->sandbox.head.umask & 0777);
	r = rf_init_terminal(init, failure);
	if (r == 0)
		r = rf_init_give_up(init, failure);
	if (r == 0)
		r = rf_init_rules(init, failure);
	return r;
}

static void rf_init_send(const struct rf_init *init, const struct rf_launch_message *message)
{
	if (rf_message_send(RF_KEEPER_CHANNEL, message, NULL, 0) < 0)
		rf_init_exit(init, RF_INIT_FAILED);
}

static void rf_init_await_go(const struct rf_init *init)
{
	struct rf_launch_message message;

	do {
		if (rf_message_read(RF_KEEPER_CHANNEL, &message) != 0 ||
			message.kind == RF_LAUNCH_KILL)
			rf_init_exit(init, RF_INIT_FAILED);
	} while (message.kind != RF_LAUNCH_GO);
}

/* The command alone holds the streams from here on, so that its closing them is seen. */
static void rf_init_drop_streams(const struct rf_init *init)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (init->null_fd < 0 || dup2(init->null_fd, fd) < 0)
			close(fd);
	for (uint32_t i = 0; i < init->sandbox.head.n_pass_fds; i++)
		close((int)init->sandbox.pass_fds[i].from);
}

static void rf_init_start_command(struct rf_init *init)
{
	struct rf_launch_message answer;
	int r = rf_command_start(&init->sandbox, init->open_streams, &init->command, &answer);

	if (r < 0)
		rf_fail(&answer, -r, "fork");
	rf_init_drop_streams(init);
	rf_init_send(init, &answer);
	if (answer.kind != RF_LAUNCH_STARTED)
		rf_init_exit(init, RF_INIT_FAILED);
	/* Our own unreaped child: the number cannot be another's. */
	init->command_pidfd = rf_fd_move_high(pidfd_open(init->command, 0));
}

/* A living child, after the dead ones were reaped. Orphans are ours. */
static bool rf_init_has_living_child(void)
{
	siginfo_t info;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0)
			return false;
		if (info.si_pid == 0)
			return true;
	}
}

static void rf_init_command_ended(struct rf_init *init, int status)
{
	struct rf_launch_message message = {.kind = RF_LAUNCH_EXITED, .value = status};

	message.pid = init->command;
	message.extra = (int32_t)rf_tree_count(getpid(), init->has_namespace, init->command);
	/* Processes that fork and end all the while can slip through a walk over /proc. */
	if (message.extra == 0 && rf_init_has_living_child())
		message.extra = 1;
	rf_fd_close_p(&init->command_pidfd);
	init->command = 0;
	rf_init_send(init, &message);
	if (!rf_init_has(init, RF_SANDBOX_KEEP_BACKGROUND))
		rf_init_exit(init, 0);
	init->is_lingering = true;
}

/* A client that reads nothing, or is gone, will not stop with the command. */
static void rf_init_command_stopped(const struct rf_init *init, int status)
{
	const struct rf_launch_message message = {
		.kind = RF_LAUNCH_STOPPED, .value = WSTOPSIG(status), .pid = init->command};

	rf_message_send(init->terminal, &message, NULL, 0);
}

static void rf_init_reap(struct rf_init *init)
{
	int options = WNOHANG | __WALL | (init->terminal >= 0 ? WUNTRACED : 0);
	struct signalfd_siginfo drained;
	bool has_ended = false;
	int status, command_status = 0;
	pid_t pid;

	while (read(init->signal_fd, &drained, sizeof(drained)) > 0)
		;
	/* Everything first: a zombie is not a process left behind. */
	while ((pid = waitpid(-1, &status, options)) > 0) {
		if (pid != init->command)
			continue;
		if (WIFSTOPPED(status)) {
			rf_init_command_stopped(init, status);
			continue;
		}
		has_ended = true;
		command_status = status;
	}
	if (has_ended)
		rf_init_command_ended(init, command_status);
	if (init->is_lingering && pid < 0 && errno == ECHILD)
		rf_init_exit(init, 0);
}

static void rf_init_signal(const struct rf_init *init, const struct rf_launch_message *message)
{
	if (init->command <= 0)
		return;
	if (message->extra == 1)
		rf_tree_signal_group(init->command, message->value);
	else
		pidfd_send_signal(init->command_pidfd, message->value, NULL, 0);
}

static void rf_init_obey(const struct rf_init *init)
{
	struct rf_launch_message message;

	if (rf_message_read(RF_KEEPER_CHANNEL, &message) != 0)
		rf_init_exit(init, RF_INIT_FAILED);
	switch (message.kind) {
	case RF_LAUNCH_SIGNAL:
		rf_init_signal(init, &message);
		break;
	case RF_LAUNCH_TERMINATE:
		rf_tree_signal_all(getpid(), init->has_namespace, SIGTERM);
		break;
	case RF_LAUNCH_KILL:
		rf_init_exit(init, RF_INIT_FAILED);
	}
}

static _Noreturn void rf_init_serve(struct rf_init *init)
{
	struct pollfd fds[] = {
		{.fd = init->signal_fd, .events = POLLIN},
		{.fd = RF_KEEPER_CHANNEL, .events = POLLIN},
		{.fd = init->listener_fd, .events = POLLIN},
	};

	for (;;) {
		if (poll(fds, RF_ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			rf_init_exit(init, RF_INIT_FAILED);
		if (fds[1].revents)
			rf_init_obey(init);
		if (fds[2].revents & POLLIN)
			rf_listen_answer(init->listener_fd);
		else if (fds[2].revents)
			/* Nobody is left who could ask. */
			fds[2].fd = -1;
		if (fds[0].revents)
			rf_init_reap(init);
	}
}

int rf_init_main(void)
{
	struct rf_init init = {.null_fd = -1,
		.signal_fd = -1,
		.terminal = -1,
		.listener_fd = -1,
		.command_pidfd = -1};
	struct rf_launch_message message = {.kind = RF_LAUNCH_READY};

	if (rf_init_set_up(&init, &message) != 0) {
		rf_message_send(RF_KEEPER_CHANNEL, &message, NULL, 0);
		return RF_INIT_FAILED;
	}
	message.value = (int32_t)init.landlock_abi;
	rf_init_send(&init, &message);
	rf_init_await_go(&init);
	rf_init_start_command(&init);
	rf_init_serve(&init);
}
