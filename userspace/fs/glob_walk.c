/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Globs on a tree. Directories that only literal segments lead to are looked up, not read; from
 * there one walk goes down, each directory with the set of states that its path led to.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/strv.h"
#include "fs/glob.h"
#include "fs/inside.h"

struct search {
	struct rf_fs *fs;
	const struct rf_fs_request *request;
	struct rf_fs_result *result;
	const struct rf_glob *glob;
	size_t n_words;
	size_t entries_room;
	/* What lies between the start of the patterns and the start of the walk: "" or "a/b". */
	struct rf_buf prefix;
	/* Sets of the directory at prefix, and one to step into. */
	uint64_t *now;
	uint64_t *next;
};

static void search_clear(struct search *search)
{
	rf_buf_clear(&search->prefix);
	free(search->now);
	free(search->next);
}

static int refuse(struct search *search, int error)
{
	return rf_fs_refuse(
		search->result, RF_FS_GLOB, search->request->path, error, RF_FS_CODE_NONE, NULL);
}

/* ---- what was found ---------------------------------------------------------------------------
 */

static struct rf_fs_entry *new_entry(struct search *search)
{
	struct rf_fs_result *result = search->result;

	if (result->n_entries == search->entries_room) {
		size_t room = search->entries_room ? 2 * search->entries_room : 16;
		struct rf_fs_entry *grown = reallocarray(result->entries, room, sizeof(*grown));

		if (!grown)
			return NULL;
		result->entries = grown;
		search->entries_room = room;
	}
	return &result->entries[result->n_entries];
}

/* path is below prefix; "" is prefix itself, and "." where both are. 0 or RF_REFUSED. */
static int found(struct search *search, const char *path, enum rf_fs_type type)
{
	const char *prefix = search->prefix.size ? search->prefix.data : "";
	const char *between = *prefix && *path ? "/" : "";
	struct rf_fs_entry *entry = new_entry(search);
	char *whole = NULL;

	if (!entry || asprintf(&whole, "%s%s%s", prefix, between, path) < 0)
		return refuse(search, ENOMEM);
	if (rf_fs_take_response(search->fs, search->result, RF_FS_GLOB, search->request->path,
		    sizeof(*entry) + strlen(whole))) {
		free(whole);
		return RF_REFUSED;
	}
	if (!*whole) {
		free(whole);
		whole = strdup(".");
		if (!whole)
			return refuse(search, ENOMEM);
	}
	*entry = (struct rf_fs_entry){.path = whole, .type = type};
	search->result->n_entries++;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct rf_fs_entry *left = a;
	const struct rf_fs_entry *right = b;

	return strcmp(left->path, right->path);
}

/* ---- the walk ---------------------------------------------------------------------------------
 */

static int on_entry(void *userdata, struct rf_fs_walk_entry *entry)
{
	struct search *search = userdata;
	bool is_directory = entry->type == RF_FS_TYPE_DIRECTORY;
	struct rf_glob_verdict verdict =
		rf_glob_step(search->glob, entry->state, entry->name, is_directory, search->next);
	size_t size = search->n_words * sizeof(*search->next);

	/* The result says why. */
	if (verdict.is_match && found(search, entry->path, entry->type))
		return RF_FS_WALK_STOP;
	if (!is_directory || !verdict.has_more)
		return RF_FS_WALK_NEXT;
	entry->child_state = malloc(size);
	if (!entry->child_state)
		return -ENOMEM;
	memcpy(entry->child_state, search->next, size);
	return RF_FS_WALK_DESCEND;
}

static void on_leave(void *userdata rf_unused, void *state)
{
	free(state);
}

/* ---- literal segments -------------------------------------------------------------------------
 */

static int add_to_prefix(struct search *search, const char *name)
{
	int r = search->prefix.size ? rf_buf_add(&search->prefix, "/", 1) : 0;

	return r == 0 ? rf_buf_add(&search->prefix, name, strlen(name)) : r;
}

#define NOTHING_BELOW 2
/*
 * Follows names while only one can matter; *directory_fd becomes the last one's. 0: the walk
 * starts there; NOTHING_BELOW; RF_REFUSED.
 */
static int follow_names(struct search *search, int *directory_fd)
{
	for (;;) {
		struct rf_glob_verdict verdict;
		struct rf_fs_stat stat;
		uint64_t *taken = search->now;
		const char *name;
		size_t n_names = 0;
		bool is_directory;
		int next;
		int r = rf_glob_next_names(search->glob, search->now, &name, 1, &n_names);

		if (r == RF_GLOB_READ_ALL)
			return 0;
		if (n_names == 0 || rf_fs_stat_at(*directory_fd, name, &stat) < 0)
			return NOTHING_BELOW;
		is_directory = rf_fs_type_of_mode(stat.mode) == RF_FS_TYPE_DIRECTORY;
		verdict = rf_glob_step(search->glob, search->now, name, is_directory, search->next);
		r = add_to_prefix(search, name);
		if (r < 0)
			return refuse(search, -r);
		if (verdict.is_match && found(search, "", rf_fs_type_of_mode(stat.mode)))
			return RF_REFUSED;
		if (!is_directory || !verdict.has_more)
			return NOTHING_BELOW;
		next = rf_fs_openat(search->fs, *directory_fd, name, O_RDONLY | O_DIRECTORY, 0);
		if (next < 0)
			return rf_fs_refuse_call(
				search->result, RF_FS_GLOB, search->prefix.data, -next);
		rf_close(*directory_fd);
		*directory_fd = next;
		search->now = search->next;
		search->next = taken;
	}
}

