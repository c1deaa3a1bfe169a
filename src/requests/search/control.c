/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds.  control_add takes a trace to the nodes it comes through;
 * control_decide has the strategy say what each tree asks for, takes the
 * largest first as far as the budget goes, and then switches off what no open
 * hypothesis needs.  What is on is a function of the nodes.
 */
#include "requests/search/control.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/cmp.h"
#include "requests/search/evidence_age.h"
#include "requests/search/actions.h"
#include "requests/graph/mask.h"

/* Edges under this part of the largest one's score wait until that is found. */
#define SCORE_NEXT 0.5

static void defaults_set(struct control_opts *o)
{
	o->cv_min = o->cv_min > 0 ? o->cv_min : 0.10;
	o->slow_pct = o->slow_pct > 0 ? o->slow_pct : 95;
	o->min_cnt = o->min_cnt ? o->min_cnt : 20;
	o->budget = o->budget ? o->budget : 8;
	o->nodes_max = o->nodes_max ? o->nodes_max : 256;
	o->alpha = o->alpha > 0 ? o->alpha : 0.05;
	o->enough = o->enough > 0 ? o->enough : 0.80;
	o->age_rounds = o->age_rounds ? o->age_rounds : 64;
}

/* Raises the trust in what earlier runs found, lowers it in what explained nothing. */
static void trust_take(struct control *c, const struct forest *earlier)
{
	c->trust_cnt = c->point_size;
	c->trust = ARENA_ARRAY(&c->arena, double, c->point_size);
	for (uint32_t i = 0; i < c->point_size; i++)
		c->trust[i] = 1;
	for (uint32_t i = 0; earlier && i < earlier->decision_cnt; i++) {
		const struct forest_decision *d = &earlier->decisions[i];

		if (d->kind == DECIDE_LOCALISED && d->owner < c->point_size)
			c->trust[d->owner] = TRUST_FOUND;
	}
}

/* Points come in with the traces; all tables by point follow. */
static void points_grow(struct control *c)
{
	uint32_t size = (uint32_t)c->points->items.cnt;
	uint8_t **tables[] = {&c->always, &c->on, &c->ever, &c->known};

	if (size <= c->point_size)
		return;
	size += 64;
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		*tables[i] = xrealloc(*tables[i], size);
		memset(*tables[i] + c->point_size, 0, size - c->point_size);
	}
	for (size_t i = 0; i < c->trees.cnt; i++) {
		struct hyp_tree *t = c->trees.items[i];

		t->barred = xrealloc(t->barred, size);
		memset(t->barred + c->point_size, 0, size - c->point_size);
		for (size_t k = 0; k < t->nodes.cnt; k++) {
			uint8_t **on = &t->nodes.items[k]->on;

			*on = xrealloc(*on, size);
			memset(*on + c->point_size, 0, size - c->point_size);
		}
	}
	c->point_size = size;
}

/* A space that was read from a file may have samples of what it does not list. */
static void samples_points(struct control *c)
{
	for (uint32_t i = 0; i < c->view.type_cnt; i++)
		for (uint32_t k = 0; k < c->view.types[i].sample_cnt; k++)
			strip_points(&c->view.types[i].samples[k], c->points, c->strings);
}

struct control *control_new(const struct space *space, const struct control_opts *opts,
			    struct points *points, struct strtab *strings)
{
	struct control *c = xcalloc(1, sizeof(*c));

