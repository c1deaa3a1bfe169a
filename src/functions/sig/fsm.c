/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting with one automaton for each episode.  All automata that wait for a
 * symbol hang in that symbol's list; an event moves those in its list and no
 * others, so it costs what it changes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "functions/sig/episodes.h"

struct fsm {
	const struct episode *eps;
	uint32_t *heads;	/* by symbol: idx plus one of the first that waits for it */
	uint32_t *next;		/* by episode */
	uint8_t *have;		/* by episode: symbols seen */
};

static void fsm_wait(struct fsm *f, uint32_t ep)
{
	uint32_t *head = &f->heads[f->eps[ep].syms[f->have[ep]]];

	f->next[ep] = *head;
	*head = ep + 1;
}

static void fsm_begin(struct fsm *f, size_t cnt)
{
	for (size_t e = 0; e < cnt; e++)
		for (unsigned i = 0; i < f->eps[e].len; i++)
			f->heads[f->eps[e].syms[i]] = 0;
	memset(f->have, 0, cnt);
	for (size_t e = cnt; e-- > 0;)
		if (f->eps[e].len)
			fsm_wait(f, (uint32_t)e);
}

static void fsm_event(struct fsm *f, uint16_t sym, uint64_t times, uint64_t *cnts)
{
	uint32_t at = f->heads[sym], next;

	f->heads[sym] = 0; /* one event moves an automaton by one symbol only */
	for (; at; at = next) {
		next = f->next[at - 1];
		if (++f->have[at - 1] == f->eps[at - 1].len) {
			cnts[at - 1] += times;
			f->have[at - 1] = 0;
		}
		fsm_wait(f, at - 1);
	}
}

void episodes_fsm(const struct episode *eps, size_t cnt, const struct seqs *s, uint64_t *ret_cnts)
{
	struct fsm f = {.eps = eps};

	f.heads = xcalloc((size_t)UINT16_MAX + 1, sizeof(*f.heads));
	f.next = xcalloc(cnt + 1, sizeof(*f.next));
	f.have = xcalloc(cnt + 1, 1);
	for (size_t e = 0; e < cnt; e++)
		ret_cnts[e] = 0;
	for (size_t q = 0; q < s->seqs.cnt; q++) {
		const struct seq *seq = &s->seqs.items[q];

		fsm_begin(&f, cnt);
		for (unsigned i = 0; i < seq->len; i++)
			fsm_event(&f, s->syms.items[seq->first + i], seq->cnt, ret_cnts);
	}
	free(f.heads);
	free(f.next);
	free(f.have);
}
