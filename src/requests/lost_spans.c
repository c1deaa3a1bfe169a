/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of one root those paths are kept whose hashes are the lowest, as many as
 * have room; where one has none, none with a higher hash is kept either, so
 * that what is kept is the same in whatever order they come.  It is seen to
 * only when twice the room is taken: sorting for each path would cost more
 * than all else.
 */
#include "requests/lost_spans.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/vec.h"
#include "trace/trace.h"
#include "requests/graph/critical.h"

enum { SLOT_STEPS = 64, KIND_BITS = 2 };

_Static_assert(STRETCHES_STEPS_MAX / SLOT_STEPS <= STRETCHES_SLOTS / STRETCHES_ROOTS_MAX,
	       "the longest path has room with the most roots");

struct step {
	uint64_t at_ns;		/* from the path's begin */
	uint32_t point;
	uint32_t owner_kind;	/* who ran before it (a span's index), and enum node_kind */
};

struct kept {
	uint64_t hash;
	struct step *steps;
	uint32_t step_cnt;
};

struct root {
	VEC(struct kept) kept;
	uint64_t slot_cnt;	/* that they take */
	uint64_t seen_cnt;
	uint64_t cut;		/* no hash from here on is kept; 0: all are */
};

struct pool {
	uint16_t at[STRETCHES_ROOTS_MAX]; /* index + 1 in roots, by hash of the root */
	VEC(struct root) roots;
};

struct stretches {
	struct pool pools[EDGE_RANK_SIDES];
};

struct stretches *stretches_new(void)
{
	return xcalloc(1, sizeof(struct stretches));
}

void stretches_free(struct stretches *s)
{
	if (!s)
		return;
	for (int side = 0; side < EDGE_RANK_SIDES; side++) {
		VEC_FOREACH(&s->pools[side].roots, root) {
			VEC_FOREACH(&root->kept, k)
				free(k->steps);
			vec_release(&root->kept);
		}
		vec_release(&s->pools[side].roots);
	}
	free(s);
}

/* ---- keeping */

static uint64_t slots_of(uint32_t step_cnt)
{
	return (step_cnt + SLOT_STEPS - 1) / SLOT_STEPS;
}

/* The power of two above their number divides the room: it changes seldom. */
static uint64_t room_of(const struct pool *p)
{
	uint64_t room = STRETCHES_SLOTS;

	for (size_t roots = 1; roots < p->roots.cnt; roots *= 2)
		room /= 2;
	return room;
}

static int by_hash(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	CMP(x->hash, y->hash);
	return 0;
}

static void trim(struct root *root, uint64_t room)
{
	size_t cnt = 0;

	if (root->slot_cnt <= room)
		return;
	vec_sort(&root->kept, by_hash);
	root->slot_cnt = 0;
	while (root->slot_cnt + slots_of(root->kept.items[cnt].step_cnt) <= room)
		root->slot_cnt += slots_of(root->kept.items[cnt++].step_cnt);
	root->cut = root->kept.items[cnt].hash;
	while (root->kept.cnt > cnt)
		free(root->kept.items[--root->kept.cnt].steps);
}

/* Which share a place goes by their hashes, not by which of them came first. */
static struct root *root_of(struct pool *p, uint64_t hash)
{
	uint16_t *at = &p->at[hash % STRETCHES_ROOTS_MAX];

	if (*at)
		return &p->roots.items[*at - 1];
	(void)vec_add(&p->roots);
	*at = (uint16_t)p->roots.cnt;
	VEC_FOREACH(&p->roots, root)
		trim(root, room_of(p));
	return vec_last(&p->roots);
}

static struct step *steps_dup(const struct cpath *path)
{
	struct step *steps = xcalloc(path->step_cnt, sizeof(*steps));
	uint64_t at_ns = 0;

	for (uint32_t i = 0; i < path->step_cnt; i++) {
		const struct cstep *from = &path->steps[i];

		at_ns += from->edge_ns > 0 ? (uint64_t)from->edge_ns : 0;
		steps[i] = (struct step){at_ns, from->point, from->owner << KIND_BITS | from->kind};
	}
	return steps;
}

