/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * All checks at once: each child has its own deadline, so the whole takes as long as the slowest
 * one and a hanging one costs RF_DOCTOR_DEADLINE_MS together with every other that hangs.
 */

#include "host/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/json.h"
#include "base/limits.h"
#include "host/check.h"

static const struct {
	const char *name;
	rf_probe_fn function;
} doctor_checks[] = {
	{"mount-namespace", rf_check_mount_namespace},
	{"user-namespace", rf_check_user_namespace},
	{"pid-namespace", rf_check_pid_namespace},
	{"network-namespace", rf_check_network_namespace},
	{"bubblewrap", rf_check_bubblewrap},
	{"launcher", rf_check_launcher},
	{"landlock", rf_check_landlock},
	{"seccomp", rf_check_seccomp},
	{"rlimits", rf_check_rlimits},
	{"io-uring", rf_check_io_uring},
	{"cgroup", rf_check_cgroup},
	{"cgroup-controllers", rf_check_cgroup_controllers},
	{"cgroup-limits", rf_check_cgroup_limits},
	{"bpf-lsm", rf_check_bpf_lsm},
	{"bpf-cgroup", rf_check_bpf_cgroup},
	{"bpf-trace", rf_check_bpf_trace},
};

#define CLEAN_MS 100
#define N_CHECKS RF_ARRAY_SIZE(doctor_checks)

/* A killed check may have left its leaf. */
static void clean_after(struct rf_signs *signs, pid_t pid)
{
	struct rf_check check = {0};
	struct rf_probe probe;

	signs->killed = pid;
	rf_probe_start(rf_check_clean, signs, CLEAN_MS, &probe);
	rf_probe_collect(&probe, &check);
}

static bool uses_cgroup(rf_probe_fn function)
{
	return function == rf_check_cgroup || function == rf_check_cgroup_limits ||
	       function == rf_check_bpf_cgroup;
}

int rf_doctor_run(struct rf_check **ret_checks, size_t *ret_n_checks)
{
	struct rf_check *checks rf_autofree = calloc(N_CHECKS, sizeof(*checks));
	struct rf_signs *signs rf_autofree = calloc(1, sizeof(*signs));
	struct rf_probe probes[N_CHECKS];

	if (!checks || !signs)
		return -ENOMEM;
	rf_signs_read(signs);
	for (size_t i = 0; i < N_CHECKS; i++)
		rf_probe_start(doctor_checks[i].function, signs, RF_DOCTOR_DEADLINE_MS, &probes[i]);
	for (size_t i = 0; i < N_CHECKS; i++) {
		pid_t pid = probes[i].pid;

		checks[i].name = doctor_checks[i].name;
		rf_probe_collect(&probes[i], &checks[i]);
		if (uses_cgroup(doctor_checks[i].function) &&
			(checks[i].error == ETIMEDOUT || checks[i].error == ECHILD))
			clean_after(signs, pid);
	}
	*ret_checks = RF_TAKE(checks);
	*ret_n_checks = N_CHECKS;
	return 0;
}

static int add_text(json_t *object, const char *key, const char *text)
{
	return text[0] ? json_object_set_new(object, key, rf_json_text(text)) : 0;
}

static json_t *check_to_json(const struct rf_check *check)
{
	json_t *object rf_autojson =
		json_pack("{s:s, s:s}", "name", check->name, "state", rf_state_name(check->state));

	if (!object || add_text(object, "call", check->call) < 0)
		return NULL;
	if (check->error &&
		json_object_set_new(object, "errno", json_string(rf_errno_name(check->error))) < 0)
		return NULL;
	if (add_text(object, "cause", check->cause) < 0 ||
		add_text(object, "remedy", check->remedy) < 0)
		return NULL;
	return RF_TAKE(object);
}

json_t *rf_doctor_to_json(const struct rf_check *checks, size_t n_checks)
{
	json_t *list rf_autojson = json_array();
	struct utsname host;

	if (!list || uname(&host) < 0)
		return NULL;
	for (size_t i = 0; i < n_checks; i++)
		if (json_array_append_new(list, check_to_json(&checks[i])) < 0)
			return NULL;
	return json_pack("{s:i, s:s, s:O}", "version", 1, "kernel", host.release, "checks", list);
}

