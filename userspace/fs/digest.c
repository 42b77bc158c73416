/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* SHA-256 of a file, and of a tree. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "fs/digest.h"

#define CHUNK_BYTES (256U * 1024)

struct rf_fs_hash {
	EVP_MD_CTX *context;
	char chunk[CHUNK_BYTES];
};

struct rf_fs_hash *rf_fs_hash_new(void)
{
	struct rf_fs_hash *hash = malloc(sizeof(*hash));

	if (!hash)
		return NULL;
	hash->context = EVP_MD_CTX_new();
	if (!hash->context || !EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL))
		return rf_fs_hash_free(hash);
	return hash;
}

struct rf_fs_hash *rf_fs_hash_free(struct rf_fs_hash *hash)
{
	if (hash)
		EVP_MD_CTX_free(hash->context);
	free(hash);
	return NULL;
}

int rf_fs_hash_add(struct rf_fs_hash *hash, const void *data, size_t size_bytes)
{
	return EVP_DigestUpdate(hash->context, data, size_bytes) ? 0 : -ENOMEM;
}

int rf_fs_hash_end(struct rf_fs_hash *hash, uint8_t ret_digest[RF_FS_DIGEST_BYTES])
{
	unsigned int size = RF_FS_DIGEST_BYTES;

	if (!EVP_DigestFinal_ex(hash->context, ret_digest, &size) ||
		!EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL))
		return -ENOMEM;
	return 0;
}

int rf_fs_hash_fd(const struct rf_fs *fs, struct rf_fs_hash *hash, int fd, uint64_t offset,
	uint64_t size_bytes, uint8_t ret_digest[RF_FS_DIGEST_BYTES])
{
	while (size_bytes > 0) {
		size_t wanted = size_bytes < CHUNK_BYTES ? size_bytes : CHUNK_BYTES;
		ssize_t size = pread(fd, hash->chunk, wanted, (off_t)offset);

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return -errno;
		if (size == 0)
			return -ESTALE;
		if (rf_fs_hash_add(hash, hash->chunk, (size_t)size) < 0)
			return -ENOMEM;
		offset += (uint64_t)size;
		size_bytes -= (uint64_t)size;
		rf_fs_tick(fs);
		if (rf_monotonic_ns() > fs->deadline_ns)
			return -ETIMEDOUT;
	}
	return rf_fs_hash_end(hash, ret_digest);
}

int rf_fs_refuse_hash(
	struct rf_fs_result *result, enum rf_fs_operation operation, const char *path, int error)
{
	if (error == ESTALE)
		return rf_fs_refuse_changed(
			result, operation, path, "it was truncated while it was read");
	if (error == ETIMEDOUT)
		return rf_fs_refuse(result, operation, path, ETIMEDOUT, RF_FS_CODE_TIMEOUT,
			"the deadline has passed");
	return rf_fs_refuse_call(result, operation, path, error);
}

void rf_fs_do_digest(
	struct rf_fs *fs, const struct rf_fs_request *request, struct rf_fs_result *result)
{
	struct rf_fs_where where rf_autowhere = {0};
	struct rf_fs_hash *hash rf_autohash = NULL;
	int parent_fd rf_autoclose = -1, fd rf_autoclose = -1, r;
	uint64_t size;
	struct stat opened;

	if (rf_fs_where(fs, request->operation, request->path, &where, result))
		return;
	parent_fd = rf_fs_pin(fs, request->operation, &where, request->path, result);
	if (parent_fd < 0)
		return;
	fd = rf_fs_open_file(
		fs, request->operation, &where, request->path, parent_fd, &opened, result);
	if (fd < 0)
		return;
	size = (uint64_t)opened.st_size;
	size = request->offset < size ? size - request->offset : 0;
	if (request->flags & RF_FS_HAS_LENGTH && size > request->length)
		size = request->length;
	hash = rf_fs_hash_new();
	r = hash ? rf_fs_hash_fd(fs, hash, fd, request->offset, size, result->digest) : -ENOMEM;
	if (r < 0) {
		rf_fs_refuse_hash(result, request->operation, request->path, -r);
		return;
	}
	rf_fs_stat_from_fd(&opened, &result->stat);
	result->has_stat = true;
	result->has_digest = true;
	result->bytes = size;
}
