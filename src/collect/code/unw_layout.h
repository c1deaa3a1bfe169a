/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNW_LAYOUT_H
#define UNW_LAYOUT_H
/*
 * From an unwinding table to the chunks in which the kernel side looks it up
 * (wire/stacks.h): the page index, the rows, the extended rules.
 *
 *	struct unw_layout l = {0};
 *	unw_layout_make(rows, ..., &l) ... unw_layout_release(&l)
 */
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"
#include "wire/stacks.h"

struct unw_layout {
	struct unw_module module;
	struct unw_chunk *chunks;
	uint32_t chunk_cnt;
};

/*
 * -E2BIG: more rows or text than the layout can index; -EINVAL: rows are not ascending or lie
 * beyond text_len; -ENODATA: there are none.  ret is untouched then.
 */
int unw_layout_make(const struct unw_row *rows, size_t row_cnt, const struct unw_ext *exts,
		    size_t ext_cnt, uint32_t text_len, struct unw_layout *ret);
void unw_layout_release(struct unw_layout *l);

/* The row that the kernel side finds for off; kind UNW_NONE where there is none. For tests. */
struct unw_row unw_layout_row(const struct unw_layout *l, uint32_t off);

#endif /* UNW_LAYOUT_H */
