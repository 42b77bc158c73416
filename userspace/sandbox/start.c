/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Starts the keeper: a fresh process with exactly the descriptors of enum rf_keeper_fd, in a
 * session of its own. posix_spawn is used since it copies nothing of a controller that may hold
 * thousands of sandboxes.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/launch.h"
#include "enforce/bubblewrap.h"
#include "sandbox/sandbox.h"

/* Descriptors of the child: number -> ours. Copies are owned, above every number of the child. */
struct fd_map {
	int *copies;
	int *numbers;
	size_t count;
	size_t room;
	int floor;
};

static void fd_map_clear(struct fd_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		rf_close(map->copies[i]);
	free(map->copies);
	free(map->numbers);
}

static int fd_map_new(struct fd_map *map, size_t room)
{
	map->copies = calloc(room, sizeof(*map->copies));
	map->numbers = calloc(room, sizeof(*map->numbers));
	map->room = room;
	map->floor = (int)room + RF_KEEPER_FIRST_FREE;
	return map->copies && map->numbers ? 0 : -ENOMEM;
}

static int fd_map_add(struct fd_map *map, int number, int fd)
{
	int copy;

	if (fd < 0)
		return 0;
	if (map->count == map->room)
		return -ENOBUFS;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, map->floor);
	if (copy < 0)
		return errno == EINVAL ? -EMFILE : -errno;
	map->copies[map->count] = copy;
	map->numbers[map->count++] = number;
	return 0;
}

