/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Lists of keys in a manual page. A page says where they belong by comments of scdoc, and what is
 * between them is replaced:
 *
 *	; keys SECTION		the keys of a section of the policy; "top" is outside of every
 *section ; options		the options that say one key each ; end
 */

#include "tools/schema/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "policy/keys.h"

/* Behind the tab. */
#define TEXT_COLUMNS 92

struct entry {
	const char *name;
	enum rf_key_type type;
	const char *option;
	/* Of the option; NULL: takes none. */
	const char *value;
	bool is_apart;
	const char *text;
};

static const struct entry entries[] = {
#define RF_KEY(name, type, option, value, member, help, text) \
	{name, RF_KEY_##type, option, value, false, text},
#define RF_KEY_APART(name, type, option, member, help, text) \
	{name, RF_KEY_##type, option, NULL, true, text},
#include "policy/keys.def"
};

static void close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

/* Indented, filled; an empty line separates paragraphs. */
static void print_text(const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t length = strcspn(text, " \n");

		if (column > 0 && column + 1 + length > TEXT_COLUMNS) {
			putchar('\n');
			column = 0;
		}
		fputs(column > 0 ? " " : "\t", stdout);
		printf("%.*s", (int)length, text);
		column += length + (column > 0);
		text += length;
		if (text[0] == '\n' && text[1] == '\n') {
			fputs("\n\n", stdout);
			column = 0;
		}
		text += strspn(text, " \n");
	}
	putchar('\n');
}

/* "a list of paths" without its article. */
static const char *expected(enum rf_key_type type)
{
	const char *text = rf_key_expects(type);

	return strncmp(text, "a ", 2) == 0 ? text + 2 : text;
}

/* Is the key one of the section's? Its own name there goes to *ret_name. */
static bool is_in(const struct entry *entry, const char *section, const char **ret_name)
{
	const char *dot = strchr(entry->name, '.');
	size_t length = strlen(section);

	*ret_name = dot ? dot + 1 : entry->name;
	if (!dot)
		return strcmp(section, "top") == 0;
	return (size_t)(dot - entry->name) == length && strncmp(entry->name, section, length) == 0;
}

static void print_keys(const char *section)
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(entries); i++) {
		const char *name;

		if (!is_in(&entries[i], section, &name))
			continue;
		printf("\n*%s*: %s (*--%s*)\n", name, expected(entries[i].type), entries[i].option);
		print_text(entries[i].text);
	}
	putchar('\n');
}

static void print_options(void)
{
	for (size_t i = 0; i < RF_ARRAY_SIZE(entries); i++) {
		const struct entry *entry = &entries[i];

		if (entry->is_apart)
			continue;
		printf("\n*--%s*", entry->option);
		if (entry->value)
			printf(" _%s_", entry->value);
		putchar('\n');
		print_text(entry->text);
		if (rf_key_is_list(entry->type))
			print_text("Repeatable.");
	}
	putchar('\n');
}

int print_page(const char *path)
{
	FILE *file rf_cleanup(close_file) = fopen(path, "re");
	bool is_made = false;
	char line[4096];

	if (!file) {
		perror(path);
		return 1;
	}
	while (fgets(line, sizeof(line), file)) {
		is_made = is_made && strcmp(line, "; end\n") != 0;
		if (!is_made)
			fputs(line, stdout);
		if (strncmp(line, "; keys ", 7) == 0) {
			line[strcspn(line, "\n")] = '\0';
			print_keys(line + 7);
			is_made = true;
		} else if (strcmp(line, "; options\n") == 0) {
			print_options();
			is_made = true;
		}
	}
	return fflush(stdout) != 0;
}
