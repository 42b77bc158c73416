/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The plan in the bytes that keeper and launcher read: base/launch.h says which. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/launch.h"
#include "base/path.h"
#include "base/strv.h"
#include "enforce/bubblewrap.h"
#include "enforce/seccomp.h"
#include "sandbox/sandbox.h"

static int add_u32(struct rf_buf *buf, uint32_t value)
{
	return rf_buf_add(buf, &value, sizeof(value));
}

static int add_string(struct rf_buf *buf, const char *text)
{
	int r = add_u32(buf, (uint32_t)strlen(text));

	return r < 0 ? r : rf_buf_add(buf, text, strlen(text) + 1);
}

static int add_strings(struct rf_buf *buf, const struct rf_strv *strv)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < strv->count; i++)
		r = add_string(buf, strv->items[i]);
	return r;
}

/* ---- keeper --------------------------------------------------------------------------------- */

/*
 * What closes a path in a stage: the mount's nodev makes the device unopenable, for root too; the
 * directory is empty, ours, and nobody may search it.
 */
static int find_mask(const struct rf_sandbox *sandbox, bool is_directory, char *ret_path,
	size_t size, struct rf_stage_step *staged)
{
	struct stat st;

	if (is_directory)
		snprintf(ret_path, size, "%s/closed", sandbox->controller->runtime);
	else
		snprintf(ret_path, size, "/dev/null");
	if (is_directory && mkdir(ret_path, 0) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(ret_path, &st) < 0)
		return -errno;
	staged->source_dev = st.st_dev;
	staged->source_ino = st.st_ino;
	staged->is_read_only = 1;
	return 0;
}

static int add_stage_step(
	struct rf_buf *buf, const struct rf_sandbox *sandbox, const struct rf_view_step *step)
{
	const char *below = rf_path_below(step->destination, sandbox->plan->workspace);
	struct rf_stage_step staged = {
		.source_dev = step->source_dev,
		.source_ino = step->source_ino,
		.is_read_only = step->kind == RF_VIEW_BIND_RO,
		.is_directory = step->is_directory,
	};
	char mask[4200] = "";
	int r = 0;

	if (step->kind == RF_VIEW_MASK)
		r = find_mask(sandbox, step->is_directory, mask, sizeof(mask), &staged);
	if (r == 0)
		r = rf_buf_add(buf, &staged, sizeof(staged));
	if (r == 0)
		r = rf_buf_addf(buf, "%s", step->source ? step->source : mask);
	if (r == 0)
		r = rf_buf_add(buf, "", 1);
	if (r == 0)
		r = rf_buf_addf(buf, RF_STAGE_TOP "%s%s", *below ? "/" : "", below);
	return r < 0 ? r : rf_buf_add(buf, "", 1);
}

static uint32_t keeper_flags(const struct rf_plan *plan)
{
	uint32_t flags = 0;

	if (plan->is_wrapped)
		return RF_KEEPER_ADOPTS;
	if (plan->mode != RF_MODE_FULL_ACCESS)
		flags |= RF_KEEPER_HAS_BWRAP;
	if (!plan->keeps_groups && plan->mode != RF_MODE_FULL_ACCESS)
		flags |= RF_KEEPER_DROP_GROUPS;
	if (plan->is_staged)
		flags |= RF_KEEPER_STAGED;
	if (plan->is_staged && plan->has_user_namespace)
		flags |= RF_KEEPER_STAGE_USERNS;
	return flags;
}

int rf_spec_keeper(const struct rf_sandbox *sandbox, unsigned int n_fds_end)
{
	const struct rf_plan *plan = sandbox->plan;
	struct rf_buf buf rf_autobuf = {0};
	struct rf_keeper_spec spec = {
		.magic = RF_LAUNCH_MAGIC,
		.version = RF_LAUNCH_VERSION,
		.flags = keeper_flags(plan),
		.uid = plan->uid,
		.gid = plan->gid,
		.n_fds_end = n_fds_end,
	};
	const char *leaf = sandbox->cgroup ? sandbox->cgroup->name : "";
	const char *stage = sandbox->stage_directory ? sandbox->stage_directory : "";
	int r;

	for (size_t i = 0; i < plan->n_view; i++)
		spec.n_stage_steps += rf_bubblewrap_is_staged(plan, &plan->view[i]);
	r = rf_buf_add(&buf, &spec, sizeof(spec));
	if (r == 0)
		r = rf_buf_add(&buf, leaf, strlen(leaf) + 1);
	if (r == 0)
		r = rf_buf_add(&buf, stage, strlen(stage) + 1);
	for (size_t i = 0; r == 0 && i < plan->n_view; i++) {
		if (rf_bubblewrap_is_staged(plan, &plan->view[i]))
			r = add_stage_step(&buf, sandbox, &plan->view[i]);
	}
	return r < 0 ? r : rf_memfd("ringfence-keeper", buf.data, buf.size);
}

