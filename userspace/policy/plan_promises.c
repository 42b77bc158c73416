/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What will hold each promise on this host. A confining promise that nothing holds refuses the run
 * unless it was waived by name; one that is held in part is reported, and refuses under strict and
 * where it is required. What is only witnessed is reported, and refuses under strict and --require.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "policy/keys.h"
#include "policy/planner.h"

#define BIT(mechanism) (1U << (mechanism))
/* RESOLVE_UNIX: Landlock tells one Unix socket from another. */
#define LANDLOCK_ABI_UNIX 9

static bool has(const struct rf_planner *planner, enum rf_mechanism mechanism)
{
	return planner->facts->mechanisms[mechanism].state == RF_STATE_ENFORCED;
}

static void set(struct rf_effective *effective, enum rf_state state, uint32_t by, const char *why)
{
	effective->state = state;
	effective->by = by;
	snprintf(effective->why, sizeof(effective->why), "%s", why ? why : "");
}

static const char *why_missing(const struct rf_planner *planner, enum rf_mechanism mechanism)
{
	const char *why = planner->facts->mechanisms[mechanism].why;

	return why[0] ? why : "not available on this host";
}

/* ---- Mechanisms ------------------------------------------------------------------------------ */

static void mechanism_from_facts(struct rf_planner *planner, enum rf_mechanism mechanism)
{
	const struct rf_fact *fact = &planner->facts->mechanisms[mechanism];

	set(&planner->plan->mechanisms[mechanism], fact->state, 0, fact->why);
}

static void mechanism_off(struct rf_planner *planner, enum rf_mechanism mechanism, const char *why)
{
	set(&planner->plan->mechanisms[mechanism], RF_STATE_OFF, 0, why);
}

/* Its programs on files are a group of their own: the others stand without them. */
static void say_file_hooks(struct rf_planner *planner)
{
	struct rf_effective *lsm = &planner->plan->mechanisms[RF_MECHANISM_BPF_LSM];
	const struct rf_fact *hooks = &planner->facts->file_hooks;

	if (lsm->state == RF_STATE_ENFORCED && hooks->state != RF_STATE_ENFORCED && hooks->why[0])
		snprintf(lsm->why, sizeof(lsm->why), "not on files: %.230s", hooks->why);
}

static bool asks_for_cgroup_limits(const struct rf_plan *plan)
{
	static const enum rf_limit by_cgroup[] = {RF_LIMIT_MEMORY, RF_LIMIT_PIDS};

	for (size_t i = 0; i < RF_ARRAY_SIZE(by_cgroup); i++) {
		if (plan->limits[by_cgroup[i]].is_set && !plan->limits[by_cgroup[i]].is_none)
			return true;
	}
	return false;
}

/* With posture none bubblewrap is given a filter of ours, and BPF LSM has rules too. */
static bool has_socket_rule(const struct rf_plan *plan)
{
	return plan->is_wrapped && plan->posture == RF_POSTURE_NONE;
}

/* Why nothing is promised. */
static const char *why_open(const struct rf_plan *plan)
{
	return plan->is_wrapped ? "bubblewrap's own command line decides" : "mode full-access";
}

