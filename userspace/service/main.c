/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * ringfenced --private FD: the controller of one client, which started it over a socket pair. It
 * ends with its client, or with the last sandbox that the client let live on.
 */

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/say.h"
#include "base/units.h"
#include "fs/ceilings.h"
#include "service/service.h"

#define STATUS_REFUSED 125

const char *argp_program_version = "ringfenced " RF_VERSION;

struct options {
	int private_fd;
	struct rf_fs_options file_ceilings;
};

static const struct argp_option option_table[] = {
	{"private", 'p', "FD", 0, "serve the client at the other end of this socket, then end", 0},
	{"file-ceiling", 'F', "NAME=VALUE", 0,
		"what a batch of files may raise NAME to (content_bytes, entries, ...); repeatable",
		0},
	{0},
};

/* false: no such ceiling, or no value for it. */
static bool set_ceiling(struct rf_fs_options *options, const char *text)
{
	const char *equals = strchr(text, '=');
	char *name rf_autofree = equals ? strndup(text, (size_t)(equals - text)) : NULL;
	const struct rf_fs_ceiling *ceiling = name ? rf_fs_ceiling_find(name) : NULL;
	uint64_t value;

	if (!ceiling || !rf_parse_size(equals + 1, &value) || value == 0 || value > ceiling->max)
		return false;
	rf_fs_ceiling_set(ceiling, options, value);
	return true;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;
	uint64_t value;

	switch (key) {
	case 'p':
		if (!rf_parse_u64(text, &value) || value < 3 || value > 65535)
			argp_error(state,
				"--private takes a descriptor number from 3 on, not \"%s\"", text);
		options->private_fd = (int)value;
		return 0;
	case 'F':
		if (!set_ceiling(&options->file_ceilings, text))
			argp_error(state, "--file-ceiling: \"%s\" is no ceiling and value", text);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument \"%s\"", text);
		return EINVAL;
	case ARGP_KEY_END:
		if (options->private_fd < 0)
			argp_error(state, "--private FD is needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int on_signal(
	sd_event_source *source, const struct signalfd_siginfo *info rf_unused, void *userdata)
{
	struct rf_service *service = userdata;

	/* An orderly stop of the controller ends its sandboxes; the loop ends with the last of
	 * them. */
	service->owner = NULL;
	for (struct rf_sandbox *at = service->controller ? service->controller->sandboxes : NULL;
		at; at = at->next)
		rf_sandbox_stop(at, RF_REASON_ABORT, at->plan->grace_ms);
	rf_service_settle(service);
	sd_event_source_set_enabled(source, SD_EVENT_ON);
	return 0;
}

static int add_signals(struct rf_service *service)
{
	sigset_t mask;
	int r;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	r = sd_event_add_signal(service->event, NULL, SIGTERM, on_signal, service);
	if (r >= 0)
		r = sd_event_add_signal(service->event, NULL, SIGINT, on_signal, service);
	return r;
}

static int free_ended(sd_event_source *source, void *userdata)
{
	struct rf_service *service = userdata;
	struct rf_sandbox **at = &service->controller->sandboxes;

	sd_event_source_disable_unref(source);
	while (*at) {
		struct rf_sandbox *sandbox = *at;

		if (sandbox->state == RF_SANDBOX_ENDED)
			rf_sandbox_free(sandbox); /* takes itself off the list */
		else
			at = &sandbox->next;
	}
	rf_service_settle(service);
	return 0;
}

/* Freed from the loop, not from below a callback of the sandbox itself. */
static void on_ended(struct rf_sandbox *sandbox, json_t *result, void *userdata)
{
	struct rf_service *service = userdata;
	sd_event_source *source = NULL;

	rf_methods_tell_end(service, sandbox->id, result);
	(void)sd_event_add_defer(service->event, &source, free_ended, service);
}

static int serve(struct rf_service *service, int private_fd)
{
	struct rf_diag diag = {0};
	int r = sd_event_default(&service->event);

	if (r >= 0)
		r = add_signals(service);
	if (r < 0)
		return r;
	r = rf_controller_new(service->event, &service->controller, &diag);
	if (r < 0)
		return r;
	/* A refusal is the client's to tell: it is the answer to every call. */
	if (r == RF_REFUSED)
		service->refusal = diag;
	if (service->controller) {
		service->controller->ended = on_ended;
		service->controller->userdata = service;
	}
	r = rf_peer_new(service, private_fd, &service->owner);
	if (r == 0)
		r = sd_event_loop(service->event);
	return r;
}

static void service_clear(struct rf_service *service)
{
	rf_service_unlisten(service);
	service->owner = NULL;
	rf_controller_free(service->controller);
	while (service->peers)
		rf_peer_free(service->peers);
	sd_event_unref(service->event);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {option_table, parse_option, NULL,
		"The controller of Ringfence: see ringfenced(8).", NULL, NULL, NULL};
	struct options options = {.private_fd = -1};
	struct rf_service service rf_cleanup(service_clear) = {.listen_fd = -1};
	int r;

	/* Started through a descriptor, older kernels would name it by the descriptor's number. */
	(void)prctl(PR_SET_NAME, "ringfenced");
	argp_err_exit_status = STATUS_REFUSED;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (fcntl(options.private_fd, F_SETFD, FD_CLOEXEC) < 0) {
		rf_say_error("descriptor %d: %s", options.private_fd, strerror(errno));
		return STATUS_REFUSED;
	}
	service.file_ceilings = options.file_ceilings;
	r = serve(&service, options.private_fd);
	if (r < 0)
		rf_say_error("controller: %s", strerror(-r));
	return r == 0 ? 0 : STATUS_REFUSED;
}
