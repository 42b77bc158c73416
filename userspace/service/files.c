/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * FileBatch: requests of the guarded filesystem, answered in one reply.
 *
 * A batch may take minutes, and it is the caller's: a child of this process with the caller's
 * identity runs it, so neither is the event loop held up nor are its rights lent. The child has
 * the call's descriptors and one memory file, into which it writes the reply's parameters; it is
 * killed when the caller hangs up. One batch at a time for a connection.
 */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/strv.h"
#include "fs/ceilings.h"
#include "fs/fs.h"
#include "fs/glob.h"
#include "fs/request.h"
#include "service/service.h"
#include "wire/text.h"

#define GROUPS_MAX 65536
/* Content of all results: in base64, and with what is around it, it fits into one message. */
#define RESPONSE_BYTES (20ULL * 1024 * 1024)

struct rf_files {
	struct rf_peer *peer;
	pid_t pid;
	int pidfd;
	int reply_fd;
	sd_event_source *source;
	uint64_t request_bytes; /* its ceiling */
};

struct batch {
	const struct rf_call *call;
	char *root;
	struct rf_fs_options options;
	const json_t *requests;
	struct rf_fs *fs;
	struct rf_fs_line *lines;
	struct rf_fs_request *wanted;
	struct rf_fs_result *results;
	size_t n_lines;
};

/* ---- parameters -------------------------------------------------------------------------------
 */

/* Why a call is answered by an error: a parameter that is not one, or a ceiling, which has a value.
 */
struct wrong {
	const char *parameter;
	const char *ceiling;
	uint64_t max;
};

/* What the caller may raise it to: what the operator allows, and results fit into a message. */
static uint64_t allowed(const struct rf_service *service, const struct rf_fs_ceiling *ceiling)
{
	uint64_t operators = rf_fs_ceiling_get(ceiling, &service->file_ceilings);
	uint64_t max = operators ? operators : ceiling->max;

	if (strcmp(ceiling->name, "response_bytes") == 0 && max > RESPONSE_BYTES)
		return RESPONSE_BYTES;
	return max;
}

/* Without a word from the caller: the default, where the operator allows that much. */
static void set_defaults(const struct rf_service *service, struct rf_fs_options *options)
{
	const struct rf_fs_ceiling *ceiling;

	for (size_t i = 0; (ceiling = rf_fs_ceiling_at(i)); i++) {
		uint64_t max = allowed(service, ceiling);
		/* Of concurrency, the processors. */
		uint64_t otherwise = ceiling->otherwise ? ceiling->otherwise
							: (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);

		rf_fs_ceiling_set(ceiling, options, otherwise < max ? otherwise : max);
	}
}

static int read_ceiling(const struct rf_service *service, const char *key, const json_t *value,
	struct rf_fs_options *options, struct wrong *ret_wrong)
{
	const struct rf_fs_ceiling *ceiling = rf_fs_ceiling_find(key);
	uint64_t max;

	if (!ceiling || !json_is_integer(value) || json_integer_value(value) <= 0) {
		ret_wrong->parameter = "options";
		return RF_REFUSED;
	}
	max = allowed(service, ceiling);
	if ((uint64_t)json_integer_value(value) > max) {
		*ret_wrong = (struct wrong){.ceiling = ceiling->name, .max = max};
		return RF_REFUSED;
	}
	rf_fs_ceiling_set(ceiling, options, (uint64_t)json_integer_value(value));
	return 0;
}

static int read_options(const struct rf_service *service, const json_t *object,
	struct rf_fs_options *options, struct wrong *ret_wrong)
{
	const char *key;
	json_t *value;
	int r = 0;

	json_object_foreach ((json_t *)object, key, value) {
		if (strcmp(key, "engine") != 0)
			r = read_ceiling(service, key, value, options, ret_wrong);
		else if (!json_is_string(value) ||
			 !rf_fs_engine_parse(json_string_value(value), &options->engine))
			r = RF_REFUSED;
		if (r) {
			if (!ret_wrong->ceiling)
				ret_wrong->parameter = "options";
			return r;
		}
	}
	return 0;
}

