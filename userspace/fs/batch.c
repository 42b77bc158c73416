/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A batch: requests in, results out in the same order, as if one had run after another.
 *
 * It is cut into runs. What only looks at files runs at once with its neighbours that only look;
 * what changes one name runs at once with neighbours that change other names, none of them above
 * or below another; the rest runs alone. Directories that have to reach the disk do so at the end
 * of a run, each once.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "fs/flow.h"

/* Requests that share a held parent: it is looked up again after so many. */
#define PIN_USES 64U
/* Changes of one run: bounds the parents that are held until they are on the disk. */
#define RUN_CHANGES 256U
#define NAME_SLOTS 8192U

/* Hashes, open addressing; 0 is an empty slot. */
struct hashes {
	uint64_t slots[NAME_SLOTS];
	uint16_t used[NAME_SLOTS / 2];
	size_t count;
};

enum kind { KIND_LOOK, KIND_CHANGE, KIND_ALONE };

struct batch {
	struct rf_fs *fs;
	const struct rf_fs_request *requests;
	struct rf_fs_result *results;
	struct rf_fs_flow *flows;
	struct rf_fs_flow *free;
	/* Of the run. */
	struct rf_fs_pin *pins;
	struct rf_fs_pin *pin_of[RUN_CHANGES];
	size_t start;
	enum kind kind;
	/* The names that a run changes, and what is above them. */
	struct hashes names;
	struct hashes above;
};

/* ---- what is well formed ------------------------------------------------------------------- */

static const unsigned int known_flags[RF_FS_OPERATIONS_] = {
	[RF_FS_READ] = RF_FS_HAS_LENGTH,
	[RF_FS_WRITE] = RF_FS_HAS_MODE | RF_FS_HAS_TIMES | RF_FS_SYNC,
	[RF_FS_APPEND] = RF_FS_HAS_MODE | RF_FS_HAS_TIMES | RF_FS_SYNC,
	[RF_FS_REPLACE] = RF_FS_HAS_MODE | RF_FS_HAS_TIMES | RF_FS_NO_DURABLE | RF_FS_SYNC,
	[RF_FS_LIST] = RF_FS_RECURSIVE | RF_FS_WITH_STAT,
	[RF_FS_MKDIR] = RF_FS_PARENTS | RF_FS_HAS_MODE | RF_FS_SYNC,
	[RF_FS_RENAME] = RF_FS_FORCE | RF_FS_SYNC,
	[RF_FS_REMOVE] = RF_FS_RECURSIVE | RF_FS_FORCE | RF_FS_SYNC,
	[RF_FS_COPY] = RF_FS_RECURSIVE | RF_FS_FORCE | RF_FS_SYNC,
	[RF_FS_DIGEST] = RF_FS_HAS_LENGTH,
	[RF_FS_CHANGE] = RF_FS_HAS_MODE | RF_FS_HAS_TIMES | RF_FS_HAS_LENGTH,
};

static int known_open_flags(enum rf_fs_operation operation)
{
	int harmless = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

	if (operation == RF_FS_WRITE || operation == RF_FS_APPEND)
		return O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_RDWR | O_WRONLY | O_SYNC |
		       O_DSYNC | harmless;
	if (operation == RF_FS_REPLACE)
		return O_EXCL | O_CREAT | O_TRUNC | O_WRONLY | O_RDWR | harmless;
	if (operation == RF_FS_READ)
		return harmless;
	if (operation == RF_FS_RENAME || operation == RF_FS_COPY)
		return O_EXCL;
	return 0;
}

static const char *malformation(const struct rf_fs_request *request)
{
	bool has_target = request->operation == RF_FS_RENAME || request->operation == RF_FS_COPY;

	if ((unsigned int)request->operation >= RF_FS_OPERATIONS_)
		return "no such operation";
	if (request->flags & ~known_flags[request->operation])
		return "a flag that this operation does not have";
	if (request->open_flags & ~known_open_flags(request->operation))
		return "an open flag that this operation does not have";
	if (request->flags & RF_FS_HAS_MODE && request->mode & ~07777U)
		return "the mode has more than permission bits";
	if (request->offset > INT64_MAX || request->length > INT64_MAX)
		return "an offset or a length beyond any file";
	if (has_target && !request->target)
		return "no target is given";
	if (!request->has_content_fd && !request->content && request->content_size_bytes > 0)
		return "no content is given";
	return NULL;
}