static void set_mechanisms(struct rf_planner *planner)
{
	static const enum rf_mechanism confining[] = {RF_MECHANISM_MOUNT_NAMESPACE,
		RF_MECHANISM_USER_NAMESPACE, RF_MECHANISM_PID_NAMESPACE,
		RF_MECHANISM_NETWORK_NAMESPACE, RF_MECHANISM_LANDLOCK, RF_MECHANISM_SECCOMP,
		RF_MECHANISM_BPF_LSM, RF_MECHANISM_BPF_CGROUP};
	const struct rf_plan *plan = planner->plan;
	bool is_full = plan->mode == RF_MODE_FULL_ACCESS;

	for (size_t i = 0; i < RF_MECHANISMS; i++)
		mechanism_from_facts(planner, (enum rf_mechanism)i);
	say_file_hooks(planner);
	for (size_t i = 0; is_full && i < RF_ARRAY_SIZE(confining); i++) {
		/* Around bubblewrap a rule for sockets is all that there can be. */
		if (!has_socket_rule(plan) || (confining[i] != RF_MECHANISM_SECCOMP &&
						      confining[i] != RF_MECHANISM_BPF_LSM))
			mechanism_off(planner, confining[i], why_open(plan));
	}
	/* Ours, and always there. */
	if (plan->is_wrapped)
		mechanism_off(planner, RF_MECHANISM_LAUNCHER, why_open(plan));
	else
		set(&planner->plan->mechanisms[RF_MECHANISM_LAUNCHER], RF_STATE_ENFORCED, 0, NULL);
	mechanism_off(planner, RF_MECHANISM_RLIMITS, "no limit asks for it");
	mechanism_off(planner, RF_MECHANISM_IO_URING, "a run does not use it");
	if (is_full)
		return;
	if (!plan->has_user_namespace)
		mechanism_off(planner, RF_MECHANISM_USER_NAMESPACE,
			"not needed: the controller has CAP_SYS_ADMIN");
	if (!rf_posture_has_own_network(plan->posture)) {
		char why[64];

		snprintf(why, sizeof(why), "posture %s", rf_posture_name(plan->posture));
		mechanism_off(planner, RF_MECHANISM_NETWORK_NAMESPACE, why);
	}
	if (planner->facts->landlock_abi == 0)
		mechanism_off(planner, RF_MECHANISM_LANDLOCK,
			why_missing(planner, RF_MECHANISM_LANDLOCK));
}

/* ---- Promises -------------------------------------------------------------------------------- */

static void promise(struct rf_planner *planner, enum rf_promise which, enum rf_state state,
	uint32_t by, const char *why)
{
	set(&planner->plan->promises[which], state, by, why);
}

/* Held by whichever of these are there; off, for the reason of the first, when none is. */
static void promise_by(struct rf_planner *planner, enum rf_promise which, uint32_t candidates,
	enum rf_mechanism first)
{
	uint32_t by = 0;

	for (size_t i = 0; i < RF_MECHANISMS; i++) {
		if ((candidates & BIT(i)) &&
			planner->plan->mechanisms[i].state == RF_STATE_ENFORCED)
			by |= BIT(i);
	}
	promise(planner, which, by ? RF_STATE_ENFORCED : RF_STATE_OFF, by,
		by ? NULL : why_missing(planner, first));
}

static uint32_t landlock_bit(const struct rf_planner *planner)
{
	return planner->plan->mechanisms[RF_MECHANISM_LANDLOCK].state != RF_STATE_OFF
		       ? BIT(RF_MECHANISM_LANDLOCK)
		       : 0;
}

/* A login or another registry, planted where the user's own programs look for one. */
static void why_credential(const struct rf_sweep *sweep, char *ret_why, size_t size)
{
	char more[48] = "";

	if (sweep->n_missing_credentials > 1)
		snprintf(more, sizeof(more), " (and %zu more of its kind)",
			sweep->n_missing_credentials - 1);
	snprintf(ret_why, size,
		"credentials that do not exist could be made by the command: %.100s%s",
		sweep->missing_credential, more);
}

/* What git would run or be led by, made where there was nothing to mount over. */
static void why_git(const struct rf_planner *planner, char *ret_why, size_t size)
{
	const struct rf_sweep *sweep = &planner->sweep;
	char more[48] = "";

	if (!sweep->missing_git) {
		snprintf(ret_why, size, "only the first %u writes are looked at for git",
			RF_GIT_WRITES_MAX);
		return;
	}
	if (sweep->n_missing_git > 1)
		snprintf(more, sizeof(more), " (and %zu more)", sweep->n_missing_git - 1);
	snprintf(ret_why, size,
		"git goes by names that the command could make: %.120s%s; --git read closes them",
		sweep->missing_git, more);
}

