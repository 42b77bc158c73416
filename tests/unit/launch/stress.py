# SPDX-License-Identifier: LGPL-2.1-or-later
"""stress.py ROUNDS [cgroup|plain|bare]: SIGKILL to the controller at random moments leaves nothing."""

import os
import random
import signal
import sys
import time

from harness import *  # noqa: F403

MARKER = "8820.5"


def ours():
    """Every process of a run: by argument, or by name."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                arguments = file.read()
            with open(f"/proc/{pid}/stat") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if state in "ZX" or int(pid) == os.getpid():
            continue
        if MARKER.encode() in arguments or os.path.basename(LAUNCHER).encode() in arguments:
            found.append((int(pid), state, arguments))
    return found


def controller(kind, cgroup):
    options = {"cgroup": cgroup}
    if kind == "bare":
        options.update(keeper_flags=0, flags=0, rules=[])
    run = Run(["sh", "-c", f"setsid sleep {MARKER} & (sleep {MARKER} &); sleep {MARKER}"],
              **options)
    run.start()
    time.sleep(60)


def one_round(kind, limit):
    path = tempfile.mkdtemp(prefix="launch-test-", dir=CGROUP) if kind == "cgroup" else None
    pid = os.fork()
    if pid == 0:
        try:
            controller(kind, path)
        finally:
            os._exit(1)
    time.sleep(random.random() * limit)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    end = time.monotonic() + 5
    while ours() and time.monotonic() < end:
        time.sleep(0.002)
    left = ours()
    # Before the keeper was started nobody but the next sweep can remove the leaf.
    if path and os.path.isdir(path):
        time.sleep(0.5)
    if path and os.path.isdir(path):
        os.rmdir(path)
        return left, True
    return left, False


def main():
    rounds, kind = int(sys.argv[1]), sys.argv[2]
    unremoved = 0
    for number in range(rounds):
        left, is_there = one_round(kind, random.choice((0.02, 0.1)))
        unremoved += is_there
        if left:
            print(f"round {number}: left {left}")
            return 1
    print(f"{kind}: {rounds} rounds, nothing left, {unremoved} empty leaves not removed by a keeper")
    return 0


if __name__ == "__main__":
    sys.exit(main())
