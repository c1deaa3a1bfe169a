/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over the calls: the first makes units and their sets of calls,
 * the second, once the sets are clustered, counts in bins what each cluster's
 * units do, from which middles and spreads are read.
 */
#include "functions/units/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/vec.h"
#include "functions/units/app_frames.h"
#include "functions/units/functions_result.h"
#include "model/calls/calls.h"

/* Times under a microsecond are the clock's and the tracer's. */
#define NS_FLOOR 1000.0

/* Over it further sets of calls count as the one that was found last: memory stays bounded. */
enum { PATTERNS_MAX = 1 << 16 };

double log_cnt(uint32_t cnt)
{
	return log1p(cnt);
}

static double ln_ns(double ns)
{
	return log(ns > NS_FLOOR ? ns : NS_FLOOR);
}

double log_ns(uint64_t ns, uint32_t cnt)
{
	return ln_ns(cnt ? (double)ns / cnt : 0);
}

static double same(double value)
{
	return value;
}

/* ---- sets of calls */

struct patterns {
	VEC(struct pattern) items;
	VEC(uint32_t) next;	/* of the same hash; NO_IDX */
	struct hmap by_hash;
};

static uint32_t pattern_get(struct patterns *t, const uint64_t *bits)
{
	uint64_t *slot = hmap_slot(&t->by_hash, hash_bytes(bits, PATTERN_WORDS * sizeof(*bits)));
	struct pattern *p;

	for (uint32_t i = (uint32_t)*slot; i; i = t->next.items[i - 1])
		if (memcmp(t->items.items[i - 1].bits, bits, sizeof(p->bits)) == 0)
			return i - 1;
	if (t->items.cnt >= PATTERNS_MAX)
		return PATTERNS_MAX - 1;
	p = vec_add(&t->items);
	memcpy(p->bits, bits, sizeof(p->bits));
	vec_push(&t->next, (uint32_t)*slot);
	*slot = t->items.cnt;
	return (uint32_t)t->items.cnt - 1;
}

struct order { struct pattern p; uint32_t at; };

static int cmp_order(const void *a, const void *b)
{
	return pattern_cmp(&((const struct order *)a)->p, &((const struct order *)b)->p);
}

/* Clusters are numbered by their most frequent set, so most units first on the whole. */
static void cluster_all(struct profile *p, const struct patterns *t, uint32_t *ret_of,
			struct arena *arena)
{
	uint32_t cnt = (uint32_t)t->items.cnt;
	CLEANUP_FREE struct order *order = xcalloc(cnt + 1, sizeof(*order));
	CLEANUP_FREE struct pattern *sorted = xcalloc(cnt + 1, sizeof(*sorted));
	CLEANUP_FREE uint32_t *of = xcalloc(cnt + 1, sizeof(*of));

	for (uint32_t i = 0; i < cnt; i++)
		order[i] = (struct order){t->items.items[i], i};
	qsort(order, cnt, sizeof(*order), cmp_order);
	for (uint32_t i = 0; i < cnt; i++)
		sorted[i] = order[i].p;
	p->cluster_cnt = cnt ? cluster_patterns(sorted, cnt, of) : 0;
	p->clusters = ARENA_ARRAY(arena, struct cluster, p->cluster_cnt + 1);
	for (uint32_t i = 0; i < cnt; i++) {
		struct cluster *c = &p->clusters[of[i]];

		ret_of[order[i].at] = of[i];
		if (c->pattern_cnt++ == 0)
			c->first = sorted[i];
		c->unit_cnt += sorted[i].cnt;
	}
}

/* ---- what is usual */

struct counts {			/* of one call in one cluster */
	uint32_t cnt[BINS], ns[BINS];
	uint64_t having;
};

struct tally {			/* of one cluster */
	uint32_t *of_dim;	/* place in counts plus one; NULL: none yet */
	uint32_t busy[BINS];
	uint64_t homes[DIMS_MAX];
};

struct counter {
	struct profile *p;
	struct vectors *v;
	struct tally *tallies;
	VEC(struct counts) counts;
};

