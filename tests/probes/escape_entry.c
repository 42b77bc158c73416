/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * escape_entry: the same calls through the entries that a filter for 64 bits does not see by
 * itself: int 0x80, whose numbers differ, and x32, whose numbers have bit 30. SIGSEGV or ENOSYS:
 * this kernel has no such entry.
 */

#include <sys/socket.h>

#include "escape.h"

#define X32_BIT 0x40000000L
#define I386_GETPID 20
#define I386_MOUNT 21
#define I386_CLONE 120
#define I386_SOCKET 359
#define I386_UNSHARE 310
#define NEW_USER 0x10000000L

struct call {
	int number;
	int arguments[3];
};

static const struct call calls[] = {
	{I386_GETPID, {0, 0, 0}},
	{I386_SOCKET, {AF_INET, SOCK_STREAM, 0}},
	{I386_SOCKET, {AF_PACKET, SOCK_DGRAM, 0}},
	{I386_UNSHARE, {NEW_USER, 0, 0}},
};

static int try_i386(long index)
{
	const struct call *call = &calls[index];
	int result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(call->number), "b"(call->arguments[0]), "c"(call->arguments[1]),
			 "d"(call->arguments[2])
			 : "memory", "r8", "r9", "r10", "r11");
	return result < 0 && result > -4096 ? -result : 0;
}

static int try_x32(long number)
{
	return syscall(number | X32_BIT, AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
}

int main(void)
{
	escape_report_child("i386-getpid", try_i386, 0);
	escape_report_child("i386-socket", try_i386, 1);
	escape_report_child("i386-packet", try_i386, 2);
	escape_report_child("i386-unshare", try_i386, 3);
	escape_report_child("x32-getpid", try_x32, SYS_getpid);
	escape_report_child("x32-socket", try_x32, SYS_socket);
	return 0;
}
