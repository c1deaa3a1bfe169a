/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which members of a group are shown.  The typical one is its medoid: of the
 * copies that are kept and belong to the middle half by their totals, the one
 * from which all members are the least far, far being the sum over all edges
 * of how much longer or shorter they took.  Without the middle half it would be
 * a fast one: most times are skewed, and few requests are slow on each edge.
 * The fast and the slow one are those nearest to the percentiles.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "base/vec.h"
#include "requests/stats/path.h"
#include "requests/requests_int.h"

enum {
	/*
	 * Each has its path made again.  Four are of one quarter of a doubling
	 * of the total, so these are from two thirds to one and a half times the
	 * median at least, where the middle is.
	 */
	CANDIDATES_MAX = 24,
	CANDIDATE_SPANS_MAX = 50000,	/* of all together: a few milliseconds */
};

struct wanted {			/* the copy nearest to a latency */
	const struct copy *copy;
	double off;
};

static void want(struct wanted *w, const struct copy *copy, double ns)
{
	double off = fabs((double)copy->total_ns - ns);

	if (w->copy && (w->off < off || (w->off == off && copy_cmp(w->copy, copy) <= 0)))
		return;
	w->copy = copy;
	w->off = off;
}

struct candidate {
	const struct copy *copy;
	bool is_outer;		/* not of the middle half */
	double off;		/* of its total, from the median */
};

static int by_off(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	CMP(x->is_outer, y->is_outer);
	CMP(x->off, y->off);
	return copy_cmp(x->copy, y->copy);
}

/* Positions of the members' edges; in arena. */
struct spread {
	const struct acc *acc;
	struct hist_middle *middles;	/* column by column */
	uint32_t *ends;			/* of each column's */
};

static struct spread spread_of(const struct acc *acc, struct arena *arena)
{
	struct spread s = {.acc = acc, .ends = ARENA_ARRAY(arena, uint32_t, acc->keys.cnt + 1)};
	size_t room = 0;
	uint32_t end = 0;

	for (uint32_t col = 0; col < acc->keys.cnt; col++)
		room += acc->hists[col].bucket_cnt;
	s.middles = ARENA_ARRAY(arena, struct hist_middle, room + 1);
	for (uint32_t col = 0; col < acc->keys.cnt; col++) {
		end += hist_middles(&acc->hists[col], s.middles + end);
		s.ends[col] = end;
	}
	return s;
}

/*
 * How far the members' edges are from those of the path, in the mean; in order
 * of columns.  Something over least once it is known to be more.
 */
static double distance(const struct spread *s, const struct path *path, double least,
		       struct arena *arena)
{
	const struct acc *acc = s->acc;
	int64_t *took = ARENA_ARRAY(arena, int64_t, acc->keys.cnt + 1);
	double sum = 0;

	for (uint32_t i = 0; i < path->edge_cnt; i++) {
		uint32_t col = acc_column(acc, path->hashes[i]);

		if (col != UINT32_MAX)
			took[col] += path->took_ns[i];
		else
			sum += (double)path->took_ns[i];
	}
	for (uint32_t col = 0, i = 0; col < acc->keys.cnt && sum <= least; col++) {
		uint64_t has = acc->moments.columns[col].cnt;
		uint64_t lack = has < acc->cnt ? acc->cnt - has : 0;
		double v = (double)(uint64_t)took[col], far = (double)lack * v, cnt = (double)lack;

		for (; i < s->ends[col]; i++) {
			far += s->middles[i].cnt * fabs(s->middles[i].at - v);
			cnt += s->middles[i].cnt;
		}
		sum += cnt > 0 ? far / cnt : 0;
	}
	return sum;
}

static double distance_of(struct requests *r, const struct spread *s, const struct copy *copy,
			  double least)
{
	struct graph graph;
	struct cpath cpath;
	struct path path;

	if (requests_path(r, copy->trace, &graph, &cpath) < 0)
		return INFINITY;
	path_of(&copy->id, &cpath, &r->scratch, &path);
	path_name_edges(&path, &cpath, r->points, &r->scratch);
	return distance(s, &path, least, &r->scratch);
}

/* NULL: none is kept whole. */
static const struct copy *medoid(struct requests *r, struct leaf *const *leaves, uint32_t cnt,
				 const struct acc *acc, const struct latency *l)
{
	const struct graph_stats before = r->graph_stats; /* counted when they came */
	const struct copy *best = NULL;
	VEC(struct candidate) all = {0};
	struct spread spread = {0};
	struct arena arena = {0};
	double least = INFINITY;
	size_t spans = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		VEC_FOREACH(&leaves[i]->copies.items, copy) {
			double ns = (double)copy->total_ns;
			struct candidate c = {copy, ns < l->p25_ns || ns > l->p75_ns,
					      fabs(ns - l->p50_ns)};

			if (copy->trace)
				vec_push(&all, c);
		}
	}
	vec_sort(&all, by_off);
	if (all.cnt > 1)
		spread = spread_of(acc, &arena);
	for (size_t i = 0; i < all.cnt && i < CANDIDATES_MAX; i++) {
		const struct copy *copy = all.items[i].copy;
		double far;

		spans += copy->trace->span_cnt;
		if (best && (spans > CANDIDATE_SPANS_MAX || all.items[i].is_outer))
			break;
		far = all.cnt > 1 ? distance_of(r, &spread, copy, least) : 0;
		if (!best || far < least) {
			best = copy;
			least = far;
		}
	}
	vec_release(&all);
	arena_release(&arena);
	r->graph_stats = before;
	return best;
}

static struct request_copy handed_out(const struct copy *copy, const struct acc *acc,
				      struct arena *arena)
{
	struct request_copy c = {0};
	const struct trace *from = copy->trace;

	c.id = copy->id;
	c.total_ns = copy->total_ns;
	c.percentile = 100 * tails_rank(&acc->tails, (uint64_t)c.total_ns);
	if (!from)
		return c;
	c.trace = trace_copy_to(arena_alloc(arena, trace_copy_bytes(from)), from);
	return c;
}

void examples_choose(struct requests *r, struct leaf *const *leaves, uint32_t cnt,
		     const struct acc *acc, struct arena *arena, struct request_group *ret)
{
	struct wanted typical = {0}, fast = {0}, slow = {0};
	const struct copy *middle = medoid(r, leaves, cnt, acc, &ret->latency);

	for (uint32_t i = 0; i < cnt; i++) {
		VEC_FOREACH(&leaves[i]->copies.items, copy) {
			want(&typical, copy, ret->latency.p50_ns);
			want(&fast, copy, ret->latency.p05_ns);
			want(&slow, copy, ret->latency.p95_ns);
		}
	}
	if (!typical.copy)
		return;
	ret->typical = handed_out(middle ? middle : typical.copy, acc, arena);
	ret->fast = handed_out(fast.copy, acc, arena);
	ret->slow = handed_out(slow.copy, acc, arena);
}
