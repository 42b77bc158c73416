# SPDX-License-Identifier: LGPL-2.1-or-later
"""Drives the real ringfence-launch over its socket, as the controller does (base/launch.h)."""

import array
import fcntl
import os
import resource
import select
import shutil
import socket
import struct
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
LAUNCHER = os.environ.get("RINGFENCE_LAUNCH", os.path.join(ROOT, "out/ringfence-launch"))
BWRAP = shutil.which("bwrap") or "/usr/bin/bwrap"
CGROUP = os.environ.get("RINGFENCE_CGROUP2", "/sys/fs/cgroup/unified")

MAGIC, VERSION, FIRST_FREE = 0x52464C31, 3, 64
HAS_BWRAP, DROP_GROUPS, CHANGES_USER, STAGED, STAGE_USERNS = 1, 2, 4, 8, 16
LANDLOCK, SECCOMP, KEEP_BACKGROUND, CHANGE_USER, NAMESPACES, DROP_CAPABILITIES, SCOPE = (
    1, 2, 4, 8, 16, 32, 64)
SANDBOX_STAGED, TERMINAL, MAP_USER = 128, 256, 512
READ, WRITE, DEVICE, TTY, SOCKET = range(5)
SPAWNED, SETUP_FAILED, READY, STARTED, EXEC_FAILED, EXITED, FIRST_EXITED = range(1, 8)
LABELLED, GO, SIGNAL, TERMINATE, KILL = range(32, 37)
PTY, STOPPED = range(64, 66)
MESSAGE = struct.Struct("=Iiii1024s")


def receive_terminal(ours):
    """What the launcher says through the socket that stands in for the streams: kind, descriptors."""
    ours.settimeout(10)
    data, fds, _, _ = socket.recv_fds(ours, MESSAGE.size, 1)
    return MESSAGE.unpack(data)[0], fds


def string(text):
    data = os.fsencode(text)
    return struct.pack("=I", len(data)) + data + b"\0"


def keeper_spec(flags, leaf="", stage="", steps=(), uid=0, gid=0, end=FIRST_FREE):
    data = struct.pack("=8I", MAGIC, VERSION, flags, uid, gid, end, len(steps), 0)
    data += os.fsencode(leaf) + b"\0" + os.fsencode(stage) + b"\0"
    for source, destination, is_read_only in steps:
        status = os.stat(source, follow_symlinks=False)
        data += struct.pack("=QQII", status.st_dev, status.st_ino, is_read_only,
                            os.path.isdir(source))
        data += os.fsencode(source) + b"\0" + b"top/" + os.fsencode(destination).lstrip(b"/") + b"\0"
    return data


