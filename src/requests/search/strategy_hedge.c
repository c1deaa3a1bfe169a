/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own strategy.  The root of a tree tells what there is to explain: a
 * shift (requests take longer than those the search space was learnt from), or
 * else variance.  Each edge of a node's paths then has a score, its part of
 * all that is to be explained:
 *
 *	shift		how much longer it takes than was usual for this edge, on the
 *			critical path or beside it, times how often it is on the path;
 *			the usual time of an edge beside the path counts too, since
 *			a slow branch becomes critical and all of its edges with it; and
 *			all that it takes, for requests that did not come this way before
 *	variance	its covariance with the request's time, less what was usual
 *	slow	how much longer it takes than in requests of other paths, where those
 *		of one path are always slow (consistently_slow.h); the hypotheses are about these
 *
 * An edge whose score is sure (sequential.h) and large is dealt with: where
 * something can be hidden in it, a hypothesis splits it (pick_point.h); where
 * nothing can, it is found.  Smaller ones wait until larger ones are found, so
 * that nothing is switched on for what the first finding explains.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cmp.h"
#include "requests/search/actions.h"
#include "requests/stats/sequential.h"
#include "requests/search/consistently_slow.h"
#include "requests/search/usual_span.h"

/* An edge of less than this of all that is to be explained is not worth a tracepoint. */
#define SCORE_MIN 0.15
/* A mean that is over the usual one by less than this is no shift that anybody would call slow. */
#define SHIFT_MIN 0.05
/*
 * Looks are evidence (sequential.h), not rounds: with few requests in a round
 * it takes more of them.  After as many looks without being sure, the largest edge is taken
 * if it is most of it.
 */
#define LOOKS_MAX 6
/* Variance that is not new is gone after when a shift has not shown in as many looks. */
#define LOOKS_SHIFT 5
/* Nor is all well after less. */
#define LOOKS_CALM 1
/*
 * What got slower beside the critical path counts for so much of its time: it
 * is the next to hold the request up when the path is repaired.
 */
#define BESIDE_PART 0.5
/* A side with under the least is left when the other has so many times the least. */
#define RARE_WITH 20
#define RARE_WITHOUT 4
/* Under so many times the usual variance it is the usual variance. */
#define VARIANCE_NEW 1.5
/* A path that is slow as ever is so for one reason if one edge has so much of it. */
#define SLOW_SHARE 0.5
/* Slow groups that are looked at in one round, the one that lost most first: each costs a look. */
#define SLOW_TRIES 8
/* An edge met less often in the space's traces has no usual time. */
#define USUAL_MIN 5
/* 97.5 % of Student's t with 15 degrees of freedom, as the shares' intervals are made. */
#define T_975_15 2.131

/* A tracepoint that explains so much of the variance of its parent's requests decides. */
#define PAIR_PART 0.5
/* In so many of a node's requests an edge is no exception there. */
#define RUNS_THERE 0.1

struct suspect {
	uint32_t class_idx;
	double gain_ns;		/* shift: mean over usual, for all requests of the node */
	double path_ns;		/* what of it is on the critical path */
	double score;		/* part of the excess in the whole tree */
	double p;
	double share_variance, share_time;
	double usual_ns;	/* < 0: not known */
};

/*
 * What tells a node's requests from those of the other of its pair: that more than before
 * come this way, or, where times vary, that most of that is between the two.
 */
struct mix {
	/* Shift: part of its requests that did not come before; variance: ns; 0: nothing */
	double more;
	double p;
	const struct evidence *others;	/* of the other node */
};

struct weighing {
	struct control *c;
	struct hyp_tree *t;
	uint32_t tree, node;
	struct hyp_node *n;
	double fraction;	/* of the tree's requests that are in the node */
	double cnt, alpha;
	double looks;		/* worth of what the tree saw in this round */
	struct mix mix;
	struct suspect *suspects;
	uint32_t suspect_cnt;
	const struct evidence_group *slow; /* root in MODE_SLOW: the group that it is about */
};

static double cv_of(const struct moments *m)
{
	double mean = moments_mean(m);

	return mean > 0 ? sqrt(moments_var(m)) / mean : 0;
}

/* CV that the given keys do not explain. */
static double left_cv(const struct weighing *w)
{
	double mean = moments_mean(&w->n->e.live);

	return mean > 0 ? sqrt(evidence_var(&w->n->e)) / mean : 0;
}

