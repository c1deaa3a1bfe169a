/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/rank/context_vote.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "functions/units/normalize.h"
#include "functions/sig/sig_contexts.h"

/* Fewer samples of a gap are chance: gaps that agree in less are asked. */
#define SAMPLES_MIN 5
/* So many samples of one bin are half as sure as all there could be. */
#define SAMPLES_HALF 4
/* The distance of a bin to the nearest known one counts against it; each is four times as long. */
#define BIN_DECAY 0.3

/* Code that runs in all gaps still names who runs there, where nobody else does. */
#define SPECIFIC_MIN 0.01
/* A gap of this bin on is as long as the clock's period when it is learnt: the clock hits it. */
#define CLOCK_BIN 8
/* Gaps that are over sooner than any that was seen are no work: a clock hits only what lasts. */
#define BINS_SHORTER 1

/* The features in which a place agrees. */
enum {
	WITH_BEFORE3 = 1 << SIG_BEFORE3, WITH_BEFORE2 = 1 << SIG_BEFORE2,
	WITH_BEFORE = 1 << SIG_BEFORE, WITH_AT = 1 << SIG_AT, WITH_AFTER = 1 << SIG_AFTER,
	WITH_AFTER2 = 1 << SIG_AFTER2,
	WITH_KIND = 1 << 6, WITH_FIRST = 1 << 7, WITH_BLOCKED = 1 << 8,
	WITH_MAIN = 1 << 9, WITH_ALL = (1 << 10) - 1,
	GAP = 1 << 10,		/* of a gap, and asked for a call */
	INSERTED = 1 << 11,	/* of the call before, as if this one were not there */
};
enum { WITH_CALL = WITH_AT | WITH_KIND | WITH_MAIN, WITH_WHAT = WITH_CALL | WITH_FIRST,
       WAITED = WITH_WHAT | WITH_BLOCKED, KIND_MASK = SIG_WHAT_MAX & -(1 << SIG_KIND_SHIFT) };
enum { AROUND_NEAR = WITH_BEFORE | WITH_AFTER, AROUND_BEFORE = WITH_BEFORE2 | WITH_BEFORE,
       AROUND_MORE = AROUND_NEAR | WITH_BEFORE2,
       AROUND_ALL = AROUND_MORE | WITH_BEFORE3 | WITH_AFTER2 };

/* Most exact first. */
static const uint16_t call_levels[] = {
	WAITED | AROUND_ALL, WITH_WHAT | AROUND_ALL, WAITED | AROUND_MORE,
	WITH_WHAT | AROUND_MORE, WAITED | AROUND_NEAR, WITH_WHAT | AROUND_NEAR,
	INSERTED | WITH_AT | WITH_MAIN | AROUND_MORE,
	WAITED | AROUND_BEFORE, WITH_WHAT | AROUND_BEFORE,
	WAITED | WITH_BEFORE, WITH_WHAT | WITH_BEFORE,
	WITH_CALL | AROUND_ALL, WITH_CALL | AROUND_MORE, WITH_CALL | AROUND_NEAR,
	WITH_CALL | WITH_BEFORE, WAITED | WITH_AFTER, WITH_WHAT | WITH_AFTER,
	WITH_CALL | WITH_AFTER, WAITED, GAP | WITH_MAIN | WITH_BEFORE, WITH_AT};
static const uint16_t gap_levels[] = {
	WITH_MAIN | AROUND_MORE, WITH_MAIN | AROUND_NEAR, WITH_MAIN | AROUND_BEFORE,
	WITH_MAIN | WITH_BEFORE, WITH_MAIN | WITH_AFTER, WITH_MAIN};
enum { CALL_LEVELS = sizeof(call_levels) / sizeof(*call_levels),
       GAP_LEVELS = sizeof(gap_levels) / sizeof(*gap_levels), GAP_EXACT_LEVELS = 2 };

/* 64 times as long as ever there, or more: as much was never seen. */
enum { BINS_LONG = 3 };

static bool is_gap(const struct sig_place *p)
{
	return p->around[SIG_AT] == SIG_NO_CALL;
}

/*
 * 0: a call that the level needs is over the window's edge; or the level is of
 * calls that waited, and this one did not: that may be the very fault.
 */
