/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that come again with new values: the first and the last of each
 * key are kept, and the window's share is their difference.  A counter that
 * the kernel side began with the observation has no first value to take off.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model/model_int.h"

/* Keeps e as first or last of key in table; false when the table was full. */
#define TABLE_PUT(table, key, e)                                                  \
	({                                                                        \
		uint64_t at_ = 0;                                                 \
		bool known_ = hmap_get(&(table)->idx, (key), &at_);               \
		bool fits_ = known_ || (table)->rows.cnt < TABLE_MAX;             \
		if (!known_ && fits_) {                                           \
			at_ = (table)->rows.cnt;                                  \
			hmap_put(&(table)->idx, (key), at_);                      \
			vec_add(&(table)->rows)->first = (e);                     \
		}                                                                 \
		if (fits_)                                                        \
			(table)->rows.items[at_].last = (e);                      \
		fits_;                                                            \
	})

#define TABLE_RELEASE(table)                  \
	do {                                  \
		hmap_release(&(table)->idx);  \
		vec_release(&(table)->rows);  \
	} while (0)

static uint64_t key_of(const uint64_t *parts, size_t cnt)
{
	return hash_bytes(parts, cnt * sizeof(*parts));
}

static bool put_end(struct model *m, const struct event_hdr *ev)
{
	struct ev_end e;
	uint64_t key[7];

	EV_LOAD(ev, &e);
	key[0] = e.tgid;
	key[1] = (uint64_t)e.family << 48 | (uint64_t)e.role << 40 | (uint64_t)e.lport << 16 |
		 e.rport;
	memcpy(&key[2], e.raddr, sizeof(e.raddr));
	key[4] = e.uid;
	key[5] = e.family == 1 ? e.name : 0; /* AF_UNIX without a hash of its path */
	key[6] = 0;
	return TABLE_PUT(&m->priv->ends, key_of(key, 7), e);
}

static bool put_culprit(struct model *m, const struct event_hdr *ev)
{
	struct ev_culprit e;

	EV_LOAD(ev, &e);
	return TABLE_PUT(&m->priv->culprits, (uint64_t)e.victim_tgid << 32 | e.culprit_tgid, e);
}

static bool put_disk(struct model *m, const struct event_hdr *ev)
{
	struct ev_disk e;
	uint64_t key[2];

	EV_LOAD(ev, &e);
	key[0] = (uint64_t)e.dev << 32 | e.tgid;
	key[1] = (uint64_t)e.h.tid << 32 | e.op;
	return TABLE_PUT(&m->priv->disks, key_of(key, 2), e);
}

static bool put_dev(struct model *m, const struct event_hdr *ev)
{
	struct ev_dev e;

	EV_LOAD(ev, &e);
	return TABLE_PUT(&m->priv->devs, e.dev, e);
}

static bool put_cgroup(struct model *m, const struct event_hdr *ev)
{
	struct ev_cgroup e;

	EV_LOAD(ev, &e);
	return TABLE_PUT(&m->priv->cgroups, e.id, e);
}

static bool put_sock(struct model *m, const struct event_hdr *ev)
{
	struct ev_sock e;

	EV_LOAD(ev, &e);
	return TABLE_PUT(&m->priv->socks, e.res, e);
}

static bool put_member(struct model *m, const struct event_hdr *ev)
{
	struct ev_member e;
	uint64_t key[4];

	EV_LOAD(ev, &e);
	key[0] = e.set_res;
	key[1] = e.file_res;
	key[2] = e.ino;
	key[3] = (uint64_t)e.tgid << 32 | (uint32_t)e.fd;
	return TABLE_PUT(&m->priv->members, key_of(key, 4), e);
}

uint64_t tables_listen_key(const struct ev_listen *e)
{
	uint64_t key[2] = {(uint64_t)e->tgid << 32 | (uint32_t)e->family << 16 | e->lport,
			   e->name};

	return key_of(key, 2);
}

static bool put_listen(struct model *m, const struct event_hdr *ev)
{
	struct model_priv *p = m->priv;
	struct ev_listen e;
	uint64_t key, at, *least;

	EV_LOAD(ev, &e);
	key = tables_listen_key(&e);
	*hmap_slot(&p->listen_sum, key) += e.backlog;
	least = hmap_slot(&p->listen_min, key);
	if (!(*hmap_slot(&p->listen_seen, key))++ || e.backlog < *least)
		*least = e.backlog;
	if (hmap_get(&p->listens.idx, key, &at) &&
	    p->listens.rows.items[at].last.backlog > e.backlog)
		e.backlog = p->listens.rows.items[at].last.backlog; /* the largest seen */
	return TABLE_PUT(&p->listens, key, e);
}

static bool put_host(struct model *m, const struct event_hdr *ev)
{
	struct ev_host e;

	EV_LOAD(ev, &e);
	return TABLE_PUT(&m->priv->hosts, 1, e);
}

