# SPDX-License-Identifier: Apache-2.0
#
# The one Makefile.  Sources are found by wildcard: a new src/DIR/x.c,
# src/bpf/x.bpf.c, tests/unit/t_x.c, tests/load/x.c or tests/fuzz/x.c is built
# without a change here.  Packages are listed in tools/deps.

.DEFAULT_GOAL := all
.SUFFIXES:
.DELETE_ON_ERROR:

VERSION := 0.1.0

CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
PYTHON  ?= python3
PREFIX  ?= /usr/local
ZSH_DIR ?= share/zsh/site-functions
FUZZ_SECONDS ?= 10
JOBS    ?= $(shell nproc)

# ---- switches: V=1 shows commands; DEBUG=1, ASAN=1, UBSAN=1 build apart

V ?= 0
ifeq ($(V),0)
Q   := @
say  = @printf '  %-8s %s\n' '$(1)' '$(2)'
else
Q   :=
say  = @:
endif

variant := $(if $(filter 1,$(DEBUG)),-debug)$(if $(filter 1,$(ASAN)),-asan)$(if $(filter 1,$(UBSAN)),-ubsan)
OUT     := build
OBJ     := build/obj$(variant)
BIN     := $(if $(variant),$(OBJ)/heldup,heldup)

OPT     := $(if $(filter 1,$(DEBUG)),-O0 -g3,$(if $(filter 1,$(ASAN)),-O1 -g1,-O2 -g))
SAN     := $(if $(filter 1,$(ASAN)),-fsanitize=address) \
	   $(if $(filter 1,$(UBSAN)),-fsanitize=undefined -fno-sanitize-recover=undefined)
SAN     := $(strip $(SAN))

# ---- libraries: linked when their headers are there

have     = $(shell printf '\043include <%s>\n' '$(1)' | $(CC) -E -x c - >/dev/null 2>&1 && echo 1)
HAVE_ZSTD := $(call have,zstd.h)
HAVE_LZMA := $(call have,lzma.h)
HAVE_LIBDW := $(call have,elfutils/libdw.h)
HAVE_SECCOMP := $(call have,seccomp.h)
# Only its headers: it is loaded when a trace of LTTng is read.
HAVE_BABELTRACE2 := $(call have,babeltrace2/babeltrace.h)

DEFS    := -D_GNU_SOURCE -DHELDUP_VERSION='"$(VERSION)"' $(if $(HAVE_ZSTD),-DHAVE_ZSTD) \
	   $(if $(HAVE_LZMA),-DHAVE_LZMA) $(if $(HAVE_LIBDW),-DHAVE_LIBDW) \
	   $(if $(HAVE_SECCOMP),-DHAVE_SECCOMP) $(if $(HAVE_BABELTRACE2),-DHAVE_BABELTRACE2)
LIBS    := $(if $(call have,bpf/libbpf.h),-lbpf) $(if $(call have,libelf.h),-lelf) \
	   $(if $(call have,zlib.h),-lz) $(if $(HAVE_ZSTD),-lzstd) \
	   $(if $(HAVE_LZMA),-llzma) $(if $(HAVE_LIBDW),-ldw) \
	   $(if $(HAVE_SECCOMP),-lseccomp) -lsqlite3 -linih -lmicrohttpd -lnghttp2 -liberty -ldl \
	   $(if $(call have,ncurses.h),-lncursesw -ltinfo) -lm -lpthread

# A newer compiler warns of more, which must not stop who only builds: warnings are
# errors with WERROR=1, for developers (export it) and in ./test, which CI runs.  It
# alters no object, so it is not among the flags that rebuild.  What a sanitizer adds
# to the code makes some of GCC's warnings false: there they are only shown.
WERROR  ?= 0
FATAL   := $(if $(filter 1,$(WERROR)),-Werror)
WARN    := -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wvla
INC     := -Isrc -Ibuild
CFLAGS  ?=
ALL_CFLAGS = -std=gnu11 -ffunction-sections -fdata-sections $(OPT) $(WARN) $(INC) $(DEFS) $(SAN) -include src/base/banned.h $(CFLAGS)
ALL_LDFLAGS = $(SAN) -Wl,--gc-sections -Wl,-z,noexecstack $(LDFLAGS)

