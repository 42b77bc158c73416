/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RF_BPF_MEMBERSHIP_H
#define RF_BPF_MEMBERSHIP_H

/*
 * Which sandbox is this task in, and under which rules?
 *
 * The label in the task's storage says so; userspace set the first one before the first exec, each
 * child inherits it, nothing inside can change or lose it. A task without a label is judged by its
 * cgroup: the ancestor at the one depth at which every sandbox's leaf lies, sub-cgroups and ring
 * workers included. A label without a sandbox belongs to a straggler of a sandbox that was
 * removed: its rules are unknown, so it is refused what rules could refuse.
 */

#include "bpf/abi.h"
#include "bpf/kernel.h"
#include "bpf/maps.h"

struct rf_member {
	__u64 id;
	/* NULL: labelled, but the sandbox is gone. */
	struct rf_entry *sandbox;
	__u32 flags;
};

/* By cgroup alone: programs that have no task storage. Who is not below the base is in no leaf. */
static __always_inline int rf_member_by_cgroup(struct rf_member *member)
{
	member->sandbox = NULL;
	if (bpf_get_current_ancestor_cgroup_id(rf_leaf_depth - 1) != rf_base_id)
		return 0;
	member->id = bpf_get_current_ancestor_cgroup_id(rf_leaf_depth);
	member->flags = 0;
	member->sandbox = member->id ? bpf_map_lookup_elem(&rf_sandboxes, &member->id) : NULL;
	return member->sandbox != NULL;
}

static __always_inline int rf_member_current(struct rf_member *member)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	struct rf_label *label = bpf_task_storage_get(&rf_labels, task, NULL, 0);

	if (!label)
		return rf_member_by_cgroup(member);
	member->id = label->sandbox;
	member->flags = RF_RECORD_LABELLED;
	member->sandbox = bpf_map_lookup_elem(&rf_sandboxes, &member->id);
	return 1;
}

/* Same question about a cgroup of the default hierarchy; 0: it lies in no leaf. */
static __always_inline __u64 rf_leaf_of_cgroup(struct cgroup *cgroup)
{
	struct cgroup *leaf = NULL;
	__u32 depth = rf_leaf_depth;

	/* No cgroup is 256 levels deep in a host that we serve; the bound is for the verifier. */
	if (depth > 255 || BPF_CORE_READ(cgroup, level) < (int)depth)
		return 0;
	if (bpf_probe_read_kernel(&leaf, sizeof(leaf),
		    (void *)cgroup + bpf_core_field_offset(struct cgroup, ancestors) +
			    depth * sizeof(leaf)))
		return 0;
	return BPF_CORE_READ(leaf, kn, id);
}

static __always_inline struct rf_counters *rf_counters_of(__u64 id)
{
	return bpf_map_lookup_elem(&rf_counters, &id);
}

static __always_inline void rf_count_lost(__u64 id, enum rf_lost_cause cause)
{
	struct rf_counters *counters = rf_counters_of(id);

	if (counters)
		__sync_fetch_and_add(&counters->lost[cause & (RF_LOST_CAUSES - 1)], 1);
}

/* Identity of the process that task belongs to; every process is known by its leader. task NULL:
 * the record was zeroed and stays so. */
static __always_inline void rf_record_fill(struct rf_record *record, enum rf_record_kind kind,
	__u32 size, const struct rf_member *member, struct task_struct *task)
{
	record->kind = kind;
	record->version = RF_ABI_VERSION;
	record->size = size;
	record->time_ns = bpf_ktime_get_boot_ns();
	record->sandbox = member->id;
	record->flags = member->flags;
	record->reserved = 0;
	if (!task)
		return;
	record->pid = BPF_CORE_READ(task, pid);
	record->tgid = BPF_CORE_READ(task, tgid);
	record->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
}

/*
 * Waking the reader costs more than the record: an interrupt, and a switch to it and back. Where
 * somebody follows, the kernel's own rule wakes it whenever it has read all that came before. Where
 * nobody does, it is woken once much has come together, and by what should be known soon (wakes);
 * by force, since that rule wakes nobody for a record that has unread ones before it. The end of
 * the run reads the rest.
 */
static __always_inline __u64 rf_wake_flags(const struct rf_entry *sandbox, void *ring, int wakes)
{
	if (!(sandbox->flags & RF_RULE_UNFOLLOWED))
		return 0;
	if (wakes || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= RF_RING_WAKE_BYTES)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/* Never changes a verdict: a record that finds no room is counted and gone. */
static __always_inline void rf_emit_waking(
	const struct rf_member *member, void *record, __u64 size, int wakes)
{
	__u32 ring_id;
	void *ring;

	if (!member->sandbox)
		return;
	ring_id = member->sandbox->ring;
	ring = bpf_map_lookup_elem(&rf_rings, &ring_id);
	if (!ring)
		rf_count_lost(member->id, RF_LOST_NO_RING);
	else if (bpf_ringbuf_output(
			 ring, record, size, rf_wake_flags(member->sandbox, ring, wakes)))
		rf_count_lost(member->id, RF_LOST_RING_FULL);
}

static __always_inline void rf_emit(const struct rf_member *member, void *record, __u64 size)
{
	rf_emit_waking(member, record, size, 0);
}

/* What a refused call was about. */
struct rf_refused {
	__u32 family;
	__u32 type;
	__u32 protocol;
	/* NULL: the call names none. */
	const struct rf_address *address;
	__u16 port;
};

/* Tells of a refusal and counts it. task: who called; NULL: nobody that can be named. */
static __always_inline void rf_emit_refused(const struct rf_member *member,
	struct task_struct *task, enum rf_denial_by by, enum rf_denial_op op,
	const struct rf_refused *refused)
{
	struct rf_counters *counters = rf_counters_of(member->id);
	struct rf_record_denial record;

	__builtin_memset(&record, 0, sizeof(record));
	rf_record_fill(&record.header, RF_RECORD_DENIAL, sizeof(record), member, task);
	record.op = op;
	record.by = by;
	record.family = refused->family;
	record.type = refused->type;
	record.protocol = refused->protocol;
	record.error = 1; /* EPERM */
	if (refused->address) {
		record.address = *refused->address;
		record.port = refused->port;
		record.has_address = 1;
	}
	if (counters) {
		__sync_fetch_and_add(&counters->denials, 1);
		if (by == RF_BY_LSM)
			__sync_fetch_and_add(&counters->denials_by_lsm, 1);
	}
	/* A program that tries an address again and again must not wake the reader each time. */
	rf_emit_waking(member, &record, sizeof(record), !refused->address);
}

static __always_inline void rf_emit_denial(const struct rf_member *member, enum rf_denial_by by,
	enum rf_denial_op op, __u32 family, __u32 type, __u32 protocol)
{
	struct rf_refused refused = {.family = family, .type = type, .protocol = protocol};

	rf_emit_refused(member, (struct task_struct *)bpf_get_current_task(), by, op, &refused);
}

#endif
