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

struct maker {
	const struct paths_result *r;
	const struct path_traces_opts *opts;
	uint32_t *first_call, *next_call;	/* of each request; each call's next: idx + 1 */
	uint32_t *child_of;			/* request that a call is, idx + 1 */
	uint32_t *first_wait;			/* of each request: idx + 1 */
	struct made made;
};

/* ---- words */

static uint32_t word(struct maker *m, const char *text)
{
	return strtab_add(m->opts->strings, text);
}

static uint32_t call_name(struct maker *m, const struct path_sock *at)
{
	char addr[PATHS_ADDR_MAX], text[PATHS_ADDR_MAX + 8];

	snprintf(text, sizeof(text), "ask %s", paths_addr(addr, at));
	return word(m, text);
}

static uint32_t request_name(struct maker *m, const struct path_sock *at)
{
	char text[16];

	if (at->family == AF_UNIX)
		return word(m, "unix socket");
	snprintf(text, sizeof(text), ":%u", at->lport);
	return word(m, text);
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
	s->parent = parent;
	s->begin_ns = (int64_t)begin_ns + m->opts->offset_ns;
	s->end_ns = (int64_t)end_ns + m->opts->offset_ns;
	s->kind = SPAN_INTERNAL;
	s->attr_idx = (uint32_t)m->made.attrs.cnt;
	s->ref_idx = (uint32_t)m->made.refs.cnt;
	return s;
}

static void attr_num(struct maker *m, struct span *s, const char *key, double num)
{
	vec_push(&m->made.attrs, ((struct attr){.key = word(m, key), .type = ATTR_NUM,
						.num = num}));
	s->attr_cnt++;
}

static void attr_str(struct maker *m, struct span *s, const char *key, const char *text)
{
	vec_push(&m->made.attrs, ((struct attr){.key = word(m, key), .type = ATTR_STR,
						.str = word(m, text)}));
	s->attr_cnt++;
}

static struct trace_id id_of(const struct paths_request *r)
{
	return (struct trace_id){.hi = r->arrival_ns, .lo = r->at.cookie};
}

/* The address without the port, which is a new one for each connection. */
static void attr_peer(struct maker *m, struct span *s, const struct path_sock *at)
{
	char addr[PATHS_ADDR_MAX];
	char *port;

	if (at->family == AF_UNIX)
		return;
	port = strrchr(paths_addr(addr, at), ':');
	if (port)
		*port = '\0';
	attr_str(m, s, "peer", addr);
}

static void request_attrs(struct maker *m, struct span *s, const struct paths_request *r)
{
	char worker[16];

	snprintf(worker, sizeof(worker), "%u", r->replier);
	attr_peer(m, s, &r->at);
	attr_str(m, s, "worker", worker);
	attr_num(m, s, "cpu", r->at.cpu);
	attr_num(m, s, "bytes in", (double)r->bytes_in);
	attr_num(m, s, "bytes out", (double)r->bytes_out);
	attr_num(m, s, "in flight at arrival", r->at_arrival);
	attr_num(m, s, "requests before on the connection", r->nth);
}

static void wait_add(struct maker *m, uint64_t parent, uint32_t service,
		     const struct paths_wait *w)
{
	struct span *s = span_add(m, parent, w->begin_ns, w->end_ns);
	char tid[16];

	s->service = service;
	s->name = wait_name(m, w);
	snprintf(tid, sizeof(tid), "%u", w->tid);
	attr_str(m, s, "thread", tid);
	if (w->waker) {
		snprintf(tid, sizeof(tid), "%u", w->waker);
		attr_str(m, s, "woken by thread", tid);
	}
	if (w->waker_request != PATHS_NONE) {
		const struct paths_request *by = &m->r->requests[w->waker_request];
		char addr[PATHS_ADDR_MAX];

		attr_str(m, s, "held by a request of", paths_addr(addr, &by->at));
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
		char tid[16];

		s->service = service;
		s->name = call_name(m, &c->at);
		s->kind = SPAN_CLIENT;
		snprintf(tid, sizeof(tid), "%u", c->caller);
		attr_str(m, s, "thread", tid);
		attr_str(m, s, "known by", call_rules[c->rule].name);
		attr_num(m, s, "bytes out", (double)c->bytes_out);
		attr_num(m, s, "bytes in", (double)c->bytes_in);
		if (m->child_of[i - 1] && depth < DEPTH_MAX)
			request_add(m, m->child_of[i - 1] - 1, id, depth + 1);
	}
}

static void request_add(struct maker *m, uint32_t idx, uint64_t parent, int depth)
{
	const struct paths_request *r = &m->r->requests[idx];
	struct span *s = span_add(m, parent, r->arrival_ns, r->reply_ns);
	uint64_t id = s->id;
	uint32_t service = word(m, m->opts->comm(m->opts->ctx, r->tgid));

	s->service = service;
	s->name = request_name(m, &r->at);
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
}

/* ---- all of them */

static void maker_init(struct maker *m, const struct paths_result *r)
{
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
		cnt->span_cnt += t.span_cnt;
		code = opts->trace(opts->ctx, &t);
	}
	maker_release(&m);
	return code;
}
