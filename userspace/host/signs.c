/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Everything is read from files of the kernel by fixed names. The mount table is parsed as text
 * and no mount is looked at: a sleeping FUSE or automount point would never answer.
 */

#include "host/signs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/units.h"

#define FILE_MAX_BYTES (4U * 1024 * 1024)

static int64_t read_number(const char *path)
{
	char *text rf_autofree = NULL;
	uint64_t value = 0;

	if (rf_read_file_at(AT_FDCWD, path, 64, &text) < 0)
		return RF_SIGN_UNKNOWN;
	text[strcspn(text, "\n")] = '\0';
	if (!rf_parse_u64(text, &value) || value > INT64_MAX)
		return RF_SIGN_UNKNOWN;
	return (int64_t)value;
}

static void read_status(struct rf_signs *signs)
{
	char *text rf_autofree = NULL;

	if (rf_read_file_at(AT_FDCWD, "/proc/self/status", 65536, &text) < 0)
		return;
	signs->has_filter = strstr(text, "\nSeccomp:\t2") != NULL;
	signs->has_no_new_privs = strstr(text, "\nNoNewPrivs:\t1") != NULL;
}

static void read_capabilities(struct rf_signs *signs)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data) < 0)
		return;
	signs->capabilities = (uint64_t)data[1].effective << 32 | data[0].effective;
}

/* Fields of one line of mountinfo, proc(5): id parent dev root mount options… - type source … */
struct mount_line {
	char root[4096];
	char mount[4096];
	char type[64];
};

/* "\040" and friends; a field that does not fit is cut, which no caller compares whole. */
static void unescape(const char *field, size_t length, char *ret_text, size_t size_bytes)
{
	size_t at = 0;

	for (size_t i = 0; i < length && at + 1 < size_bytes; i++) {
		const char *c = field + i;

		if (c[0] == '\\' && i + 3 < length && c[1] >= '0' && c[1] <= '3') {
			ret_text[at++] =
				(char)((c[1] - '0') << 6 | (c[2] - '0') << 3 | (c[3] - '0'));
			i += 3;
		} else {
			ret_text[at++] = *c;
		}
	}
	ret_text[at] = '\0';
}

/* Reads one line and returns the start of the next, NULL at the end. */
static const char *next_mount(const char *at, struct mount_line *ret_line)
{
	bool is_past_dash = false;

	*ret_line = (struct mount_line){0};
	for (unsigned int field = 0; *at && *at != '\n'; field++) {
		size_t length = strcspn(at, " \n");

		if (field == 3)
			unescape(at, length, ret_line->root, sizeof(ret_line->root));
		else if (field == 4)
			unescape(at, length, ret_line->mount, sizeof(ret_line->mount));
		else if (is_past_dash && !ret_line->type[0])
			unescape(at, length, ret_line->type, sizeof(ret_line->type));
		if (field > 5 && length == 1 && *at == '-')
			is_past_dash = true;
		at += length;
		at += *at == ' ';
	}
	return *at == '\n' ? at + 1 : at;
}

/*
 * The kernel refuses a fresh proc in a user namespace when a part of the visible one is covered;
 * a mount on an empty directory (binfmt_misc) does not count there, nor here.
 */
bool rf_signs_parse_proc_mask(const char *mountinfo, char *ret_path, size_t size_bytes)
{
	struct mount_line line;

	while (*mountinfo) {
		mountinfo = next_mount(mountinfo, &line);
		if (strncmp(line.mount, "/proc/", 6) != 0 || !strcmp(line.type, "binfmt_misc") ||
			!strcmp(line.type, "autofs"))
			continue;
		(void)snprintf(ret_path, size_bytes, "%s", line.mount);
		return true;
	}
	return false;
}

bool rf_signs_parse_cgroup2(
	const char *mountinfo, char *ret_mount, char *ret_root, size_t size_bytes)
{
	struct mount_line line;

	while (*mountinfo) {
		mountinfo = next_mount(mountinfo, &line);
		if (strcmp(line.type, "cgroup2") != 0)
			continue;
		(void)snprintf(ret_mount, size_bytes, "%s", line.mount);
		(void)snprintf(ret_root, size_bytes, "%s", line.root);
		return true;
	}
	return false;
}

