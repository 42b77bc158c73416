/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Verbs of the guarded filesystem. One table of options says which verbs have them; a verb's own
 * table is what --help prints.
 */

#include "cli/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/say.h"
#include "base/units.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "fs/ceilings.h"
#include "fs/glob.h"
#include "policy/policy.h"

enum verb {
	VERB_APPEND,
	VERB_BATCH,
	VERB_CHANGE,
	VERB_COPY,
	VERB_DIGEST,
	VERB_EXISTS,
	VERB_GLOB,
	VERB_LIST,
	VERB_MKDIR,
	VERB_READ,
	VERB_REAL_PATH,
	VERB_REMOVE,
	VERB_RENAME,
	VERB_REPLACE,
	VERB_SNAPSHOT,
	VERB_STAT,
	VERB_WRITE,
};

#define MANY INT32_MAX
/* From here on memory goes back to the system when it is freed. */
#define LARGE_BYTES (128 * 1024)

static const struct verb_row {
	const char *name;
	enum rf_fs_operation operation;
	int (*run)(struct rf_fs_command *command);
	int min_words;
	int max_words;
	const char *words;
	const char *summary;
} verbs[] = {
	[VERB_APPEND] = {"append", RF_FS_APPEND, rf_fs_verb_write, 1, 1, "PATH",
		"Adds standard input to the end of a file."},
	[VERB_BATCH] = {"batch", RF_FS_OPERATIONS_, rf_fs_verb_batch, 0, 1, "[FILE]",
		"Runs requests, a JSON object a line, and prints a result a line, in order."},
	[VERB_CHANGE] = {"change", RF_FS_CHANGE, rf_fs_verb_each, 1, MANY, "PATH...",
		"Sets mode, modification time or size."},
	[VERB_COPY] = {"copy", RF_FS_COPY, rf_fs_verb_pair, 2, 2, "PATH TARGET",
		"Copies a file, or a tree."},
	[VERB_DIGEST] = {"digest", RF_FS_DIGEST, rf_fs_verb_each, 1, MANY, "PATH...",
		"Prints the SHA-256 of files."},
	[VERB_EXISTS] = {"exists", RF_FS_EXISTS, rf_fs_verb_each, 1, MANY, "PATH...",
		"Succeeds when every path exists."},
	[VERB_GLOB] = {"glob", RF_FS_GLOB, rf_fs_verb_glob, 1, RF_GLOB_PATTERNS_MAX, "PATTERN...",
		"Prints what patterns name."},
	[VERB_LIST] = {"list", RF_FS_LIST, rf_fs_verb_list, 0, MANY, "[PATH...]",
		"Prints what directories hold."},
	[VERB_MKDIR] = {"mkdir", RF_FS_MKDIR, rf_fs_verb_each, 1, MANY, "PATH...",
		"Makes directories."},
	[VERB_READ] = {"read", RF_FS_READ, rf_fs_verb_read, 1, MANY, "PATH...",
		"Prints the content of files."},
	[VERB_REAL_PATH] = {"real-path", RF_FS_REAL_PATH, rf_fs_verb_each, 1, MANY, "PATH...",
		"Prints canonical absolute paths."},
	[VERB_REMOVE] = {"remove", RF_FS_REMOVE, rf_fs_verb_each, 1, MANY, "PATH...",
		"Removes files and empty directories, or trees."},
	[VERB_RENAME] = {"rename", RF_FS_RENAME, rf_fs_verb_pair, 2, 2, "PATH TARGET",
		"Renames a file or directory."},
	[VERB_REPLACE] = {"replace", RF_FS_REPLACE, rf_fs_verb_write, 1, 1, "PATH",
		"Gives a file standard input as its content, all at once."},
	[VERB_SNAPSHOT] = {"snapshot", RF_FS_SNAPSHOT, rf_fs_verb_each, 1, MANY, "PATH...",
		"Prints every entry of trees with its SHA-256, and one of each tree."},
	[VERB_STAT] = {"stat", RF_FS_STAT, rf_fs_verb_each, 1, MANY, "PATH...",
		"Prints type, mode, owner, size and time of files and directories."},
	[VERB_WRITE] = {"write", RF_FS_WRITE, rf_fs_verb_write, 1, 1, "PATH",
		"Writes standard input to a file in place, making it when missing."},
};

