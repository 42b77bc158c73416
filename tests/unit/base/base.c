/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/place.h"
#include "base/say.h"
#include "base/strv.h"
#include "base/units.h"

Test(path, normalising_folds_what_can_be_folded)
{
	static const char *const all[][2] = {{"a//b/./c/", "a/b/c"}, {"/", "/"}, {"", "."},
		{".", "."}, {"a/../../b", "../b"}, {"/..", "/"}, {"/a/../..", "/"}, {"a/..", "."},
		{"../..", "../.."}, {"/a/b/..", "/a"}, {"..a/b..", "..a/b.."}, {"//a", "/a"}};

	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++) {
		char *path rf_autofree = rf_path_normalise(all[i][0]);

		cr_expect_str_eq(path, all[i][1], "%s: %s", all[i][0], path);
	}
}

Test(path, below_is_by_component)
{
	cr_assert_str_eq(rf_path_below("/a/b", "/a"), "b");
	cr_assert_str_eq(rf_path_below("/a", "/a"), "");
	cr_assert_str_eq(rf_path_below("/a", "/"), "a");
	cr_assert_null(rf_path_below("/ab", "/a"));
	cr_assert_null(rf_path_below("/a", "/a/b"));
	cr_assert(rf_path_is_within("/", "/"));
}

Test(path, parents_and_names)
{
	char *parent rf_autofree = rf_path_parent("/a/b");
	char *root rf_autofree = rf_path_parent("/a");
	char *joined rf_autofree = rf_path_join("/", "a");
	char *absolute rf_autofree = rf_path_join("/x", "/a");

	cr_assert_str_eq(parent, "/a");
	cr_assert_str_eq(root, "/");
	cr_assert_str_eq(joined, "/a");
	cr_assert_str_eq(absolute, "/a");
	cr_assert_str_eq(rf_path_name("/a/b"), "b");
}

Test(units, numbers_match_whole_or_not_at_all)
{
	static const char *const bad[] = {
		"", "-1", "+1", " 1", "1 ", "0x1", "18446744073709551616"};
	uint64_t value = 7;
	unsigned int mode;

	for (size_t i = 0; i < RF_ARRAY_SIZE(bad); i++)
		cr_expect(!rf_parse_u64(bad[i], &value), "%s", bad[i]);
	cr_assert(value == 7);
	cr_assert(rf_parse_u64("18446744073709551615", &value) && value == UINT64_MAX);
	cr_assert(rf_parse_duration("250ms", &value) && value == 250);
	cr_assert(rf_parse_duration("2h", &value) && value == 7200000);
	cr_assert(!rf_parse_duration("10", &value) && !rf_parse_duration("1w", &value));
	cr_assert(!rf_parse_duration("18446744073709551615d", &value));
	cr_assert(rf_parse_size("2GiB", &value) && value == 2ULL << 30);
	cr_assert(rf_parse_size("4096", &value) && value == 4096);
	cr_assert(!rf_parse_size("1.5G", &value) && !rf_parse_size("1k", &value));
	cr_assert(rf_parse_mode("7777", &mode) && mode == 07777);
	cr_assert(!rf_parse_mode("17777", &mode) && !rf_parse_mode("8", &mode));
}

Test(strv, lists_end_in_null_and_own_their_text)
{
	struct rf_strv list rf_autostrv = {0};

	for (unsigned int i = 0; i < 100; i++)
		cr_assert(rf_strv_addf(&list, "%u", i) == 0);
	cr_assert(list.count == 100 && list.items[100] == NULL);
	cr_assert(rf_strv_has(&list, "99") && !rf_strv_has(&list, "100"));
	rf_strv_clear(&list);
	cr_assert(list.count == 0 && list.items == NULL);
}

Test(strv, a_buffer_is_ended_by_a_nul)
{
	struct rf_buf buf rf_autobuf = {0};

	cr_assert(rf_buf_add(&buf, "", 0) == 0 && buf.data[0] == '\0');
	for (unsigned int i = 0; i < 1000; i++)
		cr_assert(rf_buf_addf(&buf, "%03u", i) == 0);
	cr_assert(buf.size == 3000 && buf.data[3000] == '\0');
}

Test(json, bytes_that_are_no_utf8_are_shown)
{
	json_t *text rf_autojson = rf_json_bytes("a\xff\xc3\xa9\0z", 6);
	json_t *surrogate rf_autojson = rf_json_text("\xed\xa0\x80");
	json_t *none rf_autojson = rf_json_text(NULL);

	cr_assert_str_eq(json_string_value(text), "a\\xff\xc3\xa9\\x00z");
	cr_assert_str_eq(json_string_value(surrogate), "\\xed\\xa0\\x80");
	cr_assert(json_is_null(none));
}

Test(json, reading_is_strict)
{
	static const char *const bad[] = {"{\"a\":1,\"a\":2}", "{} x", "\"\\u0000\"", "", "{"};
	json_error_t error;

	for (size_t i = 0; i < RF_ARRAY_SIZE(bad); i++)
		cr_expect_null(rf_json_parse(bad[i], strlen(bad[i]), &error), "%s", bad[i]);
}

