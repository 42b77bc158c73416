/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One connection. Calls are answered in order; Run streams until its sandbox ends, and one-way
 * calls (Signal) may come meanwhile. The end of the connection that runs a sandbox is the end of
 * that sandbox.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "service/service.h"
#include "wire/service.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static int on_flush(
	sd_event_source *source, int fd rf_unused, uint32_t revents rf_unused, void *userdata)
{
	struct rf_peer *peer = userdata;
	int r = rf_wire_flush(peer->wire);

	if (r < 0 || !rf_wire_has_output(peer->wire))
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return 0;
}

/* What could not be written at once is written when the peer reads. */
static void arrange_flush(struct rf_peer *peer)
{
	if (!rf_wire_has_output(peer->wire))
		return;
	if (peer->flush_source)
		(void)sd_event_source_set_enabled(peer->flush_source, SD_EVENT_ON);
}

void rf_peer_reply(struct rf_peer *peer, json_t *parameters_stolen, bool continues)
{
	(void)rf_wire_reply(peer->wire, parameters_stolen, continues);
	arrange_flush(peer);
}

static int send_result(struct rf_peer *peer, json_t *result)
{
	json_t *refusal = json_object_get(result, "refusal");
	json_t *parameters = json_object();

	json_object_set(parameters, "result", result);
	if (!refusal)
		return rf_wire_reply(peer->wire, parameters, false);
	json_object_set(parameters, "refusal", refusal);
	return rf_wire_error(peer->wire, RF_ERROR_REFUSED, parameters);
}

/*
 * The command chooses how large its tree, its denials and its argument list are. What does not fit
 * is left out by name, never the result itself: a client without one would wait for ever.
 */
void rf_peer_result(struct rf_peer *peer, json_t *result)
{
	static const char *const large[] = {"tree", "denials", "argv"};
	int r = send_result(peer, result);

	for (size_t i = 0; r == -EMSGSIZE && i < RF_ARRAY_SIZE(large); i++) {
		json_object_set_new(result, large[i], json_null());
		json_object_set_new(result, "complete", json_false());
		r = send_result(peer, result);
	}
	if (r < 0)
		peer->is_closing = true;
	arrange_flush(peer);
}

void rf_peer_reply_fds(
	struct rf_peer *peer, json_t *parameters_stolen, const int *fds, size_t n_fds)
{
	json_t *message rf_autojson =
		json_pack("{s:b, s:o}", "continues", 1, "parameters", parameters_stolen);

	if (!message || rf_wire_send(peer->wire, message, fds, n_fds) < 0)
		peer->is_closing = true;
	arrange_flush(peer);
}

void rf_peer_error(struct rf_peer *peer, const char *error, json_t *parameters_stolen)
{
	(void)rf_wire_error(peer->wire, error, parameters_stolen);
	arrange_flush(peer);
}

void rf_peer_refuse(struct rf_peer *peer, const struct rf_diag *diag, json_t *result_stolen)
{
	json_t *parameters = json_object();

	json_object_set_new(parameters, "refusal", rf_json_from_diag(diag));
	if (result_stolen)
		json_object_set_new(parameters, "result", result_stolen);
	rf_peer_error(peer, RF_ERROR_REFUSED, parameters);
}

static void dispatch(struct rf_peer *peer, struct rf_call *call)
{
	json_t *parameters;

	if (rf_wire_service_answer(peer->wire, call->method, call->parameters) == 0) {
		arrange_flush(peer);
		return;
	}
	if (!peer->service->controller) {
		rf_peer_refuse(peer, &peer->service->refusal,
			rf_refusal_result(&peer->service->refusal, NULL, NULL, NULL));
		return;
	}
	if (strcmp(call->method, RF_METHOD_RUN) == 0) {
		rf_method_run(peer, call);
		return;
	}
	if (strcmp(call->method, RF_METHOD_PLAN) == 0) {
		rf_method_plan(peer, call);
		return;
	}
	if (rf_methods_dispatch(peer, call))
		return;
	parameters = json_pack("{s:s}", "method", call->method);
	rf_peer_error(peer, RF_ERROR_METHOD_NOT_FOUND, parameters);
}

static void on_message(struct rf_peer *peer, const json_t *message, int *fds, size_t n_fds)
{
	struct rf_call call = {
		.method = rf_json_get_text(message, "method"),
		.parameters = json_object_get(message, "parameters"),
		.is_oneway = rf_json_get_bool(message, "oneway", false),
		.is_more = rf_json_get_bool(message, "more", false),
		.fds = fds,
		.n_fds = n_fds,
	};

	if (!call.method)
		peer->is_closing = true;
	else
		dispatch(peer, &call);
	for (size_t i = 0; i < n_fds; i++)
		rf_close(fds[i]);
}

