/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"
#include "enforce/cgroup.h"
#include "sandbox/controller.h"
#include "sandbox/ledger.h"

#define KILL_DEADLINE_NS (5ULL * 1000000000ULL)

const char *rf_sweep_outcome_name(enum rf_sweep_outcome outcome)
{
	static const char *const names[RF_SWEEP_OUTCOMES] = {
		[RF_SWEEP_OWNER_ALIVE] = "owner-alive",
		[RF_SWEEP_IDENTITY_UNVERIFIED] = "identity-unverified",
		[RF_SWEEP_OWN_CGROUP_UNKNOWN] = "own-cgroup-unknown",
		[RF_SWEEP_FOREIGN_HOST] = "foreign-host",
		[RF_SWEEP_KILL_FAILED] = "kill-failed",
		[RF_SWEEP_PRE_BOOT] = "pre-boot",
		[RF_SWEEP_GONE] = "gone",
		[RF_SWEEP_IDENTITY_MISMATCH] = "identity-mismatch",
		[RF_SWEEP_INVALID_RECORD] = "invalid-record",
		[RF_SWEEP_OWN_CGROUP] = "own-cgroup",
		[RF_SWEEP_KILLED] = "killed",
	};

	return names[outcome];
}

static bool is_retired(enum rf_sweep_outcome outcome)
{
	return outcome >= RF_SWEEP_PRE_BOOT;
}

/* Kills, and waits until the kernel says that nothing is left. */
static enum rf_sweep_outcome kill_leaf(struct rf_cgroup *cgroup)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	uint64_t deadline = rf_monotonic_ns() + KILL_DEADLINE_NS;

	if (rf_cgroup_is_populated(cgroup) != 0 && rf_cgroup_kill(cgroup) < 0)
		return RF_SWEEP_KILL_FAILED;
	while (rf_cgroup_is_populated(cgroup) != 0) {
		if (rf_monotonic_ns() > deadline)
			return RF_SWEEP_KILL_FAILED;
		nanosleep(&pause, NULL);
	}
	return rf_cgroup_remove(cgroup) < 0 ? RF_SWEEP_KILL_FAILED : RF_SWEEP_KILLED;
}

/* Does the sweeper itself sit in the leaf or below it? */
static int is_own_leaf(const char *leaf)
{
	char *own rf_autofree = NULL;
	char *save = NULL;
	int r = rf_cgroup_of("self", &own);

	if (r < 0)
		return r;
	for (char *at = strtok_r(own, "/", &save); at; at = strtok_r(NULL, "/", &save)) {
		if (strcmp(at, leaf) == 0)
			return 1;
	}
	return 0;
}

/*
 * What a controller writes has no link in it, and lies below a base that one can have: root's has a
 * name of its own, an ordinary user's is a cgroup that was delegated, so that its leaves are named.
 */
static int open_base(const struct rf_ledger_record *record)
{
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	int base rf_autoclose = -1;
	struct statfs fs;

	if (record->base_path[0] != '/')
		return -EINVAL;
	base = (int)syscall(SYS_openat2, AT_FDCWD, record->base_path, &how, sizeof(how));
	if (base < 0)
		return errno == ELOOP || errno == ENOTDIR ? -EINVAL : -errno;
	if (fstatfs(base, &fs) < 0)
		return -errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return -EINVAL;
	if (strcmp(record->leaf, record->id) == 0) {
		if (strcmp(rf_path_name(record->base_path), RF_CGROUP_BASE_NAME) != 0)
			return -EINVAL;
	} else if (geteuid() == 0 || record->uid != geteuid() ||
		   faccessat(base, "cgroup.procs", W_OK, AT_EACCESS) < 0) {
		return -EINVAL;
	}
	return RF_TAKE_FD(base);
}

static enum rf_sweep_outcome judge_cgroup(const struct rf_ledger_record *record)
{
	int base rf_autoclose = open_base(record);
	struct rf_cgroup *cgroup = NULL;
	enum rf_sweep_outcome outcome;
	int r;

	if (base == -EINVAL)
		return RF_SWEEP_INVALID_RECORD;
	if (base < 0)
		return base == -ENOENT ? RF_SWEEP_GONE : RF_SWEEP_IDENTITY_UNVERIFIED;
	r = rf_cgroup_open(base, record->leaf, &cgroup);
	if (r == -ENOENT)
		return RF_SWEEP_GONE;
	if (r < 0)
		return RF_SWEEP_IDENTITY_UNVERIFIED;
	r = is_own_leaf(record->leaf);
	if (r < 0)
		outcome = RF_SWEEP_OWN_CGROUP_UNKNOWN;
	else if (r > 0)
		outcome = RF_SWEEP_OWN_CGROUP;
	else if (record->cgroup_id == 0 && rf_cgroup_is_populated(cgroup) != 0)
		/* Died between mkdir and the record of the id: nothing of ours was started yet. */
		outcome = RF_SWEEP_IDENTITY_UNVERIFIED;
	else if (record->cgroup_id != 0 && record->cgroup_id != cgroup->id)
		outcome = RF_SWEEP_IDENTITY_MISMATCH;
	else
		outcome = kill_leaf(cgroup);
	rf_cgroup_free(cgroup);
	return outcome;
}

