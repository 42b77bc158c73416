/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sys/mman.h>

#include "base/fd.h"
#include "fixture.h"

/* What every engine must answer alike; each test of this file runs on all of them. */
#define EACH_VARIANT(suite, name)                                               \
	static void suite##_##name(struct rf_fs *fs, struct fixture *at);       \
	Test(suite, name)                                                       \
	{                                                                       \
		for (int i = 0; i < VARIANTS; i++) {                            \
			struct fixture fixture in_fixture = {0};                \
			struct rf_fs *fs rf_autofs = NULL;                      \
                                                                                \
			fixture_make(&fixture);                                 \
			fs = open_variant(fixture.root, (enum variant)i, NULL); \
			suite##_##name(fs, &fixture);                           \
		}                                                               \
	}                                                                       \
	static void suite##_##name(struct rf_fs *fs, rf_unused struct fixture *at)

EACH_VARIANT(fs, reading_gives_content_and_stat)
{
	struct rf_fs_result all autoresult = {0}, some autoresult = {0}, past autoresult = {0};
	struct stat plain;

	put("f", "0123456789");
	all = run(fs, ask(.operation = RF_FS_READ, .path = "f"));
	cr_assert_eq(all.error, 0);
	cr_expect_str_eq(all.content, "0123456789");
	cr_expect_eq(all.content_size_bytes, 10);
	cr_assert_eq(stat("f", &plain), 0);
	cr_expect_eq(all.stat.ino, plain.st_ino);
	cr_expect_eq(all.stat.mode, plain.st_mode);
	cr_expect_eq(all.stat.size_bytes, 10);
	cr_expect_eq(all.stat.dev, plain.st_dev);
	cr_expect_eq(
		all.stat.mtime_ns, plain.st_mtim.tv_sec * 1000000000LL + plain.st_mtim.tv_nsec);
	some = run(fs, ask(.operation = RF_FS_READ, .path = "f", .flags = RF_FS_HAS_LENGTH,
			       .offset = 2, .length = 3));
	cr_expect_str_eq(some.content, "234");
	past = run(fs, ask(.operation = RF_FS_READ, .path = "f", .offset = 11));
	cr_expect_eq(past.error, 0);
	cr_expect_eq(past.content_size_bytes, 0);
}

EACH_VARIANT(fs, errnos_are_those_of_plain_calls)
{
	put("f", "");
	cr_assert_eq(mkdir("d", 0755), 0);
	put("d/x", "");
	expect_refused(ask(.operation = RF_FS_READ, .path = "n"), ENOENT, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_READ, .path = "n/n"), ENOENT, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_READ, .path = "f/n"), ENOTDIR, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_READ, .path = "d"), EISDIR, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_STAT, .path = "f/"), ENOTDIR, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_WRITE, .path = "n"), ENOENT, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_WRITE, .path = "d"), EISDIR, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_WRITE, .path = "f", .open_flags = O_CREAT | O_EXCL),
		EEXIST, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_REPLACE, .path = "d"), EISDIR, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_REPLACE, .path = "f", .open_flags = O_EXCL), EEXIST,
		RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_MKDIR, .path = "d"), EEXIST, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_MKDIR, .path = "f", .flags = RF_FS_PARENTS), EEXIST,
		RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_MKDIR, .path = "n/n"), ENOENT, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_REMOVE, .path = "d"), ENOTEMPTY, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_REMOVE, .path = "n"), ENOENT, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_REMOVE, .path = "."), EBUSY, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_LIST, .path = "f"), ENOTDIR, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_RENAME, .path = "n", .target = "m"), ENOENT,
		RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_RENAME, .path = "f", .target = "d"), EISDIR,
		RF_FS_CODE_NONE);
	expect_refused(
		ask(.operation = RF_FS_COPY, .path = "d", .target = "e"), EISDIR, RF_FS_CODE_NONE);
}

