/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A line that a client sent: it becomes a request or a failure, and either has an answer. */

#include <string.h>

#include "base/json.h"
#include "fs/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool claim)
{
	if (!claim)
		abort();
}

static int find_fd(void *userdata, uint64_t number)
{
	(void)userdata;
	return number < 4 ? (int)number : -1;
}

static void answer(const struct rf_fs_line *line)
{
	static char content[] = "\xff\x01";
	struct rf_fs_entry entry = {.path = content, .type = RF_FS_TYPE_FILE, .has_stat = true};
	const struct rf_fs_result done = {
		.content = content,
		.content_size_bytes = 2,
		.has_stat = true,
		.entries = &entry,
		.n_entries = 1,
		.real_path = content,
		.removed = content,
		.removed_size_bytes = 3,
	};
	json_t *good rf_autojson = rf_fs_line_answer(line, &done, true);
	json_t *bad rf_autojson = rf_fs_line_answer(
		line, &(struct rf_fs_result){.error = 13, .code = RF_FS_CODE_ESCAPE}, true);
	char *good_text rf_autofree = rf_json_line(good);
	char *bad_text rf_autofree = rf_json_line(bad);

	check(good_text && bad_text && !strchr(good_text, '\n') && !strchr(bad_text, '\n'));
}

static void parse(const uint8_t *data, size_t size, size_t lift_bytes, struct rf_fs_line *ret_line)
{
	const struct rf_fs_line_options options = {
		.content_bytes = 64, .find_fd = find_fd, .lift_bytes = lift_bytes};
	char *text rf_autofree = malloc(size + 1);

	check(text);
	memcpy(text, data, size);
	text[size] = '\0';
	check(rf_fs_line_parse(text, size, &options, ret_line) == 0);
	check(ret_line->request.content_size_bytes <= 64 || ret_line->is_malformed);
}

/* Content decoded where it stands says what the same content says as a JSON string. */
static void compare(const struct rf_fs_line *line, const struct rf_fs_line *lifted)
{
	size_t size = line->request.content_size_bytes;

	check(line->is_malformed == lifted->is_malformed);
	if (line->is_malformed)
		return;
	check(size == lifted->request.content_size_bytes);
	check(size == 0 || memcmp(line->request.content, lifted->request.content, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rf_fs_line line, lifted;

	parse(data, size, SIZE_MAX, &line);
	parse(data, size, 1, &lifted);
	compare(&line, &lifted);
	if (line.is_malformed) {
		json_t *failure rf_autojson = rf_fs_line_answer(&line, &line.failure, true);
		char *text rf_autofree = rf_json_line(failure);

		check(line.failure.error != 0 && line.failure.code != RF_FS_CODE_NONE && text);
	} else {
		check(line.has_operation && line.request.path);
		answer(&line);
	}
	rf_fs_line_clear(&line);
	rf_fs_line_clear(&lifted);
	return 0;
}
