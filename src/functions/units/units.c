/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's home is the key at which it blocked most often, of those it rests
 * at.  The longest wait does not count: a hung thread sleeps longest where it
 * hangs, but comes back there once at most.  Of several kinds, those that only
 * ever wait for work weigh more: a worker that sleeps between two tries of one
 * request, or that waits for locks, still goes home to its poll.  What is known
 * beforehand (work_waits_fn.h) comes first: the known homes, where the thread came to
 * one at all, and what is known to be none is no rest, however long.
 */
#include "functions/units/units.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "functions/units/app_frames.h"
#include "functions/units/functions_result.h"
#include "functions/units/pending_wait.h"
#include "functions/units/work_waits_fn.h"
#include "functions/units/call_keys.h"
#include "functions/units/normalize.h"
#include "functions/units/bins.h"
#include "model/calls/calls.h"

enum {
	HOME_MIN = 2,	 /* once is no habit */
	HOME_REST = 20,	 /* nor is what has less than this part of the resting of another place */
	HOME_OTHERS = 8, /* a place of the same call is home too from this part of the waits on */
	/*
	 * Without stacks one place is many keys, one for each call that comes before:
	 * that of a request in twenty is as usual as requests of that kind.
	 */
	HOME_OTHERS_BARE = 20,
};

/*
 * Where switches are not recorded, a call that took so long slept; and ten
 * times the median of calls that do not wait, since tracers slow all of them.
 */
#define BLOCKED_NS UINT64_C(100000)
#define BLOCKED_TIMES 10
/* How many waits for a lock or a sleep one wait of the kind outweighs. */
static unsigned home_weight(unsigned cls)
{
	switch (cls) {
	case CALL_SET:
	case CALL_ACCEPT:
		return 16;
	case CALL_READ:
		return 8;
	case CALL_FUTEX:
	case CALL_REST:
		return 4;
	default:
		return 1;
	}
}

static double same(double value)
{
	return value;
}

bool call_blocked(const struct units *u, const struct call *c)
{
	return u->has_switches ? (c->flags & CALLF_BLOCKED) != 0 : c->dur_ns >= u->blocked_ns;
}

static unsigned class_of(const struct dims *d, unsigned nr)
{
	return d->of_nr[nr] == DIM_NONE ? CALL_PLAIN : d->cls[d->of_nr[nr]];
}

uint64_t call_key(const struct units_opts *o, const struct call *c, const struct call *before)
{
	unsigned cls = class_of(o->dims, c->nr);

	if (cls == CALL_PLAIN || cls == CALL_END)
		return 0;
	if (o->fns && c->stack != NO_IDX && o->fns->stacks[c->stack].cnt)
		return call_key_of_fn(o->fns->stacks[c->stack].frames[0].fn) |
		       (uint64_t)c->nr << 32;
	return call_key_bare(cls, c->nr, c->kind, before ? before->nr : SYM_NONE);
}

static uint64_t blocked_limit(const struct model_calls *c, const struct dims *d)
{
	uint32_t bins[BINS] = {0};
	double mid;

	for (size_t i = 0; i < c->cnt; i++)
		if (class_of(d, c->calls[i].nr) == CALL_PLAIN)
			bins[bin_of(c->calls[i].dur_ns)]++;
	mid = bins_spread(bins, same).mid * BLOCKED_TIMES;
	return mid > BLOCKED_NS ? (uint64_t)mid : BLOCKED_NS;
}

static unsigned key_nr(uint64_t key)
{
	return key >> 32 & 0xffff;
}

/* Without stacks a worker's wait for work and its wait for a lock are the same call. */
static bool home_is_bare_futex(const struct home *home)
{
	return home->cls == CALL_FUTEX && !(home->key & KEY_STACK);
}

/*
 * True for the same key; any will do for a call that has not returned, as its kind
 * may be unknown.
 */
static bool same_key(uint64_t key, uint64_t home, bool pending)
{
	uint64_t without = pending && !(key & (KEY_STACK | KEY_KIND)) ? KEY_KIND : 0;

	return (key & ~without) == (home & ~without);
}

bool key_is_home(const struct home *home, uint64_t key, bool pending)
{
	if (!home->key || !key)
		return false;
	if (key_nr(key) != key_nr(home->key))
		return false;
	for (unsigned i = 0; i < HOME_KEYS - 1; i++)
		if (home->others[i] && same_key(key, home->others[i], pending))
			return true;
	if (!pending && !(key & KEY_STACK) && home_is_bare_futex(home))
		return true;
	/* without a stack, or at the window's begin, where nothing is before it */
	return same_key(key, home->key, pending) ||
	       (!(key & KEY_STACK) && ((home->key & KEY_STACK) || !(key & KEY_BEFORE)));
}

