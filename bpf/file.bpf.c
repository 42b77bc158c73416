/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */

/*
 * Which files may a sandbox open, change, make, move and remove, beyond what its mounts and its
 * Landlock rules say?
 *
 * They cannot say: a name that does not exist may not be made; a directory may not be moved away
 * from above a name; a file is closed by whatever name it has (hard links); of one directory some
 * names are open and their neighbours are not.
 *
 * An inode is known by the token in its storage, which only userspace outside writes, by
 * descriptor. A name is compared whole, in its directory, whose entries cannot change while the
 * hook runs: the kernel holds the directory. The walk up from a file takes no locks: what could
 * move a file from under a rule is itself refused (the places and what lies above them are pinned,
 * what lies below cannot be moved out). Rings and their workers come through the same hooks.
 *
 * Unknown means refused: a label whose sandbox is gone, a file that lies deeper than the walk goes,
 * a name that cannot be read.
 *
 * Not covered: looking at what exists (stat, a path walked through); flags set by ioctl on a
 * descriptor that was open for reading; descriptors that were passed in.
 */

#include "bpf/decide.h"
#include "bpf/membership.h"

#define MAY_WRITE_MODE 2U	  /* FMODE_WRITE */
#define MADE_MODE 0x100000U	  /* FMODE_CREATED */
#define TRUNCATE_FLAG 01000U	  /* O_TRUNC */
#define TEMPORARY_FLAG 020000000U /* __O_TMPFILE */
#define TYPE_MASK 0170000U
#define TYPE_REGULAR 0100000U

/* Why something was refused, for the record. */
struct verdict {
	__u64 token;
	__u32 depth;
	int error;
};

static __always_inline __u64 token_of(struct inode *inode)
{
	struct rf_token *token;

	if (!inode)
		return 0;
	token = bpf_inode_storage_get(&rf_file_tokens, inode, NULL, 0);
	return token ? token->token : 0;
}

static __always_inline __u32 place_flags(__u64 sandbox, __u64 token)
{
	struct rf_place_key key = {.sandbox = sandbox, .token = token};
	__u32 *flags = token ? bpf_map_lookup_elem(&rf_file_places, &key) : NULL;

	return flags ? *flags : 0;
}

static __always_inline int is_own(__u64 sandbox, struct inode *inode)
{
	struct rf_label *maker;

	if (!inode)
		return 0;
	maker = bpf_inode_storage_get(&rf_file_makers, inode, NULL, 0);
	return maker && maker->sandbox == sandbox;
}

