/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The canary: a child in a scratch leaf below the base that tries what must be refused. The parent
 * asks, the child does it and answers with the errno (0: it was allowed).
 */

#include <limits.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

enum rf_canary_ask {
	RF_CANARY_MEASURE, /* run the measuring program */
	RF_CANARY_INET,
	RF_CANARY_INET6,
	RF_CANARY_UNIX,
	RF_CANARY_PAIR,
	RF_CANARY_BIND,	   /* one end of a pair */
	RF_CANARY_CONNECT, /* the same */
	RF_CANARY_LISTEN,
	RF_CANARY_REACH_FOREIGN,
	RF_CANARY_SEND_FOREIGN,
	RF_CANARY_REACH_OWN,
	/* UDP to port 9 of the loopback. */
	RF_CANARY_CONNECT4,
	RF_CANARY_CONNECT6,
	RF_CANARY_SEND4,
	RF_CANARY_SEND6,
	/* To every address. */
	RF_CANARY_BIND4,
	RF_CANARY_BIND6,
	RF_CANARY_LISTEN4, /* a TCP socket that was never bound */
	RF_CANARY_ROUTE,   /* a packet with IP options, to a port of its own */
	RF_CANARY_OWN_PORT,
	RF_CANARY_CLOSED_PORT,
	/* Forks a child that execs a tiny program; the program's wait status instead of an errno.
	 */
	RF_CANARY_PROCESS,
	/* In the scratch directory, see bpf_canary_files.h. */
	RF_CANARY_FILE_READ,
	RF_CANARY_FILE_WRITE,
	RF_CANARY_FILE_CREATE,
	RF_CANARY_FILE_MKDIR,
	RF_CANARY_FILE_SYMLINK,
	RF_CANARY_FILE_LINK,
	RF_CANARY_FILE_RENAME,
	RF_CANARY_FILE_RMDIR,
	RF_CANARY_FILE_UNLINK,
	RF_CANARY_FILE_TRUNCATE,
	RF_CANARY_FILE_CHMOD,
	RF_CANARY_FILE_SETXATTR,
	RF_CANARY_FILE_REMOVEXATTR,
	RF_CANARY_FILE_NEIGHBOUR,
	/* Makes a file beside the neighbour and opens it again. */
	RF_CANARY_FILE_OWN,
};

/* What the tiny program exits with, and its argument. */
#define RF_CANARY_EXIT 7
#define RF_CANARY_ARGUMENT "canary"
/* An answer that takes longer means that the child hangs. */
#define RF_CANARY_DEADLINE_MS 2000

struct rf_canary {
	int base_fd;
	char name[NAME_MAX];
	int leaf_fd;
	uint64_t leaf_id;
	int pidfd;
	pid_t pid;
	int ask_fd;
	int answer_fd;
	int measure_prog_fd;
	int program_fd;
	/* Foreign to the canary: made by the parent, autobound in the abstract namespace. */
	int stream_fd;
	/* Root of a tmpfs that is mounted nowhere; -1: none could be had. */
	int files_fd;
	int datagram_fd;
	struct sockaddr_un stream;
	struct sockaddr_un datagram;
	socklen_t stream_bytes;
	socklen_t datagram_bytes;
};

void rf_canary_init(struct rf_canary *canary);
/* Makes the leaf and the child in it; measure_prog_fd is borrowed. 0 or -errno. */
int rf_canary_start(struct rf_canary *canary, int base_fd, int measure_prog_fd);
/* 0 and the child's answer; -ETIMEDOUT, -EPIPE when it died, or -errno. After any of these every
 * further question is answered -EPIPE at once. */
int rf_canary_ask(struct rf_canary *canary, enum rf_canary_ask ask, int *ret_answer);
/* Ends the child, waits, removes the leaf. */
void rf_canary_stop(struct rf_canary *canary);
