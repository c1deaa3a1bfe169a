/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/stats/group_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/bug.h"
#include "base/cmp.h"

struct member {
	uint32_t cell, cnt;
	const int64_t *took_ns;
	const uint32_t *cols;	/* NULL: the first cnt columns */
	int64_t total_ns;
};

void acc_release(struct acc *a)
{
	vec_release(&a->keys);
	vec_release(&a->hashes);
	hmap_release(&a->columns);
	vec_release(&a->raw);
	moments_release(&a->moments);
	tails_release(&a->tails);
	for (uint32_t i = 0; i < a->hist_cnt; i++)
		hist_release(&a->hists[i]);
	free(a->hists);
	memset(a, 0, sizeof(*a));
}

static void reach_hists(struct acc *a)
{
	uint32_t cnt = (uint32_t)a->keys.cnt;

	if (a->hist_cnt >= cnt)
		return;
	a->hists = xreallocarray(a->hists, cnt, sizeof(*a->hists));
	memset(a->hists + a->hist_cnt, 0, (cnt - a->hist_cnt) * sizeof(*a->hists));
	a->hist_cnt = cnt;
}

/* All but the moments of one exact path. */
static void sum_member(struct acc *a, const struct member *m)
{
	if (m->cols)
		moments_add(&a->moments, m->cell, m->took_ns, m->cols, m->cnt);
	tails_add(&a->tails, m->took_ns, m->cols, m->cnt, m->total_ns);
	hists_add(a->hists, m->took_ns, m->cols, m->cnt);
}

/* The raw member at *pos, which is moved on; cols is room for its columns. */
static struct member raw_member(const struct acc *a, size_t *pos, uint32_t *cols)
{
	const int64_t *at = a->raw.items + *pos;
	struct member m = {.cell = (uint32_t)at[0], .cnt = (uint32_t)at[1], .took_ns = at + 2};

	for (uint32_t i = 0; i < m.cnt; i++)
		m.total_ns += m.took_ns[i];
	for (uint32_t i = 0; i < m.cnt && !a->same; i++)
		cols[i] = (uint32_t)at[2 + m.cnt + i];
	m.cols = a->same ? NULL : cols;
	*pos += 2 + m.cnt * (a->same ? 1u : 2u);
	return m;
}

static void sum_raw(struct acc *a)
{
	uint32_t cols[PATH_EDGES_MAX];

	reach_hists(a);
	if (a->same)
		moments_add_rows(&a->moments, a->raw.items, a->raw_cnt, (uint32_t)a->keys.cnt);
	for (size_t pos = 0; pos < a->raw.cnt;) {
		struct member m = raw_member(a, &pos, cols);

		sum_member(a, &m);
	}
	vec_clear(&a->raw);
	a->raw_cnt = 0;
	a->summed = true;
}

static void take_member(struct acc *a, const struct member *m)
{
	int64_t *at;

	if (a->raw_cnt == ACC_RAW)
		sum_raw(a);
	vec_reserve(&a->raw, a->raw.cnt + 2 + 2 * (size_t)m->cnt);
	at = a->raw.items + a->raw.cnt;
	*at++ = m->cell;
	*at++ = m->cnt;
	for (uint32_t i = 0; i < m->cnt; i++)
		*at++ = m->took_ns[i];
	for (uint32_t i = 0; i < m->cnt && !a->same; i++)
		*at++ = m->cols[i];
	a->raw.cnt = (size_t)(at - a->raw.items);
	a->raw_cnt++;
	a->cnt++;
}

void acc_add_same(struct acc *a, const struct path *path)
{
	struct member m = {.cell = moments_cell_of(&path->id),
			   .cnt = path->edge_cnt,
			   .took_ns = path->took_ns,
			   .total_ns = path->total_ns};

	if (!a->cnt) {
		a->same = true;
		for (uint32_t i = 0; i < path->edge_cnt; i++) {
			vec_push(&a->keys, path->keys[i]);
			vec_push(&a->hashes, path->hashes[i]);
		}
	}
	BUG_ON(!a->same || a->keys.cnt != path->edge_cnt);
	take_member(a, &m);
}

