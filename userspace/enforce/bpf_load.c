/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * From nothing to a proven set.
 *
 *	open -> load (with LSM programs, else without, else cgroup programs alone)
 *	     -> canary's child measures the depth of a leaf
 *	     -> attach tracing and cgroup programs -> the child tries IP sockets: the floor
 *	     -> attach LSM programs                -> the child tries each guard
 *	     -> attach those on files              -> the child tries each of them
 *	     -> the child forks and execs          -> its records must arrive
 *	     -> pin what proved itself, configuration last
 *
 * Each of the four groups is held whole or not at all: a group that fails is detached again, and
 * its proof says at which step and why. Floor before LSM, since LSM answers first where both are.
 */

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <ringfence.skel.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "enforce/bpf.h"
#include "enforce/bpf_canary.h"
#include "enforce/bpf_canary_files.h"
#include "enforce/bpf_files.h"
#include "enforce/bpf_set.h"
#include "enforce/bpf_types.h"
#include "host/btf.h"

#define LINKS_MAX 64
/* LSM programs of the group that file rules need begin so. */
#define FILES_PREFIX "rf_file_"
#define LSM_LIST "/sys/kernel/security/lsm"
#define BTF "/sys/kernel/btf/vmlinux"
#define TARGETS_MAX 64
#define NAMES_MAX 512

/*
 * Programs whose hook is found by a type of the kernel. libbpf would read all types for one of
 * these; handlers of our own give it the number instead.
 */
enum { HANDLERS = 4 };
static const struct hook {
	const char *section;
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
	/* In the name of the type that stands for the hook. */
	const char *prefix;
	uint32_t kind;
	uint32_t flags;
} hooks[HANDLERS] = {
	{"tp_btf/", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, "btf_trace_", BTF_KIND_TYPEDEF, 0},
	{"fexit/", BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, "", BTF_KIND_FUNC, 0},
	{"lsm/", BPF_PROG_TYPE_LSM, BPF_LSM_MAC, "bpf_lsm_", BTF_KIND_FUNC, 0},
	{"lsm.s/", BPF_PROG_TYPE_LSM, BPF_LSM_MAC, "bpf_lsm_", BTF_KIND_FUNC, BPF_F_SLEEPABLE},
};

struct loader {
	struct ringfence_bpf *object;
	struct rf_bpf_maps *maps;
	struct rf_bpf_ring *ring;
	struct rf_config *config;
	const struct rf_bpf_pins *pins;
	int base_fd;
	int rings_fd;
	char *lsm_list;
	struct rf_canary canary;
	bool is_had[RF_PROOFS];
	/* In the order of attaching. */
	struct {
		struct bpf_link *link;
		enum rf_proof_kind kind;
		const char *name;
	} links[LINKS_MAX];
	size_t n_links;
	/* The kernel's types as far as we need them; -1: libbpf looks for itself. */
	int types_fd;
	struct rf_bpf_target targets[TARGETS_MAX];
	size_t n_targets;
	int handlers[HANDLERS];
	/* What the canary's records showed. */
	bool has_fork;
	bool has_exec;
	bool has_exit;
};

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* By where it attaches: until it is loaded its type can be another, see set_hook(). */
static bool kind_of(const struct bpf_program *program, enum rf_proof_kind *ret_kind)
{
	enum bpf_prog_type type = bpf_program__type(program);

	if (type == BPF_PROG_TYPE_CGROUP_SOCK || type == BPF_PROG_TYPE_CGROUP_SOCK_ADDR ||
		type == BPF_PROG_TYPE_CGROUP_SKB) {
		*ret_kind = RF_PROOF_CGROUP;
		return true;
	}
	if (bpf_program__expected_attach_type(program) == BPF_LSM_MAC) {
		*ret_kind =
			strncmp(bpf_program__name(program), FILES_PREFIX, strlen(FILES_PREFIX)) == 0
				? RF_PROOF_FILES
				: RF_PROOF_LSM;
		return true;
	}
	*ret_kind = RF_PROOF_TRACE;
	return bpf_program__expected_attach_type(program) == BPF_TRACE_RAW_TP ||
	       bpf_program__expected_attach_type(program) == BPF_TRACE_FEXIT;
}

