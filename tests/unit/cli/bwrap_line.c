/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/bwrap_line.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct rf_option ours[] = {
	{"rf-net", "POSTURE", "", 1, NULL},
	{"rf-quiet", NULL, "", 2, NULL},
};

struct reading {
	struct rf_bwrap_line line;
	struct rf_diag diag;
	int result;
};

static void reading_clear(struct reading *reading)
{
	rf_bwrap_line_clear(&reading->line);
}

#define autoreading rf_cleanup(reading_clear)

#define READ(...) read_line((const char *const[]){"bwrap", __VA_ARGS__, NULL})

static struct reading read_line(const char *const *words)
{
	char *argv[32] = {NULL};
	struct reading reading = {0};
	int argc = 0;

	for (; words[argc]; argc++)
		argv[argc] = (char *)words[argc];
	reading.result = rf_bwrap_line_read(
		argc, argv, ours, RF_ARRAY_SIZE(ours), &reading.line, &reading.diag);
	return reading;
}

/* "a b c" */
static const char *joined(char *const *words)
{
	static char text[512];

	text[0] = '\0';
	for (; *words; words++) {
		strncat(text, text[0] ? " " : "", sizeof(text) - strlen(text) - 1);
		strncat(text, *words, sizeof(text) - strlen(text) - 1);
	}
	return text;
}

Test(bwrap_line, b12_every_word_of_bubblewraps_passes_in_its_order)
{
	struct reading reading autoreading = READ("--setenv", "A", "B", "--bind", "/a", "/b",
		"--overlay", "/x", "/y", "/z", "--", "cmd", "--rf-net", "x");

	cr_assert_eq(reading.result, 0);
	cr_expect_str_eq(joined(reading.line.words),
		"bwrap --setenv A B --bind /a /b --overlay /x /y /z -- cmd --rf-net x");
	cr_expect_eq(reading.line.n_words, 15);
	cr_expect_eq(reading.line.n_ours, 1);
}

Test(bwrap_line, b12_words_of_ours_stand_anywhere_before_the_command)
{
	struct reading reading autoreading = READ("--rf-net", "none", "--bind", "/a", "/b",
		"--rf-quiet", "--chdir", "/c", "--rf-net=open", "cmd", "--rf-quiet");

	cr_assert_eq(reading.result, 0);
	cr_expect_str_eq(
		joined(reading.line.words), "bwrap --bind /a /b --chdir /c cmd --rf-quiet");
	cr_expect_str_eq(joined(reading.line.ours), "bwrap --rf-net none --rf-quiet --rf-net=open");
}

Test(bwrap_line, b12_a_value_is_never_taken_for_an_option)
{
	struct reading reading autoreading =
		READ("--setenv", "--rf-net", "--die-with-parent", "--hostname", "--rf-quiet",
			"--argv0", "--help", "--symlink", "--seccomp", "--version", "cmd");

	cr_assert_eq(reading.result, 0);
	cr_expect_eq(reading.line.n_ours, 1);
	cr_expect_not(reading.line.dies_with_parent);
	cr_expect_not(reading.line.is_question);
	cr_expect_not(reading.line.has_single_filter);
}

Test(bwrap_line, b12_what_changes_the_surroundings_is_noticed)
{
	struct reading reading autoreading =
		READ("--die-with-parent", "--seccomp", "9", "--args", "5", "--args", "x", "cmd");

	cr_assert_eq(reading.result, 0);
	cr_expect(reading.line.dies_with_parent);
	cr_expect(reading.line.has_single_filter);
	cr_expect_eq(reading.line.n_args_fds, 1);
	cr_expect_eq(reading.line.args_fds[0], 5);
}

Test(bwrap_line, b12_a_commands_own_arguments_are_not_read)
{
	struct reading reading autoreading =
		READ("cmd", "--die-with-parent", "--help", "--args", "5");

	cr_assert_eq(reading.result, 0);
	cr_expect_not(reading.line.dies_with_parent);
	cr_expect_not(reading.line.is_question);
	cr_expect_eq(reading.line.n_args_fds, 0);
}

