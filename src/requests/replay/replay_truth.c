/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there is to find: all live traces once, with everything on.  A delay at
 * an entry is in the edge after it, one at an exit in the edge before it; the
 * two ends of that edge are what at least must be on to tell it from others.
 */
#include "base/vec.h"
#include "requests/graph/critical.h"
#include "requests/forest/evidence.h"
#include "requests/graph/graph.h"
#include "requests/replay/replay_int.h"

struct ends {			/* of an edge that a truth's delay was in */
	uint32_t truth;
	struct forest_event events[2];
	double ns;
};

struct truths {
	struct replay *r;
	struct arena arena;	/* of one trace at a time */
	double ns[INJECT_MAX_CNT];
	double all_ns;
	VEC(struct ends) ends;
};

static uint32_t truth_of(struct replay *r, uint32_t item)
{
	const struct injection *j = &r->in.plan->items[item];
	uint32_t p = points_add(r->in.points, r->in.strings, j->service, j->name);

	for (uint32_t i = 0; i < r->truth_cnt; i++)
		if (r->truths[i].point == p)
			return i;
	r->truths[r->truth_cnt].point = p;
	return r->truth_cnt++;
}

static void count_ends(struct truths *t, const struct ends *new)
{
	VEC_FOREACH(&t->ends, e) {
		if (e->truth != new->truth || !event_same(e->events[0], new->events[0]) ||
		    !event_same(e->events[1], new->events[1]))
			continue;
		e->ns += new->ns;
		return;
	}
	vec_push(&t->ends, *new);
}

static struct forest_event event_of(const struct cstep *s)
{
	return (struct forest_event){s->point, s->kind};
}

static void count_hit(struct truths *t, const struct cpath *path, const struct inject_hit *hit)
{
	uint32_t truth = truth_of(t->r, hit->item);

	for (uint32_t i = 0; i < path->step_cnt; i++) {
		const struct cstep *s = &path->steps[i];
		bool late = s->kind == NODE_EXIT;
		uint32_t other = late ? i - 1 : i + 1;

		if (s->span != hit->span || (s->kind != NODE_NOTE && late != hit->late))
			continue;
		if (other >= path->step_cnt)
			return;
		t->ns[truth] += (double)hit->ns;
		t->all_ns += (double)hit->ns;
		count_ends(t, &(struct ends){truth, {event_of(&path->steps[late ? other : i]),
						     event_of(&path->steps[late ? i : other])},
					     (double)hit->ns});
		return;
	}
}

static void count_trace(struct truths *t, uint32_t nth)
{
	struct replay *r = t->r;
	struct inject_hits hits = {0};
	struct graph_stats stats = {0};
	struct graph graph;
	struct trace full;
	struct cpath path;

	arena_clear(&t->arena);
	replay_trace(r, 1, nth, &t->arena, &full, &hits);
	if (graph_build(&full, r->in.points, r->in.strings, &t->arena, &graph, &stats) < 0 ||
	    critical_path(&graph, r->in.points, &t->arena, &path) < 0)
		return;
	for (uint32_t i = 0; i < hits.last_cnt; i++)
		count_hit(t, &path, &hits.last[i]);
}

/* Counts, for each truth, the edge that had most of its delay. */
static void count_least(struct truths *t)
{
	struct replay *r = t->r;
	uint8_t *need = ARENA_ARRAY(&t->arena, uint8_t, r->in.points->items.cnt);

	for (uint32_t i = 0; i < r->truth_cnt; i++) {
		const struct ends *best = NULL;

		VEC_FOREACH(&t->ends, e)
			if (e->truth == i && r->truths[i].felt && (!best || e->ns > best->ns))
				best = e;
		for (unsigned k = 0; best && k < 2; k++)
			need[best->events[k].point] |= side_of(best->events[k].kind);
	}
	for (uint32_t p = 0; p < r->in.points->items.cnt; p++)
		r->least_cnt += replay_count(r, p < r->point_cnt ? need[p] & ~r->always[p]
								 : need[p]);
}

void replay_find_truths(struct replay *r)
{
	struct truths t = {.r = r};

	if (!r->in.plan)
		return;
	for (uint32_t i = 0; i < r->in.plan->cnt; i++)
		truth_of(r, i);
	for (uint32_t i = 0; i < r->in.live_cnt; i++)
		count_trace(&t, i);
	for (uint32_t i = 0; i < r->truth_cnt; i++) {
		r->truths[i].share = t.all_ns > 0 ? t.ns[i] / t.all_ns : 0;
		r->truths[i].felt = r->truths[i].share >= REPLAY_FELT_MIN;
	}
	count_least(&t);
	vec_release(&t.ends);
	arena_release(&t.arena);
}
