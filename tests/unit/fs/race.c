/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Eight threads swap directories for symbolic links, files for hard links and fifos, and rename
 * parents out of the root, while every operation runs on the names that they swap. Nothing outside
 * may be read or changed.
 *
 * RF_FS_RACE_OPERATIONS says how many operations (a million takes minutes).
 */

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/fd.h"
#include "base/units.h"
#include "fixture.h"

#define THREADS 8
#define SENTINEL "SENTINEL: this lies outside"
#define BATCH 64

static atomic_bool is_over;

struct attacker {
	pthread_t thread;
	int kind;
};

/* The attackers themselves follow no link of theirs: what they do outside is not the question. */
static int open_inside(const char *directory)
{
	return open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Most attempts fail: others are at it too. */
static void attempt(rf_unused int r)
{
}

static void swap_directory(void)
{
	attempt(rename("d", "d.away"));
	attempt(symlink("../outside", "d.link"));
	attempt(rename("d.link", "d"));
	attempt(unlink("d"));
	attempt(rename("d.away", "d"));
	attempt(mkdir("d", 0755));
}

static void swap_for_hard_link(void)
{
	int fd rf_autoclose = open_inside("d");

	attempt(link("../outside/sentinel", "f.link"));
	attempt(rename("f.link", "f"));
	attempt(unlink("f"));
	attempt(linkat(AT_FDCWD, "../outside/sentinel", fd, "sentinel", 0));
	attempt(unlinkat(fd, "sentinel", 0));
}

static void swap_for_symlink(void)
{
	int fd rf_autoclose = open_inside("d");

	attempt(symlink("../outside/sentinel", "f.symlink"));
	attempt(rename("f.symlink", "f"));
	attempt(symlinkat("../../outside/sentinel", fd, "f.symlink"));
	attempt(renameat(fd, "f.symlink", fd, "f"));
}

static void rename_parent_out(void)
{
	int fd rf_autoclose = -1;

	attempt(rename("p", "../outside/p"));
	attempt(symlink("../outside", "p"));
	attempt(unlink("p"));
	attempt(rename("../outside/p", "p"));
	attempt(mkdir("p", 0755));
	fd = open_inside("p");
	attempt(mkdirat(fd, "q", 0755));
}

static void swap_for_fifo(void)
{
	int fd rf_autoclose = open_inside("p");

	attempt(mkfifo("f.fifo", 0666));
	attempt(rename("f.fifo", "f"));
	attempt(mkfifoat(fd, "f", 0666));
	attempt(unlinkat(fd, "f", 0));
}

static void *attack(void *argument)
{
	static void (*const all[])(void) = {swap_directory, swap_for_hard_link, swap_for_symlink,
		rename_parent_out, swap_for_fifo};
	const struct attacker *attacker = argument;

	while (!atomic_load(&is_over))
		all[attacker->kind % (int)RF_ARRAY_SIZE(all)]();
	return NULL;
}

static const char *const paths[] = {
	"f", "d/f", "d", "p/f", "p/q/f", "p", "p/q", "d/sentinel", "d/g", "d/sentinel/x"};
static const struct rf_fs_request shapes[] = {
	{.operation = RF_FS_READ},
	{.operation = RF_FS_WRITE, .open_flags = O_CREAT, CONTENT("inside")},
	{.operation = RF_FS_WRITE, .open_flags = O_CREAT | O_TRUNC, CONTENT("in")},
	{.operation = RF_FS_APPEND, CONTENT("side")},
	{.operation = RF_FS_REPLACE, .flags = RF_FS_NO_DURABLE, CONTENT("inside")},
	{.operation = RF_FS_STAT},
	{.operation = RF_FS_EXISTS},
	{.operation = RF_FS_LIST, .flags = RF_FS_RECURSIVE | RF_FS_WITH_STAT},
	{.operation = RF_FS_MKDIR, .flags = RF_FS_PARENTS},
	{.operation = RF_FS_RENAME},
	{.operation = RF_FS_REMOVE},
	{.operation = RF_FS_REMOVE, .flags = RF_FS_RECURSIVE | RF_FS_FORCE},
	{.operation = RF_FS_COPY, .flags = RF_FS_RECURSIVE},
	{.operation = RF_FS_DIGEST},
	{.operation = RF_FS_SNAPSHOT},
	{.operation = RF_FS_CHANGE, .flags = RF_FS_HAS_MODE | RF_FS_HAS_LENGTH, .mode = 0644},
};

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return *seed >> 8;
}

