/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Attributes and ownership.
 *
 * Return values of this code base carry one of two signs (after dbus-broker):
 *   0          done
 *   negative   -errno: something that the direct caller does not handle; it is only forwarded
 *   positive   a condition that the function documents and its direct caller handles;
 *              RF_REFUSED always means that a struct rf_diag was filled
 */

#include <stddef.h>
#include <stdlib.h>

#define RF_REFUSED 1

#define rf_printf(text_at, args_at) __attribute__((format(printf, text_at, args_at)))
#define rf_unused __attribute__((unused))
#define rf_cleanup(function) __attribute__((cleanup(function)))

#define RF_ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Moves an owning pointer out of a local whose cleanup would free it. */
#define RF_TAKE(pointer)                                   \
	({                                                 \
		__typeof__(pointer) rf_taken_ = (pointer); \
		(pointer) = NULL;                          \
		rf_taken_;                                 \
	})

/* The same for a descriptor. */
#define RF_TAKE_FD(fd)                \
	({                            \
		int rf_taken_ = (fd); \
		(fd) = -1;            \
		rf_taken_;            \
	})

static inline void rf_free_p(void *pointer)
{
	free(*(void **)pointer);
}

/* char *text rf_autofree = NULL; */
#define rf_autofree rf_cleanup(rf_free_p)
