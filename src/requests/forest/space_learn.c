/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace with forks has more than one way from start to end, and their
 * number grows with the product of the forks.  Kept are: the critical one, and
 * for each edge into a join that it did not take, the one way that takes this
 * edge and is critical before and after it.  So each branch is in one, and a
 * trace has no more ways than it has edges into joins.
 */
#include "requests/forest/space_int.h"

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "requests/forest/evidence.h"
#include "requests/graph/synthetic_root.h"

/* How the request goes on from each node, and from where it came. */
struct ways {
	const struct graph *g;
	uint32_t *last_pred; /* the pred that came last; GRAPH_NONE: none */
	uint32_t *next;	     /* a node on the way to the end; GRAPH_NONE: none */
};

static void ways_find(const struct graph *g, struct arena *arena, struct ways *ret)
{
	ret->g = g;
	ret->last_pred = ARENA_ARRAY(arena, uint32_t, g->node_cnt + 1);
	ret->next = ARENA_ARRAY(arena, uint32_t, g->node_cnt + 1);
	for (uint32_t n = 0; n < g->node_cnt; n++) {
		ret->next[n] = GRAPH_NONE;
		ret->last_pred[n] = graph_last_pred(g, n);
	}
	/* Nodes come after their preds: from the end all that leads there is met in turn. */
	for (uint32_t n = g->end + 1; n-- > 0;) {
		if (n != g->end && ret->next[n] == GRAPH_NONE)
			continue;
		for (uint32_t i = 0; i < g->nodes[n].pred_cnt; i++) {
			uint32_t p = g->preds[g->nodes[n].pred_idx + i];

			if (ret->next[p] == GRAPH_NONE || ret->last_pred[n] == p)
				ret->next[p] = n;
		}
	}
}

/* A span of no known parent with all below it is an island: what is around it is not known. */
struct islands {
	uint32_t *of;		/* by span; the root's is 0 */
	uint32_t *succ;		/* by node: nodes of its own island that come after it */
	uint32_t *preds;	/* by island: of the node at hand */
};

/* Has no better place: under the root, or one that was made up. */
static bool is_stray(const struct space_lesson *l, uint32_t span)
{
	const struct gspan *s = &l->graph.spans[span];
	uint32_t root = l->graph.root_span;

	return s->flags & GSPAN_ADOPTED ||
	       (s->parent == root && span != root &&
		!strcmp(strtab_str(l->strings, l->trace->spans[root].service), STAND_IN_SERVICE));
}

/* Those that miss the same parent are one: they are siblings. */
static uint32_t island_of(const struct space_lesson *l, uint32_t span, struct hmap *by_parent)
{
	const struct gspan *s = &l->graph.spans[span];
	uint64_t *at;

	if (!(s->flags & GSPAN_ORPHAN))
		return span + 1;
	at = hmap_slot(by_parent, l->trace->spans[span].parent);
	if (!*at)
		*at = span + 1;
	return (uint32_t)*at;
}

static void islands_find(const struct space_lesson *l, struct islands *ret)
{
	const struct graph *g = &l->graph;
	struct hmap by_parent = {0};

	ret->of = ARENA_ARRAY(l->arena, uint32_t, g->span_cnt + 1);
	ret->succ = ARENA_ARRAY(l->arena, uint32_t, g->node_cnt + 1);
	ret->preds = ARENA_ARRAY(l->arena, uint32_t, g->span_cnt + 2);
	/* Entries are in order of time, and a child's is never before its parent's. */
	for (uint32_t n = 0; n < g->node_cnt; n++) {
		uint32_t span = g->nodes[n].span, parent = g->spans[span].parent;

		if (g->nodes[n].kind == NODE_EXIT)
			continue;
		if (is_stray(l, span))
			ret->of[span] = island_of(l, span, &by_parent);
		else if (parent != GRAPH_NONE)
			ret->of[span] = ret->of[parent];
	}
	hmap_release(&by_parent);
}

static void sync_point(const struct space_lesson *l, uint32_t node, bool sure)
{
	struct space_point p = {.point = l->graph.nodes[node].point, .sync = sure,
				.stray_sync = !sure};

	space_put_point(l->space, &p);
}

