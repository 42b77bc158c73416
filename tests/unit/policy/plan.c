/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The planner on an invented host: paths. What holds the promises is in promises.c. */

#include "base/path.h"
#include "fixture.h"
#include "policy/keys.h"

static bool has_rule(const struct fixture *f, const char *path, enum rf_access access)
{
	for (size_t i = 0; i < f->plan->n_rules; i++) {
		if (strcmp(f->plan->rules[i].path, path) == 0 && f->plan->rules[i].access == access)
			return true;
	}
	return false;
}

static size_t position(const struct fixture *f, const char *path, enum rf_view_kind kind)
{
	for (size_t i = 0; i < f->plan->n_view; i++) {
		if (f->plan->view[i].kind == kind &&
			strcmp(f->plan->view[i].destination, path) == 0)
			return i;
	}
	cr_assert_fail("no step at %s", path);
	return 0;
}

/* ---- A2 ----------------------------------------------------------------------------------------
 */

Test(plan, a2_workspace_write_is_the_default)
{
	struct fixture f autofixture = fixture_new();

	must_plan(&f);
	cr_assert(f.plan->mode == RF_MODE_WORKSPACE_WRITE);
	cr_assert(f.plan->posture == RF_POSTURE_LOOPBACK);
	cr_assert(is_step(&f, "", RF_VIEW_BIND));
	cr_assert(has_rule(&f, f.workspace, RF_ACCESS_WRITE));
}

Test(plan, a2_read_only_reads_the_whole_workspace_unless_reads_are_named)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "a");
	say(&f, "mode", "read-only");
	must_plan(&f);
	cr_assert(is_step(&f, "", RF_VIEW_BIND_RO));
	say(&f, "filesystem.read", "a");
	must_plan(&f);
	cr_assert(is_step(&f, "", RF_VIEW_TMPFS));
	cr_assert(is_step(&f, "a", RF_VIEW_BIND_RO));
	cr_assert(position(&f, f.workspace, RF_VIEW_REMOUNT_RO) >
		  position(&f, f.workspace, RF_VIEW_TMPFS));
	cr_assert(!has_rule(&f, f.workspace, RF_ACCESS_READ));
	/* A read that is not there is still a read that was named. */
	rf_policy_clear(&f.policy);
	say(&f, "mode", "read-only");
	say(&f, "filesystem.read", "nope");
	must_plan(&f);
	cr_assert(is_step(&f, "", RF_VIEW_TMPFS));
}

Test(plan, a2_full_access_confines_nothing_and_says_so)
{
	struct fixture f autofixture = fixture_new();
	json_t *json;

	f.environment[1] = "SECRET=x";
	say(&f, "mode", "full-access");
	must_plan(&f);
	cr_assert(f.plan->n_view == 0 && f.plan->n_rules == 0);
	cr_assert(f.plan->posture == RF_POSTURE_OPEN);
	cr_assert_str_eq(variable(&f, "SECRET"), "x");
	cr_assert_null(variable(&f, "HOME"));
	json = rf_plan_enforcement_to_json(f.plan, &f.facts);
	cr_assert_str_eq(json_string_value(json_object_get(json, "level")), "none");
	json_decref(json);
	say(&f, "filesystem.deny", "x");
	must_refuse(&f, "contradiction");
}

/* ---- A3 ----------------------------------------------------------------------------------------
 */

Test(plan, a3_a_root_that_cannot_be_used_is_refused)
{
	struct fixture f autofixture = fixture_new();

	make_file(&f, "file");
	say(&f, "workspace", "/");
	must_refuse(&f, "workspace-root");
	say(&f, "workspace", "nope");
	must_refuse(&f, "workspace-unusable");
	say(&f, "workspace", "file");
	must_refuse(&f, "workspace-unusable");
	say(&f, "workspace", "/proc");
	must_refuse(&f, "workspace-unusable");
	say(&f, "workspace", "/..");
	must_refuse(&f, "workspace-root");
}

Test(plan, a3_an_alias_of_the_root_names_the_same_tree)
{
	struct fixture f autofixture = fixture_new();
	char alias[128];
	char name[256];

	make_directory(&f, "a");
	snprintf(alias, sizeof(alias), "%s/alias", f.root);
	cr_assert(symlink("ws", alias) == 0);
	say(&f, "mode", "read-only");
	say(&f, "workspace", alias);
	snprintf(name, sizeof(name), "%s/a", alias);
	say(&f, "filesystem.write", name);
	must_plan(&f);
	cr_assert_str_eq(f.plan->workspace, f.workspace);
	cr_assert_str_eq(f.plan->workspace_alias, alias);
	cr_assert(is_step(&f, "a", RF_VIEW_BIND));
	cr_assert(is_step(&f, alias, RF_VIEW_SYMLINK));
	cr_assert_str_eq(step_at(&f, alias)->data, "ws");
	/* The canonical spelling works just as well. */
	rf_strv_clear(&f.policy.write);
	snprintf(name, sizeof(name), "%s/a", f.workspace);
	say(&f, "filesystem.write", name);
	must_plan(&f);
	cr_assert(is_step(&f, "a", RF_VIEW_BIND));
}