	c->space = space;
	c->points = points;
	c->strings = strings;
	if (opts)
		c->opts = *opts;
	defaults_set(&c->opts);
	c->vars.host_key = strtab_add(strings, "host");
	c->vars.error_key = strtab_add(strings, "error");
	c->vars.start_key = strtab_add(strings, SAMPLES_START_KEY);
	space_view(space, &c->arena, &c->view);
	samples_points(c);
	points_grow(c);
	space_sides(&c->view, c->known, c->point_size);
	for (uint32_t i = 0; i < c->view.point_cnt; i++) {
		uint32_t p = c->view.points[i].point;

		c->always[p] = c->on[p] = space_always(space, p) ? c->known[p] : 0;
	}
	trust_take(c, c->opts.earlier);
	c->opts.earlier = NULL;
	for (uint32_t i = 0; i < c->view.type_cnt; i++) {
		/* Pieces of requests of other types: they are not seen. */
		if (!c->always[c->view.types[i].point])
			continue;
		hmap_put(&c->by_type, c->view.types[i].hash, c->trees.cnt);
		vec_push(&c->trees, hyp_tree_new(c, &c->view.types[i]));
	}
	return c;
}

void control_free(struct control *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->trees.cnt; i++)
		hyp_tree_free(c->trees.items[i]);
	vec_release(&c->trees);
	hmap_release(&c->by_type);
	key_vars_release(&c->vars);
	vec_release(&c->decisions);
	vec_release(&c->located);
	free(c->always);
	free(c->on);
	free(c->ever);
	free(c->known);
	arena_release(&c->arena);
	arena_release(&c->words);
	arena_release(&c->scratch);
	arena_release(&c->round_arena);
	free(c);
}

uint8_t control_wants(const struct control *c, uint32_t point)
{
	return point < c->point_size ? c->on[point] : 0;
}

void control_pause(struct control *c, bool paused)
{
	c->paused = paused;
}

void control_add(struct control *c, const struct trace *t)
{
	struct hyp_tree *tree;
	struct seen root = {0};

	arena_clear(&c->scratch);
	strip_points(t, c->points, c->strings);
	points_grow(c);
	tree = hyp_tree_of(c, t, &root);
	if (!tree)
		return;
	c->trace_cnt++;
	tree->seen_cnt++;
	hyp_walk(c, tree, t, &root,
		 ARENA_ARRAY(&c->scratch, bool, tree->nodes.cnt + 1), true);
}

uint32_t control_walk(const struct control *c, const struct trace *t, uint32_t *ret_nodes,
		      uint32_t max)
{
	struct control *own = (struct control *)c; /* counters apart nothing changes */
	struct hyp_tree *tree;
	struct seen root = {0};
	uint32_t cnt = 0;
	bool *came;

	arena_clear(&own->scratch);
	strip_points(t, own->points, own->strings);
	points_grow(own);
	tree = hyp_tree_of(own, t, &root);
	if (!tree)
		return 0;
	came = ARENA_ARRAY(&own->scratch, bool, tree->nodes.cnt + 1);
	hyp_walk(own, tree, t, &root, came, false);
	for (size_t i = tree->nodes.cnt; i-- > 0 && cnt < max;) {
		bool leaf = came[i];

		for (size_t k = i + 1; k < tree->nodes.cnt && leaf; k++)
			leaf = !(came[k] && tree->nodes.items[k]->parent == i);
		if (leaf)
			ret_nodes[cnt++] = (uint32_t)i;
	}
	return cnt;
}

/* ---- words */

const char *point_words(struct control *c, uint32_t point)
{
	const struct point *p;

	if (point == FOREST_NONE)
		return "-";
	p = &c->points->items.items[point];
	return arena_printf(&c->round_arena, "%s %s", strtab_str(c->strings, p->service),
			    strtab_str(c->strings, p->name));
}

const char *sided_words(struct control *c, uint32_t point, uint32_t sides)
{
	static const char *const which[] = {"", "begin of ", "end of ", ""};

	return arena_printf(&c->round_arena, "%s%s", which[sides & SIDES_BOTH],
			    point_words(c, point));
}

const char *event_words(struct control *c, struct forest_event e)
{
	static const char *const kinds[] = {"begin of ", "end of ", ""};

	return arena_printf(&c->round_arena, "%s%s", e.kind <= NODE_NOTE ? kinds[e.kind] : "",
			    point_words(c, e.point));
}

