/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * escape_files OUTSIDE INSIDE: every way to change what lies in OUTSIDE, a directory that may be
 * read, by somebody who may write in INSIDE. OUTSIDE has file, other, link (to file) and
 * directory/; INSIDE is empty. What one attempt spoilt the next needs not; each file is used for
 * its own.
 */

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#include "escape.h"

#define PATH_BYTES 4096

static const char *outside, *inside;

/* Two buffers, so that a call can have two paths. */
static const char *path(const char *directory, const char *name)
{
	static char buffers[2][PATH_BYTES];
	static unsigned int next;
	char *buffer = buffers[next++ % 2];

	if (snprintf(buffer, PATH_BYTES, "%s/%s", directory, name) >= PATH_BYTES)
		_exit(2);
	return buffer;
}

static const char *out(const char *name)
{
	return path(outside, name);
}

static const char *in(const char *name)
{
	return path(inside, name);
}

static void report_open(const char *what, int fd)
{
	escape_report(what, fd);
	if (fd >= 0)
		close(fd);
}

static void try_opens(void)
{
	struct open_how how = {.flags = O_WRONLY};

	report_open("open-write", open(out("file"), O_WRONLY));
	report_open("open-append", open(out("file"), O_WRONLY | O_APPEND));
	report_open("open-truncate", open(out("file"), O_WRONLY | O_TRUNC));
	report_open("open-read-truncate", open(out("file"), O_RDONLY | O_TRUNC));
	report_open("open-create", open(out("made"), O_WRONLY | O_CREAT, 0644));
	report_open("open-temporary", open(outside, O_WRONLY | O_TMPFILE, 0600));
	report_open("open-link", open(out("link"), O_WRONLY));
	report_open("openat2", (int)syscall(SYS_openat2, AT_FDCWD, out("file"), &how, sizeof(how)));
	escape_report("truncate", truncate(out("file"), 0));
}

static void try_names(void)
{
	escape_report("mkdir", mkdir(out("made-directory"), 0755));
	escape_report("mkfifo", mkfifo(out("made-fifo"), 0644));
	escape_report("symlink", symlink("file", out("made-link")));
	escape_report("link-within", link(out("file"), out("made-name")));
	escape_report("link-in", link(out("file"), in("linked")));
	escape_report("rename-within", rename(out("other"), out("renamed")));
	escape_report("rename-out", rename(in("mine"), out("brought")));
	escape_report("rename-in", rename(out("directory"), in("taken")));
	escape_report("exchange",
		renameat2(AT_FDCWD, in("other"), AT_FDCWD, out("second"), RENAME_EXCHANGE));
	escape_report("unlink", unlink(out("third")));
	escape_report("rmdir", rmdir(out("second-directory")));
}

static void try_attributes(void)
{
	struct timespec times[2] = {{0}, {0}};

	escape_report("chmod", chmod(out("file"), 0777));
	escape_report("chown", lchown(out("file"), 0, 0));
	escape_report("utimens", utimensat(AT_FDCWD, out("file"), times, 0));
	escape_report("setxattr", setxattr(out("file"), "user.rf", "x", 1, 0));
}

static int reopen(const char *directory, int fd, int flags)
{
	char name[PATH_BYTES];

	snprintf(name, sizeof(name), "%s/%d", directory, fd);
	return open(name, flags);
}

/* What was opened for reading, opened again or changed through its descriptor. */
static void try_descriptors(void)
{
	int fd = open(out("file"), O_RDONLY | O_CLOEXEC);
	int place = open(out("file"), O_PATH | O_CLOEXEC);
	int directory = open(outside, O_PATH | O_DIRECTORY | O_CLOEXEC);
	long flags = 0;
	char name[64];

	report_open("proc-fd-write", reopen("/proc/self/fd", fd, O_WRONLY));
	report_open("proc-fd-truncate", reopen("/proc/self/fd", fd, O_RDWR | O_TRUNC));
	report_open("proc-path-write", reopen("/proc/self/fd", place, O_WRONLY));
	report_open("dev-fd-write", reopen("/dev/fd", fd, O_WRONLY));
	report_open("thread-fd-write", reopen("/proc/thread-self/fd", fd, O_WRONLY));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
	escape_report("proc-fd-chmod", chmod(name, 0666));
	escape_report("proc-fd-link",
		linkat(AT_FDCWD, name, AT_FDCWD, in("linked-by-proc"), AT_SYMLINK_FOLLOW));
	escape_report("fchmod", fchmod(fd, 0666));
	escape_report("fchown", fchown(fd, 0, 0));
	escape_report("fsetxattr", fsetxattr(fd, "user.rf", "x", 1, 0));
	escape_report("setflags",
		ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 ? -1 : ioctl(fd, FS_IOC_SETFLAGS, &flags));
	report_open("openat-create", openat(directory, "made-at", O_WRONLY | O_CREAT, 0644));
	report_open("openat-dots", openat(directory, "directory/../file", O_WRONLY));
}

/* The same file by the names that other processes' roots give it. */
static void try_roots(void)
{
	static const char *const roots[] = {
		"/proc/self/root", "/proc/thread-self/root", "/proc/self/cwd", "/proc/1/root"};
	char name[PATH_BYTES];
	char what[64];

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		/* The working directory is INSIDE: OUTSIDE is its neighbour. */
		snprintf(name, sizeof(name), "%s%s", roots[i],
			strstr(roots[i], "cwd") ? "/../outside/file" : out("file"));
		snprintf(what, sizeof(what), "%s-write", roots[i] + strlen("/proc/"));
		report_open(what, open(name, O_WRONLY));
	}
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: escape_files OUTSIDE INSIDE\n");
		return 2;
	}
	outside = argv[1];
	inside = argv[2];
	fd = open(in("mine"), O_WRONLY | O_CREAT, 0644);
	escape_report("inside", fd);
	escape_report("inside-other", mknod(in("other"), S_IFREG | 0644, 0));
	if (chdir(inside) < 0)
		return 2;
	try_descriptors();
	try_roots();
	try_attributes();
	try_opens();
	try_names();
	return 0;
}
