/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All symbols and bounds go into one array; symtab_finish sorts it, keeps one
 * per address and gives each a length.  Ranges may lie in one another (labels
 * of assembly inside a function), so a look-up goes back a few entries to the
 * nearest that reaches far enough.
 */
#include "symbols/names/symtab.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/search.h"
#include "symbols/names/gopcln.h"
#include "symbols/files/image.h"
#include "symbols/names/symbol_source.h"

enum { NAME_SCAN_MAX = 4 * SYMBOLS_NAME_MAX + 1 }; /* a longer name is none */

enum { /* of rank, from the strongest */
	RANK_NO_TYPE = 1 << 7,
	RANK_UNSIZED = 1 << 6,
	RANK_SECTION = 1 << 5, /* _init and _fini: a section's first byte */
	RANK_BINDING = 1 << 3, /* times 0 for global, 1 weak, 2 local */
	RANK_HIDDEN = 1 << 2,  /* an old version */
	UNDERSCORES_MAX = 3,
	RANK_GO = 0xfe, /* what others name there are C's functions, or the same */
	RANK_BOUNDS = 0xff,
};

struct table {
	const Elf64_Sym *syms;
	size_t sym_cnt;
	const char *strings;
	size_t strings_len;
	const uint16_t *versions; /* NULL: none */
	size_t version_cnt;
};

static int table_load(struct image *im, const char *name, struct table *ret_table,
		      const struct image_section **ret_strings)
{
	const struct image_section *sec = image_find(im, name), *strings;
	const uint8_t *data;
	size_t len;
	int ret;

	if (!sec || (sec->type != SHT_SYMTAB && sec->type != SHT_DYNSYM))
		return -ENOENT;
	if (sec->link >= image_section_cnt(im))
		return -EINVAL;
	strings = image_section(im, sec->link);
	if (strings->type != SHT_STRTAB || sec->entsize != sizeof(Elf64_Sym))
		return -EINVAL;
	/* nobody packs these, so one that is packed would grow out of a small file */
	if (sec->size > SYMTAB_BYTES_MAX || strings->size > SYMTAB_STRINGS_MAX ||
	    ((sec->flags | strings->flags) & SHF_COMPRESSED))
		return -E2BIG;
	ret = image_data(im, sec, &data, &len, NULL);
	if (ret < 0)
		return ret == -ENODATA ? -ENOENT : ret;
	*ret_table = (struct table){.syms = (const void *)data, .sym_cnt = len / sizeof(Elf64_Sym)};
	ret = image_data(im, strings, &data, &len, NULL);
	if (ret < 0)
		return ret;
	ret_table->strings = (const char *)data;
	ret_table->strings_len = len;
	*ret_strings = strings;
	if (sec->type == SHT_DYNSYM && (sec = image_find(im, ".gnu.version")) &&
	    image_data(im, sec, &data, &len, NULL) == 0) {
		ret_table->versions = (const void *)data;
		ret_table->version_cnt = len / sizeof(uint16_t);
	}
	return 0;
}

/* The symbol's name when it ends within the table and some length, else "". */
static const char *name_at(const struct table *t, uint32_t off)
{
	size_t left = off < t->strings_len ? t->strings_len - off : 0;

	if (!left || !memchr(t->strings + off, '\0', left < NAME_SCAN_MAX ? left : NAME_SCAN_MAX))
		return "";
	return t->strings + off;
}

static uint8_t rank_of(const struct table *t, size_t idx, const char *name)
{
	const Elf64_Sym *sym = &t->syms[idx];
	unsigned type = ELF64_ST_TYPE(sym->st_info), bind = ELF64_ST_BIND(sym->st_info);
	size_t underscores = strspn(name, "_");
	unsigned rank = 0;

	if (type == STT_NOTYPE)
		rank |= RANK_NO_TYPE;
	if (sym->st_size == 0)
		rank |= RANK_UNSIZED;
	if (strcmp(name, "_init") == 0 || strcmp(name, "_fini") == 0)
		rank |= RANK_SECTION;
	rank += RANK_BINDING * (bind == STB_LOCAL ? 2 : bind == STB_WEAK);
	if (idx < t->version_cnt && (t->versions[idx] & 0x8000))
		rank |= RANK_HIDDEN;
	if (strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0)
		underscores = 0; /* mangled */
	return (uint8_t)(rank + (underscores < UNDERSCORES_MAX ? underscores : UNDERSCORES_MAX));
}

