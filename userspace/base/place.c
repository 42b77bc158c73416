/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

#ifndef RF_LIBEXECDIR
#define RF_LIBEXECDIR "/usr/local/libexec/ringfence"
#endif

/* Makes the directory when missing and refuses one that somebody else prepared. */
static int make_own(const char *path, uid_t uid, mode_t mode)
{
	struct stat st;

	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != uid || (st.st_mode & 022))
		return -EPERM;
	return 0;
}

static int is_own_directory(const char *path, uid_t uid)
{
	struct stat st;

	return path && path[0] == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == uid;
}

int rf_place_runtime(uid_t uid, char **ret_directory)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *path rf_autofree = NULL;
	int r;

	if (uid == 0)
		r = asprintf(&path, "/run/ringfence");
	else if (is_own_directory(runtime, uid))
		r = asprintf(&path, "%s/ringfence", runtime);
	else
		r = asprintf(&path, "/tmp/ringfence-%u", (unsigned int)uid);
	if (r < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = make_own(path, uid, uid == 0 ? 0755 : 0700);
	if (r < 0)
		return r;
	*ret_directory = RF_TAKE(path);
	return 0;
}

/* mkdir -p below a directory that exists. */
static int make_all(char *path)
{
	for (char *at = path + 1; *at; at++) {
		int r;

		if (*at != '/')
			continue;
		*at = '\0';
		r = mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
		*at = '/';
		if (r < 0)
			return r;
	}
	return 0;
}

int rf_place_state(uid_t uid, const char *home, char **ret_directory)
{
	const char *state = getenv("XDG_STATE_HOME");
	char *path rf_autofree = NULL;
	int r;

	if (uid == 0)
		r = asprintf(&path, "/var/lib/ringfence");
	else if (is_own_directory(state, uid))
		r = asprintf(&path, "%s/ringfence", state);
	else if (is_own_directory(home, uid))
		r = asprintf(&path, "%s/.local/state/ringfence", home);
	else
		return rf_place_runtime(uid, ret_directory);
	if (r < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = make_all(path);
	if (r == 0)
		r = make_own(path, uid, 0700);
	if (r < 0)
		return uid == 0 ? r : rf_place_runtime(uid, ret_directory);
	*ret_directory = RF_TAKE(path);
	return 0;
}

int rf_place_program(const char *name, char **ret_path)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *directory rf_autofree = NULL;
	char *path rf_autofree = NULL;

	if (n < 0)
		return -errno;
	self[n] = '\0';
	directory = rf_path_parent(self);
	path = directory ? rf_path_join(directory, name) : NULL;
	if (!path)
		return -ENOMEM;
	if (access(path, X_OK) < 0) {
		free(path);
		path = rf_path_join(RF_LIBEXECDIR, name);
		if (!path)
			return -ENOMEM;
		if (access(path, X_OK) < 0)
			return -ENOENT;
	}
	*ret_path = RF_TAKE(path);
	return 0;
}
