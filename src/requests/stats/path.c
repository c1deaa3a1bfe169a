/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/stats/path.h"

#include "base/arena.h"
#include "base/hash.h"
#include "trace/points.h"
#include "requests/graph/critical.h"
#include "requests/stats/moments.h"

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

static bool same_edge(const struct cstep *a, const struct cstep *b)
{
	return a->point == b->point && a->kind == b->kind && a->owner_point == b->owner_point &&
	       (a - 1)->point == (b - 1)->point && (a - 1)->kind == (b - 1)->kind;
}

/* Slots of edges by what they are between: for one path, by numbers. */
struct kinds {
	uint32_t table[4 * PATH_EDGES_MAX];	/* slot and 1 */
	uint32_t firsts[PATH_EDGES_MAX];	/* step */
	uint32_t cnt;
};

/* The slot of the edge that ends at the step; a new one, or PATH_EDGES_MAX - 1: no room. */
static uint32_t slot_of(struct kinds *k, const struct cstep *steps, uint32_t step)
{
	const struct cstep *to = &steps[step], *from = to - 1;
	uint32_t mask = 4 * PATH_EDGES_MAX - 1;
	uint32_t at = (uint32_t)hash_pair(hash_pair((uint64_t)from->point << 2 | from->kind,
						    (uint64_t)to->point << 2 | to->kind),
					  to->owner_point) & mask;

	while (k->table[at] && !same_edge(&steps[k->firsts[k->table[at] - 1]], to))
		at = (at + 1) & mask;
	if (k->table[at])
		return k->table[at] - 1;
	if (k->cnt == PATH_EDGES_MAX - 1)
		return k->cnt;
	k->firsts[k->cnt++] = step;
	k->table[at] = k->cnt;
	return k->cnt - 1;
}

static void unite(const struct cpath *cpath, struct arena *arena, struct path *p)
{
	struct kinds *k = ARENA_NEW(arena, struct kinds);
	int64_t *took = ARENA_ARRAY(arena, int64_t, PATH_EDGES_MAX), left = MOMENTS_NS_MAX;

	for (uint32_t step = 1; step < cpath->step_cnt; step++) {
		uint32_t before = k->cnt, slot = slot_of(k, cpath->steps, step);
		int64_t ns = clip(cpath->steps[step].edge_ns, &left, &p->clipped);

		took[slot] += ns;
		p->total_ns += ns;
		p->folded_cnt += slot == PATH_EDGES_MAX - 1;
		p->united_cnt += slot < before;
	}
	p->took_ns = took;
	p->firsts = k->firsts;
	p->edge_cnt = k->cnt + (p->folded_cnt > 0);
}

void path_of(const struct trace_id *id, const struct cpath *cpath, struct arena *arena,
	     struct path *ret)
{
	uint32_t cnt = cpath->step_cnt ? cpath->step_cnt - 1 : 0;
	struct path p = {.id = *id, .id_hash = hash_pair(hash_u64(id->hi), id->lo)};
	int64_t *took, left = MOMENTS_NS_MAX;

	if (cnt > PATH_EDGES_MAX) {
		unite(cpath, arena, &p);
		*ret = p;
		return;
	}
	took = ARENA_ARRAY(arena, int64_t, cnt + 1);
	for (uint32_t i = 0; i < cnt; i++) {
		took[i] = clip(cpath->steps[i + 1].edge_ns, &left, &p.clipped);
		p.total_ns += took[i];
	}
	p.took_ns = took;
	p.edge_cnt = cnt;
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
		const struct cstep *to = &cpath->steps[path->firsts ? path->firsts[i] : i + 1];
		const struct cstep *from = to - 1;
		uint64_t base;

		if (path->folded_cnt && i == cnt - 1)
			break;

		keys[i] = (struct edge_key){.from = from->point,
					    .to = to->point,
					    .owner = to->owner_point,
					    .from_kind = from->kind,
					    .to_kind = to->kind};
		base = hash_pair(hash_of_point(points, from->point) + from->kind,
				 hash_of_point(points, to->point) + to->kind);
		base = hash_pair(base, hash_of_point(points, to->owner_point));
		keys[i].occurrence = path->firsts ? EDGE_ALL
						  : (uint16_t)count_up(table, seen, cap - 1, base);
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
