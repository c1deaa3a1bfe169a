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

/* Skips functions of the C library that start every thread and program: they say nothing. */
static uint32_t outermost_told(const struct stacks_result *r, const struct stack_path *p,
			       uint32_t at)
{
	uint32_t i = 0;

	while (i < at && r->fns[p->fns[i]].libc)
		i++;
	return i;
}

/*
 * An interpreted program's stack shows its own functions, or where there are
 * none those of its libraries; not how the interpreter calls them.
 */
static unsigned langs_shown(const struct stacks_result *r, const struct stack_path *p, uint32_t at)
{
	unsigned seen = 0;

	for (uint32_t i = 0; i <= at; i++)
		seen |= 1u << r->fns[p->fns[i]].lang;
	return seen & 1u << FN_LANG_APP ? 1u << FN_LANG_APP
	       : seen & 1u << FN_LANG_LIB ? 1u << FN_LANG_LIB : 1u << FN_LANG_NONE;
}

/* Callers without a name go first where there is no room for all. */
uint32_t callers_of(const struct stacks_result *r, const struct stack_path *p, uint32_t at,
		    uint32_t *ret_fns, uint32_t max)
{
	uint32_t from = outermost_told(r, p, at), named = 0, cnt = 0, spare;
	unsigned langs = langs_shown(r, p, at);

	for (uint32_t i = from; i <= at; i++)
		named += i == at || !r->fns[p->fns[i]].nameless;
	spare = max > named ? max - named : 0;
	for (uint32_t i = at + 1; i-- > from && cnt < max;) {
		if (cnt && ret_fns[cnt - 1] == p->fns[i])
			continue;
		if (i < at && !(langs >> r->fns[p->fns[i]].lang & 1))
			continue;
		if (i < at && r->fns[p->fns[i]].nameless && !spare)
			continue;
		spare -= i < at && r->fns[p->fns[i]].nameless;
		ret_fns[cnt++] = p->fns[i];
	}
	return cnt;
}

