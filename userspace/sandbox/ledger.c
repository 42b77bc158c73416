/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/units.h"
#include "enforce/cgroup.h"

/* Readers and writers of other controllers hold the file for microseconds. */
#define BUSY_TIMEOUT_MS 5000

struct rf_ledger {
	sqlite3 *database;
};

static const char schema[] =
	"PRAGMA journal_mode=WAL;"
	"PRAGMA synchronous=NORMAL;"
	"CREATE TABLE IF NOT EXISTS sandbox ("
	" sequence INTEGER PRIMARY KEY AUTOINCREMENT,"
	" id TEXT NOT NULL UNIQUE,"
	" boot_id TEXT NOT NULL, host_id TEXT NOT NULL,"
	" pid INTEGER NOT NULL, start_ticks TEXT NOT NULL, pidfd_inode TEXT NOT NULL,"
	" uid INTEGER NOT NULL,"
	" base_path TEXT NOT NULL, leaf TEXT NOT NULL, cgroup_id TEXT NOT NULL);";

static const char select_all[] =
	"SELECT id, boot_id, host_id, pid, start_ticks, pidfd_inode, uid, base_path, leaf,"
	" cgroup_id, sequence FROM sandbox ORDER BY sequence";

static void finalize_p(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

struct rf_ledger *rf_ledger_free(struct rf_ledger *ledger)
{
	if (!ledger)
		return NULL;
	sqlite3_close(ledger->database);
	free(ledger);
	return NULL;
}

/* The low byte of a result is its kind. */
static int fault(int result)
{
	switch (result & 0xff) {
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_NOMEM:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

/* The file is not ours, or we cannot use it. */
static int refuse_file(const struct rf_ledger *ledger, const char *path, struct rf_diag *diag)
{
	int r = fault(sqlite3_errcode(ledger->database));

	rf_diag_refuse(diag, "ledger-unavailable", "the ledger %s cannot be used: %s", path,
		sqlite3_errmsg(ledger->database));
	rf_diag_path(diag, path);
	if (r == -ENOSPC)
		rf_diag_hint(diag, "make room there; no run starts without it");
	else if (r == -EBUSY)
		rf_diag_hint(diag, "another program holds it; try again, or end that program");
	else
		rf_diag_hint(diag, "mend it, or move it away; no run starts without it");
	return RF_REFUSED;
}

int rf_ledger_open(const char *directory, struct rf_ledger **ret_ledger, struct rf_diag *diag)
{
	struct rf_ledger *ledger = calloc(1, sizeof(*ledger));
	char *path rf_autofree = rf_path_join(directory, "ledger.db");
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW |
		    SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOMUTEX;
	int r;

	if (!ledger || !path) {
		free(ledger);
		return -ENOMEM;
	}
	r = sqlite3_open_v2(path, &ledger->database, flags, NULL);
	if (r == SQLITE_OK) {
		int persists = 1;

		sqlite3_busy_timeout(ledger->database, BUSY_TIMEOUT_MS);
		/*
		 * A controller of one run is often the last to close. Copying the log back then
		 * would cost two fsyncs a run, for records that need to survive no power cut.
		 */
		sqlite3_db_config(ledger->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		sqlite3_file_control(ledger->database, "main", SQLITE_FCNTL_PERSIST_WAL, &persists);
		r = sqlite3_exec(ledger->database, schema, NULL, NULL, NULL);
	}
	/* A table of that name may have other columns. */
	if (r == SQLITE_OK) {
		sqlite3_stmt *statement rf_cleanup(finalize_p) = NULL;

		r = sqlite3_prepare_v2(ledger->database, select_all, -1, &statement, NULL);
	}
	if (r != SQLITE_OK) {
		r = refuse_file(ledger, path, diag);
		rf_ledger_free(ledger);
		return r;
	}
	*ret_ledger = ledger;
	return 0;
}

static int prepare(struct rf_ledger *ledger, const char *sql, sqlite3_stmt **ret)
{
	int r = sqlite3_prepare_v2(ledger->database, sql, -1, ret, NULL);

	return r == SQLITE_OK ? 0 : fault(r);
}

static int bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	return sqlite3_bind_text(statement, at, text, -1, SQLITE_TRANSIENT);
}

/* 64-bit identities are text: SQLite's integers are signed. */
static int bind_id(sqlite3_stmt *statement, int at, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return bind_text(statement, at, text);
}

static int finish(sqlite3_stmt *statement)
{
	int r = sqlite3_step(statement);

	return r == SQLITE_DONE ? 0 : fault(r);
}

int rf_ledger_add(struct rf_ledger *ledger, const struct rf_ledger_record *record)
{
	sqlite3_stmt *statement rf_cleanup(finalize_p) = NULL;
	int r = prepare(ledger,
		"INSERT INTO sandbox (id, boot_id, host_id, pid, start_ticks, pidfd_inode, uid,"
		" base_path, leaf, cgroup_id) VALUES (?,?,?,?,?,?,?,?,?,?)",
		&statement);

	if (r < 0)
		return r;
	r = bind_text(statement, 1, record->id) | bind_text(statement, 2, record->owner.boot_id) |
	    bind_text(statement, 3, record->owner.host_id) |
	    sqlite3_bind_int64(statement, 4, record->owner.pid) |
	    bind_id(statement, 5, record->owner.start_ticks) |
	    bind_id(statement, 6, record->owner.pidfd_inode) |
	    sqlite3_bind_int64(statement, 7, record->uid) |
	    bind_text(statement, 8, record->base_path) | bind_text(statement, 9, record->leaf) |
	    bind_id(statement, 10, record->cgroup_id);
	return r == SQLITE_OK ? finish(statement) : -ENOMEM;
}

int rf_ledger_set_cgroup(struct rf_ledger *ledger, const char *id, uint64_t cgroup_id)
{
	sqlite3_stmt *statement rf_cleanup(finalize_p) = NULL;
	int r = prepare(ledger, "UPDATE sandbox SET cgroup_id = ? WHERE id = ?", &statement);

	if (r < 0)
		return r;
	if (bind_id(statement, 1, cgroup_id) != SQLITE_OK ||
		bind_text(statement, 2, id) != SQLITE_OK)
		return -EIO;
	return finish(statement);
}

int rf_ledger_close(struct rf_ledger *ledger, const char *id)
{
	sqlite3_stmt *statement rf_cleanup(finalize_p) = NULL;
	int r = prepare(ledger, "DELETE FROM sandbox WHERE id = ?", &statement);

	if (r < 0)
		return r;
	return bind_text(statement, 1, id) == SQLITE_OK ? finish(statement) : -EIO;
}

int rf_ledger_retire(struct rf_ledger *ledger, int64_t sequence)
{
	sqlite3_stmt *statement rf_cleanup(finalize_p) = NULL;
	int r = prepare(ledger, "DELETE FROM sandbox WHERE sequence = ?", &statement);

	if (r < 0)
		return r;
	return sqlite3_bind_int64(statement, 1, sequence) == SQLITE_OK ? finish(statement) : -EIO;
}

static bool get_text(sqlite3_stmt *statement, int column, char *to, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);

	if (!text || sqlite3_column_type(statement, column) != SQLITE_TEXT ||
		strlen(text) >= size ||
		(size_t)sqlite3_column_bytes(statement, column) != strlen(text))
		return false;
	memcpy(to, text, strlen(text) + 1);
	return true;
}

static bool get_id(sqlite3_stmt *statement, int column, uint64_t *ret_value)
{
	char text[24];

	return get_text(statement, column, text, sizeof(text)) && rf_parse_u64(text, ret_value);
}

static bool get_integer(
	sqlite3_stmt *statement, int column, int64_t low, int64_t high, int64_t *ret_value)
{
	int64_t value = sqlite3_column_int64(statement, column);

	if (sqlite3_column_type(statement, column) != SQLITE_INTEGER || value < low || value > high)
		return false;
	*ret_value = value;
	return true;
}

static bool is_id(const char *text)
{
	return strlen(text) == RF_ID_TEXT_BYTES - 1 &&
	       strspn(text, "0123456789abcdef") == RF_ID_TEXT_BYTES - 1;
}

/* None, or named after the sandbox: root's by its id, an ordinary user's with a prefix. */
static bool is_leaf_of(const char *leaf, const char *id)
{
	const size_t prefix = strlen(RF_CGROUP_USER_PREFIX);

	return !leaf[0] || strcmp(leaf, id) == 0 ||
	       (strncmp(leaf, RF_CGROUP_USER_PREFIX, prefix) == 0 &&
		       strcmp(leaf + prefix, id) == 0);
}

static bool get_record(sqlite3_stmt *statement, struct rf_ledger_record *record)
{
	bool is_valid = get_text(statement, 0, record->id, sizeof(record->id)) && is_id(record->id);
	int64_t pid = 0;
	int64_t uid = 0;

	is_valid &= get_text(statement, 1, record->owner.boot_id, sizeof(record->owner.boot_id));
	is_valid &= get_text(statement, 2, record->owner.host_id, sizeof(record->owner.host_id));
	is_valid &= get_integer(statement, 3, 1, INT_MAX, &pid);
	record->owner.pid = (pid_t)pid;
	is_valid &= get_id(statement, 4, &record->owner.start_ticks);
	is_valid &= get_id(statement, 5, &record->owner.pidfd_inode);
	is_valid &= get_integer(statement, 6, 0, UINT_MAX, &uid);
	record->uid = (uid_t)uid;
	is_valid &= get_text(statement, 7, record->base_path, sizeof(record->base_path));
	is_valid &= get_text(statement, 8, record->leaf, sizeof(record->leaf));
	is_valid &= get_id(statement, 9, &record->cgroup_id);
	return is_valid && is_leaf_of(record->leaf, record->id);
}

int rf_ledger_each(struct rf_ledger *ledger, rf_ledger_fn callback, void *userdata)
{
	sqlite3_stmt *statement rf_cleanup(finalize_p) = NULL;
	int r = prepare(ledger, select_all, &statement);

	if (r < 0)
		return r;
	while ((r = sqlite3_step(statement)) == SQLITE_ROW) {
		struct rf_ledger_record record = {.sequence = sqlite3_column_int64(statement, 10)};
		bool is_valid = get_record(statement, &record);

		callback(&record, is_valid, userdata);
	}
	return r == SQLITE_DONE ? 0 : fault(r);
}

/* ---- owners --------------------------------------------------------------------------------- */

static int read_line(const char *path, char *to, size_t size)
{
	char *text rf_autofree = NULL;
	int r = rf_read_file_at(AT_FDCWD, path, 4096, &text);

	if (r < 0)
		return r;
	text[strcspn(text, "\n")] = '\0';
	snprintf(to, size, "%s", text);
	return 0;
}

/* Field 22 of the stat file; the name before it may hold anything, so start at its last ')'. */
static int read_start_ticks(pid_t pid, uint64_t *ret_ticks)
{
	char *text rf_autofree = NULL;
	char path[40];
	unsigned long long ticks;
	char *end;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	r = rf_read_file_at(AT_FDCWD, path, 4096, &text);
	if (r < 0)
		return r;
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1,
			    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			    "%*d %*d %llu",
			    &ticks) != 1)
		return -EPROTO;
	*ret_ticks = ticks;
	return 0;
}

