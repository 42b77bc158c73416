/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 *	index   where each type begins; on the way the wanted names and the targets are met
 *	keep    a wanted type gets the next new number and is queued
 *	copy    the queue, in order: references are kept (so that they have a number), then written
 *
 * The data is the kernel's own, yet every step stays inside of it.
 */

#include "enforce/bpf_types.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/fd.h"
#include "base/strv.h"

/* Pairs of first letters: nearly every name of the kernel is put aside by these. */
#define PAIRS 65536U

struct source {
	const char *types;
	uint32_t types_bytes;
	const char *strings;
	uint32_t strings_bytes;
	/* By number, which begins at 1: 0 is void. */
	uint32_t *at;
	uint32_t n;
};

struct reduction {
	struct source from;
	const char *const *names;
	size_t n_names;
	struct rf_bpf_target *targets;
	size_t n_targets;
	/* One bit: does any wanted name begin with this pair? */
	uint8_t pairs[PAIRS / 8];
	/* New number of each type, 0: not kept; and the kept ones in that order. */
	uint32_t *number;
	uint32_t *queue;
	uint32_t n_kept;
	struct rf_buf types;
	struct rf_buf strings;
};

static void reduction_clear(struct reduction *r)
{
	free(r->from.at);
	free(r->number);
	free(r->queue);
	rf_buf_clear(&r->types);
	rf_buf_clear(&r->strings);
}

/* Bytes behind the fixed part; -EPROTO: a kind that we do not know and cannot step over. */
static int64_t tail_bytes(uint32_t info)
{
	uint32_t n = BTF_INFO_VLEN(info);

	switch (BTF_INFO_KIND(info)) {
	case BTF_KIND_INT:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return (int64_t)n * (int64_t)sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return (int64_t)n * (int64_t)sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return (int64_t)n * (int64_t)sizeof(struct btf_param);
	case BTF_KIND_VAR:
		return sizeof(struct btf_var);
	case BTF_KIND_DATASEC:
		return (int64_t)n * (int64_t)sizeof(struct btf_var_secinfo);
	case BTF_KIND_DECL_TAG:
		return sizeof(struct btf_decl_tag);
	case 19: /* ENUM64 (6.0), not in the headers of our floor */
		return (int64_t)n * 12;
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return -EPROTO;
	}
}

static int open_source(const char *data, size_t size_bytes, struct source *from)
{
	struct btf_header h;

	if (size_bytes < sizeof(h))
		return -EPROTO;
	memcpy(&h, data, sizeof(h));
	if (h.magic != BTF_MAGIC || h.hdr_len < sizeof(h) || h.str_len == 0 ||
		(uint64_t)h.hdr_len + h.type_off + h.type_len > size_bytes ||
		(uint64_t)h.hdr_len + h.str_off + h.str_len > size_bytes)
		return -EPROTO;
	from->types = data + h.hdr_len + h.type_off;
	from->types_bytes = h.type_len;
	from->strings = data + h.hdr_len + h.str_off;
	from->strings_bytes = h.str_len;
	return from->strings[h.str_len - 1] ? -EPROTO : 0;
}

static struct btf_type type_at(const struct source *from, uint32_t at)
{
	struct btf_type type;

	memcpy(&type, from->types + at, sizeof(type));
	return type;
}

static const char *name_of(const struct source *from, uint32_t name_off)
{
	return name_off < from->strings_bytes ? from->strings + name_off : "";
}

/* Its new number; from now on it belongs to the result. */
static uint32_t keep(struct reduction *r, uint32_t id)
{
	if (id == 0 || id >= r->from.n)
		return 0;
	if (r->number[id] == 0) {
		r->queue[r->n_kept] = id;
		r->number[id] = ++r->n_kept;
	}
	return r->number[id];
}

static uint32_t pair_of(const char *name)
{
	return (uint32_t)(unsigned char)name[0] << 8 |
	       (name[0] ? (uint32_t)(unsigned char)name[1] : 0);
}

static void add_pair(struct reduction *r, const char *name)
{
	r->pairs[pair_of(name) / 8] |= (uint8_t)(1U << pair_of(name) % 8);
}

static bool has_pair(const struct reduction *r, const char *name)
{
	return r->pairs[pair_of(name) / 8] & 1U << pair_of(name) % 8;
}

static void meet(struct reduction *r, uint32_t id, const struct btf_type *type, bool *ret_is_wanted)
{
	uint32_t kind = BTF_INFO_KIND(type->info);
	bool can_be_held =
		kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_TYPEDEF;
	const char *name;

	*ret_is_wanted = false;
	if (!can_be_held && kind != BTF_KIND_FUNC)
		return;
	name = name_of(&r->from, type->name_off);
	if (!has_pair(r, name))
		return;
	for (size_t i = 0; i < r->n_targets; i++) {
		struct rf_bpf_target *target = &r->targets[i];

		if (target->id == 0 && target->kind == kind && strcmp(target->name, name) == 0)
			target->id = id;
	}
	for (size_t i = 0; can_be_held && i < r->n_names && !*ret_is_wanted; i++)
		*ret_is_wanted = strcmp(r->names[i], name) == 0;
}

