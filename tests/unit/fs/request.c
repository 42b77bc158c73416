/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "fs/request.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/json.h"
#include "fs/encode.h"

static int find_fd(void *userdata, uint64_t number)
{
	(void)userdata;
	return number == 5 ? 50 : -1;
}

static const struct rf_fs_line_options options = {.content_bytes = 8, .find_fd = find_fd};

static void parse(const char *text, struct rf_fs_line *ret_line)
{
	char *copy rf_autofree = strdup(text);

	cr_assert_eq(rf_fs_line_parse(copy, strlen(copy), &options, ret_line), 0);
}

Test(request, every_member_reaches_the_request)
{
	struct rf_fs_line line;

	parse("{\"op\":\"write\",\"id\":7,\"path\":\"a/b\",\"content\":\"AAEC\",\"mode\":\"0640\","
	      "\"flags\":[\"O_CREAT\",\"O_EXCL\"],\"offset\":3,\"sync\":true,"
	      "\"mtime_ns\":\"-9223372036854775807\"}",
		&line);
	cr_assert_not(line.is_malformed, "%s", line.failure.message);
	cr_expect_eq(line.request.operation, RF_FS_WRITE);
	cr_expect_str_eq(line.request.path, "a/b");
	cr_expect_eq(line.request.content_size_bytes, 3);
	cr_expect_arr_eq(line.request.content, "\0\1\2", 3);
	cr_expect_eq(line.request.mode, 0640);
	cr_expect_eq(line.request.open_flags, O_CREAT | O_EXCL);
	cr_expect_eq(line.request.offset, 3);
	cr_expect_eq(line.request.mtime_ns, -INT64_MAX);
	cr_expect_eq(line.request.atime_ns, RF_FS_TIME_OMIT);
	cr_expect_eq(line.request.flags, RF_FS_HAS_MODE | RF_FS_HAS_TIMES | RF_FS_SYNC);
	cr_expect_eq(json_integer_value(line.id), 7);
	rf_fs_line_clear(&line);
}

Test(request, globs_have_lists_or_one_pattern)
{
	struct rf_fs_line line;

	parse("{\"op\":\"glob\",\"patterns\":[\"a\",{\"hex\":\"ff2a\"}],\"exclude\":\"b\"}", &line);
	cr_assert_not(line.is_malformed);
	cr_expect_str_eq(line.request.path, ".");
	cr_expect_str_eq(line.request.patterns[0], "a");
	cr_expect_str_eq(line.request.patterns[1], "\xff*");
	cr_expect_null(line.request.patterns[2]);
	cr_expect_str_eq(line.request.exclude[0], "b");
	rf_fs_line_clear(&line);
}

Test(request, descriptors_are_those_that_were_passed)
{
	struct rf_fs_line line;

	parse("{\"op\":\"read\",\"path\":\"a\",\"content_fd\":5}", &line);
	cr_assert_not(line.is_malformed);
	cr_expect_eq(line.request.content_fd, 50);
	rf_fs_line_clear(&line);
	parse("{\"op\":\"read\",\"path\":\"a\",\"content_fd\":6}", &line);
	cr_expect(line.is_malformed);
	rf_fs_line_clear(&line);
}

Test(request, what_is_not_understood_is_malformed)
{
	static const char *const texts[] = {"", "x", "[]", "null", "{", "{}", "{\"op\":\"read\"}",
		"{\"op\":\"fly\",\"path\":\"a\"}", "{\"op\":\"read\",\"path\":1}",
		"{\"op\":\"read\",\"path\":{\"hex\":\"0\"}}",
		"{\"op\":\"read\",\"path\":{\"hex\":\"00\"}}",
		"{\"op\":\"read\",\"path\":{\"hex\":\"61\",\"x\":1}}",
		"{\"op\":\"read\",\"path\":\"a\",\"path\":\"b\"}",
		"{\"op\":\"read\",\"path\":\"a\",\"what\":1}",
		"{\"op\":\"read\",\"path\":\"a\",\"mode\":\"0644\"}",
		"{\"op\":\"read\",\"path\":\"a\",\"id\":{}}",
		"{\"op\":\"read\",\"path\":\"a\",\"length\":\"1x\"}",
		"{\"op\":\"read\",\"path\":\"a\",\"length\":1.5}",
		"{\"op\":\"write\",\"path\":\"a\",\"content\":\"AA\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"content\":\"AB==\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"content\":\"\",\"text\":\"\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"mode\":\"0888\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"flags\":\"O_CREAT\"}",
		"{\"op\":\"copy\",\"path\":\"a\"}",
		"{\"op\":\"remove\",\"path\":\"a\",\"force\":1}"};

	for (size_t i = 0; i < RF_ARRAY_SIZE(texts); i++) {
		struct rf_fs_line line;

		parse(texts[i], &line);
		cr_expect(line.is_malformed, "%s", texts[i]);
		cr_expect_eq(line.failure.code, RF_FS_CODE_MALFORMED, "%s", texts[i]);
		cr_expect_eq(line.failure.error, EINVAL, "%s", texts[i]);
		rf_fs_line_clear(&line);
	}
}