static enum rf_sweep_outcome judge(const struct rf_controller *controller,
	const struct rf_ledger_record *record, bool is_valid)
{
	int is_alive;

	if (!is_valid)
		return RF_SWEEP_INVALID_RECORD;
	if (strcmp(record->owner.host_id, controller->self.host_id) != 0)
		return RF_SWEEP_FOREIGN_HOST;
	if (strcmp(record->owner.boot_id, controller->self.boot_id) != 0)
		return RF_SWEEP_PRE_BOOT;
	is_alive = rf_owner_is_alive(&record->owner);
	if (is_alive < 0)
		return RF_SWEEP_IDENTITY_UNVERIFIED;
	if (is_alive)
		return RF_SWEEP_OWNER_ALIVE;
	/* Without a cgroup it had a PID namespace, which died with its keeper. */
	if (!record->leaf[0])
		return RF_SWEEP_GONE;
	return judge_cgroup(record);
}

struct sweep {
	struct rf_controller *controller;
	struct rf_sweep_counts counts;
	/* Retired after the walk, not while a statement reads the table. */
	struct rf_buf retired;
};

/* Always empty: what was mounted on it died with its mount namespace. */
static void remove_stage(const struct rf_controller *controller, const char *id)
{
	char *path rf_autofree = NULL;

	if (asprintf(&path, "%s/stage-%s", controller->runtime, id) < 0) {
		path = NULL;
		return;
	}
	(void)rmdir(path);
}

static void sweep_record(const struct rf_ledger_record *record, bool is_valid, void *userdata)
{
	struct sweep *sweep = userdata;
	enum rf_sweep_outcome outcome = judge(sweep->controller, record, is_valid);

	sweep->counts.by[outcome]++;
	if (!is_retired(outcome))
		return;
	(void)rf_buf_add(&sweep->retired, &record->sequence, sizeof(record->sequence));
	if (is_valid)
		remove_stage(sweep->controller, record->id);
	/* A forged row may name a living sandbox, whose rules stay. */
	if (is_valid && sweep->controller->bpf && record->cgroup_id &&
		rf_cgroup_exists(sweep->controller->cgroups->base_fd, record->cgroup_id) == 0)
		(void)rf_bpf_sandbox_remove(sweep->controller->bpf, record->cgroup_id);
}

/*
 * The scratch leaf of a controller that died while it proved the BPF guards: named by that
 * controller's pid, never in the ledger, and only ever removed when it is empty.
 */
static void remove_scratch(const struct rf_cgroup_host *host)
{
	int copy = host->base_fd < 0
			   ? -1
			   : openat(host->base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!directory) {
		rf_close(copy);
		return;
	}
	while ((entry = readdir(directory))) {
		char *end = entry->d_name + strcspn(entry->d_name, "-");
		int pid;

		if (strncmp(entry->d_name, "canary-", 7) != 0 || sscanf(end, "-%d-", &pid) != 1)
			continue;
		if (kill(pid, 0) < 0 && errno == ESRCH)
			(void)unlinkat(host->base_fd, entry->d_name, AT_REMOVEDIR);
	}
	closedir(directory);
}

int rf_sweep(struct rf_controller *controller, struct rf_sweep_counts *ret_counts)
{
	struct sweep sweep = {.controller = controller};
	int r = rf_ledger_each(controller->ledger, sweep_record, &sweep);

	for (size_t at = 0; at < sweep.retired.size; at += sizeof(int64_t)) {
		int64_t sequence;

		memcpy(&sequence, sweep.retired.data + at, sizeof(sequence));
		(void)rf_ledger_retire(controller->ledger, sequence);
	}
	rf_buf_clear(&sweep.retired);
	remove_scratch(controller->cgroups);
	if (r == 0)
		*ret_counts = sweep.counts;
	return r;
}

bool rf_sweep_left_something(const struct rf_sweep_counts *counts)
{
	return counts->by[RF_SWEEP_KILL_FAILED] || counts->by[RF_SWEEP_IDENTITY_UNVERIFIED] ||
	       counts->by[RF_SWEEP_OWN_CGROUP_UNKNOWN];
}

bool rf_sweep_found_dead(const struct rf_sweep_counts *counts)
{
	for (int i = RF_SWEEP_OWNER_ALIVE + 1; i < RF_SWEEP_OUTCOMES; i++) {
		if (counts->by[i] > 0)
			return true;
	}
	return false;
}

json_t *rf_sweep_to_json(const struct rf_sweep_counts *counts)
{
	json_t *object = json_object();

	for (int i = 0; i < RF_SWEEP_OUTCOMES; i++)
		json_object_set_new(object, rf_sweep_outcome_name((enum rf_sweep_outcome)i),
			json_integer(counts->by[i]));
	return object;
}
