/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Every rule is tried on the real kernel: a forked child installs the bytes and makes the call. */

#include "enforce/seccomp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct attempt {
	const char *name;
	long number;
	unsigned long args[6];
	/* EPERM, ENOSYS; 0: whatever the kernel says, but not the filter's EPERM. */
	int error;
};

struct host {
	bool has_lsm;
};

static void install(const struct rf_seccomp_filter *filters, size_t n)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(200);
	for (size_t i = 0; i < n; i++) {
		struct sock_fprog program = {
			.len = (unsigned short)filters[i].n, .filter = filters[i].instructions};

		if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, filters[i].flags, &program) < 0)
			_exit(201);
	}
}

static int call_errno(const struct attempt *a)
{
	errno = 0;
	if (syscall(a->number, a->args[0], a->args[1], a->args[2], a->args[3], a->args[4],
		    a->args[5]) >= 0)
		return 0;
	return errno;
}

/* Exit status of a child that runs body under the plan's filters. */
static int in_child(const struct rf_plan *plan, struct host host, int (*body)(const void *),
	const void *argument)
{
	struct rf_seccomp_filter *filters = NULL;
	size_t n = 0;
	int status = 0;
	pid_t pid;

	cr_assert_eq(rf_seccomp_make(plan, host.has_lsm, &filters, &n), 0);
	pid = fork();
	if (pid == 0) {
		install(filters, n);
		_exit(body(argument));
	}
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	rf_seccomp_free(filters, n);
	cr_assert(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

static int try_call(const void *argument)
{
	return call_errno(argument);
}

static void expect(const struct rf_plan *plan, struct host host, const struct attempt *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int got = in_child(plan, host, try_call, &a[i]);

		if (a[i].error)
			cr_expect_eq(got, a[i].error, "%s: errno %d", a[i].name, got);
		else
			cr_expect_neq(got, EPERM, "%s: refused", a[i].name);
	}
}

#define EXPECT(plan, host, attempts) expect(&(plan), host, attempts, RF_ARRAY_SIZE(attempts))

static const struct host BARE = {false};
static const struct host LSM = {true};

static struct rf_plan plan_of(enum rf_posture posture)
{
	return (struct rf_plan){.mode = RF_MODE_WORKSPACE_WRITE,
		.posture = posture,
		.is_unix_open = posture == RF_POSTURE_LOOPBACK || posture == RF_POSTURE_OPEN};
}

Test(seccomp, none_refuses_every_socket_but_connected_pairs)
{
	struct rf_plan plan = plan_of(RF_POSTURE_NONE);
	const struct attempt attempts[] = {
		{"inet stream", SYS_socket, {AF_INET, SOCK_STREAM, 0}, EPERM},
		{"inet datagram", SYS_socket, {AF_INET, SOCK_DGRAM, 0}, EPERM},
		{"inet6", SYS_socket, {AF_INET6, SOCK_STREAM, 0}, EPERM},
		{"mptcp", SYS_socket, {AF_INET, SOCK_STREAM, 262}, EPERM},
		{"unix", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, EPERM},
		{"netlink route", SYS_socket, {AF_NETLINK, SOCK_RAW, 0}, EPERM},
		{"vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, EPERM},
		{"packet", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, EPERM},
		{"family with high bits", SYS_socket, {0x100000002, SOCK_STREAM, 0}, EPERM},
		{"family 0", SYS_socket, {0, 0, 0}, EPERM},
		{"datagram pair", SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0, 8}, EPERM},
		{"datagram pair, close-on-exec", SYS_socketpair,
			{AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, 8}, EPERM},
		{"raw pair is a datagram pair", SYS_socketpair, {AF_UNIX, SOCK_RAW, 0, 8}, EPERM},
		{"pair of tipc", SYS_socketpair, {AF_TIPC, SOCK_STREAM, 0, 8}, EPERM},
		{"stream pair", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, 8}, 0},
		{"stream pair, flags", SYS_socketpair,
			{AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 8}, 0},
		{"seqpacket pair", SYS_socketpair, {AF_UNIX, SOCK_SEQPACKET, 0, 8}, 0},
		{"bind", SYS_bind, {99, 0, 0}, EPERM},
		{"connect", SYS_connect, {99, 0, 0}, EPERM},
		{"listen", SYS_listen, {99, 1}, EPERM},
		{"sendto with an address", SYS_sendto, {99, 8, 0, 0, 8, 2}, EPERM},
		{"send", SYS_sendto, {99, 8, 0, 0, 0, 0}, 0},
		{"sendmsg", SYS_sendmsg, {99, 8, 0}, 0},
	};

	EXPECT(plan, BARE, attempts);
}

