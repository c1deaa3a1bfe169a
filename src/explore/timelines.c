/* SPDX-License-Identifier: Apache-2.0 */
#include "explore/timelines.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "paths/paths.h"

struct ask {
	uint64_t from_ns, to_ns;
};

struct cutter {				/* of one request */
	struct timelines *t;
	const struct paths_result *r;
	struct timeline *now;
	uint64_t ask_max_ns;		/* in one part of it */
	VEC(struct ask) asks;		/* apart from each other, ascending */
	const struct paths_wait *waits;
	size_t wait_cnt;
	/* by request: idx + 1 in calls, its next; idx in waits */
	uint32_t *first_call, *next_call;
	size_t *first_wait;
};

void timelines_hit(struct timelines *t, const struct path_event *e)
{
	if (t->hits.cnt < TIMELINE_HITS_MAX)
		vec_push(&t->hits, *e);
	else
		t->hits_left_cnt++;
}

static int by_thread(const void *a, const void *b)
{
	const struct path_event *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

static uint64_t overlap(uint64_t a, uint64_t b, uint64_t from, uint64_t to)
{
	uint64_t lo = a > from ? a : from, hi = b < to ? b : to;

	return hi > lo ? hi - lo : 0;
}

static uint64_t asked_in(const struct cutter *c, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	VEC_FOREACH(&c->asks, a)
		sum += overlap(a->from_ns, a->to_ns, from, to);
	return sum;
}

static bool is_asking(const struct cutter *c, uint64_t ns)
{
	VEC_FOREACH(&c->asks, a)
		if (ns > a->from_ns && ns < a->to_ns)
			return true;
	return false;
}

static uint32_t wait_kind(const struct paths_wait *w)
{
	if (w->is_lock)
		return PART_WAIT_LOCK;
	if (w->call == PATH_NO_CALL)
		return w->uninterruptible ? PART_WAIT_FAULT : PART_WAIT_NONE;
	return w->call;
}

static void waits_take(const struct cutter *c, struct part *p, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < c->wait_cnt; i++) {
		uint64_t ns = overlap(c->waits[i].begin_ns, c->waits[i].end_ns, from, to);

		p->wait_ns += ns;
		if (ns > p->wait_max_ns) {
			p->wait_max_ns = ns;
			p->wait_kind = wait_kind(&c->waits[i]);
		}
	}
	if (p->wait_ns > p->ns)
		p->wait_ns = p->ns;
}

static struct part *part_of(struct cutter *c, uint32_t point)
{
	struct part *p;

	for (uint32_t i = 0; i < c->now->cnt; i++)
		if (c->t->parts.items[c->now->first + i].point == point)
			return &c->t->parts.items[c->now->first + i];
	p = vec_add(&c->t->parts);
	c->now->cnt++;
	p->point = point;
	p->wait_kind = PART_WAIT_NONE;
	return p;
}

/* hit: that it begins with, or NULL. */
static void part_add(struct cutter *c, uint32_t point, const struct path_event *hit, uint64_t from,
		     uint64_t to)
{
	uint64_t asked = asked_in(c, from, to), ns = to - from - asked, cost = 0;
	struct part *p;

	if (to <= from && !hit)
		return;
	if (asked > c->ask_max_ns) {
		c->ask_max_ns = asked;
		c->now->ask_point = point;
	}
	p = part_of(c, point);
	if (hit && point < c->t->hit_ns.cnt)
		cost = (uint64_t)c->t->hit_ns.items[point];
	if (cost > ns)
		cost = ns;
	c->now->ns -= cost < c->now->ns ? cost : c->now->ns;
	ns -= cost;
	p->ns += ns;
	p->cost_ns += cost;
	waits_take(c, p, from, to);
	if (!hit)
		return;
	if (!p->hit_cnt++ || ns > p->longest_ns) {
		p->longest_ns = ns;
		memcpy(p->args, hit->point.args, sizeof(p->args));
	}
}

/* Hits of the thread in [from, to]. */
static void cut(struct cutter *c, uint32_t tid, uint64_t from, uint64_t to)
{
	const struct path_event *hits = c->t->hits.items, *last = NULL;
	size_t i = SORTED_PREFIX(hits, c->t->hits.cnt, h,
				 h->tid < tid || (h->tid == tid && h->ns < from));
	uint32_t point = PART_BEGIN;
	uint64_t at = from;

	for (; i < c->t->hits.cnt && hits[i].tid == tid && hits[i].ns <= to; i++) {
		if (is_asking(c, hits[i].ns))
			continue;
		part_add(c, point, last, at, hits[i].ns);
		last = &hits[i];
		point = last->point.point;
		at = last->ns;
	}
	part_add(c, point, last, at, to);
}