static void run_batch(struct rf_fs *fs, unsigned int *seed)
{
	struct rf_fs_request requests[BATCH];
	struct rf_fs_result results[BATCH];

	for (int i = 0; i < BATCH; i++) {
		requests[i] = shapes[next_random(seed) % RF_ARRAY_SIZE(shapes)];
		requests[i].path = paths[next_random(seed) % RF_ARRAY_SIZE(paths)];
		if (requests[i].operation == RF_FS_RENAME || requests[i].operation == RF_FS_COPY)
			requests[i].target = paths[next_random(seed) % RF_ARRAY_SIZE(paths)];
	}
	cr_assert_eq(rf_fs_batch(fs, requests, BATCH, results), 0);
	for (int i = 0; i < BATCH; i++) {
		if (results[i].content)
			cr_expect_null(strstr(results[i].content, "SENTINEL"));
		rf_fs_result_clear(&results[i]);
	}
}

static void expect_outside_untouched(const struct fixture *fixture, const struct stat *before)
{
	char path[128];
	struct stat after;

	(void)snprintf(path, sizeof(path), "%s/sentinel", fixture->outside);
	expect_file(path, SENTINEL);
	cr_assert_eq(stat(path, &after), 0);
	cr_expect_eq(after.st_ino, before->st_ino);
	cr_expect_eq(after.st_mode, before->st_mode);
	cr_expect_eq(after.st_mtim.tv_nsec, before->st_mtim.tv_nsec);
	(void)snprintf(path, sizeof(path), "%s/kept/deep/file", fixture->outside);
	expect_file(path, SENTINEL);
	(void)snprintf(path, sizeof(path), "%s/f", fixture->outside);
	cr_expect_neq(access(path, F_OK), 0);
	(void)snprintf(path, sizeof(path), "%s/g", fixture->outside);
	cr_expect_neq(access(path, F_OK), 0);
	(void)snprintf(path, sizeof(path), "%s/q", fixture->outside);
	cr_expect_neq(access(path, F_OK), 0);
}

static uint64_t wanted_operations(void)
{
	const char *text = getenv("RF_FS_RACE_OPERATIONS");
	uint64_t count = 0;

	return text && rf_parse_u64(text, &count) ? count : 12000;
}

static void race(struct fixture *fixture, enum variant variant)
{
	struct rf_fs *fs rf_autofs = NULL;
	struct attacker attackers[THREADS];
	uint64_t count = wanted_operations() / VARIANTS;
	unsigned int seed = 1;
	struct stat before;

	fs = open_variant(fixture->root, variant, NULL);
	cr_assert_eq(stat("../outside/sentinel", &before), 0);
	atomic_store(&is_over, false);
	for (int i = 0; i < THREADS; i++) {
		attackers[i].kind = i;
		cr_assert_eq(pthread_create(&attackers[i].thread, NULL, attack, &attackers[i]), 0);
	}
	for (uint64_t done = 0; done < count; done += BATCH)
		run_batch(fs, &seed);
	atomic_store(&is_over, true);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_join(attackers[i].thread, NULL), 0);
	expect_outside_untouched(fixture, &before);
}

Test(fs_race, nothing_outside_is_touched, .timeout = 3600)
{
	for (int i = 0; i < VARIANTS; i++) {
		struct fixture fixture in_fixture = {0};

		fixture_make(&fixture);
		cr_assert_eq(system("mkdir -p d p/q ../outside/kept/deep"), 0);
		put("../outside/sentinel", SENTINEL);
		put("../outside/kept/deep/file", SENTINEL);
		race(&fixture, (enum variant)i);
	}
}

static void *truncate_and_fill(void *argument)
{
	static char content[512 * 1024];

	(void)argument;
	memset(content, 'x', sizeof(content));
	while (!atomic_load(&is_over)) {
		int fd rf_autoclose = open("f", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

		if (write(fd, content, sizeof(content)) < 0)
			break;
	}
	return NULL;
}

Test(fs_race, a_file_truncated_while_read_says_so)
{
	struct fixture fixture in_fixture = {0};
	struct rf_fs *fs rf_autofs = NULL;
	pthread_t thread;

	fixture_make(&fixture);
	put("f", "");
	fs = open_variant(fixture.root, VARIANT_RING, NULL);
	atomic_store(&is_over, false);
	cr_assert_eq(pthread_create(&thread, NULL, truncate_and_fill, NULL), 0);
	for (int i = 0; i < 500; i++) {
		struct rf_fs_result result autoresult =
			run(fs, ask(.operation = RF_FS_READ, .path = "f"));

		cr_expect(result.error == 0 ||
			  (result.error == ESTALE && result.code == RF_FS_CODE_CHANGED &&
				  !result.content));
		if (result.error == 0)
			cr_expect_eq(strlen(result.content), result.content_size_bytes);
	}
	atomic_store(&is_over, true);
	cr_assert_eq(pthread_join(thread, NULL), 0);
}
