/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "wire/service.h"

#include <string.h>

#include "base/json.h"
#include "wire/interface.h"

#ifndef RF_VERSION
#define RF_VERSION "0"
#endif

#define PREFIX RF_SERVICE_INTERFACE "."

/* The description file itself, so that there is one text. Paths are those of the build's root. */
__asm__(".pushsection .rodata\n"
	".hidden rf_wire_io_ringfence\n"
	".global rf_wire_io_ringfence\n"
	"rf_wire_io_ringfence:\n"
	".incbin \"userspace/wire/io.ringfence.varlink\"\n"
	".byte 0\n"
	".popsection\n");
extern const char rf_wire_io_ringfence[] __attribute__((visibility("hidden")));

static const char service_text[] =
	"# The Varlink Service Interface is provided by every varlink service. It\n"
	"# describes the service and the interfaces it implements.\n"
	"interface org.varlink.service\n"
	"\n"
	"method GetInfo() -> (\n"
	"  vendor: string,\n"
	"  product: string,\n"
	"  version: string,\n"
	"  url: string,\n"
	"  interfaces: []string\n"
	")\n"
	"\n"
	"method GetInterfaceDescription(interface: string) -> (description: string)\n"
	"\n"
	"error InterfaceNotFound (interface: string)\n"
	"\n"
	"error MethodNotFound (method: string)\n"
	"\n"
	"error MethodNotImplemented (method: string)\n"
	"\n"
	"error InvalidParameter (parameter: string)\n";

const char *rf_wire_interface_text(void)
{
	return rf_wire_io_ringfence;
}

static int answer_info(struct rf_wire *wire)
{
	return rf_wire_reply(wire,
		json_pack("{s:s, s:s, s:s, s:s, s:[s, s]}", "vendor", "Ringfence", "product",
			"ringfenced", "version", RF_VERSION, "url", "", "interfaces",
			RF_SERVICE_INTERFACE, RF_INTERFACE),
		false);
}

static int answer_description(struct rf_wire *wire, const json_t *parameters)
{
	const char *name = rf_json_get_text(parameters, "interface");
	const char *text = NULL;

	if (!name)
		return rf_wire_error(wire, RF_ERROR_INVALID_PARAMETER,
			json_pack("{s:s}", "parameter", "interface"));
	if (strcmp(name, RF_INTERFACE) == 0)
		text = rf_wire_io_ringfence;
	else if (strcmp(name, RF_SERVICE_INTERFACE) == 0)
		text = service_text;
	if (!text)
		return rf_wire_error(
			wire, PREFIX "InterfaceNotFound", json_pack("{s:s}", "interface", name));
	return rf_wire_reply(wire, json_pack("{s:s}", "description", text), false);
}

int rf_wire_service_answer(struct rf_wire *wire, const char *method, const json_t *parameters)
{
	if (strncmp(method, PREFIX, strlen(PREFIX)) != 0)
		return RF_WIRE_OTHER_METHOD;
	if (strcmp(method, PREFIX "GetInfo") == 0)
		return answer_info(wire);
	if (strcmp(method, PREFIX "GetInterfaceDescription") == 0)
		return answer_description(wire, parameters);
	return rf_wire_error(wire, RF_ERROR_METHOD_NOT_FOUND, json_pack("{s:s}", "method", method));
}
