/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * escape_mount mounts DIRECTORY: every call that changes what is mounted, on an empty directory.
 * escape_mount namespaces: every way into another namespace, each in a child.
 */

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdint.h>

#include "escape.h"

/* sys/mount.h does not go together with linux/mount.h. */
int mount(const char *source, const char *target, const char *type, unsigned long flags,
	const void *data);
int umount2(const char *target, int flags);

#define DETACH 2
#define CALL_OPEN_TREE_ATTR 467

static void try_classic(const char *directory)
{
	escape_report("mount-tmpfs", mount("none", directory, "tmpfs", 0, NULL));
	escape_report("mount-proc", mount("none", directory, "proc", 0, NULL));
	escape_report("mount-bind", mount("/proc", directory, NULL, MS_BIND | MS_REC, NULL));
	escape_report("mount-remount", mount(NULL, directory, NULL, MS_REMOUNT | MS_BIND, NULL));
	escape_report("mount-move", mount(directory, directory, NULL, MS_MOVE, NULL));
	escape_report("mount-private", mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL));
	escape_report("umount", umount2(directory, DETACH));
	/* Bad pointers: what may not be asked at all is refused before they are read. */
	escape_report("pivot_root", syscall(SYS_pivot_root, NULL, NULL));
}

static void try_modern(const char *directory)
{
	struct mount_attr attr = {.propagation = MS_PRIVATE};
	long fd = syscall(SYS_fsopen, "tmpfs", 0);

	escape_report("fsopen", fd);
	escape_report("fsconfig", syscall(SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
	fd = syscall(SYS_fsmount, fd, 0, 0);
	escape_report("fsmount", fd);
	escape_report("move_mount",
		syscall(SYS_move_mount, fd, "", AT_FDCWD, directory, MOVE_MOUNT_F_EMPTY_PATH));
	escape_report("open_tree",
		syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
	escape_report("open_tree_attr",
		syscall(CALL_OPEN_TREE_ATTR, AT_FDCWD, "/", OPEN_TREE_CLONE, &attr, sizeof(attr)));
	escape_report("fspick", syscall(SYS_fspick, AT_FDCWD, directory, 0));
	escape_report(
		"mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attr, sizeof(attr)));
}

static int try_chroot(long unused)
{
	(void)unused;
	return chroot("/proc") < 0 ? errno : 0;
}

static int try_unshare(long flags)
{
	return unshare((int)flags) < 0 ? errno : 0;
}

static int try_clone(long flags)
{
	long child = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);

	if (child == 0)
		_exit(0);
	if (child < 0)
		return errno;
	return waitpid((pid_t)child, NULL, 0) == child ? 0 : errno;
}

static int try_clone3(long flags)
{
	struct clone_args args = {.flags = (uint64_t)flags, .exit_signal = SIGCHLD};
	long child = syscall(SYS_clone3, &args, sizeof(args));

	if (child == 0)
		_exit(0);
	if (child < 0)
		return errno;
	return waitpid((pid_t)child, NULL, 0) == child ? 0 : errno;
}

static int try_setns(long kind)
{
	static const char *const paths[] = {"/proc/self/ns/mnt", "/proc/self/ns/net",
		"/proc/self/ns/pid", "/proc/self/ns/ipc", "/proc/self/ns/uts",
		"/proc/self/ns/cgroup"};
	int fd = open(paths[kind], O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	return setns(fd, 0) < 0 ? errno : 0;
}

static void try_namespaces(void)
{
	static const struct {
		const char *name;
		long flag;
	} kinds[] = {{"mnt", CLONE_NEWNS}, {"net", CLONE_NEWNET}, {"pid", CLONE_NEWPID},
		{"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS}, {"cgroup", CLONE_NEWCGROUP},
		{"user", CLONE_NEWUSER}, {"user+mnt", CLONE_NEWUSER | CLONE_NEWNS}};
	char name[64];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(name, sizeof(name), "unshare-%s", kinds[i].name);
		escape_report_child(name, try_unshare, kinds[i].flag);
		snprintf(name, sizeof(name), "clone-%s", kinds[i].name);
		escape_report_child(name, try_clone, kinds[i].flag);
		snprintf(name, sizeof(name), "clone3-%s", kinds[i].name);
		escape_report_child(name, try_clone3, kinds[i].flag);
		if (i > 5)
			continue;
		snprintf(name, sizeof(name), "setns-%s", kinds[i].name);
		escape_report_child(name, try_setns, (long)i);
	}
	escape_report_child("unshare-time", try_unshare, CLONE_NEWTIME);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "namespaces") == 0) {
		try_namespaces();
		return 0;
	}
	if (argc != 3 || strcmp(argv[1], "mounts") != 0) {
		fprintf(stderr, "usage: escape_mount mounts DIRECTORY | namespaces\n");
		return 2;
	}
	try_classic(argv[2]);
	try_modern(argv[2]);
	escape_report_child("chroot", try_chroot, 0);
	return 0;
}