Test(bwrap_line, b12_a_question_ends_the_line)
{
	struct reading reading autoreading = READ("--unshare-all", "--version", "--unknown", "cmd");

	cr_assert_eq(reading.result, 0);
	cr_expect(reading.line.is_question);
	cr_expect_eq(reading.line.n_words, 5);
}

Test(bwrap_line, b12_a_question_after_an_unknown_option_is_none)
{
	struct reading reading autoreading = READ("--unknown", "--version");

	cr_assert_eq(reading.result, 0);
	cr_expect_not(reading.line.is_question);
	cr_expect_str_eq(reading.line.unknown, "--unknown");
}

Test(bwrap_line, b12_behind_an_unknown_option_ours_are_refused_and_death_is_believed)
{
	struct reading hidden autoreading = READ("--unknown", "x", "--rf-net", "none", "cmd");
	struct reading dying autoreading = READ("--unknown", "x", "--die-with-parent", "cmd");

	cr_expect_eq(hidden.result, RF_REFUSED);
	cr_expect_str_eq(hidden.diag.code, "option-hidden");
	cr_expect_null(hidden.line.words);
	cr_assert_eq(dying.result, 0);
	cr_expect(dying.line.dies_with_parent);
	cr_expect_str_eq(joined(dying.line.words), "bwrap --unknown x --die-with-parent cmd");
}

Test(bwrap_line, b12_a_line_may_end_within_an_option)
{
	struct reading reading autoreading = READ("--bind", "/a");
	struct reading args autoreading = READ("--args");
	struct reading own autoreading = READ("--rf-net");

	cr_expect_eq(reading.result, 0);
	cr_expect_eq(reading.line.n_words, 3);
	cr_expect_eq(args.result, 0);
	cr_expect_eq(args.line.n_args_fds, 0);
	cr_expect_eq(own.result, 0);
	cr_expect_eq(own.line.n_ours, 2);
}

Test(bwrap_line, b12_more_args_descriptors_than_can_be_kept_are_refused)
{
	char *argv[2 * RF_BWRAP_ARGS_FDS_MAX + 4] = {(char *)"bwrap"};
	struct reading reading autoreading = {0};
	int argc = 1;

	for (unsigned int i = 0; i <= RF_BWRAP_ARGS_FDS_MAX; i++) {
		argv[argc++] = (char *)"--args";
		argv[argc++] = (char *)"5";
	}
	cr_expect_eq(rf_bwrap_line_read(
			     argc, argv, ours, RF_ARRAY_SIZE(ours), &reading.line, &reading.diag),
		RF_REFUSED);
	cr_expect_str_eq(reading.diag.code, "too-many-descriptors");
}

static bool dies_by_args(const char *data, size_t size_bytes)
{
	struct rf_bwrap_line line = {0};

	rf_bwrap_line_add(&line, data, size_bytes);
	return line.dies_with_parent;
}

#define DIES(text) dies_by_args(text, sizeof(text) - 1)

Test(bwrap_line, b12_what_args_reads_counts_up_to_its_first_word)
{
	cr_expect(DIES("--setenv\0A\0B\0--die-with-parent\0"));
	cr_expect(DIES("--die-with-parent"));
	cr_expect_not(DIES("--setenv\0A\0--die-with-parent\0"));
	cr_expect_not(DIES("word\0--die-with-parent\0"));
	cr_expect_not(DIES("--\0--die-with-parent\0"));
	cr_expect(DIES("--unknown\0value\0--die-with-parent\0"));
	cr_expect_not(DIES(""));
	cr_expect_not(DIES("\0"));
}

Test(bwrap_line, b12_every_option_has_its_values)
{
	cr_expect_eq(rf_bwrap_values("--unshare-all"), 0);
	cr_expect_eq(rf_bwrap_values("--not-a-security-boundary"), 0);
	cr_expect_eq(rf_bwrap_values("--overlay-src"), 1);
	cr_expect_eq(rf_bwrap_values("--ro-bind-fd"), 2);
	cr_expect_eq(rf_bwrap_values("--overlay"), 3);
	cr_expect_eq(rf_bwrap_values("--unknown"), -1);
	cr_expect_eq(rf_bwrap_values("-"), -1);
}
