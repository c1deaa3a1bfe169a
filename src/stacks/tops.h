/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STACKS_TOPS_H
#define STACKS_TOPS_H
/*
 * The rows as short tables: functions by the time in them, and spots, which
 * are where in the program threads of one name wait in one state, for what,
 * and who ended it where.  A spot names the callers that all its waits share;
 * a caller with a tenth of the view's time has a spot of its own.  Results
 * live in the caller's arena, largest first.
 */
#include "stacks/stacks.h"

struct top_fn {
	uint32_t fn;		/* idx in the result's fns */
	uint64_t self_ns, total_ns, cnt; /* cnt: samples or waits with it innermost */
};

/* Functions of a mode, without the notes.  In STACKS_OFF and STACKS_WAKER self is at the site. */
struct top_fn *tops_make(const struct stacks_result *r, unsigned mode, struct arena *arena,
			 size_t *ret_cnt);

enum { SPOT_CALLERS = 4 };

struct spot {
	uint32_t res_fn;	/* what the heaviest row waited for: idx in fns */
	uint32_t res_cnt, thread_cnt; /* distinct ones */
	uint8_t st;
	uint8_t forks, waker_forks; /* 1: beyond fns, waker_fns the callers differ */
	uint32_t thread_fn;	/* the threads' name */
	uint32_t fns[SPOT_CALLERS]; /* the site and its callers, as far as all share them */
	uint32_t fn_cnt;
	uint32_t waker;		/* of the heaviest row: thread idx, NO_IDX */
	uint32_t waker_fn;	/* the wakers' threads' name, NO_IDX */
	uint32_t waker_fns[SPOT_CALLERS];
	uint32_t waker_fn_cnt;
	uint64_t ns, cnt, seen_ns; /* seen_ns / cnt: of one wait */
	uint64_t top_ns;	/* of the heaviest row */
};

/* mode STACKS_OFF or STACKS_WAKER. */
struct spot *spots_make(const struct stacks_result *r, unsigned mode, struct arena *arena,
			size_t *ret_cnt);

/*
 * The path's function at that index and its callers, innermost first; how many.  Callers
 * without a name are left out where there are more than max.
 */
uint32_t callers_of(const struct stacks_result *r, const struct stack_path *p, uint32_t at,
		    uint32_t *ret_fns, uint32_t max);

#endif /* STACKS_TOPS_H */
