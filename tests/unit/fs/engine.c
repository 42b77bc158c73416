/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What refuses the ring changes speed alone. Filters last as long as the test's own process. */

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "fixture.h"

static void refuse_call(unsigned int call, unsigned int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {RF_ARRAY_SIZE(filter), filter};

	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* Which engine serves is up to the host. */
#define EITHER (-1)

/* A little of everything, and everything is right. */
static void expect_service(struct fixture *fixture, int is_plain, const char *why_begins)
{
	enum { N = 300 };
	struct rf_fs *fs rf_autofs = NULL;
	struct rf_fs_request requests[2 * N];
	struct rf_fs_result results[2 * N];
	char paths[N][16];
	const char *why = NULL;

	fs = open_variant(fixture->root, VARIANT_RING, NULL);
	for (int i = 0; i < N; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "f%d", i);
		requests[i] = ask(.operation = RF_FS_REPLACE, .path = paths[i], .content = paths[i],
			.content_size_bytes = strlen(paths[i]));
		requests[N + i] = ask(.operation = RF_FS_READ, .path = paths[i]);
	}
	cr_assert_eq(rf_fs_batch(fs, requests, 2 * N, results), 0);
	for (int i = 0; i < N; i++) {
		cr_expect_eq(results[i].error, 0);
		cr_expect_str_eq(results[N + i].content, paths[i]);
		rf_fs_result_clear(&results[i]);
		rf_fs_result_clear(&results[N + i]);
	}
	if (is_plain != EITHER)
		cr_expect_eq(rf_fs_engine(fs, &why), RF_FS_ENGINE_PLAIN);
	if (why_begins)
		cr_expect(why && strncmp(why, why_begins, strlen(why_begins)) == 0, "%s", why);
	cr_assert_eq(mkdir("d", 0755), 0);
	cr_assert_eq(symlink("d", "l"), 0);
	expect_refused(ask(.operation = RF_FS_LIST, .path = "l"), EACCES, RF_FS_CODE_ESCAPE);
	expect_refused(ask(.operation = RF_FS_READ, .path = "l/x"), EACCES, RF_FS_CODE_ESCAPE);
	expect_done(ask(.operation = RF_FS_REMOVE, .path = "d", .flags = RF_FS_RECURSIVE));
}

static void expect_service_without(
	unsigned int call, unsigned int error, int is_plain, const char *why_begins)
{
	struct fixture fixture in_fixture = {0};

	fixture_make(&fixture);
	refuse_call(call, error);
	expect_service(&fixture, is_plain, why_begins);
}

Test(fs_engine, setup_refused_with_eperm_is_served_plainly)
{
	expect_service_without(SYS_io_uring_setup, EPERM, true, "io_uring_setup: EPERM");
}

Test(fs_engine, setup_refused_with_enosys_is_served_plainly)
{
	expect_service_without(SYS_io_uring_setup, ENOSYS, true, "io_uring_setup: ENOSYS");
}

Test(fs_engine, enter_refused_is_served_plainly)
{
	expect_service_without(SYS_io_uring_enter, EPERM, true, "io_uring_enter: EPERM");
}

Test(fs_engine, registering_refused_is_no_harm)
{
	expect_service_without(SYS_io_uring_register, EPERM, EITHER, NULL);
}

Test(fs_engine, openat2_missing_is_served_by_component)
{
	expect_service_without(SYS_openat2, ENOSYS, EITHER, NULL);
}

Test(fs_engine, plain_says_that_it_was_asked_for)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = NULL;
	const char *why = NULL;

	fixture_make(&fixture);
	fs = open_variant(fixture.root, VARIANT_PLAIN, NULL);
	cr_expect_eq(rf_fs_engine(fs, &why), RF_FS_ENGINE_PLAIN);
	cr_expect_str_eq(why, "asked for");
}

static void *use_elsewhere(void *argument)
{
	struct rf_fs *fs = argument;
	int *error = malloc(sizeof(*error));
	struct rf_fs_result result autoresult = {0};

	result = run(fs, ask(.operation = RF_FS_REPLACE, .path = "f", CONTENT("x")));
	*error = result.error;
	return error;
}

/* A ring of a single issuer is made anew for another thread. */
Test(fs_engine, threads_may_take_turns)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = NULL;
	pthread_t thread;
	void *error rf_autofree = NULL;

	fixture_make(&fixture);
	fs = open_variant(fixture.root, VARIANT_RING, NULL);
	expect_done(ask(.operation = RF_FS_REPLACE, .path = "f", CONTENT("x")));
	cr_assert_eq(pthread_create(&thread, NULL, use_elsewhere, fs), 0);
	cr_assert_eq(pthread_join(thread, &error), 0);
	cr_expect_eq(*(int *)error, 0);
	expect_done(ask(.operation = RF_FS_REPLACE, .path = "f", CONTENT("x")));
}

static void expect_no_siblings(void)
{
	cr_expect_neq(system("ls -A . d | grep -q ringfence-"), 0);
}

/* What is written before it has a name cannot get one here: it is written again, with one. */
Test(fs_engine, linking_refused_leaves_siblings_to_be_renamed)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = NULL;

	fixture_make(&fixture);
	refuse_call(SYS_linkat, EPERM);
	fs = open_variant(fixture.root, VARIANT_RING, NULL);
	fs->is_nameless = true;
	cr_assert_eq(mkdir("d", 0755), 0);
	put("d/f", "source");
	expect_done(ask(.operation = RF_FS_COPY, .path = "d/f", .target = "copied"));
	expect_file("copied", "source");
	fs->is_nameless = true;
	expect_done(ask(.operation = RF_FS_REPLACE, .path = "new", CONTENT("new")));
	expect_file("new", "new");
	fs->is_nameless = true;
	expect_done(ask(.operation = RF_FS_REPLACE, .path = "d/f", CONTENT("other")));
	expect_file("d/f", "other");
	cr_expect_not(fs->is_nameless);
	expect_no_siblings();
}

Test(fs_engine, siblings_and_nameless_files_give_the_same)
{
	for (int is_nameless = 0; is_nameless < 2; is_nameless++) {
		struct fixture fixture in_fixture = {0};
		struct rf_fs *fs rf_autofs = NULL;
		struct stat found;

		fixture_make(&fixture);
		fs = open_variant(fixture.root, VARIANT_RING, NULL);
		fs->is_nameless = is_nameless;
		cr_assert_eq(mkdir("d", 0755), 0);
		expect_done(ask(.operation = RF_FS_REPLACE, .path = "d/f", .flags = RF_FS_HAS_MODE,
			.mode = 0640, CONTENT("one")));
		cr_assert_eq(stat("d/f", &found), 0);
		cr_expect_eq(found.st_mode & 07777, 0640);
		expect_done(ask(.operation = RF_FS_REPLACE, .path = "d/f", CONTENT("two")));
		cr_assert_eq(stat("d/f", &found), 0);
		cr_expect(found.st_nlink == 1 && (found.st_mode & 07777) == 0640);
		expect_file("d/f", "two");
		expect_refused(ask(.operation = RF_FS_REPLACE, .path = "d/f", .open_flags = O_EXCL,
				       CONTENT("three")),
			EEXIST, RF_FS_CODE_NONE);
		expect_refused(ask(.operation = RF_FS_COPY, .path = "d/f", .target = "d/f",
				       .open_flags = O_EXCL),
			EEXIST, RF_FS_CODE_NONE);
		expect_done(ask(.operation = RF_FS_COPY, .path = "d/f", .target = "d/g"));
		expect_file("d/g", "two");
		expect_no_siblings();
	}
}