static int by_begin(const void *a, const void *b)
{
	const struct ask *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* Calls that overlap are one time of waiting. */
static void asks_make(struct cutter *c, uint32_t request)
{
	size_t out = 0;
	uint64_t longest = 0;

	vec_clear(&c->asks);
	for (uint32_t i = c->first_call[request]; i; i = c->next_call[i - 1]) {
		const struct paths_call *call = &c->r->calls[i - 1];
		uint64_t to = call->answer_ns ? call->answer_ns : call->start_ns;

		if (to <= call->start_ns)
			continue;
		vec_push(&c->asks, ((struct ask){call->start_ns, to}));
		if (to - call->start_ns > longest) {
			longest = to - call->start_ns;
			c->now->ask = call->at;
		}
	}
	vec_sort(&c->asks, by_begin);
	for (size_t i = 0; i < c->asks.cnt; i++) {
		struct ask *a = &c->asks.items[i];

		if (out && a->from_ns <= c->asks.items[out - 1].to_ns) {
			if (a->to_ns > c->asks.items[out - 1].to_ns)
				c->asks.items[out - 1].to_ns = a->to_ns;
		} else {
			c->asks.items[out++] = *a;
		}
	}
	c->asks.cnt = out;
}

static void request_cut(struct cutter *c, uint32_t idx)
{
	const struct paths_request *q = &c->r->requests[idx];
	uint64_t from = q->arrival_ns, asked;

	c->now = vec_add(&c->t->items);
	*c->now = (struct timeline){
		.ns = q->reply_ns - q->arrival_ns, .arrival_ns = q->arrival_ns,
		.first = (uint32_t)c->t->parts.cnt, .tgid = q->tgid, .tid = q->replier,
		.port = q->at.lport, .bytes_in = q->bytes_in, .bytes_out = q->bytes_out,
		.in_flight = q->at_arrival, .nth = q->nth, .ask_point = PART_BEGIN};
	c->ask_max_ns = 0;
	c->waits = c->r->waits + c->first_wait[idx];
	for (c->wait_cnt = 0; c->first_wait[idx] + c->wait_cnt < c->r->wait_cnt &&
	     c->waits[c->wait_cnt].request == idx; c->wait_cnt++)
		;
	asks_make(c, idx);
	if (q->worker_ns > from && q->worker_ns < q->reply_ns && q->reader != q->replier) {
		part_add(c, PART_QUEUE, NULL, from, q->worker_ns);
		from = q->worker_ns;
	}
	cut(c, q->replier, from, q->reply_ns);
	asked = asked_in(c, q->arrival_ns, q->reply_ns);
	if (asked) {
		struct part *p = part_of(c, PART_ASK);

		p->ns = p->wait_ns = asked;
	}
}

static void index_make(struct cutter *c)
{
	const struct paths_result *r = c->r;

	c->first_call = xcalloc(r->request_cnt + 1, sizeof(*c->first_call));
	c->next_call = xcalloc(r->call_cnt + 1, sizeof(*c->next_call));
	c->first_wait = xcalloc(r->request_cnt + 1, sizeof(*c->first_wait));
	for (uint32_t i = (uint32_t)r->call_cnt; i-- > 0;) {
		uint32_t request = r->calls[i].request;

		if (request == PATHS_NONE)
			continue;
		c->next_call[i] = c->first_call[request];
		c->first_call[request] = i + 1;
	}
	for (size_t i = r->wait_cnt; i-- > 0;)
		c->first_wait[r->waits[i].request] = i;
}

void timelines_make(struct timelines *t, const struct paths_result *r)
{
	struct cutter c = {.t = t, .r = r};

	vec_sort(&t->hits, by_thread);
	index_make(&c);
	for (uint32_t i = 0; i < r->request_cnt; i++) {
		const struct paths_request *q = &r->requests[i];

		if (!q->setup && q->arrival_ns && q->reply_ns > q->arrival_ns)
			request_cut(&c, i);
	}
	vec_release(&c.asks);
	free(c.first_call);
	free(c.next_call);
	free(c.first_wait);
	vec_clear(&t->hits);
}

void timelines_clear(struct timelines *t)
{
	vec_clear(&t->hits);
	vec_clear(&t->items);
	vec_clear(&t->parts);
}

void timelines_release(struct timelines *t)
{
	vec_release(&t->hits);
	vec_release(&t->items);
	vec_release(&t->parts);
	vec_release(&t->hit_ns);
}
