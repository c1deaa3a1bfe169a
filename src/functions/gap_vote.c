/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/gap_vote.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "functions/norm.h"

/* Fewer samples of a place are chance: one that agrees in less is asked. */
#define SAMPLES_MIN 5
/* So many samples of one bin are half as sure as all there could be. */
#define SAMPLES_HALF 4
/* What gaps of a bin next to the nearest known one count against it; each is four times as long. */
#define BIN_DECAY 0.3

/* Which of the calls around a gap a place agrees in; most exact first. */
enum level { LEVEL_ALL, LEVEL_NEAR, LEVEL_BEFORE2, LEVEL_BEFORE, LEVEL_AFTER, LEVEL_CNT };

static uint64_t place_key(enum level level, const struct gap_place *p)
{
	static const struct { bool before2, before, after; } with[] = {
		[LEVEL_ALL] = {true, true, true}, [LEVEL_NEAR] = {false, true, true},
		[LEVEL_BEFORE2] = {true, true, false}, [LEVEL_BEFORE] = {false, true, false},
		[LEVEL_AFTER] = {false, false, true}};

	return (uint64_t)level << 48 | (with[level].before2 ? (uint64_t)p->before2 << 32 : 0) |
	       (with[level].before ? (uint64_t)p->before << 16 : 0) |
	       (with[level].after ? p->after : 0);
}

static int by_place(const void *pa, const void *pb)
{
	const struct gap_entry *a = pa, *b = pb;

	CMP(a->place, b->place);
	CMP(a->bin, b->bin);
	CMP(a->fn, b->fn);
	return 0;
}

static void join_equal(struct gap_index *x)
{
	size_t to = 0;

	vec_sort(&x->entries, by_place);
	for (size_t i = 0; i < x->entries.cnt; i++) {
		const struct gap_entry *e = &x->entries.items[i];

		if (to && by_place(e, &x->entries.items[to - 1]) == 0)
			x->entries.items[to - 1].cnt += e->cnt;
		else
			x->entries.items[to++] = *e;
	}
	x->entries.cnt = to;
}

/* One past the entries that have the first one's place and bin; their largest count. */
static size_t bin_end(const struct gap_index *x, size_t first, double *ret_most)
{
	const struct gap_entry *e = x->entries.items;
	size_t i = first;

	for (*ret_most = 0; i < x->entries.cnt && e[i].place == e[first].place &&
			    e[i].bin == e[first].bin; i++)
		*ret_most = e[i].cnt > *ret_most ? e[i].cnt : *ret_most;
	return i;
}

/*
 * How little a function runs in gaps at large, ln(1 / share).  Places count by
 * the root of their samples, so that what the load happened to ask for most
 * does not decide alone.
 */
static void specific_make(struct gap_index *x)
{
	double all = 0, most;

	for (size_t i = 0, end; i < x->entries.cnt; i = end) {
		end = bin_end(x, i, &most);
		if (x->entries.items[i].place >> 48 != LEVEL_ALL)
			continue;
		all += sqrt(most);
		for (size_t k = i; k < end; k++)
			x->specific[x->entries.items[k].fn] +=
				sqrt(most) * x->entries.items[k].cnt / most;
	}
	for (uint32_t i = 0; i < x->sigs->fn_cnt; i++)
		x->specific[i] = x->specific[i] > 0 ? log(all / x->specific[i]) : 0;
}

static uint16_t bound(const uint16_t *nr_of, uint16_t sym)
{
	return sym == SIG_NO_CALL ? SYM_NONE : nr_of[sym];
}

void gap_index_make(struct gap_index *x, const struct sigs *sigs, const uint16_t *nr_of)
{
	*x = (struct gap_index){.sigs = sigs};
	x->specific = xcalloc((size_t)sigs->fn_cnt + 1, sizeof(*x->specific));
	x->sums = xcalloc((size_t)sigs->fn_cnt + 1, sizeof(*x->sums));
	for (uint32_t i = 0; i < sigs->fn_cnt; i++)
		for (uint32_t k = 0; k < sigs->fns[i].gap_cnt; k++) {
			const struct sig_gap *g = &sigs->fns[i].gaps[k];
			struct gap_place p = {bound(nr_of, g->before2), bound(nr_of, g->before),
					      bound(nr_of, g->after), g->bin};

			for (enum level l = LEVEL_ALL; l < LEVEL_CNT; l++)
				vec_push(&x->entries, ((struct gap_entry){
					place_key(l, &p), i, g->bin, (double)g->cnt}));
		}
	join_equal(x);
	specific_make(x);
	for (size_t i = x->entries.cnt; i-- > 0;)
		hmap_put(&x->by_place, x->entries.items[i].place, i + 1);
}

