/* SPDX-License-Identifier: Apache-2.0 */
/* Baselines in a signature: sorted, and mapped to other symbols. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "functions/sig/sig_int.h"

static int by_sym(const void *a, const void *b)
{
	return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

static int dim_by_sym(const void *a, const void *b)
{
	return (int)((const struct sig_dim *)a)->sym - (int)((const struct sig_dim *)b)->sym;
}

static int key_cmp(const struct sig_base *a, const struct sig_base *b)
{
	CMP(a->key_cnt, b->key_cnt);
	for (uint32_t i = 0; i < a->key_cnt; i++)
		CMP(a->key[i], b->key[i]);
	return 0;
}

static int dim_cmp(const struct sig_dim *a, const struct sig_dim *b)
{
	const double x[] = {a->cnt_mid, a->cnt_dev, a->ns_mid, a->ns_dev};
	const double y[] = {b->cnt_mid, b->cnt_dev, b->ns_mid, b->ns_dev};

	CMP(a->sym, b->sym);
	for (unsigned i = 0; i < 4; i++)
		if (x[i] < y[i] || x[i] > y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* Puts the one to keep first among those of one key, whatever order they were given in. */
static int base_cmp(const void *pa, const void *pb)
{
	const struct sig_base *a = pa, *b = pb;
	int order = key_cmp(a, b);

	if (order)
		return order;
	CMP(b->unit_cnt, a->unit_cnt);
	CMP(b->dim_cnt, a->dim_cnt);
	for (uint32_t i = 0; i < a->dim_cnt && order == 0; i++)
		order = dim_cmp(&a->dims[i], &b->dims[i]);
	return order;
}

static void base_map(struct sig_base *base, const uint16_t *map, struct arena *arena)
{
	uint16_t *key = ARENA_ARRAY(arena, uint16_t, (size_t)base->key_cnt + 1);
	struct sig_dim *dims = ARENA_ARRAY(arena, struct sig_dim, (size_t)base->dim_cnt + 1);

	for (uint32_t i = 0; i < base->key_cnt; i++)
		key[i] = map[base->key[i]];
	for (uint32_t i = 0; i < base->dim_cnt; i++) {
		dims[i] = base->dims[i];
		dims[i].sym = map[dims[i].sym];
	}
	qsort(key, base->key_cnt, sizeof(*key), by_sym);
	qsort(dims, base->dim_cnt, sizeof(*dims), dim_by_sym);
	base->key = key;
	base->dims = dims;
}

void sig_bases_finish(struct sigs *s, struct sig_base *raw, size_t cnt, const uint16_t *map,
		      struct arena *arena)
{
	for (size_t i = 0; i < cnt; i++)
		base_map(&raw[i], map, arena);
	if (cnt > 1)
		qsort(raw, cnt, sizeof(*raw), base_cmp);
	s->bases = ARENA_ARRAY(arena, struct sig_base, cnt + 1);
	for (size_t i = 0; i < cnt; i++) {
		if (i && key_cmp(&raw[i], &s->bases[s->base_cnt - 1]) == 0)
			continue;
		if (s->base_cnt == SIG_BASES_MAX) {
			s->left_out_cnt++;
			break;
		}
		s->bases[s->base_cnt++] = raw[i];
	}
}