static bool is_code(const Elf64_Sym *sym, const char *name)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || (sym->st_shndx >= SHN_LORESERVE &&
					   sym->st_shndx != SHN_XINDEX))
		return false;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	/* $x and .L are marks of assemblers */
	return *name && *name != '$' && strncmp(name, ".L", 2) != 0;
}

static void add_entry(struct symtab *t, const struct symtab_entry *e)
{
	if (t->entries.cnt >= (t->max ? t->max : SYMTAB_MAX))
		t->over_cnt++;
	else
		vec_push(&t->entries, *e);
}

/* Drops what table_load read, but for names that have no place in a file. */
static void table_drop(struct image *im, const char *name, int fd)
{
	const struct image_section *sec = image_find(im, name);

	if (fd < 0)
		return;
	image_drop(im, image_section(im, sec->link));
	image_drop(im, sec);
}

/* Adds the place of one table's names; -ENOSPC over the bound. */
static int add_names(struct symtab *t, const struct symtab_strings *s)
{
	if (t->table_cnt == SYMTAB_TABLE_MAX)
		return -ENOSPC;
	t->tables[t->table_cnt++] = *s;
	return (int)t->table_cnt - 1;
}

static int add_strings(struct symtab *t, const struct image_section *sec, const struct table *from,
		       int fd, enum symbol_source source)
{
	const struct symtab_strings s = {
		.source = source,
		.fd = fd,
		.off = sec->off,
		.len = from->strings_len,
		.data = fd < 0 ? from->strings : NULL,
	};

	return add_names(t, &s);
}

int symtab_add(struct symtab *t, struct image *im, int fd, const char *table,
	       const struct symtab_text *text, enum symbol_source source)
{
	const struct image_section *strings;
	struct table from;
	int ret = table_load(im, table, &from, &strings);

	if (ret < 0)
		return ret;
	ret = add_strings(t, strings, &from, fd, source);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < from.sym_cnt; i++) {
		const Elf64_Sym *sym = &from.syms[i];
		const char *name = name_at(&from, sym->st_name);
		uint64_t pc = sym->st_value - text->base_vaddr;

		if (!is_code(sym, name))
			continue;
		if (sym->st_value < text->base_vaddr || pc >= text->len) {
			/* NOTYPE also names data and linker marks elsewhere */
			t->refused_cnt += ELF64_ST_TYPE(sym->st_info) == STT_FUNC;
			continue;
		}
		uint64_t len = sym->st_size < text->len - pc ? sym->st_size : text->len - pc;
		struct symtab_entry e = {.pc = (uint32_t)pc,
					 .len = (uint32_t)len,
					 .name = sym->st_name,
					 .table = (uint8_t)ret,
					 .rank = rank_of(&from, i, name)};
		add_entry(t, &e);
	}
	table_drop(im, table, fd);
	return 0;
}

/* ---- PLT */

enum { SLOT_BYTES = 4 * 17 }; /* of an entry of a hash while it is doubled */

struct plt {
	struct symtab *t;
	struct hmap got; /* address of a slot to the name's offset */
	const struct table *from;
	const struct symtab_text *text;
	size_t got_max; /* that the file's share of memory has room for */
	uint8_t table;
};

static void plt_relocs(struct plt *p, struct image *im, const char *name)
{
	const struct image_section *sec = image_find(im, name);
	const uint8_t *data;
	size_t len;

	if (!sec || sec->type != SHT_RELA || image_data(im, sec, &data, &len, NULL) < 0)
		return;
	for (size_t i = 0; i < len / sizeof(Elf64_Rela) && p->got.cnt < p->got_max; i++) {
		const Elf64_Rela *r = (const Elf64_Rela *)(const void *)data + i;
		uint64_t type = ELF64_R_TYPE(r->r_info), sym = ELF64_R_SYM(r->r_info);

		if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && sym &&
		    sym < p->from->sym_cnt)
			hmap_put(&p->got, r->r_offset, p->from->syms[sym].st_name);
	}
}