# ---- what there is

SRC      := $(sort $(shell find src -name '*.c' -not -path 'src/bpf/*'))
OBJS     := $(SRC:%.c=$(OBJ)/%.o)
BPF_SRC  := $(sort $(wildcard src/bpf/*.bpf.c))
BPF_OBJS := $(BPF_SRC:src/bpf/%.bpf.c=$(OUT)/bpf/%.bpf.o)
# CALL(name) for each system call of the kernel's headers; src/base/syscalls.c numbers them.
GEN      := $(OUT)/syscalls.inc
PLAIN_OBJS := $(BPF_SRC:src/bpf/%.bpf.c=$(OUT)/bpf/plain/%.bpf.o)
# What follows requests is loaded for that alone: an object of its own.
SKEL     := $(if $(BPF_SRC),$(OUT)/heldup.skel.h $(OUT)/plain.skel.h $(OUT)/paths.skel.h)
# Text that the program carries: each becomes `const char embed_NAME[]` (NUL
# terminated) and `const unsigned long embed_NAME_len`; NAME is the file's
# name with everything but letters and digits turned into _.
EMBED    := $(sort $(wildcard docs/*.schema.json docs/json.md src/*/*.css src/*/*.js src/*/*.html src/*/*/*.css src/*/*/*.js src/*/*/*.html))
EMBED_OBJS := $(foreach f,$(EMBED),$(OBJ)/embed/$(notdir $(f)).o)
UNIT_SRC := $(sort $(wildcard tests/unit/*.c))
UNIT_OBJS := $(UNIT_SRC:%.c=$(OBJ)/%.o)
LOAD     := $(patsubst tests/load/%.c,build/load/%,$(sort $(wildcard tests/load/*.c)))
# Servers with a bug each: frame.c and one file.
BUGS     := $(patsubst tests/load/bugs/%.c,build/load/bugs/%,$(filter-out %/frame.c,\
	$(sort $(wildcard tests/load/bugs/*.c))))
# Servers of known shapes, their client and their upstream: common.c and one file.
PATHS    := $(patsubst tests/eval/paths/servers/%.c,build/load/paths/%,$(filter-out %/common.c,\
	$(sort $(wildcard tests/eval/paths/servers/*.c))))
TOOLS    := build/tests/watch build/tests/unwind build/tests/flight build/tests/at_call
TEST_BPF := $(patsubst tests/bpf/%.bpf.c,$(OUT)/bpf/tests/%.bpf.o,$(wildcard tests/bpf/*.bpf.c))
# The library for programs of one's own (lib/README.md), and examples that are linked with it.
LIB_SRC  := $(sort $(wildcard lib/*.c))
LIB_SO   := libheldup.so.0
LIB      := build/lib/libheldup.a build/lib/$(LIB_SO)
EXAMPLES := $(patsubst examples/%,build/examples/%,$(sort $(patsubst %.c,%,$(wildcard examples/*/*.c))))
SHELLS   := bash zsh fish
MAN      := build/man/heldup.1 $(SHELLS:%=build/man/heldup.%) $(patsubst src/cli/cmd_%.c,build/man/heldup-%.1,\
	$(wildcard src/cli/cmd_*.c))
