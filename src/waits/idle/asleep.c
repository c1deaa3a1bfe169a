/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that slept with a request for as long as the watch went on.
 *
 * Nothing was read nor answered meanwhile, so the probe counts no request of theirs.
 * The place shows it: of a process with a thread for each connection, one that sleeps on
 * something in which no client's socket is has been asked and has not answered yet;
 * one that sleeps on its client's socket has nothing to do.  The count shows which
 * threads those are: as many as there are connections have one name, or lie in one
 * function.  That may be chance, so an answer must be owed for as long as the watch,
 * which is known to a tick of the kernel only; of a process with one thread and one
 * connection it need not.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/hash.h"
#include "model/stack.h"
#include "waits/waits_int.h"

/* Connections come and go between the snapshot and the last wait: so many may differ. */
#define CONNS_SLACK 0.1

enum { SET_LISTED = 1, SET_HAS_SOCKET = 2 };

/* Looked at once, for sets are many and so are their files. */
static void sets_look(struct engine *e)
{
	const struct model *m = e->m;

	for (size_t i = 0; i < m->member_cnt; i++) {
		const struct member *x = &m->members[i];

		if (x->set == NO_IDX)
			continue;
		e->sets[x->set] |= SET_LISTED;
		if (x->file == NO_IDX ? strncmp(x->name, "socket:", 7) == 0 :
		    m->res[x->file].kind == RES_SOCKET && m->res[x->file].role != ROLE_CLIENT)
			e->sets[x->set] |= SET_HAS_SOCKET;
	}
}

bool waits_for_client(const struct engine *e, const struct wait *w)
{
	const struct model *m = e->m;

	if (w->res != NO_IDX && m->res[w->res].kind == RES_SOCKET)
		return m->res[w->res].role != ROLE_CLIENT;
	if (w->cls != WAIT_EPOLL && w->cls != WAIT_POLL)
		return false;
	/* a set that nobody looked into may well have one */
	return w->res == NO_IDX || e->sets[w->res] != SET_LISTED;
}

bool opens_fifo(const struct wait *w)
{
	return w->cls == WAIT_PIPE && w->res == NO_IDX && !w->op;
}

/* As a lock, a latch and a pause are waited for; what takes a child or a disk is no secret. */
static bool hides_request(const struct engine *e, const struct wait *w)
{
	return (wait_class_traits(w->cls) & WAITC_LATCH || w->cls == WAIT_TIMER ||
		opens_fifo(w)) &&
	       !waits_for_client(e, w);
}

/* Its last wait, which went on when the watch ended; NULL if it did not sleep then. */
static const struct wait *last_wait(const struct model *m, uint32_t t)
{
	const struct thread *th = &m->threads[t];
	const struct wait *w;

	if (!th->tracked || !th->wait_len)
		return NULL;
	w = &m->waits[th->first_wait + th->wait_len - 1];
	return w->flags & WAITF_PENDING && !(w->flags & WAITF_PREEMPTED) ? w : NULL;
}

/* Connections with clients that process p had when the watch began and when it ended. */
static uint32_t conns_kept(const struct model *m, uint32_t tgid)
{
	uint32_t first = 0, last = 0;

	for (size_t i = 0; i < m->conn_first_cnt; i++)
		if (m->conns_first[i].tgid == tgid && m->conns_first[i].role == ROLE_SERVER)
			first += m->conns_first[i].conns;
	for (size_t i = 0; i < m->conn_last_cnt; i++)
		if (m->conns_last[i].tgid == tgid && m->conns_last[i].role == ROLE_SERVER)
			last += m->conns_last[i].conns;
	return first < last ? first : last;
}

/* The oldest answer that p owes has been owed since before the watch. */
static bool owes_all_along(const struct model *m, uint32_t tgid)
{
	for (size_t i = 0; i < m->conn_last_cnt; i++) {
		const struct ev_conn *c = &m->conns_last[i];

		if (c->tgid == tgid && c->role == ROLE_SERVER && c->owe_reply &&
		    c->oldest_owe_ms * 1000000ULL >= m->end_ns - m->begin_ns)
			return true;
	}
	return false;
}

struct crew {			/* the threads of a process */
	const struct model *m;
	uint32_t proc, thread_cnt, conns;
	uint32_t reader_cnt;	/* of the threads: seen to read a request */
	uint32_t unknown_cnt;	/* of the threads: asleep, and no stack tells where */
	bool owes;		/* an answer, since before the watch */
	struct hmap places;	/* function: threads that sleep in it */
	struct hmap names;	/* threads of a name, but for a number at its end */
};

