/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounded store of whole waits, in real time.  At the bound it keeps half
 * of the time that it kept before (pieces.h), or, for a live view, gives up
 * the oldest eighth.
 *
 * The next wait of a thread says what it read after one, so the next after
 * a wait in kept time stays too; the view clock makes it nothing.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "model/model_int.h"

enum { SAMPLE_CNT = 1024 };

static int cmp_u64(const void *pa, const void *pb)
{
	CMP(*(const uint64_t *)pa, *(const uint64_t *)pb);
	return 0;
}

/* Gives up about the eighth of the waits that ended first. */
static void drop_oldest(struct model *m)
{
	struct model_priv *p = m->priv;
	uint64_t sample[SAMPLE_CNT], cut;
	size_t cnt = p->waits.cnt < SAMPLE_CNT ? p->waits.cnt : SAMPLE_CNT, to = 0;

	for (size_t i = 0; i < cnt; i++)
		sample[i] = p->waits.items[i * p->waits.cnt / cnt].end_ns;
	qsort(sample, cnt, sizeof(*sample), cmp_u64);
	cut = sample[cnt / 8];
	for (size_t i = 0; i < p->waits.cnt; i++)
		if (p->waits.items[i].end_ns > cut)
			p->waits.items[to++] = p->waits.items[i];
	m->waits_dropped_cnt += p->waits.cnt - to;
	p->waits.cnt = to;
	if (cut > m->waits_begin_ns)
		m->waits_begin_ns = cut;
}

static bool is_in(const struct pieces *pieces, const struct wait *w, bool clear)
{
	struct stretch s;

	return pieces_next(pieces, w->off_ns, w->end_ns > w->off_ns ? w->end_ns : w->off_ns + 1,
			   clear, &s);
}

/* May w stay?  *tells: the thread's last wait before it did, and w tells what was read after. */
static bool stays(const struct pieces *pieces, const struct wait *w, bool clear, bool *tells)
{
	bool real = !(w->flags & WAITF_PREEMPTED), said = real && *tells;
	bool in = is_in(pieces, w, clear);

	*tells = in || (*tells && !real);
	return in || said;
}

static void filter(struct model *m, bool clear)
{
	struct model_priv *p = m->priv;
	CLEANUP_FREE bool *tells = xcalloc(p->threads.cnt + 1, sizeof(*tells));
	size_t to = 0;

	for (size_t i = 0; i < p->waits.cnt; i++) {
		const struct wait *w = &p->waits.items[i];

		if (w->flags & WAITF_PENDING)
			continue; /* the last model_finish laid it in */
		if (stays(&p->pieces, w, clear, &tells[w->thread]))
			p->waits.items[to++] = *w;
		else
			m->waits_dropped_cnt++;
	}
	p->waits.cnt = to;
	VEC_FOREACH(&p->tracks, t)
		t->tells = tells[t->thread];
}

/* But for those that stay for what they tell of the one before. */
static size_t survivors(const struct model *m, bool clear)
{
	size_t cnt = 0;

	VEC_FOREACH(&m->priv->waits, w)
		cnt += is_in(&m->priv->pieces, w, clear);
	return cnt;
}

/*
 * Narrower slices hold hardly fewer waits where most are longer than a slice:
 * then fewer slices say more.
 */
static bool halve(struct model *m, uint64_t ns, bool clear)
{
	struct pieces *p = &m->priv->pieces, was = *p;
	size_t had = survivors(m, clear);

	if (!pieces_halve(p, ns))
		return false;
	if (p->narrow > was.narrow && survivors(m, clear) > had - had / 3 &&
	    pieces_fewer(&was, ns))
		*p = was;
	return true;
}

/* Since the window began; waits come thread by thread, so the last one says little. */
static uint64_t window_ns(const struct model *m)
{
	uint64_t end_ns = m->begin_ns + 1;

	VEC_FOREACH(&m->priv->waits, w)
		end_ns = w->end_ns > end_ns ? w->end_ns : end_ns;
	return end_ns - m->begin_ns;
}

static void thin(struct model *m)
{
	struct model_priv *p = m->priv;
	size_t goal = p->max_waits - p->max_waits / 4;
	uint64_t ns = window_ns(m);
	struct stretch s;
	bool clear;

	do {
		clear = pieces_next(&p->pieces, m->begin_ns, m->begin_ns + ns, true, &s);
		filter(m, clear);
	} while (p->waits.cnt > goal && halve(m, ns, clear));
	pieces_prune(&p->pieces);
}

/* At the bound of coarse intervals too: it comes to the same, many and short ones. */
void whole_coarse(struct model *m, uint64_t begin_ns, uint64_t end_ns)
{
	struct pieces *pieces = &m->priv->pieces;

	if (!pieces_coarse(pieces, begin_ns, end_ns) || pieces->coarse.cnt < COARSE_MAX)
		return;
	if (pieces_halve(pieces, end_ns > m->begin_ns ? end_ns - m->begin_ns : 1))
		pieces_prune(pieces);
	if (pieces->coarse.cnt < COARSE_MAX)
		return;
	m->limit_cnt++; /* one with the one before, and what was known between */
	pieces->coarse.items[pieces->coarse.cnt - 2].end_ns = vec_last(&pieces->coarse)->end_ns;
	pieces->coarse.cnt--;
}

void whole_add(struct model *m, struct track *t, const struct wait *w)
{
	struct model_priv *p = m->priv;

	if (p->waits.cnt >= p->max_waits && p->newest)
		drop_oldest(m);
	else if (p->waits.cnt >= p->max_waits)
		thin(m);
	if (!stays(&p->pieces, w, false, &t->tells) || p->waits.cnt >= p->max_waits) {
		m->waits_dropped_cnt++;
		return;
	}
	if (p->waits.cnt == p->waits.cap) { /* by halves and not over the bound: it is the most */
		size_t cap = p->waits.cap + p->waits.cap / 2 + 1024;

		p->waits.cap = cap < p->max_waits ? cap : p->max_waits;
		p->waits.items = xreallocarray(p->waits.items, p->waits.cap, sizeof(*w));
	}
	p->waits.items[p->waits.cnt++] = *w;
}
