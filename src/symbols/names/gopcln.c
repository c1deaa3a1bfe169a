/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forms, by the first four bytes.  All begin with two zero bytes, the
 * quantum and the pointer size, and a count of functions; then
 *
 *	1.2	the index: pairs of address and offset of the function's
 *		record, all offsets from the table's start
 *	1.16	the table in parts, of which the header has the offsets: names,
 *		units, files, values, and the index with the records
 *	1.18	the same, but the index has 4 byte numbers, its addresses
 *		counted from the start of Go's text, which the header has
 *	1.20	records have one field more before their flags
 *
 * Since Go 1.26, and where the loader fills it in, the header has 0 for the
 * text's start: then the relocation has it, or the runtime's own description
 * of the program (moduledata), which begins with the table's address and is
 * believed only when it agrees with the index on the first function.
 */
#include "symbols/names/gopcln.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "symbols/files/image.h"

enum {
	WORD = 8, /* of a pointer: image.h reads only such files */
	HEADER = 8,
	TABLE_ALIGN = 32,
	/* words after the header */
	PARTS_1_16 = 2,
	TEXT_1_18 = 2,
	PARTS_1_18 = 3,
	PART_CNT = 5,
	/* words of moduledata, the same since Go 1.16 */
	MODULE_MIN_PC = 20,
	MODULE_MAX_PC = 21,
	MODULE_TEXT = 22,
	MODULE_WORDS = 23,
	MODULE_TRIES = 16, /* places that may be one; each is one look at all relocations */
	/* in a record, after its address */
	INFO_NAME = 0,
	INFO_SP = 12,
	INFO_FLAG_1_18 = 33,
	INFO_FLAG_1_20 = 37,
	FLAG_TOP = 1,
};

static bool u32_at(const struct gopcln *g, uint64_t off, uint32_t *ret)
{
	if (off > g->len || g->len - off < sizeof(*ret))
		return false;
	memcpy(ret, g->data + off, sizeof(*ret));
	return true;
}

static bool u64_at(const struct gopcln *g, uint64_t off, uint64_t *ret)
{
	if (off > g->len || g->len - off < sizeof(*ret))
		return false;
	memcpy(ret, g->data + off, sizeof(*ret));
	return true;
}

static size_t field_len(const struct gopcln *g)
{
	return g->version >= GOPCLN_1_18 ? sizeof(uint32_t) : WORD;
}

static bool version_of(uint32_t magic, enum gopcln_version *ret)
{
	switch (magic) {
	case 0xfffffffb:
		*ret = GOPCLN_1_2;
		return true;
	case 0xfffffffa:
		*ret = GOPCLN_1_16;
		return true;
	case 0xfffffff0:
		*ret = GOPCLN_1_18;
		return true;
	case 0xfffffff1:
		*ret = GOPCLN_1_20;
		return true;
	}
	return false;
}

/* The parts' offsets: names, units, files, values, index. */
static bool parts_read(struct gopcln *g)
{
	uint64_t parts[PART_CNT];
	size_t first = g->version >= GOPCLN_1_18 ? PARTS_1_18 : PARTS_1_16;

	if (g->version == GOPCLN_1_2) {
		g->index_off = HEADER + WORD;
		g->names_len = g->len;
		return true;
	}
	for (size_t i = 0; i < PART_CNT; i++)
		if (!u64_at(g, HEADER + (first + i) * WORD, &parts[i]) || parts[i] > g->len)
			return false;
	g->names_off = parts[0];
	g->names_len = (parts[1] > parts[0] ? parts[1] : g->len) - parts[0];
	g->values_off = parts[3];
	g->index_off = g->infos_off = parts[4];
	return g->version < GOPCLN_1_18 || u64_at(g, HEADER + TEXT_1_18 * WORD, &g->text);
}

int gopcln_parse(const uint8_t *data, size_t len, struct gopcln *ret)
{
	struct gopcln g = {.data = data, .len = len};
	uint64_t cnt;
	uint32_t magic;

	if (len > GOPCLN_BYTES_MAX)
		return -E2BIG;
	if (!u32_at(&g, 0, &magic) || !version_of(magic, &g.version) ||
	    !u64_at(&g, HEADER, &cnt) || data[4] || data[5] || data[7] != WORD)
		return -EINVAL;
	g.quantum = data[6];
	if ((g.quantum != 1 && g.quantum != 2 && g.quantum != 4) || !parts_read(&g))
		return -EINVAL;
	if (cnt > GOPCLN_FN_MAX)
		return -E2BIG;
	/* one address more than functions: the end of the last */
	if (g.index_off > len || (len - g.index_off) / field_len(&g) < 2 * cnt + 1)
		return -EINVAL;
	g.fn_cnt = (uint32_t)cnt;
	*ret = g;
	return 0;
}

