/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each edge has, for either side, a histogram of its times: buckets of an
 * eighth of an octave with a count and an exact sum, made as they are needed.
 * All figures of an edge (median, mean with the ends brought in, spread)
 * come from these, so that they do not depend on the order of adding.
 * What lost_spans.c keeps gives an edge such histograms once more, of the
 * requests that have spans where it has none.
 */
#include "requests/edge_rank.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/vec.h"
#include "trace/points.h"
#include "requests/graph/critical.h"
#include "requests/graph/graph.h"
#include "requests/lost_spans.h"

/*
 * Of a tenth at either end only that it is there counts: one stalled request
 * among ten says little of an edge that is visited often, and everything of
 * its mean.
 */
#define ENDS_SHARE 0.10

/*
 * A service counts at least as this much (as log of the ratio) slower than
 * usual, so that an edge of a calm one is still listed, behind the others.
 */
#define SLOWER_MIN 0.01

/*
 * An edge takes as long as its stretch does where its mean is less by no more than a quarter,
 * or than three standard errors: of a few visits more cannot be said.
 */
static const double alike_part = 0.25, alike_errors = 3;

enum {
	OCTAVE_BITS = 3,
	CHUNK_BUCKETS = 64,
	CHUNK_CNT = 8,		/* 64 octaves */
};

struct bucket {
	uint64_t cnt, sum;
};

struct chunk {
	struct bucket buckets[CHUNK_BUCKETS];
};

struct times {
	struct chunk *chunks[CHUNK_CNT];
	uint64_t cnt;
	uint64_t seen_cnt;	/* of these; of a sample each stands for several */
};

/* Times from one end of an edge to the other in requests that have spans between. */
struct filled {
	struct times times[EDGE_RANK_SIDES];
};

struct edge {
	struct edge_rank_end from, to;
	struct times times[EDGE_RANK_SIDES];
	const struct filled *filled;		/* NULL until all was added */
};

struct edge_rank {
	const struct points *points;
	const struct strtab *strings;
	struct arena arena;	/* the chunks */
	VEC(struct edge) edges;
	struct hmap by_ends;	/* index, plus one */
	struct stretches *stretches;
	uint64_t path_cnt[EDGE_RANK_SIDES];
	uint64_t dropped_cnt;
};

struct edge_rank *edge_rank_new(const struct points *points, const struct strtab *strings)
{
	struct edge_rank *r = xcalloc(1, sizeof(*r));

	r->points = points;
	r->strings = strings;
	r->stretches = stretches_new();
	return r;
}

void edge_rank_free(struct edge_rank *r)
{
	if (!r)
		return;
	vec_release(&r->edges);
	hmap_release(&r->by_ends);
	stretches_free(r->stretches);
	arena_release(&r->arena);
	free(r);
}

/* ---- adding */

static unsigned bucket_of(uint64_t ns)
{
	unsigned top;

	if (ns < 1 << OCTAVE_BITS)
		return (unsigned)ns;
	top = 63 - (unsigned)__builtin_clzll(ns);
	return ((top - OCTAVE_BITS + 1) << OCTAVE_BITS) +
	       (unsigned)(ns >> (top - OCTAVE_BITS) & ((1 << OCTAVE_BITS) - 1));
}

static void times_add(struct times *t, struct arena *arena, uint64_t ns, uint64_t cnt)
{
	unsigned b = bucket_of(ns);
	struct chunk **chunk = &t->chunks[b / CHUNK_BUCKETS];

	if (!*chunk)
		*chunk = ARENA_NEW(arena, struct chunk);
	(*chunk)->buckets[b % CHUNK_BUCKETS].cnt += cnt;
	(*chunk)->buckets[b % CHUNK_BUCKETS].sum += ns * cnt;
	t->cnt += cnt;
	t->seen_cnt++;
}

static uint64_t ends_hash(struct edge_rank_end from, struct edge_rank_end to)
{
	return hash_pair((uint64_t)from.point << 2 | from.kind, (uint64_t)to.point << 2 | to.kind);
}

static struct edge *edge_at(struct edge_rank *r, struct edge_rank_end from,
			    struct edge_rank_end to)
{
	uint64_t *slot = hmap_slot(&r->by_ends, ends_hash(from, to));
	struct edge *e;

