/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/sig/sig_contexts.h"

#include <string.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "functions/units/normalize.h"

_Static_assert(SIG_NO_CALL == SYM_NONE, "a symbol that is none");

bool sig_place_same(const struct sig_place *a, const struct sig_place *b)
{
	return a->what == b->what && a->bin == b->bin &&
	       memcmp(a->around, b->around, sizeof(a->around)) == 0;
}

uint64_t sig_place_hash(const struct sig_place *p)
{
	return hash_bytes(p->around, sizeof(p->around)) ^
	       hash_u64((uint64_t)p->bin << 16 | p->what);
}

static int counts_cmp(const struct sig_place *a, const struct sig_place *b)
{
	CMP(a->cnt, b->cnt);
	CMP(a->self_cnt, b->self_cnt);
	CMP(a->near_sum, b->near_sum);
	return 0;
}

/* The counts are joined as one value, as those of episodes are. */
static void join(struct sig_place *to, const struct sig_place *p)
{
	if (counts_cmp(p, to) > 0)
		*to = *p;
}

/* The function's entry for that place; a new one counts nothing yet. */
static struct sig_place *entry_of(struct sig_place_set *set, uint32_t fn,
				  const struct sig_place *place)
{
	struct sig_place empty = *place;

	empty.cnt = empty.self_cnt = empty.near_sum = 0;
	for (uint64_t hash = hash_pair(fn, sig_place_hash(place));; hash++) {
		uint64_t *slot = hmap_slot(&set->by_hash, hash);

		if (!*slot) {
			vec_push(&set->places, ((struct fn_place){fn, empty}));
			*slot = set->places.cnt;
		} else if (set->places.items[*slot - 1].fn != fn ||
			   !sig_place_same(&set->places.items[*slot - 1].place, place)) {
			continue;
		}
		return &set->places.items[*slot - 1].place;
	}
}

void sig_places_add(struct sig_place_set *set, uint32_t fn, const struct sig_place *place)
{
	join(entry_of(set, fn, place), place);
}

void sig_places_count(struct sig_place_set *set, uint32_t fn, const struct sig_place *place)
{
	struct sig_place *to = entry_of(set, fn, place);

	to->cnt += place->cnt;
	to->self_cnt += place->self_cnt;
	to->near_sum += place->near_sum;
}

void sig_places_release(struct sig_place_set *set)
{
	vec_release(&set->places);
	hmap_release(&set->by_hash);
}

bool sig_place_into(struct sig_place *place, const uint16_t *map)
{
	for (unsigned i = 0; i < SIG_AROUND_CNT; i++) {
		if (place->around[i] == SIG_NO_CALL)
			continue;
		place->around[i] = map[place->around[i]];
		if (place->around[i] == SYM_NONE)
			return false;
	}
	return true;
}

void sig_places_renumber(struct sig_place_set *set, const uint32_t *map)
{
	VEC_FOREACH(&set->places, p)
		p->fn = map[p->fn];
}

static int by_fn_and_cnt(const void *pa, const void *pb)
{
	const struct fn_place *a = pa, *b = pb;
	int counts = counts_cmp(&b->place, &a->place);

	CMP(a->fn, b->fn);
	CMP(counts, 0);
	for (unsigned i = 0; i < SIG_AROUND_CNT; i++)
		CMP(a->place.around[i], b->place.around[i]);
	CMP(a->place.what, b->place.what);
	CMP(a->place.bin, b->place.bin);
	return 0;
}

uint64_t sig_places_finish(struct sig_place_set *set, const uint16_t *map, struct sigs *s,
			   struct arena *arena)
{
	struct sig_place *places = ARENA_ARRAY(arena, struct sig_place, set->places.cnt + 1);
	uint64_t left_out_cnt = 0;
	size_t cnt = 0;

	VEC_FOREACH(&set->places, p)
		sig_place_into(&p->place, map);
	vec_sort(&set->places, by_fn_and_cnt);
	VEC_FOREACH(&set->places, p) {
		struct sig_fn *fn = p->fn < s->fn_cnt ? &s->fns[p->fn] : NULL;

		if (!fn || fn->place_cnt == SIG_PLACES_MAX) {
			left_out_cnt++;
			continue;
		}
		places[cnt] = p->place;
		if (fn->place_cnt++ == 0)
			fn->places = &places[cnt];
		cnt++;
	}
	return left_out_cnt;
}
