/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/forest/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "requests/graph/span_ends.h"

/* With so many requests in each part on average, the means cost a quarter of what they tell. */
#define PART_MEMBERS 4

void evidence_begin(struct evidence *e, const struct points *points, struct forest_event from,
		    struct forest_event to, uint32_t split, uint8_t split_sides)
{
	e->points = points;
	e->split = split;
	e->split_sides = split_sides;
	e->from = from;
	e->to = to;
}

static void group_release(struct evidence_group *g)
{
	free(g->edges);
	free(g->edge_times);
	hist_release(&g->fine);
	vec_release(&g->names);
	moments_release(&g->moments);
}

static void besides_release(struct besides *b)
{
	VEC_FOREACH(&b->items, item)
		hist_release(&item->hist);
	vec_release(&b->items);
	hmap_release(&b->by_key);
}

void evidence_release(struct evidence *e)
{
	for (size_t i = 0; i < e->groups.cnt; i++)
		group_release(&e->groups.items[i]);
	vec_release(&e->groups);
	vec_release(&e->parts);
	hmap_release(&e->by_bins);
	vec_release(&e->classes);
	vec_release(&e->took);
	vec_release(&e->by_col);
	vec_release(&e->cols);
	vec_release(&e->marks);
	besides_release(&e->live_beside);
	besides_release(&e->usual_beside);
	hmap_release(&e->by_key);
	hmap_release(&e->by_hash);
	moments_release(&e->live);
	moments_release(&e->usual);
}

uint32_t times_bucket(int64_t ns)
{
	double octaves = ns < 1000 ? 0 : 2 * log2((double)ns / 1000);

	return octaves < FOREST_BUCKETS - 1 ? (uint32_t)octaves : FOREST_BUCKETS - 1;
}

static void times_add(struct times *t, uint64_t had_cnt, int64_t ns)
{
	t->min_ns = had_cnt && t->min_ns < ns ? t->min_ns : ns;
	t->max_ns = had_cnt && t->max_ns > ns ? t->max_ns : ns;
	t->buckets[times_bucket(ns)]++;
}

uint32_t graph_point(const struct graph *g, uint32_t span)
{
	return g->nodes[g->spans[span].entry].point;
}

uint32_t graph_last_pred(const struct graph *g, uint32_t node)
{
	const struct gnode *n = &g->nodes[node];
	uint32_t best = GRAPH_NONE;

	for (uint32_t i = 0; i < n->pred_cnt; i++) {
		uint32_t p = g->preds[n->pred_idx + i];

		if (best == GRAPH_NONE || p > best) /* nodes are in order of time */
			best = p;
	}
	return best;
}

/* As critical_path has it: until an exit the span itself, until an entry its parent. */
uint32_t graph_owner(const struct graph *g, uint32_t pred, uint32_t node)
{
	const struct gnode *n = &g->nodes[node];
	uint32_t parent = g->spans[n->span].parent;

	if (n->kind == NODE_EXIT)
		return graph_point(g, n->span);
	return graph_point(g, parent != GRAPH_NONE ? parent : g->nodes[pred].span);
}

static struct forest_event event_of(const struct cstep *step)
{
	return (struct forest_event){step->point, step->kind};
}

static uint64_t event_hash(const struct points *points, struct forest_event e)
{
	return points->items.items[e.point].hash + e.kind;
}

uint64_t evidence_key(const struct points *points, struct forest_event from,
		      struct forest_event to, uint32_t owner)
{
	uint64_t h = hash_pair(event_hash(points, from), event_hash(points, to));

	return hash_pair(h, owner == FOREST_NONE ? 0 : points->items.items[owner].hash);
}

uint32_t evidence_class(struct evidence *e, struct forest_event from, struct forest_event to,
			uint32_t owner)
{
	uint64_t key = evidence_key(e->points, from, to, owner), at;

	if (hmap_get(&e->by_key, key, &at))
		return (uint32_t)at;
	if (e->classes.cnt >= EVIDENCE_CLASSES_MAX) {
		e->class_dropped_cnt++;
		return UINT32_MAX;
	}
	at = e->classes.cnt;
	hmap_put(&e->by_key, key, at);
	vec_push(&e->classes, ((struct edge_class){from, to, owner, 0, key}));
	return (uint32_t)at;
}

/* Adds the edge into step i to its column. */
static void column_add(struct evidence *e, const struct seen *s, uint32_t i, bool inside)
{
	const struct cstep *to = &s->path.steps[i];
	uint32_t col = UINT32_MAX;

	if (inside)
		col = evidence_class(e, event_of(to - 1), event_of(to),
				     graph_point(&s->graph, to->owner));
	col++; /* UINT32_MAX becomes the rest */
	while (e->by_col.cnt <= col)
		vec_push(&e->by_col, -1);
	if (e->by_col.items[col] < 0) {
		e->by_col.items[col] = 0;
		vec_push(&e->cols, col);
	}
	e->by_col.items[col] += to->edge_ns;
}

