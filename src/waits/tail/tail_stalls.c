/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slow requests that were held at one time for one reason are a stall; stalls
 * with the same reason, whichever thread of a kind had it, are a group.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/vec.h"
#include "waits/waits_int.h"

/* A stall ends for all at about the same time: within this, or this part of a request. */
#define END_SLACK_NS 20000000
#define END_SLACK 0.25
/* Times from one to the next: regular where they deviate by less than this part of their mean. */
#define REGULAR_CV 0.35
#define REGULAR_MIN 3

struct held {			/* a stall as it is found; of one reason, in order */
	struct stall stall;
	uint64_t key;		/* of the group */
};

static uint64_t who_of(const struct span *s)
{
	return cause_ends_outside(s->lead.kind) ? NO_IDX : s->lead.thread;
}

static int by_reason_end(const void *pa, const void *pb)
{
	const struct span *a = pa, *b = pb;

	CMP(a->lead.kind, b->lead.kind);
	CMP(a->where, b->where);
	CMP(who_of(a), who_of(b));
	CMP(a->end_ns, b->end_ns);
	CMP(a->begin_ns, b->begin_ns);
	CMP(a->thread, b->thread);
	return 0;
}

static bool same_reason(const struct span *a, const struct span *b)
{
	return a->lead.kind == b->lead.kind && a->where == b->where && who_of(a) == who_of(b);
}

/*
 * Threads alike are one, of whichever process of a name: who holds a lock now is one of
 * those that wait for it another time.
 */
static uint64_t kind_of(const struct tail_work *k, uint32_t t)
{
	const struct thread *th = &k->m->threads[t];
	size_t len = strlen(th->comm);

	while (len > 1 && th->comm[len - 1] >= '0' && th->comm[len - 1] <= '9')
		len--;
	return hash_pair(hash_bytes(th->comm, len),
			 th->proc == NO_IDX ? NO_IDX : k->e->family[th->proc]);
}

static uint64_t group_key(const struct tail_work *k, const struct span *s)
{
	uint64_t who = who_of(s);

	if (who != NO_IDX)
		who = kind_of(k, (uint32_t)who);
	return hash_pair(hash_pair(s->lead.kind, s->where), who);
}

static bool joins(const struct stall *h, const struct span *s)
{
	uint64_t slack = (uint64_t)(END_SLACK * (double)(s->end_ns - s->begin_ns));

	if (slack < END_SLACK_NS)
		slack = END_SLACK_NS;
	return s->begin_ns < h->end_ns && s->end_ns <= h->end_ns + slack;
}

static void stall_add(struct stall *h, const struct span *s)
{
	if (s->begin_ns < h->begin_ns)
		h->begin_ns = s->begin_ns;
	if (s->end_ns > h->end_ns)
		h->end_ns = s->end_ns;
	h->sum_ns += s->len_ns;
	h->req_cnt++;
	if (s->len_ns <= h->len_ns)
		return;
	h->len_ns = s->len_ns;
	h->thread = s->lead.thread;
	h->entry = s->thread;
}

typedef VEC(struct held) held_vec;

static void stalls_find(struct tail_work *k, held_vec *ret)
{
	struct held *h = NULL;

	qsort(k->spans, k->span_cnt, sizeof(*k->spans), by_reason_end);
	for (size_t i = 0; i < k->span_cnt; i++)
		k->spans[i].group = group_key(k, &k->spans[i]);
	for (size_t i = 0; i < k->span_cnt; i++) {
		const struct span *s = &k->spans[i];

		if (!h || !same_reason(s, s - 1) || !joins(&h->stall, s)) {
			h = vec_add(ret);
			h->key = s->group;
			h->stall = (struct stall){ .begin_ns = s->begin_ns, .end_ns = s->end_ns,
						   .kind = s->lead.kind, .own = s->own };
		}
		stall_add(&h->stall, s);
	}
}

static int by_key_begin(const void *pa, const void *pb)
{
	const struct held *a = pa, *b = pb;

	CMP(a->key, b->key);
	CMP(a->stall.begin_ns, b->stall.begin_ns);
	CMP(a->stall.end_ns, b->stall.end_ns);
	CMP(a->stall.thread, b->stall.thread);
	return 0;
}