#define IN(verb) (1U << VERB_##verb)
#define IN_ALL (~0U)
#define IN_WRITERS (IN(APPEND) | IN(WRITE) | IN(REPLACE))
#define IN_PRINTERS (IN(DIGEST) | IN(GLOB) | IN(LIST) | IN(REAL_PATH) | IN(SNAPSHOT) | IN(STAT))

enum option {
	OPTION_CONCURRENCY = 256,
	OPTION_CONTENT_LIMIT,
	OPTION_DEADLINE,
	OPTION_DEPTH,
	OPTION_ENGINE,
	OPTION_ENTRIES,
	OPTION_EXCLUDE,
	OPTION_EXCLUSIVE,
	OPTION_FORCE,
	OPTION_JSON,
	OPTION_LENGTH,
	OPTION_MODE,
	OPTION_MTIME,
	OPTION_NO_CREATE,
	OPTION_NOT_DURABLE,
	OPTION_NULL,
	OPTION_OFFSET,
	OPTION_PARENTS,
	OPTION_RECURSIVE,
	OPTION_REQUEST_LIMIT,
	OPTION_RESPONSE_LIMIT,
	OPTION_ROOT,
	OPTION_SIZE,
	OPTION_STAT,
	OPTION_SYNC,
};

static const struct {
	unsigned int verbs;
	struct rf_option option;
} all_options[] = {
	{IN_ALL, {"root", "DIR", "the root; default: the working directory", OPTION_ROOT, NULL}},
	{IN_ALL & ~IN(BATCH), {"json", NULL, "print results as the batch does", OPTION_JSON, NULL}},
	{IN_PRINTERS, {"null", NULL, "end paths in NUL, unescaped", OPTION_NULL, NULL}},
	{IN(LIST) | IN(REMOVE) | IN(COPY),
		{"recursive", NULL, "the whole tree", OPTION_RECURSIVE, NULL}},
	{IN(REMOVE), {"force", NULL, "what is missing is no failure", OPTION_FORCE, NULL}},
	{IN(RENAME) | IN(COPY), {"force", NULL, "replace what is there", OPTION_FORCE, NULL}},
	{IN(MKDIR), {"parents", NULL, "make what is missing above, too", OPTION_PARENTS, NULL}},
	{IN(LIST), {"stat", NULL, "with mode, owner, size and time", OPTION_STAT, NULL}},
	{IN(GLOB), {"exclude", "PATTERN", "leave out; repeatable", OPTION_EXCLUDE, NULL}},
	{IN_WRITERS | IN(MKDIR) | IN(CHANGE),
		{"mode", "OCTAL", "permissions of what is made", OPTION_MODE, NULL}},
	{IN(CHANGE),
		{"mtime", "NS", "modification time, nanoseconds since 1970", OPTION_MTIME, NULL}},
	{IN(CHANGE), {"size", "BYTES", "cut or extend to so much", OPTION_SIZE, NULL}},
	{IN(WRITE), {"offset", "BYTES", "write there, keep the rest", OPTION_OFFSET, NULL}},
	{IN(READ) | IN(DIGEST), {"offset", "BYTES", "begin there", OPTION_OFFSET, NULL}},
	{IN(READ) | IN(DIGEST), {"length", "BYTES", "at most so much", OPTION_LENGTH, NULL}},
	{IN(WRITE) | IN(REPLACE),
		{"exclusive", NULL, "the file must not exist", OPTION_EXCLUSIVE, NULL}},
	{IN(WRITE), {"no-create", NULL, "the file must exist", OPTION_NO_CREATE, NULL}},
	{IN(REPLACE), {"not-durable", NULL, "do not wait for the disk", OPTION_NOT_DURABLE, NULL}},
	{IN(APPEND) | IN(WRITE) | IN(COPY) | IN(MKDIR) | IN(RENAME) | IN(REMOVE),
		{"sync", NULL, "wait for the disk", OPTION_SYNC, NULL}},
	{IN_ALL, {"engine", "NAME", "auto, io_uring or plain", OPTION_ENGINE, NULL}},
	{IN_ALL, {"concurrency", "N", "in flight at once; default: the CPUs", OPTION_CONCURRENCY,
			 NULL}},
	{IN_ALL, {"deadline", "DURATION", "default 5m", OPTION_DEADLINE, NULL}},
	{IN_ALL, {"content-limit", "SIZE", "of one file's content; default 16M",
			 OPTION_CONTENT_LIMIT, NULL}},
	{IN_ALL, {"request-limit", "SIZE", "of one request; default 24M", OPTION_REQUEST_LIMIT,
			 NULL}},
	{IN_ALL, {"response-limit", "SIZE", "of one result; default 24M", OPTION_RESPONSE_LIMIT,
			 NULL}},
	{IN_ALL, {"entries", "N", "directory entries read; default 100000", OPTION_ENTRIES, NULL}},
	{IN_ALL, {"depth", "N", "of a tree; default 512", OPTION_DEPTH, NULL}},
	{IN_ALL, RF_OPTION_HELP_ROW},
};

