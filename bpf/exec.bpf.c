/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */

/*
 * The record of an exec. Decides nothing.
 *
 * The tracepoint fires in the new program before its first instruction: arguments lie where the
 * kernel has just put them, the file is the one that runs (of a script: its interpreter), and
 * credentials are the new ones. Paths are walked from the entry up through the mounts of the
 * task's own namespace, not to its root directory, which it could move. The walk takes no locks: a
 * rename beside it can show old or new names. inode and device do not lie.
 *
 * Not covered: AT_EXECVE_CHECK, which runs nothing and does not come here.
 */

#include "bpf/decide.h"
#include "bpf/membership.h"

#define NAME_MAX_BYTES 255U
/* Twice, so that an offset below RF_PATH_BYTES and a name always fit: for the verifier. */
#define WALK_BYTES (2 * RF_PATH_BYTES)
#define SETID_MODE 06000U

/* A power of two above everything that follows the fixed part. */
#define TAIL_BYTES 16384U
#define TAIL_MASK (TAIL_BYTES - 1)

/* The walk's state lies in the map, whose content the verifier does not follow: on the stack, every
 * length that a name can have would be a state of its own. */
struct walk {
	struct dentry *dentry;
	struct vfsmount *mount;
	/* Where the text begins; it ends at RF_PATH_BYTES. */
	__u32 start;
	__u32 is_cut;
	__u32 is_done;
	char text[WALK_BYTES];
};

struct scratch {
	struct rf_record_exec record;
	/* Whatever offset: RF_PATH_BYTES more fit behind it. */
	char tail[TAIL_BYTES + RF_PATH_BYTES];
	struct walk walk;
};

_Static_assert(RF_EXEC_TAIL_MAX_BYTES < TAIL_BYTES, "tail");

/* One a processor and one program that uses it; the kernel does not enter a tracing program again
 * on the same processor. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} rf_exec_scratch SEC(".maps");

static __always_inline void prepend(struct walk *walk, struct dentry *dentry)
{
	__u32 length = BPF_CORE_READ(dentry, d_name.len);
	const unsigned char *name = BPF_CORE_READ(dentry, d_name.name);
	__u32 start = walk->start;

	if (length > NAME_MAX_BYTES || start < length + 1) {
		walk->is_cut = 1;
		walk->is_done = 1;
		return;
	}
	start -= length;
	bpf_probe_read_kernel(
		&walk->text[start & (RF_PATH_BYTES - 1)], length & NAME_MAX_BYTES, name);
	start -= 1;
	walk->text[start & (RF_PATH_BYTES - 1)] = '/';
	walk->start = start;
}

/* From the root of a mount to where that is mounted; the top of the namespace is its own parent. */
static __always_inline void step_mount(struct walk *walk)
{
	struct mount *mount = (void *)walk->mount - bpf_core_field_offset(struct mount, mnt);
	struct mount *above = BPF_CORE_READ(mount, mnt_parent);

	if (above == mount) {
		walk->is_done = 1;
		return;
	}
	walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
	walk->mount = (void *)above + bpf_core_field_offset(struct mount, mnt);
}

struct step {
	struct walk *walk;
};

/* One entry up. */
static long step(__u32 index, void *context)
{
	struct walk *walk = ((struct step *)context)->walk;
	struct vfsmount *mount = walk->mount;
	struct dentry *dentry = walk->dentry;
	struct dentry *parent = BPF_CORE_READ(dentry, d_parent);

	if (dentry != parent && dentry != BPF_CORE_READ(mount, mnt_root)) {
		prepend(walk, dentry);
		walk->dentry = parent;
	} else if (dentry == BPF_CORE_READ(mount, mnt_root)) {
		step_mount(walk);
	} else {
		/* Never was in a tree: memfd and its like. */
		prepend(walk, dentry);
		walk->is_done = 1;
	}
	return walk->is_done ? 1 : 0;
}

/* Leaves the text in walk->text[start .. RF_PATH_BYTES]. */
static __always_inline void walk_path(
	struct walk *walk, struct vfsmount *mount, struct dentry *dentry)
{
	struct step first = {.walk = walk};

	walk->mount = mount;
	walk->dentry = dentry;
	walk->start = RF_PATH_BYTES;
	walk->is_cut = 0;
	walk->is_done = 0;
	bpf_loop(RF_PATH_COMPONENTS_MAX, step, &first, 0);
	if (!walk->is_done)
		walk->is_cut = 1;
	if (walk->start == RF_PATH_BYTES) {
		walk->start = RF_PATH_BYTES - 1;
		walk->text[RF_PATH_BYTES - 1] = '/';
	}
}

