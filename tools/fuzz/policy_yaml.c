/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A policy in YAML: whatever stands before libfyaml lets through. */

#include "tools/fuzz/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read(const char *text, size_t size, struct rf_policy *ret_policy, struct rf_diag *diag)
{
	return rf_policy_read("fuzz", text, size, ret_policy, diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz(read, data, size);
}
