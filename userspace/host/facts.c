/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What every run needs to know, for less than a millisecond and a half. Only what can be had
 * without making a process is asked; the rest is taken to be there, and the run itself proves it
 * or says why not.
 */

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/landlock.h"
#include "base/path.h"
#include "base/place.h"
#include "host/bwrap.h"
#include "host/check.h"
#include "host/doctor.h"

/* The largest entry of a user database that is worth an answer. */
#define PASSWD_MAX_BYTES 16384

static void set_fact(struct rf_fact *fact, const struct rf_check *check)
{
	fact->state = check->state;
	(void)snprintf(fact->why, sizeof(fact->why), "%s", check->cause);
	(void)snprintf(fact->remedy, sizeof(fact->remedy), "%s", check->remedy);
}

static void find_landlock(const struct rf_signs *signs, struct rf_facts *facts)
{
	struct rf_check check = {.state = RF_STATE_ENFORCED};
	long abi = syscall(
		RF_SYS_LANDLOCK_CREATE_RULESET, NULL, 0, RF_LANDLOCK_CREATE_RULESET_VERSION);

	if (rf_check_did(&check, "landlock_create_ruleset", abi))
		facts->landlock_abi = (unsigned int)abi;
	else
		rf_explain_landlock(signs,
			check.error == ENOSYS ? rf_check_landlock_built() : RF_BUILT_UNKNOWN,
			&check);
	set_fact(&facts->mechanisms[RF_MECHANISM_LANDLOCK], &check);
}

/* What settings alone say about user namespaces; error is what unshare() would answer. */
static int user_namespace_error(const struct rf_signs *signs)
{
	if (signs->max_user_namespaces == 0)
		return ENOSPC;
	if (signs->unprivileged_userns_clone == 0 && !rf_signs_has_capability(signs, CAP_SYS_ADMIN))
		return EPERM;
	return 0;
}

static void judge_user_namespace(
	const struct rf_signs *signs, bool is_bwrap_setuid, struct rf_facts *facts)
{
	static const enum rf_mechanism dependent[] = {RF_MECHANISM_MOUNT_NAMESPACE,
		RF_MECHANISM_PID_NAMESPACE, RF_MECHANISM_NETWORK_NAMESPACE};
	struct rf_check check = {.state = RF_STATE_ENFORCED};
	int error = user_namespace_error(signs);

	if (error == 0)
		return;
	rf_check_fail(&check, RF_CALL_UNSHARE_USER, error);
	rf_explain_user_namespace(signs, &check);
	set_fact(&facts->mechanisms[RF_MECHANISM_USER_NAMESPACE], &check);
	/* The others stand on it, unless root or a set-uid bubblewrap makes them. */
	if (facts->has_sys_admin || is_bwrap_setuid)
		return;
	for (size_t i = 0; i < RF_ARRAY_SIZE(dependent); i++)
		set_fact(&facts->mechanisms[dependent[i]], &check);
}

static void judge_io_uring(const struct rf_signs *signs, struct rf_facts *facts)
{
	struct rf_check check = {.state = RF_STATE_ENFORCED};

	/* 1 is "members of a group and CAP_SYS_ADMIN", which only trying can tell. */
	if (signs->io_uring_disabled != 2)
		return;
	rf_check_fail(&check, "io_uring_setup", EPERM);
	rf_explain_io_uring(signs, &check);
	set_fact(&facts->mechanisms[RF_MECHANISM_IO_URING], &check);
}

static void find_bwrap(struct rf_facts *facts, bool *ret_is_setuid)
{
	struct rf_bwrap bwrap rf_autobwrap = {.fd = -1};

	rf_bwrap_find(NULL, facts->uid, &bwrap);
	facts->bwrap = bwrap.fact;
	memcpy(facts->bwrap_path, bwrap.path, sizeof(facts->bwrap_path));
	memcpy(facts->bwrap_version, bwrap.version, sizeof(facts->bwrap_version));
	facts->bwrap_has_bind_fd = bwrap.has_bind_fd;
	*ret_is_setuid = bwrap.is_setuid;
}

/*
 * The user database; $HOME, which must not move the rules for credentials, counts beside it.
 * A user without an entry has no home that could be known.
 */
