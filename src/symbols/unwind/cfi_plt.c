/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lld writes no call frame information for its PLTs, GNU's linker none for
 * that of a static program.  All linkers make the same instructions of them,
 * so what GNU's say of theirs is true of these.
 */
#include <string.h>

#include "symbols/unwind/cfi_int.h"
#include "symbols/files/image.h"

enum { ENTRY = 16 };

static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};

/*
 * The first entry pushes one word after another; each of the rest jumps, or
 * has pushed its number after 11 bytes (9 where it begins with endbr64).
 */
static const uint8_t programs[] = {
	0x0e, 16, 0x46, 0x0e, 24, 0x4a, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
	0x24, 0x22,
	0x0e, 16, 0x46, 0x0e, 24, 0x4a, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33,
	0x24, 0x22};
enum { PROGRAM_LEN = sizeof(programs) / 2 };

static const struct cfi_section own_section = {.data = programs, .len = sizeof(programs)};

static bool is_covered(const struct cfi_maker *m, uint64_t pc)
{
	VEC_FOREACH(&m->fdes, fde)
		if (pc >= fde->pc && pc - fde->pc < fde->len)
			return true;
	return false;
}

/* Has the second entry an endbr64 before its push? */
static bool has_endbr(struct image *im, const struct image_section *sec)
{
	uint8_t code[sizeof(endbr64)];

	return sec->size >= 2 * ENTRY &&
	       image_read(im, sec->off + ENTRY, code, sizeof(code), NULL) == 0 &&
	       memcmp(code, endbr64, sizeof(code)) == 0;
}

/* No first entry that pushes: nothing is resolved lazily in a static program. */
static bool only_jumps(struct image *im, const struct image_section *sec)
{
	uint8_t code[sizeof(endbr64) + 3];
	size_t at = 0;

	if (sec->size < sizeof(code) || image_read(im, sec->off, code, sizeof(code), NULL) < 0)
		return false;
	if (memcmp(code, endbr64, sizeof(endbr64)) == 0)
		at = sizeof(endbr64);
	if (code[at] == 0xf2) /* bnd */
		at++;
	return code[at] == 0xff && code[at + 1] == 0x25;
}

static const char *const names[CFI_PLT_CNT] = {".plt", ".plt.sec", ".plt.got", ".iplt"};

void cfi_plt_facts(struct image *im, uint64_t ret[3 * CFI_PLT_CNT])
{
	for (size_t i = 0; i < CFI_PLT_CNT; i++) {
		const struct image_section *sec = image_find(im, names[i]);

		ret[3 * i] = sec ? sec->vaddr : 0;
		ret[3 * i + 1] = sec ? sec->size : 0;
		ret[3 * i + 2] = sec ? has_endbr(im, sec) | only_jumps(im, sec) << 1 : 0;
	}
}

void cfi_plt_add(struct cfi_maker *m, struct image *im)
{
	for (size_t i = 0; i < CFI_PLT_CNT; i++) {
		const struct image_section *sec = image_find(im, names[i]);
		struct cfi_fde fde = {.cie = (uint32_t)m->cies.cnt};

		if (!sec || !sec->size || sec->vaddr < m->base_vaddr ||
		    sec->vaddr - m->base_vaddr >= m->text_len ||
		    sec->size > m->text_len - (sec->vaddr - m->base_vaddr) ||
		    is_covered(m, sec->vaddr - m->base_vaddr))
			continue;
		fde.pc = (uint32_t)(sec->vaddr - m->base_vaddr);
		fde.len = (uint32_t)sec->size;
		if (i == 0 && !only_jumps(im, sec)) { /* the others only jump */
			fde.off = has_endbr(im, sec) ? PROGRAM_LEN : 0;
			fde.end = fde.off + PROGRAM_LEN;
		}
		vec_push(&m->cies, ((struct cfi_cie){
			.sec = &own_section,
			.code_align = 1,
			.data_align = -8,
			.init = {.cfa_how = CFA_REG, .cfa_reg = REG_RSP, .cfa_off = 8,
				 .ra = {.how = RULE_AT_CFA, .off = -8}}}));
		vec_push(&m->fdes, fde);
	}
}
