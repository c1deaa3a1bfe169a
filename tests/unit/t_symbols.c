/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "symbols/files/image.h"
#include "symbols/files/inroot.h"
#include "symbols/names/perfmap.h"
#include "symbols/names/symbols.h"
#include "symbols/names/symtab.h"

/* ---- symtab: which of several symbols, and how far it reaches */

static void push(struct symtab *t, uint32_t pc, uint32_t len, uint8_t rank)
{
	struct symtab_entry e = {.pc = pc, .len = len, .rank = rank};

	vec_push(&t->entries, e);
}

TEST(symtab_reach)
{
	static const struct symtab_bounds bounds[] = {
		{0x100, 0x80}, /* a symbol without a size is there */
		{0x200, 0x40}, /* no symbol */
		{0x310, 0x10}, /* within a sized symbol */
		{0x400, 0x100},/* one FDE for two unsized symbols */
	};
	static const struct {
		uint32_t pc, start; /* start 0: nothing */
	} rows[] = {
		{0xff, 0},	{0x100, 0x100}, {0x17f, 0x100}, {0x180, 0},	{0x200, 0x200},
		{0x23f, 0x200}, {0x240, 0},	{0x300, 0x300}, {0x315, 0x300}, {0x33f, 0x300},
		{0x400, 0x400}, {0x41f, 0x400}, {0x420, 0x420}, {0x4ff, 0x420}, {0x500, 0},
		{0x600, 0x600}, {0x610, 0x610}, {0x618, 0x600}, {0x61f, 0x600},
	};
	struct symtab t = {0};

	push(&t, 0x100, 0, 64);
	push(&t, 0x300, 0x40, 0);
	push(&t, 0x320, 0, 64); /* a label in it */
	push(&t, 0x400, 0, 64);
	push(&t, 0x420, 0, 64);
	push(&t, 0x600, 0x20, 1); /* two at one address, one within */
	push(&t, 0x600, 0x30, 9);
	push(&t, 0x610, 0x8, 0);
	symtab_add_bounds(&t, bounds, sizeof(bounds) / sizeof(bounds[0]));
	symtab_finish(&t);
	EQ_U(t.named_cnt, 6);
	EQ_U(t.bounds_cnt, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct symtab_entry *e = symtab_find(&t, rows[i].pc);
		ROW(i);
		EQ_U(e ? e->pc : 0, rows[i].start);
	}
	symtab_release(&t);
}

/* ---- names of this program and of libc, as the loader placed them */

static uint64_t place_of(const void *addr, char path[256])
{
	Dl_info info;
	struct link_map *map;

	OK(dladdr1(addr, &info, (void **)&map, RTLD_DL_LINKMAP));
	snprintf(path, 256, "%s", *map->l_name ? map->l_name : "/proc/self/exe");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct image *im = image_open(fd, NULL);
	OK(im);
	uint64_t off = (uint64_t)addr - map->l_addr - image_base_vaddr(im);
	image_free(im);
	close(fd);
	return off;
}

static uint32_t module_at(struct symbols *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint32_t id = 0;

	OK(fd >= 0);
	EQ_I(symbols_module(s, path, fd, NULL, &id, NULL), 0);
	close(fd);
	return id;
}

TEST(symbols_of_files)
{
	struct symbols *s = symbols_new(NULL);
	struct symbol_name n;
	char path[256], other[256];
	uint64_t off = place_of((const void *)(uintptr_t)symbols_new, path);
	uint32_t own = module_at(s, path);

	EQ_U(own, 1);
	EQ_U(module_at(s, path), own);
	symbols_name(s, own, off + 1, false, &n);
	EQ_S(n.frames[0].fn, "symbols_new");
	EQ_I(n.source, SYMBOL_SYMTAB);
	EQ_U(n.off, 1);
	EQ_U(n.start, off);
	/* a return address at the first byte is of a call in the function before */
	symbols_name(s, own, off, true, &n);
	OK(strcmp(n.frames[0].fn, "symbols_new") != 0);

	off = place_of((const void *)(uintptr_t)gnu_get_libc_version, other);
	uint32_t libc = module_at(s, other);
	EQ_U(libc, 2);
	symbols_name(s, libc, off + 4, true, &n);
	EQ_S(n.frames[0].fn, "gnu_get_libc_version");
	symbols_name(s, libc, UINT32_MAX, true, &n);
	HAS(n.frames[0].fn, "libc.so.6+0x");
	EQ_I(n.source, SYMBOL_NONE);
	symbols_name(s, 77, 0x10, false, &n);
	EQ_S(n.frames[0].fn, "?+0x10");
	symbols_free(s);
}

