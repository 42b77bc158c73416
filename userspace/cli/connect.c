/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/place.h"
#include "base/say.h"
#include "cli/cli.h"
#include "wire/interface.h"

/* The number on which a private controller finds its connection. */
#define PRIVATE_FD 3
/* The last controller takes the BPF set down: each of some thirty links waits for a grace period.
 */
#define LEAVE_WAIT_MS 20000
#define BUSY_TRIES 500
#define BUSY_PAUSE_MS 10

void rf_connection_close(struct rf_connection *connection)
{
	connection->wire = rf_wire_free(connection->wire);
	(void)rf_connection_wait_gone(connection, LEAVE_WAIT_MS);
	connection->controller = 0;
}

const char *rf_service_socket(void)
{
	const char *path = getenv("RINGFENCE_SOCKET");

	return path && *path ? path : RF_SERVICE_SOCKET;
}

int rf_connect_socket(const char *path, long long uid)
{
	int fd rf_autoclose = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	if (uid >= 0 && peer.uid != (uid_t)uid)
		return -EPERM;
	return RF_TAKE_FD(fd);
}

static int take_socket(int socket, struct rf_connection *ret_connection, struct rf_diag *diag)
{
	struct rf_connection connection = {0};
	int r = rf_wire_new(socket, &connection.wire);

	if (r < 0) {
		rf_close(socket);
		return rf_diag_refuse(diag, "controller-connection",
			"cannot use the connection to the controller: %s", strerror(-r));
	}
	*ret_connection = connection;
	return 0;
}

/* ---- A private controller ---- */

/* O_PATH; what was checked is what is executed. -1: diag is filled. */
static int open_controller(char **ret_path, struct rf_diag *diag)
{
	char *path rf_autofree = NULL;
	int fd rf_autoclose = -1;
	struct stat st;
	int r = rf_place_program("ringfenced", &path);

	if (r < 0) {
		char *searched rf_autofree = rf_place_searched();

		rf_diag_refuse(diag, "helper-missing", "cannot find ringfenced: %s", strerror(-r));
		rf_diag_hint(diag, "it belongs into %s", searched ? searched : "libexec/ringfence");
		return -1;
	}
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		rf_diag_refuse(diag, "helper-missing", "cannot open %s: %s", path, strerror(errno));
		return -1;
	}
	if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()) ||
		(st.st_mode & 022)) {
		rf_diag_refuse(diag, "untrusted-helper",
			"%s is not a regular file that only root or you can change", path);
		rf_diag_path(diag, path);
		return -1;
	}
	*ret_path = RF_TAKE(path);
	return RF_TAKE_FD(fd);
}

