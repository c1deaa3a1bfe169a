/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STACKS_H
#define STACKS_H
/*
 * In which functions the time went: on the CPU (from samples), off it (from
 * waits, by what was waited for), and who ended a wait in which function.
 *
 *	stacks_make: model in, result in the caller's arena
 *	stacks_path: one row's functions, from the process down
 *
 * Not every wait has a stack: those of one thread on one resource that have
 * one stand for all of them (row.ns is scaled, row.seen_ns is not), and
 * stacks_sum says how much was covered.  Samples stand for the running time
 * of their process in equal parts.  What has no stack at all is one row whose
 * stack is NO_IDX.
 *
 * Judges nothing.  Bounded by the model's own bounds.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "stacks/stack_fn.h"

struct arena;

enum stacks_mode { STACKS_ON = 0, STACKS_OFF = 1, STACKS_WAKER = 2, STACKS_MODE_CNT };

struct stack_row {
	uint8_t mode, st;	/* enum stacks_mode; ST_* */
	uint8_t ctx, idle;	/* enum waker_ctx; 1: waits for work at its usual place */
	uint32_t thread, res, waker; /* idx; NO_IDX */
	uint32_t stack, waker_stack; /* idx in model stacks, NO_IDX */
	uint64_t ns, seen_ns, cnt;
};

struct stacks_sum {		/* of one mode */
	uint64_t total_ns;	/* of the threads' time in its states, idle waits not in it */
	uint64_t covered_ns;	/* waits with a stack, samples with one */
	uint64_t scaled_ns;	/* that those stand for */
	uint64_t idle_ns;	/* waits for work */
	uint64_t cut_ns;	/* of covered_ns: the stack does not reach its outermost function */
	uint64_t cnt;		/* waits with a stack, samples */
};

struct stacks_opts {
	const uint32_t *home_res; /* by thread idx: where it waits for work, NO_IDX; may be NULL */
	const uint8_t *wait_idle; /* by wait idx: 1 for work; goes before home_res; may be NULL */
	const uint8_t *idle_threads; /* by thread idx: 1 only waits for work; may be NULL */
	bool idle;		/* rows for waits for work too */
	bool targets;		/* only processes that were chosen, not their counterparts */
};

struct stacks_result {
	const struct model *m;
	struct stack_fn *fns; size_t fn_cnt;
	struct stack_path *paths; /* by model stack idx */
	struct stack_row *rows; size_t row_cnt; /* by mode, then ns, largest first */
	struct stacks_sum sums[STACKS_MODE_CNT];
	size_t first_row[STACKS_MODE_CNT + 1]; /* of each mode; the last is row_cnt */
	uint32_t *procs, *threads, *res; /* their fns, by model idx */
	uint32_t states[ST_CNT], none, cut, woken; /* fns */
};

/* opts may be NULL. */
struct stacks_result *stacks_make(const struct model *m, const struct stacks_opts *opts,
				  struct arena *arena);

/*
 * The row from the outside in: process, thread, functions, and for a wait what
 * it waited for; in STACKS_WAKER the waker's functions, innermost first, and
 * the waker follow.  Writes at most max, returns how many.
 */
enum { STACKS_PATH_MAX = 2 * EVENT_FRAMES_MAX + 8 };
uint32_t stacks_path(const struct stacks_result *r, const struct stack_row *row, uint32_t *ret_fns,
		     uint32_t max);

/*
 * Where in the program a stack is: its innermost function outside the kernel
 * and the C library, else the outermost one, or where it has none but the
 * kernel's the system call.  Index in the path, which has at least one function.
 */
uint32_t stacks_site(const struct stacks_result *r, const struct stack_path *path);

/* The same with the rows that keep wants, in the arena; the sums stay those of all. */
struct stacks_result stacks_filter(const struct stacks_result *r,
				   bool (*keep)(const struct stack_row *row, void *ctx), void *ctx,
				   struct arena *arena);

/* "on-cpu", "off-cpu", "waker": stable. */
const char *stacks_mode_name(unsigned mode);

/* Name of an enum stack_end: "whole", "no-mapping", ... */
const char *stack_end_name(unsigned end);

#endif /* STACKS_H */