static int spawn(const struct fd_map *map, pid_t *ret_pid)
{
	static char launcher[] = "/proc/self/fd/8";
	char *const argv[] = {(char[]){"ringfence-launch"}, (char[]){RF_LAUNCH_ROLE_KEEPER}, NULL};
	char *const environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all;
	sigset_t none;
	int r = 0;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawnattr_setflags(
		&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	/* Ours are not the command's: a stream that it shall not have is closed. */
	for (int stream = 0; r == 0 && stream <= 2; stream++)
		r = posix_spawn_file_actions_addclose(&actions, stream);
	for (size_t i = 0; r == 0 && i < map->count; i++)
		r = posix_spawn_file_actions_adddup2(&actions, map->copies[i], map->numbers[i]);
	if (r == 0)
		r = posix_spawn(ret_pid, launcher, &actions, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

struct start {
	struct fd_map map;
	struct rf_bubblewrap bubblewrap;
	int control;
	int arguments;
	int keeper_spec;
	int sandbox_spec;
	int setup_stderr;
	int controller_pidfd;
};

static void start_clear(struct start *start)
{
	fd_map_clear(&start->map);
	rf_bubblewrap_clear(&start->bubblewrap);
	rf_close(start->control);
	rf_close(start->arguments);
	rf_close(start->keeper_spec);
	rf_close(start->sandbox_spec);
	rf_close(start->setup_stderr);
	rf_close(start->controller_pidfd);
}

static int make_channels(struct rf_sandbox *sandbox, struct start *start)
{
	int pair[2];
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	sandbox->control_fd = pair[0];
	start->control = pair[1];
	if (fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	sandbox->setup_stderr_fd = ends[0];
	start->setup_stderr = ends[1];
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	start->controller_pidfd = pidfd_open(getpid(), 0);
	return start->controller_pidfd < 0 ? -errno : 0;
}

static int make_stage_directory(struct rf_sandbox *sandbox)
{
	if (!sandbox->plan->is_staged)
		return 0;
	if (asprintf(&sandbox->stage_directory, "%s/stage-%s", sandbox->controller->runtime,
		    sandbox->id) < 0) {
		sandbox->stage_directory = NULL;
		return -ENOMEM;
	}
	return mkdir(sandbox->stage_directory, 0755) < 0 ? -errno : 0;
}

/* bubblewrap's options as it reads them: separated by NUL. */
static int make_arguments(const struct rf_bubblewrap *bubblewrap)
{
	struct rf_buf buf rf_autobuf = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < bubblewrap->arguments.count; i++) {
		const char *text = bubblewrap->arguments.items[i];

		r = rf_buf_add(&buf, text, strlen(text) + 1);
	}
	return r < 0 ? r : rf_memfd("ringfence-arguments", buf.data, buf.size);
}

static int make_specs(struct rf_sandbox *sandbox, const struct rf_sandbox_props *props,
	struct start *start, struct rf_diag *diag)
{
	const struct rf_plan *plan = sandbox->plan;
	unsigned int first_pass;
	int r = make_stage_directory(sandbox);

	if (r < 0)
		return r;
	if (plan->mode != RF_MODE_FULL_ACCESS) {
		r = rf_bubblewrap_make(plan, true, &start->bubblewrap, diag);
		if (r != 0)
			return r;
		start->arguments = make_arguments(&start->bubblewrap);
		if (start->arguments < 0)
			return start->arguments;
	}
	first_pass = RF_KEEPER_FIRST_FREE + (unsigned int)start->bubblewrap.n_fds;
	start->sandbox_spec = rf_spec_sandbox(sandbox, props, first_pass, diag);
	if (start->sandbox_spec < 0)
		return start->sandbox_spec;
	start->keeper_spec = rf_spec_keeper(sandbox, first_pass + (unsigned int)plan->n_pass_fds);
	return start->keeper_spec < 0 ? start->keeper_spec : 0;
}

static int map_fixed(
	struct rf_sandbox *sandbox, const struct rf_sandbox_props *props, struct start *start)
{
	const struct rf_controller *controller = sandbox->controller;
	const struct rf_cgroup *cgroup = sandbox->cgroup;
	bool has_bwrap = sandbox->plan->mode != RF_MODE_FULL_ACCESS;
	const struct {
		int number;
		int fd;
	} fixed[] = {
		{0, props->stdio[0]},
		{1, props->stdio[1]},
		{2, props->stdio[2]},
		{RF_KEEPER_CONTROL, start->control},
		{RF_KEEPER_SPEC, start->keeper_spec},
		{RF_KEEPER_BWRAP_ARGUMENTS, start->arguments},
		{RF_KEEPER_SANDBOX_SPEC, start->sandbox_spec},
		{RF_KEEPER_BWRAP, has_bwrap ? controller->bwrap_fd : -1},
		{RF_KEEPER_LAUNCHER, controller->launcher_fd},
		{RF_KEEPER_SETUP_STDERR, start->setup_stderr},
		{RF_KEEPER_CGROUP, cgroup ? cgroup->fd : -1},
		{RF_KEEPER_KILL, cgroup ? cgroup->kill_fd : -1},
		{RF_KEEPER_CONTROLLER, start->controller_pidfd},
		{RF_KEEPER_CLIENT, props->client_pidfd},
		{RF_KEEPER_CGROUP_BASE, cgroup ? controller->cgroups->base_fd : -1},
	};

	for (size_t i = 0; i < RF_ARRAY_SIZE(fixed); i++) {
		int r = fd_map_add(&start->map, fixed[i].number, fixed[i].fd);

		if (r < 0)
			return r;
	}
	return 0;
}

static int map_all(
	struct rf_sandbox *sandbox, const struct rf_sandbox_props *props, struct start *start)
{
	const struct rf_bubblewrap *b = &start->bubblewrap;
	size_t n_pass = sandbox->plan->n_pass_fds;
	int number = RF_KEEPER_FIRST_FREE;
	int r = fd_map_new(&start->map, b->n_fds + n_pass + 32);

	if (r == 0)
		r = map_fixed(sandbox, props, start);
	for (size_t i = 0; r == 0 && i < b->n_fds; i++)
		r = fd_map_add(&start->map, number++, b->fds[i]);
	for (size_t i = 0; r == 0 && i < n_pass; i++)
		r = fd_map_add(&start->map, number++, props->pass_fds[i]);
	return r;
}

int rf_sandbox_send(struct rf_sandbox *sandbox, uint32_t kind, int value, int extra)
{
	struct rf_launch_message message = {.kind = kind, .value = value, .extra = extra};

	if (sandbox->control_fd < 0)
		return -EPIPE;
	if (send(sandbox->control_fd, &message, sizeof(message), MSG_NOSIGNAL) < 0)
		return -errno;
	return 0;
}

static int start_keeper(struct rf_sandbox *sandbox, const struct start *start)
{
	pid_t pid = -1;
	int r = spawn(&start->map, &pid);

	if (r < 0)
		return r;
	sandbox->keeper_pidfd = pidfd_open(pid, 0);
	return sandbox->keeper_pidfd < 0 ? -errno : rf_sandbox_supervise(sandbox);
}

#define START_EMPTY                                                                    \
	{                                                                              \
		.control = -1, .arguments = -1, .keeper_spec = -1, .sandbox_spec = -1, \
		.setup_stderr = -1, .controller_pidfd = -1                             \
	}

/* Whatever comes of it is a refusal. */
static int judge(const struct start *start, int r, struct rf_diag *diag)
{
	if (r == -EMFILE) {
		r = rf_diag_refuse(diag, "too-few-descriptors",
			"the hard limit of open files is too low: this plan needs %d",
			2 * start->map.floor);
		rf_diag_hint(diag, "raise it: ulimit -Hn, or LimitNOFILE= of the unit");
		snprintf(diag->stage, sizeof(diag->stage), "setup");
	}
	if (r < 0) {
		r = rf_diag_refuse(diag, "setup-failed", "starting the sandbox: %s", strerror(-r));
		snprintf(diag->stage, sizeof(diag->stage), "setup");
	}
	return r;
}

int rf_sandbox_start(
	struct rf_sandbox *sandbox, const struct rf_sandbox_props *props, struct rf_diag *diag)
{
	struct start start rf_cleanup(start_clear) = START_EMPTY;
	int r = make_channels(sandbox, &start);

	if (r == 0)
		r = make_specs(sandbox, props, &start, diag);
	if (r == 0)
		r = map_all(sandbox, props, &start);
	if (r == 0)
		r = start_keeper(sandbox, &start);
	return judge(&start, r, diag);
}

static int map_wrapped(struct rf_sandbox *sandbox, int client_pidfd, struct start *start)
{
	const struct rf_sandbox_props props = {.stdio = {-1, -1, -1}, .client_pidfd = client_pidfd};
	int r = fd_map_new(&start->map, 32);

	if (r == 0)
		r = map_fixed(sandbox, &props, start);
	return r < 0 ? r : fd_map_add(&start->map, RF_KEEPER_FIRST_FREE, sandbox->first_pidfd);
}

int rf_sandbox_wrap(
	struct rf_sandbox *sandbox, int first_pidfd, int client_pidfd, struct rf_diag *diag)
{
	struct start start rf_cleanup(start_clear) = START_EMPTY;
	int r = make_channels(sandbox, &start);

	if (r == 0)
		r = rf_sandbox_wrap_take(sandbox, first_pidfd, client_pidfd);
	if (r == 0) {
		start.keeper_spec = rf_spec_keeper(sandbox, RF_KEEPER_FIRST_FREE + 1);
		r = start.keeper_spec < 0 ? start.keeper_spec : 0;
	}
	if (r == 0)
		r = map_wrapped(sandbox, client_pidfd, &start);
	if (r == 0)
		r = start_keeper(sandbox, &start);
	return judge(&start, r, diag);
}
