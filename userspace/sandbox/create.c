/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/tree.h"
#include "base/fd.h"
#include "base/json.h"
#include "sandbox/sandbox.h"

static int make_id(char ret_id[RF_ID_TEXT_BYTES])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(ret_id, RF_ID_TEXT_BYTES, "%016" PRIx64, random);
	return 0;
}

static int refuse_setup(struct rf_diag *diag, const char *what, int error)
{
	int r = rf_diag_refuse(diag, "setup-failed", "%s: %s", what, strerror(error));

	snprintf(diag->stage, sizeof(diag->stage), "setup");
	return r;
}

/* The record comes first: a leaf that exists without one could never be swept. */
static int make_leaf(struct rf_sandbox *sandbox, struct rf_diag *diag)
{
	struct rf_controller *controller = sandbox->controller;
	struct rf_cgroup_host *host = controller->cgroups;
	struct rf_ledger_record record = {.owner = controller->self, .uid = sandbox->uid};
	bool has_cgroup = host->base_fd >= 0;
	int r;

	snprintf(record.id, sizeof(record.id), "%s", sandbox->id);
	if (has_cgroup) {
		snprintf(record.base_path, sizeof(record.base_path), "%s", host->base_path);
		snprintf(record.leaf, sizeof(record.leaf), "%s%s", host->leaf_prefix, sandbox->id);
	}
	r = rf_ledger_add(controller->ledger, &record);
	if (r < 0)
		return refuse_setup(diag, "writing the ledger", -r);
	sandbox->is_recorded = true;
	if (!has_cgroup)
		return 0;
	r = rf_cgroup_create(host, sandbox->id, &sandbox->cgroup);
	if (r < 0)
		return refuse_setup(diag, "making the sandbox's cgroup", -r);
	r = rf_ledger_set_cgroup(controller->ledger, sandbox->id, sandbox->cgroup->id);
	return r < 0 ? refuse_setup(diag, "writing the ledger", -r) : 0;
}

static void make_rules(const struct rf_sandbox *sandbox, struct rf_bpf_rules *ret_rules)
{
	const struct rf_plan *plan = sandbox->plan;
	struct rf_bpf_rules rules = {
		.sockets = RF_BPF_SOCKETS_LISTED,
		.is_unix_open = plan->is_unix_open,
		.is_inet_open = true,
		.is_unfollowed = !sandbox->watcher.wants_events && !sandbox->controller->sandboxes,
	};

	if (plan->is_wrapped && plan->posture == RF_POSTURE_NONE) {
		/* Armed before bubblewrap starts, which sets its loopback up by netlink and asks a
		 * Unix socket for the interface; the filter that it installs last closes both. */
		rules.is_inet_open = false;
		rules.is_unix_open = true;
	} else if (plan->mode == RF_MODE_FULL_ACCESS) {
		rules.sockets = RF_BPF_SOCKETS_ALL;
		rules.is_unix_foreign_open = true;
	} else if (plan->posture == RF_POSTURE_NONE) {
		rules.sockets = RF_BPF_SOCKETS_NONE;
	}
	if (plan->posture == RF_POSTURE_HOST_LOOPBACK)
		rules.egress = RF_BPF_EGRESS_LOOPBACK;
	if (plan->posture == RF_POSTURE_ALLOW) {
		rules.egress = RF_BPF_EGRESS_RULES;
		rules.destinations = plan->allow;
		rules.n_destinations = plan->n_allow;
	}
	for (size_t i = 0; i < plan->n_families && i < RF_ARRAY_SIZE(rules.families); i++)
		rules.families[rules.n_families++] = plan->families[i];
	*ret_rules = rules;
}

/*
 * From now on the ring is shared: a record that woke nobody would keep those behind it from waking
 * anybody. What has come so is read at once.
 */
static void follow_others(struct rf_controller *controller)
{
	for (struct rf_sandbox *at = controller->sandboxes; at; at = at->next)
		if (at->is_in_bpf)
			(void)rf_bpf_sandbox_follow(controller->bpf, at->cgroup->id);
	rf_controller_drain(controller);
}

static int refuse_destinations(const struct rf_bpf_rules *rules, struct rf_diag *diag)
{
	int r = refuse_setup(diag, "writing the sandbox's rules to the kernel", E2BIG);

	rf_diag_hint(diag,
		"%zu destinations: name fewer, or prefixes; a range of ports counts "
		"up to 30 times",
		rules->n_destinations);
	return r;
}

static int add_rules(struct rf_sandbox *sandbox, struct rf_diag *diag)
{
	struct rf_bpf_rules rules;
	int r;

	if (!sandbox->controller->bpf || !sandbox->cgroup)
		return 0;
	if (sandbox->controller->sandboxes)
		follow_others(sandbox->controller);
	make_rules(sandbox, &rules);
	r = rf_bpf_sandbox_add(sandbox->controller->bpf, sandbox->cgroup->id, &rules);
	if (r == -E2BIG && rules.n_destinations > 0)
		return refuse_destinations(&rules, diag);
	if (r < 0)
		return refuse_setup(diag, "writing the sandbox's rules to the kernel", -r);
	sandbox->is_in_bpf = true;
	return 0;
}

/* The map is shared by all sandboxes of the host: full, it refuses the next run. */
static int refuse_file_rules(struct rf_diag *diag, int error)
{
	int r = refuse_setup(diag, "writing the file rules to the kernel", error);

	if (error == E2BIG)
		rf_diag_hint(diag, "the host's sandboxes have too many; end some");
	return r;
}

