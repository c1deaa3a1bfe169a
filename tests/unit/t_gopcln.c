/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_make.h"
#include "base/buf.h"
#include "symbols/names/gopcln.h"
#include "symbols/files/image.h"
#include "symbols/names/symbols.h"

/*
 * Two functions, as each of the forms says it:
 *
 *	0x1040  main.main  16 bytes; the return address is at rsp, from byte 4
 *	        on at rsp + 24
 *	0x1050  main.(*T).Get[...]  32 bytes, nobody calls it, at rsp + 0 throughout
 */
enum { TEXT = 0x1000, TEXT_LEN = 0x1000, TABLE = 0x3000, DATA = 0x5000, START = 0x1040 };

static const char names[] = "\0main.main\0main.(*T).Get[...]";
enum { NAME_MAIN = 1, NAME_GET = 11 };
/* from -1: by 1 for 4 bytes, by 24 for 12, end; by 1 for 32, end */
static const uint8_t values[] = {0, 2, 4, 48, 12, 0, 2, 32, 0};
enum { VALUES_MAIN = 1, VALUES_GET = 6 };

enum where { IN_HEADER, IN_RELOC, IN_MODULE, IN_MODULE_RELOC, NOWHERE };

static void add_u32(struct buf *b, uint32_t v)
{
	buf_add(b, &v, sizeof(v));
}

static void add_u64(struct buf *b, uint64_t v)
{
	buf_add(b, &v, sizeof(v));
}

static void put_u64(struct buf *b, size_t at, uint64_t v)
{
	memcpy(b->data + at, &v, sizeof(v));
}

/* Names and values; where they are goes into ret, from the table's start. */
static void add_parts(struct buf *b, uint64_t ret[2])
{
	ret[0] = b->len;
	buf_add(b, names, sizeof(names));
	ret[1] = b->len;
	buf_add(b, values, sizeof(values));
}

static void add_record(struct buf *b, int version, uint64_t base, size_t idx, uint32_t name,
		       uint32_t value)
{
	uint64_t vaddr = START + 16 * idx;

	if (version >= GOPCLN_1_18)
		add_u32(b, (uint32_t)(vaddr - base));
	else
		add_u64(b, vaddr);
	add_u32(b, name);
	add_u64(b, 0); /* arguments, deferreturn */
	add_u32(b, value);
	for (int i = 0; i < (version >= GOPCLN_1_20 ? 5 : 4); i++)
		add_u32(b, 0);
	add_u32(b, (uint32_t)idx << 8); /* id, flags: the second one is at the top */
	add_u32(b, 0);
}

static void add_index(struct buf *b, int version, uint64_t base, const uint64_t records[2])
{
	const uint64_t at[] = {START - base, records[0], START + 16 - base, records[1],
			       START + 48 - base};

	for (size_t i = 0; i < 5; i++) {
		if (version >= GOPCLN_1_18)
			add_u32(b, (uint32_t)at[i]);
		else
			add_u64(b, at[i]);
	}
}

static void make_old(struct buf *b)
{
	uint64_t parts[2];
	size_t index, record;

	add_u64(b, 0x08010000fffffffb);
	add_u64(b, 2);
	index = b->len;
	for (int i = 0; i < 6; i++)
		add_u64(b, 0);
	add_parts(b, parts);
	for (size_t i = 0; i < 2; i++) {
		record = b->len;
		add_record(b, GOPCLN_1_2, 0, i, (uint32_t)parts[0] + (i ? NAME_GET : NAME_MAIN),
			   (uint32_t)parts[1] + (i ? VALUES_GET : VALUES_MAIN));
		put_u64(b, index + i * 16, START + 16 * i);
		put_u64(b, index + i * 16 + 8, record);
	}
	put_u64(b, index + 32, START + 48);
}

