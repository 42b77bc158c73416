/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox/controller.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/events.h"
#include "base/fd.h"
#include "base/place.h"
#include "host/doctor.h"
#include "sandbox/sandbox.h"

static void free_p(struct rf_controller **controller)
{
	rf_controller_free(*controller);
}

/* Bind sources are held open while a sandbox starts: as many as the hard limit allows. */
static int raise_nofile(struct rf_controller *controller)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &controller->nofile) < 0)
		return -errno;
	limit = controller->nofile;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}

/* A helper that others could change is not ours: owned by root or the caller, no link, a file. */
static int open_helper(const char *path, uid_t uid, int *ret_fd, struct rf_diag *diag)
{
	int fd rf_autoclose = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int r;

	if (!path[0])
		r = rf_diag_refuse(diag, "helper-missing", "ringfence-launch is missing");
	else if (fd < 0 || fstat(fd, &st) < 0)
		r = rf_diag_refuse(diag, "helper-missing", "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != uid) || (st.st_mode & 022))
		r = rf_diag_refuse(diag, "untrusted-helper",
			"%s is not a regular file that only root or the caller can change", path);
	else {
		*ret_fd = RF_TAKE_FD(fd);
		return 0;
	}
	rf_diag_path(diag, path);
	rf_diag_hint(diag, "install Ringfence and bubblewrap from packages");
	return r;
}

int rf_controller_new(sd_event *event, struct rf_controller **ret_controller, struct rf_diag *diag)
{
	struct rf_controller *controller rf_cleanup(free_p) = calloc(1, sizeof(*controller));
	int r;

	if (!controller)
		return -ENOMEM;
	controller->event = sd_event_ref(event);
	controller->bwrap_fd = controller->launcher_fd = -1;
	r = raise_nofile(controller);
	if (r == 0)
		r = rf_owner_self(&controller->self);
	if (r < 0)
		return r;
	r = rf_facts_find(&controller->facts, diag);
	if (r != 0)
		return r;
	r = rf_place_runtime(geteuid(), &controller->runtime, diag);
	if (r != 0)
		return r;
	*ret_controller = RF_TAKE(controller);
	return 0;
}

static int open_programs(struct rf_controller *controller, struct rf_diag *diag)
{
	struct rf_facts *facts = &controller->facts;
	int r = open_helper(facts->launcher_path, facts->uid, &controller->launcher_fd, diag);

	if (r != 0 || !facts->bwrap_path[0])
		return r;
	return open_helper(facts->bwrap_path, facts->uid, &controller->bwrap_fd, diag);
}

static int on_bpf_events(sd_event_source *source rf_unused, int fd rf_unused,
	uint32_t revents rf_unused, void *userdata)
{
	rf_controller_drain(userdata);
	return 0;
}

static int acquire_bpf(struct rf_controller *controller, struct rf_diag *diag)
{
	struct rf_cgroup_host *host = controller->cgroups;
	int r = rf_bpf_acquire(controller->runtime, host->base_fd, host->base_id,
		controller->facts.mechanisms, &controller->facts.file_hooks, &controller->bpf,
		diag);

	if (r != 0 || !controller->bpf)
		return r;
	r = sd_event_add_io(controller->event, &controller->bpf_source,
		rf_bpf_events_fd(controller->bpf), EPOLLIN, on_bpf_events, controller);
	return r < 0 ? r : 0;
}

static int open_ledger(struct rf_controller *controller, struct rf_diag *diag)
{
	char *directory rf_autofree = NULL;
	int r = rf_place_state(geteuid(), controller->facts.home, &directory, diag);

	if (r != 0)
		return r;
	return rf_ledger_open(directory, &controller->ledger, diag);
}

int rf_controller_complete_facts(struct rf_controller *controller, struct rf_diag *diag)
{
	int r;

	if (controller->cgroups)
		return 0;
	r = open_programs(controller, diag);
	if (r == 0)
		r = rf_cgroup_host_find(&controller->facts, &controller->cgroups);
	return r != 0 ? r : acquire_bpf(controller, diag);
}

int rf_controller_prepare(struct rf_controller *controller, struct rf_diag *diag)
{
	int r;

	if (controller->ledger)
		return 0;
	r = rf_controller_complete_facts(controller, diag);
	if (r == 0)
		r = open_ledger(controller, diag);
	if (r != 0)
		return r;
	return rf_sweep(controller, &controller->swept);
}

struct rf_controller *rf_controller_free(struct rf_controller *controller)
{
	if (!controller)
		return NULL;
	while (controller->sandboxes)
		rf_sandbox_free(controller->sandboxes);
	sd_event_source_disable_unref(controller->bpf_source);
	rf_bpf_release(controller->bpf);
	rf_cgroup_host_free(controller->cgroups);
	rf_ledger_free(controller->ledger);
	rf_close(controller->bwrap_fd);
	rf_close(controller->launcher_fd);
	sd_event_unref(controller->event);
	free(controller->runtime);
	free(controller);
	return NULL;
}

#define ID_PREFIX_MIN 4U

struct rf_sandbox *rf_controller_find(struct rf_controller *controller, const char *id)
{
	struct rf_sandbox *found = NULL;
	size_t length = strlen(id);

	if (length < ID_PREFIX_MIN)
		return NULL;
	for (struct rf_sandbox *at = controller->sandboxes; at; at = at->next) {
		if (strncmp(at->id, id, length) != 0)
			continue;
		if (found)
			return NULL;
		found = at;
	}
	return found;
}

static void on_record(const void *record, size_t size_bytes, void *userdata)
{
	struct rf_controller *controller = userdata;
	struct rf_event event;

	if (rf_event_decode(record, size_bytes, &event) < 0)
		return;
	for (struct rf_sandbox *at = controller->sandboxes; at; at = at->next) {
		if (at->cgroup && at->cgroup->id == event.header->sandbox) {
			rf_sandbox_record(at, &event);
			return;
		}
	}
}

void rf_controller_drain(struct rf_controller *controller)
{
	if (controller->bpf)
		(void)rf_bpf_events_consume(controller->bpf, on_record, controller);
}
