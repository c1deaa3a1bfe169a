/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CFI_MAKE_H
#define CFI_MAKE_H
/*
 * Writes CIEs and FDEs for tests, and an ELF file around them whose text is at
 * CFI_MAKE_TEXT.
 *
 *	struct cfi_make c = {0};
 *	cie = cfi_make_cie(&c, "zR", 0x1b);
 *	cfi_make_fde(&c, cie, pc, len, program, program_len);
 *	im = cfi_make_image(&c, &e);  ...  elf_make_release(&e); cfi_make_release(&c);
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "elf_make.h"

struct image;

#define CFI_MAKE_TEXT UINT64_C(0x401000)
#define CFI_MAKE_TEXT_LEN UINT64_C(0x10000)
#define CFI_MAKE_FRAME UINT64_C(0x500000) /* where .eh_frame is */

struct cfi_make {
	struct buf bytes;
	uint8_t enc; /* of the newest CIE's FDEs */
	bool aug;
	bool debug; /* as .debug_frame; set before the first CIE */
};

/* The offset of the CIE; its rules: CFA = rsp + 8, return address at CFA - 8. */
size_t cfi_make_cie(struct cfi_make *c, const char *aug, uint8_t enc);
/* pc counts from CFI_MAKE_TEXT. */
void cfi_make_fde(struct cfi_make *c, size_t cie, uint64_t pc, uint64_t len, const char *prog,
		  size_t prog_len);
struct image *cfi_make_image(struct cfi_make *c, struct elf_make *e);
void cfi_make_release(struct cfi_make *c);

#endif /* CFI_MAKE_H */
