/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The planner. It looks names up with the identity that it runs with, keeps what it will mount open
 * by descriptor, and changes nothing. Whoever shares the workspace can change names while it looks:
 * each source is opened once more without following links and compared with what was judged.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "policy/keys.h"
#include "policy/planner.h"

/* Twenty thousand names that are not there would be as many lines. */
#define WARNINGS_MAX 50

int rf_planner_warn(struct rf_planner *planner, const char *format, ...)
{
	char *line rf_autofree = NULL;
	va_list args;
	int n;

	if (planner->plan->warnings.count > WARNINGS_MAX)
		return 0;
	if (planner->plan->warnings.count == WARNINGS_MAX)
		return rf_strv_add(&planner->plan->warnings, "further warnings are not shown");

	va_start(args, format);
	n = vasprintf(&line, format, args);
	va_end(args);
	if (n < 0) {
		line = NULL;
		return -ENOMEM;
	}
	return rf_strv_add(&planner->plan->warnings, line);
}

struct rf_plan *rf_plan_free(struct rf_plan *plan)
{
	if (!plan)
		return NULL;
	for (size_t i = 0; i < plan->n_view; i++) {
		free(plan->view[i].destination);
		free(plan->view[i].source);
		free(plan->view[i].data);
		rf_close(plan->view[i].source_fd);
	}
	free(plan->view);
	for (size_t i = 0; i < plan->n_rules; i++)
		free(plan->rules[i].path);
	free(plan->rules);
	for (size_t i = 0; i < plan->n_said; i++)
		free(plan->said[i].path);
	free(plan->said);
	rf_plan_clear_files(plan);
	free(plan->workspace);
	free(plan->workspace_alias);
	free(plan->directory);
	free(plan->program);
	free(plan->pass_fds);
	free(plan->allow);
	rf_close(plan->workspace_fd);
	rf_strv_clear(&plan->argv);
	rf_strv_clear(&plan->environment);
	rf_strv_clear(&plan->directories);
	rf_strv_clear(&plan->create);
	rf_strv_clear(&plan->git_directories);
	rf_strv_clear(&plan->warnings);
	rf_strv_clear(&plan->details);
	free(plan);
	return NULL;
}

static void clear_planner(struct rf_planner *planner)
{
	rf_rule_tree_clear(&planner->tree);
	rf_sweep_clear(&planner->sweep);
	rf_strv_clear(&planner->listed);
	rf_origin_clear(&planner->origin);
	rf_origin_clear(&planner->root);
	planner->root_fd = rf_close(planner->root_fd);
}

/* ---- Plain values ---------------------------------------------------------------------------- */

static int take_arguments(struct rf_planner *planner)
{
	const char *const *argv = planner->request->argv;
	size_t size = 0;

	if (!argv || !argv[0] || !argv[0][0])
		return rf_diag_refuse(planner->diag, "no-command", "no command was given");
	for (size_t i = 0; argv[i]; i++)
		size += strlen(argv[i]) + 1;
	if (size > RF_ARGUMENTS_MAX_BYTES)
		return rf_diag_refuse(planner->diag, "arguments-too-large",
			"the command and its arguments have more than %u bytes",
			RF_ARGUMENTS_MAX_BYTES);
	return rf_strv_add_all(&planner->plan->argv, argv);
}

