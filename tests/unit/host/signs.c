/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "host/signs.h"

#include <criterion/criterion.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

static const char hybrid[] =
	"22 27 0:21 / /proc rw,relatime - proc proc rw\n"
	"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
	"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
	"41 31 0:38 /a\\040b /sys/fs/cgroup/uni\\134fied rw shared:1 master:2 - cgroup2 cg rw\n";

Test(signs, the_unified_mount_of_a_hybrid_host_is_found)
{
	char mount[64] = "";
	char root[64] = "";

	cr_assert(rf_signs_parse_cgroup2(hybrid, mount, root, sizeof(mount)));
	cr_expect_str_eq(mount, "/sys/fs/cgroup/uni\\fied");
	cr_expect_str_eq(root, "/a b");
}

Test(signs, no_cgroup2_leaves_the_output_alone)
{
	char mount[8] = "x";
	char root[8] = "y";

	cr_expect_not(rf_signs_parse_cgroup2("1 2 3:4 / / rw - ext4 a rw\n", mount, root, 8));
	cr_expect_not(rf_signs_parse_cgroup2("", mount, root, 8));
	cr_expect_str_eq(mount, "x");
	cr_expect_str_eq(root, "y");
}

Test(signs, broken_lines_end_without_harm)
{
	char path[64] = "";
	const char *const texts[] = {"\n\n", "1", "1 2 3 4", " ", "     - \n", "a b c d /proc/x",
		"1 2 3:4 /\\0 \\04 rw - cgroup2", "\\"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char mount[64] = "";
		char root[64] = "";

		(void)rf_signs_parse_proc_mask(texts[i], path, sizeof(path));
		(void)rf_signs_parse_cgroup2(texts[i], mount, root, sizeof(mount));
	}
}

Test(signs, a_mount_below_proc_is_a_mask_and_binfmt_misc_is_not)
{
	char path[64] = "";
	static const char masked[] = "22 27 0:21 / /proc rw - proc proc rw\n"
				     "50 22 0:40 / /proc/sys/fs/binfmt_misc rw - binfmt_misc b rw\n"
				     "51 22 0:41 / /process rw - tmpfs t rw\n"
				     "52 22 0:6 /null /proc/interrupts rw - devtmpfs d rw\n";

	cr_expect_not(rf_signs_parse_proc_mask(hybrid, path, sizeof(path)));
	cr_assert(rf_signs_parse_proc_mask(masked, path, sizeof(path)));
	cr_expect_str_eq(path, "/proc/interrupts");
}

Test(signs, lsm_names_are_compared_whole)
{
	struct rf_signs signs = {.lsm = "lockdown,capability,bpf"};

	cr_expect(rf_signs_has_lsm(&signs, "bpf"));
	cr_expect(rf_signs_has_lsm(&signs, "lockdown"));
	cr_expect_not(rf_signs_has_lsm(&signs, "lock"));
	cr_expect_not(rf_signs_has_lsm(&signs, "landlock"));
}

Test(signs, this_host_can_be_read)
{
	static struct rf_signs signs;

	rf_signs_read(&signs);
	cr_expect_eq(signs.uid, geteuid());
	cr_expect_gt(strlen(signs.self), 0);
	cr_expect_not(rf_signs_has_capability(&signs, 63));
}

Test(signs, a_controller_bound_to_version_1_is_found)
{
	const char *text = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
			   "cpu\t0\t11\t1\nmemory\t5\t11\t1\npids\t0\t1\t1\n";

	cr_expect(rf_signs_parse_v1(text, "memory"));
	cr_expect_not(rf_signs_parse_v1(text, "pids"));
	cr_expect_not(rf_signs_parse_v1(text, "cpu"));
	cr_expect_not(rf_signs_parse_v1(text, "mem"));
	cr_expect_not(rf_signs_parse_v1("", "memory"));
}
