/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "wire/text.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"

static json_t *hex_object(const char *text)
{
	static const char digits[] = "0123456789abcdef";
	size_t size = strlen(text);
	char *hex rf_autofree = malloc(2 * size + 1);

	if (!hex)
		return NULL;
	for (size_t i = 0; i < size; i++) {
		hex[2 * i] = digits[(unsigned char)text[i] >> 4];
		hex[2 * i + 1] = digits[(unsigned char)text[i] & 15];
	}
	hex[2 * size] = '\0';
	return json_pack("{s:s}", "hex", hex);
}

json_t *rf_wire_text(const char *text)
{
	/* jansson refuses what is not UTF-8. */
	json_t *plain = json_string(text);

	return plain ? plain : hex_object(text);
}

json_t *rf_wire_texts(const char *const *texts)
{
	json_t *list rf_autojson = json_array();

	for (; texts && *texts; texts++) {
		if (json_array_append_new(list, rf_wire_text(*texts)) < 0)
			return NULL;
	}
	return RF_TAKE(list);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static int from_hex(const char *hex, char **ret_text)
{
	size_t size = strlen(hex);
	char *text rf_autofree = malloc(size / 2 + 1);

	if (!text)
		return -ENOMEM;
	if (size % 2 != 0)
		return RF_WIRE_TEXT_INVALID;
	for (size_t i = 0; i < size / 2; i++) {
		int high = digit(hex[2 * i]);
		int low = digit(hex[2 * i + 1]);

		if (high < 0 || low < 0 || (high == 0 && low == 0))
			return RF_WIRE_TEXT_INVALID;
		text[i] = (char)(high << 4 | low);
	}
	text[size / 2] = '\0';
	*ret_text = RF_TAKE(text);
	return 0;
}

int rf_wire_text_get(const json_t *json, char **ret_text)
{
	const char *plain = json_string_value(json);
	const char *hex = rf_json_get_text(json, "hex");
	char *copy;

	if (!plain)
		return hex ? from_hex(hex, ret_text) : RF_WIRE_TEXT_INVALID;
	copy = strdup(plain);
	if (!copy)
		return -ENOMEM;
	*ret_text = copy;
	return 0;
}
