/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/seconds.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"
#include "serve/services.h"
#include "wire/kinds.h"

struct counted {			/* of a conversation, as its last event had it */
	uint64_t turns, service_ns;
	uint64_t hist[EVENT_HIST_CNT];
	uint64_t key;
	uint32_t tgid;
};

struct seconds {
	struct services *services;
	struct second now[LINK_SERVICES_MAX];
	struct hmap at;		/* key of a conversation to 1 + index */
	VEC(struct counted) counted;
	VEC(uint64_t) unused;	/* indexes */
	uint64_t left_out_cnt;
};

struct seconds *seconds_new(struct services *services)
{
	struct seconds *s = xcalloc(1, sizeof(*s));

	s->services = services;
	return s;
}

void seconds_free(struct seconds *s)
{
	if (!s)
		return;
	hmap_release(&s->at);
	vec_release(&s->counted);
	vec_release(&s->unused);
	free(s);
}

static uint64_t end_key(const struct ev_end *e)
{
	uint64_t k[4] = {(uint64_t)e->tgid << 32 | (uint64_t)e->family << 8 | e->role,
			 hash_bytes(e->raddr, sizeof(e->raddr)), e->uid,
			 (uint64_t)e->lport << 16 | e->rport};

	return hash_bytes(k, sizeof(k));
}

/* NULL: there are too many. */
static struct counted *counted_of(struct seconds *s, const struct ev_end *e)
{
	uint64_t key = end_key(e), at;

	if (hmap_get(&s->at, key, &at))
		return &s->counted.items[at - 1];
	if (s->at.cnt >= SECONDS_ENDS_MAX) {
		s->left_out_cnt++;
		return NULL;
	}
	at = s->unused.cnt ? vec_pop(&s->unused) : s->counted.cnt;
	if (at == s->counted.cnt)
		vec_add(&s->counted);
	hmap_put(&s->at, key, at + 1);
	s->counted.items[at] = (struct counted){.key = key, .tgid = e->tgid};
	return &s->counted.items[at];
}

static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void put_end(struct seconds *s, const struct ev_end *e)
{
	int at = e->role == ROLE_SERVER ? services_of(s->services, e->tgid) : SERVICES_NONE;
	struct counted *t = at == SERVICES_NONE ? NULL : counted_of(s, e);
	struct second *now;

	if (!t)
		return;
	now = &s->now[at];
	now->answer_cnt += grown(e->turns, t->turns);
	now->service_ns += grown(e->service_ns, t->service_ns);
	for (unsigned i = 0; i < EVENT_HIST_CNT; i++)
		now->hist[i] += grown(e->hist[i], t->hist[i]);
	t->turns = e->turns;
	t->service_ns = e->service_ns;
	memcpy(t->hist, e->hist, sizeof(t->hist));
	now->open_cnt += (uint32_t)e->open_now;
	if (e->open_oldest_ns > now->open_oldest_ns)
		now->open_oldest_ns = e->open_oldest_ns;
}

/* Sockets with data that nobody has read are those that a stopped process leaves so. */
static void put_sock(struct seconds *s, const struct ev_sock *e)
{
	int at = e->role == ROLE_SERVER && e->unread_since_ns
			 ? services_of(s->services, e->tgid) : SERVICES_NONE;
	uint64_t age = grown(e->h.ts_ns, e->unread_since_ns);

	if (at == SERVICES_NONE)
		return;
	s->now[at].unread_cnt++;
	if (age > s->now[at].unread_oldest_ns)
		s->now[at].unread_oldest_ns = age;
}

static void put_listen(struct seconds *s, const struct ev_listen *e)
{
	int at = services_of(s->services, e->tgid);
	struct second *now = at == SERVICES_NONE ? NULL : &s->now[at];

	if (!now || (now->backlog_max && (uint64_t)e->backlog * now->backlog_max <=
						 (uint64_t)now->backlog_cnt * e->backlog_max))
		return;
	now->backlog_cnt = e->backlog;
	now->backlog_max = e->backlog_max;
}

/* As wait() tells it: a signal that people and unit files do not send to end a process. */
static int is_crash(uint32_t exit_code)
{
	int sig = (int)(exit_code & 0x7f);

	return sig && sig != SIGTERM && sig != SIGINT && sig != SIGHUP && sig != SIGQUIT &&
	       sig != SIGPIPE && sig != SIGUSR1 && sig != SIGUSR2;
}

/* How many conversations it had. */
static uint32_t forget(struct seconds *s, uint32_t tgid)
{
	uint32_t cnt = 0;

	for (size_t i = 0; i < s->counted.cnt; i++) {
		struct counted *t = &s->counted.items[i];

		if (t->tgid != tgid)
			continue;
		hmap_del(&s->at, t->key);
		*t = (struct counted){0};
		vec_push(&s->unused, i);
		cnt++;
	}
	return cnt;
}

static void put_task(struct seconds *s, const struct ev_task *e)
{
	int at = services_of(s->services, e->tgid);

	/* a helper that a service starts and kills serves nobody */
	if (at != SERVICES_NONE && e->op == TASK_EXIT && e->h.tid == e->tgid &&
	    (forget(s, e->tgid) || s->services->items[at].pid == e->tgid))
		s->now[at].crash_cnt += is_crash(e->exit_code) ? 1 : 0;
	services_put(s->services, e);
}

void seconds_put(struct seconds *s, const struct event_hdr *ev)
{
	switch (ev->kind) {
	case EV_END:
		put_end(s, (const struct ev_end *)ev);
		break;
	case EV_SOCK:
		put_sock(s, (const struct ev_sock *)ev);
		break;
	case EV_LISTEN:
		put_listen(s, (const struct ev_listen *)ev);
		break;
	case EV_TASK:
		put_task(s, (const struct ev_task *)ev);
		break;
	default:
		break;
	}
}

void seconds_take(struct seconds *s, uint32_t service, struct second *ret)
{
	*ret = s->now[service];
	ret->process_cnt = s->services->items[service].process_cnt;
	s->now[service] = (struct second){0};
}

uint64_t seconds_left_out(const struct seconds *s)
{
	return s->left_out_cnt;
}
