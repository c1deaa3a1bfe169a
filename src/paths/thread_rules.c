/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence of whole threads.  A thread that reads one request, replies, and reads the
 * next: all its calls between are of the one that is open (PATH_RULE_THREAD).  A
 * thread that replies to what others read: its calls since its reply before are of
 * this reply (PATH_RULE_FINISH), if it is never seen to reply with a call under way.
 */
#include "paths/paths_int.h"

uint64_t paths_open_until(const struct paths *p, const struct paths_request *r)
{
	uint64_t at;

	if (r->setup)
		return 0;
	if (r->shared)	/* where one ends is not seen: the first is all of them */
		return r->nth ? 0 : p->conns.items[r->conn].end_ns;
	if (r->reply_ns)
		return r->reply_ns;
	if (r->cut_ns)
		return r->cut_ns;
	/* in a loop it may be open still; elsewhere it is no request, but the end of one */
	if (hmap_get(&p->thread_of, r->reader, &at) && p->threads.items[at - 1].is_loop)
		return UINT64_MAX;
	return r->arrival_ns;
}

/* Reads while another request that it will reply to itself is open. */
static void loop_find(const struct paths *p, struct path_thread *t)
{
	uint64_t until = 0;
	uint32_t cnt = 0;

	for (size_t i = 0; i < t->read.cnt; i++) {
		const struct paths_request *r = &p->requests.items[t->read.items[i]];

		if (r->arrival_ns && r->arrival_ns < until)
			cnt++;
		if (r->replier == t->tid && r->reply_ns > until)
			until = r->reply_ns;
	}
	t->is_loop = cnt && cnt > PATH_LOOP_SHARE * (double)t->read.cnt;
}

/* The requests that the thread read and that are open at ns: how many, and the last one. */
struct open_set {
	VEC(uint32_t) items;
	size_t next;
};

static void open_at(struct open_set *o, const struct paths *p, const struct path_thread *t,
		    uint64_t ns)
{
	size_t kept = 0;

	for (; o->next < t->read.cnt; o->next++) {
		if (p->requests.items[t->read.items[o->next]].arrival_ns > ns)
			break;
		vec_push(&o->items, t->read.items[o->next]);
	}
	for (size_t i = 0; i < o->items.cnt; i++) {
		uint32_t r = o->items.items[i];

		if (paths_open_until(p, &p->requests.items[r]) >= ns)
			o->items.items[kept++] = r;
	}
	o->items.cnt = kept;
}

/*
 * Requests from before the recording stand at their reply in t->read, not at their
 * arrival: they are put first.
 */
static void before_first(const struct paths *p, struct path_thread *t)
{
	size_t to = t->read.cnt;

	for (size_t i = t->read.cnt; i-- > 0;) {
		if (p->requests.items[t->read.items[i]].arrival_ns)
			t->read.items[--to] = t->read.items[i];
	}
	for (uint32_t i = 0, k = 0; k < to && i < p->requests.cnt; i++) {
		const struct paths_request *r = &p->requests.items[i];

		if (!r->arrival_ns && r->reader == t->tid)
			t->read.items[k++] = i;
	}
}

static void by_thread(struct paths *p, struct path_thread *t)
{
	struct open_set open = {0};

	for (size_t i = 0; i < t->called.cnt; i++) {
		const struct paths_call *c = &p->calls.items[t->called.items[i]];
		uint32_t r;

		open_at(&open, p, t, c->start_ns);
		if (open.items.cnt != 1)
			continue;
		r = open.items.items[0];
		if (p->requests.items[r].replier == t->tid)
			p->evidence.items[t->called.items[i]].by[PATH_RULE_THREAD] = r;
	}
	vec_release(&open.items);
}

/* Replies while a call of its own is not answered. */
static void busy_find(const struct paths *p, struct path_thread *t)
{
	uint32_t busy = 0;
	size_t next = 0;
	uint64_t until = 0;

	for (size_t i = 0; i < t->replies.cnt; i++) {
		uint64_t at = p->requests.items[t->replies.items[i]].first_reply_ns;

		for (; next < t->called.cnt; next++) {
			const struct paths_call *c = &p->calls.items[t->called.items[next]];

			if (c->start_ns > at)
				break;
			if (c->answered_by == t->tid && c->answer_ns > until)
				until = c->answer_ns;
		}
		busy += until > at;
	}
	t->is_busy = busy && busy > PATH_BUSY_SHARE * (double)t->replies.cnt;
}

static void by_finish(struct paths *p, struct path_thread *t)
{
	uint64_t before = 0;
	size_t next = 0;

	for (size_t i = 0; i < t->replies.cnt; i++) {
		struct paths_request *r = &p->requests.items[t->replies.items[i]];

		for (; next < t->called.cnt; next++) {
			uint32_t idx = t->called.items[next];
			const struct paths_call *c = &p->calls.items[idx];

			if (c->start_ns > r->reply_ns)
				break;
			if (r->reader == t->tid || c->answered_by != t->tid || !before ||
			    c->start_ns < before)
				continue;
			p->evidence.items[idx].by[PATH_RULE_FINISH] = t->replies.items[i];
			paths_call_led(p, t->replies.items[i], c->start_ns);
		}
		if (r->reader != t->tid && r->arrival_ns)
			r->worker_ns = before > r->arrival_ns ? before : r->arrival_ns;
		before = r->reply_ns;
	}
}

void paths_thread_rules(struct paths *p)
{
	VEC_FOREACH(&p->threads, t) {
		if (paths_proc(p, t->tgid)->switches)
			continue;
		loop_find(p, t);
		before_first(p, t);
		by_thread(p, t);
		busy_find(p, t);
		if (!t->is_busy)
			by_finish(p, t);
	}
}