static int wrong_parameter(const char *name, struct wrong *ret_wrong)
{
	ret_wrong->parameter = name;
	return RF_REFUSED;
}

/* Before there is room for each. */
static int count_requests(const struct batch *batch, struct wrong *ret_wrong)
{
	if (json_array_size(batch->requests) <= batch->options.entries)
		return 0;
	*ret_wrong = (struct wrong){.ceiling = "requests", .max = batch->options.entries};
	return RF_REFUSED;
}

/* 0, or RF_REFUSED with ret_wrong filled. */
static int read_parameters(const struct rf_service *service, const struct rf_call *call,
	struct batch *ret_batch, struct wrong *ret_wrong)
{
	const json_t *root = json_object_get(call->parameters, "root");
	const json_t *options = json_object_get(call->parameters, "options");

	ret_batch->call = call;
	ret_batch->requests = json_object_get(call->parameters, "requests");
	set_defaults(service, &ret_batch->options);
	/* Our working directory is nothing to the caller. */
	if (!root || rf_wire_text_get(root, &ret_batch->root) != 0 || ret_batch->root[0] != '/')
		return wrong_parameter("root", ret_wrong);
	if (!json_is_array(ret_batch->requests))
		return wrong_parameter("requests", ret_wrong);
	if (options && !json_is_object(options))
		return wrong_parameter("options", ret_wrong);
	if (options && read_options(service, options, &ret_batch->options, ret_wrong))
		return RF_REFUSED;
	return count_requests(ret_batch, ret_wrong);
}

static void batch_clear(struct batch *batch)
{
	for (size_t i = 0; i < batch->n_lines; i++)
		rf_fs_line_clear(&batch->lines[i]);
	for (size_t i = 0; batch->results && i < batch->n_lines; i++)
		rf_fs_result_clear(&batch->results[i]);
	free(batch->lines);
	free(batch->wanted);
	free(batch->results);
	free(batch->root);
	rf_fs_free(batch->fs);
}

/* ---- in the child -----------------------------------------------------------------------------
 */

static int find_fd(void *userdata, uint64_t number)
{
	const struct rf_call *call = userdata;

	return number < call->n_fds ? call->fds[number] : -1;
}

static int read_lines(struct batch *batch)
{
	const struct rf_fs_line_options options = {
		.content_bytes = rf_fs_options(batch->fs)->content_bytes,
		.find_fd = find_fd,
		.userdata = (void *)batch->call,
	};
	const json_t *object;
	size_t i;

	json_array_foreach (batch->requests, i, object) {
		int r = rf_fs_line_read(object, &options, &batch->lines[i]);

		batch->n_lines++;
		if (r < 0)
			return r;
	}
	return 0;
}

/* Those that could be read; a result is where its request was. */
static int run_lines(struct batch *batch)
{
	struct rf_fs_result *packed rf_autofree = calloc(batch->n_lines + 1, sizeof(*packed));
	size_t n = 0;
	int r;

	if (!packed)
		return -ENOMEM;
	for (size_t i = 0; i < batch->n_lines; i++) {
		if (!batch->lines[i].is_malformed)
			batch->wanted[n++] = batch->lines[i].request;
	}
	r = rf_fs_batch(batch->fs, batch->wanted, n, packed);
	if (r < 0)
		return r;
	n = 0;
	for (size_t i = 0; i < batch->n_lines; i++) {
		if (!batch->lines[i].is_malformed)
			batch->results[i] = packed[n++];
	}
	return 0;
}

static json_t *batch_reply(struct batch *batch)
{
	json_t *reply = json_object();
	json_t *list = json_array();

	for (size_t i = 0; i < batch->n_lines; i++) {
		const struct rf_fs_line *line = &batch->lines[i];

		json_array_append_new(list,
			rf_fs_line_answer(line,
				line->is_malformed ? &line->failure : &batch->results[i], true));
	}
	json_object_set_new(
		reply, "engine", json_string(rf_fs_engine_name(rf_fs_engine(batch->fs, NULL))));
	json_object_set_new(reply, "results", list);
	return reply;
}

