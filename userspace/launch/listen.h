/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answers one listen() that the filter handed to the launcher: EPERM for an IP socket that is not
 * bound to the loopback, else the kernel goes on. Never blocks on the caller.
 */
void rf_listen_answer(int listener_fd);
