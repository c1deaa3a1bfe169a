/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/rank/attribute.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cmp.h"
#include "base/search.h"
#include "functions/units/app_frames.h"
#include "model/calls/calls.h"
#include "model/stack.h"

struct sample_at { uint32_t idx, thread; uint64_t ts_ns; };

static int cmp_sample(const void *pa, const void *pb)
{
	const struct sample_at *a = pa, *b = pb;

	CMP(a->thread, b->thread);
	CMP(a->ts_ns, b->ts_ns);
	CMP(a->idx, b->idx);
	return 0;
}

static void samples_index(struct blame *b, struct arena *arena)
{
	const struct model *m = b->p->m;
	struct sample_at *at;

	b->sample_first = ARENA_ARRAY(arena, uint32_t, m->thread_cnt + 1);
	if (!m->sample_cnt || !b->p->fns)
		return;
	b->samples = ARENA_ARRAY(arena, uint32_t, m->sample_cnt);
	b->sample_bad = ARENA_ARRAY(arena, uint8_t, m->sample_cnt);
	at = xcalloc(m->sample_cnt, sizeof(*at));
	b->sampled_from_ns = UINT64_MAX;
	for (uint32_t i = 0; i < m->sample_cnt; i++) {
		uint64_t ts_ns = m->samples[i].ts_ns;

		at[i] = (struct sample_at){i, m->samples[i].thread, ts_ns};
		b->sampled_from_ns = ts_ns < b->sampled_from_ns ? ts_ns : b->sampled_from_ns;
		b->sampled_to_ns = ts_ns > b->sampled_to_ns ? ts_ns : b->sampled_to_ns;
	}
	qsort(at, m->sample_cnt, sizeof(*at), cmp_sample);
	for (uint32_t i = 0, t = 0; i < m->sample_cnt; i++) {
		while (t <= at[i].thread)
			b->sample_first[t++] = i;
		b->samples[i] = at[i].idx;
		for (uint32_t rest = t; rest <= m->thread_cnt && i + 1 == m->sample_cnt; rest++)
			b->sample_first[rest] = i + 1;
	}
	free(at);
}

void blame_init(struct blame *b, struct judge *j, const struct sigs *sigs, struct arena *arena)
{
	size_t threads = j->p->m->thread_cnt + 1;

	*b = (struct blame){.j = j, .p = j->p, .sigs = sigs};
	b->abnormal_of = ARENA_ARRAY(arena, uint64_t, j->p->cluster_cnt + 1);
	b->thread_bad_ns = ARENA_ARRAY(arena, uint64_t, threads);
	b->thread_onset_ns = ARENA_ARRAY(arena, uint64_t, threads);
	samples_index(b, arena);
}

void blame_release(struct blame *b)
{
	vec_release(&b->sites);
	vec_release(&b->bad);
	hmap_release(&b->by_key);
}

struct site *blame_site(struct blame *b, uint32_t stack, uint16_t nr, uint32_t before,
			bool sampled)
{
	/* stacks are fewer than 2^24 (EVENT_STACK_MAX); none is the largest number */
	uint64_t key = (uint64_t)(stack & 0xffffff) << 40 | (uint64_t)nr << 24 |
		       (before & 0xffffff);
	uint64_t *slot;
	struct site *s;

	if (sampled)
		key = (uint64_t)(stack & 0xffffff) << 40 | UINT64_C(0xfffe000000);
	slot = hmap_slot(&b->by_key, key);
	if (*slot)
		return &b->sites.items[*slot - 1];
	s = vec_add(&b->sites);
	*slot = b->sites.cnt;
	s->stack = stack;
	s->other = before;
	s->nr = nr;
	s->sampled = sampled;
	return s;
}

/* ---- one unit */

static void site_harm(struct blame *b, struct site *s, unsigned kind, double ns, uint32_t unit)
{
	s->harm_ns[kind] += ns;
	s->bad_cnt++;
	b->class_harm[kind] += ns;
	if (s->last_unit != unit + 1) {
		s->last_unit = unit + 1;
		s->unit_cnt++;
	}
}

/*
 * Which of them are too many is not known, but where the time was that they
 * took: in the long ones, and in all alike what was between them.
 */
static double more_part(const struct vectors *v, const struct feature *f, uint64_t dur_ns)
{
	const struct feature *own = &v->at[DIM_OWN];
	double between_ns = own->cnt ? (double)own->ns / own->cnt * f->cnt : 0;
	double all_ns = (double)f->ns + between_ns;

	return all_ns > 0 ? ((double)dur_ns + between_ns / f->cnt) / all_ns : 1.0 / f->cnt;
}