static bool is_split(const struct evidence *e, struct forest_event event)
{
	return event.point == e->split && side_of(event.kind) & e->split_sides;
}

/*
 * Is the edge into step i in the focus: before the hypothesis' tracepoint was
 * on, this was (a part of) an edge to the focus' end, either from the focus'
 * beginning or with the tracepoint in it.
 */
static bool in_focus(const struct evidence *e, const struct cpath *p, uint32_t i)
{
	uint32_t before = i - 1, after = i;

	if (e->from.point == FOREST_NONE)
		return true;
	while (before && is_split(e, event_of(&p->steps[before])))
		before--;
	while (after + 1 < p->step_cnt && is_split(e, event_of(&p->steps[after])))
		after++;
	return event_same(event_of(&p->steps[after]), e->to) &&
	       (after - before > 1 || event_same(event_of(&p->steps[before]), e->from));
}

/* Times of one path by column: into cols and, beside it, took. */
static void columns_fill(struct evidence *e, const struct seen *s)
{
	vec_clear(&e->took);
	vec_clear(&e->cols);
	for (uint32_t i = 1; i < s->path.step_cnt; i++)
		column_add(e, s, i, in_focus(e, &s->path, i));
	for (size_t i = 0; i < e->cols.cnt; i++) {
		vec_push(&e->took, e->by_col.items[e->cols.items[i]]);
		e->by_col.items[e->cols.items[i]] = -1;
	}
}

static bool path_put(struct evidence *e, struct moments *m, const struct seen *s)
{
	if (s->path.step_cnt < 2 || s->path.total_ns < 0 || s->path.total_ns > MOMENTS_NS_MAX) {
		e->refused_cnt++;
		return false;
	}
	columns_fill(e, s);
	moments_add(m, moments_cell_of(&s->trace->id), e->took.items, e->cols.items,
		    (uint32_t)e->cols.cnt);
	return true;
}

/* ---- on the path or beside it */

static struct forest_event node_event(const struct gnode *n)
{
	return (struct forest_event){n->point, n->kind};
}

/*
 * The same as in_focus for edges wherever they are.  Classes are made for those
 * in the focus: they may be to blame without ever being on the path.
 */
static void focus_mark(struct evidence *e, const struct graph *g, bool *marks)
{
	for (uint32_t n = 0; n < g->node_cnt; n++) {
		uint32_t first = n, before = graph_last_pred(g, n);

		marks[n] = marks[n] || e->from.point == FOREST_NONE;
		if (marks[n] || before == GRAPH_NONE ||
		    !event_same(node_event(&g->nodes[n]), e->to))
			continue;
		while (is_split(e, node_event(&g->nodes[before])) &&
		       graph_last_pred(g, before) != GRAPH_NONE) {
			first = before;
			before = graph_last_pred(g, before);
		}
		if (first == n && !event_same(node_event(&g->nodes[before]), e->from))
			continue;
		for (uint32_t k = n; k != before; k = graph_last_pred(g, k))
			marks[k] = true;
	}
}

static void beside_add(struct evidence *e, struct besides *b, const struct graph *g, uint32_t n,
		       bool classes)
{
	uint32_t pred = graph_last_pred(g, n), owner;
	struct forest_event from, to;
	struct beside *own;
	uint64_t *at;
	int64_t ns;

	if (pred == GRAPH_NONE)
		return;
	from = node_event(&g->nodes[pred]);
	to = node_event(&g->nodes[n]);
	owner = graph_owner(g, pred, n);
	if (classes)
		(void)evidence_class(e, from, to, owner);
	at = hmap_slot(&b->by_key, evidence_key(e->points, from, to, owner));
	if (!*at) {
		(void)vec_add(&b->items);
		*at = b->items.cnt;
	}
	own = &b->items.items[*at - 1];
	ns = g->nodes[n].at_ns - g->nodes[pred].at_ns;
	own->sum_ns += ns;
	own->sum_sq_ns += (__int128)ns * ns;
	own->cnt++;
	hist_add(&own->hist, ns > 0 ? (uint64_t)ns : 0);
}

static void besides_add(struct evidence *e, struct besides *b, const struct graph *g, bool live)
{
	vec_clear(&e->marks);
	for (uint32_t n = 0; n < g->node_cnt; n++)
		vec_push(&e->marks, false);
	if (live)
		focus_mark(e, g, e->marks.items);
	for (uint32_t n = 0; n < g->node_cnt; n++)
		beside_add(e, b, g, n, e->marks.items[n]);
}

const struct beside *beside_find(const struct besides *b, uint64_t key)
{
	uint64_t at;

	return hmap_get(&b->by_key, key, &at) ? &b->items.items[at - 1] : NULL;
}

void evidence_add_usual(struct evidence *e, const struct seen *s)
{
	if (path_put(e, &e->usual, s))
		besides_add(e, &e->usual_beside, &s->graph, false);
}

/* ---- groups */

