/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Pins and maps of the set.
 *
 *	BPFFS/ringfence/v1/rf_sandboxes …  maps
 *	BPFFS/ringfence/v1/link_NN_NAME    links, numbered in the order of attaching
 *	BPFFS/ringfence/v1/rf_config       last: without it, what lies there is a leftover
 *
 * Directories of other versions are never touched.
 */

#include "enforce/bpf_set.h"
#include "enforce/cgroup.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/units.h"
#include "enforce/bpf.h"

#define HOST_BPFFS "/sys/fs/bpf"
#define LINK_PREFIX "link_"

const char *rf_bpf_map_name(enum rf_bpf_map map)
{
	switch (map) {
	case RF_BPF_MAP_SANDBOXES:
		return "rf_sandboxes";
	case RF_BPF_MAP_COUNTERS:
		return "rf_counters";
	case RF_BPF_MAP_LABELS:
		return "rf_labels";
	case RF_BPF_MAP_UNIX_INODES:
		return "rf_unix_inodes";
	case RF_BPF_MAP_DESTINATIONS:
		return "rf_destinations";
	case RF_BPF_MAP_FILE_TOKENS:
		return "rf_file_tokens";
	case RF_BPF_MAP_FILE_MAKERS:
		return "rf_file_makers";
	case RF_BPF_MAP_FILE_PLACES:
		return "rf_file_places";
	case RF_BPF_MAP_FILE_NAMES:
		return "rf_file_names";
	case RF_BPF_MAP_RINGS:
		return "rf_rings";
	case RF_BPF_MAP_RING_OWNERS:
		return "rf_ring_owners";
	case RF_BPF_MAP_CONFIG:
		return "rf_config";
	case RF_BPF_MAPS:
		break;
	}
	return "";
}

void rf_bpf_maps_init(struct rf_bpf_maps *maps)
{
	for (size_t i = 0; i < RF_BPF_MAPS; i++)
		maps->fds[i] = -1;
}

void rf_bpf_maps_close(struct rf_bpf_maps *maps)
{
	for (size_t i = 0; i < RF_BPF_MAPS; i++)
		maps->fds[i] = rf_close(maps->fds[i]);
}

static bool is_bpffs(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && (unsigned long)fs.f_type == BPF_FS_MAGIC;
}

static int mount_own(const char *path)
{
	if (is_bpffs(path))
		return 0;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (mount("bpf", path, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700") < 0) {
		int error = -errno;

		rmdir(path);
		return error;
	}
	return 0;
}

int rf_bpf_pins_find(const char *runtime_directory, struct rf_bpf_pins *ret_pins)
{
	struct rf_bpf_pins pins = {0};
	const char *bpffs = HOST_BPFFS;
	int n;

	if (!is_bpffs(HOST_BPFFS)) {
		int r;

		n = snprintf(pins.own_mount, sizeof(pins.own_mount), "%s/bpf", runtime_directory);
		if (n < 0 || (size_t)n >= sizeof(pins.own_mount))
			return -ENAMETOOLONG;
		r = mount_own(pins.own_mount);
		if (r < 0)
			return r;
		bpffs = pins.own_mount;
	}
	n = snprintf(pins.parent, sizeof(pins.parent), "%s/ringfence", bpffs);
	if (n < 0 || (size_t)n >= sizeof(pins.parent))
		return -ENAMETOOLONG;
	n = snprintf(
		pins.directory, sizeof(pins.directory), "%s/ringfence/v%u", bpffs, RF_ABI_VERSION);
	if (n < 0 || (size_t)n >= sizeof(pins.directory))
		return -ENAMETOOLONG;
	*ret_pins = pins;
	return 0;
}

int rf_bpf_pins_open(
	const struct rf_bpf_pins *pins, struct rf_bpf_maps *ret_maps, struct rf_config *ret_config)
{
	struct rf_bpf_maps maps rf_autobpfmaps;
	struct rf_config config;
	uint32_t zero = 0;

	rf_bpf_maps_init(&maps);
	for (size_t i = RF_BPF_MAPS; i-- > 0;) {
		char path[RF_BPF_PIN_PATH_BYTES + 64];

		snprintf(path, sizeof(path), "%s/%s", pins->directory,
			rf_bpf_map_name((enum rf_bpf_map)i));
		maps.fds[i] = bpf_obj_get(path);
		if (maps.fds[i] < 0)
			return -errno;
	}
	if (bpf_map_lookup_elem(maps.fds[RF_BPF_MAP_CONFIG], &zero, &config) < 0)
		return -errno;
	if (config.version != RF_ABI_VERSION || config.size != sizeof(config))
		return -EPROTO;
	*ret_config = config;
	*ret_maps = maps;
	rf_bpf_maps_init(&maps);
	return 0;
}

static uint32_t map_id(int fd)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &size) < 0 ? 0 : info.id;
}

