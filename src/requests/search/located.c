/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was located.  A tree's hypotheses overlap: two edges of one path that
 * both take too long each have their pair of nodes, each request comes through
 * both, and both may lead to the same place.  So of the nodes that located an
 * edge those count together that have no request in common (the two sides of a
 * pair), and of those that have, the largest alone.
 */
#include <math.h>

#include "requests/search/actions.h"

/* Can no request come through both: they are on the two sides of one pair. */
static bool apart(const struct hyp_tree *t, uint32_t a, uint32_t b)
{
	uint32_t under_a = FOREST_NONE, under_b = FOREST_NONE;

	while (a != b) { /* parents have smaller numbers */
		if (a > b) {
			under_a = a;
			a = t->nodes.items[a]->parent;
		} else {
			under_b = b;
			b = t->nodes.items[b]->parent;
		}
	}
	return under_a != FOREST_NONE && under_b != FOREST_NONE &&
	       t->nodes.items[under_a]->other == under_b;
}

static bool is_under(const struct hyp_tree *t, uint32_t node, uint32_t up)
{
	while (node > up && node != FOREST_NONE)
		node = t->nodes.items[node]->parent;
	return node == up;
}

/* By the requests of the node: groups have none in common. */
static double own_score(const struct hyp_tree *t, uint64_t key, uint32_t node)
{
	double score = 0;

	VEC_FOREACH(&t->found, f)
		if (f->key == key && f->node == node)
			score += f->score;
	return score;
}

/* By those of the node and of all under it. */
static double score_under(const struct hyp_tree *t, uint64_t key, uint32_t node)
{
	double score = own_score(t, key, node);

	for (uint32_t i = node + 1; i + 1 < t->nodes.cnt; i++) {
		const struct hyp_node *n = t->nodes.items[i];

		if (n->parent == node && n->other == i + 1)
			score = fmax(score, score_under(t, key, i) + score_under(t, key, i + 1));
	}
	return score;
}

static double located_score(const struct hyp_tree *t, uint64_t key)
{
	return t->found.cnt ? fmin(1, score_under(t, key, 0)) : 0;
}

/* Sums over all trees in which it was found. */
static void located_sum(const struct control *c, struct control_located *l)
{
	double all = 0, top = 0;

	l->weight_ns = 0;
	for (size_t i = 0; i < c->trees.cnt; i++) {
		const struct hyp_tree *t = c->trees.items[i];
		double score = located_score(t, l->key);

		if (score <= 0)
			continue;
		l->weight_ns += score * t->weight_ns;
		all += t->weight_ns;
		top = fmax(top, score);
	}
	l->score = all > 0 ? l->weight_ns / all : top;
}

static void tree_sum(const struct control *c, struct hyp_tree *t)
{
	t->located = 0;
	VEC_FOREACH(&c->located, l)
		t->located += located_score(t, l->key);
}

static void found_put(struct hyp_tree *t, uint64_t key, const struct action *a)
{
	VEC_FOREACH(&t->found, f) {
		if (f->key != key || f->asked != a->edge.key || f->node != a->node ||
		    f->group != a->why.group)
			continue;
		f->score = fmax(f->score, a->score);
		return;
	}
	vec_push(&t->found,
		 ((struct found){key, a->edge.key, a->why.group, a->node, a->score}));
}

/* Key of the edge found for one that a node asked about; 0: none was found there. */
static uint64_t found_key(const struct hyp_tree *t, uint64_t asked, uint32_t node)
{
	VEC_FOREACH(&t->found, f)
		if (f->asked == asked && f->node == node)
			return f->key;
	return 0;
}

static struct control_located *located_of(struct control *c, uint64_t key)
{
	VEC_FOREACH(&c->located, l)
		if (l->key == key)
			return l;
	return NULL;
}

static void located_add(struct control *c, const struct action *a, uint64_t key)
{
	struct hyp_tree *t = c->trees.items[a->tree];
	struct control_located *l = located_of(c, key);

	found_put(t, key, a);
	if (l)
		l->last_round = c->round;
	if (!l) {
		l = vec_add(&c->located);
		*l = (struct control_located){
			.tree = a->tree,
			.node = a->node,
			.round = c->round,
			.last_round = c->round,
			.key = key,
			.from = a->edge.from,
			.to = a->edge.to,
			.owner = a->edge.owner,
			.group = a->why.group,
			.share_variance = a->why.share_variance,
			.excess_ns = t->mode != MODE_VARIANCE ? a->gain_ns : 0,
		};
	}
	located_sum(c, l);
	tree_sum(c, t);
}

void control_found(struct control *c, const struct action *a)
{
	struct forest_decision d = a->why;
	struct hyp_tree *t = c->trees.items[a->tree];

	d.kind = DECIDE_LOCALISED;
	d.owner = a->edge.owner;
	control_note(c, &d, "%.0f %% of the excess is between %s and %s, in %s, and "
			    "nothing can split that", a->score * 100,
		     event_words(c, a->edge.from), event_words(c, a->edge.to),
		     point_words(c, a->edge.owner));
	located_add(c, a, evidence_key(c->points, a->edge.from, a->edge.to, a->edge.owner));
	/* The same place is likely to be what slows other types of requests. */
	if (t->mode == MODE_SHIFT && a->edge.owner < c->trust_cnt)
		c->trust[a->edge.owner] *= TRUST_FOUND;
	t->nodes.items[a->node]->status = HYP_LOCALISED;
	hmap_put(&t->nodes.items[a->node]->done, a->edge.key, 1);
}

bool found_elsewhere(struct control *c, const struct action *a)
{
	struct hyp_tree *t = c->trees.items[a->tree];
	struct hyp_node *n = t->nodes.items[a->node];
	uint64_t key;

	for (uint32_t i = 0; i < t->nodes.cnt; i++) {
		if (i == a->node || apart(t, i, a->node) || is_under(t, a->node, i) ||
		    is_under(t, i, a->node) ||
		    !hmap_get(&t->nodes.items[i]->done, a->edge.key, NULL))
			continue;
		hmap_put(&n->done, a->edge.key, 1);
		if (n->status == HYP_OPEN)
			n->status = HYP_EXPLORED;
		key = found_key(t, a->edge.key, i);
		if (key)
			located_add(c, a, key);
		return true;
	}
	return false;
}