static void off(struct loader *l, enum rf_proof_kind kind, enum rf_bpf_step step, int error,
	const char *detail)
{
	l->is_had[kind] = false;
	rf_bpf_explain(kind, step, error, l->lsm_list, detail, &l->config->proofs[kind]);
}

static void off_all(struct loader *l, enum rf_bpf_step step, int error)
{
	for (int i = 0; i < RF_PROOFS; i++)
		off(l, (enum rf_proof_kind)i, step, error, NULL);
}

static void on(struct loader *l, enum rf_proof_kind kind)
{
	memset(&l->config->proofs[kind], 0, sizeof(l->config->proofs[kind]));
	l->config->proofs[kind].state = RF_STATE_ENFORCED;
}

/*
 * Does the kernel take LSM programs at all? Asked with a hook that does not exist: where they are
 * refused on principle that is not looked at, and a whole load for nothing is saved.
 */
static int refuses_lsm(void)
{
	struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_LSM_MAC,
		.attach_btf_id = 1);
	int fd = bpf_prog_load(BPF_PROG_TYPE_LSM, "rf_probe", "GPL", program, 2, &options);
	int error = fd < 0 ? errno : 0;

	rf_close(fd);
	return error == EPERM || error == EACCES ? error : 0;
}

/* ---- Types of the kernel --------------------------------------------------------------------- */

static const struct hook *hook_of(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	section += section[0] == '?';
	for (size_t i = 0; i < HANDLERS; i++)
		if (strncmp(section, hooks[i].section, strlen(hooks[i].section)) == 0)
			return &hooks[i];
	return NULL;
}

static void target_of(const struct bpf_program *program, const struct hook *hook,
	char ret_name[sizeof(((struct rf_bpf_target *)0)->name)])
{
	const char *name = strchr(bpf_program__section_name(program), '/') + 1;

	snprintf(ret_name, sizeof(((struct rf_bpf_target *)0)->name), "%s%s", hook->prefix, name);
}

/* libbpf calls it for each program that it loads; the cookie is the loader. */
static int set_hook(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
	const struct hook *hook = hook_of(program);
	struct loader *l;
	char name[sizeof(l->targets[0].name)];

	memcpy(&l, &cookie, sizeof(l));
	target_of(program, hook, name);
	for (size_t i = 0; i < l->n_targets; i++) {
		if (l->targets[i].id == 0 || strcmp(l->targets[i].name, name) != 0)
			continue;
		options->attach_btf_id = l->targets[i].id;
		options->prog_flags |= hook->flags;
		return bpf_program__set_type(program, hook->type);
	}
	return -ESRCH;
}

static void drop_handlers(struct loader *l)
{
	for (size_t i = 0; i < HANDLERS; i++) {
		if (l->handlers[i] > 0)
			libbpf_unregister_prog_handler(l->handlers[i]);
		l->handlers[i] = 0;
	}
}

/* Under a type that needs none of the kernel's types, until set_hook() says the right one. */
static int add_handlers(struct loader *l)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = (long)l,
		.prog_prepare_load_fn = set_hook);
	char section[16];

	for (size_t i = 0; i < HANDLERS; i++) {
		snprintf(section, sizeof(section), "%.*s+", (int)strlen(hooks[i].section) - 1,
			hooks[i].section);
		l->handlers[i] = libbpf_register_prog_handler(
			section, BPF_PROG_TYPE_RAW_TRACEPOINT, hooks[i].attach, &options);
		if (l->handlers[i] < 0)
			return l->handlers[i];
	}
	return 0;
}

static int add_target(struct loader *l, const struct bpf_program *program)
{
	const struct hook *hook = hook_of(program);

	if (!hook)
		return 0;
	if (l->n_targets == TARGETS_MAX)
		return -E2BIG;
	l->targets[l->n_targets].kind = hook->kind;
	target_of(program, hook, l->targets[l->n_targets++].name);
	return 0;
}

/* Whatever the object names may be a structure of the kernel. */
static size_t collect_names(const struct btf *btf, const char **names)
{
	size_t n = 0;

	for (uint32_t i = 1; i < btf__type_cnt(btf) && n < NAMES_MAX; i++) {
		const struct btf_type *type = btf__type_by_id(btf, i);
		const char *name = btf__name_by_offset(btf, type->name_off);

		if ((btf_is_composite(type) || btf_is_typedef(type)) && name && name[0])
			names[n++] = name;
	}
	return n;
}