static void make(struct buf *b, int version, uint64_t text)
{
	static const uint32_t magic[] = {[GOPCLN_1_16] = 0xfffffffa, [GOPCLN_1_18] = 0xfffffff0,
					 [GOPCLN_1_20] = 0xfffffff1};
	bool small = version >= GOPCLN_1_18;
	uint64_t base = small ? TEXT : 0, parts[2], records[2];
	size_t head = small ? 8 : 7, first = head - 5, len = small ? 44 : 48;

	if (version == GOPCLN_1_2) {
		make_old(b);
		return;
	}
	add_u64(b, 0x0801000000000000 | magic[version]);
	for (size_t i = 0; i < head; i++)
		add_u64(b, i == 0 ? 2 : small && i == 2 ? text : 0);
	add_parts(b, parts);
	len += version >= GOPCLN_1_20 ? 4 : 0;
	records[0] = small ? 5 * 4 : 5 * 8;
	records[1] = records[0] + len;
	put_u64(b, 8 + first * 8, parts[0]);
	put_u64(b, 8 + (first + 1) * 8, parts[1]); /* units: none */
	put_u64(b, 8 + (first + 3) * 8, parts[1]);
	put_u64(b, 8 + (first + 4) * 8, b->len);
	add_index(b, version, base, records);
	add_record(b, version, base, 0, NAME_MAIN, VALUES_MAIN);
	add_record(b, version, base, 1, NAME_GET, VALUES_GET);
}

/* The table in a file whose text's start is to be found in one of several places. */
static void make_file(struct elf_make *e, struct buf *table, enum where where)
{
	static const uint8_t code[64];
	uint64_t module[24] = {[1] = 7};
	Elf64_Rela relocs[4] = {{.r_offset = TABLE + 24, .r_addend = TEXT}};
	bool loader = where == IN_MODULE_RELOC;

	if (where == IN_MODULE) {
		module[0] = TABLE;
		module[20] = START;
		module[21] = START + 48;
		module[22] = TEXT;
	} else if (loader) {
		relocs[0] = (Elf64_Rela){.r_offset = DATA, .r_addend = TABLE};
		for (size_t i = 1; i < 4; i++)
			relocs[i].r_offset = DATA + (19 + i) * 8;
		relocs[1].r_addend = START;
		relocs[2].r_addend = START + 48;
		relocs[3].r_addend = TEXT;
	}
	elf_make_begin(e);
	elf_make_section(e, "", SHT_NULL, 0, NULL, 0);
	elf_make_segment(e, PT_LOAD, PF_X, TEXT, TEXT_LEN);
	elf_make_section(e, ".text", SHT_PROGBITS, TEXT + 0x20, code, sizeof(code));
	elf_make_section(e, ".gopclntab", SHT_PROGBITS, TABLE, table->data, table->len);
	Elf64_Shdr *data = elf_make_section(e, ".noptrdata", SHT_PROGBITS, DATA, module,
					    sizeof(module));
	elf_make_segment(e, PT_LOAD, PF_R | PF_W, DATA, sizeof(module));
	e->segments[1].p_offset = data->sh_offset;
	e->segments[1].p_filesz = sizeof(module);
	if (where == IN_RELOC || loader)
		elf_make_section(e, ".rela.dyn", SHT_RELA, 0, relocs,
				 loader ? sizeof(relocs) : sizeof(relocs[0]));
	elf_make_end(e);
}

static void check_depths(const struct gopcln *g)
{
	static const struct {
		uint32_t fn;
		uint64_t vaddr, end;
		int depth;
	} rows[] = {{0, START, START + 4, 0}, {0, START + 4, START + 16, 24},
		    {1, START + 16, START + 48, 0}};
	struct gopcln_sp it;
	struct gopcln_fn fn;
	size_t at = 0;

	for (uint32_t i = 0; i < g->fn_cnt; i++) {
		OK(gopcln_fn(g, i, &fn));
		gopcln_sp_begin(g, &fn, &it);
		for (; gopcln_sp_next(g, &it); at++) {
			OK(at < sizeof(rows) / sizeof(rows[0]));
			EQ_U(i, rows[at].fn);
			EQ_U(it.vaddr, rows[at].vaddr);
			EQ_U(it.end, rows[at].end);
			EQ_I(it.depth, rows[at].depth);
		}
	}
	EQ_U(at, 3);
}

