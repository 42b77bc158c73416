/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A15 on invented trees: no git is run, the planner goes by names and small files. */

#include "fixture.h"

static void make_text(struct fixture *f, const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", f->workspace, name);
	make_file_at(path, text);
}

/* At least what git takes for a repository; names are relative to the workspace. */
static void make_repository(struct fixture *f, const char *name)
{
	static const char *const directories[] = {"objects", "refs", "hooks", "info"};
	char path[256];

	make_directory(f, name);
	for (size_t i = 0; i < RF_ARRAY_SIZE(directories); i++) {
		snprintf(path, sizeof(path), "%s/%s", name, directories[i]);
		make_directory(f, path);
	}
	snprintf(path, sizeof(path), "%s/HEAD", name);
	make_text(f, path, "ref: refs/heads/main\n");
	snprintf(path, sizeof(path), "%s/config", name);
	make_text(f, path, "[core]\n\tbare = false\n");
}

/* root/m/.git and its linked worktree, which is the workspace. */
static void make_linked(struct fixture *f)
{
	char text[256];

	make_repository(f, "../m/.git");
	make_directory(f, "../m/.git/worktrees/ws");
	make_text(f, "../m/.git/worktrees/ws/HEAD", "ref: refs/heads/ws\n");
	make_text(f, "../m/.git/worktrees/ws/commondir", "../..\n");
	snprintf(text, sizeof(text), "%s/.git\n", f->workspace);
	make_text(f, "../m/.git/worktrees/ws/gitdir", text);
	make_text(f, ".git", "gitdir: ../m/.git/worktrees/ws\n");
}

static bool is_step_outside(const struct fixture *f, const char *name, enum rf_view_kind kind)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", f->root, name);
	return is_step(f, path, kind);
}

static const struct rf_effective *deny(const struct fixture *f)
{
	return &f->plan->promises[RF_PROMISE_FS_DENY];
}

/* ---- Here ------------------------------------------------------------------------------------ */

Test(git, a15_what_runs_later_is_closed_and_the_name_pinned)
{
	struct fixture f autofixture = fixture_new();

	make_repository(&f, ".git");
	must_plan(&f);
	cr_assert(f.plan->git == RF_GIT_PROTECT);
	cr_assert(is_step(&f, ".git", RF_VIEW_BIND));
	cr_assert(is_step(&f, ".git/hooks", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, ".git/config", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, ".git/info", RF_VIEW_BIND_RO));
	cr_assert_null(step_at(&f, ".git/objects"));
	cr_assert(f.plan->git_directories.count == 1);
	say(&f, "filesystem.git", "commit");
	must_plan(&f);
	cr_assert(is_step(&f, ".git/hooks", RF_VIEW_BIND_RO));
	say(&f, "filesystem.git", "read");
	must_plan(&f);
	cr_assert(is_step(&f, ".git", RF_VIEW_BIND_RO));
	cr_assert_null(step_at(&f, ".git/hooks"));
	cr_assert(deny(&f)->state == RF_STATE_ENFORCED);
	say(&f, "filesystem.git", "full");
	must_plan(&f);
	cr_assert_null(step_at(&f, ".git"));
	cr_assert_null(step_at(&f, ".git/hooks"));
}

Test(git, a15_nothing_is_done_where_there_is_no_repository)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "hooks");
	make_file(&f, "HEAD");
	must_plan(&f);
	cr_assert_null(step_at(&f, "hooks"));
	cr_assert(deny(&f)->state == RF_STATE_ENFORCED);
	cr_assert(f.plan->git_directories.count == 0);
}

