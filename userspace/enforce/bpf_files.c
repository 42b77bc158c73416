/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "enforce/bpf_files.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* One number an inode, whichever sandboxes have rules about it. */
static int take_token(const struct rf_bpf_maps *maps, int fd, __u64 *ret_token)
{
	int map = maps->fds[RF_BPF_MAP_FILE_TOKENS];
	struct rf_token token = {0};

	while (token.token == 0) {
		if (getrandom(&token, sizeof(token), 0) != sizeof(token))
			return -EIO;
	}
	if (bpf_map_update_elem(map, &fd, &token, BPF_NOEXIST) < 0) {
		if (errno != EEXIST)
			return -errno;
		if (bpf_map_lookup_elem(map, &fd, &token) < 0)
			return -errno;
	}
	*ret_token = token.token;
	return 0;
}

static int add_flags(int map, const void *key, uint32_t flags)
{
	uint32_t before = 0;

	if (bpf_map_lookup_elem(map, key, &before) < 0 && errno != ENOENT)
		return -errno;
	flags |= before;
	return bpf_map_update_elem(map, key, &flags, BPF_ANY) < 0 ? -errno : 0;
}

int rf_bpf_files_place(const struct rf_bpf_maps *maps, uint64_t cgroup_id, int fd, uint32_t flags,
	uint64_t *ret_token)
{
	struct rf_place_key key = {.sandbox = cgroup_id};
	int r = take_token(maps, fd, &key.token);

	if (r == 0)
		r = add_flags(maps->fds[RF_BPF_MAP_FILE_PLACES], &key, flags);
	if (r == 0)
		*ret_token = key.token;
	return r;
}

int rf_bpf_files_name(const struct rf_bpf_maps *maps, uint64_t cgroup_id, uint64_t token,
	const char *name, uint32_t flags)
{
	struct rf_name_key key = {.sandbox = cgroup_id, .token = token};
	size_t length = strlen(name);

	if (length >= sizeof(key.name))
		return -ENAMETOOLONG;
	memcpy(key.name, name, length);
	return add_flags(maps->fds[RF_BPF_MAP_FILE_NAMES], &key, flags);
}

int rf_bpf_files_remove(const struct rf_bpf_maps *maps, uint64_t cgroup_id)
{
	int r = rf_bpf_keys_remove(
		maps->fds[RF_BPF_MAP_FILE_PLACES], sizeof(struct rf_place_key), cgroup_id);
	int error = rf_bpf_keys_remove(
		maps->fds[RF_BPF_MAP_FILE_NAMES], sizeof(struct rf_name_key), cgroup_id);

	return r < 0 ? r : error;
}

uint32_t rf_bpf_files_flags(uint32_t places, uint32_t names)
{
	uint32_t flags = places || names ? RF_RULE_FILES : 0;

	if (places & RF_FILE_CLOSED || names & RF_NAME_CLOSED)
		flags |= RF_RULE_FILES_BELOW;
	if (places & (RF_FILE_READ_ONLY | RF_FILE_LISTED) || names & RF_NAME_READ_ONLY)
		flags |= RF_RULE_FILES_BELOW_WRITE;
	return flags;
}
