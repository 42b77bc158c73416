/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What all sandboxes of one controller share: the event loop, the host's facts, the cgroup base,
 * the BPF set and the ledger. Acquired once, before the first plan; given back at the end.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <systemd/sd-event.h>

#include "base/diag.h"
#include "enforce/bpf.h"
#include "enforce/cgroup.h"
#include "policy/facts.h"
#include "sandbox/ledger.h"
#include "sandbox/sweep.h"

struct rf_sandbox;

struct rf_controller {
	sd_event *event;
	struct rf_facts facts;
	struct rf_cgroup_host *cgroups;
	struct rf_bpf *bpf;
	sd_event_source *bpf_source;
	struct rf_ledger *ledger;
	struct rf_owner self;
	char *runtime;
	int bwrap_fd;
	int launcher_fd;
	/* What the controller was started with, before it raised its own. */
	struct rlimit nofile;
	/* Living sandboxes, newest first. */
	struct rf_sandbox *sandboxes;
	struct rf_sweep_counts swept;
	/* Told of every end, watched or not, before the watcher; the sandbox is freed by it, later.
	 */
	void (*ended)(struct rf_sandbox *sandbox, json_t *result, void *userdata);
	void *userdata;
};

/* Takes a reference of event. Cheap facts only. 0, RF_REFUSED, -errno. */
int rf_controller_new(sd_event *event, struct rf_controller **ret_controller, struct rf_diag *diag);
/*
 * cgroup base and BPF set: after it facts are complete, which is all that a plan needs. 0,
 * RF_REFUSED, -errno. Done once; later calls return 0 at once.
 */
int rf_controller_complete_facts(struct rf_controller *controller, struct rf_diag *diag);
/* The same, then the ledger, and a sweep of what dead controllers left. */
int rf_controller_prepare(struct rf_controller *controller, struct rf_diag *diag);
/* Gives everything back; no sandbox may live. Takes NULL, returns NULL. */
struct rf_controller *rf_controller_free(struct rf_controller *controller);

/* By id or a unique prefix of at least 4 characters; NULL: none or several. Borrowed. */
struct rf_sandbox *rf_controller_find(struct rf_controller *controller, const char *id);
/* Reads every record that waits in the ring, and gives each to its sandbox. */
void rf_controller_drain(struct rf_controller *controller);