Test(git, a15_a_missing_name_is_held_in_part)
{
	struct fixture f autofixture = fixture_new();

	make_repository(&f, ".git");
	must_plan(&f);
	cr_assert(deny(&f)->state == RF_STATE_PARTIAL);
	cr_assert(strstr(deny(&f)->why, ".git/branches"));
	/* As in every repository. */
	cr_assert(f.plan->warnings.count == 0 && f.plan->details.count == 1);
	/* config.worktree is one of them, whether git reads it yet or not. */
	cr_assert(strstr(deny(&f)->why, "and 5 more"));
	make_text(&f, ".git/config.worktree", "[core]\n\thooksPath = hk\n");
	make_directory(&f, "hk");
	must_plan(&f);
	cr_assert(strstr(deny(&f)->why, "and 4 more"));
	cr_assert(is_step(&f, ".git/config.worktree", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, "hk", RF_VIEW_BIND_RO));
	say(&f, "enforcement.require", "fs-deny");
	must_refuse(&f, "promise-unheld");
	/* Named by the policy itself it is refused as ever. */
	f.policy.require = 0;
	say(&f, "filesystem.protect", ".git/commondir");
	must_refuse(&f, "deny-missing-unheld");
}

Test(git, a15_the_policy_s_own_rules_come_first)
{
	struct fixture f autofixture = fixture_new();

	make_repository(&f, ".git");
	say(&f, "filesystem.deny", ".git");
	say(&f, "filesystem.git", "commit");
	must_plan(&f);
	cr_assert(is_step(&f, ".git", RF_VIEW_MASK));
	rf_policy_clear(&f.policy);
	say(&f, "filesystem.protect", ".git");
	say(&f, "filesystem.git", "commit");
	must_plan(&f);
	cr_assert(is_step(&f, ".git", RF_VIEW_BIND_RO));
	cr_assert_null(step_at(&f, ".git/hooks"));
	cr_assert(!has_warning(&f, "outside every write"));
}

Test(git, a15_read_only_is_opened_when_asked)
{
	struct fixture f autofixture = fixture_new();

	make_repository(&f, ".git");
	make_directory(&f, "src");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.read", "src");
	must_plan(&f);
	cr_assert_null(step_at(&f, ".git"));
	say(&f, "filesystem.git", "read");
	must_plan(&f);
	cr_assert(is_step(&f, ".git", RF_VIEW_BIND_RO));
	say(&f, "filesystem.git", "commit");
	must_plan(&f);
	cr_assert(is_step(&f, ".git", RF_VIEW_BIND));
	cr_assert(is_step(&f, ".git/hooks", RF_VIEW_BIND_RO));
}

Test(git, a15_a_write_inside_opens_no_closed_name)
{
	static const char *const accesses[] = {"protect", "commit", "read", NULL};
	struct fixture f autofixture = fixture_new();

	make_repository(&f, ".git");
	make_directory(&f, ".git/objects/info");
	make_text(&f, ".git/objects/info/alternates", "");
	for (size_t i = 0; accesses[i]; i++) {
		rf_policy_clear(&f.policy);
		say(&f, "mode", "read-only");
		say(&f, "filesystem.git", accesses[i]);
		say(&f, "filesystem.write", ".git/objects");
		say(&f, "filesystem.write", ".git/hooks");
		must_plan(&f);
		cr_assert(is_step(&f, ".git/objects", RF_VIEW_BIND) || i == 1);
		cr_assert(is_step(&f, ".git/objects/info/alternates", RF_VIEW_BIND_RO));
		cr_assert(!is_step(&f, ".git/hooks", RF_VIEW_BIND));
	}
}

Test(git, a15_what_a_linked_hook_leads_to_is_closed)
{
	static const char *const accesses[] = {"protect", "commit", "read", NULL};
	struct fixture f autofixture = fixture_new();

	make_repository(&f, ".git");
	make_directory(&f, "scripts/lib");
	make_file(&f, "scripts/pc");
	make_file(&f, "scripts/own");
	make_file(&f, ".git/hooks/plain");
	make_link(&f, "../../scripts/pc", ".git/hooks/pre-commit");
	make_link(&f, "../../scripts/lib", ".git/hooks/lib");
	make_directory(&f, "hk");
	make_link(&f, "../scripts/own", "hk/post-commit");
	make_text(&f, ".git/config", "[core]\n\thooksPath = hk\n");
	for (size_t i = 0; accesses[i]; i++) {
		rf_policy_clear(&f.policy);
		say(&f, "filesystem.git", accesses[i]);
		must_plan(&f);
		cr_assert(is_step(&f, "scripts/pc", RF_VIEW_BIND_RO));
		cr_assert(is_step(&f, "scripts/own", RF_VIEW_BIND_RO));
		cr_assert(is_step(&f, "scripts/lib", RF_VIEW_BIND));
		cr_assert(is_step(&f, "scripts", RF_VIEW_BIND));
	}
	cr_assert(deny(&f)->state == RF_STATE_ENFORCED);
	/* A link on the way that can be replaced. */
	make_link(&f, "scripts/pc", "by");
	make_link(&f, "../../by", ".git/hooks/update");
	must_plan(&f);
	cr_assert(deny(&f)->state == RF_STATE_PARTIAL);
	cr_assert(strstr(deny(&f)->why, "/by is a symbolic link"));
}

