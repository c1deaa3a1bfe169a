/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that hang through the whole window.  No event tells of them, only what
 * TCP knows of their connections at both ends of the window: we owe an answer since
 * before it began, and await one from somebody.  Each such pair is one request open
 * for all of the window, and ends at the conversation that awaits.
 *
 * One side alone is no request: an idle client of HTTP/2 or MySQL may have said the
 * last word, and who waits for messages has asked for them long ago.  Only a
 * connection on which nothing was ever answered, at a port where others are, waits
 * for what is not seen.
 */
#include "waits/engine.h"

/* Asked for a request that came before: the two clocks are TCP's, of a tick each. */
#define ASKED_SLACK_NS 100000000

struct owed { uint64_t cnt, first_cnt, silent_cnt, asked_cnt, oldest_ns, turns; };

static struct owed owed_of(const struct model *m, uint32_t proc)
{
	struct owed o = { 0 };

	for (size_t i = 0; i < m->end_cnt; i++) {
		const struct end *n = &m->ends[i];

		if (n->proc != proc)
			continue;
		if (n->role == ROLE_CLIENT) {
			o.asked_cnt += n->stale_cnt;
			continue;
		}
		o.cnt += n->stale_cnt;
		o.silent_cnt += n->stale_silent_cnt;
		o.first_cnt += n->turns ? n->stale_first_cnt : 0;
		if (n->stale_oldest_ns > o.oldest_ns)
			o.oldest_ns = n->stale_oldest_ns;
	}
	return o;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Requests that an answer is awaited for; silent are clients that wait to be greeted. */
static uint64_t paired(const struct owed *o)
{
	return min_u64(o->cnt + o->silent_cnt, o->asked_cnt);
}

/* Threads that have slept since before the window with a request open: in the causes already. */
static uint64_t asleep_cnt(const struct engine *e, uint32_t proc)
{
	const struct model *m = e->m;
	uint64_t cnt = 0;

	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		const struct thread *th = &m->threads[t];
		const struct wait *w = &m->waits[th->first_wait];

		if (th->proc == proc && th->wait_len == 1 && (w->flags & WAITF_PENDING) &&
		    (w->flags & WAITF_BEFORE_START) && wait_open(e, w))
			cnt++;
	}
	return cnt;
}

static uint64_t unseen_of(const struct engine *e, uint32_t proc, const struct owed *o)
{
	uint64_t told = paired(o) + asleep_cnt(e, proc);

	return o->first_cnt > told ? o->first_cnt - told : 0;
}

uint64_t unanswered_cnt(const struct engine *e, uint32_t proc)
{
	struct owed o = owed_of(e->m, proc);

	return paired(&o) + unseen_of(e, proc, &o);
}

struct laying { struct engine *e; struct causes *into; uint32_t proc, loop; double window_ns; };

static void lay(const struct laying *k, unsigned kind, uint32_t end, uint64_t cnt)
{
	uint32_t res = end != NO_IDX ? res_of_end(k->e->m, &k->e->m->ends[end]) : NO_IDX;
	struct place at = { .entry_proc = k->proc, .entry = k->loop, .via = k->loop,
			    .via_res = NO_IDX, .lock = NO_IDX, .end = end, .depth = 1 };

	if (cnt)
		causes_add_part(k->into, kind, NO_IDX, res, &at, (double)cnt * k->window_ns,
				(double)cnt * k->e->r->part);
}

void unanswered_lay(struct engine *e, uint32_t proc, uint32_t loop, struct causes *into)
{
	const struct model *m = e->m;
	struct owed o = owed_of(m, proc);
	struct laying k = { e, into, proc, loop, (double)(m->end_ns - m->begin_ns) * e->r->part };
	uint64_t left = paired(&o);

	/* an answer that was awaited before the request came is none for it, unless none else is */
	for (int later = 0; later < 2; later++) {
		for (size_t i = 0; i < m->end_cnt && left; i++) {
			const struct end *n = &m->ends[i];
			bool before = n->stale_oldest_ns > o.oldest_ns + ASKED_SLACK_NS;
			uint64_t cnt = min_u64(n->stale_cnt, left);

			if (n->proc != proc || n->role != ROLE_CLIENT || before != (later != 0))
				continue;
			lay(&k, CAUSE_EXTERNAL, (uint32_t)i, cnt);
			left -= cnt;
		}
	}
	lay(&k, CAUSE_UNSEEN, NO_IDX, unseen_of(e, proc, &o));
}
