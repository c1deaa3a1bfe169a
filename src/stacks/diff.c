/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "stacks/fns.h"
#include "stacks/tops.h"

struct diff_tops {
	struct top_fn *tops;
	size_t cnt;
};

struct stack_diff *diff_make(const struct stacks_result *before, const struct stacks_result *after,
			     unsigned mode, struct arena *arena)
{
	const struct stacks_result *sides[2] = {before, after};
	struct stack_diff *d = ARENA_NEW(arena, struct stack_diff);
	struct diff_tops tops[2];
	struct fns fns;

	fns_init(&fns, before->m, arena);
	for (int s = 0; s < 2; s++)
		tops[s].tops = tops_make(sides[s], mode, arena, &tops[s].cnt);
	d->rows = ARENA_ARRAY(arena, struct diff_row, tops[0].cnt + tops[1].cnt + 1);
	for (int s = 0; s < 2; s++) {
		d->total_ns[s] = sides[s]->sums[mode].total_ns;
		for (size_t i = 0; i < tops[s].cnt; i++) {
			uint32_t fn = fns_same(&fns, &sides[s]->fns[tops[s].tops[i].fn]);

			/* functions get their numbers in the order in which they come */
			d->rows[fn].fn = fn;
			d->rows[fn].self_ns[s] += tops[s].tops[i].self_ns;
			d->rows[fn].total_ns[s] += tops[s].tops[i].total_ns;
		}
	}
	d->fn_cnt = d->row_cnt = fns.fns.cnt;
	d->fns = ARENA_ARRAY(arena, struct stack_fn, d->fn_cnt + 1);
	if (d->fn_cnt)
		memcpy(d->fns, fns.fns.items, d->fn_cnt * sizeof(*d->fns));
	fns_release(&fns);
	return d;
}
