/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/split_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/keysort.h"
#include "trace/points.h"
#include "requests/requests_int.h"
#include "requests/stats/tests.h"

/* By chance in one of a hundred sets, however many tracepoints were tried. */
static const double chance_max = 0.01;

/* Counts that are kept apart: once, 2, 4, 8 ... 2^15 times. */
enum { TIMES_BITS = 16 };

struct through {		/* how often one path goes through one tracepoint */
	uint32_t point, leaf;	/* leaf: place in the set */
	uint32_t entry_cnt, exit_cnt;
};

struct trial {
	const struct type *type;
	const struct points *points;
	uint64_t min_cnt;
	const uint32_t *leaves;
	struct acc_sums *sums;	/* by place */
	struct acc_sums all;
	long double mean, squares;	/* of all members, about the mean */
	VEC(struct through) through;	/* by tracepoint, then leaf */
	uint32_t trial_cnt;
	long double best_gain;
	struct path_rule best;
};

static void trial_release(struct trial *t)
{
	vec_release(&t->through);
}

/* A span is on the path once, though its entry and its exit may both be. */
static uint32_t times(const struct through *t)
{
	return t->entry_cnt > t->exit_cnt ? t->entry_cnt : t->exit_cnt;
}

/* Steps of all paths by tracepoint, those of one as they come: in order of leaves. */
static struct keyed *steps_sorted(const struct trial *t, uint32_t leaf_cnt, size_t *ret_cnt)
{
	VEC(struct keyed) steps = {0};

	for (uint32_t l = 0; l < leaf_cnt; l++) {
		const struct acc *acc = &t->type->leaves.items[t->leaves[l]]->acc;

		VEC_FOREACH(&acc->keys, key)
			if (key->to != REQUEST_POINT_NONE)
				vec_push(&steps, ((struct keyed){key->to, l,
								 key->to_kind == NODE_EXIT}));
	}
	*ret_cnt = steps.cnt;
	vec_reserve(&steps, 2 * steps.cnt + 1);
	keysort(steps.items, steps.items + steps.cnt, steps.cnt);
	return steps.items;
}

static void find_through(struct trial *t, uint32_t leaf_cnt)
{
	size_t cnt;
	CLEANUP_FREE struct keyed *steps = steps_sorted(t, leaf_cnt, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		struct through *last = t->through.cnt ? vec_last(&t->through) : NULL;

		if (!last || last->point != steps[i].key || last->leaf != steps[i].idx) {
			last = vec_add(&t->through);
			last->point = (uint32_t)steps[i].key;
			last->leaf = steps[i].idx;
		}
		if (steps[i].pad)
			last->exit_cnt++;
		else
			last->entry_cnt++;
	}
}

static bool rule_before(const struct trial *t, const struct path_rule *a,
			const struct path_rule *b)
{
	uint64_t x = t->points->items.items[a->point].hash;
	uint64_t y = t->points->items.items[b->point].hash;

	return x != y ? x < y : a->times < b->times;
}

/* through: all of one tracepoint; the rule is that a path goes there so many times. */
static void try_rule(struct trial *t, const struct through *through, size_t cnt,
		     struct path_rule rule)
{
	struct acc_sums in = {0};
	uint64_t out_cnt;
	long double d, gain;

	for (size_t i = 0; i < cnt; i++) {
		if (times(&through[i]) < rule.times)
			continue;
		in.cnt += t->sums[through[i].leaf].cnt;
		in.total += t->sums[through[i].leaf].total;
	}
	out_cnt = t->all.cnt - in.cnt;
	if (in.cnt < t->min_cnt || out_cnt < t->min_cnt)
		return;
	t->trial_cnt++;
	d = (long double)in.total / (long double)in.cnt - t->mean;
	gain = d * d * (long double)in.cnt * (long double)t->all.cnt / (long double)out_cnt;
	if (gain < t->best_gain || (gain == t->best_gain && !rule_before(t, &rule, &t->best)))
		return;
	t->best_gain = gain;
	t->best = rule;
}

static void try_all(struct trial *t)
{
	const struct through *items = t->through.items;

	for (size_t i = 0, end; i < t->through.cnt; i = end) {
		uint32_t most = 0;

		for (end = i; end < t->through.cnt && items[end].point == items[i].point; end++)
			most = times(&items[end]) > most ? times(&items[end]) : most;
		for (uint32_t bit = 0; bit < TIMES_BITS && 1u << bit <= most; bit++)
			try_rule(t, items + i, end - i,
				 (struct path_rule){.point = items[i].point, .times = 1u << bit});
	}
}

/* By place, whether the best rule holds; lives in arena. */
static const bool *who_holds(const struct trial *t, uint32_t leaf_cnt, struct arena *arena)
{
	bool *holds = ARENA_ARRAY(arena, bool, leaf_cnt);

	VEC_FOREACH(&t->through, one)
		if (one->point == t->best.point && times(one) >= t->best.times)
			holds[one->leaf] = true;
	return holds;
}

static bool is_chance(const struct trial *t)
{
	double df = (double)t->all.cnt - 2;
	long double within = t->squares - t->best_gain;

	if (!t->trial_cnt || df < 1 || !(t->best_gain > 0))
		return true;
	return within > 0 && stats_f_p((double)(t->best_gain / (within / df)), 1, df) *
					     t->trial_cnt > chance_max;
}

bool split_leaves(const struct type *type, const struct points *points, uint64_t min_cnt,
		  uint32_t *leaves, uint32_t leaf_cnt, struct arena *arena, struct split *ret)
{
	CLEANUP(trial_release) struct trial t = {
		.type = type, .points = points, .min_cnt = min_cnt, .leaves = leaves};
	uint32_t *parted = ARENA_ARRAY(arena, uint32_t, leaf_cnt), front = 0, back = 0;
	const bool *holds;

	if (type->level != CSHAPE_EXACT || leaf_cnt < 2)
		return false;
	t.sums = ARENA_ARRAY(arena, struct acc_sums, leaf_cnt);
	for (uint32_t i = 0; i < leaf_cnt; i++) {
		t.sums[i] = acc_sums(&type->leaves.items[leaves[i]]->acc);
		acc_sums_add(&t.all, &t.sums[i]);
	}
	if (t.all.cnt < 2 * min_cnt)
		return false;
	t.mean = (long double)t.all.total / (long double)t.all.cnt;
	t.squares = acc_sums_squares(&t.all);
	find_through(&t, leaf_cnt);
	try_all(&t);
	if (is_chance(&t))
		return false;
	ret->rule = t.best;
	holds = who_holds(&t, leaf_cnt, arena);
	for (uint32_t i = 0; i < leaf_cnt; i++)
		ret->front_cnt += holds[i];
	for (uint32_t i = 0; i < leaf_cnt; i++)
		parted[holds[i] ? front++ : ret->front_cnt + back++] = leaves[i];
	memcpy(leaves, parted, leaf_cnt * sizeof(*leaves));
	return true;
}
