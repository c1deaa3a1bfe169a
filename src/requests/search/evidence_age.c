/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A search that runs for hours is not bound by what it saw at first.  Sums are
 * exact and cannot fade, so a node collects twice: `e`, which decides, and
 * `young`, which began later and takes its place in time.  What decides is so
 * one to two ages old, a whole number of requests, and the same in any order.
 *
 * What was decided on old evidence goes with it: when a tree's evidence
 * changes and its search has ended (or leads nowhere), its hypotheses are
 * forgotten and the root is asked anew.  Decisions stay, as does what was
 * located, with the round in which it last was.
 *
 * Within the first age nothing is collected twice and nothing is forgotten.
 */
#include "requests/search/evidence_age.h"

#include <math.h>
#include <string.h>

#include "requests/search/actions.h"

/* Evidence that replaces the old one has so many times the least that a decision needs. */
#define YOUNG_ENOUGH 5
/* A search that has not ended after so many ages leads nowhere: what it asks has changed. */
#define SEARCH_AGES 4
/* Decisions that are kept: the later half of them when there are more. */
#define DECISIONS_MAX 8192

void age_begin(struct control *c, struct hyp_tree *t, struct hyp_node *n)
{
	evidence_begin(&n->young, c->points, n->e.from, n->e.to, n->e.split,
		       n->e.split_sides);
	for (uint32_t i = 0; i < t->known_cnt && !n->only; i++)
		if (n->usual[i].path.step_cnt)
			evidence_add_usual(&n->young, &n->usual[i]);
}

static void young_take(struct control *c, struct hyp_tree *t)
{
	VEC_FOREACH(&t->nodes, n) {
		evidence_release(&(*n)->e);
		(*n)->e = (*n)->young;
		memset(&(*n)->young, 0, sizeof((*n)->young));
		samples_release(&(*n)->samples);
		memset(&(*n)->samples, 0, sizeof((*n)->samples));
		age_begin(c, t, *n);
	}
	t->young_round = c->round;
}

static bool any_open(const struct hyp_tree *t)
{
	for (size_t i = 1; i < t->nodes.cnt; i++)
		if (t->nodes.items[i]->active && t->nodes.items[i]->status == HYP_OPEN)
			return true;
	return false;
}

/* They stay as what was thought once; there is no node but the root to point at. */
static void decisions_detach(struct control *c, uint32_t tree)
{
	VEC_FOREACH(&c->decisions, d)
		if (d->tree == tree)
			d->node = 0;
	VEC_FOREACH(&c->located, l)
		if (l->tree == tree)
			l->node = 0;
}

static void tree_renew(struct control *c, uint32_t tree)
{
	struct hyp_tree *t = c->trees.items[tree];
	struct hyp_node *root = t->nodes.items[0];
	struct forest_decision d = decision_blank(c, tree, 0, DECIDE_WAIT);

	decisions_detach(c, tree);
	if (t->nodes.cnt > 1)
		control_note(c, &d, "what was seen before round %u counts no more: it is searched "
				    "anew", c->round - c->opts.age_rounds);
	while (t->nodes.cnt > 1)
		hyp_node_free(t->nodes.items[--t->nodes.cnt]);
	hmap_release(&root->done);
	root->status = HYP_OPEN;
	root->looks = (struct sequential){0};
	vec_clear(&t->found);
	memset(t->barred, 0, c->point_size * sizeof(*t->barred));
	t->finished = t->deferred = t->waiting = false;
	t->located = t->base_ns = t->weight_ns = t->top = 0;
	t->mode = MODE_UNKNOWN;
	t->only = t->only_bins = 0;
	t->began_round = c->round;
}

/* Found again and again it is no more likely than found once or twice. */
static void trust_fade(struct control *c)
{
	for (uint32_t i = 0; i < c->trust_cnt; i++)
		c->trust[i] = sqrt(c->trust[i]);
}

void age_decisions(struct control *c)
{
	struct arena words = {0};
	size_t cut = c->decisions.cnt - DECISIONS_MAX / 2;

	if (c->decisions.cnt <= DECISIONS_MAX)
		return;
	c->forgotten_cnt += cut;
	c->decisions.cnt -= cut;
	memmove(c->decisions.items, c->decisions.items + cut,
		c->decisions.cnt * sizeof(*c->decisions.items));
	VEC_FOREACH(&c->decisions, d)
		d->why = arena_strdup(&words, d->why);
	arena_release(&c->words);
	c->words = words;
}

void age_trees(struct control *c)
{
	uint32_t age = c->opts.age_rounds;
	bool renewed = false;

	for (uint32_t i = 0; i < c->trees.cnt; i++) {
		struct hyp_tree *t = c->trees.items[i];
		struct evidence *young = &t->nodes.items[0]->young;

		if (!t->young && c->round > age) {
			t->young = true;
			t->young_round = c->round;
			VEC_FOREACH(&t->nodes, n)
				age_begin(c, t, *n);
			continue;
		}
		if (!t->young || c->round - t->young_round < age ||
		    moments_cnt(&young->live) < (uint64_t)YOUNG_ENOUGH * c->opts.min_cnt)
			continue;
		young_take(c, t);
		if (t->finished || !any_open(t) || c->round - t->began_round >= SEARCH_AGES * age) {
			tree_renew(c, i);
			renewed = true;
		}
	}
	if (renewed)
		trust_fade(c);
}
