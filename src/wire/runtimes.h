/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef WIRE_RUNTIMES_H
#define WIRE_RUNTIMES_H
/*
 * Frames of an interpreter while its thread runs: user space says how a runtime
 * links them and which words of each matter, the kernel side reads those words
 * with each stack, user space names them.  Offsets are those of symbols/runtimes;
 * the kernel side knows no runtime.
 *
 * Words of one frame follow each other in wire_stack.frames behind those of the
 * kernel, innermost frame first.
 */
#include "wire/unwind.h"

#define RT_STEPS 4u
#define RT_KEPT 6u	    /* words kept of a frame */
#define RT_ELEM_WORDS 16u   /* words read of one, a power of two */
#define RT_WORDS_MAX 512u   /* of one stack */
#define RT_PROCS_MAX 256u   /* processes with a runtime */
#define RT_THREADS_MAX 8192u

enum rt_end {
	RT_NONE = 0,  /* no runtime that is known, or nothing of it runs */
	RT_WHOLE = 1,
	RT_DEEP = 2,  /* more than the limit: the innermost are here */
	RT_BAD = 3,   /* memory that is not there, or another thread's: none are here */
};

/* By process.  Bytes, and indices of words in what is read of a frame. */
struct rt_shape {
	u32 steps[RT_STEPS]; /* added to where one is: there lies the next pointer */
	u32 step_cnt;	     /* they lead from the thread to its innermost frame */
	u32 len;	     /* bytes read of a frame */
	u32 ref_len;	     /* ... and of what its word ref leads to, behind them */
	u32 ref;
	u32 next;	     /* the word that leads to the caller's frame */
	u32 kept_cnt;
	u32 kept[RT_KEPT];
	u32 check_off;	     /* not 0: in the thread lies what pthread_self() returns */
	/*
	 * Not 0: its frames are native ones, those that the unwinder leaves by the frame
	 * pointer.  back bytes before that one begins what is read; the last word of it
	 * becomes the frame's index in wire_stack.frames.  Frames whose ref leads nowhere
	 * are none of the runtime's.
	 */
	u32 by_fp;
	u32 back;
	s32 ref_add; /* to the word ref */
	u32 pad;
};
_Static_assert(sizeof(struct rt_shape) == 84, "rt_shape");

#endif /* WIRE_RUNTIMES_H */
