/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a policy can say, from the one table in keys.def: the reader of files, the options, the JSON
 * of the wire, the help, the schema and the manual pages all go by it.
 */

#include <stddef.h>

#include "base/diag.h"
#include "policy/policy.h"

enum rf_key_type {
	RF_KEY_MODE,
	RF_KEY_POSTURE,
	RF_KEY_GIT,
	RF_KEY_PATH,	     /* one path */
	RF_KEY_PATHS,	     /* list of paths */
	RF_KEY_ABSOLUTES,    /* list of absolute paths */
	RF_KEY_VARIABLES,    /* list of environment names */
	RF_KEY_SETTINGS,     /* mapping NAME: value; as an option NAME=VALUE */
	RF_KEY_DESTINATIONS, /* list of addresses and ports, policy/net.h */
	RF_KEY_FAMILIES,     /* list of socket family names */
	RF_KEY_PROMISES,     /* list of promise names, a bit each */
	RF_KEY_SWITCH,	     /* true or false */
	RF_KEY_USER,	     /* a name or a number */
	RF_KEY_DURATION_LIMIT,
	RF_KEY_SIZE_LIMIT,
	RF_KEY_COUNT_LIMIT,
	RF_KEY_GRACE,
};

struct rf_key {
	/* "filesystem.read" */
	const char *name;
	enum rf_key_type type;
	/* "--read". */
	const char *option;
	/* One line. */
	const char *help;
	/* Of the member in struct rf_policy. */
	size_t offset;
};

/* Sorted as a policy is written; static storage. */
const struct rf_key *rf_keys(size_t *ret_count);
/* NULL: no such key. */
const struct rf_key *rf_key_find(const char *name);
bool rf_key_is_list(enum rf_key_type type);
/* "a list of paths", for messages. */
const char *rf_key_expects(enum rf_key_type type);

/* Reads one value (one item of a list). Bytes as given; no NUL. 0, RF_REFUSED or -ENOMEM. */
int rf_key_set(const struct rf_key *key, struct rf_policy *policy, const char *value,
	struct rf_diag *diag);

/* AF_ number of "vsock"; false: no such name here. */
bool rf_family_parse(const char *name, int *ret_family);
const char *rf_family_name(int family);
const char *rf_mode_name(enum rf_mode mode);
const char *rf_git_name(enum rf_git git);
const char *rf_posture_name(enum rf_posture posture);
