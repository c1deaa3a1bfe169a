/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/rank/vote.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "functions/sig/automaton.h"
#include "functions/rank/stuck.h"
#include "functions/sig/learn.h"
#include "functions/units/normalize.h"
#include "functions/rank/context_vote.h"
#include "functions/sig/call_contexts.h"
#include "model/calls/calls.h"

/* An episode that all functions have still tells which functions there are. */
#define SPECIFICITY_MIN 0.01
/* A single sighting is less sure to be typical: as if it had been otherwise so many times. */
#define SEEN_DOUBT 2
/* Callers of who makes the calls. */
#define CALLER_VOTE 0.5
/*
 * A loop that goes round once more and a function that gives up leave an
 * episode unfinished: its beginning speaks for it too, from half of it and
 * two calls on, by the part that was seen.  One call alone begins many.
 * Where a whole episode explains as much, nothing was left unfinished.
 */
enum { OPENING_MIN = 2 };

struct voter { uint32_t fn; float weight; uint32_t episode; };

struct link { uint32_t at; struct voter voter; };

struct match { uint32_t id; uint32_t from, to; }; /* places in the unit's symbols */

struct held_back {		/* votes of one place that are not counted yet; cnt 0: none */
	struct place_answer answer;
	struct vote_evidence e;	/* of harm */
	double ns;
	bool is_harm;
};

struct stretch {		/* of symbols that are not known at their places */
	uint32_t thread;	/* plus one */
	size_t last, next;	/* known ones on either side; SIZE_MAX: none */
};

struct poll {
	const struct blame *b;
	const struct sigs *sigs;
	bool call_stacks;	/* of some calls, at least */
	struct votes *votes;
	VEC(struct episode) looked_for; /* the episodes, then beginnings that are none */
	uint32_t *voter_first;	/* by place in it, cnt + 1 */
	struct voter *voters;
	struct automaton *automaton;
	const uint16_t *nr_of;	/* by symbol of the signatures */
	uint8_t *left_out;	/* by nr: noise, and what no episode has */
	struct norm norm;
	struct place_index places;
	struct held_back held_back;
	struct thread_calls thread; /* of the unit */
	struct stretch stretch;	/* the last that was found */
	double usual_gap_ns;	/* of normal units */
	struct vote_sums sums;
	VEC(struct match) matches; /* by to */
	float *best;		/* by function: of the present place; 0 between two */
	uint32_t *best_ep;
	VEC(uint32_t) hit;	/* functions with best > 0 */
};

static double self_share(const struct sig_fn *f)
{
	return f->calls ? (double)f->self_calls / (double)f->calls : 0;
}

static float weight_of(const struct sigs *s, const struct sig_fn *f, const struct sig_ep *ep)
{
	double specific = s->specificity[ep->id];
	double typical = (double)ep->support / (double)(f->invocations + SEEN_DOUBT);

	specific = specific > SPECIFICITY_MIN ? specific : SPECIFICITY_MIN;
	return (float)(specific * typical *
		       (CALLER_VOTE + (1 - CALLER_VOTE) * self_share(f)));
}

/* Index of the episode among those that are looked for. */
static uint32_t place_of(struct poll *p, struct hmap *by_hash, const struct episode *e)
{
	for (uint64_t key = episode_hash(e);; key++) {
		uint64_t *slot = hmap_slot(by_hash, key);

		if (!*slot) {
			vec_push(&p->looked_for, *e);
			*slot = p->looked_for.cnt;
		} else if (episode_cmp(&p->looked_for.items[*slot - 1], e) != 0) {
			continue;
		}
		return (uint32_t)*slot - 1;
	}
}

static struct episode opening_of(const struct episode *e, unsigned len)
{
	struct episode o = {.len = (uint8_t)len};

	memcpy(o.syms, e->syms, len * sizeof(*o.syms));
	return o;
}

