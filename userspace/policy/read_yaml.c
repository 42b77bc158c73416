/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * YAML as events, by libfyaml, and less of YAML than it knows: no anchors, aliases, tags,
 * directives or second documents. What they could do is make a policy mean something else than
 * what a reader of the file sees.
 */

#include <errno.h>
#include <libfyaml.h>
#include <stdio.h>
#include <string.h>

#include "base/strv.h"
#include "policy/read.h"

struct yaml_events {
	struct rf_events events;
	/* Borrowed. */
	const char *text;
	size_t size;
	struct fy_diag *diag;
	struct fy_parser *parser;
	bool has_document;
	/* Of the last event: what is left out ("mode:") has no place of its own. */
	unsigned int line;
	unsigned int column;
	struct rf_buf scalar;
};

static void clear_events(struct yaml_events *yaml)
{
	if (yaml->parser)
		fy_parser_destroy(yaml->parser);
	if (yaml->diag)
		fy_diag_destroy(yaml->diag);
	rf_buf_clear(&yaml->scalar);
}

static int refuse(struct yaml_events *yaml, const struct rf_event *event, struct rf_diag *diag,
	const char *what)
{
	int r = rf_diag_refuse(diag, "policy-syntax", "%s are not allowed in a policy", what);

	rf_diag_at(diag, yaml->events.name, event->line, event->column);
	return r;
}

/* Line of the first directive ("%YAML 9.9"); 0: none. They stand before everything else. */
static unsigned int find_directive(const struct yaml_events *yaml)
{
	const char *end = yaml->text + yaml->size;
	const char *at = yaml->text;

	for (unsigned int line = 1; at < end; line++) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		if (*at == '%')
			return line;
		at = next ? next + 1 : end;
	}
	return 0;
}

/* An error that libfyaml says nothing about: of a directive, by what is seen; or of memory. */
static int refuse_unsaid(struct yaml_events *yaml, struct rf_diag *diag)
{
	unsigned int directive = yaml->has_document ? 0 : find_directive(yaml);
	struct rf_event event = {.line = directive, .column = 1};
	int r;

	if (directive)
		return refuse(yaml, &event, diag, "directives");
	r = rf_diag_refuse(diag, "policy-syntax", "YAML: it cannot be read from here on");
	rf_diag_at(diag, yaml->events.name, yaml->line, yaml->column);
	return r;
}

/* The first thing that libfyaml complained about. */
static int refuse_syntax(struct yaml_events *yaml, struct rf_diag *diag)
{
	void *iterator = NULL;
	struct fy_diag_error *error = fy_diag_errors_iterate(yaml->diag, &iterator);
	int r;

	if (!error)
		return refuse_unsaid(yaml, diag);
	r = rf_diag_refuse(diag, "policy-syntax", "YAML: %s", error->msg ? error->msg : "error");
	rf_diag_at(diag, yaml->events.name, error->line > 0 ? (unsigned int)error->line : 1,
		error->column > 0 ? (unsigned int)error->column : 1);
	return r;
}

static int take_scalar(struct yaml_events *yaml, const struct fy_event *raw, struct rf_event *event)
{
	size_t size = 0;
	const char *text = raw->scalar.value ? fy_token_get_text(raw->scalar.value, &size) : "";
	int r;

	event->kind = RF_EVENT_SCALAR;
	event->is_quoted =
		raw->scalar.value && fy_token_scalar_style(raw->scalar.value) != FYSS_PLAIN;
	yaml->scalar.size = 0;
	r = rf_buf_add(&yaml->scalar, text ? text : "", text ? size : 0);
	event->text = yaml->scalar.data;
	event->size = yaml->scalar.size;
	return r;
}

static int start_document(struct yaml_events *yaml, const struct fy_event *raw,
	const struct rf_event *event, struct rf_diag *diag)
{
	struct fy_document_state *state = raw->document_start.document_state;

	if (yaml->has_document)
		return refuse(yaml, event, diag, "several documents");
	yaml->has_document = true;
	if (state && (fy_document_state_tags_explicit(state) ||
			     fy_document_state_version_explicit(state)))
		return refuse(yaml, event, diag, "directives");
	return 0;
}

/* 0: *event is one for the reader; -EAGAIN: nothing that it needs to see; else as next. */
static int convert(struct yaml_events *yaml, struct fy_event *raw, struct rf_event *event,
	struct rf_diag *diag)
{
	int r;

