/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The planner on an invented host: mounts below grants, and what stays closed under any grant. */

#include <pwd.h>

#include "fixture.h"

/* ---- Mounts below grants (A7, B2, B9) ----------------------------------------------------------
 */

struct mounts {
	char text[4096];
};

/* A root and /sys as most hosts have them, and then one more. */
static void mount_at(struct fixture *f, struct mounts *mounts, const char *type, const char *path)
{
	snprintf(mounts->text, sizeof(mounts->text),
		"27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
		"22 27 0:22 / /sys rw,relatime - sysfs sysfs rw\n"
		"31 22 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
		"32 22 0:32 / /sys/kernel/debug rw - debugfs debugfs rw\n"
		"40 27 0:40 / %s rw shared:2 master:3 - %s none rw\n",
		path, type);
	f->mountinfo = mounts->text;
}

Test(closed, b9_a_kernel_filesystem_in_a_granted_tree_is_refused)
{
	static const char *const types[] = {"proc", "sysfs", "cgroup", "cgroup2", "bpf", "debugfs",
		"tracefs", "devpts", "devtmpfs", "configfs", "securityfs", "mqueue", "pstore",
		"efivarfs", "binfmt_misc", "fusectl", "hugetlbfs", "autofs"};
	struct fixture f autofixture = fixture_new();
	struct mounts mounts;
	char path[256];

	make_directory(&f, "a/proc");
	snprintf(path, sizeof(path), "%s/a/proc", f.workspace);
	for (size_t i = 0; i < RF_ARRAY_SIZE(types); i++) {
		mount_at(&f, &mounts, types[i], path);
		must_refuse(&f, "mount-in-workspace");
		cr_assert_str_eq(f.diag.path, path);
		cr_assert(strstr(f.diag.message, types[i]));
		cr_assert(strstr(f.diag.hint, "--deny"));
	}
	say(&f, "mode", "read-only");
	must_refuse(&f, "mount-in-workspace");
	/* What is not granted does not matter, nor what is closed. */
	make_directory(&f, "b");
	say(&f, "filesystem.read", "b");
	must_plan(&f);
	say(&f, "filesystem.write", "a");
	must_refuse(&f, "mount-in-workspace");
	say(&f, "filesystem.deny", "a/proc");
	must_plan(&f);
	cr_assert(is_step(&f, "a/proc", RF_VIEW_MASK));
}

Test(closed, b9_a_grant_at_or_in_a_kernel_filesystem_is_refused)
{
	struct fixture f autofixture = fixture_new();
	struct mounts mounts;

	make_directory(&f, "a/b");
	mount_at(&f, &mounts, "proc", f.workspace);
	must_refuse(&f, "mount-in-workspace");
	mount_at(&f, &mounts, "proc", f.root);
	must_refuse(&f, "mount-in-workspace");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.read", "a/b");
	must_refuse(&f, "mount-in-workspace");
}

Test(closed, b9_what_stands_on_a_kernel_filesystem_is_judged_by_itself)
{
	struct fixture f autofixture = fixture_new();
	struct mounts mounts;
	size_t used;

	mount_at(&f, &mounts, "autofs", f.root);
	used = strlen(mounts.text);
	/* One that is hidden below does not hold it, one at its very place does. */
	snprintf(mounts.text + used, sizeof(mounts.text) - used,
		"41 27 0:41 / %s rw - ext4 none rw\n", f.workspace);
	must_refuse(&f, "mount-in-workspace");
	snprintf(mounts.text + used, sizeof(mounts.text) - used,
		"41 40 0:41 / %s rw - ext4 none rw\n", f.root);
	must_plan(&f);
	cr_assert(f.plan->warnings.count == 0);
	snprintf(mounts.text + used, sizeof(mounts.text) - used,
		"41 40 0:41 / %s rw - nfs4 none rw\n", f.workspace);
	must_plan(&f);
}

Test(closed, b9_names_in_the_table_are_decoded)
{
	struct fixture f autofixture = fixture_new();
	struct mounts mounts;
	char path[256];

	snprintf(path, sizeof(path), "%s/a\\040b\\134c", f.workspace);
	mount_at(&f, &mounts, "proc", path);
	must_refuse(&f, "mount-in-workspace");
	cr_assert(strstr(f.diag.path, "/a b\\c"), "%s", f.diag.path);
	f.mountinfo = "27 1 254:0 / / rw\n";
	must_refuse(&f, "mounts-unreadable");
}