static int wrong_value(struct rf_diag *diag, const char *option, const char *text)
{
	return rf_diag_refuse(diag, "option-value", "--%s: %s is not a valid value", option, text);
}

static const char *option_name(int id)
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(all_options); i++) {
		if (all_options[i].option.id == id)
			return all_options[i].option.name;
	}
	return "";
}

enum value_kind { VALUE_COUNT, VALUE_SIZE, VALUE_DURATION };

static bool parse_value(enum value_kind kind, const char *text, uint64_t *ret_value)
{
	switch (kind) {
	case VALUE_COUNT:
		return rf_parse_u64(text, ret_value);
	case VALUE_SIZE:
		return rf_parse_size(text, ret_value);
	case VALUE_DURATION:
		return rf_parse_duration(text, ret_value);
	}
	return false;
}

static int apply_ceiling(
	struct rf_fs_command *command, enum option id, const char *text, struct rf_diag *diag)
{
	static const struct {
		enum option id;
		enum value_kind kind;
		const char *name;
	} rows[] = {
		{OPTION_CONCURRENCY, VALUE_COUNT, "concurrency"},
		{OPTION_CONTENT_LIMIT, VALUE_SIZE, "content_bytes"},
		{OPTION_DEADLINE, VALUE_DURATION, "deadline_ms"},
		{OPTION_DEPTH, VALUE_COUNT, "depth"},
		{OPTION_ENTRIES, VALUE_COUNT, "entries"},
		{OPTION_REQUEST_LIMIT, VALUE_SIZE, "request_bytes"},
		{OPTION_RESPONSE_LIMIT, VALUE_SIZE, "response_bytes"},
	};
	const struct rf_fs_ceiling *ceiling;
	uint64_t value = 0;
	size_t i = 0;

	while (rows[i].id != id)
		i++;
	/* 0 would mean the default. */
	if (!parse_value(rows[i].kind, text, &value) || value == 0)
		return wrong_value(diag, option_name((int)id), text);
	ceiling = rf_fs_ceiling_find(rows[i].name);
	if (value > ceiling->max)
		return rf_diag_refuse(diag, "option-value", "--%s: %s is more than %" PRIu64,
			option_name((int)id), text, ceiling->max);
	rf_fs_ceiling_set(ceiling, &command->options, value);
	return 0;
}