Test(request, content_has_a_ceiling)
{
	struct rf_fs_line line;

	parse("{\"op\":\"write\",\"path\":\"a\",\"text\":\"12345678\"}", &line);
	cr_expect_not(line.is_malformed);
	rf_fs_line_clear(&line);
	parse("{\"op\":\"write\",\"path\":\"a\",\"text\":\"123456789\"}", &line);
	cr_expect(line.is_malformed);
	cr_expect_eq(line.failure.code, RF_FS_CODE_LIMIT);
	cr_expect_eq(line.failure.error, EFBIG);
	rf_fs_line_clear(&line);
	parse("{\"op\":\"write\",\"path\":\"a\",\"content\":\"MTIzNDU2Nzg5\"}", &line);
	cr_expect_eq(line.failure.code, RF_FS_CODE_LIMIT);
	rf_fs_line_clear(&line);
}

/* Where it stands or as a JSON string: the same request, or the same refusal. */
Test(request, content_that_is_lifted_says_the_same)
{
	static const char *const texts[] = {
		"{\"op\":\"write\",\"path\":\"a\",\"content\":\"AAEC\"}",
		"{\"content\" : \"AAEC\" ,\"op\":\"write\",\"path\":\"a\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"content\":\"\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"content\":\"A\\u0041EC\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"content\":\"A!\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"content\":\"MTIzNDU2Nzg5MDEyMw==\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"content\":\"AAEC\",\"content\":\"\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"content\":\"AAEC\",\"text\":\"\"}",
		"{\"op\":\"write\",\"path\":\"content\",\"text\":\"content\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"text\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}",
		"{\"text\":\"\\u00e9\\u20AC\\ud83d\\ude00\",\"op\":\"write\",\"path\":\"a\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"text\":\"\xc3\xa9 \xf0\x9f\x98\x80\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"text\":\"\xc3\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"text\":\"\t\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"text\":\"\\u0000\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"text\":\"\\ud83d\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"text\":\"\\ude00\\ud83d\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"text\":\"\\u12\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"text\":\"\\x\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"text\":\"\\u0031\\u0032345678\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"text\":\"123456789\"}",
		"{\"op\":\"write\",\"path\":{\"content\":\"AAEC\"}}",
		"{\"op\":\"read\",\"path\":\"a\",\"content\":\"AAEC\"}",
		"{\"op\":\"write\",\"path\":\"a\",\"content\":\"AAEC",
		"{\"op\":\"write\",\"path\":\"a\",\"content\":",
		"\"content\":\"AAEC\"",
	};
	struct rf_fs_line_options lifting = options;

	lifting.lift_bytes = 1;
	for (size_t i = 0; i < RF_ARRAY_SIZE(texts); i++) {
		char *copy rf_autofree = strdup(texts[i]);
		struct rf_fs_line plain, lifted;

		parse(texts[i], &plain);
		cr_assert_eq(rf_fs_line_parse(copy, strlen(copy), &lifting, &lifted), 0);
		cr_expect_eq(lifted.is_malformed, plain.is_malformed, "%s", texts[i]);
		cr_expect_eq(lifted.failure.code, plain.failure.code, "%s", texts[i]);
		cr_expect_eq(lifted.request.content_size_bytes, plain.request.content_size_bytes,
			"%s", texts[i]);
		cr_expect(plain.is_malformed || plain.request.content_size_bytes == 0 ||
				  memcmp(plain.request.content, lifted.request.content,
					  plain.request.content_size_bytes) == 0,
			"%s", texts[i]);
		rf_fs_line_clear(&plain);
		rf_fs_line_clear(&lifted);
	}
}

Test(answer, an_error_has_operation_path_errno_and_code)
{
	const struct rf_fs_result result = {
		.error = EACCES, .code = RF_FS_CODE_ESCAPE, .message = (char *)"read: no"};
	json_t *answer rf_autojson = NULL;
	char *text rf_autofree = NULL;
	struct rf_fs_line line;

	parse("{\"op\":\"read\",\"path\":{\"hex\":\"61ff\"},\"id\":\"i\"}", &line);
	answer = rf_fs_line_answer(&line, &result, true);
	text = rf_json_line(answer);
	cr_expect_str_eq(text,
		"{\"id\":\"i\",\"op\":\"read\",\"path\":\"a\\\\xff\",\"path_hex\":\"61ff\",\"ok\":false,"
		"\"error\":{\"operation\":\"read\",\"path\":\"a\\\\xff\",\"path_hex\":\"61ff\","
		"\"errno\":\"EACCES\",\"code\":\"escape\",\"message\":\"read: no\"}}");
	rf_fs_line_clear(&line);
}

Test(encode, base64_comes_back_as_it_went)
{
	uint8_t bytes[64];
	char text[128];

	for (size_t size = 0; size < sizeof(bytes); size++) {
		void *back rf_autofree = NULL;
		size_t back_size = 0;

		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)(i * 37 + size);
		rf_base64_encode(bytes, size, text);
		cr_assert_eq(strlen(text), rf_base64_size(size));
		cr_assert_eq(rf_base64_decode(text, strlen(text), &back, &back_size), 0);
		cr_assert_eq(back_size, size);
		cr_assert_eq(memcmp(back, bytes, size), 0);
	}
}

Test(encode, base64_is_read_strictly)
{
	static const char *const texts[] = {"A", "AA", "AAA", "=", "====", "A===", "AA=A",
		"AAAA=", "AB==", "AAB=", "A A=", "AA-_", "AAAA\n", "AA==AAAA"};

	for (size_t i = 0; i < RF_ARRAY_SIZE(texts); i++) {
		void *data = NULL;
		size_t size = 0;

		cr_expect_eq(rf_base64_decode(texts[i], strlen(texts[i]), &data, &size),
			RF_ENCODED_WRONG, "%s", texts[i]);
		cr_expect_null(data);
	}
}
