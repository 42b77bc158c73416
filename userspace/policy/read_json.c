/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * JSON as events. jansson judges the text first (grammar, duplicate keys, depth); what is left is
 * to walk well-formed text and to know where each value stands, which jansson does not keep.
 */

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/strv.h"
#include "policy/read.h"

struct json_events {
	struct rf_events events;
	const char *text;
	size_t size;
	size_t offset;
	unsigned int line;
	/* Column of what stands at counted, in the same line: a policy may be one line of
	 * megabytes. */
	size_t counted;
	unsigned int column;
	/* Text of the last scalar. */
	struct rf_buf scalar;
};

static void clear_events(struct json_events *json)
{
	rf_buf_clear(&json->scalar);
}

/* White space, and the commas and colons of text that is known to be well-formed. */
static void skip_separators(struct json_events *json)
{
	for (; json->offset < json->size; json->offset++) {
		char c = json->text[json->offset];

		if (c == '\n') {
			json->line++;
			json->counted = json->offset + 1;
			json->column = 1;
		} else if (c != ' ' && c != '\t' && c != '\r' && c != ',' && c != ':') {
			return;
		}
	}
}

static unsigned int column_here(struct json_events *json)
{
	for (; json->counted < json->offset; json->counted++) {
		if ((json->text[json->counted] & 0xc0) != 0x80)
			json->column++;
	}
	return json->column;
}

/* Length of the string literal at offset, quotes included. */
static size_t string_length(const struct json_events *json)
{
	size_t i = json->offset + 1;

	while (i < json->size && json->text[i] != '"')
		i += json->text[i] == '\\' ? 2 : 1;
	return i + 1 > json->size ? json->size - json->offset : i + 1 - json->offset;
}

/* Escapes are jansson's to resolve; most strings have none. */
static int decode_string(struct json_events *json, size_t length)
{
	const char *literal = json->text + json->offset;
	json_t *string rf_autojson = NULL;

	if (length < 2)
		return -EBADMSG;
	if (!memchr(literal, '\\', length))
		return rf_buf_add(&json->scalar, literal + 1, length - 2);
	string = json_loadb(literal, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (!string)
		return -EBADMSG;
	return rf_buf_add(&json->scalar, json_string_value(string), json_string_length(string));
}

static int next_scalar(struct json_events *json, struct rf_event *event)
{
	size_t length;
	int r;

	json->scalar.size = 0;
	event->kind = RF_EVENT_SCALAR;
	event->is_quoted = json->text[json->offset] == '"';
	if (event->is_quoted) {
		length = string_length(json);
		r = decode_string(json, length);
	} else {
		for (length = 0; json->offset + length < json->size; length++) {
			if (strchr(" \t\r\n,:]}", json->text[json->offset + length]))
				break;
		}
		r = rf_buf_add(&json->scalar, json->text + json->offset, length);
	}
	json->offset += length;
	event->text = json->scalar.data;
	event->size = json->scalar.size;
	return r;
}

static int next_event(
	struct rf_events *events, struct rf_event *ret_event, struct rf_diag *diag rf_unused)
{
	struct json_events *json = (struct json_events *)events;

	skip_separators(json);
	*ret_event = (struct rf_event){.line = json->line, .column = column_here(json)};
	if (json->offset >= json->size) {
		ret_event->kind = RF_EVENT_END;
		return 0;
	}
	switch (json->text[json->offset]) {
	case '{':
		ret_event->kind = RF_EVENT_MAP;
		break;
	case '}':
		ret_event->kind = RF_EVENT_MAP_END;
		break;
	case '[':
		ret_event->kind = RF_EVENT_LIST;
		break;
	case ']':
		ret_event->kind = RF_EVENT_LIST_END;
		break;
	default:
		return next_scalar(json, ret_event);
	}
	json->offset++;
	return 0;
}

/* Grammar and duplicates, in jansson's words and at its place. */
static int check_grammar(
	const char *name, const char *text, size_t size_bytes, struct rf_diag *diag)
{
	json_error_t error;
	/* A NUL by escape and a number of any length get through, and are refused where they stand.
	 */
	json_t *whole rf_autojson = json_loadb(text, size_bytes,
		JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL,
		&error);

	if (whole)
		return 0;
	rf_diag_refuse(diag,
		json_error_code(&error) == json_error_duplicate_key ? "policy-duplicate"
								    : "policy-syntax",
		"JSON: %s", error.text);
	rf_diag_at(diag, name, error.line > 0 ? (unsigned int)error.line : 1,
		error.column > 0 ? (unsigned int)error.column : 1);
	return RF_REFUSED;
}

int rf_read_json(const char *name, const char *text, size_t size_bytes, bool is_wire,
	struct rf_policy *ret_policy, struct rf_diag *diag)
{
	struct json_events json rf_cleanup(clear_events) = {
		.events = {.next = next_event, .name = name, .is_wire = is_wire},
		.text = text,
		.size = size_bytes,
		.line = 1,
		.column = 1,
	};
	int r = is_wire ? 0 : check_grammar(name, text, size_bytes, diag);

	return r ? r : rf_events_read(&json.events, ret_policy, diag);
}