/* The part of a tree's requests that come through a node. */
static double fraction_of(const struct hyp_tree *t, uint32_t node)
{
	double fraction = 1;

	for (const struct hyp_node *n = t->nodes.items[node]; n->parent != FOREST_NONE;
	     n = t->nodes.items[n->parent]) {
		double own = (double)moments_cnt(&n->e.live);
		double other = (double)moments_cnt(&t->nodes.items[n->other]->e.live);

		fraction *= own + other > 0 ? own / (own + other) : 0.5;
	}
	return fraction;
}

/* Usual time between an edge's two ends, where no sample has the edge. */
static double usual_apart(struct weighing *w, const struct edge_class *k)
{
	struct hidden_query q;
	struct stretches ways;
	double sum = 0;

	hidden_query_of(w->c, w->tree, w->node, k, &q);
	hidden_find(&q, &w->c->round_arena, &ways);
	if (!ways.trace_cnt)
		return -1;
	for (uint32_t i = 0; i < ways.cnt; i++)
		for (uint32_t e = 0; e <= ways.items[i].event_cnt; e++)
			sum += ways.items[i].share * ways.items[i].mean_ns[e];
	return sum;
}

/*
 * Is the edge slower than it was: all its times count, since a slow edge is
 * slow beside the path too, and what is on the path is there for being slow.
 * Means tell that a few requests take much longer, ranks that all take a little
 * longer below a heavy tail, which hides that from means: two tests at once.
 */
static double slower_p(const struct beside *live, const struct beside *before,
		       struct usual usual)
{
	double by_mean = sequential_p(beside_mean(live) - usual.mean_ns,
				      hypot(beside_error(live), usual.error_ns));

	return fmin(1, 2 * fmin(by_mean, hist_above_p(&live->hist, &before->hist)));
}

/* usual: of the class's edge. */
static struct usual usual_in(const struct weighing *w, uint32_t class_idx,
			     const struct beside *usual)
{
	static const struct usual_learnt none;

	/* the others of a type are no sample of what was learnt */
	return usual_of(w->n->only ? &none : &w->t->learnt, &w->n->e, class_idx, usual);
}

/* Count of a node's requests that have the edge on their critical path. */
static double on_path_cnt(const struct evidence *e, uint32_t class_idx)
{
	return class_idx + 1 < moments_columns(&e->live) ?
		       (double)e->live.columns[class_idx + 1].cnt : 0;
}

/*
 * Does the tracepoint run beside the path of those that do not have it there: then it is there
 * for being quick, and on the others' path for having got slow.
 */
static bool runs_beside(const struct hyp_node *n, const struct evidence *others)
{
	uint8_t side = n->sides & SIDE_BEGIN ? SIDE_BEGIN : SIDE_END;
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < others->classes.cnt; i++) {
		const struct edge_class *k = &others->classes.items[i];
		const struct beside *b = beside_find(&others->live_beside, k->key);

		if (b && k->to.point == n->point && side_of(k->to.kind) == side)
			cnt += b->cnt;
	}
	return (double)cnt > RUNS_THERE * (double)moments_cnt(&others->live);
}

/* The mix of the node or the nearest above it where it is so. */
static struct mix mix_find(const struct weighing *w)
{
	double alpha = sequential_alpha(&w->n->looks, w->c->opts.alpha);
	struct mix none = {.p = 1};

	for (const struct hyp_node *n = w->n; n->parent != FOREST_NONE;
	     n = w->t->nodes.items[n->parent]) {
		const struct hyp_node *other = w->t->nodes.items[n->other];
		double now_in = (double)moments_cnt(&n->e.live), was_in = n->usual_cnt;
		double now = now_in + (double)moments_cnt(&other->e.live);
		double was = was_in + other->usual_cnt, more, both, p;

		if (now < w->c->opts.min_cnt || was < w->c->opts.min_cnt)
			continue;
		more = now_in / now - was_in / was;
		both = (now_in + was_in) / (now + was);
		p = sequential_p(more, sqrt(both * (1 - both) * (1 / now + 1 / was)));
		if (more > 0 && p < alpha && !runs_beside(n, &other->e))
			return (struct mix){more * now / now_in, p, &other->e};
	}
	return none;
}

static struct mix between_find(const struct weighing *w)
{
	struct mix none = {.p = 1};