Test(json, a_refusal_comes_back_the_same)
{
	struct rf_diag diag = {0};
	struct rf_diag back;
	json_t *json rf_autojson = NULL;

	cr_assert(rf_diag_refuse(&diag, "some-code", "message %d", 1) == RF_REFUSED);
	rf_diag_hint(&diag, "hint");
	rf_diag_at(&diag, "file", 3, 4);
	rf_diag_path(&diag, "/p");
	rf_diag_promise(&diag, "fs-deny");
	rf_diag_mechanism(&diag, "bpf-lsm", "hooks");
	json = rf_json_from_diag(&diag);
	rf_json_to_diag(json, &back);
	cr_assert(memcmp(diag.code, back.code, sizeof(diag.code)) == 0);
	cr_assert_str_eq(back.message, "message 1");
	cr_assert_str_eq(back.hint, "hint");
	cr_assert_str_eq(back.file, "file");
	cr_assert(back.line == 3 && back.column == 4);
	cr_assert_str_eq(back.path, "/p");
	cr_assert_str_eq(back.promise, "fs-deny");
	cr_assert_str_eq(back.missing, "hooks");
	/* A caller that does not care gets the answer all the same. */
	cr_assert(rf_diag_refuse(NULL, "x", "y") == RF_REFUSED);
}

Test(fd, a_memfd_is_sealed_and_closed_on_exec)
{
	int fd rf_autoclose = rf_memfd("t", "text", 4);
	char *text rf_autofree = NULL;

	cr_assert(fd >= 0);
	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	cr_assert(write(fd, "x", 1) < 0 && errno == EPERM);
	cr_assert(rf_read_all(fd, 100, &text, NULL) == 0);
	cr_assert_str_eq(text, "text");
	cr_assert(lseek(fd, 0, SEEK_SET) == 0);
	cr_assert(rf_read_all(fd, 3, &text, NULL) == -EFBIG);
}

Test(fd, descriptors_travel_with_their_message)
{
	int pair[2];
	int fds[2];
	char text[8];
	size_t n_fds = 9;

	cr_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	fds[0] = 0;
	fds[1] = 1;
	cr_assert(rf_send_fds(pair[0], "ab", 2, fds, 2) == 2);
	cr_assert(rf_receive_fds(pair[1], text, sizeof(text), fds, 2, &n_fds) == 2);
	cr_assert(n_fds == 2 && (fcntl(fds[0], F_GETFD) & FD_CLOEXEC));
	rf_close(fds[0]);
	rf_close(fds[1]);
	rf_close(pair[0]);
	cr_assert(rf_receive_fds(pair[1], text, sizeof(text), fds, 2, &n_fds) == 0);
	rf_close(pair[1]);
}

Test(clock, time_is_written_in_utc_with_milliseconds)
{
	char text[RF_TIME_TEXT_BYTES];

	rf_time_text(1796050800123456789ULL, text);
	cr_assert_str_eq(text, "2026-11-30T15:00:00.123Z");
	cr_assert(rf_monotonic_ns() <= rf_monotonic_ns());
}

Test(say, what_a_terminal_obeys_is_escaped)
{
	static const char *const all[][2] = {
		{"", ""},
		{"a\033[2J\r\n\t\177", "a\\x1b[2J\\x0d\\x0a\\x09\\x7f"},
		{"\xc2\x9b"
		 "2J\xc2\x85",
			"\\xc2\\x9b2J\\xc2\\x85"},
		{"\xc2\xa0\xc3\xa9", "\xc2\xa0\xc3\xa9"},
		{"\xe2\x80\x8e\xe2\x80\x8f", "\\xe2\\x80\\x8e\\xe2\\x80\\x8f"},
		{"\xe2\x80\xa8\xe2\x80\xae", "\\xe2\\x80\\xa8\\xe2\\x80\\xae"},
		{"\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9"},
		{"\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa", "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa"},
		{"\xff\xc0\xaf\xe2\x80", "\\xff\\xc0\\xaf\\xe2\\x80"},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
	};

	for (size_t i = 0; i < RF_ARRAY_SIZE(all); i++) {
		struct rf_buf shown rf_autobuf = {0};

		cr_assert_eq(rf_say_escape(&shown, all[i][0]), 0);
		cr_expect_str_eq(shown.data, all[i][1], "%zu: %s", i, shown.data);
	}
}

Test(place, a_runtime_directory_of_somebody_else_is_refused_by_name)
{
	char directory[] = "/tmp/rf-place-XXXXXX";
	char *runtime rf_autofree = NULL;
	char *wanted rf_autofree = NULL;
	struct rf_diag diag = {0};

	cr_assert_not_null(mkdtemp(directory));
	setenv("XDG_RUNTIME_DIR", directory, 1);
	/* Root's is not for others: what is used then is named, and so is its owner. */
	cr_assert_gt(asprintf(&wanted, "/tmp/ringfence-%u", 65533U), 0);
	cr_assert_eq(mkdir(wanted, 0700), 0);
	cr_assert_eq(rf_place_runtime(65533, &runtime, &diag), RF_REFUSED);
	cr_expect_str_eq(diag.code, "runtime-directory");
	cr_expect_str_eq(diag.path, wanted);
	cr_expect(strstr(diag.message, wanted) && strstr(diag.message, "belongs to uid "));
	cr_expect(strstr(diag.hint, "XDG_RUNTIME_DIR"));
	cr_expect_eq(rf_place_runtime(65533, &runtime, NULL), RF_REFUSED);
	cr_expect_null(runtime);
	(void)rmdir(wanted);
	(void)rmdir(directory);
}

Test(place, every_place_that_is_searched_is_named)
{
	char *searched rf_autofree = rf_place_searched();
	char *path rf_autofree = NULL;

	cr_assert_not_null(searched);
	cr_expect(strstr(searched, "/libexec/ringfence"));
	cr_expect_eq(rf_place_program("ringfence-no-such-program", &path), -ENOENT);
	cr_expect_null(path);
}
