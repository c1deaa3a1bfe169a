/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of a function's episodes make its signature.  What says little is left
 * out: an episode inside a longer one that was seen as often; one that more
 * than half of all functions have, when the function has a rarer one.  Of the
 * rest the SIG_CHOSEN_MAX with the largest specificity times share of the
 * function's invocations stay.
 *
 * Two builds of a module have the same functions for this: merging the
 * signatures of an old and a new build must not make each look half as
 * specific.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cmp.h"
#include "functions/sig/automaton.h"
#include "functions/sig/sig_int.h"

/* In more functions than this share: says little (one of the pruning rules). */
static const double common_share = 0.5;

static const char *module_name(const struct sigs *s, const struct sig_fn *fn)
{
	return fn->module == SIG_NO_MODULE ? "" : s->modules[fn->module].name;
}

static int fn_cmp(const struct sigs *s, uint32_t a, uint32_t b)
{
	int order = strcmp(module_name(s, &s->fns[a]), module_name(s, &s->fns[b]));

	return order ? order : strcmp(s->fns[a].name, s->fns[b].name);
}

static int by_name(const void *a, const void *b, void *ctx)
{
	return fn_cmp(ctx, *(const uint32_t *)a, *(const uint32_t *)b);
}

struct having {
	struct sigs *s;
	uint32_t *seen;		/* by episode: number of the last function that has it */
	uint32_t number;
};

static void has_episode(void *ctx, uint32_t id, size_t end)
{
	struct having *h = ctx;

	(void)end;
	if (h->seen[id] == h->number)
		return;
	h->seen[id] = h->number;
	h->s->having[id]++;
}

/* Returns how many functions there are that have any. */
static uint32_t count_having(struct sigs *s)
{
	struct automaton *a = automaton_new(s->episodes, s->episode_cnt, NULL, 0);
	uint32_t *order = xcalloc((size_t)s->fn_cnt + 1, sizeof(*order)), last = UINT32_MAX;
	struct having h = {.s = s, .seen = xcalloc((size_t)s->episode_cnt + 1, sizeof(*h.seen))};

	for (uint32_t i = 0; i < s->fn_cnt; i++)
		order[i] = i;
	qsort_r(order, s->fn_cnt, sizeof(*order), by_name, s);
	for (uint32_t i = 0; i < s->fn_cnt; i++) {
		const struct sig_fn *fn = &s->fns[order[i]];

		if (fn->all_cnt == 0)
			continue;
		if (last == UINT32_MAX || fn_cmp(s, last, order[i]) != 0)
			h.number++;
		last = order[i];
		for (uint32_t k = 0; k < fn->all_cnt; k++) {
			const struct episode *ep = &s->episodes[fn->eps[k].id];

			automaton_run(a, ep->syms, ep->len, has_episode, &h);
		}
	}
	free(order);
	free(h.seen);
	automaton_free(a);
	return h.number;
}

static bool is_inside(const struct episode *small, const struct episode *big)
{
	for (unsigned at = 0; at + small->len <= big->len; at++)
		if (memcmp(big->syms + at, small->syms, small->len * sizeof(*small->syms)) == 0)
			return true;
	return false;
}

struct candidate {
	struct sig_ep ep;
	double score;
	uint32_t place;		/* among all */
	uint8_t out;
};

static int by_score(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->out != b->out)
		return a->out ? 1 : -1;
	if (!a->out && (a->score > b->score || a->score < b->score))
		return a->score > b->score ? -1 : 1;
	return a->place < b->place ? -1 : 1;
}

static bool is_common(const struct sigs *s, uint32_t id, uint32_t fn_cnt)
{
	return s->having[id] > common_share * fn_cnt;
}

/* Marks what is redundant; cands are by support, so equal ones are neighbours. */
static void mark_inner(const struct sigs *s, struct candidate *c, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		for (uint32_t k = i; k-- > 0 && c[k].ep.support == c[i].ep.support && !c[i].out;)
			c[i].out = is_inside(&s->episodes[c[i].ep.id], &s->episodes[c[k].ep.id]);
}

static void mark_common(const struct sigs *s, struct candidate *c, uint32_t cnt, uint32_t fn_cnt)
{
	bool rarer = false;

	for (uint32_t i = 0; i < cnt; i++)
		rarer = rarer || (!c[i].out && !is_common(s, c[i].ep.id, fn_cnt));
	for (uint32_t i = 0; rarer && i < cnt; i++)
		c[i].out = c[i].out || is_common(s, c[i].ep.id, fn_cnt);
}