	for (const struct hyp_node *n = w->n; n->parent != FOREST_NONE;
	     n = w->t->nodes.items[n->parent]) {
		const struct hyp_node *other = w->t->nodes.items[n->other];
		double in = (double)moments_cnt(&n->e.live);
		double out = (double)moments_cnt(&other->e.live);
		double off = moments_mean(&n->e.live) - moments_mean(&other->e.live);
		double within, part = out / (in + out), error2;

		if (in < w->c->opts.min_cnt || out < w->c->opts.min_cnt)
			continue;
		within = (in * moments_var(&n->e.live) + out * moments_var(&other->e.live)) /
			 (in + out);
		error2 = moments_var(&n->e.live) / in + moments_var(&other->e.live) / out;
		if (off > 0 && part * (1 - part) * off * off > PAIR_PART / (1 - PAIR_PART) * within)
			return (struct mix){part * off, sequential_p(off, sqrt(error2)),
					    &other->e};
	}
	return none;
}

/*
 * What comes this way for the first time takes the whole time of what is here alone: no edge
 * got slower for it, but the requests did.  Not of what runs in the others as well: beside
 * their path it is there for being quick, and here for having got slow.
 */
static void mix_add(const struct weighing *w, uint32_t i, struct suspect *s)
{
	const struct evidence *e = &w->n->e, *others = w->mix.others;
	uint64_t key = e->classes.items[i].key, at;
	const struct beside *there;
	double gain;

	if (!(w->mix.more > 0) || on_path_cnt(e, i) == 0)
		return;
	there = beside_find(&others->live_beside, key);
	if (there && (double)there->cnt > RUNS_THERE * (double)moments_cnt(&others->live))
		return;
	gain = moments_column_mean(&e->live, i + 1);
	if (hmap_get(&others->by_key, key, &at) && at + 1 < moments_columns(&others->live))
		gain -= moments_column_mean(&others->live, (uint32_t)at + 1);
	gain *= w->mix.more;
	if (gain <= 0)
		return;
	if (w->t->mode == MODE_VARIANCE) {
		if (gain > s->gain_ns) {
			s->gain_ns = gain;
			s->p = w->mix.p;
		}
		return;
	}
	if (gain > s->gain_ns)
		s->p = w->mix.p;
	s->gain_ns = fmax(s->gain_ns, 0) + gain;
	s->path_ns = fmax(s->path_ns, 0) + gain;
}

static void shift_weigh(struct weighing *w, uint32_t i, struct suspect *s)
{
	const struct evidence *e = &w->n->e;
	const struct edge_class *k = &e->classes.items[i];
	const struct beside *usual = beside_find(&e->usual_beside, k->key);
	const struct beside *live = beside_find(&e->live_beside, k->key);
	double on_path = on_path_cnt(e, i) / w->cnt, beside;
	double mean = on_path > 0 ? moments_column_mean(&e->live, i + 1) : 0;

	if (usual && usual->cnt >= USUAL_MIN && live) {
		struct usual was = usual_in(w, i, usual);

		s->usual_ns = was.mean_ns;
		s->p = slower_p(live, usual, was);
		s->path_ns = mean - on_path * s->usual_ns;
		beside = (double)live->cnt / w->cnt * (beside_mean(live) - s->usual_ns);
		s->gain_ns = fmax(s->path_ns, BESIDE_PART * beside);
		return;
	}
	if (mean > SCORE_MIN / 4 * moments_mean(&e->live))
		s->usual_ns = w->n->only ? 0 : usual_apart(w, k);
	s->gain_ns = mean - on_path * (s->usual_ns > 0 ? s->usual_ns : 0);
	s->path_ns = s->gain_ns;
	s->p = on_path > 0 ? sequential_p(s->gain_ns, moments_mean_error(&e->live, i + 1)) : 1;
}

/*
 * Of the covariance over the whole tree what comes from this node's requests:
 * that inside the node, and that the node is slow as a whole by the edge.
 */
