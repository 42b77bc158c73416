/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"

#define SYSTEM_POLICY "/etc/ringfence/policy.yaml"

static int refuse_reading(const char *name, int error, unsigned int limit, struct rf_diag *diag)
{
	int r;

	if (error == -EFBIG)
		r = rf_diag_refuse(
			diag, "file-too-large", "%s is larger than %u bytes", name, limit);
	else
		r = rf_diag_refuse(
			diag, "file-unreadable", "cannot read %s: %s", name, strerror(-error));
	rf_diag_hint(diag, "%s",
		error == -EFBIG ? "name directories instead of what they hold"
				: "is it there, and may you read it?");
	rf_diag_path(diag, name);
	return r;
}

static int read_policy(int fd, const char *name, struct rf_policy *policy, struct rf_diag *diag)
{
	struct rf_policy over rf_autopolicy = {0};
	char *text rf_autofree = NULL;
	size_t size = 0;
	int r = rf_read_all(fd, RF_POLICY_FILE_MAX_BYTES, &text, &size);

	if (r < 0)
		return refuse_reading(name, r, RF_POLICY_FILE_MAX_BYTES, diag);
	r = rf_policy_read(name, text, size, &over, diag);
	return r == 0 ? rf_policy_overlay(policy, &over) : r;
}

static int open_and_read(
	const char *path, bool may_be_missing, struct rf_policy *policy, struct rf_diag *diag)
{
	int fd rf_autoclose = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && may_be_missing && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return refuse_reading(path, -errno, 0, diag);
	return read_policy(fd, path, policy, diag);
}

/* sudo and setpriv leave another user's variables: a directory counts only when it is our own. */
static bool is_own(const char *directory)
{
	struct stat st;

	return directory && directory[0] == '/' && stat(directory, &st) == 0 &&
	       st.st_uid == getuid();
}

/* NULL: no home, so no default of the user's. */
static char *user_policy_path(void)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	char *path = NULL;
	int r;

	if (is_own(config)) {
		r = asprintf(&path, "%s/ringfence/policy.yaml", config);
		return r < 0 ? NULL : path;
	}
	if (!is_own(home)) {
		const struct passwd *user = getpwuid(getuid());

		home = user ? user->pw_dir : NULL;
	}
	if (!is_own(home))
		return NULL;
	r = asprintf(&path, "%s/.config/ringfence/policy.yaml", home);
	return r < 0 ? NULL : path;
}

int rf_policy_files_read(const char *named, struct rf_policy *ret_policy, struct rf_diag *diag)
{
	struct rf_policy policy rf_autopolicy = {0};
	char *user rf_autofree = user_policy_path();
	int r = open_and_read(SYSTEM_POLICY, true, &policy, diag);

	if (r == 0 && user)
		r = open_and_read(user, true, &policy, diag);
	if (r == 0 && named && strcmp(named, "-") == 0)
		r = read_policy(STDIN_FILENO, "standard input", &policy, diag);
	else if (r == 0 && named)
		r = open_and_read(named, false, &policy, diag);
	if (r != 0)
		return r;
	*ret_policy = policy;
	policy = (struct rf_policy){0};
	return 0;
}

static int add_line(const char *path, unsigned int number, const char *line,
	struct rf_policy *policy, struct rf_diag *diag)
{
	int r = *line && *line != '#' ? rf_policy_set(policy, "environment.set", line, diag) : 0;

	if (r == RF_REFUSED)
		rf_diag_at(diag, path, number, 1);
	return r;
}

int rf_environment_file_read(const char *path, struct rf_policy *policy, struct rf_diag *diag)
{
	int fd rf_autoclose = open(path, O_RDONLY | O_CLOEXEC);
	char *text rf_autofree = NULL;
	size_t size = 0;
	char *rest;
	int r;

	if (fd < 0)
		return refuse_reading(path, -errno, 0, diag);
	r = rf_read_all(fd, RF_ENVIRONMENT_MAX_BYTES, &text, &size);
	if (r < 0)
		return refuse_reading(path, r, RF_ENVIRONMENT_MAX_BYTES, diag);
	if (strlen(text) != size)
		return rf_diag_refuse(diag, "environment-file", "%s has a NUL byte", path);
	rest = text;
	for (unsigned int number = 1; rest; number++) {
		const char *line = strsep(&rest, "\n");

		r = add_line(path, number, line, policy, diag);
		if (r != 0)
			return r;
	}
	return 0;
}
