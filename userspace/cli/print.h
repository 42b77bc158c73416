/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Standard output of the subcommands. */

#include <jansson.h>

/* Indented JSON. 0 or -ENOMEM. */
int rf_print_json(const json_t *json);
/* Escaped as rf_say_escape() does it: names and arguments are somebody else's. */
void rf_print_text(const char *text);
/* The same cut or filled to a width, and a blank; NULL is printed as "-". */
void rf_print_column(const char *text, int width);
/* A list of words, with a blank between. */
void rf_print_words(const json_t *words);
/* Answers to --why, a line each. */
void rf_print_why(const json_t *answers);
/* A plan for people. */
void rf_print_plan(const json_t *plan);