/* No memory for it: then it is a stranger to its maker, who may not write it again. */
static __always_inline void mark_own(__u64 sandbox, struct inode *inode)
{
	struct rf_label wanted = {.sandbox = sandbox};
	struct rf_label *maker;

	if (!inode)
		return;
	maker = bpf_inode_storage_get(
		&rf_file_makers, inode, &wanted, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (maker)
		maker->sandbox = sandbox;
}

/* On the stack, apart: a processor's scratch would be another task's after a preemption. */
static __noinline __u32 name_flags(__u64 sandbox, __u64 token, struct dentry *dentry)
{
	struct rf_name_key key;
	__u32 length = BPF_CORE_READ(dentry, d_name.len);
	__u32 *flags;

	__builtin_memset(&key, 0, sizeof(key));
	key.sandbox = sandbox;
	key.token = token;
	if (length >= RF_FILE_NAME_BYTES)
		return RF_NAME_CLOSED;
	if (bpf_probe_read_kernel(key.name, length & (RF_FILE_NAME_BYTES - 1),
		    BPF_CORE_READ(dentry, d_name.name)))
		return RF_NAME_CLOSED;
	flags = bpf_map_lookup_elem(&rf_file_names, &key);
	return flags ? *flags : 0;
}

/* The walk up. The pointer stays typed on the stack, which the verifier follows into a callback. */
struct climb {
	__u64 sandbox;
	struct dentry *dentry;
	__u64 token;
	__u32 flags;
	__u32 depth;
	int say;
	__u32 is_done;
};

static long climb_step(__u32 depth, struct climb *climb)
{
	struct dentry *dentry = climb->dentry;
	struct dentry *parent = dentry->d_parent;
	__u32 name = 0;

	climb->depth = depth;
	climb->say = rf_file_say_place(climb->flags);
	if (climb->say || parent == dentry) {
		climb->is_done = 1;
		return 1;
	}
	climb->token = token_of(parent->d_inode);
	climb->flags = place_flags(climb->sandbox, climb->token);
	climb->dentry = parent;
	if (!(climb->flags & (RF_FILE_NAMES | RF_FILE_LISTED)))
		return 0;
	if (climb->flags & RF_FILE_NAMES)
		name = name_flags(climb->sandbox, climb->token, dentry);
	climb->say = rf_file_say_name(
		climb->flags, name, depth, depth == 0 && is_own(climb->sandbox, dentry->d_inode));
	climb->depth = depth + 1;
	climb->is_done = climb->say != RF_SAY_NOTHING;
	return climb->is_done;
}

/* What the nearest rule on the way up says. is_below: rules of directories count too. */
static __noinline int find_say(
	__u64 sandbox, struct dentry *dentry, int is_below, struct verdict *verdict)
{
	struct climb climb = {.sandbox = sandbox, .dentry = dentry};

	climb.token = token_of(dentry->d_inode);
	climb.flags = place_flags(sandbox, climb.token);
	if (is_below) {
		bpf_loop(RF_FILE_DEPTH_MAX, climb_step, &climb, 0);
		if (!climb.is_done) {
			climb.token = 0;
			climb.say = RF_SAY_CLOSED;
		}
	} else {
		climb.say = rf_file_say_place(climb.flags);
	}
	verdict->token = climb.token;
	verdict->depth = climb.depth;
	return climb.say;
}

/*
 * From 6.18 on f_path lies in a union, of which the verifier takes every pointer for untrusted. It
 * believes the path of an argument, by its type alone. Older verifiers know no such arguments, and
 * see nothing behind the first line.
 */
#define TRUSTED __attribute__((btf_decl_tag("arg:trusted")))

__noinline int find_say_of_path(
	__u64 sandbox, const struct path *path TRUSTED, int is_below, struct verdict *verdict)
{
	if (!bpf_core_field_exists(((struct file *)0)->__f_path) || !verdict)
		return RF_SAY_CLOSED;
	return find_say(sandbox, path->dentry, is_below, verdict);
}

static __always_inline int find_say_of_file(
	__u64 sandbox, struct file *file, int is_below, struct verdict *verdict)
{
	if (bpf_core_field_exists(file->__f_path))
		return find_say_of_path(sandbox, &file->f_path, is_below, verdict);
	return find_say(sandbox, file->f_path.dentry, is_below, verdict);
}

static __noinline void tell(
	const struct rf_member *member, __u32 op, struct dentry *dentry, struct verdict *verdict)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct rf_counters *counters = rf_counters_of(member->id);
	struct rf_record_file_denial *record;
	__u32 length = BPF_CORE_READ(dentry, d_name.len) & (RF_FILE_NAME_BYTES - 1);
	__u32 ring_id;
	void *ring;

	if (counters) {
		__sync_fetch_and_add(&counters->denials, 1);
		__sync_fetch_and_add(&counters->denials_by_lsm, 1);
	}
	if (!member->sandbox)
		return;
	ring_id = member->sandbox->ring;
	ring = bpf_map_lookup_elem(&rf_rings, &ring_id);
	if (!ring) {
		rf_count_lost(member->id, RF_LOST_NO_RING);
		return;
	}
	record = bpf_ringbuf_reserve(ring, sizeof(*record), 0);
	if (!record) {
		rf_count_lost(member->id, RF_LOST_RING_FULL);
		return;
	}
	__builtin_memset(record, 0, sizeof(*record));
	rf_record_fill(&record->header, RF_RECORD_FILE_DENIAL, sizeof(*record), member, task);
	record->op = op;
	record->error = -verdict->error;
	record->token = verdict->token;
	record->depth = verdict->depth;
	if (!bpf_probe_read_kernel(record->name, length, BPF_CORE_READ(dentry, d_name.name)))
		record->name_bytes = length;
	bpf_ringbuf_submit(record, 0);
}

/* Is there anything to judge? 1: yes, 0: no; -EPERM: a straggler. */
static __always_inline int begin(struct rf_member *member)
{
	if (!rf_member_current(member))
		return 0;
	if (!member->sandbox)
		return -RF_EPERM;
	return member->sandbox->state == RF_ENTRY_ARMED && member->sandbox->flags & RF_RULE_FILES;
}

/* The verifier of 6.12 wants to see that it is an errno, of which the compiler makes arithmetic. */
static __always_inline int answer(int error)
{
	barrier_var(error);
	if (error >= 0)
		return 0;
	return error < -RF_EACCES ? -RF_EPERM : error;
}

static __always_inline int end(const struct rf_member *member, __u32 op, struct dentry *dentry,
	struct verdict *verdict, int error)
{
	if (error) {
		verdict->error = error;
		tell(member, op, dentry, verdict);
	}
	return answer(error);
}

