/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/strv.h"
#include "policy/git_config.h"

static int take(void *data, const char *key, const char *value)
{
	return rf_strv_addf(data, "%s%s%s", key, value ? "=" : "", value ? value : "");
}

static void reads(const char *text, const char *const *expected)
{
	struct rf_strv settings rf_autostrv = {0};
	size_t count = 0;

	cr_assert(rf_git_config_parse(text, strlen(text), take, &settings) == 0, "%s", text);
	for (; expected[count]; count++) {
		cr_assert(count < settings.count, "%s", text);
		cr_assert_str_eq(settings.items[count], expected[count]);
	}
	cr_assert(settings.count == count, "%s", text);
}
#define READS(text, ...) reads(text, (const char *const[]){__VA_ARGS__, NULL})

Test(git_config, settings_are_read_as_git_reads_them)
{
	READS("[core]\n\thooksPath = hk\n", "core.hookspath=hk");
	READS("[core] hooksPath=hk", "core.hookspath=hk");
	READS("[CORE]\r\n\tHooksPath = hk\r\n", "core.hookspath=hk");
	READS("\xef\xbb\xbf[core]\n\ta = b\n\tc\n", "core.a=b", "core.c");
	READS("# x\n; y\n[a]\n b = c # d\n e = f;g\n", "a.b=c", "a.e=f");
	READS("[a]\n b = \"c # d\"  e  f \n", "a.b=c # d  e  f");
	READS("[a]\n b = c\\\nd\n", "a.b=cd");
	READS("[a]\n b = \\\"x\\\\y\\tz\n", "a.b=\"x\\y\tz");
	READS("[a]\n b =\n", "a.b=");
	READS("[includeIf \"gitdir:~/X/\"]\n path = ../y\n", "includeif.gitdir:~/X/.path=../y");
	READS("[branch \"a\\\"b\"] c = d\n[branch.Old]\n e\n", "branch.a\"b.c=d", "branch.old.e");
}

Test(git_config, nothing_is_there_in_an_empty_file)
{
	struct rf_strv settings rf_autostrv = {0};

	cr_assert(rf_git_config_parse("", 0, take, &settings) == 0);
	cr_assert(rf_git_config_parse("\n[a]\n# b", 8, take, &settings) == 0);
	cr_assert(settings.count == 0);
}

Test(git_config, what_git_refuses_is_refused)
{
	static const char *const bad[] = {"a = b\n", "[core\n", "[core", "[co re]\n", "[a \"b]\n",
		"[a \"b\" ]\n", "[a]\n= b\n", "[a]\n1b = c\n", "[a]\nb c\n", "[a]\nb = \"c\n",
		"[a]\nb = \\x\n", "[a]\nb = \\", "[a_b]\n", "]\n", NULL};
	struct rf_strv settings rf_autostrv = {0};

	for (size_t i = 0; bad[i]; i++)
		cr_assert(rf_git_config_parse(bad[i], strlen(bad[i]), take, &settings) == -EBADMSG,
			"%s", bad[i]);
	cr_assert(rf_git_config_parse("[a]\nb = \0c\n", 11, take, &settings) == -EBADMSG);
}

static int stop(void *data, const char *key, const char *value)
{
	(void)key;
	(void)value;
	++*(int *)data;
	return -ECANCELED;
}

Test(git_config, a_callback_can_end_it)
{
	int calls = 0;

	cr_assert(rf_git_config_parse("[a]\nb\nc\n", 8, stop, &calls) == -ECANCELED);
	cr_assert(calls == 1);
}