bool rf_signs_parse_v1(const char *cgroups, const char *controller)
{
	size_t length = strlen(controller);

	for (const char *line = cgroups; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		/* NAME TAB HIERARCHY; 0 is that of version 2. */
		if (strncmp(line, controller, length) == 0 && line[length] == '\t')
			return line[length + 1] >= '1' && line[length + 1] <= '9';
	}
	return false;
}

bool rf_signs_has_v1_limits(void)
{
	char *text rf_autofree = NULL;

	return rf_read_file_at(AT_FDCWD, "/proc/cgroups", 65536, &text) == 0 &&
	       (rf_signs_parse_v1(text, "memory") || rf_signs_parse_v1(text, "pids"));
}

static void read_mounts(struct rf_signs *signs)
{
	char *text rf_autofree = NULL;

	if (rf_read_file_at(AT_FDCWD, "/proc/self/mountinfo", FILE_MAX_BYTES, &text) < 0)
		return;
	(void)rf_signs_parse_proc_mask(text, signs->proc_mask, sizeof(signs->proc_mask));
	signs->has_v1_limits = rf_signs_has_v1_limits();
	(void)rf_signs_parse_cgroup2(
		text, signs->cgroup2, signs->cgroup2_root, sizeof(signs->cgroup2));
}

static void read_own_cgroup(struct rf_signs *signs)
{
	char *text rf_autofree = NULL;
	const char *line;

	if (rf_read_file_at(AT_FDCWD, "/proc/self/cgroup", 65536, &text) < 0)
		return;
	for (line = text; line && strncmp(line, "0::", 3) != 0;) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (line)
		(void)snprintf(signs->own_cgroup, sizeof(signs->own_cgroup), "%.*s",
			(int)strcspn(line + 3, "\n"), line + 3);
}

static void read_line(const char *path, char *ret_line, size_t size_bytes)
{
	char *text rf_autofree = NULL;

	if (rf_read_file_at(AT_FDCWD, path, size_bytes - 1, &text) < 0)
		return;
	(void)snprintf(ret_line, size_bytes, "%.*s", (int)strcspn(text, "\n"), text);
}

void rf_signs_read(struct rf_signs *ret_signs)
{
	ssize_t n;

	*ret_signs = (struct rf_signs){.uid = geteuid()};
	read_capabilities(ret_signs);
	read_status(ret_signs);
	ret_signs->max_user_namespaces = read_number("/proc/sys/user/max_user_namespaces");
	ret_signs->unprivileged_userns_clone =
		read_number("/proc/sys/kernel/unprivileged_userns_clone");
	ret_signs->apparmor_restrict_userns =
		read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
	ret_signs->io_uring_disabled = read_number("/proc/sys/kernel/io_uring_disabled");
	ret_signs->unprivileged_bpf_disabled =
		read_number("/proc/sys/kernel/unprivileged_bpf_disabled");
	read_line("/sys/kernel/security/lsm", ret_signs->lsm, sizeof(ret_signs->lsm));
	read_line("/proc/self/attr/apparmor/current", ret_signs->apparmor,
		sizeof(ret_signs->apparmor));
	read_mounts(ret_signs);
	read_own_cgroup(ret_signs);
	ret_signs->has_btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
	n = readlink("/proc/self/exe", ret_signs->self, sizeof(ret_signs->self) - 1);
	ret_signs->self[n < 0 ? 0 : n] = '\0';
}

bool rf_signs_has_capability(const struct rf_signs *signs, unsigned int capability)
{
	return capability < 64 && (signs->capabilities & (1ULL << capability));
}

bool rf_signs_has_lsm(const struct rf_signs *signs, const char *lsm)
{
	size_t length = strlen(lsm);

	for (const char *at = signs->lsm; *at;) {
		size_t n = strcspn(at, ",");

		if (n == length && strncmp(at, lsm, n) == 0)
			return true;
		at += n;
		at += *at == ',';
	}
	return false;
}
