/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Invariants T1 to T7 of userspace/policy/tree.h, and the rows that they stand for. */

#include <time.h>

#include "base/limits.h"
#include "base/path.h"
#include "fixture.h"
#include "policy/resolve.h"
#include "policy/tree.h"

struct rule {
	const char *key;
	const char *path;
};

/* What the steps make of a place: the last step that covers it counts. */
static enum rf_reach reach_of(const struct fixture *f, const char *name)
{
	enum rf_reach reach = RF_REACH_NONE;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", f->workspace, name);
	for (size_t i = 0; i < f->plan->n_view; i++) {
		const struct rf_view_step *step = &f->plan->view[i];

		if (!rf_path_is_within(path, step->destination))
			continue;
		if (step->kind == RF_VIEW_BIND)
			reach = RF_REACH_WRITE;
		else if (step->kind == RF_VIEW_BIND_RO)
			reach = RF_REACH_READ;
		else if (step->kind == RF_VIEW_MASK)
			reach = RF_REACH_DENIED;
		else if (step->kind == RF_VIEW_TMPFS)
			reach = RF_REACH_NONE;
	}
	return reach;
}

/* Written down on its own: the deepest rule, at one path by rank, reads never narrowing. */
static enum rf_reach expected(const struct rule *rules, size_t n_rules, const char *name)
{
	enum rf_reach reach = RF_REACH_NONE;

	for (size_t length = 1; length <= strlen(name); length++) {
		char at[128];
		bool has[4] = {false};
		enum rf_reach outer = reach;

		if (name[length] != '/' && name[length] != '\0')
			continue;
		snprintf(at, sizeof(at), "%.*s", (int)length, name);
		for (size_t i = 0; i < n_rules; i++) {
			if (strcmp(rules[i].path, at) != 0)
				continue;
			has[0] |= strcmp(rules[i].key, "filesystem.read") == 0;
			has[1] |= strcmp(rules[i].key, "filesystem.write") == 0;
			has[2] |= strcmp(rules[i].key, "filesystem.protect") == 0;
			has[3] |= strcmp(rules[i].key, "filesystem.deny") == 0;
		}
		if (has[0] && reach != RF_REACH_WRITE)
			reach = RF_REACH_READ;
		if (has[1])
			reach = RF_REACH_WRITE;
		if (has[2] && reach == RF_REACH_WRITE)
			reach = RF_REACH_READ;
		if (has[3])
			reach = outer == RF_REACH_NONE ? RF_REACH_NONE : RF_REACH_DENIED;
	}
	return reach;
}

static bool is_open(enum rf_reach reach)
{
	return reach == RF_REACH_READ || reach == RF_REACH_WRITE;
}

static void check_order(struct fixture *f, const struct rule *rules, const size_t *order,
	size_t n_rules, json_t **first)
{
	static const char *const probes[] = {"a", "a/b", "a/b/c", "a/b/c/d", "e"};
	json_t *json;

	rf_policy_clear(&f->policy);
	say(f, "mode", "read-only");
	/* Reads are named, or the whole workspace would be one. */
	say(f, "filesystem.read", "e");
	for (size_t i = 0; i < n_rules; i++)
		say(f, rules[order[i]].key, rules[order[i]].path);
	must_plan(f);
	for (size_t i = 0; i < RF_ARRAY_SIZE(probes); i++) {
		enum rf_reach wanted = strcmp(probes[i], "e") == 0
					       ? RF_REACH_READ
					       : expected(rules, n_rules, probes[i]);
		enum rf_reach got = reach_of(f, probes[i]);

		/* A closed place and an empty one are one to the command. */
		cr_assert(got == wanted || (!is_open(got) && !is_open(wanted)),
			"%s: %d instead of %d", probes[i], got, wanted);
	}
	/* T1: the same bytes, warnings apart (they follow the policy's own order). */
	json = rf_plan_to_json(f->plan, NULL);
	json_object_del(json, "warnings");
	if (!*first) {
		*first = json;
		return;
	}
	cr_assert(json_equal(*first, json));
	json_decref(json);
}

