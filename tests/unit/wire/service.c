/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "wire/service.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/json.h"
#include "wire/interface.h"

static struct rf_wire *ours;
static struct rf_wire *theirs;

static void connect_both(void)
{
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	cr_assert_eq(rf_wire_new(fds[0], &ours), 0);
	cr_assert_eq(rf_wire_new(fds[1], &theirs), 0);
}

static void disconnect_both(void)
{
	ours = rf_wire_free(ours);
	theirs = rf_wire_free(theirs);
}

TestSuite(service, .init = connect_both, .fini = disconnect_both);

static json_t *ask(const char *method, const json_t *parameters)
{
	json_t *answer = NULL;
	int fds[RF_WIRE_FDS_MAX];
	size_t n_fds;

	cr_assert_eq(rf_wire_service_answer(ours, method, parameters), 0);
	cr_assert_eq(rf_wire_receive(theirs, &answer, fds, &n_fds), 0);
	return answer;
}

static json_t *describe(const char *interface)
{
	json_t *parameters rf_autojson = json_pack("{s:s}", "interface", interface);

	return ask("org.varlink.service.GetInterfaceDescription", parameters);
}

Test(service, info_names_both_interfaces)
{
	json_t *answer rf_autojson = ask("org.varlink.service.GetInfo", NULL);
	json_t *names = json_object_get(json_object_get(answer, "parameters"), "interfaces");

	cr_assert_eq(json_array_size(names), 2);
	cr_assert_str_eq(json_string_value(json_array_get(names, 1)), RF_INTERFACE);
}

Test(service, description_is_the_file)
{
	json_t *answer rf_autojson = describe(RF_INTERFACE);
	const char *text = rf_json_get_text(json_object_get(answer, "parameters"), "description");
	char *file rf_autofree = NULL;

	cr_assert_eq(
		rf_read_file_at(AT_FDCWD, "userspace/wire/io.ringfence.varlink", 1 << 20, &file),
		0);
	cr_assert_str_eq(text, file);
	cr_assert_str_eq(rf_wire_interface_text(), file);
}

Test(service, description_has_every_method)
{
	static const char *const methods[] = {RF_METHOD_RUN, RF_METHOD_PLAN, RF_METHOD_LIST,
		RF_METHOD_KILL, RF_METHOD_FREEZE, RF_METHOD_THAW, RF_METHOD_SIGNAL,
		RF_METHOD_DOCTOR, RF_METHOD_SWEEP};
	static const char *const errors[] = {RF_ERROR_REFUSED, RF_ERROR_NOT_FOUND,
		RF_ERROR_NOT_PERMITTED, RF_ERROR_LIMIT, RF_ERROR_BUSY};
	char line[80];

	for (size_t i = 0; i < RF_ARRAY_SIZE(methods); i++) {
		snprintf(line, sizeof(line), "\nmethod %s(", strrchr(methods[i], '.') + 1);
		cr_expect_not_null(strstr(rf_wire_interface_text(), line), "%s", line);
	}
	for (size_t i = 0; i < RF_ARRAY_SIZE(errors); i++) {
		snprintf(line, sizeof(line), "\nerror %s (", strrchr(errors[i], '.') + 1);
		cr_expect_not_null(strstr(rf_wire_interface_text(), line), "%s", line);
	}
}

Test(service, describes_itself)
{
	json_t *answer rf_autojson = describe("org.varlink.service");

	cr_assert_not_null(
		strstr(rf_json_get_text(json_object_get(answer, "parameters"), "description"),
			"interface org.varlink.service\n"));
}

Test(service, unknown_interface)
{
	json_t *answer rf_autojson = describe("org.example.none");

	cr_assert_str_eq(
		rf_json_get_text(answer, "error"), "org.varlink.service.InterfaceNotFound");
}

Test(service, missing_parameter)
{
	json_t *answer rf_autojson = ask("org.varlink.service.GetInterfaceDescription", NULL);

	cr_assert_str_eq(rf_json_get_text(answer, "error"), RF_ERROR_INVALID_PARAMETER);
}

Test(service, unknown_method)
{
	json_t *answer rf_autojson = ask("org.varlink.service.Nope", NULL);

	cr_assert_str_eq(rf_json_get_text(answer, "error"), RF_ERROR_METHOD_NOT_FOUND);
}

Test(service, other_methods_are_left_alone)
{
	cr_assert_eq(rf_wire_service_answer(ours, RF_METHOD_LIST, NULL), RF_WIRE_OTHER_METHOD);
	cr_assert_eq(
		rf_wire_service_answer(ours, "org.varlink.serviceX.A", NULL), RF_WIRE_OTHER_METHOD);
	cr_assert_not(rf_wire_has_output(ours));
}