Test(plan, a3_the_working_directory_lies_in_the_workspace_and_exists)
{
	struct fixture f autofixture = fixture_new();
	char wanted[256];

	make_directory(&f, "a/b");
	make_directory(&f, "c");
	make_file(&f, "f");
	make_link(&f, "/etc", "out");
	make_link(&f, "a/b", "in");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.read", "c");
	say(&f, "directory", "in");
	must_plan(&f);
	snprintf(wanted, sizeof(wanted), "%s/a/b", f.workspace);
	cr_assert_str_eq(f.plan->directory, wanted);
	cr_assert_str_eq(variable(&f, "PWD"), wanted);
	cr_assert(is_step(&f, "a/b", RF_VIEW_DIRECTORY));
	say(&f, "directory", "out");
	must_refuse(&f, "directory-unusable");
	say(&f, "directory", "..");
	must_refuse(&f, "directory-unusable");
	say(&f, "directory", "f");
	must_refuse(&f, "directory-unusable");
	say(&f, "directory", "nope");
	must_refuse(&f, "directory-unusable");
	say(&f, "directory", "c");
	say(&f, "filesystem.deny", "c");
	must_refuse(&f, "directory-unusable");
}

/* ---- A4 ----------------------------------------------------------------------------------------
 */

Test(plan, a4_f_36_reads_that_are_not_there_are_dropped_with_a_warning)
{
	struct fixture f autofixture = fixture_new();

	make_link(&f, "nowhere", "dangling");
	say(&f, "filesystem.external_read", "/lib99");
	say(&f, "filesystem.read", "nope");
	say(&f, "filesystem.read", "../home");
	say(&f, "filesystem.read", "/etc");
	say(&f, "filesystem.read", "dangling");
	must_plan(&f);
	cr_assert(f.plan->warnings.count == 5);
	cr_assert(has_warning(&f, "/lib99") && has_warning(&f, "nope") &&
		  has_warning(&f, "../home") && has_warning(&f, "/etc") &&
		  has_warning(&f, "dangling"));
	cr_assert_null(step_at(&f, f.home));
}

Test(plan, a4_f_31_a_link_out_of_the_workspace_grants_its_target)
{
	struct fixture f autofixture = fixture_new();

	make_link(&f, "../home", "l");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.read", "l");
	must_plan(&f);
	cr_assert(is_step(&f, "l", RF_VIEW_SYMLINK));
	cr_assert_str_eq(step_at(&f, "l")->data, "../home");
	cr_assert(is_step(&f, f.home, RF_VIEW_BIND_RO));
	say(&f, "strict", "true");
	say(&f, "enforcement.waive", "denial-record");
	must_plan(&f);
	cr_assert_null(step_at(&f, f.home));
	cr_assert(has_warning(&f, "strict"));
}

Test(plan, a4_a_link_to_what_contains_the_workspace_grants_nothing)
{
	struct fixture f autofixture = fixture_new();

	make_link(&f, "/", "root");
	make_link(&f, "..", "up");
	make_link(&f, "/proc", "proc");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.read", "root");
	say(&f, "filesystem.read", "up");
	say(&f, "filesystem.read", "proc");
	must_plan(&f);
	cr_assert(f.plan->warnings.count == 3);
	cr_assert(!is_step(&f, "/", RF_VIEW_BIND_RO));
	cr_assert(!is_step(&f, f.root, RF_VIEW_BIND_RO));
}

Test(plan, a4_an_external_read_is_absolute_and_outside)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "a");
	cr_assert(rf_strv_add(&f.policy.external_read, "relative") == 0);
	must_refuse(&f, "external-read-relative");
	rf_strv_clear(&f.policy.external_read);
	say(&f, "filesystem.external_read", f.workspace);
	say(&f, "filesystem.external_read", "/tmp");
	say(&f, "filesystem.external_read", "/proc/sys");
	must_plan(&f);
	cr_assert(f.plan->warnings.count == 3);
}

/* ---- A5, A6 ------------------------------------------------------------------------------------
 */

Test(plan, a5_write_through_symlink_is_refused)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "a/b");
	make_link(&f, "a", "l");
	make_link(&f, "nowhere", "dangling");
	make_link(&f, "/etc", "out");
	{
		static const char *const all[] = {
			"l", "l/b", "l/new", "dangling", "dangling/x", "out", "a/../l", "./l/"};

		for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++) {
			rf_strv_clear(&f.policy.write);
			say(&f, "filesystem.write", all[i]);
			must_refuse(&f, "write-through-symlink");
			cr_assert(strstr(f.diag.message, all[i]), "%s", f.diag.message);
			cr_assert_str_eq(f.diag.path, all[i]);
			cr_assert(strstr(f.diag.message, f.workspace), "%s", f.diag.message);
		}
	}
	rf_strv_clear(&f.policy.write);
	say(&f, "filesystem.write_files", "l/f");
	must_refuse(&f, "write-through-symlink");
}

