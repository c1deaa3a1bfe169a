/* SPDX-License-Identifier: Apache-2.0 */
#include "paths/path_traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/syscalls.h"
#include "base/vec.h"
#include "paths/paths.h"
#include "trace/trace.h"

enum { DEPTH_MAX = 8 };		/* processes that ask one another */
#define QUEUE_MIN_NS 10000	/* shorter: the worker was waiting for it */

struct made {			/* of one request */
	VEC(struct span) spans;
	VEC(struct attr) attrs;
	VEC(struct span_ref) refs;
};

enum key {
	KEY_PEER, KEY_WORKER, KEY_CPU, KEY_BYTES_IN, KEY_BYTES_OUT, KEY_IN_FLIGHT, KEY_NTH,
	KEY_THREAD, KEY_WOKEN_BY, KEY_HELD_BY, KEY_KNOWN_BY, KEY_CNT,
};

static const char *const key_names[KEY_CNT] = {
	"peer", "worker", "cpu", "bytes in", "bytes out", "in flight at arrival",
	"requests before on the connection", "thread", "woken by thread",
	"held by a request of", "known by",
};

enum addr_kind { ADDR_PEER, ADDR_CALL, ADDR_REQUEST, ADDR_SHARED };

struct maker {
	const struct paths_result *r;
	const struct path_traces_opts *opts;
	uint32_t *first_call, *next_call;	/* of each request; each call's next: idx + 1 */
	uint32_t *child_of;			/* request that a call is, idx + 1 */
	uint32_t *first_wait;			/* of each request: idx + 1 */
	/* Words made once, since there are few: by thread, and by address with its kind. */
	struct hmap threads, addrs;
	uint32_t keys[KEY_CNT];
	uint32_t host;		/* of the present request: string id */
	struct made made;
};

/* ---- words */

static uint32_t word(struct maker *m, const char *text)
{
	return strtab_add(m->opts->strings, text);
}

/* A thread, "22046", and "22046@db1" where there are several hosts. */
static uint32_t thread(struct maker *m, uint32_t tid)
{
	uint64_t *at = hmap_slot(&m->threads, tid);
	const struct path_traces_opts *o = m->opts;
	char text[96];

	if (!*at) {
		snprintf(text, sizeof(text), "%u%s%.64s", tid & PATHS_ID_MASK, o->host ? "@" : "",
			 o->host ? strtab_str(o->strings, o->host(o->ctx, tid)) : "");
		*at = (uint64_t)word(m, text) + 1;
	}
	return (uint32_t)(*at - 1);
}

/* A peer is without its port, which is a new one for each connection. */
static uint32_t addr_make(struct maker *m, const struct path_sock *at, enum addr_kind kind)
{
	char addr[PATHS_ADDR_MAX], text[PATHS_ADDR_MAX + 8];
	char *port;

	if (kind >= ADDR_REQUEST) {
		const char *end = kind == ADDR_SHARED ? " several at once" : "";

		if (at->family == AF_UNIX)
			snprintf(text, sizeof(text), "unix socket%s", end);
		else
			snprintf(text, sizeof(text), ":%u%s", at->lport, end);
		return word(m, text);
	}
	snprintf(text, sizeof(text), "%s%s", kind == ADDR_CALL ? "ask " : "", paths_addr(addr, at));
	port = kind == ADDR_PEER ? strrchr(text, ':') : NULL;
	if (port)
		*port = '\0';
	return word(m, text);
}

static uint32_t addr_word(struct maker *m, const struct path_sock *at, enum addr_kind kind)
{
	uint16_t port = kind == ADDR_PEER ? 0 : kind == ADDR_CALL ? at->rport : at->lport;
	uint64_t half[2] = {0, 0}, *slot;

	if (kind < ADDR_REQUEST && at->family != AF_UNIX)
		memcpy(half, at->raddr, at->family == AF_INET ? 4 : sizeof(half));
	slot = hmap_slot(&m->addrs, hash_pair(hash_pair(half[0], half[1]),
					      (uint64_t)at->family << 32 | port << 8 | kind));
	if (!*slot)
		*slot = (uint64_t)addr_make(m, at, kind) + 1;
	return (uint32_t)(*slot - 1);
}

static uint32_t wait_name(struct maker *m, const struct paths_wait *w)
{
	const char *name = w->call == PATH_NO_CALL ? NULL : syscall_name(w->call);

	if (w->is_lock)
		return word(m, "lock");
	if (w->uninterruptible && !name)
		return word(m, "page fault");
	return word(m, name ? name : "sleep");
}