static int add_file_rules(struct rf_sandbox *sandbox, struct rf_diag *diag)
{
	struct rf_plan *plan = sandbox->plan;
	int r;

	if (plan->n_places == 0)
		return 0;
	/* The plan counts on them. */
	if (!sandbox->is_in_bpf)
		return refuse_file_rules(diag, ENODEV);
	r = rf_plan_open_places(plan);
	for (size_t i = 0; r == 0 && i < plan->n_places; i++)
		r = rf_bpf_sandbox_add_place(sandbox->controller->bpf, sandbox->cgroup->id,
			plan->places[i].fd, plan->places[i].flags, &plan->places[i].token);
	for (size_t i = 0; r == 0 && i < plan->n_names; i++)
		r = rf_bpf_sandbox_add_name(sandbox->controller->bpf, sandbox->cgroup->id,
			plan->places[plan->names[i].place].token, plan->names[i].name,
			plan->names[i].flags);
	return r < 0 ? refuse_file_rules(diag, -r) : 0;
}

/*
 * Directories that a write names and that do not exist yet, made below the pinned root without
 * following anything. They stay, as they would after mkdir by the command itself.
 */
static int make_write_directories(struct rf_sandbox *sandbox, struct rf_diag *diag)
{
	int r = rf_plan_make_directories(sandbox->plan, &sandbox->made, diag);

	if (r == RF_REFUSED)
		snprintf(diag->stage, sizeof(diag->stage), "setup");
	return r;
}

int rf_sandbox_create(struct rf_controller *controller, struct rf_plan *plan_taken, uid_t uid,
	const struct rf_sandbox_watcher *watcher, struct rf_sandbox **ret_sandbox,
	struct rf_diag *diag)
{
	struct rf_sandbox *sandbox = calloc(1, sizeof(*sandbox));
	int r;

	if (!sandbox) {
		rf_plan_free(plan_taken);
		return -ENOMEM;
	}
	sandbox->plan = plan_taken;
	sandbox->controller = controller;
	sandbox->uid = uid;
	sandbox->stage = RF_STAGE_SETUP;
	sandbox->keeper_pidfd = sandbox->control_fd = sandbox->setup_stderr_fd =
		sandbox->first_pidfd = -1;
	if (watcher)
		sandbox->watcher = *watcher;
	sandbox->denials = json_array();
	r = make_id(sandbox->id);
	if (r == 0)
		r = rf_tree_new(&sandbox->tree);
	if (r == 0)
		r = make_write_directories(sandbox, diag);
	if (r == 0)
		r = make_leaf(sandbox, diag);
	if (r == 0)
		r = add_rules(sandbox, diag);
	if (r == 0)
		r = add_file_rules(sandbox, diag);
	if (r != 0) {
		rf_sandbox_free(sandbox);
		return r;
	}
	sandbox->next = controller->sandboxes;
	controller->sandboxes = sandbox;
	*ret_sandbox = sandbox;
	return 0;
}

static void unlist(struct rf_sandbox *sandbox)
{
	struct rf_sandbox **at = &sandbox->controller->sandboxes;

	while (*at && *at != sandbox)
		at = &(*at)->next;
	if (*at)
		*at = sandbox->next;
}

/*
 * The kernel's entries go with the leaf; the record goes last and only when the leaf is gone, so
 * that what could not be removed is found by the next sweep.
 */
void rf_sandbox_remove_traces(struct rf_sandbox *sandbox)
{
	struct rf_controller *controller = sandbox->controller;
	bool is_gone = !sandbox->was_never_empty;

	if (sandbox->stage_directory)
		(void)rmdir(sandbox->stage_directory);
	/* Nothing ran: nothing of ours stays in the user's tree. */
	if (sandbox->stage <= RF_STAGE_SETUP)
		rf_plan_unmake_directories(sandbox->plan, &sandbox->made);
	if (sandbox->cgroup && is_gone)
		is_gone = rf_cgroup_remove(sandbox->cgroup) == 0;
	if (sandbox->cgroup && sandbox->is_in_bpf && is_gone)
		(void)rf_bpf_sandbox_remove(controller->bpf, sandbox->cgroup->id);
	if (sandbox->is_recorded && is_gone)
		(void)rf_ledger_close(controller->ledger, sandbox->id);
	sandbox->is_recorded = sandbox->is_in_bpf = false;
	sandbox->cgroup = rf_cgroup_free(sandbox->cgroup);
}

struct rf_sandbox *rf_sandbox_free(struct rf_sandbox *sandbox)
{
	if (!sandbox)
		return NULL;
	sd_event_source_disable_unref(sandbox->control_source);
	sd_event_source_disable_unref(sandbox->stderr_source);
	sd_event_source_disable_unref(sandbox->keeper_source);
	sd_event_source_disable_unref(sandbox->timeout_source);
	sd_event_source_disable_unref(sandbox->grace_source);
	sd_event_source_disable_unref(sandbox->empty_source);
	/* End of file tells the keeper that it is no longer needed. */
	sandbox->control_fd = rf_close(sandbox->control_fd);
	rf_sandbox_remove_traces(sandbox);
	unlist(sandbox);
	rf_cgroup_free(sandbox->cgroup);
	rf_close(sandbox->keeper_pidfd);
	rf_close(sandbox->setup_stderr_fd);
	rf_close(sandbox->first_pidfd);
	rf_tree_free(sandbox->tree);
	json_decref(sandbox->denials);
	free(sandbox->stage_directory);
	rf_strv_clear(&sandbox->made);
	rf_plan_free(sandbox->plan);
	free(sandbox);
	return NULL;
}
