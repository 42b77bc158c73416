/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RF_BPF_MAPS_H
#define RF_BPF_MAPS_H

/*
 * The maps, weak so that each object can name them and the linker keeps one. All are pinned with
 * the set. Sizes are what the whole host gets; ceilings per user are the controllers'.
 */

#include "bpf/abi.h"
#include "bpf/kernel.h"

/* Key: cgroup id of the sandbox's leaf. Preallocated: a rule never waits for memory. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RF_SANDBOXES_MAX);
	__type(key, __u64);
	__type(value, struct rf_entry);
} rf_sandboxes __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RF_SANDBOXES_MAX);
	__type(key, __u64);
	__type(value, struct rf_counters);
} rf_counters __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rf_label);
} rf_labels __weak SEC(".maps");

/* The sandbox that made a socket. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rf_label);
} rf_sockets __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RF_UNIX_INODES_MAX);
	__type(key, struct rf_unix_key);
	__type(value, __u8);
} rf_unix_inodes __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RF_DESTINATIONS_MAX);
	__type(key, struct rf_destination_key);
	__type(value, __u32);
} rf_destinations __weak SEC(".maps");

/* The sandbox whose member bound a socket to the loopback; 0: somebody else did since. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rf_label);
} rf_bound __weak SEC(".maps");

/* What is known of an inode; see struct rf_token. */
struct {
	__uint(type, BPF_MAP_TYPE_INODE_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rf_token);
} rf_file_tokens __weak SEC(".maps");

/* The sandbox that made a file in a directory with RF_FILE_LISTED. */
struct {
	__uint(type, BPF_MAP_TYPE_INODE_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rf_label);
} rf_file_makers __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RF_FILE_PLACES_MAX);
	__type(key, struct rf_place_key);
	__type(value, __u32);
} rf_file_places __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RF_FILE_NAMES_MAX);
	__type(key, struct rf_name_key);
	__type(value, __u32);
} rf_file_names __weak SEC(".maps");

struct rf_ring_template {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RF_RING_DEFAULT_BYTES);
};

/* One ring has one reader, so every controller brings its own; key: the ring's own map id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, RF_RINGS_MAX);
	__type(key, __u32);
	__array(values, struct rf_ring_template);
} rf_rings __weak SEC(".maps");

/* Read by controllers alone: whose ring, hence who uses this set. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RF_RINGS_MAX);
	__type(key, __u32);
	__type(value, struct rf_ring_owner);
} rf_ring_owners __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rf_config);
} rf_config __weak SEC(".maps");

/* Level of every sandbox's leaf, measured before anything is attached. Until then nobody is in a
 * sandbox: no cgroup lies that deep. */
#define RF_DEPTH_UNKNOWN 0x7fffffffU
__u32 rf_leaf_depth __weak = RF_DEPTH_UNKNOWN;
/* The cgroup that every leaf lies in, directly; set before loading. */
__u64 rf_base_id __weak;

#endif
