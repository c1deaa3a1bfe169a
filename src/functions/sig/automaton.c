/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trie of all episodes, a link from each state to the longest other
 * suffix that is one, and per state the list of episodes that end there (at
 * most EPISODE_LEN_MAX, since their lengths differ).  Symbols that no episode
 * has are one class, which leads to state 0 from everywhere; the others are
 * numbered densely, so that a row is as long as there are calls in use.
 */
#include "functions/sig/automaton.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "functions/sig/episodes.h"
#include "functions/units/normalize.h"

#define HAS_OUT (1u << 31)	/* in a dense row: an episode ends in the state it leads to */

struct automaton {
	uint16_t class_of[UINT16_MAX + 1]; /* by symbol, 0: in no episode */
	uint32_t class_cnt;	/* with class 0 */
	uint32_t state_cnt;
	uint32_t *rows;		/* dense: state * class_cnt + class */
	struct hmap edges;	/* compact: key() to state */
	uint32_t *fail;		/* by state */
	uint32_t *out_first;	/* by state, one more at the end */
	uint32_t *outs;
	size_t out_cap;
};

static uint64_t key(uint32_t state, uint16_t cls)
{
	return (uint64_t)state << 16 | cls;
}

/* The state an edge of the trie leads to, 0: none does. */
static uint32_t edge(const struct automaton *a, uint32_t state, uint16_t cls)
{
	uint64_t *to = hmap_find(&a->edges, key(state, cls));

	return to ? (uint32_t)*to : 0;
}

static uint32_t next_compact(const struct automaton *a, uint32_t state, uint16_t cls)
{
	uint32_t to;

	if (cls == 0)
		return 0;
	while ((to = edge(a, state, cls)) == 0 && state)
		state = a->fail[state];
	return to;
}

static uint16_t mapped(const struct episode *e, unsigned i, const uint16_t *nr_of)
{
	return nr_of ? nr_of[e->syms[i]] : e->syms[i];
}

static bool usable(const struct episode *e, const uint16_t *nr_of)
{
	for (unsigned i = 0; i < e->len; i++)
		if (mapped(e, i, nr_of) == SYM_NONE)
			return false;
	return e->len > 0;
}

/* ends: by state, an episode that ends there plus one; grown as states are. */
struct trie {
	VEC(uint32_t) ends;
	VEC(uint16_t) cls;	/* by state: of the edge to it */
	VEC(uint32_t) parent;
	VEC(uint8_t) depth;
};

static uint32_t trie_add(struct automaton *a, struct trie *t, uint32_t state, uint16_t cls)
{
	uint64_t *to = hmap_slot(&a->edges, key(state, cls));

	if (*to == 0) {
		vec_push(&t->ends, 0);
		vec_push(&t->cls, cls);
		vec_push(&t->parent, state);
		vec_push(&t->depth, (uint8_t)(t->depth.items[state] + 1));
		*to = a->state_cnt++;
	}
	return (uint32_t)*to;
}

static void trie_make(struct automaton *a, struct trie *t, const struct episode *eps,
		      uint32_t cnt, const uint16_t *nr_of)
{
	a->state_cnt = a->class_cnt = 1;
	vec_push(&t->ends, 0);
	vec_push(&t->cls, 0);
	vec_push(&t->parent, 0);
	vec_push(&t->depth, 0);
	for (uint32_t e = 0; e < cnt; e++) {
		uint32_t state = 0;

		if (!usable(&eps[e], nr_of))
			continue;
		for (unsigned i = 0; i < eps[e].len; i++) {
			uint16_t *cls = &a->class_of[mapped(&eps[e], i, nr_of)];

			if (*cls == 0)
				*cls = (uint16_t)a->class_cnt++;
			state = trie_add(a, t, state, *cls);
		}
		t->ends.items[state] = e + 1;
	}
}

/* States by depth: what a state's link leads to is shallower and comes before. */
static uint32_t *by_depth(const struct trie *t, uint32_t cnt)
{
	uint32_t *order = xcalloc(cnt, sizeof(*order)), at = 0;
	uint32_t begin[EPISODE_LEN_MAX + 2] = {0};

	for (uint32_t s = 0; s < cnt; s++)
		begin[t->depth.items[s] + 1]++;
	for (unsigned d = 0; d <= EPISODE_LEN_MAX; d++) {
		at += begin[d];
		begin[d] = at;
	}
	for (uint32_t s = 0; s < cnt; s++)
		order[begin[t->depth.items[s]]++] = s;
	return order;
}

static void links_make(struct automaton *a, const struct trie *t, const uint32_t *order)
{
	a->fail = xcalloc(a->state_cnt, sizeof(*a->fail));
	for (uint32_t i = 0; i < a->state_cnt; i++) {
		uint32_t s = order[i];

		if (t->depth.items[s] > 1)
			a->fail[s] = next_compact(a, a->fail[t->parent.items[s]],
						  t->cls.items[s]);
	}
}

