/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/say.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/report.h"
#include "host/bwrap.h"
#include "policy/keys.h"

/* As `run` and timeout(1) say it. */
#define STATUS_TIMEOUT 124

enum option_id {
	OPTION_KEY = 1,
	OPTION_RESULT,
	OPTION_EVENTS,
	OPTION_PROGRAM,
	OPTION_QUIET,
	OPTION_VERBOSE,
	OPTION_HELP = RF_OPTION_HELP,
};

static const struct rf_option options[] = {
	{"rf-net", "POSTURE", "none: no socket but socketpair; open (default)", OPTION_KEY,
		"network.posture"},
	{"rf-timeout", "DURATION", NULL, OPTION_KEY, "limits.timeout"},
	{"rf-memory", "SIZE", NULL, OPTION_KEY, "limits.memory"},
	{"rf-pids", "COUNT", "most processes and threads, bubblewrap's own included", OPTION_KEY,
		"limits.pids"},
	{"rf-grace", "DURATION", NULL, OPTION_KEY, "lifecycle.grace"},
	{"rf-waive", "PROMISE", NULL, OPTION_KEY, "enforcement.waive"},
	{"rf-require", "PROMISE", NULL, OPTION_KEY, "enforcement.require"},
	{"rf-result", "FILE|fd:N", "write the result, one JSON object", OPTION_RESULT, NULL},
	{"rf-events", "FILE|fd:N", "write events, JSON Lines", OPTION_EVENTS, NULL},
	{"rf-bubblewrap", "FILE", "the bubblewrap to execute; default: the system's",
		OPTION_PROGRAM, NULL},
	{"rf-quiet", NULL, "print errors alone", OPTION_QUIET, NULL},
	{"rf-verbose", NULL, "print details", OPTION_VERBOSE, NULL},
	{"rf-help", NULL, "show this and exit", OPTION_HELP, NULL},
};

/* ---- Options -------------------------------------------------------------------------------- */

struct asked {
	struct rf_bwrap_run *run;
	const char *program;
	bool wants_help;
};

/* Refused in the words of who wrote it: by the option's name, not the key's. */
static int set(struct rf_policy *policy, const struct rf_option *option, const char *text,
	struct rf_diag *diag)
{
	const struct rf_key *known = rf_key_find(option->key);
	struct rf_key said;
	char name[32];

	if (!known)
		return -EINVAL;
	snprintf(name, sizeof(name), "--%s", option->name);
	said = *known;
	said.name = name;
	return rf_key_set(&said, policy, text, diag);
}

static int apply(
	struct asked *asked, const struct rf_option *option, const char *text, struct rf_diag *diag)
{
	switch ((enum option_id)option->id) {
	case OPTION_KEY:
		return set(&asked->run->policy, option, text, diag);
	case OPTION_RESULT:
		return rf_output_set(&asked->run->result_target, option->name, text, diag);
	case OPTION_EVENTS:
		return rf_output_set(&asked->run->events_target, option->name, text, diag);
	case OPTION_PROGRAM:
		asked->program = text;
		return 0;
	case OPTION_QUIET:
		rf_say_set_level(RF_SAY_QUIET);
		return 0;
	case OPTION_VERBOSE:
		rf_say_set_level(RF_SAY_VERBOSE);
		return 0;
	case OPTION_HELP:
		asked->wants_help = true;
		return 0;
	}
	return -EINVAL;
}

static int read_ours(const struct rf_bwrap_line *line, struct asked *asked, struct rf_diag *diag)
{
	struct rf_args args = {
		options, RF_ARRAY_SIZE(options), (int)line->n_ours, line->ours, 1, false};

	for (;;) {
		struct rf_arg_read read = {0};
		int r = rf_args_next(&args, &read, diag);

		if (r == 0 && read.kind == RF_ARG_END)
			return 0;
		if (r == 0)
			r = apply(asked, read.option, read.text, diag);
		if (r != 0)
			return r;
	}
}

static void print_help(void)
{
	rf_args_print_help("bwrap [--rf-OPTION…] BUBBLEWRAP-ARGUMENTS…",
		"Executes bubblewrap with this command line in a cgroup of its own, records it and\n"
		"reaps what it leaves. Options of Ringfence may stand between bubblewrap's, which\n"
		"ringfence bwrap --help shows.",
		options, RF_ARRAY_SIZE(options));
}

/* ---- The program ---------------------------------------------------------------------------- */