static void variance_weigh(struct weighing *w, uint32_t i, struct suspect *s)
{
	const struct evidence *e = &w->n->e;
	const struct beside *usual = beside_find(&e->usual_beside, e->classes.items[i].key);
	const struct beside *live = beside_find(&e->live_beside, e->classes.items[i].key);
	struct moments_share share = moments_share(&e->live, i + 1);
	double var = moments_var(&e->live), cov = share.value * var, more, between;

	if (usual)
		s->usual_ns = usual_in(w, i, usual).mean_ns;
	more = moments_column_mean(&e->live, i + 1) -
	       on_path_cnt(e, i) / w->cnt * (usual ? s->usual_ns : 0);
	between = more * (moments_mean(&e->live) - moments_mean(&w->t->nodes.items[0]->e.live));
	if (i + 1 < moments_columns(&e->usual) && moments_var(&e->usual) < var / 2)
		cov -= moments_cov_total(&e->usual, i + 1);
	s->p = sequential_p(share.value, (share.high - share.low) / 2 / T_975_15);
	s->gain_ns = cov;
	if (more > 0 && between > cov) {
		s->gain_ns = cov + between;
		s->p = usual && live ? slower_p(live, usual, usual_in(w, i, usual)) :
		       sequential_p(more, moments_mean_error(&e->live, i + 1));
	}
}

static int suspect_cmp(const void *a, const void *b, void *ctx)
{
	const struct hyp_node *n = ctx;
	const struct suspect *x = a, *y = b;

	CMP(y->score, x->score);
	CMP(n->e.classes.items[x->class_idx].key, n->e.classes.items[y->class_idx].key);
	return 0;
}

static void suspects_order(struct weighing *w)
{
	/* As many looks at once as there are edges. */
	w->alpha = sequential_alpha(&w->n->looks, w->c->opts.alpha) / (w->suspect_cnt + 1);
	if (w->suspect_cnt > 1)
		qsort_r(w->suspects, w->suspect_cnt, sizeof(*w->suspects), suspect_cmp, w->n);
}

/* Fills the suspects of a slow group, against the other groups. */
static void slow_suspects_fill(struct weighing *w)
{
	const struct slow_edge *edges = slow_edges(&w->n->e, w->slow, &w->c->round_arena);
	double mean = moments_mean(&w->slow->moments);

	w->suspects = ARENA_ARRAY(&w->c->round_arena, struct suspect, w->n->e.classes.cnt + 1);
	w->suspect_cnt = 0;
	for (uint32_t i = 0; i < w->n->e.classes.cnt; i++) {
		if (!edges[i].on_path)
			continue;
		w->suspects[w->suspect_cnt++] = (struct suspect){
			.class_idx = i, .usual_ns = edges[i].usual_ns,
			.gain_ns = edges[i].gain_ns, .path_ns = edges[i].gain_ns,
			.score = edges[i].gain_ns,
			.p = sequential_p(edges[i].gain_ns, edges[i].error_ns),
			.share_time = mean > 0 ? edges[i].mean_ns / mean : 0};
	}
	suspects_order(w);
}

/* All edges of the node, the largest gain first; scores are as gains until base is known. */
static void suspects_fill(struct weighing *w)
{
	struct hyp_node *n = w->n;
	double mean = moments_mean(&n->e.live);

	if (w->slow) {
		slow_suspects_fill(w);
		return;
	}

	w->suspects = ARENA_ARRAY(&w->c->round_arena, struct suspect, n->e.classes.cnt + 1);
	w->suspect_cnt = 0;
	w->mix = w->t->mode == MODE_VARIANCE ? between_find(w) : mix_find(w);
	for (uint32_t i = 0; i < n->e.classes.cnt; i++) {
		struct suspect *s = &w->suspects[w->suspect_cnt];

		if (w->t->mode != MODE_SHIFT && on_path_cnt(&n->e, i) == 0)
			continue;
		w->suspect_cnt++;
		*s = (struct suspect){.class_idx = i, .usual_ns = -1};
		if (on_path_cnt(&n->e, i) > 0) {
			s->share_variance = moments_share(&n->e.live, i + 1).value;
			s->share_time = mean > 0 ?
				moments_column_mean(&n->e.live, i + 1) / mean : 0;
		}
		if (w->t->mode != MODE_VARIANCE)
			shift_weigh(w, i, s);
		else
			variance_weigh(w, i, s);
		mix_add(w, i, s);
		s->score = w->fraction * s->gain_ns;
	}
	suspects_order(w);
}

static struct forest_decision numbers_of(const struct weighing *w, const struct suspect *s,
					 enum decision_kind kind)
{
	struct forest_decision d = decision_blank(w->c, w->tree, w->node, kind);

