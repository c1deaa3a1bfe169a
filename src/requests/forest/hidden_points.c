/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/forest/hidden_points.h"

#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "requests/graph/span_ends.h"

/* The events between in one sample, and their times. */
struct way {
	struct forest_event *events;
	uint32_t *owners;
	int64_t *took_ns;
	uint32_t cnt;
	double total_ns;
	uint64_t hash;
};

/* Sums of one kind of way. */
struct sums {
	struct stretch s;
	double total_ns;	/* of the requests */
	double *prod;		/* of each edge with the request's time */
	struct sums *next;
};

struct finder {
	const struct hidden_query *q;
	struct arena *arena;
	struct hmap by_hash;
	struct sums *all;
	uint32_t cnt, trace_cnt;
	struct way way;
};

void known_begin(struct known *k)
{
	const struct trace *t = k->full.trace;

	for (uint32_t i = 0; i < t->span_cnt; i++) {
		uint64_t *at;

		if (k->full.graph.spans[i].flags & GSPAN_DROPPED)
			continue;
		at = hmap_slot(&k->by_span,
			       hash_pair(t->spans[i].id, graph_point(&k->full.graph, i)));
		if (!*at)
			*at = i + 1;
	}
}

void known_release(struct known *k)
{
	hmap_release(&k->by_span);
}

/* The node of the whole trace that is the stripped one's. */
static uint32_t whole_node(const struct known *k, const struct seen *s, uint32_t node)
{
	const struct gnode *n = &s->graph.nodes[node];
	uint64_t at;

	if (!hmap_get(&k->by_span, hash_pair(s->trace->spans[n->span].id, n->point), &at))
		return GRAPH_NONE;
	return n->kind == NODE_EXIT ? k->full.graph.spans[at - 1].exit
				    : k->full.graph.spans[at - 1].entry;
}

static bool is_on(const struct hidden_query *q, const struct gnode *node)
{
	return q->on[node->point] & side_of(node->kind);
}

/* Back from b along the whole trace's critical preds to a, or to before it. */
static bool way_walk(struct finder *f, const struct known *k, uint32_t a, uint32_t b)
{
	const struct graph *g = &k->full.graph;
	struct way *w = &f->way;
	uint32_t cnt = 0, last = b;

	for (uint32_t n = graph_last_pred(g, b); n != GRAPH_NONE && n != a && n > a;
	     n = graph_last_pred(g, n)) {
		if (is_on(f->q, &g->nodes[n]))
			continue;
		if (cnt >= HIDDEN_EVENTS_MAX)
			return false;
		w->events[cnt] = (struct forest_event){g->nodes[n].point, g->nodes[n].kind};
		w->owners[cnt] = graph_owner(g, n, last);
		w->took_ns[cnt++] = g->nodes[last].at_ns - g->nodes[n].at_ns;
		last = n;
	}
	w->owners[cnt] = graph_owner(g, a, last);
	w->took_ns[cnt] = g->nodes[last].at_ns - g->nodes[a].at_ns;
	w->cnt = cnt;
	w->total_ns = (double)g->total_ns;
	return true;
}

/* From last to first: the way back turned round. */
static void way_turn(struct finder *f)
{
	struct way *w = &f->way;

	for (uint32_t i = 0, j = w->cnt; i + 1 < j; i++) {
		struct forest_event e = w->events[i];

		w->events[i] = w->events[--j];
		w->events[j] = e;
	}
	for (uint32_t i = 0, j = w->cnt; i < j; i++, j--) {
		int64_t t = w->took_ns[i];
		uint32_t o = w->owners[i];

		w->took_ns[i] = w->took_ns[j];
		w->took_ns[j] = t;
		w->owners[i] = w->owners[j];
		w->owners[j] = o;
	}
	w->hash = w->cnt;
	for (uint32_t i = 0; i < w->cnt; i++)
		w->hash = hash_pair(w->hash, f->q->points->items.items[w->events[i].point].hash +
						     w->events[i].kind);
}

static void way_count(struct finder *f)
{
	struct way *w = &f->way;
	uint64_t *at = hmap_slot(&f->by_hash, w->hash);
	struct sums *s = (struct sums *)(uintptr_t)*at;

	if (!s) {
		s = ARENA_NEW(f->arena, struct sums);
		*at = (uintptr_t)s;
		s->s.hash = w->hash;
		s->s.event_cnt = w->cnt;
		s->s.events = arena_dup(f->arena, w->events, w->cnt * sizeof(*w->events));
		s->s.owners = arena_dup(f->arena, w->owners, (w->cnt + 1) * sizeof(*w->owners));
		s->s.mean_ns = ARENA_ARRAY(f->arena, double, w->cnt + 1);
		s->s.cov = ARENA_ARRAY(f->arena, double, w->cnt + 1);
		s->prod = ARENA_ARRAY(f->arena, double, w->cnt + 1);
		s->next = f->all;
		f->all = s;
		f->cnt++;
	}
	s->s.cnt++;
	f->trace_cnt++;
	s->total_ns += w->total_ns;
	for (uint32_t i = 0; i <= w->cnt; i++) {
		s->s.mean_ns[i] += (double)w->took_ns[i];
		s->prod[i] += (double)w->took_ns[i] * w->total_ns;
	}
}

/* The edge from pred to node of the stripped trace is the one that is asked about. */
static bool edge_is(const struct hidden_query *q, const struct graph *g, uint32_t pred,
		    uint32_t node)
{
	const struct gnode *a = &g->nodes[pred], *b = &g->nodes[node];

	return a->point == q->from.point && a->kind == q->from.kind && b->point == q->to.point &&
	       b->kind == q->to.kind && graph_owner(g, pred, node) == q->owner;
}

