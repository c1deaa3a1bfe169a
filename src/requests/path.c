/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/path.h"

#include "base/arena.h"
#include "base/hash.h"
#include "model/points.h"
#include "requests/critical.h"
#include "requests/moments.h"

uint64_t path_other_hash(void)
{
	return hash_pair(REQUEST_POINT_NONE, REQUEST_POINT_NONE);
}

/* Cut so that the whole path stays in bounds: what is left of them is *left. */
static int64_t clip(int64_t took_ns, int64_t *left, bool *ret_clipped)
{
	int64_t kept = took_ns < 0 ? 0 : took_ns > *left ? *left : took_ns;

	if (kept != took_ns)
		*ret_clipped = true;
	*left -= kept;
	return kept;
}

void path_of(const struct trace_id *id, const struct cpath *cpath, struct arena *arena,
	     struct path *ret)
{
	uint32_t edges = cpath->step_cnt ? cpath->step_cnt - 1 : 0;
	uint32_t cnt = edges < PATH_EDGES_MAX ? edges : PATH_EDGES_MAX;
	int64_t *took = ARENA_ARRAY(arena, int64_t, cnt + 1), left = MOMENTS_NS_MAX;
	struct path p = {.id = *id, .took_ns = took, .edge_cnt = cnt};

	for (uint32_t i = 0; i < edges; i++) {
		int64_t ns = clip(cpath->steps[i + 1].edge_ns, &left, &p.clipped);

		took[i < cnt ? i : cnt - 1] += ns;
		p.total_ns += ns;
	}
	p.id_hash = hash_pair(hash_u64(id->hi), id->lo);
	p.folded_cnt = edges > cnt ? edges - cnt + 1 : 0;
	*ret = p;
}

static uint64_t hash_of_point(const struct points *points, uint32_t point)
{
	return points->items.items[point].hash;
}

/* How often base was there before. */
static uint32_t count_up(uint64_t *table, uint32_t *seen, uint32_t mask, uint64_t base)
{
	uint32_t i = (uint32_t)base & mask;

	while (seen[i] && table[i] != base)
		i = (i + 1) & mask;
	table[i] = base;
	return seen[i]++;
}

void path_name_edges(struct path *path, const struct cpath *cpath, const struct points *points,
		     struct arena *arena)
{
	uint32_t cnt = path->edge_cnt, cap = 8;
	struct edge_key *keys = ARENA_ARRAY(arena, struct edge_key, cnt + 1);
	uint64_t *hashes = ARENA_ARRAY(arena, uint64_t, cnt + 1), *table;
	uint32_t *seen;

	while (cap < 2 * cnt)
		cap *= 2;
	table = ARENA_ARRAY(arena, uint64_t, cap);
	seen = ARENA_ARRAY(arena, uint32_t, cap);
	for (uint32_t i = 0; i < cnt; i++) {
		const struct cstep *from = &cpath->steps[i], *to = from + 1;
		uint64_t base;

		keys[i] = (struct edge_key){.from = from->point,
					    .to = to->point,
					    .owner = to->owner_point,
					    .from_kind = from->kind,
					    .to_kind = to->kind};
		base = hash_pair(hash_of_point(points, from->point) + from->kind,
				 hash_of_point(points, to->point) + to->kind);
		base = hash_pair(base, hash_of_point(points, to->owner_point));
		keys[i].occurrence = (uint16_t)count_up(table, seen, cap - 1, base);
		hashes[i] = hash_pair(base, keys[i].occurrence);
	}
	if (path->folded_cnt) {
		keys[cnt - 1] = (struct edge_key){.from = REQUEST_POINT_NONE,
						  .to = REQUEST_POINT_NONE,
						  .owner = REQUEST_POINT_NONE};
		hashes[cnt - 1] = path_other_hash();
	}
	path->keys = keys;
	path->hashes = hashes;
}
