/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Two back ends, chosen call by call.
 *
 * What was measured (6.18): metadata that is in memory costs 1 µs by a plain call and 2 µs through
 * the ring, which hands statx, unlinkat and fsync to a worker always; what has to wait for a disk
 * costs 100 µs by a plain call and a quarter of that through the ring, because many wait at once.
 * So nothing goes to the ring that a plain call can answer from memory:
 *
 *	open	openat2 with RESOLVE_CACHED says EAGAIN instead of waiting
 *	read	preadv2 with RWF_NOWAIT likewise
 *	stat, unlink   no such flag: their time is taken. After one that waited, the next is looked
 *		up with RESOLVE_CACHED: not in memory, it and some more go to the ring
 *	fsync	waits always
 *
 * Chains that the kernel runs (openat2 into a slot of the ring, read, close, hard-linked) were
 * tried and are not used, because the guard stands between their links:
 *
 *	before open	statx says what the name is. Opening a fifo lets its writer go on, opening
 *			a device does what its driver likes: a raw effect (E1). A link cannot
 *			depend on what statx found, only on whether it failed.
 *	before read	the file itself is asked for its type, its links and its name (FS3). A
 *			slot cannot be: IORING_OP_STATX answers EBADF to it, /proc does not list
 *			it, and making a descriptor of it (6.8) is a step that had to come first.
 *
 * Nor is there much to gain. Cold, a file waits twice, for its inode and for its content, in a
 * chain or not: once statx came back openat2 finds everything in memory, and both waits are in the
 * ring with those of 127 others. The chain without any guard took 1.08 times as long as the batch.
 * Hot, it took 0.6 of the processor's time, and so did plain calls without a guard: what is saved
 * is the guard. (tools/bench/fs has the chain as a row.)
 *
 * Registered buffers spare what direct I/O pays to pin pages. Content here is copied out of the
 * page cache straight into the result that the caller keeps; through a registered buffer it would
 * be copied twice.
 *
 * A ring that is refused, dies, or belongs to another thread leaves plain calls. The calls are the
 * same, so are the results.
 */

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "fs/inside.h"

/* A call that took longer waited for something. */
#define COLD_NS 25000ULL
/* Calls of a kind that go to the ring before one is tried in memory again. */
#define COLD_CALLS 32U
/* io-wq workers for each of the caller's CPUs: they wait, they do not compute. */
#define WORKERS_PER_CPU 4U
/* Completions that are waited for together. */
#define WAIT_FOR 8U

enum ring_state { RING_UNTRIED, RING_READY, RING_NONE };

struct rf_fs_engine_state {
	enum ring_state state;
	struct io_uring ring;
	unsigned int workers;
	pid_t thread;
	const char *why;
	char why_text[48];
	bool is_made; /* there is a ring to tear down, whether it serves or not */
	bool has_openat2;
	bool has_cached;
	bool has_nowait;
	/* Calls that go to the ring before the next try, by kind. */
	unsigned int cold[RF_FS_CALLS_];
	unsigned int in_flight;
	/* Prepared in the ring, not taken by the kernel; and done without it. */
	struct rf_fs_call *queued;
	struct rf_fs_call **queued_end;
	struct rf_fs_call *done;
};

/* ---- plain calls --------------------------------------------------------------------------- */