/* The queue holds plain numbers until the index is whole. */
static int index_types(struct reduction *r)
{
	struct source *from = &r->from;
	uint32_t room = from->types_bytes / (uint32_t)sizeof(struct btf_type) + 2;
	uint32_t n_wanted = 0;

	from->at = malloc(room * sizeof(*from->at));
	r->queue = malloc(room * sizeof(*r->queue));
	if (!from->at || !r->queue)
		return -ENOMEM;
	from->n = 1;
	for (uint64_t at = 0; at + sizeof(struct btf_type) <= from->types_bytes;) {
		struct btf_type type = type_at(from, (uint32_t)at);
		int64_t tail = tail_bytes(type.info);
		bool is_wanted;

		if (tail < 0 || at + sizeof(type) + (uint64_t)tail > from->types_bytes)
			return -EPROTO;
		meet(r, from->n, &type, &is_wanted);
		if (is_wanted)
			r->queue[n_wanted++] = from->n;
		from->at[from->n++] = (uint32_t)at;
		at += sizeof(type) + (uint64_t)tail;
	}
	r->number = calloc(from->n, sizeof(*r->number));
	if (!r->number)
		return -ENOMEM;
	/* Each is met once, so this writes what was just read. */
	for (uint32_t i = 0; i < n_wanted; i++)
		keep(r, r->queue[i]);
	return 0;
}

static int add_name(struct reduction *r, uint32_t *name_off)
{
	const char *name = name_of(&r->from, *name_off);

	if (!name[0]) {
		*name_off = 0;
		return 0;
	}
	*name_off = (uint32_t)r->strings.size;
	return rf_buf_add(&r->strings, name, strlen(name) + 1);
}

static int copy_members(struct reduction *r, const char *from, uint32_t n)
{
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < n; i++) {
		struct btf_member member;

		memcpy(&member, from + i * sizeof(member), sizeof(member));
		member.type = keep(r, member.type);
		error = add_name(r, &member.name_off);
		if (error == 0)
			error = rf_buf_add(&r->types, &member, sizeof(member));
	}
	return error;
}

static int copy_tail(struct reduction *r, const struct btf_type *type, const char *from)
{
	struct btf_array array;

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
		return rf_buf_add(&r->types, from, sizeof(uint32_t));
	case BTF_KIND_ARRAY:
		memcpy(&array, from, sizeof(array));
		array.type = keep(r, array.type);
		array.index_type = keep(r, array.index_type);
		return rf_buf_add(&r->types, &array, sizeof(array));
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return copy_members(r, from, BTF_INFO_VLEN(type->info));
	default:
		return 0;
	}
}

static int copy_type(struct reduction *r, uint32_t id)
{
	uint32_t at = r->from.at[id];
	struct btf_type type = type_at(&r->from, at);
	int error = add_name(r, &type.name_off);

	switch (BTF_INFO_KIND(type.info)) {
	case BTF_KIND_PTR:
		type.type = 0;
		break;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		type.type = keep(r, type.type);
		break;
	case BTF_KIND_ENUM:
	case 19:
		/* Its size is all that an offset needs. */
		type.info &= ~0xffffU;
		break;
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_FWD:
	case BTF_KIND_ARRAY:
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		break;
	default:
		/* Nothing else is held by value. */
		return -EPROTO;
	}
	if (error == 0)
		error = rf_buf_add(&r->types, &type, sizeof(type));
	return error ? error : copy_tail(r, &type, r->from.types + at + sizeof(type));
}

static int write_result(const struct reduction *r, int fd)
{
	struct btf_header h = {
		.magic = BTF_MAGIC,
		.version = 1,
		.hdr_len = sizeof(h),
		.type_len = (uint32_t)r->types.size,
		.str_off = (uint32_t)r->types.size,
		.str_len = (uint32_t)r->strings.size,
	};
	int error = rf_write_all(fd, &h, sizeof(h));

	if (error == 0)
		error = rf_write_all(fd, r->types.data, r->types.size);
	return error ? error : rf_write_all(fd, r->strings.data, r->strings.size);
}

int rf_bpf_types_reduce(const char *data, size_t size_bytes, const char *const *names,
	size_t n_names, struct rf_bpf_target *targets, size_t n_targets, int fd)
{
	struct reduction r rf_cleanup(reduction_clear) = {
		.names = names, .n_names = n_names, .targets = targets, .n_targets = n_targets};
	int error = open_source(data, size_bytes, &r.from);

	for (size_t i = 0; i < n_names; i++)
		add_pair(&r, names[i]);
	for (size_t i = 0; i < n_targets; i++)
		add_pair(&r, targets[i].name);
	if (error == 0)
		error = index_types(&r);
	if (error == 0)
		error = rf_buf_add(&r.strings, "", 1);
	for (uint32_t i = 0; error == 0 && i < r.n_kept; i++)
		error = copy_type(&r, r.queue[i]);
	return error ? error : write_result(&r, fd);
}
