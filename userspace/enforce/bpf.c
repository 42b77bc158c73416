/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What a controller does with the host's one set of programs.
 *
 *	acquire:  lock -> whole set pinned here? -> open it        (well under a millisecond)
 *	                  else load, attach, prove, pin            (some tens)
 *	          claim a ring -> unlock
 *	release:  lock -> give the ring back -> nobody left? unpin all -> unlock
 *
 * The lock is taken for these alone; a set in use has a sandbox or a ring with a living owner, so
 * nobody takes it away under another. Sandboxes survive their controller: their rules are in the
 * maps and the maps are pinned.
 */

#include "enforce/bpf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "enforce/bpf_files.h"
#include "enforce/bpf_set.h"

struct rf_bpf {
	int base_fd; /* borrowed from the host's cgroups, which outlive this */
	char lock_path[RF_BPF_PIN_PATH_BYTES];
	struct rf_bpf_pins pins;
	struct rf_bpf_maps maps;
	struct rf_bpf_ring ring;
	struct ring_buffer *reader;
	rf_bpf_record_fn callback;
	void *userdata;
};

static void fill_fact(const struct rf_proof *proof, struct rf_fact *fact)
{
	fact->state = (enum rf_state)proof->state;
	snprintf(fact->why, sizeof(fact->why), "%s", proof->why);
	snprintf(fact->remedy, sizeof(fact->remedy), "%s", proof->remedy);
}

static void fill_facts(const struct rf_config *config, struct rf_fact facts[RF_MECHANISMS],
	struct rf_fact *file_hooks)
{
	fill_fact(&config->proofs[RF_PROOF_LSM], &facts[RF_MECHANISM_BPF_LSM]);
	fill_fact(&config->proofs[RF_PROOF_CGROUP], &facts[RF_MECHANISM_BPF_CGROUP]);
	fill_fact(&config->proofs[RF_PROOF_TRACE], &facts[RF_MECHANISM_BPF_TRACE]);
	fill_fact(&config->proofs[RF_PROOF_FILES], file_hooks);
}

static void fill_off(enum rf_bpf_step step, int error, struct rf_fact facts[RF_MECHANISMS],
	struct rf_fact *file_hooks)
{
	struct rf_config config = {0};

	for (int i = 0; i < RF_PROOFS; i++)
		rf_bpf_explain((enum rf_proof_kind)i, step, error, NULL, NULL, &config.proofs[i]);
	fill_facts(&config, facts, file_hooks);
}

static bool has_capability(cap_t caps, cap_value_t capability)
{
	cap_flag_value_t value = CAP_CLEAR;

	return cap_get_flag(caps, capability, CAP_EFFECTIVE, &value) == 0 && value == CAP_SET;
}

/* Tracing and LSM programs, and maps found by id. */
static bool may_load(void)
{
	cap_t caps = cap_get_proc();
	bool may = caps && has_capability(caps, CAP_SYS_ADMIN);

	if (caps)
		cap_free(caps);
	return may && geteuid() == 0;
}

static int lock_host(const char *path)
{
	int fd rf_autoclose = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return RF_TAKE_FD(fd);
}

static int on_record(void *context, void *data, size_t size_bytes)
{
	struct rf_bpf *bpf = context;

	if (bpf->callback)
		bpf->callback(data, size_bytes, bpf->userdata);
	return 0;
}

/* A ring that had another owner can hold records of sandboxes that are gone. */
static int open_reader(struct rf_bpf *bpf)
{
	bpf->reader = ring_buffer__new(bpf->ring.fd, on_record, bpf, NULL);
	if (!bpf->reader)
		return errno ? -errno : -EIO;
	ring_buffer__consume(bpf->reader);
	return 0;
}

