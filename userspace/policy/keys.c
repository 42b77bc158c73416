/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "policy/keys.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "base/path.h"
#include "base/units.h"
#include "policy/net.h"

#define MEMBER(member) offsetof(struct rf_policy, member)

static const struct rf_key keys[] = {
#define RF_KEY(name, type, option, value, member, help, text) \
	{name, RF_KEY_##type, "--" option, help, MEMBER(member)},
#define RF_KEY_APART(name, type, option, member, help, text) \
	{name, RF_KEY_##type, "--" option, help, MEMBER(member)},
#include "policy/keys.def"
};

static const char *const mode_names[] = {
	[RF_MODE_READ_ONLY] = "read-only",
	[RF_MODE_WORKSPACE_WRITE] = "workspace-write",
	[RF_MODE_FULL_ACCESS] = "full-access",
};
static const char *const git_names[] = {
	[RF_GIT_PROTECT] = "protect",
	[RF_GIT_READ] = "read",
	[RF_GIT_COMMIT] = "commit",
	[RF_GIT_FULL] = "full",
};
static const char *const posture_names[] = {
	[RF_POSTURE_NONE] = "none",
	[RF_POSTURE_LOOPBACK] = "loopback",
	[RF_POSTURE_HOST_LOOPBACK] = "host-loopback",
	[RF_POSTURE_ALLOW] = "allow",
	[RF_POSTURE_OPEN] = "open",
};

/* What a policy may name; the posture opens inet and inet6 and the rule on Unix sockets unix. */
static const struct {
	const char *name;
	int family;
} families[] = {
	{"alg", AF_ALG},
	{"bluetooth", AF_BLUETOOTH},
	{"can", AF_CAN},
	{"inet", AF_INET},
	{"inet6", AF_INET6},
	{"key", AF_KEY},
	{"netlink", AF_NETLINK},
	{"packet", AF_PACKET},
	{"qipcrtr", AF_QIPCRTR},
	{"rds", AF_RDS},
	{"tipc", AF_TIPC},
	{"unix", AF_UNIX},
	{"vsock", AF_VSOCK},
	{"xdp", AF_XDP},
};

const struct rf_key *rf_keys(size_t *ret_count)
{
	*ret_count = RF_ARRAY_SIZE(keys);
	return keys;
}

const struct rf_key *rf_key_find(const char *name)
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(keys); i++) {
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	}
	return NULL;
}

bool rf_key_is_list(enum rf_key_type type)
{
	switch (type) {
	case RF_KEY_PATHS:
	case RF_KEY_ABSOLUTES:
	case RF_KEY_VARIABLES:
	case RF_KEY_DESTINATIONS:
	case RF_KEY_FAMILIES:
	case RF_KEY_PROMISES:
		return true;
	case RF_KEY_MODE:
	case RF_KEY_POSTURE:
	case RF_KEY_GIT:
	case RF_KEY_PATH:
	case RF_KEY_SETTINGS:
	case RF_KEY_SWITCH:
	case RF_KEY_USER:
	case RF_KEY_DURATION_LIMIT:
	case RF_KEY_SIZE_LIMIT:
	case RF_KEY_COUNT_LIMIT:
	case RF_KEY_GRACE:
		return false;
	}
	return false;
}

const char *rf_key_expects(enum rf_key_type type)
{
	switch (type) {
	case RF_KEY_MODE:
		return "read-only, workspace-write or full-access";
	case RF_KEY_POSTURE:
		return "none, loopback, host-loopback, allow or open";
	case RF_KEY_GIT:
		return "protect, read, commit or full";
	case RF_KEY_PATH:
		return "a path";
	case RF_KEY_PATHS:
		return "a list of paths";
	case RF_KEY_ABSOLUTES:
		return "a list of absolute paths";
	case RF_KEY_VARIABLES:
		return "a list of variable names";
	case RF_KEY_SETTINGS:
		return "a mapping of variable names to text";
	case RF_KEY_DESTINATIONS:
		return "a list of addresses with ports";
	case RF_KEY_FAMILIES:
		return "a list of socket family names";
	case RF_KEY_PROMISES:
		return "a list of promise names";
	case RF_KEY_SWITCH:
		return "true or false";
	case RF_KEY_USER:
		return "a user's name or number";
	case RF_KEY_DURATION_LIMIT:
		return "a duration such as 10s, or none";
	case RF_KEY_SIZE_LIMIT:
		return "a size such as 512M, or none";
	case RF_KEY_COUNT_LIMIT:
		return "a number, or none";
	case RF_KEY_GRACE:
		return "a duration such as 2s";
	}
	return "something else";
}