static uint64_t place_key(unsigned with, const struct sig_place *p)
{
	struct sig_place part = {.around = {0}};

	if (with & WITH_BLOCKED && !(p->what & SIG_BLOCKED))
		return 0;
	for (unsigned i = 0; i < SIG_AROUND_CNT; i++) {
		if (!(with >> i & 1))
			continue;
		if (p->around[i] == SIG_NO_CALL)
			return 0;
		part.around[i] = p->around[i];
	}
	part.what = (uint16_t)(p->what & ((with & WITH_MAIN ? SIG_MAIN : 0) |
					  (with & WITH_KIND ? KIND_MASK : 0) |
					  (with & WITH_FIRST ? SIG_FIRST : 0) |
					  (with & WITH_BLOCKED ? SIG_BLOCKED : 0)));
	return hash_pair(with & ~(unsigned)(GAP | INSERTED), sig_place_hash(&part)) | 1;
}

static int by_key(const void *pa, const void *pb)
{
	const struct place_entry *a = pa, *b = pb;

	CMP(a->key, b->key);
	CMP(a->home, b->home);
	CMP(a->bin, b->bin);
	CMP(a->fn, b->fn);
	return 0;
}

static void join_equal(struct place_index *x)
{
	size_t to = 0;

	vec_sort(&x->entries, by_key);
	for (size_t i = 0; i < x->entries.cnt; i++) {
		const struct place_entry *e = &x->entries.items[i];
		struct place_entry *last = to ? &x->entries.items[to - 1] : NULL;

		if (last && by_key(e, last) == 0) {
			last->cnt += e->cnt;
			last->self_cnt += e->self_cnt;
			last->near += e->near;
		} else {
			x->entries.items[to++] = *e;
		}
	}
	x->entries.cnt = to;
}

/*
 * One past the entries that have the first one's key and bin; how many stacks
 * they are of: each has one innermost function.
 */
static size_t bin_end(const struct place_index *x, size_t first, double *ret_all)
{
	const struct place_entry *e = x->entries.items;
	double most = 0;
	size_t i = first;

	*ret_all = 0;
	for (; i < x->entries.cnt && e[i].key == e[first].key && e[i].bin == e[first].bin &&
	       e[i].home == e[first].home; i++) {
		*ret_all += e[i].self_cnt;
		most = e[i].cnt > most ? e[i].cnt : most;
	}
	*ret_all = *ret_all > most ? *ret_all : most;
	return i;
}

/*
 * How little a function runs in gaps at large, ln(1 / share).  Places count by
 * the root of their samples, so that what the load happened to ask for most
 * does not decide alone.
 */
static void specific_make(struct place_index *x, const struct hmap *whole)
{
	double all = 0, here;

	for (size_t i = 0, end; i < x->entries.cnt; i = end) {
		end = bin_end(x, i, &here);
		if (!hmap_get(whole, x->entries.items[i].key, NULL))
			continue;
		all += sqrt(here);
		for (size_t k = i; k < end; k++)
			x->specific[x->entries.items[k].fn] +=
				sqrt(here) * x->entries.items[k].cnt / here;
	}
	for (uint32_t i = 0; i < x->sigs->fn_cnt; i++)
		x->specific[i] = x->specific[i] > 0
					 ? fmax(log(all / x->specific[i]), SPECIFIC_MIN) : 0;
}

/* whole: keys of gaps at the most exact level. */
static void place_put(struct place_index *x, uint32_t fn, struct sig_place p,
		      const uint16_t *nr_of, struct hmap *whole)
{
	double near = (double)p.near_sum / SIG_NEAR_ONE;
	bool gap = is_gap(&p);
	const uint16_t *levels = gap ? gap_levels : call_levels;

	for (unsigned i = 0; i < SIG_AROUND_CNT; i++)
		if (p.around[i] != SIG_NO_CALL)
			p.around[i] = nr_of[p.around[i]];
	if (!gap && is_gap(&p))
		return;	/* a call that this window has not */
	for (size_t l = 0; l < (gap ? GAP_LEVELS : CALL_LEVELS); l++) {
		unsigned with = levels[l];
		uint64_t key = place_key(with, &p);

		if (!key || with & GAP)
			continue;
		if (gap && l == 0)
			hmap_put(whole, key, 1);
		vec_push(&x->entries, ((struct place_entry){
			key, fn, with & WITH_BLOCKED || gap ? p.bin : 0,
			!gap && p.what & SIG_HOME, (float)p.cnt, (float)p.self_cnt, (float)near}));
	}
}

