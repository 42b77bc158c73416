# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Ringfence. `make` builds; `sudo make demo` and `sudo make check` install what they need first.
#
#	make            out/ringfence, out/ringfenced, out/ringfence-launch, out/lib
#	make SAN=1 …    the same with address and undefined sanitizers, in out/san
#	make CC=clang-14 O=out/clang …
#	make library | unit | soak | fuzz | lint | bench | matrix | check | check-fresh | demo | man | clean

# ---- Phase 0: knobs ---------------------------------------------------------------------------

CC := gcc
BPF_CLANG ?= $(firstword $(shell command -v clang-14 clang 2>/dev/null))
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PREFIX ?= /usr/local
SAN ?= 0
O := $(if $(filter 1,$(SAN)),out/san,out)
VERSION := 0.1.0

MAKEFLAGS += --no-builtin-rules
# V=1 shows whole commands.
Q := $(if $(V),,@)
note = $(if $(V),,@printf '  %-6s %s\n' $(1) $@)
.SUFFIXES:
.DELETE_ON_ERROR:
.PHONY: all schema unit fuzz lint bench matrix check check-fresh demo man clean programs tests probes \
	library soak install install-library

# ---- Phase 1: sources, sorted -------------------------------------------------------------------

BASE_SOURCES := clock diag fd json path place say strv units
POLICY_SOURCES := facts git_config git_directory inside keys nearest net plan plan_deadline plan_environment \
	plan_files plan_git plan_grants plan_json plan_mounts plan_own plan_program plan_promises plan_runtime \
	plan_view plan_workspace policy policy_json read read_json read_yaml resolve tree why
HOST_SOURCES := btf bwrap check_bpf check_bwrap check_cgroup check_namespace check_self doctor \
	explain facts probe signs
WIRE_SOURCES := service text varlink
FS_SOURCES := answer batch ceilings copy digest directory encode engine flow flow_change glob glob_brace \
	glob_segment glob_walk lift list names names_change open remove request resolve temporary walk where
ENFORCE_SOURCES := bpf bpf_canary bpf_canary_files bpf_destinations bpf_explain bpf_files bpf_load bpf_set bpf_types \
	bubblewrap cgroup seccomp
AUDIT_SOURCES := events tree
SANDBOX_SOURCES := controller create ledger result spec start stop supervise sweep wrap
SERVICE_SOURCES := files handed listen main methods peer run wrap
CLI_SOURCES := args bwrap bwrap_child bwrap_line bwrap_run connect doctor files fs fs_batch fs_print \
	fs_progress fs_verbs kill main options output plan plan_text print ps report request run \
	sandboxes sweep terminal
LAUNCH_SOURCES := command confine first init keeper landlock leaf listen main message missing spec stage \
	tree userns

# libringfence: what its headers declare, and what that needs. Other parts of the library add theirs.
LIBRINGFENCE_SOURCES := base/clock base/diag base/fd base/json base/path base/strv base/units \
	fs/batch fs/ceilings fs/copy fs/digest fs/directory fs/engine fs/flow fs/flow_change fs/glob fs/glob_brace \
	fs/glob_segment fs/glob_walk fs/list fs/names fs/names_change fs/open fs/remove fs/resolve \
	fs/temporary fs/walk fs/where
LIBRINGFENCE_HEADERS := base/attr.h fs/fs.h fs/glob.h
LIBRINGFENCE_REQUIRES := liburing libcrypto
LIBRINGFENCE_ABI := 0

# BPF objects: one concern a file, linked into one skeleton.
BPF_SOURCES := egress exec file socket tree

