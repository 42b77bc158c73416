/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The host's one set of BPF programs: pinned, versioned, shared by all root controllers, loaded by
 * the first sandbox and gone with the last.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "policy/facts.h"
#include "policy/net.h"
#include "policy/plan.h"

struct rf_bpf;
struct rf_cgroup_host;

/* Rules of one sandbox, as the maps hold them. */
struct rf_bpf_rules {
	enum { RF_BPF_SOCKETS_ALL, RF_BPF_SOCKETS_NONE, RF_BPF_SOCKETS_LISTED } sockets;
	bool is_unix_open;
	bool is_inet_open;
	/* The route protocol of AF_NETLINK is open in every posture but none. */
	int families[16];
	size_t n_families;
	/*
	 * Unix sockets of others may be reached: full access. Otherwise, with every setting of
	 * sockets, only the sandbox's own and those of rf_bpf_sandbox_allow_unix.
	 */
	bool is_unix_foreign_open;
	/* Records other than refusals and escapes may be read late: many at once, or at the end.
	 * For the only sandbox of a controller. */
	bool is_unfollowed;
	/*
	 * Which IP addresses may be reached and bound (bpf/abi.h); for RF_BPF_EGRESS_RULES the
	 * destinations, borrowed.
	 */
	enum { RF_BPF_EGRESS_ANY, RF_BPF_EGRESS_LOOPBACK, RF_BPF_EGRESS_RULES } egress;
	const struct rf_net_destination *destinations;
	size_t n_destinations;
};

struct rf_bpf_counts {
	uint64_t execs;
	uint64_t forks;
	uint64_t exits;
	uint64_t denials;
	uint64_t escapes;
	/* Records that found no room, all causes. */
	uint64_t lost;
};

/*
 * Opens the pinned set, or loads, attaches, proves (one canary a guard) and pins it. The state of
 * the three BPF mechanisms goes to ret_facts[RF_MECHANISM_BPF_LSM, _CGROUP, _TRACE]: with why and
 * remedy when off; *ret_file_hooks says the same of the part of BPF LSM that file rules need. 0
 * also when nothing could be had (then *ret is NULL); -errno when the host's set is broken in a way
 * that must not be papered over (diag says which). base_fd and base_id: the cgroup below which
 * every sandbox leaf lies.
 */
int rf_bpf_acquire(const char *runtime_directory, int base_fd, uint64_t base_id,
	struct rf_fact ret_facts[RF_MECHANISMS], struct rf_fact *ret_file_hooks,
	struct rf_bpf **ret_bpf, struct rf_diag *diag);

/* Drops the reference; the last one out unpins. Takes NULL, returns NULL. */
struct rf_bpf *rf_bpf_release(struct rf_bpf *bpf);

/* cgroup_id is the sandbox's identity in every map. State: setup. 0 or -errno. */
int rf_bpf_sandbox_add(struct rf_bpf *bpf, uint64_t cgroup_id, const struct rf_bpf_rules *rules);
/* The sticky label on a task that has not exec'ed yet. */
int rf_bpf_label(struct rf_bpf *bpf, int pidfd, uint64_t cgroup_id);
int rf_bpf_arm(struct rf_bpf *bpf, uint64_t cgroup_id);
int rf_bpf_counts(struct rf_bpf *bpf, uint64_t cgroup_id, struct rf_bpf_counts *ret_counts);
int rf_bpf_sandbox_remove(struct rf_bpf *bpf, uint64_t cgroup_id);
/* Takes is_unfollowed back. 0 or -errno. */
int rf_bpf_sandbox_follow(struct rf_bpf *bpf, uint64_t cgroup_id);
/* This socket file too may be reached (st_dev and st_ino); after add. 0 or -errno. */
int rf_bpf_sandbox_allow_unix(struct rf_bpf *bpf, uint64_t cgroup_id, dev_t dev, ino_t ino);
/*
 * File rules, after add and before arm (RF_PLACE_… of policy/plan.h). A place is what fd, O_PATH
 * too, is open on: the rule holds while an open descriptor, a mount or the like keeps the inode in
 * memory, which is the caller's to see to. Names are of entries in a place that has NAMES; they
 * take CLOSED, READ_ONLY and OPEN. *ret_token is what records call the place. 0, -E2BIG: the host's
 * map is full, or -errno.
 */
int rf_bpf_sandbox_add_place(
	struct rf_bpf *bpf, uint64_t cgroup_id, int fd, uint32_t places, uint64_t *ret_token);
int rf_bpf_sandbox_add_name(
	struct rf_bpf *bpf, uint64_t cgroup_id, uint64_t token, const char *name, uint32_t places);
/* From now on the records of a sandbox that a dead controller left come to this one's ring. */
int rf_bpf_sandbox_take(struct rf_bpf *bpf, uint64_t cgroup_id);
/*
 * Every sandbox of the host, for sweeping: at most max identities; *ret_n says how many there are
 * in all. 0 or -errno.
 */
int rf_bpf_sandbox_list(struct rf_bpf *bpf, uint64_t *ids, size_t max, size_t *ret_n);

/*
 * This controller's own ring of records. The descriptor is readable (epoll) when there are some;
 * consume calls back with each raw record (bpf/abi.h) in order and returns how many, or -errno.
 */
int rf_bpf_events_fd(struct rf_bpf *bpf);
typedef void (*rf_bpf_record_fn)(const void *record, size_t size_bytes, void *userdata);
int rf_bpf_events_consume(struct rf_bpf *bpf, rf_bpf_record_fn callback, void *userdata);
