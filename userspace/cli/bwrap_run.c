/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One call of Wrap, then a loop over three sources.
 *
 *	connection   prepared: the child is made in its leaf and shown to the controller; started:
 *it goes on; events; the result signals      CHLD: the child is reaped and the controller told how
 *it ended; what the terminal sends reaches the child by itself, since it is of our process group;
 *all else is handed to it events file  written as its reader takes it
 *
 * Hanging up kills what is left, and so does our death: the keeper watches both.
 */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/say.h"
#include "cli/bwrap.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "wire/interface.h"
#include "wire/text.h"

static const int handed_on[] = {
	SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP, SIGCONT};

struct session {
	struct rf_bwrap_run *run;
	struct rf_connection connection;
	int signal_fd;
	int result_fd;
	int events_fd;
	struct rf_line_writer events;
	bool is_over;
};

static void session_clear(struct session *session)
{
	rf_connection_close(&session->connection);
	rf_line_writer_clear(&session->events);
	rf_close(session->signal_fd);
	if (session->result_fd > STDERR_FILENO)
		rf_close(session->result_fd);
	if (session->events_fd > STDERR_FILENO)
		rf_close(session->events_fd);
}

/* ---- Signals -------------------------------------------------------------------------------- */

static int catch_signals(struct session *session)
{
	const struct rf_bwrap_child *child = &session->run->child;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < RF_ARRAY_SIZE(handed_on); i++) {
		struct sigaction action;

		/* Ignored or blocked, it does nothing to bubblewrap either. */
		if (sigaction(handed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN &&
			!sigismember(&child->mask, handed_on[i]))
			sigaddset(&set, handed_on[i]);
	}
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	/* Ignored, it would take the child's status away. */
	signal(SIGCHLD, SIG_DFL);
	session->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return session->signal_fd < 0 ? -errno : 0;
}

static void tell_end(struct session *session)
{
	/* A controller that is gone shows as end of file. */
	(void)rf_wire_call_oneway(session->connection.wire, RF_METHOD_WRAP_END,
		json_pack("{s:i}", "status", session->run->status));
}

static void reap(struct session *session)
{
	struct rf_bwrap_run *run = session->run;

	if (run->child.pid <= 0 || run->has_status ||
		waitpid(run->child.pid, &run->status, WNOHANG) != run->child.pid)
		return;
	run->has_status = true;
	tell_end(session);
}

static bool is_ending(int number)
{
	return number != SIGWINCH && number != SIGTSTP && number != SIGCONT;
}

static void on_signal(struct session *session, int number, bool is_of_terminal)
{
	struct rf_bwrap_run *run = session->run;

	if (number == SIGCHLD) {
		reap(session);
		return;
	}
	if (is_ending(number) && rf_line_writer_is_full(&session->events))
		rf_line_writer_give_up(&session->events, EAGAIN);
	if (run->child.pid > 0 && !run->has_status) {
		if (!is_of_terminal)
			(void)pidfd_send_signal(run->child.pidfd, number, NULL, 0);
	} else if (is_ending(number)) {
		/* Nobody there yet, or nobody any more: whoever sends it does not want to wait. */
		run->abort_signal = run->has_status ? 0 : number;
		session->is_over = true;
	}
	if (number == SIGTSTP)
		rf_cli_stop_self();
}

