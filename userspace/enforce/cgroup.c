/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "enforce/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/units.h"
#include "host/signs.h"

#define SMALL_FILE_BYTES (1024U * 1024)
/* Reaping and freezing are had by it, limits are not. */
#define USER_CGROUP "systemd-run --user --scope -p Delegate=yes … gives a cgroup without limits; "
#define REMOVE_RETRIES 200
#define BASE_RETRIES 100
#define DEPTH_MAX 16U

static void set_fact(struct rf_fact *fact, enum rf_state state, const char *why, const char *remedy)
{
	fact->state = state;
	snprintf(fact->why, sizeof(fact->why), "%s", why);
	snprintf(fact->remedy, sizeof(fact->remedy), "%s", remedy);
}

/*
 * The mount point of the version 2 hierarchy: the last one in the table, since a later mount covers
 * an earlier one. Only text is read here: no mount point is looked at before it is chosen.
 */
static char *find_mount(void)
{
	char *table rf_autofree = NULL;
	char *found = NULL;
	char *save = NULL;

	if (rf_read_file_at(AT_FDCWD, "/proc/self/mountinfo", 16 * SMALL_FILE_BYTES, &table) < 0)
		return NULL;
	for (char *line = strtok_r(table, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *type = strstr(line, " - cgroup2 ");
		char point[4096];

		if (!type || sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1)
			continue;
		free(found);
		found = strdup(point);
	}
	return found;
}

int rf_cgroup_of(const char *procfs_pid, char **ret_path)
{
	char *text rf_autofree = NULL;
	char *path rf_autofree = NULL;
	char *save = NULL;
	int r;

	if (asprintf(&path, "/proc/%s/cgroup", procfs_pid) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = rf_read_file_at(AT_FDCWD, path, SMALL_FILE_BYTES, &text);
	if (r < 0)
		return r;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "0::", 3) != 0)
			continue;
		*ret_path = strdup(line + 3);
		return *ret_path ? 0 : -ENOMEM;
	}
	return -ENOENT;
}

/* The kernel's 64-bit id of a cgroup directory: never reused within a boot. */
static int read_id(int cgroup_fd, uint64_t *ret_id)
{
	union {
		struct file_handle handle;
		char bytes[sizeof(struct file_handle) + sizeof(uint64_t)];
	} h = {.handle.handle_bytes = sizeof(uint64_t)};
	int mount_id;

	if (name_to_handle_at(cgroup_fd, "", &h.handle, &mount_id, AT_EMPTY_PATH) < 0)
		return -errno;
	if (h.handle.handle_bytes != sizeof(uint64_t))
		return -EPROTO;
	memcpy(ret_id, h.handle.f_handle, sizeof(*ret_id));
	return 0;
}

/* FILEID_KERNFS of include/linux/exportfs.h: what name_to_handle_at says of a cgroup. */
#define HANDLE_KERNFS 0xfe

