/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of each pair of hosts a fair draw of bounds is kept: those whose spans' ids
 * have the smallest hashes.  skew_decide.c says what they amount to.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/vec.h"
#include "trace/points.h"
#include "requests/clocks/offset_solve.h"
#include "requests/clocks/skew.h"
#include "requests/clocks/skew_int.h"
#include "requests/tree/graph_stats.h"

struct skew *skew_new(const struct strtab *strings)
{
	struct skew *s = xcalloc(1, sizeof(*s));

	s->strings = strings;
	return s;
}

void skew_free(struct skew *s)
{
	if (!s)
		return;
	VEC_FOREACH(&s->pairs, pair)
		vec_release(&pair->samples);
	vec_release(&s->pairs);
	vec_release(&s->hosts);
	hmap_release(&s->host_of);
	hmap_release(&s->pair_of);
	points_release(&s->points);
	arena_release(&s->arena);
	free(s);
}

static uint32_t host_number(struct skew *s, uint64_t clock)
{
	uint64_t *place = hmap_slot(&s->host_of, clock);

	if (!*place) {
		vec_add(&s->hosts)->clock = clock;
		*place = s->hosts.cnt;
	}
	return (uint32_t)(*place - 1);
}

static int sample_cmp(const void *a, const void *b)
{
	const struct clock_sample *x = a, *y = b;

	CMP(x->hash, y->hash);
	CMP(x->low, y->low);
	CMP(x->high, y->high);
	CMP(x->at[0], y->at[0]);
	CMP(x->at[1], y->at[1]);
	return 0;
}

void skew_samples_cut(struct skew_pair *pair)
{
	vec_sort(&pair->samples, sample_cmp);
	if (pair->samples.cnt > CLOCK_SAMPLES_MAX)
		pair->samples.cnt = CLOCK_SAMPLES_MAX;
}

/* As the bound of the pair with its hosts in order, as bound_of does it. */
static struct clock_sample sample_of(const struct trace *trace, const struct skew_bound *bound,
				     bool turned)
{
	const struct span *host = &trace->spans[bound->host];
	const struct span *moved = &trace->spans[bound->moved];
	struct bound b = bound_of(turned, !turned, bound->low, bound->high);
	struct clock_sample ret = {
		.hash = hash_pair(hash_pair(trace->id.hi, trace->id.lo), moved->id),
		.low = b.low,
		.high = b.high,
		.hard_low = turned ? bound->high_is_hard : true,
		.hard_high = turned ? true : bound->high_is_hard,
	};

	ret.at[turned] = clock_time(host->begin_ns);
	ret.at[!turned] = clock_time(moved->begin_ns);
	return ret;
}

static void bound_take(struct skew *s, const struct trace *trace, const struct skew_bound *bound)
{
	uint32_t host = host_number(s, skew_clock(&trace->spans[bound->host]));
	uint32_t moved = host_number(s, skew_clock(&trace->spans[bound->moved]));
	bool turned = moved < host;
	uint32_t a = turned ? moved : host, b = turned ? host : moved;
	uint64_t key = (uint64_t)a << 32 | b;
	uint64_t *place;
	struct skew_pair *pair;

	if (s->pairs.cnt == SKEW_PAIRS_MAX && !hmap_find(&s->pair_of, key)) {
		s->unseen_cnt++;
		return;
	}
	place = hmap_slot(&s->pair_of, key);
	if (!*place) {
		pair = vec_add(&s->pairs);
		pair->a = a;
		pair->b = b;
		*place = s->pairs.cnt;
	}
	pair = &s->pairs.items[*place - 1];
	vec_push(&pair->samples, sample_of(trace, bound, turned));
	if (pair->samples.cnt == 2 * CLOCK_SAMPLES_MAX)
		skew_samples_cut(pair);
}

/* The coarsest is what graph.h lets pass. */
const int64_t skew_ticks[SKEW_TICKS] = {1000, 10000, 100000, TREE_TICK_NS};

static void ticks_count(struct skew_host_sum *host, const struct span *span)
{
	const int64_t at[] = {span->begin_ns, span->end_ns};

	host->span_cnt++;
	for (int end = 0; end < 2; end++)
		for (int i = 0; i < SKEW_TICKS && at[end] % skew_ticks[i] == 0; i++)
			host->whole_cnt[end][i]++;
}

static bool one_clock(const struct trace *trace)
{
	for (uint32_t i = 1; i < trace->span_cnt; i++) {
		if (skew_clock(&trace->spans[i]) != skew_clock(&trace->spans[0]))
			return false;
	}
	return true;
}

void skew_learn(struct skew *s, const struct trace *trace)
{
	struct graph_stats stats = {0};
	struct tree_ctx ctx = {&s->points, s->strings, &s->arena, &stats};
	struct span_tree tree;
	struct skew_bound bound;

	if (one_clock(trace) || trace->span_cnt > GRAPH_SPAN_MAX)
		return;
	arena_clear(&s->arena);
	span_tree_make(&ctx, trace, &tree);
	for (uint32_t i = 0; i < tree.order_cnt; i++) {
		uint32_t idx = tree.order[i];
		uint32_t host = host_number(s, skew_clock(&trace->spans[idx]));

		ticks_count(&s->hosts.items[host], &trace->spans[idx]);
		if (tree.nodes[idx].parent != TREE_NONE && skew_child_bound(&tree, idx, &bound))
			bound_take(s, trace, &bound);
	}
	for (uint32_t i = 0; i < tree.ref_cnt; i++) {
		if (skew_ref_bound(&tree, &tree.refs[i], &bound))
			bound_take(s, trace, &bound);
	}
}