static bool put_turn(struct model *m, const struct event_hdr *ev)
{
	struct model_priv *p = m->priv;
	struct ev_turn e;

	EV_LOAD(ev, &e);
	if (p->turns.cnt >= TURNS_MAX) { /* the newest win */
		m->limit_cnt += TURNS_MAX / 4;
		p->turns.cnt -= TURNS_MAX / 4;
		memmove(p->turns.items, p->turns.items + TURNS_MAX / 4,
			p->turns.cnt * sizeof(*p->turns.items));
	}
	vec_push(&p->turns, e);
	return true;
}

/* Snapshots at the start and at the end: those of one batch share their time, nearly. */
static bool put_conn(struct model *m, const struct event_hdr *ev)
{
	struct model_priv *p = m->priv;
	uint64_t near_ns = p->tick_ns / 2;
	struct ev_conn e;

	EV_LOAD(ev, &e);
	if (p->conns_last.cnt && ev->ts_ns > p->conns_last_ns + near_ns) {
		if (p->conns_first.cnt == 0)
			for (size_t i = 0; i < p->conns_last.cnt; i++)
				vec_push(&p->conns_first, p->conns_last.items[i]);
		vec_clear(&p->conns_last);
	}
	if (p->conns_last.cnt == 0)
		p->conns_last_ns = ev->ts_ns;
	if (p->conns_last.cnt >= TABLE_MAX)
		return false;
	vec_push(&p->conns_last, e);
	return true;
}

static bool put_kstack(struct model *m, const struct event_hdr *ev)
{
	struct ev_kstack e;

	EV_LOAD(ev, &e);
	if (m->priv->by_kstack.cnt >= TABLE_MAX && !hmap_get(&m->priv->by_kstack, e.id, NULL))
		return false;
	hmap_put(&m->priv->by_kstack, e.id, e.frames);
	return true;
}

static bool put_note(struct model *m, const struct event_hdr *ev)
{
	struct model_priv *p = m->priv;
	struct ev_note e;

	EV_LOAD(ev, &e);
	for (size_t i = 0; i < p->notes.cnt; i++)
		if (p->notes.items[i] == e.text && p->note_kinds.items[i] == e.what)
			return true; /* said before */
	if (p->notes.cnt >= NOTES_MAX)
		return false;
	vec_push(&p->notes, e.text);
	vec_push(&p->note_kinds, e.what);
	return true;
}

static bool put(struct model *m, const struct event_hdr *ev)
{
	switch (ev->kind) {
	case EV_END:
		return put_end(m, ev);
	case EV_CULPRIT:
		return put_culprit(m, ev);
	case EV_DISK:
		return put_disk(m, ev);
	case EV_DEV:
		return put_dev(m, ev);
	case EV_CGROUP:
		return put_cgroup(m, ev);
	case EV_SOCK:
		return put_sock(m, ev);
	case EV_MEMBER:
		return put_member(m, ev);
	case EV_LISTEN:
		return put_listen(m, ev);
	case EV_HOST:
		return put_host(m, ev);
	case EV_TURN:
		return put_turn(m, ev);
	case EV_CONN:
		return put_conn(m, ev);
	case EV_KSTACK:
		return put_kstack(m, ev);
	case EV_NOTE:
		return put_note(m, ev);
	case EV_LOSS:
		EV_LOAD(ev, &m->loss);
		return true;
	case EV_SELF:
		EV_LOAD(ev, &m->self);
		if (!m->start_cpu_ns && m->self.h.ts_ns <= m->meta.h.ts_ns)
			m->start_cpu_ns = m->self.cpu_ns;
		return true;
	default:
		return true;
	}
}

/* All that is not of a thread's time.  What does not fit is counted. */
bool table_add(struct model *m, const struct event_hdr *ev)
{
	if (!put(m, ev))
		m->limit_cnt++;
	return true;
}

#define TABLE_BYTES(t) \
	((t)->rows.cap * sizeof(*(t)->rows.items) + (t)->idx.cap * (sizeof(struct hmap_entry) + 1))

size_t tables_bytes(const struct model_priv *p)
{
	return TABLE_BYTES(&p->ends) + TABLE_BYTES(&p->culprits) + TABLE_BYTES(&p->disks) +
	       TABLE_BYTES(&p->devs) + TABLE_BYTES(&p->cgroups) + TABLE_BYTES(&p->socks) +
	       TABLE_BYTES(&p->members) + TABLE_BYTES(&p->listens) +
	       p->turns.cap * sizeof(*p->turns.items) +
	       (p->conns_first.cap + p->conns_last.cap) * sizeof(struct ev_conn);
}

void tables_release(struct model_priv *p)
{
	hmap_release(&p->listen_sum);
	hmap_release(&p->listen_seen);
	hmap_release(&p->listen_min);
	TABLE_RELEASE(&p->ends);
	TABLE_RELEASE(&p->culprits);
	TABLE_RELEASE(&p->disks);
	TABLE_RELEASE(&p->devs);
	TABLE_RELEASE(&p->cgroups);
	TABLE_RELEASE(&p->socks);
	TABLE_RELEASE(&p->members);
	TABLE_RELEASE(&p->listens);
	TABLE_RELEASE(&p->hosts);
	vec_release(&p->turns);
	vec_release(&p->conns_first);
	vec_release(&p->conns_last);
	vec_release(&p->notes);
	vec_release(&p->note_kinds);
}