/* Unique for a boot on a pidfd filesystem; on older kernels every pidfd has one shared inode. */
static uint64_t pidfd_inode(int pidfd)
{
	struct stat own;
	struct stat init;
	int other rf_autoclose = pidfd_open(1, 0);

	if (fstat(pidfd, &own) < 0 || other < 0 || fstat(other, &init) < 0)
		return 0;
	return own.st_ino == init.st_ino && getpid() != 1 ? 0 : own.st_ino;
}

int rf_owner_self(struct rf_owner *ret_owner)
{
	struct rf_owner owner = {.pid = getpid()};
	int pidfd rf_autoclose = pidfd_open(getpid(), 0);
	int r = read_line("/proc/sys/kernel/random/boot_id", owner.boot_id, sizeof(owner.boot_id));

	if (r < 0)
		return r;
	/* A host without a machine id is known by its boot alone. */
	(void)read_line("/etc/machine-id", owner.host_id, sizeof(owner.host_id));
	r = read_start_ticks(owner.pid, &owner.start_ticks);
	if (r < 0)
		return r;
	if (pidfd >= 0)
		owner.pidfd_inode = pidfd_inode(pidfd);
	*ret_owner = owner;
	return 0;
}

int rf_owner_is_alive(const struct rf_owner *owner)
{
	int pidfd rf_autoclose = pidfd_open(owner->pid, 0);
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	uint64_t ticks;
	int r;

	if (pidfd < 0)
		return errno == ESRCH ? 0 : -errno;
	/* Ended, though nobody has reaped it yet. */
	if (poll(&ended, 1, 0) > 0)
		return 0;
	r = read_start_ticks(owner->pid, &ticks);
	if (r == -ENOENT || r == -ESRCH)
		return 0;
	if (r < 0)
		return r;
	if (ticks != owner->start_ticks)
		return 0;
	if (owner->pidfd_inode && pidfd_inode(pidfd) != owner->pidfd_inode)
		return 0;
	return 1;
}
