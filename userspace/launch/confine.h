/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the launcher gives up. Each returns 0, or RF_REFUSED with *ret_failure filled. The order
 * is that of init.c: bounding set, user, directories, capabilities, Landlock, seccomp, self-test.
 */

#include "base/attr.h"
#include "launch/message.h"
#include "launch/spec.h"

/* The bounding set becomes empty. Needs CAP_SETPCAP only where something is left in it. */
int rf_confine_bounding_set(struct rf_launch_message *ret_failure);

/* No supplementary groups, then gid and uid, real, effective and saved. */
int rf_confine_user(uint32_t uid, uint32_t gid, struct rf_launch_message *ret_failure);

/* no_new_privs, set and read back. */
int rf_confine_privileges(struct rf_launch_message *ret_failure);

/* Permitted, effective, inheritable and ambient sets become empty; all five are read back. */
int rf_confine_capabilities(struct rf_launch_message *ret_failure);

/* Filters in the order of the spec. They bind the launcher itself. One may hand calls to the
 * launcher (launch/listen.h): its descriptor goes to *ret_listener_fd, which stays -1 else. */
int rf_confine_filters(const struct rf_sandbox *sandbox, int *ret_listener_fd,
	struct rf_launch_message *ret_failure);

/* One ruleset over every filesystem right that the running kernel knows. */
int rf_landlock_apply(const struct rf_sandbox *sandbox, unsigned int *ret_abi,
	struct rf_launch_message *ret_failure);

/* Tries what the rules just applied must refuse. */
int rf_landlock_self_test(const struct rf_sandbox *sandbox, struct rf_launch_message *ret_failure);