static void count_unit(struct counter *k, const struct unit *u)
{
	struct tally *t = &k->tallies[u->pattern];
	struct cluster *c = &k->p->clusters[u->pattern];
	const struct call *first = &k->p->m->calls->calls[u->first];

	vectors_of(k->v, u);
	if (!t->of_dim)
		t->of_dim = xcalloc(k->p->dims.cnt, sizeof(*t->of_dim));
	for (uint32_t i = 0; i < k->v->cnt; i++) {
		unsigned dim = k->v->dims[i];
		const struct feature *f = &k->v->at[dim];
		struct counts *n;

		if (!t->of_dim[dim]) {
			vec_add(&k->counts);
			t->of_dim[dim] = (uint32_t)k->counts.cnt;
		}
		n = &k->counts.items[t->of_dim[dim] - 1];
		n->having++;
		n->cnt[bin_of(f->cnt)]++;
		if (dim != k->v->stuck_dim) /* its time is not over */
			n->ns[bin_of(f->ns / f->cnt)]++;
	}
	t->busy[bin_of(k->v->busy_ns)]++;
	if (u->at_home)
		t->homes[k->p->dims.of_nr[first->nr]]++;
	c->busy_ns += k->v->busy_ns;
	k->p->busy_ns += k->v->busy_ns;
}

static void centre_make(struct counter *k, struct cluster *c, struct tally *t,
			struct arena *arena)
{
	struct centre *to = &c->centre;
	uint64_t most = 0;

	to->dims = ARENA_ARRAY(arena, struct centre_dim, k->p->dims.cnt);
	to->unit_cnt = c->unit_cnt;
	to->usual_ns = (uint64_t)bins_spread(t->busy, same).mid;
	to->busy = bins_spread(t->busy, ln_ns);
	if (set_is_part(c->first.bits))
		set_make_part(c->key);
	for (unsigned dim = 0; dim < k->p->dims.cnt; dim++) {
		struct centre_dim *cd = &to->dims[to->dim_cnt];
		struct counts *n;

		if (t->homes[dim] > most) {
			most = t->homes[dim];
			c->home_dim = dim;
		}
		if (!t->of_dim[dim])
			continue;
		n = &k->counts.items[t->of_dim[dim] - 1];
		cd->dim = (uint16_t)dim;
		cd->having = n->having;
		cd->cnt = bins_spread(n->cnt, log1p);
		cd->ns = bins_spread(n->ns, ln_ns);
		n->cnt[0] += (uint32_t)(c->unit_cnt - n->having);
		cd->cnt_all = bins_spread(n->cnt, log1p);
		to->dim_cnt++;
		if (dim != DIM_OWN && n->having * 2 >= c->unit_cnt)
			c->key[dim / 64] |= UINT64_C(1) << dim % 64;
	}
}

static void centres_make(struct profile *p, struct vectors *v, struct arena *arena)
{
	struct counter k = {.p = p, .v = v};

	k.tallies = xcalloc(p->cluster_cnt + 1, sizeof(*k.tallies));
	for (size_t i = 0; i < p->units.units.cnt; i++)
		count_unit(&k, &p->units.units.items[i]);
	p->bytes += p->cluster_cnt * sizeof(*k.tallies) + k.counts.cap * sizeof(struct counts);
	for (uint32_t i = 0; i < p->cluster_cnt; i++) {
		centre_make(&k, &p->clusters[i], &k.tallies[i], arena);
		free(k.tallies[i].of_dim);
	}
	vec_release(&k.counts);
	free(k.tallies);
}

void profile_make(struct profile *p, const struct model *m, const struct profile_opts *o,
		  struct arena *arena)
{
	struct patterns t = {0};
	struct vectors *v;
	uint32_t *of;

	*p = (struct profile){.m = m, .fns = o->fns};
	dims_make(&p->dims, m, arena);
	v = vectors_new(m, &p->dims);
	units_make(&p->units, m, &(struct units_opts){&p->dims, o->fns, o->homes, o->rule});
	for (size_t i = 0; i < p->units.units.cnt; i++) {
		struct unit *u = &p->units.units.items[i];

		vectors_of(v, u);
		u->pattern = pattern_get(&t, v->bits);
		t.items.items[u->pattern].cnt++;
	}
	p->pattern_cnt = (uint32_t)t.items.cnt;
	of = xcalloc(t.items.cnt + 1, sizeof(*of));
	cluster_all(p, &t, of, arena);
	for (size_t i = 0; i < p->units.units.cnt; i++)
		p->units.units.items[i].pattern = of[p->units.units.items[i].pattern];
	free(of);
	p->bytes = p->units.units.cap * sizeof(struct unit) +
		   t.items.cap * (sizeof(struct pattern) + 32);
	vec_release(&t.items);
	vec_release(&t.next);
	hmap_release(&t.by_hash);
	centres_make(p, v, arena);
	vectors_free(v);
}

void profile_release(struct profile *p)
{
	units_release(&p->units);
}

const struct centre_dim *centre_find(const struct centre *c, unsigned dim)
{
	size_t at = SORTED_PREFIX(c->dims, c->dim_cnt, it, it->dim < dim);

	return at < c->dim_cnt && c->dims[at].dim == dim ? &c->dims[at] : NULL;
}
