/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who the command runs as, and the environment that it sees. */

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "base/path.h"
#include "base/units.h"
#include "policy/planner.h"

/* ---- Identity -------------------------------------------------------------------------------- */

static int refuse_user(struct rf_planner *planner, const char *why)
{
	rf_diag_refuse(
		planner->diag, "user-unusable", "user %.200s: %s", planner->policy->user, why);
	rf_diag_hint(planner->diag, "root names an account or a number of this host");
	return RF_REFUSED;
}

/* Copies a name that can stand in /etc/passwd; else "user". */
static void set_user_name(struct rf_planner *planner, const char *name)
{
	bool is_plain = name && name[0] && !strpbrk(name, ":\n/") && strlen(name) < 64;

	snprintf(planner->user_name, sizeof(planner->user_name), "%s", is_plain ? name : "user");
}

/* "/" is nobody's home. ".." after a link is not folded. */
static int set_home(struct rf_planner *planner, enum rf_home which, const char *home)
{
	char *path rf_autofree = NULL;

	if (!home || home[0] != '/')
		return 0;
	path = strstr(home, "/..") ? strdup(home) : rf_path_normalise(home);
	if (!path)
		return -ENOMEM;
	if (strcmp(path, "/") == 0 || strlen(path) >= sizeof(planner->homes[which]))
		return 0;
	/* The usual case. The command's user's counts for more, see plan_own.c. */
	if (which == RF_HOME_VARIABLE && strcmp(planner->homes[RF_HOME_CALLER], path) == 0)
		return 0;
	snprintf(planner->homes[which], sizeof(planner->homes[which]), "%s", path);
	return 0;
}

static int set_caller_homes(struct rf_planner *planner)
{
	int r = set_home(planner, RF_HOME_CALLER, planner->facts->home);

	for (const char *const *e = planner->request->environment; r == 0 && e && *e; e++) {
		if (strncmp(*e, "HOME=", 5) == 0)
			return set_home(planner, RF_HOME_VARIABLE, *e + 5);
	}
	return r;
}

int rf_planner_identity(struct rf_planner *planner)
{
	const struct rf_facts *facts = planner->facts;
	struct rf_plan *plan = planner->plan;
	const struct passwd *entry;
	uint64_t number;
	int r = set_caller_homes(planner);

	if (r < 0)
		return r;
	plan->uid = facts->uid;
	plan->gid = facts->gid;
	plan->has_user_namespace = !facts->has_sys_admin && plan->mode != RF_MODE_FULL_ACCESS;
	set_user_name(planner, facts->user_name);
	if (!planner->policy->user)
		return 0;
	if (rf_parse_u64(planner->policy->user, &number)) {
		if (number >= UINT32_MAX)
			return refuse_user(planner, "no such number");
		entry = getpwuid((uid_t)number);
		plan->uid = (uid_t)number;
		plan->gid = entry ? entry->pw_gid : (gid_t)number;
	} else {
		entry = getpwnam(planner->policy->user);
		if (!entry)
			return refuse_user(planner, "no such user");
		plan->uid = entry->pw_uid;
		plan->gid = entry->pw_gid;
	}
	plan->changes_user = plan->uid != facts->uid || plan->gid != facts->gid;
	if (plan->changes_user && (facts->uid != 0 || !facts->has_sys_admin))
		return refuse_user(planner, "only root can run a command as somebody else");
	set_user_name(planner, entry ? entry->pw_name : NULL);
	return plan->changes_user && entry ? set_home(planner, RF_HOME_COMMAND, entry->pw_dir) : 0;
}

/* ---- Environment ----------------------------------------------------------------------------- */

static const char *const allowed[] = {
	"PATH", "LANG", "TZ", "TERM", "USER", "LOGNAME", "SHELL", "COREPACK_HOME", NULL};