Test(plan, a5_f_75_a_write_that_leaves_the_root_is_refused)
{
	static const char *const all[] = {"../x", "..", "a/../../x", "/etc", "/"};
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "a");
	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++) {
		rf_strv_clear(&f.policy.write);
		say(&f, "filesystem.write", all[i]);
		must_refuse(&f, "write-outside");
	}
}

Test(plan, a6_a_write_of_a_file_opens_its_parent)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "c");
	make_file(&f, "c/f.d");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.write", "c/f.d");
	must_plan(&f);
	cr_assert(is_step(&f, "c", RF_VIEW_BIND));
	cr_assert_null(step_at(&f, "c/f.d"));
}

Test(plan, a6_f_38_a_write_file_opens_its_parent)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "c/sub");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.write_files", "c/f");
	must_plan(&f);
	cr_assert(is_step(&f, "c", RF_VIEW_BIND));
	rf_strv_clear(&f.policy.write_files);
	say(&f, "filesystem.write_files", "c/sub");
	must_refuse(&f, "write-file-directory");
}

Test(plan, a6_f_36_a_missing_write_is_made_at_the_start_and_unmade_on_failure)
{
	struct fixture f autofixture = fixture_new();
	struct rf_strv made rf_autostrv = {0};
	char path[256];
	struct stat st;

	say(&f, "mode", "read-only");
	say(&f, "filesystem.write", "new/d");
	must_plan(&f);
	snprintf(path, sizeof(path), "%s/new", f.workspace);
	cr_assert(stat(path, &st) < 0, "planning has no effects");
	cr_assert(f.plan->create.count == 1);
	cr_assert_str_eq(f.plan->create.items[0], "new/d");
	cr_assert(step_at(&f, "new/d")->source_fd == -1);
	cr_assert(rf_plan_make_directories(f.plan, &made, &f.diag) == 0);
	cr_assert(made.count == 2);
	cr_assert(step_at(&f, "new/d")->source_fd >= 0);
	cr_assert(stat(path, &st) == 0);
	rf_plan_unmake_directories(f.plan, &made);
	cr_assert(stat(path, &st) < 0);
}

Test(plan, a6_a_directory_that_cannot_be_made_leaves_nothing)
{
	struct fixture f autofixture = fixture_new();
	struct rf_strv made rf_autostrv = {0};
	char path[256];
	struct stat st;

	say(&f, "mode", "read-only");
	say(&f, "filesystem.write", "one/two");
	say(&f, "filesystem.write", "three/four");
	must_plan(&f);
	/* In between somebody puts a link where a directory was to be made. */
	make_link(&f, "/etc", "three");
	cr_assert(rf_plan_make_directories(f.plan, &made, &f.diag) == RF_REFUSED);
	cr_assert_str_eq(f.diag.code, "write-unresolvable");
	snprintf(path, sizeof(path), "%s/one", f.workspace);
	cr_assert(stat(path, &st) < 0);
	cr_assert(made.count == 0);
}

Test(plan, a6_a_missing_write_below_another_is_made_too)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "filesystem.write", "new/d");
	must_plan(&f);
	cr_assert(f.plan->create.count == 1);
	cr_assert_str_eq(f.plan->create.items[0], "new/d");
	cr_assert_null(step_at(&f, "new/d"), "it needs no mount of its own");
	make_file(&f, "file");
	say(&f, "filesystem.write", "file/x");
	must_refuse(&f, "write-unresolvable");
}

/* ---- A7 ----------------------------------------------------------------------------------------
 */

Test(plan, a7_f_34_a_missing_name_that_cannot_be_held_is_refused_unless_waived)
{
	static const char *const keys[] = {"filesystem.deny", "filesystem.protect"};
	struct fixture f autofixture = fixture_new();

	for (size_t i = 0; i < RF_ARRAY_SIZE(keys); i++) {
		rf_policy_clear(&f.policy);
		say(&f, keys[i], ".bashrc");
		must_refuse(&f, "deny-missing-unheld");
		cr_assert_str_eq(f.diag.promise, "fs-deny");
		cr_assert(strstr(f.diag.hint, "--waive fs-deny"));
		cr_assert(strstr(f.diag.path, ".bashrc"));
		say(&f, "enforcement.waive", "fs-deny");
		must_plan(&f);
		cr_assert(f.plan->waived == 1U << RF_PROMISE_FS_DENY);
		cr_assert(has_warning(&f, "waived: fs-deny"));
		cr_assert_null(step_at(&f, ".bashrc"));
	}
}

Test(plan, a7_a_missing_name_where_nothing_is_writable_is_reported_in_part)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "mode", "read-only");
	say(&f, "filesystem.deny", ".env");
	must_plan(&f);
	cr_assert(f.plan->promises[RF_PROMISE_FS_DENY].state == RF_STATE_PARTIAL);
	say(&f, "enforcement.require", "fs-deny");
	must_refuse(&f, "promise-unheld");
}

