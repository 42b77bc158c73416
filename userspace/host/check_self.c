/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a process does to itself: Landlock, seccomp, limits; and io_uring, which it opens. */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/landlock.h"
#include "base/place.h"
#include "host/btf.h"
#include "host/bwrap.h"
#include "host/check.h"

enum rf_built rf_check_landlock_built(void)
{
	char *data rf_autofree = NULL;
	size_t size_bytes = 0;
	uint32_t id = 0;
	int r;

	if (rf_btf_read(&data, &size_bytes) < 0)
		return RF_BUILT_UNKNOWN;
	r = rf_btf_find(data, size_bytes, RF_BTF_FUNC, "__do_sys_landlock_create_ruleset", &id);
	if (r == -ENOENT)
		r = rf_btf_find(
			data, size_bytes, RF_BTF_FUNC, "__x64_sys_landlock_create_ruleset", &id);
	/* Absence proves little: the compiler inlines and renames. */
	return r == 0 ? RF_BUILT_YES : RF_BUILT_UNKNOWN;
}

static bool set_no_new_privs(struct rf_check *check)
{
	return rf_check_did(check, RF_CALL_NO_NEW_PRIVS, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

/* Every right is handled and none granted: the root directory must close. */
static bool restrict_wholly(struct rf_check *check, unsigned int abi)
{
	struct rf_landlock_ruleset_attr attr = {.handled_access_fs = rf_landlock_fs_rights(abi)};
	int ruleset rf_autoclose = -1;
	int fd rf_autoclose = -1;

	/* The first field alone is what ABI 1 knows. */
	ruleset = (int)syscall(RF_SYS_LANDLOCK_CREATE_RULESET, &attr, sizeof(uint64_t), 0);
	if (!rf_check_did(check, "landlock_create_ruleset", ruleset) || !set_no_new_privs(check) ||
		!rf_check_did(check, "landlock_restrict_self",
			syscall(RF_SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0)))
		return false;
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 || errno != EACCES) {
		rf_check_fail(check, "open under Landlock", fd >= 0 ? 0 : errno);
		return false;
	}
	return true;
}

void rf_check_landlock(const struct rf_signs *signs, struct rf_check *check)
{
	long abi = syscall(
		RF_SYS_LANDLOCK_CREATE_RULESET, NULL, 0, RF_LANDLOCK_CREATE_RULESET_VERSION);

	if (!rf_check_did(check, "landlock_create_ruleset", abi) ||
		!restrict_wholly(check, (unsigned int)abi)) {
		rf_explain_landlock(signs,
			check->error == ENOSYS ? rf_check_landlock_built() : RF_BUILT_UNKNOWN,
			check);
		return;
	}
	check->state = RF_STATE_ENFORCED;
	rf_check_say(check, "ABI %ld", abi);
}

/* A number that no call of the kernel's gives back for getppid. */
#define CANARY_ERRNO EUCLEAN

void rf_check_seccomp(const struct rf_signs *signs, struct rf_check *check)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | CANARY_ERRNO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {RF_ARRAY_SIZE(instructions), instructions};

	(void)signs;
	if (!set_no_new_privs(check)) {
		rf_explain_no_new_privs(check);
		return;
	}
	if (!rf_check_did(check, "seccomp(SECCOMP_SET_MODE_FILTER)",
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_LOG,
			    &program))) {
		rf_check_say(check, "%s: %s", check->call, rf_errno_name(check->error));
		rf_check_advise(check, "boot a kernel with CONFIG_SECCOMP_FILTER");
		return;
	}
	if (syscall(SYS_getppid) >= 0 || errno != CANARY_ERRNO) {
		rf_check_fail(check, "getppid under a filter", 0);
		rf_check_say(check, "a filter was installed and refuses nothing");
		return;
	}
	check->state = RF_STATE_ENFORCED;
}

void rf_check_rlimits(const struct rf_signs *signs, struct rf_check *check)
{
	struct rlimit none = {0, 0};
	int fd rf_autoclose = -1;

	(void)signs;
	if (!rf_check_did(check, "setrlimit(RLIMIT_NOFILE)", setrlimit(RLIMIT_NOFILE, &none))) {
		rf_check_say(check, "%s: %s", check->call, rf_errno_name(check->error));
		return;
	}
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 || errno != EMFILE) {
		rf_check_fail(check, "open above the limit", fd >= 0 ? 0 : errno);
		rf_check_say(check, "a limit was set and does not hold");
		return;
	}
	check->state = RF_STATE_ENFORCED;
}

static void *map_ring(int ring, size_t size_bytes, off_t offset)
{
	return mmap(
		NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, offset);
}

/* One NOP, so that the whole way of an operation is known to work. */
static bool submit_nop(struct rf_check *check, int ring, const struct io_uring_params *p)
{
	size_t queue_bytes = p->sq_off.array + p->sq_entries * sizeof(uint32_t);
	char *queue = map_ring(ring, queue_bytes, IORING_OFF_SQ_RING);
	struct io_uring_sqe *entries =
		map_ring(ring, p->sq_entries * sizeof(*entries), (off_t)IORING_OFF_SQES);

	if (!rf_check_did(check, "mmap of the ring",
		    queue == MAP_FAILED || entries == MAP_FAILED ? -1 : 0))
		return false;
	entries[0] = (struct io_uring_sqe){.opcode = IORING_OP_NOP};
	((uint32_t *)(void *)(queue + p->sq_off.array))[0] = 0;
	__atomic_store_n((uint32_t *)(void *)(queue + p->sq_off.tail), 1, __ATOMIC_RELEASE);
	return rf_check_did(check, "io_uring_enter",
		syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
}

void rf_check_io_uring(const struct rf_signs *signs, struct rf_check *check)
{
	struct io_uring_params parameters = {0};
	int ring rf_autoclose = -1;

	ring = (int)syscall(SYS_io_uring_setup, 2, &parameters);
	if (!rf_check_did(check, "io_uring_setup", ring) || !submit_nop(check, ring, &parameters)) {
		rf_explain_io_uring(signs, check);
		return;
	}
	check->state = RF_STATE_ENFORCED;
}

void rf_check_launcher(const struct rf_signs *signs, struct rf_check *check)
{
	char *path rf_autofree = NULL;
	char *searched rf_autofree = NULL;
	int r = rf_place_program("ringfence-launch", &path);

	(void)signs;
	if (!rf_check_got(check, "access(ringfence-launch)", r)) {
		rf_check_say(check, "ringfence-launch: %s", rf_errno_name(check->error));
		searched = rf_place_searched();
		rf_check_advise(
			check, "install it into %.200s", searched ? searched : "libexec/ringfence");
		return;
	}
	check->state = RF_STATE_ENFORCED;
}
