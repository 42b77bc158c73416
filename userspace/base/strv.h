/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A growing, NULL-terminated list of owned strings; items can be handed to exec. */

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct rf_strv {
	char **items;
	size_t count;
	size_t room;
};

/* 0 or -ENOMEM; the text is copied. */
int rf_strv_add(struct rf_strv *strv, const char *text);
/* The same with a format. */
int rf_strv_addf(struct rf_strv *strv, const char *format, ...) rf_printf(2, 3);
/* Adds a NULL-terminated list. */
int rf_strv_add_all(struct rf_strv *strv, const char *const *texts);
bool rf_strv_has(const struct rf_strv *strv, const char *text);
void rf_strv_clear(struct rf_strv *strv);

/* struct rf_strv names rf_autostrv = {0}; */
#define rf_autostrv rf_cleanup(rf_strv_clear)

/* A growing buffer of bytes. data is NULL or NUL-terminated after size. */
struct rf_buf {
	char *data;
	size_t size;
	size_t room;
};

int rf_buf_add(struct rf_buf *buf, const void *data, size_t size_bytes);
int rf_buf_addf(struct rf_buf *buf, const char *format, ...) rf_printf(2, 3);
void rf_buf_clear(struct rf_buf *buf);

/* struct rf_buf text rf_autobuf = {0}; */
#define rf_autobuf rf_cleanup(rf_buf_clear)
