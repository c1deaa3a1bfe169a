/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/vote.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/vec.h"
#include "functions/automaton.h"
#include "functions/learn.h"
#include "functions/norm.h"
#include "model/calls.h"

/* An episode that all functions have still tells which functions there are. */
#define SPECIFICITY_MIN 0.01
/* What was seen once is less sure to be typical: as if it had been otherwise so many times. */
#define SEEN_DOUBT 2
/* Callers of who makes the calls. */
#define CALLER_VOTE 0.5

struct voter { uint32_t fn; float weight; };

struct match { uint32_t id; uint32_t from, to; }; /* places in the unit's symbols */

struct poll {
	const struct blame *b;
	const struct sigs *sigs;
	struct votes *votes;
	uint32_t *voter_first;	/* by episode, cnt + 1 */
	struct voter *voters;
	struct automaton *automaton;
	struct norm norm;
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

static void voters_index(struct poll *p, struct arena *arena)
{
	const struct sigs *s = p->sigs;
	uint32_t *at;

	p->voter_first = ARENA_ARRAY(arena, uint32_t, s->episode_cnt + 2);
	for (uint32_t i = 0; i < s->fn_cnt; i++)
		for (uint32_t e = 0; e < s->fns[i].ep_cnt; e++)
			p->voter_first[s->fns[i].eps[e].id + 2]++;
	for (uint32_t e = 0; e < s->episode_cnt; e++)
		p->voter_first[e + 2] += p->voter_first[e + 1];
	p->voters = ARENA_ARRAY(arena, struct voter, p->voter_first[s->episode_cnt + 1] + 1);
	at = p->voter_first + 1; /* filling moves each first to the next one's */
	for (uint32_t i = 0; i < s->fn_cnt; i++)
		for (uint32_t e = 0; e < s->fns[i].ep_cnt; e++)
			p->voters[at[s->fns[i].eps[e].id]++] = (struct voter){
				i, weight_of(s, &s->fns[i], &s->fns[i].eps[e])};
}

static void on_match(void *ctx, uint32_t id, size_t end)
{
	struct poll *p = ctx;
	uint32_t len = p->sigs->episodes[id].len;

	vec_push(&p->matches, ((struct match){id, (uint32_t)end + 1 - len, (uint32_t)end}));
}

static void unit_match(struct poll *p, const struct unit *u)
{
	norm_calls(&p->norm, p->b->p->m->calls->calls, u->first, u->cnt, p->b->p->dims.noise);
	vec_clear(&p->matches);
	automaton_run(p->automaton, p->norm.syms, p->norm.cnt, on_match, p);
}

/* What the matches over both places say; begin: the first match that can reach them. */
static float ask(struct poll *p, uint32_t from, uint32_t to, size_t begin)
{
	float most = 0;

	vec_clear(&p->hit);
	for (size_t i = begin; i < p->matches.cnt; i++) {
		const struct match *m = &p->matches.items[i];

		if (m->to >= to + EPISODE_LEN_MAX)
			break;
		if (m->from > from || m->to < to)
			continue;
		for (uint32_t v = p->voter_first[m->id]; v < p->voter_first[m->id + 1]; v++) {
			const struct voter *voter = &p->voters[v];

			if (p->best[voter->fn] <= 0)
				vec_push(&p->hit, voter->fn);
			if (voter->weight > p->best[voter->fn]) {
				p->best[voter->fn] = voter->weight;
				p->best_ep[voter->fn] = m->id;
			}
			most = voter->weight > most ? voter->weight : most;
		}
	}
	return most;
}

static void evidence_add(struct votes *v, const struct vote_evidence *e)
{
	struct vote_evidence *least = NULL;

	for (uint32_t i = 0; i < v->ev_cnt; i++) {
		struct vote_evidence *o = &v->ev[i];

		if (o->nr == e->nr && o->kind == e->kind) {
			o->harm_ns += e->harm_ns;
			o->cnt += e->cnt;
			o->unit_cnt += o->last_unit != e->last_unit;
			o->last_unit = e->last_unit;
			return;
		}
		if (!least || o->harm_ns < least->harm_ns)
			least = o;
	}
	if (v->ev_cnt < VOTE_EVIDENCE)
		least = &v->ev[v->ev_cnt++];
	*least = *e;
	least->unit_cnt = 1;
}

/* Lays harm, or usual time where e is NULL, on those that ask() found. */
static void count_votes(struct poll *p, float most, double ns, struct vote_evidence *e)
{
	VEC_FOREACH(&p->hit, fn) {
		struct votes *v = &p->votes[*fn];
		double part = ns * (double)(p->best[*fn] / most);

		if (e) {
			v->harm_ns += part;
			v->self_ns += part * self_share(&p->sigs->fns[*fn]);
			e->harm_ns = part;
			e->episode = p->best_ep[*fn];
			evidence_add(v, e);
		} else {
			v->usual_ns += part;
		}
		p->best[*fn] = 0;
	}
}

/* Calls of a symbol: [ret_from, ret_to) from the unit's first. */
static void sym_calls(const struct poll *p, const struct unit *u, size_t sym, uint32_t *ret_from,
		      uint32_t *ret_to)
{
	*ret_from = p->norm.first[sym] - u->first;
	*ret_to = sym + 1 < p->norm.cnt ? p->norm.first[sym + 1] - u->first : u->cnt;
}

static bool told_by_stack(const struct poll *p, const struct call *c)
{
	return p->b->p->fns && c->stack != NO_IDX;
}

static void poll_bad(struct poll *p, const struct unit *u, const struct vectors *v,
		     const struct judged *r)
{
	const struct call *calls = p->b->p->m->calls->calls + u->first;
	uint32_t unit = (uint32_t)(u - p->b->p->units.units.items) + 1;
	double own_ns = 0;
	size_t begin = 0;

	for (uint32_t k = 0; k < r->dev_cnt; k++)
		if (r->devs[k].kind == DEV_OWN)
			own_ns += r->devs[k].harm_ns * r->weight;
	for (size_t s = 0; s < p->norm.cnt; s++) {
		struct vote_evidence e = {.nr = p->norm.syms[s], .last_unit = unit};
		double ns = 0, gap_ns = 0;
		uint32_t from, to;

		while (begin < p->matches.cnt && p->matches.items[begin].to < s)
			begin++;
		sym_calls(p, u, s, &from, &to);
		for (uint32_t i = from; i < to; i++) {
			struct share share = blame_call(p->b, u, r, v, i);

			if (!told_by_stack(p, &calls[i]) && share.ns > 0) {
				ns += share.ns;
				e.kind = share.kind;
				e.cnt++;
			}
			if (i + 1 < u->cnt)
				gap_ns += (double)own_gap_ns(&calls[i], &calls[i + 1]);
		}
		if (ns > 0)
			count_votes(p, ask(p, (uint32_t)s, (uint32_t)s, begin), ns, &e);
		if (own_ns > 0 && gap_ns > 0 && !p->b->p->fns) {
			uint32_t next = (uint32_t)(s + 1 < p->norm.cnt ? s + 1 : s);

			e = (struct vote_evidence){.nr = NR_OWN, .kind = DEV_OWN, .cnt = 1,
						   .last_unit = unit};
			count_votes(p, ask(p, (uint32_t)s, next, begin),
				    own_ns * gap_ns / ((double)v->at[DIM_OWN].ns + 1), &e);
		}
	}
}

static double poll_normal(struct poll *p, const struct unit *u)
{
	const struct call *calls = p->b->p->m->calls->calls + u->first;
	double all_ns = 0;
	size_t begin = 0;

	for (size_t s = u->at_home; s < p->norm.cnt; s++) {
		uint32_t from, to;
		double ns = 0;

		while (begin < p->matches.cnt && p->matches.items[begin].to < s)
			begin++;
		sym_calls(p, u, s, &from, &to);
		for (uint32_t i = from; i < to; i++)
			ns += (double)calls[i].dur_ns;
		all_ns += ns;
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
		if (r->reasons)
			poll_bad(p, u, v, r);
		else
			all_ns += poll_normal(p, u);
	}
	vectors_free(v);
	free(r);
	return all_ns;
}

struct votes *vote_make(const struct blame *b, const struct sigs *sigs, struct arena *arena,
			double *ret_usual_all_ns)
{
	struct poll p = {.b = b, .sigs = sigs};
	uint32_t name_cnt;
	const char **names = model_call_names(b->p->m, arena, &name_cnt);

	p.votes = ARENA_ARRAY(arena, struct votes, sigs->fn_cnt + 1);
	p.best = ARENA_ARRAY(arena, float, sigs->fn_cnt + 1);
	p.best_ep = ARENA_ARRAY(arena, uint32_t, sigs->fn_cnt + 1);
	voters_index(&p, arena);
	p.automaton = automaton_new(sigs->episodes, sigs->episode_cnt,
				    sig_bind(sigs, names, name_cnt, arena), 0);
	*ret_usual_all_ns = poll_units(&p);
	automaton_free(p.automaton);
	norm_release(&p.norm);
	vec_release(&p.matches);
	vec_release(&p.hit);
	return p.votes;
}