struct forest_decision decision_blank(const struct control *c, uint32_t tree, uint32_t node,
				      enum decision_kind kind)
{
	return (struct forest_decision){
		.kind = kind,
		.round = c->round,
		.tree = tree,
		.node = node,
		.point = FOREST_NONE,
		.from = {FOREST_NONE, 0},
		.to = {FOREST_NONE, 0},
		.owner = FOREST_NONE,
		.usual_ns = -1,
		.p = 1,
	};
}

void control_note(struct control *c, const struct forest_decision *d, const char *fmt, ...)
{
	struct forest_decision *kept = vec_add(&c->decisions);
	va_list ap;

	*kept = *d;
	va_start(ap, fmt);
	kept->why = arena_vprintf(&c->words, fmt, ap);
	va_end(ap);
}

/* ---- actions */

/* Tracepoints that the sides of a span are. */
static uint32_t count_of(const struct control *c, uint32_t sides)
{
	return c->opts.apart ? sides_cnt((uint8_t)sides) : sides != 0;
}

void hidden_query_of(const struct control *c, uint32_t tree, uint32_t node,
		     const struct edge_class *edge, struct hidden_query *ret)
{
	const struct hyp_tree *t = c->trees.items[tree];
	const struct hyp_node *n = t->nodes.items[node];

	*ret = (struct hidden_query){
		.known = t->known,
		.stripped = n->usual,
		.known_cnt = t->known_cnt,
		.on = n->on,
		.points = c->points,
		.from = edge->from,
		.to = edge->to,
		.owner = edge->owner,
	};
}

struct search search_of(const struct control *c, const struct hyp_tree *t, double fresh)
{
	return (struct search){.points = c->points, .strings = c->strings, .known = c->known,
			       .barred = t->barred, .paid = c->ever, .fresh = fresh,
			       .trust = c->trust, .apart = c->opts.apart};
}

/* The part of a problem that the search space's own traces cannot have known. */
static double fresh_of(const struct hyp_tree *t)
{
	const struct evidence *e = &t->nodes.items[0]->e;
	double now = moments_var(&e->live), usual = moments_var(&e->usual);

	if (t->mode != MODE_VARIANCE)
		return 1;
	return now > usual && now > 0 ? fmax(0.1, 1 - usual / now) : 0.1;
}

/* The sides to enable to see the event; an event outside the space has none. */
static uint8_t sides_at(const struct control *c, struct forest_event e)
{
	return c->known[e.point] & (c->opts.apart ? side_of(e.kind) : SIDES_BOTH);
}

/* All that there is of it is both, of an instant too. */
static uint8_t sides_told(const struct control *c, uint32_t point, uint8_t sides)
{
	return c->known[point] & ~sides ? sides : SIDES_BOTH;
}

/* Switches the point on for a hypothesis on the edge; false: no room. */
static bool switch_on(struct control *c, const struct action *a)
{
	struct hyp_tree *t = c->trees.items[a->tree];
	struct hyp_node *n = t->nodes.items[a->node];
	struct hyp_want want = {.tree = a->tree, .node = a->node, .point = a->pick.point,
				.sides = sides_told(c, a->pick.point, a->pick.sides),
				.from = a->edge.from, .to = a->edge.to,
				.edge_key = a->edge.key, .only = a->only,
				.expected = a->score};
	struct forest_decision d = a->why;
	uint8_t *on = ARENA_ARRAY(&c->round_arena, uint8_t, c->point_size);

	/*
	 * Ours needs the edge's ends and no more, unless this is what the last
	 * tracepoint did not split: then that stays, or the two would take turns.
	 */
	if (c->opts.strategy != STRATEGY_HEDGE) {
		memcpy(on, n->on, c->point_size);
		want.from.point = want.to.point = FOREST_NONE;
	} else if (event_same(a->edge.from, n->e.from) && event_same(a->edge.to, n->e.to)) {
		memcpy(on, n->on, c->point_size);
	} else {
		memcpy(on, c->always, c->point_size);
		on[a->edge.from.point] |= sides_at(c, a->edge.from);
		on[a->edge.to.point] |= sides_at(c, a->edge.to);
	}
	on[a->pick.point] |= a->pick.sides;
	want.on = on;
	if (hyp_pair_new(c, &want) == FOREST_NONE)
		return false;
	if (n->status == HYP_OPEN)
		n->status = HYP_EXPLORED;
	hmap_put(&n->done, a->edge.key, 1);
	d.kind = DECIDE_ON;
	d.point = a->pick.point;
	d.sides = want.sides;
	d.hidden_cnt = a->pick.hidden_cnt;
	control_note(c, &d, "%.0f %% of the excess is between %s and %s, where %u "
			    "tracepoint%s off", a->score * 100,
		     event_words(c, a->edge.from), event_words(c, a->edge.to),
		     a->pick.hidden_cnt, a->pick.hidden_cnt == 1 ? " is" : "s are");
	return true;
}