static int run_batch(struct batch *batch, json_t **ret_reply)
{
	size_t room = json_array_size(batch->requests) + 1;
	int r = rf_fs_open(&batch->fs, batch->root, &batch->options);

	if (r < 0)
		return r;
	rf_fs_set_glob(batch->fs, rf_glob_run);
	batch->lines = calloc(room, sizeof(*batch->lines));
	batch->wanted = calloc(room, sizeof(*batch->wanted));
	batch->results = calloc(room, sizeof(*batch->results));
	if (!batch->lines || !batch->wanted || !batch->results)
		return -ENOMEM;
	r = read_lines(batch);
	if (r == 0)
		r = run_lines(batch);
	if (r == 0)
		*ret_reply = batch_reply(batch);
	return r;
}

/* {"failed": errno} stands for a batch that did not run. */
static int write_reply(int fd, int error, const json_t *reply)
{
	json_t *failed rf_autojson = json_pack("{s:i}", "failed", -error);
	char *text rf_autofree = rf_json_line(error ? failed : reply);

	return text ? rf_write_all(fd, text, strlen(text)) : -ENOMEM;
}

/* Groups first: they need the rights that go with the user. */
static int become_peer(int socket)
{
	static gid_t groups[GROUPS_MAX];
	socklen_t groups_size = sizeof(groups);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	if (peer.uid == geteuid())
		return 0;
	/* Root may ask any controller; what it gets is what that controller may do. */
	if (geteuid() != 0)
		return peer.uid == 0 ? 0 : -EPERM;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &groups_size) < 0 ||
		setgroups(groups_size / sizeof(*groups), groups) < 0 ||
		setresgid(peer.gid, peer.gid, peer.gid) < 0 ||
		setresuid(peer.uid, peer.uid, peer.uid) < 0)
		return -errno;
	return 0;
}

/* A number for every descriptor of the call beyond the standard ones, and nothing else open. */
static int keep_descriptors(struct rf_call *call, int *reply_fd)
{
	int first = 3 + (int)call->n_fds + 1;

	for (size_t i = 0; i <= call->n_fds; i++) {
		int *fd = i < call->n_fds ? &call->fds[i] : reply_fd;

		*fd = fcntl(*fd, F_DUPFD_CLOEXEC, first);
		if (*fd < 0)
			return -errno;
	}
	for (size_t i = 0; i <= call->n_fds; i++) {
		int *fd = i < call->n_fds ? &call->fds[i] : reply_fd;

		if (dup3(*fd, 3 + (int)i, O_CLOEXEC) < 0)
			return -errno;
		*fd = 3 + (int)i;
	}
	return close_range((unsigned int)first, ~0U, 0) < 0 ? -errno : 0;
}

static _Noreturn void run_child(
	struct rf_peer *peer, struct rf_call *call, struct batch *batch, int reply_fd, pid_t parent)
{
	json_t *reply = NULL;
	sigset_t none;
	int r;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	r = become_peer(rf_wire_fd(peer->wire));
	/* A change of identity clears it. */
	if (r == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent))
		r = -ESRCH;
	if (r == 0)
		r = keep_descriptors(call, &reply_fd);
	if (r == 0)
		r = run_batch(batch, &reply);
	r = write_reply(reply_fd, r, reply);
	_exit(r == 0 ? 0 : 1);
}

/* ---- in the controller ------------------------------------------------------------------------
 */

static void refuse_limit(struct rf_peer *peer, const char *name, uint64_t value)
{
	rf_peer_error(peer, RF_ERROR_LIMIT,
		json_pack("{s:s,s:I}", "limit", name, "value", (json_int_t)value));
}

static void refuse_failed(struct rf_peer *peer, uint64_t request_bytes, int error)
{
	struct rf_diag diag = {0};

	if (error == E2BIG) {
		refuse_limit(peer, "request_bytes", request_bytes);
		return;
	}
	if (error == EINVAL) {
		rf_peer_error(peer, RF_ERROR_INVALID_PARAMETER,
			json_pack("{s:s}", "parameter", "options"));
		return;
	}
	rf_diag_refuse(&diag, "file-batch", "the batch did not run: %s", strerror(error));
	rf_peer_refuse(peer, &diag, NULL);
}

