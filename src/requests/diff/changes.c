/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/diff/changes.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "requests/diff/changes_int.h"
#include "requests/graph/graph.h"
#include "requests/requests.h"

#define NORMAL_95 1.959964	/* quantile of the normal distribution */

/*
 * Of a hundred edges five are over the bounds at 95 % by chance, and none over twice these:
 * one that is, and makes a twentieth of what requests took, has changed.
 */
static const double edge_far = 2, edge_part = 0.05;

/* Spread: by half as much again, at a z of three. */
static const double spread_ratio = 1.5, spread_z = 3;

/* Called more often: by half as often again. */
static const double calls_ratio = 1.5;

struct side {		/* an edge of one of the two */
	const struct request_edge *edge;
	bool is_bad;
};

static int sides_cmp(const void *a, const void *b)
{
	const struct side *x = a, *y = b;

	CMP(x->edge->hash, y->edge->hash);
	CMP(x->is_bad, y->is_bad);
	return 0;
}

/* Greatest change first. */
static int edges_cmp(const void *a, const void *b)
{
	const struct edge_change *x = a, *y = b;

	CMP(fabs(y->delta_ns), fabs(x->delta_ns));
	CMP(x->hash, y->hash);
	return 0;
}

static double mean_error2(const struct latency *l)
{
	return l->error_ns * l->error_ns;
}

static void edge_change_add(struct edge_change *c, const struct side *s)
{
	double mean = s->edge->latency.mean_ns, error2 = mean_error2(&s->edge->latency);

	c->key = s->edge->key;
	c->hash = s->edge->hash;
	if (s->is_bad)
		c->bad_ns += mean;
	else
		c->good_ns += mean;
	c->high_ns += error2;	/* the error until all sides are in */
}

static void change_bounds(double delta, double error2, double *low, double *high)
{
	double half = NORMAL_95 * sqrt(error2);

	*low = delta - half;
	*high = delta + half;
}

static uint32_t sides_of(const struct request_group *g, bool is_bad, struct side *sides)
{
	for (uint32_t i = 0; i < g->edge_cnt; i++)
		sides[i] = (struct side){.edge = &g->edges[i], .is_bad = is_bad};
	return g->edge_cnt;
}

static void edges_change(const struct request_group *good, const struct request_group *bad,
			 struct type_change *c, struct arena *arena)
{
	uint32_t cnt = good->edge_cnt + bad->edge_cnt;
	struct side *sides = ARENA_ARRAY(arena, struct side, cnt + 1);
	struct edge_change *edges = ARENA_ARRAY(arena, struct edge_change, cnt + 1);

	cnt = sides_of(good, false, sides);
	cnt += sides_of(bad, true, sides + cnt);
	qsort(sides, cnt, sizeof(*sides), sides_cmp);
	for (uint32_t i = 0; i < cnt; i++) {
		if (!i || sides[i - 1].edge->hash != sides[i].edge->hash)
			c->edge_cnt++;
		edge_change_add(&edges[c->edge_cnt - 1], &sides[i]);
	}
	for (uint32_t i = 0; i < c->edge_cnt; i++) {
		struct edge_change *e = &edges[i];

		e->delta_ns = e->bad_ns - e->good_ns;
		e->share = c->delta_ns != 0 ? e->delta_ns / c->delta_ns : 0;
		change_bounds(e->delta_ns, e->high_ns, &e->low_ns, &e->high_ns);
	}
	qsort(edges, c->edge_cnt, sizeof(*edges), edges_cmp);
	c->edges = edges;
}

static int owners_by_hash(const void *a, const void *b)
{
	const struct owner_change *x = a, *y = b;

	CMP(x->hash, y->hash);
	CMP(x->point, y->point);
	return 0;
}

static int owners_cmp(const void *a, const void *b)
{
	const struct owner_change *x = a, *y = b;

	CMP(fabs(y->delta_ns), fabs(x->delta_ns));
	CMP(x->hash, y->hash);
	return 0;
}

/* Those of one of the two, each with nothing on the other's side. */
static uint32_t owners_of(const struct request_group *g, bool is_bad, struct owner_change *ret)
{
	for (uint32_t i = 0; i < g->owner_cnt; i++) {
		const struct request_owner *o = &g->owners[i];

		ret[i] = (struct owner_change){.point = o->point, .hash = o->hash};
		*(is_bad ? &ret[i].bad_ns : &ret[i].good_ns) = o->mean_ns;
	}
	return g->owner_cnt;
}

static void owners_change(const struct request_type *good_type,
			  const struct request_type *bad_type, struct type_change *c,
			  struct arena *arena)
{
	const struct request_group *good = good_type->all, *bad = bad_type->all;
	struct owner_change *o = ARENA_ARRAY(arena, struct owner_change,
					     good->owner_cnt + bad->owner_cnt + 1);
	uint32_t cnt = owners_of(good, false, o);

