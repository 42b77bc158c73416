/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * escape_id: who it runs as. Made set-uid or given file capabilities, it shows whether they count.
 * escape_id memory COMMAND [ARG...]: runs this program again from a file that has no name.
 */

#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "escape.h"

#define COPY_BYTES 65536

static int print_identity(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data) < 0)
		return 1;
	printf("uid %u euid %u gid %u egid %u groups %d capabilities %08x%08x\n", getuid(),
		geteuid(), getgid(), getegid(), getgroups(0, NULL), data[1].effective,
		data[0].effective);
	return 0;
}

static int run_from_memory(char **argv)
{
	static char bytes[COPY_BYTES];
	int memory = memfd_create("rf", 0);
	FILE *self = fopen("/proc/self/exe", "re");
	size_t n;

	if (memory < 0 || !self)
		return 1;
	while ((n = fread(bytes, 1, sizeof(bytes), self)) > 0)
		if (write(memory, bytes, n) != (ssize_t)n)
			return 1;
	fclose(self);
	fexecve(memory, argv, environ);
	escape_report("fexecve", -1);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "memory") == 0)
		return run_from_memory(argv + 2);
	if (argc > 1) {
		execv(argv[1], argv + 1);
		escape_report("execv", -1);
		return 1;
	}
	return print_identity();
}
