/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A class of hold-up has carriers: the locks, conversations or peers that its demand
 * comes through.  Classes compete with each other by their sums; inside a class each
 * carrier is a candidate of its own, so that of two slow upstreams both are named.
 *
 * A lock may also lie on the way to an end that says more, as a disk with a limit.
 * Then it is a link: its share is part of that end's, and it is no rival, but named.
 */
#include "verdict/weigh/carriers.h"

#include <string.h>

#include "base/vec.h"
#include "verdict/context/conversations.h"
#include "verdict/context/targets.h"
#include "verdict/findings/findings.h"

struct carrier {
	uint8_t cls, of;	/* the finding it is; whose demand this is: differs for links */
	uint32_t lock, end, peer;
	double ns, top_ns;
	const struct cause *top;
};

typedef VEC(struct carrier) carriers;

/* Processes that were forked for it have a conversation each with one and the same address. */
static uint32_t first_alike(const struct model *m, uint32_t end)
{
	const struct end *n = end != NO_IDX ? &m->ends[end] : NULL;

	for (uint32_t i = 0; n && i < end; i++) {
		const struct end *o = &m->ends[i];

		if (o->role == n->role && o->family == n->family && o->rport == n->rport &&
		    memcmp(o->raddr, n->raddr, sizeof(n->raddr)) == 0 &&
		    (n->rport || strcmp(o->name, n->name) == 0))
			return i;
	}
	return end;
}

static struct carrier key_of(const struct context *k, const struct cause *c)
{
	struct carrier key = { .lock = NO_IDX, .end = NO_IDX, .peer = NO_IDX };
	unsigned carrier;

	key.cls = key.of = (uint8_t)cause_finding(k, c);
	carrier = finding_def(key.cls)->carrier;
	if (carrier == CARRIER_PEER) {
		key.end = first_alike(k->m, end_of_cause(k->m, c));
		if (key.end == NO_IDX)
			key.peer = peer_of_cause(k, c);
		return key;
	}
	key.lock = c->lock;
	if (c->lock != NO_IDX && carrier != CARRIER_LOCK)
		key.cls = (uint8_t)lock_finding(k, c->lock);
	return key;
}

static bool same_carrier(const struct carrier *a, const struct carrier *b)
{
	return a->cls == b->cls && a->of == b->of && a->lock == b->lock && a->end == b->end &&
	       a->peer == b->peer;
}

static void add(carriers *all, const struct carrier *key, const struct cause *c)
{
	struct carrier *d = NULL;

	VEC_FOREACH(all, x) {
		if (same_carrier(x, key))
			d = x;
	}
	if (!d) {
		d = vec_add(all);
		*d = *key;
	}
	d->ns += (double)c->ns;
	if ((double)c->ns > d->top_ns) {
		d->top_ns = (double)c->ns;
		d->top = c;
	}
}

static int by_ns(const void *pa, const void *pb)
{
	const struct carrier *a = pa, *b = pb;

	return a->ns < b->ns ? 1 : a->ns > b->ns ? -1 : 0;
}

static void collect(const struct context *k, carriers *all)
{
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];
		struct carrier key;

		if (!proc_is_target(k->m, c->entry_proc))
			continue;
		key = key_of(k, c);
		if (key.lock != NO_IDX || key.end != NO_IDX || key.peer != NO_IDX)
			add(all, &key, c);
	}
	vec_sort(all, by_ns);
}

/* The process of a peer that most of the carrier's demand ends in. */
static uint32_t busiest_peer(const struct context *k, const struct carrier *x)
{
	double *ns = ARENA_ARRAY(k->arena, double, k->m->proc_cnt + 1), best = 0;
	uint32_t peer = NO_IDX;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];
		struct carrier key;
		uint32_t p;

		if (!proc_is_target(k->m, c->entry_proc))
			continue;
		key = key_of(k, c);
		p = same_carrier(&key, x) ? peer_of_cause(k, c) : NO_IDX;
		if (p == NO_IDX || (ns[p] += (double)c->ns) <= best)
			continue;
		best = ns[p];
		peer = p;
	}
	return peer;
}

static void take(const struct context *k, struct cand *d, const struct carrier *x)
{
	d->lock = x->lock;
	if (finding_def(x->cls)->carrier == CARRIER_PEER) {
		d->end = end_of_cause(k->m, x->top);
		d->peer = busiest_peer(k, x);
		d->hangs = k->w->total.stale_cnt && d->end != NO_IDX &&
			   k->m->ends[d->end].stale_cnt;
	}
	if (x->cls == x->of) {
		d->top = x->top;
		d->top_ns = x->top_ns;
	}
}

void carriers_choose(struct context *k)
{
	bool done[FIND_CNT] = { false };
	carriers all = { 0 };

	collect(k, &all);
	VEC_FOREACH(&all, x) {
		if (!done[x->of])
			take(k, &k->cand[x->of], x);
		done[x->of] = true;
	}
	vec_release(&all);
}

/* Each carrier loses the part that its class lost while it was weighed. */
static double left_of(const struct context *k, const carriers *all, unsigned cls)
{
	double ns = 0;

	VEC_FOREACH(all, x)
		ns += x->of == cls ? x->ns : 0;
	return ns > k->cand[cls].ns && ns > 0 ? k->cand[cls].ns / ns : 1;
}

static void more_add(struct context *k, const struct carrier *x, double ns)
{
	struct cand *d;

	if (k->more_cnt == CARRIERS_MAX)
		return;
	d = &k->more[k->more_cnt++];
	cand_init(d, x->cls);
	take(k, d, x);
	d->ns = ns;
	d->top = x->top;
	d->top_ns = x->top_ns;
}

void carriers_split(struct context *k)
{
	bool named[FIND_CNT] = { false };
	carriers all = { 0 };

	collect(k, &all);
	VEC_FOREACH(&all, x) {
		struct cand *main = &k->cand[x->of];
		bool first = !named[x->of], link = x->cls != x->of;
		double ns = x->ns * (link ? 1 : left_of(k, &all, x->of));

		named[x->of] = true;
		if (first && !link)
			continue;
		if (ns < CARRIER_MIN * k->demand_ns) {
			struct cand look;

			cand_init(&look, x->cls);
			take(k, &look, x);
			if (!look.hangs)
				continue;
		}
		more_add(k, x, ns);
		if (!link)
			main->more_ns += ns;
	}
	vec_release(&all);
}
