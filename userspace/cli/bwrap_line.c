/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/bwrap_line.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/units.h"

/* By how many values they take. Of every version: one that does not know an option refuses it. */
static const char *const without[] = {"--help", "--version", "--unshare-all", "--share-net",
	"--unshare-user", "--unshare-user-try", "--unshare-ipc", "--unshare-pid", "--unshare-net",
	"--unshare-uts", "--unshare-cgroup", "--unshare-cgroup-try", "--disable-userns",
	"--assert-userns-disabled", "--clearenv", "--new-session", "--die-with-parent",
	"--as-pid-1", "--level-prefix", "--not-a-security-boundary", NULL};
static const char *const with_one[] = {"--args", "--argv0", "--userns", "--userns2", "--pidns",
	"--uid", "--gid", "--hostname", "--chdir", "--unsetenv", "--lock-file", "--sync-fd",
	"--remount-ro", "--overlay-src", "--tmp-overlay", "--ro-overlay", "--exec-label",
	"--file-label", "--proc", "--dev", "--tmpfs", "--mqueue", "--dir", "--seccomp",
	"--add-seccomp-fd", "--block-fd", "--userns-block-fd", "--info-fd", "--json-status-fd",
	"--cap-add", "--cap-drop", "--perms", "--size", NULL};
static const char *const with_two[] = {"--setenv", "--bind", "--bind-try", "--dev-bind",
	"--dev-bind-try", "--ro-bind", "--ro-bind-try", "--bind-fd", "--ro-bind-fd", "--file",
	"--bind-data", "--ro-bind-data", "--symlink", "--chmod", NULL};
static const char *const with_three[] = {"--overlay", NULL};

static bool is_in(const char *const *list, const char *word)
{
	for (; *list; list++) {
		if (strcmp(*list, word) == 0)
			return true;
	}
	return false;
}

int rf_bwrap_values(const char *option)
{
	const char *const *const lists[] = {without, with_one, with_two, with_three};

	for (size_t i = 0; i < RF_ARRAY_SIZE(lists); i++) {
		if (is_in(lists[i], option))
			return (int)i;
	}
	return -1;
}

static bool is_ours(const char *word)
{
	return strncmp(word, RF_BWRAP_OUR_PREFIX, strlen(RF_BWRAP_OUR_PREFIX)) == 0;
}

/* Words of ours that follow one: 1 for "--rf-net none", 0 for "--rf-net=none" and what is unknown.
 */
static int our_values(const struct rf_option *ours, size_t n_ours, const char *word)
{
	for (size_t i = 0; i < n_ours; i++) {
		if (strcmp(ours[i].name, word + 2) == 0)
			return ours[i].value != NULL;
	}
	return 0;
}

static bool is_question(const char *option)
{
	return strcmp(option, "--help") == 0 || strcmp(option, "--version") == 0;
}

static void note(struct rf_bwrap_line *line, const char *option)
{
	line->dies_with_parent |= strcmp(option, "--die-with-parent") == 0;
	line->has_single_filter |= strcmp(option, "--seccomp") == 0;
}

static int note_args(struct rf_bwrap_line *line, const char *value, struct rf_diag *diag)
{
	uint64_t number;

	/* What is no number bubblewrap refuses itself, before it does anything. */
	if (!rf_parse_u64(value, &number) || number > INT_MAX)
		return 0;
	if (line->n_args_fds == RF_BWRAP_ARGS_FDS_MAX)
		return rf_diag_refuse(diag, "too-many-descriptors", "--args more than %u times",
			RF_BWRAP_ARGS_FDS_MAX);
	line->args_fds[line->n_args_fds++] = (int)number;
	return 0;
}

/* Of words whose meaning cannot be told: in doubt nothing outlives its parent. */
static int pass_unread(struct rf_bwrap_line *line, char **argv, struct rf_diag *diag)
{
	line->unknown = *argv;
	for (; *argv; argv++) {
		if (is_ours(*argv)) {
			rf_diag_refuse(diag, "option-hidden",
				"%s follows %s, an option of bubblewrap that this version does not "
				"know",
				*argv, line->unknown);
			rf_diag_hint(diag, "put it before %s", line->unknown);
			return RF_REFUSED;
		}
		line->dies_with_parent |= strcmp(*argv, "--die-with-parent") == 0;
		line->words[line->n_words++] = *argv;
	}
	return 0;
}

static void pass(struct rf_bwrap_line *line, char ***argv, int n)
{
	for (; n > 0 && **argv; n--)
		line->words[line->n_words++] = *(*argv)++;
}

static int read_words(struct rf_bwrap_line *line, char **argv, const struct rf_option *ours,
	size_t n_ours, struct rf_diag *diag)
{
	while (*argv && (*argv)[0] == '-' && strcmp(*argv, "--") != 0) {
		const char *word = *argv;
		int n = rf_bwrap_values(word);
		int r = 0;

		if (is_ours(word)) {
			n = our_values(ours, n_ours, word);
			line->ours[line->n_ours++] = *argv++;
			if (n > 0 && *argv)
				line->ours[line->n_ours++] = *argv++;
			continue;
		}
		if (n < 0)
			return pass_unread(line, argv, diag);
		note(line, word);
		if (strcmp(word, "--args") == 0 && argv[1])
			r = note_args(line, argv[1], diag);
		if (r != 0)
			return r;
		pass(line, &argv, 1 + n);
		/* Everything before it was understood: bubblewrap ends there, whatever follows. */
		line->is_question = is_question(word);
		if (line->is_question)
			break;
	}
	pass(line, &argv, INT_MAX);
	return 0;
}

int rf_bwrap_line_read(int argc, char **argv, const struct rf_option *ours, size_t n_ours,
	struct rf_bwrap_line *ret_line, struct rf_diag *diag)
{
	struct rf_bwrap_line line rf_autobwrapline = {0};
	int r;

	line.words = calloc((size_t)argc + 1, sizeof(*line.words));
	line.ours = calloc((size_t)argc + 1, sizeof(*line.ours));
	if (!line.words || !line.ours)
		return -ENOMEM;
	line.words[line.n_words++] = argv[0];
	line.ours[line.n_ours++] = argv[0];
	r = read_words(&line, argv + 1, ours, n_ours, diag);
	if (r != 0)
		return r;
	*ret_line = line;
	line = (struct rf_bwrap_line){0};
	return 0;
}

void rf_bwrap_line_add(struct rf_bwrap_line *line, const char *data, size_t size_bytes)
{
	const char *end = data + size_bytes;
	bool is_lost = false;
	int skip = 0;

	/* The last word may lack its NUL; rf_read_all gives it one. */
	for (const char *word = data; word < end; word += strlen(word) + 1) {
		if (skip > 0) {
			skip--;
			continue;
		}
		if (!is_lost && (word[0] != '-' || strcmp(word, "--") == 0))
			return;
		note(line, word);
		/* After an unknown one every word is looked at: too much is believed, not too
		 * little. */
		skip = rf_bwrap_values(word);
		is_lost |= skip < 0;
	}
}

void rf_bwrap_line_clear(struct rf_bwrap_line *line)
{
	free(line->words);
	free(line->ours);
}
