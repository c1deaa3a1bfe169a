/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two strategies of the paper, to be compared with: in each leaf the group
 * of identical critical paths that varies most (or, if none varies, is slow),
 * of that the edge that contributes most, matched to a potential path, and one
 * tracepoint of those between the edge's ends by binary search.  An edge with
 * nothing between its ends is isolated, and the next one is looked at.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cmp.h"
#include "requests/search/actions.h"
#include "requests/search/path_match.h"
#include "requests/search/consistently_slow.h"

/* As in the paper's code: a group of more than three traces counts. */
#define GROUP_MIN 4
/* Edges that contribute less than this are no contributors. */
#define EDGE_MIN 0.10

struct view {			/* of one leaf */
	struct control *c;
	struct hyp_tree *t;
	uint32_t tree, node;
	struct hyp_node *n;
	double all_ss;		/* sum of squares of the whole tree */
};

struct ranked {
	uint32_t edge;
	double part;		/* of the group's variance, or of its time */
};

static double sum_squares(const struct moments *m)
{
	return moments_var(m) * (double)moments_cnt(m);
}

/* Time under which slow_pct of the type's requests are. */
static double slow_bound(const struct view *v)
{
	const struct evidence *e = &v->t->nodes.items[0]->e;
	struct hist all = slow_times(e);
	double over;

	over = all.bucket_cnt ? hist_quantile(&all, 0, v->c->opts.slow_pct / 100) : INFINITY;
	hist_release(&all);
	return over;
}

static bool varies(const struct view *v, const struct evidence_group *g)
{
	double mean = moments_mean(&g->moments);

	return mean > 0 && sqrt(moments_var(&g->moments)) > v->c->opts.cv_min * mean;
}

/* The problem group that comes first; NULL: none. */
static const struct evidence_group *group_pick(const struct view *v, bool *ret_varies)
{
	const struct evidence_group *best = NULL;
	double slow = slow_bound(v);

	*ret_varies = true;
	VEC_FOREACH(&v->n->e.groups, g) {
		if (moments_cnt(&g->moments) < GROUP_MIN || !varies(v, g))
			continue;
		if (!best || moments_var(&g->moments) > moments_var(&best->moments) ||
		    (moments_var(&g->moments) == moments_var(&best->moments) &&
		     g->hash < best->hash))
			best = g;
	}
	if (best)
		return best;
	*ret_varies = false;
	VEC_FOREACH(&v->n->e.groups, g) {
		double mean = moments_mean(&g->moments);

		if (moments_cnt(&g->moments) < GROUP_MIN || mean < slow)
			continue;
		if (!best || mean > moments_mean(&best->moments) ||
		    (mean == moments_mean(&best->moments) && g->hash < best->hash))
			best = g;
	}
	return best;
}

static int ranked_cmp(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	CMP(y->part, x->part);
	CMP(x->edge, y->edge);
	return 0;
}

static struct ranked *edges_rank(const struct view *v, const struct evidence_group *g,
				 bool by_variance)
{
	struct ranked *r = ARENA_ARRAY(&v->c->round_arena, struct ranked, g->edge_cnt + 1);
	double mean = moments_mean(&g->moments);

	for (uint32_t i = 0; i < g->edge_cnt; i++) {
		r[i].edge = i;
		if (by_variance)
			r[i].part = moments_share(&g->moments, i).value;
		else
			r[i].part = mean > 0 ? moments_column_mean(&g->moments, i) / mean : 0;
	}
	qsort(r, g->edge_cnt, sizeof(*r), ranked_cmp);
	return r;
}

static void edge_ask(const struct view *v, const struct evidence_group *g, const struct ranked *r,
		     const struct pick *pick, struct actions *out)
{
	const struct forest_edge *e = &g->edges[r->edge];
	struct action *a = vec_add(&out->items);
	struct forest_decision d = decision_blank(v->c, v->tree, v->node, DECIDE_ON);

	d.group = g->hash;
	d.from = e->from;
	d.to = e->to;
	d.owner = e->owner;
	d.trace_cnt = (uint32_t)moments_cnt(&g->moments);
	d.mean_ns = moments_mean(&g->moments);
	d.cv = d.mean_ns > 0 ? sqrt(moments_var(&g->moments)) / d.mean_ns : 0;
	d.share_variance = moments_share(&g->moments, r->edge).value;
	d.share_time = d.mean_ns > 0 ? moments_column_mean(&g->moments, r->edge) / d.mean_ns : 0;
	a->tree = v->tree;
	a->node = v->node;
	a->edge = (struct edge_class){e->from, e->to, e->owner, 0, 0};
	a->edge.key = hash_pair(g->hash, evidence_key(v->c->points, e->from, e->to, e->owner));
	a->pick = *pick;
	a->why = d;
	a->score = r->part * (v->all_ss > 0 ? sum_squares(&g->moments) / v->all_ss : 1);
}

