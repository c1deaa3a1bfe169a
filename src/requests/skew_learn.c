/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of each pair of hosts a fair draw of bounds is kept: those whose spans' ids
 * have the smallest hashes.  At the end each pair is judged by itself, and the
 * offsets of those judged to disagree are spread from the host with the most
 * spans along the pairs with the most bounds.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/vec.h"
#include "model/points.h"
#include "requests/graph.h"
#include "requests/offsets.h"
#include "requests/skew.h"
#include "requests/skew_int.h"

struct sample {
	uint64_t hash;
	struct bound bound;
	bool impossible;	/* as in struct skew_bound */
};

struct pair {
	uint32_t a, b;		/* hosts */
	uint64_t cnt;
	VEC(struct sample) samples;
};

struct host {
	uint64_t clock;
	uint64_t span_cnt;
	int64_t offset_ns;
};

struct skew {
	const struct strtab *strings;
	struct points points;
	struct arena arena;	/* of one trace, then of the result */
	VEC(struct host) hosts;
	struct hmap host_of;	/* clock: index + 1 */
	VEC(struct pair) pairs;
	struct hmap pair_of;	/* a << 32 | b: index + 1 */
	uint64_t unseen_cnt;
	struct skew_result result;
};

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
	const struct sample *x = a, *y = b;

	CMP(x->hash, y->hash);
	CMP(x->bound.low, y->bound.low);
	CMP(x->bound.high, y->bound.high);
	return 0;
}

static void samples_cut(struct pair *pair)
{
	vec_sort(&pair->samples, sample_cmp);
	if (pair->samples.cnt > SKEW_SAMPLES)
		pair->samples.cnt = SKEW_SAMPLES;
}

static void bound_take(struct skew *s, const struct trace *trace, const struct skew_bound *bound)
{
	const struct span *moved = &trace->spans[bound->moved];
	uint32_t host = host_number(s, skew_clock(&trace->spans[bound->host]));
	struct sample sample = {
		.hash = hash_pair(hash_pair(trace->id.hi, trace->id.lo), moved->id),
		.bound = bound_of(host, host_number(s, skew_clock(moved)), bound->low,
				  bound->high),
		.impossible = bound->impossible,
	};
	uint64_t key = (uint64_t)sample.bound.a << 32 | sample.bound.b;
	uint64_t *place;
	struct pair *pair;

	if (s->pairs.cnt == SKEW_PAIRS_MAX && !hmap_find(&s->pair_of, key)) {
		s->unseen_cnt++;
		return;
	}
	place = hmap_slot(&s->pair_of, key);
	if (!*place) {
		pair = vec_add(&s->pairs);
		pair->a = sample.bound.a;
		pair->b = sample.bound.b;
		*place = s->pairs.cnt;
	}
	pair = &s->pairs.items[*place - 1];
	pair->cnt++;
	vec_push(&pair->samples, sample);
	if (pair->samples.cnt == 2 * SKEW_SAMPLES)
		samples_cut(pair);
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

		s->hosts.items[host].span_cnt++;
		if (tree.nodes[idx].parent != TREE_NONE && skew_child_bound(&tree, idx, &bound))
			bound_take(s, trace, &bound);
	}
	for (uint32_t i = 0; i < tree.ref_cnt; i++) {
		if (skew_ref_bound(&tree, &tree.refs[i], &bound))
			bound_take(s, trace, &bound);
	}
}

/* What the clocks as they are contradict by more than a tick. */
static uint32_t broken_count(const struct bound *bounds, size_t cnt, int64_t offset_ns)
{
	uint32_t broken = 0;

	for (size_t i = 0; i < cnt; i++)
		broken += bounds[i].low - offset_ns > TREE_TICK_NS ||
			  bounds[i].high - offset_ns < -TREE_TICK_NS;
	return broken;
}

/*
 * The pair's offset, or none when the evidence is thin: then it says that the
 * clocks agree.  turned: seen from b.
 */
static struct offset pair_judge(struct pair *pair, bool turned)
{
	struct bound bounds[2 * SKEW_SAMPLES];
	int64_t highs[2 * SKEW_SAMPLES];
	struct offset offset;
	size_t cnt, impossible = 0;

	samples_cut(pair);
	cnt = pair->samples.cnt;
	for (size_t i = 0; i < cnt; i++) {
		const struct bound *b = &pair->samples.items[i].bound;

		impossible += pair->samples.items[i].impossible;
		bounds[i] = turned ? bound_of(1, 0, b->low, b->high) : *b;
	}
	offset = offset_find(bounds, cnt, highs);
	offset.broken_before = broken_count(bounds, cnt, 0);
	offset.broken_after = broken_count(bounds, cnt, offset.offset_ns);
	if (cnt < SKEW_SAMPLES_MIN || offset.broken_after * 2 > offset.broken_before ||
	    (impossible * 100 <= cnt * SKEW_SHARE_PCT && offset.broken_before * 2 <= cnt))
		offset.offset_ns = 0;
	return offset;
}

static int name_cmp(const void *a, const void *b, void *ctx)
{
	const struct skew *s = ctx;
	const struct host *x = &s->hosts.items[*(const uint32_t *)a];
	const struct host *y = &s->hosts.items[*(const uint32_t *)b];
	int diff = strcmp(strtab_str(s->strings, (uint32_t)x->clock),
			  strtab_str(s->strings, (uint32_t)y->clock));

	if (diff)
		return diff;
	CMP(x->clock >> 32, y->clock >> 32);	/* a host before the service of its name */
	return 0;
}

