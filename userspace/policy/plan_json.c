/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The plan as JSON: the same plan gives the same bytes. No value of the environment is shown. */

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "policy/keys.h"
#include "policy/plan.h"

static const char *const view_names[] = {
	[RF_VIEW_TMPFS] = "tmpfs",
	[RF_VIEW_DIRECTORY] = "directory",
	[RF_VIEW_PROC] = "proc",
	[RF_VIEW_DEV] = "dev",
	[RF_VIEW_BIND] = "bind",
	[RF_VIEW_BIND_RO] = "bind-read-only",
	[RF_VIEW_BIND_DEV] = "bind-device",
	[RF_VIEW_MASK] = "mask",
	[RF_VIEW_DATA] = "data",
	[RF_VIEW_SYMLINK] = "symlink",
	[RF_VIEW_REMOUNT_RO] = "remount-read-only",
};

static const char *const access_names[] = {
	[RF_ACCESS_READ] = "read",
	[RF_ACCESS_WRITE] = "write",
	[RF_ACCESS_DEVICE] = "device",
	[RF_ACCESS_TERMINAL] = "terminal",
	[RF_ACCESS_LIST] = "list",
};

static json_t *strings_to_json(const char *const *strings)
{
	json_t *array = json_array();

	for (; strings && *strings; strings++)
		json_array_append_new(array, rf_json_text(*strings));
	return array;
}

static json_t *strv_to_json(const struct rf_strv *strv)
{
	return strings_to_json((const char *const *)strv->items);
}

static json_t *view_to_json(const struct rf_plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->n_view; i++) {
		const struct rf_view_step *step = &plan->view[i];
		json_t *object = json_object();

		json_object_set_new(object, "kind", json_string(view_names[step->kind]));
		json_object_set_new(object, "destination", rf_json_text(step->destination));
		if (step->source)
			json_object_set_new(object, "source", rf_json_text(step->source));
		if (step->data)
			json_object_set_new(object, "data", rf_json_text(step->data));
		if (step->perms)
			json_object_set_new(object, "perms", json_sprintf("%04o", step->perms));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *rules_to_json(const struct rf_plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->n_rules; i++) {
		json_t *object = json_object();

		json_object_set_new(object, "path", rf_json_text(plan->rules[i].path));
		json_object_set_new(
			object, "access", json_string(access_names[plan->rules[i].access]));
		json_array_append_new(array, object);
	}
	return array;
}

/* Names alone: a value may be a secret. */
static json_t *environment_to_json(const struct rf_plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->environment.count; i++) {
		const char *setting = plan->environment.items[i];

		json_array_append_new(array, rf_json_bytes(setting, strcspn(setting, "=")));
	}
	return array;
}

static json_t *limit_value(enum rf_limit which, const struct rf_limit_asked *limit)
{
	if (!limit->is_set || limit->is_none)
		return json_string("none");
	if (which == RF_LIMIT_TIMEOUT)
		return json_sprintf("%" PRIu64 "ms", limit->value);
	return json_integer((json_int_t)limit->value);
}

static json_t *limits_to_json(const struct rf_plan *plan)
{
	static const char *const names[] = {[RF_LIMIT_TIMEOUT] = "timeout",
		[RF_LIMIT_MEMORY] = "memory",
		[RF_LIMIT_PIDS] = "pids"};
	bool is_waived = plan->waived & 1U << RF_PROMISE_LIMITS;
	json_t *object = json_object();

	for (size_t i = 0; i < RF_LIMITS; i++) {
		const struct rf_limit_asked *asked = &plan->limits[i];
		bool is_lost = is_waived && i != RF_LIMIT_TIMEOUT;
		json_t *limit = json_object();

		json_object_set_new(limit, "asked",
			asked->is_set ? limit_value((enum rf_limit)i, asked) : json_null());
		json_object_set_new(limit, "effective",
			is_lost ? json_string("none") : limit_value((enum rf_limit)i, asked));
		json_object_set_new(object, names[i], limit);
	}
	return object;
}