	d.trace_cnt = (uint32_t)w->cnt;
	d.cv = cv_of(&w->n->e.live);
	d.mean_ns = moments_mean(&w->n->e.live);
	if (moments_cnt(&w->n->e.usual))
		d.usual_ns = moments_mean(&w->n->e.usual);
	if (w->slow) {
		d.group = w->slow->hash;
		d.trace_cnt = (uint32_t)moments_cnt(&w->slow->moments);
		d.cv = cv_of(&w->slow->moments);
		d.mean_ns = moments_mean(&w->slow->moments);
		d.usual_ns = slow_others_mean(&w->n->e, w->slow);
	}
	if (s) {
		const struct edge_class *k = &w->n->e.classes.items[s->class_idx];

		d.from = k->from;
		d.to = k->to;
		d.owner = k->owner;
		d.share_variance = s->share_variance;
		d.share_time = s->share_time;
		d.p = s->p;
	}
	return d;
}

/* The base of all scores: the gains that are sure. */
static double base_find(const struct weighing *w)
{
	double base = 0;

	for (uint32_t i = 0; i < w->suspect_cnt; i++)
		if (w->suspects[i].score > 0 && w->suspects[i].p < w->alpha)
			base += w->suspects[i].score;
	return base;
}

/* It varies as it always did, and the space's traces show that no edge has much of that. */
static bool spread_out(const struct weighing *w)
{
	const struct evidence *e = &w->n->e;

	return moments_cnt(&e->usual) >= w->c->opts.min_cnt && w->t->top_share < SCORE_MIN &&
	       moments_var(&e->live) < VARIANCE_NEW * moments_var(&e->usual);
}

/*
 * Is there a problem, and of what kind.  Only the root is asked, and, as long
 * as nothing was done about it, asked again: a shift is the better lead, so
 * variance that was there before waits until a shift would have shown.
 */
static void mode_find(struct weighing *w)
{
	struct hyp_tree *t = w->t;
	bool usual = moments_cnt(&w->n->e.usual) >= w->c->opts.min_cnt;
	double on_path = 0;

	t->mode = MODE_SHIFT;
	suspects_fill(w);
	t->base_ns = base_find(w);
	for (uint32_t i = 0; i < w->suspect_cnt; i++)
		on_path += w->suspects[i].p < w->alpha ? fmax(0, w->suspects[i].path_ns) : 0;
	if (usual && on_path > SHIFT_MIN * moments_mean(&w->n->e.live))
		return;
	t->mode = MODE_UNKNOWN;
	if (left_cv(w) <= w->c->opts.cv_min || spread_out(w) ||
	    (usual && w->n->looks.seen < LOOKS_SHIFT))
		return;
	t->mode = MODE_VARIANCE;
	suspects_fill(w);
	t->base_ns = base_find(w);
}

static void ask(struct weighing *w, const struct suspect *s, struct actions *out)
{
	struct action *a = vec_add(&out->items);

	a->tree = w->tree;
	a->node = w->node;
	a->edge = w->n->e.classes.items[s->class_idx];
	a->only = w->slow ? w->slow->hash : w->n->only;
	a->score = s->score;
	a->gain_ns = s->gain_ns;
	if (s->score > w->t->top)
		w->t->top = s->score;
	a->why = numbers_of(w, s, DECIDE_ON);
}

/* Nothing stands out for long: the tracepoint did not help. */
static void give_up(struct weighing *w)
{
	struct forest_decision d = numbers_of(w, NULL, DECIDE_OFF);

	d.point = w->n->point;
	d.sides = w->n->sides;
	w->n->status = HYP_USELESS;
	w->t->barred[w->n->point] |= w->n->sides;
	hmap_del(&w->t->nodes.items[w->n->parent]->done, w->n->edge_key);
	control_note(w->c, &d, "%s explained nothing in %.0f requests: what it splits has no part "
			       "that stands out",
		     sided_words(w->c, w->n->point, w->n->sides), w->cnt);
}

/* Returns whether an edge of the node is to be dealt with or was. */
static bool suspects_ask(struct weighing *w, struct actions *out)
{
	double expected = w->n->parent == FOREST_NONE ? 1 : w->n->expected;
	bool any = false, late = w->n->looks.seen >= LOOKS_MAX;
	/* A search begins when it looks great, which may be chance: late, it is what it is now. */
	double now = w->t->now_ns > 0 ? w->t->base_ns / w->t->now_ns : 1;

	for (uint32_t i = 0; i < w->suspect_cnt; i++) {
		struct suspect *s = &w->suspects[i];

		if (s->score < SCORE_MIN)
			break;
		if (hmap_get(&w->n->done, w->n->e.classes.items[s->class_idx].key, NULL)) {
			any = true;
			continue;
		}
		if (s->p > w->alpha && !(late && now * s->score > expected / 2)) {
			w->n->pending |= !late;
			continue;
		}
		ask(w, s, out);
		any = true;
	}
	return any;
}