Test(closed, b9_other_mounts_below_a_write_are_told_in_one_line)
{
	struct fixture f autofixture = fixture_new();
	struct mounts mounts;
	char path[256];

	snprintf(path, sizeof(path), "%s/m", f.workspace);
	mount_at(&f, &mounts, "ext4", path);
	for (unsigned int i = 0; i < 4; i++) {
		size_t used = strlen(mounts.text);

		snprintf(mounts.text + used, sizeof(mounts.text) - used,
			"%u 27 0:41 / %s/n%u rw - ext4 none rw\n", 50 + i, f.workspace, i);
	}
	must_plan(&f);
	cr_assert(f.plan->warnings.count == 1);
	cr_assert(has_warning(&f, path) && has_warning(&f, "/n1 and 2 more"));
	say(&f, "mode", "read-only");
	must_plan(&f);
	cr_assert(f.plan->warnings.count == 0);
	rf_policy_clear(&f.policy);
	mount_at(&f, &mounts, "ext4", f.workspace);
	must_plan(&f);
	cr_assert(f.plan->warnings.count == 0, "the workspace is its own");
}

Test(closed, b9_external_reads_open_of_the_kernel_what_is_named_below_sys)
{
	struct fixture f autofixture = fixture_new();
	struct mounts mounts;

	mount_at(&f, &mounts, "tmpfs", "/opt");
	say(&f, "filesystem.external_read", "/sys/kernel");
	must_refuse(&f, "mount-in-read");
	cr_assert_str_eq(f.diag.path, "/sys/kernel/debug");
	say(&f, "filesystem.deny", "/sys/kernel/debug");
	must_plan(&f);
	rf_policy_clear(&f.policy);
	say(&f, "filesystem.external_read", "/sys/fs");
	say(&f, "filesystem.external_read", "/sys/devices/system");
	must_plan(&f);
	say(&f, "filesystem.external_read", "/");
	must_refuse(&f, "mount-in-read");
	/* Runtime reads are the sandbox's own choice. */
	rf_policy_clear(&f.policy);
	mount_at(&f, &mounts, "proc", "/usr/share");
	must_plan(&f);
}

/* ---- Credentials (A10) -------------------------------------------------------------------------
 */

Test(closed, a10_missing_credentials_below_a_write_are_reported)
{
	struct fixture f autofixture = fixture_new();
	const struct rf_effective *deny;
	char path[256];

	must_plan(&f);
	cr_assert(f.plan->promises[RF_PROMISE_FS_DENY].state == RF_STATE_ENFORCED);
	say(&f, "workspace", f.home);
	must_plan(&f);
	deny = &f.plan->promises[RF_PROMISE_FS_DENY];
	cr_assert(deny->state == RF_STATE_PARTIAL);
	cr_assert(strstr(deny->why, ".aws") && strstr(deny->why, "13 more"), "%s", deny->why);
	cr_assert(f.plan->warnings.count == 1);
	/* A link that leads nowhere can be replaced. */
	snprintf(path, sizeof(path), "%s/.netrc", f.home);
	cr_assert(symlink("nowhere", path) == 0);
	must_plan(&f);
	cr_assert(strstr(f.plan->promises[RF_PROMISE_FS_DENY].why, ".netrc"));
	say(&f, "enforcement.require", "fs-deny");
	must_refuse(&f, "promise-unheld");
	rf_policy_clear(&f.policy);
	say(&f, "filesystem.external_read", f.home);
	must_plan(&f);
	cr_assert(f.plan->promises[RF_PROMISE_FS_DENY].state == RF_STATE_ENFORCED);
}

Test(closed, a10_the_home_of_the_environment_is_closed_beside_that_of_the_database)
{
	struct fixture f autofixture = fixture_new();
	char variable[160];
	char path[256];

	make_directory(&f, "h/.ssh");
	make_directory(&f, "h/.config/ringfence");
	snprintf(path, sizeof(path), "%s/.aws", f.home);
	cr_assert(mkdir(path, 0700) == 0);
	must_plan(&f);
	cr_assert_null(step_at(&f, "h/.ssh"));
	snprintf(variable, sizeof(variable), "HOME=%s//h/", f.workspace);
	f.environment[1] = variable;
	must_plan(&f);
	cr_assert(is_step(&f, "h/.ssh", RF_VIEW_MASK));
	cr_assert(is_step(&f, "h/.config/ringfence", RF_VIEW_BIND_RO));
	say(&f, "filesystem.external_read", f.home);
	must_plan(&f);
	cr_assert(is_step(&f, path, RF_VIEW_MASK), "the other stays closed");
	/* By the way of a link, and said as nobody's. */
	snprintf(path, sizeof(path), "%s/link", f.root);
	snprintf(variable, sizeof(variable), "%s/h", f.workspace);
	cr_assert(symlink(variable, path) == 0);
	snprintf(variable, sizeof(variable), "HOME=%s/link/../h", f.root);
	must_plan(&f);
	cr_assert(is_step(&f, "h/.ssh", RF_VIEW_MASK));
	f.environment[1] = "HOME=/";
	must_plan(&f);
	cr_assert_null(step_at(&f, "h/.ssh"));
}

