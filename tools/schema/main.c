/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What docs/ has from the one table of keys, on standard output:
 *
 *	schema json		the JSON Schema (draft 2020-12) of policy files
 *	schema page FILE	a manual page, with what stands between its marks made anew (page.c)
 */

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/json.h"
#include "base/limits.h"
#include "policy/facts.h"
#include "policy/keys.h"
#include "tools/schema/page.h"

#define DURATION "^[0-9]+(ms|s|m|h|d)$"
#define NO_NUL "^[^\\u0000]*$"
#define VARIABLE "^[^=\\u0000]+$"
#define SIZE "^[0-9]+([KMGT](iB)?)?$"

/* The reader counts bytes; no text of fewer characters has more than it takes. */
static json_t *text_schema(const char *pattern, unsigned int max_length)
{
	return json_pack("{s:s, s:s, s:i, s:i}", "type", "string", "pattern", pattern, "minLength",
		1, "maxLength", (int)max_length);
}

static json_t *path_schema(const char *pattern)
{
	return text_schema(pattern, RF_PATH_MAX_BYTES - 1);
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

static json_t *git_names(void)
{
	json_t *names = json_array();

	for (int i = RF_GIT_PROTECT; i <= RF_GIT_FULL; i++)
		json_array_append_new(names, json_string(rf_git_name((enum rf_git)i)));
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

/* A quantity as text with its unit, a bare number where one is taken (most_number), or "none". */
static json_t *quantity(const char *pattern, json_int_t least_number, json_int_t most_number)
{
	json_t *choices = json_array();

	json_array_append_new(choices, json_pack("{s:s}", "const", "none"));
	json_array_append_new(
		choices, json_pack("{s:s, s:s}", "type", "string", "pattern", pattern));
	if (most_number > 0)
		json_array_append_new(
			choices, json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum",
					 least_number, "maximum", most_number));
	return json_pack("{s:o}", "anyOf", choices);
}

static json_t *schema_of(enum rf_key_type type)
{
	switch (type) {
	case RF_KEY_MODE:
		return one_of(mode_names());
	case RF_KEY_POSTURE:
		return one_of(posture_names());
	case RF_KEY_GIT:
		return one_of(git_names());
	case RF_KEY_PATH:
		return path_schema(NO_NUL);
	case RF_KEY_USER:
		return json_pack("{s:[s, s], s:s, s:i, s:i}", "type", "string", "integer",
			"pattern", NO_NUL, "minLength", 1, "maxLength", (int)RF_NAME_MAX_BYTES);
	case RF_KEY_PATHS:
		return list_of(path_schema(NO_NUL));
	case RF_KEY_ABSOLUTES:
		return list_of(path_schema("^/[^\\u0000]*$"));
	case RF_KEY_VARIABLES:
		return list_of(text_schema(VARIABLE, RF_NAME_MAX_BYTES));
	case RF_KEY_SETTINGS:
		return json_pack("{s:s, s:o, s:{s:s, s:s}}", "type", "object", "propertyNames",
			text_schema(VARIABLE, RF_NAME_MAX_BYTES), "additionalProperties", "type",
			"string", "pattern", NO_NUL);
	case RF_KEY_DESTINATIONS:
		return list_of(text_schema(NO_NUL, 255));
	case RF_KEY_FAMILIES:
		return list_of(one_of(family_names()));
	case RF_KEY_PROMISES:
		return list_of(one_of(promise_names()));
	case RF_KEY_SWITCH:
		return json_pack("{s:s}", "type", "boolean");
	case RF_KEY_DURATION_LIMIT:
		return quantity(DURATION, 0, 0);
	case RF_KEY_SIZE_LIMIT:
		return quantity(SIZE, RF_MEMORY_MIN_BYTES, RF_SIZE_MAX_BYTES);
	case RF_KEY_COUNT_LIMIT:
		return quantity("^[0-9]+$", RF_PIDS_MIN, RF_PIDS_MAX);
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

static int print_schema(void)
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

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "json") == 0)
		return print_schema();
	if (argc == 3 && strcmp(argv[1], "page") == 0)
		return print_page(argv[2]);
	fputs("usage: schema json | schema page FILE\n", stderr);
	return 2;
}
