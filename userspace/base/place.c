/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

#ifndef RF_LIBEXECDIR
#define RF_LIBEXECDIR "/usr/local/libexec/ringfence"
#endif

#define MAKE_RETRIES 100

/* What is wrong with a directory that somebody else prepared; 0 or RF_REFUSED. */
static int judge_own(const char *path, uid_t uid, const struct stat *st, const char *what,
	const char *code, struct rf_diag *diag)
{
	if (!S_ISDIR(st->st_mode))
		rf_diag_refuse(diag, code, "%s %s is %s", what, path,
			S_ISLNK(st->st_mode) ? "a symbolic link" : "no directory");
	else if (st->st_uid != uid)
		rf_diag_refuse(diag, code, "%s %s belongs to uid %u, not to uid %u", what, path,
			(unsigned int)st->st_uid, (unsigned int)uid);
	else if (st->st_mode & 022)
		rf_diag_refuse(diag, code, "%s %s can be written by others (mode %04o)", what, path,
			(unsigned int)(st->st_mode & 07777));
	else
		return 0;
	rf_diag_path(diag, path);
	return RF_REFUSED;
}

/* Makes the directory when missing and refuses one that somebody else prepared. */
static int make_own(const char *path, uid_t uid, mode_t mode, const char *what, const char *code,
	struct rf_diag *diag)
{
	struct stat st;

	/* The last controller of this user may remove it in between: then again. */
	for (int i = 0; i < MAKE_RETRIES; i++) {
		if (mkdir(path, mode) < 0 && errno != EEXIST)
			break;
		if (lstat(path, &st) == 0)
			return judge_own(path, uid, &st, what, code, diag);
		if (errno != ENOENT)
			break;
	}
	rf_diag_refuse(diag, code, "cannot make %s %s: %s", what, path, strerror(errno));
	rf_diag_path(diag, path);
	return RF_REFUSED;
}

static int is_own_directory(const char *path, uid_t uid)
{
	struct stat st;

	return path && path[0] == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == uid;
}

int rf_place_runtime(uid_t uid, char **ret_directory, struct rf_diag *diag)
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
	r = make_own(path, uid, uid == 0 ? 0755 : 0700, "the runtime directory",
		"runtime-directory", diag);
	if (r != 0) {
		rf_diag_hint(diag, "%s",
			uid == 0 ? "mend it, or move it away"
				 : "set XDG_RUNTIME_DIR to a directory of your own");
		return r;
	}
	*ret_directory = RF_TAKE(path);
	return 0;
}

/* mkdir -p of what is above; what fails here fails again for the directory itself. */
static void make_parents(char *path)
{
	for (char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
}

int rf_place_state(uid_t uid, const char *home, char **ret_directory, struct rf_diag *diag)
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
		return rf_place_runtime(uid, ret_directory, diag);
	if (r < 0) {
		path = NULL;
		return -ENOMEM;
	}
	make_parents(path);
	r = make_own(path, uid, 0700, "the ledger's directory", "ledger-unavailable",
		uid == 0 ? diag : NULL);
	if (r != 0 && uid != 0)
		return rf_place_runtime(uid, ret_directory, diag);
	if (r != 0) {
		rf_diag_hint(diag, "mend it, or move it away; no run starts without the ledger");
		return r;
	}
	*ret_directory = RF_TAKE(path);
	return 0;
}

#define PLACES 3

/* Beside the executable, ../libexec/ringfence from it, and the configured one; the caller frees. */
static int find_places(char *ret_places[PLACES])
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *bin rf_autofree = NULL;
	char *prefix rf_autofree = NULL;

	if (n < 0)
		return -errno;
	self[n] = '\0';
	bin = rf_path_parent(self);
	prefix = bin ? rf_path_parent(bin) : NULL;
	if (!prefix)
		return -ENOMEM;
	ret_places[0] = RF_TAKE(bin);
	ret_places[1] = rf_path_join(prefix, "libexec/ringfence");
	ret_places[2] = strdup(RF_LIBEXECDIR);
	return ret_places[1] && ret_places[2] ? 0 : -ENOMEM;
}

static void free_places(char *(*places)[PLACES])
{
	for (int i = 0; i < PLACES; i++)
		free((*places)[i]);
}

int rf_place_program(const char *name, char **ret_path)
{
	char *places[PLACES] rf_cleanup(free_places) = {NULL};
	int r = find_places(places);

	for (int i = 0; r == 0 && i < PLACES; i++) {
		char *path rf_autofree = rf_path_join(places[i], name);

		if (!path)
			return -ENOMEM;
		if (access(path, X_OK) < 0)
			continue;
		*ret_path = RF_TAKE(path);
		return 0;
	}
	return r < 0 ? r : -ENOENT;
}

char *rf_place_searched(void)
{
	char *places[PLACES] rf_cleanup(free_places) = {NULL};
	char *text = NULL;

	if (find_places(places) < 0 || !places[1] || !places[2])
		return NULL;
	if (strcmp(places[1], places[2]) == 0)
		return asprintf(&text, "%s or %s", places[0], places[1]) < 0 ? NULL : text;
	return asprintf(&text, "%s, %s or %s", places[0], places[1], places[2]) < 0 ? NULL : text;
}