/* Of the host's database the one user whose home is surely there is root. */
Test(closed, a10_the_home_of_the_commands_user_is_closed_too)
{
	struct fixture f autofixture = fixture_new();
	const struct passwd *root = getpwuid(0);
	char path[256];
	struct stat st;

	if (!root || !root->pw_dir || getuid() != 0)
		cr_skip("no root here");
	snprintf(path, sizeof(path), "%s/.ssh", root->pw_dir);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		cr_skip("no credentials there");
	/* The owner's home is the invented one; the command runs as root with another group. */
	f.facts.gid = 4000000;
	say(&f, "user", "root");
	say(&f, "filesystem.external_read", root->pw_dir);
	must_plan(&f);
	cr_assert(f.plan->changes_user);
	cr_assert(is_step(&f, path, RF_VIEW_MASK));
}

/* ---- Ringfence's own places (A1, A16) ----------------------------------------------------------
 */

Test(closed, a16_ringfences_own_places_are_closed_below_a_write)
{
	struct fixture f autofixture = fixture_new();
	struct rf_strv made rf_autostrv = {0};
	char path[256];
	char state[256];
	struct stat st;

	say(&f, "workspace", f.home);
	snprintf(path, sizeof(path), "%s/.local", f.home);
	cr_assert(mkdir(path, 0700) == 0);
	snprintf(path, sizeof(path), "%s/.local/state", f.home);
	cr_assert(mkdir(path, 0700) == 0);
	snprintf(state, sizeof(state), "%s/.local/state/ringfence", f.home);
	cr_assert(mkdir(state, 0700) == 0);
	must_plan(&f);
	cr_assert(is_step(&f, state, RF_VIEW_MASK));
	/* The missing one and its parent are made, and covered. */
	snprintf(path, sizeof(path), "%s/.config", f.home);
	cr_assert(is_step(&f, path, RF_VIEW_BIND));
	snprintf(path, sizeof(path), "%s/.config/ringfence", f.home);
	cr_assert(is_step(&f, path, RF_VIEW_BIND_RO));
	cr_assert(lstat(path, &st) < 0, "planning has no effects");
	cr_assert(rf_plan_make_directories(f.plan, &made, &f.diag) == 0, "%s", f.diag.message);
	cr_assert(made.count == 2);
	for (size_t i = 0; i < f.plan->n_view; i++)
		cr_assert(!f.plan->view[i].source || f.plan->view[i].source_fd >= 0, "%s",
			f.plan->view[i].destination);
	rf_plan_unmake_directories(f.plan, &made);
	cr_assert(lstat(path, &st) < 0);
	/* What only reads makes nothing and keeps the records closed. */
	say(&f, "mode", "read-only");
	must_plan(&f);
	cr_assert(f.plan->create.count == 0);
	cr_assert_null(step_at(&f, path));
	cr_assert(is_step(&f, state, RF_VIEW_MASK));
}

Test(closed, a16_places_that_variables_name_and_a_linked_policy_are_closed)
{
	struct fixture f autofixture = fixture_new();
	char config[256];
	char runtime[256];

	make_directory(&f, "cfg/ringfence");
	make_directory(&f, "run");
	make_file(&f, "real.yaml");
	make_link(&f, "../../real.yaml", "cfg/ringfence/policy.yaml");
	snprintf(config, sizeof(config), "XDG_CONFIG_HOME=%s/cfg", f.workspace);
	snprintf(runtime, sizeof(runtime), "XDG_RUNTIME_DIR=%s/run", f.workspace);
	f.environment[1] = config;
	f.environment[2] = runtime;
	must_plan(&f);
	cr_assert(is_step(&f, "cfg/ringfence", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, "real.yaml", RF_VIEW_BIND_RO));
	cr_assert_null(step_at(&f, "run/ringfence"), "root has none there");
	f.facts.uid = 1000;
	f.facts.gid = 1000;
	f.facts.has_sys_admin = false;
	must_plan(&f);
	cr_assert(is_step(&f, "run/ringfence", RF_VIEW_MASK));
	cr_assert(rf_strv_has(&f.plan->create, "run/ringfence"));
}

