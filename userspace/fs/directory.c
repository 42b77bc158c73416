/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names of a directory, read with getdents64 into one piece of memory. */

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/inside.h"

#define READ_BYTES 65536U
/* d_name begins here. */
#define NAME_AT offsetof(struct dirent64, d_name)

static int grow(void **data, size_t *room, size_t wanted, size_t item_bytes, size_t first)
{
	size_t more = *room ? *room + *room / 2 : first;
	void *grown;

	if (wanted <= *room)
		return 0;
	if (more < wanted)
		more = wanted;
	grown = realloc(*data, more * item_bytes);
	if (!grown)
		return -ENOMEM;
	*data = grown;
	*room = more;
	return 0;
}

static int add(struct rf_fs_names *names, const char *name, uint8_t type, uint64_t ino)
{
	size_t size = strlen(name) + 1;

	if (names->text_bytes + size > UINT32_MAX)
		return -E2BIG;
	if (grow((void **)&names->text, &names->text_room, names->text_bytes + size, 1, 4096) ||
		grow((void **)&names->items, &names->room, names->count + 1, sizeof(*names->items),
			128))
		return -ENOMEM;
	memcpy(names->text + names->text_bytes, name, size);
	names->items[names->count++] = (struct rf_fs_name){
		.at = (uint32_t)names->text_bytes,
		.type = type,
		.ino = ino,
	};
	names->text_bytes += size;
	return 0;
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static int add_block(
	struct rf_fs_names *names, const char *block, size_t bytes, uint64_t *entries_left)
{
	for (size_t at = 0; at + NAME_AT < bytes;) {
		const struct dirent64 *entry = (const void *)(block + at);
		int r;

		if (!is_dots(entry->d_name)) {
			if (*entries_left == 0)
				return -E2BIG;
			(*entries_left)--;
			r = add(names, entry->d_name, entry->d_type, entry->d_ino);
			if (r < 0)
				return r;
		}
		at += entry->d_reclen;
	}
	return 0;
}

int rf_fs_names_read(
	struct rf_fs_names *names, int directory_fd, size_t bytes, uint64_t *entries_left)
{
	char block[READ_BYTES] __attribute__((aligned(16)));

	names->count = 0;
	names->text_bytes = 0;
	names->is_complete = false;
	while (names->text_bytes < bytes) {
		long got = syscall(SYS_getdents64, directory_fd, block, sizeof(block));
		int r;

		if (got < 0)
			return -errno;
		if (got == 0) {
			names->is_complete = true;
			return 0;
		}
		r = add_block(names, block, (size_t)got, entries_left);
		if (r < 0)
			return r;
	}
	return 0;
}

void rf_fs_names_clear(struct rf_fs_names *names)
{
	free(names->text);
	free(names->items);
	*names = (struct rf_fs_names){0};
}

static int by_name(const void *a, const void *b, void *text)
{
	const struct rf_fs_name *left = a, *right = b;

	return strcmp((char *)text + left->at, (char *)text + right->at);
}

static int by_inode(const void *a, const void *b)
{
	const struct rf_fs_name *left = a, *right = b;

	return (left->ino > right->ino) - (left->ino < right->ino);
}

void rf_fs_names_sort(struct rf_fs_names *names)
{
	if (names->count > 1)
		qsort_r(names->items, names->count, sizeof(*names->items), by_name, names->text);
}

/* Inodes lie on the disk in the order of their numbers. */
void rf_fs_names_sort_by_inode(struct rf_fs_names *names)
{
	if (names->count > 1)
		qsort(names->items, names->count, sizeof(*names->items), by_inode);
}
