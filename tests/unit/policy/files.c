/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the planner leaves to BPF LSM's hooks on files, and what it does without them. */

#include "base/limits.h"
#include "fixture.h"

static struct fixture with_hooks(void)
{
	struct fixture f = fixture_new();

	f.facts.mechanisms[RF_MECHANISM_BPF_LSM] = (struct rf_fact){.state = RF_STATE_ENFORCED};
	f.facts.file_hooks.state = RF_STATE_ENFORCED;
	return f;
}

/* Flags of a place, relative to the workspace; 0: none. */
static uint32_t place(const struct fixture *f, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s%s%s", f->workspace, name[0] ? "/" : "", name);
	for (size_t i = 0; i < f->plan->n_places; i++) {
		if (strcmp(f->plan->places[i].path, path) == 0)
			return f->plan->places[i].flags;
	}
	return 0;
}

static uint32_t name_in(const struct fixture *f, const char *directory, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s%s%s", f->workspace, directory[0] ? "/" : "", directory);
	for (size_t i = 0; i < f->plan->n_names; i++) {
		const struct rf_plan_name *at = &f->plan->names[i];

		if (strcmp(at->name, name) == 0 &&
			strcmp(f->plan->places[at->place].path, path) == 0)
			return at->flags;
	}
	return 0;
}

static bool is_held_by_lsm(const struct fixture *f, enum rf_promise promise)
{
	return f->plan->promises[promise].state == RF_STATE_ENFORCED &&
	       f->plan->promises[promise].by & 1U << RF_MECHANISM_BPF_LSM;
}

Test(files, a7_the_first_missing_component_is_what_may_not_be_made)
{
	struct fixture f autofixture = with_hooks();

	make_directory(&f, "a/b");
	say(&f, "filesystem.deny", "a/b/new/deep/k");
	say(&f, "filesystem.protect", "kept");
	must_plan(&f);
	cr_assert_eq(name_in(&f, "a/b", "new"), RF_PLACE_CLOSED);
	cr_assert_eq(name_in(&f, "", "kept"), RF_PLACE_READ_ONLY);
	cr_assert(place(&f, "a/b") & RF_PLACE_PINNED);
	cr_assert(place(&f, "a") & RF_PLACE_PINNED);
	cr_assert_eq(place(&f, ""), RF_PLACE_NAMES);
	cr_assert_eq(f.plan->n_names, 2);
	cr_assert(is_held_by_lsm(&f, RF_PROMISE_FS_DENY));
}

Test(files, a7_without_the_hooks_a_missing_name_refuses_the_run)
{
	struct fixture f autofixture = fixture_new();

	/* The sockets' hooks alone are not enough. */
	f.facts.mechanisms[RF_MECHANISM_BPF_LSM] = (struct rf_fact){.state = RF_STATE_ENFORCED};
	say(&f, "filesystem.deny", "k");
	must_refuse(&f, "deny-missing-unheld");
	say(&f, "enforcement.waive", "fs-deny");
	must_plan(&f);
	cr_assert_eq(f.plan->n_places, 0);
}

Test(files, a_run_that_narrows_nothing_has_no_rules)
{
	struct fixture f autofixture = with_hooks();

	make_directory(&f, "w");
	say(&f, "filesystem.write", "w");
	must_plan(&f);
	cr_assert_eq(f.plan->n_places, 0);
	cr_assert_eq(f.plan->n_names, 0);
	cr_assert_not(f.plan->has_file_rules);
}

Test(files, a7_what_exists_is_known_by_its_inode_and_pinned_with_what_lies_above)
{
	struct fixture f autofixture = with_hooks();

	make_directory(&f, "a/b");
	make_file(&f, "a/b/k");
	make_file(&f, "p");
	say(&f, "filesystem.deny", "a/b/k");
	say(&f, "filesystem.protect", "p");
	must_plan(&f);
	cr_assert_eq(place(&f, "a/b/k"), RF_PLACE_CLOSED | RF_PLACE_PINNED);
	cr_assert_eq(place(&f, "a"), RF_PLACE_PINNED);
	cr_assert_eq(place(&f, "a/b"), RF_PLACE_PINNED | RF_PLACE_NAMES);
	cr_assert_eq(name_in(&f, "a/b", "k"), RF_PLACE_CLOSED);
	cr_assert_eq(name_in(&f, "", "p"), RF_PLACE_READ_ONLY);
	cr_assert_eq(place(&f, "p"), RF_PLACE_READ_ONLY | RF_PLACE_PINNED);
	/* The mount stands beside it. */
	cr_assert(is_step(&f, "a/b/k", RF_VIEW_MASK));
}