struct judging {
	struct skew *s;
	uint32_t *order;	/* hosts by name; the rest is by place in this */
	uint32_t *rank;		/* place of a host */
	struct offset *pairs;
	struct offsets found;
};

static int offset_cmp(const void *a, const void *b)
{
	const struct offset *x = a, *y = b;

	CMP(x->a, y->a);
	CMP(x->b, y->b);
	return 0;
}

static void pairs_judge(struct judging *j)
{
	struct skew *s = j->s;

	for (size_t i = 0; i < s->pairs.cnt; i++) {
		struct pair *pair = &s->pairs.items[i];
		uint32_t a = j->rank[pair->a], b = j->rank[pair->b];

		j->pairs[i] = pair_judge(pair, a > b);
		j->pairs[i].a = a < b ? a : b;
		j->pairs[i].b = a < b ? b : a;
	}
	qsort(j->pairs, s->pairs.cnt, sizeof(*j->pairs), offset_cmp);
}

static const struct host *host_at(const struct judging *j, uint32_t place)
{
	return &j->s->hosts.items[j->order[place]];
}

/* From the host with the most spans of those not yet reached; false when all are. */
static bool spread_next(struct judging *j, uint32_t *ret_start)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < j->s->hosts.cnt; i++) {
		if (!j->found.known[i] && (best == UINT32_MAX ||
				     host_at(j, i)->span_cnt > host_at(j, best)->span_cnt))
			best = i;
	}
	if (best == UINT32_MAX)
		return false;
	offsets_spread(&j->found, j->pairs, j->s->pairs.cnt, best);
	*ret_start = best;
	return true;
}

/* How a host that was moved is known to be off: by the pair with the most bounds that says so. */
static void host_explain(const struct judging *j, uint32_t place, struct skew_host *to)
{
	const struct offset *best = NULL;

	for (size_t i = 0; i < j->s->pairs.cnt; i++) {
		const struct offset *o = &j->pairs[i];

		if ((o->a == place || o->b == place) &&
		    (!best || !best->offset_ns ||
		     (o->offset_ns && o->cnt > best->cnt)))
			best = o;
	}
	to->host = (uint32_t)host_at(j, place)->clock;
	to->offset_ns = j->found.ns[place];
	if (!best)
		return;
	to->against = (uint32_t)host_at(j, best->a == place ? best->b : best->a)->clock;
	to->sure_ns = best->sure_ns == OFFSET_NO_HIGH ? -1 : best->sure_ns;
	to->bound_cnt = best->cnt;
	to->broken_before = best->broken_before;
	to->broken_after = best->broken_after;
}

static void result_make(struct judging *j, uint32_t reference)
{
	struct skew *s = j->s;
	struct skew_host *hosts = ARENA_ARRAY(&s->arena, struct skew_host, s->hosts.cnt);

	s->result.reference = (uint32_t)host_at(j, reference)->clock;
	s->result.hosts = hosts;
	for (uint32_t i = 0; i < s->hosts.cnt; i++) {
		s->hosts.items[j->order[i]].offset_ns = j->found.ns[i];
		if (j->found.ns[i])
			host_explain(j, i, &hosts[s->result.host_cnt++]);
	}
}

const struct skew_result *skew_finish(struct skew *s)
{
	struct arena *arena = &s->arena;
	uint32_t cnt = (uint32_t)s->hosts.cnt, reference, start;
	struct judging j = {.s = s};

	s->result.unseen_cnt = s->unseen_cnt;
	if (!cnt)
		return &s->result;
	arena_clear(arena);
	j.order = ARENA_ARRAY(arena, uint32_t, cnt);
	j.rank = ARENA_ARRAY(arena, uint32_t, cnt);
	j.pairs = ARENA_ARRAY(arena, struct offset, s->pairs.cnt + 1);
	j.found = (struct offsets){
		.ns = ARENA_ARRAY(arena, int64_t, cnt),
		.unsure = ARENA_ARRAY(arena, int64_t, cnt),
		.known = ARENA_ARRAY(arena, bool, cnt),
	};
	for (uint32_t i = 0; i < cnt; i++)
		j.order[i] = i;
	qsort_r(j.order, cnt, sizeof(*j.order), name_cmp, s);
	for (uint32_t i = 0; i < cnt; i++)
		j.rank[j.order[i]] = i;
	pairs_judge(&j);
	spread_next(&j, &reference);
	while (spread_next(&j, &start))
		;
	result_make(&j, reference);
	return &s->result;
}

static int64_t moved(int64_t at, int64_t by)
{
	int64_t sum;

	if (__builtin_add_overflow(at, by, &sum))
		return by < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static int64_t offset_of(const struct skew *s, const struct span *span)
{
	const uint64_t *place = hmap_find(&s->host_of, skew_clock(span));

	return place ? s->hosts.items[*place - 1].offset_ns : 0;
}

void skew_mend(const struct skew *s, const struct trace *trace, struct arena *arena,
	       struct trace *ret)
{
	struct span *spans;
	bool any = false;

	*ret = *trace;
	for (uint32_t i = 0; s->result.host_cnt && !any && i < trace->span_cnt; i++)
		any = offset_of(s, &trace->spans[i]) != 0;
	if (!any)
		return;
	spans = arena_dup(arena, trace->spans, trace->span_cnt * sizeof(*spans));
	for (uint32_t i = 0; i < trace->span_cnt; i++) {
		int64_t by = offset_of(s, &spans[i]);

		spans[i].begin_ns = moved(spans[i].begin_ns, by);
		spans[i].end_ns = moved(spans[i].end_ns, by);
	}
	ret->spans = spans;
}
