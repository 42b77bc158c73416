/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "base/fd.h"
#include "fixture.h"

/* Every operation on one path, as a writer and as a reader. */
static const struct rf_fs_request on_path[] = {
	{.operation = RF_FS_READ},
	{.operation = RF_FS_WRITE, CONTENT("evil")},
	{.operation = RF_FS_WRITE, .open_flags = O_CREAT | O_TRUNC, CONTENT("evil")},
	{.operation = RF_FS_APPEND, CONTENT("evil")},
	{.operation = RF_FS_REPLACE, CONTENT("evil")},
	{.operation = RF_FS_STAT},
	{.operation = RF_FS_EXISTS},
	{.operation = RF_FS_LIST},
	{.operation = RF_FS_MKDIR},
	{.operation = RF_FS_RENAME, .target = "target"},
	{.operation = RF_FS_REMOVE},
	{.operation = RF_FS_REMOVE, .flags = RF_FS_RECURSIVE | RF_FS_FORCE},
	{.operation = RF_FS_COPY, .target = "target"},
	{.operation = RF_FS_COPY, .target = "target", .flags = RF_FS_RECURSIVE},
	{.operation = RF_FS_DIGEST},
	{.operation = RF_FS_REAL_PATH},
	{.operation = RF_FS_SNAPSHOT},
	{.operation = RF_FS_CHANGE, .flags = RF_FS_HAS_MODE, .mode = 0777},
};

static void expect_all_escape(struct rf_fs *fs, const char *path)
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(on_path); i++) {
		struct rf_fs_request request = on_path[i];

		request.path = path;
		expect_refused(request, EACCES, RF_FS_CODE_ESCAPE);
	}
}

static void expect_targets_escape(struct rf_fs *fs, const char *path)
{
	put("source", "source");
	expect_refused(ask(.operation = RF_FS_COPY, .path = "source", .target = path), EACCES,
		RF_FS_CODE_ESCAPE);
	expect_refused(ask(.operation = RF_FS_RENAME, .path = "source", .target = path), EACCES,
		RF_FS_CODE_ESCAPE);
}

static void make_traps(const struct fixture *fixture)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/file", fixture->outside);
	put(path, "kept");
	cr_assert_eq(link(path, "hard"), 0);
	cr_assert_eq(symlink("../outside/file", "relative"), 0);
	cr_assert_eq(symlink(path, "absolute"), 0);
	cr_assert_eq(symlink("../outside", "directory"), 0);
	cr_assert_eq(symlink("inside", "harmless"), 0);
	cr_assert_eq(symlink("gone", "dangling"), 0);
	cr_assert_eq(symlink("/proc/self/fd/0", "magic"), 0);
	put("inside", "inside");
	cr_assert_eq(mkfifo("fifo", 0666), 0);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

Test(fs_refusals, nothing_but_files_and_directories_is_touched)
{
	static const char *const traps[] = {"hard", "relative", "absolute", "directory",
		"directory/file", "directory/new", "harmless", "dangling", "magic", "fifo",
		"socket", "..", "../outside/file", "inside/../inside", "/etc/passwd", "/"};

	for (int i = 0; i < VARIANTS; i++) {
		struct fixture fixture in_fixture = {0};
		struct rf_fs *fs rf_autofs = NULL;
		char path[128];

		fixture_make(&fixture);
		make_traps(&fixture);
		fs = open_variant(fixture.root, (enum variant)i, NULL);
		for (size_t k = 0; k < RF_ARRAY_SIZE(traps); k++) {
			expect_all_escape(fs, traps[k]);
			expect_targets_escape(fs, traps[k]);
		}
		(void)snprintf(path, sizeof(path), "%s/file", fixture.outside);
		expect_file(path, "kept");
		(void)snprintf(path, sizeof(path), "%s/new", fixture.outside);
		cr_expect_neq(access(path, F_OK), 0);
		expect_file("inside", "inside");
	}
}

Test(fs_refusals, devices_are_not_opened)
{
	for (int i = 0; i < VARIANTS; i++) {
		struct fixture fixture in_fixture = {0};
		struct rf_fs *fs rf_autofs = NULL;

		fixture_make(&fixture);
		if (mknod("null", S_IFCHR | 0666, makedev(1, 3)) < 0)
			return; /* not as root */
		fs = open_variant(fixture.root, (enum variant)i, NULL);
		expect_all_escape(fs, "null");
	}
}

