/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The syntax of git's configuration files (git-config(1), config.c of git), which whoever holds a
 * git directory may have written. It is read to find what else must stay closed; nothing is run.
 */

#include <stddef.h>

/*
 * One setting: section and name in lower case, a subsection as it was written
 * ("includeif.gitdir:~/x/.path"); value is NULL where only a name stands. Anything but 0 ends it.
 */
typedef int rf_git_setting(void *data, const char *key, const char *value);

/* 0, -EBADMSG where git would refuse the file, -ENOMEM, or what setting returned. */
int rf_git_config_parse(const char *text, size_t size_bytes, rf_git_setting *setting, void *data);