Test(git, a15_of_many_hooks_the_first_are_looked_at)
{
	struct fixture f autofixture = fixture_new();
	char name[32];

	make_repository(&f, ".git");
	say(&f, "filesystem.git", "read");
	for (unsigned int i = 0; i < 1001; i++) {
		snprintf(name, sizeof(name), ".git/hooks/h%04u", i);
		make_file(&f, name);
		if (i == 999)
			must_plan(&f);
	}
	cr_assert(deny(&f)->state == RF_STATE_ENFORCED);
	must_plan(&f);
	cr_assert(deny(&f)->state == RF_STATE_PARTIAL);
	cr_assert(strstr(deny(&f)->why, "1000"));
}

Test(git, a15_every_root_is_looked_at)
{
	struct fixture f autofixture = fixture_new();

	make_repository(&f, "a/.git");
	make_repository(&f, "b");
	make_repository(&f, "c/.git");
	say(&f, "filesystem.write", "a");
	say(&f, "filesystem.write", "b");
	must_plan(&f);
	cr_assert(is_step(&f, "a/.git/config", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, "b/config", RF_VIEW_BIND_RO));
	/* Not a root. */
	cr_assert_null(step_at(&f, "c/.git/config"));
}

Test(git, a15_of_a_long_list_the_first_are_looked_at)
{
	struct fixture f autofixture = fixture_new();
	char name[16];

	for (unsigned int i = 0; i < 1001; i++) {
		snprintf(name, sizeof(name), "d%04u", i);
		make_directory(&f, name);
		say(&f, "filesystem.write", name);
		if (i == 999)
			must_plan(&f);
	}
	cr_assert(deny(&f)->state == RF_STATE_ENFORCED);
	must_plan(&f);
	cr_assert(deny(&f)->state == RF_STATE_PARTIAL);
	cr_assert(strstr(deny(&f)->why, "1000") && f.plan->warnings.count == 0);
}

/* ---- Configuration --------------------------------------------------------------------------- */

Test(git, a15_where_the_configuration_leads_is_closed)
{
	struct fixture f autofixture = fixture_new();
	char path[128];

	make_repository(&f, ".git");
	make_directory(&f, "hk");
	make_directory(&f, "hk2");
	make_text(&f, "more", "[core]\n\thooksPath = ./hk2/\n");
	make_text(&f, ".git/config",
		"[include]\n\tpath = ../more\n[core]\n\thooksPath = hk\n"
		"[includeIf \"onbranch:x\"]\n\tpath = ../absent\n");
	must_plan(&f);
	cr_assert(is_step(&f, "more", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, "hk", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, "hk2", RF_VIEW_BIND_RO));
	cr_assert(strstr(deny(&f)->why, "absent") || strstr(deny(&f)->why, "and 6 more"));
	/* That of the user too. */
	make_text(&f, ".git/config", "");
	snprintf(path, sizeof(path), "%s/.gitconfig", f.home);
	make_file_at(path, "[core]\n\thooksPath = hk\n");
	must_plan(&f);
	cr_assert(is_step(&f, "hk", RF_VIEW_BIND_RO));
	cr_assert_null(step_at(&f, "hk2"));
}

static void make_worktree(struct fixture *f, const char *name, const char *gitdir)
{
	char path[128];

	snprintf(path, sizeof(path), ".git/worktrees/%s", name);
	make_directory(f, path);
	snprintf(path, sizeof(path), ".git/worktrees/%s/gitdir", name);
	make_text(f, path, gitdir);
}