Test(fs_refusals, a_fifo_is_not_even_opened)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = NULL;
	int writer;

	fixture_make(&fixture);
	cr_assert_eq(mkfifo("fifo", 0666), 0);
	fs = open_variant(fixture.root, VARIANT_RING, NULL);
	expect_refused(ask(.operation = RF_FS_READ, .path = "fifo"), EACCES, RF_FS_CODE_ESCAPE);
	/* ENXIO: there is no reader, and there was none. */
	writer = open("fifo", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	cr_expect(writer < 0 && errno == ENXIO);
}

static bool enter_namespace(void)
{
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

Test(fs_refusals, mounts_are_never_crossed)
{
	if (!enter_namespace())
		return; /* not as root */
	for (int i = 0; i < VARIANTS; i++) {
		struct fixture fixture in_fixture = {0};
		struct rf_fs *fs rf_autofs = NULL;
		struct rf_fs_result removed autoresult = {0};
		char path[128];

		fixture_make(&fixture);
		(void)snprintf(path, sizeof(path), "%s/k", fixture.outside);
		put(path, "kept");
		cr_assert_eq(mkdir("s", 0755), 0);
		cr_assert_eq(mkdir("s/m", 0755), 0);
		put("s/a", "");
		put("s/f", "");
		cr_assert_eq(mount(fixture.outside, "s/m", NULL, MS_BIND, NULL), 0);
		cr_assert_eq(mount(path, "s/f", NULL, MS_BIND, NULL), 0);
		fs = open_variant(fixture.root, (enum variant)i, NULL);
		expect_all_escape(fs, "s/m/k");
		expect_all_escape(fs, "s/m");
		expect_all_escape(fs, "s/f");
		removed = run(
			fs, ask(.operation = RF_FS_REMOVE, .path = "s", .flags = RF_FS_RECURSIVE));
		cr_expect_neq(removed.error, 0);
		expect_file(path, "kept");
		cr_assert_eq(umount("s/m"), 0);
		cr_assert_eq(umount("s/f"), 0);
	}
}

Test(fs_refusals, a_mount_stops_a_removal_which_says_what_is_gone)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = NULL;
	struct rf_fs_result removed autoresult = {0};

	if (!enter_namespace())
		return;
	fixture_make(&fixture);
	cr_assert_eq(system("mkdir -p s/d/e s/m && touch s/d/e/f"), 0);
	cr_assert_eq(mount(fixture.outside, "s/m", NULL, MS_BIND, NULL), 0);
	fs = open_variant(fixture.root, VARIANT_RING, NULL);
	removed = run(fs, ask(.operation = RF_FS_REMOVE, .path = "s", .flags = RF_FS_RECURSIVE));
	cr_expect_eq(removed.error, EACCES);
	cr_expect_eq(removed.code, RF_FS_CODE_ESCAPE);
	if (access("s/d", F_OK) != 0) {
		cr_expect_eq(removed.n_removed, 3);
		cr_expect_str_eq(removed.removed, "s/d");
		cr_expect_eq(removed.removed_size_bytes, 4);
	}
	cr_assert_eq(umount("s/m"), 0);
}

Test(fs_refusals, a_replaced_root_is_noticed)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = NULL;

	fixture_make(&fixture);
	put("f", "old");
	fs = open_variant(fixture.root, VARIANT_RING, NULL);
	cr_assert_eq(rename("../root", "../moved"), 0);
	expect_refused(ask(.operation = RF_FS_READ, .path = "f"), ESTALE, RF_FS_CODE_CHANGED);
	cr_assert_eq(mkdir("../root", 0755), 0);
	expect_refused(ask(.operation = RF_FS_READ, .path = "f"), ESTALE, RF_FS_CODE_CHANGED);
	expect_refused(ask(.operation = RF_FS_REMOVE, .path = "f"), ESTALE, RF_FS_CODE_CHANGED);
	expect_file("f", "old");
}

Test(fs_refusals, a_recursive_copy_or_snapshot_follows_nothing)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = NULL;
	struct rf_fs_result snapshot autoresult = {0};

	fixture_make(&fixture);
	cr_assert_eq(mkdir("d", 0755), 0);
	cr_assert_eq(symlink("../../outside", "d/l"), 0);
	fs = open_variant(fixture.root, VARIANT_PLAIN, NULL);
	expect_refused(
		ask(.operation = RF_FS_COPY, .path = "d", .target = "e", .flags = RF_FS_RECURSIVE),
		EACCES, RF_FS_CODE_ESCAPE);
	snapshot = run(fs, ask(.operation = RF_FS_SNAPSHOT, .path = "d"));
	cr_assert_eq(snapshot.n_entries, 1);
	cr_expect_not(snapshot.entries[0].has_digest);
	cr_expect(snapshot.has_digest);
}

