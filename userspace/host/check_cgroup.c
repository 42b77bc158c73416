/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * cgroups of version 2, in a leaf that exists for the moment: at the root of the mount for root,
 * in the caller's own cgroup for everybody else. No controller is switched on for it: that would
 * outlast the check.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"
#include "host/check.h"

#define REMOVE_TRIES 200

/* Where leaves are made, as a path; NULL: nowhere, or no memory. */
static char *base_path(const struct rf_signs *signs)
{
	const char *below;

	if (!signs->cgroup2[0])
		return NULL;
	if (signs->uid == 0 && strcmp(signs->cgroup2_root, "/") == 0)
		return strdup(signs->cgroup2);
	/* "/.." : outside of this cgroup namespace, which the mount does not show. */
	below = rf_path_below(signs->own_cgroup, signs->cgroup2_root);
	if (!below || strncmp(signs->own_cgroup, "/..", 3) == 0)
		return NULL;
	return rf_path_join(signs->cgroup2, below[0] ? below : ".");
}

static void leaf_name(pid_t pid, char ret_name[32])
{
	(void)snprintf(ret_name, 32, "rf-doctor-%d", (int)pid);
}

bool rf_scratch_cgroup_make(
	const struct rf_signs *signs, struct rf_check *check, struct rf_scratch_cgroup *ret)
{
	char *base rf_autofree = base_path(signs);
	struct rf_scratch_cgroup made = {.base_fd = -1, .fd = -1};

	if (!base) {
		rf_check_fail(check, "", ENOENT);
		return false;
	}
	leaf_name(getpid(), made.name);
	made.base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!rf_check_did(check, "open of the cgroup", made.base_fd))
		return false;
	if (!rf_check_did(check, "mkdir in the cgroup", mkdirat(made.base_fd, made.name, 0755))) {
		(void)rf_close(made.base_fd);
		return false;
	}
	made.fd = openat(made.base_fd, made.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!rf_check_did(check, "open of the leaf", made.fd)) {
		(void)rf_scratch_cgroup_remove(&made);
		return false;
	}
	*ret = made;
	return true;
}

pid_t rf_scratch_cgroup_fork(const struct rf_scratch_cgroup *scratch)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)scratch->fd,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* The kernel lets go of a dead member a moment after it was reaped. */
static int remove_leaf(int base_fd, const char *name)
{
	for (unsigned int i = 0; i < REMOVE_TRIES; i++) {
		if (unlinkat(base_fd, name, AT_REMOVEDIR) == 0)
			return 0;
		if (errno != EBUSY)
			return -errno;
		(void)poll(NULL, 0, 1);
	}
	return -EBUSY;
}

int rf_scratch_cgroup_remove(struct rf_scratch_cgroup *scratch)
{
	int r = remove_leaf(scratch->base_fd, scratch->name);

	scratch->fd = rf_close(scratch->fd);
	scratch->base_fd = rf_close(scratch->base_fd);
	return r;
}

void rf_check_clean(const struct rf_signs *signs, struct rf_check *check)
{
	char *base rf_autofree = base_path(signs);
	int base_fd rf_autoclose = -1;
	char name[32];

	check->state = RF_STATE_ENFORCED;
	if (!base)
		return;
	base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	leaf_name(signs->killed, name);
	if (base_fd >= 0 && faccessat(base_fd, name, F_OK, 0) == 0)
		(void)remove_leaf(base_fd, name);
}

/* A process made in the leaf must die of one write. */
static bool kill_member(struct rf_check *check, const struct rf_scratch_cgroup *scratch)
{
	int status = 0;
	pid_t pid;
	int r;

	pid = rf_scratch_cgroup_fork(scratch);
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	if (!rf_check_did(check, "clone3(CLONE_INTO_CGROUP)", pid))
		return false;
	r = rf_write_file_at(scratch->fd, "cgroup.kill", "1");
	if (r < 0)
		(void)kill(pid, SIGKILL);
	/* A kill that does nothing ends at the check's deadline. */
	if (!rf_check_did(check, "waitpid", waitpid(pid, &status, 0)) ||
		!rf_check_got(check, "write(cgroup.kill)", r))
		return false;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	rf_check_fail(check, "write(cgroup.kill)", 0);
	return false;
}

void rf_check_cgroup(const struct rf_signs *signs, struct rf_check *check)
{
	struct rf_scratch_cgroup scratch;
	bool is_killed;
	int r;

	if (!rf_scratch_cgroup_make(signs, check, &scratch)) {
		rf_explain_cgroup(signs, check);
		return;
	}
	is_killed = kill_member(check, &scratch);
	r = rf_scratch_cgroup_remove(&scratch);
	if (!is_killed || !rf_check_got(check, "rmdir of the leaf", r)) {
		rf_explain_cgroup(signs, check);
		return;
	}
	check->state = RF_STATE_ENFORCED;
	rf_check_say(check, "cgroup2 at %.200s", signs->cgroup2);
}

