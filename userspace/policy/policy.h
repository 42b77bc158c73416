/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What was asked for. Options and policy files become this; nothing in it was checked against a
 * host or a filesystem. It crosses the wire as JSON of the same shape as a policy file.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/strv.h"
#include "policy/facts.h"

enum rf_mode { RF_MODE_UNSET, RF_MODE_READ_ONLY, RF_MODE_WORKSPACE_WRITE, RF_MODE_FULL_ACCESS };
enum rf_posture {
	RF_POSTURE_UNSET,
	RF_POSTURE_NONE,
	RF_POSTURE_LOOPBACK,
	RF_POSTURE_HOST_LOOPBACK,
	RF_POSTURE_ALLOW,
	RF_POSTURE_OPEN,
};
/* What may be done to git directories; UNSET is PROTECT. */
enum rf_git { RF_GIT_UNSET, RF_GIT_PROTECT, RF_GIT_READ, RF_GIT_COMMIT, RF_GIT_FULL };
enum rf_tristate { RF_UNSET, RF_FALSE, RF_TRUE };

enum rf_limit {
	RF_LIMIT_TIMEOUT, /* milliseconds */
	RF_LIMIT_MEMORY,  /* bytes, swap included */
	RF_LIMIT_PIDS,	  /* tasks of the command's own tree */
	RF_LIMITS,
};

struct rf_limit_asked {
	/* false: not said. */
	bool is_set;
	/* "none": said, and no limit. */
	bool is_none;
	uint64_t value;
};

struct rf_policy {
	enum rf_mode mode;
	/* NULL: not said. */
	char *workspace;
	char *directory;
	/* As given: relative to the workspace, except external_read and device (absolute). */
	struct rf_strv read;
	struct rf_strv write;
	struct rf_strv write_files;
	struct rf_strv protect;
	struct rf_strv deny;
	struct rf_strv external_read;
	struct rf_strv device;
	enum rf_git git;
	enum rf_posture posture;
	/* network.allow: destinations as written (policy/net.h). */
	struct rf_strv allow;
	/* network.unix: false closes AF_UNIX in every posture. */
	enum rf_tristate unix_sockets;
	/* network.families: lower-case names beyond the posture ("vsock", "netlink", "packet"). */
	struct rf_strv families;
	struct rf_limit_asked limits[RF_LIMITS];
	/* Names to take from the caller, and NAME=VALUE to set. */
	struct rf_strv environment_pass;
	struct rf_strv environment_set;
	enum rf_tristate environment_clear;
	enum rf_tristate strict;
	/* Root callers: name or number. NULL: the caller. */
	char *user;
	enum rf_tristate keep_groups;
	/* Bit per rf_promise. */
	uint32_t waive;
	uint32_t require;
	/* lifecycle.grace; milliseconds. */
	bool has_grace;
	uint64_t grace_ms;
	enum rf_tristate keep_background;
	/* lifecycle.tty: unset is where the standard streams are one terminal. */
	enum rf_tristate tty;
};

void rf_policy_clear(struct rf_policy *policy);
#define rf_autopolicy rf_cleanup(rf_policy_clear)

/*
 * Reads a policy file, YAML (strict: no anchors, aliases, tags or second documents) or JSON; the
 * first byte that is not white space tells which. name is for messages. 0, RF_REFUSED with file,
 * line, column and the nearest known key, or -errno. ret_policy is untouched unless 0.
 */
int rf_policy_read(const char *name, const char *text, size_t size_bytes,
	struct rf_policy *ret_policy, struct rf_diag *diag);

/*
 * Lays over on top of base: what over says wins, lists are appended. Takes over's contents.
 * Precedence (option > policy file > user default > system default) is the caller's order.
 */
int rf_policy_overlay(struct rf_policy *base, struct rf_policy *over);

/* The policy as JSON with the keys of a policy file (new reference), and back. */
json_t *rf_policy_to_json(const struct rf_policy *policy);
int rf_policy_from_json(const json_t *json, struct rf_policy *ret_policy, struct rf_diag *diag);

/* Single values as text, shared by options and the reader. 0, RF_REFUSED (unknown value named). */
int rf_policy_set(
	struct rf_policy *policy, const char *dotted_key, const char *value, struct rf_diag *diag);

/* The nearest known word within two edits, or NULL; static storage of words. */
const char *rf_nearest(const char *word, const char *const *words);
