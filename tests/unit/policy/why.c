/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A13: what a plan comes to for one path, on invented hosts. */

#include "policy/why.h"

#include "tests/unit/policy/fixture.h"

#define LANDLOCK (1U << RF_MECHANISM_LANDLOCK)
#define MOUNTS (1U << RF_MECHANISM_MOUNT_NAMESPACE)

static struct rf_why why(const struct fixture *f, enum rf_why_access access, const char *path)
{
	struct rf_why answer;

	cr_assert(rf_plan_why(f->plan, access, path, &answer) == 0);
	return answer;
}

static void expect(const struct fixture *f, enum rf_why_access access, const char *path,
	enum rf_verdict verdict, int error, const char *key)
{
	struct rf_why answer = why(f, access, path);

	cr_expect(answer.verdict == verdict, "%s: %d", path, answer.verdict);
	cr_expect(answer.error == error, "%s: %s", path, strerror(answer.error));
	cr_expect_str_eq(answer.key ? answer.key : "", key, "%s", path);
}

Test(why, a13_the_deepest_rule_decides)
{
	struct fixture f autofixture = fixture_new();

	make_directory(&f, "w/p/open");
	make_directory(&f, "w/shut");
	make_file(&f, "w/k");
	say(&f, "mode", "read-only");
	say(&f, "filesystem.write", "w");
	say(&f, "filesystem.protect", "w/p");
	say(&f, "filesystem.write", "w/p/open");
	say(&f, "filesystem.deny", "w/k");
	say(&f, "filesystem.deny", "w/shut");
	must_plan(&f);
	expect(&f, RF_WHY_WRITE, "w/x", RF_VERDICT_ALLOWED, 0, "filesystem.write");
	expect(&f, RF_WHY_WRITE, "w/p", RF_VERDICT_DENIED, EROFS, "filesystem.protect");
	expect(&f, RF_WHY_WRITE, "w/p/open/x", RF_VERDICT_ALLOWED, 0, "filesystem.write");
	expect(&f, RF_WHY_READ, "w/k", RF_VERDICT_DENIED, EACCES, "filesystem.deny");
	expect(&f, RF_WHY_READ, "w/shut/x", RF_VERDICT_DENIED, EACCES, "filesystem.deny");
	expect(&f, RF_WHY_READ, "w/x", RF_VERDICT_ABSENT, ENOENT, "filesystem.write");
	expect(&f, RF_WHY_READ, "w/k/x", RF_VERDICT_ABSENT, ENOTDIR, "filesystem.deny");
	expect(&f, RF_WHY_WRITE, "k", RF_VERDICT_DENIED, EROFS, "mode");
	cr_expect_str_eq(why(&f, RF_WHY_WRITE, "w/p/open/x").value, "w/p/open");
}

Test(why, a13_what_holds_it_is_what_the_host_has)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "mode", "read-only");
	must_plan(&f);
	cr_expect(why(&f, RF_WHY_WRITE, "/usr/x").by == (MOUNTS | LANDLOCK));
	cr_expect(why(&f, RF_WHY_READ, "/opt/x").by == MOUNTS);
	f.facts.mechanisms[RF_MECHANISM_LANDLOCK] =
		(struct rf_fact){.state = RF_STATE_OFF, .why = "not there"};
	say(&f, "enforcement.waive", "fs-read");
	say(&f, "enforcement.waive", "fs-write");
	must_plan(&f);
	cr_expect(why(&f, RF_WHY_WRITE, "/usr/x").by == MOUNTS);
}

Test(why, a13_links_are_followed_inside_of_the_view)
{
	struct fixture f autofixture = fixture_new();

	make_file(&f, "f");
	make_link(&f, "f", "l");
	make_link(&f, "/etc/shadow", "out");
	make_link(&f, "loop", "loop");
	make_link(&f, "nothing", "dangling");
	must_plan(&f);
	expect(&f, RF_WHY_READ, "l", RF_VERDICT_ALLOWED, 0, "mode");
	expect(&f, RF_WHY_READ, "out", RF_VERDICT_ABSENT, ENOENT, "");
	expect(&f, RF_WHY_READ, "loop", RF_VERDICT_DENIED, ELOOP, "mode");
	expect(&f, RF_WHY_READ, "dangling", RF_VERDICT_ABSENT, ENOENT, "mode");
	expect(&f, RF_WHY_WRITE, "dangling", RF_VERDICT_ALLOWED, 0, "mode");
	cr_expect(strstr(why(&f, RF_WHY_READ, "l").path, "/ws/f"));
}

Test(why, a13_what_is_built_in_has_no_key)
{
	struct fixture f autofixture = fixture_new();
	char path[128];

	snprintf(path, sizeof(path), "%s/.ssh", f.home);
	cr_assert(mkdir(path, 0700) == 0);
	say(&f, "filesystem.external_read", f.home);
	must_plan(&f);
	expect(&f, RF_WHY_READ, path, RF_VERDICT_DENIED, EACCES, "");
	cr_expect_str_eq(why(&f, RF_WHY_READ, path).because, "credentials stay closed");
	expect(&f, RF_WHY_READ, "/usr", RF_VERDICT_ALLOWED, 0, "");
	expect(&f, RF_WHY_WRITE, "/tmp/x", RF_VERDICT_ALLOWED, 0, "");
	expect(&f, RF_WHY_READ, "/proc/self/maps", RF_VERDICT_DEPENDS, 0, "");
	expect(&f, RF_WHY_WRITE, "/dev/null", RF_VERDICT_ALLOWED, 0, "");
}

Test(why, a13_what_is_allowed_has_a_reason)
{
	struct fixture f autofixture = fixture_new();

	make_file(&f, "p");
	say(&f, "filesystem.protect", "p");
	must_plan(&f);
	expect(&f, RF_WHY_READ, "p", RF_VERDICT_ALLOWED, 0, "mode");
	expect(&f, RF_WHY_READ, "/", RF_VERDICT_ALLOWED, 0, "");
	cr_expect_str_eq(why(&f, RF_WHY_READ, "/").because, "a directory of the sandbox's own");
}

Test(why, a13_a_directory_that_will_be_made_is_there)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "filesystem.write", "new/er");
	must_plan(&f);
	expect(&f, RF_WHY_WRITE, "new/er/x", RF_VERDICT_ALLOWED, 0, "filesystem.write");
	expect(&f, RF_WHY_READ, "new", RF_VERDICT_ALLOWED, 0, "mode");
	expect(&f, RF_WHY_READ, "newer", RF_VERDICT_ABSENT, ENOENT, "mode");
}

Test(why, a13_full_access_confines_nothing)
{
	struct fixture f autofixture = fixture_new();

	say(&f, "mode", "full-access");
	must_plan(&f);
	expect(&f, RF_WHY_WRITE, "/etc/hosts", RF_VERDICT_ALLOWED, 0, "mode");
	expect(&f, RF_WHY_READ, "/nope", RF_VERDICT_ABSENT, ENOENT, "mode");
}

Test(why, an_access_is_one_of_three_words)
{
	enum rf_why_access access = RF_WHY_WRITE;

	cr_expect(rf_why_access_parse("exec", &access) && access == RF_WHY_EXEC);
	cr_expect(!rf_why_access_parse("open", &access) && access == RF_WHY_EXEC);
}