def sandbox_spec(argv, flags, rules=(), directories=(), directory="/", program="",
                 environment=("PATH=/usr/bin:/bin",), pass_fds=(), filters=(), abi=1, uid=0, gid=0,
                 ignored=0, umask=0o022, staged=""):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    head = struct.pack("=6I3Q8I", MAGIC, VERSION, flags, uid, gid, abi, ignored, soft, hard, umask,
                       len(directories), len(rules), len(argv), len(environment), len(pass_fds),
                       len(filters), 0)
    parts = [head]
    parts += [struct.pack("=I", mode) + string(path) for path, mode in directories]
    parts += [struct.pack("=I", access) + string(path) for path, access in rules]
    parts += [string(directory), string(program)]
    parts += [string(text) for text in argv] + [string(text) for text in environment]
    parts += [struct.pack("=II", *pair) for pair in pass_fds]
    for flag, program_bytes in filters:
        parts.append(struct.pack("=II", flag, len(program_bytes) // 8) + program_bytes)
    if flags & SANDBOX_STAGED:
        parts.append(string(staged))
    return b"".join(parts)


VIEW = ["--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--symlink", "usr/bin", "/bin",
        "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--dev", "/dev",
        "--proc", "/proc", "--tmpfs", "/tmp"]
# Root needs no user namespace, and the controller makes none for it.
NAMESPACES_ASKED = ["--unshare-all"] if os.getuid() != 0 else [
    "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
ALWAYS = NAMESPACES_ASKED + ["--die-with-parent", "--as-pid-1", "--new-session",
                             "--cap-drop", "ALL"]
# Without a user namespace bubblewrap leaves the bounding set as it is: the launcher empties it.
if os.getuid() == 0:
    ALWAYS += ["--cap-add", "CAP_SETPCAP"]
RULES = [("/usr", READ), ("/etc", READ), ("/proc", READ), ("/dev", READ), ("/dev/null", DEVICE),
         ("/tmp", WRITE)]
CONFINED = LANDLOCK | NAMESPACES | DROP_CAPABILITIES


def memfd(data):
    fd = os.memfd_create("spec", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def place(numbers):
    """In the child: each descriptor at its number, everything else above 2 closed."""
    moved = {number: fcntl.fcntl(fd, fcntl.F_DUPFD, 1000) for number, fd in numbers.items()}
    for number, fd in moved.items():
        os.dup2(fd, number, inheritable=True)
    keep = sorted(numbers)
    last = -1
    for number in keep:
        if number > last + 1:
            os.closerange(last + 1, number)
        last = number
    os.closerange(last + 1, 5000)


class Run:
    """One sandbox. Streams are pipes whose ends are self.stdin, self.stdout and self.stderr."""

    def __init__(self, argv, flags=CONFINED, view=None, keeper_flags=HAS_BWRAP | DROP_GROUPS,
                 cgroup=None, passed=(), steps=(), stage="", client=None,
                 raw_keeper=None, raw_sandbox=None, user=(0, 0), closed=(), extra=(), tty=-1,
                 **spec):
        spec.setdefault("rules", RULES)
        if passed:
            spec["pass_fds"] = [(FIRST_FREE + i, to) for i, (_, to) in enumerate(passed)]
        self.cgroup = cgroup
        self.control, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stdin, self.stdin = os.pipe()
        self.stdout, stdout = os.pipe()
        self.stderr, stderr = os.pipe()
        self.setup, setup = os.pipe()
        numbers = {0: stdin, 1: stdout, 2: stderr, 3: control.fileno(), 9: setup}
        for number in closed:
            del numbers[number]
        if tty >= 0:
            numbers.update({0: tty, 1: tty, 2: tty})
        arguments = ALWAYS + list(VIEW if view is None else view)
        numbers[4] = memfd(raw_keeper or keeper_spec(
            keeper_flags, leaf=os.path.basename(cgroup) if cgroup else "", stage=stage,
            steps=steps, uid=user[0], gid=user[1], end=FIRST_FREE + len(passed)))
        numbers[5] = memfd(b"\0".join(map(os.fsencode, arguments)) + b"\0")
        numbers[6] = memfd(raw_sandbox or sandbox_spec(argv, flags, **spec))
        if keeper_flags & HAS_BWRAP:
            numbers[7] = os.open(BWRAP, os.O_RDONLY)
        numbers[8] = os.open(LAUNCHER, os.O_RDONLY)
        if cgroup:
            numbers[10] = os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY)
            numbers[11] = os.open(os.path.join(cgroup, "cgroup.kill"), os.O_WRONLY)
            numbers[14] = os.open(os.path.dirname(cgroup), os.O_RDONLY | os.O_DIRECTORY)
        numbers[12] = os.pidfd_open(os.getpid())
        if client:
            numbers[13] = os.pidfd_open(client)
        for i, (fd, _) in enumerate(passed):
            numbers[FIRST_FREE + i] = fd
        for fd in extra:
            numbers[fd[1]] = fd[0]
        self.pid = os.fork()
        if self.pid == 0:
            try:
                place(numbers)
                os.execve(8, ["ringfence-launch", "keeper"], {"SECRET": "zz9"})
            finally:
                os._exit(99)
        for number, fd in numbers.items():
            if number != 3 and number < FIRST_FREE and fd != tty:
                os.close(fd)
        control.close()
        self.pidfd = -1
        self.messages = []

    def receive(self, timeout=10):
        if not select.select([self.control], [], [], timeout)[0]:
            raise TimeoutError(f"after {self.messages}")
        data, ancillary, _, _ = self.control.recvmsg(MESSAGE.size, socket.CMSG_SPACE(16))
        for level, kind, fds in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                got = array.array("i", fds[:4])
                self.pidfd = got[0]
        if not data:
            return None
        kind, value, extra, pid, text = MESSAGE.unpack(data)
        message = (kind, value, extra, pid, text.split(b"\0")[0].decode())
        self.messages.append(message)
        return message

    def expect(self, kind):
        message = self.receive()
        if message is None or message[0] != kind:
            raise AssertionError(f"wanted {kind}, got {message} of {self.messages}; "
                                 f"setup says {self.drain(self.setup, 0.2)!r}")
        return message

    def send(self, kind, value=0, extra=0):
        self.control.send(MESSAGE.pack(kind, value, extra, 0, b""))

    def ready(self):
        self.spawned = self.expect(SPAWNED)
        self.send(LABELLED)
        return self.expect(READY)

    def start(self):
        self.ready()
        self.send(GO)
        return self.expect(STARTED)

    def finish(self):
        """From start to the end: (wait status, left behind, standard output)."""
        self.start()
        return self.end()

    def end(self):
        os.close(self.stdin)
        self.stdin = -1
        exited = self.expect(EXITED)
        self.expect(FIRST_EXITED)
        output = self.drain(self.stdout)
        self.close()
        return exited[1], exited[2], output

    def drain(self, fd, timeout=5):
        chunks = []
        while select.select([fd], [], [], timeout)[0]:
            data = os.read(fd, 65536)
            if not data:
                break
            chunks.append(data)
        return b"".join(chunks).decode(errors="replace")

    def failure(self):
        """The SETUP_FAILED that comes instead of READY."""
        message = self.receive()
        if message[0] == SPAWNED:
            self.send(LABELLED)
            message = self.receive()
        assert message[0] == SETUP_FAILED, message
        self.close()
        return message

    def close(self):
        self.control.close()
        os.waitpid(self.pid, 0)
        for fd in (self.stdin, self.stdout, self.stderr, self.setup, self.pidfd):
            if fd >= 0:
                os.close(fd)


class Cgroup:
    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="launch-test-", dir=CGROUP)
        return self.path

    def __exit__(self, *_):
        if os.path.isdir(self.path):
            os.rmdir(self.path)
            raise AssertionError("the keeper left the cgroup")
