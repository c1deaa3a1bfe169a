/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CFI_H
#define CFI_H
/*
 * Call frame information (.eh_frame, .debug_frame) reduced to the table of
 * wire/unwind.h.  Not for exception handling: personalities and LSDAs are
 * stepped over.
 *
 *	struct cfi_table t = {0};  cfi_build or cfi_cached, cfi_row ...  cfi_release
 *
 * Bounds: CFI_*_MAX, and less where a file is small (IMAGE_OVER_MAX).  The same
 * bytes always give the same table.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/unwind.h"

struct err;
struct image;

enum {
	CFI_SECTION_MAX = 64 << 20, /* bytes of .eh_frame; libLLVM 14 has 4.8 MiB */
	CFI_FDE_MAX = 4 << 20,
	CFI_ROW_MAX = 8 << 20,
	CFI_EXT_MAX = 1 << 16, /* cfa_off of a row is the index */
};

struct cfi_fn { /* the range of one FDE: a function, or its cold part, or all of .plt */
	uint32_t pc;
	uint32_t len;
};

struct cfi_table {		/* all zero is valid and has no row */
	struct unw_row *rows;	/* ascending */
	size_t row_cnt;
	struct unw_ext *exts;
	size_t ext_cnt;
	uint64_t base_vaddr;	/* what all pc count from */
	uint32_t text_len;
	uint32_t fde_cnt;
	uint32_t bad_cnt;	/* FDEs that could not be read or lie outside the text */
	uint32_t odd_cnt;	/* rules that a row cannot say, UNW_NONE in the table */
};

/*
 * From .eh_frame, and .debug_frame for what that has not.  -ENODATA when there
 * is neither, -ENOTSUP for another machine than x86-64, -E2BIG over a bound.
 * What is damaged is left out and counted.
 */
int cfi_build(struct image *im, struct cfi_table *ret, struct err *err);

/* Only where the functions are, ascending, maybe overlapping; *ret_fns is the caller's (free). */
int cfi_functions(struct image *im, struct cfi_fn **ret_fns, size_t *ret_cnt, struct err *err);

void cfi_release(struct cfi_table *t);

/* The row that holds at pc (an offset from base_vaddr); NULL before the first. */
const struct unw_row *cfi_row(const struct cfi_table *t, uint32_t pc);

/* -EBADMSG with the reason when rows or exts are not as said above. */
int cfi_check(const struct cfi_table *t, struct err *err);

#endif /* CFI_H */
