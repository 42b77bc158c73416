/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Landlock as of ABI 11, in constants of our own: the installed headers are older.
 * Source: Documentation/userspace-api/landlock.rst, include/uapi/linux/landlock.h.
 */

#include <stdint.h>

#define RF_SYS_LANDLOCK_CREATE_RULESET 444
#define RF_SYS_LANDLOCK_ADD_RULE 445
#define RF_SYS_LANDLOCK_RESTRICT_SELF 446

#define RF_LANDLOCK_CREATE_RULESET_VERSION (1U << 0)
#define RF_LANDLOCK_RULE_PATH_BENEATH 1

struct rf_landlock_ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* ABI 4 */
	uint64_t scoped;	     /* ABI 6 */
};

struct rf_landlock_path_beneath_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

#define RF_LANDLOCK_EXECUTE (1ULL << 0)
#define RF_LANDLOCK_WRITE_FILE (1ULL << 1)
#define RF_LANDLOCK_READ_FILE (1ULL << 2)
#define RF_LANDLOCK_READ_DIR (1ULL << 3)
#define RF_LANDLOCK_REMOVE_DIR (1ULL << 4)
#define RF_LANDLOCK_REMOVE_FILE (1ULL << 5)
#define RF_LANDLOCK_MAKE_CHAR (1ULL << 6)
#define RF_LANDLOCK_MAKE_DIR (1ULL << 7)
#define RF_LANDLOCK_MAKE_REG (1ULL << 8)
#define RF_LANDLOCK_MAKE_SOCK (1ULL << 9)
#define RF_LANDLOCK_MAKE_FIFO (1ULL << 10)
#define RF_LANDLOCK_MAKE_BLOCK (1ULL << 11)
#define RF_LANDLOCK_MAKE_SYM (1ULL << 12)
#define RF_LANDLOCK_REFER (1ULL << 13)	      /* ABI 2 */
#define RF_LANDLOCK_TRUNCATE (1ULL << 14)     /* ABI 3 */
#define RF_LANDLOCK_IOCTL_DEV (1ULL << 15)    /* ABI 5 */
#define RF_LANDLOCK_RESOLVE_UNIX (1ULL << 16) /* ABI 9 */

#define RF_LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0) /* ABI 6 */
#define RF_LANDLOCK_SCOPE_SIGNAL (1ULL << 1)		   /* ABI 6 */

/* Every filesystem right that an ABI knows. */
static inline uint64_t rf_landlock_fs_rights(unsigned int abi)
{
	uint64_t rights = (1ULL << 13) - 1;

	if (abi >= 2)
		rights |= RF_LANDLOCK_REFER;
	if (abi >= 3)
		rights |= RF_LANDLOCK_TRUNCATE;
	if (abi >= 5)
		rights |= RF_LANDLOCK_IOCTL_DEV;
	if (abi >= 9)
		rights |= RF_LANDLOCK_RESOLVE_UNIX;
	return rights;
}
