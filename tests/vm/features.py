#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints what this kernel gives to this user, a line for each feature: found by doing, by hand.

The runner decides with it which tests have to pass, so nothing of the product is used.
"""

import ctypes
import os
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_BPF = 321
SYS_IO_URING_SETUP = 425
SYS_LANDLOCK_CREATE_RULESET = 444

PROG_LOAD = 5
PROG_TYPE_CGROUP_SOCK_ADDR = 18
PROG_TYPE_TRACING = 26
PROG_TYPE_LSM = 29
CGROUP_INET4_CONNECT = 10
TRACE_RAW_TP = 23
TRACE_FEXIT = 25
LSM_MAC = 27

KIND_TYPEDEF = 8
KIND_FUNC = 12


def syscall(*arguments):
    """Return the call's result, or minus errno."""
    result = LIBC.syscall(*(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    return -ctypes.get_errno() if result < 0 else result


def btf_ids(wanted):
    """Find the ids of named functions and typedefs in the kernel's BTF."""
    with open("/sys/kernel/btf/vmlinux", "rb") as file:
        data = file.read()
    header_length, type_offset, type_length, string_offset = struct.unpack_from("<4I", data, 4)
    position = header_length + type_offset
    end = position + type_length
    strings = header_length + string_offset
    # Bytes that follow the common header, by kind: fixed, and for each member.
    fixed = {1: 4, 3: 12, 14: 4, 17: 4}
    member = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
    offsets = {}
    for kind, name in wanted:
        offset = data.find(b"\0" + name.encode() + b"\0", strings)
        offsets[(kind, offset + 1 - strings)] = name
    found = {}
    number = 1
    while position < end:
        name_offset, info, _ = struct.unpack_from("<3I", data, position)
        kind = info >> 24 & 0x1F
        name = offsets.get((kind, name_offset))
        if name:
            found[name] = number
        position += 12 + fixed.get(kind, 0) + member.get(kind, 0) * (info & 0xFFFF)
        number += 1
    return found


def loads(program_type, attach_type, btf_id=0):
    """Load a program that returns 0."""
    instructions = struct.pack("<BBhi", 0xB7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    code = ctypes.create_string_buffer(instructions)
    licence = ctypes.create_string_buffer(b"GPL")
    attributes = ctypes.create_string_buffer(
        struct.pack(
            "<IIQQIIQII16sIIIIQIIQII",
            program_type, 2, ctypes.addressof(code), ctypes.addressof(licence),
            0, 0, 0, 0, 0, b"feature", 0, attach_type, 0, 0, 0, 0, 0, 0, 0, btf_id,
        )
    )
    result = syscall(SYS_BPF, PROG_LOAD, attributes, len(attributes.raw) - 1)
    if result >= 0:
        os.close(result)
    return result >= 0


def bpf_features():
    """Yield the names of the BPF features."""
    if loads(PROG_TYPE_CGROUP_SOCK_ADDR, CGROUP_INET4_CONNECT):
        yield "bpf-cgroup"
    ids = btf_ids([
        (KIND_FUNC, "bpf_lsm_file_open"),
        (KIND_FUNC, "security_file_open"),
        (KIND_TYPEDEF, "btf_trace_sched_process_exec"),
    ])
    for name, program_type, attach_type, target in (
        ("bpf-lsm", PROG_TYPE_LSM, LSM_MAC, "bpf_lsm_file_open"),
        ("bpf-fexit", PROG_TYPE_TRACING, TRACE_FEXIT, "security_file_open"),
        ("bpf-trace", PROG_TYPE_TRACING, TRACE_RAW_TP, "btf_trace_sched_process_exec"),
    ):
        if target not in ids or not loads(program_type, attach_type, ids[target]):
            continue
        # Without `bpf` in the list such a program loads, attaches and is never asked.
        if name != "bpf-lsm" or "bpf" in active_lsms():
            yield name


def active_lsms():
    """Return the names; all that could matter where securityfs is not mounted."""
    try:
        with open("/sys/kernel/security/lsm", encoding="ascii") as file:
            return file.read().strip().split(",")
    except OSError:
        return ["bpf"]


def main():
    """Print the features."""
    print("landlock", max(syscall(SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1), 0))
    # No entries is refused as invalid by a kernel that would make a ring.
    if syscall(SYS_IO_URING_SETUP, 0, 0) in (-14, -22):
        print("io-uring")
    if os.geteuid() == 0:
        for name in bpf_features():
            print(name)


if __name__ == "__main__":
    main()