/* An entry is [endbr64] [bnd] jmp *slot(%rip), at a multiple of 8. */
static void plt_section(struct plt *p, struct image *im, const char *name)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	const struct image_section *sec = image_find(im, name);
	const uint8_t *data;
	size_t len;

	if (!sec || !(sec->flags & SHF_EXECINSTR) || image_data(im, sec, &data, &len, NULL) < 0)
		return;
	for (size_t off = 0; off + 8 <= len; off += 8) {
		size_t at = off;
		int32_t rel;
		uint64_t name_off, pc = sec->vaddr + off - p->text->base_vaddr;

		if (memcmp(data + at, endbr, sizeof(endbr)) == 0)
			at += sizeof(endbr);
		at += data[at] == 0xf2;
		if (at + 6 > len || data[at] != 0xff || data[at + 1] != 0x25)
			continue;
		memcpy(&rel, data + at + 2, sizeof(rel));
		if (!hmap_get(&p->got, sec->vaddr + at + 6 + (uint64_t)(int64_t)rel, &name_off) ||
		    !*name_at(p->from, (uint32_t)name_off) || pc >= p->text->len)
			continue;
		struct symtab_entry e = {.pc = (uint32_t)pc, .name = (uint32_t)name_off,
					 .len = at == off && strcmp(name, ".plt.got") == 0 ? 8 : 16,
					 .table = p->table};
		add_entry(p->t, &e);
	}
}

int symtab_add_plt(struct symtab *t, struct image *im, int fd, const struct symtab_text *text)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	const struct image_section *strings;
	struct table from;
	struct plt p = {.t = t, .from = &from, .text = text};
	int ret;

	if (image_machine(im) != EM_X86_64)
		return -ENOENT;
	ret = table_load(im, ".dynsym", &from, &strings);
	if (ret < 0)
		return ret;
	ret = add_strings(t, strings, &from, fd, SYMBOL_PLT);
	if (ret < 0)
		return ret;
	p.table = (uint8_t)ret;
	p.got_max = image_room(im) / 2 / SLOT_BYTES;
	p.got_max = p.got_max < SYMTAB_MAX ? p.got_max : SYMTAB_MAX;
	plt_relocs(&p, im, ".rela.plt");
	plt_relocs(&p, im, ".rela.dyn");
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		plt_section(&p, im, sections[i]);
	hmap_release(&p.got);
	table_drop(im, ".dynsym", fd);
	return 0;
}

/* ---- Go's own table */

int symtab_add_go(struct symtab *t, const struct gopcln *g, int fd, const struct symtab_text *text)
{
	const struct symtab_strings strings = {
		.source = SYMBOL_GO,
		.fd = fd,
		.off = g->off + g->names_off,
		.len = g->names_len,
		.data = (const char *)g->data + g->names_off,
	};
	struct gopcln_fn fn;
	int table = add_names(t, &strings);

	if (table < 0)
		return table;
	for (uint32_t i = 0; i < g->fn_cnt; i++) {
		uint64_t pc, len;

		if (!gopcln_fn(g, i, &fn) || fn.vaddr < text->base_vaddr ||
		    fn.vaddr - text->base_vaddr >= text->len) {
			t->refused_cnt++;
			continue;
		}
		pc = fn.vaddr - text->base_vaddr;
		len = fn.end - fn.vaddr < text->len - pc ? fn.end - fn.vaddr : text->len - pc;
		struct symtab_entry e = {.pc = (uint32_t)pc, .len = (uint32_t)len, .name = fn.name,
					 .table = (uint8_t)table, .rank = RANK_GO};
		add_entry(t, &e);
	}
	return 0;
}

void symtab_add_bounds(struct symtab *t, const struct symtab_bounds *bounds, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		struct symtab_entry e = {.pc = bounds[i].pc, .len = bounds[i].len,
					 .rank = RANK_BOUNDS, .flags = SYMTAB_BOUNDS};
		if (e.len)
			add_entry(t, &e);
	}
}

/* ---- one entry per address */

static int by_pc(const void *a, const void *b)
{
	const struct symtab_entry *x = a, *y = b;

	CMP(x->pc, y->pc);
	CMP(x->rank, y->rank);
	CMP(x->table, y->table);
	CMP(x->name, y->name);
	return 0;
}

static uint64_t end_of(const struct symtab_entry *e)
{
	return (uint64_t)e->pc + e->len;
}

/* The symbols that reach over the present address, while walking upwards. */
struct reach {
	uint64_t symbol_end; /* of symbols that have a size */
	uint64_t bounds_end;
};

/* The entry for the addresses in group[0..cnt), all at one pc; false: none is wanted. */
static bool choose(const struct symtab_entry *group, size_t cnt, struct reach *reach,
		   struct symtab_entry *ret)
{
	const struct symtab_entry *last = &group[cnt - 1];

