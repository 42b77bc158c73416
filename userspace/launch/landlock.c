/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Landlock, once and last. Every filesystem right of the running ABI is handled; what a rule
 * grants depends on the type of what it names, because directory rights on a file are EINVAL.
 *
 * RESOLVE_UNIX (ABI 9) is handled and not part of WRITE: it is asked for sockets that were made
 * outside the domain alone, and a host's socket in a writable tree must stay closed.
 * Not covered by any ABI: chmod, chown, stat, chdir, xattr, utime, flock.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/landlock.h"
#include "launch/confine.h"
#include "launch/fd.h"

#define RF_LANDLOCK_READ (RF_LANDLOCK_EXECUTE | RF_LANDLOCK_READ_FILE | RF_LANDLOCK_READ_DIR)
#define RF_LANDLOCK_NEVER                                                         \
	(RF_LANDLOCK_MAKE_CHAR | RF_LANDLOCK_MAKE_BLOCK | RF_LANDLOCK_IOCTL_DEV | \
		RF_LANDLOCK_RESOLVE_UNIX)
#define RF_LANDLOCK_DEVICE (RF_LANDLOCK_READ_FILE | RF_LANDLOCK_WRITE_FILE | RF_LANDLOCK_TRUNCATE)
#define RF_LANDLOCK_OF_FILES                                                    \
	(RF_LANDLOCK_EXECUTE | RF_LANDLOCK_WRITE_FILE | RF_LANDLOCK_READ_FILE | \
		RF_LANDLOCK_TRUNCATE | RF_LANDLOCK_IOCTL_DEV | RF_LANDLOCK_RESOLVE_UNIX)

/* Zero for a number that is no access of ours: unknown means nothing is granted. */
static uint64_t rf_landlock_rights(uint32_t access, uint64_t handled)
{
	switch ((enum rf_launch_access)access) {
	case RF_LAUNCH_READ:
		return RF_LANDLOCK_READ & handled;
	case RF_LAUNCH_WRITE:
		return handled & ~RF_LANDLOCK_NEVER;
	case RF_LAUNCH_DEVICE:
		return RF_LANDLOCK_DEVICE & handled;
	case RF_LAUNCH_TERMINAL:
		return (RF_LANDLOCK_DEVICE | RF_LANDLOCK_IOCTL_DEV) & handled;
	case RF_LAUNCH_SOCKET:
		return RF_LANDLOCK_RESOLVE_UNIX & handled;
	case RF_LAUNCH_LIST:
		return RF_LANDLOCK_READ_DIR & handled;
	}
	return 0;
}

static int rf_landlock_add(int ruleset, uint64_t handled, const struct rf_spec_path *rule,
	struct rf_launch_message *ret_failure)
{
	int fd rf_autofd = open(rule->path, O_PATH | O_CLOEXEC);
	struct rf_landlock_path_beneath_attr attr = {.parent_fd = fd};
	struct stat status;

	/* bubblewrap makes some devices (/dev/console) only on a terminal; none of them is a
	 * promise. */
	if (fd < 0 && errno == ENOENT &&
		(rule->value == RF_LAUNCH_DEVICE || rule->value == RF_LAUNCH_TERMINAL))
		return 0;
	if (fd < 0)
		return rf_fail(ret_failure, errno, "landlock rule for %s", rule->path);
	if (fstat(fd, &status) < 0)
		return rf_fail(ret_failure, errno, "landlock rule for %s", rule->path);
	attr.allowed_access = rf_landlock_rights(rule->value, handled);
	if (!S_ISDIR(status.st_mode))
		attr.allowed_access &= RF_LANDLOCK_OF_FILES;
	/* An empty rule is ENOMSG, and grants nothing anyway. */
	if (attr.allowed_access == 0)
		return 0;
	if (syscall(RF_SYS_LANDLOCK_ADD_RULE, ruleset, RF_LANDLOCK_RULE_PATH_BENEATH, &attr, 0) < 0)
		return rf_fail(ret_failure, errno, "landlock rule for %s", rule->path);
	return 0;
}