	if (!*slot) {
		if (r->edges.cnt == EDGE_RANK_MAX)
			return NULL;
		e = vec_add(&r->edges);
		e->from = from;
		e->to = to;
		*slot = r->edges.cnt;
	}
	return &r->edges.items[*slot - 1];
}

static struct edge_rank_end end_of(const struct cstep *step)
{
	return (struct edge_rank_end){step->point, step->kind};
}

void edge_rank_add(struct edge_rank *r, enum edge_rank_side side, const struct trace_id *id,
		   const struct cpath *path)
{
	r->path_cnt[side]++;
	for (uint32_t i = 1; i < path->step_cnt; i++) {
		const struct cstep *step = &path->steps[i];
		struct edge *e = edge_at(r, end_of(step - 1), end_of(step));

		if (e)
			times_add(&e->times[side], &r->arena,
				  step->edge_ns > 0 ? (uint64_t)step->edge_ns : 0, 1);
		else
			r->dropped_cnt++;
	}
	stretches_add(r->stretches, side, id,
		      r->points->items.items[path->steps[0].point].hash, path);
}

/* ---- the figures of one edge */

struct told {
	double mean_ns;		/* with the ends brought in */
	double error_ns;	/* standard error of it */
	double median_ns, quartile_ns;
	uint64_t cnt;
};

/* The time at a rank, counted from 0: the mean of the bucket that it is in. */
static double at_rank(const struct times *t, uint64_t rank)
{
	uint64_t before = 0;

	for (unsigned i = 0; i < CHUNK_CNT * CHUNK_BUCKETS; i++) {
		const struct chunk *c = t->chunks[i / CHUNK_BUCKETS];
		const struct bucket *b;

		if (!c) {
			i += CHUNK_BUCKETS - 1;
			continue;
		}
		b = &c->buckets[i % CHUNK_BUCKETS];
		before += b->cnt;
		if (rank < before)
			return (double)b->sum / (double)b->cnt;
	}
	return 0;
}

static struct told tell(const struct times *t)
{
	struct told told = {.cnt = t->cnt};
	uint64_t end = (uint64_t)(ENDS_SHARE * (double)t->cnt);
	double low = at_rank(t, end), high = at_rank(t, t->cnt - 1 - end);
	double sum = 0, square = 0;

	if (!t->cnt)
		return told;
	for (int pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < CHUNK_CNT * CHUNK_BUCKETS; i++) {
			const struct chunk *c = t->chunks[i / CHUNK_BUCKETS];
			const struct bucket *b = c ? &c->buckets[i % CHUNK_BUCKETS] : NULL;
			double ns;

			if (!b || !b->cnt)
				continue;
			ns = fmin(fmax((double)b->sum / (double)b->cnt, low), high);
			if (!pass)
				sum += ns * (double)b->cnt;
			else
				square += (ns - told.mean_ns) * (ns - told.mean_ns) *
					  (double)b->cnt;
		}
		told.mean_ns = sum / (double)t->cnt;
	}
	told.error_ns = t->cnt > 1 ? sqrt(square / (double)(t->cnt - 1) / (double)t->seen_cnt) : 0;
	told.median_ns = (at_rank(t, t->cnt / 2) + at_rank(t, (t->cnt - 1) / 2)) / 2;
	told.quartile_ns = at_rank(t, t->cnt / 4);
	return told;
}

/* ---- what is usual */

/* Edges between services: to ask something, and to answer. */
enum leg { LEG_ASK, LEG_ANSWER, LEG_CNT, LEG_NONE = LEG_CNT };

struct usual {
	struct told good[LEG_CNT];	/* all such edges of the good requests together */
	double median_ns[LEG_CNT];	/* over such edges of the bad, of each one's median */
};

static uint32_t service_of(const struct edge_rank *r, const struct edge_rank_end *end)
{
	return r->points->items.items[end->point].service;
}

static enum leg leg_of(const struct edge_rank *r, const struct edge *e)
{
	if (service_of(r, &e->from) == service_of(r, &e->to))
		return LEG_NONE;
	return e->to.kind == NODE_EXIT ? LEG_ANSWER : LEG_ASK;
}

static int cmp_double(const void *pa, const void *pb)
{
	CMP(*(const double *)pa, *(const double *)pb);
	return 0;
}

