/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "enforce/bubblewrap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/launch.h"
#include "base/limits.h"
#include "base/path.h"

void rf_bubblewrap_clear(struct rf_bubblewrap *bubblewrap)
{
	rf_strv_clear(&bubblewrap->arguments);
	for (size_t i = 0; i < bubblewrap->n_owned_fds; i++)
		rf_close(bubblewrap->owned_fds[i]);
	free(bubblewrap->owned_fds);
	free(bubblewrap->fds);
	*bubblewrap = (struct rf_bubblewrap){0};
}

/*
 * The whole workspace of a plan with more binds than bubblewrap takes is a tree that the first
 * process builds and the launcher attaches (launch/stage.c).
 */
bool rf_bubblewrap_is_staged(const struct rf_plan *plan, const struct rf_view_step *step)
{
	return plan->is_staged && rf_path_is_within(step->destination, plan->workspace) &&
	       (step->kind == RF_VIEW_BIND || step->kind == RF_VIEW_BIND_RO ||
		       step->kind == RF_VIEW_MASK || step->kind == RF_VIEW_DIRECTORY);
}

static int add(struct rf_bubblewrap *b, const char *option, const char *first, const char *second)
{
	int r = rf_strv_add(&b->arguments, option);

	if (r == 0 && first)
		r = rf_strv_add(&b->arguments, first);
	if (r == 0 && second)
		r = rf_strv_add(&b->arguments, second);
	return r;
}

/* The number under which bubblewrap will find the descriptor. */
static int number_fd(struct rf_bubblewrap *b, int fd, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "%zu", RF_KEEPER_FIRST_FREE + b->n_fds);
	b->fds[b->n_fds++] = fd;
	return 0;
}

static int add_bind(struct rf_bubblewrap *b, const struct rf_view_step *step)
{
	bool is_read_only = step->kind == RF_VIEW_BIND_RO;
	char number[24];

	if (step->kind == RF_VIEW_BIND_DEV)
		return add(b, "--dev-bind", step->source, step->destination);
	number_fd(b, step->source_fd, number, sizeof(number));
	return add(b, is_read_only ? "--ro-bind-fd" : "--bind-fd", number, step->destination);
}

static int add_perms(struct rf_bubblewrap *b, unsigned int perms)
{
	char text[8];

	if (perms == 0)
		return 0;
	snprintf(text, sizeof(text), "%04o", perms & 07777);
	return add(b, "--perms", text, NULL);
}

static int add_data(struct rf_bubblewrap *b, const struct rf_view_step *step, bool has_fds)
{
	char number[24];
	int fd = -1;
	int r;

	if (has_fds) {
		fd = rf_memfd("ringfence-data", step->data, strlen(step->data));
		if (fd < 0)
			return fd;
		b->owned_fds[b->n_owned_fds++] = fd;
	}
	number_fd(b, fd, number, sizeof(number));
	r = add_perms(b, step->perms ? step->perms : 0644);
	return r < 0 ? r : add(b, "--ro-bind-data", number, step->destination);
}

/*
 * A denied file is a device bound without its device right: opening it is EACCES for root too. A
 * denied directory is an empty one that nobody may search; without capabilities that holds for
 * root as well.
 */
static int add_mask(struct rf_bubblewrap *b, const struct rf_view_step *step)
{
	int r;

	if (!step->is_directory)
		return add(b, "--ro-bind", "/dev/null", step->destination);
	r = add(b, "--perms", "0000", NULL);
	if (r == 0)
		r = add(b, "--tmpfs", step->destination, NULL);
	return r < 0 ? r : add(b, "--remount-ro", step->destination, NULL);
}

/*
 * uid 0 writes /proc/sys without any capability, and bubblewrap leaves it writable for a root
 * caller: its test by access(2) takes the refusal of the directory for a read-only mount.
 */
static int add_proc(
	struct rf_bubblewrap *b, const struct rf_plan *plan, const struct rf_view_step *step)
{
	static const char *const closed[] = {"/proc/sys", "/proc/sysrq-trigger"};
	int r = add(b, "--proc", step->destination, NULL);

	for (size_t i = 0; r == 0 && !plan->has_user_namespace && i < RF_ARRAY_SIZE(closed); i++)
		r = add(b, "--ro-bind-try", closed[i], closed[i]);
	return r;
}