TEST(symbols_give_tables_back)
{
	struct symbols_opts opts = {.max_bytes = 1};
	struct symbols *s = symbols_new(&opts);
	struct symbols_stats stats;
	struct symbol_name n;
	char own_path[256], libc_path[256];
	uint64_t own_off = place_of((const void *)(uintptr_t)symbols_new, own_path);
	uint64_t libc_off = place_of((const void *)(uintptr_t)gnu_get_libc_version, libc_path);
	uint32_t own = module_at(s, own_path), libc = module_at(s, libc_path);

	for (int i = 0; i < 3; i++) {
		symbols_name(s, own, own_off, false, &n);
		EQ_S(n.frames[0].fn, "symbols_new");
		symbols_name(s, libc, libc_off, false, &n);
		OK(n.source >= SYMBOL_DYNSYM); /* with libc6-dbg from a debug file */
	}
	symbols_stats(s, &stats);
	EQ_U(stats.evicted_cnt, 5);
	symbols_free(s);
}

/* Over the bound of open files names are copied, and the tables are not given back. */
TEST(symbols_without_open_files)
{
	struct symbols_opts opts = {.max_bytes = 1, .max_files = 1};
	struct symbols *s = symbols_new(&opts);
	struct symbols_stats stats;
	struct symbol_name n;
	char own_path[256], libc_path[256];
	uint64_t own_off = place_of((const void *)(uintptr_t)symbols_new, own_path);
	uint64_t libc_off = place_of((const void *)(uintptr_t)gnu_get_libc_version, libc_path);
	uint32_t own = module_at(s, own_path), libc = module_at(s, libc_path);

	EQ_U(module_at(s, libc_path), libc);
	for (int i = 0; i < 3; i++) {
		symbols_name(s, libc, libc_off, false, &n);
		EQ_S(n.frames[0].fn, "gnu_get_libc_version");
		symbols_name(s, own, own_off, false, &n);
		EQ_S(n.frames[0].fn, "symbols_new");
	}
	symbols_stats(s, &stats);
	EQ_U(stats.evicted_cnt, 0);
	symbols_free(s);
}

TEST(symbols_refuse_what_is_no_program)
{
	struct symbols *s = symbols_new(NULL);
	FILE *f = tmpfile();
	uint32_t id = 7;

	fputs("#!/bin/sh\n", f);
	fflush(f);
	EQ_I(symbols_module(s, "x", fileno(f), NULL, &id, NULL), -ENOEXEC);
	EQ_I(symbols_module_bytes(s, "x", "ELF", 3, &id, NULL), -ENOEXEC);
	EQ_U(id, 7);
	fclose(f);
	symbols_free(s);
}

/* ---- perf maps */

static const char *jit_name(const struct perfmap *m, uint64_t addr, struct buf *out)
{
	const struct perfmap_entry *e = perfmap_find(m, addr);

	buf_clear(out);
	if (e)
		perfmap_name(m, e, out);
	return buf_str(out);
}

static void append(FILE *f, const char *text)
{
	fseek(f, 0, SEEK_END);
	fputs(text, f);
	fflush(f);
}