Test(git, a15_relative_hooks_are_closed_in_every_work_tree)
{
	struct fixture f autofixture = fixture_new();

	make_repository(&f, ".git");
	make_text(&f, ".git/config", "[core]\n\thooksPath = hk\n");
	make_directory(&f, "hk");
	make_directory(&f, "wt/hk");
	make_directory(&f, "wt/own");
	make_worktree(&f, "wt", "../../../wt/.git\n");
	make_worktree(&f, "none", "");
	make_text(&f, ".git/worktrees/wt/config.worktree", "[core]\n\thooksPath = own\n");
	say(&f, "filesystem.git", "read");
	must_plan(&f);
	cr_assert(is_step(&f, "hk", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, "wt/hk", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, "wt/own", RF_VIEW_BIND_RO));
	cr_assert(deny(&f)->state == RF_STATE_ENFORCED);
	make_text(&f, ".git/config", "[core]\n\thooksPath = .\n");
	must_plan(&f);
	cr_assert(deny(&f)->state == RF_STATE_PARTIAL);
	cr_assert(!is_step(&f, "wt", RF_VIEW_BIND_RO));
}

Test(git, a15_of_many_work_trees_the_first_are_looked_at)
{
	struct fixture f autofixture = fixture_new();
	char name[32];

	make_repository(&f, ".git");
	make_text(&f, ".git/config", "[core]\n\thooksPath = /nowhere\n");
	say(&f, "filesystem.git", "read");
	for (unsigned int i = 0; i < 1001; i++) {
		snprintf(name, sizeof(name), "w%04u", i);
		make_worktree(&f, name, "/nowhere/.git\n");
		if (i == 999)
			must_plan(&f);
	}
	cr_assert(deny(&f)->state == RF_STATE_ENFORCED);
	must_plan(&f);
	cr_assert(deny(&f)->state == RF_STATE_PARTIAL);
	cr_assert(strstr(deny(&f)->why, "1000"));
}

/* Also in the main one, which lies in the linked. */
Test(git, a15_relative_hooks_are_closed_from_a_linked_worktree)
{
	struct fixture f autofixture = fixture_new();

	make_repository(&f, "m/.git");
	make_directory(&f, "m/.git/worktrees/ws");
	make_text(&f, "m/.git/worktrees/ws/gitdir", "../../../../.git\n");
	make_text(&f, "m/.git/worktrees/ws/commondir", "../..\n");
	make_text(&f, ".git", "gitdir: m/.git/worktrees/ws\n");
	make_text(&f, "m/.git/config", "[core]\n\thooksPath = hk\n");
	make_directory(&f, "hk");
	make_directory(&f, "m/hk");
	must_plan(&f);
	cr_assert(is_step(&f, "hk", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, "m/hk", RF_VIEW_BIND_RO));
}

Test(git, a15_what_cannot_be_told_is_said)
{
	static const char *const texts[] = {"[core\n", "[core]\n\thooksPath = ~nobody/x\n",
		"[core]\n\thooksPath = .\n", "[include]\n\tpath = config\n", NULL};
	struct fixture f autofixture = fixture_new();

	make_repository(&f, ".git");
	say(&f, "filesystem.git", "read");
	for (size_t i = 0; texts[i]; i++) {
		make_text(&f, ".git/config", texts[i]);
		must_plan(&f);
		cr_assert(deny(&f)->state == RF_STATE_PARTIAL, "%s", texts[i]);
	}
}

Test(git, a15_what_lies_above_leads_into_the_workspace)
{
	struct fixture f autofixture = fixture_new();

	make_repository(&f, "../.git");
	make_text(&f, "../.git/config", "[core]\n\thooksPath = ws/hk\n");
	make_directory(&f, "hk");
	say(&f, "filesystem.git", "full");
	must_plan(&f);
	cr_assert(is_step(&f, "hk", RF_VIEW_BIND_RO));
	cr_assert(!is_step_outside(&f, ".git", RF_VIEW_BIND));
	cr_assert(f.plan->git_directories.count == 0);
}

