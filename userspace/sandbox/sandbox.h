/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One confined run, from its plan to its result.
 *
 *	create    cgroup leaf, ledger record, rules in the kernel (state: setup)
 *	start     keeper, first process in the leaf, label, bubblewrap, launcher
 *	supervise the launcher asks; limits are set, rules armed, "go"; then events until the end
 *	stop      TERM, grace, cgroup.kill, empty, ledger closed
 *	result    one object
 *
 * Invariants, named in the tests:
 *	I1  Nothing of the command runs before the rules are armed (GO is sent after rf_bpf_arm).
 *	I2  Nothing at all runs in the leaf before it is recorded in the ledger and labelled.
 *	I3  A result other than `lost` is made only after the cgroup was seen empty.
 *	I4  Why a run was stopped is recorded before its first signal is sent.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/diag.h"
#include "enforce/bpf.h"
#include "policy/plan.h"
#include "sandbox/controller.h"

struct rf_event;
struct rf_tree;

enum rf_sandbox_state {
	RF_SANDBOX_SETUP,    /* until GO */
	RF_SANDBOX_RUNNING,  /* GO was sent */
	RF_SANDBOX_STOPPING, /* TERM was sent, the grace runs */
	RF_SANDBOX_EMPTYING, /* killed or ended; waits for the cgroup to be empty */
	RF_SANDBOX_ENDED,
};

enum rf_reason {
	RF_REASON_NONE,
	RF_REASON_EXIT,
	RF_REASON_SIGNAL,
	RF_REASON_TIMEOUT,
	RF_REASON_OOM,
	RF_REASON_ABORT,
	RF_REASON_SETUP,
	RF_REASON_LOST,
};

enum rf_stage { RF_STAGE_PLAN, RF_STAGE_SETUP, RF_STAGE_EXEC, RF_STAGE_EXIT };

const char *rf_sandbox_state_name(enum rf_sandbox_state state);
const char *rf_reason_name(enum rf_reason reason);
const char *rf_stage_name(enum rf_stage stage);

/* What the caller's process gives to the command. Descriptors are borrowed until start returns. */
struct rf_sandbox_props {
	int stdio[3]; /* -1: closed */
	/* They are one socket, and the command gets a terminal of its own. */
	bool has_terminal;
	/* In the order of plan->pass_fds. */
	const int *pass_fds;
	uint64_t ignored_signals;
	unsigned int umask;
	struct rlimit nofile;
	/* pidfd of the client that must live; -1: none. */
	int client_pidfd;
	uid_t uid;
};

/* Called from the event loop. Objects are borrowed. */
struct rf_sandbox_watcher {
	void (*started)(struct rf_sandbox *sandbox, void *userdata);
	void (*event)(struct rf_sandbox *sandbox, json_t *event, void *userdata);
	/* One line for people. */
	void (*notice)(struct rf_sandbox *sandbox, const char *text, void *userdata);
	/* The last one; the sandbox may be freed by it. */
	void (*ended)(struct rf_sandbox *sandbox, json_t *result, void *userdata);
	void *userdata;
	bool wants_events;
};

struct rf_sandbox {
	struct rf_sandbox *next;
	struct rf_controller *controller;
	struct rf_plan *plan; /* owned */
	struct rf_sandbox_watcher watcher;
	char id[RF_ID_TEXT_BYTES];
	uid_t uid;
	enum rf_sandbox_state state;
	enum rf_stage stage;
	/* Our own act, recorded before the first signal (I4). */
	enum rf_reason stop_reason;
	bool is_frozen;
	bool is_recorded;
	bool is_in_bpf;
	bool has_usage;

	struct rf_cgroup *cgroup; /* NULL: none */
	char *stage_directory;
	/* Directories of the workspace that this run made; removed again when nothing ran. */
	struct rf_strv made;

	int keeper_pidfd;
	int control_fd;
	int setup_stderr_fd;
	int first_pidfd;
	pid_t first_pid;
	pid_t launcher_pid;
	bool has_first_exited;
	bool has_keeper_exited;

	/* As told by the launcher. */
	bool has_status;
	int status;
	int exec_error; /* 126, 127 or 0 */
	unsigned int stragglers;
	unsigned int landlock_abi;
	char setup_message[2048];