static const struct attempt inet_table[] = {
	{"tcp", SYS_socket, {AF_INET, SOCK_STREAM, 0}, 0},
	{"tcp, flags", SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 6}, 0},
	{"udp", SYS_socket, {AF_INET6, SOCK_DGRAM, 17}, 0},
	{"ping", SYS_socket, {AF_INET, SOCK_DGRAM, 1}, EACCES},
	{"mptcp", SYS_socket, {AF_INET, SOCK_STREAM, 262}, EPERM},
	{"mptcp 6", SYS_socket, {AF_INET6, SOCK_STREAM, 262}, EPERM},
	{"sctp", SYS_socket, {AF_INET, SOCK_STREAM, 132}, EPERM},
	{"sctp, seqpacket", SYS_socket, {AF_INET, SOCK_SEQPACKET, 132}, EPERM},
	{"smc", SYS_socket, {AF_INET, SOCK_STREAM, 256}, EPERM},
	{"l2tp", SYS_socket, {AF_INET, SOCK_DGRAM, 115}, EPERM},
	{"udplite", SYS_socket, {AF_INET, SOCK_DGRAM, 136}, EPERM},
	{"protocol 2", SYS_socket, {AF_INET, SOCK_DGRAM, 2}, EPERM},
	{"protocol 33", SYS_socket, {AF_INET, SOCK_STREAM, 33}, EPERM},
	{"protocol 59", SYS_socket, {AF_INET, SOCK_STREAM, 59}, EPERM},
	{"raw", SYS_socket, {AF_INET, SOCK_RAW, 1}, EPERM},
	{"raw 6", SYS_socket, {AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 58}, EPERM},
	{"old packet type", SYS_socket, {AF_INET, SOCK_PACKET, 0}, EPERM},
	{"netlink route", SYS_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0}, 0},
	{"netlink generic", SYS_socket, {AF_NETLINK, SOCK_RAW, 16}, EPERM},
	{"netlink audit", SYS_socket, {AF_NETLINK, SOCK_RAW, 9}, EPERM},
	{"packet", SYS_socket, {AF_PACKET, SOCK_RAW, 3}, EPERM},
	{"alg", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, EPERM},
	{"vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, EPERM},
	{"the last family", SYS_socket, {45, SOCK_STREAM, 0}, EPERM},
	{"a family to come", SYS_socket, {64, SOCK_STREAM, 0}, EPERM},
	{"a family far away", SYS_socket, {0x7fffffff, SOCK_STREAM, 0}, EPERM},
	{"packet with high bits", SYS_socket, {0x100000011, SOCK_RAW, 3}, EPERM},
	{"connect", SYS_connect, {99, 0, 0}, 0},
	{"bind", SYS_bind, {99, 0, 0}, 0},
	{"sendto", SYS_sendto, {99, 8, 0, 0, 8, 2}, 0},
};

Test(seccomp, loopback_and_open_have_known_families_types_and_protocols)
{
	const enum rf_posture postures[] = {RF_POSTURE_LOOPBACK, RF_POSTURE_OPEN};
	const struct host hosts[] = {BARE};

	for (size_t i = 0; i < RF_ARRAY_SIZE(postures); i++)
		for (size_t k = 0; k < RF_ARRAY_SIZE(hosts); k++) {
			struct rf_plan plan = plan_of(postures[i]);

			/* Who may ping is the host's sysctl: only the filter's word counts here. */
			struct attempt copy[RF_ARRAY_SIZE(inet_table)];

			memcpy(copy, inet_table, sizeof(copy));
			for (size_t n = 0; n < RF_ARRAY_SIZE(copy); n++)
				if (copy[n].error == EACCES)
					copy[n].error = 0;
			EXPECT(plan, hosts[k], copy);
		}
}