/* ---- which requests run at once ------------------------------------------------------------ */

/* What runs as steps; the others run alone. */
static bool (*const flows[RF_FS_OPERATIONS_])(struct rf_fs_flow *flow) = {
	[RF_FS_READ] = rf_fs_flow_read,
	[RF_FS_STAT] = rf_fs_flow_look,
	[RF_FS_EXISTS] = rf_fs_flow_look,
	[RF_FS_WRITE] = rf_fs_flow_write,
	[RF_FS_APPEND] = rf_fs_flow_write,
	[RF_FS_REPLACE] = rf_fs_flow_replace,
	[RF_FS_REMOVE] = rf_fs_flow_remove,
};

static enum kind kind_of(const struct rf_fs_request *request)
{
	bool is_tree = request->operation == RF_FS_REMOVE && request->flags & RF_FS_RECURSIVE;

	if (!flows[request->operation] || is_tree)
		return KIND_ALONE;
	if (flows[request->operation] == rf_fs_flow_read ||
		flows[request->operation] == rf_fs_flow_look)
		return KIND_LOOK;
	return KIND_CHANGE;
}

static bool has_hash(const struct hashes *hashes, uint64_t hash)
{
	for (size_t i = hash % NAME_SLOTS; hashes->slots[i] != 0; i = (i + 1) % NAME_SLOTS) {
		if (hashes->slots[i] == hash)
			return true;
	}
	return false;
}

/* false: full, which ends the run. */
static bool add_hash(struct hashes *hashes, uint64_t hash)
{
	size_t i = hash % NAME_SLOTS;

	while (hashes->slots[i] != 0 && hashes->slots[i] != hash)
		i = (i + 1) % NAME_SLOTS;
	if (hashes->slots[i] == hash)
		return true;
	if (hashes->count >= RF_ARRAY_SIZE(hashes->used))
		return false;
	hashes->slots[i] = hash;
	hashes->used[hashes->count++] = (uint16_t)i;
	return true;
}

static void clear_hashes(struct hashes *hashes)
{
	while (hashes->count > 0)
		hashes->slots[hashes->used[--hashes->count]] = 0;
}

/*
 * Notes a path that a run changes. false: it lies at, above or below one that is noted (or seems
 * to: a collision only ends the run early).
 */
static bool note_path(struct batch *batch, const char *path)
{
	uint64_t hash = 14695981039346656037ULL;

	for (const char *at = path; *at; at++) {
		if (*at == '/') {
			uint64_t above = hash ? hash : 1;

			if (has_hash(&batch->names, above) || !add_hash(&batch->above, above))
				return false;
		}
		hash = (hash ^ (unsigned char)*at) * 1099511628211ULL;
	}
	hash = hash ? hash : 1;
	return !has_hash(&batch->names, hash) && !has_hash(&batch->above, hash) &&
	       add_hash(&batch->names, hash);
}

/* ---- pins ---------------------------------------------------------------------------------- */

static void drop_pin(struct batch *batch, struct rf_fs_pin *pin)
{
	struct rf_fs_pin **at = &batch->pins;

	while (*at && *at != pin)
		at = &(*at)->next;
	if (*at)
		*at = pin->next;
	rf_close(pin->fd);
	free(pin->parent);
	free(pin);
}

/* The newest pin is in front. */
static struct rf_fs_pin *shared_pin(struct batch *batch, const char *parent)
{
	struct rf_fs_pin *pin = batch->pins;

	if (pin && pin->uses < PIN_USES && strcmp(pin->parent, parent) == 0)
		return pin;
	/* Nobody has it any more, and nobody will. */
	if (pin && pin->refs == 0 && batch->kind == KIND_LOOK)
		drop_pin(batch, pin);
	return NULL;
}

static struct rf_fs_pin *new_pin(struct rf_fs_flow *flow)
{
	struct rf_fs_pin *pin = calloc(1, sizeof(*pin));