/* ---- spans */

static struct span *span_add(struct maker *m, uint64_t parent, uint64_t begin_ns, uint64_t end_ns)
{
	struct span *s = vec_add(&m->made.spans);

	s->id = m->made.spans.cnt;
	s->host = m->host;
	s->parent = parent;
	s->begin_ns = (int64_t)begin_ns + m->opts->offset_ns;
	s->end_ns = (int64_t)end_ns + m->opts->offset_ns;
	s->kind = SPAN_INTERNAL;
	s->attr_idx = (uint32_t)m->made.attrs.cnt;
	s->ref_idx = (uint32_t)m->made.refs.cnt;
	return s;
}

static void attr_num(struct maker *m, struct span *s, enum key key, double num)
{
	vec_push(&m->made.attrs, ((struct attr){.key = m->keys[key], .type = ATTR_NUM,
						.num = num}));
	s->attr_cnt++;
}

static void attr_str(struct maker *m, struct span *s, enum key key, uint32_t text)
{
	vec_push(&m->made.attrs, ((struct attr){.key = m->keys[key], .type = ATTR_STR,
						.str = text}));
	s->attr_cnt++;
}

static struct trace_id id_of(const struct paths_request *r)
{
	return (struct trace_id){.hi = r->arrival_ns, .lo = r->at.cookie};
}

static void request_attrs(struct maker *m, struct span *s, const struct paths_request *r)
{
	if (r->at.family != AF_UNIX)
		attr_str(m, s, KEY_PEER, addr_word(m, &r->at, ADDR_PEER));
	attr_str(m, s, KEY_WORKER, thread(m, r->replier));
	attr_num(m, s, KEY_CPU, r->at.cpu);
	attr_num(m, s, KEY_BYTES_IN, (double)r->bytes_in);
	attr_num(m, s, KEY_BYTES_OUT, (double)r->bytes_out);
	attr_num(m, s, KEY_IN_FLIGHT, r->at_arrival);
	attr_num(m, s, KEY_NTH, r->nth);
}

static void wait_add(struct maker *m, uint64_t parent, uint32_t service,
		     const struct paths_wait *w)
{
	struct span *s = span_add(m, parent, w->begin_ns, w->end_ns);

	s->service = service;
	s->name = wait_name(m, w);
	attr_str(m, s, KEY_THREAD, thread(m, w->tid));
	if (w->waker)
		attr_str(m, s, KEY_WOKEN_BY, thread(m, w->waker));
	if (w->waker_request != PATHS_NONE) {
		const struct paths_request *by = &m->r->requests[w->waker_request];
		char addr[PATHS_ADDR_MAX];

		attr_str(m, s, KEY_HELD_BY, word(m, paths_addr(addr, &by->at)));
		vec_push(&m->made.refs, ((struct span_ref){.trace = id_of(by), .span = 1,
							   .kind = SPAN_REF_LINK}));
		s->ref_cnt++;
	}
}

static void request_add(struct maker *m, uint32_t idx, uint64_t parent, int depth);

static void calls_add(struct maker *m, uint32_t request, uint64_t parent, int depth)
{
	const struct paths_result *r = m->r;
	uint32_t service = word(m, m->opts->comm(m->opts->ctx, r->requests[request].tgid));

	for (uint32_t i = m->first_call[request]; i; i = m->next_call[i - 1]) {
		const struct paths_call *c = &r->calls[i - 1];
		struct span *s = span_add(m, parent, c->start_ns, c->end_ns);
		uint64_t id = s->id;

		s->service = service;
		s->name = addr_word(m, &c->at, ADDR_CALL);
		s->kind = SPAN_CLIENT;
		attr_str(m, s, KEY_THREAD, thread(m, c->caller));
		attr_str(m, s, KEY_KNOWN_BY, word(m, call_rules[c->rule].name));
		attr_num(m, s, KEY_BYTES_OUT, (double)c->bytes_out);
		attr_num(m, s, KEY_BYTES_IN, (double)c->bytes_in);
		if (m->child_of[i - 1] && depth < DEPTH_MAX)
			request_add(m, m->child_of[i - 1] - 1, id, depth + 1);
	}
}

