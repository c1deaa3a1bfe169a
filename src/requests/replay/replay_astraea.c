/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Astraea's rule (Toslali et al., IC2E 2024), as its paper and code have it:
 * no critical path, no groups and no search space; each span has a belief of
 * how useful it is, and is sampled by that.
 *
 * - A span's use in a period: the variance of its exclusive time in a request,
 *   over the largest of all spans, that averaged over the last PERIODS.
 * - A belief is a Beta(a, b) from Beta(1, 1): for each SAMPLES_EACH requests in
 *   which the span was seen one Bernoulli draw of its use adds to a or b.
 * - A span is sampled with the share of DRAWS from its belief that are above
 *   the PERCENTILE of all beliefs' means, at least FLOOR.
 *
 * Here a period is a round.  It does not end by itself; it is ended when the
 * same span was believed in most for as many rounds as the average is over.
 */
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "requests/replay/replay_int.h"

enum { PERIODS = 10, SAMPLES_EACH = 30, DRAWS = 1000, PERCENTILE = 90 };

#define FLOOR 0.05

struct belief {
	double a, b;
	double probability;
	double sum, sum_sq;	/* exclusive time of the period, ns */
	uint64_t cnt;
};

struct astraea {
	struct replay_job *job;
	struct belief *beliefs;	/* by tracepoint */
	double most[PERIODS];	/* largest variance of the last periods */
	uint64_t draw_cnt;
	double *exclusive;	/* by tracepoint, in the trace at hand */
	bool *met;
	double *means;
};

/* From 0 to below 1, the same in every run. */
static double draw(struct astraea *s)
{
	return (double)(hash_pair(s->job->r->opts.seed, ++s->draw_cnt) >> 11) * 0x1p-53;
}

static double draw_normal(struct astraea *s)
{
	double u = 1 - draw(s), v = draw(s);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Gamma(shape, 1) for shape >= 1, by Marsaglia and Tsang. */
static double draw_gamma(struct astraea *s, double shape)
{
	double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);

	for (;;) {
		double x = draw_normal(s), v = 1 + c * x;

		if (v <= 0)
			continue;
		v = v * v * v;
		if (log(1 - draw(s)) < 0.5 * x * x + d - d * v + d * log(v))
			return d * v;
	}
}

static double draw_beta(struct astraea *s, const struct belief *b)
{
	double x = draw_gamma(s, b->a), y = draw_gamma(s, b->b);

	return x / (x + y);
}

/* ---- exclusive times */

struct stretch {
	uint32_t parent;
	int64_t begin_ns, end_ns;
};

