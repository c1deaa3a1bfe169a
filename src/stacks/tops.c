/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/tops.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/vec.h"

static int cmp_top(const void *pa, const void *pb)
{
	const struct top_fn *a = pa, *b = pb;

	CMP(b->self_ns, a->self_ns);
	CMP(b->total_ns, a->total_ns);
	CMP(a->fn, b->fn);
	return 0;
}

/* The stack whose functions a mode's table shows. */
static uint32_t stack_of(const struct stack_row *row, unsigned mode)
{
	return mode == STACKS_WAKER ? row->waker_stack : row->stack;
}

static void top_put(const struct stacks_result *r, const struct stack_row *row, unsigned mode,
		    struct top_fn *tops, uint32_t *last, uint32_t stamp)
{
	const struct stack_path *p = &r->paths[stack_of(row, mode)];
	uint32_t self = mode == STACKS_ON ? p->cnt - 1 : stacks_site(r, p);

	for (uint32_t i = 0; i < p->cnt; i++) {
		if (last[p->fns[i]] == stamp)
			continue; /* calls itself */
		last[p->fns[i]] = stamp;
		tops[p->fns[i]].total_ns += row->ns;
	}
	tops[p->fns[self]].self_ns += row->ns;
	tops[p->fns[self]].cnt += row->cnt;
}

struct top_fn *tops_make(const struct stacks_result *r, unsigned mode, struct arena *arena,
			 size_t *ret_cnt)
{
	struct top_fn *tops = ARENA_ARRAY(arena, struct top_fn, r->fn_cnt + 1);
	CLEANUP_FREE uint32_t *last = xcalloc(r->fn_cnt + 1, sizeof(*last));
	uint32_t stamp = 0;
	size_t cnt = 0;

	for (size_t i = r->first_row[mode]; i < r->first_row[mode + 1]; i++) {
		uint32_t stack = stack_of(&r->rows[i], mode);

		if (stack != NO_IDX && r->paths[stack].cnt)
			top_put(r, &r->rows[i], mode, tops, last, ++stamp);
	}
	for (size_t i = 0; i < r->fn_cnt; i++) {
		if (!tops[i].total_ns)
			continue;
		tops[cnt] = tops[i];
		tops[cnt++].fn = (uint32_t)i;
	}
	if (cnt > 1)
		qsort(tops, cnt, sizeof(*tops), cmp_top);
	*ret_cnt = cnt;
	return tops;
}

/* What starts every thread and every program is in the C library: it tells nothing. */
static uint32_t outermost_told(const struct stacks_result *r, const struct stack_path *p,
			       uint32_t at)
{
	uint32_t i = 0;

	while (i < at && r->fns[p->fns[i]].libc)
		i++;
	return i;
}

/* Callers without a name go first where there is no room for all. */
uint32_t callers_of(const struct stacks_result *r, const struct stack_path *p, uint32_t at,
		    uint32_t *ret_fns, uint32_t max)
{
	uint32_t from = outermost_told(r, p, at), named = 0, cnt = 0, spare;

	for (uint32_t i = from; i <= at; i++)
		named += i == at || !r->fns[p->fns[i]].nameless;
	spare = max > named ? max - named : 0;
	for (uint32_t i = at + 1; i-- > from && cnt < max;) {
		if (cnt && ret_fns[cnt - 1] == p->fns[i])
			continue;
		if (i < at && r->fns[p->fns[i]].nameless && !spare)
			continue;
		spare -= i < at && r->fns[p->fns[i]].nameless;
		ret_fns[cnt++] = p->fns[i];
	}
	return cnt;
}

uint32_t site_callers(const struct stacks_result *r, uint32_t stack, uint32_t *ret_fns,
		      uint32_t max)
{
	const struct stack_path *p;

	if (stack == NO_IDX || !r->paths[stack].cnt)
		return 0;
	p = &r->paths[stack];
	return callers_of(r, p, stacks_site(r, p), ret_fns, max);
}

static uint32_t res_fn(const struct stacks_result *r, const struct stack_row *row)
{
	return row->res == NO_IDX ? r->states[row->st] : r->res[row->res];
}

static uint64_t spot_key(const struct spot *s)
{
	uint64_t a = (uint64_t)s->thread_fn << 32 | (s->fn_cnt ? s->fns[0] : NO_IDX);
	uint64_t b = (uint64_t)s->waker_fn << 32 | (s->waker_fn_cnt ? s->waker_fns[0] : NO_IDX);

	return hash_pair(a, b) + s->st;
}

static struct spot spot_of(const struct stacks_result *r, const struct stack_row *row)
{
	struct spot s = {
		.res_fn = res_fn(r, row), .st = row->st, .thread_fn = r->threads[row->thread],
		.waker = NO_IDX, .waker_fn = NO_IDX,
		.ns = row->ns, .cnt = row->cnt, .seen_ns = row->seen_ns,
		.top_ns = row->ns, .res_cnt = 1,
	};

	s.fn_cnt = site_callers(r, row->stack, s.fns, SPOT_CALLERS);
	if (row->mode != STACKS_WAKER)
		return s;
	s.waker = row->waker;
	if (row->waker != NO_IDX)
		s.waker_fn = r->threads[row->waker];
	s.waker_fn_cnt = site_callers(r, row->waker_stack, s.waker_fns, SPOT_CALLERS);
	return s;
}

/* The heaviest row says which callers are shown. */
static void spot_merge(struct spot *into, const struct spot *add)
{
	struct spot sum = add->top_ns > into->top_ns ? *add : *into;

	sum.ns = into->ns + add->ns;
	sum.cnt = into->cnt + add->cnt;
	sum.seen_ns = into->seen_ns + add->seen_ns;
	sum.res_cnt = into->res_cnt;
	*into = sum;
}

static int cmp_spot(const void *pa, const void *pb)
{
	const struct spot *a = pa, *b = pb;

	CMP(b->ns, a->ns);
	CMP(a->res_fn, b->res_fn);
	CMP(a->fns[0], b->fns[0]);
	return 0;
}

struct spot *spots_make(const struct stacks_result *r, unsigned mode, struct arena *arena,
			size_t *ret_cnt)
{
	VEC(struct spot) spots = {0};
	struct hmap by_key = {0}, by_res = {0};
	struct spot *out;

	for (size_t i = r->first_row[mode]; i < r->first_row[mode + 1]; i++) {
		struct spot s = spot_of(r, &r->rows[i]);
		uint64_t *slot = hmap_slot(&by_key, spot_key(&s)), *seen;

		if (*slot == 0) {
			vec_push(&spots, s);
			*slot = spots.cnt;
			hmap_put(&by_res, *slot << 32 | s.res_fn, 1);
			continue;
		}
		spot_merge(&spots.items[*slot - 1], &s);
		seen = hmap_slot(&by_res, *slot << 32 | s.res_fn);
		spots.items[*slot - 1].res_cnt += *seen == 0;
		*seen = 1;
	}
	vec_sort(&spots, cmp_spot);
	out = ARENA_ARRAY(arena, struct spot, spots.cnt + 1);
	if (spots.cnt)
		memcpy(out, spots.items, spots.cnt * sizeof(*out));
	*ret_cnt = spots.cnt;
	vec_release(&spots);
	hmap_release(&by_key);
	hmap_release(&by_res);
	return out;
}
