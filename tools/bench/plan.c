/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * plan FILE COUNT: reads a policy and plans it COUNT times in the working directory, as a host
 * without anything to find out. A line each: nanoseconds of processor time for the reading, for the
 * planning.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/units.h"
#include "policy/plan.h"

static uint64_t used_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000U + (uint64_t)used.tv_nsec;
}

static int read_policy(const char *path, struct rf_policy *ret_policy, struct rf_diag *diag)
{
	char *text rf_autofree = NULL;
	int r = rf_read_file_at(AT_FDCWD, path, RF_POLICY_FILE_MAX_BYTES, &text);

	return r < 0 ? r : rf_policy_read(path, text, strlen(text), ret_policy, diag);
}

static void make_facts(struct rf_facts *facts)
{
	*facts = (struct rf_facts){.uid = getuid(),
		.gid = getgid(),
		.has_sys_admin = true,
		.landlock_abi = 7,
		.bwrap = {.state = RF_STATE_ENFORCED},
		.bwrap_path = "/usr/bin/bwrap",
		.bwrap_has_bind_fd = true};
	for (size_t i = 0; i < RF_MECHANISMS; i++)
		facts->mechanisms[i].state = RF_STATE_ENFORCED;
}

static int time_once(const char *path, const char *cwd, struct rf_diag *diag)
{
	static const char *const argv[] = {"/bin/true", NULL};
	static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
	struct rf_policy policy rf_autopolicy = {0};
	struct rf_plan *plan rf_autoplan = NULL;
	struct rf_request request = {
		.policy = &policy, .cwd = cwd, .argv = argv, .environment = environment};
	struct rf_facts facts;
	uint64_t start_ns = used_ns();
	uint64_t read_ns;
	int r = read_policy(path, &policy, diag);

	if (r)
		return r;
	read_ns = used_ns();
	make_facts(&facts);
	r = rf_plan_make(&request, &facts, &plan, diag);
	if (r == 0)
		printf("%" PRIu64 " %" PRIu64 "\n", read_ns - start_ns, used_ns() - read_ns);
	return r;
}

int main(int argc, char **argv)
{
	char *cwd rf_autofree = getcwd(NULL, 0);
	struct rf_diag diag = {0};
	uint64_t count;
	int r = 0;

	if (argc != 3 || !cwd || !rf_parse_u64(argv[2], &count)) {
		fputs("usage: plan FILE COUNT\n", stderr);
		return 2;
	}
	for (uint64_t i = 0; r == 0 && i < count; i++)
		r = time_once(argv[1], cwd, &diag);
	if (r)
		fprintf(stderr, "plan: %d %s\n", r, diag.message);
	return r != 0;
}