static int reduce_types(struct loader *l)
{
	const char *names[NAMES_MAX];
	size_t n_names = collect_names(bpf_object__btf(l->object->obj), names);
	struct bpf_program *program;
	struct rf_btf_view view rf_autobtfview = {0};
	int r = rf_btf_look(&view);

	if (n_names == NAMES_MAX)
		r = -E2BIG;
	bpf_object__for_each_program(program, l->object->obj) if (r == 0) r =
		add_target(l, program);
	return r ? r
		 : rf_bpf_types_reduce(view.data, view.size_bytes, names, n_names, l->targets,
			   l->n_targets, l->types_fd);
}

/* ---- Loading --------------------------------------------------------------------------------- */

static int open_object(struct loader *l)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", l->types_fd);
	options.btf_custom_path = l->types_fd >= 0 ? path : NULL;
	l->object = ringfence_bpf__open_opts(&options);
	if (!l->object)
		return -errno;
	l->object->bss->rf_base_id = l->config->base;
	return 0;
}

/* Without types of our own libbpf does the same for itself, in five times the time. */
static void prefer_own_types(struct loader *l)
{
	int r;

	l->types_fd = memfd_create("rf-types", MFD_CLOEXEC);
	r = l->types_fd < 0 ? -errno : add_handlers(l);
	if (r == 0)
		r = open_object(l);
	if (r == 0)
		r = reduce_types(l);
	ringfence_bpf__destroy(l->object);
	l->object = NULL;
	if (r == 0)
		return;
	drop_handlers(l);
	l->types_fd = rf_close(l->types_fd);
}

/* One attempt with the groups that are had so far. 0 or -errno. */
static int load_groups(struct loader *l)
{
	struct bpf_program *program;
	enum rf_proof_kind kind;
	int r = open_object(l);

	if (r < 0)
		return r;
	bpf_object__for_each_program(program, l->object->obj)
		bpf_program__set_autoload(program, !kind_of(program, &kind) || l->is_had[kind]);
	r = bpf_map__reuse_fd(l->object->maps.rf_rings, l->rings_fd);
	if (r == 0)
		r = ringfence_bpf__load(l->object);
	if (r < 0) {
		ringfence_bpf__destroy(l->object);
		l->object = NULL;
	}
	return r;
}

static int load(struct loader *l)
{
	static const enum rf_proof_kind dispensable[] = {
		RF_PROOF_FILES, RF_PROOF_LSM, RF_PROOF_TRACE};
	int error = refuses_lsm();
	int r;

	for (int i = 0; i < RF_PROOFS; i++)
		l->is_had[i] = true;
	if (error) {
		off(l, RF_PROOF_LSM, RF_BPF_STEP_LOAD, error, NULL);
		off(l, RF_PROOF_FILES, RF_BPF_STEP_LOAD, error, NULL);
	}
	prefer_own_types(l);
	r = load_groups(l);
	for (size_t i = 0; r < 0 && i < RF_ARRAY_SIZE(dispensable); i++) {
		if (!l->is_had[dispensable[i]])
			continue;
		off(l, dispensable[i], RF_BPF_STEP_LOAD, -r, NULL);
		r = load_groups(l);
	}
	if (r < 0)
		off_all(l, RF_BPF_STEP_LOAD, -r);
	return r < 0 ? RF_BPF_NOTHING : 0;
}

static int take_maps(struct loader *l)
{
	for (size_t i = 0; i < RF_BPF_MAPS; i++) {
		const char *name = rf_bpf_map_name((enum rf_bpf_map)i);
		int fd = bpf_object__find_map_fd_by_name(l->object->obj, name);

		if (fd < 0)
			return fd;
		l->maps->fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (l->maps->fds[i] < 0)
			return -errno;
	}
	return 0;
}

static void detach(struct loader *l, enum rf_proof_kind kind)
{
	size_t n = 0;

	for (size_t i = l->n_links; i-- > 0;) {
		if (l->links[i].kind != kind)
			continue;
		bpf_link__destroy(l->links[i].link);
		l->links[i].link = NULL;
	}
	for (size_t i = 0; i < l->n_links; i++)
		if (l->links[i].link)
			l->links[n++] = l->links[i];
	l->n_links = n;
}