	cnt += owners_of(bad, true, o + cnt);
	qsort(o, cnt, sizeof(*o), owners_by_hash);
	for (uint32_t i = 0; i < cnt; i++) {
		if (!c->owner_cnt || o[c->owner_cnt - 1].point != o[i].point) {
			o[c->owner_cnt++] = o[i];
			continue;
		}
		o[c->owner_cnt - 1].good_ns += o[i].good_ns;
		o[c->owner_cnt - 1].bad_ns += o[i].bad_ns;
	}
	for (uint32_t i = 0; i < c->owner_cnt; i++) {
		o[i].delta_ns = o[i].bad_ns - o[i].good_ns;
		o[i].share = c->delta_ns != 0 ? o[i].delta_ns / c->delta_ns : 0;
		o[i].good_times = call_times_of(good_type, o[i].point);
		o[i].bad_times = call_times_of(bad_type, o[i].point);
	}
	qsort(o, c->owner_cnt, sizeof(*o), owners_cmp);
	c->owners = o;
}

static int paths_by_hash(const void *a, const void *b)
{
	const struct path_change *x = a, *y = b;

	CMP(x->hash, y->hash);
	CMP(x->good_group, y->good_group);
	return 0;
}

static int paths_cmp(const void *a, const void *b)
{
	const struct path_change *x = a, *y = b;

	CMP(fabs(y->bad_share - y->good_share), fabs(x->bad_share - x->good_share));
	CMP(x->hash, y->hash);
	return 0;
}

static void paths_change(const struct request_type *good, const struct request_type *bad,
			 struct type_change *c, struct arena *arena)
{
	struct path_change *p = ARENA_ARRAY(arena, struct path_change,
					    good->group_cnt + bad->group_cnt + 1);
	uint32_t cnt = 0, kept = 0;

	for (uint32_t i = 0; i < good->group_cnt; i++)
		p[cnt++] = (struct path_change){
			.hash = good->groups[i].hash, .good_group = i, .bad_group = REQUEST_ALL,
			.good_share = good->groups[i].type_share};
	for (uint32_t i = 0; i < bad->group_cnt; i++)
		p[cnt++] = (struct path_change){
			.hash = bad->groups[i].hash, .good_group = REQUEST_ALL, .bad_group = i,
			.bad_share = bad->groups[i].type_share};
	qsort(p, cnt, sizeof(*p), paths_by_hash);
	for (uint32_t i = 0; i < cnt; i++) {
		if (kept && p[kept - 1].hash == p[i].hash && p[i].good_group == REQUEST_ALL) {
			p[kept - 1].bad_group = p[i].bad_group;
			p[kept - 1].bad_share = p[i].bad_share;
		} else {
			p[kept++] = p[i];
		}
	}
	qsort(p, kept, sizeof(*p), paths_cmp);
	c->paths = p;
	c->path_cnt = kept;
}

static double group_mean(const struct request_type *t, uint32_t group)
{
	return group == REQUEST_ALL ? t->all->latency.mean_ns : t->groups[group].latency.mean_ns;
}

static void split_delta(const struct request_type *good, const struct request_type *bad,
			struct type_change *c)
{
	for (uint32_t i = 0; i < c->path_cnt; i++) {
		const struct path_change *p = &c->paths[i];
		double was = p->good_group == REQUEST_ALL ? group_mean(bad, p->bad_group)
							  : group_mean(good, p->good_group);

		c->other_paths_ns += (p->bad_share - p->good_share) *
				     (was - group_mean(good, REQUEST_ALL));
		if (p->good_group != REQUEST_ALL && p->bad_group != REQUEST_ALL)
			c->same_paths_ns += p->bad_share * (group_mean(bad, p->bad_group) - was);
	}
}

static uint32_t type_find(const struct requests_result *r, uint64_t hash)
{
	for (uint32_t i = 0; i < r->type_cnt; i++)
		if (r->types[i].hash == hash)
			return i;
	return REQUEST_ALL;
}

static bool edges_have_changed(const struct type_change *c, double good_ns)
{
	for (uint32_t i = 0; i < c->edge_cnt; i++) {
		const struct edge_change *e = &c->edges[i];
		double half = (e->high_ns - e->low_ns) / 2;

		if (fabs(e->delta_ns) > edge_far * half && fabs(e->delta_ns) > edge_part * good_ns)
			return true;
	}
	return false;
}

/* The error of the log of a standard deviation is half of one over the root of the members. */
static bool spread_has_changed(const struct request_group *good, const struct request_group *bad)
{
	double ratio = bad->latency.sd_ns / good->latency.sd_ns;
	double error = sqrt(1 / good->effective_cnt + 1 / bad->effective_cnt) / 2;

	return good->decided && bad->decided && good->latency.sd_ns > 0 &&
	       bad->latency.sd_ns > 0 && fabs(log(ratio)) > log(spread_ratio) &&
	       fabs(log(ratio)) > spread_z * error;
}

static void type_change(const struct requests_diff *d, struct type_change *c,
			struct arena *arena)
{
	const struct request_type *good, *bad;