	struct rf_diag diag; /* a refusal found while setting up */
	uint64_t started_realtime_ns;
	uint64_t started_ns;
	uint64_t ended_ns;
	uint64_t empty_deadline_ns;
	bool was_never_empty;
	struct rf_cgroup_usage usage;
	struct rf_bpf_counts counts;
	struct rf_tree *tree;
	json_t *denials;
	bool has_hit[RF_LIMITS];

	sd_event_source *control_source;
	sd_event_source *stderr_source;
	sd_event_source *keeper_source;
	sd_event_source *timeout_source;
	sd_event_source *grace_source;
	sd_event_source *empty_source;
};

/*
 * Takes the plan. On success the sandbox is in the controller's list, its leaf exists, is recorded,
 * and its rules are in the kernel in state setup. 0, RF_REFUSED, -errno; then nothing is left.
 */
int rf_sandbox_create(struct rf_controller *controller, struct rf_plan *plan_taken, uid_t uid,
	const struct rf_sandbox_watcher *watcher, struct rf_sandbox **ret_sandbox,
	struct rf_diag *diag);
/* Starts the keeper. Everything else is told through the watcher. 0, RF_REFUSED, -errno. */
int rf_sandbox_start(
	struct rf_sandbox *sandbox, const struct rf_sandbox_props *props, struct rf_diag *diag);
/*
 * The same for a plan that is_wrapped: the client made the first process in the leaf , and it waits
 * for the watcher's `started` (its label must be set before it executes anything). Both pidfds are
 * borrowed. The client reaps it and says how it ended (a wait status): rf_sandbox_wrap_ended.
 */
int rf_sandbox_wrap(
	struct rf_sandbox *sandbox, int first_pidfd, int client_pidfd, struct rf_diag *diag);
void rf_sandbox_wrap_ended(struct rf_sandbox *sandbox, int status);
/*
 * TERM to the members, then the kill after grace_ms; 0 kills at once. The first accepted stop wins.
 */
void rf_sandbox_stop(struct rf_sandbox *sandbox, enum rf_reason reason, uint64_t grace_ms);
/* Hands a signal to the command or its process group. 0 or -errno. */
int rf_sandbox_signal(struct rf_sandbox *sandbox, int signal, bool is_group);
int rf_sandbox_freeze(struct rf_sandbox *sandbox, bool is_frozen);
/* One record of the ring that names this sandbox. */
void rf_sandbox_record(struct rf_sandbox *sandbox, const struct rf_event *event);
/* Only in state ENDED, or before start. Takes NULL, returns NULL. */
struct rf_sandbox *rf_sandbox_free(struct rf_sandbox *sandbox);

/* ---- between the files of this module ------------------------------------------------------- */

/* start.c */
int rf_sandbox_send(struct rf_sandbox *sandbox, uint32_t kind, int value, int extra);
/* spec.c: sealed memfds (base/launch.h), or -errno. */
int rf_spec_keeper(const struct rf_sandbox *sandbox, unsigned int n_fds_end);
int rf_spec_sandbox(const struct rf_sandbox *sandbox, const struct rf_sandbox_props *props,
	unsigned int first_pass_fd, struct rf_diag *diag);
/* supervise.c */
int rf_sandbox_supervise(struct rf_sandbox *sandbox);
/* Labelled and watched: limits, arm, `started`. */
void rf_sandbox_ready(struct rf_sandbox *sandbox);
/* wrap.c */
/* The client's child, born in the leaf, as first process; any other is refused (-EPERM). */
int rf_sandbox_wrap_take(struct rf_sandbox *sandbox, int first_pidfd, int client_pidfd);
void rf_sandbox_wrap_first_exited(struct rf_sandbox *sandbox);
/* stop.c */
void rf_sandbox_kill(struct rf_sandbox *sandbox);
void rf_sandbox_await_empty(struct rf_sandbox *sandbox);
/* result.c */
void rf_sandbox_finish(struct rf_sandbox *sandbox);
/* --keep-background: the command ended, its result is told, the rest lives on unwatched. */
void rf_sandbox_let_go(struct rf_sandbox *sandbox);
void rf_sandbox_remove_traces(struct rf_sandbox *sandbox); /* create.c */
void rf_result_note_denial(json_t *denials, const json_t *event);
json_t *rf_sandbox_result(const struct rf_sandbox *sandbox);
/* The result of a run that was refused before there was a sandbox. */
json_t *rf_refusal_result(const struct rf_diag *diag, const char *const *argv,
	const struct rf_plan *plan, const struct rf_facts *facts);