static struct bpf_link *attach_program(
	const struct loader *l, struct bpf_program *program, enum rf_proof_kind kind)
{
	switch (kind) {
	case RF_PROOF_CGROUP:
		return bpf_program__attach_cgroup(program, l->base_fd);
	case RF_PROOF_LSM:
	case RF_PROOF_FILES:
		return bpf_program__attach_lsm(program);
	case RF_PROOF_TRACE:
		return bpf_program__attach_trace(program);
	case RF_PROOFS:
		break;
	}
	errno = EINVAL;
	return NULL;
}

/* All of a group or none. */
static void attach(struct loader *l, enum rf_proof_kind wanted)
{
	struct bpf_program *program;
	enum rf_proof_kind kind;

	if (!l->is_had[wanted])
		return;
	bpf_object__for_each_program(program, l->object->obj)
	{
		struct bpf_link *link;

		if (!kind_of(program, &kind) || kind != wanted)
			continue;
		link = attach_program(l, program, kind);
		if (!link || l->n_links == LINKS_MAX) {
			int error = link ? E2BIG : errno;

			bpf_link__destroy(link);
			detach(l, wanted);
			off(l, wanted, RF_BPF_STEP_ATTACH, error, NULL);
			return;
		}
		l->links[l->n_links].link = link;
		l->links[l->n_links].kind = kind;
		l->links[l->n_links++].name = bpf_program__name(program);
	}
}

/* ---- Canary --------------------------------------------------------------------------------- */

struct check {
	enum rf_canary_ask ask;
	/* 0: must be allowed. */
	int error;
	const char *name;
};

/* Of that group's programs: where both groups stand, one must not be taken for the other. */
static uint64_t denials(const struct loader *l, enum rf_proof_kind kind)
{
	struct rf_counters counters = {0};

	bpf_map_lookup_elem(l->maps->fds[RF_BPF_MAP_COUNTERS], &l->canary.leaf_id, &counters);
	return kind == RF_PROOF_LSM || kind == RF_PROOF_FILES
		       ? counters.denials_by_lsm
		       : counters.denials - counters.denials_by_lsm;
}

/* A refusal counts when it was ours: another layer may hold the same. */
static bool passes(struct loader *l, enum rf_proof_kind kind, const struct check *check)
{
	uint64_t before = denials(l, kind);
	int said = -1;

	if (rf_canary_ask(&l->canary, check->ask, &said) < 0)
		return false;
	/* A host without IPv6 has nothing to guard there. */
	if (said == EAFNOSUPPORT)
		return true;
	return said == check->error && (check->error == 0 || denials(l, kind) > before);
}

static int set_rules(
	struct loader *l, enum rf_socket_posture posture, uint32_t flags, enum rf_egress egress)
{
	struct rf_entry sandbox = {
		.state = RF_ENTRY_ARMED,
		.posture = posture,
		.flags = flags,
		.egress = egress,
		.ring = l->ring->id,
	};

	return bpf_map_update_elem(l->maps->fds[RF_BPF_MAP_SANDBOXES], &l->canary.leaf_id, &sandbox,
		       BPF_ANY) < 0
		       ? -errno
		       : 0;
}

/* The first check that fails turns the group off. */
static void prove(struct loader *l, enum rf_proof_kind kind, const struct check *checks, size_t n)
{
	for (size_t i = 0; l->is_had[kind] && i < n; i++) {
		if (passes(l, kind, &checks[i]))
			continue;
		detach(l, kind);
		off(l, kind, RF_BPF_STEP_CANARY, 0, checks[i].name);
	}
}