/* In the child. Nothing of the client's but standard error and the connection goes along. */
static _Noreturn void become_controller(
	int program, const char *path, int socket, const sigset_t *signal_mask)
{
	char number[] = {'0' + PRIVATE_FD, '\0'};
	const char *const argv[] = {path, "--private", number, NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* A copy above PRIVATE_FD, or the next dup2 could overwrite it. */
	program = fcntl(program, F_DUPFD_CLOEXEC, PRIVATE_FD + 1);
	if (null < 0 || program < 0 || dup2(null, STDIN_FILENO) < 0 ||
		dup2(null, STDOUT_FILENO) < 0)
		_exit(RF_STATUS_REFUSED);
	if (socket == PRIVATE_FD ? fcntl(socket, F_SETFD, 0) < 0 : dup2(socket, PRIVATE_FD) < 0)
		_exit(RF_STATUS_REFUSED);
	if (close_range(PRIVATE_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		_exit(RF_STATUS_REFUSED);
	setsid();
	signal(SIGPIPE, SIG_DFL);
	if (signal_mask)
		sigprocmask(SIG_SETMASK, signal_mask, NULL);
	execveat(program, "", (char *const *)argv, environ, AT_EMPTY_PATH);
	rf_say_error("cannot start %s: %s", path, strerror(errno));
	_exit(RF_STATUS_REFUSED);
}

int rf_connect_private(
	const sigset_t *signal_mask, struct rf_connection *ret_connection, struct rf_diag *diag)
{
	char *path rf_autofree = NULL;
	int program rf_autoclose = open_controller(&path, diag);
	int theirs rf_autoclose = -1;
	int ours rf_autoclose = -1;
	int pair[2];
	pid_t pid;
	int r;

	if (program < 0)
		return RF_REFUSED;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return rf_diag_refuse(
			diag, "controller-start", "cannot make a socket pair: %s", strerror(errno));
	ours = pair[0];
	theirs = pair[1];
	pid = fork();
	if (pid < 0)
		return rf_diag_refuse(diag, "controller-start",
			"cannot start a process for the controller: %s", strerror(errno));
	if (pid == 0)
		become_controller(program, path, theirs, signal_mask);
	r = take_socket(RF_TAKE_FD(ours), ret_connection, diag);
	if (r == 0)
		ret_connection->controller = pid;
	return r;
}

/* A full queue is a busy service, not a missing one: a private controller may hold less. */
static int connect_service(long long uid)
{
	int fd = rf_connect_socket(rf_service_socket(), uid);

	for (int tries = 0; fd == -EAGAIN && tries < BUSY_TRIES; tries++) {
		poll(NULL, 0, BUSY_PAUSE_MS);
		fd = rf_connect_socket(rf_service_socket(), uid);
	}
	return fd;
}

int rf_connect(
	const sigset_t *signal_mask, struct rf_connection *ret_connection, struct rf_diag *diag)
{
	const char *named = getenv("RINGFENCE_SOCKET");
	bool is_named = named && *named;
	/* By default only root's word is taken for the service. */
	int fd = connect_service(is_named ? -1 : 0);

	if (fd >= 0)
		return take_socket(fd, ret_connection, diag);
	if (fd == -EAGAIN)
		return rf_diag_refuse(diag, "busy",
			"the service at %s takes no more connections now", rf_service_socket());
	if (is_named)
		return rf_diag_refuse(diag, "service-unreachable",
			"no service answers at %s: %s (RINGFENCE_SOCKET names it)", named,
			strerror(-fd));
	return rf_connect_private(signal_mask, ret_connection, diag);
}

int rf_connection_wait_gone(struct rf_connection *connection, int timeout_ms)
{
	int status = -1;
	int pidfd rf_autoclose = -1;
	struct pollfd poll_fd = {.events = POLLIN};

	if (connection->controller <= 0)
		return -1;
	pidfd = (int)syscall(SYS_pidfd_open, connection->controller, 0);
	poll_fd.fd = pidfd;
	if (pidfd < 0 || poll(&poll_fd, 1, timeout_ms) <= 0)
		return -1;
	if (waitpid(connection->controller, &status, WNOHANG) != connection->controller)
		return -1;
	connection->controller = 0;
	return status;
}

/* ---- One call ---- */

int rf_refuse_from_error(const json_t *message, struct rf_diag *diag)
{
	const char *error = rf_json_get_text(message, "error");
	const json_t *parameters = json_object_get(message, "parameters");
	const json_t *refusal = json_object_get(parameters, "refusal");
	const char *parameter = rf_json_get_text(parameters, "parameter");
	const char *limit = rf_json_get_text(parameters, "limit");

	if (json_is_object(refusal)) {
		rf_json_to_diag(refusal, diag);
		return RF_REFUSED;
	}
	if (strcmp(error, RF_ERROR_NOT_FOUND) == 0)
		return rf_diag_refuse(diag, "not-found", "no such sandbox");
	if (strcmp(error, RF_ERROR_NOT_PERMITTED) == 0)
		return rf_diag_refuse(diag, "not-permitted", "the controller does not serve you");
	if (strcmp(error, RF_ERROR_BUSY) == 0)
		return rf_diag_refuse(diag, "busy", "the controller is busy");
	if (strcmp(error, RF_ERROR_LIMIT) == 0)
		return rf_diag_refuse(diag, "controller-limit",
			"a limit of the controller is reached: %s", limit ? limit : "unnamed");
	return rf_diag_refuse(diag, "controller-error", "the controller answered %s%s%s", error,
		parameter ? ": " : "", parameter ? parameter : "");
}

static int wait_answer(
	struct rf_wire *wire, int timeout_ms, json_t **ret_answer, struct rf_diag *diag)
{
	int fds[RF_WIRE_FDS_MAX];
	size_t n_fds = 0;
	int r = rf_wire_wait(wire, timeout_ms, ret_answer, fds, &n_fds);

	if (r == 0) {
		while (n_fds > 0)
			rf_close(fds[--n_fds]);
		return 0;
	}
	if (r == -ETIMEDOUT)
		return rf_diag_refuse(diag, "controller-silent",
			"the controller did not answer within %d ms", timeout_ms);
	if (r == RF_WIRE_MALFORMED)
		return rf_diag_refuse(
			diag, "controller-malformed", "the controller's answer is malformed");
	return rf_diag_refuse(diag, "controller-gone", "the controller ended without an answer");
}

int rf_call(struct rf_wire *wire, const char *method, json_t *parameters_stolen, int timeout_ms,
	json_t **ret_parameters, struct rf_diag *diag)
{
	json_t *answer rf_autojson = NULL;
	json_t *parameters;
	int r = rf_wire_call(wire, method, parameters_stolen, false, NULL, 0);

	if (r < 0 && r != -EPIPE)
		return rf_diag_refuse(diag, "controller-connection",
			"cannot ask the controller: %s", strerror(-r));
	r = wait_answer(wire, timeout_ms, &answer, diag);
	if (r != 0)
		return r;
	if (rf_json_get_text(answer, "error"))
		return rf_refuse_from_error(answer, diag);
	parameters = json_object_get(answer, "parameters");
	if (!json_is_object(parameters))
		return rf_diag_refuse(
			diag, "controller-malformed", "the controller's answer is malformed");
	*ret_parameters = json_incref(parameters);
	return 0;
}
