/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Ringfence's own places, where a grant reaches them. A command that could write a default policy
 * would free the next one; one that could write the ledger would aim the next sweep. Policies stay
 * readable; ledger and runtime directory, which hold the records and sockets of other runs, are
 * closed.
 *
 * A name that does not exist cannot be covered by a mount. Where the command could make it, the
 * empty directory is made when the run starts, and covered: it is the one thing that a denial of
 * ours leaves on the host. Where nobody of this identity can make it, nothing is done.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "policy/planner.h"

struct own {
	char *path;
	/* RF_NODE_PROTECT or RF_NODE_DENY. */
	uint32_t flag;
	bool is_made;
};

struct owns {
	struct own items[24];
	size_t count;
};

static void clear_owns(struct owns *owns)
{
	for (size_t i = 0; i < owns->count; i++)
		free(owns->items[i].path);
}

/* base may be NULL or relative: then it is nobody's. */
static int add(struct owns *owns, const char *base, const char *name, uint32_t flag, bool is_made)
{
	char *path rf_autofree = NULL;

	if (!base || base[0] != '/' || owns->count == RF_ARRAY_SIZE(owns->items))
		return 0;
	path = rf_path_join(base, name);
	if (!path)
		return -ENOMEM;
	owns->items[owns->count++] = (struct own){RF_TAKE(path), flag, is_made};
	return 0;
}

static const char *variable(const struct rf_planner *planner, const char *name)
{
	size_t length = strlen(name);

	for (const char *const *e = planner->request->environment; e && *e; e++) {
		if (strncmp(*e, name, length) == 0 && (*e)[length] == '=')
			return *e + length + 1;
	}
	return NULL;
}

static int add_home(struct owns *owns, const char *home, bool is_made, bool has_ledger)
{
	int r = add(owns, home, ".config/ringfence", RF_NODE_PROTECT, is_made);

	return r < 0 ? r
		     : add(owns, home, ".local/state/ringfence", RF_NODE_DENY,
			       is_made && has_ledger);
}

static int add_system(struct owns *owns, bool is_made)
{
	int r = add(owns, "/etc", "ringfence", RF_NODE_PROTECT, is_made);

	if (r == 0)
		r = add(owns, "/var/lib", "ringfence", RF_NODE_DENY, is_made);
	return r < 0 ? r : add(owns, "/run", "ringfence", RF_NODE_DENY, is_made);
}

/*
 * What exists is covered for everybody. What is missing is made for those who would use it: the
 * system's for root, a home's for its user. Root's ledger is the system's, and others have theirs
 * in the home that the user database says.
 */
static int list_owns(const struct rf_planner *planner, struct owns *owns)
{
	const char *config = variable(planner, "XDG_CONFIG_HOME");
	const char *state = variable(planner, "XDG_STATE_HOME");
	const char *runtime = variable(planner, "XDG_RUNTIME_DIR");
	bool is_other = planner->plan->changes_user;
	bool is_root = planner->facts->uid == 0;
	char name[64];
	int r = add_system(owns, is_root && !is_other);

	if (r == 0)
		r = add_home(owns, planner->homes[RF_HOME_CALLER], !is_other, !is_root);
	if (r == 0)
		r = add_home(owns, planner->homes[RF_HOME_VARIABLE], !is_other, false);
	if (r == 0)
		r = add_home(
			owns, planner->homes[RF_HOME_COMMAND], is_other, planner->plan->uid != 0);
	if (r == 0)
		r = add(owns, config, "ringfence", RF_NODE_PROTECT, !is_other);
	if (r == 0)
		r = add(owns, state, "ringfence", RF_NODE_DENY, !is_root);
	if (r == 0)
		r = add(owns, runtime, "ringfence", RF_NODE_DENY, !is_root);
	snprintf(name, sizeof(name), "ringfence-%u", (unsigned int)planner->facts->uid);
	return r < 0 ? r : add(owns, "/tmp", name, RF_NODE_DENY, !is_root);
}

/* Could the planner, and so the command, make something in the last directory that exists? */
static bool is_makeable(const struct rf_found *found)
{
	char *parent rf_autofree = strndup(found->path, found->existing_length);
	struct stat st;

	return parent && lstat(parent, &st) == 0 && S_ISDIR(st.st_mode) &&
	       faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) == 0;
}

/* Flags of the node for what was found; 0: none is needed. */
static uint32_t judge(struct rf_planner *planner, const struct own *own, struct rf_found *found)
{
	enum rf_reach reach = rf_rule_tree_reach(&planner->tree, found->path);
	bool is_reached =
		reach == RF_REACH_WRITE || (reach == RF_REACH_READ && own->flag == RF_NODE_DENY);

	if (found->kind == RF_FOUND_EXISTING)
		return is_reached ? own->flag : 0;
	/* A link to nothing is replaced or followed by whoever owns it; its name is noted. */
	if (found->kind != RF_FOUND_MISSING || reach != RF_REACH_WRITE || !own->is_made ||
		found->links.count > 0 || !is_makeable(found))
		return 0;
	found->mode = S_IFDIR;
	return own->flag | RF_NODE_CREATE;
}

/* A policy that is a link: what it leads to is the policy. */
static int find_policy(
	struct rf_planner *planner, const struct own *own, struct rf_found *ret_found)
{
	char *file rf_autofree = rf_path_join(own->path, "policy.yaml");

	return file ? rf_resolve(&planner->root, file, ret_found) : -ENOMEM;
}

struct judged {
	struct rf_found found;
	uint32_t flags;
};

static void clear_judged(struct judged (*all)[48])
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(*all); i++)
		rf_found_clear(&(*all)[i].found);
}

static int add_judged(struct rf_planner *planner, const struct judged *judged)
{
	int r = 0;

	if (judged->found.path)
		r = rf_planner_add_links(planner, &judged->found, RF_NODE_NAME);
	if (r < 0 || !judged->flags)
		return r;
	return rf_planner_add(planner, &judged->found, judged->flags);
}

int rf_planner_own(struct rf_planner *planner)
{
	struct owns owns rf_cleanup(clear_owns) = {0};
	struct judged all[48] rf_cleanup(clear_judged) = {0};
	int r = list_owns(planner, &owns);

	/* All are judged before one is added: the tree is sorted once. */
	for (size_t i = 0; r == 0 && i < owns.count; i++) {
		const struct own *own = &owns.items[i];
		struct judged *policy = &all[2 * i + 1];

		r = rf_resolve(&planner->root, own->path, &all[2 * i].found);
		if (r == 0)
			all[2 * i].flags = judge(planner, own, &all[2 * i].found);
		if (r < 0 || own->flag != RF_NODE_PROTECT)
			continue;
		r = find_policy(planner, own, &policy->found);
		if (r == 0 && policy->found.kind == RF_FOUND_EXISTING &&
			policy->found.links.count > 0 &&
			rf_rule_tree_reach(&planner->tree, policy->found.path) == RF_REACH_WRITE)
			policy->flags = RF_NODE_PROTECT;
	}
	for (size_t i = 0; r == 0 && i < RF_ARRAY_SIZE(all); i++)
		r = add_judged(planner, &all[i]);
	return r;
}