	if (!pin)
		return NULL;
	pin->fd = -1;
	pin->parent = strdup(flow->where.parent);
	if (!pin->parent) {
		free(pin);
		return NULL;
	}
	pin->fd = rf_fs_openat(flow->fs, flow->fs->fd, flow->where.parent, O_PATH | O_DIRECTORY, 0);
	return pin;
}

/* A parent that is missing: an answer for EXISTS, and for REMOVE by force. */
static int refuse_parent(struct rf_fs_flow *flow, int error)
{
	const struct rf_fs_request *request = flow->request;
	bool is_fine = request->operation == RF_FS_EXISTS ||
		       (request->operation == RF_FS_REMOVE && request->flags & RF_FS_FORCE);

	if (is_fine && (error == ENOENT || error == ENOTDIR))
		return RF_REFUSED;
	return rf_fs_refuse_call(flow->result, request->operation, request->path, error);
}

/* 0, or RF_REFUSED: the flow is over, with a failure or without. */
static int pin_parent(struct batch *batch, struct rf_fs_flow *flow)
{
	struct rf_fs_pin *pin = shared_pin(batch, flow->where.parent);

	if (!pin) {
		pin = new_pin(flow);
		if (!pin)
			return refuse_parent(flow, ENOMEM);
		pin->next = batch->pins;
		batch->pins = pin;
		if (pin->fd < 0) {
			int error = -pin->fd;

			pin->fd = -1;
			drop_pin(batch, pin);
			return refuse_parent(flow, error);
		}
	}
	pin->uses++;
	pin->refs++;
	flow->pin = pin;
	return 0;
}

static void unpin(struct batch *batch, struct rf_fs_flow *flow)
{
	struct rf_fs_pin *pin = flow->pin;

	flow->pin = NULL;
	if (!pin)
		return;
	pin->refs--;
	if (batch->kind == KIND_CHANGE)
		batch->pin_of[(size_t)(flow->request - batch->requests) - batch->start] = pin;
	else if (pin->refs == 0 && pin != batch->pins)
		drop_pin(batch, pin);
}

/* ---- flows --------------------------------------------------------------------------------- */

static bool step(struct rf_fs_flow *flow)
{
	return flows[flow->request->operation](flow);
}

static void end_flow(struct batch *batch, struct rf_fs_flow *flow)
{
	unpin(batch, flow);
	rf_close(flow->fd);
	free(flow->owned_content);
	rf_fs_where_clear(&flow->where);
	/* Half a content is no content. */
	if (flow->result->error && flow->result->content) {
		free(flow->result->content);
		flow->result->content = NULL;
		batch->fs->response_left += flow->wanted_bytes;
	}
	flow->next_free = batch->free;
	batch->free = flow;
}

/* Takes everything that came back, after waiting for something. */
static void come_back(struct batch *batch)
{
	struct rf_fs_call *call = rf_fs_engine_wait(batch->fs->engine);

	while (call) {
		if (step(call->owner))
			end_flow(batch, call->owner);
		call = rf_fs_engine_next(batch->fs->engine);
	}
}

/* Takes what where owns. */
static void start_flow(struct batch *batch, size_t i, struct rf_fs_where *where)
{
	struct rf_fs_flow *flow;

	while (!batch->free)
		come_back(batch);
	flow = batch->free;
	batch->free = flow->next_free;
	flow->fs = batch->fs;
	flow->request = &batch->requests[i];
	flow->result = &batch->results[i];
	flow->state = RF_FS_FLOW_START;
	flow->where = *where;
	*where = (struct rf_fs_where){0};
	flow->pin = NULL;
	flow->fd = -1;
	flow->wanted_bytes = 0;
	flow->owned_content = NULL;
	flow->temporary[0] = '\0';
	if (pin_parent(batch, flow) || step(flow))
		end_flow(batch, flow);
}

/* ---- runs ---------------------------------------------------------------------------------- */

/* A directory is looked up again after so many uses, and one under a name may become another. */
static const struct rf_fs_pin *synced_before(const struct batch *batch, const struct rf_fs_pin *pin)
{
	const struct rf_fs_pin *at = batch->pins;

	while (at != pin && !(at->needs_sync && !at->same && !at->sync_error &&
				    at->dev == pin->dev && at->ino == pin->ino))
		at = at->next;
	return at == pin ? NULL : at;
}

