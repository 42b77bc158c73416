/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "wire/text.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/json.h"

static void expect_round_trip(const char *text)
{
	json_t *json rf_autojson = rf_wire_text(text);
	char *back rf_autofree = NULL;

	cr_assert_not_null(json);
	cr_assert_eq(rf_wire_text_get(json, &back), 0);
	cr_assert_str_eq(back, text);
}

Test(wire_text, every_text_comes_back)
{
	char all[256];

	for (int i = 1; i < 256; i++)
		all[i - 1] = (char)i;
	all[255] = '\0';
	expect_round_trip("");
	expect_round_trip("plain");
	expect_round_trip("caf\xc3\xa9 \\x41");
	expect_round_trip("\xff\xfe");
	expect_round_trip("cut \xc3");
	expect_round_trip(all);
}

Test(wire_text, utf8_stays_readable)
{
	json_t *json rf_autojson = rf_wire_text("caf\xc3\xa9");

	cr_assert(json_is_string(json));
}

Test(wire_text, other_shapes_are_invalid)
{
	static const char *const bad[] = {"null", "1", "[]", "{}", "{\"hex\":1}", "{\"hex\":\"4\"}",
		"{\"hex\":\"4g\"}", "{\"hex\":\"00\"}", "{\"hex\":\"4A\"}"};

	for (size_t i = 0; i < RF_ARRAY_SIZE(bad); i++) {
		json_error_t error;
		json_t *json rf_autojson = rf_json_parse(bad[i], strlen(bad[i]), &error);
		char *text = NULL;

		cr_assert_not_null(json);
		cr_expect_eq(rf_wire_text_get(json, &text), RF_WIRE_TEXT_INVALID, "%s", bad[i]);
		cr_expect_null(text);
	}
}

Test(wire_text, lists)
{
	static const char *const words[] = {"a", "\xff", NULL};
	json_t *list rf_autojson = rf_wire_texts(words);
	json_t *empty rf_autojson = rf_wire_texts(NULL);

	cr_assert_eq(json_array_size(list), 2);
	cr_assert(json_is_object(json_array_get(list, 1)));
	cr_assert_eq(json_array_size(empty), 0);
}
