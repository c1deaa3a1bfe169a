/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request against its group.  A path that was never seen is held against
 * the group of the paths that are most like it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cmp.h"
#include "requests/cshapes.h"
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

int requests_explain(struct requests *r, const struct requests_result *result,
		     const struct trace *trace, struct arena *arena,
		     struct request_explain *ret)
{
	struct request_explain e = {.type = REQUEST_ALL, .group = REQUEST_ALL};
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
	*ret = e;
	return 0;
}
