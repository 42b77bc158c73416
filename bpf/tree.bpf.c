/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */

/*
 * The process tree: who was born, who ended, who left.
 *
 * Decides one thing: whether a child may live that could not be labelled. It may not: with LSM
 * hooks the fork fails, without them its parent is killed and the sandbox's record is no longer
 * complete; the child itself still is under its cgroup's rules.
 *
 * task_newtask and not sched_process_fork, which does not see the workers of a ring. The child has
 * not run when it fires and its cgroup is final, CLONE_INTO_CGROUP included.
 *
 * Not covered: a task put into a leaf from outside has no label until it forks; its cgroup speaks
 * for it until then.
 */

#include "bpf/membership.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define RF_ENOMEM 12
#define RF_SIGKILL 9
/* SIGNAL_GROUP_EXIT of signal_struct.flags. */
#define RF_SIGNAL_GROUP_EXIT 4U
#define RF_CLONE_THREAD 0x10000UL
#define RF_PAGE_BYTES 4096ULL

/* Which sandbox is the child born into: its parent's, else that of the cgroup it was cloned into.
 */
static __always_inline int member_of_child(
	struct rf_member *member, struct task_struct *parent, struct task_struct *child)
{
	struct rf_label *label = bpf_task_storage_get(&rf_labels, parent, NULL, 0);

	if (label) {
		member->id = label->sandbox;
		member->flags = RF_RECORD_LABELLED;
		member->sandbox = bpf_map_lookup_elem(&rf_sandboxes, &member->id);
		return 1;
	}
	member->id = rf_leaf_of_cgroup(BPF_CORE_READ(child, cgroups, dfl_cgrp));
	member->flags = 0;
	member->sandbox = member->id ? bpf_map_lookup_elem(&rf_sandboxes, &member->id) : NULL;
	return member->sandbox != NULL;
}

static __always_inline int label_child(__u64 id, struct task_struct *child)
{
	struct rf_label wanted = {.sandbox = id};
	struct rf_label *label =
		bpf_task_storage_get(&rf_labels, child, &wanted, BPF_LOCAL_STORAGE_GET_F_CREATE);

	return label && label->sandbox == id;
}

/* The label is there before the child is: no memory for it, no child. */
SEC("?lsm/task_alloc")
int BPF_PROG(rf_task_alloc, struct task_struct *child)
{
	struct task_struct *parent = (struct task_struct *)bpf_get_current_task_btf();
	struct rf_label *label = bpf_task_storage_get(&rf_labels, parent, NULL, 0);

	if (!label || label_child(label->sandbox, child))
		return 0;
	rf_count_lost(label->sandbox, RF_LOST_LABEL);
	return -RF_ENOMEM;
}

SEC("?tp_btf/task_newtask")
int BPF_PROG(rf_task_newtask, struct task_struct *child, unsigned long clone_flags)
{
	struct task_struct *parent = (struct task_struct *)bpf_get_current_task_btf();
	struct rf_record_fork record;
	struct rf_counters *counters;
	struct rf_member member;

	if (!member_of_child(&member, parent, child))
		return 0;
	if (!label_child(member.id, child)) {
		rf_count_lost(member.id, RF_LOST_LABEL);
		/* Who puts a child into a leaf from outside is not ours to kill. */
		if (member.flags & RF_RECORD_LABELLED)
			bpf_send_signal(RF_SIGKILL);
	}
	if (clone_flags & RF_CLONE_THREAD || !member.sandbox ||
		member.sandbox->state != RF_ENTRY_ARMED)
		return 0;
	counters = rf_counters_of(member.id);
	if (counters)
		__sync_fetch_and_add(&counters->forks, 1);
	__builtin_memset(&record, 0, sizeof(record));
	rf_record_fill(&record.header, RF_RECORD_FORK, sizeof(record), &member, child);
	record.parent = BPF_CORE_READ(parent, tgid);
	record.parent_start_ns = BPF_CORE_READ(parent, group_leader, start_boottime);
	rf_emit(&member, &record, sizeof(record));
	return 0;
}