static void wait_for_more(struct weighing *w, const char *what)
{
	struct forest_decision d = numbers_of(w, NULL, DECIDE_WAIT);

	w->t->waiting = true;
	if (w->n->status == HYP_OPEN && w->n->expected > w->t->top)
		w->t->top = w->n->expected;
	control_note(w->c, &d, "%s after %.0f requests", what, w->cnt);
}

/* Part of the slower requests' excess that lies in the largest edge. */
static double gain_share(const struct evidence *some, const struct evidence *others)
{
	double all = moments_mean(&some->usual) - moments_mean(&others->usual), top = 0;

	for (uint32_t i = 0; i < some->classes.cnt; i++) {
		uint64_t at;
		double usual = hmap_get(&others->by_key, some->classes.items[i].key, &at) ?
				       moments_column_mean(&others->usual, (uint32_t)at + 1) : 0;

		top = fmax(top, moments_column_mean(&some->usual, i + 1) - usual);
	}
	return all > 0 ? top / all : 1;
}

/*
 * The group took as long in the space's traces, and with everything on these
 * show that it is not one edge that takes so long: it does more than others.
 */
static bool does_more(const struct weighing *w)
{
	const struct forest_event none = {FOREST_NONE, 0};
	struct evidence some = {0}, others = {0};
	bool more;

	evidence_begin(&some, w->c->points, none, none, FOREST_NONE, 0);
	evidence_begin(&others, w->c->points, none, none, FOREST_NONE, 0);
	for (uint32_t i = 0; i < w->t->known_cnt; i++) {
		const struct seen *s = &w->n->usual[i];

		if (s->path.step_cnt && s->bins == w->slow->bins)
			evidence_add_usual(s->path.hash == w->slow->hash ? &some : &others,
					   &w->t->known[i].full);
	}
	more = moments_cnt(&some.usual) >= USUAL_MIN && moments_cnt(&others.usual) >= USUAL_MIN &&
	       moments_mean(&w->slow->moments) <
		       (1 + SHIFT_MIN) * moments_mean(&some.usual) &&
	       gain_share(&some, &others) < SLOW_SHARE;
	evidence_release(&some);
	evidence_release(&others);
	return more;
}

/*
 * Nothing got slower and nothing varies measurably: is there a path
 * whose requests are always slow.  Set once, as the modes are.
 */
static bool slow_look(struct weighing *w)
{
	struct hmap skip = {0};
	struct slow_opts o = {w->c->opts.cv_min, w->c->opts.slow_pct, w->c->opts.min_cnt, &skip};
	struct forest_decision d;

	for (int i = 0; i < SLOW_TRIES; i++) {
		w->slow = slow_find(&w->n->e, &o);
		if (!w->slow || !does_more(w))
			break;
		hmap_put(&skip, w->slow->hash, 1);
		w->slow = NULL;
	}
	hmap_release(&skip);
	if (!w->slow)
		return false;
	w->t->mode = MODE_SLOW;
	w->t->only = w->slow->hash;
	w->t->only_bins = w->slow->bins;
	suspects_fill(w);
	w->t->base_ns = base_find(w);
	d = numbers_of(w, NULL, DECIDE_WAIT);
	control_note(w->c, &d, "%u requests of one path are always slow (CV %.1f %%): they take "
			       "%.2f times as long as others", d.trace_cnt, d.cv * 100,
		     d.usual_ns > 0 ? d.mean_ns / d.usual_ns : 0);
	return true;
}

static void slow_set(struct weighing *w)
{
	uint64_t at;

	if (w->t->mode == MODE_SLOW && hmap_get(&w->n->e.by_hash, w->t->only, &at))
		w->slow = &w->n->e.groups.items[at];
}