static void on_end(struct rf_peer *peer)
{
	struct rf_service *service = peer->service;

	/* Nobody waits for it any more: kill, at once. */
	if (peer->sandbox) {
		peer->sandbox->watcher = (struct rf_sandbox_watcher){0};
		rf_sandbox_stop(peer->sandbox, RF_REASON_ABORT, 0);
		rf_sandbox_kill(peer->sandbox);
	}
	rf_peer_free(peer);
	rf_service_settle(service);
}

static int on_readable(sd_event_source *source rf_unused, int fd rf_unused,
	uint32_t revents rf_unused, void *userdata)
{
	struct rf_peer *peer = userdata;

	while (!peer->is_closing) {
		json_t *message rf_autojson = NULL;
		int fds[RF_WIRE_FDS_MAX];
		size_t n_fds = 0;
		int r = rf_wire_receive(peer->wire, &message, fds, &n_fds);

		if (r == RF_WIRE_AGAIN)
			return 0;
		if (r != 0)
			peer->is_closing = true;
		else
			on_message(peer, message, fds, n_fds);
	}
	on_end(peer);
	return 0;
}

/* Who it is: by the kernel's word, taken when it connected. */
static int identify(struct rf_peer *peer, int socket)
{
	struct ucred credentials;
	socklen_t size = sizeof(credentials);
	socklen_t fd_size = sizeof(peer->pidfd);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return -errno;
	peer->uid = credentials.uid;
	/* Missing before 6.5; then the pid is opened, and an ended peer shows as end of file. */
	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &peer->pidfd, &fd_size) < 0) {
		peer->pidfd = pidfd_open(credentials.pid, 0);
		return 0;
	}
	(void)fcntl(peer->pidfd, F_SETFD, FD_CLOEXEC);
	return 0;
}

int rf_peer_new(struct rf_service *service, int socket, struct rf_peer **ret_peer)
{
	struct rf_peer *peer = calloc(1, sizeof(*peer));
	int copy;
	int r;

	if (!peer) {
		rf_close(socket);
		return -ENOMEM;
	}
	peer->service = service;
	peer->pidfd = -1;
	r = identify(peer, socket);
	if (r == 0 && peer->uid != 0 && peer->uid != geteuid())
		r = -EPERM;
	if (r == 0)
		r = rf_wire_new(socket, &peer->wire);
	if (r < 0) {
		rf_close(socket);
		rf_close(peer->pidfd);
		free(peer);
		return r;
	}
	/* epoll knows a descriptor once: reading and writing have one each. */
	copy = fcntl(socket, F_DUPFD_CLOEXEC, 3);
	r = sd_event_add_io(
		service->event, &peer->source, rf_wire_fd(peer->wire), EPOLLIN, on_readable, peer);
	if (r >= 0)
		r = copy < 0 ? -EMFILE
			     : sd_event_add_io(service->event, &peer->flush_source, copy, EPOLLOUT,
				       on_flush, peer);
	if (r >= 0)
		r = sd_event_source_set_io_fd_own(peer->flush_source, 1);
	else
		rf_close(copy);
	if (r >= 0)
		r = sd_event_source_set_enabled(peer->flush_source, SD_EVENT_OFF);
	peer->next = service->peers;
	service->peers = peer;
	if (r < 0) {
		rf_peer_free(peer);
		return r;
	}
	*ret_peer = peer;
	return 0;
}

struct rf_peer *rf_peer_free(struct rf_peer *peer)
{
	struct rf_peer **at;

	if (!peer)
		return NULL;
	for (at = &peer->service->peers; *at && *at != peer; at = &(*at)->next)
		;
	if (*at)
		*at = peer->next;
	if (peer->service->owner == peer)
		peer->service->owner = NULL;
	rf_files_cancel(peer);
	sd_event_source_disable_unref(peer->source);
	sd_event_source_disable_unref(peer->flush_source);
	rf_wire_free(peer->wire);
	rf_close(peer->pidfd);
	free(peer->awaited_id);
	free(peer);
	return NULL;
}

void rf_service_settle(struct rf_service *service)
{
	if (!service->owner && (!service->controller || !service->controller->sandboxes))
		(void)sd_event_exit(service->event, 0);
}
