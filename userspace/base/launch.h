/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What controller, keeper and launcher say to each other. Both ends come from one build: the
 * version is checked, not negotiated.
 *
 *	controller --(control: SEQPACKET)-- keeper --(channel: SEQPACKET)-- launcher
 *	                                       |
 *	                                       +-- first process (CLONE_INTO_CGROUP) = bubblewrap,
 *	                                           whose PID 1 is the launcher
 *
 *	keeper      -> SPAWNED (pidfd)      first process exists in the cgroup and waits
 *	controller  -> LABELLED             it may exec bubblewrap
 *	launcher    -> READY                Landlock and seccomp are in force; it waits
 *	controller  -> GO                   limits are set, rules are armed; it forks the command
 *	launcher    -> STARTED | EXEC_FAILED
 *	launcher    -> EXITED               how the command ended, and how many were left
 *	keeper      -> FIRST_EXITED         the first process was reaped (wait status)
 *
 * A first process that the client made (RF_KEEPER_ADOPTS) has no launcher: SPAWNED and FIRST_EXITED
 * alone are said of it.
 *
 * End of file instead of an answer means exit, and kill what there is.
 */

#include <stdint.h>

#define RF_LAUNCH_VERSION 3U
#define RF_LAUNCH_MAGIC 0x52464c31U /* RFL1 */

/* argv[1] of ringfence-launch. */
#define RF_LAUNCH_ROLE_KEEPER "keeper"
#define RF_LAUNCH_ROLE_INIT "init"

/* Descriptors that the keeper is started with; absent ones are simply not open. */
enum rf_keeper_fd {
	/* 0, 1, 2: the command's standard streams. */
	RF_KEEPER_CONTROL = 3,
	RF_KEEPER_SPEC = 4,	       /* struct rf_keeper_spec */
	RF_KEEPER_BWRAP_ARGUMENTS = 5, /* NUL-separated, read by bubblewrap through --args 5 */
	RF_KEEPER_SANDBOX_SPEC =
		6,		/* struct rf_sandbox_spec and what follows, read by the launcher */
	RF_KEEPER_BWRAP = 7,	/* executable; absent when the launcher runs without bubblewrap */
	RF_KEEPER_LAUNCHER = 8, /* executable */
	RF_KEEPER_SETUP_STDERR = 9, /* pipe: what bubblewrap prints until GO */
	RF_KEEPER_CGROUP = 10,	    /* the leaf, a directory; absent: no cgroup */
	RF_KEEPER_KILL = 11,	    /* its cgroup.kill, open for writing */
	RF_KEEPER_CONTROLLER = 12,  /* pidfd */
	RF_KEEPER_CLIENT = 13,	    /* pidfd; absent: not watched */
	RF_KEEPER_CGROUP_BASE = 14, /* the leaf's parent, to remove it when nobody else can */
	RF_KEEPER_STDERR = 15,	    /* first process alone: the command's real standard error */
	RF_KEEPER_CHANNEL = 16,	    /* first process alone: the launcher's end of the channel */
	RF_KEEPER_TREE = 17, /* first process alone: the staged view, a detached mount tree */
	/* Bind sources in plan order, then descriptors to pass, from here on. */
	RF_KEEPER_FIRST_FREE = 64,
};

#define RF_KEEPER_HAS_BWRAP 1U	   /* full access runs without */
#define RF_KEEPER_DROP_GROUPS 2U   /* setgroups(0, NULL) before bubblewrap */
#define RF_KEEPER_CHANGES_USER 4U  /* setresgid, setresuid before bubblewrap: see uid, gid */
#define RF_KEEPER_STAGED 8U	   /* build the staged view first (stage strings follow) */
#define RF_KEEPER_STAGE_USERNS 16U /* and make a user namespace for that */
/* The first process is the client's child, whose pidfd is RF_KEEPER_FIRST_FREE: nothing is started,
 * there is no launcher, and the client alone learns its status. SPAWNED says: it is watched. */
#define RF_KEEPER_ADOPTS 32U

/* Strings that follow are NUL-terminated, in the order named. */
struct rf_keeper_spec {
	uint32_t magic;
	uint32_t version;
	uint32_t flags;
	uint32_t uid;
	uint32_t gid;
	/* Highest descriptor that the first process inherits, exclusive. */
	uint32_t n_fds_end;
	/* Limit to restore in the first process before bubblewrap starts is in the sandbox spec. */
	uint32_t n_stage_steps;
	uint32_t reserved;
	/* Follows: leaf name in the cgroup base ("" when none), stage directory ("" when none),
	 * then n_stage_steps of struct rf_stage_step each followed by source and destination. */
};

/* Every destination of a stage is this or below it: it becomes the tree that is attached. */
#define RF_STAGE_TOP "top"

/*
 * One bind below the stage directory, made by the first process in its own mount namespace. An
 * empty source makes a directory and binds nothing.
 */
struct rf_stage_step {
	uint64_t source_dev;
	uint64_t source_ino;
	uint32_t is_read_only;
	uint32_t is_directory;
};