/* Why the hooks on files are not there to hold it. */
static void why_unheld(const struct rf_planner *planner, char *ret_why, size_t size)
{
	const char *hooks = planner->facts->file_hooks.why;

	snprintf(ret_why, size, "%.100s does not exist, and nothing here can keep it so%s%.90s",
		planner->sweep.unheld, hooks[0] ? ": " : "", hooks);
}

/* Empty where a write-file opens itself alone. */
static void why_opened(const struct rf_planner *planner, char *ret_why, size_t size)
{
	const char *hooks = planner->facts->file_hooks.why;

	ret_why[0] = '\0';
	if (planner->plan->n_write_files && !planner->plan->is_write_file_exact && hooks[0])
		snprintf(ret_why, size, "a write-file opens its directory: %.200s", hooks);
}

static void set_files(struct rf_planner *planner)
{
	const struct rf_sweep *sweep = &planner->sweep;
	const struct rf_plan *plan = planner->plan;
	uint32_t mounts = BIT(RF_MECHANISM_MOUNT_NAMESPACE);
	uint32_t exact =
		plan->n_write_files && plan->is_write_file_exact ? BIT(RF_MECHANISM_BPF_LSM) : 0;
	char why[256];

	promise(planner, RF_PROMISE_FS_READ, RF_STATE_ENFORCED, mounts | landlock_bit(planner),
		NULL);
	why_opened(planner, why, sizeof(why));
	promise(planner, RF_PROMISE_FS_WRITE, RF_STATE_ENFORCED,
		mounts | landlock_bit(planner) | exact, why);
	if (plan->has_file_rules && sweep->has_narrowing) {
		promise(planner, RF_PROMISE_FS_DENY,
			planner->git_why[0] ? RF_STATE_PARTIAL : RF_STATE_ENFORCED,
			mounts | BIT(RF_MECHANISM_BPF_LSM), planner->git_why);
	} else if (sweep->unheld) {
		why_unheld(planner, why, sizeof(why));
		promise(planner, RF_PROMISE_FS_DENY, RF_STATE_OFF, mounts, why);
	} else if (sweep->replaceable) {
		snprintf(why, sizeof(why),
			"%.150s is a symbolic link that the command could replace",
			sweep->replaceable);
		promise(planner, RF_PROMISE_FS_DENY, RF_STATE_PARTIAL, mounts, why);
	} else if (sweep->missing_credential) {
		why_credential(sweep, why, sizeof(why));
		promise(planner, RF_PROMISE_FS_DENY, RF_STATE_PARTIAL, mounts, why);
	} else if (planner->git_why[0]) {
		promise(planner, RF_PROMISE_FS_DENY, RF_STATE_PARTIAL, mounts, planner->git_why);
	} else if (sweep->unwatched) {
		snprintf(why, sizeof(why),
			"%.120s does not exist; made by somebody else, it would be readable",
			sweep->unwatched);
		promise(planner, RF_PROMISE_FS_DENY, RF_STATE_PARTIAL, mounts, why);
	} else if (sweep->missing_git || planner->has_more_writes) {
		why_git(planner, why, sizeof(why));
		promise(planner, RF_PROMISE_FS_DENY, RF_STATE_PARTIAL, mounts, why);
		planner->is_git_usual = true;
	} else if (sweep->has_narrowing) {
		promise(planner, RF_PROMISE_FS_DENY, RF_STATE_ENFORCED, mounts, NULL);
	} else {
		promise(planner, RF_PROMISE_FS_DENY, RF_STATE_ENFORCED, 0, "nothing is denied");
	}
}

