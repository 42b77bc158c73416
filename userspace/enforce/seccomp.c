/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Filters, apart because the kernel logs by filter and not by rule:
 *
 *	quiet	clone3 answers ENOSYS. Its flags lie in memory, where no filter can look, so a
 *		program must fall back to clone. Every thread's start comes by here: nothing is
 *		logged.
 *	loud	everything else, EPERM, with SECCOMP_FILTER_FLAG_LOG, so that a refusal is seen by
 *		audit_seccomp and becomes a denial record.
 *	listen	without BPF LSM, in postures that go by address: the launcher is asked.
 *
 * All allow by default. What they refuse is never worth killing for: the caller sees an errno.
 *
 * Arguments are attacker-held registers. Where the kernel takes an int from a register, only the
 * low half counts for it: a request of 0x100005412 is TIOCSTI. So a list of refused values is
 * compared under a mask of the low half, while a list of allowed values is compared whole, which is
 * stricter than the kernel and cannot be got round.
 *
 * Not covered here, since a filter cannot follow a pointer: addresses of connect, bind and sendmsg.
 * Where nothing else tells Unix sockets apart, they are closed at their creation, and so are the
 * datagram pairs (SOCK_RAW is SOCK_DGRAM there), whose ends can send to any path or name. Stream
 * pairs are connected for good. Sockets that the caller passed in are the caller's grant.
 */

#include "enforce/seccomp.h"

#include <errno.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* linux/in.h does not go together with netinet/in.h; these five never change. */
#define PROTOCOL_ICMP 1
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define PROTOCOL_ICMPV6 58

#define WHOLE UINT64_MAX
#define LOW_HALF 0xffffffffULL
/* Of socket()'s type: the rest are SOCK_CLOEXEC and SOCK_NONBLOCK. */
#define TYPE_MASK 0xfULL
/* Families and protocols from here on are refused in one comparison. */
#define LISTED_MAX 63

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

/* Numbers that libseccomp 2.5.4 has no name for; the same on every architecture. */
#define CALL_OPEN_TREE_ATTR 467

