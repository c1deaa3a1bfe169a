/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/search/pick_point.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "requests/graph/graph.h"
#include "requests/graph/span_ends.h"

/* A span's own edges share its weight by their time, and no edge is below this part of it. */
#define EDGE_FLOOR 0.05
/*
 * What a span does after a call has come back weighs so much of what it does
 * before: locks, connections and look-ups are waited for on the way in.
 */
#define AFTER_EXIT 0.25
/* Price of a tracepoint that was on before: nothing new, but a round. */
#define PAID_PRICE 0.2

/* ---- the paper's two */

/* The sides to enable for a step of a path, or an event. */
static struct sided sided_of(const struct search *s, bool apart, uint32_t point, uint32_t kind)
{
	return (struct sided){point, s->known[point] & (apart ? side_of(kind) : SIDES_BOTH)};
}

static bool same_sided(struct sided a, struct sided b)
{
	return a.point == b.point && a.sides == b.sides;
}

static bool picked_before(const struct sided *picks, uint32_t cnt, struct sided one)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (same_sided(picks[i], one))
			return true;
	return false;
}

/* The middle of those that are not on yet, each tracepoint at its first place. */
static void middle_pick(const struct search *s, const struct space_path *path,
			const uint32_t *steps, uint32_t cnt, const uint8_t *on, bool apart,
			struct pick *ret)
{
	struct sided left[SPACE_KEYS_MAX * 4];
	uint32_t left_cnt = 0;

	for (uint32_t i = 0; i < cnt && left_cnt < SPACE_KEYS_MAX * 4; i++) {
		const struct space_step *step = &path->steps[steps[i]];
		struct sided one = sided_of(s, apart, step->point, step->kind);

		if (one.sides & ~on[one.point] && !(one.sides & s->barred[one.point]) &&
		    !picked_before(left, left_cnt, one))
			left[left_cnt++] = one;
	}
	*ret = (struct pick){.point = FOREST_NONE, .hidden_cnt = left_cnt};
	if (left_cnt) {
		ret->point = left[left_cnt / 2].point;
		ret->sides = left[left_cnt / 2].sides;
	}
}

void search_flat(const struct search *s, const struct space_path *path, uint32_t from,
		 uint32_t to, const uint8_t *on, struct pick *ret)
{
	uint32_t steps[SEARCH_STEPS_MAX], cnt = 0;

	for (uint32_t i = from + 1; i < to && cnt < SEARCH_STEPS_MAX; i++)
		steps[cnt++] = i;
	middle_pick(s, path, steps, cnt, on, s->apart, ret);
}

/* The step in which the span of an exit was entered; the step itself for others. */
static uint32_t entry_of(const struct space_path *path, uint32_t step)
{
	const struct space_step *own = &path->steps[step];

	for (uint32_t i = step; own->kind == NODE_EXIT && i-- > 0;)
		if (path->steps[i].kind == NODE_ENTRY && path->steps[i].point == own->point &&
		    path->steps[i].parent == own->parent)
			return i;
	return step;
}

static bool is_around(const struct space_path *path, uint32_t span, uint32_t step)
{
	for (uint32_t up = entry_of(path, step); up != UINT32_MAX; up = path->steps[up].parent)
		if (up == span)
			return true;
	return span == UINT32_MAX;
}

void search_hierarchical(const struct search *s, const struct space_path *path, uint32_t from,
			 uint32_t to, const uint8_t *on, struct pick *ret)
{
	uint32_t steps[SEARCH_STEPS_MAX], cnt = 0;
	uint32_t around = path->steps[from].kind == NODE_ENTRY ? from : path->steps[from].parent;

	/* The deepest span that both ends are in, and its children between them. */
	while (around != UINT32_MAX && !is_around(path, around, to))
		around = path->steps[around].parent;
	for (uint32_t i = from + 1; i < to && cnt < SEARCH_STEPS_MAX; i++)
		if (path->steps[i].parent == around)
			steps[cnt++] = i;
	middle_pick(s, path, steps, cnt, on, false, ret);
}

