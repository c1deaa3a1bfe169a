/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the tables' first and last values to the window's, in arrays that
 * live until the next model_finish, each in an order of its own keys.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cmp.h"
#include "model/model_int.h"

#define PUB_ARRAY(p, type, cnt) ARENA_ARRAY(&(p)->pub, type, (cnt) + 1)

#define SORT(items, cnt, cmp)                                        \
	do {                                                         \
		if ((cnt) > 1)                                       \
			qsort((items), (cnt), sizeof(*(items)), (cmp)); \
	} while (0)

static int cmp_end(const void *pa, const void *pb)
{
	const struct end *a = pa, *b = pb;
	int addr;

	CMP(a->proc, b->proc);
	CMP(a->role, b->role);
	CMP(a->family, b->family);
	CMP(a->lport, b->lport);
	CMP(a->rport, b->rport);
	addr = memcmp(a->raddr, b->raddr, sizeof(a->raddr));
	return addr ? addr : strcmp(a->name, b->name);
}

static const char *end_name(struct model *m, const struct ev_end *e)
{
	const char *name = model_str(m, e->name);
	struct arena *pub = &m->priv->pub;
	char addr[INET6_ADDRSTRLEN];

	if (name[0] && (e->family == AF_UNIX || e->role != ROLE_CLIENT))
		return name;
	if (e->role == ROLE_SERVER || e->role == ROLE_LISTEN)
		return arena_printf(pub, "port %u", e->lport);
	if ((e->family == AF_INET || e->family == AF_INET6) &&
	    inet_ntop(e->family, e->raddr, addr, sizeof(addr)))
		return arena_printf(pub, e->family == AF_INET ? "%s:%u" : "[%s]:%u", addr,
				    e->rport);
	return "unix socket";
}

static void end_sums(struct end *d, const struct ev_end *f, const struct ev_end *l)
{
	d->turns = since(l->turns, f->turns);
	d->service_ns = since(l->service_ns, f->service_ns);
	d->queue_ns = since(l->queue_ns, f->queue_ns);
	d->queue_cnt = since(l->queue_cnt, f->queue_cnt);
	d->idle_ns = since(l->idle_ns, f->idle_ns);
	d->txblock_ns = since(l->txblock_ns, f->txblock_ns);
	d->txblock_cnt = since(l->txblock_cnt, f->txblock_cnt);
	d->rx_bytes = since(l->rx_bytes, f->rx_bytes);
	d->tx_bytes = since(l->tx_bytes, f->tx_bytes);
	/* more datagrams sent than came: it is no server of requests only */
	if ((int64_t)(l->partial_cnt - f->partial_cnt) > 0)
		d->partial_cnt = l->partial_cnt - f->partial_cnt;
	for (int i = 0; i < EVENT_HIST_CNT; i++)
		d->hist[i] = since(l->hist[i], f->hist[i]);
	d->answer_max_ns = l->answer_max_ns;
	d->conns = l->conns;
	d->refused_cnt = since(l->refused_cnt, f->refused_cnt);
	d->open_now = l->open_now;
	d->open_oldest_ns = l->open_oldest_ns;
	d->open_sum_ns = l->open_sum_ns;
	d->open_tick_ns = since(l->open_tick_ns, f->open_tick_ns);
}

static bool is_kin(const struct proc *a, const struct proc *b)
{
	/* init is everybody's parent */
	return strcmp(a->comm, b->comm) == 0 && a->ppid == b->ppid && a->ppid > 1;
}

/*
 * Who serves a unix socket's path, where only one process that was seen does,
 * or children of one process that all do the same, of which the first stands:
 * the ends of connections of a few milliseconds are gone when they are looked for.
 */
static uint32_t unix_server(const struct model *m, const struct end *client)
{
	uint32_t found = NO_IDX;

	for (size_t i = 0; i < m->end_cnt; i++) {
		const struct end *e = &m->ends[i];

		if (e->role != ROLE_SERVER || e->family != client->family ||
		    e->proc == NO_IDX || e->proc == found || strcmp(e->name, client->name) != 0)
			continue;
		if (found != NO_IDX && !is_kin(&m->procs[found], &m->procs[e->proc]))
			return NO_IDX;
		if (found == NO_IDX || m->procs[e->proc].tgid < m->procs[found].tgid)
			found = e->proc;
	}
	return found;
}

