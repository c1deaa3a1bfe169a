/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of each process, and the edges between threads. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/vec.h"
#include "waits/waits_int.h"

/* Lower edge of a bucket: two to a power of two, from 1 us up. */
static uint64_t bucket_ns(unsigned i)
{
	uint64_t low = 1000ULL << (i / 2);

	return i & 1 ? low + low / 2 : low;
}

uint64_t hist_quantile_ns(const uint64_t *hist, double q, uint64_t longest_ns)
{
	uint64_t all = 0, seen = 0, middle;

	for (unsigned i = 0; i < EVENT_HIST_CNT; i++)
		all += hist[i];
	for (unsigned i = 0; i < EVENT_HIST_CNT; i++) {
		seen += hist[i];
		if (!seen || seen < q * all)
			continue;
		middle = (bucket_ns(i) + bucket_ns(i + 1)) / 2;
		return middle > longest_ns ? longest_ns : middle;
	}
	return 0;
}

double hist_sum_from(const uint64_t *hist, uint64_t ns)
{
	double sum = 0;

	for (unsigned i = 0; i < EVENT_HIST_CNT; i++) {
		if (bucket_ns(i) >= ns)
			sum += (double)hist[i] * (double)(bucket_ns(i) + bucket_ns(i + 1)) / 2;
	}
	return sum;
}

static struct wreq *req_of(struct waits_result *r, uint32_t proc)
{
	for (size_t i = 0; i < r->req_cnt; i++) {
		if (r->reqs[i].proc == proc)
			return &r->reqs[i];
	}
	r->reqs[r->req_cnt].proc = proc;
	return &r->reqs[r->req_cnt++];
}

static void end_add(struct wreq *q, uint64_t *hist, const struct end *n)
{
	q->turns += n->turns;
	q->queue_ns += n->queue_ns;
	q->service_ns += n->service_ns;
	q->txblock_ns += n->txblock_ns;
	q->partial_cnt += n->partial_cnt;
	q->idle_ns += n->idle_ns;
	q->conns += n->conns;
	q->open_now += n->open_now;
	if (n->answer_max_ns > q->answer_max_ns)
		q->answer_max_ns = n->answer_max_ns;
	if (n->open_oldest_ns > q->open_oldest_ns)
		q->open_oldest_ns = n->open_oldest_ns;
	q->owed_cnt += n->stale_cnt;
	if (n->stale_oldest_ns > q->stale_oldest_ns)
		q->stale_oldest_ns = n->stale_oldest_ns;
	for (unsigned i = 0; i < EVENT_HIST_CNT; i++)
		hist[i] += n->hist[i];
}

/* Those that hang through the window are open at its end too. */
static void stale_add(struct wreq *q, double cnt, double window)
{
	if (cnt <= 0)
		return;
	q->stale_cnt = (uint64_t)(cnt + 0.5);
	q->open_now += q->stale_cnt;
	q->open_avg += cnt;
	q->demand_ns += (uint64_t)(cnt * window);
	if (q->stale_oldest_ns > q->open_oldest_ns)
		q->open_oldest_ns = q->stale_oldest_ns;
}

static void req_finish(const struct engine *e, struct wreq *q, const uint64_t *hist)
{
	const struct model *m = e->m;
	const struct proc *p = &m->procs[q->proc];
	double window = m->end_ns > m->begin_ns ? m->end_ns - m->begin_ns : 1;

	q->p50_ns = hist_quantile_ns(hist, 0.50, q->answer_max_ns);
	q->p99_ns = hist_quantile_ns(hist, 0.99, q->answer_max_ns);
	q->demand_ns = p->open_ns + p->unread_ns;
	q->open_avg = p->open_ns / window;
	q->out_avg = p->out_ns / window;
	q->unread_avg = p->unread_ns / window;
	stale_add(q, unanswered_cnt(e, q->proc), window);
}

/* The targets' requests as one: means add up, quantiles come from all the answers. */
static void total_add(const struct model *m, struct wreq *t, const struct wreq *q)
{
	if (!m->procs[q->proc].target)
		return;
	t->turns += q->turns;
	t->demand_ns += q->demand_ns;
	t->queue_ns += q->queue_ns;
	t->service_ns += q->service_ns;
	t->txblock_ns += q->txblock_ns;
	t->partial_cnt += q->partial_cnt;
	t->idle_ns += q->idle_ns;
	t->conns += q->conns;
	t->open_now += q->open_now;
	t->open_avg += q->open_avg;
	t->out_avg += q->out_avg;
	t->unread_avg += q->unread_avg;
	t->stale_cnt += q->stale_cnt;
	t->owed_cnt += q->owed_cnt;
	if (q->stale_oldest_ns > t->stale_oldest_ns)
		t->stale_oldest_ns = q->stale_oldest_ns;
	if (q->answer_max_ns > t->answer_max_ns)
		t->answer_max_ns = q->answer_max_ns;
	if (q->open_oldest_ns > t->open_oldest_ns)
		t->open_oldest_ns = q->open_oldest_ns;
}