static void read_signals(struct session *session)
{
	struct signalfd_siginfo info;

	while (read(session->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		on_signal(session, (int)info.ssi_signo, info.ssi_code == SI_KERNEL);
}

/* ---- Messages ------------------------------------------------------------------------------- */

static int show_child(struct session *session)
{
	json_t *message rf_autojson = json_pack(
		"{s:s, s:b, s:{}}", "method", RF_METHOD_WRAP_START, "oneway", 1, "parameters");
	int r = message ? rf_wire_send(
				  session->connection.wire, message, &session->run->child.pidfd, 1)
			: -ENOMEM;

	return r == -EPIPE ? 0 : r;
}

static int make_child(struct session *session, int leaf)
{
	const int kept[] = {rf_wire_fd(session->connection.wire), session->signal_fd,
		session->result_fd, session->events_fd, leaf};
	int r = rf_bwrap_child_make(&session->run->child, leaf, kept, RF_ARRAY_SIZE(kept));

	if (r < 0)
		return rf_diag_refuse(&session->run->diag, "setup-failed",
			"cannot make a process%s: %s", leaf < 0 ? "" : " in the sandbox's cgroup",
			strerror(-r));
	return show_child(session);
}

/* Takes the descriptors in every case. */
static int on_prepared(struct session *session, const json_t *prepared, int *fds, size_t n_fds)
{
	struct rf_bwrap_child *child = &session->run->child;
	bool has_leaf = rf_json_get_bool(prepared, "leaf", false);
	size_t n_filters = rf_json_get_u64(prepared, "filters", 0);
	int leaf rf_autoclose = -1;

	if (child->pid > 0 || n_filters > RF_BWRAP_FILTERS_MAX || n_fds != n_filters + has_leaf) {
		while (n_fds > 0)
			rf_close(fds[--n_fds]);
		return rf_diag_refuse(&session->run->diag, "controller-malformed",
			"the controller's answer is malformed");
	}
	leaf = has_leaf ? fds[0] : -1;
	memcpy(child->filters, fds + has_leaf, n_filters * sizeof(*fds));
	child->n_filters = n_filters;
	if (n_filters > 0 && child->line->has_single_filter)
		return rf_diag_refuse(&session->run->diag, "contradiction",
			"--rf-net none needs a filter of its own, which bubblewrap does not take "
			"beside --seccomp; give it that filter by --add-seccomp-fd");
	return make_child(session, leaf);
}

static int on_event(struct session *session, const json_t *event)
{
	char *line rf_autofree = json_is_object(event) ? rf_json_line(event) : NULL;

	return line ? rf_line_writer_add(&session->events, line) : 0;
}

static void end_with(struct session *session, const json_t *result)
{
	if (json_is_object(result))
		session->run->result = json_incref((json_t *)result);
	session->is_over = true;
}

/* What is said is not bubblewrap's output: with --rf-verbose alone. */
static int on_parameters(struct session *session, const json_t *parameters)
{
	const char *warning = rf_json_get_text(parameters, "warning");
	const json_t *started = json_object_get(parameters, "started");

	if (warning)
		rf_say_detail("%s", warning);
	if (started) {
		rf_say_detail("sandbox %s started", rf_json_get_text(started, "id"));
		rf_bwrap_child_go(&session->run->child);
	}
	return on_event(session, json_object_get(parameters, "event"));
}

static int on_message(struct session *session, const json_t *message, int *fds, size_t n_fds)
{
	const json_t *parameters = json_object_get(message, "parameters");
	const json_t *prepared = json_object_get(parameters, "prepared");
	int r;

	if (prepared)
		return on_prepared(session, prepared, fds, n_fds);
	while (n_fds > 0)
		rf_close(fds[--n_fds]);
	if (rf_json_get_text(message, "error")) {
		end_with(session, json_object_get(parameters, "result"));
		return rf_refuse_from_error(message, &session->run->diag);
	}
	r = on_parameters(session, parameters);
	if (!rf_json_get_bool(message, "continues", false))
		end_with(session, json_object_get(parameters, "result"));
	return r;
}

static int read_messages(struct session *session)
{
	int r = 0;

	while (r == 0 && !session->is_over && !rf_line_writer_is_full(&session->events)) {
		json_t *message rf_autojson = NULL;
		int fds[RF_WIRE_FDS_MAX];
		size_t n_fds = 0;

		r = rf_wire_receive(session->connection.wire, &message, fds, &n_fds);
		if (r == RF_WIRE_AGAIN)
			return 0;
		/* End of file and nonsense are one thing: no result will come. */
		if (r != 0) {
			session->is_over = true;
			return 0;
		}
		r = on_message(session, message, fds, n_fds);
	}
	return r;
}

/* ---- The loop ------------------------------------------------------------------------------- */

static int step(struct session *session)
{
	bool takes_more = !rf_line_writer_is_full(&session->events);
	bool has_output = rf_wire_has_output(session->connection.wire);
	struct pollfd polls[] = {
		{.fd = session->signal_fd, .events = POLLIN},
		{.fd = rf_wire_fd(session->connection.wire),
			.events = (short)((takes_more ? POLLIN : 0) | (has_output ? POLLOUT : 0))},
		{.fd = session->events.fd, .events = POLLOUT},
	};

	if (!rf_line_writer_is_waiting(&session->events))
		polls[2].fd = -1;
	if (!takes_more && !has_output)
		polls[1].fd = -1;
	if (poll(polls, RF_ARRAY_SIZE(polls), -1) < 0)
		return errno == EINTR ? 0 : -errno;
	if (polls[2].revents)
		rf_line_writer_write(&session->events);
	if (polls[1].revents & POLLOUT)
		(void)rf_wire_flush(session->connection.wire);
	if (polls[1].revents) {
		int r = read_messages(session);

		if (r != 0)
			return r;
	}
	if (polls[0].revents)
		read_signals(session);
	return 0;
}

/* A child that is left when the run is given up. */
static void end_child(struct session *session)
{
	struct rf_bwrap_run *run = session->run;

	if (run->child.pid <= 0 || run->has_status)
		return;
	(void)pidfd_send_signal(run->child.pidfd, SIGKILL, NULL, 0);
	run->has_status = waitpid(run->child.pid, &run->status, 0) == run->child.pid;
}

static int call(struct session *session)
{
	struct rf_bwrap_run *run = session->run;
	json_t *parameters = json_object();
	int r = 0;

	r |= json_object_set_new(parameters, "policy", rf_policy_to_json(&run->policy));
	r |= json_object_set_new(parameters, "argv", rf_wire_texts((const char *const *)run->argv));
	r |= json_object_set_new(parameters, "watch", json_boolean(run->events_target != NULL));
	if (r != 0) {
		json_decref(parameters);
		return -ENOMEM;
	}
	r = rf_wire_call(session->connection.wire, RF_METHOD_WRAP, parameters, true, NULL, 0);
	if (r == -EMSGSIZE)
		return rf_diag_refuse(&run->diag, "request-too-large",
			"the arguments are larger than %u bytes", RF_WIRE_MESSAGE_MAX_BYTES);
	return r == -EPIPE ? 0 : r;
}

static int start(struct session *session)
{
	struct rf_bwrap_run *run = session->run;
	int r = 0;

	if (run->result_target)
		r = rf_output_open(
			run->result_target, "rf-result", &session->result_fd, &run->diag);
	if (r == 0 && run->events_target)
		r = rf_output_open(
			run->events_target, "rf-events", &session->events_fd, &run->diag);
	session->events.fd = session->events_fd;
	if (r == 0)
		r = catch_signals(session);
	/* Before there is anything to lose. */
	if (r == 0 && run->child.line->dies_with_parent &&
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		r = -errno;
	if (r == 0)
		r = rf_connect(&run->child.mask, &session->connection, &run->diag);
	return r == 0 ? call(session) : r;
}

int rf_bwrap_run(struct rf_bwrap_run *run)
{
	struct session session rf_cleanup(session_clear) = {
		.run = run,
		.signal_fd = -1,
		.result_fd = -1,
		.events_fd = -1,
		.events.fd = -1,
	};
	int r = start(&session);

	while (r == 0 && !session.is_over)
		r = step(&session);
	end_child(&session);
	rf_line_writer_drain(&session.events, session.signal_fd, "rf-events");
	rf_bwrap_judge(run, r);
	if (session.result_fd >= 0)
		rf_output_result(session.result_fd, run->result, session.signal_fd);
	return r;
}