/* Sorts values. */
static double median_of(double *values, size_t cnt)
{
	if (!cnt)
		return 0;
	qsort(values, cnt, sizeof(*values), cmp_double);
	return (values[cnt / 2] + values[(cnt - 1) / 2]) / 2;
}

static void times_merge(struct times *to, const struct times *from, struct arena *arena)
{
	for (unsigned i = 0; i < CHUNK_CNT; i++) {
		if (!from->chunks[i])
			continue;
		if (!to->chunks[i])
			to->chunks[i] = ARENA_NEW(arena, struct chunk);
		for (unsigned k = 0; k < CHUNK_BUCKETS; k++) {
			to->chunks[i]->buckets[k].cnt += from->chunks[i]->buckets[k].cnt;
			to->chunks[i]->buckets[k].sum += from->chunks[i]->buckets[k].sum;
		}
	}
	to->cnt += from->cnt;
	to->seen_cnt += from->seen_cnt;
}

static struct usual usual_make(const struct edge_rank *r, struct arena *scratch)
{
	struct usual u = {0};
	struct times good[LEG_CNT] = {0};
	double *medians[LEG_CNT];
	size_t cnt[LEG_CNT] = {0};

	for (int leg = 0; leg < LEG_CNT; leg++)
		medians[leg] = ARENA_ARRAY(scratch, double, r->edges.cnt + 1);
	VEC_FOREACH(&r->edges, e) {
		enum leg leg = leg_of(r, e);

		if (leg == LEG_NONE)
			continue;
		times_merge(&good[leg], &e->times[EDGE_RANK_GOOD], scratch);
		if (e->times[EDGE_RANK_BAD].cnt)
			medians[leg][cnt[leg]++] = tell(&e->times[EDGE_RANK_BAD]).median_ns;
	}
	for (int leg = 0; leg < LEG_CNT; leg++) {
		u.good[leg] = tell(&good[leg]);
		u.median_ns[leg] = median_of(medians[leg], cnt[leg]);
	}
	return u;
}

/* ---- the rows */

/* Returns what its service's ratio is to. */
static double row_usual(const struct edge_rank *r, const struct usual *u, const struct edge *e,
			struct edge_rank_row *row)
{
	struct told bad = tell(&e->times[EDGE_RANK_BAD]), good = tell(&e->times[EDGE_RANK_GOOD]);
	enum leg leg = leg_of(r, e);
	double error = bad.error_ns, peers_ns = leg == LEG_NONE ? INFINITY : u->median_ns[leg];
	/* One that only the bad have is no worse for that: the others are held to more. */
	double own_ns = r->path_cnt[EDGE_RANK_GOOD] ? bad.median_ns : bad.quartile_ns;

	row->mean_ns = bad.mean_ns;
	if (good.cnt >= EDGE_RANK_VISITS_MIN) {
		row->usual = EDGE_USUAL_GOOD;
		row->usual_ns = good.mean_ns;
		error = hypot(error, good.error_ns);
	} else if (leg != LEG_NONE && u->good[leg].cnt >= EDGE_RANK_VISITS_MIN) {
		row->usual = EDGE_USUAL_GOOD_PEERS;
		row->usual_ns = u->good[leg].mean_ns;
		error = hypot(error, u->good[leg].error_ns);
	} else {
		row->usual = peers_ns < own_ns ? EDGE_USUAL_PEERS : EDGE_USUAL_OWN;
		row->usual_ns = fmin(peers_ns, own_ns);
	}
	row->more_low_ns = row->mean_ns - row->usual_ns - error;
	return row->usual == EDGE_USUAL_GOOD || row->usual == EDGE_USUAL_GOOD_PEERS
		       ? row->usual_ns
		       : fmin(peers_ns, bad.median_ns);
}

/* ---- edges in which a span was not seen */

struct filling {
	const struct edge_rank *r;
	struct arena *arena;
	struct filled *filled;	/* by edge */
	enum edge_rank_side side;
};

