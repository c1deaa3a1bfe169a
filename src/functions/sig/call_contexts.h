/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CALL_CONTEXTS_H
#define CALL_CONTEXTS_H
/*
 * At which places among a thread's calls functions are seen while signatures
 * are learnt.  The place of a call are the three other calls before it, the
 * two after it, what it is made on, whether it waited, and whether it repeats
 * the one before; functions on its stack were there.  The place of a *gap*, the time from the
 * end of a call to the next one, is known by the same calls; what runs there
 * and makes no call is seen by a clock.  Noise (normalize.h) is left out, and
 * repeats of a call are one.
 *
 * Where a place has several functions, how long it took tells them apart: of
 * what runs between the same two calls the longer work is seen in the longer
 * gaps, and of what waits there the longer waits are somebody's, too.
 *
 *	places_learn: what the calls and samples of a window saw, by function
 *	struct thread_calls t = {0};  thread_calls_make;  call_place, gap_place
 *	thread_calls_release
 *
 * Linear in calls and samples.
 */
#include <stddef.h>

#include "functions/units/normalize.h"
#include "functions/sig/sig_contexts.h"

struct profile;

/* Callers further out than so many functions are not learnt: they weigh next to nothing. */
enum { PLACE_FRAMES_MAX = 16 };

struct thread_calls {		/* of one thread, noise left out */
	const struct profile *p;
	const uint8_t *noise;
	uint32_t thread;
	bool made;
	struct norm norm;
	size_t last_end;	/* where symbols were looked for last */
};

/* Keeps what it has where it is asked for the same thread again. */
void thread_calls_make(struct thread_calls *t, const struct profile *p, uint32_t thread);
void thread_calls_release(struct thread_calls *t);

/*
 * Symbols are numbers of calls as the model has them.  call: idx in calls, of
 * the thread; the gap is the one after it, before the next that is no noise.
 */
struct sig_place call_place(struct thread_calls *t, uint32_t call);
struct sig_place gap_place(struct thread_calls *t, uint32_t call, uint64_t ran_ns);

/* Which symbol the call is of, or comes after; SIZE_MAX: it is before the first. */
size_t thread_symbol(struct thread_calls *t, uint32_t call);

/* From one symbol to a later one as if nothing but time were between them. */
struct sig_place gap_between(const struct thread_calls *t, size_t last, size_t next);

/* fn: idx in p->fns. */
void places_learn(const struct profile *p, struct sig_place_set *ret_set);

#endif /* CALL_CONTEXTS_H */
