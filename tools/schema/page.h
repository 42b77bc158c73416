/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* 0, or 1 with a line on standard error. */
int print_page(const char *path);