static const struct {
	int version;
	enum where where;
} forms[] = {
	{GOPCLN_1_2, NOWHERE},	  {GOPCLN_1_16, NOWHERE},    {GOPCLN_1_18, IN_HEADER},
	{GOPCLN_1_20, IN_HEADER}, {GOPCLN_1_20, IN_RELOC},   {GOPCLN_1_20, IN_MODULE},
	{GOPCLN_1_20, IN_MODULE_RELOC},
};
enum { FORM_CNT = sizeof(forms) / sizeof(forms[0]) };

TEST(gopcln_forms)
{
	for (size_t i = 0; i < FORM_CNT; i++) {
		struct elf_make e = {0};
		struct buf table = {0};
		struct gopcln g;
		struct gopcln_fn fn;

		ROW(i);
		make(&table, forms[i].version, forms[i].where == IN_HEADER ? TEXT : 0);
		make_file(&e, &table, forms[i].where);
		struct image *im = image_open_bytes(e.file.data, e.file.len, NULL);
		OK(im);
		EQ_I(gopcln_open(im, &g), 0);
		EQ_I((int)g.version, forms[i].version);
		EQ_U(g.fn_cnt, 2);
		OK(gopcln_fn(&g, 0, &fn));
		EQ_S(gopcln_name(&g, &fn), "main.main");
		EQ_U(fn.vaddr, START);
		EQ_U(fn.end, START + 16);
		OK(!fn.is_top);
		OK(gopcln_fn(&g, 1, &fn));
		EQ_S(gopcln_name(&g, &fn), "main.(*T).Get[...]");
		EQ_U(fn.end, START + 48);
		EQ_I(fn.is_top, forms[i].version >= GOPCLN_1_18);
		OK(!gopcln_fn(&g, 2, &fn));
		check_depths(&g);
		image_free(im);
		elf_make_release(&e);
		buf_release(&table);
	}
}

/* Where text starts is nowhere: no address can be told, so there are no names. */
TEST(gopcln_without_text)
{
	struct elf_make e = {0};
	struct buf table = {0};
	struct gopcln g;

	make(&table, GOPCLN_1_20, 0);
	make_file(&e, &table, NOWHERE);
	struct image *im = image_open_bytes(e.file.data, e.file.len, NULL);
	EQ_I(gopcln_open(im, &g), -EINVAL);
	image_free(im);
	elf_make_release(&e);
	buf_release(&table);
}

static void read_all(const uint8_t *data, size_t len)
{
	struct gopcln g;
	struct gopcln_sp it;
	struct gopcln_fn fn;

	if (gopcln_parse(data, len, &g) < 0)
		return;
	for (uint32_t i = 0; i < g.fn_cnt; i++) {
		if (!gopcln_fn(&g, i, &fn))
			continue;
		OK(fn.end > fn.vaddr);
		OK(strlen(gopcln_name(&g, &fn)) > 0);
		gopcln_sp_begin(&g, &fn, &it);
		while (gopcln_sp_next(&g, &it))
			OK(it.end > it.vaddr && it.end <= fn.end);
	}
}

/* Cut anywhere, or with any byte turned, it is read within its bytes. */
TEST(gopcln_damaged)
{
	for (size_t i = 0; i < FORM_CNT; i++) {
		struct buf table = {0};

		ROW(i);
		make(&table, forms[i].version, TEXT);
		for (size_t len = 0; len < table.len; len++) {
			/* of its own size, for what watches memory to see a byte too many */
			uint8_t *copy = malloc(len + 1);
			OK(copy);
			memcpy(copy, table.data, len);
			read_all(copy, len);
			free(copy);
			for (unsigned bit = 0; bit < 8; bit++) {
				table.data[len] = (char)(table.data[len] ^ (1u << bit));
				read_all((const uint8_t *)table.data, table.len);
				table.data[len] = (char)(table.data[len] ^ (1u << bit));
			}
		}
		buf_release(&table);
	}
}