EACH_VARIANT(fs, writing_follows_open_flags)
{
	struct stat found;

	expect_done(ask(.operation = RF_FS_WRITE, .path = "f", .open_flags = O_CREAT | O_EXCL,
		.flags = RF_FS_HAS_MODE, .mode = 0600, CONTENT("0123456789")));
	cr_assert_eq(stat("f", &found), 0);
	cr_expect_eq(found.st_mode & 07777, 0600);
	expect_done(ask(.operation = RF_FS_WRITE, .path = "f", .offset = 3, CONTENT("AB")));
	expect_file("f", "012AB56789");
	expect_done(ask(.operation = RF_FS_WRITE, .path = "f", .open_flags = O_TRUNC,
		.flags = RF_FS_SYNC, CONTENT("new")));
	expect_file("f", "new");
	expect_done(ask(.operation = RF_FS_APPEND, .path = "f", CONTENT("er")));
	expect_done(
		ask(.operation = RF_FS_WRITE, .path = "f", .open_flags = O_APPEND, CONTENT("!")));
	expect_file("f", "newer!");
	expect_done(ask(.operation = RF_FS_APPEND, .path = "g", CONTENT("made")));
	expect_file("g", "made");
	expect_done(ask(.operation = RF_FS_WRITE, .path = "f", .flags = RF_FS_HAS_TIMES,
		.atime_ns = RF_FS_TIME_OMIT, .mtime_ns = 1000000007));
	cr_assert_eq(stat("f", &found), 0);
	cr_expect_eq(found.st_mtim.tv_sec, 1);
	cr_expect_eq(found.st_mtim.tv_nsec, 7);
}

EACH_VARIANT(fs, replacing_keeps_mode_and_leaves_nothing_else)
{
	struct rf_fs_result listed autoresult = {0};
	struct stat before, after;

	put("f", "old");
	cr_assert_eq(chmod("f", 0751), 0);
	cr_assert_eq(stat("f", &before), 0);
	expect_done(ask(.operation = RF_FS_REPLACE, .path = "f", CONTENT("new")));
	cr_assert_eq(stat("f", &after), 0);
	expect_file("f", "new");
	cr_expect_eq(after.st_mode, before.st_mode);
	cr_expect_neq(after.st_ino, before.st_ino);
	expect_done(ask(.operation = RF_FS_REPLACE, .path = "g", .flags = RF_FS_NO_DURABLE,
		CONTENT("made")));
	expect_file("g", "made");
	listed = run(fs, ask(.operation = RF_FS_LIST, .path = "."));
	cr_expect_eq(listed.n_entries, 2);
}

EACH_VARIANT(fs, content_may_come_and_go_by_descriptor)
{
	struct rf_fs_result result autoresult = {0};
	int in rf_autoclose = rf_memfd("in", "by descriptor", 13), out rf_autoclose = -1;
	char found[32] = "";

	expect_done(ask(.operation = RF_FS_REPLACE, .path = "f", .has_content_fd = true,
		.content_fd = in));
	expect_file("f", "by descriptor");
	out = memfd_create("out", MFD_CLOEXEC);
	result = run(fs, ask(.operation = RF_FS_READ, .path = "f", .offset = 3,
				 .has_content_fd = true, .content_fd = out));
	cr_expect_eq(result.error, 0);
	cr_expect_eq(result.bytes, 10);
	cr_expect_eq(pread(out, found, sizeof(found), 0), 10);
	cr_expect_str_eq(found, "descriptor");
}

EACH_VARIANT(fs, exists_asks_no_ancestors)
{
	struct rf_fs_result no autoresult = {0}, yes autoresult = {0};

	put("f", "");
	no = run(fs, ask(.operation = RF_FS_EXISTS, .path = "f/n/n"));
	yes = run(fs, ask(.operation = RF_FS_EXISTS, .path = "f"));
	cr_expect(no.error == 0 && !no.exists);
	cr_expect(yes.error == 0 && yes.exists);
}

EACH_VARIANT(fs, listing_is_sorted_and_goes_down_when_asked)
{
	struct rf_fs_result flat autoresult = {0}, deep autoresult = {0};

	cr_assert_eq(mkdir("d", 0755), 0);
	put("d/x", "12");
	put("d-", "");
	cr_assert_eq(symlink("nowhere", "l"), 0);
	flat = run(fs, ask(.operation = RF_FS_LIST, .path = "/", .flags = 0));
	cr_expect_eq(flat.code, RF_FS_CODE_ESCAPE);
	rf_fs_result_clear(&flat);
	flat = run(fs, ask(.operation = RF_FS_LIST, .path = "."));
	cr_assert_eq(flat.n_entries, 3);
	cr_expect_str_eq(flat.entries[0].path, "d");
	cr_expect_str_eq(flat.entries[2].path, "l");
	cr_expect_eq(flat.entries[2].type, RF_FS_TYPE_SYMLINK);
	deep = run(fs, ask(.operation = RF_FS_LIST, .path = ".",
			       .flags = RF_FS_RECURSIVE | RF_FS_WITH_STAT));
	cr_assert_eq(deep.n_entries, 4);
	cr_expect_str_eq(deep.entries[1].path, "d-");
	cr_expect_str_eq(deep.entries[2].path, "d/x");
	cr_expect_eq(deep.entries[2].stat.size_bytes, 2);
}