/* ---- Opening -------------------------------------------------------------------------------- */

SEC("?lsm/file_open")
int BPF_PROG(rf_file_open, struct file *file, int ret)
{
	struct dentry *dentry = file->f_path.dentry;
	struct inode *inode = file->f_inode;
	__u32 mode = file->f_mode, flags = file->f_flags;
	int is_write = mode & MAY_WRITE_MODE || flags & TRUNCATE_FLAG;
	/* An unnamed file has just been made when it is opened so. */
	int is_made = mode & MADE_MODE || flags & TEMPORARY_FLAG;
	struct verdict verdict = {};
	struct rf_member member;
	__u32 below =
		is_write ? RF_RULE_FILES_BELOW_WRITE | RF_RULE_FILES_BELOW : RF_RULE_FILES_BELOW;
	int say, r;

	if (ret)
		return ret;
	r = begin(&member);
	if (r <= 0)
		return answer(r);
	say = find_say_of_file(member.id, file, (member.sandbox->flags & below) != 0, &verdict);
	if (is_made && say == RF_SAY_READ_ONLY && verdict.depth == 1 &&
		place_flags(member.id, verdict.token) & RF_FILE_LISTED) {
		mark_own(member.id, inode);
		return 0;
	}
	return end(&member, is_write ? RF_DENIAL_OPEN_WRITE : RF_DENIAL_OPEN_READ, dentry, &verdict,
		rf_decide_file(say, is_write));
}

/* ---- Changing what exists ------------------------------------------------------------------- */

static __always_inline int change(struct dentry *dentry, __u32 op)
{
	struct verdict verdict = {};
	struct rf_member member;
	int r = begin(&member);

	if (r <= 0)
		return answer(r);
	r = find_say(member.id, dentry,
		(member.sandbox->flags & (RF_RULE_FILES_BELOW_WRITE | RF_RULE_FILES_BELOW)) != 0,
		&verdict);
	return end(&member, op, dentry, &verdict, rf_decide_file(r, 1));
}

SEC("?lsm/path_truncate")
int BPF_PROG(rf_file_truncate, const struct path *path, int ret)
{
	return ret ? ret : change(path->dentry, RF_DENIAL_TRUNCATE);
}

/* Mode, owner and times. The entry came second when inode_post_setattr came. */
SEC("?lsm/inode_setattr")
int rf_file_setattr(unsigned long long *context)
{
	if (bpf_core_field_exists(((union security_list_options *)0)->inode_post_setattr))
		return change((struct dentry *)context[1], RF_DENIAL_CHANGE);
	return change((struct dentry *)context[0], RF_DENIAL_CHANGE);
}

SEC("?lsm/inode_setxattr")
int BPF_PROG(rf_file_setxattr, void *mapping, struct dentry *dentry)
{
	return change(dentry, RF_DENIAL_CHANGE);
}

SEC("?lsm/inode_removexattr")
int BPF_PROG(rf_file_removexattr, void *mapping, struct dentry *dentry)
{
	return change(dentry, RF_DENIAL_CHANGE);
}

/* ---- Entries of directories ----------------------------------------------------------------- */

#define ENTRY_REGULAR 1

/* Makes, moves, replaces or removes an entry. kind: of what is there, or will be. */
static __noinline int judge_entry(__u64 sandbox, struct dentry *directory, struct dentry *dentry,
	int kind, struct verdict *verdict)
{
	struct inode *inode = dentry->d_inode;
	__u64 parent = token_of(directory->d_inode);
	__u32 flags = place_flags(sandbox, parent);
	__u32 name = 0;
	int r;

	verdict->token = token_of(inode);
	verdict->depth = 0;
	r = rf_decide_entry(place_flags(sandbox, verdict->token), 0);
	if (r)
		return r;
	verdict->token = parent;
	verdict->depth = 1;
	if (flags & RF_FILE_NAMES)
		name = name_flags(sandbox, parent, dentry);
	r = rf_decide_entry(0, name);
	if (r)
		return r;
	if (!(flags & RF_FILE_LISTED))
		return 1;
	return rf_decide_listed(name, inode != NULL, is_own(sandbox, inode), kind == ENTRY_REGULAR);
}

/* And what lies above has no objection. */
static __always_inline int judge(const struct rf_member *member, struct dentry *directory,
	struct dentry *dentry, int kind, struct verdict *verdict)
{
	int r = judge_entry(member->id, directory, dentry, kind, verdict);

