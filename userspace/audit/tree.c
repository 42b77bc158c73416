/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Processes lie in one array in the order in which they were first heard of, found through a hash
 * of pid and start time (open addressing, never more than half full). Records of one process come
 * in order, those of different processors need not: a child can be heard of before its parent, so
 * links are made when the tree is printed.
 *
 * An exit of a process that was never heard of belongs to the set-up, which ran before the rules
 * were armed: it is left out.
 */

#include "audit/tree.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "base/json.h"

#define FIRST_ROOM 64U
#define NONE UINT32_MAX

struct process {
	uint32_t pid;
	uint32_t parent;
	uint64_t start_ns;
	uint64_t parent_start_ns;
	uint64_t end_ns;
	uint64_t cpu_ns;
	uint64_t memory_peak_bytes;
	uint64_t read_bytes;
	uint64_t write_bytes;
	uint32_t execs;
	uint32_t status;
	bool has_ended;
	char *exe;
	json_t *argv0;
};

struct rf_tree {
	struct process *processes;
	uint32_t n_processes;
	uint32_t room;
	/* Indices into processes, NONE where empty; twice as many places as room. */
	uint32_t *places;
	struct rf_tree_totals totals;
};

int rf_tree_new(struct rf_tree **ret_tree)
{
	struct rf_tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return -ENOMEM;
	tree->totals.is_complete = true;
	*ret_tree = tree;
	return 0;
}

struct rf_tree *rf_tree_free(struct rf_tree *tree)
{
	if (!tree)
		return NULL;
	for (uint32_t i = 0; i < tree->n_processes; i++) {
		free(tree->processes[i].exe);
		json_decref(tree->processes[i].argv0);
	}
	free(tree->processes);
	free(tree->places);
	free(tree);
	return NULL;
}

