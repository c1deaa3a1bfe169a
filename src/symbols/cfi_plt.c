/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lld writes no call frame information for its PLTs.  All linkers make the
 * same instructions of them, so what GNU's say of theirs is true of these.
 */
#include <string.h>

#include "symbols/cfi_int.h"
#include "symbols/image.h"

enum { ENTRY = 16, ENDBR = 4 };

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
	static const uint8_t endbr64[ENDBR] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t code[ENDBR];

	return sec->size >= 2 * ENTRY && image_read(im, sec->off + ENTRY, code, ENDBR, NULL) == 0 &&
	       memcmp(code, endbr64, ENDBR) == 0;
}

static const char *const names[CFI_PLT_CNT] = {".plt", ".plt.sec", ".plt.got", ".iplt"};

void cfi_plt_facts(struct image *im, uint64_t ret[3 * CFI_PLT_CNT])
{
	for (size_t i = 0; i < CFI_PLT_CNT; i++) {
		const struct image_section *sec = image_find(im, names[i]);

		ret[3 * i] = sec ? sec->vaddr : 0;
		ret[3 * i + 1] = sec ? sec->size : 0;
		ret[3 * i + 2] = sec && has_endbr(im, sec);
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
		if (i == 0) { /* the others only jump */
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