static void total_sum(const struct model *m, struct waits_result *r,
		      uint64_t (*hist)[EVENT_HIST_CNT])
{
	uint64_t all[EVENT_HIST_CNT] = { 0 };

	r->total = (struct wreq){ .proc = NO_IDX };
	for (size_t i = 0; i < r->req_cnt; i++) {
		const struct wreq *q = &r->reqs[i];

		total_add(m, &r->total, q);
		for (unsigned j = 0; m->procs[q->proc].target && j < EVENT_HIST_CNT; j++)
			all[j] += hist[q->proc][j];
	}
	r->total.p50_ns = hist_quantile_ns(all, 0.50, r->total.answer_max_ns);
	r->total.p99_ns = hist_quantile_ns(all, 0.99, r->total.answer_max_ns);
}

static int by_demand(const void *pa, const void *pb)
{
	const struct wreq *a = pa, *b = pb;

	CMP(b->demand_ns, a->demand_ns);
	CMP(a->proc, b->proc);
	return 0;
}

void reqs_sum(struct engine *e)
{
	const struct model *m = e->m;
	struct waits_result *r = e->r;
	uint64_t(*hist)[EVENT_HIST_CNT] = xcalloc(m->proc_cnt + 1, sizeof(*hist));

	BUG_ON(!hist);
	r->reqs = ARENA_ARRAY(e->arena, struct wreq, m->proc_cnt + 1);
	for (size_t i = 0; i < m->end_cnt; i++) {
		const struct end *n = &m->ends[i];

		if (n->role == ROLE_SERVER && n->proc != NO_IDX)
			end_add(req_of(r, n->proc), hist[n->proc], n);
	}
	for (size_t i = 0; i < r->req_cnt; i++)
		req_finish(e, &r->reqs[i], hist[r->reqs[i].proc]);
	total_sum(m, r, hist);
	qsort(r->reqs, r->req_cnt, sizeof(*r->reqs), by_demand);
	free(hist);
}

static int edge_by_key(const void *pa, const void *pb)
{
	const struct wedge *a = pa, *b = pb;

	CMP(a->from, b->from);
	CMP(a->to, b->to);
	CMP(a->res, b->res);
	CMP(a->cls, b->cls);
	CMP(a->ctx, b->ctx);
	return 0;
}

static int edge_by_ns(const void *pa, const void *pb)
{
	const struct wedge *a = pa, *b = pb;

	CMP(b->ns, a->ns);
	return edge_by_key(pa, pb);
}

static size_t edges_join(struct wedge *x, size_t cnt)
{
	size_t out = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (out && edge_by_key(&x[out - 1], &x[i]) == 0) {
			x[out - 1].ns += x[i].ns;
			x[out - 1].cnt += x[i].cnt;
			if (x[i].max_ns > x[out - 1].max_ns)
				x[out - 1].max_ns = x[i].max_ns;
		} else {
			x[out++] = x[i];
		}
	}
	return out;
}

void edges_sum(struct engine *e)
{
	const struct model *m = e->m;
	struct waits_result *r = e->r;
	VEC(struct wedge) x = { 0 };

	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i], *end = &m->waits[e->look_end[i]];
		uint64_t ns = (w->wake_ns ? w->wake_ns : w->end_ns) - w->off_ns;
		bool task = end->waker_ctx == WAKER_TASK || (end->flags & WAITF_PEER_CTX);

		if (!ns || (w->flags & WAITF_PREEMPTED) || wait_is_idle(e, w))
			continue;
		vec_push(&x, ((struct wedge){ .from = w->thread, .to = task ? end->waker : NO_IDX,
					      .res = w->res, .ctx = end->waker_ctx, .cls = w->cls,
					      .ns = ns, .cnt = 1,
					      .max_ns = wait_real_ns(w) }));
	}
	vec_sort(&x, edge_by_key);
	r->edge_cnt = edges_join(x.items, x.cnt);
	r->edges = ARENA_ARRAY(e->arena, struct wedge, r->edge_cnt + 1);
	if (x.items)
		memcpy(r->edges, x.items, r->edge_cnt * sizeof(*x.items));
	for (size_t i = 0; i < r->edge_cnt && r->part < 1; i++) {
		r->edges[i].ns /= r->part;
		r->edges[i].cnt = (uint64_t)(r->edges[i].cnt / r->part + 0.5);
	}
	qsort(r->edges, r->edge_cnt, sizeof(*r->edges), edge_by_ns);
	vec_release(&x);
}
