/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Reading the two specs of base/launch.h. They come from our own controller, yet every count,
 * length and terminator is checked: a controller that was led astray must not lead us.
 */

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/launch.h"

#define RF_SPEC_MAX_BYTES (96U * 1024 * 1024)

struct rf_stage_item {
	struct rf_stage_step step;
	const char *source;	 /* absolute, outside */
	const char *destination; /* below the stage directory, a leading slash is dropped */
};

struct rf_keeper_plan {
	struct rf_keeper_spec head;
	const char *leaf;
	const char *stage;
	struct rf_stage_item *steps;
	char *data; /* owns every text above */
};

struct rf_spec_path {
	uint32_t value; /* mode of a directory, or enum rf_launch_access */
	const char *path;
};

struct rf_spec_filter {
	uint32_t flags;
	struct sock_fprog program; /* owned */
};

struct rf_spec_pass {
	uint32_t from;
	uint32_t to;
};

/* dev and ino 0: anything, but a mount of its own. */
struct rf_spec_place {
	uint64_t dev;
	uint64_t ino;
	const char *path;
};

struct rf_sandbox {
	struct rf_sandbox_spec head;
	struct rf_spec_path *directories;
	struct rf_spec_path *rules;
	const char *directory;
	const char *program;
	char **argv;
	char **environment;
	struct rf_spec_pass *pass_fds;
	struct rf_spec_filter *filters;
	struct rf_spec_place *places;
	const char *staged; /* where the staged tree goes; "" for none */
	char *data;	    /* owns every text above */
};

/* 0, -EBADMSG (not a spec of this version), -ENOMEM, -EFBIG or -errno of reading. */
int rf_spec_read_keeper(int fd, struct rf_keeper_plan *ret_plan);
int rf_spec_read_sandbox(int fd, struct rf_sandbox *ret_sandbox);

/* Take zeroed and half-read ones. */
void rf_spec_clear_keeper(struct rf_keeper_plan *plan);
void rf_spec_clear_sandbox(struct rf_sandbox *sandbox);

#define rf_autokeeperplan rf_cleanup(rf_spec_clear_keeper)
#define rf_autosandbox rf_cleanup(rf_spec_clear_sandbox)
