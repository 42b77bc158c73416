/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A policy in JSON, as a file and as a program would hand it over. */

#include "tools/fuzz/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read(const char *text, size_t size, struct rf_policy *ret_policy, struct rf_diag *diag)
{
	/* What begins otherwise is the other fuzzer's. */
	return size > 0 && strchr("{[ \n", text[0])
		       ? rf_policy_read("fuzz", text, size, ret_policy, diag)
		       : rf_read_json("fuzz", text, size, false, ret_policy, diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz(read, data, size);
}
