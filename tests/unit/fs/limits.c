/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "base/fd.h"
#include "fixture.h"

static struct rf_fs *limited(struct fixture *fixture, struct rf_fs_options options)
{
	fixture_make(fixture);
	return open_variant(fixture->root, VARIANT_RING, &options);
}

Test(fs_limits, options_beyond_their_bounds_are_refused)
{
	static const struct rf_fs_options all[] = {
		{.engine = (enum rf_fs_engine)9},
		{.concurrency = RF_FS_CONCURRENCY_MAX + 1},
		{.depth = RF_FS_DEPTH_MAX + 1},
		{.deadline_ms = RF_FS_DEADLINE_MAX_MS + 1},
		{.content_bytes = RF_FS_CONTENT_MAX_BYTES + 1},
		{.entries = RF_FS_ENTRIES_MAX + 1},
		{.request_bytes = UINT64_MAX},
		{.response_bytes = UINT64_MAX},
	};

	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++) {
		struct rf_fs *fs = (struct rf_fs *)&all;

		cr_expect_eq(rf_fs_open(&fs, "/tmp", &all[i]), -EINVAL, "%zu", i);
		cr_expect_eq(fs, (struct rf_fs *)&all);
	}
}

Test(fs_limits, content_is_bounded_both_ways)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = limited(&fixture, (struct rf_fs_options){.content_bytes = 4});
	int fd rf_autoclose = rf_memfd("in", "12345", 5);

	put("f", "12345");
	expect_refused(ask(.operation = RF_FS_READ, .path = "f"), EFBIG, RF_FS_CODE_LIMIT);
	expect_done(ask(.operation = RF_FS_READ, .path = "f", .offset = 1));
	expect_refused(ask(.operation = RF_FS_REPLACE, .path = "f", CONTENT("abcde")), EFBIG,
		RF_FS_CODE_LIMIT);
	expect_refused(ask(.operation = RF_FS_WRITE, .path = "f", .open_flags = O_TRUNC,
			       .has_content_fd = true, .content_fd = fd),
		EFBIG, RF_FS_CODE_LIMIT);
	expect_file("f", "12345");
}

Test(fs_limits, a_batch_over_its_ceiling_does_nothing)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs =
		limited(&fixture, (struct rf_fs_options){.request_bytes = 10, .entries = 3});
	struct rf_fs_request big[] = {
		ask(.operation = RF_FS_REPLACE, .path = "f", CONTENT("12345")),
		ask(.operation = RF_FS_REPLACE, .path = "g", CONTENT("12345"))};
	struct rf_fs_request many[4] = {{.path = "f"}, {.path = "f"}, {.path = "f"}, {.path = "f"}};
	struct rf_fs_result results[4];

	memset(results, 0x55, sizeof(results));
	cr_expect_eq(rf_fs_batch(fs, big, 2, results), -E2BIG);
	cr_expect_eq(rf_fs_batch(fs, many, 4, results), -E2BIG);
	cr_expect_eq(((unsigned char *)results)[0], 0x55);
	cr_expect_neq(access("f", F_OK), 0);
}

Test(fs_limits, responses_are_bounded_together)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = limited(&fixture, (struct rf_fs_options){.response_bytes = 8});
	struct rf_fs_request requests[] = {ask(.operation = RF_FS_READ, .path = "f"),
		ask(.operation = RF_FS_READ, .path = "f"),
		ask(.operation = RF_FS_READ, .path = "f", .offset = 2),
		ask(.operation = RF_FS_LIST, .path = ".")};
	struct rf_fs_result results[4];

	put("f", "12345");
	cr_assert_eq(rf_fs_batch(fs, requests, 4, results), 0);
	cr_expect_eq(results[0].error, 0);
	cr_expect_eq(results[1].code, RF_FS_CODE_LIMIT);
	cr_expect_null(results[1].content);
	cr_expect_eq(results[2].error, 0);
	cr_expect_eq(results[3].code, RF_FS_CODE_LIMIT);
	cr_expect_eq(results[3].n_entries, 0);
	for (int i = 0; i < 4; i++)
		rf_fs_result_clear(&results[i]);
}