/* A set for another base: its programs judge by another depth, and its floor hangs elsewhere. */
static int refuse_base(const struct rf_config *config, struct rf_diag *diag)
{
	rf_diag_refuse(diag, "bpf-base-busy",
		"other sandboxes of this host live below another cgroup (id %llu)",
		(unsigned long long)config->base);
	rf_diag_hint(diag, "end them with `ringfence kill`, or use the same cgroup base");
	rf_diag_mechanism(diag, "bpf-lsm", "one cgroup base for the whole host");
	return -EBUSY;
}

/* 0: opened; -ENOENT: there is none (any more). */
static int open_existing(
	struct rf_bpf *bpf, uint64_t base_id, struct rf_config *ret_config, struct rf_diag *diag)
{
	bool is_used = false;
	int r = rf_bpf_pins_open(&bpf->pins, &bpf->maps, ret_config);

	/* A part of a set is a leftover: its loader died half way, nobody can use it. */
	if (r == -ENOENT)
		rf_bpf_pins_clear(&bpf->pins);
	if (r < 0)
		return r;
	if (ret_config->base != base_id) {
		r = rf_bpf_maps_is_used(&bpf->maps, bpf->base_fd, 0, &is_used);
		if (r < 0)
			return r;
		if (is_used)
			return refuse_base(ret_config, diag);
		rf_bpf_maps_close(&bpf->maps);
		rf_bpf_pins_clear(&bpf->pins);
		return -ENOENT;
	}
	return rf_bpf_ring_open(&bpf->maps, RF_RING_DEFAULT_BYTES, &bpf->ring);
}

static int new_handle(const char *runtime_directory, int base_fd, struct rf_bpf **ret_bpf)
{
	struct rf_bpf *bpf = calloc(1, sizeof(*bpf));
	int n;

	if (!bpf)
		return -ENOMEM;
	rf_bpf_maps_init(&bpf->maps);
	bpf->ring.fd = -1;
	bpf->base_fd = base_fd;
	n = snprintf(bpf->lock_path, sizeof(bpf->lock_path), "%s/bpf.lock", runtime_directory);
	if (n < 0 || (size_t)n >= sizeof(bpf->lock_path)) {
		free(bpf);
		return -ENAMETOOLONG;
	}
	*ret_bpf = bpf;
	return 0;
}

static struct rf_bpf *free_handle(struct rf_bpf *bpf)
{
	if (!bpf)
		return NULL;
	ring_buffer__free(bpf->reader);
	rf_bpf_ring_close(&bpf->maps, &bpf->ring);
	rf_bpf_maps_close(&bpf->maps);
	free(bpf);
	return NULL;
}

static void free_handle_p(struct rf_bpf **bpf)
{
	*bpf = free_handle(*bpf);
}

static int refuse_set(int error, struct rf_diag *diag)
{
	if (rf_diag_is_set(diag))
		return error;
	rf_diag_refuse(diag, "bpf-set", "the host's set of BPF programs cannot be used: %s",
		strerrorname_np(-error) ? strerrorname_np(-error) : "unknown error");
	rf_diag_hint(diag, "`ringfence doctor` shows more; `ringfence sweep` removes leftovers");
	rf_diag_mechanism(diag, "bpf-lsm", "the pinned set");
	return error;
}

/* A mount that was made for a set which then could not be had. */
static void remove_unused(const struct rf_bpf_pins *pins)
{
	if (access(pins->directory, F_OK) < 0)
		rf_bpf_pins_remove(pins);
}

int rf_bpf_acquire(const char *runtime_directory, int base_fd, uint64_t base_id,
	struct rf_fact ret_facts[RF_MECHANISMS], struct rf_fact *ret_file_hooks,
	struct rf_bpf **ret_bpf, struct rf_diag *diag)
{
	struct rf_bpf *bpf rf_cleanup(free_handle_p) = NULL;
	struct rf_config config = {0};
	int lock rf_autoclose = -1;
	int r;

