# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares what `ringfence plan --why` says of random paths with what the kernel does.

why.py COUNT [OPTION...]: in the working directory as workspace, whose tree it makes. RF and
RF_PROBES are the runner's, RF_SCRATCH is where the probe and its questions lie, RF_WHY_SEED repeats a run.
"""
import json
import os
import random
import shutil
import socket
import subprocess
import sys

RF, SCRATCH = os.environ["RF"], os.environ["RF_SCRATCH"]
WORDS = {b"r": "read", b"w": "write", b"x": "exec"}


def make_tree():
    """Every kind of thing, with every kind of mode, at every kind of place."""
    for place in ("src", "src/deep/er", "w", "w/sub", "w/p", "w/p/x", "w/kd", "w/kd/open", "w/kd/shut",
                  "other", "src/k"):
        os.makedirs(place, exist_ok=True)
        for name, mode in (("f", 0o644), ("run", 0o755), ("none", 0), ("wo", 0o200), ("xo", 0o711)):
            with open(os.path.join(place, name), "w") as file:
                file.write("#!/bin/sh\n")
            os.chmod(os.path.join(place, name), mode)
        os.makedirs(os.path.join(place, "dir"), exist_ok=True)
    for name, mode in (("closed", 0), ("blind", 0o311), ("still", 0o555)):
        os.makedirs(os.path.join("w", name, "in"))
        os.chmod(os.path.join("w", name), mode)
    for link, target in (("in", "src"), ("w/back", "../src/deep"), ("etc", "/etc"), ("passwd", "/etc/passwd"),
                         ("dangling", "nowhere"), ("w/dangling", "nowhere"), ("loop", "loop"),
                         ("tmp", "/tmp"), ("w/k2", "k"), ("up", ".."), ("w/abs", os.path.abspath("src/f"))):
        os.symlink(target, link)
    for name in (b"w/k", b"w/\xff\xfe", b"w/a\nb", b"w/ blank "):
        with open(name, "w"):
            pass
    os.mkfifo("w/pipe")
    server = socket.socket(socket.AF_UNIX)
    server.bind("w/socket")
    return server


def host_paths(dice):
    """Names of the host: programs, settings, devices, the kernel's, homes."""
    paths = []
    for top in ("/", "/etc", "/usr", "/usr/bin", "/usr/lib", "/var", "/var/lib", "/dev", "/proc/sys/kernel",
                "/proc", "/sys", "/root", "/home", "/tmp", "/run", "/etc/ssl", "/var/tmp", "/boot", "/opt"):
        try:
            names = sorted(os.listdir(os.fsencode(top)))
        except OSError:
            names = []
        names = [name for name in names if not name.isdigit()]
        for name in dice.sample(names, min(len(names), 12)):
            paths.append(os.path.join(os.fsencode(top), name))
    home = os.fsencode(os.environ["HOME"])
    paths += [os.path.join(home, name) for name in (b"", b".ssh", b".ssh/id", b".aws", b".config", b".npmrc")]
    paths += [b"/tmp", b"/tmp/.home", b"/tmp/.home/.cache", b"/var/tmp", b"/dev/shm", b"/run", b"/var/run",
              b"/etc/passwd", b"/etc/group", b"/etc/shadow", b"/etc/hosts", b"/dev/null", b"/proc/version",
              b"/dev/shm/x", b"/dev/pts/0", b"/proc/self/status", b"/lib/ld.so", b"/usr/bin/env"]
    return paths


def own_paths():
    paths = [os.getcwdb()]
    for top, directories, files in os.walk(b"."):
        paths += [os.path.normpath(os.path.join(top, name)) for name in directories + files]
    return paths


def changed(dice, path):
    """The same by another name, or a neighbour."""
    return dice.choice((
        lambda: path, lambda: path, lambda: path, lambda: path + b"/x", lambda: path + b"/new/er",
        lambda: path + b"x", lambda: path + b"/", lambda: path + b"/..", lambda: path + b"/../f",
        lambda: path + b"/./dir", lambda: os.path.join(os.getcwdb(), path),
        lambda: b"in/" + path, lambda: b"w/sub/../../" + path if path[:1] != b"/" else path))()


def questions(dice, count):
    own, host = own_paths(), host_paths(dice)
    return [(dice.choice((b"r", b"w", b"x")), changed(dice, dice.choice(own if dice.random() < 0.75 else host)))
            for _ in range(count)]


def planned(options, asked):
    """One answer a question, by three calls."""
    answers = [None] * len(asked)
    for access, word in WORDS.items():
        which = [i for i, question in enumerate(asked) if question[0] == access]
        said = subprocess.run([RF, "plan", "--json", *options, "--why", word, *(asked[i][1] for i in which)],
                              stdout=subprocess.PIPE, check=True)
        for i, answer in zip(which, json.loads(said.stdout), strict=True):
            answers[i] = answer
    return answers


def tried(options, asked):
    with open(os.path.join(SCRATCH, "why", "asked"), "wb") as file:
        file.write(b"".join(access + path + b"\0" for access, path in asked))
    said = subprocess.run([RF, "run", "--quiet", *options, "--", os.path.join(SCRATCH, "why", "why"),
                           os.path.join(SCRATCH, "why", "asked")], stdout=subprocess.PIPE, check=True)
    return [line.split() for line in said.stdout.decode().splitlines()]


def agrees(answer, verdict, error):
    if answer["verdict"] == "depends" or verdict == "untried":
        return True
    # Some of the kernel's own files want a capability.
    if error == "EPERM" and answer["path"].startswith("/proc/"):
        return True
    if answer["verdict"] != verdict:
        return False
    return verdict == "allowed" or answer["errno"] == error


def main():
    count, options = int(sys.argv[1]), sys.argv[2:]
    seed = os.environ.get("RF_WHY_SEED") or str(random.SystemRandom().randrange(1 << 32))
    dice = random.Random(seed)
    keep = make_tree()
    os.makedirs(os.path.join(SCRATCH, "why"), exist_ok=True)
    shutil.copy(os.path.join(os.environ["RF_PROBES"], "why"), os.path.join(SCRATCH, "why", "why"))
    options = ["--read", "src", "--write", "w", "--protect", "w/p", "--deny", "w/k", "--deny", "w/kd", "--read",
               "w/kd/open", "--deny", "src/k", "--external-read", os.path.join(SCRATCH, "why"), *options]
    asked = questions(dice, count)
    answers, results = planned(options, asked), tried(options, asked)
    wrong = [(question, answer, result) for question, answer, result in zip(asked, answers, results, strict=True)
             if not agrees(answer, *result)]
    for (access, path), answer, result in wrong[:40]:
        print("seed %s: %s %r: planned %s %s (%s, %s), the kernel %s" % (
            seed, WORDS[access], path, answer["verdict"], answer["errno"], answer["path"], answer["because"],
            " ".join(result)), file=sys.stderr)
    judged = sum(answer["verdict"] != "depends" and result[0] != "untried"
                 for answer, result in zip(answers, results))
    print("%d of %d judged; %s" % (judged, count, {
        verdict: sum(result[0] == verdict for result in results)
        for verdict in ("allowed", "denied", "absent", "untried")}))
    keep.close()
    # A tree in which most were not tried proves nothing.
    sys.exit(bool(wrong) or judged < count * 0.5)


main()