static void release_p(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

/* Rules are added without a look at each answer; the first error stays. */
struct builder {
	scmp_filter_ctx filter;
	int error;
};

static void refuse(struct builder *b, int call, unsigned int n_conditions,
	const struct scmp_arg_cmp *conditions)
{
	int r;

	if (b->error < 0)
		return;
	r = seccomp_rule_add_array(
		b->filter, SCMP_ACT_ERRNO(EPERM), call, n_conditions, conditions);
	/* -EDOM: a call that this architecture does not have. */
	if (r < 0 && r != -EDOM)
		b->error = r;
}

static void refuse_call(struct builder *b, int call)
{
	refuse(b, call, 0, NULL);
}

static struct scmp_arg_cmp masked(unsigned int arg, uint64_t mask, uint64_t value)
{
	return (struct scmp_arg_cmp){arg, SCMP_CMP_MASKED_EQ, mask, value};
}

static struct scmp_arg_cmp compare(unsigned int arg, enum scmp_compare op, uint64_t value)
{
	return (struct scmp_arg_cmp){arg, op, value, 0};
}

static void refuse_if(struct builder *b, int call, struct scmp_arg_cmp condition)
{
	refuse(b, call, 1, &condition);
}

/* One argument of a call, looked at under a mask, in one family (-1: whatever the family). */
struct field {
	int call;
	int family;
	unsigned int arg;
	uint64_t mask;
};

static void refuse_field(
	struct builder *b, const struct field *field, struct scmp_arg_cmp condition)
{
	struct scmp_arg_cmp both[2] = {condition};

	if (field->family < 0) {
		refuse(b, field->call, 1, both);
		return;
	}
	both[1] = compare(0, SCMP_CMP_EQ, (uint64_t)field->family);
	refuse(b, field->call, 2, both);
}

/*
 * libseccomp compares an argument once a rule, so there are no ranges: the range is cut into
 * aligned blocks, each one comparison under a mask.
 */
static void refuse_range(
	struct builder *b, const struct field *field, unsigned int low, unsigned int high)
{
	while (low <= high) {
		unsigned int size = low ? low & -low : LISTED_MAX + 1;

		while (low + size - 1 > high)
			size /= 2;
		refuse_field(
			b, field, masked(field->arg, field->mask & ~(uint64_t)(size - 1), low));
		low += size;
	}
}

/* Refuses every value but those whose bit is set. */
static void refuse_others(struct builder *b, const struct field *field, uint64_t allowed)
{
	unsigned int end = field->mask == WHOLE ? LISTED_MAX : (unsigned int)field->mask;

	for (unsigned int low = 0; low <= end; low++) {
		unsigned int high = low;

		if (allowed & (1ULL << low))
			continue;
		while (high < end && !(allowed & (1ULL << (high + 1))))
			high++;
		refuse_range(b, field, low, high);
		low = high;
	}
	if (field->mask == WHOLE)
		refuse_field(b, field, compare(field->arg, SCMP_CMP_GT, LISTED_MAX));
}

static bool is_named(const struct rf_plan *plan, int family)
{
	for (size_t i = 0; i < plan->n_families; i++)
		if (plan->families[i] == family)
			return true;
	return false;
}

/* Streams and datagrams of the protocols that everybody knows: no MPTCP, SCTP, SMC, L2TP, raw. */
static void add_inet_rules(struct builder *b, int family)
{
	const uint64_t types = 1ULL << SOCK_STREAM | 1ULL << SOCK_DGRAM;
	const uint64_t protocols = 1ULL << 0 | 1ULL << PROTOCOL_ICMP | 1ULL << PROTOCOL_TCP |
				   1ULL << PROTOCOL_UDP | 1ULL << PROTOCOL_ICMPV6;

	refuse_others(b, &(struct field){SCMP_SYS(socket), family, 1, TYPE_MASK}, types);
	refuse_others(b, &(struct field){SCMP_SYS(socket), family, 2, WHOLE}, protocols);
}

static uint64_t allowed_families(const struct rf_plan *plan, bool is_unix_open)
{
	uint64_t allowed = 0;

	switch (plan->posture) {
	case RF_POSTURE_UNSET:
	case RF_POSTURE_NONE:
		break;
	case RF_POSTURE_LOOPBACK:
	case RF_POSTURE_HOST_LOOPBACK:
	case RF_POSTURE_ALLOW:
	case RF_POSTURE_OPEN:
		allowed = 1ULL << AF_INET | 1ULL << AF_INET6 | 1ULL << AF_NETLINK;
		break;
	}
	for (size_t i = 0; i < plan->n_families; i++)
		if (plan->families[i] > 0 && plan->families[i] <= LISTED_MAX)
			allowed |= 1ULL << plan->families[i];
	/* Last: a closed AF_UNIX is not opened by naming the family. */
	if (is_unix_open)
		allowed |= 1ULL << AF_UNIX;
	else
		allowed &= ~(1ULL << AF_UNIX);
	return allowed;
}

static void add_socket_rules(struct builder *b, const struct rf_plan *plan, bool is_unix_open)
{
	uint64_t allowed = allowed_families(plan, is_unix_open);
	const int inet[] = {AF_INET, AF_INET6};

	if (allowed == 0) {
		refuse_call(b, SCMP_SYS(socket));
		return;
	}
	refuse_others(b, &(struct field){SCMP_SYS(socket), -1, 0, WHOLE}, allowed);
	for (size_t i = 0; i < RF_ARRAY_SIZE(inet); i++)
		if ((allowed & (1ULL << inet[i])) && !is_named(plan, inet[i]))
			add_inet_rules(b, inet[i]);
	/* NETLINK_ROUTE is 0: what getaddrinfo and getifaddrs need. */
	if ((allowed & (1ULL << AF_NETLINK)) && !is_named(plan, AF_NETLINK))
		refuse_field(b, &(struct field){SCMP_SYS(socket), AF_NETLINK, 2, WHOLE},
			compare(2, SCMP_CMP_NE, 0));
}

static void add_pair_rules(struct builder *b, bool is_unix_told)
{
	const uint64_t connected = 1ULL << SOCK_STREAM | 1ULL << SOCK_SEQPACKET;

	/* TIPC makes pairs as well. */
	refuse_if(b, SCMP_SYS(socketpair), compare(0, SCMP_CMP_NE, AF_UNIX));
	if (!is_unix_told)
		refuse_others(
			b, &(struct field){SCMP_SYS(socketpair), -1, 1, TYPE_MASK}, connected);
}

static void add_network_rules(struct builder *b, const struct rf_plan *plan, bool has_lsm_sockets)
{
	/* The plan has decided, waivers included. */
	bool is_unix_open = plan->is_unix_open;

	/* The filter answers before the LSM hooks: where those decide, they also keep the record.
	 */
	if (!has_lsm_sockets)
		add_socket_rules(b, plan, is_unix_open);
	add_pair_rules(b, is_unix_open || has_lsm_sockets);
	if (has_lsm_sockets || plan->posture != RF_POSTURE_NONE || plan->n_families > 0 ||
		is_unix_open)
		return;
	refuse_call(b, SCMP_SYS(bind));
	refuse_call(b, SCMP_SYS(connect));
	refuse_call(b, SCMP_SYS(listen));
	/* send() is sendto() without an address. */
	refuse_if(b, SCMP_SYS(sendto), compare(4, SCMP_CMP_NE, 0));
}

static void add_namespace_rules(struct builder *b)
{
	const uint64_t flags[] = {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
		CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET};
	const int calls[] = {SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root),
		SCMP_SYS(fsopen), SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fspick),
		SCMP_SYS(move_mount), SCMP_SYS(open_tree), CALL_OPEN_TREE_ATTR,
		SCMP_SYS(mount_setattr), SCMP_SYS(setns)};

	for (size_t i = 0; i < RF_ARRAY_SIZE(calls); i++)
		refuse_call(b, calls[i]);
	for (size_t i = 0; i < RF_ARRAY_SIZE(flags); i++) {
		refuse_if(b, SCMP_SYS(unshare), masked(0, flags[i], flags[i]));
		refuse_if(b, SCMP_SYS(clone), masked(0, flags[i], flags[i]));
	}
	/* In clone() this bit belongs to the exit signal. */
	refuse_if(b, SCMP_SYS(unshare), masked(0, CLONE_NEWTIME, CLONE_NEWTIME));
}