static int prove_floor(struct loader *l)
{
	static const struct check none[] = {
		{RF_CANARY_INET, EPERM, "cgroup/sock_create did not refuse an IPv4 socket"},
	};
	static const struct check addresses[] = {
		{RF_CANARY_CONNECT4, EPERM, "cgroup/connect4 did not refuse an address"},
		{RF_CANARY_CONNECT6, EPERM, "cgroup/connect6 did not refuse an address"},
		{RF_CANARY_SEND4, EPERM, "cgroup/sendmsg4 did not refuse an address"},
		{RF_CANARY_SEND6, EPERM, "cgroup/sendmsg6 did not refuse an address"},
		{RF_CANARY_BIND4, EPERM, "cgroup/bind4 did not refuse every address"},
		{RF_CANARY_BIND6, EPERM, "cgroup/bind6 did not refuse every address"},
		{RF_CANARY_ROUTE, EPERM, "cgroup_skb/egress did not refuse a packet with options"},
		{RF_CANARY_OWN_PORT, 0, "cgroup/post_bind4 did not note a socket"},
		{RF_CANARY_CLOSED_PORT, EPERM,
			"cgroup/sendmsg4 did not refuse a port that was closed"},
	};
	int r = set_rules(l, RF_SOCKETS_NONE, 0, RF_EGRESS_ANY);

	if (r == 0)
		prove(l, RF_PROOF_CGROUP, none, RF_ARRAY_SIZE(none));
	if (r == 0)
		r = set_rules(l, RF_SOCKETS_LISTED, RF_RULE_INET, RF_EGRESS_RULES);
	if (r == 0)
		prove(l, RF_PROOF_CGROUP, addresses, RF_ARRAY_SIZE(addresses));
	return r;
}

static int prove_lsm(struct loader *l)
{
	static const struct check closed[] = {
		{RF_CANARY_UNIX, EPERM, "lsm/socket_create did not refuse a Unix socket"},
		{RF_CANARY_INET, EPERM, "lsm/socket_create did not refuse an IPv4 socket"},
		{RF_CANARY_PAIR, 0, "lsm/socket_create refused a socket pair"},
		{RF_CANARY_BIND, EPERM, "lsm/socket_bind did not refuse one of a pair"},
		{RF_CANARY_CONNECT, EPERM, "lsm/socket_connect did not refuse one of a pair"},
		{RF_CANARY_LISTEN, EPERM, "lsm/socket_listen did not refuse one of a pair"},
	};
	static const struct check own_alone[] = {
		{RF_CANARY_REACH_FOREIGN, EPERM,
			"lsm/unix_stream_connect let a foreign socket be reached"},
		{RF_CANARY_SEND_FOREIGN, EPERM,
			"lsm/unix_may_send let a foreign socket be reached"},
		{RF_CANARY_REACH_OWN, 0, "lsm/socket_post_create did not mark an own socket"},
	};
	static const struct check addresses[] = {
		{RF_CANARY_CONNECT4, EPERM, "lsm/socket_connect did not refuse an address"},
		{RF_CANARY_SEND4, EPERM, "lsm/socket_sendmsg did not refuse an address"},
		{RF_CANARY_BIND4, EPERM, "lsm/socket_bind did not refuse every address"},
		{RF_CANARY_LISTEN4, EPERM, "lsm/socket_listen let an unbound socket listen"},
	};
	int r = set_rules(l, RF_SOCKETS_NONE, 0, RF_EGRESS_ANY);

	if (r < 0)
		return r;
	prove(l, RF_PROOF_LSM, closed, RF_ARRAY_SIZE(closed));
	r = set_rules(l, RF_SOCKETS_LISTED, RF_RULE_UNIX, RF_EGRESS_ANY);
	if (r == 0)
		prove(l, RF_PROOF_LSM, own_alone, RF_ARRAY_SIZE(own_alone));
	if (r == 0)
		r = set_rules(l, RF_SOCKETS_LISTED, RF_RULE_INET, RF_EGRESS_RULES);
	if (r == 0)
		prove(l, RF_PROOF_LSM, addresses, RF_ARRAY_SIZE(addresses));
	return r;
}