/* The checks that a failed set-up asks for, in the order in which bubblewrap goes. */
static const struct {
	const char *mechanism;
	rf_probe_fn function;
} setup_checks[] = {
	{"user-namespace", rf_check_user_namespace},
	{"mount-namespace", rf_check_mount_namespace},
	{"network-namespace", rf_check_network_namespace},
	{"pid-namespace", rf_check_pid_namespace},
};

#define N_SETUP_CHECKS RF_ARRAY_SIZE(setup_checks)

static int refuse_setup(struct rf_diag *diag, const struct rf_check *check)
{
	/* A namespace's check goes through the user namespace where it needs one. */
	bool is_user = strcmp(check->name, "user-namespace") == 0;
	bool is_proc = strcmp(check->call, "mount(proc)") == 0 && check->error == EPERM;
	const char *code = is_user   ? "user-namespace-unavailable"
			   : is_proc ? "proc-masked"
				     : "namespace-unavailable";

	rf_diag_mechanism(diag, check->name, check->call);
	if (check->remedy[0])
		rf_diag_hint(diag, "%s", check->remedy);
	return rf_diag_refuse(diag, code, "%s cannot be had: %s", check->name, check->cause);
}

/*
 * Every step works for us, so it is bubblewrap that something stops. AppArmor judges by program,
 * and its restriction shows as nothing but a refused map or loopback.
 */
static int refuse_with_words(
	struct rf_diag *diag, const struct rf_signs *signs, bool is_admin, const char *message)
{
	struct rf_check check = {.name = "user-namespace"};
	char line[512];

	/* The last word of several lines is the one that ended it; ours are one line each. */
	(void)snprintf(line, sizeof(line), "%s", message ? message : "");
	line[strcspn(line, "\n")] = '\0';
	if (signs->apparmor_restrict_userns == 1 && !is_admin) {
		rf_check_fail(&check, "bwrap", EACCES);
		rf_explain_user_namespace(signs, &check);
		return refuse_setup(diag, &check);
	}
	rf_diag_mechanism(diag, "mount-namespace", "bubblewrap");
	if (strstr(line, "NO_NEW_PRIVS")) {
		rf_diag_mechanism(diag, "seccomp", "prctl(PR_SET_NO_NEW_PRIVS)");
		rf_diag_hint(diag, "most likely a seccomp filter or profile of the surrounding "
				   "container forbids the call: allow prctl there");
		return rf_diag_refuse(diag, "no-new-privs-refused",
			"no_new_privs cannot be set, without which nothing can be confined");
	}
	/* Every step works by itself, so it is a path of the plan that does not. */
	if (strstr(line, "Race condition binding") || strstr(line, "Can't bind mount") ||
		strstr(line, "Can't create file") || strstr(line, "Can't mkdir")) {
		rf_diag_hint(diag, "something else was changing it: run again");
		return rf_diag_refuse(diag, "source-changed",
			"a path of the plan became something else while it was mounted");
	}
	rf_diag_hint(diag, "`ringfence doctor` tries every step by itself");
	return rf_diag_refuse(diag, "bubblewrap-failed",
		"bubblewrap could not set the sandbox up: %s", line[0] ? line : "it said nothing");
}

int rf_doctor_explain_setup(
	const char *bwrap_message, const struct rf_facts *facts, struct rf_diag *diag)
{
	struct rf_signs *signs rf_autofree = calloc(1, sizeof(*signs));
	struct rf_probe probes[N_SETUP_CHECKS];
	struct rf_check checks[N_SETUP_CHECKS] = {0};
	size_t first = facts->has_sys_admin ? 1 : 0;

	if (!signs)
		return -ENOMEM;
	if (diag)
		(void)snprintf(diag->stage, sizeof(diag->stage), "setup");
	rf_signs_read(signs);
	for (size_t i = first; i < N_SETUP_CHECKS; i++)
		rf_probe_start(setup_checks[i].function, signs, RF_DOCTOR_DEADLINE_MS, &probes[i]);
	for (size_t i = first; i < N_SETUP_CHECKS; i++) {
		checks[i].name = setup_checks[i].mechanism;
		rf_probe_collect(&probes[i], &checks[i]);
	}
	for (size_t i = first; i < N_SETUP_CHECKS; i++)
		if (checks[i].state == RF_STATE_OFF)
			return refuse_setup(diag, &checks[i]);
	return refuse_with_words(diag, signs, facts->has_sys_admin, bwrap_message);
}