PROBES := $(sort $(notdir $(basename $(wildcard tests/probes/*.c))))
UNIT_SOURCES := $(sort $(wildcard tests/unit/*/*.c))

# ---- Phase 2: flags ---------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wundef -Wimplicit-fallthrough
CFLAGS ?= -O2 -g
HARDENING := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
comma := ,
SANITIZE := $(if $(filter 1,$(SAN)),-fsanitize=address$(comma)undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer)
ifeq ($(SAN),1)
HARDENING := -fPIE
endif
COMMON := -std=gnu17 -D_GNU_SOURCE -DRF_VERSION='"$(VERSION)"' \
	-DRF_LIBEXECDIR='"$(PREFIX)/libexec/ringfence"' $(WARNINGS) \
	-Iuserspace -I. -isystem out/bpf -ffile-prefix-map=$(CURDIR)=.
DEPENDENCIES := -MMD -MP
ALL_CFLAGS = $(COMMON) $(DEPENDENCIES) $(HARDENING) $(SANITIZE) $(CFLAGS)
# The launcher is static, links nothing but libc, and runs where a sanitizer's runtime cannot. It
# builds with LAUNCH_CC=musl-gcc too, and then starts in a quarter of the time in a virtual machine.
LAUNCH_CC ?= $(CC)
LAUNCH_CFLAGS = $(COMMON) $(DEPENDENCIES) -Os -g -fstack-protector-strong \
	$(if $(findstring musl,$(LAUNCH_CC)),-idirafter /usr/include -idirafter /usr/include/$(MULTIARCH))

pkg = $(shell pkg-config $(1) $(2) 2>/dev/null)
CLIENT_LIBS := $(call pkg,--libs,jansson libfyaml liburing)
CONTROLLER_LIBS := $(call pkg,--libs,jansson libbpf libseccomp libsystemd sqlite3 libcap)
UNIT_LIBS := $(call pkg,--libs,criterion) $(CONTROLLER_LIBS) $(CLIENT_LIBS)

# ---- Phase 3: objects ---------------------------------------------------------------------------

objects = $(foreach s,$($(2)_SOURCES),$(O)/userspace/$(1)/$(s).o)
BASE := $(call objects,base,BASE)
POLICY := $(call objects,policy,POLICY)
HOST := $(call objects,host,HOST)
WIRE := $(call objects,wire,WIRE)
FS := $(call objects,fs,FS)
ENFORCE := $(call objects,enforce,ENFORCE)
AUDIT := $(call objects,audit,AUDIT)
SANDBOX := $(call objects,sandbox,SANDBOX)
SERVICE := $(call objects,service,SERVICE)
CLI := $(call objects,cli,CLI)
LAUNCH := $(foreach s,$(LAUNCH_SOURCES),$(O)/userspace/launch/$(s).o)

CLIENT_OBJECTS := $(BASE) $(POLICY) $(HOST) $(WIRE) $(FS) $(CLI)
CONTROLLER_OBJECTS := $(BASE) $(POLICY) $(HOST) $(WIRE) $(FS) $(ENFORCE) $(AUDIT) $(SANDBOX) $(SERVICE)
LIBRARY_OBJECTS := $(BASE) $(POLICY) $(HOST) $(WIRE) $(FS) $(ENFORCE) $(AUDIT) $(SANDBOX)
SKELETON := out/bpf/ringfence.skel.h

all: programs library
programs: $(O)/ringfence $(O)/ringfenced $(O)/ringfence-launch

$(O)/ringfence: $(CLIENT_OBJECTS)
	$(call note,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) -pie -o $@ $^ $(CLIENT_LIBS)

$(O)/ringfenced: $(CONTROLLER_OBJECTS)
	$(call note,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) -pie -o $@ $^ $(CONTROLLER_LIBS) $(CLIENT_LIBS)

$(O)/ringfence-launch: $(LAUNCH)
	$(call note,LINK)
	$(Q)$(LAUNCH_CC) $(LAUNCH_CFLAGS) -static -o $@ $^

$(O)/userspace/launch/%.o: userspace/launch/%.c
	@mkdir -p $(@D)
	$(call note,CC)
	$(Q)$(LAUNCH_CC) $(LAUNCH_CFLAGS) -c -o $@ $<

$(O)/userspace/%.o: userspace/%.c
	@mkdir -p $(@D)
	$(call note,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(ENFORCE): $(SKELETON)
# Embedded by the assembler, which the compiler's dependency files do not see.
$(O)/userspace/wire/service.o: userspace/wire/io.ringfence.varlink

# The library in both shapes, never with sanitizers: what the map lists can be linked, all else is gone
# or hidden. Unused sections go first, so that a helper of base/ does not bring in a library that
# nothing here calls.
LIB := $(O)/lib
LIBRINGFENCE := $(LIBRINGFENCE_SOURCES:%=$(LIB)/userspace/%.o)
LIBRINGFENCE_MAP := userspace/include/libringfence.map

library: $(LIB)/libringfence.a $(LIB)/libringfence.so

$(LIB)/userspace/%.o: userspace/%.c
	@mkdir -p $(@D)
	$(call note,CC)
	$(Q)$(CC) $(filter-out -fPIE $(SANITIZE),$(ALL_CFLAGS)) -fPIC -ffunction-sections -fdata-sections -c -o $@ $<

$(LIB)/libringfence.so.$(LIBRINGFENCE_ABI): $(LIBRINGFENCE) $(LIBRINGFENCE_MAP)
	$(call note,LINK)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(LIBRINGFENCE_MAP) \
		-Wl,--gc-sections -Wl,--as-needed -Wl,-z,relro,-z,now -Wl,--no-undefined -o $@ \
		$(LIBRINGFENCE) $(call pkg,--libs,$(LIBRINGFENCE_REQUIRES))

$(LIB)/libringfence.so: $(LIB)/libringfence.so.$(LIBRINGFENCE_ABI)
	$(Q)ln -sf $(<F) $@

$(LIB)/libringfence.a: $(LIBRINGFENCE) $(LIBRINGFENCE_MAP)
	$(call note,AR)
	$(Q)sed -n 's/^\t\t\(rf_[a-z_]*\);$$/\1/p' $(LIBRINGFENCE_MAP) >$(LIB)/symbols
	$(Q)ld -r --gc-sections $$(sed 's/^/-u /' $(LIB)/symbols) -o $(LIB)/ringfence.o $(LIBRINGFENCE)
	$(Q)objcopy --keep-global-symbols=$(LIB)/symbols $(LIB)/ringfence.o
	$(Q)rm -f $@ && ar rcsD $@ $(LIB)/ringfence.o

# ---- Phase 4: BPF -------------------------------------------------------------------------------

# Clang's BPF target has no multiarch directory of its own, where <asm/types.h> lies.
MULTIARCH := $(shell gcc -print-multiarch 2>/dev/null)
BPF_CFLAGS := -target bpf -D__TARGET_ARCH_x86 -O2 -g -std=gnu17 -Wall -Wextra -Werror \
	-Wno-unused-parameter -mcpu=v3 -Ibpf -I. -idirafter /usr/include/$(MULTIARCH)

out/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h)
	@mkdir -p $(@D)
	$(call note,BPF)
	$(Q)$(BPF_CLANG) $(BPF_CFLAGS) -c -o $@ $<

out/bpf/ringfence.linked.o: $(foreach s,$(BPF_SOURCES),out/bpf/$(s).bpf.o)
	$(call note,BPF)
	$(Q)$(BPFTOOL) gen object $@ $^

$(SKELETON): out/bpf/ringfence.linked.o
	$(call note,BPF)
	$(Q)$(BPFTOOL) gen skeleton $< name ringfence_bpf > $@

# Made from the table of keys (policy/keys.def): the schema, and the lists in the manual pages. `make
# lint` and a test say when docs/ has something else.
SCHEMA := docs/ringfence-policy.schema.json
KEY_PAGES := docs/ringfence.1.scd docs/ringfence-policy.5.scd

$(O)/tools/schema: $(addprefix tools/schema/,main.c page.c page.h) userspace/policy/keys.def \
		$(BASE) $(POLICY)
	@mkdir -p $(@D)
	$(call note,LINK)
	$(Q)$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -pie -o $@ $(filter %.c %.o,$^) $(CLIENT_LIBS)

schema: $(O)/tools/schema
	$< json >$(SCHEMA)
	for page in $(KEY_PAGES); do $< page $$page >out/page && cp out/page $$page || exit 1; done

# ---- Phase 5: tests -----------------------------------------------------------------------------

UNIT := $(O)/tests/unit/run

tests: $(UNIT) probes library $(O)/tools/schema

# Of the client, what reads somebody else's words is tested by itself.
$(UNIT): $(UNIT_SOURCES:%.c=$(O)/%.o) $(LIBRARY_OBJECTS) $(O)/userspace/cli/bwrap_line.o
	$(call note,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) -pie -o $@ $^ $(UNIT_LIBS)

$(O)/tests/unit/%.o: tests/unit/%.c | $(SKELETON)
	@mkdir -p $(@D)
	$(call note,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -Wno-missing-prototypes -Ibpf -c -o $@ $<

# Attack and measuring programs: static, so that they run in any view of the filesystem; a sanitizer
# cannot be.
PROBE_DIR := $(if $(filter 1,$(SAN)),out,$(O))/tests/probes

probes: $(PROBES:%=$(PROBE_DIR)/%)

$(PROBE_DIR)/%: tests/probes/%.c $(wildcard tests/probes/*.h)
	@mkdir -p $(@D)
	$(call note,PROBE)
	$(Q)$(CC) -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -g -static -pthread -I. -o $@ $< \
		$(PROBE_LIBS_$*)

PROBE_LIBS_json := -ljansson

unit: $(UNIT) $(O)/ringfence-launch
	LSAN_OPTIONS=suppressions=tests/unit/lsan.supp:print_suppressions=0 $(UNIT) --jobs 2
	RINGFENCE_LAUNCH=$(CURDIR)/$(O)/ringfence-launch python3 tests/unit/launch/test_launch.py

# Each phase stops the next: units, this host end to end, then the same in the kernels' guests.
check:
	tools/setup all
	$(MAKE) programs tests probes
	$(MAKE) unit
	$(if $(filter 1,$(SAN)),,$(MAKE) fuzz FUZZ_SECONDS=10)
	RF_OUT=$(CURDIR)/$(O) tests/runner --warm --retry --results out/results/host.tsv
	$(if $(filter 1,$(SAN)),,$(MAKE) matrix)

matrix: programs probes
	tools/vm/matrix

check-fresh:
	tools/setup fresh
	tools/check-fresh

# Parsers of what someone else wrote, each for FUZZ_SECONDS, two at a time. What is found stays in
# out/fuzz.
FUZZERS := git_config glob policy_json policy_yaml request
FUZZ_SECONDS ?= 20
FUZZ_CC ?= clang-14
FUZZ_PARTS := $(foreach s,diag json strv units,userspace/base/$(s).c) \
	$(foreach s,answer encode glob glob_brace glob_segment lift names request,userspace/fs/$(s).c)
FUZZ_POLICY_PARTS := $(foreach s,diag json path strv units,userspace/base/$(s).c) \
	$(foreach s,facts keys nearest net policy policy_json read read_json read_yaml,userspace/policy/$(s).c)

out/fuzz/git_config: userspace/base/strv.c userspace/policy/git_config.c
out/fuzz/glob out/fuzz/request: $(FUZZ_PARTS)
out/fuzz/policy_json out/fuzz/policy_yaml: $(FUZZ_POLICY_PARTS)
out/fuzz/%: tools/fuzz/%.c $(wildcard tools/fuzz/*.h userspace/*/*.h)
	@mkdir -p $(@D)
	$(call note,FUZZ)
	$(Q)$(FUZZ_CC) $(filter-out -MMD -MP,$(COMMON)) -O1 -g -fno-omit-frame-pointer \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		-o $@ $(filter %.c,$^) $(call pkg,--libs,jansson libfyaml)

fuzz: $(FUZZERS:%=out/fuzz/%)
	@printf '%s\n' $(FUZZERS) | xargs -P 2 -I{} tools/fuzz/run {} $(FUZZ_SECONDS)

# The long forms: a million operations against eight threads, a million names, minutes of fuzzing.
soak: programs tests
	RF_FS_RACE_OPERATIONS=1000000 $(UNIT) --filter 'fs_race/*' --timeout 7200
	RF_FS_NAMES=1000000 RF_OUT=$(CURDIR)/$(O) tests/runner --filter 'test_e7_many_names*' tests/run/fs.sh
	$(MAKE) fuzz FUZZ_SECONDS=300

# ---- Phase 6: style -----------------------------------------------------------------------------

C_FILES = $(sort $(wildcard $(shell git ls-files -co --exclude-standard '*.c' '*.h')))
HEADERS = $(filter %.h,$(C_FILES))
TIDY_FILES = $(filter userspace/%.c,$(C_FILES))
in_parallel = printf '%s\n' $(1) | xargs -P 2 -I{}

# cppcheck follows neither our cleanup attribute (memleak), nor a condition into the function called
# (ctunullpointer), nor a loop that goes up to an index it was given (arrayIndexThenCheck).
CPPCHECK_FLAGS := --quiet --error-exitcode=1 -j 2 --enable=warning,portability \
	--library=tools/lint/cppcheck.cfg --suppress=memleak --suppress=ctunullpointer \
	--suppress=arrayIndexThenCheck --std=c11 -D_GNU_SOURCE -D__x86_64__ -Iuserspace -I.

# Cheap ones first; `make -k lint` goes through all of them.
LINTS := format layers style scripts skips headers cppcheck tidy schema
.PHONY: $(LINTS:%=lint-%)

lint: $(LINTS:%=lint-%)

lint-format:
	@clang-format --dry-run -Werror $(C_FILES)

lint-layers lint-style lint-scripts lint-skips: lint-%:
	@tools/lint/$*

# A header that compiles alone needs no luck in the order of includes.
lint-headers: $(SKELETON)
	@$(call in_parallel,$(filter-out bpf/%,$(HEADERS))) \
		$(CC) $(COMMON) -fsyntax-only -include {} -x c /dev/null
	@$(call in_parallel,$(filter bpf/%,$(HEADERS))) \
		$(BPF_CLANG) $(BPF_CFLAGS) -fsyntax-only -include {} -x c /dev/null

lint-schema: $(O)/tools/schema
	@$< json | diff -u $(SCHEMA) - || { echo "run make schema" >&2; false; }
	@for page in $(KEY_PAGES); do \
		$< page $$page | diff -u $$page - || { echo "run make schema" >&2; exit 1; }; \
	done

lint-cppcheck:
	@cppcheck $(CPPCHECK_FLAGS) userspace

# What it found is on its standard output; the rest counts warnings about the system's headers.
lint-tidy: $(SKELETON)
	@mkdir -p out/lint
	@$(call in_parallel,$(TIDY_FILES)) clang-tidy --quiet {} -- $(COMMON) 2>out/lint/tidy || \
		{ tail -n 3 out/lint/tidy >&2; false; }

# ---- Phase 7: what users do ---------------------------------------------------------------------

demo:
	tools/setup build demo
	$(MAKE) programs
	tools/demo

# The planner alone, for tools/bench/run.
$(O)/tools/plan: tools/bench/plan.c $(BASE) $(POLICY)
	@mkdir -p $(@D)
	$(call note,LINK)
	$(Q)$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -pie -o $@ $^ $(CLIENT_LIBS)

bench:
	tools/setup all
	$(MAKE) programs probes $(O)/tools/plan
	tools/bench/run

MAN := ringfence.1 ringfence.3 ringfence-bwrap.1 ringfence-events.5 ringfence-fs.1 \
	ringfence-policy.5 ringfenced.8

man: $(MAN:%=out/man/%)

out/man/%: docs/%.scd
	@mkdir -p $(@D)
	$(call note,MAN)
	$(Q)scdoc <$< >$@

install: programs man install-library
	install -Dm755 out/ringfence $(DESTDIR)$(PREFIX)/bin/ringfence
	install -Dm755 out/ringfenced $(DESTDIR)$(PREFIX)/libexec/ringfence/ringfenced
	install -Dm755 out/ringfence-launch $(DESTDIR)$(PREFIX)/libexec/ringfence/ringfence-launch
	install -Dm644 $(SCHEMA) $(DESTDIR)$(PREFIX)/share/doc/ringfence/$(notdir $(SCHEMA))
	for page in $(MAN); do \
		install -Dm644 out/man/$$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$$page; \
	done

install-library: library
	for header in ringfence-fs.h $(LIBRINGFENCE_HEADERS); do \
		from=userspace/$$header; [ -e $$from ] || from=userspace/include/$$header; \
		install -Dm644 $$from $(DESTDIR)$(PREFIX)/include/ringfence/$$header || exit 1; \
	done
	install -Dm755 $(LIB)/libringfence.so.$(LIBRINGFENCE_ABI) \
		$(DESTDIR)$(PREFIX)/lib/libringfence.so.$(LIBRINGFENCE_ABI)
	ln -sf libringfence.so.$(LIBRINGFENCE_ABI) $(DESTDIR)$(PREFIX)/lib/libringfence.so
	install -Dm644 $(LIB)/libringfence.a $(DESTDIR)$(PREFIX)/lib/libringfence.a
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@REQUIRES@|$(LIBRINGFENCE_REQUIRES)|' \
		userspace/include/ringfence.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/ringfence.pc

clean:
	rm -rf out/lib out/userspace out/bpf out/tests out/san out/clang out/fuzz out/lint out/man out/ringfence \
		out/ringfenced out/ringfence-launch

-include $(shell find $(O)/userspace $(O)/tests $(O)/lib -type f -name '*.d' 2>/dev/null)