static void find_home(struct rf_facts *facts)
{
	char text[PASSWD_MAX_BYTES];
	struct passwd entry;
	struct passwd *found = NULL;
	char *home rf_autofree = NULL;

	if (getpwuid_r(facts->uid, &entry, text, sizeof(text), &found) != 0 || !found)
		return;
	if (entry.pw_dir && entry.pw_dir[0] == '/')
		home = rf_path_normalise(entry.pw_dir);
	/* "/" is nobody's home: it would make every path a private one. */
	if (home && strcmp(home, "/") != 0 && strlen(home) < sizeof(facts->home))
		(void)snprintf(facts->home, sizeof(facts->home), "%s", home);
	if (entry.pw_name && strlen(entry.pw_name) < sizeof(facts->user_name))
		(void)snprintf(facts->user_name, sizeof(facts->user_name), "%s", entry.pw_name);
}

static void find_launcher(struct rf_facts *facts)
{
	struct rf_fact *fact = &facts->mechanisms[RF_MECHANISM_LAUNCHER];
	char *path rf_autofree = NULL;
	char *searched rf_autofree = NULL;
	int r = rf_place_program("ringfence-launch", &path);

	if (r == 0 && strlen(path) < sizeof(facts->launcher_path)) {
		(void)snprintf(facts->launcher_path, sizeof(facts->launcher_path), "%s", path);
		return;
	}
	fact->state = RF_STATE_OFF;
	(void)snprintf(fact->why, sizeof(fact->why), "ringfence-launch: %s",
		r == 0 ? "its path is too long" : strerror(-r));
	searched = rf_place_searched();
	(void)snprintf(fact->remedy, sizeof(fact->remedy), "install it into %.200s",
		searched ? searched : "libexec/ringfence");
}

/* The call that the launcher will make, asked a harmless question: a filter may refuse it whole. */
static void find_seccomp(struct rf_facts *facts)
{
	struct rf_fact *fact = &facts->mechanisms[RF_MECHANISM_SECCOMP];
	uint32_t action = SECCOMP_RET_ERRNO;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
		return;
	fact->state = RF_STATE_OFF;
	(void)snprintf(fact->why, sizeof(fact->why), "seccomp(2): %s", strerror(errno));
	(void)snprintf(fact->remedy, sizeof(fact->remedy),
		"allow seccomp in the filter of the surrounding container, or boot a kernel with "
		"CONFIG_SECCOMP_FILTER");
}

static void set_defaults(struct rf_facts *facts)
{
	static const enum rf_mechanism asked_later[] = {RF_MECHANISM_BPF_LSM,
		RF_MECHANISM_BPF_CGROUP, RF_MECHANISM_BPF_TRACE, RF_MECHANISM_CGROUP,
		RF_MECHANISM_CGROUP_LIMITS};

	for (size_t i = 0; i < RF_MECHANISMS; i++)
		facts->mechanisms[i].state = RF_STATE_ENFORCED;
	for (size_t i = 0; i < RF_ARRAY_SIZE(asked_later); i++) {
		struct rf_fact *fact = &facts->mechanisms[asked_later[i]];

		fact->state = RF_STATE_OFF;
		(void)snprintf(fact->why, sizeof(fact->why), "not asked yet");
	}
	facts->file_hooks = facts->mechanisms[RF_MECHANISM_BPF_LSM];
}

int rf_facts_find(struct rf_facts *ret_facts, struct rf_diag *diag)
{
	struct rf_signs *signs rf_autofree = calloc(1, sizeof(*signs));
	bool is_bwrap_setuid = false;

	if (!signs)
		return -ENOMEM;
	/* Without it neither we nor bubblewrap can look at anything. */
	if (access("/proc/self/status", R_OK) < 0)
		return rf_diag_refuse(diag, "proc-missing",
			"/proc is not mounted or not readable: %s", strerror(errno));
	rf_signs_read(signs);
	*ret_facts = (struct rf_facts){.uid = getuid(), .gid = getgid()};
	ret_facts->has_sys_admin = rf_check_is_admin(signs);
	set_defaults(ret_facts);
	find_bwrap(ret_facts, &is_bwrap_setuid);
	find_landlock(signs, ret_facts);
	find_seccomp(ret_facts);
	judge_user_namespace(signs, is_bwrap_setuid, ret_facts);
	judge_io_uring(signs, ret_facts);
	find_home(ret_facts);
	find_launcher(ret_facts);
	return 0;
}