struct share blame_call(const struct blame *b, const struct unit *u, const struct judged *r,
			const struct vectors *v, uint32_t i)
{
	const struct call *c = &b->p->m->calls->calls[u->first + i];
	unsigned dim = b->p->dims.of_nr[c->nr];
	struct share best = {0, DEV_COST};
	double sum = 0;

	if (dim == DIM_NONE || (i == 0 && u->at_home))
		return best;
	for (uint32_t k = 0; k < r->dev_cnt; k++) {
		const struct deviation *d = &r->devs[k];
		const struct feature *f = &v->at[dim];
		double ns = 0;

		if (d->dim != dim)
			continue;
		if (d->kind == DEV_MORE)
			ns = d->harm_ns * more_part(v, f, c->dur_ns);
		else if (d->kind == DEV_NEVER)
			ns = c->result == CALL_UNFINISHED ? d->harm_ns : 0;
		else if (f->ns) /* the longer, the more it has to do with it */
			ns = d->harm_ns * (double)c->dur_ns / (double)f->ns;
		sum += ns;
		if (ns > best.ns)
			best = (struct share){ns, d->kind};
	}
	best.ns = sum * r->weight;
	return best;
}

/*
 * Tracers that take the stack when a call returns have none of one that did
 * not: the call before was most likely made nearby.
 */
static uint32_t stack_near(const struct blame *b, const struct unit *u, uint32_t i)
{
	const struct call *calls = b->p->m->calls->calls + u->first;

	if (calls[i].result == CALL_UNFINISHED && b->p->fns)
		while (calls[i].stack == NO_IDX && i > u->at_home)
			i--;
	return calls[i].stack;
}

/* Samples in a part of a thread's time, as a run of b->samples. */
static uint32_t samples_from(const struct blame *b, uint32_t thread, uint64_t ns)
{
	uint32_t first = b->sample_first[thread], cnt = b->sample_first[thread + 1] - first;

	return first + (uint32_t)SORTED_PREFIX(b->samples + first, cnt, it,
					       b->p->m->samples[*it].ts_ns < ns);
}

bool blame_sampled(const struct blame *b, const struct unit *u, const struct call *c)
{
	uint32_t thread = b->p->m->calls->calls[u->first].thread;

	if (!b->samples || (c && b->sigs && c->flags & CALLF_BLOCKED))
		return false;
	return samples_from(b, thread, unit_begin_ns(b->p->m, u)) <
	       samples_from(b, thread, unit_end_ns(b->p->m, u));
}

static const struct call *next_call(const struct blame *b, const struct unit *u, uint32_t i)
{
	const struct call *c = &b->p->m->calls->calls[u->first + i];
	const struct call_run *run = &b->p->m->calls->runs[c->thread];

	return u->first + i + 1 < run->first + run->cnt ? c + 1 : NULL;
}

/* The time between calls without samples: what the stacks before and after it share. */
static void own_by_pairs(struct blame *b, const struct unit *u, double harm_ns, uint64_t all_ns)
{
	const struct call *calls = b->p->m->calls->calls;

	for (uint32_t i = 0; i < u->cnt; i++) {
		const struct call *c = &calls[u->first + i], *next = next_call(b, u, i);
		uint64_t gap_ns = next ? own_gap_ns(b->p->m->calls, c, next) : 0;
		struct site *s;

		if (!gap_ns || !all_ns)
			continue;
		s = blame_site(b, next->stack, NR_OWN, c->stack, false);
		if (harm_ns > 0)
			site_harm(b, s, DEV_OWN, harm_ns * (double)gap_ns / (double)all_ns,
				  (uint32_t)(u - b->p->units.units.items));
		else
			s->usual_ns += (double)gap_ns;
	}
}

/*
 * Harm in calls of which no stack was taken is where the thread was seen
 * meanwhile: a thread that makes many fast calls runs between and in them.
 */
static void calls_by_samples(struct blame *b, const struct unit *u, unsigned dim, unsigned kind)
{
	const struct model *m = b->p->m;
	uint32_t thread = m->calls->calls[u->first].thread, from, to;
	uint16_t nr = b->p->dims.nr_of[dim];

	if (!b->samples || b->no_stack_ns[dim] <= 0)
		return;
	from = samples_from(b, thread, unit_begin_ns(m, u));
	to = samples_from(b, thread, unit_end_ns(m, u));
	for (uint32_t i = from; i < to; i++) {
		b->sample_bad[b->samples[i]] = 1;
		site_harm(b, blame_site(b, m->samples[b->samples[i]].stack, nr, 0, false), kind,
			  b->no_stack_ns[dim] / (to - from),
			  (uint32_t)(u - b->p->units.units.items));
	}
}

/* true when there were samples to lay it on. */
static bool own_by_samples(struct blame *b, const struct unit *u, double harm_ns)
{
	const struct model *m = b->p->m;
	uint32_t thread = m->calls->calls[u->first].thread, from, to;

	if (!b->samples)
		return false;
	from = samples_from(b, thread, unit_begin_ns(m, u));
	to = samples_from(b, thread, unit_end_ns(m, u));
	for (uint32_t i = from; i < to; i++) {
		const struct sample *s = &m->samples[b->samples[i]];

		b->sample_bad[b->samples[i]] = 1;
		site_harm(b, blame_site(b, s->stack, NR_OWN, NO_IDX, true), DEV_OWN,
			  harm_ns / (to - from), (uint32_t)(u - b->p->units.units.items));
	}
	return from < to;
}

