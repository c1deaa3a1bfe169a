/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/rank/score_units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "functions/sig/baselines.h"
#include "functions/units/function_requests.h"
#include "functions/sig/sig.h"
#include "model/calls/calls.h"

/* A whole kind of work is long from so many times the usual kind's time, */
#define LONG_TIMES 4.0
/* when that is not too little to care about. */
#define LONG_SHARE 0.05
/* Less than this part of the usual unit's time does nobody harm. */
#define MATERIAL 0.25
/* Without anything to compare it with, a call that lasts so long is stuck. */
#define STUCK_NS UINT64_C(1000000000)

/* ---- what to compare a cluster with */

static unsigned bits_distance(const uint64_t *a, const uint64_t *b)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < PATTERN_WORDS; i++)
		sum += (unsigned)__builtin_popcountll(a[i] ^ b[i]);
	return sum;
}

/*
 * The nearest cluster that is large enough to have a middle; of several the
 * one of most units.  Where only blocking calls are known others are no measure.
 */
static uint32_t nearest_cluster(const struct cluster *clusters, uint32_t cnt, const uint64_t *key,
				unsigned *ret_distance)
{
	uint32_t best = NO_IDX;

	*ret_distance = UINT32_MAX;
	for (uint32_t i = 0; i < cnt; i++) {
		unsigned d = bits_distance(clusters[i].key, key);

		if (set_is_part(clusters[i].key) != set_is_part(key))
			continue;
		if (clusters[i].unit_cnt < CLUSTER_UNITS_MIN || d > *ret_distance ||
		    (d == *ret_distance && clusters[i].unit_cnt <= clusters[best].unit_cnt))
			continue;
		*ret_distance = d;
		best = i;
	}
	return best;
}

static const struct centre no_centre;

static void refs_own(struct judge *j)
{
	const struct profile *p = j->p;

	for (uint32_t i = 0; i < p->cluster_cnt; i++) {
		const struct cluster *c = &p->clusters[i];
		unsigned d;
		uint32_t near;

		if (c->unit_cnt >= CLUSTER_UNITS_MIN) {
			j->refs[i] = (struct reference){&c->centre, 1, 0, 0};
			continue;
		}
		near = nearest_cluster(p->clusters, p->cluster_cnt, c->key, &d);
		j->refs[i] = (struct reference){
			near == NO_IDX ? &no_centre : &p->clusters[near].centre, RARE_PRIOR,
			UNIT_RARE, UNIT_RARE};
	}
}

/* Dimensions of the good window's model, by name, as those of this one. */
static uint16_t *dims_translate(const struct profile *good, const struct profile *p,
				struct arena *arena)
{
	uint16_t *to = ARENA_ARRAY(arena, uint16_t, good->dims.cnt);

	for (unsigned g = 1; g < good->dims.cnt; g++) {
		const char *name = model_call_name(good->m, good->dims.nr_of[g]);

		to[g] = DIM_NONE;
		for (unsigned d = 1; d < p->dims.cnt && to[g] == DIM_NONE; d++)
			if (strcmp(name, model_call_name(p->m, p->dims.nr_of[d])) == 0)
				to[g] = (uint16_t)d;
	}
	return to;
}

static int cmp_dim(const void *pa, const void *pb)
{
	const struct centre_dim *a = pa, *b = pb;

	return a->dim < b->dim ? -1 : a->dim > b->dim;
}

static struct cluster cluster_translate(const struct cluster *c, const uint16_t *to,
					struct arena *arena)
{
	struct cluster t = {.unit_cnt = c->unit_cnt, .centre = c->centre};

	t.centre.dims = ARENA_ARRAY(arena, struct centre_dim, c->centre.dim_cnt + 1);
	t.centre.dim_cnt = 0;
	if (set_is_part(c->key))
		set_make_part(t.key);
	for (uint32_t i = 0; i < c->centre.dim_cnt; i++) {
		struct centre_dim d = c->centre.dims[i];
		uint16_t from = d.dim;

		d.dim = to[from];
		if (d.dim == DIM_NONE)
			continue;
		t.centre.dims[t.centre.dim_cnt++] = d;
		if (c->key[from / 64] >> from % 64 & 1)
			t.key[d.dim / 64] |= UINT64_C(1) << d.dim % 64;
	}
	qsort(t.centre.dims, t.centre.dim_cnt, sizeof(*t.centre.dims), cmp_dim);
	return t;
}

