/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "policy/git_config.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/strv.h"

#define END (-1)

struct reader {
	const unsigned char *at;
	const unsigned char *end;
	/* "section.subsection." and, behind it, the name in hand. */
	struct rf_buf key;
	size_t prefix_bytes;
	struct rf_buf value;
};

static void clear_reader(struct reader *reader)
{
	rf_buf_clear(&reader->key);
	rf_buf_clear(&reader->value);
}

/* Locale plays no part. */
static bool is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name(int c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static bool is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static char lower(int c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* A line may end in CR LF; the end of the file ends a line as well. */
static int next(struct reader *reader)
{
	if (reader->at == reader->end)
		return END;
	if (reader->at[0] == '\r' && reader->end - reader->at > 1 && reader->at[1] == '\n')
		reader->at++;
	return *reader->at++;
}

static bool is_line_end(int c)
{
	return c == '\n' || c == END;
}

static int add(struct rf_buf *buf, char c)
{
	return rf_buf_add(buf, &c, 1);
}

static void cut(struct rf_buf *buf, size_t size)
{
	buf->size = size;
	if (buf->data)
		buf->data[size] = '\0';
}

/* [section "subsection"]: from the first blank to the bracket. */
static int read_subsection(struct reader *reader)
{
	int c;
	int r;

	do
		c = next(reader);
	while (c == ' ' || c == '\t');
	if (c != '"')
		return -EBADMSG;
	r = add(&reader->key, '.');
	while (r == 0 && (c = next(reader)) != '"') {
		if (c == '\\')
			c = next(reader);
		r = is_line_end(c) ? -EBADMSG : add(&reader->key, (char)c);
	}
	if (r < 0)
		return r;
	return next(reader) == ']' ? 0 : -EBADMSG;
}

static int read_section(struct reader *reader)
{
	int r = 0;

	cut(&reader->key, 0);
	while (r == 0) {
		int c = next(reader);

		if (c == ']')
			break;
		if (c == ' ' || c == '\t') {
			r = read_subsection(reader);
			break;
		}
		r = is_name(c) || c == '.' ? add(&reader->key, lower(c)) : -EBADMSG;
	}
	if (r == 0)
		r = add(&reader->key, '.');
	reader->prefix_bytes = reader->key.size;
	return r;
}

/* What stands behind a backslash. 0: a line that goes on; END: nothing that git takes. */
static int unescape(int c)
{
	switch (c) {
	case '\n':
		return 0;
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case 'n':
		return '\n';
	case '\\':
	case '"':
		return c;
	default:
		return END;
	}
}

/* Blanks in the middle of a value stay, those around it go. */
static int add_blanks(struct reader *reader, size_t *blanks)
{
	int r = 0;

	for (; r == 0 && *blanks > 0; (*blanks)--)
		r = add(&reader->value, ' ');
	return r;
}

static int read_value(struct reader *reader)
{
	bool is_quoted = false;
	bool is_comment = false;
	size_t blanks = 0;
	int r = 0;

	for (int c = next(reader); r == 0; c = next(reader)) {
		if (is_line_end(c))
			return is_quoted ? -EBADMSG : 0;
		if (is_comment)
			continue;
		if (is_blank(c) && !is_quoted) {
			blanks += reader->value.size > 0;
			continue;
		}
		if (!is_quoted && (c == ';' || c == '#')) {
			is_comment = true;
			continue;
		}
		r = add_blanks(reader, &blanks);
		if (r == 0 && c == '"') {
			is_quoted = !is_quoted;
			continue;
		}
		if (c == '\\') {
			c = unescape(next(reader));
			if (c == 0)
				continue;
		}
		if (r == 0)
			r = c == END ? -EBADMSG : add(&reader->value, (char)c);
	}
	return r;
}

static int read_setting(struct reader *reader, int c, rf_git_setting *setting, void *data)
{
	int r = 0;

	cut(&reader->key, reader->prefix_bytes);
	cut(&reader->value, 0);
	for (; r == 0 && is_name(c); c = next(reader))
		r = add(&reader->key, lower(c));
	while (c == ' ' || c == '\t')
		c = next(reader);
	if (r < 0)
		return r;
	if (is_line_end(c))
		return setting(data, reader->key.data, NULL);
	if (c != '=')
		return -EBADMSG;
	r = read_value(reader);
	if (r < 0)
		return r;
	return setting(data, reader->key.data, reader->value.size ? reader->value.data : "");
}

static void skip_line(struct reader *reader)
{
	while (!is_line_end(next(reader)))
		;
}

int rf_git_config_parse(const char *text, size_t size_bytes, rf_git_setting *setting, void *data)
{
	struct reader reader rf_cleanup(clear_reader) = {
		.at = (const unsigned char *)text,
		.end = (const unsigned char *)text + size_bytes,
	};
	int r = 0;
	int c;

	if (memchr(text, '\0', size_bytes))
		return -EBADMSG;
	if (size_bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		reader.at += 3;
	while (r == 0 && (c = next(&reader)) != END) {
		if (is_blank(c))
			continue;
		if (c == '#' || c == ';')
			skip_line(&reader);
		else if (c == '[')
			r = read_section(&reader);
		else if (is_letter(c) && reader.prefix_bytes > 0)
			r = read_setting(&reader, c, setting, data);
		else
			r = -EBADMSG;
	}
	return r;
}
