/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Prints the JSON Schema (draft 2020-12) of policy files, made from the one table of keys that the
 * reader goes by: docs/ringfence-policy.schema.json is this program's output, and `make lint`
 * compares.
 */

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/json.h"
#include "base/limits.h"
#include "policy/facts.h"
#include "policy/keys.h"

#define DURATION "^[0-9]+(ms|s|m|h|d)$"
#define SIZE "^[0-9]+([KMGT](iB)?)?$"

static json_t *text_schema(void)
{
	return json_pack("{s:s, s:i, s:i}", "type", "string", "minLength", 1, "maxLength",
		(int)RF_PATH_MAX_BYTES);
}

static json_t *list_of(json_t *item_stolen)
{
	return json_pack("{s:s, s:o, s:i}", "type", "array", "items", item_stolen, "maxItems",
		(int)RF_POLICY_RULES_MAX);
}

static json_t *one_of(json_t *names_stolen)
{
	return json_pack("{s:o}", "enum", names_stolen);
}

static json_t *mode_names(void)
{
	json_t *names = json_array();

	for (int i = RF_MODE_READ_ONLY; i <= RF_MODE_FULL_ACCESS; i++)
		json_array_append_new(names, json_string(rf_mode_name((enum rf_mode)i)));
	return names;
}

static json_t *posture_names(void)
{
	json_t *names = json_array();

	for (int i = RF_POSTURE_NONE; i <= RF_POSTURE_OPEN; i++)
		json_array_append_new(names, json_string(rf_posture_name((enum rf_posture)i)));
	return names;
}

static json_t *promise_names(void)
{
	json_t *names = json_array();

	for (int i = 0; i < RF_PROMISES; i++)
		json_array_append_new(names, json_string(rf_promise_name((enum rf_promise)i)));
	return names;
}

static json_t *family_names(void)
{
	json_t *names = json_array();

	for (int family = 1; family < 64; family++) {
		const char *name = rf_family_name(family);

		if (name)
			json_array_append_new(names, json_string(name));
	}
	return names;
}

/* A quantity as text with its unit, a bare number where none is needed, or "none". */
static json_t *quantity(const char *pattern, bool takes_number)
{
	json_t *choices = json_array();

	json_array_append_new(choices, json_pack("{s:s}", "const", "none"));
	json_array_append_new(
		choices, json_pack("{s:s, s:s}", "type", "string", "pattern", pattern));
	if (takes_number)
		json_array_append_new(
			choices, json_pack("{s:s, s:i}", "type", "integer", "minimum", 1));
	return json_pack("{s:o}", "anyOf", choices);
}

static json_t *schema_of(enum rf_key_type type)
{
	switch (type) {
	case RF_KEY_MODE:
		return one_of(mode_names());
	case RF_KEY_POSTURE:
		return one_of(posture_names());
	case RF_KEY_PATH:
		return text_schema();
	case RF_KEY_USER:
		return json_pack("{s:[s, s]}", "type", "string", "integer");
	case RF_KEY_PATHS:
		return list_of(text_schema());
	case RF_KEY_ABSOLUTES:
		return list_of(json_pack("{s:s, s:s}", "type", "string", "pattern", "^/"));
	case RF_KEY_VARIABLES:
		return list_of(json_pack("{s:s, s:s}", "type", "string", "pattern", "^[^=]+$"));
	case RF_KEY_SETTINGS:
		return json_pack("{s:s, s:{s:[s, s, s]}}", "type", "object", "additionalProperties",
			"type", "string", "integer", "boolean");
	case RF_KEY_FAMILIES:
		return list_of(one_of(family_names()));
	case RF_KEY_PROMISES:
		return list_of(one_of(promise_names()));
	case RF_KEY_SWITCH:
		return json_pack("{s:s}", "type", "boolean");
	case RF_KEY_DURATION_LIMIT:
		return quantity(DURATION, false);
	case RF_KEY_SIZE_LIMIT:
		return quantity(SIZE, true);
	case RF_KEY_COUNT_LIMIT:
		return quantity("^[0-9]+$", true);
	case RF_KEY_GRACE:
		return json_pack("{s:s, s:s}", "type", "string", "pattern", DURATION);
	}
	return NULL;
}

/* The object that holds "filesystem.read", made when it is missing. */
static json_t *parent_of(json_t *root, const char *name, const char **ret_last)
{
	const char *dot = strchr(name, '.');
	char *first rf_autofree = dot ? strndup(name, (size_t)(dot - name)) : NULL;
	json_t *properties = json_object_get(root, "properties");
	json_t *child;

	*ret_last = dot ? dot + 1 : name;
	if (!dot)
		return properties;
	child = json_object_get(properties, first);
	if (!child) {
		child = json_pack("{s:s, s:b, s:{}}", "type", "object", "additionalProperties", 0,
			"properties");
		json_object_set_new(properties, first, child);
	}
	return json_object_get(child, "properties");
}

int main(void)
{
	json_t *root rf_autojson = json_pack("{s:s, s:s, s:s, s:b, s:{}}", "$schema",
		"https://json-schema.org/draft/2020-12/schema", "title", "Ringfence policy", "type",
		"object", "additionalProperties", 0, "properties");
	size_t count;
	const struct rf_key *keys = rf_keys(&count);

	for (size_t i = 0; i < count; i++) {
		const char *last;
		json_t *parent = parent_of(root, keys[i].name, &last);
		json_t *schema = schema_of(keys[i].type);

		json_object_set_new(schema, "description", json_string(keys[i].help));
		json_object_set_new(parent, last, schema);
	}
	return json_dumpf(root, stdout, JSON_INDENT(2)) < 0 || puts("") < 0;
}