Test(fs_refusals, a_snapshot_without_the_content_of_a_file_has_no_digest)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = NULL;
	struct rf_fs_result snapshot autoresult = {0};

	fixture_make(&fixture);
	cr_assert_eq(mkdir("d", 0755), 0);
	put("d/f", "text");
	cr_assert_eq(link("d/f", "alias"), 0);
	fs = open_variant(fixture.root, VARIANT_PLAIN, NULL);
	snapshot = run(fs, ask(.operation = RF_FS_SNAPSHOT, .path = "d"));
	cr_assert_eq(snapshot.n_entries, 1);
	cr_expect_not(snapshot.has_digest);
}

Test(fs_refusals, malformed_requests_are_told_apart)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = NULL;
	char name[300], *path rf_autofree = malloc(5000);

	fixture_make(&fixture);
	fs = open_variant(fixture.root, VARIANT_RING, NULL);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memset(path, '/', 4999);
	path[4999] = '\0';
	expect_refused(ask(.operation = RF_FS_READ, .path = ""), EINVAL, RF_FS_CODE_MALFORMED);
	expect_refused(ask(.operation = RF_FS_READ), EINVAL, RF_FS_CODE_MALFORMED);
	expect_refused(ask(.operation = RF_FS_READ, .path = "f", .flags = RF_FS_FORCE), EINVAL,
		RF_FS_CODE_MALFORMED);
	expect_refused(ask(.operation = RF_FS_WRITE, .path = "f", .open_flags = O_PATH), EINVAL,
		RF_FS_CODE_MALFORMED);
	expect_refused(
		ask(.operation = RF_FS_MKDIR, .path = "f", .flags = RF_FS_HAS_MODE, .mode = 010000),
		EINVAL, RF_FS_CODE_MALFORMED);
	expect_refused(ask(.operation = RF_FS_RENAME, .path = "f"), EINVAL, RF_FS_CODE_MALFORMED);
	expect_refused(
		ask(.operation = RF_FS_OPERATIONS_, .path = "f"), EINVAL, RF_FS_CODE_MALFORMED);
	expect_refused(ask(.operation = RF_FS_READ, .path = name), ENAMETOOLONG, RF_FS_CODE_NONE);
	expect_refused(ask(.operation = RF_FS_READ, .path = path), ENAMETOOLONG, RF_FS_CODE_NONE);
	name[255] = '\0';
	expect_done(ask(.operation = RF_FS_REPLACE, .path = name));
}

/* What an attacker does between opening and counting: an outside file, linked in, opened, unlinked.
 */
static void expect_gone(struct rf_fs *fs, const char *name, bool is_renamed_over)
{
	struct rf_fs_result result autoresult = {0};
	int root_fd rf_autoclose = open(".", O_PATH | O_CLOEXEC), fd rf_autoclose = -1;
	struct stat opened;

	cr_assert_eq(link("../outside/file", name), 0);
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (is_renamed_over) {
		put("other", "");
		cr_assert_eq(rename("other", name), 0);
	} else {
		cr_assert_eq(unlink(name), 0);
	}
	cr_assert_eq(fstat(fd, &opened), 0);
	cr_assert_eq(opened.st_nlink, 1);
	cr_expect_eq(rf_fs_judge_open(fs, &result, RF_FS_WRITE, name, root_fd, name, fd, &opened),
		RF_REFUSED);
	cr_expect_eq(result.code, RF_FS_CODE_CHANGED);
	(void)unlink(name);
}

Test(fs_refusals, one_link_that_is_another_name_is_refused)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = NULL;

	fixture_make(&fixture);
	put("../outside/file", "kept");
	put("x (deleted)", "fine");
	fs = open_variant(fixture.root, VARIANT_RING, NULL);
	expect_done(ask(.operation = RF_FS_READ, .path = "x (deleted)"));
	for (int i = 0; i < 2; i++) {
		expect_gone(fs, "f", false);
		expect_gone(fs, "f", true);
		expect_gone(fs, "f (deleted)", false);
		/* Again as if there were no /proc. */
		fs->proc_fd = rf_close(fs->proc_fd);
	}
	expect_done(ask(.operation = RF_FS_READ, .path = "x (deleted)"));
}
