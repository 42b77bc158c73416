# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Settings of the machine below /proc: what core_pattern names would run as root outside.
#
# Landlock holds it (EACCES), and below it read-only mounts (EROFS): many settings, core_pattern among
# them, ask for uid 0 and for no capability, so that a root without any could write them.

source "$RF_TOP/tests/escape/table.bash"

settings=(kernel/core_pattern kernel/modprobe kernel/hostname kernel/randomize_va_space vm/drop_caches
	vm/overcommit_memory fs/file-max net/ipv4/ip_forward)

# Opens each for writing, which changes nothing, and says how it went.
open_each='
import errno, os, sys
for name in filter(os.path.exists, sys.argv[1:]):
    try:
        os.close(os.open(name, os.O_WRONLY))
        print(name, 0)
    except OSError as error:
        print(name, errno.errorcode[error.errno])
'

paths()
{
	printf '/proc/sys/%s\n' "${settings[@]}"
	printf '%s\n' /proc/sysrq-trigger /proc/self/oom_score_adj /proc/1/oom_score_adj
}

test_b9_settings_of_the_machine_cannot_be_written()
{
	mapfile -t names < <(paths)
	/usr/bin/python3 -S -c "$open_each" "${names[@]}" >unconfined
	expect_errnos unconfined '/proc/sys/kernel/core_pattern' 0

	"$RF" run --result r.json -- /usr/bin/python3 -S -c "$open_each" "${names[@]}" >confined
	expect_errnos confined '.*' EACCES EROFS
	expect_held r.json fs-write landlock
}

test_b9_without_landlock_no_setting_can_be_opened()
{
	mapfile -t names < <(printf '/proc/sys/%s\n' "${settings[@]}")
	without landlock "$RF" run --result r.json -- \
		/usr/bin/python3 -S -c "$open_each" "${names[@]}" /proc/sysrq-trigger >confined
	expect_errnos confined '.*' EROFS EACCES
	expect_held r.json fs-write mount-namespace
}

test_b2_no_sysfs_no_kernel_log_no_memory_device()
{
	[[ -d /sys/kernel ]]
	"$RF" run -- sh -c 'ls /sys /dev/mem /dev/kmsg /dev/kvm /dev/vda /dev/sda /dev/fuse /dev/net/tun' \
		>confined 2>&1 || true
	expect_eq "$(grep -c 'No such file or directory' confined)" 8
}