Test(seccomp, unix_is_open_as_the_plan_decided)
{
	struct rf_plan plan = plan_of(RF_POSTURE_LOOPBACK);
	const struct attempt closed[] = {
		{"unix stream", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, EPERM},
		{"unix datagram", SYS_socket, {AF_UNIX, SOCK_DGRAM, 0}, EPERM},
		{"datagram pair", SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0, 8}, EPERM},
		{"stream pair", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, 8}, 0},
	};
	const struct attempt open[] = {
		{"unix stream", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, 0},
		{"unix datagram", SYS_socket, {AF_UNIX, SOCK_DGRAM, 0}, 0},
		{"datagram pair", SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0, 8}, 0},
	};

	EXPECT(plan, BARE, open);
	EXPECT(plan, LSM, open);
	plan.is_unix_open = false;
	EXPECT(plan, BARE, closed);
	plan.families[0] = AF_UNIX;
	plan.n_families = 1;
	EXPECT(plan, BARE, closed);
}

Test(seccomp, where_lsm_hooks_decide_sockets_the_filter_leaves_them_the_record)
{
	struct rf_plan plan = plan_of(RF_POSTURE_NONE);
	const struct attempt attempts[] = {
		{"inet", SYS_socket, {AF_INET, SOCK_STREAM, 0}, 0},
		{"connect", SYS_connect, {99, 0, 0}, 0},
		{"bind", SYS_bind, {99, 0, 0}, 0},
		{"datagram pair", SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0, 8}, 0},
	};

	plan.is_unix_open = false;
	EXPECT(plan, LSM, attempts);
}