	if (!may_load() || base_fd < 0) {
		fill_off(base_fd < 0 && may_load() ? RF_BPF_STEP_CGROUP : RF_BPF_STEP_CAPABILITY, 0,
			ret_facts, ret_file_hooks);
		*ret_bpf = NULL;
		return 0;
	}
	r = new_handle(runtime_directory, base_fd, &bpf);
	if (r < 0)
		return r;
	lock = lock_host(bpf->lock_path);
	if (lock < 0)
		return lock;
	r = rf_bpf_pins_find(runtime_directory, &bpf->pins);
	if (r < 0) {
		fill_off(RF_BPF_STEP_MOUNT, -r, ret_facts, ret_file_hooks);
		*ret_bpf = NULL;
		return 0;
	}
	r = open_existing(bpf, base_id, &config, diag);
	if (r == -ENOENT)
		r = rf_bpf_load(&bpf->pins, base_fd, base_id, &bpf->maps, &bpf->ring, &config);
	if (r != 0)
		remove_unused(&bpf->pins);
	if (r == 0)
		r = open_reader(bpf);
	if (r == -EPERM || r == -EACCES) {
		/* Root of a container: the capability counts here, not there. */
		fill_off(RF_BPF_STEP_CAPABILITY, 0, ret_facts, ret_file_hooks);
		*ret_bpf = NULL;
		return 0;
	}
	if (r < 0)
		return refuse_set(r, diag);
	fill_facts(&config, ret_facts, ret_file_hooks);
	*ret_bpf = r == RF_BPF_NOTHING ? NULL : RF_TAKE(bpf);
	return 0;
}

struct rf_bpf *rf_bpf_release(struct rf_bpf *bpf)
{
	int lock rf_autoclose = -1;
	bool is_used = true;

	if (!bpf)
		return NULL;
	/* Without the lock the set stays, and the next controller finds it unused. */
	lock = lock_host(bpf->lock_path);
	if (lock >= 0 && rf_bpf_pins_hold(&bpf->pins, &bpf->maps) &&
		rf_bpf_maps_is_used(&bpf->maps, bpf->base_fd, bpf->ring.id, &is_used) == 0 &&
		!is_used)
		rf_bpf_pins_remove(&bpf->pins);
	return free_handle(bpf);
}

/* ---- Sandboxes ------------------------------------------------------------------------------ */

static int map_of(const struct rf_bpf *bpf, enum rf_bpf_map map)
{
	return bpf->maps.fds[map];
}

int rf_bpf_sandbox_add(struct rf_bpf *bpf, uint64_t cgroup_id, const struct rf_bpf_rules *rules)
{
	struct rf_counters counters = {0};
	struct rf_entry sandbox;
	int r = rf_bpf_rules_encode(rules, &sandbox);

	if (r < 0)
		return r;
	sandbox.ring = bpf->ring.id;
	r = rf_bpf_destinations_add(&bpf->maps, cgroup_id, rules, &sandbox);
	if (r < 0)
		return r;
	if (bpf_map_update_elem(map_of(bpf, RF_BPF_MAP_COUNTERS), &cgroup_id, &counters, BPF_ANY) <
		0)
		r = -errno;
	if (r == 0 && bpf_map_update_elem(map_of(bpf, RF_BPF_MAP_SANDBOXES), &cgroup_id, &sandbox,
			      BPF_NOEXIST) < 0) {
		r = -errno;
		bpf_map_delete_elem(map_of(bpf, RF_BPF_MAP_COUNTERS), &cgroup_id);
	}
	if (r < 0 && sandbox.flags & RF_RULE_DESTINATIONS)
		(void)rf_bpf_destinations_remove(&bpf->maps, cgroup_id);
	return r;
}

int rf_bpf_label(struct rf_bpf *bpf, int pidfd, uint64_t cgroup_id)
{
	struct rf_label label = {.sandbox = cgroup_id};

	if (bpf_map_update_elem(map_of(bpf, RF_BPF_MAP_LABELS), &pidfd, &label, BPF_ANY) < 0)
		return -errno;
	return 0;
}

