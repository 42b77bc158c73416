/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RF_BPF_ABI_H
#define RF_BPF_ABI_H

/*
 * What the programs in the kernel and the controllers share: map keys and values, and the records
 * that travel through a controller's ring. Pinned objects live in a directory that carries
 * RF_ABI_VERSION: two versions of Ringfence never read each other's maps. Every change of a layout
 * here is a new version.
 */

#include <linux/types.h>

#define RF_ABI_VERSION 5U

/* ---- Sizes, each with its reason ------------------------------------------------------------ */

/* Sandboxes alive on one host: some thousands, so that no ceiling per user meets this one first. */
#define RF_SANDBOXES_MAX 4096U
/* Controllers alive on one host; private ones count. */
#define RF_RINGS_MAX 1024U
/* Socket files that policies name, all sandboxes together. */
#define RF_UNIX_INODES_MAX 16384U
/* Entries of destinations, all sandboxes together: a rule with a range of ports takes up to 30. */
#define RF_DESTINATIONS_MAX 524288U
#define RF_DESTINATIONS_EACH_MAX 131072U
/* Places that file rules are about, and names in them, all sandboxes together: some hundreds each
 * for a hundred sandboxes. Memory is taken as they come. */
#define RF_FILE_PLACES_MAX 65536U
#define RF_FILE_NAMES_MAX 65536U
/* Directories looked at above one file; what lies deeper is refused where such rules are. */
#define RF_FILE_DEPTH_MAX 100
/* NAME_MAX and a NUL: whole words. */
#define RF_FILE_NAME_BYTES 256U
/* What one sandbox may name beyond its posture. */
#define RF_FAMILIES_MAX 16
/* Room for a ring when its controller asks for none in particular; a power of two. */
#define RF_RING_DEFAULT_BYTES (1024U * 1024)
/* Unread records for which its reader is woken though nobody follows: a quarter of the default. */
#define RF_RING_WAKE_BYTES (256U * 1024)
/* Arguments kept of one exec; what is beyond is cut and marked. */
#define RF_ARGV_MAX_BYTES 4096U
/* PATH_MAX: a path that the kernel itself would take. */
#define RF_PATH_BYTES 4096U
/* Components walked in one path, mount points included; a deeper path is marked as cut. */
#define RF_PATH_COMPONENTS_MAX 128U
/* A script's name as it was given to execve. */
#define RF_SCRIPT_MAX_BYTES 1024U

/* ---- Map values ----------------------------------------------------------------------------- */

/* Labels and membership start with setup, rules and records with armed. */
enum rf_entry_state { RF_ENTRY_SETUP = 0, RF_ENTRY_ARMED = 1 };

enum rf_socket_posture { RF_SOCKETS_ALL = 0, RF_SOCKETS_NONE = 1, RF_SOCKETS_LISTED = 2 };

/* AF_UNIX sockets can be made (socketpair always can). */
#define RF_RULE_UNIX 1U
/* AF_INET and AF_INET6 with TCP, UDP and ICMP echo. */
#define RF_RULE_INET 2U
/* Unix sockets of others may be reached: full access. */
#define RF_RULE_UNIX_FOREIGN 4U
/* The map of socket files has entries of this sandbox. */
#define RF_RULE_UNIX_INODES 8U
/* Nobody follows the records, and no other sandbox writes to this ring: its reader need not be
 * woken for each. */
#define RF_RULE_UNFOLLOWED 16U
/* The maps of file rules have entries of this sandbox. */
#define RF_RULE_FILES 32U
/* Some of them close, or close to writing, what lies below a directory, or a name. */
#define RF_RULE_FILES_BELOW 64U
#define RF_RULE_FILES_BELOW_WRITE 128U
/* The map of destinations has entries of this sandbox. */
#define RF_RULE_DESTINATIONS 256U
/* Among them some for every public address. */
#define RF_RULE_PUBLIC 512U

/* Which addresses may be reached and bound. */
enum rf_egress {
	/* Every one: other postures, or walls other than these hooks. */
	RF_EGRESS_ANY = 0,
	/* The host's loopback. */
	RF_EGRESS_LOOPBACK = 1,
	/* What the map of destinations names, and the sandbox's own sockets on the loopback. */
	RF_EGRESS_RULES = 2,
};

/* Of a file or directory, by its inode; a directory's first three speak for what lies below it. */
#define RF_FILE_CLOSED 1U
#define RF_FILE_READ_ONLY 2U
/* A grant: what is said further up ends here. */
#define RF_FILE_OPEN 4U
/* May be neither moved nor removed. */
#define RF_FILE_PINNED 8U
/* The map of names has some in this directory. */
#define RF_FILE_NAMES 16U
/* Open for the names listed and for what the sandbox itself made in it. */
#define RF_FILE_LISTED 32U

/* Of a name in a directory. */
#define RF_NAME_CLOSED 1U
#define RF_NAME_READ_ONLY 2U
#define RF_NAME_OPEN 4U