/* Looks what is hidden in the edge; true when a tracepoint is to be switched on. */
static bool hedge_pick(struct control *c, struct action *a)
{
	struct hyp_tree *t = c->trees.items[a->tree];
	struct hidden_query q;
	struct stretches ways;
	struct search s = search_of(c, t, fresh_of(t));

	hidden_query_of(c, a->tree, a->node, &a->edge, &q);
	hidden_find(&q, &c->round_arena, &ways);
	search_hedge(&s, &ways, &c->round_arena, &a->pick);
	if (c->opts.apart && ways.cnt && !ways.items[0].event_cnt)
		a->edge.owner = ways.items[0].owners[0];
	return a->pick.point != FOREST_NONE;
}

static int action_cmp(const void *a, const void *b)
{
	const struct action *x = a, *y = b;

	CMP(y->score, x->score);
	CMP(x->tree, y->tree);
	CMP(x->edge.key, y->edge.key);
	CMP(x->node, y->node);
	return 0;
}

static bool enough_found(const struct control *c, const struct hyp_tree *t)
{
	return !c->opts.keep_going && t->located >= c->opts.enough;
}

/* The rest of the tree is not looked at any more. */
static void tree_finish(struct hyp_tree *t)
{
	t->finished = true;
	for (size_t i = 1; i < t->nodes.cnt; i++)
		if (t->nodes.items[i]->status == HYP_OPEN)
			t->nodes.items[i]->status = HYP_STOPPED;
}

/*
 * Requests that are slower than usual come before those that vary as ever, and
 * types that lost much time before those that lost little: what is found for
 * them may well be what slows the others.
 */
static void trees_rank(struct control *c)
{
	double all = 0, found = 0, top = 0;

	for (size_t i = 0; i < c->trees.cnt; i++) {
		const struct hyp_tree *t = c->trees.items[i];

		all += t->weight_ns;
		found += t->weight_ns * (t->finished ? 1 : fmin(1, t->located));
		if (!t->finished && t->weight_ns > top)
			top = t->weight_ns;
	}
	for (size_t i = 0; i < c->trees.cnt; i++) {
		struct hyp_tree *t = c->trees.items[i];

		t->deferred = all > 0 && t->weight_ns < SCORE_NEXT * top;
		if (all > 0 && found >= c->opts.enough * all && !c->opts.keep_going)
			tree_finish(t);
	}
}

/* It will be asked for again: what shows its edge stays on. */
static void postpone(struct hyp_tree *t, const struct action *a)
{
	t->waiting = true;
	t->nodes.items[a->node]->pending = true;
}

static void actions_take(struct control *c, struct actions *actions)
{
	uint32_t budget = c->paused ? 0 : c->opts.budget;

	if (c->opts.strategy == STRATEGY_HEDGE)
		trees_rank(c);

	vec_sort(&actions->items, action_cmp);
	VEC_FOREACH(&actions->items, a) {
		struct hyp_tree *t = c->trees.items[a->tree];

		if (t->finished)
			continue;
		if (c->opts.strategy == STRATEGY_HEDGE) {
			if (t->deferred || a->score < SCORE_NEXT * t->top) {
				postpone(t, a); /* till what is larger was found */
				continue;
			}
			if (found_elsewhere(c, a))
				continue;
			(void)hedge_pick(c, a);
		}
		if (a->pick.point == FOREST_NONE) {
			control_found(c, a);
			if (enough_found(c, t))
				tree_finish(t);
		} else if (!budget) {
			postpone(t, a);
		} else if (switch_on(c, a)) {
			uint32_t cost = count_of(c, a->pick.sides);

			budget -= cost < budget ? cost : budget;
			c->new_cnt++;
		}
	}
}