Test(plan, a7_f_32_a_denied_symlink_closes_its_target_and_never_aborts)
{
	struct fixture f autofixture = fixture_new();

	make_link(&f, "/nope/.env", ".env");
	say(&f, "filesystem.deny", ".env");
	must_plan(&f);
	cr_assert(f.plan->promises[RF_PROMISE_FS_DENY].state == RF_STATE_PARTIAL);
	cr_assert(strstr(f.plan->promises[RF_PROMISE_FS_DENY].why, ".env"));
	make_file(&f, "real");
	make_link(&f, "real", "k");
	say(&f, "filesystem.deny", "k");
	must_plan(&f);
	cr_assert(is_step(&f, "real", RF_VIEW_MASK));
	cr_assert(!step_at(&f, "real")->is_directory);
}

Test(plan, a7_f_35_a_denied_directory_is_masked)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "d/s");
	say(&f, "filesystem.read", "d");
	say(&f, "filesystem.deny", "d/s");
	must_plan(&f);
	cr_assert(is_step(&f, "d/s", RF_VIEW_MASK));
	cr_assert(step_at(&f, "d/s")->is_directory);
	cr_assert(is_step(&f, "d", RF_VIEW_BIND));
}

Test(plan, a7_a_denial_outside_the_workspace_narrows_what_else_is_open)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "filesystem.deny", "/usr/share");
	say(&f, "filesystem.deny", "../home");
	must_plan(&f);
	cr_assert(is_step(&f, "/usr/share", RF_VIEW_MASK));
	cr_assert_null(step_at(&f, f.home));
}

Test(plan, a7_a_protected_path_outside_every_write_warns)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "p");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.protect", "p");
	must_plan(&f);
	cr_assert(has_warning(&f, "outside every write"));
}

Test(plan, b3_f_37_a_protected_directory_is_a_mount_of_its_own)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "keep");
	say(&f, "filesystem.protect", "keep");
	must_plan(&f);
	cr_assert(is_step(&f, "keep", RF_VIEW_BIND_RO));
}

Test(plan, b3_f_39_a_read_of_a_file_is_a_file)
{
	struct fixture f autofixture = fixture_new();
	char path[256];

	make_file(&f, "f");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.read", "f");
	must_plan(&f);
	cr_assert(is_step(&f, "f", RF_VIEW_BIND_RO) && !step_at(&f, "f")->is_directory);
	snprintf(path, sizeof(path), "%s/f", f.workspace);
	cr_assert(has_rule(&f, path, RF_ACCESS_READ));
}

Test(plan, a7_b11_f_40_a_denial_is_held_by_mounts_and_not_by_landlock)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "d");
	say(&f, "filesystem.deny", "d");
	must_plan(&f);
	cr_assert(f.plan->promises[RF_PROMISE_FS_DENY].state == RF_STATE_ENFORCED);
	cr_assert(f.plan->promises[RF_PROMISE_FS_DENY].by == 1U << RF_MECHANISM_MOUNT_NAMESPACE);
}

/* ---- A9, A10, A17 ------------------------------------------------------------------------------
 */

Test(plan, a9_f_41_merged_usr_is_one_tree_under_both_spellings)
{
	struct fixture f autofixture = fixture_new();
	struct stat st;

	say(&f, "filesystem.external_read", "/bin");
	say(&f, "filesystem.external_read", "/usr/bin");
	must_plan(&f);
	cr_assert(is_step(&f, "/usr", RF_VIEW_BIND_RO));
	cr_assert_null(step_at(&f, "/usr/bin"));
	cr_assert(lstat("/bin", &st) == 0);
	cr_assert(is_step(&f, "/bin", S_ISLNK(st.st_mode) ? RF_VIEW_SYMLINK : RF_VIEW_BIND_RO));
}

Test(plan, a9_only_what_exists_is_read)
{
	struct fixture f autofixture = fixture_new();

	must_plan(&f);
	for (size_t i = 0; i < f.plan->n_view; i++) {
		const struct rf_view_step *step = &f.plan->view[i];
		char *real rf_autofree = NULL;

		if (!step->source)
			continue;
		real = realpath(step->source, NULL);
		cr_assert_not_null(real, "%s", step->source);
		/* F-33: canonical, so that bubblewrap's version plays no part. */
		cr_assert_str_eq(real, step->source);
		cr_assert_str_eq(real, step->destination);
	}
	cr_assert_null(step_at(&f, "/home"));
	cr_assert(!is_step(&f, "/", RF_VIEW_BIND_RO));
}

