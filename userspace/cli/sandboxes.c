/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/sandboxes.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/place.h"
#include "base/say.h"
#include "base/units.h"
#include "cli/connect.h"
#include "wire/interface.h"

#define ID_PREFIX_MIN 4U
/* Asked at one time: each is a descriptor. */
#define BATCH 64U
/* In one directory; another user fills theirs as they like. */
#define SOCKETS_MAX 10000U
/* Between bind and listen a socket refuses connections too: only an old one is dead. */
#define DEAD_AFTER_S 10

struct place {
	char *path;
	/* Who must listen; -1: anybody. */
	long long uid;
};

struct places {
	struct place *items;
	size_t count;
};

static void places_clear(struct places *places)
{
	for (size_t i = 0; i < places->count; i++)
		free(places->items[i].path);
	free(places->items);
	*places = (struct places){0};
}

static int places_add(struct places *places, char *path_taken, long long uid)
{
	char *path rf_autofree = path_taken;
	struct place *grown;

	if (!path)
		return -ENOMEM;
	grown = reallocarray(places->items, places->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	places->items = grown;
	places->items[places->count++] = (struct place){RF_TAKE(path), uid};
	return 0;
}

static void closedir_p(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

static bool is_socket_name(const char *name)
{
	size_t length = strlen(name);

	return length > 5 && name[0] != '.' && strcmp(name + length - 5, ".sock") == 0;
}

/* The sockets of one runtime directory. A directory that is not there has none. */
static int add_private(struct places *places, const char *runtime, uid_t uid)
{
	char *path rf_autofree = rf_path_join(runtime, RF_PRIVATE_SOCKETS);
	DIR *directory rf_cleanup(closedir_p) = path ? opendir(path) : NULL;
	const struct dirent *entry;
	size_t count = 0;

	if (!path)
		return -ENOMEM;
	while (directory && count < SOCKETS_MAX && (entry = readdir(directory))) {
		int r;

		if (!is_socket_name(entry->d_name))
			continue;
		r = places_add(places, rf_path_join(path, entry->d_name), uid);
		if (r < 0)
			return r;
		count++;
	}
	return 0;
}

/* /run/user/UID/ringfence, for root. */
static int add_users(struct places *places)
{
	DIR *directory rf_cleanup(closedir_p) = opendir("/run/user");
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		char *runtime rf_autofree = NULL;
		uint64_t uid;
		int r;

		if (!rf_parse_u64(entry->d_name, &uid) || uid == 0 || uid > UINT32_MAX)
			continue;
		if (asprintf(&runtime, "/run/user/%s/ringfence", entry->d_name) < 0) {
			runtime = NULL;
			return -ENOMEM;
		}
		r = add_private(places, runtime, (uid_t)uid);
		if (r < 0)
			return r;
	}
	return 0;
}

static int find_places(struct places *ret_places)
{
	struct places places rf_cleanup(places_clear) = {0};
	const char *named = getenv("RINGFENCE_SOCKET");
	char *runtime rf_autofree = NULL;
	uid_t uid = geteuid();
	int r = places_add(&places, strdup(rf_service_socket()), named && *named ? -1 : 0);

	/* Without a runtime directory of one's own nothing private listens there. */
	if (r == 0 && rf_place_runtime(uid, &runtime, NULL) == 0)
		r = add_private(&places, runtime, uid);
	if (r == 0 && uid == 0)
		r = add_users(&places);
	if (r < 0)
		return r;
	*ret_places = places;
	places = (struct places){0};
	return 0;
}

/* Left by a controller that was killed; only below a directory of our own. */
static void remove_dead(const struct place *place)
{
	struct stat st;

	if (place->uid != (long long)geteuid() || lstat(place->path, &st) < 0 ||
		!S_ISSOCK(st.st_mode) || st.st_uid != geteuid() ||
		time(NULL) - st.st_mtime < DEAD_AFTER_S || strstr(place->path, "/private/") == NULL)
		return;
	(void)unlink(place->path);
}

/* NULL: nobody is there, or it does not take connections (counted). */
static struct rf_wire *open_place(const struct place *place, size_t *n_silent)
{
	struct rf_wire *wire = NULL;
	int fd rf_autoclose = rf_connect_socket(place->path, place->uid);

	if (fd == -ECONNREFUSED)
		remove_dead(place);
	if (fd == -EAGAIN) {
		rf_say("the controller at %s takes no connections", place->path);
		(*n_silent)++;
	}
	if (fd < 0 || rf_wire_new(fd, &wire) < 0)
		return NULL;
	fd = -1;
	return wire;
}

static int add_sandbox(struct rf_sandboxes *to, json_t *sandbox, const struct place *place)
{
	long long *uids;

	if (!rf_json_get_text(sandbox, "id"))
		return 0;
	uids = reallocarray(to->uids, to->sockets.count + 1, sizeof(*uids));
	if (!uids)
		return -ENOMEM;
	to->uids = uids;
	uids[to->sockets.count] = place->uid;
	if (rf_strv_add(&to->sockets, place->path) < 0 || json_array_append(to->list, sandbox) < 0)
		return -ENOMEM;
	return 0;
}

static int left_ms(uint64_t deadline_ns)
{
	uint64_t now = rf_monotonic_ns();

	return now < deadline_ns ? (int)((deadline_ns - now) / 1000000) + 1 : 0;
}

static int take_answer(struct rf_sandboxes *to, struct rf_wire *wire, const struct place *place,
	uint64_t deadline_ns)
{
	json_t *answer rf_autojson = NULL;
	const json_t *list;
	json_t *sandbox;
	size_t i;
	int fds[RF_WIRE_FDS_MAX];
	size_t n_fds = 0;
	int r = rf_wire_wait(wire, left_ms(deadline_ns), &answer, fds, &n_fds);

	while (n_fds > 0)
		rf_close(fds[--n_fds]);
	/* Gone meanwhile: it has no sandbox any more. */
	if (r == RF_WIRE_EOF)
		return 0;
	if (r != 0) {
		rf_say("the controller at %s did not answer: %s", place->path,
			r == -ETIMEDOUT ? "no word within two seconds" : "its answer is malformed");
		to->n_silent++;
		return 0;
	}
	list = json_object_get(json_object_get(answer, "parameters"), "sandboxes");
	json_array_foreach (list, i, sandbox) {
		r = add_sandbox(to, sandbox, place);
		if (r < 0)
			return r;
	}
	return 0;
}

/* All are asked before the first is waited for, so that their deadlines run at one time. */
static int ask_batch(struct rf_sandboxes *to, const struct place *places, size_t count)
{
	struct rf_wire *wires[BATCH] = {NULL};
	uint64_t deadline = rf_monotonic_ns() + RF_SANDBOXES_DEADLINE_MS * 1000000ULL;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		wires[i] = open_place(&places[i], &to->n_silent);
		if (wires[i])
			(void)rf_wire_call(wires[i], RF_METHOD_LIST, NULL, false, NULL, 0);
	}
	for (size_t i = 0; i < count; i++) {
		if (wires[i] && r == 0)
			r = take_answer(to, wires[i], &places[i], deadline);
		rf_wire_free(wires[i]);
	}
	return r;
}

