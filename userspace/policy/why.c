/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "policy/why.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "policy/inside.h"
#include "policy/keys.h"
#include "policy/tree.h"

static const char *const access_names[] = {
	[RF_WHY_READ] = "read", [RF_WHY_WRITE] = "write", [RF_WHY_EXEC] = "exec"};

static const char *const verdict_names[] = {
	[RF_VERDICT_ALLOWED] = "allowed",
	[RF_VERDICT_DENIED] = "denied",
	[RF_VERDICT_ABSENT] = "absent",
	[RF_VERDICT_DEPENDS] = "depends",
};

bool rf_why_access_parse(const char *text, enum rf_why_access *ret_access)
{
	for (unsigned int i = 0; i < RF_ARRAY_SIZE(access_names); i++) {
		if (strcmp(access_names[i], text) != 0)
			continue;
		*ret_access = (enum rf_why_access)i;
		return true;
	}
	return false;
}

/* ---- Rules ----------------------------------------------------------------------------------- */

/* The deepest rule at or above path that has one of the flags; NULL: none. */
static const struct rf_said *rule_of(const struct rf_plan *plan, const char *path, uint32_t flags)
{
	const struct rf_said *found = NULL;
	size_t found_length = 0;

	for (size_t i = 0; i < plan->n_said; i++) {
		const struct rf_said *said = &plan->said[i];
		size_t length = strlen(said->path);

		if (!(said->flags & flags) || (said->flags & RF_NODE_MISSING) ||
			length < found_length || !rf_path_is_within(path, said->path))
			continue;
		/* Of two at one place, the one that somebody wrote. */
		if (found && length == found_length && found->key)
			continue;
		found = said;
		found_length = length;
	}
	return found;
}

static const char *because_of(const struct rf_said *said)
{
	if (said->flags & RF_NODE_CREDENTIAL)
		return "credentials stay closed";
	if (said->flags & (RF_NODE_PROTECT | RF_NODE_DENY))
		return said->key ? "a rule narrows it" : "a place of Ringfence's own";
	if (said->flags & RF_NODE_WORKSPACE)
		return "the mode opens the workspace";
	if (said->flags & RF_NODE_RUNTIME)
		return "programs need it to run";
	return said->key ? "a rule opens it" : "the command needs it to run";
}

static bool take_rule(struct rf_why *why, const struct rf_said *said)
{
	if (!said)
		return false;
	why->key = said->key;
	why->value = said->text;
	why->because = because_of(said);
	if (!why->key && (said->flags & RF_NODE_WORKSPACE))
		why->key = "mode";
	return true;
}

#define NARROWING (RF_NODE_DENY | RF_NODE_CREDENTIAL)
/* What is written is read too: of a protected place in it. */
#define READING (RF_NODE_READ | RF_NODE_RUNTIME | RF_NODE_WRITE)

static const char nothing[] = "nothing grants it";

/* What decides at the place: a closed one, a private one, a write, a read, or nothing. */
static void find_rule(
	struct rf_why *why, const struct rf_plan *plan, const struct rf_inside *inside)
{
	const struct rf_view_step *mount = inside->object.mount;
	const char *place = mount ? mount->destination : "/";

	if (plan->mode == RF_MODE_FULL_ACCESS) {
		why->key = "mode";
		why->because = "mode full-access confines nothing";
		return;
	}
	why->because = nothing;
	if (!mount)
		return;
	switch (mount->kind) {
	case RF_VIEW_MASK:
		take_rule(why, rule_of(plan, place, NARROWING));
		return;
	case RF_VIEW_BIND:
		take_rule(why, rule_of(plan, inside->path, RF_NODE_WRITE));
		return;
	case RF_VIEW_BIND_RO:
		if (why->access != RF_WHY_WRITE ||
			!take_rule(why, rule_of(plan, place, RF_NODE_PROTECT)))
			take_rule(why, rule_of(plan, inside->path, READING));
		return;
	case RF_VIEW_BIND_DEV:
		if (!take_rule(why, rule_of(plan, place, RF_NODE_DEVICE)))
			why->because = "a device of the sandbox's own";
		return;
	case RF_VIEW_TMPFS:
		if (!take_rule(why, rule_of(plan, place, NARROWING)) && mount->perms == 01777)
			why->because = "a private place of the sandbox";
		return;
	case RF_VIEW_PROC:
	case RF_VIEW_DEV:
	case RF_VIEW_DATA:
		why->because = "a place of the sandbox's own";
		return;
	case RF_VIEW_DIRECTORY:
	case RF_VIEW_SYMLINK:
	case RF_VIEW_REMOUNT_RO:
		return;
	}
}

/* ---- Landlock -------------------------------------------------------------------------------- */

