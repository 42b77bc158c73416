/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "fs/lift.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/json.h"
#include "fs/encode.h"

/* ---- finding ----------------------------------------------------------------------------------
 */

/* The end of the string whose opening quote is at; size: it has none. */
static size_t string_end(const char *text, size_t size, size_t at)
{
	for (at++; at < size && text[at] != '"'; at++) {
		if (text[at] == '\\')
			at++;
	}
	return at < size ? at : size;
}

/* The opening quote of the value of the key whose closing quote is at end; 0: no string. */
static size_t value_after(const char *text, size_t end)
{
	size_t value = end + 1;

	value += strspn(text + value, " \t\r");
	if (text[value] != ':')
		return 0;
	value += 1 + strspn(text + value + 1, " \t\r");
	return text[value] == '"' ? value : 0;
}

/* Where the value of a member of the outermost object begins, its opening quote; 0: nowhere. */
static size_t find_value(const char *text, size_t size, const char *key)
{
	size_t depth = 0, key_size = strlen(key);

	for (size_t at = 0; at < size; at++) {
		size_t end, value;

		if (text[at] == '{' || text[at] == '[')
			depth++;
		if ((text[at] == '}' || text[at] == ']') && depth > 0)
			depth--;
		if (text[at] != '"')
			continue;
		end = string_end(text, size, at);
		if (end < size && depth == 1 && end - at - 1 == key_size &&
			memcmp(text + at + 1, key, key_size) == 0) {
			value = value_after(text, end);
			if (value)
				return value;
		}
		at = end;
	}
	return 0;
}

bool rf_fs_has_many_values(const char *text, size_t size_bytes)
{
	size_t count = 0;

	for (size_t at = 0; at < size_bytes && count <= RF_FS_REST_MAX_VALUES; at++) {
		if (text[at] == '"')
			at = string_end(text, size_bytes, at);
		else if (text[at] == ',')
			count++;
	}
	return count > RF_FS_REST_MAX_VALUES;
}

/* ---- JSON's strings -----------------------------------------------------------------------------
 */

/* Four hexadecimal digits; UINT32_MAX: they are not. */
static uint32_t unit_of(const char *from, size_t left)
{
	uint32_t unit = 0;

	if (left < 4)
		return UINT32_MAX;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef";
		int letter = from[i] >= 'A' && from[i] <= 'F' ? from[i] - 'A' + 'a' : from[i];
		const char *digit = letter ? strchr(digits, letter) : NULL;

		if (!digit)
			return UINT32_MAX;
		unit = unit << 4 | (uint32_t)(digit - digits);
	}
	return unit;
}

