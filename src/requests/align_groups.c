/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sets of requests whose paths are put together to groups in one way, as
 * if they were one set: else a path that is a group by itself in the one and
 * among others in the other would seem to be new.
 */
#include <string.h>

#include "base/alloc.h"
#include "requests/requests_int.h"

/* Adds a leaf that only counts: its members' totals, and which edges it has. */
static void add_light(struct type *united, const struct leaf *from)
{
	struct leaf *to = leaf_of(united, from->shape);
	struct acc_sums sums = acc_sums(&from->acc);
	struct acc *acc = &to->acc;

	acc->summed = true;
	acc->cnt += sums.cnt;
	acc->moments.cnt[0] += sums.cnt;
	acc->moments.total[0].x += sums.total;
	acc->moments.total[0].xt += sums.squares;
	for (size_t i = acc->keys.cnt; i < from->acc.keys.cnt; i++) {
		vec_push(&acc->keys, from->acc.keys.items[i]);
		vec_push(&acc->hashes, from->acc.hashes.items[i]);
	}
}

static struct type *unite(const struct type *a, const struct type *b)
{
	struct type *united = xcalloc(1, sizeof(*united));

	united->hash = a->hash;
	united->point = a->point;
	united->detail = a->detail;
	united->level = a->level;
	VEC_FOREACH(&a->leaves, leaf)
		add_light(united, *leaf);
	VEC_FOREACH(&b->leaves, leaf)
		add_light(united, *leaf);
	leaves_sort(united);
	return united;
}

/*
 * A group has so many members in both together that the smaller one is to be
 * expected to have enough: if it has none, that is no chance.
 */
static uint32_t min_cnt_of(uint64_t a, uint64_t b, uint32_t min_cnt)
{
	uint64_t least = a < b ? a : b;
	double cnt = least ? (double)min_cnt * ((double)a + (double)b) / (double)least : 0;

	return cnt < UINT32_MAX ? (uint32_t)cnt : UINT32_MAX;
}

void requests_pair(struct requests *good, struct requests *bad)
{
	VEC_FOREACH(&good->types, one) {
		struct type *a = *one, *b;
		uint64_t idx;

		if (!hmap_get(&bad->by_hash, a->hash, &idx))
			continue;
		b = bad->types.items[idx];
		while (a->level < b->level)
			coarsen(good, a);
		while (b->level < a->level)
			coarsen(bad, b);
		type_free(a->united);
		type_free(b->united);
		a->united = unite(a, b);
		b->united = unite(a, b);
		a->united_min_cnt = b->united_min_cnt =
			min_cnt_of(type_cnt(a), type_cnt(b), good->opts.min_cnt);
	}
}

void cut_translate(const struct type *type, struct cut *cut)
{
	size_t kept = 0;

	for (size_t i = 0; i < cut->groups.cnt; i++) {
		struct cut_group *g = &cut->groups.items[i];
		uint32_t leaf_cnt = 0;

		g->cnt = 0;
		for (uint32_t l = 0; l < g->leaf_cnt; l++) {
			const struct leaf *of = type->united->leaves.items[g->leaves[l]];
			uint64_t idx;

			if (!hmap_get(&type->by_shape, of->shape[type->level], &idx))
				continue;
			g->leaves[leaf_cnt++] = (uint32_t)idx;
			g->cnt += type->leaves.items[idx]->acc.cnt;
		}
		g->leaf_cnt = leaf_cnt;
		if (leaf_cnt)
			cut->groups.items[kept++] = *g;
	}
	cut->groups.cnt = kept;
}