static void end_sync(const struct rf_fs_call *call)
{
	struct rf_fs_pin *pin = call->owner;

	pin->sync_error = -call->result;
	rf_close(call->fd);
}

static void start_sync(struct batch *batch, struct rf_fs_pin *pin)
{
	struct rf_fs_engine_state *engine = batch->fs->engine;
	struct stat found;
	int fd = fstat(pin->fd, &found) < 0 ? -errno : 0;

	if (fd == 0) {
		pin->dev = found.st_dev;
		pin->ino = found.st_ino;
		pin->same = synced_before(batch, pin);
		if (pin->same)
			return;
		/* What is held is O_PATH, which no fsync takes. */
		fd = rf_fs_openat(batch->fs, pin->fd, ".", O_RDONLY | O_DIRECTORY, 0);
	}
	if (fd < 0) {
		pin->sync_error = -fd;
		return;
	}
	pin->sync = (struct rf_fs_call){.kind = RF_FS_CALL_FSYNC, .fd = fd, .owner = pin};
	if (rf_fs_engine_in_flight(engine) >= RF_FS_IN_FLIGHT)
		end_sync(rf_fs_engine_wait(engine));
	if (rf_fs_engine_issue(engine, &pin->sync))
		end_sync(&pin->sync);
}

/* Each directory once, and all of them at once. */
static void sync_pins(struct batch *batch)
{
	const struct rf_fs_call *call;

	for (struct rf_fs_pin *pin = batch->pins; pin; pin = pin->next) {
		if (pin->needs_sync)
			start_sync(batch, pin);
	}
	while ((call = rf_fs_engine_wait(batch->fs->engine)))
		end_sync(call);
	for (struct rf_fs_pin *pin = batch->pins; pin; pin = pin->next) {
		if (pin->same)
			pin->sync_error = pin->same->sync_error;
	}
}

static void end_run(struct batch *batch, size_t end)
{
	size_t run_end = end - batch->start < RUN_CHANGES ? end : batch->start + RUN_CHANGES;

	while (rf_fs_engine_in_flight(batch->fs->engine) > 0)
		come_back(batch);
	/* Requests after those of the run were refused before they took part. */
	if (batch->kind == KIND_CHANGE) {
		sync_pins(batch);
		for (size_t i = batch->start; i < run_end; i++) {
			const struct rf_fs_pin *pin = batch->pin_of[i - batch->start];

			if (pin && pin->sync_error)
				rf_fs_refuse_call(&batch->results[i], batch->requests[i].operation,
					batch->requests[i].path, pin->sync_error);
		}
		memset(batch->pin_of, 0, (run_end - batch->start) * sizeof(*batch->pin_of));
		clear_hashes(&batch->names);
		clear_hashes(&batch->above);
	}
	while (batch->pins)
		drop_pin(batch, batch->pins);
	batch->start = end;
}

static void do_glob(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result)
{
	if (fs->glob)
		fs->glob(fs, request, result);
	else
		rf_fs_refuse(result, RF_FS_GLOB, request->path, EOPNOTSUPP, RF_FS_CODE_UNSUPPORTED,
			"no glob in this build");
}

static void run_alone(struct batch *batch, size_t i)
{
	static void (*const all[RF_FS_OPERATIONS_])(struct rf_fs * fs,
		const struct rf_fs_request *request, struct rf_fs_result *result) = {
		[RF_FS_LIST] = rf_fs_do_list,
		[RF_FS_MKDIR] = rf_fs_do_mkdir,
		[RF_FS_RENAME] = rf_fs_do_rename,
		[RF_FS_REMOVE] = rf_fs_do_remove,
		[RF_FS_COPY] = rf_fs_do_copy,
		[RF_FS_DIGEST] = rf_fs_do_digest,
		[RF_FS_REAL_PATH] = rf_fs_do_real_path,
		[RF_FS_SNAPSHOT] = rf_fs_do_snapshot,
		[RF_FS_CHANGE] = rf_fs_do_change,
		[RF_FS_GLOB] = do_glob,
	};
	const struct rf_fs_request *request = &batch->requests[i];
	struct rf_fs_result *result = &batch->results[i];

	end_run(batch, i);
	batch->kind = KIND_ALONE;
	if (all[request->operation])
		all[request->operation](batch->fs, request, result);
	else
		rf_fs_refuse(result, request->operation, request->path, EOPNOTSUPP,
			RF_FS_CODE_UNSUPPORTED, "no operation of its own");
	batch->start = i + 1;
}

