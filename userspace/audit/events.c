/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "audit/events.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/json.h"
#include "policy/net.h"

const char *rf_event_denial_op(uint32_t op)
{
	switch (op) {
	case RF_DENIAL_SOCKET_CREATE:
		return "socket-create";
	case RF_DENIAL_SOCKET_BIND:
		return "socket-bind";
	case RF_DENIAL_SOCKET_CONNECT:
		return "socket-connect";
	case RF_DENIAL_UNIX_CONNECT:
		return "unix-connect";
	case RF_DENIAL_SOCKET_LISTEN:
		return "socket-listen";
	case RF_DENIAL_UNIX_SEND:
		return "unix-send";
	case RF_DENIAL_SOCKET_SEND:
		return "socket-send";
	case RF_DENIAL_SOCKET_ROUTE:
		return "socket-route";
	case RF_DENIAL_OPEN_READ:
		return "open-read";
	case RF_DENIAL_OPEN_WRITE:
		return "open-write";
	case RF_DENIAL_CREATE:
		return "create";
	case RF_DENIAL_REMOVE:
		return "remove";
	case RF_DENIAL_RENAME:
		return "rename";
	case RF_DENIAL_LINK:
		return "link";
	case RF_DENIAL_TRUNCATE:
		return "truncate";
	case RF_DENIAL_CHANGE:
		return "change";
	}
	return NULL;
}

const char *rf_event_denial_by(uint32_t by)
{
	switch (by) {
	case RF_BY_LSM:
		return "bpf-lsm";
	case RF_BY_CGROUP:
		return "bpf-cgroup";
	}
	return NULL;
}

/* ---- Checking ------------------------------------------------------------------------------- */

static int decode_exec(const void *record, size_t size_bytes, struct rf_event *event)
{
	const struct rf_record_exec *exec = record;
	const char *tail = (const char *)(exec + 1);
	uint64_t wanted = sizeof(*exec);

	if (size_bytes < sizeof(*exec))
		return -EPROTO;
	if (exec->exe_bytes > RF_PATH_BYTES || exec->cwd_bytes > RF_PATH_BYTES ||
		exec->script_bytes > RF_SCRIPT_MAX_BYTES || exec->argv_bytes > RF_ARGV_MAX_BYTES)
		return -EPROTO;
	wanted +=
		(uint64_t)exec->exe_bytes + exec->cwd_bytes + exec->script_bytes + exec->argv_bytes;
	if (wanted != size_bytes)
		return -EPROTO;
	event->exec = exec;
	event->exe = tail;
	event->cwd = event->exe + exec->exe_bytes;
	event->script = event->cwd + exec->cwd_bytes;
	event->argv = event->script + exec->script_bytes;
	return 0;
}

static int decode_denial(const void *record, size_t size_bytes, struct rf_event *event)
{
	const struct rf_record_denial *denial = record;

	if (size_bytes != sizeof(*denial))
		return -EPROTO;
	if (!rf_event_denial_op(denial->op) || !rf_event_denial_by(denial->by) ||
		denial->port > UINT16_MAX || denial->error == 0 || denial->error > 4095)
		return -EPROTO;
	event->denial = denial;
	return 0;
}

static int decode_file_denial(const void *record, size_t size_bytes, struct rf_event *event)
{
	const struct rf_record_file_denial *denial = record;

	if (size_bytes != sizeof(*denial))
		return -EPROTO;
	if (!rf_event_denial_op(denial->op) || denial->error == 0 || denial->error > 4095 ||
		denial->name_bytes >= RF_FILE_NAME_BYTES)
		return -EPROTO;
	event->file_denial = denial;
	return 0;
}

