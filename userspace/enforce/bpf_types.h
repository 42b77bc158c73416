/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What loading needs of the kernel's types. libbpf would take in all of them (130 000 on a
 * distribution's kernel) and look through them once more for each name: four fifths of a load. One
 * walk finds the few structures that our programs read, with all that lies inside them, and the
 * numbers of the hooks. Source: Documentation/bpf/btf.rst.
 */

#include <stddef.h>
#include <stdint.h>

/* A hook's type, found by name and kind; 0: this kernel has none. */
struct rf_bpf_target {
	char name[64];
	uint32_t kind;
	uint32_t id;
};

/*
 * Writes to fd the types of these names, and what they hold by value; what they point at is void.
 * Each target gets its number among all types. 0; -EPROTO: the data is malformed; or -errno.
 */
int rf_bpf_types_reduce(const char *data, size_t size_bytes, const char *const *names,
	size_t n_names, struct rf_bpf_target *targets, size_t n_targets, int fd);