FUZZ     := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(sort $(wildcard tests/fuzz/*.c)))

.PHONY: all load unit examples fuzzers deps demo test check check-bpf check-kernels check-bare eval bench fuzz lint format
.PHONY: install uninstall dist deb man clean help FORCE

all: $(BIN) $(if $(variant),,$(MAN) $(LIB))

# ---- the program

$(BIN): $(OBJS) $(EMBED_OBJS)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# The skeleton is needed before the first compile; after that the .d files know
# who includes it.
$(OBJ)/%.o: %.c $(OBJ)/flags | $(SKEL) $(GEN)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(if $(SAN),,$(FATAL)) -MMD -MP -c -o $@ $<

$(GEN):
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)echo '#include <asm/unistd.h>' | $(CC) -E -dM -x c - | \
		sed -n 's/^#define __NR_\([a-z0-9_]*\) .*/CALL(\1)/p' | \
		grep -v -e '(syscalls)' -e '(arch_specific' | sort >$@

# Changes only when the flags do, so that changed flags rebuild.
$(OBJ)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(CC) $(ALL_CFLAGS))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(CC) $(ALL_CFLAGS))' >$@

define embed_rule
$(OBJ)/embed/$(notdir $(1)).o: $(1) tools/embed $(OBJ)/flags
	@mkdir -p $$(@D)
	$$(call say,EMBED,$$<)
	$$(Q)tools/embed $$< >$$(@:.o=.c)
	$$(Q)$$(CC) -std=gnu11 $$(SAN) -c -o $$@ $$(@:.o=.c)
endef
$(foreach f,$(EMBED),$(eval $(call embed_rule,$(f))))

# ---- lib and examples

LIB_CFLAGS = -std=gnu11 -O2 -g $(WARN) $(FATAL) -D_GNU_SOURCE -fPIC -fvisibility=hidden -mtls-dialect=$(if \
	$(filter x86_64,$(shell uname -m)),gnu2,desc)

build/lib/obj/%.o: lib/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(LIB_CFLAGS) -MMD -MP -c -o $@ $<

build/lib/libheldup.a: $(LIB_SRC:lib/%.c=build/lib/obj/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

build/lib/$(LIB_SO): $(LIB_SRC:lib/%.c=build/lib/obj/%.o)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(LIB_SO) -Wl,-z,defs -Wl,-z,noexecstack -o $@ $^ -lpthread
	$(Q)ln -sf $(LIB_SO) build/lib/libheldup.so

examples: $(EXAMPLES) build/tests/agent

# Linked as a program is that finds the library by pkg-config: shared.
build/tests/agent: tests/explore/agent.c build/lib/$(LIB_SO)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 -O2 -g $(WARN) $(FATAL) -D_GNU_SOURCE -Ilib -MMD -MP -MF $@.d -o $@ $< \
		-Lbuild/lib -lheldup -lpthread -Wl,-rpath,'$$ORIGIN/../lib'

build/examples/%: examples/%.c build/lib/libheldup.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 -O2 -g $(WARN) $(FATAL) -D_GNU_SOURCE -Ilib -MMD -MP -MF $@.d -o $@ $< \
		build/lib/libheldup.a -lpthread

# It calls what is inside the library.
build/bench/probe: bench/probe.c build/lib/libheldup.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 -O2 -g $(WARN) $(FATAL) -D_GNU_SOURCE -Ilib -o $@ $< \
		build/lib/libheldup.a -lpthread

# ---- kernel side: one object per file, linked into one, one skeleton

MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
BPF_ARCH  := $(if $(filter aarch64%,$(shell uname -m)),arm64,x86)
BPF_CFLAGS := -g -O2 -Wall -Wextra $(FATAL) -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -Isrc \
	$(if $(MULTIARCH),-idirafter /usr/include/$(MULTIARCH))

$(OUT)/bpf/%.bpf.o: src/bpf/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$<)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@ $<

$(OUT)/heldup.bpf.o: $(BPF_OBJS)
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

# The same without stacks, for kernels that refuse what unwinds them: see live_bpf.c.
$(OUT)/bpf/plain/%.bpf.o: src/bpf/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$< (plain))
	$(Q)$(CLANG) $(BPF_CFLAGS) -DHELDUP_NO_STACKS -Wno-unused-function -Wno-unused-parameter -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@ $<