struct rf_entry {
	__u32 state;
	__u32 posture;
	__u32 flags;
	__u32 ring;
	__u32 n_families;
	/* enum rf_egress. */
	__u32 egress;
	__u32 families[RF_FAMILIES_MAX];
	/* Bit n: some destination has a port prefix of n bits. */
	__u32 port_lengths;
	__u32 reserved;
};

/* Network order; IPv4 as ::ffff:a.b.c.d. */
struct rf_address {
	__u32 word[4];
};

enum rf_destination_kind {
	RF_DESTINATION_V4 = 4,
	RF_DESTINATION_V6 = 6,
	RF_DESTINATION_PUBLIC = 1
};

/*
 * Of the prefix tree: sandbox, kind, length of the port's prefix, port (network order, masked),
 * then the address, of which any prefix can be meant. prefix_bits counts from sandbox on.
 */
struct rf_destination_key {
	__u32 prefix_bits;
	__u32 sandbox[2];
	__u8 kind;
	__u8 port_bits;
	__u16 port;
	struct rf_address address;
};
#define RF_DESTINATION_FIXED_BITS 96U
/* Value: the rule names loopback addresses alone. Without it a rule, however wide, names none. */
#define RF_DESTINATION_LOOPBACK 1U

enum rf_lost_cause {
	/* The ring was full. */
	RF_LOST_RING_FULL = 0,
	/* The sandbox's controller has no ring (any more). */
	RF_LOST_NO_RING = 1,
	/* A child could not be labelled. */
	RF_LOST_LABEL = 2,
	RF_LOST_CAUSES = 4,
};

struct rf_counters {
	__u64 execs;
	__u64 forks;
	__u64 exits;
	__u64 denials;
	__u64 escapes;
	__u64 lost[RF_LOST_CAUSES];
	/* Of the denials, those by LSM programs. */
	__u64 denials_by_lsm;
};

struct rf_label {
	__u64 sandbox;
};

struct rf_unix_key {
	__u64 sandbox;
	__u64 ino;
	/* As the kernel keeps it: major << 20 | minor. */
	__u32 dev;
	__u32 reserved;
};

/*
 * Files are known by a number that userspace drew for them and put into their inode's storage, by
 * descriptor: it lives as long as the inode is in memory, which whoever wrote it sees to. Device
 * and inode numbers are ambiguous on some filesystems, this is not.
 */
struct rf_token {
	__u64 token;
};

struct rf_place_key {
	__u64 sandbox;
	__u64 token;
};

struct rf_name_key {
	__u64 sandbox;
	/* The directory's. */
	__u64 token;
	/* Padded with NUL: a name is compared whole, nothing is hashed that could collide. */
	char name[RF_FILE_NAME_BYTES];
};

/* A ring dies with its controller: pid and start time tell. */
struct rf_ring_owner {
	__u32 pid;
	/* Inode of /proc/self/ns/pid, which is where pid means something. */
	__u32 pid_namespace;
	/* /proc/PID/stat, field 22. */
	__u64 start_ticks;
};

#define RF_WHY_BYTES 256

struct rf_proof {
	/* enum rf_state of the controllers. */
	__u32 state;
	__u32 reserved;
	char why[RF_WHY_BYTES];
	char remedy[RF_WHY_BYTES];
};

enum rf_proof_kind {
	RF_PROOF_LSM = 0,
	RF_PROOF_CGROUP = 1,
	RF_PROOF_TRACE = 2,
	RF_PROOF_FILES = 3,
	RF_PROOFS = 4
};

/* Written last of all, so that a pinned set with a configuration is a whole one. */
struct rf_config {
	__u32 version;
	__u32 size;
	__u64 base;
	/* Level of a sandbox's leaf, as the kernel counts. */
	__u32 depth;
	__u32 reserved;
	struct rf_proof proofs[RF_PROOFS];
};

/* ---- Records -------------------------------------------------------------------------------- */

enum rf_record_kind {
	RF_RECORD_EXEC = 1,
	RF_RECORD_FORK = 2,
	RF_RECORD_EXIT = 3,
	RF_RECORD_ESCAPE = 4,
	RF_RECORD_DENIAL = 5,
	RF_RECORD_FILE_DENIAL = 6,
};

/* Membership came from the task's own label, not from the cgroup that it is in. */
#define RF_RECORD_LABELLED 1U

struct rf_record {
	__u16 kind;
	__u16 version;
	/* Of the whole record, what follows included. */
	__u32 size;
	/* CLOCK_BOOTTIME. */
	__u64 time_ns;
	__u64 sandbox;
	__u32 pid;
	__u32 tgid;
	/* Of the thread group's leader, CLOCK_BOOTTIME: with tgid the identity of the process. */
	__u64 start_ns;
	__u32 flags;
	__u32 reserved;
};

struct rf_record_fork {
	struct rf_record header; /* the child */
	__u32 parent;
	__u32 reserved;
	__u64 parent_start_ns;
};

