/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Every ceiling on a quantity that a user controls. The error that a ceiling causes prints it. */

#define RF_POLICY_FILE_MAX_BYTES (16U * 1024 * 1024)
#define RF_POLICY_RULES_MAX 100000U
#define RF_PATH_MAX_BYTES 4096U
#define RF_NAME_MAX_BYTES 255U
#define RF_ARGUMENTS_MAX_BYTES (16U * 1024 * 1024)
#define RF_ENVIRONMENT_MAX_BYTES (1024U * 1024)
#define RF_PASS_FD_MIN 3
#define RF_PASS_FD_MAX 65535
#define RF_PASS_FDS_MAX 200U
/* One message on the wire, without its terminating NUL. */
#define RF_WIRE_MESSAGE_MAX_BYTES (32U * 1024 * 1024)
/* SCM_RIGHTS carries 253 a message. */
#define RF_WIRE_FDS_MAX 253U
#define RF_TIMEOUT_MIN_MS 10ULL
#define RF_DURATION_MAX_MS (366ULL * 24 * 3600 * 1000)
#define RF_GRACE_DEFAULT_MS 2000ULL
#define RF_GRACE_MAX_MS (3600ULL * 1000)
#define RF_MEMORY_MIN_BYTES (1024ULL * 1024)
#define RF_SIZE_MAX_BYTES (1ULL << 62)
#define RF_PIDS_MIN 1ULL
#define RF_PIDS_MAX 4194304ULL
#define RF_DOCTOR_DEADLINE_MS 2000
#define RF_PLAN_DEADLINE_MS 10000
/* Hooks and linked worktrees of one work tree's git directory that are looked at. */
#define RF_GIT_ENTRIES_MAX 1000U
/* bubblewrap refuses more arguments than this (MAX_ARGS of its 0.8). */
#define RF_BWRAP_ARGUMENTS_MAX 9000U
/* Bind sources given to bubblewrap by descriptor; beyond it the view is staged. */
#define RF_BWRAP_BINDS_MAX 1000U
/* Places and names that BPF LSM watches for one run; of places each costs a descriptor. */
#define RF_FILE_PLACES_PER_RUN_MAX 1024U
#define RF_FILE_NAMES_PER_RUN_MAX 4096U
/* A write-file beyond so many opens its directory: each takes some thirty names. */
#define RF_WRITE_FILES_EXACT_MAX 100U
