/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Against a good run: what changed, by the degradation score of the metrics'
 * authors (EC-labs/prism): the value itself where there was none before,
 * else relative growth times the value, so that small shares that double
 * do not outrank large ones that grow by half.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "verdict/weigh.h"

#define NONE_BEFORE 0.01
#define CHANGES_MAX 64

static void demand_by_kind(const struct model *m, const struct waits_result *w, double *ns)
{
	for (size_t i = 0; i < w->cause_cnt; i++) {
		const struct cause *c = &w->causes[i];

		if (c->entry_proc != NO_IDX && m->procs[c->entry_proc].target)
			ns[c->kind] += c->ns;
	}
}

static double score(double was, double is)
{
	if (was < NONE_BEFORE)
		return is;
	return (is - was) / was * is;
}

static int by_score(const void *pa, const void *pb)
{
	const struct change *a = pa, *b = pb;
	double x = a->score < 0 ? -a->score : a->score, y = b->score < 0 ? -b->score : b->score;

	CMP(y, x);
	return strcmp(a->what, b->what);
}

static double seconds_of(const struct model *m)
{
	return m->end_ns > m->begin_ns ? (m->end_ns - m->begin_ns) / 1e9 : 1;
}

void compare(struct court *k, const struct model *base, const struct waits_result *bw,
	     struct verdict *v)
{
	double was[CAUSE_CNT] = { 0 }, is[CAUSE_CNT] = { 0 };
	double sec_was = seconds_of(base), sec_is = seconds_of(k->m);
	struct change *c;

	demand_by_kind(base, bw, was);
	demand_by_kind(k->m, k->w, is);
	v->changes = ARENA_ARRAY(k->arena, struct change, CHANGES_MAX);
	for (unsigned i = 0; i < CAUSE_CNT; i++) {
		if (was[i] <= 0 && is[i] <= 0)
			continue;
		c = &v->changes[v->change_cnt++];
		c->what = arena_printf(k->arena, "demand that ends in %s", cause_name(i));
		c->unit = "s/s";
		c->was = was[i] / 1e9 / sec_was;
		c->is = is[i] / 1e9 / sec_is;
		c->score = score(c->was, c->is);
	}
	c = &v->changes[v->change_cnt++];
	c->what = "requests answered";
	c->unit = "1/s";
	c->was = bw->total.turns / sec_was;
	c->is = k->w->total.turns / sec_is;
	c->score = c->was > 0 ? (c->is - c->was) / c->was : 0;
	qsort(v->changes, v->change_cnt, sizeof(*v->changes), by_score);
}