Test(fs_limits, entries_and_depth_are_counted)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs =
		limited(&fixture, (struct rf_fs_options){.entries = 5, .depth = 2});

	cr_assert_eq(
		system("mkdir -p d/d/d/d many; touch many/1 many/2 many/3 many/4 many/5 many/6"),
		0);
	expect_refused(ask(.operation = RF_FS_LIST, .path = "many"), E2BIG, RF_FS_CODE_LIMIT);
	expect_refused(ask(.operation = RF_FS_REMOVE, .path = "many", .flags = RF_FS_RECURSIVE),
		E2BIG, RF_FS_CODE_LIMIT);
	cr_expect_eq(access("many/6", F_OK), 0);
	expect_refused(ask(.operation = RF_FS_LIST, .path = "d", .flags = RF_FS_RECURSIVE), E2BIG,
		RF_FS_CODE_LIMIT);
	expect_done(ask(.operation = RF_FS_LIST, .path = "d/d", .flags = RF_FS_RECURSIVE));
	expect_refused(ask(.operation = RF_FS_REMOVE, .path = "d", .flags = RF_FS_RECURSIVE), E2BIG,
		RF_FS_CODE_LIMIT);
}

Test(fs_limits, what_comes_after_the_deadline_is_refused)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = limited(&fixture, (struct rf_fs_options){.deadline_ms = 1});
	enum { N = 20000 };
	struct rf_fs_request *requests rf_autofree = calloc(N, sizeof(*requests));
	struct rf_fs_result *results rf_autofree = calloc(N, sizeof(*results));

	put("f", "12345");
	for (int i = 0; i < N; i++)
		requests[i] = ask(.operation = RF_FS_READ, .path = "f");
	cr_assert_eq(rf_fs_batch(fs, requests, N, results), 0);
	cr_expect_eq(results[N - 1].error, ETIMEDOUT);
	cr_expect_eq(results[N - 1].code, RF_FS_CODE_TIMEOUT);
	for (int i = 0; i < N; i++)
		rf_fs_result_clear(&results[i]);
}

/* A directory of that depth cannot be named by one path; its descriptors can. */
Test(fs_limits, a_tree_deeper_than_a_path_is_removed)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = limited(&fixture, (struct rf_fs_options){.depth = 600});
	char name[101];
	int fd = AT_FDCWD;

	memset(name, 'n', 100);
	name[100] = '\0';
	for (int i = 0; i < 100; i++) {
		int next;

		cr_assert_eq(mkdirat(fd, name, 0755), 0);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd != AT_FDCWD)
			close(fd);
		fd = next;
	}
	close(fd);
	expect_done(ask(.operation = RF_FS_LIST, .path = ".", .flags = RF_FS_RECURSIVE));
	expect_done(ask(.operation = RF_FS_REMOVE, .path = name, .flags = RF_FS_RECURSIVE));
	cr_expect_neq(access(name, F_OK), 0);
}

Test(fs_limits, a_full_disk_fails_one_request_and_not_the_next)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = NULL;
	size_t size = 2 << 20;
	char *content rf_autofree = calloc(1, size);
	struct rf_fs_request requests[] = {
		ask(.operation = RF_FS_REPLACE, .path = "f", CONTENT("small")),
		ask(.operation = RF_FS_REPLACE, .path = "f", .content = content,
			.content_size_bytes = size),
		ask(.operation = RF_FS_REPLACE, .path = "g", CONTENT("small"))};
	struct rf_fs_result results[3];

	fixture_make(&fixture);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return; /* not as root */
	cr_assert_eq(mkdir("small", 0755), 0);
	cr_assert_eq(mount("none", "small", "tmpfs", 0, "size=1m"), 0);
	fs = open_variant("small", VARIANT_RING, NULL);
	cr_assert_eq(rf_fs_batch(fs, requests, 3, results), 0);
	cr_expect_eq(results[0].error, 0);
	cr_expect_eq(results[1].error, ENOSPC);
	cr_expect_eq(results[2].error, 0);
	expect_file("small/f", "small");
	cr_expect_eq(system("test $(ls -A small | wc -l) = 2"), 0);
	for (int i = 0; i < 3; i++)
		rf_fs_result_clear(&results[i]);
	cr_assert_eq(umount2("small", MNT_DETACH), 0);
	/* And now the root is gone. */
	expect_refused(ask(.operation = RF_FS_READ, .path = "f"), ESTALE, RF_FS_CODE_CHANGED);
}