struct key_sum { uint64_t key, cnt, ns, max_ns; };

struct key_sums {		/* of one thread */
	VEC(struct key_sum) items;
	struct hmap by_key;	/* to place plus one */
};

static void sum_add(struct key_sums *t, uint64_t key, uint64_t ns)
{
	uint64_t *slot = hmap_slot(&t->by_key, key);
	struct key_sum *sum;

	if (!*slot) {
		vec_push(&t->items, ((struct key_sum){.key = key}));
		*slot = t->items.cnt;
	}
	sum = &t->items.items[*slot - 1];
	sum->cnt++;
	sum->ns += ns;
	sum->max_ns = ns > sum->max_ns ? ns : sum->max_ns;
}

/* Without the longest: where a thread hung once it does not rest. */
static uint64_t rest_ns(const struct key_sum *sum)
{
	return sum->ns - sum->max_ns;
}

/* The more weight the better; the lower key of two, whatever came first. */
static bool sum_better(const struct dims *d, const struct key_sum *a, const struct key_sum *b)
{
	uint64_t wa = a->cnt * home_weight(class_of(d, key_nr(a->key)));
	uint64_t wb = b->cnt ? b->cnt * home_weight(class_of(d, key_nr(b->key))) : 0;

	return wa != wb ? wa > wb : a->key < b->key;
}

/* The lowest keys stay: the table's order decides nothing. */
static void other_add(struct home *home, uint64_t key)
{
	for (unsigned i = 0; i < HOME_KEYS - 1; i++) {
		uint64_t was = home->others[i];

		if (was && was < key)
			continue;
		home->others[i] = key;
		key = was;
		if (!key)
			return;
	}
}

/* Once is no habit, and no stack says nothing where others have one. */
static bool may_be_home(const struct key_sum *sum, bool stacks)
{
	return sum->cnt >= HOME_MIN && (!stacks || sum->key & KEY_STACK);
}

/* homes: what is known beforehand, NULL: nothing. */
static struct key_sum best_home(const struct key_sums *t, const struct dims *d,
				const struct homes *homes, bool stacks)
{
	struct key_sum best = {0};
	uint64_t most_ns = 0;
	bool known = false;

	VEC_FOREACH(&t->items, sum) {
		known |= may_be_home(sum, stacks) && homes_ask(homes, sum->key) == HOME_KNOWN;
		if (rest_ns(sum) > most_ns && homes_ask(homes, sum->key) != HOME_NOT)
			most_ns = rest_ns(sum);
	}
	VEC_FOREACH(&t->items, sum)
		if (may_be_home(sum, stacks) && rest_ns(sum) >= most_ns / HOME_REST &&
		    (!known || homes_ask(homes, sum->key) == HOME_KNOWN) &&
		    sum_better(d, sum, &best))
			best = *sum;
	return best;
}

static void home_choose(const struct key_sums *t, const struct units_opts *o,
			struct home *ret_home)
{
	struct key_sum best;
	bool stacks = false;
	uint64_t others;

	*ret_home = (struct home){0};
	/* where only slow calls have stacks, the others say nothing of where they were made */
	VEC_FOREACH(&t->items, sum)
		stacks |= (sum->key & KEY_STACK) && sum->cnt >= HOME_MIN;
	best = best_home(t, o->dims, NULL, stacks);
	/* who only waits for others of the program is not the one to blame, see key_is_home */
	if (best.key & KEY_STACK || class_of(o->dims, key_nr(best.key)) != CALL_FUTEX)
		best = best_home(t, o->dims, o->homes, stacks);
	ret_home->key = best.key;
	ret_home->cls = (uint8_t)(best.key ? class_of(o->dims, key_nr(best.key)) : CALL_PLAIN);
	others = best.key & KEY_STACK ? HOME_OTHERS : HOME_OTHERS_BARE;
	VEC_FOREACH(&t->items, sum)
		if (best.key && sum->key != best.key && key_nr(sum->key) == key_nr(best.key) &&
		    (sum->key & KEY_STACK) == (best.key & KEY_STACK) &&
		    sum->cnt * others >= best.cnt && sum->cnt >= HOME_MIN)
			other_add(ret_home, sum->key);
}