/* The episodes come first and are distinct: they keep their places. */
static void voters_index(struct poll *p, struct arena *arena)
{
	CLEANUP(hmap_release) struct hmap by_hash = {0};
	const struct sigs *s = p->sigs;
	VEC(struct link) links = {0};
	uint32_t *at;

	for (uint32_t e = 0; e < s->episode_cnt; e++)
		place_of(p, &by_hash, &s->episodes[e]);
	for (uint32_t i = 0; i < s->fn_cnt; i++)
		for (uint32_t k = 0; k < s->fns[i].ep_cnt; k++) {
			const struct sig_ep *ep = &s->fns[i].eps[k];
			const struct episode *e = &s->episodes[ep->id];
			float weight = weight_of(s, &s->fns[i], ep);
			unsigned len = (e->len + 1u) / 2;

			for (len = len < OPENING_MIN ? OPENING_MIN : len; len < e->len; len++) {
				struct episode o = opening_of(e, len);
				float seen = (float)len / (float)e->len;

				vec_push(&links, ((struct link){place_of(p, &by_hash, &o),
								{i, weight * seen, ep->id}}));
			}
			vec_push(&links, ((struct link){ep->id, {i, weight, ep->id}}));
		}
	p->voter_first = ARENA_ARRAY(arena, uint32_t, p->looked_for.cnt + 2);
	p->voters = ARENA_ARRAY(arena, struct voter, links.cnt + 1);
	VEC_FOREACH(&links, l)
		p->voter_first[l->at + 2]++;
	for (size_t e = 0; e < p->looked_for.cnt; e++)
		p->voter_first[e + 2] += p->voter_first[e + 1];
	at = p->voter_first + 1; /* filling moves each first to the next one's */
	VEC_FOREACH(&links, l)
		p->voters[at[l->at]++] = l->voter;
	vec_release(&links);
}

/*
 * A call that no function made when the signatures were learnt says nothing
 * of who makes it: it is left out, and counts with the call before it, which
 * was most likely made nearby.
 */
static void left_out_find(struct poll *p, struct arena *arena)
{
	const struct sigs *s = p->sigs;

	p->left_out = ARENA_ARRAY(arena, uint8_t, (size_t)UINT16_MAX + 1);
	memset(p->left_out, 1, (size_t)UINT16_MAX + 1);
	for (uint32_t e = 0; e < s->episode_cnt; e++)
		for (unsigned i = 0; s->chosen[e] && i < s->episodes[e].len; i++)
			p->left_out[p->nr_of[s->episodes[e].syms[i]]] = 0;
	for (uint32_t nr = 0; nr < p->b->p->m->calls->nr_cnt; nr++)
		p->left_out[nr] |= p->b->p->dims.noise[nr];
}

static void on_match(void *ctx, uint32_t id, size_t end)
{
	struct poll *p = ctx;
	uint32_t len = p->looked_for.items[id].len;

	vec_push(&p->matches, ((struct match){id, (uint32_t)end + 1 - len, (uint32_t)end}));
}

static void unit_match(struct poll *p, const struct unit *u)
{
	norm_calls(&p->norm, p->b->p->m->calls->calls, u->first, u->cnt, p->left_out);
	vec_clear(&p->matches);
	automaton_run(p->automaton, p->norm.syms, p->norm.cnt, on_match, p);
}

/* Its strongest vote of those for this place counts. */
static void hear(struct poll *p, const struct voter *v)
{
	if (p->best[v->fn] <= 0)
		vec_push(&p->hit, v->fn);
	if (v->weight <= p->best[v->fn])
		return;
	p->best[v->fn] = v->weight;
	p->best_ep[v->fn] = v->episode;
}

static uint32_t match_len(const struct match *m)
{
	return m->to - m->from + 1;
}

/* Matches over both places, from the first that can reach them on. */
static bool next_over(const struct poll *p, uint32_t from, uint32_t to, size_t *at)
{
	for (; *at < p->matches.cnt; ++*at) {
		const struct match *m = &p->matches.items[*at];

		if (m->to >= to + EPISODE_LEN_MAX)
			return false;
		if (m->from <= from && m->to >= to)
			return true;
	}
	return false;
}

