/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With concurrency hardly two requests have the very same critical path: which
 * of two siblings came last is chance.  So each set of paths
 * is divided as finely as it can be while its groups have members enough: a leaf that has
 * them is a group by itself, those that have not are put together with the
 * others of the same shape one level coarser that have not either, and so on
 * up to the type.  Levels are nested (critical.h), so with leaves in order of
 * their shapes, the coarsest first, each set is a range.
 *
 * What is put together so may still be very different.  Such a group is then
 * parted by where its paths lead, as far as that makes a difference (split_groups.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "trace/points.h"
#include "requests/requests_int.h"
#include "requests/split_groups.h"

struct cutting {
	const struct type *type;
	const struct requests_opts *opts;
	struct arena *arena;
	struct cut *cut;
	uint32_t *order;	/* leaves by shape, the coarsest level first */
	uint32_t *rest;		/* leaves in no group yet: a stack */
	uint32_t rest_cnt;
};

static const struct leaf *leaf_at(const struct cutting *c, uint32_t place)
{
	return c->type->leaves.items[c->order[place]];
}

static int by_levels(const void *a, const void *b, void *ctx)
{
	const struct type *type = ctx;
	const struct leaf *x = type->leaves.items[*(const uint32_t *)a];
	const struct leaf *y = type->leaves.items[*(const uint32_t *)b];

	for (uint32_t level = CSHAPE_CNT; level-- > type->level;)
		CMP(x->shape[level], y->shape[level]);
	return 0;
}

/* The end of the range from first on that has one shape at this level. */
static uint32_t range_end(const struct cutting *c, uint32_t first, uint32_t end, uint32_t level)
{
	uint32_t i = first + 1;

	while (i < end && leaf_at(c, i)->shape[level] == leaf_at(c, first)->shape[level])
		i++;
	return i;
}

static bool all_alike(const struct cutting *c, const uint32_t *leaves, uint32_t cnt,
		      uint32_t level)
{
	struct leaf *const *items = c->type->leaves.items;

	for (uint32_t i = 1; i < cnt; i++)
		if (items[leaves[i]]->shape[level] != items[leaves[0]]->shape[level])
			return false;
	return true;
}

/* The leaves on the stack from base on become a group, of the finest level they share. */
static void emit(struct cutting *c, uint32_t base, uint64_t cnt)
{
	struct cut_group *g = vec_add(&c->cut->groups);
	uint32_t level = c->type->level;

	while (!all_alike(c, c->rest + base, c->rest_cnt - base, level))
		level++;
	g->cnt = cnt;
	g->hash = c->type->leaves.items[c->rest[base]]->shape[level];
	g->level = level;
	g->leaf_cnt = c->rest_cnt - base;
	g->leaves = arena_dup(c->arena, c->rest + base, g->leaf_cnt * sizeof(*g->leaves));
	c->rest_cnt = base;
}

static void cut_range(struct cutting *c, uint32_t first, uint32_t end, uint32_t level)
{
	uint32_t base = c->rest_cnt;
	uint64_t members = 0;

	if (level == c->type->level) {
		for (uint32_t i = first; i < end; i++)
			c->rest[c->rest_cnt++] = c->order[i];
	} else {
		for (uint32_t i = first, next; i < end; i = next) {
			next = range_end(c, i, end, level - 1);
			cut_range(c, i, next, level - 1);
		}
	}
	for (uint32_t i = base; i < c->rest_cnt; i++)
		members += c->type->leaves.items[c->rest[i]]->acc.cnt;
	if (members >= c->opts->min_cnt || (level == CSHAPE_TYPE && members))
		emit(c, base, members);
}

/* Sum of squares between the means of sets, exactly enough, plus what they add up to. */
struct between {
	long double mean, squares;
};

static void between_add(struct between *b, const struct acc_sums *s)
{
	long double d = (long double)s->total / (long double)s->cnt - b->mean;

	b->squares += (long double)s->cnt * d * d;
}

static void fill_level(struct cutting *c, const struct acc_sums *leaf_sums, uint32_t leaf_cnt,
		       const struct acc_sums *all, struct request_level *ret)
{
	struct between b = {.mean = (long double)all->total / (long double)all->cnt};
	long double all_squares = acc_sums_squares(all);

	for (uint32_t i = 0, end; i < leaf_cnt; i = end) {
		struct acc_sums s = {0};

		end = range_end(c, i, leaf_cnt, ret->level);
		for (uint32_t j = i; j < end; j++)
			acc_sums_add(&s, &leaf_sums[j]);
		between_add(&b, &s);
		ret->group_cnt++;
		if (s.cnt >= c->opts->min_cnt)
			ret->usable_cnt += s.cnt;
	}
	ret->between_share = all_squares > 0 ? (double)(b.squares / all_squares) : 0;
	if (all->cnt > ret->group_cnt) {
		double n = (double)all->cnt;
		double beyond = 1 - (1 - ret->between_share) * (n - 1) / (n - ret->group_cnt);

		ret->beyond_chance = beyond > 0 ? beyond : 0;
	}
}

/* The group number i may be parted in two: the second is put at the end, to be looked at too. */
static void part_group(struct cutting *c, const struct points *points, size_t i)
{
	struct cut_group *g = &c->cut->groups.items[i], *other;
	struct split split = {0};
	struct path_rule *rules;

	if (!split_leaves(c->type, points, c->opts->min_cnt, g->leaves, g->leaf_cnt, c->arena,
			  &split))
		return;
	other = vec_add(&c->cut->groups);
	g = &c->cut->groups.items[i];
	*other = *g;
	other->leaves += split.front_cnt;
	other->leaf_cnt -= split.front_cnt;
	g->leaf_cnt = split.front_cnt;
	for (uint32_t part = 0; part < 2; part++) {
		struct cut_group *p = part ? other : g;

		rules = ARENA_ARRAY(c->arena, struct path_rule, p->rule_cnt + 1);
		if (p->rule_cnt)
			memcpy(rules, p->rules, p->rule_cnt * sizeof(*rules));
		rules[p->rule_cnt] = split.rule;
		rules[p->rule_cnt++].holds = !part;
		p->rules = rules;
		p->hash = hash_pair(hash_pair(p->hash, split.rule.times * 2 + part),
				    points->items.items[split.rule.point].hash);
		p->cnt = 0;
		for (uint32_t l = 0; l < p->leaf_cnt; l++)
			p->cnt += c->type->leaves.items[p->leaves[l]]->acc.cnt;
	}
}

void cut_type(const struct type *type, const struct points *points,
	      const struct requests_opts *opts, struct arena *arena, struct cut *ret)
{
	uint32_t cnt = (uint32_t)type->leaves.cnt;
	struct acc_sums all = {0}, *sums = ARENA_ARRAY(arena, struct acc_sums, cnt + 1);
	struct cutting c = {.type = type,
			    .opts = opts,
			    .arena = arena,
			    .cut = ret,
			    .order = ARENA_ARRAY(arena, uint32_t, cnt + 1),
			    .rest = ARENA_ARRAY(arena, uint32_t, cnt + 1)};

	memset(ret, 0, sizeof(*ret));
	for (uint32_t i = 0; i < cnt; i++)
		c.order[i] = i;
	qsort_r(c.order, cnt, sizeof(*c.order), by_levels, (void *)type);
	for (uint32_t i = 0; i < cnt; i++) {
		sums[i] = acc_sums(&leaf_at(&c, i)->acc);
		acc_sums_add(&all, &sums[i]);
	}
	if (!all.cnt)
		return;
	cut_range(&c, 0, cnt, CSHAPE_TYPE);
	for (size_t i = 0; i < ret->groups.cnt;) {
		size_t before = ret->groups.cnt;

		part_group(&c, points, i);
		i += ret->groups.cnt == before;	/* what was parted may be parted again */
	}
	for (uint32_t level = 0; level < CSHAPE_CNT; level++) {
		struct request_level *l = vec_add(&ret->levels);

		l->level = (uint8_t)level;
		l->merged = level < type->level;
		if (!l->merged)
			fill_level(&c, sums, cnt, &all, l);
	}
}

void cut_release(struct cut *cut)
{
	vec_release(&cut->groups);
	vec_release(&cut->levels);
}
