/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Finding a controller: the service where one runs, else a private one of this client's own. */

#include <signal.h>
#include <sys/types.h>

#include "base/diag.h"
#include "wire/varlink.h"

#define RF_SERVICE_SOCKET "/run/ringfence/io.ringfence"

struct rf_connection {
	struct rf_wire *wire;
	/* The private controller, our child; 0 with the service, or when it is not waited for. */
	pid_t controller;
};

/* Hangs up and waits, for two seconds at most, until a private controller has left. */
void rf_connection_close(struct rf_connection *connection);
#define rf_autoconnection rf_cleanup(rf_connection_close)

/*
 * Connects to RINGFENCE_SOCKET when it is set (and refuses when nobody answers there), else to
 * the service where it listens, else starts a private controller: in a session of its own, so that
 * the terminal's signals do not reach it, with our standard error and no other descriptor of ours,
 * with signal_mask (NULL: ours). 0 or RF_REFUSED.
 */
int rf_connect(
	const sigset_t *signal_mask, struct rf_connection *ret_connection, struct rf_diag *diag);

/* A private one even where a service runs. */
int rf_connect_private(
	const sigset_t *signal_mask, struct rf_connection *ret_connection, struct rf_diag *diag);

/* Waits until the private controller has gone, at most this long. Its wait status, or -1. */
int rf_connection_wait_gone(struct rf_connection *connection, int timeout_ms);

/* RINGFENCE_SOCKET or the service's default; borrowed. */
const char *rf_service_socket(void);

/*
 * A connection to a Unix socket without waiting, where the peer must be uid (-1: anybody). A
 * descriptor or -errno; -EPERM: somebody else listens.
 */
int rf_connect_socket(const char *path, long long uid);

/*
 * One call, one answer. 0: *ret_parameters is a new reference. RF_REFUSED: the controller's error,
 * or no answer in time. Descriptors are neither sent nor kept.
 */
int rf_call(struct rf_wire *wire, const char *method, json_t *parameters_stolen, int timeout_ms,
	json_t **ret_parameters, struct rf_diag *diag);

/* Fills diag from an answer that is an error; RF_REFUSED. */
int rf_refuse_from_error(const json_t *message, struct rf_diag *diag);