static void make_credentials(struct fixture *f)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/.ssh", f->home);
	cr_assert(mkdir(path, 0700) == 0);
	snprintf(path, sizeof(path), "%s/.ssh/config", f->home);
	make_file_at(path, "x");
	snprintf(path, sizeof(path), "%s/.netrc", f->home);
	make_file_at(path, "x");
	snprintf(path, sizeof(path), "%s/.cargo", f->home);
	cr_assert(mkdir(path, 0700) == 0);
	snprintf(path, sizeof(path), "%s/.cargo/credentials.toml", f->home);
	make_file_at(path, "x");
	snprintf(path, sizeof(path), "%s/dotfiles-npmrc", f->home);
	make_file_at(path, "x");
	snprintf(path, sizeof(path), "%s/.npmrc", f->home);
	cr_assert(symlink("dotfiles-npmrc", path) == 0);
}

static bool is_masked(const struct fixture *f, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", f->home, name);
	return is_step(f, path, RF_VIEW_MASK);
}

Test(plan, a10_f_59_credentials_stay_closed_under_broad_grants)
{
	struct fixture f autofixture = fixture_new();
	char path[256];

	make_credentials(&f);
	must_plan(&f);
	cr_assert(!is_masked(&f, ".netrc"), "nothing there is open at all");
	say(&f, "filesystem.external_read", f.home);
	must_plan(&f);
	cr_assert(is_masked(&f, ".netrc") && is_masked(&f, ".ssh"));
	cr_assert(is_masked(&f, ".cargo/credentials.toml"));
	cr_assert(is_masked(&f, "dotfiles-npmrc"), "the canonical target");
	/* An explicit external read opens just the one it names. */
	snprintf(path, sizeof(path), "%s/.netrc", f.home);
	say(&f, "filesystem.external_read", path);
	must_plan(&f);
	cr_assert(!is_masked(&f, ".netrc") && is_masked(&f, ".ssh"));
}

Test(plan, a10_f_59_the_home_as_workspace_keeps_them_closed)
{
	struct fixture f autofixture = fixture_new();
	char path[256];

	make_credentials(&f);
	say(&f, "workspace", f.home);
	say(&f, "filesystem.read", ".netrc");
	must_plan(&f);
	cr_assert(is_masked(&f, ".netrc") && is_masked(&f, ".ssh"));
	/* Its directory cannot be moved away: it is pinned. */
	snprintf(path, sizeof(path), "%s/.cargo", f.home);
	cr_assert(is_step(&f, path, RF_VIEW_BIND));
}

Test(plan, a17_the_view_is_complete_enough)
{
	struct fixture f autofixture = fixture_new();

	f.facts.uid = 1000;
	f.facts.gid = 1000;
	f.facts.has_sys_admin = false;
	snprintf(f.facts.user_name, sizeof(f.facts.user_name), "somebody");
	must_plan(&f);
	cr_assert(is_step(&f, "/etc/passwd", RF_VIEW_DATA));
	cr_assert(strstr(step_at(&f, "/etc/passwd")->data, "somebody:x:1000:1000:"));
	cr_assert(strstr(step_at(&f, "/etc/passwd")->data, "root:x:0:0:"));
	cr_assert(strstr(step_at(&f, "/etc/passwd")->data, "nobody:x:65534:"));
	cr_assert(strstr(step_at(&f, "/etc/group")->data, "somebody:x:1000:"));
	{
		static const char *const all[] = {"/tmp", "/var/tmp", "/run", "/dev/shm"};

		for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++) {
			cr_assert(is_step(&f, all[i], RF_VIEW_TMPFS), "%s", all[i]);
			cr_assert(step_at(&f, all[i])->perms == 01777);
			cr_assert(has_rule(&f, all[i], RF_ACCESS_WRITE));
		}
	}
	cr_assert(f.plan->has_user_namespace);
	say(&f, "filesystem.device", "/dev/full");
	must_plan(&f);
	cr_assert(is_step(&f, "/dev/full", RF_VIEW_BIND_DEV));
	say(&f, "filesystem.device", "/dev/no-such");
	must_refuse(&f, "device-unusable");
	rf_strv_clear(&f.policy.device);
	say(&f, "filesystem.device", "/etc/passwd");
	must_refuse(&f, "device-unusable");
}

Test(plan, a17_only_root_runs_a_command_as_somebody_else)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "user", "nobody");
	must_plan(&f);
	cr_assert(f.plan->changes_user && f.plan->uid == 65534);
	cr_assert_str_eq(variable(&f, "USER"), "nobody");
	say(&f, "user", "4000000");
	must_plan(&f);
	cr_assert(f.plan->uid == 4000000 && f.plan->gid == 4000000);
	say(&f, "user", "no-such-user-here");
	must_refuse(&f, "user-unusable");
	say(&f, "user", "nobody");
	f.facts.uid = 1000;
	f.facts.gid = 1000;
	must_refuse(&f, "user-unusable");
}

/* ---- B2, B14 -----------------------------------------------------------------------------------
 */

