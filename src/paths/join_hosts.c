/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls from host to host: both ends of a TCP connection count the same bytes from the
 * same number on, so a request is the call in whose bytes its own begin.  Clocks are not
 * asked, nor addresses, which are others behind a translation of addresses.
 */
#include <sys/socket.h>

#include "base/cmp.h"
#include "paths/paths_int.h"

struct sent {			/* by a call */
	uint64_t ends;
	uint32_t seq, call;
};

struct sent_calls {
	VEC(struct sent) items;	/* by ends, then seq */
};

uint64_t paths_ends_key(const struct path_sock *s, bool asks)
{
	if (s->family == AF_UNIX)
		return asks ? hash_pair(s->pair[0], s->pair[1]) : hash_pair(s->pair[1], s->pair[0]);
	if (!s->lport || !s->rport)
		return 0;
	return asks ? (uint64_t)s->lport << 16 | s->rport : (uint64_t)s->rport << 16 | s->lport;
}

static int by_ends(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;

	if (x->ends != y->ends)
		return x->ends < y->ends ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return (x->call > y->call) - (x->call < y->call);
}

static void sent_find(const struct paths *p, struct sent_calls *s)
{
	for (uint32_t i = 0; i < p->calls.cnt; i++) {
		const struct paths_call *c = &p->calls.items[i];

		if (c->at.family != AF_UNIX && c->bytes_out && !p->conns.items[c->conn].shared)
			vec_push(&s->items, ((struct sent){.ends = paths_ends_key(&c->at, true),
							   .seq = c->seq, .call = i}));
	}
	vec_sort(&s->items, by_ends);
}

/* Behind the last one with the same ends that begins at seq or before. */
static size_t behind(const struct sent_calls *s, uint64_t ends, uint32_t seq)
{
	size_t lo = 0, hi = s->items.cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct sent *x = &s->items.items[mid];

		if (x->ends < ends || (x->ends == ends && x->seq <= seq))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The call in whose bytes the request begins, of another host; PATHS_NONE: none. */
static uint32_t call_of(const struct paths *p, const struct sent_calls *s,
			const struct paths_request *r)
{
	uint64_t ends = paths_ends_key(&r->at, false);

	for (size_t i = behind(s, ends, r->at.seq); i-- > 0 && s->items.items[i].ends == ends;) {
		const struct paths_call *c = &p->calls.items[s->items.items[i].call];

		if (r->at.seq - c->seq >= c->bytes_out)
			return PATHS_NONE;
		if (c->tgid >> PATHS_HOST_SHIFT != r->tgid >> PATHS_HOST_SHIFT)
			return s->items.items[i].call;
	}
	return PATHS_NONE;
}

void paths_join_hosts(struct paths *p)
{
	struct sent_calls sent = {0};

	if (!p->last_host)
		return;
	sent_find(p, &sent);
	VEC_FOREACH(&p->requests, r) {
		if (r->parent == PATHS_NONE && r->arrival_ns && !r->shared && !r->setup &&
		    r->at.family != AF_UNIX)
			r->parent = call_of(p, &sent, r);
	}
	vec_release(&sent.items);
}