/* What the scratch directory's entries are ruled by, and their names. */
static int set_file_rules(struct loader *l)
{
	static const struct {
		enum rf_canary_file file;
		uint32_t flags;
	} places[] = {
		{RF_CANARY_FILE_TOP, RF_FILE_NAMES},
		{RF_CANARY_FILE_CLOSED, RF_FILE_CLOSED},
		{RF_CANARY_FILE_PROTECTED, RF_FILE_READ_ONLY},
		{RF_CANARY_FILE_PINNED, RF_FILE_PINNED},
		{RF_CANARY_FILE_LISTED, RF_FILE_LISTED},
	};
	uint64_t id = l->canary.leaf_id, token = 0, top = 0;
	int r = set_rules(l, RF_SOCKETS_ALL,
		RF_RULE_FILES | RF_RULE_FILES_BELOW | RF_RULE_FILES_BELOW_WRITE, RF_EGRESS_ANY);

	for (size_t i = 0; r == 0 && i < RF_ARRAY_SIZE(places); i++) {
		int fd rf_autoclose = rf_canary_file_open(&l->canary, places[i].file);

		r = fd < 0 ? fd : rf_bpf_files_place(l->maps, id, fd, places[i].flags, &token);
		if (places[i].file == RF_CANARY_FILE_TOP)
			top = token;
	}
	return r < 0 ? r
		     : rf_bpf_files_name(l->maps, id, top, RF_CANARY_FILE_MISSING, RF_NAME_CLOSED);
}

static int prove_files(struct loader *l)
{
	static const struct check checks[] = {
		{RF_CANARY_FILE_READ, EACCES, "lsm/file_open did not refuse a closed file"},
		{RF_CANARY_FILE_WRITE, EPERM, "lsm/file_open did not refuse to write a file"},
		{RF_CANARY_FILE_CREATE, EACCES, "lsm/path_mknod did not refuse a name"},
		{RF_CANARY_FILE_MKDIR, EACCES, "lsm/path_mkdir did not refuse a name"},
		{RF_CANARY_FILE_SYMLINK, EACCES, "lsm/path_symlink did not refuse a name"},
		{RF_CANARY_FILE_LINK, EACCES, "lsm/path_link did not refuse a closed file"},
		{RF_CANARY_FILE_RENAME, EPERM, "lsm/path_rename moved a pinned directory"},
		{RF_CANARY_FILE_RMDIR, EPERM, "lsm/path_rmdir removed a pinned directory"},
		{RF_CANARY_FILE_UNLINK, EPERM, "lsm/path_unlink removed a protected file"},
		{RF_CANARY_FILE_TRUNCATE, EPERM, "lsm/path_truncate changed a protected file"},
		{RF_CANARY_FILE_CHMOD, EPERM, "lsm/inode_setattr changed a protected file"},
		{RF_CANARY_FILE_SETXATTR, EPERM, "lsm/inode_setxattr changed a protected file"},
		{RF_CANARY_FILE_REMOVEXATTR, EPERM,
			"lsm/inode_removexattr changed a protected file"},
		{RF_CANARY_FILE_NEIGHBOUR, EPERM, "lsm/file_open opened a neighbour"},
		{RF_CANARY_FILE_OWN, 0, "a file of its own was closed to its maker"},
	};
	int r;

	if (!l->is_had[RF_PROOF_FILES])
		return 0;
	r = set_file_rules(l);
	if (r < 0) {
		detach(l, RF_PROOF_FILES);
		off(l, RF_PROOF_FILES, RF_BPF_STEP_CANARY, 0, "writing rules for the self-test");
		return 0;
	}
	prove(l, RF_PROOF_FILES, checks, RF_ARRAY_SIZE(checks));
	return set_rules(l, RF_SOCKETS_ALL, 0, RF_EGRESS_ANY);
}

/* The child of the labelled canary: its membership must come from an inherited label. */
static int on_record(void *context, void *data, size_t size_bytes)
{
	const struct rf_record *record = data;
	struct loader *l = context;

	if (size_bytes < sizeof(*record) || record->sandbox != l->canary.leaf_id ||
		!(record->flags & RF_RECORD_LABELLED) || (pid_t)record->tgid == l->canary.pid)
		return 0;
	l->has_fork |= record->kind == RF_RECORD_FORK;
	l->has_exec |= record->kind == RF_RECORD_EXEC;
	l->has_exit |= record->kind == RF_RECORD_EXIT;
	return 0;
}