Test(plan, b2_the_steps_come_in_order)
{
	struct fixture f autofixture = fixture_new();
	char w[256];
	char p[256];
	char d[256];

	make_directory(&f, "r");
	make_directory(&f, "w/p");
	make_directory(&f, "w/d");
	snprintf(w, sizeof(w), "%s/w", f.workspace);
	snprintf(p, sizeof(p), "%s/w/p", f.workspace);
	snprintf(d, sizeof(d), "%s/w/d", f.workspace);
	say(&f, "mode", "read-only");
	say(&f, "filesystem.external_read", "/var");
	say(&f, "filesystem.external_read", "/opt");
	say(&f, "filesystem.read", "r");
	say(&f, "filesystem.write", "w");
	say(&f, "filesystem.protect", "w/p");
	say(&f, "filesystem.deny", "w/d");
	must_plan(&f);
	cr_assert(position(&f, "/var", RF_VIEW_BIND_RO) < position(&f, "/usr", RF_VIEW_BIND_RO));
	cr_assert(position(&f, "/usr", RF_VIEW_BIND_RO) < position(&f, "/dev", RF_VIEW_DEV));
	cr_assert(position(&f, "/dev", RF_VIEW_DEV) < position(&f, "/proc", RF_VIEW_PROC));
	cr_assert(position(&f, "/proc", RF_VIEW_PROC) < position(&f, "/tmp", RF_VIEW_TMPFS));
	cr_assert(position(&f, "/tmp", RF_VIEW_TMPFS) < position(&f, f.workspace, RF_VIEW_TMPFS));
	cr_assert(position(&f, f.workspace, RF_VIEW_TMPFS) < position(&f, "/opt", RF_VIEW_BIND_RO));
	cr_assert(position(&f, "/opt", RF_VIEW_BIND_RO) < position(&f, w, RF_VIEW_BIND));
	cr_assert(position(&f, w, RF_VIEW_BIND) < position(&f, p, RF_VIEW_BIND_RO));
	cr_assert(position(&f, p, RF_VIEW_BIND_RO) < position(&f, d, RF_VIEW_MASK));
	cr_assert(position(&f, d, RF_VIEW_MASK) < position(&f, f.workspace, RF_VIEW_REMOUNT_RO));
	cr_assert(position(&f, "/", RF_VIEW_REMOUNT_RO) == f.plan->n_view - 1);
	position(&f, "/dev", RF_VIEW_REMOUNT_RO);
}

Test(plan, b2_a_writable_workspace_is_not_remounted)
{
	struct fixture f autofixture = fixture_new();

	must_plan(&f);
	for (size_t i = 0; i < f.plan->n_view; i++)
		cr_assert(f.plan->view[i].kind != RF_VIEW_REMOUNT_RO ||
			  strcmp(f.plan->view[i].destination, f.workspace) != 0);
}

/* What is written beside the workspace is refused, and not lost in a private directory. */
Test(plan, b2_f_59_the_way_to_the_workspace_through_a_private_directory_is_read_only)
{
	struct fixture f autofixture = fixture_new();

	must_plan(&f);
	cr_assert(is_step(&f, f.root, RF_VIEW_TMPFS));
	cr_assert(
		position(&f, f.root, RF_VIEW_REMOUNT_RO) > position(&f, f.workspace, RF_VIEW_BIND));
}

Test(plan, b14_strict_has_four_devices)
{
	static const char *const all[] = {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"};
	struct fixture f autofixture = fixture_new();
	size_t n_devices = 0;

	say(&f, "strict", "true");
	say(&f, "enforcement.waive", "denial-record");
	must_plan(&f);
	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++)
		cr_assert(is_step(&f, all[i], RF_VIEW_BIND_DEV));
	for (size_t i = 0; i < f.plan->n_view; i++)
		n_devices += strncmp(f.plan->view[i].destination, "/dev/", 5) == 0;
	cr_assert(n_devices == 4);
	cr_assert(is_step(&f, "/dev", RF_VIEW_TMPFS));
	cr_assert(step_at(&f, "/etc")->perms == 0111);
}

/* ---- A11, A16 ----------------------------------------------------------------------------------
 */

static void make_program(const struct fixture *f, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", f->root, name);
	make_file_at(path, "#!/bin/sh\n");
	cr_assert(chmod(path, 0755) == 0);
}