bool rf_bpf_pins_hold(const struct rf_bpf_pins *pins, const struct rf_bpf_maps *maps)
{
	char path[RF_BPF_PIN_PATH_BYTES + 64];
	int fd rf_autoclose = -1;

	snprintf(path, sizeof(path), "%s/%s", pins->directory, rf_bpf_map_name(RF_BPF_MAP_CONFIG));
	fd = bpf_obj_get(path);
	return fd >= 0 && map_id(fd) != 0 && map_id(fd) == map_id(maps->fds[RF_BPF_MAP_CONFIG]);
}

static int by_name_descending(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*b)->d_name, (*a)->d_name);
}

static int is_link(const struct dirent *entry)
{
	return strncmp(entry->d_name, LINK_PREFIX, strlen(LINK_PREFIX)) == 0;
}

static void remove_links(const char *directory)
{
	struct dirent **names = NULL;
	int n = scandir(directory, &names, is_link, by_name_descending);

	for (int i = 0; i < n; i++) {
		char path[RF_BPF_PIN_PATH_BYTES + NAME_MAX + 2];

		snprintf(path, sizeof(path), "%s/%s", directory, names[i]->d_name);
		unlink(path);
		free(names[i]);
	}
	free(names);
}

void rf_bpf_pins_clear(const struct rf_bpf_pins *pins)
{
	char path[RF_BPF_PIN_PATH_BYTES + 64];

	snprintf(path, sizeof(path), "%s/%s", pins->directory, rf_bpf_map_name(RF_BPF_MAP_CONFIG));
	unlink(path);
	remove_links(pins->directory);
	for (size_t i = RF_BPF_MAP_CONFIG; i-- > 0;) {
		snprintf(path, sizeof(path), "%s/%s", pins->directory,
			rf_bpf_map_name((enum rf_bpf_map)i));
		unlink(path);
	}
	rmdir(pins->directory);
}

void rf_bpf_pins_remove(const struct rf_bpf_pins *pins)
{
	rf_bpf_pins_clear(pins);
	/* Another version's directory keeps both of these. */
	if (rmdir(pins->parent) < 0 && errno != ENOENT)
		return;
	if (pins->own_mount[0] && umount2(pins->own_mount, UMOUNT_NOFOLLOW) == 0)
		rmdir(pins->own_mount);
}

/* Field 22 of /proc/PID/stat; 0: no such process. The name before it may hold anything. */
static uint64_t start_ticks(uint32_t pid)
{
	char *text rf_autofree = NULL;
	char *at, *save = NULL;
	uint64_t ticks = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (rf_read_file_at(AT_FDCWD, path, 4096, &text) < 0)
		return 0;
	at = strrchr(text, ')');
	if (!at)
		return 0;
	at = strtok_r(at + 1, " ", &save);
	for (int field = 3; at && field < 22; field++)
		at = strtok_r(NULL, " ", &save);
	return at && rf_parse_u64(at, &ticks) ? ticks : 0;
}

static uint32_t pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint32_t)st.st_ino : 0;
}

/* A pid of another namespace cannot be looked up: its owner counts as alive. */
static bool is_alive(const struct rf_ring_owner *owner)
{
	if (owner->pid_namespace != pid_namespace())
		return true;
	return start_ticks(owner->pid) == owner->start_ticks;
}

static void drop_addresses(const struct rf_bpf_maps *maps, uint64_t id)
{
	struct rf_entry sandbox;

	if (bpf_map_lookup_elem(maps->fds[RF_BPF_MAP_SANDBOXES], &id, &sandbox) < 0 ||
		sandbox.egress != RF_EGRESS_RULES)
		return;
	(void)rf_bpf_destinations_remove(maps, id);
}

int rf_bpf_keys_remove(int map_fd, size_t key_bytes, uint64_t cgroup_id)
{
	union {
		uint64_t sandbox;
		struct rf_unix_key unix_key;
		struct rf_place_key place;
		struct rf_name_key name;
	} key, next;
	bool has_next;

	if (key_bytes > sizeof(key))
		return -EINVAL;
	has_next = bpf_map_get_next_key(map_fd, NULL, &next) == 0;
	while (has_next) {
		key = next;
		has_next = bpf_map_get_next_key(map_fd, &key, &next) == 0;
		if (key.sandbox == cgroup_id && bpf_map_delete_elem(map_fd, &key) < 0)
			return -errno;
	}
	return 0;
}