/* Moves the walked text behind what is in the tail already; its length. */
static __always_inline __u32 take_path(struct scratch *scratch, __u32 offset)
{
	__u32 start = scratch->walk.start;
	__u32 length = RF_PATH_BYTES - start;

	/* Else the compiler tests start instead, which tells the verifier nothing about length. */
	barrier_var(length);
	if (length > RF_PATH_BYTES)
		return 0;
	bpf_probe_read_kernel(&scratch->tail[offset & TAIL_MASK], length,
		&scratch->walk.text[start & (RF_PATH_BYTES - 1)]);
	return length;
}

static __always_inline __u32 add_paths(
	struct scratch *scratch, struct task_struct *task, struct file *file)
{
	struct rf_record_exec *record = &scratch->record;
	struct walk *walk = &scratch->walk;

	walk_path(walk, BPF_CORE_READ(file, f_path.mnt), BPF_CORE_READ(file, f_path.dentry));
	record->exe_bytes = take_path(scratch, 0);
	if (walk->is_cut)
		record->marks |= RF_EXEC_EXE_CUT;
	walk_path(walk, BPF_CORE_READ(task, fs, pwd.mnt), BPF_CORE_READ(task, fs, pwd.dentry));
	record->cwd_bytes = take_path(scratch, record->exe_bytes);
	if (walk->is_cut)
		record->marks |= RF_EXEC_CWD_CUT;
	return record->exe_bytes + record->cwd_bytes;
}

/* binfmt_script and its like replace interp; the name given to execve stays in filename. */
static __always_inline __u32 add_script(
	struct scratch *scratch, struct linux_binprm *bprm, __u32 offset)
{
	struct rf_record_exec *record = &scratch->record;
	const char *filename = BPF_CORE_READ(bprm, filename);
	long length;

	if (filename == BPF_CORE_READ(bprm, interp))
		return offset;
	record->marks |= RF_EXEC_SCRIPT;
	length = bpf_probe_read_kernel_str(
		&scratch->tail[offset & TAIL_MASK], RF_SCRIPT_MAX_BYTES, filename);
	if (length <= 0)
		return offset;
	if (length == RF_SCRIPT_MAX_BYTES)
		record->marks |= RF_EXEC_SCRIPT_CUT;
	record->script_bytes = length - 1;
	return offset + record->script_bytes;
}

static __always_inline __u32 add_argv(
	struct scratch *scratch, struct task_struct *task, __u32 offset)
{
	struct rf_record_exec *record = &scratch->record;
	__u64 start = BPF_CORE_READ(task, mm, arg_start);
	__u64 length = BPF_CORE_READ(task, mm, arg_end) - start;

	if (length > RF_ARGV_MAX_BYTES) {
		length = RF_ARGV_MAX_BYTES;
		record->marks |= RF_EXEC_ARGV_CUT;
	}
	if (bpf_probe_read_user(&scratch->tail[offset & TAIL_MASK], length, (void *)start)) {
		record->marks |= RF_EXEC_ARGV_UNREADABLE;
		return offset;
	}
	record->argv_bytes = length;
	return offset + length;
}

static __always_inline void add_file(struct rf_record_exec *record, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	record->ino = BPF_CORE_READ(inode, i_ino);
	record->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	record->mode = BPF_CORE_READ(inode, i_mode);
	if (record->mode & SETID_MODE)
		record->marks |= RF_EXEC_SETID;
	if (BPF_CORE_READ(inode, i_nlink) == 0)
		record->marks |= RF_EXEC_FILELESS;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(rf_process_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct rf_counters *counters;
	struct rf_record_exec *record;
	struct rf_member member;
	struct scratch *scratch;
	struct file *file;
	__u32 zero = 0;
	__u32 length;

	if (!rf_member_current(&member) || !member.sandbox ||
		member.sandbox->state != RF_ENTRY_ARMED)
		return 0;
	counters = rf_counters_of(member.id);
	if (counters)
		__sync_fetch_and_add(&counters->execs, 1);
	scratch = bpf_map_lookup_elem(&rf_exec_scratch, &zero);
	if (!scratch)
		return 0;
	record = &scratch->record;
	__builtin_memset(record, 0, sizeof(*record));
	file = BPF_CORE_READ(bprm, file);
	record->parent = BPF_CORE_READ(task, real_parent, tgid);
	record->parent_start_ns = BPF_CORE_READ(task, real_parent, group_leader, start_boottime);
	record->uid = BPF_CORE_READ(task, cred, uid.val);
	record->argc = BPF_CORE_READ(bprm, argc);
	if (BPF_CORE_READ_BITFIELD_PROBED(bprm, secureexec))
		record->marks |= RF_EXEC_SECURE;
	add_file(record, file);
	length = add_paths(scratch, task, file);
	length = add_script(scratch, bprm, length);
	length = add_argv(scratch, task, length);
	length = sizeof(*record) + (length & TAIL_MASK);
	rf_record_fill(&record->header, RF_RECORD_EXEC, length, &member, task);
	rf_emit(&member, scratch, length);
	return 0;
}
