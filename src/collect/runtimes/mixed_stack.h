/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MIXED_STACK_H
#define MIXED_STACK_H
/*
 * One stack of a native one and that of a runtime, in true order.  A frame of
 * the interpreter's loop gives way to the program's functions that it runs, up
 * to the one that ends_loop.  What else lies in the interpreter's file between
 * two of the program's functions is left out: it is how one calls the other.
 * What is called last, the innermost native functions, stays.  Where each of the
 * program's functions has a native frame of its own (code made at run time), those
 * side by side are one such loop: not all of them may have been found.
 *
 * Where the two do not fit (the native stack is short, or a loop's frame was not
 * known as one) what is left of the program's functions follows: their own order
 * is always true.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mixed_frame {
	uint64_t frame;
	bool ends_loop;
	uint32_t native; /* by_native: index of the native frame that it is */
};

struct mixed_loop { /* frames as in EV_STACK */
	uint64_t start, end;
};

struct mixed_parts {
	const uint64_t *native; /* innermost first */
	size_t native_cnt;
	const struct mixed_frame *frames; /* the same */
	size_t frame_cnt;
	const struct mixed_loop *loops;
	size_t loop_cnt;
	bool by_native;	  /* each takes the place of its native frame */
	bool loops_merge; /* those side by side run functions up to one that ends_loop */
};

/* At most max into ret, innermost first; *ret_cut: there were more. */
size_t mixed_stack(const struct mixed_parts *p, uint64_t *ret, size_t max, bool *ret_cut);

#endif /* MIXED_STACK_H */