/* Joins the run, or begins one. */
static void run_flow(struct batch *batch, size_t i, enum kind kind)
{
	const struct rf_fs_request *request = &batch->requests[i];
	struct rf_fs_where where rf_autowhere = {0};

	if (rf_fs_where(batch->fs, request->operation, request->path, &where, &batch->results[i]))
		return;
	/* Bytes to and from one descriptor come in order. */
	if (kind != batch->kind || request->has_content_fd)
		end_run(batch, i);
	batch->kind = kind;
	if (kind == KIND_CHANGE &&
		(i - batch->start >= RUN_CHANGES || !note_path(batch, where.text))) {
		end_run(batch, i);
		/* A path of its own always fits into an empty run. */
		(void)note_path(batch, where.text);
	}
	start_flow(batch, i, &where);
	if (request->has_content_fd)
		end_run(batch, i + 1);
}

static void run_one(struct batch *batch, size_t i)
{
	const struct rf_fs_request *request = &batch->requests[i];
	struct rf_fs_result *result = &batch->results[i];
	const char *why = malformation(request);
	enum kind kind;

	if (why) {
		rf_fs_refuse(result, request->operation, request->path, EINVAL,
			RF_FS_CODE_MALFORMED, why);
		return;
	}
	if (rf_fs_in_time(batch->fs, result, request->operation, request->path))
		return;
	kind = kind_of(request);
	if (kind == KIND_ALONE)
		run_alone(batch, i);
	else
		run_flow(batch, i, kind);
}

/* Is looked at as a batch begins, and every so often in a long one. */
static bool stands(struct batch *batch, size_t i)
{
	return rf_fs_root_stands(batch->fs, &batch->results[i], batch->requests[i].operation,
		       batch->requests[i].path) == 0;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static bool is_within_ceilings(
	const struct rf_fs *fs, const struct rf_fs_request *requests, size_t n)
{
	uint64_t bytes = 0;

	if (n > fs->options.entries)
		return false;
	for (size_t i = 0; i < n; i++) {
		bytes += requests[i].path ? strlen(requests[i].path) : 0;
		bytes += requests[i].target ? strlen(requests[i].target) : 0;
		bytes += requests[i].has_content_fd ? 0 : requests[i].content_size_bytes;
		if (bytes > fs->options.request_bytes)
			return false;
	}
	return true;
}

static void run_all(struct batch *batch, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i % RUN_CHANGES == 0 && !stands(batch, i)) {
			while (++i < n)
				(void)stands(batch, i);
			break;
		}
		run_one(batch, i);
	}
	end_run(batch, n);
}

int rf_fs_batch(struct rf_fs *fs, const struct rf_fs_request *requests, size_t n,
	struct rf_fs_result *results)
{
	struct batch *batch rf_autofree = NULL;
	struct rf_fs_flow *all rf_autofree = NULL;
	size_t n_flows = n < RF_FS_IN_FLIGHT ? n : RF_FS_IN_FLIGHT;

	if (!is_within_ceilings(fs, requests, n))
		return -E2BIG;
	batch = calloc(1, sizeof(*batch));
	all = calloc(n_flows ? n_flows : 1, sizeof(*all));
	if (!batch || !all)
		return -ENOMEM;
	batch->flows = all;
	batch->fs = fs;
	batch->requests = requests;
	batch->results = results;
	batch->kind = KIND_ALONE;
	for (size_t i = n_flows; i-- > 0;) {
		batch->flows[i].next_free = batch->free;
		batch->free = &batch->flows[i];
	}
	for (size_t i = 0; i < n; i++)
		results[i] = (struct rf_fs_result){0};
	rf_fs_start(fs);
	fs->is_running = true;
	run_all(batch, n);
	fs->is_running = false;
	return 0;
}
