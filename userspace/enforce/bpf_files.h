/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* File rules in the maps. Used by enforce/bpf*.c alone. */

#include <stdint.h>

#include "enforce/bpf_set.h"

/*
 * The rule (RF_FILE_…, bpf/abi.h) of what fd, O_PATH too, is open on; a second one at the same
 * place adds its flags. *ret_token names the place in the other map and in records. It holds while
 * somebody keeps the inode in memory: an open descriptor, a mount. 0, -E2BIG (the map is full) or
 * -errno.
 */
int rf_bpf_files_place(const struct rf_bpf_maps *maps, uint64_t cgroup_id, int fd, uint32_t flags,
	uint64_t *ret_token);
/* The rule (RF_NAME_…) of a name in a place that carries RF_FILE_NAMES. 0, -E2BIG, -ENAMETOOLONG or
 * -errno. */
int rf_bpf_files_name(const struct rf_bpf_maps *maps, uint64_t cgroup_id, uint64_t token,
	const char *name, uint32_t flags);
/* Every rule of the sandbox. 0 or -errno. */
int rf_bpf_files_remove(const struct rf_bpf_maps *maps, uint64_t cgroup_id);

/* RF_RULE_FILES… of the sandbox's entry, from the flags of all its places and names. */
uint32_t rf_bpf_files_flags(uint32_t places, uint32_t names);
