# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Ringfence. `make` builds; `sudo make demo` and `sudo make check` install what they need first.
#
#	make            out/ringfence, out/ringfenced, out/ringfence-launch
#	make SAN=1 …    the same with address and undefined sanitizers, in out/san
#	make CC=clang-14 …
#	make unit | lint | bench | matrix | check | check-fresh | demo | man | clean

# ---- Phase 0: knobs ---------------------------------------------------------------------------

CC := gcc
BPF_CLANG ?= $(firstword $(shell command -v clang-14 clang 2>/dev/null))
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
LLVM_STRIP ?= $(firstword $(shell command -v llvm-strip-14 llvm-strip 2>/dev/null))
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
.PHONY: all unit lint bench matrix check check-fresh demo man clean programs tests probes install

# ---- Phase 1: sources, sorted -------------------------------------------------------------------

BASE_SOURCES := clock diag fd json path place say strv units
POLICY_SOURCES := facts keys nearest plan plan_environment plan_grants plan_json plan_program \
	plan_promises plan_runtime plan_view plan_workspace policy policy_json read read_json \
	read_yaml resolve tree
HOST_SOURCES := btf bwrap check_bpf check_bwrap check_cgroup check_namespace check_self doctor \
	explain facts probe signs
WIRE_SOURCES := service text varlink
ENFORCE_SOURCES := bpf bpf_canary bpf_explain bpf_load bpf_set bubblewrap cgroup seccomp
AUDIT_SOURCES := events tree
SANDBOX_SOURCES := controller create ledger result spec start stop supervise sweep
SERVICE_SOURCES := listen main methods peer run
CLI_SOURCES := args connect doctor files kill main options output plan plan_text print ps \
	report request run sandboxes sweep
LAUNCH_SOURCES := command confine first init keeper landlock leaf main message missing spec stage \
	tree userns

# BPF objects: one concern a file, linked into one skeleton.
BPF_SOURCES := exec socket tree

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
	-Iuserspace -I. -isystem out/bpf -ffile-prefix-map=$(CURDIR)=. -MMD -MP
ALL_CFLAGS = $(COMMON) $(HARDENING) $(SANITIZE) $(CFLAGS)
# The launcher is static, links nothing but libc, and runs where a sanitizer's runtime cannot.
LAUNCH_CFLAGS = $(COMMON) -Os -g -fstack-protector-strong

pkg = $(shell pkg-config $(1) $(2) 2>/dev/null)
CLIENT_LIBS := $(call pkg,--libs,jansson libfyaml)
CONTROLLER_LIBS := $(call pkg,--libs,jansson libbpf libseccomp libsystemd sqlite3 libcap)
UNIT_LIBS := $(call pkg,--libs,criterion) $(CONTROLLER_LIBS) $(call pkg,--libs,libfyaml)

# ---- Phase 3: objects ---------------------------------------------------------------------------

objects = $(foreach s,$($(2)_SOURCES),$(O)/userspace/$(1)/$(s).o)
BASE := $(call objects,base,BASE)
POLICY := $(call objects,policy,POLICY)
HOST := $(call objects,host,HOST)
WIRE := $(call objects,wire,WIRE)
ENFORCE := $(call objects,enforce,ENFORCE)
AUDIT := $(call objects,audit,AUDIT)
SANDBOX := $(call objects,sandbox,SANDBOX)
SERVICE := $(call objects,service,SERVICE)
CLI := $(call objects,cli,CLI)
LAUNCH := $(foreach s,$(LAUNCH_SOURCES),$(O)/userspace/launch/$(s).o)

CLIENT_OBJECTS := $(BASE) $(POLICY) $(HOST) $(WIRE) $(CLI)
CONTROLLER_OBJECTS := $(BASE) $(POLICY) $(HOST) $(WIRE) $(ENFORCE) $(AUDIT) $(SANDBOX) $(SERVICE)
LIBRARY_OBJECTS := $(BASE) $(POLICY) $(HOST) $(WIRE) $(ENFORCE) $(AUDIT) $(SANDBOX)
SKELETON := out/bpf/ringfence.skel.h

all: programs
programs: $(O)/ringfence $(O)/ringfenced $(O)/ringfence-launch

$(O)/ringfence: $(CLIENT_OBJECTS)
	$(call note,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) -pie -o $@ $^ $(CLIENT_LIBS)