/* The address of function idx; of the end of the last for fn_cnt. */
static uint64_t entry_of(const struct gopcln *g, uint32_t idx)
{
	uint64_t at = g->index_off + 2 * (uint64_t)idx * field_len(g), vaddr = 0;
	uint32_t off = 0;

	if (g->version < GOPCLN_1_18) {
		u64_at(g, at, &vaddr);
		return vaddr;
	}
	u32_at(g, at, &off);
	return g->text + off;
}

static uint64_t record_of(const struct gopcln *g, uint32_t idx)
{
	uint64_t at = g->index_off + (2 * (uint64_t)idx + 1) * field_len(g), off = 0;
	uint32_t off32 = 0;

	if (g->version < GOPCLN_1_18)
		u64_at(g, at, &off);
	else
		off = u32_at(g, at, &off32) ? off32 : 0;
	return off < g->len ? g->infos_off + off : g->len;
}

static bool is_name(const struct gopcln *g, uint32_t off)
{
	size_t left = off < g->names_len ? g->names_len - off : 0;

	if (left > GOPCLN_NAME_MAX)
		left = GOPCLN_NAME_MAX;
	return left && g->data[g->names_off + off] &&
	       memchr(g->data + g->names_off + off, '\0', left);
}

bool gopcln_fn(const struct gopcln *g, uint32_t idx, struct gopcln_fn *ret)
{
	uint64_t record = record_of(g, idx), fields = record + field_len(g);
	size_t flag = g->version >= GOPCLN_1_20 ? INFO_FLAG_1_20 : INFO_FLAG_1_18;

	if (idx >= g->fn_cnt)
		return false;
	*ret = (struct gopcln_fn){.vaddr = entry_of(g, idx), .end = entry_of(g, idx + 1)};
	if (ret->end <= ret->vaddr || !u32_at(g, fields + INFO_NAME, &ret->name) ||
	    !u32_at(g, fields + INFO_SP, &ret->sp_off) || !is_name(g, ret->name))
		return false;
	if (g->version >= GOPCLN_1_18 && fields + flag < g->len)
		ret->is_top = g->data[fields + flag] & FLAG_TOP;
	return true;
}

const char *gopcln_name(const struct gopcln *g, const struct gopcln_fn *fn)
{
	return (const char *)g->data + g->names_off + fn->name;
}

/* ---- values by address: pairs of what the value and what the address grow by */

void gopcln_sp_begin(const struct gopcln *g, const struct gopcln_fn *fn, struct gopcln_sp *it)
{
	uint64_t off = g->values_off + (uint64_t)fn->sp_off;

	*it = (struct gopcln_sp){.vaddr = fn->vaddr, .end = fn->vaddr, .fn_end = fn->end,
				 .depth = -1, .at = g->data + g->len, .stop = g->data + g->len};
	if (fn->sp_off && off < g->len) /* 0: the function has none */
		it->at = g->data + off;
}

