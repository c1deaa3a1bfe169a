/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over all events in order of time.  Connections make requests and calls;
 * threads make evidence: a read begins a piece, which the next read ends, and
 * what is sent in the piece goes to whom the read was of.  Nothing is decided here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "paths/paths_int.h"

static int by_time(const void *a, const void *b)
{
	const struct path_item *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->event > y->event) - (x->event < y->event);
}

/* A wake comes with the sleep that it ended, later than it was. */
static void items_make(struct paths *p)
{
	for (uint32_t i = 0; i < p->events.cnt; i++) {
		const struct path_event *e = &p->events.items[i];

		vec_push(&p->items, ((struct path_item){.ns = e->ns, .event = i}));
		if (e->kind == PATH_WAIT && e->other && e->wait.wake_ns)
			vec_push(&p->items, ((struct path_item){.ns = e->wait.wake_ns, .event = i,
								.is_wake = true}));
	}
	vec_sort(&p->items, by_time);
}

/* ---- connections */

static uint8_t role_of(const struct paths *p, const struct path_event *e)
{
	const struct path_sock *s = &e->sock;

	if (e->kind == PATH_CONNECT)
		return ROLE_ASKS;
	if (s->lport)
		return hmap_get(&p->ports, (uint64_t)(e->tgid >> PATHS_HOST_SHIFT) << 16 | s->lport,
				NULL) ? ROLE_SERVES : ROLE_ASKS;
	if (s->bound & PATH_OWN_NAME)
		return ROLE_SERVES;
	return s->bound & PATH_PEER_NAME ? ROLE_ASKS : ROLE_NONE;
}

static struct path_conn *conn_of(struct paths *p, const struct path_event *e)
{
	uint64_t *at = hmap_slot(&p->conn_of, e->sock.cookie);
	struct path_conn *c;

	if (*at)
		return &p->conns.items[*at - 1];
	c = vec_add(&p->conns);
	*at = p->conns.cnt;
	*c = (struct path_conn){.cookie = e->sock.cookie, .role = role_of(p, e), .tgid = e->tgid,
				.request = PATHS_NONE, .call = PATHS_NONE,
				.overlap_call = PATHS_NONE};
	c->shared = hmap_get(&p->sharing, e->sock.cookie, NULL);
	c->from_begin = e->kind == PATH_CONNECT || e->call & PATH_SOCK_FIRST;
	return c;
}

static uint32_t request_begin(struct paths *p, struct path_conn *c, const struct path_event *e,
			      uint64_t arrival_ns)
{
	struct paths_request *r = vec_add(&p->requests);
	struct path_thread *t = paths_thread(p, e->tid, e->tgid);

	*r = (struct paths_request){.tgid = e->tgid, .reader = e->tid, .replier = e->tid,
				    .conn = (uint32_t)(c - p->conns.items), .parent = PATHS_NONE,
				    .nth = c->nth++, .arrival_ns = arrival_ns, .at = e->sock};
	c->request = (uint32_t)(p->requests.cnt - 1);
	vec_push(&t->read, c->request);
	return c->request;
}

static uint32_t call_begin(struct paths *p, struct path_conn *c, const struct path_event *e)
{
	struct path_thread *t = paths_thread(p, e->tid, e->tgid);
	struct paths_call *call = vec_add(&p->calls);
	struct path_evidence *v = vec_add(&p->evidence);

	*call = (struct paths_call){.tgid = e->tgid, .caller = e->tid, .request = PATHS_NONE,
				    .conn = (uint32_t)(c - p->conns.items),
				    .same_thread = t->read_last, .start_ns = e->ns, .at = e->sock};
	c->call = (uint32_t)(p->calls.cnt - 1);
	for (int i = 0; i < PATH_RULE_CNT; i++)
		v->by[i] = PATHS_NONE;
	v->after = PATHS_NONE;
	vec_push(&t->called, c->call);
	if (!t->replied) {
		v->by[PATH_RULE_READ] = t->of_request;
		if (t->of_request != PATHS_NONE)
			p->requests.items[t->of_request].asks = true;
		v->after = t->of_answer;
		if (t->of_answer != PATHS_NONE)
			p->evidence.items[t->of_answer].led_on = true;
	}
	v->by[PATH_RULE_IDLE] = t->woken_for;
	t->woken_for = PATHS_NONE;
	return c->call;
}

