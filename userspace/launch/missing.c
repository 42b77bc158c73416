/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The file is the command's and hostile, but all that depends on it is the wording of one line:
 * every offset is checked against what was read, and the chain is short.
 */

#include "launch/missing.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/limits.h"
#include "launch/fd.h"

/* The kernel follows this many interpreters (fs/exec.c, exec_binprm). */
#define RF_INTERPRETERS_MAX 5
/* The kernel reads this much of a script's first line (BINPRM_BUF_SIZE). */
#define RF_SCRIPT_LINE_BYTES 256
#define RF_PROGRAM_HEADERS_MAX 128

static bool rf_missing_script(const char *head, size_t head_bytes, char *interpreter, size_t room)
{
	const char *start = head + 2;
	size_t left = head_bytes - 2, length = 0;

	while (left > 0 && (*start == ' ' || *start == '\t')) {
		start++;
		left--;
	}
	while (length < left && !strchr(" \t\n", start[length]))
		length++;
	if (length == 0 || length >= room)
		return false;
	memcpy(interpreter, start, length);
	interpreter[length] = 0;
	return true;
}

static bool rf_missing_text_at(int fd, uint64_t offset, uint64_t size, char *text, size_t room)
{
	ssize_t n;

	if (size == 0 || size >= room || offset > INT64_MAX)
		return false;
	n = pread(fd, text, (size_t)size, (off_t)offset);
	if (n != (ssize_t)size)
		return false;
	text[size] = 0;
	return true;
}

static bool rf_missing_elf64(int fd, const char *head, char *interpreter, size_t room)
{
	Elf64_Ehdr header;
	Elf64_Phdr program;

	memcpy(&header, head, sizeof(header));
	if (header.e_phentsize != sizeof(program) || header.e_phnum > RF_PROGRAM_HEADERS_MAX)
		return false;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		off_t offset = (off_t)(header.e_phoff + i * sizeof(program));

		if (pread(fd, &program, sizeof(program), offset) != (ssize_t)sizeof(program))
			return false;
		if (program.p_type == PT_INTERP)
			return rf_missing_text_at(
				fd, program.p_offset, program.p_filesz, interpreter, room);
	}
	return false;
}

static bool rf_missing_elf32(int fd, const char *head, char *interpreter, size_t room)
{
	Elf32_Ehdr header;
	Elf32_Phdr program;

	memcpy(&header, head, sizeof(header));
	if (header.e_phentsize != sizeof(program) || header.e_phnum > RF_PROGRAM_HEADERS_MAX)
		return false;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		off_t offset = (off_t)header.e_phoff + (off_t)(i * sizeof(program));

		if (pread(fd, &program, sizeof(program), offset) != (ssize_t)sizeof(program))
			return false;
		if (program.p_type == PT_INTERP)
			return rf_missing_text_at(
				fd, program.p_offset, program.p_filesz, interpreter, room);
	}
	return false;
}

/* What the kernel would open next to run this file. */
static bool rf_missing_next(const char *path, char *interpreter, size_t room)
{
	char head[RF_SCRIPT_LINE_BYTES];
	int fd rf_autofd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);

	if (n > 2 && head[0] == '#' && head[1] == '!')
		return rf_missing_script(head, (size_t)n, interpreter, room);
	if (n < (ssize_t)sizeof(Elf64_Ehdr) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return false;
	if (head[EI_CLASS] == ELFCLASS64)
		return rf_missing_elf64(fd, head, interpreter, room);
	return head[EI_CLASS] == ELFCLASS32 && rf_missing_elf32(fd, head, interpreter, room);
}

void rf_missing_describe(const char *path, const char *name, char *text, size_t text_bytes)
{
	char current[RF_PATH_MAX_BYTES], interpreter[RF_PATH_MAX_BYTES];

	snprintf(current, sizeof(current), "%s", path);
	for (int i = 0; i < RF_INTERPRETERS_MAX; i++) {
		if (!rf_missing_next(current, interpreter, sizeof(interpreter)))
			break;
		if (access(interpreter, F_OK) < 0) {
			snprintf(text, text_bytes, "%s: interpreter %.900s is missing inside", name,
				interpreter);
			return;
		}
		memcpy(current, interpreter, sizeof(current));
	}
	snprintf(text, text_bytes, "%s: something that it needs is missing inside", name);
}
