/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path is read as a tree of calls: an entry opens one, its exit closes
 * it.  A path that came in or out of a call by a reference has only one of
 * the two; what is left open closes with the call around it, an exit alone
 * counts as a child.  Each call is hashed when it closes, from its children.
 */
#include "requests/graph/path_hash.h"

#include <stdbool.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/keysort.h"
#include "trace/points.h"
#include "requests/graph/graph.h"

struct call {
	uint64_t list;		/* of its children in order, repeats once */
	uint64_t last;		/* the hash that was put there last */
	uint32_t kid_idx;	/* its children's first in struct calls' kids */
	uint32_t point, span;
};

struct calls {
	const struct point *points;
	struct call *stack;
	struct keyed *kids, *tmp;	/* unordered hashes of the open calls' children */
	struct keyed *entries;		/* tracepoints that enter a service */
	bool *open;			/* by span */
	uint32_t depth, kid_cnt, entry_cnt;
};

static void child_take(struct calls *c, uint64_t list, uint64_t set)
{
	struct call *to = &c->stack[c->depth - 1];

	if (list != to->last)
		to->list = hash_pair(to->list, list);
	to->last = list;
	c->kids[c->kid_cnt++].key = set;
}

static uint64_t set_hash(struct keyed *items, struct keyed *tmp, uint32_t cnt)
{
	uint64_t hash = 0;

	keysort(items, tmp, cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		if (!i || items[i].key != items[i - 1].key)
			hash = hash_pair(hash, items[i].key);
	}
	return hash;
}

static void call_close(struct calls *c)
{
	const struct call *call = &c->stack[--c->depth];
	uint64_t own = c->points[call->point].hash;
	uint64_t list = hash_pair(own, call->list);
	uint64_t set = hash_pair(own, set_hash(c->kids + call->kid_idx, c->tmp,
					       c->kid_cnt - call->kid_idx));

	c->open[call->span] = false;
	c->kid_cnt = call->kid_idx;
	child_take(c, list, set);
}

static void call_open(struct calls *c, const struct cstep *step)
{
	const struct call *around = &c->stack[c->depth - 1];

	if (c->depth == 1 || c->points[around->point].service != c->points[step->point].service)
		c->entries[c->entry_cnt++].key = c->points[step->point].hash;
	c->stack[c->depth++] = (struct call){
		.kid_idx = c->kid_cnt, .point = step->point, .span = step->span};
	c->open[step->span] = true;
}

static void step_take(struct calls *c, const struct cstep *step)
{
	uint64_t alone;

	if (step->kind == NODE_ENTRY) {
		call_open(c, step);
	} else if (step->kind == NODE_EXIT && c->open[step->span]) {
		while (c->stack[c->depth - 1].span != step->span)
			call_close(c);
		call_close(c);
	} else {
		alone = hash_pair(c->points[step->point].hash, step->kind);
		child_take(c, alone, alone);
	}
}

void cshape_exact(const struct graph *graph, const struct points *points, struct cpath *path)
{
	uint64_t hash = graph->type_hash;

	for (uint32_t i = 0; i < path->step_cnt; i++) {
		const struct cstep *step = &path->steps[i];

		hash = hash_pair(hash + step->kind, points->items.items[step->point].hash);
		if (graph->bins && graph->bins[step->span])
			hash = hash_pair(hash, graph->bins[step->span]);
	}
	path->hash = path->shape[CSHAPE_EXACT] = hash;
}

/* Which bins are on the path, in whatever order; 0: none. */
static uint64_t bins_set(const struct graph *graph, const struct cpath *path, struct calls *c)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < path->step_cnt && graph->bins; i++) {
		const struct cstep *step = &path->steps[i];

		if (graph->bins[step->span])
			c->kids[cnt++].key = hash_pair(c->points[step->point].hash,
						       graph->bins[step->span]);
	}
	return set_hash(c->kids, c->tmp, cnt);
}

void cshapes_make(const struct graph *graph, const struct points *points, struct arena *arena,
		  struct cpath *path)
{
	uint32_t cnt = path->step_cnt;
	struct calls c = {
		.points = points->items.items,
		.stack = ARENA_ARRAY(arena, struct call, (size_t)cnt + 1),
		.kids = ARENA_ARRAY(arena, struct keyed, (size_t)cnt + 1),
		.tmp = ARENA_ARRAY(arena, struct keyed, (size_t)cnt + 1),
		.entries = ARENA_ARRAY(arena, struct keyed, (size_t)cnt + 1),
		.open = ARENA_ARRAY(arena, bool, graph->span_cnt),
		.depth = 1,	/* around the root */
	};
	uint64_t *shape = path->shape, bins;

	c.stack[0].span = GRAPH_NONE;
	for (uint32_t i = 0; i < cnt; i++)
		step_take(&c, &path->steps[i]);
	while (c.depth > 1)
		call_close(&c);
	shape[CSHAPE_TYPE] = hash_u64(graph->type_hash);
	cshape_exact(graph, points, path);
	shape[CSHAPE_REPEATS] = hash_pair(graph->type_hash, c.stack[0].list);
	shape[CSHAPE_UNORDERED] = hash_pair(shape[CSHAPE_TYPE], set_hash(c.kids, c.tmp, c.kid_cnt));
	shape[CSHAPE_ENTRIES] =
		hash_pair(shape[CSHAPE_TYPE], set_hash(c.entries, c.tmp, c.entry_cnt));
	for (uint32_t i = 0; i < cnt; i++)
		c.kids[i].key = c.points[path->steps[i].point].hash;
	shape[CSHAPE_POINTS] = hash_pair(shape[CSHAPE_ENTRIES], set_hash(c.kids, c.tmp, cnt));
	bins = bins_set(graph, path, &c);
	for (uint32_t level = CSHAPE_REPEATS; bins && level < CSHAPE_TYPE; level++)
		shape[level] = hash_pair(shape[level], bins);
}