uint32_t acc_column(const struct acc *a, uint64_t hash)
{
	uint64_t col;

	if (hmap_get(&a->columns, hash, &col))
		return (uint32_t)col;
	for (uint32_t i = 0; a->same && i < a->hashes.cnt; i++)
		if (a->hashes.items[i] == hash)
			return i;
	return UINT32_MAX;
}

static uint32_t add_column(struct acc *a, const struct edge_key *key, uint64_t hash)
{
	hmap_put(&a->columns, hash, a->keys.cnt);
	vec_push(&a->keys, *key);
	vec_push(&a->hashes, hash);
	return (uint32_t)a->keys.cnt - 1;
}

static uint32_t greatest_hash(struct acc *a, uint32_t other)
{
	uint32_t best = other ? 0 : 1;

	if (a->greatest)
		return a->greatest - 1;
	for (uint32_t i = best + 1; i < a->hashes.cnt; i++)
		if (i != other && a->hashes.items[i] > a->hashes.items[best])
			best = i;
	a->greatest = best + 1;
	return best;
}

/* Moves the sums of one column to another, as if they had always been there. */
static void empty_column(struct acc *a, uint32_t col, uint32_t to)
{
	for (size_t pos = 0; pos < a->raw.cnt;) {
		int64_t cnt = a->raw.items[pos + 1], *cols = a->raw.items + pos + 2 + cnt;

		for (int64_t i = 0; i < cnt; i++)
			if (cols[i] == col)
				cols[i] = to;
		pos += 2 + 2 * (size_t)cnt;
	}
	moments_move(&a->moments, col, to);
	tails_move(&a->tails, col, to);
	if (col < a->hist_cnt) {
		reach_hists(a);
		hist_merge(&a->hists[to], &a->hists[col]);
		hist_release(&a->hists[col]);
	}
}

/*
 * At the bound the columns with the lowest hashes stay, and all that others
 * had is in "other", whichever came first.  Parts of one member are there each
 * by themselves, so that it does not matter when they came there either.
 */
static uint32_t reach_column(struct acc *a, const struct edge_key *key, uint64_t hash)
{
	static const struct edge_key other = {.from = REQUEST_POINT_NONE,
					      .to = REQUEST_POINT_NONE,
					      .owner = REQUEST_POINT_NONE};
	uint64_t col;
	uint32_t last;
	bool has_other;

	if (hmap_get(&a->columns, hash, &col))
		return (uint32_t)col;
	has_other = hmap_get(&a->columns, path_other_hash(), &col);
	if (hash == path_other_hash() || a->keys.cnt - has_other < ACC_COLUMNS_MAX)
		return add_column(a, key, hash);
	if (!has_other)
		col = add_column(a, &other, path_other_hash());
	last = greatest_hash(a, (uint32_t)col);
	if (hash > a->hashes.items[last])
		return (uint32_t)col;
	empty_column(a, last, (uint32_t)col);
	hmap_del(&a->columns, a->hashes.items[last]);
	hmap_put(&a->columns, hash, last);
	a->keys.items[last] = *key;
	a->hashes.items[last] = hash;
	a->greatest = 0;
	return last;
}

void acc_add(struct acc *a, const struct path *path)
{
	uint32_t cols[PATH_EDGES_MAX];
	struct member m = {.cell = moments_cell_of(&path->id),
			   .cnt = path->edge_cnt,
			   .took_ns = path->took_ns,
			   .cols = cols,
			   .total_ns = path->total_ns};

	BUG_ON(a->same);
	/* all, so that none that was given out before is emptied by the next */
	for (uint32_t i = 0; i < m.cnt; i++)
		reach_column(a, &path->keys[i], path->hashes[i]);
	for (uint32_t i = 0; i < m.cnt; i++)
		cols[i] = reach_column(a, &path->keys[i], path->hashes[i]);
	take_member(a, &m);
}

