/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/place.h"
#include "service/service.h"

#define BACKLOG 64
#define PEERS_MAX 256U
#define DIRECTORY_RETRIES 10

static unsigned int count_peers(const struct rf_service *service)
{
	unsigned int n = 0;

	for (const struct rf_peer *at = service->peers; at; at = at->next)
		n++;
	return n;
}

static int on_connection(
	sd_event_source *source rf_unused, int fd, uint32_t revents rf_unused, void *userdata)
{
	struct rf_service *service = userdata;
	int socket = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct rf_peer *peer;

	if (socket < 0)
		return 0;
	if (count_peers(service) >= PEERS_MAX) {
		rf_close(socket);
		return 0;
	}
	(void)rf_peer_new(service, socket, &peer);
	return 0;
}

static int make_address(const char *path, struct sockaddr_un *ret_address)
{
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(ret_address->sun_path))
		return -ENAMETOOLONG;
	memcpy(ret_address->sun_path, path, strlen(path) + 1);
	return 0;
}

/* Bound under another name and renamed once it listens: a socket that refuses is a dead one. */
static int bind_socket(int fd, const char *path)
{
	char *bound rf_autofree = NULL;
	struct sockaddr_un address;
	mode_t mask;
	int r;

	if (asprintf(&bound, "%s.new", path) < 0) {
		bound = NULL;
		return -ENOMEM;
	}
	r = make_address(bound, &address);
	if (r < 0)
		return r;
	/* Left by a dead controller that had this pid. */
	(void)unlink(bound);
	mask = umask(0177);
	r = bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(mask);
	if (r == 0 && (listen(fd, BACKLOG) < 0 || rename(bound, path) < 0))
		r = -errno;
	if (r < 0)
		(void)unlink(bound);
	return r;
}

/* NUMBER.sock.new of a controller that died between bind and rename. */
static bool is_half_made(const char *path)
{
	int pid;

	return sscanf(rf_path_name(path), "%d.sock.new", &pid) == 1 && kill(pid, 0) < 0 &&
	       errno == ESRCH;
}

static bool is_dead(const char *path)
{
	int fd rf_autoclose = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;

	if (fd < 0 || make_address(path, &address) < 0)
		return false;
	return connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 &&
	       errno == ECONNREFUSED;
}

void rf_service_sweep_sockets(const struct rf_service *service)
{
	char *pattern rf_autofree = NULL;
	glob_t found = {0};

	if (asprintf(&pattern, "%s/" RF_PRIVATE_SOCKETS "/*.sock*", service->controller->runtime) <
		0) {
		pattern = NULL;
		return;
	}
	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			const char *dot = strrchr(found.gl_pathv[i], '.');
			bool is_new = dot && strcmp(dot, ".new") == 0;

			if (is_new ? is_half_made(found.gl_pathv[i]) : is_dead(found.gl_pathv[i]))
				(void)unlink(found.gl_pathv[i]);
		}
	}
	globfree(&found);
}

static char *socket_directory(const struct rf_service *service)
{
	char *directory = NULL;

	if (asprintf(&directory, "%s/" RF_PRIVATE_SOCKETS, service->controller->runtime) < 0)
		return NULL;
	return directory;
}

/*
 * Another controller of the same user, the last one, may remove the empty directories between our
 * mkdir and our bind: then again.
 */
static int listen_in_directory(struct rf_service *service, const char *directory)
{
	int r = -ENOENT;

	for (int i = 0; r == -ENOENT && i < DIRECTORY_RETRIES; i++) {
		char *runtime rf_autofree = NULL;

		r = rf_place_runtime(geteuid(), &runtime, NULL);
		if (r == RF_REFUSED)
			r = -EPERM;
		if (r == 0 && mkdir(directory, 0700) < 0 && errno != EEXIST)
			r = -errno;
		if (r == 0)
			r = bind_socket(service->listen_fd, service->listen_path);
	}
	return r;
}

int rf_service_listen(struct rf_service *service)
{
	char *directory rf_autofree = socket_directory(service);
	int r;

	if (service->listen_fd >= 0)
		return 0;
	if (!directory)
		return -ENOMEM;
	if (asprintf(&service->listen_path, "%s/%d.sock", directory, (int)getpid()) < 0) {
		service->listen_path = NULL;
		return -ENOMEM;
	}
	service->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (service->listen_fd < 0)
		return -errno;
	r = listen_in_directory(service, directory);
	if (r < 0)
		return r;
	r = sd_event_add_io(service->event, &service->listen_source, service->listen_fd, EPOLLIN,
		on_connection, service);
	return r < 0 ? r : 0;
}

/* An ordinary user's may lie in /tmp: the last controller leaves nothing there. */
static void remove_directories(const struct rf_service *service)
{
	char *directory rf_autofree = socket_directory(service);

	if (directory)
		(void)rmdir(directory);
	(void)rmdir(service->controller->runtime);
}

void rf_service_unlisten(struct rf_service *service)
{
	service->listen_source = sd_event_source_disable_unref(service->listen_source);
	service->listen_fd = rf_close(service->listen_fd);
	if (service->listen_path)
		(void)unlink(service->listen_path);
	if (service->controller && geteuid() != 0)
		remove_directories(service);
	free(service->listen_path);
	service->listen_path = NULL;
}
