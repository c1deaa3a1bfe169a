/* SPDX-License-Identifier: Apache-2.0 */
/* Conversations and sockets in use; and the ports that servers listen on, for the kernel side. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "collect/resources/netlink_diag.h"
#include "collect/live/live_int.h"
#include "collect/resources/resource_names.h"
#include "collect/resources/peers.h"
#include "collect/proc/procfs.h"
#include "heldup.skel.h"
#include "reads/reads.h"

#define TCP_LISTEN_STATE 0x0a
#define LISTEN_FILE_MAX (4 << 20)
#define ENDS_MAX 4096
#define ENDS_EARLY 256 /* more are summed at ticks only */

struct listens {
	struct live *l;
	uint32_t netns;
};

static void listen_note(const struct listens *at, uint32_t port)
{
	struct listen_key key = {.netns = at->netns, .port = port};
	uint32_t one = 1;

	at->l->bpf.skel->bss->listen_hint[key.port & 0xffff] = 1;
	bpf_map__update_elem(at->l->bpf.skel->maps.hu_listen, &key, sizeof(key), &one,
			     sizeof(one), BPF_ANY);
}

static int take_listen(void *ctx, const struct diag_sock *sock)
{
	listen_note(ctx, sock->lport);
	return 0;
}

/* False where netlink does not tell. */
static bool listen_diag(const struct listens *at, uint32_t tgid)
{
	struct diag_inet_query q = {.family = AF_INET,
				    .proto = IPPROTO_TCP,
				    .states = 1u << DIAG_LISTEN};
	int fd = peers_diag(at->l->peers, tgid);

	if (fd < 0 || diag_inet(fd, &q, take_listen, (void *)at) < 0)
		return false;
	q.family = AF_INET6;
	return diag_inet(fd, &q, take_listen, (void *)at) == 0;
}