static int walk_rest(struct search *search, int *directory_fd)
{
	const struct rf_fs_walk_options options = {
		.entry = on_entry,
		.leave = on_leave,
		.userdata = search,
		.start_state = search->now,
	};

	return rf_fs_walk_from(search->fs, RF_TAKE_FD(*directory_fd),
		search->prefix.size ? search->prefix.data : search->request->path, &options,
		search->result);
}

static int run(struct search *search)
{
	int directory_fd rf_autoclose = -1;
	struct rf_glob_verdict verdict;
	int r = 0;

	search->n_words = rf_glob_state_words(search->glob);
	search->now = calloc(search->n_words, sizeof(*search->now));
	search->next = calloc(search->n_words, sizeof(*search->next));
	if (!search->now || !search->next)
		return refuse(search, ENOMEM);
	directory_fd =
		rf_fs_directory(search->fs, RF_FS_GLOB, search->request->path, search->result);
	if (directory_fd < 0)
		return RF_REFUSED;
	verdict = rf_glob_start(search->glob, search->now);
	if (verdict.is_match)
		r = found(search, "", RF_FS_TYPE_DIRECTORY);
	if (r == 0 && verdict.has_more)
		r = follow_names(search, &directory_fd);
	else if (r == 0)
		r = NOTHING_BELOW;
	if (r == 0)
		r = walk_rest(search, &directory_fd);
	if (r != RF_REFUSED)
		qsort(search->result->entries, search->result->n_entries,
			sizeof(*search->result->entries), compare);
	return r;
}

/* ---- the request ------------------------------------------------------------------------------
 */

static size_t count(const char *const *texts)
{
	size_t n = 0;

	while (texts && texts[n])
		n++;
	return n;
}

/* The spellings of the directory that the patterns start in. */
static int find_roots(struct search *search, struct rf_strv *ret_roots)
{
	struct rf_fs_where where rf_autowhere = {0};
	const char *below;
	int r = rf_fs_where(search->fs, RF_FS_GLOB, search->request->path, &where, search->result);

	if (r != 0)
		return r;
	below = where.is_root ? "" : where.name;
	for (int is_alias = 0; r == 0 && is_alias < 2; is_alias++) {
		const char *root = is_alias ? search->fs->alias : search->fs->canonical;

		if (root && (where.is_root || strcmp(where.parent, ".") == 0))
			r = rf_strv_addf(ret_roots, "%s/%s", root, below);
		else if (root)
			r = rf_strv_addf(ret_roots, "%s/%s/%s", root, where.parent, below);
	}
	return r < 0 ? refuse(search, -r) : 0;
}

static int refuse_pattern(struct search *search, const struct rf_glob_error *error)
{
	static const int errors[] = {
		[RF_FS_CODE_LIMIT] = E2BIG,
		[RF_FS_CODE_UNSUPPORTED] = EOPNOTSUPP,
		[RF_FS_CODE_MALFORMED] = EINVAL,
		[RF_FS_CODE_ESCAPE] = EACCES,
	};
	const char *pattern = error->pattern ? error->pattern : search->request->path;

	/* A pattern may be of any length, a message not. */
	return rf_fs_fail(search->result, errors[error->code], error->code, "glob %.200s%s: %s",
		pattern, strlen(pattern) > 200 ? "…" : "", error->message);
}

void rf_glob_run(struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result)
{
	struct search search rf_cleanup(search_clear) = {
		.fs = fs, .request = request, .result = result};
	struct rf_glob *glob rf_autoglob = NULL;
	struct rf_strv roots rf_autostrv = {0};
	struct rf_glob_error error = {0};
	struct rf_glob_source source;
	int r = find_roots(&search, &roots);

	if (r != 0)
		return;
	source = (struct rf_glob_source){
		.patterns = request->patterns,
		.n_patterns = count(request->patterns),
		.exclusions = request->exclude,
		.n_exclusions = count(request->exclude),
		.roots = (const char *const *)roots.items,
		.n_roots = roots.count,
	};
	r = rf_glob_new(&glob, &source, &error);
	if (r == RF_REFUSED) {
		refuse_pattern(&search, &error);
		return;
	}
	if (r < 0) {
		refuse(&search, -r);
		return;
	}
	search.glob = glob;
	if (run(&search) == RF_REFUSED) {
		for (size_t i = 0; i < result->n_entries; i++)
			free(result->entries[i].path);
		free(result->entries);
		result->entries = NULL;
		result->n_entries = 0;
	}
}
