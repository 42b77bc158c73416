/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * run: one call of Run, then a loop over four sources.
 *
 *	connection   warnings, notices, the start, events, and at last the result or a refusal
 *	signals      before the start INT, TERM, HUP and QUIT abort (the controller sees us hang
 *	             up and kills what there is), later each is handed to the command
 *	events file  written as its reader takes it
 *	terminal     where the command has one of its own: bytes both ways, stop and go on
 *
 * Hanging up is also what our death looks like, so there is one path for both.
 */

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/say.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/request.h"
#include "cli/terminal.h"
#include "wire/interface.h"

/* How long an aborted run may take to be cleared away before we go. */
#define ABORT_WAIT_MS 5000
/* How long a private controller may take to leave after its last word. */
#define LEAVE_WAIT_MS 2000

static const int forwarded[] = {
	SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};

struct run {
	struct rf_run_options options;
	struct rf_origin origin;
	sigset_t original_mask;
	struct rf_connection connection;
	int signal_fd;
	int result_fd;
	int events_fd;
	struct rf_line_writer events;
	struct rf_terminal terminal;
	/* NULL until the command was started. */
	char *id;
	/* Came before the start and do not abort: bit (n - 1). */
	uint64_t held_signals;
	/* 0: not aborted. */
	int abort_signal;
	uint64_t abort_deadline_ns;
	/* The last word; NULL while there is none. */
	json_t *result;
	bool is_over;
	struct rf_diag diag;
};

static void run_clear(struct run *run)
{
	rf_terminal_close(&run->terminal, -1, RF_TERMINAL_KEPT);
	rf_connection_close(&run->connection);
	rf_run_options_clear(&run->options);
	rf_line_writer_clear(&run->events);
	json_decref(run->result);
	free(run->id);
	rf_close(run->signal_fd);
	/* 0 to 2 stay open for messages. */
	if (run->result_fd > STDERR_FILENO)
		rf_close(run->result_fd);
	if (run->events_fd > STDERR_FILENO)
		rf_close(run->events_fd);
}

/* ---- Signals ---- */

static int catch_signals(struct run *run)
{
	sigset_t set;

	sigemptyset(&set);
	/*
	 * What was ignored when we started stays so, here and in the command. A blocked signal is
	 * queued even when it is ignored, so it must not be in the set.
	 */
	for (size_t i = 0; i < RF_ARRAY_SIZE(forwarded); i++) {
		if (!(run->origin.ignored_signals & 1ULL << (forwarded[i] - 1)))
			sigaddset(&set, forwarded[i]);
	}
	if (sigprocmask(SIG_BLOCK, &set, &run->original_mask) < 0)
		return -errno;
	/* A reader of events who goes away must not end us without a result. */
	signal(SIGPIPE, SIG_IGN);
	run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signal_fd < 0 ? -errno : 0;
}

static void forward(struct run *run, int number, bool is_group)
{
	json_t *parameters =
		json_pack("{s:s, s:i, s:b}", "id", run->id, "signal", number, "group", is_group);

	/* A controller that is gone shows as end of file. */
	(void)rf_wire_call_oneway(run->connection.wire, RF_METHOD_SIGNAL, parameters);
}

static bool is_job_control(int number)
{
	return number == SIGTSTP || number == SIGCONT;
}

/* The command stopped inside: so do we, and it goes on when we do. */
static void follow_stop(struct run *run)
{
	run->terminal.has_stopped = false;
	rf_terminal_suspend(&run->terminal);
	rf_cli_stop_self();
	rf_terminal_resume(&run->terminal);
	forward(run, SIGCONT, true);
}

static void abort_run(struct run *run, int number)
{
	/* Again: whoever sends it does not want to wait. */
	if (run->abort_signal) {
		run->is_over = true;
		return;
	}
	run->abort_signal = number;
	run->abort_deadline_ns = rf_monotonic_ns() + ABORT_WAIT_MS * 1000000ULL;
	(void)shutdown(rf_wire_fd(run->connection.wire), SHUT_WR);
}