static void unix_peers(struct model *m)
{
	for (size_t i = 0; i < m->end_cnt; i++) {
		struct end *e = &m->ends[i];
		uint32_t proc;

		if (e->role != ROLE_CLIENT || e->family != AF_UNIX || e->peer_tgid || !e->name[0])
			continue;
		proc = unix_server(m, e);
		if (proc == NO_IDX)
			continue;
		e->peer_tgid = m->procs[proc].tgid;
		e->peer_comm = m->procs[proc].comm;
	}
}

static bool is_of_end(const struct model *m, const struct ev_conn *c, const struct end *d)
{
	return d->proc != NO_IDX && m->procs[d->proc].tgid == c->tgid && d->role == c->role &&
	       d->family == c->family && d->lport == c->lport && d->rport == c->rport &&
	       memcmp(d->raddr, c->raddr, sizeof(d->raddr)) == 0;
}

/* The row of the conversation; where all of its connections hang it has none yet. */
static struct end *end_of_conn(struct model *m, const struct ev_conn *c)
{
	struct ev_end e = { .tgid = c->tgid, .family = c->family, .role = c->role,
			    .lport = c->lport, .rport = c->rport };
	struct end *d;

	for (size_t i = 0; i < m->end_cnt; i++) {
		if (is_of_end(m, c, &m->ends[i]))
			return &m->ends[i];
	}
	memcpy(e.raddr, c->raddr, sizeof(e.raddr));
	d = &m->ends[m->end_cnt++];
	*d = (struct end){ .proc = model_proc_by_tgid(m, c->tgid), .role = c->role,
			   .family = c->family, .lport = c->lport, .rport = c->rport,
			   .name = end_name(m, &e), .peer_tgid = c->peer_tgid,
			   .peer_comm = model_str(m, c->peer_comm), .conns = c->conns };
	memcpy(d->raddr, c->raddr, sizeof(d->raddr));
	return d;
}

/*
 * Connections that had no answer when the window began and when it ended: no event
 * tells of them, only the snapshots.
 */
static void publish_stale(struct model *m)
{
	struct model_priv *p = m->priv;
	struct end *d;

	for (size_t i = 0; p->conns_first.cnt && i < p->conns_last.cnt; i++) {
		const struct ev_conn *c = &p->conns_last.items[i];

		if (!c->owe_stale && !c->await_stale)
			continue;
		d = end_of_conn(m, c);
		d->stale_cnt = c->role == ROLE_SERVER ? c->owe_stale : c->await_stale;
		d->stale_first_cnt = c->owe_first;
		d->conns_last = c->conns;
		d->stale_oldest_ns = 1000000ULL * (c->role == ROLE_SERVER ? c->oldest_owe_ms
									: c->oldest_await_ms);
	}
	for (size_t i = 0; i < p->conns_first.cnt + p->conns_last.cnt; i++) {
		const struct ev_conn *c = i < p->conns_first.cnt ? &p->conns_first.items[i] :
					  &p->conns_last.items[i - p->conns_first.cnt];

		if (!c->silent_conns || c->role != ROLE_SERVER)
			continue;
		d = end_of_conn(m, c);
		d->silent_cnt = c->silent_conns > d->silent_cnt ? c->silent_conns : d->silent_cnt;
	}
}

static void publish_ends(struct model *m)
{
	struct model_priv *p = m->priv;
	static const struct ev_end none;

	m->end_cnt = p->ends.rows.cnt;
	m->ends = PUB_ARRAY(p, struct end, m->end_cnt + p->conns_first.cnt + p->conns_last.cnt);
	for (size_t i = 0; i < m->end_cnt; i++) {
		const struct ev_end *f = &p->ends.rows.items[i].first;
		const struct ev_end *l = &p->ends.rows.items[i].last;
		struct end *d = &m->ends[i];

		d->proc = model_proc_by_tgid(m, l->tgid);
		d->role = l->role;
		d->family = l->family;
		d->lport = l->lport;
		d->rport = l->rport;
		memcpy(d->raddr, l->raddr, sizeof(d->raddr));
		d->name = end_name(m, l);
		d->peer_tgid = l->peer_tgid;
		d->peer_comm = model_str(m, l->peer_comm);
		end_sums(d, model_is_base(m, f->h.ts_ns) ? f : &none, l);
		if (f->h.ts_ns == l->h.ts_ns)
			end_sums(d, &none, l); /* seen once: the sums are the window's */
		d->first = *f;
		d->last = *l;
	}
	publish_stale(m);
	unix_peers(m);
	SORT(m->ends, m->end_cnt, cmp_end);
}

