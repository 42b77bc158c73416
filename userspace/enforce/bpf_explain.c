/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One cause, one sentence, one remedy: nobody should have to guess which of them it was. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "enforce/bpf_set.h"

static const char *kind_name(enum rf_proof_kind kind)
{
	switch (kind) {
	case RF_PROOF_LSM:
		return "LSM programs";
	case RF_PROOF_CGROUP:
		return "cgroup programs";
	case RF_PROOF_TRACE:
		return "tracing programs";
	case RF_PROOF_FILES:
		return "LSM programs on files";
	case RF_PROOFS:
		break;
	}
	return "programs";
}

static const char *error_name(int error)
{
	const char *name = strerrorname_np(error);

	return name ? name : "unknown error";
}

bool rf_bpf_lsm_is_listed(const char *lsm_list)
{
	const char *at = lsm_list;

	while (at && *at) {
		size_t length = strcspn(at, ",\n");

		if (length == 3 && strncmp(at, "bpf", 3) == 0)
			return true;
		at += length;
		at += strspn(at, ",\n");
	}
	return false;
}

static void say(struct rf_proof *proof, const char *why, const char *remedy)
{
	snprintf(proof->why, sizeof(proof->why), "%s", why);
	snprintf(proof->remedy, sizeof(proof->remedy), "%s", remedy);
}

static void explain_load(enum rf_proof_kind kind, int error, struct rf_proof *proof)
{
	snprintf(proof->why, sizeof(proof->why), "load refused, %s: the kernel refuses %s",
		error_name(error), kind_name(kind));
	if (error == EPERM || error == EACCES)
		snprintf(proof->remedy, sizeof(proof->remedy),
			"the host forbids %s (lockdown, a security module or its kernel): its "
			"administrator decides",
			kind_name(kind));
	else
		snprintf(proof->remedy, sizeof(proof->remedy),
			"a kernel from 6.1 on with CONFIG_BPF_LSM, CONFIG_CGROUP_BPF and "
			"CONFIG_DEBUG_INFO_BTF");
}

static void explain_attach(enum rf_proof_kind kind, int error, struct rf_proof *proof)
{
	if (error == EBUSY || error == E2BIG) {
		snprintf(proof->why, sizeof(proof->why),
			"hook slots busy, %s: other programs hold every place for %s",
			error_name(error), kind_name(kind));
		snprintf(proof->remedy, sizeof(proof->remedy),
			"find them with `bpftool link` and stop one of their owners");
		return;
	}
	snprintf(proof->why, sizeof(proof->why), "attach refused, %s: the kernel refuses %s",
		error_name(error), kind_name(kind));
	snprintf(proof->remedy, sizeof(proof->remedy),
		"see the kernel's log; `bpftool link` shows what is attached");
}

static void explain_canary(
	enum rf_proof_kind kind, const char *lsm_list, const char *detail, struct rf_proof *proof)
{
	if ((kind == RF_PROOF_LSM || kind == RF_PROOF_FILES) && lsm_list &&
		!rf_bpf_lsm_is_listed(lsm_list)) {
		snprintf(proof->why, sizeof(proof->why),
			"bpf is not in lsm=: the programs attach and are never called");
		snprintf(proof->remedy, sizeof(proof->remedy), "boot with lsm=%.*s%sbpf",
			(int)strcspn(lsm_list, "\n"), lsm_list, strcspn(lsm_list, "\n") ? "," : "");
		return;
	}
	snprintf(proof->why, sizeof(proof->why), "self-test failed: %s",
		detail ? detail : "a guard did not refuse");
	snprintf(proof->remedy, sizeof(proof->remedy),
		"report this with the kernel's version; %s are not relied on", kind_name(kind));
}

void rf_bpf_explain(enum rf_proof_kind kind, enum rf_bpf_step step, int error, const char *lsm_list,
	const char *detail, struct rf_proof *ret_proof)
{
	memset(ret_proof, 0, sizeof(*ret_proof));
	ret_proof->state = RF_STATE_OFF;
	switch (step) {
	case RF_BPF_STEP_CAPABILITY:
		say(ret_proof, "needs root: no CAP_BPF with CAP_PERFMON", "run it as root");
		break;
	case RF_BPF_STEP_CGROUP:
		say(ret_proof, "no cgroup of version 2 to keep sandboxes in",
			"mount cgroup2 and let the controller make cgroups there");
		break;
	case RF_BPF_STEP_BTF:
		say(ret_proof, "the kernel has no type information: no /sys/kernel/btf/vmlinux",
			"a kernel built with CONFIG_DEBUG_INFO_BTF");
		break;
	case RF_BPF_STEP_MOUNT:
		snprintf(ret_proof->why, sizeof(ret_proof->why),
			"no bpffs to pin programs in, and none can be mounted: %s",
			error_name(error));
		snprintf(ret_proof->remedy, sizeof(ret_proof->remedy),
			"mount -t bpf bpf /sys/fs/bpf");
		break;
	case RF_BPF_STEP_LOAD:
		explain_load(kind, error, ret_proof);
		break;
	case RF_BPF_STEP_ATTACH:
		explain_attach(kind, error, ret_proof);
		break;
	case RF_BPF_STEP_PIN:
		snprintf(ret_proof->why, sizeof(ret_proof->why), "pinning failed: %s",
			error_name(error));
		snprintf(
			ret_proof->remedy, sizeof(ret_proof->remedy), "the bpffs must be writable");
		break;
	case RF_BPF_STEP_CANARY:
		explain_canary(kind, lsm_list, detail, ret_proof);
		break;
	}
}
