/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The policy resolved against this host and this workspace. Making it has no effects: it looks
 * names up, and keeps each source that will be mounted open by descriptor (O_PATH), so that what
 * was checked is what is mounted. After it, everything has effects and reports them.
 *
 *	struct policy + struct facts + workspace  ->  struct plan   or   one refusal
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/strv.h"
#include "policy/facts.h"
#include "policy/net.h"
#include "policy/policy.h"

/* One step of the view, in the order in which bubblewrap (or the stage) carries it out. */
enum rf_view_kind {
	RF_VIEW_TMPFS,	   /* empty, writable until remounted; mode in perms */
	RF_VIEW_DIRECTORY, /* made when missing; mode in perms */
	RF_VIEW_PROC,
	RF_VIEW_DEV,	  /* bubblewrap's /dev */
	RF_VIEW_BIND,	  /* source, writable */
	RF_VIEW_BIND_RO,  /* source, read-only */
	RF_VIEW_BIND_DEV, /* source, a device node that may be opened */
	RF_VIEW_MASK,	  /* closed: a nodev device over a file, an empty unreadable tmpfs (0000),
			     read-only at once, over a directory; a closed directory with open
			     places below is a TMPFS of mode 0111, read-only at the end */
	RF_VIEW_DATA,	  /* a file with this content, read-only */
	RF_VIEW_SYMLINK,  /* to data */
	RF_VIEW_REMOUNT_RO,
};

struct rf_view_step {
	enum rf_view_kind kind;
	/* Absolute, inside. */
	char *destination;
	/* Canonical host path of a bind; NULL for others. */
	char *source;
	/* Text of DATA, target of SYMLINK. */
	char *data;
	/* Owned, O_PATH; -1 when there is none (no bind, or a plan that is only shown or staged).
	 */
	int source_fd;
	/*
	 * Identity of the source when it was looked up; 0 and 0 for a directory in `create`, which
	 * rf_plan_make_directories makes, opens and fills in.
	 */
	uint64_t source_dev;
	uint64_t source_ino;
	bool is_directory;
	/* 0: default. */
	unsigned int perms;
};

/* Landlock: what may be done below an inside path. The launcher masks rights by file type. */
enum rf_access {
	RF_ACCESS_READ,	    /* read, list, execute */
	RF_ACCESS_WRITE,    /* READ and every change, rename and link (REFER) included */
	RF_ACCESS_DEVICE,   /* read and write, no ioctl */
	RF_ACCESS_TERMINAL, /* DEVICE and IOCTL_DEV: terminals, pty master, null devices */
	RF_ACCESS_LIST,	    /* read directories, not files */
};

struct rf_rule {
	char *path;
	enum rf_access access;
};

/*
 * What BPF LSM holds about a file or directory, by its inode. CLOSED, READ_ONLY and OPEN speak for
 * what lies below a directory too, up to the next that says otherwise.
 */
#define RF_PLACE_CLOSED 1U
#define RF_PLACE_READ_ONLY 2U
#define RF_PLACE_OPEN 4U
/* Neither moved nor removed. */
#define RF_PLACE_PINNED 8U
/* Some names in it have rules. */
#define RF_PLACE_NAMES 16U
/* Open for the names listed as OPEN and for what the run itself makes in it. */
#define RF_PLACE_LISTED 32U

struct rf_plan_place {
	char *path;
	uint32_t flags;
	/* Owned, O_PATH. Held as long as the run lives: the rule is the inode's, and goes when that
	 * leaves memory. -1: a directory in `create`, opened when it is there. */
	int fd;
	/* What the kernel's records call it; 0: not told yet. */
	uint64_t token;
};

/* A name in a place: CLOSED and READ_ONLY may not be made either. */
struct rf_plan_name {
	size_t place;
	char *name;
	uint32_t flags;
};

struct rf_effective {
	enum rf_state state;
	char why[256];
	/* Bit per rf_mechanism that holds it. */
	uint32_t by;
};

/* A rule as it was resolved, for rf_plan_why. */
struct rf_said {
	char *path;
	/* enum rf_node_flag. */
	uint32_t flags;
	/* "filesystem.read" and what was written, both borrowed from the policy; NULL: built in. */
	const char *key;
	const char *text;
};