/*
 * Is the first of two readings of a sum from before the window?  A sum is sent when it
 * moves: one that was sent before the window only did not move in it.
 */
static bool sum_has_base(const struct model *m, const struct event_hdr *first,
			 const struct event_hdr *last)
{
	return first->ts_ns < m->begin_ns ||
	       (first->ts_ns != last->ts_ns && model_is_base(m, first->ts_ns));
}

static int cmp_culprit(const void *pa, const void *pb)
{
	const struct culprit *a = pa, *b = pb;

	CMP(a->victim, b->victim);
	CMP(b->ns, a->ns);
	CMP(a->culprit, b->culprit);
	return 0;
}

static void publish_culprits(struct model *m)
{
	struct model_priv *p = m->priv;

	m->culprit_cnt = p->culprits.rows.cnt;
	m->culprits = PUB_ARRAY(p, struct culprit, m->culprit_cnt);
	for (size_t i = 0; i < m->culprit_cnt; i++) {
		const struct ev_culprit *f = &p->culprits.rows.items[i].first;
		const struct ev_culprit *l = &p->culprits.rows.items[i].last;
		bool base = sum_has_base(m, &f->h, &l->h);

		m->culprits[i] = (struct culprit){
			.victim = l->victim_tgid, .culprit = l->culprit_tgid,
			.comm = model_str(m, l->comm), .tid = l->h.tid,
			.ns = since(l->ns, base ? f->ns : 0),
			.cnt = since(l->cnt, base ? f->cnt : 0),
		};
	}
	SORT(m->culprits, m->culprit_cnt, cmp_culprit);
}

static int cmp_disk(const void *pa, const void *pb)
{
	const struct disk_use *a = pa, *b = pb;

	CMP(a->dev, b->dev);
	CMP(b->ios, a->ios); /* the busiest first */
	CMP(a->tgid, b->tgid);
	CMP(a->tid, b->tid);
	CMP(a->op, b->op);
	return 0;
}

static void publish_disks(struct model *m)
{
	struct model_priv *p = m->priv;

	m->disk_use_cnt = p->disks.rows.cnt;
	m->disk_uses = PUB_ARRAY(p, struct disk_use, m->disk_use_cnt);
	for (size_t i = 0; i < m->disk_use_cnt; i++) {
		const struct ev_disk *f = &p->disks.rows.items[i].first;
		const struct ev_disk *l = &p->disks.rows.items[i].last;
		bool base = sum_has_base(m, &f->h, &l->h);

		m->disk_uses[i] = (struct disk_use){
			.dev = l->dev, .tgid = l->tgid, .tid = l->h.tid, .op = l->op,
			.comm = model_str(m, l->comm), .lat_max_ns = l->lat_max_ns,
			.ios = since(l->ios, base ? f->ios : 0),
			.sectors = since(l->sectors, base ? f->sectors : 0),
			.lat_ns = since(l->lat_ns, base ? f->lat_ns : 0),
		};
	}
	SORT(m->disk_uses, m->disk_use_cnt, cmp_disk);
}

static int cmp_dev(const void *pa, const void *pb)
{
	const struct dev *a = pa, *b = pb;

	CMP(a->dev, b->dev);
	return 0;
}

static void publish_devs(struct model *m)
{
	struct model_priv *p = m->priv;

	m->dev_cnt = p->devs.rows.cnt;
	m->devs = PUB_ARRAY(p, struct dev, m->dev_cnt);
	for (size_t i = 0; i < m->dev_cnt; i++) {
		const struct ev_dev *f = &p->devs.rows.items[i].first;
		const struct ev_dev *l = &p->devs.rows.items[i].last;
		bool base = f->h.ts_ns != l->h.ts_ns && model_is_base(m, f->h.ts_ns);

		m->devs[i] = (struct dev){
			.dev = l->dev, .name = model_str(m, l->name),
			.busy_ns = since(l->busy_ns, base ? f->busy_ns : 0),
			.inflight_ns = since(l->inflight_ns, base ? f->inflight_ns : 0),
		};
	}
	SORT(m->devs, m->dev_cnt, cmp_dev);
}

static int cmp_cgroup(const void *pa, const void *pb)
{
	const struct cgroup *a = pa, *b = pb;

	CMP(a->id, b->id);
	return 0;
}