static int add_step(struct rf_bubblewrap *b, const struct rf_plan *plan,
	const struct rf_view_step *step, bool has_fds)
{
	int r;

	switch (step->kind) {
	case RF_VIEW_TMPFS:
		r = add_perms(b, step->perms);
		return r < 0 ? r : add(b, "--tmpfs", step->destination, NULL);
	case RF_VIEW_DIRECTORY:
		r = add_perms(b, step->perms);
		return r < 0 ? r : add(b, "--dir", step->destination, NULL);
	case RF_VIEW_PROC:
		return add_proc(b, plan, step);
	case RF_VIEW_DEV:
		return add(b, "--dev", step->destination, NULL);
	case RF_VIEW_BIND:
	case RF_VIEW_BIND_RO:
	case RF_VIEW_BIND_DEV:
		return add_bind(b, step);
	case RF_VIEW_MASK:
		return add_mask(b, step);
	case RF_VIEW_DATA:
		return add_data(b, step, has_fds);
	case RF_VIEW_SYMLINK:
		return add(b, "--symlink", step->data, step->destination);
	case RF_VIEW_REMOUNT_RO:
		return add(b, "--remount-ro", step->destination, NULL);
	}
	return -EINVAL;
}

/*
 * The launcher attaches the staged workspace, for which it needs CAP_SYS_ADMIN. Without privilege
 * bubblewrap would make one more user namespace for devpts, in which nothing may be attached: as
 * root of the first one it leaves that to the launcher (RF_SANDBOX_MAP_USER).
 */
static int add_stage(struct rf_bubblewrap *b, const struct rf_plan *plan)
{
	static const char *const mapped[] = {
		"--uid", "0", "--gid", "0", "--cap-add", "CAP_SETFCAP", NULL};
	int r = add(b, "--cap-add", "CAP_SYS_ADMIN", NULL);

	if (r == 0 && plan->has_user_namespace)
		r = rf_strv_add_all(&b->arguments, mapped);
	return r;
}

/*
 * Namespaces and identity. Capabilities go inside, where the launcher empties the bounding set too
 * and needs CAP_SETPCAP for it; for --user it changes the identity itself.
 */
static int add_namespaces(struct rf_bubblewrap *b, const struct rf_plan *plan)
{
	static const char *const always[] = {"--unshare-ipc", "--unshare-pid", "--unshare-uts",
		"--unshare-cgroup-try", "--as-pid-1", "--die-with-parent", "--new-session",
		"--cap-drop", "ALL", "--cap-add", "CAP_SETPCAP", NULL};
	int r = 0;

	if (plan->has_user_namespace)
		r = add(b, "--unshare-user", NULL, NULL);
	if (r == 0)
		r = rf_strv_add_all(&b->arguments, always);
	if (r == 0 && rf_posture_has_own_network(plan->posture))
		r = add(b, "--unshare-net", NULL, NULL);
	if (r == 0 && plan->changes_user)
		r = add(b, "--cap-add", "CAP_SETUID", NULL);
	if (r == 0 && plan->changes_user)
		r = add(b, "--cap-add", "CAP_SETGID", NULL);
	if (r == 0 && plan->is_staged)
		r = add_stage(b, plan);
	return r;
}

int rf_bubblewrap_make(const struct rf_plan *plan, bool has_fds,
	struct rf_bubblewrap *ret_bubblewrap, struct rf_diag *diag)
{
	struct rf_bubblewrap b rf_autobubblewrap = {0};
	int r;

	bool has_stage = false;

	b.fds = calloc(plan->n_view + 1, sizeof(*b.fds));
	b.owned_fds = calloc(plan->n_view + 1, sizeof(*b.owned_fds));
	if (!b.fds || !b.owned_fds)
		return -ENOMEM;
	r = add_namespaces(&b, plan);
	for (size_t i = 0; r == 0 && i < plan->n_view; i++) {
		/* Where the tree goes, after what the workspace itself may lie below (/tmp). */
		if (rf_bubblewrap_is_staged(plan, &plan->view[i])) {
			if (!has_stage)
				r = add(&b, "--tmpfs", plan->workspace, NULL);
			has_stage = true;
		} else
			r = add_step(&b, plan, &plan->view[i], has_fds);
	}
	if (r == 0)
		r = add(&b, "--chdir", "/", NULL);
	if (r < 0)
		return r;
	if (b.arguments.count > RF_BWRAP_ARGUMENTS_MAX - 100) {
		r = rf_diag_refuse(diag, "too-many-mounts",
			"the plan needs %zu bubblewrap arguments, its limit is %u",
			b.arguments.count, RF_BWRAP_ARGUMENTS_MAX);
		rf_diag_hint(diag, "name fewer paths outside the workspace, or a common parent");
		return r;
	}
	*ret_bubblewrap = b;
	b = (struct rf_bubblewrap){0};
	return 0;
}