/* ---- exchanges whose end the peer does not wait for */

static void request_overlaps(struct paths *p, struct path_conn *c, uint32_t request)
{
	struct paths_request *r = &p->requests.items[request];

	if (r->overlaps)
		return;
	r->overlaps = true;
	c->overlap_cnt += !c->from_begin || r->nth >= PATH_SETUP_CNT;
}

static void call_overlaps(struct path_conn *c, uint32_t call)
{
	if (call != PATHS_NONE && c->overlap_call != call)
		c->overlap_cnt++;
	c->overlap_call = call;
}

/* ---- reads and sends */

static void piece_begin(struct path_thread *t, uint32_t request, uint32_t answer)
{
	t->of_request = request;
	t->of_answer = answer;
	t->replied = false;
}

/*
 * Who waits for a reply sends nothing, unless there are several requests at once on the
 * connection (HTTP/2, pipelining) or a stream: where one ends is then not seen.
 */
static void request_read(struct paths *p, struct path_conn *c, const struct path_event *e)
{
	uint32_t i = c->request;
	struct path_thread *t;

	if (i != PATHS_NONE && p->requests.items[i].reply_ns && e->call & PATH_SOCK_UNACKED)
		request_overlaps(p, c, i);
	if (i == PATHS_NONE || p->requests.items[i].reply_ns)
		i = request_begin(p, c, e, e->ns);
	else if (p->requests.items[i].asks)
		c->shared = true;
	p->requests.items[i].bytes_in += e->sock.bytes;
	t = paths_thread(p, e->tid, e->tgid);
	t->read_last = i;
	piece_begin(t, i, PATHS_NONE);
}

static void reply_sent(struct paths *p, struct path_conn *c, const struct path_event *e)
{
	uint32_t i = c->request;
	struct paths_request *r;
	struct path_thread *t;

	if (i == PATHS_NONE)
		i = request_begin(p, c, e, 0);
	r = &p->requests.items[i];
	r->bytes_out += e->sock.bytes;
	if (!r->reply_ns)
		r->first_reply_ns = e->ns;
	r->reply_ns = e->ns;
	r->replier = e->tid;
	if (e->call & PATH_SOCK_UNREAD)
		request_overlaps(p, c, i);
	t = paths_thread(p, e->tid, e->tgid);
	if (!t->replies.cnt || *vec_last(&t->replies) != i)
		vec_push(&t->replies, i);
	if (t->of_answer != PATHS_NONE && !t->replied) {
		struct path_evidence *v = &p->evidence.items[t->of_answer];

		v->led_on = true;
		if (v->by[PATH_RULE_ANSWER] == PATHS_NONE)
			v->by[PATH_RULE_ANSWER] = i;
	}
	t->replied = true;
}

static void call_sent(struct paths *p, struct path_conn *c, const struct path_event *e)
{
	uint32_t i = c->call;

	if (e->call & PATH_SOCK_UNREAD)
		call_overlaps(c, i);
	if (i == PATHS_NONE || p->calls.items[i].answer_ns)
		i = call_begin(p, c, e);
	if (!p->calls.items[i].bytes_out)
		p->calls.items[i].seq = e->sock.seq;
	p->calls.items[i].bytes_out += e->sock.bytes;
	p->calls.items[i].at = e->sock;
}

static void answer_read(struct paths *p, struct path_conn *c, const struct path_event *e)
{
	struct path_thread *t = paths_thread(p, e->tid, e->tgid);
	struct paths_call *call;

	if (c->call == PATHS_NONE) {	/* of a call before the recording began */
		piece_begin(t, PATHS_NONE, PATHS_NONE);
		return;
	}
	call = &p->calls.items[c->call];
	if (e->call & PATH_SOCK_UNACKED)
		call_overlaps(c, c->call);
	if (!call->answer_ns) {
		call->answer_ns = e->ns;
		call->answered_by = e->tid;
	}
	call->end_ns = e->ns;
	call->bytes_in += e->sock.bytes;
	t->answered_last = c->call;
	piece_begin(t, PATHS_NONE, c->call);
}