static int prove_trace(struct loader *l)
{
	struct ring_buffer *reader;
	int status = -1;

	if (!l->is_had[RF_PROOF_TRACE])
		return 0;
	reader = ring_buffer__new(l->ring->fd, on_record, l, NULL);
	if (!reader)
		return -errno;
	if (rf_canary_ask(&l->canary, RF_CANARY_PROCESS, &status) == 0)
		ring_buffer__consume(reader);
	ring_buffer__free(reader);
	if (l->has_fork && l->has_exec && l->has_exit && status == RF_CANARY_EXIT << 8)
		return 0;
	detach(l, RF_PROOF_TRACE);
	off(l, RF_PROOF_TRACE, RF_BPF_STEP_CANARY, 0,
		!l->has_fork   ? "no record of a fork"
		: !l->has_exit ? "no record of an exit"
			       : "no record of an exec");
	return 0;
}

/* Nobody is there to try anything: what cannot be proved is not relied on. */
static int prove_nothing(struct loader *l)
{
	for (int i = 0; i < RF_PROOFS; i++) {
		detach(l, (enum rf_proof_kind)i);
		if (l->is_had[i])
			off(l, (enum rf_proof_kind)i, RF_BPF_STEP_CANARY, 0,
				"the process that tries the guards ended");
	}
	return RF_BPF_NOTHING;
}

static int measure(struct loader *l)
{
	int said = -1;
	int r = rf_canary_start(
		&l->canary, l->base_fd, bpf_program__fd(l->object->progs.rf_measure_depth));

	if (r < 0)
		return r;
	if (rf_canary_ask(&l->canary, RF_CANARY_MEASURE, &said) < 0)
		return prove_nothing(l);
	l->config->depth = l->object->data->rf_leaf_depth;
	return said != 0 ? -said : l->config->depth > 255 ? -ERANGE : 0;
}

static int label(struct loader *l)
{
	struct rf_label canary = {.sandbox = l->canary.leaf_id};
	struct rf_counters counters = {0};

	if (bpf_map_update_elem(
		    l->maps->fds[RF_BPF_MAP_COUNTERS], &l->canary.leaf_id, &counters, BPF_ANY) < 0)
		return -errno;
	if (bpf_map_update_elem(
		    l->maps->fds[RF_BPF_MAP_LABELS], &l->canary.pidfd, &canary, BPF_ANY) == 0)
		return 0;
	/* A dead process takes no label. */
	return errno == ESRCH || errno == ENOENT ? prove_nothing(l) : -errno;
}

/* 0, RF_BPF_NOTHING, or -errno of something that is no mechanism's own fault. */
static int attach_and_prove(struct loader *l)
{
	int r = measure(l);

	if (r != 0)
		return r;
	attach(l, RF_PROOF_TRACE);
	attach(l, RF_PROOF_CGROUP);
	r = label(l);
	if (r == 0)
		r = rf_bpf_ring_settle(l->ring);
	if (r == 0)
		r = prove_floor(l);
	if (r != 0)
		return r;
	attach(l, RF_PROOF_LSM);
	r = prove_lsm(l);
	if (r < 0)
		return r;
	attach(l, RF_PROOF_FILES);
	r = prove_files(l);
	return r < 0 ? r : prove_trace(l);
}

static void forget_canary(struct loader *l)
{
	uint64_t id = l->canary.leaf_id;

	rf_canary_stop(&l->canary);
	if (!id)
		return;
	bpf_map_delete_elem(l->maps->fds[RF_BPF_MAP_SANDBOXES], &id);
	bpf_map_delete_elem(l->maps->fds[RF_BPF_MAP_COUNTERS], &id);
	(void)rf_bpf_files_remove(l->maps, id);
}

/* ---- Pins ----------------------------------------------------------------------------------- */

static int pin_map(struct loader *l, enum rf_bpf_map map)
{
	char path[RF_BPF_PIN_PATH_BYTES + 64];

	snprintf(path, sizeof(path), "%s/%s", l->pins->directory, rf_bpf_map_name(map));
	return bpf_obj_pin(l->maps->fds[map], path) < 0 ? -errno : 0;
}