static void fill_edge(void *ctx, const struct stretch *s)
{
	struct filling *f = ctx;
	const uint64_t *slot = hmap_find(&f->r->by_ends, ends_hash(s->from, s->to));
	struct filled *filled;

	if (!slot || f->r->edges.items[*slot - 1].times[EDGE_RANK_BAD].cnt < EDGE_RANK_VISITS_MIN)
		return;
	filled = &f->filled[*slot - 1];
	times_add(&filled->times[f->side], f->arena, s->took_ns, s->weight);
}

static struct filled *fill_edges(const struct edge_rank *r, struct arena *scratch)
{
	struct filling f = {.r = r, .arena = scratch,
			    .filled = ARENA_ARRAY(scratch, struct filled, r->edges.cnt + 1)};

	for (int side = 0; side < EDGE_RANK_SIDES; side++) {
		f.side = (enum edge_rank_side)side;
		stretches_each(r->stretches, f.side, fill_edge, &f);
	}
	return f.filled;
}

/*
 * Most requests have spans between the ends of the edge, and it takes as long without them, or
 * longer: without a call that was not made it would be quicker.
 */
static bool is_unseen(const struct edge *e)
{
	const struct times *with = &e->filled->times[EDGE_RANK_BAD];
	const struct times *without = &e->times[EDGE_RANK_BAD];
	struct told a, b;

	if (with->seen_cnt < EDGE_RANK_VISITS_MIN || with->cnt < without->cnt)
		return false;
	a = tell(with);
	b = tell(without);
	return a.mean_ns - b.mean_ns <=
	       fmax(alike_errors * hypot(a.error_ns, b.error_ns), alike_part * a.mean_ns);
}

/*
 * Then these spans were not seen rather than not there, and the excess of the whole is theirs,
 * listed with the edges that they make.  What the edge takes longer than that is its
 * own.  *ratio_to: what its service's ratio is to.  Returns whether it would surely be to blame.
 */
static bool lay_inside(const struct edge_rank *r, const struct usual *u, const struct edge *e,
		       struct edge_rank_row *row, double *ratio_to)
{
	struct edge stretch = {.from = e->from, .to = e->to};
	struct edge_rank_row inside = {0};
	double over_ns = row->mean_ns - row->usual_ns, error = over_ns - row->more_low_ns;
	double inside_ns;

	if (!(over_ns > 0) || !is_unseen(e))
		return false;
	for (int side = 0; side < EDGE_RANK_SIDES; side++)
		stretch.times[side] = e->filled->times[side];
	row_usual(r, u, &stretch, &inside);
	inside_ns = fmin(inside.mean_ns - inside.usual_ns, over_ns);
	if (!(inside_ns > 0))
		return false;
	row->usual = EDGE_USUAL_FILLED;
	row->usual_ns += inside_ns;
	row->more_low_ns = over_ns - inside_ns -
			   hypot(error, inside.mean_ns - inside.usual_ns - inside.more_low_ns);
	*ratio_to = fmin(*ratio_to + inside_ns, fmax(*ratio_to, row->mean_ns));
	return over_ns > alike_errors * error;
}

/* How much slower than usual the edges of a service are. */
struct slower {
	double log_sum;
	uint32_t edge_cnt;
};

static struct slower *slower_at(struct slower *all, struct hmap *by_service, uint32_t service)
{
	uint64_t *slot = hmap_slot(by_service, service);

	if (!*slot)
		*slot = by_service->cnt;
	return &all[*slot - 1];
}

/* The one more is an edge that is as usual: few edges prove less than many. */
static double slower_log(const struct slower *s)
{
	return s->log_sum / (s->edge_cnt + 1);
}

/* usual: by row, what the ratios are to. */
static void score_rows(const struct edge_rank *r, struct edge_rank_row *rows, uint32_t cnt,
		       const double *usual, struct arena *scratch)
{
	struct slower *all = ARENA_ARRAY(scratch, struct slower, 2 * (size_t)cnt + 1);
	struct hmap by_service = {0};
	double typical;

	/* Added on both sides of each ratio, so that microseconds that doubled weigh nothing. */
	typical = fmax(median_of(arena_dup(scratch, usual, cnt * sizeof(*usual)), cnt), 1);
	for (uint32_t i = 0; i < cnt; i++) {
		double ratio = log((rows[i].mean_ns + typical) / (usual[i] + typical));
		uint32_t ends[2] = {service_of(r, &rows[i].from), service_of(r, &rows[i].to)};

		rows[i].log_ratio = ratio;
		for (int end = 0; end < (ends[0] == ends[1] ? 1 : 2); end++) {
			struct slower *s = slower_at(all, &by_service, ends[end]);

			s->log_sum += ratio;
			s->edge_cnt++;
		}
	}
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t from = service_of(r, &rows[i].from), to = service_of(r, &rows[i].to);
		double slower = fmax(slower_log(slower_at(all, &by_service, from)),
				     slower_log(slower_at(all, &by_service, to)));

		rows[i].service_ratio = exp(slower);
		rows[i].score = rows[i].more_low_ns * fmax(slower, SLOWER_MIN);
	}
	hmap_release(&by_service);
}

