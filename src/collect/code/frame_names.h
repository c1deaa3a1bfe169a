/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FRAME_NAMES_H
#define FRAME_NAMES_H
/*
 * EV_FRAME for the frames of stacks, once for each.  Names are found while the
 * processes live, so that a capture has them on another machine; not at once,
 * because reading the symbols of a large program takes longer than the kernel
 * side's buffer can wait.
 *
 *	frame_names_new, _add for each stack, _emit from time to time, _free
 *
 * Bound: FRAME_NAMES_MAX frames; further ones get no name and are counted.
 */
#include <stdint.h>

struct emit;
struct frame_names;
struct ksyms;
struct symbols;

#define FRAME_NAMES_MAX (1u << 20)

/* Both are borrowed. */
struct frame_names *frame_names_new(struct symbols *syms, struct ksyms *ksyms);
void frame_names_free(struct frame_names *n);

/* Frames of one stack of tgid: the kernel's, then the user's, each innermost first. */
void frame_names_add(struct frame_names *n, const uint64_t *frames, uint32_t kernel_cnt,
		     uint32_t user_cnt, uint32_t tgid);

/* Names what waits, until it took max_ns. */
void frame_names_emit(struct frame_names *n, struct emit *e, uint64_t now, uint64_t max_ns);

/* Frames over the bound. */
uint64_t frame_names_refused(const struct frame_names *n);

#endif /* FRAME_NAMES_H */
