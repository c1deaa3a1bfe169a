/* SPDX-License-Identifier: Apache-2.0 */
#include "paths/paths.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "paths/paths_int.h"

struct paths *paths_new(void)
{
	return xcalloc(1, sizeof(struct paths));
}

void paths_free(struct paths *p)
{
	if (!p)
		return;
	VEC_FOREACH(&p->threads, t) {
		vec_release(&t->read);
		vec_release(&t->replies);
		vec_release(&t->called);
		vec_release(&t->slept);
	}
	vec_release(&p->events);
	vec_release(&p->items);
	vec_release(&p->requests);
	vec_release(&p->calls);
	vec_release(&p->evidence);
	vec_release(&p->waits);
	vec_release(&p->conns);
	vec_release(&p->threads);
	vec_release(&p->procs);
	vec_release(&p->words);
	hmap_release(&p->conn_of);
	hmap_release(&p->thread_of);
	hmap_release(&p->proc_of);
	hmap_release(&p->word_of);
	hmap_release(&p->ports);
	hmap_release(&p->sharing);
	vec_release(&p->shared_conns);
	free(p);
}

void paths_serves(struct paths *p, uint16_t port)
{
	hmap_put(&p->ports, port, 1);
}

void paths_switches(struct paths *p, uint32_t tgid)
{
	paths_proc(p, tgid)->switches = true;
}

void paths_serves_on(struct paths *p, uint32_t host, uint16_t port)
{
	hmap_put(&p->ports, (uint64_t)host << 16 | port, 1);
	p->last_host = host > p->last_host ? host : p->last_host;
}

void paths_gap(struct paths *p, uint32_t host, uint64_t ns)
{
	const struct path_event e = {.kind = PATH_GAP, .ns = ns, .tgid = paths_on_host(host, 0)};

	paths_add(p, &e);
}

void paths_shares(struct paths *p, uint64_t cookie)
{
	hmap_put(&p->sharing, cookie, 1);
}

void paths_add(struct paths *p, const struct path_event *e)
{
	if (e->kind == 0 || e->kind >= PATH_KIND_CNT || p->events.cnt >= UINT32_MAX / 2)
		p->result.bad_cnt++;
	else
		vec_push(&p->events, *e);
}

struct path_thread *paths_thread(struct paths *p, uint32_t tid, uint32_t tgid)
{
	uint64_t *at = hmap_slot(&p->thread_of, tid);
	struct path_thread *t;

	if (*at)
		return &p->threads.items[*at - 1];
	t = vec_add(&p->threads);
	*at = p->threads.cnt;
	t->tid = tid;
	t->tgid = tgid;
	t->read_last = t->of_request = t->of_answer = PATHS_NONE;
	t->answered_last = t->woken_for = PATHS_NONE;
	return t;
}

struct path_proc *paths_proc(struct paths *p, uint32_t tgid)
{
	uint64_t *at = hmap_slot(&p->proc_of, tgid);
	struct path_proc *proc;

	if (*at)
		return &p->procs.items[*at - 1];
	proc = vec_add(&p->procs);
	*at = p->procs.cnt;
	proc->tgid = tgid;
	return proc;
}

bool paths_fits(const struct paths_request *r, const struct paths_call *c)
{
	return r->tgid == c->tgid && !r->setup && r->arrival_ns && r->arrival_ns <= c->start_ns &&
	       c->answer_ns <= r->reply_ns;
}

char *paths_addr(char *out, const struct path_sock *s)
{
	char host[INET6_ADDRSTRLEN];
	bool mapped = memcmp(s->raddr, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) == 0;

	if (s->family == AF_UNIX) {
		snprintf(out, PATHS_ADDR_MAX, "a unix socket");
		return out;
	}
	if (s->family == AF_INET6 && !mapped) {
		inet_ntop(AF_INET6, s->raddr, host, sizeof(host));
		snprintf(out, PATHS_ADDR_MAX, "[%s]:%u", host, s->rport);
		return out;
	}
	inet_ntop(AF_INET, s->raddr + (mapped ? 12 : 0), host, sizeof(host));
	snprintf(out, PATHS_ADDR_MAX, "%s:%u", host, s->rport);
	return out;
}
