/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of demand by where it ends and how it got there. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/vec.h"
#include "waits/waits_int.h"

/*
 * Thousands of threads that hand one lock round can be each other's cause in
 * every combination.  131,072 sums take 10 MiB; a chain is drawn of a few of
 * the largest, which come up early since they come up often.
 */
#define SUMS_MAX (1u << 17)

struct sum {
	uint8_t kind;
	uint32_t thread, res;
	struct place at;
	double ns, max_ns, cnt;
	uint32_t next;		/* same hash: index + 1, 0 none */
};

struct causes {
	VEC(struct sum) sums;
	struct hmap by_key;	/* hash -> index + 1 */
	struct hmap entries;	/* process -> an entry thread of its sums */
	uint64_t folded_cnt;
	const struct model *m;
	bool by_wait;
	double *wait_ns, *run_ns; /* by wait, by thread: of the targets; NULL: nothing yet */
};

struct causes *causes_new(const struct engine *e)
{
	struct causes *c = xcalloc(1, sizeof(*c));

	BUG_ON(!c);
	c->m = e->m;
	c->by_wait = e->by_wait;
	return c;
}

void causes_free(struct causes *c)
{
	if (!c)
		return;
	vec_release(&c->sums);
	hmap_release(&c->by_key);
	hmap_release(&c->entries);
	free(c->wait_ns);
	free(c->run_ns);
	free(c);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h ^= v + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
	h *= 0xff51afd7ed558ccdULL;
	return h ^ (h >> 33);
}

static uint64_t sum_hash(unsigned kind, uint32_t thread, uint32_t res, const struct place *at)
{
	uint64_t h = mix(kind, (uint64_t)thread << 32 | res);

	h = mix(h, (uint64_t)at->entry_proc << 32 | at->via);
	h = mix(h, (uint64_t)at->via_res << 32 | at->lock);
	return mix(h, (uint64_t)at->end << 32 | at->entry);
}

static bool sum_is(const struct sum *s, unsigned kind, uint32_t thread, uint32_t res,
		   const struct place *at)
{
	return s->kind == kind && s->thread == thread && s->res == res &&
	       s->at.entry_proc == at->entry_proc && s->at.via == at->via &&
	       s->at.via_res == at->via_res && s->at.lock == at->lock &&
	       s->at.end == at->end && s->at.entry == at->entry;
}

static struct sum *sum_find(const struct causes *c, uint64_t first, unsigned kind, uint32_t thread,
			    uint32_t res, const struct place *at)
{
	for (uint64_t i = first; i; i = c->sums.items[i - 1].next) {
		if (sum_is(&c->sums.items[i - 1], kind, thread, res, at))
			return &c->sums.items[i - 1];
	}
	return NULL;
}

/* Fold of a place over the bound: few enough to keep, and still the same finding. */
static struct place folded(struct causes *c, const struct place *at)
{
	struct place less = *at;
	uint64_t entry;

	c->folded_cnt++;
	less.via = NO_IDX;
	if (c->sums.cnt >= 2 * SUMS_MAX)
		less.via_res = NO_IDX;
	if (hmap_get(&c->entries, at->entry_proc, &entry))
		less.entry = (uint32_t)entry;
	return less;
}

static struct sum *sum_get(struct causes *c, unsigned kind, uint32_t thread, uint32_t res,
			   const struct place *at)
{
	uint64_t hash = sum_hash(kind, thread, res, at), first = 0, *slot;
	struct place less;
	struct sum *s;

	hmap_get(&c->by_key, hash, &first);
	s = sum_find(c, first, kind, thread, res, at);
	if (!s && c->sums.cnt >= SUMS_MAX) {
		less = folded(c, at);
		at = &less;
		hash = sum_hash(kind, thread, res, at);
		first = 0;
		hmap_get(&c->by_key, hash, &first);
		s = sum_find(c, first, kind, thread, res, at);
	}
	if (s)
		return s;
	if (!hmap_get(&c->entries, at->entry_proc, &first))
		hmap_put(&c->entries, at->entry_proc, at->entry);
	slot = hmap_slot(&c->by_key, hash);
	s = vec_add(&c->sums);
	s->kind = kind;
	s->thread = thread;
	s->res = res;
	s->at = *at;
	s->next = *slot;
	*slot = c->sums.cnt;
	return s;
}