int rf_event_decode(const void *record, size_t size_bytes, struct rf_event *ret_event)
{
	const struct rf_record *header = record;
	struct rf_event event = {0};
	int r = -EPROTO;

	if (size_bytes < sizeof(*header) || header->version != RF_ABI_VERSION ||
		header->size != size_bytes)
		return -EPROTO;
	event.header = header;
	event.kind = (enum rf_record_kind)header->kind;
	switch (event.kind) {
	case RF_RECORD_EXEC:
		r = decode_exec(record, size_bytes, &event);
		break;
	case RF_RECORD_FORK:
		event.fork = record;
		r = size_bytes == sizeof(*event.fork) ? 0 : -EPROTO;
		break;
	case RF_RECORD_EXIT:
		event.exit = record;
		r = size_bytes == sizeof(*event.exit) ? 0 : -EPROTO;
		break;
	case RF_RECORD_ESCAPE:
		event.escape = record;
		r = size_bytes == sizeof(*event.escape) ? 0 : -EPROTO;
		break;
	case RF_RECORD_DENIAL:
		r = decode_denial(record, size_bytes, &event);
		break;
	case RF_RECORD_FILE_DENIAL:
		r = decode_file_denial(record, size_bytes, &event);
		break;
	}
	if (r == 0)
		*ret_event = event;
	return r;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static const char *kind_name(enum rf_record_kind kind)
{
	switch (kind) {
	case RF_RECORD_EXEC:
		return "exec";
	case RF_RECORD_FORK:
		return "fork";
	case RF_RECORD_EXIT:
		return "exit";
	case RF_RECORD_ESCAPE:
		return "escape";
	case RF_RECORD_DENIAL:
	case RF_RECORD_FILE_DENIAL:
		return "denial";
	}
	return "unknown";
}

/* The record carries time since boot: today's offset makes a date of it. */
static json_t *time_of(const struct rf_record *header)
{
	uint64_t boot_ns = rf_boottime_ns();
	uint64_t real_ns = rf_realtime_ns();
	uint64_t age_ns = header->time_ns < boot_ns ? boot_ns - header->time_ns : 0;
	char text[RF_TIME_TEXT_BYTES];

	rf_time_text(age_ns < real_ns ? real_ns - age_ns : real_ns, text);
	return json_string(text);
}

static json_t *argv_of(const struct rf_event *event)
{
	json_t *list rf_autojson = json_array();
	const char *at = event->argv;
	const char *end = event->argv + event->exec->argv_bytes;

	if (!list)
		return NULL;
	while (at < end) {
		size_t length = strnlen(at, (size_t)(end - at));

		if (json_array_append_new(list, rf_json_bytes(at, length)) < 0)
			return NULL;
		at += length + 1;
	}
	return json_incref(list);
}

static json_t *marks_of(uint32_t marks)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
		{RF_EXEC_FILELESS, "fileless"},
		{RF_EXEC_SETID, "setid"},
		{RF_EXEC_SECURE, "secure"},
		{RF_EXEC_SCRIPT, "script"},
		{RF_EXEC_EXE_CUT, "exe-truncated"},
		{RF_EXEC_CWD_CUT, "cwd-truncated"},
		{RF_EXEC_SCRIPT_CUT, "script-truncated"},
		{RF_EXEC_ARGV_UNREADABLE, "argv-unreadable"},
	};
	json_t *list rf_autojson = json_array();

	for (size_t i = 0; list && i < RF_ARRAY_SIZE(names); i++)
		if (marks & names[i].bit &&
			json_array_append_new(list, json_string(names[i].name)) < 0)
			return NULL;
	return json_incref(list);
}

/* "major:minor" of the kernel's encoding. */
static json_t *dev_of(uint32_t dev)
{
	return json_sprintf("%u:%u", dev >> 20, dev & 0xfffffU);
}

/* Takes the reference. 0 or -ENOMEM. */
static int put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value) < 0 ? -ENOMEM : 0;
}

static int put_number(json_t *object, const char *key, uint64_t value)
{
	return put(object, key, json_integer((json_int_t)value));
}

static int put_exec(json_t *object, const struct rf_event *event)
{
	const struct rf_record_exec *exec = event->exec;
	bool is_cut = exec->marks & (RF_EXEC_ARGV_CUT | RF_EXEC_ARGV_UNREADABLE);
	json_t *script = exec->marks & RF_EXEC_SCRIPT
				 ? rf_json_bytes(event->script, exec->script_bytes)
				 : json_null();
	int r = put(object, "script", script);

	r = r ? r : put_number(object, "parent", exec->parent);
	r = r ? r : put(object, "parent_start_ns", rf_json_id(exec->parent_start_ns));
	r = r ? r : put_number(object, "uid", exec->uid);
	r = r ? r : put(object, "exe", rf_json_bytes(event->exe, exec->exe_bytes));
	r = r ? r : put(object, "inode", rf_json_id(exec->ino));
	r = r ? r : put(object, "dev", dev_of(exec->dev));
	r = r ? r : put(object, "argv", argv_of(event));
	r = r ? r : put(object, "argv_truncated", json_boolean(is_cut));
	r = r ? r : put(object, "cwd", rf_json_bytes(event->cwd, exec->cwd_bytes));
	return r ? r : put(object, "marks", marks_of(exec->marks));
}

static int put_fork(json_t *object, const struct rf_record_fork *fork)
{
	int r = put_number(object, "parent", fork->parent);

	return r ? r : put(object, "parent_start_ns", rf_json_id(fork->parent_start_ns));
}

