/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which keys' values go with the time of a node's requests: each key at a
 * tracepoint that its traces show, over a sample of them.  Significance is by
 * ranks, so that no single slow request makes any; strength by nanoseconds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "requests/search/hypothesis.h"
#include "requests/stats/path.h"
#include "requests/stats/tests.h"

enum {
	KEYS_CNT_MIN = 20,   /* requests that have it: fewer do not show a correlation of 0.6 */
	KEYS_TEXTS_MAX = 64, /* more different texts are names of single requests */
	KEYS_LEVELS_MAX = 5, /* numbers of no more values are treated as texts */
	KEYS_LISTED_MAX = 12,
};

/* No key of a higher false discovery rate is reported. */
#define KEYS_FDR 0.05

struct pairs {			/* of one variable: its value and the request's time */
	uint64_t *value;	/* bits of the number, or the text's id */
	double *num, *took_ns, *rank, *num_rank;
	uint32_t *order;
	uint32_t cnt;
	bool numbers;
};

static double bits_num(uint64_t bits)
{
	union {
		uint64_t u;
		double d;
	} v = {.u = bits};

	return v.d;
}

void hyp_keys_add(struct control *c, struct hyp_node *n, const struct seen *s)
{
	struct path path;

	if (!s->trace->attr_cnt)
		return;
	path_of(&s->trace->id, &s->path, &c->scratch, &path);
	if (!samples_want(&n->samples, &path))
		return;
	path_name_edges(&path, &s->path, c->points, &c->scratch);
	path.type_point = s->graph.type;
	samples_add(&n->samples, s->trace, &path, &c->vars, c->points, c->strings);
}

static int sample_order(const void *a, const void *b)
{
	const struct sample *x = *(struct sample *const *)a, *y = *(struct sample *const *)b;

	CMP(x->hash, y->hash);
	return trace_id_cmp(&x->id, &y->id);
}

/* The values of one variable, in order of the samples; false: it shows nothing. */
static bool pairs_fill(struct sample *const *samples, uint32_t cnt, uint32_t var,
		       struct pairs *p)
{
	p->cnt = 0;
	p->numbers = true;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct sample *s = samples[i];

		for (uint32_t k = 0; k < s->value_cnt; k++) {
			if (s->values[k].var != var)
				continue;
			p->numbers &= s->values[k].type == ATTR_NUM;
			p->value[p->cnt] = s->values[k].str;
			p->took_ns[p->cnt++] = (double)s->total_ns;
		}
	}
	for (uint32_t i = 0; i < p->cnt && p->numbers; i++) {
		p->num[i] = bits_num(p->value[i]);
		if (!isfinite(p->num[i]))
			return false;
	}
	return p->cnt >= KEYS_CNT_MIN;
}

/* Numbers each different value; 0 when there is one alone or too many. */
static uint32_t levels_number(const struct pairs *p, uint32_t max, uint32_t *level)
{
	uint64_t seen[KEYS_TEXTS_MAX];
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < p->cnt; i++) {
		uint32_t at = 0;

		while (at < cnt && seen[at] != p->value[i])
			at++;
		if (at == max)
			return 0;
		if (at == cnt)
			seen[cnt++] = p->value[i];
		level[i] = at;
	}
	return cnt > 1 ? cnt : 0;
}

/* Sum of squares between the levels over all of it. */
static double eta2(const double *y, const uint32_t *level, uint32_t cnt, uint32_t levels)
{
	double sum[KEYS_TEXTS_MAX] = {0}, n[KEYS_TEXTS_MAX] = {0}, mean = 0, between = 0, all = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		sum[level[i]] += y[i];
		n[level[i]]++;
		mean += y[i] / cnt;
	}
	for (uint32_t i = 0; i < levels; i++)
		between += n[i] * pow(sum[i] / n[i] - mean, 2);
	for (uint32_t i = 0; i < cnt; i++)
		all += pow(y[i] - mean, 2);
	return all > 0 ? between / all : 0;
}