	switch (raw->type) {
	case FYET_STREAM_END:
		event->kind = RF_EVENT_END;
		return 0;
	case FYET_DOCUMENT_START:
		r = start_document(yaml, raw, event, diag);
		return r ? r : -EAGAIN;
	case FYET_MAPPING_START:
		event->kind = RF_EVENT_MAP;
		if (raw->mapping_start.anchor)
			return refuse(yaml, event, diag, "anchors");
		return raw->mapping_start.tag ? refuse(yaml, event, diag, "tags") : 0;
	case FYET_SEQUENCE_START:
		event->kind = RF_EVENT_LIST;
		if (raw->sequence_start.anchor)
			return refuse(yaml, event, diag, "anchors");
		return raw->sequence_start.tag ? refuse(yaml, event, diag, "tags") : 0;
	case FYET_SCALAR:
		if (raw->scalar.anchor)
			return refuse(yaml, event, diag, "anchors");
		if (raw->scalar.tag)
			return refuse(yaml, event, diag, "tags");
		return take_scalar(yaml, raw, event);
	case FYET_ALIAS:
		return refuse(yaml, event, diag, "aliases");
	case FYET_MAPPING_END:
		event->kind = RF_EVENT_MAP_END;
		return 0;
	case FYET_SEQUENCE_END:
		event->kind = RF_EVENT_LIST_END;
		return 0;
	case FYET_NONE:
	case FYET_STREAM_START:
	case FYET_DOCUMENT_END:
		return -EAGAIN;
	}
	return -EAGAIN;
}

/* libfyaml's marks stand behind the opening quote, and behind the asterisk of an alias. */
static void place(struct yaml_events *yaml, struct fy_event *raw)
{
	const struct fy_mark *mark = fy_event_start_mark(raw);
	bool is_behind = raw->type == FYET_ALIAS;

	if (raw->type == FYET_SCALAR && !raw->scalar.value)
		return;
	if (raw->type == FYET_SCALAR) {
		enum fy_scalar_style style = fy_token_scalar_style(raw->scalar.value);

		is_behind = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
		if (style == FYSS_PLAIN && fy_token_get_text_length(raw->scalar.value) == 0)
			return;
	}
	if (!mark)
		return;
	yaml->line = (unsigned int)mark->line + 1;
	yaml->column = (unsigned int)mark->column + 1;
	if (is_behind && yaml->column > 1)
		yaml->column--;
}

static int next_event(struct rf_events *events, struct rf_event *ret_event, struct rf_diag *diag)
{
	struct yaml_events *yaml = (struct yaml_events *)events;
	int r;

	do {
		struct fy_event *raw = fy_parser_parse(yaml->parser);

		if (!raw) {
			if (fy_diag_got_error(yaml->diag) ||
				fy_parser_get_stream_error(yaml->parser))
				return refuse_syntax(yaml, diag);
			*ret_event =
				(struct rf_event){.kind = RF_EVENT_END, .line = 1, .column = 1};
			return 0;
		}
		place(yaml, raw);
		*ret_event = (struct rf_event){.line = yaml->line, .column = yaml->column};
		r = convert(yaml, raw, ret_event, diag);
		fy_parser_event_free(yaml->parser, raw);
	} while (r == -EAGAIN);
	return r;
}

int rf_read_yaml(const char *name, const char *text, size_t size_bytes,
	struct rf_policy *ret_policy, struct rf_diag *diag)
{
	struct yaml_events yaml rf_cleanup(clear_events) = {
		.events = {.next = next_event, .name = name},
		.text = text,
		.size = size_bytes,
		.line = 1,
		.column = 1,
	};
	struct fy_diag_cfg diag_config;
	struct fy_parse_cfg config = {
		.flags = FYPCF_JSON_NONE | FYPCF_COLLECT_DIAG | FYPCF_DISABLE_MMAP_OPT};

	fy_diag_cfg_default(&diag_config);
	diag_config.fp = NULL;
	diag_config.colorize = false;
	yaml.diag = fy_diag_create(&diag_config);
	if (!yaml.diag)
		return -ENOMEM;
	fy_diag_set_collect_errors(yaml.diag, true);
	config.diag = yaml.diag;
	yaml.parser = fy_parser_create(&config);
	if (!yaml.parser || fy_parser_set_string(yaml.parser, text, size_bytes) < 0)
		return -ENOMEM;
	return rf_events_read(&yaml.events, ret_policy, diag);
}
