/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Each cause has a sentence and a remedy of its own. */

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "enforce/bpf.h"
#include "enforce/bpf_set.h"

static struct rf_proof explain(
	enum rf_bpf_step step, int error, const char *lsm_list, const char *detail)
{
	struct rf_proof proof;

	rf_bpf_explain(RF_PROOF_LSM, step, error, lsm_list, detail, &proof);
	cr_assert_eq(proof.state, RF_STATE_OFF);
	cr_assert(proof.why[0] && proof.remedy[0]);
	return proof;
}

Test(bpf_explain, bpf_is_found_as_a_whole_name)
{
	cr_assert(rf_bpf_lsm_is_listed("lockdown,capability,landlock,bpf\n"));
	cr_assert(rf_bpf_lsm_is_listed("bpf"));
	cr_assert(rf_bpf_lsm_is_listed("bpf,ima"));
	cr_assert_not(rf_bpf_lsm_is_listed("lockdown,bpfx,xbpf"));
	cr_assert_not(rf_bpf_lsm_is_listed(""));
	cr_assert_not(rf_bpf_lsm_is_listed(NULL));
}

Test(bpf_explain, a_missing_boot_parameter_names_the_whole_list)
{
	struct rf_proof proof =
		explain(RF_BPF_STEP_CANARY, 0, "lockdown,capability,landlock\n", "x");

	cr_assert_not_null(strstr(proof.why, "not in lsm="));
	cr_assert_str_eq(proof.remedy, "boot with lsm=lockdown,capability,landlock,bpf");
}

Test(bpf_explain, a_listed_lsm_that_does_not_refuse_names_the_check)
{
	struct rf_proof proof = explain(RF_BPF_STEP_CANARY, 0, "landlock,bpf\n", "the check");

	cr_assert_not_null(strstr(proof.why, "the check"));
}

Test(bpf_explain, a_refused_load_names_the_errno)
{
	struct rf_proof proof = explain(RF_BPF_STEP_LOAD, EPERM, "bpf", NULL);

	cr_assert_not_null(strstr(proof.why, "load refused, EPERM"));
}

Test(bpf_explain, busy_slots_are_a_cause_of_their_own)
{
	struct rf_proof busy = explain(RF_BPF_STEP_ATTACH, EBUSY, "bpf", NULL);
	struct rf_proof full = explain(RF_BPF_STEP_ATTACH, E2BIG, "bpf", NULL);
	struct rf_proof other = explain(RF_BPF_STEP_ATTACH, EINVAL, "bpf", NULL);

	cr_assert_not_null(strstr(busy.why, "slots busy, EBUSY"));
	cr_assert_not_null(strstr(full.why, "slots busy, E2BIG"));
	cr_assert_null(strstr(other.why, "busy"));
}

Test(bpf_explain, no_two_causes_read_alike)
{
	static const enum rf_bpf_step steps[] = {RF_BPF_STEP_CAPABILITY, RF_BPF_STEP_CGROUP,
		RF_BPF_STEP_BTF, RF_BPF_STEP_MOUNT, RF_BPF_STEP_LOAD, RF_BPF_STEP_ATTACH,
		RF_BPF_STEP_PIN, RF_BPF_STEP_CANARY};
	struct rf_proof proofs[RF_ARRAY_SIZE(steps)];

	for (size_t i = 0; i < RF_ARRAY_SIZE(steps); i++)
		proofs[i] = explain(steps[i], ENOENT, "bpf", NULL);
	for (size_t i = 0; i < RF_ARRAY_SIZE(steps); i++)
		for (size_t j = 0; j < i; j++)
			cr_assert_str_neq(proofs[i].why, proofs[j].why);
}

Test(bpf_acquire, without_privileges_says_who_can)
{
	struct rf_fact facts[RF_MECHANISMS] = {0};
	struct rf_fact file_hooks = {.state = RF_STATE_ENFORCED};
	struct rf_bpf *bpf = (struct rf_bpf *)1;

	/* As root there is no base to work below, which is a cause of its own. */
	cr_assert_eq(rf_bpf_acquire("/nonexistent", -1, 0, facts, &file_hooks, &bpf, NULL), 0);
	cr_assert_eq(file_hooks.state, RF_STATE_OFF);
	cr_assert_null(bpf);
	cr_assert_eq(facts[RF_MECHANISM_BPF_LSM].state, RF_STATE_OFF);
	cr_assert_eq(facts[RF_MECHANISM_BPF_CGROUP].state, RF_STATE_OFF);
	cr_assert_eq(facts[RF_MECHANISM_BPF_TRACE].state, RF_STATE_OFF);
	cr_assert(facts[RF_MECHANISM_BPF_TRACE].why[0]);
	cr_assert_null(rf_bpf_release(NULL));
}