static int find_program(const char *asked, struct rf_bwrap *ret_bwrap, struct rf_diag *diag)
{
	const char *const candidates[] = {asked, NULL};

	if (asked && asked[0] != '/')
		return rf_diag_refuse(
			diag, "option-value", "--rf-bubblewrap takes an absolute path");
	rf_bwrap_find(asked ? candidates : NULL, geteuid(), ret_bwrap);
	if (ret_bwrap->fact.state == RF_STATE_ENFORCED)
		return 0;
	rf_diag_refuse(diag, "bubblewrap-unusable", "bubblewrap (bwrap): %s", ret_bwrap->fact.why);
	rf_diag_mechanism(diag, "mount-namespace", "bwrap");
	rf_diag_hint(diag, "%s", ret_bwrap->fact.remedy);
	return RF_REFUSED;
}

/* ---- The end -------------------------------------------------------------------------------- */

static int find_exit_code(const struct rf_bwrap_run *run, int r)
{
	const char *reason = rf_json_get_text(run->result, "reason");

	if (run->abort_signal)
		return 128 + run->abort_signal;
	if (r != 0 || !run->has_status || !reason || strcmp(reason, "lost") == 0 ||
		strcmp(reason, "setup") == 0)
		return RF_BWRAP_STATUS_FAILED;
	if (strcmp(reason, "timeout") == 0)
		return STATUS_TIMEOUT;
	return WIFSIGNALED(run->status) ? 128 + WTERMSIG(run->status) : WEXITSTATUS(run->status);
}

void rf_bwrap_judge(struct rf_bwrap_run *run, int r)
{
	const char *reason = run->abort_signal ? "abort" : r != 0 ? "setup" : "lost";

	if (r < 0)
		rf_diag_refuse(&run->diag, "client-failed", "%s", strerror(-r));
	run->exit_code = find_exit_code(run, r);
	if (!run->result)
		run->result = json_pack("{s:i, s:n, s:s, s:s, s:i, s:n}", "version", 1, "id",
			"stage", run->child.pid > 0 ? "exit" : "setup", "reason", reason,
			"exit_code", run->exit_code, "signal");
	if (!run->result)
		return;
	json_object_set_new(run->result, "exit_code", json_integer(run->exit_code));
	if (rf_diag_is_set(&run->diag))
		json_object_set_new(run->result, "refusal", rf_json_from_diag(&run->diag));
}

/* Whoever waits for us sees bubblewrap's end as its own, its core dumped once. */
static void die_of(int number)
{
	const struct rlimit none = {0, 0};
	sigset_t set;

	(void)setrlimit(RLIMIT_CORE, &none);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int finish(struct rf_bwrap_run *run, int r)
{
	const char *reason = rf_json_get_text(run->result, "reason");

	if (rf_diag_is_set(&run->diag))
		rf_say_refusal(&run->diag);
	else if (r == 0)
		rf_report_result(run->result, &run->policy);
	if (run->abort_signal)
		die_of(run->abort_signal);
	else if (r == 0 && run->has_status && WIFSIGNALED(run->status) &&
		 run->exit_code == 128 + WTERMSIG(run->status) && reason)
		die_of(WTERMSIG(run->status));
	return run->exit_code;
}

static void run_clear(struct rf_bwrap_run *run)
{
	rf_policy_clear(&run->policy);
	rf_bwrap_child_clear(&run->child);
	json_decref(run->result);
}

static int prepare(struct asked *asked, struct rf_bwrap_line *line, struct rf_bwrap *bwrap)
{
	struct rf_bwrap_run *run = asked->run;
	int r = read_ours(line, asked, &run->diag);

	if (r != 0 || asked->wants_help)
		return r;
	/* First, while every open descriptor is the caller's. */
	r = rf_bwrap_child_init(&run->child, line, &run->diag);
	if (r == 0)
		r = find_program(asked->program, bwrap, &run->diag);
	if (r != 0)
		return r;
	run->child.program = RF_TAKE_FD(bwrap->fd);
	run->child.path = bwrap->path;
	return 0;
}

int rf_cli_bwrap(int argc, char **argv)
{
	struct rf_bwrap_run run rf_cleanup(run_clear) = {
		.argv = argv,
		.child = {.program = -1, .pidfd = -1, .gate = -1},
	};
	struct asked asked = {.run = &run};
	struct rf_bwrap_line line rf_autobwrapline = {0};
	struct rf_bwrap bwrap rf_autobwrap = {.fd = -1};
	int r = rf_bwrap_line_read(argc, argv, options, RF_ARRAY_SIZE(options), &line, &run.diag);

	if (r == 0)
		r = prepare(&asked, &line, &bwrap);
	if (r == 0 && asked.wants_help) {
		print_help();
		return 0;
	}
	if (r != 0) {
		rf_bwrap_judge(&run, r);
		return finish(&run, r);
	}
	/* Nothing is confined by it, and it ends at once: its words are as quick as without us. */
	if (line.is_question || line.n_words == 1) {
		rf_bwrap_child_exec(&run.child);
		return RF_BWRAP_STATUS_FAILED;
	}
	return finish(&run, rf_bwrap_run(&run));
}