static int by_parent(const void *pa, const void *pb)
{
	const struct stretch *a = pa, *b = pb;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* Each span's time without that of its children; ret by span. */
static void exclusive_times(const struct trace *t, struct arena *arena, double *ret)
{
	struct stretch *kids = ARENA_ARRAY(arena, struct stretch, t->span_cnt);
	struct hmap by_id = {0};
	uint32_t cnt = 0;
	uint64_t idx;

	for (uint32_t i = 0; i < t->span_cnt; i++) {
		hmap_put(&by_id, t->spans[i].id, i);
		ret[i] = (double)(t->spans[i].end_ns - t->spans[i].begin_ns);
	}
	for (uint32_t i = 0; i < t->span_cnt; i++) {
		const struct span *s = &t->spans[i];

		if (!s->parent || !hmap_get(&by_id, s->parent, &idx) || idx == i)
			continue;
		kids[cnt++] = (struct stretch){(uint32_t)idx, s->begin_ns, s->end_ns};
	}
	if (cnt)
		qsort(kids, cnt, sizeof(*kids), by_parent);
	for (uint32_t i = 0; i < cnt;) {
		uint32_t p = kids[i].parent;
		int64_t at = t->spans[p].begin_ns, end = t->spans[p].end_ns;

		for (; i < cnt && kids[i].parent == p; i++) {
			int64_t from = kids[i].begin_ns > at ? kids[i].begin_ns : at;
			int64_t to = kids[i].end_ns < end ? kids[i].end_ns : end;

			if (to > from) {
				ret[p] -= (double)(to - from);
				at = to;
			}
		}
	}
	hmap_release(&by_id);
}

static void learn_from(struct astraea *s, const struct trace *seen, struct arena *arena)
{
	struct replay *r = s->job->r;
	double *times = ARENA_ARRAY(arena, double, seen->span_cnt);

	exclusive_times(seen, arena, times);
	for (uint32_t p = 0; p < r->point_cnt; p++) {
		s->met[p] = false;
		s->exclusive[p] = 0;
	}
	for (uint32_t i = 0; i < seen->span_cnt; i++) {
		uint32_t p = points_add(r->in.points, r->in.strings, seen->spans[i].service,
					seen->spans[i].name);

		s->exclusive[p] += times[i];
		s->met[p] = true;
	}
	for (uint32_t p = 0; p < r->point_cnt; p++) {
		if (!s->met[p])
			continue;
		s->beliefs[p].cnt++;
		s->beliefs[p].sum += s->exclusive[p];
		s->beliefs[p].sum_sq += s->exclusive[p] * s->exclusive[p];
	}
}

/* ---- beliefs */

static double variance_of(const struct belief *b)
{
	double mean;

	if (b->cnt < 2)
		return 0;
	mean = b->sum / (double)b->cnt;
	return fmax(0, b->sum_sq / (double)b->cnt - mean * mean);
}

static int by_value(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

static double mean_of(const struct belief *b)
{
	return b->a / (b->a + b->b);
}

static void update(struct astraea *s)
{
	struct replay *r = s->job->r;
	uint32_t round = s->job->ret->round_cnt;
	uint32_t periods = round < PERIODS ? round : PERIODS;
	double most = 0, average = 0;

	for (uint32_t p = 0; p < r->point_cnt; p++)
		most = fmax(most, variance_of(&s->beliefs[p]));
	s->most[round % PERIODS] = most;
	for (uint32_t i = 0; i < periods; i++)
		average += s->most[(round - i) % PERIODS] / periods;
	for (uint32_t p = 0; p < r->point_cnt; p++) {
		struct belief *b = &s->beliefs[p];
		double use = average > 0 ? fmin(1, variance_of(b) / average) : 0;

		for (uint64_t n = (b->cnt + SAMPLES_EACH - 1) / SAMPLES_EACH; n > 0; n--) {
			if (draw(s) < use)
				b->a++;
			else
				b->b++;
		}
		b->cnt = 0;
		b->sum = b->sum_sq = 0;
	}
}

static void set_probabilities(struct astraea *s)
{
	struct replay *r = s->job->r;
	uint32_t cnt = 0;
	double bar;

	for (uint32_t p = 0; p < r->point_cnt; p++)
		if (r->known[p])
			s->means[cnt++] = mean_of(&s->beliefs[p]);
	if (!cnt)
		return;
	qsort(s->means, cnt, sizeof(*s->means), by_value);
	bar = s->means[(size_t)(cnt - 1) * PERCENTILE / 100];
	for (uint32_t p = 0; p < r->point_cnt; p++) {
		unsigned above = 0;

		for (unsigned i = 0; r->known[p] && i < DRAWS; i++)
			above += draw_beta(s, &s->beliefs[p]) > bar;
		s->beliefs[p].probability = fmax(FLOOR, (double)above / DRAWS);
	}
}

static void one_round(struct astraea *s)
{
	struct replay_job *job = s->job;
	struct replay *r = job->r;

	for (uint32_t i = 0; i < r->opts.batch; i++) {
		struct arena work = {0};
		struct trace full, seen;

		for (uint32_t p = 0; p < r->point_cnt; p++)
			job->on[p] = r->known[p] && draw(s) < s->beliefs[p].probability ?
					     r->known[p] : 0;
		replay_trace(r, job->ret->round_cnt, i, &work, &full, &job->ret->hits);
		replay_show(job, &full, &work, &seen);
		learn_from(s, &seen, &work);
		arena_release(&work);
	}
	update(s);
	set_probabilities(s);
}

/* ---- the run */

struct believed {
	double mean;
	uint32_t point;
};

static int by_mean(const void *pa, const void *pb, void *ctx)
{
	const struct believed *a = pa, *b = pb;
	const struct replay *r = ctx;

	if (a->mean > b->mean || a->mean < b->mean)
		return a->mean > b->mean ? -1 : 1;
	return points_cmp(r->in.points, r->in.strings, a->point, b->point);
}

static void rank(struct astraea *s, uint32_t since)
{
	struct replay_job *job = s->job;
	struct replay *r = job->r;
	struct believed *order = ARENA_ARRAY(job->arena, struct believed, r->point_cnt);
	struct replay_located *l = ARENA_ARRAY(job->arena, struct replay_located, r->point_cnt);
	uint32_t cnt = 0;

	for (uint32_t p = 0; p < r->point_cnt; p++)
		if (r->known[p])
			order[cnt++] = (struct believed){mean_of(&s->beliefs[p]), p};
	if (cnt)
		qsort_r(order, cnt, sizeof(*order), by_mean, r);
	for (uint32_t i = 0; i < cnt; i++)
		l[i] = (struct replay_located){.from = {order[i].point, 0},
					       .to = {order[i].point, 1},
					       .owner = order[i].point,
					       .round = since, .share = order[i].mean};
	job->ret->located = l;
	job->ret->located_cnt = cnt;
}

void replay_astraea_run(struct replay_job *job)
{
	struct replay *r = job->r;
	struct arena *a = job->arena;
	struct astraea s = {.job = job, .beliefs = ARENA_ARRAY(a, struct belief, r->point_cnt),
			    .exclusive = ARENA_ARRAY(a, double, r->point_cnt),
			    .met = ARENA_ARRAY(a, bool, r->point_cnt),
			    .means = ARENA_ARRAY(a, double, r->point_cnt)};
	uint32_t first = FOREST_NONE, since = 1;

	for (uint32_t p = 0; p < r->point_cnt; p++)
		s.beliefs[p] = (struct belief){.a = 1, .b = 1, .probability = 1};
	set_probabilities(&s);
	while (replay_next_round(job)) {
		one_round(&s);
		rank(&s, since);
		if (job->ret->located_cnt && job->ret->located[0].owner != first) {
			first = job->ret->located[0].owner;
			since = job->ret->round_cnt;
		}
		job->ret->ended = job->ret->round_cnt - since >= PERIODS;
	}
	rank(&s, since);
	/* sampled points count by how often; the floor is what is always on */
	job->ret->always_cnt = 0;
	for (uint32_t p = 0; p < r->point_cnt; p++)
		job->ret->enabled_cnt += replay_count(r, r->known[p]) * s.beliefs[p].probability;
	job->ret->on_cnt = job->ret->enabled_cnt;
}
