/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/request.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cli.h"
#include "wire/text.h"

void rf_origin_read(struct rf_origin *ret_origin)
{
	struct rf_origin origin = {0};

	for (int number = 1; number <= 64; number++) {
		/* The kernel's call: the C library answers EINVAL for the two that it keeps. */
		struct {
			void *handler;
			unsigned long flags;
			void *restorer;
			uint64_t mask;
		} action;

		if (syscall(SYS_rt_sigaction, number, NULL, &action, sizeof(action.mask)) == 0 &&
			action.handler == (void *)SIG_IGN)
			origin.ignored_signals |= 1ULL << (number - 1);
	}
	origin.umask = umask(0);
	umask((mode_t)origin.umask);
	if (getrlimit(RLIMIT_NOFILE, &origin.nofile) < 0)
		origin.nofile = (struct rlimit){1024, 1024};
	*ret_origin = origin;
}

static json_t *pass_to_json(const struct rf_run_options *options)
{
	json_t *pass rf_autojson = json_array();

	for (size_t i = 0; i < options->n_pass_fds; i++) {
		json_t *entry = json_pack(
			"{s:i, s:i}", "index", (int)i + 3, "number", options->pass_fds[i]);

		if (json_array_append_new(pass, entry) < 0)
			return NULL;
	}
	return RF_TAKE(pass);
}

static json_int_t limit_to_int(rlim_t limit)
{
	return limit > INT64_MAX ? INT64_MAX : (json_int_t)limit;
}

static int make(const struct rf_run_options *options, const struct rf_origin *origin,
	const char *cwd, json_t **ret_parameters)
{
	json_t *parameters rf_autojson = json_object();
	int r = 0;

	r |= json_object_set_new(parameters, "policy", rf_policy_to_json(&options->policy));
	r |= json_object_set_new(
		parameters, "argv", rf_wire_texts((const char *const *)options->command));
	r |= json_object_set_new(
		parameters, "environment", rf_wire_texts((const char *const *)environ));
	r |= json_object_set_new(parameters, "cwd", rf_wire_text(cwd));
	r |= json_object_set_new(parameters, "pass", pass_to_json(options));
	r |= json_object_set_new(parameters, "umask", json_integer(origin->umask));
	r |= json_object_set_new(
		parameters, "ignored_signals", rf_json_id(origin->ignored_signals));
	r |= json_object_set_new(parameters, "nofile",
		json_pack("[I, I]", limit_to_int(origin->nofile.rlim_cur),
			limit_to_int(origin->nofile.rlim_max)));
	if (r != 0)
		return -ENOMEM;
	*ret_parameters = RF_TAKE(parameters);
	return 0;
}

/* A stream that was closed stays closed for the command too. */
static json_t *stdio_to_json(void)
{
	json_t *array = json_array();

	for (int fd = 0; fd <= 2; fd++)
		json_array_append_new(array,
			rf_cli_closed_streams() & (1U << fd) ? json_null() : json_integer(fd));
	return array;
}

int rf_request_make(const struct rf_run_options *options, const struct rf_origin *origin,
	bool has_descriptors, json_t **ret_parameters, struct rf_diag *diag)
{
	char *cwd rf_autofree = getcwd(NULL, 0);
	json_t *parameters rf_autojson = NULL;
	int r;

	if (!cwd) {
		r = rf_diag_refuse(diag, "working-directory",
			"cannot tell the working directory: %s", strerror(errno));
		rf_diag_hint(diag, "change to a directory that exists");
		return r;
	}
	r = make(options, origin, cwd, &parameters);
	if (r < 0)
		return r;
	if (has_descriptors) {
		json_object_set_new(parameters, "stdio", stdio_to_json());
		json_object_set_new(parameters, "watch", json_boolean(options->events != NULL));
	}
	*ret_parameters = RF_TAKE(parameters);
	return 0;
}

void rf_request_add_terminal(json_t *parameters)
{
	/* The three are one socket, whatever the caller had. */
	json_object_set_new(parameters, "stdio", json_pack("[i, i, i]", 0, 1, 2));
	json_object_set_new(parameters, "terminal", json_true());
}

static int check_descriptor(int fd, struct rf_diag *diag)
{
	char path[40];
	char target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return rf_diag_refuse(diag, "descriptor-unknown",
			"cannot tell what descriptor %d is: %s", fd, strerror(errno));
	target[n] = '\0';
	if (strcmp(target, "anon_inode:[io_uring]") != 0)
		return 0;
	return rf_diag_refuse(diag, "ring-descriptor",
		"descriptor %d is an io_uring instance, which would act with the caller's rights",
		fd);
}

int rf_request_check_descriptors(const struct rf_run_options *options, struct rf_diag *diag)
{
	for (int fd = 0; fd <= 2; fd++) {
		int r = check_descriptor(fd, diag);

		if (r != 0)
			return r;
	}
	for (size_t i = 0; i < options->n_pass_fds; i++) {
		int r = check_descriptor(options->pass_fds[i], diag);

		if (r != 0)
			return r;
	}
	return 0;
}