/* ---- launcher ------------------------------------------------------------------------------- */

static uint32_t launch_access(enum rf_access access)
{
	switch (access) {
	case RF_ACCESS_READ:
		return RF_LAUNCH_READ;
	case RF_ACCESS_WRITE:
		return RF_LAUNCH_WRITE;
	case RF_ACCESS_DEVICE:
		return RF_LAUNCH_DEVICE;
	case RF_ACCESS_TERMINAL:
		return RF_LAUNCH_TERMINAL;
	case RF_ACCESS_LIST:
		return RF_LAUNCH_LIST;
	}
	return RF_LAUNCH_READ;
}

static uint32_t sandbox_flags(const struct rf_sandbox *sandbox)
{
	const struct rf_plan *plan = sandbox->plan;
	uint32_t flags = 0;

	if (plan->keeps_background)
		flags |= RF_SANDBOX_KEEP_BACKGROUND;
	if (plan->changes_user)
		flags |= RF_SANDBOX_CHANGE_USER;
	if (plan->mode == RF_MODE_FULL_ACCESS)
		return flags;
	flags |= RF_SANDBOX_NAMESPACES | RF_SANDBOX_DROP_CAPABILITIES;
	if (plan->mechanisms[RF_MECHANISM_SECCOMP].state != RF_STATE_OFF)
		flags |= RF_SANDBOX_SECCOMP;
	if (plan->mechanisms[RF_MECHANISM_LANDLOCK].state != RF_STATE_OFF)
		flags |= RF_SANDBOX_LANDLOCK;
	if ((flags & RF_SANDBOX_LANDLOCK) && sandbox->controller->facts.landlock_abi >= 6)
		flags |= RF_SANDBOX_SCOPE;
	if (plan->is_staged)
		flags |= RF_SANDBOX_STAGED;
	if (plan->is_staged && plan->has_user_namespace)
		flags |= RF_SANDBOX_MAP_USER;
	return flags;
}

static int add_rules(struct rf_buf *buf, const struct rf_plan *plan)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->n_rules; i++) {
		r = add_u32(buf, launch_access(plan->rules[i].access));
		if (r == 0)
			r = add_string(buf, plan->rules[i].path);
	}
	return r;
}

static int add_directories(struct rf_buf *buf, const struct rf_plan *plan)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->directories.count; i++) {
		r = add_u32(buf, 0700);
		if (r == 0)
			r = add_string(buf, plan->directories.items[i]);
	}
	return r;
}

static int add_pass_fds(struct rf_buf *buf, const struct rf_plan *plan, unsigned int first)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->n_pass_fds; i++) {
		r = add_u32(buf, first + (uint32_t)i);
		if (r == 0)
			r = add_u32(buf, (uint32_t)plan->pass_fds[i]);
	}
	return r;
}

static int add_filters(struct rf_buf *buf, const struct rf_seccomp_filter *filters, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		r = add_u32(buf, filters[i].flags);
		if (r == 0)
			r = add_u32(buf, (uint32_t)filters[i].n);
		if (r == 0)
			r = rf_buf_add(buf, filters[i].instructions,
				filters[i].n * sizeof(*filters[i].instructions));
	}
	return r;
}

/* What must stand at its planned name when everything is mounted. */
static bool is_checked(const struct rf_view_step *step)
{
	return step->kind == RF_VIEW_MASK ||
	       ((step->kind == RF_VIEW_BIND || step->kind == RF_VIEW_BIND_RO) && step->source_ino);
}

static int compare_steps(const void *left, const void *right)
{
	const struct rf_view_step *l = *(const struct rf_view_step *const *)left;
	const struct rf_view_step *r = *(const struct rf_view_step *const *)right;
	int order = strcmp(l->destination, r->destination);

	return order ? order : (l > r) - (l < r);
}

