/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_FUNCTION_REQUESTS_H
#define FUNCTIONS_FUNCTION_REQUESTS_H
/*
 * Functions by the time that requests spent in them: waited there, for whom or
 * what ever, or were computed.  It shows what
 * hits every request alike, and of threads that hang: nothing deviates there.
 *
 * Functions that threads also wait in while nobody wants anything from them
 * are the program's way of waiting and not the reason for it.  With the shares
 * h of the requests' time and i of all idle time that passed through a
 * function, its part is h / (h + i).  The first of them from the inside out
 * counts in full; a step from one that is the program's way of waiting costs
 * little, one from a function where only requests wait as much as a step to
 * any caller.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct appfns;
struct arena;

struct held_stack {		/* of one stack of the model */
	uint32_t stack;		/* idx */
	bool runs;		/* of samples, else of waits */
	double ns;		/* requests' time */
	double idle_ns;		/* of waits that nobody's request depends on */
};

/* The places where the time of open requests was spent, as the waits show it. */
struct held {
	struct held_stack *stacks; size_t stack_cnt;
	double ns;		/* requests' time, each nanosecond once, that can have a stack */
	double all_ns;		/* with what has none: not for a client or for work */
	double queued_ns;	/* of all_ns, while nobody was at work for them */
	double idle_ns;		/* sum of the stacks' */
	const double *thread_ns; /* by model thread idx, of ns; NULL: not known */
};

struct held_fn {		/* shares, 0 to 1 */
	double all, weighted, self; /* of the requests' time */
	double idle;		/* of the idle time */
	double wait_ns, run_ns;	/* the requests' time through it */
	uint32_t stack;		/* model stack idx of most of it, NO_IDX */
	bool self_most;		/* most of it is its own */
};

/* By fn of the stacks. */
struct held_fn *held_fns(const struct appfns *fns, const struct held *h, struct arena *arena);

/* 0 to 1. */
double held_score(const struct held_fn *f);

#endif /* FUNCTIONS_FUNCTION_REQUESTS_H */
