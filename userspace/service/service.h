/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ringfenced: peers, calls, and the sandboxes that they own. One thread, one event loop.
 *
 *	main.c      argv, loop
 *	listen.c    the private controller's socket, where ps and kill find it
 *	peer.c      one connection: messages in, calls dispatched, end of file
 *	methods.c   the short calls
 *	run.c       Run and Plan
 *	wrap.c      Wrap: bubblewrap as the client's own child
 *	files.c     FileBatch
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "fs/fs.h"
#include "sandbox/controller.h"
#include "sandbox/sandbox.h"
#include "wire/interface.h"
#include "wire/varlink.h"

struct rf_service {
	sd_event *event;
	struct rf_controller *controller; /* NULL: it could not be made, refusal says why */
	struct rf_diag refusal;
	/* What a caller of FileBatch may raise its ceilings to; 0: what the library allows. */
	struct rf_fs_options file_ceilings;
	struct rf_peer *peers;
	/* The private controller's client; NULL once it is gone. */
	struct rf_peer *owner;
	int listen_fd;
	char *listen_path;
	sd_event_source *listen_source;
};

struct rf_peer {
	struct rf_peer *next;
	struct rf_service *service;
	struct rf_wire *wire;
	sd_event_source *source;
	sd_event_source *flush_source;
	uid_t uid;
	/* -1: could not be had. */
	int pidfd;
	/* What it runs; its stop is the peer's end. */
	struct rf_sandbox *sandbox;
	/* Waits for the end of a sandbox that it killed. */
	char *awaited_id;
	/* The batch of files that runs for it. */
	struct rf_files *files;
	bool is_closing;
	/* Events that were not queued, since the peer reads too slowly. */
	uint64_t n_dropped;
};

/* One call's parts; borrowed. */
struct rf_call {
	const char *method;
	const json_t *parameters;
	bool is_oneway;
	bool is_more;
	int *fds;
	size_t n_fds;
};

/* listen.c: 0 or -errno. */
int rf_service_listen(struct rf_service *service);
void rf_service_unlisten(struct rf_service *service);
/* Removes the sockets of controllers that are gone. */
void rf_service_sweep_sockets(const struct rf_service *service);

/* peer.c: takes the socket. 0 or -errno. */
int rf_peer_new(struct rf_service *service, int socket, struct rf_peer **ret_peer);
struct rf_peer *rf_peer_free(struct rf_peer *peer);
/* Queues a reply and arranges for it to be written. */
void rf_peer_reply(struct rf_peer *peer, json_t *parameters_stolen, bool continues);
/* One that continues, with descriptors (borrowed). */
void rf_peer_reply_fds(
	struct rf_peer *peer, json_t *parameters_stolen, const int *fds, size_t n_fds);
/* The last reply of a run: one that is too large for a message goes without its process tree. */
void rf_peer_result(struct rf_peer *peer, json_t *result);
void rf_peer_error(struct rf_peer *peer, const char *error, json_t *parameters_stolen);
/* io.ringfence.Refused with the refusal and a result. */
void rf_peer_refuse(struct rf_peer *peer, const struct rf_diag *diag, json_t *result_stolen);
/* Ends the loop when neither owner nor sandbox is left. */
void rf_service_settle(struct rf_service *service);

/* methods.c: false when the method is none of them. */
bool rf_methods_dispatch(struct rf_peer *peer, struct rf_call *call);
/* The end of a sandbox, for peers that wait for it. */
void rf_methods_tell_end(struct rf_service *service, const char *id, json_t *result);

/* files.c */
void rf_method_file_batch(struct rf_peer *peer, struct rf_call *call);
/* The peer goes: its batch ends. */
void rf_files_cancel(struct rf_peer *peer);

/* run.c */
void rf_method_run(struct rf_peer *peer, struct rf_call *call);
void rf_method_plan(struct rf_peer *peer, struct rf_call *call);
/* Tells the peer about its sandbox. */
struct rf_sandbox_watcher rf_run_watcher(struct rf_peer *peer, bool wants_events);
/* Warnings of the plan, and what the user should know about this controller. */
void rf_run_tell_warnings(struct rf_peer *peer, const struct rf_plan *plan);
/* The refusal, with a result; an errno (r < 0) that nobody expected is one too. plan may be NULL.
 */
void rf_run_refuse(struct rf_peer *peer, int r, struct rf_diag *diag, const char *const *argv,
	const struct rf_plan *plan);
/* A list of texts of the parameters. 0, RF_REFUSED or -ENOMEM. */
int rf_run_read_texts(
	const json_t *parameters, const char *name, struct rf_strv *strv, struct rf_diag *diag);

/* wrap.c */
void rf_method_wrap(struct rf_peer *peer, struct rf_call *call);
void rf_method_wrap_start(struct rf_peer *peer, struct rf_call *call);
void rf_method_wrap_end(struct rf_peer *peer, struct rf_call *call);
