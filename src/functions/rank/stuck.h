/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_STUCK_H
#define FUNCTIONS_STUCK_H
/*
 * Threads that are stuck: in a call that does not return, running without
 * making calls, waiting for another thread.
 *
 * A thread that has waited all window long may be stuck or have nothing to
 * do.  It has nothing to do where others like it wait for work, or in a call
 * that is made for waiting; in a lock it is stuck.
 *
 *	hangs_weigh before the units are judged, hangs_find after
 */
#include "functions/rank/attribute.h"

struct arena;
struct homes;

struct spin {			/* a thread that ends the window without calls */
	uint32_t thread;
	uint32_t stack;		/* of most of its samples, or of its last call; NO_IDX */
	uint64_t begin_ns, end_ns;
	uint64_t quiet_ns;	/* of that, seen to be without calls */
	double harm_ns;
	bool sampled;		/* seen running; else only not seen calling */
};

struct hangs {
	struct spin *spins; uint32_t spin_cnt; /* most harm first */
};

/* How much of a call that does not return counts, by thread. */
void hangs_weigh(struct judge *j, const struct homes *homes);

void hangs_find(struct blame *b, struct hangs *ret_hangs, struct arena *arena);

#endif /* FUNCTIONS_STUCK_H */