/* Ports in the LISTEN state of one /proc/PID/net/tcp: that lists all connections, too. */
static void listen_file(const struct listens *at, uint32_t tgid, const char *name)
{
	CLEANUP(buf_release) struct buf text = {0};

	reads_text(tgid, name, LISTEN_FILE_MAX, &text);
	for (const char *line = buf_str(&text); line; line = strchr(line, '\n')) {
		unsigned port, state;

		if (sscanf(line + (*line == '\n'),
			   " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &port, &state) == 2 &&
		    state == TCP_LISTEN_STATE)
			listen_note(at, port);
	}
}

void live_listen(struct live *l, uint32_t tgid)
{
	uint64_t netns = procfs_ns(tgid, "net");
	struct listens at = {.l = l, .netns = (uint32_t)netns};

	if (!netns || hmap_get(&l->netns_seen, netns, NULL))
		return;
	hmap_put(&l->netns_seen, netns, 1);
	if (listen_diag(&at, tgid))
		return;
	listen_file(&at, tgid, "net/tcp");
	listen_file(&at, tgid, "net/tcp6");
}

uint8_t live_role(struct live *l, const struct wire_res *w)
{
	struct listen_key key = {.netns = w->netns, .port = w->lport};
	uint32_t one;

	if (w->role || w->kind != RES_SOCKET || (w->family != AF_INET && w->family != AF_INET6))
		return w->role;
	if (bpf_map__lookup_elem(l->bpf.skel->maps.hu_listen, &key, sizeof(key), &one,
				 sizeof(one), 0) == 0)
		return w->rport ? ROLE_SERVER : ROLE_LISTEN;
	return w->rport ? ROLE_CLIENT : ROLE_SERVER;
}

static void sum_age(struct live_sums *s, uint64_t since_ns, uint64_t now)
{
	s->cnt++;
	s->ns += now > since_ns ? now - since_ns : 0;
}

static void sock_sums(struct live_proc *p, const struct wire_sock *w)
{
	if (w->open_since_ns)
		sum_age(w->role == ROLE_SERVER ? &p->open : &p->out, w->open_since_ns,
			w->hdr.ts_ns);
	if (w->unread_since_ns && w->role == ROLE_SERVER)
		sum_age(&p->unread, w->unread_since_ns, w->hdr.ts_ns);
}

void live_sock(struct live *l, const struct wire_sock *w)
{
	struct ev_sock ev = {
		.res = w->res,
		.open_since_ns = w->open_since_ns,
		.unread_since_ns = w->unread_since_ns,
		.last_rx_ns = w->last_rx_ns,
		.last_tx_ns = w->last_tx_ns,
		.notready_ns = w->notready_ns,
		.poll_wake_cnt = w->poll_wake_cnt,
		.tgid = w->tgid,
		.last_tid = w->last_tid,
		.role = w->role,
	};

	sock_sums(live_proc(l, w->tgid), w);
	if (w->open_since_ns && w->end_idx < l->ends.cnt) {
		struct live_end *e = &l->ends.items[w->end_idx];
		uint64_t age =
			w->hdr.ts_ns > w->open_since_ns ? w->hdr.ts_ns - w->open_since_ns : 0;

		e->open_cnt++;
		e->open_sum_ns += age;
		if (age > e->open_oldest_ns)
			e->open_oldest_ns = age;
	}
	EMIT(&l->emit, &ev, EV_SOCK, w->hdr.tid, w->hdr.ts_ns);
}

/* Keys of conversations that are new since the last look. */
static void learn_keys(struct live *l)
{
	int fd = bpf_map__fd(l->bpf.skel->maps.hu_end_idx);
	uint32_t cnt = l->bpf.skel->data->end_cnt;
	struct wire_end_key key, next, *pos = NULL;
	uint32_t idx;

	if (cnt > ENDS_MAX)
		cnt = ENDS_MAX;
	if (cnt == l->ends.cnt)
		return;
	while (l->ends.cnt < cnt)
		vec_add(&l->ends);
	while (bpf_map_get_next_key(fd, pos, &next) == 0) {
		if (bpf_map_lookup_elem(fd, &next, &idx) == 0 && idx < cnt) {
			l->ends.items[idx].key = next;
			l->ends.items[idx].known = true;
		}
		key = next;
		pos = &key;
	}
}

static void put_end(struct live *l, struct live_end *e, const struct wire_end *v, uint64_t now)
{
	const struct wire_end_key *k = &e->key;
	struct ev_end ev = {
		.tgid = k->tgid,
		.family = k->family,
		.role = k->role,
		.lport = k->lport,
		.rport = k->rport,
		.uid = k->uid,
		.turns = v->turns,
		.service_ns = v->service_ns,
		.answer_max_ns = v->answer_max_ns,
		.queue_ns = v->queue_ns,
		.queue_cnt = v->queue_cnt,
		.idle_ns = v->idle_ns,
		.txblock_ns = v->txblock_ns,
		.txblock_cnt = v->txblock_cnt,
		.rx_bytes = v->rx_bytes,
		.tx_bytes = v->tx_bytes,
		.partial_cnt = v->partial_cnt,
		.conns = v->conns,
		.open_now = e->open_cnt,
		.open_oldest_ns = e->open_oldest_ns,
		.open_sum_ns = e->open_sum_ns,
		.open_tick_ns = e->open_tick_ns,
		.refused_cnt = v->refused,
	};
	char name[WIRE_NAME_LEN + 1] = {0};

	memcpy(ev.raddr, k->raddr, sizeof(ev.raddr));
	memcpy(ev.hist, v->hist, sizeof(ev.hist));
	memcpy(name, v->name, WIRE_NAME_LEN);
	if (k->family == AF_UNIX)
		ev.name = emit_str(&l->emit, name);
	else
		ev.name = emit_str(&l->emit,
				   names_service(l->names, k->lport ? k->lport : k->rport, "tcp"));
	if (k->role == ROLE_CLIENT && k->family != AF_UNIX)
		ev.peer_tgid = peers_listener(l->peers, k->tgid, k->family, k->raddr, k->rport);
	if (ev.peer_tgid)
		live_draw_in(l, ev.peer_tgid, false);
	if (ev.peer_tgid)
		ev.peer_comm = emit_str(&l->emit, names_comm(l->names, ev.peer_tgid));
	EMIT(&l->emit, &ev, EV_END, 0, now);
}

void live_ends_begin(struct live *l)
{
	learn_keys(l);
	VEC_FOREACH(&l->procs, p)
		p->open = p->out = p->unread = (struct live_sums){0};
	VEC_FOREACH(&l->ends, e)
		e->open_cnt = e->open_sum_ns = e->open_oldest_ns = 0;
}

/*
 * How many sends on TCP server sockets there were for each that was looked at
 * closer.  Where none was, those that were only counted wait for the next time.
 */
static double answers_for_each(struct live *l)
{
	uint64_t answers, quick;
	struct run_cnts runs;

	live_bpf_runs(&l->bpf, &runs);
	answers = runs.cnt[RUN_ANSWER] - l->answer_cnt;
	quick = runs.cnt[RUN_QUICK] - l->quick_cnt;
	if (!answers)
		return 1;
	l->answer_cnt += answers;
	l->quick_cnt += quick;
	return 1 + (double)quick / (double)answers;
}

/* The sums of a conversation up to now; NULL: not known. */
static const struct wire_end *end_sum(struct live *l, uint32_t i, double each,
				      struct wire_end *per_cpu, int cpus)
{
	struct live_end *e = &l->ends.items[i];
	struct wire_end raw;

	if (!e->known || bpf_map_lookup_elem(bpf_map__fd(l->bpf.skel->maps.hu_ends), &i,
					     per_cpu) < 0)
		return NULL;
	live_turns_join(&raw, per_cpu, cpus);
	return live_turns_all(&e->turns, &raw,
			      e->key.role == ROLE_SERVER && e->key.family != AF_UNIX ? each : 1);
}

void live_ends_sum(struct live *l)
{
	int cpus = libbpf_num_possible_cpus();
	CLEANUP_FREE struct wire_end *per_cpu = xcalloc(cpus > 0 ? cpus : 1, sizeof(*per_cpu));
	double each;

	learn_keys(l);
	if (cpus <= 0 || l->ends.cnt > ENDS_EARLY)
		return;
	each = answers_for_each(l);
	for (uint32_t i = 0; i < l->ends.cnt; i++)
		end_sum(l, i, each, per_cpu, cpus);
}

void live_ends_tick(struct live *l, uint64_t now)
{
	int cpus = libbpf_num_possible_cpus();
	CLEANUP_FREE struct wire_end *per_cpu = xcalloc(cpus > 0 ? cpus : 1, sizeof(*per_cpu));
	const struct wire_end *sum;
	double each;

	if (cpus <= 0)
		return;
	each = answers_for_each(l);
	for (uint32_t i = 0; i < l->ends.cnt; i++) {
		struct live_end *e = &l->ends.items[i];
		struct live_proc *p;

		sum = end_sum(l, i, each, per_cpu, cpus);
		if (!sum)
			continue;
		e->open_tick_ns += e->open_cnt * (now - l->tick_begin_ns);
		l->bpf.skel->bss->slow_us[i] = live_turns_slow_us(&e->turns, now - l->start_ns);
		put_end(l, e, sum, now);
		if (!hmap_get(&l->proc_idx, e->key.tgid, NULL)) /* is no more */
			continue;
		p = live_proc(l, e->key.tgid);
		if (e->key.role == ROLE_SERVER) {
			p->open.ns += sum->service_ns;
			p->unread.ns += sum->queue_ns;
		} else {
			p->out.ns += sum->service_ns;
		}
	}
}