/* At most one of each length ends in a state, so the list is short. */
static void outs_make(struct automaton *a, const struct trie *t)
{
	VEC(uint32_t) outs = {0};

	a->out_first = xcalloc((size_t)a->state_cnt + 1, sizeof(*a->out_first));
	for (uint32_t s = 0; s < a->state_cnt; s++) {
		a->out_first[s] = (uint32_t)outs.cnt;
		for (uint32_t at = s; at; at = a->fail[at])
			if (t->ends.items[at])
				vec_push(&outs, t->ends.items[at] - 1);
	}
	a->out_first[a->state_cnt] = (uint32_t)outs.cnt;
	a->outs = outs.items;
	a->out_cap = outs.cap;
}

static bool has_out(const struct automaton *a, uint32_t s)
{
	return a->out_first[s + 1] > a->out_first[s];
}

static void rows_make(struct automaton *a, const uint32_t *order)
{
	size_t width = a->class_cnt;

	a->rows = xcalloc((size_t)a->state_cnt * width, sizeof(*a->rows));
	for (uint32_t i = 0; i < a->state_cnt; i++) {
		uint32_t s = order[i], *row = &a->rows[s * width];
		const uint32_t *other = &a->rows[a->fail[s] * width];

		for (uint32_t c = 1; c < width; c++) {
			uint32_t to = edge(a, s, (uint16_t)c);

			if (to)
				row[c] = to | (has_out(a, to) ? HAS_OUT : 0);
			else if (s)
				row[c] = other[c];
		}
	}
	hmap_release(&a->edges);
}

struct automaton *automaton_new(const struct episode *eps, uint32_t cnt, const uint16_t *nr_of,
				size_t dense_max)
{
	struct automaton *a = xcalloc(1, sizeof(*a));
	struct trie t = {0};
	uint32_t *order;

	BUG_ON(cnt > (HAS_OUT - 1) / EPISODE_LEN_MAX);
	trie_make(a, &t, eps, cnt, nr_of);
	order = by_depth(&t, a->state_cnt);
	links_make(a, &t, order);
	outs_make(a, &t);
	if ((size_t)a->state_cnt * a->class_cnt <= (dense_max ? dense_max : AUTOMATON_DENSE))
		rows_make(a, order);
	free(order);
	vec_release(&t.ends);
	vec_release(&t.cls);
	vec_release(&t.parent);
	vec_release(&t.depth);
	return a;
}

void automaton_free(struct automaton *a)
{
	if (!a)
		return;
	free(a->rows);
	free(a->fail);
	free(a->out_first);
	free(a->outs);
	hmap_release(&a->edges);
	free(a);
}

uint32_t automaton_step(const struct automaton *a, uint32_t state, uint16_t sym)
{
	uint16_t cls = a->class_of[sym];

	if (a->rows)
		return a->rows[(size_t)state * a->class_cnt + cls] & ~HAS_OUT;
	return next_compact(a, state, cls);
}

size_t automaton_out(const struct automaton *a, uint32_t state, const uint32_t **ret_ids)
{
	*ret_ids = a->outs + a->out_first[state];
	return a->out_first[state + 1] - a->out_first[state];
}

static uint64_t report(const struct automaton *a, uint32_t state, size_t end,
		       automaton_match *match, void *ctx)
{
	const uint32_t *ids;
	size_t cnt = automaton_out(a, state, &ids);

	for (size_t i = 0; match && i < cnt; i++)
		match(ctx, ids[i], end);
	return cnt;
}

static uint64_t run_dense(const struct automaton *a, const uint16_t *syms, size_t cnt,
			  automaton_match *match, void *ctx)
{
	size_t width = a->class_cnt;
	uint32_t state = 0;
	uint64_t found = 0;

	for (size_t i = 0; i < cnt; i++) {
		state = a->rows[(state & ~HAS_OUT) * width + a->class_of[syms[i]]];
		if (state & HAS_OUT)
			found += report(a, state & ~HAS_OUT, i, match, ctx);
	}
	return found;
}

uint64_t automaton_run(const struct automaton *a, const uint16_t *syms, size_t cnt,
		       automaton_match *match, void *ctx)
{
	uint32_t state = 0;
	uint64_t found = 0;

	if (a->rows)
		return run_dense(a, syms, cnt, match, ctx);
	for (size_t i = 0; i < cnt; i++) {
		state = next_compact(a, state, a->class_of[syms[i]]);
		if (has_out(a, state))
			found += report(a, state, i, match, ctx);
	}
	return found;
}

size_t automaton_bytes(const struct automaton *a)
{
	return sizeof(*a) + (size_t)a->state_cnt * 2 * sizeof(uint32_t) +
	       a->out_cap * sizeof(*a->outs) + a->edges.cap * (sizeof(struct hmap_entry) + 1) +
	       (a->rows ? (size_t)a->state_cnt * a->class_cnt * sizeof(*a->rows) : 0);
}