/* One writer: the sandbox's controller. */
static int change_sandbox(struct rf_bpf *bpf, uint64_t cgroup_id, const uint32_t *state,
	const uint32_t *ring, uint32_t flags_off)
{
	int fd = map_of(bpf, RF_BPF_MAP_SANDBOXES);
	struct rf_entry sandbox;

	if (bpf_map_lookup_elem(fd, &cgroup_id, &sandbox) < 0)
		return -errno;
	sandbox.state = state ? *state : sandbox.state;
	sandbox.ring = ring ? *ring : sandbox.ring;
	sandbox.flags &= ~flags_off;
	return bpf_map_update_elem(fd, &cgroup_id, &sandbox, BPF_EXIST) < 0 ? -errno : 0;
}

int rf_bpf_arm(struct rf_bpf *bpf, uint64_t cgroup_id)
{
	uint32_t armed = RF_ENTRY_ARMED;
	int r = rf_bpf_ring_settle(&bpf->ring);

	return r < 0 ? r : change_sandbox(bpf, cgroup_id, &armed, NULL, 0);
}

int rf_bpf_sandbox_take(struct rf_bpf *bpf, uint64_t cgroup_id)
{
	int r = rf_bpf_ring_settle(&bpf->ring);

	return r < 0 ? r : change_sandbox(bpf, cgroup_id, NULL, &bpf->ring.id, RF_RULE_UNFOLLOWED);
}

int rf_bpf_sandbox_follow(struct rf_bpf *bpf, uint64_t cgroup_id)
{
	return change_sandbox(bpf, cgroup_id, NULL, NULL, RF_RULE_UNFOLLOWED);
}

int rf_bpf_counts(struct rf_bpf *bpf, uint64_t cgroup_id, struct rf_bpf_counts *ret_counts)
{
	struct rf_counters counters;
	struct rf_bpf_counts counts;

	if (bpf_map_lookup_elem(map_of(bpf, RF_BPF_MAP_COUNTERS), &cgroup_id, &counters) < 0)
		return -errno;
	counts = (struct rf_bpf_counts){
		.execs = counters.execs,
		.forks = counters.forks,
		.exits = counters.exits,
		.denials = counters.denials,
		.escapes = counters.escapes,
	};
	for (size_t i = 0; i < RF_LOST_CAUSES; i++)
		counts.lost += counters.lost[i];
	*ret_counts = counts;
	return 0;
}

int rf_bpf_sandbox_remove(struct rf_bpf *bpf, uint64_t cgroup_id)
{
	int fd = map_of(bpf, RF_BPF_MAP_SANDBOXES);
	struct rf_entry sandbox;
	int r = 0;

	if (bpf_map_lookup_elem(fd, &cgroup_id, &sandbox) < 0)
		return -errno;
	if (bpf_map_delete_elem(fd, &cgroup_id) < 0)
		return -errno;
	if (sandbox.flags & RF_RULE_UNIX_INODES)
		r = rf_bpf_keys_remove(
			map_of(bpf, RF_BPF_MAP_UNIX_INODES), sizeof(struct rf_unix_key), cgroup_id);
	if (sandbox.flags & RF_RULE_DESTINATIONS && r == 0)
		r = rf_bpf_destinations_remove(&bpf->maps, cgroup_id);
	if (sandbox.flags & RF_RULE_FILES && r == 0)
		r = rf_bpf_files_remove(&bpf->maps, cgroup_id);
	if (bpf_map_delete_elem(map_of(bpf, RF_BPF_MAP_COUNTERS), &cgroup_id) < 0 && r == 0)
		r = -errno;
	return r;
}