static void drop_rules(const struct rf_bpf_maps *maps, uint64_t id)
{
	static const struct {
		enum rf_bpf_map map;
		size_t key_bytes;
	} keyed[] = {
		{RF_BPF_MAP_UNIX_INODES, sizeof(struct rf_unix_key)},
		{RF_BPF_MAP_FILE_PLACES, sizeof(struct rf_place_key)},
		{RF_BPF_MAP_FILE_NAMES, sizeof(struct rf_name_key)},
	};

	for (size_t i = 0; i < RF_ARRAY_SIZE(keyed); i++)
		(void)rf_bpf_keys_remove(maps->fds[keyed[i].map], keyed[i].key_bytes, id);
}

/* Drops the entries of killed controllers whose cgroup is gone; what cannot be told stays. */
static void drop_gone(const struct rf_bpf_maps *maps, int base_fd)
{
	int fd = maps->fds[RF_BPF_MAP_SANDBOXES];
	uint64_t id, next;
	int r = bpf_map_get_next_key(fd, NULL, &id);

	while (r == 0) {
		r = bpf_map_get_next_key(fd, &id, &next);
		if (rf_cgroup_exists(base_fd, id) == 0) {
			drop_addresses(maps, id);
			bpf_map_delete_elem(fd, &id);
			bpf_map_delete_elem(maps->fds[RF_BPF_MAP_COUNTERS], &id);
			drop_rules(maps, id);
		}
		id = next;
	}
}

int rf_bpf_maps_is_used(
	const struct rf_bpf_maps *maps, int base_fd, uint32_t own_ring, bool *ret_is_used)
{
	int owners = maps->fds[RF_BPF_MAP_RING_OWNERS];
	struct rf_ring_owner owner;
	uint32_t ring, *last = NULL;
	uint64_t sandbox;

	drop_gone(maps, base_fd);
	if (bpf_map_get_next_key(maps->fds[RF_BPF_MAP_SANDBOXES], NULL, &sandbox) == 0) {
		*ret_is_used = true;
		return 0;
	}
	if (errno != ENOENT)
		return -errno;
	while (bpf_map_get_next_key(owners, last, &ring) == 0) {
		last = &ring;
		if (ring == own_ring || bpf_map_lookup_elem(owners, &ring, &owner) < 0)
			continue;
		if (is_alive(&owner)) {
			*ret_is_used = true;
			return 0;
		}
	}
	*ret_is_used = false;
	return 0;
}

/* Records of a living sandbox still go there: it waits for whoever takes the sandbox over. */
static bool is_referred_to(const struct rf_bpf_maps *maps, uint32_t ring)
{
	int fd = maps->fds[RF_BPF_MAP_SANDBOXES];
	struct rf_entry sandbox;
	uint64_t id, *last = NULL;

	while (bpf_map_get_next_key(fd, last, &id) == 0) {
		last = &id;
		if (bpf_map_lookup_elem(fd, &id, &sandbox) == 0 && sandbox.ring == ring)
			return true;
	}
	return false;
}

int rf_bpf_ring_claim(const struct rf_bpf_maps *maps, uint32_t ring)
{
	struct rf_ring_owner owner = {
		.pid = (uint32_t)getpid(),
		.pid_namespace = pid_namespace(),
		.start_ticks = start_ticks((uint32_t)getpid()),
	};

	if (bpf_map_update_elem(maps->fds[RF_BPF_MAP_RING_OWNERS], &ring, &owner, BPF_ANY) < 0)
		return -errno;
	return 0;
}

/* An existing ring that nobody reads. -ENOENT: there is none. */
static int take_free_ring(const struct rf_bpf_maps *maps, struct rf_bpf_ring *ring)
{
	int rings = maps->fds[RF_BPF_MAP_RINGS];
	struct rf_ring_owner owner;
	uint32_t id, *last = NULL;

	while (bpf_map_get_next_key(rings, last, &id) == 0) {
		bool has_owner;

		last = &id;
		has_owner =
			bpf_map_lookup_elem(maps->fds[RF_BPF_MAP_RING_OWNERS], &id, &owner) == 0;
		if ((has_owner && is_alive(&owner)) || is_referred_to(maps, id))
			continue;
		ring->fd = bpf_map_get_fd_by_id(id);
		if (ring->fd < 0)
			continue;
		ring->id = id;
		return rf_bpf_ring_claim(maps, id);
	}
	return -ENOENT;
}

