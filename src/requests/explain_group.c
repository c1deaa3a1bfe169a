/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request against its group.  A path that was never seen is held against
 * the group of the paths that are most like it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cmp.h"
#include "requests/graph/path_hash.h"
#include "requests/requests_int.h"

/* The group with most members of those that have a path of this shape at the finest level. */
static uint32_t group_like(const struct type *type, const uint64_t *shape)
{
	for (uint32_t level = type->level; level < CSHAPE_CNT; level++) {
		uint32_t best = REQUEST_ALL;

		VEC_FOREACH(&type->leaves, leaf) {
			/* groups are by members, most first */
			if ((*leaf)->shape[level] == shape[level] && (*leaf)->group < best)
				best = (*leaf)->group;
		}
		if (best != REQUEST_ALL)
			return best;
	}
	return REQUEST_ALL;
}

static double robust_z(double x, double p16, double p50, double p84)
{
	return p84 > p16 ? (x - p50) / ((p84 - p16) / 2) : NAN;
}

static void explain_edge(const struct acc *acc, const uint32_t *place, const struct path *path,
			 uint32_t i, struct explain_edge *e)
{
	uint32_t col = acc_column(acc, path->hashes[i]);
	double took = (double)path->took_ns[i], median = 0;

	e->key = path->keys[i];
	e->took_ns = path->took_ns[i];
	e->edge = REQUEST_ALL;
	e->percentile = 100;
	e->robust_z = NAN;
	if (col != UINT32_MAX) {
		const struct hist *h = &acc->hists[col];
		uint64_t has = acc->moments.columns[col].cnt;
		uint64_t zeros = has < acc->cnt ? acc->cnt - has : 0;

		median = hist_quantile(h, zeros, 0.5);
		e->edge = place[col];
		e->percentile = 100 * hist_rank(h, zeros, (uint64_t)e->took_ns);
		e->robust_z = robust_z(took, hist_quantile(h, zeros, 0.16), median,
				       hist_quantile(h, zeros, 0.84));
	}
	e->excess_ns = took - median;
}

static int by_excess(const void *a, const void *b, void *ctx)
{
	const struct explain_edge *edges = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	CMP(edges[y].excess_ns, edges[x].excess_ns);
	CMP(x, y);
	return 0;
}

static void explain_edges(const struct acc *acc, const struct path *path, struct arena *arena,
			  struct request_explain *ret)
{
	struct explain_edge *edges = ARENA_ARRAY(arena, struct explain_edge, path->edge_cnt + 1);
	uint32_t *order = ARENA_ARRAY(arena, uint32_t, path->edge_cnt + 1);
	uint32_t *place = ARENA_ARRAY(arena, uint32_t, acc->keys.cnt + 1);
	const uint32_t *columns = acc_order(acc, arena);
	int64_t at = 0;
	double over = 0;

	for (uint32_t i = 0; i < acc->keys.cnt; i++)
		place[columns[i]] = i;
	for (uint32_t i = 0; i < path->edge_cnt; i++) {
		explain_edge(acc, place, path, i, &edges[i]);
		edges[i].begin_ns = at;
		at += edges[i].took_ns;
		order[i] = i;
		if (edges[i].excess_ns > 0)
			over += edges[i].excess_ns;
	}
	for (uint32_t i = 0; i < path->edge_cnt; i++)
		if (edges[i].excess_ns > 0)
			edges[i].excess_share = edges[i].excess_ns / over;
	qsort_r(order, path->edge_cnt, sizeof(*order), by_excess, edges);
	ret->edges = edges;
	ret->by_excess = order;
	ret->edge_cnt = path->edge_cnt;
}

static int by_path_excess(const void *a, const void *b, void *ctx)
{
	const struct request_edge *edges = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	CMP(edges[y].excess_ns, edges[x].excess_ns);
	CMP(edges[x].hash, edges[y].hash);
	return 0;
}

/* Whether it was its path: how long that takes beside the others of its type, and where. */
static void explain_path(const struct type *type, const struct request_type *t,
			 struct arena *arena, struct request_explain *ret)
{
	const struct request_group *group = &t->groups[ret->group];
	uint32_t *edges = ARENA_ARRAY(arena, uint32_t, group->edge_cnt + 1);
	struct others others;

	ret->usual_ns = group->latency.p50_ns;
	if (!others_of(t, type, ret->group, arena, &others))
		return;
	ret->others_ns = tails_quantile_of(others.sets, others.set_cnt, 0.5);
	for (uint32_t i = 0; i < group->edge_cnt; i++)
		if (group->edges[i].excess_ns > 0)
			edges[ret->path_edge_cnt++] = i;
	qsort_r(edges, ret->path_edge_cnt, sizeof(*edges), by_path_excess, (void *)group->edges);
	ret->path_edges = edges;
}

