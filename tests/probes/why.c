/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * why FILE: tries what FILE asks for, without effect, and says what the kernel answered: a line
 * each, "allowed", "denied", "absent" or "untried" and the errno's name. FILE has records that end
 * with NUL: r, w or x, then a path.
 *
 * A file is opened for writing and not written to; what is missing is made and removed; in a
 * directory a name is made and removed; what is executed is only checked (AT_EXECVE_CHECK).
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXECVE_CHECK 0x10000
#define OPEN (O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int try_read(const char *path)
{
	int fd = open(path, O_RDONLY | OPEN);
	int error = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}

/* Where a link led is what is removed, not the link. */
static void unmake(int fd)
{
	char link[40];
	char path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		abort();
	path[n] = '\0';
	if (unlink(path) < 0)
		abort();
}

static int try_make(const char *path)
{
	/* Of a name with a slash behind it no file is made: EISDIR, before anything is looked at.
	 */
	bool is_file = path[strlen(path) - 1] != '/';
	int fd = open(path, O_WRONLY | OPEN | (is_file ? O_CREAT : 0), 0600);
	int error = fd < 0 ? errno : 0;

	if (fd >= 0) {
		unmake(fd);
		close(fd);
	}
	return error;
}

static int try_write(const char *path)
{
	char name[8192];
	struct stat st;
	int error = 0;
	int fd;

	if (stat(path, &st) < 0)
		return try_make(path);
	if (S_ISDIR(st.st_mode)) {
		snprintf(name, sizeof(name), "%s/.rf-why-probe", path);
		return try_make(name);
	}
	fd = open(path, O_WRONLY | OPEN);
	if (fd < 0)
		error = errno;
	else
		close(fd);
	return error;
}

static int try_exec(const char *path)
{
	static char *const argv[] = {(char *)"x", NULL};
	static char *const environment[] = {NULL};

	if (syscall(SYS_execveat, AT_FDCWD, path, argv, environment, EXECVE_CHECK) == 0)
		return 0;
	return errno;
}

static int attempt(char access, const char *path)
{
	switch (access) {
	case 'r':
		return try_read(path);
	case 'w':
		return try_write(path);
	case 'x':
		return try_exec(path);
	}
	abort();
}

static const char *verdict(int error)
{
	switch (error) {
	case 0:
	/* Opened as far as permission goes: nobody is at the other end, or there is no terminal. */
	case ENXIO:
	case ENODEV:
		return "allowed";
	case ENOENT:
	case ENOTDIR:
		return "absent";
	/* In use as a program; a kernel before AT_EXECVE_CHECK. */
	case ETXTBSY:
	case EINVAL:
		return "untried";
	default:
		return "denied";
	}
}

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "re") : NULL;
	char *record = NULL;
	size_t room = 0;

	if (!file) {
		perror("why");
		return 2;
	}
	while (getdelim(&record, &room, '\0', file) > 1) {
		int error = attempt(record[0], record + 1);

		printf("%s %s\n", verdict(error), error ? strerrorname_np(error) : "-");
	}
	return fflush(stdout) != 0;
}