/* Up to the step of a path, when nothing is hidden before it; as graph_owner has it. */
static uint32_t who_ran(const struct space_path *p, uint32_t step)
{
	const struct space_step *to = &p->steps[step];

	if (to->kind == NODE_EXIT)
		return to->point;
	return p->steps[to->parent != UINT32_MAX ? to->parent : step - 1].point;
}

/* Down the edges until one can be split; those before it are isolated. */
static void group_ask(const struct view *v, const struct evidence_group *g, bool by_variance,
		      struct actions *out)
{
	struct ranked *r = edges_rank(v, g, by_variance);
	uint32_t *steps = ARENA_ARRAY(&v->c->round_arena, uint32_t, g->edge_cnt + 2), path;
	struct forest_event *events = ARENA_ARRAY(&v->c->round_arena, struct forest_event,
						  g->edge_cnt + 2);
	struct search s = search_of(v->c, v->t, 1);

	events[0] = g->edges[0].from;
	for (uint32_t i = 0; i < g->edge_cnt; i++)
		events[i + 1] = g->edges[i].to;
	path = match_path(v->t->type, events, g->edge_cnt + 1, steps);
	for (uint32_t i = 0; i < g->edge_cnt && (i == 0 || r[i].part >= EDGE_MIN); i++) {
		struct pick pick = {.point = FOREST_NONE};
		const struct space_path *p;
		uint32_t step;

		if (path != FOREST_NONE) {
			p = &v->t->type->paths[path];
			if (v->c->opts.strategy == STRATEGY_FLAT)
				search_flat(&s, p, steps[r[i].edge], steps[r[i].edge + 1],
					    v->n->on, &pick);
			else
				search_hierarchical(&s, p, steps[r[i].edge],
						    steps[r[i].edge + 1], v->n->on, &pick);
		}
		edge_ask(v, g, &r[i], &pick, out);
		step = path != FOREST_NONE ? steps[r[i].edge + 1] : 0;
		if (pick.point == FOREST_NONE && step && steps[r[i].edge] + 1 == step)
			vec_last(&out->items)->edge.owner =
				who_ran(&v->t->type->paths[path], step);
		if (pick.point != FOREST_NONE)
			return;
	}
}

static void leaf_ask(struct view *v, struct actions *out)
{
	struct forest_decision d = decision_blank(v->c, v->tree, v->node, DECIDE_WAIT);
	const struct evidence_group *g;
	bool by_variance;

	d.trace_cnt = (uint32_t)moments_cnt(&v->n->e.live);
	d.mean_ns = moments_mean(&v->n->e.live);
	if (!d.trace_cnt && v->n->parent == FOREST_NONE)
		return;
	g = group_pick(v, &by_variance);
	if (g) {
		group_ask(v, g, by_variance, out);
		return;
	}
	if (d.trace_cnt < v->c->opts.min_cnt) {
		v->t->waiting = v->n->parent == FOREST_NONE;
		control_note(v->c, &d, "no group is large enough after %u requests", d.trace_cnt);
		return;
	}
	d.kind = DECIDE_CALM;
	v->n->status = HYP_CALM;
	control_note(v->c, &d, "no group varies by more than %.0f %% or is slow",
		     v->c->opts.cv_min * 100);
}

void paper_tree(struct control *c, uint32_t tree, struct actions *out)
{
	struct hyp_tree *t = c->trees.items[tree];

	t->waiting = false;
	for (uint32_t i = 0; i < t->nodes.cnt; i++) {
		struct view v = {.c = c, .t = t, .tree = tree, .node = i, .n = t->nodes.items[i],
				 .all_ss = sum_squares(&t->nodes.items[0]->e.live)};

		if ((v.n->active && v.n->status == HYP_OPEN) ||
		    (i == 0 && v.n->status == HYP_CALM))
			leaf_ask(&v, out);
	}
}