static int apply_number(
	struct rf_fs_command *command, enum option id, const char *text, struct rf_diag *diag)
{
	struct rf_fs_request *request = &command->request;
	uint64_t number = 0;
	unsigned int mode = 0;

	if (id == OPTION_MODE) {
		if (!rf_parse_mode(text, &mode))
			return wrong_value(diag, "mode", text);
		request->mode = mode;
		request->flags |= RF_FS_HAS_MODE;
		return 0;
	}
	if (id == OPTION_MTIME) {
		if (!rf_parse_u64(text, &number) || number > INT64_MAX)
			return wrong_value(diag, "mtime", text);
		request->mtime_ns = (int64_t)number;
		request->flags |= RF_FS_HAS_TIMES;
		return 0;
	}
	if (!rf_parse_size(text, &number) || number > INT64_MAX)
		return wrong_value(diag, option_name(id), text);
	if (id == OPTION_OFFSET) {
		request->offset = number;
		command->keeps_rest = true;
		return 0;
	}
	request->length = number;
	request->flags |= RF_FS_HAS_LENGTH;
	return 0;
}

static int apply_word(struct rf_fs_command *command, enum option id, const char *text)
{
	if (id == OPTION_EXCLUDE)
		return rf_strv_add(&command->exclude, text);
	command->root = text;
	return 0;
}

static void apply_flag(struct rf_fs_command *command, enum option id)
{
	static const struct {
		enum option id;
		unsigned int flag;
	} flags[] = {
		{OPTION_FORCE, RF_FS_FORCE},
		{OPTION_NOT_DURABLE, RF_FS_NO_DURABLE},
		{OPTION_PARENTS, RF_FS_PARENTS},
		{OPTION_RECURSIVE, RF_FS_RECURSIVE},
		{OPTION_STAT, RF_FS_WITH_STAT},
		{OPTION_SYNC, RF_FS_SYNC},
	};

	for (size_t i = 0; i < RF_ARRAY_SIZE(flags); i++) {
		if (flags[i].id == id)
			command->request.flags |= flags[i].flag;
	}
	command->is_json = command->is_json || id == OPTION_JSON;
	command->is_null = command->is_null || id == OPTION_NULL;
	command->may_not_create = command->may_not_create || id == OPTION_NO_CREATE;
	if (id == OPTION_EXCLUSIVE)
		command->request.open_flags |= O_EXCL;
}

static int apply(void *to, int id, const char *text, struct rf_diag *diag)
{
	struct rf_fs_command *command = to;

	switch ((enum option)id) {
	case OPTION_CONCURRENCY:
	case OPTION_CONTENT_LIMIT:
	case OPTION_DEADLINE:
	case OPTION_DEPTH:
	case OPTION_ENTRIES:
	case OPTION_REQUEST_LIMIT:
	case OPTION_RESPONSE_LIMIT:
		return apply_ceiling(command, (enum option)id, text, diag);
	case OPTION_ENGINE:
		if (!rf_fs_engine_parse(text, &command->options.engine))
			return wrong_value(diag, "engine", text);
		return 0;
	case OPTION_LENGTH:
	case OPTION_MODE:
	case OPTION_MTIME:
	case OPTION_OFFSET:
	case OPTION_SIZE:
		return apply_number(command, (enum option)id, text, diag);
	case OPTION_EXCLUDE:
	case OPTION_ROOT:
		return apply_word(command, (enum option)id, text);
	case OPTION_EXCLUSIVE:
	case OPTION_FORCE:
	case OPTION_JSON:
	case OPTION_NO_CREATE:
	case OPTION_NOT_DURABLE:
	case OPTION_NULL:
	case OPTION_PARENTS:
	case OPTION_RECURSIVE:
	case OPTION_STAT:
	case OPTION_SYNC:
		break;
	}
	apply_flag(command, (enum option)id);
	return 0;
}

/* ---- running ----------------------------------------------------------------------------------
 */

static void tick(void *userdata rf_unused)
{
	rf_fs_progress_tick(0);
}