/* Gathers their votes; begin: the first that can reach the places. */
static float ask(struct poll *p, uint32_t from, uint32_t to, size_t begin)
{
	uint32_t whole = 0;
	float most = 0;

	vec_clear(&p->hit);
	for (size_t i = begin; next_over(p, from, to, &i); i++) {
		const struct match *m = &p->matches.items[i];

		if (m->id < p->sigs->episode_cnt && p->sigs->chosen[m->id] && match_len(m) > whole)
			whole = match_len(m);
	}
	for (size_t i = begin; next_over(p, from, to, &i); i++) {
		const struct match *m = &p->matches.items[i];

		for (uint32_t k = p->voter_first[m->id]; k < p->voter_first[m->id + 1]; k++) {
			const struct voter *v = &p->voters[k];

			if (v->episode != m->id && match_len(m) <= whole)
				continue;
			hear(p, v);
			most = v->weight > most ? v->weight : most;
		}
	}
	return most;
}

/* How many symbols agree up to the episode's at-th, which is the one at the place; 0: not all. */
static unsigned agree_until(const struct poll *p, const struct episode *e, unsigned at,
			    size_t place, bool cut)
{
	for (unsigned back = 0; back <= at; back++) {
		if (back > place)
			return cut ? back : 0;
		if (p->nr_of[e->syms[at - back]] != p->norm.syms[place - back])
			return 0;
	}
	return at + 1;
}

/*
 * What would have followed a call that never returned is not known, nor, of
 * the thread's first unit, what was before the window: an episode that holds
 * the call and agrees with all that was seen before it speaks for its
 * functions, by the part of it that was seen.
 */
static float ask_pending(struct poll *p, const struct unit *u, size_t place, float most)
{
	const struct model_calls *c = p->b->p->m->calls;
	bool cut = u->first == c->runs[c->calls[u->first].thread].first;

	for (uint32_t i = 0; i < p->sigs->fn_cnt; i++)
		for (uint32_t k = 0; k < p->sigs->fns[i].ep_cnt; k++) {
			const struct sig_ep *ep = &p->sigs->fns[i].eps[k];
			const struct episode *e = &p->sigs->episodes[ep->id];
			struct voter v = {i, 0, ep->id};
			unsigned seen = 0;

			for (unsigned at = 0; at < e->len; at++) {
				unsigned agree = agree_until(p, e, at, place, cut);

				seen = agree > seen ? agree : seen;
			}
			if (!seen)
				continue;
			v.weight = weight_of(p->sigs, &p->sigs->fns[i], ep) * (float)seen /
				   (float)e->len;
			hear(p, &v);
			most = v.weight > most ? v.weight : most;
		}
	return most;
}

static void evidence_add(struct votes *v, const struct vote_evidence *e)
{
	struct vote_evidence *least = &v->ev[0];

	for (uint32_t i = 0; i < v->ev_cnt; i++) {
		struct vote_evidence *o = &v->ev[i];

		if (o->nr == e->nr && o->kind == e->kind) {
			o->harm_ns += e->harm_ns;
			o->cnt += e->cnt;
			o->unit_cnt += o->last_unit != e->last_unit;
			o->last_unit = e->last_unit;
			return;
		}
		if (o->harm_ns < least->harm_ns)
			least = o;
	}
	if (v->ev_cnt < VOTE_EVIDENCE)
		least = &v->ev[v->ev_cnt++];
	*least = *e;
	least->unit_cnt = 1;
}

/* Lays harm, or usual time where e is NULL, on a function. */
static void count_vote(struct poll *p, uint32_t fn, double ns, double near_ns,
		       struct vote_evidence *e)
{
	struct votes *v = &p->votes[fn];