static void root_weigh(struct weighing *w)
{
	struct forest_decision d;

	if (w->t->nodes.cnt == 1 && w->n->status != HYP_LOCALISED) {
		mode_find(w);
	} else {
		slow_set(w);
		suspects_fill(w);
		w->t->now_ns = base_find(w);
		w->t->base_ns = fmax(w->t->base_ns, w->t->now_ns);
	}
	w->n->status = w->n->status == HYP_CALM ? HYP_OPEN : w->n->status;
	if (w->t->mode != MODE_UNKNOWN)
		return;
	if (left_cv(w) > w->c->opts.cv_min && w->n->looks.seen < LOOKS_SHIFT) {
		wait_for_more(w, "it varies, and whether it is slower than usual is not sure");
		return;
	}
	if (w->n->looks.seen < LOOKS_CALM) {
		wait_for_more(w, "whether it is slower than usual is not sure");
		return;
	}
	if (slow_look(w))
		return;
	d = numbers_of(w, NULL, DECIDE_CALM);
	w->n->status = HYP_CALM;
	if (d.cv > w->c->opts.cv_min && left_cv(w) <= w->c->opts.cv_min)
		control_note(w->c, &d, "it varies with the keys that were given: CV %.0f %%, with "
				       "the same values %.1f %%", d.cv * 100, left_cv(w) * 100);
	else if (d.cv > w->c->opts.cv_min)
		control_note(w->c, &d, "it varies as it always did (CV %.0f %%), with no edge that "
				       "has %.0f %% of that", d.cv * 100, SCORE_MIN * 100);
	else
		control_note(w->c, &d, "neither slower than usual nor varying: CV %.1f %%",
			     d.cv * 100);
}

/*
 * A rare side of a hypothesis may never get enough: it is left when the other
 * has many.  With the tracepoint it is waited for longer: few slow requests
 * are what is looked for as well.
 */
static void few_weigh(struct weighing *w)
{
	uint64_t other;

	if (w->n->parent == FOREST_NONE) {
		if (w->cnt)
			wait_for_more(w, "too few to tell");
		return;
	}
	other = moments_cnt(&w->t->nodes.items[w->n->other]->e.live);
	if (other >= (uint64_t)w->c->opts.min_cnt * (w->n->present ? RARE_WITH : RARE_WITHOUT))
		w->n->status = HYP_CALM;
	else if (w->n->present || other < w->c->opts.min_cnt)
		wait_for_more(w, "too few to tell");
}

static void node_weigh(struct weighing *w, struct actions *out)
{
	bool root = w->n->parent == FOREST_NONE;

	w->cnt = (double)moments_cnt(&w->n->e.live);
	w->fraction = fraction_of(w->t, w->node);
	if (w->cnt < w->c->opts.min_cnt) {
		few_weigh(w);
		return;
	}
	sequential_add(&w->n->looks, fmin(w->looks, w->cnt / w->c->opts.min_cnt));
	if (root)
		root_weigh(w);
	else
		suspects_fill(w);
	if (w->t->mode == MODE_UNKNOWN)
		return;
	if (root)
		w->t->weight_ns = w->t->mode == MODE_SHIFT ? w->t->base_ns * w->cnt : 0;
	if (w->t->base_ns <= 0) {
		if (w->n->looks.seen < LOOKS_MAX)
			wait_for_more(w, "no edge stands out");
		return;
	}
	for (uint32_t i = 0; i < w->suspect_cnt; i++)
		w->suspects[i].score = fmin(1, w->suspects[i].score / w->t->base_ns);
	if (suspects_ask(w, out)) {
		w->t->waiting |= w->n->pending;
		return;
	}
	if (root)
		return;
	if (w->n->looks.seen < LOOKS_MAX)
		wait_for_more(w, "no edge stands out");
	else if (w->n->present && w->fraction > SCORE_MIN)
		give_up(w);
	else
		w->n->status = HYP_CALM;
}

void weigh_tree(struct control *c, uint32_t tree, struct actions *out)
{
	struct hyp_tree *t = c->trees.items[tree];

	double looks = (double)t->seen_cnt / t->look_cnt;

	t->waiting = false;
	t->seen_cnt = 0;
	t->top = 0;
	for (uint32_t i = 0; i < t->nodes.cnt && !t->finished; i++) {
		struct weighing w = {.c = c, .t = t, .tree = tree, .node = i,
				     .looks = looks, .n = t->nodes.items[i]};

		w.n->pending = false;
		if (i == 0 || (w.n->active && w.n->status <= HYP_EXPLORED))
			node_weigh(&w, out);
	}
}