/* ---- ours */

/* One way without what is barred: event i is between edges i and i + 1. */
struct line {
	struct sided *events;
	uint32_t cnt;
	double *before;		/* weight of the edges before edge i: cnt + 2 */
	double *cost;		/* (cnt + 2)²: see costs_fill */
	double share;
};

static double trust_of(const struct search *s, uint32_t point)
{
	return s->trust && point != FOREST_NONE ? s->trust[point] : 1;
}

/* Its own edges share a span's weight by their time; those after a call has come back get less. */
static double own_weight(const struct stretch *w, uint32_t edge, struct forest_event from)
{
	const struct forest_event *before = edge ? &w->events[edge - 1] : &from;
	double sum = 0, top = 0, own = w->mean_ns[edge];

	for (uint32_t i = 0; i <= w->event_cnt; i++) {
		if (w->owners[i] != w->owners[edge])
			continue;
		sum += w->mean_ns[i];
		top = w->mean_ns[i] > top ? w->mean_ns[i] : top;
	}
	own = (own + EDGE_FLOOR * top + 1) / (sum + EDGE_FLOOR * top + 1);
	return before->kind == NODE_EXIT ? own * AFTER_EXIT : own;
}

/* New trouble is as likely in one span as in the next. */
static void fresh_add(const struct search *s, const struct stretch *w, struct forest_event from,
		      double *weight)
{
	double all = 0;

	for (uint32_t i = 0; i <= w->event_cnt; i++) {
		weight[i] = own_weight(w, i, from) * trust_of(s, w->owners[i]);
		all += weight[i];
	}
	for (uint32_t i = 0; i <= w->event_cnt && all > 0; i++)
		weight[i] *= s->fresh / all;
}

static void known_add(const struct search *s, const struct stretch *w, double *weight)
{
	double all = 0;

	for (uint32_t i = 0; i <= w->event_cnt; i++)
		all += w->cov[i] > 0 ? w->cov[i] : 0;
	for (uint32_t i = 0; i <= w->event_cnt && all > 0; i++)
		weight[i] += w->cov[i] > 0 ? (1 - s->fresh) * w->cov[i] / all : 0;
}

static void line_make(const struct search *s, const struct stretch *w, struct forest_event from,
		      struct arena *arena, struct line *ret)
{
	double *weight = ARENA_ARRAY(arena, double, w->event_cnt + 1), sum = 0;

	fresh_add(s, w, from, weight);
	known_add(s, w, weight);
	ret->events = ARENA_ARRAY(arena, struct sided, w->event_cnt + 1);
	ret->before = ARENA_ARRAY(arena, double, w->event_cnt + 2);
	ret->share = w->share;
	for (uint32_t i = 0; i < w->event_cnt; i++) {
		struct sided one = sided_of(s, s->apart, w->events[i].point, w->events[i].kind);

		sum += weight[i];
		if (!one.sides || s->barred[one.point] & one.sides)
			continue;
		ret->events[ret->cnt++] = one;
		ret->before[ret->cnt] = sum;
	}
	ret->before[ret->cnt + 1] = sum + weight[w->event_cnt];
}

/* Weight of the edges from event a to event b; 0 and cnt + 1 are the ends. */
static double weight_of(const struct line *l, uint32_t a, uint32_t b)
{
	return l->before[b] - l->before[a];
}

static double cost_of(const struct line *l, uint32_t a, uint32_t b)
{
	if (b <= a + 1)
		return 0;
	if (l->cost)
		return l->cost[a * (l->cnt + 2) + b];
	/* Each tracepoint cuts into three at best. */
	return weight_of(l, a, b) * log2(b - a) / log2(3);
}