/* What the whole process used. Threads that were reaped are summed in signal_struct already. */
static __always_inline void fill_exit(struct rf_record_exit *record, struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	record->status = BPF_CORE_READ(signal, flags) & RF_SIGNAL_GROUP_EXIT
				 ? BPF_CORE_READ(signal, group_exit_code)
				 : BPF_CORE_READ(leader, exit_code);
	record->cpu_ns =
		BPF_CORE_READ(signal, sum_sched_runtime) + BPF_CORE_READ(task, se.sum_exec_runtime);
	if (leader != task)
		record->cpu_ns += BPF_CORE_READ(leader, se.sum_exec_runtime);
	record->memory_peak_bytes = BPF_CORE_READ(signal, maxrss) * RF_PAGE_BYTES;
	if (!bpf_core_field_exists(task->ioac))
		return;
	record->read_bytes =
		BPF_CORE_READ(signal, ioac.read_bytes) + BPF_CORE_READ(task, ioac.read_bytes);
	record->write_bytes =
		BPF_CORE_READ(signal, ioac.write_bytes) + BPF_CORE_READ(task, ioac.write_bytes);
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(rf_process_exit, struct task_struct *task)
{
	struct rf_counters *counters;
	struct rf_record_exit record;
	struct rf_member member;

	if (!rf_member_current(&member) || !member.sandbox ||
		member.sandbox->state != RF_ENTRY_ARMED)
		return 0;
	/* The last thread speaks for the process. */
	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return 0;
	counters = rf_counters_of(member.id);
	if (counters)
		__sync_fetch_and_add(&counters->exits, 1);
	__builtin_memset(&record, 0, sizeof(record));
	rf_record_fill(&record.header, RF_RECORD_EXIT, sizeof(record), &member, task);
	fill_exit(&record, task);
	rf_emit(&member, &record, sizeof(record));
	return 0;
}

/* The label goes along, so the rules do; that somebody moved it is worth a record. Moves in a v1
 * hierarchy (hierarchy 0 is the default one) change nothing. */
SEC("?tp_btf/cgroup_attach_task")
int BPF_PROG(rf_attach_task, struct cgroup *to, const char *path, struct task_struct *task)
{
	struct rf_label *label = bpf_task_storage_get(&rf_labels, task, NULL, 0);
	struct rf_record_escape record;
	struct rf_counters *counters;
	struct rf_member member;

	if (!label || BPF_CORE_READ(to, root, hierarchy_id) != 0 ||
		rf_leaf_of_cgroup(to) == label->sandbox)
		return 0;
	member.id = label->sandbox;
	member.flags = RF_RECORD_LABELLED;
	member.sandbox = bpf_map_lookup_elem(&rf_sandboxes, &member.id);
	counters = rf_counters_of(member.id);
	if (counters)
		__sync_fetch_and_add(&counters->escapes, 1);
	__builtin_memset(&record, 0, sizeof(record));
	rf_record_fill(&record.header, RF_RECORD_ESCAPE, sizeof(record), &member, task);
	record.to_cgroup = BPF_CORE_READ(to, kn, id);
	rf_emit_waking(&member, &record, sizeof(record), 1);
	return 0;
}

/* Run by a child in a scratch leaf, before anything is attached: at which level does the kernel
 * see it? A cgroup namespace hides that from userspace. */
struct rf_measure {
	__u64 leaf;
	__u32 depth;
	__u32 reserved;
};

#define RF_LEVELS_MAX 64

SEC("?syscall")
int rf_measure_depth(struct rf_measure *measure)
{
	__u64 leaf = bpf_get_current_cgroup_id();

	measure->leaf = leaf;
	measure->depth = RF_DEPTH_UNKNOWN;
	for (int level = 0; level < RF_LEVELS_MAX; level++) {
		if (bpf_get_current_ancestor_cgroup_id(level) == leaf) {
			measure->depth = level;
			rf_leaf_depth = level;
			break;
		}
	}
	return 0;
}
