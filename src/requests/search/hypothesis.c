/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/search/hypothesis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "requests/search/evidence_age.h"
#include "requests/graph/mask.h"

/* Looks that a search is to be done with. */
#define LOOKS_SEARCH 16
/* A look has at most so many times the least that a decision needs: 100, where that is 20. */
#define LOOK_MOST 5
/*
 * From 95 % to both sides to 90 % to one: 1.341 over 2.131 of Student's t with 15 degrees of
 * freedom.  With all of it an edge of 0.4 in samples of 128 is not seen, with none of it chance is.
 */
#define SURE_PART 0.629

static bool path_has(const struct cpath *p, uint32_t point, uint8_t sides)
{
	for (uint32_t i = 0; i < p->step_cnt; i++)
		if (p->steps[i].point == point && side_of(p->steps[i].kind) & sides)
			return true;
	return false;
}

/* Its bins; 0: none, or its begin had them.  An end that was seen alone has its span's. */
static uint64_t step_bin(const struct graph *g, const struct cstep *step)
{
	const struct gspan *span = &g->spans[step->span];

	return step->kind == NODE_EXIT && span->entry != span->exit ? 0 : g->bins[step->span];
}

/* Whatever their order: a path's hash tells that. */
static uint64_t path_bins(const struct control *c, const struct seen *s)
{
	uint64_t hash = 1;

	for (uint32_t i = 0; s->graph.bins && i < s->path.step_cnt; i++) {
		const struct cstep *step = &s->path.steps[i];
		uint64_t bin = step_bin(&s->graph, step);

		if (bin)
			hash += hash_pair(c->points->items.items[step->point].hash, bin);
	}
	return hash ? hash : 1;
}

/* Strips, makes the graph and walks it; false: no request in it. */
static bool hyp_see(struct control *c, const struct trace *t, const uint8_t *on,
		    struct arena *arena, struct seen *ret)
{
	struct trace *stripped = ARENA_NEW(arena, struct trace);

	trace_strip(t, on, c->points, c->strings, arena, stripped);
	ret->trace = stripped;
	ret->bins = 0;
	if (graph_build(stripped, c->points, c->strings, arena, &ret->graph, &c->stats))
		return false;
	ret->graph.bins = bins_of(&c->opts.keys, stripped, c->strings, arena);
	if (critical_path(&ret->graph, c->points, arena, &ret->path))
		return false;
	if (c->opts.keys.cnt)
		ret->bins = path_bins(c, ret);
	return true;
}

static struct hyp_node *node_new(struct control *c, const struct hyp_want *want)
{
	struct hyp_node *n = xcalloc(1, sizeof(*n));

	n->parent = want->node;
	n->point = want->point;
	n->sides = want->sides;
	n->other = FOREST_NONE;
	n->active = true;
	n->round = c->round;
	n->edge_key = want->edge_key;
	n->only = want->only;
	n->expected = want->expected;
	n->on = xcalloc(c->point_size, sizeof(*n->on));
	memcpy(n->on, want->on, c->point_size * sizeof(*n->on));
	evidence_begin(&n->e, c->points, want->from, want->to, want->point, want->sides);
	return n;
}

/* The two of a pair go together: the one's traces of the space may be in the other's arena. */
void hyp_node_free(struct hyp_node *n)
{
	evidence_release(&n->e);
	evidence_release(&n->young);
	samples_release(&n->samples);
	hmap_release(&n->done);
	arena_release(&n->arena);
	free(n->on);
	free(n);
}

static void usual_keep(struct hyp_node *n, uint32_t i, const struct seen *s)
{
	n->usual[i] = *s;
	n->usual_cnt++;
	if (!n->only)
		evidence_add_usual(&n->e, s);
}

/* Does any of the space's traces take the path that the node is about. */
static bool only_known(const struct hyp_tree *t, const struct hyp_node *n)
{
	const struct hyp_node *root = t->nodes.cnt ? t->nodes.items[0] : n;
	bool known = false;

	for (uint32_t i = 0; i < t->known_cnt && n->only && !known; i++)
		known = root->usual[i].path.step_cnt && root->usual[i].path.hash == n->only;
	return known;
}

