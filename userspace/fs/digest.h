/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* SHA-256 by libcrypto; one state serves many files, one after another. */

#include "fs/inside.h"

struct rf_fs_hash;

/* NULL: out of memory, no libcrypto, or no SHA-256 in it. */
struct rf_fs_hash *rf_fs_hash_new(void);
struct rf_fs_hash *rf_fs_hash_free(struct rf_fs_hash *hash);
static inline void rf_fs_hash_free_p(struct rf_fs_hash **hash)
{
	*hash = rf_fs_hash_free(*hash);
}
#define rf_autohash rf_cleanup(rf_fs_hash_free_p)

/* 0 or -ENOMEM. */
int rf_fs_hash_add(struct rf_fs_hash *hash, const void *data, size_t size_bytes);
/* Gives the digest of what was added and begins anew. 0 or -ENOMEM. */
int rf_fs_hash_end(struct rf_fs_hash *hash, uint8_t ret_digest[RF_FS_DIGEST_BYTES]);
/* All of a range of an open file. 0; -ESTALE: the file ended before; -ETIMEDOUT; or -errno. */
int rf_fs_hash_fd(const struct rf_fs *fs, struct rf_fs_hash *hash, int fd, uint64_t offset,
	uint64_t size_bytes, uint8_t ret_digest[RF_FS_DIGEST_BYTES]);
/* The refusal that belongs to rf_fs_hash_fd's error (positive). RF_REFUSED. */
int rf_fs_refuse_hash(
	struct rf_fs_result *result, enum rf_fs_operation operation, const char *path, int error);