static void refs_good(struct judge *j, const struct profile *good, struct arena *arena)
{
	struct cluster *usual = ARENA_ARRAY(arena, struct cluster, good->cluster_cnt + 1);
	uint16_t *to = dims_translate(good, j->p, arena);
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < good->cluster_cnt; i++)
		usual[cnt++] = cluster_translate(&good->clusters[i], to, arena);
	for (uint32_t i = 0; i < j->p->cluster_cnt; i++) {
		unsigned d;
		uint32_t near = nearest_cluster(usual, cnt, j->p->clusters[i].key, &d);
		bool known = near != NO_IDX && d <= CLUSTER_DIAMETER;

		if (near == NO_IDX)
			continue; /* the good window has too little: judged by itself */
		j->baseline = true;
		j->refs[i] = (struct reference){&usual[near].centre, known ? 1 : NEW_PRIOR,
						known ? 0 : UNIT_BASELINE, UNIT_BASELINE};
	}
}

/*
 * What was learnt is compared with where the window does not say what is usual:
 * of clusters too small to have a middle, and of one that takes far longer in
 * its middle than it did then.  Learning is slower than the real thing, so a
 * kind of work that is longer now was not learnt that way.
 */
static bool learnt_is_better(const struct cluster *c, const struct cluster *learnt)
{
	if (c->unit_cnt < CLUSTER_UNITS_MIN)
		return true;
	return learnt->centre.usual_ns &&
	       (double)c->centre.usual_ns >= LONG_TIMES * (double)learnt->centre.usual_ns;
}

static void refs_learnt(struct judge *j, const struct sigs *sigs, struct arena *arena)
{
	uint32_t cnt;
	const struct cluster *learnt = bases_clusters(sigs, j->p, arena, &cnt);

	for (uint32_t i = 0; i < j->p->cluster_cnt; i++) {
		const struct cluster *c = &j->p->clusters[i];
		unsigned d;
		uint32_t near = nearest_cluster(learnt, cnt, c->key, &d);

		if (near != NO_IDX && d <= CLUSTER_DIAMETER && learnt_is_better(c, &learnt[near]))
			j->refs[i] = (struct reference){&learnt[near].centre, 1, 0, UNIT_BASELINE};
	}
}

/* Kinds of work that begin with the same wait: the one of most units is the usual one. */
static void long_kinds(struct judge *j)
{
	const struct profile *p = j->p;

	for (uint32_t i = 0; i < p->cluster_cnt; i++) {
		const struct cluster *c = &p->clusters[i], *usual = NULL;

		for (uint32_t k = 0; k < p->cluster_cnt; k++)
			if (p->clusters[k].home_dim == c->home_dim &&
			    set_is_part(p->clusters[k].key) == set_is_part(c->key) &&
			    (!usual || p->clusters[k].unit_cnt > usual->unit_cnt))
				usual = &p->clusters[k];
		if (usual == c || c->unit_cnt < CLUSTER_UNITS_MIN || c->home_dim == DIM_OWN ||
		    (double)c->busy_ns < LONG_SHARE * (double)p->busy_ns ||
		    (double)c->centre.usual_ns < LONG_TIMES * (double)usual->centre.usual_ns)
			continue;
		j->long_refs[i] = &usual->centre;
	}
}

void judge_make(struct judge *j, struct profile *p, const struct profile *good,
		const struct sigs *sigs, struct arena *arena)
{
	const struct centre **centres = ARENA_ARRAY(arena, const struct centre *,
						    p->cluster_cnt + 1);

	*j = (struct judge){.p = p};
	j->refs = ARENA_ARRAY(arena, struct reference, p->cluster_cnt + 1);
	j->long_refs = ARENA_ARRAY(arena, const struct centre *, p->cluster_cnt + 1);
	j->stuck_weight = ARENA_ARRAY(arena, double, p->m->thread_cnt + 1);
	j->felt = ARENA_ARRAY(arena, double, p->m->thread_cnt + 1);
	for (size_t i = 0; i < p->m->thread_cnt; i++)
		j->stuck_weight[i] = j->felt[i] = 1;
	refs_own(j);
	if (good)
		refs_good(j, good, arena);
	else if (sigs && sigs->base_cnt)
		refs_learnt(j, sigs, arena);
	if (!j->baseline)
		long_kinds(j);
	for (uint32_t i = 0; i < p->cluster_cnt; i++)
		centres[i] = j->refs[i].centre;
	outliers_make(&j->outliers, p, centres);
}