static void merge_raw(struct acc *to, const struct acc *from, const uint32_t *map)
{
	uint32_t cols[PATH_EDGES_MAX];

	for (size_t pos = 0; pos < from->raw.cnt;) {
		struct member m = raw_member(from, &pos, cols);

		for (uint32_t i = 0; i < m.cnt; i++)
			cols[i] = map[m.cols ? m.cols[i] : i];
		m.cols = cols;
		take_member(to, &m);
	}
}

void acc_merge(struct acc *to, const struct acc *from)
{
	uint32_t cnt = (uint32_t)from->keys.cnt;
	uint32_t *map = xmalloc((cnt + 1) * sizeof(*map));

	BUG_ON(to->same);
	for (uint32_t i = 0; i < cnt; i++)
		reach_column(to, &from->keys.items[i], from->hashes.items[i]);
	for (uint32_t i = 0; i < cnt; i++)
		map[i] = reach_column(to, &from->keys.items[i], from->hashes.items[i]);
	merge_raw(to, from, map);
	if (from->summed) {
		moments_merge(&to->moments, &from->moments, map);
		tails_merge(&to->tails, &from->tails, map);
		reach_hists(to);
		for (uint32_t i = 0; i < from->hist_cnt; i++)
			hist_merge(&to->hists[map[i]], &from->hists[i]);
		to->cnt += from->cnt - from->raw_cnt;
		to->summed = true;
	}
	free(map);
}

void acc_settle(struct acc *a)
{
	if (!a->summed || a->raw_cnt)
		sum_raw(a);
	vec_release(&a->raw);
	tails_sort(&a->tails);
	/* Columns that no member has are there too, as of a set without members. */
	reach_hists(a);
}

struct acc_sums acc_sums(const struct acc *a)
{
	struct acc_sums s = {.cnt = a->cnt};
	uint32_t cols[PATH_EDGES_MAX];

	for (size_t pos = 0; pos < a->raw.cnt;) {
		struct member m = raw_member(a, &pos, cols);

		s.total += (u128)m.total_ns;
		s.squares += (u128)m.total_ns * (u128)m.total_ns;
	}
	for (uint32_t g = 0; a->summed && g < MOMENTS_CELLS; g++) {
		s.total += a->moments.total[g].x;
		s.squares += a->moments.total[g].xt;
	}
	return s;
}

void acc_sums_add(struct acc_sums *to, const struct acc_sums *from)
{
	to->cnt += from->cnt;
	to->total += from->total;
	to->squares += from->squares;
}

/* About the whole part of the mean it is exact, see moments.c. */
long double acc_sums_squares(const struct acc_sums *s)
{
	u128 mean = s->cnt ? s->total / s->cnt : 0, left = s->total - mean * s->cnt;
	u128 squares = s->squares - 2 * mean * s->total + (u128)s->cnt * mean * mean;

	if (!s->cnt)
		return 0;
	return (long double)squares - (long double)left * (long double)left / (long double)s->cnt;
}

struct placed {
	uint32_t col;
	u128 begin;
	uint64_t cnt, hash;
};

static int by_place(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	/* means, to the nanosecond */
	CMP(x->begin / (x->cnt ? x->cnt : 1), y->begin / (y->cnt ? y->cnt : 1));
	CMP(x->hash, y->hash);
	return 0;
}

/* One exact path is in order as it is. */
const uint32_t *acc_order(const struct acc *a, struct arena *arena)
{
	uint32_t cnt = (uint32_t)a->keys.cnt;
	uint32_t *order = ARENA_ARRAY(arena, uint32_t, cnt + 1);
	struct placed *placed = xcalloc(cnt + 1, sizeof(*placed));

	for (uint32_t i = 0; i < cnt; i++) {
		const struct moments_column *c = &a->moments.columns[i];

		placed[i] = (struct placed){
			.col = i, .begin = c->begin, .cnt = c->cnt, .hash = a->hashes.items[i]};
	}
	if (!a->same)
		qsort(placed, cnt, sizeof(*placed), by_place);
	for (uint32_t i = 0; i < cnt; i++)
		order[i] = placed[i].col;
	free(placed);
	return order;
}