#define RF_SANDBOX_LANDLOCK 1U
#define RF_SANDBOX_SECCOMP 2U
#define RF_SANDBOX_KEEP_BACKGROUND 4U
#define RF_SANDBOX_CHANGE_USER 8U /* setresgid, setresuid inside, before capabilities go */
#define RF_SANDBOX_NAMESPACES 16U /* it is PID 1 of a PID namespace; else a subreaper */
#define RF_SANDBOX_DROP_CAPABILITIES 32U
#define RF_SANDBOX_SCOPE 64U /* Landlock scopes for signals and abstract sockets (ABI 6) */
/* A staged tree is attached at the string that ends the spec; needs CAP_SYS_ADMIN inside. */
#define RF_SANDBOX_STAGED 128U
/* The standard streams are one socket to the client: the command gets a terminal of its own, as the
 * controlling one and with itself in front, whose other end goes through that socket. */
#define RF_SANDBOX_TERMINAL 256U
/* After attaching: a user namespace of the launcher's own in which it is uid and gid. Bubblewrap
 * makes that one itself when it mounts devpts without privilege, and then nobody inside may
 * attach anything; with --uid 0 --gid 0 it leaves it to the launcher. */
#define RF_SANDBOX_MAP_USER 512U

/*
 * Followed by, in this order and without padding (read with memcpy):
 *	n_directories × { uint32_t mode; string }        made when missing, after the user change
 *	n_rules       × { uint32_t enum rf_launch_access; string }
 *	1             × string                            working directory
 *	1             × string                            program ("" for: search argv[0] in PATH)
 *	n_args        × string
 *	n_environment × string
 *	n_pass_fds    × { uint32_t from; uint32_t to }
 *	n_filters     × { uint32_t seccomp flags; uint32_t n_instructions; struct sock_filter[] }
 *	n_places      × { uint64_t dev; uint64_t ino; string }  must be mounted there
 *	1             × string                            with RF_SANDBOX_STAGED alone: where
 *	                                                  the staged tree goes, a directory inside
 * A string is uint32_t length (without NUL), bytes, NUL.
 */
struct rf_sandbox_spec {
	uint32_t magic;
	uint32_t version;
	uint32_t flags;
	uint32_t uid;
	uint32_t gid;
	/* The ABI that the plan counts on: the launcher refuses when the kernel has less. */
	uint32_t landlock_abi;
	/* Signals that the client ignored, bit (n - 1); they stay ignored in the command. */
	uint64_t ignored_signals;
	uint64_t nofile_soft;
	uint64_t nofile_hard;
	uint32_t umask;
	uint32_t n_directories;
	uint32_t n_rules;
	uint32_t n_args;
	uint32_t n_environment;
	uint32_t n_pass_fds;
	uint32_t n_filters;
	uint32_t n_places;
};

enum rf_launch_access {
	RF_LAUNCH_READ,
	RF_LAUNCH_WRITE,
	RF_LAUNCH_DEVICE,
	RF_LAUNCH_TERMINAL,
	RF_LAUNCH_SOCKET, /* connect to a socket made outside (ABI 9); nothing below it */
	RF_LAUNCH_LIST,	  /* read directories, not files */
};

enum rf_launch_kind {
	RF_LAUNCH_SPAWNED = 1,	/* pid; its pidfd travels along */
	RF_LAUNCH_SETUP_FAILED, /* value: errno; text: the step, for people */
	RF_LAUNCH_READY, /* pid (host's view, filled by the keeper), value: Landlock ABI in force */
	RF_LAUNCH_STARTED,	/* pid of the command inside */
	RF_LAUNCH_EXEC_FAILED,	/* value: errno; extra: 126 or 127; text: what is missing */
	RF_LAUNCH_EXITED,	/* value: wait status; extra: processes left behind */
	RF_LAUNCH_FIRST_EXITED, /* value: wait status of the first process */
	/* towards the launcher */
	RF_LAUNCH_LABELLED = 32,
	RF_LAUNCH_GO,
	RF_LAUNCH_SIGNAL,    /* value: signal; extra: 0 the command, 1 its process group */
	RF_LAUNCH_TERMINATE, /* SIGTERM to every process inside but the launcher */
	RF_LAUNCH_KILL,	     /* the keeper: kill now (kill file, else the first process) */
	/* The keeper alone, before everything else: extra has a bit per standard stream that is
	 * open, and those descriptors travel along. Bubblewrap never holds them, so that a pipe
	 * gets its end of file when the command closes it. */
	RF_LAUNCH_STREAMS,
	/* launcher -> client, through the socket of RF_SANDBOX_TERMINAL */
	RF_LAUNCH_PTY = 64, /* the pty's master travels along */
	RF_LAUNCH_STOPPED,  /* value: the signal that stopped the command */
};

#define RF_LAUNCH_TEXT_BYTES 1024

struct rf_launch_message {
	uint32_t kind;
	int32_t value;
	int32_t extra;
	int32_t pid;
	char text[RF_LAUNCH_TEXT_BYTES];
};