	if (!e) {
		v->usual_ns += ns;
		v->usual_near_ns += near_ns;
		return;
	}
	v->harm_ns += ns;
	v->near_ns += near_ns;
	v->place_ns += e->episode == NO_IDX ? ns : 0;
	v->self_ns += ns * self_share(&p->sigs->fns[fn]);
	e->harm_ns = ns;
	evidence_add(v, e);
}

/* On those that ask() found. */
static void count_votes(struct poll *p, float most, double ns, struct vote_evidence *e)
{
	bool guess = e && p->places.entries.cnt; /* else no place was learnt at all */

	p->sums.guess_ns += guess ? ns : 0;
	VEC_FOREACH(&p->hit, fn) {
		double part = ns * (double)(p->best[*fn] / most);

		if (e)
			e->episode = p->best_ep[*fn];
		count_vote(p, *fn, part, part, e);
		p->best[*fn] = 0;
	}
}

static void held_back_count(struct poll *p)
{
	struct held_back *h = &p->held_back;
	const struct place_voter *voters = &p->places.voters.items[h->answer.first];

	for (uint32_t i = 0; i < h->answer.cnt; i++)
		count_vote(p, voters[i].fn, h->ns * (double)voters[i].share,
			   h->ns * (double)voters[i].near, h->is_harm ? &h->e : NULL);
	h->answer.cnt = 0;
}

/* Compares at one place, and for one unit and kind. */
static bool is_more_of(const struct held_back *h, struct place_answer a,
		       const struct vote_evidence *e)
{
	return h->answer.cnt && h->answer.first == a.first && h->is_harm == (e != NULL) &&
	       (!e || (e->nr == h->e.nr && e->kind == h->e.kind &&
		       e->last_unit == h->e.last_unit));
}

static bool is_known(struct poll *p, size_t s)
{
	struct sig_place place = call_place(&p->thread, p->thread.norm.first[s]);

	return place_is_known(&p->places, &place);
}

/* The stretch that the symbol is of, which is not known; calls are asked for in their order. */
static const struct stretch *stretch_of(struct poll *p, size_t s)
{
	struct stretch *x = &p->stretch;

	if (x->thread == p->thread.thread + 1 && s < x->next &&
	    (x->last == SIZE_MAX || s > x->last))
		return x;
	x->thread = p->thread.thread + 1;
	x->last = x->next = SIZE_MAX;
	for (size_t i = s; i-- > 0 && x->last == SIZE_MAX;)
		if (is_known(p, i))
			x->last = i;
	for (size_t i = s + 1; i < p->thread.norm.cnt && x->next == SIZE_MAX; i++)
		if (is_known(p, i))
			x->next = i;
	return x;
}

/*
 * Where a function makes calls that were never seen in that order, all of them
 * and what is between lies in the gap from the last known call to the next: who
 * ran there makes them now.  Not those that wait: of a lock nothing is known
 * by who ran.  cnt 0: there is no such gap, or nobody ran in it.
 */
static struct place_answer ask_around(struct poll *p, uint32_t call, struct sig_place *place)
{
	size_t s = thread_symbol(&p->thread, call);
	bool gap = place->around[SIG_AT] == SIG_NO_CALL;
	const struct stretch *x;
	struct place_answer a = {0};

	if (gap && s < p->thread.norm.cnt && is_known(p, s))
		s++;
	if (s >= p->thread.norm.cnt || is_known(p, s))
		return a;
	x = stretch_of(p, s);
	if (x->last == SIZE_MAX || x->next == SIZE_MAX)
		return a;
	*place = gap_between(&p->thread, x->last, x->next);
	a = place_ask(&p->places, place);
	if (a.told == TOLD_GUESS)
		a.cnt = 0;
	if (a.told == TOLD_SEEN)
		a.told = TOLD_NEARBY;
	return a;
}