static json_t *destinations_to_json(const struct rf_plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->n_allow; i++) {
		char text[RF_NET_TEXT_BYTES];

		rf_net_destination_text(&plan->allow[i], text);
		json_array_append_new(array, json_string(text));
	}
	return array;
}

static json_t *network_to_json(const struct rf_plan *plan)
{
	json_t *object = json_object();
	json_t *families = json_array();

	for (size_t i = 0; i < plan->n_families; i++)
		json_array_append_new(families, json_string(rf_family_name(plan->families[i])));
	json_object_set_new(object, "posture", json_string(rf_posture_name(plan->posture)));
	if (plan->posture == RF_POSTURE_ALLOW)
		json_object_set_new(object, "allow", destinations_to_json(plan));
	json_object_set_new(object, "unix", json_boolean(plan->is_unix_open));
	json_object_set_new(object, "families", families);
	return object;
}

static json_t *git_to_json(const struct rf_plan *plan)
{
	json_t *object = json_object();

	json_object_set_new(object, "access", json_string(rf_git_name(plan->git)));
	json_object_set_new(object, "directories", strv_to_json(&plan->git_directories));
	return object;
}

static json_t *fds_to_json(const struct rf_plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->n_pass_fds; i++)
		json_array_append_new(array, json_integer(plan->pass_fds[i]));
	return array;
}

/* ---- Files that BPF LSM knows ---------------------------------------------------------------- */

static json_t *place_flags_to_json(uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{RF_PLACE_CLOSED, "closed"},
		{RF_PLACE_READ_ONLY, "read-only"},
		{RF_PLACE_OPEN, "open"},
		{RF_PLACE_PINNED, "pinned"},
		{RF_PLACE_LISTED, "listed"},
	};
	json_t *array = json_array();

	for (size_t i = 0; i < RF_ARRAY_SIZE(names); i++) {
		if (flags & names[i].flag)
			json_array_append_new(array, json_string(names[i].name));
	}
	return array;
}

/* Names stand with their directory: "names": {"closed": ["x"], …}. */
static json_t *names_to_json(const struct rf_plan *plan, size_t place)
{
	json_t *object = json_object();

	for (size_t i = 0; i < plan->n_names; i++) {
		const struct rf_plan_name *name = &plan->names[i];
		const char *kind = name->flags & RF_PLACE_CLOSED      ? "closed"
				   : name->flags & RF_PLACE_READ_ONLY ? "read-only"
								      : "open";

		if (name->place != place)
			continue;
		if (!json_object_get(object, kind))
			json_object_set_new(object, kind, json_array());
		json_array_append_new(json_object_get(object, kind), rf_json_text(name->name));
	}
	return object;
}

static json_t *files_to_json(const struct rf_plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->n_places; i++) {
		json_t *place = json_object();

		json_object_set_new(place, "path", rf_json_text(plan->places[i].path));
		json_object_set_new(place, "rules", place_flags_to_json(plan->places[i].flags));
		if (plan->places[i].flags & RF_PLACE_NAMES)
			json_object_set_new(place, "names", names_to_json(plan, i));
		json_array_append_new(array, place);
	}
	return array;
}

/* ---- Enforcement ----------------------------------------------------------------------------- */

static json_t *effective_to_json(const struct rf_effective *effective)
{
	json_t *object = json_object();

	json_object_set_new(object, "state", json_string(rf_state_name(effective->state)));
	if (effective->why[0])
		json_object_set_new(object, "why", rf_json_text(effective->why));
	return object;
}

static json_t *promise_to_json(const struct rf_effective *effective)
{
	json_t *object = effective_to_json(effective);
	json_t *by = json_array();

	for (size_t i = 0; i < RF_MECHANISMS; i++) {
		if (effective->by & 1U << i)
			json_array_append_new(
				by, json_string(rf_mechanism_name((enum rf_mechanism)i)));
	}
	json_object_set_new(object, "by", by);
	return object;
}

