/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INVOKE_H
#define INVOKE_H
/*
 * What each function called in each of its invocations, from calls with
 * stacks: for each call its application function and APPFN_CALLERS callers.
 *
 *	invoked_make;  in.fns[fn].seqs ...;  invoked_release
 * A function's sequence has a gap (SYM_NONE) where a call was made further in
 * than that: episodes are what follows each other in the thread's calls too.
 *
 * That a function is entered and left is not seen, only where a thread is at
 * each of its calls.  So an invocation is presumed to be a run of consecutive
 * calls of a thread that have the function at the same depth, reached over the
 * same call sites.  It ends with any change further out, with another function
 * at its depth, and with a call of which no stack is known.  It also ends
 * where the function goes back from a place where one of its runs is known to
 * have ended to one where a run is known to have begun.
 *
 * The limits: a function called again and again from one call site, with no
 * other call in between, is one run when it has one call site itself; a loop
 * inside a function over all it does is cut at each round.  Both change how
 * many invocations are counted, not which calls follow each other.  A run of
 * over SEQ_LEN_MAX symbols or INVOKE_CALLS_MAX calls is cut too: a loop that
 * never ends is many looks at it.
 */
#include "functions/units/app_frames.h"
#include "functions/sig/episodes.h"

struct model;

enum { INVOKE_CALLS_MAX = 1024 };

struct fn_calls {
	struct seqs seqs;	/* seqs.cnt + seqs.dropped_cnt invocations */
	uint64_t calls;		/* each once, however often the function is on its stack */
	uint64_t self_calls;
};

struct invoked {
	struct fn_calls *fns;	/* by appfns.fns; of most nothing is seen */
	size_t fn_cnt;
	uint64_t call_cnt;	/* in the model */
	uint64_t noise_cnt;
	uint64_t no_stack_cnt;	/* of the others: no stack is known */
	uint64_t no_app_cnt;	/* no function of the application on the stack */
};

void invoked_make(struct invoked *in, const struct model *m, const struct appfns *app,
		  const uint8_t *noise);
void invoked_release(struct invoked *in);

#endif /* INVOKE_H */