TEST(perfmap_lines)
{
	static const struct {
		const char *line;
		const char *name; /* at 0x1000; "" when the line is refused */
	} rows[] = {
		{"1000 10 f\n", "f"},
		{"0x1000 0x10 f\n", "f"},
		{"0000000000001000 00010 void Foo::bar(int, long)\n", "void Foo::bar(int, long)"},
		{"1000 10 \n", ""},
		{"1000 10\n", ""},
		{"1000 0 f\n", ""},
		{"1000  10 f\n", ""},
		{" 1000 10 f\n", ""},
		{"g000 10 f\n", ""},
		{"-1000 10 f\n", ""},
		{"11111111111111111 10 f\n", ""},
		{"ffffffffffffffff 10 f\n", ""},
		{"\n", ""},
		{"0x\n", ""},
		{"1000 ffffffffff f\n", "f"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perfmap m = {0};
		struct buf out = {0};
		FILE *f = tmpfile();
		ROW(i);
		append(f, rows[i].line);
		EQ_I(perfmap_load_fd(&m, fileno(f), NULL, NULL), 0);
		EQ_S(jit_name(&m, 0x1000, &out), rows[i].name);
		EQ_U(m.refused_cnt, !*rows[i].name);
		buf_release(&out);
		perfmap_release(&m);
		fclose(f);
	}
}

TEST(perfmap_grows_and_is_written_anew)
{
	struct perfmap m = {0};
	struct buf out = {0};
	FILE *f = tmpfile();
	bool changed;

	append(f, "1000 10 a\n2000 100 b\n30");
	EQ_I(perfmap_load_fd(&m, fileno(f), &changed, NULL), 0);
	OK(changed);
	EQ_U(m.entries.cnt, 2);
	EQ_S(jit_name(&m, 0x20ff, &out), "b");
	EQ_S(jit_name(&m, 0x2100, &out), "");
	EQ_I(perfmap_load_fd(&m, fileno(f), &changed, NULL), 0);
	OK(!changed);
	append(f, "00 10 c\n2080 10 d\n");
	EQ_I(perfmap_load_fd(&m, fileno(f), &changed, NULL), 0);
	OK(changed);
	EQ_S(jit_name(&m, 0x3000, &out), "c");
	EQ_S(jit_name(&m, 0x2080, &out), "d"); /* newer than b */
	EQ_S(jit_name(&m, 0x2090, &out), "b");
	append(f, "2000 100 e\n"); /* the memory is used again */
	EQ_I(perfmap_load_fd(&m, fileno(f), &changed, NULL), 0);
	EQ_S(jit_name(&m, 0x2080, &out), "e");
	/* longer than before, and not the same */
	EQ_I(ftruncate(fileno(f), 0), 0);
	append(f, "5000 10 x\n5010 10 y\n5020 10 z\n5030 10 x\n5040 10 y\n5050 10 z\n");
	EQ_I(perfmap_load_fd(&m, fileno(f), &changed, NULL), 0);
	EQ_U(m.entries.cnt, 6);
	EQ_S(jit_name(&m, 0x5021, &out), "z");
	EQ_S(jit_name(&m, 0x1000, &out), "");
	buf_release(&out);
	perfmap_release(&m);
	fclose(f);
}

TEST(perfmap_of_a_process)
{
	struct symbols *s = symbols_new(NULL);
	struct symbol_name n;
	char path[64];
	uint32_t self = (uint32_t)getpid();

	EQ_I(perfmap_path(self, path, sizeof(path)), 0);
	symbols_jit_name(s, self, 0x1234, "[heap]", &n);
	EQ_S(n.frames[0].fn, "[heap]");
	EQ_S(n.frames[0].full, "[heap]+0x1234");
	symbols_jit_forget(s, self);
	FILE *f = fopen(path, "we");
	OK(f);
	append(f, "1200 100 LazyCompile:~handle /srv/app.js:10\n");
	symbols_jit_name(s, self, 0x1234, NULL, &n);
	EQ_S(n.frames[0].fn, "LazyCompile:~handle /srv/app.js:10");
	EQ_U(n.off, 0x34);
	EQ_I(n.source, SYMBOL_PERF_MAP);
	symbols_jit_forget(s, self);
	symbols_jit_forget(s, self);
	if (geteuid() == 0) { /* another user's file is not believed */
		EQ_I(fchown(fileno(f), 65534, 65534), 0);
		symbols_jit_name(s, self, 0x1234, NULL, &n);
		EQ_S(n.frames[0].full, "[anon]+0x1234");
	}
	fclose(f);
	unlink(path);
	symbols_free(s);
}

/* ---- files of another root */

TEST(inroot_stays_inside)
{
	static const struct {
		const char *path, *link; /* link NULL: no link is made */
		int code;		 /* 0: opens */
	} rows[] = {
		{"file", NULL, 0},
		{"/file", NULL, 0},
		{"/sub/../../../file", NULL, 0},
		{"/near", "file", 0},
		{"/abs", "/file", 0},
		{"/out", "/etc/passwd", -ENOENT},
		{"/up", "../../../../../../etc/passwd", -ENOENT},
		{"/self", "/self", -ELOOP},
		{"/sub", NULL, -EINVAL},
		{"/fifo", NULL, -EINVAL},
	};
	char root[] = "/tmp/heldup-unit-XXXXXX", path[128];

	OK(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/sub", root);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/fifo", root);
	mkfifo(path, 0600);
	snprintf(path, sizeof(path), "%s/file", root);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ROW(i);
		snprintf(path, sizeof(path), "%s%s", root, rows[i].path);
		if (rows[i].link)
			EQ_I(symlink(rows[i].link, path), 0);
		int fd = inroot_open(root, rows[i].path);
		EQ_I(fd < 0 ? fd : 0, rows[i].code);
		if (fd >= 0)
			close(fd);
		if (rows[i].link)
			unlink(path);
	}
	EQ_I(inroot_open("/", "/proc/self/exe"), -ELOOP);
	static const char *const made[] = {"file", "fifo"};
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, made[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/sub", root);
	rmdir(path);
	rmdir(root);
}
