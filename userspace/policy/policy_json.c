/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A policy as the JSON that crosses the wire. Bytes that are not UTF-8 (paths and values that came
 * as options) travel as {"hex": "2f62…"}, so that nothing is lost; a policy file cannot say that.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/strv.h"
#include "policy/keys.h"
#include "policy/read.h"

static bool is_utf8(const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		size_t length = rf_utf8_length((const unsigned char *)text, left);

		if (length == 0)
			return false;
		text += length;
		left -= length;
	}
	return true;
}

static json_t *text_to_json(const char *text)
{
	struct rf_buf hex rf_autobuf = {0};

	if (is_utf8(text))
		return json_string(text);
	for (; *text; text++) {
		if (rf_buf_addf(&hex, "%02x", (unsigned char)*text) < 0)
			return NULL;
	}
	return json_pack("{s:s}", "hex", hex.data);
}

static json_t *list_to_json(const struct rf_strv *list)
{
	json_t *array rf_autojson = json_array();

	for (size_t i = 0; i < list->count; i++) {
		if (json_array_append_new(array, text_to_json(list->items[i])) < 0)
			return NULL;
	}
	return RF_TAKE(array);
}

/* Later settings win, as they do in a plan. A name that is not UTF-8 cannot be a JSON key: NULL. */
static json_t *settings_to_json(const struct rf_strv *list)
{
	json_t *object rf_autojson = json_object();

	for (size_t i = 0; i < list->count; i++) {
		const char *equals = strchr(list->items[i], '=');
		char *name rf_autofree = NULL;

		if (!equals)
			return NULL;
		name = strndup(list->items[i], (size_t)(equals - list->items[i]));
		if (!name || json_object_set_new(object, name, text_to_json(equals + 1)) < 0)
			return NULL;
	}
	return RF_TAKE(object);
}

static json_t *promises_to_json(uint32_t promises)
{
	json_t *array = json_array();

	for (size_t i = 0; i < RF_PROMISES; i++) {
		if (promises & 1U << i)
			json_array_append_new(
				array, json_string(rf_promise_name((enum rf_promise)i)));
	}
	return array;
}

static json_t *limit_to_json(enum rf_key_type type, const struct rf_limit_asked *limit)
{
	if (limit->is_none)
		return json_string("none");
	if (type == RF_KEY_DURATION_LIMIT)
		return json_sprintf("%" PRIu64 "ms", limit->value);
	return json_integer((json_int_t)limit->value);
}

/* NULL with *ret_is_said false: nothing was said. NULL with true: no memory, or no JSON for it. */
static json_t *member_to_json(
	const struct rf_key *key, const struct rf_policy *policy, bool *ret_is_said)
{
	const void *member = (const char *)policy + key->offset;
	bool is_said = false;
	json_t *json = NULL;

	switch (key->type) {
	case RF_KEY_MODE:
		is_said = policy->mode != RF_MODE_UNSET;
		json = is_said ? json_string(rf_mode_name(policy->mode)) : NULL;
		break;
	case RF_KEY_POSTURE:
		is_said = policy->posture != RF_POSTURE_UNSET;
		json = is_said ? json_string(rf_posture_name(policy->posture)) : NULL;
		break;
	case RF_KEY_GIT:
		is_said = policy->git != RF_GIT_UNSET;
		json = is_said ? json_string(rf_git_name(policy->git)) : NULL;
		break;
	case RF_KEY_PATH:
	case RF_KEY_USER:
		is_said = *(char *const *)member != NULL;
		json = is_said ? text_to_json(*(char *const *)member) : NULL;
		break;
	case RF_KEY_PATHS:
	case RF_KEY_ABSOLUTES:
	case RF_KEY_VARIABLES:
	case RF_KEY_DESTINATIONS:
	case RF_KEY_FAMILIES:
		is_said = ((const struct rf_strv *)member)->count > 0;
		json = is_said ? list_to_json(member) : NULL;
		break;
	case RF_KEY_SETTINGS:
		is_said = ((const struct rf_strv *)member)->count > 0;
		json = is_said ? settings_to_json(member) : NULL;
		break;
	case RF_KEY_PROMISES:
		is_said = *(const uint32_t *)member != 0;
		json = is_said ? promises_to_json(*(const uint32_t *)member) : NULL;
		break;
	case RF_KEY_SWITCH:
		is_said = *(const enum rf_tristate *)member != RF_UNSET;
		json = is_said ? json_boolean(*(const enum rf_tristate *)member == RF_TRUE) : NULL;
		break;
	case RF_KEY_DURATION_LIMIT:
	case RF_KEY_SIZE_LIMIT:
	case RF_KEY_COUNT_LIMIT:
		is_said = ((const struct rf_limit_asked *)member)->is_set;
		json = is_said ? limit_to_json(key->type, member) : NULL;
		break;
	case RF_KEY_GRACE:
		is_said = policy->has_grace;
		json = is_said ? json_sprintf("%" PRIu64 "ms", policy->grace_ms) : NULL;
		break;
	}
	*ret_is_said = is_said;
	return json;
}

/* Takes value. */
static int set_dotted(json_t *root, const char *name, json_t *value)
{
	const char *dot = strchr(name, '.');
	char section[64];
	json_t *inner;

	if (!dot)
		return json_object_set_new(root, name, value);
	snprintf(section, sizeof(section), "%.*s", (int)(dot - name), name);
	inner = json_object_get(root, section);
	if (!inner) {
		inner = json_object();
		if (json_object_set_new(root, section, inner) < 0) {
			json_decref(value);
			return -1;
		}
	}
	return json_object_set_new(inner, dot + 1, value);
}

json_t *rf_policy_to_json(const struct rf_policy *policy)
{
	json_t *root rf_autojson = json_object();
	size_t count;
	const struct rf_key *keys = rf_keys(&count);

	for (size_t i = 0; i < count; i++) {
		bool is_said;
		json_t *value = member_to_json(&keys[i], policy, &is_said);

		if (is_said && (!value || set_dotted(root, keys[i].name, value) < 0))
			return NULL;
	}
	return RF_TAKE(root);
}

int rf_policy_from_json(const json_t *json, struct rf_policy *ret_policy, struct rf_diag *diag)
{
	char *text rf_autofree = rf_json_line(json);

	if (!text)
		return -ENOMEM;
	return rf_read_json("policy", text, strlen(text), true, ret_policy, diag);
}