void judge_feel(struct judge *j, const struct held *held)
{
	const struct model_calls *c = j->p->m->calls;
	double enough = REQUESTS_SHARE * (double)(c->end_ns - c->begin_ns), known;

	if (held->ns <= 0 || !held->thread_ns)
		return;
	known = held->ns < enough ? held->ns / enough : 1;
	for (size_t i = 0; i < j->p->m->thread_cnt; i++) {
		double ran_ns = (double)j->p->m->threads[i].ns[ST_RUN];

		if (held->thread_ns[i] <= FELT_SHARE * ran_ns)
			j->felt[i] = 1 - (1 - UNFELT_WEIGHT) * known;
	}
}

void judge_release(struct judge *j)
{
	outliers_release(&j->outliers);
}

/* ---- one unit */

struct bench {
	const struct judge *j;
	const struct unit *u;
	const struct vectors *v;
	const struct centre *centre;
	struct judged *out;
	double gap_ns, usual_gap_ns; /* between two calls */
	bool is_long;
};

/* 0: not known. */
static double usual_ns_of(const struct centre_dim *usual)
{
	return usual && usual->ns.mid > 0 ? exp(usual->ns.mid) : 0;
}

/* Usual count of a call in long units: all count that most of its like do not make. */
static double usual_cnt_of(const struct bench *b, const struct centre_dim *usual)
{
	bool with = usual && !b->is_long &&
		    (double)usual->having >= USUAL_SHARE * (double)b->centre->unit_cnt;

	return usual ? expm1(with ? usual->cnt.mid : usual->cnt_all.mid) : 0;
}

static void dev_add(struct bench *b, unsigned dim, unsigned kind, double harm_ns)
{
	const struct centre_dim *usual = centre_find(b->centre, dim);

	if (harm_ns < MATERIAL * (double)b->centre->usual_ns)
		return;
	b->out->devs[b->out->dev_cnt++] = (struct deviation){
		(uint16_t)dim, (uint8_t)kind, usual, usual_cnt_of(b, usual), usual_ns_of(usual),
		harm_ns};
}

/* Deviation of a call: more of them, each with the time until the next, and longer ones. */
static void dev_call(struct bench *b, unsigned dim)
{
	const struct feature *f = &b->v->at[dim];
	const struct centre_dim *usual = centre_find(b->centre, dim);
	double usual_cnt = usual_cnt_of(b, usual), usual_ns = usual_ns_of(usual);
	double mean_ns = (double)f->ns / f->cnt, more = f->cnt - usual_cnt;

	if (more > 0 && (b->is_long || dev_cnt(b->centre, usual, f->cnt) >= DEV_IGNORED))
		dev_add(b, dim, DEV_MORE, more * (mean_ns + b->gap_ns));
	if (mean_ns > usual_ns && usual_ns > 0 && dev_ns(usual, f->ns, f->cnt) >= DEV_IGNORED)
		dev_add(b, dim, DEV_SLOWER, (more > 0 ? usual_cnt > 1 ? usual_cnt : 1 : f->cnt) *
						   (mean_ns - usual_ns));
}

static void dev_own(struct bench *b)
{
	const struct feature *f = &b->v->at[DIM_OWN];
	const struct centre_dim *usual = centre_find(b->centre, DIM_OWN);

	if (!f->cnt)
		return;
	b->gap_ns = (double)f->ns / f->cnt;
	if (usual_ns_of(usual) > 0 && dev_ns(usual, f->ns, f->cnt) < DEV_IGNORED)
		return;
	b->usual_gap_ns = usual_ns_of(usual);
	if (b->gap_ns > b->usual_gap_ns)
		dev_add(b, DIM_OWN, DEV_OWN, (double)f->ns - f->cnt * b->usual_gap_ns);
	b->gap_ns = b->usual_gap_ns;
}

