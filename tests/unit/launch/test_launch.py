# SPDX-License-Identifier: LGPL-2.1-or-later
"""ringfence-launch by itself: keeper, first process and launcher. Run as root or as a user."""

import os
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

from harness import *  # noqa: F403


def status_of(argv, **options):
    return Run(argv, **options).finish()[0]


def is_running(marker):
    """Is there a process whose arguments hold this unusual number?"""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if f"sleep\0{marker}\0".encode() in file.read():
                    return True
        except OSError:
            pass
    return False


def wait_for(state, marker, seconds=3):
    end = time.monotonic() + seconds
    while is_running(marker) != state:
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def wait_up(marker):
    return wait_for(True, marker)


def wait_gone(marker, seconds=3):
    return wait_for(False, marker, seconds)


# seccomp: everything is allowed but the call with this number, which answers errno.
def filter_of(number, errno):
    instruction = struct.Struct("=HBBI").pack
    return (instruction(0x20, 0, 0, 0) + instruction(0x15, 0, 1, number) +
            instruction(0x06, 0, 0, 0x00050000 | errno) + instruction(0x06, 0, 0, 0x7FFF0000))


class Ends(unittest.TestCase):
    def test_c9_exit_status_passes_through(self):
        self.assertEqual(status_of(["sh", "-c", "exit 7"]), 7 << 8)

    def test_c7_exit_137_is_not_sigkill(self):
        self.assertEqual(status_of(["sh", "-c", "exit 137"]), 137 << 8)
        self.assertEqual(status_of(["sh", "-c", "kill -KILL $$"]) & 0x7F, signal.SIGKILL)

    def test_f76_signals_are_told(self):
        for number in (signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT):
            status = status_of(["sh", "-c", f"ulimit -c 0; kill -{int(number)} $$"])
            self.assertEqual(status & 0x7F, number)

    def test_f64_a_background_process_is_counted_and_dies(self):
        status, left, _ = Run(["sh", "-c", "setsid sleep 8801 & exit 0"]).finish()
        self.assertEqual((status, left), (0, 1))
        self.assertTrue(wait_gone(8801))

    def test_f66_zombies_are_reaped(self):
        script = "(sleep 0.1 &); sleep 0.5; grep -h ^State:.Z /proc/[0-9]*/status; true"
        self.assertEqual(Run(["sh", "-c", script]).finish(), (0, 0, ""))
        script = "for i in $(seq 200); do (true &); done"
        self.assertEqual(status_of(["sh", "-c", script]), 0)

    def test_c4_background_is_kept_on_request(self):
        run = Run(["sh", "-c", "sleep 1.8802 >/dev/null 2>&1 & exit 3"],
                  flags=CONFINED | KEEP_BACKGROUND)
        run.start()
        self.assertEqual(run.expect(EXITED)[1:3], (3 << 8, 1))
        before = time.monotonic()
        run.expect(FIRST_EXITED)
        self.assertGreater(time.monotonic() - before, 1)
        run.close()

    def test_c9_output_ends_when_the_command_closes_it(self):
        run = Run(["sh", "-c", "echo x; exec >&- 2>&-; sleep 2"])
        run.start()
        before = time.monotonic()
        self.assertEqual(run.drain(run.stdout), "x\n")
        self.assertLess(time.monotonic() - before, 1)
        run.send(KILL)
        run.expect(FIRST_EXITED)
        run.close()

    def with_terminal(self, script):
        """The pty's master and the socket that it came through; the run has started."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        run = Run(["sh", "-c", script], flags=CONFINED | TERMINAL, tty=theirs.fileno(),
                  rules=RULES + [("/dev/tty", TTY), ("/dev/pts", TTY)])
        theirs.close()
        run.start()
        kind, fds = receive_terminal(ours)
        self.assertEqual((kind, len(fds)), (PTY, 1))
        return run, ours, fds[0]

    def read_until(self, master, word):
        output = b""
        while word not in output:
            output += os.read(master, 1000)

    def test_c9_the_terminal_is_the_controlling_one_and_the_commands_own(self):
        run, ours, master = self.with_terminal(
            "stty -a </dev/tty >/dev/null && stty -a <$(tty) >/dev/null && echo ok; exec sleep 8816")
        self.read_until(master, b"ok")
        self.assertTrue(wait_up(8816))
        os.write(master, b"\x03")
        status = run.expect(EXITED)[1]
        run.expect(FIRST_EXITED)
        self.assertEqual(status, signal.SIGINT)
        # Nobody inside holds the other end.
        self.assertRaises(OSError, lambda: [os.read(master, 1000) for _ in range(9)])
        run.close()
        os.close(master)
        ours.close()

    def test_c9_a_stopped_command_is_told_and_goes_on(self):
        run, ours, master = self.with_terminal("echo ok; read x; exit 6")
        self.read_until(master, b"ok")
        os.write(master, b"\x1a")
        self.assertEqual(receive_terminal(ours), (STOPPED, []))
        run.send(SIGNAL, signal.SIGCONT, 1)
        os.write(master, b"\n")
        self.assertEqual(os.waitstatus_to_exitcode(run.expect(EXITED)[1]), 6)
        run.expect(FIRST_EXITED)
        run.close()
        os.close(master)
        ours.close()


class NotStarted(unittest.TestCase):
    def failed(self, argv, **options):
        run = Run(argv, **options)
        run.ready()
        run.send(GO)
        message = run.expect(EXEC_FAILED)
        run.expect(FIRST_EXITED)
        run.close()
        return message[2], message[4]

    def test_c7_not_found_is_127(self):
        self.assertEqual(self.failed(["nosuchcmd"]), (127, "nosuchcmd: not found"))
        self.assertEqual(self.failed(["/usr/nope/x"]), (127, "/usr/nope/x: not found"))

    def test_c7_not_executable_is_126(self):
        self.assertEqual(self.failed(["/etc/passwd"]), (126, "/etc/passwd: Permission denied"))
        self.assertEqual(self.failed(["/etc"]), (126, "/etc: is a directory"))

    def test_a11_relative_path_entries_are_ignored(self):
        self.assertEqual(self.failed(["sleep"], environment=["PATH=.:bin::"],
                                     directory="/usr/bin")[0], 127)

    def test_f82_a_missing_interpreter_is_named(self):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
            os.chmod(place, 0o755)
            for name, text in (("s", "#!/x/sh\n"), ("empty", ""), ("t", f"#! {place}/s\n")):
                with open(f"{place}/{name}", "w") as file:
                    file.write(text)
                os.chmod(f"{place}/{name}", 0o755)
            options = {"view": VIEW + ["--ro-bind", place, place], "directory": place,
                       "rules": RULES + [(place, READ)]}
            self.assertEqual(self.failed(["./s"], **options),
                             (127, "./s: interpreter /x/sh is missing inside"))
            self.assertEqual(self.failed(["./t"], **options)[1],
                             "./t: interpreter /x/sh is missing inside")
            self.assertEqual(self.failed(["s"], **options, environment=[f"PATH={place}"])[1],
                             "s: interpreter /x/sh is missing inside")
            self.assertEqual(self.failed(["./empty"], **options),
                             (126, "./empty: Exec format error"))
            view = ["--ro-bind", "/usr/bin", "/usr/bin", "--proc", "/proc", "--dev", "/dev",
                    "--tmpfs", "/tmp"]
            rules = [("/usr", READ), ("/proc", READ), ("/tmp", WRITE)]
            self.assertEqual(
                self.failed(["sh"], view=view, rules=rules)[1],
                "sh: interpreter /lib64/ld-linux-x86-64.so.2 is missing inside")


class View(unittest.TestCase):
    def test_f79_only_three_descriptors(self):
        for extra in ((), [(0, 40)], [(0, 90)]):
            _, _, output = Run(["ls", "/proc/self/fd"], extra=extra).finish()
            self.assertEqual(output.split(), ["0", "1", "2", "3"])

    def test_b10_passed_descriptors_arrive_at_their_numbers(self):
        pipes = [os.pipe() for _ in range(4)]
        # 64 and 65 are also sources: the numbers overlap in a circle.
        targets = [65, 64, 3, 4000]
        run = Run(["bash", "-c", "ls /proc/self/fd; for i in 65 64 3; do echo to$i >&$i; done"],
                  passed=[(p[1], to) for p, to in zip(pipes, targets)])
        status, _, output = run.finish()
        self.assertEqual(status, 0)
        self.assertEqual(sorted(map(int, output.split())), [0, 1, 2, 3, 4, 64, 65, 4000])
        for pipe, to in zip(pipes[:3], targets):
            self.assertEqual(os.read(pipe[0], 100), f"to{to}\n".encode())
        for pipe in pipes:
            os.close(pipe[0]), os.close(pipe[1])

    def test_c9_a_closed_stream_stays_closed(self):
        _, _, output = Run(["ls", "/proc/self/fd"], closed=[0]).finish()
        self.assertEqual(output.split(), ["0", "1", "2"])

    def test_f54_no_foreign_environment_is_visible(self):
        script = "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; cat /proc/*/cmdline"
        _, _, output = Run(["sh", "-c", script], environment=["PATH=/usr/bin:/bin", "A=b"]).finish()
        self.assertNotIn("zz9", output)
        self.assertIn("A=b", output)

    def test_b9_no_capability_and_no_new_privileges(self):
        _, _, output = Run(["cat", "/proc/self/status"]).finish()
        for name in ("Inh", "Prm", "Eff", "Bnd", "Amb"):
            self.assertIn(f"Cap{name}:\t0000000000000000\n", output)
        self.assertIn("NoNewPrivs:\t1\n", output)

    def test_c9_signals_start_as_the_caller_had_them(self):
        _, _, output = Run(["cat", "/proc/self/status"], ignored=1 << 0 | 1 << 12).finish()
        self.assertIn("SigBlk:\t0000000000000000\n", output)
        self.assertIn("SigIgn:\t0000000000001001\n", output)

    def test_a3_directory_umask_and_made_directories(self):
        run = Run(["sh", "-c", "pwd; umask; stat -c %a /tmp/a /tmp/a/b"], directory="/tmp/a",
                  directories=[("/tmp/a", 0o700), ("/tmp/a/b", 0o755)], umask=0o027)
        self.assertEqual(run.finish()[2], "/tmp/a\n0027\n700\n750\n")

    def test_c8_open_files_limit_is_given_back(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        output = Run(["sh", "-c", "ulimit -Sn; ulimit -Hn"]).finish()[2]
        self.assertEqual(output.split(), [str(soft), str(hard)])


class Rules(unittest.TestCase):
    def test_b3_reads_writes_and_types(self):
        script = ("echo a >/tmp/f && mkdir /tmp/d && mv /tmp/f /tmp/d/g && cat /tmp/d/g && "
                  "echo x >/dev/null && ! sh -c ': >/etc/passwd' 2>/dev/null")
        run = Run(["sh", "-c", script], rules=RULES + [("/etc/passwd", WRITE)])
        self.assertEqual(run.finish()[::2], (0, "a\n"))

    def test_b3_what_no_rule_names_is_closed(self):
        run = Run(["sh", "-c", "cat /etc/passwd 2>&1; ls / 2>&1"],
                  rules=[r for r in RULES if r[0] != "/etc"])
        self.assertEqual(run.finish()[2].count("Permission denied"), 2)

    def test_b3_a_missing_path_is_named(self):
        message = Run(["true"], rules=RULES + [("/nope", READ)]).failure()
        self.assertEqual(message[4], "landlock rule for /nope")

    def test_b11_a_planned_abi_must_be_there(self):
        self.assertIn("ABI 99 was planned", Run(["true"], abi=99).failure()[4])

    def test_b9_scopes(self):
        self.assertEqual(status_of(["true"], flags=CONFINED | SCOPE), 0)

    def test_b11_self_test_finds_a_hole(self):
        run = Run(["true"], rules=RULES + [("/proc/self", WRITE), ("/proc/1", WRITE)])
        self.assertIn("self-test", run.failure()[4])

    def test_b1_filters_in_order(self):
        run = Run(["sh", "-c", "mkdir /tmp/x 2>&1; mknod /tmp/p p 2>&1"],
                  flags=CONFINED | SECCOMP,
                  filters=[(2, filter_of(83, 38)), (0, filter_of(133, 95))])
        output = run.finish()[2]
        self.assertIn("Function not implemented", output)
        run = Run(["sh", "-c", "grep Seccomp_filters /proc/self/status"],
                  flags=CONFINED | SECCOMP,
                  filters=[(0, filter_of(83, 38)), (0, filter_of(133, 95))])
        self.assertIn("\t2\n", run.finish()[2])

    def test_f110_without_landlock_nothing_is_made(self):
        run = Run(["true"], flags=NAMESPACES)
        self.assertEqual(run.ready()[1], 0)
        run.send(GO)
        run.expect(STARTED)
        run.end()


class Signals(unittest.TestCase):
    def test_f63_term_reaches_the_command(self):
        run = Run(["sh", "-c", "trap 'echo got; exit 9' TERM; sleep 8803 & echo up; wait"])
        run.start()
        self.assertEqual(os.read(run.stdout, 100), b"up\n")
        run.send(SIGNAL, signal.SIGTERM)
        status, left, output = run.end()
        self.assertEqual((status, left, output), (9 << 8, 1, "got\n"))
        self.assertTrue(wait_gone(8803))

    def test_c9_signal_to_the_group(self):
        run = Run(["sh", "-c", "echo up; sleep 8804; echo $?"])
        run.start()
        self.assertEqual(os.read(run.stdout, 100), b"up\n")
        time.sleep(0.1)
        run.send(SIGNAL, signal.SIGINT, 1)
        self.assertEqual(run.end()[0] & 0x7F, signal.SIGINT)

    def test_c3_terminate_reaches_all_but_the_launcher(self):
        script = ("setsid sh -c \"trap 'echo one; exit' TERM; echo up; sleep 8805 & wait\" & "
                  "trap 'wait; echo two; exit 4' TERM; while :; do sleep 0.01; done")
        run = Run(["sh", "-c", script])
        run.start()
        self.assertEqual(os.read(run.stdout, 100), b"up\n")
        time.sleep(0.1)
        run.send(TERMINATE)
        status, _, output = run.end()
        self.assertEqual((status, output), (4 << 8, "one\ntwo\n"))
        self.assertTrue(wait_gone(8805))

    def test_f67_no_signal_by_number(self):
        if os.getuid() != 0 or not shutil.which("strace"):
            self.skipTest("needs strace")
        run = Run(["sleep", "8806"])
        tracer = subprocess.Popen(["strace", "-f", "-q", "-e", "trace=kill,tkill,tgkill", "-p",
                                   str(run.pid)], stderr=subprocess.PIPE)
        time.sleep(0.5)
        run.start()
        for message in ((SIGNAL, signal.SIGCONT), (SIGNAL, signal.SIGCONT, 1), (TERMINATE,),
                        (KILL,)):
            run.send(*message)
        while run.receive()[0] != FIRST_EXITED:
            pass
        run.close()
        self.assertNotRegex(tracer.communicate(timeout=5)[1].decode(), r"kill\(")


class Keeper(unittest.TestCase):
    def cgroup(self):
        if not os.access(CGROUP, os.W_OK):
            self.skipTest("no cgroup to give")
        return Cgroup()

    def test_c1_first_process_is_born_in_the_cgroup(self):
        with self.cgroup() as path:
            run = Run(["sleep", "8807"], cgroup=path)
            spawned = run.expect(SPAWNED)
            with open(f"{path}/cgroup.procs") as file:
                self.assertEqual(file.read().split(), [str(spawned[3])])
            self.assertGreaterEqual(run.pidfd, 0)
            run.send(LABELLED)
            ready = run.expect(READY)
            with open(f"{path}/cgroup.procs") as file:
                self.assertIn(str(ready[3]), file.read().split())
            run.send(KILL)
            self.assertEqual(run.expect(FIRST_EXITED)[1] & 0x7F, signal.SIGKILL)
            run.close()

    def test_c7_nothing_runs_without_the_label(self):
        run = Run(["true"])
        run.expect(SPAWNED)
        run.close()

    def test_c7_end_of_file_instead_of_go(self):
        run = Run(["sleep", "8808"])
        run.ready()
        run.close()
        self.assertTrue(wait_gone(8808, 0))

    def test_c5_death_of_the_client_kills(self):
        for with_cgroup in (False, True):
            client = subprocess.Popen(["sleep", "60"])
            guard = self.cgroup() if with_cgroup else open("/dev/null")
            with guard as path:
                run = Run(["sh", "-c", "setsid sleep 8809 & sleep 8809"], client=client.pid,
                          cgroup=path if with_cgroup else None)
                run.start()
                wait_up(8809)
                client.kill()
                client.wait()
                self.assertEqual(run.expect(FIRST_EXITED)[1] & 0x7F, signal.SIGKILL)
                self.assertTrue(wait_gone(8809))
                run.close()

    def test_c5_death_of_the_keeper_kills(self):
        run = Run(["sh", "-c", "setsid sleep 8810 & sleep 8810"])
        run.start()
        wait_up(8810)
        os.kill(run.pid, signal.SIGKILL)
        self.assertTrue(wait_gone(8810))
        run.close()

    def test_f68_a_frozen_tree_dies_and_the_cgroup_goes(self):
        with self.cgroup() as path:
            run = Run(["sleep", "8811"], cgroup=path)
            run.start()
            wait_up(8811)
            with open(f"{path}/cgroup.freeze", "w") as file:
                file.write("1")
            run.close()
            self.assertTrue(wait_gone(8811))

    def test_c5_wreckage_of_bubblewrap_is_reported(self):
        run = Run(["true"], view=["--ro-bind", "/nope", "/nope"])
        run.expect(SPAWNED)
        run.send(LABELLED)
        self.assertEqual(run.expect(FIRST_EXITED)[1], 1 << 8)
        self.assertIn("/nope", run.drain(run.setup, 1))
        run.close()

    def test_b11_hostile_specs_are_refused(self):
        good = keeper_spec(HAS_BWRAP)
        for raw in (b"x", good[:-1], b"\0" * 64, keeper_spec(HAS_BWRAP, leaf="../x"),
                    keeper_spec(HAS_BWRAP, end=1 << 20),
                    good[:24] + struct.pack("=I", 0xFFFFFFFF) + good[28:]):
            self.assertEqual(Run(["true"], raw_keeper=raw).failure()[4], "reading the keeper's spec")
        good = sandbox_spec(["true"], CONFINED, rules=RULES)
        for raw in (b"x", good[:-1], good[:200], sandbox_spec([], CONFINED),
                    sandbox_spec(["true"], CONFINED, pass_fds=[(3, 3)]),
                    sandbox_spec(["true"], CONFINED, filters=[(1, filter_of(1, 1))]),
                    sandbox_spec(["tr\0ue"], CONFINED)):
            self.assertEqual(Run(["true"], raw_sandbox=raw).failure()[4],
                             "reading the sandbox's spec")

    def test_c9_streams_are_let_go_at_once(self):
        run = Run(["true"])
        run.ready()
        inode = os.fstat(run.stdout).st_ino
        for pid in (run.pid, run.spawned[3]):
            for fd in os.listdir(f"/proc/{pid}/fd") if os.getuid() == 0 else ():
                self.assertNotEqual(os.stat(f"/proc/{pid}/fd/{fd}").st_ino, inode)
        run.close()


class Identity(unittest.TestCase):
    def setUp(self):
        if os.getuid() != 0:
            self.skipTest("needs root")

    def test_a17_user_is_changed_before_bubblewrap(self):
        run = Run(["id"], keeper_flags=HAS_BWRAP | DROP_GROUPS | CHANGES_USER, user=(1000, 1000))
        self.assertIn("uid=1000", run.finish()[2])

    def test_a17_user_is_changed_inside(self):
        view = VIEW + ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add",
                       "CAP_SETPCAP", "--perms", "1777", "--tmpfs", "/tmp"]
        run = Run(["sh", "-c", "id; cat /proc/self/status; stat -c %u /tmp/home"], view=view,
                  flags=CONFINED | CHANGE_USER, uid=1000, gid=1000,
                  directories=[("/tmp/home", 0o700)])
        output = run.finish()[2]
        self.assertIn("Uid:\t1000\t1000\t1000\t1000\n", output)
        self.assertIn("Groups:\t \n", output)
        self.assertIn("CapBnd:\t0000000000000000\n", output)
        self.assertTrue(output.endswith("\n1000\n"))

    def test_f57_supplementary_groups_are_dropped(self):
        os.setgroups([1234])
        try:
            _, _, output = Run(["grep", "Groups", "/proc/self/status"]).finish()
            self.assertEqual(output.split(), ["Groups:"])
            _, _, output = Run(["grep", "Groups", "/proc/self/status"],
                               keeper_flags=HAS_BWRAP).finish()
            self.assertEqual(output.split(), ["Groups:", "1234"])
        finally:
            os.setgroups([])

    def test_b11_a_capability_that_stays_is_refused(self):
        view = VIEW + ["--cap-drop", "CAP_SETPCAP"]
        self.assertIn("bounding set", Run(["true"], view=view).failure()[4])


class Staged(unittest.TestCase):
    """Views that bubblewrap would be too slow for; as root and in a nested user namespace."""

    def setUp(self):
        self.place = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.source = f"{self.place.name}/source"
        self.stage = f"{self.place.name}/stage"
        os.makedirs(f"{self.source}/a/b")
        os.mkdir(self.stage)
        for name in ("a/f", "a/b/g", "top"):
            with open(f"{self.source}/{name}", "w") as file:
                file.write(name)

    def tearDown(self):
        self.place.cleanup()

    def stage_run(self, argv, steps, **options):
        view = VIEW + ["--tmpfs", "/ws", "--remount-ro", "/ws", "--cap-add", "CAP_SYS_ADMIN",
                       "--cap-add", "CAP_SETPCAP"]
        flags, keeper = CONFINED | SANDBOX_STAGED, HAS_BWRAP | DROP_GROUPS | STAGED
        if os.getuid() != 0:
            view += ["--cap-add", "CAP_SETFCAP", "--uid", "0", "--gid", "0"]
            flags, keeper = flags | MAP_USER, keeper | STAGE_USERNS
        return Run(argv, flags=flags, view=view, keeper_flags=keeper, steps=steps,
                   stage=self.stage, staged="/ws", uid=os.getuid(), gid=os.getgid(),
                   rules=RULES + [("/ws", WRITE)], **options)

    def test_a8_directories_files_and_depths(self):
        steps = [(f"{self.source}/a", "x/y", 1), (f"{self.source}/a/b", "/x/y/b", 0),
                 (f"{self.source}/top", "x/top", 1)]
        script = ("cat /ws/x/y/f /ws/x/y/b/g /ws/x/top; echo w >/ws/x/y/b/new; id -u; "
                  "for f in /ws/x/y/f /ws/x/top /ws/n /ws/x/n; do "
                  "sh -c ': >>$0' $f 2>/dev/null && echo hole; done; grep Cap /proc/self/status")
        output = self.stage_run(["sh", "-c", script], steps).finish()[2]
        self.assertTrue(output.startswith(f"a/fa/b/gtop{os.getuid()}\n"), output)
        self.assertNotIn("hole", output)
        self.assertEqual(output.count("\t0000000000000000"), 5)
        self.assertTrue(os.path.exists(f"{self.source}/a/b/new"))
        self.assertEqual(os.listdir(self.stage), [])

    def test_a5_a_source_that_changed_is_refused(self):
        steps = [(f"{self.source}/a", "a", 1)]
        run = self.stage_run(["true"], steps)
        run.expect(SPAWNED)
        os.rename(f"{self.source}/a", f"{self.source}/old")
        os.symlink("old", f"{self.source}/a")
        run.send(LABELLED)
        self.assertEqual(run.expect(SETUP_FAILED)[4], f"changed while starting: {self.source}/a")
        run.close()

    def test_a7_no_placeholder_in_the_users_tree(self):
        steps = [(f"{self.source}/a", "a", 1), (f"{self.source}/top", "a/none/top", 1)]
        self.assertIn("mount point", self.stage_run(["true"], steps).failure()[4])
        self.assertEqual(sorted(os.listdir(f"{self.source}/a")), ["b", "f"])

    def test_a5_destinations_that_leave_are_refused(self):
        for destination in ("../x", "a/../../x", "", "a//b", "."):
            steps = [(f"{self.source}/a", destination, 1)]
            self.assertIn("mount point", self.stage_run(["true"], steps).failure()[4])

    def test_f80_twenty_thousand(self):
        for i in range(20000):
            os.mkdir(f"{self.source}/{i}")
        steps = [(f"{self.source}/{i}", f"{i}", 1) for i in range(20000)]
        run = self.stage_run(["ls", "-d", "/ws/19999"], steps)
        before = time.monotonic()
        self.assertEqual(run.finish()[2], "/ws/19999\n")
        self.assertLess(time.monotonic() - before, 4)


class Subreaper(unittest.TestCase):
    """Full access: no bubblewrap, no namespace."""

    options = {"keeper_flags": 0, "flags": 0, "rules": []}

    def test_a2_runs_as_it_is(self):
        status, left, output = Run(["sh", "-c", "cat /proc/$$/status; setsid sleep 8812 & exit 2"],
                                   **self.options).finish()
        self.assertEqual((status, left), (2 << 8, 1))
        self.assertIn("NoNewPrivs:\t0\n", output)
        self.assertTrue(wait_gone(8812))

    def test_c5_death_of_the_keeper_kills(self):
        run = Run(["sh", "-c", "setsid sh -c 'sleep 8813 & sleep 8813' & sleep 8813"],
                  **self.options)
        run.start()
        time.sleep(0.1)
        os.kill(run.pid, signal.SIGKILL)
        self.assertTrue(wait_gone(8813))
        run.close()

    def test_c5_end_of_control_kills(self):
        run = Run(["sh", "-c", "setsid sh -c 'sleep 8814 & sleep 8814' & sleep 8814"],
                  **self.options)
        run.start()
        time.sleep(0.1)
        run.close()
        self.assertTrue(wait_gone(8814, 0))

    def test_c3_terminate_reaches_descendants(self):
        run = Run(["sh", "-c", "setsid sleep 8815 & sleep 8815"], **self.options)
        run.start()
        time.sleep(0.1)
        run.send(TERMINATE)
        self.assertEqual(run.end()[0] & 0x7F, signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