static void answer(struct rf_peer *peer, const struct rf_files *files)
{
	int reply_fd = files->reply_fd;
	char *text rf_autofree = NULL;
	json_t *reply rf_autojson = NULL;
	json_error_t error;
	size_t size = 0;
	int r = lseek(reply_fd, 0, SEEK_SET) < 0 ? -errno : 0;

	if (r == 0)
		r = rf_read_all(reply_fd, RF_WIRE_MESSAGE_MAX_BYTES - 4096, &text, &size);
	if (r == -EFBIG) {
		refuse_limit(peer, "response", RF_WIRE_MESSAGE_MAX_BYTES);
		return;
	}
	if (r == 0)
		reply = rf_json_parse(text, size, &error);
	if (!json_is_object(reply)) {
		refuse_failed(peer, files->request_bytes, r < 0 ? -r : EIO);
		return;
	}
	if (json_object_get(reply, "failed"))
		refuse_failed(
			peer, files->request_bytes, (int)rf_json_get_u64(reply, "failed", EIO));
	else
		rf_peer_reply(peer, json_incref(reply), false);
}

static struct rf_files *files_free(struct rf_files *files)
{
	siginfo_t info;

	if (!files)
		return NULL;
	if (files->pid > 0) {
		(void)kill(files->pid, SIGKILL);
		(void)waitid(P_PID, (id_t)files->pid, &info, WEXITED);
	}
	sd_event_source_disable_unref(files->source);
	rf_close(files->pidfd);
	rf_close(files->reply_fd);
	free(files);
	return NULL;
}

static void files_free_p(struct rf_files **files)
{
	files_free(*files);
}

void rf_files_cancel(struct rf_peer *peer)
{
	peer->files = files_free(peer->files);
}

static int on_exit_of_child(sd_event_source *source rf_unused, int fd rf_unused,
	uint32_t revents rf_unused, void *userdata)
{
	struct rf_files *files = userdata;
	struct rf_peer *peer = files->peer;

	answer(peer, files);
	rf_files_cancel(peer);
	return 0;
}

/* 0, or -errno. */
static int start(struct rf_peer *peer, struct rf_call *call, struct batch *batch)
{
	struct rf_files *files rf_cleanup(files_free_p) = calloc(1, sizeof(*files));
	pid_t parent = getpid();
	int r;

	if (!files)
		return -ENOMEM;
	files->peer = peer;
	files->request_bytes = batch->options.request_bytes;
	files->pidfd = -1;
	files->reply_fd = memfd_create("ringfence-files", MFD_CLOEXEC);
	if (files->reply_fd < 0)
		return -errno;
	files->pid = fork();
	if (files->pid < 0)
		return -errno;
	if (files->pid == 0)
		run_child(peer, call, batch, files->reply_fd, parent);
	files->pidfd = pidfd_open(files->pid, 0);
	if (files->pidfd < 0)
		return -errno;
	r = sd_event_add_io(peer->service->event, &files->source, files->pidfd, EPOLLIN,
		on_exit_of_child, files);
	if (r < 0)
		return r;
	peer->files = RF_TAKE(files);
	return 0;
}

void rf_method_file_batch(struct rf_peer *peer, struct rf_call *call)
{
	struct batch batch rf_cleanup(batch_clear) = {0};
	struct wrong wrong = {0};
	int r;

	if (peer->files) {
		rf_peer_error(peer, RF_ERROR_BUSY, NULL);
		return;
	}
	if (read_parameters(peer->service, call, &batch, &wrong)) {
		if (wrong.ceiling)
			refuse_limit(peer, wrong.ceiling, wrong.max);
		else
			rf_peer_error(peer, RF_ERROR_INVALID_PARAMETER,
				json_pack("{s:s}", "parameter", wrong.parameter));
		return;
	}
	r = start(peer, call, &batch);
	if (r < 0)
		refuse_failed(peer, batch.options.request_bytes, -r);
}