/* On those that are known at the place of the call or the gap after it; false: nobody is. */
static bool count_place(struct poll *p, uint32_t call, struct sig_place *place, double ns,
			const struct vote_evidence *e)
{
	struct place_answer a = place_ask(&p->places, place), around;
	struct held_back *h = &p->held_back;

	if (a.told == TOLD_GUESS && !a.home && !(place->what & SIG_BLOCKED)) {
		around = ask_around(p, call, place);
		a = around.cnt ? around : a;
	}

	p->sums.home_ns += e && a.home ? ns : 0;
	if (!a.cnt)
		return a.home;
	p->sums.guess_ns += e && a.told != TOLD_SEEN ? ns : 0;
	if (is_more_of(h, a, e)) { /* a loop's calls are counted at once */
		h->ns += ns;
		h->e.cnt += e ? e->cnt : 0;
		return true;
	}
	held_back_count(p);
	*h = (struct held_back){.answer = a, .ns = ns, .is_harm = e != NULL};
	if (e) {
		h->e = *e;
		h->e.episode = NO_IDX;
		h->e.before = place->around[SIG_BEFORE];
		h->e.after = place->around[SIG_AFTER];
	}
	return true;
}

static bool is_noise(const struct poll *p, uint32_t call)
{
	return p->b->p->dims.noise[p->b->p->m->calls->calls[call].nr];
}

/* Calls of a symbol: [ret_from, ret_to) from the unit's first. */
static void sym_calls(const struct poll *p, const struct unit *u, size_t sym, uint32_t *ret_from,
		      uint32_t *ret_to)
{
	*ret_from = sym ? p->norm.first[sym] - u->first : 0;
	*ret_to = sym + 1 < p->norm.cnt ? p->norm.first[sym + 1] - u->first : u->cnt;
}

/* By its stack, or by samples of the thread. */
static bool told_by_stack(const struct poll *p, const struct unit *u, const struct call *c)
{
	return p->b->p->fns && (c->stack != NO_IDX || blame_sampled(p->b, u, c));
}

/*
 * Lays the harm of a symbol's calls that no stack tells on the functions known
 * at their places.  Returns what nobody knows of, with the call and the kind of
 * most of it.
 */
static double symbol_harm(struct poll *p, const struct unit *u, const struct vectors *v,
			  const struct judged *r, size_t s, struct vote_evidence *ret_e)
{
	const struct call *calls = p->b->p->m->calls->calls + u->first;
	double ns = 0, most = 0;
	uint32_t from, to;

	sym_calls(p, u, s, &from, &to);
	for (uint32_t i = from; i < to; i++) {
		struct share share = blame_call(p->b, u, r, v, i);
		struct vote_evidence e = {.nr = calls[i].nr, .kind = share.kind, .cnt = 1,
					  .last_unit = ret_e->last_unit};
		struct sig_place place;

		if (told_by_stack(p, u, &calls[i]) || share.ns <= 0 || is_noise(p, u->first + i))
			continue;
		place = call_place(&p->thread, u->first + i);
		if (count_place(p, u->first + i, &place, share.ns, &e))
			continue;
		ns += share.ns;
		ret_e->cnt++;
		if (share.ns <= most)
			continue;
		most = share.ns;
		ret_e->kind = share.kind;
		ret_e->nr = calls[i].nr;
	}
	return ns;
}

/* The same of the usual time; of all of it, ret_all_ns. */
static double symbol_usual(struct poll *p, const struct unit *u, size_t s, double *ret_all_ns)
{
	const struct call *calls = p->b->p->m->calls->calls + u->first;
	double ns = 0;
	uint32_t from, to;

	sym_calls(p, u, s, &from, &to);
	for (uint32_t i = from; i < to; i++) {
		struct sig_place place;

		*ret_all_ns += (double)calls[i].dur_ns;
		if (is_noise(p, u->first + i))
			continue;
		place = call_place(&p->thread, u->first + i);
		if (!count_place(p, u->first + i, &place, (double)calls[i].dur_ns, NULL))
			ns += (double)calls[i].dur_ns;
	}
	return ns;
}

