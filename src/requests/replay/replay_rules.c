/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simple rules to compare with.  Each round's batch is tallied by edge of
 * the critical path as it is seen; edges are ranked by one number; the first
 * is split by the tracepoint that lies in its middle (or, by chance, any is
 * switched on), until the first has nothing left in it.
 *
 * These rules get what is hidden on an edge from the very traces they are
 * shown, which no rule in the field could know so well: they do better here
 * than there.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"
#include "requests/graph/critical.h"
#include "requests/graph/graph.h"
#include "requests/replay/replay_int.h"
#include "requests/graph/mask.h"

enum {
	GROUP_MORE_THAN = 3,	/* traces, as in the published code */
	LOCATED_MAX = 16,
};

/* Groups whose times vary less are let be, as in the published code. */
#define GROUP_CV 0.05

struct group {			/* traces that are compared with one another */
	__int128 sum, sum_sq;
	uint64_t cnt;
};

struct vote {
	uint32_t edge;
	struct sided one;
	uint32_t cnt;
};

struct edge {
	uint32_t group;
	struct forest_event from, to;
	uint32_t owner;
	uint32_t ran;		/* with everything on; FOREST_NONE: something is hidden */
	__int128 sum, sum_sq, sum_with_total;
	__int128 calm_sum;	/* over the undisturbed traces */
	double score;
	uint32_t votes;		/* traces in which something is hidden in it */
};

struct tally {
	struct replay_job *job;
	struct arena arena;	/* of one trace at a time */
	bool by_path;		/* groups are paths; else request types */
	struct hmap groups_by, edges_by, votes_by;
	VEC(struct group) groups;
	VEC(struct group) calm;	/* parallel to groups */
	VEC(struct edge) edges;
	VEC(struct vote) votes;
};

static void tally_release(struct tally *t)
{
	hmap_release(&t->groups_by);
	hmap_release(&t->edges_by);
	hmap_release(&t->votes_by);
	vec_release(&t->groups);
	vec_release(&t->calm);
	vec_release(&t->edges);
	vec_release(&t->votes);
	arena_release(&t->arena);
}

static uint32_t group_of(struct tally *t, uint64_t hash)
{
	uint64_t *slot = hmap_slot(&t->groups_by, hash);

	if (!*slot) {
		vec_add(&t->groups);
		vec_add(&t->calm);
		*slot = t->groups.cnt;
	}
	return (uint32_t)*slot - 1;
}

static uint32_t edge_of(struct tally *t, uint32_t group, const struct edge *like)
{
	uint64_t ends = hash_pair((uint64_t)like->from.point << 2 | like->from.kind,
				  (uint64_t)like->to.point << 2 | like->to.kind);
	uint64_t *slot = hmap_slot(&t->edges_by, hash_pair(hash_pair(group, like->owner), ends));

	if (!*slot) {
		struct edge *e = vec_add(&t->edges);

		*e = *like;
		e->group = group;
		e->ran = FOREST_NONE;
		*slot = t->edges.cnt;
	}
	return (uint32_t)*slot - 1;
}

/* A trace and its critical path. */
struct walk {
	struct trace trace;
	struct graph graph;
	struct cpath path;
};

static bool walk_make(struct tally *t, struct walk *w)
{
	struct replay *r = t->job->r;
	struct graph_stats stats = {0};

	if (graph_build(&w->trace, r->in.points, r->in.strings, &t->arena, &w->graph, &stats) < 0)
		return false;
	w->graph.bins = bins_of(&r->opts.control.keys, &w->trace, r->in.strings, &t->arena);
	return critical_path(&w->graph, r->in.points, &t->arena, &w->path) == 0;
}

static uint64_t place_key(const struct trace *t, const struct cstep *s)
{
	return hash_pair(t->spans[s->span].id, s->kind);
}