/* git passes over what is no repository, and an earlier run can have made it. */
Test(git, a15_what_lies_above_counts_whatever_lies_between)
{
	struct fixture f autofixture = fixture_new();

	make_repository(&f, "../.git");
	make_text(&f, "../.git/config", "[core]\n\thooksPath = ws/hk\n");
	make_directory(&f, "hk");
	make_directory(&f, ".git");
	must_plan(&f);
	cr_assert(is_step(&f, "hk", RF_VIEW_BIND_RO));
	make_directory(&f, "objects");
	make_directory(&f, "refs");
	make_text(&f, "HEAD", "junk\n");
	must_plan(&f);
	cr_assert(is_step(&f, "hk", RF_VIEW_BIND_RO));
}

Test(git, a15_a_bare_repository_stays_one)
{
	struct fixture f autofixture = fixture_new();

	make_repository(&f, ".");
	must_plan(&f);
	cr_assert(is_step(&f, "hooks", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, "config", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, "objects", RF_VIEW_BIND));
	cr_assert(is_step(&f, "refs", RF_VIEW_BIND));
	make_directory(&f, ".git");
	must_plan(&f);
	cr_assert(is_step(&f, "hooks", RF_VIEW_BIND_RO));
}

/* ---- Elsewhere ------------------------------------------------------------------------------- */

Test(git, a15_a_linked_worktree_is_opened_when_asked)
{
	struct fixture f autofixture = fixture_new();

	make_linked(&f);
	make_directory(&f, "../m/.git/worktrees/other");
	must_plan(&f);
	cr_assert(has_warning(&f, "--git read or --git commit"));
	cr_assert(is_step(&f, ".git", RF_VIEW_BIND_RO));
	cr_assert(!is_step_outside(&f, "m/.git", RF_VIEW_BIND));
	say(&f, "filesystem.git", "commit");
	must_plan(&f);
	cr_assert(!has_warning(&f, "--git read or"));
	cr_assert(is_step_outside(&f, "m/.git", RF_VIEW_BIND));
	cr_assert(is_step_outside(&f, "m/.git/hooks", RF_VIEW_BIND_RO));
	cr_assert(is_step_outside(&f, "m/.git/HEAD", RF_VIEW_BIND_RO));
	cr_assert(is_step_outside(&f, "m/.git/worktrees", RF_VIEW_BIND_RO));
	cr_assert(is_step_outside(&f, "m/.git/worktrees/ws", RF_VIEW_BIND));
	cr_assert(is_step_outside(&f, "m/.git/worktrees/ws/commondir", RF_VIEW_BIND_RO));
	cr_assert(is_step_outside(&f, "m/.git/worktrees/ws/gitdir", RF_VIEW_BIND_RO));
	cr_assert(!is_step_outside(&f, "m/.git/worktrees/ws/HEAD", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, ".git", RF_VIEW_BIND_RO));
	cr_assert(f.plan->git_directories.count == 2);
	say(&f, "filesystem.git", "full");
	must_plan(&f);
	cr_assert(is_step_outside(&f, "m/.git", RF_VIEW_BIND));
	cr_assert(!is_step_outside(&f, "m/.git/hooks", RF_VIEW_BIND_RO));
	say(&f, "filesystem.git", "read");
	must_plan(&f);
	cr_assert(is_step_outside(&f, "m/.git", RF_VIEW_BIND_RO));
	cr_assert(deny(&f)->state == RF_STATE_ENFORCED);
}

Test(git, a15_a_submodule_is_opened_when_asked)
{
	struct fixture f autofixture = fixture_new();

	make_repository(&f, "../.git/modules/ws");
	make_text(&f, "../.git/modules/ws/config", "[core]\n\tworktree = ../../../ws\n");
	make_text(&f, ".git", "gitdir: ../.git/modules/ws\n");
	say(&f, "filesystem.git", "commit");
	must_plan(&f);
	cr_assert(is_step_outside(&f, ".git/modules/ws", RF_VIEW_BIND));
	cr_assert(is_step_outside(&f, ".git/modules/ws/config", RF_VIEW_BIND_RO));
	cr_assert(!is_step_outside(&f, ".git", RF_VIEW_BIND));
	make_text(&f, "../.git/modules/ws/config", "[core]\n\tworktree = ../../../home\n");
	must_refuse(&f, "git-directory-refused");
	make_text(&f, "../.git/modules/ws/config", "[core]\n");
	must_refuse(&f, "git-directory-refused");
}