static void on_signal(struct run *run, int number, bool is_group)
{
	bool aborts =
		number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
	bool has_terminal = run->terminal.is_wanted;

	/* The inner terminal tells whoever is in front there. */
	if (number == SIGWINCH && has_terminal) {
		rf_terminal_resize(&run->terminal);
		return;
	}
	/* The end must not wait for a reader who takes nothing. */
	if (aborts && rf_line_writer_is_full(&run->events))
		rf_line_writer_give_up(&run->events, EAGAIN);
	if (run->id && !run->abort_signal)
		forward(run, number, is_group || (has_terminal && is_job_control(number)));
	else if (aborts)
		abort_run(run, number);
	else if (number != SIGTSTP)
		run->held_signals |= 1ULL << (number - 1);
	/* With a terminal of its own the command's stopping is ours: an editor may refuse to. */
	if (number == SIGTSTP && !(run->id && has_terminal))
		rf_cli_stop_self();
}

static void read_signals(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		on_signal(run, (int)info.ssi_signo, info.ssi_code == SI_KERNEL);
}

/* ---- Messages ---- */

static void on_started(struct run *run, const json_t *started)
{
	const char *id = rf_json_get_text(started, "id");

	if (!id || run->id)
		return;
	run->id = strdup(id);
	if (!run->id)
		return;
	rf_say_detail("sandbox %s started", id);
	for (size_t i = 0; i < RF_ARRAY_SIZE(forwarded); i++) {
		if (run->held_signals & 1ULL << (forwarded[i] - 1))
			forward(run, forwarded[i], false);
	}
	run->held_signals = 0;
}

static int on_event(struct run *run, const json_t *event)
{
	char *line rf_autofree = NULL;

	if (!json_is_object(event))
		return 0;
	line = rf_json_line(event);
	return line ? rf_line_writer_add(&run->events, line) : -ENOMEM;
}

static void end_with(struct run *run, const json_t *result)
{
	if (json_is_object(result))
		run->result = json_incref((json_t *)result);
	run->is_over = true;
}

/* RF_REFUSED once the run is over without having been a run. */
static int on_message(struct run *run, const json_t *message)
{
	const json_t *parameters = json_object_get(message, "parameters");
	const char *warning = rf_json_get_text(parameters, "warning");
	const char *detail = rf_json_get_text(parameters, "detail");
	const char *notice = rf_json_get_text(parameters, "notice");
	int r;

	if (rf_json_get_text(message, "error")) {
		end_with(run, json_object_get(parameters, "result"));
		return rf_refuse_from_error(message, &run->diag);
	}
	if (warning)
		rf_say("%s", warning);
	if (detail)
		rf_say_detail("%s", detail);
	if (notice)
		rf_say("%s", notice);
	on_started(run, json_object_get(parameters, "started"));
	r = on_event(run, json_object_get(parameters, "event"));
	if (!rf_json_get_bool(message, "continues", false))
		end_with(run, json_object_get(parameters, "result"));
	return r;
}

static int read_messages(struct run *run)
{
	int r = 0;

	while (r == 0 && !run->is_over && !rf_line_writer_is_full(&run->events)) {
		json_t *message rf_autojson = NULL;
		int fds[RF_WIRE_FDS_MAX];
		size_t n_fds = 0;

		r = rf_wire_receive(run->connection.wire, &message, fds, &n_fds);
		if (r == RF_WIRE_AGAIN)
			return 0;
		/* End of file and nonsense are one thing: no result will come. */
		if (r != 0) {
			if (r == RF_WIRE_MALFORMED)
				rf_say_error("the controller's answer is malformed");
			run->is_over = true;
			return 0;
		}
		while (n_fds > 0)
			rf_close(fds[--n_fds]);
		r = on_message(run, message);
	}
	return r;
}

/* ---- The loop ---- */

static int poll_timeout(const struct run *run)
{
	uint64_t now = rf_monotonic_ns();

	if (!run->abort_signal)
		return rf_terminal_timeout(&run->terminal);
	return now < run->abort_deadline_ns ? (int)((run->abort_deadline_ns - now) / 1000000) + 1
					    : 0;
}

