/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "host/bwrap.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static char directory[64];
static char path[128];

static void make_directory(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/rf-bwrap-XXXXXX");
	cr_assert_not_null(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/bwrap", directory);
}

static void remove_directory(void)
{
	(void)unlink(path);
	(void)rmdir(directory);
}

static void write_program(const char *text, size_t size_bytes, mode_t mode)
{
	int fd rf_autoclose = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(rf_write_all(fd, text, size_bytes), 0);
	cr_assert_eq(fchmod(fd, mode), 0);
}

static void find(struct rf_bwrap *ret)
{
	const char *const candidates[] = {"/nonexistent/bwrap", path, NULL};

	rf_bwrap_find(candidates, geteuid(), ret);
}

static const char good[] = "\177ELF..\0bubblewrap is\0bubblewrap 0.11.2\0--ro-bind-fd\0";

#define REFUSED(text)                                                             \
	do {                                                                      \
		struct rf_bwrap bwrap rf_autobwrap = {.fd = -1};                  \
		find(&bwrap);                                                     \
		cr_expect_eq(bwrap.fd, -1);                                       \
		cr_expect_eq(bwrap.fact.state, RF_STATE_OFF);                     \
		cr_expect_str_eq(bwrap.path, "");                                 \
		cr_expect(strstr(bwrap.fact.why, text), "%s", bwrap.fact.why);    \
		cr_expect(strstr(bwrap.fact.why, "bwrap"), "%s", bwrap.fact.why); \
		cr_expect(strstr(bwrap.fact.remedy, "bubblewrap"));               \
	} while (0)

TestSuite(bwrap, .init = make_directory, .fini = remove_directory);

Test(bwrap, a_good_one_is_opened_once_and_known)
{
	struct rf_bwrap bwrap rf_autobwrap = {.fd = -1};

	write_program(good, sizeof(good), 0755);
	find(&bwrap);
	cr_expect_eq(bwrap.fact.state, RF_STATE_ENFORCED);
	cr_expect_geq(bwrap.fd, 0);
	cr_expect_str_eq(bwrap.path, path);
	cr_expect_eq(bwrap.version[0], 0);
	cr_expect_eq(bwrap.version[1], 11);
	cr_expect_eq(bwrap.version[2], 2);
	cr_expect(bwrap.has_bind_fd);
}

Test(bwrap, an_old_one_has_no_bind_fd)
{
	static const char old[] = "\177ELF..\0bubblewrap 0.4.1\0--ro-bind\0";
	struct rf_bwrap bwrap rf_autobwrap = {.fd = -1};

	write_program(old, sizeof(old), 0755);
	find(&bwrap);
	cr_expect_eq(bwrap.fact.state, RF_STATE_ENFORCED);
	cr_expect_not(bwrap.has_bind_fd);
}

Test(bwrap, a_missing_one_is_named_with_the_package)
{
	REFUSED("not installed");
}

Test(bwrap, one_that_others_may_write_is_refused)
{
	write_program(good, sizeof(good), 0775);
	REFUSED("writable by group");
}

Test(bwrap, one_that_cannot_run_is_refused)
{
	write_program(good, sizeof(good), 0644);
	REFUSED("not an executable");
}

Test(bwrap, an_empty_one_is_refused)
{
	write_program("", 0, 0755);
	REFUSED("not an executable");
}

Test(bwrap, a_script_is_refused)
{
	write_program("#!/bin/sh\n", 10, 0755);
	REFUSED("not a program");
}

Test(bwrap, another_program_is_refused)
{
	write_program("\177ELF something else", 20, 0755);
	REFUSED("does not say");
}

Test(bwrap, one_of_another_user_is_refused)
{
	if (geteuid() != 0)
		return;
	write_program(good, sizeof(good), 0755);
	cr_assert_eq(chown(path, 1234, 1234), 0);
	REFUSED("neither by root");
}

Test(bwrap, a_fifo_neither_holds_us_nor_passes)
{
	cr_assert_eq(mkfifo(path, 0755), 0);
	REFUSED("not a regular file");
}

Test(bwrap, we_are_not_taken_for_it)
{
	cr_assert_eq(symlink("/proc/self/exe", path), 0);
	REFUSED("ringfence itself");
}