/* splitmix64: start times differ in their low bits, pids too. */
static uint64_t hash(uint32_t pid, uint64_t start_ns)
{
	uint64_t x = start_ns + 0x9e3779b97f4a7c15ULL * (pid + 1ULL);

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* The place of this process, or the empty one where it belongs. */
static uint32_t *find_place(const struct rf_tree *tree, uint32_t pid, uint64_t start_ns)
{
	uint32_t mask = 2 * tree->room - 1;
	uint32_t at = (uint32_t)hash(pid, start_ns) & mask;

	for (;; at = (at + 1) & mask) {
		uint32_t index = tree->places[at];

		if (index == NONE || (tree->processes[index].pid == pid &&
					     tree->processes[index].start_ns == start_ns))
			return &tree->places[at];
	}
}

static struct process *find(const struct rf_tree *tree, uint32_t pid, uint64_t start_ns)
{
	uint32_t *place = tree->room ? find_place(tree, pid, start_ns) : NULL;

	return place && *place != NONE ? &tree->processes[*place] : NULL;
}

static int grow(struct rf_tree *tree)
{
	uint32_t room = tree->room ? tree->room * 2 : FIRST_ROOM;
	struct process *processes = reallocarray(tree->processes, room, sizeof(*processes));
	uint32_t *places;

	if (!processes)
		return -ENOMEM;
	tree->processes = processes;
	places = malloc(2 * room * sizeof(*places));
	if (!places)
		return -ENOMEM;
	memset(places, 0xff, 2 * room * sizeof(*places));
	free(tree->places);
	tree->places = places;
	tree->room = room;
	for (uint32_t i = 0; i < tree->n_processes; i++)
		*find_place(tree, processes[i].pid, processes[i].start_ns) = i;
	return 0;
}

/* Finds or makes it. 0 with NULL: the tree is full. */
static int obtain(
	struct rf_tree *tree, uint32_t pid, uint64_t start_ns, struct process **ret_process)
{
	uint32_t *place = tree->room ? find_place(tree, pid, start_ns) : NULL;
	int r;

	if (place && *place != NONE) {
		*ret_process = &tree->processes[*place];
		return 0;
	}
	if (tree->n_processes == RF_TREE_PROCESSES_MAX) {
		tree->totals.is_complete = false;
		*ret_process = NULL;
		return 0;
	}
	r = tree->n_processes == tree->room ? grow(tree) : 0;
	if (r < 0)
		return r;
	*find_place(tree, pid, start_ns) = tree->n_processes;
	tree->processes[tree->n_processes] = (struct process){.pid = pid, .start_ns = start_ns};
	*ret_process = &tree->processes[tree->n_processes++];
	return 0;
}

static int add_fork(struct rf_tree *tree, const struct rf_event *event)
{
	struct process *process;
	int r;

	tree->totals.started++;
	r = obtain(tree, event->header->tgid, event->header->start_ns, &process);
	if (r < 0 || !process)
		return r;
	process->parent = event->fork->parent;
	process->parent_start_ns = event->fork->parent_start_ns;
	return 0;
}

static int add_exec(struct rf_tree *tree, const struct rf_event *event)
{
	const struct rf_record_exec *exec = event->exec;
	struct process *process;
	char *exe;
	int r;

	tree->totals.execs++;
	r = obtain(tree, event->header->tgid, event->header->start_ns, &process);
	if (r < 0 || !process)
		return r;
	process->execs++;
	process->parent = exec->parent;
	process->parent_start_ns = exec->parent_start_ns;
	exe = strndup(event->exe, exec->exe_bytes);
	if (!exe)
		return -ENOMEM;
	free(process->exe);
	process->exe = exe;
	json_decref(process->argv0);
	process->argv0 = rf_json_bytes(event->argv, strnlen(event->argv, exec->argv_bytes));
	return 0;
}

static void add_exit(struct rf_tree *tree, const struct rf_event *event)
{
	struct process *process = find(tree, event->header->tgid, event->header->start_ns);
	const struct rf_record_exit *record = event->exit;

	if (!process || process->has_ended)
		return;
	process->has_ended = true;
	process->end_ns = event->header->time_ns;
	process->status = record->status;
	process->cpu_ns = record->cpu_ns;
	process->memory_peak_bytes = record->memory_peak_bytes;
	process->read_bytes = record->read_bytes;
	process->write_bytes = record->write_bytes;
	tree->totals.exited++;
	tree->totals.read_bytes += record->read_bytes;
	tree->totals.write_bytes += record->write_bytes;
	if (record->memory_peak_bytes > tree->totals.memory_peak_bytes)
		tree->totals.memory_peak_bytes = record->memory_peak_bytes;
}

int rf_tree_add(struct rf_tree *tree, const struct rf_event *event)
{
	int r = 0;

	switch (event->kind) {
	case RF_RECORD_FORK:
		r = add_fork(tree, event);
		break;
	case RF_RECORD_EXEC:
		r = add_exec(tree, event);
		break;
	case RF_RECORD_EXIT:
		add_exit(tree, event);
		break;
	case RF_RECORD_ESCAPE:
		tree->totals.escapes++;
		break;
	case RF_RECORD_DENIAL:
	case RF_RECORD_FILE_DENIAL:
		tree->totals.denials++;
		break;
	}
	if (r < 0)
		tree->totals.is_complete = false;
	return r;
}

void rf_tree_add_lost(struct rf_tree *tree, uint64_t n_lost)
{
	if (n_lost > 0)
		tree->totals.is_complete = false;
}

void rf_tree_totals(const struct rf_tree *tree, struct rf_tree_totals *ret_totals)
{
	uint64_t cpu_ns = 0;

	for (uint32_t i = 0; i < tree->n_processes; i++)
		cpu_ns += tree->processes[i].cpu_ns;
	*ret_totals = tree->totals;
	ret_totals->cpu_ms = cpu_ns / 1000000;
}

bool rf_tree_knows(const struct rf_tree *tree, const struct rf_event *event)
{
	return !tree->totals.is_complete ||
	       find(tree, event->header->tgid, event->header->start_ns) != NULL;
}

const char *rf_tree_exe(const struct rf_tree *tree, uint32_t pid, uint64_t start_ns)
{
	const struct process *process = find(tree, pid, start_ns);

	/* A child runs its parent's program until it execs. A chain of forks is finite, one that
	 * a damaged record closed into a ring is not. */
	for (uint32_t n = 0; process && !process->exe && n < tree->n_processes; n++)
		process = find(tree, process->parent, process->parent_start_ns);
	return process ? process->exe : NULL;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *or_null(bool is_known, json_t *value)
{
	if (is_known)
		return value;
	json_decref(value);
	return json_null();
}

static json_t *describe(const struct process *process)
{
	int status = (int)process->status;
	bool has_code = process->has_ended && WIFEXITED(status);
	bool has_signal = process->has_ended && WIFSIGNALED(status);

	return json_pack("{s:I, s:o, s:I, s:o, s:o, s:o, s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:[]}",
		"pid", (json_int_t)process->pid, "start_ns", rf_json_id(process->start_ns),
		"parent", (json_int_t)process->parent, "end_ns",
		or_null(process->has_ended, rf_json_id(process->end_ns)), "exe",
		process->exe ? rf_json_bytes(process->exe, strlen(process->exe)) : json_null(),
		"argv0", process->argv0 ? json_incref(process->argv0) : json_null(), "execs",
		(json_int_t)process->execs, "exit_code",
		or_null(has_code, json_integer(WEXITSTATUS(status))), "signal",
		or_null(has_signal, json_integer(WTERMSIG(status))), "cpu_ms",
		(json_int_t)(process->cpu_ns / 1000000), "memory_peak_bytes",
		(json_int_t)process->memory_peak_bytes, "read_bytes",
		(json_int_t)process->read_bytes, "write_bytes", (json_int_t)process->write_bytes,
		"children");
}

/* Two levels of JSON each; jansson reads at most 2048. */
/* Two levels of JSON each: readers stop at 256 (jq 1.6) or 1 000. What is deeper is a root. */
#define DEPTH_MAX 64U

static uint32_t depth_of(const struct rf_tree *tree, uint32_t index)
{
	const struct process *process = &tree->processes[index];
	uint32_t depth = 0;

	while (process && depth <= DEPTH_MAX) {
		process = find(tree, process->parent, process->parent_start_ns);
		depth++;
	}
	return depth;
}

/*
 * Every process is made first, then put into its parent. What would be too deep, and a ring that
 * a damaged record closed (every depth in it is too much), stands at the top instead.
 */
static int link_all(const struct rf_tree *tree, json_t **objects, json_t *roots)
{
	for (uint32_t i = 0; i < tree->n_processes; i++) {
		const struct process *process = &tree->processes[i];
		const struct process *parent =
			find(tree, process->parent, process->parent_start_ns);
		json_t *list = roots;

		if (parent && depth_of(tree, i) <= DEPTH_MAX)
			list = json_object_get(objects[parent - tree->processes], "children");
		if (json_array_append(list, objects[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

int rf_tree_to_json(const struct rf_tree *tree, json_t **ret_json)
{
	json_t *roots rf_autojson = json_array();
	json_t **objects = calloc(tree->n_processes + 1U, sizeof(*objects));
	int r = roots && objects ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < tree->n_processes; i++) {
		objects[i] = describe(&tree->processes[i]);
		if (!objects[i])
			r = -ENOMEM;
	}
	if (r == 0)
		r = link_all(tree, objects, roots);
	for (uint32_t i = 0; objects && i < tree->n_processes; i++)
		json_decref(objects[i]);
	free(objects);
	if (r < 0)
		return r;
	*ret_json = json_pack("{s:i, s:b, s:O}", "version", 1, "complete", tree->totals.is_complete,
		"processes", roots);
	return *ret_json ? 0 : -ENOMEM;
}
