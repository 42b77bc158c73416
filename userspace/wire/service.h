/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* org.varlink.service: what a Varlink peer says about itself. */

#include <jansson.h>

#include "wire/varlink.h"

#define RF_SERVICE_INTERFACE "org.varlink.service"

/* io.ringfence.varlink as text; static storage. */
const char *rf_wire_interface_text(void);

/* The method is none of org.varlink.service. */
#define RF_WIRE_OTHER_METHOD 1
/*
 * Answers one call of org.varlink.service (an unknown method or interface by the error that Varlink
 * names). parameters may be NULL. 0: answered; RF_WIRE_OTHER_METHOD: nothing was sent; -errno.
 */
int rf_wire_service_answer(struct rf_wire *wire, const char *method, const json_t *parameters);