/* Where nothing can tell one Unix socket from another, all of them are closed. */
static void set_unix(struct rf_planner *planner)
{
	const struct rf_policy *policy = planner->policy;
	struct rf_plan *plan = planner->plan;
	bool is_asked_closed = policy->unix_sockets == RF_FALSE || plan->posture == RF_POSTURE_NONE;
	bool is_told_apart =
		has(planner, RF_MECHANISM_BPF_LSM) ||
		(landlock_bit(planner) && planner->facts->landlock_abi >= LANDLOCK_ABI_UNIX);

	plan->is_unix_open = !is_asked_closed && is_told_apart;
	if (!is_asked_closed && !is_told_apart && (policy->waive & BIT(RF_PROMISE_UNIX_CONNECT))) {
		plan->is_unix_open = true;
		promise(planner, RF_PROMISE_UNIX_CONNECT, RF_STATE_OFF, 0,
			"neither BPF LSM nor Landlock 9 is there to tell one Unix socket from "
			"another");
		return;
	}
	if (plan->is_unix_open) {
		promise_by(planner, RF_PROMISE_UNIX_CONNECT,
			has(planner, RF_MECHANISM_BPF_LSM) ? BIT(RF_MECHANISM_BPF_LSM)
							   : BIT(RF_MECHANISM_LANDLOCK),
			RF_MECHANISM_BPF_LSM);
		/* Of Landlock in part, its sockets are whole from that ABI on. */
		plan->promises[RF_PROMISE_UNIX_CONNECT].state = RF_STATE_ENFORCED;
		plan->promises[RF_PROMISE_UNIX_CONNECT].why[0] = '\0';
		if (!has(planner, RF_MECHANISM_BPF_LSM))
			plan->promises[RF_PROMISE_UNIX_CONNECT].by = BIT(RF_MECHANISM_LANDLOCK);
		return;
	}
	promise_by(planner, RF_PROMISE_UNIX_CONNECT,
		has(planner, RF_MECHANISM_BPF_LSM) ? BIT(RF_MECHANISM_BPF_LSM)
						   : BIT(RF_MECHANISM_SECCOMP),
		RF_MECHANISM_SECCOMP);
	plan->is_unix_closed_coarsely = !is_asked_closed;
	if (plan->is_unix_closed_coarsely &&
		plan->promises[RF_PROMISE_UNIX_CONNECT].state == RF_STATE_ENFORCED)
		snprintf(plan->promises[RF_PROMISE_UNIX_CONNECT].why,
			sizeof(plan->promises[RF_PROMISE_UNIX_CONNECT].why),
			"AF_UNIX is closed altogether (socketpair excepted): neither BPF LSM nor "
			"Landlock 9 is there to tell one socket from another");
}

/* Packets are judged by the cgroup programs alone, so nothing holds it without them. */
static void set_addresses(struct rf_planner *planner)
{
	uint32_t by = BIT(RF_MECHANISM_BPF_CGROUP);

	if (has(planner, RF_MECHANISM_BPF_CGROUP) && has(planner, RF_MECHANISM_BPF_LSM))
		by |= BIT(RF_MECHANISM_BPF_LSM);
	promise_by(planner, RF_PROMISE_SOCKET_CONNECT, by, RF_MECHANISM_BPF_CGROUP);
}

static void set_sockets(struct rf_planner *planner)
{
	struct rf_plan *plan = planner->plan;
	uint32_t network =
		rf_posture_has_own_network(plan->posture) ? BIT(RF_MECHANISM_NETWORK_NAMESPACE) : 0;

	if (has(planner, RF_MECHANISM_BPF_LSM))
		promise_by(planner, RF_PROMISE_SOCKET_CREATE, BIT(RF_MECHANISM_BPF_LSM),
			RF_MECHANISM_BPF_LSM);
	else
		promise_by(planner, RF_PROMISE_SOCKET_CREATE, BIT(RF_MECHANISM_SECCOMP),
			RF_MECHANISM_SECCOMP);
	if (plan->promises[RF_PROMISE_SOCKET_CREATE].state == RF_STATE_ENFORCED) {
		plan->promises[RF_PROMISE_SOCKET_CREATE].by |= network;
		if (has(planner, RF_MECHANISM_BPF_CGROUP))
			plan->promises[RF_PROMISE_SOCKET_CREATE].by |= BIT(RF_MECHANISM_BPF_CGROUP);
	}
	if (plan->posture == RF_POSTURE_OPEN)
		promise(planner, RF_PROMISE_SOCKET_CONNECT, RF_STATE_ENFORCED, 0,
			"posture open: every address is allowed");
	else if (rf_posture_has_address_rules(plan->posture))
		set_addresses(planner);
	else
		promise_by(planner, RF_PROMISE_SOCKET_CONNECT, network,
			RF_MECHANISM_NETWORK_NAMESPACE);
	set_unix(planner);
	plan->is_io_uring_open = has(planner, RF_MECHANISM_BPF_LSM);
}