static bool value_has(const struct key_value *v, const struct attr *has)
{
	if (has->type == ATTR_STR)
		return v->str == has->str;
	return !v->str && v->truth == (has->type == ATTR_BOOL) && v->low <= has->num &&
	       has->num <= v->high;
}

static const struct key_value *value_of(const struct request_key *k, const struct attr *has)
{
	for (uint32_t i = 0; i < k->value_cnt; i++)
		if (value_has(&k->values[i], has))
			return &k->values[i];
	return NULL;
}

static bool is_known(const struct explain_key *keys, uint32_t cnt, const struct request_key *k)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (keys[i].key->point == k->point && keys[i].key->key == k->key)
			return true;
	return false;
}

static int by_key_excess(const void *a, const void *b)
{
	const struct explain_key *x = a, *y = b;

	CMP(y->excess_ns, x->excess_ns);
	return 0;
}

/* Only those with a value that others are slow with too: the rest does not explain it. */
static uint32_t add_keys(struct requests *r, const struct type *type, const struct trace *trace,
			 const struct request_group *g, bool of_type, struct explain_key *keys,
			 uint32_t cnt)
{
	for (uint32_t i = 0; i < g->key_cnt; i++) {
		struct explain_key k = {.key = &g->keys[i], .of_type = of_type};

		if (!k.key->explains || is_known(keys, cnt, k.key) ||
		    !samples_value(trace, &r->vars, r->points, r->strings, type->point,
				   k.key->point, k.key->key, &k.has))
			continue;
		k.value = value_of(k.key, &k.has);
		if (!k.value)
			continue;
		k.excess_ns = k.value->mean_ns - k.key->mean_ns;
		if (k.excess_ns > 0)
			keys[cnt++] = k;
	}
	return cnt;
}

static void explain_keys(struct requests *r, const struct type *type, const struct trace *trace,
			 const struct request_type *t, struct arena *arena,
			 struct request_explain *ret)
{
	const struct request_group *own = ret->group < t->group_cnt ? &t->groups[ret->group] : NULL;
	struct explain_key *keys = ARENA_ARRAY(arena, struct explain_key,
					       (own ? own->key_cnt : 0) + t->all->key_cnt + 1);

	if (own)
		ret->key_cnt = add_keys(r, type, trace, own, false, keys, 0);
	/* what decides which path it takes is the same on the whole path */
	ret->key_cnt = add_keys(r, type, trace, t->all, true, keys, ret->key_cnt);
	qsort(keys, ret->key_cnt, sizeof(*keys), by_key_excess);
	ret->keys = keys;
}

int requests_explain(struct requests *r, const struct requests_result *result,
		     const struct trace *trace, struct arena *arena,
		     struct request_explain *ret)
{
	struct request_explain e = {.type = REQUEST_ALL, .group = REQUEST_ALL,
				    .usual_ns = NAN, .others_ns = NAN};
	const struct request_type *t;
	const struct type *type;
	const struct acc *acc;
	struct graph graph;
	struct cpath cpath;
	struct path path;
	uint64_t idx;

	if (requests_path(r, trace, &graph, &cpath) < 0)
		return -EINVAL;
	cshapes_make(&graph, r->points, &r->scratch, &cpath);
	path_of(&trace->id, &cpath, &r->scratch, &path);
	path_name_edges(&path, &cpath, r->points, &r->scratch);
	e.total_ns = path.total_ns;
	*ret = e;
	if (!hmap_get(&r->by_hash, graph.type_hash, &idx) || idx >= result->type_cnt)
		return 0;
	type = r->types.items[idx];
	e.type = (uint32_t)idx;
	e.group = group_like(type, cpath.shape);
	acc = e.group < type->groups.cnt ? type->groups.items[e.group] : &type->all;
	e.percentile = 100 * tails_rank(&acc->tails, (uint64_t)e.total_ns);
	e.type_percentile = 100 * tails_rank(&type->all.tails, (uint64_t)e.total_ns);
	e.robust_z = robust_z((double)e.total_ns, tails_quantile(&acc->tails, 0.16),
			      tails_quantile(&acc->tails, 0.5), tails_quantile(&acc->tails, 0.84));
	explain_edges(acc, &path, arena, &e);
	t = &result->types[idx];
	if (e.group < t->group_cnt)
		explain_path(type, t, arena, &e);
	explain_keys(r, type, trace, t, arena, &e);
	*ret = e;
	return 0;
}