TEST(gopcln_names)
{
	static const struct {
		uint64_t pc;
		const char *name;
	} rows[] = {
		{0x3f, "go+0x103f"},	      {0x40, "main.main"},	    {0x4f, "main.main"},
		{0x50, "main.(*T).Get[...]"}, {0x6f, "main.(*T).Get[...]"}, {0x70, "go+0x1070"},
	};
	struct symbols *s = symbols_new(NULL);
	struct symbols_module_info info;
	struct symbol_name n;
	struct elf_make e = {0};
	struct buf table = {0};
	uint32_t id;

	make(&table, GOPCLN_1_18, TEXT);
	make_file(&e, &table, IN_HEADER);
	EQ_I(symbols_module_bytes(s, "go", e.file.data, e.file.len, &id, NULL), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ROW(i);
		symbols_name(s, id, rows[i].pc, false, &n);
		EQ_S(n.frames[0].fn, rows[i].name);
	}
	EQ_I(symbols_module_info(s, id, &info), 0);
	EQ_I(info.source, SYMBOL_GO);
	EQ_S(symbol_source_name(info.source), "Go's own table");
	EQ_U(info.fn_cnt, 2);
	OK(!info.problem);
	symbols_free(s);
	elf_make_release(&e);
	buf_release(&table);
}

/* ---- what Debian's build of a large program has */

static void name_is(struct symbols *s, uint32_t id, uint64_t pc, const char *want)
{
	struct symbol_name n;

	symbols_name(s, id, pc, false, &n);
	EQ_S(n.frames[0].full, want);
	EQ_U(n.start, pc);
	EQ_I(n.source, SYMBOL_GO);
}

static void whole_program(int fd)
{
	struct symbols_opts opts = {.no_debug_files = true};
	struct symbols *s = symbols_new(&opts);
	struct image *im = image_open(fd, NULL);
	struct gopcln_fn fn;
	struct gopcln g;
	uint32_t id, main_cnt = 0, top_cnt = 0;
	uint64_t end = 0;

	EQ_I(gopcln_open(im, &g), 0);
	OK(g.fn_cnt > 10000);
	EQ_I(symbols_module(s, "go", fd, NULL, &id, NULL), 0);
	for (uint32_t i = 0; i < g.fn_cnt; i++) {
		ROW(i);
		OK(gopcln_fn(&g, i, &fn));
		OK(fn.vaddr >= end);
		end = fn.end;
		main_cnt += strcmp(gopcln_name(&g, &fn), "main.main") == 0;
		top_cnt += fn.is_top;
		if (strcmp(gopcln_name(&g, &fn), "runtime.goexit") == 0)
			OK(fn.is_top);
		if (strncmp(gopcln_name(&g, &fn), "runtime.", 8) == 0)
			name_is(s, id, fn.vaddr - image_base_vaddr(im), gopcln_name(&g, &fn));
	}
	EQ_U(main_cnt, 1);
	OK(top_cnt >= 3 && top_cnt < 20);
	image_free(im);
	symbols_free(s);
}

TEST(gopcln_of_a_real_program)
{
	static const char *const programs[] = {"/usr/bin/prometheus", "/usr/bin/caddy",
					       "/usr/bin/etcd", "/usr/bin/hugo"};
	int cnt = 0;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		int fd = open(programs[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		whole_program(fd);
		close(fd);
		cnt++;
	}
	if (!cnt)
		SKIP("no Go program of Debian's is here (prometheus, caddy, etcd, hugo)");
}
