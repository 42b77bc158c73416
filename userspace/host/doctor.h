/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Finding facts by doing. Every check runs in a throwaway child with a deadline; a check that
 * hangs is killed and says so.
 */

#include <jansson.h>
#include <stddef.h>

#include "base/diag.h"
#include "policy/facts.h"

struct rf_check {
	/* A mechanism's name, or "bubblewrap", "cgroup-controllers", … */
	const char *name;
	enum rf_state state;
	/* The call that failed ("unshare(CLONE_NEWUSER)") and its errno; empty and 0 when none did.
	 */
	char call[64];
	int error;
	char cause[256];
	char remedy[256];
};

/* The part of BPF LSM that file rules need: only a controller can tell, which loads the programs.
 */
#define RF_CHECK_FILE_HOOKS "bpf-lsm-files"

/* Cheap facts that every run needs: identity, capabilities, home, Landlock ABI, bubblewrap. */
int rf_facts_find(struct rf_facts *ret_facts, struct rf_diag *diag);

/* All checks, each performed; *ret_checks belongs to the caller (free). 0 or -errno. */
int rf_doctor_run(struct rf_check **ret_checks, size_t *ret_n_checks);

/* {"version":1,"kernel":…,"checks":[{"name","state","call"?,"errno"?,"cause"?,"remedy"?},…]} */
json_t *rf_doctor_to_json(const struct rf_check *checks, size_t n_checks);

/*
 * Why bubblewrap could not set a sandbox up: performs the user-namespace, mount and proc checks and
 * fills diag (code, message, hint) with the first cause found; otherwise with bubblewrap's own
 * words.
 */
int rf_doctor_explain_setup(
	const char *bwrap_message, const struct rf_facts *facts, struct rf_diag *diag);