$(OUT)/plain.bpf.o: $(PLAIN_OBJS)
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(OUT)/paths.bpf.o: $(OUT)/bpf/paths/paths.bpf.o
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(OUT)/heldup.skel.h $(OUT)/plain.skel.h $(OUT)/paths.skel.h: $(OUT)/%.skel.h: $(OUT)/%.bpf.o
	$(call say,SKEL,$@)
	$(Q){ echo "/* NOLINTBEGIN */"; $(BPFTOOL) gen skeleton $< name $*_bpf; \
		echo "/* NOLINTEND */"; } >$@

# ---- tests and their programs

UNIT := $(OBJ)/unit
unit: $(UNIT)

$(UNIT): $(UNIT_OBJS) $(filter-out $(OBJ)/src/main.o,$(OBJS)) $(EMBED_OBJS)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

load: $(LOAD) $(BUGS) $(PATHS) $(TOOLS)

# What tests/bpf asks for raw events (watch), for other stacks (unwind) and for
# stacks in programs that heldup does not have (at_call).
$(TOOLS): build/tests/%: $(OBJ)/tests/bpf/%.o $(filter-out $(OBJ)/src/main.o,$(OBJS)) $(EMBED_OBJS)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(OUT)/bpf/tests/%.bpf.o: tests/bpf/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$<)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@ $<

$(OUT)/%.skel.h: $(OUT)/bpf/tests/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf >$@

$(OBJ)/tests/bpf/at_call.o: | $(OUT)/at_call.skel.h

# What tests/spans asks for the spans of a file.
build/tests/spans_dump build/tests/spans_intake: build/tests/spans_%: $(OBJ)/tests/spans/%.o $(filter-out $(OBJ)/src/main.o,$(OBJS)) $(EMBED_OBJS)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# What tests/eval asks for the calls of a capture (calls), to thin one out (thin), and for the
# calls of followed servers (follow_calls).
EVAL_TOOLS := build/tests/calls build/tests/thin build/tests/follow_calls
$(EVAL_TOOLS): build/tests/%: $(OBJ)/tests/eval/bin/%.o $(filter-out $(OBJ)/src/main.o,$(OBJS)) $(EMBED_OBJS)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# bench/tables.c: how long tables for unwinding take.
build/bench/%: $(OBJ)/bench/%.o $(filter-out $(OBJ)/src/main.o,$(OBJS)) $(EMBED_OBJS)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# A load program is one file; a line `/* LIBS: -lx */` in it adds libraries.
build/load/%: tests/load/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 -O2 -g $(WARN) $(FATAL) -D_GNU_SOURCE -Itests/load -MMD -MP -MF $@.d -pthread \
		-o $@ $< -lrt -lm $$(sed -n 's|^/\* LIBS: \(.*\) \*/.*|\1|p' $<)

# Stripped, with symbols in a file beside it, as a package would be; no frame pointers.
build/load/bugs/%: tests/load/bugs/%.c tests/load/bugs/frame.c tests/load/bugs/frame.h
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 -O2 -g $(WARN) $(FATAL) -D_GNU_SOURCE -fstack-protector-strong -fPIE -pie \
		-fomit-frame-pointer -pthread -o $@.full $< tests/load/bugs/frame.c
	$(Q)objcopy --only-keep-debug $@.full $@.debug
	$(Q)strip --strip-all -o $@ $@.full
	$(Q)cd $(@D) && objcopy --add-gnu-debuglink=$(@F).debug $(@F) && rm $(@F).full

build/load/paths/%: tests/eval/paths/servers/%.c tests/eval/paths/servers/common.c \
		tests/eval/paths/servers/common.h
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 -O2 -g $(WARN) $(FATAL) -D_GNU_SOURCE -pthread -o $@ \
		$< tests/eval/paths/servers/common.c

# A fuzz target is linked with all of the program but main, tests/fuzz/common, and what makes
# processes up for unit tests.
FUZZ_CFLAGS = -std=gnu11 -O1 -g $(WARN) $(FATAL) $(INC) $(DEFS) -include src/base/banned.h \
	-fsanitize=address
