/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Patterns and exclusions as one automaton over names.
 *
 * A state says which segment of which alternative comes next; a set of them is a bit for each, the
 * exclusions' after the patterns'. One step reads one name and gives the set for what lies below
 * it. Nothing is ever tried twice: `**` is a state that stays in the set beside its successor.
 *
 *	pattern  a/ ** /x  (without blanks)      states  0: a   1: **   2: x
 *	{0} --a--> {1,2} --b--> {1,2} --x--> {1,2}, and x is a match
 */

#include "fs/glob.h"

#include <errno.h>
#include <string.h>

#include "fs/glob_parts.h"

struct state {
	struct rf_glob_segment segment;
	bool is_exclusion;
	/* Of its alternative. */
	bool is_last;
	bool wants_directory;
	/* Every segment before this one. */
	bool is_after_literals;
};

struct rf_glob {
	struct state *states;
	size_t n_states;
	size_t n_room;
	/* States of patterns come first. */
	size_t n_pattern_states;
	uint64_t *start;
	struct rf_glob_verdict start_verdict;
};

static bool has_bit(const uint64_t *set, size_t at)
{
	return set[at / 64] >> at % 64 & 1;
}

static void add_bit(uint64_t *set, size_t at)
{
	set[at / 64] |= 1ULL << at % 64;
}

size_t rf_glob_state_words(const struct rf_glob *glob)
{
	return glob->n_states / 64 + 1;
}

/* The state is what comes below; `**` may also be no directory at all. */
static void enter(const struct rf_glob *glob, size_t at, uint64_t *set)
{
	add_bit(set, at);
	if (glob->states[at].segment.kind == RF_GLOB_ANY_DEPTH && !glob->states[at].is_last)
		add_bit(set, at + 1);
}

/* Does what was just named satisfy the rest of its alternative, from this state on, as it is? */
static bool names_anchor(const struct state *state, bool is_directory)
{
	if (!state->is_last)
		return false;
	if (state->segment.kind != RF_GLOB_SELF &&
		(state->segment.kind != RF_GLOB_ANY_DEPTH || state->is_exclusion))
		return false;
	return is_directory || (state->is_after_literals && !state->wants_directory);
}

/* One state and one name. true: the name completes the alternative. */
static bool step_one(const struct rf_glob *glob, size_t at, const char *name, bool is_directory,
	uint64_t *ret_set)
{
	const struct state *state = &glob->states[at];
	bool fits = is_directory || !state->wants_directory;

	if (state->segment.kind == RF_GLOB_ANY_DEPTH) {
		if (name[0] == '.')
			return false;
		if (is_directory)
			enter(glob, at, ret_set);
		return state->is_last && fits;
	}
	if (!rf_glob_segment_matches(&state->segment, name))
		return false;
	if (state->is_last)
		return fits;
	if (is_directory)
		enter(glob, at + 1, ret_set);
	return names_anchor(&glob->states[at + 1], is_directory);
}

static bool has_pattern_state(const struct rf_glob *glob, const uint64_t *set)
{
	size_t words = glob->n_pattern_states / 64;
	uint64_t rest = (1ULL << glob->n_pattern_states % 64) - 1;

	for (size_t i = 0; i < words; i++) {
		if (set[i])
			return true;
	}
	return set[words] & rest;
}

struct rf_glob_verdict rf_glob_step(const struct rf_glob *glob, const uint64_t *from,
	const char *name, bool is_directory, uint64_t *ret_state)
{
	struct rf_glob_verdict verdict = {0};
	size_t n_words = rf_glob_state_words(glob);

	memset(ret_state, 0, n_words * sizeof(*ret_state));
	for (size_t word = 0; word < n_words; word++) {
		for (uint64_t left = from[word]; left; left &= left - 1) {
			size_t at = word * 64 + (size_t)__builtin_ctzll(left);
			bool is_named = step_one(glob, at, name, is_directory, ret_state);

			if (glob->states[at].is_exclusion)
				verdict.is_excluded = verdict.is_excluded || is_named;
			else
				verdict.is_match = verdict.is_match || is_named;
		}
	}
	verdict.is_match = verdict.is_match && !verdict.is_excluded;
	verdict.has_more = !verdict.is_excluded && has_pattern_state(glob, ret_state);
	return verdict;
}

