/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * escape_tty: makes a terminal of its own, takes it as its controlling one and pushes input into
 * it. The kernel takes the request from the low half of the register. escape_tty 0 uses descriptor
 * 0 instead.
 */

#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "escape.h"

static long request(int fd, unsigned long number)
{
	char byte = 'x';

	return syscall(SYS_ioctl, (long)fd, number, &byte);
}

static int open_terminal(void)
{
	int main_end = posix_openpt(O_RDWR | O_NOCTTY);

	escape_report("openpt", main_end);
	if (main_end < 0 || grantpt(main_end) < 0 || unlockpt(main_end) < 0)
		return -1;
	setsid();
	return open(ptsname(main_end), O_RDWR);
}

static void try_ordinary(int terminal)
{
	struct termios settings;
	struct winsize size;

	escape_report("tcgetattr", tcgetattr(terminal, &settings));
	escape_report("winsize", ioctl(terminal, TIOCGWINSZ, &size));
	escape_report("tcsetattr", tcsetattr(terminal, TCSANOW, &settings));
	cfmakeraw(&settings);
	escape_report("raw", tcsetattr(terminal, TCSANOW, &settings));
}

static void try_devices(void)
{
	struct termios settings;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	/* Neither is a terminal: ENOTTY is the device's own answer. */
	escape_report("null-ioctl", tcgetattr(null, &settings));
	escape_report("zero-ioctl", tcgetattr(zero, &settings));
}

int main(int argc, char **argv)
{
	int terminal;

	/* A child of its own: the group's leader cannot begin a session. */
	if (argc == 1) {
		pid_t child = fork();

		if (child != 0)
			return waitpid(child, NULL, 0) == child ? 0 : 1;
	}
	terminal = argc == 2 ? escape_number(argv[1]) : open_terminal();
	escape_report("terminal", terminal);
	if (terminal < 0)
		return 1;
	escape_report("TIOCSTI", request(terminal, TIOCSTI));
	escape_report("TIOCSTI-high", request(terminal, 0x100000000UL | TIOCSTI));
	escape_report("TIOCSTI-sign", request(terminal, 0xffffffff00000000UL | TIOCSTI));
	escape_report("TIOCLINUX", request(terminal, TIOCLINUX));
	escape_report("TIOCLINUX-high", request(terminal, 0x100000000UL | TIOCLINUX));
	try_ordinary(terminal);
	try_devices();
	return 0;
}