Test(files, a7_a_grant_below_a_closed_place_ends_its_rule)
{
	struct fixture f autofixture = with_hooks();

	make_directory(&f, "d/r");
	make_directory(&f, "p/w");
	say(&f, "filesystem.deny", "d");
	say(&f, "filesystem.read", "d/r");
	say(&f, "filesystem.protect", "p");
	say(&f, "filesystem.write", "p/w");
	must_plan(&f);
	cr_assert(place(&f, "d") & RF_PLACE_CLOSED);
	cr_assert(place(&f, "d/r") & RF_PLACE_READ_ONLY);
	cr_assert(place(&f, "p") & RF_PLACE_READ_ONLY);
	cr_assert(place(&f, "p/w") & RF_PLACE_OPEN);
}

Test(files, a_denied_link_that_the_command_could_replace_is_pinned)
{
	struct fixture f autofixture = with_hooks();

	make_file(&f, "real");
	make_link(&f, "real", "link");
	say(&f, "filesystem.deny", "link");
	must_plan(&f);
	cr_assert_eq(place(&f, "link"), RF_PLACE_PINNED);
	cr_assert(place(&f, "real") & RF_PLACE_CLOSED);
	cr_assert(is_held_by_lsm(&f, RF_PROMISE_FS_DENY));
}

Test(files, a6_a_write_file_is_exact_with_the_hooks)
{
	struct fixture f autofixture = with_hooks();

	make_directory(&f, "c");
	make_file(&f, "c/f");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.write_files", "c/f");
	must_plan(&f);
	cr_assert(f.plan->is_write_file_exact);
	cr_assert(place(&f, "c") & RF_PLACE_LISTED);
	cr_assert_eq(name_in(&f, "c", "f"), RF_PLACE_OPEN);
	cr_assert_eq(name_in(&f, "c", "f.lock"), RF_PLACE_OPEN);
	cr_assert_eq(name_in(&f, "c", ".f.swp"), RF_PLACE_OPEN);
	cr_assert_eq(name_in(&f, "c", "f~"), RF_PLACE_OPEN);
	cr_assert_eq(name_in(&f, "c", "g"), 0);
	cr_assert(is_step(&f, "c", RF_VIEW_BIND));
	cr_assert(is_held_by_lsm(&f, RF_PROMISE_FS_WRITE));
	cr_assert_not(has_warning(&f, "write-file opens"));
}

Test(files, a6_without_the_hooks_it_opens_its_directory_and_says_so)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "c");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.write_files", "c/f");
	must_plan(&f);
	cr_assert_not(f.plan->is_write_file_exact);
	cr_assert_eq(f.plan->n_places, 0);
	cr_assert(has_warning(&f, "write-file opens"));
}

Test(files, a6_a_write_of_the_directory_opens_it_whole)
{
	struct fixture f autofixture = with_hooks();

	make_directory(&f, "c/sub");
	say(&f, "filesystem.write_files", "c/f");
	must_plan(&f);
	cr_assert_eq(f.plan->n_places, 0, "the mode opens the workspace");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.write", "c/sub");
	must_plan(&f);
	cr_assert(place(&f, "c") & RF_PLACE_LISTED);
	cr_assert_eq(place(&f, "c/sub"), RF_PLACE_OPEN);
	say(&f, "filesystem.write", "c");
	must_plan(&f);
	cr_assert_eq(f.plan->n_places, 0);
}

Test(files, what_is_more_than_a_run_may_have_is_left_to_the_mounts)
{
	struct fixture f autofixture = with_hooks();
	char name[32];

	for (unsigned int i = 0; i < RF_FILE_PLACES_PER_RUN_MAX + 10; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		make_file(&f, name);
		say(&f, "filesystem.deny", name);
	}
	say(&f, "filesystem.deny", "missing");
	must_plan(&f);
	cr_assert_eq(f.plan->n_places, RF_FILE_PLACES_PER_RUN_MAX);
	cr_assert_eq(name_in(&f, "", "missing"), RF_PLACE_CLOSED);
	cr_assert(is_held_by_lsm(&f, RF_PROMISE_FS_DENY));
}

Test(files, missing_names_beyond_what_a_run_may_have_refuse_it)
{
	struct fixture f autofixture = with_hooks();
	char name[32];

	for (unsigned int i = 0; i < RF_FILE_NAMES_PER_RUN_MAX + 1; i++) {
		snprintf(name, sizeof(name), "missing%u", i);
		say(&f, "filesystem.deny", name);
	}
	must_refuse(&f, "deny-missing-unheld");
}