Test(seccomp, a_named_family_is_open_whole)
{
	struct rf_plan plan = plan_of(RF_POSTURE_NONE);
	const struct attempt attempts[] = {
		{"vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, 0},
		{"netlink generic", SYS_socket, {AF_NETLINK, SOCK_RAW, 16}, 0},
		{"inet", SYS_socket, {AF_INET, SOCK_STREAM, 0}, EPERM},
		{"packet", SYS_socket, {AF_PACKET, SOCK_RAW, 3}, EPERM},
		{"connect", SYS_connect, {99, 0, 0}, 0},
	};

	plan.families[0] = AF_VSOCK;
	plan.families[1] = AF_NETLINK;
	plan.n_families = 2;
	EXPECT(plan, BARE, attempts);
}

Test(seccomp, kernel_doors_are_closed)
{
	struct rf_plan plan = plan_of(RF_POSTURE_OPEN);
	const struct attempt attempts[] = {
		{"clone3", SYS_clone3, {0, 0}, ENOSYS},
		{"TIOCSTI", SYS_ioctl, {99, TIOCSTI, 8}, EPERM},
		{"TIOCSTI with high bits", SYS_ioctl, {99, 0x100005412, 8}, EPERM},
		{"TIOCLINUX", SYS_ioctl, {99, TIOCLINUX, 8}, EPERM},
		{"TIOCLINUX with high bits", SYS_ioctl, {99, 0xffffffff0000541c, 8}, EPERM},
		{"TIOCGWINSZ", SYS_ioctl, {99, TIOCGWINSZ, 8}, 0},
		{"keyctl", SYS_keyctl, {99}, EPERM},
		{"add_key", SYS_add_key, {8}, EPERM},
		{"request_key", SYS_request_key, {8}, EPERM},
		{"bpf", SYS_bpf, {99, 0, 0}, EPERM},
		{"perf_event_open", SYS_perf_event_open, {8}, EPERM},
		{"init_module", SYS_init_module, {8}, EPERM},
		{"finit_module", SYS_finit_module, {99}, EPERM},
		{"delete_module", SYS_delete_module, {8}, EPERM},
		{"kexec_load", SYS_kexec_load, {0}, EPERM},
		{"mount", SYS_mount, {8, 8, 8}, EPERM},
		{"umount2", SYS_umount2, {8}, EPERM},
		{"pivot_root", SYS_pivot_root, {8, 8}, EPERM},
		{"fsopen", SYS_fsopen, {8}, EPERM},
		{"open_tree", SYS_open_tree, {99, 8}, EPERM},
		{"open_tree_attr", 467, {99, 8}, EPERM},
		{"move_mount", SYS_move_mount, {99, 8}, EPERM},
		{"mount_setattr", 442, {99, 8}, EPERM},
		{"setns", SYS_setns, {99, 0}, EPERM},
		{"unshare user", SYS_unshare, {CLONE_NEWUSER}, EPERM},
		{"unshare mount and files", SYS_unshare, {CLONE_NEWNS | CLONE_FILES}, EPERM},
		{"unshare time", SYS_unshare, {0x80}, EPERM},
		{"unshare files", SYS_unshare, {CLONE_FILES}, 0},
		{"clone user", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, EPERM},
		{"clone pid", SYS_clone, {CLONE_NEWPID | SIGCHLD}, EPERM},
		{"userfaultfd", SYS_userfaultfd, {0}, EPERM},
		{"open_by_handle_at", SYS_open_by_handle_at, {99, 8, 0}, EPERM},
		{"clock_settime", SYS_clock_settime, {0, 8}, EPERM},
		{"ptrace", SYS_ptrace, {0x4200, 0, 0, 0}, 0},
		{"pidfd_open", SYS_pidfd_open, {1, 0}, 0},
		{"close_range", SYS_close_range, {900, 901, 0}, 0},
		{"io_uring_setup", SYS_io_uring_setup, {1, 8}, EPERM},
		{"io_uring_enter", SYS_io_uring_enter, {99}, EPERM},
		{"io_uring_register", SYS_io_uring_register, {99}, EPERM},
	};
	const struct attempt ring[] = {{"io_uring_setup", SYS_io_uring_setup, {1, 8}, 0}};

	EXPECT(plan, BARE, attempts);
	plan.is_io_uring_open = true;
	EXPECT(plan, BARE, ring);
}

/* Each call has a pointer or a number that the kernel itself refuses with another errno. */
Test(seccomp, process_1_keeps_its_limits_and_its_place)
{
	struct rf_plan plan = plan_of(RF_POSTURE_OPEN);
	const unsigned long high = 0xffffffff00000001;
	const struct attempt attempts[] = {
		{"prlimit of 1", SYS_prlimit64, {1, RLIMIT_NOFILE, 8, 0}, EPERM},
		{"prlimit with high bits", SYS_prlimit64, {high, RLIMIT_NOFILE, 8, 0}, EPERM},
		{"prlimit of 1, pointer above 4 GiB", SYS_prlimit64,
			{1, RLIMIT_NOFILE, 1UL << 40, 0}, EPERM},
		{"limits of 1 are read", SYS_prlimit64, {1, 99, 0, 0}, 0},
		{"own prlimit", SYS_prlimit64, {0, RLIMIT_NOFILE, 8, 0}, 0},
		{"prlimit of another", SYS_prlimit64, {0x7fffffff, RLIMIT_NOFILE, 8, 0}, 0},
		{"sched_setscheduler", SYS_sched_setscheduler, {1, 0, 8}, EPERM},
		{"sched_setscheduler with high bits", SYS_sched_setscheduler, {high, 0, 8}, EPERM},
		{"sched_setparam", SYS_sched_setparam, {1, 8}, EPERM},
		{"sched_setattr", SYS_sched_setattr, {1, 8, 0}, EPERM},
		{"sched_setaffinity", SYS_sched_setaffinity, {1, 8, 8}, EPERM},
		{"own sched_setaffinity", SYS_sched_setaffinity, {0, 8, 8}, 0},
		{"setpriority", SYS_setpriority, {PRIO_PROCESS, 1, 19}, EPERM},
		{"setpriority with high bits", SYS_setpriority, {high - 1, high, 19}, EPERM},
		{"setpriority of the group", SYS_setpriority, {PRIO_PGRP, 1, 19}, EPERM},
		{"own setpriority", SYS_setpriority, {PRIO_PROCESS, 0, 19}, 0},
		{"ioprio_set", SYS_ioprio_set, {1, 1, 0}, EPERM},
		{"ioprio_set with high bits", SYS_ioprio_set, {high, high, 0}, EPERM},
		{"own ioprio_set", SYS_ioprio_set, {1, 0, 4 << 13}, 0},
	};

	EXPECT(plan, BARE, attempts);
}

/* What the launcher does under the filters: make a process, wait for it, pass messages. */
static int use_processes(const void *argument)
{
	char text[4] = "";
	int pair[2];
	int status = 0;
	pid_t pid;

	(void)argument;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return 1;
	pid = fork();
	if (pid == 0)
		_exit(send(pair[1], "go", 3, 0) == 3 ? 7 : 8);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
		return 2;
	return recv(pair[0], text, sizeof(text), 0) == 3 ? 0 : 3;
}

Test(seccomp, the_launcher_can_work_below_it)
{
	struct rf_plan plan = plan_of(RF_POSTURE_NONE);

	cr_expect_eq(in_child(&plan, BARE, use_processes, NULL), 0);
}

#ifdef __x86_64__
static int call_x32(const void *argument)
{
	(void)argument;
	errno = 0;
	return syscall(SYS_getpid | 0x40000000L) >= 0 ? 0 : errno;
}

static int call_32_bit(const void *argument)
{
	long result = 20; /* getpid of i386 */

	(void)argument;
	__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
	return result >= 0 ? 0 : (int)-result;
}

/* The entry exists on this machine: not every kernel emulates 32 bits. */
static bool has_32_bit(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(call_32_bit(NULL));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Test(seccomp, entries_of_32_bits_and_x32_are_closed)
{
	struct rf_plan plan = plan_of(RF_POSTURE_OPEN);

	cr_expect_eq(in_child(&plan, BARE, call_x32, NULL), EPERM);
	if (has_32_bit())
		cr_expect_eq(in_child(&plan, BARE, call_32_bit, NULL), EPERM);
	else
		cr_log_warn("no 32-bit entry here");
}
#endif

Test(seccomp, full_access_has_no_filter_unless_the_network_is_narrowed)
{
	struct rf_plan plan = plan_of(RF_POSTURE_OPEN);
	struct rf_seccomp_filter *filters = (void *)8;
	size_t n = 9;
	const struct attempt attempts[] = {
		{"inet", SYS_socket, {AF_INET, SOCK_STREAM, 0}, EPERM},
		{"unshare user", SYS_unshare, {CLONE_NEWUSER}, 0},
	};

	plan.mode = RF_MODE_FULL_ACCESS;
	cr_assert_eq(rf_seccomp_make(&plan, false, &filters, &n), 0);
	cr_expect_eq(n, 0);
	cr_expect_null(filters);
	plan.posture = RF_POSTURE_NONE;
	EXPECT(plan, BARE, attempts);
}

Test(seccomp, only_the_second_filter_is_logged)
{
	struct rf_plan plan = plan_of(RF_POSTURE_OPEN);
	struct rf_seccomp_filter *filters = NULL;
	size_t n = 0;

	cr_assert_eq(rf_seccomp_make(&plan, false, &filters, &n), 0);
	cr_assert_eq(n, 2);
	cr_expect_eq(filters[0].flags, 0);
	cr_expect_eq(filters[1].flags, SECCOMP_FILTER_FLAG_LOG);
	cr_expect_null(rf_seccomp_free(filters, n));
}

/* Where no LSM hook sees a socket bind itself, the launcher is asked. */
Test(seccomp, b6_f_19_listen_is_asked_about_where_addresses_are_judged_without_lsm)
{
	static const enum rf_posture postures[] = {RF_POSTURE_NONE, RF_POSTURE_LOOPBACK,
		RF_POSTURE_HOST_LOOPBACK, RF_POSTURE_ALLOW, RF_POSTURE_OPEN};

	for (size_t i = 0; i < RF_ARRAY_SIZE(postures); i++) {
		struct rf_plan plan = plan_of(postures[i]);
		bool is_asked = rf_posture_has_address_rules(postures[i]);

		for (int has_lsm = 0; has_lsm <= 1; has_lsm++) {
			struct rf_seccomp_filter *filters = NULL;
			size_t n = 0;

			cr_assert(rf_seccomp_make(&plan, has_lsm, &filters, &n) == 0);
			cr_assert(n == (is_asked && !has_lsm ? 3 : 2), "%d", (int)postures[i]);
			cr_assert(!(filters[n - 1].flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) ==
				  (n == 2));
			rf_seccomp_free(filters, n);
		}
	}
}
