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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct rf_fs_line_options options = {.content_bytes = 64, .find_fd = find_fd};
	struct rf_fs_line line;

	check(rf_fs_line_parse((const char *)data, size, &options, &line) == 0);
	if (line.is_malformed) {
		json_t *failure rf_autojson = rf_fs_line_answer(&line, &line.failure, true);
		char *text rf_autofree = rf_json_line(failure);

		check(line.failure.error != 0 && line.failure.code != RF_FS_CODE_NONE && text);
	} else {
		check(line.has_operation && line.request.path);
		check(line.request.content_size_bytes <= options.content_bytes);
		answer(&line);
	}
	rf_fs_line_clear(&line);
	return 0;
}