struct rf_plan {
	enum rf_mode mode;
	/* Canonical root of the workspace, its spelling as given, and the pinned directory. */
	char *workspace;
	char *workspace_alias;
	int workspace_fd;
	/* Inside. */
	char *directory;
	struct rf_view_step *view;
	size_t n_view;
	struct rf_rule *rules;
	size_t n_rules;
	struct rf_plan_place *places;
	size_t n_places;
	struct rf_plan_name *names;
	size_t n_names;
	/* BPF LSM holds missing names, pins and replaceable links by the two lists. */
	bool has_file_rules;
	/* A write-file opens itself (true), or its directory. */
	bool is_write_file_exact;
	size_t n_write_files;
	/* argv as given; program is the path that is tried first, or the bare name (search is
	 * inside). */
	struct rf_strv argv;
	char *program;
	/* NAME=VALUE, sorted by name. */
	struct rf_strv environment;
	/* Directories that the launcher makes inside (0700), parents first, as the command's user:
	 * HOME and what lies below it. */
	struct rf_strv directories;
	/* Missing directories of the workspace that a write names, and Ringfence's own where the
	 * command could make them; relative to it, parents may be missing too. The controller makes
	 * them before bubblewrap: rf_plan_make_directories. */
	struct rf_strv create;
	enum rf_posture posture;
	/* Posture allow: what may be reached. */
	struct rf_net_destination *allow;
	size_t n_allow;
	bool is_unix_open;
	/* AF_* numbers beyond the posture. */
	int families[16];
	size_t n_families;
	/* What may be done to git directories, never UNSET, and those that were found. */
	enum rf_git git;
	struct rf_strv git_directories;
	bool is_strict;
	bool keeps_background;
	bool keeps_groups;
	/* Whom the command runs as. */
	uid_t uid;
	gid_t gid;
	bool changes_user;
	/* A user namespace is made (everyone but root with CAP_SYS_ADMIN). */
	bool has_user_namespace;
	/* io_uring stays open (LSM hooks hold) or is closed by seccomp. */
	bool is_io_uring_open;
	struct rf_limit_asked limits[RF_LIMITS];
	uint64_t grace_ms;
	/* Descriptor numbers passed to the command, sorted, unique. */
	int *pass_fds;
	size_t n_pass_fds;
	struct rf_effective mechanisms[RF_MECHANISMS];
	struct rf_effective promises[RF_PROMISES];
	/* Bit per promise that is not held and that the policy waived. */
	uint32_t waived;
	/* Bit per promise that the policy says must be held. */
	uint32_t required;
	/* AF_UNIX could only be closed altogether, though the posture would leave it open. */
	bool is_unix_closed_coarsely;
	/* One line each, for standard error. */
	struct rf_strv warnings;
	/* The same, where more than the usual is asked for. */
	struct rf_strv details;
	/* Too many binds for bubblewrap's argument limit: the view of the workspace is staged. */
	bool is_staged;
	/* Every rule on a path; empty unless keeps_rules was asked for. */
	struct rf_said *said;
	size_t n_said;
	/* Bubblewrap's own command line: no view, no launcher, the client's child. */
	bool is_wrapped;
};

/* What the caller's process gives besides the policy. All borrowed. */
struct rf_request {
	const struct rf_policy *policy;
	/* Working directory of the caller, as the kernel says it. */
	const char *cwd;
	/* NULL-terminated. */
	const char *const *argv;
	const char *const *environment;
	const int *pass_fds;
	size_t n_pass_fds;
	/* argv is bubblewrap's own command line; of the policy count the posture (none or open),
	 * the limits, the grace, waivers and what is required. */
	bool is_wrapped;
	/* Text of /proc/self/mountinfo; NULL: the planner reads it. */
	const char *mountinfo;
	/* For rf_plan_why; the policy must then outlive the plan. */
	bool keeps_rules;
	/* NULL, or where the planner notes which path, as it was written, it is about to look up.
	 */
	const char *_Atomic *looking_at;
};

/*
 * 0: *ret_plan is whole. RF_REFUSED: diag says what and why, nothing was done. -errno otherwise.
 * The plan owns everything in it; rf_plan_free takes NULL and half-built ones and returns NULL.
 */
int rf_plan_make(const struct rf_request *request, const struct rf_facts *facts,
	struct rf_plan **ret_plan, struct rf_diag *diag);
struct rf_plan *rf_plan_free(struct rf_plan *plan);

/*
 * The same, refused (planning-deadline) when it takes longer. Then *ret_is_abandoned is true: a
 * thread still waits for a filesystem, and everything that request points to must stay until the
 * process ends.
 */
int rf_plan_make_within(const struct rf_request *request, const struct rf_facts *facts,
	unsigned int deadline_ms, struct rf_plan **ret_plan, bool *ret_is_abandoned,
	struct rf_diag *diag);

/*
 * The one effect that a plan asks for on the host: makes the directories of plan->create below
 * workspace_fd, link-free and with the identity of the caller of this function (owned by plan->uid
 * where the run changes the user), and opens them as sources of their view steps. When a later step
 * of the start-up fails, rf_plan_unmake_directories removes those that this call made and that are
 * still empty; once the command ran they stay. 0, RF_REFUSED or -errno (what was made is unmade).
 */
int rf_plan_make_directories(struct rf_plan *plan, struct rf_strv *ret_made, struct rf_diag *diag);
void rf_plan_unmake_directories(const struct rf_plan *plan, const struct rf_strv *made);

/* An own network namespace is the wall; in the others it is the host's. */
bool rf_posture_has_own_network(enum rf_posture posture);
/* The hooks judge each address. */
bool rf_posture_has_address_rules(enum rf_posture posture);

/* Opens those places that did not exist when the plan was made. 0 or -errno. */
int rf_plan_open_places(struct rf_plan *plan);
void rf_plan_clear_files(struct rf_plan *plan);

static inline void rf_plan_free_p(struct rf_plan **plan)
{
	rf_plan_free(*plan);
}
#define rf_autoplan rf_cleanup(rf_plan_free_p)

/*
 * The whole plan as JSON, deterministic; bwrap_arguments (NULL-terminated) is what
 * enforce/bubblewrap makes of it. New reference.
 */
json_t *rf_plan_to_json(const struct rf_plan *plan, const char *const *bwrap_arguments);

/* The `enforcement` object of a result. New reference. */
json_t *rf_plan_enforcement_to_json(const struct rf_plan *plan, const struct rf_facts *facts);