/* ---- rounds */

static bool pair_open(const struct hyp_tree *t, size_t i)
{
	const struct hyp_node *n = t->nodes.items[i];

	return n->active && (n->status == HYP_OPEN || n->status == HYP_LOCALISED ||
			     (n->pending && !t->finished));
}

/* A pair whose points are not all on cannot tell its traces apart any more. */
static void pairs_rest(struct control *c, const uint8_t *needed)
{
	for (size_t t = 0; t < c->trees.cnt; t++) {
		struct hyp_tree *tree = c->trees.items[t];

		for (size_t i = 1; i < tree->nodes.cnt; i++)
			for (uint32_t p = 0; p < c->point_size && tree->nodes.items[i]->active; p++)
				if (tree->nodes.items[i]->on[p] & ~needed[p])
					tree->nodes.items[i]->active = false;
	}
}

/* The last hypothesis about one of the sides; NULL: none is. */
static const struct hyp_node *last_about(const struct control *c, struct sided one,
					 struct forest_decision *d)
{
	const struct hyp_node *n = NULL;

	for (uint32_t t = 0; t < c->trees.cnt; t++) {
		const struct hyp_tree *tree = c->trees.items[t];

		for (uint32_t i = 1; i < tree->nodes.cnt; i++) {
			if (tree->nodes.items[i]->point != one.point ||
			    !(tree->nodes.items[i]->sides & one.sides) ||
			    !tree->nodes.items[i]->present)
				continue;
			n = tree->nodes.items[i];
			d->tree = t;
			d->node = i;
		}
	}
	return n;
}

/* Says why a tracepoint goes off, unless that was said when its hypothesis was given up. */
static void off_note(struct control *c, struct sided one)
{
	struct forest_decision d = decision_blank(c, 0, 0, DECIDE_OFF);
	const struct hyp_node *n = last_about(c, one, &d);

	if (!n || n->status == HYP_USELESS)
		return;
	d.point = one.point;
	d.sides = sides_told(c, one.point, one.sides);
	d.trace_cnt = (uint32_t)moments_cnt(&n->e.live);
	d.mean_ns = moments_mean(&n->e.live);
	if (c->trees.items[d.tree]->finished)
		control_note(c, &d, "the search has ended, and it is no end of what was found");
	else
		control_note(c, &d, "what is looked for is in a part of the edge that it does not "
				    "bound");
}

/* The begin and the end of a span may have been on for two hypotheses. */
static void off_notes(struct control *c, struct sided both)
{
	struct sided begin = {both.point, both.sides & SIDE_BEGIN};
	struct sided end = {both.point, both.sides & SIDE_END};
	struct forest_decision d;

	if (last_about(c, begin, &d) == last_about(c, end, &d)) {
		off_note(c, both);
		return;
	}
	off_note(c, begin);
	off_note(c, end);
}