/* The sides to enable to see the step. */
static struct sided sided_of(const struct replay_job *job, const struct cstep *s)
{
	const struct replay *r = job->r;
	uint8_t sides = r->opts.control.apart ? side_of(s->kind) : SIDES_BOTH;

	return (struct sided){s->point, sides & r->known[s->point] & ~job->on[s->point]};
}

/*
 * The tracepoint in the middle of what the full path has between two seen steps, else who
 * ran there.
 */
static bool hidden_between(const struct tally *t, const struct walk *full,
			   const struct hmap *places, const uint64_t *ends, struct sided *ret,
			   uint32_t *ret_ran)
{
	const struct cstep *steps = full->path.steps;
	uint64_t a, b;
	uint32_t cnt = 0;

	*ret_ran = FOREST_NONE;
	if (!hmap_get(places, ends[0], &a) || !hmap_get(places, ends[1], &b))
		return false;
	for (uint64_t i = a + 1; i < b; i++)
		cnt += sided_of(t->job, &steps[i]).sides != 0;
	for (uint64_t i = a + 1, left = cnt / 2; i < b; i++) {
		*ret = sided_of(t->job, &steps[i]);
		if (ret->sides && !left--)
			return true;
	}
	if (b == a + 1)
		*ret_ran = steps[b].owner_point;
	return false;
}

static void vote(struct tally *t, uint32_t edge, struct sided one)
{
	uint64_t *slot = hmap_slot(&t->votes_by,
				   hash_pair(edge, (uint64_t)one.point << 2 | one.sides));

	if (!*slot) {
		vec_push(&t->votes, ((struct vote){edge, one, 0}));
		*slot = t->votes.cnt;
	}
	t->votes.items[*slot - 1].cnt++;
	t->edges.items[edge].votes++;
}

static void tally_path(struct tally *t, const struct walk *seen, const struct walk *full,
		       bool calm)
{
	const struct cpath *p = &seen->path;
	uint32_t g = group_of(t, t->by_path ? p->hash : seen->graph.type_hash);
	struct group *group = calm ? &t->calm.items[g] : &t->groups.items[g];
	struct hmap places = {0};

	group->cnt++;
	group->sum += p->total_ns;
	group->sum_sq += (__int128)p->total_ns * p->total_ns;
	for (uint32_t i = 0; !calm && i < full->path.step_cnt; i++)
		hmap_put(&places, place_key(&full->trace, &full->path.steps[i]), i);
	for (uint32_t i = 1; i < p->step_cnt; i++) {
		const struct cstep *a = &p->steps[i - 1], *b = &p->steps[i];
		struct edge like = {.from = {a->point, a->kind}, .to = {b->point, b->kind},
				    .owner = seen->graph.nodes[seen->graph.spans[b->owner].entry]
						     .point};
		uint32_t idx = edge_of(t, g, &like), ran;
		struct edge *e = &t->edges.items[idx];
		struct sided hidden;
		uint64_t ends[2] = {place_key(&seen->trace, a), place_key(&seen->trace, b)};

		if (calm) {
			e->calm_sum += b->edge_ns;
			continue;
		}
		e->sum += b->edge_ns;
		e->sum_sq += (__int128)b->edge_ns * b->edge_ns;
		e->sum_with_total += (__int128)b->edge_ns * p->total_ns;
		if (hidden_between(t, full, &places, ends, &hidden, &ran))
			vote(t, idx, hidden);
		else if (ran != FOREST_NONE)
			e->ran = ran;
	}
	hmap_release(&places);
}

/* One round of the live traces, or of the undisturbed ones. */
static void tally_batch(struct tally *t, bool calm)
{
	struct replay_job *job = t->job;
	struct replay *r = job->r;
	size_t cnt = calm ? r->in.learn_cnt : r->opts.batch;

	for (uint32_t i = 0; i < cnt; i++) {
		struct walk full = {0}, seen = {0};

		arena_clear(&t->arena);
		if (calm) {
			trace_strip(r->in.learn[i], job->on, r->in.points, r->in.strings,
				    &t->arena, &seen.trace);
		} else {
			replay_trace(r, job->ret->round_cnt, i, &t->arena, &full.trace,
				     &job->ret->hits);
			replay_show(job, &full.trace, &t->arena, &seen.trace);
		}
		if (walk_make(t, &seen) && (calm || walk_make(t, &full)))
			tally_path(t, &seen, &full, calm);
	}
}