void place_index_make(struct place_index *x, const struct sigs *sigs, const uint16_t *nr_of)
{
	CLEANUP(hmap_release) struct hmap whole = {0};

	*x = (struct place_index){.sigs = sigs};
	x->specific = xcalloc((size_t)sigs->fn_cnt + 1, sizeof(*x->specific));
	x->sums = xcalloc((size_t)sigs->fn_cnt + 1, sizeof(*x->sums));
	for (uint32_t i = 0; i < sigs->fn_cnt; i++)
		for (uint32_t k = 0; k < sigs->fns[i].place_cnt; k++)
			place_put(x, i, sigs->fns[i].places[k], nr_of, &whole);
	join_equal(x);
	specific_make(x, &whole);
	for (size_t i = x->entries.cnt; i-- > 0;)
		hmap_put(&x->by_key, x->entries.items[i].key, i + 1);
}

void place_index_release(struct place_index *x)
{
	vec_release(&x->entries);
	hmap_release(&x->by_key);
	vec_release(&x->voters);
	vec_release(&x->answers);
	hmap_release(&x->asked);
	free(x->specific);
	free(x->sums);
}

/* ---- answers */

/* One past the entries of the first one's key that are as it is, home or not. */
static size_t part_end(const struct place_index *x, size_t first)
{
	const struct place_entry *e = x->entries.items;
	size_t i = first;

	while (i < x->entries.cnt && e[i].key == e[first].key && e[i].home == e[first].home)
		i++;
	return i;
}

static unsigned bins_apart(const struct place_index *x, size_t at, uint8_t bin)
{
	return (unsigned)abs((int)x->entries.items[at].bin - (int)bin);
}

/* How far the nearest bin is; of how many stacks all are. */
static unsigned bins_near(const struct place_index *x, size_t first, size_t end, uint8_t bin,
			  double *ret_all)
{
	unsigned near = UINT32_MAX;
	double here;

	*ret_all = 0;
	for (size_t i = first; i < end;) {
		unsigned far = bins_apart(x, i, bin);

		near = far < near ? far : near;
		i = bin_end(x, i, &here);
		*ret_all += here;
	}
	return near;
}

/* By function the parts of the stacks, into sums; returns what all is of them. */
static double bins_sum(struct place_index *x, size_t first, size_t end, uint8_t bin)
{
	double all, here, sum = 0;
	unsigned near = bins_near(x, first, end, bin, &all);

	for (size_t i = first, next; i < end; i = next) {
		unsigned far = bins_apart(x, i, bin) - near;
		double weight;

		next = bin_end(x, i, &here);
		weight = pow(BIN_DECAY, far) * here / (here + SAMPLES_HALF);
		sum += weight;
		for (size_t k = i; k < next; k++) {
			const struct place_entry *e = &x->entries.items[k];

			x->sums[e->fn].share += weight * (double)e->cnt / here;
			x->sums[e->fn].near += weight * (double)e->near / here;
		}
	}
	return sum;
}

static struct place_voter take_sum(struct place_index *x, uint32_t fn, double all)
{
	struct place_voter v = {fn, (float)(x->sums[fn].share / all),
				(float)(x->sums[fn].near / all)};

	x->sums[fn] = (struct place_sum){0};
	return v;
}

/* The functions of the gap, into voters. */
static void gap_sum(struct place_index *x, size_t first, uint8_t bin, uint8_t *ret_told)
{
	size_t voter_first = x->voters.cnt, end = part_end(x, first);
	unsigned last_bin = x->entries.items[end - 1].bin;
	double all, most = 0;

	bins_near(x, first, end, bin, &all);
	if (all < SAMPLES_MIN || x->entries.items[first].bin > bin + BINS_SHORTER)
		return;
	if (bin >= last_bin + BINS_LONG && *ret_told < TOLD_LONG)
		*ret_told = TOLD_LONG;
	all = bins_sum(x, first, end, bin);
	for (size_t i = first; i < end; i++) {
		struct place_voter v = take_sum(x, x->entries.items[i].fn, all);

		v.near *= (float)x->specific[v.fn];
		v.share *= (float)x->specific[v.fn];
		most = (double)v.share > most ? (double)v.share : most;
		if (v.share > 0)
			vec_push(&x->voters, v);
	}
	for (size_t i = voter_first; i < x->voters.cnt; i++) {
		x->voters.items[i].share /= (float)most;
		x->voters.items[i].near /= (float)most;
	}
}

/*
 * The functions that made the call; those that waited for work count only to
 * tell whether this is such a wait, which takes at least the call before it,
 * or that nobody ever made that call for anything else.
 */
