/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LEARN_H
#define LEARN_H
/*
 * Learning: from calls with stacks to the signatures of the functions that
 * made them.
 *
 *	learn_model: model in, signatures in the arena
 */
#include <stdint.h>

struct arena;
struct model;
struct sig_builder;
struct sigs;

struct learn_stats {
	uint64_t call_cnt, noise_cnt;	/* in the window; left out by normalisation */
	uint64_t no_stack_cnt;		/* of the rest: without a stack */
	uint64_t no_app_cnt;		/* with no function of the application */
	uint64_t variants_dropped_cnt;	/* invocations of functions with too many variants */
};

/* Without any stack there are no functions in the result. */
struct sigs *learn_model(const struct model *m, struct arena *arena,
			 struct learn_stats *ret_stats);

/* Names of calls by nr, cnt of them, NULL where there was none; in the arena. */
const char **model_call_names(const struct model *m, struct arena *arena, uint32_t *ret_cnt);

#endif /* LEARN_H */