/* ---- A11, A17, A7, A6 --------------------------------------------------------------------------
 */

Test(closed, a11_a_link_in_the_workspace_opens_no_program_outside)
{
	struct fixture f autofixture = fixture_new();
	char outside[256];
	char setting[300];

	snprintf(outside, sizeof(outside), "%s/tool", f.root);
	make_file_at(outside, "#!/bin/sh\n");
	make_directory(&f, "bin");
	make_link(&f, outside, "run.sh");
	make_link(&f, outside, "bin/node");
	snprintf(setting, sizeof(setting), "PATH=%s/bin:/usr/bin", f.workspace);
	f.environment[0] = setting;
	f.argv[0] = "./run.sh";
	must_plan(&f);
	cr_assert_null(step_at(&f, outside));
	cr_assert(has_warning(&f, outside));
	f.argv[0] = "node";
	must_plan(&f);
	cr_assert_null(step_at(&f, outside), "neither by PATH nor as an interpreter");
	say(&f, "filesystem.external_read", outside);
	must_plan(&f);
	cr_assert(is_step(&f, outside, RF_VIEW_BIND_RO));
	cr_assert(!has_warning(&f, "leads out"));
}

Test(closed, a17_a_directory_of_devices_lies_below_dev)
{
	static const char *const refused[] = {"/", "/dev", "/etc", "/dev/"};
	struct fixture f autofixture = fixture_new();

	for (size_t i = 0; i < RF_ARRAY_SIZE(refused); i++) {
		rf_strv_clear(&f.policy.device);
		say(&f, "filesystem.device", refused[i]);
		must_refuse(&f, "device-unusable");
	}
	rf_strv_clear(&f.policy.device);
	say(&f, "filesystem.device", f.home);
	must_refuse(&f, "device-unusable");
	rf_strv_clear(&f.policy.device);
	say(&f, "filesystem.device", "/dev/pts");
	must_plan(&f);
	cr_assert(is_step(&f, "/dev/pts", RF_VIEW_BIND_DEV));
}

Test(closed, a7_a_denial_wins_over_what_every_program_reads)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "filesystem.deny", "/etc");
	must_plan(&f);
	cr_assert_null(step_at(&f, "/etc/hosts"));
	cr_assert_null(step_at(&f, "/etc/ssl"));
	cr_assert(is_step(&f, "/usr", RF_VIEW_BIND_RO));
	cr_assert(f.plan->warnings.count == 1 && has_warning(&f, "/etc/group, /etc/passwd"));
	say(&f, "filesystem.external_read", "/etc/hosts");
	must_plan(&f);
	cr_assert(is_step(&f, "/etc/hosts", RF_VIEW_BIND_RO), "declared below it by name");
	rf_policy_clear(&f.policy);
	say(&f, "filesystem.deny", "/");
	must_plan(&f);
	cr_assert(!is_step(&f, "/usr", RF_VIEW_BIND_RO));
	cr_assert(!is_step(&f, "/usr/bin/true", RF_VIEW_BIND_RO));
}

Test(closed, a7_a_denial_that_the_sandboxs_own_places_outlast_is_told)
{
	static const char *const all[] = {"/dev/null", "/dev", "/proc/self", "/tmp", "/var"};
	struct fixture f autofixture = fixture_new();

	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++) {
		rf_policy_clear(&f.policy);
		say(&f, "filesystem.deny", all[i]);
		must_plan(&f);
		cr_assert(has_warning(&f, "what the sandbox has of its own"), "%s", all[i]);
	}
	rf_policy_clear(&f.policy);
	say(&f, "filesystem.deny", "/usr/share");
	say(&f, "filesystem.deny", "/etc/passwd");
	must_plan(&f);
	cr_assert(f.plan->warnings.count == 0);
	cr_assert_null(step_at(&f, "/etc/passwd"));
}

Test(closed, a6_a_write_file_says_that_its_directory_is_opened)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "c");
	make_directory(&f, "d");
	say(&f, "filesystem.write_files", "c/f");
	must_plan(&f);
	cr_assert(f.plan->warnings.count == 0, "all of the workspace is writable");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.write_files", "c/g");
	say(&f, "filesystem.write_files", "d/g");
	must_plan(&f);
	cr_assert(f.plan->warnings.count == 1);
	cr_assert(has_warning(&f, "/c can be written, and 1 more"));
	say(&f, "filesystem.write", "c");
	say(&f, "filesystem.write", "d");
	must_plan(&f);
	cr_assert(f.plan->warnings.count == 0);
}