uint32_t sleep_stack(const struct model *m, const struct wait *w)
{
	const struct thread *th = &m->threads[w->thread];

	if (w->ustack != NO_IDX && m->stacks[w->ustack].user_cnt)
		return w->ustack;
	for (uint32_t i = th->first_long + th->long_len; i-- > th->first_long;) {
		const struct wait *x = &m->long_waits[i];

		if (x->ustack != NO_IDX && x->res == w->res && x->cls == w->cls &&
		    m->stacks[x->ustack].user_cnt)
			return x->ustack;
	}
	return NO_IDX;
}

static const struct stack *stack_of(const struct model *m, const struct wait *w)
{
	uint32_t at = w ? sleep_stack(m, w) : NO_IDX;

	return at == NO_IDX ? NULL : &m->stacks[at];
}

static uint64_t name_key(const struct model *m, uint32_t t)
{
	const char *comm = m->threads[t].comm;
	size_t len = strlen(comm);

	while (len && comm[len - 1] >= '0' && comm[len - 1] <= '9')
		len--;
	return hash_bytes(comm, len);
}

/* It takes new connections, and serves none. */
static bool accepts(const struct wait *w)
{
	return w && w->cls == WAIT_SOCKET && w->op == WAIT_OP_ACCEPT;
}

static void crew_count(const struct engine *e, struct crew *c)
{
	const struct proc *p = &c->m->procs[c->proc];

	for (uint32_t k = 0; k < p->thread_cnt; k++) {
		uint32_t t = c->m->proc_threads[p->first_thread + k];
		const struct stack *s = stack_of(c->m, last_wait(c->m, t));
		struct hmap seen = { 0 };

		if (!c->m->threads[t].tracked || accepts(last_wait(c->m, t)))
			continue;
		++*hmap_slot(&c->names, name_key(c->m, t));
		c->thread_cnt++;
		c->reader_cnt += e->tinfo[t].reads;
		c->unknown_cnt += last_wait(c->m, t) && !s;
		for (uint32_t i = 0; s && i < s->user_cnt; i++) {
			uint64_t place = frame_place(c->m, s, i), *again = hmap_slot(&seen, place);

			if (!*again)
				++*hmap_slot(&c->places, place);
			*again = 1;
		}
		hmap_release(&seen);
	}
}

static bool as_many(const struct crew *c, const struct hmap *cnts, uint64_t key)
{
	uint64_t cnt;

	return hmap_get(cnts, key, &cnt) && (double)cnt <= (1 + CONNS_SLACK) * c->conns &&
	       (double)cnt >= (1 - CONNS_SLACK) * c->conns;
}

/* Has t the name, or lies in a function, of all that serve a connection, and of nobody else? */
static bool serves_conn(const struct crew *c, uint32_t t)
{
	const struct wait *w = last_wait(c->m, t);
	const struct stack *s = stack_of(c->m, w);

	if (c->thread_cnt == 1) /* of many connections it may have none to answer */
		return c->conns == 1 || c->owes;
	if (!c->owes || accepts(w))
		return false;
	if (as_many(c, &c->names, name_key(c->m, t)))
		return true;
	for (uint32_t i = 0; s && i < s->user_cnt && c->unknown_cnt <= CONNS_SLACK * c->conns; i++)
		if (as_many(c, &c->places, frame_place(c->m, s, i)))
			return true;
	return false;
}

static void crew_mark(struct engine *e, const struct crew *c)
{
	const struct proc *p = &e->m->procs[c->proc];

	for (uint32_t k = 0; k < p->thread_cnt; k++) {
		uint32_t t = e->m->proc_threads[p->first_thread + k];
		struct tinfo *ti = &e->tinfo[t];
		const struct wait *w = e->m->threads[t].tracked ? last_wait(e->m, t) : NULL;

		if (!w || ti->reads || !serves_conn(c, t))
			continue;
		ti->reads = ti->serves = true;
		ti->asleep = hides_request(e, w);
		e->at_work[c->proc] |= ti->asleep;
	}
}

void asleep_find(struct engine *e)
{
	const struct model *m = e->m;

	sets_look(e);
	for (uint32_t p = 0; p < m->proc_cnt; p++) {
		struct crew c = { .m = m, .proc = p };

		if (!m->procs[p].target && !m->procs[p].peer)
			continue;
		c.conns = conns_kept(m, m->procs[p].tgid);
		if (!c.conns)
			continue;
		c.owes = owes_all_along(m, m->procs[p].tgid);
		crew_count(e, &c);
		if (c.conns > c.reader_cnt) /* else each has its thread */
			crew_mark(e, &c);
		hmap_release(&c.places);
		hmap_release(&c.names);
	}
}