/* Finds whether a node is a join, and which before it have forked. */
static void sync_node(const struct space_lesson *l, const struct islands *is, uint32_t *succ,
		      uint32_t n)
{
	const struct graph *g = &l->graph;
	uint32_t from = g->nodes[n].pred_idx, to = from + g->nodes[n].pred_cnt;
	uint32_t own = is->of[g->nodes[n].span];

	for (uint32_t i = from; i < to; i++)
		is->preds[is->of[g->nodes[g->preds[i]].span]]++;
	for (uint32_t i = from; i < to; i++) {
		uint32_t pred = g->preds[i], island = is->of[g->nodes[pred].span];

		is->succ[pred] += island == own;
		if (is->preds[island] > 1 || is->succ[pred] > 1)
			sync_point(l, pred, true);
		else if (to - from > 1 || ++succ[pred] > 1)
			sync_point(l, pred, false);
	}
	if (is->preds[own] > 1)
		sync_point(l, n, true);
	else if (to - from > 1)
		sync_point(l, n, false);
	for (uint32_t i = from; i < to; i++)
		is->preds[is->of[g->nodes[g->preds[i]].span]] = 0;
}

/* Points of forks and joins, and of what a join waits for: without them no path is known. */
static void sync_put(const struct space_lesson *l, const struct ways *w)
{
	const struct graph *g = &l->graph;
	uint32_t *succ = ARENA_ARRAY(l->arena, uint32_t, g->node_cnt + 1);
	struct islands is;

	islands_find(l, &is);
	for (uint32_t n = 0; n < g->node_cnt; n++)
		if (w->next[n] != GRAPH_NONE || n == g->end)
			sync_node(l, &is, succ, n);
}

/* Entry of the innermost span that is open at each step, by a stack of what the way opened. */
static void parents_fill(const struct space_lesson *l, const uint32_t *nodes, uint32_t cnt,
			 struct space_step *steps)
{
	uint32_t *entry = ARENA_ARRAY(l->arena, uint32_t, l->graph.span_cnt + 1);

	for (uint32_t i = 0; i < cnt; i++) {
		const struct gnode *n = &l->graph.nodes[nodes[i]];
		uint32_t up = l->graph.spans[n->span].parent;

		if (n->kind == NODE_ENTRY)
			entry[n->span] = i + 1;
		while (up != GRAPH_NONE && !entry[up])
			up = l->graph.spans[up].parent;
		steps[i].parent = up == GRAPH_NONE ? UINT32_MAX : entry[up] - 1;
	}
}

static void path_put(const struct space_lesson *l, const uint32_t *nodes, uint32_t cnt,
		     bool critical)
{
	struct space_path p = {.critical_cnt = critical, .branch_cnt = !critical};
	struct space_step *steps;

	if (cnt > SPACE_STEPS_MAX)
		return;
	steps = ARENA_ARRAY(l->arena, struct space_step, cnt + 1);
	p.hash = l->graph.type_hash;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct gnode *n = &l->graph.nodes[nodes[i]];
		int64_t took = i ? n->at_ns - l->graph.nodes[nodes[i - 1]].at_ns : 0;

		steps[i].point = n->point;
		steps[i].kind = n->kind;
		steps[i].sum_ns = took;
		steps[i].sum_sq_ns = (__int128)took * took;
		p.hash = hash_pair(p.hash, l->points->items.items[n->point].hash + n->kind);
	}
	parents_fill(l, nodes, cnt, steps);
	p.steps = steps;
	p.step_cnt = cnt;
	space_put_path(l->space, l->graph.type_hash, &p);
}

/* The way that takes the edge from pred to node; 0: it does not begin at the start. */
static uint32_t way_through(const struct ways *w, uint32_t pred, uint32_t node, uint32_t *nodes,
			    uint32_t max)
{
	uint32_t cnt = 0, first = pred;

	for (uint32_t n = pred; n != GRAPH_NONE; n = w->last_pred[n]) {
		first = n;
		cnt++;
	}
	if (first != w->g->start || cnt > max)
		return 0;
	for (uint32_t n = pred, i = cnt; n != GRAPH_NONE; n = w->last_pred[n])
		nodes[--i] = n;
	for (uint32_t n = node; n != GRAPH_NONE && cnt < max; n = w->next[n])
		nodes[cnt++] = n;
	return nodes[cnt - 1] == w->g->end ? cnt : 0;
}

static void branches_put(const struct space_lesson *l, const struct ways *w)
{
	const struct graph *g = &l->graph;
	uint32_t *nodes = ARENA_ARRAY(l->arena, uint32_t, SPACE_STEPS_MAX), put = 0;

	for (uint32_t n = 0; n < g->node_cnt; n++) {
		if (w->next[n] == GRAPH_NONE && n != g->end)
			continue;
		for (uint32_t i = 0; i < g->nodes[n].pred_cnt; i++) {
			uint32_t pred = g->preds[g->nodes[n].pred_idx + i], cnt;

			if (pred == w->last_pred[n])
				continue;
			cnt = way_through(w, pred, n, nodes, SPACE_STEPS_MAX);
			if (cnt)
				path_put(l, nodes, cnt, false);
			if (cnt && ++put >= SPACE_BRANCHES_MAX)
				return;
		}
	}
}