	if (r <= 0)
		return r;
	if (!(member->sandbox->flags & (RF_RULE_FILES_BELOW_WRITE | RF_RULE_FILES_BELOW)))
		return 0;
	r = rf_decide_file(find_say(member->id, directory, 1, verdict), 1);
	verdict->depth++;
	return r;
}

static __always_inline int kind_of_mode(__u32 mode)
{
	mode &= TYPE_MASK;
	return mode == TYPE_REGULAR || mode == 0 ? ENTRY_REGULAR : 0;
}

static __always_inline int kind_of(struct dentry *dentry)
{
	struct inode *inode = dentry->d_inode;

	return inode ? kind_of_mode(inode->i_mode) : ENTRY_REGULAR;
}

static __always_inline int entry(
	const struct path *directory, struct dentry *dentry, int kind, __u32 op)
{
	struct verdict verdict = {};
	struct rf_member member;
	int r = begin(&member);

	if (r <= 0)
		return answer(r);
	r = judge(&member, directory->dentry, dentry, kind, &verdict);
	return end(&member, op, dentry, &verdict, r);
}

/* Also asked by open with O_CREAT. */
SEC("?lsm/path_mknod")
int BPF_PROG(rf_file_mknod, const struct path *directory, struct dentry *dentry,
	unsigned short mode, unsigned int dev, int ret)
{
	return ret ? ret : entry(directory, dentry, kind_of_mode(mode), RF_DENIAL_CREATE);
}

SEC("?lsm/path_mkdir")
int BPF_PROG(rf_file_mkdir, const struct path *directory, struct dentry *dentry,
	unsigned short mode, int ret)
{
	return ret ? ret : entry(directory, dentry, 0, RF_DENIAL_CREATE);
}

SEC("?lsm/path_symlink")
int BPF_PROG(rf_file_symlink, const struct path *directory, struct dentry *dentry,
	const char *target, int ret)
{
	return ret ? ret : entry(directory, dentry, 0, RF_DENIAL_CREATE);
}

SEC("?lsm/path_unlink")
int BPF_PROG(rf_file_unlink, const struct path *directory, struct dentry *dentry, int ret)
{
	return ret ? ret : entry(directory, dentry, kind_of(dentry), RF_DENIAL_REMOVE);
}

SEC("?lsm/path_rmdir")
int BPF_PROG(rf_file_rmdir, const struct path *directory, struct dentry *dentry, int ret)
{
	return ret ? ret : entry(directory, dentry, 0, RF_DENIAL_REMOVE);
}

/* A second name would open what the first one closes, elsewhere. */
SEC("?lsm/path_link")
int BPF_PROG(rf_file_link, struct dentry *old, const struct path *directory, struct dentry *dentry,
	int ret)
{
	struct verdict verdict = {};
	struct rf_member member;
	int r;

	if (ret)
		return ret;
	r = begin(&member);
	if (r <= 0)
		return answer(r);
	r = find_say(member.id, old,
		(member.sandbox->flags & (RF_RULE_FILES_BELOW_WRITE | RF_RULE_FILES_BELOW)) != 0,
		&verdict);
	r = rf_decide_file(r, 1);
	if (!r)
		r = judge(&member, directory->dentry, dentry, kind_of(old), &verdict);
	if (!r && place_flags(member.id, token_of(directory->dentry->d_inode)) & RF_FILE_LISTED)
		mark_own(member.id, old->d_inode);
	return end(&member, RF_DENIAL_LINK, dentry, &verdict, r);
}

/*
 * Both ends, whether it replaces or exchanges. What the sandbox could write under a listed name
 * stays its own when it has another one.
 */
SEC("?lsm/path_rename")
int BPF_PROG(rf_file_rename, const struct path *from, struct dentry *old, const struct path *to,
	struct dentry *new, unsigned int flags, int ret)
{
	struct verdict verdict = {};
	struct rf_member member;
	int r;

	if (ret)
		return ret;
	r = begin(&member);
	if (r <= 0)
		return answer(r);
	r = judge(&member, from->dentry, old, kind_of(old), &verdict);
	if (r)
		return end(&member, RF_DENIAL_RENAME, old, &verdict, r);
	r = judge(&member, to->dentry, new, kind_of(old), &verdict);
	if (r)
		return end(&member, RF_DENIAL_RENAME, new, &verdict, r);
	if (place_flags(member.id, token_of(to->dentry->d_inode)) & RF_FILE_LISTED)
		mark_own(member.id, old->d_inode);
	if (place_flags(member.id, token_of(from->dentry->d_inode)) & RF_FILE_LISTED)
		mark_own(member.id, new->d_inode);
	return 0;
}