void gap_index_release(struct gap_index *x)
{
	vec_release(&x->entries);
	hmap_release(&x->by_place);
	vec_release(&x->voters);
	vec_release(&x->answers);
	hmap_release(&x->asked);
	free(x->specific);
	free(x->sums);
}

/* The nearest bin of the place's, and whether it has samples enough. */
static bool place_known(const struct gap_index *x, size_t first, uint8_t bin, unsigned *ret_near)
{
	double all = 0, most;

	*ret_near = UINT32_MAX;
	for (size_t i = first; i < x->entries.cnt &&
			       x->entries.items[i].place == x->entries.items[first].place;) {
		unsigned far = (unsigned)abs((int)x->entries.items[i].bin - (int)bin);

		i = bin_end(x, i, &most);
		all += most;
		*ret_near = far < *ret_near ? far : *ret_near;
	}
	return all >= SAMPLES_MIN;
}

static int by_weight(const void *pa, const void *pb)
{
	const struct gap_voter *a = pa, *b = pb;

	CMP(b->weight, a->weight);
	CMP(a->fn, b->fn);
	return 0;
}

/* The functions of the place, into voters. */
static void place_sum(struct gap_index *x, size_t first, uint8_t bin, unsigned near)
{
	double all = 0, most;
	size_t place_end = first;

	for (size_t i = first, end; i < x->entries.cnt &&
				    x->entries.items[i].place == x->entries.items[first].place;
	     i = place_end = end) {
		unsigned far = (unsigned)abs((int)x->entries.items[i].bin - (int)bin) - near;
		double weight;

		end = bin_end(x, i, &most);
		weight = pow(BIN_DECAY, far) * most / (most + SAMPLES_HALF);
		all += weight;
		for (size_t k = i; k < end; k++)
			x->sums[x->entries.items[k].fn] +=
				weight * x->entries.items[k].cnt / most;
	}
	for (size_t i = first; i < place_end; i++) {
		uint32_t fn = x->entries.items[i].fn;
		double weight = x->sums[fn] / all * x->specific[fn];

		x->sums[fn] = 0;
		if (weight > 0)
			vec_push(&x->voters, ((struct gap_voter){fn, (float)weight}));
	}
}

static struct gap_answer answer_make(struct gap_index *x, const struct gap_place *p)
{
	struct gap_answer a = {(uint32_t)x->voters.cnt, 0};

	for (enum level l = LEVEL_ALL; l < LEVEL_CNT && x->voters.cnt == a.first; l++) {
		uint64_t first;
		unsigned near;

		if (p->after == SYM_NONE && l != LEVEL_BEFORE2 && l != LEVEL_BEFORE)
			continue;
		if (hmap_get(&x->by_place, place_key(l, p), &first) &&
		    place_known(x, first - 1, p->bin, &near))
			place_sum(x, first - 1, p->bin, near);
	}
	a.cnt = (uint32_t)x->voters.cnt - a.first;
	if (a.cnt)
		qsort(&x->voters.items[a.first], a.cnt, sizeof(struct gap_voter), by_weight);
	if (a.cnt > GAP_VOTERS_MAX)
		a.cnt = GAP_VOTERS_MAX;
	x->voters.cnt = a.first + a.cnt;
	return a;
}

uint32_t gap_ask(struct gap_index *x, const struct gap_place *place,
		 const struct gap_voter **ret_voters)
{
	uint64_t *slot;
	const struct gap_answer *a;

	if (!x->entries.cnt)
		return 0;
	slot = hmap_slot(&x->asked, place_key(LEVEL_ALL, place) | (uint64_t)place->bin << 56);
	if (!*slot) {
		vec_push(&x->answers, answer_make(x, place));
		*slot = x->answers.cnt;
	}
	a = &x->answers.items[*slot - 1];
	*ret_voters = &x->voters.items[a->first];
	return a->cnt;
}