enum {
	RIGHT_READ_FILE = 1,
	RIGHT_READ_DIRECTORY = 2,
	RIGHT_EXECUTE = 4,
	RIGHT_WRITE_FILE = 8,
	RIGHT_MAKE = 16,
};

static unsigned int rights_of(enum rf_access access)
{
	switch (access) {
	case RF_ACCESS_READ:
		return RIGHT_READ_FILE | RIGHT_READ_DIRECTORY | RIGHT_EXECUTE;
	case RF_ACCESS_WRITE:
		return RIGHT_READ_FILE | RIGHT_READ_DIRECTORY | RIGHT_EXECUTE | RIGHT_WRITE_FILE |
		       RIGHT_MAKE;
	case RF_ACCESS_DEVICE:
	case RF_ACCESS_TERMINAL:
		return RIGHT_READ_FILE | RIGHT_WRITE_FILE;
	case RF_ACCESS_LIST:
		return RIGHT_READ_DIRECTORY;
	}
	return 0;
}

/* Rules add up along the way to the root. */
static bool is_in_landlock(const struct rf_plan *plan, const char *path, unsigned int right)
{
	unsigned int rights = 0;

	if (plan->mechanisms[RF_MECHANISM_LANDLOCK].state == RF_STATE_OFF)
		return true;
	for (size_t i = 0; i < plan->n_rules; i++) {
		if (rf_path_is_within(path, plan->rules[i].path))
			rights |= rights_of(plan->rules[i].access);
	}
	return rights & right;
}

/* ---- Verdicts -------------------------------------------------------------------------------- */

#define BIT(mechanism) (1U << RF_MECHANISM_##mechanism)

static void refuse(struct rf_why *why, int error, uint32_t by)
{
	why->verdict = RF_VERDICT_DENIED;
	why->by |= by;
	if (!why->error)
		why->error = error;
}

static void refuse_permission(struct rf_why *why)
{
	/* The file's own mode answers first; ours may refuse it as well. */
	refuse(why, EACCES, 0);
	why->is_by_permissions = true;
}

static void judge_landlock(
	struct rf_why *why, const struct rf_plan *plan, const char *path, unsigned int right)
{
	if (!is_in_landlock(plan, path, right))
		refuse(why, EACCES, BIT(LANDLOCK));
}

/* In the kernel's order: may it be searched, a read-only mount, Landlock, the directory's mode. */
static void judge_making(struct rf_why *why, const struct rf_plan *plan,
	const struct rf_inside_object *directory, const char *path)
{
	/* The kernel's own files: a name that is not there cannot be made, whoever asks. */
	if (directory->mount && directory->mount->kind == RF_VIEW_PROC) {
		why->verdict = RF_VERDICT_ABSENT;
		why->error = ENOENT;
		return;
	}
	if (!rf_inside_may(plan, directory, 1))
		refuse_permission(why);
	if (directory->is_read_only)
		refuse(why, EROFS, BIT(MOUNT_NAMESPACE));
	judge_landlock(why, plan, path, RIGHT_MAKE);
	if (!rf_inside_may(plan, directory, 3))
		refuse_permission(why);
}

static void judge_read(
	struct rf_why *why, const struct rf_plan *plan, const struct rf_inside *inside)
{
	bool is_directory = inside->object.kind == RF_INSIDE_DIRECTORY;

	if (!rf_inside_may(plan, &inside->object, 4))
		refuse_permission(why);
	judge_landlock(
		why, plan, inside->path, is_directory ? RIGHT_READ_DIRECTORY : RIGHT_READ_FILE);
}

/* In the kernel's order: the file's mode, a read-only mount, Landlock. */
static void judge_write(
	struct rf_why *why, const struct rf_plan *plan, const struct rf_inside *inside)
{
	bool is_on_disk = inside->object.kind == RF_INSIDE_FILE;

	if (inside->object.kind == RF_INSIDE_DIRECTORY) {
		judge_making(why, plan, &inside->object, inside->path);
		return;
	}
	if (!rf_inside_may(plan, &inside->object, 2))
		refuse_permission(why);
	if (inside->object.is_read_only && is_on_disk)
		refuse(why, EROFS, BIT(MOUNT_NAMESPACE));
	judge_landlock(why, plan, inside->path, RIGHT_WRITE_FILE);
}

static void judge_exec(
	struct rf_why *why, const struct rf_plan *plan, const struct rf_inside *inside)
{
	if (inside->object.kind != RF_INSIDE_FILE || !rf_inside_may(plan, &inside->object, 1))
		refuse_permission(why);
	if (inside->object.has_no_exec)
		refuse(why, EACCES, BIT(MOUNT_NAMESPACE));
	judge_landlock(why, plan, inside->path, RIGHT_EXECUTE);
}