static int put_exit(json_t *object, const struct rf_record_exit *record)
{
	int status = (int)record->status;
	json_t *code = WIFEXITED(status) ? json_integer(WEXITSTATUS(status)) : json_null();
	json_t *signal = WIFSIGNALED(status) ? json_integer(WTERMSIG(status)) : json_null();
	int r = put(object, "exit_code", code);

	if (put(object, "signal", signal) < 0)
		return -ENOMEM;
	r = r ? r : put_number(object, "cpu_ms", record->cpu_ns / 1000000);
	r = r ? r : put_number(object, "memory_peak_bytes", record->memory_peak_bytes);
	r = r ? r : put_number(object, "read_bytes", record->read_bytes);
	return r ? r : put_number(object, "write_bytes", record->write_bytes);
}

/* The narrowest option that would have let it through; a place to bind has none. */
static int put_grant(json_t *object, const struct rf_record_denial *denial, uint16_t port)
{
	static const struct rf_address none;
	uint8_t address[16];
	char text[RF_NET_TEXT_BYTES];
	bool is_v4 = denial->family == AF_INET;

	memcpy(address, &denial->address, sizeof(address));
	if ((denial->op != RF_DENIAL_SOCKET_CONNECT && denial->op != RF_DENIAL_SOCKET_SEND) ||
		memcmp(address + (is_v4 ? 12 : 0), &none, is_v4 ? 4 : 16) == 0)
		return put(object, "grant", json_null());
	rf_net_text(address, port, text);
	return put(object, "grant", json_sprintf("--allow %s", text));
}

/* Port 0: the protocol has none. */
static int put_address(json_t *object, const struct rf_record_denial *denial)
{
	uint16_t port = (uint16_t)denial->port;
	uint8_t address[16];
	char text[RF_NET_TEXT_BYTES];
	int r;

	memcpy(address, &denial->address, sizeof(address));
	rf_net_text(address, 0, text);
	r = put(object, "address", json_string(text));
	r = r ? r : put_number(object, "port", port);
	return r ? r : put_grant(object, denial, port);
}

static int put_denial(json_t *object, const struct rf_record_denial *denial)
{
	const char *error = strerrorname_np((int)denial->error);
	int r = put(object, "op", json_string(rf_event_denial_op(denial->op)));

	r = r ? r : put(object, "errno", json_string(error ? error : "unknown"));
	r = r ? r : put(object, "by", json_string(rf_event_denial_by(denial->by)));
	r = r ? r : put_number(object, "family", denial->family);
	r = r ? r : put_number(object, "type", denial->type);
	r = r ? r : put_number(object, "protocol", denial->protocol);
	return r || !denial->has_address ? r : put_address(object, denial);
}

/* The name alone: whoever knows the places puts the path beside it. */
static int put_file_denial(json_t *object, const struct rf_record_file_denial *denial)
{
	const char *error = strerrorname_np((int)denial->error);
	int r = put(object, "op", json_string(rf_event_denial_op(denial->op)));

	r = r ? r : put(object, "errno", json_string(error ? error : "unknown"));
	r = r ? r : put(object, "by", json_string(rf_event_denial_by(RF_BY_LSM)));
	return r ? r : put(object, "name", rf_json_bytes(denial->name, denial->name_bytes));
}

static int put_kind(json_t *object, const struct rf_event *event)
{
	switch (event->kind) {
	case RF_RECORD_EXEC:
		return put_exec(object, event);
	case RF_RECORD_FORK:
		return put_fork(object, event->fork);
	case RF_RECORD_EXIT:
		return put_exit(object, event->exit);
	case RF_RECORD_ESCAPE:
		return put(object, "cgroup", rf_json_id(event->escape->to_cgroup));
	case RF_RECORD_DENIAL:
		return put_denial(object, event->denial);
	case RF_RECORD_FILE_DENIAL:
		return put_file_denial(object, event->file_denial);
	}
	return -EPROTO;
}

int rf_event_to_json(const struct rf_event *event, const char *id, json_t **ret_json)
{
	json_t *object rf_autojson = json_object();
	int r = put_number(object, "version", 1);

	r = r ? r : put(object, "time", time_of(event->header));
	r = r ? r : put(object, "id", rf_json_text(id));
	r = r ? r : put(object, "event", json_string(kind_name(event->kind)));
	r = r ? r : put_number(object, "pid", event->header->tgid);
	r = r ? r : put(object, "start_ns", rf_json_id(event->header->start_ns));
	r = r ? r : put_kind(object, event);
	if (r < 0)
		return r;
	*ret_json = json_incref(object);
	return 0;
}