static int rf_landlock_create(const struct rf_sandbox *sandbox, long abi, uint64_t handled,
	int *ret_ruleset, struct rf_launch_message *ret_failure)
{
	struct rf_landlock_ruleset_attr attr = {.handled_access_fs = handled};
	size_t size = sizeof(attr.handled_access_fs);
	int ruleset;

	if (sandbox->head.flags & RF_SANDBOX_SCOPE) {
		if (abi < 6)
			return rf_fail(ret_failure, EOPNOTSUPP,
				"landlock scopes need ABI 6, this kernel has %ld", abi);
		attr.scoped = RF_LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | RF_LANDLOCK_SCOPE_SIGNAL;
		size = sizeof(attr);
	}
	ruleset = (int)syscall(RF_SYS_LANDLOCK_CREATE_RULESET, &attr, size, 0);
	if (ruleset < 0)
		return rf_fail(ret_failure, errno, "landlock_create_ruleset");
	*ret_ruleset = ruleset;
	return 0;
}

int rf_landlock_apply(const struct rf_sandbox *sandbox, unsigned int *ret_abi,
	struct rf_launch_message *ret_failure)
{
	int ruleset rf_autofd = -1;
	uint64_t handled;
	long abi;
	int r;

	abi = syscall(RF_SYS_LANDLOCK_CREATE_RULESET, NULL, 0, RF_LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < 0)
		return rf_fail(ret_failure, errno, "landlock_create_ruleset");
	if (abi < (long)sandbox->head.landlock_abi)
		return rf_fail(ret_failure, EOPNOTSUPP, "landlock ABI %u was planned, this is %ld",
			sandbox->head.landlock_abi, abi);
	handled = rf_landlock_fs_rights((unsigned int)abi);
	r = rf_landlock_create(sandbox, abi, handled, &ruleset, ret_failure);
	if (r != 0)
		return r;
	for (uint32_t i = 0; i < sandbox->head.n_rules; i++) {
		r = rf_landlock_add(ruleset, handled, &sandbox->rules[i], ret_failure);
		if (r != 0)
			return r;
	}
	if (syscall(RF_SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0) < 0) {
		if (errno == E2BIG)
			return rf_fail(ret_failure, errno,
				"landlock_restrict_self: the caller has 16 layers already, and the "
				"kernel allows no more");
		return rf_fail(ret_failure, errno, "landlock_restrict_self");
	}
	*ret_abi = (unsigned int)abi;
	return 0;
}

/* Does a rule that grants writing stand at this path or above it? */
static bool rf_landlock_is_writable(const struct rf_sandbox *sandbox, const char *path)
{
	for (uint32_t i = 0; i < sandbox->head.n_rules; i++) {
		const char *rule = sandbox->rules[i].path;

		if (sandbox->rules[i].value != RF_LAUNCH_READ &&
			(strcmp(rule, path) == 0 || strcmp(rule, "/") == 0))
			return true;
	}
	return false;
}

/* The name may be written by its owner alone, and /proc calls that root while the launcher is not
 * dumpable: dumpable for this one open, or it would be the mode that refuses, not Landlock. */
static int rf_landlock_try_proc(void)
{
	int fd, error;

	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	fd = open("/proc/self/comm", O_WRONLY | O_CLOEXEC);
	error = errno;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : error;
}

int rf_landlock_self_test(const struct rf_sandbox *sandbox, struct rf_launch_message *ret_failure)
{
	static const char name[] = "/.ringfence-self-test";

	if (!rf_landlock_is_writable(sandbox, "/proc")) {
		int error = rf_landlock_try_proc();

		if (error != EACCES)
			return rf_fail(ret_failure, error,
				"self-test: writing below /proc was not refused by Landlock");
	}
	if (!rf_landlock_is_writable(sandbox, "/")) {
		int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		if (fd >= 0) {
			unlink(name);
			close(fd);
			return rf_fail(ret_failure, 0, "self-test: a file could be made in /");
		}
	}
	return 0;
}