static void edge_look(struct finder *f, uint32_t sample, uint32_t pred, uint32_t node)
{
	const struct known *k = &f->q->known[sample];
	const struct seen *s = &f->q->stripped[sample];
	uint32_t a, b;

	if (!edge_is(f->q, &s->graph, pred, node))
		return;
	a = whole_node(k, s, pred);
	b = whole_node(k, s, node);
	if (a == GRAPH_NONE || b == GRAPH_NONE || a >= b || !way_walk(f, k, a, b))
		return;
	way_turn(f);
	way_count(f);
}

static uint32_t step_node(const struct seen *s, uint32_t i)
{
	const struct gspan *span = &s->graph.spans[s->path.steps[i].span];

	return s->path.steps[i].kind == NODE_EXIT ? span->exit : span->entry;
}

static void critical_look(struct finder *f)
{
	for (uint32_t i = 0; i < f->q->known_cnt; i++) {
		const struct seen *s = &f->q->stripped[i];

		for (uint32_t k = 1; k < s->path.step_cnt; k++)
			edge_look(f, i, step_node(s, k - 1), step_node(s, k));
	}
}

/* Looks beside the edge where no sample's critical path has it. */
static void beside_look(struct finder *f)
{
	for (uint32_t i = 0; i < f->q->known_cnt; i++) {
		const struct graph *g = &f->q->stripped[i].graph;

		if (!f->q->stripped[i].path.step_cnt)
			continue;
		for (uint32_t n = 0; n < g->node_cnt; n++) {
			uint32_t pred = graph_last_pred(g, n);

			if (pred != GRAPH_NONE)
				edge_look(f, i, pred, n);
		}
	}
}

/* Looks before its end, back to anything that is seen, where no sample has it at all. */
static void before_look(struct finder *f)
{
	const struct hidden_query *q = f->q;

	for (uint32_t i = 0; i < q->known_cnt; i++) {
		const struct graph *g = &q->known[i].full.graph;

		if (!q->stripped[i].path.step_cnt)
			continue;
		for (uint32_t n = 0; n < g->node_cnt; n++) {
			uint32_t a = graph_last_pred(g, n);

			if (g->nodes[n].point != q->to.point || g->nodes[n].kind != q->to.kind)
				continue;
			while (a != GRAPH_NONE && !is_on(q, &g->nodes[a]))
				a = graph_last_pred(g, a);
			if (a == GRAPH_NONE || !way_walk(f, &q->known[i], a, n))
				continue;
			way_turn(f);
			way_count(f);
		}
	}
}

/* Or any two such events in this order, if there is nothing between those. */
static void apart_look(struct finder *f)
{
	const struct hidden_query *q = f->q;

	for (uint32_t i = 0; i < q->known_cnt; i++) {
		const struct graph *g = &q->known[i].full.graph;
		uint32_t a = GRAPH_NONE;

		if (!q->stripped[i].path.step_cnt)
			continue;
		for (uint32_t n = 0; n < g->node_cnt; n++) {
			const struct gnode *node = &g->nodes[n];

			if (a != GRAPH_NONE && node->point == q->to.point &&
			    node->kind == q->to.kind && way_walk(f, &q->known[i], a, n)) {
				way_turn(f);
				way_count(f);
				break;
			}
			if (node->point == q->from.point && node->kind == q->from.kind)
				a = n;
		}
	}
}

static int stretch_cmp(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	CMP(y->cnt, x->cnt);
	CMP(x->hash, y->hash);
	return 0;
}

static void answer_fill(struct finder *f, struct stretches *ret)
{
	struct stretch *items = ARENA_ARRAY(f->arena, struct stretch, f->cnt + 1);
	uint32_t cnt = 0;

	for (struct sums *s = f->all; s; s = s->next) {
		for (uint32_t i = 0; i <= s->s.event_cnt; i++) {
			s->s.mean_ns[i] /= s->s.cnt;
			s->s.cov[i] = s->prod[i] / s->s.cnt -
				      s->s.mean_ns[i] * (s->total_ns / s->s.cnt);
		}
		s->s.share = (double)s->s.cnt / f->trace_cnt;
		items[cnt++] = s->s;
	}
	if (cnt > 1)
		qsort(items, cnt, sizeof(*items), stretch_cmp);
	ret->from = f->q->from;
	ret->items = items;
	ret->cnt = cnt < HIDDEN_STRETCHES_MAX ? cnt : HIDDEN_STRETCHES_MAX;
	ret->trace_cnt = f->trace_cnt;
}

/* A way has no more events than its trace has nodes. */
static uint32_t events_max(const struct hidden_query *q)
{
	uint32_t max = 0;

	for (uint32_t i = 0; i < q->known_cnt; i++)
		if (q->known[i].full.graph.node_cnt > max)
			max = q->known[i].full.graph.node_cnt;
	return max < HIDDEN_EVENTS_MAX ? max : HIDDEN_EVENTS_MAX;
}

void hidden_find(const struct hidden_query *q, struct arena *arena, struct stretches *ret)
{
	struct finder f = {.q = q, .arena = arena};
	struct arena scratch = {0};
	size_t room = events_max(q) + (size_t)1;

	f.way.events = ARENA_ARRAY(&scratch, struct forest_event, room);
	f.way.owners = ARENA_ARRAY(&scratch, uint32_t, room);
	f.way.took_ns = ARENA_ARRAY(&scratch, int64_t, room);
	critical_look(&f);
	if (!f.cnt)
		beside_look(&f);
	if (!f.cnt) {
		before_look(&f);
		if (!f.cnt || (f.cnt == 1 && !f.all->s.event_cnt))
			apart_look(&f);
	}
	answer_fill(&f, ret);
	hmap_release(&f.by_hash);
	arena_release(&scratch);
}
