/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "launch/spec.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"

/* is_bad is sticky: the caller reads on and looks at it once. */
struct rf_reader {
	char *next;
	size_t left_bytes;
	bool is_bad;
};

static void rf_reader_copy(struct rf_reader *reader, void *target, size_t size_bytes)
{
	if (reader->is_bad || reader->left_bytes < size_bytes) {
		reader->is_bad = true;
		memset(target, 0, size_bytes);
		return;
	}
	memcpy(target, reader->next, size_bytes);
	reader->next += size_bytes;
	reader->left_bytes -= size_bytes;
}

static uint32_t rf_reader_u32(struct rf_reader *reader)
{
	uint32_t value;

	rf_reader_copy(reader, &value, sizeof(value));
	return value;
}

/* A text of known length whose terminator must be there and must be the first one. */
static char *rf_reader_text(struct rf_reader *reader, size_t length)
{
	char *text = reader->next;

	if (reader->is_bad || length >= reader->left_bytes || memchr(text, 0, length) ||
		text[length] != 0) {
		reader->is_bad = true;
		return NULL;
	}
	reader->next += length + 1;
	reader->left_bytes -= length + 1;
	return text;
}

static char *rf_reader_string(struct rf_reader *reader)
{
	return rf_reader_text(reader, rf_reader_u32(reader));
}

static char *rf_reader_terminated(struct rf_reader *reader)
{
	char *end = reader->is_bad ? NULL : memchr(reader->next, 0, reader->left_bytes);

	if (!end) {
		reader->is_bad = true;
		return NULL;
	}
	return rf_reader_text(reader, (size_t)(end - reader->next));
}

/* Room for count items that each take at least item_bytes of what is left; NULL is bad. */
static void *rf_reader_room(
	struct rf_reader *reader, size_t count, size_t item_bytes, size_t room_bytes)
{
	void *room;

	if (reader->is_bad || count > reader->left_bytes / item_bytes) {
		reader->is_bad = true;
		return NULL;
	}
	room = calloc(count + 1, room_bytes);
	if (!room)
		reader->is_bad = true;
	return room;
}

