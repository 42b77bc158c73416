/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * io.ringfence, in names. The interface description (varlink) is
 *userspace/wire/io.ringfence.varlink.
 *
 * Run (more): parameters
 *	{ "policy": object as in a policy file,
 *	  "argv": [text…], "environment": ["NAME=VALUE"…], "cwd": text,
 *	  "stdio": [i, j, k],                 indices into the message's descriptors, null: closed
 *	  "pass": [{"index": i, "number": n}…],
 *	  "umask": int, "ignored_signals": text (decimal, bit n-1), "nofile": [soft, hard],
 *	  "watch": bool                       events wanted }
 * replies, each with "continues" but the last:
 *	{ "warning": text } | { "detail": text } | { "started": {"id": text} } | { "event": object }
 *	{ "notice": text }
 *	{ "result": object }                the last one
 * A refusal is the error io.ringfence.Refused { "refusal": object, "result": object }.
 *
 * Wrap (more): bubblewrap's own command line, executed by the client's own child. Parameters
 *	{ "policy", "argv", "watch" as for Run }
 * the first reply is
 *	{ "prepared": {"id": text, "leaf": bool, "filters": int} }
 * with the leaf's directory, where there is one, and a descriptor for each filter. The client makes
 * the child in the leaf, where it waits, and calls, both on the same connection and one-way:
 * WrapStart: {} with the child's pidfd    "started" is the answer: the child may go on
 * WrapEnd: { "status": int }              the wait status of the child; the result is the answer
 *
 * Plan: as Run without descriptors -> { "plan": object, "warnings": [text…] }
 * Doctor: {} -> { "doctor": object }
 * List: {} -> { "sandboxes": [{"id","argv","started","uid","state","pid"}…] }
 * Kill: { "id", "grace_ms"? } -> { "result": object }; Freeze, Thaw: { "id" } -> {}
 * Signal: { "id", "signal": int, "group": bool } -> {}   the owner's client alone
 * Sweep: {} -> { "counts": {reason: n…} }
 * FileBatch: { "root": text, "requests": [object as in fs/request.h…], "options"?: {"engine",
 *	"content_bytes", "request_bytes", "entries", "deadline_ms"} }
 *	-> { "engine": text, "results": [object…] }; content_fd is an index into the descriptors
 */

#define RF_INTERFACE "io.ringfence"
#define RF_METHOD_RUN RF_INTERFACE ".Run"
#define RF_METHOD_PLAN RF_INTERFACE ".Plan"
#define RF_METHOD_WRAP RF_INTERFACE ".Wrap"
#define RF_METHOD_WRAP_START RF_INTERFACE ".WrapStart"
#define RF_METHOD_WRAP_END RF_INTERFACE ".WrapEnd"
#define RF_METHOD_LIST RF_INTERFACE ".List"
#define RF_METHOD_KILL RF_INTERFACE ".Kill"
#define RF_METHOD_FILE_BATCH RF_INTERFACE ".FileBatch"
#define RF_METHOD_FREEZE RF_INTERFACE ".Freeze"
#define RF_METHOD_THAW RF_INTERFACE ".Thaw"
#define RF_METHOD_SIGNAL RF_INTERFACE ".Signal"
#define RF_METHOD_DOCTOR RF_INTERFACE ".Doctor"
#define RF_METHOD_SWEEP RF_INTERFACE ".Sweep"

#define RF_ERROR_REFUSED RF_INTERFACE ".Refused"
#define RF_ERROR_NOT_FOUND RF_INTERFACE ".NotFound"
#define RF_ERROR_NOT_PERMITTED RF_INTERFACE ".NotPermitted"
#define RF_ERROR_LIMIT RF_INTERFACE ".Limit"
#define RF_ERROR_BUSY RF_INTERFACE ".Busy"
#define RF_ERROR_INVALID_PARAMETER "org.varlink.service.InvalidParameter"
#define RF_ERROR_METHOD_NOT_FOUND "org.varlink.service.MethodNotFound"

/* Below the runtime directory: sockets of private controllers, NAME.sock, mode 0600. */
#define RF_PRIVATE_SOCKETS "private"
