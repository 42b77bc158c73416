/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RF_BPF_KERNEL_H
#define RF_BPF_KERNEL_H

/*
 * The few fields of kernel structures that we read. Names and types are the kernel's; offsets are
 * found at load time (CO-RE), so that one object serves every kernel from 6.1 on and a build does
 * not depend on the kernel of the machine that builds.
 */

/* First: libbpf's headers take its types for granted. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <linux/types.h>

#define RF_CORE __attribute__((preserve_access_index))

struct kernfs_node {
	__u64 id;
} RF_CORE;

struct cgroup_root {
	int hierarchy_id;
} RF_CORE;

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup_root *root;
	struct cgroup *ancestors[];
} RF_CORE;

struct css_set {
	struct cgroup *dfl_cgrp;
} RF_CORE;

typedef struct {
	int counter;
} atomic_t;

struct task_io_accounting {
	__u64 read_bytes;
	__u64 write_bytes;
} RF_CORE;

struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
	unsigned long long sum_sched_runtime;
	unsigned long maxrss;
	struct task_io_accounting ioac;
} RF_CORE;

struct sched_entity {
	__u64 sum_exec_runtime;
} RF_CORE;

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t uid;
} RF_CORE;

struct mm_struct {
	struct {
		unsigned long arg_start;
		unsigned long arg_end;
	};
} RF_CORE;

struct qstr {
	union {
		struct {
			__u32 hash;
			__u32 len;
		};
		__u64 hash_len;
	};
	const unsigned char *name;
} RF_CORE;

struct super_block {
	__u32 s_dev;
} RF_CORE;

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	union {
		const unsigned int i_nlink;
		unsigned int __i_nlink;
	};
} RF_CORE;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
} RF_CORE;

struct vfsmount {
	struct dentry *mnt_root;
} RF_CORE;

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
} RF_CORE;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} RF_CORE;

struct fs_struct {
	struct path pwd;
} RF_CORE;

struct file {
	unsigned int f_mode;
	unsigned int f_flags;
	struct inode *f_inode;
	union {
		const struct path f_path;
		/* Its other name, where it has one. */
		struct path __f_path;
	};
} RF_CORE;

/* One member a hook: which a kernel has tells which shape the others have. */
union security_list_options {
	int (*inode_post_setattr)(void);
} RF_CORE;

struct linux_binprm {
	unsigned int secureexec : 1;
	struct file *file;
	int argc;
	const char *filename;
	const char *interp;
} RF_CORE;

struct thread_info {
	__u32 status;
} RF_CORE;

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	struct sched_entity se;
	struct mm_struct *mm;
	int exit_code;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	__u64 start_boottime;
	const struct cred *cred;
	struct fs_struct *fs;
	struct signal_struct *signal;
	struct task_io_accounting ioac;
	struct css_set *cgroups;
} RF_CORE;

struct in6_addr {
	union {
		__u32 u6_addr32[4];
	} in6_u;
} RF_CORE;

struct sock_common {
	__u32 skc_rcv_saddr;
	__u16 skc_num;
	unsigned short skc_family;
	struct in6_addr skc_v6_rcv_saddr;
} RF_CORE;

struct sock_cgroup_data {
	struct cgroup *cgroup;
} RF_CORE;

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
	struct sock_cgroup_data sk_cgrp_data;
} RF_CORE;

struct msghdr {
	void *msg_name;
	int msg_namelen;
} RF_CORE;

struct unix_sock {
	struct sock sk;
	struct path path;
	struct sock *peer;
} RF_CORE;

struct socket {
	short type;
	struct sock *sk;
} RF_CORE;

#endif
