/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/diff/changes_int.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "requests/call_counts.h"
#include "requests/diff/changes.h"
#include "requests/requests.h"

/*
 * A share of the requests changed by a twentieth, at four standard errors: of some hundred calls
 * of a type none is so far off by chance.
 */
static const double share_part = 0.05, share_z = 4;

/* New is what fewer than one in a hundred had. */
static const double new_share = 0.01;

/* Gone with its caller is what a tenth or less of the change is left of without it. */
static const double own_part = 0.1;

const struct call_count *call_find(const struct request_type *type, uint64_t hash)
{
	uint32_t from = 0, to = type->call_cnt;

	while (from < to) {
		uint32_t at = from + (to - from) / 2;

		if (type->calls[at].hash == hash)
			return &type->calls[at];
		if (type->calls[at].hash < hash)
			from = at + 1;
		else
			to = at;
	}
	return NULL;
}

/* Share of the requests that have such a call. */
static double share_of(const struct request_type *type, const struct call_count *c)
{
	return c ? (double)c->levels->cnt / (double)type->all->latency.cnt : 0;
}

/* The same of the calls of a tracepoint by anybody: at least so many. */
static double point_share(const struct request_type *type, uint32_t point)
{
	double most = point == type->point;

	for (uint32_t i = 0; i < type->call_cnt; i++)
		if (type->calls[i].point == point)
			most = fmax(most, share_of(type, &type->calls[i]));
	return most;
}

static bool has_changed(const struct request_type *good, const struct request_type *bad,
			double was, double is)
{
	double n = (double)good->all->latency.cnt, m = (double)bad->all->latency.cnt;
	double both = (was * n + is * m) / (n + m);
	double error = sqrt(both * (1 - both) * (1 / n + 1 / m));

	return fabs(is - was) >= share_part && fabs(is - was) > share_z * error;
}

/* Mean of the requests that have no such call. */
static double mean_without(const struct request_type *type, const struct call_count *c)
{
	double n = (double)type->all->latency.cnt, with = c ? (double)c->levels->cnt : 0;

	if (with >= n)
		return type->all->latency.mean_ns;
	return (type->all->latency.mean_ns * n - (c ? c->levels->mean_ns * with : 0)) / (n - with);
}

static bool look_at(const struct request_type *good, const struct request_type *bad,
		    const struct call_count *before, const struct call_count *now,
		    struct structure_change *ret)
{
	const struct call_count *any = now ? now : before;
	double was = share_of(good, before), is = share_of(bad, now), callers;

	if (!has_changed(good, bad, was, is) || (is > was && was >= new_share))
		return false;
	/* of what calls it there are as many fewer, or more */
	callers = point_share(bad, any->parent) - point_share(good, any->parent);
	if (fabs(is - was - callers) <= own_part * fabs(is - was))
		return false;
	*ret = (struct structure_change){
		.kind = is > was ? STRUCTURE_NEW : STRUCTURE_LESS,
		.point = any->point, .parent = any->parent, .good_share = was, .bad_share = is,
		.delta_ns = (is > was ? now->levels->mean_ns : mean_without(bad, now)) -
			    good->all->latency.mean_ns,
	};
	ret->cost_ns = fabs(ret->delta_ns) * fabs(is - was) * (double)bad->all->latency.cnt;
	return true;
}

struct ordered {
	struct structure_change change;
	uint64_t hash;
};

static int by_cost(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	CMP(y->change.cost_ns, x->change.cost_ns);
	CMP(x->change.type, y->change.type);
	CMP(x->hash, y->hash);
	return 0;
}

/* The calls of both: those of the bad ones, then those that only the good ones have. */
static uint32_t type_look(const struct request_type *good, const struct request_type *bad,
			  uint32_t type, struct ordered *ret)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < bad->call_cnt + good->call_cnt; i++) {
		const struct call_count *now = i < bad->call_cnt ? &bad->calls[i] : NULL;
		const struct call_count *before = now ? call_find(good, now->hash)
						      : &good->calls[i - bad->call_cnt];

		if (!now && call_find(bad, before->hash))
			continue;
		if (!look_at(good, bad, before, now, &ret[cnt].change))
			continue;
		ret[cnt].change.type = type;
		ret[cnt++].hash = (now ? now : before)->hash;
	}
	return cnt;
}

void call_changes_find(struct requests_diff *diff, struct arena *arena)
{
	struct structure_change *changes;
	struct ordered *o;
	size_t room = 1;

	for (uint32_t i = 0; i < diff->good->type_cnt; i++)
		room += diff->good->types[i].call_cnt;
	for (uint32_t i = 0; i < diff->bad->type_cnt; i++)
		room += diff->bad->types[i].call_cnt;
	o = ARENA_ARRAY(arena, struct ordered, room);
	for (uint32_t i = 0; i < diff->type_cnt; i++) {
		const struct type_change *c = &diff->types[i];
		const struct request_type *good, *bad;

		if (c->good_type == REQUEST_ALL || c->bad_type == REQUEST_ALL)
			continue;
		good = &diff->good->types[c->good_type];
		bad = &diff->bad->types[c->bad_type];
		if (good->all->decided && bad->all->decided)
			diff->structure_cnt += type_look(good, bad, i, o + diff->structure_cnt);
	}
	qsort(o, diff->structure_cnt, sizeof(*o), by_cost);
	changes = ARENA_ARRAY(arena, struct structure_change, diff->structure_cnt + 1);
	for (uint32_t i = 0; i < diff->structure_cnt; i++)
		changes[i] = o[i].change;
	diff->structure = changes;
}
