/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From leaves to the answer.  Whatever is walked here is sorted first by what
 * does not depend on the order of traces.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cmp.h"
#include "trace/points.h"
#include "requests/call_splits.h"
#include "requests/keys/keys.h"
#include "requests/requests_int.h"

static struct acc *merged(struct type *type, struct leaf *const *leaves, uint32_t cnt)
{
	struct acc *acc;

	if (cnt == 1) {
		acc_settle(&leaves[0]->acc);
		return &leaves[0]->acc;
	}
	acc = xcalloc(1, sizeof(*acc));
	vec_push(&type->owned, acc);
	for (uint32_t i = 0; i < cnt; i++)
		acc_merge(acc, &leaves[i]->acc);
	acc_settle(acc);
	return acc;
}

/* The working state of an answer. */
struct making {
	struct requests *r;
	struct arena *arena;
	struct key_space space;
	struct key_tests tests;
};

static bool has_bin(const struct leaf *leaf, const struct path_bin *bin)
{
	VEC_FOREACH(&leaf->bins, b)
		if (b->point == bin->point && b->label == bin->label)
			return true;
	return false;
}

static int by_label(const void *a, const void *b, void *ctx)
{
	const struct path_bin *x = a, *y = b;
	const struct requests *r = ctx;
	int points = points_cmp(r->points, r->strings, x->point, y->point);

	return points ? points : strcmp(strtab_str(r->strings, x->label),
					strtab_str(r->strings, y->label));
}

/* Those of the first path that all others have as well. */
static void fill_bins(const struct requests *r, struct leaf *const *leaves, uint32_t cnt,
		      struct arena *arena, struct request_group *ret)
{
	struct path_bin *bins = ARENA_ARRAY(arena, struct path_bin, leaves[0]->bins.cnt + 1);

	VEC_FOREACH(&leaves[0]->bins, bin) {
		bool common = true;

		for (uint32_t i = 1; i < cnt && common; i++)
			common = has_bin(leaves[i], bin);
		if (common)
			bins[ret->bin_cnt++] = *bin;
	}
	if (ret->bin_cnt > 1)
		qsort_r(bins, ret->bin_cnt, sizeof(*bins), by_label, (void *)r);
	ret->bins = bins;
}

static void fill_roots(struct leaf *const *leaves, uint32_t cnt, struct request_group *ret)
{
	for (uint32_t i = 0; i < cnt; i++) {
		ret->failed_cnt += leaves[i]->failed_cnt;
		ret->message_cnt += leaves[i]->message_cnt;
	}
}

static void fill_group(struct making *m, struct type *type, const struct cut_group *cut,
		       struct request_group *ret)
{
	struct arena *arena = m->arena;
	struct leaf **leaves = ARENA_ARRAY(arena, struct leaf *, cut->leaf_cnt);
	struct acc *acc;

	for (uint32_t i = 0; i < cut->leaf_cnt; i++)
		leaves[i] = type->leaves.items[cut->leaves[i]];
	acc = merged(type, leaves, cut->leaf_cnt);
	vec_push(&type->groups, acc);
	ret->hash = cut->hash;
	ret->level = (uint8_t)cut->level;
	ret->path_cnt = cut->leaf_cnt;
	ret->rules = cut->rules;
	ret->rule_cnt = cut->rule_cnt;
	fill_roots(leaves, cut->leaf_cnt, ret);
	fill_bins(m->r, leaves, cut->leaf_cnt, arena, ret);
	group_fill(acc, &type->all, m->r, arena, ret);
	examples_choose(m->r, leaves, cut->leaf_cnt, acc, arena, ret);
	if (ret->decided)
		keys_test(&m->space, leaves_samples(leaves, cut->leaf_cnt, arena), cut->leaf_cnt,
			  arena, &m->tests, ret);
}

static int by_members(const void *a, const void *b)
{
	const struct cut_group *x = a, *y = b;

	CMP(y->cnt, x->cnt);
	CMP(x->level, y->level);
	CMP(x->hash, y->hash);
	return 0;
}

static void fill_groups(struct making *m, struct type *type, struct cut *cut,
			struct request_type *ret)
{
	struct request_group *groups = ARENA_ARRAY(m->arena, struct request_group, cut->groups.cnt);
	double between = 1;

	vec_sort(&cut->groups, by_members);
	for (size_t i = 0; i < cut->groups.cnt; i++) {
		const struct cut_group *c = &cut->groups.items[i];

		fill_group(m, type, c, &groups[i]);
		for (uint32_t l = 0; l < c->leaf_cnt; l++)
			type->leaves.items[c->leaves[l]]->group = (uint32_t)i;
		if (groups[i].decided)
			ret->usable_cnt += c->cnt;
		ret->within_share += groups[i].variance_share;
	}
	between -= ret->within_share;
	ret->between_share = ret->all->latency.sd_ns > 0 && between > 0 ? between : 0;
	ret->groups = groups;
	ret->group_cnt = (uint32_t)cut->groups.cnt;
}