EACH_VARIANT(fs, directories_are_made_renamed_and_removed)
{
	struct rf_fs_result removed autoresult = {0};

	expect_done(ask(.operation = RF_FS_MKDIR, .path = "a/b/c", .flags = RF_FS_PARENTS));
	expect_done(ask(.operation = RF_FS_MKDIR, .path = "a/b/c", .flags = RF_FS_PARENTS));
	expect_done(ask(.operation = RF_FS_RENAME, .path = "a/b", .target = "z/"));
	cr_expect_eq(access("z/c", F_OK), 0);
	put("z/c/f", "");
	cr_assert_eq(symlink("/etc", "z/link"), 0);
	removed = run(fs, ask(.operation = RF_FS_REMOVE, .path = "z", .flags = RF_FS_RECURSIVE));
	cr_expect_eq(removed.error, 0);
	cr_expect_eq(removed.n_removed, 4);
	cr_expect_null(removed.removed);
	expect_done(ask(.operation = RF_FS_REMOVE, .path = "a"));
	expect_done(ask(.operation = RF_FS_REMOVE, .path = "n/n/n", .flags = RF_FS_FORCE));
	expect_done(ask(.operation = RF_FS_REMOVE, .path = "n/n/n",
		.flags = RF_FS_FORCE | RF_FS_RECURSIVE));
}

EACH_VARIANT(fs, renaming_replaces_unless_told_not_to)
{
	put("a", "a");
	put("b", "b");
	expect_refused(
		ask(.operation = RF_FS_RENAME, .path = "a", .target = "b", .open_flags = O_EXCL),
		EEXIST, RF_FS_CODE_NONE);
	expect_done(ask(.operation = RF_FS_RENAME, .path = "a", .target = "b"));
	expect_file("b", "a");
}

EACH_VARIANT(fs, copies_are_whole)
{
	put("a", "content");
	cr_assert_eq(chmod("a", 0750), 0);
	cr_assert_eq(mkdir("d", 0755), 0);
	put("d/x", "x");
	expect_done(ask(.operation = RF_FS_COPY, .path = "a", .target = "d/a"));
	expect_file("d/a", "content");
	expect_done(
		ask(.operation = RF_FS_COPY, .path = "d", .target = "e", .flags = RF_FS_RECURSIVE));
	expect_file("e/x", "x");
	expect_refused(ask(.operation = RF_FS_COPY, .path = "d", .target = "d/in",
			       .flags = RF_FS_RECURSIVE),
		EINVAL, RF_FS_CODE_NONE);
	expect_refused(
		ask(.operation = RF_FS_COPY, .path = "a", .target = "d/a", .open_flags = O_EXCL),
		EEXIST, RF_FS_CODE_NONE);
}

EACH_VARIANT(fs, digests_are_sha256)
{
	static const uint8_t abc[] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41,
		0x40, 0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
		0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
	struct rf_fs_result digest autoresult = {0}, one autoresult = {0}, two autoresult = {0};

	cr_assert_eq(mkdir("d", 0755), 0);
	put("d/f", "abc");
	digest = run(fs, ask(.operation = RF_FS_DIGEST, .path = "d/f"));
	cr_assert(digest.has_digest);
	cr_expect_arr_eq(digest.digest, abc, sizeof(abc));
	one = run(fs, ask(.operation = RF_FS_SNAPSHOT, .path = "d"));
	cr_assert_eq(one.n_entries, 1);
	cr_expect_arr_eq(one.entries[0].digest, abc, sizeof(abc));
	put("d/f", "abd");
	two = run(fs, ask(.operation = RF_FS_SNAPSHOT, .path = "d"));
	cr_expect(memcmp(one.digest, two.digest, RF_FS_DIGEST_BYTES) != 0);
}

