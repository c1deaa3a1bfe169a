/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STACKS_DIFF_H
#define STACKS_DIFF_H
/*
 * Two results function by function.  Times are those of each whole window:
 * who compares must divide by the windows' lengths.
 */
#include "stacks/stacks.h"

struct diff_row {
	uint32_t fn;		/* idx in diff.fns */
	uint64_t self_ns[2], total_ns[2]; /* before, after */
};

struct stack_diff {
	struct stack_fn *fns; size_t fn_cnt;
	struct diff_row *rows; size_t row_cnt;
	uint64_t total_ns[2];
};

/* In the arena; rows in no order. */
struct stack_diff *diff_make(const struct stacks_result *before, const struct stacks_result *after,
			     unsigned mode, struct arena *arena);

#endif /* STACKS_DIFF_H */
