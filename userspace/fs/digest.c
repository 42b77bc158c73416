/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * SHA-256 of a file, and of a tree.
 *
 * libcrypto is loaded with the first digest. Client and controller share this module, and a library
 * of 5 MB that is mapped, relocated and initialised would cost each start of each of them a
 * millisecond, which only a digest needs.
 */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/opensslv.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "fs/digest.h"

#define CHUNK_BYTES (256U * 1024)

#define TEXT(number) #number
#define TEXT_OF(number) TEXT(number)
#define LIBRARY "libcrypto.so." TEXT_OF(OPENSSL_SHLIB_VERSION)

static struct {
	__typeof__(EVP_MD_CTX_new) *new_context;
	__typeof__(EVP_MD_CTX_free) *free_context;
	__typeof__(EVP_sha256) *sha256;
	__typeof__(EVP_DigestInit_ex) *init;
	__typeof__(EVP_DigestUpdate) *update;
	__typeof__(EVP_DigestFinal_ex) *final;
	bool is_whole;
} crypto;

/* It stays for the life of the program. */
static void load_crypto(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return;
	crypto.new_context = dlsym(library, "EVP_MD_CTX_new");
	crypto.free_context = dlsym(library, "EVP_MD_CTX_free");
	crypto.sha256 = dlsym(library, "EVP_sha256");
	crypto.init = dlsym(library, "EVP_DigestInit_ex");
	crypto.update = dlsym(library, "EVP_DigestUpdate");
	crypto.final = dlsym(library, "EVP_DigestFinal_ex");
	crypto.is_whole = crypto.new_context && crypto.free_context && crypto.sha256 &&
			  crypto.init && crypto.update && crypto.final;
}

struct rf_fs_hash {
	EVP_MD_CTX *context;
	char chunk[CHUNK_BYTES];
};

struct rf_fs_hash *rf_fs_hash_new(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct rf_fs_hash *hash;

	pthread_once(&once, load_crypto);
	hash = crypto.is_whole ? malloc(sizeof(*hash)) : NULL;
	if (!hash)
		return NULL;
	hash->context = crypto.new_context();
	if (!hash->context || !crypto.init(hash->context, crypto.sha256(), NULL))
		return rf_fs_hash_free(hash);
	return hash;
}

struct rf_fs_hash *rf_fs_hash_free(struct rf_fs_hash *hash)
{
	if (hash)
		crypto.free_context(hash->context);
	free(hash);
	return NULL;
}

int rf_fs_hash_add(struct rf_fs_hash *hash, const void *data, size_t size_bytes)
{
	return crypto.update(hash->context, data, size_bytes) ? 0 : -ENOMEM;
}

int rf_fs_hash_end(struct rf_fs_hash *hash, uint8_t ret_digest[RF_FS_DIGEST_BYTES])
{
	unsigned int size = RF_FS_DIGEST_BYTES;

	if (!crypto.final(hash->context, ret_digest, &size) ||
		!crypto.init(hash->context, crypto.sha256(), NULL))
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