/*
 * What the space's traces look like with what is on: those in the parent, with
 * the tracepoint on their path to n and without to other (NULL: all to n).
 */
static void usual_take(struct control *c, struct hyp_tree *t, struct hyp_node *n,
		       struct hyp_node *other)
{
	const struct hyp_node *up = n->parent == FOREST_NONE ? NULL : t->nodes.items[n->parent];
	bool of_path = only_known(t, n);

	n->usual = ARENA_ARRAY(&n->arena, struct seen, t->known_cnt + 1);
	if (other)
		other->usual = ARENA_ARRAY(&other->arena, struct seen, t->known_cnt + 1);
	for (uint32_t i = 0; i < t->known_cnt; i++) {
		struct seen s;

		if (!t->known[i].full.path.step_cnt || (up && !up->usual[i].path.step_cnt) ||
		    (of_path && t->nodes.items[0]->usual[i].path.hash != n->only) ||
		    !hyp_see(c, t->known[i].full.trace, n->on, &n->arena, &s))
			continue;
		usual_keep(other && !path_has(&s.path, n->point, n->sides) ? other : n, i, &s);
	}
}

static void known_take(struct control *c, struct hyp_tree *t)
{
	t->known_cnt = t->type->sample_cnt;
	t->known = ARENA_ARRAY(&t->arena, struct known, t->known_cnt + 1);
	for (uint32_t i = 0; i < t->known_cnt; i++) {
		struct known *k = &t->known[i];

		k->full.trace = &t->type->samples[i];
		if (graph_build(k->full.trace, c->points, c->strings, &t->arena, &k->full.graph,
				&c->stats) ||
		    critical_path(&k->full.graph, c->points, &t->arena, &k->full.path)) {
			k->full = (struct seen){.trace = k->full.trace};
			continue;
		}
		known_begin(k);
	}
}

/*
 * The most that one edge surely has of the variance when everything is on.  Of many edges the
 * greatest share is too high by chance: of eight with an eighth each, in 7 of 8 samples over 0.15.
 */
static double top_share(const struct control *c, const struct hyp_tree *t)
{
	struct evidence e = {0};
	double top = 0;

	evidence_begin(&e, c->points, (struct forest_event){FOREST_NONE, 0},
		       (struct forest_event){FOREST_NONE, 0}, FOREST_NONE, 0);
	for (uint32_t i = 0; i < t->known_cnt; i++)
		if (t->known[i].full.path.step_cnt)
			evidence_add_usual(&e, &t->known[i].full);
	for (uint32_t i = 1; i < moments_columns(&e.usual); i++) {
		struct moments_share share = moments_share(&e.usual, i);
		double off = isfinite(share.low) ? SURE_PART * (share.value - share.low) : 0;

		top = fmax(top, share.value - off);
	}
	evidence_release(&e);
	return top;
}

/*
 * A look's worth: the mean is then known to a tenth of what the times vary by;
 * but all that will come of this type is to last for a search.
 */
static double look_cnt(const struct control *c, const struct space_type *type)
{
	double share = c->view.trace_cnt ?
		       (double)type->trace_cnt / (double)c->view.trace_cnt : 1;
	double most = (double)c->opts.most_cnt * fmin(1, share) / LOOKS_SEARCH;

	if (!c->opts.most_cnt)
		return LOOK_MOST * c->opts.min_cnt;
	return fmax(1, fmin(LOOK_MOST, most / c->opts.min_cnt)) * c->opts.min_cnt;
}

struct hyp_tree *hyp_tree_new(struct control *c, const struct space_type *type)
{
	struct hyp_tree *t = xcalloc(1, sizeof(*t));
	struct hyp_want root = {.node = FOREST_NONE, .point = type->point,
				.sides = SIDES_BOTH, .on = c->always,
				.from = {FOREST_NONE, 0}, .to = {FOREST_NONE, 0}};
	struct hyp_node *n;

	t->type = type;
	t->barred = xcalloc(c->point_size, sizeof(*t->barred));
	known_take(c, t);
	t->look_cnt = look_cnt(c, type);
	t->learnt = usual_learnt(t);
	t->top_share = top_share(c, t);
	n = node_new(c, &root);
	n->present = true;
	vec_push(&t->nodes, n);
	usual_take(c, t, n, NULL);
	return t;
}