static void permute(struct fixture *f, const struct rule *rules, size_t *order, size_t at,
	size_t n_rules, json_t **first)
{
	if (at == n_rules) {
		check_order(f, rules, order, n_rules, first);
		return;
	}
	for (size_t i = at; i < n_rules; i++) {
		size_t kept = order[at];

		order[at] = order[i];
		order[i] = kept;
		permute(f, rules, order, at + 1, n_rules, first);
		order[i] = order[at];
		order[at] = kept;
	}
}

/* T1 to T4, for every way to put four kinds of rule at four depths, in every order. */
Test(tree, a7_rules_do_not_depend_on_their_order, .timeout = 300)
{
	static const char *const kinds[] = {
		"filesystem.read", "filesystem.write", "filesystem.protect", "filesystem.deny"};
	static const char *const paths[] = {"a", "a/b", "a/b/c", "a/b/c/d"};
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "a/b/c/d");
	make_directory(&f, "e");
	for (unsigned int code = 0; code < 256; code++) {
		struct rule rules[4];
		size_t order[] = {0, 1, 2, 3};
		json_t *first = NULL;

		for (unsigned int i = 0; i < 4; i++)
			rules[i] = (struct rule){kinds[code >> (2 * i) & 3], paths[i]};
		permute(&f, rules, order, 0, 4, &first);
		json_decref(first);
	}
}

/* T3 */
Test(tree, a7_at_one_path_the_narrower_rule_wins)
{
	static const char *const kinds[] = {
		"filesystem.read", "filesystem.write", "filesystem.protect", "filesystem.deny"};
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "a");
	make_directory(&f, "e");
	for (unsigned int set = 1; set < 16; set++) {
		rf_policy_clear(&f.policy);
		say(&f, "filesystem.read", "e");
		say(&f, "mode", "read-only");
		for (unsigned int i = 0; i < 4; i++) {
			if (set & 1U << i)
				say(&f, kinds[i], "a");
		}
		must_plan(&f);
		if ((set & 8) || !(set & 3))
			cr_assert(!is_open(reach_of(&f, "a")), "%u", set);
		else if ((set & 4) || !(set & 2))
			cr_assert(reach_of(&f, "a") == RF_REACH_READ, "%u", set);
		else
			cr_assert(reach_of(&f, "a") == RF_REACH_WRITE, "%u", set);
	}
}

/* T6 */
Test(tree, a7_ancestors_of_narrowed_paths_are_pinned)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "a/b/c");
	make_file(&f, "a/b/c/k");
	make_directory(&f, "a/b/p");
	say(&f, "filesystem.deny", "a/b/c/k");
	say(&f, "filesystem.protect", "a/b/p");
	must_plan(&f);
	cr_assert(is_step(&f, "", RF_VIEW_BIND));
	cr_assert(is_step(&f, "a", RF_VIEW_BIND));
	cr_assert(is_step(&f, "a/b", RF_VIEW_BIND));
	cr_assert(is_step(&f, "a/b/c", RF_VIEW_BIND));
	cr_assert(is_step(&f, "a/b/c/k", RF_VIEW_MASK));
	cr_assert(is_step(&f, "a/b/p", RF_VIEW_BIND_RO));
	/* Each source was opened, and is what its path names. */
	for (size_t i = 0; i < f.plan->n_view; i++) {
		const struct rf_view_step *step = &f.plan->view[i];
		struct stat st;

		if (!step->source)
			continue;
		cr_assert(step->source_fd >= 0 && fstat(step->source_fd, &st) == 0);
		cr_assert(st.st_ino == step->source_ino && st.st_dev == step->source_dev);
		cr_assert(fcntl(step->source_fd, F_GETFD) & FD_CLOEXEC);
	}
}