/* A gap too short for a clock to hit is of who makes the calls around it. */
static bool count_gap(struct poll *p, uint32_t call, double gap_ns, double ns,
		      const struct vote_evidence *e)
{
	struct sig_place place = gap_place(&p->thread, call, (uint64_t)gap_ns);

	if (count_place(p, call, &place, ns, e))
		return true;
	for (uint32_t i = call; i < call + 2; i++) {
		if (is_noise(p, i))
			continue;
		place = call_place(&p->thread, i);
		if (place_ask(&p->places, &place).cnt)
			return count_place(p, i, &place, ns, e);
	}
	return false;
}

/*
 * Lays the time after the calls of a symbol on the functions that run there;
 * harm: how much of it is harm, 0 for usual time.  Returns what nobody knows of.
 */
static double gaps_count(struct poll *p, const struct unit *u, size_t s, double harm,
			 const struct vote_evidence *e)
{
	const struct model_calls *c = p->b->p->m->calls;
	const struct call *calls = c->calls + u->first;
	uint32_t run_end = c->runs[calls->thread].first + c->runs[calls->thread].cnt, from, to;
	double unknown_ns = 0;

	sym_calls(p, u, s, &from, &to);
	for (uint32_t i = from; i < to; i++) {
		bool has_next = u->first + i + 1 < run_end;
		double ns = has_next ? (double)own_gap_ns(c, &calls[i], &calls[i + 1]) : 0;

		if (ns <= 0)
			continue;
		p->usual_gap_ns += harm > 0 ? 0 : ns;
		if (!count_gap(p, u->first + i, ns, harm > 0 ? harm * ns : ns,
			       harm > 0 ? e : NULL))
			unknown_ns += ns;
	}
	return unknown_ns;
}

/* The time between calls: by the stacks of these, or by samples. */
static bool gaps_told(const struct poll *p, const struct unit *u)
{
	return p->b->p->fns && (p->call_stacks || blame_sampled(p->b, u, NULL));
}

static void poll_bad(struct poll *p, const struct unit *u, const struct vectors *v,
		     const struct judged *r)
{
	const struct call *last = &p->b->p->m->calls->calls[u->first + u->cnt - 1];
	uint32_t unit = (uint32_t)(u - p->b->p->units.units.items) + 1;
	double own_ns = 0;
	size_t begin = 0;

	for (uint32_t k = 0; k < r->dev_cnt && !gaps_told(p, u); k++)
		if (r->devs[k].kind == DEV_OWN)
			own_ns += r->devs[k].harm_ns * r->weight;
	own_ns /= (double)v->at[DIM_OWN].ns + 1;
	for (size_t s = 0; s < p->norm.cnt; s++) {
		struct vote_evidence e = {.nr = p->norm.syms[s], .last_unit = unit};
		double ns = symbol_harm(p, u, v, r, s, &e);
		struct vote_evidence gap = {.nr = NR_OWN, .kind = DEV_OWN, .cnt = 1,
					    .last_unit = unit};
		double gap_ns = own_ns > 0 ? gaps_count(p, u, s, own_ns, &gap) : 0;
		uint32_t at = (uint32_t)s, next = (uint32_t)(s + 1 < p->norm.cnt ? s + 1 : s);

		while (begin < p->matches.cnt && p->matches.items[begin].to < s)
			begin++;
		if (ns > 0) {
			float most = ask(p, at, at, begin);

			if (s + 1 == p->norm.cnt && last->result == CALL_UNFINISHED &&
			    last->nr == p->norm.syms[s])
				most = ask_pending(p, u, s, most);
			count_votes(p, most, ns, &e);
		}
		if (gap_ns > 0)
			count_votes(p, ask(p, at, next, begin), own_ns * gap_ns, &gap);
	}
}

