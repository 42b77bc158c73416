/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A root and something outside it, and every way to serve the root. */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/inside.h"

enum variant { VARIANT_RING, VARIANT_PLAIN, VARIANT_BY_COMPONENT, VARIANTS };

struct fixture {
	char top[64];
	char root[80];
	char outside[80];
};

static inline void fixture_make(struct fixture *fixture)
{
	(void)snprintf(fixture->top, sizeof(fixture->top), "/tmp/rf-fs-unit-XXXXXX");
	cr_assert(mkdtemp(fixture->top));
	(void)snprintf(fixture->root, sizeof(fixture->root), "%s/root", fixture->top);
	(void)snprintf(fixture->outside, sizeof(fixture->outside), "%s/outside", fixture->top);
	cr_assert_eq(mkdir(fixture->root, 0755), 0);
	cr_assert_eq(mkdir(fixture->outside, 0755), 0);
	cr_assert_eq(chdir(fixture->root), 0);
}

static inline void fixture_remove(struct fixture *fixture)
{
	char command[128];

	cr_assert_eq(chdir("/"), 0);
	(void)snprintf(command, sizeof(command), "rm -rf %s", fixture->top);
	cr_assert_eq(system(command), 0);
}

/* struct fixture fixture in_fixture = {0}; makes the root the working directory. */
#define in_fixture rf_cleanup(fixture_remove)

static inline struct rf_fs *open_variant(
	const char *root, enum variant variant, struct rf_fs_options *options)
{
	struct rf_fs_options none = {0};
	struct rf_fs *fs = NULL;

	if (!options)
		options = &none;
	options->engine = variant == VARIANT_RING ? RF_FS_ENGINE_AUTO : RF_FS_ENGINE_PLAIN;
	cr_assert_eq(rf_fs_open(&fs, root, options), 0);
	if (variant == VARIANT_BY_COMPONENT)
		fs->has_openat2 = false;
	return fs;
}

static inline struct rf_fs_result run(struct rf_fs *fs, struct rf_fs_request request)
{
	struct rf_fs_result result;

	cr_assert_eq(rf_fs_batch(fs, &request, 1, &result), 0);
	return result;
}

#define autoresult rf_cleanup(rf_fs_result_clear)

static inline void put(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);

	cr_assert(fd >= 0, "%s", path);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static inline void expect_file(const char *path, const char *text)
{
	char found[4096] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	cr_assert(fd >= 0, "%s", path);
	cr_assert(read(fd, found, sizeof(found) - 1) >= 0);
	close(fd);
	cr_expect_str_eq(found, text, "%s", path);
}

#define expect_refused(request, wanted_error, wanted_code)                                      \
	do {                                                                                    \
		struct rf_fs_request request_ = request;                                        \
		struct rf_fs_result result_ autoresult = run(fs, request_);                     \
                                                                                                \
		cr_expect(result_.error == (wanted_error) && result_.code == (wanted_code),     \
			"%s %s: %s %s (%s)", rf_fs_operation_name(request_.operation),          \
			request_.path, rf_fs_errno_name(result_.error),                         \
			rf_fs_code_name(result_.code), result_.message ? result_.message : ""); \
	} while (0)

#define expect_done(request) expect_refused(request, 0, RF_FS_CODE_NONE)
#define ask(...) ((struct rf_fs_request){__VA_ARGS__})
#define CONTENT(text) .content = (text), .content_size_bytes = sizeof(text) - 1