/* A call that did not return, if it lasts longer than such calls do. */
static void dev_stuck(struct bench *b)
{
	const struct call *c = &b->j->p->m->calls->calls[b->u->first + b->u->cnt - 1];
	unsigned dim = b->j->p->dims.of_nr[c->nr];
	const struct centre_dim *usual;
	double usual_ns, harm;

	if (b->v->stuck_dim == DIM_NONE || c->result != CALL_UNFINISHED ||
	    b->v->stuck_dim != dim)
		return;
	usual = centre_find(b->centre, dim);
	usual_ns = usual_ns_of(usual);
	if (usual_ns > 0 ? dev_ns(usual, c->dur_ns, 1) < DEV_IGNORED : c->dur_ns < STUCK_NS)
		return;
	harm = ((double)c->dur_ns - usual_ns) * b->j->stuck_weight[c->thread];
	for (uint32_t i = 0; i < b->out->dev_cnt;) {
		if (b->out->devs[i].dim == dim) /* the same time, known better */
			b->out->devs[i] = b->out->devs[--b->out->dev_cnt];
		else
			i++;
	}
	if (harm > 0)
		dev_add(b, dim, DEV_NEVER, harm);
	b->out->reasons |= UNIT_STUCK;
	if (b->j->stuck_weight[c->thread] <= RESTS_WEIGHT)
		b->out->reasons |= UNIT_RESTS;
}

static void compare(struct bench *b)
{
	b->out->dev_cnt = 0;
	b->out->reasons = 0;
	dev_own(b);
	for (uint32_t i = 0; i < b->v->cnt; i++)
		if (b->v->dims[i] != DIM_OWN)
			dev_call(b, b->v->dims[i]);
	dev_stuck(b);
}

/* The reference of a unit that is much longer than others of its kind, or whose kind is. */
static const struct centre *long_ref(const struct judge *j, const struct unit *u,
				     const struct vectors *v)
{
	const struct centre *c = j->refs[u->pattern].centre;

	if (j->long_refs[u->pattern])
		return j->long_refs[u->pattern];
	if ((double)v->busy_ns < LONG_TIMES * (double)c->usual_ns ||
	    dev_busy(c, v->busy_ns) < CENTRE_MAX)
		return NULL;
	return c;
}

void judge_unit(const struct judge *j, const struct unit *u, const struct vectors *v,
		struct judged *ret)
{
	const struct reference *ref = &j->refs[u->pattern];
	const struct point *pt = &j->outliers.points[u->shape];
	struct bench b = {.j = j, .u = u, .v = v, .centre = ref->centre, .out = ret};
	uint32_t reasons = ref->always | pt->reasons;
	double felt = j->felt[j->p->m->calls->calls[u->first].thread];

	ret->reasons = 0;
	ret->dev_cnt = 0;
	ret->harm_ns = 0;
	ret->weight = ref->prior;
	if (!reasons && pt->top > CENTRE_MAX)
		reasons = UNIT_CENTRE; /* a small cluster with a baseline */
	if (!reasons && v->stuck_dim == DIM_NONE && !(b.centre = long_ref(j, u, v)))
		return;
	if (!reasons && v->stuck_dim == DIM_NONE) {
		b.is_long = true;
		ret->weight = LONG_PRIOR;
		reasons = UNIT_LONG_KIND;
	} else if (reasons) {
		reasons |= ref->reasons;
	}
	compare(&b);
	if (!reasons && !(ret->reasons & UNIT_STUCK)) {
		ret->dev_cnt = 0;
		return;
	}
	/* who waits for what hangs may have asked before the window: that is not known */
	if (ret->reasons & UNIT_STUCK)
		ret->weight = felt = 1;
	ret->reasons |= reasons | (felt < 1 ? UNIT_UNFELT : 0);
	ret->weight *= felt;
	for (uint32_t i = 0; i < ret->dev_cnt; i++)
		ret->harm_ns += ret->devs[i].harm_ns * ret->weight;
	if (ret->harm_ns <= 0)
		ret->reasons = 0;
}
