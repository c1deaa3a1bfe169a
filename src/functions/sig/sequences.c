/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of symbols with their counts, and the order of episodes. */
#include <string.h>

#include "base/bug.h"
#include "base/cmp.h"
#include "functions/sig/episodes.h"

void seqs_release(struct seqs *s)
{
	vec_release(&s->syms);
	vec_release(&s->seqs);
	hmap_release(&s->by_hash);
	*s = (struct seqs){0};
}

void seqs_add(struct seqs *s, const uint16_t *syms, size_t len, uint64_t cnt)
{
	uint64_t hash = hash_bytes(syms, len * sizeof(*syms)), *slot;
	struct seq seq = {.first = (uint32_t)s->syms.cnt, .len = (uint16_t)len, .cnt = cnt};

	BUG_ON(len == 0 || len > SEQ_LEN_MAX);
	for (;; hash++) { /* the next place when another sequence has this one's hash */
		const struct seq *old;

		slot = hmap_slot(&s->by_hash, hash);
		if (*slot == 0)
			break;
		old = &s->seqs.items[*slot - 1];
		if (old->len == len &&
		    memcmp(&s->syms.items[old->first], syms, len * sizeof(*syms)) == 0) {
			s->seqs.items[*slot - 1].cnt += cnt;
			s->cnt += cnt;
			return;
		}
	}
	if (s->seqs.cnt >= SEQS_MAX) {
		hmap_del(&s->by_hash, hash);
		s->dropped_cnt += cnt;
		return;
	}
	vec_push(&s->seqs, seq);
	*slot = s->seqs.cnt;
	s->cnt += cnt;
	for (size_t i = 0; i < len; i++)
		vec_push(&s->syms, syms[i]);
}

int episode_cmp(const struct episode *a, const struct episode *b)
{
	CMP(a->len, b->len);
	for (unsigned i = 0; i < a->len; i++)
		CMP(a->syms[i], b->syms[i]);
	return 0;
}

uint64_t episode_hash(const struct episode *e)
{
	return hash_bytes(e->syms, e->len * sizeof(*e->syms));
}
