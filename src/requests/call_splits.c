/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/call_splits.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "base/vec.h"
#include "requests/call_counts.h"
#include "requests/requests.h"
#include "requests/stats/tests.h"

/* Nobody would begin with less than a tenth of the variance. */
static const double share_min = 0.1;

/* By chance in one of a thousand types, however many calls were tried. */
static const double chance_max = 0.001;

struct candidate {
	struct call_split split;
	uint64_t cnt, hash;
};

struct finding {
	VEC(struct candidate) items;	/* of all types */
	size_t first;			/* of the type at hand */
	uint32_t trial_cnt;
	double all, parted;		/* sums of squares of all types, of the best splits */
};

/* Sum of squares of the type's members, about their mean. */
static double squares_of(const struct request_type *type)
{
	const struct latency *l = &type->all->latency;

	return l->sd_ns * l->sd_ns * (double)(l->cnt - 1);
}

/* Those that make the call times times or more against the others; keeps the better. */
static void level_try(const struct request_type *type, const struct call_level *level,
		      uint32_t times, struct candidate *best)
{
	double n = (double)type->all->latency.cnt, in = (double)level->cnt, out = n - in;
	double off = level->mean_ns - type->all->latency.mean_ns;
	double squares = off * off * in * n / out;

	if (squares <= best->split.squares)
		return;
	best->cnt = level->cnt;
	best->split.times = times;
	best->split.share = in / n;
	best->split.squares = squares;
	best->split.delta_ns = off * n / out;
	best->split.cost_ns = fabs(best->split.delta_ns) * fmin(in, out);
}

static void call_try(struct finding *f, const struct requests_result *r, uint32_t type_idx,
		     const struct call_count *call)
{
	const struct request_type *type = &r->types[type_idx];
	uint64_t cnt = type->all->latency.cnt;
	struct candidate best = {.split = {.type = type_idx, .point = call->point,
					   .parent = call->parent}, .hash = call->hash};

	for (uint32_t i = 0; i < call->level_cnt; i++) {
		const struct call_level *level = &call->levels[i];

		if (level->cnt < r->opts.min_cnt || cnt - level->cnt < r->opts.min_cnt)
			continue;
		f->trial_cnt++;
		level_try(type, level, 1u << i, &best);
	}
	if (best.cnt)
		vec_push(&f->items, best);
}

static int by_squares(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	CMP(y->split.squares, x->split.squares);
	CMP(x->split.type, y->split.type);
	CMP(x->cnt, y->cnt);
	CMP(x->hash, y->hash);
	return 0;
}

static bool same_requests(const struct candidate *a, const struct candidate *b)
{
	return a->split.type == b->split.type && a->cnt == b->cnt &&
	       a->split.squares == b->split.squares;
}

/* Picks, of calls that part the same requests, the one whose caller none of the others calls. */
static struct call_split nearest_root(const struct candidate *c, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		size_t above = 0;

		while (above < cnt && c[above].split.point != c[i].split.parent)
			above++;
		if (above == cnt)
			return c[i].split;
	}
	return c->split;
}

/* Keeps one candidate of the type for each set of requests, and none by chance. */
static void type_settle(struct finding *f, const struct request_type *type)
{
	double all = squares_of(type), df = (double)type->all->latency.cnt - 2;
	struct candidate *items = f->items.items;
	size_t kept = f->first;

	if (f->items.cnt > f->first)
		qsort(items + f->first, f->items.cnt - f->first, sizeof(*items), by_squares);
	for (size_t i = f->first, end; i < f->items.cnt; i = end) {
		struct candidate c = items[i];
		double between = fmin(c.split.squares, all), within = all - between;

		for (end = i + 1; end < f->items.cnt && same_requests(&items[i], &items[end]);)
			end++;
		if (between < share_min * all ||
		    (within > 0 && stats_f_p(between / (within / df), 1, df) * f->trial_cnt >
					   chance_max))
			break;
		c.split = nearest_root(items + i, end - i);
		c.split.alias_cnt = (uint32_t)(end - i) - 1;
		c.split.variance_share = between / all;
		items[kept++] = c;
	}
	f->items.cnt = kept;
	if (kept > f->first)
		f->parted += fmin(items[f->first].split.squares, all);
}

void call_splits_find(const struct requests_result *result, struct arena *arena,
		      struct call_splits *ret)
{
	struct finding f = {0};
	struct call_split *items;

	for (uint32_t i = 0; i < result->type_cnt; i++) {
		const struct request_type *type = &result->types[i];

		if (!type->all->decided)
			continue;
		f.all += squares_of(type);
		if (!(type->all->latency.cv > result->opts.cv_min))
			continue;
		f.first = f.items.cnt;
		f.trial_cnt = 0;
		for (uint32_t k = 0; k < type->call_cnt; k++)
			call_try(&f, result, i, &type->calls[k]);
		type_settle(&f, type);
	}
	vec_sort(&f.items, by_squares);
	items = ARENA_ARRAY(arena, struct call_split, f.items.cnt + 1);
	for (size_t i = 0; i < f.items.cnt; i++)
		items[i] = f.items.items[i].split;
	*ret = (struct call_splits){items, (uint32_t)f.items.cnt, f.all > 0 ? f.parted / f.all : 0};
	vec_release(&f.items);
}