static int step(struct run *run)
{
	bool takes_more = !rf_line_writer_is_full(&run->events);
	bool has_output = rf_wire_has_output(run->connection.wire) && !run->abort_signal;
	struct pollfd polls[3 + RF_TERMINAL_POLLS] = {
		{.fd = run->signal_fd, .events = POLLIN},
		{.fd = rf_wire_fd(run->connection.wire),
			.events = (short)((takes_more ? POLLIN : 0) | (has_output ? POLLOUT : 0))},
		{.fd = run->events.fd, .events = POLLOUT},
	};
	int n;

	rf_terminal_polls(&run->terminal, polls + 3);

	if (!rf_line_writer_is_waiting(&run->events))
		polls[2].fd = -1;
	/* A peer that hung up would wake us without end while its words cannot be taken in. */
	if (!takes_more && !has_output)
		polls[1].fd = -1;
	n = poll(polls, RF_ARRAY_SIZE(polls), poll_timeout(run));
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0 && run->abort_signal)
		run->is_over = true;
	if (n > 0)
		rf_terminal_take(&run->terminal, polls + 3);
	/* Words before signals: one that follows the start is the command's. */
	if (polls[2].revents)
		rf_line_writer_write(&run->events);
	if (polls[1].revents & POLLOUT)
		(void)rf_wire_flush(run->connection.wire);
	if (polls[1].revents) {
		int r = read_messages(run);

		if (r != 0)
			return r;
	}
	if (polls[0].revents)
		read_signals(run);
	return 0;
}

static int watch(struct run *run)
{
	int r = 0;

	while (r == 0 && !run->is_over) {
		r = step(run);
		/* The launcher's word of it may come before the controller's of the start. */
		if (run->terminal.has_stopped && run->id)
			follow_stop(run);
	}
	return r;
}

/* ---- Start and end ---- */

static int open_events(struct run *run)
{
	int r = 0;

	if (run->options.events)
		r = rf_output_open(run->options.events, "events", &run->events_fd, &run->diag);
	run->events.fd = run->events_fd;
	return r;
}

/*
 * A result that lies where the command may write could be removed and forged: its name is denied to
 * the command, like any path that a policy denies.
 */
static int close_output(struct run *run, int fd)
{
	char link[40];
	char path[PATH_MAX];
	struct stat opened;
	struct stat named;
	ssize_t n;

	if (fd < 0 || fstat(fd, &opened) < 0 || !S_ISREG(opened.st_mode))
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	/* Without a name there is nothing to forge. */
	if (lstat(path, &named) < 0 || named.st_dev != opened.st_dev ||
		named.st_ino != opened.st_ino)
		return 0;
	return rf_strv_add(&run->options.policy.deny, path);
}

static int close_outputs(struct run *run)
{
	int r;

	if (run->options.policy.mode == RF_MODE_FULL_ACCESS)
		return 0;
	r = close_output(run, run->result_fd);
	return r < 0 ? r : close_output(run, run->events_fd);
}

static int call(struct run *run)
{
	json_t *parameters rf_autojson = NULL;
	int fds[3 + RF_PASS_FDS_MAX] = {0, 1, 2};
	size_t n_fds = 3;
	int r = close_outputs(run);

	if (r == 0)
		r = rf_request_make(&run->options, &run->origin, true, &parameters, &run->diag);
	if (r == 0 && run->terminal.is_wanted)
		rf_request_add_terminal(parameters);
	if (r != 0)
		return r;
	for (size_t i = 0; run->terminal.is_wanted && i < 3; i++)
		fds[i] = run->terminal.launcher_end;
	for (size_t i = 0; i < run->options.n_pass_fds; i++)
		fds[n_fds++] = run->options.pass_fds[i];
	r = rf_wire_call(
		run->connection.wire, RF_METHOD_RUN, RF_TAKE(parameters), true, fds, n_fds);
	run->terminal.launcher_end = rf_close(run->terminal.launcher_end);
	if (r == -EMSGSIZE)
		return rf_diag_refuse(&run->diag, "request-too-large",
			"arguments, environment and policy together are larger than %u bytes",
			RF_WIRE_MESSAGE_MAX_BYTES);
	/* Gone already: it may have left a word, and end of file says the rest. */
	return r == -EPIPE ? 0 : r;
}

static int start(struct run *run)
{
	int r = rf_request_check_descriptors(&run->options, &run->diag);

	if (r == 0)
		r = open_events(run);
	if (r == 0)
		r = rf_terminal_prepare(&run->terminal, &run->options.policy, &run->diag);
	if (r == 0)
		r = catch_signals(run);
	if (r == 0)
		r = rf_connect(&run->original_mask, &run->connection, &run->diag);
	return r == 0 ? call(run) : r;
}