static int add_place(struct rf_buf *buf, const struct rf_view_step *step)
{
	uint64_t dev = step->kind == RF_VIEW_MASK ? 0 : step->source_dev;
	uint64_t ino = step->kind == RF_VIEW_MASK ? 0 : step->source_ino;
	int r = rf_buf_add(buf, &dev, sizeof(dev));

	if (r == 0)
		r = rf_buf_add(buf, &ino, sizeof(ino));
	return r < 0 ? r : add_string(buf, step->destination);
}

/* Of several steps at one place the last covers the others. */
static int add_places(struct rf_buf *buf, const struct rf_plan *plan, uint32_t *ret_count)
{
	const struct rf_view_step **steps rf_autofree = calloc(plan->n_view + 1, sizeof(*steps));
	uint32_t count = 0;
	int r = 0;

	if (!steps)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_view; i++)
		steps[i] = &plan->view[i];
	qsort(steps, plan->n_view, sizeof(*steps), compare_steps);
	/* A NULL ends the list. */
	for (const struct rf_view_step **at = steps; r == 0 && at[0]; at++) {
		if (!is_checked(at[0]) ||
			(at[1] && strcmp(at[1]->destination, at[0]->destination) == 0))
			continue;
		count++;
		r = add_place(buf, at[0]);
	}
	*ret_count = count;
	return r;
}

static int add_body(struct rf_buf *buf, const struct rf_plan *plan, unsigned int first_pass_fd)
{
	int r = add_directories(buf, plan);

	if (r == 0)
		r = add_rules(buf, plan);
	if (r == 0)
		r = add_string(buf, plan->directory);
	if (r == 0)
		/* A bare name is searched inside, along the command's own PATH. */
		r = add_string(
			buf, plan->program && strchr(plan->program, '/') ? plan->program : "");
	if (r == 0)
		r = add_strings(buf, &plan->argv);
	if (r == 0)
		r = add_strings(buf, &plan->environment);
	return r < 0 ? r : add_pass_fds(buf, plan, first_pass_fd);
}

int rf_spec_sandbox(const struct rf_sandbox *sandbox, const struct rf_sandbox_props *props,
	unsigned int first_pass_fd, struct rf_diag *diag)
{
	const struct rf_plan *plan = sandbox->plan;
	struct rf_seccomp_filter *filters = NULL;
	struct rf_buf buf rf_autobuf = {0};
	struct rf_buf places rf_autobuf = {0};
	size_t n_filters = 0;
	struct rf_sandbox_spec spec = {
		.magic = RF_LAUNCH_MAGIC,
		.version = RF_LAUNCH_VERSION,
		.flags = sandbox_flags(sandbox) | (props->has_terminal ? RF_SANDBOX_TERMINAL : 0),
		.uid = plan->uid,
		.gid = plan->gid,
		.landlock_abi = sandbox->controller->facts.landlock_abi,
		.ignored_signals = props->ignored_signals,
		.nofile_soft = props->nofile.rlim_cur,
		.nofile_hard = props->nofile.rlim_max,
		.umask = props->umask,
		.n_directories = (uint32_t)plan->directories.count,
		.n_rules = (uint32_t)plan->n_rules,
		.n_args = (uint32_t)plan->argv.count,
		.n_environment = (uint32_t)plan->environment.count,
		.n_pass_fds = (uint32_t)plan->n_pass_fds,
	};
	int r = 0;

	if (spec.flags & RF_SANDBOX_SECCOMP)
		r = rf_seccomp_make(plan,
			sandbox->is_in_bpf &&
				sandbox->controller->facts.mechanisms[RF_MECHANISM_BPF_LSM].state ==
					RF_STATE_ENFORCED,
			&filters, &n_filters);
	if (r < 0)
		return rf_diag_refuse(
			diag, "setup-failed", "making the seccomp filter: %s", strerror(-r));
	spec.n_filters = (uint32_t)n_filters;
	r = add_places(&places, plan, &spec.n_places);
	if (r == 0)
		r = rf_buf_add(&buf, &spec, sizeof(spec));
	if (r == 0)
		r = add_body(&buf, plan, first_pass_fd);
	if (r == 0)
		r = add_filters(&buf, filters, n_filters);
	if (r == 0 && places.size > 0)
		r = rf_buf_add(&buf, places.data, places.size);
	if (r == 0 && plan->is_staged)
		r = add_string(&buf, plan->workspace);
	rf_seccomp_free(filters, n_filters);
	return r < 0 ? r : rf_memfd("ringfence-sandbox", buf.data, buf.size);
}