int rf_cgroup_exists(int cgroup_fd, uint64_t id)
{
	union {
		struct file_handle handle;
		char bytes[sizeof(struct file_handle) + sizeof(uint64_t)];
	} h = {.handle.handle_bytes = sizeof(id), .handle.handle_type = HANDLE_KERNFS};
	int fd rf_autoclose = -1;

	memcpy(h.handle.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(cgroup_fd, &h.handle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return 1;
	return errno == ESTALE || errno == ENOENT ? 0 : -errno;
}

static bool has_word(int dirfd, const char *file, const char *word)
{
	char *text rf_autofree = NULL;
	char *save = NULL;

	if (rf_read_file_at(dirfd, file, SMALL_FILE_BYTES, &text) < 0)
		return false;
	for (char *at = strtok_r(text, " \n", &save); at; at = strtok_r(NULL, " \n", &save)) {
		if (strcmp(at, word) == 0)
			return true;
	}
	return false;
}

/* Enables a controller for the children of dirfd. 0 or -errno. */
static int enable(int dirfd, const char *controller)
{
	char text[32];

	if (has_word(dirfd, "cgroup.subtree_control", controller))
		return 0;
	if (!has_word(dirfd, "cgroup.controllers", controller))
		return -ENOENT;
	snprintf(text, sizeof(text), "+%s", controller);
	return rf_write_file_at(dirfd, "cgroup.subtree_control", text);
}

static int enable_down_to_leaves(int root_fd, int base_fd, const char *controller)
{
	int r = enable(root_fd, controller);

	return r < 0 ? r : enable(base_fd, controller);
}

/*
 * Is this the cgroup of somebody's processes? The root of the hierarchy may have some; the root of
 * a cgroup namespace is an ordinary cgroup, in which "memory" answers EBUSY but a threaded
 * controller such as "pids" is taken, and turns the whole cgroup into a threaded domain.
 */
static bool has_processes(int fd)
{
	char *text rf_autofree = NULL;

	if (faccessat(fd, "cgroup.type", F_OK, 0) < 0)
		return false;
	return rf_read_file_at(fd, "cgroup.procs", 16 * SMALL_FILE_BYTES, &text) < 0 || text[0];
}

static void find_controllers(struct rf_cgroup_host *host, struct rf_facts *facts, int root_fd)
{
	struct rf_fact *fact = &facts->mechanisms[RF_MECHANISM_CGROUP_LIMITS];
	bool is_busy = has_processes(root_fd);
	int memory = is_busy ? -EBUSY : enable_down_to_leaves(root_fd, host->base_fd, "memory");
	int pids = is_busy ? -EBUSY : enable_down_to_leaves(root_fd, host->base_fd, "pids");

	host->has_memory = facts->has_memory_controller = memory == 0;
	host->has_pids = facts->has_pids_controller = pids == 0;
	if (memory == 0 && pids == 0) {
		set_fact(fact, RF_STATE_ENFORCED, "", "");
		return;
	}
	if (memory == -EBUSY || pids == -EBUSY)
		set_fact(fact, RF_STATE_OFF,
			"cgroup.subtree_control is busy: processes live in the cgroup at the root of this "
			"cgroup namespace",
			"delegation: start from an own sub-cgroup (systemd: Delegate=yes), with nothing left "
			"in its parent");
	else if (memory == -ENOENT || pids == -ENOENT)
		set_fact(fact, memory == 0 || pids == 0 ? RF_STATE_PARTIAL : RF_STATE_OFF,
			memory == 0 ? "the pids controller is not in the version 2 hierarchy"
			: pids == 0
				? "the memory controller is not in the version 2 hierarchy"
				: "the memory and pids controllers are not in the version 2 hierarchy "
				  "(bound to version 1, or not built)",
			"boot with systemd.unified_cgroup_hierarchy=1 or cgroup_no_v1=all");
	else
		set_fact(fact, RF_STATE_OFF, strerror(memory < 0 ? -memory : -pids),
			"delegation of the memory and pids controllers");
}

static int open_base(struct rf_cgroup_host *host, int dirfd, const char *name)
{
	int r;

	host->base_fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (host->base_fd < 0)
		return -errno;
	r = read_id(host->base_fd, &host->base_id);
	if (r < 0)
		host->base_fd = rf_close(host->base_fd);
	return r;
}

/*
 * The shared base is removed by the controller that finds itself alone with it. Everybody holds a
 * shared lock on it meanwhile; who got the lock of a directory that was removed in between, starts
 * again.
 */
static int open_shared_base(struct rf_cgroup_host *host, int root_fd)
{
	for (int i = 0; i < BASE_RETRIES; i++) {
		struct stat held;
		struct stat named;
		int r;

		if (mkdirat(root_fd, RF_CGROUP_BASE_NAME, 0755) < 0 && errno != EEXIST)
			return -errno;
		r = open_base(host, root_fd, RF_CGROUP_BASE_NAME);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		if (flock(host->base_fd, LOCK_SH) == 0 && fstat(host->base_fd, &held) == 0 &&
			fstatat(root_fd, RF_CGROUP_BASE_NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
			held.st_ino == named.st_ino)
			return 0;
		host->base_fd = rf_close(host->base_fd);
	}
	return -EBUSY;
}

static int find_root_base(struct rf_cgroup_host *host, struct rf_facts *facts, int root_fd)
{
	int r = open_shared_base(host, root_fd);

	if (r < 0)
		return r;
	/* mkdir of what exists does not tell that the mount is read-only. */
	if (faccessat(host->base_fd, ".", W_OK, AT_EACCESS) < 0) {
		r = -errno;
		host->base_fd = rf_close(host->base_fd);
		return r;
	}
	host->leaf_prefix = "";
	host->is_base_own = true;
	find_controllers(host, facts, root_fd);
	return 0;
}

/* A delegated cgroup holds the user's processes, which keeps its controllers from its leaves. */
static void set_user_limits(struct rf_facts *facts)
{
	struct rf_fact *fact = &facts->mechanisms[RF_MECHANISM_CGROUP_LIMITS];

	if (rf_signs_has_v1_limits())
		set_fact(fact, RF_STATE_OFF,
			"the memory and pids controllers are bound to version 1, and only root's limits are "
			"applied",
			USER_CGROUP
			"for limits boot with systemd.unified_cgroup_hierarchy=1 and run it as root");
	else
		set_fact(fact, RF_STATE_OFF, "only root's limits are applied",
			USER_CGROUP "for limits run it as root");
}

/*
 * An ordinary user's leaves lie directly below the cgroup that the user's own processes are in,
 * where that was delegated. No controller can be had there while processes sit in the parent.
 */
static int find_user_base(struct rf_cgroup_host *host, struct rf_facts *facts, int root_fd)
{
	char *own rf_autofree = NULL;
	int r = rf_cgroup_of("self", &own);

	if (r < 0)
		return r;
	if (faccessat(root_fd, own[1] ? own + 1 : ".", W_OK, AT_EACCESS) < 0)
		return -errno;
	r = open_base(host, root_fd, own[1] ? own + 1 : ".");
	if (r < 0)
		return r;
	if (faccessat(host->base_fd, "cgroup.procs", W_OK, AT_EACCESS) < 0) {
		host->base_fd = rf_close(host->base_fd);
		return -EACCES;
	}
	host->leaf_prefix = RF_CGROUP_USER_PREFIX;
	set_user_limits(facts);
	return 0;
}

/* The base's real path, for messages and the ledger. */
static void name_base(struct rf_cgroup_host *host)
{
	char target[4096];
	ssize_t n = readlink(host->base_path, target, sizeof(target) - 1);

	if (n < 0)
		return;
	target[n] = '\0';
	free(host->base_path);
	host->base_path = strdup(target);
}

static int find_base(struct rf_cgroup_host *host, struct rf_facts *facts, const char *mount)
{
	int root_fd rf_autoclose = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	int r;

	if (root_fd < 0)
		return -errno;
	if (fstatfs(root_fd, &fs) < 0)
		return -errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return -ENOENT;
	r = facts->uid == 0 ? find_root_base(host, facts, root_fd)
			    : find_user_base(host, facts, root_fd);
	if (r < 0)
		return r;
	if (asprintf(&host->base_path, "/proc/self/fd/%d", host->base_fd) < 0)
		return -ENOMEM;
	name_base(host);
	return 0;
}

int rf_cgroup_host_find(struct rf_facts *facts, struct rf_cgroup_host **ret_host)
{
	struct rf_fact *fact = &facts->mechanisms[RF_MECHANISM_CGROUP];
	struct rf_cgroup_host *host = calloc(1, sizeof(*host));
	char *mount rf_autofree = NULL;
	char why[128];
	int r;

	if (!host)
		return -ENOMEM;
	host->base_fd = -1;
	set_fact(&facts->mechanisms[RF_MECHANISM_CGROUP_LIMITS], RF_STATE_OFF, "there is no cgroup",
		"make the cgroup2 mount writable");
	if (facts->uid != 0)
		set_user_limits(facts);
	mount = find_mount();
	r = mount ? find_base(host, facts, mount) : -ENOENT;
	if (r == 0) {
		set_fact(fact, RF_STATE_ENFORCED, "", "");
	} else if (!mount) {
		set_fact(fact, RF_STATE_OFF, "no cgroup2 hierarchy is mounted",
			"mount -t cgroup2 none /sys/fs/cgroup");
	} else {
		snprintf(why, sizeof(why), "no cgroup can be made below the cgroup2 mount: %s",
			strerrorname_np(-r) ? strerrorname_np(-r) : "unknown error");
		set_fact(fact, RF_STATE_OFF, why,
			facts->uid == 0
				? "make the cgroup2 mount writable"
				: "systemd-run --user --scope -p Delegate=yes …, or run it as root");
	}
	*ret_host = host;
	return 0;
}

struct rf_cgroup_host *rf_cgroup_host_free(struct rf_cgroup_host *host)
{
	if (!host)
		return NULL;
	/* Only who is alone with it; and it fails while any sandbox of the host has a leaf. */
	if (host->is_base_own && host->base_path && flock(host->base_fd, LOCK_EX | LOCK_NB) == 0)
		(void)rmdir(host->base_path);
	rf_close(host->base_fd);
	free(host->base_path);
	free(host);
	return NULL;
}

/* ---- one leaf ----------------------------------------------------------------------------- */

struct rf_cgroup *rf_cgroup_free(struct rf_cgroup *cgroup)
{
	if (!cgroup)
		return NULL;
	rf_close(cgroup->fd);
	rf_close(cgroup->kill_fd);
	free(cgroup->name);
	free(cgroup);
	return NULL;
}

static void free_p(struct rf_cgroup **cgroup)
{
	rf_cgroup_free(*cgroup);
}

int rf_cgroup_open(int base_fd, const char *name, struct rf_cgroup **ret_cgroup)
{
	struct rf_cgroup *cgroup rf_cleanup(free_p) = calloc(1, sizeof(*cgroup));
	int r;

	if (!cgroup)
		return -ENOMEM;
	cgroup->kill_fd = -1;
	cgroup->base_fd = base_fd;
	cgroup->name = strdup(name);
	cgroup->fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (cgroup->fd < 0)
		return -errno;
	if (!cgroup->name)
		return -ENOMEM;
	r = read_id(cgroup->fd, &cgroup->id);
	if (r < 0)
		return r;
	/* cgroup.kill answers EOPNOTSUPP in a threaded cgroup: nothing could be reaped there. */
	if (!has_word(cgroup->fd, "cgroup.type", "domain"))
		return -EOPNOTSUPP;
	cgroup->kill_fd = openat(cgroup->fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	if (cgroup->kill_fd < 0)
		return -errno;
	*ret_cgroup = RF_TAKE(cgroup);
	return 0;
}

int rf_cgroup_create(struct rf_cgroup_host *host, const char *id, struct rf_cgroup **ret_cgroup)
{
	char *name rf_autofree = NULL;
	int r;

	if (asprintf(&name, "%s%s", host->leaf_prefix, id) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	if (mkdirat(host->base_fd, name, 0755) < 0)
		return -errno;
	r = rf_cgroup_open(host->base_fd, name, ret_cgroup);
	if (r < 0)
		(void)unlinkat(host->base_fd, name, AT_REMOVEDIR);
	return r;
}

int rf_cgroup_limit_memory(struct rf_cgroup *cgroup, uint64_t bytes)
{
	char text[24];
	int r;

	snprintf(text, sizeof(text), "%" PRIu64, bytes);
	r = rf_write_file_at(cgroup->fd, "memory.max", text);
	if (r < 0)
		return r;
	/* Without swap accounting there is no such file, and no swap to be charged. */
	r = rf_write_file_at(cgroup->fd, "memory.swap.max", "0");
	if (r < 0 && r != -ENOENT)
		return r;
	return 0;
}

int rf_cgroup_limit_pids(struct rf_cgroup *cgroup, uint64_t tasks)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, tasks);
	return rf_write_file_at(cgroup->fd, "pids.max", text);
}

int rf_cgroup_freeze(struct rf_cgroup *cgroup, bool is_frozen)
{
	return rf_write_file_at(cgroup->fd, "cgroup.freeze", is_frozen ? "1" : "0");
}

int rf_cgroup_kill(struct rf_cgroup *cgroup)
{
	return write(cgroup->kill_fd, "1", 1) == 1 ? 0 : -errno;
}

static int read_key(int dirfd, const char *file, const char *key, uint64_t *ret_value)
{
	char *text rf_autofree = NULL;
	char *save = NULL;
	size_t length = strlen(key);
	int r = rf_read_file_at(dirfd, file, SMALL_FILE_BYTES, &text);

	if (r < 0)
		return r;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (length > 0 && (strncmp(line, key, length) != 0 || line[length] != ' '))
			continue;
		return rf_parse_u64(line + (length ? length + 1 : 0), ret_value) ? 0 : -EPROTO;
	}
	return -ENOENT;
}

int rf_cgroup_is_populated(struct rf_cgroup *cgroup)
{
	uint64_t value;
	int r = read_key(cgroup->fd, "cgroup.events", "populated", &value);

	if (r == -ENODEV) /* removed behind our back: only an empty one can be */
		return 0;
	return r < 0 ? r : value != 0;
}

void rf_cgroup_usage(struct rf_cgroup *cgroup, struct rf_cgroup_usage *ret_usage)
{
	uint64_t value;

	*ret_usage = (struct rf_cgroup_usage){0};
	if (read_key(cgroup->fd, "cpu.stat", "usage_usec", &value) == 0)
		ret_usage->cpu_ms = value / 1000;
	if (read_key(cgroup->fd, "memory.peak", "", &value) == 0) {
		ret_usage->has_memory_peak = true;
		ret_usage->memory_peak_bytes = value;
	}
	if (read_key(cgroup->fd, "memory.events", "oom_kill", &value) == 0)
		ret_usage->oom_kills = value;
	if (read_key(cgroup->fd, "pids.events", "max", &value) == 0)
		ret_usage->pids_refused = value;
}

/* ---- walking -------------------------------------------------------------------------------- */

/* Calls visit for every cgroup below fd (children first), then for fd itself. */
static int walk(int fd, unsigned int depth, int (*visit)(int fd, void *userdata), void *userdata)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	DIR *directory;
	int r = 0;

	if (copy < 0)
		return -errno;
	directory = fdopendir(copy);
	if (!directory) {
		r = -errno;
		rf_close(copy);
		return r;
	}
	while (r >= 0 && depth < DEPTH_MAX && (entry = readdir(directory))) {
		int child rf_autoclose = -1;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		child = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (child >= 0)
			r = walk(child, depth + 1, visit, userdata);
	}
	closedir(directory);
	return r < 0 ? r : visit(fd, userdata);
}

struct members {
	const char *leaf;
	rf_cgroup_member_fn callback;
	void *userdata;
	int count;
};

/*
 * Is this pid in the leaf (or below) now? Read after its pidfd was opened. A leaf's name holds a
 * random id, so it is found as a component whatever a cgroup namespace makes of the path's front.
 */
static bool is_member(const char *pid, const char *leaf)
{
	char *path rf_autofree = NULL;
	char *save = NULL;

	if (rf_cgroup_of(pid, &path) < 0)
		return false;
	for (char *at = strtok_r(path, "/", &save); at; at = strtok_r(NULL, "/", &save)) {
		if (strcmp(at, leaf) == 0)
			return true;
	}
	return false;
}

static int visit_members(int fd, void *userdata)
{
	struct members *members = userdata;
	char *text rf_autofree = NULL;
	char *save = NULL;
	int r = rf_read_file_at(fd, "cgroup.procs", 16 * SMALL_FILE_BYTES, &text);

	if (r < 0)
		return r == -ENODEV ? 0 : r;
	for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
		int pidfd rf_autoclose = -1;
		uint64_t pid;

		if (!rf_parse_u64(at, &pid) || pid == 0)
			continue;
		pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
		if (pidfd < 0 || !is_member(at, members->leaf))
			continue;
		members->callback((pid_t)pid, pidfd, members->userdata);
		members->count++;
	}
	return 0;
}

int rf_cgroup_each_member(struct rf_cgroup *cgroup, rf_cgroup_member_fn callback, void *userdata)
{
	struct members members = {.leaf = cgroup->name, .callback = callback, .userdata = userdata};
	int r = walk(cgroup->fd, 0, visit_members, &members);

	return r < 0 ? r : members.count;
}

/* Removes the directories right below fd; what is below them was visited before. */
static int visit_remove(int fd, void *userdata rf_unused)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!directory) {
		rf_close(copy);
		return 0;
	}
	while ((entry = readdir(directory))) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			(void)unlinkat(fd, entry->d_name, AT_REMOVEDIR);
	}
	closedir(directory);
	return 0;
}

int rf_cgroup_remove(struct rf_cgroup *cgroup)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < REMOVE_RETRIES; i++) {
		if (unlinkat(cgroup->base_fd, cgroup->name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY && errno != ENOTEMPTY)
			return -errno;
		(void)walk(cgroup->fd, 0, visit_remove, NULL);
		nanosleep(&pause, NULL);
	}
	return -EBUSY;
}
