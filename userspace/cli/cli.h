/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The subcommands of ringfence. Each gets argv with its own name first and returns the status. */

/* Bit per standard stream that was closed when the program started (we hold /dev/null there). */
unsigned int rf_cli_closed_streams(void);

/* Ringfence refused or failed, whatever the subcommand. */
#define RF_STATUS_REFUSED 125

/* Stops this process as SIGTSTP, which the caller has blocked, would. */
void rf_cli_stop_self(void);

int rf_cli_run(int argc, char **argv);
int rf_cli_plan(int argc, char **argv);
int rf_cli_doctor(int argc, char **argv);
int rf_cli_ps(int argc, char **argv);
int rf_cli_kill(int argc, char **argv);
int rf_cli_freeze(int argc, char **argv);
int rf_cli_thaw(int argc, char **argv);
int rf_cli_sweep(int argc, char **argv);
int rf_cli_fs(int argc, char **argv);
int rf_cli_bwrap(int argc, char **argv);