static int make_directories(const struct rf_bpf_pins *pins)
{
	if (mkdir(pins->parent, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (mkdir(pins->directory, 0700) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

static int pin(struct loader *l)
{
	char path[RF_BPF_PIN_PATH_BYTES + 64];
	uint32_t zero = 0;
	int r = make_directories(l->pins);

	for (int i = 0; r == 0 && i < RF_BPF_MAP_CONFIG; i++)
		r = pin_map(l, (enum rf_bpf_map)i);
	for (size_t i = 0; r == 0 && i < l->n_links; i++) {
		snprintf(path, sizeof(path), "%s/link_%02zu_%s", l->pins->directory, i,
			l->links[i].name);
		r = bpf_link__pin(l->links[i].link, path);
	}
	if (r == 0 &&
		bpf_map_update_elem(l->maps->fds[RF_BPF_MAP_CONFIG], &zero, l->config, BPF_ANY) < 0)
		r = -errno;
	return r == 0 ? pin_map(l, RF_BPF_MAP_CONFIG) : r;
}

static void destroy(struct loader *l)
{
	/* Its thread uses a descriptor that is closed here. */
	(void)rf_bpf_ring_settle(l->ring);
	forget_canary(l);
	for (size_t i = l->n_links; i-- > 0;)
		bpf_link__destroy(l->links[i].link);
	ringfence_bpf__destroy(l->object);
	drop_handlers(l);
	rf_close(l->types_fd);
	rf_close(l->rings_fd);
	free(l->lsm_list);
}

/*
 * The map of rings and our ring in it before anything else: the kernel takes a grace period to put
 * it there, which passes while the programs are loaded.
 */
static int begin_ring(struct loader *l)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);
	int template rf_autoclose =
		bpf_map_create(BPF_MAP_TYPE_RINGBUF, "rf_ring", 0, 0, RF_RING_DEFAULT_BYTES, NULL);

	if (template <0)
		return -errno;
	options.inner_map_fd = (uint32_t) template;
	l->rings_fd = bpf_map_create(BPF_MAP_TYPE_HASH_OF_MAPS, "rf_rings", sizeof(uint32_t),
		sizeof(uint32_t), RF_RINGS_MAX, &options);
	if (l->rings_fd < 0)
		return -errno;
	return rf_bpf_ring_begin(l->rings_fd, RF_RING_DEFAULT_BYTES, l->ring);
}

/* Pinned links outlive their descriptors; what is not pinned goes with them. */
static int build(struct loader *l)
{
	int r = begin_ring(l);

	if (r < 0) {
		off_all(l, RF_BPF_STEP_LOAD, -r);
		return RF_BPF_NOTHING;
	}
	r = load(l);
	if (r != 0)
		return r;
	r = take_maps(l);
	if (r == 0)
		r = rf_bpf_ring_claim(l->maps, l->ring->id);
	if (r == 0)
		r = attach_and_prove(l);
	if (r != 0)
		return r;
	forget_canary(l);
	for (int i = 0; i < RF_PROOFS; i++)
		if (l->is_had[i])
			on(l, (enum rf_proof_kind)i);
	if (l->n_links == 0)
		return RF_BPF_NOTHING;
	r = pin(l);
	if (r < 0)
		rf_bpf_pins_clear(l->pins);
	return r;
}

int rf_bpf_load(const struct rf_bpf_pins *pins, int base_fd, uint64_t base_id,
	struct rf_bpf_maps *ret_maps, struct rf_bpf_ring *ret_ring, struct rf_config *ret_config)
{
	struct rf_config config = {
		.version = RF_ABI_VERSION, .size = sizeof(config), .base = base_id};
	struct loader l = {
		.maps = ret_maps,
		.ring = ret_ring,
		.config = &config,
		.pins = pins,
		.base_fd = base_fd,
		.types_fd = -1,
		.rings_fd = -1,
	};
	libbpf_print_fn_t before;
	int r = RF_BPF_NOTHING;

	rf_canary_init(&l.canary);
	if (rf_read_file_at(AT_FDCWD, LSM_LIST, 4096, &l.lsm_list) < 0)
		l.lsm_list = NULL;
	before = libbpf_set_print(silent);
	if (access(BTF, R_OK) < 0)
		off_all(&l, RF_BPF_STEP_BTF, errno);
	else
		r = build(&l);
	destroy(&l);
	libbpf_set_print(before);
	if (r != 0) {
		rf_bpf_ring_close(ret_maps, ret_ring);
		rf_bpf_maps_close(ret_maps);
	}
	if (r >= 0)
		*ret_config = config;
	return r;
}