Test(git, a15_each_pointer_is_checked)
{
	static const struct {
		const char *name;
		const char *text;
	} forged[] = {
		{".git", "gitdir: ../m/.git\n"},
		{".git", "gitdir: ../m/.git/worktrees/none\n"},
		{".git", "gitdir: /\n"},
		{".git", "gitdir: \n"},
		{".git", "../m/.git/worktrees/ws\n"},
		{"../m/.git/worktrees/ws/gitdir", "/nowhere/.git\n"},
		{"../m/.git/worktrees/ws/gitdir", ""},
		{"../m/.git/worktrees/ws/commondir", "..\n"},
		{"../m/.git/worktrees/ws/commondir", "/\n"},
		{"../m/.git/worktrees/ws/commondir", "../../../../home\n"},
		{NULL, NULL},
	};
	struct fixture f autofixture = fixture_new();

	make_linked(&f);
	say(&f, "filesystem.git", "commit");
	must_plan(&f);
	for (size_t i = 0; forged[i].name; i++) {
		make_text(&f, forged[i].name, forged[i].text);
		must_refuse(&f, "git-directory-refused");
		f.policy.git = RF_GIT_UNSET;
		must_plan(&f);
		f.policy.git = RF_GIT_COMMIT;
		make_linked(&f);
	}
	must_plan(&f);
}

Test(git, a15_a_link_is_no_pointer)
{
	struct fixture f autofixture = fixture_new();

	make_linked(&f);
	must_plan(&f);
	cr_assert(unlink(step_at(&f, ".git")->source) == 0);
	make_link(&f, "../m/.git", ".git");
	say(&f, "filesystem.git", "commit");
	must_refuse(&f, "git-directory-refused");
	say(&f, "filesystem.git", "protect");
	must_plan(&f);
	cr_assert(deny(&f)->state == RF_STATE_PARTIAL);
	cr_assert(has_warning(&f, "symbolic link that the command could replace"));
}

Test(git, a15_what_is_denied_or_holds_the_workspace_is_not_opened)
{
	struct fixture f autofixture = fixture_new();
	char path[128];

	make_linked(&f);
	snprintf(path, sizeof(path), "%s/m", f.root);
	say(&f, "filesystem.deny", path);
	say(&f, "filesystem.git", "commit");
	must_refuse(&f, "git-directory-refused");
	rf_policy_clear(&f.policy);
	/* The root of the test is made a repository that the workspace is a worktree of. */
	make_repository(&f, "..");
	make_directory(&f, "../worktrees/ws");
	make_text(&f, "../worktrees/ws/HEAD", "x\n");
	make_text(&f, "../worktrees/ws/commondir", "../..\n");
	make_text(&f, "../worktrees/ws/gitdir", "../../ws/.git\n");
	make_text(&f, ".git", "gitdir: ../worktrees/ws\n");
	say(&f, "filesystem.git", "commit");
	must_refuse(&f, "git-directory-refused");
	cr_assert_not_null(strstr(f.diag.message, "holds the workspace"));
}

/* What the hooks on files hold is held; what nobody can tell is not. */
Test(git, a15_with_the_hooks_missing_names_are_held_and_the_untold_is_not)
{
	struct fixture f autofixture = fixture_new();

	f.facts.mechanisms[RF_MECHANISM_BPF_LSM] = (struct rf_fact){.state = RF_STATE_ENFORCED};
	f.facts.file_hooks.state = RF_STATE_ENFORCED;
	make_repository(&f, ".git");
	must_plan(&f);
	cr_assert_eq(deny(&f)->state, RF_STATE_ENFORCED, "%s", deny(&f)->why);
	cr_assert(deny(&f)->by & 1U << RF_MECHANISM_BPF_LSM);
	make_text(&f, ".git/config", "[core]\n\thooksPath = ~nobody/hooks\n");
	must_plan(&f);
	cr_assert_eq(deny(&f)->state, RF_STATE_PARTIAL);
	cr_assert_not_null(strstr(deny(&f)->why, "~nobody/hooks"));
}