FUZZ_OBJS := $(patsubst %.c,build/fuzz/obj/%.o,$(filter-out src/main.c,$(SRC)) \
	$(sort $(wildcard tests/fuzz/common/*.c)) \
	$(addprefix tests/unit/,runtime_make.c runtime_image.c elf_make.c cfi_make.c))

fuzzers: $(FUZZ)

build/fuzz/obj/%.o: %.c | $(SKEL) $(GEN)
	@mkdir -p $(@D)
	$(call say,FUZZCC,$<)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

build/fuzz/libheldup.a: $(FUZZ_OBJS) $(EMBED_OBJS)
	@rm -f $@
	$(Q)ar rcs $@ $^

build/fuzz/%: tests/fuzz/%.c build/fuzz/libheldup.a
	$(call say,FUZZLD,$@)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -Wno-missing-prototypes -fsanitize=fuzzer -MMD -MP -MF $@.d -o $@ $< \
		build/fuzz/libheldup.a $(LIBS)

# ---- targets for people

deps:
	$(Q)tools/deps build test

# Both are scripts, for a machine without make: they install it.
demo:
	$(Q)./demo $(PID)

test:
	$(Q)./test

check: all unit
	$(Q)tests/run check

check-bpf: all load
	$(Q)$(PYTHON) tests/bpf/run

check-kernels: all load
	$(Q)tests/kernels/run

check-bare:
	$(Q)tools/deps bare
	$(Q)tests/bare/run

eval: all load examples $(EVAL_TOOLS)
	$(Q)tools/deps eval
	$(Q)tests/eval/run
	$(Q)tests/eval/run --label rare
	$(Q)tests/eval/run --label foreign
	$(Q)tests/eval/run --label foreign2
	$(Q)tests/eval/run --label foreign3
	$(Q)tests/eval/run --label foreign4
	$(Q)tests/eval/run --label functions
	$(Q)tests/eval/run --label requests
	$(Q)tests/eval/run --label paths
	$(Q)tests/eval/run --label traced

bench: all load
	$(Q)tools/deps bench
	$(Q)bench/cost
	$(Q)bench/programs
	$(Q)bench/scale
	$(Q)bench/stacks
	$(Q)bench/calls
	$(Q)bench/spans
	$(Q)bench/probe
	$(Q)$(MAKE) -s build/bench/forest
	$(Q)build/bench/forest

fuzz: fuzzers
	$(Q)FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/run

lint: $(SKEL) $(GEN)
	$(Q)tools/lint

format:
	$(Q)clang-format -i $(shell git ls-files 'src/*.[ch]' 'tests/*.[ch]')

# Manual pages and the completion of shells come from the tables that -h comes from.
build/man/heldup.1: $(BIN)
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)./$(BIN) help --man >$@

build/man/heldup-%.1: $(BIN)
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)./$(BIN) help --man $* >$@

$(SHELLS:%=build/man/heldup.%): build/man/heldup.%: $(BIN)
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)./$(BIN) help --completion $* >$@

man: $(MAN)

install: all
	install -D -m 755 heldup $(DESTDIR)$(PREFIX)/bin/heldup
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(filter %.1,$(MAN)) $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's#@PREFIX@#$(PREFIX)#' packaging/heldup.service.in \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/heldup.service
	install -D -m 644 lib/heldup.h $(DESTDIR)$(PREFIX)/include/heldup.h
	install -D -m 644 build/lib/libheldup.a $(DESTDIR)$(PREFIX)/lib/libheldup.a
	install -D -m 755 build/lib/$(LIB_SO) $(DESTDIR)$(PREFIX)/lib/$(LIB_SO)
	ln -sf $(LIB_SO) $(DESTDIR)$(PREFIX)/lib/libheldup.so
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed 's#@PREFIX@#$(PREFIX)#; s#@VERSION@#$(VERSION)#' lib/heldup.pc.in \
		>$(DESTDIR)$(PREFIX)/lib/pkgconfig/heldup.pc
	install -D -m 644 build/man/heldup.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/heldup
	install -D -m 644 build/man/heldup.zsh \
		$(DESTDIR)$(PREFIX)/$(ZSH_DIR)/_heldup
	install -D -m 644 build/man/heldup.fish \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/heldup.fish

# Each path that install writes; folders that others may use stay.
uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/heldup $(patsubst build/man/%,share/man/man1/%,\
		$(filter %.1,$(MAN))) lib/systemd/system/heldup.service include/heldup.h \
		lib/libheldup.a lib/$(LIB_SO) lib/libheldup.so lib/pkgconfig/heldup.pc \
		share/bash-completion/completions/heldup $(ZSH_DIR)/_heldup \
		share/fish/vendor_completions.d/heldup.fish)

# One commit gives one tarball, byte for byte: its times are the commit's.
DIST := heldup-$(VERSION)
dist:
	@mkdir -p build
	$(call say,DIST,build/$(DIST).tar.gz)
	$(Q)git archive --format=tar --prefix=$(DIST)/ HEAD | gzip -9n >build/$(DIST).tar.gz

# Debian packages in build/deb, of what is committed (tools/deps build deb).
deb: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
deb: dist
	$(Q)rm -rf build/deb && mkdir -p build/deb && tar -C build/deb -xzf build/$(DIST).tar.gz
	$(Q)cp -r packaging/debian build/deb/$(DIST)/
	$(Q)printf 'heldup (%s) unstable; urgency=medium\n\n  * Build of %s.\n\n -- %s  %s\n' \
		$(VERSION) $$(git rev-parse --short HEAD) \
		"$$(sed -n 's/^Maintainer: //p' packaging/debian/control)" \
		"$$(date -uRd @$(SOURCE_DATE_EPOCH))" >build/deb/$(DIST)/debian/changelog
	cd build/deb/$(DIST) && dpkg-buildpackage -b -us -uc

clean:
	rm -rf build heldup

help:
	@echo 'make                  build ./heldup          (V=1 DEBUG=1 ASAN=1 UBSAN=1 WERROR=1)'
	@echo 'make demo [PID=N]     ./demo: install what is needed, build, show a verdict'
	@echo 'make test             ./test: install what is needed, build, pass all tests'
	@echo 'make check            tests that need no root, under a minute'
	@echo 'make check-bpf        tests on this kernel (root)'
	@echo 'make check-kernels    the same on the kernel of Debian 12, under qemu'
	@echo 'make check-bare       ./demo and ./test in a Debian 12 made bare by debootstrap (root)'
	@echo 'make eval             real servers with real hold-ups (root)'
	@echo 'make bench            overhead and speed (root)'
	@echo 'make fuzz             fuzz targets, FUZZ_SECONDS=10 each'
	@echo 'make lint             cppcheck and clang-tidy'
	@echo 'make install          PREFIX=/usr/local DESTDIR='
	@echo 'make uninstall        the same'
	@echo 'make dist             a tarball of what is committed, the same bytes each time'
	@echo 'make deb              Debian packages in build/deb'
	@echo 'make clean'

-include $(wildcard build/lib/obj/*.d) $(EXAMPLES:=.d) $(EVAL_TOOLS:build/tests/%=$(OBJ)/tests/eval/bin/%.d) $(OBJ)/tests/spans/dump.d $(OBJS:.o=.d) $(TOOLS:build/tests/%=$(OBJ)/tests/bpf/%.d) $(UNIT_OBJS:.o=.d) $(BPF_OBJS:.o=.d) $(OUT)/bpf/paths/paths.bpf.d $(PLAIN_OBJS:.o=.d) $(TEST_BPF:.o=.d) $(LOAD:=.d) $(FUZZ:=.d) $(FUZZ_OBJS:.o=.d)