static int cmp_bad(const void *pa, const void *pb)
{
	const struct bad_unit *a = pa, *b = pb;

	CMP(b->harm_ns, a->harm_ns);
	CMP(a->unit, b->unit);
	return 0;
}

static void bad_keep(struct blame *b, uint32_t unit, double harm_ns)
{
	vec_push(&b->bad, ((struct bad_unit){unit, harm_ns}));
	if (b->bad.cnt < 2 * BAD_UNITS_MAX)
		return;
	vec_sort(&b->bad, cmp_bad);
	b->bad.cnt = BAD_UNITS_MAX;
}

static void bad_unit(struct blame *b, const struct unit *u, const struct vectors *v,
		     const struct judged *r)
{
	const struct call *calls = b->p->m->calls->calls + u->first;
	uint32_t unit = (uint32_t)(u - b->p->units.units.items), thread = calls->thread;
	double own_ns = 0;

	for (uint32_t k = 0; k < r->dev_cnt; k++)
		if (r->devs[k].kind == DEV_OWN)
			own_ns += r->devs[k].harm_ns * r->weight;
	for (uint32_t i = 0; i < v->cnt; i++)
		b->no_stack_ns[v->dims[i]] = 0;
	for (uint32_t i = 0; i < u->cnt; i++) {
		struct share s = blame_call(b, u, r, v, i);
		uint32_t stack = s.ns > 0 ? stack_near(b, u, i) : NO_IDX;

		if (s.ns > 0 && stack == NO_IDX && blame_sampled(b, u, &calls[i]))
			b->no_stack_ns[b->p->dims.of_nr[calls[i].nr]] += s.ns;
		if (s.ns > 0)
			site_harm(b, blame_site(b, stack, calls[i].nr, 0, false), s.kind, s.ns,
				  unit);
	}
	for (uint32_t k = 0; k < r->dev_cnt; k++) {
		calls_by_samples(b, u, r->devs[k].dim, r->devs[k].kind);
		b->no_stack_ns[r->devs[k].dim] = 0;
	}
	if (own_ns > 0 && !own_by_samples(b, u, own_ns))
		own_by_pairs(b, u, own_ns, v->at[DIM_OWN].ns);
	b->harm_ns += r->harm_ns;
	b->abnormal_cnt++;
	b->abnormal_of[u->pattern]++;
	if (!b->thread_bad_ns[thread])
		b->thread_onset_ns[thread] = unit_begin_ns(b->p->m, u);
	b->thread_bad_ns[thread] += (uint64_t)r->harm_ns + 1;
	bad_keep(b, unit, r->harm_ns);
}

/* A thread that waits all the time and whose wait is not abnormal: no work of the program. */
static uint64_t unfinished_ns(const struct blame *b, const struct unit *u, const struct vectors *v)
{
	const struct call *last = &b->p->m->calls->calls[u->first + u->cnt - 1];

	if (u->cnt <= u->at_home || last->result != CALL_UNFINISHED ||
	    b->p->dims.of_nr[last->nr] == DIM_NONE)
		return 0;
	return last->dur_ns < v->busy_ns ? last->dur_ns : v->busy_ns;
}

static void normal_unit(struct blame *b, const struct unit *u, const struct vectors *v)
{
	const struct call *calls = b->p->m->calls->calls + u->first;

	b->usual_ns += (double)(v->busy_ns - unfinished_ns(b, u, v));
	if (!b->p->fns)
		return;
	for (uint32_t i = u->at_home; i < u->cnt; i++)
		if (b->p->dims.of_nr[calls[i].nr] != DIM_NONE &&
		    calls[i].result != CALL_UNFINISHED)
			blame_site(b, calls[i].stack, calls[i].nr, 0, false)->usual_ns +=
				(double)calls[i].dur_ns;
	if (!b->samples)
		own_by_pairs(b, u, 0, v->at[DIM_OWN].ns);
}

/* Samples stand for the time between calls of all units, those that carry harm left out. */
void blame_samples(struct blame *b)
{
	const struct model *m = b->p->m;

	for (uint32_t i = 0; b->samples && i < m->sample_cnt; i++) {
		const struct sample *s = &m->samples[i];

		if (m->calls->runs[s->thread].cnt && !b->sample_bad[i])
			blame_site(b, s->stack, NR_OWN, NO_IDX, true)->usual_ns +=
				(double)(s->cnt * m->meta.sample_ns);
	}
}

void blame_units(struct blame *b)
{
	struct vectors *v = vectors_new(b->p->m, &b->p->dims);
	struct judged *r = xcalloc(1, sizeof(*r));

	for (size_t i = 0; i < b->p->units.units.cnt; i++) {
		const struct unit *u = &b->p->units.units.items[i];

		vectors_of(v, u);
		judge_unit(b->j, u, v, r);
		if (r->reasons)
			bad_unit(b, u, v, r);
		else
			normal_unit(b, u, v);
	}
	vec_sort(&b->bad, cmp_bad);
	if (b->bad.cnt > BAD_UNITS_MAX)
		b->bad.cnt = BAD_UNITS_MAX;
	vectors_free(v);
	free(r);
}
