/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The set as it lies on the host: where it is pinned, its maps, the rings of its controllers. Used
 * by enforce/bpf*.c alone, always under the lock of the runtime directory.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/diag.h"
#include "bpf/abi.h"
#include "policy/facts.h"

/* Maps by the name of their pin; the configuration comes last, and is pinned last. */
enum rf_bpf_map {
	RF_BPF_MAP_SANDBOXES,
	RF_BPF_MAP_COUNTERS,
	RF_BPF_MAP_LABELS,
	RF_BPF_MAP_UNIX_INODES,
	RF_BPF_MAP_DESTINATIONS,
	RF_BPF_MAP_FILE_TOKENS,
	RF_BPF_MAP_FILE_MAKERS,
	RF_BPF_MAP_FILE_PLACES,
	RF_BPF_MAP_FILE_NAMES,
	RF_BPF_MAP_RINGS,
	RF_BPF_MAP_RING_OWNERS,
	RF_BPF_MAP_CONFIG,
	RF_BPF_MAPS,
};

/* "rf_sandboxes", …: in the object and in the directory alike. */
const char *rf_bpf_map_name(enum rf_bpf_map map);

struct rf_bpf_maps {
	int fds[RF_BPF_MAPS];
};

void rf_bpf_maps_init(struct rf_bpf_maps *maps);
void rf_bpf_maps_close(struct rf_bpf_maps *maps);
#define rf_autobpfmaps rf_cleanup(rf_bpf_maps_close)

#define RF_BPF_PIN_PATH_BYTES 512

struct rf_bpf_pins {
	/* Of the bpffs that is ours alone; empty when the host has one. */
	char own_mount[RF_BPF_PIN_PATH_BYTES];
	/* "…/ringfence" and "…/ringfence/v1". */
	char parent[RF_BPF_PIN_PATH_BYTES];
	char directory[RF_BPF_PIN_PATH_BYTES];
};

/*
 * Finds the host's bpffs at /sys/fs/bpf, else mounts one at RUNTIME/bpf. Makes no directory.
 * 0 or -errno.
 */
int rf_bpf_pins_find(const char *runtime_directory, struct rf_bpf_pins *ret_pins);
/* Opens a whole set: 0; -ENOENT when there is none or only a part; or -errno. */
int rf_bpf_pins_open(
	const struct rf_bpf_pins *pins, struct rf_bpf_maps *ret_maps, struct rf_config *ret_config);
/* Are these the maps that are pinned there? A set can have been replaced under its last user. */
bool rf_bpf_pins_hold(const struct rf_bpf_pins *pins, const struct rf_bpf_maps *maps);
/* Removes links in reverse, then maps and their directory. Harmless when there is nothing. */
void rf_bpf_pins_clear(const struct rf_bpf_pins *pins);
/* The same, and our own mount when no other version uses it. */
void rf_bpf_pins_remove(const struct rf_bpf_pins *pins);

/* Who lives in the set: sandboxes, and controllers (this one's own ring not counted). */
int rf_bpf_maps_is_used(
	const struct rf_bpf_maps *maps, int base_fd, uint32_t own_ring, bool *ret_is_used);

/*
 * A ring of records. Putting a new one into the map of rings costs a grace period of the kernel
 * (8 to 16 ms), so rings outlive their controllers and are used again, and a new one is put in by
 * a thread while the caller goes on: rf_bpf_ring_settle waits for it.
 */
struct rf_bpf_ring {
	int fd;
	int rings_fd;
	uint32_t id;
	bool is_settling;
	int settle_error;
	pthread_t thread;
};

int rf_bpf_ring_open(const struct rf_bpf_maps *maps, uint32_t bytes, struct rf_bpf_ring *ret_ring);
/* In two steps, for a set that is being made: a new ring on its way into this map, later claimed.
 */
int rf_bpf_ring_begin(int rings_fd, uint32_t bytes, struct rf_bpf_ring *ret_ring);
int rf_bpf_ring_claim(const struct rf_bpf_maps *maps, uint32_t ring);
int rf_bpf_ring_settle(struct rf_bpf_ring *ring);
/* Gives the ring back for others to use. */
void rf_bpf_ring_close(const struct rf_bpf_maps *maps, struct rf_bpf_ring *ring);

/* Deletes every key of a map that begins with the sandbox's identity. 0 or -errno. */
int rf_bpf_keys_remove(int map_fd, size_t key_bytes, uint64_t cgroup_id);

/* Kernel's encoding of a device number, from a stat's. */
uint32_t rf_bpf_kernel_dev(dev_t dev);

/* ---- Rules ---------------------------------------------------------------------------------- */

struct rf_bpf_rules;
/* 0, or -E2BIG: more families than there is room for. */
int rf_bpf_rules_encode(const struct rf_bpf_rules *rules, struct rf_entry *ret_sandbox);

/*
 * The destinations of the rules, for a sandbox that is not in the map of sandboxes yet; its entry
 * learns what lookups need. 0, -E2BIG, or -errno; then nothing is left of them.
 */
int rf_bpf_destinations_add(const struct rf_bpf_maps *maps, uint64_t cgroup_id,
	const struct rf_bpf_rules *rules, struct rf_entry *sandbox);
int rf_bpf_destinations_remove(const struct rf_bpf_maps *maps, uint64_t cgroup_id);

/* ---- Why not -------------------------------------------------------------------------------- */

enum rf_bpf_step {
	RF_BPF_STEP_CAPABILITY,
	RF_BPF_STEP_CGROUP,
	RF_BPF_STEP_BTF,
	RF_BPF_STEP_MOUNT,
	RF_BPF_STEP_LOAD,
	RF_BPF_STEP_ATTACH,
	RF_BPF_STEP_PIN,
	/* It was attached and did not do its work. */
	RF_BPF_STEP_CANARY,
};

/*
 * The fact "off" with cause and remedy. error: positive errno of the step, 0 when none. lsm_list:
 * /sys/kernel/security/lsm, NULL when unknown. detail: which check failed, NULL for none.
 */
void rf_bpf_explain(enum rf_proof_kind kind, enum rf_bpf_step step, int error, const char *lsm_list,
	const char *detail, struct rf_proof *ret_proof);
/* Is "bpf" one of the names in the comma-separated list? */
bool rf_bpf_lsm_is_listed(const char *lsm_list);

/* ---- Loading -------------------------------------------------------------------------------- */

#define RF_BPF_NOTHING 1

/*
 * Loads, attaches, proves and pins. 0; RF_BPF_NOTHING when no mechanism could be had (config's
 * proofs say why); or -errno. Nothing is left but after 0. The ring is opened on the new maps and
 * must not move.
 */
int rf_bpf_load(const struct rf_bpf_pins *pins, int base_fd, uint64_t base_id,
	struct rf_bpf_maps *ret_maps, struct rf_bpf_ring *ret_ring, struct rf_config *ret_config);
