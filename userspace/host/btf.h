/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The kernel's type information, read for one question: which number has this name? The client
 * links no libbpf. Source: Documentation/bpf/btf.rst.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

#define RF_BTF_TYPEDEF 8U
#define RF_BTF_FUNC 12U

/* /sys/kernel/btf/vmlinux as a whole; belongs to the caller. 0 or -errno. */
int rf_btf_read(char **ret_data, size_t *ret_size_bytes);

/* To look at: mapped where the kernel lets (6.16), which spares 5 MB of copies, else read. */
struct rf_btf_view {
	char *data;
	size_t size_bytes;
	bool is_mapped;
};

/* 0 or -errno. */
int rf_btf_look(struct rf_btf_view *ret_view);
void rf_btf_view_clear(struct rf_btf_view *view);
/* struct rf_btf_view view rf_autobtfview = {0}; */
#define rf_autobtfview rf_cleanup(rf_btf_view_clear)

/* Number of the type of this kind and name. 0, -ENOENT, or -EPROTO (malformed). */
int rf_btf_find(
	const char *data, size_t size_bytes, unsigned int kind, const char *name, uint32_t *ret_id);