/* Cost that remains, times the weight, when the point is on between events a and b. */
static double cost_with(const struct line *l, uint32_t a, uint32_t b, struct sided one)
{
	double cost = 0;
	uint32_t from = a;

	for (uint32_t i = a + 1; i < b; i++) {
		if (!same_sided(l->events[i - 1], one))
			continue;
		cost += cost_of(l, from, i);
		from = i;
	}
	return cost + cost_of(l, from, b);
}

/* One that was on before costs its round alone. */
static double price_on(const struct search *s, struct sided one)
{
	return s->paid && !(one.sides & ~s->paid[one.point]) ? PAID_PRICE : 1;
}

/* The least that finding it costs between any two events, times their weight; short ones first. */
static void costs_fill(const struct search *s, struct line *l, struct arena *arena)
{
	double *cost;

	if (l->cnt > SEARCH_EXACT_MAX)
		return;
	cost = ARENA_ARRAY(arena, double, (l->cnt + 2) * (l->cnt + 2));
	l->cost = cost;
	for (uint32_t len = 2; len <= l->cnt + 1; len++) {
		for (uint32_t a = 0; a + len <= l->cnt + 1; a++) {
			double best = INFINITY, all = weight_of(l, a, a + len);

			for (uint32_t i = a + 1; i < a + len; i++) {
				double c = cost_with(l, a, a + len, l->events[i - 1]) +
					   all * price_on(s, l->events[i - 1]);

				best = c < best ? c : best;
			}
			cost[a * (l->cnt + 2) + a + len] = best;
		}
	}
}

static bool line_has(const struct line *l, struct sided one)
{
	return picked_before(l->events, l->cnt, one);
}

/* Tracepoints to be expected over all ways if the point is switched on now. */
static double price_of(const struct search *s, const struct line *lines, uint32_t cnt,
		       struct sided one)
{
	double price = price_on(s, one);

	for (uint32_t i = 0; i < cnt; i++) {
		const struct line *l = &lines[i];
		double all = weight_of(l, 0, l->cnt + 1);

		if (all <= 0 || !l->cnt)
			continue;
		price += l->share / all * (line_has(l, one) ? cost_with(l, 0, l->cnt + 1, one)
							     : cost_of(l, 0, l->cnt + 1));
	}
	return price;
}

static bool comes_after(const struct search *s, struct sided one, const struct pick *pick)
{
	int cmp = points_cmp(s->points, s->strings, one.point, pick->point);

	return cmp ? cmp > 0 : one.sides > pick->sides;
}

static void lines_weigh(const struct search *s, const struct line *lines, uint32_t cnt,
			uint8_t *met, struct pick *ret)
{
	for (uint32_t i = 0; i < cnt; i++) {
		for (uint32_t k = 0; k < lines[i].cnt; k++) {
			struct sided one = lines[i].events[k];
			double price;

			if (met[one.point] & one.sides)
				continue;
			met[one.point] |= one.sides;
			ret->hidden_cnt++;
			price = price_of(s, lines, cnt, one);
			if (ret->point != FOREST_NONE &&
			    (price > ret->cost + 1e-9 ||
			     (price > ret->cost - 1e-9 && comes_after(s, one, ret))))
				continue;
			ret->point = one.point;
			ret->sides = one.sides;
			ret->cost = price;
		}
	}
}

void search_hedge(const struct search *s, const struct stretches *ways, struct arena *arena,
		  struct pick *ret)
{
	struct line *lines = ARENA_ARRAY(arena, struct line, ways->cnt + 1);
	uint8_t *met = ARENA_ARRAY(arena, uint8_t, s->points->items.cnt + 1);

	*ret = (struct pick){.point = FOREST_NONE};
	for (uint32_t i = 0; i < ways->cnt; i++) {
		line_make(s, &ways->items[i], ways->from, arena, &lines[i]);
		/* Tables for what is common; a rare way is only guessed at. */
		if (i < 4)
			costs_fill(s, &lines[i], arena);
	}
	lines_weigh(s, lines, ways->cnt, met, ret);
}