/* n times the sum of products less the product of sums, over n squared. */
static double covariance(__int128 with, __int128 sum_a, __int128 sum_b, uint64_t n)
{
	long double mean_a = (long double)sum_a / (long double)n;
	long double mean_b = (long double)sum_b / (long double)n;

	return (double)((long double)with / (long double)n - mean_a * mean_b);
}

static bool group_counts(const struct tally *t, const struct group *g)
{
	double mean, variance;

	if (!t->by_path)
		return g->cnt > 0;
	if (g->cnt <= GROUP_MORE_THAN)
		return false;
	mean = (double)g->sum / (double)g->cnt;
	variance = covariance(g->sum_sq, g->sum, g->sum, g->cnt);
	return variance > GROUP_CV * GROUP_CV * mean * mean;
}

static double score_of(const struct tally *t, const struct edge *e)
{
	const struct group *g = &t->groups.items[e->group], *calm = &t->calm.items[e->group];
	double variance;

	if (!group_counts(t, g))
		return 0;
	switch (t->job->ret->strategy) {
	case REPLAY_VARIANCE:
		/* An edge of a path is in each of its group's traces. */
		return covariance(e->sum_sq, e->sum, e->sum, g->cnt);
	case REPLAY_SHIFT:
		if (!calm->cnt)
			return 0;
		return (double)e->sum / (double)g->cnt - (double)e->calm_sum / (double)calm->cnt;
	default:
		variance = covariance(g->sum_sq, g->sum, g->sum, g->cnt);
		if (variance <= 0)
			return 0;
		/* the request type that varies most comes first */
		return covariance(e->sum_with_total, e->sum, g->sum, g->cnt) / variance *
		       ((double)g->cnt / t->job->r->opts.batch);
	}
}

struct ranking {
	const struct points *points;
	const struct strtab *strings;
};

static int by_score(const void *pa, const void *pb, void *ctx)
{
	const struct edge *a = pa, *b = pb;
	const struct ranking *r = ctx;
	int cmp;

	if (a->score > b->score || a->score < b->score)
		return a->score > b->score ? -1 : 1;
	cmp = points_cmp(r->points, r->strings, a->from.point, b->from.point);
	return cmp ? cmp : points_cmp(r->points, r->strings, a->to.point, b->to.point);
}

/* Ties by text, the begin before the end. */
static bool comes_before(const struct replay *r, struct sided a, struct sided b)
{
	int cmp = points_cmp(r->in.points, r->in.strings, a.point, b.point);

	return cmp ? cmp < 0 : a.sides < b.sides;
}

/* The tracepoint most traces have in the middle of the edge; no sides: nothing is hidden. */
static struct sided middle_of(const struct tally *t, uint32_t edge)
{
	const struct replay *r = t->job->r;
	const struct vote *best = NULL;

	for (size_t i = 0; i < t->votes.cnt; i++) {
		const struct vote *v = &t->votes.items[i];

		if (v->edge != edge)
			continue;
		if (!best || v->cnt > best->cnt ||
		    (v->cnt == best->cnt && comes_before(r, v->one, best->one)))
			best = v;
	}
	return best ? best->one : (struct sided){FOREST_NONE, 0};
}

static struct sided random_point(const struct replay_job *job)
{
	const struct replay *r = job->r;
	struct sided best = {FOREST_NONE, 0};
	uint64_t best_hash = 0;

