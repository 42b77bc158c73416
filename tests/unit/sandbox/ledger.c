/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox/ledger.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

struct state {
	char directory[32];
	char path[64];
	struct rf_ledger *ledger;
	struct rf_diag diag;
};

static void open_state(struct state *state)
{
	*state = (struct state){.directory = "/tmp/rf-ledger-XXXXXX"};
	cr_assert_not_null(mkdtemp(state->directory));
	snprintf(state->path, sizeof(state->path), "%s/ledger.db", state->directory);
}

static void close_state(struct state *state)
{
	static const char *const ends[] = {"", "-wal", "-shm"};

	rf_ledger_free(state->ledger);
	for (size_t i = 0; i < RF_ARRAY_SIZE(ends); i++) {
		char path[80];

		snprintf(path, sizeof(path), "%s%s", state->path, ends[i]);
		(void)unlink(path);
	}
	cr_expect_eq(rmdir(state->directory), 0);
}

/* Statements of somebody who can write the file. */
static void forge(const struct state *state, const char *sql)
{
	sqlite3 *database = NULL;

	cr_assert_eq(sqlite3_open(state->path, &database), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK, "%s: %s", sql,
		sqlite3_errmsg(database));
	sqlite3_close(database);
}

static void note(const struct rf_ledger_record *record, bool is_valid, void *userdata)
{
	int *seen = userdata;

	(void)record;
	seen[is_valid]++;
}

#define ID "0123456789abcdef"

Test(ledger, rows_of_another_shape_are_told_apart)
{
	/* id, pid, start_ticks, uid, leaf, cgroup_id */
	static const struct {
		const char *values;
		bool is_valid;
	} rows[] = {
		{"'" ID "', 7, '1', 0, '', '0'", true},
		{"'" ID "', 7, '1', 0, '" ID "', '77'", true},
		{"'" ID "', 7, '1', 1000, 'ringfence-" ID "', '77'", true},
		{"'" ID "', 7, '1', 0, 'sub', '77'", false},
		{"'" ID "', 7, '1', 0, '..', '77'", false},
		{"'" ID "', 7, '1', 0, '" ID "/x', '77'", false},
		{"'" ID "', 7, '1', 0, '../" ID "', '77'", false},
		{"'" ID "', 7, '1', 0, 'ringfence-0000000000000000', '77'", false},
		{"'" ID "', 7, '1', 0, '" ID "', ' 77'", false},
		{"'" ID "', 7, '1', 0, '" ID "', '+77'", false},
		{"'" ID "', 7, '1', 0, '" ID "', '-1'", false},
		{"'" ID "', 7, '1', 0, '" ID "', '0x4d'", false},
		{"'" ID "', 7, '1', 0, '" ID "', '18446744073709551693'", false},
		{"'" ID "', 7, '1', 0, '" ID "', CAST(x'373700' AS TEXT)", false},
		{"'" ID "', 7, '', 0, '', '0'", false},
		{"'" ID "', 7, '1 ', 0, '', '0'", false},
		{"'" ID "', 0, '1', 0, '', '0'", false},
		{"'" ID "', 4294967297, '1', 0, '', '0'", false},
		{"'" ID "', 'x', '1', 0, '', '0'", false},
		{"'" ID "', 7, '1', -1, '', '0'", false},
		{"'0123456789ABCDEF', 7, '1', 0, '', '0'", false},
		{"'x/../../../../tm', 7, '1', 0, '', '0'", false},
		{"'0123', 7, '1', 0, '', '0'", false},
		{"'', 7, '1', 0, '', '0'", false},
	};
	struct state state;

	open_state(&state);
	cr_assert_eq(rf_ledger_open(state.directory, &state.ledger, &state.diag), 0);
	for (size_t i = 0; i < RF_ARRAY_SIZE(rows); i++) {
		int seen[2] = {0};
		char sql[512];

		snprintf(sql, sizeof(sql),
			"DELETE FROM sandbox; INSERT INTO sandbox (id, pid, start_ticks, uid, leaf,"
			" cgroup_id, boot_id, host_id, pidfd_inode, base_path)"
			" VALUES (%s, 'b', 'h', '0', '/nowhere')",
			rows[i].values);
		forge(&state, sql);
		cr_assert_eq(rf_ledger_each(state.ledger, note, seen), 0);
		cr_expect_eq(seen[rows[i].is_valid], 1, "%s", rows[i].values);
	}
	close_state(&state);
}

Test(ledger, what_is_added_is_valid_and_there_once)
{
	struct rf_ledger_record record = {.id = ID, .owner = {.pid = 7}, .leaf = ID};
	struct state state;
	int seen[2] = {0};

	open_state(&state);
	cr_assert_eq(rf_ledger_open(state.directory, &state.ledger, &state.diag), 0);
	cr_expect_eq(rf_ledger_add(state.ledger, &record), 0);
	cr_expect_eq(rf_ledger_add(state.ledger, &record), -EEXIST);
	cr_expect_eq(rf_ledger_set_cgroup(state.ledger, ID, UINT64_MAX), 0);
	cr_assert_eq(rf_ledger_each(state.ledger, note, seen), 0);
	cr_expect(seen[true] == 1 && seen[false] == 0);
	close_state(&state);
}

Test(ledger, a_table_of_another_shape_is_refused_by_name)
{
	struct state state;

	open_state(&state);
	forge(&state, "CREATE TABLE sandbox (x)");
	cr_assert_eq(rf_ledger_open(state.directory, &state.ledger, &state.diag), RF_REFUSED);
	cr_expect_str_eq(state.diag.code, "ledger-unavailable");
	cr_expect_str_eq(state.diag.path, state.path);
	cr_expect(strstr(state.diag.message, state.path));
	cr_expect(strstr(state.diag.hint, "move it away"));
	cr_expect_null(state.ledger);
	close_state(&state);
}

Test(ledger, a_full_disk_has_its_own_word)
{
	struct rf_ledger_record record = {.owner = {.pid = 7}};
	struct state state;
	int r = 0;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("none", "/mnt", "tmpfs", 0, "size=128k") < 0) {
		cr_skip_test("needs root");
		return;
	}
	state = (struct state){.directory = "/mnt"};
	cr_assert_eq(rf_ledger_open(state.directory, &state.ledger, &state.diag), 0);
	memset(record.base_path, 'x', sizeof(record.base_path) - 1);
	for (unsigned int i = 0; r == 0 && i < 64; i++) {
		snprintf(record.id, sizeof(record.id), "%016x", i);
		r = rf_ledger_add(state.ledger, &record);
	}
	cr_expect_eq(r, -ENOSPC, "%d", r);
	rf_ledger_free(state.ledger);
	cr_expect_eq(umount("/mnt"), 0);
}

Test(ledger, one_that_another_program_holds_is_busy)
{
	struct rf_ledger_record record = {.id = ID, .owner = {.pid = 7}};
	sqlite3 *other = NULL;
	struct state state;

	open_state(&state);
	cr_assert_eq(rf_ledger_open(state.directory, &state.ledger, &state.diag), 0);
	cr_assert_eq(sqlite3_open(state.path, &other), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	cr_expect_eq(rf_ledger_add(state.ledger, &record), -EBUSY);
	sqlite3_close(other);
	cr_expect_eq(rf_ledger_add(state.ledger, &record), 0);
	close_state(&state);
}