int rf_sandboxes_find(struct rf_sandboxes *ret_sandboxes)
{
	struct rf_sandboxes sandboxes rf_autosandboxes = {.list = json_array()};
	struct places places rf_cleanup(places_clear) = {0};
	int r = sandboxes.list ? find_places(&places) : -ENOMEM;

	for (size_t at = 0; r == 0 && at < places.count; at += BATCH) {
		size_t left = places.count - at;

		r = ask_batch(&sandboxes, places.items + at, left < BATCH ? left : BATCH);
	}
	if (r < 0)
		return r;
	*ret_sandboxes = sandboxes;
	sandboxes = (struct rf_sandboxes){0};
	return 0;
}

void rf_sandboxes_clear(struct rf_sandboxes *sandboxes)
{
	json_decref(sandboxes->list);
	rf_strv_clear(&sandboxes->sockets);
	free(sandboxes->uids);
	*sandboxes = (struct rf_sandboxes){0};
}

/* Index of the one that is meant. */
static int choose(const struct rf_sandboxes *sandboxes, const char *id, size_t *ret_index,
	struct rf_diag *diag)
{
	size_t length = strlen(id);
	size_t n_found = 0;
	const json_t *sandbox;
	size_t i;

	json_array_foreach (sandboxes->list, i, sandbox) {
		const char *whole = rf_json_get_text(sandbox, "id");

		if (strcmp(whole, id) == 0) {
			*ret_index = i;
			return 0;
		}
		if (length >= ID_PREFIX_MIN && strncmp(whole, id, length) == 0 && n_found++ == 0)
			*ret_index = i;
	}
	if (n_found == 1)
		return 0;
	if (n_found > 1)
		return rf_diag_refuse(
			diag, "ambiguous-id", "%zu sandboxes begin with %s", n_found, id);
	rf_diag_refuse(diag, "not-found", "no sandbox %s%s", id,
		sandboxes->n_silent > 0 ? " among the controllers that answered" : "");
	if (length < ID_PREFIX_MIN)
		rf_diag_hint(diag, "an ID is given by at least %u characters", ID_PREFIX_MIN);
	return RF_REFUSED;
}

int rf_sandbox_connect(
	const char *id, char **ret_id, struct rf_wire **ret_wire, struct rf_diag *diag)
{
	struct rf_sandboxes sandboxes rf_autosandboxes = {0};
	char *whole rf_autofree = NULL;
	int fd rf_autoclose = -1;
	size_t index = 0;
	int r = rf_sandboxes_find(&sandboxes);

	if (r == 0)
		r = choose(&sandboxes, id, &index, diag);
	if (r != 0)
		return r;
	if (index >= sandboxes.sockets.count)
		return -EINVAL;
	whole = strdup(rf_json_get_text(json_array_get(sandboxes.list, index), "id"));
	if (!whole)
		return -ENOMEM;
	fd = rf_connect_socket(sandboxes.sockets.items[index], sandboxes.uids[index]);
	if (fd < 0)
		return rf_diag_refuse(
			diag, "not-found", "no sandbox %s: its controller has gone", id);
	r = rf_wire_new(fd, ret_wire);
	if (r < 0)
		return r;
	fd = -1;
	*ret_id = RF_TAKE(whole);
	return 0;
}