int rf_bpf_sandbox_allow_unix(struct rf_bpf *bpf, uint64_t cgroup_id, dev_t dev, ino_t ino)
{
	struct rf_unix_key key = {.sandbox = cgroup_id, .ino = ino, .dev = rf_bpf_kernel_dev(dev)};
	int fd = map_of(bpf, RF_BPF_MAP_SANDBOXES);
	struct rf_entry sandbox;
	uint8_t one = 1;

	if (bpf_map_lookup_elem(fd, &cgroup_id, &sandbox) < 0)
		return -errno;
	/* The flag first: it is what makes remove look for the keys. */
	sandbox.flags |= RF_RULE_UNIX_INODES;
	if (bpf_map_update_elem(fd, &cgroup_id, &sandbox, BPF_EXIST) < 0)
		return -errno;
	if (bpf_map_update_elem(map_of(bpf, RF_BPF_MAP_UNIX_INODES), &key, &one, BPF_ANY) < 0)
		return -errno;
	return 0;
}

static int set_flags(struct rf_bpf *bpf, uint64_t cgroup_id, uint32_t flags)
{
	int fd = map_of(bpf, RF_BPF_MAP_SANDBOXES);
	struct rf_entry sandbox;

	if (bpf_map_lookup_elem(fd, &cgroup_id, &sandbox) < 0)
		return -errno;
	if ((sandbox.flags & flags) == flags)
		return 0;
	sandbox.flags |= flags;
	return bpf_map_update_elem(fd, &cgroup_id, &sandbox, BPF_EXIST) < 0 ? -errno : 0;
}

/* The flag first, for both: it is what makes remove look for the keys. */
int rf_bpf_sandbox_add_place(
	struct rf_bpf *bpf, uint64_t cgroup_id, int fd, uint32_t places, uint64_t *ret_token)
{
	uint32_t flags = 0;
	int r;

	flags |= places & RF_PLACE_CLOSED ? RF_FILE_CLOSED : 0;
	flags |= places & RF_PLACE_READ_ONLY ? RF_FILE_READ_ONLY : 0;
	flags |= places & RF_PLACE_OPEN ? RF_FILE_OPEN : 0;
	flags |= places & RF_PLACE_PINNED ? RF_FILE_PINNED : 0;
	flags |= places & RF_PLACE_NAMES ? RF_FILE_NAMES : 0;
	flags |= places & RF_PLACE_LISTED ? RF_FILE_LISTED : 0;
	r = set_flags(bpf, cgroup_id, rf_bpf_files_flags(flags, 0));
	return r < 0 ? r : rf_bpf_files_place(&bpf->maps, cgroup_id, fd, flags, ret_token);
}

int rf_bpf_sandbox_add_name(
	struct rf_bpf *bpf, uint64_t cgroup_id, uint64_t token, const char *name, uint32_t places)
{
	uint32_t flags = 0;
	int r;

	flags |= places & RF_PLACE_CLOSED ? RF_NAME_CLOSED : 0;
	flags |= places & RF_PLACE_READ_ONLY ? RF_NAME_READ_ONLY : 0;
	flags |= places & RF_PLACE_OPEN ? RF_NAME_OPEN : 0;
	r = set_flags(bpf, cgroup_id, rf_bpf_files_flags(0, flags));
	return r < 0 ? r : rf_bpf_files_name(&bpf->maps, cgroup_id, token, name, flags);
}

int rf_bpf_sandbox_list(struct rf_bpf *bpf, uint64_t *ids, size_t max, size_t *ret_n)
{
	uint64_t id, *last = NULL;
	size_t n = 0;

	while (bpf_map_get_next_key(map_of(bpf, RF_BPF_MAP_SANDBOXES), last, &id) == 0) {
		last = &id;
		if (n < max)
			ids[n] = id;
		n++;
	}
	if (errno != ENOENT)
		return -errno;
	*ret_n = n;
	return 0;
}

/* ---- Records -------------------------------------------------------------------------------- */

int rf_bpf_events_fd(struct rf_bpf *bpf)
{
	return ring_buffer__epoll_fd(bpf->reader);
}

int rf_bpf_events_consume(struct rf_bpf *bpf, rf_bpf_record_fn callback, void *userdata)
{
	int n;

	bpf->callback = callback;
	bpf->userdata = userdata;
	n = ring_buffer__consume(bpf->reader);
	bpf->callback = NULL;
	return n;
}