static void judge_missing(
	struct rf_why *why, const struct rf_plan *plan, const struct rf_inside *inside)
{
	if (why->access == RF_WHY_WRITE) {
		judge_making(why, plan, &inside->parent, inside->path);
		return;
	}
	why->verdict = RF_VERDICT_ABSENT;
	why->error = ENOENT;
}

static void judge_existing(
	struct rf_why *why, const struct rf_plan *plan, const struct rf_inside *inside)
{
	switch (why->access) {
	case RF_WHY_READ:
		judge_read(why, plan, inside);
		return;
	case RF_WHY_WRITE:
		judge_write(why, plan, inside);
		return;
	case RF_WHY_EXEC:
		judge_exec(why, plan, inside);
		return;
	}
}

/* The walk ended before the last name. */
static void judge_unreached(struct rf_why *why, const struct rf_inside *inside)
{
	const struct rf_view_step *mount = inside->object.mount;
	bool is_mask = mount && mount->kind == RF_VIEW_MASK;

	why->error = inside->error;
	if (inside->error == ENOENT || inside->error == ENOTDIR) {
		why->verdict = RF_VERDICT_ABSENT;
		return;
	}
	why->verdict = RF_VERDICT_DENIED;
	why->by = is_mask ? BIT(MOUNT_NAMESPACE) : 0;
	why->is_by_permissions = inside->error == EACCES && !is_mask;
}

static void judge(struct rf_why *why, const struct rf_plan *plan, const struct rf_inside *inside)
{
	if (!inside->is_last) {
		judge_unreached(why, inside);
		return;
	}
	switch (inside->object.kind) {
	case RF_INSIDE_MISSING:
		judge_missing(why, plan, inside);
		return;
	case RF_INSIDE_LIVE:
		why->verdict = RF_VERDICT_DEPENDS;
		return;
	case RF_INSIDE_CLOSED:
		refuse(why, EACCES, BIT(MOUNT_NAMESPACE));
		return;
	case RF_INSIDE_FILE:
	case RF_INSIDE_DIRECTORY:
	case RF_INSIDE_DEVICE:
	case RF_INSIDE_OTHER:
		judge_existing(why, plan, inside);
		/* Only what a mask made has no permission for anybody. */
		if (why->is_by_permissions && inside->object.mount &&
			inside->object.mount->kind == RF_VIEW_MASK) {
			why->is_by_permissions = false;
			why->by |= BIT(MOUNT_NAMESPACE);
		}
		return;
	case RF_INSIDE_LINK:
		return;
	}
}

int rf_plan_why(const struct rf_plan *plan, enum rf_why_access access, const char *path,
	struct rf_why *ret_why)
{
	struct rf_why why = {.access = access, .verdict = RF_VERDICT_ALLOWED};
	struct rf_inside inside;
	int r = rf_inside_find(plan, path, &inside);

	if (r < 0)
		return r;
	memcpy(why.path, inside.path, sizeof(why.path));
	find_rule(&why, plan, &inside);
	judge(&why, plan, &inside);
	if (why.verdict == RF_VERDICT_ALLOWED && why.because == nothing)
		why.because = "a directory of the sandbox's own";
	/* What is not in the view is kept out by it. */
	if (why.verdict == RF_VERDICT_ABSENT && inside.object.mount == NULL)
		why.by |= BIT(MOUNT_NAMESPACE);
	*ret_why = why;
	return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *rule_to_json(const struct rf_why *why)
{
	const struct rf_key *key = why->key ? rf_key_find(why->key) : NULL;
	json_t *rule;

	if (!why->key)
		return json_null();
	rule = json_pack("{s:s}", "key", why->key);
	if (key)
		json_object_set_new(rule, "option", json_string(key->option));
	if (why->value)
		json_object_set_new(rule, "value", rf_json_text(why->value));
	return rule;
}

json_t *rf_why_to_json(const struct rf_why *why, const char *asked)
{
	const char *error = why->error ? strerrorname_np(why->error) : NULL;
	json_t *object = json_object();
	json_t *by = json_array();

	for (size_t i = 0; i < RF_MECHANISMS; i++) {
		if (why->by & 1U << i)
			json_array_append_new(
				by, json_string(rf_mechanism_name((enum rf_mechanism)i)));
	}
	json_object_set_new(object, "access", json_string(access_names[why->access]));
	json_object_set_new(object, "asked", rf_json_text(asked));
	json_object_set_new(object, "path", rf_json_text(why->path));
	json_object_set_new(object, "verdict", json_string(verdict_names[why->verdict]));
	json_object_set_new(object, "errno", error ? json_string(error) : json_null());
	json_object_set_new(object, "rule", rule_to_json(why));
	json_object_set_new(object, "because", json_string(why->because));
	json_object_set_new(object, "by", by);
	json_object_set_new(object, "permissions", json_boolean(why->is_by_permissions));
	return object;
}