/* A result of our own, where no controller made one. */
static json_t *make_result(const struct run *run, const char *stage, const char *reason, int status)
{
	const char *const none[] = {NULL};
	const char *const *argv = (const char *const *)run->options.command;
	json_t *result = json_object();
	json_t *words = json_array();

	for (argv = argv ? argv : none; *argv; argv++)
		json_array_append_new(words, rf_json_text(*argv));
	json_object_set_new(result, "version", json_integer(1));
	json_object_set_new(result, "id", rf_json_text(run->id));
	json_object_set_new(result, "stage", json_string(stage));
	json_object_set_new(result, "reason", json_string(reason));
	json_object_set_new(result, "exit_code", json_integer(status));
	json_object_set_new(result, "signal", json_null());
	json_object_set_new(result, "argv", words);
	if (rf_diag_is_set(&run->diag))
		json_object_set_new(result, "refusal", rf_json_from_diag(&run->diag));
	return result;
}

static void say_lost(struct run *run)
{
	int status;

	run->connection.wire = rf_wire_free(run->connection.wire);
	status = rf_connection_wait_gone(&run->connection, LEAVE_WAIT_MS);
	if (status >= 0 && WIFSIGNALED(status))
		rf_say_error("the controller was killed by signal %d; the run is lost",
			WTERMSIG(status));
	else
		rf_say_error("the controller ended without a result; the run is lost");
}

static json_t *find_result(struct run *run, int r)
{
	const char *stage = strcmp(run->diag.stage, "setup") == 0 ? "setup" : "plan";

	if (r < 0)
		rf_diag_refuse(&run->diag, "client-failed", "%s", strerror(-r));
	if (r != 0)
		rf_say_refusal(&run->diag);
	if (run->result)
		return json_incref(run->result);
	if (r != 0)
		return make_result(run, stage, "setup", RF_STATUS_REFUSED);
	if (run->abort_signal)
		return make_result(run, "setup", "abort", 128 + run->abort_signal);
	say_lost(run);
	return make_result(run, run->id ? "exit" : "setup", "lost", RF_STATUS_REFUSED);
}

static bool ended_by_itself(const struct run *run)
{
	const char *reason = rf_json_get_text(run->result, "reason");

	return reason && (strcmp(reason, "exit") == 0 || strcmp(reason, "signal") == 0);
}

static int finish(struct run *run, int r)
{
	bool is_kept = run->options.policy.keep_background == RF_TRUE;
	json_t *result rf_autojson = NULL;
	const json_t *code;
	json_int_t status;

	/* What the command wrote comes before what we say of it. */
	rf_terminal_close(&run->terminal, run->signal_fd,
		!ended_by_itself(run) ? RF_TERMINAL_CUT
		: is_kept	      ? RF_TERMINAL_KEPT
				      : RF_TERMINAL_ENDED);
	result = find_result(run, r);
	code = json_object_get(result, "exit_code");
	status = json_is_integer(code) ? json_integer_value(code) : RF_STATUS_REFUSED;
	rf_report_result(result, &run->options.policy);
	rf_line_writer_drain(&run->events, run->signal_fd, "events");
	if (run->result_fd >= 0)
		rf_output_result(run->result_fd, result, run->signal_fd);
	/* With the background kept, its controller stays for it. */
	if (is_kept)
		run->connection.controller = 0;
	return status >= 0 && status <= 255 ? (int)status : RF_STATUS_REFUSED;
}

int rf_cli_run(int argc, char **argv)
{
	struct run run rf_cleanup(run_clear) = {
		.signal_fd = -1,
		.result_fd = -1,
		.events_fd = -1,
		.events.fd = -1,
		.terminal = RF_TERMINAL_INIT,
	};
	int r;

	rf_origin_read(&run.origin);
	r = rf_run_options_read(argc, argv, false, &run.options, &run.diag);
	if (r == 0 && run.options.wants_help) {
		rf_run_options_print_help(false);
		return 0;
	}
	rf_say_set_level(run.options.level);
	/* Also for a refusal, which is a result too. */
	if (run.options.result) {
		struct rf_diag diag = {0};
		int opened = rf_output_open(run.options.result, "result", &run.result_fd, &diag);

		if (r == 0 && opened != 0) {
			r = opened;
			run.diag = diag;
		}
	}
	if (r == 0)
		r = start(&run);
	if (r == 0)
		r = watch(&run);
	return finish(&run, r);
}