	for (uint32_t p = 0; p < r->point_cnt; p++) {
		uint8_t last = r->opts.control.apart ? SIDE_END : SIDE_BEGIN;

		for (uint8_t side = SIDE_BEGIN; side <= last; side <<= 1) {
			uint8_t sides = r->opts.control.apart ? side : SIDES_BOTH;
			/* another draw than the order's */
			uint64_t hash = hash_pair(r->opts.seed ^ 0x7261,
						  r->in.points->items.items[p].hash + side - 1);

			sides &= r->known[p] & ~job->on[p];
			if (!sides || (best.sides && hash >= best_hash))
				continue;
			best = (struct sided){p, sides};
			best_hash = hash;
		}
	}
	return best;
}

static void keep_ranking(struct tally *t, struct edge *ranked, uint32_t cnt)
{
	struct replay_job *job = t->job;
	struct replay_located *l = ARENA_ARRAY(job->arena, struct replay_located, LOCATED_MAX);
	uint32_t kept = 0;
	double all = 0;

	for (uint32_t i = 0; i < cnt; i++)
		all += ranked[i].score > 0 ? ranked[i].score : 0;
	for (uint32_t i = 0; i < cnt && kept < LOCATED_MAX && ranked[i].score > 0; i++)
		l[kept++] = (struct replay_located){
			.from = ranked[i].from, .to = ranked[i].to,
			.owner = ranked[i].ran != FOREST_NONE ? ranked[i].ran : ranked[i].owner,
			.round = job->ret->round_cnt, .hidden_cnt = ranked[i].votes > 0,
			.share = ranked[i].score / all};
	job->ret->located = l;
	job->ret->located_cnt = kept;
}

/* Ranks the edges; what to switch on next, no sides when the first has nothing hidden. */
static struct sided decide(struct tally *t)
{
	struct replay_job *job = t->job;
	struct ranking order = {job->r->in.points, job->r->in.strings};
	struct edge *ranked;
	uint32_t first = 0, cnt = (uint32_t)t->edges.cnt;

	for (uint32_t i = 0; i < cnt; i++) {
		struct edge *e = &t->edges.items[i];

		e->score = score_of(t, e);
		if (by_score(e, &t->edges.items[first], &order) < 0)
			first = i;
	}
	ranked = arena_dup(&t->arena, t->edges.items, cnt * sizeof(*ranked));
	if (cnt)
		qsort_r(ranked, cnt, sizeof(*ranked), by_score, &order);
	keep_ranking(t, ranked, cnt);
	if (!cnt || t->edges.items[first].score <= 0)
		return (struct sided){FOREST_NONE, 0};
	return middle_of(t, first);
}

/* Groups too small to tell anything: more of the same may. */
static bool nothing_seen(const struct replay_job *job)
{
	return job->ret->located_cnt == 0;
}

static struct sided one_round(struct replay_job *job)
{
	struct tally t = {.job = job, .by_path = job->ret->strategy == REPLAY_VARIANCE};
	struct sided next;

	tally_batch(&t, false);
	if (job->ret->strategy == REPLAY_SHIFT)
		tally_batch(&t, true);
	next = decide(&t);
	tally_release(&t);
	return next;
}

void replay_rule_run(struct replay_job *job)
{
	struct replay *r = job->r;
	bool all = job->ret->strategy == REPLAY_ALL;

	/* Against themselves no traces have moved. */
	if (job->ret->strategy == REPLAY_SHIFT && r->in.learn == r->in.live)
		return;
	for (uint32_t p = 0; all && p < r->point_cnt; p++)
		replay_switch_on(job, (struct sided){p, r->known[p]});
	while (replay_next_round(job)) {
		struct sided next = one_round(job);

		if (!next.sides && nothing_seen(job) && !all)
			continue;
		job->ret->ended = !next.sides;
		if (next.sides && job->ret->strategy == REPLAY_RANDOM)
			next = random_point(job);
		if (next.sides)
			replay_switch_on(job, next);
	}
}
