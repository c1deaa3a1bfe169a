/* SPDX-License-Identifier: Apache-2.0 */
#include "model/keep/pieces.h"

#include "base/hash.h"
#include "base/search.h"

enum {
	/*
	 * A slice is 2^27 ns, 134 ms: waits and requests of 50 to 100 ms mostly
	 * lie in one or two of them, and ten seconds have 74.
	 */
	SLICE_BITS = 27,
	/* Rather half of each slice than fewer than this: shares are made of them. */
	SLICES_MIN = 8,
	SLICES_FEWEST = 4,
	NARROW_MAX = 7, /* to 1 ms: less than that holds hardly a whole short wait */
};

bool pieces_halve(struct pieces *p, uint64_t window_ns)
{
	uint64_t left = window_ns >> (SLICE_BITS + p->level + 1);

	if (left >= SLICES_MIN || (p->narrow == NARROW_MAX && left >= 2))
		p->level++;
	else if (p->narrow < NARROW_MAX)
		p->narrow++;
	else
		return false;
	return true;
}

bool pieces_fewer(struct pieces *p, uint64_t window_ns)
{
	if (window_ns >> (SLICE_BITS + p->level + 1) < SLICES_FEWEST)
		return false;
	p->level++;
	return true;
}

bool pieces_coarse(struct pieces *p, uint64_t begin_ns, uint64_t end_ns)
{
	struct stretch *last = p->coarse.cnt ? vec_last(&p->coarse) : NULL;

	if (begin_ns >= end_ns || (last && begin_ns < last->begin_ns))
		return false;
	if (last && begin_ns <= last->end_ns)
		last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
	else
		vec_push(&p->coarse, ((struct stretch){begin_ns, end_ns}));
	return true;
}

/* The part kept of the group of slices with this number: down the halves, by a hash bit each. */
static struct stretch piece_of(const struct pieces *p, uint64_t group)
{
	unsigned bits = SLICE_BITS + p->level, to = SLICE_BITS - p->narrow;
	uint64_t at = group;

	for (; bits > to; bits--)
		at = at << 1 | (hash_pair(bits, at) >> 32 & 1);
	return (struct stretch){at << to, (at + 1) << to};
}

static struct stretch chosen(const struct pieces *p, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t group = begin_ns >> (SLICE_BITS + p->level);
	struct stretch s = {begin_ns, end_ns};

	if (p->level + p->narrow == 0)
		return s;
	s = piece_of(p, group);
	if (s.end_ns <= begin_ns)
		s = piece_of(p, group + 1);
	s.begin_ns = s.begin_ns > begin_ns ? s.begin_ns : begin_ns;
	s.end_ns = s.end_ns < end_ns ? s.end_ns : end_ns;
	return s;
}

bool pieces_next(const struct pieces *p, uint64_t begin_ns, uint64_t end_ns, bool clear,
		 struct stretch *ret)
{
	const struct stretch *coarse = p->coarse.items;
	size_t cnt = clear ? p->coarse.cnt : 0;
	size_t at = SORTED_PREFIX(coarse, cnt, it, it->end_ns <= begin_ns);

	while (begin_ns < end_ns) {
		struct stretch s = chosen(p, begin_ns, end_ns);

		if (s.begin_ns >= s.end_ns)
			return false;
		while (at < cnt && coarse[at].end_ns <= s.begin_ns)
			at++;
		if (at == cnt || coarse[at].begin_ns > s.begin_ns) {
			if (at < cnt && coarse[at].begin_ns < s.end_ns)
				s.end_ns = coarse[at].begin_ns;
			*ret = s;
			return true;
		}
		begin_ns = coarse[at].end_ns;
	}
	return false;
}

void pieces_prune(struct pieces *p)
{
	struct stretch s;
	size_t to = 0;

	for (size_t i = 0; i < p->coarse.cnt; i++) {
		struct stretch c = p->coarse.items[i];

		if (pieces_next(p, c.begin_ns, c.end_ns, false, &s))
			p->coarse.items[to++] = c;
	}
	p->coarse.cnt = to;
}

void pieces_release(struct pieces *p)
{
	vec_release(&p->coarse);
}