static int plain_open(const struct rf_fs_call *call, uint64_t more)
{
	struct open_how how = call->how;
	long fd;

	how.resolve |= more;
	do {
		fd = syscall(SYS_openat2, call->fd, call->name, &how, sizeof(how));
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : (int)fd;
}

static int plain_read(const struct rf_fs_call *call, int flags)
{
	struct iovec range = {call->range.data, call->range.size_bytes};
	ssize_t size;

	do {
		size = flags ? preadv2(call->fd, &range, 1, (off_t)call->range.offset, flags)
			     : pread(call->fd, range.iov_base, range.iov_len,
				       (off_t)call->range.offset);
	} while (size < 0 && errno == EINTR);
	return size < 0 ? -errno : (int)size;
}

static int plain(const struct rf_fs_call *call)
{
	int r = 0;

	switch (call->kind) {
	case RF_FS_CALL_OPEN:
		return plain_open(call, 0);
	case RF_FS_CALL_STAT:
		return rf_fs_statx(call->fd, call->name, call->statx);
	case RF_FS_CALL_READ:
		return plain_read(call, 0);
	case RF_FS_CALL_FSYNC:
		r = fsync(call->fd);
		break;
	case RF_FS_CALL_UNLINK:
		r = unlinkat(call->fd, call->name, call->at_flags);
		break;
	case RF_FS_CALLS_:
		return -EINVAL;
	}
	return r < 0 ? -errno : 0;
}

/* ---- the ring ------------------------------------------------------------------------------ */

static int say_why(struct rf_fs_engine_state *engine, const char *call, int error)
{
	(void)snprintf(engine->why_text, sizeof(engine->why_text), "%s: %s", call,
		rf_fs_errno_name(error));
	engine->why = engine->why_text;
	engine->state = RING_NONE;
	return -error;
}

/* Newer set-up flags first; each older kernel answers EINVAL to what it does not know. */
static int set_up(struct rf_fs_engine_state *engine)
{
	static const unsigned int flags[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN,
		IORING_SETUP_COOP_TASKRUN,
		0,
	};
	int r = -EINVAL;

	for (size_t i = 0; i < RF_ARRAY_SIZE(flags) && r == -EINVAL; i++)
		r = io_uring_queue_init(
			RF_FS_IN_FLIGHT, &engine->ring, flags[i] | IORING_SETUP_CLAMP);
	return r;
}

/* A filter may let the ring be made and refuse its use. */
static int try_ring(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe = NULL;
	int r;

	if (!sqe)
		return -EAGAIN;
	io_uring_prep_nop(sqe);
	r = io_uring_submit_and_wait(ring, 1);
	if (r < 0)
		return r;
	r = io_uring_peek_cqe(ring, &cqe);
	if (r < 0)
		return r;
	r = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return r;
}

static bool has_operations(struct io_uring *ring)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
	bool has = probe && io_uring_opcode_supported(probe, IORING_OP_OPENAT2) &&
		   io_uring_opcode_supported(probe, IORING_OP_STATX) &&
		   io_uring_opcode_supported(probe, IORING_OP_READ) &&
		   io_uring_opcode_supported(probe, IORING_OP_UNLINKAT);

	if (probe)
		io_uring_free_probe(probe);
	return has;
}

static void make_ring(struct rf_fs_engine_state *engine)
{
	unsigned int workers[2] = {engine->workers, 0};
	int r = set_up(engine);

	if (r < 0) {
		say_why(engine, "io_uring_setup", -r);
		return;
	}
	r = try_ring(&engine->ring);
	if (r >= 0 && !has_operations(&engine->ring))
		r = -EOPNOTSUPP;
	if (r < 0) {
		say_why(engine, "io_uring_enter", -r);
		io_uring_queue_exit(&engine->ring);
		return;
	}
	/* 5.15; an older one bounds them by the ring's size and the CPUs. */
	(void)io_uring_register_iowq_max_workers(&engine->ring, workers);
	engine->thread = gettid();
	engine->is_made = true;
	engine->state = RING_READY;
}

static bool has_ring(struct rf_fs_engine_state *engine)
{
	if (engine->state == RING_UNTRIED)
		make_ring(engine);
	return engine->state == RING_READY;
}

/* A ring of a single issuer serves the thread that made it. */
void rf_fs_engine_enter(struct rf_fs_engine_state *engine)
{
	if (engine->state == RING_READY && engine->thread != gettid() && engine->in_flight == 0) {
		io_uring_queue_exit(&engine->ring);
		engine->is_made = false;
		engine->state = RING_UNTRIED;
	}
}

static void prepare(struct io_uring_sqe *sqe, struct rf_fs_call *call)
{
	switch (call->kind) {
	case RF_FS_CALL_OPEN:
		io_uring_prep_openat2(sqe, call->fd, call->name, &call->how);
		break;
	case RF_FS_CALL_STAT:
		io_uring_prep_statx(sqe, call->fd, call->name,
			AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
			STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID, call->statx);
		break;
	case RF_FS_CALL_READ:
		io_uring_prep_read(sqe, call->fd, call->range.data,
			(unsigned int)call->range.size_bytes, call->range.offset);
		break;
	case RF_FS_CALL_FSYNC:
		io_uring_prep_fsync(sqe, call->fd, 0);
		break;
	case RF_FS_CALL_UNLINK:
		io_uring_prep_unlinkat(sqe, call->fd, call->name, call->at_flags);
		break;
	case RF_FS_CALLS_:
		break;
	}
	/* Opening was tried in memory already: straight to a worker. Reads wait without one. */
	io_uring_sqe_set_flags(sqe, call->kind == RF_FS_CALL_READ ? 0 : IOSQE_ASYNC);
	io_uring_sqe_set_data(sqe, call);
}

