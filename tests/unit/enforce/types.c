/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "enforce/bpf_types.h"

#include <bpf/btf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

/* int (1), struct inner { int x } (2), struct outer { struct inner i; ptr p } (3), PTR to 5 (4),
 * struct far { int x } (5), typedef hook (6), func hook (7). */
static const struct {
	struct btf_header header;
	uint32_t types[4 + 6 + 9 + 3 + 6 + 3 + 3];
	char strings[33];
} small = {{BTF_MAGIC, 1, 0, sizeof(struct btf_header), 0, 136, 136, 33},
	{1, 1U << 24, 4, 32,				   /* INT */
		5, 4U << 24 | 1, 4, 29, 1, 0,		   /* STRUCT inner */
		11, 4U << 24 | 2, 16, 27, 2, 0, 17, 4, 64, /* STRUCT outer */
		0, 2U << 24, 5,				   /* PTR */
		19, 4U << 24 | 1, 4, 29, 1, 0,		   /* STRUCT far */
		23, 8U << 24, 1,			   /* TYPEDEF */
		23, 12U << 24, 1},			   /* FUNC */
	"\0int\0inner\0outer\0p\0far\0hok\0i\0x\0\0"};

static struct btf *reduce(
	const char *const *names, size_t n_names, struct rf_bpf_target *targets, size_t n_targets)
{
	char path[] = "/tmp/rf-types.XXXXXX";
	int fd rf_autoclose = mkstemp(path);
	struct btf *btf;

	cr_assert_eq(rf_bpf_types_reduce((const char *)&small, sizeof(small), names, n_names,
			     targets, n_targets, fd),
		0);
	btf = btf__parse_raw(path);
	unlink(path);
	cr_assert_not_null(btf);
	return btf;
}

Test(types, what_is_held_by_value_comes_along)
{
	const char *const names[] = {"outer"};
	struct btf *btf = reduce(names, 1, NULL, 0);
	const struct btf_type *outer = btf__type_by_id(btf, 1);

	cr_expect_eq(btf__find_by_name_kind(btf, "outer", BTF_KIND_STRUCT), 1);
	cr_expect_eq(outer->size, 16);
	cr_expect_eq(btf_member_bit_offset(outer, 1), 64);
	cr_expect_gt(btf__find_by_name_kind(btf, "inner", BTF_KIND_STRUCT), 0);
	cr_expect_gt(btf__find_by_name_kind(btf, "int", BTF_KIND_INT), 0);
	btf__free(btf);
}

Test(types, what_is_pointed_at_stays_behind)
{
	const char *const names[] = {"outer"};
	struct btf *btf = reduce(names, 1, NULL, 0);

	cr_expect_lt(btf__find_by_name_kind(btf, "far", BTF_KIND_STRUCT), 0);
	btf__free(btf);
}

Test(types, a_hook_has_its_number_among_all_types)
{
	struct rf_bpf_target targets[] = {{"hok", BTF_KIND_FUNC, 0}, {"hok", BTF_KIND_TYPEDEF, 0},
		{"none", BTF_KIND_FUNC, 0}};

	btf__free(reduce(NULL, 0, targets, 3));
	cr_expect_eq(targets[0].id, 7);
	cr_expect_eq(targets[1].id, 6);
	cr_expect_eq(targets[2].id, 0);
}

Test(types, what_ends_too_early_is_malformed)
{
	const char *const names[] = {"outer"};

	for (size_t size = 0; size < sizeof(small.header) + 136 + 33; size++)
		cr_expect_eq(rf_bpf_types_reduce(
				     (const char *)&small, size, names, 1, NULL, 0, STDERR_FILENO),
			-EPROTO);
}

/* The real thing: offsets are those of all the types. */
Test(types, offsets_are_the_kernels)
{
	const char *const names[] = {"task_struct"};
	char path[] = "/tmp/rf-types.XXXXXX";
	struct btf *all = btf__load_vmlinux_btf();
	const struct btf_type *there, *here;
	struct btf *few;
	char *data = NULL;
	size_t size = 0;
	int source rf_autoclose = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	int fd rf_autoclose = mkstemp(path);

	if (!all)
		cr_skip("this kernel tells no types");
	cr_assert_eq(rf_read_all(source, 64 << 20, &data, &size), 0);
	cr_assert_eq(rf_bpf_types_reduce(data, size, names, 1, NULL, 0, fd), 0);
	few = btf__parse_raw(path);
	unlink(path);
	cr_assert_not_null(few);
	there = btf__type_by_id(
		all, (uint32_t)btf__find_by_name_kind(all, "task_struct", BTF_KIND_STRUCT));
	here = btf__type_by_id(
		few, (uint32_t)btf__find_by_name_kind(few, "task_struct", BTF_KIND_STRUCT));
	cr_expect_eq(btf_vlen(here), btf_vlen(there));
	for (int i = 0; i < btf_vlen(there); i++) {
		uint32_t from = btf_members(there)[i].name_off;

		cr_expect_eq(btf_member_bit_offset(here, (uint32_t)i),
			btf_member_bit_offset(there, (uint32_t)i));
		cr_expect_str_eq(btf__name_by_offset(few, btf_members(here)[i].name_off),
			btf__name_by_offset(all, from));
	}
	free(data);
	btf__free(few);
	btf__free(all);
}