static bool varint(struct gopcln_sp *it, uint32_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; it->at < it->stop && shift < 32; shift += 7) {
		uint8_t byte = *it->at++;

		*ret |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

bool gopcln_sp_next(const struct gopcln *g, struct gopcln_sp *it)
{
	bool is_first = it->depth == -1 && it->end == it->vaddr;
	uint32_t value, pcs, grow;
	uint64_t bytes;

	/* a difference of 0 ends the list, but for the first, which is to -1 */
	if (it->end >= it->fn_end || !varint(it, &value) || (!value && !is_first) ||
	    !varint(it, &pcs) || !pcs)
		return false;
	grow = value & 1 ? ~(value >> 1) : value >> 1; /* the sign is in the lowest bit */
	it->depth = (int32_t)((uint32_t)it->depth + grow);
	it->vaddr = it->end;
	bytes = (uint64_t)pcs * g->quantum; /* the function may end near the last address */
	it->end = bytes < it->fn_end - it->vaddr ? it->vaddr + bytes : it->fn_end;
	return true;
}

/* ---- where Go's text starts */

/*
 * A linker other than Go's puts the table of a position independent program
 * among its other relocated data, in no section of its own.
 */
static size_t find_inside(const uint8_t *data, size_t len)
{
	struct gopcln g;

	for (size_t at = 0; at + HEADER + WORD <= len; at += TABLE_ALIGN)
		if (data[at + 7] == WORD && gopcln_parse(data + at, len - at, &g) == 0 && g.fn_cnt)
			return at;
	return len;
}

static int section_bytes(struct image *im, const struct image_section *sec, const uint8_t **ret,
			 size_t *ret_len)
{
	int code;

	/* nobody packs what is mapped, so one that is packed would grow out of a small file */
	if (sec->size > GOPCLN_BYTES_MAX || (sec->flags & SHF_COMPRESSED))
		return -E2BIG;
	code = image_data(im, sec, ret, ret_len, NULL);
	return code == -ENODATA ? -ENOENT : code;
}

static int find_table(struct image *im, struct gopcln *g)
{
	/* the second where the loader relocates it */
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	const struct image_section *sec = NULL;
	const uint8_t *data;
	size_t len, at = 0;
	bool is_own;
	int code;

	for (size_t i = 0; !sec && i < sizeof(names) / sizeof(names[0]); i++)
		sec = image_find(im, names[i]);
	is_own = sec != NULL;
	if (!sec && image_find(im, ".go.buildinfo"))
		sec = image_find(im, ".data.rel.ro");
	code = sec ? section_bytes(im, sec, &data, &len) : -ENOENT;
	if (code < 0)
		return code;
	if (!is_own)
		at = find_inside(data, len);
	if (at == len)
		return -ENOENT;
	code = gopcln_parse(data + at, len - at, g);
	g->off = sec->off + at;
	g->vaddr = sec->vaddr + at;
	return code;
}

/* The relocations that the loader does on its own. */
static size_t relocs_of(struct image *im, const Elf64_Rela **ret)
{
	const struct image_section *sec = image_find(im, ".rela.dyn");
	const uint8_t *data;
	size_t len;

	if (!sec || sec->type != SHT_RELA || (sec->flags & SHF_COMPRESSED) ||
	    image_data(im, sec, &data, &len, NULL) < 0)
		return 0;
	*ret = (const void *)data;
	return len / sizeof(Elf64_Rela);
}

/* The word that the loader makes of the one at vaddr, which is value in the file. */
static uint64_t relocated(struct image *im, uint64_t vaddr, uint64_t value)
{
	const Elf64_Rela *r;
	size_t cnt = relocs_of(im, &r);

	for (size_t i = 0; i < cnt; i++)
		if (r[i].r_offset == vaddr && ELF64_R_SYM(r[i].r_info) == 0)
			return (uint64_t)r[i].r_addend;
	return value;
}

/* Do the words at vaddr describe this program to its runtime? */
static bool is_module(struct image *im, struct gopcln *g, uint64_t vaddr)
{
	uint64_t words[MODULE_WORDS], off, left, text;

	if (image_vaddr_off(im, vaddr, &off, &left) < 0 || left < sizeof(words) ||
	    image_read(im, off, words, sizeof(words), NULL) < 0)
		return false;
	for (size_t i = MODULE_MIN_PC; i <= MODULE_TEXT; i++)
		words[i] = relocated(im, vaddr + i * WORD, words[i]);
	text = words[MODULE_TEXT];
	if (!text || words[MODULE_MIN_PC] != text + entry_of(g, 0) ||
	    words[MODULE_MAX_PC] != text + entry_of(g, g->fn_cnt))
		return false;
	g->text = text;
	return true;
}

static bool module_in(struct image *im, struct gopcln *g, const char *name, unsigned *tries)
{
	const struct image_section *sec = image_find(im, name);
	const uint8_t *data;
	uint64_t word;
	size_t len;

	if (!sec || (sec->flags & SHF_COMPRESSED) || image_data(im, sec, &data, &len, NULL) < 0)
		return false;
	for (size_t at = 0; at + WORD <= len && *tries; at += WORD) {
		memcpy(&word, data + at, sizeof(word));
		if (word != g->vaddr)
			continue;
		--*tries;
		if (is_module(im, g, sec->vaddr + at))
			return true;
	}
	return false;
}

/* The description is where the table's address is, or is put by the loader. */
static bool module_find(struct image *im, struct gopcln *g)
{
	static const char *const sections[] = {".go.module", ".noptrdata", ".data"};
	unsigned tries = MODULE_TRIES;
	const Elf64_Rela *r;
	size_t cnt = relocs_of(im, &r);

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (module_in(im, g, sections[i], &tries))
			return true;
	for (size_t i = 0; i < cnt && tries; i++) {
		if (ELF64_R_SYM(r[i].r_info) != 0 || (uint64_t)r[i].r_addend != g->vaddr)
			continue;
		tries--;
		if (is_module(im, g, r[i].r_offset))
			return true;
	}
	return false;
}

static bool text_find(struct image *im, struct gopcln *g)
{
	if (g->version < GOPCLN_1_18)
		return true;
	g->text = relocated(im, g->vaddr + HEADER + TEXT_1_18 * WORD, g->text);
	return g->text || module_find(im, g);
}

int gopcln_open(struct image *im, struct gopcln *ret)
{
	struct gopcln g = {0};
	int code = find_table(im, &g);

	if (code < 0)
		return code;
	if (!text_find(im, &g))
		return -EINVAL;
	*ret = g;
	return 0;
}