static int open_root(struct rf_fs_command *command)
{
	int r = rf_fs_open(&command->fs, command->root, &command->options);
	const char *why = NULL;

	if (r < 0) {
		rf_say_error("cannot open the root %s: %s", command->root, strerror(-r));
		return RF_STATUS_REFUSED;
	}
	rf_fs_set_glob(command->fs, rf_glob_run);
	rf_fs_set_tick(command->fs, tick, NULL);
	if (command->options.engine != RF_FS_ENGINE_PLAIN &&
		command->request.operation == RF_FS_OPERATIONS_ &&
		rf_fs_engine(command->fs, &why) == RF_FS_ENGINE_PLAIN)
		rf_say("io_uring is not used, plain calls serve: %s", why ? why : "unknown");
	return 0;
}

static void command_clear(struct rf_fs_command *command)
{
	rf_fs_free(command->fs);
	rf_strv_clear(&command->exclude);
}

static int run_verb(enum verb verb, int argc, char **argv)
{
	const struct verb_row *row = &verbs[verb];
	struct rf_option options[RF_ARRAY_SIZE(all_options)];
	/* A NULL ends them. */
	const char **words rf_autofree = calloc((size_t)argc + 1, sizeof(*words));
	struct rf_fs_command command rf_cleanup(command_clear) = {
		.root = ".",
		.request = {.operation = row->operation,
			.content_fd = -1,
			.atime_ns = RF_FS_TIME_OMIT,
			.mtime_ns = RF_FS_TIME_OMIT},
		.verb = row->name,
		.words = words,
	};
	struct rf_simple_args simple = {
		NULL, row->summary, options, 0, row->min_words, row->max_words, apply, &command};
	char usage[64];
	int r;

	for (size_t i = 0; i < RF_ARRAY_SIZE(all_options); i++) {
		if (all_options[i].verbs & 1U << verb)
			options[simple.n_options++] = all_options[i].option;
	}
	snprintf(usage, sizeof(usage), "fs %s [options] %s", row->name, row->words);
	simple.usage = usage;
	r = words ? rf_args_simple(&simple, argc, argv, words) : -ENOMEM;
	if (r != 0)
		return r == RF_ARGS_HELP_SHOWN ? 0 : RF_STATUS_REFUSED;
	while (words[command.n_words])
		command.n_words++;
	if (row->operation == RF_FS_OPERATIONS_)
		rf_fs_batch_note_descriptors();
	/* Fixed, or what grows would be held twice once something large was freed. */
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	r = open_root(&command);
	return r == 0 ? row->run(&command) : r;
}

static void print_help(FILE *to)
{
	fprintf(to, "Usage: ringfence fs VERB [options] [PATH...]\n\n"
		    "Works on files below a root, and cannot be led out of it.\n\nVerbs:\n");
	for (size_t i = 0; i < RF_ARRAY_SIZE(verbs); i++)
		fprintf(to, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
	fprintf(to, "\nringfence fs VERB --help shows a verb's options.\n");
}

static int refuse_verb(const char *name)
{
	const char *names[RF_ARRAY_SIZE(verbs) + 1] = {NULL};
	const char *nearest;

	for (size_t i = 0; i < RF_ARRAY_SIZE(verbs); i++)
		names[i] = verbs[i].name;
	nearest = rf_nearest(name, names);
	if (nearest)
		rf_say_error("unknown verb %s (did you mean %s?)", name, nearest);
	else
		rf_say_error("unknown verb %s (ringfence fs --help lists them)", name);
	return RF_STATUS_REFUSED;
}

int rf_cli_fs(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return RF_STATUS_REFUSED;
	}
	if (strcmp(argv[1], "--help") == 0) {
		print_help(stdout);
		return 0;
	}
	for (size_t i = 0; i < RF_ARRAY_SIZE(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) == 0)
			return run_verb((enum verb)i, argc - 1, argv + 1);
	}
	return refuse_verb(argv[1]);
}
