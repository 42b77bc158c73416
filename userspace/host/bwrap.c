/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * PATH plays no part: what a caller can put into an environment must not choose the program that
 * builds the walls. Version and abilities are read from the text inside the opened file, which
 * costs a tenth of an exec; the file is root's (or the caller's own), so it does not lie to us in
 * any way in which its output could not.
 */

#include "host/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* Debian's is 72 KiB; a static one is below 2 MiB. */
#define BINARY_MAX_BYTES (16U * 1024 * 1024)

/* In every program of ours, and not in bubblewrap. */
#define OURSELVES "ringfence"

static const char *const system_places[] = {
	"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", NULL};

static bool is_ourselves(const struct stat *st)
{
	struct stat self;

	return stat("/proc/self/exe", &self) == 0 && self.st_dev == st->st_dev &&
	       self.st_ino == st->st_ino;
}

/* NULL: it may be trusted; else what is wrong with it. */
static const char *judge(const struct stat *st, uid_t owner)
{
	if (!S_ISREG(st->st_mode))
		return "is not a regular file";
	if (st->st_uid != 0 && st->st_uid != owner)
		return "is owned neither by root nor by the caller";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "is writable by group or others";
	if (!(st->st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) || st->st_size == 0)
		return "is not an executable program";
	if (is_ourselves(st))
		return "is ringfence itself";
	return NULL;
}

static bool read_digits(const char **at, const char *end, unsigned int *ret_value)
{
	unsigned int value = 0;
	unsigned int n = 0;

	for (; *at < end && **at >= '0' && **at <= '9' && n < 6; n++, (*at)++)
		value = value * 10 + (unsigned int)(**at - '0');
	*ret_value = value;
	return n > 0;
}

/* "bubblewrap 0.8.0", as it prints for --version. */
static bool find_version(const char *data, size_t size_bytes, unsigned int ret_version[3])
{
	static const char name[] = "bubblewrap ";
	const char *end = data + size_bytes;
	const char *at = data;

	while ((at = memmem(at, (size_t)(end - at), name, sizeof(name) - 1))) {
		unsigned int v[3] = {0};

		at += sizeof(name) - 1;
		if (!read_digits(&at, end, &v[0]) || at >= end || *at++ != '.' ||
			!read_digits(&at, end, &v[1]))
			continue;
		if (at < end && *at == '.') {
			at++;
			(void)read_digits(&at, end, &v[2]);
		}
		memcpy(ret_version, v, sizeof(v));
		return true;
	}
	return false;
}

static const char *read_abilities(struct rf_bwrap *bwrap)
{
	static const char option[] = "--ro-bind-fd";
	char *data rf_autofree = NULL;
	size_t size_bytes = 0;

	if (rf_read_all(bwrap->fd, BINARY_MAX_BYTES, &data, &size_bytes) < 0)
		return "cannot be read";
	if (lseek(bwrap->fd, 0, SEEK_SET) < 0)
		return "cannot be read";
	if (size_bytes < 4 || memcmp(data, "\177ELF", 4) != 0)
		return "is not a program of this system";
	/* A link or copy under that name: our own texts name versions of it too. */
	if (memmem(data, size_bytes, OURSELVES, strlen(OURSELVES)))
		return "is ringfence itself";
	if (!find_version(data, size_bytes, bwrap->version))
		return "does not say that it is bubblewrap";
	bwrap->has_bind_fd = memmem(data, size_bytes, option, sizeof(option)) != NULL;
	return NULL;
}

static void explain(struct rf_bwrap *bwrap, const char *path, const char *problem, int error)
{
	/* Of several candidates, the first that is there but wrong is worth naming. */
	if (bwrap->fact.why[0])
		return;
	(void)snprintf(bwrap->fact.why, sizeof(bwrap->fact.why), "%.150s %s%s%.60s", path, problem,
		error ? ": " : "", error ? strerror(error) : "");
	(void)snprintf(bwrap->fact.remedy, sizeof(bwrap->fact.remedy),
		"install the package bubblewrap anew, owned by root with mode 0755");
}

static bool try_candidate(struct rf_bwrap *bwrap, const char *path, uid_t owner)
{
	const char *problem;
	struct stat st;

	/* O_NONBLOCK: a FIFO put there must not hold us. */
	bwrap->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (bwrap->fd < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			explain(bwrap, path, "(bwrap) cannot be opened", errno);
		return false;
	}
	problem = fstat(bwrap->fd, &st) < 0 ? "cannot be examined" : judge(&st, owner);
	if (!problem)
		problem = read_abilities(bwrap);
	if (problem) {
		explain(bwrap, path, problem, 0);
		bwrap->fd = rf_close(bwrap->fd);
		return false;
	}
	bwrap->is_setuid = st.st_mode & S_ISUID;
	return true;
}

void rf_bwrap_find(const char *const *candidates, uid_t owner, struct rf_bwrap *ret_bwrap)
{
	*ret_bwrap = (struct rf_bwrap){.fd = -1};
	for (candidates = candidates ? candidates : system_places; *candidates; candidates++) {
		if (!try_candidate(ret_bwrap, *candidates, owner))
			continue;
		(void)snprintf(ret_bwrap->path, sizeof(ret_bwrap->path), "%s", *candidates);
		ret_bwrap->fact = (struct rf_fact){.state = RF_STATE_ENFORCED};
		return;
	}
	if (ret_bwrap->fact.why[0])
		return;
	(void)snprintf(ret_bwrap->fact.why, sizeof(ret_bwrap->fact.why),
		"bubblewrap (bwrap) is not installed");
	(void)snprintf(ret_bwrap->fact.remedy, sizeof(ret_bwrap->fact.remedy),
		"install the package bubblewrap, which puts bwrap into /usr/bin");
}

void rf_bwrap_clear(struct rf_bwrap *bwrap)
{
	bwrap->fd = rf_close(bwrap->fd);
}