struct rf_glob_verdict rf_glob_start(const struct rf_glob *glob, uint64_t *ret_state)
{
	memcpy(ret_state, glob->start, rf_glob_state_words(glob) * sizeof(*ret_state));
	return glob->start_verdict;
}

static bool add_name(const char *name, const char **names, size_t max, size_t *n_names)
{
	for (size_t i = 0; i < *n_names; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	if (*n_names >= max)
		return false;
	names[(*n_names)++] = name;
	return true;
}

int rf_glob_next_names(const struct rf_glob *glob, const uint64_t *state, const char **ret_names,
	size_t max, size_t *ret_n_names)
{
	size_t n_names = 0;

	for (size_t at = 0; at < glob->n_pattern_states; at++) {
		const struct rf_glob_segment *segment = &glob->states[at].segment;

		if (!has_bit(state, at))
			continue;
		if (segment->kind == RF_GLOB_SELF || segment->kind == RF_GLOB_NEVER)
			continue;
		if (segment->kind != RF_GLOB_LITERAL ||
			!add_name(segment->text, ret_names, max, &n_names))
			return RF_GLOB_READ_ALL;
	}
	*ret_n_names = n_names;
	return 0;
}

/* ---- compiling --------------------------------------------------------------------------------
 */

/* States first up to end. */
struct alternative {
	size_t first;
	size_t end;
	bool is_absolute;
	bool is_exclusion;
	/* It came from. */
	const char *pattern;
};

struct compiler {
	struct rf_glob *glob;
	struct alternative *alternatives;
	size_t n_alternatives;
	size_t n_room;
	const struct rf_glob_source *source;
	struct rf_glob_error *error;
	size_t expanded_bytes;
	bool is_exclusion;
};

static int add_state(struct compiler *compiler, struct state **ret_state)
{
	struct rf_glob *glob = compiler->glob;

	if (glob->n_states == glob->n_room) {
		size_t room = glob->n_room ? glob->n_room * 2 : 16;
		struct state *grown = reallocarray(glob->states, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		glob->states = grown;
		glob->n_room = room;
	}
	*ret_state = &glob->states[glob->n_states++];
	**ret_state = (struct state){.is_exclusion = compiler->is_exclusion};
	return 0;
}

/* The states since first as one alternative. */
static void finish_alternative(struct compiler *compiler, size_t first, bool wants_directory)
{
	struct state *states = compiler->glob->states;
	size_t end = compiler->glob->n_states;
	bool is_literal = true;

	for (size_t at = first; at < end; at++) {
		states[at].is_after_literals = is_literal;
		is_literal = is_literal && states[at].segment.kind == RF_GLOB_LITERAL;
	}
	if (end > first) {
		states[end - 1].is_last = true;
		states[end - 1].wants_directory = wants_directory;
	}
}

/* `**` right after `**` says nothing new. */
static bool is_repeated(
	const struct compiler *compiler, size_t first, const char *text, size_t size)
{
	const struct rf_glob *glob = compiler->glob;

	return glob->n_states > first && size == 2 && memcmp(text, "**", 2) == 0 &&
	       glob->states[glob->n_states - 1].segment.kind == RF_GLOB_ANY_DEPTH;
}

static int add_segment(
	struct compiler *compiler, size_t first, const char *text, size_t size, bool is_last)
{
	struct state *state;
	int r;

	if (is_repeated(compiler, first, text, size))
		return 0;
	if (size == 1 && text[0] == '.' && !is_last)
		return 0;
	r = add_state(compiler, &state);
	if (r == 0)
		r = rf_glob_segment_parse(text, size, &state->segment, compiler->error);
	return r;
}

/* Segments of one alternative, without the slashes around. */
static int add_segments(struct compiler *compiler, const char *text)
{
	size_t first = compiler->glob->n_states;
	size_t size = strlen(text);
	bool wants_directory = size > 0 && text[size - 1] == '/';

	while (size > 0 && text[size - 1] == '/')
		size--;
	for (size_t at = 0; at < size;) {
		size_t length = strcspn(text + at, "/");
		int r = 0;

		if (at + length > size)
			length = size - at;
		if (length > 0)
			r = add_segment(compiler, first, text + at, length, at + length == size);
		if (r != 0)
			return r;
		at += length + 1;
	}
	finish_alternative(compiler, first, wants_directory);
	return 0;
}

/* "Nothing" for an alternative that was read and can match no name. */
static void forget_states(struct compiler *compiler, size_t first)
{
	struct rf_glob *glob = compiler->glob;

	while (glob->n_states > first)
		rf_glob_segment_clear(&glob->states[--glob->n_states].segment);
}

static void drop_backslashes(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text != '\\')
			*to++ = *text;
	}
	*to = '\0';
}

