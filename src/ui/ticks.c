/* SPDX-License-Identifier: Apache-2.0 */
#include "ui/ticks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"

enum { TICKS_DEFAULT = 64 };

struct last_end {
	uint64_t turns, service_ns;
};

struct last_proc {
	uint32_t tgid;
	uint64_t seen_tick;
	struct tick_proc now;
};

struct last_dev {
	uint32_t dev, name;
	uint64_t busy_ns, inflight_ns;		/* newest */
	uint64_t busy_was_ns, inflight_was_ns;	/* at the tick before */
};

struct ticks {
	struct tick *ring;
	uint32_t max;
	uint64_t cnt;
	struct hmap end_idx, proc_idx;
	VEC(struct last_end) ends;
	VEC(struct last_proc) procs;
	VEC(struct last_dev) devs;
	struct ev_host host, host_was;
	struct ev_self self, self_was;
	uint64_t lost, lost_was;
	uint64_t end_ns;	/* of the last tick */
	int has_host, has_self;
};

struct ticks *ticks_new(uint32_t max)
{
	struct ticks *t = xcalloc(1, sizeof(*t));

	t->max = max ? max : TICKS_DEFAULT;
	t->ring = xcalloc(t->max, sizeof(*t->ring));
	return t;
}

void ticks_free(struct ticks *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->max; i++)
		free(t->ring[i].procs);
	free(t->ring);
	hmap_release(&t->end_idx);
	hmap_release(&t->proc_idx);
	vec_release(&t->ends);
	vec_release(&t->procs);
	vec_release(&t->devs);
	free(t);
}

/* Growth of a sum; the new value where it went back (a pid used again). */
static uint64_t grown(uint64_t now, uint64_t was)
{
	return now >= was ? now - was : now;
}

static struct last_proc *proc_of(struct ticks *t, uint32_t tgid)
{
	uint64_t idx;

	if (!hmap_get(&t->proc_idx, tgid, &idx)) {
		if (t->procs.cnt >= TICKS_PROCS)
			return NULL;
		idx = t->procs.cnt;
		hmap_put(&t->proc_idx, tgid, idx);
		vec_add(&t->procs)->tgid = tgid;
	}
	t->procs.items[idx].seen_tick = t->cnt;
	return &t->procs.items[idx];
}

/* A process answers at its server ends; what it asks of others is not its own work. */
static void add_end(struct ticks *t, const struct ev_end *e)
{
	struct { uint32_t tgid, ports; uint8_t raddr[16]; uint64_t uid, role; } key = {
		.tgid = e->tgid, .ports = (uint32_t)e->lport << 16 | e->rport,
		.uid = e->uid, .role = (uint64_t)e->role << 16 | e->family };
	struct last_proc *p = proc_of(t, e->tgid);
	uint64_t id, idx;

	if (e->role != ROLE_SERVER || !p)
		return;
	memcpy(key.raddr, e->raddr, sizeof(key.raddr));
	id = hash_bytes(&key, sizeof(key));
	if (!hmap_get(&t->end_idx, id, &idx)) {
		if (t->ends.cnt >= TICKS_ENDS)
			return;
		idx = t->ends.cnt;
		hmap_put(&t->end_idx, id, idx);
		vec_push(&t->ends, (struct last_end){0});
	}
	p->now.turns += grown(e->turns, t->ends.items[idx].turns);
	p->now.service_ns += grown(e->service_ns, t->ends.items[idx].service_ns);
	t->ends.items[idx] = (struct last_end){e->turns, e->service_ns};
}

static void add_proc(struct ticks *t, const struct ev_proc *e)
{
	struct last_proc *p = proc_of(t, e->h.tid);

	if (!p)
		return;
	p->now.open = e->open;
	p->now.out = e->out;
	p->now.unread = e->unread;
	p->now.rss_bytes = e->rss_bytes;
}

static void add_dev(struct ticks *t, const struct ev_dev *e)
{
	struct last_dev *d = NULL;

	VEC_FOREACH(&t->devs, it)
		if (it->dev == e->dev)
			d = it;
	if (!d) {
		if (t->devs.cnt >= TICKS_DEVS)
			return;
		d = vec_add(&t->devs);
		d->dev = e->dev;
	}
	d->name = e->name;
	d->busy_ns = e->busy_ns;
	d->inflight_ns = e->inflight_ns;
}

static void close_procs(struct ticks *t, struct tick *k)
{
	k->procs = xreallocarray(k->procs, t->procs.cnt + 1, sizeof(*k->procs));
	VEC_FOREACH(&t->procs, p) {
		p->now.tgid = p->tgid;
		if (p->seen_tick == t->cnt)
			k->procs[k->proc_cnt++] = p->now;
		p->now.turns = p->now.service_ns = 0;
	}
}