static void socket_event(struct paths *p, const struct path_event *e)
{
	struct path_conn *c = conn_of(p, e);

	c->end_ns = e->ns;
	if (e->kind == PATH_CONNECT) {
		c->role = ROLE_ASKS;
		call_begin(p, c, e);
		return;
	}
	if (c->role == ROLE_SERVES) {
		if (e->kind == PATH_RECV)
			request_read(p, c, e);
		else
			reply_sent(p, c, e);
	} else if (c->role == ROLE_ASKS) {
		if (e->kind == PATH_RECV)
			answer_read(p, c, e);
		else
			call_sent(p, c, e);
	}
}

/* ---- sleeps and wakes */

static bool is_poll(uint16_t call)
{
	return call == PATH_SYS_EPOLL_WAIT || call == PATH_SYS_EPOLL_PWAIT ||
	       call == PATH_SYS_EPOLL_PWAIT2;
}

static void slept(struct paths *p, const struct path_event *e, uint32_t idx)
{
	struct path_thread *t = paths_thread(p, e->tid, e->tgid);

	vec_push(&t->slept, idx);
	t->ran_ns = e->ns;
	if (is_poll(e->call))
		piece_begin(t, PATHS_NONE, PATHS_NONE);
	if (e->call != PATH_SYS_FUTEX || !e->other)
		t->woken_for = PATHS_NONE;
}

/* The only open request that the thread has read, or PATHS_NONE. */
static uint32_t open_of(const struct paths *p, const struct path_thread *t)
{
	uint32_t i = t->read.cnt > t->read_before ? *vec_last(&t->read) : PATHS_NONE;

	if (i == PATHS_NONE || p->requests.items[i].reply_ns)
		return PATHS_NONE;
	return i;
}

static void woken(struct paths *p, const struct path_event *e)
{
	struct path_thread *by, *t;
	uint32_t request;

	if (e->call != PATH_SYS_FUTEX || e->wait.waker_call != PATH_SYS_FUTEX ||
	    paths_is_lock(p, e->tgid, e->wait.word))
		return;
	paths_thread(p, e->other, e->tgid);
	t = paths_thread(p, e->tid, e->tgid);
	by = paths_thread(p, e->other, e->tgid);
	request = open_of(p, t);
	if (request != PATHS_NONE && by->answered_last != PATHS_NONE) {
		struct path_evidence *v = &p->evidence.items[by->answered_last];

		if (v->by[PATH_RULE_RESULT] == PATHS_NONE)
			v->by[PATH_RULE_RESULT] = request;
		by->answered_last = PATHS_NONE;
	} else if (request == PATHS_NONE) {
		t->woken_for = open_of(p, by);
	}
}

/* Exchanges may have ended and begun in the gap, unseen. */
static void gap(struct paths *p, const struct path_event *e)
{
	uint32_t host = e->tgid >> PATHS_HOST_SHIFT;

	VEC_FOREACH(&p->conns, c) {
		if (c->tgid >> PATHS_HOST_SHIFT != host)
			continue;
		if (c->request != PATHS_NONE && !p->requests.items[c->request].reply_ns)
			p->requests.items[c->request].cut_ns = e->ns;
		c->request = c->call = PATHS_NONE;
	}
	VEC_FOREACH(&p->threads, t) {
		if (t->tgid >> PATHS_HOST_SHIFT != host)
			continue;
		piece_begin(t, PATHS_NONE, PATHS_NONE);
		t->read_last = t->answered_last = t->woken_for = PATHS_NONE;
		t->read_before = t->read.cnt;
	}
}

void paths_take(struct paths *p)
{
	items_make(p);
	VEC_FOREACH(&p->items, item) {
		const struct path_event *e = &p->events.items[item->event];

		if (item->is_wake)
			woken(p, e);
		else if (e->kind == PATH_WAIT)
			slept(p, e, item->event);
		else if (e->kind == PATH_GAP)
			gap(p, e);
		else if (e->kind != PATH_CLONE)
			socket_event(p, e);
	}
}