static int compare_numbers(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int take_fds(struct rf_planner *planner)
{
	const struct rf_request *request = planner->request;
	struct rf_plan *plan = planner->plan;

	if (request->n_pass_fds > RF_PASS_FDS_MAX)
		return rf_diag_refuse(planner->diag, "pass-fd",
			"at most %u descriptors can be passed", RF_PASS_FDS_MAX);
	plan->pass_fds = calloc(request->n_pass_fds + 1, sizeof(*plan->pass_fds));
	if (!plan->pass_fds)
		return -ENOMEM;
	for (size_t i = 0; i < request->n_pass_fds; i++) {
		int fd = request->pass_fds[i];

		if (fd < RF_PASS_FD_MIN || fd > RF_PASS_FD_MAX)
			return rf_diag_refuse(planner->diag, "pass-fd",
				"descriptor %d cannot be passed: numbers from %d to %d can", fd,
				RF_PASS_FD_MIN, RF_PASS_FD_MAX);
		plan->pass_fds[i] = fd;
	}
	qsort(plan->pass_fds, request->n_pass_fds, sizeof(int), compare_numbers);
	for (size_t i = 0; i < request->n_pass_fds; i++) {
		if (i == 0 || plan->pass_fds[i] != plan->pass_fds[plan->n_pass_fds - 1])
			plan->pass_fds[plan->n_pass_fds++] = plan->pass_fds[i];
	}
	return 0;
}

static int take_families(struct rf_planner *planner)
{
	struct rf_plan *plan = planner->plan;
	const struct rf_strv *names = &planner->policy->families;

	if (names->count > 0 && plan->posture == RF_POSTURE_NONE) {
		rf_diag_refuse(planner->diag, "contradiction",
			"posture none has no sockets; family %s (network.families) cannot be opened "
			"in it",
			names->items[0]);
		rf_diag_hint(planner->diag, "use another posture, or leave --socket-family away");
		return RF_REFUSED;
	}
	for (size_t i = 0; i < names->count; i++) {
		bool is_known = false;
		int family;

		if (!rf_family_parse(names->items[i], &family))
			return rf_diag_refuse(planner->diag, "policy-value",
				"socket family \"%.100s\" is not known to this version",
				names->items[i]);
		for (size_t j = 0; j < plan->n_families; j++)
			is_known |= plan->families[j] == family;
		if (is_known)
			continue;
		if (plan->n_families == RF_ARRAY_SIZE(plan->families))
			return rf_diag_refuse(planner->diag, "policy-size",
				"at most %zu socket families", RF_ARRAY_SIZE(plan->families));
		plan->families[plan->n_families++] = family;
	}
	qsort(plan->families, plan->n_families, sizeof(int), compare_numbers);
	return 0;
}

static int check_wrapped(struct rf_planner *planner)
{
	const struct rf_policy *policy = planner->policy;

	if (policy->allow.count == 0 &&
		(policy->posture == RF_POSTURE_NONE || policy->posture == RF_POSTURE_OPEN ||
			policy->posture == RF_POSTURE_UNSET))
		return 0;
	rf_diag_refuse(planner->diag, "contradiction",
		"around bubblewrap the posture is none or open: it makes the network itself");
	rf_diag_hint(planner->diag, "give bubblewrap --unshare-net, which leaves a loopback");
	return RF_REFUSED;
}

bool rf_posture_has_own_network(enum rf_posture posture)
{
	switch (posture) {
	case RF_POSTURE_UNSET:
	case RF_POSTURE_NONE:
	case RF_POSTURE_LOOPBACK:
		return true;
	case RF_POSTURE_HOST_LOOPBACK:
	case RF_POSTURE_ALLOW:
	case RF_POSTURE_OPEN:
		return false;
	}
	return true;
}

bool rf_posture_has_address_rules(enum rf_posture posture)
{
	return posture == RF_POSTURE_HOST_LOOPBACK || posture == RF_POSTURE_ALLOW;
}

static int take_posture(struct rf_planner *planner)
{
	const struct rf_policy *policy = planner->policy;
	struct rf_plan *plan = planner->plan;
	bool has_allow = policy->allow.count > 0;

	plan->posture = policy->posture;
	if (plan->posture == RF_POSTURE_UNSET)
		plan->posture = has_allow ? RF_POSTURE_ALLOW : RF_POSTURE_LOOPBACK;
	if (has_allow && plan->posture != RF_POSTURE_ALLOW) {
		rf_diag_refuse(planner->diag, "contradiction",
			"posture %s has no list of destinations; %.200s cannot be allowed in it",
			rf_posture_name(plan->posture), policy->allow.items[0]);
		rf_diag_hint(planner->diag, "use posture allow, or leave --net away");
		return RF_REFUSED;
	}
	return 0;
}

static int refuse_name(struct rf_planner *planner, const char *text)
{
	rf_diag_refuse(planner->diag, "name-unsupported",
		"network.allow (--allow): \"%.200s\" is a name: this version allows addresses alone, names are "
		"not in it",
		text);
	rf_diag_hint(planner->diag, "name the address, such as 192.0.2.7:443, or a prefix");
	rf_diag_promise(planner->diag, rf_promise_name(RF_PROMISE_SOCKET_CONNECT));
	return RF_REFUSED;
}

static int take_destinations(struct rf_planner *planner)
{
	const struct rf_strv *texts = &planner->policy->allow;
	struct rf_plan *plan = planner->plan;

	plan->allow = calloc(texts->count + 1, sizeof(*plan->allow));
	if (!plan->allow)
		return -ENOMEM;
	for (size_t i = 0; i < texts->count; i++) {
		int r = rf_net_parse(
			"network.allow", texts->items[i], &plan->allow[i], planner->diag);

		if (r)
			return r;
		if (plan->allow[i].kind == RF_NET_NAME)
			return refuse_name(planner, texts->items[i]);
		plan->n_allow++;
	}
	return 0;
}

/* What would be dropped in silence under full access is refused instead. */
static int check_full_access(struct rf_planner *planner)
{
	const struct rf_policy *policy = planner->policy;
	const char *what = NULL;

	if (policy->protect.count > 0)
		what = "filesystem.protect";
	else if (policy->deny.count > 0)
		what = "filesystem.deny";
	else if (policy->git != RF_GIT_UNSET && policy->git != RF_GIT_FULL)
		what = "filesystem.git";
	else if (policy->posture != RF_POSTURE_UNSET && policy->posture != RF_POSTURE_OPEN)
		what = "network.posture";
	else if (policy->allow.count > 0)
		what = "network.allow";
	else if (policy->unix_sockets == RF_FALSE)
		what = "network.unix";
	else if (policy->strict == RF_TRUE)
		what = "strict";
	if (!what)
		return 0;
	rf_diag_refuse(planner->diag, "contradiction",
		"mode full-access confines nothing, and %s (%s) asks for confinement", what,
		rf_key_find(what)->option);
	rf_diag_hint(planner->diag, "use mode read-only or workspace-write");
	return RF_REFUSED;
}

static int take_values(struct rf_planner *planner)
{
	const struct rf_policy *policy = planner->policy;
	struct rf_plan *plan = planner->plan;
	int r;

	plan->mode = policy->mode == RF_MODE_UNSET ? RF_MODE_WORKSPACE_WRITE : policy->mode;
	plan->git = policy->git == RF_GIT_UNSET ? RF_GIT_PROTECT : policy->git;
	if (planner->request->is_wrapped) {
		r = check_wrapped(planner);
		if (r)
			return r;
		plan->is_wrapped = true;
		plan->mode = RF_MODE_FULL_ACCESS;
		plan->posture =
			policy->posture == RF_POSTURE_NONE ? RF_POSTURE_NONE : RF_POSTURE_OPEN;
	} else if (plan->mode == RF_MODE_FULL_ACCESS) {
		r = check_full_access(planner);
		if (r)
			return r;
		plan->posture = RF_POSTURE_OPEN;
		plan->git = RF_GIT_FULL;
	} else {
		r = take_posture(planner);
		if (r)
			return r;
	}
	plan->is_strict = policy->strict == RF_TRUE;
	plan->keeps_background = policy->keep_background == RF_TRUE;
	plan->keeps_groups = policy->keep_groups == RF_TRUE;
	plan->required = policy->require;
	plan->grace_ms = policy->has_grace ? policy->grace_ms : RF_GRACE_DEFAULT_MS;
	memcpy(plan->limits, policy->limits, sizeof(plan->limits));
	r = take_arguments(planner);
	if (r == 0)
		r = take_fds(planner);
	if (r == 0)
		r = take_destinations(planner);
	return r ? r : take_families(planner);
}

/* ---- In order -------------------------------------------------------------------------------- */

/* Everything runs as it is; only the place where it starts is looked up. */
static int plan_full_access(struct rf_planner *planner)
{
	int r = rf_planner_workspace(planner);

	if (r == 0)
		r = rf_planner_directory(planner);
	if (r == 0)
		r = rf_planner_environment(planner);
	if (r == 0) {
		planner->plan->program = strdup(planner->plan->argv.items[0]);
		r = planner->plan->program ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = rf_planner_promises(planner);
	planner->plan->is_unix_open = true;
	return r;
}

/* Nothing is looked up: bubblewrap does that, as the client's child. */
static int plan_wrapped(struct rf_planner *planner)
{
	int r = rf_planner_promises(planner);

	planner->plan->is_unix_open = planner->plan->posture == RF_POSTURE_OPEN;
	return r;
}

static int plan_confined(struct rf_planner *planner)
{
	static int (*const parts[])(struct rf_planner *) = {
		rf_planner_workspace,
		rf_planner_directory,
		rf_planner_environment,
		rf_planner_runtime,
		rf_planner_grants,
		rf_planner_program,
		rf_planner_git,
		rf_planner_own,
		rf_planner_mounts,
		rf_planner_view,
		rf_planner_files,
		rf_planner_promises,
	};

	for (size_t i = 0; i < RF_ARRAY_SIZE(parts); i++) {
		int r = parts[i](planner);

		if (r)
			return r;
	}
	return 0;
}

static struct rf_plan *new_plan(void)
{
	struct rf_plan *plan = calloc(1, sizeof(*plan));

	if (plan)
		plan->workspace_fd = -1;
	return plan;
}

int rf_plan_make(const struct rf_request *request, const struct rf_facts *facts,
	struct rf_plan **ret_plan, struct rf_diag *diag)
{
	struct rf_planner planner rf_cleanup(clear_planner) = {
		.request = request,
		.policy = request->policy,
		.facts = facts,
		.diag = diag,
		.origin = rf_origin(-1, NULL),
		.root = rf_origin(-1, "/"),
		.root_fd = -1,
		.temporary = "/tmp",
		.home = "/tmp/.home",
	};
	struct rf_plan *plan rf_autoplan = new_plan();
	int r;

	if (!plan)
		return -ENOMEM;
	planner.plan = plan;
	planner.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (planner.root_fd < 0)
		return -errno;
	planner.root.fd = planner.root_fd;
	r = take_values(&planner);
	if (r == 0)
		r = rf_planner_identity(&planner);
	if (r == 0 && plan->is_wrapped)
		r = plan_wrapped(&planner);
	else if (r == 0)
		r = plan->mode == RF_MODE_FULL_ACCESS ? plan_full_access(&planner)
						      : plan_confined(&planner);
	if (r)
		return r;
	*ret_plan = RF_TAKE(plan);
	return 0;
}
