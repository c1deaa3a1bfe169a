/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/sig_gaps.h"

#include "base/arena.h"
#include "base/cmp.h"
#include "functions/norm.h"

_Static_assert(SIG_NO_CALL == SYM_NONE, "a symbol that is none");

static bool same_place(const struct sig_gap *a, const struct sig_gap *b)
{
	return a->before2 == b->before2 && a->before == b->before && a->after == b->after &&
	       a->bin == b->bin;
}

static uint64_t place_hash(uint32_t fn, const struct sig_gap *g)
{
	return hash_pair(fn, (uint64_t)g->bin << 48 | (uint64_t)g->before2 << 32 |
				     (uint64_t)g->before << 16 | g->after);
}

/* Both counts are joined as one value, as those of episodes are. */
static void join(struct sig_gap *to, const struct sig_gap *g)
{
	if (g->cnt < to->cnt || (g->cnt == to->cnt && g->self_cnt <= to->self_cnt))
		return;
	to->cnt = g->cnt;
	to->self_cnt = g->self_cnt;
}

/* The function's gap of that place; a new one counts nothing yet. */
static struct sig_gap *place_of(struct sig_gap_set *set, uint32_t fn, const struct sig_gap *gap)
{
	struct sig_gap empty = *gap;

	empty.cnt = empty.self_cnt = 0;
	for (uint64_t hash = place_hash(fn, gap);; hash++) {
		uint64_t *slot = hmap_slot(&set->by_hash, hash);

		if (!*slot) {
			vec_push(&set->gaps, ((struct fn_gap){fn, empty}));
			*slot = set->gaps.cnt;
		} else if (set->gaps.items[*slot - 1].fn != fn ||
			   !same_place(&set->gaps.items[*slot - 1].gap, gap)) {
			continue;
		}
		return &set->gaps.items[*slot - 1].gap;
	}
}

void sig_gaps_add(struct sig_gap_set *set, uint32_t fn, const struct sig_gap *gap)
{
	join(place_of(set, fn, gap), gap);
}

void sig_gaps_count(struct sig_gap_set *set, uint32_t fn, const struct sig_gap *gap)
{
	struct sig_gap *to = place_of(set, fn, gap);

	to->cnt += gap->cnt;
	to->self_cnt += gap->self_cnt;
}

void sig_gaps_release(struct sig_gap_set *set)
{
	vec_release(&set->gaps);
	hmap_release(&set->by_hash);
}

static bool symbol_into(uint16_t *sym, const uint16_t *map)
{
	if (*sym == SIG_NO_CALL)
		return true;
	*sym = map[*sym];
	return *sym != SYM_NONE;
}

bool sig_gap_into(struct sig_gap *gap, const uint16_t *map)
{
	return symbol_into(&gap->before2, map) && symbol_into(&gap->before, map) &&
	       symbol_into(&gap->after, map);
}

void sig_gaps_renumber(struct sig_gap_set *set, const uint32_t *map)
{
	VEC_FOREACH(&set->gaps, g)
		g->fn = map[g->fn];
}

static int by_fn_and_cnt(const void *pa, const void *pb)
{
	const struct fn_gap *a = pa, *b = pb;

	CMP(a->fn, b->fn);
	CMP(b->gap.cnt, a->gap.cnt);
	CMP(b->gap.self_cnt, a->gap.self_cnt);
	CMP(a->gap.before2, b->gap.before2);
	CMP(a->gap.before, b->gap.before);
	CMP(a->gap.after, b->gap.after);
	CMP(a->gap.bin, b->gap.bin);
	return 0;
}

uint64_t sig_gaps_finish(struct sig_gap_set *set, const uint16_t *map, struct sigs *s,
			 struct arena *arena)
{
	struct sig_gap *gaps = ARENA_ARRAY(arena, struct sig_gap, set->gaps.cnt + 1);
	uint64_t left_out_cnt = 0;
	size_t cnt = 0;

	VEC_FOREACH(&set->gaps, g)
		sig_gap_into(&g->gap, map);
	vec_sort(&set->gaps, by_fn_and_cnt);
	VEC_FOREACH(&set->gaps, g) {
		struct sig_fn *fn = g->fn < s->fn_cnt ? &s->fns[g->fn] : NULL;

		if (!fn || fn->gap_cnt == SIG_GAPS_MAX) {
			left_out_cnt++;
			continue;
		}
		gaps[cnt] = g->gap;
		if (fn->gap_cnt++ == 0)
			fn->gaps = &gaps[cnt];
		cnt++;
	}
	return left_out_cnt;
}
