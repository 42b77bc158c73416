/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What every program needs to run: a fixed list of what the system has, the interpreters that the
 * caller's PATH finds, places of the sandbox's own. And what stays closed under any broad grant.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/planner.h"

static const char *const runtime_reads[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/ssl",
	"/etc/pki", "/etc/ca-certificates", "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf",
	"/etc/alternatives"};

static const char *const credentials[] = {".aws", ".ssh", ".gnupg", ".azure", ".kube", ".docker",
	".config/gcloud", ".config/gh", ".npmrc", ".netrc", ".git-credentials", ".pypirc",
	".cargo/credentials", ".cargo/credentials.toml"};

/* A fixed path and where it leads. */
static int add_runtime_read(struct rf_planner *planner, const char *path)
{
	struct rf_found found rf_autofound = {0};
	int r = rf_resolve(&planner->root, path, &found);

	if (r < 0)
		return r;
	if (found.kind != RF_FOUND_EXISTING && found.links.count == 0)
		return 0;
	if (found.kind != RF_FOUND_EXISTING)
		return rf_planner_warn(planner, "%s is a symbolic link to nothing here", path);
	/* A system that links one of these above the workspace would open more than was meant. */
	if (rf_path_is_within(planner->plan->workspace, found.path) &&
		strcmp(found.path, path) != 0)
		return rf_planner_warn(
			planner, "%s leads to %s and is not opened", path, found.path);
	r = rf_planner_add_links(planner, &found, RF_NODE_LINK);
	return r < 0 ? r : rf_planner_add(planner, &found, RF_NODE_RUNTIME);
}

/* ---- Interpreters ---------------------------------------------------------------------------- */

bool rf_planner_is_home_or_above(const struct rf_planner *planner, const char *path)
{
	for (size_t i = 0; i < RF_HOMES; i++) {
		if (planner->homes[i][0] && rf_path_is_within(planner->homes[i], path))
			return true;
	}
	return strcmp(path, "/") == 0;
}

bool rf_planner_is_planted(const struct rf_planner *planner, const struct rf_found *found)
{
	for (size_t i = 0; i < found->links.count; i += 2) {
		if (rf_path_is_within(found->links.items[i], planner->plan->workspace))
			return true;
	}
	return false;
}

/*
 * The library directory of an executable PREFIX/bin/NAME is PREFIX/lib. Programs below /usr have
 * theirs opened already; home directories and / are never opened for this.
 */
static int add_library(struct rf_planner *planner, const char *executable)
{
	char *directory rf_autofree = rf_path_parent(executable);
	char *prefix rf_autofree = directory ? rf_path_parent(directory) : NULL;
	char *library rf_autofree = prefix ? rf_path_join(prefix, "lib") : NULL;
	struct rf_found found rf_autofound = {0};
	int r;

	if (!library)
		return -ENOMEM;
	if (strcmp(rf_path_name(directory), "bin") != 0 ||
		rf_planner_is_home_or_above(planner, prefix) ||
		rf_path_is_within(planner->plan->workspace, prefix))
		return 0;
	r = rf_resolve(&planner->root, library, &found);
	if (r < 0 || found.kind != RF_FOUND_EXISTING || !S_ISDIR(found.mode) ||
		rf_planner_is_home_or_above(planner, found.path) ||
		rf_path_is_within(planner->plan->workspace, found.path))
		return r;
	r = rf_planner_add_links(planner, &found, RF_NODE_LINK);
	return r < 0 ? r : rf_planner_add(planner, &found, RF_NODE_RUNTIME);
}

/* A file with its directory of libraries, and the links that lead to it. */
static int add_executable(struct rf_planner *planner, const struct rf_found *found)
{
	int r = rf_planner_add_links(planner, found, RF_NODE_LINK);

	if (r == 0)
		r = rf_planner_add(planner, found, RF_NODE_RUNTIME);
	return r < 0 ? r : add_library(planner, found->path);
}

/*
 * ROOT/versions/VERSION/bin/NAME of a shim ROOT/shims/NAME, with VERSION in ROOT/version.
 * *ret_path is NULL when there is none.
 */
