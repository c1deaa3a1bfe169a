/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/sig/baselines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "functions/units/profile.h"
#include "functions/sig/sig_build.h"
#include "model/calls/calls.h"
#include "model/model.h"

/* No calls, but measured like them: the time between calls, and a unit's whole time. */
static const char OWN[] = "(own)", WHOLE[] = "(whole)";

static bool has(const uint64_t *key, unsigned dim)
{
	return key[dim / 64] >> dim % 64 & 1;
}


static const char *dim_name(const struct profile *p, unsigned dim)
{
	return dim == DIM_OWN ? OWN : model_call_name(p->m, p->dims.nr_of[dim]);
}

static void base_learn(struct sig_builder *b, const struct profile *p, const struct cluster *c)
{
	uint16_t key[DIMS_MAX];
	struct sig_dim dims[DIMS_MAX + 1];
	struct sig_base base = {.key = key, .dims = dims, .unit_cnt = c->unit_cnt};

	for (uint32_t i = 0; i < c->centre.dim_cnt; i++) {
		const struct centre_dim *d = &c->centre.dims[i];
		uint16_t sym;

		if ((double)d->having < USUAL_SHARE * (double)c->unit_cnt)
			continue; /* so rare that making it is a deviation */
		sym = sig_builder_call(b, dim_name(p, d->dim));
		if (sym == SYM_NONE)
			continue;
		dims[base.dim_cnt++] = (struct sig_dim){sym, d->cnt.mid, d->cnt.dev, d->ns.mid,
							d->ns.dev};
		if (has(c->key, d->dim))
			key[base.key_cnt++] = sym;
	}
	dims[base.dim_cnt++] = (struct sig_dim){.sym = sig_builder_call(b, WHOLE),
						.ns_mid = c->centre.busy.mid,
						.ns_dev = c->centre.busy.dev};
	if (base.key_cnt && dims[base.dim_cnt - 1].sym != SYM_NONE)
		sig_builder_base(b, &base);
}

void bases_learn(struct sig_builder *b, const struct profile *p)
{
	for (uint32_t i = 0; i < p->cluster_cnt; i++)
		if (p->clusters[i].unit_cnt >= CLUSTER_UNITS_MIN)
			base_learn(b, p, &p->clusters[i]);
}

/* By symbol of s: the dimension of p, DIM_NONE. */
static uint16_t *dims_bind(const struct sigs *s, const struct profile *p, struct arena *arena)
{
	uint16_t *to = ARENA_ARRAY(arena, uint16_t, (size_t)s->call_cnt + 1);

	for (uint32_t sym = 0; sym < s->call_cnt; sym++) {
		to[sym] = strcmp(s->call_names[sym], OWN) == 0 ? DIM_OWN : DIM_NONE;
		for (unsigned d = 1; d < p->dims.cnt && to[sym] == DIM_NONE; d++)
			if (strcmp(s->call_names[sym], dim_name(p, d)) == 0)
				to[sym] = (uint16_t)d;
	}
	return to;
}

static int by_dim(const void *pa, const void *pb)
{
	const struct centre_dim *a = pa, *b = pb;

	return (int)a->dim - (int)b->dim;
}

static bool in_key(const struct sig_base *base, uint16_t sym)
{
	for (uint32_t i = 0; i < base->key_cnt; i++)
		if (base->key[i] == sym)
			return true;
	return false;
}

static void dim_take(struct cluster *c, const struct sig_base *base, const struct sig_dim *d,
		     uint16_t dim)
{
	struct centre_dim *to = &c->centre.dims[c->centre.dim_cnt++];

	to->dim = dim;
	to->having = base->unit_cnt;
	to->cnt.mid = d->cnt_mid;
	to->cnt.dev = d->cnt_dev;
	to->ns.mid = d->ns_mid;
	to->ns.dev = d->ns_dev;
	if (!in_key(base, d->sym))
		return; /* most of its units do not make it */
	to->cnt_all = to->cnt;
	c->key[dim / 64] |= UINT64_C(1) << dim % 64;
}

/* false: it makes a call that the window does not have, and is no kind of work of it. */
static bool cluster_take(struct cluster *c, const struct sigs *s, const struct sig_base *base,
			 const uint16_t *dim_of, struct arena *arena)
{
	*c = (struct cluster){.unit_cnt = base->unit_cnt, .home_dim = DIM_OWN};
	c->centre.unit_cnt = base->unit_cnt;
	c->centre.dims = ARENA_ARRAY(arena, struct centre_dim, (size_t)base->dim_cnt + 1);
	for (uint32_t i = 0; i < base->dim_cnt; i++) {
		const struct sig_dim *d = &base->dims[i];

		if (strcmp(s->call_names[d->sym], WHOLE) == 0) {
			c->centre.busy = (struct spread){.mid = d->ns_mid, .dev = d->ns_dev};
			/* a middle over 19 minutes is none */
			c->centre.usual_ns = d->ns_mid < 27 ? (uint64_t)expm1(d->ns_mid) : 0;
		} else if (dim_of[d->sym] != DIM_NONE) {
			dim_take(c, base, d, dim_of[d->sym]);
		} else if (in_key(base, d->sym)) {
			return false;
		}
	}
	qsort(c->centre.dims, c->centre.dim_cnt, sizeof(*c->centre.dims), by_dim);
	return true;
}

const struct cluster *bases_clusters(const struct sigs *s, const struct profile *p,
				     struct arena *arena, uint32_t *ret_cnt)
{
	struct cluster *list = ARENA_ARRAY(arena, struct cluster, (size_t)s->base_cnt + 1);
	uint16_t *dim_of = dims_bind(s, p, arena);

	*ret_cnt = 0;
	for (uint32_t i = 0; i < s->base_cnt; i++)
		*ret_cnt += cluster_take(&list[*ret_cnt], s, &s->bases[i], dim_of, arena);
	return list;
}