static bool call_sum(struct place_index *x, size_t first, uint8_t bin, unsigned with)
{
	double work = 0, home = 0, all;
	size_t end = first;

	if (!x->entries.items[first].home) {
		end = part_end(x, first);
		bins_near(x, first, end, bin, &work);
	}
	if (end < x->entries.cnt && x->entries.items[end].key == x->entries.items[first].key)
		bins_near(x, end, part_end(x, end), bin, &home);
	if (with & WITH_BEFORE && !(with & INSERTED) ? home > work
						     : with == WITH_AT && home > 0 && work <= 0)
		return true;
	all = bins_sum(x, first, end, bin);
	for (size_t i = first; i < end; i++) {
		struct place_voter v = take_sum(x, x->entries.items[i].fn, all);

		if (v.share > 0)
			vec_push(&x->voters, v);
	}
	return false;
}

static int by_share(const void *pa, const void *pb)
{
	const struct place_voter *a = pa, *b = pb;

	CMP(b->near, a->near);
	CMP(b->share, a->share);
	CMP(a->fn, b->fn);
	return 0;
}

/* The place of the call before, without this one. */
static struct sig_place place_before(const struct sig_place *p)
{
	struct sig_place b = {.what = p->what, .bin = p->bin};

	b.around[SIG_BEFORE3] = SIG_NO_CALL;
	for (unsigned i = SIG_BEFORE2; i <= SIG_AT; i++)
		b.around[i] = p->around[i - 1];
	b.around[SIG_AFTER] = p->around[SIG_AFTER];
	b.around[SIG_AFTER2] = p->around[SIG_AFTER2];
	return b;
}

/* True for a function seen elsewhere: nothing before the call agrees, or of a gap only that. */
static enum place_told told_by(unsigned with, bool gap)
{
	if (with & INSERTED)
		return TOLD_NEARBY;
	return with & GAP || !(with & WITH_BEFORE) || (gap && !(with & WITH_AFTER)) ? TOLD_GUESS
										   : TOLD_SEEN;
}

/* true: the place is a wait for work. */
static bool level_ask(struct place_index *x, unsigned with, const struct sig_place *p,
		      uint8_t *ret_told)
{
	struct sig_place before;
	uint64_t key, first;

	if (with & INSERTED) {
		if (hmap_get(&x->by_key, place_key(WITH_CALL | AROUND_NEAR, p), NULL))
			return false;
		before = place_before(p);
		p = &before;
	}
	key = place_key(with, p);
	if (!key || !hmap_get(&x->by_key, key, &first))
		return false;
	*ret_told = (uint8_t)told_by(with, is_gap(p));
	if (!is_gap(p) && !(with & GAP))
		return call_sum(x, first - 1, with & WITH_BLOCKED ? p->bin : 0, with);
	gap_sum(x, first - 1, p->bin, ret_told);
	return false;
}

static struct place_answer answer_make(struct place_index *x, const struct sig_place *p)
{
	struct place_answer a = {.first = (uint32_t)x->voters.cnt, .told = TOLD_GUESS};
	const uint16_t *levels = is_gap(p) ? gap_levels : call_levels;
	size_t level_cnt = !is_gap(p)	     ? CALL_LEVELS
			   : p->bin < CLOCK_BIN ? GAP_EXACT_LEVELS
						: GAP_LEVELS;

	for (size_t l = 0; l < level_cnt && x->voters.cnt == a.first && !a.home; l++)
		a.home = level_ask(x, levels[l], p, &a.told);
	a.cnt = (uint32_t)x->voters.cnt - a.first;
	if (a.cnt)
		qsort(&x->voters.items[a.first], a.cnt, sizeof(struct place_voter), by_share);
	if (a.cnt > PLACE_VOTERS_MAX)
		a.cnt = PLACE_VOTERS_MAX;
	x->voters.cnt = a.first + a.cnt;
	return a;
}

struct place_answer place_ask(struct place_index *x, const struct sig_place *place)
{
	uint64_t *slot;

	if (!x->entries.cnt)
		return (struct place_answer){0};
	if (x->answers.cnt && sig_place_same(place, &x->last))
		return x->last_answer;
	slot = hmap_slot(&x->asked, sig_place_hash(place));
	if (!*slot) {
		vec_push(&x->answers, answer_make(x, place));
		*slot = x->answers.cnt;
	}
	x->last = *place;
	x->last_answer = x->answers.items[*slot - 1];
	return x->last_answer;
}

bool place_is_known(const struct place_index *x, const struct sig_place *place)
{
	static const unsigned levels[] = {WITH_CALL | WITH_BEFORE, WITH_CALL | WITH_AFTER};

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		uint64_t key = place_key(levels[i], place);

		if (key && hmap_get(&x->by_key, key, NULL))
			return true;
	}
	return false;
}