/* The kernel counts these since the cgroup was made: only the difference is the window's. */
static void publish_cgroups(struct model *m)
{
	struct model_priv *p = m->priv;

	m->cgroup_cnt = p->cgroups.rows.cnt;
	m->cgroups = PUB_ARRAY(p, struct cgroup, m->cgroup_cnt);
	for (size_t i = 0; i < m->cgroup_cnt; i++) {
		const struct ev_cgroup *f = &p->cgroups.rows.items[i].first;
		const struct ev_cgroup *l = &p->cgroups.rows.items[i].last;

		m->cgroups[i] = (struct cgroup){
			.id = l->id, .path = model_str(m, l->path), .tgid = l->tgid,
			.nr_periods = since(l->nr_periods, f->nr_periods),
			.nr_throttled = since(l->nr_throttled, f->nr_throttled),
			.throttled_ns = since(l->throttled_ns, f->throttled_ns),
			.quota_us = l->quota_us, .period_us = l->period_us,
			.io_rbps = l->io_rbps, .io_wbps = l->io_wbps,
			.io_riops = l->io_riops, .io_wiops = l->io_wiops,
			.mem_limit_bytes = l->mem_limit_bytes,
			.mem_used_bytes = l->mem_used_bytes,
			.mem_failcnt = since(l->mem_failcnt, f->mem_failcnt),
		};
	}
	SORT(m->cgroups, m->cgroup_cnt, cmp_cgroup);
}

static void publish_host(struct model *m)
{
	const struct ev_host *f, *l;
	struct ev_host *h = &m->host;

	if (m->priv->hosts.rows.cnt == 0)
		return;
	f = &m->priv->hosts.rows.items[0].first;
	l = &m->priv->hosts.rows.items[0].last;
	*h = *l;
	h->cpu_busy_ns = since(l->cpu_busy_ns, f->cpu_busy_ns);
	h->cpu_idle_ns = since(l->cpu_idle_ns, f->cpu_idle_ns);
	h->cpu_iowait_ns = since(l->cpu_iowait_ns, f->cpu_iowait_ns);
	h->cpu_steal_ns = since(l->cpu_steal_ns, f->cpu_steal_ns);
	h->cpu_irq_ns = since(l->cpu_irq_ns, f->cpu_irq_ns);
	h->swap_in = since(l->swap_in, f->swap_in);
	h->swap_out = since(l->swap_out, f->swap_out);
	h->maj_flt = since(l->maj_flt, f->maj_flt);
	h->direct_scan = since(l->direct_scan, f->direct_scan);
	h->psi_cpu_us = since(l->psi_cpu_us, f->psi_cpu_us);
	h->psi_io_us = since(l->psi_io_us, f->psi_io_us);
	h->psi_mem_us = since(l->psi_mem_us, f->psi_mem_us);
	h->listen_overflows = since(l->listen_overflows, f->listen_overflows);
	h->listen_drops = since(l->listen_drops, f->listen_drops);
	h->tcp_retrans = since(l->tcp_retrans, f->tcp_retrans);
}

static int cmp_sock(const void *pa, const void *pb)
{
	const struct sock *a = pa, *b = pb;

	CMP(a->e.res, b->e.res);
	return 0;
}

static int cmp_member(const void *pa, const void *pb)
{
	const struct member *a = pa, *b = pb;

	CMP(a->set, b->set);
	CMP(a->tgid, b->tgid);
	CMP(a->fd, b->fd);
	CMP(a->file, b->file);
	CMP(a->ino, b->ino);
	return 0;
}

static int cmp_listen(const void *pa, const void *pb)
{
	const struct ev_listen *a = &((const struct listen *)pa)->e;
	const struct ev_listen *b = &((const struct listen *)pb)->e;

	CMP(a->tgid, b->tgid);
	CMP(a->family, b->family);
	CMP(a->lport, b->lport);
	CMP(a->name, b->name);
	return 0;
}

static void listen_sums(const struct model *m, struct listen *l)
{
	uint64_t key = tables_listen_key(&l->e), sum = 0, cnt = 0, least = 0;

	hmap_get(&m->priv->listen_sum, key, &sum);
	hmap_get(&m->priv->listen_seen, key, &cnt);
	hmap_get(&m->priv->listen_min, key, &least);
	l->backlog_avg = cnt ? (double)sum / cnt : 0;
	l->backlog_min = cnt > 1 ? (uint32_t)least : 0;
}

