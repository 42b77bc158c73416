/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A sandbox's destinations as entries of the prefix tree, put in with one call. A range of ports is
 * cut into prefixes, so one rule can be up to 30 entries.
 */

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "bpf/destination.h"
#include "enforce/bpf.h"
#include "enforce/bpf_set.h"

struct entries {
	struct rf_destination_key *keys;
	uint32_t *values;
	size_t n;
	/* Bit n: there is a port prefix of n bits. */
	uint32_t port_lengths;
	bool has_public;
};

static void entries_clear(struct entries *entries)
{
	free(entries->keys);
	free(entries->values);
}

static enum rf_destination_kind kind_of(const struct rf_net_destination *destination)
{
	if (destination->kind == RF_NET_PUBLIC)
		return RF_DESTINATION_PUBLIC;
	return destination->is_v4 ? RF_DESTINATION_V4 : RF_DESTINATION_V6;
}

static void add_destination(
	struct entries *entries, uint64_t cgroup_id, const struct rf_net_destination *destination)
{
	struct rf_net_ports ports[RF_NET_PORTS_MAX];
	size_t n = rf_net_port_prefixes(destination->low_port, destination->high_port, ports);
	struct rf_address address;

	memcpy(&address, destination->address, sizeof(address));
	for (size_t i = 0; i < n; i++) {
		entries->keys[entries->n] = rf_destination_key(cgroup_id, kind_of(destination),
			ports[i].bits, ports[i].port, &address, destination->prefix_bits);
		entries->values[entries->n++] =
			rf_net_is_loopback(destination) ? RF_DESTINATION_LOOPBACK : 0;
		entries->port_lengths |= 1U << ports[i].bits;
	}
	entries->has_public |= destination->kind == RF_NET_PUBLIC;
}

static int make_entries(
	uint64_t cgroup_id, const struct rf_bpf_rules *rules, struct entries *ret_entries)
{
	struct rf_net_ports ports[RF_NET_PORTS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < rules->n_destinations; i++)
		n += rf_net_port_prefixes(
			rules->destinations[i].low_port, rules->destinations[i].high_port, ports);
	if (n > RF_DESTINATIONS_EACH_MAX)
		return -E2BIG;
	ret_entries->keys = calloc(n + 1, sizeof(*ret_entries->keys));
	ret_entries->values = calloc(n + 1, sizeof(*ret_entries->values));
	if (!ret_entries->keys || !ret_entries->values)
		return -ENOMEM;
	for (size_t i = 0; i < rules->n_destinations; i++)
		add_destination(ret_entries, cgroup_id, &rules->destinations[i]);
	return 0;
}

/* One by one where the kernel has no batches for trees. */
static int put_each(int fd, const struct entries *entries)
{
	for (size_t i = 0; i < entries->n; i++) {
		if (bpf_map_update_elem(fd, &entries->keys[i], &entries->values[i], BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}

static int put_entries(int fd, const struct entries *entries)
{
	uint32_t n = (uint32_t)entries->n;

	if (n == 0)
		return 0;
	if (n == 1)
		return put_each(fd, entries);
	if (bpf_map_update_batch(fd, entries->keys, entries->values, &n, NULL) == 0)
		return 0;
	/* Half a batch is put in again: the same keys have the same values. */
	return errno == EOPNOTSUPP || errno == ENOTSUP || errno == EINVAL ? put_each(fd, entries)
									  : -errno;
}

int rf_bpf_destinations_add(const struct rf_bpf_maps *maps, uint64_t cgroup_id,
	const struct rf_bpf_rules *rules, struct rf_entry *sandbox)
{
	struct entries entries rf_cleanup(entries_clear) = {0};
	int r;

	if (rules->n_destinations == 0)
		return 0;
	r = make_entries(cgroup_id, rules, &entries);
	if (r < 0)
		return r;
	sandbox->flags |= RF_RULE_DESTINATIONS;
	sandbox->flags |= entries.has_public ? RF_RULE_PUBLIC : 0;
	sandbox->port_lengths = entries.port_lengths;
	r = put_entries(maps->fds[RF_BPF_MAP_DESTINATIONS], &entries);
	if (r < 0)
		(void)rf_bpf_destinations_remove(maps, cgroup_id);
	return r;
}

static bool is_of(const struct rf_destination_key *key, uint64_t cgroup_id)
{
	return key->sandbox[0] == (uint32_t)cgroup_id &&
	       key->sandbox[1] == (uint32_t)(cgroup_id >> 32);
}

int rf_bpf_destinations_remove(const struct rf_bpf_maps *maps, uint64_t cgroup_id)
{
	int fd = maps->fds[RF_BPF_MAP_DESTINATIONS];
	struct rf_destination_key key, next;
	bool has_next = bpf_map_get_next_key(fd, NULL, &next) == 0;

	while (has_next) {
		key = next;
		has_next = bpf_map_get_next_key(fd, &key, &next) == 0;
		if (is_of(&key, cgroup_id) && bpf_map_delete_elem(fd, &key) < 0)
			return -errno;
	}
	return 0;
}