/* Variables that say where things are inside, and the place below the private home or in temp. */
static const struct {
	const char *name;
	bool is_below_home;
	const char *suffix;
} places[] = {
	{"HOME", true, ""},
	{"TMPDIR", false, ""},
	{"TMP", false, ""},
	{"TEMP", false, ""},
	{"XDG_CACHE_HOME", true, "/.cache"},
	{"XDG_CONFIG_HOME", true, "/.config"},
	{"XDG_DATA_HOME", true, "/.local/share"},
	{"XDG_STATE_HOME", true, "/.local/state"},
};

const char *rf_planner_variable(const struct rf_strv *environment, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < environment->count; i++) {
		if (strncmp(environment->items[i], name, length) == 0 &&
			environment->items[i][length] == '=')
			return environment->items[i] + length + 1;
	}
	return NULL;
}

static size_t name_length(const char *setting)
{
	return strcspn(setting, "=");
}

static bool is_named(const char *setting, const char *name)
{
	size_t length = name_length(setting);

	return strlen(name) == length && memcmp(setting, name, length) == 0;
}

static bool is_place(const char *name)
{
	if (strcmp(name, "PWD") == 0)
		return true;
	for (size_t i = 0; i < RF_ARRAY_SIZE(places); i++) {
		if (strcmp(places[i].name, name) == 0)
			return true;
	}
	return false;
}

static bool is_allowed(const char *setting)
{
	for (size_t i = 0; allowed[i]; i++) {
		if (is_named(setting, allowed[i]))
			return true;
	}
	return strncmp(setting, "LC_", 3) == 0;
}

/* A setting and its turn: of two with one name the later one wins. */
struct entry {
	const char *setting;
	size_t turn;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *one = a;
	const struct entry *two = b;
	size_t one_length = name_length(one->setting);
	size_t two_length = name_length(two->setting);
	size_t shorter = one_length < two_length ? one_length : two_length;
	int order = memcmp(one->setting, two->setting, shorter);

	if (order == 0 && one_length != two_length)
		order = one_length < two_length ? -1 : 1;
	if (order == 0)
		order = one->turn < two->turn ? -1 : 1;
	return order;
}

/* Sorted by name, the last of each name, those that are not empty. */
static int settle(const struct rf_strv *settings, bool keeps_empty, struct rf_strv *environment)
{
	struct entry *entries rf_autofree = calloc(settings->count + 1, sizeof(*entries));
	int r = 0;

	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < settings->count; i++)
		entries[i] = (struct entry){settings->items[i], i};
	qsort(entries, settings->count, sizeof(*entries), compare_entries);
	for (size_t i = 0; r == 0 && i < settings->count; i++) {
		const char *setting = entries[i].setting;
		size_t length = name_length(setting);
		bool is_last = i + 1 == settings->count ||
			       name_length(entries[i + 1].setting) != length ||
			       memcmp(entries[i + 1].setting, setting, length) != 0;

		if (is_last && setting[length] && (keeps_empty || setting[length + 1]))
			r = rf_strv_add(environment, setting);
	}
	return r;
}