EACH_VARIANT(fs, changes_touch_what_they_name)
{
	struct stat found;

	put("f", "12345");
	expect_done(ask(.operation = RF_FS_CHANGE, .path = "f",
		.flags = RF_FS_HAS_MODE | RF_FS_HAS_LENGTH | RF_FS_HAS_TIMES, .mode = 0444,
		.length = 2, .atime_ns = 5, .mtime_ns = -1));
	cr_assert_eq(stat("f", &found), 0);
	cr_expect_eq(found.st_mode & 07777, 0444);
	cr_expect_eq(found.st_size, 2);
	cr_expect_eq(found.st_atim.tv_nsec, 5);
	cr_expect_eq(found.st_mtim.tv_sec, -1);
	cr_expect_eq(found.st_mtim.tv_nsec, 999999999);
}

EACH_VARIANT(fs, both_spellings_and_real_paths_are_input)
{
	struct rf_fs_result real autoresult = {0};
	struct rf_fs *linked rf_autofs = NULL;
	char alias[128], path[256];

	(void)at;
	put("f", "x");
	real = run(fs, ask(.operation = RF_FS_REAL_PATH, .path = "./f"));
	cr_assert_eq(real.error, 0);
	expect_done(ask(.operation = RF_FS_READ, .path = real.real_path));
	(void)snprintf(alias, sizeof(alias), "%s/alias", at->top);
	cr_assert_eq(symlink("root", alias), 0);
	cr_assert_eq(rf_fs_open(&linked, alias, NULL), 0);
	fs = linked;
	(void)snprintf(path, sizeof(path), "%s//./f", alias);
	expect_done(ask(.operation = RF_FS_READ, .path = path));
	expect_done(ask(.operation = RF_FS_READ, .path = real.real_path));
	expect_done(ask(.operation = RF_FS_LIST, .path = alias));
	(void)snprintf(path, sizeof(path), "%s2/f", alias);
	expect_refused(ask(.operation = RF_FS_READ, .path = path), EACCES, RF_FS_CODE_ESCAPE);
}

EACH_VARIANT(fs, a_batch_is_as_if_in_order)
{
	enum { N = 400U };
	struct rf_fs_request requests[N];
	struct rf_fs_result results[N];
	char contents[N][12];

	for (int i = 0; i < N; i++) {
		(void)snprintf(contents[i], sizeof(contents[i]), "%d", i);
		requests[i] = ask(.operation = i % 3 == 2 ? RF_FS_READ : RF_FS_REPLACE,
			.path = i % 2 ? "same" : "./same", .flags = 0);
		if (i % 3 != 2) {
			requests[i].flags = RF_FS_NO_DURABLE;
			requests[i].content = contents[i];
			requests[i].content_size_bytes = strlen(contents[i]);
		}
	}
	cr_assert_eq(rf_fs_batch(fs, requests, N, results), 0);
	for (int i = 0; i < N; i++) {
		cr_expect_eq(results[i].error, 0);
		if (i % 3 == 2)
			cr_expect_str_eq(results[i].content, contents[i - 1]);
		rf_fs_result_clear(&results[i]);
	}
}

EACH_VARIANT(fs, many_durable_changes_at_once)
{
	enum { N = 700 };
	struct rf_fs_request requests[N];
	struct rf_fs_result results[N];
	char paths[N][16];

	cr_assert_eq(mkdir("a", 0755), 0);
	cr_assert_eq(mkdir("b", 0755), 0);
	for (int i = 0; i < N; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "%s/%d", i % 2 ? "a" : "b", i);
		requests[i] = ask(.operation = i % 5 ? RF_FS_REPLACE : RF_FS_WRITE,
			.path = paths[i], .open_flags = i % 5 ? 0 : O_CREAT, .flags = RF_FS_SYNC,
			.content = paths[i], .content_size_bytes = strlen(paths[i]));
	}
	cr_assert_eq(rf_fs_batch(fs, requests, N, results), 0);
	for (int i = 0; i < N; i++) {
		cr_expect_eq(results[i].error, 0, "%s", results[i].message);
		expect_file(paths[i], paths[i]);
		rf_fs_result_clear(&results[i]);
	}
}

EACH_VARIANT(fs, names_need_not_be_utf8)
{
	struct rf_fs_result listed autoresult = {0};

	expect_done(ask(.operation = RF_FS_REPLACE, .path = "\xff\xfe", CONTENT("x")));
	listed = run(fs, ask(.operation = RF_FS_LIST, .path = "."));
	cr_assert_eq(listed.n_entries, 1);
	cr_expect_str_eq(listed.entries[0].path, "\xff\xfe");
}