/* Calls that no ordinary program needs and that reach parts of the kernel with no bounds of ours.
 */
static void add_kernel_rules(struct builder *b)
{
	const int calls[] = {SCMP_SYS(acct), SCMP_SYS(add_key), SCMP_SYS(bpf),
		SCMP_SYS(clock_settime), SCMP_SYS(delete_module), SCMP_SYS(finit_module),
		SCMP_SYS(init_module), SCMP_SYS(ioperm), SCMP_SYS(iopl), SCMP_SYS(kexec_file_load),
		SCMP_SYS(kexec_load), SCMP_SYS(keyctl), SCMP_SYS(open_by_handle_at),
		SCMP_SYS(perf_event_open), SCMP_SYS(quotactl), SCMP_SYS(quotactl_fd),
		SCMP_SYS(reboot), SCMP_SYS(request_key), SCMP_SYS(settimeofday), SCMP_SYS(swapoff),
		SCMP_SYS(swapon), SCMP_SYS(userfaultfd)};

	for (size_t i = 0; i < RF_ARRAY_SIZE(calls); i++)
		refuse_call(b, calls[i]);
	refuse_if(b, SCMP_SYS(ioctl), masked(1, LOW_HALF, TIOCSTI));
	refuse_if(b, SCMP_SYS(ioctl), masked(1, LOW_HALF, TIOCLINUX));
}

/*
 * Process 1 is the launcher, and it is of the same user: no open files, no processor time or the
 * last place in the queue would let the command spoil the word of how it ended. Its group is
 * guarded too; PRIO_USER reaches it still, which makes it slow and nothing worse. Process numbers
 * are ints: the low half counts.
 */
static void add_init_rules(struct builder *b)
{
	const int by_pid[] = {SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setattr),
		SCMP_SYS(sched_setparam), SCMP_SYS(sched_setscheduler)};
	const struct {
		int call;
		uint64_t which;
	} by_kind[] = {{SCMP_SYS(setpriority), PRIO_PROCESS}, {SCMP_SYS(setpriority), PRIO_PGRP},
		{SCMP_SYS(ioprio_set), IOPRIO_WHO_PROCESS},
		{SCMP_SYS(ioprio_set), IOPRIO_WHO_PGRP}};
	/* To read its limits is harmless. */
	const struct scmp_arg_cmp new_limit[] = {
		masked(0, LOW_HALF, 1), compare(2, SCMP_CMP_NE, 0)};

	refuse(b, SCMP_SYS(prlimit64), RF_ARRAY_SIZE(new_limit), new_limit);
	for (size_t i = 0; i < RF_ARRAY_SIZE(by_pid); i++)
		refuse_if(b, by_pid[i], masked(0, LOW_HALF, 1));
	for (size_t i = 0; i < RF_ARRAY_SIZE(by_kind); i++) {
		const struct scmp_arg_cmp both[] = {
			masked(0, LOW_HALF, by_kind[i].which), masked(1, LOW_HALF, 1)};

		refuse(b, by_kind[i].call, RF_ARRAY_SIZE(both), both);
	}
}

/* Programs fall back from EPERM as they do from ENOSYS, since host settings answer so too. */
static void add_ring_rules(struct builder *b)
{
	refuse_call(b, SCMP_SYS(io_uring_setup));
	refuse_call(b, SCMP_SYS(io_uring_enter));
	refuse_call(b, SCMP_SYS(io_uring_register));
}