static void close_devs(struct ticks *t, struct tick *k)
{
	VEC_FOREACH(&t->devs, d) {
		uint64_t busy_ns = grown(d->busy_ns, d->busy_was_ns);

		if (busy_ns > k->dev_busy_ns || !k->dev_name) {
			k->dev_name = d->name;
			k->dev_busy_ns = busy_ns;
			k->dev_inflight_ns = grown(d->inflight_ns, d->inflight_was_ns);
		}
		d->busy_was_ns = d->busy_ns;
		d->inflight_was_ns = d->inflight_ns;
	}
}

static void close_host(struct ticks *t, struct tick *k)
{
	const struct ev_host *was = &t->host_was;

	k->host = t->host;
	k->host.cpu_busy_ns = grown(t->host.cpu_busy_ns, was->cpu_busy_ns);
	k->host.cpu_idle_ns = grown(t->host.cpu_idle_ns, was->cpu_idle_ns);
	k->host.cpu_iowait_ns = grown(t->host.cpu_iowait_ns, was->cpu_iowait_ns);
	k->host.cpu_steal_ns = grown(t->host.cpu_steal_ns, was->cpu_steal_ns);
	k->host.cpu_irq_ns = grown(t->host.cpu_irq_ns, was->cpu_irq_ns);
	k->host.maj_flt = grown(t->host.maj_flt, was->maj_flt);
	k->host.swap_in = grown(t->host.swap_in, was->swap_in);
	t->host_was = t->host;
}

static void close_tick(struct ticks *t, const struct ev_tick *e)
{
	struct tick *k = &t->ring[t->cnt % t->max];
	struct tick_proc *procs = k->procs;

	/* the model's slices end at ts_ns too, whatever begin_ns says */
	*k = (struct tick){.begin_ns = t->end_ns ? t->end_ns : e->begin_ns,
			   .end_ns = e->h.ts_ns, .procs = procs};
	t->end_ns = e->h.ts_ns;
	close_procs(t, k);
	close_devs(t, k);
	close_host(t, k);
	k->self_cpu_ns = grown(t->self.cpu_ns, t->self_was.cpu_ns);
	k->self_events = grown(t->self.events, t->self_was.events);
	k->self_rss_bytes = t->self.rss_bytes;
	t->self_was = t->self;
	k->lost_all = t->lost;
	k->lost = grown(t->lost, t->lost_was);
	t->lost_was = t->lost;
	t->cnt++;
}

static void add_loss(struct ticks *t, const struct ev_loss *e)
{
	t->lost = 0;
	for (unsigned i = 0; i < LOSS_CNT; i++)
		t->lost += loss_spares_sums(i) ? 0 : e->cnt[i];
}

/* Leaves out the cost of the start, which comes before the first tick. */
static void add_self(struct ticks *t, const struct ev_self *e)
{
	t->self = *e;
	if (!t->has_self)
		t->self_was = *e;
	t->has_self = 1;
}

/* The first host record only tells where the counters stood. */
static void add_host(struct ticks *t, const struct ev_host *e)
{
	t->host = *e;
	if (!t->has_host)
		t->host_was = *e;
	t->has_host = 1;
}

void ticks_add(struct ticks *t, const struct event_hdr *ev)
{
	union {
		struct event_hdr h;
		struct ev_host host;
		struct ev_self self;
		struct ev_loss loss;
		struct ev_dev dev;
		struct ev_end end;
		struct ev_proc proc;
		struct ev_tick tick;
	} u;

	memset(&u, 0, sizeof(u));
	memcpy(&u, ev, ev->size < sizeof(u) ? ev->size : sizeof(u));
	switch (ev->kind) {
	case EV_META:
		t->end_ns = ev->ts_ns;
		break;
	case EV_HOST:
		add_host(t, &u.host);
		break;
	case EV_SELF:
		add_self(t, &u.self);
		break;
	case EV_LOSS:
		add_loss(t, &u.loss);
		break;
	case EV_DEV:
		add_dev(t, &u.dev);
		break;
	case EV_END:
		add_end(t, &u.end);
		break;
	case EV_PROC:
		add_proc(t, &u.proc);
		break;
	case EV_TICK:
		close_tick(t, &u.tick);
		break;
	}
}

uint64_t ticks_cnt(const struct ticks *t)
{
	return t->cnt;
}

uint64_t ticks_first(const struct ticks *t)
{
	return t->cnt > t->max ? t->cnt - t->max : 0;
}

const struct tick *ticks_at(const struct ticks *t, uint64_t nth)
{
	return nth < t->cnt && nth >= ticks_first(t) ? &t->ring[nth % t->max] : NULL;
}

const struct tick *ticks_ending(const struct ticks *t, uint64_t end_ns)
{
	for (uint64_t i = t->cnt; i-- > ticks_first(t);)
		if (t->ring[i % t->max].end_ns == end_ns)
			return &t->ring[i % t->max];
	return NULL;
}
