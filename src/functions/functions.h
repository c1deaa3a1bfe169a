/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H
/*
 * From a window of system calls to the functions to blame.
 *
 *	functions_analyse: model in, result in the caller's arena
 *
 * The window is cut into execution units (units.h), what one thread did
 * between two waits for work.  Units that make the same calls are compared
 * with each other (cluster.h, outliers.h): one that makes more of a call than
 * the others, or slower ones, is abnormal, and the time that this cost is its
 * harm.  Harm is laid on the functions that made the calls, known by stacks or
 * signatures; those that carry it but not the other work come first (rank.h).
 *
 * All is in nanoseconds of threads' time.  The order of the events decides nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "functions/units/functions_result.h"
#include "model/model.h"

struct arena;
struct sigs;

struct functions_opts {
	const struct model *good;/* a capture of the same program when all was well; NULL */
	uint64_t total_fn_cnt;	/* functions there are in the program, 0: not known */
	uint8_t units;		/* enum units_rule */
	bool calls_only;	/* as if no call had a stack */
	const struct held *held; /* time of requests (function_requests.h); NULL: not known */
	const struct outside_report *outside; /* as the waits tell it; NULL: there are none */
	const struct chain_end *end; /* the same (chain_end.h); NULL: not known */
};

/* Never fails; without calls the result says so.  sigs, opts may be NULL. */
const struct functions_result *functions_analyse(const struct model *m, const struct sigs *sigs,
						 const struct functions_opts *opts,
						 struct arena *arena);

/* "more", "slower", "never-returned", "own-time", ...: stable. */
const char *dev_kind_name(unsigned kind);
/* The reason's words, and its stable name; NULL for none. */
const char *functions_thin_text(uint32_t bit);
const char *functions_thin_name(uint32_t bit);
#endif /* FUNCTIONS_H */