/* Room for a group; the one of the largest hash goes when there are too many.  NULL: it is new. */
static struct evidence_group *group_room(struct evidence *e, uint64_t hash)
{
	struct evidence_group *worst;

	if (e->groups.cnt < EVIDENCE_GROUPS_MAX) {
		hmap_put(&e->by_hash, hash, e->groups.cnt);
		return vec_add(&e->groups);
	}
	worst = e->groups.items;
	VEC_FOREACH(&e->groups, g)
		if (g->hash > worst->hash)
			worst = g;
	if (worst->hash < hash) {
		e->other_cnt++;
		return NULL;
	}
	e->other_cnt += moments_cnt(&worst->moments);
	hmap_del(&e->by_hash, worst->hash);
	group_release(worst);
	*worst = (struct evidence_group){0};
	hmap_put(&e->by_hash, hash, (uint64_t)(worst - e->groups.items));
	return worst;
}

static struct evidence_group *group_of(struct evidence *e, const struct seen *s)
{
	struct evidence_group *g;
	uint64_t at;

	if (hmap_get(&e->by_hash, s->path.hash, &at))
		return &e->groups.items[at];
	g = group_room(e, s->path.hash);
	if (!g)
		return NULL;
	g->hash = s->path.hash;
	g->bins = s->bins;
	g->edge_cnt = s->path.step_cnt - 1;
	g->edges = xcalloc(g->edge_cnt, sizeof(*g->edges));
	g->edge_times = xcalloc(g->edge_cnt, sizeof(*g->edge_times));
	for (uint32_t i = 0; i < g->edge_cnt; i++) {
		g->edges[i].from = event_of(&s->path.steps[i]);
		g->edges[i].to = event_of(&s->path.steps[i + 1]);
		g->edges[i].owner = graph_point(&s->graph, s->path.steps[i + 1].owner);
	}
	return g;
}

struct evidence_group *evidence_group(const struct evidence *e, uint64_t hash)
{
	uint64_t at;

	return hmap_get(&e->by_hash, hash, &at) ? &e->groups.items[at] : NULL;
}

static void part_add(struct evidence *e, const struct seen *s)
{
	struct part *part;
	uint64_t *at;

	if (!s->bins || e->parts_over)
		return;
	at = hmap_slot(&e->by_bins, s->bins);
	if (!*at && e->parts.cnt == EVIDENCE_GROUPS_MAX) {
		e->parts_over = true;
		return;
	}
	if (!*at) {
		(void)vec_add(&e->parts);
		*at = e->parts.cnt;
	}
	part = &e->parts.items[*at - 1];
	part->cnt++;
	part->sum_ns += (u128)s->path.total_ns;
	part->sum_sq_ns += (u128)s->path.total_ns * (u128)s->path.total_ns;
}

double evidence_var(const struct evidence *e)
{
	long double within = 0;
	uint64_t cnt = 0;

	VEC_FOREACH(&e->parts, p) {
		long double mean = (long double)p->sum_ns / (long double)p->cnt;

		within += (long double)p->sum_sq_ns - mean * (long double)p->sum_ns;
		cnt += p->cnt;
	}
	/* Each mean is made of its own requests: with few for each they explain anything. */
	if (e->parts_over || e->parts.cnt < 2 || cnt < PART_MEMBERS * e->parts.cnt)
		return moments_var(&e->live);
	return within > 0 ? (double)(within / (long double)(cnt - e->parts.cnt)) : 0;
}

static void id_keep(struct trace_id *id, const struct trace_id *new, bool first)
{
	if (first || trace_id_cmp(new, id) < 0)
		*id = *new;
}

void evidence_add(struct evidence *e, const struct seen *s)
{
	struct evidence_group *g;
	uint64_t had;
	uint32_t bucket;
	int64_t ns = s->path.total_ns;

	if (!path_put(e, &e->live, s))
		return;
	besides_add(e, &e->live_beside, &s->graph, true);
	part_add(e, s);
	g = group_of(e, s);
	if (!g || g->edge_cnt != s->path.step_cnt - 1)
		return;
	had = moments_cnt(&g->moments);
	if (!had || ns <= g->total.min_ns)
		id_keep(&g->fastest, &s->trace->id, !had || ns < g->total.min_ns);
	if (!had || ns >= g->total.max_ns)
		id_keep(&g->slowest, &s->trace->id, !had || ns > g->total.max_ns);
	bucket = times_bucket(ns);
	id_keep(&g->by_bucket[bucket], &s->trace->id, !g->total.buckets[bucket]);
	times_add(&g->total, had, ns);
	hist_add(&g->fine, (uint64_t)ns);
	vec_clear(&e->took);
	for (uint32_t i = 0; i < g->edge_cnt; i++) {
		vec_push(&e->took, s->path.steps[i + 1].edge_ns);
		times_add(&g->edge_times[i], had, s->path.steps[i + 1].edge_ns);
	}
	moments_add(&g->moments, moments_cell_of(&s->trace->id), e->took.items, NULL, g->edge_cnt);
}