const char *rf_mode_name(enum rf_mode mode)
{
	return mode_names[mode];
}

const char *rf_git_name(enum rf_git git)
{
	return git_names[git];
}

const char *rf_posture_name(enum rf_posture posture)
{
	return posture_names[posture];
}

bool rf_family_parse(const char *name, int *ret_family)
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(families); i++) {
		if (strcmp(families[i].name, name) != 0)
			continue;
		*ret_family = families[i].family;
		return true;
	}
	return false;
}

const char *rf_family_name(int family)
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(families); i++) {
		if (families[i].family == family)
			return families[i].name;
	}
	return NULL;
}

static int refuse_value(
	const struct rf_key *key, const char *value, struct rf_diag *diag, const char *near)
{
	int r = rf_diag_refuse(diag, "policy-value",
		"%s: \"%.200s\" is not known to this version; expected %s", key->name, value,
		rf_key_expects(key->type));

	if (near)
		rf_diag_hint(diag, "did you mean \"%s\"?", near);
	return r;
}

/* One entry of a list of words. */
static int refuse_word(
	const struct rf_key *key, const char *value, const char *const *words, struct rf_diag *diag)
{
	struct rf_buf names rf_autobuf = {0};
	const char *near = rf_nearest(value, words);
	int r = 0;

	for (size_t i = 0; r == 0 && words[i]; i++)
		r = rf_buf_addf(&names, "%s%s", i > 0 ? ", " : "", words[i]);
	if (r < 0)
		return r;
	rf_diag_refuse(diag, "policy-value",
		"%s: \"%.200s\" is not known to this version; expected one of %s", key->name, value,
		names.data);
	if (strchr(value, ','))
		rf_diag_hint(diag, "one at a time; an option can be repeated");
	else if (near)
		rf_diag_hint(diag, "did you mean \"%s\"?", near);
	return RF_REFUSED;
}

/* Index of value among names (index 0 is "not said"), or 0. */
static unsigned int choose(const char *value, const char *const *names, size_t n_names)
{
	for (unsigned int i = 1; i < n_names; i++) {
		if (strcmp(names[i], value) == 0)
			return i;
	}
	return 0;
}

static int set_mode(
	const struct rf_key *key, enum rf_mode *mode, const char *value, struct rf_diag *diag)
{
	unsigned int chosen = choose(value, mode_names, RF_ARRAY_SIZE(mode_names));
	static const char *const words[] = {"read-only", "workspace-write", "full-access", NULL};

	if (!chosen)
		return refuse_value(key, value, diag, rf_nearest(value, words));
	*mode = (enum rf_mode)chosen;
	return 0;
}

static int set_git(
	const struct rf_key *key, enum rf_git *git, const char *value, struct rf_diag *diag)
{
	unsigned int chosen = choose(value, git_names, RF_ARRAY_SIZE(git_names));
	static const char *const words[] = {"protect", "read", "commit", "full", NULL};

	if (!chosen)
		return refuse_value(key, value, diag, rf_nearest(value, words));
	*git = (enum rf_git)chosen;
	return 0;
}

static int set_posture(
	const struct rf_key *key, enum rf_posture *posture, const char *value, struct rf_diag *diag)
{
	unsigned int chosen = choose(value, posture_names, RF_ARRAY_SIZE(posture_names));
	static const char *const words[] = {
		"none", "loopback", "host-loopback", "allow", "open", NULL};

	if (!chosen)
		return refuse_value(key, value, diag, rf_nearest(value, words));
	*posture = (enum rf_posture)chosen;
	return 0;
}

static int check_path(
	const struct rf_key *key, const char *value, bool is_absolute, struct rf_diag *diag)
{
	if (!value[0])
		return rf_diag_refuse(
			diag, "policy-value", "%s: a path cannot be empty", key->name);
	if (strlen(value) >= RF_PATH_MAX_BYTES)
		return rf_diag_refuse(diag, "policy-value", "%s: a path has at most %u bytes",
			key->name, RF_PATH_MAX_BYTES - 1);
	if (is_absolute && value[0] != '/')
		return rf_diag_refuse(
			diag, "policy-value", "%s: \"%.200s\" is not absolute", key->name, value);
	return 0;
}

