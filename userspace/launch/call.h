/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What glibc has and musl has not. The launcher is built with musl where it is installed: glibc's
 * start asks the processor for its caches some thirty times, and in a virtual machine each answer
 * is an exit to the hypervisor: three quarters of a start, two starts a run.
 */

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <sys/pidfd.h>
#else
#include <linux/mount.h>
#include <linux/stat.h>
#include <sys/syscall.h>

#ifndef WCOREFLAG
#define WCOREFLAG 0x80
#endif

static inline int pidfd_open(pid_t pid, unsigned int flags)
{
	return (int)syscall(SYS_pidfd_open, pid, flags);
}

static inline int pidfd_send_signal(int pidfd, int number, siginfo_t *info, unsigned int flags)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, number, info, flags);
}

static inline int close_range(unsigned int first, unsigned int last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

static inline int execveat(int directory, const char *path, char *const *arguments,
	char *const *environment, int flags)
{
	return (int)syscall(SYS_execveat, directory, path, arguments, environment, flags);
}

static inline int statx(
	int directory, const char *path, int flags, unsigned int mask, struct statx *ret_status)
{
	return (int)syscall(SYS_statx, directory, path, flags, mask, ret_status);
}

static inline int open_tree(int directory, const char *path, unsigned int flags)
{
	return (int)syscall(SYS_open_tree, directory, path, flags);
}

static inline int move_mount(
	int from, const char *from_path, int to, const char *to_path, unsigned int flags)
{
	return (int)syscall(SYS_move_mount, from, from_path, to, to_path, flags);
}

static inline int mount_setattr(int directory, const char *path, unsigned int flags,
	struct mount_attr *change, size_t size_bytes)
{
	return (int)syscall(SYS_mount_setattr, directory, path, flags, change, size_bytes);
}
#endif