	if (c->good_type == REQUEST_ALL || c->bad_type == REQUEST_ALL)
		return;
	good = &d->good->types[c->good_type];
	bad = &d->bad->types[c->bad_type];
	c->delta_ns = bad->all->latency.mean_ns - good->all->latency.mean_ns;
	change_bounds(c->delta_ns, mean_error2(&good->all->latency) +
		      mean_error2(&bad->all->latency), &c->low_ns, &c->high_ns);
	edges_change(good->all, bad->all, c, arena);
	owners_change(good, bad, c, arena);
	c->mean_changed = c->low_ns > 0 || c->high_ns < 0;
	c->edges_changed = edges_have_changed(c, good->all->latency.mean_ns);
	c->spread_changed = spread_has_changed(good->all, bad->all);
	paths_change(good, bad, c, arena);
	split_delta(good, bad, c);
}

/* ---- called more often */

/* True if called more; with few requests chance decides which of a type's ways they go. */
static bool is_called_more(const struct type_change *c, const struct owner_change *o,
			   const struct request_group *good_all,
			   const struct request_group *bad_all)
{
	const struct latency *good = &good_all->latency, *bad = &bad_all->latency;
	double was = o->good_times.mean, is = o->bad_times.mean;
	double error = sqrt(o->good_times.variance / (double)good->cnt +
			    o->bad_times.variance / (double)bad->cnt);

	return good_all->decided && bad_all->decided && c->low_ns > 0 &&
	       o->point != REQUEST_POINT_NONE &&
	       is > calls_ratio * was && is - was > edge_far * NORMAL_95 * error &&
	       o->delta_ns > edge_part * good->mean_ns;
}

static int calls_cmp(const void *a, const void *b)
{
	const struct call_change *x = a, *y = b;

	CMP(y->cost_ns, x->cost_ns);
	CMP(x->type, y->type);
	CMP(x->owner->hash, y->owner->hash);
	return 0;
}

static void calls_change(struct requests_diff *d, struct arena *arena)
{
	struct call_change *calls;
	size_t room = 1;

	for (uint32_t i = 0; i < d->type_cnt; i++)
		room += d->types[i].owner_cnt;
	calls = ARENA_ARRAY(arena, struct call_change, room);
	for (uint32_t i = 0; i < d->type_cnt; i++) {
		const struct type_change *c = &d->types[i];

		/* only a type that is in both has owners */
		for (uint32_t k = 0; k < c->owner_cnt; k++) {
			const struct request_group *good = d->good->types[c->good_type].all;
			const struct request_group *bad = d->bad->types[c->bad_type].all;
			const struct owner_change *o = &c->owners[k];

			if (is_called_more(c, o, good, bad))
				calls[d->call_cnt++] = (struct call_change){
					i, o, o->delta_ns * (double)bad->latency.cnt};
		}
	}
	qsort(calls, d->call_cnt, sizeof(*calls), calls_cmp);
	d->calls = calls;
}

struct ordered {
	double cost_ns;
	uint64_t hash;
	struct type_change change;
};

static int ordered_cmp(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	CMP(y->cost_ns, x->cost_ns);
	CMP(x->hash, y->hash);
	return 0;
}

static void order_types(struct ordered *o, uint32_t cnt, struct type_change *ret)
{
	qsort(o, cnt, sizeof(*o), ordered_cmp);
	for (uint32_t i = 0; i < cnt; i++)
		ret[i] = o[i].change;
}

const struct requests_diff *requests_diff(const struct requests_result *good,
					  const struct requests_result *bad,
					  struct arena *arena)
{
	struct requests_diff *d = ARENA_NEW(arena, struct requests_diff);
	uint32_t all = good->type_cnt + bad->type_cnt, cnt = 0;
	struct ordered *o = ARENA_ARRAY(arena, struct ordered, all + 1);
	struct type_change *types = ARENA_ARRAY(arena, struct type_change, all + 1);

	*d = (struct requests_diff){.good = good, .bad = bad, .types = types};
	for (uint32_t i = 0; i < bad->type_cnt; i++) {
		struct type_change *c = &o[cnt].change;

		c->bad_type = i;
		c->good_type = type_find(good, bad->types[i].hash);
		type_change(d, c, arena);
		o[cnt].hash = bad->types[i].hash;
		o[cnt++].cost_ns = c->delta_ns * (double)bad->types[i].all->latency.cnt;
	}
	for (uint32_t i = 0; i < good->type_cnt; i++) {
		if (type_find(bad, good->types[i].hash) != REQUEST_ALL)
			continue;
		o[cnt].change = (struct type_change){.good_type = i, .bad_type = REQUEST_ALL};
		o[cnt++].hash = good->types[i].hash;
	}
	order_types(o, cnt, types);
	d->type_cnt = cnt;
	calls_change(d, arena);
	call_changes_find(d, arena);
	aside_changes_find(d, arena);
	return d;
}