static uint32_t name_of(const struct requests *r, const struct type *type)
{
	const struct point *p = &r->points->items.items[type->point];
	struct buf name = {0};
	uint32_t id;

	buf_printf(&name, "%s: %s", strtab_str(r->strings, p->service),
		 strtab_str(r->strings, p->name));
	if (type->detail && !strstr(buf_str(&name), strtab_str(r->strings, type->detail)))
		buf_printf(&name, " %s", strtab_str(r->strings, type->detail));
	if (type->stood_in)
		buf_adds(&name, " and more");
	id = strtab_add(r->strings, buf_str(&name));
	buf_release(&name);
	return id;
}

const char *requests_last_type(const struct requests *r)
{
	return r->last ? strtab_str(r->strings, name_of(r, r->last)) : NULL;
}

/* The levels stay those of the type itself. */
static void cut_as_united(const struct requests *r, struct type *type, struct arena *arena,
			  struct cut *cut)
{
	struct requests_opts opts = r->opts;
	struct cut united;

	opts.min_cnt = type->united_min_cnt;
	cut_type(type->united, r->points, &opts, arena, &united);
	cut_translate(type, &united);
	cut->groups.cnt = 0;
	VEC_FOREACH(&united.groups, g)
		vec_push(&cut->groups, *g);
	cut_release(&united);
	type_free(type->united);
	type->united = NULL;
}

static void fill_type(struct making *m, struct type *type, struct request_type *ret)
{
	struct requests *r = m->r;
	struct arena *arena = m->arena;
	struct request_group *all = ARENA_NEW(arena, struct request_group);
	struct cut cut;

	type_forget_answer(type);
	leaves_sort(type);
	VEC_FOREACH(&type->leaves, leaf)
		acc_merge(&type->all, &(*leaf)->acc);
	acc_settle(&type->all);
	cut_type(type, r->points, &r->opts, arena, &cut);
	if (type->united)
		cut_as_united(r, type, arena, &cut);
	ret->point = type->point;
	ret->name = name_of(r, type);
	ret->hash = type->hash;
	ret->levels = arena_dup(arena, cut.levels.items,
				cut.levels.cnt * sizeof(*cut.levels.items));
	ret->level_cnt = (uint32_t)cut.levels.cnt;
	all->hash = type->hash;
	all->level = CSHAPE_TYPE;
	all->path_cnt = (uint32_t)type->leaves.cnt;
	fill_roots(type->leaves.items, all->path_cnt, all);
	group_fill(&type->all, &type->all, r, arena, all);
	examples_choose(r, type->leaves.items, all->path_cnt, &type->all, arena, all);
	if (all->decided)
		keys_test(&m->space, leaves_samples(type->leaves.items, all->path_cnt, arena),
			  all->path_cnt, arena, &m->tests, all);
	ret->all = all;
	ret->calls = call_counts_make(&type->calls, r->points, arena, &ret->call_cnt);
	fill_groups(m, type, &cut, ret);
	cut_release(&cut);
}

/* Counts the cost of the bounds that is known only at the end. */
static void count_over(const struct requests *r, struct requests_stats *ret)
{
	ret->value_over_cnt = r->vars.refused_cnt;
	VEC_FOREACH(&r->types, type) {
		ret->call_over_cnt += (*type)->calls.over_cnt;
		ret->merged_cnt += (*type)->level != CSHAPE_EXACT;
		ret->moment_over_cnt += (*type)->all.moments.full_cnt;
		VEC_FOREACH(&(*type)->leaves, leaf)
			VEC_FOREACH(&(*leaf)->copies.items, copy)
				ret->uncopied_cnt += !copy->trace;
	}
}

static int by_requests(const void *a, const void *b)
{
	const struct type *x = *(struct type *const *)a, *y = *(struct type *const *)b;

	CMP(type_cnt(y), type_cnt(x));
	CMP(x->hash, y->hash);
	return 0;
}

const struct requests_result *requests_finish(struct requests *r, struct arena *arena)
{
	struct requests_result *result = ARENA_NEW(arena, struct requests_result);
	struct request_type *types = ARENA_ARRAY(arena, struct request_type, r->types.cnt);
	struct making m = {.r = r, .arena = arena,
			   .space = {&r->vars, r->points, r->strings, r->opts.q_max}};

	vec_sort(&r->types, by_requests);
	for (size_t i = 0; i < r->types.cnt; i++) {
		hmap_put(&r->by_hash, r->types.items[i]->hash, i);
		fill_type(&m, r->types.items[i], &types[i]);
	}
	keys_judge(&m.space, &m.tests, arena);
	result->types = types;
	result->type_cnt = (uint32_t)r->types.cnt;
	result->stats = r->stats;
	count_over(r, &result->stats);
	result->stats.id_key_cnt = m.tests.id_cnt;
	result->stats.test_cnt = m.tests.items.cnt;
	result->graph_stats = r->graph_stats;
	result->opts = r->opts;
	key_tests_release(&m.tests);
	problems_find(r, result, arena);
	call_splits_find(result, arena, &result->splits);
	return result;
}