static bool hand_over(struct rf_fs_engine_state *engine, struct rf_fs_call *call)
{
	struct io_uring_sqe *sqe;

	if (engine->in_flight >= RF_FS_IN_FLIGHT || !has_ring(engine))
		return false;
	sqe = io_uring_get_sqe(&engine->ring);
	if (!sqe)
		return false;
	prepare(sqe, call);
	call->next = NULL;
	*engine->queued_end = call;
	engine->queued_end = &call->next;
	engine->in_flight++;
	return true;
}

/* ---- choosing ------------------------------------------------------------------------------ */

/* true: answered from memory (or refused from there). */
static bool open_from_memory(struct rf_fs_engine_state *engine, struct rf_fs_call *call)
{
	if (!engine->has_cached || call->how.flags & (O_CREAT | O_TRUNC))
		return false;
	call->result = plain_open(call, RESOLVE_CACHED);
	if (call->result == -EINVAL)
		engine->has_cached = false; /* before 5.12 */
	return call->result != -EAGAIN && call->result != -EINVAL;
}

static bool read_from_memory(struct rf_fs_engine_state *engine, struct rf_fs_call *call)
{
	if (!engine->has_nowait)
		return false;
	call->result = plain_read(call, RWF_NOWAIT);
	if (call->result == -EOPNOTSUPP)
		engine->has_nowait = false; /* such a filesystem */
	return call->result != -EAGAIN && call->result != -EOPNOTSUPP;
}

/* Does the name stand in memory? */
static bool is_cached(const struct rf_fs_engine_state *engine, const struct rf_fs_call *call)
{
	struct rf_fs_call look = {
		.fd = call->fd,
		.name = call->name,
		.how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
			.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS},
	};
	int fd;

	if (!engine->has_cached)
		return true;
	fd = plain_open(&look, RESOLVE_CACHED);
	if (fd >= 0)
		rf_close(fd);
	return fd != -EAGAIN;
}

static void plain_timed(struct rf_fs_engine_state *engine, struct rf_fs_call *call)
{
	uint64_t start_ns = rf_monotonic_ns();

	call->result = plain(call);
	if (rf_monotonic_ns() - start_ns > COLD_NS && engine->cold[call->kind] == 0)
		engine->cold[call->kind] = 1;
}

/* For kinds that cannot say that they would wait. */
static bool goes_to_ring(struct rf_fs_engine_state *engine, const struct rf_fs_call *call)
{
	unsigned int *cold = &engine->cold[call->kind];

	if (*cold == 0)
		return false;
	/* The processor may have been taken away, and the disk not asked. */
	if (--*cold > 0)
		return true;
	if (is_cached(engine, call))
		return false;
	*cold = COLD_CALLS;
	return true;
}

bool rf_fs_engine_issue(struct rf_fs_engine_state *engine, struct rf_fs_call *call)
{
	if (engine->state == RING_NONE) {
		call->result = plain(call);
		return true;
	}
	switch (call->kind) {
	case RF_FS_CALL_OPEN:
		if (open_from_memory(engine, call))
			return true;
		if (!engine->has_cached || call->how.flags & (O_CREAT | O_TRUNC) ||
			!engine->has_openat2)
			break;
		if (hand_over(engine, call))
			return false;
		break;
	case RF_FS_CALL_READ:
		if (read_from_memory(engine, call))
			return true;
		if (hand_over(engine, call))
			return false;
		break;
	case RF_FS_CALL_FSYNC:
		if (hand_over(engine, call))
			return false;
		break;
	case RF_FS_CALL_STAT:
	case RF_FS_CALL_UNLINK:
		if ((call->waits || goes_to_ring(engine, call)) && hand_over(engine, call))
			return false;
		plain_timed(engine, call);
		return true;
	case RF_FS_CALLS_:
		break;
	}
	call->result = plain(call);
	return true;
}

/* ---- waiting ------------------------------------------------------------------------------- */

static void taken(struct rf_fs_engine_state *engine, unsigned int count)
{
	while (count-- > 0 && engine->queued)
		engine->queued = engine->queued->next;
	if (!engine->queued)
		engine->queued_end = &engine->queued;
}