$(O)/ringfenced: $(CONTROLLER_OBJECTS)
	$(call note,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) -pie -o $@ $^ $(CONTROLLER_LIBS) $(CLIENT_LIBS)

$(O)/ringfence-launch: $(LAUNCH)
	$(call note,LINK)
	$(Q)$(CC) $(LAUNCH_CFLAGS) -static -o $@ $^

$(O)/userspace/launch/%.o: userspace/launch/%.c
	@mkdir -p $(@D)
	$(call note,CC)
	$(Q)$(CC) $(LAUNCH_CFLAGS) -c -o $@ $<

$(O)/userspace/%.o: userspace/%.c
	@mkdir -p $(@D)
	$(call note,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(ENFORCE): $(SKELETON)
# Embedded by the assembler, which the compiler's dependency files do not see.
$(O)/userspace/wire/service.o: userspace/wire/io.ringfence.varlink

# ---- Phase 4: BPF -------------------------------------------------------------------------------

BPF_CFLAGS := -target bpf -D__TARGET_ARCH_x86 -O2 -g -std=gnu17 -Wall -Wextra -Werror \
	-Wno-unused-parameter -mcpu=v3 -Ibpf -I.

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

# ---- Phase 5: tests -----------------------------------------------------------------------------

UNIT := $(O)/tests/unit/run

tests: $(UNIT) probes

$(UNIT): $(UNIT_SOURCES:%.c=$(O)/%.o) $(LIBRARY_OBJECTS)
	$(call note,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) -pie -o $@ $^ $(UNIT_LIBS)

$(O)/tests/unit/%.o: tests/unit/%.c | $(SKELETON)
	@mkdir -p $(@D)
	$(call note,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -Wno-missing-prototypes -Ibpf -c -o $@ $<

# Attack and measuring programs: static, so that they run in any view of the filesystem.
probes: $(PROBES:%=out/tests/probes/%)

out/tests/probes/%: tests/probes/%.c
	@mkdir -p $(@D)
	$(call note,PROBE)
	$(Q)$(CC) -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -g -static -pthread -I. -o $@ $<

unit: $(UNIT)
	$(UNIT) --jobs 2

# Each phase stops the next: units, this host end to end, then the same in the kernels' guests.
check:
	tools/setup all
	$(MAKE) programs tests probes
	$(MAKE) unit
	RF_OUT=$(CURDIR)/$(O) tests/runner --results out/results/host.tsv
	$(if $(filter 1,$(SAN)),,$(MAKE) matrix)

matrix: programs probes
	tools/vm/matrix

check-fresh:
	tools/setup fresh
	tools/check-fresh

# ---- Phase 6: style -----------------------------------------------------------------------------

C_FILES = $(sort $(shell git ls-files -co --exclude-standard '*.c' '*.h'))
TIDY_FILES = $(filter userspace/%.c,$(C_FILES))

lint: $(SKELETON)
	clang-format --dry-run -Werror $(C_FILES)
	tools/lint/layers
	cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr \
		--suppress=missingIncludeSystem --std=c11 -D_GNU_SOURCE -Iuserspace -I. userspace
	printf '%s\n' $(TIDY_FILES) | xargs -P 2 -n 8 sh -c 'clang-tidy --quiet "$$@" -- $(COMMON)' lint

# ---- Phase 7: what users do ---------------------------------------------------------------------

demo:
	tools/setup build
	$(MAKE) programs
	tools/demo

bench:
	tools/setup all
	$(MAKE) programs probes
	tools/bench/run

MAN := ringfence.1 ringfence-events.5 ringfence-policy.5 ringfenced.8

man: $(MAN:%=out/man/%)

out/man/%: docs/%.scd
	@mkdir -p $(@D)
	$(call note,MAN)
	$(Q)scdoc <$< >$@

install: programs man
	install -Dm755 out/ringfence $(DESTDIR)$(PREFIX)/bin/ringfence
	install -Dm755 out/ringfenced $(DESTDIR)$(PREFIX)/libexec/ringfence/ringfenced
	install -Dm755 out/ringfence-launch $(DESTDIR)$(PREFIX)/libexec/ringfence/ringfence-launch
	for page in $(MAN); do \
		install -Dm644 out/man/$$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$$page; \
	done

clean:
	rm -rf out/userspace out/bpf out/tests out/san out/man out/ringfence out/ringfenced \
		out/ringfence-launch

-include $(shell find out/userspace out/tests out/san -type f -name '*.d' 2>/dev/null)
