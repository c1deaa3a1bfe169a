/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_STACK_H
#define MODEL_STACK_H
/*
 * The part of the model that tells of functions: modules, stacks, the names
 * of their frames, how long each was waited in or run in, and the newest
 * samples.  Filled by model_add and model_finish; read it after model_finish.
 *
 * Bounded: what is over STACKS_MAX, FRAMES_MAX, ... (model_int.h) is not kept and
 * counted in model.limit_cnt; a stack of which only the id is known has no
 * frames.  Not every wait has a stack: stack_sums tell how long those with
 * one took, threads and pairs how long all took.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/event.h"

struct model;

struct module {
	uint32_t id, tgid;
	uint8_t kind;		/* enum module_kind */
	uint8_t build_id_len;
	uint8_t build_id[EVENT_BUILD_ID_MAX];
	uint64_t base_vaddr;
	const char *path;	/* "" unknown */
};

struct stack {
	uint32_t id, tgid;
	const uint64_t *frames;	/* kernel innermost first, then user innermost first */
	uint16_t user_cnt, kernel_cnt; /* both 0: not stored */
	uint8_t end;		/* enum stack_end */
};

/* A function at a frame, or inlined there. */
struct fn {
	uint64_t frame;
	uint32_t tgid, depth;	/* as in EV_FRAME */
	const char *name, *file;/* file "" unknown */
	uint32_t line, off;
	uint32_t outer;		/* idx in fns: what it is inlined into, NO_IDX */
};

/*
 * Time with one stack.  In state ST_RUN from samples, ST_RUNQ and ST_WAIT +
 * class from waits; waits still going on at the end are in it.
 */
struct stack_sum {
	uint32_t thread, res;	/* idx; res NO_IDX when running or runnable */
	uint32_t stack;		/* idx in stacks */
	uint32_t waker, waker_stack; /* thread idx, stack idx; NO_IDX */
	uint8_t st, op, ctx;	/* ST_*, enum wait_op, enum waker_ctx */
	uint8_t pending;	/* 1: still going on */
	uint64_t ns;		/* of ST_RUN: samples times meta.sample_ns */
	uint64_t cnt;		/* waits, or samples */
	uint64_t max_ns;
};

struct sample {
	uint64_t ts_ns;
	uint32_t thread, stack;	/* idx */
	uint32_t cnt;
	uint16_t cpu;
};

/* The innermost function of a frame in a process; its outer ones follow.  NULL: no name. */
const struct fn *model_fn(const struct model *m, uint64_t frame, uint32_t tgid);
const struct fn *model_fn_outer(const struct model *m, const struct fn *fn);

/* NULL for a frame that is in none, or in one that was never described. */
const struct module *model_module(const struct model *m, uint64_t frame);

#endif /* MODEL_STACK_H */
