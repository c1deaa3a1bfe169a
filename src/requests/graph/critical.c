/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/graph/critical.h"

#include "base/arena.h"
#include "base/bug.h"
#include "requests/graph/path_hash.h"
#include "requests/graph/graph.h"

/* The pred that came last; of two at the same instant the one later in the nodes' order. */
static uint32_t last_pred(const struct graph *g, const struct gnode *node)
{
	const uint32_t *preds = g->preds + node->pred_idx;
	uint32_t best = preds[0];

	for (uint32_t i = 1; i < node->pred_cnt; i++) {
		if (preds[i] > best)	/* nodes are in order of time */
			best = preds[i];
	}
	return best;
}

static uint32_t steps_count(const struct graph *g)
{
	uint32_t cnt = 1;

	for (uint32_t at = g->end; at != g->start; at = last_pred(g, &g->nodes[at])) {
		BUG_ON(!g->nodes[at].pred_cnt);
		cnt++;
	}
	return cnt;
}

/*
 * Until an exit the span itself ran, whatever came before; until an entry or
 * a note the parent did; what has none was waited for by the one before.
 */
static uint32_t edge_owner(const struct graph *g, const struct gnode *from, const struct gnode *to)
{
	if (to->kind == NODE_EXIT)
		return to->span;
	return g->spans[to->span].parent != GRAPH_NONE ? g->spans[to->span].parent : from->span;
}

static void steps_fill(const struct graph *g, struct cstep *steps, uint32_t cnt)
{
	uint32_t at = g->end;

	for (uint32_t i = cnt; i-- > 0;) {
		const struct gnode *node = &g->nodes[at];
		uint32_t before = i ? last_pred(g, node) : at;
		const struct gnode *from = &g->nodes[before];
		uint32_t owner = i ? edge_owner(g, from, node) : node->span;

		steps[i] = (struct cstep){
			.edge_ns = node->at_ns - from->at_ns,
			.at_ns = node->at_ns,
			.point = node->point,
			.span = node->span,
			.owner = owner,
			.owner_point = g->nodes[g->spans[owner].entry].point,
			.kind = node->kind,
		};
		at = before;
	}
}

void critical_steps(const struct graph *graph, struct arena *arena, struct cpath *ret)
{
	uint32_t cnt = steps_count(graph);
	struct cstep *steps = ARENA_ARRAY(arena, struct cstep, cnt);

	steps_fill(graph, steps, cnt);
	*ret = (struct cpath){.steps = steps, .step_cnt = cnt, .total_ns = graph->total_ns};
}

int critical_path(const struct graph *graph, const struct points *points, struct arena *arena,
		  struct cpath *ret)
{
	critical_steps(graph, arena, ret);
	cshapes_make(graph, points, arena, ret);
	return 0;
}

const struct csection *critical_sections(const struct cpath *path, struct arena *arena,
					 size_t *ret_cnt)
{
	struct csection *sections = ARENA_ARRAY(arena, struct csection, path->step_cnt);
	size_t cnt = 0;

	for (uint32_t i = 1; i < path->step_cnt; i++) {
		const struct cstep *step = &path->steps[i];

		if (!step->edge_ns)
			continue;
		if (!cnt || sections[cnt - 1].span != step->owner)
			sections[cnt++] = (struct csection){
				step->owner, step->at_ns - step->edge_ns, 0};
		sections[cnt - 1].end_ns = step->at_ns;
	}
	*ret_cnt = cnt;
	return sections;
}
