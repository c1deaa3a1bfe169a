/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FDE_H
#define FDE_H
/*
 * Where the functions of a file begin and end, from .eh_frame_hdr's sorted
 * table and the FDEs it points to, else from .eh_frame and .debug_frame; every
 * program that can be unwound has them, stripped or not.  Not for the rules in
 * them: see cfi.h.
 */
#include <stddef.h>
#include <stdint.h>

struct image;
struct symtab_bounds;

enum { FDE_MAX = 4 << 20 };

/*
 * *ret_bounds is the caller's (free), in any order; pcs are offsets
 * from base_vaddr, those outside the text_len bytes after it are left out.
 * -ENOENT when the file has none of these, -EINVAL or -EBADMSG when it is damaged.
 */
int fde_bounds(struct image *im, struct symtab_bounds **ret_bounds, size_t *ret_cnt);

#endif /* FDE_H */