/* A stack's site and callers, innermost first; how many. */
static uint32_t site_callers(const struct stacks_result *r, uint32_t stack, uint32_t *ret_fns,
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

static struct spot spot_of(const struct stacks_result *r, const struct stack_row *row)
{
	struct spot s = {
		.res_fn = res_fn(r, row), .st = row->st, .thread_fn = r->threads[row->thread],
		.waker = NO_IDX, .waker_fn = NO_IDX,
		.ns = row->ns, .cnt = row->cnt, .seen_ns = row->seen_ns,
		.top_ns = row->ns, .res_cnt = 1, .thread_cnt = 1,
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

/* A row of the model's as a spot, and whose it is. */
struct row_spot {
	struct spot s;
	uint32_t thread;	/* idx */
};

struct spot_maker {
	VEC(struct row_spot) rows;	/* by cmp_row_spot: common callers together */
	VEC(struct spot) spots;
	struct hmap seen;	/* place and resource, place and thread */
	uint64_t apart_ns;	/* a caller with so much has a row of its own */
	unsigned mode;
};

/* The frames whose callers separate rows: in the waker's view those of the waker. */
static const uint32_t *callers(const struct spot *s, unsigned mode, uint32_t *ret_cnt)
{
	*ret_cnt = mode == STACKS_WAKER ? s->waker_fn_cnt : s->fn_cnt;
	return mode == STACKS_WAKER ? s->waker_fns : s->fns;
}

static uint32_t caller_at(const struct spot *s, unsigned mode, uint32_t at)
{
	uint32_t cnt;
	const uint32_t *fns = callers(s, mode, &cnt);

	return at < cnt ? fns[at] : NO_IDX;
}

/* 0: the same place in the program, callers apart. */
static int cmp_place(const struct spot *a, const struct spot *b)
{
	CMP(a->thread_fn, b->thread_fn);
	CMP(a->st, b->st);
	CMP(caller_at(a, STACKS_OFF, 0), caller_at(b, STACKS_OFF, 0));
	CMP(a->waker_fn, b->waker_fn);
	CMP(caller_at(a, STACKS_WAKER, 0), caller_at(b, STACKS_WAKER, 0));
	return 0;
}

static int cmp_row_spot(const void *pa, const void *pb)
{
	const struct row_spot *a = pa, *b = pb;
	unsigned mode = a->s.waker_fn_cnt ? STACKS_WAKER : STACKS_OFF;
	int cmp = cmp_place(&a->s, &b->s);

	for (uint32_t i = 1; i < SPOT_CALLERS && !cmp; i++)
		cmp = (caller_at(&a->s, mode, i) > caller_at(&b->s, mode, i)) -
		      (caller_at(&a->s, mode, i) < caller_at(&b->s, mode, i));
	if (cmp)
		return cmp;
	CMP(b->s.ns, a->s.ns);
	CMP(a->s.res_fn, b->s.res_fn);
	CMP(a->thread, b->thread);
	return 0;
}

/* How many of the first callers both have; *forks where one of them goes on otherwise. */
static uint32_t shared(const uint32_t *a, uint32_t a_cnt, const uint32_t *b, uint32_t b_cnt,
		       uint8_t *forks)
{
	uint32_t i = 0;

	while (i < a_cnt && i < b_cnt && a[i] == b[i])
		i++;
	*forks |= i < a_cnt || i < b_cnt;
	return i;
}

/* The heaviest row says for what is waited and who ended it; callers are those of all. */
static void spot_merge(struct spot *into, const struct spot *add)
{
	struct spot sum = add->top_ns > into->top_ns ? *add : *into;

	sum.forks = into->forks;
	sum.waker_forks = into->waker_forks;
	sum.fn_cnt = shared(into->fns, into->fn_cnt, add->fns, add->fn_cnt, &sum.forks);
	sum.waker_fn_cnt = shared(into->waker_fns, into->waker_fn_cnt, add->waker_fns,
				  add->waker_fn_cnt, &sum.waker_forks);
	sum.ns = into->ns + add->ns;
	sum.cnt = into->cnt + add->cnt;
	sum.seen_ns = into->seen_ns + add->seen_ns;
	sum.res_cnt = into->res_cnt;
	sum.thread_cnt = into->thread_cnt;
	*into = sum;
}

/* 1: the first time at this spot. */
static uint32_t is_new(struct spot_maker *k, uint64_t spot, uint64_t what)
{
	uint64_t *slot = hmap_slot(&k->seen, hash_pair(spot, what)), old = *slot;

	*slot = 1;
	return old == 0;
}

/* The row into that spot; at SIZE_MAX into a new one, whose place is returned. */
static size_t spot_put(struct spot_maker *k, size_t at, const struct row_spot *row)
{
	uint64_t res = (uint64_t)row->s.res_fn << 1, thread = (uint64_t)row->thread << 1 | 1;
	uint32_t new_res, new_thread;

	if (at == SIZE_MAX) {
		at = k->spots.cnt;
		vec_push(&k->spots, row->s);
		is_new(k, at, res);
		is_new(k, at, thread);
		return at;
	}
	new_res = is_new(k, at, res);
	new_thread = is_new(k, at, thread);
	spot_merge(&k->spots.items[at], &row->s);
	k->spots.items[at].res_cnt += new_res;
	k->spots.items[at].thread_cnt += new_thread;
	return at;
}

static uint64_t rows_ns(const struct spot_maker *k, size_t from, size_t to)
{
	uint64_t ns = 0;

	for (size_t i = from; i < to; i++)
		ns += k->rows.items[i].s.ns;
	return ns;
}

static size_t same_caller_end(const struct spot_maker *k, size_t from, size_t to, uint32_t at)
{
	uint32_t fn = caller_at(&k->rows.items[from].s, k->mode, at);

	while (from < to && caller_at(&k->rows.items[from].s, k->mode, at) == fn)
		from++;
	return from;
}

/*
 * Rows of one place whose callers are the same up to `at`: each caller there
 * with enough time becomes a spot of its own, the others are one together.
 * Recursion: at most SPOT_CALLERS deep.
 */
static void spots_split(struct spot_maker *k, size_t from, size_t to, uint32_t at)
{
	size_t rest = SIZE_MAX, end;

	for (size_t i = from; i < to; i = end) {
		end = at < SPOT_CALLERS ? same_caller_end(k, i, to, at) : to;
		if (at < SPOT_CALLERS && rows_ns(k, i, end) >= k->apart_ns) {
			spots_split(k, i, end, at + 1);
			continue;
		}
		for (size_t row = i; row < end; row++)
			rest = spot_put(k, rest, &k->rows.items[row]);
	}
}

static int cmp_spot(const void *pa, const void *pb)
{
	const struct spot *a = pa, *b = pb;

	CMP(b->ns, a->ns);
	CMP(a->res_fn, b->res_fn);
	CMP(a->fns[0], b->fns[0]);
	return 0;
}

/* Ten rows fill the table of one view: from so much on a caller is worth one. */
#define APART_SHARE 0.1

struct spot *spots_make(const struct stacks_result *r, unsigned mode, struct arena *arena,
			size_t *ret_cnt)
{
	struct spot_maker k = {.mode = mode};
	struct spot *out;
	size_t end;

	for (size_t i = r->first_row[mode]; i < r->first_row[mode + 1]; i++)
		vec_push(&k.rows, ((struct row_spot){spot_of(r, &r->rows[i]), r->rows[i].thread}));
	vec_sort(&k.rows, cmp_row_spot);
	k.apart_ns = (uint64_t)((double)rows_ns(&k, 0, k.rows.cnt) * APART_SHARE) + 1;
	for (size_t i = 0; i < k.rows.cnt; i = end) {
		for (end = i; end < k.rows.cnt; end++)
			if (cmp_place(&k.rows.items[i].s, &k.rows.items[end].s))
				break;
		spots_split(&k, i, end, 1);
	}
	vec_sort(&k.spots, cmp_spot);
	out = ARENA_ARRAY(arena, struct spot, k.spots.cnt + 1);
	if (k.spots.cnt)
		memcpy(out, k.spots.items, k.spots.cnt * sizeof(*out));
	*ret_cnt = k.spots.cnt;
	vec_release(&k.rows);
	vec_release(&k.spots);
	hmap_release(&k.seen);
	return out;
}
