/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/call_counts.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "trace/points.h"
#include "requests/stats/result.h"
#include "requests/tree/tree.h"

void call_counts_release(struct call_counts *c)
{
	VEC_FOREACH(&c->items, sums)
		vec_release(&sums->levels);
	vec_release(&c->items);
	vec_release(&c->met);
	hmap_release(&c->by_pair);
}

/* Its index; CALLS_MAX: there are as many already. */
static uint32_t sums_at(struct call_counts *c, uint32_t parent, uint32_t point)
{
	uint64_t key = (uint64_t)parent << 32 | point, *slot;
	struct call_sums *sums;

	if (c->items.cnt == CALLS_MAX && !hmap_find(&c->by_pair, key))
		return CALLS_MAX;
	slot = hmap_slot(&c->by_pair, key);
	if (!*slot) {
		sums = vec_add(&c->items);
		sums->point = point;
		sums->parent = parent;
		*slot = c->items.cnt;
	}
	return (uint32_t)(*slot - 1);
}

static void settle(struct call_sums *s, int64_t total_ns)
{
	s->cnt += s->now;
	s->squares += (u128)s->now * s->now;
	for (size_t i = 0; s->now >> i; i++) {
		if (i == s->levels.cnt)
			vec_add(&s->levels);
		s->levels.items[i].cnt++;
		s->levels.items[i].total += total_ns > 0 ? (u128)total_ns : 0;
	}
	s->now = 0;
}

static void took_add(struct call_sums *s, int64_t took_ns)
{
	u128 ns = took_ns < 0 ? 0 : took_ns > MOMENTS_NS_MAX ? MOMENTS_NS_MAX : (u128)took_ns;

	if (s->took_cnt == MOMENTS_CNT_MAX)
		return;
	s->took_cnt++;
	s->took += ns;
	s->took_squares += ns * ns;
}

void call_counts_add(struct call_counts *c, const struct tnode *nodes, uint32_t span_cnt,
		     int64_t total_ns)
{
	c->request_cnt++;
	vec_clear(&c->met);
	for (uint32_t i = 0; i < span_cnt; i++) {
		struct call_sums *s;
		uint32_t idx;

		if (nodes[i].flags & TNODE_DROPPED || nodes[i].parent == TREE_NONE)
			continue;
		idx = sums_at(c, nodes[nodes[i].parent].point, nodes[i].point);
		if (idx == CALLS_MAX) {
			c->over_cnt++;
			continue;
		}
		s = &c->items.items[idx];
		if (!s->now)
			vec_push(&c->met, idx);
		s->now += s->now < CALLS_OF_ONE_MAX;
		took_add(s, nodes[i].end - nodes[i].begin);
	}
	VEC_FOREACH(&c->met, idx)
		settle(&c->items.items[*idx], total_ns);
}

static const struct call_level *levels_make(const struct call_sums *s, struct arena *arena)
{
	struct call_level *ret = ARENA_ARRAY(arena, struct call_level, s->levels.cnt);

	for (size_t i = 0; i < s->levels.cnt; i++) {
		const struct call_level_sums *level = &s->levels.items[i];

		ret[i] = (struct call_level){level->cnt,
					     (double)level->total / (double)level->cnt};
	}
	return ret;
}

static int by_hash(const void *a, const void *b)
{
	const struct call_count *x = a, *y = b;

	CMP(x->hash, y->hash);
	return 0;
}

const struct call_count *call_counts_make(const struct call_counts *c,
					  const struct points *points, struct arena *arena,
					  uint32_t *ret_cnt)
{
	struct call_count *ret = ARENA_ARRAY(arena, struct call_count, c->items.cnt + 1);
	double n = (double)c->request_cnt;

	for (size_t i = 0; i < c->items.cnt; i++) {
		const struct call_sums *s = &c->items.items[i];
		double mean = (double)s->cnt / n, took = (double)s->took / (double)s->took_cnt;

		ret[i] = (struct call_count){
			.point = s->point, .parent = s->parent,
			.hash = hash_pair(points->items.items[s->parent].hash,
					  points->items.items[s->point].hash),
			.cnt = s->cnt,
			.variance = (double)s->squares / n - mean * mean,
			.took_ns = took,
			.took_variance = (double)s->took_squares / (double)s->took_cnt -
					 took * took,
			.levels = levels_make(s, arena), .level_cnt = (uint32_t)s->levels.cnt,
		};
		ret[i].variance = fmax(ret[i].variance, 0);	/* rounded */
		ret[i].took_variance = fmax(ret[i].took_variance, 0);
	}
	qsort(ret, c->items.cnt, sizeof(*ret), by_hash);
	*ret_cnt = (uint32_t)c->items.cnt;
	return ret;
}

/* Takes several callers as if each called by itself, for the variance. */
struct call_times call_times_of(const struct request_type *type, uint32_t point)
{
	struct call_times ret = {.mean = point == type->point, .parent = REQUEST_POINT_NONE};
	double n = (double)type->all->latency.cnt;
	uint64_t most = 0;

	for (uint32_t i = 0; i < type->call_cnt; i++) {
		const struct call_count *c = &type->calls[i];

		if (c->point != point)
			continue;
		ret.mean += (double)c->cnt / n;
		ret.variance += c->variance;
		if (c->cnt > most) {
			most = c->cnt;
			ret.parent = c->parent;
		}
	}
	return ret;
}