static int read_shim(const char *shim, const char *root, char **ret_path)
{
	char *file rf_autofree = rf_path_join(root, "version");
	char *version rf_autofree = NULL;

	*ret_path = NULL;
	if (!file)
		return -ENOMEM;
	if (rf_read_file_at(AT_FDCWD, file, 256, &version) < 0)
		return 0;
	version[strcspn(version, " \t\r\n:")] = '\0';
	if (!version[0] || strchr(version, '/') || version[0] == '.')
		return 0;
	if (asprintf(ret_path, "%s/versions/%s/bin/%s", root, version, rf_path_name(shim)) < 0) {
		*ret_path = NULL;
		return -ENOMEM;
	}
	return 0;
}

/*
 * A version manager's shim is a script that asks the manager; inside, a link to the program that it
 * would start stands in its place. 0: it does; RF_REFUSED: a shim that leads nowhere; -ENOLINK:
 * this is no shim; -errno.
 */
int rf_planner_shim(struct rf_planner *planner, const char *path)
{
	char *directory rf_autofree = rf_path_parent(path);
	char *root rf_autofree = directory ? rf_path_parent(directory) : NULL;
	char *behind rf_autofree = NULL;
	struct rf_found found rf_autofound = {0};
	struct rf_node like = {0};
	int r;

	if (!root)
		return -ENOMEM;
	if (strcmp(rf_path_name(directory), "shims") != 0)
		return -ENOLINK;
	r = read_shim(path, root, &behind);
	if (r < 0)
		return r;
	if (!behind)
		return RF_REFUSED;
	r = rf_resolve(&planner->root, behind, &found);
	if (r < 0)
		return r;
	if (found.kind != RF_FOUND_EXISTING || !S_ISREG(found.mode) ||
		rf_path_is_within(found.path, planner->plan->workspace) ||
		rf_planner_is_planted(planner, &found))
		return RF_REFUSED;
	like.data = found.path;
	r = rf_rule_tree_add(&planner->tree, path, RF_NODE_LINK, &like);
	return r < 0 ? r : add_executable(planner, &found);
}

/* 0: it is taken care of; RF_REFUSED: look on; -errno. */
static int add_interpreter(struct rf_planner *planner, const char *path)
{
	struct rf_found found rf_autofound = {0};
	int r = rf_resolve(&planner->root, path, &found);

	if (r < 0)
		return r;
	if (found.kind != RF_FOUND_EXISTING || !S_ISREG(found.mode) || !(found.mode & 0111) ||
		rf_path_is_within(found.path, planner->plan->workspace) ||
		rf_planner_is_planted(planner, &found))
		return RF_REFUSED;
	/* /usr is opened whole. */
	if (found.links.count == 0 && rf_path_is_within(found.path, "/usr"))
		return 0;
	r = rf_planner_shim(planner, found.path);
	if (r != -ENOLINK)
		return r;
	return add_executable(planner, &found);
}

/* The first executable of that name on the sandbox's PATH, outside the workspace. */
static int find_interpreter(struct rf_planner *planner, const char *name)
{
	const char *path = rf_planner_variable(&planner->plan->environment, "PATH");

	while (path && *path) {
		size_t length = strcspn(path, ":");
		char *candidate rf_autofree = NULL;
		int r;

		if (asprintf(&candidate, "%.*s/%s", (int)length, path, name) < 0) {
			candidate = NULL;
			return -ENOMEM;
		}
		r = path[0] == '/' ? add_interpreter(planner, candidate) : RF_REFUSED;
		if (r != RF_REFUSED)
			return r;
		path += length;
		path += *path == ':';
	}
	return 0;
}