/* What is only witnessed confines nothing and plays no part in the level. */
static const char *level_of(const struct rf_plan *plan)
{
	if (plan->mode == RF_MODE_FULL_ACCESS)
		return "none";
	for (size_t i = 0; i < RF_PROMISES; i++) {
		if (!rf_promise_is_witness((enum rf_promise)i) &&
			plan->promises[i].state != RF_STATE_ENFORCED)
			return "partial";
	}
	return "full";
}

json_t *rf_plan_enforcement_to_json(const struct rf_plan *plan, const struct rf_facts *facts)
{
	json_t *mechanisms = json_object();
	json_t *promises = json_object();
	json_t *waived = json_array();
	json_t *object = json_object();

	for (size_t i = 0; i < RF_MECHANISMS; i++) {
		json_t *mechanism = effective_to_json(&plan->mechanisms[i]);

		if (i == RF_MECHANISM_LANDLOCK && facts &&
			plan->mechanisms[i].state != RF_STATE_OFF)
			json_object_set_new(mechanism, "abi", json_integer(facts->landlock_abi));
		json_object_set_new(mechanisms, rf_mechanism_name((enum rf_mechanism)i), mechanism);
	}
	for (size_t i = 0; i < RF_PROMISES; i++) {
		json_object_set_new(promises, rf_promise_name((enum rf_promise)i),
			promise_to_json(&plan->promises[i]));
		if (plan->waived & 1U << i)
			json_array_append_new(
				waived, json_string(rf_promise_name((enum rf_promise)i)));
	}
	json_object_set_new(object, "level", json_string(level_of(plan)));
	json_object_set_new(object, "mechanisms", mechanisms);
	json_object_set_new(object, "promises", promises);
	json_object_set_new(object, "waived", waived);
	return object;
}

/* ---- The whole ------------------------------------------------------------------------------- */

json_t *rf_plan_to_json(const struct rf_plan *plan, const char *const *bwrap_arguments)
{
	json_t *o = json_object();

	json_object_set_new(o, "version", json_integer(1));
	json_object_set_new(o, "mode", json_string(rf_mode_name(plan->mode)));
	json_object_set_new(o, "workspace", rf_json_text(plan->workspace));
	json_object_set_new(o, "directory", rf_json_text(plan->directory));
	json_object_set_new(o, "argv", strv_to_json(&plan->argv));
	json_object_set_new(o, "program", rf_json_text(plan->program));
	json_object_set_new(o, "uid", json_integer(plan->uid));
	json_object_set_new(o, "gid", json_integer(plan->gid));
	json_object_set_new(o, "keep_groups", json_boolean(plan->keeps_groups));
	json_object_set_new(o, "strict", json_boolean(plan->is_strict));
	json_object_set_new(o, "keep_background", json_boolean(plan->keeps_background));
	json_object_set_new(o, "grace", json_sprintf("%" PRIu64 "ms", plan->grace_ms));
	json_object_set_new(o, "network", network_to_json(plan));
	json_object_set_new(o, "git", git_to_json(plan));
	json_object_set_new(o, "io_uring", json_boolean(plan->is_io_uring_open));
	json_object_set_new(o, "limits", limits_to_json(plan));
	json_object_set_new(o, "environment", environment_to_json(plan));
	json_object_set_new(o, "pass_fds", fds_to_json(plan));
	json_object_set_new(o, "view", view_to_json(plan));
	json_object_set_new(o, "staged", json_boolean(plan->is_staged));
	json_object_set_new(o, "directories", strv_to_json(&plan->directories));
	json_object_set_new(o, "create", strv_to_json(&plan->create));
	json_object_set_new(o, "landlock", rules_to_json(plan));
	json_object_set_new(o, "bpf_files", files_to_json(plan));
	if (plan->n_write_files)
		json_object_set_new(o, "write_files",
			json_string(plan->is_write_file_exact ? "exact" : "parent"));
	json_object_set_new(o, "enforcement", rf_plan_enforcement_to_json(plan, NULL));
	json_object_set_new(o, "warnings", strv_to_json(&plan->warnings));
	json_object_set_new(o, "details", strv_to_json(&plan->details));
	if (bwrap_arguments)
		json_object_set_new(o, "bubblewrap", strings_to_json(bwrap_arguments));
	return o;
}