static void publish_files(struct model *m)
{
	struct model_priv *p = m->priv;

	m->sock_cnt = p->socks.rows.cnt;
	m->socks = PUB_ARRAY(p, struct sock, m->sock_cnt);
	for (size_t i = 0; i < m->sock_cnt; i++) {
		m->socks[i].e = p->socks.rows.items[i].last;
		m->socks[i].res = model_res_by_id(m, m->socks[i].e.res);
		/* a socket described before anything listened on its port */
		if (m->socks[i].res != NO_IDX && m->res[m->socks[i].res].role == ROLE_UNKNOWN)
			m->res[m->socks[i].res].role = m->socks[i].e.role;
	}
	SORT(m->socks, m->sock_cnt, cmp_sock);
	m->member_cnt = p->members.rows.cnt;
	m->members = PUB_ARRAY(p, struct member, m->member_cnt);
	for (size_t i = 0; i < m->member_cnt; i++) {
		const struct ev_member *l = &p->members.rows.items[i].last;

		m->members[i] = (struct member){
			.set = model_res_by_id(m, l->set_res),
			.file = l->file_res ? model_res_by_id(m, l->file_res) : NO_IDX,
			.ino = l->ino, .tgid = l->tgid, .fd = l->fd, .events = l->events,
			.name = model_str(m, l->name),
		};
	}
	SORT(m->members, m->member_cnt, cmp_member);
	m->listen_cnt = p->listens.rows.cnt;
	m->listens = PUB_ARRAY(p, struct listen, m->listen_cnt);
	for (size_t i = 0; i < m->listen_cnt; i++) {
		m->listens[i].e = p->listens.rows.items[i].last;
		listen_sums(m, &m->listens[i]);
	}
	SORT(m->listens, m->listen_cnt, cmp_listen);
}

static int cmp_turn(const void *pa, const void *pb)
{
	const struct ev_turn *a = pa, *b = pb;

	CMP(a->h.ts_ns, b->h.ts_ns);
	CMP(a->h.tid, b->h.tid);
	CMP(a->res, b->res);
	CMP(a->service_ns, b->service_ns);
	return 0;
}

static int cmp_conn(const void *pa, const void *pb)
{
	const struct ev_conn *a = pa, *b = pb;

	CMP(a->tgid, b->tgid);
	CMP(a->role, b->role);
	CMP(a->family, b->family);
	CMP(a->lport, b->lport);
	CMP(a->rport, b->rport);
	return memcmp(a->raddr, b->raddr, sizeof(a->raddr));
}

static int cmp_str_ptr(const void *pa, const void *pb)
{
	const struct { const char *text; uint32_t kind; } *a = pa, *b = pb;

	CMP(a->kind, b->kind);
	return strcmp(a->text, b->text);
}

static void publish_notes(struct model *m)
{
	struct model_priv *p = m->priv;
	size_t cnt = p->notes.cnt;
	struct { const char *text; uint32_t kind; } *sorted = arena_alloc(&p->pub,
						(cnt + 1) * sizeof(*sorted));

	for (size_t i = 0; i < cnt; i++) {
		sorted[i].text = model_str(m, p->notes.items[i]);
		sorted[i].kind = p->note_kinds.items[i];
	}
	SORT(sorted, cnt, cmp_str_ptr);
	m->note_cnt = cnt;
	m->notes = PUB_ARRAY(p, const char *, cnt);
	m->note_kinds = PUB_ARRAY(p, uint32_t, cnt);
	for (size_t i = 0; i < cnt; i++) {
		m->notes[i] = sorted[i].text;
		m->note_kinds[i] = sorted[i].kind;
	}
}

void tables_publish(struct model *m)
{
	struct model_priv *p = m->priv;

	publish_ends(m);
	publish_culprits(m);
	publish_disks(m);
	publish_devs(m);
	publish_cgroups(m);
	publish_host(m);
	publish_files(m);
	publish_notes(m);
	m->turns = p->turns.items;
	m->turn_cnt = p->turns.cnt;
	SORT(m->turns, m->turn_cnt, cmp_turn);
	m->conns_first = p->conns_first.items;
	m->conn_first_cnt = p->conns_first.cnt;
	m->conns_last = p->conns_last.items;
	m->conn_last_cnt = p->conns_last.cnt;
	SORT(m->conns_first, m->conn_first_cnt, cmp_conn);
	SORT(m->conns_last, m->conn_last_cnt, cmp_conn);
	m->kstacks = p->kstacks.items;
	m->kstack_cnt = p->kstacks.cnt;
	for (size_t i = 0; i < m->kstack_cnt; i++)
		if (!m->kstacks[i].frames)
			m->kstacks[i].frames = "";
}
