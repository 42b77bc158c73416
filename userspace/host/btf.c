/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "host/btf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* 6 to 12 MB on distribution kernels. */
#define BTF_MAX_BYTES (64U * 1024 * 1024)
#define BTF_MAGIC 0xeb9f

struct header {
	uint16_t magic;
	uint8_t version;
	uint8_t flags;
	uint32_t header_bytes;
	uint32_t types_at;
	uint32_t types_bytes;
	uint32_t strings_at;
	uint32_t strings_bytes;
};

struct type {
	uint32_t name_at;
	uint32_t info;
	uint32_t size_or_type;
};

static int open_types(size_t *ret_size_bytes)
{
	int fd rf_autoclose = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0 || st.st_size > (off_t)BTF_MAX_BYTES)
		return -EFBIG;
	*ret_size_bytes = (size_t)st.st_size;
	return RF_TAKE_FD(fd);
}

int rf_btf_look(struct rf_btf_view *ret_view)
{
	struct rf_btf_view view = {.is_mapped = true};
	int fd rf_autoclose = open_types(&view.size_bytes);
	int r = 0;

	if (fd < 0)
		return fd;
	view.data = mmap(NULL, view.size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (view.data == MAP_FAILED) {
		view.is_mapped = false;
		r = rf_btf_read(&view.data, &view.size_bytes);
	}
	if (r == 0)
		*ret_view = view;
	return r;
}

void rf_btf_view_clear(struct rf_btf_view *view)
{
	if (view->is_mapped)
		(void)munmap(view->data, view->size_bytes);
	else
		free(view->data);
	*view = (struct rf_btf_view){0};
}

int rf_btf_read(char **ret_data, size_t *ret_size_bytes)
{
	size_t size_bytes = 0;
	int fd rf_autoclose = open_types(&size_bytes);
	char *data rf_autofree = NULL;
	size_t at = 0;

	if (fd < 0)
		return fd;
	if (size_bytes == 0)
		return -EPROTO;
	data = malloc(size_bytes);
	if (!data)
		return -ENOMEM;
	while (at < size_bytes) {
		ssize_t n = read(fd, data + at, size_bytes - at);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -EPROTO;
		at += n > 0 ? (size_t)n : 0;
	}
	*ret_size_bytes = at;
	*ret_data = RF_TAKE(data);
	return 0;
}

/* Bytes that follow the fixed part; -EPROTO for a kind that we do not know and cannot step over. */
static int64_t extra_bytes(uint32_t info)
{
	static const struct {
		uint8_t fixed;
		uint8_t each;
		uint8_t is_known;
	} kinds[] = {
		[1] = {4, 0, 1},   /* INT */
		[2] = {0, 0, 1},   /* PTR */
		[3] = {12, 0, 1},  /* ARRAY */
		[4] = {0, 12, 1},  /* STRUCT */
		[5] = {0, 12, 1},  /* UNION */
		[6] = {0, 8, 1},   /* ENUM */
		[7] = {0, 0, 1},   /* FWD */
		[8] = {0, 0, 1},   /* TYPEDEF */
		[9] = {0, 0, 1},   /* VOLATILE */
		[10] = {0, 0, 1},  /* CONST */
		[11] = {0, 0, 1},  /* RESTRICT */
		[12] = {0, 0, 1},  /* FUNC */
		[13] = {0, 8, 1},  /* FUNC_PROTO */
		[14] = {4, 0, 1},  /* VAR */
		[15] = {0, 12, 1}, /* DATASEC */
		[16] = {0, 0, 1},  /* FLOAT */
		[17] = {4, 0, 1},  /* DECL_TAG */
		[18] = {0, 0, 1},  /* TYPE_TAG */
		[19] = {0, 12, 1}, /* ENUM64 */
	};
	unsigned int kind = (info >> 24) & 0x1f;

	if (kind >= RF_ARRAY_SIZE(kinds) || !kinds[kind].is_known)
		return -EPROTO;
	return kinds[kind].fixed + (int64_t)kinds[kind].each * (info & 0xffff);
}

static bool is_section_inside(size_t size_bytes, uint32_t header_bytes, uint32_t at, uint32_t bytes)
{
	return (uint64_t)header_bytes + at + bytes <= size_bytes;
}

static int read_header(const char *data, size_t size_bytes, struct header *ret_header)
{
	struct header h;

	if (size_bytes < sizeof(h))
		return -EPROTO;
	memcpy(&h, data, sizeof(h));
	if (h.magic != BTF_MAGIC || h.header_bytes < sizeof(h) ||
		!is_section_inside(size_bytes, h.header_bytes, h.types_at, h.types_bytes) ||
		!is_section_inside(size_bytes, h.header_bytes, h.strings_at, h.strings_bytes))
		return -EPROTO;
	*ret_header = h;
	return 0;
}

int rf_btf_find(
	const char *data, size_t size_bytes, unsigned int kind, const char *name, uint32_t *ret_id)
{
	struct header h;
	size_t name_bytes = strlen(name) + 1;
	const char *types;
	const char *strings;
	size_t at = 0;
	int r = read_header(data, size_bytes, &h);

	if (r < 0)
		return r;
	types = data + h.header_bytes + h.types_at;
	strings = data + h.header_bytes + h.strings_at;
	/* Numbers begin at 1: 0 is void and not written down. */
	for (uint32_t id = 1; at + sizeof(struct type) <= h.types_bytes; id++) {
		struct type t;
		int64_t extra;

		memcpy(&t, types + at, sizeof(t));
		extra = extra_bytes(t.info);
		if (extra < 0)
			return (int)extra;
		if (((t.info >> 24) & 0x1f) == kind && t.name_at < h.strings_bytes &&
			name_bytes <= h.strings_bytes - t.name_at &&
			memcmp(strings + t.name_at, name, name_bytes) == 0) {
			*ret_id = id;
			return 0;
		}
		at += sizeof(t) + (size_t)extra;
	}
	return -ENOENT;
}