	*ret = group[0];
	if (last->flags & SYMTAB_BOUNDS)
		reach->bounds_end = end_of(last);
	if (ret->flags & SYMTAB_BOUNDS)
		return ret->pc >= reach->symbol_end;
	if (ret->len) {
		if (end_of(ret) > reach->symbol_end)
			reach->symbol_end = end_of(ret);
		return true;
	}
	if (ret->pc < reach->symbol_end)
		return false; /* a label within a function */
	ret->flags |= SYMTAB_UNSIZED;
	ret->len = ret->pc < reach->bounds_end ? (uint32_t)(reach->bounds_end - ret->pc)
					       : UINT32_MAX - ret->pc;
	return true;
}

/* A guessed length ends at the next entry that has a name. */
static void cut_unsized(struct symtab *t)
{
	uint32_t next = UINT32_MAX;

	for (size_t i = t->entries.cnt; i-- > 0;) {
		struct symtab_entry *e = &t->entries.items[i];

		if ((e->flags & SYMTAB_UNSIZED) && end_of(e) > next)
			e->len = next - e->pc;
		next = e->pc;
	}
}

static bool is_plt(const struct symtab *t, const struct symtab_entry *e)
{
	return t->tables[e->table].source == SYMBOL_PLT;
}

void symtab_finish(struct symtab *t)
{
	struct symtab_entry *all = t->entries.items, *shrunk;
	struct reach reach = {0};
	size_t out = 0;

	vec_sort(&t->entries, by_pc);
	for (size_t i = 0, next; i < t->entries.cnt; i = next) {
		struct symtab_entry e;

		for (next = i + 1; next < t->entries.cnt && all[next].pc == all[i].pc;)
			next++;
		if (!choose(&all[i], next - i, &reach, &e))
			continue;
		t->bounds_cnt += !!(e.flags & SYMTAB_BOUNDS);
		t->named_cnt += !(e.flags & SYMTAB_BOUNDS) && !is_plt(t, &e);
		all[out++] = e;
	}
	t->entries.cnt = out;
	cut_unsized(t);
	if (out) {
		shrunk = xreallocarray(all, out, sizeof(*all));
		t->entries.items = shrunk;
		t->entries.cap = out;
	}
	for (unsigned i = 0; i < t->table_cnt; i++) {
		struct symtab_strings *s = &t->tables[i];

		if (s->fd >= 0) {
			s->data = NULL;
			continue;
		}
		char *copy = xmalloc(s->len + 1);
		memcpy(copy, s->data, s->len);
		copy[s->len] = '\0';
		s->data = copy;
	}
}

/* ---- look-up */

const struct symtab_entry *symtab_find(const struct symtab *t, uint32_t pc)
{
	size_t after = SORTED_PREFIX(t->entries.items, t->entries.cnt, it, it->pc <= pc);

	for (size_t back = 0; after > 0 && back < SYMTAB_NEST_MAX; back++, after--) {
		const struct symtab_entry *e = &t->entries.items[after - 1];

		if (pc < end_of(e))
			return e;
	}
	return NULL;
}

enum symbol_source symtab_source(const struct symtab *t, const struct symtab_entry *e)
{
	return e->flags & SYMTAB_BOUNDS ? SYMBOL_FDE : t->tables[e->table].source;
}

void symtab_name(const struct symtab *t, const struct symtab_entry *e, struct buf *ret_name)
{
	char read[SYMBOLS_NAME_MAX * 4 + 1];
	const struct symtab_strings *s = &t->tables[e->table];
	uint64_t len = e->name < s->len ? s->len - e->name : 0;
	const char *name = read;

	buf_clear(ret_name);
	if ((e->flags & SYMTAB_BOUNDS) || !len)
		return;
	if (len > sizeof(read) - 1)
		len = sizeof(read) - 1;
	if (s->fd < 0) {
		name = s->data + e->name;
	} else {
		ssize_t got = pread(s->fd, read, len, (off_t)(s->off + e->name));

		len = got > 0 ? (uint64_t)got : 0;
	}
	buf_add(ret_name, name, strnlen(name, len));
}

uint64_t symtab_bytes(const struct symtab *t)
{
	uint64_t bytes = t->entries.cap * sizeof(t->entries.items[0]);

	for (unsigned i = 0; i < t->table_cnt; i++)
		bytes += t->tables[i].fd < 0 ? t->tables[i].len : 0;
	return bytes;
}

/* Only what symtab_finish copied is ours, which is also what is there then. */
void symtab_release(struct symtab *t)
{
	for (unsigned i = 0; i < t->table_cnt; i++) {
		if (t->tables[i].fd < 0)
			free((void *)(uintptr_t)t->tables[i].data);
	}
	vec_release(&t->entries);
	*t = (struct symtab){0};
}