static const char *const limit_controllers[] = {"memory", "pids"};

/* Words of a line, as cgroup.controllers has them. */
static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; *at;) {
		size_t n = strcspn(at, " \n");

		if (n == length && strncmp(at, word, n) == 0)
			return true;
		at += n;
		at += *at != '\0';
	}
	return false;
}

/* Controllers that the base could give; belongs to the caller. */
static char *read_controllers(const struct rf_signs *signs)
{
	char *base rf_autofree = base_path(signs);
	char *file rf_autofree = base ? rf_path_join(base, "cgroup.controllers") : NULL;
	char *words = NULL;

	if (!file || rf_read_file_at(AT_FDCWD, file, 4096, &words) < 0)
		return NULL;
	words[strcspn(words, "\n")] = '\0';
	return words;
}

static void say_missing(const struct rf_signs *signs, struct rf_check *check, const char *words,
	const char *missing)
{
	rf_check_say(check, "cgroup2 at %.60s has %.80s; missing: %.60s", signs->cgroup2,
		words[0] ? words : "no controller", missing);
	if (signs->has_v1_limits)
		rf_check_advise(check,
			"boot with systemd.unified_cgroup_hierarchy=1, so that version 1 does not "
			"hold the controllers%s",
			signs->uid == 0 ? "" : ", and run it as root");
	else if (signs->uid == 0)
		rf_check_advise(check, "delegate the controllers to the cgroup it starts in");
	else
		rf_check_advise(check, "run it as root");
}

void rf_check_cgroup_controllers(const struct rf_signs *signs, struct rf_check *check)
{
	static const char *const wanted[] = {"memory", "pids", "cpu", "io"};
	char *words rf_autofree = read_controllers(signs);
	struct rf_buf missing rf_autobuf = {0};

	if (!words) {
		rf_check_fail(check, "open(cgroup.controllers)", ENOENT);
		rf_explain_cgroup(signs, check);
		return;
	}
	for (size_t i = 0; i < RF_ARRAY_SIZE(wanted); i++)
		if (!has_word(words, wanted[i]))
			(void)rf_buf_addf(&missing, "%s%s", missing.size ? " " : "", wanted[i]);
	if (missing.size) {
		check->state = words[0] ? RF_STATE_PARTIAL : RF_STATE_OFF;
		say_missing(signs, check, words, missing.data);
		return;
	}
	check->state = RF_STATE_ENFORCED;
	rf_check_say(check, "%s", words);
}

static void judge_limits(const struct rf_signs *signs, struct rf_check *check,
	const struct rf_scratch_cgroup *scratch)
{
	bool is_switched_on = true;

	for (size_t i = 0; i < RF_ARRAY_SIZE(limit_controllers); i++) {
		char file[32];

		(void)snprintf(file, sizeof(file), "%s.max", limit_controllers[i]);
		is_switched_on &= rf_write_file_at(scratch->fd, file, "max") == 0;
	}
	if (is_switched_on || signs->uid == 0) {
		/* At the root of the mount nothing stands in the way of switching them on. */
		check->state = RF_STATE_ENFORCED;
		return;
	}
	check->state = RF_STATE_PARTIAL;
	rf_check_say(check, "memory and pids are delegated to %.100s and not switched on",
		signs->own_cgroup);
	rf_check_advise(check, "run it as root: only then they are switched on");
}

void rf_check_cgroup_limits(const struct rf_signs *signs, struct rf_check *check)
{
	struct rf_scratch_cgroup scratch;
	char *words rf_autofree = read_controllers(signs);
	struct rf_buf missing rf_autobuf = {0};

	for (size_t i = 0; words && i < RF_ARRAY_SIZE(limit_controllers); i++)
		if (!has_word(words, limit_controllers[i]))
			(void)rf_buf_addf(
				&missing, "%s%s", missing.size ? " " : "", limit_controllers[i]);
	if (missing.size) {
		/* Said first: a cgroup of one's own would have none of them. */
		check->state = RF_STATE_OFF;
		say_missing(signs, check, words, missing.data);
		return;
	}
	if (!words)
		rf_check_fail(check, "open(cgroup.controllers)", ENOENT);
	if (!words || !rf_scratch_cgroup_make(signs, check, &scratch)) {
		rf_explain_cgroup(signs, check);
		return;
	}
	judge_limits(signs, check, &scratch);
	(void)rf_scratch_cgroup_remove(&scratch);
}
