/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Records of the kernel (bpf/abi.h) become event lines. Records come from our own programs, yet
 * their strings were chosen by the sandbox, and a ring can be damaged: every length is checked.
 */

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/* A checked record; all pointers borrow from the bytes that were given. */
struct rf_event {
	enum rf_record_kind kind;
	const struct rf_record *header;
	union {
		const struct rf_record_exec *exec;
		const struct rf_record_fork *fork;
		const struct rf_record_exit *exit;
		const struct rf_record_escape *escape;
		const struct rf_record_denial *denial;
		const struct rf_record_file_denial *file_denial;
	};
	/* Of an exec; not NUL-terminated. */
	const char *exe;
	const char *cwd;
	const char *script;
	const char *argv;
};

/*
 * Checks a raw record. 0; -EPROTO when it is short, longer or shorter than it says, of another
 * version, or of a kind that this version does not know.
 */
int rf_event_decode(const void *record, size_t size_bytes, struct rf_event *ret_event);

/*
 * One line of `ringfence events`: version, time, id, event, then what the kind carries
 * (ringfence-events.5). id is the sandbox's name as text. *ret_json is a new reference. 0, -ENOMEM.
 */
int rf_event_to_json(const struct rf_event *event, const char *id, json_t **ret_json);

/* "socket-create", "bpf-lsm", …: what a denial's op and by are called; NULL: unknown. */
const char *rf_event_denial_op(uint32_t op);
const char *rf_event_denial_by(uint32_t by);
