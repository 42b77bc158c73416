/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * filter CALL[:ARGUMENT:VALUE|:ARGUMENT~BITS]=ERRNO[,…] -- COMMAND [ARG…]
 *
 * Runs COMMAND under a seccomp filter that answers ERRNO to the named calls, as the profile of a
 * container would. A condition is on the lower half of one argument, which is all of the flags and
 * commands that it is for: `bpf:0:BPF_MAP_UPDATE_ELEM=E2BIG` is that command alone,
 * `clone:0~CLONE_NEWUSER=EPERM` is any call with one of the bits. Calls and values may be numbers.
 * The first rule that fits answers. Calls of other architectures pass.
 */

#include <errno.h>
#include <error.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_INSTRUCTIONS 512
#define PER_RULE 5

struct name {
	const char *name;
	uint32_t value;
};

#define CALL(x)             \
	{                   \
#x, SYS_##x \
	}
static const struct name calls[] = {
	CALL(accept4),
	CALL(bpf),
	CALL(capset),
	CALL(chroot),
	CALL(clone),
	CALL(clone3),
	CALL(close_range),
	CALL(connect),
	CALL(execve),
	CALL(execveat),
	CALL(fchdir),
	CALL(fcntl),
	CALL(fsmount),
	CALL(fsopen),
	CALL(ftruncate),
	CALL(getdents64),
	CALL(io_uring_enter),
	CALL(io_uring_register),
	CALL(io_uring_setup),
	CALL(ioctl),
	CALL(kill),
	CALL(landlock_add_rule),
	CALL(landlock_create_ruleset),
	CALL(landlock_restrict_self),
	CALL(linkat),
	CALL(memfd_create),
	CALL(mkdir),
	CALL(mkdirat),
	CALL(mount),
	CALL(mount_setattr),
	CALL(move_mount),
	CALL(name_to_handle_at),
	CALL(open_tree),
	CALL(openat),
	CALL(openat2),
	CALL(perf_event_open),
	CALL(pidfd_getfd),
	CALL(pidfd_open),
	CALL(pidfd_send_signal),
	CALL(pivot_root),
	CALL(prctl),
	CALL(prlimit64),
	CALL(ptrace),
	CALL(renameat2),
	CALL(seccomp),
	CALL(setgroups),
	CALL(setns),
	CALL(setresgid),
	CALL(setresuid),
	CALL(setrlimit),
	CALL(setsid),
	CALL(socket),
	CALL(socketpair),
	CALL(statx),
	CALL(umount2),
	CALL(unlinkat),
	CALL(unshare),
	CALL(waitid),
	CALL(write),
};

#define VALUE(x)      \
	{             \
#x, x \
	}
static const struct name values[] = {
	VALUE(BPF_BTF_LOAD),
	VALUE(BPF_LINK_CREATE),
	VALUE(BPF_MAP_CREATE),
	VALUE(BPF_MAP_UPDATE_ELEM),
	VALUE(BPF_OBJ_PIN),
	VALUE(BPF_PROG_ATTACH),
	VALUE(BPF_PROG_LOAD),
	VALUE(BPF_RAW_TRACEPOINT_OPEN),
	VALUE(CLONE_NEWCGROUP),
	VALUE(CLONE_NEWIPC),
	VALUE(CLONE_NEWNET),
	VALUE(CLONE_NEWNS),
	VALUE(CLONE_NEWPID),
	VALUE(CLONE_NEWUSER),
	VALUE(CLONE_NEWUTS),
	VALUE(LANDLOCK_CREATE_RULESET_VERSION),
	VALUE(PR_CAPBSET_DROP),
	VALUE(PR_SET_NO_NEW_PRIVS),
	VALUE(PR_SET_SECCOMP),
};

static const struct name errnos[] = {
	VALUE(E2BIG),
	VALUE(EACCES),
	VALUE(EBUSY),
	VALUE(EINVAL),
	VALUE(ENODEV),
	VALUE(ENOENT),
	VALUE(ENOMEM),
	VALUE(ENOSPC),
	VALUE(ENOSYS),
	VALUE(EOPNOTSUPP),
	VALUE(EPERM),
	VALUE(EROFS),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t find(const char *text, const struct name *names, size_t count)
{
	char *end;
	unsigned long value;

	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i].name, text) == 0)
			return names[i].value;
	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || end == text || *end || value > UINT32_MAX)
		error(2, 0, "%s is not known here", text);
	return (uint32_t)value;
}

static struct sock_filter code[MAX_INSTRUCTIONS];
static unsigned short length;

static void emit(uint16_t operation, uint32_t value, uint8_t if_not)
{
	code[length++] = (struct sock_filter){operation, 0, if_not, value};
}

/* A jump that does not hold goes past the rule. */
static void add_rule(char *rule)
{
	char *answer = strchr(rule, '=');
	char *condition = strpbrk(rule, ":~");
	char *value = NULL, is_mask = 0;
	uint32_t index = 0;

	if (length + PER_RULE >= MAX_INSTRUCTIONS || !answer)
		error(2, 0, "no CALL=ERRNO: %s", rule);
	*answer++ = '\0';
	if (condition && condition < answer) {
		*condition++ = '\0';
		value = strpbrk(condition, ":~");
		if (!value)
			error(2, 0, "no ARGUMENT:VALUE: %s", condition);
		is_mask = *value == '~';
		*value++ = '\0';
		index = find(condition, NULL, 0);
		if (index > 5)
			error(2, 0, "no argument has the number %s", condition);
	}
	emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0);
	emit(BPF_JMP | BPF_JEQ | BPF_K, find(rule, calls, COUNT(calls)), value ? 3 : 1);
	if (value) {
		emit(BPF_LD | BPF_W | BPF_ABS,
			(uint32_t)(offsetof(struct seccomp_data, args) + index * sizeof(uint64_t)),
			0);
		emit(BPF_JMP | (is_mask ? BPF_JSET : BPF_JEQ) | BPF_K,
			find(value, values, COUNT(values)), 1);
	}
	emit(BPF_RET | BPF_K,
		SECCOMP_RET_ERRNO | (find(answer, errnos, COUNT(errnos)) & SECCOMP_RET_DATA), 0);
}

/* Root's filter comes without no_new_privs, as a container's does. */
static int install(const struct sock_fprog *program)
{
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program) == 0)
		return 0;
	if (errno != EACCES || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
}

int main(int argc, char **argv)
{
	struct sock_fprog program = {.filter = code};
	char *next = NULL;

	if (argc < 4 || strcmp(argv[2], "--") != 0)
		error(2, 0,
			"usage: filter CALL[:ARGUMENT:VALUE|:ARGUMENT~BITS]=ERRNO[,…] -- COMMAND");
	emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0);
	emit(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0);
	code[length - 1].jt = 1;
	emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0);
	for (char *rule = strtok_r(argv[1], ",", &next); rule; rule = strtok_r(NULL, ",", &next))
		add_rule(rule);
	emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0);
	program.len = length;
	if (install(&program))
		error(2, errno, "seccomp");
	execvp(argv[3], argv + 3);
	error(127, errno, "%s", argv[3]);
}