/* Decides anew what is on: what is always on and what open hypotheses need. */
static void points_switch(struct control *c, struct control_round *ret)
{
	uint8_t *needed = ARENA_ARRAY(&c->round_arena, uint8_t, c->point_size);
	struct sided *on = ARENA_ARRAY(&c->round_arena, struct sided, c->point_size);
	struct sided *off = ARENA_ARRAY(&c->round_arena, struct sided, c->point_size);

	memcpy(needed, c->always, c->point_size);
	for (size_t t = 0; t < c->trees.cnt; t++) {
		const struct hyp_tree *tree = c->trees.items[t];

		for (size_t i = 1; i < tree->nodes.cnt; i++)
			for (uint32_t p = 0; p < c->point_size && pair_open(tree, i); p++)
				needed[p] |= tree->nodes.items[i]->on[p];
	}
	for (uint32_t p = 0; p < c->point_size; p++) {
		uint8_t come, go;

		BUG_ON(needed[p] && !c->known[p]);
		needed[p] &= c->known[p];
		come = needed[p] & ~c->on[p];
		go = c->on[p] & ~needed[p];
		if (come)
			on[ret->on_cnt++] = (struct sided){p, come};
		if (go) {
			off[ret->off_cnt++] = (struct sided){p, go};
			off_notes(c, (struct sided){p, go});
		}
		c->ever[p] |= needed[p] & ~c->always[p];
		c->on[p] = needed[p];
	}
	pairs_rest(c, needed);
	ret->on = on;
	ret->off = off;
}

static int located_cmp(const void *a, const void *b)
{
	const struct control_located *x = a, *y = b;

	CMP(y->weight_ns, x->weight_ns);
	CMP(y->score, x->score);
	CMP(x->round, y->round);
	CMP(x->tree, y->tree);
	CMP(x->node, y->node);
	CMP(x->from.point, y->from.point);
	return 0;
}

static void round_fill(struct control *c, struct control_round *ret)
{
	ret->round = c->round;
	ret->decisions = c->decisions.items + c->round_first;
	ret->decision_cnt = (uint32_t)c->decisions.cnt - c->round_first;
	vec_sort(&c->located, located_cmp);
	ret->located = c->located.items;
	ret->located_cnt = (uint32_t)c->located.cnt;
	/* A new hypothesis has seen nothing, also where its tracepoint was on for another. */
	ret->finished = !ret->on_cnt && !c->new_cnt && c->trace_cnt > 0;
	for (size_t i = 0; i < c->trees.cnt && ret->finished; i++) {
		const struct hyp_tree *t = c->trees.items[i];

		ret->finished = t->finished || !t->waiting;
	}
}

void control_decide(struct control *c, struct control_round *ret)
{
	struct actions actions = {0};

	*ret = (struct control_round){0};
	arena_clear(&c->round_arena);
	c->round++;
	age_decisions(c);
	c->round_first = (uint32_t)c->decisions.cnt;
	age_trees(c);
	c->new_cnt = 0;
	for (uint32_t i = 0; i < c->trees.cnt; i++) {
		if (c->trees.items[i]->finished)
			continue;
		if (c->opts.strategy == STRATEGY_HEDGE)
			weigh_tree(c, i, &actions);
		else
			paper_tree(c, i, &actions);
	}
	actions_take(c, &actions);
	vec_release(&actions.items);
	points_switch(c, ret);
	round_fill(c, ret);
}

void control_counts(const struct control *c, struct control_counts *ret)
{
	*ret = (struct control_counts){
		.trace_cnt = c->trace_cnt,
		.bad_trace_cnt = c->bad_trace_cnt,
		.other_type_cnt = c->other_type_cnt,
	};
	for (uint32_t p = 0; p < c->point_size; p++) {
		ret->point_cnt += count_of(c, c->known[p]);
		ret->always_cnt += count_of(c, c->always[p]);
		ret->on_cnt += count_of(c, c->on[p] & ~c->always[p]);
		ret->ever_cnt += count_of(c, c->ever[p]);
	}
}

uint32_t control_shutdown(struct control *c, struct sided *ret, uint32_t max)
{
	uint32_t cnt = 0;

	for (uint32_t p = 0; p < c->point_size; p++) {
		uint8_t go = c->on[p] & ~c->always[p];

		if (go && cnt < max)
			ret[cnt++] = (struct sided){p, go};
		c->on[p] = c->always[p];
	}
	for (size_t i = 0; i < c->trees.cnt; i++)
		tree_finish(c->trees.items[i]);
	pairs_rest(c, c->always);
	return cnt;
}