static const char *missing_controller(const struct rf_planner *planner)
{
	const struct rf_limit_asked *limits = planner->plan->limits;

	if (limits[RF_LIMIT_MEMORY].is_set && !limits[RF_LIMIT_MEMORY].is_none &&
		!planner->facts->has_memory_controller)
		return "memory";
	if (limits[RF_LIMIT_PIDS].is_set && !limits[RF_LIMIT_PIDS].is_none &&
		!planner->facts->has_pids_controller)
		return "pids";
	return NULL;
}

static void set_limits(struct rf_planner *planner)
{
	const struct rf_limit_asked *timeout = &planner->plan->limits[RF_LIMIT_TIMEOUT];
	const char *controller = missing_controller(planner);
	char why[256];

	if (!asks_for_cgroup_limits(planner->plan)) {
		promise(planner, RF_PROMISE_LIMITS, RF_STATE_ENFORCED, 0,
			timeout->is_set && !timeout->is_none ? "wall time, kept by the controller"
							     : "no limit was asked for");
	} else if (controller) {
		snprintf(why, sizeof(why), "the %s controller is not available: %.180s", controller,
			why_missing(planner, RF_MECHANISM_CGROUP_LIMITS));
		promise(planner, RF_PROMISE_LIMITS, RF_STATE_OFF, 0, why);
	} else {
		promise_by(planner, RF_PROMISE_LIMITS, BIT(RF_MECHANISM_CGROUP_LIMITS),
			RF_MECHANISM_CGROUP_LIMITS);
	}
}

static void set_witness(struct rf_planner *planner)
{
	promise_by(planner, RF_PROMISE_EXEC_AUDIT, BIT(RF_MECHANISM_BPF_TRACE),
		RF_MECHANISM_BPF_TRACE);
	promise_by(planner, RF_PROMISE_PROCESS_TREE, BIT(RF_MECHANISM_BPF_TRACE),
		RF_MECHANISM_BPF_TRACE);
	if (planner->plan->is_wrapped)
		promise(planner, RF_PROMISE_DENIAL_RECORD, RF_STATE_OFF, 0,
			"bubblewrap's filters leave no record");
	else if (planner->plan->mechanisms[RF_MECHANISM_BPF_LSM].state == RF_STATE_ENFORCED)
		promise(planner, RF_PROMISE_DENIAL_RECORD, RF_STATE_PARTIAL,
			BIT(RF_MECHANISM_BPF_LSM), "the refusals of BPF LSM alone");
	else if (rf_posture_has_address_rules(planner->plan->posture) &&
		 has(planner, RF_MECHANISM_BPF_CGROUP))
		promise(planner, RF_PROMISE_DENIAL_RECORD, RF_STATE_PARTIAL,
			BIT(RF_MECHANISM_BPF_CGROUP), "refused addresses alone");
	else
		promise(planner, RF_PROMISE_DENIAL_RECORD, RF_STATE_OFF, 0,
			planner->plan->mode == RF_MODE_FULL_ACCESS
				? "mode full-access"
				: why_missing(planner, RF_MECHANISM_BPF_LSM));
}

/* The filter alone holds them. BPF LSM, which must let bubblewrap set up its loopback, refuses once
 * more what is neither netlink nor a Unix socket of the sandbox's own. */