static void *settle(void *userdata)
{
	struct rf_bpf_ring *ring = userdata;

	ring->settle_error = 0;
	if (bpf_map_update_elem(ring->rings_fd, &ring->id, &ring->fd, BPF_NOEXIST) < 0)
		ring->settle_error = -errno;
	return NULL;
}

int rf_bpf_ring_begin(int rings_fd, uint32_t bytes, struct rf_bpf_ring *ret_ring)
{
	int r;

	memset(ret_ring, 0, sizeof(*ret_ring));
	ret_ring->rings_fd = rings_fd;
	ret_ring->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "rf_ring", 0, 0, bytes, NULL);
	if (ret_ring->fd < 0)
		return -errno;
	ret_ring->id = map_id(ret_ring->fd);
	if (ret_ring->id == 0) {
		ret_ring->fd = rf_close(ret_ring->fd);
		return -EIO;
	}
	r = pthread_create(&ret_ring->thread, NULL, settle, ret_ring);
	if (r == 0)
		ret_ring->is_settling = true;
	else
		settle(ret_ring);
	return 0;
}

int rf_bpf_ring_open(const struct rf_bpf_maps *maps, uint32_t bytes, struct rf_bpf_ring *ret_ring)
{
	int r;

	memset(ret_ring, 0, sizeof(*ret_ring));
	ret_ring->fd = -1;
	ret_ring->rings_fd = maps->fds[RF_BPF_MAP_RINGS];
	r = take_free_ring(maps, ret_ring);
	if (r == -ENOENT) {
		r = rf_bpf_ring_begin(ret_ring->rings_fd, bytes, ret_ring);
		if (r == 0)
			r = rf_bpf_ring_claim(maps, ret_ring->id);
	}
	if (r < 0)
		rf_bpf_ring_close(maps, ret_ring);
	return r;
}

int rf_bpf_ring_settle(struct rf_bpf_ring *ring)
{
	if (ring->is_settling) {
		pthread_join(ring->thread, NULL);
		ring->is_settling = false;
	}
	return ring->settle_error;
}

void rf_bpf_ring_close(const struct rf_bpf_maps *maps, struct rf_bpf_ring *ring)
{
	if (ring->fd < 0)
		return;
	rf_bpf_ring_settle(ring);
	bpf_map_delete_elem(maps->fds[RF_BPF_MAP_RING_OWNERS], &ring->id);
	ring->fd = rf_close(ring->fd);
}

uint32_t rf_bpf_kernel_dev(dev_t dev)
{
	return (uint32_t)(major(dev) << 20 | minor(dev));
}

int rf_bpf_rules_encode(const struct rf_bpf_rules *rules, struct rf_entry *ret_sandbox)
{
	struct rf_entry sandbox = {.state = RF_ENTRY_SETUP, .posture = RF_SOCKETS_NONE};

	switch (rules->sockets) {
	case RF_BPF_SOCKETS_ALL:
		sandbox.posture = RF_SOCKETS_ALL;
		break;
	case RF_BPF_SOCKETS_NONE:
		sandbox.posture = RF_SOCKETS_NONE;
		break;
	case RF_BPF_SOCKETS_LISTED:
		sandbox.posture = RF_SOCKETS_LISTED;
		break;
	}
	switch (rules->egress) {
	case RF_BPF_EGRESS_ANY:
		sandbox.egress = RF_EGRESS_ANY;
		break;
	case RF_BPF_EGRESS_LOOPBACK:
		sandbox.egress = RF_EGRESS_LOOPBACK;
		break;
	case RF_BPF_EGRESS_RULES:
		sandbox.egress = RF_EGRESS_RULES;
		break;
	}
	if (rules->n_families > RF_FAMILIES_MAX)
		return -E2BIG;
	sandbox.flags |= rules->is_unix_open ? RF_RULE_UNIX : 0;
	sandbox.flags |= rules->is_inet_open ? RF_RULE_INET : 0;
	sandbox.flags |= rules->is_unix_foreign_open ? RF_RULE_UNIX_FOREIGN : 0;
	sandbox.flags |= rules->is_unfollowed ? RF_RULE_UNFOLLOWED : 0;
	sandbox.n_families = (uint32_t)rules->n_families;
	for (size_t i = 0; i < rules->n_families; i++)
		sandbox.families[i] = (uint32_t)rules->families[i];
	*ret_sandbox = sandbox;
	return 0;
}