static int rf_spec_load(int fd, char **ret_data, struct rf_reader *ret_reader)
{
	char *data rf_autofree = NULL;
	struct stat status;
	size_t size, done = 0;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (status.st_size < 0 || (uint64_t)status.st_size > RF_SPEC_MAX_BYTES)
		return -EFBIG;
	size = (size_t)status.st_size;
	data = malloc(size + 1);
	if (!data)
		return -ENOMEM;
	while (done < size) {
		ssize_t n = pread(fd, data + done, size - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		done += (size_t)n;
	}
	*ret_reader = (struct rf_reader){.next = data, .left_bytes = size};
	*ret_data = RF_TAKE(data);
	return 0;
}

static bool rf_spec_is_version(uint32_t magic, uint32_t version)
{
	return magic == RF_LAUNCH_MAGIC && version == RF_LAUNCH_VERSION;
}

/* One name: it is removed below the cgroup base, so it may not lead elsewhere. */
static bool rf_spec_is_leaf(const char *leaf)
{
	return !strchr(leaf, '/') && strcmp(leaf, ".") != 0 && strcmp(leaf, "..") != 0;
}

static void rf_spec_parse_keeper(struct rf_reader *reader, struct rf_keeper_plan *plan)
{
	rf_reader_copy(reader, &plan->head, sizeof(plan->head));
	if (!rf_spec_is_version(plan->head.magic, plan->head.version) ||
		plan->head.n_fds_end > RF_PASS_FD_MAX)
		reader->is_bad = true;
	plan->leaf = rf_reader_terminated(reader);
	plan->stage = rf_reader_terminated(reader);
	if (!reader->is_bad && !rf_spec_is_leaf(plan->leaf))
		reader->is_bad = true;
	plan->steps = rf_reader_room(reader, plan->head.n_stage_steps,
		sizeof(struct rf_stage_step) + 2, sizeof(*plan->steps));
	for (uint32_t i = 0; i < plan->head.n_stage_steps && !reader->is_bad; i++) {
		rf_reader_copy(reader, &plan->steps[i].step, sizeof(plan->steps[i].step));
		plan->steps[i].source = rf_reader_terminated(reader);
		plan->steps[i].destination = rf_reader_terminated(reader);
	}
}

int rf_spec_read_keeper(int fd, struct rf_keeper_plan *ret_plan)
{
	struct rf_keeper_plan plan rf_autokeeperplan = {0};
	struct rf_reader reader = {0};
	int r;

	r = rf_spec_load(fd, &plan.data, &reader);
	if (r < 0)
		return r;
	rf_spec_parse_keeper(&reader, &plan);
	if (reader.is_bad)
		return -EBADMSG;
	*ret_plan = plan;
	plan = (struct rf_keeper_plan){0};
	return 0;
}

void rf_spec_clear_keeper(struct rf_keeper_plan *plan)
{
	free(plan->steps);
	free(plan->data);
}

static struct rf_spec_path *rf_spec_parse_paths(struct rf_reader *reader, uint32_t count)
{
	struct rf_spec_path *paths =
		rf_reader_room(reader, count, 2 * sizeof(uint32_t) + 1, sizeof(*paths));

	for (uint32_t i = 0; i < count && !reader->is_bad; i++) {
		paths[i].value = rf_reader_u32(reader);
		paths[i].path = rf_reader_string(reader);
	}
	return paths;
}

static char **rf_spec_parse_strings(struct rf_reader *reader, uint32_t count)
{
	char **strings = rf_reader_room(reader, count, sizeof(uint32_t) + 1, sizeof(*strings));

	for (uint32_t i = 0; i < count && !reader->is_bad; i++)
		strings[i] = rf_reader_string(reader);
	return strings;
}

static struct rf_spec_pass *rf_spec_parse_pass_fds(struct rf_reader *reader, uint32_t count)
{
	struct rf_spec_pass *pass_fds =
		rf_reader_room(reader, count, sizeof(*pass_fds), sizeof(*pass_fds));

	if (count > RF_PASS_FDS_MAX)
		reader->is_bad = true;
	for (uint32_t i = 0; i < count && !reader->is_bad; i++) {
		rf_reader_copy(reader, &pass_fds[i], sizeof(pass_fds[i]));
		if (pass_fds[i].from < RF_KEEPER_FIRST_FREE || pass_fds[i].from > RF_PASS_FD_MAX ||
			pass_fds[i].to < RF_PASS_FD_MIN || pass_fds[i].to > RF_PASS_FD_MAX)
			reader->is_bad = true;
	}
	return pass_fds;
}

static void rf_spec_parse_filter(struct rf_reader *reader, struct rf_spec_filter *filter)
{
	uint32_t count;

	filter->flags = rf_reader_u32(reader);
	count = rf_reader_u32(reader);
	if ((filter->flags & ~(SECCOMP_FILTER_FLAG_LOG | SECCOMP_FILTER_FLAG_SPEC_ALLOW |
				     SECCOMP_FILTER_FLAG_NEW_LISTENER)) ||
		count == 0 || count > BPF_MAXINSNS) {
		reader->is_bad = true;
		return;
	}
	filter->program.len = (unsigned short)count;
	filter->program.filter = rf_reader_room(
		reader, count, sizeof(struct sock_filter), sizeof(struct sock_filter));
	if (!reader->is_bad)
		rf_reader_copy(reader, filter->program.filter, count * sizeof(struct sock_filter));
}

static struct rf_spec_place *rf_spec_parse_places(struct rf_reader *reader, uint32_t count)
{
	struct rf_spec_place *places = rf_reader_room(
		reader, count, 2 * sizeof(uint64_t) + sizeof(uint32_t) + 1, sizeof(*places));

	for (uint32_t i = 0; i < count && !reader->is_bad; i++) {
		rf_reader_copy(reader, &places[i].dev, sizeof(places[i].dev));
		rf_reader_copy(reader, &places[i].ino, sizeof(places[i].ino));
		places[i].path = rf_reader_string(reader);
	}
	return places;
}

static void rf_spec_parse_sandbox(struct rf_reader *reader, struct rf_sandbox *sandbox)
{
	const struct rf_sandbox_spec *head = &sandbox->head;

	rf_reader_copy(reader, &sandbox->head, sizeof(sandbox->head));
	if (!rf_spec_is_version(head->magic, head->version) || head->n_args == 0)
		reader->is_bad = true;
	sandbox->directories = rf_spec_parse_paths(reader, head->n_directories);
	sandbox->rules = rf_spec_parse_paths(reader, head->n_rules);
	sandbox->directory = rf_reader_string(reader);
	sandbox->program = rf_reader_string(reader);
	sandbox->argv = rf_spec_parse_strings(reader, head->n_args);
	sandbox->environment = rf_spec_parse_strings(reader, head->n_environment);
	sandbox->pass_fds = rf_spec_parse_pass_fds(reader, head->n_pass_fds);
	sandbox->filters = rf_reader_room(
		reader, head->n_filters, 2 * sizeof(uint32_t), sizeof(*sandbox->filters));
	for (uint32_t i = 0; i < head->n_filters && !reader->is_bad; i++)
		rf_spec_parse_filter(reader, &sandbox->filters[i]);
	sandbox->places = rf_spec_parse_places(reader, head->n_places);
	sandbox->staged = "";
	if (head->flags & RF_SANDBOX_STAGED)
		sandbox->staged = rf_reader_string(reader);
}

int rf_spec_read_sandbox(int fd, struct rf_sandbox *ret_sandbox)
{
	struct rf_sandbox sandbox rf_autosandbox = {0};
	struct rf_reader reader = {0};
	int r;

	r = rf_spec_load(fd, &sandbox.data, &reader);
	if (r < 0)
		return r;
	rf_spec_parse_sandbox(&reader, &sandbox);
	if (reader.is_bad)
		return -EBADMSG;
	*ret_sandbox = sandbox;
	sandbox = (struct rf_sandbox){0};
	return 0;
}

void rf_spec_clear_sandbox(struct rf_sandbox *sandbox)
{
	for (uint32_t i = 0; sandbox->filters && i < sandbox->head.n_filters; i++)
		free(sandbox->filters[i].program.filter);
	free(sandbox->directories);
	free(sandbox->rules);
	free(sandbox->argv);
	free(sandbox->environment);
	free(sandbox->pass_fds);
	free(sandbox->filters);
	free(sandbox->places);
	free(sandbox->data);
}
