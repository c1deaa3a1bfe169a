/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/forest/forest.h"

#include "base/arena.h"
#include "requests/graph/span_ends.h"

uint32_t forest_find(const struct forest *f, uint64_t type)
{
	for (uint32_t i = 0; i < f->tree_cnt; i++)
		if (f->trees[i].type == type)
			return i;
	return FOREST_NONE;
}

/* Was the node's parent come through, and is the tracepoint there as the node's sign has it. */
static bool comes_through(const struct forest_tree *tree, uint32_t node, const uint8_t *on_path,
			  uint32_t point_cnt, const uint32_t *nodes, uint32_t cnt)
{
	const struct forest_node *n = &tree->nodes[node];
	bool has = n->point < point_cnt && on_path[n->point] & n->sides;

	if (n->parent == FOREST_NONE)
		return true;
	if (has != n->present)
		return false;
	for (uint32_t i = 0; i < cnt; i++)
		if (nodes[i] == n->parent)
			return true;
	return false;
}

uint32_t forest_walk(const struct forest_tree *tree, const uint8_t *on_path, uint32_t point_cnt,
		     uint32_t *ret_nodes, uint32_t max)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < tree->node_cnt && cnt < max; i++)
		if (comes_through(tree, i, on_path, point_cnt, ret_nodes, cnt))
			ret_nodes[cnt++] = i;
	return cnt;
}

/* The decision that switched each side last; NULL: it was not. */
struct sides_by {
	const struct forest_decision *by[2];
};

static bool is_by(const struct forest_decision *by, uint32_t kind)
{
	return by && by->kind == kind;
}

/* One side may stay on when the other goes; what is on counts, else what was. */
static void sight_make(const struct sides_by *s, struct forest_sight *ret)
{
	uint32_t kind = is_by(s->by[0], DECIDE_ON) || is_by(s->by[1], DECIDE_ON) ? DECIDE_ON
										: DECIDE_OFF;

	for (uint32_t i = 0; i < 2; i++) {
		if (!is_by(s->by[i], kind))
			continue;
		ret->seen = kind == DECIDE_ON ? FOREST_SEEN_ON : FOREST_SEEN_OFF;
		ret->sides |= i ? SIDE_END : SIDE_BEGIN;
		if (!ret->by || s->by[i] > ret->by)
			ret->by = s->by[i];
	}
}

static void always(struct forest_sight *sights, uint32_t point_cnt, uint32_t point)
{
	if (point < point_cnt)
		sights[point] = (struct forest_sight){FOREST_SEEN_ALWAYS, SIDES_BOTH, NULL};
}

const struct forest_sight *forest_sights(const struct forest *f, uint32_t tree,
					 uint32_t point_cnt, struct arena *arena)
{
	struct forest_sight *sights = ARENA_ARRAY(arena, struct forest_sight, point_cnt + 1);
	struct sides_by *sides = ARENA_ARRAY(arena, struct sides_by, point_cnt + 1);
	const struct forest_node *root = f->trees[tree].node_cnt ? &f->trees[tree].nodes[0] : NULL;

	always(sights, point_cnt, f->trees[tree].point);
	for (uint32_t g = 0; root && g < root->group_cnt; g++) {
		for (uint32_t e = 0; e < root->groups[g].edge_cnt; e++) {
			always(sights, point_cnt, root->groups[g].edges[e].from.point);
			always(sights, point_cnt, root->groups[g].edges[e].to.point);
		}
	}
	for (uint32_t i = 0; i < f->decision_cnt; i++) {
		const struct forest_decision *d = &f->decisions[i];

		if (d->point >= point_cnt || (d->kind != DECIDE_ON && d->kind != DECIDE_OFF))
			continue;
		for (uint32_t k = 0; k < 2; k++)
			if (d->sides & (k ? SIDE_END : SIDE_BEGIN))
				sides[d->point].by[k] = d;
	}
	for (uint32_t p = 0; p < point_cnt; p++)
		if (sights[p].seen != FOREST_SEEN_ALWAYS)
			sight_make(&sides[p], &sights[p]);
	return sights;
}
