# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# What `ringfence doctor` says, and that it always says it.

test_doctor_agrees_with_what_was_found_without_it()
{
	"$RF" doctor --json >d.json
	expect_json d.json '[.checks[] | select(.state == "enforced" or .cause != null) | 1] | length' \
		"$(jq '.checks | length' d.json)"
	expect_json d.json '[.checks[] | select(.state == "off" and .remedy == null)]' '[]'
	expect_json d.json '.checks | map(select(.name == "landlock"))[0].state' \
		"$([[ $RF_LANDLOCK -gt 0 ]] && echo enforced || echo off)"
	if [[ $RF_KERNEL != host ]]; then
		expect_json d.json '[.checks[] | select(.state != "enforced").name]' '[]'
	fi
}

test_doctor_needs_no_root()
{
	as_user 1000 "$RF" doctor --json >d.json
	expect_json d.json '[.checks[] | select(.name == "bubblewrap" or .name == "seccomp").state]' \
		'["enforced","enforced"]'
}

test_doctor_says_whether_a_run_has_the_hooks_on_files()
{
	local held
	"$RF" doctor --json >d.json
	"$RF" plan --json --deny nothing --waive fs-deny -- true >"$RF_SCRATCH/plan" 2>/dev/null
	held=$(jq -r '.enforcement.promises["fs-deny"] | if .by | index("bpf-lsm") then "enforced" else .why end' "$RF_SCRATCH/plan")
	if [[ $held == enforced ]]; then
		expect_json d.json '.checks | map(select(.name == "bpf-lsm-files"))[0].state' enforced
		return
	fi
	# The reason is the same, and in both.
	expect_contains "$held" "$(jq -r '.checks | map(select(.name == "bpf-lsm-files"))[0].cause' d.json)"
}

# A file system in user space whose server never answers: whoever looks into it sleeps.
needs test_doctor_does_not_sleep_where_a_mount_does host root
test_doctor_does_not_sleep_where_a_mount_does()
{
	[[ -c /dev/fuse ]] || skip 'no /dev/fuse here'
	with_own_mounts sleeping_mount
}

sleeping_mount()
{
	mkdir m
	exec 3<>/dev/fuse
	mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0,allow_other none "$PWD/m"
	expect_status 124 timeout 0.5 stat m
	timeout 10 "$RF" doctor --json >d.json 3<&-
	timeout 10 "$RF" run -- true 3<&-
	# The last descriptor ends the connection, and with it whoever slept.
	exec 3>&-
	umount --lazy m
	expect_json d.json '.checks | map(select(.name == "bubblewrap"))[0].state' enforced
}
