/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Level by level (Apriori): an episode of length n+1 at a place can only be
 * frequent where its first n symbols and its last n are.  Each level keeps,
 * for each place, which frequent episode begins there, so a level costs one
 * pass and memory is that of the places.  A closed episode has no extension
 * by one symbol of the same support: the two parts of each frequent episode
 * are looked at when it is found.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cmp.h"
#include "functions/sig/episodes.h"
#include "functions/units/normalize.h"

#define RARE UINT32_MAX		/* no frequent episode begins here */

struct gram {
	uint64_t support;
	uint32_t at;		/* a place where it begins */
	uint32_t head, tail;	/* its first and its last len - 1 symbols: idx in grams */
	uint32_t seen;		/* in this sequence, idx plus one */
	uint8_t len, closed;
};

struct miner {
	const struct seqs *s;
	uint64_t min;
	VEC(struct gram) grams;	/* of all levels; of each level only the frequent ones stay */
	uint32_t *cur;		/* by place: idx in grams, or RARE */
	uint32_t *keep;		/* by gram of the level: where it went */
	size_t keep_cap;
};

static uint64_t min_support(const struct seqs *s, const struct mine_opts *opts)
{
	uint64_t min = opts && opts->min_support ? opts->min_support : 2;
	double share = opts && opts->min_share > 0 ? opts->min_share : 0.1;
	uint64_t part = (uint64_t)ceil(share * (double)s->cnt);

	min = part > min ? part : min;
	return min < s->cnt ? min : s->cnt;
}

static void gram_seen(struct miner *mn, uint32_t idx, uint32_t seq)
{
	struct gram *g = &mn->grams.items[idx];

	if (g->seen == seq + 1)
		return;
	g->seen = seq + 1;
	g->support += mn->s->seqs.items[seq].cnt;
}

/* The gram of this key, made when new; key distinguishes those of a level. */
static uint32_t gram_get(struct miner *mn, struct hmap *by_key, uint64_t key, struct gram g)
{
	uint64_t *slot = hmap_slot(by_key, key);

	if (*slot == 0) {
		vec_push(&mn->grams, g);
		*slot = mn->grams.cnt;
	}
	return (uint32_t)*slot - 1;
}

static void level_one(struct miner *mn, struct hmap *by_key)
{
	for (uint32_t q = 0; q < mn->s->seqs.cnt; q++) {
		const struct seq *seq = &mn->s->seqs.items[q];

		for (uint32_t at = seq->first; at < seq->first + seq->len; at++) {
			mn->cur[at] = RARE;
			if (mn->s->syms.items[at] == SYM_NONE)
				continue;
			mn->cur[at] = gram_get(mn, by_key, mn->s->syms.items[at],
					       (struct gram){.at = at, .head = RARE, .tail = RARE,
							     .len = 1, .closed = 1});
			gram_seen(mn, mn->cur[at], q);
		}
	}
}

static void level_next(struct miner *mn, struct hmap *by_key, unsigned len)
{
	for (uint32_t q = 0; q < mn->s->seqs.cnt; q++) {
		const struct seq *seq = &mn->s->seqs.items[q];

		for (uint32_t i = 0; i < seq->len; i++) {
			uint32_t at = seq->first + i, head = mn->cur[at], tail;

			if (i + len > seq->len || head == RARE || mn->cur[at + 1] == RARE) {
				mn->cur[at] = RARE;
				continue;
			}
			tail = mn->cur[at + 1];
			mn->cur[at] = gram_get(mn, by_key, (uint64_t)head << 32 | tail,
					       (struct gram){.at = at, .head = head, .tail = tail,
							     .len = (uint8_t)len, .closed = 1});
			gram_seen(mn, mn->cur[at], q);
		}
	}
}

/* Drops the rare ones of the level that began at first; false: none is left. */
static bool level_end(struct miner *mn, size_t first)
{
	size_t to = first;

	if (mn->keep_cap < mn->grams.cnt - first)
		mn->keep = vec_grow_items(mn->keep, &mn->keep_cap, mn->grams.cnt - first,
					  sizeof(*mn->keep));
	for (size_t i = first; i < mn->grams.cnt; i++) {
		struct gram g = mn->grams.items[i];

		if (g.support < mn->min) {
			mn->keep[i - first] = RARE;
			continue;
		}
		if (g.len > 1 && mn->grams.items[g.head].support == g.support)
			mn->grams.items[g.head].closed = 0;
		if (g.len > 1 && mn->grams.items[g.tail].support == g.support)
			mn->grams.items[g.tail].closed = 0;
		mn->keep[i - first] = (uint32_t)to;
		mn->grams.items[to++] = g;
	}
	for (size_t at = 0; at < mn->s->syms.cnt; at++)
		if (mn->cur[at] != RARE)
			mn->cur[at] = mn->keep[mn->cur[at] - first];
	mn->grams.cnt = to;
	return to > first;
}

static int by_support(const void *pa, const void *pb)
{
	const struct mined *a = pa, *b = pb;

	CMP(b->support, a->support);
	CMP(b->ep.len, a->ep.len);
	return episode_cmp(&a->ep, &b->ep);
}

static struct mined *closed_ones(const struct miner *mn, struct arena *arena, size_t *ret_cnt)
{
	struct mined *mined;
	size_t cnt = 0;

	for (size_t i = 0; i < mn->grams.cnt; i++)
		cnt += mn->grams.items[i].closed;
	mined = ARENA_ARRAY(arena, struct mined, cnt + 1);
	cnt = 0;
	for (size_t i = 0; i < mn->grams.cnt; i++) {
		const struct gram *g = &mn->grams.items[i];

		if (!g->closed)
			continue;
		mined[cnt].ep.len = g->len;
		for (unsigned k = 0; k < g->len; k++)
			mined[cnt].ep.syms[k] = mn->s->syms.items[g->at + k];
		mined[cnt++].support = g->support;
	}
	qsort(mined, cnt, sizeof(*mined), by_support);
	for (size_t i = 0; i < cnt; i++)
		mined[i].ep.id = (uint32_t)i;
	*ret_cnt = cnt;
	return mined;
}

struct mined *episodes_mine(const struct seqs *s, const struct mine_opts *opts,
			    struct arena *arena, size_t *ret_cnt)
{
	struct miner mn = {.s = s, .min = min_support(s, opts)};
	unsigned max_len = opts && opts->max_len && opts->max_len < EPISODE_LEN_MAX
				   ? opts->max_len : EPISODE_LEN_MAX;
	struct mined *mined;
	bool more;

	mn.cur = xcalloc(s->syms.cnt + 1, sizeof(*mn.cur));
	for (unsigned len = 1; len <= max_len; len++) {
		struct hmap by_key = {0};
		size_t first = mn.grams.cnt;

		if (len == 1)
			level_one(&mn, &by_key);
		else
			level_next(&mn, &by_key, len);
		hmap_release(&by_key);
		more = level_end(&mn, first);
		if (!more)
			break;
	}
	mined = closed_ones(&mn, arena, ret_cnt);
	vec_release(&mn.grams);
	free(mn.cur);
	free(mn.keep);
	return mined;
}