static int by_len(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	CMP(*a, *b);
	return 0;
}

/* How long one lasted that the window cuts off is not known; the watch begins by and by. */
static bool is_cut(const struct model *m, const struct stall *h)
{
	return h->begin_ns <= m->begin_ns + WAITS_STALL_NS || h->end_ns >= m->end_ns;
}

static void lengths_sum(const struct model *m, struct stall_group *g)
{
	uint64_t *len = xmalloc((g->stall_cnt + 1) * sizeof(*len)), to = 0;
	size_t whole = 0, cnt = 0;

	for (size_t i = 0; i < g->stall_cnt; i++)
		whole += !is_cut(m, &g->stalls[i]);
	for (size_t i = 0; i < g->stall_cnt; i++) {
		const struct stall *h = &g->stalls[i];
		uint64_t from = h->begin_ns > to ? h->begin_ns : to;

		if (!whole || !is_cut(m, h))
			len[cnt++] = h->len_ns;
		g->sum_ns += h->sum_ns;
		g->req_cnt += h->req_cnt;
		if (h->end_ns > from) {
			g->busy_ns += h->end_ns - from;
			to = h->end_ns;
		}
	}
	qsort(len, cnt, sizeof(*len), by_len);
	g->min_ns = len[0];
	g->median_ns = len[cnt / 2];
	g->max_ns = len[cnt - 1];
	free(len);
}

static void spacing_tell(struct stall_group *g)
{
	double sum = 0, sum_sq = 0, n = (double)g->stall_cnt - 1, mean, var;

	for (size_t i = 1; i < g->stall_cnt; i++) {
		double d = (double)(g->stalls[i].begin_ns - g->stalls[i - 1].begin_ns);

		sum += d;
		sum_sq += d * d;
	}
	if (n < 1)
		return;
	mean = sum / n;
	var = sum_sq / n - mean * mean;
	g->every_ns = (uint64_t)mean;
	g->regular = g->stall_cnt >= REGULAR_MIN && var < REGULAR_CV * REGULAR_CV * mean * mean;
}

/* Sums the causes of all requests of the group. */
static void causes_sum(struct tail_work *k, struct stall_group *g, uint64_t key)
{
	struct waits_result *r = k->e->r;
	struct causes *all = causes_new(k->e);

	for (size_t i = 0; i < k->span_cnt; i++) {
		if (k->spans[i].group == key)
			causes_merge(all, k->spans[i].causes);
	}
	causes_finish(all, k->e);
	g->causes = r->causes;
	g->cause_cnt = r->cause_cnt;
	r->causes = NULL;
	r->cause_cnt = 0;
	causes_free(all);
}

static int by_sum(const void *pa, const void *pb)
{
	const struct stall_group *a = pa, *b = pb;

	CMP(b->sum_ns, a->sum_ns);
	CMP(a->stalls[0].begin_ns, b->stalls[0].begin_ns);
	CMP(a->stalls[0].kind, b->stalls[0].kind);
	return 0;
}

void stalls_make(struct tail_work *k, struct arena *arena)
{
	struct waits_tail *t = k->tail;
	held_vec held = { 0 };
	struct stall *stalls;

	stalls_find(k, &held);
	vec_sort(&held, by_key_begin);
	stalls = ARENA_ARRAY(arena, struct stall, held.cnt + 1);
	t->groups = ARENA_ARRAY(arena, struct stall_group, held.cnt + 1);
	for (size_t i = 0, j; i < held.cnt; i = j) {
		struct stall_group *g = &t->groups[t->group_cnt++];

		for (j = i; j < held.cnt && held.items[j].key == held.items[i].key; j++)
			stalls[j] = held.items[j].stall;
		g->stalls = &stalls[i];
		g->stall_cnt = j - i;
		lengths_sum(k->m, g);
		spacing_tell(g);
		causes_sum(k, g, held.items[i].key);
	}
	qsort(t->groups, t->group_cnt, sizeof(*t->groups), by_sum);
	vec_release(&held);
}