static double poll_normal(struct poll *p, const struct unit *u)
{
	double all_ns = 0;
	size_t begin = 0;

	for (size_t s = 0; s < p->norm.cnt; s++) {
		double ns;

		while (begin < p->matches.cnt && p->matches.items[begin].to < s)
			begin++;
		if (!p->b->p->fns)
			gaps_count(p, u, s, 0, NULL);
		if (s < u->at_home) /* the wait for work */
			continue;
		ns = symbol_usual(p, u, s, &all_ns);
		if (ns > 0)
			count_votes(p, ask(p, (uint32_t)s, (uint32_t)s, begin), ns, NULL);
	}
	return all_ns;
}

static double poll_units(struct poll *p)
{
	const struct units *units = &p->b->p->units;
	struct vectors *v = vectors_new(p->b->p->m, &p->b->p->dims);
	struct judged *r = xcalloc(1, sizeof(*r));
	size_t step = units->units.cnt / VOTE_NORMAL_MAX + 1;
	double all_ns = 0;

	for (size_t i = 0; i < units->units.cnt; i++) {
		const struct unit *u = &units->units.items[i];

		vectors_of(v, u);
		judge_unit(p->b->j, u, v, r);
		if (!r->reasons && i % step)
			continue;
		unit_match(p, u);
		thread_calls_make(&p->thread, p->b->p, p->b->p->m->calls->calls[u->first].thread);
		if (r->reasons)
			poll_bad(p, u, v, r);
		else
			all_ns += poll_normal(p, u);
	}
	vectors_free(v);
	free(r);
	return all_ns;
}

/* A thread that makes no more calls: what runs after the last that it made. */
static void poll_spin(struct poll *p, const struct spin *spin)
{
	const struct call_run *run = &p->b->p->m->calls->runs[spin->thread];
	struct vote_evidence e = {.nr = NR_OWN, .kind = DEV_SPINS, .cnt = 1};
	struct sig_place place;

	if (p->b->p->fns && (p->call_stacks || spin->sampled))
		return;
	thread_calls_make(&p->thread, p->b->p, spin->thread);
	place = gap_place(&p->thread, run->first + run->cnt, spin->end_ns - spin->begin_ns);
	count_place(p, run->first + run->cnt, &place, spin->harm_ns, &e);
}

struct votes *vote_make(const struct blame *b, const struct sigs *sigs, struct arena *arena,
			struct vote_sums *ret_sums)
{
	struct poll p = {.b = b, .sigs = sigs};
	uint32_t name_cnt;
	const char **names = model_call_names(b->p->m, arena, &name_cnt);

	for (size_t i = 0; i < b->p->m->calls->cnt && !p.call_stacks; i++)
		p.call_stacks = b->p->m->calls->calls[i].stack != NO_IDX;
	p.votes = ARENA_ARRAY(arena, struct votes, sigs->fn_cnt + 1);
	p.best = ARENA_ARRAY(arena, float, sigs->fn_cnt + 1);
	p.best_ep = ARENA_ARRAY(arena, uint32_t, sigs->fn_cnt + 1);
	p.nr_of = sig_bind(sigs, names, name_cnt, arena);
	voters_index(&p, arena);
	left_out_find(&p, arena);
	p.automaton = automaton_new(p.looked_for.items, (uint32_t)p.looked_for.cnt, p.nr_of, 0);
	place_index_make(&p.places, sigs, p.nr_of);
	p.sums.usual_ns = poll_units(&p) + p.usual_gap_ns;
	for (uint32_t i = 0; i < b->hangs->spin_cnt; i++)
		poll_spin(&p, &b->hangs->spins[i]);
	held_back_count(&p);
	p.sums.call_stacks = p.call_stacks;
	*ret_sums = p.sums;
	place_index_release(&p.places);
	thread_calls_release(&p.thread);
	automaton_free(p.automaton);
	norm_release(&p.norm);
	vec_release(&p.looked_for);
	vec_release(&p.matches);
	vec_release(&p.hit);
	return p.votes;
}
