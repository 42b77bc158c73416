/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "host/btf.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* int a (1), struct a with two members (2), typedef b (3), func b (4). */
static const struct {
	uint16_t magic;
	uint8_t version;
	uint8_t flags;
	uint32_t header[5];
	uint32_t types[3 + 1 + 3 + 6 + 3 + 3];
	char strings[8];
} small = {0xeb9f, 1, 0, {24, 0, 76, 76, 8},
	{1, 1U << 24, 4, 0x20,			       /* INT */
		1, 4U << 24 | 2, 8, 1, 1, 0, 1, 1, 32, /* STRUCT */
		3, 8U << 24, 1,			       /* TYPEDEF */
		3, 12U << 24, 1},		       /* FUNC */
	"\0a\0b\0cd"};

Test(btf, names_are_found_by_kind)
{
	uint32_t id = 99;

	cr_expect_eq(rf_btf_find((const char *)&small, sizeof(small), RF_BTF_TYPEDEF, "b", &id), 0);
	cr_expect_eq(id, 3);
	cr_expect_eq(rf_btf_find((const char *)&small, sizeof(small), RF_BTF_FUNC, "b", &id), 0);
	cr_expect_eq(id, 4);
}

Test(btf, what_is_missing_leaves_the_output_alone)
{
	uint32_t id = 99;

	cr_expect_eq(
		rf_btf_find((const char *)&small, sizeof(small), RF_BTF_FUNC, "a", &id), -ENOENT);
	cr_expect_eq(
		rf_btf_find((const char *)&small, sizeof(small), RF_BTF_FUNC, "cd", &id), -ENOENT);
	cr_expect_eq(id, 99);
}

Test(btf, every_cut_is_refused_without_harm)
{
	for (size_t size = 0; size < sizeof(small); size++) {
		char *copy = malloc(size ? size : 1);
		uint32_t id = 99;

		memcpy(copy, &small, size);
		cr_expect_eq(rf_btf_find(copy, size, RF_BTF_FUNC, "b", &id), -EPROTO);
		cr_expect_eq(id, 99);
		free(copy);
	}
}

Test(btf, an_unknown_kind_cannot_be_stepped_over)
{
	char copy[sizeof(small)];
	uint32_t info = 31U << 24;
	uint32_t id = 99;

	memcpy(copy, &small, sizeof(copy));
	memcpy(copy + 24 + 4, &info, sizeof(info));
	cr_expect_eq(rf_btf_find(copy, sizeof(copy), RF_BTF_FUNC, "b", &id), -EPROTO);
}

Test(btf, the_running_kernel_has_the_tracepoint)
{
	char *data rf_autofree = NULL;
	size_t size_bytes = 0;
	uint32_t id = 0;

	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0) {
		cr_log_warn("no BTF here");
		return;
	}
	cr_assert_eq(rf_btf_read(&data, &size_bytes), 0);
	cr_expect_eq(
		rf_btf_find(data, size_bytes, RF_BTF_TYPEDEF, "btf_trace_task_newtask", &id), 0);
	cr_expect_gt(id, 0);
}
