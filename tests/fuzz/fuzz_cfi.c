/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte says what the others are: a whole ELF file, the contents of
 * its .eh_frame or .debug_frame, or a table as a cache file could hold it.  What
 * comes out must be in order, and a walk by it over arbitrary memory must end.
 */
#include "fuzz.h"

#include <elf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/err.h"
#include "symbols/unwind/cfi.h"
#include "symbols/unwind/cfi_cache.h"
#include "symbols/files/image.h"
#include "symbols/unwind/unwind.h"

enum { WHOLE, EH_FRAME, DEBUG_FRAME, TABLE, KIND_CNT };
enum { TEXT = 0x1000, TEXT_LEN = 0xf000, FRAME = 0x10000, FRAMES_MAX = 128 };

struct shell {
	Elf64_Ehdr eh;
	Elf64_Phdr text;
	Elf64_Shdr sections[3];
	char names[32];
};

/* The bytes as the only section of a file whose text is at TEXT. */
static uint8_t *wrap(const uint8_t *data, size_t size, int kind)
{
	struct shell s = {
		.eh = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
		       .e_machine = EM_X86_64,
		       .e_phoff = offsetof(struct shell, text),
		       .e_phnum = 1,
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_shoff = offsetof(struct shell, sections),
		       .e_shnum = 3,
		       .e_shentsize = sizeof(Elf64_Shdr),
		       .e_shstrndx = 2},
		.text = {.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = TEXT, .p_memsz = TEXT_LEN},
		.names = "\0.eh_frame\0.debug_frame"};
	uint8_t *file = xmalloc(sizeof(s) + size);

	s.sections[1] = (Elf64_Shdr){.sh_name = kind == EH_FRAME ? 1 : 11,
				     .sh_type = SHT_PROGBITS,
				     .sh_addr = FRAME,
				     .sh_offset = sizeof(s),
				     .sh_size = size};
	s.sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				     .sh_offset = offsetof(struct shell, names),
				     .sh_size = sizeof(s.names)};
	memcpy(file, &s, sizeof(s));
	memcpy(file + sizeof(s), data, size);
	return file;
}

struct memory {
	const struct cfi_table *table;
	const uint8_t *data;
	size_t size;
};

static bool find(void *ctx, uint64_t pc, struct unwind_place *ret)
{
	struct memory *m = ctx;

	*ret = (struct unwind_place){.table = pc & 1 ? m->table : NULL, .base = 0};
	return pc < UINT64_C(1) << 33;
}

/* The input again and again; what it holds leads anywhere. */
static bool mem_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct memory *m = ctx;

	for (size_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = m->data[(addr + i) % m->size];
	return addr % 61 != 0;
}

static void use(const struct cfi_table *t, const uint8_t *data, size_t size)
{
	struct memory m = {t, data, size};
	struct unwind_ops ops = {&m, find, mem_read};
	struct unwind_frame frames[FRAMES_MAX];
	struct unwind_regs regs = {0};
	size_t cnt;

	BUG_ON(cfi_check(t, NULL) < 0);
	for (size_t i = 0; i < t->row_cnt; i += 1 + t->row_cnt / 16) {
		const struct unw_row *row = &t->rows[i];

		BUG_ON(cfi_row(t, row->pc) != row);
		regs.pc = row->pc | 1;
		regs.reg[6] = regs.reg[7] = i * 8;
		unwind_walk(&ops, &regs, frames, FRAMES_MAX, &cnt);
		BUG_ON(cnt > FRAMES_MAX);
	}
}

static void read_all(struct image *im)
{
	const uint8_t *data;
	uint64_t off, left;
	size_t len;

	for (size_t i = 0; i < image_section_cnt(im); i++) {
		image_data(im, image_section(im, i), &data, &len, NULL);
		image_find(im, image_section(im, i)->name);
	}
	for (size_t i = 0; i < image_segment_cnt(im); i++)
		image_vaddr_off(im, image_segment(im, i)->vaddr, &off, &left);
}

/* Its counts, then rows and rules: what passes the check must be harmless. */
static void table_read(const uint8_t *data, size_t size)
{
	static const uint8_t key[16];
	struct cfi_table t = {.text_len = TEXT_LEN};
	const uint8_t *at = data + 4;
	size_t rows, exts;

	BUG_ON(cfi_cache_parse(key, data, size, &t, NULL) == 0);
	if (size < 4)
		return;
	rows = data[0] * sizeof(*t.rows);
	exts = data[1] * sizeof(*t.exts);
	if (rows + exts > size - 4)
		return;
	t.row_cnt = data[0];
	t.ext_cnt = data[1];
	t.rows = memcpy(xmalloc(rows), at, rows);
	t.exts = memcpy(xmalloc(exts), at + rows, exts);
	if (cfi_check(&t, NULL) == 0)
		use(&t, data, size);
	cfi_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_table t = {0};
	uint8_t *file = NULL;
	struct image *im;
	int kind;

	if (size < 2)
		return 0;
	kind = data[0] % KIND_CNT;
	data++, size--;
	if (kind == TABLE) {
		table_read(data, size);
		return 0;
	}
	if (kind != WHOLE)
		file = wrap(data, size, kind);
	im = file ? image_open_bytes(file, sizeof(struct shell) + size, NULL)
		  : image_open_bytes(data, size, NULL);
	BUG_ON(file && !im);
	if (im && kind == WHOLE)
		read_all(im);
	if (im && cfi_build(im, &t, NULL) == 0)
		use(&t, data, size);
	cfi_release(&t);
	image_free(im);
	free(file);
	return 0;
}