static void critical_put(const struct space_lesson *l)
{
	uint32_t *nodes = ARENA_ARRAY(l->arena, uint32_t, l->path.step_cnt + 1);

	for (uint32_t i = 0; i < l->path.step_cnt; i++) {
		const struct gspan *s = &l->graph.spans[l->path.steps[i].span];

		nodes[i] = l->path.steps[i].kind == NODE_EXIT ? s->exit : s->entry;
	}
	path_put(l, nodes, l->path.step_cnt, true);
}

/* Puts the context of one span, whose parent's context is known (or has none). */
static void context_put(const struct space_lesson *l, uint32_t span, uint32_t *known)
{
	const struct gspan *s = &l->graph.spans[span];
	struct space_context c = {.parent = UINT32_MAX, .span_cnt = 1};
	int64_t took = l->graph.nodes[s->exit].at_ns - l->graph.nodes[s->entry].at_ns;

	known[span] = UINT32_MAX;
	if (s->parent != GRAPH_NONE && known[s->parent] == UINT32_MAX)
		return;
	if (s->parent != GRAPH_NONE)
		c.parent = known[s->parent] - 1;
	c.point = l->graph.nodes[s->entry].point;
	c.sum_ns = took;
	c.sum_sq_ns = (__int128)took * took;
	c.parent = space_context(l->space, l->graph.type_hash, &c);
	if (c.parent != UINT32_MAX)
		known[span] = c.parent + 1;
}

/* With those above it first; calls may be nested as deep as a trace is long. */
static void contexts_put(const struct space_lesson *l, uint32_t span, uint32_t *known,
			 uint32_t *chain)
{
	uint32_t cnt = 0;

	for (uint32_t at = span; at != GRAPH_NONE && !known[at]; at = l->graph.spans[at].parent)
		chain[cnt++] = at;
	while (cnt)
		context_put(l, chain[--cnt], known);
}

/* Once in a trace for one tracepoint: the root may be the span that names the type too. */
static bool rooted(const struct graph *g, uint32_t span)
{
	return span == g->root_span ||
	       (span == g->type_span && g->nodes[g->spans[span].entry].point != g->type);
}

static void spans_put(const struct space_lesson *l)
{
	const struct graph *g = &l->graph;
	uint32_t *known = ARENA_ARRAY(l->arena, uint32_t, g->span_cnt + 1);
	uint32_t *chain = ARENA_ARRAY(l->arena, uint32_t, g->span_cnt + 1);
	bool *met = ARENA_ARRAY(l->arena, bool, l->points->items.cnt + 1);

	for (uint32_t i = 0; i < g->span_cnt; i++) {
		uint32_t point;
		struct space_point p;

		if (g->spans[i].flags & GSPAN_DROPPED)
			continue;
		point = g->nodes[g->spans[i].entry].point;
		p = (struct space_point){.point = point, .span_cnt = 1, .trace_cnt = !met[point]};
		p.stray_cnt = is_stray(l, i);
		p.root_cnt = rooted(g, i);
		met[point] = true;
		space_put_point(l->space, &p);
		contexts_put(l, i, known, chain);
		for (uint32_t k = 0; k < l->trace->spans[i].attr_cnt; k++) {
			const struct attr *a = &l->trace->attrs[l->trace->spans[i].attr_idx + k];
			struct space_key key = {point, a->key, 1, a->type == ATTR_NUM};

			space_put_key(l->space, &key);
		}
	}
}

/* Puts type, points, contexts, paths, keys and the sample. */
static void learn(const struct space_lesson *l)
{
	struct space_type type = {.hash = l->graph.type_hash, .point = l->graph.type,
				  .trace_cnt = 1, .sum_ns = l->graph.total_ns,
				  .sum_sq_ns = (__int128)l->graph.total_ns * l->graph.total_ns};
	struct ways w;

	space_put_type(l->space, &type);
	ways_find(&l->graph, l->arena, &w);
	sync_put(l, &w);
	spans_put(l);
	critical_put(l);
	branches_put(l, &w);
	space_put_sample(l->space, l->graph.type_hash, l->trace);
}

int space_add(struct space *s, const struct trace *t)
{
	struct graph_stats stats = {0};
	struct space_lesson l;
	int err;

	space_lesson_begin(s, t, &l);
	err = graph_build(t, l.points, l.strings, l.arena, &l.graph, &stats);
	if (!err)
		err = critical_path(&l.graph, l.points, l.arena, &l.path);
	if (err) {
		space_bad_trace(s);
		return err;
	}
	learn(&l);
	return 0;
}
