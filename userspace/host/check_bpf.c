/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * BPF by the system call alone: the client links no libbpf. Each kind of program is loaded and
 * attached, and a canary, where there is something to refuse, must really be refused. An LSM
 * program attaches even where `bpf` is not among the active modules, and is then never called.
 *
 * The LSM canary is told from every other process of the host by its name (PR_SET_NAME), 15
 * characters of chance that no one else carries: a pid would be another number in a PID namespace.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/btf.h"
#include "host/check.h"

/* What the canary's refusal looks like: nothing else answers socket() so. */
#define CANARY_ERRNO EUCLEAN
#define NAME_BYTES 16

static int call_bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static uint64_t pointer(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* dst, src: registers. */
static struct bpf_insn op(unsigned int code, unsigned int dst, unsigned int src, int off, int imm)
{
	return (struct bpf_insn){.code = (uint8_t)code,
		.dst_reg = dst & 0xf,
		.src_reg = src & 0xf,
		.off = (int16_t)off,
		.imm = imm};
}

static struct bpf_insn set(unsigned int dst, int imm)
{
	return op(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm);
}

static struct bpf_insn leave(void)
{
	return op(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

struct program {
	enum bpf_prog_type type;
	enum bpf_attach_type attach_type;
	uint32_t btf_id;
	const struct bpf_insn *instructions;
	size_t n;
};

static int load(const struct program *program)
{
	union bpf_attr attr = {0};

	attr.prog_type = program->type;
	attr.expected_attach_type = program->attach_type;
	attr.attach_btf_id = program->btf_id;
	attr.insns = pointer(program->instructions);
	attr.insn_cnt = (uint32_t)program->n;
	/* Helpers for tracing are for GPL-compatible programs. */
	attr.license = pointer("Dual BSD/GPL");
	return call_bpf(BPF_PROG_LOAD, &attr);
}

/* LSM and BTF tracing programs attach to what they were loaded for, hence without a name. */
static int attach_tracing(int program_fd)
{
	union bpf_attr attr = {0};

	attr.raw_tracepoint.prog_fd = (uint32_t)program_fd;
	return call_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
}

/* EPERM for an empty array means that the whole call is closed, by a filter or for want of rights.
 */
static bool is_call_closed(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};
	int fd rf_autoclose = call_bpf(BPF_MAP_CREATE, &attr);

	return fd < 0 && errno == EPERM;
}

static void explain(const struct rf_signs *signs, enum rf_bpf_kind kind, enum rf_bpf_step step,
	struct rf_check *check)
{
	rf_explain_bpf(signs, kind, step, step == RF_BPF_STEP_LOAD && is_call_closed(), check);
}

static bool find_type(struct rf_check *check, unsigned int kind, const char *name, uint32_t *ret_id)
{
	char *data rf_autofree = NULL;
	size_t size_bytes = 0;
	int r = rf_btf_read(&data, &size_bytes);

	if (!rf_check_got(check, "open(/sys/kernel/btf/vmlinux)", r))
		return false;
	return rf_check_got(
		check, "look-up in BTF", rf_btf_find(data, size_bytes, kind, name, ret_id));
}

/* Words of the name at which r10 - 16 will hold the current task's. */
static size_t add_name_test(struct bpf_insn *at, const char name[NAME_BYTES], size_t n, size_t end)
{
	for (size_t i = 0; i < NAME_BYTES / 8; i++) {
		uint32_t half[2];

		memcpy(half, name + i * 8, 8);
		at[n++] =
			op(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_10, -16 + 8 * (int)i, 0);
		at[n++] = op(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_2, 0, 0, (int)half[0]);
		at[n++] = op(0, 0, 0, 0, (int)half[1]);
		at[n] = op(BPF_JMP | BPF_JNE | BPF_X, BPF_REG_1, BPF_REG_2, (int)(end - n - 1), 0);
		n++;
	}
	return n;
}

#define LSM_INSTRUCTIONS 18

/* if (current->comm == name && family == AF_UNIX) return -CANARY_ERRNO; return 0; */
static void write_lsm_program(const char name[NAME_BYTES], struct bpf_insn ret[LSM_INSTRUCTIONS])
{
	const size_t pass = LSM_INSTRUCTIONS - 2;
	size_t n = 0;

	/* The hook's first argument. */
	ret[n++] = op(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_6, BPF_REG_1, 0, 0);
	ret[n++] = op(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_10, 0, 0);
	ret[n++] = op(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, -NAME_BYTES);
	ret[n++] = set(BPF_REG_2, NAME_BYTES);
	ret[n++] = op(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_comm);
	n = add_name_test(ret, name, n, pass);
	/* An int: the upper half of the register may be anything. */
	ret[n] = op(BPF_JMP32 | BPF_JNE | BPF_K, BPF_REG_6, 0, (int)(pass - n - 1), AF_UNIX);
	n++;
	ret[n++] = set(BPF_REG_0, -CANARY_ERRNO);
	ret[n++] = leave();
	ret[pass] = set(BPF_REG_0, 0);
	ret[pass + 1] = leave();
}

static void choose_name(char ret_name[NAME_BYTES])
{
	unsigned char chance[NAME_BYTES] = {0};

	memset(ret_name, 0, NAME_BYTES);
	(void)!getrandom(chance, sizeof(chance), GRND_NONBLOCK);
	for (size_t i = 0; i < NAME_BYTES - 1; i++)
		ret_name[i] = (char)('a' + chance[i] % 26);
}

static bool is_canary_refused(const char *name)
{
	int fd rf_autoclose = -1;

	if (prctl(PR_SET_NAME, name, 0, 0, 0) < 0)
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd < 0 && errno == CANARY_ERRNO;
}

void rf_check_bpf_lsm(const struct rf_signs *signs, struct rf_check *check)
{
	struct bpf_insn instructions[LSM_INSTRUCTIONS];
	struct program program = {.type = BPF_PROG_TYPE_LSM,
		.attach_type = BPF_LSM_MAC,
		.instructions = instructions,
		.n = LSM_INSTRUCTIONS};
	char name[NAME_BYTES];
	int fd rf_autoclose = -1;
	int link rf_autoclose = -1;

	choose_name(name);
	write_lsm_program(name, instructions);
	if (!find_type(check, RF_BTF_FUNC, "bpf_lsm_socket_create", &program.btf_id)) {
		explain(signs, RF_BPF_KIND_LSM, RF_BPF_STEP_BTF, check);
		return;
	}
	fd = load(&program);
	if (!rf_check_did(check, "bpf(BPF_PROG_LOAD, LSM)", fd)) {
		explain(signs, RF_BPF_KIND_LSM, RF_BPF_STEP_LOAD, check);
		return;
	}
	link = attach_tracing(fd);
	if (!rf_check_did(check, "bpf(BPF_RAW_TRACEPOINT_OPEN, LSM)", link)) {
		explain(signs, RF_BPF_KIND_LSM, RF_BPF_STEP_ATTACH, check);
		return;
	}
	if (!is_canary_refused(name)) {
		rf_check_fail(check, "socket under an LSM program", 0);
		explain(signs, RF_BPF_KIND_LSM, RF_BPF_STEP_CANARY, check);
		return;
	}
	check->state = RF_STATE_ENFORCED;
}

void rf_check_bpf_trace(const struct rf_signs *signs, struct rf_check *check)
{
	const struct bpf_insn instructions[] = {set(BPF_REG_0, 0), leave()};
	struct program program = {.type = BPF_PROG_TYPE_TRACING,
		.attach_type = BPF_TRACE_RAW_TP,
		.instructions = instructions,
		.n = RF_ARRAY_SIZE(instructions)};
	int fd rf_autoclose = -1;
	int link rf_autoclose = -1;

	if (!find_type(check, RF_BTF_TYPEDEF, "btf_trace_task_newtask", &program.btf_id)) {
		explain(signs, RF_BPF_KIND_TRACE, RF_BPF_STEP_BTF, check);
		return;
	}
	fd = load(&program);
	if (!rf_check_did(check, "bpf(BPF_PROG_LOAD, TRACING)", fd)) {
		explain(signs, RF_BPF_KIND_TRACE, RF_BPF_STEP_LOAD, check);
		return;
	}
	link = attach_tracing(fd);
	if (!rf_check_did(check, "bpf(BPF_RAW_TRACEPOINT_OPEN)", link)) {
		explain(signs, RF_BPF_KIND_TRACE, RF_BPF_STEP_ATTACH, check);
		return;
	}
	check->state = RF_STATE_ENFORCED;
}

/* In the leaf every socket must be refused; 0: it was. */
static int try_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 && errno == EPERM ? 0 : 1;
}

static bool attach_and_try(const struct rf_signs *signs, struct rf_check *check, int program_fd,
	const struct rf_scratch_cgroup *scratch)
{
	union bpf_attr attr = {0};
	int status = 0;
	pid_t pid;

	attr.target_fd = (uint32_t)scratch->fd;
	attr.attach_bpf_fd = (uint32_t)program_fd;
	attr.attach_type = BPF_CGROUP_INET_SOCK_CREATE;
	if (!rf_check_did(
		    check, "bpf(BPF_PROG_ATTACH, CGROUP)", call_bpf(BPF_PROG_ATTACH, &attr))) {
		explain(signs, RF_BPF_KIND_CGROUP, RF_BPF_STEP_ATTACH, check);
		return false;
	}
	pid = rf_scratch_cgroup_fork(scratch);
	if (pid == 0)
		_exit(try_socket());
	if (!rf_check_did(check, "clone3(CLONE_INTO_CGROUP)", pid) ||
		!rf_check_did(check, "waitpid", waitpid(pid, &status, 0))) {
		rf_explain_cgroup(signs, check);
		return false;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	rf_check_fail(check, "socket in the cgroup", 0);
	explain(signs, RF_BPF_KIND_CGROUP, RF_BPF_STEP_CANARY, check);
	return false;
}

void rf_check_bpf_cgroup(const struct rf_signs *signs, struct rf_check *check)
{
	/* 0 refuses. */
	const struct bpf_insn instructions[] = {set(BPF_REG_0, 0), leave()};
	const struct program program = {.type = BPF_PROG_TYPE_CGROUP_SOCK,
		.attach_type = BPF_CGROUP_INET_SOCK_CREATE,
		.instructions = instructions,
		.n = RF_ARRAY_SIZE(instructions)};
	struct rf_scratch_cgroup scratch;
	int fd rf_autoclose = load(&program);
	bool is_refused;

	if (!rf_check_did(check, "bpf(BPF_PROG_LOAD, CGROUP_SOCK)", fd)) {
		explain(signs, RF_BPF_KIND_CGROUP, RF_BPF_STEP_LOAD, check);
		return;
	}
	if (!rf_scratch_cgroup_make(signs, check, &scratch)) {
		rf_explain_cgroup(signs, check);
		return;
	}
	is_refused = attach_and_try(signs, check, fd, &scratch);
	(void)rf_scratch_cgroup_remove(&scratch);
	if (is_refused)
		check->state = RF_STATE_ENFORCED;
}