void hyp_tree_free(struct hyp_tree *t)
{
	for (size_t i = 0; i < t->nodes.cnt; i++)
		hyp_node_free(t->nodes.items[i]);
	vec_release(&t->nodes);
	vec_release(&t->found);
	for (uint32_t i = 0; i < t->known_cnt; i++)
		known_release(&t->known[i]);
	arena_release(&t->arena);
	free(t->barred);
	free(t);
}

uint32_t hyp_pair_new(struct control *c, const struct hyp_want *want)
{
	struct hyp_tree *t = c->trees.items[want->tree];
	uint32_t at = (uint32_t)t->nodes.cnt;

	if (t->nodes.cnt + 2 > c->opts.nodes_max)
		return FOREST_NONE;
	for (uint32_t i = 0; i < 2; i++) {
		struct hyp_node *n = node_new(c, want);

		n->present = i == 0;
		n->other = at + 1 - i;
		vec_push(&t->nodes, n);
	}
	usual_take(c, t, t->nodes.items[at], t->nodes.items[at + 1]);
	for (uint32_t i = 0; i < 2 && t->young; i++)
		age_begin(c, t, t->nodes.items[at + i]);
	return at;
}

struct hyp_tree *hyp_tree_of(struct control *c, const struct trace *t, struct seen *ret_root)
{
	uint64_t at;

	if (!hyp_see(c, t, c->always, &c->scratch, ret_root)) {
		c->bad_trace_cnt++;
		return NULL;
	}
	if (!hmap_get(&c->by_type, ret_root->graph.type_hash, &at)) {
		c->other_type_cnt++;
		return NULL;
	}
	return c->trees.items[at];
}

/* Notes the names of a group's bins: all its requests have the same ones. */
static void names_note(struct control *c, struct evidence *e, const struct seen *s)
{
	struct evidence_group *g = s->graph.bins ? evidence_group(e, s->path.hash) : NULL;

	if (!g || g->names.cnt)
		return;
	for (uint32_t i = 0; i < s->path.step_cnt && g->names.cnt < FOREST_BINS_MAX; i++) {
		const struct cstep *step = &s->path.steps[i];

		if (step_bin(&s->graph, step))
			bins_name(&c->opts.keys, s->trace, step->span, step->point, c->strings,
				  &c->scratch, &g->names);
	}
	if (g->names.cnt > FOREST_BINS_MAX)
		g->names.cnt = FOREST_BINS_MAX;
}

static void node_count(struct control *c, const struct hyp_tree *t, struct hyp_node *n,
		       const struct seen *s, const struct seen *root)
{
	if (n->only && n->only != root->path.hash) {
		if (root->bins != t->only_bins)
			return;
		evidence_add_usual(&n->e, s);
		if (t->young)
			evidence_add_usual(&n->young, s);
		return;
	}
	evidence_add(&n->e, s);
	names_note(c, &n->e, s);
	if (t->young) {
		evidence_add(&n->young, s);
		names_note(c, &n->young, s);
	}
	hyp_keys_add(c, n, s);
}

void hyp_walk(struct control *c, struct hyp_tree *tree, const struct trace *t,
	      const struct seen *root, bool *came, bool count)
{
	came[0] = true;
	if (count)
		node_count(c, tree, tree->nodes.items[0], root, root);
	for (uint32_t i = 1; i + 1 < tree->nodes.cnt; i += 2) {
		const struct hyp_node *n = tree->nodes.items[i];
		uint32_t to = i;
		struct seen s;

		came[i] = came[i + 1] = came[n->parent];
		if (!came[i] || (count && !n->active))
			continue;
		if (!count && n->only && n->only != root->path.hash) {
			came[i] = came[i + 1] = false;
			continue;
		}
		came[i] = came[i + 1] = false;
		if (!hyp_see(c, t, n->on, &c->scratch, &s))
			continue;
		to += !path_has(&s.path, n->point, n->sides);
		came[to] = true;
		if (count)
			node_count(c, tree, tree->nodes.items[to], &s, root);
	}
}