Test(plan, a11_the_program_is_found_on_the_path_and_opened_outside_grants)
{
	struct fixture f autofixture = fixture_new();
	char path[256];
	char setting[300];

	snprintf(path, sizeof(path), "%s/pkg", f.root);
	cr_assert(mkdir(path, 0755) == 0);
	snprintf(path, sizeof(path), "%s/pkg/bin", f.root);
	cr_assert(mkdir(path, 0755) == 0);
	make_program(&f, "pkg/bin/tool");
	snprintf(setting, sizeof(setting), "PATH=relative:%s:/usr/bin", path);
	f.environment[0] = setting;
	f.argv[0] = "tool";
	must_plan(&f);
	snprintf(path, sizeof(path), "%s/pkg/bin/tool", f.root);
	cr_assert_str_eq(f.plan->program, path);
	cr_assert_str_eq(f.plan->argv.items[0], "tool");
	cr_assert(is_step(&f, path, RF_VIEW_BIND_RO));
	make_program(&f, "pkg/package.json");
	must_plan(&f);
	snprintf(path, sizeof(path), "%s/pkg", f.root);
	cr_assert(is_step(&f, path, RF_VIEW_BIND_RO), "with its package");
	/* Not when the package is what holds the home and the workspace. */
	make_program(&f, "package.json");
	snprintf(path, sizeof(path), "%s/pkg/package.json", f.root);
	cr_assert(unlink(path) == 0);
	must_plan(&f);
	cr_assert(!is_step(&f, f.root, RF_VIEW_BIND_RO));
}

Test(plan, a11_in_the_workspace_only_a_declared_read_opens_the_program)
{
	struct fixture f autofixture = fixture_new();
	char setting[300];

	make_directory(&f, "bin");
	make_directory(&f, "other");
	make_file(&f, "bin/tool");
	snprintf(setting, sizeof(setting), "PATH=%s/bin:/usr/bin", f.workspace);
	f.environment[0] = setting;
	f.argv[0] = "tool";
	say(&f, "mode", "read-only");
	say(&f, "filesystem.read", "other");
	must_plan(&f);
	cr_assert_null(f.plan->program);
	cr_assert_null(step_at(&f, "bin/tool"));
	say(&f, "filesystem.read", "bin");
	must_plan(&f);
	cr_assert_not_null(f.plan->program);
}

Test(plan, a11_c7_f_82_a_name_found_nowhere_is_left_to_exec)
{
	struct fixture f autofixture = fixture_new();

	f.argv[0] = "no-such-command-here";
	must_plan(&f);
	cr_assert_null(f.plan->program);
	f.argv[0] = "./s";
	must_plan(&f);
	cr_assert_str_eq(f.plan->program, "./s");
	f.argv[0] = NULL;
	must_refuse(&f, "no-command");
}

Test(plan, a16_a_helper_in_the_workspace_or_in_a_write_is_refused)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "bin");
	make_file(&f, "bin/ringfence-launch");
	snprintf(f.facts.launcher_path, sizeof(f.facts.launcher_path), "%s/bin/ringfence-launch",
		f.workspace);
	must_refuse(&f, "untrusted-helper");
	say(&f, "filesystem.protect", "bin");
	must_refuse(&f, "untrusted-helper");
	rf_policy_clear(&f.policy);
	say(&f, "mode", "read-only");
	must_refuse(&f, "untrusted-helper");
	snprintf(f.facts.launcher_path, sizeof(f.facts.launcher_path), "/usr/bin/true");
	must_plan(&f);
	snprintf(f.facts.bwrap_path, sizeof(f.facts.bwrap_path), "%s/bin/ringfence-launch",
		f.workspace);
	must_refuse(&f, "untrusted-helper");
}

/* ---- A12 ---------------------------------------------------------------------------------------
 */

Test(plan, a12_f_53_the_environment_is_an_allowlist)
{
	struct fixture f autofixture = fixture_new();

	f.environment[0] = "AWS_SECRET_ACCESS_KEY=k";
	f.environment[1] = "SSH_AUTH_SOCK=/s";
	f.environment[2] = "LC_ALL=C";
	f.environment[3] = "TERM=";
	f.environment[4] = "TMPDIR=/nope";
	f.environment[5] = "HOME=/root";
	f.environment[6] = "PATH=";
	f.environment[7] = "COLORTERM=truecolor";
	must_plan(&f);
	cr_assert_null(variable(&f, "AWS_SECRET_ACCESS_KEY"));
	cr_assert_null(variable(&f, "SSH_AUTH_SOCK"));
	cr_assert_null(variable(&f, "TERM"), "an empty value counts as unset");
	cr_assert_str_eq(variable(&f, "LC_ALL"), "C");
	cr_assert(strncmp(variable(&f, "PATH"), "/usr/local/bin:/usr/bin:/bin", 28) == 0);
	cr_assert_str_eq(variable(&f, "TMPDIR"), "/tmp");
	cr_assert_str_eq(variable(&f, "PWD"), f.workspace);
	for (size_t i = 1; i < f.plan->environment.count; i++)
		cr_assert(
			strcmp(f.plan->environment.items[i - 1], f.plan->environment.items[i]) < 0);
	say(&f, "environment.pass", "AWS_SECRET_ACCESS_KEY");
	say(&f, "environment.pass", "COLORTERM");
	say(&f, "environment.pass", "NOT_THERE");
	say(&f, "environment.set", "A=1");
	say(&f, "environment.set", "A=2");
	say(&f, "environment.set", "LC_ALL=");
	must_plan(&f);
	cr_assert_str_eq(variable(&f, "AWS_SECRET_ACCESS_KEY"), "k");
	cr_assert_str_eq(variable(&f, "COLORTERM"), "truecolor");
	cr_assert_null(variable(&f, "NOT_THERE"));
	cr_assert_str_eq(variable(&f, "A"), "2");
	cr_assert_null(variable(&f, "LC_ALL"));
}

