/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "fs/encode.h"

#include <errno.h>
#include <stdbool.h>

#define PADDING 64
static const char digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

size_t rf_base64_size(size_t size_bytes)
{
	return (size_bytes + 2) / 3 * 4;
}

void rf_base64_encode(const void *data, size_t size_bytes, char *ret_text)
{
	const uint8_t *bytes = data;

	for (size_t at = 0; at < size_bytes; at += 3) {
		size_t left = size_bytes - at;
		uint32_t group = (uint32_t)bytes[at] << 16;

		if (left > 1)
			group |= (uint32_t)bytes[at + 1] << 8;
		if (left > 2)
			group |= bytes[at + 2];
		*ret_text++ = digits64[group >> 18];
		*ret_text++ = digits64[group >> 12 & 63];
		*ret_text++ = digits64[left > 1 ? group >> 6 & 63 : PADDING];
		*ret_text++ = digits64[left > 2 ? group & 63 : PADDING];
	}
	*ret_text = '\0';
}

static int value64(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* Four characters, n_bytes of them meant (1 to 3). false: none of base64, or stray bits. */
static bool decode_group(const char *text, size_t n_bytes, uint8_t *ret_bytes)
{
	uint32_t group = 0;

	for (size_t i = 0; i < 4; i++) {
		int value = i <= n_bytes ? value64(text[i]) : 0;

		if (value < 0)
			return false;
		group = group << 6 | (uint32_t)value;
	}
	for (size_t i = 0; i < n_bytes; i++)
		ret_bytes[i] = (uint8_t)(group >> (16 - 8 * i));
	return n_bytes == 3 || (group & (0xffffffU >> 8 * n_bytes)) == 0;
}

int rf_base64_decode(const char *text, size_t length, void **ret_data, size_t *ret_size_bytes)
{
	size_t size = length / 4 * 3;
	uint8_t *data rf_autofree = malloc(size + 1);

	if (!data)
		return -ENOMEM;
	if (length % 4 != 0)
		return RF_ENCODED_WRONG;
	if (length > 0 && text[length - 1] == '=')
		size -= text[length - 2] == '=' ? 2 : 1;
	for (size_t group = 0; group < length / 4; group++) {
		size_t left = size - 3 * group;

		if (!decode_group(text + 4 * group, left < 3 ? left : 3, data + 3 * group))
			return RF_ENCODED_WRONG;
	}
	data[size] = 0;
	*ret_data = RF_TAKE(data);
	*ret_size_bytes = size;
	return 0;
}

void rf_hex_encode(const void *data, size_t size_bytes, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size_bytes; i++) {
		*ret_text++ = digits[bytes[i] >> 4];
		*ret_text++ = digits[bytes[i] & 15];
	}
	*ret_text = '\0';
}

static int value16(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int rf_hex_decode(const char *text, size_t length, void **ret_data, size_t *ret_size_bytes)
{
	uint8_t *data rf_autofree = malloc(length / 2 + 1);

	if (!data)
		return -ENOMEM;
	if (length % 2 != 0)
		return RF_ENCODED_WRONG;
	for (size_t i = 0; i < length / 2; i++) {
		int high = value16(text[2 * i]);
		int low = value16(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return RF_ENCODED_WRONG;
		data[i] = (uint8_t)(high << 4 | low);
	}
	data[length / 2] = 0;
	*ret_data = RF_TAKE(data);
	*ret_size_bytes = length / 2;
	return 0;
}