/* Everything by default, another architecture's entries answered with bad_arch. */
static int builder_init(struct builder *b, uint32_t bad_arch)
{
	int r;

	b->filter = seccomp_init(SCMP_ACT_ALLOW);
	if (!b->filter)
		return -ENOMEM;
	r = seccomp_attr_set(b->filter, SCMP_FLTATR_ACT_BADARCH, bad_arch);
	if (r == 0)
		r = seccomp_attr_set(b->filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	return r;
}

/* Takes the rules out of libseccomp; its export knows descriptors alone. */
static int builder_finish(struct builder *b, uint32_t flags, struct rf_seccomp_filter *ret_filter)
{
	int fd rf_autoclose = -1;
	char *bytes rf_autofree = NULL;
	size_t size_bytes = 0;
	int r;

	if (b->error < 0)
		return b->error;
	fd = memfd_create("ringfence-filter", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = seccomp_export_bpf(b->filter, fd);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	r = rf_read_all(fd, BPF_MAXINSNS * sizeof(struct sock_filter), &bytes, &size_bytes);
	if (r < 0)
		return r;
	if (size_bytes == 0 || size_bytes % sizeof(struct sock_filter) != 0)
		return -EPROTO;
	ret_filter->flags = flags;
	ret_filter->n = size_bytes / sizeof(struct sock_filter);
	ret_filter->instructions = (struct sock_filter *)(void *)RF_TAKE(bytes);
	return 0;
}

static int make_quiet(struct rf_seccomp_filter *ret_filter)
{
	scmp_filter_ctx owned rf_cleanup(release_p) = NULL;
	struct builder b = {0};
	int r;

	/* The loud filter answers for other architectures. */
	r = builder_init(&b, SCMP_ACT_ALLOW);
	owned = b.filter;
	if (r < 0)
		return r;
	r = seccomp_rule_add(b.filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (r < 0)
		return r;
	return builder_finish(&b, 0, ret_filter);
}

static int make_loud(
	const struct rf_plan *plan, bool has_lsm_sockets, struct rf_seccomp_filter *ret_filter)
{
	scmp_filter_ctx owned rf_cleanup(release_p) = NULL;
	struct builder b = {0};
	int r;

	r = builder_init(&b, SCMP_ACT_ERRNO(EPERM));
	owned = b.filter;
	if (r < 0)
		return r;
	add_network_rules(&b, plan, has_lsm_sockets);
	if (!plan->is_io_uring_open)
		add_ring_rules(&b);
	if (plan->mode != RF_MODE_FULL_ACCESS) {
		add_namespace_rules(&b);
		add_kernel_rules(&b);
		add_init_rules(&b);
	}
	return builder_finish(&b, SECCOMP_FILTER_FLAG_LOG, ret_filter);
}

/* A socket that listens unbound binds itself: where no LSM hook sees it, the launcher is asked. */
static int make_listener(struct rf_seccomp_filter *ret_filter)
{
	scmp_filter_ctx owned rf_cleanup(release_p) = NULL;
	struct builder b = {0};
	int r;

	/* The loud filter answers for other architectures. */
	r = builder_init(&b, SCMP_ACT_ALLOW);
	owned = b.filter;
	if (r < 0)
		return r;
	r = seccomp_rule_add(b.filter, SCMP_ACT_NOTIFY, SCMP_SYS(listen), 0);
	if (r < 0)
		return r;
	return builder_finish(&b, SECCOMP_FILTER_FLAG_NEW_LISTENER, ret_filter);
}

int rf_seccomp_make(const struct rf_plan *plan, bool has_lsm_sockets,
	struct rf_seccomp_filter **ret_filters, size_t *ret_n)
{
	struct rf_seccomp_filter *filters = NULL;
	size_t n = 0;
	int r = 0;

	/* Full access asks for nothing, unless a network rule was asked for on top. */
	if (plan->mode == RF_MODE_FULL_ACCESS && plan->posture == RF_POSTURE_OPEN &&
		plan->is_unix_open) {
		*ret_filters = NULL;
		*ret_n = 0;
		return 0;
	}
	filters = calloc(3, sizeof(*filters));
	if (!filters)
		return -ENOMEM;
	if (plan->mode != RF_MODE_FULL_ACCESS) {
		r = make_quiet(&filters[n]);
		n += r == 0;
	}
	if (r == 0) {
		r = make_loud(plan, has_lsm_sockets, &filters[n]);
		n += r == 0;
	}
	if (r == 0 && !has_lsm_sockets && rf_posture_has_address_rules(plan->posture)) {
		r = make_listener(&filters[n]);
		n += r == 0;
	}
	if (r < 0) {
		rf_seccomp_free(filters, n);
		return r;
	}
	*ret_filters = filters;
	*ret_n = n;
	return 0;
}

struct rf_seccomp_filter *rf_seccomp_free(struct rf_seccomp_filter *filters, size_t n)
{
	for (size_t i = 0; filters && i < n; i++)
		free(filters[i].instructions);
	free(filters);
	return NULL;
}