static int add_corepack_cache(struct rf_planner *planner)
{
	struct rf_found found rf_autofound = {0};
	char *path rf_autofree = NULL;
	int r;

	if (!planner->facts->home[0])
		return 0;
	path = rf_path_join(planner->facts->home, ".cache/node/corepack");
	if (!path)
		return -ENOMEM;
	r = rf_resolve(&planner->root, path, &found);
	/* A cache that is a link leads anywhere: not opened. */
	if (r < 0 || found.kind != RF_FOUND_EXISTING || !S_ISDIR(found.mode) ||
		found.links.count > 0)
		return r;
	return rf_planner_add(planner, &found, RF_NODE_RUNTIME);
}

/* ---- Credentials ----------------------------------------------------------------------------- */

static int add_credential(struct rf_planner *planner, struct rf_origin *home, const char *name)
{
	struct rf_found found rf_autofound = {0};
	int r = rf_resolve(home, name, &found);

	/* One that the planner may not look at is closed to the command too, it has no more rights.
	 */
	if (r < 0 || found.kind == RF_FOUND_CLOSED)
		return r;
	/* A link can aim the mask at what the command needs, but that is the owner's doing. */
	r = rf_planner_add_links(planner, &found, RF_NODE_NAME);
	if (r < 0)
		return r;
	/* One that is missing holds no secret, but could be planted where a write reaches it. */
	return rf_planner_add(planner, &found,
		RF_NODE_CREDENTIAL | (found.kind == RF_FOUND_MISSING ? RF_NODE_MISSING : 0));
}

