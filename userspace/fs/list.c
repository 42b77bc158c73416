/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Listing and snapshots: a walk whose entries are kept.
 *
 * A snapshot's own digest is SHA-256 over its entries in order, each as
 *
 *	path NUL type NUL mode (octal) NUL digest (32 bytes; files alone)
 *
 * so that two trees with the same names, modes and contents have the same one, whatever their
 * times, owners and inode numbers. What is not followed (links, devices) is in it by name, type and
 * mode. A file with several hard links is not read either, so a tree that has one has no digest.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "fs/digest.h"

struct listing {
	struct rf_fs *fs;
	const struct rf_fs_request *request;
	struct rf_fs_result *result;
	size_t room;
	bool is_recursive;
	bool keeps_stat;
	struct rf_fs_hash *hash; /* NULL unless digests are wanted */
};

/* 0 or RF_REFUSED. */
static int grow(struct listing *listing)
{
	struct rf_fs_result *result = listing->result;
	size_t room = listing->room ? listing->room + listing->room / 2 : 64;
	struct rf_fs_entry *grown;

	if (result->n_entries < listing->room)
		return 0;
	grown = realloc(result->entries, room * sizeof(*grown));
	if (!grown)
		return rf_fs_refuse_call(
			result, listing->request->operation, listing->request->path, ENOMEM);
	result->entries = grown;
	listing->room = room;
	return 0;
}

static int digest_entry(
	struct listing *listing, const struct rf_fs_walk_entry *found, struct rf_fs_entry *entry)
{
	struct rf_fs_where where = {.name = found->name};
	int fd rf_autoclose = -1;
	struct stat opened;
	int r;

	if (!found->stat || entry->type != RF_FS_TYPE_FILE || found->stat->links != 1)
		return 0;
	fd = rf_fs_open_file(listing->fs, RF_FS_SNAPSHOT, &where, found->path, found->directory_fd,
		&opened, listing->result);
	if (fd < 0)
		return RF_REFUSED;
	r = rf_fs_hash_fd(
		listing->fs, listing->hash, fd, 0, (uint64_t)opened.st_size, entry->digest);
	if (r < 0)
		return rf_fs_refuse_hash(listing->result, RF_FS_SNAPSHOT, found->path, -r);
	rf_fs_stat_from_fd(&opened, &entry->stat);
	entry->has_digest = true;
	return 0;
}

static int keep_entry(void *userdata, struct rf_fs_walk_entry *found)
{
	struct listing *listing = userdata;
	size_t size = strlen(found->path) + 1;
	struct rf_fs_entry entry = {.type = found->type, .has_stat = found->stat != NULL};

	if (rf_fs_take_response(listing->fs, listing->result, listing->request->operation,
		    listing->request->path, sizeof(entry) + size) ||
		grow(listing))
		return RF_FS_WALK_STOP;
	if (found->stat)
		entry.stat = *found->stat;
	if (listing->hash && digest_entry(listing, found, &entry))
		return RF_FS_WALK_STOP;
	entry.path = strdup(found->path);
	if (!entry.path)
		return -ENOMEM;
	listing->result->entries[listing->result->n_entries++] = entry;
	return listing->is_recursive ? RF_FS_WALK_DESCEND : RF_FS_WALK_NEXT;
}

static int by_path(const void *a, const void *b)
{
	const struct rf_fs_entry *left = a, *right = b;

	return strcmp(left->path, right->path);
}

static int list(struct listing *listing)
{
	struct rf_fs_walk_options options = {
		.entry = keep_entry,
		.userdata = listing,
		.wants_stat = listing->keeps_stat,
		.is_sorted = !listing->is_recursive,
	};
	struct rf_fs_result *result = listing->result;
	const struct rf_fs_request *request = listing->request;
	int fd = rf_fs_directory(listing->fs, request->operation, request->path, result);

	if (fd < 0)
		return RF_REFUSED;
	rf_fs_walk_from(listing->fs, fd, request->path, &options, result);
	if (listing->is_recursive && result->n_entries > 1)
		qsort(result->entries, result->n_entries, sizeof(*result->entries), by_path);
	return result->error ? RF_REFUSED : 0;
}

/* Half a list is no list. */
static void drop_entries(struct rf_fs_result *result)
{
	for (size_t i = 0; i < result->n_entries; i++)
		free(result->entries[i].path);
	free(result->entries);
	result->entries = NULL;
	result->n_entries = 0;
}

void rf_fs_do_list(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result)
{
	struct listing listing = {
		.fs = fs,
		.request = request,
		.result = result,
		.is_recursive = request->flags & RF_FS_RECURSIVE,
		.keeps_stat = request->flags & RF_FS_WITH_STAT,
	};

	if (list(&listing))
		drop_entries(result);
}

static int hash_entry(struct rf_fs_hash *hash, const struct rf_fs_entry *entry)
{
	const char *type = rf_fs_type_name(entry->type);
	char mode[16];
	int r = rf_fs_hash_add(hash, entry->path, strlen(entry->path) + 1);

	(void)snprintf(mode, sizeof(mode), "%04o", entry->stat.mode & 07777);
	if (r == 0)
		r = rf_fs_hash_add(hash, type, strlen(type) + 1);
	if (r == 0)
		r = rf_fs_hash_add(hash, mode, strlen(mode) + 1);
	if (r == 0 && entry->has_digest)
		r = rf_fs_hash_add(hash, entry->digest, sizeof(entry->digest));
	return r;
}

static int hash_tree(struct rf_fs_hash *hash, struct rf_fs_result *result)
{
	bool is_whole = true;
	int r = 0;

	for (size_t i = 0; i < result->n_entries && r == 0; i++) {
		const struct rf_fs_entry *entry = &result->entries[i];

		is_whole = is_whole && (entry->type != RF_FS_TYPE_FILE || entry->has_digest);
		r = hash_entry(hash, entry);
	}
	if (r == 0)
		r = rf_fs_hash_end(hash, result->digest);
	result->has_digest = r == 0 && is_whole;
	return r;
}

void rf_fs_do_snapshot(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result)
{
	struct rf_fs_hash *hash rf_autohash = rf_fs_hash_new();
	struct listing listing = {
		.fs = fs,
		.request = request,
		.result = result,
		.is_recursive = true,
		.keeps_stat = true,
		.hash = hash,
	};

	/* A failure of the listing itself stands. */
	if (!hash || (list(&listing) == 0 && hash_tree(hash, result) < 0))
		rf_fs_refuse_call(result, request->operation, request->path, ENOMEM);
	if (result->error)
		drop_entries(result);
}
