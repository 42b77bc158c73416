/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Namespaces and mounts as bubblewrap makes them, step by step, so that the step that fails is
 * known. Host policies let some steps pass and stop a later one (AppArmor lets the user namespace
 * be made and takes its capabilities away): only the whole way counts.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/check.h"

bool rf_check_is_admin(const struct rf_signs *signs)
{
	return signs->uid == 0 && rf_signs_has_capability(signs, CAP_SYS_ADMIN);
}

static bool write_map(struct rf_check *check, const char *call, const char *path, const char *text)
{
	int r = rf_write_file_at(AT_FDCWD, path, text);

	return rf_check_got(check, call, r);
}

static bool make_user_namespace(struct rf_check *check)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char uid_map[32];
	char gid_map[32];

	(void)snprintf(uid_map, sizeof(uid_map), "%u %u 1", uid, uid);
	(void)snprintf(gid_map, sizeof(gid_map), "%u %u 1", gid, gid);
	return rf_check_did(check, RF_CALL_UNSHARE_USER, unshare(CLONE_NEWUSER)) &&
	       write_map(check, RF_CALL_SETGROUPS, "/proc/self/setgroups", "deny") &&
	       write_map(check, RF_CALL_UID_MAP, "/proc/self/uid_map", uid_map) &&
	       write_map(check, RF_CALL_GID_MAP, "/proc/self/gid_map", gid_map);
}

/* With the caller's own ids mapped. false: the check is filled, explanation included. */
static bool enter_user_namespace(const struct rf_signs *signs, struct rf_check *check)
{
	if (make_user_namespace(check))
		return true;
	rf_explain_user_namespace(signs, check);
	return false;
}

/* What a run does: no user namespace where none is needed. */
static bool enter_as_needed(
	const struct rf_signs *signs, struct rf_check *check, bool *ret_is_in_user_namespace)
{
	*ret_is_in_user_namespace = !rf_check_is_admin(signs);
	return !*ret_is_in_user_namespace || enter_user_namespace(signs, check);
}

static bool enter_mount_namespace(struct rf_check *check, int more_flags, const char *call)
{
	return rf_check_did(check, call, unshare(CLONE_NEWNS | more_flags)) &&
	       rf_check_did(
		       check, "mount(MS_SLAVE)", mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL));
}

void rf_check_user_namespace(const struct rf_signs *signs, struct rf_check *check)
{
	if (!enter_user_namespace(signs, check))
		return;
	/* The capabilities inside are real only when they mount something. */
	if (!enter_mount_namespace(check, 0, "unshare(CLONE_NEWNS)") ||
		!rf_check_did(check, "mount(tmpfs)",
			mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, NULL))) {
		rf_explain_namespace(signs, true, check);
		return;
	}
	check->state = RF_STATE_ENFORCED;
}

/* A tmpfs as new root, a bind, a read-only remount that holds, pivot_root, the old root gone. */
static bool build_view(struct rf_check *check)
{
	int fd rf_autoclose = -1;

	if (!rf_check_did(check, "mount(tmpfs)",
		    mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755")) ||
		!rf_check_did(check, "chdir", chdir("/tmp")) ||
		!rf_check_did(check, "mkdir", mkdir("old", 0755)) ||
		!rf_check_did(check, "mkdir", mkdir("from", 0755)) ||
		!rf_check_did(check, "mkdir", mkdir("to", 0755)) ||
		!rf_check_did(check, "mount(MS_BIND)", mount("from", "to", NULL, MS_BIND, NULL)) ||
		!rf_check_did(check, "mount(MS_RDONLY)",
			mount(NULL, "to", NULL,
				MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL)) ||
		!rf_check_did(check, RF_CALL_PIVOT_ROOT, syscall(SYS_pivot_root, "/tmp", "old")) ||
		!rf_check_did(check, "chdir", chdir("/")) ||
		!rf_check_did(check, "umount2(MNT_DETACH)", umount2("old", MNT_DETACH)))
		return false;
	fd = open("/to/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 || errno != EROFS) {
		rf_check_fail(check, "open on a read-only mount", fd >= 0 ? 0 : errno);
		return false;
	}
	return true;
}

void rf_check_mount_namespace(const struct rf_signs *signs, struct rf_check *check)
{
	bool is_in_user_namespace = false;

	if (!enter_as_needed(signs, check, &is_in_user_namespace))
		return;
	if (!enter_mount_namespace(check, 0, "unshare(CLONE_NEWNS)") || !build_view(check)) {
		rf_explain_namespace(signs, is_in_user_namespace, check);
		return;
	}
	check->state = RF_STATE_ENFORCED;
}

/* In the new PID namespace's first process; its exit status is an errno. */
static int mount_proc(void)
{
	char self[16] = "";

	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return errno;
	if (readlink("/proc/self", self, sizeof(self) - 1) < 0)
		return errno;
	return getpid() == 1 && strcmp(self, "1") == 0 ? 0 : ESRCH;
}

void rf_check_pid_namespace(const struct rf_signs *signs, struct rf_check *check)
{
	bool is_in_user_namespace = false;
	int status = 0;
	pid_t pid;

	if (!enter_as_needed(signs, check, &is_in_user_namespace))
		return;
	if (!enter_mount_namespace(check, CLONE_NEWPID, "unshare(CLONE_NEWPID)")) {
		rf_explain_namespace(signs, is_in_user_namespace, check);
		return;
	}
	pid = fork();
	if (pid == 0)
		_exit(mount_proc());
	if (!rf_check_did(check, "fork", pid) ||
		!rf_check_did(check, "waitpid", waitpid(pid, &status, 0))) {
		rf_explain_namespace(signs, is_in_user_namespace, check);
		return;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		rf_check_fail(
			check, "mount(proc)", WIFEXITED(status) ? WEXITSTATUS(status) : EINTR);
		rf_explain_proc(signs, is_in_user_namespace, check);
		return;
	}
	check->state = RF_STATE_ENFORCED;
}

void rf_check_network_namespace(const struct rf_signs *signs, struct rf_check *check)
{
	struct ifreq request = {.ifr_name = "lo"};
	bool is_in_user_namespace = false;
	int fd rf_autoclose = -1;

	if (!enter_as_needed(signs, check, &is_in_user_namespace))
		return;
	if (!rf_check_did(check, "unshare(CLONE_NEWNET)", unshare(CLONE_NEWNET)))
		goto failed;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (!rf_check_did(check, "socket(AF_INET)", fd) ||
		!rf_check_did(check, "ioctl(SIOCGIFFLAGS, lo)", ioctl(fd, SIOCGIFFLAGS, &request)))
		goto failed;
	request.ifr_flags |= IFF_UP;
	if (!rf_check_did(check, "ioctl(SIOCSIFFLAGS, lo)", ioctl(fd, SIOCSIFFLAGS, &request)))
		goto failed;
	check->state = RF_STATE_ENFORCED;
	return;
failed:
	rf_explain_namespace(signs, is_in_user_namespace, check);
}