static void home_find(struct units *u, const struct call *calls, const struct call_run *run,
		      const struct units_opts *o, struct home *ret_home)
{
	struct key_sums sums = {0};
	const struct call *before = NULL;
	uint64_t last = 0;	/* asked for */
	bool known = false;

	for (const struct call *c = calls + run->first; c < calls + run->first + run->cnt; c++) {
		uint64_t key;

		if (o->dims->of_nr[c->nr] == DIM_NONE)
			continue;
		key = call_key(o, c, before);
		before = c;
		if (!key || c->result == CALL_UNFINISHED)
			continue;
		if (key != last) {
			last = key;
			known = homes_ask(o->homes, key) == HOME_KNOWN;
		}
		/* a loop that is never done with its work need not sleep to ask for more */
		if (call_blocked(u, c) || known)
			sum_add(&sums, key, c->dur_ns);
	}
	home_choose(&sums, o, ret_home);
	vec_release(&sums.items);
	hmap_release(&sums.by_key);
}

/* ---- cutting */

struct cutter {
	const struct model *m;
	struct units *u;
	const struct units_opts *o;
	const struct call *calls;
	struct unit now;
	uint32_t features;	/* calls of the unit that are no noise */
	bool done;		/* it slept for work, or got something done since */
	bool torn;		/* its begin was not recorded */
};

/*
 * Of what was only seen from or to a time that the recorder was away: shorter
 * pieces tell nothing, and there are whole ones of their kind, for it leaves
 * where there are many.  What fills half of its phase is long anyway.
 */
#define TORN_MIN_NS UINT64_C(100000000)

static bool tells_nothing(const struct cutter *k, uint32_t next)
{
	const struct call *first = &k->calls[k->now.first], *last = &k->calls[next - 1];
	uint64_t begin_ns = first->begin_ns + (k->now.at_home ? first->dur_ns : 0);

	return last->result != CALL_UNFINISHED &&
	       last->begin_ns + last->dur_ns < begin_ns + TORN_MIN_NS;
}

static bool is_part(const struct call *c)
{
	return c->flags & CALLF_WAIT;
}

/* More than a wait for work: where only blocking calls are known what followed it may be. */
static bool has_work(const struct cutter *k)
{
	const struct call *first = &k->calls[k->now.first];

	if (k->features > k->now.at_home)
		return k->o->fns || !is_part(first);
	return k->features && k->o->fns && is_part(first) && first->result != CALL_UNFINISHED;
}

static void cut(struct cutter *k, uint32_t next)
{
	struct unit *now = &k->now;
	bool work = has_work(k);

	now->cnt = (next - now->first) & 0x7fffffff;
	if (k->torn && work && tells_nothing(k, next))
		k->u->torn_cnt++;
	else if (work)
		vec_push(&k->u->units, *now);
	else if (now->at_home)
		k->u->idle_cnt++;
	*now = (struct unit){.first = next};
	k->features = 0;
	k->done = k->torn = false;
}

/* Calls between these two went unseen, and ends and begins of work with them. */
static bool was_away(const struct cutter *k, const struct call *before, const struct call *c)
{
	const struct model_calls *all = k->m->calls;

	if (is_part(before) != is_part(c))
		return true;
	return all->away_cnt + all->coarse_cnt &&
	       calls_away_ns(all, before->begin_ns + before->dur_ns, c->begin_ns);
}

static void cut_torn(struct cutter *k, uint32_t next, bool at_home)
{
	k->torn = true;
	cut(k, next);
	k->torn = !at_home;
	k->done = true;
}

/* Something came of it: a loop around calls that give nothing is one unit. */
static bool got_done(const struct call *c)
{
	return c->result == CALL_OK || c->result == CALL_UNFINISHED || c->result == CALL_UNKNOWN;
}