static bool is_targets(const struct causes *c, const struct place *at)
{
	return at->entry_proc != NO_IDX && c->m->procs[at->entry_proc].target;
}

/* Only now: of hundreds of processes few have loops and workers, whose demand is kept apart. */
static void by_wait_begin(struct causes *c)
{
	if (c->wait_ns)
		return;
	c->wait_ns = xcalloc(c->m->wait_cnt + 1, sizeof(double));
	c->run_ns = xcalloc(c->m->thread_cnt + 1, sizeof(double));
}

void causes_lay(struct causes *c, uint32_t wait, const struct place *at, double ns)
{
	if (!c->by_wait || ns <= 0 || !is_targets(c, at))
		return;
	by_wait_begin(c);
	c->wait_ns[wait] += ns;
}

void causes_add(struct causes *c, unsigned kind, uint32_t thread, uint32_t res,
		const struct place *at, double ns)
{
	causes_add_part(c, kind, thread, res, at, ns, 1);
}

void causes_add_part(struct causes *c, unsigned kind, uint32_t thread, uint32_t res,
		     const struct place *at, double ns, double part)
{
	struct sum *s;

	if (ns <= 0)
		return;
	s = sum_get(c, kind, thread, res, at);
	s->ns += ns;
	s->cnt += part;
	if (ns > s->max_ns * part)
		s->max_ns = ns / part;
	if (at->depth > s->at.depth)
		s->at.depth = at->depth;
	if (kind == CAUSE_RUN && c->by_wait && is_targets(c, at)) {
		by_wait_begin(c);
		c->run_ns[thread] += ns;
	}
}

void causes_scale(struct causes *c, double factor)
{
	VEC_FOREACH(&c->sums, s)
		s->ns *= factor;
	for (size_t i = 0; c->wait_ns && i < c->m->wait_cnt; i++)
		c->wait_ns[i] *= factor;
	for (size_t i = 0; c->run_ns && i < c->m->thread_cnt; i++)
		c->run_ns[i] *= factor;
}

void causes_stretch(struct causes *c, double factor)
{
	if (factor <= 1)
		return;
	VEC_FOREACH(&c->sums, s)
		s->cnt *= factor;
	causes_scale(c, factor);
}

static void by_wait_merge(struct causes *into, const struct causes *from)
{
	if (!from->wait_ns)
		return;
	by_wait_begin(into);
	for (size_t i = 0; i < into->m->wait_cnt; i++)
		into->wait_ns[i] += from->wait_ns[i];
	for (size_t i = 0; i < into->m->thread_cnt; i++)
		into->run_ns[i] += from->run_ns[i];
}

void causes_merge(struct causes *into, const struct causes *from)
{
	into->folded_cnt += from->folded_cnt;
	by_wait_merge(into, from);
	for (size_t i = 0; i < from->sums.cnt; i++) {
		const struct sum *f = &from->sums.items[i];
		struct sum *s;

		if (f->ns <= 0)
			continue;
		s = sum_get(into, f->kind, f->thread, f->res, &f->at);
		s->ns += f->ns;
		s->cnt += f->cnt;
		if (f->max_ns > s->max_ns)
			s->max_ns = f->max_ns;
		if (f->at.depth > s->at.depth)
			s->at.depth = f->at.depth;
	}
}

double causes_total(const struct causes *c)
{
	double ns = 0;

	for (size_t i = 0; i < c->sums.cnt; i++)
		ns += c->sums.items[i].ns;
	return ns;
}

bool cause_ends_outside(unsigned kind)
{
	return kind == CAUSE_DISK || kind == CAUSE_FSYNC || kind == CAUSE_MEMORY ||
	       kind == CAUSE_EXTERNAL || kind == CAUSE_RUNQ_SELF || kind == CAUSE_STOPPED ||
	       kind == CAUSE_UNSEEN;
}

static unsigned lead_kind(unsigned kind)
{
	return kind == CAUSE_RUNQ_OTHER || kind == CAUSE_RUNQ_QUOTA ? CAUSE_RUNQ_SELF : kind;
}

/*
 * One that computes for long is preempted now and then, the more the busier the machine
 * is: what it waited for a CPU is part of the run, not its reason.
 */
#define RUN_PART 0.1