static void set_wrapped_sockets(struct rf_planner *planner)
{
	static const enum rf_promise held[] = {
		RF_PROMISE_SOCKET_CREATE, RF_PROMISE_SOCKET_CONNECT, RF_PROMISE_UNIX_CONNECT};

	for (size_t i = 0; i < RF_ARRAY_SIZE(held); i++) {
		promise_by(planner, held[i], BIT(RF_MECHANISM_SECCOMP), RF_MECHANISM_SECCOMP);
		if (planner->plan->mechanisms[RF_MECHANISM_BPF_LSM].state == RF_STATE_ENFORCED)
			planner->plan->promises[held[i]].by |= BIT(RF_MECHANISM_BPF_LSM);
	}
}

static void set_promises(struct rf_planner *planner)
{
	bool is_full = planner->plan->mode == RF_MODE_FULL_ACCESS;

	for (size_t i = 0; i < RF_PROMISES; i++)
		promise(planner, (enum rf_promise)i, RF_STATE_OFF, 0,
			planner->plan->is_wrapped ? why_open(planner->plan)
						  : "mode full-access asks for none");
	set_witness(planner);
	set_limits(planner);
	promise_by(planner, RF_PROMISE_REAP,
		BIT(RF_MECHANISM_CGROUP) | BIT(RF_MECHANISM_PID_NAMESPACE), RF_MECHANISM_CGROUP);
	if (has_socket_rule(planner->plan))
		set_wrapped_sockets(planner);
	if (is_full)
		return;
	set_files(planner);
	set_sockets(planner);
	promise(planner, RF_PROMISE_EXEC_GATE, RF_STATE_ENFORCED, 0, "no exec rule");
	promise_by(planner, RF_PROMISE_CAPABILITIES, BIT(RF_MECHANISM_LAUNCHER),
		RF_MECHANISM_LAUNCHER);
	promise_by(
		planner, RF_PROMISE_ENVIRONMENT, BIT(RF_MECHANISM_LAUNCHER), RF_MECHANISM_LAUNCHER);
	promise_by(
		planner, RF_PROMISE_DESCRIPTORS, BIT(RF_MECHANISM_LAUNCHER), RF_MECHANISM_LAUNCHER);
	promise_by(planner, RF_PROMISE_TERMINAL, BIT(RF_MECHANISM_SECCOMP), RF_MECHANISM_SECCOMP);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

/* Without these there is no sandbox at all, and nothing to waive. */
static int check_foundation(struct rf_planner *planner)
{
	const struct rf_facts *facts = planner->facts;
	enum rf_mechanism missing = RF_MECHANISM_MOUNT_NAMESPACE;

	if (facts->bwrap.state != RF_STATE_ENFORCED || !facts->bwrap_path[0]) {
		rf_diag_refuse(planner->diag, "bubblewrap-unusable", "bubblewrap (bwrap): %.200s",
			facts->bwrap.why[0] ? facts->bwrap.why : "not found");
		rf_diag_mechanism(planner->diag, "mount-namespace", "bwrap");
		rf_diag_hint(planner->diag, "%.200s",
			facts->bwrap.remedy[0] ? facts->bwrap.remedy : "install bubblewrap");
		return RF_REFUSED;
	}
	if (!facts->bwrap_has_bind_fd) {
		rf_diag_refuse(planner->diag, "bubblewrap-too-old",
			"bubblewrap %u.%u.%u is too old: it has no --ro-bind-fd",
			facts->bwrap_version[0], facts->bwrap_version[1], facts->bwrap_version[2]);
		rf_diag_mechanism(planner->diag, "mount-namespace", "bwrap --ro-bind-fd");
		rf_diag_hint(
			planner->diag, "install bubblewrap 0.8 with Debian 12's updates, or newer");
		return RF_REFUSED;
	}
	if (has(planner, missing)) {
		missing = RF_MECHANISM_USER_NAMESPACE;
		if (!planner->plan->has_user_namespace || has(planner, missing))
			return 0;
	}
	rf_diag_refuse(planner->diag, "namespace-unavailable", "%s: %.200s",
		rf_mechanism_name(missing), why_missing(planner, missing));
	rf_diag_mechanism(planner->diag, rf_mechanism_name(missing), why_missing(planner, missing));
	rf_diag_hint(planner->diag, "%.250s", facts->mechanisms[missing].remedy);
	return RF_REFUSED;
}

/* The mechanism whose absence leaves the promise unheld. */
static enum rf_mechanism lacking(enum rf_promise which)
{
	switch (which) {
	case RF_PROMISE_FS_READ:
	case RF_PROMISE_FS_WRITE:
		return RF_MECHANISM_MOUNT_NAMESPACE;
	case RF_PROMISE_FS_DENY:
	case RF_PROMISE_UNIX_CONNECT:
	case RF_PROMISE_EXEC_GATE:
	case RF_PROMISE_DENIAL_RECORD:
		return RF_MECHANISM_BPF_LSM;
	case RF_PROMISE_SOCKET_CREATE:
	case RF_PROMISE_TERMINAL:
		return RF_MECHANISM_SECCOMP;
	case RF_PROMISE_SOCKET_CONNECT:
		return RF_MECHANISM_NETWORK_NAMESPACE;
	case RF_PROMISE_EXEC_AUDIT:
	case RF_PROMISE_PROCESS_TREE:
		return RF_MECHANISM_BPF_TRACE;
	case RF_PROMISE_REAP:
		return RF_MECHANISM_CGROUP;
	case RF_PROMISE_LIMITS:
		return RF_MECHANISM_CGROUP_LIMITS;
	case RF_PROMISE_CAPABILITIES:
	case RF_PROMISE_ENVIRONMENT:
	case RF_PROMISE_DESCRIPTORS:
		return RF_MECHANISM_LAUNCHER;
	case RF_PROMISES:
		break;
	}
	return RF_MECHANISM_LAUNCHER;
}

/* Of the options that a hint names. */
static const char *prefix(const struct rf_planner *planner)
{
	return planner->plan->is_wrapped ? "rf-" : "";
}

static void hint_limits(struct rf_planner *planner)
{
	const char *remedy = planner->facts->mechanisms[RF_MECHANISM_CGROUP_LIMITS].remedy;

	if (planner->facts->uid != 0)
		rf_diag_hint(planner->diag, "%.250s, or --%swaive limits",
			remedy[0]
				? remedy
				: "systemd-run --user --scope -p Delegate=yes …, or run it as root",
			prefix(planner));
	else
		rf_diag_hint(planner->diag, "%.250s, or --%swaive limits",
			remedy[0] ? remedy : "delegate the controllers in cgroup2",
			prefix(planner));
}

static int refuse_promise(struct rf_planner *planner, enum rf_promise which)
{
	const struct rf_effective *effective = &planner->plan->promises[which];
	const char *name = rf_promise_name(which);
	const char *mechanism = rf_mechanism_name(
		which == RF_PROMISE_SOCKET_CONNECT &&
				rf_posture_has_address_rules(planner->plan->posture)
			? RF_MECHANISM_BPF_CGROUP
			: lacking(which));
	bool is_unheld = which == RF_PROMISE_FS_DENY && planner->sweep.unheld &&
			 !planner->plan->has_file_rules;
	const char *controller = missing_controller(planner);
	const char *code = "promise-unheld";
	char missing[64];

	if (is_unheld)
		code = "deny-missing-unheld";
	if (which == RF_PROMISE_LIMITS)
		code = "limit-unavailable";
	rf_diag_refuse(planner->diag, code, "%s cannot be held here: %s", name, effective->why);
	snprintf(missing, sizeof(missing), "%s", controller ? controller : mechanism);
	if (which == RF_PROMISE_LIMITS && controller)
		snprintf(missing, sizeof(missing), "%s controller", controller);
	rf_diag_mechanism(
		planner->diag, mechanism, which == RF_PROMISE_LIMITS ? missing : effective->why);
	rf_diag_promise(planner->diag, name);
	if (is_unheld)
		rf_diag_path(planner->diag, planner->sweep.unheld);
	if (which == RF_PROMISE_LIMITS)
		hint_limits(planner);
	else if (planner->plan->required & BIT(which))
		rf_diag_hint(
			planner->diag, "it was required by --%srequire %s", prefix(planner), name);
	else if (planner->plan->is_strict)
		rf_diag_hint(planner->diag, "strict needs it whole; --%swaive %s accepts that",
			prefix(planner), name);
	else
		rf_diag_hint(planner->diag, "--%swaive %s accepts that", prefix(planner), name);
	return RF_REFUSED;
}

/* What is promised where nothing is confined. Bubblewrap runs without a cgroup as well. */
static bool is_promised_open(const struct rf_plan *plan, enum rf_promise which)
{
	switch (which) {
	case RF_PROMISE_REAP:
		return !plan->is_wrapped;
	case RF_PROMISE_LIMITS:
		return true;
	case RF_PROMISE_SOCKET_CREATE:
	case RF_PROMISE_SOCKET_CONNECT:
	case RF_PROMISE_UNIX_CONNECT:
		return has_socket_rule(plan);
	case RF_PROMISE_FS_READ:
	case RF_PROMISE_FS_WRITE:
	case RF_PROMISE_FS_DENY:
	case RF_PROMISE_EXEC_GATE:
	case RF_PROMISE_EXEC_AUDIT:
	case RF_PROMISE_PROCESS_TREE:
	case RF_PROMISE_DENIAL_RECORD:
	case RF_PROMISE_CAPABILITIES:
	case RF_PROMISE_ENVIRONMENT:
	case RF_PROMISE_DESCRIPTORS:
	case RF_PROMISE_TERMINAL:
	case RF_PROMISES:
		break;
	}
	return false;
}

static int check_promise(struct rf_planner *planner, enum rf_promise which)
{
	struct rf_plan *plan = planner->plan;
	const struct rf_effective *effective = &plan->promises[which];
	bool is_required = plan->required & BIT(which);
	bool is_full = plan->mode == RF_MODE_FULL_ACCESS;

	if (effective->state == RF_STATE_ENFORCED)
		return 0;
	/* Required beats waived: what nothing runs without is never given up. */
	if (is_required)
		return refuse_promise(planner, which);
	if (planner->policy->waive & BIT(which)) {
		plan->waived |= BIT(which);
		return rf_strv_addf(&plan->warnings, "waived: %s is %s here: %s",
			rf_promise_name(which),
			effective->state == RF_STATE_OFF ? "not held" : "held in part",
			effective->why);
	}
	if (rf_promise_is_witness(which)) {
		/* The refusals of BPF LSM are what this version records: as whole as it gets. */
		bool is_best =
			which == RF_PROMISE_DENIAL_RECORD && effective->state == RF_STATE_PARTIAL;

		return plan->is_strict && !is_best ? refuse_promise(planner, which) : 0;
	}
	if (is_full && !is_promised_open(plan, which))
		return 0;
	if (effective->state == RF_STATE_PARTIAL && !plan->is_strict) {
		/* Said at every run in any repository, nobody would read it. */
		bool is_usual = which == RF_PROMISE_FS_DENY && planner->is_git_usual;

		return rf_strv_addf(is_usual ? &plan->details : &plan->warnings,
			"%s is held in part: %s", rf_promise_name(which), effective->why);
	}
	return refuse_promise(planner, which);
}

int rf_planner_promises(struct rf_planner *planner)
{
	int r = planner->plan->mode == RF_MODE_FULL_ACCESS ? 0 : check_foundation(planner);

	if (r)
		return r;
	set_mechanisms(planner);
	set_promises(planner);
	for (size_t i = 0; i < RF_PROMISES; i++) {
		r = check_promise(planner, (enum rf_promise)i);
		if (r)
			return r;
	}
	if (planner->plan->mode == RF_MODE_FULL_ACCESS &&
		(planner->policy->read.count || planner->policy->write.count ||
			planner->policy->write_files.count ||
			planner->policy->external_read.count || planner->policy->device.count))
		return rf_planner_warn(planner,
			"mode full-access confines nothing; reads, writes and devices add nothing");
	return 0;
}
