/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "base/strv.h"

json_t *rf_json_parse(const char *text, size_t size_bytes, json_error_t *ret_error)
{
	return json_loadb(text, size_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, ret_error);
}

size_t rf_utf8_length(const unsigned char *b, size_t left)
{
	unsigned int point;
	size_t length;

	if (b[0] == 0)
		return 0;
	if (b[0] < 0x80)
		return 1;
	if (b[0] >= 0xc2 && b[0] <= 0xdf)
		length = 2;
	else if ((b[0] & 0xf0) == 0xe0)
		length = 3;
	else if (b[0] >= 0xf0 && b[0] <= 0xf4)
		length = 4;
	else
		return 0;
	if (left < length)
		return 0;
	point = b[0] & (0xffU >> (length + 1));
	for (size_t i = 1; i < length; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (b[i] & 0x3fU);
	}
	if (length == 3 && (point < 0x800 || (point >= 0xd800 && point <= 0xdfff)))
		return 0;
	if (length == 4 && (point < 0x10000 || point > 0x10ffff))
		return 0;
	return length;
}

json_t *rf_json_bytes(const char *bytes, size_t size_bytes)
{
	struct rf_buf text rf_autobuf = {0};
	size_t at = 0;

	if (rf_buf_add(&text, "", 0) < 0)
		return NULL;
	while (at < size_bytes) {
		size_t length = rf_utf8_length((const unsigned char *)bytes + at, size_bytes - at);
		int r;

		if (length > 0)
			r = rf_buf_add(&text, bytes + at, length);
		else
			r = rf_buf_addf(&text, "\\x%02x", (unsigned char)bytes[at]);
		if (r < 0)
			return NULL;
		at += length ? length : 1;
	}
	return json_stringn(text.data, text.size);
}

json_t *rf_json_text(const char *text)
{
	return text ? rf_json_bytes(text, strlen(text)) : json_null();
}

json_t *rf_json_id(uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, id);
	return json_string(text);
}

char *rf_json_line(const json_t *json)
{
	return json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
}

char *rf_json_pretty(const json_t *json)
{
	char *text rf_autofree = json_dumps(json, JSON_INDENT(2) | JSON_ENCODE_ANY);
	char *line = NULL;

	if (!text || asprintf(&line, "%s\n", text) < 0)
		return NULL;
	return line;
}

const char *rf_json_get_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

uint64_t rf_json_get_u64(const json_t *object, const char *key, uint64_t fallback)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return fallback;
	return (uint64_t)json_integer_value(value);
}

bool rf_json_get_bool(const json_t *object, const char *key, bool fallback)
{
	const json_t *value = json_object_get(object, key);

	return json_is_boolean(value) ? json_is_true(value) : fallback;
}

static void set_text(json_t *object, const char *key, const char *text)
{
	if (text[0])
		json_object_set_new(object, key, rf_json_text(text));
}

json_t *rf_json_from_diag(const struct rf_diag *diag)
{
	json_t *refusal = json_object();

	set_text(refusal, "code", diag->code);
	set_text(refusal, "message", diag->message);
	set_text(refusal, "mechanism", diag->mechanism);
	set_text(refusal, "missing", diag->missing);
	set_text(refusal, "promise", diag->promise);
	set_text(refusal, "path", diag->path);
	set_text(refusal, "hint", diag->hint);
	if (diag->line > 0) {
		set_text(refusal, "file", diag->file);
		json_object_set_new(refusal, "line", json_integer(diag->line));
		json_object_set_new(refusal, "column", json_integer(diag->column));
	}
	set_text(refusal, "stage", diag->stage);
	return refusal;
}

static void get_text(const json_t *object, const char *key, char *to, size_t size)
{
	const char *text = rf_json_get_text(object, key);

	snprintf(to, size, "%s", text ? text : "");
}

void rf_json_to_diag(const json_t *refusal, struct rf_diag *ret_diag)
{
	*ret_diag = (struct rf_diag){0};
	get_text(refusal, "code", ret_diag->code, sizeof(ret_diag->code));
	get_text(refusal, "message", ret_diag->message, sizeof(ret_diag->message));
	get_text(refusal, "mechanism", ret_diag->mechanism, sizeof(ret_diag->mechanism));
	get_text(refusal, "missing", ret_diag->missing, sizeof(ret_diag->missing));
	get_text(refusal, "promise", ret_diag->promise, sizeof(ret_diag->promise));
	get_text(refusal, "path", ret_diag->path, sizeof(ret_diag->path));
	get_text(refusal, "hint", ret_diag->hint, sizeof(ret_diag->hint));
	get_text(refusal, "file", ret_diag->file, sizeof(ret_diag->file));
	get_text(refusal, "stage", ret_diag->stage, sizeof(ret_diag->stage));
	ret_diag->line = (unsigned int)rf_json_get_u64(refusal, "line", 0);
	ret_diag->column = (unsigned int)rf_json_get_u64(refusal, "column", 0);
}