static void request_add(struct maker *m, uint32_t idx, uint64_t parent, int depth)
{
	const struct paths_request *r = &m->r->requests[idx];
	uint32_t service = word(m, m->opts->comm(m->opts->ctx, r->tgid)), asked_on = m->host;
	struct span *s;
	uint64_t id;

	m->host = m->opts->host ? m->opts->host(m->opts->ctx, r->tgid) : 0;
	s = span_add(m, parent, r->arrival_ns, r->reply_ns);
	id = s->id;
	s->service = service;
	s->name = addr_word(m, &r->at, r->shared ? ADDR_SHARED : ADDR_REQUEST);
	s->kind = SPAN_SERVER;
	request_attrs(m, s, r);
	if (r->worker_ns > r->arrival_ns + QUEUE_MIN_NS && r->worker_ns < r->reply_ns) {
		s = span_add(m, id, r->arrival_ns, r->worker_ns);
		s->service = service;
		s->name = word(m, "queue for a worker");
	}
	calls_add(m, idx, id, depth);
	for (uint32_t i = m->first_wait[idx]; i && i <= m->r->wait_cnt &&
	     m->r->waits[i - 1].request == idx; i++)
		wait_add(m, id, service, &m->r->waits[i - 1]);
	m->host = asked_on;
}

/* ---- all of them */

static void maker_init(struct maker *m, const struct paths_result *r)
{
	for (int k = 0; k < KEY_CNT; k++)
		m->keys[k] = word(m, key_names[k]);
	m->first_call = xcalloc(r->request_cnt + 1, sizeof(*m->first_call));
	m->first_wait = xcalloc(r->request_cnt + 1, sizeof(*m->first_wait));
	m->next_call = xcalloc(r->call_cnt + 1, sizeof(*m->next_call));
	m->child_of = xcalloc(r->call_cnt + 1, sizeof(*m->child_of));
	for (uint32_t i = (uint32_t)r->call_cnt; i-- > 0;) {
		uint32_t request = r->calls[i].request;

		if (request == PATHS_NONE)
			continue;
		m->next_call[i] = m->first_call[request];
		m->first_call[request] = i + 1;
	}
	for (uint32_t i = (uint32_t)r->wait_cnt; i-- > 0;)
		m->first_wait[r->waits[i].request] = i + 1;
	for (uint32_t i = 0; i < r->request_cnt; i++) {
		if (r->requests[i].parent != PATHS_NONE && r->requests[i].reply_ns)
			m->child_of[r->requests[i].parent] = i + 1;
	}
}

static void maker_release(struct maker *m)
{
	free(m->first_call);
	free(m->first_wait);
	free(m->next_call);
	free(m->child_of);
	hmap_release(&m->threads);
	hmap_release(&m->addrs);
	vec_release(&m->made.spans);
	vec_release(&m->made.attrs);
	vec_release(&m->made.refs);
}

/* Is it shown within the request that asked for it? */
static bool is_inner(const struct paths_result *r, const struct paths_request *q)
{
	return q->parent != PATHS_NONE && r->calls[q->parent].request != PATHS_NONE;
}

int path_traces(const struct paths *p, const struct path_traces_opts *opts,
		struct path_traces_cnt *cnt)
{
	const struct paths_result *r = paths_result(p);
	struct maker m = {.r = r, .opts = opts};
	int code = 0;

	maker_init(&m, r);
	for (uint32_t i = 0; i < r->request_cnt && code >= 0; i++) {
		const struct paths_request *q = &r->requests[i];
		struct trace t = {.id = id_of(q)};

		if (q->setup)
			continue;
		if (!q->arrival_ns || !q->reply_ns) {
			cnt->cut_cnt++;
			continue;
		}
		if (is_inner(r, q))
			continue;
		vec_clear(&m.made.spans);
		vec_clear(&m.made.attrs);
		vec_clear(&m.made.refs);
		request_add(&m, i, 0, 0);
		t.spans = m.made.spans.items;
		t.attrs = m.made.attrs.items;
		t.refs = m.made.refs.items;
		t.span_cnt = (uint32_t)m.made.spans.cnt;
		t.attr_cnt = (uint32_t)m.made.attrs.cnt;
		t.ref_cnt = (uint32_t)m.made.refs.cnt;
		cnt->trace_cnt++;
		cnt->shared_cnt += q->shared;
		cnt->span_cnt += t.span_cnt;
		code = opts->trace(opts->ctx, &t);
	}
	maker_release(&m);
	return code;
}
