# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# A storm on names: several processes make a denied name, move what lies above it and exchange what lies
# beside it, all at once, while others look whether the name is there. BPF LSM holds it (EACCES, EPERM);
# no layer below can, so that a host without it refuses the run.

source "$RF_TOP/tests/escape/table.bash"

storm='
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
AT = -100
def swap(a, b):
    libc.renameat2(AT, a, AT, b, 2)
def attempt(call, *args):
    try:
        call(*args)
    except OSError:
        pass
def make(end):
    while time.monotonic() < end:
        attempt(lambda: os.close(os.open("a/b/k", os.O_CREAT | os.O_WRONLY)))
        attempt(os.mkdir, "a/b/k")
        attempt(os.rename, "x/b/k", "a/b/k")
        attempt(os.link, "seed", "a/b/k")
def move(end):
    while time.monotonic() < end:
        swap(b"a", b"x")
        swap(b"a/b", b"x/b")
        attempt(os.rename, "a", "y")
        attempt(os.rename, "y", "a")
end = time.monotonic() + float(sys.argv[1])
children = []
for work in (make, move, make, move):
    pid = os.fork()
    if pid == 0:
        work(end)
        os._exit(0)
    children.append(pid)
met = 0
while time.monotonic() < end:
    met |= os.path.lexists("a/b/k") and not os.path.exists("a/b/mark-x")
for pid in children:
    os.waitpid(pid, 0)
print("met", "0" if met else "nothing")
'

plant()
{
	mkdir -p a/b x/b
	touch seed x/b/mark-x
}

test_a7_no_storm_on_names_makes_a_denied_one()
{
	local status=0 seconds
	seconds=$(scaled 1)
	plant
	python3 -c "$storm" "$seconds" >unconfined
	expect_errnos unconfined met 0
	rm -rf a x y seed
	plant
	"$RF" run --deny a/b/k --result r.json -- python3 -c "$storm" "$seconds" >confined 2>/dev/null || status=$?
	if [[ $status -eq 125 ]]; then
		expect_json r.json .refusal.promise fs-deny
		return
	fi
	expect_eq "$status" 0
	expect_errnos confined met nothing
	expect_held r.json fs-deny bpf-lsm
	[[ ! -e a/b/k && -d a/b && ! -e a/b/mark-x ]]
}