/* T6: nothing needs a pin where nothing can be renamed. */
Test(tree, a7_a_read_only_place_has_no_pins)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "a/b");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.deny", "a/b");
	must_plan(&f);
	cr_assert_null(step_at(&f, "a"));
	cr_assert(is_step(&f, "a/b", RF_VIEW_MASK));
}

/* T5 */
Test(tree, a8_a_covered_path_collapses)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "a/b/c");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.read", "a");
	say(&f, "filesystem.read", "a/b");
	say(&f, "filesystem.read", "a/b/c");
	must_plan(&f);
	cr_assert(is_step(&f, "a", RF_VIEW_BIND_RO));
	cr_assert_null(step_at(&f, "a/b"));
	/* Not when a rule of another kind lies between. */
	say(&f, "filesystem.deny", "a/b");
	must_plan(&f);
	cr_assert(is_step(&f, "a/b", RF_VIEW_TMPFS));
	cr_assert(step_at(&f, "a/b")->perms == 0111);
	cr_assert(is_step(&f, "a/b/c", RF_VIEW_BIND_RO));
}

Test(tree, a8_a_name_that_only_begins_like_another_is_not_below_it)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "a/x");
	make_directory(&f, "a-b");
	make_directory(&f, "a.c");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.read", "a.c");
	say(&f, "filesystem.read", "a/x");
	say(&f, "filesystem.read", "a-b");
	say(&f, "filesystem.read", "a");
	must_plan(&f);
	cr_assert(is_step(&f, "a", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, "a-b", RF_VIEW_BIND_RO));
	cr_assert(is_step(&f, "a.c", RF_VIEW_BIND_RO));
	cr_assert_null(step_at(&f, "a/x"));
}

/* T7 */
Test(tree, a8_f_80_20000_rules_are_planned, .timeout = 120)
{
	struct fixture f autofixture = fixture_new();
	struct timespec start;
	struct timespec end;
	char name[32];
	double ms;

	make_directory(&f, "d");
	for (unsigned int i = 1; i <= 20000; i++) {
		char path[128];

		snprintf(name, sizeof(name), "d/%u", i);
		snprintf(path, sizeof(path), "%s/%s", f.workspace, name);
		cr_assert(mkdir(path, 0755) == 0);
		say(&f, "filesystem.read", name);
	}
	say(&f, "mode", "read-only");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	must_plan(&f);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	ms = (double)(end.tv_sec - start.tv_sec) * 1e3 +
	     (double)(end.tv_nsec - start.tv_nsec) / 1e6;
#ifndef __SANITIZE_ADDRESS__
	/* Measured at a third of this; a quadratic loop would take minutes. */
	cr_assert(ms < 300, "%.1f ms", ms);
#else
	(void)ms;
#endif
	cr_assert(f.plan->is_staged);
	cr_assert(is_step(&f, "d/20000", RF_VIEW_BIND_RO));
	cr_assert(step_at(&f, "d/20000")->source_fd == -1);
	cr_assert(step_at(&f, "d/20000")->source_ino != 0);
	cr_assert(step_at(&f, "/usr")->source_fd >= 0);
	cr_assert_null(step_at(&f, "d"));
}

/* No child before what it lies in, whatever the phases say. */
Test(tree, b2_nothing_is_mounted_under_something_later)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "a/b/c/d");
	say(&f, "filesystem.external_read", f.root);
	say(&f, "filesystem.external_read", "/etc");
	say(&f, "filesystem.deny", "a");
	say(&f, "filesystem.read", "a/b");
	say(&f, "filesystem.write", "a/b/c");
	say(&f, "filesystem.protect", "a/b/c/d");
	must_plan(&f);
	for (size_t i = 0; i < f.plan->n_view; i++) {
		for (size_t j = i + 1; j < f.plan->n_view; j++) {
			const struct rf_view_step *later = &f.plan->view[j];

			if (later->kind == RF_VIEW_REMOUNT_RO)
				continue;
			cr_assert(
				!rf_path_is_within(f.plan->view[i].destination, later->destination),
				"%s after %s", later->destination, f.plan->view[i].destination);
		}
	}
}