Test(plan, a12_f_56_home_and_temp_are_private)
{
	static const char *const all[] = {"HOME", "TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME",
		"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"};
	struct fixture f autofixture = fixture_new();
	char setting[128];

	snprintf(setting, sizeof(setting), "HOME=%s", f.home);
	f.environment[1] = setting;
	say(&f, "environment.pass", "HOME");
	say(&f, "environment.set", setting);
	must_plan(&f);
	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++) {
		const char *value = variable(&f, all[i]);

		cr_assert(rf_path_is_within(value, "/tmp"), "%s=%s", all[i], value);
		cr_assert(strcmp(value, "/tmp") == 0 || rf_strv_has(&f.plan->directories, value));
	}
	cr_assert(has_warning(&f, "HOME"));
	/* Parents come first. */
	cr_assert_str_eq(f.plan->directories.items[0], variable(&f, "HOME"));
}

Test(plan, a12_clear_takes_nothing_but_what_is_named)
{
	struct fixture f autofixture = fixture_new();

	f.environment[1] = "LANG=C";
	f.environment[2] = "X=1";
	say(&f, "environment.clear", "true");
	say(&f, "environment.pass", "X");
	must_plan(&f);
	cr_assert_null(variable(&f, "LANG"));
	cr_assert_str_eq(variable(&f, "X"), "1");
	cr_assert_not_null(variable(&f, "PATH"));
	cr_assert_not_null(variable(&f, "HOME"));
}

/* ---- A13, B10 ----------------------------------------------------------------------------------
 */

Test(plan, a13_f_55_the_same_input_gives_the_same_bytes_and_no_value)
{
	struct fixture f autofixture = fixture_new();
	char *first rf_autofree = NULL;
	char *second rf_autofree = NULL;
	json_t *json;

	make_directory(&f, "a/b");
	say(&f, "filesystem.deny", "a/b");
	say(&f, "environment.set", "T=zz-secret-9");
	must_plan(&f);
	json = rf_plan_to_json(f.plan, NULL);
	first = json_dumps(json, JSON_INDENT(2));
	json_decref(json);
	must_plan(&f);
	json = rf_plan_to_json(f.plan, NULL);
	second = json_dumps(json, JSON_INDENT(2));
	json_decref(json);
	cr_assert_str_eq(first, second);
	cr_assert(!strstr(first, "zz-secret-9"));
	cr_assert(strstr(first, "\"T\""));
}

Test(plan, b10_descriptors_are_checked_sorted_and_unique)
{
	struct fixture f autofixture = fixture_new();

	f.pass_fds[0] = 9;
	f.pass_fds[1] = 3;
	f.pass_fds[2] = 9;
	f.n_pass_fds = 3;
	must_plan(&f);
	cr_assert(f.plan->n_pass_fds == 2);
	cr_assert(f.plan->pass_fds[0] == 3 && f.plan->pass_fds[1] == 9);
	f.pass_fds[0] = 2;
	must_refuse(&f, "pass-fd");
	f.pass_fds[0] = 65536;
	must_refuse(&f, "pass-fd");
	f.pass_fds[0] = 65535;
	must_plan(&f);
}

Test(plan, b4_families_beyond_the_posture)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "network.families", "vsock");
	say(&f, "network.families", "netlink");
	must_plan(&f);
	cr_assert(f.plan->n_families == 2);
	say(&f, "network.posture", "none");
	must_refuse(&f, "contradiction");
}

/* ---- Destinations -------------------------------------------------------------------------------
 */

Test(plan, b5_destinations_imply_allow)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "network.allow", "10.0.0.0/8:80-90");
	say(&f, "network.allow", "public");
	must_plan(&f);
	cr_assert(f.plan->posture == RF_POSTURE_ALLOW && f.plan->n_allow == 2);
	cr_assert(f.plan->allow[0].low_port == 80 && f.plan->allow[0].high_port == 90);
	cr_assert(f.plan->allow[1].kind == RF_NET_PUBLIC);
	say(&f, "network.posture", "allow");
	must_plan(&f);
}

Test(plan, b5_destinations_and_another_posture_contradict)
{
	static const char *const postures[] = {"none", "loopback", "host-loopback", "open"};

	for (size_t i = 0; i < RF_ARRAY_SIZE(postures); i++) {
		struct fixture f autofixture = fixture_new();

		say(&f, "network.allow", "10.0.0.1");
		say(&f, "network.posture", postures[i]);
		must_refuse(&f, "contradiction");
	}
}

Test(plan, b5_a_name_is_refused_at_planning)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "network.allow", "10.0.0.1");
	say(&f, "network.allow", "example.com:443");
	must_refuse(&f, "name-unsupported");
}
