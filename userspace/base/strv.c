/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/strv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int push(struct rf_strv *strv, char *owned)
{
	if (strv->count + 1 >= strv->room) {
		size_t room = strv->room ? strv->room * 2 : 16;
		char **grown = reallocarray(strv->items, room, sizeof(*grown));

		if (!grown) {
			free(owned);
			return -ENOMEM;
		}
		strv->items = grown;
		strv->room = room;
	}
	strv->items[strv->count++] = owned;
	strv->items[strv->count] = NULL;
	return 0;
}

int rf_strv_add(struct rf_strv *strv, const char *text)
{
	char *owned = strdup(text);

	return owned ? push(strv, owned) : -ENOMEM;
}

int rf_strv_addf(struct rf_strv *strv, const char *format, ...)
{
	char *owned = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&owned, format, args);
	va_end(args);
	return n < 0 ? -ENOMEM : push(strv, owned);
}

int rf_strv_add_all(struct rf_strv *strv, const char *const *texts)
{
	for (; *texts; texts++) {
		int r = rf_strv_add(strv, *texts);

		if (r < 0)
			return r;
	}
	return 0;
}

bool rf_strv_has(const struct rf_strv *strv, const char *text)
{
	for (size_t i = 0; i < strv->count; i++) {
		if (strcmp(strv->items[i], text) == 0)
			return true;
	}
	return false;
}

void rf_strv_clear(struct rf_strv *strv)
{
	for (size_t i = 0; i < strv->count; i++)
		free(strv->items[i]);
	free(strv->items);
	*strv = (struct rf_strv){0};
}

int rf_buf_add(struct rf_buf *buf, const void *data, size_t size_bytes)
{
	if (buf->size + size_bytes + 1 > buf->room) {
		size_t room = buf->room ? buf->room : 256;
		char *grown;

		while (room < buf->size + size_bytes + 1)
			room *= 2;
		grown = realloc(buf->data, room);
		if (!grown)
			return -ENOMEM;
		buf->data = grown;
		buf->room = room;
	}
	if (size_bytes > 0)
		memcpy(buf->data + buf->size, data, size_bytes);
	buf->size += size_bytes;
	buf->data[buf->size] = '\0';
	return 0;
}

int rf_buf_addf(struct rf_buf *buf, const char *format, ...)
{
	char *text rf_autofree = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		text = NULL;
		return -ENOMEM;
	}
	return rf_buf_add(buf, text, (size_t)n);
}

void rf_buf_clear(struct rf_buf *buf)
{
	free(buf->data);
	*buf = (struct rf_buf){0};
}