static void choose(struct sigs *s, struct sig_fn *fn, uint32_t fn_cnt, struct arena *arena)
{
	struct candidate c[SIG_EPS_MAX];
	struct sig_ep *eps = ARENA_ARRAY(arena, struct sig_ep, (size_t)fn->all_cnt + 1);
	double invocations = fn->invocations ? (double)fn->invocations : 1;

	for (uint32_t i = 0; i < fn->all_cnt; i++)
		c[i] = (struct candidate){
			.ep = fn->eps[i], .place = i,
			.score = s->specificity[fn->eps[i].id] *
				 ((double)fn->eps[i].support / invocations)};
	mark_inner(s, c, fn->all_cnt);
	mark_common(s, c, fn->all_cnt, fn_cnt);
	qsort(c, fn->all_cnt, sizeof(*c), by_score);
	for (uint32_t i = 0; i < fn->all_cnt; i++) {
		eps[i] = c[i].ep;
		if (!c[i].out && i < SIG_CHOSEN_MAX) {
			fn->ep_cnt++;
			s->chosen[eps[i].id] = 1;
		}
	}
	fn->eps = eps;
}

/* ---- groups */

struct member {
	uint32_t fn, cnt;
	uint32_t ids[SIG_CHOSEN_MAX]; /* ascending */
};

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int set_cmp(const struct member *a, const struct member *b)
{
	CMP(a->cnt, b->cnt);
	for (uint32_t i = 0; i < a->cnt; i++)
		CMP(a->ids[i], b->ids[i]);
	return 0;
}

static int by_set(const void *pa, const void *pb)
{
	const struct member *a = pa, *b = pb;
	int order = set_cmp(a, b);

	return order ? order : (a->fn < b->fn ? -1 : a->fn > b->fn);
}

static int by_size(const void *pa, const void *pb)
{
	const struct sig_group *a = pa, *b = pb;

	CMP(b->cnt, a->cnt);
	return a->fns[0] < b->fns[0] ? -1 : 1;
}

static struct member *members(const struct sigs *s, uint32_t *ret_cnt)
{
	struct member *m = xcalloc((size_t)s->fn_cnt + 1, sizeof(*m));
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < s->fn_cnt; i++) {
		const struct sig_fn *fn = &s->fns[i];

		if (fn->ep_cnt == 0)
			continue;
		m[cnt].fn = i;
		m[cnt].cnt = fn->ep_cnt;
		for (uint32_t k = 0; k < fn->ep_cnt; k++)
			m[cnt].ids[k] = fn->eps[k].id;
		qsort(m[cnt].ids, fn->ep_cnt, sizeof(*m[cnt].ids), by_id);
		cnt++;
	}
	if (cnt > 1)
		qsort(m, cnt, sizeof(*m), by_set);
	*ret_cnt = cnt;
	return m;
}

static void groups_make(struct sigs *s, struct arena *arena)
{
	uint32_t cnt, *fns;
	struct member *m = members(s, &cnt);

	fns = ARENA_ARRAY(arena, uint32_t, (size_t)cnt + 1);
	s->groups = ARENA_ARRAY(arena, struct sig_group, (size_t)cnt + 1);
	for (uint32_t i = 0; i < cnt; i++) {
		fns[i] = m[i].fn;
		if (i == 0 || set_cmp(&m[i], &m[i - 1]) != 0)
			s->groups[s->group_cnt++].fns = &fns[i];
		s->groups[s->group_cnt - 1].cnt++;
	}
	if (s->group_cnt > 1)
		qsort(s->groups, s->group_cnt, sizeof(*s->groups), by_size);
	for (uint32_t g = 0; g < s->group_cnt; g++)
		for (uint32_t i = 0; i < s->groups[g].cnt; i++)
			s->fns[s->groups[g].fns[i]].group = g;
	free(m);
}

void sig_derive(struct sigs *s, struct arena *arena)
{
	uint32_t fn_cnt;

	s->having = ARENA_ARRAY(arena, uint32_t, (size_t)s->episode_cnt + 1);
	s->specificity = ARENA_ARRAY(arena, double, (size_t)s->episode_cnt + 1);
	s->chosen = ARENA_ARRAY(arena, uint8_t, (size_t)s->episode_cnt + 1);
	fn_cnt = count_having(s);
	for (uint32_t i = 0; i < s->episode_cnt; i++)
		s->specificity[i] = log((double)fn_cnt / s->having[i]);
	for (uint32_t i = 0; i < s->fn_cnt; i++)
		choose(s, &s->fns[i], fn_cnt, arena);
	groups_make(s, arena);
}