static void run_first(const struct causes *c, struct lead *l)
{
	const struct sum *run = NULL;

	for (size_t i = 0; i < c->sums.cnt; i++) {
		const struct sum *s = &c->sums.items[i];

		if (s->kind == CAUSE_RUN && s->ns >= RUN_PART * l->ns && (!run || s->ns > run->ns))
			run = s;
	}
	if (l->kind != CAUSE_RUNQ_SELF || !run)
		return;
	l->kind = CAUSE_RUN;
	l->thread = run->thread;
	l->lock = run->at.lock;
	l->via = run->at.via;
	l->depth = run->at.depth;
}

/* Ends that are alike are added up; the largest sum of theirs says how it got there. */
struct lead causes_lead(const struct causes *c)
{
	struct lead best = { .thread = NO_IDX, .res = NO_IDX, .lock = NO_IDX, .via = NO_IDX,
			     .end = NO_IDX };
	VEC(struct lead) ends = { 0 };
	VEC(double) most = { 0 };
	struct hmap by_end = { 0 };

	VEC_FOREACH(&c->sums, s) {
		unsigned kind = lead_kind(s->kind);
		uint32_t who = cause_ends_outside(kind) ? NO_IDX : s->thread;
		uint64_t *slot = hmap_slot(&by_end, (uint64_t)kind << 32 | who);
		struct lead *l;

		if (!*slot) {
			vec_push(&ends, ((struct lead){ .kind = (uint8_t)kind }));
			vec_push(&most, 0.0);
			*slot = ends.cnt;
		}
		l = &ends.items[*slot - 1];
		l->ns += s->ns;
		if (s->ns > most.items[*slot - 1]) {
			most.items[*slot - 1] = s->ns;
			*l = (struct lead){ .kind = l->kind, .thread = s->thread, .res = s->res,
					    .lock = s->at.lock, .via = s->at.via,
					    .end = s->at.end, .depth = s->at.depth, .ns = l->ns };
		}
		best = l->ns > best.ns ? *l : best;
	}
	vec_release(&ends);
	vec_release(&most);
	hmap_release(&by_end);
	run_first(c, &best);
	return best;
}

static int by_ns(const void *pa, const void *pb)
{
	const struct cause *a = pa, *b = pb;

	CMP(b->ns, a->ns);
	CMP(a->kind, b->kind);
	CMP(a->thread, b->thread);
	CMP(a->via, b->via);
	CMP(a->res, b->res);
	return 0;
}

static void by_wait_finish(const struct causes *c, struct engine *e)
{
	struct waits_result *r = e->r;

	r->wait_demand_ns = ARENA_ARRAY(e->arena, double, c->m->wait_cnt + 1);
	r->run_demand_ns = ARENA_ARRAY(e->arena, double, c->m->thread_cnt + 1);
	r->wait_idle = ARENA_ARRAY(e->arena, uint8_t, c->m->wait_cnt + 1);
	if (c->wait_ns) {
		memcpy(r->wait_demand_ns, c->wait_ns, c->m->wait_cnt * sizeof(double));
		memcpy(r->run_demand_ns, c->run_ns, c->m->thread_cnt * sizeof(double));
	}
	for (size_t i = 0; i < c->m->wait_cnt; i++)
		r->wait_idle[i] = wait_is_idle(e, &c->m->waits[i]);
}

void causes_finish(const struct causes *c, struct engine *e)
{
	struct waits_result *r = e->r;

	r->folded_cnt = c->folded_cnt;
	r->causes = ARENA_ARRAY(e->arena, struct cause, c->sums.cnt + 1);
	for (size_t i = 0; i < c->sums.cnt; i++) {
		const struct sum *s = &c->sums.items[i];
		struct cause *o = &r->causes[r->cause_cnt];

		if (s->ns < 1)
			continue;
		*o = (struct cause){ .kind = s->kind, .thread = s->thread, .res = s->res,
				     .entry_proc = s->at.entry_proc,
				     .entry = s->at.entry, .ns = s->ns,
				     .cnt = s->cnt < 1 ? 1 : (uint64_t)(s->cnt + 0.5),
				     .max_ns = s->max_ns, .via = s->at.via,
				     .via_res = s->at.via_res, .lock = s->at.lock,
				     .end = s->at.end, .depth = s->at.depth };
		r->cause_cnt++;
	}
	qsort(r->causes, r->cause_cnt, sizeof(*r->causes), by_ns);
	if (c->by_wait)
		by_wait_finish(c, e);
}