/* .cargo/credentials and whatever else begins so. */
static int add_cargo(struct rf_planner *planner, struct rf_origin *home)
{
	int fd = openat(home->fd, ".cargo", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	struct dirent *entry;
	DIR *directory;
	int r = 0;

	if (fd < 0)
		return 0;
	directory = fdopendir(fd);
	if (!directory) {
		rf_close(fd);
		return -ENOMEM;
	}
	while (r == 0 && (entry = readdir(directory))) {
		char name[300];

		if (strncmp(entry->d_name, "credentials", 11) != 0)
			continue;
		snprintf(name, sizeof(name), ".cargo/%s", entry->d_name);
		r = add_credential(planner, home, name);
	}
	closedir(directory);
	return r;
}

static int add_home(struct rf_planner *planner, const char *path)
{
	struct rf_found found rf_autofound = {0};
	struct rf_origin home rf_autoorigin = rf_origin(-1, NULL);
	int fd rf_autoclose = -1;
	int r = path[0] ? rf_resolve(&planner->root, path, &found) : 0;

	if (!path[0] || r < 0 || found.kind != RF_FOUND_EXISTING || !S_ISDIR(found.mode) ||
		strcmp(found.path, "/") == 0)
		return r;
	fd = rf_open_no_links(AT_FDCWD, found.path, O_DIRECTORY);
	if (fd < 0)
		return fd == -EACCES ? 0 : fd;
	home.fd = fd;
	home.path = found.path;
	for (size_t i = 0; i < RF_ARRAY_SIZE(credentials); i++) {
		r = add_credential(planner, &home, credentials[i]);
		if (r < 0)
			return r;
	}
	return add_cargo(planner, &home);
}

/* ---- Places of the sandbox's own ----------------------------------------------------------- */

static int add_made(struct rf_planner *planner, const char *path, uint32_t flags, const char *data,
	unsigned int perms)
{
	struct rf_node like = {.is_directory = !data, .data = (char *)data, .perms = perms};

	if (rf_path_is_within(path, planner->plan->workspace))
		return 0;
	return rf_rule_tree_add(&planner->tree, path, flags, &like);
}

/* Those who exist inside: the user, root and nobody. */
static int add_accounts(struct rf_planner *planner)
{
	const struct rf_plan *plan = planner->plan;
	struct rf_buf users rf_autobuf = {0};
	struct rf_buf groups rf_autobuf = {0};
	const char *home = planner->home;
	int r;

	r = rf_buf_addf(&users, "root:x:0:0:root:%s:/bin/sh\n", plan->uid == 0 ? home : "/root");
	if (r == 0)
		r = rf_buf_addf(&groups, "root:x:0:\n");
	if (r == 0 && plan->uid != 0 && plan->uid != 65534)
		r = rf_buf_addf(&users, "%s:x:%u:%u::%s:/bin/sh\n", planner->user_name, plan->uid,
			plan->gid, home);
	if (r == 0 && plan->gid != 0 && plan->gid != 65534)
		r = rf_buf_addf(&groups, "%s:x:%u:\n", planner->user_name, plan->gid);
	if (r == 0)
		r = rf_buf_addf(&users, "nobody:x:65534:65534:nobody:%s:/bin/sh\n",
			plan->uid == 65534 ? home : "/nonexistent");
	if (r == 0)
		r = rf_buf_addf(&groups, "nogroup:x:65534:\n");
	if (r == 0)
		r = add_made(planner, "/etc/passwd", RF_NODE_DATA, users.data, 0);
	return r < 0 ? r : add_made(planner, "/etc/group", RF_NODE_DATA, groups.data, 0);
}

/* Landlock's rights on the device files that every program may use. */
static int add_devices(struct rf_planner *planner)
{
	static const char *const strict_devices[] = {
		"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"};
	int r = add_made(planner, "/dev", RF_NODE_DEV, NULL, 0);

	if (!planner->plan->is_strict)
		return r < 0 ? r : add_made(planner, "/dev/shm", RF_NODE_PRIVATE, NULL, 01777);
	for (size_t i = 0; r == 0 && i < RF_ARRAY_SIZE(strict_devices); i++) {
		struct rf_node like = {.perms = i == 0 ? RF_ACCESS_TERMINAL : RF_ACCESS_DEVICE};
		struct rf_found found rf_autofound = {0};

		r = rf_resolve(&planner->root, strict_devices[i], &found);
		if (r < 0 || found.kind != RF_FOUND_EXISTING)
			continue;
		like.dev = found.dev;
		like.ino = found.ino;
		r = rf_rule_tree_add(&planner->tree, strict_devices[i], RF_NODE_DEVICE, &like);
	}
	return r;
}

static int add_directories(struct rf_planner *planner)
{
	static const char *const below_home[] = {
		"", "/.cache", "/.config", "/.local", "/.local/share", "/.local/state"};
	struct rf_plan *plan = planner->plan;
	int r = 0;

	if (strcmp(planner->temporary, "/tmp") != 0)
		r = rf_strv_add(&plan->directories, planner->temporary);
	for (size_t i = 0; r == 0 && i < RF_ARRAY_SIZE(below_home); i++)
		r = rf_strv_addf(&plan->directories, "%s%s", planner->home, below_home[i]);
	return r;
}

static int add_made_places(struct rf_planner *planner)
{
	int r = add_made(planner, "/proc", RF_NODE_PROC, NULL, 0);

	if (r == 0)
		r = add_devices(planner);
	if (r == 0)
		r = add_made(planner, "/tmp", RF_NODE_PRIVATE, NULL, 01777);
	if (r == 0)
		r = add_made(planner, "/var/tmp", RF_NODE_PRIVATE, NULL, 01777);
	if (r == 0)
		r = add_made(planner, "/run", RF_NODE_PRIVATE, NULL, 01777);
	if (r == 0)
		r = add_made(planner, "/var/run", RF_NODE_LINK, "/run", 0);
	if (r == 0)
		r = add_accounts(planner);
	return r < 0 ? r : add_directories(planner);
}

int rf_planner_runtime(struct rf_planner *planner)
{
	static const char *const interpreters[] = {"node", "bun", "python3"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < RF_ARRAY_SIZE(runtime_reads); i++)
		r = add_runtime_read(planner, runtime_reads[i]);
	for (size_t i = 0; r == 0 && i < RF_ARRAY_SIZE(interpreters); i++)
		r = find_interpreter(planner, interpreters[i]);
	if (r == 0)
		r = add_corepack_cache(planner);
	if (r == 0)
		r = add_made_places(planner);
	for (size_t i = 0; r == 0 && i < RF_HOMES; i++)
		r = add_home(planner, planner->homes[i]);
	return r < 0 ? r : add_credential(planner, &planner->root, "/etc/ssl/private");
}