#define RF_EXEC_FILELESS 1U /* no link: a memfd or a removed file */
#define RF_EXEC_SETID 2U    /* the file carries a set-user-ID or set-group-ID bit */
#define RF_EXEC_SCRIPT 4U
#define RF_EXEC_ARGV_CUT 8U
#define RF_EXEC_ARGV_UNREADABLE 16U
#define RF_EXEC_EXE_CUT 32U
#define RF_EXEC_CWD_CUT 64U
#define RF_EXEC_SCRIPT_CUT 128U
#define RF_EXEC_SECURE 256U /* the kernel raised AT_SECURE */

/* Followed by exe, cwd, script (each without NUL) and argv (NUL-terminated strings). */
struct rf_record_exec {
	struct rf_record header;
	__u32 parent;
	__u32 uid;
	__u64 parent_start_ns;
	__u64 ino;
	__u32 dev;
	__u32 marks;
	__u32 mode;
	__u32 argc;
	__u32 exe_bytes;
	__u32 cwd_bytes;
	__u32 script_bytes;
	__u32 argv_bytes;
};

struct rf_record_exit {
	struct rf_record header;
	/* As wait(2) gives it. */
	__u32 status;
	__u32 reserved;
	/* User and system time of every thread. */
	__u64 cpu_ns;
	__u64 memory_peak_bytes;
	__u64 read_bytes;
	__u64 write_bytes;
};

struct rf_record_escape {
	struct rf_record header;
	__u64 to_cgroup;
};

enum rf_denial_op {
	RF_DENIAL_SOCKET_CREATE = 1,
	RF_DENIAL_SOCKET_BIND = 2,
	RF_DENIAL_SOCKET_CONNECT = 3,
	RF_DENIAL_UNIX_CONNECT = 4,
	RF_DENIAL_UNIX_SEND = 5,
	RF_DENIAL_SOCKET_LISTEN = 6,
	RF_DENIAL_SOCKET_SEND = 32,
	/* The packet carries a route of its own: options, routing header. */
	RF_DENIAL_SOCKET_ROUTE = 33,
	RF_DENIAL_OPEN_READ = 7,
	RF_DENIAL_OPEN_WRITE = 8,
	RF_DENIAL_CREATE = 9,
	RF_DENIAL_REMOVE = 10,
	RF_DENIAL_RENAME = 11,
	RF_DENIAL_LINK = 12,
	RF_DENIAL_TRUNCATE = 13,
	/* Mode, owner, times, extended attributes. */
	RF_DENIAL_CHANGE = 14,
};

enum rf_denial_by { RF_BY_LSM = 1, RF_BY_CGROUP = 2 };

struct rf_record_denial {
	struct rf_record header;
	__u32 op;
	__u32 by;
	__u32 family;
	__u32 type;
	__u32 protocol;
	/* Positive. */
	__u32 error;
	/* Of IP sockets: what was to be reached or bound. */
	struct rf_address address;
	__u32 port;
	__u32 has_address;
};

struct rf_record_file_denial {
	struct rf_record header;
	__u32 op;
	/* Positive. */
	__u32 error;
	/* Of the place whose rule decided; 0: none did, the file lies too deep. */
	__u64 token;
	/* How far the file lies below that place: 0 it is the place, 1 a name in it, … */
	__u32 depth;
	__u32 name_bytes;
	char name[RF_FILE_NAME_BYTES];
};

/* Everything behind struct rf_record_exec, at most. */
#define RF_EXEC_TAIL_MAX_BYTES (2 * RF_PATH_BYTES + RF_SCRIPT_MAX_BYTES + RF_ARGV_MAX_BYTES)

#define RF_ABI_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type)
#define RF_ABI_AT(type, member, bytes) \
	_Static_assert(__builtin_offsetof(struct type, member) == (bytes), #type "." #member)

RF_ABI_SIZE(rf_entry, 96);
RF_ABI_AT(rf_entry, egress, 20);
RF_ABI_SIZE(rf_destination_key, 32);
RF_ABI_AT(rf_destination_key, address, 16);
RF_ABI_SIZE(rf_counters, 80);
RF_ABI_SIZE(rf_label, 8);
RF_ABI_SIZE(rf_unix_key, 24);
RF_ABI_SIZE(rf_token, 8);
RF_ABI_SIZE(rf_place_key, 16);
RF_ABI_SIZE(rf_name_key, 272);
RF_ABI_SIZE(rf_ring_owner, 16);
RF_ABI_SIZE(rf_proof, 520);
RF_ABI_SIZE(rf_config, 2104);
RF_ABI_SIZE(rf_record, 48);
RF_ABI_AT(rf_record, sandbox, 16);
RF_ABI_AT(rf_record, start_ns, 32);
RF_ABI_SIZE(rf_record_fork, 64);
RF_ABI_SIZE(rf_record_exec, 104);
RF_ABI_AT(rf_record_exec, exe_bytes, 88);
RF_ABI_SIZE(rf_record_exit, 88);
RF_ABI_SIZE(rf_record_escape, 56);
RF_ABI_SIZE(rf_record_denial, 96);
RF_ABI_SIZE(rf_record_file_denial, 328);

#endif