void stretches_add(struct stretches *s, enum edge_rank_side side, const struct trace_id *id,
		   uint64_t root_hash, const struct cpath *path)
{
	uint64_t hash = hash_pair(hash_pair(hash_u64(id->hi), id->lo), path->hash);
	struct pool *p = &s->pools[side];
	struct root *root;

	if (path->step_cnt < 2 || path->step_cnt > STRETCHES_STEPS_MAX)
		return;
	root = root_of(p, root_hash);
	root->seen_cnt++;
	if (root->cut && hash >= root->cut)
		return;
	vec_push(&root->kept, ((struct kept){hash, steps_dup(path), path->step_cnt}));
	root->slot_cnt += slots_of(path->step_cnt);
	if (root->slot_cnt > 2 * room_of(p))
		trim(root, room_of(p));
}

/* ---- telling */

struct telling {
	void (*take)(void *ctx, const struct stretch *stretch);
	void *ctx;
	const struct step *steps;
	uint64_t all[STRETCHES_STEPS_MAX];	/* edges by owner, then by the step at their end */
	const uint64_t *edges;	/* of them one owner's */
	uint64_t weight;
};

static bool same_event(const struct step *a, const struct step *b)
{
	uint32_t mask = (1 << KIND_BITS) - 1;

	return a->point == b->point && (a->owner_kind & mask) == (b->owner_kind & mask);
}

static struct edge_rank_end end_of(const struct step *s)
{
	return (struct edge_rank_end){s->point, s->owner_kind & ((1 << KIND_BITS) - 1)};
}

static const struct step *edge_to(const struct telling *t, uint32_t edge)
{
	return &t->steps[(uint32_t)t->edges[edge]];
}

/* An edge of the same event as before it, or itself: this one is no longer the first. */
static bool was_before(const struct telling *t, uint32_t first, uint32_t edge)
{
	for (uint32_t i = first; i < edge; i++)
		if (same_event(edge_to(t, i), edge_to(t, edge)))
			return true;
	return false;
}

/* All that begin with the edge and end with a later one. */
static void tell_from(const struct telling *t, uint32_t first, uint32_t cnt)
{
	const struct step *from = edge_to(t, first) - 1;

	for (uint32_t i = first + 1; i < cnt && i < first + STRETCHES_EDGES_MAX; i++) {
		const struct step *to = edge_to(t, i);
		struct stretch s = {end_of(from), end_of(to), to->at_ns - from->at_ns, t->weight};

		if (same_event(to - 1, from))
			break;
		if (!was_before(t, first, i))
			t->take(t->ctx, &s);
	}
}

static int by_number(const void *a, const void *b)
{
	CMP(*(const uint64_t *)a, *(const uint64_t *)b);
	return 0;
}

static void tell_path(struct telling *t, const struct kept *k)
{
	uint64_t *edges = t->all;
	uint32_t cnt = k->step_cnt - 1;

	for (uint32_t i = 0; i < cnt; i++)
		edges[i] = (uint64_t)(k->steps[i + 1].owner_kind >> KIND_BITS) << 32 | (i + 1);
	qsort(edges, cnt, sizeof(*edges), by_number);
	t->steps = k->steps;
	for (uint32_t i = 0, end; i < cnt; i = end) {
		for (end = i + 1; end < cnt && edges[end] >> 32 == edges[i] >> 32;)
			end++;
		t->edges = edges + i;
		for (uint32_t first = 0; first < end - i; first++)
			tell_from(t, first, end - i);
	}
}

void stretches_each(struct stretches *s, enum edge_rank_side side,
		    void (*take)(void *ctx, const struct stretch *stretch), void *ctx)
{
	struct telling t;

	t.take = take;
	t.ctx = ctx;
	VEC_FOREACH(&s->pools[side].roots, root) {
		trim(root, room_of(&s->pools[side]));
		if (!root->kept.cnt)
			continue;
		t.weight = (root->seen_cnt + root->kept.cnt / 2) / root->kept.cnt;
		VEC_FOREACH(&root->kept, k)
			tell_path(&t, k);
	}
}