static size_t put_point(uint32_t point, char *to)
{
	if (point < 0x80) {
		to[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		to[0] = (char)(0xc0 | point >> 6);
		to[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	if (point < 0x10000) {
		to[0] = (char)(0xe0 | point >> 12);
		to[1] = (char)(0x80 | (point >> 6 & 0x3f));
		to[2] = (char)(0x80 | (point & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | point >> 18);
	to[1] = (char)(0x80 | (point >> 12 & 0x3f));
	to[2] = (char)(0x80 | (point >> 6 & 0x3f));
	to[3] = (char)(0x80 | (point & 0x3f));
	return 4;
}

/* What follows \u, its pair included. Characters read, 0: it is none. */
static size_t point_of(const char *from, size_t left, uint32_t *ret_point)
{
	uint32_t unit = unit_of(from, left), low;

	if (unit == UINT32_MAX || unit == 0 || (unit >= 0xdc00 && unit <= 0xdfff))
		return 0;
	*ret_point = unit;
	if (unit < 0xd800 || unit > 0xdbff)
		return 4;
	low = left >= 10 && from[4] == '\\' && from[5] == 'u' ? unit_of(from + 6, left - 6) : 0;
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	*ret_point = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
	return 10;
}

/* One escape, after its backslash. Characters read, 0: it is none. */
static size_t unescape(const char *from, size_t left, char *to, size_t *ret_written)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *letter = left > 0 && from[0] ? strchr(letters, from[0]) : NULL;
	uint32_t point = 0;
	size_t used;

	if (letter) {
		*to = meant[letter - letters];
		*ret_written = 1;
		return 1;
	}
	if (left == 0 || from[0] != 'u')
		return 0;
	used = point_of(from + 1, left - 1, &point);
	if (used == 0)
		return 0;
	*ret_written = put_point(point, to);
	return used + 1;
}

/* One character as it stands. Bytes, 0: none that a string has. */
static size_t copy_character(const char *from, size_t left, char *to)
{
	size_t size =
		(unsigned char)*from < 0x20 ? 0 : rf_utf8_length((const unsigned char *)from, left);

	memcpy(to, from, size);
	return size;
}

/* As rf_base64_decode. No escape is shorter than what it stands for. */
static int string_decode(const char *from, size_t length, void **ret_data, size_t *ret_size)
{
	char *data rf_autofree = malloc(length + 1);
	size_t at = 0, size = 0;

	if (!data)
		return -ENOMEM;
	while (at < length) {
		size_t written = 0, used;

		if (from[at] == '\\') {
			used = unescape(from + at + 1, length - at - 1, data + size, &written);
			used += used > 0;
		} else {
			used = written = copy_character(from + at, length - at, data + size);
		}
		if (used == 0)
			return RF_ENCODED_WRONG;
		at += used;
		size += written;
	}
	data[size] = '\0';
	*ret_data = RF_TAKE(data);
	*ret_size = size;
	return 0;
}

/* ---- lifting ----------------------------------------------------------------------------------
 */

static int decode(enum rf_fs_lift which, const char *from, size_t length, uint64_t limit,
	struct rf_fs_lifted *ret_lifted)
{
	int r;

	/* Base64 of so many characters; a string may shrink to a sixth. */
	if (which == RF_FS_LIFT_CONTENT ? length / 4 * 3 > limit + 2 : length / 6 > limit)
		return RF_FS_LIFT_LARGE;
	r = which == RF_FS_LIFT_CONTENT
		    ? rf_base64_decode(from, length, &ret_lifted->content, &ret_lifted->size)
		    : string_decode(from, length, &ret_lifted->content, &ret_lifted->size);
	return r == 0 && ret_lifted->size > limit ? RF_FS_LIFT_LARGE : r;
}

static int lift_one(char *text, size_t *size, enum rf_fs_lift which, uint64_t limit,
	struct rf_fs_lifted *ret_lifted)
{
	static const char *const keys[] = {"content", "text"};
	size_t at = find_value(text, *size, keys[which]);
	size_t end = at ? string_end(text, *size, at) : *size;
	size_t length = end - at - 1;

	/* Escapes in base64 are for a JSON parser. */
	if (end == *size || (which == RF_FS_LIFT_CONTENT && memchr(text + at + 1, '\\', length)))
		return 0;
	ret_lifted->status = decode(which, text + at + 1, length, limit, ret_lifted);
	if (ret_lifted->status < 0)
		return ret_lifted->status;
	ret_lifted->is_there = true;
	memmove(text + at + 1, text + end, *size - end + 1);
	*size -= length;
	return 0;
}

int rf_fs_lift(char *text, size_t *size_bytes, uint64_t content_bytes,
	struct rf_fs_lifted ret_lifted[RF_FS_LIFTS_])
{
	int r = 0;

	for (unsigned int i = 0; i < RF_FS_LIFTS_ && r == 0; i++)
		r = lift_one(text, size_bytes, (enum rf_fs_lift)i, content_bytes, &ret_lifted[i]);
	return r;
}

void rf_fs_lift_clear(struct rf_fs_lifted lifted[RF_FS_LIFTS_])
{
	for (unsigned int i = 0; i < RF_FS_LIFTS_; i++)
		free(lifted[i].content);
}
