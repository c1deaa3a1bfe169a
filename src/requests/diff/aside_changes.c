/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that got slower beside the critical path: no request takes longer by them yet,
 * so no edge shows it.  Those on the path are the edges' to tell.
 */
#include "requests/diff/changes_int.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "requests/call_counts.h"
#include "requests/diff/changes.h"
#include "requests/requests.h"

/*
 * A fifth longer, at four standard errors: machines differ by less from day to day, and of
 * some hundred calls of a type none is so far off by chance.
 */
static const double slower_part = 0.2, slower_z = 4;

/* A twentieth of the requests wait for it: the edges have it. */
static const double path_part = 0.05;

/* Slower for its callee's sake: all but a fifth of what it takes longer is the callee's. */
static const double callee_part = 0.8;

struct ordered {
	struct aside_change change;
	uint32_t at;		/* among those of its type, which come by their hash */
};

static bool is_waited_for(const struct request_type *type, uint32_t point)
{
	for (uint32_t i = 0; i < type->all->edge_cnt; i++) {
		const struct request_edge *e = &type->all->edges[i];

		if (e->key.owner == point &&
		    (double)e->present_cnt > path_part * (double)type->all->latency.cnt)
			return true;
	}
	return false;
}

static bool is_slower(const struct call_count *good, const struct call_count *bad)
{
	double error = sqrt(good->took_variance / (double)good->cnt +
			    bad->took_variance / (double)bad->cnt);
	double more = bad->took_ns - good->took_ns;

	return more > slower_part * good->took_ns && more > slower_z * error;
}

static uint32_t type_look(const struct request_type *good, const struct request_type *bad,
			  uint32_t type, struct ordered *ret)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < bad->call_cnt; i++) {
		const struct call_count *now = &bad->calls[i], *before = call_find(good, now->hash);

		if (!before || !is_slower(before, now) || is_waited_for(bad, now->point))
			continue;
		ret[cnt++].change = (struct aside_change){
			.type = type, .point = now->point, .parent = now->parent,
			.good_ns = before->took_ns, .bad_ns = now->took_ns,
		};
	}
	return cnt;
}

static double more_ns(const struct aside_change *c)
{
	return c->bad_ns - c->good_ns;
}

/* Leaves the calls that are slower by themselves. */
static uint32_t drop_callers(struct ordered *o, uint32_t cnt)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		double callee_ns = 0;

		for (uint32_t k = 0; k < cnt; k++)
			if (o[k].change.parent == o[i].change.point)
				callee_ns = fmax(callee_ns, more_ns(&o[k].change));
		if (callee_ns < callee_part * more_ns(&o[i].change))
			o[left++].at = i;
	}
	for (uint32_t i = 0; i < left; i++)
		o[i].change = o[o[i].at].change;
	return left;
}

static int by_more(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	CMP(more_ns(&y->change), more_ns(&x->change));
	CMP(x->change.type, y->change.type);
	CMP(x->at, y->at);
	return 0;
}

void aside_changes_find(struct requests_diff *diff, struct arena *arena)
{
	struct aside_change *changes;
	struct ordered *o;
	size_t room = 1;

	for (uint32_t i = 0; i < diff->bad->type_cnt; i++)
		room += diff->bad->types[i].call_cnt;
	o = ARENA_ARRAY(arena, struct ordered, room);
	for (uint32_t i = 0; i < diff->type_cnt; i++) {
		const struct type_change *c = &diff->types[i];
		const struct request_type *good, *bad;
		struct ordered *mine = o + diff->aside_cnt;

		if (c->good_type == REQUEST_ALL || c->bad_type == REQUEST_ALL)
			continue;
		good = &diff->good->types[c->good_type];
		bad = &diff->bad->types[c->bad_type];
		if (good->all->decided && bad->all->decided)
			diff->aside_cnt += drop_callers(mine, type_look(good, bad, i, mine));
	}
	qsort(o, diff->aside_cnt, sizeof(*o), by_more);
	changes = ARENA_ARRAY(arena, struct aside_change, diff->aside_cnt + 1);
	for (uint32_t i = 0; i < diff->aside_cnt; i++)
		changes[i] = o[i].change;
	diff->aside = changes;
}
