/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An invented host and a fresh workspace, for tests of the planner. */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/fd.h"
#include "policy/plan.h"
#include "policy/policy.h"

struct fixture {
	char root[64];	    /* everything of this test */
	char workspace[80]; /* root/ws */
	char home[80];	    /* root/home */
	struct rf_facts facts;
	struct rf_policy policy;
	struct rf_diag diag;
	struct rf_plan *plan;
	const char *environment[16];
	const char *argv[4];
	/* NULL: this host's. */
	const char *mountinfo;
	int pass_fds[8];
	size_t n_pass_fds;
};

static inline int fixture_remove(const char *path, const struct stat *st rf_unused,
	int type rf_unused, struct FTW *ftw rf_unused)
{
	return remove(path);
}

static inline void fixture_clear(struct fixture *f)
{
	f->plan = rf_plan_free(f->plan);
	rf_policy_clear(&f->policy);
	nftw(f->root, fixture_remove, 32, FTW_DEPTH | FTW_PHYS);
}
#define autofixture rf_cleanup(fixture_clear)

/* Directory below the workspace, parents too. */
static inline void make_directory(struct fixture *f, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", f->workspace, name);
	for (char *at = path + strlen(f->workspace) + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	cr_assert(mkdir(path, 0755) == 0 || errno == EEXIST);
}

static inline void make_file_at(const char *path, const char *text)
{
	int fd rf_autoclose = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	cr_assert(fd >= 0, "%s", path);
	cr_assert(rf_write_all(fd, text, strlen(text)) == 0);
}

static inline void make_file(struct fixture *f, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", f->workspace, name);
	make_file_at(path, "a\n");
}

static inline void make_link(struct fixture *f, const char *target, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", f->workspace, name);
	cr_assert(symlink(target, path) == 0);
}

static inline struct fixture fixture_new(void)
{
	struct fixture f = {
		.root = "/var/tmp/rf-unit-XXXXXX",
		.environment = {"PATH=/usr/bin:/bin", NULL},
		.argv = {"true", NULL},
		.facts =
			{
				.has_sys_admin = true,
				.landlock_abi = 7,
				.bwrap = {.state = RF_STATE_ENFORCED},
				.bwrap_path = "/usr/bin/bwrap",
				.bwrap_has_bind_fd = true,
				.launcher_path = "/usr/libexec/ringfence/ringfence-launch",
				.user_name = "root",
				.has_memory_controller = true,
				.has_pids_controller = true,
			},
	};

	cr_assert_not_null(mkdtemp(f.root));
	snprintf(f.workspace, sizeof(f.workspace), "%s/ws", f.root);
	snprintf(f.home, sizeof(f.home), "%s/home", f.root);
	cr_assert(mkdir(f.workspace, 0755) == 0 && mkdir(f.home, 0755) == 0);
	snprintf(f.facts.home, sizeof(f.facts.home), "%s", f.home);
	for (size_t i = 0; i < RF_MECHANISMS; i++)
		f.facts.mechanisms[i].state = RF_STATE_ENFORCED;
	/* The host that this version is made for first: no BPF LSM. */
	f.facts.mechanisms[RF_MECHANISM_BPF_LSM] = (struct rf_fact){
		.state = RF_STATE_OFF, .why = "the kernel refuses LSM programs: EPERM"};
	return f;
}

static inline void say(struct fixture *f, const char *key, const char *value)
{
	cr_assert(rf_policy_set(&f->policy, key, value, &f->diag) == 0, "%s", f->diag.message);
}

static inline int make_plan(struct fixture *f)
{
	struct rf_request request = {
		.policy = &f->policy,
		.cwd = f->workspace,
		.argv = f->argv,
		.environment = f->environment,
		.pass_fds = f->pass_fds,
		.n_pass_fds = f->n_pass_fds,
		.mountinfo = f->mountinfo,
		.keeps_rules = true,
	};

	f->plan = rf_plan_free(f->plan);
	f->diag = (struct rf_diag){0};
	return rf_plan_make(&request, &f->facts, &f->plan, &f->diag);
}

static inline void must_plan(struct fixture *f)
{
	int r = make_plan(f);

	cr_assert(r == 0, "%d %s: %s", r, f->diag.code, f->diag.message);
}

static inline void must_refuse(struct fixture *f, const char *code)
{
	int r = make_plan(f);

	cr_assert(r == RF_REFUSED, "%d", r);
	cr_assert_str_eq(f->diag.code, code, "%s: %s", f->diag.code, f->diag.message);
	cr_assert_null(f->plan);
}

/* The step at a place: absolute, or relative to the workspace. NULL: none. */
static inline const struct rf_view_step *step_at(const struct fixture *f, const char *name)
{
	char path[512];

	if (name[0] == '/')
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%s%s%s", f->workspace, name[0] ? "/" : "", name);
	for (size_t i = 0; i < f->plan->n_view; i++) {
		if (strcmp(f->plan->view[i].destination, path) == 0)
			return &f->plan->view[i];
	}
	return NULL;
}

static inline bool is_step(const struct fixture *f, const char *name, enum rf_view_kind kind)
{
	const struct rf_view_step *step = step_at(f, name);

	return step && step->kind == kind;
}

static inline bool has_warning(const struct fixture *f, const char *part)
{
	for (size_t i = 0; i < f->plan->warnings.count; i++) {
		if (strstr(f->plan->warnings.items[i], part))
			return true;
	}
	return false;
}

static inline const char *variable(const struct fixture *f, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < f->plan->environment.count; i++) {
		const char *setting = f->plan->environment.items[i];

		if (strncmp(setting, name, length) == 0 && setting[length] == '=')
			return setting + length + 1;
	}
	return NULL;
}