/* "**" right before a last ".": nothing has that name. */
static bool is_dead(const struct rf_glob *glob, size_t first)
{
	const struct state *last;

	if (glob->n_states < first + 2)
		return false;
	last = &glob->states[glob->n_states - 1];
	return last->segment.kind == RF_GLOB_SELF && last[-1].segment.kind == RF_GLOB_ANY_DEPTH;
}

static int record_alternative(struct compiler *compiler, struct alternative alternative)
{
	if (compiler->n_alternatives == compiler->n_room) {
		size_t room = compiler->n_room ? compiler->n_room * 2 : 16;
		struct alternative *grown =
			reallocarray(compiler->alternatives, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		compiler->alternatives = grown;
		compiler->n_room = room;
	}
	compiler->alternatives[compiler->n_alternatives++] = alternative;
	return 0;
}

static int add_alternative(struct compiler *compiler, const char *pattern, char *text)
{
	size_t first = compiler->glob->n_states;
	bool is_absolute = text[0] == '/';
	int r;

	if (is_absolute)
		drop_backslashes(text);
	compiler->expanded_bytes += strlen(text);
	if (compiler->expanded_bytes > RF_GLOB_EXPANDED_MAX_BYTES)
		return rf_glob_refuse(compiler->error, RF_FS_CODE_LIMIT,
			"the patterns are longer than %u bytes when their braces are expanded",
			RF_GLOB_EXPANDED_MAX_BYTES);
	r = add_segments(compiler, text);
	if (r != 0)
		return r;
	if (strchr(text, '\\') || is_dead(compiler->glob, first)) {
		forget_states(compiler, first);
		return 0;
	}
	return record_alternative(compiler, (struct alternative){first, compiler->glob->n_states,
						    is_absolute, compiler->is_exclusion, pattern});
}

static int add_pattern(struct compiler *compiler, const char *pattern)
{
	struct rf_strv alternatives rf_autostrv = {0};
	char *text rf_autofree = NULL;
	int r;

	compiler->error->pattern = pattern;
	if (strlen(pattern) > RF_FS_PATTERN_BYTES)
		return rf_glob_refuse(compiler->error, RF_FS_CODE_LIMIT,
			"a pattern is longer than %u bytes", RF_FS_PATTERN_BYTES);
	text = strdup(pattern);
	if (!text)
		return -ENOMEM;
	if (compiler->is_exclusion || text[0] == '/')
		drop_backslashes(text);
	r = rf_glob_expand(text, RF_FS_PATTERN_ALTERNATIVES, &alternatives, compiler->error);
	if (r == 0 && alternatives.count == 0)
		r = rf_glob_refuse(
			compiler->error, RF_FS_CODE_MALFORMED, "an empty pattern names nothing");
	for (size_t i = 0; r == 0 && i < alternatives.count; i++)
		r = add_alternative(compiler, pattern, alternatives.items[i]);
	return r;
}

static int add_patterns(struct compiler *compiler, const char *const *patterns, size_t n,
	size_t max, const char *what)
{
	int r = 0;

	if (n > max)
		return rf_glob_refuse(
			compiler->error, RF_FS_CODE_LIMIT, "more than %zu %s", max, what);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_pattern(compiler, patterns[i]);
	return r;
}

/* ---- where the walk starts ------------------------------------------------------------------- */

struct start {
	/* Sets, as rf_glob_state_words says. */
	uint64_t *now;
	uint64_t *next;
	bool is_root_named;
	/* The root or a directory above it. */
	bool is_above_named;
};

static void step_all(const struct rf_glob *glob, const char *name, struct start *start)
{
	size_t n_words = rf_glob_state_words(glob);
	uint64_t *taken = start->now;

	start->is_root_named = false;
	memset(start->next, 0, n_words * sizeof(*start->next));
	for (size_t at = 0; at < glob->n_states; at++) {
		if (has_bit(start->now, at) && step_one(glob, at, name, true, start->next))
			start->is_root_named = true;
	}
	start->is_above_named = start->is_above_named || start->is_root_named;
	start->now = start->next;
	start->next = taken;
}

/* Matches an alternative from "/" down to the root, by one of its spellings. */
static int descend_to_root(const struct rf_glob *glob, const struct alternative *alternative,
	const char *root, struct start *start)
{
	char *path rf_autofree = strdup(root);
	char *rest = path;
	const char *name;

	if (!path)
		return -ENOMEM;
	memset(start->now, 0, rf_glob_state_words(glob) * sizeof(*start->now));
	start->is_root_named = alternative->end == alternative->first ||
			       names_anchor(&glob->states[alternative->first], true);
	start->is_above_named = start->is_root_named;
	if (alternative->end > alternative->first)
		enter(glob, alternative->first, start->now);
	while ((name = strsep(&rest, "/"))) {
		if (*name)
			step_all(glob, name, start);
	}
	return 0;
}

/* ret_is_alive: it names the root or something below, as far as can be seen. */
static int start_absolute(struct compiler *compiler, const struct alternative *alternative,
	struct start *start, bool *ret_is_alive)
{
	struct rf_glob *glob = compiler->glob;
	bool is_alive = false;

	for (size_t i = 0; i < compiler->source->n_roots; i++) {
		int r = descend_to_root(glob, alternative, compiler->source->roots[i], start);

		if (r < 0)
			return r;
		is_alive = is_alive || start->is_root_named;
		for (size_t word = 0; word < rf_glob_state_words(glob); word++) {
			is_alive = is_alive || start->now[word];
			glob->start[word] |= start->now[word];
		}
		if (alternative->is_exclusion && start->is_above_named)
			glob->start_verdict.is_excluded = true;
		if (!alternative->is_exclusion && start->is_root_named)
			glob->start_verdict.is_match = true;
	}
	*ret_is_alive = is_alive;
	return 0;
}

static void start_relative(struct rf_glob *glob, const struct alternative *alternative)
{
	enter(glob, alternative->first, glob->start);
	if (!names_anchor(&glob->states[alternative->first], true))
		return;
	if (alternative->is_exclusion)
		glob->start_verdict.is_excluded = true;
	else
		glob->start_verdict.is_match = true;
}

static int start_alternatives(struct compiler *compiler, struct start *start)
{
	for (size_t i = 0; i < compiler->n_alternatives; i++) {
		const struct alternative *alternative = &compiler->alternatives[i];
		bool is_alive = true;
		int r = 0;

		if (alternative->is_absolute)
			r = start_absolute(compiler, alternative, start, &is_alive);
		else
			start_relative(compiler->glob, alternative);
		if (r < 0)
			return r;
		if (!is_alive && !alternative->is_exclusion) {
			compiler->error->pattern = alternative->pattern;
			return rf_glob_refuse(compiler->error, RF_FS_CODE_ESCAPE,
				"an absolute pattern lies outside the root");
		}
	}
	return 0;
}

static void start_clear(struct start *start)
{
	free(start->now);
	free(start->next);
}

static int find_start(struct compiler *compiler)
{
	struct rf_glob *glob = compiler->glob;
	struct start start rf_cleanup(start_clear) = {0};
	struct rf_glob_verdict *verdict = &glob->start_verdict;
	int r;

	glob->start = calloc(rf_glob_state_words(glob), sizeof(*glob->start));
	start.now = calloc(rf_glob_state_words(glob), sizeof(*start.now));
	start.next = calloc(rf_glob_state_words(glob), sizeof(*start.next));
	if (!glob->start || !start.now || !start.next)
		return -ENOMEM;
	r = start_alternatives(compiler, &start);
	verdict->is_match = verdict->is_match && !verdict->is_excluded;
	verdict->has_more = !verdict->is_excluded && has_pattern_state(glob, glob->start);
	return r;
}

/* ---- whole globs ----------------------------------------------------------------------------- */

static void compiler_clear(struct compiler *compiler)
{
	free(compiler->alternatives);
	rf_glob_free(compiler->glob);
}

int rf_glob_new(struct rf_glob **ret_glob, const struct rf_glob_source *source,
	struct rf_glob_error *ret_error)
{
	struct rf_glob_error error = {0};
	struct compiler compiler rf_cleanup(compiler_clear) = {.source = source, .error = &error};
	int r = 0;

	compiler.glob = calloc(1, sizeof(*compiler.glob));
	if (!compiler.glob)
		return -ENOMEM;
	if (source->n_patterns == 0)
		r = rf_glob_refuse(&error, RF_FS_CODE_MALFORMED, "no pattern is given");
	if (r == 0)
		r = add_patterns(&compiler, source->patterns, source->n_patterns,
			RF_GLOB_PATTERNS_MAX, "patterns");
	compiler.glob->n_pattern_states = compiler.glob->n_states;
	compiler.is_exclusion = true;
	if (r == 0)
		r = add_patterns(&compiler, source->exclusions, source->n_exclusions,
			RF_GLOB_EXCLUSIONS_MAX, "exclusions");
	if (r == 0)
		r = find_start(&compiler);
	if (r == RF_REFUSED)
		*ret_error = error;
	if (r == 0)
		*ret_glob = RF_TAKE(compiler.glob);
	return r;
}

struct rf_glob *rf_glob_free(struct rf_glob *glob)
{
	if (!glob)
		return NULL;
	for (size_t i = 0; i < glob->n_states; i++)
		rf_glob_segment_clear(&glob->states[i].segment);
	free(glob->states);
	free(glob->start);
	free(glob);
	return NULL;
}

int rf_glob_match(
	const struct rf_glob *glob, const char *path, bool is_directory, bool *ret_is_match)
{
	size_t n_words = rf_glob_state_words(glob);
	uint64_t *sets rf_autofree = calloc(2 * n_words, sizeof(*sets));
	char *copy rf_autofree = strdup(path);
	struct rf_glob_verdict verdict;
	char *rest = copy;
	size_t now = 0;

	if (!sets || !copy)
		return -ENOMEM;
	verdict = rf_glob_start(glob, sets);
	while (rest && !verdict.is_excluded) {
		const char *name = strsep(&rest, "/");

		if (*name == '\0' || strcmp(name, ".") == 0)
			continue;
		verdict = rf_glob_step(glob, sets + now * n_words, name, rest || is_directory,
			sets + (1 - now) * n_words);
		now = 1 - now;
	}
	*ret_is_match = verdict.is_match;
	return 0;
}
