/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EPISODES_H
#define EPISODES_H
/*
 * Episodes: short runs of symbols, contiguous after normalisation (normalize.h),
 * and how often they are.  A function's invocations are given as sequences;
 * those that are equal stand once, with their number.  SYM_NONE (normalize.h) in one is a
 * gap: something else came in between, and no episode spans it.
 *
 *	struct seqs s = {0};  seqs_add for each invocation
 *	episodes_mine, episodes_fsm
 *	seqs_release(&s)
 *
 * The support of an episode is the number of invocations it is in.  It is
 * closed when no longer one (up to EPISODE_LEN_MAX) that holds it has the same
 * support.  Bounded: SEQS_MAX distinct sequences of a function are kept, the
 * rest is counted in dropped_cnt.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

struct arena;

enum {
	EPISODE_LEN_MAX = 8,
	SEQ_LEN_MAX = 64,	/* longer ones are cut by who adds them */
	SEQS_MAX = 1 << 14,	/* a function with more variants is as good as random */
};

struct episode {
	uint16_t syms[EPISODE_LEN_MAX]; /* unused ones are 0 */
	uint8_t len;
	uint32_t id;		/* place among the distinct episodes of its set */
};

struct seq {
	uint32_t first;		/* in syms */
	uint16_t len;
	uint64_t cnt;		/* equal ones */
};

struct seqs {
	VEC(uint16_t) syms;
	VEC(struct seq) seqs;
	struct hmap by_hash;	/* to place plus one */
	uint64_t cnt;		/* all that were kept, equal ones too */
	uint64_t dropped_cnt;
};

void seqs_release(struct seqs *s);

/* len 1 to SEQ_LEN_MAX; counts cnt times. */
void seqs_add(struct seqs *s, const uint16_t *syms, size_t len, uint64_t cnt);

struct mined {
	struct episode ep;	/* id: place in the result */
	uint64_t support;
};

struct mine_opts {		/* a zero field means its default */
	uint32_t min_support;	/* default 2 */
	double min_share;	/* of the invocations; default 0.1 */
	uint32_t max_len;	/* default and limit EPISODE_LEN_MAX */
};

/*
 * All closed episodes whose support is at least
 * max(min_support, min_share * invocations), but never more than there are
 * invocations: of a function seen once, what it did once.  Most frequent
 * first, then the longer, then by symbols.  In the arena.
 */
struct mined *episodes_mine(const struct seqs *s, const struct mine_opts *opts,
			    struct arena *arena, size_t *ret_cnt);

/*
 * Finite-state counting (Laxman, Sastry, Unnikrishnan, 2007): how many
 * non-overlapped occurrences each episode has as a serial one, with anything
 * in between.  One automaton an episode; each symbol touches only those that
 * wait for it.  No occurrence spans two sequences.
 */
void episodes_fsm(const struct episode *eps, size_t cnt, const struct seqs *s, uint64_t *ret_cnts);

/* By length, then symbols: <0, 0, >0.  ids are not looked at. */
int episode_cmp(const struct episode *a, const struct episode *b);
uint64_t episode_hash(const struct episode *e);

#endif /* EPISODES_H */
