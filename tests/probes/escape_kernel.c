/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * escape_kernel: calls that reach parts of the kernel with no bounds of the sandbox's. Where
 * success would change the machine, the arguments are bad: permission is asked first, so that
 * EPERM says closed and any other answer open.
 */

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <sys/io.h>

#include "escape.h"

#define SESSION_KEYRING KEY_SPEC_SESSION_KEYRING
#define PROCESS_KEYRING KEY_SPEC_PROCESS_KEYRING

static void try_bpf(void)
{
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
	union bpf_attr next = {.start_id = 0};

	escape_report("bpf-map-create", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)));
	/* ENOENT where nobody has a map. */
	escape_report("bpf-map-next", syscall(SYS_bpf, BPF_MAP_GET_NEXT_ID, &next, sizeof(next)));
	escape_report("bpf-prog-load", syscall(SYS_bpf, BPF_PROG_LOAD, NULL, 1));
	escape_report("bpf-obj-get", syscall(SYS_bpf, BPF_OBJ_GET, NULL, 1));
	escape_report("bpf-unknown", syscall(SYS_bpf, 9999, NULL, 1));
}

static void try_perf(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1};

	escape_report("perf_event_open", syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static void try_keys(void)
{
	escape_report("add_key", syscall(SYS_add_key, "user", "rf", "x", 1, PROCESS_KEYRING));
	escape_report("request_key", syscall(SYS_request_key, "user", "rf", NULL, 0));
	escape_report(
		"keyctl-session", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, PROCESS_KEYRING, 1));
	escape_report("keyctl-join", syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL));
}

static void try_modules(void)
{
	escape_report("init_module", syscall(SYS_init_module, NULL, 0, ""));
	escape_report("finit_module", syscall(SYS_finit_module, -1, "", 0));
	escape_report("delete_module", syscall(SYS_delete_module, "rf_no_such", O_NONBLOCK));
	escape_report("kexec_load", syscall(SYS_kexec_load, 0, 1UL << 20, NULL, ~0UL));
	escape_report("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, NULL, ~0UL));
}

static void try_machine(void)
{
	escape_report("reboot", syscall(SYS_reboot, 0, 0, 0, NULL));
	escape_report("swapon", syscall(SYS_swapon, "/rf-no-such-file", 0));
	escape_report("swapoff", syscall(SYS_swapoff, "/rf-no-such-file"));
	escape_report("acct", syscall(SYS_acct, "/rf-no-such-file"));
	escape_report("settimeofday", syscall(SYS_settimeofday, 8, NULL));
	escape_report("clock_settime", syscall(SYS_clock_settime, 0, 8));
	escape_report("ioperm", ioperm(0x80, 1, 1));
	escape_report("iopl", iopl(3));
	escape_report("sethostname", syscall(SYS_sethostname, NULL, 1));
	escape_report("quotactl", syscall(SYS_quotactl, 0x800002U << 8, NULL, 0, NULL));
	escape_report("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC));
	escape_report("mknod", syscall(SYS_mknod, "rf-node", 0020666, 0x103));
}

/* A handle names a file wherever it lies: the way out of every mount. */
static void try_handles(void)
{
	struct {
		struct file_handle handle;
		unsigned char space[128];
	} name = {.handle = {.handle_bytes = 128}};
	int mount_id;
	int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (name_to_handle_at(AT_FDCWD, ".", &name.handle, &mount_id, 0) < 0)
		name.handle.handle_bytes = 8;
	escape_report("open_by_handle_at",
		open_by_handle_at(directory, &name.handle, O_RDONLY | O_CLOEXEC));
}

int main(void)
{
	try_bpf();
	try_perf();
	try_keys();
	try_modules();
	try_machine();
	try_handles();
	return 0;
}