static int set_text(char **text, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

static int add_item(
	const struct rf_key *key, struct rf_strv *list, const char *value, struct rf_diag *diag)
{
	if (list->count >= RF_POLICY_RULES_MAX)
		return rf_diag_refuse(diag, "policy-size", "%s: more than %u entries", key->name,
			RF_POLICY_RULES_MAX);
	return rf_strv_add(list, value);
}

/* A variable's name ends at '=' in an environment; there is no other rule for exec. */
static int check_variable(
	const struct rf_key *key, const char *name, size_t length, struct rf_diag *diag)
{
	if (length == 0 || memchr(name, '=', length) || length > RF_NAME_MAX_BYTES)
		return rf_diag_refuse(diag, "policy-value",
			"%s: a variable's name has 1 to %u bytes and no \"=\"", key->name,
			RF_NAME_MAX_BYTES);
	return 0;
}

static int add_setting(
	const struct rf_key *key, struct rf_strv *list, const char *value, struct rf_diag *diag)
{
	const char *equals = strchr(value, '=');
	int r;

	if (!equals)
		return rf_diag_refuse(diag, "policy-value", "%s: expected NAME=VALUE", key->name);
	r = check_variable(key, value, (size_t)(equals - value), diag);
	return r ? r : add_item(key, list, value, diag);
}

static int add_destination(
	const struct rf_key *key, struct rf_strv *list, const char *value, struct rf_diag *diag)
{
	struct rf_net_destination destination;
	int r = rf_net_parse(key->name, value, &destination, diag);

	return r ? r : add_item(key, list, value, diag);
}

static int add_family(
	const struct rf_key *key, struct rf_strv *list, const char *value, struct rf_diag *diag)
{
	const char *words[RF_ARRAY_SIZE(families) + 1] = {NULL};
	int family;

	if (rf_family_parse(value, &family))
		return rf_strv_has(list, value) ? 0 : add_item(key, list, value, diag);
	for (size_t i = 0; i < RF_ARRAY_SIZE(families); i++)
		words[i] = families[i].name;
	return refuse_word(key, value, words, diag);
}

static int add_promise(
	const struct rf_key *key, uint32_t *promises, const char *value, struct rf_diag *diag)
{
	const char *words[RF_PROMISES + 1] = {NULL};
	enum rf_promise promise;

	if (rf_promise_parse(value, &promise)) {
		*promises |= 1U << promise;
		return 0;
	}
	for (size_t i = 0; i < RF_PROMISES; i++)
		words[i] = rf_promise_name((enum rf_promise)i);
	return refuse_word(key, value, words, diag);
}

static int set_switch(
	const struct rf_key *key, enum rf_tristate *to, const char *value, struct rf_diag *diag)
{
	if (strcmp(value, "true") == 0)
		*to = RF_TRUE;
	else if (strcmp(value, "false") == 0)
		*to = RF_FALSE;
	else
		return refuse_value(key, value, diag, NULL);
	return 0;
}

static int refuse_range(const struct rf_key *key, const char *value, struct rf_diag *diag,
	const char *least, const char *most)
{
	return rf_diag_refuse(diag, "policy-value", "%s: \"%.200s\" is not between %s and %s",
		key->name, value, least, most);
}

static int refuse_unit(
	const struct rf_key *key, const char *value, struct rf_diag *diag, const char *units)
{
	int r = rf_diag_refuse(diag, "policy-unit", "%s: \"%.200s\" is not %s", key->name, value,
		rf_key_expects(key->type));

	rf_diag_hint(diag, "units: %s", units);
	return r;
}

/* A number that no unit could make right: "-1", or more digits than are counted. */
static bool is_out_of_range(const char *value)
{
	bool is_negative = value[0] == '-';
	size_t digits = strspn(value + is_negative, "0123456789");

	return digits > 0 && (is_negative || digits > 18);
}

static int parse_limit(
	const struct rf_key *key, const char *value, uint64_t *ret_number, struct rf_diag *diag)
{
	bool is_huge = is_out_of_range(value);
	uint64_t number = 0;

	if (key->type == RF_KEY_SIZE_LIMIT) {
		if (!is_huge && !rf_parse_size(value, &number))
			return refuse_unit(key, value, diag, "K, M, G, T (powers of 1024) or none");
		if (is_huge || number < RF_MEMORY_MIN_BYTES || number > RF_SIZE_MAX_BYTES)
			return refuse_range(key, value, diag, "1M", "4 EiB");
	} else if (key->type == RF_KEY_COUNT_LIMIT) {
		if (!is_huge && !rf_parse_u64(value, &number))
			return refuse_unit(key, value, diag, "a plain number");
		if (is_huge || number < RF_PIDS_MIN || number > RF_PIDS_MAX)
			return refuse_range(key, value, diag, "1", "4194304");
	} else {
		if (!is_huge && !rf_parse_duration(value, &number))
			return refuse_unit(key, value, diag, "ms, s, m, h, d");
		if (is_huge || number > RF_DURATION_MAX_MS)
			return refuse_range(key, value, diag, "10ms", "366d");
	}
	*ret_number = number;
	return 0;
}

static int set_limit(const struct rf_key *key, struct rf_limit_asked *limit, const char *value,
	struct rf_diag *diag)
{
	uint64_t number = 0;
	int r;

	if (strcmp(value, "none") == 0) {
		*limit = (struct rf_limit_asked){.is_set = true, .is_none = true};
		return 0;
	}
	r = parse_limit(key, value, &number, diag);
	if (r)
		return r;
	if (key->type == RF_KEY_DURATION_LIMIT && number < RF_TIMEOUT_MIN_MS)
		return refuse_range(key, value, diag, "10ms", "366d");
	*limit = (struct rf_limit_asked){.is_set = true, .value = number};
	return 0;
}

static int set_grace(
	const struct rf_key *key, struct rf_policy *policy, const char *value, struct rf_diag *diag)
{
	uint64_t number = 0;
	int r = parse_limit(key, value, &number, diag);

	if (r)
		return r;
	if (number > RF_GRACE_MAX_MS)
		return refuse_range(key, value, diag, "0s", "1h");
	policy->has_grace = true;
	policy->grace_ms = number;
	return 0;
}

int rf_key_set(
	const struct rf_key *key, struct rf_policy *policy, const char *value, struct rf_diag *diag)
{
	void *member = (char *)policy + key->offset;
	int r;

	switch (key->type) {
	case RF_KEY_MODE:
		return set_mode(key, member, value, diag);
	case RF_KEY_POSTURE:
		return set_posture(key, member, value, diag);
	case RF_KEY_GIT:
		return set_git(key, member, value, diag);
	case RF_KEY_PATH:
		r = check_path(key, value, false, diag);
		return r ? r : set_text(member, value);
	case RF_KEY_PATHS:
	case RF_KEY_ABSOLUTES:
		r = check_path(key, value, key->type == RF_KEY_ABSOLUTES, diag);
		return r ? r : add_item(key, member, value, diag);
	case RF_KEY_VARIABLES:
		r = check_variable(key, value, strlen(value), diag);
		return r ? r : add_item(key, member, value, diag);
	case RF_KEY_SETTINGS:
		return add_setting(key, member, value, diag);
	case RF_KEY_DESTINATIONS:
		return add_destination(key, member, value, diag);
	case RF_KEY_FAMILIES:
		return add_family(key, member, value, diag);
	case RF_KEY_PROMISES:
		return add_promise(key, member, value, diag);
	case RF_KEY_SWITCH:
		return set_switch(key, member, value, diag);
	case RF_KEY_USER:
		if (!value[0] || strlen(value) > RF_NAME_MAX_BYTES)
			return refuse_value(key, value, diag, NULL);
		return set_text(member, value);
	case RF_KEY_DURATION_LIMIT:
	case RF_KEY_SIZE_LIMIT:
	case RF_KEY_COUNT_LIMIT:
		return set_limit(key, member, value, diag);
	case RF_KEY_GRACE:
		return set_grace(key, policy, value, diag);
	}
	return -EINVAL;
}

int rf_policy_set(
	struct rf_policy *policy, const char *dotted_key, const char *value, struct rf_diag *diag)
{
	const struct rf_key *key = rf_key_find(dotted_key);
	const char *words[RF_ARRAY_SIZE(keys) + 1] = {NULL};
	const char *near;
	int r;

	if (key)
		return rf_key_set(key, policy, value, diag);
	for (size_t i = 0; i < RF_ARRAY_SIZE(keys); i++)
		words[i] = keys[i].name;
	near = rf_nearest(dotted_key, words);
	r = rf_diag_refuse(
		diag, "policy-key", "key \"%.200s\" is not known to this version", dotted_key);
	if (near)
		rf_diag_hint(diag, "did you mean \"%s\"?", near);
	return r;
}