/* The kernel takes no more: what it did not take is done here. */
static void fall_back(struct rf_fs_engine_state *engine, int error)
{
	struct rf_fs_call *call = engine->queued;

	say_why(engine, "io_uring_enter", error);
	engine->queued = NULL;
	engine->queued_end = &engine->queued;
	while (call) {
		struct rf_fs_call *next = call->next;

		call->result = plain(call);
		call->next = engine->done;
		engine->done = call;
		call = next;
	}
}

static struct rf_fs_call *pop_completion(struct rf_fs_engine_state *engine)
{
	struct io_uring_cqe *cqe = NULL;
	struct rf_fs_call *call;

	if (io_uring_peek_cqe(&engine->ring, &cqe) < 0 || !cqe)
		return NULL;
	call = io_uring_cqe_get_data(cqe);
	call->result = cqe->res;
	io_uring_cqe_seen(&engine->ring, cqe);
	return call;
}

/* A worker can be interrupted, or find the ring short of memory: then the plain call. */
static void mend(struct rf_fs_call *call)
{
	if (call->result == -EINTR || call->result == -EAGAIN || call->result == -ECANCELED)
		call->result = plain(call);
}

struct rf_fs_call *rf_fs_engine_next(struct rf_fs_engine_state *engine)
{
	struct rf_fs_call *call = engine->done;

	if (call)
		engine->done = call->next;
	else if (engine->in_flight > 0)
		call = pop_completion(engine);
	if (!call)
		return NULL;
	engine->in_flight--;
	mend(call);
	return call;
}

struct rf_fs_call *rf_fs_engine_wait(struct rf_fs_engine_state *engine)
{
	while (engine->in_flight > 0) {
		/* Where many are out, a few at a time. */
		unsigned int enough = engine->in_flight >= RF_FS_IN_FLIGHT / 2 ? WAIT_FOR : 1;
		struct rf_fs_call *call = NULL;
		int r;

		if (!engine->queued || engine->done)
			call = rf_fs_engine_next(engine);
		if (call)
			return call;
		r = io_uring_submit_and_wait(&engine->ring, enough);
		if (r >= 0)
			taken(engine, (unsigned int)r);
		else if (r != -EINTR && r != -EAGAIN && r != -EBUSY && engine->queued)
			fall_back(engine, -r);
		call = rf_fs_engine_next(engine);
		if (call)
			return call;
	}
	return NULL;
}

unsigned int rf_fs_engine_in_flight(const struct rf_fs_engine_state *engine)
{
	return engine->in_flight;
}

void rf_fs_engine_note_cold(struct rf_fs_engine_state *engine, enum rf_fs_call_kind kind)
{
	if (engine->cold[kind] == 0)
		engine->cold[kind] = 1;
}

bool rf_fs_engine_is_cold(const struct rf_fs_engine_state *engine, enum rf_fs_call_kind kind)
{
	return engine->cold[kind] > 0 && engine->state != RING_NONE;
}

/* ---- making -------------------------------------------------------------------------------- */

int rf_fs_engine_new(struct rf_fs_engine_state **ret, enum rf_fs_engine wanted,
	unsigned int concurrency, bool has_openat2)
{
	struct rf_fs_engine_state *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return -ENOMEM;
	engine->queued_end = &engine->queued;
	engine->workers = concurrency * WORKERS_PER_CPU;
	engine->has_openat2 = has_openat2;
	engine->has_cached = has_openat2;
	engine->has_nowait = true;
	if (wanted == RF_FS_ENGINE_PLAIN) {
		engine->state = RING_NONE;
		engine->why = "asked for";
	}
	*ret = engine;
	return 0;
}

struct rf_fs_engine_state *rf_fs_engine_drop(struct rf_fs_engine_state *engine)
{
	if (!engine)
		return NULL;
	while (rf_fs_engine_wait(engine))
		continue;
	if (engine->is_made)
		io_uring_queue_exit(&engine->ring);
	free(engine);
	return NULL;
}

enum rf_fs_engine rf_fs_engine_kind(struct rf_fs_engine_state *engine, const char **ret_why)
{
	bool is_ring;

	rf_fs_engine_enter(engine);
	is_ring = has_ring(engine);

	if (ret_why)
		*ret_why = is_ring ? NULL : engine->why;
	return is_ring ? RF_FS_ENGINE_URING : RF_FS_ENGINE_PLAIN;
}