static int cmp_end(const struct edge_rank *r, const struct edge_rank_end *a,
		   const struct edge_rank_end *b)
{
	int cmp = points_cmp(r->points, r->strings, a->point, b->point);

	if (cmp)
		return cmp;
	CMP(a->kind, b->kind);
	return 0;
}

static int cmp_edge(const void *pa, const void *pb, void *ctx)
{
	const struct edge *a = pa, *b = pb;
	int cmp = cmp_end(ctx, &a->from, &b->from);

	return cmp ? cmp : cmp_end(ctx, &a->to, &b->to);
}

static int cmp_row(const void *pa, const void *pb, void *ctx)
{
	const struct edge_rank_row *a = pa, *b = pb;
	int cmp;

	CMP(b->score, a->score);
	cmp = cmp_end(ctx, &a->from, &b->from);
	return cmp ? cmp : cmp_end(ctx, &a->to, &b->to);
}

const struct edge_rank_result *edge_rank_finish(const struct edge_rank *r, struct arena *arena)
{
	struct edge_rank_result *ret = ARENA_NEW(arena, struct edge_rank_result);
	struct edge_rank_row *rows = ARENA_ARRAY(arena, struct edge_rank_row, r->edges.cnt + 1);
	struct arena scratch = {0};
	struct edge *edges = ARENA_ARRAY(&scratch, struct edge, r->edges.cnt + 1);
	double *ratio_to = ARENA_ARRAY(&scratch, double, r->edges.cnt + 1);
	struct usual usual = usual_make(r, &scratch);
	struct filled *filled = fill_edges(r, &scratch);
	uint32_t cnt = 0;

	/* In order of their texts: sums of logs are rounded, so their order matters. */
	for (size_t i = 0; i < r->edges.cnt; i++) {
		edges[i] = r->edges.items[i];
		edges[i].filled = &filled[i];
	}
	qsort_r(edges, r->edges.cnt, sizeof(*edges), cmp_edge, (void *)(uintptr_t)r);
	for (size_t i = 0; i < r->edges.cnt; i++) {
		const struct edge *e = &edges[i];

		if (e->times[EDGE_RANK_BAD].cnt < EDGE_RANK_VISITS_MIN) {
			ret->rare_cnt += e->times[EDGE_RANK_BAD].cnt > 0;
			continue;
		}
		rows[cnt].from = e->from;
		rows[cnt].to = e->to;
		rows[cnt].visit_cnt = e->times[EDGE_RANK_BAD].cnt;
		rows[cnt].good_visit_cnt = e->times[EDGE_RANK_GOOD].cnt;
		ratio_to[cnt] = row_usual(r, &usual, e, &rows[cnt]);
		if (lay_inside(r, &usual, e, &rows[cnt], &ratio_to[cnt])) {
			ret->unseen_cnt++;
			ret->unseen_visit_cnt += rows[cnt].visit_cnt;
		}
		cnt++;
	}
	score_rows(r, rows, cnt, ratio_to, &scratch);
	qsort_r(rows, cnt, sizeof(*rows), cmp_row, (void *)(uintptr_t)r);
	ret->rows = rows;
	ret->edge_cnt = cnt;
	while (ret->row_cnt < cnt && rows[ret->row_cnt].score > 0)
		ret->row_cnt++;
	for (int side = 0; side < EDGE_RANK_SIDES; side++)
		ret->path_cnt[side] = r->path_cnt[side];
	ret->dropped_cnt = r->dropped_cnt;
	arena_release(&scratch);
	return ret;
}