static int pass_names(struct rf_planner *planner, struct rf_strv *settings)
{
	const struct rf_strv *names = &planner->policy->environment_pass;

	for (size_t i = 0; i < names->count; i++) {
		const char *name = names->items[i];
		int r = 0;

		if (is_place(name) && planner->plan->mode != RF_MODE_FULL_ACCESS) {
			r = rf_planner_warn(planner,
				"variable %s is not passed: it names a place inside the sandbox",
				name);
			if (r < 0)
				return r;
			continue;
		}
		for (const char *const *e = planner->request->environment; r == 0 && e && *e; e++) {
			if (is_named(*e, name))
				r = rf_strv_add(settings, *e);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int set_values(struct rf_planner *planner, struct rf_strv *settings)
{
	const struct rf_strv *set = &planner->policy->environment_set;
	const char *home = planner->facts->home;

	for (size_t i = 0; i < set->count; i++) {
		const char *setting = set->items[i];
		const char *value = setting + name_length(setting);
		int r;

		if (is_named(setting, "HOME") && *value && home[0] && strcmp(value + 1, home) == 0)
			r = rf_planner_warn(planner, "HOME is never the host's: %s", home);
		else
			r = rf_strv_add(settings, setting);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_allowed(struct rf_planner *planner, struct rf_strv *settings)
{
	int r = 0;

	if (planner->policy->environment_clear == RF_TRUE)
		return 0;
	for (const char *const *e = planner->request->environment; r == 0 && e && *e; e++) {
		if (is_allowed(*e))
			r = rf_strv_add(settings, *e);
	}
	return r;
}

static int set_places(struct rf_planner *planner, struct rf_strv *settings)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < RF_ARRAY_SIZE(places); i++)
		r = rf_strv_addf(settings, "%s=%s%s", places[i].name,
			places[i].is_below_home ? planner->home : planner->temporary,
			places[i].suffix);
	if (r == 0 && planner->plan->changes_user) {
		r = rf_strv_addf(settings, "USER=%s", planner->user_name);
		if (r == 0)
			r = rf_strv_addf(settings, "LOGNAME=%s", planner->user_name);
	}
	return r;
}

static int check_size(struct rf_planner *planner)
{
	size_t size = 0;

	for (size_t i = 0; i < planner->plan->environment.count; i++)
		size += strlen(planner->plan->environment.items[i]) + 1;
	if (size <= RF_ENVIRONMENT_MAX_BYTES)
		return 0;
	return rf_diag_refuse(planner->diag, "environment-too-large",
		"the environment has %zu bytes, at most %u can be passed", size,
		RF_ENVIRONMENT_MAX_BYTES);
}

/* Under full access the caller's environment stays as it is; only what is set is added. */
static int keep_environment(struct rf_planner *planner, struct rf_strv *settings)
{
	int r = 0;

	for (const char *const *e = planner->request->environment; r == 0 && e && *e; e++)
		r = rf_strv_add(settings, *e);
	if (r == 0 && planner->policy->environment_clear == RF_TRUE)
		rf_strv_clear(settings);
	if (r == 0)
		r = pass_names(planner, settings);
	return r < 0 ? r : set_values(planner, settings);
}

/* Its cache is opened for reading at the host's place, which the private HOME would not name. */
static int add_corepack_home(struct rf_planner *planner, struct rf_strv *settings)
{
	char *path rf_autofree = NULL;
	struct stat st;

	if (!planner->facts->home[0])
		return 0;
	path = rf_path_join(planner->facts->home, ".cache/node/corepack");
	if (!path)
		return -ENOMEM;
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	return rf_strv_addf(settings, "COREPACK_HOME=%s", path);
}

static int make_environment(struct rf_planner *planner, struct rf_strv *settings)
{
	int r = rf_strv_addf(settings, "PATH=/usr/local/bin:/usr/bin:/bin%s",
		planner->plan->uid == 0 ? ":/usr/local/sbin:/usr/sbin:/sbin" : "");

	if (r == 0)
		r = add_corepack_home(planner, settings);
	if (r == 0)
		r = take_allowed(planner, settings);
	if (r == 0)
		r = pass_names(planner, settings);
	if (r == 0)
		r = set_places(planner, settings);
	if (r == 0)
		r = set_values(planner, settings);
	/* Last, so that nothing says otherwise. */
	return r < 0 ? r : rf_strv_addf(settings, "PWD=%s", planner->plan->directory);
}

int rf_planner_environment(struct rf_planner *planner)
{
	struct rf_strv settings rf_autostrv = {0};
	struct rf_strv filled rf_autostrv = {0};
	bool is_full = planner->plan->mode == RF_MODE_FULL_ACCESS;
	int r;

	r = is_full ? keep_environment(planner, &settings) : make_environment(planner, &settings);
	if (r < 0)
		return r;
	/* An empty value counts as unset: it must not hide the default that stands before it. */
	for (size_t i = 0; r == 0 && i < settings.count; i++) {
		const char *setting = settings.items[i];
		size_t length = name_length(setting);

		if (is_full ||
			!(is_named(setting, "PATH") && setting[length] && !setting[length + 1]))
			r = rf_strv_add(&filled, setting);
	}
	if (r == 0)
		r = settle(&filled, is_full, &planner->plan->environment);
	return r < 0 ? r : check_size(planner);
}