static int cmp_u64(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

/*
 * A pause that is rare for this thread: ten times what one pause in a hundred
 * exceeds, from at most GAPS_SAMPLED of them at equal steps.
 */
static uint64_t gap_limit(const struct model_calls *all, const struct call_run *run)
{
	enum { GAPS_SAMPLED = 4096 };
	CLEANUP_FREE uint64_t *gaps = xcalloc(GAPS_SAMPLED + 1, sizeof(*gaps));
	uint32_t step = run->cnt / GAPS_SAMPLED + 1, cnt = 0;
	uint64_t limit;

	for (uint32_t i = 1; i < run->cnt && cnt < GAPS_SAMPLED; i += step)
		gaps[cnt++] = calls_pause_ns(all, run->first + i);
	if (cnt == 0)
		return UINT64_MAX;
	qsort(gaps, cnt, sizeof(*gaps), cmp_u64);
	limit = gaps[(size_t)(cnt - 1) * 99 / 100] * 10;
	return limit > GAP_MIN_NS ? limit : GAP_MIN_NS;
}

/* True at home; not in a wait with an owner, which is a lock: nobody waits for work in a lock. */
static bool is_at_home(const struct cutter *k, const struct home *home, const struct call *c,
		       const struct call *before)
{
	bool pending = c->result == CALL_UNFINISHED;

	if (!key_is_home(home, call_key(k->o, c, before), pending))
		return false;
	if (!home_is_bare_futex(home))
		return true;
	return call_blocked(k->u, c) &&
	       !(pending && hangs_waits_for(k->m, c->thread) != NO_IDX);
}

/* A loop that never comes home; a large unit that ends soon is whole. */
static bool is_endless(const struct cutter *k, uint32_t i)
{
	const struct call *first = &k->calls[k->now.first];
	uint64_t begin_ns = first->begin_ns + (k->now.at_home ? first->dur_ns : 0);

	return i - k->now.first >= UNIT_CALLS_MAX &&
	       k->calls[i].begin_ns >= begin_ns + UNIT_LONG_NS;
}

static void thread_cut(struct cutter *k, const struct call_run *run, const struct home *home)
{
	uint64_t limit = home->key ? UINT64_MAX : gap_limit(k->m->calls, run);
	const struct call *before = NULL;

	k->now = (struct unit){.first = run->first};
	k->features = 0;
	k->done = true;
	for (uint32_t i = run->first; i < run->first + run->cnt; i++) {
		const struct call *c = &k->calls[i];
		bool at_home;

		if (k->o->dims->of_nr[c->nr] == DIM_NONE) {
			k->u->noise_cnt++;
			continue;
		}
		at_home = is_at_home(k, home, c, before);
		if (before && was_away(k, before, c))
			cut_torn(k, i, at_home && call_blocked(k->u, c));
		else if ((at_home && (k->done || call_blocked(k->u, c))) ||
		    is_endless(k, i) ||
		    (before && c->begin_ns > before->begin_ns + before->dur_ns &&
		     c->begin_ns - before->begin_ns - before->dur_ns >= limit))
			cut(k, i);
		if (at_home && k->features == 0)
			k->now.at_home = 1;
		k->done |= at_home ? call_blocked(k->u, c) : got_done(c);
		k->features++;
		before = c;
	}
	cut(k, run->first + run->cnt);
}

/* ---- the paper's rule */

struct merged { uint64_t begin_ns; uint32_t at, thread; };

static int cmp_merged(const void *pa, const void *pb)
{
	const struct merged *a = pa, *b = pb;

	CMP(a->begin_ns, b->begin_ns);
	CMP(a->at, b->at);
	return 0;
}

static int cmp_unit(const void *pa, const void *pb)
{
	const struct unit *a = pa, *b = pb;

	return a->first < b->first ? -1 : a->first > b->first;
}

static void paper_cut(struct cutter *k, const struct model_calls *c)
{
	CLEANUP_FREE struct merged *order = xcalloc(c->cnt + 1, sizeof(*order));
	const struct call *last = NULL, *begin = NULL;

	for (size_t i = 0; i < c->cnt; i++)
		order[i] = (struct merged){c->calls[i].begin_ns, (uint32_t)i, c->calls[i].thread};
	qsort(order, c->cnt, sizeof(*order), cmp_merged);
	for (size_t i = 0; i < c->cnt; i++) {
		const struct call *at = &c->calls[order[i].at];

		if (last && (at->thread != last->thread || at->cpu != last->cpu ||
			     at->begin_ns - begin->begin_ns > PAPER_GAP_NS))
			cut(k, (uint32_t)(last - c->calls) + 1);
		if (!last || k->features == 0) {
			k->now = (struct unit){.first = order[i].at};
			begin = at;
		}
		last = at;
		if (k->o->dims->of_nr[at->nr] == DIM_NONE)
			k->u->noise_cnt++;
		else
			k->features++;
	}
	if (last)
		cut(k, (uint32_t)(last - c->calls) + 1);
	vec_sort(&k->u->units, cmp_unit);
}

void units_make(struct units *u, const struct model *m, const struct units_opts *o)
{
	const struct model_calls *c = m->calls;
	struct cutter k = {.m = m, .u = u, .o = o, .calls = c->calls};

	*u = (struct units){.has_switches = (c->flags & WINDOWF_SWITCHES) != 0};
	if (!u->has_switches)
		u->blocked_ns = blocked_limit(c, o->dims);
	u->homes = xcalloc(m->thread_cnt + 1, sizeof(*u->homes));
	if (o->rule == UNITS_PAPER) {
		paper_cut(&k, c);
		return;
	}
	for (size_t i = 0; i < m->thread_cnt; i++) {
		if (!c->runs[i].cnt)
			continue;
		home_find(u, c->calls, &c->runs[i], o, &u->homes[i]);
		thread_cut(&k, &c->runs[i], &u->homes[i]);
	}
}

void units_release(struct units *u)
{
	vec_release(&u->units);
	free(u->homes);
	*u = (struct units){0};
}