static bool key_test(struct pairs *p, uint32_t *level, struct forest_key *ret)
{
	uint32_t levels = levels_number(p, p->numbers ? KEYS_LEVELS_MAX : KEYS_TEXTS_MAX, level);
	double e;

	if (!levels && !p->numbers)
		return false;
	stats_ranks(p->took_ns, p->cnt, p->order, p->rank);
	ret->cnt = p->cnt;
	if (!levels) {
		stats_ranks(p->num, p->cnt, p->order, p->num_rank);
		ret->numeric = true;
		ret->strength = stats_r(p->num, p->took_ns, p->cnt);
		ret->p = stats_r_p(stats_r(p->num_rank, p->rank, p->cnt), p->cnt);
		return ret->strength != 0;
	}
	if (p->cnt <= levels || levels * 2 > p->cnt)
		return false;
	ret->strength = eta2(p->took_ns, level, p->cnt, levels);
	e = eta2(p->rank, level, p->cnt, levels);
	ret->p = e < 1 ? stats_f_p(e / (levels - 1) / ((1 - e) / (p->cnt - levels)), levels - 1,
				   p->cnt - levels)
		       : 0;
	return true;
}

struct ordering {
	const struct points *points;
	const struct strtab *strings;
};

static int key_cmp(const void *a, const void *b, void *ctx)
{
	const struct ordering *o = ctx;
	const struct forest_key *x = a, *y = b;

	CMP(x->q > KEYS_FDR, y->q > KEYS_FDR);
	CMP(fabs(y->strength), fabs(x->strength));
	CMP(x->p, y->p);
	if (x->point != y->point)
		return points_cmp(o->points, o->strings, x->point, y->point);
	return strcmp(strtab_str(o->strings, x->key), strtab_str(o->strings, y->key));
}

/* Rates over all keys of the node; returns how many to report, which come first. */
static uint32_t keys_judge(const struct control *c, struct forest_key *keys, uint32_t cnt,
			   struct arena *arena)
{
	double *p = ARENA_ARRAY(arena, double, cnt + 1), *q = ARENA_ARRAY(arena, double, cnt + 1);
	struct ordering o = {c->points, c->strings};
	uint32_t told = 0;

	for (uint32_t i = 0; i < cnt; i++)
		p[i] = keys[i].p;
	stats_fdr(p, cnt, q);
	for (uint32_t i = 0; i < cnt; i++)
		keys[i].q = q[i];
	if (cnt > 1)
		qsort_r(keys, cnt, sizeof(*keys), key_cmp, &o);
	while (told < cnt && told < KEYS_LISTED_MAX && keys[told].q <= KEYS_FDR)
		told++;
	return told;
}

const struct forest_key *hyp_keys_find(const struct control *c, const struct hyp_node *n,
				       struct arena *arena, uint32_t *ret_cnt)
{
	uint32_t cnt = (uint32_t)n->samples.heap.cnt, vars = (uint32_t)c->vars.items.cnt, out = 0;
	struct forest_key *keys = ARENA_ARRAY(arena, struct forest_key, vars + 1);
	struct sample **samples = arena_dup(arena, n->samples.heap.items, cnt * sizeof(*samples));
	uint32_t *level = ARENA_ARRAY(arena, uint32_t, cnt + 1);
	struct pairs p = {
		.value = ARENA_ARRAY(arena, uint64_t, cnt + 1),
		.num = ARENA_ARRAY(arena, double, cnt + 1),
		.took_ns = ARENA_ARRAY(arena, double, cnt + 1),
		.rank = ARENA_ARRAY(arena, double, cnt + 1),
		.num_rank = ARENA_ARRAY(arena, double, cnt + 1),
		.order = ARENA_ARRAY(arena, uint32_t, cnt + 1),
	};

	if (cnt > 1)
		qsort(samples, cnt, sizeof(struct sample *), sample_order);
	for (uint32_t v = 0; v < vars; v++) {
		keys[out] = (struct forest_key){.point = c->vars.items.items[v].point,
						.key = c->vars.items.items[v].key};
		if (pairs_fill(samples, cnt, v, &p) && key_test(&p, level, &keys[out]))
			out++;
	}
	*ret_cnt = keys_judge(c, keys, out, arena);
	return keys;
}
